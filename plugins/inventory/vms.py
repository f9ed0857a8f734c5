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
  - The inventory source is a YAML file in which O(plugin) is V(virtinfra.manager.vms). By convention, its name ends in
    V(virtinfra_vms.yml) or V(virtinfra_vms.yaml).
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
      - The networks for C(ansible_host), each the name or uuid of an L3 network or an address range such as
        V(10.1.0.0/16). C(ansible_host) is the first address of the VM in the first network in which it has one. It is
        not set when the VM has no address in any of them.
      - With a name, the plugin lists the L3 networks of each service, and each NIC in C(virtinfra_vm_nics) has
        C(l3_network_name). A name that no L3 network of a service has is an error.
    type: list
    elements: str
  hosts:
    description:
      - Whether to set C(virtinfra_host) to the uuid, name, management IP address, state and status of the host on which
        the VM runs, and C(virtinfra_host_name) to its name, or both to null when it runs on none.
      - By default hosts are read, and the plugin warns and sets no variable of them if they cannot be read. With
        V(true) the source fails instead.
    type: bool
  images:
    description:
      - Whether to list the images of the service, once, and set C(virtinfra_image_name) to the name of the image from
        which the VM was made, or to null if it was made without one.
      - By default they are listed if an expression of the source or O(variables) names the variable, and the plugin
        warns and does not set it if they cannot be read. With V(true) they are listed for plays that use the variable,
        too, and the source fails instead.
    type: bool
    version_added: 1.0.0
  instance_offerings:
    description:
      - Whether to list the instance offerings, and set C(virtinfra_instance_offering_name), or to null if the VM has
        none. The values have the meaning of those of O(images).
    type: bool
    version_added: 1.0.0
  security_groups:
    description:
      - Whether to list the security groups and the NICs in them, and set C(virtinfra_security_group_names) to the
        sorted names of the groups in which the VM has a NIC, or the uuid of a group that the account does not see. The
        list is empty if there is none. The values have the meaning of those of O(images).
      - They need a session, an account or an access key. O(api_token) alone does not suffice.
    type: bool
    version_added: 1.0.0
  affinity_groups:
    description:
      - Whether to list the affinity groups, and set C(virtinfra_affinity_group_names) to the sorted names of those in
        which the VM is. The list is empty if there is none. The values have the meaning of those of O(images).
    type: bool
    version_added: 1.0.0
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
  - l3-1
  - 10.20.0.0/16
keyed_groups:
  - key: virtinfra_guest_os_type
    prefix: os
    default_value: unknown
  - key: virtinfra_host.name
    prefix: host

# A group for each user tag, such as tag_production
#
# plugin: virtinfra.manager.vms
# user_tags: true
# keyed_groups:
#   - key: virtinfra_user_tags
#     prefix: tag

# A group for each image, instance offering, security group and affinity group, such as image_rocky_9
#
# plugin: virtinfra.manager.vms
# keyed_groups:
#   - key: virtinfra_image_name
#     prefix: image
#   - key: virtinfra_instance_offering_name
#     prefix: offering
#   - key: virtinfra_security_group_names
#     prefix: security
#   - key: virtinfra_affinity_group_names
#     prefix: affinity

# A large inventory with three variables for each VM, and groups by another one
#
# plugin: virtinfra.manager.vms
# variables:
#   - ansible_host
#   - name
#   - memory_size
# keyed_groups:
#   - key: virtinfra_cluster_name
#     prefix: cluster

