# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: sns_endpoint
short_description: Manage notification endpoints
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Creates notification endpoints of the types workchat (a chat room with a chatbot) and SNMP, changes them, subscribes
    them to topics, enables, disables and removes them.
  - "Notify by SNMP - C(virtinfra.manager.sns_endpoint: {type: snmp, name: monitoring, platform: snmp-1})"
  - The API cannot change the mentioned persons of a workchat endpoint. The module fails if they differ, and sends
    nothing. It fails with the code V(UNSUPPORTED) if a server lacks the operation for a change.
extends_documentation_fragment:
  - virtinfra.manager._connection
  - virtinfra.manager._wait
  - virtinfra.manager._wait.times
  - virtinfra.manager._tags.object
  - virtinfra.manager._creation
  - virtinfra.manager._references
  - virtinfra.manager._attributes
  - virtinfra.manager._attributes.actiongroup_api
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
  idempotent:
    support: partial
    details:
      - When the service cannot list endpoints, the module fails unless O(uuid) is given, because it could create a
        second endpoint. With O(uuid) it acts without comparing, reports a change and warns.
      - When the service offers only the query for endpoints of all types, which does not return address and persons,
        these are not compared.
      - The remarks in O(at_person_list) are compared only when the service shows them. The module fails when one
        differs, because the API cannot change it.
options:
  state:
    description:
      - V(present) creates the endpoint or updates it. V(enabled) and V(disabled) also change whether it sends messages.
      - V(absent) removes the endpoint with its persons and subscriptions.
    type: str
    choices: [present, absent, enabled, disabled]
    default: present
  type:
    description:
      - The type of the endpoint. V(any) selects an existing endpoint of any type, also to set its O(name),
        O(description), O(platform), O(url) or O(at_all).
    type: str
    choices: [workchat, snmp, any]
    required: true
  uuid:
    description: The uuid of the endpoint. With O(uuid) and O(name), the endpoint is renamed.
    type: str
  name:
    description:
      - The name of the endpoint. It selects the endpoint when O(uuid) is not given. Required to create an endpoint.
    type: str
  description:
    description: The description of the endpoint. An empty string removes it.
    type: str
  url:
    description:
      - The webhook URL of a workchat endpoint, required to create one, or with O(type=any) the URL of an endpoint whose
        type has one.
      - It contains a key, so results show its scheme and host only, and all output masks the rest.
    type: str
  at_all:
    description: Whether messages mention all members.
    type: bool
  at_person_user_ids:
    description: The user IDs that messages of a workchat endpoint mention, in any order.
    type: list
    elements: str
  at_person_list:
    description: The persons that messages of a workchat endpoint mention, each user ID with a remark.
    type: dict
  platform:
    description:
      - The platform that the endpoint sends through, by name or uuid. It must have the type of the endpoint.
    type: str
    aliases: [platform_uuid]
  topics:
    description:
      - All topics that the endpoint subscribes to, by name or uuid. An endpoint without one receives nothing.
    type: list
    elements: str
    aliases: [topic_uuids]
    version_added: 1.0.0
  delete_mode:
    description: How the endpoint is removed. Without it, servers use V(permissive), which checks before it removes.
    type: str
    choices: [permissive, enforcing]
    version_added: 1.0.0
notes:
  - The guide R(Modules in detail, ansible_collections.virtinfra.manager.docsite.guide_details) says step by step what
    the module does.
seealso:
  - module: virtinfra.manager.sns_topic
  - module: virtinfra.manager.sns_endpoint_info
  - module: virtinfra.manager.sns_snmp_platform
  - module: virtinfra.manager.sns_teamchat_person
"""

EXAMPLES = r"""
- name: Notify a chat room
  virtinfra.manager.sns_endpoint:
    type: workchat
    name: operators
    url: https://chat.example.com/webhook/send?key={{ chat_key }}
    at_person_list:
      user-1: on call
      user-2: deputy

- name: Notify by SNMP
  virtinfra.manager.sns_endpoint: {type: snmp, name: monitoring, platform: snmp-1}

- name: Send the alarms of a topic by SNMP
  virtinfra.manager.sns_endpoint: {type: snmp, name: snmp-endpoint-1, topics: [topic-2], state: enabled}

- name: Stop the messages of an endpoint
  virtinfra.manager.sns_endpoint: {type: any, name: snmp-endpoint-1, state: disabled}

- name: Set the description of an existing endpoint of any type
  virtinfra.manager.sns_endpoint:
    type: any
    uuid: a000000d000040008000000000000002
    description: Alarms of the operators

- name: Give an existing endpoint of any type another address
  virtinfra.manager.sns_endpoint:
    type: any
    name: teamchat-endpoint-1
    url: https://chat.example.com/webhook/send?key={{ chat_key }}
    at_all: true

- name: Remove an endpoint
  virtinfra.manager.sns_endpoint: {type: any, name: teamchat-endpoint-1, state: absent}
