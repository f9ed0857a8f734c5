"""Runs of several controllers, and runs that end before their jobs. Jobs take real time here."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.plugin_utils._workflows.vm_restore import MARK

from simulator.launch import Simulator
from simulator.state.store import seeded_uuid
from support.workflow_runner import WorkflowRun, WorkflowRunner

CREATE = "CreateVmInstanceFromVolumeSnapshotGroup"


def restore(work: WorkflowRunner, **variables: Any) -> WorkflowRun:
    """Restore a VM from the first snapshot group."""
    vms = [{"name": "a", "snapshot_group": seeded_uuid("snapshotgroup", 1)}]
    given = {"vms": vms, "name_suffix": "-drill", **variables}
    return work("vm_restore", {f"vm_restore_{name}": value for name, value in given.items()})


def find_drill(sim: Simulator) -> list[dict[str, Any]]:
    """Return the VMs of the drill."""
    return [vm for vm in sim.records("vm") if vm["name"] == "a-drill"]


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
