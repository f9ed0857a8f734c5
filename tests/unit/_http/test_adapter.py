"""The adapter for requests: which error is the cause, the end of responses, and the connections that are kept."""

from __future__ import annotations

import http.client
import io
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
import requests
import urllib3
from ansible_collections.virtinfra.manager.plugins.module_utils._api.errors import InvalidOptions, TransportError
from ansible_collections.virtinfra.manager.plugins.module_utils._http import adapter as _adapter
from ansible_collections.virtinfra.manager.plugins.module_utils._http.adapter import (
    CHUNK_SIZE,
    MAX_INTERIM_RESPONSES,
    Adapter,
    AdapterPool,
    ConnectFailed,
    DeadlineReader,
    ExchangeFailed,
    FinalResponse,
    PlainConnection,
)
from conftest import client_of

from support.socket_servers import SocketServer, read_request, taken_port

# ------------------------------------------------------------------------------------------------------------- causes


class SocksError(OSError):
    """An error of PySocks, which keeps that of the socket."""

    def __init__(self, message: str, socket_err: Exception | None = None) -> None:
        super().__init__(message)
        self.socket_err = socket_err


def raise_from(error: Exception, cause: Exception) -> Exception:
    """Return an exception with a cause."""
    error.__cause__ = cause
    return error


DEEP = ConnectionResetError("reset by peer")
POOL: Any = None


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (DEEP, DEEP),
        (requests.ConnectionError(urllib3.exceptions.ProtocolError("aborted", DEEP)), DEEP),
        (raise_from(requests.ConnectionError("text"), raise_from(urllib3.exceptions.HTTPError("text"), DEEP)), DEEP),
        (requests.ConnectionError(SocksError("proxy 127.0.0.1:1", DEEP)), DEEP),
    ],
)
def test_the_cause_is_the_exception_of_python(error: Exception, cause: Exception) -> None:
    failure = ExchangeFailed(error)
    assert failure.cause is cause
    assert str(failure) == "reset by peer"


def test_causes_without_an_exception_of_python() -> None:
    for error in (requests.RequestException("a text"), SocksError("a text")):
        failure = ExchangeFailed(error)
        assert (failure.cause, str(failure)) == (error, "a text")
    timed_out = urllib3.exceptions.ReadTimeoutError(POOL, "/", "Read timed out.")
    for timeout in (timed_out, requests.ConnectionError(timed_out)):
        failure = ExchangeFailed(timeout)
        assert (type(failure.cause), str(failure)) == (TimeoutError, "timed out")


def test_a_connection_that_is_refused_has_sent_nothing() -> None:
    with taken_port() as nobody:
        connection = PlainConnection(*nobody.getsockname())
        with pytest.raises(ConnectFailed) as caught:
            connection.connect()
    assert isinstance(caught.value.cause, (ConnectionRefusedError, urllib3.exceptions.NewConnectionError))
    assert "refused" in str(caught.value)


def test_an_address_that_requests_cannot_use() -> None:
    with pytest.raises(InvalidOptions, match=r"^base_url cannot be used: Invalid URL 'http://': No host supplied$"):
        Adapter(None).exchange("GET", "http://", "/v1/hosts", {}, None, 1, 1, False)


# ---------------------------------------------------------------------------------------------------------- responses


@contextmanager
def response_of(sent: bytes, closed: bool = False) -> Iterator[FinalResponse]:
    """Return the response in the bytes that a peer has sent, which then waits, or closes the connection."""
    here, there = socket.socketpair()
    with here, there:
        here.settimeout(30)
        there.sendall(sent)
        if closed:
            there.close()
        with FinalResponse(here) as response:
            yield response


INTERIM = b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n", b"HTTP/1.1 199 x\r\n\r\n"


