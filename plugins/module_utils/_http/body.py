# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is PRIVATE to the collection. It can have breaking changes at any time.

"""Decode replies: the only place where the JSON of the service becomes Python objects."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from .._api.records import (
    RESERVED_KEY_PREFIX,
    SCALARS,
    rename_reserved_keys,
)

# How deeply a reply may be nested. Ansible itself fails at slightly more levels.
MAX_JSON_DEPTH = 100


def decode_object(body: bytes) -> dict[str, Any] | None:
    """Return the JSON object in a body; None if it is another value, is nested too deeply, or is not finite."""
    try:
        value = json.loads(body.decode("utf-8-sig"), parse_constant=_reject_constant, parse_float=_finite_float)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or _is_too_deep(value):
        return None
    if re.search(rb"\\u[dD]", body):
        # Half of a surrogate pair is not a character, and cannot be encoded.
        value = json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    if RESERVED_KEY_PREFIX.encode() in body or re.search(rb"\\u00[567]", body):
        # The letters of a key may be escaped.
        value = rename_reserved_keys(value)
    return dict(value)


def _reject_constant(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _finite_float(text: str) -> float:
    if math.isinf(value := float(text)):
        raise ValueError(f"{text} is too large for a number")
    return value


def _is_too_deep(value: dict[str, Any]) -> bool:
    level: list[Any] = [value]
    for dummy in range(MAX_JSON_DEPTH):
        children = [item.values() if isinstance(item, dict) else item for item in level]
        # Few steps, because most objects of a long list contain only scalars.
        nested = [item for item in children if not SCALARS.issuperset(map(type, item))]
        level = [child for item in nested for child in item if isinstance(child, (dict, list))]
        if not level:
            return False
    return True
