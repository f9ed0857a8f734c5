"""Responses to calls of others, calls that a proxy delivers twice, and tasks that complete only in part."""

from __future__ import annotations

import re
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._api.operations import get_operation

from simulator.launch import Simulator
from support.module_runner import ModuleRunner, run_module
from support.scenarios import CREATED_TASK, HOST, NEW_HOST, NIC, SCENARIOS, Scenario
from support.stub_server import StubRequest, StubResponse, StubServer

JOB = "5d1f3f9a0e7b4f0d9b9a0c6f3a7f1b2c"
VM_5 = "a0000004000040008000000000000005"


# ------------------------------------------------------------------------------------------------------ partial success


@pytest.mark.parametrize(
    ("module", "options", "first", "second"),
    [
        (
            "cbt_task",
            {"name": "backup-5", "vm": VM_5, "state": "enabled"},
            "CreateCbtTask",
            "EnableCbtTask",
        ),
        ("kvm_host", {**NEW_HOST, "state": "maintenance"}, "AddKVMHost", "ChangeHostState"),
        (
            "vm_nic",
            {"vm": VM_5, "l3_network": "a0000005000040008000000000000003", "state": "disabled"},
            "AttachL3NetworkToVm",
            "ChangeVmNicState",
        ),
    ],
)
def test_completed_operations_are_listed_after_a_failure(
    sim: Simulator, run: ModuleRunner, module: str, options: dict[str, Any], first: str, second: str
) -> None:
    sim.fault("fail", second)
    ran = run(module, options)
    assert ran.failed
    assert f"{second} failed (" in ran.message
    assert ran.changed
    assert ran["done"] == [first]
    rest = run(module, options)
    assert not rest.failed
    assert rest.changed
    assert rest.calls == [second]
    assert not run(module, options).changed


def test_failed_call_that_changed_something(sim: Simulator, run: ModuleRunner) -> None:
    sim.reset(cbt_tasks=1)
    sim.fault("fail", "EnableCbtTask", count=2)
    task = {"uuid": CREATED_TASK, "state": "enabled"}
    ran = run("cbt_task", task)
    assert ran.failed
    assert ran.changed
    assert sim.records("cbttask")[0]["status"] == "Failed"
    again = run("cbt_task", task)
    assert again.failed
    assert not again.changed


@pytest.mark.parametrize(
    ("module", "options"),
    [
        ("kvm_host", {**NEW_HOST, "password": "wrong-password"}),
        ("kvm_host", {"uuid": HOST, "state": "maintenance"}),
        ("cbt_task", {"uuid": CREATED_TASK, "state": "absent"}),
    ],
)
def test_failed_call_that_changed_nothing(
    sim: Simulator, run: ModuleRunner, module: str, options: dict[str, Any]
) -> None:
    sim.reset(cbt_tasks=1)
    for operation in ("ChangeHostState", "DeleteCbtTask"):
        sim.fault("fail", operation)
    ran = run(module, options)
    assert ran.failed
    assert not ran.changed
    assert "done" not in ran.result


# ------------------------------------------------------------------------------------------ responses to other requests


ACTIONS = [scenario for scenario in SCENARIOS if scenario.action or scenario.operation == "DeleteNicQos"]


def play_scenario(sim: Simulator, scenario: Scenario, **server: Any) -> tuple[dict[str, Any], int]:
    """Prepare and run the task of a scenario; return the result and how often it was performed."""
    for kind, uuid, members in scenario.prepare:
        sim.change(kind, uuid, **members)
    before = sim.state()
    options = {"base_url": sim.url, "session_id": sim.session, "api_token": sim.token, **scenario.options}
    result = run_module(scenario.module, options).result
    return result, scenario.times(before, sim.state())


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_accepted_call_whose_response_names_the_job_of_another_call(sim: Simulator, scenario: Scenario) -> None:
    """The service knows the id that was sent with the call, so the other job, which failed, is not that of the call."""
    sim.reset(latency=0.01, reconnect=0.0, cbt_tasks=4)
    sim.fault("other_job", scenario.operation)
    result, times = play_scenario(sim, scenario)
    assert times == 1
    assert not result.get("failed"), result["msg"]
    assert result["changed"] is scenario.changes


