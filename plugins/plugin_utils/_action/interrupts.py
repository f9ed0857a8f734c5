"""What interrupts the task of a worker process: signals, and the end of the parent process."""

from __future__ import annotations

import os
import signal
import syslog
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

import ansible.utils.display

# A worker's own standard error is discarded, and nothing reads its Display once the parent is interrupted.
STDERR = os.dup(2)


def stop_with_parent() -> Callable[[], None]:
    """Return a function that raises KeyboardInterrupt once the parent of this process has ended.

    The result of the task would be lost, and a playbook that was killed must not change anything any more.
    """
    parent = os.getppid()

    def check() -> None:
        if os.getppid() != parent:
            raise KeyboardInterrupt(f"the parent process {parent} has ended")

    return check


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
