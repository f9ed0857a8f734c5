"""How much of the capacity of storages and hosts is in use, and which VMs lack a recent restore point."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from ...module_utils._api.records import Record

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

Row = dict[str, Any]

# The status of a CBT task with an open backup session.
OPEN = "Running"


def build_capacity_rows(records: Iterable[Record], warn_percent: int = 75, bad_percent: int = 90) -> list[Row]:
    """Return a row for each record of a primary storage or host: the worst first, then by name.

    A storage has the capacities ``total`` and ``physical_total``, a host ``cpu_total`` and ``memory_total``, each with
    ``used`` and ``percent`` in the place of ``total``. Percentages are rounded down. The level is 2 if a capacity is
    nearly full or hardware has errors, 1 for a warning or without a connection, else 0.
    """
    rows = [_build_row(record, warn_percent, bad_percent) for record in records]
    return sorted(rows, key=lambda row: (-row["level"], split_numbers(row["name"])))


def split_numbers(name: str) -> list[str | int]:
    """Return the parts of a name, those that are numbers as such: a key that sorts host-2 before host-10."""
    return [int(part) if index % 2 else part for index, part in enumerate(re.split(r"(\d+)", name.casefold()))]


def sum_rows(rows: Sequence[Row], capacities: Iterable[str]) -> Row:
    """Return the numbers of rows by their level, and the sums of capacities, given by the prefixes in a row."""
    totals = {
        "count": len(rows),
        "connected": sum(row["is_connected"] for row in rows),
        "warn": sum(row["level"] == 1 for row in rows),
        "bad": sum(row["level"] == 2 for row in rows),
    }
    for prefix in capacities:
        total, used = sum(row[f"{prefix}total"] for row in rows), sum(row[f"{prefix}used"] for row in rows)
        percent = 100 * used // total if total else None
        totals.update({f"{prefix}total": total, f"{prefix}used": used, f"{prefix}percent": percent})
    return totals


def count_tasks(tasks: Iterable[Record], total: int) -> Row:
    """Return the number of CBT tasks, of those with an open backup session, and of those with each status."""
    statuses = Counter(str(task.get("status") or "unknown") for task in tasks)
    return {"count": total, "open": statuses[OPEN], "statuses": dict(statuses)}


def _build_row(record: Record, warn: int, bad: int) -> Row:
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
    if is_host:
        row.update(_describe_hardware(record))
    is_bad = worst >= bad or row.get("has_errors")
    row["level"] = 2 if is_bad else 1 if worst >= warn or not row["is_connected"] else 0
    return row


def _describe_hardware(host: Record) -> Row:
    """Return whether components of a host have errors, and which ones."""
    errors = [component for field, component in COMPONENTS.items() if host.get(field) == "Error"]
    is_normal = "Normal" in [host.get(field) for field in COMPONENTS]
    hardware = f"Error: {', '.join(errors)}" if errors else "Normal" if is_normal else "unknown"
    return {"has_errors": bool(errors), "hardware": hardware}


def _calculate_usage(total: Any, available: Any) -> tuple[float, float, float | None]:
    """Return the total, what is in use, and the percentage; 0, 0 and None if they are unknown."""
    if not (isinstance(total, (int, float)) and isinstance(available, (int, float))) or total <= 0:
        return 0, 0, None
    used = max(0, total - available)
    return total, used, 100 * used // total


def find_overdue(vms: Iterable[Record], points: Iterable[Record], limit: datetime) -> list[Row]:
    """Return a row for each VM without a whole point since the limit: those without any first, then the oldest."""
    newest: dict[str, str] = {}
    for point in points:
        if point["whole"] and not point.get("future"):
            newest[point["vm_uuid"]] = max(str(point["created"]), newest.get(point["vm_uuid"], ""))
    # Times of points are in UTC and of one form, so their texts have their order.
    oldest_allowed = limit.strftime("%Y-%m-%dT%H:%M:%SZ")
    rows = [
        {
            "name": str(vm.get("name") or ""),
            "uuid": str(vm["uuid"]),
            "state": str(vm.get("state") or "unknown"),
            "newest": newest.get(vm["uuid"]),
        }
        for vm in vms
        if newest.get(vm["uuid"], "") < oldest_allowed
    ]
    return sorted(rows, key=lambda row: (row["newest"] or "", split_numbers(row["name"])))
