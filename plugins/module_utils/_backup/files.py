"""Files that only their owner reads, checksums, and waiting for the disk."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from threading import Event

from .failures import BackupFailure

_BLOCK = 4 << 20


def write_private_file(path: Path, text: str) -> None:
    """Write a file that only its owner can read."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        file.write(text)


def hash_file(path: Path, stop: Event | None = None, count: Callable[[int], None] = lambda length: None) -> str:
    """Return the SHA-256 of a file. Another thread can ``stop`` it; then the sum is worthless. ``count`` gets bytes."""
    digest = hashlib.sha256()
    buffer = memoryview(bytearray(_BLOCK))
    with path.open("rb", buffering=0) as file:
        while not (stop and stop.is_set()) and (length := file.readinto(buffer)):
            digest.update(buffer[:length])
            count(length)
    return digest.hexdigest()


class LaterSync:
    """Brings to the disk what others write to a file from now on.

    The system reports an error of writing only to those who have the file open when it happens. In a ``with``
    statement, a failure closes the file.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._descriptor = path, os.open(path, os.O_RDONLY)

    def __enter__(self) -> LaterSync:
        return self

    def __exit__(self, kind: type[BaseException] | None, *dummy: object) -> None:
        if kind:
            os.close(self._descriptor)

    def run(self) -> None:
        """Wait until the content of the file is on the disk, and close it. Raise BackupFailure if it is not."""
        try:
            os.fsync(self._descriptor)
        except OSError as error:
            raise BackupFailure(f"{self._path} could not be written to the disk: {error.strerror}") from error
        finally:
            os.close(self._descriptor)


def sync_file(path: Path) -> None:
    """Wait until the content of a file is on the disk."""
    _sync(path, os.O_RDONLY)


def sync_folder(path: Path) -> None:
    """Wait until the names in a folder are on the disk."""
    _sync(path, os.O_RDONLY | os.O_DIRECTORY)


def _sync(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
