"""How the options differ from the record of an object. Pure: no I/O, no Ansible."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .._api.errors import OtherObject
from .._api.records import RECORD_FIELDS, Record, holds_null_reference, is_same_value
from .._api.references import format_option_name, is_name, is_reference
from .differences import describe_differences, describe_key, list_references
from .spec import Ignored, ResourceSpec, get_parameters


def find_drift(resource: ResourceSpec, desired: Record, current: Record) -> Record:
    """Return the desired values that differ from the record.

    Values that the record does not show count too if the API can set them. A null reference differs if the API can
    change it.
    """
    changeable = resource.changeable
    settable = {name for name, parameter in changeable.items() if parameter.is_compared}
    comparable = {*RECORD_FIELDS[resource.record_type], *current, *settable} - {"uuid"}
    return {
        name: value
        for name, value in desired.items()
        if name in comparable
        and (name in changeable if holds_null_reference(value) else not is_same_value(value, current.get(name)))
    }


def warn_of_hidden(resource: ResourceSpec, changes: Record, record: Record) -> str:
    """Return the warning about changes that no record shows; an empty string if there are none."""
    hidden = [name for name in changes if name not in RECORD_FIELDS[resource.record_type] and name not in record]
    names = ", ".join(map(format_option_name, hidden))
    return f"the service does not show {names}, so it is set each time" if names else ""


def require_equal(resource: ResourceSpec, desired: Record, current: Record) -> str:
    """Compare all options with the object that a call destroys, in whole or in part.

    Return a warning about references that the record does not show, an empty string if there are none. Raise
    OtherObject if an option differs. Null references and options that are not properties of the object are not
    compared.
    """
    visible = {*RECORD_FIELDS[resource.record_type], *current} - {"uuid"}
    options = {name: value for name, value in desired.items() if not holds_null_reference(value)}
    comparable = {name: value for name, value in options.items() if name in visible}
    different = {
        name: value
        for name, value in comparable.items()
        if not is_same_value(_drop_missing(name, value), current.get(name))
    }
    if wanted := _find_other_uuid(options, current):
        raise OtherObject(
            f"the {resource.noun} has the uuid {current['uuid']}, and resource_uuid is {wanted}: it is another one."
        )
    if different:
        differences = describe_differences(resource, different, current) + (
            describe_key(resource, desired, current) or "."
        )
        raise OtherObject(
            f"the options differ from the existing {resource.noun}: {differences}", list_references(different, current)
        )
    hidden = ", ".join(format_option_name(name) for name in options if name in list_owner_params(resource) - visible)
    return f"the service does not show {hidden}, so it is not compared" if hidden else ""


def _find_other_uuid(desired: Record, record: Record) -> str:
    """Return the uuid that the object was to be created with if it has another one, else an empty string."""
    wanted, uuid = desired.get("resourceUuid"), record.get("uuid")
    return str(wanted) if wanted and uuid and not is_same_value(wanted, uuid) else ""


def _drop_missing(name: str, value: Any) -> Any:
    """Return the uuids of a list of references. Its names are those of objects that are gone, so nothing has them."""
    is_list = is_reference(name) and isinstance(value, (list, tuple))
    return [item for item in value if not is_name(item)] if is_list else value


def find_ignored(resource: ResourceSpec, desired: Record, record: Record) -> Iterator[Ignored]:
    """Yield the options that act only when an object is created, and of which its record shows another value."""
    if _find_other_uuid(desired, record):
        reason = f"resource_uuid acts only when the {resource.noun} is created, and it has the uuid {record['uuid']}"
        yield Ignored(reason)
    if resource.find_ignored:
        yield from resource.find_ignored(desired, record)


def list_owner_params(resource: ResourceSpec) -> set[str]:
    """Return the parameters of the creation that refer to other objects, except for tags."""
    parameters = get_parameters(resource.create)
    return {name for name, parameter in parameters.items() if parameter.refers_to not in ("", "tag_pattern")}
