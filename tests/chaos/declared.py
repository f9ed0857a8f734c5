"""Each fault on each request of the tasks that declare VMs, volumes and other objects: with the fault, then without."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ansible_collections.virtinfra.manager.plugins.module_utils._modules.run import ModuleResult
from ansible_collections.virtinfra.manager.plugins.module_utils._resources.kind_rows import Kind
from ansible_collections.virtinfra.manager.plugins.module_utils._resources.kinds import get_row, list_states
from ansible_collections.virtinfra.manager.plugins.plugin_utils._batch.batch import run_objects

from chaos.fault_matrix import (
    LIMITS,
    READ_FAULTS,
    SERVERS,
    TLS_FAULTS,
    Fault,
    Occurrence,
    choose_patience,
    end_faults,
    fault_name,
    is_delivered_twice,
)
from chaos.report import Report
from chaos.store import compare, explain_wrong_changed, list_uuids, replace_unpredictable
from simulator.launch import Simulator
from simulator.state.store import seeded_uuid
from support.fast_clock import call_in_time, with_fast_clock
from support.kind_tasks import KIND_TASKS, identify
from support.module_runner import run_module
from support.scenarios import State

Options = Mapping[str, Any]
Step = tuple[str, Options]

GIB = 2**30
VM, DATA = seeded_uuid("vm", 1), seeded_uuid("volume", 2)
# What the service chooses for each new VM.
CHOSEN = ("hostUuid", "lastHostUuid", "ip", "mac", "internalName")

WEB = {
    "name": "web",
    "state": "running",
    "image": "image-1",
    "cpu": 2,
    "memory": "4G",
    "networks": [{"l3_network": "l3-1"}, {"l3_network": "l3-2", "static_ip": "10.102.0.20"}],
    "disks": [{"size": "50G"}],
    "user_data": "#cloud-config\npassword: Tr0ub4dor-and-3",
    "ssh_keys": ["key-1"],
    "tags": ["production"],
}
EMPTY = {"name": "empty", "state": "stopped", "iso": "iso-2", "disk_size": "20G", "cpu": 1, "memory": "1G"}
LOGS = {"name": "logs", "size": "10G"}


@dataclass(frozen=True)
class Declaration:
    """A task with its module and options. ``earlier`` are tasks that run before, on a service with these options."""

    name: str
    module: str
    options: Options
    earlier: tuple[Step, ...] = ()
    service: Options = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.module}: {self.name}"


def _of_vms() -> Iterator[Declaration]:
    of_vm = partial(Declaration, module="vm")
    yield of_vm("of an image", options=WEB)
    yield of_vm("of an ISO", options=EMPTY)
    yield of_vm("of an ISO, started", options={**EMPTY, "state": "running"})
    yield of_vm("clone", options={"name": "copy", "state": "running", "clone_from": "vm-1", "cpu": 8, "memory": "16G"})
    yield of_vm(
        "of a template",
        options={"name": "copy", "state": "running", "clone_from": "vm-6", "networks": [{"l3_network": "l3-2"}]},
        service={"templates": 1},
    )
    grown = {**WEB, "cpu": 4, "memory": "8G"}
    yield of_vm("hot plug", options=grown, earlier=(("vm", WEB),), service={"hot_plug": True})
    yield of_vm("resized while stopped", options={**EMPTY, "cpu": 4, "memory": "2G"}, earlier=(("vm", EMPTY),))
    for state in ("running", "stopped"):
        yield of_vm(
            f"grown root volume, {state}",
            options={**EMPTY, "state": state, "disk_size": "30G"},
            earlier=(("vm", EMPTY),),
        )
    yield of_vm(
        "other tags and description", options={**WEB, "tags": ["test"], "description": "shop"}, earlier=(("vm", WEB),)
    )
    gone = {"name": "web", "state": "absent", "data_volumes": "delete", "expunge": True}
    yield of_vm("removed with its volumes", options=gone, earlier=(("vm", WEB),))


def _of_volumes() -> Iterator[Declaration]:
    of_volume = partial(Declaration, module="volume")
    there, attached = (("volume", LOGS),), (("volume", {**LOGS, "vm": "vm-1"}),)
    deleted = (*there, ("volume", {"name": "logs", "state": "absent"}))
    yield of_volume("created", options=LOGS)
    yield of_volume("created and attached", options={**LOGS, "vm": "vm-2", "primary_storage": "ps-1", "tags": ["shop"]})
    yield of_volume("grown", options={**LOGS, "size": "20G"}, earlier=there)
    yield of_volume("attached", options={**LOGS, "vm": "vm-1"}, earlier=there)
    yield of_volume("grown and attached", options={**LOGS, "size": "20G", "vm": "vm-1"}, earlier=there)
    yield of_volume("grown while attached", options={**LOGS, "size": "20G"}, earlier=attached)
    yield of_volume("detached", options={"name": "logs", "state": "detached"}, earlier=attached)
    yield of_volume("described and tagged", options={**LOGS, "description": "shop", "tags": ["shop"]}, earlier=there)
    yield of_volume("deleted", options={"name": "logs", "state": "absent"}, earlier=there)
    yield of_volume("deleted with force", options={"name": "logs", "state": "absent", "force": True}, earlier=attached)
    yield of_volume("recovered", options={"name": "logs", "recover": True}, earlier=deleted)
    gone = {"name": "logs", "state": "absent", "expunge": True}
    yield of_volume("expunged", options=gone, earlier=there)
    yield of_volume("expunged after its deletion", options=gone, earlier=deleted)


def _of_kinds() -> Iterator[Declaration]:
    for kind, tasks in KIND_TASKS.items():
        of_kind = partial(Declaration, module="resource")
        earlier = tuple(("resource", options) for options in tasks.before)
        created = (*earlier, ("resource", tasks.creates))
        yield of_kind(f"{kind} created", options=tasks.creates, earlier=earlier)
        if tasks.changes:
            yield of_kind(f"{kind} changed", options={**identify(tasks), **tasks.changes}, earlier=created)
        if "absent" in list_states(get_row(kind)):
            absent = {**identify(tasks), "state": "absent", "force": True}
            yield of_kind(f"{kind} removed", options=absent, earlier=created)
        row = get_row(kind)
        if isinstance(row, Kind) and row.deleted:
            deleted = (*created, ("resource", {**identify(tasks), "state": "absent"}))
            gone = {**identify(tasks), "state": "absent", "expunge": True}
            yield of_kind(f"{kind} recovered", options={**identify(tasks), "recover": True}, earlier=deleted)
            yield of_kind(f"{kind} expunged", options=gone, earlier=created)
            yield of_kind(f"{kind} expunged after its deletion", options=gone, earlier=deleted)


DECLARATIONS = (*_of_vms(), *_of_volumes(), *_of_kinds())


@dataclass(frozen=True)
class Cell:
    """A declaration on a kind of server, alone or in a batch, and a fault of one of its requests."""

    declaration: Declaration
    server: str
    is_in_batch: bool
    target: Occurrence
    fault: Fault

    def __str__(self) -> str:
        task = f"{self.declaration} in a batch" if self.is_in_batch else str(self.declaration)
        return f"{task}, {self.server}: {fault_name(self.fault)} on {self.target}"


class Stage:
    """A declaration on a new service, whose task can run several times."""

    def __init__(self, sim: Simulator, declaration: Declaration, server: str, is_in_batch: bool = False) -> None:
        quick = {"latency": 0.0, "reconnect": 0.0, "boot": 0.0}
        sim.reset(**quick, **declaration.service, **SERVERS[server])
        self.sim, self._declaration, self._is_in_batch = sim, declaration, is_in_batch
        for module, options in declaration.earlier:
            earlier = self._run(module, options).result
            assert not earlier.get("failed"), f"{declaration}: {earlier['msg']}"
        self.before = sim.settle()
        self._known = list_uuids(self.before)
        sim.clear_log()

    def run(self, **limits: Any) -> ModuleResult:
        """Run the task once; ``limits`` are options of the connection."""
        return self._run(self._declaration.module, self._declaration.options, **limits)

    def _run(self, module: str, options: Options, **limits: Any) -> ModuleResult:
        connection = {"base_url": self.sim.url, "session_id": self.sim.session, "api_token": self.sim.token}
        given = {**options, **LIMITS, **limits}
        if not self._is_in_batch:
            return run_module(module, {**connection, **given})
        ran = run_module(
            "batch", {**connection, "module": module, "objects": [given]}, run=partial(run_objects, lambda name: {})
        )
        return ran._replace(result=ran.result["results"][0])

    def read(self) -> State:
        """Return the state of the service, as far as it does not differ from run to run."""
        return replace_unpredictable(self.sim.settle(), self._known, CHOSEN)


def run_declarations(sim: Simulator, report: Report, faults: Sequence[Fault], is_short: bool = False) -> None:
    """Run each declaration with every fault on each of its requests, in circumstances that take turns.

    The short form has one fault for the first request of each writing operation, and one for a read.
    """
    faults = [fault for fault in faults if fault not in TLS_FAULTS]
    of_reads = [fault for fault in faults if fault in READ_FAULTS]
    with with_fast_clock():
        number = 0
        for declaration in DECLARATIONS:
            wanted = {server: _run_clean(sim, declaration, server) for server in SERVERS}
            targets = list_targets(sim, declaration)
            for target in _choose(targets, number) if is_short else targets:
                possible = of_reads if target.is_read else faults
                for fault in [possible[number % len(possible)]] if is_short else possible:
                    server, is_in_batch = [*SERVERS][number % len(SERVERS)], number // len(SERVERS) % 2 == 1
                    number += 1
                    _check(sim, report, Cell(declaration, server, is_in_batch, target, fault), wanted[server])


def _run_clean(sim: Simulator, declaration: Declaration, server: str) -> State:
    """Run a task without a fault, and return the state of the service afterwards."""
    stage = Stage(sim, declaration, server)
    result = stage.run().result
    assert result.get("changed"), f"{declaration}: {result.get('msg')}"
    return stage.read()


def list_targets(sim: Simulator, declaration: Declaration) -> list[Occurrence]:
    """Return each request of a task on a service that has jobs."""
    stage = Stage(sim, declaration, "honours job ids")
    stage.run()
    seen: Counter[str] = Counter()
    targets = []
    for entry in sim.log():
        if operation := entry["operation"]:
            targets.append(Occurrence(operation, seen[operation], entry["method"] == "GET"))
            seen[operation] += 1
    return targets


def _choose(targets: Sequence[Occurrence], number: int) -> list[Occurrence]:
    """Return the first request of each writing operation, and a read."""
    reads = [target for target in targets if target.is_read]
    return [*(target for target in targets if not (target.is_read or target.skip)), reads[number % len(reads)]]


def _check(sim: Simulator, report: Report, cell: Cell, wanted: State) -> None:
    if is_delivered_twice(cell.fault, cell.server):
        return
    for problem in call_in_time(lambda: list(play(sim, report, cell, wanted))):
        report.wrong(f"{cell}: {problem}")


def play(sim: Simulator, report: Report, cell: Cell, wanted: State) -> Iterator[str]:
    """Run a task with a fault, then twice without it; yield what differs from the wanted state, and other errors."""
    stage = Stage(sim, cell.declaration, cell.server, cell.is_in_batch)
    sim.fault(**{**cell.fault, **cell.target.selector()})
    result = stage.run(**choose_patience(cell.fault)).result
    hits = sum(fault["happened"] for fault in sim.faults())
    report.task(result, {cell.fault["fault"]: hits}, len(sim.log()))
    if problem := explain_wrong_changed(result, stage.before, sim.settle()):
        yield problem
    if not result.get("failed") and (difference := compare(wanted, stage.read())):
        yield f"it succeeded, but not everything was done: {difference}"
    if cell.fault["fault"] == "hang" and hits:
        return
    end_faults(sim)
    for problem in ("it does not converge", "it is not idempotent"):
        result = stage.run().result
        difference = compare(wanted, stage.read())
        if result.get("failed") or difference:
            yield f"{problem}: {result.get('msg', '')}: {difference}"
    if result["changed"]:
        yield "it changes something each time"
