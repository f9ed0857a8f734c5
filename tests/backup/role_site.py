"""A service with VMs that have disks, for the roles of backups. This machine is the data mover."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

from simulator.launch import Simulator
from support.kvm_host import MIB, run
from support.playbook_runner import PlaybookRunner, Run
from support.repositories import make_repository

SIZE = 4 * MIB


class RoleSite:
    """A simulator with three VMs with disks, and a repository."""

    def __init__(self, sim: Simulator, folder: Path) -> None:
        self.sim, self.disks, self.repository = sim, folder / "disks", make_repository(folder / "repository")
        connection = {"base_url": sim.url, "session_id": sim.session, "api_token": sim.token}
        self._runner = PlaybookRunner(folder, sim.url, connection)
        self._folder = folder
        self.truth: dict[str, bytearray] = {}
        # Environment variables of the next playbooks, in addition to those of this process.
        self.environment: dict[str, str] = {}
        # The file descriptor of a terminal, which has the output of roles that are started.
        self.terminal: int | None = None
        self.requests: list[dict[str, Any]] = []
        self._seed = 0

    def run_role(self, role: str, *arguments: str, **variables: Any) -> tuple[int, str, list[dict[str, Any]]]:
        """Run a role, and return the exit code, the output, and the report. Variables that are None are not set."""
        played = self._runner.playbook([self._build_play(role, variables)], arguments, self.environment)
        self.requests = [request for task in played for request in task.requests]
        facts = [result.get("ansible_facts", {}).get(f"{role}_report", []) for result in played.results]
        return played.code, played.output, max(facts, key=len)

    def play(self, play: Mapping[str, Any], *arguments: str) -> tuple[int, str]:
        """Run a play with the connection to the simulator, and return the exit code and the output."""
        played = self._runner.playbook(
            [{**self._runner.build_play(ignore_errors=False), **play}], arguments, self.environment
        )
        return played.code, played.output

    def run_playbook(self, name: str, **variables: Any) -> Run:
        """Run a playbook of the collection, which takes the connection from the environment, with extra variables."""
        connection = {"BASE_URL": self.sim.url, "SESSION_ID": self.sim.session}
        environment = {f"VIRTINFRA_{name}": value for name, value in connection.items()}
        return self._runner.playbook(name, ["--extra-vars", json.dumps(variables)], environment)

    def start_role(self, role: str, **variables: Any) -> subprocess.Popen[bytes]:
        """Start ansible-playbook with a role, in a process group of its own. Its output is in ``output``."""
        book = self._folder / "started.yml"
        book.write_text(json.dumps([self._build_play(role, variables)]), encoding="utf-8")
        command = [str(Path(sys.executable).with_name("ansible-playbook")), str(book)]
        environment = {
            **os.environ,
            "ANSIBLE_LOCALHOST_WARNING": "false",
            "ANSIBLE_INVENTORY_UNPARSED_WARNING": "false",
        }
        with self.output.open("wb") as output:
            target = output if self.terminal is None else self.terminal
            return subprocess.Popen(
                command, stdout=target, stderr=subprocess.STDOUT, env=environment, start_new_session=True
            )

    @property
    def output(self) -> Path:
        """The output of the playbook that was started last."""
        return self._folder / "started.log"

    def _build_play(self, role: str, variables: Mapping[str, Any]) -> dict[str, Any]:
        """Return a play with a role."""
        options = {"repository": str(self.repository), **variables}
        given = {f"{role}_{name}": value for name, value in options.items() if value is not None}
        task = {"ansible.builtin.include_role": {"name": f"virtinfra.manager.{role}"}}
        return self._runner.build_play(task, vars=given, ignore_errors=False)

    def back_up(self, *arguments: str, **variables: Any) -> dict[str, dict[str, Any]]:
        """Back up all VMs, and return the entries of the report by the names of the VMs."""
        options = {"query": ["name~=vm-%"], "min_free_percent": 0, **variables}
        code, output, report = self.run_role("vm_backup", *arguments, **options)
        assert code == 0, output
        return {entry["vm"]: entry for entry in report}

    def write(self, volume: str, offset: int, length: int) -> None:
        """Write as the guest of a volume does."""
        self._seed += 1
        self.sim.guest_write(volume, offset, length, self._seed)
        content = self.truth.setdefault(volume, bytearray(SIZE))
        content[offset : offset + length] = Random(self._seed).randbytes(length)

    def state_of(self, vm: str) -> str:
        """Return the state of a VM."""
        return next(str(each["state"]) for each in self.sim.records("vm") if each["name"] == vm)

    def read_point(self, vm: str, point: str, volume: str) -> bytes:
        """Return what qemu-img alone restores of a point."""
        raw = self.repository / "content"
        image = self.repository / vm / point / f"{volume}.qcow2"
        run("qemu-img", "convert", "-f", "qcow2", "-O", "raw", image, raw)
        content = raw.read_bytes()
        raw.unlink()
        return content


@contextmanager
def open_role_site(folder: Path, disk_size: str = "4M") -> Iterator[RoleSite]:
    """Yield a site whose VMs run, and have no CBT tasks."""
    with Simulator("--disks", str(folder / "disks"), "--disk-size", disk_size, "--latency", "0") as sim:
        sim.reset(vms=3, cbt_tasks=0)
        for vm in sim.records("vm"):
            sim.change("vm", vm["uuid"], state="Running")
        yield RoleSite(sim, folder)
