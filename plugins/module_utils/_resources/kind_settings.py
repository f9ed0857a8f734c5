"""How settings of an object are found and planned, from their rows."""

from __future__ import annotations

from typing import Any

from .._api.errors import ApiError, OtherObject, TransportError
from .._api.operation import ABSENT, is_bare
from .._api.records import Record
from .._api.references import is_name
from .._client.client import Client
from .._client.lists import get_by_uuid
from .._engine.current import Current, Unreadable
from .._engine.differences import describe_differences
from .._engine.plan import build_call, build_default_plan
from .._engine.spec import PlannedCall, ResourceSpec
from .kind_references import list_references
from .kind_rows import Setting


def find_setting(row: Setting, is_absent: bool, client: Client, desired: Record) -> Record | None:
    """Return the record of a setting: the uuid of its object, and its value.

    Return None for the default, unless the task asks for that value, and for an object that does not exist.
    """
    (end,) = row.ends.values()
    if is_name(desired[end]):
        return None
    try:
        reply = client.get(row.read, {"uuid": desired[end]})
    except ApiError:
        reference = list_references(row)[end]
        if reference.type and get_by_uuid(client, reference.type.query, desired[end]):
            raise
        return None
    if row.member not in reply and (row.default is not None or not is_bare(reply)):
        raise TransportError(f"the response to {row.read} has no {row.member}", transient=False)
    value = reply.get(row.member)
    is_wanted = not is_absent and value == desired.get(row.value)
    return None if value in (None, row.default) and not is_wanted else _build_record(row, desired, value)


def _build_record(row: Setting, desired: Record, value: Any) -> Record:
    (end,) = row.ends.values()
    return {"uuid": desired[end], end: desired[end], row.value: value}


def plan_setting(
    row: Setting, resource: ResourceSpec, state: str, desired: Record, current: Current
) -> list[PlannedCall]:
    """Plan the call that changes or resets a setting. A list is compared in its order.

    Raise Unsupported if the service does not show the setting: then it does not have it.
    """
    if isinstance(current, Unreadable):
        raise current.reason
    (end,) = row.ends.values()
    record, wanted = current.record, desired.get(row.value)
    differs = record is None or wanted != record.get(row.value)
    if state == ABSENT:
        if record and wanted is not None and differs:
            differences = describe_differences(resource, {row.value: wanted}, record)
            raise OtherObject(f"the options differ from the existing {resource.noun}: {differences}.")
        return build_default_plan(resource, state, {end: desired[end]}, current)
    expected = _build_record(row, desired, wanted)
    return [build_call(resource, row.change, desired, record, expected)] if differs else []
