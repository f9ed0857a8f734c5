"""Runs of several controllers, and runs that end before their jobs. Jobs take real time here."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.plugin_utils._workflows.vm_restore import MARK

from simulator.launch import Simulator
from simulator.state.store import seeded_uuid
from support.workflow_runner import WorkflowRun, WorkflowRunner, kill_for_host, run_for_host, run_maintenance

CREATE = "CreateVmInstanceFromVolumeSnapshotGroup"


def restore(work: WorkflowRunner, **variables: Any) -> WorkflowRun:
    """Restore a VM from the first snapshot group."""
    vms = [{"name": "a", "snapshot_group": seeded_uuid("snapshotgroup", 1)}]
    given = {"vms": vms, "name_suffix": "-drill", **variables}
    return work("vm_restore", {f"vm_restore_{name}": value for name, value in given.items()})


def find_drill(sim: Simulator) -> list[dict[str, Any]]:
    """Return the VMs of the drill."""
    return [vm for vm in sim.records("vm") if vm["name"] == "a-drill"]


def evacuate(work: WorkflowRunner, **variables: Any) -> WorkflowRun:
    """Evacuate the first host, or restore the VMs of all hosts."""
    given = {"hosts": [] if variables.get("state") == "restored" else ["host-1"], **variables}
    return work("host_evacuation", {f"host_evacuation_{name}": value for name, value in given.items()})


def test_a_migration_that_ends_after_the_timeout_is_found(sim: Simulator, work: WorkflowRunner) -> None:
    """While it runs, its mark stays. The VM was never moved back."""
    sim.reset(clusters=1, hosts=3, vms=7, local_storages=0, user_tags=0, latencies={"MigrateVm": 4.0})
    before = {vm["uuid"]: vm["hostUuid"] for vm in sim.records("vm")}
    late = evacuate(work, timeout=1)
    assert (late.outcomes, len(sim.records("usertag"))) == (["failed"] * 2, 2)
    early = evacuate(work, state="restored", timeout=1)
    assert (early.outcomes, len(sim.records("usertag"))) == (["failed"] * 2, 2)
    assert "an action of an earlier run is still in flight (job " in early.message
    assert evacuate(work, state="restored").outcomes == ["changed"] * 2
    assert {vm["uuid"]: vm["hostUuid"] for vm in sim.records("vm")} == before
    assert sim.records("usertag") == []


def kill_entry(work: WorkflowRunner, tasks: Path, kills: int) -> None:
    """Kill the step of host_maintenance that enters the maintenance after so many requests."""
    given: dict[str, Any] = {"tasks": str(tasks), "running_vms": "stop"}
    checked = run_for_host(work, "host_maintenance", "host-1", given, step="check").result["next"]
    assert kill_for_host(work, kills, "host-1", given, step="enter", given=checked)


def test_a_maintenance_in_flight_is_found(sim: Simulator, work: WorkflowRunner, tmp_path: Path) -> None:
    """The host looked as before, the marks were taken off, and then the host went into maintenance with its VMs off."""
    tasks = tmp_path / "tasks.yml"
    tasks.write_text("[]\n", encoding="utf-8")
    sim.reset(clusters=1, hosts=3, local_storages=2, user_tags=0, latencies={"ChangeHostState": 4.0})
    before = states_of(sim)
    kills = find_call(sim, work, tasks)
    sim.reset(clusters=1, hosts=3, local_storages=2, user_tags=0, latencies={"ChangeHostState": 4.0})
    kill_entry(work, tasks, kills)
    early = run_maintenance(work, "host-1", tasks, state="absent", timeout=1)
    assert "an action of an earlier run is still in flight (job " in early.message
    late = run_maintenance(work, "host-1", tasks, state="absent")
    assert late.outcomes == ["done"]
    assert (states_of(sim), sim.records("usertag")) == (before, [])


def find_call(sim: Simulator, work: WorkflowRunner, tasks: Path) -> int:
    """Return after how many requests of the step enter the service has begun with the maintenance."""
    for kills in itertools.count(8):
        sim.reset(clusters=1, hosts=3, local_storages=2, user_tags=0, latencies={"ChangeHostState": 4.0})
        kill_entry(work, tasks, kills)
        if any(entry["operation"] == "ChangeHostState" for entry in sim.log()):
            return kills
    raise AssertionError


@pytest.mark.parametrize("seed", range(3))
def test_two_controllers_and_a_person(sim: Simulator, work: WorkflowRunner, tmp_path: Path, seed: int) -> None:
    """Whatever the three do at the same time, all can be put back afterwards, and no mark is left."""
    tasks, rng = tmp_path / "tasks.yml", random.Random(seed)
    tasks.write_text("[]\n", encoding="utf-8")
    slow = {"ChangeHostState": 0.2, "MigrateVm": 0.2, "StopVmInstance": 0.2}
    sim.reset(clusters=1, hosts=4, vms=8, local_storages=0, user_tags=0, latencies=slow)
    hosts = [host["name"] for host in sim.records("host")]
    before = states_of(sim)

    def control(number: int) -> list[str]:
        own = random.Random(f"{seed} {number}")
        return [act(WorkflowRunner(sim), tasks, own, hosts) for dummy in range(4)]

    with ThreadPoolExecutor(2) as pool:
        futures = [pool.submit(control, number) for number in range(2)]
        for dummy in range(6):
            vm = rng.choice(sim.records("vm"))
            sim.change("vm", vm["uuid"], name=f"renamed-{rng.random():.3f}")
            time.sleep(0.2)
        problems = [problem for future in futures for problem in future.result() if problem]
    assert problems == []
    sim.settle()
    for host in hosts:
        run_maintenance(work, host, tasks, state="absent")
    assert evacuate(work, state="restored", unmovable="keep").result["failed_count"] == 0
    assert (states_of(sim), sim.records("usertag")) == (before, [])


def states_of(sim: Simulator) -> dict[str, str]:
    """Return the states of all hosts and VMs."""
    return {each["uuid"]: each["state"] for kind in ("host", "vm") for each in sim.records(kind)}


def act(work: WorkflowRunner, tasks: Path, rng: random.Random, hosts: list[str]) -> str:
    """Run a role at random, and return what is wrong with its result, an empty text if nothing is."""
    host = rng.choice(hosts)
    actions: list[Callable[[], WorkflowRun]] = [
        lambda: run_maintenance(work, host, tasks),
        lambda: run_maintenance(work, host, tasks, state="absent"),
        lambda: evacuate(work, hosts=[host], unmovable="keep"),
        lambda: evacuate(work, state="restored", unmovable="keep"),
    ]
    ran = rng.choice(actions)()
    return ran.message if "bug" in ran.message else ""


@pytest.mark.parametrize("is_first_killed", [True, False])
def test_two_runs_restore_one_vm(sim: Simulator, work: WorkflowRunner, is_first_killed: bool) -> None:
    """The job of the first run goes on, also if the run has ended. The second run made another VM of the name."""
    sim.reset(vms=1, snapshot_groups=1)
    sim.configure(latencies={CREATE: 2.0})
    if is_first_killed:
        runs = [restore(work, timeout=1), restore(work)]
        assert runs[0].result["failed_count"] == 1
    else:
        with ThreadPoolExecutor(2) as pool:
            runs = list(pool.map(lambda dummy: restore(work), range(2)))
        assert runs[0].result["failed_count"] == 0, runs[0].message
    assert runs[1].result["failed_count"] == 0, runs[1].message
    (vm,) = find_drill(sim)
    assert (runs[1].report[0]["vm_uuid"], vm["description"]) == (vm["uuid"], MARK)
    assert restore(work, state="absent", expunge=True).outcomes == ["changed"]
    assert find_drill(sim) == []
