# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: host_nic_candidate_info
short_description: List interfaces of hosts that can join a bond
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Lists the network interfaces of hosts that can become slaves of a bond.
extends_documentation_fragment:
  - virtinfra.manager._connection
  - virtinfra.manager._tags
  - virtinfra.manager._references
  - virtinfra.manager._attributes
  - virtinfra.manager._attributes.facts
  - virtinfra.manager._attributes.actiongroup_api
options:
  hosts:
    description: The hosts.
    type: list
    elements: str
    aliases: [host_uuids]
    required: true
  interface_type:
    description:
      - Return only interfaces of this type. Servers accept V(interface), V(bonding) and V(all), which is their default.
        They refuse any other value with C(SYS.1007), including values that results show, such as V(noMaster).
      - The value is sent as it is, because the API document does not list the values.
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
  description: The interfaces.
  returned: success
  type: list
  elements: dict
  sample:
    - uuid: a0000009000040008000000000000002
      interface_name: eth1
      host_uuid: a0000003000040008000000000000001
"""

from ansible_collections.virtinfra.manager.plugins.module_utils._info_modules import info_module
from ansible_collections.virtinfra.manager.plugins.module_utils._options import references

MODULE = info_module(
    "GetCandidateNetworkInterfaces",
    options={
        "hosts": references("host_uuids", required=True),
        "interface_type": {"type": "str"},
        "intersecting": {"type": "bool"},
        "limit": {"type": "int"},
        "start": {"type": "int"},
    },
)


def main() -> None:
    """Run as a module."""
    MODULE.run_as_module()


if __name__ == "__main__":
    main()
