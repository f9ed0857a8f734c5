# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: primary_storages
short_description: Inventory of the primary storages of the infrastructure
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Adds each primary storage of the service to the inventory, with the fields of its record as variables, including its
    capacities and the clusters that it is attached to.
  - The inventory source is a YAML file in which O(plugin) is V(virtinfra.manager.primary_storages). By convention, its
    name ends in V(virtinfra_primary_storages.yml) or V(virtinfra_primary_storages.yaml).
  - A primary storage has no address to connect to. Run tasks for it with C(ansible_connection=local), which O(compose)
    can set.
extends_documentation_fragment:
  - virtinfra.manager._plugin_connection
  - virtinfra.manager._inventory
  - virtinfra.manager._query_fields.primary_storage
  - constructed
  - inventory_cache
options:
  plugin:
    description:
      - The name of this plugin.
    required: true
    type: str
    choices:
      - virtinfra.manager.primary_storages
  hosts:
    description:
      - Whether to add the hosts of the clusters that a primary storage is attached to, in a group named C(hosts_of_)
        and the name of the storage. C(virtinfra_hosts) lists their names.
      - Their names and variables are the defaults of P(virtinfra.manager.hosts#inventory). If an earlier source has
        added a host, only its groups are changed.
      - By default hosts are read, and the plugin warns and sets no variable of them if they cannot be read. With
        V(true) the source fails instead.
    type: bool
seealso:
  - module: virtinfra.manager.primary_storage_info
  - plugin: virtinfra.manager.hosts
    plugin_type: inventory
"""

EXAMPLES = r"""
# storage.virtinfra_primary_storages.yml: a group of the storages that are nearly full, with a local connection. With
# VIRTINFRA_BASE_URL and VIRTINFRA_SESSION_ID set, the line of the plugin is enough.
plugin: virtinfra.manager.primary_storages
base_url: https://manager.example.com:8443
session_id: "{{ lookup('ansible.builtin.env', 'MANAGER_SESSION') }}"
compose:
  ansible_connection: "'local'"
groups:
  nearly_full: virtinfra_available_capacity * 10 < virtinfra_total_capacity
keyed_groups:
  - key: virtinfra_type | lower
    prefix: storage

# The capacities only, of two services. If one of them cannot be read, the inventory contains the storages of the other.
#
# plugin: virtinfra.manager.primary_storages
# on_failure: skip
# services:
#   - name: north
#     base_url: https://north.example.com
#   - name: south
#     base_url: https://south.example.com
# variables:
#   - name
#   - available_capacity
#   - total_capacity
"""

from ..module_utils._python import check_python

check_python()

from collections.abc import Iterable
from typing import ClassVar

from ..module_utils._api.records import Record
from ..module_utils._api.resource_types import HOST, PRIMARY_STORAGE
from ..module_utils._client.client import Client
from ..plugin_utils._inventory.hostvars import (
    HOST_ADDED,
    STORAGE_FIELDS,
    ZONE_NAME,
    Added,
    AddedValues,
    HostEntry,
    HostVars,
    create_host_entry,
    get_elements,
    get_text,
    group_by_cluster,
)
from ..plugin_utils._inventory.names import assign_names
from ..plugin_utils._inventory.plugin import Inventory
from ..plugin_utils._inventory.reading import ServiceData
from ..plugin_utils._inventory.services import Service


class InventoryModule(Inventory):
    """The inventory of primary storages and their hosts."""

    NAME = "virtinfra.manager.primary_storages"
    RESOURCE_TYPE = PRIMARY_STORAGE
    RELATED = ("hosts", HOST, ())
    ADDED: ClassVar[AddedValues] = {
        "zoneName": ZONE_NAME,
        "hosts": Added("the names of the hosts that are attached to it"),
    }
    # Its hosts and storages refer to each other by several fields.
    KEEPS_RECORDS = True

    def fetch_related(self, client: Client, service: Service) -> list[Record] | None:
        """Return the hosts, with the names of their clusters and zones."""
        if hosts := super().fetch_related(client, service):
            self.add_names(client, service, HOST, hosts)
        return hosts

    def list_required_fields(self) -> Iterable[str]:
        """Return the fields that the variables and groups of the hosts need."""
        return () if self.get_option("hosts") is False else (*STORAGE_FIELDS, "attachedClusterUuids")

    def create_related_entries(
        self, entries: list[HostEntry], hostvars: HostVars, services: list[ServiceData]
    ) -> list[HostEntry]:
        """Return the hosts that are attached to the storages, each in the groups of its storages."""
        hosts_of_clusters: dict[str, list[HostEntry]] = {}
        for host in self._create_hosts(entries, services):
            hosts_of_clusters.setdefault(get_text(host.record, "clusterUuid"), []).append(host)
        groups: set[str] = set()
        unread = {data.service.name for data in services if data.related is None}
        for storage in entries:
            if storage.service in unread:
                continue
            clusters = dict.fromkeys(get_elements(storage.record, "attachedClusterUuids", str))
            attached = [host for cluster in clusters for host in hosts_of_clusters.get(cluster, ())]
            if variable := hostvars.name_variable("hosts"):
                storage.variables[variable] = [host.name for host in attached]
            group = self._name_group(storage, groups)
            groups.add(group)
            for host in attached:
                host.memberships.append((group, None))
        return [host for hosts in hosts_of_clusters.values() for host in hosts if host.memberships]

    def _name_group(self, storage: HostEntry, existing: set[str]) -> str:
        """Return the name of the group of a storage's hosts, with the uuid if another storage has the same group."""
        group: str = self._sanitize_group_name(f"hosts_of_{storage.name}")
        return f"{group}_{storage.uuid}" if group in existing else group

    def _create_hosts(self, storages: list[HostEntry], services: list[ServiceData]) -> list[HostEntry]:
        """Return the hosts of all services, without variables if an earlier source has added the host."""
        hostvars = self.create_hostvars(HOST, HOST_ADDED)
        storages_of_clusters = group_by_cluster(storage.record for storage in storages)
        hosts = [
            create_host_entry(hostvars, record, data.service, storages_of_clusters)
            for data in services
            for record in data.related or ()
        ]
        self.warn_of_invalid_addresses(hostvars)
        hosts = assign_names(self, hosts, ["name"], hostvars)
        storage_names = {storage.name for storage in storages}
        for host in hosts:
            if host.name in storage_names:
                host.name = f"{host.name}_{host.uuid}"
            if host.name in self.inventory.hosts:
                host.variables = {}
        return hosts
