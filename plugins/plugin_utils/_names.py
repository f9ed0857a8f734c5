# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is PRIVATE to the collection. It can have breaking changes at any time.

"""Names for hosts and variables: what Ansible can take, and what becomes of the rest."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from keyword import iskeyword

from ansible.constants import INTERNAL_STATIC_VARS, LOCALHOST
from ansible.vars.reserved import get_reserved_names
from ansible_collections.virtinfra.manager.plugins.module_utils._errors import Failure

LONGEST = 253
_RESERVED = frozenset(get_reserved_names()) | INTERNAL_STATIC_VARS
_TAKEN = frozenset((*LOCALHOST, "all", "ungrouped"))
_HOST_NAME = re.compile(rf"(?![-.#])[^/\\{{}}]{{1,{LONGEST}}}")
_ADDRESS = re.compile(r"[0-9A-Za-z:][0-9A-Za-z.:_-]{0,252}")


def is_host_name(name: str) -> bool:
    """Whether a name may become that of a host.

    It becomes the name of files (host_vars, fact caches), an argument of ssh, and before core 2.19 a template, so it
    has none of the characters that are special there. It is not this machine, nor a group that every inventory has.
    """
    return _HOST_NAME.fullmatch(name) is not None and name.isprintable() and name not in _TAKEN


def is_address(text: str) -> bool:
    """Whether a text may become ansible_host: an IP address or a name, nothing that ssh would take for an option."""
    return _ADDRESS.fullmatch(text) is not None


def is_variable_name(name: str) -> bool:
    """Whether a name can be that of a variable, and is not one that Ansible uses itself."""
    taken = name in _RESERVED or name.startswith("ansible_")
    return name.isidentifier() and name.isascii() and not iskeyword(name) and not taken


def unambiguous(
    names: Sequence[str], tails: Sequence[Sequence[str]], policy: str
) -> tuple[list[str | None], list[str]]:
    """Return the names by which the hosts are known, None for those that are left out, and warnings about it.

    ``policy`` says what becomes of a name that several hosts have: ``rename`` gives each of them its tail behind it, of
    the first of ``tails`` that makes a difference, ``first`` keeps the first of them, ``error`` raises Failure.
    """
    repeated = _repeated(names)
    if not repeated:
        return list(names), []
    told = _told(repeated)
    if policy == "error":
        raise Failure(
            f"duplicates: several records have the same name: {told}. Say by hostnames what tells them apart."
        )
    if policy == "first":
        firsts = {name: place for place, name in reversed(list(enumerate(names)))}
        kept = [name if firsts[name] == place else None for place, name in enumerate(names)]
        return kept, [f"{kept.count(None)} records are left out since others have the same name: {told}"]
    renamed = list(names)
    for ends in tails:
        repeated = _repeated(renamed)
        renamed = [
            f"{name[: LONGEST - 1 - len(end)]}_{end}" if name in repeated else name
            for name, end in zip(renamed, ends, strict=True)
        ]
    if repeated := _repeated(renamed):
        raise Failure(f"duplicates: nothing tells these records apart: {_told(repeated)}")
    return list(renamed), [f"several records have the same name, so the uuid is appended: {told}"]


def _repeated(names: Sequence[str]) -> dict[str, int]:
    return {name: count for name, count in Counter(names).items() if count > 1}


def _told(counts: Mapping[str, int]) -> str:
    """Return the first few names in words."""
    words = [f"{name} ({count} times)" for name, count in list(counts.items())[:5]]
    return ", ".join([*words, *([f"and {len(counts) - 5} more"] if len(counts) > 5 else [])])
