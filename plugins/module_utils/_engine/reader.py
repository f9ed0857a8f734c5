# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is PRIVATE to the collection. It can have breaking changes at any time.

"""Read the object of a task: its current record, the record after a call, the stable record, and its dependents."""

from __future__ import annotations

from collections.abc import Sequence

from .._api.errors import (
    AmbiguousMatch,
    ApiError,
    TransportError,
    Unsupported,
    VirtinfraError,
    WaitTimeout,
)
from .._api.operations import get_operation
from .._api.records import (
    NullReference,
    Record,
    values_equal,
    without_null_references,
)
from .._api.references import option_name
from .._client.jobs import Job, asks_to_wait_longer
from .context import ModuleContext
from .guards import Dependent
from .plan import (
    PlannedCall,
    ResourceSpec,
    assume_record,
    predict_record,
    transitional_value,
)
from .results import describe_target

# The fields that identify an object: a result with another value in one of them belongs to another call.
_KEYS = {"uuid", "name", "managementIp"}


class ObjectReader:
    """Reads the object of a task: now, after a call, and until it is stable.

    ``desired`` contains the requested values by their API names, and the uuid of the object as soon as it is known.
    ``unreadable`` is the reason why the service cannot show the object.
    """

    def __init__(self, resource: ResourceSpec, context: ModuleContext, state: str, desired: Record) -> None:
        self.resource, self.context, self.client = resource, context, context.client
        self.state, self.desired = state, desired
        self.label = describe_target(without_null_references(desired), resource.noun)
        self.unreadable: Unsupported | None = None

    @property
    def state_unknown(self) -> bool:
        """Whether the service cannot show the state of the object."""
        return self.unreadable is not None

    def read(self) -> Record | None:
        """Return the record of the object, an assumed record if it cannot be read, or None if it does not exist."""
        if self.context.unresolved:
            return predict_record(self.resource, self.state, self.desired)
        try:
            return self.resource.find(self.client, without_null_references(self.desired))
        except Unsupported as reason:
            assumed = assume_record(self.resource, self.desired)
            if assumed is None and self.state == "absent":
                raise Unsupported(f"cannot check whether it exists: {reason.reason}", "Pass uuid.") from None
            if assumed is None and self.resource.create and not get_operation(self.resource.create).is_idempotent:
                raise Unsupported(
                    f"cannot check whether it exists: {reason.reason}",
                    "Pass uuid, or create it once with the api module.",
                ) from None
            self.unreadable = self.unreadable or reason
            return assumed

    def warn_of_unknown_state(self) -> None:
        """Warn that nothing was compared if the service cannot show the object."""
        if self.unreadable:
            self.context.warnings.insert(
                0, f"The state of the {self.label} is not known, so nothing is compared: {self.unreadable.reason}."
            )

    def read_after(self, call: PlannedCall, job: Job) -> Record | None:
        """Return the record after a call. It is read again, because replies often have another type."""
        reply = job.result.get("inventory")
        if get_operation(call.operation).record != self.resource.record_type or not isinstance(reply, dict):
            reply = {}
        if any(
            name in reply and not values_equal(self.desired[name], reply[name]) for name in _KEYS & self.desired.keys()
        ):
            # This is the result of another call. Nothing in it belongs to this object.
            reply = {}
        keys, uuid = self.desired, reply.get("uuid")
        if isinstance(uuid, str) and uuid:
            self.desired = {**self.desired, "uuid": uuid}
        if self.state_unknown:
            return call.expected and {**call.expected, **reply}
        return self._read_created(keys) if call.operation == self.resource.create else self.read()

    def _read_created(self, keys: Record) -> Record | None:
        """Return the record that was created; warn when there is another one with the same keys."""
        own = self.desired.get("uuid")
        found = None
        try:
            found = self.resource.find(
                self.client, {name: value for name, value in keys.items() if name not in ("uuid", "resourceUuid")}
            )
            uuids = [str(found["uuid"])] if found else []
        except AmbiguousMatch as several:
            uuids = sorted(several.result["uuids"])
        if found and own in (None, uuids[0]):
            return found
        own = own or next(iter(uuids), None)
        self.desired = {**self.desired, **({"uuid": own} if own else {})}
        record = self.read() or found
        if record and (others := [uuid for uuid in uuids if uuid != record.get("uuid")]):
            self.context.warnings.append(
                f"{self.label}: {record.get('uuid')} and {', '.join(others)} exist, because another one was created at"
                f" the same time, by {self._other_creators()}. This task uses the first. Delete the one that is not"
                " needed, and run such tasks one at a time."
            )
        return record

    def _other_creators(self) -> str:
        """Return who can have created an object at the same time as this task."""
        if self.client.hooks.new_lock is None:
            return "another task, another run or a user"
        return "another run, a user, or a task of this run with async, become or another connection"

    def is_unstable(self, record: Record | None, fields: Sequence[str]) -> bool:
        """Return whether one of the fields has a transitional value."""
        return bool(
            self.context.params["wait"] and not self.state_unknown and transitional_value(self.resource, fields, record)
        )

    def wait_until_stable(self, record: Record | None, fields: Sequence[str], deadline: float) -> Record | None:
        """Return the record when none of the fields has a transitional value. Raise WaitTimeout at the deadline."""
        if not self.is_unstable(record, fields):
            return record
        limited, reason = self.client.until(deadline), ""
        for dummy in self.client.wait.poll_intervals(f"the {self.label}", deadline):
            try:
                record, reason = self.resource.find(limited, self.desired), ""
            except (ApiError, TransportError) as error:
                if not error.transient:
                    raise
                reason = f" The last read failed: {error.message.rstrip('.')}."
                if asks_to_wait_longer(self.client, error, deadline):
                    break
            if not transitional_value(self.resource, fields, record):
                return record
        raise WaitTimeout(
            f"still {transitional_value(self.resource, fields, record)} after {self.client.wait.waited(deadline)} s of"
            f" waiting. Check the {self.resource.noun}, or raise wait_timeout.{reason}"
        )

    def warn_of_namesakes(self, name: str) -> None:
        """Warn when another object has the name of the object that will be created."""
        uuids: list[str] = []
        try:
            record = self.resource.find(self.client, {"name": name})
            uuids = [str(record["uuid"])] if record else []
        except AmbiguousMatch as several:
            uuids = several.result["uuids"]
        except VirtinfraError:
            pass
        if uuids:
            noun, key = self.resource.noun, option_name(str(self.resource.found_by(self.desired)))
            self.context.warnings.append(
                f"{self.label}: the name is in use by another {noun} ({', '.join(sorted(uuids))}). A second {noun} with"
                f" this name is created, because no {noun} has this {key}."
            )


