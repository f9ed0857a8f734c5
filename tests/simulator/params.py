# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Parameters of the operations: their types and bounds, and how given values are checked against them."""

from __future__ import annotations

import dataclasses
import re
import typing as t

from .errors import Refusal, bad_argument

UUID = re.compile(r"[0-9a-f]{12}4[0-9a-f]{3}[89ab][0-9a-f]{15}", re.IGNORECASE)
LENGTHS = {"name": 255, "description": 2048, "url": 2048, "userId": 256, "remark": 128}
PORTS = range(1, 65536)


@dataclasses.dataclass(frozen=True)
class Param:
    """One parameter. `kind` is string, integer, boolean, list, integers (a list of them) or map."""

    name: str
    kind: str = "string"
    required: bool = False
    choices: tuple[str, ...] = ()
    bounds: range | None = None
    since: str = ""
    uuid: bool = False
    filled: bool = False
    """An empty list or map is refused."""


def required(name: str, kind: str = "string", **rules: t.Any) -> Param:
    """A parameter that must be given."""
    return Param(name, kind, required=True, **rules)


def optional(name: str, kind: str = "string", **rules: t.Any) -> Param:
    """A parameter that may be absent or null."""
    return Param(name, kind, **rules)


def version_key(text: str) -> tuple[int, ...]:
    """Return `4.10.2` as (4, 10, 2), to be compared."""
    return tuple(int(part) for part in text.split("."))


def known(since: str, version: str) -> bool:
    """Tell whether a service of this version has what came with `since`; a service without a version has all."""
    return not version or not since or version_key(since) <= version_key(version)


def parsed(params: t.Iterable[Param], given: dict[str, t.Any], version: str) -> dict[str, t.Any]:
    """Return the known parameters of a body that are present, trimmed, in their kinds; refuse others at once."""
    return {
        param.name: _parsed(param, trimmed(value))
        for param in params
        if known(param.since, version) and (value := given.get(param.name)) is not None
    }


def checked(params: t.Iterable[Param], given: dict[str, t.Any], version: str) -> dict[str, t.Any]:
    """Return the parameters as they are; raise the failure of the first that is missing or out of its bounds."""
    for param in params:
        if param.name in given:
            _check(param, given[param.name])
        elif param.required and known(param.since, version):
            raise bad_argument(f"field[{param.name}] is mandatory, can not be null")
    return given


def trimmed(value: t.Any) -> t.Any:
    """Return the value with its strings trimmed, those in lists and maps too."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, list):
        return [trimmed(element) for element in value]
    if isinstance(value, dict):
        return {name: trimmed(element) for name, element in value.items()}
    return value


def _check(param: Param, value: t.Any) -> None:
    if param.choices and any(choice not in param.choices for choice in (value if isinstance(value, list) else [value])):
        raise bad_argument(f"valid values for field[{param.name}] are {list(param.choices)}, but {value!r} found")
    if param.bounds and value not in param.bounds:
        raise bad_argument(f"field[{param.name}] must be in {param.bounds.start}..{param.bounds.stop - 1}")
    if isinstance(value, str) and len(value) > LENGTHS.get(param.name, len(value)):
        raise bad_argument(f"field[{param.name}] exceeds max length {LENGTHS[param.name]}")
    if param.uuid and any(not UUID.fullmatch(uuid) for uuid in (value if isinstance(value, list) else [value])):
        raise bad_argument(f"field[{param.name}] must be a version 4 uuid without dashes, but {value!r} found")
    if param.filled and not value:
        raise bad_argument(f"field[{param.name}] cannot be empty")


def _parsed(param: Param, value: t.Any) -> t.Any:
    """Return a value of a body in the kind of its parameter; a number may stand in a text."""
    if param.kind == "integer":
        return _integer(param.name, value)
    if param.kind == "integers" and isinstance(value, list):
        return [_integer(param.name, element) for element in value]
    if param.kind == "strings" and isinstance(value, list) and all(isinstance(element, str) for element in value):
        return value
    if isinstance(value, {"string": str, "boolean": bool, "list": list, "map": dict}.get(param.kind, ())):
        return value
    raise _unparsable(param.name, param.kind, value)


def from_query(params: t.Iterable[Param], values: dict[str, list[str]], version: str) -> dict[str, t.Any]:
    """Return the known parameters of a query string, trimmed and converted: a list is repeated, else the last counts.

    What cannot be converted is refused at once.
    """
    return {
        param.name: _converted(param, trimmed(values[param.name]))
        for param in params
        if known(param.since, version) and param.name in values
    }


def _converted(param: Param, texts: list[str]) -> t.Any:
    if param.kind in ("list", "strings"):
        return texts
    if param.kind == "integers":
        return [_integer(param.name, text) for text in texts]
    if param.kind == "integer":
        return _integer(param.name, texts[-1])
    if param.kind == "boolean":
        return _boolean(param.name, texts[-1])
    return texts[-1]


def _integer(name: str, value: t.Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and re.fullmatch(r"[+-]?\d+", value):
        return int(value)
    raise _unparsable(name, "integer", value)


def _boolean(name: str, text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise _unparsable(name, "boolean", text)
    return text.lower() == "true"


def _unparsable(name: str, kind: str, value: t.Any) -> Refusal:
    return Refusal(400, f"Invalid value[{value!r}] of field[{name}]: it must be of type {kind}")
