# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The Python of a data mover: 3.9 on RHEL 9."""

from __future__ import annotations

import ast
import shutil
import subprocess
from pathlib import Path

import pytest

from support.collection import ROOT

ROOM = ROOT / "plugins" / "module_utils" / "_backup"
FILES = sorted(ROOM.glob("*.py"))


def test_python_3_9_can_compile_the_room(subtests: pytest.Subtests) -> None:
    assert len(FILES) > 10
    for path in FILES:
        with subtests.test(path.name):
            ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 9))


def test_the_room_imports_nothing_that_movers_lack(subtests: pytest.Subtests) -> None:
    """It needs neither Ansible nor another room, so its functions also run outside of a module."""
    for path in FILES:
        if path.name == "process.py":
            continue
        with subtests.test(path.name):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            froms = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
            assert {node.level for node in froms} <= {0, 1}
            assert not [node.module for node in froms if (node.module or "").startswith(("ansible.", "requests"))]


def find_python() -> str | None:
    """Return the command of a Python 3.9."""
    found = [shutil.which("python3.9"), *map(str, Path.home().glob(".pyenv/versions/3.9.*/bin/python"))]
    return next((path for path in found if path and "shims" not in path), None)


def test_python_3_9_imports_the_room(tmp_path: Path) -> None:
    """With a stub of libnbd, which the Python of a distribution has."""
    if (python := find_python()) is None:
        pytest.skip("no Python 3.9 on this machine")
    package = tmp_path / "room"
    package.symlink_to(ROOM)
    (tmp_path / "nbd.py").write_text("class NBD: pass\nclass Error(Exception): pass\n")
    names = [path.stem for path in FILES if path.stem not in ("__init__", "process")]
    program = "; ".join(f"import room.{name}" for name in names)
    subprocess.run([python, "-B", "-c", program], cwd=tmp_path, check=True)
