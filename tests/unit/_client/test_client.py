"""Calls and their jobs: the requests of the client, and its conclusions from responses."""

from __future__ import annotations

import hmac
import json
import re
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._api.errors import (
    ApiError,
    InvalidOptions,
    JobNotFound,
    JobUuidUsed,
    ResponseLost,
    TransportError,
    Unsupported,
    WaitTimeout,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._client.client import Client
from ansible_collections.virtinfra.manager.plugins.module_utils._client.jobs import Job
from ansible_collections.virtinfra.manager.plugins.module_utils._client.lists import get_by_uuid, query
from ansible_collections.virtinfra.manager.plugins.module_utils._client.waiting import job_exists, wait_for_job
from conftest import ClientFactory, FakeClock, client_of, reply_to

from simulator.launch import Simulator
from support.faults import TRANSIENT_FAULTS, name_fault
from support.stub_server import StubRequest, StubResponse, StubServer

HOST = "a0000003000040008000000000000001"
CLUSTER = "a0000002000040008000000000000001"
DISABLE = {"uuid": HOST, "stateEvent": "disable"}
ADD = {
    "username": "root",
    "password": "wrong-password",
    "name": "host-9",
    "managementIp": "10.0.0.99",
    "clusterUuid": CLUSTER,
}
JOB = "5d1f3f9a0e7b4f0d9b9a0c6f3a7f1b2c"


def requests_of(sim: Simulator, operation: str) -> list[dict[str, Any]]:
    """Return the requests of an operation, or the polls, in the log of the simulator."""
    return [entry for entry in sim.log() if entry["operation"] == operation]


# ---------------------------------------------------------------------------------------------------- polling addresses


@pytest.mark.parametrize("location", ["wrong", "right", "relative", "foreign", "malformed", "missing"])
@pytest.mark.parametrize("header", [False, True])
def test_every_form_of_polling_address(sim: Simulator, client: Client, location: str, header: bool) -> None:
    sim.configure(location=location, location_header=header)
    assert reply_to(client, "ChangeHostState", DISABLE)["inventory"]["state"] == "Disabled"
    (call,) = requests_of(sim, "ChangeHostState")
    assert {entry["job"] for entry in requests_of(sim, "poll")} == {call["job"]}


def test_job_id_of_the_service_takes_precedence(sim: Simulator, client: Client) -> None:
    sim.configure(job_uuid="ignore")
    job = client.start_job("ChangeHostState", DISABLE)
    (call,) = requests_of(sim, "ChangeHostState")
    assert job.uuid == call["job"] != call["headers"]["x-job-uuid"]
    assert wait_for_job(client, job)["inventory"]["state"] == "Disabled"


def test_polling_stays_at_the_configured_origin() -> None:
    with StubServer(lambda request: StubResponse(500)) as other:

        def answer(request: StubRequest) -> StubResponse:
            if request.method == "PUT":
                return StubResponse(202, {"location": f"{other.url}/service/v1/api-jobs/{JOB}?a=b"})
            return StubResponse(200, {"inventory": {"uuid": HOST}})

        with StubServer(answer) as service:
            client = client_of(service)
            assert reply_to(client, "ChangeHostState", DISABLE) == {"inventory": {"uuid": HOST}}
        assert [request.target for request in service.requests[1:]] == [f"/service/v1/api-jobs/{JOB}?a=b"]
        assert other.requests == []
        job = client.start_job("ChangeHostState", DISABLE)
        assert (job.uuid, job.location) == (JOB, f"/service/v1/api-jobs/{JOB}?a=b")


def test_polling_address_in_the_header_only() -> None:
    headers = (("Location", f"http://192.0.2.1/front/v1/api-jobs/{JOB}"),)
    with StubServer(lambda request: StubResponse(202, b"", headers)) as service:
        job = client_of(service).start_job("ChangeHostState", DISABLE)
    assert (job.uuid, job.location) == (JOB, f"/front/v1/api-jobs/{JOB}")


def test_no_polling_address_behind_a_prefix() -> None:
    with StubServer(lambda request: StubResponse(202, {})) as service:
        job = client_of(service, path_prefix="front/gate").start_job("ChangeHostState", DISABLE)
    assert job.location == f"/front/gate/v1/api-jobs/{job.uuid}"


def test_result_at_once(sim: Simulator, client: Client) -> None:
    sim.configure(sync=True)
    job = client.start_job("ChangeHostState", DISABLE)
    assert job.state == "succeeded"
    assert wait_for_job(client, job)["inventory"]["state"] == "Disabled"
    assert requests_of(sim, "poll") == []


TASK = {"uuid": "a0000010000040008000000000000001"}


@pytest.mark.parametrize(
    ("operation", "params", "reply"),
    [
        ("ChangeHostState", DISABLE, {"inventory": {"uuid": HOST}}),
        ("ChangeHostState", DISABLE, {"success": True, "error": None, "inventory": {"uuid": HOST}, "schema": {}}),
        ("SetServiceTypeOnHostNetworkInterface", {"interfaceUuids": [HOST]}, {"inventory": []}),
        ("EnableCbtTask", TASK, {"volumeCbtBackupInfos": []}),
        ("SNSSnmpTestConnection", {"platformUuid": HOST}, {"connected": False}),
        ("DeleteCbtTask", TASK, {}),
        ("DisableCbtTask", TASK, {}),
        ("DeleteNicQos", {"uuid": HOST, "direction": "in"}, {"success": True}),
        ("ExportNbdVolumes", {"volumeUuids": [HOST], "vmInstanceUuid": HOST}, {}),
    ],
)
@pytest.mark.parametrize("status", [200, 201])
def test_reply_at_once(operation: str, params: dict[str, Any], reply: dict[str, Any], status: int) -> None:
    with StubServer(lambda request: StubResponse(status, reply)) as service:
        assert reply_to(client_of(service), operation, params) == reply
    assert len(service.requests) == 1


LOGIN = {"status": "login required"}
HTML = (("Content-Type", "text/html; charset=utf-8"),)
JSON = (("Content-Type", "application/json"),)


@pytest.mark.parametrize(
    "response",
    [
        *(StubResponse(status, body) for status in (200, 204) for body in (b"", b"  ")),
        *(
            StubResponse(200, body)
            for body in ({}, LOGIN, {"inventory": None}, {"inventory": 7}, {"success": False}, b"[]")
        ),
        StubResponse(200, {"error": "no"}),
        StubResponse(200, {"success": False, "inventory": {"uuid": HOST}}),
        *(StubResponse(status, b"", (("Location", "/"),)) for status in (301, 302, 303, 304, 307, 308)),
        *(
            StubResponse(status, b"odd")
            for status in (401, 402, 406, 407, 408, 409, 410, 421, 425, 451, 499, 501, 502, 503)
        ),
        *(StubResponse(status, b"<html>No</html>") for status in (400, 403, 404, 405, 429, 500)),
        *(StubResponse(status, b"No", HTML) for status in (400, 403, 404, 405, 429, 500)),
        *(StubResponse(status, {"message": "no"}, JSON) for status in (400, 403, 404, 405, 429, 500)),
        *(StubResponse(status, {"error": {"code": status, "message": "no"}}) for status in (400, 404, 500, 502, 503)),
        StubResponse(200, b"x", (("Content-Encoding", "gzip"),)),
        StubResponse(504, {"error": {"code": "SYS.1006", "details": "no"}}),
    ],
    ids=lambda response: f"{response.status}-{str(response.body)[:30]}-{response.headers}",
)
def test_responses_that_prove_nothing(response: StubResponse) -> None:
    """These responses prove neither that a call was performed nor that it was refused."""
    with StubServer(lambda request: response) as service, pytest.raises(ResponseLost):
        client_of(service, request_retries=2).start_job("ChangeHostState", DISABLE)
    assert len(service.requests) == 1


@pytest.mark.parametrize(("body", "shown"), [(b"", "no body"), (b"  ", "no body"), ({"x": 1}, '{"x": 1}')])
def test_response_that_proves_nothing_is_shown(body: Any, shown: str) -> None:
    with StubServer(lambda request: StubResponse(200, body)) as service, pytest.raises(ResponseLost) as lost:
        client_of(service).start_job("ChangeHostState", DISABLE)
    assert str(lost.value) == f"ChangeHostState returned HTTP status 200 without a usable result: {shown}"


@pytest.mark.parametrize("switches", [{"api_timeout": False}, {"success_members": True}, {"content_type": False}])
def test_accepted_in_other_forms(sim: Simulator, client: Client, switches: dict[str, Any]) -> None:
    sim.configure(**switches)
    assert reply_to(client, "ChangeHostState", DISABLE)["inventory"]["state"] == "Disabled"


# ------------------------------------------------------------------------------------------------------------- headers


def test_every_call_has_a_job_uuid_of_its_own(sim: Simulator, client: Client) -> None:
    for dummy in range(3):
        reply_to(client, "ChangeHostState", DISABLE)
    assert len({entry["headers"]["x-job-uuid"] for entry in requests_of(sim, "ChangeHostState")}) == 3


def test_used_job_uuid(sim: Simulator, client: Client) -> None:
    first = {"name": "backup-vm-1", "vmInstanceUuid": "a0000004000040008000000000000001"}
    second = {"name": "backup-vm-2", "vmInstanceUuid": "a0000004000040008000000000000002"}
    wait_for_job(client, client.start_job("CreateCbtTask", first, job_uuid=JOB))
    with pytest.raises(JobUuidUsed) as caught:
        client.start_job("CreateCbtTask", second, job_uuid=JOB)
    assert caught.value.message == (
        f"CreateCbtTask was not performed: job_uuid {JOB} was used for an earlier call (state of that job: succeeded)."
        " Use a new job_uuid for each call, or omit it."
    )
    assert caught.value.result["job"]["state"] == "succeeded"
    assert [record["name"] for record in sim.records("cbttask")] == ["backup-vm-1"]


def test_used_job_uuid_of_a_call_that_failed(client: Client) -> None:
    params = {"name": "backup-vm-1", "vmInstanceUuid": "f" * 32}
    with pytest.raises(ApiError, match="failed") as failed:
        wait_for_job(client, client.start_job("CreateCbtTask", params, job_uuid=JOB))
    with pytest.raises(JobUuidUsed) as caught:
        client.start_job("CreateCbtTask", params, job_uuid=JOB)
    reason = failed.value.message.partition("failed ")[2].rstrip(".")
    assert "(state of that job: failed: " in caught.value.message
    assert f"{reason}). Use a new job_uuid" in caught.value.message
    assert caught.value.result["job"]["state"] == "failed"


def test_used_job_uuid_whose_job_cannot_be_read(sim: Simulator, new_client: ClientFactory) -> None:
    params = {"name": "backup-vm-1", "vmInstanceUuid": "a0000004000040008000000000000001"}
    client = new_client(request_retries=0)
    client.start_job("CreateCbtTask", params, job_uuid=JOB)
    sim.fault("status", "poll", status=502)
    with pytest.raises(JobUuidUsed, match=r"was used for an earlier call \(state of that job: running\)\. Use"):
        client.start_job("CreateCbtTask", params, job_uuid=JOB)


def test_call_that_is_delivered_twice_was_accepted(client: Client) -> None:
    """A generated job id is unique, so a 400 "Duplicate job uuid" means that a proxy delivered this call twice."""

    def answer(request: StubRequest) -> StubResponse:
        if request.method == "PUT":
            return StubResponse(400, f"Duplicate job uuid[{request.headers['X-Job-UUID']}]".encode())
        return StubResponse(200, {"inventory": {"uuid": HOST}})

    with StubServer(answer) as service:
        assert reply_to(client_of(service), "ChangeHostState", DISABLE) == {"inventory": {"uuid": HOST}}


def test_same_job_uuid_is_the_same_call(sim: Simulator, client: Client) -> None:
    params = {"name": "backup-vm-1", "vmInstanceUuid": "a0000004000040008000000000000001"}
    first = client.start_job("CreateCbtTask", params, job_uuid=JOB)
    second = client.start_job("CreateCbtTask", params, job_uuid=JOB, is_resend=True)
    assert wait_for_job(client, first) == wait_for_job(client, second)
    assert [entry["status"] for entry in requests_of(sim, "CreateCbtTask")] == [202, 400]
    assert len(sim.records("cbttask")) == 1


def test_bodies_are_json(sim: Simulator, client: Client) -> None:
    """Requests without a body have no Content-Type."""
    reply_to(client, "ChangeHostState", DISABLE)
    (call,) = requests_of(sim, "ChangeHostState")
    assert call["headers"]["content-type"] == "application/json;charset=UTF-8"
    assert not [poll for poll in requests_of(sim, "poll") if "content-type" in poll["headers"]]


def test_the_webhook_url_of_each_call_is_signed(sim: Simulator, new_client: ClientFactory) -> None:
    """The signature depends on webhook_key, which is not sent, and on the id of the job."""
    client = new_client(webhook_url="http://192.0.2.9/hook?about=a#part", webhook_key="a key")
    jobs = [client.start_job("ChangeHostState", DISABLE).uuid for dummy in range(2)]
    hooks = [call["headers"]["x-web-hook"] for call in requests_of(sim, "ChangeHostState")]
    for job, hook in zip(jobs, hooks, strict=True):
        digest = hmac.new(b"a key", json.dumps([job, "a", ""]).encode(), "sha256").hexdigest()
        assert hook == f"http://192.0.2.9/hook?about=a&virtinfra_signature={digest}#part"


def test_webhook_and_time_limit_are_sent_with_writing_calls(sim: Simulator, new_client: ClientFactory) -> None:
    client = new_client(webhook_url="http://192.0.2.9/hook", api_timeout=77)
    reply_to(client, "ChangeHostState", DISABLE)
    client.get("QueryHost", {})
    call, read = (requests_of(sim, name)[0]["headers"] for name in ("ChangeHostState", "QueryHost"))
    assert (call["x-web-hook"], call["x-api-timeout"]) == ("http://192.0.2.9/hook", "77")
    assert not {"x-web-hook", "x-api-timeout", "x-job-uuid"} & read.keys()


def test_schemes_of_authentication(sim: Simulator, client: Client) -> None:
    reply_to(client, "ChangeHostState", DISABLE)
    client.get("QueryHost", {})
    client.get("CursorQuery", {"resourceType": "host"})
    schemes = {entry["operation"]: entry["headers"].get("authorization") for entry in sim.log()}
    assert schemes == {"ChangeHostState": "OAuth", "poll": None, "QueryHost": "OAuth", "CursorQuery": "Bearer"}


@pytest.mark.parametrize("status", [401, 403])
def test_service_that_requires_credentials_for_polls(status: int) -> None:
    """The client sends credentials with polls once the service has required them."""
    running = iter((True, True, False))

    def answer(request: StubRequest) -> StubResponse:
        if request.method == "PUT":
            return StubResponse(202, {"location": f"/service/v1/api-jobs/{JOB}"})
        if "Authorization" not in request.headers:
            return StubResponse(status, b"who are you")
        return StubResponse(202, {}) if next(running) else StubResponse(200, {"inventory": {}})

    with StubServer(answer) as service:
        assert reply_to(client_of(service), "ChangeHostState", DISABLE) == {"inventory": {}}
    sent = [request.headers.get("Authorization") for request in service.requests]
    assert sent == ["OAuth the-session", None, *["OAuth the-session"] * 3]


@pytest.mark.parametrize(
    ("name", "missing", "variable"),
    [("QueryHost", "session_id", "VIRTINFRA_SESSION_ID"), ("CursorQuery", "api_token", "VIRTINFRA_API_TOKEN")],
)
def test_missing_credentials(sim: Simulator, new_client: ClientFactory, name: str, missing: str, variable: str) -> None:
    client = new_client(**{missing: None})
    with pytest.raises(Unsupported, match=f"{name} needs {missing}.* .or {variable}.* in the environment"):
        client.get(name, {})
    assert sim.log() == []


# ----------------------------------------------------------------------------------------------------- paths, versions


@pytest.mark.parametrize("prefix", ["", "front", "front/gate"])
def test_path_prefix(sim: Simulator, new_client: ClientFactory, prefix: str) -> None:
    sim.configure(prefix=prefix)
    client = new_client(path_prefix=prefix)
    assert reply_to(client, "ChangeHostState", DISABLE)["inventory"]["state"] == "Disabled"
    assert len(query(client, "QueryHost")) == 3
    assert client.get("CursorQuery", {"resourceType": "host"})["total"] == 3


@pytest.mark.parametrize(
    ("name", "params", "version", "message"),
    [
        (
            "GetHostNetworkFacts",
            {"hostUuid": HOST},
            "3.4.9",
            "GetHostNetworkFacts needs version 3.5.0, but service_version is 3.4.9. .* remove it",
        ),
        (
            "AttachL3NetworkToVm",
            {"vmInstanceUuid": "a", "l3NetworkUuid": "b", "customMac": "c"},
            "3.5.0",
            "the parameter customMac of AttachL3NetworkToVm needs version 3.10.0, but service_version is 3.5.0",
        ),
    ],
)
def test_service_version(
    sim: Simulator, new_client: ClientFactory, name: str, params: dict[str, Any], version: str, message: str
) -> None:
    with pytest.raises(InvalidOptions, match=message):
        reply_to(new_client(service_version=version), name, params)
    assert sim.log() == []


@pytest.mark.parametrize("version", ["latest", 4.10])
def test_invalid_service_version(sim: Simulator, new_client: ClientFactory, version: Any) -> None:
    with pytest.raises(InvalidOptions, match="service_version must be"):
        new_client(service_version=version)


def test_supported_service_version(sim: Simulator, new_client: ClientFactory) -> None:
    sim.configure(version="3.5.0")
    assert new_client(service_version="3.5.0").get("GetHostNetworkFacts", {"hostUuid": HOST})["nics"]


# ------------------------------------------------------------------------------------------------------------ failures


def test_error_contains_the_cause(sim: Simulator, client: Client) -> None:
    sim.fault(
        "fail",
        "ChangeHostState",
        error={
            "code": "SYS.1006",
            "details": "outer details",
            "cause": {
                "code": "HOST.1001",
                "details": "middle details",
                "cause": {"code": "SYS.1000", "details": "the disk is on fire"},
            },
        },
    )
    with pytest.raises(ApiError) as caught:
        reply_to(client, "ChangeHostState", DISABLE)
    text, facts, error = str(caught.value), caught.value.result, caught.value.error
    assert text.startswith("ChangeHostState failed (SYS.1006, caused by SYS.1000): ")
    assert "outer details" in text
    assert text.endswith("the disk is on fire")
    assert (facts["operation"], facts["status"]) == ("ChangeHostState", 503)
    assert error["causes"][0]["causes"][0]["details"] == "the disk is on fire"


def test_error_of_a_read_is_not_retried(sim: Simulator, client: Client) -> None:
    sim.fault("fail", "QueryHost", error={"code": "SYS.1000", "details": "no database"}, count=None)
    with pytest.raises(ApiError, match=r"QueryHost failed \(SYS\.1000\): .*no database"):
        client.get("QueryHost", {})
    assert len(sim.log()) == 1


def test_error_with_status_200() -> None:
    error = {"code": "SYS.1006", "description": "refused", "details": "no", "cause": None}
    with StubServer(
        lambda request: StubResponse(200, {"success": False, "error": error, "inventory": None})
    ) as service:
        for name, params in (("ChangeHostState", DISABLE), ("QueryHost", {})):
            with pytest.raises(ApiError, match=rf"{name} failed \(SYS\.1006\): refused: no"):
                reply_to(client_of(service), name, params)


@pytest.mark.parametrize("error", [None, {}])
def test_no_error_with_status_200(error: Any) -> None:
    with StubServer(lambda request: StubResponse(200, {"success": True, "error": error, "inventories": []})) as service:
        assert query(client_of(service), "QueryHost") == []


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        ("ID.1001", "log in again and pass the new one as session_id"),
        ("ID.1002", "lacks the permission"),
        ("ID.1003", "quota is exhausted"),
        ("SYS.1003", "check the uuids"),
    ],
)
def test_advice(sim: Simulator, client: Client, code: str, advice: str) -> None:
    sim.fault("fail", "ChangeHostState", error={"code": code, "details": "d"})
    with pytest.raises(ApiError, match=advice):
        reply_to(client, "ChangeHostState", DISABLE)


