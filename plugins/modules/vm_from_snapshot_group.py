# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: vm_from_snapshot_group
short_description: Create VMs from volume snapshot groups
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Creates a virtual machine from a group of volume snapshots if no VM with this name exists.
  - "Restore a VM from its snapshots - C(virtinfra.manager.vm_from_snapshot_group: {name: vm-restored, snapshot_group:
    snapshot-group-1, l3_networks: [l3-1], strategy: CreateStopped})"
  - A VM that is V(Destroyed) or V(Expunging) does not count.
  - It fails if the description, size, offering, type, zone or default network of an existing VM differs. Cluster and
    host are not compared.
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
    support: partial
    details:
      - When the service does not list VMs and there is no O(api_token) for a cursor query, the module fails, because it
        could create a second VM.
options:
  state:
    description: V(present) creates the VM if it does not exist.
    type: str
    choices: [present]
    default: present
  uuid:
    description: The uuid of the VM, if several have the same name.
    type: str
  name:
    description: The name of the VM. Required to create it.
    type: str
  snapshot_group:
    description: The snapshot group, by name or uuid. Required to create a VM.
    type: str
    aliases: [volume_snapshot_group_uuid]
  description:
    description: The description of the VM, used when it is created.
    type: str
  instance_offering:
    description: The instance offering, by name or uuid, which sets the size of the VM.
    type: str
    aliases: [instance_offering_uuid]
  cpu_num:
    description: The number of CPUs, from 1 to 1024.
    type: int
  memory_size:
    description: The memory in bytes, or with a unit, as V(16G).
    type: bytes
  reserved_memory_size:
    description: The reserved memory, in the same form.
    type: bytes
  l3_networks:
    description: The networks on which the VM gets a NIC, by name or uuid. Without it, the VM has no NIC.
    type: list
    elements: str
    aliases: [l3_network_uuids]
  default_l3_network:
    description: The network of the default route, by name or uuid. Required with several O(l3_networks).
    type: str
    aliases: [default_l3_network_uuid]
  vm_nic_params:
    description: Details of the NICs in the service's format, a list.
    type: json
  type:
    description: The type of the VM.
    type: str
    choices: [UserVm, ApplianceVm]
  zone:
    description: The zone in which to create the VM, by name or uuid.
    type: str
    aliases: [zone_uuid]
  cluster:
    description: The cluster in which to create the VM, by name or uuid.
    type: str
    aliases: [cluster_uuid]
  host:
    description: The host on which to create the VM, by name or uuid.
    type: str
    aliases: [host_uuid]
  primary_storage:
    description: That of the root volume, by name or uuid.
    type: str
    aliases: [primary_storage_uuid_for_root_volume]
  strategy:
    description: Whether the VM is started.
    type: str
    choices: [InstantStart, CreateStopped]
  root_volume_system_tags:
    description: System tags of the root volume.
    type: list
    elements: str
  data_volume_system_tags:
    description: System tags of the data volumes, by the uuids of their snapshots.
    type: dict
  reset_tpm:
    description: Whether to reset the state of the TPM.
    type: bool
  volume_snapshot_encryptions:
    description: Which volumes are encrypted, in the service's format.
    type: list
    elements: dict
  vm_encryption:
    description: Whether the VM is encrypted.
    type: bool
seealso:
  - module: virtinfra.manager.vm_snapshot_group
  - module: virtinfra.manager.vm
  - module: virtinfra.manager.vm_nic
  - module: virtinfra.manager.batch
"""

EXAMPLES = r"""
- name: Restore a VM from its snapshots
  virtinfra.manager.vm_from_snapshot_group:
    name: vm-restored
    snapshot_group: snapshot-group-1
    l3_networks: [l3-1]
    strategy: CreateStopped
"""

RETURN = r"""
vm:
  description:
    - The VM. In check mode and with O(wait=false), the predicted one.
    - R(Fields of results, ansible_collections.virtinfra.manager.docsite.guide_records) describes the fields.
      C(memory_size) is in bytes. C(tags) is returned when O(tags) is given.
  returned: success
  type: dict
  sample: >-
    {uuid: a0000004000040008000000000000001, name: vm-1, type: UserVm, description: guest 1,
    zone_uuid: a0000001000040008000000000000001, zone_name: zone-1, cluster_uuid: a0000002000040008000000000000001,
    cluster_name: cluster-1, image_uuid: a0000012000040008000000000000001, host_uuid: a0000003000040008000000000000001,
    host_name: host-1, last_host_uuid: a0000003000040008000000000000001,
    instance_offering_uuid: a0000013000040008000000000000001, instance_offering_name: offering-1,
    root_volume_uuid: a0000007000040008000000000000001, default_l3_network_uuid: a0000005000040008000000000000001,
    default_l3_network_name: l3-1, platform: Linux, architecture: x86_64, hypervisor_type: KVM,
    memory_size: 4294967296, cpu_num: 2, cpu_speed: 0, allocator_strategy: LeastVmPreferredHostAllocatorStrategy,
    create_date: 'Jan 6, 2024 4:52:16 AM', last_op_date: 'Jan 6, 2024 4:52:16 AM', state: Running,
    guest_os_type: Linux,
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
from ..module_utils._engine.spec import ResourceSpec
from ..module_utils._modules.options import CREATE_OPTIONS, reference, references
from ..module_utils._modules.resource import resource_module
from ..module_utils._resources.new_vms import find_ignored_source, find_restored_vm, hide_source, plan_new_vm
from ..module_utils._resources.refusals import find_new_vm_refusal

VM = ResourceSpec(
    record_type="VmInstanceInventory",
    result_key="vm",
    tagged_type="VmInstanceVO",
    find=find_restored_vm,
    create="CreateVmInstanceFromVolumeSnapshotGroup",
    plan=plan_new_vm,
    find_refusal=find_new_vm_refusal,
    find_ignored=find_ignored_source,
    format_result=hide_source,
)
MODULE = resource_module(
    VM,
    options={
        "state": {"type": "str", "default": "present", "choices": ["present"]},
        "uuid": {"type": "str"},
        "name": {"type": "str"},
        "snapshot_group": reference("volumeSnapshotGroupUuid"),
        "description": {"type": "str"},
        "instance_offering": reference("instanceOfferingUuid"),
        "cpu_num": {"type": "int"},
        "memory_size": {"type": "bytes"},
        "reserved_memory_size": {"type": "bytes"},
        "l3_networks": references("l3NetworkUuids"),
        "default_l3_network": reference("defaultL3NetworkUuid"),
        "vm_nic_params": {"type": "json"},
        "type": {"type": "str", "choices": ["UserVm", "ApplianceVm"]},
        "zone": reference("zoneUuid"),
        "cluster": reference("clusterUuid"),
        "host": reference("hostUuid"),
        "primary_storage": reference("primaryStorageUuidForRootVolume"),
        "strategy": {"type": "str", "choices": ["InstantStart", "CreateStopped"]},
        "root_volume_system_tags": {"type": "list", "elements": "str"},
        "data_volume_system_tags": {"type": "dict"},
        "reset_tpm": {"type": "bool"},
        "volume_snapshot_encryptions": {"type": "list", "elements": "dict"},
        "vm_encryption": {"type": "bool"},
        **CREATE_OPTIONS,
    },
    required_one_of=[("uuid", "name")],
)


def main() -> None:
    """Run as a module."""
    run_as_module(MODULE)


if __name__ == "__main__":
    main()
