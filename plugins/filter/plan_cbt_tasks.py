# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: plan_cbt_tasks
short_description: Find the CBT task of each VM, and the options that change it to a state
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Finds the CBT task that protects each VM of a list, whether it has a state, and the options with which
    M(virtinfra.manager.cbt_task) or M(virtinfra.manager.batch) change or create it.
  - Some services do not send the VMs of a CBT task. There, the task of a VM is the one with the name for its task.
positional: _input, cbt_tasks
options:
  _input:
    description: The VMs, for example RV(virtinfra.manager.vm_info#module:vms). Each needs C(name) and C(uuid).
    type: list
    elements: dict
    required: true
  cbt_tasks:
    description: The CBT tasks, RV(virtinfra.manager.cbt_task_info#module:cbt_tasks).
    type: list
    elements: dict
    required: true
  state:
    description: The state that the tasks should have.
    type: str
    choices: [enabled, disabled, absent]
    default: enabled
  name_prefix:
    description:
      - The text before the name of the VM in the name of its task.
      - The uuid of the VM is appended to the name if another VM of the list has the same name, or if a task of another
        VM has the name of the task.
    type: str
    default: ""
  task_type:
    description: The type of new tasks. Without it, the service needs none.
    type: str
"""

EXAMPLES = r"""
- name: Read the VMs
  virtinfra.manager.vm_info:
  register: listed

- name: Read the CBT tasks
  virtinfra.manager.cbt_task_info:
  register: tasks

- name: List the VMs that no enabled CBT task protects
  ansible.builtin.debug:
    msg: >-
      {{ listed.vms | virtinfra.manager.plan_cbt_tasks(tasks.cbt_tasks) | rejectattr('is_done')
         | map(attribute='vm.name') }}
"""

RETURN = r"""
_value:
  description: One entry for each VM, in the order of the VMs.
  type: list
  elements: dict
  contains:
    vm:
      description: The VM as it was given.
      type: dict
    task_uuid:
      description: The uuid of the task that protects the VM. The last one if several tasks do, and null if none does.
      type: str
    is_done:
      description:
        - Whether the task has the state. A VM without a task needs none for V(disabled) and V(absent).
      type: bool
    is_shared:
      description: Whether the task also protects other VMs.
      type: bool
    has_namesake:
      description: Whether another VM of the list has the same name.
      type: bool
    options:
      description: The options of M(virtinfra.manager.cbt_task), except O(virtinfra.manager.cbt_task#module:state).
      type: dict
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ansible.errors import AnsibleFilterError

# The status of a task in each state.
STATUS = {"enabled": "Running", "disabled": "Stopped", "absent": None}

Record = Mapping[str, Any]


def plan_cbt_tasks(
    vms: Sequence[Record],
    cbt_tasks: Sequence[Record],
    state: str = "enabled",
    name_prefix: str = "",
    task_type: str | None = None,
) -> list[dict[str, Any]]:
    """Return an entry for each VM: its task, and the options to change or create it. Raise AnsibleFilterError."""
    if state not in STATUS:
        raise AnsibleFilterError(f"plan_cbt_tasks: state must be one of {', '.join(STATUS)}, not {state!r}")
    by_vm: dict[str, Record] = {}
    by_name: dict[str, Record] = {}
    vms_by_name: dict[str, set[str]] = {}
    for task in cbt_tasks:
        if task["resource_uuids"] is None:
            by_name[task["name"]] = task
        elif task["resource_uuids"]:
            by_vm.update(dict.fromkeys(task["resource_uuids"], task))
            vms_by_name.setdefault(task["name"], set()).update(task["resource_uuids"])
    count = Counter(vm["name"] for vm in vms)
    entries = []
    for vm in vms:
        name, uuid = f"{name_prefix}{vm['name']}", vm["uuid"]
        has_namesake = count[vm["name"]] > 1
        if has_namesake or uuid not in vms_by_name.get(name, {uuid}):
            name = f"{name}-{uuid}"
        current = by_vm.get(uuid) or by_name.get(name)
        new = {"name": name, "vm": uuid}
        if task_type is not None:
            new = {"name": name, "task_type": task_type, "resource_uuids": [uuid]}
        entries.append(
            {
                "vm": vm,
                "task_uuid": current and current["uuid"],
                "is_done": current["status"] == STATUS[state] if current else state != "enabled",
                "is_shared": bool(current and len(current["resource_uuids"] or ()) > 1),
                "has_namesake": has_namesake,
                "options": {"uuid": current["uuid"]} if current else new,
            }
        )
    return entries


class FilterModule:
    """The filter plan_cbt_tasks."""

    def filters(self) -> dict[str, Callable[..., list[dict[str, Any]]]]:
        """Return the filter by its name."""
        return {"plan_cbt_tasks": plan_cbt_tasks}
