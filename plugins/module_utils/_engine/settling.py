"""Which fields of a record must be stable before and after a call, and which show that it failed. Pure: no I/O."""

from __future__ import annotations

from collections.abc import Sequence

from .._api.records import Record, to_snake_case
from .spec import NO_VALUES, ResourceSpec, Values
from .tags import ADD_TAG, REMOVE_TAG


def list_needed_fields(resource: ResourceSpec, state: str, operation: str) -> tuple[str, ...]:
    """Return the fields of the record that must be stable before ``operation`` is called."""
    transition = resource.transitions.get(state)
    return transition.needs if transition and transition.operation == operation else ()


def list_settling_fields(resource: ResourceSpec, state: str, operation: str | None = None) -> tuple[str, ...]:
    """Return the fields that must be stable after ``operation``, or without it when no call is left to make.

    After a transition, only the fields of its state must be stable: a disabled host need not be connected. After a
    change of tags, none must be, and after every other call all. For an object that must only be present, none must be.
    """
    if operation in (ADD_TAG, REMOVE_TAG):
        return ()
    transition = resource.transitions.get(state)
    if operation and not (transition and transition.operation == operation):
        return tuple({**resource.transitional_values, **resource.failed_values})
    return (transition.record_field, *transition.settles) if transition else ()


def find_transitional_field(
    resource: ResourceSpec,
    fields: Sequence[str],
    record: Record | None,
    further_values: Values = NO_VALUES,
) -> str | None:
    """Return the first of ``fields`` with a transitional value, or the field with one of ``further_values``.

    None if there is none.
    """
    values = [(name, resource.transitional_values.get(name, ())) for name in fields]
    values += further_values.items()
    return next((name for name, transitional in values if record and record.get(name) in transitional), None)


def find_failed_value(
    resource: ResourceSpec,
    state: str,
    operation: str,
    before: Record | None,
    record: Record | None,
    expected: Record | None = None,
) -> str | None:
    """Return the field that shows that ``operation`` failed, as ``name value``; None if there is none.

    A field that was transitional or failed before the call does not show a failure of the call, unless it is the field
    that the call changes. A field with its ``expected`` value never does.
    """
    transition = resource.transitions.get(state)
    for name in list_settling_fields(resource, state, operation):
        unstable = (*resource.transitional_values.get(name, ()), *resource.failed_values.get(name, ()))
        is_target = transition is not None and name == transition.record_field
        is_stable_before = (before or {}).get(name) not in unstable
        is_failed = (record or {}).get(name) in resource.failed_values.get(name, ())
        has_failed = is_failed and (record or {}).get(name) != (expected or {}).get(name)
        if record and has_failed and (is_target or is_stable_before):
            return f"{to_snake_case(name)} {record[name]}"
    return None