@pytest.mark.parametrize("operation", ["QueryHost", "ChangeHostState"])
def test_expired_session(sim: Simulator, client: Client, operation: str) -> None:
    sim.configure(session_expired=True)
    with pytest.raises(ApiError, match="The session is invalid or has expired"):
        reply_to(client, operation, DISABLE if operation == "ChangeHostState" else {})


def test_endless_causes() -> None:
    error: dict[str, Any] = {"code": "SYS.1000", "details": "the last"}
    for number in range(300):
        error = {"code": "SYS.1006", "details": f"number {number}", "cause": error}
    with (
        StubServer(lambda request: StubResponse(503, {"error": error})) as service,
        pytest.raises(ApiError, match=r"SYS\.1006") as caught,
    ):
        client_of(service).get("QueryHost", {})
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    "error",
    [
        {"code": 5, "details": ["a"], "description": {"b": 1}, "cause": "c"},
        {"code": None},
        {"unknown": True},
    ],
)
def test_odd_errors(error: dict[str, Any]) -> None:
    with (
        StubServer(lambda request: StubResponse(503, {"error": error})) as service,
        pytest.raises(ApiError, match="failed"),
    ):
        client_of(service).get("QueryHost", {})


PAGE = b"<html><title>t</title><body><h1>Too  bad</h1></body></html>"


