# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: sns_teamchat_person
short_description: Manage persons that teamchat endpoints mention
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Adds a person that the messages of a teamchat endpoint mention, changes the user ID and the remark, and removes the
    person. The API cannot move a person to another endpoint.
  - "Replace the person on call - C(virtinfra.manager.sns_teamchat_person: {uuid: a000000f000040008000000000000001,
    user_id: user-7, remark: on call since Monday})"
  - The API document lacks the operations that add and remove a person. If a server does not offer them, the module
    fails with the code V(UNSUPPORTED), and changes nothing.
  - Some servers have feishu endpoints instead of teamchat endpoints, with the same persons. The module finds out which
    of both a server has, once in a run. It fails if the server has neither.
extends_documentation_fragment:
  - virtinfra.manager._connection
  - virtinfra.manager._wait
  - virtinfra.manager._wait.times
  - virtinfra.manager._tags
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
      - When the service cannot list these persons, O(uuid) is required. The module then sets the remark each time,
        reports a change and warns. It fails when O(user_id) is given, because the service refuses a user ID that the
        person already has. O(state=absent) needs O(uuid), O(endpoint) and O(user_id) then.
options:
  state:
    description:
      - V(present) adds the person to the endpoint if it does not exist, and updates it if it differs.
      - V(absent) removes the person.
    type: str
    choices: [present, absent]
    default: present
  uuid:
    description: The uuid of the person's record, as M(virtinfra.manager.sns_endpoint_info) returns it.
    type: str
  endpoint:
    description:
      - The teamchat endpoint that the person belongs to, by name or uuid. Required to add a person. You can omit it for
        an existing one if the service lists persons.
      - With O(user_id) it selects the person when O(uuid) is not given.
    type: str
    aliases: [endpoint_uuid]
  user_id:
    description:
      - The user ID. With O(uuid), the person gets this user ID. Servers add a person with at most 64 characters.
      - It selects the person when O(uuid) is not given. The module fails when persons of several endpoints have it and
        O(endpoint) is not given.
    type: str
  remark:
    description:
      - The remark. An empty string removes it.
      - You can omit it if the service shows the current value.
    type: str
seealso:
  - module: virtinfra.manager.sns_endpoint
  - module: virtinfra.manager.sns_endpoint_info
"""

EXAMPLES = r"""
- name: Replace the person on call
  virtinfra.manager.sns_teamchat_person:
    uuid: a000000f000040008000000000000001
    user_id: user-7
    remark: on call since Monday

- name: Change the remark of a person
  virtinfra.manager.sns_teamchat_person:
    endpoint: teamchat-endpoint-1
    user_id: user-2
    remark: on leave

- name: Mention another person
  virtinfra.manager.sns_teamchat_person:
    endpoint: teamchat-endpoint-1
    user_id: user-9
    remark: deputy

- name: Mention a person no longer
  virtinfra.manager.sns_teamchat_person:
    endpoint: teamchat-endpoint-1
    user_id: user-2
    state: absent
"""

RETURN = r"""
person:
  description:
    - The person; null when it is absent. In check mode and with O(wait=false), the predicted one.
    - R(Fields of results, ansible_collections.virtinfra.manager.docsite.guide_records) describes the fields.
  returned: success
  type: dict
  sample: >-
    {uuid: a000000f000040008000000000000001, user_id: user-1, endpoint_uuid: a000000d000040008000000000000002,
    endpoint_name: snmp-endpoint-1, create_date: 'Jan 6, 2024 4:52:16 AM', last_op_date: 'Jan 6, 2024 4:52:16 AM',
    remark: on call}
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
from ..module_utils._modules.options import CREATE_OPTIONS, reference
from ..module_utils._modules.resource import resource_module
from ..module_utils._resources.notifications import find_at_signs, find_person, find_person_refusal, plan_person

PERSON = ResourceSpec(
    record_type="SNSTeamchatAtPersonInventory",
    result_key="person",
    find=find_person,
    keys=("uuid", "userId"),
    create="AddSNSFeiShuAtPerson",
    update="UpdateAtPersonOfAtTeamchatEndpoint",
    delete="RemoveSNSFeiShuAtPerson",
    plan=plan_person,
    find_refusal=find_person_refusal,
)
MODULE = resource_module(
    PERSON,
    options={
        "state": {"type": "str", "default": "present", "choices": ["present", "absent"]},
        "uuid": {"type": "str"},
        "endpoint": reference("endpointUuid"),
        "user_id": {"type": "str"},
        "remark": {"type": "str"},
        **CREATE_OPTIONS,
    },
    required_one_of=[("uuid", "user_id")],
    selecting_options=("endpoint",),
    find_mistakes=find_at_signs,
)


def main() -> None:
    """Run as a module."""
    run_as_module(MODULE)


if __name__ == "__main__":
    main()
