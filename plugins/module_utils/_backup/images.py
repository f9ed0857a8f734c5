# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is PRIVATE to the collection. It can have breaking changes at any time.

"""qcow2 images, with qemu-img and qemu-nbd."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from .connection import Connection, serve_image
from .failures import BackupFailure

NONE = "none"
ZSTD = "zstd"


def run_tool(*command: str) -> str:
    """Return the output of a program. Raise BackupFailure with its error."""
    done = subprocess.run(
        command,
        check=False,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        env={**os.environ, "LC_ALL": "C"},
    )
    if done.returncode:
        raise BackupFailure(f"{' '.join(command[:2])} failed: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def create_image(path: Path, size: int, backing: str | None, compression: str) -> None:
    """Create an empty image. ``backing`` is the path of its base, relative to its own folder."""
    options = ["-o", "compression_type=zstd"] if compression == ZSTD else []
    base = ["-b", backing, "-F", "qcow2"] if backing else []
    # QEMU would take a prefix up to a colon as a protocol, but an absolute path has none.
    run_tool("qemu-img", "create", "-q", "-f", "qcow2", *options, *base, str(path), str(size))
    path.chmod(0o600)


@contextmanager
def open_image(path: Path, writable: bool = False, compression: str = NONE) -> Iterator[Connection]:
    """Connect to an image. Its qemu-nbd ends with the connection, and with this process if it is killed."""
    options = ["-f", "qcow2", str(path)]
    if compression == ZSTD:
        name = str(path).replace(",", ",,")
        options = ["--image-opts", f"driver=compress,file.driver=qcow2,file.file.driver=file,file.file.filename={name}"]
    access = ["--cache=writeback", "--discard=unmap"] if writable else ["--read-only"]
    with NamedTemporaryFile("r", prefix="qemu-nbd-") as errors:
        # libnbd does not say why its server ended, only that it did.
        server = ["sh", "-c", 'exec "$@" 2> "$0"', errors.name, "setpriv", "--pdeathsig", "TERM", "qemu-nbd"]
        with ExitStack() as stack:
            try:
                connection = stack.enter_context(serve_image(path, [*server, *access, *options]))
            except BackupFailure as failure:
                raise BackupFailure(f"{failure}: {errors.read().strip()}") from failure
            yield connection


def check_image(path: Path) -> str | None:
    """Return what is wrong with the structure of an image, None if nothing is."""
    try:
        run_tool("qemu-img", "check", "-q", "-f", "qcow2", str(path))
    except BackupFailure as failure:
        return str(failure)
    return None


def convert_image(path: Path, target: Path, image_format: str) -> None:
    """Write the content of an image, with its bases, to a new file, and wait until it is on the disk."""
    run_tool("qemu-img", "convert", "-f", "qcow2", "-O", image_format, str(path), str(target))


def are_equal(path: Path, target: Path, image_format: str) -> bool:
    """Return whether an image and a file have the same size and content. Raise BackupFailure."""
    if read_image_size(path, "qcow2") != read_image_size(target, image_format):
        return False
    command = ("qemu-img", "compare", "-f", "qcow2", "-F", image_format, str(path), str(target))
    done = subprocess.run(
        command, check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace"
    )
    if done.returncode not in (0, 1):
        raise BackupFailure(f"qemu-img compare failed: {(done.stderr or done.stdout).strip()}")
    return done.returncode == 0


def read_image_size(path: Path, image_format: str) -> int:
    """Return the size of the disk in an image, in bytes."""
    described: dict[str, Any] = json.loads(run_tool("qemu-img", "info", "-f", image_format, "--output=json", str(path)))
    return int(described["virtual-size"])
