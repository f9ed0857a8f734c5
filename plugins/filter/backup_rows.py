# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: backup_rows
short_description: List the VMs without a recent restore point
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Returns the VMs of which no whole restore point is younger than a number of days. The role
    P(virtinfra.manager.capacity_report#role) shows these rows.
positional: _input, points
options:
  _input:
    description: The VMs, RV(virtinfra.manager.vm_info#module:vms).
    type: list
    elements: dict
    required: true
  points:
    description: The restore points, RV(virtinfra.manager.backup_point_info#module:points).
    type: list
    elements: dict
    required: true
  days:
    description: How old the newest point of a VM may be.
    type: int
    default: 2
"""

EXAMPLES = r"""
- name: Read the VMs
  virtinfra.manager.vm_info:
  register: listed

- name: Read the restore points
  virtinfra.manager.backup_point_info:
    repository: /srv/backups
  register: repository
  delegate_to: mover

- name: Fail if a VM has no point of the last week
  ansible.builtin.fail:
    msg: "No backup: {{ overdue | map(attribute='name') | join(', ') }}"
  when: overdue | length > 0
  vars:
    overdue: "{{ listed.vms | virtinfra.manager.backup_rows(repository.points, days=7) }}"
"""

RETURN = r"""
_value:
  description: One row for each VM without a recent point, those without any point first, then the oldest point first.
  type: list
  elements: dict
  contains:
    name: {description: The name of the VM., type: str}
    uuid: {description: The uuid of the VM., type: str}
    state: {description: The state of the VM., type: str}
    newest: {description: "The time of its newest whole point in UTC, null if it has none.", type: str}
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta, timezone
from typing import Any

Record = Mapping[str, Any]


def build_backup_rows(vms: Iterable[Record], points: Iterable[Record], days: int | str = 2) -> list[Record]:
    """Return a row for each VM without a whole point younger than the days."""
    return find_overdue(vms, points, datetime.now(timezone.utc) - timedelta(days=int(days)))


def find_overdue(vms: Iterable[Record], points: Iterable[Record], limit: datetime) -> list[Record]:
    """Return a row for each VM whose newest whole point was made before the limit."""
    newest: dict[str, str] = {}
    for point in points:
        if point["whole"]:
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
    return sorted(rows, key=lambda row: (row["newest"] or "", row["name"] or ""))


class FilterModule:
    """The filter backup_rows."""

    def filters(self) -> dict[str, Callable[..., list[Record]]]:
        """Return the filter by its name."""
        return {"backup_rows": build_backup_rows}
