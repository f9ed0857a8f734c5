"""Measure the module batch: 500 hosts that it adds at the same time, and a second run that changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.figures import Figure
from benchmarks.playbooks import run_playbook
from simulator.launch import Simulator

HOSTS = 500
# The duration of the jobs, in seconds, and by which part they are longer or shorter.
JOB = 2.0
JOB_SPREAD = 0.2

COMMON = {"cluster": "cluster-1", "username": "root", "password": "only-for-the-simulator", "state": "enabled"}


def measure() -> Iterator[Figure]:
    """Yield the figures of a batch of hosts that are added, and of the same batch afterwards."""
    with Simulator("--latency", str(JOB), "--latency-spread", str(JOB_SPREAD)) as simulator:
        play = play_of_batch(HOSTS, COMMON, create_hosts(HOSTS))
        first, second = run_playbook([play], simulator), run_playbook([play], simulator)
    longest = JOB * (1 + JOB_SPREAD)
    text = f"adding {HOSTS} hosts with the module `batch`, jobs of {JOB:g} s: beside the longest job, s"
    yield Figure("batch_500_beside", text, first.seconds - longest)
    yield Figure("batch_500_requests", "the same: requests a host", len(first.requests) / HOSTS)
    yield Figure("batch_500_connections", "the same: connections", first.connections)
    yield Figure("batch_500_again", "the same again, which changes nothing, s", second.seconds)


def create_hosts(count: int) -> list[dict[str, Any]]:
    """Return the options of hosts that the service does not have."""
    return [
        {"name": f"node-{number}", "management_ip": f"10.1.{number // 250}.{number % 250 + 1}"}
        for number in range(count)
    ]


def play_of_batch(count: int, common: dict[str, Any], objects: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a play that runs kvm_host for all objects at the same time."""
    batch = {"module": "kvm_host", "common": common, "objects": objects, "concurrency": count}
    return {
        "hosts": "localhost",
        "gather_facts": False,
        "tasks": [{"name": "Change the hosts", "virtinfra.manager.batch": batch}],
    }