@pytest.mark.parametrize("status", [400, 401, 403, 409, 500])
@pytest.mark.parametrize("body", [b"", b"Too bad", PAGE])
def test_reads_that_are_refused(status: int, body: bytes) -> None:
    with StubServer(lambda request: StubResponse(status, body)) as service, pytest.raises(ApiError) as caught:
        client_of(service).get("QueryHost", {})
    assert str(caught.value).startswith(f"QueryHost failed with HTTP status {status}{': Too bad' if body else ''}")
    assert len(service.requests) == 1


@pytest.mark.parametrize("status", [400, 403, 429, 500])
@pytest.mark.parametrize("body", [b"", b"Too bad"])
@pytest.mark.parametrize("headers", [(), (("Content-Type", "text/plain;charset=UTF-8"),)])
def test_calls_that_are_refused(status: int, body: bytes, headers: tuple[tuple[str, str], ...]) -> None:
    with StubServer(lambda request: StubResponse(status, body, headers)) as service, pytest.raises(ApiError) as caught:
        client_of(service, request_retries=0).start_job("ChangeHostState", DISABLE)
    advice = ". The service is overloaded: run the task again later, or fewer tasks at the same time (throttle)."
    failed = f"ChangeHostState failed with HTTP status {status}{': Too bad' if body else ''}"
    assert str(caught.value) == failed + (advice if status == 429 else "")
    assert len(service.requests) == 1


