# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The filters that the roles use to build lists."""

from __future__ import annotations

from typing import Any

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.virtinfra.manager.plugins.filter.capacity_rows import COMPONENTS, build_capacity_rows
from ansible_collections.virtinfra.manager.plugins.filter.columns_to_rows import build_rows
from ansible_collections.virtinfra.manager.plugins.filter.plan_evacuation import plan_evacuation


def test_columns_become_rows() -> None:
    assert build_rows({"name": ["a", "b"], "state": "present", "tags": iter([[1], None])}) == [
        {"name": "a", "state": "present", "tags": [1]},
        {"name": "b", "state": "present", "tags": None},
    ]
    assert build_rows({"name": [], "state": None}) == []
    assert build_rows({"name": map(str, range(2)), "options": {"a": 1}}) == [
        {"name": "0", "options": {"a": 1}},
        {"name": "1", "options": {"a": 1}},
    ]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"name": ["a", "b"], "uuid": ["c"]}, "not name: 2, uuid: 1"),
        ({"name": "a"}, "not no list"),
        ({}, "not no list"),
        (["a"], "must be a dictionary"),
    ],
)
def test_columns_without_a_common_length_are_refused(columns: Any, message: str) -> None:
    with pytest.raises(AnsibleFilterError, match=message):
        build_rows(columns)


def running_vm(name: str, memory: int = 1, **members: Any) -> dict[str, Any]:
    """Return a VM on the host h0, whose root volume is on the shared storage s1."""
    volumes = [{"uuid": f"root-{name}", "primary_storage_uuid": "s1"}]
    vm = {"name": name, "uuid": name, "host_uuid": "h0", "state": "Running", "memory_size": memory}
    return {**vm, "root_volume_uuid": f"root-{name}", "all_volumes": volumes, **members}


def can_migrate(vm: str, *hosts: str) -> dict[str, Any]:
    """Return what batch returns for the operation that lists the targets of a VM."""
    reply = {"inventories": [{"uuid": host} for host in hosts]}
    return {"item": {"params": {"vmInstanceUuid": vm}}, "failed": False, "reply": reply}


def some_hosts(**memory: int | None) -> list[dict[str, Any]]:
    """Return the records of hosts with this available memory."""
    sizes = {"h0": 0, **memory}
    return [{"uuid": uuid, "name": uuid.upper(), "available_memory_capacity": size} for uuid, size in sizes.items()]


def targets_of(entries: list[dict[str, Any]]) -> dict[str, str | None]:
    """Return the chosen host of each VM."""
    return {entry["vm"]: entry["to_uuid"] for entry in entries}


def test_vms_are_spread_by_available_memory() -> None:
    """The VM with a single target comes first, then the largest ones, each to the host with the most memory left."""
    vms = [running_vm("small", 1), running_vm("large", 6), running_vm("medium", 3), running_vm("bound", 2)]
    targets = [can_migrate(vm["name"], "h1", "h2") for vm in vms[:3]] + [can_migrate("bound", "h2")]
    entries = plan_evacuation(vms, some_hosts(h1=10, h2=10), targets)
    assert targets_of(entries) == {"small": "h2", "large": "h1", "medium": "h2", "bound": "h2"}
    assert entries[0] == {
        "vm": "small",
        "vm_uuid": "small",
        "from": "H0",
        "from_uuid": "h0",
        "to": "H2",
        "to_uuid": "h2",
        "error": None,
    }
    shuffled = plan_evacuation(vms[::-1], some_hosts(h2=10, h1=10), targets[::-1])
    assert targets_of(shuffled) == targets_of(entries)


@pytest.mark.parametrize("memory", [None, 8])
def test_hosts_with_equal_memory_take_turns(memory: int | None) -> None:
    vms = [running_vm(f"vm-{number}", 2) for number in range(4)]
    targets = [can_migrate(vm["name"], "h1", "h2") for vm in vms]
    entries = plan_evacuation(vms, some_hosts(h1=memory, h2=memory), targets)
    assert targets_of(entries) == {"vm-0": "h1", "vm-1": "h2", "vm-2": "h1", "vm-3": "h2"}


def test_memory_is_reserved_for_each_vm() -> None:
    vms = [running_vm("a", 3), running_vm("b", 3), running_vm("c", 1)]
    entries = plan_evacuation(vms, some_hosts(h1=4), [can_migrate(vm["name"], "h1") for vm in vms])
    assert targets_of(entries) == {"a": "h1", "b": None, "c": "h1"}
    assert entries[1]["error"] == "no host that can take it has enough memory left after the other VMs"


