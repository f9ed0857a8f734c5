"""Run hundreds of objects in one task, with the module batch: against a failing service, and while names change."""

from __future__ import annotations

import random
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from unittest import mock

import ansible.constants
from ansible_collections.virtinfra.manager.plugins.module_utils._http.adapter import AdapterPool
from ansible_collections.virtinfra.manager.plugins.module_utils._http.hooks import do_nothing
from ansible_collections.virtinfra.manager.plugins.plugin_utils._action.locks import RunLock
from ansible_collections.virtinfra.manager.plugins.plugin_utils._batch.batch import run_objects
from ansible_collections.virtinfra.manager.plugins.plugin_utils._run.sessions import FileStore

from chaos.random_walk import RATE
from chaos.report import Report
from chaos.store import duplicates, explain_wrong_changed
from simulator.launch import Simulator
from simulator.state.store import seeded_uuid
from support.fast_clock import call_in_time
from support.module_runner import run_module
from support.scenarios import CLUSTER, PASSWORD, State

# The faults of requests, all equally likely. A batch waits in real time, so no fault lets it wait for long.
FAULTS: tuple[Mapping[str, Any], ...] = (
    {"fault": "drop_before"},
    {"fault": "drop_after"},
    {"fault": "truncate"},
    {"fault": "close", "taken": True},
    {"fault": "status", "status": 503},
    {"fault": "status", "status": 503, "taken": True},
    {"fault": "status", "status": 504, "taken": True},
    {"fault": "html", "taken": True},
    {"fault": "garbage", "garbage": "json"},
    # Only for calls: a poll would report a failure of an operation that succeeded.
    {"fault": "fail", "method": "POST"},
    {"fault": "fail", "method": "PUT"},
    {"fault": "expire"},
)

# The longest time that a batch may take, in seconds.
MAX_SECONDS = 300

# How many VMs lose their names during the run. As many other VMs get these names.
NAMED_VMS = 40


@dataclass(frozen=True)
class Kind:
    """Objects of a batch: their module, the records that show them, and the members that tasks change.

    ``key`` is the member that identifies a record, ``option`` the option with the same value.
    """

    module: str
    records: str
    key: str
    option: str
    members: tuple[str, ...]

    def index(self, state: State) -> dict[str, dict[str, Any]]:
        """Return what tasks change of the records, by their keys."""
        return {
            record[self.key]: {name: record.get(name) for name in self.members}
            for record in state[self.records]
            if record.get("state") != "Destroyed"
        }


HOSTS = Kind("kvm_host", "host", "managementIp", "management_ip", ("uuid", "name", "description", "state"))
ENDPOINTS = Kind("sns_endpoint", "endpoint", "name", "name", ("uuid", "description", "state"))
VMS = Kind("vm", "vm", "uuid", "uuid", ("state", "description"))


def run_with_faults(sim: Simulator, report: Report, count: int, seed: int) -> None:
    """Run batches of this number of objects while one in ten requests fails, then twice without faults."""
    rng = random.Random(seed)
    for kind, part in ((HOSTS, 2), (ENDPOINTS, 4), (VMS, 4)):
        number = count // part
        sim.reset(latency=0.02, reconnect=0.0, hosts=number, vms=number if kind is VMS else 0)
        objects = list(create_objects(sim, kind, number, rng))
        problems: list[str] = call_in_time(partial(list, check_objects(sim, report, kind, objects, seed)), MAX_SECONDS)
        for problem in problems:
            report.wrong(f"{number} objects of {kind.module}, seed {seed}: {problem}")


def create_objects(sim: Simulator, kind: Kind, count: int, rng: random.Random) -> Iterator[dict[str, Any]]:
    """Yield the options of objects of a kind: some exist, some have to be created, changed, or removed."""
    existing = sim.records(kind.records)
    for number in range(count):
        if kind is VMS:
            yield {"uuid": existing[number]["uuid"], "state": rng.choice(("running", "stopped"))}
        elif kind is HOSTS and rng.random() < 0.6:
            state = rng.choice(("enabled", "disabled", "maintenance", "absent"))
            yield {"management_ip": existing[number]["managementIp"], "state": state}
        elif kind is HOSTS:
            new = {"name": f"new-{number}", "cluster": CLUSTER, "username": "root", "password": PASSWORD}
            state = rng.choice(("present", "disabled"))
            yield {**new, "management_ip": f"10.77.{number // 250}.{1 + number % 250}", "state": state}
        else:
            yield {"type": "snmp", "name": f"endpoint-{number}", "description": f"description {rng.randint(1, 3)}"}


