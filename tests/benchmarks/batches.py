"""Measure a loop that starts jobs, and the task that waits for all of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.figures import Figure
from benchmarks.playbooks import Run, run_playbook
from simulator.launch import Simulator
from simulator.state.store import seeded_uuid

JOBS = 200
# The number of jobs whose requests are in the table of the guide.
SHOWN_JOBS = 500

# The duration of the jobs in seconds, and by which part they are longer or shorter.
JOB, JOB_SPREAD = 1.0, 0.2

# The goal for the time of the loop and the wait without the longest job: a multiple of a loop of debug over the items.
GOAL_LOOPS = 2.0


def measure() -> Iterator[Figure]:
    """Yield the figures of a batch of 200 jobs, and the requests of one of 500."""
    yield from measure_batch(JOBS)
    with start_simulator(SHOWN_JOBS) as simulator:
        run = run_playbook([play_of_jobs(SHOWN_JOBS)], simulator)
    yield from list_figures(f"loop_{SHOWN_JOBS}", describe_batch(SHOWN_JOBS), SHOWN_JOBS, run)


def measure_batch(jobs: int) -> Iterator[Figure]:
    """Yield the figures of a batch of jobs."""
    with start_simulator(jobs) as simulator:
        debug = run_playbook([play_of_debug(jobs)], simulator)
        run = run_playbook([play_of_jobs(jobs)], simulator)
    label = describe_batch(jobs)
    text = f"{label}: beside the longest job / the same loop of `ansible.builtin.debug`"
    loops = (run.seconds - JOB * (1 + JOB_SPREAD)) / debug.seconds
    yield Figure(f"loop_{jobs}_debug", text, loops, GOAL_LOOPS, "G2", text, " x")
    yield from list_figures(f"loop_{jobs}", label, jobs, run)


def start_simulator(jobs: int) -> Simulator:
    """Return a simulator with a host for each job."""
    return Simulator("--hosts", str(jobs), "--latency", str(JOB), "--latency-spread", str(JOB_SPREAD))


def describe_batch(jobs: int) -> str:
    """Return what is measured, for the labels of figures."""
    return f"a loop that starts {jobs:,} jobs of {JOB:g} s, and `job_wait`"


def list_figures(name: str, label: str, jobs: int, run: Run) -> Iterator[Figure]:
    """Yield the time, the polls, the other requests and the connections of a run."""
    others = len(run.requests) - run.polls
    is_shown = jobs == SHOWN_JOBS
    # An operation and the list of the objects for each job; the run itself reads nothing else.
    yield Figure(f"{name}_seconds", f"{label}, s", run.seconds)
    yield Figure(f"{name}_polls", f"{label}, polls a job", run.polls / jobs, 1.1, "G2")
    text = f"{label}: requests a job, beside polls"
    yield Figure(f"{name}_requests", text, others / jobs, 2.0, "G2", text if is_shown else "")
    text = f"{label}: connections of its two workers"
    yield Figure(f"{name}_connections", text, run.connections, 4.0, "G2", text if is_shown else "")


def play_of_debug(items: int) -> dict[str, Any]:
    """Return a play with one loop that does nothing."""
    debug = {
        "name": "Show the items",
        "ansible.builtin.debug": {"msg": "{{ item }}"},
        "loop": [seeded_uuid("host", number) for number in range(1, items + 1)],
        "loop_control": {"label": ""},
        "register": "started",
    }
    return {"hosts": "localhost", "gather_facts": False, "tasks": [debug]}


def play_of_jobs(jobs: int) -> dict[str, Any]:
    """Return a play that disables hosts in one loop without waiting, and then waits for all jobs."""
    uuids = [seeded_uuid("host", number) for number in range(1, jobs + 1)]
    start = {
        "name": "Start the jobs",
        "virtinfra.manager.kvm_host": {"uuid": "{{ item }}", "state": "disabled", "wait": False},
        "loop": uuids,
        "loop_control": {"label": ""},
        "register": "started",
    }
    wait = {
        "name": "Wait for the jobs",
        "virtinfra.manager.job_wait": {"jobs": "{{ started.results | map(attribute='job') | list }}"},
    }
    return {"hosts": "localhost", "gather_facts": False, "tasks": [start, wait]}
