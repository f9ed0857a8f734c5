"""The calls that lead from the current record to the desired state. Pure: no I/O, no Ansible."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any, TypeAlias

from .._api.errors import (
    InvalidOptions,
    NotFound,
    OtherObject,
    Unchangeable,
    Unsupported,
    VirtinfraError,
)
from .._api.operation import ABSENT, TAG_PARAMS, Operation, Parameter
from .._api.operations import get_operation
from .._api.records import (
    RECORD_FIELDS,
    NullReference,
    Record,
    complete_record,
    drop_null_references,
    get_tag,
    holds_null_reference,
    holds_unknown_reference,
    is_mark,
    is_same_value,
    record_to_result,
    to_snake_case,
)
from .._api.references import format_option_name, is_name, is_reference
from .._api.resource_types import find_changed_types
from .guards import Guard

# Values of fields of a record.
Values: TypeAlias = Mapping[str, "tuple[str, ...]"]
NO_VALUES: Values = MappingProxyType({})

# The options, by their API names, for the user tags of an object and for what to do with its other tags. The record has
# the texts of the tags under the first name.
TAGS, TAGS_MODE = "tags", "tagsMode"

# The operations that change the user tags of an object of any type.
ADD_TAG, REMOVE_TAG = "CreateUserTag", "DeleteTag"


# The types of objects whose creation takes user tags. Services ignore user tags in other creations.
TAGGED_AT_CREATION = ("HostVO", "VmInstanceVO")


@dataclass(frozen=True)
class StateTransition:
    """How an object reaches a value of the option ``state``: an operation gives ``record_field`` a target value.

    The operation sets the first of ``target_values``. ``params`` are parameters of the operation. ``needs`` are
    fields of the record that must be stable before the call. ``settles`` are further fields, in addition to
    ``record_field``, that must be stable before the state counts as reached. ``through`` is the value of
    ``record_field`` that the object must have before the call. ``is_visible`` is False if no record shows whether the
    call was made, for example a restart.
    """

    operation: str
    record_field: str
    target_values: tuple[str, ...]
    params: Mapping[str, Any] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    settles: tuple[str, ...] = ()
    through: str = ""
    is_visible: bool = True


@dataclass(frozen=True)
class PlannedCall:
    """A call to make, the record that is expected after it, and a warning to show.

    ``expected`` is None if the object does not exist after the call: no further call is planned for it.
    ``is_found_again`` is False if a later task with the same options does not find the object of the call.
    ``is_visible`` is False if no record shows whether the call was made, for example a restart. The task makes such a
    call once if it is in the first plan, and not at all if it is only in a later plan.
    ``needs`` are fields of the record that must be stable before the call, in addition to those of its state
    transition. ``must_reach`` are fields that must have their expected values after the call: if not, the task fails.
    ``settles_before`` and ``settles_after`` are further values of the record that change without a call, before and
    after this one. The task waits until they have changed.
    """

    operation: str
    params: Record
    expected: Record | None
    warning: str = ""
    is_visible: bool = True
    is_found_again: bool = True
    needs: tuple[str, ...] = ()
    must_reach: tuple[str, ...] = ()
    settles_before: Values = field(default_factory=dict)
    settles_after: Values = field(default_factory=dict)

    def expect(self, values: Record) -> PlannedCall:
        """Return the call with values of fields that the object has after it, if it exists then."""
        return self if self.expected is None else replace(self, expected={**self.expected, **values})


@dataclass(frozen=True)
class Found:
    """The object exists: the service shows this record.

    If the options contain tags, ``user_tags`` are the records of its user tags, and ``tags`` in the record their texts.
    """

    record: Record
    user_tags: tuple[Record, ...] = ()


@dataclass(frozen=True)
class Missing:
    """The object does not exist."""

    record: None = None


@dataclass(frozen=True)
class Unreadable:
    """The service cannot show the object, for this reason.

    ``record`` has the fields with which it is assumed to exist; it is None if the object is assumed not to exist.
    """

    reason: Unsupported
    record: Record | None


@dataclass(frozen=True)
class Predicted:
    """In check mode, the object will exist with this record, because an earlier task would have created it."""

    record: Record


# The current state of an object, as far as the task knows it.
Current: TypeAlias = "Found | Missing | Unreadable | Predicted"


def replace_record(current: Current, record: Record) -> Current:
    """Return what is known of an object that exists, with another record."""
    return Found(record) if isinstance(current, Missing) else replace(current, record=record)


def chain_plans(current: Current, *steps: Callable[[Current], list[PlannedCall]]) -> list[PlannedCall]:
    """Return the calls of several steps, each planned with what will be known of the object after those before it.

    A call after which the object does not exist is the last one.
    """
    calls: list[PlannedCall] = []
    for step in steps:
        planned = step(current)
        calls += planned
        if planned:
            if planned[-1].expected is None:
                break
            current = replace_record(current, planned[-1].expected)
    return calls


def remember_uuid(record: Record) -> Record:
    """Return the uuid of a record, if it has one."""
    return {"uuid": record["uuid"]} if record.get("uuid") else {}


Plan = Callable[["ResourceSpec", str, Record, Current], "list[PlannedCall]"]


@dataclass(frozen=True)
class ResourceSpec:
    """The description of one type of object.

    ``record_type`` names its record, ``result_key`` the member of the result. ``find`` returns the record that the
    options (API names) select, None when there is none. ``transitional_values`` of a record change without a call, so
    the task waits until they have changed. ``failed_values`` show that an operation failed although it reported
    success. ``keys`` are the parameters by which ``find`` selects the object: it uses the first one that has a value.
    ``guards`` are those of the calls that lead to a state and affect other objects, by that state. ``remember`` returns
    what later reads of an object that shall be absent need from the first record; it is added to the options.
    ``plan_options`` are options (API names) that only ``plan`` uses. ``tagged_type`` is the type of the object in user
    tags, empty if the module does not compare them.
    ``find_refusal`` returns the failure with which the service would refuse a planned call, None if it would not. It
    gets the call without null references, and the record that is expected before the call. ``complete_options`` returns
    parameters of the creation that follow from the options but have to be read. ``find_reply_error`` returns the error
    in the reply to a call whose job succeeded, None if there is none. ``plan`` replaces `build_default_plan`.
    ``format_result`` returns the members of the result for the record that ``find`` returned, if they differ from that
    record. ``term`` is the term for the object in messages, if it does not follow from ``result_key``.
    ``renamed`` are the record's names for parameters whose operations do not know them.
    """

    record_type: str
    result_key: str
    find: Callable[[Any, Record], Record | None]
    create: str | None = None
    update: str | None = None
    delete: str | None = None
    transitions: Mapping[str, StateTransition] = field(default_factory=dict)
    transitional_values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    failed_values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    keys: tuple[str, ...] = ("uuid", "name")
    find_refusal: Callable[[Any, PlannedCall, Record | None], VirtinfraError | None] | None = None
    complete_options: Callable[[Any, Record], Record] | None = None
    find_reply_error: Callable[[Record], str | None] | None = None
    plan_options: tuple[str, ...] = ()
    tagged_type: str = ""
    guards: Mapping[str, Sequence[Guard]] = field(default_factory=dict)
    remember: Callable[[Record], Record] = remember_uuid
    plan: Plan | None = None
    format_result: Callable[[Record | None], Record] | None = None
    term: str = ""
    renamed: Mapping[str, str] = field(default_factory=dict)

    @property
    def noun(self) -> str:
        """The term for the object in messages."""
        return self.term or self.result_key.replace("_", " ")

    def choose_key(self, desired: Record) -> str | None:
        """Return the option, by its API name, by which ``find`` selects the object."""
        return next((key for key in self.keys if drop_null_references(desired).get(key)), None)

    @property
    def operations(self) -> tuple[str, ...]:
        """All operations that change the object."""
        transitions = (transition.operation for transition in self.transitions.values())
        names = (self.create, self.update, self.delete, *transitions)
        return tuple(dict.fromkeys(name for name in names if name))

    @cached_property
    def types(self) -> frozenset[str]:
        """The types of its objects, by their names in the operations table."""
        uuids = (get_operation(name).parameters.get("uuid") for name in self.operations)
        selected = {uuid.refers_to for uuid in uuids if uuid and uuid.refers_to}
        return frozenset(selected | (find_changed_types(get_operation(self.create)) if self.create else set()))

    def get_guarded_operation(self, state: str) -> str | None:
        """Return the operation that the guard of this state checks."""
        if transition := self.transitions.get(state):
            return transition.operation
        return self.delete if state == ABSENT else None

    @cached_property
    def fields(self) -> Mapping[str, str]:
        """The record's names for parameters of the operations, where these differ."""
        rows = map(get_operation, self.operations)
        parameters = [parameter for row in rows for parameter in row.parameters.values()]
        return {**{parameter.name: parameter.field for parameter in parameters if parameter.field}, **self.renamed}

    def rename(self, values: Mapping[str, Any]) -> Record:
        """Return values with the names of parameters replaced by those of the record's fields."""
        return {self.fields.get(name, name): value for name, value in values.items()}

    @cached_property
    def changeable(self) -> Mapping[str, Parameter]:
        """The parameters of the update, by the record's names for them."""
        return self.rename(_get_parameters(self.update))


