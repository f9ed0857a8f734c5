# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is PRIVATE to the collection. It can have breaking changes at any time.

"""Find secret values, and mask them in texts and results before they are shown."""

from __future__ import annotations

import html
import json
import re
from collections import ChainMap
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any
from urllib.parse import quote, quote_plus, urlsplit, urlunsplit

from .patterns import (
    MASK,
    is_secret_name,
    mask_credentials,
    may_hold_credentials,
)

# The text that Ansible itself shows instead of a secret option.
MASKED_OPTION = "VALUE_SPECIFIED_IN_NO_LOG_PARAMETER"

# Shorter parts of a URL are words like "v2". Masking them would mask the same letters everywhere.
MIN_PART_LENGTH = 6

# A shorter secret is part of ordinary words. It is only masked as a separate word, and never in numbers.
MIN_SECRET_LENGTH = 4


# Which values of a task are secret


def collect_secrets(spec: Mapping[str, Any], params: Mapping[str, Any]) -> set[str]:
    """Return the secrets in validated options: the options with no_log, and their secret parts.

    In a mapping of parameters, the names determine which values are secret. In conditions, values of ``url`` are
    secret.
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
    """Yield the URLs in query conditions like ``url=https://chat.example.com/hook/KEY``."""
    for condition in conditions if isinstance(conditions, list) else [conditions]:
        if match := re.fullmatch(r"\s*url\W*?(https?://.+)", str(condition), re.DOTALL):
            yield match[1]


def _secret_parts(secret: str) -> Iterator[str]:
    """Yield a secret and its secret parts: each line, and the password, the path and the keys of a URL."""
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
    """Return whether a segment of a path looks like a key, and not like a word such as ``webhook`` or ``open-apis``."""
    return not re.fullmatch(r"[a-z_.-]{0,15}", segment)


# Masking


class Masker:
    """Masks secrets, also encoded ones, and text in the form of credentials, in texts and in results.

    ``known_names`` are the documented keys of results, which are not masked, even if a secret is a word like ``host``.
    """

    def __init__(self, secrets: Iterable[str] = (), known_names: Callable[[], Container[str]] = frozenset) -> None:
        self._secrets: ChainMap[str, str] = ChainMap()
        self._known_names = known_names
        self.add(*secrets)

    def add(self, *secrets: str) -> None:
        """Mask further secrets from now on, also in the maskers that `with_secrets` returned."""
        self._secrets.update({secret: _plainest(secret) for secret in secrets if secret})

    def with_secrets(self, *secrets: str) -> Masker:
        """Return a masker that masks further secrets too."""
        masker = Masker((), self._known_names)
        masker._secrets = self._secrets.new_child()
        masker.add(*secrets)
        return masker

    def mask_text(self, text: str) -> str:
        """Return a text with its secrets masked; the same object when it contains none."""
        spans = sorted(
            span
            for secret, plainest in self._secrets.items()
            if plainest in text
            for encoded in encoded_variants(secret)
            for span in _spans(text, encoded)
            if len(secret) >= MIN_SECRET_LENGTH or _is_whole_word(text, *span)
        )
        return mask_credentials(_mask_spans(text, spans) if spans else text)

    def mask_value(self, value: Any) -> Any:
        """Return a result, or a part of one, with the secrets in its texts, numbers and keys masked."""
        if isinstance(value, str):
            return MASKED_OPTION if value in self._secrets else self.mask_text(value)
        if isinstance(value, Mapping):
            if self._is_clean(value):
                return value
            return {self._key(key): self._member(key, each) for key, each in value.items()}
        if isinstance(value, (list, tuple, set, frozenset)):
            return [self.mask_value(each) for each in value]
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            text = str(value)
            is_secret = any(len(secret) >= MIN_SECRET_LENGTH and secret in text for secret in self._secrets)
            return MASKED_OPTION if is_secret else value
        # Before core 2.19 an encrypted value is not a string.
        return MASKED_OPTION if hasattr(value, "__ENCRYPTED__") else value

    def _is_clean(self, value: Mapping[Any, Any]) -> bool:
        """Return whether there is certainly nothing to mask, which is the case for most records of a list."""
        try:
            text = json.dumps(value, ensure_ascii=False)
        except (TypeError, ValueError):
            return False
        return not may_hold_credentials(text) and not any(each in text for each in self._secrets.values())

    def _key(self, key: Any) -> Any:
        if not isinstance(key, str):
            return key
        masked = self.mask_text(key)
        return key if masked != key and key in self._known_names() else masked

    def _member(self, key: Any, value: Any) -> Any:
        is_value = isinstance(value, (str, int, float)) and not isinstance(value, bool)
        if is_value and value != "" and isinstance(key, str) and is_secret_name(key):
            return MASKED_OPTION if str(value) in self._secrets else MASK
        return self.mask_value(value)


