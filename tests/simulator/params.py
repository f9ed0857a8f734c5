# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Parameters of the operations: their types and bounds, and how given values are checked against them."""

from __future__ import annotations

import dataclasses
import re
import typing as t

from .errors import bad_argument

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


def checked(params: t.Iterable[Param], given: dict[str, t.Any], version: str) -> dict[str, t.Any]:
    """Return the known parameters that are present, trimmed; raise the failure of the first that is wrong."""
    accepted: dict[str, t.Any] = {}
    for param in params:
        if not known(param.since, version):
            continue
        value = trimmed(given.get(param.name))
        if value is None:
            if param.required:
                raise bad_argument(f"field[{param.name}] is mandatory, can not be null")
            continue
        _check(param, value)
        accepted[param.name] = value
    return accepted


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
    if not _has_kind(value, param.kind):
        raise bad_argument(f"field[{param.name}] must be of type {param.kind}")
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


def _has_kind(value: t.Any, kind: str) -> bool:
    if kind == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if kind == "integers":
        return isinstance(value, list) and all(_has_kind(element, "integer") for element in value)
    if kind == "strings":
        return isinstance(value, list) and all(isinstance(element, str) for element in value)
    return isinstance(value, {"string": str, "boolean": bool, "list": list, "map": dict}[kind])


def from_query(params: t.Iterable[Param], values: dict[str, list[str]]) -> dict[str, t.Any]:
    """Return the parameters of a query string, converted: lists are repeated, a scalar's last value counts."""
    return {param.name: _converted(param, values[param.name]) for param in params if param.name in values}


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


def _integer(name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise bad_argument(f"field[{name}] must be of type integer, but {text!r} found") from None


def _boolean(name: str, text: str) -> bool:
    word = text.strip().lower()
    if word not in ("true", "false"):
        raise bad_argument(f"field[{name}] must be of type boolean, but {text!r} found")
    return word == "true"
