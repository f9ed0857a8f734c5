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
  - "Find a snapshot group by its name - C(virtinfra.manager.vm_snapshot_group_info: {name: snapshot-group-1})"
  - "List the snapshot groups whose names begin with nightly - C(virtinfra.manager.vm_snapshot_group_info: {query:
    [name~=nightly%]})"
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
    - The fields, see R(Fields of results, ansible_collections.virtinfra.manager.docsite.guide_records), are C(uuid),
      C(name), C(description), C(create_date), C(last_op_date), C(vm_instance_uuid), C(snapshot_count) and
      C(volume_snapshot_refs). C(vm_instance_name) is returned when O(vm) is a name.
  returned: success
  type: list
  elements: dict
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
