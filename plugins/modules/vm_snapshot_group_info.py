# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: vm_snapshot_group_info
short_description: List snapshot groups of virtual machines
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Lists snapshot groups. A snapshot group consists of a snapshot of each volume of a VM, taken at the same time. The
    list is complete, or the module fails.
  - "List the snapshot groups of a VM - C(virtinfra.manager.vm_snapshot_group_info: {vm: vm-1})"
  - The module fails with the code V(UNSUPPORTED) if the service cannot list snapshot groups.
extends_documentation_fragment:
  - virtinfra.manager._connection
  - virtinfra.manager._listing
  - virtinfra.manager._listing.names
  - virtinfra.manager._query_fields.snapshot_group
  - virtinfra.manager._references
  - virtinfra.manager._attributes
  - virtinfra.manager._attributes.facts
  - virtinfra.manager._attributes.actiongroup_api
options:
  vm:
    description: Return only snapshot groups of this VM, by name or uuid.
    type: str
    aliases: [vm_instance_uuid]
seealso:
  - module: virtinfra.manager.vm_snapshot_group
  - module: virtinfra.manager.vm_from_snapshot_group
"""

EXAMPLES = r"""
- name: List the snapshot groups of a VM
  virtinfra.manager.vm_snapshot_group_info:
    vm: vm-1

- name: Find a snapshot group by its name
  virtinfra.manager.vm_snapshot_group_info:
    name: snapshot-group-1

- name: List the snapshot groups whose names begin with nightly
  virtinfra.manager.vm_snapshot_group_info:
    query: [name~=nightly%]
"""

RETURN = r"""
snapshot_groups:
  description:
    - The snapshot groups.
    - R(Fields of results, ansible_collections.virtinfra.manager.docsite.guide_records) describes the fields.
  returned: success
  type: list
  elements: dict
  sample:
    [{uuid: a000000b000040008000000000000001, name: before-upgrade, description: before the upgrade of the database,
      create_date: 'Jan 6, 2024 4:52:16 AM', last_op_date: 'Jan 6, 2024 4:52:16 AM',
      vm_instance_uuid: a0000004000040008000000000000001, vm_instance_name: vm-1, snapshot_count: 2,
      volume_snapshot_refs: [{device_id: 0, snapshot_deleted: false}]}]
total:
  description: The number of matching snapshot groups, including those beyond O(limit).
  returned: success
  type: int
  sample: 1
"""

from ..module_utils._python import check_python

check_python()

from ..module_utils._modules.process import run_as_module
from ..module_utils._modules.options import IDENTITY_OPTIONS, reference
from ..module_utils._modules.read import list_module

MODULE = list_module(
    "QueryVolumeSnapshotGroup",
    returns="snapshot_groups",
    equality_options={**IDENTITY_OPTIONS, "vm": reference("vmInstanceUuid")},
)


def main() -> None:
    """Run as a module."""
    run_as_module(MODULE)


if __name__ == "__main__":
    main()
