# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: vm_nic_qos
short_description: Manage the bandwidth limits of NICs
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Removes the bandwidth limit of a NIC of a virtual machine, in one direction, or sets the limits of both.
  - "Remove the limit of outgoing traffic of a NIC by its uuid - C(virtinfra.manager.vm_nic_qos: {uuid:
    a0000006000040008000000000000001, direction: out, state: absent})"
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
  diff_mode:
    support: full
  idempotent:
    support: partial
    details:
      - When the service does not offer the operation GetNicQos, the module cannot read the limits. It then removes the
        limit, or sets the limits, each time, reports a change, and warns.
options:
  state:
    description:
      - V(absent) removes the limit of one O(direction).
      - V(present) sets the limits O(outbound_bandwidth) and O(inbound_bandwidth). The API document lacks the operation.
        If a server does not offer it, the module fails with the code V(UNSUPPORTED), and changes nothing.
    type: str
    choices: [absent, present]
    default: absent
  uuid:
    description: The uuid of the NIC. Give either this option, or O(vm) and O(l3_network).
    type: str
  vm:
    description: The VM, by name or uuid. Together with O(l3_network) it selects the NIC.
    type: str
    aliases: [vm_instance_uuid]
  l3_network:
    description: The network of the NIC, by name or uuid. The module fails if the VM has several NICs on it.
    type: str
    aliases: [l3_network_uuid]
  direction:
    description: The direction of the traffic, seen from the VM. Required with O(state=absent).
    type: str
    choices: [in, out]
  outbound_bandwidth:
    description:
      - The limit of the traffic from the VM, with O(state=present). Services do not state the unit.
      - From 8192 to 32212254720. Without it, the limit of this direction remains as it is.
    type: int
    version_added: 1.0.0
  inbound_bandwidth:
    description:
      - The limit of the traffic to the VM, with O(state=present). Services do not state the unit.
      - From 8192 to 32212254720. Without it, the limit of this direction remains as it is.
    type: int
    version_added: 1.0.0
seealso:
  - module: virtinfra.manager.vm_nic
  - module: virtinfra.manager.vm
"""

EXAMPLES = r"""
- name: Remove the limit of outgoing traffic of a NIC by its uuid
  virtinfra.manager.vm_nic_qos:
    uuid: a0000006000040008000000000000001
    direction: out
    state: absent

- name: Limit the traffic in both directions
  virtinfra.manager.vm_nic_qos:
    vm: vm-1
    l3_network: l3-1
    outbound_bandwidth: 104857600
    inbound_bandwidth: 104857600
    state: present

- name: Remove the limit of incoming traffic
  virtinfra.manager.vm_nic_qos:
    vm: vm-1
    l3_network: l3-1
    direction: in
    state: absent
"""

RETURN = r"""
limit:
  description:
    - With O(state=absent), the limit in this direction after the task. It is always null.
    - With O(state=present), the limits of both directions. In check mode and with O(wait=false), the predicted ones.
  returned: success
  type: dict
  contains:
    uuid: {description: The uuid of the NIC., type: str, sample: a0000006000040008000000000000001}
    outbound_bandwidth:
      description: The limit of the traffic from the VM, null without a limit.
      type: int
      sample: 104857600
    inbound_bandwidth:
      description: The limit of the traffic to the VM, null without a limit.
      type: int
      sample: 104857600
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

from collections.abc import Mapping
from typing import Any

from ..module_utils._modules.process import run_as_module
from ..module_utils._engine.spec import ResourceSpec
from ..module_utils._modules.options import reference
from ..module_utils._modules.resource import resource_module
from ..module_utils._resources.nics import find_bandwidth_limit, find_bandwidth_limits, refuse_second_key

KEYS = ("uuid", "vmInstanceUuid", "l3NetworkUuid")
LIMITS = {
    "absent": ResourceSpec("NicBandwidthLimit", "limit", find_bandwidth_limit, delete="DeleteNicQos", keys=KEYS),
    "present": ResourceSpec("NicBandwidthLimits", "limit", find_bandwidth_limits, update="SetNicQos", keys=KEYS),
}
DIRECTIONS = {"outbound_bandwidth": "out", "inbound_bandwidth": "in"}


def list_directions(params: "Mapping[str, Any]") -> "list[str]":
    """Return the directions of which the options change the limit."""
    if params["state"] == "absent":
        return [params["direction"]]
    return [DIRECTIONS[name] for name in DIRECTIONS if params[name]]


MODULE = resource_module(
    LIMITS,
    options={
        "state": {"type": "str", "default": "absent", "choices": list(LIMITS)},
        "uuid": {"type": "str"},
        "vm": reference("vmInstanceUuid"),
        "l3_network": reference("l3NetworkUuid"),
        "direction": {"type": "str", "choices": ["in", "out"]},
        "outbound_bandwidth": {"type": "int"},
        "inbound_bandwidth": {"type": "int"},
    },
    by="state",
    find_mistakes=refuse_second_key,
    list_parts=list_directions,
    instead={"direction": "Remove direction, and give inbound_bandwidth for in, or outbound_bandwidth for out"},
    never_absent=("outbound_bandwidth", "inbound_bandwidth"),
    required_one_of=[("uuid", "vm"), ("uuid", "l3_network")],
    required_if=[
        ("state", "absent", ["direction"]),
        ("state", "present", ["outbound_bandwidth", "inbound_bandwidth"], True),
    ],
)


def main() -> None:
    """Run as a module."""
    run_as_module(MODULE)


if __name__ == "__main__":
    main()
