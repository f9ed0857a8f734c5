"""Find the few strings of a reply that may contain credentials, without a look at all others.

A reply of a thousand VMs has a hundred thousand values, and a loop over them takes longer than decoding the JSON text.
So the JSON text is searched for words, and only the strings around these are decoded.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from .patterns import HINTS

# The signs that are "k" in lower case, and "s" regardless of the case.
_SIGNS = tuple(sign.encode() for sign in ("\N{KELVIN SIGN}", "\N{LATIN SMALL LETTER LONG S}"))

# Escaped characters that a word may contain, and these signs; also halves of surrogate pairs, which are replaced when a
# reply is decoded. Services escape other characters.
_ESCAPED = re.compile(rb"\\u(?:00(?:20|3[0-9]|[4-7])|212[aA]|017[fF]|[dD][89a-fA-F])")

# Keys with this prefix are renamed when a reply is decoded.
_RENAMED = b"__ansible_"

# Only the letters of the words, in lower case, and the quotation marks remain in the text that is searched first. This
# half of the text is searched in less than half of the time, and what is missing there is missing in all of it.
_LOWER = bytes(range(256)).lower()
_LETTERS = "".join(HINTS).replace(" ", "").encode()
_OTHERS = bytes(byte for byte in range(256) if _LOWER[byte] not in _LETTERS + b'"')

# The rest of a string with its quotation mark.
_REST = re.compile(rb'[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)


def find_suspicious_texts(body: bytes, parts: Iterable[str], words: Iterable[str]) -> set[str] | None:
    """Return the strings and keys in the JSON text of an object that may contain credentials or secrets.

    These have a word of credentials, one of the ``parts`` of secrets, or one of the short secrets ``words``, which are
    no part of a longer word. Parts and words consist of ASCII letters and digits. Return None if the strings cannot be
    found in the text, because they may be escaped there.
    """
    if _RENAMED in body or (b"\\" in body and _ESCAPED.search(body)):
        return None
    if not body.isascii() and any(sign in body for sign in _SIGNS):
        return None
    searches: list[Callable[[int], int]] = [partial(body.find, part.encode()) for part in parts]
    searches += map(partial(_create_word_search, body), words)
    reduced = body.translate(_LOWER, _OTHERS)
    hints = [hint.encode() for hint in HINTS if hint.strip().encode() in reduced]
    if hints:
        searches += map(partial(partial, body.lower().find), hints)
    found = {string for search in searches for string in _find_strings(body, search)}
    return {json.loads(string, strict=False) for string in found}


def _create_word_search(body: bytes, word: str) -> Callable[[int], int]:
    """Return a function like ``body.find`` for a word of at least one letter or digit.

    The letters of an escaped character before the word are no part of it.
    """
    # The word comes first, because text without it is skipped fast.
    pattern = re.compile(rf"{word}(?!\w)(?:(?<!\w{word})|(?<=\\[bfnrt]{word})|(?<=\\u[0-9a-fA-F]{{4}}{word}))".encode())

    def search(start: int) -> int:
        match = pattern.search(body, start)
        return match.start() if match else -1

    return search


def _find_strings(body: bytes, search: Callable[[int], int]) -> Iterator[bytes]:
    """Yield the strings of a JSON text, with quotation marks, of which ``search`` finds a part.

    If that is outside of strings, such as ``true``, what is between two strings is returned.
    """
    position = search(0)
    while position >= 0 and (rest := _REST.match(body, position)):
        yield body[_find_opening(body, position) : rest.end()]
        position = search(rest.end())


def _find_opening(body: bytes, position: int) -> int:
    """Return the position of the last quotation mark before a position that is not escaped, -1 if there is none."""
    start = body.rfind(b'"', 0, position)
    while start > 0 and _is_escaped(body, start):
        start = body.rfind(b'"', 0, start)
    return start


def _is_escaped(body: bytes, position: int) -> bool:
    """Return whether an odd number of backslashes precedes a position."""
    end = position
    while end > 0 and body[end - 1] == ord("\\"):
        end -= 1
    return (position - end) % 2 == 1
