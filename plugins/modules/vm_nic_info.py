# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: vm_nic_info
short_description: List NICs of virtual machines
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Lists NICs of virtual machines. The list is complete, or the module fails.
  - "List the NICs of a VM - C(virtinfra.manager.vm_nic_info: {vm: vm-1})"
  - The module fails with the code V(UNSUPPORTED) if the service cannot list NICs. M(virtinfra.manager.vm_info) also
    shows them.
extends_documentation_fragment:
  - virtinfra.manager._connection
  - virtinfra.manager._listing
  - virtinfra.manager._query_fields.vm_nic
  - virtinfra.manager._references
  - virtinfra.manager._attributes
  - virtinfra.manager._attributes.facts
  - virtinfra.manager._attributes.actiongroup_api
options:
  uuid:
    description: Return only the NIC with this uuid.
    type: str
  vm:
    description: Return only NICs of this VM, by name or uuid.
    type: str
    aliases: [vm_instance_uuid]
  l3_network:
    description: Return only NICs on this network, by name or uuid.
    type: str
    aliases: [l3_network_uuid]
  ip:
    description: Return only the NIC with this IP address.
    type: str
  mac:
    description: Return only the NIC with this MAC address.
    type: str
seealso:
  - module: virtinfra.manager.vm_nic
  - module: virtinfra.manager.vm_nic_qos
  - module: virtinfra.manager.vm_info
"""

EXAMPLES = r"""
- name: List the NICs of a VM
  virtinfra.manager.vm_nic_info:
    vm: vm-1

- name: Find the VM that has an address
  virtinfra.manager.vm_nic_info:
    ip: 10.101.0.11

- name: List the disabled NICs of a network
  virtinfra.manager.vm_nic_info:
    l3_network: l3-1
    query: [state=disable]
"""

RETURN = r"""
nics:
  description:
    - The NICs.
    - R(Fields of results, ansible_collections.virtinfra.manager.docsite.guide_records) describes the fields.
  returned: success
  type: list
  elements: dict
  sample:
    [{uuid: a0000006000040008000000000000001, type: VNIC, vm_instance_uuid: a0000004000040008000000000000001,
      vm_instance_name: vm-1, l3_network_uuid: a0000005000040008000000000000001, l3_network_name: l3-1,
      ip: 10.101.0.11, mac: 'fa:00:00:00:00:01', hypervisor_type: KVM, netmask: 255.255.0.0, gateway: 10.101.0.1,
      meta_data: '{}', driver_type: virtio, internal_name: vnic000001.0, state: enable, ip_version: 4, device_id: 0,
      create_date: 'Jan 6, 2024 4:52:16 AM', last_op_date: 'Jan 6, 2024 4:52:16 AM',
      used_ips:
        [{uuid: a0000016000040008000000000000001, ip: 10.101.0.11, netmask: 255.255.0.0, gateway: 10.101.0.1,
          used_for: VM, ip_version: 4, ip_in_long: 174391307}]}]
total:
  description: The number of matching NICs, including those beyond O(limit).
  returned: success
  type: int
  sample: 1
"""

from ..module_utils._python import check_python

check_python()

from ..module_utils._modules.process import run_as_module
from ..module_utils._modules.options import reference
from ..module_utils._modules.read import list_module

MODULE = list_module(
    "QueryVmNic",
    returns="nics",
    equality_options={
        "uuid": {"type": "str"},
        "vm": reference("vmInstanceUuid"),
        "l3_network": reference("l3NetworkUuid"),
        "ip": {"type": "str"},
        "mac": {"type": "str"},
    },
)


def main() -> None:
    """Run as a module."""
    run_as_module(MODULE)


if __name__ == "__main__":
    main()
