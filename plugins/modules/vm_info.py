# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: vm_info
short_description: List virtual machines
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Lists virtual machines with their NICs and volumes. The list is complete, or the module fails.
  - The module reads them by a query, which needs O(session_id). It uses a cursor query, which needs O(api_token), when
    O(filters) is given, when the session is missing and when the service does not offer the query.
  - With a cursor query the module checks the conditions of O(query) itself. It can check documented fields except
    times, compares exactly, and fails on other conditions.
  - VMs in every state are listed. Services keep a deleted VM for some time in the state V(Destroyed) or V(Expunging).
    Use O(query=state!=Destroyed) to exclude such VMs.
extends_documentation_fragment:
  - virtinfra.manager._connection
  - virtinfra.manager._listing
  - virtinfra.manager._listing.names
  - virtinfra.manager._listing.filters
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
      - hostUuid=a0000003000040008000000000000001
"""

RETURN = r"""
vms:
  description: The VMs.
  returned: success
  type: list
  elements: dict
  sample:
    - uuid: a0000004000040008000000000000001
      name: vm-1
      state: Running
      vm_nics:
        - uuid: a0000006000040008000000000000001
          ip: 172.16.1.1
total:
  description: The number of matching VMs, including those beyond O(limit).
  returned: success
  type: int
  sample: 1
"""

from ansible_collections.virtinfra.manager.plugins.module_utils._info_modules import list_module

MODULE = list_module("QueryVmInstance", returns="vms", cursor="vm")


def main() -> None:
    """Run as a module."""
    MODULE.run_as_module()


if __name__ == "__main__":
    main()