def plan(resource: ResourceSpec, state: str, desired: Record, current: Current) -> list[PlannedCall]:
    """Return the calls that change the object to ``state`` and to the desired values; none when nothing differs.

    ``desired`` contains only the options that have a value, by their API names. A null reference is omitted if the
    calls do not require it, unless an earlier task has predicted its object: then it differs from the record.

    Raise InvalidOptions when a required option is missing, NotFound when the object does not exist and cannot be
    created, and Unchangeable when a value differs that the API cannot change.
    """
    plan_calls, renamed = resource.plan or build_default_plan, resource.rename(desired)
    if TAGS in desired:
        plan_calls = _plan_with_tags(plan_calls)
    without_null = {name: value for name, value in renamed.items() if not holds_unknown_reference(value)}
    if len(without_null) < len(renamed):
        with suppress(InvalidOptions, NotFound):
            return plan_calls(resource, state, without_null, current)
    return plan_calls(resource, state, renamed, current)


def list_desired_tags(desired: Record, user_tags: Sequence[Record] = ()) -> list[str]:
    """Return the user tags, sorted, that an object with ``user_tags`` shall have by the options.

    With exact tags, those that were made from the tag patterns of the options remain, and the marks of roles: without
    its mark, a role would not put the object back.
    """
    tags, mode = set(desired[TAGS]), desired[TAGS_MODE]
    present = {get_tag(row) for row in user_tags}
    if mode == "remove":
        return sorted(present - tags)
    patterns = desired.get("tagUuids", ())
    kept = {get_tag(row) for row in user_tags if mode == "add" or row.get("tagPatternUuid") in patterns or is_mark(row)}
    # Services treat two tags as equal that differ only in case.
    spelled = {tag.casefold() for tag in tags}
    return sorted(tags | {tag for tag in kept if tag in tags or tag.casefold() not in spelled})


