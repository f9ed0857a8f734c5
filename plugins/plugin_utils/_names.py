# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is PRIVATE to the collection. It can have breaking changes at any time.

"""Validate the names of hosts and variables, and the addresses, that come from a service."""

from __future__ import annotations

import ipaddress
import re
import socket
import unicodedata

from ansible.constants import INTERNAL_STATIC_VARS
from ansible.utils.vars import isidentifier
from ansible.vars.reserved import get_reserved_names

# The maximum length of a host name, in characters.
MAX_NAME_LENGTH = 253
_RESERVED = frozenset(get_reserved_names()) | INTERNAL_STATIC_VARS
_RESERVED_GROUPS = frozenset(("all", "ungrouped"))
# \w matches letters and digits of all scripts, but not combining marks.
_UNSAFE_IN_NAMES = re.compile(r"[^\w. -]")
_ADDRESS = re.compile(r"[0-9A-Za-z:][0-9A-Za-z.:_-]{0,252}")
_LOCALHOST = re.compile(
    r"(?:.*\.)?localhost(\.localdomain)?|localhost[46](\.localdomain[46]?)?|ip6-(localhost|loopback)|loopback"
)


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
    return _is_ipv6(name) or all(unicodedata.category(char)[0] == "M" for char in _UNSAFE_IN_NAMES.findall(name))


def is_address(text: str, allow_localhost: bool = False) -> bool:
    """Return whether a text can be used as ansible_host: an IP address or a name, and not an option of ssh.

    Unless ``allow_localhost``, it must not refer to this machine.
    """
    is_valid = _ADDRESS.fullmatch(text) is not None and (":" not in text or _is_ipv6(text))
    return is_valid and (allow_localhost or not is_localhost(text))


def is_localhost(text: str) -> bool:
    """Return whether a name or an address refers to this machine, in any spelling that a resolver accepts."""
    if not text.isascii():
        # Resolvers map full-width letters and digits to ASCII, and ignore some marks.
        text = "".join(char for char in unicodedata.normalize("NFKC", text) if unicodedata.category(char)[0] != "M")
    text = text.strip().rstrip(".").casefold()
    if ("localhost" in text or "loopback" in text) and _LOCALHOST.fullmatch(text):
        return True
    try:
        if ":" in text:
            address = ipaddress.IPv6Address(text)
            # ::ffff:127.0.0.1 and ::127.0.0.1 stand for IPv4 addresses.
            stands_for_ipv4 = int(address) >> 32 in (0, 0xFFFF)
            return address.is_loopback or (stands_for_ipv4 and _is_local_ipv4(address.packed[-4:]))
        # Resolvers also accept 127.1, 0x7f.1, 017700000001 and 2130706433.
        return text[:1].isdigit() and _is_local_ipv4(socket.inet_aton(text))
    except (OSError, ValueError):
        return False


def _is_local_ipv4(packed: bytes) -> bool:
    """Whether an address is in 127.0.0.0/8, or is 0.0.0.0. The library ipaddress takes ten times as long."""
    return packed[0] == 127 or not any(packed)


def _is_ipv6(text: str) -> bool:
    try:
        return ":" in text and ipaddress.IPv6Address(text).scope_id is None
    except ValueError:
        return False


def is_variable_name(name: str) -> bool:
    """Return whether a name is a valid variable name that Ansible does not reserve."""
    return isidentifier(name) and name not in _RESERVED and not name.startswith("ansible_")
