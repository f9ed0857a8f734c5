# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Fail where --limit leaves no host of a play."""

from __future__ import annotations

DOCUMENTATION = r"""
name: required_hosts
short_description: Fail if --limit leaves no host of a play
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Returns the pattern of a play, and fails if C(--limit) leaves none of its hosts. Ansible skips such a play and ends
    with 0, so the playbooks of this collection, most of which run on localhost, would do nothing without a word.
options:
  _terms:
    description: The pattern.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Read the hosts
  hosts: "{{ lookup('virtinfra.manager.required_hosts', 'localhost') }}"
  tasks:
    - name: Read the hosts
      virtinfra.manager.host_info:
"""

RETURN = r"""
_raw:
  description: The pattern.
  type: list
  elements: str
"""

from ..module_utils._python import check_python

check_python()

from typing import Any

from ansible.errors import AnsibleLookupError
from ansible.plugins.lookup import LookupBase

from ..plugin_utils._run.hosts import select_hosts


class LookupModule(LookupBase):
    """Returns the pattern of a play that has hosts."""

    def run(self, terms: list[str], variables: dict[str, Any] | None = None, **dummy: Any) -> list[str]:
        """Return the pattern."""
        (pattern,) = terms
        known = variables or {}
        limit = known.get("ansible_limit")
        if limit and not select_hosts(pattern, known["groups"], limit):
            raise AnsibleLookupError(describe_limit(pattern, limit))
        return terms


def describe_limit(pattern: str, limit: str) -> str:
    """Return what a limit leaves out, and what to do."""
    if pattern == "localhost":
        return (
            f"This playbook did nothing: --limit {limit} leaves out localhost, where it runs. Omit --limit: its"
            " variables select the objects. Or add localhost to the limit and to the inventory."
        )
    return f"This playbook did nothing: --limit {limit} leaves no host. Check it, and the inventory that -i gives."
