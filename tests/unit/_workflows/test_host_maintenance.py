"""How the workflow host_maintenance puts hosts into maintenance, and out of it, around the tasks of a user."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._engine.context import TaskInterrupted
from ansible_collections.virtinfra.manager.plugins.module_utils._masking.masker import Masker
from ansible_collections.virtinfra.manager.plugins.plugin_utils._site.play_host import name_variables
from ansible_collections.virtinfra.manager.plugins.plugin_utils._site.site import Site
from ansible_collections.virtinfra.manager.plugins.plugin_utils._site.variables import Play
from ansible_collections.virtinfra.manager.plugins.plugin_utils._workflows.host_maintenance import (
    Maintenance,
    Starts,
    describe_cause,
    describe_down,
    find_tasks,
    judge_starts,
)

from simulator.launch import Simulator
from support.workflow_runner import WorkflowRun, WorkflowRunner, keep_value, kill_for_host, run_for_host

# The calls that mark hosts and VMs.
TAGGING = ("CreateUserTag", "DeleteTag")

VM_1 = "a0000004000040008000000000000001"

FAILURE = {"task": "Update the firmware", "msg": "broken"}


class Ran(NamedTuple):
    """What a run of the role has done: its report, its calls in both steps, and both steps."""

    report: dict[str, Any]
    calls: list[str]
    entered: WorkflowRun
    left: WorkflowRun

    @property
    def error(self) -> str:
        """Why it has failed."""
        assert (self.report["outcome"], self.left.result["failed_count"]) == ("failed", 1)
        return str(self.report["error"])


class Role:
    """The role with tasks that do nothing; ``failure`` is what failed in them."""

    def __init__(self, work: WorkflowRunner, tasks: Path) -> None:
        self._work, self.tasks = work, tasks

    def __call__(
        self, host: str = "host-1", check: bool = False, failure: dict[str, str] | None = None, **variables: Any
    ) -> Ran:
        """Run all steps, as the tasks of the role do."""
        variables = {"tasks": str(self.tasks), **variables}

        def step(name: str, given: dict[str, Any]) -> WorkflowRun:
            return run_for_host(self._work, "host_maintenance", host, variables, check, step=name, given=given)

        checked = step("check", {})
        assert "next" in checked.result, checked.message
        entered = step("enter", checked.result["next"])
        assert "next" in entered.result, entered.message
        given = {**checked.result["next"], "entered": entered.result["next"], "failure": failure}
        left = step("leave", given)
        calls = [call for call in (*entered.calls, *left.calls) if call not in TAGGING]
        return Ran(left.report[0], calls, entered, left)


@pytest.fixture
def role(work: WorkflowRunner, tmp_path: Path) -> Role:
    """Run the role."""
    tasks = tmp_path / "tasks.yml"
    tasks.write_text("- ansible.builtin.ping:\n", encoding="utf-8")
    return Role(work, tasks)


@pytest.fixture
def shared(sim: Simulator) -> Simulator:
    """A simulator with three hosts in one cluster with shared storage."""
    sim.reset(clusters=1, hosts=3, vms=7, local_storages=0, latency=0.0, user_tags=0)
    return sim


@pytest.fixture
def local(sim: Simulator) -> Simulator:
    """A simulator with three hosts in one cluster, whose VMs have local storage and cannot migrate."""
    sim.reset(clusters=1, hosts=3, local_storages=2, latency=0.0, user_tags=0)
    return sim


def state_of(service: Simulator, name: str) -> str:
    """Return the state of a host."""
    return str(next(host["state"] for host in service.records("host") if host["name"] == name))


def set_host(service: Simulator, name: str, **members: Any) -> str:
    """Change the members of a host, and return its uuid."""
    uuid = next(host["uuid"] for host in service.records("host") if host["name"] == name)
    service.change("host", uuid, **members)
    return str(uuid)


def names_of(vms: list[dict[str, Any]]) -> list[str]:
    return sorted(vm["name"] for vm in vms)


# ---------------------------------------------------------------------------------------------------- enter and leave


def test_a_host_is_maintained(shared: Simulator, role: Role) -> None:
    """Check mode predicts it. Its VMs migrate, and stay there."""
    predicted, ran = role(check=True), role()
    assert (predicted.calls, predicted.report) == ([], ran.report)
    assert ran.calls == ["ChangeHostState", "ChangeHostState"]
    assert (ran.entered.result["changed"], ran.left.result["changed"]) == (True, True)
    report = dict(ran.report)
    assert names_of(report.pop("migrated_vms")) == ["vm-1", "vm-7"]
    assert report == {
        "name": "host-1",
        "uuid": "a0000003000040008000000000000001",
        "previous_state": "Enabled",
        "outcome": "done",
        "stopped_vms": [],
        "started_vms": [],
        "remains": None,
        "error": None,
    }
    assert (state_of(shared, "host-1"), shared.records("usertag")) == ("Enabled", [])


def test_a_disabled_host_stays_disabled(shared: Simulator, role: Role) -> None:
    """The host also stays disabled if tasks fail and it is to be restored."""
    set_host(shared, "host-3", state="Disabled")
    assert role("host-3").report["outcome"] == "done"
    assert state_of(shared, "host-3") == "Disabled"
    ran = role("host-3", failure=FAILURE, on_failure="restore")
    assert ran.error.startswith("host host-3 was returned to its previous state. /")
    assert ran.error.endswith("tasks.yml failed: Update the firmware: broken")
    assert (state_of(shared, "host-3"), ran.report["previous_state"]) == ("Disabled", "Disabled")


def test_after_a_failure_the_host_stays_in_maintenance(shared: Simulator, role: Role) -> None:
    ran = role(failure=FAILURE)
    assert ran.error.startswith("host host-1 stays in maintenance. /")
    assert (ran.calls, state_of(shared, "host-1")) == (["ChangeHostState"], "Maintenance")
    assert (ran.entered.result["changed"], ran.left.result["changed"]) == (True, False)


def test_a_host_that_needs_nothing(role: Role) -> None:
    """Nothing is read, not even for a host whose uuid is not known."""
    ran = role(needed=False, uuid="")
    assert (ran.report["outcome"], ran.report["previous_state"], ran.calls) == ("unneeded", None, [])
    assert (ran.entered.reads, ran.left.reads) == ([], [])


@pytest.mark.parametrize("state", ["Maintenance", "PreMaintenance"])
def test_a_host_in_maintenance(shared: Simulator, role: Role, state: str) -> None:
    """The host is refused, skipped, or used and left in maintenance."""
    set_host(shared, "host-2", state=state)
    refused = role("host-2")
    assert refused.error == (
        f"host host-2 is already in {state}, perhaps for other work. Enable it, or set host_maintenance_already to skip"
        " or use."
    )
    skipped = role("host-2", already="skip", least_available=9)
    reason = f"It is already in {state}, perhaps for other work."
    assert (skipped.report["outcome"], skipped.report["error"]) == ("skipped", reason)
    assert skipped.left.result["failed_count"] == 0
    assert refused.calls == skipped.calls == []
    assert skipped.entered.result["next"]["tasks"] is None
    if state == "Maintenance":
        used = role("host-2", already="use")
        assert (used.report["outcome"], used.calls, state_of(shared, "host-2")) == ("done", [], "Maintenance")
        assert used.report["remains"] == "It was in maintenance before the run, and stays in it."
        gone = role("host-2", state="absent")
        assert (gone.report["outcome"], gone.calls, state_of(shared, "host-2")) == ("skipped", [], "Maintenance")
        assert "has no mark of the role: somebody else has put it there" in gone.report["error"]


def test_hosts_that_the_cluster_cannot_spare(shared: Simulator, role: Role) -> None:
    set_host(shared, "host-2", state="Maintenance")
    ran = role("host-3", least_available=2)
    assert ran.error.startswith(
        "host host-3 was not put into maintenance: 1 other hosts of its cluster are enabled, connected and not in this"
        " batch (host-1), and host_maintenance_least_available is 2."
    )
    assert ran.calls == []


def test_hosts_of_the_batch_are_not_available(shared: Simulator, work: WorkflowRunner, role: Role) -> None:
    """Whichever name they have in the inventory, if a variable of the role has their uuid."""
    tasks = {"tasks": str(role.tasks), "least_available": 2}
    uuid = set_host(shared, "host-3")
    batch = {"other": {"host_maintenance_uuid": uuid.upper()}}
    ran = run_for_host(work, "host_maintenance", "host-1", tasks, batch=batch, step="enter", given={})
    error = ran.result["next"]["maintenance"]["error"]
    assert "1 other hosts of its cluster are enabled, connected and not in this batch (host-2)" in error


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"uuid": ""}, "host-1 was not put into maintenance. host_maintenance_uuid is empty. Set it"),
        (
            {"uuid": "host-1"},
            "host-1 was not put into maintenance. host_maintenance_uuid must be a uuid (32 hexadecimal digits)",
        ),
        ({"uuid": "", "state": "absent"}, "host-1 was not taken out of maintenance. host_maintenance_uuid is empty."),
        ({"uuid": "f" * 32}, f"no host has the uuid {'f' * 32}, which is host_maintenance_uuid of host-1"),
        ({"uuid": "f" * 32, "state": "absent"}, f"no host has the uuid {'f' * 32}, which is host_maintenance_uuid of"),
        ({"uuid": VM_1}, f"host-1 is not a host of the service. {VM_1} is the uuid of a VM, vm-1. Use the inventory"),
        ({"tasks": "missing.yml"}, "host_maintenance_tasks is /nowhere/missing.yml, which is not a file. Give"),
    ],
)
def test_each_check_has_its_message(role: Role, variables: dict[str, Any], message: str) -> None:
    ran = role(**variables)
    assert message in ran.error
    assert ran.calls == []


def test_only_a_maintenance_needs_tasks(work: WorkflowRunner) -> None:
    ran = run_for_host(work, "host_maintenance", "host-1", {}, step="check")
    assert "Give host_maintenance_tasks" in ran.message
    inline = run_for_host(work, "host_maintenance", "host-1", {"tasks": [{"name": "Reboot"}]}, step="check")
    assert inline.message == (
        "host_maintenance_tasks must be one path, such as firmware.yml, a file with the tasks, not [{'name': 'Reboot'}]"
    )
    assert "next" in run_for_host(work, "host_maintenance", "host-1", {"state": "absent"}, step="check").result


@pytest.mark.parametrize(("state", "failed"), [("present", "put into"), ("absent", "taken out of")])
def test_only_the_own_host_is_maintained(work: WorkflowRunner, state: str, failed: str) -> None:
    """The first step refuses a uuid for all hosts of a play, before one of them is in maintenance."""
    variables, own = {"state": state, "tasks": "x", "uuid": "1" * 32}, {"virtinfra_uuid": "2" * 32}
    ran = run_for_host(work, "host_maintenance", "host-1", variables, hostvars=own, step="check")
    assert (
        f"host-1 was not {failed} maintenance. host_maintenance_uuid is {'1' * 32}, and virtinfra_uuid" in ran.message
    )
    given = {"host_maintenance_uuid": "1" * 32}
    ran = run_for_host(work, "host_maintenance", "host-1", variables, batch={"b": given}, hostvars=given, step="check")
    assert f"host_maintenance_uuid is {'1' * 32} for host-1 and for b. Set it for each host" in ran.message


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("- name: [\n", "which cannot be used. "),
        ("name: x\n", "It does not contain a list of tasks."),
        ("text", "a list"),
        ("- hosts: all\n  tasks: []\n", "is a playbook. Give a file with a list of tasks only"),
        ("- import_playbook: other.yml\n", "is a playbook."),
    ],
)
def test_files_that_contain_no_tasks(role: Role, tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "bad.yml").write_text(content, encoding="utf-8")
    ran = role(tasks=str(tmp_path / "bad.yml"))
    assert f"host-1 was not put into maintenance. host_maintenance_tasks is {tmp_path}/bad.yml, which" in ran.error
    assert (message in ran.error, "\n" in ran.error, ran.entered.reads) == (True, False, [])


def test_paths_are_relative_to_the_playbook(tmp_path: Path) -> None:
    (tmp_path / "tasks.yml").write_text("[]", encoding="utf-8")
    play = Play({"playbook_dir": str(tmp_path), "inventory_hostname": "h"}, keep_value, Masker())
    assert find_tasks(play, "tasks.yml") == find_tasks(play, f"{tmp_path}/tasks.yml") == f"{tmp_path}/tasks.yml"


def test_variables_do_not_change_during_the_maintenance(work: WorkflowRunner) -> None:
    """Tasks of the user may change facts that variables use. The host must leave its maintenance even then."""
    checked = run_for_host(work, "host_maintenance", "host-1", {"tasks": "unused.yml", "timeout": 7}, step="check")
    variables = checked.result["next"]["variables"]
    assert (variables["timeout"], variables["on_failure"]) == (7, "keep")
    entered = {"maintenance": {"name": "host-1", "uuid": "x"}, "tasks": None}
    given = {"variables": variables, "entered": entered}
    ran = run_for_host(work, "host_maintenance", "host-1", {"needed": "{{ gone }}"}, step="leave", given=given)
    assert ran.report[0]["outcome"] == "unneeded"


# ------------------------------------------------------------------------------------------------------- cancellations


def slow_down(service: Simulator) -> Callable[..., dict[str, Any]]:
    """Let a maintenance take longer than any test, and return ``Site.change``, which lets other changes be fast."""
    change = Site.change
    service.configure(latencies={"ChangeHostState": 3600})

    def hurry(self: Site, module: str, given: dict[str, Any], **common: Any) -> dict[str, Any]:
        if module == "api":
            service.configure(latencies={"ChangeHostState": 0})
        return change(self, module, given, **common)

    return hurry


def test_a_maintenance_that_takes_too_long_is_cancelled(
    shared: Simulator, role: Role, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The job is still queued, so the record of the host shows nothing yet, and the host does not enter it later."""
    monkeypatch.setattr(Site, "change", slow_down(shared))
    ran = role(timeout=2)
    assert ran.error.startswith("host host-1 did not enter maintenance, and is enabled as before.")
    assert "still running after 2 s" in ran.error
    assert ran.calls == ["ChangeHostState", "ChangeHostState"]
    shared.advance()
    assert state_of(shared, "host-1") == "Enabled"
    assert ran.entered.result["next"]["tasks"] is None