"""

RETURN = r"""
endpoint:
  description:
    - The endpoint; null when it is absent. In check mode and with O(wait=false), the predicted one.
    - If the service shows the remarks of persons, C(at_person_list) maps user IDs to remarks, as O(at_person_list)
      does.
    - R(Fields of results, ansible_collections.virtinfra.manager.docsite.guide_records) describes the fields.
      C(topic_uuids) is returned when O(topics) is given. C(tags) is returned when O(tags) is given.
  returned: success
  type: dict
  sample: >-
    {uuid: a000000d000040008000000000000003, name: operators, type: WorkChat, url: 'https://chat.example.com/********',
    at_all: false, at_person_user_ids: [user-1], description: alarms of the operators, state: Enabled,
    platform_uuid: a000000c000040008000000000000003, platform_name: snmp-1, create_date: 'Jan 6, 2024 4:52:16 AM',
    last_op_date: 'Jan 6, 2024 4:52:16 AM',
    platform:
    {uuid: a000000c000040008000000000000003, name: workchat-1, type: WorkChat,
    description: traps of the data centre, state: Enabled, snmp_address: 192.0.2.50, snmp_port: 1162},
    connection_status: UP, at_person_list: {user-1: on call}, topic_uuids: [a000000e000040008000000000000001],
    topic_names: [topic-1], tags: [production]}
also_removed:
  description: The persons and subscriptions that are removed with the endpoint.
  returned: with O(state=absent)
  type: list
  elements: dict
  sample: [{type: subscriber, uuid: a000000e000040008000000000000001, name: topic-1}]
job:
  description:
    - The handle of the job that is still running, for M(virtinfra.manager.job_wait).
  returned: when O(wait=false) starts a call, and in a failure when a job may still be running
  type: dict
  sample: >-
    {uuid: 5d1f3f9a0e7b4f0d9b9a0c6f3a7f1b2c, job_uuid: 5d1f3f9a0e7b4f0d9b9a0c6f3a7f1b2c,
    location: /service/v1/api-jobs/5d1f3f9a0e7b4f0d9b9a0c6f3a7f1b2c, operation: StartVmInstance, object: vm vm-1,
    state: running}
"""

from ..module_utils._python import check_python

check_python()

from typing import Any

from ..module_utils._modules.process import run_as_module
from ..module_utils._engine.spec import ResourceSpec
from ..module_utils._modules.options import CREATE_OPTIONS, reference, references
from ..module_utils._modules.resource import resource_module
from ..module_utils._resources.notifications import (
    describe_endpoints,
    find_endpoint_of_type,
    find_other_url,
    find_workchat_endpoint,
    plan_workchat_endpoint,
)
from ..module_utils._resources.subscriptions import (
    ENDPOINT_GUARD,
    ROOM_FIELDS,
    TOPICS,
    add_topics,
    plan_endpoint_of_any_type,
    plan_room_endpoint,
    plan_subscriptions,
)

SHARED: dict[str, Any] = {
    "result_key": "endpoint",
    "update": "UpdateSNSApplicationEndpoint",
    "delete": "DeleteSNSApplicationEndpoint",
    **describe_endpoints("ChangeSNSApplicationEndpointState"),
    "guards": {"absent": [ENDPOINT_GUARD]},
}
ENDPOINTS = {
    "workchat": ResourceSpec(
        record_type="SNSWorkchatEndpointInventory",
        find=add_topics(find_workchat_endpoint),
        create="CreateSNSWorkchatEndpoint",
        plan=plan_subscriptions(plan_room_endpoint("UpdateSNSWeComEndpoint", plan_workchat_endpoint)),
        **SHARED,
    ),
    "snmp": ResourceSpec(
        record_type="SNSApplicationEndpointInventory",
        find=add_topics(find_endpoint_of_type("snmp")),
        create="CreateSNSSnmpEndpoint",
        plan=plan_subscriptions(),
        **SHARED,
    ),
    "any": ResourceSpec(
        record_type="SNSApplicationEndpointInventory",
        find=add_topics(find_endpoint_of_type("")),
        plan=plan_subscriptions(plan_endpoint_of_any_type),
        **SHARED,
    ),
}
MODULE = resource_module(
    ENDPOINTS,
    options={
        "state": {"type": "str", "default": "present", "choices": ["present", "absent", "enabled", "disabled"]},
        "type": {"type": "str", "required": True, "choices": list(ENDPOINTS)},
        "uuid": {"type": "str"},
        "name": {"type": "str"},
        "description": {"type": "str"},
        "url": {"type": "str", "no_log": True},
        "at_all": {"type": "bool"},
        "at_person_user_ids": {"type": "list", "elements": "str"},
        "at_person_list": {"type": "dict"},
        "platform": reference("platformUuid"),
        "topics": references("topicUuids"),
        "delete_mode": {"type": "str", "choices": ["permissive", "enforcing"]},
        **CREATE_OPTIONS,
    },
    by="type",
    planned={"workchat": (TOPICS,), "snmp": (TOPICS,), "any": (TOPICS, *ROOM_FIELDS)},
    find_mistakes=find_other_url,
    required_one_of=[("uuid", "name")],
)


def main() -> None:
    """Run as a module."""
    run_as_module(MODULE)


if __name__ == "__main__":
    main()
