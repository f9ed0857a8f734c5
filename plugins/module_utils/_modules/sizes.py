"""Sizes in bytes, as users write them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ansible.module_utils.common.validation import check_type_bytes

from .._api.errors import InvalidOptions

# 4GiB, which Ansible does not know, is what it reads in 4G.
_WITH_UNIT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([KMGTPE])iB?\s*", re.IGNORECASE)

_SIZE = re.compile(r"\s*\d*\.?\d*\s*[A-Za-z]*\s*", re.ASCII)


def unify_values(specs: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of options, by names or aliases, in the form that Ansible knows, also in lists.

    These are sizes such as 4GiB, and lists of choices, as a string too, with blanks around a choice.
    """
    rules = {each: spec for name, spec in specs.items() for each in (name, *spec.get("aliases", ()))}
    return {name: _unify(rules.get(name, {}), value) for name, value in values.items()}


def _unify(spec: Mapping[str, Any], value: Any) -> Any:
    if spec.get("type") == "bytes" and isinstance(value, str) and (matched := _WITH_UNIT.fullmatch(value)):
        return "".join(matched.groups())
    if spec.get("type") == "list" and spec.get("choices") and isinstance(value, (str, list)):
        items = value.split(",") if isinstance(value, str) else value
        return [item.strip() if isinstance(item, str) else item for item in items]
    if isinstance(value, list) and "options" in spec:
        return [unify_values(spec["options"], item) if isinstance(item, Mapping) else item for item in value]
    return value


def convert_size(value: Any) -> int:
    """Return the number of bytes in a value, which may have a unit. Raise TypeError or ValueError for any other value.

    Some versions of ansible-core read only the beginning of a text: 4,5G would be 4 bytes.
    """
    if isinstance(value, str) and not _SIZE.fullmatch(value):
        raise ValueError(value)
    return int(check_type_bytes(_unify({"type": "bytes"}, value)))


def read_size(label: str, value: Any) -> int:
    """Return the number of bytes in a value, which may have a unit. Raise InvalidOptions for any other value."""
    try:
        return convert_size(value)
    except (TypeError, ValueError):
        raise InvalidOptions(f"{label} must be a size, such as 16G, not {value!r}{explain_size(value)}") from None


def explain_size(value: Any) -> str:
    """Return why a value is no size, with its introduction, or an empty string."""
    text = str(value).strip()
    if text.startswith("+"):
        return ". It is the size that the volume shall have, not what is added to it"
    return ". Write a point, not a comma" if re.fullmatch(r"[\d.,]+\s*[A-Za-z]*", text) and "," in text else ""
