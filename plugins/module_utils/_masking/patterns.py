# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is PRIVATE to the collection. It can have breaking changes at any time.

"""Recognize credentials in a text by their form: a service may repeat them to users who did not provide them."""

from __future__ import annotations

import re
from contextlib import suppress
from functools import lru_cache
from typing import Any
from urllib.parse import SplitResult, urlsplit

MASK = "********"

_NAME = r"""(?:password|passwd|passphrase|secret|secret[_-]?key|access[_-]?key[_-]?secret|private[_-]?key|api[_-]?key
    |(?:access|api|auth|session)[_-]?token)"""
_NAME_HINTS = ("passw", "passphrase", "secret", "key", "token")
_QUOTE = r"""(?:\\{0,8}["']|&(?:quot|apos|\#0{0,6}3[49]|\#x0{0,6}2[27]);|\\{1,8}u002[27])"""
_AT_HOST = r"(?=@(?P<host>[A-Za-z0-9][\w.-]{0,255}|\[[\da-fA-F:.]+\]))"
_PASSWORD = r"""(?P<hidden>[^\s"']{1,128}|\S{1,128})"""

# Each entry has words, one of which a text must contain for a match, and a pattern. ``kept`` is the text before the
# secret; the secret is ``hidden``, or ``token`` up to _END. Lengths are bounded, because a service may send any text.
_CREDENTIALS = (
    # "password": "...", which may be inside another quoted string.
    (
        _NAME_HINTS,
        rf"""(?P<kept>{_NAME} {_QUOTE}? \s{{0,8}} (?:=>|[:=]) \s{{0,8}} (?P<quote>{_QUOTE}))
            (?P<hidden>(?:(?!(?<!\\)(?P=quote)).)+)""",
    ),
    # password=..., password::... as in system tags
    (
        _NAME_HINTS,
        rf"""(?P<kept>{_NAME} (?:=|::|%3d)) (?!{_QUOTE}|(?:true|false|yes|no|null|none)\b) (?P<token>\S+)""",
    ),
    (
        ("authorization",),
        r"""(?P<kept>\bauthorization["']? \s{0,8} [:=] \s{0,8} ["']? (?:(?:basic|bearer|oauth)\s{1,8})?)
            (?P<hidden>[^\s"',;]+)""",
    ),
    # Command lines
    (
        ("sshpass ", "ipmitool ", "curl "),
        r"""(?P<kept>\bsshpass\s+-p\s{0,8} | \bipmitool\b[^\n]{0,128}?\s-(?-i:P)\s{0,8}
                | \bcurl\b[^\n]{0,128}?\s(?:-u|--user)\s{1,8}[^\s:]{1,64}:(?!//))
            (?P<hidden>"[^"]*" | '[^']*' | [^\s"']+)""",
    ),
    # Addresses with keys in them
    (
        ("key=", "token=", "secret=", "sig"),
        r"""(?P<kept>[?&](?:[\w.-]{0,32}token|key|[\w.-]{0,32}secret|sig|sign|signature)=)
            (?P<hidden>[^\s&\#"'<>]+)""",
    ),
    (
        ("hook",),
        r"""(?P<kept>\bhttps?://
                (?:hooks?\.[\w.:-]+/|[\w.:\[\]-]+/(?:[^\s/?\#"'<>]{1,128}/){0,12}?(?:web)?hooks?/))
            (?P<token>[^\s"'<>]+)""",
    ),
    # user:password@host behind a scheme, behind the name of a program, of users that are everywhere, and of others
    (
        ("@",),
        r"(?P<kept>\b[a-z][\w+.-]{0,20}://[^\s/?\#@:]{0,64}:) (?P<hidden>[^\s/?\#]{1,256}) (?=@)",
    ),
    (
        ("@",),
        rf"""(?P<kept>\b(?:ssh|scp|sftp|rsync)\s+(?:-\S{{1,64}}\s{{1,8}}(?:\d{{1,8}}\s{{1,8}})?){{0,8}}[\w.\\-]{{1,64}}:)
            (?P<hidden>\S{{1,128}} | [^\s@]{{1,64}}(?:[^\S\n]{{1,8}}[^\s@]{{1,64}}){{1,8}}?) {_AT_HOST}""",
    ),
    (
        ("@",),
        rf"(?P<kept>(?<![\w.@-])(?:root|admin|administrator):) {_PASSWORD} {_AT_HOST}",
    ),
    (
        ("@",),
        rf"""(?P<kept>(?<![\w.@/:\\-])(?!(?:[\da-f]{{2}}:){{2}})(?P<user>[a-z_][\w.-]{{1,64}}):(?!//))
            {_PASSWORD} {_AT_HOST}""",
    ),
)
_ALL_HINTS = {hint for hints, dummy in _CREDENTIALS for hint in hints}
# Without those that contain another one, because whole replies are searched for them.
_HINTS = tuple(hint for hint in sorted(_ALL_HINTS) if not any(other in hint for other in _ALL_HINTS - {hint}))
# What ends a token: the next parameter, the end of a quotation, markup.
_END = re.compile(r"""[,&;]\s*[\w.-]+=|[\\"']+(?=[\s,:;})\]]|$)|[<>]|&(?:quot|apos|lt|gt|\#)""")

