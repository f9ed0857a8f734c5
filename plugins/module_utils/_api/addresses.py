# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is PRIVATE to the collection. It can have breaking changes at any time.

"""Validate addresses: whether a text is one, and whether it refers to this machine."""

from __future__ import annotations

import ipaddress
import re
import socket
import unicodedata

_ADDRESS = re.compile(r"[0-9A-Za-z:][0-9A-Za-z.:_-]{0,252}")
_LOCALHOST = re.compile(
    r"(?:.*\.)?localhost(\.localdomain)?|localhost[46](\.localdomain[46]?)?|ip6-(localhost|loopback)|loopback"
)


def is_address(text: str, allow_localhost: bool = False) -> bool:
    """Return whether a text can be used as ansible_host: an IP address or a name, and not an option of ssh.

    Unless ``allow_localhost``, it must not refer to this machine.
    """
    is_valid = _ADDRESS.fullmatch(text) is not None and (":" not in text or is_ipv6(text))
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


def is_ipv6(text: str) -> bool:
    """Return whether a text is an IPv6 address without a zone."""
    try:
        return ":" in text and ipaddress.IPv6Address(text).scope_id is None
    except ValueError:
        return False
