"""Mark the strings of the service so that no version of core evaluates them as templates."""

from __future__ import annotations

from typing import Any

from ansible.template import Templar
from ansible.utils.unsafe_proxy import AnsibleUnsafeText

# Since 2.19 only strings from files of the user are templates; before, all strings are.
HAS_DATA_TAGGING = hasattr(Templar, "evaluate_expression")


def keep_trust(text: str, part: str) -> str:
    """Return a part of a text, which core evaluates if it would evaluate the text."""
    if HAS_DATA_TAGGING:
        # Core has these functions since 2.19, too.
        from ansible.template import is_trusted_as_template, trust_as_template

        return trust_as_template(part) if is_trusted_as_template(text) else part
    return part


def make_unsafe(value: Any) -> Any:
    """Return a value of the service in which no supported core evaluates a string as a template or an expression.

    Before 2.19 core evaluates every unmarked string in a condition, so all strings are marked.
    """
    if HAS_DATA_TAGGING:
        return value
    if isinstance(value, str):
        return AnsibleUnsafeText(value)
    if isinstance(value, dict):
        return {make_unsafe(key): make_unsafe(item) for key, item in value.items()}
    if isinstance(value, list):
        return [make_unsafe(item) for item in value]
    return value
