# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: hosts
short_description: Hosts of the infrastructure as an inventory
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Makes a host in the inventory of every host that the service knows, with its record as variables.
  - The source is a file whose name ends in V(virtinfra_hosts.yml) or V(virtinfra_hosts.yaml).
  - C(ansible_host) is the management IP address.
extends_documentation_fragment:
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
      - virtinfra.manager.hosts
seealso:
  - module: virtinfra.manager.host_info
"""

EXAMPLES = r"""
# virtinfra_hosts.yml
plugin: virtinfra.manager.hosts
base_url: https://manager.example.com:8443
session_id: "{{ lookup('ansible.builtin.env', 'MANAGER_SESSION') }}"
"""

from ansible_collections.virtinfra.manager.plugins.module_utils._records import Record
from ansible_collections.virtinfra.manager.plugins.plugin_utils._inventory import Inventory
from ansible_collections.virtinfra.manager.plugins.plugin_utils._services import Kind


class InventoryModule(Inventory):
    """Hosts."""

    NAME = "virtinfra.manager.hosts"
    KIND = Kind("QueryHost", "host", "HostInventory")

    def address(self, record: Record) -> str | None:
        """Return the management IP address."""
        return record.get("managementIp")
