# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is PRIVATE to the collection. It can have breaking changes at any time.

"""The parameters of operations in the table, and the validation of their values."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from ansible.module_utils.common.validation import (
    check_type_bool,
    check_type_dict,
    check_type_int,
    check_type_jsonarg,
    check_type_list,
    check_type_str,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._addresses import is_localhost
from ansible_collections.virtinfra.manager.plugins.module_utils._errors import InvalidOptions

_TYPES = {
    "str": check_type_str,
    "int": check_type_int,
    "long": check_type_int,
    "bool": check_type_bool,
    "list": check_type_list,
    "dict": check_type_dict,
    "json": check_type_jsonarg,
}

# Limits of servers, which refuse longer strings (elements of a list, keys of a map) and other numbers with SYS.1007.
_USER_ID, _REMARK = 256, 128
_MAX_LENGTHS = {
    "name": 255,
    "description": 2048,
    "url": 2048,
    **dict.fromkeys(("userId", "atPersonUserIds", "atPersonList"), _USER_ID),
    "remark": _REMARK,
}
_PORTS = range(1, 65536)
_RANGES = {"sshPort": _PORTS, "snmpPort": _PORTS}

# Addresses of hosts that the service sets up: at its own address it would set itself up.
_ADDRESSES = {"managementIp"}


@dataclass(frozen=True)
class Parameter:
    """One parameter of an operation.

    ``type`` is one of Ansible's types (str, int, bool, list, dict, json: a JSON text) or long. ``required`` follows the
    document; a required parameter with ``omit_if_unset`` is omitted when it is not given, because servers refuse an
    empty value. ``undocumented`` marks parameters that only some servers know. ``since`` is the version that added the
    parameter. ``alias`` is a second spelling in the document, which is sent too. ``refers_to`` is the type of object
    whose uuids the value contains. ``field`` is the record's name for the value, if it differs. ``is_compared`` is
    False if records never show the value: it is only sent with calls that are necessary for another reason, as tags
    are.
    """

    name: str
    type: str = "str"
    required: bool = False
    omit_if_unset: bool = False
    undocumented: bool = False
    since: str = ""
    choices: tuple[str, ...] = ()
    alias: str = ""
    refers_to: str = ""
    field: str = ""
    is_compared: bool = True

    def coerce(self, operation: str, value: Any) -> Any:
        """Return a value in the parameter's type; raise InvalidOptions, which names ``operation``, when it is wrong."""
        label = f"{self.name} of {operation}"
        try:
            if self.type == "str" and isinstance(value, (list, dict)):
                raise TypeError
            value = _TYPES[self.type](value)
        except (TypeError, ValueError) as error:
            raise InvalidOptions(f"{label} must be of type {self.type}, not {value!r}") from error
        if self.type == "json":
            _check_json(label, value)
        for item in value if isinstance(value, list) else [value]:
            if self.choices and item not in self.choices:
                raise InvalidOptions(f"{label} must be one of {', '.join(self.choices)}, not {item!r}")
        return value

    def check_bounds(self, operation: str, value: Any) -> None:
        """Raise InvalidOptions for a value that is too long or out of range for servers, and for their own address."""
        label = f"{self.name} of {operation}"
        if self.name in _ADDRESSES and is_localhost(value):
            raise InvalidOptions(
                f"{label} must not be {value.strip()!r}, which is the management node: it would become a hypervisor."
                " Give the address of the host."
            )
        if self.name in _MAX_LENGTHS:
            texts = [
                (item, _MAX_LENGTHS[self.name]) for item in (value if isinstance(value, (list, dict)) else [value])
            ]
            remarks = [(item, _REMARK) for item in value.values()] if isinstance(value, dict) else []
            for text, longest in (*texts, *remarks):
                if (length := len(str(text).strip())) > longest:
                    raise InvalidOptions(f"{label} must have at most {longest} characters, not {length}")
        numbers = _RANGES.get(self.name)
        if numbers and value not in numbers:
            raise InvalidOptions(f"{label} must be from {numbers[0]} to {numbers[-1]}, not {value}")


def required(name: str, type: str = "str", **details: Any) -> Parameter:
    """Return a parameter that the document requires."""
    return Parameter(name, type, required=True, **details)


def optional(name: str, type: str = "str", **details: Any) -> Parameter:
    """Return an optional parameter."""
    return Parameter(name, type, **details)


def _check_json(label: str, text: str) -> None:
    """Raise InvalidOptions when a string is not JSON."""
    try:
        json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidOptions(f"{label} must be JSON: {error}") from None


# Every operation accepts these in addition to its own parameters.
TAG_PARAMS = {name: optional(name, "list") for name in ("systemTags", "userTags")}
