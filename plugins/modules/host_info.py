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
  - Lists hosts. The list is complete, or the module fails.
  - The module reads them by a query, which needs O(session_id). It uses a cursor query, which needs O(api_token), when
    O(filters) is given, when the session is missing and when the service does not offer the query.
  - With a cursor query the module checks the conditions of O(query) itself. It can check documented fields except
    times, compares exactly, and fails on other conditions.
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
  description: The hosts.
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
  description: The number of matching hosts, including those beyond O(limit).
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
