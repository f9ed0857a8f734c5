"""References to objects in options: uuids, names, null, and those to objects that check mode has only predicted."""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Mapping
from functools import lru_cache
from typing import Any
from uuid import UUID, uuid5

from .errors import InvalidOptions
from .limits import refuse_private_key
from .records import (
    NullReference,
    PredictedReference,
    Record,
    to_camel_case,
    to_snake_case,
)
from .resource_types import REFERS_TO, ResourceType

_UUID = re.compile(r"[0-9a-f]{32}", re.ASCII)

# The wildcards of a name as it is meant for a pattern.
WILDCARD = re.compile("[*?%]")

# The namespace of the uuids of new objects, so that they differ from those that others make from the same texts.
_NAMESPACE = UUID("6f3d0f3c-5a1e-4f0b-9c1d-7b1f2f6f1b52")

# The string that a template returns for null.
NULL = "None"

# The string in place of a null reference to an object that an earlier task would have created outside check mode.
PREDICTED = "<predicted>"

# Options and parameters that are mappings with uuids as keys.
UUID_KEYED = ("data_volume_system_tags", "dataVolumeSystemTags")

# Options that are not named after the object that their parameter refers to.
_OPTIONS = {
    "defaultL3NetworkUuid": "default_l3_network",
    "interfaceUuids": "interfaces",
    "cloneFromUuid": "clone_from",
}


def format_option_name(parameter: str) -> str:
    """Return the option for a parameter, named after the object: ``cluster`` for ``clusterUuid``."""
    if parameter not in REFERS_TO:
        return to_snake_case(parameter)
    return _OPTIONS.get(parameter) or f"{REFERS_TO[parameter].name}{'s' if parameter.endswith('Uuids') else ''}"


# The option with the parameters of any operation.
PARAMS = "params"

# The option with handles of jobs. Services may give a job an id of any form.
JOB_HANDLES = "jobs"


def find_referenced_type(field: str) -> ResourceType | None:
    """Return the type of the objects whose uuid, or list of uuids, a field of a result contains; None if unknown."""
    if field in ("uuid", "uuids"):
        return None
    parameter = to_camel_case(field)
    return REFERS_TO.get(parameter) or REFERS_TO.get(f"{parameter}s")


def format_name_field(field: str) -> str:
    """Return the field of a result for the names of the objects in another: ``cluster_name`` for ``cluster_uuid``."""
    return re.sub(r"_uuid(?=s?$)", "_name", field)


@lru_cache(maxsize=4096)
def is_reference(name: str) -> bool:
    """Return whether a parameter or a field of this name contains a uuid or a list of uuids."""
    return bool(re.search(r"(^|_)uuids?(_|$)|Uuids?(?=[A-Z]|$)", name))


def build_uuid(text: str) -> str:
    """Return the uuid of a new object for a string, the same each time. Services require version 4."""
    return UUID(bytes=uuid5(_NAMESPACE, text).bytes, version=4).hex


def normalize_uuid(name: str, text: str) -> str:
    """Return a uuid as 32 hexadecimal digits in lower case. Raise InvalidOptions for anything else."""
    digits = text.strip().replace("-", "").lower()
    if not _UUID.fullmatch(digits):
        raise InvalidOptions(f"{name} must be a uuid (32 hexadecimal digits), not {text!r}")
    return digits


def is_name(value: Any) -> bool:
    """Return whether the normalized value of a reference is a name, not a uuid or null."""
    return isinstance(value, str) and not isinstance(value, NullReference) and not _UUID.fullmatch(value)


def describe_pattern(name: str) -> str:
    """Return a clause that a name with wildcards, or with a comma, is a single name; empty for any other name."""
    if WILDCARD.search(name):
        return f"name {name!r} is no pattern"
    return f"name {name!r} is one name" if "," in name else ""


def explain_pattern(name: str, label: str = "name") -> str:
    """Return a clause, after a comma, on what takes several objects, for a name with wildcards or a comma; else empty.

    ``label`` is the option that has it.
    """
    problem = "names are no patterns" if WILDCARD.search(name) else f"a task has one {label}" if "," in name else ""
    return problem and f", and {problem}: virtinfra.manager.batch runs the module for many objects"


def list_names(value: Any) -> list[str]:
    """Return the names in the value of an option, which is a reference or a list of references."""
    return [item for item in (value if isinstance(value, list) else [value]) if is_name(item)]


def unify_uuid(text: str) -> str:
    """Return a uuid as `normalize_uuid` does, and any other string without surrounding spaces."""
    try:
        return normalize_uuid("", text)
    except InvalidOptions:
        return text.strip()


