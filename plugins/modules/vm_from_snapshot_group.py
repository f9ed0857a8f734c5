# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: vm_from_snapshot_group
short_description: Create VMs from volume snapshot groups
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Creates a virtual machine from a group of volume snapshots if no VM with this name exists.
  - A VM in the state V(Destroyed) or V(Expunging) is treated as not existing. Services keep its record and its name for
    some time.
  - The API cannot change VMs. The module fails if the description, size, offering, type, zone or default network of the
    existing VM differs from the options. The cluster and the host of the VM are not compared.
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
      - When the service does not list machines and there is no O(api_token) to read them by a cursor, the module fails,
        since it might make a machine a second time.
options:
  state:
    description: V(present) creates the VM if it does not exist.
    type: str
    choices: [present]
    default: present
  uuid:
    description: The uuid of the VM, to select one of several VMs with the same name.
    type: str
  name:
    description: The name of the VM. The module fails when several VMs have it. Required to create a VM.
    type: str
  snapshot_group:
    description: The snapshot group to create the VM from. Required to create a VM.
    type: str
    aliases: [volume_snapshot_group_uuid]
  description:
    description: The description of the VM.
    type: str
  instance_offering:
    description: The instance offering, which sets the size of the VM.
    type: str
    aliases: [instance_offering_uuid]
  cpu_num:
    description: The number of CPUs.
    type: int
  memory_size:
    description: The memory of the VM, in bytes.
    type: int
  reserved_memory_size:
    description: The memory that is reserved for the VM, in bytes.
    type: int
  l3_networks:
    description: The networks on which the VM gets a NIC.
    type: list
    elements: str
    aliases: [l3_network_uuids]
  default_l3_network:
    description: The network of the default route. Required with several O(l3_networks).
    type: str
    aliases: [default_l3_network_uuid]
  vm_nic_params:
    description: Details of the NICs in the service's own format, as a list or a mapping, or as a JSON text.
    type: json
  type:
    description: The type of the VM.
    type: str
    choices: [UserVm, ApplianceVm]
  zone:
    description: The zone in which to create the VM.
    type: str
    aliases: [zone_uuid]
  cluster:
    description: The cluster in which to create the VM.
    type: str
    aliases: [cluster_uuid]
  host:
    description: The host on which to create the VM.
    type: str
    aliases: [host_uuid]
  primary_storage:
    description: The primary storage for the root volume.
    type: str
    aliases: [primary_storage_uuid_for_root_volume]
  strategy:
    description: Whether the VM is started.
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
    description: Whether the volume of each snapshot is encrypted, in the service's own format.
    type: list
    elements: dict
  vm_encryption:
    description: Whether the VM is encrypted.
    type: bool
seealso:
  - module: virtinfra.manager.vm_info
"""

EXAMPLES = r"""
- name: Restore a VM from its snapshots
  virtinfra.manager.vm_from_snapshot_group:
    name: vm-restored
    snapshot_group: snapshot-group-1
    l3_networks: [l3-1]
    strategy: CreateStopped
"""

RETURN = r"""
vm:
  description: The VM. In check mode, the predicted one.
  returned: success
  type: dict
  sample:
    uuid: a0000004000040008000000000000007
    name: vm-restored
    state: Stopped
job:
  description: The handle of the job that is still running, for M(virtinfra.manager.job_wait).
  returned: when O(wait=false) started a call, and after a timeout
  type: dict
  sample: {uuid: 5d1f3f9a0e7b4f0d9b9a0c6f3a7f1b2c, operation: CreateVmInstanceFromVolumeSnapshotGroup, state: running}
"""

from ansible_collections.virtinfra.manager.plugins.module_utils._finders import (
    exists,
    find_by_cursor,
    find_by_query,
    first_readable,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._options import CREATE_OPTIONS, reference, references
from ansible_collections.virtinfra.manager.plugins.module_utils._planner import PlannedCall, Resource, default_plan
from ansible_collections.virtinfra.manager.plugins.module_utils._reconciler import resource_module
from ansible_collections.virtinfra.manager.plugins.module_utils._records import Record

PLACEMENT = ("clusterUuid", "hostUuid")


def plan_create_only(resource: Resource, state: str, desired: Record, current: Record | None) -> list[PlannedCall]:
    """Return the plan. Do not compare the cluster and the host, because the VM may have been migrated."""
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
        "snapshot_group": reference("volume_snapshot_group_uuid"),
        "description": {"type": "str"},
        "instance_offering": reference("instance_offering_uuid"),
        "cpu_num": {"type": "int"},
        "memory_size": {"type": "int"},
        "reserved_memory_size": {"type": "int"},
        "l3_networks": references("l3_network_uuids"),
        "default_l3_network": reference("default_l3_network_uuid"),
        "vm_nic_params": {"type": "json"},
        "type": {"type": "str", "choices": ["UserVm", "ApplianceVm"]},
        "zone": reference("zone_uuid"),
        "cluster": reference("cluster_uuid"),
        "host": reference("host_uuid"),
        "primary_storage": reference("primary_storage_uuid_for_root_volume"),
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
