"""What roles do with the marks of other roles: each VM is put back by one of them, and none is forgotten."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.plugin_utils._site.site import Site
from ansible_collections.virtinfra.manager.plugins.plugin_utils._workflows.host_maintenance import Entrance

from simulator.launch import Simulator
from support.module_runner import ModuleRunner
from support.workflow_runner import WorkflowRun, WorkflowRunner, run_maintenance

GROUPS = [{"name": "all", "vms": ["vm-1"]}]
FAILURE = {"task": "Update the firmware", "msg": "broken"}
HALF_WRITTEN = "a restore from a backup may have left it half written"


class Roles:
    """The roles that stop VMs, for vm-1, the only one that runs on host-1, on whose disks it lies."""

    def __init__(self, sim: Simulator, tasks: Path) -> None:
        self.sim, self._tasks = sim, tasks
        sim.reset(clusters=1, hosts=3, vms=2, local_storages=2, user_tags=0, boot=0.0, reconnect=0.0)
        self.host, self.vm = sim.records("host")[0]["uuid"], sim.records("vm")[0]["uuid"]

    def run(self, role: str, **variables: Any) -> WorkflowRun:
        """Run a role by another controller."""
        return WorkflowRunner(self.sim)(role, {f"{role}_{name}": value for name, value in variables.items()})

    def power(self, state: str, **variables: Any) -> WorkflowRun:
        """Run vm_power."""
        groups = {"groups": GROUPS} if state in ("stopped", "running") else {}
        return self.run("vm_power", state=state, **groups, **variables)

    def shut_down(self, state: str = "stopped") -> WorkflowRun:
        """Run site_shutdown, for VMs only."""
        groups = {"groups": GROUPS, "remaining": False, "hosts": False} if state == "stopped" else {}
        return self.run("site_shutdown", state=state, **groups)

    def maintain(self, **variables: Any) -> WorkflowRun:
        """Run host_maintenance; with a failure, the host stays in maintenance."""
        return run_maintenance(WorkflowRunner(self.sim), "host-1", self._tasks, **variables)

    def stop(self, role: str) -> WorkflowRun:
        """Stop the VM with a role."""
        ways: Mapping[str, Callable[[], WorkflowRun]] = {
            "vm_power": lambda: self.power("stopped"),
            "site_shutdown": self.shut_down,
            "host_maintenance": lambda: self.maintain(failure=FAILURE),
        }
        return ways[role]()

    def put_back(self, role: str) -> WorkflowRun:
        """Put back what a role has stopped."""
        ways: Mapping[str, Callable[[], WorkflowRun]] = {
            "vm_power": lambda: self.power("restored"),
            "site_shutdown": lambda: self.shut_down("running"),
            "host_maintenance": lambda: self.maintain(state="absent"),
        }
        return ways[role]()

    def start_by_hand(self) -> None:
        """Start the VM, as a person does who has enabled its host."""
        self.sim.change("host", self.host, state="Enabled")
        assert not ModuleRunner(self.sim)("vm", {"uuid": self.vm, "state": "running"}).failed

    @property
    def state(self) -> str:
        """The state of the VM."""
        return str(next(vm["state"] for vm in self.sim.records("vm") if vm["uuid"] == self.vm))

    @property
    def owners(self) -> list[str]:
        """The roles that have marked the VM."""
        return [tag["tag"].split()[1] for tag in self.sim.records("usertag") if tag["resourceUuid"] == self.vm]


@pytest.fixture
def roles(sim: Simulator, tmp_path: Path) -> Roles:
    tasks = tmp_path / "tasks.yml"
    tasks.write_text("[]\n", encoding="utf-8")
    return Roles(sim, tasks)


PAIRS = [
    (first, second)
    for first in ("vm_power", "site_shutdown", "host_maintenance")
    for second in ("vm_power", "site_shutdown", "host_maintenance")
    if first != second
]


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_what_another_role_has_stopped_stays_its_own(roles: Roles, first: str, second: str) -> None:
    """The second one finds the VM off, says so, and puts back nothing."""
    roles.stop(first)
    assert (roles.state, roles.owners) == ("Stopped", [first])
    stopped = roles.stop(second)
    left = stopped.result["next"]["off" if second == "host_maintenance" else "left"]
    assert left == [f"vm-1 ({first}, default)"]
    roles.put_back(second)
    assert (roles.state, roles.owners) == ("Stopped", [first])
    assert roles.put_back(first).result["failed_count"] == 0
    assert (roles.state, roles.sim.records("usertag")) == ("Running", [])


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_what_runs_again_belongs_to_the_role_that_stops_it(roles: Roles, first: str, second: str) -> None:
    """The VM had the marks of both, so that the first one started what the second one had stopped."""
    roles.stop(first)
    roles.start_by_hand()
    roles.stop(second)
    assert (roles.state, roles.owners) == ("Stopped", [second])
    roles.put_back(first)
    assert (roles.state, roles.owners) == ("Stopped", [second])
    assert roles.put_back(second).result["failed_count"] == 0
    assert (roles.state, roles.owners) == ("Running", [])


def test_a_maintenance_in_flight_is_awaited(roles: Roles, monkeypatch: pytest.MonkeyPatch) -> None:
    """The VM still runs, its mark seems to be stale, and then the maintenance of its host stops it."""
    # A controller that is killed cancels nothing.
    monkeypatch.setattr(Entrance, "_cancel", lambda dummy_self, reason: reason)
    roles.sim.fault("hang", "ChangeHostState")
    roles.maintain(timeout=1, failure=FAILURE)
    roles.sim.change("vm", roles.vm, state="Running")
    assert roles.owners == ["host_maintenance"]
    for state in ("stopped", "running"):
        assert "an action of an earlier run is still in flight (job " in roles.power(state, timeout=1).message
    assert roles.owners == ["host_maintenance"]


@pytest.mark.parametrize("role", ["vm_power", "site_shutdown", "host_maintenance"])
def test_a_mark_that_another_run_takes_off_is_renewed(roles: Roles, role: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other run has read the VM just before the stop, and took the mark for a stale one."""
    batch = Site.batch

    def take_off(self: Site, module: str, *arguments: Any, **options: Any) -> list[dict[str, Any]]:
        if module in ("vm", "kvm_host") and roles.state == "Running":
            for tag in roles.sim.records("usertag"):
                if tag["resourceUuid"] == roles.vm:
                    ModuleRunner(roles.sim)("api", {"operation": "DeleteTag", "params": {"uuid": tag["uuid"]}})
        return batch(self, module, *arguments, **options)

    with monkeypatch.context() as patched:
        patched.setattr(Site, "batch", take_off)
        roles.stop(role)
    assert (roles.state, roles.owners) == ("Stopped", [role])
    roles.put_back(role)
    assert (roles.state, roles.sim.records("usertag")) == ("Running", [])