def _normalize_reference(name: str, may_be_name: bool, value: Any) -> str:
    """Return the normalized uuid or the name in an option, a null reference for null and for an empty string."""
    if value == PREDICTED:
        return PredictedReference(name)
    if is_null(value):
        return NullReference(name)
    if isinstance(value, (Mapping, list)):
        remedy = ". Take its uuid" if "uuid" in value else ""
        wrong = f"a {'list' if isinstance(value, list) else 'mapping'}{remedy}"
        raise InvalidOptions(f"{name} must be a uuid{' or a name' if may_be_name else ''}, not {wrong}")
    text = str(value).strip()
    refuse_private_key(name, text)
    return unify_uuid(text) if may_be_name else normalize_uuid(name, text)


def normalize_references(
    values: Mapping[str, Any], parameters: Mapping[str, str] | None = None, may_be_names: Container[str] = ()
) -> Record:
    """Return options or parameters with all references in them normalized, including those in lists of mappings.

    ``parameters`` maps options to the API's names for them. Options may contain names of objects, and so may the
    parameters in ``may_be_names``.
    """
    parameters = parameters or {}
    # Most options of a task are null.
    return {
        name: value
        if value is None
        else _normalize(name, parameters.get(name, name), name in parameters, name in may_be_names, value)
        for name, value in values.items()
    }


def _normalize(name: str, parameter: str, is_option: bool, can_be_named: bool, value: Any) -> Any:
    if name in UUID_KEYED and isinstance(value, Mapping):
        return {normalize_uuid(f"each key of {name}", str(key)): item for key, item in value.items()}
    if name == JOB_HANDLES:
        return value
    if not is_reference(parameter):
        return _normalize_nested(value) if isinstance(value, list) else value
    may_be_name = can_be_named or (is_option and parameter in REFERS_TO)
    if isinstance(value, list):
        # Ansible converts an empty string to a list with an empty string.
        items = [] if value == [""] else value
        return [_normalize_reference(name, may_be_name, item) for item in items]
    return _normalize_reference(name, may_be_name, value)


def _normalize_nested(values: list[Any]) -> list[Any]:
    """Return a list in which the references in mappings are normalized."""
    return [_normalize_members(item) if isinstance(item, Mapping) else item for item in values]


def _normalize_members(item: Mapping[str, Any]) -> Record:
    members = normalize_references(item)
    return {name: None if isinstance(value, NullReference) else value for name, value in members.items()}


def is_null(value: Any) -> bool:
    """Return whether the value of a reference is null: core before 2.19 makes an empty string of it."""
    return value is None or (isinstance(value, str) and value.strip() in ("", NULL))


def mark_nulls(
    arguments: Mapping[str, Any],
    parameters: Mapping[str, str] | None = None,
    own_types: Collection[str] = (),
    predicted: Collection[str] = (),
) -> dict[str, Any]:
    """Return the arguments of a task with a string for each null reference, which Ansible would treat as omitted.

    The string is another one for a reference to one of the types of objects in ``predicted``, which earlier tasks would
    have created. ``own_types`` are those that a reference without a type, such as ``uuid``, refers to, by default all.
    A list that is null itself is omitted. ``parameters`` maps options to the API's names for them.
    """
    marked = dict(arguments)
    for name, value in arguments.items():
        if name == PARAMS and isinstance(value, Mapping):
            marked[name] = mark_nulls(value, predicted=predicted)
        parameter = (parameters or {}).get(name, name)
        if not is_reference(parameter):
            continue
        types = _list_types(parameter) or own_types or predicted
        null = PREDICTED if any(kind in predicted for kind in types) else NULL
        if isinstance(value, list):
            marked[name] = [null if is_null(item) else item for item in value]
        elif is_null(value):
            marked[name] = None if parameter.lower().endswith("uuids") else null
    return marked


def forget_predictions(options: Mapping[str, Any]) -> Record:
    """Return options in which all null references are those to no object: only check mode predicts objects."""
    return {name: _forget_prediction(value) for name, value in options.items()}


def _forget_prediction(value: Any) -> Any:
    if isinstance(value, list):
        return [_forget_prediction(item) for item in value]
    return NULL if value == PREDICTED else value


def _list_types(parameter: str) -> tuple[str, ...]:
    """Return the name of the type of objects that a parameter refers to; nothing if it depends on the operation."""
    resource_type = REFERS_TO.get(to_camel_case(parameter))
    return (resource_type.name,) if resource_type else ()
