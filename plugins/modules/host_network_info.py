# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: host_network_info
short_description: Read the network interfaces of hosts
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Reads the bonds and network interfaces of hosts, several hosts concurrently.
  - The service queries each host, which takes seconds. A host that cannot be queried is reported in the list.
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
  fail_on_error:
    description:
      - Whether the module fails when one of the hosts cannot be queried. It always fails when none can.
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
    bondings:
      description: The bonds with their slaves. Empty when the host could not be queried.
      type: list
      elements: dict
    nics:
      description: The interfaces. Empty when the host could not be queried.
      type: list
      elements: dict
    msg:
      description: Why the host could not be queried, as one sentence. Null on success.
      type: str
    error:
      description:
        - Why the host could not be queried, with C(code), C(description), C(details) and C(causes) as in every failed
          result (see the guide Errors). Null on success.
      type: dict
  sample:
    - host_uuid: a0000003000040008000000000000001
      bondings:
        - bonding_name: bond0
          mode: active-backup
      nics:
        - interface_name: eth0
          mac: fa:00:00:00:00:01
      msg: null
      error: null
"""

from ansible_collections.virtinfra.manager.plugins.module_utils._info_modules import info_module_per_item
from ansible_collections.virtinfra.manager.plugins.module_utils._options import references

MODULE = info_module_per_item(
    "GetHostNetworkFacts",
    returns="hosts",
    over="hostUuids",
    parameter="hostUuid",
    options={
        "hosts": references("host_uuids", required=True),
        "fail_on_error": {"type": "bool", "default": False},
    },
)


def main() -> None:
    """Run as a module."""
    MODULE.run_as_module()


if __name__ == "__main__":
    main()