def test_a_maintenance_that_cannot_be_cancelled(shared: Simulator, role: Role, monkeypatch: pytest.MonkeyPatch) -> None:
    """The failure says that the host may enter maintenance later, and why."""
    change = slow_down(shared)

    def refuse(self: Site, module: str, given: dict[str, Any], **common: Any) -> dict[str, Any]:
        if module == "api":
            return {"failed": True, "changed": False, "msg": "no permission"}
        return change(self, module, given, **common)

    monkeypatch.setattr(Site, "change", refuse)
    ran = role(timeout=2)
    assert ran.error.startswith(
        "host host-1 did not enter maintenance in time, and may do so later. Disable or enable it."
    )
    assert ("still running after 2 s" in ran.error, ran.error.endswith("no permission")) == (True, True)


def test_a_host_that_does_not_return(shared: Simulator, role: Role, monkeypatch: pytest.MonkeyPatch) -> None:
    change = slow_down(shared)

    def refuse(self: Site, module: str, given: dict[str, Any], **common: Any) -> dict[str, Any]:
        if common.get("state") == "enabled":
            return {"failed": True, "changed": False, "msg": "it is lost"}
        return change(self, module, given, **common)

    monkeypatch.setattr(Site, "change", refuse)
    ran = role(timeout=2)
    assert ran.error.startswith("host host-1 did not enter maintenance, and is not enabled as before.")
    assert ran.error.endswith("it is lost")


