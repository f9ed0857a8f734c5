# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is PRIVATE to the collection. It can have breaking changes at any time.

"""The tasks that take up jobs again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.virtinfra.manager.plugins.module_utils._client import Client
from ansible_collections.virtinfra.manager.plugins.module_utils._errors import BadInput, SeveralFailed, WaitTimeout
from ansible_collections.virtinfra.manager.plugins.module_utils._jobs import SUCCEEDED, Job, polling_path
from ansible_collections.virtinfra.manager.plugins.module_utils._operations import OPERATIONS
from ansible_collections.virtinfra.manager.plugins.module_utils._options import JOB_HANDLES, TIMES
from ansible_collections.virtinfra.manager.plugins.module_utils._records import Record, mask_webhooks
from ansible_collections.virtinfra.manager.plugins.module_utils._task import Context, Task


def job_task(wait: bool) -> Task:
    """Return the task that waits for jobs, or only looks at them."""

    def run(context: Context) -> dict[str, Any]:
        client = context.client
        jobs = [taken_up(client, handle) for handle in context.params["jobs"]]
        if not wait:
            client.each(client.poll, jobs)
            return {"jobs": [told(job) for job in jobs]}
        try:
            client.finish_all(jobs)
        except WaitTimeout as late:
            late.facts = {"jobs": [told(job) for job in jobs]}
            raise
        if failures := [job.failure for job in jobs if job.failure]:
            raise SeveralFailed(
                f"{len(failures)} of {len(jobs)} jobs did not succeed, the first: {failures[0]}",
                failures[0],
                jobs=[told(job) for job in jobs],
            )
        return {"jobs": [told(job) for job in jobs]}

    return Task(run, JOB_HANDLES, shared=(TIMES,) if wait else ())


def taken_up(client: Client, handle: Mapping[str, Any]) -> Job:
    """Return the job that a handle stands for; BadInput when it names none."""
    path = polling_path(handle.get("location"))
    if path is None and handle.get("location") and not handle.get("uuid"):
        raise BadInput(f"{handle['location']!r} is no polling address")
    if path is None and not handle.get("uuid"):
        raise BadInput("each of the jobs needs a uuid or a location")
    uuid = handle.get("uuid") or str(path).rpartition("/")[2]
    return Job(uuid, path or client.polling_path(uuid), handle.get("operation") or "")


def told(job: Job) -> Record:
    """Return a job as it is in the result: ``msg`` and ``error`` are those of a failed task."""
    record_type = OPERATIONS[job.operation].record if job.operation in OPERATIONS else ""
    result = {"result": mask_webhooks(job.result, record_type)} if job.state == SUCCEEDED else {}
    failure = {"msg": str(job.failure), "error": job.failure.error} if job.failure else {}
    return {**job.handle(), **result, **failure}
