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
  - Lists virtual machines with their NICs and volumes, completely, however many there are.
  - They are read by a query with O(session_id). With O(filters), and where the session is missing or the service does
    not list them, they are read by a cursor with O(api_token).
  - Where a cursor reads them, the module checks the conditions of O(query) itself. It can do so for documented fields,
    except times, and compares exactly; for other conditions it fails.
  - VMs in every state are listed. Services keep a deleted VM for some time, in the state V(Destroyed) or V(Expunging);
    O(query=state!=Destroyed) leaves such VMs out.
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
- name: List all machines
  virtinfra.manager.vm_info:

- name: List the running machines of a host
  virtinfra.manager.vm_info:
    query:
      - state=Running
      - hostUuid=a0000003000040008000000000000001
"""

RETURN = r"""
vms:
  description: The machines; an empty list when there are none.
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
  description: How many machines there are, also those beyond O(limit).
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
