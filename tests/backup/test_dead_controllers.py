"""The machine of a controller dies at a moment of a backup, while the data mover and the service go on."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._backup import runs
from ansible_collections.virtinfra.manager.plugins.module_utils._backup.repository import VmFolder
from ansible_collections.virtinfra.manager.plugins.plugin_utils._run import owner
from ansible_collections.virtinfra.manager.plugins.plugin_utils._site.site import Site
from backup.process_mover import ProcessMover
from backup.role_site import RoleSite, open_role_site
from backup.test_controllers import assert_nothing_is_open, list_points

from simulator.launch import Simulator
from support.backups import BackupRun, BackupRunner
from support.kvm_host import MIB, wait_until
from support.module_runner import ModuleRunner
from support.workflow_runner import Killed, WorkflowRunner, is_killed

Record = dict[str, Any]

# For how many seconds a run of another machine may be silent, see the guide, and a bit more.
SILENCE = 310

# For how many seconds the copies of these tests go on without a sign of their run.
PATIENCE = 1.0

PATIENCE_OF_TEST = 60.0


@dataclass
class Life:
    """What a controller has done until its end: the operations of its last step, and the modules of the mover."""

    is_over: Callable[[Life], bool]
    requests: list[str] = field(default_factory=list)
    modules: list[str] = field(default_factory=list)
    steps: set[str] = field(default_factory=set)
    """What the mover has said that copies do."""
    has_results: bool = False
    is_deleting: bool = False
    is_dead: bool = False

    def check(self) -> None:
        """Raise Killed from the moment on."""
        self.is_dead = self.is_dead or self.is_over(self)
        if self.is_dead:
            raise Killed


def after(operation: str) -> Callable[[Life], bool]:
    """Return the moment when the service has answered an operation for the first time."""
    return lambda life: operation in life.requests


def after_module(module: str) -> Callable[[Life], bool]:
    """Return the moment when a module of the mover has ended, or has been started, for the first time."""
    return lambda life: module in life.modules


def while_copies(*steps: str) -> Callable[[Life], bool]:
    """Return the moment when a copy is seen at one of these steps."""
    return lambda life: not life.steps.isdisjoint(steps)


def has_closed_session(life: Life) -> bool:
    """Return whether the tasks were read after a session was ended."""
    return "DisableCbtTask" in life.requests and life.requests[-1] == "QueryCbtTask"


# The moments of a cycle: one VM is off, and is copied through exports.
MOMENTS: dict[str, Callable[[Life], bool]] = {
    "the VMs are selected": after("QueryVmInstance"),
    "the VMs are taken": after_module("backup_run"),
    "the share of the mover is taken": lambda life: life.modules.count("backup_run") == 2,
    "the tasks are read": after("QueryCbtTask"),
    "the space is read": after("QueryPrimaryStorage"),
    "a task is made": after("CreateCbtTask"),
    "a session opens": after("EnableCbtTask"),
    "a session is open": lambda life: "EnableCbtTask" in life.requests and life.modules[-1:] == ["before backup_point"],
    "a copy has begun": after_module("backup_point"),
    "a copy reads": while_copies("full", "incremental", "compared"),
    "a copy is compared": while_copies("verify"),
    "a copy has ended": lambda life: life.has_results,
    "points are deleted": lambda life: life.is_deleting,
    "a session ends": after("DisableCbtTask"),
    "a session has ended": has_closed_session,
    "a VM is marked for exports": after("CreateUserTag"),
    "volumes are exported": after("ExportNbdVolumes"),
    "a copy of exports asks": while_copies("decision"),
    "a copy of exports may become a point": after_module("backup_run with decisions"),
    "exports end": after("UnexportNbdVolumes"),
    "a mark is taken off": after("DeleteTag"),
    "the VMs are about to be given back": after_module("before backup_run absent"),
    "the VMs are given back": after_module("backup_run absent"),
}

# The moments that the session backup tries: one for each thing that can be left.
SOME = ("a session opens", "a copy reads", "points are deleted", "a copy of exports asks")


class MortalMover(ProcessMover):
    """A mover that hears nothing of a controller from its death on, and tells it nothing."""

    life: Life | None = None

    def run(self, module: str, arguments: Mapping[str, Any]) -> Record:
        """Run a module for the controller."""
        name = module + (" absent" if arguments.get("state") == "absent" else "")
        if self.life is None:
            return super().run(module, arguments)
        self._note(f"before {name}")
        result = super().run(module, arguments)
        self.life.steps |= {each["step"] for each in result.get("running") or ()}
        self.life.has_results = self.life.has_results or bool(result.get("results"))
        self._note(f"{name} with decisions" if arguments.get("decisions") else name)
        return result

    def start(self, module: str, arguments: Mapping[str, Any], timeout: int, folder: str) -> Record:
        """Start a copy, which does not end with the controller."""
        self._note(f"before {module}")
        started = self.submit(super().run, module, arguments)
        self._note(module)
        return started

    def _note(self, module: str) -> None:
        if self.life:
            self.life.modules.append(module)
            self.life.check()


class MortalRunner(WorkflowRunner):
    """A controller that dies at a moment."""

    def __init__(self, sim: Simulator, life: Life) -> None:
        super().__init__(sim)
        self._life = life

    def _check_life(self) -> None:
        self._life.requests = [str(entry["operation"]) for entry in self.sim.log() if entry["operation"]]
        self._life.check()


class Cycle:
    """A site of three VMs, of which one is off, and its data mover."""

    def __init__(self, site: RoleSite, monkeypatch: pytest.MonkeyPatch) -> None:
        self.site, self._monkeypatch, self._machines = site, monkeypatch, 0
        self.mover = MortalMover(site.repository)
        self.volumes = {vm["uuid"]: vm["rootVolumeUuid"] for vm in site.sim.records("vm")}
        for vm in site.sim.records("vm"):
            for volume in vm["allVolumes"][1:]:
                site.sim.change("volume", volume["uuid"], vmInstanceUuid=None)
        self._write(*self.volumes.values())
        self.off = site.sim.records("vm")[2]
        site.sim.change("vm", self.off["uuid"], state="Stopped", hostUuid=None)

    def _write(self, *volumes: str) -> None:
        for volume in volumes:
            self.site.write(volume, 0, 2 * MIB)

    def be_another_machine(self) -> None:
        """Let the next controller be on a machine that can see no process of the earlier ones."""
        self._machines += 1
        name = f"controller-{self._machines}"
        self._monkeypatch.setattr(owner, "_identify_machine", lambda: name)
        self._monkeypatch.setattr(owner, "socket", SimpleNamespace(gethostname=lambda: name))

    def back_up(self, life: Life | None = None, rate_limit: int = 0) -> BackupRun:
        """Back up all VMs from another machine, until the life of the controller ends, if it does."""
        self.be_another_machine()
        self.mover.life = life
        work = MortalRunner(self.site.sim, life) if life else WorkflowRunner(self.site.sim)
        try:
            return BackupRunner(work, self.mover)(
                min_free_percent=0, concurrency=3, per_host=3, keep={"last": 1}, full_every=1, rate_limit=rate_limit
            )
        finally:
            self.mover.life = None

    def try_moment(self, name: str) -> None:
        """Kill a controller at a moment. The next run of another machine ends what is left, and makes points."""
        self._write(*(volume for vm, volume in self.volumes.items() if vm != self.off["uuid"]))
        if name == "a task is made":
            for task in self.site.sim.records("cbttask"):
                assert ModuleRunner(self.site.sim)("cbt_task", {"uuid": task["uuid"], "state": "absent"}).changed
        life = Life(MOMENTS[name])
        self._monkeypatch.setattr(VmFolder, "remove_points", self._watch_deletion(life))
        # A copy is slow enough to be seen at its steps.
        assert is_killed(lambda: self.back_up(life, rate_limit=3 if name.startswith("a copy") else 0)), name
        assert life.is_dead, name
        if taken := self._list_taken():
            self._see_refusal(taken)
        wait_until(self.mover.is_idle, PATIENCE_OF_TEST)
        for path in (self.site.repository / ".runs").glob("*.json"):
            os.utime(path, (time.time() - SILENCE,) * 2)
        following = self.back_up()
        assert {vm: entry["error"] for vm, entry in following.entries.items()} == dict.fromkeys(following.entries), name
        assert following.outcomes == ["full"] * 3
        self._see_nothing_left()

    def _watch_deletion(self, life: Life) -> Callable[[VmFolder, Sequence[str]], None]:
        remove = VmFolder.__dict__["remove_points"]
        original = getattr(remove, "original", remove)

        def watch(folder: VmFolder, stamps: Sequence[str]) -> None:
            if stamps and life.is_over is MOMENTS["points are deleted"] and not life.is_dead:
                life.is_deleting = True
                wait_until(lambda: life.is_dead, PATIENCE_OF_TEST)
            original(folder, stamps)

        watch.original = original  # type: ignore[attr-defined]
        return watch

    def _see_refusal(self, taken: set[str]) -> None:
        """See that another machine leaves alone the VMs that may still be copied, and copies only the others."""
        refused = {entry["vm_uuid"]: str(entry["error"]) for entry in self.back_up().entries.values()}
        assert {
            vm for vm, error in refused.items() if error.startswith("Another run copies or restores the VM")
        } == taken
        assert {refused[vm] for vm in refused.keys() - taken} <= {"None"}

    def _list_taken(self) -> set[str]:
        """Return the VMs that runs have."""
        found = (self.site.repository / ".runs").glob("*.json")
        return {vm for path in found for vm in json.loads(path.read_text(encoding="utf-8"))["vm_uuids"]}

    def _see_nothing_left(self) -> None:
        assert_nothing_is_open(self.site)
        assert not any(self.site.sim.state()["exported"].values())
        assert [tag["tag"] for tag in self.site.sim.records("usertag") if "virtinfra" in tag["tag"]] == []
        points = list_points(self.site)
        assert {vm for vm, dummy in points} == {*self.volumes}
        for vm, point in points:
            assert self.site.read_point(vm, point, self.volumes[vm]) == bytes(self.site.truth[self.volumes[vm]])


@pytest.fixture
def cycle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cycle]:
    pause = Site.pause
    monkeypatch.setattr(Site, "pause", lambda self, seconds: pause(self, min(seconds, 0.05)))
    monkeypatch.setattr(runs, "LONGEST_SILENCE", PATIENCE)
    with open_role_site(tmp_path) as site:
        cycle = Cycle(site, monkeypatch)
        assert cycle.back_up().outcomes == ["full"] * 3
        yield cycle
        cycle.mover.close()


def test_another_machine_ends_what_a_dead_controller_has_left(cycle: Cycle) -> None:
    for name in SOME:
        cycle.try_moment(name)


@pytest.mark.nightly
def test_a_controller_dies_at_each_moment(cycle: Cycle) -> None:
    for name in MOMENTS:
        cycle.try_moment(name)
        print(name, flush=True)
