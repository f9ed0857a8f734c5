"""Files that the processes of a run of Ansible share: in Ansible's temporary folder, readable by the user only.

The process that loads this file first owns most of them, and removes them: the controller's main process, which loads
the plugins of a task before it forks the workers, and reads the inventory. Only if a plugin, for example a lookup, is
loaded in a worker first, that worker is the owner of its files.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import ansible.constants

from ...module_utils._api.errors import VirtinfraError

OWNER = os.getpid()


def is_owner() -> bool:
    """Return whether this process removes the files at the end of the run."""
    return os.getpid() == OWNER


def locate_file(*key: str | None, kind: str = "") -> Path:
    """Return the path of the file for a key. Without a kind, the owner removes the file."""
    folder = ansible.constants.DEFAULT_LOCAL_TMP
    return Path(folder, f"virtinfra-{kind or OWNER}-{hashlib.sha256(json.dumps([folder, *key]).encode()).hexdigest()}")


def list_owned_files() -> list[Path]:
    """Return the files that the owner removes."""
    return list(Path(ansible.constants.DEFAULT_LOCAL_TMP).glob(f"virtinfra-{OWNER}-*"))


def open_locked(path: Path, operation: int = fcntl.LOCK_EX) -> IO[str]:
    """Open and lock a file, and create it if it does not exist.

    Raise BlockingIOError when ``operation`` does not wait and another process holds the lock.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(descriptor, operation)
        except OSError:
            os.close(descriptor)
            raise
    except BlockingIOError:
        raise
    except OSError as error:
        raise _describe_failure(error) from None
    return os.fdopen(descriptor, "r+", encoding="utf-8")


def parse_values(content: str) -> dict[str, Any]:
    """Return the values in the content of a file, none if a process was killed while it wrote the file."""
    try:
        return dict(json.loads(content))
    except ValueError:
        return {}


def write_values(file: IO[str], values: dict[str, Any]) -> None:
    """Replace the values in an open file.

    The file is not emptied first: some file systems write the new content of an emptied file to the disk at once. Raise
    VirtinfraError if the file cannot be written, for example because the disk is full.
    """
    content = json.dumps(values).encode()
    try:
        # Without the buffer of the file, whose content would be written again when the file is closed.
        if os.pwrite(file.fileno(), content, 0) < len(content):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.truncate(file.fileno(), len(content))
    except OSError as error:
        raise _describe_failure(error) from None


def _describe_failure(error: OSError) -> VirtinfraError:
    """Return the failure to write a file to Ansible's temporary folder."""
    folder = ansible.constants.DEFAULT_LOCAL_TMP
    return VirtinfraError(f"cannot write to {folder}: {error.strerror}. Check local_tmp in ansible.cfg.")


@contextmanager
def edit_values(path: Path) -> Iterator[dict[str, Any]]:
    """Return a context manager for the values in a file, which locks the file and stores changes."""
    with open_locked(path) as file:
        values = parse_values(file.read())
        before = dict(values)
        try:
            yield values
        finally:
            if values != before:
                write_values(file, values)
