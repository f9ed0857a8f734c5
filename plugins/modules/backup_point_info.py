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
    - Of a point whose manifest cannot be read, only RV(points[].vm_uuid), RV(points[].point) and RV(points[].problems)
      are known. The other members are null, and RV(points[].volumes) is empty.
  returned: success
  type: list
  elements: dict
  contains:
    vm_uuid: {description: The uuid of the VM., type: str, sample: a0000004000040008000000000000001}
    vm_name: {description: "The name that the VM had, null if its record has none.", type: str, sample: vm-1}
    vm:
      description:
        - The record of the VM as M(virtinfra.manager.vm_info) has returned it, with its size, volumes and NICs. Null if
          the manifest cannot be read.
      returned: with O(records=true)
      type: dict
      sample: {name: vm-1, cpu_num: 2, memory_size: 4294967296}
    point:
      description: "The name of the point: its time in UTC."
      type: str
      sample: 20261127T021500Z
    created: {description: The time of the point., type: str, sample: "2026-11-27T02:15:00Z"}
    mode:
      description: "How its volumes were copied: V(full), V(incremental), V(compared), or V(mixed) if they differ."
      type: str
      sample: incremental
    file_bytes: {description: "The size of its files in bytes, 0 in check mode.", type: int, sample: 1048576}
    volumes:
      description: Its volumes.
      type: list
      elements: dict
      contains:
        volume_uuid: {description: The uuid of the volume., type: str, sample: a0000007000040008000000000000001}
        device_id:
          description: "The place of the volume in the VM, null if the service has not said it."
          type: int
          sample: 0
        size: {description: The size of the volume in bytes., type: int, sample: 10737418240}
        mode:
          description:
            - "How it was copied. V(full): all data. V(incremental): what a bitmap marks as changed. V(compared): what
              differs from the base; this needs no bitmap."
          type: str
          sample: incremental
        reason:
          description:
            - Why it was copied so. An increment uses V(the bitmap of the export) or V(the bitmap of the reply).
            - "A full copy is made because V(the repository has no whole point with the volume), V(the task asks for
              it), the volume shrank, or a file that the copy would be based on is damaged."
            - "A comparison is made because V(the task asks for it), V(the service offers no increment), V(the session
              offers no bitmap), V(the volume was restored after its newest point), no whole point has the checkpoint
              from which the increment counts, or the increment differed from the volume."
          type: str
          sample: the bitmap of the export
        base:
          description: The name of the point that has what this copy lacks, null for a full copy.
          type: str
          sample: 20261126T021500Z
        checkpoint:
          description: The name of the bitmap from which the next increment can count, null if the session had none.
          type: str
          sample: bitmap-00000009
        compression: {description: "The compression of the file, V(none) or V(zstd).", type: str, sample: none}
        bytes_read:
          description:
            - The bytes of the volume that were read for the copy, without those of the verification. In check mode, how
              many would be read at most.
          type: int
          sample: 1048576
        bytes_written:
          description: The bytes that were written to the file, 0 in check mode.
          type: int
          sample: 983040
        bytes_zeroed: {description: "The bytes that were written as zeros, 0 in check mode.", type: int, sample: 65536}
        file_bytes: {description: "The size of the file in bytes, null in check mode.", type: int, sample: 1048576}
        sha256:
          description: "The SHA-256 of the file in hexadecimal digits, null in check mode."
          type: str
          sample: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
        verified:
          description:
            - Whether the copy was compared with the volume while the session was open, where it was written or
              everywhere, as O(virtinfra.manager.backup_point#module:verify) says.
          type: bool
          sample: true
        bytes_verified:
          description: The bytes of the volume that were read again for the verification.
          type: int
          sample: 1048576
        encrypted:
          description:
            - Whether the service encrypts the volume, null if its record does not say it.
            - The copy is in plain text, so protect the repository.
          type: bool
          sample: false
    left_out:
      description: The volumes of the VM that the point does not have on purpose.
      type: list
      elements: dict
      contains:
        volume_uuid: {description: The uuid of the volume., type: str, sample: a0000007000040008000000000000002}
        name: {description: "Its name, null if its record has none.", type: str, sample: scratch-1}
        reason:
          description: "Why it is left out: it is excluded, shareable, not ready, or of a type that sessions lack."
          type: str
          sample: it is shareable
    proved:
      description:
        - What the last drill has proved of the point, with O(virtinfra.manager.backup_point#module:state=proved). Null
          without one.
      type: dict
      contains:
        time: {description: When it was proved., type: str, sample: "2026-11-28T03:15:00Z"}
        level:
          description:
            - V(checked), all files are sound. V(ran), a VM with the volumes of the point was seen running. V(answered),
              its guest has also answered.
          type: str
          sample: ran
        restore_seconds:
          description: How many seconds it took to make and start the VM. Missing with V(checked).
          type: int
          sample: 95
        watched_seconds:
          description: For how many seconds the VM was seen running. Missing with V(checked).
          type: int
          sample: 60
    future:
      description:
        - Whether the time of the point is more than an hour ahead of the clock of the data mover, because that clock or
          another one was wrong. Such a point does not count until its time has come.
      type: bool
      sample: false
    whole:
      description:
        - Whether the point can be restored completely. Its files and those that they are based on are there, and no
          volume of the VM is missing.
      type: bool
      sample: true
    problems:
      description: Why it cannot.
      type: list
      elements: str
      sample: []
checkpoints:
  description: The volumes in the newest point of each VM.
  returned: success
  type: list
  elements: dict
  contains:
    vm_uuid: {description: The uuid of the VM., type: str, sample: a0000004000040008000000000000001}
    volume_uuid: {description: The uuid of the volume., type: str, sample: a0000007000040008000000000000001}
    checkpoint:
      description:
        - The bitmap name of its newest whole copy, for O(virtinfra.manager.cbt_task#module:bitmap_name).
        - Null if no increment is possible, because the volume was restored after the point, or has no whole copy.
      type: str
      sample: bitmap-00000009
    point: {description: The point of this copy., type: str, sample: 20261127T021500Z}
running:
  description: The tasks that copy or restore volumes now.
  returned: success
  type: list
  elements: dict
  contains:
    vm_uuid: {description: The uuid of the VM., type: str, sample: a0000004000040008000000000000001}
    point: {description: The point., type: str, sample: 20261127T021500Z}
    volume_uuid: {description: The volume that is read or written., type: str, sample: a0000007000040008000000000000001}
    step:
      description: "What is done: V(full), V(incremental), V(compared), V(restore),
        V(check) of the files before a restore, or V(verify)."
      type: str
      sample: incremental
    bytes_done: {description: How many bytes of the step are done., type: int, sample: 524288}
    bytes_total: {description: How many bytes the step has., type: int, sample: 1048576}
    bytes_per_second: {description: How many bytes were done in a second., type: int, sample: 524288}
    seconds_left: {description: "How many seconds are left, null if it has just begun.", type: int, sample: 1}
    host: {description: The name of the data mover., type: str, sample: mover-1}
    process: {description: The process id., type: int, sample: 4711}
    updated: {description: When the task wrote this., type: str, sample: "2026-11-27T02:15:01Z"}
leftovers:
  description:
    - What tasks that were killed have left of points that they were writing or removing. The next point of the VM
      removes it; of a VM that gets no more points, remove it by hand.
  returned: success
  type: list
  elements: dict
  contains:
    vm_uuid: {description: The uuid of the VM., type: str, sample: a0000004000040008000000000000001}
    folder:
      description: The folder.
      type: str
      sample: /srv/backups/a0000004000040008000000000000001/20261127T021500Z.partial
    file_bytes: {description: The size of its files in bytes., type: int, sample: 1048576}
runs:
  description: The runs of M(virtinfra.manager.backup_run) that have taken the VMs.
  returned: success
  type: list
  elements: dict
  contains:
    run: {description: The uuid of the run., type: str, sample: 5f0c3a52-7d3e-4c1b-9a58-0e5a3f1b2c4d}
    owner: {description: What it says about itself., type: dict, sample: {host: controller-1}}
    vm_uuids:
      description: The uuids of all VMs that it has.
      type: list
      elements: str
      sample: [a0000004000040008000000000000001]
    silent_seconds: {description: How long ago it has shown for the last time that it works., type: int, sample: 12}
space:
  description: The space in the file system of the repository.
  returned: success
  type: dict
  contains:
    free_bytes: {description: The bytes that are free for the user of the task., type: int, sample: 879609302220}
    total_bytes: {description: All bytes that it has., type: int, sample: 1099511627776}
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
