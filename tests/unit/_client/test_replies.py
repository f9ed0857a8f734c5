"""What a response means for a read, a call and a poll: the state of the job, or the whole error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._api.errors import (
    ApiError,
    JobNotFound,
    Overloaded,
    ReadExecutedAsChange,
    ResponseLost,
    TransportError,
    Unsupported,
    VirtinfraError,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._api.operation import Request
from ansible_collections.virtinfra.manager.plugins.module_utils._api.operations import get_operation
from ansible_collections.virtinfra.manager.plugins.module_utils._client.jobs import Job
from ansible_collections.virtinfra.manager.plugins.module_utils._client.replies import (
    apply_poll,
    apply_response,
    extract_reply,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._http.response import Response

JOB = "5d1f3f9a0e7b4f0d9b9a0c6f3a7f1b2c"
NOT_KNOWN_MESSAGE = (
    f"the service does not know job {JOB}, or no longer knows it. Check the id; if it is right, read the object to see"
    " what the job did"
)
OTHER = "b" * 32
CALL = "ChangeHostState"
ERROR = b'{"error": {"code": "SYS.1006", "details": "no"}}'
UNAVAILABLE = b'{"error": {"code": "SYS.1012", "details": "gone"}}'
STARTING = b'{"error": {"code": "SYS.1010", "details": "not ready"}}'
TIMED_OUT = b'{"error": {"code": "SYS.1001", "details": "late"}}'
CHECK_CALL = "check whether the call was performed."
NO_PART = f"(SYS.1012): gone. A part of the service was not available: {CHECK_CALL}"
NOT_RUNNING = (
    "QueryHost: the server at base_url answered with HTTP status 404, because the service is not running in it. Wait"
    " until the service has started. If it runs, check base_url and path_prefix."
)
RESULT = b'{"inventory": {"uuid": "a"}}'
BUSY = {"Retry-After": "3"}
PAGE = {"Content-Type": "text/html"}
OVERLOADED = (
    "The service is overloaded and asks to wait 3 s: run the task again later, or fewer tasks at the same time"
    " (throttle)."
)
RESTARTS = "The service or a proxy in front of it is overloaded or restarts: run the task again later."
ACCESS_KEY = "Check access_key_id and access_key_secret, and whether the key is enabled in the service"
EXPIRED = (
    "The session is invalid or has expired: log in again and pass the new one as session_id, or pass account and"
    " account_password."
)
WITHOUT_REASON = "the service reports a failure without an error"
AS_CHANGE = (
    "QueryHost: the service executed the read as a change: it answered GET /service/v1/hosts with HTTP status 202 and"
    " started {}. It may have changed or deleted the object. Check the job and the object, and do not run this again"
    " against this service."
)


def handle_of(uuid: str, operation: str) -> dict[str, Any]:
    """Return the handle of a running job."""
    path = f"/service/v1/api-jobs/{uuid}"
    return {
        "uuid": uuid,
        "job_uuid": None,
        "location": path,
        "operation": operation,
        "object": None,
        "state": "running",
    }


def describe(error: VirtinfraError | None) -> tuple[Any, ...]:
    """Return the type and the whole message of an error, whether and when a retry can help, and its result."""
    if error is None:
        return ()
    return type(error), error.message, getattr(error, "transient", None), error.retry_after, error.result


def refused(operation: str, status: int, text: str, transient: bool = False, wait: float = 0.0) -> tuple[Any, ...]:
    """Return the description of an ApiError."""
    return ApiError, f"{operation} failed{text}", transient, wait, {"operation": operation, "status": status}


def lacking(operation: str, text: str) -> tuple[Any, ...]:
    """Return the description of the error that the service answers 404 because it lacks an operation."""
    result = {"operation": operation, "status": 404}
    return Unsupported, f"the service does not offer {operation}{text}", None, 0.0, result


def lost(status: int, text: str, wait: float = 0.0) -> tuple[Any, ...]:
    """Return the description of the error that a response to a call proves nothing."""
    message = f"{CALL} returned HTTP status {status} without a usable result: {text}"
    return ResponseLost, message, True, wait, {}


def inconclusive(status: int, text: str) -> tuple[Any, ...]:
    """Return the description of the error that a response to a poll proves nothing."""
    return TransportError, f"polling job {JOB} returned HTTP status {status}: {text}", True, 0.0, {}


def overloaded(status: int, text: str, wait: float) -> tuple[Any, ...]:
    """Return the description of the error that a service is too busy for a poll."""
    return Overloaded, f"polling job {JOB} returned HTTP status {status}: {text}", True, wait, {}


Headers = Mapping[str, str]

# A read whose response names a job.
STARTED_A_JOB = (
    ReadExecutedAsChange,
    AS_CHANGE.format(f"job {OTHER}"),
    None,
    0.0,
    {"changed": True, "job": handle_of(OTHER, "QueryHost")},
)

# Status, headers and body of the response; the kind of the credential; whether the path prefix is known; the error.
READS: list[tuple[int, Headers, bytes, str, bool, tuple[Any, ...]]] = [
    (
        200,
        {},
        b"[]",
        "session_id",
        False,
        (
            TransportError,
            "the response to QueryHost is not a JSON object: []. Check base_url.",
            False,
            0.0,
            {},
        ),
    ),
    (
        200,
        {},
        b"",
        "session_id",
        False,
        (
            TransportError,
            "the response to QueryHost is not a JSON object: it is empty. Check base_url.",
            False,
            0.0,
            {},
        ),
    ),
    (299, {}, b"{}", "session_id", False, ()),
    (300, {}, b"{}", "session_id", False, refused("QueryHost", 300, " with HTTP status 300: {}")),
    (
        404,
        {},
        b"",
        "session_id",
        False,
        lacking(
            "QueryHost", ", or path_prefix is wrong (HTTP status 404 for GET /service/v1/hosts). Check path_prefix."
        ),
    ),
    (
        404,
        {},
        b"",
        "session_id",
        True,
        lacking(
            "QueryHost",
            " (HTTP status 404 for GET /service/v1/hosts). Check the version and edition of the service.",
        ),
    ),
    (
        429,
        BUSY,
        b"slow",
        "session_id",
        False,
        refused("QueryHost", 429, f" with HTTP status 429: slow. {OVERLOADED}", True, 3.0),
    ),
    (403, PAGE, b"<p>no</p>", "session_id", False, refused("QueryHost", 403, " with HTTP status 403: no")),
    (403, {}, b"no", "access_key", False, refused("QueryHost", 403, f" with HTTP status 403: no. {ACCESS_KEY}")),
    (
        403,
        {},
        b"requestTimeTooSkewed",
        "session_id",
        False,
        refused("QueryHost", 403, " with HTTP status 403: requestTimeTooSkewed"),
    ),
    (503, {}, UNAVAILABLE, "session_id", False, refused("QueryHost", 503, f" {NO_PART}", True)),
    (
        404,
        PAGE,
        b"<html><head><title>HTTP Status 404 \xe2\x80\x93 Not Found</title></head></html>",
        "session_id",
        False,
        (
            TransportError,
            NOT_RUNNING,
            True,
            0.0,
            {},
        ),
    ),
    (401, {}, b"", "session_id", False, refused("QueryHost", 401, f" with HTTP status 401. {EXPIRED}")),
    (503, {}, ERROR, "session_id", False, refused("QueryHost", 503, " (SYS.1006): no")),
    (
        202,
        {},
        b'{"location": "http://h/service/v1/api-jobs/%s"}' % OTHER.encode(),
        "session_id",
        False,
        STARTED_A_JOB,
    ),
    (
        202,
        {"Location": f"{OTHER} is the job"},
        b"",
        "session_id",
        False,
        STARTED_A_JOB,
    ),
    (
        202,
        {},
        b"",
        "session_id",
        False,
        (ReadExecutedAsChange, AS_CHANGE.format("a job without a known id"), None, 0.0, {"changed": True}),
    ),
]


def test_reads() -> None:
    failures = []
    for status, headers, body, credential, is_prefix_known, expected in READS:
        request, response = Request("GET", "/service/v1/hosts"), Response(status, headers, body)
        error = None
        try:
            extract_reply(get_operation("QueryHost"), request, response, "service", is_prefix_known, credential)
        except VirtinfraError as failure:
            error = failure
        if describe(error) != expected:
            failures.append((status, body, describe(error)))
    assert failures == []


def test_job_in_the_response_to_getapijob() -> None:
    """The status 202 says that the job is running, and a plain 404 that the service does not know it."""
    row, request = get_operation("GetApiJob"), Request("GET", f"/service/v1/api-jobs/{JOB}")
    assert extract_reply(row, request, Response(202, {}, b"{}"), "service", False, "session_id") == {}
    with pytest.raises(JobNotFound) as caught:
        extract_reply(row, request, Response(404, {}, b"unable to find job"), "service", False, "session_id")
    assert caught.value.message == NOT_KNOWN_MESSAGE
    assert caught.value.result == {"job": handle_of(JOB, "")}


LOCATION = b'{"location": "http://h/service/v1/api-jobs/%s?x=1"}' % OTHER.encode()

# Status, headers and body of the response; the error; the uuid, query and state of the job afterwards.
CALLS: list[tuple[int, Headers, bytes, tuple[Any, ...], tuple[str, str, str]]] = [
    (202, {}, LOCATION, (), (OTHER, "?x=1", "running")),
    (202, {}, b'{"location": "the job %s"}' % OTHER.encode(), (), (OTHER, "", "running")),
    (202, {}, b"", (), (JOB, "", "running")),
    (200, {}, RESULT, (), (JOB, "", "succeeded")),
    (299, {}, RESULT, (), (JOB, "", "succeeded")),
    (400, {}, b" Duplicate job uuid[x]", (), (JOB, "", "running")),
    (300, {}, RESULT, lost(300, RESULT.decode()), (JOB, "", "running")),
    (200, {}, b"", lost(200, "no body"), (JOB, "", "running")),
    (200, {}, b'{"x": 1}', lost(200, '{"x": 1}'), (JOB, "", "running")),
    (502, BUSY, b"bad", lost(502, "bad", 3.0), (JOB, "", "running")),
    (502, {}, ERROR, lost(502, ERROR.decode()), (JOB, "", "running")),
    (400, PAGE, b"wrong", lost(400, "wrong"), (JOB, "", "running")),
    (503, {}, ERROR, refused(CALL, 503, " (SYS.1006): no"), (JOB, "", "running")),
    (
        503,
        {},
        UNAVAILABLE,
        (ResponseLost, f"{CALL} failed {NO_PART}", True, 0.0, {}),
        (JOB, "", "running"),
    ),
    (400, {}, b"wrong", refused(CALL, 400, " with HTTP status 400: wrong"), (JOB, "", "running")),
    (500, {}, b"oops", refused(CALL, 500, " with HTTP status 500: oops"), (JOB, "", "running")),
    (
        429,
        BUSY,
        b"slow",
        refused(CALL, 429, f" with HTTP status 429: slow. {OVERLOADED}", True, 3.0),
        (JOB, "", "running"),
    ),
    (403, {}, b"no", refused(CALL, 403, f" with HTTP status 403: no. {ACCESS_KEY}"), (JOB, "", "running")),
    (
        404,
        {},
        b"",
        lacking(
            CALL,
            " (HTTP status 404 for PUT /service/v1/hosts/{uuid}/actions). Check the version and edition of the"
            " service.",
        ),
        (JOB, "", "running"),
    ),
]


def test_calls() -> None:
    failures = []
    for status, headers, body, expected, after in CALLS:
        job, error = Job(JOB, f"/service/v1/api-jobs/{JOB}", CALL, credential="access_key", sent_uuid=JOB), None
        try:
            apply_response(job, Response(status, headers, body), "service", is_prefix_known=True)
        except VirtinfraError as failure:
            error = failure
        uuid, query, state = after
        outcome = (job.uuid, job.location, job.state, bool(job.result), getattr(error, "status", status))
        if describe(error) != expected or outcome != (
            uuid,
            f"/service/v1/api-jobs/{uuid}{query}",
            state,
            state == "succeeded",
            status,
        ):
            failures.append((status, body, describe(error), outcome))
    assert failures == []


NOT_KNOWN = (
    JobNotFound,
    NOT_KNOWN_MESSAGE,
    None,
    0.0,
    {"job": {**handle_of(JOB, CALL), "job_uuid": JOB, "state": "unknown"}},
)

# Status, headers and body of the response; the state of the job afterwards; its failure; the error of the poll.
POLLS: list[tuple[int, Headers, bytes, str, tuple[Any, ...], tuple[Any, ...]]] = [
    (202, {}, b"", "running", (), ()),
    (200, {}, RESULT, "succeeded", (), ()),
    (200, {}, b"{}", "succeeded", (), ()),
    (404, {}, b"", "unknown", NOT_KNOWN, ()),
    (503, {}, ERROR, "failed", refused(CALL, 503, " (SYS.1006): no"), ()),
    (503, {}, STARTING, "running", (), overloaded(503, f"{STARTING.decode()}. {RESTARTS}", 0.0)),
    (
        503,
        {},
        UNAVAILABLE,
        "failed",
        refused(CALL, 503, f" {NO_PART}", True),
        (),
    ),
    (
        503,
        {},
        TIMED_OUT,
        "failed",
        refused(CALL, 503, f" (SYS.1001): late. A timeout occurred in the service: {CHECK_CALL}"),
        (),
    ),
    (200, {}, b'{"success": true, "error": null, "exportInfos": []}', "succeeded", (), ()),
    (404, PAGE, b"<p>x</p>", "running", (), inconclusive(404, "x")),
    (502, {}, ERROR, "running", (), inconclusive(502, ERROR.decode())),
    (200, {}, b'{"success": false, "error": null}', "failed", refused(CALL, 200, f": {WITHOUT_REASON}"), ()),
    (200, {}, b'{"x": 1}', "running", (), inconclusive(200, '{"x": 1}')),
    (201, {}, RESULT, "running", (), inconclusive(201, RESULT.decode())),
    (200, {}, b"", "running", (), inconclusive(200, "no body")),
    (429, BUSY, b"slow", "running", (), overloaded(429, f"slow. {OVERLOADED}", 3.0)),
    (503, {}, b"busy", "running", (), overloaded(503, f"busy. {RESTARTS}", 0.0)),
]


def test_polls() -> None:
    failures = []
    for status, headers, body, state, failure, expected in POLLS:
        job, error = Job(JOB, f"/service/v1/api-jobs/{JOB}", CALL, sent_uuid=JOB), None
        try:
            apply_poll(job, Response(status, headers, body))
        except VirtinfraError as raised:
            error = raised
        outcome = (job.state, describe(job.failure), describe(error))
        if outcome != (state, failure, expected):
            failures.append((status, body, outcome))
    assert failures == []


@pytest.mark.parametrize(("sent", "is_own"), [(JOB, True), (OTHER, False)])
def test_failure_of_the_job_with_the_id_that_was_sent(sent: str, is_own: bool) -> None:
    job = Job(JOB, f"/service/v1/api-jobs/{JOB}", sent_uuid=sent)
    apply_poll(job, Response(503, {}, ERROR))
    assert isinstance(job.failure, ApiError)
    assert (job.failure.message, job.failure.is_of_own_job) == ("the operation failed (SYS.1006): no", is_own)
