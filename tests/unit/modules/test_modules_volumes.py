"""The module volume: data volumes are created, attached, grown, detached, deleted, recovered and expunged."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.launch import Simulator
from simulator.state.store import seeded_uuid
from support.module_runner import ModuleRun, ModuleRunner

VM, OTHER_VM = seeded_uuid("vm", 1), seeded_uuid("vm", 2)
ROOT, DATA = seeded_uuid("volume", 1), seeded_uuid("volume", 2)
GIB = 2**30
LOGS = {"name": "logs", "size": "10G"}


@pytest.fixture
def run(sim: Simulator) -> ModuleRunner:
    return ModuleRunner(sim)


def play(run: ModuleRunner, options: dict[str, Any]) -> ModuleRun:
    """Run a task in check mode, twice, and in check mode again; return the first run."""
    checked, ran = run("volume", options, check=True), run("volume", options)
    again, last = run("volume", options), run("volume", options, check=True)
    assert [each.message for each in (checked, ran, again, last)] == [""] * 4
    assert [each.changed for each in (checked, ran, again, last)] == [True, True, False, False]
    assert (checked.calls, again.calls, last.calls) == ([], [], [])
    return ran


def read(sim: Simulator, name: str = "logs") -> dict[str, Any]:
    (volume,) = [volume for volume in sim.records("volume") if volume["name"] == name]
    return dict(volume)


def test_volume_lives_through_all_its_states(sim: Simulator, run: ModuleRunner) -> None:
    assert play(run, LOGS).calls == ["CreateDataVolume"]
    assert play(run, {**LOGS, "vm": "vm-1"}).calls == ["AttachDataVolumeToVm"]
    assert play(run, {**LOGS, "size": "20G"}).calls == ["ResizeDataVolume"]
    assert (read(sim)["size"], read(sim)["vmInstanceUuid"]) == (20 * GIB, VM)
    assert play(run, {"name": "logs", "description": "of the shop", "tags": ["shop"]}).changed
    assert play(run, {"name": "logs", "state": "detached"}).calls == ["DetachDataVolumeFromVm"]
    assert play(run, {"name": "logs", "state": "absent"}).calls == ["DeleteDataVolume"]
    assert "is deleted. Set recover: true" in run("volume", {"name": "logs"}).message
    assert play(run, {"name": "logs", "recover": True}).calls == ["RecoverDataVolume"]
    play(run, {"name": "logs", "state": "absent", "expunge": True})
    assert [volume for volume in sim.records("volume") if volume["name"] == "logs"] == []


def test_new_volume_is_attached_in_the_same_task(sim: Simulator, run: ModuleRunner) -> None:
    options = {**LOGS, "vm": "vm-2", "primary_storage": "ps-1", "tags": ["shop"]}
    ran = play(run, options)
    assert {"CreateDataVolume", "AttachDataVolumeToVm"} <= {*ran.calls}
    assert (read(sim)["status"], read(sim)["vmInstanceUuid"]) == ("Ready", OTHER_VM)


def test_task_waits_for_a_volume_that_is_being_created(sim: Simulator, run: ModuleRunner) -> None:
    sim.configure(latency=0.1)
    assert run("volume", {**LOGS, "primary_storage": "ps-1", "wait": False}).changed
    sim.configure(latency=0)
    assert read(sim)["status"] == "Creating"
    ran = run("volume", {"name": "logs", "vm": "vm-1", "size": "20G"})
    assert (ran.message, ran.calls[-2:]) == ("", ["AttachDataVolumeToVm", "ResizeDataVolume"])
    assert (read(sim)["status"], read(sim)["vmInstanceUuid"], read(sim)["size"]) == ("Ready", VM, 20 * GIB)


def test_volume_that_cannot_be_created_is_not_there(sim: Simulator, run: ModuleRunner) -> None:
    sim.fault("fail", "CreateDataVolume", error={"code": "SYS.1006", "details": "no room"})
    ran = run("volume", {**LOGS, "primary_storage": "ps-1"})
    assert ("no room" in ran.message, ran.changed) == (True, False)
    assert [volume for volume in sim.records("volume") if volume["name"] == "logs"] == []


def test_volume_of_an_offering(sim: Simulator, run: ModuleRunner) -> None:
    ran = run("volume", {"name": "logs", "disk_offering": "disk-offering-1"})
    assert ran["volume"]["size"] == 100 * GIB
    assert not run("volume", {"name": "logs", "disk_offering": "disk-offering-1"}).changed


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"uuid": DATA, "size": "1G"}, "and a volume cannot shrink"),
        ({"uuid": DATA, "vm": "vm-2"}, "the volume is attached to the VM 'vm-1'"),
        ({"uuid": DATA, "primary_storage": "ps-2"}, "the API cannot change primary_storage"),
        ({"uuid": ROOT}, "is the root volume of the VM 'vm-1'"),
        ({"name": "root-of-vm-1", "size": "500G"}, "It grows with the module vm: root_disk_size"),
        ({"name": "root-of-vm-1", "state": "absent"}, "is the root volume of the VM 'vm-1'"),
        ({"name": "root-of-vm-1", "state": "detached"}, "is the root volume of the VM 'vm-1'"),
        ({"name": "lgos", "vm": "vm-1"}, "no volume with name 'lgos'. "),
        (
            {"uuid": DATA, "vm": "vm-1", "state": "detached"},
            "vm cannot be used with state detached. Remove vm, or set state: present",
        ),
        ({"uuid": DATA, "state": "absent"}, "1 VM would be without it: vm-1"),
    ],
)
def test_what_is_impossible_or_harmful_is_refused_before_anything_is_sent(
    sim: Simulator, run: ModuleRunner, options: dict[str, Any], message: str
) -> None:
    before = sim.records("volume")
    for check in (True, False):
        ran = run("volume", options, check=check)
        assert message in ran.message
        assert ran.calls == []
    assert sim.records("volume") == before


def test_data_volume_with_the_name_of_a_root_volume_is_selected(sim: Simulator, run: ModuleRunner) -> None:
    sim.change("volume", DATA, name="root-of-vm-1")
    ran = run("volume", {"name": "root-of-vm-1", "size": "500G"})
    assert (ran.calls, ran["volume"]["uuid"]) == (["ResizeDataVolume"], DATA)


def test_attached_volume_is_deleted_with_force_and_the_vm_is_named(sim: Simulator, run: ModuleRunner) -> None:
    ran = play(run, {"uuid": DATA, "state": "absent", "force": True})
    assert ran["detached_from"] == [{"uuid": VM, "name": "vm-1"}]
    assert any("1 VM was without it: vm-1" in warning for warning in ran.warnings)


def test_vm_that_has_crashed_takes_no_volume(sim: Simulator, run: ModuleRunner) -> None:
    sim.change("vm", VM, state="Crashed")
    checked, ran = run("volume", {**LOGS, "vm": "vm-1"}, check=True), run("volume", {**LOGS, "vm": "vm-1"})
    for each in (checked, ran):
        assert (
            "the VM vm-1 is Crashed, and AttachDataVolumeToVm needs a VM that is Running, Stopped or Paused. "
            in each.message
        )
    assert ran.calls == []


def test_deleted_volume_of_the_name_does_not_prevent_a_new_one(sim: Simulator, run: ModuleRunner) -> None:
    play(run, LOGS)
    play(run, {"name": "logs", "state": "absent"})
    play(run, LOGS)
    statuses = sorted(volume["status"] for volume in sim.records("volume") if volume["name"] == "logs")
    assert statuses == ["Deleted", "NotInstantiated"]


@pytest.mark.parametrize("status", [500, 403])
def test_volumes_that_cannot_be_read_are_not_absent(sim: Simulator, run: ModuleRunner, status: int) -> None:
    before = sim.records("volume")
    sim.fault("status", "QueryVolume", status=status, count=None)
    for options in (LOGS, {"name": "logs", "state": "absent"}, {"uuid": DATA, "state": "absent", "force": True}):
        ran = run("volume", options, request_retries=0, api_token=None)
        assert ran.failed
    assert sim.records("volume") == before


def test_volume_of_a_vm_that_cannot_be_read_is_deleted_with_force_only(sim: Simulator, run: ModuleRunner) -> None:
    sim.configure(missing_operations=["QueryVmInstance"])
    refused = run("volume", {"uuid": DATA, "state": "absent"})
    assert "DeleteDataVolume was not called: cannot read the VM" in refused.message
    assert "Set force: true" in refused.message
    assert refused.calls == []
    assert run("volume", {"uuid": DATA, "state": "absent", "force": True}).changed
