# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: backup_point
short_description: Copy an open backup session into a restore point
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Copies the volumes of a VM, whose CBT task is enabled, into a restore point in a repository, or deletes points.
  - A point has a qcow2 file for each volume and a manifest, in C(REPOSITORY/VM UUID/POINT). An increment has a file
    with what has changed, and the file of an earlier point as its backing file. C(qemu-img convert) restores each of
    them without this collection.
  - A point appears under its name when all of its files are on the disk, and does not change afterwards.
  - The module decides for each volume how it is copied. It makes an increment only from a whole point of the
    repository that has the checkpoint from which the session's bitmap counts. A bitmap that was lost never fails a
    backup.
  - While a task runs, C(.progress.json) in the folder of the VM says how far it is.
    M(virtinfra.manager.backup_point_info) returns it. A task without C(async) shows it, at least twice a minute.
  - A session is a danger for its VM while it is open. So disable the task in any case, for example in the C(always)
    of a block.
requirements:
  - libnbd 1.12 or newer for the platform's Python (package python3-libnbd), O(state=present) only
  - qemu-img and qemu-nbd (package qemu-utils on Debian and Ubuntu, qemu-img on RHEL and Fedora, qemu-tools and qemu-img
    on SUSE), O(state=present) only
extends_documentation_fragment:
  - virtinfra.manager._attributes
  - virtinfra.manager._attributes.mover
  - virtinfra.manager._mover
  - virtinfra.manager._mover.initialize
attributes:
  check_mode:
    support: full
    details:
      - It connects to the volumes to find out how each would be copied, and writes nothing.
  diff_mode:
    support: full
    details:
      - The diff has the names of the points.
  idempotent:
    support: full
    details:
      - A session that the newest point was made of is not copied again. A further session makes a further point.
