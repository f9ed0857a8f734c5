"""Measure roles over 500 VMs that need nothing, beside tasks that only read the same lists."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.figures import Figure
from benchmarks.playbooks import run_playbook
from simulator.launch import Simulator

COUNT = 500

# What a role may take: a number of times what reading takes, and of starts of ansible-playbook.
READS, STARTS = 2.0, 1.5
GOAL = 1.0

# The lines of output of a role over objects of which none fails.
GOAL_LINES = 30.0

# How many objects of a list a role may read with one request.
PAGE = 100


@dataclass(frozen=True)
class Role:
    """A role, variables with which no VM needs anything, and the modules that read the lists that it reads."""

    name: str
    variables: Mapping[str, Any]
    modules: Sequence[str]


QUERY = ["name~=vm-%"]
ROLES = (
    Role(
        "vm_power",
        {"vm_power_state": "stopped", "vm_power_groups": [{"name": "all", "query": QUERY}]},
        ["vm_info"],
    ),
    Role(
        "vm_snapshots",
        {"vm_snapshots_state": "absent", "vm_snapshots_query": QUERY},
        ["vm_info", "vm_snapshot_group_info"],
    ),
    Role(
        "host_evacuation",
        {"host_evacuation_hosts": ["host-1"]},
        ["host_info", "vm_info", "primary_storage_info"],
    ),
)


def measure() -> Iterator[Figure]:
    """Yield the figures with 500 VMs."""
    yield from measure_roles(COUNT)


def measure_roles(count: int) -> Iterator[Figure]:
    """Yield the figures of roles over this number of VMs."""
    with Simulator("--vms", str(count)) as simulator:
        for vm in simulator.records("vm"):
            if vm["state"] != "Stopped":
                simulator.change("vm", vm["uuid"], state="Stopped", hostUuid=None)
        start = run_playbook([build_play()], simulator).processor
        for role in ROLES:
            yield from _measure(simulator, role, count, start)


def build_play(**members: Any) -> dict[str, Any]:
    """Return a play for localhost."""
    return {"hosts": "localhost", "gather_facts": False, **members}


def _measure(simulator: Simulator, role: Role, count: int, start: float) -> Iterator[Figure]:
    tasks = [{"name": f"Read {module}", f"virtinfra.manager.{module}": {}} for module in role.modules]
    reading = run_playbook([build_play(tasks=tasks)], simulator).processor - start
    run = run_playbook([build_play(roles=[f"virtinfra.manager.{role.name}"], vars=dict(role.variables))], simulator)
    name, text = f"{role.name}_{count}", f"the role `{role.name}` over {count:,} VMs that need nothing"
    label = f"{text}: processor time, divided by {READS:g} x reading + {STARTS:g} x a start"
    yield Figure(name, label, run.processor / (READS * reading + STARTS * start), GOAL, "G9", label)
    label = f"{text}: requests for 100 objects of each list"
    lists = len(role.modules) * max(1.0, count / PAGE)
    yield Figure(f"{name}_requests", label, len(run.requests) / lists, GOAL, "G9", label)
    label = f"{text}: lines of output that are not blank"
    lines = sum(bool(line.strip()) for line in run.output.splitlines())
    yield Figure(f"{name}_lines", label, float(lines), GOAL_LINES, "G9", label)