@pytest.mark.parametrize("scenario", ACTIONS, ids=str)
@pytest.mark.parametrize("request_of_task", ["call", "poll"])
def test_response_of_a_failed_call_of_somebody_else(sim: Simulator, scenario: Scenario, request_of_task: str) -> None:
    sim.reset(latency=0.0, reconnect=0.0, boot=0.0, cbt_tasks=4)
    sim.fault("other_response", scenario.operation if request_of_task == "call" else "poll")
    result, times = play_scenario(sim, scenario)
    assert times == 1
    assert not result.get("failed"), result["msg"]
    assert result["changed"] is scenario.changes


@pytest.mark.parametrize("request_of_task", ["SNSSnmpTestConnection", "poll"])
def test_response_of_a_connection_test_of_somebody_else(sim: Simulator, request_of_task: str) -> None:
    sim.fault("other_response", request_of_task, reply={"connected": False})
    scenario = next(scenario for scenario in SCENARIOS if scenario.name == "test-snmp")
    result, times = play_scenario(sim, scenario)
    assert times == 1
    assert result["connected"] is True
    assert not result.get("failed")


def test_connection_test_that_fails_is_confirmed(sim: Simulator) -> None:
    for server in ({}, {"sync": True}, {"job_uuid": "ignore"}):
        sim.reset(snmp_connected=False, **server)
        result, times = play_scenario(sim, next(each for each in SCENARIOS if each.name == "test-snmp"))
        assert times == 1
        assert result["failed"]
        assert result["connected"] is False


@pytest.mark.parametrize("wait", [True, False])
@pytest.mark.parametrize("name", ["export-volumes", "delete-cbt-task", "test-snmp"])
def test_outcome_is_unknown_while_the_own_job_cannot_be_read(sim: Simulator, name: str, wait: bool) -> None:
    """Nothing shows whether the other job is that of the call, so its failure is not reported as one of the call."""
    scenario = next(each for each in SCENARIOS if each.name == name)
    sim.reset(latency=0.0, reconnect=0.0, boot=0.0, cbt_tasks=4)
    sim.fault("other_job", scenario.operation)
    sim.fault("status", "poll", status=502, count=None)
    before = sim.state()
    options = {"base_url": sim.url, "session_id": sim.session, "wait_timeout": 3, "wait": wait, "request_retries": 1}
    result = run_module(scenario.module, {**options, **scenario.options}).result
    assert scenario.times(before, sim.state()) == 1
    assert result["changed"] is scenario.changes
    if result.get("failed"):
        assert result["error"]["code"] == "OUTCOME_UNKNOWN"
        own = next(entry["job"] for entry in sim.log() if entry["operation"] == scenario.operation)
        assert re.search(rf" names job (?!{own})[0-9a-f]{{32}}, .* knows job {own}, whose id was sent", result["msg"])
        assert own == result["job"]["uuid"]


def test_own_job_that_the_service_knows_only_later(sim: Simulator, run: ModuleRunner) -> None:
    """The first poll of the own job finds nothing, so the other job is polled, which failed."""
    sim.configure(latencies={"DeleteNicQos": 0.05})
    sim.fault("other_job", "DeleteNicQos")
    sim.fault("status", "poll", status=404, form="plain")
    ran = run("api", {"operation": "DeleteNicQos", "params": {"uuid": NIC, "direction": "in"}})
    assert not ran.failed, ran.message
    assert "job" not in ran.result, "the task waits for its own job"


