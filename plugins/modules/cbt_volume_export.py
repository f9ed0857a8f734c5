# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: cbt_volume_export
short_description: Export volumes of a VM over NBD
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Exports volumes of a VM that does not run as network block devices, to restore or repair them, and ends the exports.
  - "Export a volume, even if it is already exported - C(virtinfra.manager.cbt_volume_export: {vm: vm-2, volumes:
    [root-of-vm-2], force: true})"
  - "An export is writable and has no password: whoever reaches the host's port can overwrite the volume. Servers do not
    prevent that the VM is started meanwhile, which destroys its data. To read the volumes of a running VM, open a
    backup session with M(virtinfra.manager.cbt_task)."
  - An export ends when the client that connected first disconnects, also one that only asks for the size. Use one
    connection for everything, and then end the export with O(state=absent) nevertheless.
  - Servers refuse to export volumes of a running VM, and need O(force) to export a volume again. The module refuses
    volumes of another VM than O(vm), which servers would export while that VM runs.
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
    support: none
  idempotent:
    support: none
    details:
      - The API does not show which volumes are exported, so the operation is called each time.
options:
  state:
    description:
      - V(present) exports the volumes.
      - V(absent) ends their exports. A virtual machine or volume that does not exist has none. The API document lacks
        the operation. If a server does not offer it, the module fails with the code V(UNSUPPORTED).
    type: str
    choices: [present, absent]
    default: present
    version_added: 1.0.0
  volumes:
    description: The volumes whose exports begin or end, by name or uuid.
    type: list
    elements: str
    aliases: [volume_uuids]
    required: true
  vm:
    description: The VM that the volumes belong to, by name or uuid.
    type: str
    aliases: [vm_instance_uuid]
    required: true
  force:
    description:
      - Whether to export volumes that are already exported, which cuts off the client that reads or writes them. It
        cannot be used with O(state=absent).
    type: bool
seealso:
  - module: virtinfra.manager.cbt_task
  - module: virtinfra.manager.vm_snapshot_group
"""

EXAMPLES = r"""
- name: Export a volume, even if it is already exported
  virtinfra.manager.cbt_volume_export:
    vm: vm-2
    volumes: [root-of-vm-2]
    force: true

- name: End the export of a volume
  virtinfra.manager.cbt_volume_export:
    vm: vm-2
    volumes: [root-of-vm-2]
    state: absent
"""

RETURN = r"""
volume_infos:
  description:
    - What the service returned about the exports.
    - Null when the service returned nothing, with O(state=absent), in check mode and with O(wait=false).
  returned: success
  type: list
  elements: dict
  sample: []
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
from ..module_utils._modules.act import action_module
from ..module_utils._modules.options import reference, references
from ..module_utils._resources.cbt_tasks import require_exportable_volumes

MODULE = action_module(
    {"present": "ExportNbdVolumes", "absent": "UnexportNbdVolumes"},
    options={
        "state": {"type": "str", "default": "present", "choices": ["present", "absent"]},
        "volumes": references("volumeUuids", required=True),
        "vm": reference("vmInstanceUuid", required=True),
        "force": {"type": "bool"},
    },
    require=require_exportable_volumes,
    can_harm=True,
)


def main() -> None:
    """Run as a module."""
    run_as_module(MODULE)


if __name__ == "__main__":
    main()
