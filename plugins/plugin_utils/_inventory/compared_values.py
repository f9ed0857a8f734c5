"""Find values in the expressions of an inventory source that the variables compared with them never have."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ...module_utils._api.conditions import describe_unknown_value, find_size
from ...module_utils._api.errors import InvalidOptions
from ...module_utils._api.record_fields import NUMBER_FIELDS
from .._jinja.references import list_compared
from .hostvars import HostEntry, HostVars
from .unknown_names import list_places


def check_values(plugin: Any, entries: Sequence[HostEntry], hostvars: HostVars) -> None:
    """Warn of a value that is none of the documented ones of its field, and that no host has.

    Raise InvalidOptions for a number that is compared with a string.
    """
    fields = {hostvars.name_variable(field): field for field in hostvars.fields.values()}
    composed = frozenset(plugin.get_option("compose") or {})
    for place in list_places(plugin):
        own = fields.keys() - composed if place.sees_composed else fields.keys()
        for name, values in list_compared(place.source):
            texts = [value for value in values if isinstance(value, str) and value]
            if name in own and texts:
                present = {value for entry in entries if isinstance(value := entry.variables.get(name), str)}
                if fields[name] in NUMBER_FIELDS and not present:
                    raise InvalidOptions(
                        f"{place.label}: {name} is a number, and {texts[0]!r} is a string. {_explain_number(texts[0])}."
                    )
                unknown = [text for text in texts if text not in present]
                if problem := describe_unknown_value(fields[name], unknown, plugin.RESOURCE_TYPE.record):
                    plugin.warn(f"{place.label}: {problem}")


def _explain_number(text: str) -> str:
    """Return which number to write in place of a string."""
    if size := find_size(text):
        return f"Write {size[1]}, which is {size[0]} in bytes"
    return f"Write {text} without quotes" if re.fullmatch(r"\d+", text) else "Compare it with a number"
