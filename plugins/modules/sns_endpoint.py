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
  - The API cannot change the mentioned persons of a workchat endpoint. The module fails if they differ from those of
    the existing endpoint, and sends nothing.
  - The API document lacks the operations for O(state=absent), O(state=enabled), O(state=disabled), O(topics), and for a
    changed O(url) or O(at_all). If a server does not offer one of them, the module fails with the code V(UNSUPPORTED),
    and changes nothing.
  - Some servers have we-com endpoints instead of workchat endpoints, with the same members. The module finds out which
    of both a server has, once in a run, and uses them with O(type=workchat). It fails if the server has neither.
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
        second endpoint. With O(uuid) it acts without comparing, reports a change and warns. On such a service, use
        M(virtinfra.manager.api) once to create an endpoint.
      - When the service offers only the query for endpoints of all types, which does not return address and persons,
        these are not compared.
      - The remarks in O(at_person_list) are compared only when the service shows them. The module fails when one
        differs, because the API cannot change it.
options:
  state:
    description:
      - V(present) creates the endpoint if it does not exist, and updates it if it differs.
      - V(enabled) and V(disabled) also change whether the endpoint sends messages.
      - V(absent) removes the endpoint with its persons and subscriptions, which the result lists under
        RV(also_removed). The service does not check whether alarms use it.
    type: str
    choices: [present, absent, enabled, disabled]
    default: present
  type:
    description:
      - The type of the endpoint. Options of another type are refused.
      - V(any) selects an existing endpoint of any type, including types that the API cannot create. Of its properties,
        only O(name), O(description), O(platform), O(url) and O(at_all) can be set.
    type: str
    choices: [workchat, snmp, any]
    required: true
  uuid:
    description: The uuid of the endpoint. With O(uuid) and O(name), the endpoint is renamed.
    type: str
  name:
    description:
      - The name of the endpoint. It selects the endpoint when O(uuid) is not given. The module fails when several
        endpoints have it.
      - Required to create an endpoint.
    type: str
  description:
    description: The description of the endpoint. An empty string removes it.
    type: str
  url:
    description:
      - The chatbot's webhook URL of a workchat endpoint. Required to create one.
      - With O(type=any), the URL of an existing endpoint of the type we-com, workchat, feishu, teamchat, ding-talk,
        HTTP or microsoft-teams. For other types, the module refuses it.
      - Servers with the operation of the type, for example UpdateSNSWeComEndpoint, can change it, to one of at most 256
        characters. Without this operation, the module fails with the code V(UNSUPPORTED).
      - If the service does not show the URL of an endpoint, it is set each time, with a warning.
      - It contains a key, so results show its scheme and host only, and all output masks the rest.
    type: str
  at_all:
    description:
      - Whether messages of a workchat endpoint mention all members.
      - With O(type=any), the same of an existing endpoint of the type we-com, workchat, feishu, teamchat or ding-talk.
        It is compared and changed like O(url).
    type: bool
  at_person_user_ids:
    description: The user IDs that messages of a workchat endpoint mention, in any order.
    type: list
    elements: str
  at_person_list:
    description:
      - The persons that messages of a workchat endpoint mention, each user ID with a remark. User IDs and remarks are
        sent as strings.
      - Use it instead of O(at_person_user_ids) or together with it.
    type: dict
  platform:
    description:
      - The platform that the endpoint sends through, by name or uuid. It must have the type of the endpoint. Some
        servers need it to create an SNMP endpoint.
      - Servers can change it since version 4.10.0. The API document does not say so. If a server ignores the change,
        the module fails after the call.
    type: str
    aliases: [platform_uuid]
  topics:
    description:
      - All topics that the endpoint subscribes to, by name or uuid. It is subscribed to those that are missing, and
        unsubscribed from all others; an empty list removes all subscriptions. Without the option, subscriptions are
        neither read nor changed.
      - An endpoint without a subscription receives nothing.
    type: list
    elements: str
    aliases: [topic_uuids]
    version_added: 1.0.0
  delete_mode:
    description: How the endpoint is removed. Without it, servers use V(permissive), which checks before it removes.
    type: str
    choices: [permissive, enforcing]
    version_added: 1.0.0
seealso:
  - module: virtinfra.manager.sns_topic
  - module: virtinfra.manager.sns_endpoint_info
  - module: virtinfra.manager.sns_snmp_platform
  - module: virtinfra.manager.sns_snmp_test
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
  virtinfra.manager.sns_endpoint:
    type: snmp
    name: monitoring
    description: Traps for the monitoring
    platform: snmp-1

- name: Send the alarms of a topic by SNMP
  virtinfra.manager.sns_endpoint:
    type: snmp
    name: snmp-endpoint-1
    topics: [topic-2]
    state: enabled

- name: Stop the messages of an endpoint
  virtinfra.manager.sns_endpoint:
    type: any
    name: snmp-endpoint-1
    state: disabled

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
  virtinfra.manager.sns_endpoint:
    type: any
    name: teamchat-endpoint-1
    state: absent
