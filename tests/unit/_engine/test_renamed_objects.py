"""Somebody else renames an object while a task is about to change it, or changes it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.plugin_utils._batch.batch import run_objects

from simulator.launch import Simulator
from simulator.state.store import seeded_uuid
from support.module_runner import ModuleRun, run_module

VM = seeded_uuid("vm", 1)
DATA_VOLUME = "a0000007000040008000000000000002"
REMOVAL = {"name": "vm-1", "state": "absent", "data_volumes": "delete"}
Play = Callable[..., ModuleRun]


@pytest.fixture(params=["alone", "in a batch"])
def play(request: pytest.FixtureRequest, sim: Simulator) -> Play:
    """Run the module vm, and call ``event`` before the first request that follows a request of ``operation``."""

    def run(options: dict[str, Any], operation: str = "", event: Callable[[], None] = lambda: None) -> ModuleRun:
        sim.clear_log()
        has_happened: list[bool] = []

        def before_send() -> None:
            if operation in [entry["operation"] for entry in sim.log()] and not has_happened:
                has_happened.append(True)
                event()

        connection = {"base_url": sim.url, "session_id": sim.session, "api_token": sim.token}
        if request.param == "alone":
            outcome = run_module("vm", {**connection, **options}, before_send=before_send)
            result = outcome.result
        else:
            outcome = run_module(
                "batch",
                {**connection, "module": "vm", "objects": [options]},
                run=partial(run_objects, lambda name: {}),
                before_send=before_send,
            )
            result = outcome.result["results"][0]
        assert bool(has_happened) is bool(operation)
        return ModuleRun(result, outcome.warnings, sim.log())

    return run


def get_state(sim: Simulator, uuid: str) -> str:
    return str(next((vm["state"] for vm in sim.records("vm") if vm["uuid"] == uuid), "gone"))


def list_volumes(sim: Simulator) -> set[str]:
    """Return the states of the data volumes of the VM."""
    return {
        volume["status"]
        for volume in sim.records("volume")
        if VM in (volume["vmInstanceUuid"], volume["lastVmInstanceUuid"]) and volume["type"] == "Data"
    }


# The last requests before the call: the probe of a later call, and what goes with the VM.
@pytest.mark.parametrize("operation", ["DeleteDataVolume", "QueryVolumeSnapshotGroup"])
@pytest.mark.parametrize("others", [{}, {"description": "database"}])
def test_vm_that_was_renamed_before_the_call_is_not_destroyed(
    sim: Simulator, play: Play, operation: str, others: dict[str, str]
) -> None:
    sim.change("vm", VM, description="database")
    ran = play({**REMOVAL, **others}, operation, lambda: sim.change("vm", VM, name="prod-db"))
    assert (ran.failed, ran.changed, ran["error"]["code"]) == (True, False, "UNCHANGEABLE")
    assert f"name of the vm {VM} was 'vm-1' when the task began, and is 'prod-db' now" in ran.message
    assert ran.message.endswith(
        f"Nothing was removed. If it is the right one, run the task again with uuid: {VM} in place of its name."
    )
    assert "DestroyVmInstance" not in ran.calls
    assert (get_state(sim, VM), list_volumes(sim)) == ("Running", {"Ready"})


def test_all_options_are_compared_again(sim: Simulator, play: Play) -> None:
    options = {**REMOVAL, "uuid": VM, "description": "test"}
    sim.change("vm", VM, description="test")
    ran = play(options, "DeleteDataVolume", lambda: sim.change("vm", VM, description="database"))
    assert "description (is 'database', should be 'test')" in ran.message
    assert ran.message.endswith("Nothing was removed. Correct the options.")
    assert get_state(sim, VM) == "Running"


@pytest.mark.parametrize("is_found_again", [True, False])
def test_rename_during_the_removal(sim: Simulator, play: Play, is_found_again: bool) -> None:
    """The message names the call that was made, and a second run removes what is left, or the message names it."""
    if is_found_again:
        sim.change("volume", DATA_VOLUME, lastDetachDate=None)
    ran = play(REMOVAL, "DestroyVmInstance", lambda: sim.change("vm", VM, name="prod-db"))
    assert (ran.failed, ran.changed, ran["done"]) == (True, True, ["DestroyVmInstance"]), ran.result
    assert "Nothing was removed" not in ran.message
    assert "Nothing further was removed after DestroyVmInstance. If it is the right one" in ran.message
    assert (get_state(sim, VM), list_volumes(sim)) == ("Destroyed", {"Ready"})
    assert (f"Then remove {DATA_VOLUME} with the module api" in ran.message) is not is_found_again
    second = play({"uuid": VM, "state": "absent", "data_volumes": "delete"})
    assert (second.failed, second.changed) == (False, is_found_again), second.message
    assert list_volumes(sim) == ({"Deleted"} if is_found_again else {"Ready"})


def test_name_is_not_taken_back_after_a_call(sim: Simulator, play: Play) -> None:
    """The VM was started under the name of the options, and then somebody else gave it another name."""
    sim.change("vm", VM, state="Stopped")
    ran = play({"name": "vm-1", "state": "running"}, "StartVmInstance", lambda: sim.change("vm", VM, name="prod-db"))
    assert "is 'prod-db' now" in ran.message
    assert next(vm["name"] for vm in sim.records("vm") if vm["uuid"] == VM) == "prod-db"


def test_vm_that_is_renamed_before_a_retry_is_not_destroyed(sim: Simulator, play: Play) -> None:
    """An overloaded service refuses the first call, and asks to wait."""
    sim.fault("status", "DestroyVmInstance", status=429)
    ran = play({"name": "vm-1", "state": "absent"}, "DestroyVmInstance", lambda: sim.change("vm", VM, name="x"))
    assert "is 'x' now" in ran.message
    assert ran.message.count("Nothing was removed.") == 1
    assert get_state(sim, VM) == "Running"
