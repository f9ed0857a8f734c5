"""Names of objects of all types that the catalogue has a query for."""

from __future__ import annotations

from .._api.by_path import check_request
from .._api.catalogue import find_catalogued
from .._api.operations import OPERATIONS, choose_operation
from .._api.resource_types import RESOURCE_TYPES, ResourceType
from .._client.client import Client
from .._client.names import find_uuid, resolve_name


def look_up(client: Client, resource_type: ResourceType, name: str, is_trusted: bool = False) -> str:
    """Return the uuid of an object. Only the names of objects of types in the table are remembered.

    Raise NotFound or AmbiguousMatch, and InvalidOptions if a server may take the query for a change, unless the user
    trusts its path.
    """
    if resource_type.name in RESOURCE_TYPES:
        return resolve_name(client, resource_type, name, {})
    if resource_type.query not in OPERATIONS and (row := find_catalogued(resource_type.query)):
        check_request("GET", row.path, f"{row.name} for the name {name!r}", is_trusted)
        choose_operation(row)
    return find_uuid(client, resource_type, name, {})
