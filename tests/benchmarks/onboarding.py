"""Measure the time and the requests of the role host_onboarding, for 500 hosts and jobs of two minutes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.figures import Figure
from benchmarks.playbooks import run_playbook
from simulator.launch import Simulator

HOSTS = 500
# How many hosts Ansible works on concurrently.
FORKS = 50
# The duration of the job that adds a host, in seconds, and by which part it is longer or shorter. In a real service it
# takes minutes, and not the same time for each host.
JOB = 120.0
JOB_SPREAD = 0.1
# What the role may take beside the longest job, in tasks of debug that run for each host, and the requests for a host.
GOAL_TASKS = 3.0
GOAL_REQUESTS = 12.0

DEBUG = {"name": "Show the name of the host", "ansible.builtin.debug": {"var": "inventory_hostname"}}

VARIABLES = {
    "host_onboarding_cluster": "cluster-1",
    "host_onboarding_username": "root",
    "host_onboarding_password": "only-for-the-simulator",
    "host_onboarding_services": [{"interface": "eth1", "vlans": [100], "service_types": ["StorageNetwork"]}],
}


def measure() -> Iterator[Figure]:
    """Yield the figures with jobs of two minutes."""
    yield from measure_role(JOB)


def measure_role(job: float) -> Iterator[Figure]:
    """Yield the figures of the role, with jobs of this duration in seconds."""
    with Simulator("--latency", f"AddKVMHost={job}", "--latency-spread", str(JOB_SPREAD)) as simulator:
        debug = run_playbook(
            [{"hosts": "all", "gather_facts": False, "tasks": [DEBUG]}], simulator, create_inventory(), FORKS
        )
        run = run_playbook("virtinfra.manager.onboard_hosts", simulator, create_inventory(), FORKS)
    name, label = f"onboarding_{job:g}", f"adding {HOSTS} hosts with the role `host_onboarding`, jobs of {job:g} s"
    longest = job * (1 + JOB_SPREAD)
    text = f"{label}: beside the longest job / a task of `ansible.builtin.debug` for each host"
    yield Figure(f"{name}_debug", text, (run.seconds - longest) / debug.seconds, GOAL_TASKS, "G6", text, " x")
    yield Figure(f"{name}_beside", f"{label}: beside the longest job, s", run.seconds - longest)
    text = f"{label}: requests a host"
    yield Figure(f"{name}_requests", text, len(run.requests) / HOSTS, GOAL_REQUESTS, "G6", text)


def create_inventory() -> dict[str, Any]:
    """Return an inventory of hosts that the service does not have, with the variables of the role."""
    hosts = {f"node-{number}": {"ansible_host": f"10.1.{number // 250}.{number % 250 + 1}"} for number in range(HOSTS)}
    return {"all": {"hosts": hosts, "vars": VARIABLES}}
