# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Running ansible-playbook against a simulator, and whether its tasks told the truth."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chaos.report import Report
from chaos.store import wrong_changed
from simulator.launch import Simulator

PREFIX = "virtinfra.manager."
LONGEST = 600
# Modules that do something each time, or that call what they are told to.
ACTIONS = frozenset(PREFIX + name for name in ("api", "cbt_volume_export", "sns_snmp_test", "vm_nic_qos"))


@dataclass(frozen=True)
class Played:
    """A run of ansible-playbook: what it printed, and its tasks as the callback plugin witness notes them."""

    code: int
    output: str
    tasks: list[dict[str, Any]]

    def counted(self, word: str) -> int:
        """Return a number of the recap, summed up over all hosts."""
        return sum(map(int, re.findall(rf"\b{word}=(\d+)", self.output.partition("PLAY RECAP")[2])))


def access(sim: Simulator) -> dict[str, str]:
    """Return the variables of the environment by which tasks find the simulator."""
    return {
        "VIRTINFRA_BASE_URL": sim.url,
        "VIRTINFRA_SESSION_ID": sim.session,
        "VIRTINFRA_API_TOKEN": sim.token,
    }


def play(*arguments: str, sim: Simulator, environment: Mapping[str, str], forks: int = 5) -> Played:
    """Run ansible-playbook while a simulator is watched."""
    folder_of_tools = str(Path(sys.executable).parent)
    with tempfile.TemporaryDirectory() as folder:
        notes = Path(folder, "tasks")
        notes.touch()
        done = subprocess.run(
            [str(Path(folder_of_tools, "ansible-playbook")), *arguments],
            env={
                **os.environ,
                "PATH": folder_of_tools + os.pathsep + os.environ.get("PATH", os.defpath),
                "ANSIBLE_FORKS": str(forks),
                "ANSIBLE_NOCOLOR": "1",
                "ANSIBLE_CALLBACK_PLUGINS": str(Path(__file__).parent / "plugins" / "callback"),
                "ANSIBLE_CALLBACKS_ENABLED": "witness",
                "WITNESS_FILE": str(notes),
                "WITNESS_SIMULATOR": sim.url,
                **environment,
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LONGEST,
            check=False,
        )
        tasks = [json.loads(line) for line in notes.read_text(encoding="utf-8").splitlines()]
    return Played(done.returncode, done.stdout, tasks)


def untruths(played: Played) -> Iterator[str]:
    """Yield what is wrong with what the tasks of a run told of their changes."""
    if "Traceback" in played.output or "This is a bug" in played.output:
        yield f"there is a traceback: {played.output}"
    for task, results in _own(played):
        if task["check"] and task["before"] != task["after"]:
            yield f"{task['name']}: it changes something in check mode"
        if task["check"] or task["apart"]:
            continue
        parts = [part for result in results for part in (result, *result.get("results", ()))]
        jobs = [part["job"] for part in parts if part.get("job")]
        told = {**results[0], "changed": any(result["changed"] for result in results)}
        if jobs:
            told["job"] = jobs[0]
        if trouble := wrong_changed(told, task["before"], task["after"], task["action"] in ACTIONS):
            yield f"{task['name']}: {trouble}"
        if any(job["state"] == "running" for job in jobs):
            # What is still under way may change what is there during any of the next tasks.
            return


def note(report: Report, played: Played, sim: Simulator) -> None:
    """Put the figures of a run into the report."""
    for dummy, results in _own(played):
        for result in results:
            report.task(result, {}, 0)
    report.requests += len(sim.log())
    for fault in sim.faults():
        report.faults[fault["fault"]] += fault["happened"]


def _own(played: Played) -> Iterator[tuple[Mapping[str, Any], list[dict[str, Any]]]]:
    """Yield the tasks that ran modules of the collection, each with its results."""
    for task in played.tasks:
        if task["action"].startswith(PREFIX) and task["results"]:
            yield task, task["results"]
