"""The waits and time limits of requests, without a connection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._api.errors import (
    InvalidOptions,
    ResponseLost,
    TransportError,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._api.operation import Request
from ansible_collections.virtinfra.manager.plugins.module_utils._client.client import Hooks
from ansible_collections.virtinfra.manager.plugins.module_utils._http import transport as _transport
from ansible_collections.virtinfra.manager.plugins.module_utils._http.adapter import AdapterPool, ExchangeFailed
from ansible_collections.virtinfra.manager.plugins.module_utils._http.connection import ConnectionOptions
from ansible_collections.virtinfra.manager.plugins.module_utils._http.response import Response
from ansible_collections.virtinfra.manager.plugins.module_utils._http.transport import Limits, Retries, Transport
from conftest import FakeClock

BROKEN = TransportError("the connection broke")


def overload(seconds: float | None = None) -> Response:
    """Return the response of an overloaded service, which may ask for a wait."""
    return Response(429, {} if seconds is None else {"Retry-After": str(seconds)}, b"")


class Attempts:
    """The attempts of a request, and the clock, which advances during each wait."""

    def __init__(self, retries: int, chance: float = 1.0, **limits: Any) -> None:
        self.clock = FakeClock(chance)
        limits = {name: self.clock.now + value for name, value in limits.items()}
        self.retries = Retries(Limits(retries, **limits), self.clock)
        self.retries.begin_attempt()

    def wait_after(self, outcome: Response | TransportError, seconds: float = 0.0) -> float | None:
        """Return the wait after an outcome, which arrives after some seconds, and wait."""
        self.clock.now += seconds
        if isinstance(outcome, Response):
            wait = self.retries.choose_wait_after_response(outcome, is_read=True)
        else:
            wait = self.retries.choose_wait_after_error(outcome)
        if wait is not None:
            self.clock.sleep(wait)
            self.retries.begin_attempt()
        return wait

    def exhaust(self, outcome: Response | TransportError) -> list[float]:
        """Return the waits until an outcome is final."""
        waits = []
        while (wait := self.wait_after(outcome)) is not None:
            waits.append(wait)
        return waits


def test_waits_of_each_kind_double() -> None:
    assert Attempts(8).exhaust(BROKEN) == pytest.approx([0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 20.0])
    assert Attempts(8).exhaust(overload()) == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]
    assert Attempts(3, chance=0.0).exhaust(BROKEN) == pytest.approx([0.16, 0.32, 0.64])
    assert Attempts(3, chance=0.0).exhaust(overload()) == [0.25, 0.5, 1.0]
    assert Attempts(0).exhaust(BROKEN) == Attempts(0).exhaust(overload()) == []


def test_many_retries_take_as_long_as_their_waits() -> None:
    """Under the limits for few retries, most of many retries would never happen."""
    outage, overloaded = Attempts(30).exhaust(BROKEN), Attempts(30).exhaust(overload())
    assert (len(outage), len(overloaded)) == (30, 30)
    assert sum(outage) == pytest.approx(25.4 + 23 * 20)
    assert sum(overloaded) == 31.5 + 24 * 30


def test_waits_of_an_outage_end_with_it() -> None:
    """The time of the attempts counts; the last wait is as long as the rest of 45.4 seconds, the waits of 8 retries."""
    attempts = Attempts(8)
    assert attempts.retries.remaining_outage == float("inf")
    assert attempts.wait_after(BROKEN, 10.0) == 0.2
    assert attempts.retries.remaining_outage == pytest.approx(35.2)
    assert attempts.wait_after(BROKEN, 34.9) == pytest.approx(0.3)
    assert attempts.wait_after(BROKEN) is None


def test_a_service_that_starts_is_awaited_as_long_as_one_that_cannot_be_reached() -> None:
    page = Response(404, {}, b"<title>HTTP Status 404</title>")
    assert Attempts(8).exhaust(page) == Attempts(8).exhaust(BROKEN)


def test_a_response_ends_an_outage() -> None:
    attempts = Attempts(8, chance=0.5)
    assert attempts.wait_after(BROKEN, 40.0) == pytest.approx(0.18)
    assert attempts.wait_after(overload(1)) == 1.5
    assert attempts.retries.remaining_outage == float("inf")
    assert attempts.wait_after(BROKEN, 40.0) == pytest.approx(0.72)


def test_a_service_may_ask_for_waits_of_five_minutes() -> None:
    assert Attempts(8, chance=0.0).exhaust(overload(100)) == [100.0] * 3
    assert Attempts(8, chance=0.0).exhaust(overload(300)) == [300.0]
    assert Attempts(8, chance=0.0).exhaust(overload(301)) == []


def test_no_retry_begins_after_the_deadline() -> None:
    assert Attempts(8, deadline=1.5).exhaust(overload()) == [0.5, 1.0]
    assert Attempts(8, deadline=1.4).exhaust(overload()) == [0.5]
    assert Attempts(8, deadline=0.2).exhaust(BROKEN) == [0.2]
    assert Attempts(8, deadline=0.1).exhaust(BROKEN) == []


def test_errors_after_which_a_request_is_not_sent_again() -> None:
    for error in (TransportError("final", transient=False), ResponseLost("lost"), ResponseLost("lost", False)):
        assert Attempts(8).wait_after(error) is None


def test_the_last_error_says_how_often_the_request_was_sent() -> None:
    attempts, errors = Attempts(2), [TransportError("it broke."), TransportError("it broke.")]
    attempts.retries.describe_attempts(errors[0])
    attempts.wait_after(BROKEN, 7.0)
    attempts.retries.describe_attempts(errors[1])
    assert [str(error) for error in errors] == ["it broke.", "it broke. 2 attempts in 7 s."]


# --------------------------------------------------------------------------------------------------- whole requests


class Peer:
    """Takes the place of an adapter: answers each request with the next outcome, and repeats the last one."""

    has_answered = False

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *outcomes: Response | Exception) -> None:
        self.sent: list[tuple[Any, ...]] = []
        self._outcomes = list(outcomes)
        monkeypatch.setattr(_transport, "Adapter", lambda *dummy: self)

    def exchange(self, *arguments: Any) -> Response:
        """Keep the arguments and return or raise the next outcome."""
        self.sent.append(arguments)
        outcome = self._outcomes.pop(0) if len(self._outcomes) > 1 else self._outcomes[0]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


URL = "http://192.0.2.1"
READ, WRITE = Request("GET", "/v1/hosts"), Request("PUT", "/v1/hosts", body={"name": "\u00e9"})
DONE = Response(200, {}, b"{}")
BROKE = ExchangeFailed(ConnectionResetError("reset"))


def send(
    request: Request, limits: Limits, clock: FakeClock, headers: Mapping[str, str] | None = None, **hooks: Any
) -> Response:
    """Send a request with a session, and return its response."""
    connection = ConnectionOptions(URL, session_id="the-session", request_timeout=30)
    transport = Transport(connection, Hooks(connection.create_masker(), clock, **hooks), AdapterPool())
    return transport.send(request, "Operation", "OAuth the-session", headers or {}, limits)


def test_what_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    peer = Peer(monkeypatch, DONE)
    common = {
        "Accept": "application/json",
        "Accept-Encoding": "identity",
        "User-Agent": "virtinfra.manager",
        "Authorization": "OAuth the-session",
        "X-Job-UUID": "a",
    }
    query = (("q", "name=a b"), ("limit", "1"))
    send(READ._replace(query=query), Limits(8), FakeClock(), {"X-Job-UUID": "a"})
    send(WRITE, Limits(8), FakeClock(), {"X-Job-UUID": "a"})
    assert [call[:5] for call in peer.sent] == [
        ("GET", URL, "/v1/hosts?q=name%3Da+b&limit=1", common, None),
        (
            *("PUT", URL, "/v1/hosts"),
            {**common, "Content-Type": "application/json;charset=UTF-8"},
            b'{"name": "\\u00e9"}',
        ),
    ]


@pytest.mark.parametrize(
    ("request_", "retries", "is_repeatable"), [(READ, 8, True), (READ, 1, True), (READ, 0, False), (WRITE, 8, False)]
)
def test_only_a_read_with_retries_may_meet_a_closed_connection(
    monkeypatch: pytest.MonkeyPatch, request_: Request, retries: int, is_repeatable: bool
) -> None:
    peer = Peer(monkeypatch, DONE)
    send(request_, Limits(retries), FakeClock())
    assert peer.sent[0][7] is is_repeatable


@pytest.mark.parametrize(
    ("deadline", "slack", "seconds"),
    [
        (float("inf"), 0.0, 30.0),
        (100.0, 0.0, 30.0),
        (20.0, 0.0, 20.0),
        (20.0, 4.0, 24.0),
        (0.0, 0.5, 0.5),
        (-9, 2.0, 2.0),
    ],
)
def test_a_response_may_arrive_until_the_deadline(
    monkeypatch: pytest.MonkeyPatch, deadline: float, slack: float, seconds: float
) -> None:
    peer, clock = Peer(monkeypatch, DONE), FakeClock()
    send(READ, Limits(0, clock.now + deadline, slack), clock)
    assert peer.sent[0][5] == seconds


def test_the_time_to_connect_is_what_remains_of_the_outage(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection may take one to ten seconds. Here each wait takes 19.9 seconds more than planned."""

    class SlowClock(FakeClock):
        def sleep(self, seconds: float) -> None:
            super().sleep(seconds + 19.9)

    peer = Peer(monkeypatch, BROKE)
    with pytest.raises(TransportError, match=r" 4 attempts in 61 s\.$"):
        send(READ, Limits(8), SlowClock(0.0))
    assert [call[6] for call in peer.sent] == pytest.approx([10.0, 10.0, 45.4 - 2 * 19.9 - 0.16 - 0.32, 1.0])