def test_a_vm_that_comes_to_a_host_that_is_marked_is_started_again(
    roles: Roles, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The VM had no mark when the maintenance stopped it."""
    batch = Site.batch
    roles.power("stopped")

    def come(self: Site, module: str, *arguments: Any, **options: Any) -> list[dict[str, Any]]:
        if module == "kvm_host" and roles.state == "Stopped":
            roles.power("restored")
        return batch(self, module, *arguments, **options)

    with monkeypatch.context() as patched:
        patched.setattr(Site, "batch", come)
        roles.maintain(failure=FAILURE)
    assert (roles.state, roles.owners) == ("Stopped", ["host_maintenance"])
    assert roles.maintain(state="absent").report[0]["started_vms"] == [{"uuid": roles.vm, "name": "vm-1"}]


@pytest.mark.parametrize("role", ["vm_power", "site_shutdown", "host_maintenance"])
def test_a_vm_that_a_restore_has_left_half_written_is_not_started(roles: Roles, role: str) -> None:
    """Its guest would damage what the next restore completes."""
    roles.stop(role)
    tag = "virtinfra.manager vm_backup_restore 20261127t021500z writing Stopped"
    params = {"resourceType": "VmInstanceVO", "resourceUuid": roles.vm, "tag": tag}
    ModuleRunner(roles.sim)("api", {"operation": "CreateUserTag", "params": params})
    assert HALF_WRITTEN in roles.put_back(role).message
    if role == "vm_power":
        assert HALF_WRITTEN in roles.power("running").message
    assert (roles.state, sorted(roles.owners)) == ("Stopped", sorted([role, "vm_backup_restore"]))
