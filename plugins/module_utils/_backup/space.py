"""The free space of the repository."""

from __future__ import annotations

import os
from pathlib import Path

from .failures import BackupFailure


def read_space(folder: Path) -> tuple[int, int]:
    """Return the bytes that are free for us in the file system of a folder, and all that it has."""
    status = os.statvfs(folder)
    return status.f_bavail * status.f_frsize, status.f_blocks * status.f_frsize


def check_space(folder: Path, needed: int, min_free_percent: int) -> None:
    """Raise BackupFailure if less than this part of the file system would be free after writing ``needed`` bytes."""
    free, total = read_space(folder)
    reserved = total * min_free_percent // 100
    if free - needed < reserved:
        raise BackupFailure(
            f"the repository has too little space: {free} of {total} bytes are free, up to {needed} are needed, and"
            f" min_free_percent keeps {reserved} free. Delete points, or use another repository"
        )