@pytest.mark.parametrize("cause", [KeyboardInterrupt(), TimeoutError()])
def test_a_task_that_is_stopped(
    shared: Simulator, role: Role, monkeypatch: pytest.MonkeyPatch, cause: BaseException
) -> None:
    """The keyword timeout cancels the maintenance, too. After a signal, nothing more is sent."""
    batch = Site.batch

    def stop(self: Site, *arguments: Any, **common: Any) -> list[dict[str, Any]]:
        results = batch(self, *arguments, **common)
        if common.get("state") == "maintenance":
            raise TaskInterrupted("1 call may still be running.", Masker()) from cause
        return results

    monkeypatch.setattr(Site, "batch", stop)
    if isinstance(cause, KeyboardInterrupt):
        with pytest.raises(TaskInterrupted):
            role()
        assert state_of(shared, "host-1") == "Maintenance"
    else:
        assert "is enabled as before. 1 call may still be running." in role().error
        assert state_of(shared, "host-1") == "Enabled"


def test_a_maintenance_that_the_service_refuses(shared: Simulator, role: Role) -> None:
    """Nothing has changed, so nothing is cancelled: the service did not accept the call."""
    shared.fault("status", "ChangeHostState", status=400)
    ran = role()
    assert ran.error.startswith("host host-1 did not enter maintenance, and is enabled as before.")
    assert state_of(shared, "host-1") == "Enabled"


