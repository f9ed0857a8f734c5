# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: sns_snmp_platform
short_description: Manage SNMP platforms
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Creates SNMP platforms, to which SNMP endpoints send their traps, changes their address, port, name and description,
    enables, disables and removes them.
  - "Send traps to another receiver - C(virtinfra.manager.sns_snmp_platform: {name: snmp-1, snmp_address: 192.0.2.50,
    snmp_port: 1162})"
  - The API document lacks the operations that create, enable, disable and remove a platform. If a server does not offer
    one of them, the module fails with the code V(UNSUPPORTED), and changes nothing.
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
      - When the service cannot list platforms, or lists them without address and port, the module sets address and port
        each time, reports a change and warns. When it cannot list them, the module cannot find a platform by O(name),
        and fails unless O(uuid) is given.
options:
  state:
    description:
      - V(present) creates the platform if it does not exist, and updates it if it differs.
      - V(enabled) and V(disabled) also change whether the platform is used.
      - V(absent) removes the platform, and with it all of its endpoints. If it has any, O(force) is required.
    type: str
    choices: [present, absent, enabled, disabled]
    default: present
  uuid:
    description: The uuid of the platform. With O(uuid) and O(name), the platform is renamed.
    type: str
  snmp_address:
    description:
      - The address that traps are sent to. Required to create a platform. No two platforms can have the same address
        and port.
      - The API requires it for each update. You can omit it if the service shows the current value.
    type: str
  snmp_port:
    description:
      - The port that traps are sent to. Required to create a platform.
      - The API requires it for each update. You can omit it if the service shows the current value.
    type: int
  name:
    description:
      - The name of the platform. It selects the platform when O(uuid) is not given. The module fails when several
        platforms have it.
      - Required to create a platform.
    type: str
  description:
    description: The description of the platform. An empty string removes it.
    type: str
  force:
    description: Whether to remove a platform with O(state=absent) although it has endpoints, which are removed too.
    type: bool
    default: false
    version_added: 1.0.0
  delete_mode:
    description: How the platform is removed. Its endpoints are removed with each value.
    type: str
    choices: [permissive, enforcing]
    version_added: 1.0.0
seealso:
  - module: virtinfra.manager.sns_endpoint
  - module: virtinfra.manager.sns_snmp_test
"""

EXAMPLES = r"""
- name: Send traps to another receiver
  virtinfra.manager.sns_snmp_platform:
    name: snmp-1
    snmp_address: 192.0.2.50
    snmp_port: 1162

- name: Create a platform
  virtinfra.manager.sns_snmp_platform:
    name: night-shift
    snmp_address: 192.0.2.51
    snmp_port: 162

- name: Stop its traps
  virtinfra.manager.sns_snmp_platform:
    name: snmp-1
    state: disabled

- name: Remove a platform and its endpoints
  virtinfra.manager.sns_snmp_platform:
    name: snmp-1
    state: absent
    force: true
"""

RETURN = r"""
platform:
  description:
    - The platform; null when it is absent. In check mode and with O(wait=false), the predicted one.
    - R(Fields of results, ansible_collections.virtinfra.manager.docsite.guide_records) describes the fields. C(tags) is
      returned when O(tags) is given.
  returned: success
  type: dict
  sample: >-
    {uuid: a000000c000040008000000000000003, name: workchat-1, type: WorkChat, description: traps of the data centre,
    create_date: 'Jan 6, 2024 4:52:16 AM', last_op_date: 'Jan 6, 2024 4:52:16 AM', state: Enabled,
    snmp_address: 192.0.2.50, snmp_port: 1162, tags: [production]}
also_removed:
  description: The endpoints that are removed with the platform.
  returned: with O(state=absent)
  type: list
  elements: dict
  contains:
    type: {description: The type V(endpoint)., type: str, sample: endpoint}
    uuid: {description: The uuid of the endpoint., type: str, sample: a000000d000040008000000000000001}
    name: {description: The name of the endpoint., type: str, sample: snmp-endpoint-1}
remaining_endpoints:
  description:
    - The endpoints of the platform that exist after its removal, because the service could not remove them, and does
      not report this. A warning names them, too.
  returned: success and O(state=absent)
  type: list
  elements: dict
  contains:
    uuid: {description: The uuid of the endpoint., type: str, sample: a000000d000040008000000000000001}
    name: {description: The name of the endpoint., type: str, sample: snmp-endpoint-1}
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
from ..module_utils._client.lists import combine_finders
from ..module_utils._engine.spec import ResourceSpec
from ..module_utils._modules.options import CREATE_OPTIONS
from ..module_utils._modules.resource import resource_module
from ..module_utils._resources.finders import find_by_query
from ..module_utils._resources.notifications import (
    build_transitions,
    find_platform_refusal,
    is_snmp,
    plan_platform,
)
from ..module_utils._resources.subscriptions import PLATFORM_GUARD

PLATFORM = ResourceSpec(
    record_type="SNSApplicationPlatformInventory",
    result_key="platform",
    tagged_type="SNSApplicationPlatformVO",
    find=combine_finders(
        find_by_query("QuerySNSSnmpPlatform", "uuid", "name"),
        find_by_query("QuerySNSApplicationPlatform", "uuid", "name", among=is_snmp),
    ),
    create="CreateSNSSnmpPlatform",
    update="UpdateSNSSnmpPlatform",
    delete="DeleteSNSApplicationPlatform",
    transitions=build_transitions("ChangeSNSApplicationPlatformState"),
    guards={"absent": [PLATFORM_GUARD]},
    find_refusal=find_platform_refusal,
    plan=plan_platform,
)
MODULE = resource_module(
    PLATFORM,
    options={
        "state": {"type": "str", "default": "present", "choices": ["present", "absent", "enabled", "disabled"]},
        "uuid": {"type": "str"},
        "snmp_address": {"type": "str"},
        "snmp_port": {"type": "int"},
        "name": {"type": "str"},
        "description": {"type": "str"},
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
