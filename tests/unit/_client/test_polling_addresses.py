"""Polling addresses of each legal form, and what services answer for ids that they do not know."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._api.errors import ApiError, JobNotFound
from ansible_collections.virtinfra.manager.plugins.module_utils._client.jobs import SUCCEEDED, UNKNOWN, Job
from ansible_collections.virtinfra.manager.plugins.module_utils._client.lists import combine_finders
from ansible_collections.virtinfra.manager.plugins.module_utils._http.connection import ConnectionOptions
from conftest import client_of

from support.clients import make_client
from support.module_runner import run_module
from support.stub_server import StubRequest, StubResponse, StubServer

NIC = "a0000006000040008000000000000001"
UNKNOWN_IDS = {
    "plain text": StubResponse(404, b"unable to find job"),
    "HTML": StubResponse(404, b"<html>no such page</html>", (("Content-Type", "text/html"),)),
    "HTML of a login": StubResponse(200, b"<html>log in</html>", (("Content-Type", "text/html"),)),
    "ErrorCode": StubResponse(404, {"error": {"code": "SYS.1003", "details": "no such job"}}),
    "ErrorCode of a failure": StubResponse(503, {"error": {"code": "SYS.1000", "details": "cannot find the job"}}),
}
# The polling address in the response, and the target of its polls. HOST stands for the address of the service.
ADDRESSES = {
    "HOST/poll-me/j1": "/poll-me/j1",
    "HOST/poll-me/j1/": "/poll-me/j1/",
    "HOST/jobs/a:b": "/jobs/a:b",
    "HOST/jobs/a=b,c;d@e+f": "/jobs/a=b,c;d@e+f",
    "HOST/jobs/%E4%B8%AD": "/jobs/%E4%B8%AD",
    "HOST/jobs?id=j1&x=y": "/jobs?id=j1&x=y",
    "http://10.99.0.1:8080/jobs/j1": "/jobs/j1",
    "/42": "/42",
    "poll-me/j1": "/service/v1/nic-qos/poll-me/j1",
}


class Service:
    """A service that answers calls with a polling address, and polls of unknown ids with ``unknown``."""

    def __init__(self, address: str, unknown: StubResponse, polls: int = 1) -> None:
        self.address, self.unknown, self.polls = address, unknown, polls
        self.calls: list[StubRequest] = []
        self.asked: list[str] = []
        self.target = ""

    def answer(self, request: StubRequest) -> StubResponse:
        """Respond to a request."""
        if request.method == "DELETE":
            self.calls.append(request)
            return StubResponse(202, {"location": self.address.replace("HOST", f"http://{request.headers['Host']}")})
        self.asked.append(request.target)
        if request.target != self.target:
            return self.unknown
        self.polls -= 1
        return StubResponse(202) if self.polls >= 0 else StubResponse(200, {})


def delete(service: StubServer, **options: Any) -> dict[str, Any]:
    """Remove the limit of a NIC and return the result of the task."""
    call = {"operation": "DeleteNicQos", "params": {"uuid": NIC, "direction": "in"}}
    return run_module("api", {"base_url": service.url, "session_id": "the-session", **call, **options}).result


@pytest.mark.parametrize("unknown", UNKNOWN_IDS.values(), ids=UNKNOWN_IDS)
@pytest.mark.parametrize("address", ADDRESSES)
def test_call_and_wait(address: str, unknown: StubResponse) -> None:
    """The call is made once; it succeeds when the job at the given address does."""
    host = Service(address, unknown)
    with StubServer(host.answer) as service:
        host.target = find_target(service, host, address)
        ran = delete(service)
        assert not ran.get("failed"), ran
        assert len(host.calls) == 1
        assert host.target in host.asked


def find_target(service: StubServer, host: Service, address: str) -> str:
    """Return the target of the polls of an address; a relative one is relative to the folder of the call's path."""
    if address != "poll-me/j1":
        return ADDRESSES[address]
    client = client_of(service)
    job = client.start_job("DeleteNicQos", {"uuid": NIC, "direction": "in"})
    folder = host.calls.pop().path.rpartition("/")[0]
    assert job.location == f"{folder}/poll-me/j1"
    return job.location


