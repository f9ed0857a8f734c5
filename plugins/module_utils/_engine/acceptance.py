"""What the refusal of a call means: why it does not fail the task, or else the failure."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from .._api.errors import VirtinfraError
from .._api.records import Record, is_same_value
from .calls import (
    can_answer_second_delivery,
    is_refused_as_duplicate,
    is_refused_tag,
    is_removed_by_another,
    warn_of_second_delivery,
)
from .current import Current, Unreadable
from .differences import list_references
from .reader import ObjectReader
from .refusals import explain_refusal
from .results import describe_remaining, find_unreached_fields
from .spec import PlannedCall, ResourceSpec


class Acceptance(Enum):
    """The reasons to accept the refusal of a call."""

    CREATED = "another run, task or user has created the object"
    REACHED = "the object is in the requested state: another one was faster, or a proxy delivered the call twice"
    TAGGED = "another run, task or user has added the tag"
    REMOVED = "another run, task or user has removed the object"


def find_acceptance(
    resource: ResourceSpec,
    call: PlannedCall,
    before: Current,
    current: Current,
    error: VirtinfraError,
    is_reached: Callable[[], bool],
) -> Acceptance | None:
    """Return why the refusal of a call does not fail the task; None if it does.

    ``before`` and ``current`` are the object before and after the call. ``is_reached`` reads whether the object shows
    what the call should change.
    """
    if _is_created_by_another(resource, call, current.record, error):
        return Acceptance.CREATED
    may_be_reached = can_answer_second_delivery(error) or _moves(resource, call, before)
    is_candidate = may_be_reached or is_refused_tag(call, error)
    if is_candidate and not find_unreached_fields(call, current) and is_reached():
        return Acceptance.REACHED if may_be_reached else Acceptance.TAGGED
    return Acceptance.REMOVED if is_removed_by_another(call, current, error) else None


def _is_created_by_another(
    resource: ResourceSpec, call: PlannedCall, record: Record | None, error: VirtinfraError
) -> bool:
    """Return whether the service refused to create an object because another run, task or user has created it.

    Two runs that choose the uuid of the same object in the same way make one, whatever the service says to the second.
    """
    if not record or call.operation != resource.create:
        return False
    if call.params.get("resourceUuid") != record.get("uuid") and not is_refused_as_duplicate(call, error):
        return False
    return not (can_answer_second_delivery(error) and _can_be_created_by(call, record))


def _can_be_created_by(call: PlannedCall, record: Record) -> bool:
    """Return whether a creating call can have created a record: no value differs from the parameters of the call."""
    params = {"uuid" if name == "resourceUuid" else name: value for name, value in call.params.items()}
    return all(is_same_value(value, record[name]) for name, value in params.items() if record.get(name) is not None)


def _moves(resource: ResourceSpec, call: PlannedCall, before: Current) -> bool:
    """Return whether a call changes a state through which the object passes on its way to another."""
    expected, record = call.expected, before.record or {}
    return expected is not None and any(expected.get(name) != record.get(name) for name in resource.transitional_values)


def _has_changed_a_part(call: PlannedCall, before: Record | None, now: Record | None) -> bool:
    """Return whether a failed call has changed a part of what it should change.

    A failed deletion may have disabled the object.
    """
    if before is None or now is None:
        return (before is None) != (now is None)
    expected = call.expected or {**before, "state": None}
    names = (name for name, value in expected.items() if value != before.get(name))
    return any(now.get(name) != before.get(name) for name in names)


def build_refusal(
    reader: ObjectReader,
    call: PlannedCall,
    before: Current,
    current: Current,
    error: VirtinfraError,
    read_error: VirtinfraError | None,
) -> VirtinfraError:
    """Return the failure of a refused call, with what the call has changed nevertheless, as far as it can be read.

    ``current`` is the object after the call. ``read_error`` is why the object cannot be read, or is not stable.
    """
    resource = reader.resource
    if isinstance(current, Unreadable):
        if warning := warn_of_second_delivery(call, reader.label, error):
            error.result["changed"] = True
            reader.context.warnings.append(warning)
    elif _has_changed_a_part(call, before.record, current.record):
        error.result["changed"] = True
    remaining = describe_remaining(resource, reader.state, call, current)
    if remaining and not read_error:
        error.add_sentence(f" {remaining}")
        error.with_references(list_references(dict.fromkeys(call.settling.must_reach), current.record or {}))
    failure = explain_refusal(resource, reader.client, call, before.record, error)
    if read_error:
        failure.add_sentence(f" The {resource.noun} could not be checked after the call: {read_error.message}")
    return failure