# --------------------------------------------------------------------------------------------------------- evacuations


def test_a_host_is_evacuated_before_its_maintenance(shared: Simulator, role: Role) -> None:
    """A VM that check mode predicts twice is named once."""
    predicted, ran = role(evacuate=True, check=True), role(evacuate=True)
    assert (predicted.calls, predicted.report["migrated_vms"]) == ([], ran.report["migrated_vms"])
    assert ran.calls == ["MigrateVm", "MigrateVm", "ChangeHostState", "ChangeHostState"]
    assert (ran.report["outcome"], names_of(ran.report["migrated_vms"])) == ("done", ["vm-1", "vm-7"])


def test_vms_are_evacuated_to_available_hosts_only(shared: Simulator, role: Role) -> None:
    """Without available hosts, no VM migrates: an empty list of targets would permit every host."""
    for name in ("host-2", "host-3"):
        set_host(shared, name, state="Disabled")
    ran = role(evacuate=True, least_available=0)
    assert (
        "host host-1 was not put into maintenance. No VM was migrated, because 2 of 2 VMs cannot migrate" in ran.error
    )
    assert "Set host_maintenance_running_vms to stop" in ran.error
    assert "host_evacuation_unmovable" not in ran.error
    assert ran.calls == []


def test_an_evacuation_that_fails(shared: Simulator, role: Role) -> None:
    """No maintenance is started, and the report has the VMs that were migrated."""
    shared.fault("fail", operation="MigrateVm", error={"code": "SYS.1006", "details": "dirty pages"})
    ran = role(evacuate=True)
    assert ran.error.startswith("host host-1 was not put into maintenance. 1 of 2 VMs failed: vm-")
    assert "dirty pages" in ran.error
    assert ran.calls == ["MigrateVm", "MigrateVm"]
    assert (len(ran.report["migrated_vms"]), ran.entered.result["changed"]) == (1, True)


