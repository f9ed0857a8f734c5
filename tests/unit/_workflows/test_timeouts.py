"""How long the workflows wait for an object, and that its failure says so."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.launch import Simulator
from support.module_runner import ModuleRunner
from support.workflow_runner import WorkflowRunner

CREATE = "CreateVmInstanceFromVolumeSnapshotGroup"
GROUP = "a000000b000040008000000000000001"
COPY: dict[str, Any] = {"name": "copy", "snapshot_group": GROUP}
NIC: dict[str, Any] = {"name": "vm-1", "snapshot_group": GROUP, "nics": [{"l3_network": "l3-3"}]}
ONE: list[dict[str, Any]] = [{"name": "one", "vms": ["vm-1"]}]


@pytest.fixture
def service(sim: Simulator) -> Simulator:
    """A simulator with two hosts and three VMs.

    vm-1 has a snapshot group and a limited NIC, and vm-3 is stopped.
    """
    sim.reset(clusters=1, hosts=2, vms=3, snapshot_groups=1, local_storages=0)
    for vm in sim.records("vm"):
        sim.change("vm", vm["uuid"], state="Stopped" if vm["name"] == "vm-3" else "Running")
    nic = sim.records("vm")[0]["vmNics"][0]["uuid"]
    ModuleRunner(sim)("vm_nic_qos", {"uuid": nic, "inbound_bandwidth": 1 << 20, "state": "present"})
    return sim


@pytest.mark.parametrize(
    ("role", "operation", "variables"),
    [
        ("host_evacuation", "MigrateVm", {"hosts": ["host-1"]}),
        ("vm_power", "StopVmInstance", {"state": "stopped", "groups": ONE, "cold": False, "grace_timeout": 7}),
        ("vm_power", "StartVmInstance", {"state": "running", "groups": [{"name": "one", "vms": ["vm-3"]}]}),
        ("vm_restore", CREATE, {"vms": [COPY]}),
        ("vm_restore", "AttachL3NetworkToVm", {"vms": [NIC]}),
        ("vm_restore", "DeleteNicQos", {"vms": [{**COPY, "name": "vm-1", "clear_qos": True}]}),
        ("vm_snapshots", "CreateVolumeSnapshotGroup", {"vms": ["vm-1"]}),
    ],
)
def test_the_failure_of_an_object_that_takes_too_long(
    service: Simulator, work: WorkflowRunner, role: str, operation: str, variables: dict[str, Any]
) -> None:
    service.configure(latencies={operation: 3600})
    ran = work(role, {f"{role}_{name}": value for name, value in {"timeout": 7, **variables}.items()})
    failed = [entry["error"] for entry in ran.report if entry["outcome"] == "failed"]
    assert (operation in ran.calls, bool(failed)) == (True, True)
    for error in failed:
        assert "after 7 s" in error
