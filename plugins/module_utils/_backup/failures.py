"""The failures of the data mover."""

from __future__ import annotations

from typing import Any


class BackupFailure(Exception):
    """A reason for which a task on the data mover fails. ``result`` are further members of the failed result."""

    def __init__(self, message: str, **result: Any) -> None:
        super().__init__(message)
        self.result = result


class NotEqual(BackupFailure):
    """Two exports that must have the same content differ. ``offset`` is where, in bytes."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.offset = offset


class ImageFailure(BackupFailure):
    """An image of the repository, or one that it is based on, cannot be read."""
