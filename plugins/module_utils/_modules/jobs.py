"""The modules that wait for jobs or read their states, and the forms of jobs in options and results."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Any

from .._api.errors import ApiError, InvalidOptions, SeveralFailed, WaitTimeout
from .._api.operation import list_failed_items
from .._api.operations import OPERATIONS
from .._api.records import Record, mask_webhooks
from .._api.references import is_name, unify_uuid
from .._client.client import Client
from .._client.jobs import (
    FAILED,
    RUNNING,
    SUCCEEDED,
    UNKNOWN,
    Job,
    extract_last_segment,
    format_job_path,
    parse_polling_path,
    predict_job,
)
from .._client.waiting import ALL, ANY, poll_job, wait_for_jobs
from .._engine.context import ModuleContext
from .._masking.terminal import escape_controls
from .options import JOB_HANDLES, WAIT_LIMITS, Options
from .spec import ModuleSpec

# How many failed jobs the message of a task names.
MAX_FAILED_JOBS = 10

WAIT_FOR: Options = {**JOB_HANDLES, "wait_for": {"type": "str", "choices": [ALL, ANY], "default": ALL}}


def job_module(wait: bool) -> ModuleSpec:
    """Return the module that waits for jobs, or the one that only reads their states."""

    def run(context: ModuleContext) -> dict[str, Any]:
        client = context.client
        handles = filter(None, map(extract_handle, context.params["jobs"]))
        jobs = [build_job(client, handle, context.check_mode) for handle in handles]
        if not wait:
            client.map_concurrently(partial(poll_job, client), [job for job in jobs if job.state == RUNNING])
            _fail_with_items(jobs)
            return format_jobs(jobs)
        try:
            wait_for_jobs(client, jobs, wait_for=context.params["wait_for"])
        except WaitTimeout as late:
            late.result = format_jobs(jobs)
            raise
        _fail_with_items(jobs)
        if any(job.failure for job in jobs):
            raise _describe_failed_jobs(jobs)
        return format_jobs(jobs)

    return ModuleSpec(run, WAIT_FOR if wait else JOB_HANDLES, shared_options=(WAIT_LIMITS,) if wait else ())


def _fail_with_items(jobs: list[Job]) -> None:
    """Count the jobs that succeeded, but failed for some of the objects of their calls, as failed."""
    for job in jobs:
        if job.state == SUCCEEDED and (failure := find_item_failure(job)):
            job.state, job.failure = FAILED, failure


def find_item_failure(job: Job) -> SeveralFailed | None:
    """Return the failure of a job that succeeded, but failed for some of the objects of its call; None without any."""
    failed, count = list_failed_items(job.result)
    if not failed:
        return None
    error = failed[0].get("error")
    details = error if isinstance(error, Mapping) else {"details": str(error or "the service gives no reason")}
    first = ApiError(job.operation or "the operation", 200, details)
    return SeveralFailed(
        f"{len(failed)} of {count} items failed, the first: {first}", first.error, changed=len(failed) < count
    )


def _describe_failed_jobs(jobs: list[Job]) -> SeveralFailed:
    """Return the failure of a task that waited for jobs: why each failed one did, and the states of the others.

    Ansible shows the result of a failed task, so it contains no replies of jobs that succeeded.
    """
    states = format_jobs(jobs)
    failures = [job.failure for job in jobs if job.failure]
    reasons = [str(failure) for failure in failures[:MAX_FAILED_JOBS]]
    count = f"{len(failures)} of {len(jobs)} jobs did not succeed: " if len(jobs) > 1 else ""
    more = f" And {len(failures) - len(reasons)} more." if len(failures) > len(reasons) else ""
    for job in states["jobs"]:
        job.pop("result", None)
    message = reasons[0] if len(jobs) == 1 else " ".join(f"{reason.rstrip('.')}." for reason in reasons)
    return SeveralFailed(f"{count}{message}{more}", failures[0].error, **states)


def format_jobs(jobs: list[Job]) -> Record:
    """Return the jobs in the form of the result, and the number of jobs by state."""
    summary = {state: sum(job.state == state for job in jobs) for state in (SUCCEEDED, FAILED, RUNNING, UNKNOWN)}
    return {"jobs": [format_job(job) for job in jobs], "summary": summary}


def extract_handle(item: Any) -> Mapping[str, Any] | None:
    """Return the handle in an item of the option ``jobs``: a uuid, a handle, or the result of a task.

    Return None for the result of a task that started no job. Raise InvalidOptions for anything else.
    """
    if isinstance(item, str):
        if is_name(unify_uuid(item)):
            raise InvalidOptions(_describe_other_text(item))
        return {"uuid": item}
    if isinstance(item, Mapping) and "ansible_job_id" in item:
        raise InvalidOptions(
            "an item of jobs is the result of a task with async, which is no job of the service. Wait for it with"
            " ansible.builtin.async_status"
        )
    if isinstance(item, Mapping) and _is_of_loop(item.get("results")):
        raise InvalidOptions(
            "an item of jobs is the result of a loop or a batch. Pass its results, for example started.results"
        )
    if isinstance(item, Mapping) and isinstance(item.get("job"), Mapping):
        item = item["job"]
    elif isinstance(item, Mapping) and "changed" in item:
        return None
    members = (
        [item.get(name) for name in ("uuid", "job_uuid", "location", "operation", "object")]
        if isinstance(item, Mapping)
        else [item]
    )
    if not all(member is None or isinstance(member, str) for member in members) or item is None:
        raise InvalidOptions(
            "each item of jobs must be the uuid of a job, the job of an earlier task, or the result of a task. Pass for"
            " example started.job or started.results"
        )
    _require_job(item)
    return dict(item)


def _require_job(handle: Mapping[str, Any]) -> None:
    """Raise InvalidOptions for a record, and for a handle with a name.

    Services may name jobs otherwise in the addresses they return.
    """
    if "uuid" in handle and "create_date" in handle:
        raise InvalidOptions(
            "an item of jobs is a record, whose uuid is not that of a job. Pass the job of a task, for example"
            " started.job. To wait for an object, use its info module, with wait_for"
        )
    if handle.get("uuid") and not handle.get("location") and is_name(unify_uuid(handle["uuid"])):
        raise InvalidOptions(_describe_other_text(handle["uuid"]))


def _describe_other_text(text: str) -> str:
    """Return the message about a string in ``jobs`` that is not the uuid of a job."""
    asynchronous = " It is that of a task with async: wait for it with ansible.builtin.async_status."
    hint = (
        asynchronous
        if re.fullmatch(r"j?\d+\.\d+", text)
        else " To wait for an object, use its info module, with wait_for."
    )
    return f"each item of jobs must be the uuid or the handle of a job, such as started.job, not {text!r}.{hint}"


def _is_of_loop(results: Any) -> bool:
    """Return whether the results in the result of a task are those of its loop, or of the objects of a batch."""
    return isinstance(results, list) and any(
        isinstance(each, Mapping) and ("ansible_loop_var" in each or "outcome" in each) for each in results
    )


def build_job(client: Client, handle: Mapping[str, Any], check_mode: bool = False) -> Job:
    """Return the job of a handle, which check mode may have predicted. Raise InvalidOptions for an invalid handle."""
    path = parse_polling_path(handle.get("location"))
    if path is None and handle.get("location") and not handle.get("uuid"):
        raise InvalidOptions(
            f"location {handle['location']!r} is not the polling address of a job, which ends with the uuid of the job."
            " Pass the job of an earlier task."
        )
    if path is None and not handle.get("uuid"):
        if check_mode:
            return predict_job(handle.get("operation") or "")
        predicted = ". Check mode has predicted this job, so the service has none" if handle.get("operation") else ""
        raise InvalidOptions(f"each item of jobs needs a uuid or a location{predicted}")
    uuid = unify_uuid(handle.get("uuid") or "") or extract_last_segment(str(path))
    job = Job(
        uuid,
        path or format_job_path(uuid, client.connection.path_prefix),
        handle.get("operation") or "",
        handle.get("object") or "",
    )
    job.sent_uuid, job.is_guessed = handle.get("job_uuid") or "", path is None
    return job


def format_job(job: Job) -> Record:
    """Return a job in the form of the result; ``msg`` and ``error`` are like those of a failed task."""
    if job.failure:
        job.failure.with_label(job.label)
    record_type = OPERATIONS[job.operation].record if job.operation in OPERATIONS else ""
    result = {"result": mask_webhooks(job.result, record_type)} if job.state == SUCCEEDED else {}
    failure = {"msg": escape_controls(str(job.failure)), "error": job.failure.error} if job.failure else {}
    return {**job.build_handle(), **result, **failure}