def test_reads_are_repeated_after_an_error_of_a_gateway() -> None:
    answers = iter(
        (StubResponse(503, {"error": {"code": 503, "message": "no upstream"}}), StubResponse(200, {"inventories": []}))
    )
    with StubServer(lambda request: next(answers)) as service:
        assert query(client_of(service), "QueryHost") == []


@pytest.mark.parametrize("status", [404, 405])
def test_reads_that_a_service_lacks(sim: Simulator, client: Client, status: int) -> None:
    sim.configure(companions=str(status))
    with pytest.raises(Unsupported, match=rf"does not offer QueryHost, or path_prefix is wrong .HTTP status {status}"):
        query(client, "QueryHost")
    with pytest.raises(Unsupported, match="the service does not offer QueryHost"):
        get_by_uuid(client, "QueryHost", HOST)


@pytest.mark.parametrize(("configured", "asked", "requests"), [(3, 1, 2), (0, 2, 1), (3, 0, 1)])
def test_number_of_retries_can_be_reduced(configured: int, asked: int, requests: int) -> None:
    with StubServer(lambda request: StubResponse(502)) as service:
        client = client_of(service, request_retries=configured)
        with pytest.raises(ApiError):
            client.with_retries(asked).get("QueryHost", {})
        assert len(service.requests) == requests
        with pytest.raises(ApiError):
            client.get("QueryHost", {})
        assert len(service.requests) == requests + configured + 1