@pytest.mark.parametrize(
    ("vm", "targets", "options", "error"),
    [
        ({"state": "Paused"}, [], {}, "it is Paused, and only a running VM can migrate"),
        ({}, [can_migrate("vm", "h1")], {"local_storages": ["s1"]}, "its root volume is on local storage"),
        ({}, [can_migrate("vm")], {}, "no other host can take it"),
        ({}, [can_migrate("vm", "h0")], {}, "no other host can take it"),
        ({}, [{**can_migrate("vm"), "failed": True, "msg": "no right"}], {}, "no right"),
        ({}, [], {}, "the service was not asked which hosts can take it"),
        ({}, [can_migrate("vm", "h2", "h1")], {"allowed": ["h3"]}, "hosts that must not take it: H1, H2"),
        ({}, [can_migrate("vm", "h1")], {"excluded": ["h1"]}, "only migrate to hosts that must not take it: H1"),
        ({}, [can_migrate("vm", "h1")], {"wanted": {"vm": "h2"}}, "other hosts than that on which it ran: H1"),
    ],
)
def test_reason_why_a_vm_cannot_migrate(
    vm: dict[str, Any], targets: list[dict[str, Any]], options: dict[str, Any], error: str
) -> None:
    (entry,) = plan_evacuation([running_vm("vm", **vm)], some_hosts(h1=9, h2=9), targets, **options)
    assert (entry["to"], entry["to_uuid"]) == (None, None)
    assert entry["error"].endswith(error)


@pytest.mark.parametrize(
    "options", [{"allowed": ["H2"]}, {"allowed": ["h2"]}, {"excluded": ["h1"]}, {"wanted": {"vm": "h2"}}]
)
def test_choice_of_the_host_is_limited(options: dict[str, Any]) -> None:
    (entry,) = plan_evacuation([running_vm("vm")], some_hosts(h1=9, h2=5), [can_migrate("vm", "h1", "h2")], **options)
    assert entry["to_uuid"] == "h2"


def storage(total: Any, free: Any, physical_total: Any = None, physical_free: Any = None) -> dict[str, Any]:
    """Return a connected primary storage."""
    return {
        "name": "ps-1",
        "type": "Ceph",
        "state": "Enabled",
        "status": "Connected",
        "total_capacity": total,
        "available_capacity": free,
        "total_physical_capacity": physical_total,
        "available_physical_capacity": physical_free,
    }


def test_capacities_of_storages() -> None:
    rows = build_capacity_rows(
        [storage(1000, 251), storage(1000, 250), storage(1000, 900, 10, 1), storage(None, None), storage(10, 20)]
    )
    assert [(row["total"], row["used"], row["percent"]) for row in rows] == [
        (1000, 749, 74),
        (1000, 750, 75),
        (1000, 100, 10),
        (0, 0, None),
        (10, 0, 0),
    ]
    assert [row["level"] for row in rows] == [0, 1, 2, 0, 0]
    assert rows[0]["detail"] == "Ceph, Enabled, Connected"
    (lost,) = build_capacity_rows([{**storage(10, 10), "status": None, "name": None}])
    assert (lost["level"], lost["name"], lost["detail"]) == (1, "", "Ceph, Enabled, unknown")


def test_hardware_errors_of_hosts() -> None:
    host = {
        **dict.fromkeys(COMPONENTS),
        "name": "host-1",
        "management_ip": "10.0.0.1",
        "state": "Enabled",
        "status": "Connected",
        "total_cpu_capacity": 100,
        "available_cpu_capacity": 15,
        "total_memory_capacity": 0,
        "available_memory_capacity": 0,
    }
    normal = {**host, "cpu_status": "Normal"}
    broken = {**normal, "fan_status": "Error", "raid_status": "Error"}
    rows = build_capacity_rows([host, normal, broken], "80", "86")
    assert [row["hardware"] for row in rows] == ["unknown", "Normal", "Error: fan, RAID"]
    assert [row["level"] for row in rows] == [1, 1, 2]
    assert (rows[0]["cpu_used"], rows[0]["cpu_percent"], rows[0]["memory_percent"]) == (85, 85, None)
    assert rows[0]["detail"] == "10.0.0.1, Enabled, Connected"
