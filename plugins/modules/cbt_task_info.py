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
      - Return only tasks that protect this VM, by name or uuid, including tasks that protect other VMs as well.
      - The module fails with the code V(UNSUPPORTED) if the service does not show which VMs a task protects.
    type: str
    aliases: [vm_instance_uuid]
seealso:
  - module: virtinfra.manager.cbt_task
"""

EXAMPLES = r"""
- name: List all CBT backup tasks
  virtinfra.manager.cbt_task_info:

- name: Find a task by its name
  virtinfra.manager.cbt_task_info:
    name: backup-vm-1

- name: Find the tasks that protect a VM
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
    - C(resource_uuids) are the VMs that a task protects and C(vm_instance_uuid) is the first of them, both null if the
      service does not show them.
  returned: success
  type: list
  elements: dict
  contains:
    uuid: {description: The uuid of the task., type: str, sample: a0000010000040008000000000000003}
    name: {description: The name of the task. Names are not unique., type: str, sample: cbt-task-3}
    description: {description: The description., type: str, sample: backup 3}
    create_date: {description: When the task was created., type: str, sample: "Jan 6, 2024 4:52:16 AM"}
    last_op_date: {description: When the task was last changed., type: str, sample: "Jan 6, 2024 4:52:16 AM"}
    status: {description: The status of the task., type: str, sample: Running}
    resource_refs:
      description: "The VMs that the task protects, on servers that show them."
      type: list
      returned: when the service sends it
      elements: dict
      contains:
        task_uuid:
          description: The uuid of the task.
          type: str
          returned: when the service sends it
          sample: a0000010000040008000000000000003
        resource_uuid:
          description: The uuid of the VM.
          type: str
          returned: when the service sends it
          sample: a0000004000040008000000000000003
        resource_type:
          description: The type that the service gives the VM.
          type: str
          returned: when the service sends it
          sample: VmInstanceVO
    vm_instance_uuid:
      description: The uuid of the first VM that the task protects. Null if the service does not show it.
      type: str
      sample: a0000004000040008000000000000003
    vm_instance_name:
      description: "The name of the VM, as the task gives it. Null for another VM."
      type: str
      sample: vm-1
      returned: when O(vm) is a name
    resource_uuids:
      description: The uuids of the VMs that the task protects. Null if the service does not show them.
      type: list
      elements: str
      sample: [a0000004000040008000000000000003]
    resource_names:
      description: "The names of the VMs, as the task gives them. Null for those that it does not name."
      type: list
      elements: str
      sample: [vm-1]
      returned: when O(vm) is a name
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
from ..module_utils._resources.protection import add_all_resources, protects

MODULE = list_module(
    "QueryCbtTask",
    returns="cbt_tasks",
    options={"vm": reference("vmInstanceUuid")},
    view=add_all_resources,
    predicates={"vmInstanceUuid": protects},
)


def main() -> None:
    """Run as a module."""
    run_as_module(MODULE)


if __name__ == "__main__":
    main()
