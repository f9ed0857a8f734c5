"""The result of a job as an event, in the same form from our own source, other webhook sources and event streams."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...module_utils._api.errors import ApiError, VirtinfraError
from ...module_utils._client.jobs import FAILED, SUCCEEDED, Job
from ...module_utils._http.response import Response
from ...module_utils._http.webhooks import read_parameter
from ...module_utils._masking.masker import Masker
from ...module_utils._masking.terminal import make_printable
from ...module_utils._modules.jobs import format_job

# The HTTP status of the response to a poll of a failed job. A post has the body of that response.
FAILED_STATUS = 503

LONGEST_CONTEXT = 256

# The longest message, in characters, of a result that is too large for an event of several results.
LONGEST_MESSAGE = 1000


class InvalidPost(VirtinfraError):
    """A post that cannot be the result of a job."""

    code = "INVALID"
    description = "The post is not the result of a job."


@dataclass(frozen=True)
class JobPost:
    """A post of the service: the job that has ended, and further information.

    ``batch`` is the outcome of an operation on several objects, as the service reports it. ``about`` is the text that
    the caller put into the URL.
    """

    job: Job
    batch: str | None = None
    about: str | None = None

    def drop_context(self) -> JobPost:
        """Return the post without what only its sender says: the batch, and the values of the URL."""
        return replace(self, job=replace(self.job, operation=""), batch=None, about=None)

    def build_event(self) -> dict[str, Any]:
        """Return the event: ``job``, ``operation`` and ``about`` if known, ``result``, or ``error`` and ``msg``."""
        outcome = format_job(self.job)
        context = {"operation": self.job.operation, "about": self.about}
        job = {"uuid": self.job.uuid, "succeeded": self.job.state == SUCCEEDED, "batch": self.batch}
        members = {name: outcome[name] for name in ("result", "error", "msg") if name in outcome}
        event: dict[str, Any] = Masker().mask_value(
            {"job": job, **{name: value for name, value in context.items() if value}, **members}
        )
        return event


def read_post(headers: Mapping[str, str], body: bytes, target: str) -> JobPost:
    """Parse a post; ``target`` is the URL or the path that it was sent to. Section "Events".

    Raise InvalidPost for anything that is not the result of a job.
    """
    values = {name.lower(): str(value).strip() for name, value in headers.items()}
    uuid = values.get("x-job-uuid", "")
    if not re.fullmatch(r"[\w.-]{1,128}", uuid, re.ASCII):
        raise InvalidPost("the header X-Job-UUID is missing or is not a job id")
    operation = _read_context(target, "operation")
    job = Job(uuid, "", operation if re.fullmatch(r"\w+", operation, re.ASCII) else "")
    _apply_outcome(job, values.get("x-job-success", "").lower(), Response(200, {}, body))
    return JobPost(job, values.get("x-job-batch") or None, _read_context(target, "about") or None)


def build_list_event(results: Sequence[dict[str, Any]], shortened: int = 0) -> dict[str, Any]:
    """Return the event of several results, each in the form of its own event."""
    failed = sum(not result["job"]["succeeded"] for result in results)
    return {"jobs": [*results], "failed": failed, "succeeded": len(results) - failed, "shortened": shortened}


def shorten_result(event: Mapping[str, Any]) -> dict[str, Any]:
    """Return the event of a result without its reply or error, and with the beginning of its message."""
    kept = {name: value for name, value in event.items() if name not in ("result", "error")}
    if "msg" in kept:
        kept["msg"] = kept["msg"][:LONGEST_MESSAGE] + "..."
    return {**kept, "shortened": True}


def _read_context(target: str, name: str) -> str:
    """Return a parameter of the webhook URL, printable and truncated; ``""`` without one."""
    return make_printable(read_parameter(target, name))[:LONGEST_CONTEXT]


def _apply_outcome(job: Job, success: str, response: Response) -> None:
    """Set the end of a job from the header X-Job-Success and the body. An error in the body outweighs the header."""
    if response.object is None:
        raise InvalidPost("the body is not a JSON object")
    if response.error is not None:
        job.state, job.failure = FAILED, ApiError(job.operation or "the operation", FAILED_STATUS, response.error)
    elif not success:
        raise InvalidPost("the header X-Job-Success is missing")
    elif success == "true":
        job.state, job.result = SUCCEEDED, response.object
    else:
        job.state, job.failure = FAILED, VirtinfraError("the operation failed, and the service gives no reason")
