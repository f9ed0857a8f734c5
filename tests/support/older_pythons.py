"""Versions of Python that are older than those of the controller, for code that says so, or that runs with them."""

from __future__ import annotations

import os
import pwd
import shutil
from pathlib import Path

import pytest


def find_older_pythons(pattern: str = "3.[6-9]") -> list[str]:
    """Return the interpreters of versions, on the PATH or of pyenv. In sessions of nox, HOME is an empty folder."""
    root = Path(os.environ.get("PYENV_ROOT") or Path(pwd.getpwuid(os.getuid()).pw_dir, ".pyenv"))
    found = [shutil.which("python3.9"), *map(str, root.glob(f"versions/{pattern}.*/bin/python"))]
    return [path for path in found if path and "shims" not in path]


def require_older_python(found: list[str]) -> str:
    """Return one of the interpreters. Without one, CI fails, and other runs skip the test."""
    if not found:
        assert "CI" not in os.environ, "no older Python on this machine"
        pytest.skip("no older Python on this machine")
    return found[0]
