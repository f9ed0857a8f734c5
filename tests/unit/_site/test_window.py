"""The time after which a role begins nothing new."""

from __future__ import annotations

from datetime import datetime
from itertools import count
from pathlib import Path

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._api.errors import InvalidOptions
from ansible_collections.virtinfra.manager.plugins.plugin_utils._site import window as _window
from ansible_collections.virtinfra.manager.plugins.plugin_utils._site.window import Window, read_seconds

from chaos.workflows import BACKED_UP, Stage, Work
from simulator.launch import Simulator
from support.workflow_runner import WorkflowRunner, run_for_host

NIGHT = datetime(2026, 11, 28, 23, 30)


@pytest.mark.parametrize(
    ("value", "hours"),
    [("5:30", 6), ("23:00", -0.5), ("23:45", 0.25), ("13:00", -10.5), ("2h", 2), ("90m", 1.5), (" 36s ", 0.01)],
)
def test_the_nearest_time_of_day_and_durations(value: str, hours: float) -> None:
    """A run that begins after the end does not have the time until the next day."""
    assert read_seconds("x_not_after", value, NIGHT) == hours * 3600


@pytest.mark.parametrize("value", ["24:00", "5", "19800", "2 h", "", "05:30:00", "soon"])
def test_other_values_are_refused(value: str) -> None:
    """YAML makes a number of 05:30 without quotes."""
    with pytest.raises(
        InvalidOptions, match="x_not_after must be a time of day such as 05:30, in quotes, or a duration"
    ):
        read_seconds("x_not_after", value, NIGHT)


def test_all_tasks_of_a_run_share_the_end() -> None:
    """A duration counts from the first task of the role, and the next host does not have it again."""
    time = count(1000.0, 3000.0)
    first = Window(lambda: next(time), "a_role", "2h")
    assert [Window(lambda: next(time), "a_role", "2h").is_open(), first.is_open()] == [True, False]
    assert Window(lambda: 0.0, "a_role", None).is_open()


def close(monkeypatch: pytest.MonkeyPatch, begun: int) -> None:
    """Let the time be over after so many questions whether it is."""
    asked = count()
    monkeypatch.setattr(_window.Window, "is_open", lambda dummy: next(asked) < begun)


@pytest.mark.parametrize("state", ["stopped", "running"])
def test_vms_are_not_begun_after_the_end(
    sim: Simulator, work: WorkflowRunner, monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    """What has begun ends. The others are named with the reason, and have no mark."""
    sim.reset(vms=5, user_tags=0)
    for vm in sim.records("vm"):
        sim.change("vm", vm["uuid"], state="Stopped" if state == "running" else "Running")
    close(monkeypatch, 2)
    groups = [{"name": "all", "vms": [f"vm-{number}" for number in (1, 2, 3, 4)]}, {"name": "db", "vms": ["vm-5"]}]
    given = {"state": state, "groups": groups[:: 1 if state == "stopped" else -1], "concurrency": 1, "not_after": "1h"}
    ran = work("vm_power", {f"vm_power_{name}": value for name, value in given.items()})
    assert ran.outcomes == ["changed", "changed", "failed", "failed", "skipped"]
    assert "2 of 5 VMs failed: vm-3, vm-4: It was not begun, because vm_power_not_after (1h) was over" in ran.message
    marked = sorted(tag["resourceUuid"] for tag in sim.records("usertag"))
    assert marked == ([entry["vm_uuid"] for entry in ran.report[:2]] if state == "stopped" else [])


def test_no_backup_session_is_opened_after_the_end(
    sim: Simulator, work: WorkflowRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    close(monkeypatch, 0)
    stage = Stage(sim, Work("vm_backup", {**BACKED_UP, "not_after": "05:30"}, {"vms": 2}), "honours job ids", Path("/"))
    for vm in sim.records("vm"):
        sim.change("vm", vm["uuid"], state="Running")
    ran = stage.run()
    assert ran.outcomes == ["failed", "failed"]
    assert "It was not begun, because vm_backup_not_after (05:30) was over" in ran.message
    assert "CreateCbtTask" not in ran.calls


def test_no_maintenance_begins_after_the_end(
    sim: Simulator, work: WorkflowRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    close(monkeypatch, 0)
    given = {"tasks": "t.yml", "not_after": "05:30"}
    checked = run_for_host(work, "host_maintenance", "host-1", given, step="check")
    entered = run_for_host(work, "host_maintenance", "host-1", given, step="enter", given=checked.result["next"])
    later = {"variables": checked.result["next"]["variables"], "entered": entered.result["next"], "failure": None}
    left = run_for_host(work, "host_maintenance", "host-1", given, step="leave", given=later)
    assert (entered.calls, left.calls, left.outcomes) == ([], [], ["failed"])
    assert (
        "was not put into maintenance. It was not begun, because host_maintenance_not_after (05:30) was" in left.message
    )


def test_a_wrong_time_is_refused_before_anything_is_read(work: WorkflowRunner) -> None:
    given = {"tasks": "t.yml", "not_after": "25:00"}
    for_host = run_for_host(work, "host_maintenance", "host-1", given, step="check")
    assert "host_maintenance_not_after must be a time of day such as 05:30" in for_host.message
    assert for_host.calls == []
