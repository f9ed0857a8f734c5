"""Whole messages and warnings of tasks whose outcome is not that of a plain call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._api.records import Record
from ansible_collections.virtinfra.manager.plugins.module_utils._engine.context import TaskInterrupted
from ansible_collections.virtinfra.manager.plugins.module_utils._engine.current import Current
from ansible_collections.virtinfra.manager.plugins.module_utils._engine.spec import PlannedCall, ResourceSpec
from ansible_collections.virtinfra.manager.plugins.module_utils._modules.resource import resource_module
from ansible_collections.virtinfra.manager.plugins.modules.kvm_host import KVM_HOST, MODULE

from simulator.launch import Simulator
from support.fast_clock import monotonic
from support.module_runner import ModuleRun, ModuleRunner, run_module, run_spec
from support.scenarios import (
    CREATED_TASK,
    DATA_VOLUME,
    HOST,
    L3,
    NEW_HOST,
    PLATFORM,
    SNAPSHOT_GROUP,
    STOPPED_VM,
    THIRD_HOST,
    VM,
    VOLUME,
)

JOB = "5d1f3f9a0e7b4f0d9b9a0c6f3a7f1b2c"
NO_ROW = {"status": 404, "form": "plain", "count": None}
TRAPS = {"type": "snmp", "name": "traps", "job_uuid": JOB}
CHAT = {"type": "workchat", "name": "chat", "url": "https://chat.example.com/?key=1"}
DELETED_TASK = {"name": "cbt-task-1", "state": "absent"}
CONNECTING = ("host", HOST, {"status": "Connecting"})
# How often a task looks for the job of a lost call before it sends the call again.
LOOKUPS = 40
NOT_COMPARED = (
    f"The state of the cbt task {CREATED_TASK} is not known, so nothing is compared: the service does not offer"
    " QueryCbtTask, which needs version 4.10.10 or newer, or path_prefix is wrong (HTTP status 404 for GET"
    " /service/v1/cbt-task)."
)
LOST_HOST = {"uuid": "f" * 32, "name": "host-91", "managementIp": "10.0.0.91", "status": "Disconnected"}
ENABLED_HOST = {"uuid": HOST, "name": "host-1", "state": "Enabled", "status": "Connected"}
RESET = "the connection to http://simulator.test broke: Connection reset by peer"
EITHER = (
    "Either another run, task or user made the same call at the same time, or a proxy delivered this call twice. The"
    " task reports a change, because the service does not identify calls by their job ids, which would distinguish the"
    " two cases."
)


@dataclass(frozen=True)
class Case:
    """A task, the service that it uses, and what it returns: ``message`` is empty if the task succeeds."""

    module: str
    options: Mapping[str, Any]
    message: str = ""
    warnings: tuple[str, ...] = ()
    changed: bool = True
    server: Mapping[str, Any] = field(default_factory=dict)
    faults: tuple[tuple[str, str, Mapping[str, Any]], ...] = ()
    prepare: tuple[tuple[str, str, Mapping[str, Any]], ...] = ()


CASES = {
    "outcome unknown, and no object shows it": Case(
        "api",
        {"operation": "CreateSNSSnmpEndpoint", "params": {"name": "traps"}, "job_uuid": JOB},
        f"traps: the outcome of CreateSNSSnmpEndpoint is unknown: CreateSNSSnmpEndpoint: {RESET}. Check job {JOB} with"
        " job_info. If the service still does not know it after 10 minutes, check the object before you repeat the"
        " call.",
        faults=(("drop_before", "CreateSNSSnmpEndpoint", {}),),
    ),
    "outcome unknown, and the object does not exist": Case(
        "sns_endpoint",
        TRAPS,
        f"endpoint traps: the outcome of CreateSNSSnmpEndpoint is unknown: CreateSNSSnmpEndpoint: {RESET}. Check job"
        f" {JOB} with job_info. If the service still does not know it after 10 minutes, run the task again; it checks"
        " the object first.",
        faults=(("drop_before", "CreateSNSSnmpEndpoint", {}),),
    ),
    "outcome unknown, and the object cannot be read any more": Case(
        "sns_endpoint",
        {**TRAPS, "request_retries": 0},
        "endpoint traps: the outcome of CreateSNSSnmpEndpoint is unknown: QuerySNSApplicationEndpoint failed with HTTP"
        " status 503: 503 Service Unavailable proxy. The service or a proxy in front of it is overloaded or restarts:"
        f" run the task again later. Check job {JOB} with job_info. If the service still does not know it after 10"
        " minutes, check the object before you repeat the call.",
        faults=(
            ("drop_before", "CreateSNSSnmpEndpoint", {}),
            ("status", "QuerySNSApplicationEndpoint", {"status": 503, "skip": 1, "count": None}),
        ),
    ),
    "bare success of a call that was not performed": Case(
        "vm",
        {"uuid": STOPPED_VM, "state": "absent", "expunge": True, "job_uuid": JOB},
        f"vm {STOPPED_VM}: the outcome of ExpungeVmInstance is unknown: ExpungeVmInstance returned no result ({{}}),"
        f" and the object has not changed. Check job {JOB} with job_info. If the service still does not know it after"
        " 10 minutes, run the task again; it checks the object first.",
        faults=(("garbage", "ExpungeVmInstance", {"garbage": "missing", "taken": False}),),
        prepare=(("vm", STOPPED_VM, {"state": "Destroyed"}),),
    ),
    "second delivery of a call that no object shows": Case(
        "cbt_volume_export",
        {"vm": STOPPED_VM, "volumes": [VOLUME]},
        f"volumes {VOLUME}, vm {STOPPED_VM}: ExportNbdVolumes failed (SYS.1006): The operation failed: volumes"
        f" ['{VOLUME}'] are exported already",
        (
            (
                f"volumes {VOLUME}, vm {STOPPED_VM}: ExportNbdVolumes may have been performed. If a proxy delivered the"
                " call twice, the service performed the first delivery and refused the second one. The service does not"
                " identify calls by their job ids, which would show that. Check the object."
            ),
        ),
        server={"job_uuid": "ignore"},
        faults=(("duplicate", "ExportNbdVolumes", {}),),
    ),
    "second delivery of a call whose object cannot be read": Case(
        "kvm_host",
        {"uuid": HOST, "name": "renamed", "api_token": None},
        "host renamed: UpdateHost failed (SYS.1007): One or more arguments are wrong: the name is in use",
        (
            (
                "The state of the host renamed is not known, so nothing is compared: the service does not offer"
                " QueryHost (HTTP status 500 for GET /service/v1/hosts); CursorQuery needs api_token (or"
                " VIRTINFRA_API_TOKEN in the environment)."
            ),
            (
                "host renamed: UpdateHost may have been performed. If a proxy delivered the call twice, the service"
                " performed the first delivery and refused the second one. The service does not identify calls by their"
                " job ids, which would show that. Check the object."
            ),
        ),
        server={"job_uuid": "ignore", "missing_operations": ["QueryHost"]},
        faults=(("fail", "UpdateHost", {"error": {"code": "SYS.1007", "details": "the name is in use"}}),),
    ),
    "lost response to a creation that the object shows": Case(
        "sns_endpoint",
        TRAPS,
        faults=(("drop_after", "CreateSNSSnmpEndpoint", {}), ("status", "poll", NO_ROW)),
    ),
    "failure of a call that was sent again": Case(
        "cbt_task",
        {"name": "cbt-task-1", "state": "enabled"},
        "cbt task cbt-task-1: EnableCbtTask failed (SYS.1006): The operation failed: the operation failed on demand",
        faults=(("drop_before", "EnableCbtTask", {}), ("fail", "EnableCbtTask", {"skip": 1})),
    ),
    "refusal of a call whose object is not to be protected from a second one": Case(
        "cbt_volume_export",
        {"vm": STOPPED_VM, "volumes": [VOLUME], "force": True},
        f"volumes {VOLUME}, vm {STOPPED_VM}: ExportNbdVolumes failed (SYS.1006): The operation failed: no space left",
        changed=False,
        server={"job_uuid": "ignore"},
        faults=(("fail", "ExportNbdVolumes", {"error": {"code": "SYS.1006", "details": "no space left"}}),),
    ),
    "second delivery of a creation": Case(
        "kvm_host",
        NEW_HOST,
        warnings=(
            (
                "host host-91: AddKVMHost failed (SYS.1007): One or more arguments are wrong: there has been a host"
                f" having managementIp[10.0.0.91], but the object is in the requested state. {EITHER}"
            ),
        ),
        server={"job_uuid": "ignore"},
        faults=(("duplicate", "AddKVMHost", {}),),
    ),
    "second delivery of a change": Case(
        "cbt_task",
        {"name": "cbt-task-1", "state": "enabled"},
        warnings=(
            (
                "cbt task cbt-task-1: EnableCbtTask failed (SYS.1006): The operation failed: cbt task[uuid:"
                f" {CREATED_TASK}] is Starting already, but the object is in the requested state. {EITHER}"
            ),
        ),
        server={"job_uuid": "ignore"},
        faults=(("duplicate", "EnableCbtTask", {}),),
    ),
    "name of other objects": Case(
        "kvm_host",
        {**NEW_HOST, "name": "host-1"},
        f"host host-1: no host has this management_ip, but another host has the name ({HOST}, {THIRD_HOST}). To change"
        " its management_ip, give its uuid, or only name and management_ip. To create another host, give another name.",
        changed=False,
        prepare=(("host", THIRD_HOST, {"name": "host-1"}),),
    ),
    "object that only its address describes": Case(
        "kvm_host",
        {"management_ip": "10.0.0.99", "state": "enabled"},
        "host 10.0.0.99: no host with management_ip '10.0.0.99'. Check the management_ip, or give username,"
        " password, name and cluster to add it.",
        changed=False,
    ),
    "unreadable object to create": Case(
        "vm_from_snapshot_group",
        {"name": "restored", "snapshot_group": SNAPSHOT_GROUP, "l3_networks": [L3], "api_token": None},
        "vm restored: cannot check whether the object exists: the service does not offer QueryVmInstance (HTTP status"
        " 500 for GET /service/v1/vm-instances); CursorQuery needs api_token (or VIRTINFRA_API_TOKEN in the"
        " environment). Give uuid, or create the object once with the module api.",
        changed=False,
        server={"missing_operations": ["QueryVmInstance"]},
    ),
    "unreadable object to change": Case(
        "kvm_host",
        {"name": "nobody", "state": "enabled", "api_token": None},
        "host nobody: cannot check whether the object exists: the service does not offer QueryHost (HTTP status 500 for"
        " GET /service/v1/hosts); CursorQuery needs api_token (or VIRTINFRA_API_TOKEN in the environment). Give uuid.",
        changed=False,
        server={"missing_operations": ["QueryHost"]},
    ),
    "unreadable object to remove": Case(
        "cbt_task",
        DELETED_TASK,
        "cbt task cbt-task-1: cannot check whether the object exists: the service does not offer QueryCbtTask,"
        " which needs version 4.10.10 or newer (HTTP status 404 for GET"
        " /service/v1/cbt-task). Give uuid.",
        changed=False,
        faults=(("status", "QueryCbtTask", NO_ROW),),
    ),
    "unreadable object that is not compared": Case(
        "cbt_task",
        {"uuid": CREATED_TASK, "state": "enabled"},
        warnings=(NOT_COMPARED,),
        faults=(("status", "QueryCbtTask", NO_ROW),),
    ),
    "object that is not removed": Case(
        "vm",
        {"uuid": VM, "state": "absent"},
        f"vm {VM}: DestroyVmInstance succeeded, but the object still exists",
        server={"failing_destructions": [VM]},
    ),
    "created object that does not exist": Case(
        "sns_topic",
        {"name": "alarms"},
        "topic alarms: CreateSNSTopic succeeded, but the object does not exist",
        faults=(("other_response", "QuerySNSTopic", {"reply": {"inventories": []}, "count": None}),),
    ),
    "added host that cannot be reached": Case(
        "kvm_host",
        NEW_HOST,
        "host host-91: AddKVMHost succeeded, but status Disconnected",
        faults=(
            (
                "other_response",
                "QueryHost",
                {"reply": {"inventories": [LOST_HOST], "total": 1}, "skip": 2, "count": None},
            ),
        ),
    ),
    "enabled host that stays disabled": Case(
        "kvm_host",
        {"uuid": HOST, "state": "disabled"},
        f"host {HOST}: ChangeHostState succeeded, but state is 'Enabled' (expected 'Disabled')",
        faults=(("other_response", "QueryHost", {"reply": {"inventories": [ENABLED_HOST]}, "count": None}),),
    ),
    "creation that fails": Case(
        "kvm_host",
        NEW_HOST,
        "host host-91: AddKVMHost failed (SYS.1006): The operation failed: the operation failed on demand",
        changed=False,
        faults=(("fail", "AddKVMHost", {}),),
    ),
    "removal that fails": Case(
        "cbt_task",
        DELETED_TASK,
        "cbt task cbt-task-1: DeleteCbtTask failed (SYS.1006): The operation failed: the operation failed on demand."
        " The cbt task still exists: status Created.",
        changed=False,
        faults=(("fail", "DeleteCbtTask", {}),),
    ),
    "removal in several calls without a wait": Case(
        "vm",
        {"uuid": VM, "state": "absent", "data_volumes": "delete", "expunge": True, "wait": False},
        warnings=(
            (
                f"vm {VM}: the task did not call DeleteDataVolume, ExpungeDataVolume, ExpungeVmInstance, because wait"
                f" is false. Run it again when the job has ended. Then remove {DATA_VOLUME} with the module api,"
                " because the task does not find them again."
            ),
        ),
    ),
    "removal in several calls of one object without a wait": Case(
        "vm",
        {"uuid": STOPPED_VM, "state": "absent", "expunge": True, "wait": False},
        warnings=(
            (
                f"vm {STOPPED_VM}: the task did not call ExpungeVmInstance, because wait is false. Run it again when"
                " the job has ended."
            ),
        ),
    ),
    "state that stays transitional": Case(
        "kvm_host",
        {"uuid": HOST, "state": "enabled", "wait_timeout": 3},
        f"host {HOST}: status is still Connecting after 3 s. Check the host, or increase wait_timeout.",
        changed=False,
        prepare=(CONNECTING,),
    ),
    "state that stays transitional before a call": Case(
        "kvm_host",
        {"uuid": HOST, "state": "maintenance", "wait_timeout": 3},
        f"host {HOST}: status is still Connecting after 3 s. Check the host, or increase wait_timeout.",
        changed=False,
        prepare=(CONNECTING,),
    ),
    "state that cannot be read any more": Case(
        "kvm_host",
        {"uuid": HOST, "state": "enabled", "wait_timeout": 3, "request_retries": 0},
        f"host {HOST}: status is still Connecting after 3 s. Check the host, or increase wait_timeout. The last read"
        " failed: QueryHost failed with HTTP status 503: 503 Service Unavailable proxy. The service or a proxy in front"
        " of it is overloaded or restarts: run the task again later.",
        changed=False,
        faults=(("status", "QueryHost", {"status": 503, "skip": 1, "count": None}),),
        prepare=(CONNECTING,),
    ),
    "reply that contains an error": Case(
        "sns_snmp_test",
        {"platform": PLATFORM},
        f"platform {PLATFORM}: the service could not reach the SNMP receiver: it answered "
        '{"statusCode": 504, "message": "no answer"}. Check its address and port.',
        changed=False,
        server={"snmp_connected": False},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_message(sim: Simulator, name: str) -> None:
    case = CASES[name]
    ran = play(sim, case)
    assert (ran.message, tuple(ran.warnings), ran.changed) == (case.message, case.warnings, case.changed)


def play(sim: Simulator, case: Case) -> ModuleRun:
    """Run the task of a case on a new service."""
    sim.reset(latency=0.0, reconnect=0.0, cbt_tasks=1, **case.server)
    for kind, uuid, members in case.prepare:
        sim.change(kind, uuid, **members)
    for fault, operation, details in case.faults:
        sim.fault(fault, operation, **details)
    return ModuleRunner(sim)(case.module, case.options)


def test_call_that_another_delivery_made_is_listed_when_a_later_one_fails(sim: Simulator) -> None:
    sim.reset(job_uuid="ignore")
    sim.fault("duplicate", "AddKVMHost")
    sim.fault("fail", "ChangeHostState")
    ran = ModuleRunner(sim)("kvm_host", {**NEW_HOST, "state": "disabled"})
    assert (ran.failed, ran.changed, ran["done"]) == (True, True, ["AddKVMHost"])


def test_progress_of_a_wait_for_an_object_names_it(sim: Simulator) -> None:
    sim.change("host", HOST, status="Connecting")
    lines: list[str] = []
    options = {"base_url": sim.url, "session_id": sim.session, "uuid": HOST, "state": "enabled", "wait_timeout": 15}
    assert run_module("kvm_host", options, on_progress=lines.append).result["failed"]
    (line,) = lines
    assert line.startswith(f"still waiting for the host {HOST}, ")


def test_job_of_a_lost_call_is_polled_until_the_response_could_have_arrived(sim: Simulator) -> None:
    """The request may be on its way for request_timeout seconds, after the two seconds of the first lookup."""
    begin = monotonic()
    play(sim, CASES["outcome unknown, and the object does not exist"])
    assert 32 <= monotonic() - begin < 40
    assert count_calls(sim, "CreateSNSSnmpEndpoint") == 1


def test_idempotent_call_is_sent_again_at_most_three_times(sim: Simulator) -> None:
    sim.reset(cbt_tasks=1)
    sim.fault("drop_before", "EnableCbtTask", count=None)
    ran = ModuleRunner(sim)("cbt_task", {"name": "cbt-task-1", "state": "enabled"})
    assert ran["error"]["code"] == "OUTCOME_UNKNOWN"
    assert count_calls(sim, "EnableCbtTask") == 4
    assert len({entry["headers"]["x-job-uuid"] for entry in sim.log() if entry["operation"] == "EnableCbtTask"}) == 1


def test_call_that_is_sent_again_may_be_known_by_then(sim: Simulator) -> None:
    """The first delivery reaches the service late, so that it knows the job when it gets the second one."""
    sim.configure(latencies={"ChangeHostState": 600.0})
    sim.fault("drop_after", "ChangeHostState")
    sim.fault("status", "poll", status=404, form="plain", count=LOOKUPS)
    ran = ModuleRunner(sim)("kvm_host", {"uuid": HOST, "state": "disabled", "wait": False})
    assert not ran.failed, ran.message
    (uuid,) = {entry["headers"]["x-job-uuid"] for entry in sim.log() if entry["operation"] == "ChangeHostState"}
    assert (count_calls(sim, "ChangeHostState"), ran["job"]["uuid"]) == (2, uuid)


def count_calls(sim: Simulator, operation: str) -> int:
    """Return how often an operation was called."""
    return [entry["operation"] for entry in sim.log()].count(operation)


@pytest.mark.parametrize("has_locks", [True, False])
def test_second_object_that_was_created_at_the_same_time(sim: Simulator, has_locks: bool) -> None:
    """Tasks of the run take turns, unless they are module processes, which share no locks."""
    sim.reset(latency=0.0, job_uuid="ignore")
    sim.fault("duplicate", "CreateSNSWorkchatEndpoint")
    hooks: dict[str, Any] = {"new_lock": lambda *dummy: None} if has_locks else {}
    outcome = run_module("sns_endpoint", {"base_url": sim.url, "session_id": sim.session, **CHAT}, **hooks)
    used = outcome.result["endpoint"]["uuid"]
    (other,) = {record["uuid"] for record in sim.records("endpoint") if record["name"] == "chat"} - {used}
    others = (
        "another run, a user, or a task of this run with async, become or another connection"
        if has_locks
        else "another task, another run or a user"
    )
    assert outcome.warnings == [
        (
            f"endpoint chat: {used} and {other} exist, because another one was created at the same time, by {others}."
            " This task uses the first. Delete the one that is not needed, and run the tasks that create it"
            " one at a time."
        )
    ]


def test_plan_that_never_ends(sim: Simulator) -> None:
    """A service that shows neither the changes nor an error would be called for ever."""

    def plan_description(resource: ResourceSpec, state: str, desired: Record, current: Current) -> list[PlannedCall]:
        number = len(sim.log())
        return [PlannedCall("UpdateHost", {"uuid": HOST, "description": str(number)}, {"uuid": HOST})]

    spec = resource_module(replace(KVM_HOST, plan=plan_description), MODULE.options)
    sim.clear_log()
    result = run_spec(spec, {"base_url": sim.url, "session_id": sim.session, "uuid": HOST}).result
    assert result["msg"] == f"host {HOST}: did not reach the requested state after 11 calls"
    assert result["done"] == ["UpdateHost"] * 11
    assert count_calls(sim, "UpdateHost") == 11


@pytest.mark.parametrize("state", ["present", "maintenance"])
def test_task_that_ends_during_a_call(sim: Simulator, state: str) -> None:
    """The message and the result name the job that still runs, and the calls that succeeded before it."""
    operation = {"present": "AddKVMHost", "maintenance": "ChangeHostState"}[state]

    def interrupt() -> None:
        if any(entry["operation"] == operation for entry in sim.log()):
            raise KeyboardInterrupt

    sim.configure(latencies={operation: 60.0})
    options = {**NEW_HOST, "state": state, "base_url": sim.url, "session_id": sim.session}
    with pytest.raises(TaskInterrupted) as stopped:
        run_module("kvm_host", options, before_send=interrupt)
    error, job = stopped.value.result["error"], stopped.value.result["job"]
    message = (
        f"host host-91: {operation} may still be running in the service. Continue with job_wait, job {job['uuid']}."
    )
    assert str(stopped.value) == message
    assert (error["code"], error["details"]) == ("TIMEOUT", message)
    assert stopped.value.result == {
        "error": error,
        "changed": True,
        "job": {
            "uuid": job["uuid"],
            "job_uuid": job["uuid"],
            "location": f"/service/v1/api-jobs/{job['uuid']}",
            "operation": operation,
            "object": "host host-91",
            "state": "running",
        },
        **({"done": ["AddKVMHost"]} if state == "maintenance" else {}),
    }
