# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Play tasks and playbooks on a service that fails, and tell what came of it; exit with 1 when something went wrong."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from chaos.books import demo, demo_at_random, overload, targets, targets_at_random
from chaos.each import FAULTS, HITS, SERVERS, each_fault, each_fault_in_turn
from chaos.report import Report
from chaos.walk import random_walk
from simulator.launch import Simulator

Part = Callable[[Simulator, Report], None]

# The faults of the short form: one of those that differ in little only.
BRIEF = tuple(
    fault
    for fault in FAULTS
    if fault.get("garbage") in (None, "types", "login") and fault.get("status") in (None, 204, 404, 502)
)

SHORT: dict[str, Part] = {
    "each fault on each call": lambda sim, report: each_fault_in_turn(sim, report, BRIEF),
    "at random": lambda sim, report: random_walk(sim, report, 150, 1),
    "demo at random": lambda sim, report: demo_at_random(sim, report, 1),
    "20 tasks at once, 20 requests a second": lambda sim, report: overload(sim, report, 20, 20.0),
}
LONG: dict[str, Part] = {
    "each fault on each request": lambda sim, report: each_fault(sim, report, tuple(SERVERS), HITS),
    "at random": lambda sim, report: random_walk(sim, report, 1500, 1),
    "at random, job ids ignored": lambda sim, report: random_walk(
        sim, report, 1500, 2, job_uuid="ignore", location="malformed"
    ),
    "demo with each fault on each operation": demo,
    "demo at random": lambda sim, report: demo_at_random(sim, report, 10),
    "integration playbooks with each fault on each operation": targets,
    "integration playbooks at random": lambda sim, report: targets_at_random(sim, report, 3),
    "100 tasks at once, 20 requests a second": lambda sim, report: overload(sim, report, 100, 20.0),
}


def main() -> None:
    """Run the parts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true", help="the form for every day, under two minutes")
    parser.add_argument("--only", metavar="WORDS", default="", help="only the parts whose names hold these words")
    arguments = parser.parse_args()
    parts = {name: part for name, part in (SHORT if arguments.short else LONG).items() if arguments.only in name}
    reports = [Report(name) for name in parts]
    with Simulator() as sim:
        for report in reports:
            parts[report.title](sim, report.begin())
            report.show()
    if wrong := sum(len(report.troubles) for report in reports):
        raise SystemExit(f"{wrong} things went otherwise than promised.")
    print("Every task ended; nothing is there twice, nothing is missing, and every change that was told is true.")


if __name__ == "__main__":
    main()