def _plan_with_tags(plan_calls: Plan) -> Plan:
    """Return a plan function that also makes the user tags of an object those of the options.

    The create sends them if services take them there, or else they are added after it. An object that shall be removed
    must have them.
    """

    def plan_all(resource: ResourceSpec, state: str, desired: Record, current: Current) -> list[PlannedCall]:
        if isinstance(current, Unreadable):
            raise Unsupported(f"cannot compare tags: {current.reason.reason}", "Omit tags.")
        user_tags = current.user_tags if isinstance(current, Found) else ()
        tags = list_desired_tags(desired, user_tags)
        others = {name: value for name, value in desired.items() if name not in (TAGS, TAGS_MODE)}
        if state == ABSENT:
            return plan_calls(resource, state, {**others, TAGS: tags}, current)
        if current.record is None:
            return _plan_tags_of_created(resource, plan_calls(resource, state, others, current), tags)
        return chain_plans(
            replace_record(current, {TAGS: [], **current.record}),
            partial(_plan_tag_calls, resource, user_tags, tags),
            partial(plan_calls, resource, state, others),
        )

    return plan_all


def _plan_tags_of_created(resource: ResourceSpec, calls: Sequence[PlannedCall], tags: list[str]) -> list[PlannedCall]:
    """Return the calls of a plan that creates an object, with its tags in the records that are expected.

    Calls that add tags follow the create if services ignore user tags in it.
    """
    is_sent = resource.tagged_type in TAGGED_AT_CREATION
    tagged: list[PlannedCall] = []
    for call in calls:
        is_create = call.operation == resource.create
        params = {"userTags": tags} if tags and is_create and is_sent else {}
        shown = tags if is_sent or not is_create else []
        tagged.append(replace(call.expect({TAGS: shown}), params={**call.params, **params}))
        if is_create and call.expected and not is_sent:
            tagged += _plan_tag_calls(resource, (), tags, Found(call.expected))
    return tagged


