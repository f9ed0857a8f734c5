"""The module that changes one object to a state: the only loop of reading, planning and calling."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from .._api.errors import (
    InvalidOptions,
    NotFound,
    OtherObject,
    Unchangeable,
    Unsupported,
    VirtinfraError,
)
from .._api.operation import ABSENT
from .._api.operations import get_operation
from .._api.records import (
    NullReference,
    Record,
    drop_null_references,
    holds_unknown_reference,
    record_to_result,
)
from .._api.references import unify_uuid
from .._client.client import Changes
from .._client.jobs import RUNNING, SUCCEEDED, Job
from .acceptance import Acceptance, build_refusal, find_acceptance
from .calls import (
    RESPONSE_TIME,
    Call,
    CreationTurn,
    Done,
    Refused,
    can_answer_second_delivery,
    confirm_result,
    require_operation,
)
from .context import ModuleContext
from .current import Current, Found, Missing, Unreadable
from .differences import list_references
from .drift import find_ignored
from .namesakes import require_free_name, warn_of_pattern
from .plan import plan
from .reader import DependentsReader, ObjectReader
from .refusals import require_acceptance
from .results import (
    describe_differences,
    extract_extras,
    find_unchanged_state,
    find_unmet_expectations,
    find_unreached_fields,
    format_diff,
    format_pending_job,
    format_predicted_job,
    format_record,
)
from .settling import find_failed_value, list_needed_fields, list_settling_fields
from .spec import NO_VALUES, PlannedCall, ResourceSpec
from .tag_patterns import TagPatterns, list_added_tags
from .tags import ADD_TAG

# How many calls the task may make in addition to those of the first plan.
MAX_REPLANS = 10

# Why a call may have been refused although the object is in the requested state.
EITHER = (
    "Either another run, task or user made the same call at the same time, or a proxy delivered this call twice. The"
    " task reports a change, because the service does not identify calls by their job ids, which would distinguish the"
    " two cases."
)


class Planner:
    """Plans the calls of a task, and plans again after each of them.

    ``done`` are the calls that were made, ``planned`` those of the last plan.
    """

    def __init__(self, reader: ObjectReader, context: ModuleContext) -> None:
        self.reader, self.context = reader, context
        self.done: list[PlannedCall] = []
        self.planned: list[PlannedCall] = []
        self._planned_once: list[PlannedCall] = []
        self._expected_finally: Record | None = None
        self.patterns = TagPatterns(context)
        self._probed: set[str] = set()
        self._is_accepted = False

    def plan(self, current: Current) -> list[PlannedCall]:
        """Plan the calls that lead from the current record to the requested state."""
        calls = self._plan(current)
        if not (self.planned or self.done):
            require_free_name(self.reader, calls, current.record)
        self.planned = calls
        return calls

    def _plan(self, current: Current) -> list[PlannedCall]:
        """Plan, and check before the first call that all calls can be made.

        Once a call was made, the calls that no record shows are those of the first plan.
        """
        reader = self.reader
        try:
            calls = plan(reader.resource, reader.state, reader.desired, current)
        except NotFound as failure:
            raise self._explain_absence(failure, current) from None
        except Unchangeable as failure:
            if any(call.operation == reader.resource.create for call in self.done):
                failure.add_sentence(" The task has just created the object, and leaves it as it is.")
            raise
        for call in calls:
            null = list(filter(holds_unknown_reference, call.params.values()))
            if null:
                raise InvalidOptions(f"{null[0]} must not be null or empty: {call.operation} needs it")
            known = {name: value for name, value in call.params.items() if value is not None}
            unknown = dict.fromkeys(get_operation(call.operation).target_params, "unknown")
            self.context.client.build_request(call.operation, {**unknown, **known})
        if not self.done:
            self._planned_once = [call for call in calls if not call.is_visible]
            self._expected_finally = calls[-1].expected if calls else None
            return calls
        calls = [call for call in calls if call.is_visible or _contains(self._planned_once, call)]
        return [*(call for call in self._planned_once if not _contains(calls, call)), *calls]

    def _explain_absence(self, failure: NotFound, current: Current) -> VirtinfraError:
        """Return the failure for an object that does not exist, as far as it could be read."""
        if isinstance(current, Unreadable):
            return Unsupported(f"cannot check whether the object exists: {current.reason.reason}", "Give uuid.")
        if not self.done:
            failure.add_sentence(_explain_unknown_name(self.reader))
        return failure

    def expect_finally(self, calls: list[PlannedCall]) -> list[PlannedCall]:
        """Return calls with what is expected at the end of the task of those that no record shows.

        Later calls have changed the object since, for example its state.
        """
        return [call if call.is_visible else call._replace(expected=self._expected_finally) for call in calls]

    def find_next_call(self, calls: list[PlannedCall]) -> PlannedCall | None:
        """Return the first planned call that was not made yet."""
        return next((call for call in calls if not _contains(self.done, call)), None)

    def require_acceptance(self, calls: list[PlannedCall], record: Record | None) -> None:
        """Raise the failure with which the service would refuse one of several calls, once before the first of them.

        A single call that the service refuses changes nothing.
        """
        if not self._is_accepted and not self.done and len(calls) > 1:
            require_acceptance(self.reader.resource, self.reader.client, calls, record)
            self._is_accepted = True

    def require_operations(self, calls: list[PlannedCall]) -> bool:
        """Raise Unsupported before the first of several calls if the service lacks the operation of a later one.

        Return whether calls were sent to find it out. Each operation is tried once.
        """
        if self.done or not calls:
            return False
        later = {call.operation: call for call in calls}
        if not self.context.check_mode:
            later.pop(calls[0].operation)
        untried = [call for name, call in later.items() if name not in self._probed]
        self._probed.update(later)
        sent = [self._require_operation(call, calls) for call in untried]
        return any(sent)

    def _require_operation(self, call: PlannedCall, calls: list[PlannedCall]) -> bool:
        try:
            return require_operation(self.context.client, call)
        except Unsupported as lack:
            if call.operation != ADD_TAG:
                raise
            self.patterns.require(lack, list_added_tags(calls))
        return True

    def warn_of_remaining(self, running: PlannedCall) -> None:
        """Warn that an object is not removed, because the task does not wait for the first of several calls."""
        if running.expected is None or self.reader.state != ABSENT:
            return
        names = dict.fromkeys(call.operation for call in self.plan(Found(running.expected)))
        self.context.warnings.append(
            f"{self.reader.label}: the task did not call {', '.join(names)}, because wait is false. Run it again when"
            f" the job has ended.{self.describe_lost_calls()}"
        )

    def plan_renamed(self) -> None:
        """Plan the calls that are left for an object that was renamed after the first call, to name those it loses."""
        reader = self.reader
        if self.done and (moved := reader.selection.moved) and reader.state == ABSENT:
            desired = {**reader.desired, **{key: moved.get(key) for key in reader.resource.keys}}
            with suppress(VirtinfraError):
                self.planned = plan(reader.resource, reader.state, desired, Found(moved))

    def describe_progress(self) -> str:
        """Return the sentence with what the task has removed or changed, by the calls that it has made."""
        participle = "removed" if self.reader.state == ABSENT else "changed"
        made = " and ".join(dict.fromkeys(self.context.completed_operations))
        return f" Nothing further was {participle} after {made}." if made else f" Nothing was {participle}."

    def describe_lost_calls(self) -> str:
        """Return the sentence with the objects of calls that no later task makes; empty if there are none."""
        lost = dict.fromkeys(str(call.params["uuid"]) for call in self.planned if not call.is_found_again)
        names = ", ".join(lost)
        return f" Then remove {names} with the module api, because the task does not find them again." if lost else ""


class Reconciler:
    """One run: read, plan, make the first call, read again, plan again, until no call is left to make."""

    def __init__(self, resource: ResourceSpec, context: ModuleContext, desired: Record) -> None:
        self.resource, self.context, self.client = resource, context, context.client
        self.state = desired.pop("state", "present")
        self.reader = ObjectReader(resource, context, self.state, desired)
        self.planner = Planner(self.reader, context)
        self.turn = CreationTurn(self.client, resource)
        self.dependents = DependentsReader(self.reader)
        self.extras: Record = {}
        # What the last check whether a call is still needed has read.
        self._checked: Current = Missing()

    def run(self) -> dict[str, Any]:
        """Return the result. A failure lists the operations that succeeded before it."""
        try:
            before = _claim(self.reader, self.reader.read())
            after, members = self._predict(before) if self.context.check_mode else self._apply(before)
        except Unsupported as failure:
            # The message says which operation the service lacks.
            raise failure.with_label(self.reader.label) from None
        except VirtinfraError as failure:
            if failure.references:
                # Few module processes need the code for names.
                from .._client.names import add_names

                failure.message = add_names(self.client, failure.message, failure.references)
            if isinstance(failure, NotFound):
                failure.add_sentence(_explain_unknown_uuid(self.reader))
            self.reader.warn_if_unreadable()
            self.dependents.add_to_failure(failure)
            if isinstance(failure, OtherObject):
                failure.add_sentence(f"{self.planner.describe_progress()} {self.reader.selection.describe_remedy()}")
                self.planner.plan_renamed()
            failure.add_sentence(self.planner.describe_lost_calls())
            raise failure.with_label(self.reader.label) from None
        finally:
            self.turn.end()
        self.reader.warn_if_unreadable()
        _warn_of_ignored(self.reader, after)
        warn_of_pattern(self.reader, before)
        self.dependents.review()
        extras = {**record_to_result(self.extras, self.resource.record_type), **self.dependents.result}
        diff = self.dependents.add_to_diff(format_diff(self.resource, before.record, after))
        return {**format_record(self.resource, after), **extras, "diff": diff, **members}

    def _predict(self, current: Current) -> tuple[Record | None, Record]:
        """Return the record after all planned calls, ``changed``, and the job of the first call without a wait.

        Raise the failure with which the service would refuse a call.
        """
        calls = self.planner.plan(current)
        self.dependents.require_permission(calls, current.record)
        for call in calls:
            self._warn(call)
        require_acceptance(self.resource, self.client, calls, current.record)
        self.planner.require_operations(calls)
        if any(call.operation == self.resource.create for call in calls):
            self.client.hooks.note_prediction(_list_predictions(self.resource, self.reader.desired.get("name")))
        after = calls[-1].expected if calls else current.record
        if calls:
            self.client.hooks.note_changes(_list_changes(self.resource, current.record, after))
        job = format_predicted_job(calls[0].operation, self.context.params["wait"]) if calls else {}
        return after, {"changed": bool(calls), **job}

    def _apply(self, current: Current) -> tuple[Record | None, Record]:
        """Make the calls that are needed.

        Return the record after them, and the job if the task does not wait for it.
        """
        calls = self.planner.plan(current)
        deadline = self.client.wait.compute_deadline()
        for dummy in range(len(calls) + MAX_REPLANS):
            if current.record is not None:
                self.turn.end()
            call = self.planner.find_next_call(calls)
            fields = self._list_fields_before(call)
            needs = call.settling.before if call else NO_VALUES
            if self.reader.is_unstable(current, fields, needs):
                current = self.reader.wait_until_stable(current, fields, deadline, needs)
            elif call is None:
                self._check_converged(current.record, calls)
                return current.record, {}
            elif self.turn.is_due(call) and self.turn.take(call, self.reader.desired, self.reader.label, deadline):
                current = _claim(self.reader, self.reader.read())
            else:
                self.reader.client = self.client.with_deadline(deadline, RESPONSE_TIME)
                if _check_before(self.planner, self.dependents, calls, current):
                    # Somebody else may have changed the object, or given its name to another one.
                    current = self.reader.read_again(current)
                    calls = self.planner.plan(current)
                    continue
                self._warn(call)
                job_uuid = None if self.planner.done else self.context.params["job_uuid"]
                outcome = self._perform(call, job_uuid, deadline)
                self.planner.done.append(call)
                self.dependents.note_call(call)
                if isinstance(outcome, Refused):
                    current = self._read_after_refusal(call, current, outcome.error, deadline)
                elif outcome.job.state == RUNNING:
                    self.planner.warn_of_remaining(call)
                    return call.expected, format_pending_job(outcome.job)
                else:
                    current = self._read_after(call, current, outcome, deadline)
            calls = self.planner.plan(current)
        raise VirtinfraError(f"did not reach the requested state after {len(self.planner.done)} calls")

    def _perform(self, call: PlannedCall, job_uuid: str | None, deadline: float) -> Done | Refused:
        """Make a call exactly once: while its outcome is in doubt, read the object and plan again."""
        once = Call(self.client, call, self.reader.label, self.context.params["wait"], deadline, job_uuid)
        planned = () if self.planner.done else self.planner.planned
        made, outcome = self.planner.patterns.perform(once, planned, lambda: self._is_still_needed(call, deadline))
        if isinstance(outcome, Done):
            self.context.record_call(made.planned.operation, warnings=outcome.warnings)
            _check_reply(self.resource, made, outcome.job)
        return outcome

    def _is_still_needed(self, call: PlannedCall, deadline: float) -> bool | None:
        """Return whether the object still lacks the change that a call makes; None if it cannot be read."""
        fields = self._list_fields_after(call)
        current = self.reader.wait_until_stable(self.reader.read(), fields, deadline, call.settling.before)
        if isinstance(current, Unreadable) or not call.is_visible:
            return None
        self._checked = current
        return _contains(self.planner.plan(current), call)

    def _read_after(self, call: PlannedCall, before: Current, done: Done, deadline: float) -> Current:
        """Return the stable object after a call that succeeded. Raise VirtinfraError if it shows a failure."""
        self._add_extras(extract_extras(self.resource, call.operation, done.job.result))
        is_read = done.is_seen and call.operation != self.resource.create
        after = self._checked if is_read else self.reader.read_after(call, before, done.job)
        if after.record is not None:
            with suppress(InvalidOptions):
                # The next object of a batch must not change what this one has created.
                _claim(self.reader, after)
            self.turn.end()
        after = self.reader.wait_until_stable(after, self._list_fields_after(call), deadline, call.settling.after)
        _require_success(self.resource, self.state, call, before, after, self.planner.describe_progress())
        return after

    def _add_extras(self, extras: Record) -> None:
        records = [*self.extras.get("records", []), *extras.get("records", [])]
        self.extras = {**self.extras, **extras, **({"records": records} if records else {})}

    def _read_after_refusal(
        self, call: PlannedCall, before: Current, error: VirtinfraError, deadline: float
    ) -> Current:
        """Return the object if there is an `Acceptance` for the refused call.

        Raise the failure of any other call. Its result says ``changed`` if the call changed something nevertheless. Its
        message has the state of an object that should have been removed, or why the object cannot be read.
        """
        current, acceptance, read_error = before, None, None
        try:
            current = self.reader.read()
            # The service may still perform the same call of another run, or the first delivery of this one.
            current = self.reader.wait_until_stable(current, self._list_fields_after(call), deadline)
            acceptance = find_acceptance(
                self.resource, call, before, current, error, lambda: self._is_still_needed(call, deadline) is False
            )
        except VirtinfraError as failure:
            read_error = failure
        if acceptance is Acceptance.REACHED:
            self._add_extras(extract_extras(self.resource, call.operation, {}))
            self._warn_of_reached(call, error)
            return self.reader.read()
        if acceptance:
            return current
        raise build_refusal(self.reader, call, before, current, error, read_error) from error

    def _warn_of_reached(self, call: PlannedCall, error: VirtinfraError) -> None:
        """Warn that a refused call was not needed, and count it if the service may have accepted it before."""
        warning = f"{self.reader.label}: {error.message.rstrip('.')}, but the object is in the requested state."
        if can_answer_second_delivery(error):
            self.context.record_call(call.operation, warnings=[f"{warning} {EITHER}"])
        else:
            self.context.warnings.append(f"{warning} Another run, task or user was faster.")

    def _warn(self, call: PlannedCall) -> None:
        if call.warning:
            self.context.warnings.append(f"{self.reader.label}: {call.warning}.")

    def _list_fields_before(self, call: PlannedCall | None) -> tuple[str, ...]:
        """Return the fields that must be stable before a call, or at the end when no call remains."""
        if call is None:
            return list_settling_fields(self.resource, self.state)
        return list_needed_fields(self.resource, self.state, call.operation)

    def _list_fields_after(self, call: PlannedCall) -> tuple[str, ...]:
        return list_settling_fields(self.resource, self.state, call.operation)

    def _check_converged(self, current: Record | None, remaining: list[PlannedCall]) -> None:
        """Warn about values that successful calls did not change; raise VirtinfraError if the state did not change."""
        expected = self.planner.expect_finally(remaining)
        for message, is_state in find_unmet_expectations(self.resource, self.state, current, expected):
            if is_state:
                raise VirtinfraError(message)
            self.context.warnings.append(f"{self.reader.label}: {message}.")


def _explain_unknown_uuid(reader: ObjectReader) -> str:
    """Return a sentence, and a space before it, with the other object that has the uuid; empty without any."""
    resource_type = reader.resource.resource_type
    if resource_type is None or reader.resource.choose_key(reader.desired) != "uuid":
        return ""
    # Few module processes need the code for names.
    from .._client.names import explain_unknown_uuid

    return explain_unknown_uuid(reader.client, resource_type, str(reader.desired["uuid"]))


def _explain_unknown_name(reader: ObjectReader) -> str:
    """Return a sentence, and a space before it, with the objects that the name may mean; empty without any."""
    resource, resource_type = reader.resource, reader.resource.resource_type
    if resource_type is None or resource.choose_key(reader.desired) != "name":
        return ""
    # Few module processes need the code for names.
    from .._client.names import FIXED_NAMES, describe_existing_names, explain_address

    # A list would contain objects that the module cannot change, such as platforms of other types.
    name, listed = str(reader.desired["name"]), 0 if resource.create or resource.creation else FIXED_NAMES
    return explain_address(reader.client, resource_type, name) or describe_existing_names(
        reader.client, resource_type, name, listed
    )


def _warn_of_ignored(reader: ObjectReader, after: Record | None) -> None:
    """Warn of options that act only when the object is created, and that it contradicts."""
    if after is None or reader.state == ABSENT:
        return
    for ignored in find_ignored(reader.resource, drop_null_references(reader.desired), after):
        # Few module processes need the code for names.
        from .._client.names import add_names

        reason = add_names(reader.client, ignored.reason, ignored.references)
        reader.context.warnings.append(f"{reader.label}: {reason}.")


def _claim(reader: ObjectReader, current: Current) -> Current:
    """Return what is known of the object of a task. Raise InvalidOptions if another object of its batch is the same."""
    reader.client.hooks.claim_target(_identify_target(reader.resource, reader.desired, current.record))
    return current


def _identify_target(resource: ResourceSpec, desired: Record, record: Record | None) -> str:
    """Return what identifies the object of a task among those of its module; empty if it does not exist yet.

    It is the uuid of the object. What has none is identified by the objects that it belongs to.
    """
    owners = [] if "uuid" in resource.keys else [desired.get(key) for key in resource.keys]
    values = owners or [(record or {}).get("uuid")]
    if not all(values) or any(isinstance(value, NullReference) for value in values):
        return ""
    return f"{resource.result_key} of {', '.join(map(str, owners))}" if owners else f"uuid {unify_uuid(str(values[0]))}"


def _list_predictions(resource: ResourceSpec, name: str | None) -> list[str]:
    """Return the types of an object that would be created, and its name with each of them, as later tasks ask."""
    types = dict.fromkeys((*sorted(resource.types), resource.result_key))
    return [*types, *(f"{each} {name}" for each in types if name)]


def _list_changes(resource: ResourceSpec, before: Record | None, after: Record | None) -> Changes:
    """Return what later tasks must know of an object that the task would change: its state and its references.

    Other fields decide nothing for later tasks, and may be secret. What is not found by its uuid belongs to an object,
    and attaches it to another one, or does not any more.
    """
    known = drop_null_references(before or after or {})
    if "uuid" not in resource.keys:
        owner, *others = resource.keys
        return {str(known[owner]): {name: (after or {}).get(name) for name in others}} if known.get(owner) else {}
    if not before or not known.get("uuid"):
        return {}
    if after is None:
        return {str(known["uuid"]): None}
    fields = {transition.record_field for transition in resource.transitions.values()}
    changed = {name: value for name, value in after.items() if value != before.get(name)}
    selected = {name: value for name, value in changed.items() if name in fields or name.endswith("Uuid")}
    return {str(known["uuid"]): selected}


def _check_before(planner: Planner, dependents: DependentsReader, calls: list[PlannedCall], current: Current) -> bool:
    """Raise a failure if the planned calls must not be made, or are refused; return whether the checks took time."""
    has_read = dependents.require_permission(calls, current.record)
    planner.require_acceptance(calls, current.record)
    has_probed = planner.require_operations(calls)
    if has_probed:
        dependents.outdate()
        dependents.require_permission(calls, current.record)
    return has_read or has_probed


def _require_success(
    resource: ResourceSpec, state: str, call: PlannedCall, before: Current, after: Current, progress: str
) -> None:
    """Raise VirtinfraError if the object shows that a call failed although it reported success.

    ``progress`` is the sentence with what the task has removed or changed.
    """
    if after.record is not None and call.expected is None:
        raise VirtinfraError(f"{call.operation} succeeded, but the object still exists")
    if unchanged := find_unchanged_state(resource, state, call, before.record, after.record):
        raise VirtinfraError(f"{call.operation} succeeded, but {unchanged}.{progress}")
    # Some servers keep the record of a deleted object for some time, and others do not.
    if after.record is None and call.expected is not None and not get_operation(call.operation).is_destructive:
        raise VirtinfraError(f"{call.operation} succeeded, but the object does not exist")
    reason = find_failed_value(resource, state, call.operation, before.record, after.record, call.expected)
    if reason:
        raise VirtinfraError(f"{call.operation} succeeded, but {reason}")
    if unreached := find_unreached_fields(call, after):
        message = f"{call.operation} succeeded, but {describe_differences(after.record or {}, unreached)}"
        raise VirtinfraError(message).with_references(list_references(unreached, after.record or {}))


def _check_reply(resource: ResourceSpec, call: Call, job: Job) -> None:
    """Raise VirtinfraError if the reply contains an error although the job succeeded."""
    find_error = resource.find_reply_error
    if find_error is None or job.state != SUCCEEDED or not find_error(job.result):
        return
    confirm_result(call, job)
    if error := find_error(job.result):
        members = record_to_result(extract_extras(resource, job.operation, job.result), resource.record_type)
        raise VirtinfraError(f"{job.operation} succeeded, but {error}", **members)


def _contains(calls: list[PlannedCall], call: PlannedCall) -> bool:
    return any(_is_same_call(call, other) for other in calls)


def _is_same_call(call: PlannedCall, other: PlannedCall) -> bool:
    return call.operation == other.operation and call.params == other.params
