"""A clock that runs faster while modules wait, and a limit of the time that they take."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn, TypeVar
from unittest import mock

from ansible_collections.virtinfra.manager.plugins.module_utils._http.hooks import Clock

Result = TypeVar("Result")

LONGEST_SLEEP = 0.0005
_slept = 0.0


def monotonic() -> float:
    """Return the time in seconds, including skipped sleep."""
    return time.monotonic() + _slept


def sleep(seconds: float) -> None:
    """Sleep briefly and advance the clock by the rest."""
    global _slept
    real = min(seconds, LONGEST_SLEEP)
    time.sleep(real)
    _slept += seconds - real


def wait(condition: threading.Condition | threading.Event, seconds: float | None) -> bool:
    """Wait briefly for another thread, and advance the clock by the rest unless it has notified this one."""
    global _slept
    if seconds is None:
        return condition.wait()
    real = min(seconds, LONGEST_SLEEP)
    if condition.wait(real):
        return True
    _slept += seconds - real
    return False


@contextmanager
def with_fast_clock() -> Iterator[None]:
    """Make modules wait with the fast clock."""
    with mock.patch.multiple(
        Clock, monotonic=staticmethod(monotonic), sleep=staticmethod(sleep), wait=staticmethod(wait)
    ):
        yield


def call_in_time(function: Callable[[], Result], seconds: int = 120) -> Result:
    """Call a function; raise TimeoutError if it does not return in time."""

    def stop(*dummy: object) -> NoReturn:
        raise TimeoutError(f"it did not end within {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        return function()
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
