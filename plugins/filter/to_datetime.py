# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: to_datetime
short_description: Convert a timestamp of the service to ISO 8601
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Converts timestamps such as C(Jan 6, 2017 3:51:16 AM) to C(2017-01-06T03:51:16), which can be sorted and compared.
  - The timestamps are in the local time of the service and have no time zone. The result has none either.
positional: _input
options:
  _input:
    description: A timestamp, for example C(create_date) or C(last_op_date) of a record.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Show the hosts that were added this year
  ansible.builtin.debug:
    msg: "{{ item.name }}"
  loop: "{{ listed.hosts }}"
  when: item.create_date | virtinfra.manager.to_datetime >= '2026-01-01'
"""

RETURN = r"""
_value:
  description: The timestamp in ISO 8601.
  type: str
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ansible.errors import AnsibleFilterError

from ..module_utils._api.records import to_datetime
from ..plugin_utils._jinja.filters import name_arguments


def format_iso_8601(timestamp: Any) -> str:
    """Return a timestamp of the service in ISO 8601; raise AnsibleFilterError when it is invalid."""
    if isinstance(timestamp, Iterable) and not isinstance(timestamp, (str, Mapping)):
        raise AnsibleFilterError(
            "to_datetime: takes one timestamp, not a list; write map('virtinfra.manager.to_datetime')"
        )
    try:
        return to_datetime(str(timestamp)).isoformat()
    except ValueError as error:
        raise AnsibleFilterError(f"to_datetime: {error}") from error


class FilterModule:
    """The filter to_datetime."""

    def filters(self) -> dict[str, Callable[[Any], str]]:
        """Return the filter by its name."""
        return {"to_datetime": name_arguments("to_datetime", format_iso_8601)}
