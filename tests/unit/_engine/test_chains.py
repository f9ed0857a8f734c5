"""Several calls that lead to one state: here a VM is stopped, and then started, which no record shows afterwards."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._api.records import Record
from ansible_collections.virtinfra.manager.plugins.module_utils._client.stores import MemoryStore
from ansible_collections.virtinfra.manager.plugins.module_utils._engine.current import Current
from ansible_collections.virtinfra.manager.plugins.module_utils._engine.plan import build_call
from ansible_collections.virtinfra.manager.plugins.module_utils._engine.spec import (
    PlannedCall,
    ResourceSpec,
    StateTransition,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._http.connection import ConnectionOptions
from ansible_collections.virtinfra.manager.plugins.module_utils._modules.resource import resource_module
from ansible_collections.virtinfra.manager.plugins.module_utils._resources.finders import find_by_type

from simulator.launch import Simulator
from support.module_runner import ModuleRun, run_spec

VM = "a0000004000040008000000000000001"
NO_RIGHT = {"code": "ID.1002", "details": "permission denied"}

Run = Callable[..., ModuleRun]


def plan_restart(resource: ResourceSpec, state: str, desired: Record, current: Current) -> list[PlannedCall]:
    """Plan the stop of a VM, unless it is stopped, and its start."""
    vm = current.record
    stopped, running = {**(vm or {}), "state": "Stopped"}, {**(vm or {}), "state": "Running"}
    start = build_call(resource, "StartVmInstance", desired, stopped, running)
    if vm and vm["state"] == "Stopped":
        return [start]
    stop = build_call(resource, "StopVmInstance", desired, vm, stopped)
    return [call._replace(is_visible=False) for call in (stop, start)]


RESTARTED = ResourceSpec(
    record_type="VmInstanceInventory",
    result_key="vm",
    find=find_by_type("vm", "uuid", "name"),
    transitions={"restarted": StateTransition("StartVmInstance", "state", ("Running",))},
    transitional_values={"state": ("Starting", "Stopping")},
    plan=plan_restart,
)
MODULE = resource_module(
    RESTARTED,
    {"state": {"type": "str", "default": "restarted"}, "uuid": {"type": "str"}, "type": {"type": "str"}},
)


@pytest.fixture
def run(sim: Simulator) -> Run:
    def play(check: bool = False, store: MemoryStore | None = None, **options: Any) -> ModuleRun:
        sim.clear_log()
        connection = {"base_url": sim.url, "session_id": sim.session, "uuid": VM}
        shared: dict[str, Any] = {"new_store": lambda dummy: store} if store else {}
        outcome = run_spec(MODULE, {**connection, **options}, check, **shared)
        return ModuleRun(outcome.result, outcome.warnings, sim.log())

    return play


def paths(ran: ModuleRun) -> list[str]:
    """Return the uuids of the VMs that were called."""
    return [entry["path"].split("/")[-2] for entry in ran.log if entry["method"] == "PUT"]


def test_later_operation_is_tried_first_with_a_vm_that_does_not_exist(run: Run, sim: Simulator) -> None:
    ran = run()
    assert (ran.changed, ran.calls) == (True, ["StartVmInstance", "StopVmInstance", "StartVmInstance"])
    other, *own = paths(ran)
    assert other not in [vm["uuid"] for vm in sim.records("vm")]
    assert own == [VM, VM]
    assert "done" not in ran.result
    assert ran["vm"]["state"] == "Running"


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        ({"fault": "status", "status": 404, "form": "plain"}, "UNSUPPORTED"),
        ({"fault": "status", "status": 503, "form": "error", "error": NO_RIGHT}, "ID.1002"),
    ],
)
def test_nothing_is_changed_if_a_later_operation_is_not_possible(
    run: Run, sim: Simulator, fault: Mapping[str, Any], code: str
) -> None:
    sim.fault(operation="StartVmInstance", count=None, **fault)
    ran = run()
    assert (ran.failed, ran.changed, ran.calls) == (True, False, ["StartVmInstance"])
    assert ran["error"]["code"] == code
    assert ran.message.startswith("vm a0000004000040008000000000000001: ")
    assert [vm["state"] for vm in sim.records("vm") if vm["uuid"] == VM] == ["Running"]


def test_single_operation_is_not_tried(run: Run, sim: Simulator) -> None:
    sim.change("vm", VM, state="Stopped", hostUuid=None)
    assert run().calls == ["StartVmInstance"]


def test_check_mode_tries_nothing(run: Run) -> None:
    ran = run(check=True)
    assert (ran.changed, ran.calls, ran["vm"]["state"]) == (True, [], "Running")


@pytest.mark.parametrize("fault", ["drop_after", "drop_before", "duplicate"])
def test_invisible_call_is_made_once(run: Run, sim: Simulator, fault: str) -> None:
    """Start is idempotent, so it may be sent again; the VM is stopped only once."""
    sim.fault(fault, "StartVmInstance", skip=1)
    ran = run()
    assert not ran.failed, ran.message
    assert ran.calls.count("StopVmInstance") == 1
    assert ran["vm"]["state"] == "Running"


def test_rest_of_the_calls_is_made_after_a_state_that_changes_by_itself(run: Run, sim: Simulator) -> None:
    sim.configure(latencies={"StopVmInstance": 0.05})
    ran = run(wait_interval=0.1)
    assert ran.calls[1:] == ["StopVmInstance", "StartVmInstance"]


def test_check_mode_knows_what_an_earlier_task_found_out(run: Run, sim: Simulator) -> None:
    store = MemoryStore(ConnectionOptions.from_params({"base_url": sim.url}))
    sim.fault("status", "StartVmInstance", status=404, form="plain", count=None)
    assert run(check=True, store=store).changed
    failed = run(store=store)
    assert failed["error"]["code"] == "UNSUPPORTED"
    assert run(check=True, store=store).message == failed.message
    sim.clear_faults()
    assert not run(store=store).failed, "a run asks again"
