"""Measure what a batch costs beside its requests: hosts that it adds, interfaces that it finds by name, and VMs.

The batches have the default concurrency and jobs that end at once, so that most of the time is theirs.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from benchmarks.figures import Figure
from benchmarks.objects import COMMON, create_hosts
from benchmarks.objects_large import send_requests
from benchmarks.playbooks import POLLS, Run, run_playbook
from benchmarks.workflows import build_play
from simulator.launch import Simulator
from simulator.state.records import NICS_PER_HOST
from simulator.state.store import seeded_uuid

HOSTS, NICS, VMS = 1000, 500, 1000
ROUNDS = 3


def measure() -> Iterator[Figure]:
    """Yield the figures of the batches."""
    yield from measure_hosts()
    yield from measure_names()
    yield measure_templates()


def measure_hosts() -> Iterator[Figure]:
    """Yield the processor time of adding hosts beside as many requests with requests alone, and how many it reads."""
    ratios, reads = [], []
    with Simulator("--latency", "0", "--hosts", str(HOSTS)) as simulator:
        start = measure_start(simulator)
        for dummy in range(ROUNDS):
            simulator.reset()
            run = run_batch(simulator, "kvm_host", create_hosts(HOSTS), COMMON)
            ratios.append((run.processor - start) / send_requests(simulator, len(run.requests), HOSTS).processor)
            reads.append(count_reads(run, lambda request: POLLS not in request["path"]) / HOSTS)
    text = f"adding {HOSTS:,} hosts with the module `batch` / as many requests by `requests` alone, processor time"
    yield Figure("batch_1000_requests_processor", text, statistics.median(ratios), 3.0, "G6", text, " x")
    text = f"adding {HOSTS:,} hosts with the module `batch`: reads of each"
    yield Figure("batch_1000_reads", text, statistics.median(reads), 1.2, "G6", text)


def measure_names() -> Iterator[Figure]:
    """Yield the processor time of a batch that finds interfaces by name, beside uuids, and its further requests."""
    taken: dict[bool, list[float]] = {True: [], False: []}
    operations: dict[bool, Counter[str]] = {}
    with Simulator("--latency", "0", "--hosts", str(NICS)) as simulator:
        start = measure_start(simulator)
        for by_name in (True, False) * ROUNDS:
            simulator.reset()
            run = run_batch(simulator, "host_nic_service", list_nics(by_name), {"service_types": ["StorageNetwork"]})
            taken[by_name].append(run.processor - start)
            operations[by_name] = Counter(request["operation"] for request in run.requests)
    text = f"`host_nic_service` in a batch of {NICS} by names / the same by uuids, processor time"
    value = statistics.median(taken[True]) / statistics.median(taken[False])
    yield Figure("batch_names_processor", text, value, 1.3, "G8", text, " x")
    # How many requests answer the reads that both batches make depends on which threads wait at the same time.
    more = sum(count for operation, count in operations[True].items() if operation not in operations[False])
    text = f"`host_nic_service` in a batch of {NICS} by names: requests that the same by uuids does not make"
    yield Figure("batch_names_requests", text, float(more), 10.0, "G8", text)


def measure_templates() -> Figure:
    """Return how many reads of templates the module vm makes for each of the VMs that it changes."""
    objects = [{"uuid": seeded_uuid("vm", number)} for number in range(1, VMS + 1)]
    with Simulator("--latency", "0", "--vms", str(VMS)) as simulator:
        run = run_batch(simulator, "vm", objects, {"description": "changed"})
    reads = count_reads(run, lambda request: request["operation"] == "QueryTemplatedVmInstance")
    text = f"the module `vm` for {VMS:,} VMs in a batch: reads of templates for each"
    return Figure("batch_templates", text, reads / VMS, 0.01, "G6", text)


def measure_start(simulator: Simulator) -> float:
    """Return the processor time of a play without tasks."""
    return statistics.median(run_playbook([build_play()], simulator).processor for dummy in range(ROUNDS))


def run_batch(simulator: Simulator, module: str, objects: Sequence[dict[str, Any]], common: dict[str, Any]) -> Run:
    """Run a module for the objects with the default concurrency."""
    batch = {"module": module, "common": common, "objects": list(objects)}
    return run_playbook([build_play(tasks=[{"name": "Change", "virtinfra.manager.batch": batch}])], simulator)


def count_reads(run: Run, is_counted: Callable[[dict[str, Any]], bool]) -> int:
    """Return how many of the requests are reads that count."""
    return sum(request["method"] == "GET" and is_counted(request) for request in run.requests)


def list_nics(by_name: bool) -> list[dict[str, Any]]:
    """Return an interface of each host, by the names or the uuids of both."""
    if by_name:
        return [{"host": f"host-{number}", "interfaces": ["eth1"]} for number in range(1, NICS + 1)]
    return [
        {
            "host": seeded_uuid("host", number),
            "interfaces": [seeded_uuid("hostnic", NICS_PER_HOST * (number - 1) + 2)],
        }
        for number in range(1, NICS + 1)
    ]
