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
  - A VM in the state V(Destroyed) or V(Expunging) is treated as not existing.
  - The API cannot change VMs. The module fails if the description, size, offering, type, zone or default network of the
    existing VM differs from the options. The cluster and the host of the VM are not compared.
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
    description: The snapshot group to create the VM from, by name or uuid. Required to create a VM.
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
    description:
      - The memory in bytes, or with a unit of 1024, such as V(16G).
    type: bytes
  reserved_memory_size:
    description:
      - The reserved memory in bytes, or with a unit of 1024, such as V(16G).
    type: bytes
  l3_networks:
    description: The networks on which the VM gets a NIC, by name or uuid.
    type: list
    elements: str
    aliases: [l3_network_uuids]
  default_l3_network:
    description: The network of the default route, by name or uuid. Required with several O(l3_networks).
    type: str
    aliases: [default_l3_network_uuid]
  vm_nic_params:
    description: Details of the NICs in the service's own format, a list of mappings, also as JSON.
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
    description: The primary storage for the root volume, by name or uuid.
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
    description: Whether the volume of each snapshot is encrypted, in the service's own format.
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
    - The fields, see R(Fields of results, ansible_collections.virtinfra.manager.docsite.guide_records), are C(uuid),
      C(name), C(description), C(zone_uuid), C(cluster_uuid), C(image_uuid), C(host_uuid), C(last_host_uuid),
      C(instance_offering_uuid), C(root_volume_uuid), C(default_l3_network_uuid), C(platform), C(architecture), C(type),
      C(hypervisor_type), C(memory_size), C(cpu_num), C(cpu_speed), C(allocator_strategy), C(create_date),
      C(last_op_date), C(state), C(guest_os_type), C(vm_nics), C(all_volumes) and C(vm_cd_roms). C(zone_name) is
      returned when O(zone) is a name. C(cluster_name) is returned when O(cluster) is a name. C(host_name) is returned
      when O(host) is a name. C(instance_offering_name) is returned when O(instance_offering) is a name.
      C(default_l3_network_name) is returned when O(l3_networks) or O(default_l3_network) is a name. C(tags) is returned
      when O(tags) is given.
  returned: success
  type: dict
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
from ..module_utils._engine.plan import ResourceSpec
from ..module_utils._modules.options import CREATE_OPTIONS, reference, references
from ..module_utils._modules.resource import resource_module
from ..module_utils._resources.finders import find_by_type
from ..module_utils._resources.refusals import find_new_vm_refusal
from ..module_utils._resources.vms import plan_new_vm

VM = ResourceSpec(
    record_type="VmInstanceInventory",
    result_key="vm",
    tagged_type="VmInstanceVO",
    find=find_by_type("vm", "uuid", "name"),
    create="CreateVmInstanceFromVolumeSnapshotGroup",
    plan=plan_new_vm,
    find_refusal=find_new_vm_refusal,
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
