# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: serial_refusal
short_description: Say why a value cannot be the size of the batches of a play
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Returns an empty string for a value that the keyword C(serial) of a play can have, which is a number of hosts, a
    percentage of them, or a list of these. The playbooks that process hosts in batches use it before they do anything,
    because Ansible reads C(0) as all hosts, and ends with a traceback for text such as C(1,2).
positional: _input
options:
  _input:
    description: The value.
    type: raw
    required: true
  variable:
    description: The name of the variable with the value, for the message.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Check the size of the batches
  ansible.builtin.assert:
    that: maintenance_walk_serial | virtinfra.manager.serial_refusal('maintenance_walk_serial') == ''
"""

RETURN = r"""
_value:
  description: What is wrong with the value, or an empty string.
  type: str
"""

import re
from collections.abc import Callable
from typing import Any

from ..plugin_utils._jinja.filters import name_arguments

_SIZE = re.compile(r"0*[1-9][0-9]*%?", re.ASCII)


def refuse_serial(value: Any, variable: str) -> str:
    """Return why a value cannot be the size of batches, an empty string if it can."""
    items = value if isinstance(value, (list, tuple)) else [value]
    if items and all(_SIZE.fullmatch(str(item)) for item in items):
        return ""
    return (
        f"{variable} must be a number of hosts from 1, a percentage of them such as 30%, or a list of these, such as"
        f' -e \'{{"{variable}": [1, "30%"]}}\', not {value!r}'
    )


class FilterModule:
    """The filter serial_refusal."""

    def filters(self) -> dict[str, Callable[[Any, str], str]]:
        """Return the filter by its name."""
        return {"serial_refusal": name_arguments("serial_refusal", refuse_serial)}
