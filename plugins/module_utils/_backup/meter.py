"""Progress of a task in a file, and its rate limit."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from .clock import Clock
from .files import replace_private_file

FILE = ".progress.json"
MIB = 1 << 20


class Meter:
    """Counts the bytes that a task reads, at most ``rate_limit`` a second (0: no limit).

    Once a second it writes them to a file and calls ``check``, which raises a failure if the task must not go on.
    """

    def __init__(
        self,
        path: Path | None = None,
        rate_limit: int = 0,
        check: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._path, self._rate_limit, self._check, self._clock = path, rate_limit, check, clock
        self._labels: dict[str, Any] = {}
        self._total = self._done = 0
        self._began = self._shown = clock()

    def begin(self, total: int, **labels: Any) -> None:
        """Begin to count ``total`` bytes. ``labels`` say what the task works on."""
        self._labels, self._total, self._done = labels, total, 0
        self._began = self._clock()
        self._show()

    def count(self, length: int) -> None:
        """Count bytes."""
        self._done += length
        if self._clock() - self._shown >= 1:
            self._show()
            self._check()

    @property
    def pause(self) -> float:
        """The seconds until the rate limit permits the next read."""
        if not self._rate_limit:
            return 0.0
        return max(0.0, self._began + self._done / self._rate_limit - self._clock())

    def end(self) -> None:
        """Remove the file."""
        if self._path:
            with suppress(OSError):
                self._path.unlink()

    def _show(self) -> None:
        """Write the file. A failure to do so does not stop the task."""
        self._shown = self._clock()
        if not self._path:
            return
        with suppress(OSError):
            replace_private_file(self._path, json.dumps(self._describe()))

    def _describe(self) -> dict[str, Any]:
        seconds = self._shown - self._began
        rate = int(self._done / seconds) if seconds else 0
        return {
            **self._labels,
            "bytes_done": self._done,
            "bytes_total": self._total,
            "bytes_per_second": rate,
            "seconds_left": (self._total - self._done) // rate if rate else None,
            "host": socket.gethostname(),
            "process": os.getpid(),
            "updated": Clock.now().strftime("%Y-%m-%dT%H:%M:%SZ"),
        }


@contextmanager
def ending(meter: Meter) -> Iterator[None]:
    """Remove the file of a meter afterwards."""
    try:
        yield
    finally:
        meter.end()


def read_progress(path: Path) -> dict[str, Any] | None:
    """Return the progress in a file, None if there is none or it is of a process of this machine that has ended."""
    try:
        progress: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if progress["host"] == socket.gethostname():
            os.kill(progress["process"], 0)
    except (KeyError, OSError, TypeError, ValueError):
        return None
    return progress