def _plan_tag_calls(
    resource: ResourceSpec, user_tags: Sequence[Record], tags: Sequence[str], current: Current
) -> list[PlannedCall]:
    """Return the calls that change the user tags of an object to ``tags``.

    Tags are added first, so that none is lost on a service that cannot add any. A tag that differs from a present one
    in small and capital letters only is added after that one was removed.
    """
    record = current.record or {}
    removed = [row for row in user_tags if get_tag(row) not in tags]
    replaced = {get_tag(row).casefold() for row in removed}
    present = [get_tag(row) for row in user_tags]
    added = [tag for tag in tags if tag not in present]
    calls: list[PlannedCall] = []

    def expect(operation: str, params: Record) -> None:
        calls.append(PlannedCall(operation, params, {**record, TAGS: sorted({*present})}))

    def add(tag: str) -> None:
        present.append(tag)
        expect(ADD_TAG, {"resourceType": resource.tagged_type, "resourceUuid": record.get("uuid"), "tag": tag})

    for tag in added:
        if tag.casefold() not in replaced:
            add(tag)
    for row in removed:
        present.remove(get_tag(row))
        expect(REMOVE_TAG, {"uuid": row.get("uuid")})
    for tag in added:
        if tag.casefold() in replaced:
            add(tag)
    return calls


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
        calls.append(replace(call, is_visible=transition.is_visible))
    return calls


def predict_created(resource: ResourceSpec, desired: Record) -> Record:
    """Return the record that is expected after a create: the desired values, everything else None."""
    fields = RECORD_FIELDS[resource.record_type]
    return complete_record(resource.record_type, {name: value for name, value in desired.items() if name in fields})


def find_drift(resource: ResourceSpec, desired: Record, current: Record) -> Record:
    """Return the desired values that differ from the record.

    Values that the record does not show count too if the API can set them. A null reference differs if the API can
    change it.
    """
    changeable = resource.changeable
    settable = {name for name, parameter in changeable.items() if parameter.is_compared}
    comparable = {*RECORD_FIELDS[resource.record_type], *current, *settable} - {"uuid"}
    return {
        name: value
        for name, value in desired.items()
        if name in comparable
        and (name in changeable if holds_null_reference(value) else not is_same_value(value, current.get(name)))
    }


def build_update(resource: ResourceSpec, changes: Record, desired: Record, current: Current) -> PlannedCall:
    """Return the call that makes all changes; raise Unchangeable for changes that the API cannot make."""
    record, changeable = current.record or {}, resource.changeable
    if fixed := {name: value for name, value in changes.items() if name not in changeable}:
        raise build_unchangeable(resource, fixed, desired, record)
    uncompared = [name for name, parameter in changeable.items() if parameter.required or not parameter.is_compared]
    params = {name: desired[name] for name in (*uncompared, *TAG_PARAMS) if name in desired}
    warning = "" if isinstance(current, Unreadable) else _warn_of_hidden(resource, changes, record)
    return build_call(resource, resource.update, {**params, **changes}, record, {**record, **changes}, warning)


def _warn_of_hidden(resource: ResourceSpec, changes: Record, record: Record) -> str:
    """Return the warning about changes that no record shows; an empty string if there are none."""
    hidden = [name for name in changes if name not in RECORD_FIELDS[resource.record_type] and name not in record]
    names = ", ".join(map(format_option_name, hidden))
    return f"the service does not show {names}, so it is set each time" if names else ""


def build_unchangeable(resource: ResourceSpec, changes: Record, desired: Record, current: Record) -> Unchangeable:
    """Return the failure that the API cannot make these changes to the current record."""
    differences = _describe_differences(resource, changes, current)
    message = f"the API cannot change {differences}{_describe_key(resource, desired, current)}"
    return Unchangeable(message, list_references(changes, current))