def check_objects(
    sim: Simulator, report: Report, kind: Kind, objects: Sequence[Mapping[str, Any]], seed: int
) -> Iterator[str]:
    """Run a batch with faults and twice without them; yield what is wrong."""
    states = [kind.index(sim.settle())]
    for offset, fault in enumerate(FAULTS):
        sim.fault(**fault, probability=RATE / len(FAULTS), count=None, seed=1000 * seed + offset)
    results = []
    for is_faulty in (True, False, False):
        sim.clear_log()
        result = run_batch(sim, kind.module, objects)
        faults = {fault["fault"]: fault["happened"] for fault in sim.faults()}
        report.task(result, faults if is_faulty else {}, len(sim.log()))
        sim.clear_faults()
        if "results" not in result:
            yield f"the batch failed: {result['msg']}"
            return
        results.append(result["results"])
        settled = sim.settle()
        states.append(kind.index(settled))
        for item, given in zip(results[-1], objects, strict=True):
            before, after = ({"record": state.get(given[kind.option])} for state in states[-2:])
            if problem := explain_wrong_changed(item, before, after):
                yield f"{given[kind.option]}: {problem}"
    yield from duplicates(settled)
    for given, first, second, third in zip(objects, *results, strict=True):
        if second["failed"] or third["failed"]:
            yield f"{given[kind.option]} does not converge: {second.get('msg')} {third.get('msg')}"
        if second["changed"] and not first["failed"]:
            yield f"{given[kind.option]} succeeded, but the second run changes it"
        if third["changed"]:
            yield f"{given[kind.option]} is changed each time"


def run_batch(sim: Simulator, module: str, objects: Sequence[Mapping[str, Any]], **hooks: Any) -> dict[str, Any]:
    """Return the result of a batch as a task inside the controller."""
    connection = {"base_url": sim.url, "session_id": sim.session, "api_token": sim.token, "request_timeout": 30}
    return run_module(
        "batch",
        {**connection, "module": module, "objects": list(objects), "concurrency": 50, "wait_timeout": 60},
        run=partial(run_objects, lambda name: {}),
        new_store=FileStore,
        new_lock=RunLock,
        connections=AdapterPool(),
        **hooks,
    ).result


def change_names(sim: Simulator, report: Report, rounds: int, seed: int) -> None:
    """Let tasks of a run use the names of VMs, while somebody else gives some of the names to other VMs."""
    rng = random.Random(seed)
    for number in range(rounds):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(ansible.constants, "DEFAULT_LOCAL_TMP", folder):
            play = Renaming(sim, report, rng, is_during_removal=bool(number % 2))
            problems: list[str] = call_in_time(partial(list, play.run()), MAX_SECONDS)
            for problem in problems:
                report.wrong(f"names, round {number}, seed {seed}: {problem}")


class Renaming:
    """CBT tasks of VMs that are created and removed by the names of the VMs, which change before or during the removal.

    A VM is renamed or removed, and another VM with a CBT task gets its name, so the removal has another VM to choose.
    """

    def __init__(self, sim: Simulator, report: Report, rng: random.Random, is_during_removal: bool) -> None:
        self._sim, self._report, self._rng = sim, report, rng
        # The first removal sends a call and a poll for each VM, and the second one begins after the change of names.
        self._requests_before = rng.randint(1, 2 * NAMED_VMS) if is_during_removal else 0
        self._counted = 0
        self._lock = threading.Lock()
        sim.reset(latency=0.0, vms=2 * NAMED_VMS, cbt_tasks=0)
        self._names = {seeded_uuid("vm", number): f"vm-{number}" for number in range(1, 2 * NAMED_VMS + 1)}
        for uuid, name in self._names.items():
            sim.change("vm", uuid, name=name, state="Running")
        self._old, self._new = list(self._names)[:NAMED_VMS], list(self._names)[NAMED_VMS:]
        self._wanted = [self._names[uuid] for uuid in self._old]

    def run(self) -> Iterator[str]:
        """Run the batches; yield what is wrong."""
        # The run remembers the names of the first VMs only.
        for vms in (self._wanted, self._new):
            self._run_batch([{"name": f"cbt-{vm}", "vm": vm} for vm in vms])
        for dummy in range(2):
            result = self._run_batch([{"vm": vm, "state": "absent"} for vm in self._wanted], self._count_request)
            if result.get("failed"):
                yield f"the removal failed: {result['msg']}"
        left = {task["resourceRefs"][0]["resourceUuid"] for task in self._sim.settle()["cbttask"]}
        for uuid, name in self._names.items():
            if uuid in left and name in self._wanted:
                yield f"the CBT task of {name} remains"
            # A VM that was renamed during the removal had the name when its CBT task was removed.
            if uuid not in left and name not in self._wanted and (uuid in self._new or not self._requests_before):
                yield f"the CBT task of {name} was removed, but another VM has the name"

    def _run_batch(self, objects: list[dict[str, Any]], before_send: Callable[[], None] = do_nothing) -> dict[str, Any]:
        self._sim.clear_log()
        result = run_batch(self._sim, "cbt_task", objects, before_send=before_send)
        self._report.task(result, {}, len(self._sim.log()))
        return result

    def _count_request(self) -> None:
        """Change names once, when so many requests were sent for the removal."""
        with self._lock:
            if self._requests_before == self._counted:
                self._change_names()
            self._counted += 1

    def _change_names(self) -> None:
        for old, new in zip(self._old, self._new, strict=True):
            if self._rng.random() < 0.5:
                removed = {"state": "Destroyed"} if self._rng.random() < 0.3 else {}
                self._sim.change("vm", old, name=f"old-{old}", **removed)
                self._sim.change("vm", new, name=self._names[old])
                self._names[new], self._names[old] = self._names[old], f"old-{old}"
