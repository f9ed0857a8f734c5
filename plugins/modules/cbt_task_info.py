# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: cbt_task_info
short_description: List CBT backup tasks
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Lists CBT backup tasks. The list is complete, or the module fails.
  - List all CBT backup tasks - C(virtinfra.manager.cbt_task_info:)
extends_documentation_fragment:
  - virtinfra.manager._connection
  - virtinfra.manager._listing
  - virtinfra.manager._listing.names
  - virtinfra.manager._query_fields.cbt_task
  - virtinfra.manager._references
  - virtinfra.manager._attributes
  - virtinfra.manager._attributes.facts
  - virtinfra.manager._attributes.actiongroup_api
options:
  vm:
    description:
      - Return only tasks of this VM, by name or uuid. They may have other VMs, too.
      - The module fails with the code V(UNSUPPORTED) if the service does not show the VMs of a task.
    type: str
    aliases: [vm_instance_uuid]
seealso:
  - module: virtinfra.manager.cbt_task
  - module: virtinfra.manager.vm_info
"""

EXAMPLES = r"""
- name: List all CBT backup tasks
  virtinfra.manager.cbt_task_info:

- name: Find a task by its name
  virtinfra.manager.cbt_task_info:
    name: backup-vm-1

- name: Find the tasks of a VM
  virtinfra.manager.cbt_task_info:
    vm: vm-1

- name: List the failed tasks
  virtinfra.manager.cbt_task_info:
    query: [status=Failed]
"""

RETURN = r"""
cbt_tasks:
  description:
    - The tasks.
    - C(resource_uuids) are the VMs of a task, C(vm_instance_uuid) is the first of them, and C(scratch_volumes) are the
      uuids of the scratch volumes of its open backup session. All are null if the service does not show them.
    - R(Fields of results, ansible_collections.virtinfra.manager.docsite.guide_records) describes the fields.
  returned: success
  type: list
  elements: dict
  sample:
    [{uuid: a0000010000040008000000000000003, name: cbt-task-3, description: backup 3,
      create_date: 'Jan 6, 2024 4:52:16 AM', last_op_date: 'Jan 6, 2024 4:52:16 AM', status: Running,
      resource_refs: [{resource_type: VmInstanceVO}], vm_instance_uuid: a0000004000040008000000000000003,
      vm_instance_name: vm-1, resource_uuids: [a0000004000040008000000000000003], resource_names: [vm-1]}]
total:
  description: The number of matching tasks, including those beyond O(limit).
  returned: success
  type: int
  sample: 1
"""

from ..module_utils._python import check_python

check_python()

from ..module_utils._modules.process import run_as_module
from ..module_utils._modules.options import reference
from ..module_utils._modules.read import list_module
from ..module_utils._resources.cbt_tasks import add_all_resources, is_of_vm

MODULE = list_module(
    "QueryCbtTask",
    returns="cbt_tasks",
    options={"vm": reference("vmInstanceUuid")},
    view=add_all_resources,
    predicates={"vmInstanceUuid": is_of_vm},
)


def main() -> None:
    """Run as a module."""
    run_as_module(MODULE)


if __name__ == "__main__":
    main()
