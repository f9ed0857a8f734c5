"""The modules that call an operation each time they run, wait for jobs, or log in and out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from .._api.error_code import NO_SUCH_OBJECT, list_error_codes
from .._api.errors import (
    ApiError,
    InvalidOptions,
    ResponseLost,
    SeveralFailed,
    Unsupported,
    VirtinfraError,
    WaitTimeout,
    is_account_refused,
)
from .._api.operation import ABSENT, TAG_PARAMS, Operation, list_failed_items
from .._api.operations import OPERATIONS, get_operation
from .._api.records import (
    Record,
    drop_null_references,
    holds_unknown_reference,
    mask_webhooks,
    record_to_result,
)
from .._api.references import (
    format_option_name,
    is_name,
    is_reference,
    unify_uuid,
)
from .._api.resource_types import REFERS_TO, find_changed_types
from .._client.client import Client
from .._client.jobs import (
    FAILED,
    RUNNING,
    SUCCEEDED,
    UNKNOWN,
    Job,
    extract_last_segment,
    format_job_path,
    parse_polling_path,
    predict_job,
)
from .._client.sessions import (
    AccountSession,
    build_missing_account_error,
    is_valid,
    log_out,
    refuse_access_key,
)
from .._client.waiting import ALL, ANY, poll_job, wait_for_jobs
from .._engine.calls import (
    Call,
    Refused,
    confirm_result,
    perform,
    remember_lack,
    warn_of_second_delivery,
)
from .._engine.context import ModuleContext
from .._engine.plan import PlannedCall
from .._engine.refusals import explain_error
from .._engine.results import (
    describe_target,
    format_pending_job,
    format_predicted_job,
)
from .._http.connection import ConnectionOptions
from .._masking.terminal import escape_controls
from .._resources.finders import find_by_type
from .options import JOB_HANDLES, TAGS, WAIT, WAIT_LIMITS, Options
from .spec import ModuleSpec


def action_module(
    operation: str | Mapping[str, str],
    options: Options,
    changes: bool = True,
    find_error: Callable[[Record], str | None] | None = None,
    require: Callable[[Client, Record], None] | None = None,
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
    members = dict.fromkeys(name for name in operations.values() for name in get_operation(name).result)

    def run(context: ModuleContext) -> dict[str, Any]:
        state = str(context.desired.get("state", ""))
        row = get_operation(operations[state if len(operations) > 1 else ""])
        known = (*row.parameters, *TAG_PARAMS)
        params = {name: value for name, value in context.desired.items() if name in known}
        if len(operations) > 1:
            _reject_options_of_other_states(context.desired.keys() - {*known, "state"}, state)
        params = drop_optional_nulls(row, params)
        with label_errors(drop_null_references(params)) as label:
            nothing: dict[str, Any] = record_to_result(members)
            existing = _select_existing(context, params, state)
            if existing is None:
                return nothing
            params = existing
            examine = partial(_require, require if state != ABSENT else None, context.client, params)
            if context.check_mode or can_harm:
                context.client.build_request(row.name, params)
                examine()
            if context.check_mode:
                return {**nothing, **_predict_call(context, row.name), "changed": changes}
            try:
                job = execute_call(context, row.name, params, label, changes, find_error)
            except Unsupported as lack:
                remember_lack(context.client, row.name, lack)
                raise
            except ApiError as failure:
                if state == ABSENT and failure.code == NO_SUCH_OBJECT and not _exist(context.client, params):
                    return nothing
                raise explain_error(failure, examine) from None
            result = {
                **record_to_result({name: job.result.get(name) for name in members}, row.record),
                **format_pending_job(job),
            }
            if job.state != RUNNING and find_error and (error := find_error({**context.desired, **job.result})):
                raise VirtinfraError(error, **result)
            return result

    return ModuleSpec(run, options, (WAIT, TAGS), rules)


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
    """Return the parameters as `_drop_unknown_names` does; with the state absent, None for uuids of no object, too."""
    existing = _drop_unknown_names(params, state)
    if existing is None or state != ABSENT:
        return existing
    return existing if _exist(context.client, drop_null_references(existing)) else None


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


def _exist(client: Client, params: Record) -> bool:
    """Return whether each parameter refers to an object that exists; a list, to one at least.

    An object that the service cannot show is assumed to exist.
    """

    def exists(parameter: str, uuid: str) -> bool:
        try:
            return find_by_type(REFERS_TO[parameter].name, "uuid")(client, {"uuid": uuid}) is not None
        except Unsupported:
            return True

    return all(
        any(exists(name, uuid) for uuid in (value if isinstance(value, list) else [value]))
        for name, value in params.items()
        if name in REFERS_TO
    )


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
        if call.operation.failure_effect and _was_executed(outcome.error):
            outcome.error.result["changed"] = True
            outcome.error.add_sentence(f" {call.operation.failure_effect}.")
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


# How many failed jobs the message of a task names.
MAX_FAILED_JOBS = 10

WAIT_FOR: Options = {**JOB_HANDLES, "wait_for": {"type": "str", "choices": [ALL, ANY], "default": ALL}}


def job_module(wait: bool) -> ModuleSpec:
    """Return the module that waits for jobs, or the one that only reads their states."""

    def run(context: ModuleContext) -> dict[str, Any]:
        client = context.client
        handles = filter(None, map(extract_handle, context.params["jobs"]))
        jobs = [build_job(client, handle, context.check_mode) for handle in handles]
        if not wait:
            client.map_concurrently(partial(poll_job, client), [job for job in jobs if job.state == RUNNING])
            _fail_with_items(jobs)
            return format_jobs(jobs)
        try:
            wait_for_jobs(client, jobs, wait_for=context.params["wait_for"])
        except WaitTimeout as late:
            late.result = format_jobs(jobs)
            raise
        _fail_with_items(jobs)
        if any(job.failure for job in jobs):
            raise _describe_failed_jobs(jobs)
        return format_jobs(jobs)

    return ModuleSpec(run, WAIT_FOR if wait else JOB_HANDLES, shared_options=(WAIT_LIMITS,) if wait else ())


def _fail_with_items(jobs: list[Job]) -> None:
    """Count the jobs that succeeded, but failed for some of the objects of their calls, as failed."""
    for job in jobs:
        if job.state == SUCCEEDED and (failure := find_item_failure(job)):
            job.state, job.failure = FAILED, failure


def find_item_failure(job: Job) -> SeveralFailed | None:
    """Return the failure of a job that succeeded, but failed for some of the objects of its call; None without any."""
    failed, count = list_failed_items(job.result)
    if not failed:
        return None
    error = failed[0].get("error")
    details = error if isinstance(error, Mapping) else {"details": str(error or "the service gives no reason")}
    first = ApiError(job.operation or "the operation", 200, details)
    return SeveralFailed(
        f"{len(failed)} of {count} items failed, the first: {first}", first.error, changed=len(failed) < count
    )


def _describe_failed_jobs(jobs: list[Job]) -> SeveralFailed:
    """Return the failure of a task that waited for jobs: why each failed one did, and the states of the others.

    Ansible shows the result of a failed task, so it contains no replies of jobs that succeeded.
    """
    states = format_jobs(jobs)
    failures = [job.failure for job in jobs if job.failure]
    reasons = [str(failure) for failure in failures[:MAX_FAILED_JOBS]]
    count = f"{len(failures)} of {len(jobs)} jobs did not succeed: " if len(jobs) > 1 else ""
    more = f" And {len(failures) - len(reasons)} more." if len(failures) > len(reasons) else ""
    for job in states["jobs"]:
        job.pop("result", None)
    message = reasons[0] if len(jobs) == 1 else " ".join(f"{reason.rstrip('.')}." for reason in reasons)
    return SeveralFailed(f"{count}{message}{more}", failures[0].error, **states)


def format_jobs(jobs: list[Job]) -> Record:
    """Return the jobs in the form of the result, and the number of jobs by state."""
    summary = {state: sum(job.state == state for job in jobs) for state in (SUCCEEDED, FAILED, RUNNING, UNKNOWN)}
    return {"jobs": [format_job(job) for job in jobs], "summary": summary}


def extract_handle(item: Any) -> Mapping[str, Any] | None:
    """Return the handle in an item of the option ``jobs``: a uuid, a handle, or the result of a task.

    Return None for the result of a task that started no job. Raise InvalidOptions for anything else.
    """
    if isinstance(item, str):
        return {"uuid": item}
    if isinstance(item, Mapping) and "ansible_job_id" in item:
        raise InvalidOptions(
            "an item of jobs is the result of a task with async, which is no job of the service. Wait for it with"
            " ansible.builtin.async_status"
        )
    if isinstance(item, Mapping) and _is_of_loop(item.get("results")):
        raise InvalidOptions("an item of jobs is the result of a loop. Pass its results, for example started.results")
    if isinstance(item, Mapping) and isinstance(item.get("job"), Mapping):
        item = item["job"]
    elif isinstance(item, Mapping) and "changed" in item:
        return None
    members = (
        [item.get(name) for name in ("uuid", "job_uuid", "location", "operation", "object")]
        if isinstance(item, Mapping)
        else [item]
    )
    if not all(member is None or isinstance(member, str) for member in members) or item is None:
        raise InvalidOptions(
            "each item of jobs must be the uuid of a job, the job of an earlier task, or the result of a task. Pass for"
            " example started.job or started.results"
        )
    handle: Mapping[str, Any] = item
    return handle


def _is_of_loop(results: Any) -> bool:
    """Return whether the results in the result of a task are those of its loop."""
    return isinstance(results, list) and any(
        isinstance(each, Mapping) and "ansible_loop_var" in each for each in results
    )


def build_job(client: Client, handle: Mapping[str, Any], check_mode: bool = False) -> Job:
    """Return the job of a handle, which check mode may have predicted. Raise InvalidOptions for an invalid handle."""
    path = parse_polling_path(handle.get("location"))
    if path is None and handle.get("location") and not handle.get("uuid"):
        raise InvalidOptions(
            f"location {handle['location']!r} is not the polling address of a job, which ends with the uuid of the job."
            " Pass the job of an earlier task."
        )
    if path is None and not handle.get("uuid"):
        if check_mode:
            return predict_job(handle.get("operation") or "")
        raise InvalidOptions("each item of jobs needs a uuid or a location")
    uuid = unify_uuid(handle.get("uuid") or "") or extract_last_segment(str(path))
    job = Job(
        uuid,
        path or format_job_path(uuid, client.connection.path_prefix),
        handle.get("operation") or "",
        handle.get("object") or "",
    )
    job.sent_uuid, job.is_guessed = handle.get("job_uuid") or "", path is None
    return job


def format_job(job: Job) -> Record:
    """Return a job in the form of the result; ``msg`` and ``error`` are like those of a failed task."""
    if job.failure:
        job.failure.with_label(job.label)
    record_type = OPERATIONS[job.operation].record if job.operation in OPERATIONS else ""
    result = {"result": mask_webhooks(job.result, record_type)} if job.state == SUCCEEDED else {}
    failure = {"msg": escape_controls(str(job.failure)), "error": job.failure.error} if job.failure else {}
    return {**job.build_handle(), **result, **failure}


def batch_module(options: Options, **rules: Any) -> ModuleSpec:
    """Return the module that runs another module for many objects, which only the controller can do."""

    def run(context: ModuleContext) -> dict[str, Any]:
        run_objects = context.client.hooks.run_objects
        if run_objects is None:
            raise InvalidOptions("batch runs only inside the controller, as a task of Ansible")
        return run_objects(context)

    return ModuleSpec(run, options, (WAIT, TAGS), rules, only_in_controller=True, hidden_results=("results",))


def workflow_module(options: Options) -> ModuleSpec:
    """Return the module that runs the workflow of a role, which only the controller can do."""

    def run(context: ModuleContext) -> dict[str, Any]:
        run_workflow = context.client.hooks.run_workflow
        if run_workflow is None:
            raise InvalidOptions("workflow runs only inside the controller, as a task of Ansible")
        return run_workflow(context)

    return ModuleSpec(run, options, (WAIT, TAGS), only_in_controller=True)


class SessionSpec(ModuleSpec):
    """The module that manages a session."""

    def connection(self, params: Mapping[str, Any]) -> ConnectionOptions:
        """Return the connection. If it has an account, the session among the options is not its credential.

        Raise InvalidOptions for an access key.
        """
        connection = super().connection(params)
        refuse_access_key(connection)
        return replace(connection, session_id=None) if connection.account_password else connection


def session_module(options: Options, **constraints: Any) -> ModuleSpec:
    """Return the module that returns a valid session as ``session_id``, or ends the session of the options."""
    return SessionSpec(_change_session, options, constraints=constraints, secret_results=("session_id",))


def _change_session(context: ModuleContext) -> dict[str, Any]:
    """Log in unless the session of the options is valid, or end it."""
    session_id = context.params["session_id"]
    # None if the service cannot validate sessions.
    valid = is_valid(context.client, session_id) if session_id else False
    if context.params["state"] == "absent":
        if valid is not False and not context.check_mode:
            _log_out(context.client, session_id)
        context.changed = valid is not False
        return {"session_id": None}
    if valid or (valid is None and not context.params["account"]):
        return {"session_id": session_id}
    return {"session_id": _log_in(context)}


def _log_in(context: ModuleContext) -> str | None:
    """Return a new session of the account, None in check mode."""
    sessions = context.client.sessions
    if not isinstance(sessions, AccountSession):
        reason = ": session_id is invalid or has expired" if context.params["session_id"] else ""
        raise build_missing_account_error(reason)
    session_id = None if context.check_mode else sessions.create_session()
    context.changed = True
    return session_id


def _log_out(client: Client, session_id: str) -> None:
    """End a session. Raise ResponseLost, whose result says ``changed``, if it is unknown whether it has ended."""
    try:
        log_out(client, session_id)
    except ResponseLost as lost:
        lost.result["changed"] = True
        raise