def test_writing_operation_that_a_service_lacks(sim: Simulator, new_client: ClientFactory) -> None:
    with pytest.raises(Unsupported, match=r"or path_prefix is wrong .HTTP status 404 for PUT /elsewhere/v"):
        reply_to(new_client(path_prefix="elsewhere"), "ChangeHostState", DISABLE)


def test_check_mode_sends_nothing_but_get(sim: Simulator, new_client: ClientFactory) -> None:
    client = new_client(read_only=True)
    assert len(query(client, "QueryHost")) == 3
    sim.clear_log()
    with pytest.raises(InvalidOptions, match="ChangeHostState changes something and is not sent in check mode"):
        reply_to(client, "ChangeHostState", DISABLE)
    assert sim.log() == []


# ------------------------------------------------------------------------------------------------------------ polling


def test_expired_job(sim: Simulator, no_wait_client: Client) -> None:
    sim.fault("expire", "ChangeHostState")
    job = no_wait_client.start_job("ChangeHostState", DISABLE)
    with pytest.raises(JobNotFound, match=f"the service does not know job {job.uuid}") as caught:
        wait_for_job(no_wait_client, job)
    assert caught.value.result["job"]["state"] == "unknown"


@pytest.mark.parametrize("fault", TRANSIENT_FAULTS, ids=name_fault)
def test_polling_tolerates(sim: Simulator, no_wait_client: Client, fault: dict[str, Any]) -> None:
    sim.fault(operation="poll", count=3, **fault)
    assert reply_to(no_wait_client, "ChangeHostState", DISABLE)["inventory"]["state"] == "Disabled"
    assert len(requests_of(sim, "poll")) == 4
    assert len(requests_of(sim, "ChangeHostState")) == 1


