"""The event filter job_result, and the documentation of the sources and the filter."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest
import yaml
from ansible_collections.virtinfra.manager.plugins.module_utils._modules.options import CONNECTION

from support.event_sources import PLUGINS, job_headers, plugin

JOB = "5d1f3f9a0e7b4f0d9b9a0c6f3a7f1b2c"
SHAPED = {"job": {"uuid": JOB, "succeeded": True, "batch": None}, "result": {"inventory": {"name": "host-1"}}}


def webhook_event(payload: Any, headers: Any = None, endpoint: str = "hook") -> dict[str, Any]:
    """Return an event as webhook sources and event streams create it."""
    return {"payload": payload, "meta": {"endpoint": endpoint, "headers": headers or job_headers(JOB)}}


def test_event_of_a_webhook_source() -> None:
    event = webhook_event({"inventory": {"name": "host-1"}})
    assert plugin("event_filter", "job_result")(event) == {**SHAPED, "meta": event["meta"]}


def test_event_of_an_event_stream() -> None:
    """The platform changes the case of header names, and keeps the query of the relay's URL."""
    headers = {"X-Job-Uuid": JOB, "X-Job-Success": "false"}
    payload = {"error": {"code": "HOST.1001", "details": "no"}}
    stream = webhook_event(payload, headers, "/external_event_stream/1/post/?about=host-1&operation=ChangeHostState")
    event = plugin("event_filter", "job_result")(stream)
    assert event["job"] == {"uuid": JOB, "succeeded": False, "batch": None}
    assert (event["about"], event["operation"]) == ("host-1", "ChangeHostState")
    assert event["error"]["code"] == "HOST.1001"


def test_event_of_job_results_is_unchanged() -> None:
    assert plugin("event_filter", "job_result")(SHAPED) == SHAPED


COLLECTED = {"jobs": [SHAPED], "failed": 0, "succeeded": 1, "shortened": 0}
FAILED = {"job": {"uuid": "f" * 32, "succeeded": False, "batch": None}, "msg": "no", "shortened": True}


@pytest.mark.parametrize(
    ("event", "options", "expected"),
    [
        (SHAPED, {"as_list": True}, COLLECTED),
        (webhook_event(SHAPED["result"]), {"as_list": True}, {**COLLECTED, "meta": webhook_event({})["meta"]}),
        (COLLECTED, {}, COLLECTED),
        (COLLECTED, {"as_list": True}, COLLECTED),
        (COLLECTED, {"only_failed": True}, []),
        (SHAPED, {"only_failed": True}, []),
        (SHAPED, {"only_failed": "yes"}, []),
        (SHAPED, {"only_failed": "false", "as_list": "no"}, SHAPED),
        (SHAPED, {"only_failed": None}, SHAPED),
        (FAILED, {"only_failed": True}, FAILED),
        (
            {**COLLECTED, "jobs": [SHAPED, FAILED], "failed": 1},
            {"only_failed": True},
            {"jobs": [FAILED], "failed": 1, "succeeded": 0, "shortened": 1},
        ),
        ({"jobs": []}, {"as_list": True}, []),
        ({"jobs": [{"job": 1}]}, {"as_list": True}, []),
    ],
)
def test_lists_of_results(event: dict[str, Any], options: dict[str, Any], expected: Any) -> None:
    assert plugin("event_filter", "job_result")(event, **options) == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"failed_only": True}, "job_result: there is no option failed_only. "),
        ({"only_faild": True}, "job_result: there is no option only_faild. Did you mean only_failed?"),
        ({"only_failed": "never"}, "job_result: only_failed must be true or false, not 'never'"),
    ],
)
def test_wrong_options(options: dict[str, Any], message: str) -> None:
    """Also for an event that is dropped."""
    for event in (SHAPED, {}):
        with pytest.raises(Exception, match=message) as caught:
            plugin("event_filter", "job_result")(event, **options)
        assert type(caught.value).__name__ == "InvalidOptions"


@pytest.mark.parametrize("of_job_results", [True, False])
def test_no_text_is_a_template(of_job_results: bool) -> None:
    """Neither events of job_results, which an event stream can imitate, nor those of other sources have one."""
    hostile, harmless = {"{{ key": ["{% x", {"#jinja2:": "{{{"}]}, {"{ { key": ["{ % x", {"# jinja2:": "{ { { "}]}
    received = webhook_event(hostile)
    meta = {**received["meta"], "hostile": hostile}
    event = {**SHAPED, "result": hostile, "meta": meta} if of_job_results else {**received, "meta": meta}
    disarmed = plugin("event_filter", "job_result")(event)
    assert disarmed == {**SHAPED, "result": harmless, "meta": {**meta, "hostile": harmless}}
    assert plugin("event_filter", "job_result")(disarmed) == disarmed


@pytest.mark.parametrize(
    "event",
    [
        {},
        {"payload": {}},
        {"payload": {}, "meta": None},
        webhook_event({}, {"X-Job-UUID": JOB}),
        webhook_event({}, {"X-Job-Success": "true"}),
        webhook_event([1]),
        webhook_event("text"),
        webhook_event(None),
        webhook_event({"a": object()}),
        webhook_event({}, ["X-Job-UUID"]),
        {"i": 1},
    ],
)
def test_junk_is_dropped(event: dict[str, Any]) -> None:
    assert plugin("event_filter", "job_result")(event) == []


@pytest.mark.parametrize(
    ("kind", "name"),
    [("event_source", "job_results"), ("event_source", "resource_changes"), ("event_filter", "job_result")],
)
def test_options_are_documented_as_they_are(kind: str, name: str) -> None:
    """The options of the connection are in the fragment."""
    spec = importlib.util.spec_from_file_location(name, PLUGINS / kind / f"{name}.py")
    assert spec
    assert spec.loader
    source = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(source)
    documented = yaml.safe_load(source.DOCUMENTATION)["options"]
    own = {option: rules for option, rules in source.OPTIONS.items() if option not in CONNECTION}
    assert documented.keys() == own.keys()
    for option, rules in own.items():
        for rule in ("type", "elements", "default", "choices"):
            assert rules.get(rule) == documented[option].get(rule), (option, rule)
        assert rules.get("required", False) == documented[option].get("required", False), option
