# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is PRIVATE to the collection. It can have breaking changes at any time.

"""Making a call exactly once, whatever happens to its answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible_collections.virtinfra.manager.plugins.module_utils._engine import Step
from ansible_collections.virtinfra.manager.plugins.module_utils._errors import (
    AnswerLost,
    ApiError,
    Failure,
    JobExpired,
    OutcomeUnknown,
    TransportError,
    WaitTimeout,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._jobs import RUNNING, SUCCEEDED, Job
from ansible_collections.virtinfra.manager.plugins.module_utils._operations import by_name
from ansible_collections.virtinfra.manager.plugins.module_utils._records import Record, snake
from ansible_collections.virtinfra.manager.plugins.module_utils._task import Context

TRIES = 3
_UUIDS = ("Uuid", "Uuids")


def carry_out(context: Context, step: Step, about: str, needed: Callable[[], bool | None] = lambda: None) -> Job:
    """Make a call exactly once and return its job; it has ended unless the task does not wait.

    When its answer is lost, the own job id tells what became of it. If the service does not know that, ``needed`` says
    whether the call is still to be made, None when nothing tells; unless it was made, it is sent again with the same
    id, if doing it twice is no more than doing it once. OutcomeUnknown is raised where nothing tells.
    """
    try:
        job = _once(context, step, about)
    except (AnswerLost, JobExpired) as lost:
        job = _found_out(context, step, about, lost, needed)
    context.changed = True
    context.done.append(step.operation)
    return job


def _once(context: Context, step: Step, about: str, job_uuid: str | None = None) -> Job:
    """Make a call and follow its job. Raises AnswerLost or JobExpired when it may or may not have been made."""
    try:
        job = context.client.start(step.operation, step.params, about, job_uuid)
    except AnswerLost as lost:
        job = lost.job
        if not context.client.knows(job):
            raise
    if not context.params["wait"]:
        if job.failure:
            raise job.failure
        return job
    try:
        context.client.finish(job)
    except WaitTimeout:
        context.changed = True
        raise
    except TransportError as error:
        raise JobExpired(job, str(error)) from None
    return job


def _found_out(
    context: Context,
    step: Step,
    about: str,
    lost: AnswerLost | JobExpired,
    needed: Callable[[], bool | None],
) -> Job:
    """Return the job of a call that may or may not have been made, after making it again if need be."""
    job: Job = lost.job
    trouble: Failure = lost
    left: bool | None = None
    for dummy in range(TRIES):
        try:
            left = needed()
        except Failure as why:
            trouble, left = why, True
            break
        if left is False:
            job.state, job.failure = SUCCEEDED, None
            if extra := ", ".join(map(snake, besides(step.operation))):
                context.warnings.append(f"{about}: {step.operation} was done, but {extra} was lost.")
            return job
        if left and isinstance(trouble, ApiError):
            raise trouble
        if isinstance(trouble, ApiError) or not by_name(step.operation).repeatable:
            break
        try:
            return _once(context, step, about, job.uuid)
        except (ApiError, JobExpired, TransportError) as error:
            trouble = error
    context.changed = True
    advice = "Run the task again: it looks first" if left else "Look at what it is about before you call it again"
    raise OutcomeUnknown(f"the outcome of {step.operation} is unknown: {trouble.message}. {advice}", job=job.handle())


def besides(operation: str) -> list[str]:
    """Return the members of an operation's reply that tell more than the record."""
    return [name for name in by_name(operation).result if name != "inventory"]


def unfinished(job: Job) -> Record:
    """Return the member of the result that tells of a job that was not waited for."""
    return {"job": job.handle()} if job.state == RUNNING else {}


def called(params: Record, noun: str = "") -> str:
    """Return what a call is about: the name of the object, or else the uuids of what it belongs to."""
    if name := next(filter(None, (params.get(key) for key in ("name", "managementIp", "uuid"))), None):
        return f"{noun} {name}".lstrip()
    owners = ", ".join(f"{snake(key)} {_some(params[key])}" for key in params if params[key] and key.endswith(_UUIDS))
    return f"{noun} of {owners}" if noun and owners else noun or owners


def _some(value: Any) -> str:
    """Return a value, or the first of several and how many more there are."""
    several = isinstance(value, list) and len(value) > 1
    return f"{value[0]} and {len(value) - 1} more" if several else str(value[0] if isinstance(value, list) else value)
