# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is PRIVATE to the collection. It can have breaking changes at any time.

"""Validate the names of hosts and variables that come from a service."""

from __future__ import annotations

import re
import unicodedata

from ansible.constants import INTERNAL_STATIC_VARS
from ansible.utils.vars import isidentifier
from ansible.vars.reserved import get_reserved_names
from ansible_collections.virtinfra.manager.plugins.module_utils._addresses import is_ipv6, is_localhost

# The maximum length of a host name, in characters.
MAX_NAME_LENGTH = 253
_RESERVED = frozenset(get_reserved_names()) | INTERNAL_STATIC_VARS
_RESERVED_GROUPS = frozenset(("all", "ungrouped"))
# \w matches letters and digits of all scripts, but not combining marks.
_UNSAFE_IN_NAMES = re.compile(r"[^\w. -]")


def is_host_name(name: str, allow_localhost: bool = False) -> bool:
    """Return whether a name can be used as a host name.

    A host name is also used as a host pattern, a file name (host_vars, fact caches), an argument of ssh, and before
    core 2.19 a template. So it must consist of letters and digits of any script, ``.``, ``_``, ``-`` and inner spaces,
    or be an IPv6 address. It must not be a group of every inventory or, unless ``allow_localhost``, refer to this
    machine.
    """
    if not 0 < len(name) <= MAX_NAME_LENGTH or name in _RESERVED_GROUPS or (not allow_localhost and is_localhost(name)):
        return False
    if name[0] in "-. " or name[-1] == " ":
        return False
    return is_ipv6(name) or all(unicodedata.category(char)[0] == "M" for char in _UNSAFE_IN_NAMES.findall(name))


def is_variable_name(name: str) -> bool:
    """Return whether a name is a valid variable name that Ansible does not reserve."""
    return isidentifier(name) and name not in _RESERVED and not name.startswith("ansible_")
