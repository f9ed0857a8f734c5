"""Finders of the current record of an object: one record, None, or a failure."""

from __future__ import annotations

from collections.abc import Callable

from .._api.records import Record
from .._api.references import format_option_name
from .._api.resource_types import RESOURCE_TYPES
from .._client.client import Client
from .._client.lists import find_by_attribute, get_by_uuid, require_unique
from .readings import read_by_key

Finder = Callable[[Client, Record], "Record | None"]
Search = Callable[[Client, str, str], "list[Record]"]

_BY_UUID = "Select one by uuid."


def find_by_query(
    operation: str,
    *keys: str,
    view: Callable[[Record], Record] = dict,
    among: Callable[[Record], bool] = bool,
    remedy: str = _BY_UUID,
) -> Finder:
    """Return a finder that queries by the first of ``keys`` (API names) that is given.

    ``view`` adds derived members to a record. ``among`` is a predicate that the records must meet. ``remedy`` says how
    to select one of several.
    """

    def find(client: Client, key: str, value: str) -> list[Record]:
        if key == "uuid":
            records = [view(record) for record in get_by_uuid(client, operation, value)]
        else:
            records = find_by_attribute(client, operation, key, value, view=view)
        return list(filter(among, records))

    return _find_by_first_key(find, keys, remedy)


def find_by_type(name: str, *keys: str) -> Finder:
    """Return a finder of an existing object of a type in RESOURCE_TYPES by the first of ``keys`` that is given."""
    resource_type = RESOURCE_TYPES[name]

    def find(client: Client, key: str, value: str) -> list[Record]:
        return list(filter(resource_type.is_usable, read_by_key(client, resource_type, key, value)))

    return _find_by_first_key(find, keys)


def describe_state(record: Record) -> str:
    """Return the name of an object and its state, for a message."""
    return f"{record.get('name')} is {record.get('state')}"


def assume_fields(reader: Finder, assumed: Callable[[Record], Record]) -> Finder:
    """Return a finder that adds the ``assumed`` values of fields that the records do not show."""

    def read(client: Client, desired: Record) -> Record | None:
        record = reader(client, desired)
        return record and {**assumed(desired), **record}

    return read


def _find_by_first_key(find: Search, keys: tuple[str, ...], remedy: str = _BY_UUID) -> Finder:
    """Return a finder by ``resourceUuid``, which some servers ignore on a create, and then by the first desired key."""

    def read(client: Client, desired: Record) -> Record | None:
        key = next((key for key in keys if desired.get(key)), None)
        if key != "uuid" and desired.get("resourceUuid"):
            records = find(client, "uuid", desired["resourceUuid"])
            if records:
                return records[0]
        if key is None:
            return None
        label = f"the {format_option_name(key)} {desired[key]!r}"
        return require_unique(find(client, key, desired[key]), label, remedy)

    return read