def test_long_waits_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    progress: list[str] = []
    Peer(monkeypatch, overload(2), overload(3), BROKE, overload(9), DONE)
    clock = FakeClock(0.0)
    send(READ, Limits(8), clock, on_progress=progress.append)
    assert clock.slept == pytest.approx([2.0, 3.0, 0.64, 9.0])
    assert progress == [
        "Operation: HTTP status 429; retry 2 of 8 in 3 s",
        "Operation: HTTP status 429; retry 4 of 8 in 9 s",
    ]
    Peer(monkeypatch, *[BROKE] * 6, DONE)
    send(READ, Limits(8), clock, on_progress=progress.append)
    broke = f"Operation: the connection to {URL} broke: reset"
    assert progress[2:] == [f"{broke}; retry 6 of 8 in 5 s"]


def test_a_write_is_checked_before_it_is_sent_again(monkeypatch: pytest.MonkeyPatch) -> None:
    class NotNeeded(Exception):
        """The write is not needed any more."""

    def check() -> None:
        raise NotNeeded

    peer, clock = Peer(monkeypatch, overload(2), DONE), FakeClock(0.0)
    with pytest.raises(NotNeeded):
        send(WRITE, Limits(8, before_retry=check), clock)
    assert (len(peer.sent), clock.slept) == (1, [2.0])
    peer = Peer(monkeypatch, overload(2), DONE)
    assert send(READ, Limits(8, before_retry=check), FakeClock()).status == 200
    peer = Peer(monkeypatch, overload(2), DONE)
    assert send(WRITE, Limits(8), FakeClock()).status == 200
    assert len(peer.sent) == 2


