# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: backup_restore
short_description: Write a restore point back
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Writes the volumes of a restore point of M(virtinfra.manager.backup_point) into the exported volumes of a stopped
    VM, or into files.
  - Before anything is written, the chain of each volume must be whole and undamaged, and each volume must have the size
    that it had. Volumes are matched by their uuids, never by their order.
  - It makes one connection to each export, because an export ends with its first connection.
  - It reads a volume, writes what differs, and reads back what it has written, because the rest was equal just before.
    A second run after an interruption completes it.
  - The next backup of a volume that was written believes no bitmap of it.
  - While it works, it shows how far it is, at least twice a minute. It does not show it with C(async) and with
    O(directory).
requirements:
  - libnbd 1.12 or newer for the platform's Python (package python3-libnbd), without O(directory)
  - qemu-img and qemu-nbd (package qemu-utils on Debian and Ubuntu, qemu-img on RHEL and Fedora, qemu-tools and qemu-img
    on SUSE)
extends_documentation_fragment:
  - virtinfra.manager._attributes
  - virtinfra.manager._attributes.mover
  - virtinfra.manager._mover
attributes:
  check_mode:
    support: full
    details:
      - It checks the files as a run does. It reads the repository only, because a connection would end the export, so
        it cannot know that a volume has the content already, or another size, and reports a change for all volumes.
  diff_mode:
    support: none
  idempotent:
    support: full
    details:
      - The exports end with the task, so the volumes must be exported again before the second run. It finds no
        difference. With O(only_different=false) it writes everything again.
options:
  vm_uuid:
    description: The uuid of the VM that the point was made of.
    type: str
    required: true
  point:
    description: The name of the point. By default, the newest one.
    type: str
  volumes:
    description:
      - The exported volumes that are overwritten, which M(virtinfra.manager.cbt_volume_export) returned as
        RV(virtinfra.manager.cbt_volume_export#module:volume_infos).
      - The member C(source) names the volume of the point that a volume gets, if it has another uuid, as those of a VM
        that was made again.
    type: list
    elements: dict
  directory:
    description:
      - A folder in which a file C(VOLUME UUID.FORMAT) is created for each volume of the point, instead of O(volumes).
      - A file that exists must have the content already, or the task fails.
    type: path
  check_volumes:
    description:
      - The uuids of volumes of the point whose copies are only checked, instead of O(volumes) and O(directory). Nothing
        is written, also without check mode. The checksums of all files that they need are compared, and
        C(qemu-img check) examines the structure of the files.
      - The role P(virtinfra.manager.vm_backup_restore#role) checks them before it stops the VM, and then writes with
        O(check=false).
    type: list
    elements: str
  format:
    description: The format of the files in O(directory).
    type: str
    choices: [raw, qcow2]
    default: raw
  only_different:
    description: Whether to read a volume first, and to write only what differs. It does not apply to O(directory).
    type: bool
    default: true
  allow_larger:
    description: Whether a volume may be larger than its copy. What lies behind the copy becomes zero.
    type: bool
    default: false
  check:
    description: Whether to compare the checksums of all files that are needed before anything is written.
    type: bool
    default: true
  verify:
    description: Whether to read back what was written and compare it with the point.
    type: bool
    default: true
  remember:
    description:
      - Whether the next backup of a volume that was written believes no bitmap of it. V(false) is for the volumes of a
        VM that is removed without a backup, such as that of a drill.
    type: bool
    default: true
seealso:
  - module: virtinfra.manager.backup_point
  - module: virtinfra.manager.backup_point_info
  - module: virtinfra.manager.cbt_volume_export
"""

EXAMPLES = r"""
- name: Restore the newest point into the exported volumes of the stopped VM
  virtinfra.manager.backup_restore:
    repository: /srv/backups
    vm_uuid: "{{ vms[0].uuid }}"
    volumes: "{{ export.volume_infos }}"
  delegate_to: mover

- name: Check before the VM is stopped that the newest point can be restored
  virtinfra.manager.backup_restore:
    repository: /srv/backups
    vm_uuid: "{{ vms[0].uuid }}"
    check_volumes: "{{ vms[0].all_volumes | map(attribute='uuid') }}"
  delegate_to: mover

- name: Restore a point into files
  virtinfra.manager.backup_restore:
    repository: /srv/backups
    vm_uuid: "{{ vms[0].uuid }}"
    point: 20261127T021500Z
    directory: /srv/restored
    format: qcow2
  delegate_to: mover
"""

RETURN = r"""
point:
  description:
    - The point.
    - R(Fields of results, ansible_collections.virtinfra.manager.docsite.guide_records) describes the fields.
      C(file_bytes) is in bytes.
  returned: success
  type: dict
  sample: >-
    {vm_uuid: a0000004000040008000000000000001, vm_name: vm-1, point: 20261127T021500Z, created: '2026-11-27T02:15:00Z',
    mode: incremental, file_bytes: 1048576,
    volumes:
    [{device_id: 0, size: 10737418240, mode: incremental, reason: the bitmap of the export, base: 20261126T021500Z,
    checkpoint: bitmap-00000009, compression: none, bytes_read: 1048576, bytes_written: 983040,
    bytes_zeroed: 65536, file_bytes: 1048576,
    sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855, verified: true,
    bytes_verified: 1048576, bytes_compared: 0, encrypted: false}],
    left_out: [{name: scratch-1, reason: it is shareable}]}
seconds:
  description: How many seconds the task took.
  returned: success
  type: int
  sample: 95
volumes:
  description:
    - What became of each volume.
    - R(Fields of results, ansible_collections.virtinfra.manager.docsite.guide_records) describes the fields.
      C(bytes_read), C(bytes_written), C(bytes_zeroed) and C(bytes_verified) are in bytes.
  returned: always, empty if the task failed before the point was found
  type: list
  elements: dict
  sample:
    [{volume_uuid: a0000007000040008000000000000001, target: a0000007000040008000000000000001, size: 10737418240,
      state: restored, bytes_read: 1048576, bytes_written: 65536, bytes_zeroed: 0, bytes_verified: 65536,
      verified: true}]
"""

from ..module_utils._python import REQUIRED_ON_MOVERS, check_python

check_python(REQUIRED_ON_MOVERS)

from ..module_utils._backup.parts import QEMU_IMG, TO_COPY
from ..module_utils._backup.process import MoverModule, run_on_mover
from ..module_utils._backup.tasks import run_backup_restore

MODULE = MoverModule(
    run_backup_restore,
    parts=lambda params: (QEMU_IMG,) if params["directory"] else TO_COPY,
    options={
        "repository": {"type": "path", "required": True},
        "vm_uuid": {"type": "str", "required": True},
        "point": {"type": "str"},
        "volumes": {"type": "list", "elements": "dict"},
        "directory": {"type": "path"},
        "check_volumes": {"type": "list", "elements": "str"},
        "format": {"type": "str", "choices": ["raw", "qcow2"], "default": "raw"},
        "only_different": {"type": "bool", "default": True},
        "allow_larger": {"type": "bool", "default": False},
        "check": {"type": "bool", "default": True},
        "verify": {"type": "bool", "default": True},
        "remember": {"type": "bool", "default": True},
        "rate_limit": {"type": "int", "default": 0},
        "run": {"type": "str"},
    },
    constraints={
        "mutually_exclusive": [("volumes", "directory", "check_volumes")],
        "required_one_of": [("volumes", "directory", "check_volumes")],
    },
    nothing={"volumes": []},
)


def main() -> None:
    """Run as a module."""
    run_on_mover(MODULE)


if __name__ == "__main__":
    main()