@pytest.mark.parametrize("scenario", ACTIONS, ids=str)
@pytest.mark.parametrize("fails", [False, True])
def test_service_that_ignores_job_ids_names_its_own_job(sim: Simulator, scenario: Scenario, fails: bool) -> None:
    """The service does not know the id that was sent, so the job in its response is that of the call."""
    sim.reset(latency=0.0, reconnect=0.0, boot=0.0, cbt_tasks=4, job_uuid="ignore")
    if fails:
        sim.fault("fail", scenario.operation, error={"code": "SYS.9999", "details": "it does not work"})
    result, times = play_scenario(sim, scenario)
    assert times == int(not fails)
    assert bool(result.get("failed")) is fails
    may_have_changed = not fails or bool(get_operation(scenario.operation).effect.of_failure)
    assert result["changed"] is (scenario.changes and may_have_changed)
    if fails:
        assert result["error"]["code"] == "SYS.9999"


def test_failure_of_a_job_is_confirmed(sim: Simulator, run: ModuleRunner) -> None:
    """job_info and job_wait poll a failed job again, because a proxy may have confused the responses."""
    client_options = {"operation": "DeleteNicQos", "params": {"uuid": NIC, "direction": "in"}}
    handle = run("api", client_options, wait=False)["job"]
    for module in ("job_info", "job_wait"):
        sim.fault("other_response", "poll")
        assert run(module, {"jobs": [handle]})["jobs"][0]["state"] == "succeeded"
    sim.fault("other_response", "poll", count=2)
    assert run("job_info", {"jobs": [handle]})["jobs"][0]["state"] == "failed"


def test_job_id_of_an_earlier_call_is_not_adopted(sim: Simulator, run: ModuleRunner) -> None:
    """If the user chose job_uuid, the job with this id may be that of an earlier call, so it is not polled."""
    call = {"operation": "DeleteNicQos", "params": {"uuid": NIC, "direction": "in"}}
    assert run("api", call, job_uuid=JOB).changed
    sim.fault("status", "DeleteNicQos", status=403, form="plain")
    refused = run("api", call, job_uuid=JOB)
    assert refused["error"]["code"] == "HTTP_403"
    assert not refused.changed


# ------------------------------------------------------------------------------------------------ runs at the same time

CHAT = {"type": "workchat", "name": "chat", "url": "https://chat.example.com/?key=1"}
NEW_NIC = {"vm": VM_5, "l3_network": "a0000005000040008000000000000003"}


@pytest.mark.parametrize(
    ("operation", "module", "options", "kind"),
    [
        ("CreateSNSWorkchatEndpoint", "sns_endpoint", CHAT, "endpoint"),
        ("AttachL3NetworkToVm", "vm_nic", NEW_NIC, "nic"),
    ],
)
def test_second_object_of_another_run(
    sim: Simulator, run: ModuleRunner, operation: str, module: str, options: dict[str, Any], kind: str
) -> None:
    """The service creates two objects, because the requests of two runs arrive at the same time."""
    sim.configure(job_uuid="ignore")
    sim.fault("duplicate", operation)
    ran = run(module, options)
    assert ran.changed
    assert not ran.failed, ran.message
    if kind == "endpoint":
        uuids = [record["uuid"] for record in sim.records("endpoint") if record["name"] == "chat"]
    else:
        (vm,) = (record for record in sim.records("vm") if record["uuid"] == VM_5)
        uuids = [nic["uuid"] for nic in vm["vmNics"] if nic["l3NetworkUuid"] == NEW_NIC["l3_network"]]
    assert len(uuids) == 2
    (warning,) = ran.warnings
    assert all(uuid in warning for uuid in uuids)
    assert ran[module.removeprefix("sns_").removeprefix("vm_")]["uuid"] in uuids


@pytest.mark.parametrize(
    ("operation", "module", "options"),
    [
        ("AddKVMHost", "kvm_host", NEW_HOST),
        ("CreateCbtTask", "cbt_task", {"name": "backup-5", "vm": VM_5}),
    ],
)
@pytest.mark.parametrize("server", [{"job_uuid": "ignore"}, {"sync": True}])
def test_second_delivery_refused_as_duplicate(
    sim: Simulator,
    run: ModuleRunner,
    operation: str,
    module: str,
    options: dict[str, Any],
    server: dict[str, Any],
) -> None:
    """The service refuses the second delivery of a call, which looks like the call of another run."""
    sim.configure(**server)
    sim.fault("duplicate", operation)
    ran = run(module, options)
    assert not ran.failed, ran.message
    assert ran.changed
    assert ran["host" if module == "kvm_host" else module]["uuid"]
    (warning,) = ran.warnings
    assert f"{operation} failed (SYS.100" in warning
    assert "a proxy delivered this call twice" in warning


