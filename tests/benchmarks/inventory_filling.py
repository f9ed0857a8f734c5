"""Fill inventories from a service, by our plugins, by the one to compare with, and as little as Ansible can do.

The processor time of this process is compared, because the service runs on another processor, and a busy machine would
delay the sides unequally. Where waiting matters, the elapsed time is compared.

As a program it fills one inventory of a service, and prints by how many bytes a record its peak of memory grew.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import requests
from ansible.inventory.data import InventoryData
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.loader import init_plugin_loader, inventory_loader

from benchmarks.inventory_pages import host
from benchmarks.inventory_peer import PAGE_SIZE, Peer

Clock = Callable[[], float]

# As long as a real one: a secret of a few letters is searched as a separate word, which takes longer.
SESSION = "5d0d5a2b6cf94b3e9a40bd4e72e5a3fb"

PATHS = {"hosts": "hosts", "vms": "vm-instances"}

# Options that switch off further reads of our plugins, which the service here does not have.
PLAIN: dict[str, dict[str, Any]] = {"hosts": {"primary_storages": False}, "vms": {}}

NINE: dict[str, Any] = {
    "compose": {
        "cores": "virtinfra_cpu_num // 2",
        "fqdn": "virtinfra_name ~ '.example.com'",
        "login": "'root' if virtinfra_state == 'Enabled' else 'nobody'",
    },
    "groups": {
        "ready": "virtinfra_state == 'Enabled' and virtinfra_status == 'Connected'",
        "large": "virtinfra_cpu_num > 32",
        "arm": "virtinfra_architecture is defined and virtinfra_architecture in ['aarch64', 'arm64']",
    },
    "keyed_groups": [
        {"key": "virtinfra_cluster_uuid", "prefix": "cluster"},
        {"key": "virtinfra_hypervisor_type | lower", "prefix": "hypervisor"},
        {"key": "virtinfra_state", "separator": ""},
    ],
}
# Expressions that users write every day: filters and tests of Ansible, slices, and calls.
EVERYDAY: dict[str, Any] = {
    "compose": {
        "memory_gib": "(virtinfra_total_memory_capacity / 1073741824) | round(1)",
        "rack": "virtinfra_description | regex_replace('^rack ', '')",
        "title": "virtinfra_name | title",
    },
    "groups": {
        "first_hosts": "virtinfra_name is match('host-1')",
        "first_subnet": "virtinfra_management_ip.split('.')[2] == '0'",
        "added_in_january": "(virtinfra_create_date | to_datetime('%b %d, %Y %I:%M:%S %p')).month == 1",
    },
    "keyed_groups": [
        {"key": "virtinfra_name[:6]", "prefix": "name"},
        {"key": "virtinfra_management_ip.split('.')[:3] | join('_')", "prefix": "subnet"},
        {"key": "virtinfra_cpu_num | int | string", "prefix": "cores"},
    ],
}


# Six of the variables of VMs.
SIX: dict[str, Any] = {"variables": ["name", "state", "cpu_num", "memory_size", "cluster_name", "ansible_host"]}


class Service:
    """A service for inventories, that responds at once, or after some milliseconds."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url, self.folder = url, folder

    def write_source(self, kind: str, count: int, delay: int = 0, **options: Any) -> str:
        """Write an inventory source for a number of hosts or VMs, and return its path."""
        path = self.folder / f"virtinfra_{kind}.yml"
        connection = {
            "base_url": self.url,
            "path_prefix": f"{count}-{delay}-{int(kind == 'vms')}",
            "session_id": SESSION,
        }
        plugin = {"plugin": f"virtinfra.manager.{kind}", **PLAIN[kind]}
        path.write_text(json.dumps({**plugin, **connection, **options}), encoding="utf-8")
        return str(path)

    def fill(self, kind: str, count: int, *, delay: int = 0, clock: Clock = time.process_time, **options: Any) -> float:
        """Return the seconds that our plugin takes for a number of hosts or VMs."""
        path = self.write_source(kind, count, delay, **options)
        inventory, loader = InventoryData(), DataLoader()
        inventory.current_source = path
        start = clock()
        inventory_loader.get(f"virtinfra.manager.{kind}").parse(inventory, loader, path)
        inventory.reconcile_inventory()
        taken = clock() - start
        check_size(inventory, count)
        return taken

    def fill_by_peer(self, count: int, options: Mapping[str, Any]) -> float:
        """Return the seconds that a plugin with core's means takes for a number of hosts."""
        inventory, peer = InventoryData(), Peer()
        start = time.process_time()
        peer.fill(inventory, peer.read(f"{self.url}/{count}-0-0"), options)
        inventory.reconcile_inventory()
        taken = time.process_time() - start
        check_size(inventory, count)
        return taken

    def read_and_add(self, kind: str, count: int) -> float:
        """Return the seconds that reading the records, and adding hosts with their names, take: the least for them."""
        start, total = time.process_time(), 0
        inventory = InventoryData()
        with requests.Session() as session:
            while total < count:
                query = {"start": str(total), "limit": str(PAGE_SIZE), "replyWithCount": "true"}
                url = f"{self.url}/{count}-0-{int(kind == 'vms')}/service/v1/{PATHS[kind]}"
                for record in session.get(url, params=query, timeout=60).json()["inventories"]:
                    inventory.add_host(record["name"])
                    total += 1
        inventory.reconcile_inventory()
        taken = time.process_time() - start
        check_size(inventory, count)
        return taken

    def measure_memory(self, kind: str, count: int, **options: Any) -> float:
        """Return by how many KB a record the peak of memory of a process grows that fills an inventory.

        With the kind ``six``, the inventory has the variables of SIX, and nothing reads a service.
        """
        # The service builds the pages before.
        if kind in PATHS:
            self.fill(kind, count, **options)
        arguments = [self.url, kind, str(count), json.dumps(options)]
        command = [sys.executable, "-m", "benchmarks.inventory_filling", *arguments]
        output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
        return float(output) / 1024


