"""Measure the cost of a task, relative to ``ansible.builtin.uri`` with the same GET.

The time that passes is measured within one run of a playbook. On a machine that does other work, only the time of the
processor says something; it is measured with a run for each kind of task.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml

from benchmarks.figures import Figure
from benchmarks.payloads import measure_payloads
from benchmarks.playbooks import run_playbook as run_and_measure
from simulator.launch import Simulator

CALLBACKS = Path(__file__).parent / "plugins" / "callback"
ELSEWHERE = Path(__file__).parent.parent / "support" / "plugins" / "connection"
ROUNDS = 15
ITEMS = 60
HOST = "a0000003000040008000000000000001"


def measure() -> Iterator[Figure]:
    """Yield the figures of single tasks and of loops."""
    with Simulator() as simulator:
        seconds = measure_tasks(simulator.url)
        processor = measure_processor(simulator)
    uri, debug = seconds["uri"], seconds["debug"]
    for name, value in seconds.items():
        yield Figure(f"task_{name.replace(' ', '_')}_ms", f"{name}, ms", value * 1000)
    label = "a task that reads, inside the controller / the same request by `ansible.builtin.uri`"
    yield Figure("task_uri", label, seconds["in process"] / uri, 0.08, "G1", label, " x")
    label = "the same task / `ansible.builtin.debug`"
    yield Figure("task_debug", label, seconds["in process"] / debug, 1.4, "G1", label, " x")
    label = "an item of a loop that reads / an item of `uri`"
    yield Figure("item_uri", label, seconds["item in process"] / seconds["item of uri"], 0.02, "G1", label, " x")
    label = "a task in a module process (`async`, `become`, a remote connection) / `uri`"
    yield Figure("process_uri", label, seconds["module process"] / uri, 0.95, "G1b", label, " x")
    for name, label, other, goal, goal_id in (
        ("task_uri", "a task that reads / `uri`", "uri", 0.08, "G1"),
        ("task_debug", "a task that reads / `debug`", "debug", 1.4, "G1"),
        ("process_uri", "`host_info` in a module process / `uri`", "uri", 0.95, "G1b"),
        ("process_change_uri", "`kvm_host` in a module process / `uri`", "uri", 1.1, "G1b"),
    ):
        kind = {"process_uri": "module process", "process_change_uri": "module process that changes"}.get(name)
        text = f"{label}, processor time"
        value = processor[kind or "in process"] / processor[other]
        yield Figure(f"{name}_processor", text, value, goal, goal_id, text, " x")
    yield from measure_payloads()


def measure_processor(simulator: Simulator) -> dict[str, float]:
    """Return the processor time of each kind of task in seconds, without that of the start and of the first task."""
    kinds = {
        **build_tasks(simulator.url),
        "module process that changes": {
            "virtinfra.manager.kvm_host": {"uuid": HOST, "description": "x"},
            "vars": {"ansible_connection": "elsewhere"},
        },
    }

    def measure_run(tasks: list[dict[str, Any]]) -> float:
        play = {"hosts": "localhost", "gather_facts": False, "tasks": tasks}
        plugins = {"ANSIBLE_CONNECTION_PLUGINS": str(ELSEWHERE)}
        return run_and_measure([play], simulator, environment=plugins).processor

    return {name: (measure_run([task] * (ROUNDS + 1)) - measure_run([task])) / ROUNDS for name, task in kinds.items()}


def measure_tasks(url: str) -> dict[str, float]:
    """Return the median seconds of each kind of task. The kinds alternate, so that noise affects all of them."""
    kinds = build_tasks(url)
    read, get = kinds["in process"], kinds["uri"]
    tasks: list[dict[str, Any]] = [{"name": name, **task} for dummy in range(ROUNDS) for name, task in kinds.items()]
    loops = [
        {"name": "item in process", **read, "loop": list(range(ITEMS))},
        {"name": "item of uri", **get, "loop": list(range(ITEMS // 6))},
    ]
    play = {"hosts": "localhost", "gather_facts": False, "tasks": [*tasks, *loops]}
    with tempfile.TemporaryDirectory() as folder:
        playbook, times = Path(folder, "play.yml"), Path(folder, "times")
        playbook.write_text(yaml.safe_dump([play]))
        run_playbook(playbook, times)
        notes = [json.loads(line) for line in times.read_text().splitlines()]
    taken: dict[str, list[float]] = {}
    for (begin, name), (end, dummy_next) in pairwise(notes):
        taken.setdefault(name, []).append(end - begin)
    medians = {name: statistics.median(values) for name, values in taken.items()}
    # The first item includes the cost of the task itself.
    medians["item in process"] = (medians["item in process"] - medians["in process"]) / (ITEMS - 1)
    medians["item of uri"] = (medians["item of uri"] - medians["uri"]) / (ITEMS // 6 - 1)
    return medians


def build_tasks(url: str) -> dict[str, dict[str, Any]]:
    """Return a task of each kind."""
    session = "simulator-session"
    read: dict[str, Any] = {"virtinfra.manager.host_info": {"base_url": url, "session_id": session, "uuid": HOST}}
    headers = {"Authorization": f"OAuth {session}"}
    return {
        "debug": {"ansible.builtin.debug": {"msg": "x"}},
        "uri": {"ansible.builtin.uri": {"url": f"{url}/service/v1/hosts/{HOST}", "headers": headers}},
        "in process": read,
        "module process": {**read, "vars": {"ansible_connection": "elsewhere"}},
    }


def run_playbook(playbook: Path, times: Path) -> None:
    """Run a playbook and record in ``times`` when its tasks began."""
    environment = {
        **os.environ,
        "ANSIBLE_CALLBACK_PLUGINS": str(CALLBACKS),
        "ANSIBLE_CALLBACKS_ENABLED": "task_times",
        "ANSIBLE_CONNECTION_PLUGINS": str(ELSEWHERE),
        "TASK_TIMES": str(times),
    }
    command = [str(Path(sys.executable).parent / "ansible-playbook"), "-i", "localhost,", "-c", "local", str(playbook)]
    command += ["-e", "ansible_python_interpreter={{ ansible_playbook_python }}"]
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
