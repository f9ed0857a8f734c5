"""Hosts that are added to an inventory without ``add_host`` of ansible-core are the same as with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible.inventory.data import InventoryData
from ansible.inventory.host import Host
from ansible_collections.virtinfra.manager.plugins.plugin_utils._inventory.plugin import HostFactory

from support.inventory_sources import trust

NAMES = trust(["web-1", "web-2", "localhost", "fe80::1", "127.0.0.1", "web-3"])


def describe(host: Host) -> dict[str, Any]:
    """Return all attributes of a host except for the uuid, which differs for each."""
    return {**vars(host), "_uuid": "", "groups": [group.name for group in host.groups]}


def fill(path: Path, names: list[str], factory: Any) -> InventoryData:
    """Return an inventory with these hosts, which ``factory(inventory)`` adds, as after a source was read."""
    inventory = InventoryData()
    inventory.current_source = str(path)
    add = factory(inventory)
    for name in names:
        add(name)
    assert len({host._uuid for host in inventory.hosts.values()}) == len(names)
    inventory.groups["all"].add_host(inventory.hosts[names[0]])
    inventory.reconcile_inventory()
    return inventory


@pytest.mark.parametrize("first", range(len(NAMES)))
def test_hosts_are_the_same_as_those_of_core(first: int, tmp_path: Path) -> None:
    source, names = tmp_path / "source.yml", NAMES[first:] + NAMES[:first]
    source.touch()
    ours = fill(source, names, lambda inventory: HostFactory(inventory).add)
    theirs = fill(source, names, lambda inventory: inventory.add_host)
    assert list(ours.hosts) == list(theirs.hosts)
    for name in names:
        assert describe(ours.hosts[name]) == describe(theirs.hosts[name])
        assert type(ours.hosts[name].name) is type(theirs.hosts[name].name) is str
    assert str(ours.localhost) == str(theirs.localhost)
    assert ours.get_groups_dict() == theirs.get_groups_dict()


def test_only_the_first_host_is_added_by_core(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    added = count_added_by_core(monkeypatch)
    fill(tmp_path / "source.yml", ["a", "b", "c"], lambda inventory: HostFactory(inventory).add)
    assert added == ["a"]


def test_core_adds_all_hosts_if_it_changes_more_of_a_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    added = count_added_by_core(monkeypatch, zone="z")
    inventory = fill(tmp_path / "source.yml", ["a", "b", "c"], lambda inventory: HostFactory(inventory).add)
    assert added == ["a", "b", "c"]
    assert all(vars(host)["zone"] == "z" for host in inventory.hosts.values())


def count_added_by_core(monkeypatch: pytest.MonkeyPatch, **attributes: Any) -> list[str]:
    """Return the list to which add_host adds its hosts from now on; it also sets attributes of a host."""
    added: list[str] = []
    add_host = InventoryData.add_host

    def add_and_note(inventory: InventoryData, name: str) -> str:
        added.append(name)
        name = add_host(inventory, name)
        vars(inventory.hosts[name]).update(attributes)
        return name

    monkeypatch.setattr(InventoryData, "add_host", add_and_note)
    return added
