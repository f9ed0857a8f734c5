"""Labels of objects in messages, and the results of calls. Pure: no I/O."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .._api.errors import join_first
from .._api.operation import ABSENT
from .._api.operations import get_operation
from .._api.records import (
    RECORD_FIELDS,
    Record,
    complete_record,
    is_same_value,
    record_to_result,
    to_snake_case,
)
from .._api.references import format_option_name
from .._client.jobs import RUNNING, Job, predict_job
from .current import Current, Found
from .spec import PlannedCall, ResourceSpec

_UUIDS = ("Uuid", "Uuids")


def format_pending_job(job: Job) -> Record:
    """Return the member of the result for a job that was not waited for."""
    return {"job": job.build_handle()} if job.state == RUNNING else {}


def format_predicted_job(operation: str, wait: bool) -> Record:
    """Return the member of the result for a job that check mode does not start and the task would not wait for."""
    return {} if wait else {"job": predict_job(operation).build_handle()}


def describe_target(params: Record, noun: str = "") -> str:
    """Return a label for the target of a call: the name of the object, or the uuids of its owners."""
    if name := next(filter(None, (params.get(key) for key in ("name", "managementIp", "uuid"))), None):
        return f"{noun} {name}".lstrip()
    owners = ", ".join(
        f"{format_option_name(key)} {_abbreviate(params[key])}"
        for key in params
        if params[key] and key.endswith(_UUIDS)
    )
    return f"{noun} of {owners}" if noun and owners else noun or owners


def _abbreviate(value: Any) -> str:
    """Return a value, or the first of several and the number of others."""
    if not isinstance(value, list):
        return str(value)
    return join_first([str(item) for item in value], 1)


def extract_extras(resource: ResourceSpec, operation: str, reply: Record) -> Record:
    """Return the members of a reply in addition to the record: further values, and records of another type.

    A creation returns the object alone, which the task reads.
    """
    row = get_operation(operation)
    names = row.extra_results if operation != resource.create else []
    extras = {name: reply.get(name, []) for name in names}
    record_type, records = row.record, row.get_records(reply)
    if record_type != resource.record_type and isinstance(records, list):
        extras["records"] = [complete_record(record_type, record) for record in records if isinstance(record, dict)]
    return extras


def format_record(resource: ResourceSpec, record: Record | None) -> Record:
    """Return the members of the result for a record."""
    key = resource.result_key
    members = resource.format_result(record) if resource.format_result else {key: record}
    value = members[key]
    complete = complete_record(resource.record_type, value) if isinstance(value, dict) else value
    return {**record_to_result({**members, key: complete}, resource.record_type)}


def format_diff(resource: ResourceSpec, before: Record | None, after: Record | None) -> Record:
    """Return the member ``diff`` of the result; of an object that is created or deleted, without null members."""
    diff = {"before": _format_diff_side(resource, before), "after": _format_diff_side(resource, after)}
    if before and after:
        return diff
    return {
        side: {name: value for name, value in members.items() if value is not None} for side, members in diff.items()
    }


def _format_diff_side(resource: ResourceSpec, record: Record | None) -> Record:
    """Return the members that one side of a diff has for a record."""
    key = resource.result_key
    value = format_record(resource, record)[key]
    if isinstance(value, dict):
        return value
    return {key: value} if value else {}


def find_unchanged_state(
    resource: ResourceSpec, state: str, call: PlannedCall, before: Record | None, after: Record | None
) -> str | None:
    """Return the field that shows that a step of a removal failed, as ``name is still value``; None if there is none.

    The next step would destroy more of an object that exists.
    """
    transition = resource.transitions.get(state)
    if state != ABSENT or transition is None or not (before and after and call.expected):
        return None
    name = transition.record_field
    has_changed = after.get(name) in (call.expected.get(name), None) or after[name] != before.get(name)
    return None if has_changed else f"{to_snake_case(name)} is still {after[name]}"


def find_unmet_expectations(
    resource: ResourceSpec, state: str, current: Record | None, remaining: list[PlannedCall]
) -> Iterator[tuple[str, bool]]:
    """Yield the values that successful calls should have set, because the calls are still planned.

    Each is paired with whether the requested state itself was not reached.
    """
    states = {value: name for name, transition in resource.transitions.items() for value in transition.target_values}
    record = current or {}
    visible = {*RECORD_FIELDS[resource.record_type], *record}
    for call in remaining:
        names = visible if call.is_visible else resource.transitional_values.keys()
        expected = {name: value for name, value in (call.expected or {}).items() if name in names}
        unmet = {name: value for name, value in expected.items() if not is_same_value(value, record.get(name))}
        if unmet:
            is_state = state == ABSENT or any(states.get(str(record.get(name)), state) != state for name in unmet)
            yield f"{call.operation} succeeded, but {describe_differences(record, unmet)}", is_state


def find_unreached_fields(call: PlannedCall, current: Current) -> Record:
    """Return the expected values that the object must have after a call and does not have; none if it is unreadable."""
    if not isinstance(current, Found):
        return {}
    record, expected, names = current.record, call.expected or {}, call.settling.must_reach
    return {name: expected[name] for name in names if not is_same_value(expected[name], record.get(name))}


def describe_remaining(resource: ResourceSpec, state: str, call: PlannedCall, current: Current) -> str:
    """Return the sentence with the state of an object that a failed call should have removed or moved.

    It is empty for other calls.
    """
    names = call.settling.must_reach
    if names and isinstance(current, Found):
        values = record_to_result({name: current.record.get(name) for name in names}, resource.record_type)
        return f"Now {' and '.join(f'{name} is {value!r}' for name, value in values.items())}."
    if state != ABSENT or not isinstance(current, Found) or current.record.get("uuid") not in call.params.values():
        return ""
    values = {name: current.record[name] for name in resource.transitional_values if current.record.get(name)}
    states = ", ".join(f"{name} {value}" for name, value in values.items())
    return f"The {resource.noun} still exists{f': {states}' if states else ''}."


def describe_differences(record: Record, expected: Record) -> str:
    """Return how the values of a record differ from those that were expected."""
    present, requested = record_to_result(record), record_to_result(expected)
    return ", ".join(f"{key} is {present.get(key)!r} (expected {value!r})" for key, value in requested.items())
