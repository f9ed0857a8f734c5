"""Interpreters that run."""

from __future__ import annotations

import os
from pathlib import Path


def real_interpreters(path: str) -> str:
    """Return a search path on which every python3.x runs.

    A folder of shims (pyenv, asdf, mise) contains commands for interpreters that are installed but not selected, which
    fail. Such folders are replaced by the folders of the interpreters.
    """
    folders = [Path(entry) for entry in path.split(os.pathsep) if entry]
    shims = [folder for folder in folders if folder.name == "shims"]
    managers = {folder.parent for folder in shims} | {Path.home() / ".pyenv"}
    layouts = ("versions/*/bin/python3.1[0-9]", "installs/python/*/bin/python3.1[0-9]")
    real = sorted({found.parent for manager in managers for layout in layouts for found in manager.glob(layout)})
    return os.pathsep.join(str(folder) for folder in [*(f for f in folders if f not in shims), *real])
