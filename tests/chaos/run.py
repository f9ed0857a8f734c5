"""Run tasks and playbooks against a failing service, and report the results; exit with 1 if one is wrong."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from unittest import mock

from ansible_collections.virtinfra.manager.plugins.module_utils._http import transport

from chaos.batches import change_names, run_with_faults
from chaos.controllers import run_two_controllers
from chaos.declared import run_declarations
from chaos.fault_matrix import (
    CALL,
    FAULTS,
    MAIN_FAULTS,
    OTHER_RESPONSES,
    POLL,
    READ_FAULTS,
    READS,
    TLS_FAULTS,
    run_diagonal,
    run_matrix,
)
from chaos.host_marks import kill_hosts
from chaos.kills import kill_roles
from chaos.marks import kill_controllers, walk_marks
from chaos.playbook_faults import demo, overload, play_demo_with_random_faults, play_targets_with_random_faults, targets
from chaos.random_walk import random_walk
from chaos.report import Report
from chaos.roles import walk_roles
from chaos.sessions import many_tasks, walk
from chaos.workflows import run_workflows
from simulator.launch import Simulator
from support.in_process import InProcessAdapter, InProcessSimulator

Part = Callable[[Simulator, Report], None]


def reads(sim: Simulator, report: Report) -> None:
    """Run every scenario with every fault on each of its reads."""
    for target in READS:
        run_diagonal(sim, report, target, READ_FAULTS)


def in_this_process(part: Part) -> Part:
    """Return the part with a simulator in this process, to which every fault is as over a socket, as unit tests show.

    Sockets would take half of the time of a task. Other parts use them, and the long form does in all parts.
    """

    def run(dummy: Simulator, report: Report) -> None:
        with InProcessSimulator() as sim, mock.patch.object(transport, "Adapter", InProcessAdapter):
            part(sim, report)

    return run


def run_many_with_faults(sim: Simulator, report: Report, count: int, times: int) -> None:
    """Run batches at random, each time with other objects and faults."""
    for seed in range(times):
        run_with_faults(sim, report, count, seed)


SHORT: dict[str, Part] = {
    "half of the main faults on each call": in_this_process(
        lambda sim, report: run_diagonal(
            sim, report, CALL, [fault for fault in MAIN_FAULTS if fault not in TLS_FAULTS], step=2
        )
    ),
    "faults of TLS on each call": lambda sim, report: run_diagonal(
        sim, report, CALL, [fault for fault in MAIN_FAULTS if fault in TLS_FAULTS]
    ),
    "responses of other requests to the first poll": in_this_process(
        lambda sim, report: run_diagonal(sim, report, POLL, OTHER_RESPONSES)
    ),
    "at random": lambda sim, report: random_walk(sim, report, 60, 1),
    "batches at random": lambda sim, report: run_with_faults(sim, report, 100, 1),
    "names that change during a run": lambda sim, report: change_names(sim, report, 2, 1),
    "a fault on each request of workflows": in_this_process(
        lambda sim, report: run_workflows(sim, report, MAIN_FAULTS, True)
    ),
    "a fault on requests of VMs, volumes and kinds": in_this_process(
        lambda sim, report: run_declarations(sim, report, MAIN_FAULTS, True)
    ),
    "controllers that are killed in slow stops": lambda sim, report: kill_controllers(sim, report, 8, 0.5, 1),
    "marks, several labels and a person": in_this_process(lambda sim, report: walk_marks(sim, report, 300, 1)),
    "evacuations and maintenances that are killed": lambda sim, report: kill_hosts(sim, report, 12, 0.3, 1),
    "roles that are killed in slow calls": in_this_process(lambda sim, report: kill_roles(sim, report, 2, 0.1, 1)),
    "all roles, two controllers and a person": in_this_process(lambda sim, report: walk_roles(sim, report, 20, 1)),
    "two controllers and a rogue": lambda sim, report: run_two_controllers(sim, report, 15, 1),
    "demo at random": lambda sim, report: play_demo_with_random_faults(sim, report, 1),
    "20 tasks at once, 20 requests a second": lambda sim, report: overload(sim, report, 20, 20.0),
    "logins that fail": lambda sim, report: walk(sim, report, 34, 1),
    "100 tasks, sessions that expire": lambda sim, report: many_tasks(sim, report, 20, 5, 0.5),
}
LONG: dict[str, Part] = {
    "each fault on each call": lambda sim, report: run_matrix(sim, report, FAULTS),
    "each fault on each read": reads,
    "at random": lambda sim, report: random_walk(sim, report, 1500, 1),
    "at random, job ids ignored": lambda sim, report: random_walk(
        sim, report, 1500, 2, job_uuid="ignore", location="malformed"
    ),
    "batches at random": lambda sim, report: run_many_with_faults(sim, report, 1000, 10),
    "names that change during a run": lambda sim, report: change_names(sim, report, 100, 1),
    "each fault on each request of workflows": lambda sim, report: run_workflows(sim, report, FAULTS),
    "each fault on each request of VMs, volumes and kinds": in_this_process(
        lambda sim, report: run_declarations(sim, report, FAULTS)
    ),
    "controllers that are killed in slow stops": lambda sim, report: kill_controllers(sim, report, 12, 10.0, 1),
    "marks, several labels and a person": in_this_process(lambda sim, report: walk_marks(sim, report, 5000, 1)),
    "evacuations and maintenances that are killed": lambda sim, report: kill_hosts(sim, report, 24, 10.0, 1),
    "roles that are killed in slow calls": in_this_process(lambda sim, report: kill_roles(sim, report, 60, 0.3, 1)),
    "all roles, two controllers and a person": in_this_process(lambda sim, report: walk_roles(sim, report, 600, 1)),
    "two controllers and a rogue": lambda sim, report: run_two_controllers(sim, report, 600, 1),
    "demo with each fault on each operation": demo,
    "demo at random": lambda sim, report: play_demo_with_random_faults(sim, report, 10),
    "integration playbooks with each fault on each operation": targets,
    "integration playbooks at random": lambda sim, report: play_targets_with_random_faults(sim, report, 3),
    "100 tasks at once, 20 requests a second": lambda sim, report: overload(sim, report, 100, 20.0),
    "logins that fail": lambda sim, report: walk(sim, report, 1000, 1),
    "500 tasks, one session": lambda sim, report: many_tasks(sim, report, 50, 10, None),
    "500 tasks, sessions that expire every 5 s": lambda sim, report: many_tasks(sim, report, 50, 10, 5.0),
    "500 tasks, sessions that expire twice a second": lambda sim, report: many_tasks(sim, report, 50, 10, 0.5),
}


def main() -> None:
    """Run the parts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true", help="run the short form, which takes about five minutes")
    parser.add_argument("--only", metavar="TEXT", default="", help="run only the parts whose names contain this text")
    arguments = parser.parse_args()
    parts = {name: part for name, part in (SHORT if arguments.short else LONG).items() if arguments.only in name}
    reports = [Report(name) for name in parts]
    with Simulator() as sim:
        for report in reports:
            parts[report.title](sim, report.begin())
            report.show()
    if wrong := sum(len(report.problems) for report in reports):
        raise SystemExit(f"{wrong} results are wrong.")
    print("Every task ended, nothing exists twice or is missing, and every `changed` is true.")


if __name__ == "__main__":
    main()
