"""Every write is performed exactly once if its response is lost, or the task fails with OUTCOME_UNKNOWN."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._api.operations import OPERATIONS, get_operation

from simulator.launch import Simulator
from support.module_runner import run_module
from support.scenarios import SCENARIOS, Scenario
from support.trial import Trial

UNREADY = {"fault": "status", "status": 503, "form": "error"}

# Faults by which the response to a call is lost, and whether the call is executed.
LOSSES: Mapping[str, tuple[bool, Mapping[str, Any]]] = {
    "reset before it is taken": (False, {"fault": "drop_before"}),
    "reset after it was taken": (True, {"fault": "drop_after"}),
    "truncated": (True, {"fault": "truncate"}),
    "502, not taken": (False, {"fault": "status", "status": 502}),
    "504, taken": (True, {"fault": "status", "status": 504, "taken": True}),
    "too late": (True, {"fault": "slow", "seconds": 0.4}),
    "a page of a portal": (True, {"fault": "html", "taken": True}),
    "expired": (True, {"fault": "expire"}),
    "closed without a byte": (True, {"fault": "close", "taken": True}),
    "empty": (True, {"fault": "empty", "taken": True}),
    "204, not taken": (False, {"fault": "empty", "status": 204}),
    "some JSON, not taken": (False, {"fault": "garbage", "garbage": "login", "taken": False}),
    "redirected, taken": (True, {"fault": "redirect", "url": "http://192.0.2.1/", "taken": True}),
    "a firewall's 403, taken": (True, {"fault": "status", "status": 403, "form": "html", "taken": True}),
    "404 of a gateway, not taken": (False, {"fault": "status", "status": 404, "form": "json"}),
    "times out, taken": (True, {"fault": "fail", "taken": True, "error": {"code": "SYS.1001", "details": "late"}}),
    "times out, not taken": (False, {"fault": "fail", "error": {"code": "SYS.2111", "details": "not sent"}}),
    "not ready, not taken": (False, {**UNREADY, "error": {"code": "SYS.1010", "details": "not ready"}}),
    "unavailable, taken": (True, {**UNREADY, "taken": True, "error": {"code": "SYS.1012", "details": "gone"}}),
    "the page of a container, not taken": (False, {"fault": "status", "status": 404, "form": "container"}),
    "500 as a page, taken": (True, {"fault": "status", "status": 500, "form": "html", "taken": True}),
}
BLIND = "ignores it, and little can be read"
MOST = ("reset before it is taken", "reset after it was taken", "expired")
ODD = (
    *("empty", "204, not taken", "a firewall's 403, taken", "404 of a gateway, not taken"),
    *("times out, taken", "times out, not taken"),
)
SERVERS: Mapping[str, tuple[Mapping[str, Any], tuple[str, ...]]] = {
    "honours the job id": ({}, tuple(LOSSES)),
    "ignores the job id": ({"job_uuid": "ignore", "location": "malformed"}, (*MOST, *ODD)),
    "answers at once": ({"sync": True}, ("reset after it was taken", *ODD)),
    BLIND: ({"job_uuid": "ignore", "literal": True}, MOST),
}

# Losses are handled the same way for every operation, so one scenario of each kind is enough: an object without a
# unique address, for all losses, and for most an object with one, a deletion, and an action that leaves no trace.
# chaos-short runs all scenarios.
KINDS = ("attach-network", "add-host", "delete-cbt-task", "test-snmp")


def has_unknown_outcome(scenario: Scenario, result: Mapping[str, Any]) -> bool:
    """Return whether a task failed with an unknown outcome and returned the handle of the job."""
    if not result.get("failed"):
        return False
    assert f"the outcome of {scenario.operation} is unknown" in result["msg"], result["msg"]
    assert result["error"]["code"] == "OUTCOME_UNKNOWN"
    assert len(result["job"]["uuid"]) == 32
    assert result["job"]["state"] == "unknown"
    assert result["changed"] is scenario.changes
    return True


def test_every_writing_operation_has_a_scenario() -> None:
    writing = {row.name for row in OPERATIONS.values() if row.is_write and row.credential != "none"}
    expected = writing - {row.substitute for row in OPERATIONS.values()}
    tried = {scenario.operation for scenario in SCENARIOS}
    assert not expected - tried, f"tests/support/scenarios.py has no scenario of {', '.join(sorted(expected - tried))}"
    assert tried <= expected


@pytest.mark.parametrize(
    ("scenario", "server", "loss"),
    [
        (scenario, server, loss)
        for scenario in SCENARIOS
        for server, (dummy, losses) in SERVERS.items()
        for loss in losses
        if server != BLIND and (scenario.name == KINDS[0] or (scenario.name in KINDS and loss in MOST))
    ],
    ids=str,
)
def test_lost_answer(sim: Simulator, scenario: Scenario, server: str, loss: str) -> None:
    trial, result = lose_response(sim, scenario, SERVERS[server][0], loss, sim.token)
    assert [each["happened"] for each in sim.faults()] == [1]
    assert trial.count() <= 1
    if has_unknown_outcome(scenario, result):
        assert may_be_unknown(scenario, server, loss), result
    else:
        assert trial.count() == 1
        assert result["changed"] is scenario.changes
    if not scenario.action:
        was_performed = bool(trial.count())
        again = trial.run().result
        assert not again.get("failed"), again
        assert again["changed"] is not was_performed
        assert trial.count() == 1


@pytest.mark.parametrize(
    ("scenario", "loss"),
    [
        (scenario, loss)
        for scenario in SCENARIOS
        for loss in SERVERS[BLIND][1]
        if scenario.name in KINDS or loss == "reset after it was taken"
    ],
    ids=str,
)
def test_lost_answer_if_little_can_be_read(sim: Simulator, scenario: Scenario, loss: str) -> None:
    """Of every scenario: what can be read depends on the type of the object. A call that was taken must be found."""
    trial, result = lose_response(sim, scenario, SERVERS[BLIND][0], loss, None)
    if not sim.faults()[0]["happened"]:
        assert result["failed"]
        assert (result["changed"], trial.count()) == (False, 0)
    elif has_unknown_outcome(scenario, result):
        assert trial.count() <= 1
    else:
        assert (result["changed"], trial.count()) == (scenario.changes, 1)


def lose_response(
    sim: Simulator, scenario: Scenario, switches: Mapping[str, Any], loss: str, api_token: str | None
) -> tuple[Trial, dict[str, Any]]:
    """Run a scenario on a new service that loses the response to its call; return the trial and the result."""
    fault = LOSSES[loss][1]
    trial = Trial(sim, scenario, switches)
    sim.fault(**{"operation": scenario.operation, **fault})
    timeout = 0.2 if fault["fault"] == "slow" else 30
    return trial, trial.run(request_timeout=timeout, api_token=api_token).result


@pytest.mark.parametrize("name", ["delete-cbt-task", "attach-network"])
def test_success_without_a_result_is_confirmed(sim: Simulator, name: str) -> None:
    """A proxy answers ``{}`` although it has not passed the call to the service."""
    scenario = next(scenario for scenario in SCENARIOS if scenario.name == name)
    trial = Trial(sim, scenario, {})
    sim.fault("garbage", scenario.operation, garbage="missing", taken=False)
    result = trial.run().result
    assert trial.count() == (0 if has_unknown_outcome(scenario, result) else 1)
    assert result["changed"]


@pytest.mark.parametrize("wait", [True, False])
def test_lost_response_to_a_slow_call(sim: Simulator, wait: bool) -> None:
    """The service knows the job, so the task waits for it or returns its handle."""
    scenario = SCENARIOS[0]
    trial = Trial(sim, scenario, {"latencies": {scenario.operation: 0.1}})
    sim.fault("drop_after", scenario.operation)
    result = trial.run(wait=wait).result
    assert result["changed"]
    assert [entry["operation"] for entry in sim.log()].count(scenario.operation) == 1
    if wait:
        assert result["host"]["status"] == "Connected"
    else:
        assert result["job"]["state"] == "running"
        sim.advance()
        options = {"base_url": sim.url, "session_id": sim.session, "jobs": [result["job"]]}
        assert run_module("job_wait", options).result["jobs"][0]["state"] == "succeeded"
    assert trial.count() == 1


@pytest.mark.parametrize("wait", [True, False])
def test_lost_response_to_a_call_that_fails(sim: Simulator, wait: bool) -> None:
    trial = Trial(sim, SCENARIOS[0], {})
    sim.fault("drop_after", "AddKVMHost")
    result = trial.run(password="wrong-password", wait=wait).result
    assert "AddKVMHost failed (HOST.1003, caused by SYS.1006)" in result["msg"]
    assert result["changed"] is False
    assert trial.count() == 0


def test_call_that_reaches_the_service_late(sim: Simulator) -> None:
    """The service knows the job only after several seconds, and no object shows whether the call was performed."""
    scenario = next(scenario for scenario in SCENARIOS if scenario.name == "export-volumes")
    trial = Trial(sim, scenario, {})
    sim.fault("drop_after", scenario.operation)
    sim.fault("status", "poll", status=404, form="plain", count=13)
    result = trial.run().result
    assert not result.get("failed"), result
    assert result["changed"]
    assert trial.count() == 1
    assert sim.faults()[1]["happened"] == 13


def may_be_unknown(scenario: Scenario, server: str, loss: str) -> bool:
    """Return whether the outcome of a call cannot be determined."""
    if scenario.action and loss in ("expired", "times out, taken"):
        return True
    if LOSSES[loss][0] and (server == "honours the job id" or not scenario.action):
        return False
    return not get_operation(scenario.operation).effect.is_idempotent
