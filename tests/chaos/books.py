# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Real playbooks on a service that fails: the demo, and more tasks at once than the service likes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from chaos.report import Report
from chaos.scenarios import NEW_HOST
from chaos.store import settled, twins
from chaos.walk import FAULTS, RATE
from simulator.launch import Simulator

DEMO = "virtinfra.manager.demo"
LONGEST = 600

# Operations that the demo calls, and polls; and what may go wrong with each of them.
CALLED = (
    "QueryHost",
    "AddKVMHost",
    "ChangeHostState",
    "QueryVmInstance",
    "QueryCbtTask",
    "CreateCbtTask",
    "EnableCbtTask",
    "QueryPrimaryStorage",
    "poll",
)
EACH: tuple[Mapping[str, Any], ...] = (
    {"fault": "drop_before"},
    {"fault": "drop_after"},
    {"fault": "truncate"},
    {"fault": "status", "status": 429},
    {"fault": "status", "status": 502},
    {"fault": "status", "status": 504, "taken": True},
    {"fault": "html", "taken": True},
    {"fault": "garbage", "garbage": "json"},
)


def ansible_playbook(*arguments: str, sim: Simulator, forks: int = 5) -> tuple[int, str]:
    """Run ansible-playbook against a simulator; return its exit code and its output."""
    environment = {
        **os.environ,
        "VIRTINFRA_BASE_URL": sim.url,
        "VIRTINFRA_SESSION_ID": sim.session,
        "VIRTINFRA_API_TOKEN": sim.token,
        "ANSIBLE_FORKS": str(forks),
        "ANSIBLE_NOCOLOR": "1",
    }
    command = [str(Path(sys.executable).parent / "ansible-playbook"), *arguments]
    done = subprocess.run(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LONGEST,
        check=False,
    )
    return done.returncode, done.stdout


def counted(output: str, word: str) -> int:
    """Return a number of the recap, summed up over all hosts."""
    return sum(map(int, re.findall(rf"\b{word}=(\d+)", output.partition("PLAY RECAP")[2])))


def demo(sim: Simulator, report: Report, operations: Sequence[str], faults: Sequence[Mapping[str, Any]]) -> None:
    """Play the demo once with each fault on each operation, and each time again without."""
    for operation in operations:
        for fault in faults:
            words = " ".join(str(value) for value in fault.values())
            for trouble in _demo(sim, report, [{**fault, "operation": operation}]):
                report.wrong(f"demo with {words} on {operation}: {trouble}")


def demo_at_random(sim: Simulator, report: Report, times: int) -> None:
    """Play the demo while one in ten requests goes wrong, and each time again without."""
    for number in range(times):
        faults = [
            {**fault, "probability": RATE / len(FAULTS), "seed": 7919 * (number + 1) + 31 * offset, "count": None}
            for offset, fault in enumerate(FAULTS)
        ]
        for trouble in _demo(sim, report, faults):
            report.wrong(f"demo, time {number} at random: {trouble}")


def _demo(sim: Simulator, report: Report, faults: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    sim.reset(latency=0.01, reconnect=0.05)
    for fault in faults:
        sim.fault(**fault)
    code, output = ansible_playbook(DEMO, sim=sim)
    told = {"failed": code != 0, "msg": "is unknown" if "is unknown" in output else ""}
    report.task(told, {each["fault"]: each["happened"] for each in sim.faults()}, len(sim.log()))
    if "Traceback" in output or "This is a bug" in output:
        yield f"there is a traceback: {output}"
    sim.clear_faults()
    for last in (False, True):
        code, output = ansible_playbook(DEMO, sim=sim)
        if code:
            yield f"it does not converge: {output}"
        if last and counted(output, "changed"):
            yield f"it is not idempotent: {output}"
    state = settled(sim)
    yield from twins(state)
    if len(state["host"]) != 6 or len(state["cbttask"]) != 3:
        yield f"there are {len(state['host'])} hosts and {len(state['cbttask'])} CBT tasks"


def overload(sim: Simulator, report: Report, tasks: int, rate: float) -> None:
    """Add hosts by so many tasks at once to a service that takes so many requests a second."""
    sim.reset(rate_limit=rate)
    options = {**NEW_HOST, "name": "{{ inventory_hostname }}", "management_ip": "{{ inventory_hostname }}"}
    plays = [
        {
            "hosts": "all",
            "gather_facts": False,
            "connection": "local",
            "strategy": "ansible.builtin.free",
            "tasks": [{"virtinfra.manager.kvm_host": options}],
        }
    ]
    addresses = [f"10.7.{number // 200}.{number % 200 + 1}" for number in range(tasks)]
    with tempfile.TemporaryDirectory() as folder:
        book = Path(folder, "overload.yml")
        book.write_text(json.dumps(plays), encoding="utf-8")
        code, output = ansible_playbook("-i", ",".join(addresses) + ",", str(book), sim=sim, forks=tasks)
    sim.configure(rate_limit=0.0)
    log = sim.log()
    report.tasks += tasks
    report.failed += counted(output, "failed")
    report.requests += len(log)
    report.faults["too many requests"] += sum(entry["status"] == 429 for entry in log)
    added = {record["managementIp"] for record in sim.records("host")}
    if code or counted(output, "changed") != tasks or not added.issuperset(addresses):
        report.wrong(f"{tasks} tasks at once: {output}")
    for trouble in twins(sim.state()):
        report.wrong(f"{tasks} tasks at once: {trouble}")
