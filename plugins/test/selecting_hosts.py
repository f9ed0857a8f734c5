# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: selecting_hosts
short_description: Test whether a pattern selects hosts of a play
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Tests whether a pattern, as the keyword C(hosts) of a play has it, selects at least one of some hosts. Ansible
    skips a play whose pattern selects none, and ends with 0, so the playbooks that process the hosts of an inventory
    use it before they do anything.
positional: _input
options:
  _input:
    description: A pattern, or a list of patterns.
    type: raw
    required: true
  groups:
    description: The variable C(groups).
    type: dict
    required: true
  hosts:
    description:
      - The names of the hosts of which one must be selected. C(ansible_play_hosts_all) of a play for C(localhost,all)
        has those that C(--limit) leaves.
    type: list
    elements: str
    required: true
"""

EXAMPLES = r"""
- name: Require a host
  ansible.builtin.assert:
    that: "'hypervisors,!host-7' is virtinfra.manager.selecting_hosts(groups, ansible_play_hosts_all)"
"""

RETURN = r"""
_value:
  description: Whether the pattern selects one of the hosts.
  type: bool
"""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from ..plugin_utils._jinja.filters import name_arguments
from ..plugin_utils._run.hosts import select_hosts

TAKES = "a pattern, the variable groups, and a list of names of hosts"


def is_selecting_hosts(pattern: Any, groups: Mapping[str, Collection[str]], hosts: Collection[str]) -> bool:
    """Return whether a pattern of a play selects one of some hosts."""
    return not set(hosts).isdisjoint(select_hosts(pattern, groups))


class TestModule:
    """The test selecting_hosts."""

    def tests(self) -> dict[str, Callable[..., bool]]:
        """Return the test by its name."""
        return {"selecting_hosts": name_arguments("selecting_hosts", is_selecting_hosts, TAKES)}
