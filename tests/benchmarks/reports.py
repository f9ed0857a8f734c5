"""Measure roles that read a small service and write files, in starts of ansible-playbook."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.playbooks import run_playbook
from benchmarks.workflows import build_play
from simulator.launch import Simulator

HOSTS = 5
ROUNDS = 5
GOAL = 2.0


def measure() -> Iterator[Figure]:
    """Yield the processor time of each role, divided by that of a play without tasks. The runs alternate."""
    with Simulator("--hosts", str(HOSTS)) as simulator, tempfile.TemporaryDirectory() as folder:
        variables = {
            "site_description": {"site_description_folder": str(Path(folder, "site"))},
            "capacity_report": {"capacity_report_path": str(Path(folder, "capacity.html"))},
        }
        plays = {
            "start": build_play(),
            **{role: build_play(roles=[f"virtinfra.manager.{role}"], vars=given) for role, given in variables.items()},
        }
        taken: dict[str, list[float]] = {name: [] for name in plays}
        for dummy in range(ROUNDS):
            for name, play in plays.items():
                taken[name].append(run_playbook([play], simulator).processor)
        start = statistics.median(taken["start"])
        for role in variables:
            label = f"the role `{role}` with {HOSTS} hosts / the start of `ansible-playbook`, processor time"
            yield Figure(f"{role}_starts", label, statistics.median(taken[role]) / start, GOAL, "G9", label, " x")
