# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: vm_nic
short_description: Manage NICs of virtual machines
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Attaches networks to virtual machines, moves their NICs to other networks and addresses, and enables and disables
    them.
  - The module finds a NIC by O(uuid), or by O(vm), O(l3_network) and, if given, O(static_ip) or
    O(custom_mac). Two tasks with different addresses on one network attach two NICs. To change the address or the
    network of a NIC, give its O(uuid).
  - The API cannot remove NICs, and cannot change their MAC address or driver. The module fails if one of these differs
    from the existing NIC, and sends nothing.
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
      - When the service lists neither VMs nor NICs and there is no O(api_token) to read VMs by a cursor, the module
        fails unless O(uuid) is given, because it could attach a second NIC. With O(uuid) it acts without comparing,
        reports a change and warns.
options:
  state:
    description:
      - V(present) attaches the network when the VM has no such NIC on it, and leaves the state of the NIC alone when it
        has one.
      - V(enabled) and V(disabled) do so too, and bring the NIC to that state.
    type: str
    choices: [present, enabled, disabled]
    default: present
  uuid:
    description:
      - The NIC with this uuid. With O(l3_network) it is moved to that network, with O(static_ip) to that address.
    type: str
  vm:
    description:
      - The VM. With O(l3_network) it finds the NIC when O(uuid) is not given. Without O(static_ip) and
        O(custom_mac) the module fails when the VM has several NICs on the network.
      - A VM in the state V(Destroyed) or V(Expunging) is treated as not found.
    type: str
    aliases: [vm_instance_uuid]
  l3_network:
    description: The network to which the NIC is attached.
    type: str
    aliases: [l3_network_uuid]
  static_ip:
    description:
      - The IP address of the NIC. Without O(uuid), it selects the NIC. If the VM has no NIC with this address on the
        network, a NIC is attached, even if a NIC with another address exists.
      - The module fails while a NIC on the network shows no IP address, because it may be the one to select.
      - With O(uuid), the address of the NIC is changed if it differs.
    type: str
  custom_mac:
    description:
      - The MAC address of the NIC. The API cannot change it.
      - Without O(uuid), it selects the NIC, and a NIC with this address is attached if the VM has none. If O(static_ip)
        is given too and a NIC has only one of the two, the module fails instead of attaching another NIC.
    type: str
  driver_type:
    description:
      - The driver of the NIC, used when it is attached. The API cannot change it.
      - It is not compared if the service does not show the driver of the NIC.
    type: str
  vm_nic_params:
    description:
      - Details of the NIC in the service's own format, sent when it is attached or moved. They are not compared.
      - Write it as a list or a mapping, or as a JSON text.
    type: json
seealso:
  - module: virtinfra.manager.vm_nic_qos
"""

EXAMPLES = r"""
- name: Make sure that a VM has an enabled NIC on a network
  virtinfra.manager.vm_nic:
    vm: vm-1
    l3_network: l3-2
    state: enabled

- name: Attach another NIC with a given address
  virtinfra.manager.vm_nic:
    vm: vm-1
    l3_network: l3-1
    static_ip: 10.101.0.42

- name: Change the address of a NIC
  virtinfra.manager.vm_nic:
    uuid: a0000006000040008000000000000001
    static_ip: 10.101.0.43

- name: Move a NIC to another network
  virtinfra.manager.vm_nic:
    uuid: a0000006000040008000000000000002
    l3_network: l3-3

- name: Disable the NIC
  virtinfra.manager.vm_nic:
    uuid: a0000006000040008000000000000002
    state: disabled
"""

RETURN = r"""
nic:
  description: The NIC, in check mode as it would be.
  returned: success
  type: dict
  sample:
    uuid: a0000006000040008000000000000002
    vm_instance_uuid: a0000004000040008000000000000002
    l3_network_uuid: a0000005000040008000000000000003
    ip: 172.16.3.2
    mac: fa:00:00:00:00:02
    state: enable
vm:
  description:
    - The VM with all of its NICs.
    - Null if the service lists NICs but no VMs, and in check mode when the network would be attached.
  returned: success
  type: dict
  sample:
    uuid: a0000004000040008000000000000002
    name: vm-2
job:
  description: The handle of the job that is still running, for M(virtinfra.manager.job_wait).
  returned: when O(wait=false) started a call, and after a timeout
  type: dict
  sample: {uuid: 5d1f3f9a0e7b4f0d9b9a0c6f3a7f1b2c, operation: AttachL3NetworkToVm, state: running}
"""

from dataclasses import replace

from ansible_collections.virtinfra.manager.plugins.module_utils._errors import InvalidOptions
from ansible_collections.virtinfra.manager.plugins.module_utils._finders import find_vm_nic, shows_ip_address
from ansible_collections.virtinfra.manager.plugins.module_utils._options import reference
from ansible_collections.virtinfra.manager.plugins.module_utils._planner import (
    PlannedCall,
    Resource,
    StateTransition,
    default_plan,
    drift,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._reconciler import resource_module
from ansible_collections.virtinfra.manager.plugins.module_utils._records import (
    Record,
    canonical_addresses,
    with_all_fields,
)

ADDRESS = ("ip", "netmask", "gateway", "usedIps")


def plan_nic(resource: Resource, state: str, desired: Record, current: Record | None) -> list[PlannedCall]:
    """Return the plan. The service chooses the address of a NIC that is moved, and the VM is not predicted."""
    desired, current = canonical_addresses(desired), current and canonical_addresses(current)
    if current:
        equal = {"ip": shows_ip_address(current, desired.get("ip")), "driverType": current.get("driverType") is None}
        desired = {name: value for name, value in desired.items() if not equal.get(name)}
    if current and (changes := drift(resource, desired, current)):
        if "ip" in changes and "uuid" not in desired:
            raise InvalidOptions(f"NIC {current['uuid']} has the address {current['ip']}. Give uuid to change it.")
        current = {**current, **dict.fromkeys(ADDRESS)}
    steps = default_plan(resource, state, desired, current)
    return [replace(step, expected={**(step.expected or {}), "vm": None}) for step in steps]


def with_vm(nic: Record | None) -> Record:
    """Return the NIC and its VM as two members of the result."""
    own = nic and {name: value for name, value in nic.items() if name != "vm"}
    vm = (nic or {}).get("vm")
    return {"nic": own, "vm": vm and with_all_fields("VmInstanceInventory", vm)}


NIC = Resource(
    record_type="VmNicInventory",
    result_key="nic",
    find=find_vm_nic,
    create="AttachL3NetworkToVm",
    update="ChangeVmNicNetwork",
    transitions={
        "enabled": StateTransition("ChangeVmNicState", "state", ("enable",), {"state": "enable"}),
        "disabled": StateTransition("ChangeVmNicState", "state", ("disable",), {"state": "disable"}),
    },
    plan=plan_nic,
    format_result=with_vm,
)
MODULE = resource_module(
    NIC,
    options={
        "state": {"type": "str", "default": "present", "choices": ["present", *NIC.transitions]},
        "uuid": {"type": "str"},
        "vm": reference("vm_instance_uuid"),
        "l3_network": reference("l3_network_uuid"),
        "static_ip": {"type": "str"},
        "custom_mac": {"type": "str"},
        "driver_type": {"type": "str"},
        "vm_nic_params": {"type": "json"},
    },
    required_one_of=[("uuid", "vm")],
    required_by={"vm": ["l3_network"]},
)


def main() -> None:
    """Run as a module."""
    MODULE.run_as_module()


if __name__ == "__main__":
    main()
