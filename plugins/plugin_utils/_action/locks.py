"""Locks that all workers of a run of Ansible share."""

from __future__ import annotations

import fcntl
from collections.abc import Iterable
from typing import IO, Any

from ...module_utils._http.connection import ConnectionOptions
from .._run.files import locate_file, open_locked, parse_values, write_values


class RunLock:
    """A lock for one key and one service: a locked file in Ansible's temporary folder of the run.

    The kernel releases it when the process that holds it ends. The owner of the run's files removes it.
    """

    def __init__(self, connection: ConnectionOptions, key: str) -> None:
        self._path = locate_file("lock", connection.origin, connection.path_prefix, key)
        self._file: IO[str] | None = None
        self.is_first = False
        self.running: list[dict[str, Any]] = []

    def acquire(self) -> bool:
        """Take the lock if no other process holds it, and return whether it was taken."""
        try:
            file = open_locked(self._path, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        values = parse_values(file.read())
        self._file, self.is_first, self.running = file, not values, values.get("running", [])
        write_values(file, {"running": self.running})
        return True

    def release(self, running: Iterable[dict[str, Any]]) -> None:
        """Give the lock to the next process, with the handles of jobs that still run."""
        if self._file:
            write_values(self._file, {"running": list(running)})
            self._file.close()
        self._file = None