ERROR = {"error": {"code": "SYS.1006", "details": "no"}}


@pytest.mark.parametrize(
    ("status", "body", "state", "message"),
    [
        (202, {}, "running", None),
        (202, b"", "running", None),
        (200, {"inventory": {"uuid": HOST}}, "succeeded", None),
        (200, {}, "succeeded", None),
        (200, ERROR, "failed", r"ChangeHostState failed \(SYS\.1006\): no"),
        (503, ERROR, "failed", r"ChangeHostState failed \(SYS\.1006\): no"),
        (400, ERROR, "failed", r"ChangeHostState failed \(SYS\.1006\): no"),
        (
            404,
            b"",
            "unknown",
            f"the service does not know job {JOB}, or no longer knows it. Check the id; if it is right",
        ),
        (404, ERROR, "failed", r"ChangeHostState failed \(SYS\.1006\): no"),
        (
            404,
            b"unable to find job",
            "unknown",
            f"the service does not know job {JOB}, or no longer knows it. Check the id; if it is right",
        ),
    ],
)
def test_outcomes_of_a_poll(status: int, body: Any, state: str, message: str | None) -> None:
    with StubServer(lambda request: StubResponse(status, body)) as service:
        job = Job(JOB, f"/service/v1/api-jobs/{JOB}", "ChangeHostState")
        assert client_of(service).poll(job) is (state != "running")
    assert job.state == state
    assert job.result == (body if state == "succeeded" else {})
    assert (job.failure is None) == (message is None)
    assert message is None or re.search(message, str(job.failure))


