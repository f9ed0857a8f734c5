"""Messages of failures say what failed, on which object, why, and what to do."""

from __future__ import annotations

import re
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._api.operations import OPERATIONS

from simulator.launch import Simulator
from support.collection import MODULES, load_spec
from support.module_runner import ModuleRunner
from support.scenarios import SCENARIOS
from support.wrong_numbers import SHIFTS, choose_wrong_number, send_wrong_numbers

NOWHERE = "f" * 32


def first(sim: Simulator, kind: str, **members: Any) -> str:
    """Return the uuid of the first record of a kind that has these members."""
    found = sim.records(kind)
    return next(str(each["uuid"]) for each in found if all(each[name] == value for name, value in members.items()))


# A task for each operation that changes something.
CALLS = {scenario.operation: scenario for scenario in reversed(SCENARIOS)}


def prepare_call(sim: Simulator, operation: str) -> tuple[str, dict[str, Any]]:
    """Prepare a service, and return a module and the options with which it calls the operation."""
    scenario = CALLS[operation]
    sim.reset(cbt_tasks=4)
    for kind, uuid, members in scenario.prepare:
        sim.change(kind, uuid, **members)
    return scenario.module, {**scenario.options}


# How the messages of each operation begin: with the object's name, its uuid, or the uuids of its owners.
ABOUT = {
    "CreateCbtTask": "cbt task backup-5: ",
    "ChangeHostState": r"host a\w{31}: ",
    "AttachL3NetworkToVm": r"nic of vm a\w{31}, l3_network a\w{31}: ",
    "SetServiceTypeOnHostNetworkInterface": r"services of interfaces a\w{31}: ",
    "DeleteNicQos": r"limit a\w{31}: ",
    "SNSSnmpTestConnection": r"platform a\w{31}: ",
    "ExportNbdVolumes": r"volumes a\w{31}, vm a\w{31}: ",
}

ADVISED = {
    "ID.1001": "log in again and pass the new one as session_id",
    "ID.1002": "use another account or grant the permission",
    "ID.1003": "A quota is exhausted",
    "SYS.1003": "check the uuids",
    "SYS.1018": "share the object with it",
    "SYS.1019": "use another account or grant the permission",
}


# The calls that change something when they fail: a task that could not be enabled has another status than before.
CHANGES_WHEN_IT_FAILS = ("EnableCbtTask",)


@pytest.mark.parametrize("operation", CALLS)
def test_failure_of_a_call(run: ModuleRunner, sim: Simulator, subtests: pytest.Subtests, operation: str) -> None:
    """The failure has the operation, the code, the cause, a hint and the whole ErrorCode, and `changed` is accurate."""
    cause = {"code": "HOST.1001", "details": "the root of it"}
    for code, advice in ADVISED.items():
        with subtests.test(code):
            name, options = prepare_call(sim, operation)
            sim.fault("fail", operation, error={"code": code, "details": "the outside of it", "cause": cause})
            ran = run(name, options)
            assert ran.calls == [operation]
            assert ran.failed
            assert ran.changed == (operation in CHANGES_WHEN_IT_FAILS)
            assert f"{operation} failed ({code}, caused by HOST.1001): " in ran.message
            assert "the root of it" in ran.message
            assert advice in ran.message
            assert ran["error"]["code"] == code
            assert ran["error"]["causes"][0]["details"] == "the root of it"
            assert ran["operation"] == operation
            assert "\n" not in ran.message
            assert re.match(ABOUT.get(operation, ""), ran.message)


@pytest.mark.parametrize("code", ["SYS.1001", "SYS.1012", "SYS.2111"])
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("kvm_host", {"name": "host-1", "state": "disabled"}),
        ("vm_nic", {"vm": "vm-1", "l3_network": "l3-2"}),
        ("vm", {"name": "vm-1", "state": "stopped"}),
    ],
)
def test_a_call_that_the_service_lost_sight_of_was_performed_by_this_task(
    run: ModuleRunner, sim: Simulator, name: str, options: dict[str, Any], code: str
) -> None:
    sim.fault("fail", method="PUT" if name != "vm_nic" else "POST", error={"code": code, "details": "late"}, taken=True)
    ran = run(name, options)
    assert (ran.message, ran.changed, ran.warnings) == ("", True, [])
    assert len(ran.calls) == 1
    run.idle(name, options)


def test_members_that_no_document_knows(run: ModuleRunner, sim: Simulator, subtests: pytest.Subtests) -> None:
    """The job of each operation ends with them."""
    for operation in CALLS:
        with subtests.test(operation):
            name, options = prepare_call(sim, operation)
            sim.configure(unknown_members=True, boot=0.0)
            ran = run(name, options, wait_timeout=5)
            assert not ran.failed, ran.message


