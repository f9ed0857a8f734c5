# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: host_nic_candidate_info
short_description: List interfaces of hosts that can join a bond
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Lists the network interfaces of hosts that can become slaves of a bond.
  - "List the interfaces that both hosts can use for a bond - C(virtinfra.manager.host_nic_candidate_info: {hosts:
    [host-1, host-2], interface_type: all})"
extends_documentation_fragment:
  - virtinfra.manager._connection
  - virtinfra.manager._tags
  - virtinfra.manager._references
  - virtinfra.manager._attributes
  - virtinfra.manager._attributes.facts
  - virtinfra.manager._attributes.actiongroup_api
options:
  hosts:
    description: The hosts, by name or uuid.
    type: list
    elements: str
    aliases: [host_uuids]
    required: true
  interface_type:
    description:
      - Return only interfaces of this type. Servers accept V(interface), V(bonding) and V(all), which is their default.
        They refuse any other value with C(SYS.1007), including values that results show, such as V(noMaster).
      - The value is sent unchanged, because the API document does not list the values.
    type: str
  intersecting:
    description: Whether to return only interface names that exist on all of the hosts. Without it, servers use V(true).
    type: bool
  limit:
    description: The maximum number of interfaces to return. Some servers ignore it.
    type: int
  start:
    description: How many interfaces to skip at the beginning. Some servers ignore it.
    type: int
  system_tags:
    description: System tags to send with the call.
  user_tags:
    description: User tags to send with the call.
seealso:
  - module: virtinfra.manager.host_network_info
  - module: virtinfra.manager.host_nic_service
"""

EXAMPLES = r"""
- name: List the interfaces that both hosts can use for a bond
  virtinfra.manager.host_nic_candidate_info:
    hosts: [host-1, host-2]
    interface_type: all
"""

RETURN = r"""
slave_names:
  description: The names of the interfaces.
  returned: success
  type: list
  elements: str
  sample: [eth1]
candidate_nics:
  description:
    - The interfaces.
    - R(Fields of results, ansible_collections.virtinfra.manager.docsite.guide_records) describes the fields.
  returned: success
  type: list
  elements: dict
  sample:
    [{uuid: a0000009000040008000000000000003, host_uuid: a0000003000040008000000000000001, host_name: host-1,
      bonding_uuid: a000000a000040008000000000000001, interface_name: eth2, mac: 'fa:12:00:00:00:03',
      pci_device_address: '0000:03:00.0', interface_type: noMaster, speed: 10000, slave_active: true,
      carrier_active: true, ip_addresses: [10.0.0.11], create_date: 'Jan 6, 2024 4:52:16 AM',
      last_op_date: 'Jan 6, 2024 4:52:16 AM', gateway: 10.0.0.1, call_back_ip: 10.0.0.2, offload_status: 'Off',
      description: port eth0}]
"""

from ..module_utils._python import check_python

check_python()

from ..module_utils._modules.process import run_as_module
from ..module_utils._modules.options import references
from ..module_utils._modules.read import info_module

MODULE = info_module(
    "GetCandidateNetworkInterfaces",
    options={
        "hosts": references("hostUuids", required=True),
        "interface_type": {"type": "str"},
        "intersecting": {"type": "bool"},
        "limit": {"type": "int"},
        "start": {"type": "int"},
    },
)


def main() -> None:
    """Run as a module."""
    run_as_module(MODULE)


if __name__ == "__main__":
    main()
