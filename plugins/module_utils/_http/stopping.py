"""The end of the requests of the threads of a batch."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any


class Stop:
    """The end of the requests of several threads: after `set`, each raises KeyboardInterrupt before it sends one.

    ``before_send`` is called before each request until then.
    """

    def __init__(self, before_send: Callable[[], None]) -> None:
        self._event, self._before_send = threading.Event(), before_send

    def set(self) -> None:
        """Let no thread send anything from now on."""
        self._event.set()

    def is_set(self) -> bool:
        """Return whether no thread sends anything any more."""
        return self._event.is_set()

    def check(self) -> None:
        """Raise KeyboardInterrupt if no thread may send anything any more."""
        if self._event.is_set():
            raise KeyboardInterrupt
        self._before_send()

    def sleep(self, clock: Any, seconds: float) -> None:
        """Wait. Raise KeyboardInterrupt if no thread may send anything any more."""
        if clock.wait(self._event, seconds):
            raise KeyboardInterrupt


class StoppableClock:
    """The clock of several threads, whose sleep ends with their requests."""

    def __init__(self, clock: Any, stop: Stop) -> None:
        self.monotonic, self.random, self.wait, self.now = clock.monotonic, clock.random, clock.wait, clock.now
        self._clock, self._stop = clock, stop

    def sleep(self, seconds: float) -> None:
        """Wait. Raise KeyboardInterrupt when the threads are stopped."""
        self._stop.sleep(self._clock, seconds)
