# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: to_datetime
short_description: Turn a timestamp of the service into ISO 8601
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Turns timestamps such as C(Jan 6, 2017 3:51:16 AM) into C(2017-01-06T03:51:16), which can be sorted and compared.
  - The service's timestamps are in its own local time and tell no zone, so neither does the result.
positional: _input
options:
  _input:
    description: A timestamp, as in C(create_date) and C(last_op_date) of a record.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Show which hosts are new this year
  ansible.builtin.debug:
    msg: "{{ item.name }}"
  loop: "{{ listed.hosts }}"
  when: item.create_date | virtinfra.manager.to_datetime >= '2026-01-01'
"""

RETURN = r"""
_value:
  description: The same moment in ISO 8601.
  type: str
"""

from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError
from ansible_collections.virtinfra.manager.plugins.module_utils._records import to_datetime


def iso_8601(timestamp: Any) -> str:
    """Return a timestamp of the service in ISO 8601; AnsibleFilterError when it is none."""
    try:
        return to_datetime(str(timestamp)).isoformat()
    except ValueError as error:
        raise AnsibleFilterError(f"to_datetime: {error}") from error


class FilterModule:
    """The filter to_datetime."""

    def filters(self) -> dict[str, Callable[[Any], str]]:
        """Return the filter by its name."""
        return {"to_datetime": iso_8601}
