# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Fail where --limit leaves no host of a play, or --tags no task of a playbook of the collection."""

from __future__ import annotations

DOCUMENTATION = r"""
name: required_hosts
short_description: Fail if --limit leaves no host of a play
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Returns the pattern of a play, and fails if C(--limit) leaves none of its hosts. Ansible skips such a play and ends
    with 0, so the playbooks of this collection, most of which run on localhost, would do nothing without a word.
  - In these playbooks, unless another playbook imports them, it also fails if C(--tags) or C(--skip-tags) leaves out
    their tasks, which have no tags.
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

from collections.abc import Collection
from pathlib import Path
from typing import Any

from ansible import context
from ansible.errors import AnsibleLookupError
from ansible.plugins.lookup import LookupBase

from ..plugin_utils._run.hosts import select_hosts

PLAYBOOKS = Path(__file__).resolve().parents[2] / "playbooks"

# The tags of a run that select tasks without tags.
UNTAGGED = {"all", "untagged"}


class LookupModule(LookupBase):
    """Returns the pattern of a play that has hosts."""

    def run(self, terms: list[str], variables: dict[str, Any] | None = None, **dummy: Any) -> list[str]:
        """Return the pattern."""
        (pattern,) = terms
        known = variables or {}
        if all(map(is_own, context.CLIARGS.get("args", ()))):
            refuse_tags(known.get("ansible_run_tags", ["all"]), known.get("ansible_skip_tags", ()))
        limit = known.get("ansible_limit")
        if limit and not select_hosts(pattern, known["groups"], limit):
            raise AnsibleLookupError(describe_limit(pattern, limit))
        return terms


def is_own(playbook: str) -> bool:
    """Return whether a playbook of the command line, given by its path or name, is one of the collection."""
    return playbook.startswith("virtinfra.manager.") or Path(playbook).resolve().parent == PLAYBOOKS


def refuse_tags(run: Collection[str], skipped: Collection[str]) -> None:
    """Raise AnsibleLookupError if the tags of a run leave out all tasks without tags.

    A playbook that imports one of the collection can give it tags, and select other plays by theirs.
    """
    for option, tags, is_harmless in (
        ("--tags", run, not UNTAGGED.isdisjoint(run)),
        ("--skip-tags", skipped, UNTAGGED.isdisjoint(skipped)),
    ):
        if not is_harmless:
            raise AnsibleLookupError(
                f"This playbook did nothing: {option} {','.join(sorted(map(str, tags)))} leaves out its tasks, which"
                f" have no tags. Omit {option}."
            )


def describe_limit(pattern: str, limit: str) -> str:
    """Return what a limit leaves out, and what to do."""
    if pattern == "localhost":
        return (
            f"This playbook did nothing: --limit {limit} leaves out localhost, where it runs. Omit --limit: its"
            " variables select the objects. Or add localhost to the limit and to the inventory."
        )
    return f"This playbook did nothing: --limit {limit} leaves no host. Check it, and the inventory that -i gives."
