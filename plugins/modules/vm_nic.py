# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: vm_nic
short_description: Manage NICs of virtual machines
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Attaches networks to virtual machines, moves their NICs to other networks and addresses, enables and disables them,
    and removes them.
  - The module finds a NIC by O(uuid), or by O(vm), O(l3_network) and, if given, O(static_ip) or
    O(custom_mac). Two tasks with different addresses in one network attach two NICs. To change the address or the
    network of a NIC, give its O(uuid).
  - The API cannot change the MAC address or the driver of a NIC. The module fails if one of these differs from the
    existing NIC, and sends nothing.
extends_documentation_fragment:
  - virtinfra.manager._connection
  - virtinfra.manager._wait
  - virtinfra.manager._wait.times
  - virtinfra.manager._tags
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
      - When the service lists neither VMs nor NICs and there is no O(api_token) for a cursor query, the module fails
        unless O(uuid) is given, because it could attach a second NIC. With O(uuid) it acts without comparing, reports a
        change and warns.
options:
  state:
    description:
      - V(present) attaches the network if the VM has no matching NIC in it, and does not change the state of an
        existing NIC.
      - V(enabled) and V(disabled) also attach the network if necessary, and change the NIC to that state.
      - V(absent) detaches the NIC from its VM and deletes it. The VM must be running or stopped. Nothing is removed if
        another option differs from the NIC, and nothing has to be removed if the VM does not exist. If the network was
        the default network of the VM, the service makes another one the default, see RV(new_default_networks). This
        needs an operation that some services lack.
    type: str
    choices: [present, enabled, disabled, absent]
    default: present
  uuid:
    description:
      - The uuid of the NIC. O(l3_network) and O(static_ip) then move the NIC to that network and address.
    type: str
  vm:
    description:
      - The VM, by name or uuid. Together with O(l3_network) it selects the NIC when O(uuid) is not given. Without
        O(static_ip) and O(custom_mac) the module fails when the VM has several NICs on the network.
      - A VM in the state V(Destroyed) or V(Expunging) is treated as not found.
    type: str
    aliases: [vm_instance_uuid]
  l3_network:
    description: The network to which the NIC is attached, by name or uuid.
    type: str
    aliases: [l3_network_uuid]
  static_ip:
    description:
      - The IP address of the NIC. Without O(uuid), it selects the NIC. If the VM has no NIC with this address on the
        network, a NIC is attached, even if a NIC with another address exists.
      - The module fails while a NIC in the network shows no IP address, because this could be the NIC to select.
      - With O(uuid), the address of the NIC is changed if it differs.
    type: str
  custom_mac:
    description:
      - The MAC address of the NIC. The API cannot change it.
      - Without O(uuid), it selects the NIC, and a NIC with this address is attached if the VM has none. If O(static_ip)
        is given too and a NIC has only one of the two addresses, the module fails instead of attaching another NIC.
    type: str
  driver_type:
    description:
      - The driver of the NIC, used when it is attached. The API cannot change it.
      - The driver is not compared if the service does not show it.
    type: str
  vm_nic_params:
    description:
      - Details of the NIC in the service's own format, sent when it is attached or moved. They are not compared.
      - Write it as a list or a mapping, or as a JSON text.
    type: json
seealso:
  - module: virtinfra.manager.vm_nic_qos
"""

EXAMPLES = r"""
- name: Make sure that a VM has an enabled NIC on a network
  virtinfra.manager.vm_nic:
    vm: vm-1
    l3_network: l3-2
    state: enabled

- name: Attach another NIC with a given address
  virtinfra.manager.vm_nic:
    vm: vm-1
    l3_network: l3-1
    static_ip: 10.101.0.42

- name: Change the address of a NIC
  virtinfra.manager.vm_nic:
    uuid: a0000006000040008000000000000001
    static_ip: 10.101.0.43

- name: Move a NIC to another network
  virtinfra.manager.vm_nic:
    uuid: a0000006000040008000000000000002
    l3_network: l3-3

- name: Disable the NIC
  virtinfra.manager.vm_nic:
    uuid: a0000006000040008000000000000002
    state: disabled

- name: Remove a NIC
  virtinfra.manager.vm_nic:
    vm: vm-1
    l3_network: l3-2
    state: absent
