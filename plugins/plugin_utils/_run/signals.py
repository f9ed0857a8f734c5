"""Clean up before a signal ends the process that owns the files of the run."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from typing import Any

from .files import is_owner


class CleanupOnSignal:
    """Calls a function before a signal ends the owner; then the signal has the effect that it had before.

    Python calls no atexit functions after SIGTERM and SIGHUP. ansible-playbook installs its own handler of SIGTERM when
    it begins with the tasks, so each fork of a worker installs this one again. The worker gets the previous handler.
    """

    def __init__(self, clean_up: Callable[[int], None]) -> None:
        self._clean_up = clean_up
        self._previous: dict[int, Any] = {}

    def install(self) -> None:
        """Handle SIGTERM and SIGHUP in the owner of the run, except signals that it ignores, as under nohup."""
        if not is_owner() or threading.current_thread() is not threading.main_thread():
            return
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) not in (None, signal.SIG_IGN, self._handle):
                self._previous[number] = signal.signal(number, self._handle)

    def remove(self) -> None:
        """Install the previous handlers."""
        while self._previous:
            signal.signal(*self._previous.popitem())

    def install_around_forks(self) -> None:
        """Install the handler before this process forks a worker, and remove it in the worker."""
        os.register_at_fork(before=self.install, after_in_child=self.remove)

    def _handle(self, number: int, dummy: Any) -> None:
        previous = dict(self._previous)
        for handled in previous:
            # Closing a terminal sends SIGHUP twice, so further signals are ignored during the clean-up.
            signal.signal(handled, signal.SIG_IGN)
        try:
            self._clean_up(number)
        finally:
            signal.signal(number, previous[number])
            os.kill(os.getpid(), number)
