"""The programs of QEMU, and processes that end with the simulator."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from ..errors import operation_refused

PARTS = ("qemu-img", "qemu-io", "qemu-nbd", "qemu-storage-daemon", "setpriv")
ADDRESS = "127.0.0.1"
PATIENCE = 20.0
"""Seconds that a step of a process may take."""
INTERVAL = 0.005
GRACE = 5.0
GREETING = b"NBDMAGIC"
GREETING_TIMEOUT = 0.2


def find_missing_parts() -> list[str]:
    """Return the programs that this machine lacks."""
    return [name for name in PARTS if not shutil.which(name)]


def run(*command: str | Path, folder: Path | None = None) -> str:
    """Run a program in a folder and return its output; raise OperationError with its message if it fails."""
    done = subprocess.run([str(word) for word in command], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise operation_refused(f"{command[0]}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def wait_until(condition: Callable[[], bool], what: str) -> None:
    """Wait until a condition holds; raise OperationError if that takes too long."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise operation_refused(f"{what} took longer than {PATIENCE:g} seconds")
        time.sleep(INTERVAL)


def greets(port: int) -> bool:
    """Return whether an NBD server greets on a port. It listens earlier, before it has opened its image.

    A client that leaves before the end of the handshake does not end a server that serves one client.
    """
    try:
        with socket.create_connection((ADDRESS, port), GREETING_TIMEOUT) as client:
            return client.recv(len(GREETING)) == GREETING
    except OSError:
        return False


def find_free_port() -> int:
    """Return a port on which nothing listens."""
    with socket.create_server((ADDRESS, 0)) as listener:
        return int(listener.getsockname()[1])


class Process:
    """A process that the kernel kills when the simulator ends. Start it in the main thread, to which it is bound."""

    def __init__(self, *command: str | Path, descriptors: Sequence[int] = ()) -> None:
        self._process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "--", *(str(word) for word in command)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            pass_fds=descriptors,
        )

    def wait_until(self, condition: Callable[[], bool], what: str) -> None:
        """Wait until a condition holds; raise OperationError with the message of the process if it ends before."""

        def holds() -> bool:
            if condition():
                return True
            if self._process.poll() is not None:
                raise operation_refused(f"{what} failed: {self._process.communicate()[1].strip()}")
            return False

        wait_until(holds, what)

    def end(self) -> None:
        """End the process; kill it if it does not end by itself."""
        self._process.terminate()
        try:
            self._process.communicate(timeout=GRACE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
