"""Why the service would refuse planned calls, as far as it can be read.

Check mode asks for all calls. A run asks before the first of several calls, so that it does not stop after a part of
them, and after a refusal, so that it fails with the same message as check mode.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from .._api.errors import ApiError, NotFound, Unsupported, VirtinfraError, is_account_refused
from .._api.operations import get_operation
from .._api.records import NullReference, Record, drop_null_references
from .._api.references import format_option_name, is_name
from .._api.resource_types import RESOURCE_TYPES, ResourceType
from .._client.client import Client
from .._client.known_names import FRESH_SECONDS
from .._client.lists import get_by_uuid
from .spec import PlannedCall, ResourceSpec

# A function that returns the failure of a call for the record of its object, None if it finds none.
Examine = Callable[[Any, PlannedCall, Record | None], VirtinfraError | None]


def require_acceptance(
    resource: ResourceSpec, client: Client, calls: Sequence[PlannedCall], record: Record | None
) -> None:
    """Raise the failure with which the service would refuse one of the calls.

    ``record`` is that of the object before the first call, None if it does not exist. What the service does not show is
    not checked.
    """
    for call in (call._replace(params=drop_null_references(call.params)) for call in calls):
        for examine in filter(None, (find_unknown_reference, resource.find_refusal)):
            if refusal := _examine(examine, client, call, record):
                raise refusal
        record = call.expected


def require_known_references(
    client: Client, operation: str, params: Record, find_refusal: Examine | None = None
) -> None:
    """Raise NotFound for a uuid among the parameters of a call that no object has, as far as it can be read.

    Then raise the failure that ``find_refusal`` returns.
    """
    call = PlannedCall(operation, drop_null_references(params), None)
    for examine in filter(None, (find_unknown_reference, find_refusal)):
        if refusal := _examine(examine, client, call, None):
            raise refusal


def explain_refusal(
    resource: ResourceSpec, client: Client, call: PlannedCall, record: Record | None, error: VirtinfraError
) -> VirtinfraError:
    """Return the failure with which check mode predicts the refusal of a call; ``error`` if it predicts none.

    ``record`` is that of the object before the call.
    """
    return explain_error(error, lambda: require_acceptance(resource, client, [call], record))


def explain_error(error: VirtinfraError, require: Callable[[], None]) -> VirtinfraError:
    """Return the failure that ``require`` raises now that the service has refused a call; ``error`` if it raises none.

    The error of the service is its cause.
    """
    if not isinstance(error, ApiError) or error.transient or is_account_refused(error):
        return error
    try:
        require()
    except VirtinfraError as reason:
        reason.result, reason.causes = {**error.result, **reason.result}, [error.error]
        return error if reason.is_outage else reason
    return error


def _examine(
    examine: Examine,
    client: Client,
    call: PlannedCall,
    record: Record | None,
) -> VirtinfraError | None:
    """Return the refusal that a function finds; None if the service, or the account, does not allow its reads."""
    try:
        return examine(client, call, record)
    except Unsupported:
        return None
    except ApiError as failure:
        if is_account_refused(failure):
            return None
        raise


def find_unknown_reference(client: Client, call: PlannedCall, record: Record | None) -> NotFound | None:
    """Return the failure for the first uuid in the parameters of a call that no object has; None if all exist."""
    return find_unknown_object(client, _list_references(call), record)


def find_unknown_object(
    client: Client, references: Iterable[tuple[str, Any, ResourceType]], record: Record | None
) -> NotFound | None:
    """Return the failure for the first uuid that no object has; None if all exist.

    ``references`` are options, each with a uuid or a list of uuids, and the type of the objects. Objects in the record
    of the object are not read, nor the object itself.
    """
    known = set(_list_strings((record or {}).values()))
    for option, value, resource_type in references:
        for uuid in _list_strings([value]):
            is_read = not (uuid in known or is_name(uuid))
            if is_read and not get_by_uuid(client, resource_type.query, uuid, FRESH_SECONDS):
                return build_unknown(client, resource_type, uuid, option)
    return None


def build_unknown(client: Client, resource_type: ResourceType, uuid: str, option: str, remark: str = "") -> NotFound:
    """Return the failure that no object has the uuid in an option, with the object of another type that has it."""
    # Few module processes need the code for names.
    from .._client.names import explain_unknown_uuid

    failure = NotFound(f"no {resource_type.noun} with uuid {uuid!r}{remark}", f"Check {option}.")
    failure.add_sentence(explain_unknown_uuid(client, resource_type, uuid))
    return failure


def _list_references(call: PlannedCall) -> Iterator[tuple[str, Any, ResourceType]]:
    """Yield the parameters of a call that refer to objects with a query, each with its value and their type."""
    parameters = get_operation(call.operation).parameters
    for name, value in call.params.items():
        refers_to = parameters[name].refers_to if name in parameters and name != "uuid" else ""
        if refers_to and RESOURCE_TYPES[refers_to].query:
            yield format_option_name(name), value, RESOURCE_TYPES[refers_to]


def _list_strings(values: Any) -> Iterator[str]:
    """Yield the strings among values, and those in lists."""
    for value in values:
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, str) and not isinstance(item, NullReference):
                yield item
