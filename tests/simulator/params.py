"""Parse and validate the parameters of a call."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from .description import Parameter
from .errors import OperationError, RequestRejected, invalid_argument

KINDS = {"str": "string", "int": "integer", "bool": "boolean", "list": "list", "dict": "map"}
ELEMENT_KINDS = {"str": "strings", "int": "integers"}


def get_kind(param: Parameter) -> str:
    """Return string, integer, boolean, list, strings, integers (lists of these) or map."""
    return ELEMENT_KINDS.get(param.element_type) or KINDS[param.type]


def is_required(param: Parameter) -> bool:
    """Return whether servers refuse a call without the parameter."""
    return param.required and not param.optional_in_practice


def version_key(text: str) -> tuple[int, ...]:
    """Return `4.10.2` as (4, 10, 2), for comparison."""
    return tuple(int(part) for part in text.split("."))


def is_known(since: str | None, version: str) -> bool:
    """Return whether a service of this version (empty: the newest) has a feature that was added in `since`."""
    return not version or not since or version_key(since) <= version_key(version)


def parse_body_params(params: Iterable[Parameter], values: dict[str, Any], version: str) -> dict[str, Any]:
    """Return the parameters in a body, trimmed and converted; raise RequestRejected if one cannot be parsed."""
    return {
        param.name: _parse_body_value(param, trim(value))
        for param in params
        if is_known(param.since, version) and (value := values.get(param.name)) is not None
    }


def validate(params: Iterable[Parameter], values: dict[str, Any], version: str) -> dict[str, Any]:
    """Return the parameters unchanged; raise OperationError for the first that is missing or invalid."""
    for param in params:
        if param.name in values:
            _validate_param(param, values[param.name])
        elif is_required(param) and is_known(param.since, version):
            raise invalid_argument(f"field[{param.name}] is mandatory, can not be null")
    return values


def trim(value: Any) -> Any:
    """Return the value with all its strings trimmed, also in lists and maps."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, list):
        return [trim(element) for element in value]
    if isinstance(value, dict):
        return {name: trim(element) for name, element in value.items()}
    return value


_JSON_FORMS: dict[str | None, type] = {"VmNicParams": list, "VmNicParam": dict}
"""What the JSON texts of parameters contain: an operation on one NIC refuses a list, a creation an object."""


def _parse_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _validate_param(param: Parameter, value: Any) -> None:
    elements = value if isinstance(value, list) else [value]
    if param.schema == "DeleteMode" and value not in param.choices:
        raise OperationError("SYS.1000", f"No enum constant DeletionMode.{value}")
    if param.choices and any(str(element) not in param.choices for element in elements):
        raise invalid_argument(f"valid values for field[{param.name}] are {list(param.choices)}, but {value!r} found")
    if param.bounds and value not in param.bounds:
        raise invalid_argument(f"field[{param.name}] must be in {param.bounds.start}..{param.bounds.stop - 1}")
    if param.max_length and len(value) > param.max_length:
        raise invalid_argument(f"field[{param.name}] exceeds max length {param.max_length}")
    # Servers check the form of new uuids only; another uuid that is malformed is not found.
    if param.schema == "NewUuid" and not all(re.fullmatch(str(param.pattern), element) for element in elements):
        raise invalid_argument(f"field[{param.name}] must be a version 4 uuid without dashes, but {value!r} found")
    if param.schema in _JSON_FORMS and not isinstance(_parse_json(value), _JSON_FORMS[param.schema]):
        raise invalid_argument(f"field[{param.name}] cannot be parsed from {value!r}")
    if param.refuses_empty and not value:
        raise invalid_argument(f"field[{param.name}] cannot be empty")


def _parse_body_value(param: Parameter, value: Any) -> Any:
    """Return the value of a body parameter, converted; an integer may be a numeric string."""
    kind = get_kind(param)
    if kind == "integer":
        return _parse_integer(param.name, value)
    if kind == "integers" and isinstance(value, list):
        return [_parse_integer(param.name, element) for element in value]
    if kind == "strings" and isinstance(value, list) and all(isinstance(element, str) for element in value):
        return value
    if isinstance(value, {"string": str, "boolean": bool, "list": list, "map": dict}.get(kind, ())):
        return value
    raise _unparsable(param.name, kind, value)


def parse_query_params(params: Iterable[Parameter], values: dict[str, list[str]], version: str) -> dict[str, Any]:
    """Return the parameters in a query string, trimmed and converted; raise RequestRejected if one cannot be parsed.

    The values of a repeated parameter form a list; of other parameters the last one counts. A parameter `name.key` is
    the list of a member of the map `name`.
    """
    known = [param for param in params if is_known(param.since, version)]
    maps = {param.name: _collect_members(param.name, values) for param in known if get_kind(param) == "map"}
    given = [param for param in known if param.name in values]
    others = {param.name: _parse_query_value(param, trim(values[param.name])) for param in given}
    return {**others, **{name: members for name, members in maps.items() if members}}


def _collect_members(name: str, values: dict[str, list[str]]) -> dict[str, list[str]]:
    """Return the members of a map in a query string."""
    prefix = f"{name}."
    return {key.removeprefix(prefix): trim(texts) for key, texts in values.items() if key.startswith(prefix)}


def _parse_query_value(param: Parameter, texts: list[str]) -> Any:
    kind = get_kind(param)
    if kind in ("list", "strings"):
        return texts
    if kind == "integers":
        return [_parse_integer(param.name, text) for text in texts]
    if kind == "integer":
        return _parse_integer(param.name, texts[-1])
    if kind == "boolean":
        return _parse_boolean(param.name, texts[-1])
    return texts[-1]


def _parse_integer(name: str, value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and re.fullmatch(r"[+-]?\d+", value):
        return int(value)
    raise _unparsable(name, "integer", value)


def _parse_boolean(name: str, text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise _unparsable(name, "boolean", text)
    return text.lower() == "true"


def _unparsable(name: str, kind: str, value: Any) -> RequestRejected:
    return RequestRejected(400, f"Invalid value[{value!r}] of field[{name}]: it must be of type {kind}")
