# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: hosts
short_description: Inventory of the hosts of the infrastructure
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Adds each host of the service to the inventory, with the fields of its record as variables.
  - The inventory source is a YAML file in which O(plugin) is V(virtinfra.manager.hosts). By convention, its name ends
    in V(virtinfra_hosts.yml) or V(virtinfra_hosts.yaml).
  - C(ansible_host) is the management IP address of the host.
extends_documentation_fragment:
  - virtinfra.manager._plugin_connection
  - virtinfra.manager._inventory
  - virtinfra.manager._query_fields.host
  - constructed
  - inventory_cache
options:
  plugin:
    description:
      - The name of this plugin.
    required: true
    type: str
    choices:
      - virtinfra.manager.hosts
  network_facts:
    description:
      - Whether to read the bonds and NICs of every host into C(virtinfra_bondings) and C(virtinfra_nics), several hosts
        concurrently. This takes seconds per host, so combine it with O(cache).
      - A host that cannot be queried stays in the inventory, with the reason in C(virtinfra_network_facts_error).
    type: bool
    default: false
  primary_storages:
    description:
      - Whether to set C(virtinfra_primary_storages) to the primary storages that are attached to the host's cluster.
      - By default they are read, and the plugin warns and does not set the variable if they cannot be read. With
        V(true) the source fails instead.
    type: bool
seealso:
  - module: virtinfra.manager.host_info
  - plugin: virtinfra.manager.primary_storages
    plugin_type: inventory
"""

EXAMPLES = r"""
# hosts.virtinfra_hosts.yml: only connected hosts, with variables and groups from their attributes. With
# VIRTINFRA_BASE_URL and VIRTINFRA_SESSION_ID set, the line of the plugin is enough.
plugin: virtinfra.manager.hosts
base_url: https://manager.example.com:8443
session_id: "{{ lookup('ansible.builtin.env', 'MANAGER_SESSION') }}"
query:
  - status=Connected
hostnames:
  - hostname
  - name
exclude:
  - virtinfra_name.startswith('spare-')
compose:
  ansible_user: "'root'"
  rack: virtinfra_name.split('-')[0]
groups:
  maintenance: virtinfra_state in ['PreMaintenance', 'Maintenance']
keyed_groups:
  - key: virtinfra_cluster_name
    prefix: cluster
  - key: virtinfra_architecture | lower
    prefix: arch

# Two services, one of them read by a cursor query, with a cache of one hour. If one does not respond, the inventory
# contains its hosts as they were last.
#
# plugin: virtinfra.manager.hosts
# on_failure: last_known
# services:
#   - name: north
#     base_url: https://north.example.com
#     session_id: "{{ lookup('ansible.builtin.file', '~/.north-session') }}"
#   - name: south
#     base_url: https://south.example.com
#     api_token: "{{ south_token }}"
# keyed_groups:
#   - key: virtinfra_service
#     prefix: site
# cache: true
# cache_plugin: ansible.builtin.jsonfile
# cache_connection: ~/.cache/virtinfra
# cache_timeout: 3600

# A large inventory with three variables for each host, and groups by another one
#
# plugin: virtinfra.manager.hosts
# variables:
#   - ansible_host
#   - name
#   - status
# keyed_groups:
#   - key: virtinfra_zone_name
#     prefix: zone
"""

from ..module_utils._python import check_python

check_python()

from collections.abc import Callable
from typing import Any

from ..module_utils._api.errors import ApiError, TransportError
from ..module_utils._api.records import Record
from ..module_utils._api.resource_types import HOST, PRIMARY_STORAGE
from ..module_utils._client.client import Client
from ..plugin_utils._inventory.hostvars import (
    HOST_ADDED,
    HostEntry,
    HostVars,
    create_host_entry,
    group_by_cluster,
)
from ..plugin_utils._inventory.plugin import Inventory
from ..plugin_utils._inventory.reading import ServiceData

# The API names of the values that the option network_facts adds.
NETWORK_FACTS = ("bondings", "nics", "networkFactsError")

# A host that does not respond must not delay the others as long as request_timeout would allow.
RETRIES = 1


class InventoryModule(Inventory):
    """The inventory of hosts."""

    NAME = "virtinfra.manager.hosts"
    RESOURCE_TYPE = HOST
    RELATED = ("primary_storages", PRIMARY_STORAGE, ("primaryStorages",))
    ADDED = HOST_ADDED
    ADDRESS_FIELDS = ("managementIp",)

    def list_cache_key_options(self) -> list[Any]:
        """Return the options that add data to the cache entry."""
        return [self.get_option("network_facts"), *super().list_cache_key_options()]

    def create_entry_factory(self, hostvars: HostVars, data: ServiceData) -> Callable[[Record], HostEntry]:
        """Return a function that creates the entry of a host, with the primary storages of its cluster."""
        storages = None if data.related is None else group_by_cluster(data.related)
        return lambda host: create_host_entry(hostvars, host, data.service, storages)

    def enrich_records(self, client: Client, records: list[Record]) -> None:
        """Read the bonds and NICs of the hosts if the option network_facts is true."""
        if not self.get_option("network_facts") or not self.selection.needs(*NETWORK_FACTS):
            return
        impatient = client.with_retries(RETRIES)
        facts_of_all = impatient.map_concurrently(lambda host: _read_network_facts(impatient, host), records)
        for record, facts in zip(records, facts_of_all, strict=True):
            record.update(facts)
        if errors := [record["networkFactsError"] for record in records if record["networkFactsError"]]:
            self.warn(f"could not read the network facts of {len(errors)} hosts (first: {errors[0]})")


def _read_network_facts(client: Client, host: Record) -> Record:
    """Return the bonds and NICs of a host, or the reason why they cannot be read."""
    try:
        reply = client.get("GetHostNetworkFacts", {"hostUuid": host["uuid"]})
    except (ApiError, TransportError) as failure:
        return {"bondings": None, "nics": None, "networkFactsError": str(failure)}
    return {"bondings": reply.get("bondings") or [], "nics": reply.get("nics") or [], "networkFactsError": None}
