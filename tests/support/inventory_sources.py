"""Fill inventories in tests with our plugins and with ansible-core's own Constructable."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from ansible.inventory.data import InventoryData
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.inventory import BaseInventoryPlugin, Constructable
from ansible.plugins.loader import inventory_loader
from ansible.template import Templar
from ansible.utils.display import Display

try:
    from ansible.template import trust_as_template
except ImportError:
    # Before 2.19 every string is a template.
    trust_as_template = str

TRUSTS_NOBODY = hasattr(Templar, "evaluate_expression")
COLLECTION = "virtinfra.manager"


class Source:
    """A source file of one of our inventory plugins."""

    def __init__(self, folder: Path, plugin: str, **options: Any) -> None:
        self.plugin = plugin
        self.path = folder / f"test.virtinfra_{plugin}.yml"
        self.write(**options)

    def write(self, **options: Any) -> None:
        """Write the file; YAML is a superset of JSON."""
        self.path.write_text(json.dumps({"plugin": f"{COLLECTION}.{self.plugin}", **options}), encoding="utf-8")

    def fill(self, inventory: InventoryData | None = None, cache: bool = False) -> InventoryData:
        """Return an inventory that the source has filled; raise what the plugin raises."""
        inventory = InventoryData() if inventory is None else inventory
        inventory.current_source = str(self.path)
        plugin = inventory_loader.get(f"{COLLECTION}.{self.plugin}")
        assert plugin.verify_file(str(self.path))
        try:
            plugin.parse(inventory, DataLoader(), str(self.path), cache)
            if plugin.get_option("cache"):
                plugin.update_cache_if_changed()
        finally:
            inventory.reconcile_inventory()
        return inventory


class Reference(BaseInventoryPlugin, Constructable):
    """An inventory plugin that uses ansible-core for every host, like most plugins."""

    NAME = "reference"

    def __init__(self, options: Mapping[str, Any]) -> None:
        super().__init__()
        self._options = options

    def get_option(self, option: str, hostvars: Any = None) -> Any:
        """Return an option."""
        return self._options[option]

    def fill(self, inventory: InventoryData, extra: Mapping[str, Any], hosts: Mapping[str, Mapping[str, Any]]) -> None:
        """Add hosts by their names with their variables."""
        self.parse(inventory, DataLoader(), "reference")
        self._vars = dict(extra)
        strict = self._options["strict"]
        for name, variables in hosts.items():
            inventory.add_host(name)
            for variable, value in variables.items():
                inventory.set_variable(name, variable, value)
            seen = inventory.get_host(name).get_vars()
            self._set_composite_vars(self._options["compose"], seen, name, strict)
            self._add_host_to_composed_groups(self._options["groups"], seen, name, strict)
            self._add_host_to_keyed_groups(self._options["keyed_groups"], seen, name, strict)


def trust(value: Any) -> Any:
    """Return options with the trust of a source file: their strings can be templates."""
    if isinstance(value, Mapping):
        return {key: trust(item) for key, item in value.items()}
    if isinstance(value, list):
        return [trust(item) for item in value]
    return trust_as_template(value) if isinstance(value, str) else value


def plain(value: Any) -> Any:
    """Return a value with plain types, without the tags of ansible-core."""
    if isinstance(value, Mapping):
        return {plain(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value).__name__.lower().endswith("tuple"), [plain(item) for item in value]
    for kind in (bool, int, float, str):
        if isinstance(value, kind):
            return kind.__name__, kind(value)
    return value


def shape(inventory: InventoryData) -> dict[str, Any]:
    """Return the content of an inventory: host variables, and the hosts, parents and order of groups."""
    return {
        "hosts": {name: plain(host.vars) for name, host in inventory.hosts.items()},
        "groups": {
            name: ([host.name for host in group.hosts], [parent.name for parent in group.parent_groups])
            for name, group in inventory.groups.items()
        },
        "groups of hosts": {
            name: sorted(group.name for group in host.get_groups()) for name, host in inventory.hosts.items()
        },
    }


def names(inventory: InventoryData, group: str = "all") -> list[str]:
    """Return the names of the hosts in a group, sorted."""
    return sorted(host.name for host in inventory.groups[group].get_hosts())


def collect_warnings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list to which warnings are added from now on."""
    warnings: list[str] = []
    monkeypatch.setattr(Display, "warning", lambda self, message, *dummy, **keywords: warnings.append(message))
    return warnings
