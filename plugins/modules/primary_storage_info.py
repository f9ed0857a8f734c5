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
extends_documentation_fragment:
  - virtinfra.manager._connection
  - virtinfra.manager._listing
  - virtinfra.manager._listing.names
  - virtinfra.manager._query_fields.primary_storage
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
  contains:
    uuid: {description: The uuid of the storage., type: str, sample: a0000008000040008000000000000001}
    zone_uuid: {description: The uuid of the zone., type: str, sample: a0000001000040008000000000000001}
    name: {description: The name of the storage., type: str, sample: ps-1}
    url: {description: "What is mounted, for example a path or an address.", type: str, sample: /storage/ps-1}
    description: {description: The description., type: str, sample: primary storage 1}
    type: {description: The type of the storage., type: str, sample: LocalStorage}
    state: {description: Whether the service uses the storage., type: str, sample: Enabled}
    status: {description: Whether the service is connected to the storage., type: str, sample: Connected}
    mount_path: {description: The path at which hosts mount the storage., type: str, sample: /storage/ps-1}
    total_capacity:
      description: "The capacity for volumes, in bytes, including overcommitment."
      type: int
      sample: 10995116277760
    available_capacity: {description: "The available capacity for volumes, in bytes.", type: int, sample: 8796093022208}
    total_physical_capacity: {description: "The physical capacity, in bytes.", type: int, sample: 10995116277760}
    available_physical_capacity:
      description: "The available physical capacity, in bytes."
      type: int
      sample: 9663676416000
    system_used_capacity:
      description: "The capacity that the service itself uses, in bytes."
      type: int
      sample: 21474836480
    create_date: {description: When the storage was added., type: str, sample: "Jan 6, 2024 4:52:16 AM"}
    last_op_date: {description: When the storage was last changed., type: str, sample: "Jan 6, 2024 4:52:16 AM"}
    attached_cluster_uuids:
      description: The uuids of the clusters that use the storage.
      type: list
      elements: str
      sample: [a0000002000040008000000000000001]
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
