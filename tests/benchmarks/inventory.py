# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Measure an inventory of hosts relative to the minimum that Ansible itself needs for it.

The processor time of this process is compared, because the service runs on another processor, and a busy machine would
delay the two sides unequally. Where waiting matters, the elapsed time is compared. As a program it takes numbers of
hosts as arguments and prints the milliseconds per 1,000 hosts for each.
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from ansible.inventory.data import InventoryData
from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.inventory import BaseInventoryPlugin, Constructable
from ansible.plugins.loader import init_plugin_loader, inventory_loader
from benchmarks.inventory_pages import host

try:
    from ansible.template import trust_as_template
except ImportError:
    # Before 2.19 every string is a template.
    trust_as_template = str

PREFIX = "virtinfra_"
Clock = Callable[[], float]
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
FIVE: dict[str, Any] = {
    "compose": {"cores": NINE["compose"]["cores"]},
    "groups": {name: NINE["groups"][name] for name in ("ready", "large")},
    "keyed_groups": NINE["keyed_groups"][:2],
}


class Peer(BaseInventoryPlugin, Constructable):
    """An inventory plugin like most others: it sets single variables, and uses core's Constructable for each host."""

    NAME = "peer"

    def get_option(self, option: str, hostvars: Any = None) -> Any:
        """Return an option; core reads only these two."""
        return {"use_extra_vars": False, "leading_separator": True}[option]

    def fill(self, inventory: InventoryData, records: list[dict[str, Any]], options: Mapping[str, Any]) -> None:
        """Add a host for each of the records."""
        self.parse(inventory, DataLoader(), "peer")
        options = trusted(options)
        for record in records:
            name = inventory.add_host(record["name"])
            for variable, value in record.items():
                inventory.set_variable(name, variable, value)
            variables = inventory.get_host(name).get_vars()
            self._set_composite_vars(options["compose"], variables, name)
            self._add_host_to_composed_groups(options["groups"], variables, name)
            self._add_host_to_keyed_groups(options["keyed_groups"], variables, name)