@pytest.mark.parametrize("interim", INTERIM)
def test_interim_responses_are_skipped(interim: bytes) -> None:
    with response_of(interim * MAX_INTERIM_RESPONSES + b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") as response:
        response.begin()
        assert (response.status, response.reason, response.getheader("Link")) == (200, "OK", None)
    with (
        response_of(interim * (MAX_INTERIM_RESPONSES + 1)) as response,
        pytest.raises(http.client.HTTPException, match=r"^too many interim responses$"),
    ):
        response.begin()


@pytest.mark.parametrize("size", [0, 1, 2, 3, CHUNK_SIZE + 1])
def test_a_response_ends_after_its_length(size: int) -> None:
    """The peer keeps the connection open, and what follows belongs to the next response."""
    with response_of(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%sHTTP/1.1" % (size, b"x" * size)) as response:
        response.begin()
        chunks = list(response.read_chunks())
        assert b"".join(chunks) == b"x" * size
        assert all(0 < len(chunk) <= CHUNK_SIZE for chunk in chunks)
        assert response.isclosed()


def test_a_response_without_a_length_ends_with_the_connection() -> None:
    with response_of(b"HTTP/1.1 200 OK\r\n\r\nabc", closed=True) as response:
        response.begin()
        assert b"".join(response.read_chunks()) == b"abc"
    parts = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
    with response_of(parts) as response:
        response.begin()
        assert b"".join(response.read_chunks()) == b"abcde"


def test_a_response_whose_end_is_missing() -> None:
    with response_of(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", closed=True) as response:
        response.begin()
        chunks = response.read_chunks()
        assert next(chunks) == b"abc"
        with pytest.raises(http.client.IncompleteRead) as caught:
            next(chunks)
    assert str(caught.value) == "IncompleteRead(0 bytes read, 2 more expected)"


class Slow:
    """A socket, its stream and a clock that the test advances."""

    def __init__(self, timeout: float) -> None:
        self.now, self.timeouts = 1000.0, [timeout]

    def monotonic(self) -> float:
        """Return the time."""
        return self.now

    def gettimeout(self) -> float:
        """Return the timeout that was set last."""
        return self.timeouts[-1]

    def settimeout(self, seconds: float) -> None:
        """Set the timeout."""
        self.timeouts.append(seconds)


def test_a_response_must_be_complete_at_its_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the timeout of the socket alone, each byte would give the service the whole time again."""
    peer: Any = Slow(5.0)
    monkeypatch.setattr(_adapter, "time", peer)
    stream: Any = io.BytesIO(b"abcdef")
    reader = DeadlineReader(peer, stream, 5.0)
    buffer = bytearray(2)
    assert reader.readable()
    assert (reader.readinto(buffer), bytes(buffer)) == (2, b"ab")
    assert peer.timeouts == [5.0]
    peer.now += 3.0
    assert (reader.readinto(buffer), bytes(buffer)) == (2, b"cd")
    peer.now += 1.5
    assert (reader.readinto(buffer), bytes(buffer)) == (2, b"ef")
    assert peer.timeouts == [5.0, 2.0, 0.5]
    peer.now += 0.5
    with pytest.raises(TimeoutError, match=r"^timed out$"):
        reader.readinto(buffer)
    reader.close()
    assert stream.closed


# -------------------------------------------------------------------------------------------------------- connections


class Kept:
    """Takes the place of an adapter."""

    closed = 0

    def close(self) -> None:
        """Count."""
        self.closed += 1


def test_connections_are_kept_for_each_key() -> None:
    pool, created = AdapterPool(), list[Any]()

    def create() -> Any:
        created.append(Kept())
        return created[-1]

    with pool.borrow("a", create) as first:
        with pool.borrow("a", create) as second, pool.borrow("b", create) as other:
            assert len({id(first), id(second), id(other)}) == 3
        # The one that was used last.
        with pool.borrow("a", create) as again:
            assert again is second
    with pool.borrow("a", create) as again:
        assert again is first
    with suppress(KeyError), pool.borrow("a", create) as again:
        assert again is first
        raise KeyError
    assert len(created) == 3
    with pool.borrow("a", create) as used:
        pool.close()
        assert [adapter.closed for adapter in created] == [adapter is not used for adapter in created]
    assert [adapter.closed for adapter in created] == [1, 1, 1]


class Forgetful(SocketServer):
    """Answers the first request of each connection, and closes the connection after it has received the second one."""

    def handle(self, client: socket.socket) -> None:
        """Serve a connection."""
        read_request(client)
        client.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 19\r\n\r\n{"inventories": []}')
        read_request(client)


def test_a_service_that_has_answered_is_not_asked_for_tls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only if a service never answers, another connection finds out whether the port uses TLS."""
    monkeypatch.setattr(_adapter, "MAX_IDLE", 60)
    with Forgetful() as service:
        client = client_of(service, request_retries=0)  # type: ignore[arg-type]
        assert client.get("QueryHost", {}) == {"inventories": []}
        with pytest.raises(TransportError, match="broke: "):
            client.get("QueryHost", {})
    assert service.accepted == 1