# Words before a colon and an email address or the like that are not users.
_NO_USER = re.compile(
    r"(?i)(?:.*[_.-])?(?:e?-?mail|mailto|contact|owner|author|cc|bcc|to|from|by|user|sips?|xmpp|acct|im|urn|pkg|rbd|git)"
    r"|[in]qn\..*"
)
_FULL_HOST = re.compile(r"\d+(?:\.\d+){3}|\[.*\]|.*\.[A-Za-z][\w-]*")


_SECRET_NAME = rf"{_NAME}\Z"


# Compiling all patterns takes as long as a task, and a task needs only a few.
@lru_cache(maxsize=32)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.VERBOSE | re.IGNORECASE | re.DOTALL)


def compile_patterns() -> None:
    """Compile all patterns now, so that the processes forked from this one have them."""
    for pattern in (_SECRET_NAME, *(pattern for dummy, pattern in _CREDENTIALS)):
        _compiled(pattern)


def is_secret_name(name: str) -> bool:
    """Return whether a member of this name contains a secret: ``password``, ``sshPassword``, ``access_key_secret``."""
    return _compiled(_SECRET_NAME).search(name) is not None


def may_hold_credentials(text: str) -> bool:
    """Return whether a text contains a word that mask_credentials requires for a match."""
    lowered = text.lower()
    return any(hint in lowered for hint in _HINTS)


def mask_credentials(text: str) -> str:
    """Return a text with its credentials masked, which have a form like ``user:password@host``, ``password=...``."""
    lowered = text.lower()
    for hints, pattern in _CREDENTIALS:
        if any(hint in lowered for hint in hints):
            text = _compiled(pattern).sub(_mask_match, text)
    return text


def _mask_match(match: re.Match[str]) -> str:
    found = match.groupdict()
    if found.get("user") and (_NO_USER.fullmatch(found["user"]) or not _FULL_HOST.fullmatch(found["host"].rstrip("."))):
        return match[0]
    token = found.get("token") or ""
    hidden = _END.split(token, maxsplit=1)[0].rstrip(",;.)]}") if token else ""
    return found["kept"] + MASK + token[len(hidden) :]


def mask_url(url: Any) -> Any:
    """Return a URL with everything masked except for scheme and host."""
    if not isinstance(url, str) or not url.strip():
        return url
    parts = SplitResult("", "", "", "", "")
    with suppress(ValueError):
        parts = urlsplit(url.strip())
    host = re.sub(r":\d*\Z", "", parts.netloc.rpartition("@")[2])
    if not parts.scheme or not re.fullmatch(r"[\w.-]+|\[[\da-fA-F:.]+\]", host):
        return MASK
    return f"{parts.scheme}://{host}/{MASK}"
