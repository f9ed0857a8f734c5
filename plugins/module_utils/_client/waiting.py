"""Wait for jobs and for values of records, and look up the jobs of calls whose response was lost."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from .._api.errors import SERVER_ERROR, ApiError, TransportError, VirtinfraError, WaitTimeout
from .._http.adapter import MAX_CONNECTIONS
from .client import Client
from .jobs import BACKOFF_RATIO, FAILED, RUNNING, SHORTEST_INTERVAL, UNKNOWN, Job
from .replies import INCONCLUSIVE_STATUSES

Value = TypeVar("Value")

# The time, in seconds, for which the job of a call whose response was lost is looked up.
JOB_LOOKUP_GRACE = 2.0

# The growth of the elapsed time after which it is looked up again: a job that is found is polled as often as others.
LOOKUP_RATIO = 0.5

# How often a job that failed is polled again, to confirm it.
MAX_REPEATED_POLLS = 3

# The conditions that end a wait for several jobs.
ALL, ANY = "all", "any"

# While waiting for any of several jobs, every job is polled once in this number of rounds.
ROUNDS_FOR_ANY = 8

# How many jobs are polled at the same time at least.
MIN_POLLS_AT_ONCE = 2

# The time, in seconds, that this process works for a poll, about.
POLL_WORK_SECONDS = 0.001

# A small batch of jobs is polled less often than one job, so that it needs at most four polls per job too.
MAX_BATCH_RATIO = 0.15
BATCH_RATIO_BY_JOB = 1.5


def read_until(
    client: Client,
    label: str,
    deadline: float,
    value: Value,
    read: Callable[[Client], Value],
    is_final: Callable[[Value], bool],
) -> tuple[Value, str]:
    """Read again until a value is final or the deadline, at least once; return the last value that was read.

    Failures that may be temporary do not end the wait, unless the service asks to wait until after the deadline. The
    second part of the result is a sentence about the failure of the last read, with a space before it; it is empty if
    that read succeeded. ``value`` is the value before the wait.
    """
    limited, problem = client.with_deadline(deadline), ""
    for dummy in client.wait.poll_intervals(label, deadline):
        try:
            value, problem = read(limited), ""
        except (ApiError, TransportError) as error:
            if not error.transient:
                raise
            problem = f" The last read failed: {error.message.rstrip('.')}."
            if asks_to_wait_longer(client, error, deadline):
                break
        if not problem and is_final(value):
            break
    return value, problem


def wait_for_job(client: Client, job: Job) -> dict[str, Any]:
    """Wait until a job has ended and return its result. Raise its failure, or WaitTimeout."""
    wait_for_jobs(client, [job])
    if job.failure:
        raise job.failure
    return job.result


def wait_for_jobs(client: Client, jobs: Iterable[Job], deadline: float | None = None, wait_for: str = ALL) -> None:
    """Wait until all jobs have ended, or any of them.

    ``deadline`` is that of the task, if it has already waited for something. An inconclusive response ends the wait
    only if it asks to wait until after the deadline. Raise WaitTimeout when the jobs have not ended by the deadline.
    """
    batch = JobBatch(client, jobs, client.wait.compute_deadline() if deadline is None else deadline, wait_for)
    if batch.has_ended:
        return
    last_error = batch.poll_until_deadline()
    if last_error is None and not batch.has_ended:
        batch.poll_others()
    if not batch.has_ended:
        raise batch.build_timeout(last_error)


class JobBatch:
    """The jobs of one wait, which ends with all of them or with any of them."""

    def __init__(self, client: Client, jobs: Iterable[Job], deadline: float, wait_for: str) -> None:
        self._client, self._limited = client, client.with_deadline(deadline)
        self._deadline, self._waits_for_any = deadline, wait_for == ANY
        self._running = [job for job in jobs if job.state == RUNNING]
        self._count = len(self._running)
        # The duration of a poll, the shortest that was measured.
        self._poll_seconds = math.inf

    @property
    def has_ended(self) -> bool:
        """Whether nothing is left to wait for."""
        return not self._running or (self._waits_for_any and len(self._running) < self._count)

    def poll_until_deadline(self) -> TransportError | None:
        """Poll until the wait has ended or the deadline; return the error of the last poll if it was inconclusive."""
        waits = self._client.hooks.waits
        if waits and not self._waits_for_any:
            last_error = waits.wait(self._limited, self._running, self._deadline)
            self._drop_ended()
            return last_error
        ratio = _choose_ratio(self._count, self._waits_for_any)
        last_error = None
        intervals = self._client.wait.poll_intervals(self._describe(), self._deadline, ratio, lambda: last_error)
        for number, dummy in enumerate(intervals):
            last_error = self._poll_round(number)
            if self.has_ended or (last_error and asks_to_wait_longer(self._client, last_error, self._deadline)):
                break
        return last_error

    def poll_others(self) -> None:
        """Poll once the jobs of which the last round has not polled all."""
        with suppress(TransportError):
            self._poll(self._running if self._waits_for_any else self._running[1:])
        self._drop_ended()

    def build_timeout(self, last_error: TransportError | None) -> WaitTimeout:
        """Return the error that jobs have not ended, with the error of the last poll."""
        first, others = self._running[0], len(self._running) - 1
        state = "has no result" if last_error else "is still running"
        more = f" (and {others} more jobs)" if others else ""
        reason = f" The last poll failed: {str(last_error).rstrip('.')}." if last_error else ""
        return WaitTimeout(
            f"{first.operation or 'The operation'} {state} after {self._client.wait.format_elapsed(self._deadline)} s"
            f"{more}. Continue with job_wait, job {first.uuid}.{reason}",
            job=first.build_handle(),
        )

    def _describe(self) -> str:
        """Describe the jobs in lines of progress."""
        first = self._running[0]
        label = " ".join(filter(None, (first.operation or "job", first.label, f"(job {first.uuid})")))
        return label if self._count == 1 else f"{self._count} jobs, the first {label}"

    def _poll_round(self, number: int) -> TransportError | None:
        """Poll some of the running jobs; return the error of a poll that was inconclusive."""
        error = None
        try:
            if self._waits_for_any:
                self._poll_in_turn(number)
            else:
                self._poll_in_order()
        except TransportError as inconclusive:
            error = inconclusive
        self._drop_ended()
        return error

    def _poll_in_order(self) -> None:
        """Poll the oldest job; when it has ended the next one, then the next two, four, ... until one is running.

        Each job is polled once after its end, and rarely before.
        """
        done, jobs = 0, self._running
        while done < len(jobs) and self._poll_ended(jobs[done : 2 * done + 1]):
            done = 2 * done + 1

    def _poll_ended(self, jobs: list[Job]) -> bool:
        """Poll jobs, but no more after the first that is running; return whether all have ended.

        Jobs that were started later are usually running, too.
        """
        running: list[Job] = []

        def poll(job: Job) -> None:
            if not (running or poll_job(self._limited, job)):
                running.append(job)

        connections, begin = self._count_connections(len(jobs)), self._client.hooks.clock.monotonic()
        self._client.map_concurrently(poll, jobs, connections)
        if len(jobs) == 1 or not running:
            seconds = self._client.hooks.clock.monotonic() - begin
            self._poll_seconds = min(self._poll_seconds, seconds * min(connections, len(jobs)) / len(jobs))
        return not running

    def _count_connections(self, polls: int) -> int:
        """Return over how many connections so many polls take no longer than the shortest pause, or 1 ms each.

        More connections for quick polls would save no time, because one process does the work of all.
        It is a power of two, because the client keeps the threads of each number.
        """
        accepted = max(SHORTEST_INTERVAL, polls * POLL_WORK_SECONDS)
        needed = min(MAX_CONNECTIONS, max(MIN_POLLS_AT_ONCE, polls * self._poll_seconds / accepted))
        return 1 << (math.ceil(needed) - 1).bit_length()

    def _poll_in_turn(self, number: int) -> None:
        """Poll the jobs of this round; when one of them has ended, poll all others too."""
        rounds = min(ROUNDS_FOR_ANY, len(self._running))
        turn = self._running[number % rounds :: rounds]
        if any(self._poll(turn)):
            self._poll([job for job in self._running if job not in turn])

    def _poll(self, jobs: list[Job]) -> list[bool]:
        """Poll jobs concurrently; return which have ended."""
        return self._client.map_concurrently(partial(poll_job, self._limited), jobs)

    def _drop_ended(self) -> None:
        """Stop waiting for the jobs that have ended."""
        self._running = [job for job in self._running if job.state == RUNNING]


def _choose_ratio(count: int, waits_for_any: bool) -> float:
    """Return the growth of the elapsed time after which this number of jobs is polled again."""
    if count == 1:
        return BACKOFF_RATIO
    return MAX_BATCH_RATIO if waits_for_any else max(BACKOFF_RATIO, min(MAX_BATCH_RATIO, BATCH_RATIO_BY_JOB / count))


def poll_job(client: Client, job: Job) -> bool:
    """Poll a job and return whether it has ended; poll it again if it failed.

    A proxy may return the response to a poll of another job. Raise TransportError when the response proves nothing.
    """
    client.poll(job)
    if job.state == FAILED:
        poll_again(client, job)
    return job.state != RUNNING


def poll_again(client: Client, job: Job) -> None:
    """Poll a job that has ended until two responses in a row are the same, and take the last one.

    A response that proves nothing, or that says that the service does not know the job any more, changes nothing.
    """
    for dummy in range(MAX_REPEATED_POLLS):
        again = job.copy_pending()
        try:
            client.poll(again)
        except TransportError:
            return
        if again.state == UNKNOWN:
            return
        is_same = again.outcome == job.outcome
        job.update(again)
        if is_same or job.state == RUNNING:
            return


def find_own_job(client: Client, job: Job) -> bool | None:
    """Return whether the service knows the job with the id that was sent with a call, and if so, take its state.

    A response that names another job may be the response to another call, and so may a poll: two polls must find the
    job. The polling address in the response stands if the service answers the poll with a page or a refusal. Return
    None if nothing shows which is right, because no response arrives or the service is overloaded.
    """
    for dummy in range(2):
        sent_job = job.copy_as_sent(client.connection.path_prefix)
        try:
            poll_job(client, sent_job)
        except TransportError as error:
            is_answer = error.status and error.status not in INCONCLUSIVE_STATUSES and error.status < SERVER_ERROR
            return False if is_answer or not error.transient else None
        if sent_job.state == UNKNOWN:
            return False
    job.update(sent_job)
    return True


def asks_to_wait_longer(client: Client, error: VirtinfraError, deadline: float) -> bool:
    """Return whether an overloaded service asks to wait until after the deadline, so that the task must end."""
    return error.retry_after > 0 and client.hooks.clock.monotonic() + error.retry_after > deadline


def job_exists(client: Client, job: Job, deadline: float, seconds: float = JOB_LOOKUP_GRACE) -> bool:
    """Return whether the service knows the job of a lost response. Poll for some seconds: the call may arrive late."""
    for elapsed in client.wait.poll_intervals(f"the job of {job.operation}", deadline, LOOKUP_RATIO):
        job.state, job.failure = RUNNING, None
        try:
            poll_job(client.with_deadline(deadline), job)
        except TransportError as error:
            job.state = UNKNOWN
            if asks_to_wait_longer(client, error, deadline):
                break
        if job.state != UNKNOWN:
            return True
        if elapsed > seconds:
            break
    job.failure = None
    return False
