"""The module cbt_task: both forms of its options, and every form of the replies."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.launch import Simulator
from simulator.state.store import seeded_uuid
from support.module_runner import ModuleRun, ModuleRunner, run_module


@pytest.fixture
def vm(sim: Simulator) -> str:
    """The uuid of a running VM."""
    return next(str(vm["uuid"]) for vm in sim.records("vm") if vm["state"] == "Running")


def by_machine(vm: str) -> dict[str, Any]:
    return {"name": "nightly", "vm": vm}


def by_resources(vm: str) -> dict[str, Any]:
    return {"name": "nightly", "task_type": "full", "vms": [vm]}


def by_both(vm: str) -> dict[str, Any]:
    return {**by_machine(vm), **by_resources(vm)}


FORMS = {
    "any": (by_machine, by_resources, by_both),
    "literal": (by_resources, by_both),
    "vm_only": (by_machine, by_both),
}


@pytest.mark.parametrize(("server", "form"), [(server, form) for server, forms in FORMS.items() for form in forms])
def test_session_of_a_vm_is_opened(run: ModuleRunner, sim: Simulator, vm: str, server: str, form: Any) -> None:
    sim.configure(cbt_create=server)
    ran = run.twice("cbt_task", form(vm))
    assert ran.calls == ["CreateCbtTask"]
    assert ran["cbt_task"]["status"] == "Created"
    assert [ref["resourceUuid"] for ref in sim.records("cbttask")[0]["resourceRefs"]] == [vm]


@pytest.mark.parametrize("check", [True, False])
def test_vm_and_vms_that_differ_are_refused(run: ModuleRunner, sim: Simulator, vm: str, check: bool) -> None:
    """Servers that know the VM ignore the list."""
    others = [str(each["uuid"]) for each in sim.records("vm") if each["uuid"] != vm]
    for vms, reason in ((others[:1], "is not one of vms."), ([vm, *others[:1]], "vms has others.")):
        ran = run("cbt_task", {"name": "nightly", "task_type": "full", "vm": vm, "vms": vms}, check=check)
        assert f"{reason} Omit one of the two options" in ran.message
        assert (ran["error"]["code"], ran.calls) == ("INVALID", [])


@pytest.mark.parametrize(("server", "form"), [("literal", by_machine), ("vm_only", by_resources)])
def test_form_that_a_server_ignores(run: ModuleRunner, sim: Simulator, vm: str, server: str, form: Any) -> None:
    sim.configure(cbt_create=server)
    ran = run("cbt_task", form(vm))
    assert "CreateCbtTask failed (SYS.1007)" in ran.message
    assert "is mandatory" in ran.message
    assert not ran.changed


def test_neither_form_of_the_options(run: ModuleRunner) -> None:
    assert "no cbt task with name 'nightly'. Check the name, or give " in run.refused("cbt_task", {"name": "nightly"})
    vms = {"name": "nightly", "vms": ["vm-1"], "state": "enabled"}
    assert "or give vm in place of vms to create it" in run.refused("cbt_task", vms)
    assert "or give vms to create it" in run.refused("cbt_task", {"name": "nightly", "task_type": "full"})


@pytest.mark.parametrize("reply", ["volumeCbtBackupInfos", "inventory", "both", "empty"])
def test_every_reply_to_enabling(run: ModuleRunner, sim: Simulator, vm: str, reply: str) -> None:
    sim.configure(enable_reply=reply)
    ran = run.twice("cbt_task", {**by_machine(vm), "state": "enabled"})
    assert ran.calls == ["CreateCbtTask", "EnableCbtTask"]
    assert ran["cbt_task"]["status"] == "Running"
    assert bool(ran["volume_cbt_backup_infos"]) == (reply in ("volumeCbtBackupInfos", "both"))


@pytest.mark.parametrize("reply", ["inventory", "empty"])
def test_every_reply_to_disabling(run: ModuleRunner, sim: Simulator, vm: str, reply: str) -> None:
    sim.configure(disable_reply=reply)
    run("cbt_task", {**by_machine(vm), "state": "enabled"})
    ran = run.twice("cbt_task", {"name": "nightly", "state": "disabled"})
    assert ran["cbt_task"]["status"] == "Stopped"


@pytest.mark.parametrize("where", ["query", "body", "both"])
def test_parameters_of_a_deletion_are_in_query_and_body(run: ModuleRunner, sim: Simulator, vm: str, where: str) -> None:
    sim.configure(delete_params=where)
    run("cbt_task", by_machine(vm))
    options = {"name": "nightly", "state": "absent", "force": True, "delete_mode": "Enforcing"}
    ran = run.twice("cbt_task", options)
    entry = next(entry for entry in ran.log if entry["operation"] == "DeleteCbtTask")
    assert entry["query"] == {"force": ["true"], "deleteMode": ["Enforcing"]}
    assert entry["body"] == {"force": True, "deleteMode": "Enforcing"}
    assert ran["cbt_task"] is None


def test_create_with_an_empty_reply(run: ModuleRunner, sim: Simulator, vm: str) -> None:
    """Before version 5.3.20 the reply has no members."""
    sim.configure(version="5.3.0")
    ran = run.twice("cbt_task", by_machine(vm))
    assert ran["cbt_task"]["name"] == "nightly"


def test_chosen_uuid(run: ModuleRunner, sim: Simulator, vm: str) -> None:
    chosen, pattern = "0123456789ab4def8123456789abcdef", seeded_uuid("tagpattern", 1)
    ran = run.twice("cbt_task", {**by_machine(vm), "resource_uuid": chosen, "tag_patterns": [pattern]})
    assert ran["cbt_task"]["uuid"] == chosen
    assert sim.state()["tags"][chosen]["tagUuids"] == [pattern]
    run.idle("cbt_task", {"uuid": chosen})


def test_lost_reply_of_a_performed_call(run: ModuleRunner, sim: Simulator) -> None:
    """The service no longer knows the job: the status of the task can be read, the reply cannot."""
    sim.reset(cbt_tasks=1)
    sim.fault("expire", "EnableCbtTask")
    ran = run("cbt_task", {"name": "cbt-task-1", "state": "enabled"})
    assert ran.calls == ["EnableCbtTask"]
    assert ran.changed
    assert ran["cbt_task"]["status"] == "Running"
    assert ran["volume_cbt_backup_infos"] == []
    assert ran.warnings == [
        "cbt task cbt-task-1: EnableCbtTask succeeded, but its response was lost, and volume_cbt_backup_infos with it."
    ]


# --------------------------------------------------------------------------------------------- found by one of its VMs


@pytest.fixture
def shared_task(sim: Simulator) -> list[str]:
    """The uuids of the three VMs of the only task."""
    sim.reset(cbt_tasks=1)
    (task,) = sim.records("cbttask")
    vms = [str(vm["uuid"]) for vm in sim.records("vm")[:3]]
    refs = [{"taskUuid": task["uuid"], "resourceUuid": vm, "resourceType": "VmInstanceVO"} for vm in vms]
    sim.change("cbttask", task["uuid"], resourceRefs=refs, status="Running")
    return vms


def test_scratch_volumes_of_an_open_session_are_no_vms(run: ModuleRunner, sim: Simulator) -> None:
    """While a backup session is open, servers also list its scratch volumes, in any order."""
    sim.reset(cbt_tasks=1)
    (task,) = sim.records("cbttask")
    (ref,) = task["resourceRefs"]
    scratch = {"taskUuid": task["uuid"], "resourceUuid": sim.records("volume")[0]["uuid"], "resourceType": "VolumeVO"}
    sim.change("cbttask", task["uuid"], resourceRefs=[scratch, ref, scratch], status="Running")
    vm = ref["resourceUuid"]
    found = run.idle("cbt_task", {"vm": vm, "state": "enabled"})
    assert (found["cbt_task"]["vm_instance_uuid"], found["cbt_task"]["resource_uuids"]) == (vm, [vm])
    ended = run("cbt_task", {"vm": vm, "state": "disabled"})
    assert (ended.calls, ended.warnings) == (["DisableCbtTask"], [])
    removed = run("vm", {"uuid": vm, "state": "absent"}, check=True)
    assert (removed.failed, removed.warnings) == (False, [])


@pytest.fixture
def open_task(sim: Simulator, run: ModuleRunner) -> dict[str, Any]:
    """The only task, whose backup session is open."""
    sim.reset(cbt_tasks=1)
    (task,) = sim.records("cbttask")
    sim.change("vm", vm_of(task), state="Running")
    run("cbt_task", {"name": "cbt-task-1", "state": "enabled"})
    (task,) = sim.records("cbttask")
    return task


def scratch_of(task: dict[str, Any]) -> list[str]:
    return [ref["resourceUuid"] for ref in task["resourceRefs"] if ref["resourceType"] == "VolumeVO"]


def vm_of(task: dict[str, Any]) -> str:
    (vm,) = (ref["resourceUuid"] for ref in task["resourceRefs"] if ref["resourceType"] == "VmInstanceVO")
    return str(vm)


def test_scratch_volumes_are_returned_apart(run: ModuleRunner, sim: Simulator, open_task: dict[str, Any]) -> None:
    uuids = scratch_of(open_task)
    assert len(uuids) == 2
    assert run("cbt_task", {"name": "cbt-task-1"})["scratch_volumes"] == uuids
    (listed,) = run("cbt_task_info", {})["cbt_tasks"]
    assert (listed["scratch_volumes"], listed["resource_uuids"]) == (uuids, [vm_of(open_task)])
    for check in (True, False):
        assert run("cbt_task", {"name": "cbt-task-1", "state": "disabled"}, check)["scratch_volumes"] == []
    enabled = run("cbt_task", {"name": "cbt-task-1", "state": "enabled"})
    (task,) = sim.records("cbttask")
    assert (len(enabled["scratch_volumes"]), enabled["scratch_volumes"]) == (2, scratch_of(task))


@pytest.mark.parametrize(
    "change", [("vm", "state", "Stopped"), ("vm", "state", "Unknown"), ("task", "status", "Failed")]
)
def test_task_whose_scratch_volumes_would_be_left_behind_is_not_deleted(
    run: ModuleRunner, sim: Simulator, open_task: dict[str, Any], change: tuple[str, str, str]
) -> None:
    kind, member, value = change
    uuid = vm_of(open_task) if kind == "vm" else open_task["uuid"]
    sim.change("vm" if kind == "vm" else "cbttask", uuid, **{member: value})
    options = {"name": "cbt-task-1", "state": "absent"}
    message = run.refused("cbt_task", options)
    assert "DeleteCbtTask was not called, because 2 volumes would be left behind: Cbt-volume-of-" in message
    assert message.endswith(
        "start the VM, and set state: disabled, which removes them. If this is acceptable, set force: true."
    )
    assert [each["uuid"] for each in run("cbt_task", options)["in_use_by"]] == scratch_of(open_task)
    ran = run.twice("cbt_task", {**options, "force": True})
    assert {each["uuid"] for each in ran["remaining_volumes"]} == set(scratch_of(open_task))
    assert any("2 volumes were left behind" in warning for warning in ran.warnings)


def test_task_of_a_running_vm_is_deleted_with_its_scratch_volumes(
    run: ModuleRunner, sim: Simulator, open_task: dict[str, Any]
) -> None:
    ran = run.twice("cbt_task", {"name": "cbt-task-1", "state": "absent"})
    assert (ran["remaining_volumes"], ran.warnings) == ([], [])
    assert not {volume["uuid"] for volume in sim.records("volume")}.intersection(scratch_of(open_task))


@pytest.mark.parametrize("check", [True, False])
def test_removal_of_a_vm_names_the_scratch_volumes_that_it_leaves(
    run: ModuleRunner, open_task: dict[str, Any], check: bool
) -> None:
    ran = run("vm", {"uuid": vm_of(open_task), "state": "absent"}, check)
    (warning,) = ran.warnings
    assert (
        f"the scratch volumes {', '.join(scratch_of(open_task))} of the CBT task cbt-task-1 are left behind" in warning
    )


@pytest.mark.parametrize("number", [0, 1, 2])
def test_task_is_found_by_any_of_its_vms(
    run: ModuleRunner, sim: Simulator, shared_task: list[str], number: int
) -> None:
    vm = shared_task[number]
    found = run.idle("cbt_task", {"vm": vm})
    assert found["cbt_task"]["vm_instance_uuid"] == vm
    assert found["cbt_task"]["resource_uuids"] == shared_task
    run.idle("cbt_task", {"name": "cbt-task-1", "vm": vm, "state": "enabled"})
    for state, operation in (("disabled", "DisableCbtTask"), ("absent", "DeleteCbtTask")):
        ran = run("cbt_task", {"vm": vm, "state": state})
        assert ran.calls == [operation]
        (warning,) = ran.warnings
        assert all(other in warning for other in shared_task if other != vm)
    assert sim.records("cbttask") == []
    run.idle("cbt_task", {"vm": vm, "state": "absent"})


def test_task_selected_by_name_ends_for_all_vms_without_a_warning(run: ModuleRunner, shared_task: list[str]) -> None:
    ran = run("cbt_task", {"name": "cbt-task-1", "vm": shared_task[1], "state": "absent"})
    assert (ran.calls, ran.warnings) == (["DeleteCbtTask"], [])


@pytest.mark.parametrize("form", [by_machine, by_resources, by_both])
def test_check_mode_predicts_that_a_second_task_for_a_vm_is_refused(
    run: ModuleRunner, shared_task: list[str], form: Any
) -> None:
    for check in (True, False):
        ran = run("cbt_task", form(shared_task[1]), check=check)
        assert ran.failed
        assert not ran.changed
    message = run("cbt_task", form(shared_task[1]), check=True).message
    assert f"the VM {shared_task[1]} has the CBT task 'cbt-task-1'" in message
    assert "omit name and give vm" in message
    run.idle("cbt_task", {**form(shared_task[1]), "state": "absent"})


@pytest.mark.parametrize("state", ["present", "enabled", "disabled", "absent"])
def test_hidden_vm_of_a_task(run: ModuleRunner, sim: Simulator, state: str) -> None:
    sim.reset(cbt_tasks=2)
    for task in sim.records("cbttask"):
        sim.change("cbttask", task["uuid"], resourceRefs=None)
    options = {"vm": str(sim.records("vm")[0]["uuid"]), "state": state}
    message = run.refused("cbt_task", options)
    assert "the service does not show the VMs of the CBT task" in message
    assert "only by name or uuid" in message
    assert run("cbt_task", options)["error"]["code"] == "UNSUPPORTED"


def test_vm_without_a_task_where_there_are_none(run: ModuleRunner, vm: str) -> None:
    run.idle("cbt_task", {"vm": vm, "state": "absent"})


@pytest.mark.parametrize("seconds", [0.0, 30.0])
def test_task_that_another_run_enables_meanwhile(sim: Simulator, run: ModuleRunner, seconds: float) -> None:
    """The call of the other run arrives between the read and the call of the task, which waits for its end."""
    sim.reset(cbt_tasks=1)
    (task,) = sim.records("cbttask")
    vm = str(task["resourceRefs"][0]["resourceUuid"])
    sim.change("cbttask", task["uuid"], status="Stopped")
    sim.change("vm", vm, state="Running")
    sim.configure(latencies={"EnableCbtTask": seconds})
    others: list[ModuleRun] = []

    def enable_first(job: Any) -> None:
        if not others:
            others.append(run("api", {"operation": "EnableCbtTask", "params": {"uuid": task["uuid"]}}, wait=False))

    def end_other(line: str) -> None:
        if others and line.startswith("GET"):
            sim.advance()

    options = {"base_url": sim.url, "session_id": sim.session, "uuid": task["uuid"], "state": "enabled"}
    ran = run_module("cbt_task", options, on_job=enable_first, on_request=end_other)
    assert others[0].changed
    assert not ran.result.get("failed"), ran.result
    assert ran.result["cbt_task"]["status"] == "Running"
    assert "is Starting already" in ran.warnings[0] or "is Running already" in ran.warnings[0]
    assert "Another run, task or user was faster." in ran.warnings[0]


def test_task_that_is_starting_is_disabled_at_once(run: ModuleRunner, sim: Simulator) -> None:
    """Disabling does not wait for a stable status, because the task would stay in the status Starting."""
    sim.reset(cbt_tasks=1)
    (task,) = sim.records("cbttask")
    sim.change("cbttask", task["uuid"], status="Starting")
    ran = run("cbt_task", {"uuid": task["uuid"], "state": "disabled"}, wait_timeout=5)
    assert (ran.calls, ran["cbt_task"]["status"]) == (["DisableCbtTask"], "Stopped")


def uuid_of(kind: int, number: int) -> str:
    return f"a{kind:07x}000040008000{number:012x}"


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"vm": uuid_of(4, 1), "volumes": [uuid_of(7, 2)]}, "needs a VM that does not run, and vm-1 is Running"),
        ({"vm": uuid_of(4, 2), "volumes": []}, "volumes must not be empty"),
        ({"vm": uuid_of(4, 2), "volumes": [uuid_of(7, 999)]}, "no volume with uuid"),
        ({"vm": uuid_of(4, 999), "volumes": [uuid_of(7, 4)]}, "no VM with uuid"),
        ({"vm": uuid_of(4, 2), "volumes": [uuid_of(7, 2)]}, f"belongs to another VM, {uuid_of(4, 1)}"),
    ],
)
def test_exports_that_are_refused(sim: Simulator, options: dict[str, Any], reason: str) -> None:
    """Servers accept volumes of another VM, which may run."""
    sim.reset(vms=4)
    message = ModuleRunner(sim).refused("cbt_volume_export", options)
    assert reason in message


def test_exports_of_a_vm_that_does_not_exist_are_absent(sim: Simulator) -> None:
    sim.reset(vms=4)
    options = {"vm": uuid_of(4, 999), "volumes": [uuid_of(7, 4)], "state": "absent"}
    for check in (True, False):
        ran = ModuleRunner(sim)("cbt_volume_export", options, check)
        assert (ran.failed, ran.changed) == (False, False), ran.result


def test_exports_of_volumes_that_exist_end_beside_one_that_does_not(sim: Simulator) -> None:
    sim.reset(vms=4)
    options = {"vm": uuid_of(4, 4), "volumes": [uuid_of(7, 7), uuid_of(7, 999)], "state": "absent"}
    for check in (True, False):
        ran = ModuleRunner(sim)("cbt_volume_export", options, check)
        assert (ran.failed, ran.changed) == (False, True), ran.result
    assert ran.sent("UnexportNbdVolumes")["volumeUuids"] == [uuid_of(7, 7)]
