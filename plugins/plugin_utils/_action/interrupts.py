"""What interrupts the task of a worker process: signals, and the end of the parent process."""

from __future__ import annotations

import os
import signal
import syslog
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

import ansible.utils.display

# A worker's own standard error is discarded, and nothing reads its Display once the parent is interrupted.
STDERR = os.dup(2)


class ParentWatch:
    """Raises KeyboardInterrupt once the parent of this process has ended, unless it is dismissed.

    The result of the task would be lost, and a playbook that was killed must not change anything any more, apart from
    what it must not leave behind.
    """

    def __init__(self) -> None:
        self._parent: int | None = os.getppid()

    def check(self) -> None:
        """Raise KeyboardInterrupt if the parent has ended."""
        if self._parent is not None and os.getppid() != self._parent:
            raise KeyboardInterrupt(f"the parent process {self._parent} has ended")

    def dismiss(self) -> None:
        """Let the task end what it has begun, also after the end of the parent."""
        self._parent = None


def log_after_exit(line: str) -> None:
    """Write a line to stderr, Ansible's log file and syslog, because the callback plugins no longer show it."""
    with suppress(OSError):
        os.write(STDERR, f"{line}\n".encode())
    if ansible.utils.display.logger:
        ansible.utils.display.logger.error(line)
    syslog.openlog("ansible-virtinfra.manager")
    syslog.syslog(syslog.LOG_ERR, line)


def end_worker() -> NoReturn:
    """End this worker process as core ends a worker that fails.

    Core would first send a traceback to ansible-playbook, which no longer reads it when it is ending: the tracebacks of
    many workers would fill the pipe, and block all of them.
    """
    os._exit(1)


@contextmanager
def raise_on_signals() -> Iterator[None]:
    """Raise KeyboardInterrupt in the task on the first signal that would end the worker, and ignore further signals."""

    def interrupt(number: int, dummy: Any) -> NoReturn:
        for handled in previous:
            signal.signal(handled, signal.SIG_IGN)
        raise KeyboardInterrupt(number)

    numbers = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # nohup ignores SIGHUP, and so does the task.
        numbers.append(signal.SIGHUP)
    previous = {number: signal.signal(number, interrupt) for number in numbers}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
