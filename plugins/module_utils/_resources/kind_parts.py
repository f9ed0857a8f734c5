"""The plans of kinds whose objects take more calls than the usual ones, from their rows. Pure: no I/O."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from .._api.errors import InvalidOptions, Unchangeable
from .._api.operation import ABSENT
from .._api.operations import get_operation
from .._api.records import Record, is_same_value
from .._engine.current import Current
from .._engine.drift import require_equal
from .._engine.plan import build_default_plan
from .._engine.spec import PlannedCall, ResourceSpec, Settling
from .chains import chain_plans
from .kind_mistakes import examine_calls
from .kind_properties import name_property
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
    return examine_calls(kind, resource, calls, desired)


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
    changes = {kind.fields.get(name) or name: name for name in kind.change}
    own = {each.name for each in parts} | (changes.keys() if current.record else set())
    main = {name: value for name, value in desired.items() if name not in own}
    return chain_plans(
        current,
        partial(build_default_plan, resource, state, main),
        *(
            partial(_plan_growth, kind, parameter, desired[name])
            for name, parameter in changes.items()
            if name in own & desired.keys()
        ),
        *(partial(_plan_parts, each, desired[each.name]) for each in parts),
    )


def _plan_growth(kind: Kind, parameter: str, size: int, current: Current) -> list[PlannedCall]:
    """Return the call that lets an object that exists grow. Raise Unchangeable for a smaller size."""
    record, name = current.record or {}, kind.fields.get(parameter) or parameter
    present = record.get(name)
    if is_same_value(size, present):
        return []
    if present is not None and size < present:
        option = name_property(parameter)
        raise Unchangeable(
            f"{option} is {present}, should be {size}, and a {kind.noun} cannot shrink. Omit {option}, or give"
            f" {present}."
        )
    params, grown = {"uuid": record.get("uuid"), name: size}, {**record, name: size}
    return [PlannedCall(kind.change[parameter], params, grown, settling=Settling({"status": kind.unsettled}))]


def _plan_parts(parts: Parts, desired: list[Record], current: Current) -> list[PlannedCall]:
    """Return the calls that make the parts of an object the desired ones.

    Parts are added first. Grouped parts are removed first, because each group excludes the same part of the
    others: a network has a service of one provider.
    """
    add, change, remove = (partial(plan, parts, desired) for plan in (_plan_addition, _plan_changes, _plan_removals))
    return chain_plans(current, *((remove, add) if parts.grouped else (add, change, remove)))


def _list_parts(parts: Parts, current: Current) -> tuple[Record, list[Record]]:
    """Return the record of an object, and its parts."""
    record = current.record or {}
    return record, record.get(parts.name) or []


def _plan_addition(parts: Parts, desired: list[Record], current: Current) -> list[PlannedCall]:
    record, items = _list_parts(parts, current)
    missing = [wanted for wanted in desired if not any(_is_same_part(parts, wanted, item) for item in items)]
    if not missing:
        return []
    params = {parts.owner: record.get("uuid"), parts.added: _group_parts(parts, missing)}
    return [PlannedCall(parts.add, params, {**record, parts.name: [*items, *missing]})]


def _plan_changes(parts: Parts, desired: list[Record], current: Current) -> list[PlannedCall]:
    """Return the calls that give parts the desired values of those members that do not tell them from the others."""
    record, items = _list_parts(parts, current)
    calls = []
    for number, item in enumerate(items):
        wanted = next((each for each in desired if _is_same_part(parts, each, item)), {})
        given = {name: wanted[name] for name in parts.changeable if name in wanted}
        if changes := {name: value for name, value in given.items() if not _is_same_member(parts, name, wanted, item)}:
            items = [*items[:number], {**item, **changes}, *items[number + 1 :]]
            calls.append(
                PlannedCall(parts.change, {"uuid": item.get("uuid"), **changes}, {**record, parts.name: items})
            )
    return calls


def _plan_removals(parts: Parts, desired: list[Record], current: Current) -> list[PlannedCall]:
    record, items = _list_parts(parts, current)
    removed = [
        item
        for item in items
        if not (_is_kept(parts, item) or any(_is_same_part(parts, wanted, item) for wanted in desired))
    ]
    if not removed:
        return []
    params = (
        {parts.owner: record.get("uuid"), parts.removed: _group_parts(parts, removed)}
        if parts.grouped
        else {parts.removed: [item.get("uuid") for item in removed]}
    )
    left = [item for item in items if item not in removed]
    return [PlannedCall(parts.remove, params, {**record, parts.name: left})]


def _group_parts(parts: Parts, items: list[Record]) -> list[Record] | dict[str, list[Any]]:
    """Return parts as they are sent: those of kinds with groups by the first member that groups them."""
    if not parts.grouped:
        return items
    key, member = parts.grouped
    groups: dict[str, list[Any]] = {}
    for item in items:
        groups.setdefault(item[key], []).append(item[member])
    return groups


def refuse_equal_parts(parts: Parts, label: str, items: list[Record]) -> None:
    """Raise InvalidOptions for two parts of a list that an object cannot both have."""
    for number, item in enumerate(items):
        for other in range(number):
            if all(_is_same_member(parts, name, item, items[other]) for name in parts.unique or parts.identity):
                names = " and ".join(map(name_property, parts.unique))
                relation = f"has the same {names} as" if names else "is the same as"
                raise InvalidOptions(f"{label}[{number}] {relation} {label}[{other}]. Remove one of them")


def _is_kept(parts: Parts, item: Mapping[str, Any]) -> bool:
    """Return whether a part is the service's own, which remains."""
    return bool(parts.kept) and all(is_same_value(value, item.get(name)) for name, value in parts.kept.items())


def _is_same_part(parts: Parts, wanted: Mapping[str, Any], item: Mapping[str, Any]) -> bool:
    """Return whether two parts are the same one."""
    return all(_is_same_member(parts, name, wanted, item) for name in parts.identity)


def _is_same_member(parts: Parts, name: str, wanted: Mapping[str, Any], item: Mapping[str, Any]) -> bool:
    """Return whether two parts have the same value of a member, which is the default for one that does not give it."""
    values = (each.get(name) for each in (wanted, item))
    default = parts.defaults.get(name)
    return is_same_value(*(default if value is None else value for value in values))
