"""The transport: responses, retries, timeouts, redirects, proxies, TLS."""

from __future__ import annotations

import re
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest
import trustme
from ansible_collections.virtinfra.manager.plugins.module_utils._api.errors import (
    ApiError,
    InvalidOptions,
    ResponseLost,
    TransportError,
    VirtinfraError,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._client.client import Client
from ansible_collections.virtinfra.manager.plugins.module_utils._client.lists import get_by_uuid, paginate_cursor, query
from ansible_collections.virtinfra.manager.plugins.module_utils._http import response as _response
from ansible_collections.virtinfra.manager.plugins.module_utils._http.adapter import PlainConnection
from ansible_collections.virtinfra.manager.plugins.module_utils._http.connection import ConnectionOptions
from conftest import ClientFactory, FakeClock, client_of, reply_to

from simulator.launch import Simulator
from support.clients import make_client
from support.faults import TRANSIENT_FAULTS, name_fault
from support.socket_servers import ByteServer, read_request, taken_port
from support.stub_server import StubRequest, StubResponse, StubServer

HOST = "a0000003000040008000000000000001"
DISABLE = {"uuid": HOST, "stateEvent": "disable"}
SECRETS = ("the-session", "the-token", "simulator-session", "simulator-token")


def failure_of(client: Client, name: str = "QueryHost") -> VirtinfraError:
    """Call an operation that fails and return the failure, after checking that it shows no secret."""
    with pytest.raises(VirtinfraError) as caught:
        reply_to(client, name, DISABLE if name == "ChangeHostState" else {})
    shown = f"{caught.value} {caught.value.result} {caught.value!r}"
    assert not [secret for secret in SECRETS if secret in shown]
    assert "\n" not in str(caught.value)
    return caught.value


# ------------------------------------------------------------------------------------------------------ sending again


@pytest.mark.parametrize(
    "fault",
    [
        *TRANSIENT_FAULTS,
        {"fault": "html", "count": 2},
        {"fault": "garbage", "garbage": "json", "count": 2},
        {"fault": "garbage", "garbage": "utf8", "count": 2},
    ],
    ids=name_fault,
)
def test_reads_tolerate(sim: Simulator, no_wait_client: Client, fault: dict[str, Any]) -> None:
    sim.fault(operation="QueryHost", **{"count": 4, **fault})
    assert len(query(no_wait_client, "QueryHost")) == 3
    assert len(sim.log()) == fault.get("count", 4) + 1


@pytest.mark.parametrize("retries", [0, 1, 5])
@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_retries_end(sim: Simulator, new_client: ClientFactory, retries: int, status: int) -> None:
    clock = FakeClock()
    sim.fault("status", "QueryHost", status=status, count=None)
    failure = failure_of(new_client(clock=clock, request_retries=retries))
    assert isinstance(failure, ApiError)
    assert str(failure).startswith(f"QueryHost failed with HTTP status {status}: ")
    assert len(sim.log()) == retries + 1
    assert len(clock.slept) == retries


def test_writes_are_retried_only_when_refused_for_overload(sim: Simulator, new_client: ClientFactory) -> None:
    sim.fault("status", "ChangeHostState", status=429, count=None)
    failure = failure_of(new_client(clock=FakeClock(), request_retries=3), "ChangeHostState")
    assert str(failure).startswith("ChangeHostState failed with HTTP status 429")
    assert len(sim.log()) == 4


@pytest.mark.parametrize("chance", [0.0, 0.5, 1.0])
def test_backoff_grows_with_jitter_in_its_upper_half(sim: Simulator, new_client: ClientFactory, chance: float) -> None:
    clock = FakeClock(chance)
    sim.fault("status", "QueryHost", status=429, count=None)
    failure_of(new_client(clock=clock, request_retries=10))
    longest = [min(30.0, 0.5 * 2**number) for number in range(10)]
    assert clock.slept == pytest.approx([(0.5 + 0.5 * chance) * each for each in longest])


@pytest.mark.parametrize("header", ["7", "120"])
def test_retry_after_is_honoured(sim: Simulator, new_client: ClientFactory, header: str) -> None:
    clock = FakeClock(chance=0.25)
    sim.fault("status", "QueryHost", status=429, retry_after=header, count=2)
    query(new_client(clock=clock), "QueryHost")
    assert clock.slept == pytest.approx([int(header) + 0.25] * 2)


@pytest.mark.parametrize("header", ["0", "soon", "-5", "1e9", "Wed, 21 Oct 2015 07:28:00 GMT"])
def test_invalid_retry_after(sim: Simulator, new_client: ClientFactory, header: str) -> None:
    clock = FakeClock(chance=1.0)
    sim.fault("status", "QueryHost", status=429, retry_after=header)
    query(new_client(clock=clock), "QueryHost")
    assert clock.slept == [0.5]


def test_retry_after_as_a_date(sim: Simulator, new_client: ClientFactory) -> None:
    """The delay is the time until the date, without jitter; the clock of the test does not advance."""
    clock = FakeClock(chance=0.0)
    date = format_datetime(datetime.now(timezone.utc) + timedelta(seconds=90), usegmt=True)
    sim.fault("status", "QueryHost", status=429, retry_after=date)
    query(new_client(clock=clock), "QueryHost")
    assert clock.slept == [pytest.approx(90, abs=30)]


@pytest.mark.parametrize("header", ["Wed, 21 Oct 99999 07:28:00 GMT", "Wed, 99 Oct 2015 07:28:00 GMT", "Wed"])
def test_retry_after_as_an_invalid_date(header: str) -> None:
    answers = [StubResponse(429, b"", (("Retry-After", header),)), StubResponse(200, {"inventories": []})]
    with StubServer(lambda request: answers[len(service.requests) - 1]) as service:
        assert query(client_of(service), "QueryHost") == []


@pytest.mark.parametrize(("chance", "slept"), [(0.0, [0.16, 0.32, 0.64, 1.28]), (1.0, [0.2, 0.4, 0.8, 1.6])])
def test_pauses_before_a_new_connection_are_short(
    sim: Simulator, new_client: ClientFactory, chance: float, slept: list[float]
) -> None:
    clock = FakeClock(chance)
    sim.fault("drop_before", "QueryHost", count=4)
    query(new_client(clock=clock), "QueryHost")
    assert clock.slept == pytest.approx(slept)


def test_retry_after_that_is_too_long(sim: Simulator, new_client: ClientFactory) -> None:
    clock = FakeClock()
    sim.fault("status", "QueryHost", status=429, retry_after="99999")
    assert "HTTP status 429" in str(failure_of(new_client(clock=clock)))
    assert clock.slept == []


def test_rate_limit(sim: Simulator, client: Client) -> None:
    """With a real clock and a rate limit, all requests succeed in the end."""
    sim.configure(rate_limit=20.0)
    assert {len(query(client, "QueryHost")) for dummy in range(30)} == {3}


# ------------------------------------------------------------------------------------------------------------ answers


BODIES = {
    "empty": b"",
    "blank": b" \r\n",
    "html": b"<html><head><title>Sign in</title></head><body>Please sign in</body></html>",
    "text": b"It works!",
    "list": b"[]",
    "string": b'"inventories"',
    "null": b"null",
    "number": b"7",
    "broken": b'{"inventories": [',
    "not UTF-8": b'{"inventories": "\xff\xfe"}',
    "deep": b'{"inventories":' * 100_000,
    "control characters": b"\x00\x1b[31mred\x07",
}


@pytest.mark.parametrize("body", BODIES.values(), ids=list(BODIES))
def test_responses_to_a_read_that_are_not_json(body: bytes) -> None:
    with StubServer(lambda request: StubResponse(200, body)) as service:
        failure = failure_of(client_of(service))
        assert str(failure).startswith("the response to QueryHost is not a JSON object: ")
        assert str(failure).endswith(". Check base_url.")
        assert len(str(failure)) < 500
        assert str(failure).isprintable()
    assert len(service.requests) == 3


@pytest.mark.parametrize("body", [body for body in BODIES.values() if body.strip()])
def test_responses_to_a_write_that_are_not_json(body: bytes) -> None:
    with StubServer(lambda request: StubResponse(200, body)) as service:
        failure = failure_of(client_of(service), "ChangeHostState")
        assert isinstance(failure, ResponseLost)
        assert len(str(failure)) < 500
    assert len(service.requests) == 1


@pytest.mark.parametrize("body", BODIES.values(), ids=list(BODIES))
@pytest.mark.parametrize("status", [400, 403, 500])
def test_refusals_of_every_kind(status: int, body: bytes) -> None:
    for name in ("QueryHost", "ChangeHostState"):
        with StubServer(lambda request: StubResponse(status, body)) as service:
            failure = failure_of(client_of(service), name)
        assert re.match(f"{name} (failed with|returned) HTTP status {status}", str(failure))
        assert len(str(failure)) < 500
        assert str(failure).isprintable()


def test_response_without_a_body() -> None:
    with StubServer(lambda request: StubResponse(200, b"")) as service:
        failure = failure_of(client_of(service))
    assert str(failure) == "the response to QueryHost is not a JSON object: it is empty. Check base_url."
    assert isinstance(failure, TransportError)
    assert failure.transient is False


@pytest.mark.parametrize(("size", "read"), [(_response.MEBIBYTE - 100, True), (_response.MEBIBYTE + 1, False)])
def test_one_mebibyte_of_an_error_is_read(size: int, read: bool) -> None:
    """A truncated body is no valid JSON, so its code is unknown."""
    error = {"error": {"code": "SYS.1000", "details": "x" * size}}
    with StubServer(lambda request: StubResponse(500, error)) as service:
        failure = failure_of(client_of(service))
    assert isinstance(failure, ApiError)
    assert (failure.code == "SYS.1000") is read
    assert str(failure).startswith("QueryHost failed " + ("(SYS.1000)" if read else "with HTTP status 500"))


def test_json_is_recognized_without_a_content_type() -> None:
    body = b'\xef\xbb\xbf{"inventories": []}'
    for kind in ("text/html", "application/octet-stream", "application/json;charset=latin-1"):
        with StubServer(lambda request: StubResponse(200, body[3:], (("Content-Type", kind),))) as service:  # noqa: B023
            assert query(client_of(service), "QueryHost") == []


@pytest.mark.parametrize("garbage", ["types", "missing"])
def test_responses_with_wrong_types(sim: Simulator, no_wait_client: Client, garbage: str) -> None:
    sim.fault("garbage", garbage=garbage, count=None)
    with pytest.raises(VirtinfraError):
        query(no_wait_client, "QueryHost")
    with pytest.raises(VirtinfraError):
        list(paginate_cursor(no_wait_client, "host"))
    with pytest.raises(VirtinfraError):
        get_by_uuid(no_wait_client, "QueryHost", HOST)


def test_response_with_unrequested_compression(sim: Simulator, new_client: ClientFactory) -> None:
    sim.fault("garbage", garbage="bomb", count=None)
    failure = failure_of(new_client(clock=FakeClock()))
    assert (
        str(failure)
        == "the response to QueryHost cannot be used: it is compressed, although no compression was requested"
    )


@pytest.mark.parametrize("name", ["QueryHost", "ChangeHostState"])
def test_response_that_is_too_large(sim: Simulator, client: Client, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """The test lowers the limit, because a body with the real size takes too long."""
    monkeypatch.setattr(_response, "MAX_BODY_SIZE", _response.MEBIBYTE)
    sim.fault("garbage", garbage="huge", count=None)
    failure = failure_of(client, name)
    assert "larger than 1 MiB" in str(failure)
    assert isinstance(failure, TransportError)
    assert failure.transient is False
    assert len(sim.log()) == 1


# -------------------------------------------------------------------------------------------------------- time limits


def test_response_that_does_not_arrive(sim: Simulator, new_client: ClientFactory) -> None:
    sim.fault("slow", seconds=30.0, count=None)
    client = new_client(request_timeout=0.3, request_retries=0)
    assert str(failure_of(client)) == f"{sim.url} did not answer QueryHost within 0.3 s"
    failure = failure_of(client, "ChangeHostState")
    assert str(failure) == (f"{sim.url} did not answer ChangeHostState within 0.3 s")
    assert isinstance(failure, ResponseLost)


def test_connecting_may_take_all_of_the_time(
    sim: Simulator, new_client: ClientFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect = PlainConnection.connect

    def connect_slowly(connection: PlainConnection) -> None:
        connect(connection)
        time.sleep(0.3)

    monkeypatch.setattr(PlainConnection, "connect", connect_slowly)
    client = new_client(request_timeout=0.2, request_retries=0)
    assert str(failure_of(client)) == f"{sim.url} did not answer QueryHost within 0.2 s"


@pytest.mark.parametrize(
    ("fault", "reason"),
    [("drop_after", "Connection reset by peer"), ("truncate", r"IncompleteRead\(0 bytes read, \d+ more expected\)")],
)
def test_connection_that_breaks(sim: Simulator, new_client: ClientFactory, fault: str, reason: str) -> None:
    client = new_client(request_retries=0)
    sim.fault(fault, count=None)
    broke = re.escape(f": the connection to {sim.url} broke: ")
    assert re.fullmatch(f"QueryHost{broke}{reason}", str(failure_of(client)))
    assert re.fullmatch(f"ChangeHostState{broke}{reason}", str(failure_of(client, "ChangeHostState")))


@pytest.mark.parametrize("name", ["QueryHost", "ChangeHostState"])
def test_connection_refused(name: str) -> None:
    clock = FakeClock()
    with taken_port() as nobody:
        url = f"http://127.0.0.1:{nobody.getsockname()[1]}"
        with make_client(
            ConnectionOptions(base_url=url, session_id="the-session", request_retries=3), clock=clock
        ) as client:
            failure = failure_of(client, name)
    assert str(failure) == (
        f"{name}: cannot connect to {url}: Connection refused. Check base_url and whether the service runs."
        f" 4 attempts in {sum(clock.slept):.0f} s."
    )
    assert not isinstance(failure, ResponseLost)
    assert len(clock.slept) == 3


class RestartClock(FakeClock):
    """A clock that calls ``start`` when 30 seconds have passed."""

    def __init__(self, chance: float, start: Callable[[], None]) -> None:
        super().__init__(chance)
        self._start = start

    def sleep(self, seconds: float) -> None:
        """Advance the clock."""
        before = self.now
        super().sleep(seconds)
        if before < 1030 <= self.now:
            self._start()


@pytest.mark.parametrize("name", ["QueryHost", "ChangeHostState"])
@pytest.mark.parametrize("chance", [0.0, 1.0])
def test_restart_of_the_service_is_tolerated(name: str, chance: float) -> None:
    """The port refuses connections for 30 seconds; a read and a write are then sent once."""
    requests: list[bytes] = []

    def serve() -> None:
        body = b'{"inventories": [], "inventory": {}}'
        length = f"Content-Length: {len(body)}".encode()
        # A second connection would be counted as an error. Without one, accept ends when the listener is closed.
        with suppress(OSError):
            for dummy in range(2):
                with listener.accept()[0] as peer:
                    requests.append(read_request(peer))
                    peer.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n" + length + b"\r\n\r\n" + body)

    def start() -> None:
        listener.listen()
        thread.start()

    progress: list[str] = []
    thread = threading.Thread(target=serve, daemon=True)
    with taken_port() as listener:
        options = ConnectionOptions(f"http://127.0.0.1:{listener.getsockname()[1]}", session_id="the-session")
        clock = RestartClock(chance, start)
        with make_client(options, clock=clock, on_progress=progress.append) as client:
            if name == "QueryHost":
                assert query(client, name) == []
            else:
                assert client.start_job(name, DISABLE).state == "succeeded"
        assert len(requests) == 1
    assert 30 <= sum(clock.slept) <= 46
    refused = (
        f"{name}: cannot connect to {options.origin}: Connection refused. Check base_url and whether the service runs"
    )
    assert progress[0].startswith(f"{refused}; retry ")
    assert len(progress) == (3 if chance == 0 else 4)


def test_outage_fails_after_the_documented_time() -> None:
    for chance in (0.0, 1.0):
        clock = FakeClock(chance)
        with taken_port() as nobody:
            url = f"http://127.0.0.1:{nobody.getsockname()[1]}"
            with make_client(ConnectionOptions(url, session_id="the-session"), clock=clock) as client:
                failure_of(client)
        assert 36 <= sum(clock.slept) <= 46


def test_outage_is_not_retried_after_the_deadline() -> None:
    clock = FakeClock()
    with taken_port() as nobody:
        url = f"http://127.0.0.1:{nobody.getsockname()[1]}"
        with make_client(ConnectionOptions(url, session_id="the-session"), clock=clock) as client:
            failure_of(client.with_deadline(clock.now + 1))
    assert 0 < sum(clock.slept) <= 1


def test_host_without_an_address() -> None:
    connection = ConnectionOptions(base_url="http://nowhere.invalid", session_id="the-session", request_retries=0)
    with make_client(connection) as client:
        assert str(failure_of(client)).startswith("QueryHost: cannot connect to http://nowhere.invalid: ")


# --------------------------------------------------------------------------------------- where requests and secrets go


REPEATED = "not s3ss10n, not s3ss10n&more, not s3ss10n%26more, not s3ss10n\\u0026more"


@pytest.mark.parametrize(
    ("status", "body"),
    [(503, {"error": {"details": REPEATED}}), (200, {"error": {"details": REPEATED}}), (400, REPEATED.encode())],
)
def test_credentials_that_a_service_repeats(status: int, body: Any) -> None:
    """Although one secret is a prefix of the other, the longer one is masked completely."""
    with StubServer(lambda request: StubResponse(status, body)) as service:
        connection = ConnectionOptions(service.url, session_id="s3ss10n", api_token="s3ss10n&more", request_retries=0)
        with make_client(connection) as client, pytest.raises(ApiError) as caught:
            client.get("QueryHost", {})
    hidden = "not ********, not ********, not ********, not ********"
    assert caught.value.error["details"] == hidden
    assert str(caught.value).endswith(f": {hidden}")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("name", ["QueryHost", "ChangeHostState"])
def test_redirects_are_not_followed(name: str, status: int) -> None:
    with StubServer(lambda request: StubResponse(200, {"inventories": []})) as other:
        target = other.url + "/service/v1/hosts?leak=1"
        with StubServer(lambda request: StubResponse(status, b"", (("Location", target),))) as service:
            failure = failure_of(client_of(service), name)
        assert str(failure).startswith(f"{name} was redirected to http://127.0.0.1, which is not followed")
        assert len(service.requests) == 1
    assert other.requests == []


def test_port_that_requires_tls_is_not_tried_again() -> None:
    complaint = b"Client sent an HTTP request to an HTTPS server."
    with StubServer(lambda request: StubResponse(400, complaint)) as service:
        assert "expects TLS" in str(failure_of(client_of(service)))
    assert len(service.requests) == 1


NGINX = b"<html><head><title>400</title></head><body>No required SSL certificate was sent</body></html>"


@pytest.mark.parametrize(
    ("response", "words"),
    [
        (StubResponse(400, NGINX, (("Content-Type", "text/html"),)), ("certificate of the client", "Set client_cert")),
        (
            StubResponse(401, b"", (("WWW-Authenticate", 'Basic realm="x"'),)),
            ("login of its own (Basic)", "not checked"),
        ),
    ],
    ids=["certificate", "login"],
)
def test_a_demand_of_a_gateway_is_not_one_of_the_service(response: StubResponse, words: tuple[str, ...]) -> None:
    """The gateway has not forwarded the request, so a call was not performed."""
    with StubServer(lambda request: response) as service:
        for name in ("QueryHost", "ChangeHostState"):
            failure = failure_of(client_of(service), name)
            assert isinstance(failure, TransportError)
            assert not isinstance(failure, ResponseLost)
            assert [word for word in words if word not in str(failure)] == []
            assert "session" not in str(failure)
        assert len(service.requests) == 2


def test_redirect_shows_no_credentials() -> None:
    location = "https://someone:the-session@portal.example.com/hook/the-token?key=the-token#the-token"
    with StubServer(lambda request: StubResponse(307, b"", (("Location", location),))) as service:
        for name in ("QueryHost", "ChangeHostState"):
            failure = failure_of(client_of(service), name)
            assert "was redirected to https://portal.example.com, which is not followed" in str(failure)
            assert isinstance(failure, ResponseLost) is (name == "ChangeHostState")


def test_redirect_within_the_service() -> None:
    with StubServer(lambda request: StubResponse(302, b"", (("Location", "/login?next=/service"),))) as service:
        assert "was redirected to another path" in str(failure_of(client_of(service)))
    assert len(service.requests) == 1


def test_connection_with_an_unread_error_is_not_reused() -> None:
    """On a reused connection, the rest of a large body would be read as the response to the next request."""
    answers = [StubResponse(500, b"x" * (_response.MEBIBYTE * 3)), StubResponse(200, {"inventories": []})]
    with StubServer(lambda request: answers[len(service.requests) - 1]) as service, client_of(service) as client:
        assert "HTTP status 500" in str(failure_of(client))
        assert query(client, "QueryHost") == []
    assert len({request.client_port for request in service.requests}) == 2


def test_one_connection_is_kept() -> None:
    def answer(request: StubRequest) -> StubResponse:
        if request.method == "PUT":
            return StubResponse(202, {})
        return StubResponse(202 if len(service.requests) < 10 else 200, {})

    with StubServer(answer) as service:
        reply_to(client_of(service), "ChangeHostState", DISABLE)
    assert len(service.requests) == 10
    assert len({request.client_port for request in service.requests}) == 1


def test_many_at_once_use_at_most_16_connections() -> None:
    with (
        StubServer(lambda request: StubResponse(200, {"bondings": [], "nics": []})) as service,
        client_of(service) as client,
    ):
        items = [f"{number:032x}" for number in range(100)]
        results = client.map_concurrently(
            lambda uuid: client.get("GetHostNetworkFacts", {"hostUuid": uuid}) and uuid, items
        )
    assert results == items
    assert len({request.client_port for request in service.requests}) <= 16


def test_failure_is_raised_when_nothing_is_being_sent_any_more() -> None:
    """A caller that has learned of it may start over, and must not meet requests of its first attempt."""
    both, ended = threading.Barrier(2), []

    def read(number: int) -> None:
        both.wait()
        if number == 0:
            raise LookupError("the first of two")
        time.sleep(0.05)
        ended.append(number)

    with make_client(ConnectionOptions(base_url="http://manager.invalid")) as client:
        with pytest.raises(LookupError, match="the first of two"):
            client.map_concurrently(read, range(2), connections=2)
        assert ended == [1]


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[StubServer]:
    """A proxy of the environment that answers itself and forwards nothing."""
    with StubServer(lambda request: StubResponse(200, {"inventories": []})) as server:
        monkeypatch.setenv("http_proxy", server.url.replace("http://", "http://user:pass%20word@"))
        yield server


def test_proxy_of_the_environment(proxy: StubServer) -> None:
    connection = ConnectionOptions(base_url="http://manager.invalid:8080", session_id="the-session")
    with make_client(connection) as client:
        assert query(client, "QueryHost") == []
    assert proxy.requests[0].target.startswith("http://manager.invalid:8080/service/v1/hosts?")
    assert proxy.requests[0].headers["Proxy-Authorization"] == "Basic dXNlcjpwYXNzIHdvcmQ="


@pytest.mark.parametrize(
    "url",
    ["socks4://127.0.0.1:1", "ftp://user:pass-word@127.0.0.1:1", "http://", "http://a:b"],
)
def test_proxies_that_are_not_supported(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("all_proxy", url)
    with make_client(ConnectionOptions("http://manager.invalid", session_id="the-session")) as client:
        failure = failure_of(client)
    assert isinstance(failure, InvalidOptions)
    assert str(failure).startswith("the variable all_proxy must have the form http://HOST:3128, or")
    assert str(failure).endswith("Change it, or set use_proxy to false")
    assert "pass-word" not in str(failure)


def test_password_of_a_proxy_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    with StubServer(lambda request: StubResponse(407, b"who is us%40er:pass%20word or pass word?")) as server:
        monkeypatch.setenv("http_proxy", server.url.replace("http://", "http://us%40er:pass%20word@"))
        with make_client(ConnectionOptions("http://manager.invalid", session_id="the-session")) as client:
            failure = failure_of(client)
    assert "who is us%40er:******** or ********?" in str(failure)


def test_environment_adds_nothing_to_requests(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "netrc").write_text("default login someone password else\n", encoding="utf-8")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))

    def answer(request: StubRequest) -> StubResponse:
        if request.method == "PUT":
            return StubResponse(202, {}, (("Set-Cookie", "a=b"),))
        return StubResponse(200, {}, (("Set-Cookie", "c=d"),))

    with StubServer(answer) as service:
        reply_to(client_of(service), "ChangeHostState", DISABLE)
    write, poll = service.requests
    assert write.headers["Authorization"] == "OAuth the-session"
    assert "Authorization" not in poll.headers
    for request in (write, poll):
        assert request.headers["Accept-Encoding"] == "identity"
        assert "Cookie" not in request.headers


@pytest.mark.parametrize(
    ("base_url", "host"),
    [
        ("http://[::1]", "[::1]"),
        ("http://[2001:db8::1]:8080/", "[2001:db8::1]:8080"),
        ("http://[2001:db8::1]:80", "[2001:db8::1]"),
    ],
)
def test_ipv6_addresses_through_a_proxy(proxy: StubServer, base_url: str, host: str) -> None:
    with make_client(ConnectionOptions(base_url, session_id="the-session")) as client:
        assert query(client, "QueryHost") == []
    assert (
        proxy.requests[0].target.startswith(f"http://{host.removesuffix(':80')}/service/v1/hosts?")
        or ":80/" in proxy.requests[0].target
    )
    assert proxy.requests[0].headers["Host"].removesuffix(":80") == host


@pytest.mark.parametrize("how", ["option", "environment"])
def test_no_proxy(proxy: StubServer, sim: Simulator, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    if how == "environment":
        monkeypatch.setenv("no_proxy", "127.0.0.1")
    connection = ConnectionOptions(base_url=sim.url, session_id=sim.session, use_proxy=how == "environment")
    with make_client(connection) as client:
        assert len(query(client, "QueryHost")) == 3
    assert proxy.requests == []


@pytest.mark.parametrize(
    ("scheme", "variable"), [("http", "http_proxy"), ("https", "HTTPS_PROXY"), ("https", "all_proxy")]
)
def test_proxy_that_does_not_run(monkeypatch: pytest.MonkeyPatch, scheme: str, variable: str) -> None:
    monkeypatch.setenv(variable, "http://127.0.0.1:9")
    with make_client(ConnectionOptions(f"{scheme}://manager.example.com", session_id="s"), clock=FakeClock()) as client:
        failure = failure_of(client)
    assert f"cannot connect to {scheme}://manager.example.com (proxy 127.0.0.1:9): " in str(failure)
    assert (
        f". The proxy comes from the variable {variable}. If it is not needed, set use_proxy to false, or add"
        " manager.example.com to NO_PROXY."
    ) in str(failure)
    assert "base_url" not in str(failure)


# ---------------------------------------------------------------------------------------------------------------- TLS


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="module")
def secure(authority: trustme.CA, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Simulator, str]]:
    """A simulator with TLS, and the CA certificate file."""
    folder = tmp_path_factory.mktemp("tls")
    paths = {name: str(folder / name) for name in ("authority", "certificate", "key")}
    issued = authority.issue_cert("127.0.0.1")
    authority.cert_pem.write_to_path(paths["authority"])
    issued.private_key_pem.write_to_path(paths["key"])
    for blob in issued.cert_chain_pems:
        blob.write_to_path(paths["certificate"], append=True)
    with Simulator("--tls-cert", paths["certificate"], "--tls-key", paths["key"]) as simulator:
        yield simulator, paths["authority"]


def secure_client(url: str, **options: Any) -> Client:
    """Return a client of a service with TLS."""
    return make_client(ConnectionOptions(base_url=url, session_id="simulator-session", **options), clock=FakeClock())


def test_private_authority(secure: tuple[Simulator, str]) -> None:
    simulator, authority_file = secure
    with secure_client(simulator.url, ca_path=authority_file) as client:
        assert len(query(client, "QueryHost")) == 3


def test_unknown_authority(secure: tuple[Simulator, str]) -> None:
    simulator, dummy = secure
    with secure_client(simulator.url) as client:
        failure = failure_of(client)
    assert str(failure) in {
        f"QueryHost could not be sent: TLS with {simulator.url} failed: {reason}. Set ca_path (or VIRTINFRA_CA_PATH) to"
        " the certificate of the authority that issued it."
        for reason in ("unable to get local issuer certificate", "self-signed certificate in certificate chain")
    }


def test_another_name(secure: tuple[Simulator, str]) -> None:
    simulator, authority_file = secure
    with secure_client(simulator.url.replace("127.0.0.1", "localhost"), ca_path=authority_file) as client:
        failure = failure_of(client)
    assert "localhost" in str(failure)
    assert str(failure).endswith(" Use a name in base_url that the certificate lists: 127.0.0.1.")


def test_unverified_certificate(secure: tuple[Simulator, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", __file__)
    monkeypatch.setenv("CURL_CA_BUNDLE", __file__)
    with secure_client(secure[0].url, validate_certs=False) as client:
        assert len(query(client, "QueryHost")) == 3


def test_plain_http_to_a_secure_port(secure: tuple[Simulator, str]) -> None:
    url = secure[0].url.replace("https", "http")
    with secure_client(url, request_retries=8) as client:
        failure = failure_of(client)
    assert str(failure) == f"QueryHost: {url} expects TLS: use https in base_url"
    assert isinstance(failure, TransportError)
    assert failure.transient is False


def test_reset_of_a_port_with_tls() -> None:
    """A reset, by which some servers answer plain HTTP, makes the client ask whether the port has TLS."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(context)

    def serve(listener: socket.socket) -> None:
        plain = listener.accept()[0]
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        plain.recv(1)
        plain.close()
        with listener.accept()[0] as second, context.wrap_socket(second, server_side=True) as connection:
            connection.recv(1)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        thread = threading.Thread(target=serve, args=(listener,), daemon=True)
        thread.start()
        with secure_client(url, request_retries=0) as client:
            failure = failure_of(client)
        thread.join(10)
    assert str(failure) == f"QueryHost: {url} expects TLS: use https in base_url"


SPEAKS_TLS = [
    (
        b"HTTP/1.1 400 Bad Request\r\nContent-Length: 50\r\n\r\nThe plain HTTP request was sent to HTTPS port     \n\n",
        "expects TLS",
    ),
    (b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n", "expects TLS"),
    (
        b"HTTP/1.1 400 \r\nConnection: close\r\n\r\nBad Request\r\nThis combination of host and port requires TLS.",
        "TLS",
    ),
    (b"\x15\x03\x03\x00\x02\x02\x50", "may expect TLS: try https"),
    (b"", "may expect TLS: try https"),
]


@pytest.mark.parametrize(("spoken", "hint"), SPEAKS_TLS)
def test_http_to_a_port_with_tls(spoken: bytes, hint: str) -> None:
    for name in ("QueryHost", "ChangeHostState"):
        with ByteServer(lambda: iter([spoken])) as service:
            connection = ConnectionOptions(service.url, session_id="the-session", request_retries=0)
            with make_client(connection, clock=FakeClock()) as client:
                failure = failure_of(client, name)
        assert hint in str(failure)
        assert "https in base_url" in str(failure)
        assert str(failure).isprintable()
        assert isinstance(failure, ResponseLost) is (name == "ChangeHostState")


def test_tls_to_a_plain_port(sim: Simulator) -> None:
    with secure_client(sim.url.replace("http", "https"), request_retries=1) as client:
        failure = failure_of(client)
    assert re.fullmatch(
        r"QueryHost could not be sent: TLS with https://127\.0\.0\.1:\d+ failed: [a-z ]+"
        r"\. The port may not use TLS: try http in base_url\.",
        str(failure),
    )
    assert isinstance(failure, TransportError)
    assert failure.transient is False
    assert sim.log() == []


def test_files_that_cannot_be_used(tmp_path: Path) -> None:
    broken = tmp_path / "broken.pem"
    broken.write_text("nothing", encoding="utf-8")
    certificate = tmp_path / "certificate.pem"
    certificate.write_text("-----BEGIN CERTIFICATE-----\n", encoding="utf-8")
    key = tmp_path / "key.pem"
    key.write_text("-----BEGIN PRIVATE KEY-----\n", encoding="utf-8")
    encrypted = tmp_path / "encrypted.pem"
    encrypted.write_text("-----BEGIN ENCRYPTED PRIVATE KEY-----\n", encoding="utf-8")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "authority").write_text("-----BEGIN CERTIFICATE-----\n", encoding="utf-8")
    for options, message in (
        (
            {"client_cert": str(key), "client_key": str(certificate)},
            "is a certificate. Exchange client_cert and client",
        ),
        (
            {"client_cert": str(certificate), "client_key": str(encrypted)},
            r"the private key in .*encrypted\.pem is encrypted, .* openssl pkey -in .*encrypted\.pem,",
        ),
        ({"ca_path": str(folder)}, r"folder has no certificates: .* \.pem, \.crt or \.cer, .* openssl rehash"),
        ({"ca_path": str(tmp_path / "missing.pem")}, "ca_path .*missing.pem cannot be used"),
        ({"ca_path": str(broken)}, "ca_path .*broken.pem cannot be used"),
        ({"client_cert": str(certificate)}, r"certificate.pem contains no private key\. Give client_key"),
        ({"client_cert": str(broken)}, "client_cert .*broken.pem with client_key .* cannot be used"),
    ):
        with secure_client("https://127.0.0.1:9", **options) as client, pytest.raises(InvalidOptions, match=message):
            query(client, "QueryHost")


# ------------------------------------------------------------------------------------------------ lines about requests


def test_a_line_about_each_request(sim: Simulator, new_client: ClientFactory) -> None:
    lines: list[str] = []
    client = new_client(on_request=lines.append)
    query(client, "QueryHost")
    job = client.start_job("ChangeHostState", DISABLE)
    read, write = lines
    assert re.fullmatch(r"GET /service/v1/hosts\?[\w=&+]+&start=0: 200, \d+ ms", read)
    assert re.fullmatch(rf"PUT /service/v1/hosts/{HOST}/actions: 202, \d+ ms, job {job.uuid}", write)


def test_a_line_about_a_request_without_a_response(sim: Simulator, new_client: ClientFactory) -> None:
    lines: list[str] = []
    sim.fault("drop_after", "ChangeHostState")
    failure_of(new_client(on_request=lines.append), "ChangeHostState")
    assert re.match(r"PUT \S+: no response, \d+ ms, job \w{32}$", lines[0])


def test_a_line_about_a_request_shows_no_secret(sim: Simulator, new_client: ClientFactory) -> None:
    lines: list[str] = []
    client = new_client(on_request=lines.append)
    query(client, "QuerySNSApplicationEndpoint", ["url=https://chat.example.com/hook/KEY-1", "url~=KEY-2\nx", "name=a"])
    assert "?q=url=********&q=url~=********&q=name=a&" in lines[0]
    assert "KEY" not in lines[0]
