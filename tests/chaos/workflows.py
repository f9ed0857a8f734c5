"""Each fault on each request of the workflows of roles: a role runs with the fault, then without it."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from ansible_collections.virtinfra.manager.plugins.plugin_utils._workflows.vm_snapshots import MARK

from chaos.fault_matrix import (
    LIMITS,
    READ_FAULTS,
    SERVERS,
    TLS_FAULTS,
    Fault,
    Occurrence,
    choose_patience,
    end_faults,
    fault_name,
    is_delivered_twice,
)
from chaos.report import Report
from chaos.restores import Restorer, drop_groups
from chaos.store import compare, explain_wrong_changed, list_uuids, replace_unpredictable
from simulator.launch import Simulator
from simulator.state.store import seeded_uuid
from support.backups import BackupRunner, FakeMover
from support.fast_clock import call_in_time, with_fast_clock
from support.scenarios import State
from support.workflow_runner import WorkflowRun, WorkflowRunner, create_play

HOST = seeded_uuid("host", 1)
GROUP = seeded_uuid("snapshotgroup", 1)

GROUPS = [{"name": "web", "vms": ["vm-1", "vm-3"]}, {"name": "db", "vms": ["vm-5", "vm-2"]}]
SHUTDOWN = {"groups": GROUPS, "exclude_hosts": ["host-2"]}
RESTORED = {
    "vms": [
        {"name": "vm-1", "snapshot_group": GROUP, "l3_networks": ["l3-1"]},
        {"name": "vm-2", "snapshot_group": GROUP, "strategy": "CreateStopped"},
    ],
    "name_suffix": "-drill",
}
NOTIFICATIONS = {
    "platforms": [{"name": "snmp-1", "description": "changed"}],
    "topics": [{"name": "alarms", "description": "all of them"}],
    "endpoints": [
        {"type": "workchat", "name": "operators", "url": "https://chat.example.com/send?key=4f1d9", "topics": "alarms"},
        {"type": "snmp", "name": "traps", "platform": "snmp-1", "topics": ["alarms"]},
    ],
}


# A service in which each VM can migrate, and what differs with the host that a VM got.
DRAINED = {"clusters": 1, "hosts": 3, "vms": 13, "local_storages": 0}
CHOSEN_HOSTS = ("hostUuid", "lastHostUuid", "availableCpuCapacity", "availableMemoryCapacity")

SERVICES = [{"interface": "eth1", "vlans": [100], "service_types": ["StorageNetwork"]}]
NEW_HOSTS = {
    f"new-{number}": {
        "host_onboarding_name": f"new-{number}",
        "host_onboarding_management_ip": f"10.1.0.{number}",
        "host_onboarding_cluster": "cluster-1",
        "host_onboarding_username": "root",
        "host_onboarding_password": "only-for-the-simulator",
        "host_onboarding_state": "enabled",
        "host_onboarding_services": services,
        "host_onboarding_timeout": 60,
        "host_onboarding_concurrency": 5,
    }
    for number, services in ((1, SERVICES), (2, []))
}
ONBOARDING = create_play(
    {name: {"__host_onboarding_wanted": {**variables, "names": [*variables]}} for name, variables in NEW_HOSTS.items()}
)

BACKED_UP = {"query": ["name~=vm-%"], "concurrency": 2, "min_free_percent": 0}

WRITTEN_BACK = {"vm": "vm-1", "confirm": "vm-1", "stop": True, "start": True}

# The play of the roles that run for each host.
PLAY = {"inventory_hostname": "host-1", "playbook_dir": "/", **create_play({"host-1": {}})}


@dataclass(frozen=True)
class Work:
    """A role with its variables, the options of the new service, and the variables of a run before.

    ``play`` are the variables of the play, and ``repeats`` says whether the role does its work each time. ``chosen``
    are the members of records that the role chooses again when it runs again. ``breaks`` is how the data mover fails in
    the run with a fault.
    """

    role: str
    variables: Mapping[str, Any]
    service: Mapping[str, Any]
    earlier: Mapping[str, Any] | None = None
    play: Mapping[str, Any] = field(default_factory=lambda: PLAY)
    repeats: bool = False
    chosen: tuple[str, ...] = ()
    breaks: str = ""

    def __str__(self) -> str:
        return f"{self.role} {self.variables.get('state', '') or self.breaks}".rstrip()


WORKS = (
    Work("vm_snapshots", {"query": ["name~=vm-%"], "keep": 1}, {"vms": 3, "snapshot_groups": 3}),
    Work("vm_restore", RESTORED, {"vms": 3, "snapshot_groups": 1}, chosen=("hostUuid", "ip", "mac", "internalName")),
    Work("vm_restore", {**RESTORED, "state": "absent", "expunge": True}, {"vms": 3, "snapshot_groups": 1}, RESTORED),
    Work("vm_power", {"state": "stopped", "groups": GROUPS}, {"vms": 5}),
    Work("vm_power", {"state": "running", "groups": GROUPS}, {"vms": 5}, {"state": "stopped", "groups": GROUPS}),
    Work("vm_power", {"state": "restored"}, {"vms": 5}, {"state": "stopped", "groups": GROUPS}),
    Work("site_shutdown", {"state": "stopped", **SHUTDOWN}, {"vms": 5}),
    Work("site_shutdown", {"state": "running", **SHUTDOWN}, {"vms": 5}, {"state": "stopped", **SHUTDOWN}),
    Work("notifications", NOTIFICATIONS, {}),
    Work("notifications", {**NOTIFICATIONS, "state": "absent", "force": True}, {}, NOTIFICATIONS),
    Work("host_evacuation", {"hosts": ["host-1"]}, DRAINED, chosen=CHOSEN_HOSTS),
    Work("host_evacuation", {"state": "restored"}, DRAINED, {"hosts": ["host-1"]}, chosen=CHOSEN_HOSTS),
    Work("host_removal", {"uuid": HOST}, DRAINED, chosen=CHOSEN_HOSTS),
    Work("host_onboarding", {}, {"clusters": 1, "hosts": 1, "vms": 0}, play=ONBOARDING, chosen=("mac",)),
    Work("host_maintenance", {"uuid": HOST, "evacuate": True}, DRAINED, repeats=True, chosen=CHOSEN_HOSTS),
    Work("vm_backup", BACKED_UP, {"vms": 3}, repeats=True),
    *(
        Work("vm_backup_restore", WRITTEN_BACK, {"vms": 2}, repeats=True, breaks=breaks)
        for breaks in ("", "incomplete", "unknown")
    ),
)


class Stage:
    """A role on a new service, which can run several times."""

    def __init__(self, sim: Simulator, work: Work, server: str, folder: Path) -> None:
        sim.reset(latency=0.0, reconnect=0.0, boot=0.0, **{"cbt_tasks": 0, **work.service}, **SERVERS[server])
        self.sim, self.work, self._folder = sim, work, folder
        self._run = WorkflowRunner(sim)
        is_restore = work.role == "vm_backup_restore"
        self.restorer = Restorer(sim, work.variables["vm"], folder / "repository", work.breaks) if is_restore else None
        for number, group in enumerate(sim.records("snapshotgroup") if work.role == "vm_snapshots" else ()):
            sim.change("snapshotgroup", group["uuid"], name=f"scheduled-2026-01-{number + 1:02}", description=MARK)
        if work.earlier is not None:
            earlier = self.run(work.earlier)
            assert earlier.result.get("failed_count") == 0, earlier.message
        self.before = sim.settle()
        self._known = list_uuids(self.before)

    def run(self, variables: Mapping[str, Any] | None = None, **options: Any) -> WorkflowRun:
        """Run the role once; ``options`` may override those of the connection."""
        values = dict(self.work.variables if variables is None else variables)
        if self.work.role == "vm_backup":
            # A data mover that copies everything at once.
            mover = FakeMover(self._folder / "repository")
            return BackupRunner(self._run, mover)(options={**LIMITS, **options}, **values).combine()
        if self.restorer:
            return self.restorer(self._run, {**LIMITS, **options}, **values)
        if self.work.role == "host_maintenance":
            values["tasks"] = str(self._folder / "tasks.yml")
            Path(values["tasks"]).write_text("[]\n", encoding="utf-8")
        prefixed = {f"{self.work.role}_{name}": value for name, value in values.items()}
        run = partial(self._run, self.work.role, {**self.work.play, **prefixed}, **{**LIMITS, **options})
        in_steps = IN_STEPS.get(self.work.role)
        return in_steps(run) if in_steps else run()

    def repair(self) -> None:
        """Do what an operator does after a failure: enable a host that could not leave its maintenance, end exports."""
        if self.work.role == "host_maintenance":
            self.sim.change("host", HOST, state="Enabled")
        if self.restorer:
            self.restorer.repair()

    def read(self) -> State:
        """Return the state of the service, with one placeholder for all uuids that were new since the start."""
        state = drop_groups(self.sim.settle())
        without_folder = json.loads(json.dumps(state).replace(str(self._folder), "folder"))
        return replace_unpredictable(without_folder, self._known, self.work.chosen, HOST)


def _maintain(run: Callable[..., WorkflowRun]) -> WorkflowRun:
    """Run the steps of the role host_maintenance as its tasks do, and return what they have done together."""
    checked = run(step="check")
    entered = run(step="enter", given=checked.result["next"])
    if "next" not in entered.result:
        return entered
    given = {"variables": checked.result["next"]["variables"], "entered": entered.result["next"], "failure": None}
    left = run(step="leave", given=given)
    result = {**left.result, "changed": entered.result["changed"] or left.result["changed"]}
    return WorkflowRun(result, entered.warnings + left.warnings, entered.log + left.log)


# The roles whose tasks run their workflow in steps.
IN_STEPS: dict[str, Callable[[Callable[..., WorkflowRun]], WorkflowRun]] = {
    "host_maintenance": _maintain,
}


def run_workflows(sim: Simulator, report: Report, faults: Sequence[Fault], is_short: bool = False) -> None:
    """Run each role with every fault on each of its requests, on servers that take turns.

    The short form has one fault for the first request of each writing operation, and of every second read.
    """
    faults = [fault for fault in faults if fault not in TLS_FAULTS]
    of_reads = [fault for fault in faults if fault in READ_FAULTS]
    with with_fast_clock(), tempfile.TemporaryDirectory() as folder:
        number = 0
        for first, work in enumerate(WORKS):
            clean = partial(_run_clean, sim, work, Path(folder))
            wanted = {server: clean(server) for server in SERVERS}
            targets = list_targets(sim, work, Path(folder))
            for target in _choose_some(targets, first) if is_short else targets:
                possible = of_reads if target.is_read else faults
                for fault in [possible[number % len(possible)]] if is_short else possible:
                    server = [*SERVERS][number % len(SERVERS)]
                    number += 1
                    _check(sim, report, Cell(work, server, target, fault), wanted[server], Path(folder))


def _choose_some(targets: Sequence[Occurrence], first: int) -> list[Occurrence]:
    """Return the first request of each writing operation, and every second read, from the first or the second one."""
    once = [target for target in targets if not target.skip]
    reads = [target for target in once if target.is_read]
    return [*(target for target in once if not target.is_read), *reads[first % 2 :: 2]]


def _run_clean(sim: Simulator, work: Work, folder: Path, server: str) -> State:
    """Run a role without a fault, and return the state of the service afterwards."""
    stage = Stage(sim, work, server, _new_folder(folder))
    ran = stage.run()
    assert ran.result.get("failed_count") == 0, ran.message
    return stage.read()


def list_targets(sim: Simulator, work: Work, folder: Path) -> list[Occurrence]:
    """Return the first and the last request of each operation that a role calls, and its first poll."""
    log = Stage(sim, work, "honours job ids", _new_folder(folder)).run().log
    counts = Counter((entry["operation"], entry["method"] == "GET") for entry in log if entry["operation"])
    targets = [
        Occurrence(operation, skip, is_read)
        for (operation, is_read), count in counts.items()
        for skip in sorted({0, count - 1})
    ]
    return [*targets, Occurrence("poll", 0, True)]


@dataclass(frozen=True)
class Cell:
    """A role on a kind of server, and a fault of one of its requests."""

    work: Work
    server: str
    target: Occurrence
    fault: Fault

    def __str__(self) -> str:
        return f"{self.work}, {self.server}: {fault_name(self.fault)} on {self.target}"

    @property
    def has_only_the_response(self) -> bool:
        """Whether nothing shows that a call was not executed: ``{}`` is its reply of success, and no read shows it."""
        is_bare = self.fault.get("garbage") == "missing" and self.fault.get("taken") is False
        return is_bare and self.target.operation == "UnexportNbdVolumes"


def _check(sim: Simulator, report: Report, cell: Cell, wanted: State, folder: Path) -> None:
    if is_delivered_twice(cell.fault, cell.server) or cell.has_only_the_response:
        return
    for problem in call_in_time(lambda: list(play(sim, report, cell, wanted, folder))):
        report.wrong(f"{cell}: {problem}")


def _new_folder(folder: Path) -> Path:
    return Path(tempfile.mkdtemp(dir=folder))


def play(sim: Simulator, report: Report, cell: Cell, wanted: State, folder: Path) -> Iterator[str]:
    """Run a role with a fault, then twice without it; yield what differs from the wanted state, and other errors."""
    stage = Stage(sim, cell.work, cell.server, _new_folder(folder))
    sim.fault(**{**cell.fault, **cell.target.selector()})
    ran = stage.run(**choose_patience(cell.fault))
    hits = sum(fault["happened"] for fault in sim.faults())
    report.task(ran.result, {cell.fault["fault"]: hits}, len(ran.log))
    after = sim.settle()
    has_failed = bool(ran.result.get("failed") or ran.result.get("failed_count"))
    if problem := explain_wrong_changed(ran.result, stage.before, after, has_failed or cell.work.repeats):
        yield problem
    if not has_failed and (difference := compare(wanted, stage.read())):
        yield f"nothing failed, but not everything was done: {difference}"
    if stage.restorer:
        yield from stage.restorer.find_problems(ran, stage.before, after)
    if cell.fault["fault"] == "hang" and hits:
        return
    end_faults(sim)
    if has_failed:
        stage.repair()
    for problem in ("it does not converge", "it is not idempotent"):
        earlier = sim.settle()
        again = stage.run()
        if stage.restorer:
            yield from stage.restorer.find_problems(again, earlier, sim.settle())
        difference = compare(wanted, stage.read())
        if again.result.get("failed") or again.result["failed_count"] or difference:
            yield f"{problem}: {again.message}: {difference}"
    if again.result["changed"] and not cell.work.repeats:
        yield "it changes something each time"
