# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: escape_controls
short_description: Escape characters that control a terminal
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Escapes line breaks, escape sequences and bidirectional controls, as Python does, C(\x1b) for ESC. Letters of all
    scripts and spaces remain.
  - Ansible shows labels of loops and messages of failed tasks as they are. Use this filter for the names of objects in
    them, so that no name can imitate other output. Messages of the modules are already escaped.
positional: _input
options:
  _input:
    description: A string, for example the name of a VM.
    type: raw
    required: true
"""

EXAMPLES = r"""
- name: Start the VMs
  virtinfra.manager.vm:
    uuid: "{{ item.uuid }}"
    state: running
  loop: "{{ listed.vms }}"
  loop_control:
    label: "{{ item.name | virtinfra.manager.escape_controls }}"
"""

RETURN = r"""
_value:
  description: The text with escaped characters.
  type: str
"""

from collections.abc import Callable
from typing import Any

from ..module_utils._masking.terminal import escape_controls
from ..plugin_utils._jinja.filters import name_arguments


def escape(text: Any) -> str:
    """Return a value as a string without characters that control a terminal."""
    return escape_controls(str(text))


class FilterModule:
    """The filter escape_controls."""

    def filters(self) -> dict[str, Callable[[Any], str]]:
        """Return the filter by its name."""
        return {"escape_controls": name_arguments("escape_controls", escape)}
