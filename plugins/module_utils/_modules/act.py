"""The modules that call an operation each time they run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from .._api.error_code import NO_SUCH_OBJECT, list_error_codes
from .._api.errors import ApiError, InvalidOptions, Unsupported, VirtinfraError, is_account_refused
from .._api.operation import ABSENT, TAG_PARAMS, Operation
from .._api.operations import get_operation
from .._api.records import (
    NullReference,
    Record,
    drop_null_references,
    holds_unknown_reference,
    record_to_result,
)
from .._api.references import format_option_name, is_name, is_reference
from .._api.resource_types import REFERS_TO, find_changed_types
from .._client.client import Client
from .._client.jobs import RUNNING, SUCCEEDED, Job
from .._engine.calls import Call, Refused, confirm_result, perform, remember_lack, warn_of_second_delivery
from .._engine.context import ModuleContext
from .._engine.refusals import explain_error
from .._engine.results import describe_target, format_pending_job, format_predicted_job
from .._engine.spec import PlannedCall
from .._resources.finders import find_by_type
from .options import TAGS, WAIT, Options
from .spec import ModuleSpec

FindError = Callable[[Record], "str | None"]
Require = Callable[[Client, Record], None]


def action_module(
    operation: str | Mapping[str, str],
    options: Options,
    changes: bool = True,
    find_error: FindError | None = None,
    require: Require | None = None,
    can_harm: bool = False,
    **rules: Any,
) -> ModuleSpec:
    """Return the module that calls one operation each time it runs; its result has the members of the reply.

    If there are several operations, the option ``state`` selects one of them. With the state absent, names and uuids of
    objects that do not exist are no error. ``changes`` is False if the call changes nothing. ``find_error`` returns the
    error in the combination of options and reply, or None. ``require`` raises the error for parameters that the service
    would refuse, as far as it can be read: in check mode, and to explain a refusal. With ``can_harm``, it is asked
    before the call, because the service accepts parameters that do harm. It does not apply to the state absent.
    """
    operations = {"": operation} if isinstance(operation, str) else operation
    return ModuleSpec(_Action(operations, changes, find_error, require, can_harm).run, options, (WAIT, TAGS), rules)


@dataclass(frozen=True)
class _Action:
    """What such a module does, as the arguments of `action_module` say."""

    operations: Mapping[str, str]
    changes: bool
    find_error: FindError | None
    require: Require | None
    can_harm: bool

    def run(self, context: ModuleContext) -> dict[str, Any]:
        """Make the call for the options of a task, and return the result. Raise VirtinfraError."""
        state = str(context.desired.get("state", ""))
        row = get_operation(self.operations[state if len(self.operations) > 1 else ""])
        chosen = drop_optional_nulls(row, self._select_params(context.desired, row, state))
        with label_errors(drop_null_references(chosen)) as label:
            params = _select_existing(context, chosen, state)
            if params is None:
                return self._build_result({})
            examine = partial(_require, self.require if state != ABSENT else None, context.client, params)
            if context.check_mode or self.can_harm:
                context.client.build_request(row.name, params)
                examine()
            if context.check_mode:
                return {**self._build_result({}), **_predict_call(context, row.name), "changed": self.changes}
            try:
                return self._call(context, row, params, label)
            except ApiError as failure:
                if state == ABSENT and failure.code == NO_SUCH_OBJECT and not _keep_existing(context.client, params):
                    return self._build_result({})
                raise explain_error(failure, examine) from None

    def _select_params(self, desired: Record, row: Operation, state: str) -> Record:
        """Return the options that are parameters. Raise InvalidOptions for those of other states."""
        known = (*row.parameters, *TAG_PARAMS)
        if len(self.operations) > 1:
            _reject_options_of_other_states(desired.keys() - {*known, "state"}, state)
        return {name: value for name, value in desired.items() if name in known}

    def _build_result(self, reply: Mapping[str, Any], record: str = "") -> dict[str, Any]:
        """Return the members of the replies of all operations, null where this one lacks them."""
        members = dict.fromkeys(name for name in self.operations.values() for name in get_operation(name).result)
        result: dict[str, Any] = record_to_result({name: reply.get(name) for name in members}, record)
        return result

    def _call(self, context: ModuleContext, row: Operation, params: Record, label: str) -> dict[str, Any]:
        """Make the call, and return its result. Raise VirtinfraError."""
        try:
            job = execute_call(context, row.name, params, label, self.changes, self.find_error)
        except Unsupported as lack:
            remember_lack(context.client, row.name, lack)
            raise
        result = {**self._build_result(job.result, row.record), **format_pending_job(job)}
        if job.state != RUNNING and self.find_error and (error := self.find_error({**context.desired, **job.result})):
            raise VirtinfraError(error, **result)
        return result


def _require(require: Callable[[Client, Record], None] | None, client: Client, params: Record) -> None:
    """Raise what a module raises for parameters that the service would refuse; nothing if it examines none."""
    if require:
        require(client, params)


def _predict_call(context: ModuleContext, operation: str) -> dict[str, Any]:
    """Return the members of the result of check mode. Raise Unsupported if the service lacks the operation."""
    if known_lack := context.client.facts.get(operation):
        raise Unsupported(known_lack, operation=operation)
    context.client.hooks.note_prediction(find_changed_types(get_operation(operation)))
    return format_predicted_job(operation, context.params["wait"])


def _reject_options_of_other_states(names: Iterable[str], state: str) -> None:
    """Raise InvalidOptions if options are given that the operation of this state does not have."""
    if others := [format_option_name(name) for name in sorted(names)]:
        raise InvalidOptions(f"{', '.join(others)} cannot be used with state {state}")


def _select_existing(context: ModuleContext, params: Record, state: str) -> Record | None:
    """Return the parameters as `_drop_unknown_names` does, with the state absent also without uuids of no object."""
    existing = _drop_unknown_names(params, state)
    if existing is None or state != ABSENT:
        return existing
    return _keep_existing(context.client, existing)


def _drop_unknown_names(params: Record, state: str) -> Record | None:
    """Return the parameters, with the state absent without the names in lists that no object has.

    Return None if no object remains in a list, or if no object has the name in another parameter.
    """
    if state != ABSENT:
        return params
    remaining: Record = {}
    for name, value in params.items():
        if is_reference(name):
            uuids = [item for item in (value if isinstance(value, list) else [value]) if not is_name(item)]
            if not uuids:
                return None
            value = uuids if isinstance(value, list) else value
        remaining[name] = value
    return remaining


def _keep_existing(client: Client, params: Record) -> Record | None:
    """Return the parameters without the objects in lists that do not exist.

    Return None if no object remains in a list, or if that of another parameter does not exist. An object that the
    service cannot show is assumed to exist.
    """

    def exists(parameter: str, uuid: Any) -> bool:
        if isinstance(uuid, NullReference):
            return True
        try:
            return find_by_type(REFERS_TO[parameter].name, "uuid")(client, {"uuid": uuid}) is not None
        except Unsupported:
            return True

    existing = dict(params)
    for name, value in params.items():
        if name in REFERS_TO:
            uuids = [uuid for uuid in (value if isinstance(value, list) else [value]) if exists(name, uuid)]
            if not uuids:
                return None
            existing[name] = uuids if isinstance(value, list) else value
    return existing


def drop_optional_nulls(row: Operation, params: Record) -> Record:
    """Return the parameters without null references, except for required parameters."""
    known = {name: value for name, value in params.items() if not holds_unknown_reference(value)}
    return {**known, **{name: params[name] for name in row.find_missing(known) if name in params}}


def execute_call(
    context: ModuleContext,
    operation: str,
    params: Record,
    label: str,
    changes: bool = True,
    find_error: Callable[[Record], str | None] | None = None,
) -> Job:
    """Make a call exactly once and return its job. There is no object that shows whether the call is still needed."""
    client, planned = context.client, PlannedCall(operation, params, None)
    wait, job_uuid = context.params["wait"], context.params["job_uuid"]
    call = Call(client, planned, label, wait, client.wait.compute_deadline(), job_uuid, changes)
    outcome = perform(call, is_still_needed=lambda: None)
    if isinstance(outcome, Refused):
        if changes and (warning := warn_of_second_delivery(planned, label, outcome.error)):
            outcome.error.result["changed"] = True
            context.warnings.append(warning)
        if call.operation.effect.of_failure and _was_executed(outcome.error):
            outcome.error.result["changed"] = True
            outcome.error.add_sentence(f" {call.operation.effect.of_failure}.")
        raise outcome.error
    job = outcome.job
    if job.state == SUCCEEDED and find_error and find_error({**context.desired, **job.result}):
        confirm_result(call, job)
    context.record_call(operation, changes, outcome.warnings)
    return job


def _was_executed(error: VirtinfraError) -> bool:
    """Return whether the service may have executed a part of a call that failed with this error."""
    return (
        isinstance(error, ApiError)
        and not is_account_refused(error)
        and NO_SUCH_OBJECT not in list_error_codes(error.error)
    )


@contextmanager
def label_errors(params: Record) -> Iterator[str]:
    """Add the label of the object to failures."""
    label = describe_target(params)
    try:
        yield label
    except VirtinfraError as failure:
        raise failure.with_label(label) from None
