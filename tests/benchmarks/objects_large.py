"""Measure the module batch with 2,000 jobs, and against a playbook with uri and until."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import requests
from ansible_collections.virtinfra.manager.plugins.module_utils._http.adapter import MAX_CONNECTIONS

from benchmarks.figures import Figure
from benchmarks.objects import COMMON, JOB, JOB_SPREAD, create_hosts, play_of_batch
from benchmarks.playbooks import run_playbook
from simulator.launch import Simulator
from simulator.state.store import seeded_uuid

JOBS = 2000

# How long the batch may take, as a number of times what as many requests take.
GOAL_REQUESTS = 2.0

# How many hosts the playbook with uri adds.
PEER_HOSTS = 100
GOAL_PEER = 0.1


def measure() -> Iterator[Figure]:
    """Yield the figures of a batch of 2,000 jobs, and of the comparison of a batch with uri."""
    yield from measure_jobs()
    yield measure_peer()


def measure_jobs() -> Iterator[Figure]:
    """Yield how long a batch of 2,000 jobs of a second takes, beside as many requests with requests alone."""
    objects = [{"uuid": seeded_uuid("host", number)} for number in range(1, JOBS + 1)]
    with Simulator("--hosts", str(JOBS), "--latency", "1", "--latency-spread", "0.2") as simulator:
        run = run_playbook([play_of_batch(JOBS, {"state": "disabled"}, objects)], simulator)
        alone = send_requests(simulator, len(run.requests))
    label = f"{JOBS:,} jobs of 1 s with the module `batch`"
    yield Figure("batch_2000_seconds", f"{label}, s", run.seconds)
    text = f"{label} / as many requests by `requests` alone"
    yield Figure("batch_2000_requests", text, run.seconds / alone.seconds, GOAL_REQUESTS, "G6", text, " x")


class Taken(NamedTuple):
    """The seconds that requests took, and those of the processor in this process."""

    seconds: float
    processor: float


def send_requests(simulator: Simulator, count: int, hosts: int = JOBS) -> Taken:
    """Read one of so many hosts ``count`` times with the library requests and as many connections as the module."""
    kept = threading.local()

    def connect() -> None:
        kept.session = requests.Session()
        # With trust_env, each request would look for proxies and credentials in the environment and in files.
        kept.session.trust_env = False
        kept.session.headers["Authorization"] = f"OAuth {simulator.session}"

    def read_host(number: int) -> None:
        host = seeded_uuid("host", number % hosts + 1)
        kept.session.get(f"{simulator.url}/service/v1/hosts/{host}", timeout=60).raise_for_status()

    begin, used = time.monotonic(), time.process_time()
    with ThreadPoolExecutor(MAX_CONNECTIONS, initializer=connect) as pool:
        list(pool.map(read_host, range(count)))
    return Taken(time.monotonic() - begin, time.process_time() - used)


def measure_peer() -> Figure:
    """Return the time for adding 100 hosts with batch, divided by that with uri and until."""
    hosts = create_hosts(PEER_HOSTS)
    with Simulator("--latency", str(JOB), "--latency-spread", str(JOB_SPREAD)) as simulator:
        ours = run_playbook([play_of_batch(PEER_HOSTS, COMMON, hosts)], simulator)
    with Simulator("--latency", str(JOB), "--latency-spread", str(JOB_SPREAD)) as simulator:
        peer = run_playbook([play_of_uri(simulator, hosts)], simulator)
    text = f"adding {PEER_HOSTS} hosts with the module `batch` / with `ansible.builtin.uri` and `until`"
    return Figure("batch_uri", text, ours.seconds / peer.seconds, GOAL_PEER, "", text, " x")


def play_of_uri(simulator: Simulator, hosts: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a play that adds the hosts with uri, and waits for each job with until. It is not idempotent."""
    url = f"{simulator.url}/service/v1"
    headers = {"Authorization": f"OAuth {simulator.session}"}
    add = {
        "name": "Add the hosts",
        "ansible.builtin.uri": {
            "url": f"{url}/hosts/kvm",
            "method": "POST",
            "headers": headers,
            "body_format": "json",
            "body": {
                "params": {
                    "name": "{{ item.name }}",
                    "managementIp": "{{ item.management_ip }}",
                    "clusterUuid": seeded_uuid("cluster", 1),
                    "username": COMMON["username"],
                    "password": COMMON["password"],
                    "sshPort": 22,
                }
            },
            "status_code": [200, 202],
        },
        "loop": hosts,
        "loop_control": {"label": ""},
        "register": "added",
    }
    wait = {
        "name": "Wait for the jobs",
        # The service assumes another origin for itself.
        "ansible.builtin.uri": {
            "url": f"{simulator.url}{{{{ item.json.location | urlsplit('path') }}}}",
            "headers": headers,
            "status_code": [200, 202],
        },
        "loop": "{{ added.results }}",
        "loop_control": {"label": ""},
        "register": "job",
        "until": "job.status == 200",
        "retries": 100,
        "delay": 1,
    }
    return {"hosts": "localhost", "gather_facts": False, "tasks": [add, wait]}
