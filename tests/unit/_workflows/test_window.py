"""The time after which a role begins nothing new."""

from __future__ import annotations

from datetime import datetime
from itertools import count

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._api.errors import InvalidOptions
from ansible_collections.virtinfra.manager.plugins.plugin_utils._workflows import window as _window
from ansible_collections.virtinfra.manager.plugins.plugin_utils._workflows.site import Site
from ansible_collections.virtinfra.manager.plugins.plugin_utils._workflows.window import Window, read_seconds

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


def test_a_batch_begins_nothing_new(sim: Simulator, work: WorkflowRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    """What has begun ends, and the others are named with the reason."""
    close(monkeypatch, 2)
    batch = Site.batch

    def limited(self: Site, module: str, objects: list[dict[str, str]], dummy: int, **options: str) -> object:
        window = Window(self.get_time, "vm_restore", "1h")
        return batch(self, module, objects, 1, None, window, **options)

    monkeypatch.setattr(Site, "batch", limited)
    sim.reset(vms=1, snapshot_groups=1)
    (group,) = sim.records("snapshotgroup")
    vms = [{"name": name, "snapshot_group": group["uuid"]} for name in ("a", "b", "c", "d")]
    ran = work("vm_restore", {"vm_restore_vms": vms})
    assert ran.outcomes == ["changed", "changed", "failed", "failed"]
    assert "2 of 4 VMs failed: c, d: It was not begun, because vm_restore_not_after (1h) was over" in ran.message


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
