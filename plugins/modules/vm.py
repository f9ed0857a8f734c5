# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: vm
short_description: Create, start, stop, migrate, change and remove virtual machines
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Creates virtual machines of an image, from an ISO or as clones, starts, stops, restarts and pauses them, migrates
    running ones to other hosts, changes their name, description and size, recovers destroyed ones and removes them.
  - "Create a VM to be installed from an ISO - C(virtinfra.manager.vm: {name: shop-2, state: stopped, iso: iso-2,
    disk_size: 20G, instance_offering: offering-1})"
  - A VM is created only with O(image) or O(clone_from). What another option describes later, and the service cannot
    change, fails by name. It fails for a template, too.
  - All operations that it calls are ones that some services lack. The module then fails, and says which one is missing,
    before it changes anything.
extends_documentation_fragment:
  - virtinfra.manager._removal
  - virtinfra.manager._connection
  - virtinfra.manager._wait
  - virtinfra.manager._wait.times
  - virtinfra.manager._tags.object
  - virtinfra.manager._creation
  - virtinfra.manager._vm_creation
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
      - O(state=restarted) restarts a running VM each time.
      - When the service does not list VMs and there is no O(api_token) for a cursor query, the module fails unless
        O(uuid) is given. With O(uuid) it acts without comparing, reports a change and warns.
      - O(clone_from), O(user_data), O(user_data_file) and O(ssh_key_pairs) are used when the VM is created. They are
        not compared later, because the service does not show them.
options:
  state:
    description:
      - V(present) changes no state, V(running), V(stopped) and V(paused) lead to that state, and V(restarted) restarts
        the guest of a running VM each time, and starts a stopped VM. A new VM is started unless it shall be V(stopped).
      - V(absent) destroys the VM, also a running one. O(recover=true) recovers it for some days.
    type: str
    choices: [present, running, stopped, restarted, paused, absent]
    default: present
  uuid:
    description: The uuid of the VM.
    type: str
  name:
    description: The name of the VM. It selects the VM when O(uuid) is not given. Otherwise, it is the new name.
    type: str
  description:
    description: The description of the VM.
    type: str
  stop_type:
    description: V(grace), the default, asks the guest to shut down, V(cold) cuts the power.
    type: str
    choices: [grace, cold]
  recover:
    description: Whether to recover a destroyed VM. It is then stopped, without data volumes.
    type: bool
    default: false
  data_volumes:
    description:
      - What O(state=absent) does with the data volumes of the VM. V(keep) leaves them, detached. V(delete) deletes
        those that are attached to the VM, but not those that VMs share.
    type: str
    choices: [keep, delete]
    default: keep
  expunge:
    description: Whether O(state=absent) removes the VM and the deleted volumes for good. This cannot be undone.
    type: bool
    default: false
notes:
  - The guide R(Modules in detail, ansible_collections.virtinfra.manager.docsite.guide_details) says step by step what
    the module does.
seealso:
  - module: virtinfra.manager.vm_info
  - module: virtinfra.manager.vm_nic
  - module: virtinfra.manager.vm_snapshot_group
  - module: virtinfra.manager.vm_from_snapshot_group
  - module: virtinfra.manager.batch
"""

EXAMPLES = r"""
- name: Create a VM of an image
  virtinfra.manager.vm:
    name: shop-1
    state: running
    image: image-1
    cpu_num: 2
    memory_size: 4G
    networks:
      - l3_network: l3-1
      - l3_network: l3-2
        static_ip: 10.102.0.20
    disks:
      - size: 50G
    user_data: |
      #cloud-config
      hostname: shop-1
    tags: [production]

- name: Create a VM to be installed from an ISO
  virtinfra.manager.vm: {name: shop-2, state: stopped, iso: iso-2, disk_size: 20G, instance_offering: offering-1}

- name: Clone a VM
  virtinfra.manager.vm: {name: shop-3, state: stopped, clone_from: vm-2, cpu_num: 4}

- name: Start a VM
  virtinfra.manager.vm: {name: vm-2, state: running}

- name: Stop a VM and change its size
  virtinfra.manager.vm: {name: vm-1, state: stopped, cpu_num: 8, memory_size: 16G}

- name: Migrate a running VM to another host
  virtinfra.manager.vm: {name: vm-1, state: running, host: host-3}

- name: Rename a VM
  virtinfra.manager.vm: {uuid: a0000004000040008000000000000001, name: web-1}

- name: Give a VM exactly these tags
  virtinfra.manager.vm: {name: vm-4, tags: [production, "backup::daily"]}

- name: Destroy a VM, which can be recovered for some days
  virtinfra.manager.vm: {name: web-1, state: absent}

- name: Remove a VM and its data volumes for good
  virtinfra.manager.vm: {name: vm-3, state: absent, data_volumes: delete, expunge: true}
