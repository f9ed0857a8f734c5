"""Run tasks of two controllers at the same time, while a rogue gives the names of VMs to other VMs.

The tasks select VMs by their names, which begin with ``lab-``. No call may reach a VM that had no such name when the
task read last.
"""

from __future__ import annotations

import math
import random
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from unittest import mock

from ansible_collections.virtinfra.manager.plugins.module_utils._client import known_names

from chaos.report import Report
from simulator.launch import Simulator
from support.module_runner import run_module

VMS = 24
CONTROLLERS = 2

# How long the rogue leaves the names as they are at most, in seconds.
CALM = 0.1

# How long, in seconds, the jobs of probes and calls take, during which names change.
LATENCY = 0.4

# How long, in seconds, before its last read a task may have read the name: several reads can follow each other.
SLACK = 0.25

UUID = re.compile(r"[0-9a-f]{32}")

# The codes of failures because others change the same objects at the same time, and what a task says of an object that
# it has created and another one has removed.
REMOVED_SINCE = "but the object does not exist"
KNOWN_CODES = {"NOT_FOUND", "AMBIGUOUS", "UNCHANGEABLE", "INVALID", "SYS.1003", "SYS.1006", "SYS.1007", "VM.1010"}

Names = list[tuple[float, str, str]]
Task = tuple[str, Mapping[str, Any]]


def run_two_controllers(sim: Simulator, report: Report, seconds: float, seed: int) -> None:
    """Run tasks of two controllers for some seconds, and report calls that reached a wrong VM."""
    sim.reset(hosts=4, vms=VMS, cbt_tasks=0, l3_networks=4, snapshot_groups=0, latency=LATENCY, reconnect=0.0, boot=0.0)
    sim.clear_log()
    history: Names = []
    for number, vm in enumerate(sim.records("vm")):
        _rename(sim, history, vm["uuid"], f"{'lab' if number % 2 else 'prod'}-{number:02}")
    end = time.monotonic() + seconds
    lock = threading.Lock()

    def control(number: int) -> None:
        rng = random.Random(f"{seed} {number}")
        while time.monotonic() < end:
            module, options = _choose_task(rng)
            connection = {"base_url": sim.url, "session_id": sim.session}
            result = run_module(module, {**connection, **options}).result
            with lock:
                report.task(result, {}, 0)
                if problem := _find_problem(result):
                    report.wrong(f"{module} {options}: {problem}")

    with mock.patch.object(known_names, "FRESH_SECONDS", 0.0), _rogue(sim, history, random.Random(seed)):
        threads = [threading.Thread(target=control, args=(number,)) for number in range(CONTROLLERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    entries = sim.log()
    report.requests += len(entries)
    for problem in _find_wrong_calls(entries, history):
        report.wrong(problem)


def _choose_task(rng: random.Random) -> Task:
    """Return a task for a VM that is selected by its name."""
    name = f"lab-{rng.randrange(1, VMS, 2):02}"
    recover = {"name": name, "recover": True, "state": "running"}
    makers: tuple[Callable[[], Task], ...] = (
        lambda: ("vm", {"name": name, "state": rng.choice(("running", "stopped", "paused", "restarted"))}),
        lambda: ("vm", {"name": name, "state": "absent"}),
        lambda: ("vm", {"name": name, "state": "absent", "data_volumes": "delete"}),
        lambda: ("vm", recover),
        lambda: ("vm", recover),
        lambda: ("cbt_task", {"vm": name, "name": f"backup-{name}", "state": rng.choice(("present", "absent"))}),
        lambda: ("vm_nic", {"vm": name, "l3_network": f"l3-{rng.randint(2, 4)}"}),
        lambda: ("vm_snapshot_group", {"vm": name, "name": f"{name}-{rng.randint(1, 3)}"}),
    )
    return rng.choice(makers)()


def _rename(sim: Simulator, history: Names, uuid: str, name: str) -> None:
    """Give a VM a name; the entry of the history has the time before the change."""
    history.append((time.time(), uuid, name))
    sim.change("vm", uuid, name=name)


@contextmanager
def _rogue(sim: Simulator, history: Names, rng: random.Random) -> Iterator[None]:
    """Exchange the names of two VMs again and again."""
    has_ended = threading.Event()

    def exchange() -> None:
        while not has_ended.wait(CALM * rng.random()):
            one, other = rng.sample(sim.records("vm"), 2)
            _rename(sim, history, one["uuid"], other["name"])
            _rename(sim, history, other["uuid"], one["name"])

    thread = threading.Thread(target=exchange)
    thread.start()
    try:
        yield
    finally:
        has_ended.set()
        thread.join()


def _find_problem(result: Mapping[str, Any]) -> str:
    """Return what is wrong with the result of a task; empty if nothing is."""
    if not result.get("failed") or result["error"]["code"] in KNOWN_CODES or REMOVED_SINCE in result["msg"]:
        return ""
    return f"failed with {result['error']['code']}: {result['msg']}"


def _find_wrong_calls(entries: list[dict[str, Any]], history: Names) -> Iterator[str]:
    """Yield the calls for a VM that had no name of a task since the last read on the same connection."""
    vms = {uuid for dummy, uuid, other in history}
    reads: dict[int, float] = {}
    for entry in entries:
        if entry["method"] == "GET" and entry["operation"] != "poll":
            reads[entry["port"]] = entry["time"]
        elif entry["method"] != "GET" and entry["status"] in (200, 202):
            text = f"{entry['path']} {entry['body']}"
            for uuid in vms.intersection(UUID.findall(text)):
                if not _had_a_name_of_tasks(history, uuid, reads.get(entry["port"], 0.0) - SLACK, entry["time"]):
                    yield f"{entry['operation']} reached {uuid}, which no task has selected"


def _had_a_name_of_tasks(history: Names, uuid: str, begin: float, end: float) -> bool:
    """Return whether a VM had a name of tasks at some time of a span."""
    own = [(since, name) for since, each, name in history if each == uuid]
    until = [since for since, dummy in own[1:]] + [math.inf]
    return any(
        name.startswith("lab-") and since <= end and last >= begin
        for (since, name), last in zip(own, until, strict=True)
    )