"""

RETURN = r"""
nic:
  description: The NIC. In check mode and with O(wait=false), the predicted one. Null when it does not exist.
  returned: success
  type: dict
  contains:
    uuid: {description: The uuid of the NIC., type: str, sample: a0000006000040008000000000000001}
    vm_instance_uuid: {description: The uuid of the VM., type: str, sample: a0000004000040008000000000000001}
    vm_instance_name:
      description: "The name of the VM, as the task gives it. Null for another VM."
      type: str
      sample: vm-1
      returned: when O(vm) is a name
    l3_network_uuid: {description: The uuid of the L3 network., type: str, sample: a0000005000040008000000000000001}
    l3_network_name:
      description: "The name of the L3 network, as the task gives it. Null for another L3 network."
      type: str
      sample: l3-1
      returned: when O(l3_network) is a name
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
        l3_network_uuid: {description: The uuid of the L3 network., type: str, sample: a0000005000040008000000000000001}
        ip: {description: The IP address., type: str, sample: "10.101.0.11"}
        netmask: {description: The netmask., type: str, sample: "255.255.0.0"}
        gateway: {description: The gateway., type: str, sample: "10.101.0.1"}
        used_for: {description: What the address is used for., type: str, sample: VM}
        vm_nic_uuid: {description: The uuid of the NIC., type: str, sample: a0000006000040008000000000000001}
        ip_version: {description: The version of the IP address., type: int, sample: 4}
        ip_in_long: {description: The IPv4 address as a number., type: int, sample: 174391307}
        create_date: {description: When the record was created., type: str, sample: "Jan 6, 2024 4:52:16 AM"}
        last_op_date: {description: When the record was last changed., type: str, sample: "Jan 6, 2024 4:52:16 AM"}
vm:
  description:
    - The VM with all of its NICs.
    - Null with O(state=absent), and if the service lists NICs but no VMs. If the task attaches the network, also null
      in check mode and with O(wait=false).
  returned: success
  type: dict
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
    default_l3_network_name:
      description: "The name of the L3 network, as the task gives it. Null for another L3 network."
      type: str
      sample: l3-1
      returned: when O(l3_network) is a name
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
new_default_networks:
  description:
    - The L3 network that became the default network of the VM, because the NIC was on the former one; empty otherwise.
    - Check mode only knows it if the VM has NICs on one other network.
  returned: success and O(state=absent)
  type: list
  elements: dict
  contains:
    uuid: {description: The uuid of the L3 network., type: str, sample: a0000005000040008000000000000002}
    name: {description: The name of the L3 network., type: str, sample: l3-2}
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
    operation: {description: The operation., type: str, sample: AttachL3NetworkToVm}
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
from ..module_utils._modules.options import reference
from ..module_utils._modules.resource import resource_module
from ..module_utils._resources.vms import NEW_DEFAULT_NETWORK, find_vm_nic, plan_vm_nic, separate_vm

NIC = ResourceSpec(
    record_type="VmNicInventory",
    result_key="nic",
    find=find_vm_nic,
    create="AttachL3NetworkToVm",
    update="ChangeVmNicNetwork",
    delete="DetachL3NetworkFromVm",
    transitions={
        "enabled": StateTransition("ChangeVmNicState", "state", ("enable",), {"state": "enable"}),
        "disabled": StateTransition("ChangeVmNicState", "state", ("disable",), {"state": "disable"}),
    },
    guards={"absent": (NEW_DEFAULT_NETWORK,)},
    plan=plan_vm_nic,
    format_result=separate_vm,
)
MODULE = resource_module(
    NIC,
    options={
        "state": {"type": "str", "default": "present", "choices": ["present", *NIC.transitions, "absent"]},
        "uuid": {"type": "str"},
        "vm": reference("vmInstanceUuid"),
        "l3_network": reference("l3NetworkUuid"),
        "static_ip": {"type": "str"},
        "custom_mac": {"type": "str"},
        "driver_type": {"type": "str"},
        "vm_nic_params": {"type": "json"},
    },
    required_one_of=[("uuid", "vm")],
    required_by={"vm": ["l3_network"]},
)


def main() -> None:
    """Run as a module."""
    run_as_module(MODULE)


if __name__ == "__main__":
    main()
