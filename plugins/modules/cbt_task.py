# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: cbt_task
short_description: Manage CBT backup tasks
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Creates, enables, disables and deletes CBT (changed block tracking) tasks, which back up VMs.
  - "Back up a VM - C(virtinfra.manager.cbt_task: {name: backup-vm-1, vm: vm-1, state: enabled})"
  - "Stop the tracking - C(virtinfra.manager.cbt_task: {name: backup-vm-1, state: disabled})"
  - "Delete the task by force - C(virtinfra.manager.cbt_task: {name: backup-vm-1, state: absent, force: true,
    delete_mode: enforcing})"
  - The API cannot change the name or the description of a task. The module fails if one of them differs.
extends_documentation_fragment:
  - virtinfra.manager._connection
  - virtinfra.manager._wait
  - virtinfra.manager._wait.times
  - virtinfra.manager._tags.object
  - virtinfra.manager._creation
  - virtinfra.manager._references
  - virtinfra.manager._attributes
  - virtinfra.manager._attributes.actiongroup_api
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
  idempotent:
    support: full
options:
  state:
    description:
      - V(present) creates the task if it does not exist, and does not change the status of an existing one.
      - V(enabled) and V(disabled) create the task if it does not exist, and start or stop the tracking.
      - V(absent) deletes the task. It fails, and deletes nothing, if another option differs from the task, for example
        O(vm). It warns if the service does not show which VMs the task protects, so that O(vm) is not compared.
    type: str
    choices: [present, enabled, disabled, absent]
    default: present
  uuid:
    description: The uuid of the task.
    type: str
  name:
    description:
      - The name of the task. It selects the task when O(uuid) is not given. The module fails when several tasks have
        the name.
      - Required to create a task.
      - A VM has one task. If the VM has a task with another name, the service refuses to create another. To use the
        task that the VM has, omit this option and give O(vm).
    type: str
  description:
    description: The description of the task, used when it is created.
    type: str
  vm:
    description:
      - The VM to protect, by name or uuid, for servers that take one VM per task. It replaces O(task_type) and O(vms).
      - It selects the task when neither O(uuid) nor O(name) is given, also a task that protects other VMs as well. The
        module warns when O(state=disabled) or O(state=absent) affects those other VMs.
      - Some services do not show which VMs their tasks protect. With such a service the module fails, because it cannot
        know whether a task for the VM exists. Use O(name) or O(uuid) instead.
    type: str
    aliases: [vm_instance_uuid]
  task_type:
    description: The type of the task, used when it is created. Give O(vms) with it.
    type: str
  vms:
    description: The VMs to protect, by name or uuid, used when the task is created. Give O(task_type) with it.
    type: list
    elements: str
    aliases: [resource_uuids]
  bitmap_name:
    description: The name of the bitmap, sent when the task is enabled.
    type: str
  force:
    description: Whether to disable or delete the task by force.
    type: bool
  delete_mode:
    description: How the task is deleted. Without it, servers use V(permissive).
    type: str
    choices: [permissive, enforcing, Permissive, Enforcing]
seealso:
  - module: virtinfra.manager.cbt_task_info
  - module: virtinfra.manager.cbt_volume_export
  - module: virtinfra.manager.batch
"""

EXAMPLES = r"""
- name: Back up a VM
  virtinfra.manager.cbt_task:
    name: backup-vm-1
    vm: vm-1
    state: enabled

- name: Stop the tracking
  virtinfra.manager.cbt_task:
    name: backup-vm-1
    state: disabled

- name: Delete the task by force
  virtinfra.manager.cbt_task:
    name: backup-vm-1
    state: absent
    force: true
    delete_mode: enforcing
"""

RETURN = r"""
cbt_task:
  description:
    - The task. In check mode and with O(wait=false), the predicted one. Null when it does not exist.
    - The fields, see R(Fields of results, ansible_collections.virtinfra.manager.docsite.guide_records), are C(uuid),
      C(name), C(description), C(create_date), C(last_op_date), C(status), C(resource_refs), C(vm_instance_uuid) and
      C(resource_uuids). C(vm_instance_name) and C(resource_names) are returned when O(vm) or O(vms) is a name, and when
      the service shows it. C(tags) is returned when O(tags) is given.
  returned: success
  type: dict
volume_cbt_backup_infos:
  description:
    - What the service returned about the volumes when the task was enabled.
    - The fields, see R(Fields of results, ansible_collections.virtinfra.manager.docsite.guide_records), are C(volume),
      C(bitmap_name), C(bitmap_base64), C(target), C(scratch_node_name), C(metadata), C(nbd_server), C(nbd_port) and
      C(mode).
  returned: when the module enabled the task and waited until it was
  type: list
  elements: dict
job:
  description:
    - The handle of the job that is still running, for M(virtinfra.manager.job_wait).
    - The fields, see R(Fields of results, ansible_collections.virtinfra.manager.docsite.guide_records), are C(uuid),
      C(job_uuid), C(location), C(operation), C(object) and C(state).
  returned: when O(wait=false) starts a call, and in a failure when a job may still be running
  type: dict
"""

from ..module_utils._python import check_python

check_python()

from ..module_utils._modules.process import run_as_module
from ..module_utils._engine.plan import ResourceSpec, StateTransition
from ..module_utils._modules.options import CREATE_OPTIONS, reference, references
from ..module_utils._modules.resource import resource_module
from ..module_utils._resources.protection import find_cbt_refusal, find_cbt_task, plan_cbt_task

CBT_TASK = ResourceSpec(
    record_type="CbtTaskInventory",
    result_key="cbt_task",
    tagged_type="CbtTaskVO",
    find=find_cbt_task,
    create="CreateCbtTask",
    keys=("uuid", "name", "vmInstanceUuid"),
    delete="DeleteCbtTask",
    find_refusal=find_cbt_refusal,
    transitions={
        "enabled": StateTransition("EnableCbtTask", "status", target_values=("Running", "Starting")),
        "disabled": StateTransition("DisableCbtTask", "status", target_values=("Stopped",)),
    },
    transitional_values={"status": ("Starting",)},
    failed_values={"status": ("Failed",)},
    plan=plan_cbt_task,
)
MODULE = resource_module(
    CBT_TASK,
    options={
        "state": {"type": "str", "default": "present", "choices": ["present", *CBT_TASK.transitions, "absent"]},
        "uuid": {"type": "str"},
        "name": {"type": "str"},
        "description": {"type": "str"},
        "vm": reference("vmInstanceUuid"),
        "task_type": {"type": "str"},
        "vms": references("resourceUuids"),
        **CREATE_OPTIONS,
        "bitmap_name": {"type": "str"},
        "force": {"type": "bool"},
        "delete_mode": {"type": "str", "choices": ["permissive", "enforcing", "Permissive", "Enforcing"]},
    },
    required_one_of=[("uuid", "name", "vm")],
)


def main() -> None:
    """Run as a module."""
    run_as_module(MODULE)


if __name__ == "__main__":
    main()
