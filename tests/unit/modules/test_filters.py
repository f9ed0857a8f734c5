# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The filters that the roles use to build lists."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.virtinfra.manager.plugins.filter.backup_rows import build_backup_rows, find_overdue
from ansible_collections.virtinfra.manager.plugins.filter.capacity_rows import COMPONENTS, build_capacity_rows
from ansible_collections.virtinfra.manager.plugins.filter.columns_to_rows import build_rows


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


def test_vms_without_a_recent_point() -> None:
    """A point that is not whole does not count, and neither does one of a VM that is gone."""
    vms = [{"uuid": f"u{number}", "name": f"vm-{number}", "state": "Running"} for number in range(6)]
    points = [
        {"vm_uuid": vm, "created": f"2026-11-{day}T00:00:00Z", "whole": whole}
        for vm, day, whole in (
            *(("u0", 27, True), ("u0", 20, True)),
            *(("u1", 20, True), ("u1", 27, False)),
            *(("u2", 24, True), ("u3", 18, True), ("u4", 25, True), ("gone", 1, True)),
        )
    ]
    limit = datetime(2026, 11, 25, tzinfo=timezone.utc)
    assert [(row["name"], row["newest"]) for row in find_overdue(vms, points, limit)] == [
        ("vm-5", None),
        ("vm-3", "2026-11-18T00:00:00Z"),
        ("vm-1", "2026-11-20T00:00:00Z"),
        ("vm-2", "2026-11-24T00:00:00Z"),
    ]
    assert len(build_backup_rows(vms, points, "20000")) == 1
