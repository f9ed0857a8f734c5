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
  - A VM in the state V(Destroyed) or V(Expunging) is treated as not existing. Services keep its record and its name for
    some time.
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
    description: The uuid of the VM, to select one of several VMs with the same name.
    type: str
  name:
    description: The name of the VM. The module fails when several VMs have it. Required to create a VM.
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
    description: The number of CPUs.
    type: int
  memory_size:
    description:
      - The memory of the VM in bytes, or with a unit of 1024, such as V(16G). The module refuses less than 1 MiB.
    type: bytes
  reserved_memory_size:
    description:
      - The memory that is reserved for the VM in bytes, or with a unit of 1024, such as V(16G). The module refuses less
        than 1 MiB, except V(0).
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
    description: Details of the NICs in the service's own format, as a list or a mapping, or as a JSON text.
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
  - module: virtinfra.manager.vm_info
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
  description: The VM. In check mode and with O(wait=false), the predicted one.
  returned: success
  type: dict
  contains:
    uuid: {description: The uuid of the VM., type: str, sample: a0000004000040008000000000000001}
    name: {description: The name of the VM. Names are not unique., type: str, sample: vm-1}
    description: {description: The description., type: str, sample: guest 1}
    zone_uuid: {description: The uuid of the zone., type: str, sample: a0000001000040008000000000000001}
    zone_name:
      description: "The name of the zone, as the task gives it. Null for another zone."
      type: str
      sample: zone-1
      returned: when O(zone) is a name
    cluster_uuid: {description: The uuid of the cluster., type: str, sample: a0000002000040008000000000000001}
    cluster_name:
      description: "The name of the cluster, as the task gives it. Null for another cluster."
      type: str
      sample: cluster-1
      returned: when O(cluster) is a name
    image_uuid:
      description: The uuid of the image of the root volume.
      type: str
      sample: a0000012000040008000000000000001
    host_uuid:
      description: The uuid of the host that runs the VM. Null if it does not run.
      type: str
      sample: a0000003000040008000000000000001
    host_name:
      description: "The name of the host, as the task gives it. Null for another host."
      type: str
      sample: host-1
      returned: when O(host) is a name
    last_host_uuid:
      description: The uuid of the host that last ran the VM.
      type: str
      sample: a0000003000040008000000000000001
    instance_offering_uuid:
      description: The uuid of the instance offering.
      type: str
      sample: a0000013000040008000000000000001
    instance_offering_name:
      description: "The name of the instance offering, as the task gives it. Null for another instance offering."
      type: str
      sample: instance-offering-1
      returned: when O(instance_offering) is a name
    root_volume_uuid: {description: The uuid of the root volume., type: str, sample: a0000007000040008000000000000001}
    default_l3_network_uuid:
      description: The uuid of the default L3 network.
      type: str
      sample: a0000005000040008000000000000001
    default_l3_network_name:
      description: "The name of the L3 network, as the task gives it. Null for another L3 network."
      type: str
      sample: l3-1
      returned: when O(l3_networks) or O(default_l3_network) is a name
    platform: {description: The platform of the guest., type: str, sample: Linux}
    architecture: {description: The architecture of the CPU., type: str, sample: x86_64}
    type: {description: The type. Appliances are VMs of the platform itself., type: str, sample: UserVm}
    hypervisor_type: {description: The type of the hypervisor., type: str, sample: KVM}
    memory_size: {description: The memory in bytes., type: int, sample: 4294967296}
    cpu_num: {description: The number of CPUs., type: int, sample: 2}
    cpu_speed: {description: The speed of the CPUs., type: int, sample: 0}
    allocator_strategy:
      description: How the service chooses the host.
      type: str
      sample: LeastVmPreferredHostAllocatorStrategy
    create_date: {description: When the VM was created., type: str, sample: "Jan 6, 2024 4:52:16 AM"}
    last_op_date: {description: When the VM was last changed., type: str, sample: "Jan 6, 2024 4:52:16 AM"}
    state: {description: The state of the VM., type: str, sample: Running}
    guest_os_type: {description: The operating system of the guest., type: str, sample: Linux}
    vm_nics:
      description: The NICs.
      type: list
      elements: dict
      contains:
        uuid: {description: The uuid of the NIC., type: str, sample: a0000006000040008000000000000001}
        vm_instance_uuid: {description: The uuid of the VM., type: str, sample: a0000004000040008000000000000001}
        l3_network_uuid: {description: The uuid of the L3 network., type: str, sample: a0000005000040008000000000000001}
        ip: {description: The IP address., type: str, sample: "10.101.0.11"}
        mac: {description: The MAC address., type: str, sample: "fa:00:00:00:00:01"}
        hypervisor_type: {description: The type of the hypervisor., type: str, sample: KVM}
        netmask: {description: The netmask., type: str, sample: "255.255.0.0"}
        gateway: {description: The gateway., type: str, sample: "10.101.0.1"}
        meta_data: {description: Further data of the service., type: str, sample: "{}"}
        driver_type: {description: The driver., type: str, sample: virtio}
        internal_name: {description: The name of the device on the host., type: str, sample: vnic000001.0}
        type: {description: The type of the NIC., type: str, sample: VNIC}
        state: {description: Whether the NIC is enabled., type: str, sample: enable}
        ip_version: {description: The version of the IP address., type: int, sample: 4}
        device_id: {description: The number of the NIC in its VM., type: int, sample: 0}
        create_date: {description: When the NIC was created., type: str, sample: "Jan 6, 2024 4:52:16 AM"}
        last_op_date: {description: When the NIC was last changed., type: str, sample: "Jan 6, 2024 4:52:16 AM"}
        used_ips:
          description: The IP addresses that the NIC uses.
          type: list
          elements: dict
          contains:
            uuid: {description: The uuid of the address record., type: str, sample: a0000016000040008000000000000001}
            ip_range_uuid: {description: The uuid of the IP range., type: str, sample: a0000011000040008000000000000001}
            l3_network_uuid:
              description: The uuid of the L3 network.
              type: str
              sample: a0000005000040008000000000000001
            ip: {description: The IP address., type: str, sample: "10.101.0.11"}
            netmask: {description: The netmask., type: str, sample: "255.255.0.0"}
            gateway: {description: The gateway., type: str, sample: "10.101.0.1"}
            used_for: {description: What the address is used for., type: str, sample: VM}
            vm_nic_uuid: {description: The uuid of the NIC., type: str, sample: a0000006000040008000000000000001}
            ip_version: {description: The version of the IP address., type: int, sample: 4}
            ip_in_long: {description: The IPv4 address as a number., type: int, sample: 174391307}
            create_date: {description: When the record was created., type: str, sample: "Jan 6, 2024 4:52:16 AM"}
            last_op_date: {description: When the record was last changed., type: str, sample: "Jan 6, 2024 4:52:16 AM"}
    all_volumes:
      description: The volumes.
      type: list
      elements: dict
      contains:
        uuid: {description: The uuid of the volume., type: str, sample: a0000007000040008000000000000001}
        name: {description: The name of the volume., type: str, sample: root-of-vm-1}
        description: {description: The description., type: str, sample: was attached to another machine}
        primary_storage_uuid:
          description: The uuid of the primary storage.
          type: str
          sample: a0000008000040008000000000000001
        vm_instance_uuid: {description: The uuid of the VM., type: str, sample: a0000004000040008000000000000001}
        disk_offering_uuid:
          description: The uuid of the disk offering.
          type: str
          sample: a0000017000040008000000000000001
        root_image_uuid:
          description: The uuid of the image from which a root volume was made.
          type: str
          sample: a0000012000040008000000000000001
        install_path:
          description: The path on the primary storage.
          type: str
          sample: /storage/volumes/a0000007000040008000000000000001.qcow2
        type: {description: The type of the volume., type: str, sample: Root}
        format: {description: The format of the volume., type: str, sample: qcow2}
        state: {description: The state of the volume., type: str, sample: Enabled}
        status: {description: The status of the volume., type: str, sample: Ready}
        volume_qos: {description: The limits of the volume., type: str, sample: total=10485760}
        last_vm_instance_uuid:
          description: The uuid of the VM to which the volume was attached before.
          type: str
          sample: a0000004000040008000000000000001
        size: {description: The size in bytes., type: int, sample: 42949672960}
        actual_size: {description: The bytes that the volume occupies., type: int, sample: 2147483648}
        device_id: {description: The number of the volume in its VM., type: int, sample: 0}
        is_shareable: {description: Whether several VMs can use the volume., type: bool, sample: false}
        encrypted: {description: Whether the volume is encrypted., type: bool, sample: false}
        create_date: {description: When the volume was created., type: str, sample: "Jan 6, 2024 4:52:16 AM"}
        last_op_date: {description: When the volume was last changed., type: str, sample: "Jan 6, 2024 4:52:16 AM"}
        last_detach_date: {description: When the volume was last detached., type: str, sample: "Jan 6, 2024 4:52:16 AM"}
    vm_cd_roms:
      description: The CD-ROM drives.
      type: list
      elements: dict
      contains:
        uuid: {description: The uuid of the drive., type: str, sample: a0000015000040008000000000000001}
        vm_instance_uuid: {description: The uuid of the VM., type: str, sample: a0000004000040008000000000000001}
        iso_uuid:
          description: The uuid of the inserted ISO image.
          type: str
          sample: a0000012000040008000000000000001
        iso_install_path:
          description: The path of the inserted ISO image.
          type: str
          sample: /storage/images/tools.iso
        name: {description: The name of the drive., type: str, sample: cd-rom-of-vm-1}
        description: {description: The description., type: str, sample: guest tools}
        device_id: {description: The number of the drive in its VM., type: int, sample: 0}
        create_date: {description: When the drive was created., type: str, sample: "Jan 6, 2024 4:52:16 AM"}
        last_op_date: {description: When the drive was last changed., type: str, sample: "Jan 6, 2024 4:52:16 AM"}
    tags:
      description: "The user tags, sorted."
      type: list
      elements: str
      sample: [production]
      returned: when O(tags) is given
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
    operation: {description: The operation., type: str, sample: CreateVmInstanceFromVolumeSnapshotGroup}
    object:
      description: "The object of the call as messages name it, null if the call names none."
      type: str
      sample: host host-1
    state: {description: "The state of the job: V(running) or V(unknown).", type: str, sample: running}
"""

from ..module_utils._python import check_python

check_python()

from ..module_utils._modules.process import run_as_module
from ..module_utils._engine.plan import ResourceSpec
from ..module_utils._modules.options import CREATE_OPTIONS, reference, references
from ..module_utils._modules.resource import resource_module
from ..module_utils._resources.finders import find_by_type
from ..module_utils._resources.vms import plan_new_vm

VM = ResourceSpec(
    record_type="VmInstanceInventory",
    result_key="vm",
    tagged_type="VmInstanceVO",
    find=find_by_type("vm", "uuid", "name"),
    create="CreateVmInstanceFromVolumeSnapshotGroup",
    plan=plan_new_vm,
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
