# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The reads of the threads of a batch: one request for many of them, and no answer that is older than the read."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._api.errors import ReadExecutedAsChange, VirtinfraError
from ansible_collections.virtinfra.manager.plugins.module_utils._client.client import Client
from ansible_collections.virtinfra.manager.plugins.module_utils._client.lists import get_by_uuid
from ansible_collections.virtinfra.manager.plugins.module_utils._http.connection import ConnectionOptions
from ansible_collections.virtinfra.manager.plugins.plugin_utils._batch import reads as _reads
from ansible_collections.virtinfra.manager.plugins.plugin_utils._batch.reads import JoinedReads, Read

from simulator.launch import Simulator
from simulator.state.store import seeded_uuid
from support.clients import make_client
from support.stub_server import StubRequest, StubResponse, StubServer

HOSTS = [seeded_uuid("host", number) for number in range(1, 5)]
SECONDS = 30


@pytest.fixture(name="sim")
def fixture_sim(sim: Simulator) -> Simulator:
    """A simulator with the hosts."""
    sim.reset(hosts=len(HOSTS))
    sim.clear_log()
    return sim


class Gate:
    """Holds the first request of a client, before it is sent or after its response, until it is opened."""

    def __init__(self) -> None:
        self.is_reached, self._is_open = threading.Event(), threading.Event()
        self._lock, self._is_used = threading.Lock(), False

    def pass_once(self) -> None:
        """Hold the thread that comes first."""
        with self._lock:
            is_first, self._is_used = not self._is_used, True
        if is_first:
            self.is_reached.set()
            assert self._is_open.wait(SECONDS)

    def open(self) -> None:
        """Let the thread continue."""
        self._is_open.set()


