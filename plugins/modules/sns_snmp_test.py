# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: sns_snmp_test
short_description: Test the connection to an SNMP receiver
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Sends a trap from the service to the receiver of an SNMP platform or endpoint, and returns whether the receiver was
    reached.
  - "Check that traps arrive - C(virtinfra.manager.sns_snmp_test: {platform: snmp-1})"
extends_documentation_fragment:
  - virtinfra.manager._connection
  - virtinfra.manager._wait
  - virtinfra.manager._wait.times
  - virtinfra.manager._tags
  - virtinfra.manager._references
  - virtinfra.manager._attributes
  - virtinfra.manager._attributes.actiongroup_api
attributes:
  check_mode:
    support: full
    details:
      - Nothing is sent, and RV(connected) is null.
  diff_mode:
    support: N/A
    details:
      - This module does not change anything.
  idempotent:
    support: full
    details:
      - Each run sends a trap, but changes nothing.
options:
  platform:
    description: The SNMP platform to test, by name or uuid.
    type: str
    aliases: [platform_uuid]
  endpoint:
    description: The SNMP endpoint to test, by name or uuid.
    type: str
    aliases: [endpoint_uuid]
  fail_on_error:
    description: Whether the module fails when the receiver was not reached.
    type: bool
    default: true
seealso:
  - module: virtinfra.manager.sns_snmp_platform
  - module: virtinfra.manager.sns_endpoint
"""

EXAMPLES = r"""
- name: Check that traps arrive
  virtinfra.manager.sns_snmp_test:
    platform: snmp-1
"""

RETURN = r"""
connected:
  description: Whether the receiver was reached. Null in check mode and with O(wait=false).
  returned: success, and when the receiver was not reached
  type: bool
  sample: true
webhook_resp:
  description:
    - The response of the receiver, with the API's own names.
    - Null when the service does not return it, in check mode and with O(wait=false).
  returned: success, and when the receiver was not reached
  type: dict
  sample: {statusCode: 200}
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

import json

from ..module_utils._modules.process import run_as_module
from ..module_utils._api.records import Record
from ..module_utils._client.client import Client
from ..module_utils._engine.refusals import require_known_references
from ..module_utils._modules.act import action_module
from ..module_utils._modules.options import reference
from ..module_utils._resources.notifications import find_receiver_refusal

TEST = "SNSSnmpTestConnection"


def find_connection_error(result: Record) -> "str | None":
    """Return the message that the receiver was not reached; None if it was reached or fail_on_error is false."""
    if result.get("connected") or not result["failOnError"]:
        return None
    response = result.get("webhookResp")
    reason = f"it answered {json.dumps(response)}" if response else "no reason given"
    return f"the service could not reach the SNMP receiver: {reason}. Check its address and port."


def require_receiver(client: Client, params: Record) -> None:
    """Raise NotFound if the platform or the endpoint does not exist, InvalidOptions if it is of another type."""
    require_known_references(client, TEST, params, find_receiver_refusal)


MODULE = action_module(
    TEST,
    options={
        "platform": reference("platformUuid"),
        "endpoint": reference("endpointUuid"),
        "fail_on_error": {"type": "bool", "default": True},
    },
    changes=False,
    find_error=find_connection_error,
    require=require_receiver,
    required_one_of=[("platform", "endpoint")],
)


def main() -> None:
    """Run as a module."""
    run_as_module(MODULE)


if __name__ == "__main__":
    main()
