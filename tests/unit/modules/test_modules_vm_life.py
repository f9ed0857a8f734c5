"""The module vm: the states, changes, recovery and removal of VMs."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.launch import Simulator
from support.module_runner import ModuleRunner

VM, STOPPED_VM = "a0000004000040008000000000000001", "a0000004000040008000000000000002"


def data_volumes(sim: Simulator, vm: str) -> dict[str, str]:
    """Return the status of the data volumes of a VM, also of those that it had, by uuid."""
    return {
        volume["uuid"]: volume["status"]
        for volume in sim.records("volume")
        if vm in (volume["vmInstanceUuid"], volume["lastVmInstanceUuid"]) and volume["type"] == "Data"
    }


@pytest.mark.parametrize(
    ("before", "state", "calls"),
    [
        ("Running", "stopped", ["StopVmInstance"]),
        ("Paused", "stopped", ["StopVmInstance"]),
        ("Stopped", "running", ["StartVmInstance"]),
        ("Paused", "running", ["ResumeVmInstance"]),
        ("Running", "paused", ["PauseVmInstance"]),
        ("Stopped", "paused", ["PauseVmInstance", "StartVmInstance", "PauseVmInstance"]),
    ],
)
def test_states(run: ModuleRunner, sim: Simulator, before: str, state: str, calls: list[str]) -> None:
    """The first of several calls is for a VM that does not exist."""
    sim.change("vm", VM, state=before)
    ran = run.twice("vm", {"uuid": VM, "state": state})
    assert ran.calls == calls
    assert ran["vm"]["state"] == state.capitalize()


@pytest.mark.parametrize(
    ("before", "calls"),
    [
        ("Running", ["RebootVmInstance"]),
        ("Stopped", ["StartVmInstance"]),
        ("Paused", ["RebootVmInstance", "ResumeVmInstance", "RebootVmInstance"]),
    ],
)
def test_restart(run: ModuleRunner, sim: Simulator, before: str, calls: list[str]) -> None:
    sim.change("vm", VM, state=before)
    options = {"uuid": VM, "state": "restarted"}
    assert run("vm", options, check=True).changed
    ran = run("vm", options)
    assert (ran.failed, ran.changed, ran.calls, ran["vm"]["state"]) == (False, True, calls, "Running"), ran.message
    assert run("vm", options).calls == ["RebootVmInstance"]


def test_stop_type_and_host_are_sent(run: ModuleRunner, sim: Simulator) -> None:
    stopped = run.twice("vm", {"name": "vm-1", "state": "stopped", "stop_type": "cold"})
    assert stopped.sent("StopVmInstance") == {"type": "cold", "stopHA": "true"}
    host = next(vm["lastHostUuid"] for vm in sim.records("vm") if vm["uuid"] == VM)
    started = run.twice("vm", {"name": "vm-1", "state": "running", "host": host})
    assert started.sent("StartVmInstance") == {"hostUuid": host}
    (warning,) = run("vm", {"name": "vm-1", "state": "running", "stop_type": "cold"}).warnings
    assert warning == "stop_type acts only with state: stopped, so it is ignored"


@pytest.mark.parametrize(
    ("module", "options", "state"),
    [
        ("vm", {"uuid": VM, "state": "stopped"}, "Stopped"),
        ("api", {"operation": "StopVmInstance", "params": {"uuid": VM}}, "Stopped"),
        ("api", {"operation": "StopVmInstance", "params": {"uuid": VM, "stopHA": False}}, "Running"),
    ],
)
def test_high_availability_leaves_a_vm_stopped(
    run: ModuleRunner, sim: Simulator, module: str, options: dict[str, Any], state: str
) -> None:
    sim.configure(never_stopped_vms=[VM])
    ran = run(module, options)
    assert (ran.failed, ran.changed) == (False, True), ran.message
    settled = next(vm for vm in sim.settle()["vm"] if vm["uuid"] == VM)
    assert settled["state"] == state


def test_changes(run: ModuleRunner) -> None:
    renamed = run.twice("vm", {"uuid": VM, "name": "web", "description": "new"})
    assert renamed.sent("UpdateVmInstance") == {"name": "web", "description": "new"}
    assert "cpu_num can only be changed while the VM is stopped" in run.refused("vm", {"name": "web", "cpu_num": 9})
    ran = run.twice("vm", {"name": "web", "cpu_num": 9, "memory_size": 2**33, "state": "stopped"})
    assert ran.calls == ["UpdateVmInstance", "StopVmInstance", "UpdateVmInstance"]
    assert (ran["vm"]["cpu_num"], ran["vm"]["memory_size"]) == (9, 2**33)
    assert "description" in run.refused("vm", {"name": "web", "description": "other", "state": "absent"})


def test_vm_that_does_not_exist(run: ModuleRunner) -> None:
    run.refused("vm", {"name": "nobody"})
    assert run("vm", {"name": "nobody"})["error"]["code"] == "NOT_FOUND"
    for key in ({"name": "nobody"}, {"uuid": "0" * 32}):
        run.idle("vm", {**key, "state": "absent", "expunge": True, "data_volumes": "delete"})


def test_template_is_refused(run: ModuleRunner, sim: Simulator) -> None:
    sim.reset(vms=3, templates=1)
    assert "is a template" in run.refused("vm", {"name": "vm-3", "state": "absent"})


def test_destroyed_vm_is_recovered_on_request(run: ModuleRunner, sim: Simulator) -> None:
    sim.change("vm", STOPPED_VM, state="Destroyed")
    for options in ({"uuid": STOPPED_VM}, {"name": "vm-2"}):
        run.idle("vm", {**options, "state": "absent"})
        assert "Set recover: true" in run.refused("vm", {**options, "state": "stopped"})
    ran = run.twice("vm", {"name": "vm-2", "state": "running", "recover": True})
    assert ran.calls == ["StartVmInstance", "RecoverVmInstance", "StartVmInstance"]


@pytest.mark.parametrize("policy", ["Delay", "Direct"])
@pytest.mark.parametrize("volumes", ["keep", "delete"])
@pytest.mark.parametrize("expunge", [False, True])
def test_removal(run: ModuleRunner, sim: Simulator, policy: str, volumes: str, expunge: bool) -> None:
    sim.configure(deletion_policy=policy)
    before = data_volumes(sim, VM)
    assert before
    ran = run.twice("vm", {"name": "vm-1", "state": "absent", "data_volumes": volumes, "expunge": expunge})
    assert ran["vm"] is None
    left = [vm["state"] for vm in sim.records("vm") if vm["uuid"] == VM]
    assert left == ([] if expunge or policy == "Direct" else ["Destroyed"])
    remaining = set(data_volumes(sim, VM).values())
    is_gone = expunge or policy == "Direct"
    assert remaining == ({"Ready"} if volumes == "keep" else set() if is_gone else {"Deleted"})
    listed = {item["uuid"] for item in ran["also_removed"] if item["type"] == "volume"}
    assert listed == (before.keys() if volumes == "delete" else set())


def test_destroyed_vm_is_expunged_later(run: ModuleRunner, sim: Simulator) -> None:
    for uuid in data_volumes(sim, VM):
        sim.change("volume", uuid, lastDetachDate=None)
    options: dict[str, Any] = {"name": "vm-1", "state": "absent", "data_volumes": "delete"}
    run.twice("vm", options)
    ran = run.twice("vm", {**options, "expunge": True})
    assert set(ran.calls) == {"ExpungeVmInstance", "ExpungeDataVolume"}
    assert data_volumes(sim, VM) == {}


def test_job_that_succeeds_is_no_proof(run: ModuleRunner, sim: Simulator) -> None:
    sim.configure(failing_destructions=[VM])
    ran = run("vm", {"uuid": VM, "state": "absent"})
    assert "DestroyVmInstance succeeded, but the object still exists" in ran.message
    ran = run("vm", {"uuid": VM, "state": "absent", "expunge": True})
    assert ran.failed
    assert [vm["state"] for vm in sim.records("vm") if vm["uuid"] == VM] == ["Running"]


@pytest.mark.parametrize("lacking", ["ExpungeVmInstance", "DeleteDataVolume", "ExpungeDataVolume", "DestroyVmInstance"])
def test_nothing_is_destroyed_if_an_operation_is_missing(run: ModuleRunner, sim: Simulator, lacking: str) -> None:
    sim.configure(missing_operations=[lacking])
    ran = run("vm", {"uuid": VM, "state": "absent", "data_volumes": "delete", "expunge": True})
    assert (ran["error"]["code"], ran.changed) == ("UNSUPPORTED", False)
    assert [vm["state"] for vm in sim.records("vm") if vm["uuid"] == VM] == ["Running"]


def test_failed_deletion_of_a_volume_does_not_claim_that_the_vm_exists(run: ModuleRunner, sim: Simulator) -> None:
    sim.fault("fail", "DeleteDataVolume", skip=1)
    ran = run("vm", {"uuid": VM, "state": "absent", "data_volumes": "delete"})
    assert (ran.failed, ran.changed, ran["done"]) == (True, True, ["DestroyVmInstance"])
    assert "still exists" not in ran.message
    assert [vm["state"] for vm in sim.records("vm") if vm["uuid"] == VM] == ["Destroyed"]
    assert set(data_volumes(sim, VM).values()) == {"Ready"}


@pytest.mark.parametrize("options", [{"cpu_num": 0}, {"cpu_num": 1025}, {"memory_size": 2**50}, {"name": "n" * 256}])
def test_vm_is_not_stopped_for_a_value_that_servers_refuse(run: ModuleRunner, options: dict[str, Any]) -> None:
    (option,) = options
    assert run.refused("vm", {"uuid": VM, "state": "stopped", **options}).startswith(f"{option} ")
