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
  - virtinfra.manager._query_fields.vm
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
        the VM runs, and C(virtinfra_host_name) to its name, or both to null when it runs on none.
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
from ..plugin_utils._inventory.hostvars import (
    HostEntry,
    HostVars,
    convert_fields,
    get_elements,
    get_text,
    make_unsafe,
)
from ..plugin_utils._inventory.plugin import Inventory, ServiceData

# The fields of a host that are added to the variables of its VMs.
HOST_FIELDS = ("uuid", "name", "managementIp", "state", "status")


class InventoryModule(Inventory):
    """The inventory of VMs."""

    NAME = "virtinfra.manager.vms"
    RESOURCE_TYPE = VM
    RELATED = ("hosts", HOST)
    ADDED = ("clusterName", "zoneName", "hostName", "addresses", "host")

    def create_entry_factory(self, hostvars: HostVars, data: ServiceData) -> Callable[[Record], HostEntry]:
        """Return a function that creates the entry of a VM, with its addresses and, if hosts were read, its host."""
        hosts = {get_text(host, "uuid"): convert_fields(host, HOST_FIELDS) for host in data.related or ()}

        def create_entry(vm: Record) -> HostEntry:
            addresses = list_addresses(vm)
            added: dict[str, Any] = {"addresses": [make_unsafe(address) for dummy, address in addresses]}
            if data.related is not None:
                added["host"] = host = hosts.get(get_text(vm, "hostUuid"))
                added["hostName"] = host["name"] if host else None
            return hostvars.create_entry(vm, data.service, added, self._choose_address(addresses))

        return create_entry

    def _choose_address(self, addresses: list[tuple[str, str]]) -> str:
        """Return the first address in the first of the networks in which there is one, ``""`` if there is none."""
        networks = self.get_option("networks")
        if not networks:
            return addresses[0][1] if addresses else ""
        for network in networks:
            for network_uuid, address in addresses:
                if is_in(address, network_uuid, network):
                    return address
        return ""


def list_addresses(vm: Record) -> list[tuple[str, str]]:
    """Return the addresses of a VM, each after the uuid of its L3 network, in the order of the NICs."""
    addresses: dict[tuple[str, str], None] = {}
    for nic in sorted(get_elements(vm, "vmNics", dict), key=_read_device_number):
        for record in (nic, *get_elements(nic, "usedIps", dict)):
            if address := get_text(record, "ip"):
                network_uuid = get_text(record, "l3NetworkUuid") or get_text(nic, "l3NetworkUuid")
                addresses[network_uuid, address] = None
    return list(addresses)


def _read_device_number(nic: Record) -> int:
    device = nic.get("deviceId")
    return device if isinstance(device, int) else 0


def is_in(address: str, network_uuid: str, network: str) -> bool:
    """Return whether an address, in the L3 network with this uuid, is in a network, given by uuid or as a range."""
    if network_uuid == network:
        return True
    try:
        return ipaddress.ip_address(address) in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False
