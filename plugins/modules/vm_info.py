# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: vm_info
short_description: List virtual machines
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Lists virtual machines with their NICs and volumes. The list is complete, or the module fails.
  - The module reads them with a query, which needs O(session_id). It uses a cursor query, which needs O(api_token),
    when O(filters) is given, when the session is missing and when the service does not offer the query.
  - With a cursor query the module checks the conditions of O(query) itself. It can check documented fields except
    times, compares exactly, and fails on other conditions.
  - VMs in every state are listed. Services keep a deleted VM for some time in the state V(Destroyed) or V(Expunging).
    Use O(query=state!=Destroyed) to exclude such VMs.
extends_documentation_fragment:
  - virtinfra.manager._connection
  - virtinfra.manager._listing
  - virtinfra.manager._listing.names
  - virtinfra.manager._listing.filters
  - virtinfra.manager._query_fields.vm
  - virtinfra.manager._attributes
  - virtinfra.manager._attributes.facts
  - virtinfra.manager._attributes.actiongroup_api
seealso:
  - module: virtinfra.manager.vm_nic
  - module: virtinfra.manager.vm_from_snapshot_group
"""

EXAMPLES = r"""
- name: List all VMs
  virtinfra.manager.vm_info:

- name: List the running VMs of a host
  virtinfra.manager.vm_info:
    query:
      - state=Running
      - host.name=host-1

- name: Wait until a VM that starts by itself runs, or has crashed
  virtinfra.manager.vm_info:
    name: vm-1
    wait_for:
      field: state
      values: [Running, Crashed]
  register: started
  failed_when: started is failed or started.vms[0].state == 'Crashed'

- name: Wait until no VM migrates
  virtinfra.manager.vm_info:
    query: [state=Migrating]
    wait_for:
      exists: false
      timeout: 1800
"""

RETURN = r"""
vms:
  description: The VMs.
  returned: success
  type: list
  elements: dict
  contains:
    uuid: {description: The uuid of the VM., type: str, sample: a0000004000040008000000000000001}
    name: {description: The name of the VM. Names are not unique., type: str, sample: vm-1}
    description: {description: The description., type: str, sample: guest 1}
    zone_uuid: {description: The uuid of the zone., type: str, sample: a0000001000040008000000000000001}
    cluster_uuid: {description: The uuid of the cluster., type: str, sample: a0000002000040008000000000000001}
    image_uuid:
      description: The uuid of the image of the root volume.
      type: str
      sample: a0000012000040008000000000000001
    host_uuid:
      description: The uuid of the host that runs the VM. Null if it does not run.
      type: str
      sample: a0000003000040008000000000000001
    last_host_uuid:
      description: The uuid of the host that last ran the VM.
      type: str
      sample: a0000003000040008000000000000001
    instance_offering_uuid:
      description: The uuid of the instance offering.
      type: str
      sample: a0000013000040008000000000000001
    root_volume_uuid: {description: The uuid of the root volume., type: str, sample: a0000007000040008000000000000001}
    default_l3_network_uuid:
      description: The uuid of the default L3 network.
      type: str
      sample: a0000005000040008000000000000001
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
total:
  description: The number of matching VMs, including those beyond O(limit).
  returned: success
  type: int
  sample: 1
"""

from ..module_utils._python import check_python

check_python()

from ..module_utils._modules.process import run_as_module
from ..module_utils._modules.read import list_module

MODULE = list_module("QueryVmInstance", returns="vms", cursor="vm")


def main() -> None:
    """Run as a module."""
    run_as_module(MODULE)


if __name__ == "__main__":
    main()
