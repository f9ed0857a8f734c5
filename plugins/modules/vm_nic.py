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
  - The API removes no NICs, and changes neither the MAC address nor the driver of one. The module fails when one of
    these is to be otherwise, and sends nothing.
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
      - When the service lists neither machines nor NICs and there is no O(api_token) to read machines by a cursor, the
        module fails unless O(uuid) is given, since it might attach a second NIC. With O(uuid) it acts without knowing
        the NIC, reports a change and warns.
options:
  state:
    description:
      - V(present) attaches the network when the machine has no NIC on it, and leaves the state of the NIC alone when it
        has.
      - V(enabled) and V(disabled) do so too, and bring the NIC to that state.
    type: str
    choices: [present, enabled, disabled]
    default: present
  uuid:
    description: The NIC with this uuid. With O(l3_network_uuid) it is moved to that network.
    type: str
  vm_instance_uuid:
    description: The machine. With O(l3_network_uuid) it finds the NIC when O(uuid) is not given.
    type: str
  l3_network_uuid:
    description: The network that the NIC is to be on.
    type: str
  static_ip:
    description:
      - The address that the NIC is to have. It is changed when it is another.
      - It chooses the NIC where the machine has several on the network.
    type: str
  custom_mac:
    description:
      - The MAC address for a NIC that is attached. The API does not change it.
      - It chooses the NIC where the machine has several on the network.
    type: str
  driver_type:
    description: The driver of a NIC that is attached. The API does not change it.
    type: str
  vm_nic_params:
    description:
      - Details of a NIC that is attached or moved, in the service's own form. It is not compared.
      - Write it as a list or a mapping, or as a JSON text.
    type: json
seealso:
  - module: virtinfra.manager.vm_nic_qos
"""

EXAMPLES = r"""
- name: Attach a network, or do nothing when it is attached
  virtinfra.manager.vm_nic:
    vm_instance_uuid: a0000004000040008000000000000001
    l3_network_uuid: a0000005000040008000000000000002
    state: enabled

- name: Move a NIC to another network
  virtinfra.manager.vm_nic:
    uuid: a0000006000040008000000000000002
    l3_network_uuid: a0000005000040008000000000000003

- name: Disable it
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
    - The machine with all of its NICs, as it is now.
    - Null where the service lists NICs but no machines, and in check mode when the network would be attached.
  returned: success
  type: dict
  sample:
    uuid: a0000004000040008000000000000002
    name: vm-2
job:
  description: The handle of a call that is still running, for M(virtinfra.manager.job_wait).
  returned: when O(wait=false) started a call, and when the time was up
  type: dict
  sample: {uuid: 5d1f3f9a0e7b4f0d9b9a0c6f3a7f1b2c, operation: AttachL3NetworkToVm, state: running}
"""

from dataclasses import replace

from ansible_collections.virtinfra.manager.plugins.module_utils._engine import (
    Move,
    Resource,
    Step,
    drift,
    usual_plan,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._manage import managed
from ansible_collections.virtinfra.manager.plugins.module_utils._readers import nic_of_vm
from ansible_collections.virtinfra.manager.plugins.module_utils._records import Record

ADDRESS = ("ip", "netmask", "gateway", "usedIps")


def nic_plan(resource: Resource, state: str, desired: Record, current: Record | None) -> list[Step]:
    """Plan; the address of a NIC that is moved is given anew, and what becomes of its machine is not foreseen."""
    wanted, here = in_small_letters(desired), current and in_small_letters(current)
    if here and drift(resource, wanted, here):
        here = {**here, **dict.fromkeys(ADDRESS)}
    steps = usual_plan(resource, state, wanted, here)
    return [replace(step, after={**(step.after or {}), "vm": None}) for step in steps]


def in_small_letters(nic: Record) -> Record:
    """Return a NIC whose addresses can be compared."""
    return {name: value.lower() if value and name in ("ip", "mac") else value for name, value in nic.items()}


def with_vm(nic: Record | None) -> Record:
    """Tell the NIC and its machine side by side."""
    own = nic and {name: value for name, value in nic.items() if name != "vm"}
    return {"nic": own, "vm": (nic or {}).get("vm")}


NIC = Resource(
    kind="VmNicInventory",
    returns="nic",
    read=nic_of_vm,
    create="AttachL3NetworkToVm",
    update="ChangeVmNicNetwork",
    moves={
        "enabled": Move("ChangeVmNicState", "state", ("enable",), {"state": "enable"}),
        "disabled": Move("ChangeVmNicState", "state", ("disable",), {"state": "disable"}),
    },
    rename={"vmNicUuid": "uuid", "destL3NetworkUuid": "l3NetworkUuid", "staticIp": "ip", "customMac": "mac"},
    how=("vmNicParams",),
    plan=nic_plan,
    tell=with_vm,
)
TASK = managed(
    NIC,
    options={
        "state": {"type": "str", "default": "present", "choices": ["present", *NIC.moves]},
        "uuid": {"type": "str"},
        "vm_instance_uuid": {"type": "str"},
        "l3_network_uuid": {"type": "str"},
        "static_ip": {"type": "str"},
        "custom_mac": {"type": "str"},
        "driver_type": {"type": "str"},
        "vm_nic_params": {"type": "json"},
    },
    required_one_of=[("uuid", "vm_instance_uuid")],
    required_by={"vm_instance_uuid": ["l3_network_uuid"]},
)


def main() -> None:
    """Run as a module."""
    TASK.run_as_module()


if __name__ == "__main__":
    main()