def test_a_run_that_ends_prevents_each_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted(Exception):
        """The run ends."""

    attempts: list[int] = []

    def count() -> None:
        attempts.append(1)
        if len(attempts) == 3:
            raise Interrupted

    peer = Peer(monkeypatch, overload())
    with pytest.raises(Interrupted):
        send(WRITE, Limits(8), FakeClock(), before_send=count)
    assert len(peer.sent) == 2


@pytest.mark.parametrize(
    ("cause", "reason"),
    [
        (OSError(111, "Connection refused"), "Connection refused"),
        (ConnectionResetError(), "ConnectionResetError"),
        (OSError("the-session\x07 is\nshown"), "******** is shown"),
        (OSError("0123456789" * 31), "0123456789" * 30),
    ],
)
def test_the_reason_of_a_broken_connection(monkeypatch: pytest.MonkeyPatch, cause: OSError, reason: str) -> None:
    Peer(monkeypatch, ExchangeFailed(cause))
    with pytest.raises(ResponseLost) as caught:
        send(WRITE, Limits(8), FakeClock())
    assert str(caught.value) == f"Operation: the connection to {URL} broke: {reason}"


def test_a_line_about_each_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    class Time:
        """A clock that is a quarter of a second later at each look."""

        now = 1000.0

        def monotonic(self) -> float:
            self.now += 0.25
            return self.now

    monkeypatch.setattr(_transport, "time", Time())
    Peer(monkeypatch, overload(), BROKE, DONE)
    lines: list[str] = []
    secret = (("q", "url=https://chat.example.com/KEY"), ("password", "KEY"), ("q", "curl=a\x07the-session"))
    send(READ._replace(query=secret), Limits(8), FakeClock(), {"X-Job-UUID": "a"}, on_request=lines.append)
    target = "GET /v1/hosts?q=url=********&password=********&q=curl=a ********"
    assert lines == [
        f"{target}: 429, 250 ms, job a",
        f"{target}: no response, 250 ms, job a",
        f"{target}: 200, 250 ms, job a",
    ]
    send(WRITE, Limits(8), FakeClock(), on_request=lines.append)
    assert lines[3] == "PUT /v1/hosts: 200, 250 ms"


