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
  description: The task. In check mode and with O(wait=false), the predicted one. Null when it does not exist.
  returned: success
  type: dict
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
      returned: when the service shows it
    vm_instance_name:
      description: "The name of the VM, as the task gives it. Null for another VM."
      type: str
      sample: vm-1
      returned: "when O(vm) or O(vms) is a name, and when the service shows it"
    resource_uuids:
      description: The uuids of the VMs that the task protects. Null if the service does not show them.
      type: list
      elements: str
      sample: [a0000004000040008000000000000003]
      returned: when the service shows it
    resource_names:
      description: "The names of the VMs, as the task gives them. Null for those that it does not name."
      type: list
      elements: str
      sample: [vm-1]
      returned: "when O(vm) or O(vms) is a name, and when the service shows it"
    tags:
      description: "The user tags, sorted."
      type: list
      elements: str
      sample: [production]
      returned: when O(tags) is given
volume_cbt_backup_infos:
  description: What the service returned about the volumes when the task was enabled.
  returned: when the module enabled the task and waited until it was
  type: list
  elements: dict
  contains:
    volume:
      description: "The volume, with C(volume_uuid), C(install_path), C(device_id), C(device_type) and others."
      type: dict
      returned: when the service sends it
      sample:
        volume_uuid: a0000007000040008000000000000009
        install_path: /storage/volumes/a0000007000040008000000000000009.qcow2
        device_id: 0
        device_type: file
    bitmap_name:
      description: The bitmap that records what changed since the last backup.
      type: str
      returned: when the service sends it
      sample: bitmap-00000009
    bitmap_base64:
      description: "The bitmap, encoded."
      type: str
      returned: when the service sends it
      sample: Yml0bWFwLTAwMDAwMDA5
    target:
      description: The device of the volume in the hypervisor.
      type: str
      returned: when the service sends it
      sample: drive-virtio-disk0
    scratch_node_name:
      description: The node that keeps overwritten data during the backup.
      type: str
      returned: when the service sends it
      sample: scratch-00000009
    metadata: {description: Further data of the service., type: str, returned: when the service sends it, sample: "{}"}
    nbd_server:
      description: The address of the network block device to read from.
      type: str
      returned: when the service sends it
      sample: "192.0.2.10"
    nbd_port:
      description: The port of the network block device.
      type: int
      returned: when the service sends it
      sample: 10809
    mode: {description: How much to back up., type: str, returned: when the service sends it, sample: full}
job:
  description:
    - The handle of the job that is still running, for M(virtinfra.manager.job_wait).
    - In check mode, the handle of the job that would be started. It has no uuid, and its state is V(unknown).
  returned: when O(wait=false) starts a call, and in a failure when a job may still be running
  type: dict
  contains:
    uuid: {description: The uuid of the job., type: str, sample: "5d1f3f9a0e7b4f0d9b9a0c6f3a7f1b2c"}
    job_uuid:
      description: "The id that was sent with the call as X-Job-UUID, with which the service posts the result."
      type: str
      sample: "5d1f3f9a0e7b4f0d9b9a0c6f3a7f1b2c"
    location:
      description: The path at which the job is polled.
      type: str
      sample: /service/v1/api-jobs/5d1f3f9a0e7b4f0d9b9a0c6f3a7f1b2c
    operation: {description: The operation., type: str, sample: CreateCbtTask}
    object:
      description: "The object of the call as messages name it, null if the call names none."
      type: str
      sample: host host-1
    state: {description: "The state of the job: V(running) or V(unknown).", type: str, sample: running}
"""

from ..module_utils._python import check_python

check_python()

from ..module_utils._modules.process import run_as_module
from ..module_utils._engine.plan import ResourceSpec, StateTransition
from ..module_utils._modules.options import CREATE_OPTIONS, reference, references
from ..module_utils._modules.resource import resource_module
from ..module_utils._resources.protection import find_cbt_task, find_other_cbt_task, plan_cbt_task

CBT_TASK = ResourceSpec(
    record_type="CbtTaskInventory",
    result_key="cbt_task",
    tagged_type="CbtTaskVO",
    find=find_cbt_task,
    create="CreateCbtTask",
    keys=("uuid", "name", "vmInstanceUuid"),
    delete="DeleteCbtTask",
    find_conflict=find_other_cbt_task,
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
