"""The plans of kinds whose objects take more calls than the usual ones, from their rows. Pure: no I/O."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from .._api.operation import ABSENT
from .._api.operations import get_operation
from .._api.records import Record, is_same_value
from .._engine.current import Current
from .._engine.drift import require_equal
from .._engine.plan import build_default_plan
from .._engine.spec import PlannedCall, ResourceSpec
from .chains import chain_plans
from .kind_mistakes import examine_calls
from .kind_rows import Kind, Parts
from .root_volumes import require_data_volume


def plan_kind(kind: Kind, resource: ResourceSpec, state: str, desired: Record, current: Current) -> list[PlannedCall]:
    """Return the calls of the default plan, those that change single properties and parts, recover and expunge.

    ``desired`` uses the names of the record.
    """
    if state == ABSENT:
        calls = _plan_removal(kind, resource, desired, current)
    else:
        calls = chain_plans(
            current, partial(_plan_recovery, kind), partial(_plan_properties, kind, resource, state, desired)
        )
    require_data_volume(calls, current)
    return examine_calls(kind, calls, desired)


def _plan_recovery(kind: Kind, current: Current) -> list[PlannedCall]:
    """Return the call that recovers a deleted object. The finder returns one only on request."""
    record = current.record or {}
    if not kind.deleted or record.get("status") != kind.deleted:
        return []
    return [_call_for(kind.recover, record, _predict_recovered(record, kind.deleted))]


def _predict_recovered(record: Record, deleted: str) -> Record:
    """Return a deleted object as it is when it is recovered, with what it consists of, such as copies of an image."""
    parts = {name: value for name, value in record.items() if isinstance(value, list)}
    recovered = {
        name: [_predict_recovered(part, deleted) if isinstance(part, dict) else part for part in value]
        for name, value in parts.items()
    }
    return {**record, **recovered, **({"status": "Ready"} if record.get("status") == deleted else {})}


def _call_for(operation: str, record: Record, expected: Record | None, warning: str = "") -> PlannedCall:
    """Return the call of an operation that needs only the uuid of its object."""
    (parameter,) = get_operation(operation).target_params
    return PlannedCall(operation, {parameter: record["uuid"]}, expected, warning)


def _plan_removal(kind: Kind, resource: ResourceSpec, desired: Record, current: Current) -> list[PlannedCall]:
    """Return the call that deletes an object, and with ``expunge`` the one that removes it for good."""
    record = current.record
    if record is None:
        return []
    calls = []
    if not kind.deleted or record.get("status") != kind.deleted:
        own = {each.name for each in kind.parts}
        compared = {name: value for name, value in desired.items() if name not in own}
        calls = build_default_plan(resource, ABSENT, compared, current)
    if desired.get("expunge"):
        calls = [call._replace(expected={**record, "status": kind.deleted}) for call in calls]
        calls.append(_call_for(kind.expunge, record, None, require_equal(resource, desired, record)))
    return calls


def _plan_properties(
    kind: Kind, resource: ResourceSpec, state: str, desired: Record, current: Current
) -> list[PlannedCall]:
    """Return the calls of the default plan, and those that change single properties and parts."""
    parts = [each for each in kind.parts if each.name in desired]
    changes = {kind.fields.get(name) or name: operation for name, operation in kind.change.items()}
    own = {each.name for each in parts} | (changes.keys() if current.record else set())
    main = {name: value for name, value in desired.items() if name not in own}
    return chain_plans(
        current,
        partial(build_default_plan, resource, state, main),
        *(
            partial(_plan_change, name, operation, desired[name])
            for name, operation in changes.items()
            if name in own & desired.keys()
        ),
        *(partial(_plan_parts, each, desired[each.name]) for each in parts),
    )


def _plan_change(name: str, operation: str, value: Any, current: Current) -> list[PlannedCall]:
    """Return the call that changes a single property of an object that exists."""
    record = current.record or {}
    if is_same_value(value, record.get(name)):
        return []
    return [PlannedCall(operation, {"uuid": record.get("uuid"), name: value}, {**record, name: value})]


def _plan_parts(parts: Parts, desired: list[Record], current: Current) -> list[PlannedCall]:
    """Return the calls that make the parts of an object the desired ones.

    Parts are added first. Grouped parts are removed first, because each group excludes the same part of the
    others: a network has a service of one provider.
    """
    record = current.record or {}
    left = record.get(parts.name) or []
    owned = [item for item in left if not _matches(parts.kept, item)] if parts.kept else left
    missing = [item for item in desired if not any(_matches(item, other) for other in left)]
    removed = [item for item in owned if not any(_matches(wanted, item) for wanted in desired)]
    calls = []
    for operation in (parts.remove, parts.add) if parts.grouped else (parts.add, parts.remove):
        items = missing if operation == parts.add else removed
        if items:
            left = [*left, *missing] if operation == parts.add else [item for item in left if item not in removed]
            params = _collect_parts(parts, operation, record.get("uuid"), items)
            calls.append(PlannedCall(operation, params, {**record, parts.name: left}))
    return calls


def _collect_parts(parts: Parts, operation: str, owner: Any, items: list[Record]) -> Record:
    """Return the parameters of the call that adds or removes parts."""
    if parts.grouped:
        key, member = parts.grouped
        groups: dict[str, list[Any]] = {}
        for item in items:
            groups.setdefault(item[key], []).append(item[member])
        return {parts.owner: owner, parts.added if operation == parts.add else parts.removed: groups}
    if operation == parts.add:
        return {parts.owner: owner, parts.added: items}
    return {parts.removed: [item.get("uuid") for item in items]}


def _matches(wanted: Mapping[str, Any], item: Mapping[str, Any]) -> bool:
    """Return whether an item has all of the wanted members."""
    return all(is_same_value(value, item.get(name)) for name, value in wanted.items())