class DependentsReader:
    """Reads the objects that the call to the requested state affects: before the call, and after it.

    ``dependents`` have the predicted effects, and after `review` the actual ones.
    """

    def __init__(self, reader: ObjectReader) -> None:
        self.reader, self.context, self.label = reader, reader.context, reader.label
        self.guard = reader.resource.guards.get(reader.state)
        self.operation = reader.resource.guarded_operation(reader.state)
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
        found = self.guard.find(self.reader.client, record, choice)
        self.record, self.dependents = record, found.objects
        self.context.warnings.extend(f"{self.label}: {warning}." for warning in found.warnings)
        self.guard.require_permission(str(self.operation), self.dependents, choice)

    def review(self) -> None:
        """Read what became of the dependents, unless the call was only predicted, or the task did not wait for it.

        Warn of harmful effects.
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
        if warning := self.guard.warning(self.dependents, is_prediction):
            self.context.warnings.append(f"{self.label}: {warning}.")

    def add_to_failure(self, failure: VirtinfraError) -> None:
        """Add what became of the dependents to a failure of the task, if the guarded call was sent."""
        if any(job.operation == self.operation for job in self.reader.client.jobs):
            self.review()
            failure.result = {**self.result, **failure.result}

    @property
    def result(self) -> Record:
        """The members of the result."""
        return self.guard.result(self.dependents) if self.guard else {}

    def add_to_diff(self, diff: Record) -> Record:
        """Return a diff with the dependents before and after the call."""
        before, after = self.guard.diff(self.dependents) if self.guard else ({}, {})
        return {"before": {**diff["before"], **before}, "after": {**diff["after"], **after}}
