# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: primary_storage_info
short_description: List primary storages
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Lists primary storages. The list is complete, or the module fails.
  - List all primary storages - C(virtinfra.manager.primary_storage_info:)
extends_documentation_fragment:
  - virtinfra.manager._connection
  - virtinfra.manager._listing
  - virtinfra.manager._listing.names
  - virtinfra.manager._query_fields.primary_storage
  - virtinfra.manager._attributes
  - virtinfra.manager._attributes.facts
  - virtinfra.manager._attributes.actiongroup_api
seealso:
  - module: virtinfra.manager.host_info
  - module: virtinfra.manager.resource_info
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
  description:
    - The primary storages.
    - R(Fields of results, ansible_collections.virtinfra.manager.docsite.guide_records) describes the fields.
      C(total_capacity), C(available_capacity), C(total_physical_capacity), C(available_physical_capacity) and
      C(system_used_capacity) are in bytes.
  returned: success
  type: list
  elements: dict
  sample:
    [{uuid: a0000008000040008000000000000001, name: ps-1, type: LocalStorage,
      zone_uuid: a0000001000040008000000000000001, url: /storage/ps-1, description: primary storage 1, state: Enabled,
      status: Connected, mount_path: /storage/ps-1, total_capacity: 10995116277760, available_capacity: 8796093022208,
      total_physical_capacity: 10995116277760, available_physical_capacity: 9663676416000,
      system_used_capacity: 21474836480, create_date: 'Jan 6, 2024 4:52:16 AM', last_op_date: 'Jan 6, 2024 4:52:16 AM',
      attached_cluster_uuids: [a0000002000040008000000000000001]}]
total:
  description: The number of matching primary storages, including those beyond O(limit).
  returned: success
  type: int
  sample: 1
"""

from ..module_utils._python import check_python

check_python()

from ..module_utils._modules.process import run_as_module
from ..module_utils._modules.read import list_module

MODULE = list_module("QueryPrimaryStorage", returns="primary_storages")


def main() -> None:
    """Run as a module."""
    run_as_module(MODULE)


if __name__ == "__main__":
    main()
