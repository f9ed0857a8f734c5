"""Interpret responses: the reply of a read, and the outcome of a call and of its job. This file does no I/O."""

from __future__ import annotations

import re
from collections.abc import Mapping
from email.utils import formatdate
from typing import Any

from .._api.error_code import CREDENTIALS, OUTCOME_OPEN, OVERLOAD_HINTS, STARTING
from .._api.errors import (
    ApiError,
    JobNotFound,
    Overloaded,
    ReadExecutedAsChange,
    ResponseLost,
    TransportError,
    Unsupported,
)
from .._api.operation import (
    Operation,
    Request,
    is_bare,
    is_success,
)
from .._api.operations import OPERATIONS, get_operation
from .._http.response import Response
from .._masking.terminal import make_printable
from .jobs import (
    FAILED,
    SUCCEEDED,
    UNKNOWN,
    Job,
    extract_job_uuid,
    extract_last_segment,
    format_job_path,
    parse_polling_path,
)

# Statuses with which a gateway reports that it received no response: the call may have been performed or not.
INCONCLUSIVE_STATUSES = (408, 429, 502, 504)

# Statuses with which the service itself, in plain text, refuses a call at once: it was not performed.
REFUSALS = (400, 403, 404, 405, 429, 500)

# The status when the service refuses an access key.
ACCESS_KEY_REFUSED = 403

# The texts with which services refuse a known path, because it has no operation for the verb or the body.
_NO_OPERATION = {
    400: re.compile(rb"\s*the body doesn't contain action mapping"),
    500: re.compile(rb"\s*No \w+ API found for the path"),
}


def extract_reply(
    operation: Operation, request: Request, response: Response, prefix: str, is_prefix_known: bool, credential: str
) -> dict[str, Any]:
    """Return the reply of a reading operation.

    ``is_prefix_known`` says that an operation below the path prefix was found before. ``credential`` is the kind of the
    credential, one of CREDENTIALS in ``_api/errors.py``. Raise Unsupported when the service lacks the operation,
    JobNotFound when it does not know the job of GetApiJob, ReadExecutedAsChange when it started a job, ApiError when it
    reports a failure, and TransportError when the response is not a JSON object, or that of a server in which the
    service does not run yet.
    """
    if response.status == 202 and operation.name != "GetApiJob":
        raise ReadExecutedAsChange(
            operation.name, request.path, _identify_job(response, operation.name, prefix, request.path)
        )
    if operation.name == "GetApiJob" and _is_unknown_job(response):
        raise JobNotFound(Job(request.path.rpartition("/")[2], request.path))
    if lacks_operation(response):
        raise build_unsupported_error(operation, prefix, response.status, is_prefix_known)
    if response.is_of_starting_server:
        raise _build_starting_error(operation.name, response)
    if response.error is not None or not 200 <= response.status < 300:
        status, error, wait = response.status, response.error, response.read_retry_after()
        raise ApiError(operation.name, status, error, _describe_refusal(response, credential), credential, wait)
    if response.object is None:
        raise TransportError(
            f"the response to {operation.name} is not a JSON object: {response.format_text() or 'it is empty'}."
            " Check base_url.",
            transient=False,
        )
    return response.object


def apply_response(job: Job, response: Response, prefix: str, is_prefix_known: bool, path: str = "/") -> None:
    """Update the job of a call from the response to the call, which was sent to ``path``.

    ``is_prefix_known`` says that an operation below the path prefix was found before. Raise Unsupported when the
    service lacks the operation, ApiError when it refused or failed the call, and ResponseLost when the response proves
    neither that it was accepted nor that it was refused.
    """
    if _is_conclusive_error(response):
        raise ApiError(job.operation, response.status, response.error, credential=job.credential)
    if response.status == 202:
        _follow_location(job, response, prefix, path)
        return
    if is_duplicate(response):
        return
    if lacks_operation(response):
        raise build_unsupported_error(get_operation(job.operation), prefix, response.status, is_prefix_known)
    if response.status in REFUSALS and response.is_plain_text:
        status, wait = response.status, response.read_retry_after()
        raise ApiError(job.operation, status, None, _describe_refusal(response, job.credential), job.credential, wait)
    reply = response.object
    operation, is_success_status = get_operation(job.operation), 200 <= response.status < 300
    is_read = reply is not None and (operation.is_reply_of_query(reply) or _shows_target(operation, path, reply))
    if is_success_status and is_read:
        raise build_unsupported_error(operation, prefix, response.status, True)
    if is_success_status and reply is not None and operation.is_reply(reply):
        job.state, job.result = SUCCEEDED, reply
        return
    lost = ResponseLost(_describe_unusable(job, response))
    lost.status, lost.retry_after = response.status, response.read_retry_after()
    raise lost


