"""The properties of kinds, from their rows and the parameters of their operations."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from .._api.catalogue import find_catalogued, find_named_type
from .._api.operation import Operation, Parameter
from .._api.operations import OPERATIONS
from .._api.records import to_snake_case
from .._api.resource_types import RESOURCE_TYPES, ResourceType
from .kind_rows import KINDS, Kind, Parts, Setting

# Parameters that are options of the module, or that follow from its options.
_OPTIONS = {"uuid", "name", "resourceUuid", "tagUuids", "state", "stateEvent", "deleteMode"}


@dataclass(frozen=True)
class Property:
    """A property of a kind, and the parameter that sets it.

    ``is_shown`` says whether records have it, ``is_required`` whether no object can be created without it, and
    ``can_change`` whether it can be changed. ``refers_to`` is the type of the objects that it names. ``parts`` describe
    the items of a list of parts.
    """

    name: str
    parameter: Parameter
    is_shown: bool
    is_required: bool
    can_change: bool
    refers_to: ResourceType | None = None
    parts: Parts | None = None

    @property
    def is_reference(self) -> bool:
        """Whether the value is a uuid, or a list of uuids, or names in their place."""
        return _UUIDS.search(self.parameter.name) is not None

    @property
    def is_size(self) -> bool:
        """Whether the value is a number of bytes, which may be written with a unit."""
        return self.parameter.type in ("int", "long") and self.parameter.name.endswith("Size")


_UUIDS = re.compile(r"Uuid(s?)$")


def name_property(parameter: str) -> str:
    """Return the property for a parameter: it is named after the object to which it refers."""
    return to_snake_case(_UUIDS.sub(r"\1", parameter))


def find_type(parameter: str) -> ResourceType | None:
    """Return the type of the objects to which a parameter refers, as far as it is known, with the terms of its kind."""
    found = find_named_type(parameter)
    return found and name_type(found)


def name_type(found: ResourceType) -> ResourceType:
    """Return a type of the catalogue with the name and the term of its kind, if it has one."""
    kind = next((kind for kind in KINDS if kind.query == found.query), None)
    if kind is None or found.name in RESOURCE_TYPES:
        return found
    return found._replace(name=kind.name, noun=kind.noun)


def find_operation(name: str) -> Operation:
    """Return an operation of the table, or else of the catalogue."""
    if row := OPERATIONS.get(name) or find_catalogued(name):
        return row
    raise KeyError(name)


@lru_cache(maxsize=64)
def list_properties(row: Kind | Setting) -> Mapping[str, Property]:
    """Return the properties of a kind by their names. A setting has one, its value."""
    if isinstance(row, Kind):
        return _list_properties(row)
    name = name_property(row.value)
    return {name: Property(name, find_operation(row.change).parameters[row.value], True, True, True)}


def _list_properties(kind: Kind) -> Mapping[str, Property]:
    creations = [find_operation(name).parameters for name in kind.create.values()]
    updates = find_operation(kind.update).parameters if kind.update else {}
    skipped = {*_OPTIONS, kind.parent, *(parts.name for parts in kind.parts)}
    parameters = {name: parameter for row in (*creations, updates) for name, parameter in row.items()}
    found = [
        Property(
            name_property(name),
            parameter._replace(choices=kind.choices.get(name, parameter.choices)),
            is_shown=kind.fields.get(name, name) is not None,
            is_required=bool(creations) and all(name in row and row[name].required for row in creations),
            can_change=name in updates or name in kind.change,
            refers_to=find_type(name),
        )
        for name, parameter in parameters.items()
        if name not in skipped
    ]
    found += [
        Property(
            name_property(parts.name), Parameter(parts.name, "list", elements="dict"), True, False, True, parts=parts
        )
        for parts in kind.parts
    ]
    return {each.name: each for each in sorted(found, key=lambda each: each.name)}