@pytest.mark.parametrize("shift", SHIFTS)
def test_wrong_numbers_are_no_bug(run: ModuleRunner, sim: Simulator, subtests: pytest.Subtests, shift: int) -> None:
    for position, operation in enumerate(CALLS):
        with subtests.test(operation):
            name, options = prepare_call(sim, operation)
            sim.configure(boot=0.0)
            send_wrong_numbers(sim, choose_wrong_number(position, shift))
            ran = run(name, options, wait_timeout=5)
            assert "exception" not in ran.result, ran["exception"]


@pytest.mark.parametrize("operation", CALLS)
def test_expired_session(run: ModuleRunner, sim: Simulator, operation: str) -> None:
    name, options = prepare_call(sim, operation)
    sim.configure(session_expired=True)
    ran = run(name, options)
    assert "The session is invalid or has expired: log in again" in ran.message
    assert not ran.changed


@pytest.mark.parametrize("operation", CALLS)
def test_session_that_expires_with_the_call(run: ModuleRunner, sim: Simulator, operation: str) -> None:
    name, options = prepare_call(sim, operation)
    sim.fault("session_expiry", operation)
    ran = run(name, options)
    assert "The session is invalid or has expired: log in again" in ran.message
    assert not ran.changed


@pytest.mark.parametrize("operation", CALLS)
def test_call_that_is_not_waited_for(run: ModuleRunner, sim: Simulator, operation: str) -> None:
    """The result has the predicted record and the handle of the job, which job_wait accepts, also in check mode."""
    name, options = prepare_call(sim, operation)
    sim.configure(latency=60.0)
    checked = run(name, options, check=True, wait=False)
    assert checked["job"] == {
        "uuid": None,
        "job_uuid": None,
        "location": None,
        "operation": operation,
        "object": None,
        "state": "unknown",
    }
    for module in ("job_wait", "job_info"):
        assert run(module, {"jobs": [checked["job"]]}, check=True)["jobs"] == [checked["job"]]
    ran = run(name, options, wait=False)
    assert ran.calls == [operation]
    assert ran["job"].keys() == {"uuid", "job_uuid", "location", "operation", "object", "state"}
    assert (ran["job"]["operation"], ran["job"]["state"]) == (operation, "running")
    assert ran.changed == checked.changed
    assert {*ran.result, "check_mode"} == {*checked.result}
    sim.advance()
    waited = run("job_wait", {"jobs": [ran["job"]]})
    assert not waited.failed
    assert not waited.changed


@pytest.mark.parametrize("module", ["job_info", "job_wait"])
def test_jobs_are_given_in_any_form(run: ModuleRunner, sim: Simulator, module: str) -> None:
    started = [run("kvm_host", {"name": f"host-{number}", "state": "disabled"}, wait=False) for number in (1, 2, 3)]
    sim.advance()
    unchanged = run("kvm_host", {"name": "host-1", "state": "disabled"}, wait=False)
    handle = started[2]["job"]
    items = [started[0].result, unchanged.result, started[1]["job"]["uuid"], handle, {"location": handle["location"]}]
    ended = run(module, {"jobs": items})
    assert ended["summary"] == {"succeeded": 4, "failed": 0, "running": 0, "unknown": 0}
    assert [job["uuid"] for job in ended["jobs"]] == [*(ran["job"]["uuid"] for ran in started), handle["uuid"]]
    assert run(module, {"jobs": handle["uuid"]})["jobs"][0]["uuid"] == handle["uuid"]
    assert run(module, {"jobs": [unchanged.result]})["jobs"] == []
    loop = {
        "changed": True,
        "results": [{**started[0].result, "ansible_loop_var": "item"}],
        "msg": "All items completed",
    }
    batch = {"changed": True, "results": [{**started[0].result, "outcome": "changed"}]}
    for result in (loop, batch):
        assert "Pass its results, for example started.results" in run(module, {"jobs": [result]}).message
    in_background = {"changed": True, "started": 1, "finished": 0, "ansible_job_id": "j1.2", "results_file": "/a"}
    assert "Wait for it with ansible.builtin.async_status" in run(module, {"jobs": [in_background]}).message
    refused = [run(module, {"jobs": [item]}).message for item in (5, None, [handle], {"location": 5})]
    assert {message.partition(". ")[0] for message in refused} == {
        "each item of jobs must be the uuid of a job, the job of an earlier task, or the result of a task"
    }


@pytest.mark.parametrize("operation", CALLS)
def test_call_that_exceeds_its_timeout(run: ModuleRunner, sim: Simulator, operation: str) -> None:
    name, options = prepare_call(sim, operation)
    sim.configure(latency=60.0)
    ran = run(name, options, wait_timeout=0.05)
    assert f"{operation} is still running after 0.05 s" in ran.message
    assert ran["job"]["operation"] == operation
    assert ran.changed == (operation != "SNSSnmpTestConnection")


