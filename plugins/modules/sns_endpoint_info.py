# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: sns_endpoint_info
short_description: List notification endpoints
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Lists the endpoints for notifications, completely, however many there are.
extends_documentation_fragment:
  - virtinfra.manager._connection
  - virtinfra.manager._listing
  - virtinfra.manager._listing.names
  - virtinfra.manager._attributes
  - virtinfra.manager._attributes.facts
  - virtinfra.manager._attributes.actiongroup_api
options:
  type:
    description:
      - V(workchat) lists workchat endpoints with their address and people.
      - V(any) lists endpoints of all kinds with what they have in common, where the service can do that.
    type: str
    choices: [workchat, any]
    default: workchat
seealso:
  - module: virtinfra.manager.sns_endpoint
"""

EXAMPLES = r"""
- name: List workchat endpoints
  virtinfra.manager.sns_endpoint_info:

- name: Find an endpoint of any kind by its name
  virtinfra.manager.sns_endpoint_info:
    type: any
    name: snmp-endpoint-1
"""

RETURN = r"""
endpoints:
  description:
    - The endpoints; an empty list when there are none.
    - The values in the query of a url are left out, since they are keys.
  returned: success
  type: list
  elements: dict
  sample:
    - uuid: a000000d000040008000000000000001
      name: snmp-endpoint-1
      type: SNMP
      state: Enabled
total:
  description: How many endpoints there are, also those beyond O(limit).
  returned: success
  type: int
  sample: 1
"""

from ansible_collections.virtinfra.manager.plugins.module_utils._info_modules import list_module

QUERIES = {"workchat": "QuerySNSWorkchatEndpoint", "any": "QuerySNSApplicationEndpoint"}
TASK = list_module(
    QUERIES,
    returns="endpoints",
    options={"type": {"type": "str", "default": "workchat", "choices": list(QUERIES)}},
    by="type",
)


def main() -> None:
    """Run as a module."""
    TASK.run_as_module()


if __name__ == "__main__":
    main()
