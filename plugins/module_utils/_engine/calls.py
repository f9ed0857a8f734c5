"""Make a call exactly once, even if its response is lost or several tasks need it. See the guide Resilience."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from copy import copy
from typing import Any, NamedTuple

from .._api.error_code import NO_SUCH_OBJECT, list_error_codes
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
    is_account_refused,
)
from .._api.operation import Operation
from .._api.operations import COMPANIONS, get_operation
from .._api.records import Record, normalize_address, to_snake_case
from .._client.client import Client
from .._client.jobs import FAILED, RUNNING, SUCCEEDED, UNKNOWN, Job, generate_uuid
from .._client.stores import Lock
from .._client.waiting import find_own_job, job_exists, poll_again, wait_for_jobs
from .current import Current, Missing
from .spec import PlannedCall, ResourceSpec
from .tags import ADD_TAG

MAX_RESENDS = 3

# The fact about an operation that a server has; any other text is the reason why the server lacks the operation.
OFFERED = "offered"

# How many seconds after the deadline of the task the response to a call, or to a read after it, may still arrive.
# Without it, the outcome of the call would be unknown.
RESPONSE_TIME = 5.0

# For how many minutes a call whose response was lost may still reach the service, because proxies may delay it.
STILL_ON_ITS_WAY = 10


class Call(NamedTuple):
    """A planned call to make exactly once.

    ``label`` names its object in messages. ``wait`` says whether to wait for its job. ``deadline`` is that of the task.
    ``job_uuid`` is the id that the user chose. ``changes`` is False if the call changes nothing.
    """

    client: Client
    planned: PlannedCall
    label: str
    wait: bool
    deadline: float
    job_uuid: str | None = None
    changes: bool = True

    @property
    def operation(self) -> Operation:
        """The row of the operation."""
        return get_operation(self.planned.operation)

    def limit_client(self) -> Client:
        """Return the client for requests whose responses may arrive a few seconds after the deadline."""
        return self.client.with_deadline(self.deadline, RESPONSE_TIME)


class Done(NamedTuple):
    """The call was performed; if the task does not wait for the job, it may still be running.

    ``is_seen`` says that the object was read after the job, and shows that the call is not needed any more.
    """

    job: Job
    warnings: tuple[str, ...] = ()
    is_seen: bool = False


class Refused(NamedTuple):
    """The service refused the call, or its job failed, with this error."""

    job: Job
    error: VirtinfraError


class InDoubt(NamedTuple):
    """It is unknown whether the call was performed; ``reason`` is the error that left it open."""

    job: Job
    reason: VirtinfraError


def perform(call: Call, is_still_needed: Callable[[], bool | None]) -> Done | Refused:
    """Make a call exactly once, and wait for its job if the task has to.

    While it is unknown whether the call was performed, ``is_still_needed`` returns whether the object still lacks the
    change, None if nothing shows it. The call is sent again, with the same job id, only if two calls have the effect of
    one. The job of any other call is polled for as long as its response could have arrived.

    Raise WaitTimeout when the job is still running at the deadline, and OutcomeUnknown when nothing shows whether the
    call was performed; the results of both say ``changed``.
    """
    outcome = _send(call, is_still_needed)
    if isinstance(outcome, Done) and _is_bare_success(outcome.job):
        outcome = _confirm(call, outcome.job, is_still_needed)
    attempts = MAX_RESENDS if call.operation.effect.is_idempotent else 1
    while isinstance(outcome, InDoubt):
        is_needed, read_error = _check(is_still_needed)
        if is_needed is False:
            return _conclude_performed(call, outcome.job)
        is_refused = isinstance(outcome.reason, (ApiError, Unsupported)) and not _leaves_open(outcome.reason)
        if is_needed and is_refused:
            return Refused(outcome.job, outcome.reason)
        if read_error or is_refused or not attempts:
            raise _build_outcome_unknown(call, outcome.job, read_error or outcome.reason, is_needed)
        attempts -= 1
        outcome = _try_again(call, outcome)
    return outcome


def _leaves_open(error: VirtinfraError) -> bool:
    """Return whether an error with which a call or its job ended says nothing about the outcome."""
    return isinstance(error, ApiError) and error.leaves_open


def _check(is_still_needed: Callable[[], bool | None]) -> tuple[bool | None, VirtinfraError | None]:
    """Return whether the call is still needed, or the error that prevented the check."""
    try:
        return is_still_needed(), None
    except VirtinfraError as error:
        return None, error


def _send(call: Call, is_still_needed: Callable[[], bool | None]) -> Done | Refused | InDoubt:
    """Send a call, with a new session if the service refuses it because the session has expired.

    Services report an expired session only in the job, so if the task does not wait for the job, the session is checked
    before the call. Before a harmful call is repeated, the object is checked again, because the job, the login and the
    waits between retries take time: raise VirtinfraError if it is another one now.
    """
    if not call.wait:
        call.client.sessions.validate()
    outcome = _send_once(call, is_still_needed)
    refusal = outcome.error if isinstance(outcome, Refused) else None
    if isinstance(refusal, ApiError) and call.client.renew_session(refusal, outcome.job.auth):
        if call.operation.is_harmful:
            is_still_needed()
        return _send_once(call._replace(job_uuid=None), is_still_needed)
    return outcome


def _send_once(call: Call, is_still_needed: Callable[[], bool | None]) -> Done | Refused | InDoubt:
    client, lost = call.limit_client(), None
    if call.operation.is_harmful:
        client.limits = client.limits._replace(before_retry=is_still_needed)
    jobs_before = len(client.jobs)
    try:
        client.start_job(call.planned.operation, call.planned.params, call.label, call.job_uuid)
    except ResponseLost as error:
        lost = error
    except JobUuidUsed as error:
        return Refused(client.jobs[-1], error)
    except (ApiError, Unsupported) as error:
        is_sent = len(client.jobs) > jobs_before
        if not (is_sent and _is_of_another_call(call, client, error)):
            if isinstance(error, Unsupported):
                raise
            return Refused(client.jobs[-1], error)
    return _follow_to_outcome(call, client.jobs[-1], lost)


def require_operation(client: Client, call: PlannedCall) -> bool:
    """Raise Unsupported if the service lacks the companion of a call, without making the call.

    The call is sent for an object that does not exist, so that it changes nothing. Raise ApiError if the account lacks
    the permission. Check mode only knows what an earlier task of the run has found out. Return whether a call was sent.
    """
    row = get_operation(call.operation)
    if client.options.read_only:
        if row.name in COMPANIONS and (lack := client.facts.get(row.name)):
            raise Unsupported(lack, operation=row.name)
    elif row.name in COMPANIONS and row.target_params:
        _probe(client, call, row)
        return True
    return False


def _probe(client: Client, call: PlannedCall, row: Operation) -> None:
    """Call an operation for an object that does not exist; raise Unsupported, or ApiError without the permission."""
    params = {**call.params, **{name: generate_uuid() for name in row.target_params}}
    client_of_probe = copy(client)
    client_of_probe.jobs = []  # Jobs of the task are shown to the user.
    probe = Call(client_of_probe, call._replace(params=params), "", True, client.wait.compute_deadline(), changes=False)
    try:
        outcome = _send(probe, lambda: None)
    except Unsupported as lack:
        remember_lack(client, row.name, lack)
        raise
    if isinstance(outcome, Refused) and is_account_refused(outcome.error):
        raise outcome.error


def remember_lack(client: Client, operation: str, lack: Unsupported) -> None:
    """Remember for check mode that the service lacks a companion, as a call has shown."""
    if operation in COMPANIONS:
        client.facts[operation] = lack.message


def _is_of_another_call(call: Call, client: Client, refusal: ApiError | Unsupported) -> bool:
    """Return whether a refusal is the response to another call, because the service knows the job of this one.

    An id that the user chose may be that of an earlier call. An overloaded service is not asked.
    """
    if call.job_uuid or (isinstance(refusal, ApiError) and refusal.transient):
        return False
    return bool(find_own_job(client, client.jobs[-1]))


def _is_bare_success(job: Job) -> bool:
    """Return whether the reply says only that the call succeeded, which may be the reply of a proxy."""
    return job.state == SUCCEEDED and not get_operation(job.operation).has_result(job.result)


def _confirm(call: Call, job: Job, is_still_needed: Callable[[], bool | None]) -> Done | Refused | InDoubt:
    """Confirm a call whose reply says only that it succeeded: by the object, or else by the job."""
    is_needed, read_error = _check(is_still_needed)
    if not (is_needed or read_error):
        return Done(job, is_seen=is_needed is False)
    reason = JobNotFound(job, f"{job.operation} returned no result ({job.result}), and the object has not changed")
    if not job_exists(call.client, job, call.deadline):
        return InDoubt(job, reason)
    return _follow_to_outcome(call, job)


def _conclude_performed(call: Call, job: Job) -> Done:
    """Return the outcome of a call whose response was lost, but which was performed, as the object shows."""
    job.state, job.failure = SUCCEEDED, None
    lost = ", ".join(map(to_snake_case, call.operation.extra_results))
    warning = f"{call.label}: {call.operation.name} succeeded, but its response was lost, and {lost} with it."
    return Done(job, (warning,) if lost else ())


def _try_again(call: Call, doubt: InDoubt) -> Done | InDoubt:
    """Send a call again if two calls have the effect of one, else poll its job for longer, unless that has ended."""
    try:
        if call.operation.effect.is_idempotent:
            return Done(_resend(call, doubt.job))
        if not _has_ended(doubt.job) and job_exists(
            call.client, doubt.job, call.deadline, call.client.connection.request_timeout
        ):
            return Done(_follow(call, doubt.job))
    except (ApiError, LoginFailed, ResponseLost, JobNotFound, Unsupported) as reason:
        return InDoubt(doubt.job, reason)
    return doubt


def _has_ended(job: Job) -> bool:
    """Return whether the service has answered for a job whose outcome is in doubt, so that its id is used up."""
    return job.state == FAILED


def _resend(call: Call, job: Job) -> Job:
    """Send a call again and return its job. Raise the error that leaves its outcome unknown.

    The job id is the same, unless its job has ended.
    """
    try:
        return _resend_with(call, None if _has_ended(job) else job.sent_uuid)
    except ApiError as failure:
        if not call.client.renew_session(failure, call.client.jobs[-1].auth):
            raise
    return _resend_with(call, None)


def _resend_with(call: Call, uuid: str | None) -> Job:
    client = call.limit_client()
    try:
        job = client.start_job(call.planned.operation, call.planned.params, call.label, uuid, is_resend=True)
    except ResponseLost as lost:
        return _follow(call, lost.job, lost)
    return _follow(call, job)


def _follow_to_outcome(call: Call, job: Job, lost: ResponseLost | None = None) -> Done | Refused | InDoubt:
    """Wait for the end of a job if the task has to, and return the outcome of its call."""
    try:
        return Done(_follow(call, job, lost))
    except ApiError as error:
        return InDoubt(job, error) if error.leaves_open else Refused(job, error)
    except (ResponseLost, JobNotFound) as reason:
        return InDoubt(job, reason)


def _follow(call: Call, job: Job, lost: ResponseLost | None = None) -> Job:
    """Wait for the end of a job if the task has to, and return the job.

    Raise its failure. Raise ``lost``, the error with which the response to the call was lost, when the service does not
    know the job.
    """
    if lost and not job_exists(call.client, job, call.deadline):
        raise lost
    client = call.limit_client()
    if not job.has_own_uuid and find_own_job(client, job) is None:
        other = job.uuid
        job.update(job.copy_as_sent(client.connection.path_prefix))
        raise ResponseLost(
            f"the response to {job.operation} names job {other}, which may be that of another call, and nothing shows"
            f" whether the service knows job {job.uuid}, whose id was sent"
        )
    _wait(call, job)
    if job.failure and not job.has_own_uuid and find_own_job(client, job):
        _wait(call, job)
    if job.failure:
        raise job.failure
    return job


def _wait(call: Call, job: Job) -> None:
    """Wait for the end of a job if the task has to."""
    if call.wait:
        try:
            wait_for_jobs(call.client, [job], call.deadline)
        except WaitTimeout as late:
            late.result["changed"] = call.changes
            raise


def confirm_result(call: Call, job: Job) -> None:
    """Poll the job of a call again whose result says that something is wrong: it may be that of another call."""
    poll_again(call.limit_client(), job)
    _wait(call, job)
    if job.failure:
        raise job.failure


def _build_outcome_unknown(call: Call, job: Job, reason: VirtinfraError, is_needed: bool | None) -> OutcomeUnknown:
    repeat = (
        "check the object before you repeat the call"
        if is_needed is None
        else "run the task again; it checks the object first"
    )
    if _has_ended(job):
        advice = f"{repeat[0].upper()}{repeat[1:]}"
    else:
        advice = (
            f"Check job {job.uuid} with job_info. If the service still does not know it after {STILL_ON_ITS_WAY}"
            f" minutes, {repeat}"
        )
    job.state = UNKNOWN
    return OutcomeUnknown(
        f"the outcome of {call.operation.name} is unknown: {reason.message.rstrip('.')}. {advice}.",
        job=job.build_handle(),
        changed=call.changes,
    )


def can_answer_second_delivery(error: VirtinfraError) -> bool:
    """Return whether an error may be the response to a proxy's second delivery of a call that was accepted.

    A service that identifies calls by their job ids accepts the call once, and repeats the response to the first
    delivery.
    """
    return isinstance(error, ApiError) and not error.is_of_own_job


def is_refused_as_duplicate(call: PlannedCall, error: VirtinfraError) -> bool:
    """Return whether the service may have refused a call because its effect already exists."""
    codes = get_operation(call.operation).effect.duplicate_codes
    return any(code in codes for code in list_error_codes(error.error)) and not call.params.get("force")


def is_refused_tag(call: PlannedCall, error: VirtinfraError) -> bool:
    """Return whether the service refused to add a user tag, maybe because another run, task or user has added it."""
    return call.operation == ADD_TAG and is_refused_as_duplicate(call, error)


def is_removed_by_another(call: PlannedCall, current: Current, error: VirtinfraError) -> bool:
    """Return whether the service refused to remove an object because another run, task or user has removed it."""
    return call.expected is None and isinstance(current, Missing) and NO_SUCH_OBJECT in list_error_codes(error.error)


def warn_of_second_delivery(call: PlannedCall, label: str, error: VirtinfraError) -> str:
    """Return the warning that a failed call may have been performed; empty if an object shows whether it was."""
    if not (can_answer_second_delivery(error) and is_refused_as_duplicate(call, error)):
        return ""
    return (
        f"{label}: {call.operation} may have been performed. If a proxy delivered the call twice, the service performed"
        " the first delivery and refused the second one. The service does not identify calls by their job ids, which"
        " would show that. Check the object."
    )


class Turn:
    """The turn of a task to make a call that other tasks of the run may make too."""

    def __init__(self, client: Client, operation: str) -> None:
        self._client, self._operation = client, operation
        self._lock: Lock | None = None

    @property
    def is_taken(self) -> bool:
        """Whether other tasks wait until this one ends its turn."""
        return self._lock is not None

    def take(self, key: str, label: str, deadline: float) -> bool:
        """Wait until no other task is making the call with this key; return whether one may have made it.

        Raise WaitTimeout when another task is still making it at the deadline. A module process, which shares no locks,
        does not wait for others.
        """
        lock = self._acquire_lock(key, label, deadline)
        if lock is None:
            return False
        self._lock = lock
        jobs = [Job(handle["uuid"], handle["location"], self._operation, label) for handle in lock.running]
        wait_for_jobs(self._client, jobs, deadline)
        lock.running = []
        return not lock.is_first

    def _acquire_lock(self, key: str, label: str, deadline: float) -> Lock | None:
        new_lock = self._client.hooks.new_lock
        lock = new_lock(self._client.connection, key) if new_lock else None
        if lock is None or lock.acquire():
            return lock
        for dummy in self._client.wait.poll_intervals(f"another task to create the {label}", deadline):
            if lock.acquire():
                return lock
        raise WaitTimeout(
            f"another task of this run is still creating the object after {self._client.wait.timeout:g} s. Run the task"
            " again, or increase wait_timeout."
        )

    def end(self) -> None:
        """Let the next task take its turn, with the jobs that still run."""
        if self._lock:
            jobs = [job for job in self._client.jobs if job.operation == self._operation]
            running = [job.build_handle() for job in jobs if job.state == RUNNING and job.location]
            self._lock.release([*self._lock.running, *running])
        self._lock = None


class CreationTurn:
    """The turn of a task to create its object."""

    def __init__(self, client: Client, resource: ResourceSpec) -> None:
        self._resource, self._new_lock = resource, client.hooks.new_lock
        self._turn = Turn(client, str(resource.create))
        self._is_over = False

    def is_due(self, call: PlannedCall) -> bool:
        """Return whether the task must take its turn before it makes a call."""
        is_creation = call.operation == self._resource.create
        return is_creation and self._new_lock is not None and not self._turn.is_taken and not self._is_over

    def take(self, call: PlannedCall, desired: Record, label: str, deadline: float) -> bool:
        """Wait until no other task of the run is creating the object; return whether one may have created it.

        Raise WaitTimeout when another task is still creating it at the deadline.
        """
        return self._turn.take(build_creation_key(self._resource, call.params, desired), label, deadline)

    def end(self) -> None:
        """Let the next task take its turn, because the object exists or the task has ended."""
        self._is_over = True
        self._turn.end()


def build_creation_key(resource: ResourceSpec, params: Mapping[str, Any], desired: Record) -> str:
    """Return the key of the lock that all tasks share which create the same object.

    It consists of the option by which the object is found, or else of the required parameters of the call. Tasks that
    create different objects can have the same key, for example for NICs of one VM.
    """
    found_by = resource.choose_key(desired)
    required = [name for name, row in get_operation(str(resource.create)).parameters.items() if row.required]
    values = {found_by: desired[found_by]} if found_by else {name: params.get(name) for name in required}
    return json.dumps([resource.create, *((name, normalize_address(str(value))) for name, value in values.items())])