class Bench:
    """Fills inventories from a service that responds at once, or after some milliseconds."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url, self.folder = url, folder

    def source(self, hosts: int, delay: int = 0, **options: Any) -> str:
        """Write a source file and return its path."""
        path = self.folder / "virtinfra_hosts.json.virtinfra_hosts.yml"
        connection = {"base_url": self.url, "path_prefix": f"{hosts}-{delay}", "session_id": "s"}
        plugin = {"plugin": "virtinfra.manager.hosts", "primary_storages": False}
        path.write_text(json.dumps({**plugin, **connection, **options}), encoding="utf-8")
        return str(path)

    def ours(self, hosts: int, delay: int = 0, clock: Clock = time.process_time, **options: Any) -> float:
        """Return the seconds that our plugin takes."""
        path = self.source(hosts, delay, **options)
        inventory, loader = InventoryData(), DataLoader()
        inventory.current_source = path
        start = clock()
        inventory_loader.get("virtinfra.manager.hosts").parse(inventory, loader, path)
        inventory.reconcile_inventory()
        taken = clock() - start
        if len(inventory.hosts) != hosts:
            raise SystemExit(f"the inventory has {len(inventory.hosts)} of {hosts} hosts")
        return taken

    def memory(self, hosts: int) -> float:
        """Return the bytes of memory per host, including its part of the inventory."""
        path = self.source(hosts)
        InventoryManager(DataLoader(), [path])
        tracemalloc.start()
        inventory = InventoryManager(DataLoader(), [path])
        gc.collect()
        taken = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        return taken / len(inventory.hosts)


def floor(hosts: int) -> float:
    """Return the seconds that Ansible takes to add hosts by their names."""
    names = [f"host-{number}" for number in range(hosts)]
    start = time.process_time()
    inventory = InventoryData()
    inventory.current_source = __file__
    for name in names:
        inventory.add_host(name)
    inventory.reconcile_inventory()
    return time.process_time() - start


def peer(hosts: int, options: Mapping[str, Any]) -> float:
    """Return the seconds that a plugin like those of other collections takes, without reading the records."""
    records = [{PREFIX + _snake(name): value for name, value in host(number).items()} for number in range(hosts)]
    for record in records:
        record["name"] = record[f"{PREFIX}name"]
    start = time.process_time()
    Peer().fill(InventoryData(), records, options)
    return time.process_time() - start


def trusted(value: Any) -> Any:
    """Return options with the trust of a source file: their strings can be templates."""
    if isinstance(value, Mapping):
        return {key: trusted(each) for key, each in value.items()}
    if isinstance(value, list):
        return [trusted(each) for each in value]
    return trust_as_template(value)


def _snake(name: str) -> str:
    return "".join(f"_{each.lower()}" if each.isupper() else each for each in name)


def typical(rounds: int, *ways: Callable[[], float]) -> list[float]:
    """Return the median of several measurements of each way.

    They alternate, so that a busy machine affects all of them.
    """
    measured = [[way() for way in ways] for dummy in range(rounds)]
    return [median(times) for times in zip(*measured, strict=True)]


@contextmanager
def bench() -> Iterator[Bench]:
    """Start the service and stop it at the end."""
    program = Path(__file__).with_name("inventory_pages.py")
    command = [sys.executable, str(program)]
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as service,
    ):
        port = service.stdout.readline().strip() if service.stdout else ""
        yield Bench(f"http://127.0.0.1:{port}", Path(folder))


def measure() -> Iterator[tuple[str, float, float | None]]:
    """Yield the measurements: a label, a number, and its limit if there is one."""
    with bench() as service:
        service.ours(10000)
        least, plain, nine = typical(
            7, lambda: floor(10000), lambda: service.ours(10000), lambda: service.ours(10000, **NINE)
        )
        loop = peer(300, NINE) * 10000 / 300
        yield "inventory: 10,000 hosts, ms for 1,000", plain * 100, None
        yield "inventory: 10,000 hosts / Ansible's floor", plain / least, 2.5
        yield "inventory: the same with nine expressions / floor", nine / least, 5
        yield "inventory: nine expressions / core's loop over them", nine / loop, 1 / 30
        yield "inventory: KB a host", service.memory(2000) / 1024, 5
        passing = time.perf_counter
        slow, quick = typical(8, lambda: service.ours(10000, 20, passing), lambda: service.ours(10000, 0, passing))
        yield "inventory: pages of 20 ms / waiting or filling", slow / max(10 * 0.02, quick), 1.2
        few, many = typical(4, lambda: service.ours(2000), lambda: service.ours(20000))
        yield "inventory: a host of 20,000 / a host of 2,000", many / few / 10, 1.3


def table(sizes: list[int]) -> None:
    """Print the cost of each way for each size."""
    with bench() as service:
        print(f"{'ms for 1,000 of':<36}" + "".join(f"{size:>10,}" for size in sizes))
        rows: dict[str, list[float]] = {}
        for size in sizes:
            ways: dict[str, Callable[[], float]] = {
                "Ansible's floor": partial(floor, size),
                "the plugin": partial(service.ours, size),
                "with 5 expressions": partial(service.ours, size, **FIVE),
                "with 9 expressions": partial(service.ours, size, **NINE),
            }
            for name, seconds in zip(ways, typical(3, *ways.values()), strict=True):
                rows.setdefault(name, []).append(seconds * 1e6 / size)
        for name, times in rows.items():
            print(f"{name:<36}" + "".join(f"{time:10.1f}" for time in times))
        print(f"{'core over 9 expressions, 300 hosts':<36}{peer(300, NINE) * 1e6 / 300:10.1f}")


if __name__ == "__main__":
    init_plugin_loader()
    table([int(size) for size in sys.argv[1:]] or [1000, 10000, 50000])