@pytest.mark.parametrize(
    ("status", "body"),
    [
        *((status, b"<html>oops</html>") for status in (400, 403, 404, 405, 500, 501)),
        *((status, b"what job?") for status in (304, 400, 401, 403, 405, 407, 421, 425, 499)),
        *((status, {"error": {"code": status, "message": "no upstream"}}) for status in (404, 503)),
        *((status, ERROR) for status in (429, 502, 504)),
        *((status, b"") for status in (200, 204, 408, 503)),
        *((200, body) for body in (b"oops", b"[]", LOGIN, {"success": False}, {"error": "no"}, {"inventory": 7})),
    ],
)
def test_inconclusive_polls(status: int, body: Any) -> None:
    job = Job(JOB, f"/service/v1/api-jobs/{JOB}", "ChangeHostState")
    message = f"job {JOB} "
    with (
        StubServer(lambda request: StubResponse(status, body)) as service,
        pytest.raises(TransportError, match=message),
    ):
        client_of(service, request_retries=1).poll(job)
    assert (job.state, job.failure) == ("running", None)


@pytest.mark.parametrize(
    "response",
    [
        StubResponse(302, b"", (("Location", "http://192.0.2.1/login"),)),
        *(
            StubResponse(status, b"<html>no</html>", HTML)
            for status in (400, 403, 404, 405, 407, 421, 425, 499, 501, 503)
        ),
        StubResponse(200, b"x", (("Content-Encoding", "gzip"),)),
        StubResponse(200, LOGIN),
        StubResponse(503, {"error": {"code": 503, "message": "no upstream"}}),
    ],
    ids=lambda response: f"{response.status}-{str(response.body)[:30]}",
)
def test_waiting_tolerates(response: StubResponse) -> None:
    """A gateway that answers a poll does not end the wait before its timeout."""
    answers = iter([*[response] * 9, StubResponse(202, {}), response])

    def answer(request: StubRequest) -> StubResponse:
        return (
            StubResponse(202, {})
            if request.method == "PUT"
            else next(answers, StubResponse(200, {"inventory": {"uuid": HOST}}))
        )

    with StubServer(answer) as service:
        client = client_of(service, request_retries=0)
        assert reply_to(client, "ChangeHostState", DISABLE) == {"inventory": {"uuid": HOST}}
    with StubServer(lambda request: StubResponse(202, {}) if request.method == "PUT" else response) as service:
        client = client_of(service, request_retries=0)
        client.wait.timeout = 2
        with pytest.raises(WaitTimeout, match=r"has no result after 2 s\. .* The last poll failed: .*job"):
            reply_to(client, "ChangeHostState", DISABLE)


