# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: unknown_variables
short_description: Say which variables are meant for a playbook of this collection, and are unknown to it
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Returns an empty string if a playbook, such as C(maintenance_walk), knows all variables that can be meant for it. A
    variable is meant for it if its name begins with that of the playbook, or is nearly one of its own variables. The
    playbooks with other names than their roles, or without a role, use it before they do anything, because with a
    misspelt pattern they would process all hosts. A role checks the variables that begin with its own name.
positional: _input
options:
  _input:
    description: The name of the playbook.
    type: str
    required: true
  names:
    description: The names of all variables, as P(ansible.builtin.varnames#lookup) returns them.
    type: list
    elements: str
    required: true
  words:
    description: The variable C(_raw_params), in which Ansible keeps the words of C(-e) that set no variable.
    type: str
    default: ''
"""

EXAMPLES = r"""
- name: Check the names of variables
  ansible.builtin.assert:
    that: "'maintenance_walk' | virtinfra.manager.unknown_variables(query('ansible.builtin.varnames', '.')) == ''"
"""

RETURN = r"""
_value:
  description: The words, or the unknown variables with what was probably meant, or an empty string.
  type: str
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from ..module_utils._api.errors import count_slips, describe_unknown_names
from ..plugin_utils._jinja.filters import name_arguments

# The playbooks: each with the role, if it has one, which checks its own variables, and the variables that only the
# playbook has.
PLAYBOOKS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "back_up_vms": ("vm_backup", ("back_up_vms_pattern",)),
    "capacity_report": ("capacity_report", ()),
    "demo": ("", ("demo_cluster", "demo_hosts", "demo_ssh_password")),
    "describe": ("site_description", ()),
    "drift": ("site_drift", ()),
    "evacuate_hosts": ("host_evacuation", ()),
    "maintenance_walk": ("host_maintenance", ("maintenance_walk_pattern", "maintenance_walk_serial")),
    "notifications": ("notifications", ()),
    "onboard_hosts": ("host_onboarding", ("onboard_hosts_pattern",)),
    "power_vms": ("vm_power", ()),
    "prove_backups": ("vm_backup_drill", ()),
    "remove_hosts": ("host_removal", ("remove_hosts_pattern", "remove_hosts_serial")),
    "repair_host": ("host_maintenance", ()),
    "restore_vm_backup": ("vm_backup_restore", ()),
    "restore_vms": ("vm_restore", ()),
    # Users may have other variables that begin with chat_, such as the channel in their chat_message.
    "send_to_chat": ("", ("chat_batch_size", "chat_entries", "chat_message", "chat_subject", "chat_url_variable")),
    "shut_down_site": ("site_shutdown", ()),
    "snapshot_vms": ("vm_snapshots", ()),
    "vm_backup_report": ("vm_backup_report", ()),
}

# How many letters of a name may be wrong.
MAX_SLIPS = 2


def describe_unknown(playbook: str, names: Collection[str], words: str = "") -> str:
    """Return a sentence on each variable that is meant for a playbook, and is not its own, ``""`` if there is none.

    ``words`` are those of ``-e`` that set no variable. The first is shown: one after a colon may be a secret.
    """
    role, own = PLAYBOOKS[playbook]
    if words:
        word = words.split()[0]
        remedy = f"write -e @{word} to read a file, or -e name=value to set a variable"
        split = _describe_space(role, own, names, word)
        return f"-e {word} sets no variable: {remedy}{split}"
    if playbook == role:
        return ""
    # A play may keep a value in a variable of its own, from which the one that is meant is set.
    unset = [name for name in own if name not in names]
    near = {name: meant for name in sorted(names) for meant in unset if name not in own and is_near(name, meant)}
    unknown = [name for name in sorted(names) if name in near or _has_prefix(name, playbook, own)]
    listed = f" Its own variables are {', '.join(own)}." if own else ""
    listed += f" Those of its role begin with {role}_." if role else ""

    def suggest(name: str) -> str:
        return f" Did you mean {near[name]}?" if name in near else listed

    return describe_unknown_names(f"the playbook {playbook} has no variable", unknown, suggest) if unknown else ""


def _describe_space(role: str, own: Sequence[str], names: Collection[str], word: str) -> str:
    """Return a sentence, after a period, on the variable with a list that the word may be a part of; empty for a file.

    Each variable with the prefix of the playbook or its role may be a list, so the sentence needs one of them alone.
    """
    given = [name for name in names if name in own or (role and name.startswith(f"{role}_"))]
    if len(given) != 1 or not re.fullmatch(r"[\w-]+", word):
        return ""
    return f". A space ends a value: write commas between several, as in {given[0]}=a,{word}"


def _has_prefix(name: str, playbook: str, own: Sequence[str]) -> bool:
    return name.startswith(f"{playbook}_") and name not in own


def is_near(name: str, meant: str) -> bool:
    """Return whether a name differs from another one in few letters, or lacks words in the middle of it."""
    if count_slips(name, meant) <= MAX_SLIPS:
        return True
    (first, *dummy, last), words = meant.split("_"), name.split("_")
    is_part = len(words) > 1 and set(words[:-1]) < set(meant.split("_"))
    return is_part and words[0] == first and count_slips(words[-1], last) <= 1


class FilterModule:
    """The filter unknown_variables."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filter by its name."""
        return {"unknown_variables": name_arguments("unknown_variables", describe_unknown)}
