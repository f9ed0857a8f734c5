"""Texts of the service in events. ansible-rulebook writes events into extra vars, which are templates for core."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

# The beginnings of what core or ansible-rulebook can evaluate:
# - {{, {% and {#, and a brace that meets the next one when texts or Python literals are joined: '{' '{ code }}'.
# - #jinja2:, a header that changes the delimiters of a template.
# - Escapes in a Python or JSON literal, \x7b for a brace. ansible-rulebook and core before 2.19 decode literals.
_BEGINNINGS = re.compile(r"""\{(?=[{%#'"]|\Z)|\#(?=[j'"]|\Z)|\\(?=[xuUN0-7\r\n])""")


def disarm_templates(value: Any) -> Any:
    """Return JSON data in which no key and no string is a template, at any depth.

    A space separates the characters of each beginning of a template: ``{{`` becomes ``{ {``. Disarmed data is returned
    unchanged.
    """
    if isinstance(value, str):
        return _BEGINNINGS.sub(r"\g<0> ", value)
    if isinstance(value, Mapping):
        return {disarm_templates(key): disarm_templates(item) for key, item in value.items()}
    if isinstance(value, list):
        return [disarm_templates(item) for item in value]
    return value
