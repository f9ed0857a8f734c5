"""Read the object of a task: its current record, the record after a call, the stable record, and its dependents."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from .._api.errors import (
    AmbiguousMatch,
    NotFound,
    OtherObject,
    Unsupported,
    VirtinfraError,
    WaitTimeout,
)
from .._api.operation import ABSENT
from .._api.operations import get_operation
from .._api.records import (
    RECORD_FIELDS,
    NullReference,
    PredictedReference,
    Record,
    drop_null_references,
    get_tag,
    is_same_value,
    to_snake_case,
)
from .._api.references import format_option_name
from .._client.client import Client
from .._client.jobs import Job, generate_uuid
from .._client.lists import list_user_tags, predict_changes
from .._client.moment import at_one_moment
from .._client.waiting import read_until
from .context import ModuleContext
from .current import Current, Found, Missing, Predicted, Unreadable
from .drift import list_owner_params
from .guards import Dependent, Dependents, Guard, format_count
from .plan import plan
from .results import describe_target
from .settling import find_transitional_field
from .spec import NO_VALUES, PlannedCall, ResourceSpec, Values
from .tags import TAGS

# The fields that identify an object: a result with another value in one of them belongs to another call.
_KEYS = {"uuid", "name", "managementIp"}


def assume_record(resource: ResourceSpec, desired: Record) -> Record | None:
    """Return the assumed record of an object that cannot be read: it exists if the options have its uuid.

    Fields that the API cannot change are assumed to have the desired values; all others are set.
    """
    if "uuid" not in desired:
        return None
    fixed = {*RECORD_FIELDS[resource.record_type]} - (resource.changeable.keys() - {"uuid"})
    return {name: value for name, value in resource.rename(desired).items() if name in fixed}


def predict_object(resource: ResourceSpec, state: str, desired: Record) -> Predicted | Missing:
    """Return the prediction of an object in check mode, because a reference that selects it is null.

    If its own uuid is null, it will exist, because an earlier task would have created it. If only the uuid of its owner
    is null, it does not exist yet, unless the task can only change or delete it.
    """
    key = None
    if not isinstance(desired.get("uuid"), NullReference):
        with suppress(NotFound):
            if plan(resource, state, desired, Missing()):
                return Missing()
        key = resource.choose_key(desired)
    changeable = resource.changeable
    required = ("uuid", *(name for name, parameter in changeable.items() if parameter.required))
    fixed = {*RECORD_FIELDS[resource.record_type], *list_owner_params(resource)} - changeable.keys() | {key}
    same = {name: value for name, value in resource.rename(desired).items() if name in fixed}
    return Predicted({**{name: PredictedReference(format_option_name(name)) for name in required}, **same})


def _describe_other_creators(client: Client) -> str:
    """Return who can have created an object at the same time as a task."""
    if client.hooks.new_lock is None:
        return "another task, another run or a user"
    return "another run, a user, or a task of this run with async, become or another connection"


class Selection:
    """The option that has selected the object of a task without its uuid, usually its name.

    ``moved`` is the record of the object if it has another name now; else it is empty.
    """

    def __init__(self, resource: ResourceSpec) -> None:
        self._resource = resource
        self._key: tuple[str, Any] | None = None
        self.moved: Record = {}

    def check(self, desired: Record, record: Record) -> None:
        """Raise OtherObject for a record that was found by its uuid if the object does not have its name any more."""
        if "uuid" not in desired:
            key = self._resource.choose_key(desired)
            # The key of a host may be another option than the one that has selected it.
            self._key = (key, desired[key]) if key and is_same_value(desired[key], record.get(key)) else None
        elif self._key and record.get(self._key[0]) is not None:
            key, value = self._key
            if not is_same_value(value, record[key]):
                self.moved = record
                noun = self._resource.noun
                raise OtherObject(
                    f"{format_option_name(key)} of the {noun} {record.get('uuid')} was {value!r} when the task began,"
                    f" and is {record[key]!r} now, so another {noun} may be meant."
                )

    def describe_remedy(self) -> str:
        """Return the sentence with what to do when the object differs from the options."""
        if not self.moved:
            return "Correct the options."
        return f"If it is the right one, run the task again with uuid: {self.moved.get('uuid')} in place of its name."


class ObjectReader:
    """Reads the object of a task: now, after a call, and until it is stable.

    ``desired`` contains the requested values by their API names, and the uuid of the object as soon as it is known.
    """

    def __init__(self, resource: ResourceSpec, context: ModuleContext, state: str, desired: Record) -> None:
        self.resource, self.context, self.client = resource, context, context.client
        self.state, self.desired = state, desired
        self.label = describe_target(drop_null_references(desired), resource.noun)
        self._first_unreadable: Unreadable | None = None
        self._remembered: Record = {}
        self.selection = Selection(resource)

    def read(self) -> Current:
        """Return what is known of the object."""
        if self.context.is_object_predicted:
            self._complete_options()
            return predict_object(self.resource, self.state, self.desired)
        try:
            record = self._find(self.client)
        except Unsupported as reason:
            unreadable = Unreadable(reason, assume_record(self.resource, self.desired))
            self._require_existence(unreadable)
            self._first_unreadable = self._first_unreadable or unreadable
            return unreadable
        if record is None:
            self._complete_options()
        return self._read_tags(record)

    def read_again(self, before: Current) -> Current:
        """Return what is known of the object before a call, because something has taken time since it was read.

        The object is found by its uuid, if it shall be absent. A service without the query of its type does not show it
        in this way, so it is missing only if the options do not select it either.
        """
        current = self.read()
        if current.record is None and before.record and self._remembered:
            remembered, self._remembered = self._remembered, {}
            selected, self._remembered = self.read(), remembered
            if (selected.record or {}).get("uuid") == before.record.get("uuid"):
                return selected
        return current

    def _read_tags(self, record: Record | None) -> Found | Missing:
        """Return the object with its user tags if the options contain tags.

        Raise Unsupported if the service lacks them, also before an object is created.
        """
        is_created = record is None and self.state != ABSENT
        if TAGS not in self.desired or not (record or is_created):
            return Found(record) if record else Missing()
        uuid = (record or {}).get("uuid") or generate_uuid()
        try:
            user_tags = list_user_tags(self.client, uuid)
        except Unsupported as lack:
            raise Unsupported(f"cannot compare tags: {lack.reason}", "Omit tags.") from None
        if record is None:
            return Missing()
        return Found({**record, TAGS: sorted({get_tag(row) for row in user_tags})}, tuple(user_tags))

    def _complete_options(self) -> None:
        """Add what the creation needs and the options do not contain, unless the uuid is that of an existing object."""
        complete = self.resource.complete_options
        if complete and self.state != ABSENT and "uuid" not in self.desired:
            self.desired = {**self.desired, **complete(self.client, self.desired)}

    def _find(self, client: Client) -> Record | None:
        """Return the record that the options select.

        An object that shall be absent is found by its uuid from the second read on, because another one may get its
        name. Without its owner, it does not exist. Raise OtherObject if the object does not have its name any more.
        """
        desired = {**drop_null_references(self.desired), **self._remembered}
        try:
            record = self.resource.find(client, desired)
        except NotFound:
            if self.state == ABSENT:
                return None
            raise
        if record:
            record = predict_changes(client, record)
            self.selection.check(desired, record)
        if record and self.state == ABSENT and not self._remembered:
            self._remembered = self.resource.remember(record)
        return record

    def _require_existence(self, current: Unreadable) -> None:
        """Raise Unsupported if the task would have to know whether an unreadable object exists."""
        if current.record is not None:
            return
        if self.state == ABSENT:
            remedy = "Give uuid."
        elif (create := self.resource.create) and not get_operation(create).effect.is_idempotent:
            remedy = "Give uuid, or create the object once with the module api."
        else:
            return
        raise Unsupported(f"cannot check whether the object exists: {current.reason.reason}", remedy) from None

    def warn_if_unreadable(self) -> None:
        """Warn that nothing was compared if the service cannot show the object."""
        if self._first_unreadable:
            reason = self._first_unreadable.reason.reason
            self.context.warnings.insert(
                0, f"The state of the {self.label} is not known, so nothing is compared: {reason}."
            )

    def read_after(self, call: PlannedCall, before: Current, job: Job) -> Current:
        """Return what is known of the object after a call. It is read again, as replies often have another type."""
        keys, reply = self.desired, self._read_record_in_reply(call, job)
        uuid = reply.get("uuid")
        if isinstance(uuid, str) and uuid:
            self.desired = {**self.desired, "uuid": uuid}
        if isinstance(before, Unreadable):
            return before._replace(record=call.expected and {**call.expected, **reply})
        return self._read_created(keys) if call.operation == self.resource.create else self.read()

    def _read_record_in_reply(self, call: PlannedCall, job: Job) -> Record:
        """Return the record of the object in the reply to a call; an empty one if it has none."""
        reply = job.result.get("inventory")
        if get_operation(call.operation).record != self.resource.record_type or not isinstance(reply, dict):
            return {}
        keys = _KEYS & self.desired.keys() & reply.keys()
        if any(not is_same_value(self.desired[name], reply[name]) for name in keys):
            # The reply is the result of another call, so nothing in it belongs to the object.
            return {}
        return reply

    def _read_created(self, keys: Record) -> Current:
        """Return what is known of the object that was created; warn if there is another one with the same keys."""
        uuid_in_reply = self.desired.get("uuid")
        names = keys.keys() - {"uuid", "resourceUuid"}
        record, uuids = self.find_matches({name: value for name, value in keys.items() if name in names})
        if record and uuid_in_reply in (None, uuids[0]):
            return self._read_tags(record)
        if uuids and not uuid_in_reply:
            self.desired = {**self.desired, "uuid": uuids[0]}
        current = self.read()
        if current.record is None and record:
            current = self._read_tags(record)
        if current.record:
            uuid = current.record.get("uuid")
            self._warn_of_twins(uuid, [other for other in uuids if other != uuid])
        return current

    def find_matches(self, desired: Record) -> tuple[Record | None, list[str]]:
        """Return the record that these options select, and the uuids of all records that they select."""
        try:
            record = self.resource.find(self.client, desired)
        except AmbiguousMatch as several:
            return None, sorted(several.result["uuids"])
        return record, [str(record["uuid"])] if record else []

    def _warn_of_twins(self, uuid: Any, others: Sequence[str]) -> None:
        """Warn of other objects that were created at the same time."""
        if others:
            self.context.warnings.append(
                f"{self.label}: {uuid} and {', '.join(others)} exist, because another one was created at the same time,"
                f" by {_describe_other_creators(self.client)}. This task uses the first. Delete the one that is not"
                " needed, and run the tasks that create it one at a time."
            )

    def is_unstable(self, current: Current, fields: Sequence[str], further_values: Values = NO_VALUES) -> bool:
        """Return whether the task waits, and the record has a transitional value, see `find_transitional_field`."""
        if not self.context.params["wait"] or isinstance(current, Unreadable):
            return False
        return find_transitional_field(self.resource, fields, current.record, further_values) is not None

    def wait_until_stable(
        self, current: Current, fields: Sequence[str], deadline: float, further_values: Values = NO_VALUES
    ) -> Current:
        """Return the object when the record has no transitional value. Raise WaitTimeout at the deadline."""
        if not self.is_unstable(current, fields, further_values):
            return current

        def is_stable(record: Record | None) -> bool:
            return find_transitional_field(self.resource, fields, record, further_values) is None

        label = f"the {self.label}"
        record, reason = read_until(self.client, label, deadline, current.record, self._find, is_stable)
        field = find_transitional_field(self.resource, fields, record, further_values)
        if not field:
            return self._read_tags(record)
        raise WaitTimeout(
            f"{to_snake_case(field)} is still {(record or {}).get(field)} after"
            f" {self.client.wait.format_elapsed(deadline)} s. Check the {self.resource.noun}, or increase"
            f" wait_timeout.{reason}"
        )


@dataclass
class GuardReading:
    """What a guard has ``found``: the dependents of an object, whose ``record`` is that before the guarded operations.

    ``record`` is empty before the first read. The effects on the dependents are predicted ones if ``is_prediction`` is
    True, else actual ones. ``is_outdated`` says that something that took time has followed the read, ``is_called`` that
    a guarded operation was called.
    """

    guard: Guard
    operations: tuple[str, ...]
    record: Record = field(default_factory=dict)
    found: Dependents = field(default_factory=Dependents)
    is_prediction: bool = True
    is_outdated: bool = False
    is_called: bool = False

    @property
    def dependents(self) -> Sequence[Dependent]:
        """The dependents of the object."""
        return self.found.objects

    @property
    def is_due(self) -> bool:
        """Whether the dependents must be read before a guarded operation is called."""
        return not self.record or (self.is_outdated and not self.is_called)


class DependentsReader:
    """Reads the objects that the calls to the requested state affect: before the calls, and after them.

    If several guards find an object, it has the effect that the last of them shows.
    """

    def __init__(self, reader: ObjectReader) -> None:
        self.reader, self.context, self.label = reader, reader.context, reader.label
        resource, state = reader.resource, reader.state
        default = str(resource.get_guarded_operation(state))
        guards = resource.guards.get(state, ())
        self.readings = [GuardReading(guard, guard.operations or (default,)) for guard in guards]

    def require_permission(self, calls: Sequence[PlannedCall], record: Record | None) -> bool:
        """Read the dependents of the guarded calls that are planned.

        Raise InUse, or Unsupported if they cannot be read, if an option does not permit the effects on them.

        They are read before the first call of the task, and again before the first guarded call if something has taken
        time since. Return whether any were read. An object that does not exist yet has none.
        """
        has_read = False
        if not record or isinstance(record.get("uuid"), NullReference):
            return has_read
        # The guards of one call ask for the same lists.
        client = at_one_moment(self.reader.client)
        for reading in reversed(self.readings):
            planned = [call.operation for call in calls if call.operation in reading.operations]
            if not planned or not (reading.is_due or reading.record.get("uuid") != record.get("uuid")):
                continue
            has_read = True
            choice = self.context.params.get(reading.guard.option)
            value = self.context.params.get(reading.guard.depends_on or reading.guard.option)
            found = self._leave_out_removed(reading.guard.find(client, record, value))
            reading.record, reading.found, reading.is_outdated = record, found, False
            reading.guard.require_permission(planned[0], found, choice)
            warnings = [f"{self.label}: {warning}." for warning in (*found.warnings, found.unknown) if warning]
            self.context.warnings.extend(text for text in warnings if text not in self.context.warnings)
        return has_read

    def _leave_out_removed(self, found: Dependents) -> Dependents:
        """Return dependents without those that earlier tasks would have removed in check mode."""
        predicted = self.reader.client.hooks.list_predicted()
        return found._replace(objects=[item for item in found.objects if predicted.get(item.uuid, "") is not None])

    def outdate(self) -> None:
        """Read the dependents again before the next guarded call, because something has taken time."""
        for reading in self.readings:
            reading.is_outdated = True

    def note_call(self, call: PlannedCall) -> None:
        """Note that a call was made."""
        self.outdate()
        for reading in self.readings:
            reading.is_called |= call.operation in reading.operations

    def review(self) -> None:
        """Read the dependents again and warn of harmful effects of the calls on them.

        The effects of a call that was only predicted, or not waited for, are described as future effects.
        """
        if not self.context.check_mode and self.context.params["wait"]:
            for reading in self.readings:
                self._review(reading)
        for reading, dependents in self._list_effects():
            if warning := reading.guard.describe_harm(dependents, reading.is_prediction):
                self.context.warnings.append(f"{self.label}: {warning}.")

    def _review(self, reading: GuardReading) -> None:
        """Read the dependents of a guard again, with the actual effects on them."""
        reading.is_prediction = False
        found = reading.found
        if reading.guard.review is None or not (found.objects or found.seen):
            return
        try:
            reading.found = Dependents(reading.guard.review(self.reader.client, reading.record, found))
        except VirtinfraError as failure:
            reading.is_prediction = True
            self.context.warnings.append(
                f"{self.label}: cannot check what became of {format_count(found.objects) or 'other objects'}:"
                f" {failure.message.rstrip('.')}."
            )

    def _list_effects(self) -> list[tuple[GuardReading, list[Dependent]]]:
        """Return the dependents of each guard, without those on which a later guard shows an effect."""
        effects: list[tuple[GuardReading, list[Dependent]]] = []
        listed: set[str] = set()
        for reading in reversed(self.readings):
            effects.insert(0, (reading, [item for item in reading.dependents if item.uuid not in listed]))
            listed |= {item.uuid for item in reading.dependents if item.effect}
        return effects

    def add_to_failure(self, failure: VirtinfraError) -> None:
        """Add what became of the dependents to a failure of the task, if a guarded call was sent.

        A guard without ``review`` does not know it.
        """
        sent = {job.operation for job in self.reader.client.jobs}
        if any(sent.intersection(reading.operations) for reading in self.readings):
            self.readings = [reading for reading in self.readings if reading.guard.review]
            self.review()
            failure.result = {**self.result, **failure.result}

    @property
    def result(self) -> Record:
        """The members of the result."""
        return join_lists(reading.guard.format_result(dependents) for reading, dependents in self._list_effects())

    def add_to_diff(self, diff: Record) -> Record:
        """Return a diff with the dependents before and after the calls."""
        sides = [reading.guard.format_diff(dependents) for reading, dependents in self._list_effects()]
        before, after = (join_lists(side[number] for side in sides) for number in (0, 1))
        return {"before": {**diff["before"], **before}, "after": {**diff["after"], **after}}


def join_lists(members: Iterable[Record]) -> Record:
    """Return the union of mappings with lists; lists with the same name are concatenated."""
    joined: Record = {}
    for each in members:
        for name, items in each.items():
            joined[name] = [*joined.get(name, ()), *items]
    return joined