def test_second_delivery_of_a_call_that_fails(sim: Simulator, run: ModuleRunner) -> None:
    """The first delivery shows a host for a time, which disappears when the delivery fails."""
    sim.configure(job_uuid="ignore", latency=0.05)
    sim.fault("duplicate", "AddKVMHost")
    ran = run("kvm_host", {**NEW_HOST, "password": "wrong-password"})
    assert ran.failed
    assert "there has been a host having managementIp" in ran.message
    assert not [record for record in sim.records("host") if record["managementIp"] == NEW_HOST["management_ip"]]


@pytest.mark.parametrize("server", [{}, {"job_uuid": "ignore"}, {"sync": True}])
@pytest.mark.parametrize(
    ("operation", "module", "options"),
    [
        ("ChangeHostState", "kvm_host", {"uuid": HOST, "state": "maintenance"}),
        ("EnableCbtTask", "cbt_task", {"uuid": "a0000010000040008000000000000001", "state": "enabled"}),
        ("DeleteCbtTask", "cbt_task", {"uuid": "a0000010000040008000000000000001", "state": "absent"}),
    ],
)
def test_second_delivery_refused_in_the_state_reached(
    sim: Simulator, run: ModuleRunner, operation: str, module: str, options: dict[str, Any], server: dict[str, Any]
) -> None:
    """The service refuses the change of an object that is already in this state or deleted."""
    sim.reset(cbt_tasks=4, **server)
    sim.fault("duplicate", operation)
    ran = run(module, options)
    assert not ran.failed, ran.message
    assert ran.changed
    assert bool(ran.warnings) is bool(server)


@pytest.mark.parametrize("server", [{"job_uuid": "ignore"}, {"sync": True}])
def test_second_delivery_of_an_export(sim: Simulator, run: ModuleRunner, server: dict[str, Any]) -> None:
    """No object shows an export, so the failure says that it may have been performed."""
    sim.configure(**server)
    sim.fault("duplicate", "ExportNbdVolumes")
    vm, volume = "a0000004000040008000000000000002", "a0000007000040008000000000000003"
    ran = run("cbt_volume_export", {"vm": vm, "volumes": [volume]})
    assert ran.failed
    assert ran.changed
    (warning,) = ran.warnings
    assert "ExportNbdVolumes may have been performed" in warning


@pytest.mark.parametrize(
    ("honours_ids", "record", "options", "changed"),
    [
        (True, {}, {}, False),
        (False, {}, {}, True),
        (False, {"clusterUuid": "c" * 32}, {}, None),
        (False, {"description": "of another run"}, {}, True),
        (False, {}, {"resource_uuid": "f" * 12 + "4fff8" + "f" * 15}, False),
    ],
)
def test_object_that_another_run_created_at_the_same_time(
    honours_ids: bool, record: dict[str, Any], options: dict[str, Any], changed: bool | None
) -> None:
    """The job id or the record proves that another run created the object. If changed is None, the task fails."""
    host = {"uuid": "e" * 32, "name": NEW_HOST["name"], "managementIp": NEW_HOST["management_ip"]}
    host |= {"clusterUuid": NEW_HOST["cluster"], "status": "Connected", "state": "Enabled", **record}
    calls: list[StubRequest] = []

    def answer(request: StubRequest) -> StubResponse:
        if request.method == "POST":
            calls.append(request)
            job = request.headers["X-Job-UUID"] if honours_ids else JOB
            return StubResponse(202, {"location": f"{service.url}/service/v1/api-jobs/{job}"})
        if "api-jobs" in request.path and not (honours_ids or request.path.endswith(JOB)):
            return StubResponse(404, b"unable to find job")
        if "api-jobs" in request.path:
            error = {"code": "SYS.1007", "details": "there has been a host having this managementIp"}
            return StubResponse(503, {"error": error})
        return StubResponse(200, {"inventories": [host] if calls else []})

    with StubServer(answer) as service:
        connection = {"base_url": service.url, "session_id": "the-session"}
        ran = run_module("kvm_host", {**connection, **NEW_HOST, **options})
    assert len(calls) == 1
    assert bool(ran.result.get("failed")) is (changed is None), ran.result
    assert ran.result["changed"] is bool(changed)
    # An object with another uuid than the one asked for is said, as in each later run.
    assert bool(ran.warnings) is bool(changed or options)


