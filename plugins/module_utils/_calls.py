# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is PRIVATE to the collection. It can have breaking changes at any time.

"""Making a call exactly once, whatever happens to its answer."""

from __future__ import annotations

from collections.abc import Callable

from ansible_collections.virtinfra.manager.plugins.module_utils._engine import Step
from ansible_collections.virtinfra.manager.plugins.module_utils._errors import (
    AnswerLost,
    ApiError,
    JobExpired,
    OutcomeUnknown,
    WaitTimeout,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._jobs import RUNNING, SUCCEEDED, Job
from ansible_collections.virtinfra.manager.plugins.module_utils._operations import by_name
from ansible_collections.virtinfra.manager.plugins.module_utils._records import Record
from ansible_collections.virtinfra.manager.plugins.module_utils._task import Context

TRIES = 3


def carry_out(context: Context, step: Step, about: str, needed: Callable[[], bool] = lambda: True) -> Job:
    """Make a call exactly once and return its job; it has ended unless the task does not wait.

    When its answer is lost, the own job id tells what became of it. If the service does not know that, ``needed`` says
    whether the call is still to be made; then it is sent again with the same id, unless it might make a second object.
    OutcomeUnknown is raised where nothing tells.
    """
    lost: AnswerLost | JobExpired | None = None
    for dummy in range(TRIES):
        try:
            return _once(context, step, about, lost.job.uuid if lost else None)
        except (AnswerLost, JobExpired) as error:
            lost = error
        except ApiError:
            if lost is None or needed():
                raise
            break
        if not needed():
            break
        if not by_name(step.operation).repeatable:
            raise _unknown(step, lost)
    else:
        assert lost is not None
        raise _unknown(step, lost)
    context.changed = True
    context.done.append(step.operation)
    return Job(lost.job.uuid, lost.job.location, step.operation, about, SUCCEEDED)


def _once(context: Context, step: Step, about: str, job_uuid: str | None) -> Job:
    try:
        job = context.client.start(step.operation, step.params, about, job_uuid)
    except AnswerLost as lost:
        job = lost.job
        if not context.client.knows(job):
            raise
    if context.params["wait"]:
        try:
            context.client.finish(job)
        except WaitTimeout:
            context.changed = True
            raise
    elif job.failure:
        raise job.failure
    context.changed = True
    context.done.append(step.operation)
    return job


def _unknown(step: Step, lost: AnswerLost | JobExpired) -> OutcomeUnknown:
    return OutcomeUnknown(
        f"the outcome of {step.operation} is unknown: {lost.message}. Run the task again: it looks first",
        job=lost.job.handle(),
        changed=True,
    )


def unfinished(job: Job) -> Record:
    """Return the member of the result that tells of a job that was not waited for."""
    return {"job": job.handle()} if job.state == RUNNING else {}
