# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: sns_topic
short_description: Manage notification topics
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Creates, changes, enables, disables and removes topics, to which endpoints subscribe. An endpoint without a
    subscription receives nothing, see the option O(virtinfra.manager.sns_endpoint#module:topics) of
    M(virtinfra.manager.sns_endpoint).
  - "Create a topic - C(virtinfra.manager.sns_topic: {name: storage-alarms, description: Alarms of primary storages,
    locale: en_US})"
  - The API document lacks all of these operations. If a server does not offer one, the module fails with the code
    V(UNSUPPORTED), and changes nothing.
extends_documentation_fragment:
  - virtinfra.manager._connection
  - virtinfra.manager._wait
  - virtinfra.manager._wait.times
  - virtinfra.manager._tags.object
  - virtinfra.manager._creation
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
      - When the service cannot list topics, the module fails unless O(uuid) is given. With O(uuid) it acts without
        comparing, reports a change and warns.
options:
  state:
    description:
      - V(present) creates the topic if it does not exist, and updates it if it differs.
      - V(enabled) and V(disabled) also change whether the topic passes messages on.
      - V(absent) removes the topic with its subscriptions. If it has any, O(force) is required.
    type: str
    choices: [present, absent, enabled, disabled]
    default: present
  uuid:
    description: The uuid of the topic. With O(uuid) and O(name), the topic is renamed.
    type: str
  name:
    description:
      - The name of the topic. It selects the topic when O(uuid) is not given. The module fails when several topics have
        it.
      - Required to create a topic.
    type: str
  description:
    description: The description of the topic. An empty string removes it.
    type: str
  locale:
    description: The language of the messages.
    type: str
    choices: [zh_CN, en_US]
  force:
    description: Whether to remove a topic with O(state=absent) although endpoints subscribe to it.
    type: bool
    default: false
  delete_mode:
    description: How the topic is removed. Without it, servers use V(permissive), which checks before it removes.
    type: str
    choices: [permissive, enforcing]
seealso:
  - module: virtinfra.manager.sns_endpoint
  - module: virtinfra.manager.sns_topic_subscriber_info
"""

EXAMPLES = r"""
- name: Create a topic
  virtinfra.manager.sns_topic:
    name: storage-alarms
    description: Alarms of primary storages
    locale: en_US

- name: Stop its messages
  virtinfra.manager.sns_topic:
    name: topic-1
    state: disabled

- name: Remove a topic to which endpoints subscribe
  virtinfra.manager.sns_topic:
    name: topic-1
    state: absent
    force: true
"""

RETURN = r"""
topic:
  description: The topic; null when it is absent. In check mode and with O(wait=false), the predicted one.
  returned: success
  type: dict
  contains:
    uuid: {description: The uuid of the topic., type: str, sample: a000000e000040008000000000000001}
    name: {description: The name of the topic. Names are not unique., type: str, sample: storage-alarms}
    description: {description: The description., type: str, sample: Alarms of primary storages}
    state: {description: Whether the topic passes messages on., type: str, sample: Enabled}
    locale: {description: The language of the messages., type: str, sample: en_US}
    create_date: {description: When the topic was created., type: str, sample: "Jan 6, 2024 4:52:16 AM"}
    last_op_date: {description: When the topic was last changed., type: str, sample: "Jan 6, 2024 4:52:16 AM"}
    tags:
      description: The user tags, sorted.
      type: list
      elements: str
      sample: [production]
      returned: when O(tags) is given
also_removed:
  description: The endpoints whose subscriptions are removed with the topic.
  returned: with O(state=absent)
  type: list
  elements: dict
  contains:
    type: {description: The type V(subscriber)., type: str, sample: subscriber}
    uuid: {description: The uuid of the endpoint., type: str, sample: a000000d000040008000000000000001}
    name: {description: The name of the endpoint., type: str, sample: operators}
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

from ..module_utils._modules.process import run_as_module
from ..module_utils._engine.spec import ResourceSpec
from ..module_utils._modules.options import CREATE_OPTIONS
from ..module_utils._modules.resource import resource_module
from ..module_utils._resources.finders import find_by_query
from ..module_utils._resources.notifications import build_transitions
from ..module_utils._resources.subscriptions import TOPIC_GUARD

TOPIC = ResourceSpec(
    record_type="SNSTopicInventory",
    result_key="topic",
    tagged_type="SNSTopicVO",
    find=find_by_query("QuerySNSTopic", "uuid", "name"),
    create="CreateSNSTopic",
    update="UpdateSNSTopic",
    delete="DeleteSNSTopic",
    transitions=build_transitions("ChangeSNSTopicState"),
    guards={"absent": [TOPIC_GUARD]},
)
MODULE = resource_module(
    TOPIC,
    options={
        "state": {"type": "str", "default": "present", "choices": ["present", "absent", "enabled", "disabled"]},
        "uuid": {"type": "str"},
        "name": {"type": "str"},
        "description": {"type": "str"},
        "locale": {"type": "str", "choices": ["zh_CN", "en_US"]},
        "force": {"type": "bool", "default": False},
        "delete_mode": {"type": "str", "choices": ["permissive", "enforcing"]},
        **CREATE_OPTIONS,
    },
    required_one_of=[("uuid", "name")],
)


def main() -> None:
    """Run as a module."""
    run_as_module(MODULE)


if __name__ == "__main__":
    main()
