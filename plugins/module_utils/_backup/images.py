"""qcow2 images, with qemu-img and qemu-nbd."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from .connection import Connection, serve_image
from .failures import BackupFailure, ImageFailure

NONE = "none"
ZSTD = "zstd"


# libnbd does not say why its server ended, only that it did, so a file gets the errors.
_KEEP_ERRORS = ("sh", "-c", 'exec "$@" 2> "$0"')

# A process that dies before prctl is not noticed: without a client, the server would wait for one for ever. SIGTERM
# could be missed while a client is in its handshake, and nobody reads the image of a process that was killed.
_END_WITH_PARENT = ("setpriv", "--pdeathsig", "KILL", "sh", "-c", '[ "$PPID" -eq "$0" ] && exec "$@"')

# The server takes a buffer for each request, and glibc would get that from the system and give it back each time, which
# takes longer than to write it to the disk's cache. So it keeps some; other C libraries ignore this.
_KEEP_BUFFERS = ("env", f"MALLOC_MMAP_THRESHOLD_={4 << 20}", f"MALLOC_TRIM_THRESHOLD_={64 << 20}")


# Runs a program and returns its exit code, its output and its errors. A module has its own way to do so.
RunCommand = Callable[[Sequence[str]], tuple[int, str, str]]


class QemuImg:
    """The program qemu-img. Each method raises BackupFailure with its error."""

    def __init__(self, run_command: RunCommand) -> None:
        self._run_command = run_command

    def create(self, path: Path, size: int, backing: str | None, compression: str) -> None:
        """Create an empty image. ``backing`` is the path of its base, relative to its own folder.

        Raise ImageFailure if there is a base, because it may be the cause.
        """
        options = ["-o", "compression_type=zstd"] if compression == ZSTD else []
        base = ["-b", backing, "-F", "qcow2"] if backing else []
        try:
            self._run("create", "-q", "-f", "qcow2", *options, *base, str(path), str(size))
        except BackupFailure as failure:
            raise (ImageFailure if backing else BackupFailure)(str(failure)) from failure
        path.chmod(0o600)

    def find_fault(self, path: Path) -> str | None:
        """Return what is wrong with the structure of an image, None if nothing is."""
        try:
            self._run("check", "-q", "-f", "qcow2", str(path))
        except BackupFailure as failure:
            return str(failure)
        return None

    def convert(self, path: Path, target: Path, image_format: str) -> None:
        """Write the content of an image, with its bases, to a file."""
        self._run("convert", "-f", "qcow2", "-O", image_format, str(path), str(target))

    def are_equal(self, path: Path, target: Path, image_format: str) -> bool:
        """Return whether an image and a file have the same size and content."""
        if self._read_size(path, "qcow2") != self._read_size(target, image_format):
            return False
        command = ("qemu-img", "compare", "-f", "qcow2", "-F", image_format, str(path), str(target))
        code, output, errors = self._run_command(command)
        if code not in (0, 1):
            raise BackupFailure(f"qemu-img compare failed: {(errors or output).strip()}")
        return code == 0

    def _read_size(self, path: Path, image_format: str) -> int:
        described: dict[str, Any] = json.loads(self._run("info", "-f", image_format, "--output=json", str(path)))
        return int(described["virtual-size"])

    def _run(self, verb: str, *arguments: str) -> str:
        code, output, errors = self._run_command(("qemu-img", verb, *arguments))
        if code:
            raise BackupFailure(f"qemu-img {verb} failed: {(errors or output).strip()}")
        return output


def end_with(process: int, command: Sequence[str]) -> list[str]:
    """Return a command that is killed when this process is killed. The command keeps its process id."""
    return [*_END_WITH_PARENT, str(process), *command]


@contextmanager
def open_image(path: Path, writable: bool = False, compression: str = NONE) -> Iterator[Connection]:
    """Connect to an image. Its qemu-nbd ends with the connection, and with this process if it is killed.

    What is written is not on the disk before the image is synced, see LaterSync.
    """
    options = ["-f", "qcow2", str(path)]
    if compression == ZSTD:
        name = str(path).replace(",", ",,")
        options = ["--image-opts", f"driver=compress,file.driver=qcow2,file.file.driver=file,file.file.filename={name}"]
    access = ["--cache=unsafe", "--discard=unmap"] if writable else ["--read-only"]
    with NamedTemporaryFile("r", prefix="qemu-nbd-") as errors:
        program = [*_KEEP_BUFFERS, "qemu-nbd", *access, *options]
        server = [*_KEEP_ERRORS, errors.name, *end_with(os.getpid(), program)]
        with ExitStack() as stack:
            try:
                connection = stack.enter_context(serve_image(path, server))
            except BackupFailure as failure:
                raise type(failure)(f"{failure}: {errors.read().strip()}") from failure
            yield connection
