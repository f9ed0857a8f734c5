"""Modules that work on a data mover for hours: show how far they are, and let them end soon after the controller has.

Without async, nothing would be shown until its end, a connection that is silent for hours can be lost, and the process
would go on after a controller that was stopped, without anybody who knows that it still writes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from ...module_utils._api.records import Record
from .._site.site import MoverHost
from .progress import choose_pause, describe_progress

# For how many seconds a module goes on that does not hear of this process, so that a connection may come back.
PATIENCE = 120.0

# The seconds after which a module is ended whatever it does, and for which one without progress counts as alive.
LONGEST, LONGEST_UNKNOWN = 30 * 24 * 3600, 900.0

LOST: Mapping[str, Any] = {
    "failed": True,
    "changed": True,
    "msg": "The task on the data mover has ended without a result.",
}


class Watcher(Protocol):
    """What waits for a module, and shows how far it is."""

    def get_time(self) -> float:
        """Return the time in seconds, which no change of the clock affects."""

    def pause(self, seconds: float) -> None:
        """Wait."""

    def show(self, line: str) -> None:
        """Show a line."""


def run_long(
    mover: MoverHost,
    watcher: Watcher,
    module: str,
    arguments: Mapping[str, Any],
    label: str,
    folder: str,
    touch: Callable[[], Record],
) -> Record:
    """Run a module that copies or writes volumes of a VM, and return its result.

    ``label`` names the VM in the lines that are shown, and ``folder`` gets the file of the job. ``touch`` shows that
    the run of the module still works, and returns what the module backup_run does.
    """
    started = mover.start(module, arguments, LONGEST, folder)
    job = started.get("ansible_job_id")
    if started.get("failed") or not job:
        return started
    heard = known = now = watcher.get_time()
    progress: Record | None = None
    while True:
        watcher.pause(choose_pause(progress, now - known))
        now = watcher.get_time()
        if result := mover.look(job, folder):
            return result
        touched = touch()
        progress = next(iter(touched.get("running") or ()), None)
        if not touched.get("failed"):
            heard, known = now, now if progress else known
        elif now - heard > PATIENCE:
            return touched
        if now - known > LONGEST_UNKNOWN:
            return dict(LOST)
        watcher.show(describe_progress({"name": label}, progress))
