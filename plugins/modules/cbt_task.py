# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: cbt_task
short_description: Manage CBT backup tasks
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Creates, enables, disables and deletes CBT (changed block tracking) tasks, with which backup software reads VMs.
  - "Open a backup session of a VM - C(virtinfra.manager.cbt_task: {name: backup-vm-1, vm: vm-1, state: enabled})"
  - "An enabled task is an open backup session, not a backup: the service stores what the guest overwrites in scratch
    volumes, until O(state=disabled) ends it. When the storage is full, its writes fail. So disable it soon."
  - It cannot change the name or description of a task, and fails if one differs.
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
      - V(present) creates the task. V(enabled) and V(disabled) also open and end its backup session.
      - V(absent) deletes the task. It fails with the code C(IN_USE) if this leaves scratch volumes behind, unless
        O(force) is V(true).
    type: str
    choices: [present, enabled, disabled, absent]
    default: present
  uuid:
    description: The uuid of the task.
    type: str
  name:
    description: The name of the task. It selects the task when O(uuid) is not given. Required to create a task.
    type: str
  description:
    description: The description of the task, used when it is created.
    type: str
  vm:
    description:
      - The VM of the task, by name or uuid. It replaces O(task_type) and O(vms), and selects the task when neither
        O(uuid) nor O(name) is given.
    type: str
    aliases: [vm_instance_uuid]
  task_type:
    description: The type of the task. Give O(vms) with it. The API document names no values, so give O(vm) instead.
    type: str
  vms:
    description: The VMs of the task, by name or uuid. Give O(task_type) with it.
    type: list
    elements: str
    aliases: [resource_uuids]
  bitmap_name:
    description: The checkpoint of an earlier session, with which O(state=enabled) says what changed since.
    type: str
  force:
    description: Whether to delete it and leave scratch volumes behind.
    type: bool
  delete_mode:
    description: How the task is deleted, by default V(permissive).
    type: str
    choices: [permissive, enforcing, Permissive, Enforcing]
notes:
  - The guide R(Modules in detail, ansible_collections.virtinfra.manager.docsite.guide_details) says step by step what
    the module does.
seealso:
  - module: virtinfra.manager.cbt_task_info
  - module: virtinfra.manager.cbt_volume_export
  - module: virtinfra.manager.batch
"""

EXAMPLES = r"""
- name: Open a backup session of a VM
  virtinfra.manager.cbt_task: {name: backup-vm-1, vm: vm-1, state: enabled}

- name: End it, when the volumes have been copied
  virtinfra.manager.cbt_task: {name: backup-vm-1, state: disabled}

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
    - R(Fields of results, ansible_collections.virtinfra.manager.docsite.guide_records) describes the fields. C(tags) is
      returned when O(tags) is given.
  returned: success
  type: dict
  sample: >-
    {uuid: a0000010000040008000000000000003, name: cbt-task-3, description: backup 3,
    create_date: 'Jan 6, 2024 4:52:16 AM', last_op_date: 'Jan 6, 2024 4:52:16 AM', status: Running,
    resource_refs: [{resource_type: VmInstanceVO}], vm_instance_uuid: a0000004000040008000000000000003,
    vm_instance_name: vm-1, resource_uuids: [a0000004000040008000000000000003], resource_names: [vm-1],
    tags: [production]}
scratch_volumes:
  description:
    - The uuids of the scratch volumes of the open session. Null if the service does not show them, and in check mode if
      the session would be opened.
  returned: success
  type: list
  elements: str
  sample: [f0000007000040008000000000000003]
remaining_volumes:
  description: The scratch volumes that the deletion left behind. In check mode, those that it would leave.
  returned: success and O(state=absent)
  type: list
  elements: dict
  contains:
    uuid: {description: The uuid of the volume., type: str, sample: f0000007000040008000000000000003}
    name: {description: The name of the volume., type: str, sample: Cbt-volume-of-root-of-vm-3}
in_use_by:
  description: The scratch volumes that the deletion would leave behind.
  returned: failure with the code C(IN_USE)
  type: list
  elements: dict
  contains:
    type: {description: The type of the object., type: str, sample: volume}
    uuid: {description: The uuid of the volume., type: str, sample: f0000007000040008000000000000003}
    name: {description: The name of the volume., type: str, sample: Cbt-volume-of-root-of-vm-3}
    reason: {description: Always empty., type: str, sample: ""}
volume_cbt_backup_infos:
  description:
    - What the service returned about the volumes when the task was enabled. Backup software reads a volume from the
      export C(scratch_node_name) at C(nbd_server) and C(nbd_port).
    - R(Fields of results, ansible_collections.virtinfra.manager.docsite.guide_records) describes the fields.
  returned: when the module enabled the task and waited until it was
  type: list
  elements: dict
  sample:
    [{volume:
        {volume_uuid: a0000007000040008000000000000009,
         install_path: /storage/volumes/a0000007000040008000000000000009.qcow2, device_id: 0, device_type: file},
      bitmap_name: bitmap-00000009, bitmap_base64: Yml0bWFwLTAwMDAwMDA5, target: drive-virtio-disk0,
      scratch_node_name: scratch-00000009, metadata: '{}', nbd_server: 192.0.2.10, nbd_port: 10809, mode: full}]
job:
  description:
    - The handle of the job that is still running, for M(virtinfra.manager.job_wait).
  returned: when O(wait=false) starts a call, and in a failure when a job may still be running
  type: dict
  sample: >-
    {uuid: 5d1f3f9a0e7b4f0d9b9a0c6f3a7f1b2c, job_uuid: 5d1f3f9a0e7b4f0d9b9a0c6f3a7f1b2c,
    location: /service/v1/api-jobs/5d1f3f9a0e7b4f0d9b9a0c6f3a7f1b2c, operation: StartVmInstance, object: vm vm-1,
    state: running}
"""

from ..module_utils._python import check_python

check_python()

from ..module_utils._modules.process import run_as_module
from ..module_utils._engine.spec import ResourceSpec, StateTransition
from ..module_utils._modules.options import CREATE_OPTIONS, reference, references
from ..module_utils._modules.resource import resource_module
from ..module_utils._resources.cbt_tasks import (
    LEFT_VOLUMES,
    find_cbt_refusal,
    find_cbt_task,
    plan_cbt_task,
    separate_scratch_volumes,
)

CBT_TASK = ResourceSpec(
    record_type="CbtTaskInventory",
    result_key="cbt_task",
    tagged_type="CbtTaskVO",
    find=find_cbt_task,
    create="CreateCbtTask",
    keys=("uuid", "name", "vmInstanceUuid"),
    delete="DeleteCbtTask",
    find_refusal=find_cbt_refusal,
    guards={"absent": (LEFT_VOLUMES,)},
    format_result=separate_scratch_volumes,
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
    acts_with={"bitmap_name": {"state": ("enabled",)}},
)


def main() -> None:
    """Run as a module."""
    run_as_module(MODULE)


if __name__ == "__main__":
    main()
