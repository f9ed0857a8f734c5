# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: batch_report
short_description: Build the entries of a report from the results of batch
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Builds one entry for each object that a task with the module M(virtinfra.manager.batch) changed, and a second one
    tried again, as the reports of the roles have them.
positional: _input, done
options:
  _input:
    description: The objects, each with V(name) and V(uuid).
    type: list
    elements: dict
    required: true
  done:
    description:
      - The registered result of the task. Objects for which it has none, for example because the task was skipped, have
        the outcome V(skipped). If all failed for the same reason before the first one, they have that reason.
    type: dict
    required: true
  again:
    description: The registered result of the second task, for those that failed. It takes precedence.
    type: dict
    default: {}
  common:
    description: Members of all entries.
    type: dict
    default: {}
  reason:
    description: Why objects were skipped.
    type: str
"""

EXAMPLES = r"""
- name: Stop VMs
  virtinfra.manager.batch:
    module: vm
    common: {state: stopped}
    objects:
      - uuid: a0000004000040008000000000000001
  register: done

- name: Show what was done
  ansible.builtin.debug:
    msg: >-
      {{ [{'uuid': 'a0000004000040008000000000000001', 'name': 'vm-1'}] | virtinfra.manager.batch_report(done)
         | virtinfra.manager.report_table('VMs') }}
"""

RETURN = r"""
_value:
  description:
    - The entries, each with V(name), V(uuid), V(outcome), V(error) and V(powered_off), which is whether the second task
      changed the object. The outcome is V(changed), V(unchanged), V(failed) or V(skipped).
  type: list
  elements: dict
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

Record = Mapping[str, Any]


def build_batch_report(
    objects: Sequence[Record],
    done: Record,
    again: Record | None = None,
    common: Record | None = None,
    reason: str | None = None,
) -> list[dict[str, Any]]:
    """Return an entry for each object, from its last result."""
    first, second = (_list_results(result, objects) for result in (done, again or {}))
    entries = []
    for item in objects:
        results = [results[item["uuid"]] for results in (first, second) if item["uuid"] in results]
        last = results[-1] if results else {"skipped": True}
        is_failed, is_skipped = bool(last.get("failed")), bool(last.get("skipped"))
        is_changed = any(result.get("changed") for result in results)
        outcome = "failed" if is_failed else "skipped" if is_skipped else "changed" if is_changed else "unchanged"
        entries.append(
            {
                **(common or {}),
                "name": item["name"],
                "uuid": item["uuid"],
                "outcome": outcome,
                "powered_off": not is_failed and bool(second.get(item["uuid"], {}).get("changed")),
                "error": last.get("msg") if is_failed else reason if is_skipped else None,
            }
        )
    return entries


def _list_results(result: Record, objects: Sequence[Record]) -> dict[str, Record]:
    """Return the results of a task by the uuids of its objects; that of the whole task if it has no others."""
    if "results" in result:
        return {each["item"]["uuid"]: each for each in result["results"]}
    return dict.fromkeys((item["uuid"] for item in objects), result) if result.get("failed") else {}


class FilterModule:
    """The filter batch_report."""

    def filters(self) -> dict[str, Callable[..., list[dict[str, Any]]]]:
        """Return the filter by its name."""
        return {"batch_report": build_batch_report}