def test_a_vm_that_cannot_be_evacuated_is_left_to_the_maintenance(shared: Simulator, role: Role) -> None:
    """The VM is stopped if the variables permit it."""
    shared.change("vm", "a0000004000040008000000000000001", state="Unknown")
    assert "vm-1 (a0000004000040008000000000000001): it is Unknown" in role(evacuate=True).error
    ran = role(evacuate=True, running_vms="stop")
    assert (ran.report["outcome"], names_of(ran.report["migrated_vms"])) == ("done", ["vm-7"])


# ---------------------------------------------------------------------------------------------------------- stopped VMs


def test_vms_are_stopped_only_with_permission(local: Simulator, role: Role) -> None:
    """Then they start again."""
    refused = role()
    assert "its root volume is on local storage" in refused.error
    assert refused.error.endswith("If this is acceptable, set host_maintenance_running_vms: stop.")
    assert refused.calls == []
    predicted, ran = role(running_vms="stop", check=True), role(running_vms="stop")
    assert (predicted.calls, predicted.report) == ([], ran.report)
    assert ran.calls == ["ChangeHostState", "ChangeHostState", "StartVmInstance"]
    assert names_of(ran.report["stopped_vms"]) == ["vm-1"]
    assert ran.report["started_vms"] == ran.report["stopped_vms"]
    assert ran.report["migrated_vms"] == []


def test_stopped_vms_after_a_failure(local: Simulator, role: Role) -> None:
    """Stopped VMs start with the host, or the failure names them; a later run with absent starts them."""
    restored = role(running_vms="stop", failure=FAILURE, on_failure="restore")
    assert names_of(restored.report["started_vms"]) == ["vm-1"]
    assert "do not run" not in restored.error
    kept = role(running_vms="stop", failure=FAILURE)
    assert kept.calls == ["ChangeHostState"]
    assert kept.report["started_vms"] == []
    assert kept.error.endswith(
        "broken The maintenance of host host-1 stopped VMs that still do not run. Start them: vm-1"
        " a0000004000040008000000000000001."
    )
    undo: dict[str, Any] = {"state": "absent"}
    predicted, ran = role(check=True, **undo), role(**undo)
    assert (predicted.calls, predicted.report) == ([], ran.report)
    assert (ran.report["outcome"], names_of(ran.report["started_vms"])) == ("done", ["vm-1"])
    assert (ran.calls, ran.left.result["changed"]) == (["ChangeHostState", "StartVmInstance"], True)
    again = role(**undo)
    assert (again.report["outcome"], again.report["stopped_vms"], again.calls) == ("unneeded", [], [])