@pytest.mark.parametrize("status", [300, 302, 399])
def test_redirects_are_errors(monkeypatch: pytest.MonkeyPatch, status: int) -> None:
    Peer(monkeypatch, Response(status, {"Location": "https://portal.example.com/"}, b""))
    for request, kind in ((READ, TransportError), (WRITE, ResponseLost)):
        with pytest.raises(TransportError) as caught:
            send(request, Limits(8), FakeClock())
        assert caught.value.__class__ is kind
        message = "Operation was redirected to https://portal.example.com, which is not followed. Check base_url."
        assert str(caught.value) == message
    Peer(monkeypatch, Response(407, {}, b"login"))
    assert send(READ, Limits(8), FakeClock()).status == 407


def test_missing_libraries_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    hooks = Hooks(ConnectionOptions(URL).create_masker())
    monkeypatch.setattr(_transport, "has_socks", lambda: False)
    with pytest.raises(InvalidOptions) as caught:
        Transport(ConnectionOptions(URL, proxy_url="socks5h://user:pass@proxy"), hooks, AdapterPool())
    assert str(caught.value).startswith("Failed to import the required Python library (PySocks) on ")
    assert ". This is required for the socks5h proxy proxy:1080. See https://pypi.org/project/PySocks/ for " in str(
        caught.value
    )
    Transport(ConnectionOptions(URL, proxy_url="http://proxy"), hooks, AdapterPool())
    monkeypatch.setattr(_transport, "HAS_REQUESTS", False)
    with pytest.raises(InvalidOptions) as caught:
        Transport(ConnectionOptions(URL), hooks, AdapterPool())
    assert str(caught.value).startswith("Failed to import the required Python library (requests) on ")
    assert ". See https://pypi.org/project/requests/ for more info. " in str(caught.value)
