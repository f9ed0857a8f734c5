# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: primary_storage_info
short_description: List primary storages
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Lists primary storages. The list is complete, or the module fails.
extends_documentation_fragment:
  - virtinfra.manager._connection
  - virtinfra.manager._listing
  - virtinfra.manager._listing.names
  - virtinfra.manager._attributes
  - virtinfra.manager._attributes.facts
  - virtinfra.manager._attributes.actiongroup_api
"""

EXAMPLES = r"""
- name: List all primary storages
  virtinfra.manager.primary_storage_info:

- name: Find a primary storage by its name
  virtinfra.manager.primary_storage_info:
    name: ps-1

- name: List the primary storages that are not connected
  virtinfra.manager.primary_storage_info:
    query: [status!=Connected]
"""

RETURN = r"""
primary_storages:
  description: The primary storages.
  returned: success
  type: list
  elements: dict
  sample:
    - uuid: a0000008000040008000000000000001
      name: ps-1
      type: LocalStorage
      state: Enabled
      status: Connected
      total_capacity: 10995116277760
      available_capacity: 8796093022208
      attached_cluster_uuids: [a0000002000040008000000000000001]
total:
  description: The number of matching primary storages, including those beyond O(limit).
  returned: success
  type: int
  sample: 1
"""

from ansible_collections.virtinfra.manager.plugins.module_utils._info_modules import list_module

MODULE = list_module("QueryPrimaryStorage", returns="primary_storages")


def main() -> None:
    """Run as a module."""
    MODULE.run_as_module()


if __name__ == "__main__":
    main()