def test_a_host_that_does_not_leave_its_maintenance(local: Simulator, role: Role) -> None:
    """The host stays in maintenance after tasks that succeed or fail. The failure names the VMs to start."""
    start = "Start them: vm-1 a0000004000040008000000000000001."
    refusal = {"code": "HOST.1001", "details": "no agent"}
    local.fault("fail", "ChangeHostState", skip=1, error=refusal)
    ran = role(running_vms="stop", failure=FAILURE, on_failure="restore")
    assert ran.error.startswith("host host-1 was not returned to its previous state. /")
    assert ran.error.index("Update the firmware: broken") < ran.error.index("no agent") < ran.error.index(start)
    assert (state_of(local, "host-1"), ran.report["started_vms"]) == ("Maintenance", [])
    assert role(state="absent").report["outcome"] == "done"
    local.fault("fail", "ChangeHostState", skip=1, error=refusal)
    ran = role(running_vms="stop")
    assert ("no agent" in ran.error, ran.error.endswith(start)) == (True, True)


def test_hosts_that_take_too_long(local: Simulator, role: Role) -> None:
    """The limit is that of the role, also for the way out of maintenance and for the VMs."""
    local.configure(latencies={"StartVmInstance": 3600})
    assert "after 7 s" in role(running_vms="stop", timeout=7).error
    assert "stays in maintenance" in role("host-2", running_vms="stop", failure=FAILURE).error
    local.configure(latencies={"ChangeHostState": 3600})
    assert "after 7 s" in role("host-2", state="absent", timeout=7).error


def test_hosts_that_are_not_taken_out_of_maintenance(local: Simulator, role: Role) -> None:
    """The marks keep the VMs to start, for the next run."""
    vms = [{"uuid": "a0000004000040008000000000000001", "name": "vm-1"}]
    undo: dict[str, Any] = {"state": "absent"}
    role(running_vms="stop", failure=FAILURE)
    local.fault("fail", "ChangeHostState", error={"code": "HOST.1001", "details": "no agent"})
    ran = role(**undo)
    assert "no agent" in ran.error
    assert "Start them: vm-1 a0000004000040008000000000000001." in ran.error
    assert (ran.report["stopped_vms"], ran.report["started_vms"]) == (vms, [])
    assert role(**undo).report["started_vms"] == vms
    assert (state_of(local, "host-1"), local.records("usertag")) == ("Enabled", [])


def test_a_stopped_vm_that_does_not_start(local: Simulator, role: Role) -> None:
    """The host is back, and the failure says what remains to do."""
    local.fault("fail", operation="StartVmInstance", error={"code": "SYS.1006", "details": "no memory"})
    ran = role(running_vms="stop")
    assert ran.calls == ["ChangeHostState", "ChangeHostState", "StartVmInstance"]
    assert "Start them: vm-1 a0000004000040008000000000000001. StartVmInstance failed (SYS.1006): " in ran.error
    assert ran.error.endswith("no memory")
    assert state_of(local, "host-1") == "Enabled"


def test_a_service_that_starts_no_vms(local: Simulator, role: Role) -> None:
    """A warning names the VMs, which keep their marks."""
    local.reset(clusters=1, hosts=3, local_storages=2, latency=0.0, user_tags=0, missing_operations=["StartVmInstance"])
    ran = role(running_vms="stop")
    assert (ran.report["outcome"], ran.report["started_vms"]) == ("done", [])
    (warning,) = [text for text in ran.left.warnings if "do not run" in text]
    assert warning.startswith(
        "The maintenance of host host-1 stopped VMs that still do not run. Start them: vm-1 a0000004"
    )


def test_starts_are_judged() -> None:
    vms = [{"uuid": uuid, "name": uuid.upper()} for uuid in "abc"]
    good = {"failed": False}
    lacks, fails = ({"failed": True, "msg": code, "error": {"code": code}} for code in ("UNSUPPORTED", "SYS.1"))
    assert judge_starts(vms, [good] * 3) == Starts(vms, [], "", True)
    assert judge_starts(vms, [lacks, good, lacks]) == Starts([vms[1]], [vms[0], vms[2]], "UNSUPPORTED", False)
    assert judge_starts(vms, [good, lacks, fails]) == Starts([vms[0]], vms[1:], "UNSUPPORTED", True)
    later = {"failed": True, "msg": "not yet", "error": {"code": "UNCHANGEABLE"}}
    assert judge_starts(vms, [good, later, fails], is_prediction=True) == Starts(vms[:2], [vms[2]], "SYS.1", True)
    assert judge_starts(vms, [good, later, good]).down == [vms[1]]


