# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: vms
short_description: Inventory of the virtual machines of the infrastructure
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Adds each virtual machine of the service to the inventory, with the fields of its record as variables, including
    its NICs as C(virtinfra_vm_nics).
  - Services keep the record of a deleted virtual machine for some time, in the state V(Destroyed) or V(Expunging). Such
    records are skipped unless a condition in O(query) or O(filters) is on C(state), for example V(state=Destroyed).
  - The inventory source is a file whose name ends in V(virtinfra_vms.yml) or V(virtinfra_vms.yaml).
  - C(virtinfra_addresses) lists the addresses of all NICs in order. C(ansible_host) is the first of them, or the first
    in one of the O(networks).
extends_documentation_fragment:
  - virtinfra.manager._plugin_connection
  - virtinfra.manager._inventory
  - constructed
  - inventory_cache
options:
  plugin:
    description:
      - The name of this plugin.
    required: true
    type: str
    choices:
      - virtinfra.manager.vms
  networks:
    description:
      - The networks for C(ansible_host), each the uuid of an L3 network or an address range such as V(10.1.0.0/16).
        C(ansible_host) is the first address of the VM in the first network in which it has one. It is not set when the
        VM has no address in any of them.
    type: list
    elements: str
  hosts:
    description:
      - Whether to set C(virtinfra_host) to the uuid, name, management IP address, state and status of the host on which
        the VM runs, or to null when it runs on none.
      - By default hosts are read if there is a session.
    type: bool
seealso:
  - plugin: virtinfra.manager.hosts
    plugin_type: inventory
"""

EXAMPLES = r"""
# vms.virtinfra_vms.yml: running Linux VMs with an address in the management network, grouped by guest OS type and by
# host. With VIRTINFRA_BASE_URL and VIRTINFRA_SESSION_ID set, the line of the plugin is enough.
plugin: virtinfra.manager.vms
base_url: https://manager.example.com:8443
session_id: "{{ lookup('ansible.builtin.env', 'MANAGER_SESSION') }}"
query:
  - state=Running
  - platform=Linux
networks:
  - 10.20.0.0/16
keyed_groups:
  - key: virtinfra_guest_os_type
    prefix: os
    default_value: unknown
  - key: virtinfra_host.name
    prefix: host
"""

import ipaddress
from collections.abc import Callable
from typing import Any

from ..module_utils._api.records import Record
from ..module_utils._api.resource_types import HOST, VM
from ..plugin_utils._inventory.hostvars import common, elements, make_unsafe, text
from ..plugin_utils._inventory.plugin import Inventory

# The fields of a host in the variables of a virtual machine.
HOST_FIELDS = ("uuid", "name", "managementIp", "state", "status")


class InventoryModule(Inventory):
    """Virtual machines."""

    NAME = "virtinfra.manager.vms"
    RESOURCE_TYPE = VM
    RELATED = ("hosts", HOST)
    DERIVED = ("addresses", "host")

    def extra_vars_builder(self, details: list[Record] | None) -> Callable[[Record], dict[str, Any]]:
        """Return a function that adds addresses and, if hosts were read, the host to a VM."""
        hosts = {text(host, "uuid"): host for host in common(details or (), HOST_FIELDS)}

        def join(vm: Record) -> dict[str, Any]:
            own = {"addresses": [make_unsafe(address) for dummy, address in addresses(vm)]}
            return own if details is None else {**own, "host": hosts.get(text(vm, "hostUuid"))}

        return join

    def ansible_host_for(self, record: Record) -> str:
        """Return the first address in the first network in which the VM has one."""
        candidates = addresses(record)
        networks = self.get_option("networks")
        if not networks:
            return candidates[0][1] if candidates else ""
        return next(
            (address for network in networks for each, address in candidates if is_in(address, each, network)), ""
        )


def addresses(vm: Record) -> list[tuple[str, str]]:
    """Return the addresses of a VM, each with the uuid of its L3 network, in the order of the NICs."""
    found: dict[tuple[str, str], None] = {}
    for nic in sorted(elements(vm, "vmNics", dict), key=_place):
        for record in (nic, *elements(nic, "usedIps", dict)):
            if address := text(record, "ip"):
                found[text(record, "l3NetworkUuid") or text(nic, "l3NetworkUuid"), address] = None
    return list(found)


def _place(nic: Record) -> int:
    device = nic.get("deviceId")
    return device if isinstance(device, int) else 0


def is_in(address: str, uuid: str, network: str) -> bool:
    """Return whether an address, in the L3 network with this uuid, is in a network, given by uuid or as a range."""
    if uuid == network:
        return True
    try:
        return ipaddress.ip_address(address) in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False
