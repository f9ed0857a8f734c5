# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: columns_to_rows
short_description: Build a list of dictionaries from lists of values
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Builds a list of dictionaries, such as the O(virtinfra.manager.batch#module:objects) of the module
    M(virtinfra.manager.batch) or the entries of a report, from a dictionary with one list for each key.
  - Use it instead of a loop in a template that appends to a list.
positional: _input
options:
  _input:
    description:
      - A dictionary. A list has the values of its key, one for each row. It may be what a filter such as
        P(ansible.builtin.map#filter) returns. Any other value is that of its key in all rows.
      - There must be at least one list, and all lists must have the same length.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Read the hosts
  virtinfra.manager.host_info:
  register: listed

- name: Disable all hosts
  virtinfra.manager.batch:
    module: kvm_host
    objects: >-
      {{ {'uuid': listed.hosts | map(attribute='uuid'), 'state': 'disabled'} | virtinfra.manager.columns_to_rows }}
"""

RETURN = r"""
_value:
  description: The dictionaries, in the order of the values.
  type: list
  elements: dict
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ansible.errors import AnsibleFilterError

from ..plugin_utils._jinja.filters import name_arguments


def build_rows(columns: Any) -> list[dict[str, Any]]:
    """Return a list of dicts for a dict of lists; raise AnsibleFilterError if the lists have different lengths."""
    if not isinstance(columns, Mapping):
        raise AnsibleFilterError("columns_to_rows: the input must be a dictionary with a list for each key")
    lists = {key: list(values) for key, values in columns.items() if _is_list(values)}
    lengths = {key: len(values) for key, values in lists.items()}
    if len(set(lengths.values())) != 1:
        found = ", ".join(f"{key}: {length}" for key, length in lengths.items()) or "no list"
        raise AnsibleFilterError(f"columns_to_rows: give at least one list, and lists of the same length, not {found}")
    count = next(iter(lengths.values()))
    return [{key: lists[key][row] if key in lists else columns[key] for key in columns} for row in range(count)]


def _is_list(values: Any) -> bool:
    return isinstance(values, Iterable) and not isinstance(values, (str, bytes, Mapping))


class FilterModule:
    """The filter columns_to_rows."""

    def filters(self) -> dict[str, Callable[[Any], list[dict[str, Any]]]]:
        """Return the filter by its name."""
        return {"columns_to_rows": name_arguments("columns_to_rows", build_rows)}
