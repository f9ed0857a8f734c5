"""Kill the roles that put something back in the middle of slow calls, each time at another request.

Another controller, which has nothing of the one that was killed, puts everything back.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from chaos.marks import GROUPS, MISSING, prefix
from chaos.report import Report
from chaos.restores import CONTENT, WHOLE, Restorer
from simulator.launch import Simulator
from support.workflow_runner import WorkflowRun, WorkflowRunner, is_killed, run_maintenance

SLOW = ("StopVmInstance", "StartVmInstance", "MigrateVm", "ChangeHostState", "ShutdownHost", "ExportNbdVolumes")

RESTORED = {"vm": "vm-1", "confirm": "vm-1", "stop": True, "start": True}


@dataclass(frozen=True)
class Scenario:
    """A role: what it does, and what puts that back; each with a runner, which may be killed."""

    role: str
    act: Callable[[WorkflowRunner], WorkflowRun]
    put_back: Callable[[WorkflowRunner], WorkflowRun]
    local_storages: int = 0


def run_role(role: str, work: WorkflowRunner, **variables: object) -> WorkflowRun:
    """Run a role."""
    return work(role, prefix(role, variables))


def restore(folder: Path, work: WorkflowRunner) -> WorkflowRun:
    """Write a VM back from a point, with a data mover of this run: a run that was killed is this process, too."""
    return Restorer(work.sim, "vm-1", Path(tempfile.mkdtemp(dir=folder)) / "repository")(work, {}, **RESTORED)


def list_scenarios(tasks: Path) -> list[Scenario]:
    """Return what is killed."""
    return [
        Scenario(
            "vm_power",
            partial(run_role, "vm_power", state="stopped", groups=GROUPS),
            partial(run_role, "vm_power", state="restored"),
        ),
        Scenario(
            "site_shutdown",
            partial(run_role, "site_shutdown", state="stopped", groups=GROUPS, exclude_hosts=["host-2"]),
            partial(run_role, "site_shutdown", state="running"),
        ),
        Scenario(
            "host_evacuation",
            partial(run_role, "host_evacuation", state="evacuated", hosts=["host-1"], unmovable="keep"),
            partial(run_role, "host_evacuation", state="restored"),
        ),
        Scenario(
            "host_maintenance",
            partial(run_maintenance, host="host-1", tasks=tasks),
            partial(run_maintenance, host="host-1", tasks=tasks, state="absent"),
            local_storages=2,
        ),
        Scenario("vm_backup_restore", *(partial(restore, tasks.parent),) * 2),
    ]


def kill_roles(sim: Simulator, report: Report, count: int, seconds: float, seed: int) -> None:
    """Kill each role so many times, while its calls take so many seconds, and half of the runs that put back, too."""
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        tasks = Path(folder, "tasks.yml")
        tasks.write_text("[]\n", encoding="utf-8")
        for scenario in list_scenarios(tasks):
            _reset(sim, scenario, seconds, 0)
            lengths = [_count(sim, scenario.act), _count(sim, scenario.put_back)]
            for number in range(count):
                _reset(sim, scenario, seconds, number)
                moments = [rng.randint(1, lengths[0]), rng.randint(1, lengths[1])][: rng.randint(1, 2)]
                for problem in _kill(sim, scenario, report, moments):
                    report.wrong(f"{scenario.role} {number}, killed after {moments} requests: {problem}")


def _reset(sim: Simulator, scenario: Scenario, seconds: float, number: int) -> None:
    sim.reset(
        clusters=1,
        hosts=3,
        vms=10,
        user_tags=0,
        cbt_tasks=0,
        latency=0.0,
        local_storages=scenario.local_storages,
        missing_operations=list(MISSING[number % 2]),
        latencies=dict.fromkeys(SLOW, seconds),
        boot=0.0,
        reconnect=0.0,
        early_states=number // 2 % 2 == 0,
    )


def _count(sim: Simulator, run: Callable[[WorkflowRunner], WorkflowRun]) -> int:
    """Return how many requests a whole run sends."""
    work = WorkflowRunner(sim)
    assert not run(work).result.get("failed_count")
    return work.sent


def _kill(sim: Simulator, scenario: Scenario, report: Report, moments: list[int]) -> list[str]:
    """Kill a run, and perhaps one that puts back, and return what is wrong after the one that is not killed."""
    before = _read(sim)
    is_killed(partial(scenario.act, WorkflowRunner(sim, moments[0])))
    for moment in moments[1:]:
        is_killed(partial(scenario.put_back, WorkflowRunner(sim, moment)))
    ran = scenario.put_back(WorkflowRunner(sim))
    report.task(ran.result, {"kill": len(moments)}, len(ran.log))
    sim.settle()
    problems = [ran.message] if ran.result.get("failed") or ran.result["failed_count"] else []
    problems += [f"{item} remains" for item in _read(sim) if item not in before]
    if scenario.role == "vm_backup_restore":
        problems += _list_unwritten(sim)
    return problems


def _read(sim: Simulator) -> list[tuple[str, ...]]:
    """Return the states and places of VMs and hosts, the user tags, and the exports."""
    vms = [(vm["name"], vm["state"]) for vm in sim.records("vm")]
    hosts = [(host["name"], host["state"], str(host["ipmiPowerStatus"])) for host in sim.records("host")]
    exports = [("export", *uuids) for uuids in sim.state()["exported"].values() if uuids]
    return [*vms, *hosts, *exports, *((tag["resourceUuid"], tag["tag"]) for tag in sim.records("usertag"))]


def _list_unwritten(sim: Simulator) -> list[str]:
    """Return the volumes of the VM that do not have the content of the point."""
    vm = next(vm for vm in sim.records("vm") if vm["name"] == "vm-1")
    return [f"volume {each['uuid']} is not restored" for each in vm["allVolumes"] if each.get(CONTENT) != WHOLE]
