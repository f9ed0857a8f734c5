"""What one run of a task, an inventory source or an event source provides to those who send its requests."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from .._masking.masker import Masker
from .._masking.terminal import escape_controls
from .adapter import AdapterPool


class Clock:
    """Time, in seconds of the monotonic clock, the date, and random numbers, so that tests can replace them."""

    monotonic = staticmethod(time.monotonic)
    sleep = staticmethod(time.sleep)
    random = staticmethod(random.random)

    @staticmethod
    def now() -> datetime:
        """Return the date and time, in UTC."""
        return datetime.now(timezone.utc)

    @staticmethod
    def wait(condition: threading.Condition | threading.Event, seconds: float | None) -> bool:
        """Wait for another thread, for so many seconds at most, and return whether it has notified this one."""
        return condition.wait(seconds)


def do_nothing() -> None:
    """Do nothing before a request."""


@dataclass(frozen=True)
class HttpHooks:
    """What a run provides to its requests: the masker of its secrets, its clock, its logs, and connections.

    ``on_progress`` is called with a line during a long wait, ``on_request`` with a line for each request.
    ``before_send`` is called before each request and retry; an exception that it raises prevents the request, until
    ``outlive_parent`` is called by a task that was interrupted and must end what it has begun. ``connections`` are
    those that the tasks of a worker share; without them, each client has its own.
    """

    masker: Masker
    clock: Any = Clock
    on_progress: Callable[[str], None] | None = None
    on_request: Callable[[str], None] | None = None
    before_send: Callable[[], None] = do_nothing
    outlive_parent: Callable[[], None] = do_nothing
    connections: AdapterPool | None = None

    def show_progress(self, line: str) -> None:
        """Show a line during a long wait."""
        if self.on_progress:
            self.on_progress(self._make_showable(line))

    def log_request(self, line: str) -> None:
        """Show a line about a request."""
        if self.on_request:
            self.on_request(self._make_showable(line))

    def _make_showable(self, line: str) -> str:
        """Mask secrets in a line and escape control characters."""
        return escape_controls(self.masker.mask_text(line))
