# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: sns_topic_subscriber_info
short_description: List subscribers of notification topics
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Lists which endpoints are subscribed to which notification topics. The list is complete, or the module fails.
  - "List the subscribers of a topic - C(virtinfra.manager.sns_topic_subscriber_info: {topic: topic-1})"
extends_documentation_fragment:
  - virtinfra.manager._connection
  - virtinfra.manager._listing
  - virtinfra.manager._query_fields.subscriber
  - virtinfra.manager._references
  - virtinfra.manager._attributes
  - virtinfra.manager._attributes.facts
  - virtinfra.manager._attributes.actiongroup_api
options:
  topic:
    description: Return only subscribers of this topic, by name or uuid.
    type: str
    aliases: [topic_uuid]
  endpoint:
    description: Return only subscriptions of this endpoint, by name or uuid.
    type: str
    aliases: [endpoint_uuid]
seealso:
  - module: virtinfra.manager.sns_topic
  - module: virtinfra.manager.sns_endpoint
"""

EXAMPLES = r"""
- name: List the subscribers of a topic
  virtinfra.manager.sns_topic_subscriber_info:
    topic: topic-1
"""

RETURN = r"""
subscribers:
  description:
    - The subscribers. They have no uuid of their own.
    - R(Fields of results, ansible_collections.virtinfra.manager.docsite.guide_records) describes the fields.
  returned: success
  type: list
  elements: dict
  sample:
    [{topic_uuid: a000000e000040008000000000000001, topic_name: topic-1,
      endpoint_uuid: a000000d000040008000000000000001, endpoint_name: snmp-endpoint-1,
      create_date: 'Jan 6, 2024 4:52:16 AM', last_op_date: 'Jan 6, 2024 4:52:16 AM'}]
total:
  description: The number of matching subscribers, including those beyond O(limit).
  returned: success
  type: int
  sample: 2
"""

from ..module_utils._python import check_python

check_python()

from ..module_utils._modules.process import run_as_module
from ..module_utils._modules.options import reference
from ..module_utils._modules.read import list_module

MODULE = list_module(
    "QuerySNSTopicSubscriber",
    returns="subscribers",
    equality_options={"topic": reference("topicUuid"), "endpoint": reference("endpointUuid")},
)


def main() -> None:
    """Run as a module."""
    run_as_module(MODULE)


if __name__ == "__main__":
    main()