"""

RETURN = r"""
vm:
  description:
    - The VM. In check mode and with O(wait=false), the predicted one. Null when it was removed.
    - R(Fields of results, ansible_collections.virtinfra.manager.docsite.guide_records) describes the fields.
      C(memory_size) is in bytes. C(tags) is returned when O(tags) is given.
  returned: success
  type: dict
  sample: >-
    {uuid: a0000004000040008000000000000001, name: vm-1, type: UserVm, description: guest 1,
    zone_uuid: a0000001000040008000000000000001, cluster_uuid: a0000002000040008000000000000001,
    cluster_name: cluster-1, image_uuid: a0000012000040008000000000000001, image_name: image-1,
    host_uuid: a0000003000040008000000000000001, host_name: host-1, last_host_uuid: a0000003000040008000000000000001,
    instance_offering_uuid: a0000013000040008000000000000001, instance_offering_name: offering-1,
    root_volume_uuid: a0000007000040008000000000000001, default_l3_network_uuid: a0000005000040008000000000000001,
    platform: Linux, architecture: x86_64, hypervisor_type: KVM, memory_size: 4294967296, cpu_num: 2, cpu_speed: 0,
    allocator_strategy: LeastVmPreferredHostAllocatorStrategy, create_date: 'Jan 6, 2024 4:52:16 AM',
    last_op_date: 'Jan 6, 2024 4:52:16 AM', state: Running, guest_os_type: Linux,
    vm_nics:
    [{uuid: a0000006000040008000000000000001, type: VNIC, ip: 10.101.0.11, mac: 'fa:00:00:00:00:01',
    hypervisor_type: KVM, netmask: 255.255.0.0, gateway: 10.101.0.1, meta_data: '{}', driver_type: virtio,
    internal_name: vnic000001.0, state: enable, ip_version: 4, device_id: 0}],
    all_volumes:
    [{uuid: a0000007000040008000000000000001, name: root-of-vm-1, type: Root,
    description: was attached to another machine,
    install_path: /storage/volumes/a0000007000040008000000000000001.qcow2, format: qcow2, state: Enabled,
    status: Ready, volume_qos: total=10485760, size: 42949672960, actual_size: 2147483648, device_id: 0,
    is_shareable: false, encrypted: false}],
    vm_cd_roms:
    [{uuid: a0000015000040008000000000000001, name: cd-rom-of-vm-1, iso_install_path: /storage/images/tools.iso,
    description: guest tools, device_id: 0}], tags: [production]}
also_removed:
  description:
    - What is removed with the VM, its data volumes with O(data_volumes=delete), its CBT tasks, and its snapshot groups,
      which exist until the VM is expunged.
  returned: success and O(state=absent)
  type: list
  elements: dict
  sample: [{type: volume, uuid: a0000007000040008000000000000002, name: data-of-vm-1}]
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
from ..module_utils._modules.options import IDENTITY_OPTIONS, REMOVAL_OPTIONS
from ..module_utils._modules.resource import resource_module
from ..module_utils._modules.vm_options import VM_CREATION, VM_SOURCES
from ..module_utils._resources.migration import MIGRATION_TARGETS
from ..module_utils._resources.vm_creation import (
    choose_creation,
    complete_vm,
    find_created_vm,
    find_created_vm_refusal,
    find_failed_clone,
    find_ignored_options,
    hide_parts,
    plan_created_vm,
)
from ..module_utils._resources.vm_states import CHANGING_STATES
from ..module_utils._resources.vms import VM_DEPENDENTS, remember_vm

STATES = {
    "running": StateTransition("StartVmInstance", "state", ("Running",), needs=("state",)),
    "stopped": StateTransition("StopVmInstance", "state", ("Stopped",), needs=("state",)),
    "restarted": StateTransition("RebootVmInstance", "state", ("Running",), needs=("state",), is_visible=False),
    "paused": StateTransition("PauseVmInstance", "state", ("Paused",), needs=("state",), through="Running"),
    "absent": StateTransition("DestroyVmInstance", "state", ("Destroyed",), needs=("state",)),
}
VM = ResourceSpec(
    record_type="VmInstanceInventory",
    result_key="vm",
    tagged_type="VmInstanceVO",
    find=find_created_vm,
    create="CreateVmInstance",
    update="UpdateVmInstance",
    delete="DestroyVmInstance",
    transitions=STATES,
    transitional_values={"state": CHANGING_STATES},
    guards={
        **dict.fromkeys(("present", *STATES), (MIGRATION_TARGETS,)),
        "absent": (VM_DEPENDENTS,),
    },
    remember=remember_vm,
    complete_options=complete_vm,
    plan=plan_created_vm,
    find_refusal=find_created_vm_refusal,
    find_ignored=find_ignored_options,
    find_reply_error=find_failed_clone,
    format_result=hide_parts,
)
MODULE = resource_module(
    VM,
    options={
        "state": {"type": "str", "default": "present", "choices": ["present", *STATES]},
        **IDENTITY_OPTIONS,
        "description": {"type": "str"},
        **VM_CREATION,
        "stop_type": {"type": "str", "choices": ["grace", "cold"]},
        "recover": {"type": "bool", "default": False},
        "data_volumes": {"type": "str", "default": "keep", "choices": ["keep", "delete"]},
        "expunge": {"type": "bool", "default": False},
        "delete_mode": REMOVAL_OPTIONS["delete_mode"],
    },
    choose=choose_creation,
    required_one_of=[("uuid", "name")],
    mutually_exclusive=VM_SOURCES,
    only_absent=("data_volumes", "expunge"),
    never_absent=("recover",),
    acts_with={"stop_type": {"state": ("stopped",)}},
)


def main() -> None:
    """Run as a module."""
    run_as_module(MODULE)


if __name__ == "__main__":
    main()
