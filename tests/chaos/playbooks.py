"""Run ansible-playbook against a simulator, and check the results of its tasks."""

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
from chaos.store import explain_wrong_changed
from simulator.launch import Simulator

PREFIX = "virtinfra.manager."
TIMEOUT = 600
# Modules that call an operation each time they run.
ACTIONS = frozenset(PREFIX + name for name in ("api", "cbt_volume_export", "sns_snmp_test"))


@dataclass(frozen=True)
class PlaybookRun:
    """A run of ansible-playbook: exit code, output, and the tasks that state_recorder recorded."""

    code: int
    output: str
    tasks: list[dict[str, Any]]

    def recap_total(self, column: str) -> int:
        """Return a column of the recap, summed up over all hosts."""
        return sum(map(int, re.findall(rf"\b{column}=(\d+)", self.output.partition("PLAY RECAP")[2])))


def connection_environment(sim: Simulator) -> dict[str, str]:
    """Return the environment variables that connect tasks to the simulator."""
    return {
        "VIRTINFRA_BASE_URL": sim.url,
        "VIRTINFRA_SESSION_ID": sim.session,
        "VIRTINFRA_API_TOKEN": sim.token,
    }


def play(*arguments: str, sim: Simulator, environment: Mapping[str, str], forks: int = 5) -> PlaybookRun:
    """Run ansible-playbook and record the state of a simulator before and after each task."""
    bin_folder = str(Path(sys.executable).parent)
    with tempfile.TemporaryDirectory() as folder:
        records = Path(folder, "tasks")
        records.touch()
        process = subprocess.run(
            [str(Path(bin_folder, "ansible-playbook")), *arguments],
            env={
                **os.environ,
                "PATH": bin_folder + os.pathsep + os.environ.get("PATH", os.defpath),
                "ANSIBLE_FORKS": str(forks),
                "ANSIBLE_NOCOLOR": "1",
                "ANSIBLE_CALLBACK_PLUGINS": str(Path(__file__).parent / "plugins" / "callback"),
                "ANSIBLE_CALLBACKS_ENABLED": "state_recorder",
                "WITNESS_FILE": str(records),
                "WITNESS_SIMULATOR": sim.url,
                **environment,
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )
        tasks = [json.loads(line) for line in records.read_text(encoding="utf-8").splitlines()]
    return PlaybookRun(process.returncode, process.stdout, tasks)


def find_wrong_results(run: PlaybookRun) -> Iterator[str]:
    """Yield errors in the results of the tasks of a run."""
    if "Traceback" in run.output or "This is a bug" in run.output:
        yield f"there is a traceback: {run.output}"
    for task, results in _collection_tasks(run):
        if task["check"] and task["before"] != task["after"]:
            yield f"{task['name']}: it changes something in check mode"
        if task["check"] or task["apart"]:
            continue
        parts = [part for result in results for part in (result, *result.get("results", ()))]
        jobs = [part["job"] for part in parts if part.get("job")]
        combined = {**results[0], "changed": any(result["changed"] for result in results)}
        if jobs:
            combined["job"] = jobs[0]
        if problem := explain_wrong_changed(combined, task["before"], task["after"], task["action"] in ACTIONS):
            yield f"{task['name']}: {problem}"
        if any(job["state"] == "running" for job in jobs):
            # A running job may change the state during any of the next tasks.
            return


def count_run(report: Report, run: PlaybookRun, sim: Simulator) -> None:
    """Add the figures of a run to the report."""
    for dummy, results in _collection_tasks(run):
        for result in results:
            report.task(result, {}, 0)
    report.requests += len(sim.log())
    for fault in sim.faults():
        report.faults[fault["fault"]] += fault["happened"]


def _collection_tasks(run: PlaybookRun) -> Iterator[tuple[Mapping[str, Any], list[dict[str, Any]]]]:
    """Yield the tasks that ran modules of the collection, each with its results."""
    for task in run.tasks:
        if task["action"].startswith(PREFIX) and task["results"]:
            yield task, task["results"]
