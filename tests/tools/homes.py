"""Homes of sessions, so that they leave the user's home as it is."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from .checkout import CACHE, ROOT


def keep_out_of_the_home() -> None:
    """Give the sessions a home and a cache of uv in .cache, and a temporary folder for this run of nox.

    The settings of git, pip and uv in the user's home still apply.
    """
    home = CACHE / "home"
    os.environ.setdefault("UV_CACHE_DIR", str(CACHE / "uv"))
    for name in (".config/git", ".config/pip", ".config/uv", ".gitconfig", ".netrc", ".pip"):
        setting, link = Path.home() / name, home / name
        link.parent.mkdir(parents=True, exist_ok=True)
        if setting.exists():
            # Two sessions may begin at the same time.
            with suppress(FileExistsError):
                link.symlink_to(setting)
    os.environ["HOME"] = str(home)
    # Outside the checkout, because the paths of sockets must be short, and ansible-test skips what a repository
    # ignores.
    tempfile.tempdir = os.environ["TMPDIR"] = tempfile.mkdtemp(prefix="virtinfra-")
    atexit.register(shutil.rmtree, os.environ["TMPDIR"], ignore_errors=True)


def prepare_home(home: Path) -> Path:
    """Return a home for ansible-test, which keeps its environments for the next run and silences its pip.

    It contains the get-pip.py that ansible-test would download, under the names that the versions of core use.
    """
    downloads = home / ".ansible" / "test" / "cache"
    downloads.mkdir(parents=True, exist_ok=True)
    for version in ("23_1_2", "24_2", "25_2"):
        shutil.copy(ROOT / "tests" / "tools" / "get_pip.py", downloads / f"get_pip_{version}.py")
    (home / ".pip").mkdir(exist_ok=True)
    (home / ".pip" / "pip.conf").write_text("[global]\nquiet = 1\n", encoding="utf-8")
    return home
