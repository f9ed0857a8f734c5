"""Roles that put back what they have stopped: with controllers that are killed, several labels, and a person."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from chaos.report import Report
from simulator.launch import Simulator
from support.fast_clock import with_fast_clock
from support.workflow_runner import WorkflowRun, WorkflowRunner

# The kinds of services: one adds user tags, the other attaches tag patterns.
MISSING: Sequence[Sequence[str]] = ([], ["CreateUserTag"])

VMS = 10

GROUPS = [{"name": "web", "vms": ["vm-1", "vm-3", "vm-2"]}, {"name": "db", "vms": ["vm-5", "vm-7"]}]

# What stops VMs or a site, and what puts that back, with the variables without the prefix of the role.
WORKS: Sequence[tuple[str, Mapping[str, Any], Mapping[str, Any]]] = (
    ("vm_power", {"state": "stopped", "groups": GROUPS}, {"state": "restored"}),
    ("site_shutdown", {"groups": GROUPS, "exclude_hosts": ["host-2"]}, {"state": "running"}),
)


def prefix(role: str, variables: Mapping[str, Any]) -> dict[str, Any]:
    """Return the variables of a role with its prefix."""
    return {f"{role}_{name}": value for name, value in variables.items()}


# ---------------------------------------------------------------------------------------------------------------- kills


def kill_controllers(sim: Simulator, report: Report, count: int, seconds: float, seed: int) -> None:
    """Kill controllers at random moments in the middle of stops and starts that take so many seconds.

    Each is a process of its own, and leaves nothing but what the service has. The next one puts everything back.
    """
    rng = random.Random(seed)
    for number in range(count):
        role, stop, restore = WORKS[number % len(WORKS)]
        slow = dict.fromkeys(("StopVmInstance", "StartVmInstance", "ShutdownHost"), seconds)
        sim.reset(
            vms=VMS,
            user_tags=0,
            missing_operations=list(MISSING[number // len(WORKS) % 2]),
            latencies=slow,
            boot=0.0,
            reconnect=0.0,
            early_states=rng.random() < 0.5,
        )
        before = _read(sim)
        moments = [rng.uniform(0.1, 3 * seconds + 1)]
        _kill(sim, role, stop, moments[0])
        if rng.random() < 0.5:
            moments.append(rng.uniform(0.1, 3 * seconds + 1))
            _kill(sim, role, restore, moments[1])
        ran = WorkflowRunner(sim)(role, prefix(role, restore))
        report.task(ran.result, {"kill": len(moments)}, len(ran.log))
        sim.settle()
        label = f"{role} {number}, killed after {moments}"
        if ran.result.get("failed") or ran.result["failed_count"]:
            report.wrong(f"{label}: {ran.message}")
        if (after := _read(sim)) != before:
            report.wrong(f"{label}: {[item for item in after if item not in before]} remain")


def _kill(sim: Simulator, role: str, variables: Mapping[str, Any], seconds: float) -> None:
    """Run a role in another process, and kill it after so many seconds, if it still runs."""
    kill_after(seconds, lambda: WorkflowRunner(sim)(role, prefix(role, variables)))


def kill_after(seconds: float, run: Callable[[], object]) -> None:
    """Run something in another process, and kill the process after so many seconds, if it still runs."""
    pid = os.fork()
    if pid == 0:
        _run_and_exit(run)
    time.sleep(seconds)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def _run_and_exit(run: Callable[[], object]) -> NoReturn:
    try:
        run()
    finally:
        os._exit(0)


def _read(sim: Simulator) -> list[tuple[str, ...]]:
    """Return the states of VMs and hosts, and the user tags."""
    vms = [(vm["name"], vm["state"]) for vm in sim.records("vm")]
    hosts = [(host["name"], host["state"], str(host["ipmiPowerStatus"])) for host in sim.records("host")]
    return [*vms, *hosts, *((tag["resourceUuid"], tag["tag"]) for tag in sim.records("usertag"))]


# ----------------------------------------------------------------------------------------------------------------- walk

LABELS = ("night", "disks", "default")


@dataclass
class Expected:
    """What the VMs must be: their states and the labels of their marks, by their uuids, and what has happened."""

    states: dict[str, str]
    labels: dict[str, str] = field(default_factory=dict)
    steps: list[str] = field(default_factory=list)

    def run(self, state: str, label: str, members: Sequence[str]) -> None:
        """Change what a run of vm_power changes."""
        if state == "stopped":
            running = [uuid for uuid in members if self.states[uuid] == "Running"]
            self.states.update(dict.fromkeys(running, "Stopped"))
            self.labels.update(dict.fromkeys(running, label))
            return
        marked = [uuid for uuid, its_label in self.labels.items() if its_label == label]
        for uuid in members if state == "running" else marked:
            self.labels.pop(uuid, None)
            if state != "unmarked":
                self.states[uuid] = "Running"


def walk_marks(sim: Simulator, report: Report, count: int, seed: int) -> None:
    """Run vm_power with random states, labels and groups, killed now and then, while a person changes VMs.

    After each run, the VMs and their marks must be what the runs and the person have made of them.
    """
    rng = random.Random(seed)
    with with_fast_clock():
        for number in range(count):
            if number % 50 == 0:
                sim.reset(vms=VMS, user_tags=0, local_storages=0, missing_operations=list(MISSING[number // 50 % 2]))
                expected = Expected({vm["uuid"]: vm["state"] for vm in sim.records("vm")})
            if rng.random() < 0.4:
                _act_as_person(sim, expected, rng)
            else:
                _run_role(sim, report, expected, rng)


def _act_as_person(sim: Simulator, expected: Expected, rng: random.Random) -> None:
    uuid = rng.choice([*expected.states])
    if rng.random() < 0.3:
        sim.change("vm", uuid, name=f"renamed-{rng.randrange(1000000)}")
        return
    state = rng.choice(("Running", "Stopped"))
    sim.change("vm", uuid, state=state)
    expected.states[uuid] = state
    expected.steps.append(f"a person: {uuid} {state}")


def _run_role(sim: Simulator, report: Report, expected: Expected, rng: random.Random) -> None:
    state = rng.choice(("stopped", "stopped", "restored", "restored", "running", "unmarked"))
    label = rng.choice(LABELS)
    members = rng.sample([*expected.states], rng.randint(1, 5))
    groups = [{"name": "first", "vms": members[:2]}, {"name": "second", "vms": members[2:]}]
    variables = {"state": state, "label": label, "allow_empty": True}
    given = prefix("vm_power", {**variables, **({"groups": groups} if state in ("stopped", "running") else {})})
    killed = rng.random() < 0.3 and WorkflowRunner(sim).kill(rng.randint(1, 40), "vm_power", given)
    ran = WorkflowRunner(sim)("vm_power", given)
    expected.run(state, label, members)
    expected.steps.append(f"{state} {label} {members if state in ('stopped', 'running') else ''}")
    report.task(ran.result, {"kill": int(killed)}, len(ran.log))
    for problem in _list_problems(sim, ran, expected):
        report.wrong(f"{problem}, after {expected.steps}")


def _list_problems(sim: Simulator, ran: WorkflowRun, expected: Expected) -> list[str]:
    """Return what differs from what is expected after a run."""
    problems = [ran.message] if ran.result.get("failed") or ran.result["failed_count"] else []
    states = {vm["uuid"]: vm["state"] for vm in sim.records("vm")}
    tags = [(tag["resourceUuid"], tag["tag"].split()[2]) for tag in sim.records("usertag")]
    if states != expected.states:
        problems.append(f"the VMs are {states}, not {expected.states}")
    if sorted(tags) != sorted(expected.labels.items()):
        problems.append(f"the marks are {tags}, not {expected.labels}")
    return problems
