"""The entries of notifications: their order, references among them, and failures."""

from __future__ import annotations

import json
from typing import Any

import pytest

from simulator.launch import Simulator
from support.workflow_runner import WorkflowRun, WorkflowRunner

KEY = "https://chat.example.com/send?key=4f1d9c2e7b60"
PLATFORM = {"name": "snmp-1", "description": "changed"}
TOPIC = {"name": "alarms", "description": "all of them"}
CHAT = {"type": "workchat", "name": "operators", "url": KEY, "topics": ["alarms"]}
TRAPS = {"type": "snmp", "name": "traps", "platform": "snmp-1", "topics": "alarms"}


@pytest.fixture
def service(sim: Simulator) -> Simulator:
    return sim


def run(work: WorkflowRunner, check: bool = False, **variables: Any) -> WorkflowRun:
    """Run the workflow."""
    return work("notifications", {f"notifications_{name}": value for name, value in variables.items()}, check)


ALL: dict[str, Any] = {"platforms": [PLATFORM], "topics": [TOPIC], "endpoints": [CHAT, TRAPS]}


def test_all_kinds_in_their_order(service: Simulator, work: WorkflowRunner) -> None:
    """Check mode predicts entries that refer to objects which it has not created."""
    predicted, ran, again = run(work, check=True, **ALL), run(work, **ALL), run(work, **ALL)
    assert predicted.calls == again.calls == []
    assert [(entry["kind"], entry["name"]) for entry in ran.report] == [
        ("platform", "snmp-1"),
        ("topic", "alarms"),
        ("endpoint", "operators"),
        ("endpoint", "traps"),
    ]
    assert predicted.outcomes == ran.outcomes == ["changed"] * 4
    uuids = {each["name"]: each["uuid"] for kind in ("platform", "topic") for each in service.records(kind)}
    assert [entry["uuid"] for entry in ran.report[:2]] == [uuids["snmp-1"], uuids["alarms"]]
    assert again.outcomes == ["unchanged"] * 4
    assert KEY not in json.dumps([predicted.result, ran.result, again.result])
    removed = run(work, **ALL, state="absent", force=True)
    assert [entry["kind"] for entry in removed.report] == ["endpoint", "endpoint", "topic", "platform"]
    assert removed.outcomes == ["changed"] * 4


def test_a_person_has_the_name_of_its_user(service: Simulator, work: WorkflowRunner) -> None:
    ran = run(work, persons=[{"endpoint": "nowhere", "user_id": "u1"}])
    assert [(entry["kind"], entry["name"], entry["outcome"]) for entry in ran.report] == [("person", "u1", "failed")]


def test_an_entry_without_a_name(service: Simulator, work: WorkflowRunner) -> None:
    """An entry without a name does not break the report, and later kinds are processed."""
    ran = run(work, topics=[{"description": "nameless"}, TOPIC], endpoints=[CHAT], persons=[{"remark": "nobody"}])
    assert [(entry["name"], entry["outcome"]) for entry in ran.report] == [
        ("notifications_topics[0]", "failed"),
        ("alarms", "changed"),
        ("operators", "changed"),
        ("notifications_persons[0]", "failed"),
    ]
    assert "one of the following is required: uuid, name" in ran.report[0]["error"]
    assert (ran.result["changed"], ran.result["failed_count"]) == (True, 2)
    removed = run(work, check=True, topics=[{"description": "nameless"}], state="absent")
    assert "one of the following is required: uuid, name" in removed.report[0]["error"]


def test_check_mode_does_not_advise_to_skip_a_task(service: Simulator, work: WorkflowRunner) -> None:
    """The user cannot skip a task of the role, only check its variables."""
    endpoint = {"type": "snmp", "name": "monitoring", "platform": "snmp-x"}
    ran = run(work, check=True, endpoints=[endpoint])
    assert ("Check the name." in ran.report[0]["error"], "when:" in ran.report[0]["error"]) == (True, False)


@pytest.mark.parametrize("kind", ["platforms", "topics"])
def test_one_kind_is_enough(service: Simulator, work: WorkflowRunner, kind: str) -> None:
    assert run(work, **{kind: ALL[kind]}).outcomes == ["changed"]


def test_a_failure_stays_with_its_entry(service: Simulator, work: WorkflowRunner) -> None:
    service.fault("fail", operation="CreateSNSWorkchatEndpoint", error={"code": "SYS.1006", "details": "no"})
    ran = run(work, **ALL)
    assert ran.outcomes == ["changed", "changed", "failed", "changed"]
    assert run(work, **ALL).outcomes == ["unchanged", "unchanged", "changed", "unchanged"]


