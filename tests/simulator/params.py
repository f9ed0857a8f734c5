# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Parameters of the operations: types, constraints, parsing and validation."""

from __future__ import annotations

import dataclasses
import re
import typing as t

from .errors import RequestRejected, invalid_argument

UUID = re.compile(r"[0-9a-f]{12}4[0-9a-f]{3}[89ab][0-9a-f]{15}", re.IGNORECASE)
LENGTHS = {"name": 255, "description": 2048, "url": 2048, "userId": 256, "remark": 128}
PORTS = range(1, 65536)


@dataclasses.dataclass(frozen=True)
class Param:
    """A parameter. `kind` is string, integer, boolean, list, strings, integers (lists of these) or map."""

    name: str
    kind: str = "string"
    required: bool = False
    choices: tuple[str, ...] = ()
    bounds: range | None = None
    since: str = ""
    uuid: bool = False
    non_empty: bool = False
    """Whether an empty list or map is invalid."""


def required(name: str, kind: str = "string", **rules: t.Any) -> Param:
    """Return a required parameter."""
    return Param(name, kind, required=True, **rules)


def optional(name: str, kind: str = "string", **rules: t.Any) -> Param:
    """Return an optional parameter, which may be absent or null."""
    return Param(name, kind, **rules)


def version_key(text: str) -> tuple[int, ...]:
    """Return `4.10.2` as (4, 10, 2), for comparison."""
    return tuple(int(part) for part in text.split("."))


def is_known(since: str, version: str) -> bool:
    """Return whether a service of this version (empty: the newest) has a feature that was added in `since`."""
    return not version or not since or version_key(since) <= version_key(version)


def parse_body_params(params: t.Iterable[Param], given: dict[str, t.Any], version: str) -> dict[str, t.Any]:
    """Return the parameters in a body, trimmed and converted; raise RequestRejected if one cannot be parsed."""
    return {
        param.name: _parse_body_value(param, trim(value))
        for param in params
        if is_known(param.since, version) and (value := given.get(param.name)) is not None
    }


def validate(params: t.Iterable[Param], given: dict[str, t.Any], version: str) -> dict[str, t.Any]:
    """Return the parameters unchanged; raise OperationError for the first that is missing or invalid."""
    for param in params:
        if param.name in given:
            _validate_param(param, given[param.name])
        elif param.required and is_known(param.since, version):
            raise invalid_argument(f"field[{param.name}] is mandatory, can not be null")
    return given


def trim(value: t.Any) -> t.Any:
    """Return the value with all its strings trimmed, also in lists and maps."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, list):
        return [trim(element) for element in value]
    if isinstance(value, dict):
        return {name: trim(element) for name, element in value.items()}
    return value


def _validate_param(param: Param, value: t.Any) -> None:
    if param.choices and any(choice not in param.choices for choice in (value if isinstance(value, list) else [value])):
        raise invalid_argument(f"valid values for field[{param.name}] are {list(param.choices)}, but {value!r} found")
    if param.bounds and value not in param.bounds:
        raise invalid_argument(f"field[{param.name}] must be in {param.bounds.start}..{param.bounds.stop - 1}")
    if isinstance(value, str) and len(value) > LENGTHS.get(param.name, len(value)):
        raise invalid_argument(f"field[{param.name}] exceeds max length {LENGTHS[param.name]}")
    if param.uuid and any(not UUID.fullmatch(uuid) for uuid in (value if isinstance(value, list) else [value])):
        raise invalid_argument(f"field[{param.name}] must be a version 4 uuid without dashes, but {value!r} found")
    if param.non_empty and not value:
        raise invalid_argument(f"field[{param.name}] cannot be empty")


def _parse_body_value(param: Param, value: t.Any) -> t.Any:
    """Return the value of a body parameter, converted; an integer may be a numeric string."""
    if param.kind == "integer":
        return _parse_integer(param.name, value)
    if param.kind == "integers" and isinstance(value, list):
        return [_parse_integer(param.name, element) for element in value]
    if param.kind == "strings" and isinstance(value, list) and all(isinstance(element, str) for element in value):
        return value
    if isinstance(value, {"string": str, "boolean": bool, "list": list, "map": dict}.get(param.kind, ())):
        return value
    raise _unparsable(param.name, param.kind, value)


def parse_query_params(params: t.Iterable[Param], values: dict[str, list[str]], version: str) -> dict[str, t.Any]:
    """Return the parameters in a query string, trimmed and converted; raise RequestRejected if one cannot be parsed.

    The values of a repeated parameter form a list; of other parameters the last one counts.
    """
    return {
        param.name: _parse_query_value(param, trim(values[param.name]))
        for param in params
        if is_known(param.since, version) and param.name in values
    }


def _parse_query_value(param: Param, texts: list[str]) -> t.Any:
    if param.kind in ("list", "strings"):
        return texts
    if param.kind == "integers":
        return [_parse_integer(param.name, text) for text in texts]
    if param.kind == "integer":
        return _parse_integer(param.name, texts[-1])
    if param.kind == "boolean":
        return _parse_boolean(param.name, texts[-1])
    return texts[-1]


def _parse_integer(name: str, value: t.Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and re.fullmatch(r"[+-]?\d+", value):
        return int(value)
    raise _unparsable(name, "integer", value)


def _parse_boolean(name: str, text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise _unparsable(name, "boolean", text)
    return text.lower() == "true"


def _unparsable(name: str, kind: str, value: t.Any) -> RequestRejected:
    return RequestRejected(400, f"Invalid value[{value!r}] of field[{name}]: it must be of type {kind}")