@pytest.mark.parametrize("unknown", UNKNOWN_IDS.values(), ids=UNKNOWN_IDS)
@pytest.mark.parametrize("address", ADDRESSES)
def test_wait_later(address: str, unknown: StubResponse) -> None:
    """The handle of a task that does not wait has the given address and the id that was sent; job_wait takes it."""
    host = Service(address, unknown)
    with StubServer(host.answer) as service:
        host.target = find_target(service, host, address)
        handle = delete(service, wait=False)["job"]
        assert handle["location"] == host.target
        assert handle["job_uuid"] == host.calls[0].headers["X-Job-UUID"]
        for item in (handle, {"location": handle["location"]}):
            waited = run_module(
                "job_wait", {"base_url": service.url, "session_id": "the-session", "jobs": [item]}
            ).result
            assert not waited.get("failed"), waited
            assert waited["jobs"][0]["uuid"] == handle["uuid"]
        assert waited["jobs"][0]["state"] == SUCCEEDED


def test_result_at_the_id_that_was_sent_replaces_the_address() -> None:
    """The response may be that to another call: the service knows the job with the id that was sent."""

    def answer(request: StubRequest) -> StubResponse:
        if request.method == "DELETE":
            return StubResponse(202, {"location": "/poll-me/j1"})
        if request.path.endswith("/j1"):
            return StubResponse(503, {"error": {"code": "SYS.1000", "details": "of another call"}})
        return StubResponse(200, {})

    with StubServer(answer) as service:
        ran = delete(service)
    assert not ran.get("failed"), ran


@pytest.mark.parametrize("answer", [UNKNOWN_IDS["ErrorCode"], UNKNOWN_IDS["ErrorCode of a failure"]])
def test_unknown_id_is_not_the_failure_of_a_job(answer: StubResponse) -> None:
    """Without an address, an ErrorCode ends a job only if the service answers an unknown id with another one."""
    with StubServer(lambda request: answer) as service:
        client = client_of(service)
        for dummy in range(2):
            job = Job("j1", "/service/v1/api-jobs/j1", is_guessed=True)
            client.poll(job)
            assert job.state == UNKNOWN
            assert isinstance(job.failure, JobNotFound)
        given = Job("j1", "/service/v1/api-jobs/j1")
        client.poll(given)
        assert isinstance(given.failure, ApiError)
        assert len(service.requests) == 4


def test_failure_of_a_known_job_is_its_own() -> None:
    """The service answers unknown ids with another code."""

    def answer(request: StubRequest) -> StubResponse:
        code = "HOST.1001" if request.path.endswith("/j1") else "SYS.1003"
        return StubResponse(503, {"error": {"code": code, "details": "no"}})

    with StubServer(answer) as service:
        job = Job("j1", "/service/v1/api-jobs/j1", is_guessed=True)
        client_of(service).poll(job)
    assert isinstance(job.failure, ApiError)
    assert job.failure.code == "HOST.1001"


@pytest.mark.parametrize("status", [404, 405])
def test_read_whose_operation_is_missing_with_an_error_code(status: int) -> None:
    """With a token the finder uses the cursor operation; without a token the read fails with the error."""
    missing = StubResponse(status, {"error": {"code": "SYS.1003", "details": "no such path"}})
    read = combine_finders(
        lambda client, desired: client.get("QueryVmInstance", {}), lambda client, desired: {"uuid": "by cursor"}
    )
    with StubServer(lambda request: missing) as service:
        assert read(client_of(service), {}) == {"uuid": "by cursor"}
        connection = ConnectionOptions(service.url, session_id="the-session")
        with pytest.raises(ApiError, match=r"SYS\.1003"):
            read(make_client(connection), {})