@pytest.mark.parametrize("check", [True, False])
def test_a_platform_with_other_endpoints_stays(service: Simulator, work: WorkflowRunner, check: bool) -> None:
    run(work, **ALL)
    ran = run(work, check, **ALL, state="absent")
    assert ran.outcomes == ["changed"] * 3 + ["failed"]
    assert "snmp-endpoint-1" in ran.report[3]["error"]
    assert "notifications_force: true" in ran.report[3]["error"]
    assert run(work, check, **ALL, state="absent", force=True).report[-1]["outcome"] == "changed"


def test_an_endpoint_whose_topic_is_gone_is_removed(service: Simulator, work: WorkflowRunner) -> None:
    """Its removal had failed, that of its topic had not, and no later run removed it."""
    both: dict[str, Any] = {"topics": [TOPIC], "endpoints": [CHAT], "force": True}
    run(work, **both)
    service.fault("fail", operation="DeleteSNSApplicationEndpoint", error={"code": "SYS.1000", "details": "no"})
    assert run(work, **both, state="absent").outcomes == ["failed", "changed"]
    assert run(work, **both, state="absent").outcomes == ["changed", "unchanged"]


def test_an_endpoint_with_other_topics_stays(service: Simulator, work: WorkflowRunner) -> None:
    run(work, **ALL)
    ran = run(work, endpoints=[{**CHAT, "topics": ["alarm"]}], state="absent")
    assert (ran.outcomes, ran.calls) == (["failed"], [])
    assert "should be ['alarm']" in ran.report[0]["error"]


def test_endpoints_of_any_type_are_not_removed(service: Simulator, work: WorkflowRunner) -> None:
    assert run(work, endpoints=[{"type": "any", "name": "snmp-endpoint-1"}], state="absent").report == []


def test_traps_reach_the_receivers(service: Simulator, work: WorkflowRunner) -> None:
    """A test changes nothing."""
    assert run(work, **ALL).outcomes == ["changed"] * 4
    ran = run(work, **ALL, test=True)
    assert [(entry["kind"], entry["name"]) for entry in ran.report[4:]] == [
        ("test", "snmp-1"),
        ("test", "traps"),
    ]
    assert [entry["uuid"] for entry in ran.report[4:]] == [ran.report[0]["uuid"], ran.report[3]["uuid"]]
    assert (ran.outcomes, ran.result["changed"]) == (["unchanged"] * 6, False)
    service.configure(snmp_connected=False)
    assert run(work, **ALL, test=True).outcomes == ["unchanged"] * 4 + ["failed"] * 2


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"topics": [TOPIC, {"name": "other"}, {"name": "alarms"}]},
            "notifications_topics[2] has the same name as notifications_topics[0] (alarms). Remove one of them",
        ),
        (
            {"persons": [{"user_id": "u", "endpoint": "a"}, {"user_id": "u", "endpoint": "a", "remark": "b"}]},
            "notifications_persons[1] has the same user_id and endpoint as notifications_persons[0] (u, a).",
        ),
        (
            {"topics": [TOPIC, {"name": "other", "state": "absent"}]},
            (
                "value of notifications_topics[1].state must be one of: present, enabled, disabled, got: absent. Run"
                " the role with notifications_state: absent, with only the entries to which it applies, and without"
                " state in them."
            ),
        ),
    ],
)
def test_entries_that_contradict_each_other(work: WorkflowRunner, given: dict[str, Any], message: str) -> None:
    ran = run(work, **given)
    assert (message in ran.message, ran.calls) == (True, []), ran.message


def test_wrong_variables(service: Simulator, work: WorkflowRunner) -> None:
    assert "or set notifications_allow_empty" in run(work).message
    assert run(work, allow_empty=True).message == "0 entries"
    different = [{"user_id": "u", "endpoint": "a"}, {"user_id": "u", "endpoint": "b"}]
    assert run(work, persons=different, check=True).outcomes == ["failed"] * 2
    url = {"type": "workchat", "name": "a", "url": [KEY]}
    message = run(work, endpoints=[url]).message
    assert "notifications_endpoints[0].url must be one string" in message
    assert KEY not in message
    topics = {"type": "workchat", "name": "a", "url": "https://x/?key=1", "topics": [{"name": "t"}]}
    expected = "each item of notifications_endpoints[0].topics must be a string, not {'name': 't'}"
    assert expected in run(work, endpoints=[topics]).message
