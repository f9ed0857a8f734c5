# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: host_network_info
short_description: Read the network interfaces of hosts
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Reads the bonds and network interfaces of hosts, several hosts concurrently.
  - The service queries each host, which takes seconds. If a host cannot be queried, its item in the list contains the
    error.
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
  fail_on_error:
    description:
      - Whether the module fails when one of the hosts cannot be queried. It always fails if none of the hosts can be
        queried.
    type: bool
    default: false
  system_tags:
    description: System tags to send with the call.
  user_tags:
    description: User tags to send with the call.
seealso:
  - module: virtinfra.manager.host_info
  - module: virtinfra.manager.host_nic_candidate_info
"""

EXAMPLES = r"""
- name: Read the interfaces of two hosts
  virtinfra.manager.host_network_info:
    hosts: [host-1, host-2]
"""

RETURN = r"""
hosts:
  description: The network facts of each host, in the order of O(hosts).
  returned: success
  type: list
  elements: dict
  contains:
    host_uuid:
      description: The uuid of the host.
      type: str
    host_name:
      description: The name of the host, as the task gives it. Null for another host.
      type: str
      returned: when O(hosts) is a name
    bondings:
      description: The bonds with their slaves. Empty when the host could not be queried.
      type: list
      elements: dict
      contains:
        uuid: {description: The uuid of the bond., type: str, sample: a000000a000040008000000000000001}
        host_uuid: {description: The uuid of the host., type: str, sample: a0000003000040008000000000000001}
        bonding_name: {description: The name of the bond., type: str, sample: bond0}
        mode: {description: The mode of the bond., type: str, sample: "802.3ad"}
        xmit_hash_policy: {description: The policy that selects the slave for a packet., type: str, sample: layer2+3}
        mii_status: {description: The status of the link of the bond., type: str, sample: up}
        mac: {description: The MAC address., type: str, sample: "fa:12:00:00:00:03"}
        ip_addresses: {description: The IP addresses., type: list, elements: str, sample: ["10.0.1.11"]}
        miimon: {description: "The interval of link checks, in milliseconds.", type: int, sample: 100}
        all_slaves_active:
          description: Whether duplicate frames from inactive slaves are delivered.
          type: bool
          sample: true
        create_date: {description: When the record was created., type: str, sample: "Jan 6, 2024 4:52:16 AM"}
        last_op_date: {description: When the record was last changed., type: str, sample: "Jan 6, 2024 4:52:16 AM"}
        slaves:
          description: The NICs of the bond.
          type: list
          elements: dict
          contains:
            uuid: {description: The uuid of the NIC., type: str, sample: a0000009000040008000000000000003}
            host_uuid: {description: The uuid of the host., type: str, sample: a0000003000040008000000000000001}
            bonding_uuid:
              description: The uuid of the bond of which the NIC is a slave.
              type: str
              sample: a000000a000040008000000000000001
            interface_name: {description: The name of the NIC., type: str, sample: eth2}
            mac: {description: The MAC address., type: str, sample: "fa:12:00:00:00:03"}
            pci_device_address: {description: The PCI address., type: str, sample: "0000:03:00.0"}
            interface_type:
              description: What the NIC is used for. Servers spell it in several ways.
              type: str
              sample: noMaster
            speed: {description: The speed of the NIC., type: int, sample: 10000}
            slave_active: {description: Whether the link of the NIC in its bond is up., type: bool, sample: true}
            carrier_active: {description: Whether the physical link is up., type: bool, sample: true}
            ip_addresses: {description: The IP addresses., type: list, elements: str, sample: ["10.0.0.11"]}
            create_date: {description: When the record was created., type: str, sample: "Jan 6, 2024 4:52:16 AM"}
            last_op_date: {description: When the record was last changed., type: str, sample: "Jan 6, 2024 4:52:16 AM"}
    nics:
      description: The interfaces. Empty when the host could not be queried.
      type: list
      elements: dict
      contains:
        uuid: {description: The uuid of the NIC., type: str, sample: a0000009000040008000000000000003}
        host_uuid: {description: The uuid of the host., type: str, sample: a0000003000040008000000000000001}
        bonding_uuid:
          description: The uuid of the bond of which the NIC is a slave.
          type: str
          sample: a000000a000040008000000000000001
        interface_name: {description: The name of the NIC., type: str, sample: eth2}
        mac: {description: The MAC address., type: str, sample: "fa:12:00:00:00:03"}
        pci_device_address: {description: The PCI address., type: str, sample: "0000:03:00.0"}
        interface_type:
          description: What the NIC is used for. Servers spell it in several ways.
          type: str
          sample: noMaster
        speed: {description: The speed of the NIC., type: int, sample: 10000}
        slave_active: {description: Whether the link of the NIC in its bond is up., type: bool, sample: true}
        carrier_active: {description: Whether the physical link is up., type: bool, sample: true}
        ip_addresses: {description: The IP addresses., type: list, elements: str, sample: ["10.0.0.11"]}
        create_date: {description: When the record was created., type: str, sample: "Jan 6, 2024 4:52:16 AM"}
        last_op_date: {description: When the record was last changed., type: str, sample: "Jan 6, 2024 4:52:16 AM"}
    msg:
      description: Why the host could not be queried, as one sentence. Null on success.
      type: str
    error:
      description:
        - Why the host could not be queried, with C(code), C(description), C(details) and C(causes) as in every failed
          result (see the guide Errors). Null on success.
      type: dict
"""

from ..module_utils._python import check_python

check_python()

from ..module_utils._modules.process import run_as_module
from ..module_utils._modules.options import references
from ..module_utils._modules.read import info_module_per_item

MODULE = info_module_per_item(
    "GetHostNetworkFacts",
    returns="hosts",
    over="hostUuids",
    parameter="hostUuid",
    options={
        "hosts": references("hostUuids", required=True),
        "fail_on_error": {"type": "bool", "default": False},
    },
)


def main() -> None:
    """Run as a module."""
    run_as_module(MODULE)


if __name__ == "__main__":
    main()
