"""Run playbooks in benchmarks, and count what they request of a simulator."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simulator.launch import Simulator

POLLS = "/api-jobs/"


@dataclass(frozen=True)
class Run:
    """The seconds that a playbook took, those of the processor, its requests, and its output."""

    seconds: float
    processor: float
    requests: list[dict[str, Any]]
    output: str

    @property
    def polls(self) -> int:
        """The number of requests for the state of a job."""
        return sum(POLLS in request["path"] for request in self.requests)

    @property
    def connections(self) -> int:
        """The number of connections on which the requests were sent."""
        return len({request["port"] for request in self.requests})


def run_playbook(
    playbook: str | Sequence[Mapping[str, Any]],
    simulator: Simulator,
    inventory: Mapping[str, Any] | None = None,
    forks: int = 5,
    environment: Mapping[str, str] | None = None,
) -> Run:
    """Run a playbook, given by its name or its plays; raise CalledProcessError, after its output, if it fails.

    The inventory has localhost by default.
    """
    connection = {"VIRTINFRA_BASE_URL": simulator.url, "VIRTINFRA_SESSION_ID": simulator.session}
    with tempfile.TemporaryDirectory() as folder:
        hosts, book = Path(folder, "hosts.json"), Path(folder, "playbook.json")
        local = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
        hosts.write_text(json.dumps(inventory or {"all": {"hosts": {"localhost": local}}}), encoding="utf-8")
        if not isinstance(playbook, str):
            book.write_text(json.dumps(list(playbook)), encoding="utf-8")
        command = [str(Path(sys.executable).parent / "ansible-playbook"), "-i", str(hosts), "-f", str(forks)]
        command.append(playbook if isinstance(playbook, str) else str(book))
        simulator.clear_log()
        begin, used = time.monotonic(), measure_children()
        ended = subprocess.run(
            command,
            env={**os.environ, **connection, **(environment or {})},
            check=False,
            capture_output=True,
            text=True,
        )
        seconds, processor = time.monotonic() - begin, measure_children() - used
    if ended.returncode:
        print(ended.stdout[-4000:], ended.stderr[-4000:], file=sys.stderr)
        ended.check_returncode()
    return Run(seconds, processor, simulator.log(), ended.stdout)


def measure_children() -> float:
    """Return the processor time of all child processes that have ended, in seconds."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
