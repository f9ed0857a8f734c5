# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is PRIVATE to the collection. It can have breaking changes at any time.

"""The modules job_wait and job_info."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from ansible_collections.virtinfra.manager.plugins.module_utils._client import Client
from ansible_collections.virtinfra.manager.plugins.module_utils._errors import (
    InvalidOptions,
    SeveralFailed,
    WaitTimeout,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._jobs import (
    FAILED,
    RUNNING,
    SUCCEEDED,
    UNKNOWN,
    Job,
    job_path,
    polling_path,
    predicted_job,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._modules import ModuleContext, ModuleSpec
from ansible_collections.virtinfra.manager.plugins.module_utils._operations import OPERATIONS
from ansible_collections.virtinfra.manager.plugins.module_utils._options import JOB_HANDLES, WAIT_LIMITS, Options
from ansible_collections.virtinfra.manager.plugins.module_utils._records import Record, mask_webhooks
from ansible_collections.virtinfra.manager.plugins.module_utils._terminal import escape_controls
from ansible_collections.virtinfra.manager.plugins.module_utils._waiting import ALL, ANY, poll_job, wait_for_jobs

WAIT_FOR: Options = {**JOB_HANDLES, "wait_for": {"type": "str", "choices": [ALL, ANY], "default": ALL}}


def job_module(wait: bool) -> ModuleSpec:
    """Return the module that waits for jobs, or the one that only reads their states."""

    def run(context: ModuleContext) -> dict[str, Any]:
        client = context.client
        jobs = [job_from_handle(client, handle, context.check_mode) for handle in context.params["jobs"]]
        if not wait:
            client.map_concurrently(partial(poll_job, client), [job for job in jobs if job.state == RUNNING])
            return jobs_to_result(jobs)
        try:
            wait_for_jobs(client, jobs, wait_for=context.params["wait_for"])
        except WaitTimeout as late:
            late.result = jobs_to_result(jobs)
            raise
        if failures := [job.failure for job in jobs if job.failure]:
            count = f"{len(failures)} of {len(jobs)} jobs did not succeed, the first: " if len(jobs) > 1 else ""
            raise SeveralFailed(f"{count}{failures[0]}", failures[0], **jobs_to_result(jobs))
        return jobs_to_result(jobs)

    return ModuleSpec(run, WAIT_FOR if wait else JOB_HANDLES, shared_options=(WAIT_LIMITS,) if wait else ())


def jobs_to_result(jobs: list[Job]) -> Record:
    """Return the jobs in the form of the result, and the number of jobs in each state."""
    summary = {state: sum(job.state == state for job in jobs) for state in (SUCCEEDED, FAILED, RUNNING, UNKNOWN)}
    return {"jobs": [job_to_result(job) for job in jobs], "summary": summary}


def job_from_handle(client: Client, handle: Mapping[str, Any], check_mode: bool = False) -> Job:
    """Return the job of a handle, which check mode may have predicted. Raise InvalidOptions for an invalid handle."""
    path = polling_path(handle.get("location"))
    if path is None and handle.get("location") and not handle.get("uuid"):
        raise InvalidOptions(f"location {handle['location']!r} is not the address of a job")
    if path is None and not handle.get("uuid"):
        if check_mode:
            return predicted_job(handle.get("operation") or "")
        raise InvalidOptions("each item of jobs needs a uuid or a location")
    uuid = handle.get("uuid") or str(path).rpartition("/")[2]
    return Job(uuid, path or job_path(uuid, client.connection.path_prefix), handle.get("operation") or "")


def job_to_result(job: Job) -> Record:
    """Return a job in the form of the result; ``msg`` and ``error`` are like those of a failed task."""
    record_type = OPERATIONS[job.operation].record if job.operation in OPERATIONS else ""
    result = {"result": mask_webhooks(job.result, record_type)} if job.state == SUCCEEDED else {}
    failure = {"msg": escape_controls(str(job.failure)), "error": job.failure.error} if job.failure else {}
    return {**job.handle(), **result, **failure}
