"""The kinds of objects of the module ``resource``: their operations and their resource specs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache, partial

from .._api.catalogue import CataloguedOperation, find_query_type
from .._api.errors import NotFound, VirtinfraError
from .._api.operation import ABSENT, Effect, Parameter
from .._api.operations import OPERATIONS, choose_operation
from .._api.records import Record, describe_record
from .._client.client import Client
from .._client.lists import require_unique
from .._engine.spec import Names, PlannedCall, ResourceSpec, StateTransition
from .finders import find_by_query
from .kind_attachments import find_attachment, find_other_attachment, find_unmet_demand
from .kind_parts import plan_kind
from .kind_properties import find_operation, list_properties, name_property
from .kind_references import find_missing_object, find_unoffered_part, list_referenced_types
from .kind_rows import ATTACHMENTS, KINDS, SETTINGS, Attachment, Kind, Row, Setting
from .kind_settings import find_setting, plan_setting
from .kind_uses import build_guard
from .root_volumes import find_root_refusal

# The fields of all records that the catalogue's operations return.
_COMMON = ("uuid", "name", "description", "createDate", "lastOpDate")

# The states that an operation leads to, with its event and the value of the record's field.
_EVENTS = {"enabled": ("enable", "Enabled"), "disabled": ("disable", "Disabled")}


@lru_cache(maxsize=1)
def _rows_by_name() -> Mapping[str, Row]:
    rows: list[Row] = [*KINDS, *ATTACHMENTS, *SETTINGS]
    return {row.name: row for row in sorted(rows, key=lambda row: row.name)}


def list_kinds() -> list[str]:
    """Return the names of all kinds, attachments and settings."""
    return list(_rows_by_name())


def get_row(name: str) -> Row:
    """Return the row of a kind, an attachment or a setting."""
    return _rows_by_name()[name]


def map_ends() -> dict[str, str]:
    """Return the parameters of the objects of attachments and settings, by the options for them."""
    return {end: parameter for row in (*ATTACHMENTS, *SETTINGS) for end, parameter in row.ends.items()}


def list_states(row: Row) -> list[str]:
    """Return the values that the option ``state`` has for a kind."""
    changes = [*_EVENTS] if isinstance(row, Kind) and row.change_state else []
    can_be_removed = not isinstance(row, Kind) or row.delete
    return ["present", *changes, *([ABSENT] if can_be_removed else [])]


# Operations


def list_operations(row: Row) -> list[str]:
    """Return the names of the operations that change the objects of a kind."""
    if isinstance(row, Attachment):
        return [row.attach, row.detach]
    if isinstance(row, Setting):
        return list(dict.fromkeys((row.change, row.reset)))
    parts = (name for each in row.parts for name in (each.add, each.change, each.remove))
    names = (*row.create.values(), row.update, *_list_removals(row), row.recover, row.change_state)
    names = (*names, *row.change.values(), *parts)
    return list(dict.fromkeys(name for name in names if name))


def _list_removals(kind: Kind) -> list[str]:
    """Return the names of the operations that remove an object."""
    return [name for name in (kind.delete, kind.expunge) if name]


def _choose_operations(row: Row, record: str) -> None:
    """Let the engine find the operations of a kind by their names."""
    reads = [row.read] if isinstance(row, Setting) else [row.query, *(use.query for use in row.uses)]
    for name in (*reads, *(found.query for found in list_referenced_types(row))):
        operation = find_operation(name)
        if isinstance(operation, CataloguedOperation):
            is_own = isinstance(row, Kind) and name == row.query
            choose_operation(replace(operation, record=record if is_own else ""))
    for name in list_operations(row):
        operation = find_operation(name)
        if isinstance(operation, CataloguedOperation):
            choose_operation(_complete(row, operation, record))


def _complete(row: Row, operation: CataloguedOperation, record: str) -> CataloguedOperation:
    """Return an operation with what the row of its kind adds to the catalogue.

    What is created or attached must be known not to exist: a service may create two objects. The reply to a change of a
    part is the part.
    """
    of_parts = [each.change for each in row.parts] if isinstance(row, Kind) else ()
    creations = row.create.values() if isinstance(row, Kind) else [row.attach] if isinstance(row, Attachment) else ()
    return replace(
        operation,
        params=tuple(_hide(row, parameter) for parameter in operation.params),
        result=() if operation.name in of_parts else ("inventory",),
        record=record if isinstance(row, Kind) and operation.name not in of_parts else "",
        effect=Effect(is_idempotent=operation.name not in creations),
    )


def _hide(row: Row, parameter: Parameter) -> Parameter:
    """Return a parameter, not compared if no record shows it."""
    is_shown = not isinstance(row, Kind) or row.fields.get(parameter.name, "") is not None
    return parameter._replace(is_compared=is_shown)


# Resource specs


def build_spec(row: Row, desired: Record, attached: list[str]) -> ResourceSpec:
    """Return the resource spec of a kind, for these desired values by the API's names for them.

    The finder of an attachment puts the uuids of the objects to which the first one is attached into ``attached``.
    """
    record = _describe_records(row)
    _choose_operations(row, record)
    if isinstance(row, Setting):
        return _build_setting(row, record, desired)
    return (
        _build_attachment(row, record, attached) if isinstance(row, Attachment) else _build_kind(row, record, desired)
    )


def _describe_records(row: Row) -> str:
    """Return the type of the records of a kind: that of the table, or else one with the fields of its properties."""
    known = OPERATIONS.get(row.query) if isinstance(row, Kind) else None
    if known:
        return known.record
    record = f"{row.name} of the catalogue"
    if not isinstance(row, Kind):
        fields: list[str] = [*row.ends.values(), *([row.value] if isinstance(row, Setting) else [])]
    else:
        shown = [each for each in list_properties(row).values() if each.is_shown]
        fields = [str(row.fields.get(each.parameter.name, each.parameter.name)) for each in shown]
        fields += [*_COMMON, *filter(None, [row.parent]), *(["state"] if row.change_state else [])]
    describe_record(record, fields)
    return record


def _build_kind(kind: Kind, record: str, desired: Record) -> ResourceSpec:
    create = next((name for key, name in kind.create.items() if not key or desired.get(key) is not None), None)
    status = {"status": kind.unsettled} if kind.unsettled else {}
    properties = {each.parameter.name: f"properties.{name}" for name, each in list_properties(kind).items()}
    return ResourceSpec(
        record,
        kind.name,
        partial(_find, kind),
        create=create,
        update=kind.update,
        delete=kind.delete,
        transitions=_build_transitions(kind),
        transitional_values=status,
        tagged_type=kind.tagged_type,
        find_refusal=partial(_find_refusal_of_object, kind),
        guards={ABSENT: [build_guard(kind.uses, tuple(_list_removals(kind)))]} if kind.uses else {},
        plan=partial(plan_kind, kind),
        names=Names(
            kind.noun,
            options={**properties, **({kind.parent: "parent"} if kind.parent else {})},
            fields={name: field for name, field in kind.fields.items() if field},
        ),
        listed_type=find_query_type(kind.query),
    )


def _build_transitions(kind: Kind) -> Mapping[str, StateTransition]:
    """Return the transitions to the states of a kind. Some operations take an event, others the state."""
    if not kind.change_state:
        return {}
    has_event = "stateEvent" in find_operation(kind.change_state).parameters
    return {
        state: StateTransition(
            kind.change_state,
            "state",
            (target,),
            params={"stateEvent": event} if has_event else {"state": target},
        )
        for state, (event, target) in _EVENTS.items()
    }


def _find(kind: Kind, client: Client, desired: Record) -> Record | None:
    """Return the record of the object with the desired uuid, or name within its parent.

    A deleted object counts only with ``recover`` or ``expunge``. Raise NotFound for another one that is selected by
    its uuid.
    """
    parent = desired.get(kind.parent) if kind.parent and "uuid" not in desired else None
    deleted: dict[str, Record] = {}

    def is_meant(record: Record) -> bool:
        if parent not in (None, record.get(kind.parent)):
            return False
        if kind.deleted and record.get("status") == kind.deleted:
            deleted[str(record.get("uuid"))] = record
            return False
        return True

    remedy = "Give parent, or select one by uuid." if kind.parent and parent is None else "Select one by uuid."
    found = find_by_query(kind.query, "uuid", "name", among=is_meant, remedy=remedy)(client, desired)
    if found and not desired.get("expunge"):
        return found
    if desired.get("recover") or desired.get("expunge"):
        # A second run must not expunge an object of the same name that was deleted earlier.
        return require_unique([*([found] if found else []), *deleted.values()], f"the {kind.noun} of the options")
    if "uuid" in desired and deleted:
        remedy = "Set recover: true to recover it."
        raise NotFound(f"the {kind.noun} {desired['uuid']} is deleted", remedy, check_mode_remedy=remedy)
    return None


def _build_attachment(row: Attachment, record: str, attached: list[str]) -> ResourceSpec:
    return ResourceSpec(
        record,
        row.name,
        partial(find_attachment, row, attached),
        create=row.attach,
        delete=row.detach,
        keys=tuple(row.ends.values()),
        find_refusal=partial(_find_refusal, row),
        guards={ABSENT: [build_guard(row.uses, (row.detach,), second=list(row.ends.values())[1])]} if row.uses else {},
        format_result=lambda found: {row.name: found and {end: found[end] for end in row.ends.values()}},
        names=Names(row.noun, fields={**{parameter: parameter for parameter in row.ends.values()}, **row.parameters}),
    )


def _build_setting(row: Setting, record: str, desired: Record) -> ResourceSpec:
    (end,) = row.ends.values()
    return ResourceSpec(
        record,
        row.name,
        partial(find_setting, row, desired["state"] == ABSENT),
        create=row.change,
        update=row.change,
        delete=row.reset,
        keys=(end,),
        find_refusal=partial(find_missing_object, row),
        plan=partial(plan_setting, row),
        format_result=lambda found: {row.name: found and {name: found[name] for name in (end, row.value)}},
        names=Names(
            row.noun,
            options={row.value: f"properties.{name_property(row.value)}"},
            fields={end: end, **row.parameters},
        ),
    )


def _find_refusal_of_object(
    kind: Kind, client: Client, call: PlannedCall, record: Record | None
) -> VirtinfraError | None:
    """Return the failure with which the service would refuse to create or change an object, None if it would not."""
    return find_missing_object(kind, client, call, record) or find_unoffered_part(kind, client, call)


def _find_refusal(row: Attachment, client: Client, call: PlannedCall, record: Record | None) -> VirtinfraError | None:
    """Return the failure with which the service would refuse to attach an object, None if it would not."""
    refusal = find_missing_object(row, client, call, record) or find_root_refusal(client, call)
    refusal = refusal or find_unmet_demand(row, client, call)
    return refusal or (find_other_attachment(row, client, call, record) if row.is_exclusive else None)
