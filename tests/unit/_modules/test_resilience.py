"""Slow, overloaded, failing or hostile services: tasks end in time, with an accurate result and few requests."""

from __future__ import annotations

import itertools
import os
import resource
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._api.errors import (
    ApiError,
    ResponseLost,
    TransportError,
    VirtinfraError,
    WaitTimeout,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._engine.calls import Call, Refused, perform
from ansible_collections.virtinfra.manager.plugins.module_utils._engine.spec import PlannedCall
from ansible_collections.virtinfra.manager.plugins.module_utils._http import transport as _transport
from ansible_collections.virtinfra.manager.plugins.module_utils._http.connection import ConnectionOptions
from conftest import FakeClock, client_of, reply_to

from simulator.launch import Simulator
from support.clients import make_client
from support.fast_clock import with_fast_clock
from support.module_runner import ModuleRunner, run_module
from support.scenarios import CREATED_TASK, HOST, NEW_HOST, SCENARIOS, Scenario
from support.socket_servers import ByteServer, Relay, full_port, taken_port
from support.stub_server import StubRequest, StubResponse, StubServer
from support.tls import untrusted_context

JOB = "5d1f3f9a0e7b4f0d9b9a0c6f3a7f1b2c"


# -------------------------------------------------------------------------------------------------------------- waiting


def test_silent_polls_do_not_prolong_the_waiting() -> None:
    """The service answers each poll only after the timeout."""
    late = threading.Event()

    def answer(request: StubRequest) -> StubResponse:
        if request.method == "GET":
            late.wait(3)
            return StubResponse(200, {"inventory": {}})
        return StubResponse(202, {"location": f"/service/v1/api-jobs/{JOB}"})

    with StubServer(answer) as service:
        connection = ConnectionOptions(service.url, session_id="the-session", request_timeout=30)
        client = make_client(connection, wait_timeout=0.3, wait_interval=0.2)
        with client, pytest.raises(WaitTimeout, match=r"has no result after 0\.3 s") as caught:
            reply_to(client, "ChangeHostState", {"uuid": HOST, "stateEvent": "disable"})
        late.set()
    assert caught.value.result["job"] == {
        "uuid": JOB,
        "job_uuid": caught.value.result["job"]["job_uuid"],
        "location": f"/service/v1/api-jobs/{JOB}",
        "operation": "ChangeHostState",
        "object": None,
        "state": "running",
    }


def test_job_wait_finishes_what_timed_out(sim: Simulator, run: ModuleRunner) -> None:
    sim.configure(latencies={"AddKVMHost": 60.0})
    ran = run("kvm_host", NEW_HOST, wait_timeout=0.2)
    assert ran.failed
    assert ran.changed
    assert "AddKVMHost is still running after 0.2 s" in ran.message
    handle = ran["job"]
    assert run("job_info", {"jobs": [handle]})["jobs"][0]["state"] == "running"
    again = run("job_wait", {"jobs": [handle]}, wait_timeout=0.2)
    assert again.failed
    assert again["jobs"][0]["state"] == "running"
    once = run("job_wait", {"jobs": [handle]}, wait_timeout=0)
    assert once.failed
    assert [entry["operation"] for entry in once.log] == ["poll"]
    sim.advance()
    ended = run("job_wait", {"jobs": [handle]}, wait_timeout=0)
    assert ended["jobs"][0]["result"]["inventory"]["managementIp"] == NEW_HOST["management_ip"]
    unchanged = run("kvm_host", NEW_HOST)
    assert not unchanged.changed
    assert unchanged.calls == []


def test_silent_reads_do_not_prolong_the_waiting(sim: Simulator) -> None:
    """The service answers the read of a connecting host only after the timeout."""
    late = threading.Event()
    record = {"uuid": HOST, "state": "Enabled", "status": "Connecting"}

    def answer(request: StubRequest) -> StubResponse:
        if len(service.requests) > 1:
            late.wait(3)
            return StubResponse(200, {"inventories": [{**record, "status": "Connected"}]})
        return StubResponse(200, {"inventories": [record]})

    with StubServer(answer) as service:
        options = {"uuid": HOST, "state": "enabled", "wait_timeout": 0.3, "wait_interval": 0.2}
        result = run_module("kvm_host", {"base_url": service.url, "session_id": "the-session", **options}).result
        late.set()
    assert "status is still Connecting after 0.3 s" in result["msg"]
    assert not result["changed"]


@pytest.mark.parametrize(
    "fault",
    [{"fault": "drop_before"}, {"fault": "status", "status": 502}, {"fault": "status", "status": 429}],
    ids=str,
)
def test_waiting_for_a_host_tolerates(sim: Simulator, fault: dict[str, Any]) -> None:
    sim.reset(reconnect=0.2, latency=0.0)
    sim.change("host", HOST, state="Maintenance")
    sim.fault(**fault, operation="QueryHost", skip=2, count=6)
    options = {"base_url": sim.url, "session_id": sim.session, "request_retries": 1}
    with with_fast_clock():
        result = run_module("kvm_host", {**options, "uuid": HOST, "state": "enabled"}).result
    assert not result.get("failed"), result
    assert result["host"]["status"] == "Connected"
    assert sim.faults()[0]["happened"] == 6


def test_session_that_expires_during_the_waiting(sim: Simulator, run: ModuleRunner) -> None:
    """Polls do not renew the session, so the job succeeds and then the host cannot be read."""
    sim.reset(session_lifetime=0.3, latencies={"ChangeHostState": 0.6})
    ran = run("kvm_host", {"uuid": HOST, "state": "disabled"})
    assert ran.failed
    assert "log in again" in ran.message
    assert ran.changed
    assert ran["done"] == ["ChangeHostState"]
    assert next(host for host in sim.records("host") if host["uuid"] == HOST)["state"] == "Disabled"


# ------------------------------------------------------------------------------------------------------------- overload


@pytest.mark.parametrize("scenario", {each.module: each for each in SCENARIOS}.values(), ids=str)
def test_one_connection_for_a_task(sim: Simulator, run: ModuleRunner, scenario: Scenario) -> None:
    sim.reset(cbt_tasks=4, latency=0.0, reconnect=0.0, boot=0.0)
    for kind, uuid, members in scenario.prepare:
        sim.change(kind, uuid, **members)
    sim.fault("status", status=429, retry_after=0)
    with Relay(sim.port) as relay, with_fast_clock():
        ran = run(scenario.module, scenario.options, base_url=relay.url)
    assert not ran.failed, ran.result
    assert relay.accepted == 1
    assert [entry["status"] for entry in ran.log].count(429) == 1


def test_more_tasks_than_the_rate_limit_allows(sim: Simulator) -> None:
    sim.configure(rate_limit=40.0)
    connection = {"base_url": sim.url, "session_id": sim.session}
    addresses = [f"10.0.1.{number}" for number in range(1, 21)]

    def add(address: str) -> dict[str, Any]:
        return run_module("kvm_host", {**connection, **NEW_HOST, "name": address, "management_ip": address}).result

    with ThreadPoolExecutor(len(addresses)) as pool:
        results = list(pool.map(add, addresses))
    sim.configure(rate_limit=0.0)
    assert [result for result in results if result.get("failed")] == []
    assert any(entry["status"] == 429 for entry in sim.log())
    assert sorted(host["managementIp"] for host in sim.records("host"))[-20:] == sorted(addresses)


# ------------------------------------------------------------------------------------------------ an overloaded service


def respond_overloaded(status: int, retry_after: str = "8") -> Callable[[StubRequest], StubResponse]:
    """Return a function that answers every request with a status of an overloaded service."""
    return lambda request: StubResponse(status, b"Slow down", (("Retry-After", retry_after),))


def test_call_of_an_overloaded_service_ends_before_the_deadline() -> None:
    clock = FakeClock()
    with StubServer(respond_overloaded(429)) as service:
        connection = ConnectionOptions(service.url, session_id="the-session")
        with make_client(connection, clock=clock, wait_timeout=2) as client:
            planned = PlannedCall("DeleteNicQos", {"uuid": HOST, "direction": "in"}, None)
            call = Call(client, planned, "NIC", wait=True, deadline=client.wait.compute_deadline())
            outcome = perform(call, lambda: None)
    assert isinstance(outcome, Refused)
    assert isinstance(outcome.error, ApiError)
    assert outcome.error.code == "HTTP_429"
    assert str(outcome.error) == (
        "DeleteNicQos failed with HTTP status 429: Slow down. The service is overloaded and asks to wait 8 s: run the"
        " task again later, or fewer tasks at the same time (throttle)."
    )
    assert clock.slept == []
    assert [request.method for request in service.requests] == ["DELETE"]


def test_poll_of_an_overloaded_service_ends_the_task_with_its_job() -> None:
    """The service asks to wait until after the deadline, so it gets no further request."""

    def answer(request: StubRequest) -> StubResponse:
        if request.method == "GET":
            return respond_overloaded(429, "60")(request)
        return StubResponse(202, {"location": f"/service/v1/api-jobs/{request.headers['X-Job-UUID']}"})

    with StubServer(answer) as service:
        options = {"base_url": service.url, "session_id": "the-session", "wait_timeout": 30}
        params = {"uuid": HOST, "direction": "in"}
        result = run_module("api", {**options, "operation": "DeleteNicQos", "params": params}).result
    assert [request.method for request in service.requests] == ["DELETE", "GET"]
    assert result["error"]["code"] == "TIMEOUT"
    assert result["changed"] is True
    assert result["job"]["uuid"] in result["msg"]
    assert "HTTP status 429: Slow down. The service is overloaded and asks to wait 60 s" in result["msg"]
    assert "base_url" not in result["msg"]


@pytest.mark.parametrize("timeout", [1, 600])
def test_reads_after_a_call_have_the_deadline_of_the_task(sim: Simulator, timeout: float) -> None:
    """Reads after the call were sent without a deadline."""
    sim.fault("status", "QueryHost", status=429, retry_after=30, skip=1, count=3)
    options = {"uuid": HOST, "state": "disabled", "wait_timeout": timeout}
    with with_fast_clock():
        result = run_module("kvm_host", {"base_url": sim.url, "session_id": sim.session, **options}).result
    assert bool(result.get("failed")) is (timeout == 1)
    assert result["changed"] is True
    assert len([entry for entry in sim.log() if entry["operation"] == "QueryHost"]) == (2 if timeout == 1 else 5)
    if timeout == 1:
        assert result["error"]["code"] == "HTTP_429"
        assert result["done"] == ["ChangeHostState"]


def test_wait_for_a_state_ends_when_an_overloaded_service_asks_for_longer(sim: Simulator) -> None:
    record = {"uuid": HOST, "state": "Enabled", "status": "Connecting"}

    def answer(request: StubRequest) -> StubResponse:
        first = len(service.requests) == 1
        return StubResponse(200, {"inventories": [record]}) if first else respond_overloaded(429, "60")(request)

    with StubServer(answer) as service:
        options = {"base_url": service.url, "session_id": "the-session", "wait_timeout": 30}
        result = run_module("kvm_host", {**options, "uuid": HOST, "state": "enabled"}).result
    assert len(service.requests) == 2
    assert result["error"]["code"] == "TIMEOUT"
    assert "The service is overloaded and asks to wait 60 s" in result["msg"]


@pytest.mark.parametrize(("status", "remedy"), [(429, "throttle"), (503, "run the task again later")])
def test_overloaded_service_is_no_wrong_address(status: int, remedy: str) -> None:
    with StubServer(lambda request: StubResponse(status, b"<html>busy</html>")) as service:
        options = {"base_url": service.url, "session_id": "the-session", "request_retries": 0}
        for module, more in (("host_info", {}), ("job_info", {"jobs": [{"uuid": HOST}]})):
            result = run_module(module, {**options, **more}).result
            assert result["error"]["code"] == f"HTTP_{status}"
            assert "overloaded" in result["msg"]
            assert remedy in result["msg"]
            assert "base_url" not in result["msg"]


def test_long_waits_of_an_overloaded_service_have_a_limit() -> None:
    """Inventories have no wait_timeout, so the client limits the time of all retries."""
    clock = FakeClock()
    with StubServer(respond_overloaded(429, "120")) as service:
        with client_of(service, clock) as client, pytest.raises(ApiError):
            client.get("QueryHost", {})
        assert sum(clock.slept) <= 300
        assert len(service.requests) == 3


# ---------------------------------------------------------------------------------------------------- dropped packets


@pytest.mark.parametrize("name", ["QueryHost", "ChangeHostState"])
def test_connect_has_its_own_timeout(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """A firewall drops the packets: the message says that no connection was established, so nothing was sent."""
    monkeypatch.setattr(_transport, "MAX_CONNECT_TIME", 0.1)
    with full_port() as port:
        connection = ConnectionOptions(
            f"http://127.0.0.1:{port}", session_id="the-session", request_timeout=3, request_retries=2
        )
        with make_client(connection, clock=FakeClock()) as client, pytest.raises(TransportError) as caught:
            reply_to(client, name, {"uuid": HOST, "stateEvent": "disable"} if name == "ChangeHostState" else {})
    assert f"cannot connect to {connection.origin}: timed out" in str(caught.value)
    assert "3 attempts" in str(caught.value)
    assert not isinstance(caught.value, ResponseLost)


def test_time_for_connecting_is_ten_seconds() -> None:
    assert _transport.MAX_CONNECT_TIME == 10


@pytest.mark.parametrize("chance", [0.0, 1.0])
@pytest.mark.parametrize("seconds", [0.001, 3, 10, 30])
def test_outage_is_limited_whatever_an_attempt_takes(chance: float, seconds: float) -> None:
    """Each attempt takes some time, because packets are dropped, or because no response arrives."""
    clock, attempts = FakeClock(chance), []

    def attempt() -> None:
        attempts.append(clock.now)
        clock.now += seconds

    with taken_port() as nobody:
        url = f"http://127.0.0.1:{nobody.getsockname()[1]}"
        connection = ConnectionOptions(url, session_id="the-session")
        with (
            make_client(connection, clock=clock, before_send=attempt) as client,
            pytest.raises(TransportError, match=rf"{'9' if seconds < 3 else '[2-9]'} attempts in"),
        ):
            client.get("QueryHost", {})
    assert 36 <= attempts[-1] + seconds - attempts[0] <= 46 + seconds
    assert attempts[-1] - attempts[0] <= 45.5


# ----------------------------------------------------------------------------------------------- answers without an end


Speak = Callable[[], Iterator[bytes]]


def drip(first: bytes, part: bytes, last: bytes = b"") -> Speak:
    """Send single bytes, each within the timeout, for longer than the timeout in total."""

    def speak() -> Iterator[bytes]:
        yield first
        for dummy in range(60):
            time.sleep(0.05)
            yield part
        yield last

    return speak


EMPTY = b"\r\nContent-Length: 0\r\n\r\n"


SLOW = {
    "body": drip(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", b" "),
    "chunks": drip(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
    "error": drip(b"HTTP/1.1 503 No\r\n\r\n", b" "),
    "status line": drip(b"HTTP/1.1 200 O", b"K", EMPTY),
    "header": drip(b"HTTP/1.1 200 OK\r\nX-Slow: ", b"x", EMPTY),
    "headers": drip(b"HTTP/1.1 200 OK\r\nX-Slow: x", b"\r\nX-Slow: x", EMPTY),
    "interim response": drip(b"HTTP/1.1 103 Early Hints\r\n", b"Link: </a>\r\n"),
}


@pytest.mark.parametrize("secure", [False, True], ids=["plain", "TLS"])
def test_responses_that_arrive_slowly(secure: bool) -> None:
    context = untrusted_context() if secure else None

    def read(speak: Speak) -> str:
        with ByteServer(speak, context) as service:
            connection = ConnectionOptions(
                service.url, session_id="the-session", validate_certs=False, request_timeout=0.4, request_retries=0
            )
            with make_client(connection) as client, pytest.raises(TransportError) as caught:
                client.get("QueryHost", {})
        return str(caught.value).removeprefix(service.url)

    with ThreadPoolExecutor(len(SLOW)) as pool:
        messages = dict(zip(SLOW, pool.map(read, SLOW.values()), strict=True))
    assert messages == dict.fromkeys(SLOW, " did not answer QueryHost within 0.4 s")


@pytest.mark.parametrize(
    "interim",
    [
        b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n",
        b"HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n",
    ],
)
def test_interim_responses_are_skipped(interim: bytes) -> None:
    def speak() -> Iterator[bytes]:
        yield interim + b"HTTP/1.1 202 Accepted\r\nContent-Length: 2\r\n\r\n{}"

    with ByteServer(speak) as service, make_client(ConnectionOptions(service.url, session_id="the-session")) as client:
        assert client.start_job("CreateSNSSnmpEndpoint", {"name": "a"}).state == "running"


def test_endless_interim_responses() -> None:
    def speak() -> Iterator[bytes]:
        yield from itertools.repeat(b"HTTP/1.1 103 Early Hints\r\n\r\n", 100)

    with (
        ByteServer(speak) as service,
        make_client(ConnectionOptions(service.url, session_id="the-session")) as client,
        pytest.raises(ResponseLost, match=r"too many interim responses|Connection reset"),
    ):
        client.start_job("CreateSNSSnmpEndpoint", {"name": "a"})


def flood() -> Iterator[bytes]:
    """Send bytes endlessly."""
    yield b"HTTP/1.1 200 OK\r\n\r\n{"
    yield from itertools.repeat(b'"a": "' + b"x" * 1_000_000 + b'",')


def test_endless_response() -> None:
    with ByteServer(flood) as service, make_client(ConnectionOptions(service.url, session_id="the-session")) as client:
        assert "larger than 64 MiB" in run_in_little_memory(lambda: client.get("QueryHost", {}))


@pytest.mark.parametrize("value", [b"{},", b"[],", b'{"a":1},', b"1.5,", b'"a",'])
def test_response_with_too_many_values(value: bytes) -> None:
    """63 MiB of small values would need gigabytes of memory."""
    body = b'{"inventories": [' + value * (63 * 2**20 // len(value)) + b"1]}"
    with (
        StubServer(lambda request: StubResponse(200, body)) as service,
        make_client(ConnectionOptions(service.url, session_id="the-session")) as client,
    ):
        assert "contains more than 5000000 values" in run_in_little_memory(lambda: client.get("QueryHost", {}))


def test_response_with_many_records() -> None:
    """Ten thousand records of 40 members are read at once if the service has no paging."""
    record = {f"member{number}": "x" * 20 for number in range(40)}
    records = [{"uuid": f"{number:032x}", **record} for number in range(10_000)]
    with StubServer(lambda request: StubResponse(200, {"inventories": records, "total": len(records)})) as service:
        connection = ConnectionOptions(service.url, session_id="the-session")
        with make_client(connection) as client:
            assert len(client.get("QueryHost", {})["inventories"]) == 10_000


def test_connection_that_the_service_closed_in_the_meantime() -> None:
    """The client detects a closed connection before it sends a call on it, because the call would be lost."""

    def speak() -> Iterator[bytes]:
        yield b"HTTP/1.1 202 Accepted\r\nContent-Length: 2\r\n\r\n{}"

    with ByteServer(speak) as service, make_client(ConnectionOptions(service.url, session_id="the-session")) as client:
        for dummy in range(3):
            assert client.start_job("CreateSNSSnmpEndpoint", {"name": "a"}).state == "running"
            time.sleep(0.1)


@pytest.mark.parametrize("garbage", ["huge", "bomb", "deep"])
@pytest.mark.parametrize("operation", ["QueryHost", "DisableCbtTask", "poll"])
def test_answers_that_are_too_much(sim: Simulator, garbage: str, operation: str) -> None:
    sim.reset(cbt_tasks=1, latency=0.0)
    sim.fault("garbage", operation, garbage=garbage, count=None)
    module, options = "host_info", {"base_url": sim.url, "session_id": sim.session, "request_retries": 1}
    if operation != "QueryHost":
        module, call = "api", {"operation": "DisableCbtTask", "params": {"uuid": CREATED_TASK}}
        options = {**options, **call, "wait_timeout": 0.3, "wait_interval": 0.1}
    outcome = run_in_little_memory(lambda: run_module(module, options).result.get("msg", ""))
    if garbage != "huge":
        expected = ("not a JSON object", "although no compression was requested", "has no result after")
        assert outcome == "" or any(text in outcome for text in expected), outcome


def test_error_with_long_texts(sim: Simulator, run: ModuleRunner) -> None:
    details = "no " * 100_000 + "end"
    sim.fault("fail", "QueryHost", error={"code": "SYS.1006", "details": details})
    ran = run("host_info", {})
    assert "QueryHost failed (SYS.1006): " in ran.message
    assert len(ran.message) < 3000
    assert ran["error"]["details"] == details


def run_in_little_memory(function: Callable[[], Any], megabytes: int = 400) -> str:
    """Call a function in a child process with limited memory; return its result or the message of its failure."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        # The threads of a test's own servers wait for requests in the meantime and hold no lock.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        os.close(reading)
        held = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (held + megabytes * 2**20,) * 2)
        outcome = "it did not end as it should"
        try:
            outcome = str(function())
        except VirtinfraError as failure:
            outcome = str(failure)
        except MemoryError:
            outcome = "it needs too much memory"
        finally:
            os.write(writing, outcome[:60000].encode())
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as pipe:
        outcome = pipe.read()
    os.waitpid(child, 0)
    assert not outcome.startswith("it "), outcome
    return outcome


# ------------------------------------------------------------------------------------------------------- hostile values


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (b'"half \\ud83d"', "half ?"),
        (b'"\\udfff\\ud800"', "??"),
        (b'"whole \\ud83d\\ude00"', "whole \U0001f600"),
        (b'"not \\\\ud83d"', "not \\ud83d"),
    ],
)
def test_values_that_are_not_strings(sent: bytes, expected: Any) -> None:
    body = b'{"inventories": [{"uuid": "%s", "name": %s}]}' % (HOST.encode(), sent)
    with StubServer(lambda request: StubResponse(200, body)) as service:
        result = run_module(
            "host_info", {"base_url": service.url, "session_id": "the-session", "query": ["state=Enabled"]}
        ).result
    assert result["hosts"][0]["name"] == expected


@pytest.mark.parametrize(
    "sent", [b"NaN", b"Infinity", b"-Infinity", b"1e999", b"-1e999", b"[" * 200 + b"]" * 200, b'"\xff"', b"'single'"]
)
def test_values_that_are_not_json(sent: bytes) -> None:
    body = b'{"inventories": [{"uuid": "%s", "name": %s}]}' % (HOST.encode(), sent)
    with StubServer(lambda request: StubResponse(200, body)) as service:
        result = run_module(
            "host_info", {"base_url": service.url, "session_id": "the-session", "request_retries": 0}
        ).result
    assert "the response to QueryHost is not a JSON object" in result["msg"]
