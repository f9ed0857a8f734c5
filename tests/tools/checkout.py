"""The checkout as a collection, for Ansible and Python."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".cache"
FOLDER = Path("ansible_collections", "virtinfra", "manager")


def linked_collection() -> dict[str, str]:
    """Link the checkout as a collection, and return the environment with which Ansible and Python find it."""
    link = CACHE / FOLDER
    link.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        link.symlink_to(os.path.relpath(ROOT, link.parent), target_is_directory=True)
    return {
        "ANSIBLE_COLLECTIONS_PATH": str(CACHE),
        "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
        "PYTHONPATH": os.pathsep.join([str(CACHE), str(ROOT / "tests")]),
    }


@contextlib.contextmanager
def copied_collection() -> Iterator[Path]:
    """Copy the tracked and the new files to a separate folder and yield it.

    ansible-test refuses to follow a link, and skips everything in a folder that an outer repository ignores.
    """
    listed = subprocess.check_output(["git", "ls-files", "-coz", "--exclude-standard"], cwd=ROOT, text=True)
    with tempfile.TemporaryDirectory() as place:
        copy = Path(place, FOLDER)
        copy.mkdir(parents=True)
        for name in filter(None, listed.split("\0")):
            if (ROOT / name).is_file():
                (copy / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, copy / name, follow_symlinks=False)
        yield copy
