# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is PRIVATE to the collection. It can have breaking changes at any time.

"""Making a call exactly once, whatever happens to its answer."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ansible_collections.virtinfra.manager.plugins.module_utils._client import Client
from ansible_collections.virtinfra.manager.plugins.module_utils._errors import (
    ApiError,
    JobNotFound,
    OutcomeUnknown,
    ResponseLost,
    VirtinfraError,
    WaitTimeout,
    error_codes,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._jobs import RUNNING, SUCCEEDED, UNKNOWN, Job
from ansible_collections.virtinfra.manager.plugins.module_utils._operations import get_operation
from ansible_collections.virtinfra.manager.plugins.module_utils._planner import PlannedCall
from ansible_collections.virtinfra.manager.plugins.module_utils._records import Record, to_snake_case
from ansible_collections.virtinfra.manager.plugins.module_utils._waiting import job_exists, wait_for_jobs

MAX_RESENDS = 3
_UUIDS = ("Uuid", "Uuids")

# For how many minutes a call whose response was lost may still reach the service: proxies keep requests that long.
STILL_ON_ITS_WAY = 10


@dataclass(frozen=True)
class Call:
    """A call to make exactly once. ``label`` says what it is about; ``wait``: whether its job is followed to its end.

    ``is_still_needed`` reads and plans: whether the call is still to be made, None when nothing can be read.
    """

    client: Client
    step: PlannedCall
    label: str
    wait: bool
    is_still_needed: Callable[[], bool | None] = lambda: None


def execute_once(call: Call) -> tuple[Job, list[str]]:
    """Make a call exactly once; return its job, running only if it is not waited for, and warnings.

    Raises ApiError when the service refused the call or failed, and OutcomeUnknown where nothing tells what became of
    it. The results of WaitTimeout and OutcomeUnknown say ``changed``, for the call may have changed something.
    """
    try:
        job = _start_and_wait(call)
        if job.state == SUCCEEDED and not get_operation(job.operation).has_result(job.result):
            job = _confirm(call, job)
    except (ResponseLost, JobNotFound) as lost:
        return _resolve_lost_call(call, lost.job, lost)
    return job, []


def _confirm(call: Call, job: Job) -> Job:
    """Return the job of a call of which a reply says only that it succeeded, which a proxy may say as well.

    Where the object does not show it, the service is asked for the job. Raises JobNotFound when it does not know that.
    """
    with suppress(VirtinfraError):
        if not call.is_still_needed():
            return job
    reply = job.result
    if not job_exists(call.client, job):
        raise JobNotFound(job, f"{job.operation} returned {reply}, but the object has not changed")
    return _wait(call, job)


def _resolve_lost_call(call: Call, job: Job, last_error: VirtinfraError) -> tuple[Job, list[str]]:
    """Return the same for a call that may or may not have been made, after making it again if need be.

    It is sent again, with the same job id, only where doing it twice is no more than doing it once. For one where
    it is more, its job is asked for again as long as its answer might have come.
    """
    operation = get_operation(call.step.operation)
    tries = MAX_RESENDS if operation.is_idempotent else 1
    needed: bool | None = None
    for attempt in range(tries + 1):
        try:
            needed = call.is_still_needed()
        except VirtinfraError as error:
            last_error = error
            break
        if needed is False:
            job.state, job.failure = SUCCEEDED, None
            lost = ", ".join(map(to_snake_case, extra_result_members(operation.name)))
            return job, [
                f"{call.label}: {operation.name} succeeded, but its response was lost, and {lost} with it."
            ] if lost else []
        if isinstance(last_error, ApiError) and needed:
            raise last_error
        if isinstance(last_error, ApiError) or attempt == tries:
            break
        try:
            if operation.is_idempotent:
                return _start_and_wait(call, job.uuid), []
            if job_exists(call.client, job, call.client.connection.request_timeout):
                return _wait(call, job), []
        except (ApiError, ResponseLost, JobNotFound) as error:
            last_error = error
    job.state = UNKNOWN
    repeat = "check the object before you repeat the call" if needed is None else "run the task again, it checks first"
    raise OutcomeUnknown(
        f"the outcome of {operation.name} is unknown: {last_error.message.rstrip('.')}. Check job {job.uuid} with"
        f" job_info. If the service still does not know it after {STILL_ON_ITS_WAY} minutes, {repeat}.",
        job=job.handle(),
        changed=True,
    )


def _start_and_wait(call: Call, job_uuid: str | None = None) -> Job:
    """Make a call and follow its job, once more with a new session if the service refused it for an expired one.

    Raises ResponseLost or JobNotFound when it may or may not have been made.
    """
    try:
        return _attempt(call, job_uuid)
    except ApiError as failure:
        if not call.client.renew_session(failure):
            raise
    return _attempt(call)


def _attempt(call: Call, job_uuid: str | None = None) -> Job:
    """Make a call and follow its job. Raises ResponseLost or JobNotFound when it may or may not have been made."""
    try:
        job = call.client.start_job(call.step.operation, call.step.params, call.label, job_uuid)
    except ResponseLost as lost:
        job = lost.job
        if not job_exists(call.client, job):
            raise
    return _wait(call, job)


def _wait(call: Call, job: Job) -> Job:
    """Follow a job to its end if that is to be waited for. Raises its failure."""
    if call.wait:
        try:
            wait_for_jobs(call.client, [job])
        except WaitTimeout as late:
            late.result["changed"] = True
            raise
    if job.failure:
        raise job.failure
    return job


def may_answer_second_delivery(error: VirtinfraError) -> bool:
    """Whether an error may be the answer to a second delivery of a call by a proxy, after the first one was taken.

    A service that identifies the call by its job id takes it once, and its answer is that to the first delivery.
    """
    return isinstance(error, ApiError) and not error.is_of_own_job


def is_refused_as_duplicate(step: PlannedCall, error: VirtinfraError) -> bool:
    """Whether the service may have refused a call because what it does has been done already."""
    code = get_operation(step.operation).duplicate_code
    return bool(code) and code in error_codes(error.error) and not step.params.get("force")


def second_delivery_warning(step: PlannedCall, label: str, error: VirtinfraError) -> str:
    """Return the warning that a call may have been performed although it failed, for where no object shows it."""
    if not (may_answer_second_delivery(error) and is_refused_as_duplicate(step, error)):
        return ""
    return (
        f"{label}: {step.operation} may have been performed. If a proxy delivered the call twice, the service performed"
        " the first delivery and refused the second one. The service does not identify calls by their job ids, so this"
        " cannot be told apart. Check the object."
    )


def extra_result_members(operation: str) -> list[str]:
    """Return the members of an operation's reply that tell more than the record."""
    return [name for name in get_operation(operation).result if name != "inventory"]


def pending_job_result(job: Job) -> Record:
    """Return the member of the result that tells of a job that was not waited for."""
    return {"job": job.handle()} if job.state == RUNNING else {}


def describe_target(params: Record, noun: str = "") -> str:
    """Return what a call is about: the name of the object, or else the uuids of what it belongs to."""
    if name := next(filter(None, (params.get(key) for key in ("name", "managementIp", "uuid"))), None):
        return f"{noun} {name}".lstrip()
    owners = ", ".join(
        f"{to_snake_case(key)} {_some(params[key])}" for key in params if params[key] and key.endswith(_UUIDS)
    )
    return f"{noun} of {owners}" if noun and owners else noun or owners


def _some(value: Any) -> str:
    """Return a value, or the first of several and how many more there are."""
    several = isinstance(value, list) and len(value) > 1
    return f"{value[0]} and {len(value) - 1} more" if several else str(value[0] if isinstance(value, list) else value)
