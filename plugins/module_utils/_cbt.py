# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is PRIVATE to the collection. It can have breaking changes at any time.

"""Read the VMs that a CBT task protects from its record. Section "CBT tasks"."""

from __future__ import annotations

from ansible_collections.virtinfra.manager.plugins.module_utils._errors import Unsupported
from ansible_collections.virtinfra.manager.plugins.module_utils._records import Record


def with_resources(task: Record) -> Record:
    """Return a task with ``resourceUuids`` and ``vmInstanceUuid``, the first of them, if ``resourceRefs`` has any."""
    refs = [ref["resourceUuid"] for ref in task.get("resourceRefs") or [] if ref.get("resourceUuid")]
    return {**task, "resourceUuids": refs, "vmInstanceUuid": refs[0]} if refs else task


def protects(task: Record, vm_uuid: str) -> bool:
    """Return whether a task protects a VM; raise Unsupported if the record does not show the VMs.

    ``task`` is what `with_resources` returns.
    """
    if task.get("resourceRefs") is None:
        raise Unsupported(
            f"the service does not show which VMs the CBT task {task.get('uuid')} protects, so tasks cannot be selected"
            " by vm, only by name or uuid"
        )
    return vm_uuid in task.get("resourceUuids", [])


def with_all_resources(task: Record) -> Record:
    """Return a task with the uuids of the VMs that it protects, None if the service does not show them."""
    return {"vmInstanceUuid": None, "resourceUuids": None, **with_resources(task)}
