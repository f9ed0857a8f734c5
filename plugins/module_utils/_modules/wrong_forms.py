"""What to write in place of an object, a result or a mapping that was given for a string or a list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .._api.records import RECORD_FIELDS, to_camel_case, to_snake_case
from .._api.references import find_referenced_type, is_name, unify_uuid
from .._api.resource_types import REFERS_TO, RESOURCE_TYPES, ResourceType


def find_record_type(record: Mapping[str, Any]) -> ResourceType:
    """Return the type of objects whose records have most fields of a record, as modules that list return it."""
    return max((row for row in RESOURCE_TYPES.values() if row.query), key=lambda row: _count_common_fields(row, record))


def _count_common_fields(row: ResourceType, record: Mapping[str, Any]) -> int:
    return sum(to_snake_case(field) in record for field in RECORD_FIELDS.get(row.record, ())) if row.query else 0


def explain_several(name: str, spec: Mapping[str, Any], values: Sequence[Any], record_type: str) -> str:
    """Return what to do with several values of an option by which a module lists records; empty if it has only one.

    ``record_type`` is the type of the records, empty if they have several.
    """
    field = spec.get("parameter") or to_camel_case(name)
    is_field = name in ("name", "uuid") or field in RECORD_FIELDS.get(record_type, ())
    if not (is_field or "parameter" in spec):
        return ""
    texts = [unify_uuid(str(value)) for value in values]
    has_names = field.lower().endswith("uuid") and any(map(is_name, texts))
    if has_names and field == "vmInstanceUuid" and all(map(is_name, texts)):
        field, has_names = "vmInstance.name", False
    if not texts or not is_field or has_names or any("," in text for text in texts):
        return "Run the task for each of them, in a loop"
    condition = f"{field}?={','.join(texts)}"
    return f"Write query: [{condition!r}]"


def explain_object(name: str, spec: Mapping[str, Any], value: Any, module: str = "") -> str:
    """Return what to give in place of objects, or of the result of a task, for the name or uuid of an object."""
    if is_conditions(name):
        return explain_conditions(name, value)
    identifies = "parameter" in spec or name in ("name", "uuid")
    if not isinstance(value, Mapping):
        is_run = identifies and not module.endswith("_info")
        return ". virtinfra.manager.batch runs the module for many objects" if is_run else ""
    member = "name" if name == "name" else "uuid"
    if identifies and "changed" in value:
        return f". It is the result of a task. Give the {member} of one object in it"
    if not value.get(member) or not (identifies or "name" in value):
        return ""
    referred = REFERS_TO.get(spec.get("parameter", ""))
    return (referred and _explain_other_type(referred, value)) or (
        f". It is a whole record. Give its member {member}, {value[member]!r}"
    )


def _explain_other_type(referred: ResourceType, record: Mapping[str, Any]) -> str:
    """Return what to give in place of a record of another type than an option refers to; empty if it is of this one."""
    row = find_record_type(record)
    if _count_common_fields(row, record) <= _count_common_fields(referred, record):
        return ""
    fields = [field for field, value in record.items() if value and find_referenced_type(field) is referred]
    found = [field for field in sorted(fields, key=len) if isinstance(record[field], str)]
    remedy = f"Give its member {found[0]}, {record[found[0]]!r}" if found else f"Give the uuid of a {referred.noun}"
    return f". It is a record of the type {row.noun}, not {referred.noun}. {remedy}"


def explain_list(name: str, value: Mapping[str, Any]) -> str:
    """Return what to give in place of a mapping where a list is expected, an empty string if it is not known.

    It is in the result of a task, or of a loop, or it contains the conditions of a query.
    """
    if "changed" not in value:
        return explain_conditions(name, value) if is_conditions(name) else ""
    if isinstance(value.get("results"), list):
        return ". It is the result of a loop or a batch, whose list is its member results"
    lists = [name for name, member in value.items() if isinstance(member, list) and name not in ("warnings", "diff")]
    return f". It is the result of a task, whose list is its member {lists[0]}" if len(lists) == 1 else ""


def is_conditions(name: str) -> bool:
    """Return whether an option or a variable contains conditions of a query."""
    return name == "query" or name.endswith("_query")


def explain_conditions(name: str, value: Any) -> str:
    """Return the conditions that a mapping stands for, an empty string for any other value."""
    if not (isinstance(value, Mapping) and value and all(isinstance(each, (str, int)) for each in value.values())):
        return ""
    return f". Write {name}: {[f'{field}={each}' for field, each in value.items()]}"
