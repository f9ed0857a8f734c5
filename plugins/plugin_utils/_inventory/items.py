"""Read a text where an option of a source is a list."""

from __future__ import annotations

from ansible.module_utils.common.validation import check_type_list

from ...module_utils._api.conditions import is_condition
from .._jinja.marks import keep_trust
from .._jinja.references import has_items, parse_expression

CONDITIONS = ("query", "filters")

# The options whose texts can contain commas that separate no items. Core splits those of others.
LISTS = (*CONDITIONS, "hostnames", "include", "exclude")


def split_text(name: str, text: str) -> list[str]:
    """Return the items of the text of an option in LISTS, which is split at commas as in modules.

    A comma belongs to a condition if no other condition is behind it, and to an expression if none ends before it.
    """
    if name not in CONDITIONS and not has_items(text):
        return [text]
    first, *others = check_type_list(text)
    items = [first]
    for part in others:
        if is_condition(part) if name in CONDITIONS else parse_expression(items[-1]):
            items.append(part)
        else:
            items[-1] += f",{part}"
    return [keep_trust(text, item.strip()) for item in items] if len(items) > 1 else [text]
