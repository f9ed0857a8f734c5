"""Files that only their owner reads, checksums, and waiting for the disk."""

from __future__ import annotations

import fcntl
import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event

from .failures import BackupFailure

_BLOCK = 4 << 20

# A file that does not exist yet. A link that somebody has planted under its name is not followed.
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW


def write_private_file(path: Path, text: str) -> None:
    """Write a file that only its owner can read. An earlier file with this name is removed."""
    with suppress(FileNotFoundError):
        path.unlink()
    with os.fdopen(os.open(path, _NEW, 0o600), "w", encoding="utf-8") as file:
        file.write(text)


def replace_private_file(path: Path, text: str) -> None:
    """Write a file that only its owner can read in place of an earlier one, so that readers see one or the other."""
    new = path.with_suffix(".new")
    write_private_file(new, text)
    new.replace(path)


def open_lock(path: Path, flags: int = os.O_RDWR | os.O_CREAT) -> int:
    """Return the file descriptor of a lock file, which only its owner can read. Raise OSError if it is a link."""
    return os.open(path, flags | os.O_NOFOLLOW, 0o600)


@contextmanager
def partial_file(path: Path) -> Iterator[Path]:
    """Create a file for a program that writes it by its name. It gets its final name in the ``with`` statement.

    A failure removes it. What a killed task of this user has left under the name is used again. Raise BackupFailure
    if a link or a file of anybody else has the name, or another task writes the file.
    """
    descriptor = _open_partial(path)
    try:
        _require_own(path, descriptor)
        try:
            yield path
        except BaseException:
            with suppress(FileNotFoundError):
                path.unlink()
            raise
    finally:
        os.close(descriptor)


def _open_partial(path: Path) -> int:
    try:
        return os.open(path, _NEW, 0o600)
    except FileExistsError:
        try:
            return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError as error:
            raise BackupFailure(_describe_foreign(path)) from error


def _require_own(path: Path, descriptor: int) -> None:
    """Lock an open file. Raise BackupFailure unless it is a file of this user that no other task writes."""
    status = os.fstat(descriptor)
    if not (stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid() and status.st_nlink <= 1):
        raise BackupFailure(_describe_foreign(path))
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # The task that wrote the file may have given the file its final name in between.
        is_same = os.path.samestat(path.lstat(), status)
    except (BlockingIOError, FileNotFoundError):
        is_same = False
    if not is_same:
        raise BackupFailure(f"{path} is written by another task. Wait until it has ended")


def _describe_foreign(path: Path) -> str:
    return f"{path} exists, and is a link or belongs to another user. Remove it, or use another directory"


def sum_sizes(folder: Path) -> int:
    """Return the size of the files in a folder, which may be removed meanwhile."""
    total = 0
    with suppress(OSError):
        for path in folder.iterdir():
            with suppress(FileNotFoundError):
                total += path.lstat().st_size
    return total


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
