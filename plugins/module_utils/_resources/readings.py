"""Reading the records of a type with a query or, where none can be used, with a cursor query."""

from __future__ import annotations

from collections.abc import Callable

from .._api.errors import ApiError, Unsupported, is_forbidden
from .._api.records import Record, is_same_value
from .._api.resource_types import ResourceType
from .._client.client import Client
from .._client.lists import combine_finders, find_by_attribute, get_by_uuid, paginate_cursor, validate_records


def read_by_key(client: Client, resource_type: ResourceType, key: str, value: str) -> list[Record]:
    """Return the records of a type whose ``key`` (API name) has a value, those of deleted objects included."""

    def query_records() -> list[Record]:
        if key == "uuid":
            return get_by_uuid(client, resource_type.query, value)
        return find_by_attribute(client, resource_type.query, key, value)

    records = read_records(client, resource_type, query_records)
    return [record for record in records if is_same_value(value, record.get(key))]


def read_records(
    client: Client, resource_type: ResourceType, query_records: Callable[[], list[Record]]
) -> list[Record]:
    """Return the records that queries return or, where these cannot be used, all records of the type.

    The latter come from the cursor query, the syntax of whose filters is not documented, so the caller selects among
    them. Which of both is used, `combine_finders` decides.
    """
    read = combine_finders(
        lambda dummy, none: query_records(), lambda dummy, none: list_by_cursor(client, resource_type.cursor_type)
    )
    return read(client, {})


def list_by_cursor(client: Client, resource_type: str) -> list[Record]:
    """Return all records of a cursor query; raise TransportError when one has a member of a wrong type."""
    records = [record for page, total in paginate_cursor(client, resource_type) for record in page]
    return validate_records(records, "CursorQuery")


def explain_unreadable(failure: Unsupported | ApiError) -> str:
    """Return why the service or the credentials do not allow a read; raise any other failure."""
    if isinstance(failure, ApiError) and not is_forbidden(failure):
        raise failure
    return failure.reason if isinstance(failure, Unsupported) else failure.message.rstrip(".")
