# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is PRIVATE to the collection. It can have breaking changes at any time.

"""The task that brings one object to a state: the only loop of reading, planning and doing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from ansible_collections.virtinfra.manager.plugins.module_utils._calls import (
    Call,
    describe_target,
    execute_once,
    extra_result_members,
    is_refused_as_duplicate,
    may_answer_second_delivery,
    pending_job_result,
    second_delivery_warning,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._errors import (
    AmbiguousMatch,
    ApiError,
    InvalidOptions,
    JobUuidUsed,
    NotFound,
    ReadNotSupported,
    TransportError,
    VirtinfraError,
    WaitTimeout,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._jobs import RUNNING, Job
from ansible_collections.virtinfra.manager.plugins.module_utils._modules import ModuleContext, ModuleSpec
from ansible_collections.virtinfra.manager.plugins.module_utils._operations import get_operation
from ansible_collections.virtinfra.manager.plugins.module_utils._options import TAGS, WAIT, Options
from ansible_collections.virtinfra.manager.plugins.module_utils._parameters import TAG_PARAMS
from ansible_collections.virtinfra.manager.plugins.module_utils._planner import (
    PlannedCall,
    Resource,
    assume_record,
    failed_value,
    needed_fields,
    plan,
    predict_record,
    settling_fields,
    transitional_value,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._records import (
    RECORD_FIELDS,
    Record,
    Unknown,
    record_to_result,
    to_snake_case,
    values_equal,
    with_all_fields,
    without_unknown,
)

# How many calls more than were planned at first may turn out to be needed.
MAX_REPLANS = 10

# What an object is known by: a result in which one of these is another one is that of another call.
_KEYS = {"uuid", "name", "managementIp"}


def resource_module(
    resource: Resource | Mapping[str, Resource],
    options: Options,
    by: str | None = None,
    selectors: tuple[str, ...] = (),
    **rules: Any,
) -> ModuleSpec:
    """Return the module that brings one object to the state that its options describe.

    Where there are several kinds of it, ``by`` names the option that says which one is meant. ``selectors`` are those
    of `ModuleSpec`.
    """
    kinds = [resource] if isinstance(resource, Resource) else list(resource.values())

    def run(context: ModuleContext) -> dict[str, Any]:
        desired = dict(context.desired)
        if isinstance(resource, Resource):
            return Reconciler(resource, context, desired).run()
        word = desired.pop(str(by))
        _reject_foreign_options(resource[word], desired, f"{by} {word}")
        return Reconciler(resource[word], context, desired).run()

    operations = tuple(dict.fromkeys(operation for kind in kinds for operation in kind.operations))
    return ModuleSpec(run, options, operations, (WAIT, TAGS), rules, selectors)


class Reconciler:
    """One run of a managed task: read, plan, do the first step, read again, plan again, until nothing is left to do."""

    def __init__(self, resource: Resource, context: ModuleContext, desired: Record) -> None:
        self.resource, self.context, self.client = resource, context, context.client
        self.desired = desired
        self.state = self.desired.pop("state", "present")
        self.label = describe_target(without_unknown(self.desired), resource.noun)
        self.unreadable: ReadNotSupported | None = None
        self.extras: Record = {}

    @property
    def state_unknown(self) -> bool:
        """Whether the service cannot tell the state of the object."""
        return self.unreadable is not None

    def run(self) -> dict[str, Any]:
        """Return the result. A failure tells what was done before it."""
        try:
            before = self._read()
            after, job = self._apply_check_mode(before) if self.context.check_mode else self._apply(before)
        except VirtinfraError as failure:
            raise failure.with_label(self.label) from None
        told = self._format_result(after)
        shown = [members[self.resource.result_key] for members in (self._format_result(before), told)]
        diff = {
            name: value if isinstance(value, dict) else {self.resource.result_key: value} if value else {}
            for name, value in zip(("before", "after"), shown, strict=True)
        }
        return {**told, **record_to_result(self.extras, self.resource.record_type), "diff": diff, **job}

    def _apply_check_mode(self, here: Record | None) -> tuple[Record | None, Record]:
        for step in self._plan(here):
            self._warn(step)
            here = step.expected
            self.context.changed = True
        return here, {}

    def _apply(self, here: Record | None) -> tuple[Record | None, Record]:
        done: list[PlannedCall] = []
        steps = self._plan(here)
        for dummy in range(len(steps) + MAX_REPLANS):
            step = next((step for step in steps if not any(_is_same_call(step, other) for other in done)), None)
            if self._is_unstable(here, fields := self._fields_before(step)):
                here = self._wait_until_stable(here, fields)
                steps = self._plan(here)
                continue
            if step is None:
                self._check_converged(here, steps)
                return here, {}
            done.append(step)
            self._warn(step)
            call = Call(
                self.client, step, self.label, self.context.params["wait"], partial(self._is_still_needed, step)
            )
            try:
                job, warnings = execute_once(call)
            except (ApiError, JobUuidUsed) as error:
                here = self._after_refusal(step, here, error)
                steps = self._plan(here)
                continue
            self.context.changed = True
            self.context.completed_operations.append(step.operation)
            self.context.warnings.extend(warnings)
            if job.state == RUNNING:
                return step.expected, pending_job_result(job)
            self._keep_extras(step, job.result)
            before, here = here, self._wait_until_stable(self._read_after(step, job), self._fields_after(step))
            if (here is None) != (step.expected is None):
                raise VirtinfraError(
                    f"{step.operation} succeeded, but it {'does not exist' if here is None else 'still exists'}"
                )
            if trouble := failed_value(self.resource, self.state, step.operation, before, here):
                raise VirtinfraError(f"{step.operation} succeeded, but {trouble}")
            steps = self._plan(here)
        raise VirtinfraError(f"did not reach the requested state after {len(done)} calls")

    def _keep_extras(self, step: PlannedCall, reply: Record) -> None:
        """Keep for the result what a reply holds beside the record: its own members, and a list of other records."""
        self.extras.update({name: reply.get(name, []) for name in extra_result_members(step.operation)})
        kind = get_operation(step.operation).record
        listed = reply.get("inventory", reply.get("inventories"))
        if kind != self.resource.record_type and isinstance(listed, list):
            records = [with_all_fields(kind, record) for record in listed if isinstance(record, dict)]
            self.extras["records"] = [*self.extras.get("records", []), *records]

    def _plan(self, here: Record | None) -> list[PlannedCall]:
        """Plan, and make sure that every call can be made before the first one is."""
        try:
            steps = plan(self.resource, self.state, self.desired, here, self.context.check_mode)
        except NotFound:
            if self.unreadable:
                raise ReadNotSupported(f"cannot check whether it exists: {self.unreadable}. Pass uuid.") from None
            raise
        for step in steps:
            null = [value for value in step.params.values() if isinstance(value, Unknown)]
            if null and not self.context.check_mode:
                raise InvalidOptions(f"{null[0]} must not be null: {step.operation} needs it")
            unknown = {parameter.name: "unknown" for parameter in get_operation(step.operation).path_params}
            self.client.build_request(step.operation, {**unknown, **step.params})
        return steps

    def _is_still_needed(self, step: PlannedCall) -> bool | None:
        here = self._wait_until_stable(self._read(), self._fields_after(step))
        return None if self.state_unknown else any(_is_same_call(step, other) for other in self._plan(here))

    def _after_refusal(self, step: PlannedCall, before: Record | None, error: ApiError | JobUuidUsed) -> Record | None:
        """Return the record of an object that is as requested although the service refused the call for it.

        Either another run was faster, or a proxy delivered the call twice and this is the answer to the second
        delivery. Raise the failure of any other call, after reporting what it has changed all the same.
        """
        with suppress(VirtinfraError):
            now = self._read()
            is_ambiguous = may_answer_second_delivery(error)
            is_creation = step.operation == self.resource.create and is_refused_as_duplicate(step, error)
            if now and is_creation and not (is_ambiguous and _may_be_made_by(step, now)):
                return now
            self.context.changed |= not self.state_unknown and _is_touched(step, before, now)
            if is_ambiguous and self._is_still_needed(step) is False:
                self.context.changed = True
                self.context.completed_operations.append(step.operation)
                self._keep_extras(step, {})
                self.context.warnings.append(
                    f"{self.label}: {error.message.rstrip('.')}, but it is as requested now. Another run made the same"
                    " call meanwhile, or a proxy delivered this call twice. The task reports a change, because the"
                    " service does not identify calls by their job ids, so this cannot be told apart."
                )
                return self._read()
        if self.state_unknown and (warning := second_delivery_warning(step, self.label, error)):
            self.context.changed = True
            self.context.warnings.append(warning)
        raise error

    def _warn(self, step: PlannedCall) -> None:
        if step.warning:
            self.context.warnings.append(f"{self.label}: {step.warning}.")
        name = self.desired.get("name")
        if name and step.operation == self.resource.create and self.resource.found_by(self.desired) != "name":
            self._warn_of_namesakes(name)

    def _warn_of_namesakes(self, name: str) -> None:
        """Warn when another object has the name of the one that is to be created."""
        uuids: list[str] = []
        try:
            record = self.resource.find(self.client, {"name": name})
            uuids = [str(record["uuid"])] if record else []
        except AmbiguousMatch as several:
            uuids = several.result["uuids"]
        except VirtinfraError:
            pass
        if uuids:
            noun, key = self.resource.noun, to_snake_case(str(self.resource.found_by(self.desired)))
            self.context.warnings.append(
                f"{self.label}: the name is in use by another {noun} ({', '.join(sorted(uuids))}). A second {noun} of"
                f" this name is created, because none has this {key}."
            )

    def _read(self) -> Record | None:
        if self.context.unresolved:
            return predict_record(self.resource, self.state, self.desired)
        try:
            return self.resource.find(self.client, without_unknown(self.desired))
        except ReadNotSupported as reason:
            assumed = assume_record(self.resource, self.desired)
            if assumed is None and self.state == "absent":
                raise ReadNotSupported(f"cannot check whether it exists: {reason}. Pass uuid.") from None
            if assumed is None and self.resource.create and not get_operation(self.resource.create).is_idempotent:
                raise ReadNotSupported(
                    f"cannot check whether it exists: {reason}. Pass uuid, or create it once with the api module."
                ) from None
            if not self.state_unknown:
                self.context.warnings.append(
                    f"The state of the {self.label} is not known, so nothing is compared: {reason}."
                )
            self.unreadable = reason
            return assumed

    def _read_after(self, step: PlannedCall, job: Job) -> Record | None:
        """Return the record after a step: replies are often of another kind, so it is read again."""
        told = job.result.get("inventory")
        if get_operation(step.operation).record != self.resource.record_type or not isinstance(told, dict):
            told = {}
        if any(
            name in told and not values_equal(self.desired[name], told[name]) for name in _KEYS & self.desired.keys()
        ):
            # It is the result of another call, and nothing of it is this object's.
            told = {}
        keys, uuid = self.desired, told.get("uuid")
        if isinstance(uuid, str) and uuid:
            self.desired = {**self.desired, "uuid": uuid}
        if self.state_unknown:
            return step.expected and {**step.expected, **told}
        return self._read_created(keys) if step.operation == self.resource.create else self._read()

    def _read_created(self, keys: Record) -> Record | None:
        """Return the record that was created; warn when another run has created one with the same keys meanwhile."""
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
        record = self._read() or found
        if record and (others := [uuid for uuid in uuids if uuid != record.get("uuid")]):
            self.context.warnings.append(
                f"{self.label}: {record.get('uuid')} and {', '.join(others)} exist now, because another run"
                " created one at the same time. This task uses the first. Delete what is not needed, and let one run at"
                " a time create it."
            )
        return record

    def _fields_before(self, step: PlannedCall | None) -> tuple[str, ...]:
        """Return the fields that must be stable before a call, or before the end when no call is left."""
        if step is None:
            return settling_fields(self.resource, self.state)
        return needed_fields(self.resource, self.state, step.operation)

    def _fields_after(self, step: PlannedCall) -> tuple[str, ...]:
        return settling_fields(self.resource, self.state, step.operation)

    def _is_unstable(self, here: Record | None, fields: Sequence[str]) -> bool:
        """Whether to wait for one of the fields."""
        return bool(
            self.context.params["wait"] and not self.state_unknown and transitional_value(self.resource, fields, here)
        )

    def _wait_until_stable(self, here: Record | None, fields: Sequence[str]) -> Record | None:
        """Wait until none of the fields is about to change."""
        if not self._is_unstable(here, fields):
            return here
        with self.client.limit_reads_to_deadline():
            for dummy in self.client.wait.poll_intervals(f"the {self.label}"):
                try:
                    here = self.resource.find(self.client, self.desired)
                except (ApiError, TransportError) as error:
                    if not error.transient:
                        raise
                if not transitional_value(self.resource, fields, here):
                    return here
        raise WaitTimeout(
            f"still {transitional_value(self.resource, fields, here)} after {self.client.wait.timeout:g} s of waiting."
            f" Check the {self.resource.noun}, or raise wait_timeout."
        )

    def _check_converged(self, here: Record | None, left: list[PlannedCall]) -> None:
        """Say where the record is not what the operations that were done should have made of it."""
        words = {word: name for name, move in self.resource.transitions.items() for word in move.target_values}
        shown = {*RECORD_FIELDS[self.resource.record_type], *(here or {})}
        for step in left:
            after = {name: value for name, value in (step.expected or {}).items() if name in shown}
            names = [name for name, value in after.items() if not values_equal(value, (here or {}).get(name))]
            if not names:
                continue
            present, expected = record_to_result(here or {}), record_to_result(after)
            options = map(to_snake_case, names)
            told = ", ".join(f"{name} is {present.get(name)!r} (expected {expected[name]!r})" for name in options)
            message = f"{step.operation} succeeded, but {told}"
            if any(words.get(str((here or {}).get(name)), self.state) != self.state for name in names):
                raise VirtinfraError(message)
            self.context.warnings.append(f"{self.label}: {message}.")

    def _format_result(self, record: Record | None) -> Record:
        """Return the members of the result that tell of a record."""
        members = (
            self.resource.format_result(record) if self.resource.format_result else {self.resource.result_key: record}
        )
        own = members[self.resource.result_key]
        shape = with_all_fields(self.resource.record_type, own) if isinstance(own, dict) else own
        return {**record_to_result({**members, self.resource.result_key: shape}, self.resource.record_type)}


def _reject_foreign_options(resource: Resource, desired: Record, kind: str) -> None:
    """Raise InvalidOptions for options that belong to another kind of object."""
    known = {name for operation in resource.operations for name in get_operation(operation).parameters}
    if others := [to_snake_case(name) for name in desired if name not in (*known, *TAG_PARAMS, "state")]:
        raise InvalidOptions(f"{', '.join(others)} cannot be used with {kind}")


def _may_be_made_by(step: PlannedCall, record: Record) -> bool:
    """Whether a record can be what a creating call makes: nothing in it differs from the parameters of the call."""
    params = {"uuid" if name == "resourceUuid" else name: value for name, value in step.params.items()}
    return all(values_equal(value, record[name]) for name, value in params.items() if record.get(name) is not None)


def _is_touched(step: PlannedCall, before: Record | None, now: Record | None) -> bool:
    """Whether a call that failed has changed something of what it was to change."""
    if before is None or now is None or step.expected is None:
        return (before is None) != (now is None)
    meant = (name for name, value in step.expected.items() if value != before.get(name))
    return any(now.get(name) != before.get(name) for name in meant)


def _is_same_call(step: PlannedCall, other: PlannedCall) -> bool:
    return step.operation == other.operation and step.params == other.params
