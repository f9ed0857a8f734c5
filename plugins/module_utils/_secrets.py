# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is PRIVATE to the collection. It can have breaking changes at any time.

"""Which values are secret, and how texts and results are masked before anybody sees them."""

from __future__ import annotations

import json
import re
from collections import ChainMap
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from ansible_collections.virtinfra.manager.plugins.module_utils._credentials import (
    MASK,
    is_secret_name,
    mask_credentials,
    may_hold_credentials,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._options import Options

# What Ansible itself shows instead of an option that is secret.
MASKED_OPTION = "VALUE_SPECIFIED_IN_NO_LOG_PARAMETER"

# Shorter parts of a url are words like "v2": hiding them would hide the same letters everywhere.
MIN_PART_LENGTH = 6

# A shorter secret is part of ordinary words. It is masked only where it stands alone, and never in numbers.
MIN_SECRET_LENGTH = 4


# Which values of a task are secret


def collect_secrets(spec: Options, params: Mapping[str, Any]) -> set[str]:
    """Return the secrets in validated options: the options with no_log, and the parts of them that are secret alone.

    Of an option that is a mapping of parameters those count whose names say so. Of conditions those on a url count.
    """
    values: set[str] = set()
    for name, option in spec.items():
        if option.get("no_log"):
            values.update(_texts_in(params.get(name)))
        elif name in ("query", "filters"):
            values.update(_urls_in(params.get(name)))
    values = {value.strip() for value in values} - {""}
    return {part for value in values for part in _secret_parts(value)}


def _texts_in(value: Any) -> Iterator[str]:
    """Yield a secret value, or the secret values in a mapping of parameters."""
    if isinstance(value, Mapping):
        for name, each in value.items():
            if name == "q":
                yield from _urls_in(each)
            elif name in ("url", "sessionUuid") or is_secret_name(str(name)):
                yield from map(str, each if isinstance(each, list) else [each] if each else [])
            elif isinstance(each, (list, Mapping)):
                yield from _texts_in(each)
    elif isinstance(value, list):
        for each in value:
            if isinstance(each, (list, Mapping)):
                yield from _texts_in(each)
    elif value:
        yield str(value)


def _urls_in(conditions: Any) -> Iterator[str]:
    """Yield the addresses in query conditions like ``url=https://chat.example.com/hook/KEY``."""
    for condition in conditions if isinstance(conditions, list) else [conditions]:
        if match := re.fullmatch(r"\s*url\W*?(https?://.+)", str(condition), re.DOTALL):
            yield match[1]


def _secret_parts(secret: str) -> Iterator[str]:
    """Yield a secret and what of it is secret alone: each line, and of a url the password, the path and the keys."""
    lines = secret.splitlines()
    if len(lines) > 1:
        yield from (line.strip() for line in lines if len(line.strip()) >= MIN_PART_LENGTH and line[:5] != "-----")
    url = None
    with suppress(ValueError):
        url = urlsplit(secret) if "://" in secret else None
    if url is None or not url.netloc:
        yield secret
        return
    if url.username or url.query or url.fragment or url.path.strip("/"):
        yield secret
    path = urlunsplit(("", "", url.path.lstrip("/"), url.query, ""))
    values = (pair.partition("=")[2] for pair in url.query.split("&"))
    segments = (segment for segment in url.path.split("/") if _is_key_like(segment))
    yield from (part for part in (url.password or "", path, *values, *segments) if len(part) >= MIN_PART_LENGTH)


def _is_key_like(segment: str) -> bool:
    """Whether a segment of a path is rather a key than a word like ``webhook`` or ``open-apis``."""
    return not re.fullmatch(r"[a-z_.-]{0,15}", segment)


# Masking


class Masker:
    """Masks secrets, in any encoding, and whatever looks like credentials, in texts and in results.

    ``known_names`` are the keys of results that are the same for everybody: they stay, even where a secret is a word
    like ``host``.
    """

    def __init__(self, secrets: Iterable[str] = (), known_names: Callable[[], Container[str]] = frozenset) -> None:
        self._secrets: ChainMap[str, str] = ChainMap()
        self._known_names = known_names
        self.add(*secrets)

    def add(self, *secrets: str) -> None:
        """Mask further secrets from now on; those that `with_secrets` returned do so too."""
        self._secrets.update({secret: _plainest(secret) for secret in secrets if secret})

    def with_secrets(self, *secrets: str) -> Masker:
        """Return one that masks further secrets too."""
        masker = Masker((), self._known_names)
        masker._secrets = self._secrets.new_child()
        masker.add(*secrets)
        return masker

    def text(self, text: str) -> str:
        """Return a text with its secrets masked, the same object when it has none."""
        spans = sorted(
            match.span()
            for secret, plainest in self._secrets.items()
            if plainest in text
            for match in _in_any_encoding(secret).finditer(text)
            if len(secret) >= MIN_SECRET_LENGTH or _is_whole_word(match)
        )
        return mask_credentials(_mask_spans(text, spans) if spans else text)

    def value(self, value: Any) -> Any:
        """Return a result, or a part of one, with the secrets in its texts, numbers and keys masked."""
        if isinstance(value, str):
            return MASKED_OPTION if value in self._secrets else self.text(value)
        if isinstance(value, Mapping):
            if self._is_clean(value):
                return value
            return {self._key(key): self._member(key, each) for key, each in value.items()}
        if isinstance(value, (list, tuple, set, frozenset)):
            return [self.value(each) for each in value]
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            text = str(value)
            is_secret = any(len(secret) >= MIN_SECRET_LENGTH and secret in text for secret in self._secrets)
            return MASKED_OPTION if is_secret else value
        # Before core 2.19 an encrypted value is no text.
        return MASKED_OPTION if hasattr(value, "__ENCRYPTED__") else value

    def _is_clean(self, value: Mapping[Any, Any]) -> bool:
        """Whether there is surely nothing to mask: lists have many records, and next to none has a secret in it."""
        try:
            text = json.dumps(value, ensure_ascii=False)
        except (TypeError, ValueError):
            return False
        return not may_hold_credentials(text) and not any(each in text for each in self._secrets.values())

    def _key(self, key: Any) -> Any:
        if not isinstance(key, str):
            return key
        masked = self.text(key)
        return key if masked != key and key in self._known_names() else masked

    def _member(self, key: Any, value: Any) -> Any:
        is_value = isinstance(value, (str, int, float)) and not isinstance(value, bool)
        if is_value and value != "" and isinstance(key, str) and is_secret_name(key):
            return MASKED_OPTION if str(value) in self._secrets else MASK
        return self.value(value)


def _mask_spans(text: str, spans: list[tuple[int, int]]) -> str:
    """Return a text in which these parts, sorted by their begin, are masked; parts that overlap become one."""
    masked, end = "", 0
    for start, stop in spans:
        if start >= end:
            masked += text[end:start] + MASK
        end = max(end, stop)
    return masked + text[end:]


def _is_whole_word(match: re.Match[str]) -> bool:
    """Whether what was found is no part of a longer word."""
    neighbours = match.string[max(match.start() - 1, 0) : match.start()] + match.string[match.end() : match.end() + 1]
    return not any(char.isalnum() or char == "_" for char in neighbours)


def _plainest(secret: str) -> str:
    """Return the longest part of a secret that is the same in every encoding."""
    return max(re.findall(r"[0-9A-Za-z]+", secret), key=len, default="")


@lru_cache(maxsize=256)
def _in_any_encoding(secret: str) -> re.Pattern[str]:
    """Return the pattern of a secret each of whose characters may stand in another encoding."""
    runs = re.findall(r"[ \t\r\n]+|\\+|.", secret, re.DOTALL)
    return re.compile("".join(map(_encoded_variants, runs)), re.DOTALL)


_BLANK = (
    r"(?i:\s|\+|\\{1,8}[nrt]|\\{1,8}u00(?:09|0a|0d|20|a0)|%(?:25){0,3}(?:09|0a|0d|20)|&(?:amp;){0,3}(?:nbsp|#x?\w+);)"
)
_HTML_NAMES = {"&": "amp", "<": "lt", ">": "gt", '"': "quot", "'": "apos"}


@lru_cache(maxsize=256)
def _encoded_variants(run: str) -> str:
    """Return the pattern of a character as it is, and as it may stand in URLs, HTML, JSON, and source code.

    Blanks or backslashes that follow each other are taken together. Encodings may be applied more than once.
    """
    if run.isascii() and run.isalnum():
        return run
    if not run.strip(" \t\r\n"):
        return _BLANK + "{1,32}"
    char, code = run[0], ord(run[0])
    percent = "".join(f"%(?:25){{0,3}}{byte:02x}" for byte in char.encode("utf-8", "replace"))
    utf_16 = char.encode("utf-16-be", "surrogatepass").hex()
    escaped = r"\\{1,5}".join(f"u{utf_16[start : start + 4]}" for start in range(0, len(utf_16), 4))
    variants = [
        percent,
        rf"\\(?:{escaped}|u{code:08x})",
        rf"&(?:amp;){{0,3}}#(?:0{{0,6}}{code}|x0{{0,6}}{code:x});",
        re.escape(char),
    ]
    if code < 256:
        variants.append(rf"\\x{code:02x}|%{code:02x}")
    if char in _HTML_NAMES:
        variants.append(f"&(?:amp;){{0,3}}{_HTML_NAMES[char]};")
    if not char.isascii():
        # Who cannot write a character writes a question mark.
        variants.append("[?\ufffd]")
    if char == "\\":
        return f"(?i:{'|'.join(variants)}){{1,16}}"
    return rf"\\{{0,4}}(?i:{'|'.join(variants)})"
