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
      - V(present) takes the snapshots if the VM has no snapshot group with this O(name), and changes name and
        description of an existing group.
      - V(absent) removes the snapshot group. Nothing is removed if another option differs from it, and nothing has to
        be removed if the VM does not exist.
      - V(reverted) sets the volumes of the VM back to the snapshots, each time. The VM must be stopped. What was
        written to the volumes since then is lost, so O(force) is required. The module first asks the service whether
        the revert is possible, if the service offers that.
    type: str
    choices: [present, absent, reverted]
    default: present
  uuid:
    description: The uuid of the snapshot group. With O(uuid) and O(name), the group is renamed.
    type: str
  vm:
    description:
      - The VM, by name or uuid. Together with O(name) it selects the snapshot group when O(uuid) is not given.
      - A VM in the state V(Destroyed) or V(Expunging) is treated as not found.
    type: str
    aliases: [vm_instance_uuid]
  name:
    description:
      - The name of the snapshot group. The module fails when several snapshot groups of the VM have it.
      - Required unless O(uuid) is given.
    type: str
  description:
    description: The description of the snapshot group. An empty string removes it.
    type: str
  with_memory:
    description:
      - Whether the snapshots include the memory, which needs a running or paused VM.
      - The service does not show it, so it is not compared.
      - With O(state=reverted), set it if the snapshots include the memory. The VM must then run or be paused.
    type: bool
  scope:
    description:
      - What is removed with O(state=absent). V(single) removes this snapshot group only.
      - V(chain) also removes the later snapshots of its volumes, and with V(auto) the service chooses. Both need
        O(force) if the VM has later snapshot groups.
      - Servers before version 4.10.6 lack this parameter and remove the whole chain. The module warns if later snapshot
        groups were lost. With O(service_version) it knows before, and refuses the removal.
    type: str
    choices: [single, chain, auto]
    default: single
  direction:
    description:
      - How the service merges the data of a removed snapshot with the other snapshots of its volume, with
        O(state=absent). V(pull) and V(commit) are the terms of the service, and V(auto) lets it choose. Without it, the
        service uses its default.
      - Old servers lack this parameter.
    type: str
    choices: [pull, commit, auto]
  force:
    description:
      - Whether to remove a snapshot group although later ones may be removed with it.
      - Required for O(state=reverted).
    type: bool
    default: false
seealso:
  - module: virtinfra.manager.vm_snapshot_group_info
  - module: virtinfra.manager.vm_from_snapshot_group
  - module: virtinfra.manager.vm
"""

EXAMPLES = r"""
- name: Take snapshots of all volumes of a VM
  virtinfra.manager.vm_snapshot_group:
    vm: vm-2
    name: before-upgrade
    description: before the upgrade of the database

- name: Rename a snapshot group
  virtinfra.manager.vm_snapshot_group:
    uuid: a000000b000040008000000000000001
    name: first-state

- name: Set the stopped VM back to the snapshots
  virtinfra.manager.vm_snapshot_group:
    vm: vm-2
    name: before-upgrade
    state: reverted
    force: true

- name: Remove a snapshot group, and keep the later ones
  virtinfra.manager.vm_snapshot_group:
    vm: vm-2
    name: before-upgrade
    state: absent

- name: Remove a snapshot group and all later ones
  virtinfra.manager.vm_snapshot_group:
    vm: vm-1
    name: first-state
    state: absent
    scope: chain
    force: true
