# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: vm_nic_qos
short_description: Remove the bandwidth limits of NICs
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Removes the bandwidth limit of a NIC of a virtual machine, in one direction.
extends_documentation_fragment:
  - virtinfra.manager._connection
  - virtinfra.manager._wait
  - virtinfra.manager._wait.times
  - virtinfra.manager._tags
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
      - When the service does not offer the operation GetNicQos, the module cannot read the limits. It then removes the
        limit each time, reports a change, and warns.
options:
  state:
    description: V(absent) removes the limit.
    type: str
    choices: [absent]
    default: absent
  uuid:
    description: The uuid of the NIC.
    type: str
    required: true
  direction:
    description: The direction of the traffic, seen from the VM.
    type: str
    choices: [in, out]
    required: true
seealso:
  - module: virtinfra.manager.vm_nic
"""

EXAMPLES = r"""
- name: Remove the limit of outgoing traffic
  virtinfra.manager.vm_nic_qos:
    uuid: a0000006000040008000000000000001
    direction: out
    state: absent
"""

RETURN = r"""
limit:
  description: The limit in this direction after the task. It is always null.
  returned: success
  type: dict
  sample: null
job:
  description:
    - The handle of the job that is still running, for M(virtinfra.manager.job_wait).
    - In check mode, the handle of the job that would be started. It has no uuid, and its state is V(unknown).
  returned: when O(wait=false) starts a call, and in a failure when a job may still be running
  type: dict
  contains:
    uuid: {description: The uuid of the job., type: str, sample: "5d1f3f9a0e7b4f0d9b9a0c6f3a7f1b2c"}
    location:
      description: The path at which the job is polled.
      type: str
      sample: /service/v1/api-jobs/5d1f3f9a0e7b4f0d9b9a0c6f3a7f1b2c
    operation: {description: The operation., type: str, sample: DeleteNicQos}
    state: {description: "The state of the job: V(running) or V(unknown).", type: str, sample: running}
"""

from ..module_utils._engine.plan import ResourceSpec
from ..module_utils._modules.process import run_as_module
from ..module_utils._modules.resource import resource_module
from ..module_utils._resources.vms import find_bandwidth_limit

MODULE = resource_module(
    ResourceSpec("NicBandwidthLimit", "limit", find_bandwidth_limit, delete="DeleteNicQos", keys=("uuid",)),
    options={
        "state": {"type": "str", "default": "absent", "choices": ["absent"]},
        "uuid": {"type": "str", "required": True},
        "direction": {"type": "str", "required": True, "choices": ["in", "out"]},
    },
)


def main() -> None:
    """Run as a module."""
    run_as_module(MODULE)


if __name__ == "__main__":
    main()