def _describe_unusable(job: Job, response: Response) -> str:
    """Return what is wrong with a response to a call that proves nothing."""
    if response.error_code and response.error_code["code"] in OUTCOME_OPEN:
        return ApiError(job.operation, response.status, response.error, credential=job.credential).message
    text = response.format_text() or "no body"
    return f"{job.operation} returned HTTP status {response.status} without a usable result: {text}"


def _is_conclusive_error(response: Response) -> bool:
    """Return whether the response to a call is an ErrorCode that says that the call was refused, or has failed."""
    error = response.error_code
    return error is not None and response.status not in INCONCLUSIVE_STATUSES and error["code"] not in OUTCOME_OPEN


def _build_starting_error(operation: str, response: Response) -> TransportError:
    """Return the error of a read that a server answered with the page for a path at which nothing runs yet."""
    error = TransportError(
        f"{operation}: the server at base_url answered with HTTP status {response.status}, because the service is not"
        " running in it. Wait until the service has started. If it runs, check base_url and path_prefix."
    )
    error.status = response.status
    return error


def _shows_target(operation: Operation, path: str, reply: Mapping[str, Any]) -> bool:
    """Return whether the reply to a removal shows the object at ``path``: the service ignored the verb, and read it.

    A removal that returns a record returns that of the owner. The path of an attachment names both of its objects, and
    no server reads it, so its reply may show either.
    """
    is_read = operation.method == "DELETE" and "inventory" in operation.result and operation.path.count("{") == 1
    record = reply.get("inventory") if is_read else None
    return isinstance(record, dict) and record.get("uuid") == extract_last_segment(path.partition("?")[0])


def _follow_location(job: Job, response: Response, prefix: str, base: str) -> None:
    """Set uuid and path of a job to those in the polling address of a 202 response, which may be relative to a path."""
    location = _read_location(response)
    path = parse_polling_path(location, base)
    job.location = path or format_job_path(extract_job_uuid(location) or job.uuid, prefix)
    job.is_guessed = path is None
    has_own_uuid = job.sent_uuid and job.sent_uuid in job.location
    job.uuid = job.sent_uuid if has_own_uuid else extract_last_segment(job.location)


def apply_poll(job: Job, response: Response) -> None:
    """Update a job from the response to a poll; it is still running after 202.

    A job ends with its result, with an ErrorCode, or with a 404 in the service's own form. Raise TransportError when
    the response is none of these.
    """
    if response.status == 202:
        return
    if _is_unknown_job(response):
        job.state = UNKNOWN
        job.failure = JobNotFound(job)
    elif is_reported_failure(response):
        job.state = FAILED
        name = job.operation or "the operation"
        job.failure = ApiError(name, response.status, response.error, credential=job.credential)
        job.failure.is_of_own_job = job.has_own_uuid
    elif response.status == 200 and response.object is not None and _may_be_result(job.operation, response.object):
        job.state, job.result = SUCCEEDED, response.object
    else:
        text = response.format_text() or "no body"
        message = f"polling job {job.uuid} returned HTTP status {response.status}: {text}"
        if response.status in OVERLOAD_HINTS:
            raise Overloaded(message, response.status, response.read_retry_after())
        unusable = TransportError(message)
        unusable.status = response.status
        raise unusable


def is_reported_failure(response: Response) -> bool:
    """Return whether a response to a poll is the failure of a job: an ErrorCode, or ``success: false, error: null``.

    A service that is starting knows no result yet.
    """
    if response.error_code is not None:
        return response.status not in INCONCLUSIVE_STATUSES and response.error_code["code"] != STARTING
    reply = response.object or {}
    return response.status == 200 and reply.get("success") is False and reply.get("error", "") is None


