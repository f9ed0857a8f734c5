# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: drift_rows
short_description: Complete a plan of drift checks with the results of the modules
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Returns the report of the role P(virtinfra.manager.site_drift#role). What differs is taken from the diff of the
    module, or from its message if it cannot change what differs.
positional: _input, results
options:
  _input:
    description: The plan that P(virtinfra.manager.plan_drift#filter) returns.
    type: list
    elements: dict
    required: true
  results:
    description:
      - For each kind the result of M(virtinfra.manager.batch) in check mode with C(diff), for the objects of the plan
        without an outcome, in their order.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Show what a plan found without any module
  ansible.builtin.debug:
    msg: "{{ plan | virtinfra.manager.drift_rows({}) }}"
  vars:
    plan:
      - {kind: topic, name: topic-1, outcome: missing, error: the service does not have it, options: {}}
"""

RETURN = r"""
_value:
  description: One entry for each object.
  type: list
  elements: dict
  contains:
    kind: {description: The kind of the object., type: str}
    name: {description: The object., type: str}
    outcome:
      description: "V(same), V(differs), V(missing), V(not described), V(skipped) or V(failed)."
      type: str
    error: {description: "What differs, or why the object was not checked; null if it is the same.", type: str}
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ..module_utils._masking.patterns import MASK

Entry = Mapping[str, Any]


def build_rows(plan: Sequence[Entry], results: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the report: an entry for each object of the plan."""
    queues = {kind: iter(batch.get("results") or ()) for kind, batch in results.items()}
    return [_build_row(entry, queues, results.get(entry["kind"]) or {}) for entry in plan]


def _build_row(entry: Entry, queues: Mapping[str, Iterator[Entry]], batch: Mapping[str, Any]) -> dict[str, Any]:
    outcome, error = entry["outcome"], entry["error"]
    if outcome is None:
        result = next(queues.get(entry["kind"], iter(())), None)
        if result is None:
            outcome, error = "failed", str(batch.get("msg") or "the object was not checked")
        elif result.get("failed"):
            # The API cannot change what differs, so no task of a role can repair it.
            is_difference = (result.get("error") or {}).get("code") == "UNCHANGEABLE"
            outcome, error = "differs" if is_difference else "failed", str(result.get("msg"))
        elif result.get("changed"):
            outcome, error = "differs", _describe(result.get("diff"))
        else:
            outcome = "same"
    return {"kind": entry["kind"], "name": entry["name"], "outcome": outcome, "error": error}


def _describe(diff: Any) -> str:
    """Return the members that differ, with the value of the service and the described one."""
    diffs = diff if isinstance(diff, list) else [diff or {}]
    parts = []
    for each in diffs:
        before, after = each.get("before") or {}, each.get("after") or {}
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
            parts += [f"{name} is {before.get(name)!r}, described as {after.get(name)!r}" for name in names]
            # Secrets that differ look the same when they are masked.
            masked = [name for name in after if name not in names and MASK in str(after[name])]
            parts += [f"{name} differs" for name in masked if not names]
    return ", ".join(parts) or "a task would change it"


class FilterModule:
    """The filter drift_rows."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filter by its name."""
        return {"drift_rows": build_rows}
