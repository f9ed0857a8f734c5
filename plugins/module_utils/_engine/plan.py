"""The calls that lead from the current record to the desired state. Pure: no I/O, no Ansible."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from .._api.errors import InvalidOptions, NotFound
from .._api.operation import ABSENT, TAG_PARAMS, Operation
from .._api.operations import get_operation
from .._api.records import (
    RECORD_FIELDS,
    NullReference,
    Record,
    complete_record,
    drop_null_references,
    holds_unknown_reference,
)
from .current import Current, Unreadable
from .differences import build_not_found, build_unchangeable
from .drift import find_drift, require_equal, warn_of_hidden
from .spec import PlannedCall, ResourceSpec
from .tags import TAGS, plan_with_tags


def plan(resource: ResourceSpec, state: str, desired: Record, current: Current) -> list[PlannedCall]:
    """Return the calls that change the object to ``state`` and to the desired values; none when nothing differs.

    ``desired`` contains only the options that have a value, by their API names. A null reference is omitted if the
    calls do not require it, unless an earlier task has predicted its object: then it differs from the record.

    Raise InvalidOptions when a required option is missing, NotFound when the object does not exist and cannot be
    created, and Unchangeable when a value differs that the API cannot change.
    """
    plan_calls, renamed = resource.plan or build_default_plan, resource.rename(desired)
    if TAGS in desired:
        plan_calls = plan_with_tags(plan_calls)
    without_null = {name: value for name, value in renamed.items() if not holds_unknown_reference(value)}
    if len(without_null) < len(renamed):
        with suppress(InvalidOptions, NotFound):
            return plan_calls(resource, state, without_null, current)
    return plan_calls(resource, state, renamed, current)


def build_default_plan(resource: ResourceSpec, state: str, desired: Record, current: Current) -> list[PlannedCall]:
    """Return the default plan: create, update or delete, then the state transition.

    ``desired`` uses the names of the record.
    """
    record = current.record
    if state == ABSENT:
        return [build_call(resource, resource.delete, desired, record, None)] if record else []
    calls = []
    if record is None:
        if "uuid" in drop_null_references(desired):
            raise build_not_found(resource, desired)
        record = predict_created(resource, desired)
        calls.append(build_call(resource, resource.create, desired, None, record))
    elif changes := find_drift(resource, desired, record):
        calls.append(build_update(resource, changes, desired, current))
        record = {**record, **changes}
    transition = resource.transitions.get(state)
    if transition and not (transition.is_visible and record.get(transition.record_field) in transition.target_values):
        record = {**record, transition.record_field: transition.target_values[0]}
        params = {**desired, **transition.params}
        call = build_call(resource, transition.operation, params, record, record)
        calls.append(call._replace(is_visible=transition.is_visible))
    return calls


def predict_created(resource: ResourceSpec, desired: Record) -> Record:
    """Return the record that is expected after a create: the desired values, everything else None."""
    fields = RECORD_FIELDS[resource.record_type]
    return complete_record(resource.record_type, {name: value for name, value in desired.items() if name in fields})


def build_update(resource: ResourceSpec, changes: Record, desired: Record, current: Current) -> PlannedCall:
    """Return the call that makes all changes; raise Unchangeable for changes that the API cannot make."""
    record, changeable = current.record or {}, resource.changeable
    if fixed := {name: value for name, value in changes.items() if name not in changeable}:
        raise build_unchangeable(resource, fixed, desired, record)
    uncompared = [name for name, parameter in changeable.items() if parameter.required or not parameter.is_compared]
    params = {name: desired[name] for name in (*uncompared, *TAG_PARAMS) if name in desired}
    warning = "" if isinstance(current, Unreadable) else warn_of_hidden(resource, changes, record)
    return build_call(resource, resource.update, {**params, **changes}, record, {**record, **changes}, warning)


def build_call(
    resource: ResourceSpec,
    operation: str | None,
    desired: Record,
    current: Record | None,
    expected: Record | None,
    warning: str = "",
) -> PlannedCall:
    """Return the call of an operation with its desired parameters, and required parameters from the record.

    Raise InvalidOptions when a required parameter is in neither, NotFound when the object would have to be created
    first, and OtherObject when the call is destructive and an option differs from the object. The uuid of an object
    that will be created may be missing, because it is known before this call.
    """
    if operation is None:
        raise build_not_found(resource, desired)
    row = get_operation(operation)
    if current is not None and (row.is_destructive or expected is None):
        warning = "; ".join(filter(None, [warning, require_equal(resource, desired, current)]))
    params = _collect_params(resource, row, desired, current or {})
    missing = list(resource.rename(dict.fromkeys(row.find_missing(params, shortest=current is None))))
    if current is None and missing:
        raise build_not_found(resource, desired, [resource.name_option(name) for name in missing])
    _require_options(operation, [resource.name_option(name) for name in missing if name != "uuid"])
    return PlannedCall(operation, params, expected, warning)


def _require_options(operation: str, missing: Sequence[str]) -> None:
    """Raise InvalidOptions if options that the operation requires are missing."""
    if missing:
        raise InvalidOptions(f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} required for {operation}")


def _collect_params(resource: ResourceSpec, row: Operation, desired: Record, record: Record) -> Record:
    """Return the parameters of a call: the desired values, and required values of the record.

    Null references are omitted unless a required parameter is missing without them.
    """
    params: Record = {}
    null: Record = {}
    for name, parameter in {**row.parameters, **TAG_PARAMS}.items():
        field = resource.fields.get(name, name)
        if isinstance(desired.get(field), NullReference):
            null[name] = desired[field]
        elif desired.get(field) is not None:
            params[name] = desired[field]
        elif parameter.required and record.get(field) is not None:
            params[name] = record[field]
    return {**params, **null} if row.find_missing(params) else params