options:
  state:
    description:
      - V(present) makes a point of an open backup session, and then deletes those that O(keep) does not keep.
      - V(absent) deletes the points in O(points), or those that O(keep) does not keep.
      - V(proved) notes that a drill has proved the points in O(points).
    type: str
    choices: [present, absent, proved]
    default: present
  vm:
    description:
      - The record of the VM, as M(virtinfra.manager.vm_info) returns it. It is required with O(state=present), and is
        saved in the manifest, so that the VM can be made again.
    type: dict
  vm_uuid:
    description: The uuid of the VM, instead of O(vm), with O(state=absent) and O(state=proved).
    type: str
  volumes:
    description:
      - The volumes of the open session, which M(virtinfra.manager.cbt_task) returned as
        RV(virtinfra.manager.cbt_task#module:volume_cbt_backup_infos) when it enabled the task. It is required with
        O(state=present).
    type: list
    elements: dict
  base_checkpoint:
    description:
      - The bitmap name with which the task was enabled. With it, also the bitmap in the reply of the service can be
        used if the exports do not offer one.
    type: str
  mode:
    description:
      - V(auto) makes an increment where one is possible, otherwise a full copy, or a comparison.
      - V(full) begins a new chain.
      - V(compared) reads all data, and writes what differs from the newest point. It is right without any bitmap, so it
        heals a chain whose bitmaps were wrong.
    type: str
    choices: [auto, full, compared]
    default: auto
  verify:
    description:
      - What is compared with the volume while the session is open.
      - "V(written): where the copy was written. An increment is read twice, and nothing else."
      - "V(all): everything that is not zero, which also finds what a bitmap has missed, and damage of the files that
        the copy is based on."
      - "V(none): nothing."
      - A copy that differs is made again, by comparison, or in full if a file that it is based on is damaged. A warning
        says so.
    type: str
    choices: [written, all, none]
    default: written
  compare_spread:
    description:
      - Over how many increments the comparison of a whole volume is spread, V(0) for none. Each increment also compares
        a share of its volume, and reads a share of the files that it is based on, so that after so many increments
        everything was read. A difference makes the copy one by comparison, or a full one, as with O(verify).
    type: int
    default: 0
    version_added: 1.0.0
  ask:
    description:
      - Whether the copy becomes a point only when a task of M(virtinfra.manager.backup_run) with this O(run) decides
        so, in O(virtinfra.manager.backup_run#module:decisions). Use it for exports of a stopped VM, and read before
        whether the VM is still stopped.
    type: bool
    default: false
    version_added: 1.0.0
  exclude_volumes:
    description:
      - Volumes that are not copied, by their names or uuids, or patterns of them such as V(scratch-*). The point names
        them in C(left_out) of RV(point).
    type: list
    elements: str
  compression:
    description: How the files are compressed. V(zstd) needs QEMU 5.1 or newer to read them.
    type: str
    choices: [none, zstd]
    default: none
  min_free_percent:
    description:
      - How much of the file system of the repository must remain free. The task fails before it writes, or while it
        writes, and its point is removed.
    type: int
    default: 10
  keep:
    description:
      - The points to keep. Without any number, all are kept. The newest point is always kept, the newest whole copy of
        each volume, also of one that the VM has no more, and each point that a kept one is based on.
      - Only points that can be restored completely take a place. Points of the future, more than an hour ahead of the
        clock of the data mover, take none and are kept.
      - Nothing is deleted while a point of the VM cannot be read.
    type: dict
    suboptions:
      last:
        description: How many of the newest points to keep.
        type: int
      daily:
        description: For how many days that have a point to keep their newest one. Days are those of UTC.
        type: int
      weekly:
        description: For how many weeks that have a point to keep their newest one.
        type: int
      monthly:
        description: For how many months that have a point to keep their newest one.
        type: int
  points:
    description:
      - The names of the points to delete, with O(state=absent). The task fails if another point needs one.
      - With O(state=proved), the names of the points that were proved.
    type: list
    elements: str
  proof:
    description:
      - What was proved, with O(state=proved). A file C(proved.json) beside the manifest of the point gets it.
        M(virtinfra.manager.backup_point_info) returns it.
    type: dict
    suboptions:
      time:
        description: When it was proved, in UTC, such as V(2026-11-28T03:15:00Z).
        type: str
        required: true
      level:
        description:
          - V(checked), all files are sound. V(ran), a VM with the volumes of the point was seen running. V(answered),
            its guest has also answered.
        type: str
        choices: [checked, ran, answered]
        required: true
      restore_seconds:
        description: How many seconds it took to make and start the VM, which is what a restore will take.
        type: int
      watched_seconds:
        description: For how many seconds it was seen running.
        type: int
seealso:
  - module: virtinfra.manager.backup_point_info
  - module: virtinfra.manager.backup_restore
  - module: virtinfra.manager.cbt_task
"""

EXAMPLES = r"""
- name: Copy an open session, and keep the last seven points
  virtinfra.manager.backup_point:
    repository: /srv/backups
    vm: "{{ vms[0] }}"
    volumes: "{{ session.volume_cbt_backup_infos }}"
    keep:
      last: 7
  delegate_to: mover

- name: Delete two points of a VM that need each other
  virtinfra.manager.backup_point:
    repository: /srv/backups
    vm_uuid: "{{ vms[0].uuid }}"
    points: [20261101T021500Z, 20261102T021500Z]
    state: absent
  delegate_to: mover

- name: Keep the points of seven days, four weeks and twelve months
  virtinfra.manager.backup_point:
    repository: /srv/backups
    vm_uuid: "{{ vms[0].uuid }}"
    keep:
      daily: 7
      weekly: 4
      monthly: 12
    state: absent
  delegate_to: mover

- name: Note that a VM that was made of a point has run
  virtinfra.manager.backup_point:
    repository: /srv/backups
    vm_uuid: "{{ vms[0].uuid }}"
    points: [20261127T021500Z]
    proof:
      time: "2026-11-28T03:15:00Z"
      level: ran
      restore_seconds: 95
    state: proved
  delegate_to: mover
"""

RETURN = r"""
point:
  description:
    - The new point, or that which was made of the session before. Null with O(state=absent) and O(state=proved).
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
problems:
  description:
    - What a person should look at. It is also shown as warnings.
    - A copy that differed and was made again, files that are damaged and the points that need them, points that cannot
      be read, are not whole, or are of the future.
  returned: success
  type: list
  elements: str
  sample: []
kept:
  description: The points that were kept because they are wanted.
  returned: success
  type: list
  elements: str
  sample: [20261127T021500Z]
kept_as_bases:
  description: The points that were kept only because others are based on them.
  returned: success
  type: list
  elements: str
  sample: [20261126T021500Z]
deleted:
  description: The points that were deleted.
  returned: success
  type: list
  elements: str
  sample: []
"""

from ..module_utils._python import REQUIRED_ON_MOVERS, check_python

check_python(REQUIRED_ON_MOVERS)

from ..module_utils._backup.parts import TO_COPY
from ..module_utils._backup.process import MoverModule, run_on_mover
from ..module_utils._backup.tasks import keep_copy_result, run_backup_point

MODULE = MoverModule(
    run_backup_point,
    parts=lambda params: TO_COPY if params["state"] == "present" else (),
    options={
        "repository": {"type": "path", "required": True},
        "initialize": {"type": "bool", "default": False},
        "state": {"type": "str", "choices": ["present", "absent", "proved"], "default": "present"},
        "vm": {"type": "dict"},
        "vm_uuid": {"type": "str"},
        "volumes": {"type": "list", "elements": "dict"},
        "base_checkpoint": {"type": "str"},
        "mode": {"type": "str", "choices": ["auto", "full", "compared"], "default": "auto"},
        "verify": {"type": "str", "choices": ["written", "all", "none"], "default": "written"},
        "exclude_volumes": {"type": "list", "elements": "str"},
        "compare_spread": {"type": "int", "default": 0},
        "compression": {"type": "str", "choices": ["none", "zstd"], "default": "none"},
        "rate_limit": {"type": "int", "default": 0},
        "min_free_percent": {"type": "int", "default": 10},
        "keep": {
            "type": "dict",
            "options": {rule: {"type": "int"} for rule in ("last", "daily", "weekly", "monthly")},
        },
        "points": {"type": "list", "elements": "str"},
        "proof": {
            "type": "dict",
            "options": {
                "time": {"type": "str", "required": True},
                "level": {"type": "str", "choices": ["checked", "ran", "answered"], "required": True},
                "restore_seconds": {"type": "int"},
                "watched_seconds": {"type": "int"},
            },
        },
        "run": {"type": "str"},
        "ask": {"type": "bool", "default": False},
    },
    constraints={
        "mutually_exclusive": [("vm", "vm_uuid"), ("keep", "points")],
        "required_one_of": [("vm", "vm_uuid")],
        "required_if": [
            ("state", "present", ("vm", "volumes")),
            ("state", "absent", ("keep", "points"), True),
            ("state", "proved", ("points", "proof")),
        ],
    },
    keep=keep_copy_result,
)


def main() -> None:
    """Run as a module."""
    run_on_mover(MODULE)


if __name__ == "__main__":
    main()
