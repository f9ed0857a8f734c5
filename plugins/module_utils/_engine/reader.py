# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is PRIVATE to the collection. It can have breaking changes at any time.

"""Read the object of a task: its current record, the record after a call, the stable record, and its dependents."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from .._api.errors import (
    AmbiguousMatch,
    ApiError,
    NotFound,
    TransportError,
    Unsupported,
    VirtinfraError,
    WaitTimeout,
)
from .._api.operations import get_operation
from .._api.records import (
    RECORD_FIELDS,
    NullReference,
    Record,
    drop_null_references,
    is_same_value,
)
from .._api.references import format_option_name
from .._client.jobs import Job, asks_to_wait_longer
from .context import ModuleContext
from .guards import Dependent
from .plan import (
    Current,
    Found,
    Missing,
    PlannedCall,
    Predicted,
    ResourceSpec,
    Unreadable,
    find_transitional_value,
    plan,
)
from .results import describe_target

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
            if plan(resource, state, desired, Missing(), is_prediction=True):
                return Missing()
        key = resource.choose_key(desired)
    changeable = resource.changeable
    required = ("uuid", *(name for name, parameter in changeable.items() if parameter.required))
    same = {name: value for name, value in resource.rename(desired).items() if name == key or name not in changeable}
    return Predicted({**{name: NullReference(format_option_name(name)) for name in required}, **same})


class ObjectReader:
    """Reads the object of a task: now, after a call, and until it is stable.

    ``desired`` contains the requested values by their API names, and the uuid of the object as soon as it is known.
    """

    def __init__(self, resource: ResourceSpec, context: ModuleContext, state: str, desired: Record) -> None:
        self.resource, self.context, self.client = resource, context, context.client
        self.state, self.desired = state, desired
        self.label = describe_target(drop_null_references(desired), resource.noun)
        self._first_unreadable: Unreadable | None = None

    def read(self) -> Current:
        """Return what is known of the object."""
        if self.context.is_object_predicted:
            return predict_object(self.resource, self.state, self.desired)
        try:
            record = self.resource.find(self.client, drop_null_references(self.desired))
        except Unsupported as reason:
            unreadable = Unreadable(reason, assume_record(self.resource, self.desired))
            self._require_existence(unreadable)
            self._first_unreadable = self._first_unreadable or unreadable
            return unreadable
        return Missing() if record is None else Found(record)

    def _require_existence(self, current: Unreadable) -> None:
        """Raise Unsupported if the task would have to know whether an unreadable object exists."""
        if current.record is not None:
            return
        create = self.resource.create
        if self.state == "absent":
            remedy = "Pass uuid."
        elif create and not get_operation(create).is_idempotent:
            remedy = "Pass uuid, or create it once with the api module."
        else:
            return
        raise Unsupported(f"cannot check whether it exists: {current.reason.reason}", remedy) from None

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
            return replace(before, record=call.expected and {**call.expected, **reply})
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
        record, uuids = self._find_matches({name: value for name, value in keys.items() if name in names})
        if record and uuid_in_reply in (None, uuids[0]):
            return Found(record)
        if uuids and not uuid_in_reply:
            self.desired = {**self.desired, "uuid": uuids[0]}
        current = self.read()
        if current.record is None and record:
            current = Found(record)
        if current.record:
            uuid = current.record.get("uuid")
            self._warn_of_twins(uuid, [other for other in uuids if other != uuid])
        return current

    def _find_matches(self, desired: Record) -> tuple[Record | None, list[str]]:
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
                f" by {self._describe_other_creators()}. This task uses the first. Delete the one that is not needed,"
                " and run the tasks that create it one at a time."
            )

    def _describe_other_creators(self) -> str:
        """Return who can have created an object at the same time as this task."""
        if self.client.hooks.new_lock is None:
            return "another task, another run or a user"
        return "another run, a user, or a task of this run with async, become or another connection"

    def is_unstable(self, current: Current, fields: Sequence[str]) -> bool:
        """Return whether the task waits, and one of the fields has a transitional value."""
        if not self.context.params["wait"] or isinstance(current, Unreadable):
            return False
        return find_transitional_value(self.resource, fields, current.record) is not None

    def wait_until_stable(self, current: Current, fields: Sequence[str], deadline: float) -> Current:
        """Return the object when none of the fields has a transitional value. Raise WaitTimeout at the deadline."""
        if not self.is_unstable(current, fields):
            return current
        client, record, reason = self.client.set_deadline(deadline), current.record, ""
        for dummy in self.client.wait.poll_intervals(f"the {self.label}", deadline):
            try:
                record, reason = self.resource.find(client, self.desired), ""
            except (ApiError, TransportError) as error:
                if not error.transient:
                    raise
                reason = f" The last read failed: {error.message.rstrip('.')}."
                if asks_to_wait_longer(self.client, error, deadline):
                    break
            if not find_transitional_value(self.resource, fields, record):
                return Missing() if record is None else Found(record)
        value = find_transitional_value(self.resource, fields, record)
        raise WaitTimeout(
            f"still {value} after {self.client.wait.format_elapsed(deadline)} s. Check the {self.resource.noun}, or"
            f" increase wait_timeout.{reason}"
        )

    def warn_of_namesakes(self, name: str) -> None:
        """Warn when another object has the name of the object that will be created."""
        uuids: list[str] = []
        with suppress(VirtinfraError):
            dummy, uuids = self._find_matches({"name": name})
        if uuids:
            noun, key = self.resource.noun, format_option_name(str(self.resource.choose_key(self.desired)))
            self.context.warnings.append(
                f"{self.label}: the name is in use by another {noun} ({', '.join(uuids)}). A second {noun} with this"
                f" name is created, because no {noun} has this {key}."
            )


class DependentsReader:
    """Reads the objects that the call to the requested state affects: before the call, and after it.

    ``dependents`` have the predicted effects, and after `review` the actual ones.
    """

    def __init__(self, reader: ObjectReader) -> None:
        self.reader, self.context, self.label = reader, reader.context, reader.label
        self.guard = reader.resource.guards.get(reader.state)
        self.operation = reader.resource.get_guarded_operation(reader.state)
        self.dependents: Sequence[Dependent] = ()
        self.record: Record = {}

    def require_permission(self, calls: Sequence[PlannedCall], record: Record | None) -> None:
        """Read the dependents if the guarded call is planned. Raise InUse if the option does not permit its effects.

        They are read once. An object that does not exist yet has none.
        """
        is_planned = any(call.operation == self.operation for call in calls)
        if self.guard is None or self.record or not is_planned:
            return
        if not record or isinstance(record["uuid"], NullReference):
            return
        choice = self.context.params[self.guard.option]
        dependents = self.guard.find(self.reader.client, record, choice)
        self.record, self.dependents = record, dependents.objects
        self.context.warnings.extend(f"{self.label}: {warning}." for warning in dependents.warnings)
        self.guard.require_permission(str(self.operation), self.dependents, choice)

    def review(self) -> None:
        """Read the dependents again and warn of harmful effects of the call on them.

        The effects of a call that was only predicted, or not waited for, are described as future effects.
        """
        if self.guard is None or not self.dependents:
            return
        is_prediction = self.context.check_mode or not self.context.params["wait"]
        if not is_prediction:
            try:
                self.dependents = self.guard.review(self.reader.client, self.record, self.dependents)
            except VirtinfraError as failure:
                is_prediction = True
                self.context.warnings.append(
                    f"{self.label}: cannot check what became of {self.guard.option}: {failure.message.rstrip('.')}."
                )
        if warning := self.guard.describe_harm(self.dependents, is_prediction):
            self.context.warnings.append(f"{self.label}: {warning}.")

    def add_to_failure(self, failure: VirtinfraError) -> None:
        """Add what became of the dependents to a failure of the task, if the guarded call was sent."""
        if any(job.operation == self.operation for job in self.reader.client.jobs):
            self.review()
            failure.result = {**self.result, **failure.result}

    @property
    def result(self) -> Record:
        """The members of the result."""
        return self.guard.format_result(self.dependents) if self.guard else {}

    def add_to_diff(self, diff: Record) -> Record:
        """Return a diff with the dependents before and after the call."""
        before, after = self.guard.format_diff(self.dependents) if self.guard else ({}, {})
        return {"before": {**diff["before"], **before}, "after": {**diff["after"], **after}}
