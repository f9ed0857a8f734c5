"""Folders with the marker of a repository of restore points."""

from __future__ import annotations

from pathlib import Path

from ansible_collections.virtinfra.manager.plugins.module_utils._backup.repository import MARKER


def make_repository(root: Path) -> Path:
    """Make a folder, which may exist, a repository, and return it."""
    root.mkdir(exist_ok=True)
    (root / MARKER).touch()
    return root
