# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: capacity_rows
short_description: Calculate how much of the capacity of storages or hosts is in use
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Returns for each primary storage or host how much of its capacity is in use, and how serious that is. The role
    P(virtinfra.manager.capacity_report#role) shows these rows.
positional: _input
options:
  _input:
    description:
      - RV(virtinfra.manager.primary_storage_info#module:primary_storages) or
        RV(virtinfra.manager.host_info#module:hosts).
    type: list
    elements: dict
    required: true
  warn_percent:
    description: From which percentage in use the level is 1.
    type: int
    default: 75
  bad_percent:
    description: From which percentage in use the level is 2.
    type: int
    default: 90
"""

EXAMPLES = r"""
- name: Read the primary storages
  virtinfra.manager.primary_storage_info:
  register: listed

- name: Fail if a primary storage is almost full
  ansible.builtin.fail:
    msg: "Almost full: {{ full | map(attribute='name') | join(', ') }}"
  when: full | length > 0
  vars:
    full: >-
      {{ listed.primary_storages | virtinfra.manager.capacity_rows(bad_percent=95) | selectattr('level', 'eq', 2) }}
"""

RETURN = r"""
_value:
  description:
    - One row for each record, in the order of the records. A storage has the capacities C(total) and
      C(physical_total), a host C(cpu_total) and C(memory_total), each with C(used) and
      C(percent) in the place of C(total). They are 0, and the percentage is null, where the service does not send the
      capacity.
  type: list
  elements: dict
  contains:
    name: {description: The name., type: str}
    detail: {description: "The type of a storage or the management IP of a host, the state and the status.", type: str}
    is_connected: {description: Whether the status is C(Connected)., type: bool}
    percent: {description: How much of the capacity of a storage is in use., type: int}
    hardware: {description: "The components of a host that report an error, C(Normal), or C(unknown).", type: str}
    has_errors: {description: Whether a component of a host reports an error., type: bool}
    level: {description: "2 is bad or a hardware error, 1 a warning or not connected, 0 neither.", type: int}
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

# The capacities of storages and hosts: the prefix in a row, and the fields of the total and of what is available.
STORAGE = (
    ("", "total_capacity", "available_capacity"),
    ("physical_", "total_physical_capacity", "available_physical_capacity"),
)
HOST = (
    ("cpu_", "total_cpu_capacity", "available_cpu_capacity"),
    ("memory_", "total_memory_capacity", "available_memory_capacity"),
)

# The components that a host monitors, by the fields of their statuses.
COMPONENTS = {
    "cpu_status": "CPU",
    "memory_status": "memory",
    "disk_status": "disk",
    "nic_status": "NIC",
    "gpu_status": "GPU",
    "power_supply_status": "power supply",
    "fan_status": "fan",
    "raid_status": "RAID",
    "temperature_status": "temperature",
}

Record = Mapping[str, Any]


def build_capacity_rows(
    records: Iterable[Record], warn_percent: int | str = 75, bad_percent: int | str = 90
) -> list[Record]:
    """Return a row for each record of a primary storage or host. Percentages are rounded down."""
    return [_build_row(record, int(warn_percent), int(bad_percent)) for record in records]


def _build_row(record: Record, warn: int, bad: int) -> Record:
    is_host = "total_cpu_capacity" in record
    status = record.get("status") or "unknown"
    kind = record.get("management_ip" if is_host else "type") or "unknown"
    row: dict[str, Any] = {
        "name": str(record.get("name") or ""),
        "detail": f"{kind}, {record.get('state') or 'unknown'}, {status}",
        "is_connected": status == "Connected",
    }
    worst = 0.0
    for prefix, total_field, available_field in HOST if is_host else STORAGE:
        total, used, percent = _calculate_usage(record.get(total_field), record.get(available_field))
        row.update({f"{prefix}total": total, f"{prefix}used": used, f"{prefix}percent": percent})
        worst = max(worst, percent or 0)
    errors = [component for field, component in COMPONENTS.items() if is_host and record.get(field) == "Error"]
    if is_host:
        is_normal = "Normal" in [record.get(field) for field in COMPONENTS]
        row["has_errors"] = bool(errors)
        row["hardware"] = f"Error: {', '.join(errors)}" if errors else "Normal" if is_normal else "unknown"
    row["level"] = 2 if errors or worst >= bad else 1 if worst >= warn or not row["is_connected"] else 0
    return row


def _calculate_usage(total: Any, available: Any) -> tuple[float, float, float | None]:
    """Return the total, what is in use, and the percentage; 0, 0 and None if they are unknown."""
    if not (isinstance(total, (int, float)) and isinstance(available, (int, float))) or total <= 0:
        return 0, 0, None
    used = max(0, total - available)
    return total, used, 100 * used // total


class FilterModule:
    """The filter capacity_rows."""

    def filters(self) -> dict[str, Callable[..., list[Record]]]:
        """Return the filter by its name."""
        return {"capacity_rows": build_capacity_rows}