# Two services with the same account. If one of them cannot be read, the inventory contains the VMs of the other.
#
# plugin: virtinfra.manager.vms
# on_failure: skip
# services:
#   - name: north
#     base_url: https://north.example.com
#   - name: south
#     base_url: https://south.example.com
"""

from ..module_utils._python import check_python

check_python()

import ipaddress
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar, NamedTuple

from ..module_utils._api.errors import InvalidOptions, Unsupported
from ..module_utils._api.records import Record
from ..module_utils._api.references import is_name, unify_uuid
from ..module_utils._api.resource_types import HOST, L3_NETWORK, VM
from ..module_utils._client.client import Client
from ..plugin_utils._inventory.hostvars import (
    CLUSTER_NAME,
    ZONE_NAME,
    Added,
    AddedValues,
    HostEntry,
    HostVars,
    convert_fields,
    get_elements,
    get_text,
)
from ..plugin_utils._inventory.plugin import Inventory
from ..plugin_utils._inventory.reading import ServiceData
from ..plugin_utils._inventory.selection import ADDRESS
from ..plugin_utils._inventory.services import Service
from ..plugin_utils._inventory.vm_names import VM_NAMES, Resolver
from ..plugin_utils._jinja.marks import make_unsafe

# The fields of a host that are added to the variables of its VMs.
HOST_FIELDS = ("uuid", "name", "managementIp", "state", "status")


class InventoryModule(Inventory):
    """The inventory of VMs."""

    NAME = "virtinfra.manager.vms"
    RESOURCE_TYPE = VM
    RELATED = ("hosts", HOST, ("host", "hostName"))
    ADDED: ClassVar[AddedValues] = {
        "clusterName": CLUSTER_NAME,
        "zoneName": ZONE_NAME,
        "hostName": Added("the name of the host on which it runs", ("hostUuid",)),
        "addresses": Added("the IP addresses of its NICs", ("vmNics",)),
        "host": Added("the host on which it runs", ("hostUuid",), HOST.record),
        **{field: names.added for field, names in VM_NAMES.items()},
    }
    ADDRESS_FIELDS = ("vmNics",)
    PARTS: ClassVar[Mapping[str, frozenset[str]]] = {
        "vmNics": frozenset(("deviceId", "ip", "l3NetworkUuid", "l3NetworkName", "usedIps"))
    }

    def _create_entries(self, cache: bool) -> list[HostEntry]:
        """Return the entries of all hosts. Warn if O(networks) has the address of none of several VMs."""
        # Whether each VM with an address has one in a network.
        self._choices: list[bool] = []
        entries = super()._create_entries(cache)
        is_needed = self.selection.needs(ADDRESS) and ADDRESS not in (self.get_option("compose") or {})
        if len(self._choices) > 1 and is_needed and not any(self._choices):
            listed = ", ".join(map(str, self.get_option("networks")))
            self.warn(
                f"networks: none of {len(self._choices)} VMs with addresses has one in {listed}, so {ADDRESS} is set"
                " for none"
            )
        return entries

    def list_cache_key_options(self) -> list[Any]:
        """Return the values of the options that determine which data is read."""
        return [*super().list_cache_key_options(), self._list_network_names(), self._list_fields_with_names()]

    def fetch_related(self, client: Client, service: Service) -> list[Record] | None:
        """Return the hosts, and remember the lists of the service with names of other objects of its VMs."""
        self._networks = self._read_networks(client, service)
        self._resolvers = self._read_names(client, service)
        return super().fetch_related(client, service)

    def _read_networks(self, client: Client, service: Service) -> dict[str, str]:
        """Return the names of the L3 networks by their uuids if one of O(networks) is a name."""
        found: dict[str, str] = {}
        names = self._list_network_names()
        if names and self.selection.needs("ansible_host", "vmNics"):
            try:
                networks = service.read_related(client, L3_NETWORK)
            except Unsupported as failure:
                raise InvalidOptions(f"networks: {failure}") from None
            found = {get_text(network, "uuid"): get_text(network, "name") for network in networks}
            if unknown := sorted(set(names) - set(found.values())):
                existing = ", ".join(sorted(set(found.values())))
                raise InvalidOptions(
                    f"networks: {service.name} has no L3 network {unknown[0]!r}. The names are {existing or 'none'}."
                )
        return found

    def _read_names(self, client: Client, service: Service) -> dict[str, Resolver]:
        """Return how to find the values with names for a VM, by their fields, without those that cannot be read."""
        found: dict[str, Resolver] = {}
        for field in self._list_fields_with_names():
            names = VM_NAMES[field]
            is_required = bool(self.get_option(names.option))
            resolve = service.read_or_warn(partial(names.read, service, client), names.option, is_required, self.warn)
            if resolve:
                found[field] = resolve
        return found

    def _list_fields_with_names(self) -> list[str]:
        """Return the fields with names that are read for the source."""
        return [
            field for field, names in VM_NAMES.items() if self.selection.requests(field, self.get_option(names.option))
        ]

    def enrich_records(self, client: Client, records: list[Record]) -> None:
        """Add the names of other objects to the VMs, and those of L3 networks to NICs if O(networks) has a name."""
        for field, resolve in self._resolvers.items():
            for vm in records:
                vm[field] = resolve(vm)
        for vm in records if self._networks else ():
            for nic in get_elements(vm, "vmNics", dict):
                for record in (nic, *get_elements(nic, "usedIps", dict)):
                    record["l3NetworkName"] = self._networks.get(get_text(record, "l3NetworkUuid"))

    def _list_network_names(self) -> list[str]:
        """Return the names in the option networks."""
        return [network for network in self._list_networks() if is_name(network) and not is_range(network)]

    def _list_networks(self) -> list[str]:
        networks = [unify_uuid(network) for network in self.get_option("networks") or ()]
        if address := next((network for network in networks if is_range(network) and "/" not in network), None):
            raise InvalidOptions(
                f"networks: {address} is one address. Give the range with the length of its prefix, such as 10.1.0.0/16"
            )
        return networks

    def create_entry_factory(self, hostvars: HostVars, data: ServiceData) -> Callable[[Record], HostEntry]:
        """Return a function that creates the entry of a VM, with its addresses and, if hosts were read, its host."""
        hosts = {get_text(host, "uuid"): convert_fields(host, HOST_FIELDS) for host in data.related or ()}
        networks = self._list_networks()

        def create_entry(vm: Record) -> HostEntry:
            addresses = list_addresses(vm)
            added: dict[str, Any] = {"addresses": [make_unsafe(address.ip) for address in addresses]}
            if data.related is not None:
                added["host"] = host = hosts.get(get_text(vm, "hostUuid"))
                added["hostName"] = host["name"] if host else None
            address = choose_address(addresses, networks)
            if addresses and networks:
                self._choices.append(bool(address))
            return hostvars.create_entry(vm, data.service, added, address)

        return create_entry


class Address(NamedTuple):
    """An address of a VM, and the uuid and the name of its L3 network; the name is empty if it was not read."""

    ip: str
    network_uuid: str
    network_name: str

    def is_in(self, network: str) -> bool:
        """Return whether the address is in a network, given by uuid, by name or as a range."""
        if network in (self.network_uuid, self.network_name):
            return True
        try:
            return ipaddress.ip_address(self.ip) in ipaddress.ip_network(network, strict=False)
        except ValueError:
            return False


def is_range(network: str) -> bool:
    """Return whether a network is given as an address range."""
    try:
        ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False
    return True


def choose_address(addresses: list[Address], networks: list[str]) -> str:
    """Return the first address in the first of the networks in which there is one, ``""`` if there is none.

    Without networks, return the first address.
    """
    if not networks:
        return addresses[0].ip if addresses else ""
    return next((address.ip for network in networks for address in addresses if address.is_in(network)), "")


def list_addresses(vm: Record) -> list[Address]:
    """Return the addresses of a VM in the order of the NICs."""
    addresses: dict[Address, None] = {}
    for nic in sorted(get_elements(vm, "vmNics", dict), key=_read_device_number):
        for record in (nic, *get_elements(nic, "usedIps", dict)):
            if address := get_text(record, "ip"):
                network = record if get_text(record, "l3NetworkUuid") else nic
                network_uuid, network_name = get_text(network, "l3NetworkUuid"), get_text(network, "l3NetworkName")
                addresses[Address(address, network_uuid, network_name)] = None
    return list(addresses)


def _read_device_number(nic: Record) -> int:
    device = nic.get("deviceId")
    return device if isinstance(device, int) else 0
