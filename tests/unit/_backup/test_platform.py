"""The Python of a data mover: 3.9 on RHEL 9."""

from __future__ import annotations

import ast
import subprocess
from pathlib import Path

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._backup.parts import name_packages

from support.collection import ROOT
from support.older_pythons import find_older_pythons, require_older_python

ROOM = ROOT / "plugins" / "module_utils" / "_backup"
FILES = sorted(ROOM.glob("*.py"))


def test_python_3_9_can_compile_the_room(subtests: pytest.Subtests) -> None:
    assert len(FILES) > 10
    for path in FILES:
        with subtests.test(path.name):
            ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 9))


def test_the_room_imports_nothing_that_movers_lack(subtests: pytest.Subtests) -> None:
    """The room needs neither Ansible nor another room, so its functions also run outside of a module."""
    for path in FILES:
        if path.name == "process.py":
            continue
        with subtests.test(path.name):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            froms = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
            assert {node.level for node in froms} <= {0, 1}
            assert not [node.module for node in froms if (node.module or "").startswith(("ansible.", "requests"))]


def test_python_3_9_imports_the_room(tmp_path: Path) -> None:
    """The import uses a stub of libnbd, which the Python of a distribution has."""
    python = require_older_python(find_older_pythons("3.9"))
    package = tmp_path / "room"
    package.symlink_to(ROOM)
    (tmp_path / "nbd.py").write_text("class NBD: pass\nclass Error(Exception): pass\n")
    names = [path.stem for path in FILES if path.stem not in ("__init__", "process")]
    program = "; ".join(f"import room.{name}" for name in names)
    subprocess.run([python, "-B", "-c", program], cwd=tmp_path, check=True)


@pytest.mark.parametrize(
    ("os_release", "expected"),
    [
        ('PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nVERSION_ID="12"\nID=debian\n', "qemu-utils"),
        ('PRETTY_NAME="Debian GNU/Linux 13 (trixie)"\nVERSION_ID="13"\nID=debian\n', "qemu-utils"),
        ('NAME="Ubuntu"\nID=ubuntu\nID_LIKE=debian\n', "qemu-utils"),
        ('NAME="Red Hat Enterprise Linux"\nID="rhel"\nID_LIKE="fedora"\nVERSION_ID="9.6"\n', "qemu-img"),
        ('NAME="Rocky Linux"\nID="rocky"\nID_LIKE="rhel centos fedora"\n', "qemu-img"),
        ('NAME="SLES"\nID="sles"\nID_LIKE="suse"\n', "qemu-img, qemu-tools"),
        ("NAME='openSUSE Leap'\nID='opensuse-leap'\nID_LIKE='suse opensuse'\n", "qemu-img, qemu-tools"),
    ],
)
def test_the_packages_of_a_distribution(os_release: str, expected: str, tmp_path: Path) -> None:
    path = tmp_path / "os-release"
    path.write_text(os_release, encoding="utf-8")
    assert name_packages(path) == f"python3-libnbd, {expected} and util-linux"


@pytest.mark.parametrize("os_release", [None, b"ID=arch\n", b"no=\xff"])
def test_the_packages_of_an_unknown_distribution(os_release: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "os-release"
    if os_release is not None:
        path.write_bytes(os_release)
    for words in ("qemu-utils and util-linux on Debian and Ubuntu", "on RHEL and Fedora", "on SUSE"):
        assert words in name_packages(path)