class Readers:
    """Threads that read hosts. The request of the first is held; that of the others begins when all have begun."""

    def __init__(self, client: Client, gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
        self._client, self.gate, self._monkeypatch = client, gate, monkeypatch
        self._pool = ThreadPoolExecutor(20)
        monkeypatch.setattr(_reads, "MAX_WAIT_FOR_TURN", SECONDS)

    def read_first(self) -> Future[list[dict[str, Any]]]:
        """Begin a read, and return when its request is held."""
        first = self.submit(HOSTS[0])
        assert self.gate.is_reached.wait(SECONDS)
        return first

    def read_together(self, uuids: Sequence[str]) -> list[Future[list[dict[str, Any]]]]:
        """Begin reads that share a request, and return when all have ended."""
        self._monkeypatch.setattr(_reads, "MAX_UUIDS", len(uuids))
        futures = [self.submit(uuid) for uuid in uuids]
        wait(futures, SECONDS)
        return futures

    def submit(self, uuid: str) -> Future[list[dict[str, Any]]]:
        """Begin a read."""
        return self._pool.submit(get_by_uuid, self._client, "QueryHost", uuid)


@contextmanager
def held_readers(
    url: str, monkeypatch: pytest.MonkeyPatch, check: Callable[[Gate], None] = Gate.pass_once, hook: str = "before_send"
) -> Iterator[Readers]:
    """Return a context manager for readers. The ``hook`` calls ``check`` with the gate for each request."""
    gate = Gate()
    hooks: dict[str, Any] = {hook: lambda *dummy: check(gate)}
    connection = ConnectionOptions(base_url=url, session_id=Simulator.session, request_retries=0)
    with make_client(connection, read_by_uuid=JoinedReads().read, **hooks) as client:
        try:
            yield Readers(client, gate, monkeypatch)
        finally:
            gate.open()


def list_reads(sim: Simulator) -> list[str]:
    """Return which hosts each request was for, by the path or the condition."""
    return [
        entry["path"].rpartition("/")[2] if entry["path"].endswith(tuple(HOSTS)) else "several"
        for entry in sim.log()
        if entry["operation"] == "QueryHost"
    ]


def test_reads_that_wait_share_one_request(sim: Simulator, monkeypatch: pytest.MonkeyPatch) -> None:
    with held_readers(sim.url, monkeypatch) as readers:
        first = readers.read_first()
        others = [future.result()[0] for future in readers.read_together(HOSTS)]
        assert [record["uuid"] for record in others] == HOSTS
        readers.gate.open()
        assert first.result() == [others[0]]
    assert list_reads(sim) == ["several", HOSTS[0]]


def test_read_alone_is_an_ordinary_one(sim: Simulator, monkeypatch: pytest.MonkeyPatch) -> None:
    with held_readers(sim.url, monkeypatch) as readers:
        readers.gate.open()
        assert readers.read_first().result()[0]["uuid"] == HOSTS[0]
    assert list_reads(sim) == HOSTS[:1]


def test_no_answer_is_older_than_its_read(sim: Simulator, monkeypatch: pytest.MonkeyPatch) -> None:
    """The response to the first read has arrived when the host changes, and only then the other reads begin."""
    with held_readers(sim.url, monkeypatch, hook="on_request") as readers:
        first = readers.read_first()
        sim.change("host", HOSTS[0], name="changed")
        others = readers.read_together([HOSTS[0], HOSTS[0]])
        records = [future.result()[0] for future in others]
        assert [record["name"] for record in records] == ["changed", "changed"]
        assert records[0] is not records[1]
        readers.gate.open()
        assert first.result()[0]["name"] == "host-1"


def test_response_does_not_answer_reads_that_wait_for_it(sim: Simulator, monkeypatch: pytest.MonkeyPatch) -> None:
    """The response to a request for two hosts has arrived when they change, and then another read of one waits."""
    has_response, may_continue, is_waiting = threading.Event(), threading.Event(), threading.Semaphore(0)
    responses: list[str] = []

    class Turn(threading.Event):
        """Says that a read waits for its turn."""

        def wait(self, timeout: float | None = None) -> bool:
            is_waiting.release()
            return super().wait(timeout)

    def hold_second(gate: Gate) -> None:
        responses.append("")
        if len(responses) == 2:
            has_response.set()
            assert may_continue.wait(SECONDS)
        gate.pass_once()

    with held_readers(sim.url, monkeypatch, hold_second, hook="on_request") as readers:
        monkeypatch.setattr(_reads, "Read", lambda client, uuid: Read(client, uuid, is_over=Turn()))
        first = readers.read_first()
        together = [readers.submit(uuid) for uuid in HOSTS[:2]]
        assert all(is_waiting.acquire(timeout=SECONDS) for dummy in together)
        readers.gate.open()
        try:
            assert has_response.wait(SECONDS)
            sim.change("host", HOSTS[0], name="changed")
            late = readers.submit(HOSTS[0])
            assert is_waiting.acquire(timeout=SECONDS)
        finally:
            may_continue.set()
        assert [future.result(SECONDS)[0]["name"] for future in (first, *together)] == ["host-1", "host-1", "host-2"]
        assert late.result(SECONDS)[0]["name"] == "changed"


def test_reads_wait_for_the_response_before_them(sim: Simulator, monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread that has read alone hands over to the first that waits, which reads for all of them."""
    monkeypatch.setattr(_reads, "MAX_UUIDS", 100)
    with held_readers(sim.url, monkeypatch) as readers:
        futures = [readers.read_first(), *(readers.submit(uuid) for uuid in HOSTS[1:])]
        readers.gate.open()
        assert [future.result(SECONDS)[0]["uuid"] for future in futures] == HOSTS


def test_reads_do_not_wait_for_long(sim: Simulator, monkeypatch: pytest.MonkeyPatch) -> None:
    with held_readers(sim.url, monkeypatch) as readers:
        monkeypatch.setattr(_reads, "MAX_WAIT_FOR_TURN", 0.01)
        first = readers.read_first()
        assert readers.submit(HOSTS[1]).result(SECONDS)[0]["uuid"] == HOSTS[1]
        assert not first.done()
        readers.gate.open()


def test_missing_object_is_confirmed_by_a_request_of_its_own(sim: Simulator, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = "f" * 32
    with held_readers(sim.url, monkeypatch) as readers:
        readers.read_first()
        found, lacking = readers.read_together([HOSTS[1], missing])
        assert (found.result()[0]["uuid"], lacking.result()) == (HOSTS[1], [])
    requests = [entry["path"].rpartition("/")[2] for entry in sim.log()]
    # The first read may arrive before, between or after them.
    assert [name for name in requests if name != HOSTS[0]] == ["hosts", missing]


def respond(request: StubRequest, to_several: StubResponse) -> StubResponse:
    """Return the response of a service that answers requests for one host, and ``to_several`` to others."""
    uuid = request.path.rpartition("/")[2]
    if uuid == "hosts":
        return to_several
    if uuid == HOSTS[3]:
        return StubResponse(503, {"error": {"code": "SYS.1000", "details": f"the row of {uuid} is broken"}})
    return StubResponse(200, {"inventories": [{"uuid": uuid, "name": "own"}]})


STRANGE = {
    "no record": StubResponse(200, {"inventories": []}),
    "nothing": StubResponse(200, {}),
    "other records": StubResponse(200, {"inventories": [{"uuid": "f" * 32, "name": "other"}]}),
    "records without uuid": StubResponse(200, {"inventories": [{"name": "other"}]}),
    "a wrong type": StubResponse(200, {"inventories": [{"uuid": HOSTS[1], "name": "other", "vmNics": "x"}]}),
    "no list": StubResponse(200, {"inventories": "none"}),
    "no JSON": StubResponse(200, b"<html>"),
    "overload": StubResponse(429, b"too many requests"),
    "a gateway": StubResponse(502, b"<html>"),
    "refused": StubResponse(400, b"unknown operator"),
    "lacking": StubResponse(405, b""),
    "too long": StubResponse(414, b"<html>"),
    "an error": StubResponse(503, {"error": {"code": "SYS.1000", "details": "token recognition error"}}),
}


@pytest.mark.parametrize("strange", STRANGE)
def test_each_object_is_read_singly_if_the_service_cannot_read_several(
    strange: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The failure of an object is that of its own request, word for word."""
    server = StubServer(lambda request: respond(request, STRANGE[strange]))
    with server, held_readers(server.url, monkeypatch) as readers:
        readers.read_first()
        one, other, broken = readers.read_together(HOSTS[1:])
        assert [future.result()[0]["name"] for future in (one, other)] == ["own", "own"]
        failure = broken.exception()
        assert isinstance(failure, VirtinfraError)
        connection = ConnectionOptions(base_url=server.url, session_id="x", request_retries=0)
        with make_client(connection) as client, pytest.raises(VirtinfraError) as alone:
            get_by_uuid(client, "QueryHost", HOSTS[3])
        assert str(failure) == str(alone.value)
        before = len(server.requests)
        again = readers.read_together(HOSTS[1:3])
        assert [future.result()[0]["name"] for future in again] == ["own", "own"]
        several = [request for request in server.requests[before:] if request.path.endswith("/hosts")]
        assert len(several) == (0 if strange in ("nothing", "refused", "lacking", "too long", "an error") else 1)


def test_condition_names_each_object_once(monkeypatch: pytest.MonkeyPatch) -> None:
    server = StubServer(lambda request: respond(request, StubResponse(200, {"inventories": []})))
    with server, held_readers(server.url, monkeypatch) as readers:
        readers.read_first()
        readers.read_together([HOSTS[2], HOSTS[1], HOSTS[2]])
    (several,) = [request for request in server.requests if request.path.endswith("/hosts")]
    assert several.query["limit"] == ["2"]
    (condition,) = several.query["q"]
    assert sorted(condition.removeprefix("uuid?=").split(",")) == HOSTS[1:3]


def test_read_that_is_executed_as_a_change_is_an_alarm(monkeypatch: pytest.MonkeyPatch) -> None:
    started = StubResponse(202, {"location": f"http://any/service/v1/api-jobs/{'1' * 32}"})
    server = StubServer(lambda request: respond(request, started))
    with server, held_readers(server.url, monkeypatch) as readers:
        readers.read_first()
        failures = [future.exception() for future in readers.read_together(HOSTS[1:3])]
        (alarm,) = filter(None, failures)
        assert isinstance(alarm, ReadExecutedAsChange)
        assert "1" * 32 in str(alarm)


def test_interruption_ends_all_reads(sim: Simulator, monkeypatch: pytest.MonkeyPatch) -> None:
    is_stopped = threading.Event()

    def check(gate: Gate) -> None:
        gate.pass_once()
        if is_stopped.is_set():
            raise KeyboardInterrupt

    with held_readers(sim.url, monkeypatch, check) as readers:
        first = readers.read_first()
        is_stopped.set()
        others = readers.read_together(HOSTS[1:])
        readers.gate.open()
        assert all(isinstance(future.exception(SECONDS), KeyboardInterrupt) for future in (first, *others))


def test_reads_with_other_credentials_or_operations_are_not_joined(
    sim: Simulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A read that shared the queue of the first would wait for its response."""
    gate = Gate()
    reads = JoinedReads()
    monkeypatch.setattr(_reads, "MAX_WAIT_FOR_TURN", SECONDS)
    connection = ConnectionOptions(base_url=sim.url, session_id=sim.session)
    key_id, secret = sim.access_key_id, sim.access_key_secret
    other = ConnectionOptions(base_url=sim.url, access_key_id=key_id, access_key_secret=secret)
    with (
        make_client(connection, read_by_uuid=reads.read, before_send=gate.pass_once) as client,
        make_client(other, read_by_uuid=reads.read) as same_service,
        ThreadPoolExecutor(1) as pool,
    ):
        first = pool.submit(get_by_uuid, client, "QueryHost", HOSTS[0])
        assert gate.is_reached.wait(SECONDS)
        assert get_by_uuid(same_service, "QueryHost", HOSTS[0])[0]["uuid"] == HOSTS[0]
        vm = seeded_uuid("vm", 1)
        assert get_by_uuid(client, "QueryVmInstance", vm)[0]["uuid"] == vm
        assert not first.done()
        gate.open()
        assert first.result()[0]["uuid"] == HOSTS[0]
    assert json.dumps(sim.log()).count("uuid?") == 0
