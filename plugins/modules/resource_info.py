# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: resource_info
short_description: List resources of any type by a cursor query
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Lists resources of one type by a cursor query, which needs O(api_token).
  - The list is complete, or the module fails, for example because the cursor expires, repeats or does not end.
extends_documentation_fragment:
  - virtinfra.manager._connection
  - virtinfra.manager._attributes
  - virtinfra.manager._attributes.facts
  - virtinfra.manager._attributes.actiongroup_api
options:
  resource_type:
    description: The type of the resources, for example V(host), V(vm), V(volume).
    type: str
    required: true
  sort:
    description: The field to sort by, by its API name.
    type: str
  order:
    description: The direction to sort in.
    type: str
    choices: [asc, desc]
  filters:
    description: Filters in the service's own syntax, sent unchanged.
    type: list
    elements: str
  page_size:
    description: How many resources to request per page.
    type: int
    default: 1000
  limit:
    description: The maximum number of resources to return. By default all.
    type: int
seealso:
  - module: virtinfra.manager.host_info
  - module: virtinfra.manager.vm_info
"""

EXAMPLES = r"""
- name: List all volumes, sorted by name
  virtinfra.manager.resource_info:
    resource_type: volume
    sort: name
    order: asc
"""

RETURN = r"""
resources:
  description: The resources. The service does not document their fields.
  returned: success
  type: list
  elements: dict
  sample:
    - uuid: a0000007000040008000000000000001
      name: root-of-vm-1
total:
  description: The number of matching resources, including those beyond O(limit).
  returned: success
  type: int
  sample: 12
"""

from ansible_collections.virtinfra.manager.plugins.module_utils._info_modules import cursor_list_module

MODULE = cursor_list_module(
    options={
        "resource_type": {"type": "str", "required": True},
        "sort": {"type": "str"},
        "order": {"type": "str", "choices": ["asc", "desc"]},
        "filters": {"type": "list", "elements": "str"},
        "page_size": {"type": "int", "default": 1000},
        "limit": {"type": "int"},
    }
)


def main() -> None:
    """Run as a module."""
    MODULE.run_as_module()


if __name__ == "__main__":
    main()
