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
  - "Make sure that a VM has an enabled NIC on a network - C(virtinfra.manager.vm_nic: {vm: vm-1, l3_network: l3-2,
    state: enabled})"
  - The module finds a NIC by O(uuid), or by O(vm), O(l3_network) and, if given, O(static_ip) or O(custom_mac). Two
    tasks with different addresses in one network attach two NICs. To change the address or the network of a NIC, give
    its O(uuid).
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
      - With O(uuid), the module fails if the NIC is that of another VM.
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
      - The driver of the NIC, used when it is attached, such as V(virtio). The API cannot change it.
      - The driver is not compared if the service does not show it.
    type: str
  vm_nic_params:
    description:
      - Details of the NIC in the service's own format, sent when it is attached or moved. They are not compared.
      - Write it as a mapping, or as a JSON string. A list with one mapping is sent as the mapping, since services take
        one object.
    type: json
seealso:
  - module: virtinfra.manager.vm
  - module: virtinfra.manager.vm_nic_qos
  - module: virtinfra.manager.vm_info
"""

EXAMPLES = r"""
- name: Make sure that a VM has an enabled NIC on a network
  virtinfra.manager.vm_nic: {vm: vm-1, l3_network: l3-2, state: enabled}

- name: Attach another NIC with a given address
  virtinfra.manager.vm_nic: {vm: vm-1, l3_network: l3-1, static_ip: 10.101.0.42}

- name: Change the address of a NIC
  virtinfra.manager.vm_nic: {uuid: a0000006000040008000000000000001, static_ip: 10.101.0.43}

- name: Move a NIC to another network
  virtinfra.manager.vm_nic: {uuid: a0000006000040008000000000000002, l3_network: l3-3}

- name: Disable the NIC
  virtinfra.manager.vm_nic: {uuid: a0000006000040008000000000000002, state: disabled}

- name: Remove a NIC
  virtinfra.manager.vm_nic: {vm: vm-1, l3_network: l3-2, state: absent}
"""

RETURN = r"""
nic:
  description:
    - The NIC. In check mode and with O(wait=false), the predicted one. Null when it does not exist.
    - R(Fields of results, ansible_collections.virtinfra.manager.docsite.guide_records) describes the fields.
  returned: success
  type: dict
  sample: >-
    {uuid: a0000006000040008000000000000001, type: VNIC, vm_instance_uuid: a0000004000040008000000000000001,
    vm_instance_name: vm-1, l3_network_uuid: a0000005000040008000000000000001, l3_network_name: l3-1, ip: 10.101.0.11,
    mac: 'fa:00:00:00:00:01', hypervisor_type: KVM, netmask: 255.255.0.0, gateway: 10.101.0.1, meta_data: '{}',
    driver_type: virtio, internal_name: vnic000001.0, state: enable, ip_version: 4, device_id: 0,
    create_date: 'Jan 6, 2024 4:52:16 AM', last_op_date: 'Jan 6, 2024 4:52:16 AM',
    used_ips:
    [{uuid: a0000016000040008000000000000001, ip: 10.101.0.11, netmask: 255.255.0.0, gateway: 10.101.0.1,
    used_for: VM, ip_version: 4, ip_in_long: 174391307}]}
vm:
  description:
    - The VM with all of its NICs.
    - Null with O(state=absent), and if the service lists NICs but no VMs. If the task attaches the network, also null
      in check mode and with O(wait=false).
    - R(Fields of results, ansible_collections.virtinfra.manager.docsite.guide_records) describes the fields.
      C(memory_size) is in bytes.
  returned: success
  type: dict
  sample: >-
    {uuid: a0000004000040008000000000000001, name: vm-1, type: UserVm, description: guest 1,
    zone_uuid: a0000001000040008000000000000001, cluster_uuid: a0000002000040008000000000000001,
    image_uuid: a0000012000040008000000000000001, host_uuid: a0000003000040008000000000000001,
    last_host_uuid: a0000003000040008000000000000001, instance_offering_uuid: a0000013000040008000000000000001,
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
    description: guest tools, device_id: 0}]}
new_default_networks:
  description:
    - The L3 network that became the default network of the VM, because the NIC was on the former one; empty otherwise.
    - Check mode only knows it if the VM has NICs on one other network.
  returned: success and O(state=absent)
  type: list
  elements: dict
  sample: [{uuid: a0000005000040008000000000000002, name: l3-2}]
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
from ..module_utils._modules.options import reference
from ..module_utils._modules.resource import resource_module
from ..module_utils._resources.nic_refusals import find_nic_refusal
from ..module_utils._resources.nics import NEW_DEFAULT_NETWORK, find_vm_nic, plan_vm_nic, separate_vm

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
    find_refusal=find_nic_refusal,
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
    required_one_of=[("uuid", "vm"), ("uuid", "l3_network")],
)


def main() -> None:
    """Run as a module."""
    run_as_module(MODULE)


if __name__ == "__main__":
    main()
