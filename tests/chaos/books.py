# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Real playbooks on a service that fails: the demo, the integration targets, and more tasks at once than it likes."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from chaos.each import fault_name
from chaos.playbooks import Played, access, note, play, untruths
from chaos.report import Report
from chaos.store import duplicates, settled
from chaos.targets import TARGETS, excused, run_target
from chaos.walk import one_in_ten
from simulator.launch import Simulator
from support.scenarios import NEW_HOST

DEMO = "virtinfra.manager.demo"

# What may go wrong with an operation of a playbook.
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


# Runs a playbook while these things go wrong, and yields what is not as promised.
Player = Callable[[Sequence[Mapping[str, Any]]], Iterator[str]]


def demo(sim: Simulator, report: Report) -> None:
    """Play the demo once with each fault on each operation that it calls, and each time again without."""
    sim.reset()
    play(DEMO, sim=sim, environment=access(sim))
    each_on_each(sim, report, "demo", partial(_demo, sim, report))


def demo_at_random(sim: Simulator, report: Report, times: int) -> None:
    """Play the demo while one in ten requests goes wrong, and each time again without."""
    at_random(report, "demo", partial(_demo, sim, report), times)


def targets(sim: Simulator, report: Report) -> None:
    """Play the integration targets once with each fault on each operation that they call."""
    for name in TARGETS:
        usual = _usual(sim, report, name)
        each_on_each(sim, report, name, partial(_target, sim, report, name, usual))


def targets_at_random(sim: Simulator, report: Report, times: int) -> None:
    """Play the integration targets while one in ten requests goes wrong."""
    for name in TARGETS:
        usual = _usual(sim, report, name)
        at_random(report, name, partial(_target, sim, report, name, usual), times)


def each_on_each(sim: Simulator, report: Report, name: str, playbook_runner: Player) -> None:
    """Play a playbook with each fault on each operation that the simulator was asked for until now."""
    for operation in sorted({entry["operation"] for entry in sim.log() if entry["operation"]}):
        for fault in EACH:
            for trouble in playbook_runner([{**fault, "operation": operation}]):
                report.wrong(f"{name} with {fault_name(fault)} on {operation}: {trouble}")


def at_random(report: Report, name: str, playbook_runner: Player, times: int) -> None:
    """Play a playbook some times while one in ten requests goes wrong."""
    for number in range(times):
        for trouble in playbook_runner(one_in_ten(7919 * (number + 1), apart=31)):
            report.wrong(f"{name}, time {number} at random: {trouble}")


def _demo(sim: Simulator, report: Report, faults: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    sim.reset(latency=0.0, reconnect=0.0)
    for fault in faults:
        sim.fault(**fault)
    played = play(DEMO, sim=sim, environment=access(sim))
    note(report, played, sim)
    yield from untruths(played)
    sim.clear_faults()
    for last in (False, True):
        played = play(DEMO, sim=sim, environment=access(sim))
        if played.code:
            yield f"it does not converge: {played.output}"
        if last and played.counted("changed"):
            yield f"it is not idempotent: {played.output}"
    state = settled(sim)
    yield from duplicates(state)
    if len(state["host"]) != 6 or len(state["cbttask"]) != 3:
        yield f"there are {len(state['host'])} hosts and {len(state['cbttask'])} CBT tasks"


def _usual(sim: Simulator, report: Report, name: str) -> Played:
    """Play a target on a service that does not fail."""
    played = run_target(sim, name)
    troubles = [f"it fails: {played.output}"] if played.code else list(untruths(played))
    for trouble in troubles:
        report.wrong(f"{name} without any fault: {trouble}")
    return played


def _target(
    sim: Simulator, report: Report, name: str, usual: Played, faults: Sequence[Mapping[str, Any]]
) -> Iterator[str]:
    played = run_target(sim, name, faults)
    note(report, played, sim)
    yield from untruths(played)
    if played.code and not excused(played, usual):
        yield f"it fails, though each of its tasks ended as it usually does: {played.output}"
    sim.clear_faults()
    yield from duplicates(settled(sim))


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
        played = play("-i", ",".join(addresses) + ",", str(book), sim=sim, forks=tasks, environment=access(sim))
    sim.configure(rate_limit=0.0)
    log = sim.log()
    report.tasks += tasks
    report.failed += played.counted("failed")
    report.requests += len(log)
    report.faults["too many requests"] += sum(entry["status"] == 429 for entry in log)
    added = {record["managementIp"] for record in sim.records("host")}
    if played.code or played.counted("changed") != tasks or not added.issuperset(addresses):
        report.wrong(f"{tasks} tasks at once: {played.output}")
    for trouble in duplicates(sim.state()):
        report.wrong(f"{tasks} tasks at once: {trouble}")
