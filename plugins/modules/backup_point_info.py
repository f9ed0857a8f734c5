# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: backup_point_info
short_description: List restore points
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Lists the restore points in a repository of M(virtinfra.manager.backup_point), the checkpoint of each volume from
    which the next increment can count, the tasks that are running, and the free space.
requirements:
  - qemu-img, O(check=true) only
extends_documentation_fragment:
  - virtinfra.manager._attributes
  - virtinfra.manager._attributes.facts
  - virtinfra.manager._attributes.mover
  - virtinfra.manager._mover.repository
  - virtinfra.manager._mover.initialize
options:
  vm_uuids:
    description: The uuids of the VMs whose points are listed. By default, those of all VMs.
    type: list
    elements: str
  check:
    description:
      - Whether to read all files and compare their checksums with those of the manifests, and to have C(qemu-img check)
        examine their structure. A point is whole only if all files that it is based on are sound, too.
      - Without it, only the names and the sizes of the files are compared.
    type: bool
    default: false
  records:
    description: Whether to return the record of its VM with each point.
    type: bool
    default: false
seealso:
  - module: virtinfra.manager.backup_point
  - module: virtinfra.manager.backup_restore
"""

EXAMPLES = r"""
- name: Find the checkpoints of a VM, to enable its CBT task with them
  virtinfra.manager.backup_point_info:
    repository: /srv/backups
    vm_uuids: ["{{ vms[0].uuid }}"]
  register: repository
  delegate_to: mover

- name: Check all points
  virtinfra.manager.backup_point_info:
    repository: /srv/backups
    check: true
  register: checked
  failed_when: checked.points | rejectattr('whole') | length > 0
  delegate_to: mover
"""

RETURN = r"""
points:
  description:
    - The points, oldest first for each VM.
    - Of a point whose manifest cannot be read, only C(vm_uuid), C(point) and C(problems) are known. The other members
      are null, and C(volumes) is empty.
    - R(Fields of results, ansible_collections.virtinfra.manager.docsite.guide_records) describes the fields.
      C(file_bytes) is in bytes. C(vm) is returned with O(records=true).
  returned: success
  type: list
  elements: dict
  sample:
    [{vm_uuid: a0000004000040008000000000000001, vm_name: vm-1, point: 20261127T021500Z,
      created: '2026-11-27T02:15:00Z', mode: incremental, file_bytes: 1048576,
      volumes:
        [{device_id: 0, size: 10737418240, mode: incremental, reason: the bitmap of the export,
          base: 20261126T021500Z, checkpoint: bitmap-00000009, compression: none, bytes_read: 1048576,
          bytes_written: 983040, bytes_zeroed: 65536, file_bytes: 1048576,
          sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855, verified: true,
          bytes_verified: 1048576, bytes_compared: 0, encrypted: false}],
      left_out: [{name: scratch-1, reason: it is shareable}], vm: {name: vm-1, cpu_num: 2, memory_size: 4294967296},
      proved: {time: '2026-11-28T03:15:00Z', level: ran, restore_seconds: 95, watched_seconds: 60}, future: false,
      whole: true, problems: []}]
checkpoints:
  description:
    - The volumes in the newest point of each VM.
    - R(Fields of results, ansible_collections.virtinfra.manager.docsite.guide_records) describes the fields.
  returned: success
  type: list
  elements: dict
  sample:
    [{vm_uuid: a0000004000040008000000000000001, volume_uuid: a0000007000040008000000000000001,
      checkpoint: bitmap-00000009, point: 20261127T021500Z}]
running:
  description:
    - The tasks that copy or restore volumes now.
    - R(Fields of results, ansible_collections.virtinfra.manager.docsite.guide_records) describes the fields.
      C(bytes_done), C(bytes_total) and C(bytes_per_second) are in bytes.
  returned: success
  type: list
  elements: dict
  sample:
    [{vm_uuid: a0000004000040008000000000000001, point: 20261127T021500Z,
      volume_uuid: a0000007000040008000000000000001, step: incremental, bytes_done: 524288, bytes_total: 1048576,
      bytes_per_second: 524288, seconds_left: 1, host: mover-1, process: 4711, updated: '2026-11-27T02:15:01Z'}]
leftovers:
  description:
    - What tasks that were killed have left of points that they were writing or removing. The next point of the VM
      removes it; of a VM that gets no more points, remove it by hand.
    - R(Fields of results, ansible_collections.virtinfra.manager.docsite.guide_records) describes the fields.
      C(file_bytes) is in bytes.
  returned: success
  type: list
  elements: dict
  sample:
    [{vm_uuid: a0000004000040008000000000000001,
      folder: /srv/backups/a0000004000040008000000000000001/20261127T021500Z.partial, file_bytes: 1048576}]
runs:
  description:
    - The runs of M(virtinfra.manager.backup_run) that have taken the VMs.
    - R(Fields of results, ansible_collections.virtinfra.manager.docsite.guide_records) describes the fields.
  returned: success
  type: list
  elements: dict
  sample:
    [{run: 5f0c3a52-7d3e-4c1b-9a58-0e5a3f1b2c4d, owner: {host: controller-1},
      vm_uuids: [a0000004000040008000000000000001], silent_seconds: 12}]
space:
  description:
    - The space in the file system of the repository.
    - R(Fields of results, ansible_collections.virtinfra.manager.docsite.guide_records) describes the fields.
      C(free_bytes) and C(total_bytes) are in bytes.
  returned: success
  type: dict
  sample: >-
    {free_bytes: 879609302220, total_bytes: 1099511627776}
"""

from ..module_utils._python import REQUIRED_ON_MOVERS, check_python

check_python(REQUIRED_ON_MOVERS)

from ..module_utils._backup.parts import QEMU_IMG
from ..module_utils._backup.process import MoverModule, run_on_mover
from ..module_utils._backup.tasks import run_backup_point_info

MODULE = MoverModule(
    run_backup_point_info,
    parts=lambda params: (QEMU_IMG,) if params["check"] else (),
    options={
        "repository": {"type": "path", "required": True},
        "initialize": {"type": "bool", "default": False},
        "vm_uuids": {"type": "list", "elements": "str"},
        "check": {"type": "bool", "default": False},
        "records": {"type": "bool", "default": False},
    },
)


def main() -> None:
    """Run as a module."""
    run_on_mover(MODULE)


if __name__ == "__main__":
    main()
