# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is PRIVATE to the collection. It can have breaking changes at any time.

"""Make a call exactly once, even if its response is lost or several tasks need it. See the guide Resilience."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from .._api.errors import (
    ApiError,
    JobNotFound,
    JobUuidUsed,
    LoginFailed,
    OutcomeUnknown,
    ResponseLost,
    Unsupported,
    VirtinfraError,
    WaitTimeout,
    error_codes,
)
from .._api.operations import get_operation
from .._api.records import Record, canonical_address, to_snake_case
from .._client.client import Client
from .._client.jobs import RUNNING, SUCCEEDED, UNKNOWN, Job, find_own_job, job_exists, poll_again, wait_for_jobs
from .context import Lock
from .plan import PlannedCall, ResourceSpec

MAX_RESENDS = 3

# How many seconds after the deadline of the task the response to a call, or to a read after it, may still arrive.
# Without it, the outcome of the call would be unknown.
RESPONSE_TIME = 5.0

# For how many minutes a call whose response was lost may still reach the service, because proxies may delay it.
STILL_ON_ITS_WAY = 10


@dataclass(frozen=True)
class Call:
    """A planned call to make exactly once.

    ``label`` names its object in messages. ``wait`` says whether to wait for its job. ``job_uuid`` is the id that the
    user chose. ``changes`` is False if the call changes nothing.
    """

    client: Client
    planned: PlannedCall
    label: str
    wait: bool
    job_uuid: str | None = None
    changes: bool = True


@dataclass(frozen=True)
class Attempt:
    """The state of a call that was sent: its job, and the deadline of the task.

    ``failure`` is the error with which the service refused or failed the call. ``doubt`` is the reason why it is
    unknown whether the call was performed; `resolve` then makes the next attempt. With ``is_bare`` the reply says only
    that the call succeeded, which may be the response of a proxy. ``resolved`` counts the attempts to resolve a doubt.
    """

    job: Job
    deadline: float
    failure: ApiError | JobUuidUsed | Unsupported | None = None
    doubt: VirtinfraError | None = None
    is_bare: bool = False
    resolved: int = 0
    warnings: tuple[str, ...] = ()


def make_call(call: Call, deadline: float | None = None) -> Attempt:
    """Send a call and wait for its job.

    ``deadline`` is that of the task, if it has already waited for something. The call is sent again with a new session
    when the service refused it because the session had expired. Services report this only in the job, so if the task
    does not wait for the job, the session is checked before the call. Raise WaitTimeout when the job is still running
    at the deadline; its result says ``changed``.
    """
    if not call.wait:
        call.client.sessions.validate()
    attempt = _send(call, call.client.wait.deadline() if deadline is None else deadline)
    if isinstance(attempt.failure, ApiError) and call.client.renew_session(attempt.failure, attempt.job.auth):
        return _send(replace(call, job_uuid=None), attempt.deadline)
    return attempt


def _send(call: Call, deadline: float) -> Attempt:
    lost: ResponseLost | None = None
    client, earlier = call.client.until(deadline, RESPONSE_TIME), len(call.client.jobs)
    try:
        client.start_job(call.planned.operation, call.planned.params, call.label, call.job_uuid)
    except ResponseLost as error:
        lost = error
    except JobUuidUsed as error:
        return Attempt(call.client.jobs[-1], deadline, error)
    except (ApiError, Unsupported) as error:
        is_sent = len(call.client.jobs) > earlier
        if not (is_sent and _is_of_another_call(call, client, error)):
            if isinstance(error, Unsupported):
                raise
            return Attempt(call.client.jobs[-1], deadline, error)
    attempt = Attempt(call.client.jobs[-1], deadline)
    try:
        job = _follow(call, attempt.job, deadline, lost)
    except ApiError as error:
        return replace(attempt, failure=error)
    except (ResponseLost, JobNotFound) as doubt:
        return replace(attempt, doubt=doubt)
    if job.state != SUCCEEDED or get_operation(job.operation).has_result(job.result):
        return attempt
    unconfirmed = JobNotFound(job, f"{job.operation} returned {job.result}, but the object has not changed")
    return replace(attempt, doubt=unconfirmed, is_bare=True)


def _is_of_another_call(call: Call, client: Client, refusal: ApiError | Unsupported) -> bool:
    """Return whether a refusal is the response to another call, because the service knows the job of this one.

    An id that the user chose may be that of an earlier call. An overloaded service is not asked.
    """
    if call.job_uuid or (isinstance(refusal, ApiError) and refusal.transient):
        return False
    return bool(find_own_job(client, client.jobs[-1]))


def resolve(call: Call, attempt: Attempt, needed: bool | None, error: VirtinfraError | None = None) -> Attempt:
    """Make another attempt to determine the outcome of a call, or to repeat the call, and return it.

    ``needed`` says whether the object still lacks the change; None when it cannot be read, with the ``error`` of a read
    that failed. The call is sent again, with the same job id, only if two calls have the effect of one. The job of any
    other call is polled for as long as its response could have arrived.

    Raise OutcomeUnknown, whose result says ``changed``, when nothing shows whether the call was performed.
    """
    if attempt.is_bare:
        return _confirm(call, attempt) if needed or error else replace(attempt, doubt=None)
    if needed is False:
        return _performed(call, attempt)
    job, operation = attempt.job, get_operation(call.planned.operation)
    if needed and isinstance(attempt.doubt, (ApiError, Unsupported)):
        return replace(attempt, failure=attempt.doubt, doubt=None)
    attempts = MAX_RESENDS if operation.is_idempotent else 1
    if error or isinstance(attempt.doubt, (ApiError, Unsupported)) or attempt.resolved == attempts:
        raise _outcome_unknown(call, job, error or attempt.doubt, needed)
    attempt = replace(attempt, resolved=attempt.resolved + 1)
    try:
        if operation.is_idempotent:
            return replace(attempt, job=_resend(call, attempt), doubt=None)
        if job_exists(call.client, job, attempt.deadline, call.client.connection.request_timeout):
            return replace(attempt, job=_follow(call, job, attempt.deadline), doubt=None)
    except (ApiError, LoginFailed, ResponseLost, JobNotFound, Unsupported) as doubt:
        return replace(attempt, doubt=doubt)
    return attempt


def _confirm(call: Call, attempt: Attempt) -> Attempt:
    """Look up the job of a call whose reply says only that it succeeded."""
    attempt = replace(attempt, is_bare=False)
    if not job_exists(call.client, attempt.job, attempt.deadline):
        return attempt
    try:
        return replace(attempt, job=_follow(call, attempt.job, attempt.deadline), doubt=None)
    except ApiError as failure:
        return replace(attempt, failure=failure, doubt=None)
    except JobNotFound as doubt:
        return replace(attempt, doubt=doubt)


def _performed(call: Call, attempt: Attempt) -> Attempt:
    """Return the attempt of a call whose response was lost, but which was performed, as the object shows."""
    attempt.job.state, attempt.job.failure = SUCCEEDED, None
    lost = ", ".join(map(to_snake_case, get_operation(call.planned.operation).extra_results))
    warning = f"{call.label}: {call.planned.operation} succeeded, but its response was lost, and {lost} with it."
    return replace(attempt, doubt=None, warnings=(warning,) if lost else ())


def _resend(call: Call, attempt: Attempt) -> Job:
    """Send a call again, with the same job id, and return its job. Raise the error that leaves its outcome unknown."""
    try:
        return _resend_with(call, attempt.job.sent_uuid, attempt.deadline)
    except ApiError as failure:
        if not call.client.renew_session(failure, call.client.jobs[-1].auth):
            raise
    return _resend_with(call, None, attempt.deadline)


def _resend_with(call: Call, uuid: str | None, deadline: float) -> Job:
    try:
        client = call.client.until(deadline, RESPONSE_TIME)
        job = client.start_job(call.planned.operation, call.planned.params, call.label, uuid, is_resend=True)
    except ResponseLost as lost:
        return _follow(call, lost.job, deadline, lost)
    return _follow(call, job, deadline)


def _follow(call: Call, job: Job, deadline: float, lost: ResponseLost | None = None) -> Job:
    """Wait for the end of a job if the task has to, and return the job.

    Raise its failure. Raise ``lost``, the error with which the response to the call was lost, when the service does not
    know the job.
    """
    if lost and not job_exists(call.client, job, deadline):
        raise lost
    client = call.client.until(deadline, RESPONSE_TIME)
    if not job.has_own_uuid and find_own_job(client, job) is None:
        other = job.uuid
        job.update(job.as_sent(client.connection.path_prefix))
        raise ResponseLost(
            f"the response to {job.operation} names job {other}, which may be that of another call, and nothing shows"
            f" whether the service knows job {job.uuid}, whose id was sent"
        )
    _wait(call, job, deadline)
    if job.failure and not job.has_own_uuid and find_own_job(client, job):
        _wait(call, job, deadline)
    if job.failure:
        raise job.failure
    return job


def _wait(call: Call, job: Job, deadline: float) -> None:
    """Wait for the end of a job if the task has to."""
    if call.wait:
        try:
            wait_for_jobs(call.client, [job], deadline)
        except WaitTimeout as late:
            late.result["changed"] = call.changes
            raise


def confirm_result(call: Call, attempt: Attempt) -> None:
    """Poll the job of a call again whose result says that something is wrong: it may be that of another call."""
    poll_again(call.client.until(attempt.deadline, RESPONSE_TIME), attempt.job)
    _wait(call, attempt.job, attempt.deadline)
    if attempt.job.failure:
        raise attempt.job.failure


def _outcome_unknown(call: Call, job: Job, reason: VirtinfraError | None, needed: bool | None) -> OutcomeUnknown:
    job.state = UNKNOWN
    cause = reason.message.rstrip(".") if reason else ""
    repeat = (
        "check the object before you repeat the call"
        if needed is None
        else "run the task again; it checks the object first"
    )
    return OutcomeUnknown(
        f"the outcome of {call.planned.operation} is unknown: {cause}. Check job {job.uuid} with job_info."
        f" If the service still does not know it after {STILL_ON_ITS_WAY} minutes, {repeat}.",
        job=job.handle(),
        changed=call.changes,
    )


def may_answer_second_delivery(error: VirtinfraError) -> bool:
    """Return whether an error may be the response to a proxy's second delivery of a call that was accepted.

    A service that identifies calls by their job ids accepts the call once, and repeats the response to the first
    delivery.
    """
    return isinstance(error, ApiError) and not error.is_of_own_job


def is_refused_as_duplicate(call: PlannedCall, error: VirtinfraError) -> bool:
    """Return whether the service may have refused a call because its effect already exists."""
    code = get_operation(call.operation).duplicate_code
    return bool(code) and code in error_codes(error.error) and not call.params.get("force")


def second_delivery_warning(call: PlannedCall, label: str, error: VirtinfraError) -> str:
    """Return the warning that a call may have been performed although it failed, if no object shows this."""
    if not (may_answer_second_delivery(error) and is_refused_as_duplicate(call, error)):
        return ""
    return (
        f"{label}: {call.operation} may have been performed. If a proxy delivered the call twice, the service performed"
        " the first delivery and refused the second one. The service does not identify calls by their job ids, which"
        " would show that. Check the object."
    )


class CreationTurn:
    """The turn of a task to create an object.

    Without ``new_lock``, which returns the lock of a key, other tasks are not waited for: a module process does not
    share the locks of a run.
    """

    def __init__(self, client: Client, resource: ResourceSpec, new_lock: Callable[[str], Lock] | None) -> None:
        self._client, self._resource, self._new_lock = client, resource, new_lock
        self._lock: Lock | None = None
        self._is_over = False

    def is_due(self, call: PlannedCall) -> bool:
        """Return whether the task must take its turn before it makes a call."""
        is_creation = call.operation == self._resource.create
        return is_creation and self._new_lock is not None and self._lock is None and not self._is_over

    def take(self, call: PlannedCall, desired: Record, label: str, deadline: float) -> bool:
        """Wait until no other task of the run is creating the object; return whether one may have created it.

        Raise WaitTimeout when another task is still creating it at the deadline.
        """
        lock = self._acquired(creation_key(self._resource, call.params, desired), label, deadline)
        if lock is None:
            return False
        self._lock = lock
        jobs = [Job(handle["uuid"], handle["location"], call.operation, label) for handle in lock.running]
        wait_for_jobs(self._client, jobs, deadline)
        lock.running = []
        return not lock.is_first

    def _acquired(self, key: str, label: str, deadline: float) -> Lock | None:
        lock = self._new_lock(key) if self._new_lock else None
        if lock is None or lock.acquire():
            return lock
        for dummy in self._client.wait.poll_intervals(f"another task to create the {label}", deadline):
            if lock.acquire():
                return lock
        raise WaitTimeout(
            f"another task of this run is still creating it after {self._client.wait.timeout:g} s of waiting. Run the"
            " task again, or raise wait_timeout."
        )

    def end(self) -> None:
        """Let the next task take its turn, because the object exists or the task has ended."""
        self._is_over = True
        if self._lock:
            jobs = [job for job in self._client.jobs if job.operation == self._resource.create]
            running = [job.handle() for job in jobs if job.state == RUNNING and job.location]
            self._lock.release([*self._lock.running, *running])
        self._lock = None


def creation_key(resource: ResourceSpec, params: Mapping[str, Any], desired: Record) -> str:
    """Return what all tasks that create the same object have in common.

    This is the option by which it is found, or else the required parameters of the call. Tasks that create different
    objects may have it in common too, for example NICs of one VM.
    """
    found_by = resource.found_by(desired)
    required = [each.name for each in get_operation(str(resource.create)).parameters.values() if each.required]
    values = {found_by: desired[found_by]} if found_by else {name: params.get(name) for name in required}
    return json.dumps([resource.create, *((name, canonical_address(str(value))) for name, value in values.items())])
