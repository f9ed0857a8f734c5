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
  - "Find a primary storage by its name - C(virtinfra.manager.primary_storage_info: {name: ps-1})"
  - "List the primary storages that are not connected - C(virtinfra.manager.primary_storage_info: {query:
    [status!=Connected]})"
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
    - The fields, see R(Fields of results, ansible_collections.virtinfra.manager.docsite.guide_records), are C(uuid),
      C(zone_uuid), C(name), C(url), C(description), C(type), C(state), C(status), C(mount_path), C(total_capacity),
      C(available_capacity), C(total_physical_capacity), C(available_physical_capacity), C(system_used_capacity),
      C(create_date), C(last_op_date) and C(attached_cluster_uuids).
  returned: success
  type: list
  elements: dict
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
