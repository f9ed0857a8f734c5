"""The objects to which the properties of kinds and the options of attachments and settings refer, from their rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from .._api.catalogue import find_query_type
from .._api.errors import NotFound, Unchangeable
from .._api.records import Record
from .._api.resource_types import ResourceType
from .._client.client import Client
from .._client.lists import get_by_uuid
from .._engine.refusals import find_unknown_object
from .._engine.spec import PlannedCall
from .kind_properties import find_type, list_properties, name_property, name_type
from .kind_rows import KINDS, Kind, Row


class Reference(NamedTuple):
    """The option for a parameter that refers to objects, and their type, if it is known."""

    option: str
    type: ResourceType | None


def list_references(row: Row) -> Mapping[str, Reference]:
    """Return the parameters of a kind that refer to objects, and those whose parts may refer to some."""
    if not isinstance(row, Kind):
        return {parameter: Reference(end, _find_type_of_end(end, parameter)) for end, parameter in row.ends.items()}
    found = {
        each.parameter.name: Reference(f"properties.{each.name}", each.refers_to)
        for each in list_properties(row).values()
        if each.is_reference or each.parts
    }
    return {**found, row.parent: Reference("parent", find_type(row.parent))} if row.parent else found


def _find_type_of_end(end: str, parameter: str) -> ResourceType | None:
    """Return the type of an object of an attachment: that of the kind of this name, if there is one."""
    kind = next((kind for kind in KINDS if kind.name == end), None)
    return name_type(find_query_type(kind.query)) if kind else find_type(parameter)


def list_referenced_types(row: Row) -> list[ResourceType]:
    """Return the types of all objects to which parameters of a kind, and members of its parts, refer."""
    members = [name for parts in row.parts for name in parts.members] if isinstance(row, Kind) else []
    types = [*(reference.type for reference in list_references(row).values()), *map(find_type, members)]
    return [found for found in types if found]


def find_missing_object(row: Row, client: Client, call: PlannedCall, record: Record | None) -> NotFound | None:
    """Return the failure for the first uuid in the parameters of a call that no object has; None if all exist."""
    return find_unknown_object(client, _list_values(row, call), record)


def _list_values(row: Row, call: PlannedCall) -> Iterator[tuple[str, Any, ResourceType]]:
    """Yield the options for parameters of a call that refer to objects of known types, with their values."""
    renamed = {} if isinstance(row, Kind) else row.parameters
    references = list_references(row)
    for name, value in call.params.items():
        option, resource_type = references.get(renamed.get(name, name), Reference("", None))
        if resource_type:
            yield option, value, resource_type
        for item in value if isinstance(value, list) else ():
            for member in item if isinstance(item, Mapping) else ():
                if found := find_type(member):
                    yield f"{option}.{name_property(member)}", item[member], found


def find_unoffered_part(kind: Kind, client: Client, call: PlannedCall) -> Unchangeable | None:
    """Return the failure that an object, such as a provider, does not offer a part that a call adds to another one."""
    for parts in kind.parts:
        groups = call.params.get(parts.added) if parts.offered and call.operation == parts.add else {}
        for uuid, members in (groups or {}).items():
            resource_type = find_type(parts.grouped[0])
            for record in get_by_uuid(client, resource_type.query, uuid) if resource_type else ():
                offered = record.get(parts.offered) or members
                if lacking := [member for member in members if member not in offered]:
                    return Unchangeable(
                        f"properties.{name_property(parts.name)}: {record.get('name')!r} ({uuid}) does not offer"
                        f" {' or '.join(map(repr, lacking))}. It offers {', '.join(sorted(offered))}."
                    )
    return None