def _mask_spans(text: str, spans: list[tuple[int, int]]) -> str:
    """Return a text with these parts masked, which are sorted by their start; overlapping parts are merged."""
    masked, end = [], 0
    for start, stop in spans:
        if start >= end:
            masked += [text[end:start], MASK]
        end = max(end, stop)
    return "".join([*masked, text[end:]])


def _is_whole_word(text: str, start: int, end: int) -> bool:
    """Return whether a part of a text is not part of a longer word."""
    neighbours = text[max(start - 1, 0) : start] + text[end : end + 1]
    return not any(char.isalnum() or char == "_" for char in neighbours)


def _plainest(secret: str) -> str:
    """Return the longest part of a secret that no encoder changes."""
    return max(re.findall(r"[0-9A-Za-z]+", secret), key=len, default="")


def _json(text: str, escaped: str = "", digits: str = "04x") -> str:
    """Return a text encoded as JSON, with further characters, given by a pattern, as ``\\u`` escapes."""
    encoded = json.dumps(text, ensure_ascii=False)[1:-1]
    return re.sub(escaped, lambda match: f"\\u{ord(match[0][-1]):{digits}}", encoded) if escaped else encoded


def _html(text: str, apos: str = "&#x27;", quot: str = "&quot;") -> str:
    """Return a text encoded as HTML, with these forms of quotation marks."""
    return html.escape(text).replace("&#x27;", apos).replace("&quot;", quot)


# The encodings in which a service, a proxy or a program may repeat a secret. Each is applied to the secret itself and
# not to the output of another, so that the time for masking is proportional to the length of a text, regardless of the
# secrets.
ENCODERS: tuple[Callable[[str], str], ...] = (
    str,
    # JSON: in Unicode, in ASCII, within JSON, with escaped slashes, as Gson and .NET write it
    _json,
    lambda text: json.dumps(text)[1:-1],
    lambda text: json.dumps(json.dumps(text)[1:-1])[1:-1],
    lambda text: json.dumps(text)[1:-1].replace("/", "\\/"),
    lambda text: _json(text, "[<>&=']"),
    lambda text: _json(text, r"\\\"|[<>&'+`]|[^\x00-\x7f]", "04X"),
    # URLs: parameters, with lower-case digits, paths, as JavaScript writes them, forms, encoded twice, in Latin-1
    lambda text: quote(text, safe=""),
    lambda text: re.sub("%..", lambda match: match[0].lower(), quote(text, safe="")),
    quote,
    lambda text: quote(text, safe="!~*'()"),
    quote_plus,
    lambda text: quote(quote(text, safe=""), safe=""),
    lambda text: quote(text, safe="", encoding="latin-1"),
    # HTML: as Python, PHP and XML write it, with numbers only, without quotation marks, twice, around JSON
    _html,
    lambda text: _html(text, apos="&#39;"),
    lambda text: _html(text, apos="&apos;"),
    lambda text: _html(text, apos="&#39;", quot="&#34;"),
    lambda text: html.escape(text, quote=False),
    lambda text: _html(_html(text)),
    lambda text: _html(json.dumps(text)[1:-1]),
    # Python and shells
    lambda text: repr(text)[1:-1],
    lambda text: ascii(text)[1:-1],
    lambda text: re.sub(r"([^\w@%+=:,./-])", r"\\\1", text),
    # Several lines joined, and question marks for characters that cannot be encoded
    lambda text: " ".join(text.split()),
    lambda text: text.encode("ascii", "replace").decode(),
)


@lru_cache(maxsize=256)
def encoded_variants(secret: str) -> tuple[str, ...]:
    """Return the forms in which a secret may be repeated."""
    found = []
    for encode in ENCODERS:
        # Half of a surrogate pair cannot be encoded, and Latin-1 cannot encode other scripts.
        with suppress(UnicodeError):
            found.append(encode(secret))
    return tuple(dict.fromkeys(filter(None, found)))


def _spans(text: str, part: str) -> Iterator[tuple[int, int]]:
    """Yield the positions of a part in a text."""
    start = text.find(part)
    while start >= 0:
        yield start, start + len(part)
        start = text.find(part, start + len(part))