# ------------------------------------------------------------------------------------------------- what proves nothing


def test_own_job_uuid_is_for_the_first_call_only(sim: Simulator, run: ModuleRunner) -> None:
    assert run("kvm_host", {**NEW_HOST, "state": "disabled"}, job_uuid=JOB).changed
    calls = [entry for entry in sim.log() if entry["operation"] in ("AddKVMHost", "ChangeHostState")]
    assert [entry["headers"]["x-job-uuid"] == JOB for entry in calls] == [True, False]


def test_job_uuid_of_an_earlier_task(sim: Simulator, run: ModuleRunner) -> None:
    assert run("sns_endpoint", CHAT, job_uuid=JOB).changed
    second = run("sns_endpoint", {**CHAT, "name": "other"}, job_uuid=JOB)
    assert second.failed
    assert not second.changed
    assert second["error"]["code"] == "JOB_UUID_USED"
    assert [record["name"] for record in sim.records("endpoint")].count("chat") == 1
    assert "other" not in [record["name"] for record in sim.records("endpoint")]


def test_result_of_another_call_is_not_adopted() -> None:
    """Some services answer a repeated job id with the first result."""
    other = {"uuid": HOST, "name": "other", "type": "SNMP"}

    def answer(request: StubRequest) -> StubResponse:
        if request.method == "POST":
            return StubResponse(200, {"inventory": other})
        wants_other = request.path.endswith(HOST) or f"uuid={HOST}" in str(request.query)
        return StubResponse(200, {"inventories": [other] if wants_other else []})

    with StubServer(answer) as service:
        connection = {"base_url": service.url, "session_id": "the-session"}
        result = run_module("sns_endpoint", {**connection, "type": "snmp", "name": "traps", "description": "x"}).result
    assert result["failed"]
    assert "CreateSNSSnmpEndpoint succeeded, but the object does not exist" in result["msg"]
    assert [request.method for request in service.requests].count("PUT") == 0


@pytest.mark.parametrize("looks", [True, False])
def test_advice_after_a_call_that_may_still_arrive(sim: Simulator, run: ModuleRunner, looks: bool) -> None:
    sim.fault("drop_before", "CreateSNSSnmpEndpoint")
    options = {"operation": "CreateSNSSnmpEndpoint", "params": {"name": "traps"}}
    ran = run("sns_endpoint", {"type": "snmp", "name": "traps"}) if looks else run("api", options)
    assert ran.changed
    job = ran["job"]["uuid"]
    assert f"Check job {job} with job_info. If the service still does not know it after 10 minutes, " in ran.message
    assert ran.message.endswith(
        "it checks the object first." if looks else "check the object before you repeat the call."
    )


def test_empty_result_of_a_job_that_still_runs(sim: Simulator, run: ModuleRunner) -> None:
    """The object does not show the change, so another system has answered the poll, and the job is polled again."""
    sim.configure(latencies={"ChangeHostState": 0.05})
    sim.fault("garbage", "poll", garbage="missing")
    ran = run("kvm_host", {"uuid": HOST, "state": "disabled"})
    assert not ran.failed, ran.message
    assert ran.changed
    assert ran["host"]["state"] == "Disabled"
