"""Access keys: signatures, refusals, and their precedence over other credentials."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from datetime import timezone
from pathlib import Path
from typing import Any

import pytest
from ansible.errors import AnsibleError
from ansible.plugins.loader import lookup_loader
from ansible_collections.virtinfra.manager.plugins.module_utils._api.errors import ApiError, InvalidOptions
from ansible_collections.virtinfra.manager.plugins.module_utils._http import access_keys
from ansible_collections.virtinfra.manager.plugins.module_utils._http.access_keys import (
    AccessKey,
    format_date,
    parse_zone,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._http.connection import ConnectionOptions
from ansible_collections.virtinfra.manager.plugins.plugin_utils._run.given_options import prefer_given_options

from simulator.launch import Simulator
from support.clients import make_client
from support.inventory_sources import Source
from support.module_runner import ModuleRunner, run_module
from support.scenarios import HOST

KEY: dict[str, Any] = {"access_key_id": Simulator.access_key_id, "access_key_secret": Simulator.access_key_secret}
DATE, NOON = "Mon, 23 Nov 2026 12:00:00 GMT", 1795435200.0


@pytest.fixture
def key_in_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in KEY.items():
        monkeypatch.setenv(f"VIRTINFRA_{name.upper()}", value)


def schemes(log: list[dict[str, Any]]) -> dict[str, str | None]:
    """Return the authorization scheme of the last request for each operation."""
    return {str(entry["operation"]): entry["headers"].get("authorization") for entry in log}


@pytest.mark.parametrize(
    ("prefix", "path"),
    [
        ("service", "/service/v1/hosts"),
        ("service", "/service/v1/hosts?q=name%3Da"),
        ("/a/v1/b/", "/a/v1/b/v1/hosts"),
        ("", "/v1/hosts"),
        ("service", "/other/v1/hosts"),
    ],
)
def test_a_signature_covers_method_date_and_path(monkeypatch: pytest.MonkeyPatch, prefix: str, path: str) -> None:
    """The expected signature was computed with openssl."""
    monkeypatch.setattr("time.time", lambda: NOON)
    headers = AccessKey("key-id", "key-secret", prefix, timezone.utc).sign("GET", path)
    assert headers == {"Authorization": "ZStack key-id:P+TEx4ujZOgH/Uo4c03FXqIKoAI=", "Date": DATE}


def test_reads_writes_and_cursor_queries(run: ModuleRunner) -> None:
    """The key takes precedence over a session, and cursor queries use the token."""
    ran = run("kvm_host", {"uuid": HOST, "state": "disabled"}, **KEY)
    assert ran.changed, ran.message
    assert {schemes(ran.log)[name] for name in ("QueryHost", "ChangeHostState")} == {"ZStack"}
    assert schemes(ran.log)["poll"] is None
    ran = run("host_info", {"filters": ["name=host-1"]}, **KEY)
    assert [record["name"] for record in ran["hosts"]] == ["host-1"], ran.message
    assert schemes(ran.log) == {"CursorQuery": "Bearer"}


def test_each_attempt_is_signed(sim: Simulator, run: ModuleRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    """A retry after a long wait would be refused with the date of the first attempt."""
    dates = [format_date(time.time() + seconds, None) for seconds in (0, 60)]
    remaining = iter(dates)
    monkeypatch.setattr(access_keys, "format_date", lambda seconds, zone: next(remaining))
    sim.fault("status", "QueryHost", status=502)
    ran = run("host_info", {"name": "host-1"}, **KEY)
    assert not ran.failed, ran.message
    assert [entry["headers"]["date"] for entry in ran.log] == dates


@pytest.mark.parametrize(
    ("switches", "options", "words"),
    [
        ({}, {"access_key_secret": "wrong-secret"}, "wrong accessKey signature. Check access_key_id and"),
        ({"access_key_disabled": True}, {}, "or disabled. Check access_key_id and access_key_secret"),
    ],
)
@pytest.mark.parametrize(("name", "task"), [("host_info", {}), ("sns_snmp_test", {"platform": "snmp-platform-1"})])
def test_a_refused_key(
    sim: Simulator, run: ModuleRunner, name: str, task: dict[str, Any], switches: Any, options: Any, words: str
) -> None:
    sim.configure(**switches)
    ran = run(name, task, **{**KEY, **options})
    assert words in ran.message
    assert ran["error"]["code"] == "HTTP_403"
    assert not ran.changed
    assert "wrong-secret" not in str(ran.result)


@pytest.mark.parametrize("ahead", [1000.0, -1000.0])
def test_a_clock_that_differs_too_much(sim: Simulator, run: ModuleRunner, ahead: float) -> None:
    sim.configure(clock_ahead=ahead)
    message = run("host_info", {}, **KEY).message
    dates = re.findall(r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT", message)
    assert "requestTimeTooSkewed. The clock of this machine differs from that of the service by more than" in message
    assert len(set(dates)) == 2, message
    assert "access_key_id" not in message, "the only remedy is the clock"
    sim.configure(clock_ahead=ahead / 2)
    assert not run("host_info", {}, **KEY).failed


def zones_of(log: list[dict[str, Any]]) -> list[str]:
    """Return the zones in the dates of the requests, in the order in which they were tried."""
    return [entry["headers"]["date"].partition("GMT")[2] for entry in log if "date" in entry["headers"]]


@pytest.mark.parametrize("service_zone", ["+08:00", "-03:30", "+10:30", "+14:00"])
def test_zone_of_the_service_is_found(sim: Simulator, run: ModuleRunner, service_zone: str) -> None:
    """The task remembers the zone that the service accepts: each other one is tried once."""
    sim.configure(time_zone=service_zone)
    ran = run("kvm_host", {"uuid": HOST, "state": "disabled"}, access_key_time_zone="+00:00", **KEY)
    assert ran.changed, ran.message
    tried = zones_of(ran.log)
    found = tried.index(service_zone)
    assert set(tried[found:]) == {service_zone}
    assert len(set(tried)) == found + 1
    assert ran.calls == ["ChangeHostState"]
    sim.clear_log()
    ran = run("host_info", {}, access_key_time_zone=service_zone, **KEY)
    assert zones_of(ran.log) == [service_zone]


def test_zones_are_tried_once(sim: Simulator) -> None:
    """A wrong clock fits to no zone."""
    sim.configure(clock_ahead=1000.0)
    with make_client(ConnectionOptions(sim.url, **KEY)) as client:
        for further in (40, 1):
            sim.clear_log()
            with pytest.raises(ApiError, match="requestTimeTooSkewed"):
                client.get("QueryHost", {})
            assert 1 <= len(sim.log()) <= further


def test_zones_are_tried_for_services_that_compare_instants(sim: Simulator, run: ModuleRunner) -> None:
    sim.configure(time_zone="+08:00", check_time_zone=True, accepts_iso_dates=False)
    assert zones_of(run("host_info", {}, access_key_time_zone="-05:00", **KEY).log) == ["-05:00"]


@pytest.mark.parametrize("name", ["Mars/Olympus", "+8", "+24:00", "-24:30", "+25:00", "../etc/passwd"])
def test_zone_that_does_not_exist(name: str) -> None:
    with pytest.raises(InvalidOptions) as caught:
        ConnectionOptions("https://manager.example.com", access_key_time_zone=name)
    assert str(caught.value) == (
        "access_key_time_zone must be an offset such as '+08:00', or the name of a time zone that this machine knows,"
        f" such as Asia/Shanghai, not {name!r}"
    )


def test_other_zones_of_a_key() -> None:
    """Each offset is tried once, except that of the key; the most likely ones come first."""
    key = AccessKey("key-id", "key-secret", "service", parse_zone("+08:00"))
    others = [other.describe_zone() for other in key.list_others()]
    assert key.describe_zone() == "+08:00"
    assert others[:2] == ["+00:00", "+01:00"]
    assert {"+05:30", "-12:00", "+14:00"} < {*others}
    assert len(others) == len({*others, "+08:00"}) - 1
    assert {replace(other, zone=key.zone) for other in key.list_others()} == {key}


def test_date_has_the_local_time_of_the_zone() -> None:
    assert format_date(NOON, parse_zone("+08:00")) == "Mon, 23 Nov 2026 20:00:00 GMT+08:00"
    assert format_date(NOON, parse_zone("-03:30")) == "Mon, 23 Nov 2026 08:30:00 GMT-03:30"
    assert format_date(NOON, parse_zone("UTC")) == DATE


@pytest.mark.parametrize("user_id", ["a@b", "a b", "ou_\u5f20", "50%"])
def test_decoded_path_is_signed(sim: Simulator, run: ModuleRunner, user_id: str) -> None:
    """The service decodes the path before it compares the signature."""
    endpoint = next(row for row in sim.records("endpoint") if row["type"] == "TeamChat")
    params = {"endpointUuid": endpoint["uuid"], "userId": user_id}
    ran = run("api", {"operation": "RemoveSNSFeiShuAtPerson", "params": params}, **KEY)
    assert not ran.failed, ran.message


@pytest.mark.parametrize("name", ["access_key_id", "access_key_secret"])
def test_half_of_a_key_is_refused(name: str) -> None:
    with pytest.raises(InvalidOptions, match="are needed together"):
        ConnectionOptions("https://manager.example.com", **{name: KEY[name]})


NO_KEY = {"access_key_id": "", "access_key_secret": ""}
NO_ACCOUNT = {"account": "", "account_password": ""}


@pytest.mark.parametrize(
    ("given", "replaced"),
    [
        ({"name": "a"}, {}),
        ({"session_id": ""}, {}),
        ({"session_id": "s"}, {**NO_KEY, **NO_ACCOUNT}),
        ({"account": "a"}, {**NO_KEY, "session_id": ""}),
        ({"access_key_secret": "k"}, {"session_id": "", **NO_ACCOUNT}),
        ({"session_id": "s", "account": "a"}, NO_KEY),
    ],
)
def test_a_given_credential_replaces_those_of_the_environment(given: dict[str, str], replaced: dict[str, str]) -> None:
    assert prefer_given_options(given) == {**replaced, **given}


def test_an_inventory_uses_the_key(
    sim: Simulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key_in_environment: None
) -> None:
    """Another credential in the source takes precedence over the key in the environment."""
    monkeypatch.setenv("VIRTINFRA_BASE_URL", sim.url)
    monkeypatch.setenv("VIRTINFRA_SESSION_ID", "long-gone")
    for options, scheme in (({}, "ZStack"), ({"session_id": sim.session}, "OAuth")):
        sim.clear_log()
        assert Source(tmp_path, "vms", **options).fill().hosts
        assert schemes(sim.log())["QueryVmInstance"] == scheme


@pytest.mark.usefixtures("key_in_environment")
def test_sessions_refuse_a_key(sim: Simulator, run: ModuleRunner) -> None:
    words = "an access key has no session: pass access_key_id and access_key_secret to modules"
    assert words in run_module("session", {"base_url": sim.url}).result["msg"]
    lookup = lookup_loader.get("virtinfra.manager.session")
    with pytest.raises(AnsibleError, match=words):
        lookup.run([], {}, base_url=sim.url)
    account = {"account": "admin", "account_password": "simulator-password"}
    assert lookup.run([], {}, base_url=sim.url, **account)
    assert sim.sessions()["logins"] == 1


def test_the_request_log_says_which_credential_is_used(sim: Simulator) -> None:
    lines: list[str] = []
    task = {"base_url": sim.url, "session_id": sim.session, "api_token": sim.token, **KEY}
    run_module("host_info", task, on_request=lines.append)
    assert lines[0] == "credentials: access key simulator-key-id, api_token for cursor queries"
    run_module("host_info", {**task, "access_key_id": None, "access_key_secret": None}, on_request=lines.append)
    assert lines[2] == "credentials: session_id, api_token for cursor queries"
    assert not [line for line in lines if Simulator.access_key_secret in line or sim.session in line]
