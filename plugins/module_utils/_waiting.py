# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is PRIVATE to the collection. It can have breaking changes at any time.

"""Waiting for jobs, and finding out whether the service has a job."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from ansible_collections.virtinfra.manager.plugins.module_utils._client import Client
from ansible_collections.virtinfra.manager.plugins.module_utils._errors import TransportError, WaitTimeout
from ansible_collections.virtinfra.manager.plugins.module_utils._jobs import RUNNING, UNKNOWN, Job

# For how many seconds a call whose response was lost is looked for by its job.
JOB_LOOKUP_GRACE = 2.0


def wait_for_job(client: Client, job: Job) -> dict[str, Any]:
    """Wait until a job has ended and return its result. Raise its failure, or WaitTimeout."""
    wait_for_jobs(client, [job])
    if job.failure:
        raise job.failure
    return job.result


def wait_for_jobs(client: Client, jobs: Iterable[Job], deadline: float | None = None) -> None:
    """Wait until all jobs have ended. Only the oldest is polled; the others when it has ended or at the deadline.

    ``deadline`` is that of the task, if it has begun to wait before. An inconclusive response never ends the waiting.
    Raise WaitTimeout when a job has not ended by the deadline.
    """
    running = [job for job in jobs if job.state == RUNNING]
    if not running:
        return
    last_error: TransportError | None = None
    first = running[0]
    label = " ".join(filter(None, (first.operation or "job", first.label, f"(job {first.uuid})")))
    label = label if len(running) == 1 else f"{len(running)} jobs, the first {label}"
    deadline = client.wait.deadline() if deadline is None else deadline
    poll = client.until(deadline).poll
    for dummy in client.wait.poll_intervals(label, deadline):
        try:
            if poll(running[0]):
                client.map_concurrently(poll, running[1:])
            last_error = None
        except TransportError as error:
            last_error = error
        running = [job for job in running if job.state == RUNNING]
        if not running:
            return
    if last_error is None:
        with suppress(TransportError):
            client.map_concurrently(poll, running[1:])
    first, others = running[0], sum(job.state == RUNNING for job in running[1:])
    state = "has no result" if last_error else "is still running"
    more = f" (and {others} more jobs)" if others else ""
    reason = f" The last poll failed: {last_error}." if last_error else ""
    raise WaitTimeout(
        f"{first.operation or 'The operation'} {state} after {client.wait.timeout:g} s of waiting{more}."
        f" Continue with job_wait, job {first.uuid}.{reason}",
        job=first.handle(),
    )


def job_exists(client: Client, job: Job, deadline: float, seconds: float = JOB_LOOKUP_GRACE) -> bool:
    """Whether the service took a call whose response was lost; polls for some seconds: it may still be on its way."""
    for elapsed in client.wait.poll_intervals(f"the job of {job.operation}", deadline):
        job.state, job.failure = RUNNING, None
        try:
            client.until(deadline).poll(job)
        except TransportError:
            job.state = UNKNOWN
        if job.state != UNKNOWN:
            return True
        if elapsed > seconds:
            break
    job.failure = None
    return False