def check_size(inventory: InventoryData, count: int) -> None:
    """Raise SystemExit unless the inventory has this number of hosts."""
    if len(inventory.hosts) != count:
        raise SystemExit(f"the inventory has {len(inventory.hosts)} of {count} hosts")


def add_names(count: int) -> float:
    """Return the seconds that Ansible takes to add hosts by their names: the floor of each inventory."""
    names = [f"host-{number}" for number in range(count)]
    start = time.process_time()
    inventory = InventoryData()
    inventory.current_source = __file__
    for name in names:
        inventory.add_host(name)
    inventory.reconcile_inventory()
    return time.process_time() - start


def add_six(count: int) -> None:
    """Fill an inventory of VMs with the variables of SIX, and nothing else."""
    inventory = InventoryData()
    for number in range(count):
        name, address = f"vm-{number}", f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"
        sizes = {"virtinfra_cpu_num": 4, "virtinfra_memory_size": 1 << 32}
        place = {"virtinfra_state": "Running", "virtinfra_cluster_name": f"cluster-{number % 100}"}
        variables = {"virtinfra_name": name, "ansible_host": address, **sizes, **place}
        inventory.get_host(inventory.add_host(name)).vars = variables


def evaluate_with_core(count: int, options: Mapping[str, Any]) -> float:
    """Return the seconds that core's loop over expressions takes, with records that are read already."""
    records = [host(number) for number in range(count)]
    inventory = InventoryData()
    plain = InventoryData()
    start = time.process_time()
    Peer().fill(plain, records, {})
    between = time.process_time()
    Peer().fill(inventory, records, options)
    return time.process_time() - between - (between - start)


def read_peak() -> int:
    """Return the peak of memory of this process in bytes."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return 1024 * int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:")))


def alternate(rounds: int, *ways: Callable[[], float]) -> list[float]:
    """Return the median of several measurements of each way.

    They alternate, so that a busy machine affects all of them.
    """
    measured = [[measure_without_garbage(way) for way in ways] for dummy in range(rounds)]
    return [median(times) for times in zip(*measured, strict=True)]


def measure_without_garbage(way: Callable[[], float]) -> float:
    """Return a measurement that does not include the collection of the inventory that was filled before."""
    gc.collect()
    return way()


@contextmanager
def running_service() -> Iterator[Service]:
    """Start the service and stop it at the end."""
    command = [sys.executable, "-m", "benchmarks.inventory_pages"]
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process,
    ):
        port = process.stdout.readline().strip() if process.stdout else ""
        yield Service(f"http://127.0.0.1:{port}", Path(folder))


def main(url: str, kind: str, count: str, options: str) -> None:
    """Print by how many bytes a record the peak of memory grows."""
    init_plugin_loader()
    with tempfile.TemporaryDirectory() as folder:
        service = Service(url, Path(folder))
        given = json.loads(options)

        def fill(number: int) -> None:
            if kind in PATHS:
                service.fill(kind, number, **given)
            else:
                add_six(number)

        fill(1)
        before = read_peak()
        fill(int(count))
        print((read_peak() - before) / int(count))


if __name__ == "__main__":
    os.environ.setdefault("ANSIBLE_LOCALHOST_WARNING", "false")
    main(*sys.argv[1:])
