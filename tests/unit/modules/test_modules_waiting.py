"""The option ``wait_for`` of the modules that list records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._modules.run import ModuleResult
from conftest import FakeClock

from simulator.launch import Simulator
from support.collection import MODULES, load_spec
from support.module_runner import run_module

VM_STATE = {"field": "state", "values": ["Running"]}
WAITING = [name for name in sorted(MODULES) if "query" in load_spec(name).options]


class ActingClock(FakeClock):
    """A clock that performs actions at their times, in seconds from the beginning."""

    def __init__(self, **actions: Callable[[], Any]) -> None:
        super().__init__()
        self.actions = {self.now + int(at.removeprefix("at_")): action for at, action in actions.items()}

    def sleep(self, seconds: float) -> None:
        """Advance the clock and perform the actions that are due."""
        super().sleep(seconds)
        for at in [at for at in self.actions if at <= self.now]:
            self.actions.pop(at)()

    @property
    def waited(self) -> float:
        """How many seconds have passed."""
        return self.now - 1000


def read(sim: Simulator, name: str, options: dict[str, Any], check: bool = False, **hooks: Any) -> ModuleResult:
    """Run a module that lists records."""
    sim.clear_log()
    connection = {"base_url": sim.url, "session_id": sim.session}
    outcome = run_module(name, {**connection, **options}, check, **hooks)
    assert {entry["method"] for entry in sim.log()} <= {"GET"}
    return outcome


def stop_vms(sim: Simulator, count: int = 1) -> list[dict[str, Any]]:
    """Make the first VMs stopped ones, and return them."""
    vms = sim.records("vm")[:count]
    for vm in vms:
        sim.change("vm", vm["uuid"], state="Stopped")
    return vms


def test_every_listing_can_wait() -> None:
    options = {name: load_spec(name).options.get("wait_for", {}) for name in sorted(MODULES)}
    assert [name for name, option in options.items() if option.get("type") == "dict"] == WAITING != []


def test_awaited_state_ends_the_wait(sim: Simulator) -> None:
    (vm,) = stop_vms(sim)
    clock = ActingClock(at_40=lambda: sim.change("vm", vm["uuid"], state="Running"))
    outcome = read(sim, "vm_info", {"name": vm["name"], "wait_for": VM_STATE}, clock=clock)
    (found,) = outcome.result["vms"]
    assert (found["state"], outcome.result["total"], outcome.result["changed"]) == ("Running", 1, False)
    assert outcome.warnings == []
    assert 40 <= clock.waited < 46


def test_state_that_is_reached_needs_one_read(sim: Simulator) -> None:
    clock = ActingClock()
    read(sim, "host_info", {"wait_for": {"field": "status", "values": ["connected"]}}, clock=clock)
    assert (len(sim.log()), clock.slept) == (1, [])


@pytest.mark.parametrize("field", ["management_ip", "managementIp"])
def test_field_has_either_name(sim: Simulator, field: str) -> None:
    host = sim.records("host")[0]
    awaited = {"field": field, "values": ["192.0.2.1", host["managementIp"]]}
    assert read(sim, "host_info", {"uuid": host["uuid"], "wait_for": awaited}).result["total"] == 1


@pytest.mark.parametrize("goal", [{"exists": True}, {"field": "state", "values": ["Enabled"]}])
def test_object_that_does_not_exist_yet(sim: Simulator, goal: dict[str, Any]) -> None:
    host = sim.records("host")[0]
    clock = ActingClock(at_20=lambda: sim.change("host", host["uuid"], name="late"))
    outcome = read(sim, "host_info", {"name": "late", "wait_for": goal}, clock=clock)
    assert [found["uuid"] for found in outcome.result["hosts"]] == [host["uuid"]]
    assert clock.waited >= 20


def test_all_selected_records_are_awaited(sim: Simulator) -> None:
    first, second = stop_vms(sim, 2)
    clock = ActingClock(
        at_10=lambda: sim.change("vm", first["uuid"], state="Running"),
        at_30=lambda: sim.change("vm", second["uuid"], state="Running"),
    )
    query = [f"uuid?={first['uuid']},{second['uuid']}"]
    outcome = read(sim, "vm_info", {"query": query, "wait_for": VM_STATE}, clock=clock)
    assert [vm["state"] for vm in outcome.result["vms"]] == ["Running", "Running"]
    assert clock.waited >= 30


def test_absence_ends_the_wait(sim: Simulator) -> None:
    vm = sim.records("vm")[0]
    clock = ActingClock(at_15=lambda: sim.change("vm", vm["uuid"], state="Destroyed"))
    options = {"name": vm["name"], "query": ["state!=Destroyed"], "wait_for": {"exists": False}}
    outcome = read(sim, "vm_info", options, clock=clock)
    assert (outcome.result["vms"], outcome.result["total"]) == ([], 0)
    assert clock.waited >= 15


def test_timeout_names_the_state_and_returns_the_record(sim: Simulator) -> None:
    (vm,) = stop_vms(sim)
    clock = ActingClock()
    goal = {"field": "state", "values": ["Running", "Paused"], "timeout": 60}
    result = read(sim, "vm_info", {"name": vm["name"], "wait_for": goal}, clock=clock).result
    assert result["msg"] == (
        f"VM {vm['name']}: state is Stopped after 60 s of waiting for state Running or Paused. Check the VM, or"
        " increase wait_for.timeout."
    )
    assert (result["failed"], result["error"]["code"], result["changed"]) == (True, "TIMEOUT", False)
    assert [found["state"] for found in result["vms"]] == ["Stopped"]
    assert clock.waited == pytest.approx(60)


def test_timeout_names_some_of_many_records(sim: Simulator) -> None:
    sim.reset(hosts=8)
    goal = {"field": "status", "values": ["Disconnected"], "timeout": 1}
    message = read(sim, "host_info", {"wait_for": goal}, clock=FakeClock()).result["msg"]
    assert message.startswith("host host-1: status is Connected, host host-2: status is Connected, ")
    assert " (and 3 more) after 1 s of waiting for status Disconnected." in message


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": "none"}, "host none: no such host after 2 s of waiting for existence."),
        ({"query": ["name=none"]}, "no host is selected after 2 s of waiting for existence."),
        (
            {"name": "host-1", "wait_for": {"exists": False, "timeout": 2}},
            "host host-1 exists after 2 s of waiting for absence.",
        ),
    ],
)
def test_timeout_of_existence_and_absence(sim: Simulator, options: dict[str, Any], message: str) -> None:
    options = {"wait_for": {"exists": True, "timeout": 2}, **options}
    result = read(sim, "host_info", options, clock=FakeClock()).result
    assert result["msg"] == f"{message} Check the host, or increase wait_for.timeout."
    assert (len(result["hosts"]), result["error"]["code"]) == (result["total"], "TIMEOUT")


def test_timeout_of_the_absence_of_a_deleted_object_that_stays_listed(sim: Simulator) -> None:
    vm = sim.records("vm")[0]
    sim.change("vm", vm["uuid"], state="Destroyed")
    options = {"name": vm["name"], "wait_for": {"exists": False, "timeout": 2}}
    assert read(sim, "vm_info", options, clock=FakeClock()).result["msg"] == (
        f"VM {vm['name']} exists with state Destroyed after 2 s of waiting for absence. Check the VM, or increase"
        " wait_for.timeout. Services list a deleted VM for some time. To leave it out, add query:"
        " ['state!?=Destroyed,Expunging']."
    )
    assert read(sim, "vm_info", {**options, "query": ["state!?=Destroyed,Expunging"]}).result["vms"] == []


@pytest.mark.parametrize("exists", [True, False])
def test_wait_for_an_object_whose_uuid_is_given_as_its_name(sim: Simulator, exists: bool) -> None:
    """The wait for its absence ends at once, although the object exists."""
    uuid = sim.records("host")[0]["uuid"]
    wait_for = {"exists": exists, "timeout": 2}
    outcome = read(sim, "host_info", {"name": uuid, "wait_for": wait_for}, clock=FakeClock())
    assert outcome.result["hosts"] == []
    assert outcome.warnings == [f"name '{uuid}' looks like a uuid. Write uuid: {uuid}."]
    outcome = read(sim, "host_info", {"query": [f"name={uuid}"], "wait_for": wait_for}, clock=FakeClock())
    assert [warning.partition("Write ")[2] for warning in outcome.warnings] == [f"uuid={uuid}."]


def test_check_mode_does_not_wait(sim: Simulator) -> None:
    (vm,) = stop_vms(sim)
    clock = ActingClock()
    outcome = read(sim, "vm_info", {"name": vm["name"], "wait_for": VM_STATE}, check=True, clock=clock)
    assert outcome.warnings == [f"VM {vm['name']}: state is Stopped. Check mode does not wait for state Running."]
    assert ([found["state"] for found in outcome.result["vms"]], clock.slept) == (["Stopped"], [])
    sim.change("vm", vm["uuid"], state="Running")
    assert read(sim, "vm_info", {"name": vm["name"], "wait_for": VM_STATE}, check=True).warnings == []


@pytest.mark.parametrize(
    ("wait_for", "message"),
    [
        (
            {"field": "stat", "values": ["Enabled"]},
            "wait_for: the records have no field stat. Did you mean state?",
        ),
        ({"field": "managmentIp", "values": ["x"]}, "no field managmentIp. Did you mean management_ip?"),
        ({"field": "zzz", "values": ["x"]}, "no field zzz. The fields are uuid, name, description, zone_uuid,"),
        (
            {"field": "state", "values": ["Connected"]},
            "wait_for: Connected is a value of status, not of state. Give status as field. The documented values of",
        ),
        (
            {"field": "state", "values": ["connected", "Disconnected"]},
            "wait_for: connected and Disconnected are values of status, not of state. Give status as field.",
        ),
        ({"field": "state", "values": []}, "wait_for.values must not be empty"),
        ({"field": "state", "values": [" "]}, "wait_for.values must not be empty"),
        ({"field": None, "values": None}, "wait_for needs field or exists"),
        ({"exists": True, "timeout": -1}, "wait_for.timeout must not be negative"),
        ({"exists": True, "interval": 0}, "wait_for.interval must be at least 0.05 seconds"),
    ],
)
def test_invalid_wait_is_not_begun(sim: Simulator, wait_for: dict[str, Any], message: str) -> None:
    result = read(sim, "host_info", {"wait_for": wait_for}).result
    assert message in result["msg"]
    assert (result["error"]["code"], sim.log()) == ("INVALID", [])


@pytest.mark.parametrize(
    ("values", "hint"),
    [
        (["Connected", "Enabled"], "It is one of status. The documented"),
        (["Connected", "Novel"], "It is one of status. The documented"),
        (["Novel"], "The documented"),
    ],
)
def test_a_state_that_may_be_new_is_awaited(sim: Simulator, values: list[str], hint: str) -> None:
    """A later service may have it. The warning names the field that has it today."""
    wait_for = {"field": "state", "values": values, "timeout": 1}
    outcome = read(sim, "host_info", {"wait_for": wait_for}, clock=FakeClock())
    problem = f"wait_for: {values[0]!r} is not a documented value of state. {hint} values are Enabled, "
    assert [warning[: len(problem)] for warning in outcome.warnings] == [problem]


def test_field_with_several_values_is_refused(sim: Simulator) -> None:
    result = read(sim, "vm_info", {"wait_for": {"field": "vm_nics", "values": ["x"]}}, clock=FakeClock()).result
    assert result["msg"] == "wait_for: vm_nics contains several values. Give a field with a single value."


def test_undocumented_value_warns(sim: Simulator) -> None:
    wait_for = {"field": "state", "values": ["Runing"], "timeout": 0}
    outcome = read(sim, "vm_info", {"name": "vm-1", "wait_for": wait_for}, clock=FakeClock())
    warning = "wait_for: 'Runing' is not a documented value of state. Did you mean Running?"
    assert outcome.warnings[0].startswith(warning)


def test_field_without_a_value_does_not_end_the_wait(sim: Simulator) -> None:
    (vm,) = stop_vms(sim)
    sim.change("vm", vm["uuid"], hostUuid=None)
    wait_for = {"field": "host_uuid", "values": ["None"], "timeout": 1}
    result = read(sim, "vm_info", {"name": vm["name"], "wait_for": wait_for}, clock=FakeClock()).result
    assert "host_uuid is None after 1 s" in result["msg"]


def test_failed_read_does_not_end_the_wait(sim: Simulator) -> None:
    (vm,) = stop_vms(sim)
    options = {"name": vm["name"], "wait_for": VM_STATE, "request_retries": 0}

    def break_down() -> None:
        sim.fault("status", "QueryVmInstance", status=502, count=2)
        sim.change("vm", vm["uuid"], state="Running")

    outcome = read(sim, "vm_info", options, clock=ActingClock(at_5=break_down))
    assert [found["state"] for found in outcome.result["vms"]] == ["Running"]
    sim.change("vm", vm["uuid"], state="Stopped")
    clock = ActingClock(at_290=lambda: sim.fault("status", "QueryVmInstance", status=502, count=None))
    result = read(sim, "vm_info", options, clock=clock).result
    assert "state is Stopped after 300 s" in result["msg"]
    assert "The last read failed: " in result["msg"]
    sim.clear_faults()


def test_refused_read_ends_the_wait(sim: Simulator) -> None:
    stop_vms(sim)
    clock = ActingClock(at_5=lambda: sim.fault("session_expiry"))
    result = read(sim, "vm_info", {"name": "vm-1", "wait_for": VM_STATE}, clock=clock).result
    assert result["error"]["code"] == "ID.1001"
    assert clock.waited < 15


def test_wait_shows_progress(sim: Simulator) -> None:
    stop_vms(sim)
    lines: list[str] = []
    wait_for = {**VM_STATE, "timeout": 30, "interval": 1}
    read(sim, "vm_info", {"name": "vm-1", "wait_for": wait_for}, clock=FakeClock(), on_progress=lines.append)
    assert len(lines) == 2
    assert lines[0].startswith("still waiting for state Running of VM vm-1, 10 s, at most ")
    read(sim, "vm_info", {"wait_for": wait_for}, clock=FakeClock(), on_progress=lines.append)
    assert lines[2].startswith("still waiting for state Running of the vms, 10 s, at most ")


def test_an_unknown_value_is_doubted_before_the_wait(sim: Simulator) -> None:
    (vm,) = stop_vms(sim)
    wait_for = {"field": "state", "values": ["Off"], "timeout": 30, "interval": 1}
    lines: list[str] = []
    options = {"name": "vm-1", "wait_for": wait_for}
    waited = read(sim, "vm_info", options, clock=FakeClock(), on_progress=lines.append)
    assert [lines[0]] == waited.warnings
    assert lines[0].startswith("wait_for: 'Off' is not a documented value of state.")
    assert lines[1].startswith("still waiting")
    sim.change("vm", vm["uuid"], state="Off")
    lines.clear()
    met = read(sim, "vm_info", options, clock=FakeClock(), on_progress=lines.append)
    assert (len(met.result["vms"]), len(met.warnings), lines) == (1, 1, [])


def test_wait_by_a_cursor_query(sim: Simulator) -> None:
    (vm,) = stop_vms(sim)
    clock = ActingClock(at_10=lambda: sim.change("vm", vm["uuid"], state="Running"))
    options = {"session_id": None, "api_token": sim.token, "name": vm["name"], "wait_for": VM_STATE}
    for name, member, extra in (("vm_info", "vms", {}), ("resource_info", "resources", {"resource_type": "vm"})):
        outcome = read(sim, name, {**options, **extra}, clock=clock)
        assert [found["state"] for found in outcome.result[member]] == ["Running"]
    assert clock.waited >= 10


def test_wait_for_other_types(sim: Simulator) -> None:
    """The fields are those of the listed type, also where the module adds members to the records."""
    enabled = {"field": "state", "values": ["Enabled"], "timeout": 1}
    for name, options in (
        ("sns_endpoint_info", {"wait_for": enabled}),
        ("sns_endpoint_info", {"type": "workchat", "wait_for": {"exists": False}}),
        ("resource_info", {"resource_type": "platform", "wait_for": enabled}),
        ("sns_topic_subscriber_info", {"wait_for": {"exists": True}}),
        ("cbt_task_info", {"vm": sim.records("vm")[0]["name"], "wait_for": {"exists": False}}),
    ):
        sim.reset(cbt_tasks=0)
        assert "failed" not in read(sim, name, options, clock=FakeClock()).result
