# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: resource_info
short_description: List resources of any type
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Lists resources of one type, for example to find the uuids of those that meet a condition. The list is complete, or
    the module fails.
  - "List all zones - C(virtinfra.manager.resource_info: {resource_type: zone})"
  - The module reads them with a query, which needs O(session_id) or O(account). It uses a cursor query, which needs
    O(api_token), when O(filters), O(sort) or O(order) is given, when the session is missing, when the service does not
    offer the query and when no query is known for O(resource_type).
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
options:
  resource_type:
    description:
      - The type of the resources.
      - The fields are documented for V(cbt_task), V(cluster), V(disk_offering), V(endpoint), V(host), V(host_nic),
        V(image), V(instance_offering), V(l3_network), V(person) (mentioned in the messages of an endpoint), V(platform)
        (of endpoints), V(primary_storage), V(snapshot_group), V(ssh_key_pair), V(subscriber) (of a topic), V(topic),
        V(vm), V(vm_nic), V(volume) and V(zone).
      - Other types are those of the more than 200 queries of the service, for example C(l2_network), C(eip) and
        C(security_group). The type is the name of the query in small letters, without C(Query). Conditions on their
        fields are sent unchecked.
      - A service can lack some of these queries. Underscores can be omitted; cursor queries always use the type without
        them.
      - Any other type is sent unchanged in a cursor query.
      - Either this option or O(path) is required.
    type: str
  path:
    description:
      - The path of a collection below the path prefix, for example V(v1/images), to list resources of types that
        O(resource_type) does not know. Their fields are not documented, so conditions on them are sent unchecked.
      - A path is refused, unless it is known that C(GET) reads there. See O(trust_path).
    type: str
  trust_path:
    description:
      - Says that the service reads with C(GET) at O(path), although the collection does not know it. Services ignore
        the method of a path with one operation, so C(GET) may change something. In the same way, it permits
        O(resource_type) if another server uses the path of its query for a change.
      - It never permits a path where all known servers have a change, nor an unknown one in check mode.
    type: bool
    default: false
    version_added: 1.0.0
  fields:
    description:
      - The fields to return, for less data per page. A query fails on a field that the service computes or keeps in
        another table, such as the capacities of hosts.
    type: list
    elements: str
    version_added: 1.0.0
  sort:
    description:
      - The field to sort by, with its API name. If it is given, the module uses the cursor query, as with O(filters).
    type: str
  order:
    description:
      - The direction to sort in. If it is given, the module uses the cursor query, as with O(filters).
    type: str
    choices: [asc, desc]
  page_size:
    description:
      - How many resources a cursor query requests per page.
    type: int
    default: 1000
notes:
  - The guide R(Fields of results, ansible_collections.virtinfra.manager.docsite.guide_records) lists the fields for
    O(query) of each type.
seealso:
  - module: virtinfra.manager.host_info
  - module: virtinfra.manager.vm_info
  - module: virtinfra.manager.api
"""

EXAMPLES = r"""
- name: List all zones
  virtinfra.manager.resource_info:
    resource_type: zone

- name: Find a cluster by its name
  virtinfra.manager.resource_info:
    resource_type: cluster
    name: cluster-1
  register: clusters

- name: List the networks in the zone of that cluster
  virtinfra.manager.resource_info:
    resource_type: l3_network
    query:
      - zoneUuid={{ clusters.resources[0].zone_uuid }}

- name: List a collection by its path
  virtinfra.manager.resource_info:
    path: v1/primary-storage
    query:
      - state=Enabled

- name: List all volumes, sorted by name, with a token
  virtinfra.manager.resource_info:
    resource_type: volume
    sort: name
    order: asc
"""

RETURN = r"""
resources:
  description:
    - The resources. If a query is known for O(resource_type), they have every known field, null if the service omits
      it. The fields of other types are not documented.
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

from ..module_utils._python import check_python

check_python()

from ..module_utils._modules.process import run_as_module
from ..module_utils._client.lists import PAGE_SIZE
from ..module_utils._modules.generic import list_resources
from ..module_utils._modules.read import list_module
from ..module_utils._modules.spec import ModuleSpec

BY_CURSOR = list_module(None, returns="resources", cursor="any")
MODULE = ModuleSpec(
    list_resources,
    {
        **BY_CURSOR.options,
        "resource_type": {"type": "str"},
        "path": {"type": "str"},
        "trust_path": {"type": "bool", "default": False},
        "fields": {"type": "list", "elements": "str"},
        "sort": {"type": "str"},
        "order": {"type": "str", "choices": ["asc", "desc"]},
        "page_size": {"type": "int", "default": PAGE_SIZE},
    },
    constraints={
        "required_one_of": [("resource_type", "path")],
        "mutually_exclusive": [("path", name) for name in ("resource_type", "filters", "sort", "order")],
    },
    selecting_options=BY_CURSOR.selecting_options,
)


def main() -> None:
    """Run as a module."""
    run_as_module(MODULE)


if __name__ == "__main__":
    main()
