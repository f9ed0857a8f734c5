# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: sns_endpoint_info
short_description: List notification endpoints
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Lists notification endpoints. The list is complete, or the module fails.
  - List endpoints of all types - C(virtinfra.manager.sns_endpoint_info:)
  - On servers that have we-com and feishu endpoints instead of workchat and teamchat endpoints, O(type=workchat) lists
    we-com endpoints, and the persons are those of feishu endpoints.
extends_documentation_fragment:
  - virtinfra.manager._connection
  - virtinfra.manager._listing
  - virtinfra.manager._listing.names
  - virtinfra.manager._query_fields.endpoint
  - virtinfra.manager._attributes
  - virtinfra.manager._attributes.facts
  - virtinfra.manager._attributes.actiongroup_api
options:
  type:
    description:
      - V(any) lists endpoints of all types, V(workchat) only workchat endpoints.
      - By default endpoints of all types are listed. If the service does not offer this query, the module lists
        workchat endpoints and warns. It fails if the service does not list these either.
    type: str
    choices: [any, workchat]
seealso:
  - module: virtinfra.manager.sns_endpoint
  - module: virtinfra.manager.sns_topic_subscriber_info
"""

EXAMPLES = r"""
- name: List endpoints of all types
  virtinfra.manager.sns_endpoint_info:

- name: Find an endpoint by its name
  virtinfra.manager.sns_endpoint_info:
    name: snmp-endpoint-1
  register: found

- name: Send the traps of that endpoint to another receiver
  virtinfra.manager.sns_snmp_platform:
    uuid: "{{ found.endpoints[0].platform_uuid }}"
    snmp_address: 192.0.2.50
    snmp_port: 1162
  when: found.total > 0
"""

RETURN = r"""
endpoints:
  description:
    - The endpoints. Workchat endpoints also have their URL and user IDs, if the service lists workchat endpoints.
    - C(persons) are the records of the persons that messages mention, with C(uuid), C(user_id) and C(remark). Null if
      the service cannot list them.
    - URLs show only scheme and host, because their path or query contains a key.
    - R(Fields of results, ansible_collections.virtinfra.manager.docsite.guide_records) describes the fields.
  returned: success
  type: list
  elements: dict
  sample:
    [{uuid: a000000d000040008000000000000003, name: operators, type: WorkChat,
      url: 'https://chat.example.com/********', at_all: false, at_person_user_ids: [user-1],
      description: alarms of the operators, state: Enabled, platform_uuid: a000000c000040008000000000000003,
      create_date: 'Jan 6, 2024 4:52:16 AM', last_op_date: 'Jan 6, 2024 4:52:16 AM',
      platform:
        {uuid: a000000c000040008000000000000003, name: workchat-1, type: WorkChat,
         description: traps of the data centre, state: Enabled, snmp_address: 192.0.2.50, snmp_port: 1162},
      connection_status: UP, at_person_list: [{user_id: user-1, remark: on call}],
      persons: [{uuid: a000000f000040008000000000000001, user_id: user-1, remark: on call}]}]
total:
  description: The number of matching endpoints, including those beyond O(limit).
  returned: success
  type: int
  sample: 1
"""

from ..module_utils._python import check_python

check_python()

from dataclasses import replace
from typing import Any

from ..module_utils._modules.process import run_as_module
from ..module_utils._api.errors import Unsupported
from ..module_utils._engine.context import ModuleContext
from ..module_utils._modules.read import list_module, query_by
from ..module_utils._modules.spec import ModuleSpec

PERSONS = "QuerySNSTeamchatAtPerson"
TYPES = {"any": "QuerySNSApplicationEndpoint", "workchat": "QuerySNSWorkchatEndpoint"}
LISTS = {name: list_module(operation, returns="endpoints") for name, operation in TYPES.items()}


def list_endpoints(context: ModuleContext) -> dict[str, Any]:
    """List the endpoints of a type or of all types, each with the persons that its messages mention."""
    shared = replace(context, desired={name: value for name, value in context.desired.items() if name != "type"})
    name = context.desired.get("type")
    try:
        result = LISTS[name or "any"].run(shared)
    except Unsupported as reason:
        if name:
            raise
        result, name = LISTS["workchat"].run(shared), "workchat"
        context.warnings.append(f"Only workchat endpoints are listed: {reason.reason}.")
    uuids = [endpoint["uuid"] for endpoint in result["endpoints"]]
    details = {} if name == "workchat" else query_by(context.client, TYPES["workchat"], "uuid", uuids)
    persons = query_by(context.client, PERSONS, "endpoint_uuid", uuids)
    for endpoint in result["endpoints"]:
        for detail in (details or {}).get(endpoint["uuid"], []):
            endpoint.update(detail)
        endpoint["persons"] = None if persons is None else persons.get(endpoint["uuid"], [])
    return result


MODULE = ModuleSpec(
    list_endpoints,
    {**LISTS["any"].options, "type": {"type": "str", "choices": list(TYPES)}},
    selecting_options=LISTS["any"].selecting_options,
)


def main() -> None:
    """Run as a module."""
    run_as_module(MODULE)


if __name__ == "__main__":
    main()
