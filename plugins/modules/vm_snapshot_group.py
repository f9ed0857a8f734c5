# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: vm_snapshot_group
short_description: Manage snapshot groups of virtual machines
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Takes, renames and removes snapshot groups, and sets VMs back to them. A snapshot group consists of a snapshot of
    each volume of a VM, taken at the same time. M(virtinfra.manager.vm_from_snapshot_group) creates VMs from one.
  - "Take snapshots of all volumes of a VM - C(virtinfra.manager.vm_snapshot_group: {vm: vm-2, name: before-upgrade,
    description: before the upgrade of the database})"
  - The job of the service succeeds although single snapshots fail. The module fails then, and names these snapshots.
  - The API document lacks all of these operations. If a server does not offer one, the module fails with the code
    V(UNSUPPORTED), and changes nothing.
extends_documentation_fragment:
  - virtinfra.manager._connection
  - virtinfra.manager._wait
  - virtinfra.manager._wait.times
  - virtinfra.manager._tags.object
  - virtinfra.manager._creation
  - virtinfra.manager._references
  - virtinfra.manager._removal
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
      - When the service cannot list snapshot groups, the module fails unless O(uuid) is given. With O(uuid) it acts
        without comparing, reports a change and warns.
      - O(state=reverted) reverts the VM each time.
options:
  state:
    description:
      - V(present) takes the snapshots, or changes name and description of an existing group.
      - V(absent) removes the snapshot group, see O(scope).
      - V(reverted) sets the volumes of the stopped VM back to the snapshots, each time. What was written since then is
        lost, so O(force) is required.
    type: str
    choices: [present, absent, reverted]
    default: present
  uuid:
    description: The uuid of the snapshot group. With O(uuid) and O(name), the group is renamed.
    type: str
  vm:
    description:
      - The VM, by name or uuid. Together with O(name) it selects the snapshot group when O(uuid) is not given.
    type: str
    aliases: [vm_instance_uuid]
  name:
    description: The name of the snapshot group. Required unless O(uuid) is given.
    type: str
  description:
    description: The description of the snapshot group. An empty string removes it.
    type: str
  with_memory:
    description:
      - Whether the snapshots include the memory, which needs a running or paused VM. It is not compared. With
        O(state=reverted), set it if they do.
    type: bool
  scope:
    description:
      - What O(state=absent) removes. V(single) removes this group only, V(chain) also the later ones, and with V(auto)
        the service chooses. Both need O(force) if the VM has later groups. Servers before version 4.10.6 always remove
        all.
    type: str
    choices: [single, chain, auto]
    default: single
  direction:
    description: How the service merges the data of a removed snapshot with the others. Old servers lack it.
    type: str
    choices: [pull, commit, auto]
  force:
    description: Whether later groups may be removed, too. Required for O(state=reverted).
    type: bool
    default: false
notes:
  - The guide R(Modules in detail, ansible_collections.virtinfra.manager.docsite.guide_details) says step by step what
    the module does.
seealso:
  - module: virtinfra.manager.vm_snapshot_group_info
  - module: virtinfra.manager.vm_from_snapshot_group
  - module: virtinfra.manager.vm
  - module: virtinfra.manager.batch
"""

EXAMPLES = r"""
- name: Take snapshots of all volumes of a VM
  virtinfra.manager.vm_snapshot_group:
    vm: vm-2
    name: before-upgrade
    description: before the upgrade of the database

- name: Rename a snapshot group
  virtinfra.manager.vm_snapshot_group: {uuid: a000000b000040008000000000000001, name: first-state}

- name: Set the stopped VM back to the snapshots
  virtinfra.manager.vm_snapshot_group: {vm: vm-2, name: before-upgrade, state: reverted, force: true}

- name: Remove a snapshot group, and keep the later ones
  virtinfra.manager.vm_snapshot_group: {vm: vm-2, name: before-upgrade, state: absent}

- name: Remove a snapshot group and all later ones
  virtinfra.manager.vm_snapshot_group: {vm: vm-1, name: first-state, state: absent, scope: chain, force: true}