def _require_equal(resource: ResourceSpec, desired: Record, current: Record) -> str:
    """Compare all options with the object that a call destroys, in whole or in part.

    Return a warning about references that the record does not show, an empty string if there are none. Raise
    OtherObject if an option differs. Null references and options that are not properties of the object are not
    compared.
    """
    visible = {*RECORD_FIELDS[resource.record_type], *current} - {"uuid"}
    options = {name: value for name, value in desired.items() if not holds_null_reference(value)}
    comparable = {name: value for name, value in options.items() if name in visible}
    different = {
        name: value
        for name, value in comparable.items()
        if not is_same_value(_drop_missing(name, value), current.get(name))
    }
    if different:
        differences = _describe_differences(resource, different, current) + (
            _describe_key(resource, desired, current) or "."
        )
        raise OtherObject(
            f"the options differ from the existing {resource.noun}: {differences}", list_references(different, current)
        )
    hidden = ", ".join(format_option_name(name) for name in options if name in list_owner_params(resource) - visible)
    return f"the service does not show {hidden}, so it is not compared" if hidden else ""


def _drop_missing(name: str, value: Any) -> Any:
    """Return the uuids of a list of references. Its names are those of objects that are gone, so nothing has them."""
    is_list = is_reference(name) and isinstance(value, (list, tuple))
    return [item for item in value if not is_name(item)] if is_list else value


def list_owner_params(resource: ResourceSpec) -> set[str]:
    """Return the parameters of the creation that refer to other objects, except for tags."""
    parameters = _get_parameters(resource.create)
    return {name for name, parameter in parameters.items() if parameter.refers_to not in ("", "tag_pattern")}


def _describe_differences(resource: ResourceSpec, changes: Record, current: Record) -> str:
    """Return how the values of options differ from those of the record, with the names of the options."""
    options = {field: name for name, field in resource.fields.items() if name in _get_parameters(resource.create)}
    present = {to_snake_case(name): "not set" for name in changes}
    present |= {
        name: repr(value)
        for name, value in record_to_result(current, resource.record_type).items()
        if value is not None
    }
    requested = record_to_result(changes, resource.record_type)
    return ", ".join(
        f"{format_option_name(options.get(name, name))} ({_describe_difference(present[key], repr(requested[key]))})"
        for name, key in ((name, to_snake_case(name)) for name in changes)
    )


def list_references(changes: Record, current: Record) -> dict[str, str]:
    """Return the parameters of the uuids in values that differ, by uuid."""
    return {
        uuid: name
        for name in changes
        for value in (current.get(name), changes[name])
        for uuid in (value if isinstance(value, list) else [value])
        if isinstance(uuid, str) and not is_name(uuid)
    }


def _describe_key(resource: ResourceSpec, desired: Record, current: Record) -> str:
    """Return the end of a message: the option that selected the object; an empty string if none did."""
    key = resource.choose_key(
        {name: value for name, value in desired.items() if is_same_value(value, current.get(name, value))}
    )
    return f". The {resource.noun} was found by {format_option_name(key)} {desired[key]!r}." if key else ""


def _describe_difference(present: str, requested: str) -> str:
    """Return how two values differ; if they look equal, only a masked part differs."""
    return f"is {present}, should be {requested}" if present != requested else f"is {present}, a masked part differs"


def build_not_found(resource: ResourceSpec, desired: Record, missing: Sequence[str] = ()) -> NotFound:
    """Return the failure that the object does not exist; ``missing`` are the options needed to create it."""
    key = resource.choose_key(desired)
    reason = (
        f"no {resource.noun} with {format_option_name(key)} {desired[key]!r}" if key else f"no such {resource.noun}"
    )
    option = format_option_name(key) if key else "options"
    if resource.create is None:
        return NotFound(f"{reason}, and the API cannot create one", f"Check the {option}.")
    # The names of operations begin with a verb, such as AddKVMHost.
    verb = to_snake_case(resource.create).partition("_")[0]
    if missing:
        give = f"give {_join_names(missing)} to {verb} it"
        return NotFound(
            reason,
            f"Check the {option}, or {give}.",
            check_mode_remedy=f"{give.capitalize()}, or add when: not ansible_check_mode if an earlier task does so.",
        )
    return NotFound(reason, f"Check the {option}, or omit it to {verb} one.")


def _join_names(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


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
        warning = "; ".join(filter(None, [warning, _require_equal(resource, desired, current)]))
    params = _collect_params(resource, row, desired, current or {})
    missing = list(resource.rename(dict.fromkeys(row.find_missing(params, shortest=current is None))))
    if current is None and missing:
        raise build_not_found(resource, desired, [format_option_name(name) for name in missing])
    _require_options(operation, [format_option_name(name) for name in missing if name != "uuid"])
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


def _get_parameters(operation: str | None) -> Mapping[str, Parameter]:
    return get_operation(operation).parameters if operation else {}


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
