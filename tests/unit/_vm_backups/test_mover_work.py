"""What is shown of a module that works for hours on a data mover, and when it counts as lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.virtinfra.manager.plugins.plugin_utils._vm_backups.mover_work import (
    LONGEST_UNKNOWN,
    LOST,
    PATIENCE,
    run_long,
)
from ansible_collections.virtinfra.manager.plugins.plugin_utils._vm_backups.progress import LATEST, SOONEST

DONE = {"changed": True, "volumes": []}
UNREACHABLE = {"failed": True, "unreachable": True, "msg": "no route"}
WRITING = {
    "vm_uuid": "u",
    "volume_uuid": "v",
    "step": "restore",
    "bytes_done": 1 << 20,
    "bytes_total": 4 << 20,
    "bytes_per_second": 1 << 18,
    "seconds_left": 12.0,
}


class Mover:
    """A data mover with a module that ends after some seconds, for which a watcher waits. The clock does not wait."""

    def __init__(self, ends: float, touched: Mapping[str, Any]) -> None:
        self.now, self._ends, self._touched = 0.0, ends, touched
        self.lines: list[str] = []
        self.pauses: list[float] = []
        self.started: Mapping[str, Any] = {"ansible_job_id": "j1"}

    def run(self, module: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the result of a module."""
        raise AssertionError(module)

    def start(self, module: str, arguments: Mapping[str, Any], timeout: int, folder: str) -> dict[str, Any]:
        """Start the module."""
        assert (module, arguments, folder) == ("backup_restore", {"point": "p"}, "/srv/jobs")
        return dict(self.started)

    def look(self, job: str, folder: str) -> dict[str, Any]:
        """Return the result of the job."""
        assert (job, folder) == ("j1", "/srv/jobs")
        return dict(DONE) if self.now >= self._ends else {}

    def run_command(self, command: Sequence[str], environment: Mapping[str, str]) -> dict[str, Any]:
        """Return the result of a command."""
        raise AssertionError(command)

    def get_time(self) -> float:
        """Return the time."""
        return self.now

    def pause(self, seconds: float) -> None:
        """Let time go by."""
        self.pauses.append(seconds)
        self.now += seconds

    def show(self, line: str) -> None:
        """Show a line."""
        self.lines.append(line)

    def __call__(self) -> dict[str, Any]:
        """Run the module, and return its result."""
        return run_long(self, self, "backup_restore", {"point": "p"}, "db-1", "/srv/jobs", lambda: dict(self._touched))


def test_each_look_shows_how_far_it_is() -> None:
    mover = Mover(20, {"running": [WRITING]})
    assert mover() == DONE
    assert set(mover.lines) == {"db-1: restore of volume v: 25% of 4.0 MiB, 256.0 KiB/s, 12 s left"}
    # Half of the time that is left, as far as it is known.
    assert mover.pauses == [1.0, 6.0, 6.0, 6.0, 6.0]
    assert len(mover.lines) == len(mover.pauses) - 1


def test_a_module_that_does_not_start() -> None:
    mover = Mover(20, {})
    mover.started = {"failed": True, "msg": "no Python"}
    assert (mover(), mover.pauses) == ({"failed": True, "msg": "no Python"}, [])


def test_a_mover_that_cannot_be_reached_any_more() -> None:
    """Its connection may come back for a while, for which the module goes on, too."""
    mover = Mover(PATIENCE - 10, UNREACHABLE)
    assert mover() == DONE
    mover = Mover(10_000, UNREACHABLE)
    assert mover() == UNREACHABLE
    assert PATIENCE < mover.now < PATIENCE + 20


def test_a_module_that_ends_without_a_result() -> None:
    mover = Mover(10_000, {"running": []})
    assert mover() == LOST
    assert LONGEST_UNKNOWN < mover.now < LONGEST_UNKNOWN + LATEST
    # Each look runs two modules on the mover.
    assert (mover.pauses[:10], mover.pauses[-1], len(mover.pauses) < 100) == ([SOONEST] * 10, LATEST, True)
    assert set(mover.lines) == {"db-1: no volume at the moment"}
