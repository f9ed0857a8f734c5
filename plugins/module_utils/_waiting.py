# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is PRIVATE to the collection. It can have breaking changes at any time.

"""Wait for jobs, and find out whether the service knows a job."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import Any

from ansible_collections.virtinfra.manager.plugins.module_utils._client import Client
from ansible_collections.virtinfra.manager.plugins.module_utils._errors import (
    TransportError,
    VirtinfraError,
    WaitTimeout,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._jobs import (
    BACKOFF_RATIO,
    FAILED,
    RUNNING,
    UNKNOWN,
    Job,
)

# For how many seconds the job of a call whose response was lost is looked up.
JOB_LOOKUP_GRACE = 2.0

# How often a job that failed is polled again, to confirm it.
MAX_REPEATED_POLLS = 3

# The conditions that end a wait for several jobs.
ALL, ANY = "all", "any"

# While waiting for any of several jobs, each is polled once in so many rounds.
ROUNDS_FOR_ANY = 8

# A small batch of jobs is polled less often than one job, so that it needs at most four polls per job too.
MAX_BATCH_RATIO = 0.15
BATCH_RATIO_BY_JOB = 1.5


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
    running = [job for job in jobs if job.state == RUNNING]
    if not running:
        return
    last_error: TransportError | None = None
    first, count = running[0], len(running)
    label = " ".join(filter(None, (first.operation or "job", first.label, f"(job {first.uuid})")))
    label = label if count == 1 else f"{count} jobs, the first {label}"
    deadline = client.wait.deadline() if deadline is None else deadline
    poll = partial(poll_job, client.until(deadline))
    for number, dummy in enumerate(client.wait.poll_intervals(label, deadline, _ratio(count, wait_for))):
        try:
            if wait_for == ANY:
                _poll_in_turn(client, poll, running, number)
            else:
                _poll_in_order(client, poll, running)
            last_error = None
        except TransportError as error:
            last_error = error
            if asks_to_wait_longer(client, error, deadline):
                break
        running = [job for job in running if job.state == RUNNING]
        if not running or (wait_for == ANY and len(running) < count):
            return
    if last_error is None:
        with suppress(TransportError):
            client.map_concurrently(poll, running if wait_for == ANY else running[1:])
        running = [job for job in running if job.state == RUNNING]
        if not running or (wait_for == ANY and len(running) < count):
            return
    first, others = running[0], len(running) - 1
    state = "has no result" if last_error else "is still running"
    more = f" (and {others} more jobs)" if others else ""
    reason = f" The last poll failed: {str(last_error).rstrip('.')}." if last_error else ""
    raise WaitTimeout(
        f"{first.operation or 'The operation'} {state} after {client.wait.waited(deadline)} s of waiting{more}."
        f" Continue with job_wait, job {first.uuid}.{reason}",
        job=first.handle(),
    )


def poll_job(client: Client, job: Job) -> bool:
    """Poll a job and return whether it has ended; poll it again if it failed.

    A proxy may give the response to the poll of another job. Raise TransportError when the response proves nothing.
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
        again = job.pending()
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
    job. Return None if nothing shows which is right.
    """
    for dummy in range(2):
        own = job.as_sent(client.connection.path_prefix)
        try:
            poll_job(client, own)
        except TransportError:
            return None
        if own.state == UNKNOWN:
            return False
    job.update(own)
    return True


def asks_to_wait_longer(client: Client, error: VirtinfraError, deadline: float) -> bool:
    """Return whether an overloaded service asks to wait until after the deadline of the task, so that it must end."""
    return error.retry_after > 0 and client.clock.monotonic() + error.retry_after > deadline


def _ratio(jobs: int, wait_for: str) -> float:
    """Return the growth of the elapsed time after which this number of jobs is polled again."""
    if jobs == 1:
        return BACKOFF_RATIO
    return MAX_BATCH_RATIO if wait_for == ANY else max(BACKOFF_RATIO, min(MAX_BATCH_RATIO, BATCH_RATIO_BY_JOB / jobs))


def _poll_in_order(client: Client, poll: Callable[[Job], bool], jobs: list[Job]) -> None:
    """Poll the oldest job; when it has ended the next one, then the next two, four, ... until one is running.

    This polls each job once after its end, and rarely before.
    """
    done = 0
    while done < len(jobs) and all(client.map_concurrently(poll, jobs[done : 2 * done + 1])):
        done = 2 * done + 1


def _poll_in_turn(client: Client, poll: Callable[[Job], bool], jobs: list[Job], number: int) -> None:
    """Poll the jobs of this round; when one of them has ended, poll all others too."""
    rounds = min(ROUNDS_FOR_ANY, len(jobs))
    turn = jobs[number % rounds :: rounds]
    if any(client.map_concurrently(poll, turn)):
        client.map_concurrently(poll, [job for job in jobs if job not in turn])


def job_exists(client: Client, job: Job, deadline: float, seconds: float = JOB_LOOKUP_GRACE) -> bool:
    """Return whether the service knows the job of a lost response. Poll for some seconds: the call may arrive late."""
    for elapsed in client.wait.poll_intervals(f"the job of {job.operation}", deadline):
        job.state, job.failure = RUNNING, None
        try:
            poll_job(client.until(deadline), job)
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
