"""The reads of the threads of a batch: one request for many of them, and no answer that is older than the read."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._api.errors import ReadExecutedAsChange, VirtinfraError
from ansible_collections.virtinfra.manager.plugins.module_utils._client import joined_reads as _reads
from ansible_collections.virtinfra.manager.plugins.module_utils._client.client import Client
from ansible_collections.virtinfra.manager.plugins.module_utils._client.joined_reads import JoinedReads, Read, Turnout
from ansible_collections.virtinfra.manager.plugins.module_utils._client.lists import (
    SHORT_LIST_SECONDS,
    find_by_attribute,
    find_in_short_list,
    get_by_uuid,
    list_all,
    list_selected,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._http.connection import ConnectionOptions
from conftest import FakeClock

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
        self.client, self.gate, self._monkeypatch = client, gate, monkeypatch
        self.pool = ThreadPoolExecutor(20)
        monkeypatch.setattr(_reads, "MAX_WAIT_FOR_TURN", SECONDS)

    def read_first(self, attribute: str = "uuid", value: str = HOSTS[0]) -> Future[list[dict[str, Any]]]:
        """Begin a read, and return when its request is held."""
        first = self.submit(value, attribute)
        assert self.gate.is_reached.wait(SECONDS)
        return first

    def read_together(self, values: Sequence[str], attribute: str = "uuid") -> list[Future[list[dict[str, Any]]]]:
        """Begin reads that share a request, and return when all have ended."""
        self._monkeypatch.setattr(_reads, "MAX_VALUES", len(values))
        futures = [self.submit(value, attribute) for value in values]
        wait(futures, SECONDS)
        return futures

    def submit(self, value: str, attribute: str = "uuid") -> Future[list[dict[str, Any]]]:
        """Begin a read."""
        if not attribute:
            return self.pool.submit(list_all, self.client, "QueryHost")
        if attribute == "uuid":
            return self.pool.submit(get_by_uuid, self.client, "QueryHost", value)
        return self.pool.submit(find_by_attribute, self.client, "QueryHost", attribute, value)


@contextmanager
def held_readers(
    url: str,
    monkeypatch: pytest.MonkeyPatch,
    check: Callable[[Gate], None] = Gate.pass_once,
    hook: str = "before_send",
    retries: int = 0,
    turnout: Turnout | None = None,
) -> Iterator[Readers]:
    """Return a context manager for readers. The ``hook`` calls ``check`` with the gate for each request."""
    gate = Gate()
    hooks: dict[str, Any] = {hook: lambda *dummy: check(gate)}
    connection = ConnectionOptions(base_url=url, session_id=Simulator.session, request_retries=retries)
    with make_client(connection, reads=JoinedReads(turnout), **hooks) as client:
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


def test_request_waits_for_the_reads_of_threads_that_compute(sim: Simulator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two threads of a batch compute. The second begins its read when the first waits."""
    monkeypatch.setattr(_reads, "MAX_WAIT_FOR_OTHERS", SECONDS)
    turnout = Turnout()
    for dummy in range(2):
        turnout.resume()
    with held_readers(sim.url, monkeypatch, turnout=turnout) as readers:
        readers.gate.open()
        futures = [readers.submit(host) for host in HOSTS[:2]]
        assert [future.result(SECONDS)[0]["uuid"] for future in futures] == HOSTS[:2]
    assert list_reads(sim) == ["several"]


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
    monkeypatch.setattr(_reads, "MAX_VALUES", 100)
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
    # The read of the first host may arrive before, between or after the other two.
    assert [name for name in requests if name != HOSTS[0]] == ["hosts", missing]


