# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: volume
short_description: Create, attach, grow and remove data volumes
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Creates data volumes, attaches them to virtual machines and detaches them, lets them grow, recovers deleted ones and
    removes them.
  - "Give a VM another disk - C(virtinfra.manager.volume: {name: logs-of-vm-1, size: 50G, vm: vm-1})"
  - A volume never shrinks, and it never moves from one VM to another by itself. The module fails for a root volume,
    which grows with O(virtinfra.manager.vm#module:root_disk_size).
extends_documentation_fragment:
  - virtinfra.manager._removal
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
    support: partial
    details:
      - When the service does not list volumes and there is no O(api_token) for a cursor query, the module fails unless
        O(uuid) is given. With O(uuid) it acts without comparing, reports a change and warns.
options:
  state:
    description:
      - V(present) creates the volume if it does not exist, and attaches it if O(vm) is given.
      - V(detached) also creates it, and detaches it from its VM.
      - V(absent) deletes it. O(recover=true) recovers it for some days. One that a VM has needs O(force=true).
    type: str
    choices: [present, detached, absent]
    default: present
  uuid:
    description: The uuid of the volume.
    type: str
  name:
    description:
      - The name of the volume. It selects the volume when O(uuid) is not given. Otherwise, it is the new name.
    type: str
  description:
    description: The description of the volume.
    type: str
  size:
    description:
      - The size in bytes, or with a unit of 1024, such as V(100G). A larger one lets the volume grow, a smaller one
        fails.
    type: bytes
  disk_offering:
    description: The disk offering, by name or uuid, which sets the size of a new volume.
    type: str
    aliases: [disk_offering_uuid]
  vm:
    description:
      - The VM, by name or uuid, to which the volume is attached. The VM must be running, stopped or paused. A volume of
        another VM fails. Set O(state=detached) to detach it. An empty O(vm) is ignored.
    type: str
    aliases: [vm_instance_uuid]
  primary_storage:
    description:
      - The primary storage for a new volume, by name or uuid. Without it, the volume gets one when it is attached for
        the first time.
    type: str
    aliases: [primary_storage_uuid]
  recover:
    description: Whether to recover a deleted volume. It is then attached to no VM.
    type: bool
    default: false
  expunge:
    description: Whether O(state=absent) removes the volume for good. This cannot be undone.
    type: bool
    default: false
  force:
    description: Whether O(state=absent) also deletes a volume that a VM has.
    type: bool
    default: false
seealso:
  - module: virtinfra.manager.vm
  - module: virtinfra.manager.batch
"""

EXAMPLES = r"""
- name: Give a VM another disk
  virtinfra.manager.volume: {name: logs-of-vm-1, size: 50G, vm: vm-1}

- name: Let a disk grow
  virtinfra.manager.volume: {name: data-of-vm-2, size: 200G}

- name: Detach a disk
  virtinfra.manager.volume: {name: data-of-vm-2, state: detached}

- name: Delete a disk, so that it can be recovered for some days
  virtinfra.manager.volume: {name: data-of-vm-2, state: absent}

- name: Recover a disk
  virtinfra.manager.volume: {name: data-of-vm-2, recover: true}

- name: Remove a disk for good, although a VM has it
  virtinfra.manager.volume: {name: data-of-vm-2, state: absent, expunge: true, force: true}
"""

RETURN = r"""
volume:
  description:
    - The volume. In check mode and with O(wait=false), the predicted one. Null when it was removed.
    - R(Fields of results, ansible_collections.virtinfra.manager.docsite.guide_records) describes the fields. C(size)
      and C(actual_size) are in bytes. C(tags) is returned when O(tags) is given.
  returned: success
  type: dict
  sample: >-
    {uuid: a0000007000040008000000000000001, name: root-of-vm-1, type: Root,
    description: was attached to another machine, primary_storage_uuid: a0000008000040008000000000000001,
    primary_storage_name: primary-storage-1, vm_instance_uuid: a0000004000040008000000000000001,
    vm_instance_name: vm-1, disk_offering_uuid: a0000017000040008000000000000001, disk_offering_name: disk-offering-1,
    root_image_uuid: a0000012000040008000000000000001,
    install_path: /storage/volumes/a0000007000040008000000000000001.qcow2, format: qcow2, state: Enabled,
    status: Ready, volume_qos: total=10485760, last_vm_instance_uuid: a0000004000040008000000000000001,
    size: 42949672960, actual_size: 2147483648, device_id: 0, is_shareable: false, encrypted: false,
    create_date: 'Jan 6, 2024 4:52:16 AM', last_op_date: 'Jan 6, 2024 4:52:16 AM',
    last_detach_date: 'Jan 6, 2024 4:52:16 AM', tags: [production]}
detached_from:
  description: The VM that has the volume no more, because it was deleted with O(force=true).
  returned: success and O(state=absent)
  type: list
  elements: dict
  sample: [{uuid: a0000004000040008000000000000001, name: vm-1}]
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
from ..module_utils._modules.options import CREATE_OPTIONS, IDENTITY_OPTIONS, REMOVAL_OPTIONS, reference
from ..module_utils._modules.resource import resource_module
from ..module_utils._resources.volumes import (
    CHANGING_STATUSES,
    DETACHED,
    VOLUME_USER,
    find_volume,
    find_volume_refusal,
    plan_volume,
)

VOLUME = ResourceSpec(
    record_type="Volume",
    result_key="volume",
    tagged_type="VolumeVO",
    find=find_volume,
    create="CreateDataVolume",
    update="UpdateVolume",
    delete="DeleteDataVolume",
    transitions={"absent": StateTransition("DeleteDataVolume", "status", ("Deleted",))},
    transitional_values={"status": CHANGING_STATUSES},
    guards={"absent": (VOLUME_USER,)},
    plan=plan_volume,
    find_refusal=find_volume_refusal,
)
MODULE = resource_module(
    VOLUME,
    options={
        "state": {"type": "str", "default": "present", "choices": ["present", DETACHED, "absent"]},
        **IDENTITY_OPTIONS,
        "description": {"type": "str"},
        "size": {"type": "bytes"},
        "disk_offering": reference("diskOfferingUuid"),
        "vm": reference("vmInstanceUuid"),
        "primary_storage": reference("primaryStorageUuid"),
        "recover": {"type": "bool", "default": False},
        "expunge": {"type": "bool", "default": False},
        **REMOVAL_OPTIONS,
        **CREATE_OPTIONS,
    },
    required_one_of=[("uuid", "name")],
    mutually_exclusive=[("size", "disk_offering")],
    only_absent=("expunge", "force"),
    never_absent=("recover",),
)


def main() -> None:
    """Run as a module."""
    run_as_module(MODULE)


if __name__ == "__main__":
    main()