def test_messages_about_stopped_vms() -> None:
    vms = [{"uuid": "u1", "name": "a\n"}, {"uuid": "u2"}]
    assert describe_down("h", Starts([], vms, "no memory")) == (
        "The maintenance of host h stopped VMs that still do not run. Start them: a\\n u1, u2. no memory"
    )
    assert describe_down("h", Starts(vms, [])) == ""


def test_causes() -> None:
    assert describe_cause("/t.yml", FAILURE) == "/t.yml failed: Update the firmware: broken"
    unnamed = {"task": "", "action": "ansible.builtin.fail", "msg": "boom"}
    assert describe_cause("/t.yml", unnamed) == "/t.yml failed: a task without a name (ansible.builtin.fail): boom"
    assert (
        describe_cause("/t.yml", {"task": "", "msg": ""}) == "/t.yml failed: it cannot be included, or a handler failed"
    )


@pytest.mark.parametrize(
    ("previous", "state"),
    [
        ("Enabled", "enabled"),
        ("Disabled", "disabled"),
        ("PreMaintenance", "maintenance"),
        ("Maintenance", "maintenance"),
    ],
)
def test_states_as_options(previous: str, state: str) -> None:
    assert Maintenance("h", "u", previous).state == state


def test_messages_name_variables_of_the_role() -> None:
    message = "Set enabled: true to move them. If this is acceptable, set running_vms: stop."
    expected = "Set enabled: true to move them. If this is acceptable, set host_maintenance_running_vms: stop."
    assert name_variables("host_maintenance", message) == expected


# --------------------------------------------------------------------------------------------------------------- marks


def states_of(service: Simulator) -> dict[str, str]:
    """Return the states of all hosts and VMs."""
    return {each["name"]: each["state"] for kind in ("host", "vm") for each in service.records(kind)}


def tags_of(service: Simulator) -> dict[str, str]:
    """Return the user tags of all objects by their uuids. The test fails if an object has several."""
    tags = [(tag["resourceUuid"], tag["tag"]) for tag in service.records("usertag")]
    assert len(dict(tags)) == len(tags)
    return dict(tags)


@pytest.mark.parametrize("variables", [{"already": "use"}, {"state": "absent"}])
def test_an_interrupted_maintenance_is_finished(local: Simulator, role: Role, variables: dict[str, Any]) -> None:
    """By the next run, of another controller. It ended with "done", and the VMs stayed off, unnamed."""
    before = states_of(local)
    assert role(running_vms="stop", failure=FAILURE).report["outcome"] == "failed"
    vm = "a0000004000040008000000000000001"
    host = "a0000003000040008000000000000001"
    assert tags_of(local) == {
        host: "virtinfra.manager host_maintenance default Enabled",
        vm: f"virtinfra.manager host_maintenance default {host} Running",
    }
    local.change("vm", vm, name="renamed")
    again = role(**variables)
    assert (again.report["outcome"], names_of(again.report["started_vms"])) == ("done", ["renamed"])
    local.change("vm", vm, name="vm-1")
    assert (states_of(local), tags_of(local)) == (before, {})
    assert role(state="absent").report["outcome"] == "unneeded"


def test_a_host_that_an_earlier_run_has_left_is_named(shared: Simulator, role: Role) -> None:
    """In each run that sees its mark, also one for other hosts, and one that does not use it."""
    role("host-2", failure=FAILURE)
    refused = role("host-2")
    assert "already in Maintenance, in which an earlier run of the role has left it" in refused.error
    assert "Run the role with host_maintenance_state=absent, or set host_maintenance_already" in refused.error
    assert role("host-1").left.result["next"]["left"] == ["host-2"]
    skipped = role("host-2", already="skip")
    assert skipped.report["error"] == "It is already in Maintenance, in which an earlier run of the role has left it."
    assert role("host-2", already="use").left.result["next"]["left"] == []
    assert (state_of(shared, "host-2"), tags_of(shared)) == ("Enabled", {})


def test_a_walk_that_fails_is_resumed(sim: Simulator, role: Role) -> None:
    """The host that was repaired stayed in maintenance, and nothing said so."""
    sim.reset(clusters=1, hosts=60, vms=60, local_storages=0, latency=0.0, user_tags=0)
    for number in (29, 30, 31):
        ran = role(f"host-{number}", failure=FAILURE if number == 31 else None)
    assert "host host-31 stays in maintenance" in ran.error
    for number in (31, 32):
        assert role(f"host-{number}", already="use").report["outcome"] == "done"
    assert {host["state"] for host in sim.records("host")} == {"Enabled"}
    assert tags_of(sim) == {}