def test_missing_objects_are_looked_up_in_a_short_list(sim: Simulator, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = [character * 32 for character in "def"]
    with held_readers(sim.url, monkeypatch) as readers:
        readers.read_first()
        found, *lacking = readers.read_together([HOSTS[1], *missing])
        assert found.result()[0]["uuid"] == HOSTS[1]
        assert [future.result() for future in lacking] == [[], [], []]
    requests = [entry["path"].rpartition("/")[2] for entry in sim.log()]
    assert [name for name in requests if name != HOSTS[0]] == ["hosts", "hosts"]


@pytest.mark.parametrize("is_counted", [True, False])
def test_missing_objects_are_requested_alone_if_the_list_may_be_longer(
    monkeypatch: pytest.MonkeyPatch, is_counted: bool
) -> None:
    missing = [character * 32 for character in "def"]
    count = {"total": 2} if is_counted else {}
    listed = StubResponse(200, {"inventories": [{"uuid": HOSTS[0], "name": "host-1"}], **count})
    requests: list[str] = []

    def answer(request: StubRequest) -> StubResponse:
        requests.append(request.path.rpartition("/")[2])
        return respond(request, listed)

    with StubServer(answer) as service, held_readers(service.url, monkeypatch) as readers:
        readers.read_first()
        lacking = readers.read_together(missing)
        assert [future.result()[0]["name"] for future in lacking] == ["own"] * 3
    assert sorted(set(requests) & set(missing)) == missing


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


def test_request_for_several_is_not_retried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each thread reads its object itself instead, and retries that."""
    server = StubServer(lambda request: respond(request, STRANGE["a gateway"]))
    with server, held_readers(server.url, monkeypatch, retries=1) as readers:
        readers.read_first()
        found = [future.result()[0]["name"] for future in readers.read_together(HOSTS[1:3])]
        assert found == ["own", "own"]
        assert sum(request.path.endswith("/hosts") for request in server.requests) == 1


def test_condition_names_each_object_once(monkeypatch: pytest.MonkeyPatch) -> None:
    server = StubServer(lambda request: respond(request, StubResponse(200, {"inventories": []})))
    with server, held_readers(server.url, monkeypatch) as readers:
        readers.read_first()
        readers.read_together([HOSTS[2], HOSTS[1], HOSTS[2]])
    (several,) = [request for request in server.requests if request.path.endswith("/hosts") and "q" in request.query]
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
        make_client(connection, reads=reads, before_send=gate.pass_once) as client,
        make_client(other, reads=reads) as same_service,
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


def test_a_read_is_kept_as_long_as_its_own_age_allows(sim: Simulator) -> None:
    """Reads that may be less old do not end what others may use."""
    clock = FakeClock()
    connection = ConnectionOptions(base_url=sim.url, session_id=sim.session)
    with make_client(connection, reads=JoinedReads(), clock=clock) as client:
        for seconds, reads_of_templates in ((0, 1), (SHORT_LIST_SECONDS - 0.1, 1), (0.1, 2)):
            clock.now += seconds
            get_by_uuid(client, "QueryHost", HOSTS[0], max_age=1.0)
            find_in_short_list(client, "QueryTemplatedVmInstance", HOSTS[0])
            operations = [entry["operation"] for entry in sim.log()]
            assert operations.count("QueryTemplatedVmInstance") == reads_of_templates


# ------------------------------------------------------------------------------------------------- by other attributes


def list_conditions(queries: Iterable[Mapping[str, Sequence[str]]]) -> list[str]:
    """Return the conditions of requests, empty for one without."""
    return ["".join(query.get("q", ())) for query in queries]


def list_known_names(sim: Simulator) -> list[str]:
    """Return the names with which the first condition for several names begins and ends."""
    conditions = list_conditions(entry["query"] for entry in sim.log())
    names = next(text.removeprefix("name?=").split(",") for text in conditions if text.startswith("name?="))
    return [names[0], names[-1]]


def test_reads_by_other_attributes_share_one_request(sim: Simulator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing else is requested for a name that no host has, because the response has two others that exist."""
    with held_readers(sim.url, monkeypatch) as readers:
        first = readers.read_first("name", "host-1")
        names = ["host-2", "new-1", "HOST-3"]
        found, new, other_case = (future.result() for future in readers.read_together(names, "name"))
        assert ([each["uuid"] for each in found], new, other_case) == (HOSTS[1:2], [], [])
        known = list_known_names(sim)
        one, other = (uuid for number, uuid in enumerate(HOSTS, 1) if f"host-{number}" not in known)
        for uuid in (one, other):
            sim.change("host", uuid, name="twin")
        *both, found = (future.result() for future in readers.read_together(["twin", "twin", "new-1"], "name"))
        assert [sorted(each["uuid"] for each in records) for records in both] == [sorted((one, other))] * 2
        assert found == []
        assert both[0][0] is not both[1][0]
        readers.gate.open()
        first.result()
    conditions = list_conditions(entry["query"] for entry in sim.log())
    # The order of reads in a condition is that of their threads, and the first read arrives at any time.
    conditions.remove("name=host-1")
    assert [sorted(text.removeprefix("name?=").split(",")) for text in conditions] == [
        [""],
        sorted([*names, *known]),
        sorted(["new-1", "twin", *known]),
    ]


def test_reads_of_one_name_share_a_request_for_it_alone(sim: Simulator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reads of one name do not depend on two other names, which a service with one object does not have."""
    with held_readers(sim.url, monkeypatch) as readers:
        readers.read_first("name", "host-1")
        sim.clear_log()
        found = [future.result() for future in readers.read_together(["host-2"] * 3, "name")]
        assert [records[0]["uuid"] for records in found] == [HOSTS[1]] * 3
        assert found[0][0] is not found[1][0]
        conditions = list_conditions(entry["query"] for entry in sim.log())
    assert [condition for condition in conditions if condition != "name=host-1"] == ["name=host-2"]


def test_few_objects_are_all_read(sim: Simulator, monkeypatch: pytest.MonkeyPatch) -> None:
    """A list with fewer than two names answers all reads, until there are two for a condition."""
    sim.reset(hosts=1)
    with held_readers(sim.url, monkeypatch) as readers:
        readers.read_first("name", "host-2")
        sim.clear_log()
        names = ["host-1", "new-1"]
        found, new = (future.result() for future in readers.read_together(names, "name"))
        assert ([each["name"] for each in found], new) == (["host-1"], [])
        sim.reset(hosts=3)
        found, new = (future.result() for future in readers.read_together(names, "name"))
        assert ([each["name"] for each in found], new) == (["host-1"], [])
        conditions = list_conditions(entry["query"] for entry in sim.log())
    assert [text.partition("=")[0] for text in conditions if text != "name=host-2"] == ["", "name?"]


def test_two_objects_are_enough_for_a_condition(sim: Simulator, monkeypatch: pytest.MonkeyPatch) -> None:
    sim.reset(hosts=2)
    with held_readers(sim.url, monkeypatch) as readers:
        readers.read_first("name", "host-1")
        sim.clear_log()
        found, new = (future.result() for future in readers.read_together(["host-2", "new-1"], "name"))
        assert ([each["name"] for each in found], new) == (["host-2"], [])
        conditions = list_conditions(entry["query"] for entry in sim.log())
    sample, several = (text for text in conditions if text != "name=host-1")
    assert (sample, sorted(several.removeprefix("name?=").split(","))) == ("", ["host-1", "host-2", "host-2", "new-1"])


def test_value_that_a_list_cannot_contain_is_requested_alone(sim: Simulator, monkeypatch: pytest.MonkeyPatch) -> None:
    odd = ["a,b", "a b", "a'b", "a=b", "", "x" * 33]
    for uuid, name in zip(HOSTS, odd, strict=False):
        sim.change("host", uuid, name=name)
    with held_readers(sim.url, monkeypatch) as readers:
        readers.read_first("name", "host-1")
        found = [[each["name"] for each in future.result()] for future in readers.read_together(odd, "name")]
        assert found == [*([name] for name in odd[: len(HOSTS)]), [], []]
    assert json.dumps(sim.log()).count("name?") == 0


def test_known_object_that_is_gone_proves_nothing(sim: Simulator, monkeypatch: pytest.MonkeyPatch) -> None:
    with held_readers(sim.url, monkeypatch) as readers:
        readers.read_first("name", "host-1")
        readers.read_together(["host-2", "new-1"], "name")
        last = next(each for each in sim.records("host") if each["name"] == list_known_names(sim)[1])
        sim.change("host", last["uuid"], name="renamed")
        sim.clear_log()
        found, new = (future.result() for future in readers.read_together(["renamed", "new-1"], "name"))
        assert ([each["uuid"] for each in found], new) == ([last["uuid"]], [])
        conditions = sorted(list_conditions(entry["query"] for entry in sim.log()))
        assert conditions[:2] == ["name=new-1", "name=renamed"]
        sim.clear_log()
        readers.read_together(["host-2", "new-1"], "name")
        assert json.dumps(sim.log()).count("name?") == 0


def record(number: int) -> dict[str, Any]:
    return {"uuid": f"{number:032x}", "name": f"host-{number}"}


# What a service returns for a sample, and for a condition with several names, of which host-2 exists and new does not.
UNPROVEN: dict[str, tuple[list[dict[str, Any]], StubResponse]] = {
    "none": ([record(1), record(4)], StubResponse(200, {"inventories": [], "total": 0})),
    "the first": ([record(1), record(4)], StubResponse(200, {"inventories": [record(1)], "total": 1})),
    "the last": ([record(1), record(4)], StubResponse(200, {"inventories": [record(4)], "total": 1})),
    "a part": ([record(1), record(4)], StubResponse(200, {"inventories": [record(1), record(4)], "total": 3})),
    "no total": ([record(1), record(4)], StubResponse(200, {"inventories": [record(1), record(4)]})),
    "an error": ([record(1), record(4)], StubResponse(503, {"error": {"code": "SYS.1000", "details": "no operator"}})),
    "one object": ([record(1)], StubResponse(200, {"inventories": [record(1), record(4)], "total": 2})),
    "no names": ([{"uuid": "1" * 32}, {"uuid": "2" * 32}], StubResponse(200, {"inventories": [], "total": 0})),
}


@pytest.mark.parametrize("unproven", UNPROVEN)
def test_each_name_is_requested_if_the_response_does_not_prove_that_all_were_checked(
    unproven: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample, to_several = UNPROVEN[unproven]

    def respond(request: StubRequest) -> StubResponse:
        (condition,) = request.query.get("q", [""])
        if condition.startswith("name?="):
            return to_several
        own = [record(2)] if condition == "name=host-2" else []
        return StubResponse(200, {"inventories": own if condition else sample})

    server = StubServer(respond)
    with server, held_readers(server.url, monkeypatch) as readers:
        readers.read_first("name", "host-1")
        for dummy in range(2):
            found, new = (future.result() for future in readers.read_together(["host-2", "new"], "name"))
            assert ([each["name"] for each in found], new) == (["host-2"], [])
        conditions = list_conditions(request.query for request in server.requests)
        assert len([text for text in conditions if text.startswith("name?=")]) <= 1
        assert conditions.count("name=host-2") == conditions.count("name=new") == 2


# ------------------------------------------------------------------------------------------------------ by a parameter

STATISTIC = "GetHostNicServiceTypeStatistic"
INTERFACES = [character * 32 for character in "abc"]


def service_types(interface: str, *types: str, vlan: int = 0) -> dict[str, Any]:
    """Return the record of the service types of an interface."""
    return {"interfaceUuid": interface, "vlanId": vlan, "serviceTypes": [*types], "hostUuid": HOSTS[0]}


ROWS = [
    service_types(INTERFACES[0], "StorageNetwork"),
    service_types(INTERFACES[0], "TenantNetwork", vlan=100),
    service_types(INTERFACES[1], "BackupNetwork"),
]


class ListReaders(Readers):
    """Threads that read the service types of interfaces."""

    def submit(self, value: str, attribute: str = "interfaceUuid") -> Future[list[dict[str, Any]]]:
        """Begin a read."""
        return self.pool.submit(list_selected, self.client, STATISTIC, attribute, value)


@contextmanager
def held_list_readers(to_all: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[ListReaders, list[str]]]:
    """Return readers of service types, and the interfaces of the requests, empty for one for all."""
    requests: list[str] = []

    def answer(request: StubRequest) -> StubResponse:
        (interface,) = request.query.get("interfaceUuid", [""])
        requests.append(interface)
        own = [row for row in ROWS if row["interfaceUuid"] == interface]
        return StubResponse(200, {"serviceTypeStatistics": own, "total": len(own)} if interface else to_all)

    with StubServer(answer) as server, held_readers(server.url, monkeypatch) as readers:
        yield ListReaders(readers.client, readers.gate, monkeypatch), requests


def test_reads_of_a_list_share_a_request_for_all_its_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """An interface without a record has no service types. Threads get records of their own."""
    to_all = {"serviceTypeStatistics": ROWS, "total": len(ROWS)}
    with held_list_readers(to_all, monkeypatch) as (readers, requests):
        readers.read_first("interfaceUuid", "f" * 32)
        one, same, other, none = (
            future.result() for future in readers.read_together([INTERFACES[0], *INTERFACES], "interfaceUuid")
        )
        assert (one, same, other, none) == (ROWS[:2], ROWS[:2], ROWS[2:], [])
        assert one[0] is not same[0]
        assert [interface for interface in requests if interface != "f" * 32] == [""]


INCOMPLETE: dict[str, dict[str, Any]] = {
    "truncated": {"serviceTypeStatistics": ROWS[:1], "total": 3},
    "no total": {"serviceTypeStatistics": ROWS},
    "lacks an interface": {"serviceTypeStatistics": [*ROWS, {"vlanId": 0}], "total": 4},
    "no list": {"total": 0},
}


@pytest.mark.parametrize("reason", INCOMPLETE)
def test_each_record_of_a_list_is_requested_if_the_response_may_lack_some(
    monkeypatch: pytest.MonkeyPatch, reason: str
) -> None:
    with held_list_readers(INCOMPLETE[reason], monkeypatch) as (readers, requests):
        readers.read_first("interfaceUuid", "f" * 32)
        found = [future.result() for future in readers.read_together(INTERFACES, "interfaceUuid")]
        assert found == [ROWS[:2], ROWS[2:], []]
        assert sorted(interface for interface in requests if interface != "f" * 32) == ["", *INTERFACES]


def test_long_list_is_only_read_for_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """If a list has one record for each read that it answers, three reads need at most three records."""
    monkeypatch.setattr(_reads, "ROWS_PER_READ", 1)
    to_all = {"serviceTypeStatistics": ROWS, "total": len(ROWS)}
    with held_list_readers(to_all, monkeypatch) as (readers, requests):
        readers.read_first("interfaceUuid", "f" * 32)
        for count, expected in ((3, [""]), (2, INTERFACES[:2]), (3, [""])):
            requests.clear()
            found = [future.result() for future in readers.read_together(INTERFACES[:count], "interfaceUuid")]
            assert found == [ROWS[:2], ROWS[2:], []][:count]
            assert sorted(interface for interface in requests if interface != "f" * 32) == expected


# -------------------------------------------------------------------------------------------------------- whole lists


def test_reads_of_a_whole_list_share_its_records(sim: Simulator, monkeypatch: pytest.MonkeyPatch) -> None:
    with held_readers(sim.url, monkeypatch) as readers:
        first = readers.read_first("", "")
        sim.clear_log()
        found = [future.result() for future in readers.read_together([""] * 3, "")]
        assert [record["uuid"] for record in found[0]] == HOSTS
        assert found[0] is found[1] is found[2]
        assert len(sim.log()) == 1
        readers.gate.open()
        assert first.result(SECONDS) == found[0]