"""

RETURN = r"""
snapshot_group:
  description: The snapshot group; null when it is absent. In check mode and with O(wait=false), the predicted one.
  returned: success
  type: dict
  contains:
    uuid: {description: The uuid of the snapshot group., type: str, sample: a000000b000040008000000000000001}
    name: {description: The name. Several groups may have the same., type: str, sample: before-upgrade}
    description: {description: The description., type: str, sample: before the upgrade of the database}
    create_date: {description: When the snapshots were taken., type: str, sample: "Jan 6, 2024 4:52:16 AM"}
    last_op_date: {description: When the group was last changed., type: str, sample: "Jan 6, 2024 4:52:16 AM"}
    vm_instance_uuid: {description: The uuid of the VM., type: str, sample: a0000004000040008000000000000001}
    vm_instance_name:
      description: "The name of the VM, as the task gives it. Null for another VM."
      type: str
      sample: vm-1
      returned: when O(vm) is a name
    snapshot_count: {description: The number of snapshots., type: int, sample: 2}
    volume_snapshot_refs:
      description: "The snapshots, one for each volume of the VM."
      type: list
      elements: dict
      contains:
        volume_snapshot_uuid:
          description: The uuid of the snapshot.
          type: str
          sample: a0000014000040008000000000000001
        volume_uuid: {description: The uuid of the volume., type: str, sample: a0000007000040008000000000000001}
        device_id: {description: The number of the volume in the VM., type: int, sample: 0}
        snapshot_deleted: {description: Whether the snapshot was deleted., type: bool, sample: false}
    tags:
      description: "The user tags, sorted."
      type: list
      elements: str
      sample: [production]
      returned: when O(tags) is given
also_removed:
  description: The later snapshot groups that are removed with it.
  returned: with O(state=absent)
  type: list
  elements: dict
  contains:
    type: {description: The type V(snapshot_group)., type: str, sample: snapshot_group}
    uuid: {description: The uuid of the snapshot group., type: str, sample: a000000b000040008000000000000002}
    name: {description: The name of the snapshot group., type: str, sample: after-upgrade}
overwritten_vms:
  description: The VM whose volumes are set back.
  returned: with O(state=reverted)
  type: list
  elements: dict
  contains:
    uuid: {description: The uuid of the VM., type: str, sample: a0000004000040008000000000000001}
    name: {description: The name of the VM., type: str, sample: vm-1}
later_groups:
  description: The snapshot groups of the VM that were taken later. A revert does not remove them.
  returned: with O(state=reverted)
  type: list
  elements: dict
  contains:
    uuid: {description: The uuid of the snapshot group., type: str, sample: a000000b000040008000000000000002}
    name: {description: The name of the snapshot group., type: str, sample: after-upgrade}
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
      contains:
        code: {description: The code of the error., type: str, sample: SYS.1006}
        description: {description: The general meaning of the code., type: str, sample: Operation refused}
        details: {description: What happened., type: str, sample: the snapshot cannot be deleted}
job:
  description:
    - The handle of the job that is still running, for M(virtinfra.manager.job_wait).
    - In check mode, the handle of the job that would be started. It has no uuid, and its state is V(unknown).
  returned: when O(wait=false) starts a call, and in a failure when a job may still be running
  type: dict
  contains:
    uuid: {description: The uuid of the job., type: str, sample: "5d1f3f9a0e7b4f0d9b9a0c6f3a7f1b2c"}
    job_uuid:
      description: "The id that was sent with the call as X-Job-UUID, with which the service posts the result."
      type: str
      sample: "5d1f3f9a0e7b4f0d9b9a0c6f3a7f1b2c"
    location:
      description: The path at which the job is polled.
      type: str
      sample: /service/v1/api-jobs/5d1f3f9a0e7b4f0d9b9a0c6f3a7f1b2c
    operation: {description: The operation., type: str, sample: CreateVolumeSnapshotGroup}
    object:
      description: "The object of the call as messages name it, null if the call names none."
      type: str
      sample: host host-1
    state: {description: "The state of the job: V(running) or V(unknown).", type: str, sample: running}
"""

from ..module_utils._python import check_python

check_python()

from ..module_utils._modules.process import run_as_module
from ..module_utils._engine.plan import ResourceSpec
from ..module_utils._modules.options import CREATE_OPTIONS, IDENTITY_OPTIONS, REMOVAL_OPTIONS, reference
from ..module_utils._modules.resource import resource_module
from ..module_utils._resources.protection import (
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
)


def main() -> None:
    """Run as a module."""
    run_as_module(MODULE)


if __name__ == "__main__":
    main()
