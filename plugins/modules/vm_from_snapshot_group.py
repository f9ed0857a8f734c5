# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: vm_from_snapshot_group
short_description: Create machines from volume snapshot groups
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Creates a virtual machine from a group of volume snapshots, once; it is found again by its name.
  - A VM in the state V(Destroyed) or V(Expunging) keeps its name until the service removes its record. It does not
    count; the VM is created again.
  - The API does not change machines. When a machine with the name is there, and its description, size, offering, type,
    zone or default network is not what the options say, the module fails. Where it runs is not compared.
extends_documentation_fragment:
  - virtinfra.manager._connection
  - virtinfra.manager._wait
  - virtinfra.manager._wait.times
  - virtinfra.manager._tags
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
      - When the service does not list machines and there is no O(api_token) to read them by a cursor, the module fails,
        since it might make a machine a second time.
options:
  state:
    description: The machine is created when there is none with the name.
    type: str
    choices: [present]
    default: present
  uuid:
    description: The machine with this uuid, to pick one where several have the name.
    type: str
  name:
    description: The name of the machine. The module fails when several have it. Required to create one.
    type: str
  volume_snapshot_group_uuid:
    description: The group of snapshots to create the machine from. Required to create one.
    type: str
  description:
    description: A description.
    type: str
  instance_offering_uuid:
    description: The offering that says how large the machine is.
    type: str
  cpu_num:
    description: The number of CPUs.
    type: int
  memory_size:
    description: The memory in bytes.
    type: int
  reserved_memory_size:
    description: The memory that is reserved for the machine, in bytes.
    type: int
  l3_network_uuids:
    description: The networks that the machine gets a NIC on.
    type: list
    elements: str
  default_l3_network_uuid:
    description: The network of the default route. Needed with several O(l3_network_uuids).
    type: str
  vm_nic_params:
    description: Details of the NICs in the service's own form, as a list or a mapping, or as a JSON text.
    type: json
  type:
    description: What kind of machine it is.
    type: str
    choices: [UserVm, ApplianceVm]
  zone_uuid:
    description: The zone to create the machine in.
    type: str
  cluster_uuid:
    description: The cluster to create the machine in.
    type: str
  host_uuid:
    description: The host to create the machine on.
    type: str
  primary_storage_uuid_for_root_volume:
    description: The primary storage of the root volume.
    type: str
  strategy:
    description: Whether the machine is started.
    type: str
    choices: [InstantStart, CreateStopped]
  root_volume_system_tags:
    description: System tags of the root volume.
    type: list
    elements: str
  data_volume_system_tags:
    description: System tags of the data volumes, by the uuids of their snapshots.
    type: dict
  reset_tpm:
    description: Whether to reset the state of the TPM.
    type: bool
  volume_snapshot_encryptions:
    description: For each snapshot, by its uuid, whether the volume is encrypted, in the service's own form.
    type: list
    elements: dict
  vm_encryption:
    description: Whether the machine is encrypted.
    type: bool
seealso:
  - module: virtinfra.manager.vm_info
"""

EXAMPLES = r"""
- name: Bring a machine back from its snapshots
  virtinfra.manager.vm_from_snapshot_group:
    name: vm-restored
    volume_snapshot_group_uuid: a000000b000040008000000000000001
    l3_network_uuids:
      - a0000005000040008000000000000001
    strategy: CreateStopped
"""

RETURN = r"""
vm:
  description: The machine, in check mode as it would be.
  returned: success
  type: dict
  sample:
    uuid: a0000004000040008000000000000007
    name: vm-restored
    state: Stopped
job:
  description: The handle of a call that is still running, for M(virtinfra.manager.job_wait).
  returned: when O(wait=false) started a call, and when the time was up
  type: dict
  sample: {uuid: 5d1f3f9a0e7b4f0d9b9a0c6f3a7f1b2c, operation: CreateVmInstanceFromVolumeSnapshotGroup, state: running}
"""

from ansible_collections.virtinfra.manager.plugins.module_utils._finders import (
    exists,
    find_by_cursor,
    find_by_query,
    first_readable,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._options import CREATE_OPTIONS
from ansible_collections.virtinfra.manager.plugins.module_utils._planner import PlannedCall, Resource, default_plan
from ansible_collections.virtinfra.manager.plugins.module_utils._reconciler import resource_module
from ansible_collections.virtinfra.manager.plugins.module_utils._records import Record

PLACEMENT = ("clusterUuid", "hostUuid")


def plan_create_only(resource: Resource, state: str, desired: Record, current: Record | None) -> list[PlannedCall]:
    """Plan without comparing where the machine was created: it may have moved since."""
    compared = {name: value for name, value in desired.items() if current is None or name not in PLACEMENT}
    return default_plan(resource, state, compared, current)


VM = Resource(
    record_type="VmInstanceInventory",
    result_key="vm",
    find=first_readable(
        find_by_query("QueryVmInstance", "uuid", "name", among=exists),
        find_by_cursor("vm", "uuid", "name", among=exists),
    ),
    create="CreateVmInstanceFromVolumeSnapshotGroup",
    plan=plan_create_only,
)
MODULE = resource_module(
    VM,
    options={
        "state": {"type": "str", "default": "present", "choices": ["present"]},
        "uuid": {"type": "str"},
        "name": {"type": "str"},
        "volume_snapshot_group_uuid": {"type": "str"},
        "description": {"type": "str"},
        "instance_offering_uuid": {"type": "str"},
        "cpu_num": {"type": "int"},
        "memory_size": {"type": "int"},
        "reserved_memory_size": {"type": "int"},
        "l3_network_uuids": {"type": "list", "elements": "str"},
        "default_l3_network_uuid": {"type": "str"},
        "vm_nic_params": {"type": "json"},
        "type": {"type": "str", "choices": ["UserVm", "ApplianceVm"]},
        "zone_uuid": {"type": "str"},
        "cluster_uuid": {"type": "str"},
        "host_uuid": {"type": "str"},
        "primary_storage_uuid_for_root_volume": {"type": "str"},
        "strategy": {"type": "str", "choices": ["InstantStart", "CreateStopped"]},
        "root_volume_system_tags": {"type": "list", "elements": "str"},
        "data_volume_system_tags": {"type": "dict"},
        "reset_tpm": {"type": "bool"},
        "volume_snapshot_encryptions": {"type": "list", "elements": "dict"},
        "vm_encryption": {"type": "bool"},
        **CREATE_OPTIONS,
    },
    required_one_of=[("uuid", "name")],
)


def main() -> None:
    """Run as a module."""
    MODULE.run_as_module()


if __name__ == "__main__":
    main()
