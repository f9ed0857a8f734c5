# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is PRIVATE to the collection. It can have breaking changes at any time.

"""Find CBT tasks by the VMs that they protect, and plan their changes. Section "CBT tasks"."""

from __future__ import annotations

from dataclasses import replace

from .._api.errors import Unsupported
from .._api.records import Record
from .._client.client import Client
from .._client.lists import (
    query,
    require_unique,
)
from .._engine.plan import Current, PlannedCall, ResourceSpec, build_default_plan
from .finders import find_by_query


def add_resources(task: Record) -> Record:
    """Return a task with ``resourceUuids`` and ``vmInstanceUuid``, the first of them, if ``resourceRefs`` has any."""
    refs = [ref["resourceUuid"] for ref in task.get("resourceRefs") or [] if ref.get("resourceUuid")]
    return {**task, "resourceUuids": refs, "vmInstanceUuid": refs[0]} if refs else task


def protects(task: Record, vm_uuid: str) -> bool:
    """Return whether a task protects a VM; raise Unsupported if the record does not show the VMs.

    ``task`` is what `add_resources` returns.
    """
    if task.get("resourceRefs") is None:
        raise Unsupported(
            f"the service does not show which VMs the CBT task {task.get('uuid')} protects, so tasks cannot be selected"
            " by vm, only by name or uuid"
        )
    return vm_uuid in task.get("resourceUuids", [])


def add_all_resources(task: Record) -> Record:
    """Return a task with the uuids of the VMs that it protects, None if the service does not show them."""
    return {"vmInstanceUuid": None, "resourceUuids": None, **add_resources(task)}


def find_cbt_task(client: Client, desired: Record) -> Record | None:
    """Read a CBT task by its uuid, its name, or one of the VMs that it protects.

    Raise Unsupported when no task of the VM is found, but some tasks do not show the VMs that they protect.
    """
    task = find_by_query("QueryCbtTask", "uuid", "name", view=add_resources)(client, desired)
    vm = desired.get("vmInstanceUuid")
    if vm and not (task or desired.get("uuid") or desired.get("name")):
        task = _find_task_of_vm(client, vm)
    if task and vm in task.get("resourceUuids", ()):
        return {**task, "vmInstanceUuid": vm}
    return task


def _find_task_of_vm(client: Client, vm: str) -> Record | None:
    tasks = [add_resources(task) for task in query(client, "QueryCbtTask")]
    if task := require_unique([task for task in tasks if vm in task.get("resourceUuids", ())], f"the vm {vm!r}"):
        return task
    return next((task for task in tasks if protects(task, vm)), None)


def find_other_cbt_task(client: Client, params: Record) -> str | None:
    """Return why the service would refuse to create a CBT task: another one protects a VM; None if it would not.

    Section "Operations", CreateCbtTask: a VM has one task.
    """
    vms = {params.get("vmInstanceUuid"), *params.get("resourceUuids", ())}
    for task in map(add_resources, query(client, "QueryCbtTask")):
        if protected := vms.intersection(task.get("resourceUuids", ())):
            return (
                f"the VM {min(protected)} has the CBT task {task.get('name')!r} ({task.get('uuid')}), and a VM has"
                " one task. To use that task, omit name and give vm."
            )
    return None


def plan_cbt_task(resource: ResourceSpec, state: str, desired: Record, current: Current) -> list[PlannedCall]:
    """Plan the change of a task. Warn when a task that one VM selects is stopped or deleted for other VMs too."""
    steps = build_default_plan(resource, state, desired, current)
    others = [uuid for uuid in (current.record or {}).get("resourceUuids", ()) if uuid != desired.get("vmInstanceUuid")]
    if not others or state in ("present", "enabled") or not desired.keys().isdisjoint(("uuid", "name")):
        return steps
    return [replace(step, warning=f"the task also protects {', '.join(others)}") for step in steps]
