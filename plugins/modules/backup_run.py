# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: backup_run
short_description: Take VMs for a run of the role vm_backup
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Notes in a repository which VMs a run copies, so that another run neither opens nor ends their backup sessions. It
    also returns how far the copies are. The role P(virtinfra.manager.vm_backup#role) uses it.
  - A run repeats the task while it works. What a run that was killed has taken remains, until a task names the run in
    O(ended).
  - A play of your own that copies VMs, with M(virtinfra.manager.backup_point) or other software, can take them, too.
extends_documentation_fragment:
  - virtinfra.manager._attributes
  - virtinfra.manager._attributes.mover
  - virtinfra.manager._mover.repository
  - virtinfra.manager._mover.initialize
attributes:
  check_mode:
    support: full
    details:
      - It returns what the run would take, and takes nothing.
  diff_mode:
    support: none
  idempotent:
    support: full
    details:
      - A run that takes the same VMs again only shows that it still works.
options:
  state:
    description:
      - V(present) takes VMs.
      - V(absent) gives all VMs of the run back.
    type: str
    choices: [present, absent]
    default: present
  run:
    description: The uuid of the run.
    type: str
    required: true
  owner:
    description:
      - What other runs see of this one, for example the controller's name and the process id.
      - Runs whose owners have the same C(run) are parts of one, which take the same VMs, such as those of several data
        movers with one repository.
    type: dict
  vm_uuids:
    description:
      - The uuids of the VMs to take, instead of those that the run has. Those that other runs have are not taken.
      - Without it, the task only shows that the run still works. It fails if the run has no VMs.
    type: list
    elements: str
  ended:
    description: The uuids of runs that have ended without giving their VMs back.
    type: list
    elements: str
  decisions:
    description:
      - Whether copies that ask become points, see O(virtinfra.manager.backup_point#module:ask), by the uuids of their
        VMs.
    type: dict
    version_added: 1.0.0
  list_points:
    description:
      - Whether to return the restore points of the VMs, too, so that no task of
        M(virtinfra.manager.backup_point_info) is needed.
    type: bool
    default: false
    version_added: 1.0.0
seealso:
  - module: virtinfra.manager.backup_point
  - module: virtinfra.manager.backup_point_info
"""

EXAMPLES = r"""
- name: Take a VM for this run
  virtinfra.manager.backup_run:
    repository: /srv/backups
    run: 5f0c3a52-7d3e-4c1b-9a58-0e5a3f1b2c4d
    owner:
      host: controller-1
    vm_uuids: ["{{ vms[0].uuid }}"]
  register: run
  failed_when: run.others | length > 0
  delegate_to: mover

- name: Give it back
  virtinfra.manager.backup_run:
    repository: /srv/backups
    run: 5f0c3a52-7d3e-4c1b-9a58-0e5a3f1b2c4d
    state: absent
  delegate_to: mover
"""

RETURN = r"""
taken:
  description: The uuids of the VMs that the run has.
  returned: success
  type: list
  elements: str
  sample: [a0000004000040008000000000000001]
others:
  description:
    - The other runs that have some of the VMs.
    - R(Fields of results, ansible_collections.virtinfra.manager.docsite.guide_records) describes the fields.
  returned: success
  type: list
  elements: dict
  sample:
    [{run: 5f0c3a52-7d3e-4c1b-9a58-0e5a3f1b2c4d, owner: {host: controller-1},
      vm_uuids: [a0000004000040008000000000000001], silent_seconds: 12}]
jobs:
  description:
    - The folder for the files of async jobs of the run, for the variable C(ansible_async_dir) of its tasks. Only the
      user of the task can enter it, and it is removed when the VMs are given back.
  returned: success
  type: str
  sample: /srv/backups/.runs/5f0c3a52-7d3e-4c1b-9a58-0e5a3f1b2c4d.jobs
running:
  description:
    - The tasks that copy or restore volumes of the VMs now.
    - R(Fields of results, ansible_collections.virtinfra.manager.docsite.guide_records) describes the fields.
      C(bytes_done), C(bytes_total) and C(bytes_per_second) are in bytes.
  returned: success
  type: list
  elements: dict
  sample:
    [{vm_uuid: a0000004000040008000000000000001, point: 20261127T021500Z,
      volume_uuid: a0000007000040008000000000000001, step: incremental, bytes_done: 524288, bytes_total: 1048576,
      bytes_per_second: 524288, seconds_left: 1, host: mover-1, process: 4711, updated: '2026-11-27T02:15:01Z'}]
results:
  description:
    - The results of the tasks of M(virtinfra.manager.backup_point) with this O(run) that have ended, each with the
      C(vm_uuid) of its VM.
  returned: success
  type: list
  elements: dict
  sample: []
listed:
  description:
    - What M(virtinfra.manager.backup_point_info) returns of the VMs of O(vm_uuids), or else of the run. Null without
      O(list_points) and with O(state=absent).
  returned: success
  type: dict
  sample: {}
"""

from ..module_utils._python import REQUIRED_ON_MOVERS, check_python

check_python(REQUIRED_ON_MOVERS)

from ..module_utils._backup.process import MoverModule, run_on_mover
from ..module_utils._backup.tasks import run_backup_run

MODULE = MoverModule(
    run_backup_run,
    parts=lambda dummy: (),
    options={
        "repository": {"type": "path", "required": True},
        "initialize": {"type": "bool", "default": False},
        "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        "run": {"type": "str", "required": True},
        "owner": {"type": "dict"},
        "vm_uuids": {"type": "list", "elements": "str"},
        "ended": {"type": "list", "elements": "str"},
        "decisions": {"type": "dict"},
        "list_points": {"type": "bool", "default": False},
    },
)


def main() -> None:
    """Run as a module."""
    run_on_mover(MODULE)


if __name__ == "__main__":
    main()
