# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: cbt_volume_export
short_description: Export volumes of a machine by NBD
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Lets the service export volumes of a virtual machine as network block devices, for a backup that reads them.
  - The machine must not run on some servers. Exporting a second time needs O(force) there.
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
    support: none
  idempotent:
    support: none
    details:
      - The API does not tell what is exported, so the operation is called each time.
options:
  volume_uuids:
    description: The volumes.
    type: list
    elements: str
    required: true
  vm_instance_uuid:
    description: The machine that they belong to.
    type: str
    required: true
  force:
    description: Whether to export volumes that are exported already.
    type: bool
seealso:
  - module: virtinfra.manager.cbt_task
"""

EXAMPLES = r"""
- name: Export a volume, again if need be
  virtinfra.manager.cbt_volume_export:
    vm_instance_uuid: a0000004000040008000000000000002
    volume_uuids:
      - a0000007000040008000000000000003
    force: true
"""

RETURN = r"""
volume_infos:
  description: What the service told of the exports; null when it told nothing.
  returned: success
  type: list
  elements: dict
  sample: []
job:
  description: The handle of a call that is still running, for M(virtinfra.manager.job_wait).
  returned: when O(wait=false) started a call, and when the time was up
  type: dict
  sample: {uuid: 5d1f3f9a0e7b4f0d9b9a0c6f3a7f1b2c, operation: ExportNbdVolumes, state: running}
"""

from ansible_collections.virtinfra.manager.plugins.module_utils._action_modules import action_module

MODULE = action_module(
    "ExportNbdVolumes",
    options={
        "volume_uuids": {"type": "list", "elements": "str", "required": True},
        "vm_instance_uuid": {"type": "str", "required": True},
        "force": {"type": "bool"},
    },
)


def main() -> None:
    """Run as a module."""
    MODULE.run_as_module()


if __name__ == "__main__":
    main()
