"""A condition as a service reads it, which is all that a module needs that finds objects by their names.

Convention 8 of section "Endpoints".
"""

from __future__ import annotations

import re

# Services look for the operators in this order, and use the first one that a condition contains.
OPERATORS = ("!=", ">=", "<=", "!?=", "!~=", "~=", "?=", "=", ">", "<", "is null", "not null")

# Characters of a value that services misread: those of operators; an apostrophe, on which they fail; in a pattern a
# backslash, with which databases escape. The wildcard ``_`` matches each of them.
_MISREAD = re.compile(r"[!<>=~?'\\]")


def format_condition(field: str, operator: str, value: str) -> str:
    """Return a condition without spaces around the operator, which services would treat as part of the value."""
    blank = " " if operator in ("is null", "not null") else ""
    return f"{field}{blank}{operator}{value}"


def find_problem(field: str, operator: str, value: str) -> str | None:
    """Return why a service would misread a condition; None if it would not."""
    text = format_condition(field, operator, value)
    first = next(each for each in OPERATORS if each in text)
    found, dummy, rest = text.partition(first)
    if (first, found.strip()) != (operator, field):
        return f"the service would use {first!r} as the operator"
    if rest.startswith("="):
        return "the service would drop the '=' at the beginning of the value"
    return "services fail on an apostrophe" if "'" in rest else None


def format_sent(field: str, operator: str, value: str) -> str | None:
    """Return the text to send: the condition, or a pattern that matches more values; None if neither can be sent.

    Every ``%`` and ``_`` in a value matches itself, so only the characters that services misread are replaced.
    """
    if not find_problem(field, operator, value):
        return format_condition(field, operator, value)
    return format_condition(field, "~=", _MISREAD.sub("_", value)) if operator in ("=", "~=") else None


def format_equality(field: str, value: str) -> str | None:
    """Return a condition that finds at least all records whose field has a value; None if services cannot check one.

    The caller compares the records exactly, because a condition may match more of them.
    """
    return format_sent(field, "=", value)
