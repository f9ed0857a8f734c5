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
  - Lists notification endpoints. The list is complete, or the module fails.
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
      - V(any) lists endpoints of all types, V(workchat) only workchat endpoints.
      - By default endpoints of all types are listed. If the service does not offer that, the module lists workchat
        endpoints and warns. It fails if the service returns no list of these either.
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
    - Of a URL only the scheme and the host are shown, because its path or query contains a key.
  returned: success
  type: list
  elements: dict
  sample:
    - uuid: a000000d000040008000000000000001
      name: snmp-endpoint-1
      type: SNMP
      state: Enabled
      platform_uuid: a000000c000040008000000000000001
      persons: []
total:
  description: The number of matching endpoints, including those beyond O(limit).
  returned: success
  type: int
  sample: 1
"""

from dataclasses import replace
from typing import Any

from ansible_collections.virtinfra.manager.plugins.module_utils._errors import ReadNotSupported
from ansible_collections.virtinfra.manager.plugins.module_utils._info_modules import list_module, query_by
from ansible_collections.virtinfra.manager.plugins.module_utils._modules import ModuleContext, ModuleSpec

PERSONS = "QuerySNSTeamchatAtPerson"
TYPES = {"any": "QuerySNSApplicationEndpoint", "workchat": "QuerySNSWorkchatEndpoint"}
LISTS = {name: list_module(operation, returns="endpoints") for name, operation in TYPES.items()}


def list_endpoints(context: ModuleContext) -> dict[str, Any]:
    """List the endpoints of a type or of all types, each with the persons that its messages mention."""
    shared = replace(context, desired={name: value for name, value in context.desired.items() if name != "type"})
    name = context.desired.get("type")
    try:
        result = LISTS[name or "any"].run(shared)
    except ReadNotSupported as reason:
        if name:
            raise
        result, name = LISTS["workchat"].run(shared), "workchat"
        context.warnings.append(f"Only workchat endpoints are listed: {reason}.")
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
    (PERSONS, TYPES["workchat"], TYPES["any"]),
    selecting_options=LISTS["any"].selecting_options,
)


def main() -> None:
    """Run as a module."""
    MODULE.run_as_module()


if __name__ == "__main__":
    main()
