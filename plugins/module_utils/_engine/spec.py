"""The description of a type of object: how it is found, which calls change it, and what is planned for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

from .._api.errors import VirtinfraError
from .._api.operation import ABSENT, Parameter
from .._api.operations import get_operation
from .._api.records import Record, drop_null_references
from .._api.references import format_option_name
from .._api.resource_types import RESOURCE_TYPES, ResourceType, find_changed_types
from .current import Current
from .guards import Guard

# Values of fields of a record.
Values: TypeAlias = Mapping[str, "tuple[str, ...]"]
NO_VALUES: Values = MappingProxyType({})


class StateTransition(NamedTuple):
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
    params: Mapping[str, Any] = NO_VALUES
    needs: tuple[str, ...] = ()
    settles: tuple[str, ...] = ()
    through: str = ""
    is_visible: bool = True


class Settling(NamedTuple):
    """What a task waits for before and after a call, in addition to what the state transition demands.

    ``before`` and ``after`` are values of the record that change without a call: the task waits until they have
    changed. ``must_reach`` are fields that must have their expected values after the call: if not, the task fails.
    """

    before: Values = NO_VALUES
    after: Values = NO_VALUES
    must_reach: tuple[str, ...] = ()


_USUAL_SETTLING = Settling()


class PlannedCall(NamedTuple):
    """A call to make, the record that is expected after it, and a warning to show.

    ``expected`` is None if the object does not exist after the call: no further call is planned for it.
    ``is_found_again`` is False if a later task with the same options does not find the object of the call.
    ``is_visible`` is False if no record shows whether the call was made, for example a restart. The task makes such a
    call once if it is in the first plan, and not at all if it is only in a later plan.
    """

    operation: str
    params: Record
    expected: Record | None
    warning: str = ""
    is_visible: bool = True
    is_found_again: bool = True
    settling: Settling = _USUAL_SETTLING

    def expect(self, values: Record) -> PlannedCall:
        """Return the call with values of fields that the object has after it, if it exists then."""
        return self if self.expected is None else self._replace(expected={**self.expected, **values})


Plan = Callable[["ResourceSpec", str, Record, Current], "list[PlannedCall]"]


def remember_uuid(record: Record) -> Record:
    """Return the uuid of a record, if it has one."""
    return {"uuid": record["uuid"]} if record.get("uuid") else {}


class Names(NamedTuple):
    """Names that do not follow from the operations of a type of object.

    ``term`` is the term for the object in messages, ``options`` are the options for parameters, ``fields`` the record's
    names for parameters.
    """

    term: str = ""
    options: Mapping[str, str] = MappingProxyType({})
    fields: Mapping[str, str] = MappingProxyType({})


_USUAL_NAMES = Names()


class Ignored(NamedTuple):
    """A sentence without its period on an option that acts only at times, with the parameters of the uuids in it."""

    reason: str
    references: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class ResourceSpec:
    """The description of one type of object.

    ``record_type`` names its record, ``result_key`` the member of the result. ``names`` has other names than the usual
    ones. ``listed_type`` is the type in lists, if ``result_key`` is none.

    How it is found: ``find`` returns the record that the options (API names) select, None when there is none. ``keys``
    are the parameters by which it selects the object: it uses the first one that has a value. ``remember`` returns what
    later reads of an object that shall be absent need from the first record; it is added to the options.
    ``complete_options`` returns parameters of the creation that follow from the options but have to be read.

    Which calls change it: ``create``, ``update`` and ``delete`` are operations. Without ``create``, ``creation`` says
    in a failure how to create one, if the API can. ``transitions`` lead to values of the option ``state``. ``plan``
    replaces `build_default_plan`. ``tagged_type`` is the type of the object in user tags, empty if the module does not
    compare them.

    What it ignores: ``find_ignored`` returns the options that the object contradicts, although nothing can be wrong
    with it: they act only when it is created. It gets the options and the record at the end of the task.

    What permits a call: ``guards`` are those of the calls that lead to a state and affect other objects, by that state.
    ``find_refusal`` returns the failure with which the service would refuse a planned call, None if it would not. It
    gets the call without null references, and the record that is expected before the call.

    What shows its effect: ``transitional_values`` of a record change without a call, so the task waits until they have
    changed. ``failed_values`` show that an operation failed although it reported success. ``find_reply_error`` returns
    the error in the reply to a call whose job succeeded, None if there is none. ``format_result`` returns the members
    of the result for the record that ``find`` returned, if they differ from that record.
    """

    record_type: str
    result_key: str
    find: Callable[[Any, Record], Record | None]
    keys: tuple[str, ...] = ("uuid", "name")
    remember: Callable[[Record], Record] = remember_uuid
    complete_options: Callable[[Any, Record], Record] | None = None
    create: str | None = None
    creation: str = ""
    update: str | None = None
    delete: str | None = None
    transitions: Mapping[str, StateTransition] = field(default_factory=dict)
    plan: Plan | None = None
    tagged_type: str = ""
    find_ignored: Callable[[Record, Record], Iterable[Ignored]] | None = None
    guards: Mapping[str, Sequence[Guard]] = field(default_factory=dict)
    find_refusal: Callable[[Any, PlannedCall, Record | None], VirtinfraError | None] | None = None
    transitional_values: Values = field(default_factory=dict)
    failed_values: Values = field(default_factory=dict)
    find_reply_error: Callable[[Record], str | None] | None = None
    format_result: Callable[[Record | None], Record] | None = None
    names: Names = _USUAL_NAMES
    listed_type: ResourceType | None = None

    @property
    def resource_type(self) -> ResourceType | None:
        """The type of its objects in lists, None if they cannot be listed."""
        return self.listed_type or RESOURCE_TYPES.get(self.result_key)

    def name_option(self, parameter: str) -> str:
        """Return the option for a parameter, for messages."""
        return self.names.options.get(parameter) or format_option_name(parameter)

    @property
    def noun(self) -> str:
        """The term for the object in messages."""
        return self.names.term or self.result_key.replace("_", " ")

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
        return {**{parameter.name: parameter.field for parameter in parameters if parameter.field}, **self.names.fields}

    def rename(self, values: Mapping[str, Any]) -> Record:
        """Return values with the names of parameters replaced by those of the record's fields."""
        return {self.fields.get(name, name): value for name, value in values.items()}

    @cached_property
    def changeable(self) -> Mapping[str, Parameter]:
        """The parameters of the update, by the record's names for them."""
        return self.rename(get_parameters(self.update))


def get_parameters(operation: str | None) -> Mapping[str, Parameter]:
    return get_operation(operation).parameters if operation else {}