def test_job_of_an_unknown_operation() -> None:
    with StubServer(lambda request: StubResponse(503, ERROR)) as service:
        job = Job(JOB, f"/service/v1/api-jobs/{JOB}")
        client_of(service).poll(job)
    assert str(job.failure) == "the operation failed (SYS.1006): no"


# ---------------------------------------------------------------------------------------------- what is sent once only


@pytest.mark.parametrize(
    "fault",
    [
        {"fault": "drop_after"},
        {"fault": "truncate", "taken": True},
        {"fault": "status", "status": 502, "taken": True},
        {"fault": "status", "status": 504},
        {"fault": "html"},
    ],
    ids=lambda fault: f"{fault['fault']}-{fault.get('status', '')}",
)
def test_lost_answer_of_a_writing_call(sim: Simulator, no_wait_client: Client, fault: dict[str, Any]) -> None:
    sim.fault(operation="ChangeHostState", count=None, **fault)
    with pytest.raises(ResponseLost) as caught:
        no_wait_client.start_job("ChangeHostState", DISABLE)
    (call,) = requests_of(sim, "ChangeHostState")
    assert caught.value.job.uuid == call["headers"]["x-job-uuid"]
    assert caught.value.job.state == "unknown"


def test_calls_that_were_not_sent_are_retried(sim: Simulator, no_wait_client: Client) -> None:
    sim.fault("status", "ChangeHostState", status=429, count=3)
    assert reply_to(no_wait_client, "ChangeHostState", DISABLE)["inventory"]["state"] == "Disabled"
    calls = requests_of(sim, "ChangeHostState")
    assert len(calls) == 4
    assert len({call["headers"]["x-job-uuid"] for call in calls}) == 1


@pytest.mark.parametrize("garbage", ["json", "utf8", "types", "missing", "deep"])
def test_accepted_call_with_a_malformed_reply(sim: Simulator, no_wait_client: Client, garbage: str) -> None:
    sim.fault("garbage", "ChangeHostState", garbage=garbage)
    assert reply_to(no_wait_client, "ChangeHostState", DISABLE)["inventory"]["state"] == "Disabled"
    assert len(requests_of(sim, "ChangeHostState")) == 1


@pytest.mark.parametrize(("fault", "taken"), [("drop_after", True), ("drop_before", False)])
def test_own_job_shows_whether_a_call_was_accepted(
    sim: Simulator, no_wait_client: Client, fault: str, taken: bool
) -> None:
    sim.fault(fault, "ChangeHostState")
    with pytest.raises(ResponseLost) as caught:
        no_wait_client.start_job("ChangeHostState", DISABLE)
    assert job_exists(no_wait_client, caught.value.job, no_wait_client.wait.compute_deadline()) is taken
    assert caught.value.job.failure is None


def test_own_job_is_polled_until_its_outcome_is_known(sim: Simulator, new_client: ClientFactory) -> None:
    clock = FakeClock()
    client = new_client(clock=clock, request_retries=0)
    sim.fault("drop_after", "ChangeHostState")
    sim.fault("status", "poll", status=502, count=3)
    with pytest.raises(ResponseLost) as caught:
        client.start_job("ChangeHostState", DISABLE)
    sim.advance()
    assert job_exists(client, caught.value.job, client.wait.compute_deadline()) is True
    assert caught.value.job.state == "succeeded"
    assert len(requests_of(sim, "poll")) == 4


def test_polling_the_own_job_ends(sim: Simulator, new_client: ClientFactory) -> None:
    clock = FakeClock()
    client = new_client(clock=clock, request_retries=0)
    sim.fault("drop_after", "ChangeHostState")
    sim.fault("drop_before", "poll", count=None)
    with pytest.raises(ResponseLost) as caught:
        client.start_job("ChangeHostState", DISABLE)
    assert job_exists(client, caught.value.job, client.wait.compute_deadline()) is False
    assert caught.value.job.state == "unknown"
    assert 2 < clock.now - 1000 < 4
