"""How attachments of two objects are found, from their rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .._api.errors import InUse, Unchangeable, VirtinfraError
from .._api.records import Record
from .._api.references import is_name
from .._client.client import Client
from .._client.lists import get_by_uuid, query, require_members
from .._client.names import add_names
from .._engine.spec import PlannedCall
from .kind_references import list_references
from .kind_rows import Attachment
from .vm_states import join_states


def find_attachment(row: Attachment, attached: list[str], client: Client, desired: Record) -> Record | None:
    """Return the record of an attachment: the uuids of its two objects; None if they are not attached.

    Put the uuids of the objects to which the first one is attached into ``attached``.
    """
    first, second = row.ends.values()
    attached[:] = _list_attached(row, client, desired[first])
    if desired[second] not in attached:
        return None
    return {"uuid": desired[first], first: desired[first], second: desired[second]}


def find_other_attachment(
    row: Attachment, client: Client, call: PlannedCall, record: Record | None
) -> VirtinfraError | None:
    """Return the failure if the first object is attached to another one, from which it must be detached before."""
    if call.operation != row.attach:
        return None
    first, second = row.ends.values()
    wanted = {row.parameters.get(name, name): value for name, value in call.params.items()}
    # Check mode does not know the uuid of an object that an earlier task would have created.
    attached = _list_attached(row, client, wanted[first]) if first in wanted else []
    others = [uuid for uuid in attached if uuid != wanted.get(second)]
    if not others:
        return None
    end, other = row.ends
    failure = InUse(
        f"the {end} is attached to the {other} {others[0]!r}. Detach it first: state absent with this {other}."
    )
    return failure.with_references({others[0]: second})


def find_unmet_demand(row: Attachment, client: Client, call: PlannedCall) -> Unchangeable | None:
    """Return the failure that an object is not what the service demands of one that is attached."""
    wanted = {row.parameters.get(name, name): value for name, value in call.params.items()}
    types = {reference.option: reference.type for reference in list_references(row).values()}
    for end, field, values, also in row.demands if call.operation == row.attach else ():
        uuid, resource_type = wanted.get(row.ends[end]), types[end]
        for record in get_by_uuid(client, resource_type.query, uuid) if uuid and resource_type else ():
            value = record.get(field)
            if resource_type and value not in (None, *values, *also):
                return Unchangeable(
                    f"the {resource_type.noun} {record.get('name')} is {value}, and {call.operation} needs one that is"
                    f" {join_states(values)}."
                )
    return None


def warn_of_remaining(row: Attachment, attached: list[str], client: Client, desired: Record) -> list[str]:
    """Return the warning that the first object is still attached to another one than the task detaches it from.

    The task has warned of a name that no object has.
    """
    second = list(row.ends.values())[1]
    is_other = row.is_exclusive and not is_name(desired[second])
    others = [uuid for uuid in attached if is_other and uuid != desired[second]]
    end, other = row.ends
    warnings = (f"{row.name}: the {end} remains attached to another {other}, {uuid!r}." for uuid in others)
    return [add_names(client, warning, dict.fromkeys(others, second)) for warning in warnings]


def _list_attached(row: Attachment, client: Client, first: str) -> list[str]:
    """Return the uuids of the objects to which the first object of an attachment is attached."""
    if row.of == "uuid":
        records = get_by_uuid(client, row.query, first)
    else:
        found = query(client, row.query, [f"{row.of}={first}"])
        require_members(found, row.query, row.of)
        records = [record for record in found if record[row.of] == first]
    return [value for record in records for value in _list_values(record, row.path.split(".")) if value]


def _list_values(value: Any, path: list[str]) -> Iterator[Any]:
    """Yield the values at a path in a record. Lists on the way are searched."""
    if isinstance(value, list):
        for item in value:
            yield from _list_values(item, path)
    elif not path:
        yield value
    elif isinstance(value, dict):
        yield from _list_values(value.get(path[0]), path[1:])
