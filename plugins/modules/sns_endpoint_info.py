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
  - module: virtinfra.manager.sns_snmp_platform
  - module: virtinfra.manager.sns_teamchat_person
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
  returned: success
  type: list
  elements: dict
  contains:
    url:
      description: "The webhook of the chat room. It may contain a key, so results show only its scheme and host."
      type: str
      sample: "https://chat.example.com/********"
      returned: for workchat endpoints
    at_all:
      description: Whether messages mention all members.
      type: bool
      sample: false
      returned: for workchat endpoints
    at_person_user_ids:
      description: "The user IDs of the members whom messages mention, in any order."
      type: list
      elements: str
      sample: [user-1]
      returned: for workchat endpoints
    name: {description: The name of the endpoint. Names are not unique., type: str, sample: operators}
    uuid: {description: The uuid of the endpoint., type: str, sample: a000000d000040008000000000000003}
    description: {description: The description., type: str, sample: alarms of the operators}
    type: {description: The type of the endpoint., type: str, sample: WorkChat}
    state: {description: Whether the endpoint sends messages., type: str, sample: Enabled}
    platform_uuid:
      description: The uuid of the platform that the endpoint belongs to.
      type: str
      sample: a000000c000040008000000000000003
    create_date: {description: When the endpoint was created., type: str, sample: "Jan 6, 2024 4:52:16 AM"}
    last_op_date: {description: When the endpoint was last changed., type: str, sample: "Jan 6, 2024 4:52:16 AM"}
    platform:
      description: The platform that the endpoint belongs to.
      type: dict
      contains:
        uuid: {description: The uuid of the platform., type: str, sample: a000000c000040008000000000000003}
        name: {description: The name of the platform., type: str, sample: workchat-1}
        description: {description: The description., type: str, sample: traps of the data centre}
        type: {description: The type of the platform., type: str, sample: WorkChat}
        create_date: {description: When the platform was created., type: str, sample: "Jan 6, 2024 4:52:16 AM"}
        last_op_date: {description: When the platform was last changed., type: str, sample: "Jan 6, 2024 4:52:16 AM"}
        state: {description: Whether the platform is used., type: str, sample: Enabled}
        snmp_address:
          description: "The address of the trap receiver, of SNMP platforms on servers that show it."
          type: str
          returned: when the service sends it
          sample: "192.0.2.50"
        snmp_port:
          description: "The port of the trap receiver, of SNMP platforms on servers that show it."
          type: int
          returned: when the service sends it
          sample: 1162
      returned: for workchat endpoints
    connection_status:
      description: "Whether the service reaches the receiver, on servers that show it."
      type: str
      returned: when the service sends it
      sample: UP
    at_person_list:
      description: "The members whom messages mention, with their remarks, on servers that show them."
      type: list
      returned: for workchat endpoints
      elements: dict
      sample: [{user_id: user-1, remark: on call}]
    persons:
      description: The persons whom messages mention. Null if the service cannot list them.
      type: list
      elements: dict
      contains:
        uuid: {description: The uuid of the person., type: str, sample: a000000f000040008000000000000001}
        user_id: {description: The user ID of the person in the chat., type: str, sample: user-1}
        endpoint_uuid:
          description: The uuid of the teamchat endpoint.
          type: str
          sample: a000000d000040008000000000000002
        create_date: {description: When the person was added., type: str, sample: "Jan 6, 2024 4:52:16 AM"}
        last_op_date: {description: When the person was last changed., type: str, sample: "Jan 6, 2024 4:52:16 AM"}
        remark: {description: The remark about the person., type: str, sample: on call}
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