def test_vm_that_has_a_task_already(run: ModuleRunner, sim: Simulator) -> None:
    sim.reset(cbt_tasks=1)
    vm = first(sim, "vm")
    ran = run("cbt_task", {"name": "second", "vm": vm})
    assert f"cbt task second: the VM {vm} has the CBT task 'cbt-task-1'" in ran.message
    (cause,) = ran["error"]["causes"]
    assert cause["code"] == "SYS.1006"
    assert f"vm[uuid: {vm}] has the cbt task[uuid: {first(sim, 'cbttask')}] already" in cause["details"]
    assert not ran.changed


def test_host_that_is_not_connected(run: ModuleRunner, sim: Simulator) -> None:
    host = first(sim, "host")
    sim.change("host", host, status="Disconnected")
    ran = run("kvm_host", {"uuid": host, "state": "maintenance"})
    assert f"kvm host {host}" not in ran.message
    assert f"host {host}: only a connected host can go into maintenance" in ran.message
    assert "ChangeHostState" in ran["operation"]
    facts = run("host_network_info", {"hosts": [host]})
    assert "does not answer, its status is Disconnected" in facts.message


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("kvm_host", {"uuid": NOWHERE}),
        ("cbt_task", {"uuid": NOWHERE}),
        ("sns_endpoint", {"uuid": NOWHERE, "type": "workchat"}),
        ("sns_endpoint", {"uuid": NOWHERE, "type": "snmp"}),
        ("sns_snmp_platform", {"uuid": NOWHERE}),
        ("sns_teamchat_person", {"uuid": NOWHERE}),
        ("vm_from_snapshot_group", {"uuid": NOWHERE}),
        ("vm_nic", {"uuid": NOWHERE}),
    ],
)
@pytest.mark.parametrize("single", [False, True])
def test_missing_objects(run: ModuleRunner, sim: Simulator, name: str, options: dict[str, Any], single: bool) -> None:
    """A server that returns single records omits a missing one."""
    sim.configure(single_inventory=single)
    assert f" with uuid '{NOWHERE}'" in run.refused(name, options)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("kvm_host", {"name": ""}),
        ("kvm_host", {"management_ip": " "}),
        ("sns_snmp_platform", {"uuid": NOWHERE, "snmp_address": ""}),
        ("sns_teamchat_person", {"uuid": NOWHERE, "user_id": ""}),
        ("sns_endpoint", {"type": "workchat", "name": "n", "url": " "}),
        ("vm_nic", {"uuid": NOWHERE, "static_ip": ""}),
        ("vm_nic", {"uuid": NOWHERE, "custom_mac": ""}),
    ],
)
def test_empty_string_for_a_reference(run: ModuleRunner, name: str, options: dict[str, Any]) -> None:
    empty = next(option for option, value in options.items() if isinstance(value, str) and not value.strip())
    assert run.refused(name, options) == f"{empty} must not be empty"


@pytest.mark.parametrize("name", [name for name, row in OPERATIONS.items() if row.credential == "none"])
def test_api_refuses_what_would_show_a_session(run: ModuleRunner, name: str) -> None:
    message = run.refused(
        "api", {"operation": name, "params": {"accountName": "admin", "password": "simulator-password"}}
    )
    assert message == f"operation must not be {name}, which handles a session. Use virtinfra.manager.session"


def test_texts_of_the_service_do_not_control_the_terminal(run: ModuleRunner, sim: Simulator) -> None:
    name = "host\x1b[2J\r\u202e"
    for record in sim.records("host")[:2]:
        sim.change("host", record["uuid"], name=name)
    failed = run("kvm_host", {"name": name, "state": "disabled"})
    assert failed.failed
    assert failed.message.isprintable()
    assert "host\\x1b[2J\\r\\u202e" in failed.message
    renamed = run("kvm_host", {"name": f"{name}2", "management_ip": "10.0.0.11"}, check=True)
    assert renamed.warnings
    assert all(warning.isprintable() for warning in renamed.warnings)


WITH_KEYS = [
    name
    for name in MODULES
    if name not in ("api", "resource_info") and load_spec(name).constraints.get("required_one_of")
]


@pytest.mark.parametrize("name", WITH_KEYS)
def test_null_is_not_given(run: ModuleRunner, name: str) -> None:
    """Templates of missing values return null. No module succeeds, or calls it a bug, because of it."""
    spec = load_spec(name)
    needed = {option: row.get("choices", ["x"])[0] for option, row in spec.options.items() if row.get("required")}
    needed |= {option: "x" for names in spec.constraints.get("required_by", {}).values() for option in names}
    state = {"state": "absent"} if "absent" in spec.options.get("state", {}).get("choices", ()) else {}
    for option, value, names, *dummy in spec.constraints.get("required_if", ()):
        if state.get(option) == value:
            needed |= {name: spec.options[name].get("choices", ["x"])[0] for name in names}
    groups = spec.constraints["required_one_of"]
    for key in {option for names in groups for option in names}:
        others = {names[-1]: "x" for names in groups if key not in names}
        ran = run(name, {**needed, **state, **others, key: None})
        assert ran["error"]["code"] == "INVALID", ran.message
        assert re.search("one of the following is required|must not be null", ran.message)
        assert ran.log == []