def _describe_refusal(response: Response, credential: str) -> str:
    """Return the text of a response, with a remedy if it refuses an access key.

    If the clocks differ too much, the remedy contains the times of both.
    """
    if response.status != ACCESS_KEY_REFUSED or credential != "access_key":
        return response.format_text()
    from .._http.access_keys import is_skewed

    if not is_skewed(response):
        return f"{response.format_text()}. {CREDENTIALS[credential]['remedy'].capitalize()}"
    service_time = make_printable(response.headers.get("Date", ""))[:40] or "not in its response"
    return (
        f"{response.format_text()}. The clock of this machine differs from that of the service by more than 15 minutes,"
        f" in whichever time zone the service is: it is {formatdate(usegmt=True)} here, and the time of the service is"
        f" {service_time}. Correct the clock"
    )


def lacks_operation(response: Response) -> bool:
    """Return whether the service itself says that it does not have an operation, so that it performed nothing.

    It says so in plain text or without a body: with status 404 or 405, or with the texts of _NO_OPERATION. An ErrorCode
    with status 404 is about an object, and a page is from a proxy.
    """
    if not response.is_plain_text:
        return False
    text = _NO_OPERATION.get(response.status)
    return response.status in (404, 405) or (text is not None and text.match(response.body) is not None)


# What a message about an operation that the service lacks says if the path prefix may be wrong, and the remedies.
_DOUBT = ", or path_prefix is wrong"
_CHECK_PREFIX = "Check path_prefix."
_CHECK_VERSION = "Check the version and edition of the service."


def build_unsupported_error(operation: Operation, prefix: str, status: int, is_prefix_known: bool) -> Unsupported:
    """Return the error that the service does not have an operation, as its response with this status shows."""
    # All servers have the operations of the versions 0.x.
    has_version = operation.since and not operation.since.startswith("0.")
    needed = f", which needs version {operation.since} or newer" if has_version else ""
    reason, remedy = f"the service does not offer {operation.name}{needed}", _CHECK_VERSION
    doubts_prefix = status in (404, 405) and not (is_prefix_known or operation.credential == "token")
    if doubts_prefix:
        reason, remedy = f"{reason}{_DOUBT}", _CHECK_PREFIX
    answer = ", with the reply of a query," if 200 <= status < 300 else ""
    reason += f" (HTTP status {status}{answer} for {operation.method} {operation.build_path(prefix)})"
    return Unsupported(reason, remedy, doubts_prefix, operation=operation.name, status=status)


def doubts_prefix(result: Mapping[str, Any]) -> bool:
    """Return whether the failure of a task says that the path prefix may be wrong.

    It may say what an earlier task has found out, which knew less. A missing login was explained before.
    """
    return _DOUBT in result["msg"] and f"LogInByAccount{_DOUBT}" not in result["msg"]


def drop_doubt(text: str) -> str:
    """Return a text about operations that the service lacks without the doubt about a path prefix that is right."""
    pattern = rf"{re.escape(_DOUBT)}( \(HTTP status [^)]*\))(?:(\. ){re.escape(_CHECK_PREFIX)})?"
    return re.sub(pattern, lambda doubt: doubt[1] + (f"{doubt[2]}{_CHECK_VERSION}" if doubt[2] else ""), text)


def _is_unknown_job(response: Response) -> bool:
    return response.status == 404 and response.is_plain_text


def is_duplicate(response: Response) -> bool:
    """Return whether the service already knows the job id of a call."""
    return (
        response.status == 400 and response.is_plain_text and response.body.lstrip().startswith(b"Duplicate job uuid")
    )


def _may_be_result(operation: str, reply: Mapping[str, Any]) -> bool:
    """Return whether a JSON object can be the result of a job.

    For operations that are not in the table, any object can. Some servers omit a null result, so ``{}`` is possible for
    each operation. With ``success: true``, a result may have any other members.
    """
    known = OPERATIONS.get(operation)
    if known is None or reply.get("success") is True:
        return is_success(reply)
    return is_bare(reply) or known.is_reply(reply)


def _identify_job(response: Response, operation: str, prefix: str, base: str) -> Job | None:
    """Return the job of the 202 response to a request to the path ``base``, None if nothing identifies the job."""
    location = _read_location(response)
    if path := parse_polling_path(location, base):
        return Job(extract_last_segment(path), path, operation)
    uuid = extract_job_uuid(location)
    return Job(uuid, format_job_path(uuid, prefix), operation, is_guessed=True) if uuid else None


def _read_location(response: Response) -> Any:
    """Return the polling address of a 202 response, from the body or the header."""
    return (response.object or {}).get("location") or response.headers.get("Location")
