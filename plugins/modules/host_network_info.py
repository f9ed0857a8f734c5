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
  - "Read the interfaces of two hosts - C(virtinfra.manager.host_network_info: {hosts: [host-1, host-2]})"
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
  - module: virtinfra.manager.host_nic_service
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
      description:
        - The bonds with their slaves. Empty when the host could not be queried.
        - R(Fields of results, ansible_collections.virtinfra.manager.docsite.guide_records) describes the fields.
          C(miimon) is in milliseconds.
      type: list
      elements: dict
      sample:
        [{uuid: a000000a000040008000000000000001, host_uuid: a0000003000040008000000000000001, bonding_name: bond0,
          mode: 802.3ad, xmit_hash_policy: layer2+3, mii_status: up, mac: 'fa:12:00:00:00:03',
          ip_addresses: [10.0.1.11], miimon: 100, all_slaves_active: true, create_date: 'Jan 6, 2024 4:52:16 AM',
          last_op_date: 'Jan 6, 2024 4:52:16 AM',
          slaves:
            [{uuid: a0000009000040008000000000000003, interface_name: eth2, mac: 'fa:12:00:00:00:03',
              pci_device_address: '0000:03:00.0', interface_type: noMaster, speed: 10000, slave_active: true,
              carrier_active: true, ip_addresses: [10.0.0.11]}]}]
    nics:
      description:
        - The interfaces. Empty when the host could not be queried.
        - R(Fields of results, ansible_collections.virtinfra.manager.docsite.guide_records) describes the fields.
      type: list
      elements: dict
      sample:
        [{uuid: a0000009000040008000000000000003, host_uuid: a0000003000040008000000000000001,
          bonding_uuid: a000000a000040008000000000000001, interface_name: eth2, mac: 'fa:12:00:00:00:03',
          pci_device_address: '0000:03:00.0', interface_type: noMaster, speed: 10000, slave_active: true,
          carrier_active: true, ip_addresses: [10.0.0.11], create_date: 'Jan 6, 2024 4:52:16 AM',
          last_op_date: 'Jan 6, 2024 4:52:16 AM'}]
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
