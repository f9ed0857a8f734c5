# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: host_info
short_description: List hosts
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Lists hosts, completely, however many there are.
  - They are read by a query with O(session_id). With O(filters), and where the session is missing or the service does
    not list them, they are read by a cursor with O(api_token).
  - Where a cursor reads them, the module checks the conditions of O(query) itself. It can do so for documented fields,
    except times, and compares exactly; for other conditions it fails.
extends_documentation_fragment:
  - virtinfra.manager._connection
  - virtinfra.manager._listing
  - virtinfra.manager._listing.names
  - virtinfra.manager._listing.filters
  - virtinfra.manager._attributes
  - virtinfra.manager._attributes.facts
  - virtinfra.manager._attributes.actiongroup_api
seealso:
  - module: virtinfra.manager.kvm_host
"""

EXAMPLES = r"""
- name: List all hosts
  virtinfra.manager.host_info:

- name: Find a host
  virtinfra.manager.host_info:
    name: host-1

- name: List at most ten enabled hosts of a cluster
  virtinfra.manager.host_info:
    query:
      - state=Enabled
      - clusterUuid=a0000002000040008000000000000001
    limit: 10
"""

RETURN = r"""
hosts:
  description: The hosts; an empty list when there are none.
  returned: success
  type: list
  elements: dict
  sample:
    - uuid: a0000003000040008000000000000001
      name: host-1
      management_ip: 10.0.0.11
      state: Enabled
      status: Connected
total:
  description: How many hosts there are, also those beyond O(limit).
  returned: success
  type: int
  sample: 1
"""

from ansible_collections.virtinfra.manager.plugins.module_utils._info_modules import list_module

MODULE = list_module("QueryHost", returns="hosts", cursor="host")


def main() -> None:
    """Run as a module."""
    MODULE.run_as_module()


if __name__ == "__main__":
    main()
