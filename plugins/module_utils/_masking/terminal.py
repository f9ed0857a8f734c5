"""Escape texts for a terminal."""

from __future__ import annotations

import unicodedata


def escape_controls(text: str) -> str:
    """Return a string with characters escaped that control a terminal: ESC, line breaks, bidirectional controls.

    They are escaped as in Python, ``\\x1b`` for ESC. Spaces of all widths are kept.
    """
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or unicodedata.category(char) == "Zs" else char.encode("unicode_escape").decode()
        for char in text
    )


def make_printable(text: str) -> str:
    """Return a string on one line, with spaces instead of characters that cannot be printed."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())
