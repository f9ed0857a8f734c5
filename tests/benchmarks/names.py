"""Count the requests of tasks that give objects by their names, relative to the same tasks with uuids.

The loop runs a second time, and changes nothing: before each call that changes something, a name is looked up again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.figures import Figure
from benchmarks.playbooks import run_playbook
from simulator.launch import Simulator
from simulator.state.records import NICS_PER_HOST
from simulator.state.store import seeded_uuid

ITEMS = 200
# What a loop may request in addition for each list of objects that has its names: the service, its length, a page.
REQUESTS_OF_A_LIST = 3
HOSTS, TASKS = 20, 10


def measure() -> Iterator[Figure]:
    """Yield the figures of a loop, and of a play with many tasks on many hosts."""
    with Simulator("--hosts", str(ITEMS), "--latency", "0") as simulator:
        loops = {}
        for by_name in (False, True):
            simulator.reset()
            run_playbook([play_of_loop(by_name)], simulator)
            loops[by_name] = len(run_playbook([play_of_loop(by_name)], simulator).requests)
        # The hosts, and the interfaces of all hosts.
        extra = (loops[True] - loops[False]) / 2
        label = f"a loop of {ITEMS} items by host and interface names, more requests for each of two lists"
        yield Figure("names_loop", label, extra, REQUESTS_OF_A_LIST, "G8", label)
        plays = {}
        for by_name in (False, True):
            simulator.reset()
            run = run_playbook([play_of_hosts(by_name)], simulator, inventory_of_hosts(), forks=10)
            plays[by_name] = len(run.requests)
        ratio = plays[True] / plays[False]
        label = f"{TASKS} tasks on {HOSTS} hosts by name / the requests of the same by uuid"
        yield Figure("names_run", label, ratio, 1.1, "G8", label)


def play_of_loop(by_name: bool) -> dict[str, Any]:
    """Return a play with a loop over an interface of each host."""
    names = [(f"host-{number}", "eth1") for number in range(1, ITEMS + 1)]
    options = {"host": "{{ item[0] }}", "interfaces": ["{{ item[1] }}"], "service_types": ["StorageNetwork"]}
    task = {
        "name": "Set the service types",
        "virtinfra.manager.host_nic_service": options,
        "loop": names if by_name else list_uuids(ITEMS),
        "loop_control": {"label": ""},
    }
    return {"hosts": "localhost", "gather_facts": False, "tasks": [task]}


def play_of_hosts(by_name: bool) -> dict[str, Any]:
    """Return a play whose tasks set the service types of an interface of each host of an inventory."""
    if by_name:
        options = {"host": "{{ inventory_hostname }}", "interfaces": ["eth1"]}
    else:
        options = {"host": "{{ uuid }}", "interfaces": ["{{ interface }}"]}
    task = {"name": "Set", "virtinfra.manager.host_nic_service": {**options, "service_types": ["StorageNetwork"]}}
    return {"hosts": "all", "gather_facts": False, "tasks": [task] * TASKS}


def inventory_of_hosts() -> dict[str, Any]:
    """Return an inventory of hosts of the service, with their uuids and those of an interface."""
    uuids = list_uuids(HOSTS)
    hosts = {f"host-{number}": {"uuid": host, "interface": nic} for number, (host, nic) in enumerate(uuids, 1)}
    return {"all": {"hosts": hosts, "vars": {"ansible_connection": "local"}}}


def list_uuids(count: int) -> list[tuple[str, str]]:
    """Return the uuids of hosts, each with that of its interface eth1."""
    return [
        (seeded_uuid("host", number), seeded_uuid("hostnic", NICS_PER_HOST * (number - 1) + 2))
        for number in range(1, count + 1)
    ]
