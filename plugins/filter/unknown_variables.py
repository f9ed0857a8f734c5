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
  - Words of C(-e) that set no variable which can be read, such as those after a blank in a value, are named, too, as
    are variables of C(-e) with the names of options of the connection, which only the environment sets.
  - A variable of C(-e) that ends with C(pattern) is meant for a playbook with a pattern that is not set. A file of
    C(-e) may have the patterns of other playbooks.
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
from collections.abc import Callable, Collection, Sequence
from typing import Any

from ..module_utils._api.errors import count_slips, describe_unknown_names
from ..plugin_utils._jinja.filters import name_arguments
from ..plugin_utils._site.command_line import (
    describe_all_lost_words,
    describe_unread_options,
    is_on_command_line,
    list_extra_variables,
    read_environment,
)
from ..plugin_utils._site.playbooks import PLAYBOOKS
from ..plugin_utils._site.variables import load_role_options

TAKES = "the name of a playbook of this collection, and a list of names of variables"

# How many letters of a name may be wrong.
MAX_SLIPS = 2

# It contacts no service, and users may have variables of any name in their chat_message.
NO_SERVICE = "send_to_chat"

_PATTERN = re.compile("(^|_)pattern$")

_OF_PLAYBOOKS = frozenset(name for _role, own in PLAYBOOKS.values() for name in own)


def describe_unknown(playbook: str, names: Collection[str]) -> str:
    """Return a sentence on each variable that is meant for a playbook, and is not its own, ``""`` if there is none.

    A sentence on what ``-e`` gives in vain comes before them.
    """
    role, own = PLAYBOOKS[playbook]
    options = load_role_options(role) if role else {}
    if vain := describe_all_lost_words(options, own) or _describe_unread(playbook):
        return vain
    if playbook == role:
        return ""
    near = _find_near(names, own)
    unknown = [name for name in sorted({*names, *near}) if name in near or _has_prefix(name, playbook, own)]
    listed = f" Its own variables are {', '.join(own)}." if own else ""
    listed += f" Those of its role begin with {role}_." if role else ""

    def suggest(name: str) -> str:
        of_role = f"{role}{name.removeprefix(playbook)}"
        meant = near.get(name) or (of_role if of_role in options else "")
        return f" Did you mean {meant}?" if meant else listed

    return describe_unknown_names(f"the playbook {playbook} has no variable", unknown, suggest) if unknown else ""


def _describe_unread(playbook: str) -> str:
    """Return a sentence on options of the connection that are given to a playbook as variables."""
    return "" if playbook == NO_SERVICE else describe_unread_options(read_environment())


def _find_near(names: Collection[str], own: Sequence[str]) -> dict[str, str]:
    """Return the names that are nearly those of own variables of a playbook, with these."""
    # A play may keep a value in a variable of its own, from which the one that is meant is set.
    unset = [name for name in own if name not in names]
    near = {name: meant for name in sorted(names) for meant in unset if name not in own and is_near(name, meant)}
    # Other patterns than those of -e, as of inventories, may have any other purpose, and several playbooks one file.
    foreign = [name for name in list_extra_variables() if _PATTERN.search(name) and name not in own]
    patterns = [name for name in foreign if name not in _OF_PLAYBOOKS or is_on_command_line(name)]
    return near | {name: meant for name in patterns for meant in unset if _PATTERN.search(meant)}


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
        return {"unknown_variables": name_arguments("unknown_variables", describe_unknown, TAKES)}