"""

RETURN = r"""
endpoint:
  description:
    - The endpoint; null when it is absent. In check mode and with O(wait=false), the predicted one.
    - If the service shows the remarks of persons, C(at_person_list) maps user IDs to remarks, as O(at_person_list)
      does.
  returned: success
  type: dict
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
    platform_name:
      description: "The name of the platform, as the task gives it. Null for another platform."
      type: str
      sample: snmp-1
      returned: when O(platform) is a name
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
      description: "The remarks of the members whom messages mention, by their user IDs."
      type: dict
      sample: {user-1: on call}
      returned: for workchat endpoints
    topic_uuids:
      description: The uuids of the topics that the endpoint subscribes to.
      type: list
      elements: str
      sample: [a000000e000040008000000000000001]
      returned: when O(topics) is given
    topic_names:
      description: "The names of the topics, as the task gives them. Null for those that it does not name."
      type: list
      elements: str
      sample: [topic-1]
      returned: "when O(topics) is a name, and when O(topics) is given"
    tags:
      description: "The user tags, sorted."
      type: list
      elements: str
      sample: [production]
      returned: when O(tags) is given
also_removed:
  description: The persons and subscriptions that are removed with the endpoint.
  returned: with O(state=absent)
  type: list
  elements: dict
  contains:
    type: {description: V(person) or V(subscriber)., type: str, sample: subscriber}
    uuid: {description: "The uuid of the person, or of the topic.", type: str, sample: a000000e000040008000000000000001}
    name: {description: "The user ID of the person, or the name of the topic.", type: str, sample: topic-1}
job:
  description:
    - The handle of the job that is still running, for M(virtinfra.manager.job_wait).
    - In check mode, the handle of the job that would be started. It has no uuid, and its state is V(unknown).
  returned: when O(wait=false) starts a call, and in a failure when a job may still be running
  type: dict
  contains:
    uuid: {description: The uuid of the job., type: str, sample: "5d1f3f9a0e7b4f0d9b9a0c6f3a7f1b2c"}
    job_uuid:
      description: "The id that was sent with the call as X-Job-UUID, with which the service posts the result."
      type: str
      sample: "5d1f3f9a0e7b4f0d9b9a0c6f3a7f1b2c"
    location:
      description: The path at which the job is polled.
      type: str
      sample: /service/v1/api-jobs/5d1f3f9a0e7b4f0d9b9a0c6f3a7f1b2c
    operation: {description: The operation., type: str, sample: CreateSNSSnmpEndpoint}
    object:
      description: "The object of the call as messages name it, null if the call names none."
      type: str
      sample: host host-1
    state: {description: "The state of the job: V(running) or V(unknown).", type: str, sample: running}
"""

from ..module_utils._python import check_python

check_python()

from typing import Any

from ..module_utils._modules.process import run_as_module
from ..module_utils._engine.plan import ResourceSpec
from ..module_utils._modules.options import CREATE_OPTIONS, reference, references
from ..module_utils._modules.resource import resource_module
from ..module_utils._resources.notifications import (
    build_transitions,
    find_endpoint_of_type,
    find_workchat_endpoint,
    plan_workchat_endpoint,
)
from ..module_utils._resources.subscriptions import (
    ENDPOINT_GUARD,
    ROOM_FIELDS,
    SUBSCRIPTIONS,
    TOPICS,
    add_topics,
    plan_endpoint_of_any_type,
    plan_room_endpoint,
    plan_subscriptions,
)

SHARED: dict[str, Any] = {
    "result_key": "endpoint",
    "tagged_type": "SNSApplicationEndpointVO",
    "update": "UpdateSNSApplicationEndpoint",
    "delete": "DeleteSNSApplicationEndpoint",
    "transitions": build_transitions("ChangeSNSApplicationEndpointState"),
    "guards": {"absent": [ENDPOINT_GUARD]},
    "plan_options": (TOPICS,),
}
ENDPOINTS = {
    "workchat": ResourceSpec(
        record_type="SNSWorkchatEndpointInventory",
        find=add_topics(find_workchat_endpoint),
        create="CreateSNSWorkchatEndpoint",
        plan=plan_subscriptions(*SUBSCRIPTIONS, plan_room_endpoint("UpdateSNSWeComEndpoint", plan_workchat_endpoint)),
        **SHARED,
    ),
    "snmp": ResourceSpec(
        record_type="SNSApplicationEndpointInventory",
        find=add_topics(find_endpoint_of_type("snmp")),
        create="CreateSNSSnmpEndpoint",
        plan=plan_subscriptions(*SUBSCRIPTIONS),
        **SHARED,
    ),
    "any": ResourceSpec(
        record_type="SNSApplicationEndpointInventory",
        find=add_topics(find_endpoint_of_type("")),
        plan=plan_subscriptions(*SUBSCRIPTIONS, plan_endpoint_of_any_type),
        **{**SHARED, "plan_options": (TOPICS, *ROOM_FIELDS)},
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
    required_one_of=[("uuid", "name")],
)


def main() -> None:
    """Run as a module."""
    run_as_module(MODULE)


if __name__ == "__main__":
    main()