def test_a_person_who_disables_a_host_during_its_maintenance_wins(shared: Simulator, role: Role) -> None:
    """The host stays disabled, and the report says why."""
    role("host-1", failure=FAILURE)
    set_host(shared, "host-1", state="Disabled")
    ran = role("host-1", state="absent")
    assert ran.report["remains"] == "Somebody has changed its state to Disabled meanwhile, so it is not enabled."
    assert (ran.left.result["failed_count"], state_of(shared, "host-1"), tags_of(shared)) == (0, "Disabled", {})


def test_a_person_who_disables_a_host_during_its_evacuation_wins(
    shared: Simulator, role: Role, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = Site.batch

    def disable(self: Site, module: str, *arguments: Any, **options: Any) -> list[dict[str, Any]]:
        if module == "vm":
            set_host(shared, "host-1", state="Disabled")
        return batch(self, module, *arguments, **options)

    monkeypatch.setattr(Site, "batch", disable)
    ran = role("host-1", evacuate=True)
    assert (ran.report["outcome"], ran.report["previous_state"]) == ("done", "Disabled")
    assert state_of(shared, "host-1") == "Disabled"


@pytest.mark.parametrize("of_a_vm", [False, True])
def test_what_cannot_be_marked_is_not_maintained(local: Simulator, role: Role, of_a_vm: bool) -> None:
    """Nothing is stopped, and no mark is left."""
    before, refusal = states_of(local), {"code": "SYS.1019", "details": "no permission"}
    local.fault("fail", operation="CreateUserTag", count=None, skip=int(of_a_vm), error=refusal)
    ran = role(running_vms="stop")
    assert "host host-1 was not put into maintenance. " in ran.error
    assert "could be marked" in ran.error
    assert (ran.calls, states_of(local), tags_of(local)) == ([], before, {})


def test_a_vm_that_was_destroyed_meanwhile_is_named(local: Simulator, role: Role) -> None:
    role(running_vms="stop", failure=FAILURE)
    local.change("vm", "a0000004000040008000000000000001", state="Destroyed")
    ran = role(state="absent")
    assert (ran.report["outcome"], tags_of(local)) == ("done", {})
    assert "VMs that the maintenance stopped were destroyed meanwhile: vm-1" in ran.left.warnings


# Every fifth request; all first ones together, at night, are each request.
STEP = 5


@pytest.mark.parametrize("missing", [[], ["CreateUserTag"]], ids=["adds tags", "attaches patterns"])
@pytest.mark.parametrize("name", ["enter", "leave", "absent"])
@pytest.mark.parametrize(
    "first", [1, *(pytest.param(first, marks=pytest.mark.nightly) for first in range(2, STEP + 1))]
)
def test_a_killed_maintenance_converges(
    sim: Simulator, role: Role, work: WorkflowRunner, name: str, missing: list[str], first: int
) -> None:
    """After whichever request its controller is killed, the next run of another one puts everything back."""
    variables = {"tasks": str(role.tasks), "running_vms": "stop"}
    for after in itertools.count(first, STEP):
        sim.reset(clusters=1, hosts=3, local_storages=2, latency=0.0, user_tags=0, missing_operations=missing)
        before = states_of(sim)

        def step(step: str, given: dict[str, Any], **options: Any) -> WorkflowRun:
            return run_for_host(work, "host_maintenance", "host-1", variables | options, step=step, given=given)

        given = step("check", {}).result["next"]
        if name == "enter":
            was_killed = kill_for_host(work, after, "host-1", variables, step="enter", given=given)
        else:
            if name == "absent":
                role(running_vms="stop", failure=FAILURE)
                given = step("check", {}, state="absent").result["next"]
            entered = step("enter", given).result["next"]
            left = {**given, "entered": entered, "failure": None}
            was_killed = kill_for_host(work, after, "host-1", variables, step="leave", given=left)
        sim.settle()
        again = role(state="absent")
        assert again.report["outcome"] in ("done", "unneeded"), (after, again.report)
        assert (states_of(sim), tags_of(sim)) == (before, {}), after
        if not was_killed:
            break
