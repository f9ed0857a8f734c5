"""Run playbooks against a failing service: the demo, the integration targets, and tasks that exceed a rate limit."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from chaos.fault_matrix import fault_name
from chaos.playbooks import PlaybookRun, connection_environment, count_run, find_wrong_results, play
from chaos.random_walk import build_random_faults
from chaos.report import Report
from chaos.store import duplicates
from chaos.targets import TARGETS, is_excused, run_target
from simulator.launch import Simulator
from support.scenarios import NEW_HOST

DEMO = "virtinfra.manager.demo"

# The faults of the operations of playbooks.
FAULTS: tuple[Mapping[str, Any], ...] = (
    {"fault": "drop_before"},
    {"fault": "drop_after"},
    {"fault": "truncate"},
    {"fault": "status", "status": 429},
    {"fault": "status", "status": 502},
    {"fault": "status", "status": 504, "taken": True},
    {"fault": "html", "taken": True},
    {"fault": "garbage", "garbage": "json"},
)


# The type of a function that runs a playbook with faults and yields errors.
Player = Callable[[Sequence[Mapping[str, Any]]], Iterator[str]]


def demo(sim: Simulator, report: Report) -> None:
    """Run the demo with each fault on each operation that it calls, each time followed by a run without faults."""
    sim.reset()
    play(DEMO, sim=sim, environment=connection_environment(sim))
    play_with_each_fault(sim, report, "demo", partial(_play_demo, sim, report))


def play_demo_with_random_faults(sim: Simulator, report: Report, times: int) -> None:
    """Run the demo while one in ten requests fails, each time followed by a run without faults."""
    play_with_random_faults(report, "demo", partial(_play_demo, sim, report), times)


def targets(sim: Simulator, report: Report) -> None:
    """Run the integration targets once with each fault on each operation that they call."""
    for name in TARGETS:
        reference = _play_reference(sim, report, name)
        play_with_each_fault(sim, report, name, partial(_play_target, sim, report, name, reference))


def play_targets_with_random_faults(sim: Simulator, report: Report, times: int) -> None:
    """Run the integration targets while one in ten requests fails."""
    for name in TARGETS:
        reference = _play_reference(sim, report, name)
        play_with_random_faults(report, name, partial(_play_target, sim, report, name, reference), times)


def play_with_each_fault(sim: Simulator, report: Report, name: str, player: Player) -> None:
    """Run a playbook with each fault on each operation in the request log of the simulator."""
    for operation in sorted({entry["operation"] for entry in sim.log() if entry["operation"]}):
        for fault in FAULTS:
            for problem in player([{**fault, "operation": operation}]):
                report.wrong(f"{name} with {fault_name(fault)} on {operation}: {problem}")


def play_with_random_faults(report: Report, name: str, player: Player, times: int) -> None:
    """Run a playbook several times while one in ten requests fails."""
    for number in range(times):
        for problem in player(build_random_faults(7919 * (number + 1), apart=31)):
            report.wrong(f"{name}, time {number} at random: {problem}")


def _play_demo(sim: Simulator, report: Report, faults: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    sim.reset(latency=0.0, reconnect=0.0, boot=0.0)
    for fault in faults:
        sim.fault(**fault)
    run = play(DEMO, sim=sim, environment=connection_environment(sim))
    count_run(report, run, sim)
    yield from find_wrong_results(run)
    sim.clear_faults()
    for last in (False, True):
        run = play(DEMO, sim=sim, environment=connection_environment(sim))
        if run.code:
            yield f"it does not converge: {run.output}"
        if last and run.recap_total("changed"):
            yield f"it is not idempotent: {run.output}"
    state = sim.settle()
    yield from duplicates(state)
    taken = [group for group in state["snapshotgroup"] if group["name"] == "first-state"]
    if len(state["host"]) != 6 or len(taken) != 3:
        yield f"there are {len(state['host'])} hosts and {len(taken)} snapshot groups"


def _play_reference(sim: Simulator, report: Report, name: str) -> PlaybookRun:
    """Run a target against a service without faults."""
    run = run_target(sim, name)
    problems = [f"it fails: {run.output}"] if run.code else list(find_wrong_results(run))
    for problem in problems:
        report.wrong(f"{name} without any fault: {problem}")
    return run


def _play_target(
    sim: Simulator, report: Report, name: str, reference: PlaybookRun, faults: Sequence[Mapping[str, Any]]
) -> Iterator[str]:
    run = run_target(sim, name, faults)
    count_run(report, run, sim)
    yield from find_wrong_results(run)
    if run.code and not is_excused(run, reference):
        yield f"it fails, although each of its tasks ended as it does without faults: {run.output}"
    sim.clear_faults()
    yield from duplicates(sim.settle())


def overload(sim: Simulator, report: Report, tasks: int, rate: float) -> None:
    """Add hosts with many concurrent tasks to a service that accepts ``rate`` requests per second."""
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
        playbook = Path(folder, "overload.yml")
        playbook.write_text(json.dumps(plays), encoding="utf-8")
        run = play(
            "-i",
            ",".join(addresses) + ",",
            str(playbook),
            sim=sim,
            forks=tasks,
            environment=connection_environment(sim),
        )
    sim.configure(rate_limit=0.0)
    log = sim.log()
    report.tasks += tasks
    report.failed += run.recap_total("failed")
    report.requests += len(log)
    report.faults["too many requests"] += sum(entry["status"] == 429 for entry in log)
    added = {record["managementIp"] for record in sim.records("host")}
    if run.code or run.recap_total("changed") != tasks or not added.issuperset(addresses):
        report.wrong(f"{tasks} tasks at once: {run.output}")
    for problem in duplicates(sim.state()):
        report.wrong(f"{tasks} tasks at once: {problem}")