"""

RETURN = r"""
snapshot_group:
  description:
    - The snapshot group; null when it is absent. In check mode and with O(wait=false), the predicted one.
    - R(Fields of results, ansible_collections.virtinfra.manager.docsite.guide_records) describes the fields. C(tags) is
      returned when O(tags) is given.
  returned: success
  type: dict
  sample: >-
    {uuid: a000000b000040008000000000000001, name: before-upgrade, description: before the upgrade of the database,
    create_date: 'Jan 6, 2024 4:52:16 AM', last_op_date: 'Jan 6, 2024 4:52:16 AM',
    vm_instance_uuid: a0000004000040008000000000000001, vm_instance_name: vm-1, snapshot_count: 2,
    volume_snapshot_refs: [{device_id: 0, snapshot_deleted: false}], tags: [production]}
also_removed:
  description: The later snapshot groups that are removed with it.
  returned: with O(state=absent)
  type: list
  elements: dict
  sample: [{type: snapshot_group, uuid: a000000b000040008000000000000002, name: after-upgrade}]
overwritten_vms:
  description: The VM whose volumes are set back.
  returned: with O(state=reverted)
  type: list
  elements: dict
  sample: [{uuid: a0000004000040008000000000000001, name: vm-1}]
later_groups:
  description: The snapshot groups of the VM that were taken later. A revert does not remove them.
  returned: with O(state=reverted)
  type: list
  elements: dict
  sample: [{uuid: a000000b000040008000000000000002, name: after-upgrade}]
results:
  description: What became of each snapshot.
  returned: when snapshots were removed, or volumes were set back
  type: list
  elements: dict
  contains:
    snapshot_uuid: {description: The uuid of the snapshot., type: str, sample: a0000014000040008000000000000001}
    volume_uuid: {description: The uuid of its volume., type: str, sample: a0000007000040008000000000000001}
    error:
      description: The error of the service.
      type: dict
      returned: when the snapshot was not removed, or its volume not set back
      sample: {code: SYS.1006, description: Operation refused, details: the snapshot cannot be deleted}
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
from ..module_utils._modules.options import CREATE_OPTIONS, IDENTITY_OPTIONS, REMOVAL_OPTIONS, reference
from ..module_utils._modules.resource import resource_module
from ..module_utils._resources.snapshot_groups import (
    LATER_GROUPS,
    REVERTED,
    REVERTED_VM,
    find_failed_snapshots,
    find_snapshot_group,
    plan_snapshot_group,
    read_root_volume,
)

GROUP = ResourceSpec(
    record_type="VolumeSnapshotGroupInventory",
    result_key="snapshot_group",
    tagged_type="VolumeSnapshotGroupVO",
    find=find_snapshot_group,
    create="CreateVolumeSnapshotGroup",
    update="UpdateVolumeSnapshotGroup",
    delete="DeleteVolumeSnapshotGroup",
    keys=("uuid",),
    guards={"absent": (LATER_GROUPS,), REVERTED: (REVERTED_VM,)},
    plan=plan_snapshot_group,
    complete_options=read_root_volume,
    find_reply_error=find_failed_snapshots,
)
MODULE = resource_module(
    GROUP,
    options={
        "state": {"type": "str", "default": "present", "choices": ["present", "absent", REVERTED]},
        **IDENTITY_OPTIONS,
        "vm": reference("vmInstanceUuid"),
        "description": {"type": "str"},
        "with_memory": {"type": "bool"},
        "scope": {"type": "str", "default": "single", "choices": ["single", "chain", "auto"]},
        "direction": {"type": "str", "choices": ["pull", "commit", "auto"]},
        **REMOVAL_OPTIONS,
        **CREATE_OPTIONS,
    },
    required_one_of=[("uuid", "name"), ("uuid", "vm")],
    acts_with={
        "scope": {"state": ("absent",)},
        "direction": {"state": ("absent",)},
        "force": {"state": ("absent", REVERTED)},
    },
)


def main() -> None:
    """Run as a module."""
    run_as_module(MODULE)


if __name__ == "__main__":
    main()
