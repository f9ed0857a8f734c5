# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: lost_hosts
short_description: Build the entries of a message about hosts that are down
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Returns those of the hosts that the changes of an event of the event source C(resource_changes) name,
    each with a line of text for a mail or a chat. The playbook C(report_down_hosts) uses it.
positional: _input
options:
  _input:
    description: Hosts that are down, as M(virtinfra.manager.host_info) returns them.
    type: list
    elements: dict
    required: true
  changes:
    description: The changes of the event, C(ansible_eda.event.changes).
    type: list
    elements: dict
    required: true
  vms:
    description: VMs, as M(virtinfra.manager.vm_info) returns them. The text of a host names those that ran there.
    type: list
    elements: dict
    required: true
"""

EXAMPLES = r"""
- name: Read the hosts that are down
  virtinfra.manager.host_info:
    query: [status=Disconnected]
  register: read_hosts

- name: Read the VMs
  virtinfra.manager.vm_info:
  register: read_vms

- name: Show the hosts of the event that are still down
  ansible.builtin.debug:
    msg: "{{ read_hosts.hosts | virtinfra.manager.lost_hosts(changes, read_vms.vms) | map(attribute='text') }}"
  vars:
    changes: "{{ ansible_eda.event.changes }}"
"""

RETURN = r"""
_value:
  description: The records of the hosts with C(text), which has the name, the address and the VMs.
  type: list
  elements: dict
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..plugin_utils._jinja.filters import name_arguments
from ..plugin_utils._jinja.marks import make_unsafe

# The longest list of VMs in a text, in characters.
LONGEST = 1000

TAKES = (
    "three lists: hosts, as the member hosts of a result of host_info, changes, as ansible_eda.event.changes, and vms,"
    " as the member vms of a result of vm_info"
)

Record = Mapping[str, Any]


def list_lost_hosts(hosts: Sequence[Record], changes: Sequence[Record], vms: Sequence[Record]) -> list[dict[str, Any]]:
    """Return the hosts that changes name, each with a text."""
    changed = {change["change"]["uuid"] for change in changes}
    lost = [_describe(host, vms) for host in hosts if host["uuid"] in changed]
    entries: list[dict[str, Any]] = make_unsafe(lost)
    return entries


def _describe(host: Record, vms: Sequence[Record]) -> dict[str, Any]:
    names = ", ".join(vm["name"] for vm in vms if vm["host_uuid"] == host["uuid"])
    shown = names if len(names) <= LONGEST else f"{names[:LONGEST]} ..."
    end = f"Its VMs: {shown}" if names else "It has no VMs."
    return {**host, "text": f"{host['name']} ({host['management_ip']}) is down. {end}"}


class FilterModule:
    """The filter lost_hosts."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filter by its name."""
        return {"lost_hosts": name_arguments("lost_hosts", list_lost_hosts, TAKES)}
