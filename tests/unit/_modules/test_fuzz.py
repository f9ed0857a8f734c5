"""With any response of a service, a task ends with a result or with its own failure message."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._api.errors import VirtinfraError
from ansible_collections.virtinfra.manager.plugins.module_utils._api.records import RECORD_FIELDS
from ansible_collections.virtinfra.manager.plugins.module_utils._http.connection import ConnectionOptions
from conftest import reply_to
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from simulator.launch import Simulator
from support.clients import make_client
from support.examples import count_examples
from support.fast_clock import with_fast_clock
from support.module_runner import run_module
from support.scenarios import HOST, SCENARIOS, VM
from support.socket_servers import ByteServer
from support.stub_server import StubRequest, StubResponse, StubServer, forward

READERS: tuple[tuple[str, Mapping[str, Any]], ...] = (
    ("api", {"operation": "GetHostNetworkFacts", "params": {"hostUuid": HOST}}),
    ("api", {"operation": "ChangeHostState", "params": {"uuid": HOST, "stateEvent": "disable"}}),
    ("cbt_task_info", {"query": ["status=Running"]}),
    ("host_info", {"name": "host-1"}),
    ("host_info", {"limit": 3}),
    ("host_network_info", {"hosts": [HOST]}),
    ("host_nic_candidate_info", {"hosts": [HOST]}),
    ("job_info", {"jobs": [{"uuid": HOST}]}),
    ("job_wait", {"jobs": [{"uuid": HOST}], "wait_timeout": 20}),
    ("primary_storage_info", {}),
    ("resource_info", {"resource_type": "vm", "sort": "uuid"}),
    ("sns_endpoint_info", {}),
    ("sns_topic_subscriber_info", {}),
    ("vm_info", {"uuid": VM}),
)
TASKS = (*READERS, *((each.module, {**each.options, "wait_timeout": 20}) for each in SCENARIOS))
MOST_REQUESTS = 3000


@pytest.fixture(autouse=True)
def _hurried() -> Iterator[None]:
    with with_fast_clock():
        yield


def ends_well(server: StubServer, module: str, options: Mapping[str, Any]) -> None:
    """Run a task; it must end soon, with a result that can be serialized, or with a failure message."""
    result = run_module(
        module, {"base_url": server.url, "session_id": "s", "api_token": "t", "request_retries": 2, **options}
    ).result
    assert len(server.requests) < MOST_REQUESTS
    json.dumps(result, ensure_ascii=False).encode("utf-8")
    assert "exception" not in result, result["exception"]
    if result.get("failed"):
        assert isinstance(result["msg"], str)
        assert result["msg"]


# ------------------------------------------------------------------------------------------------ replies that are JSON

WORDS = sorted(
    {name for fields in RECORD_FIELDS.values() for name in fields}
    | {"inventory", "inventories", "items", "total", "nextCursor", "hasMore", "location", "error", "success"}
    | {"code", "details", "description", "cause", "connected", "webhookResp", "resourceRefs", "resourceUuid"}
    | {"serviceTypeStatistics", "serviceTypes", "bondings", "nics", "slaveNames", "candidateNics", "volumeInfos"}
)
PLAIN = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=20),
    st.sampled_from([HOST, VM, "Running", "Enabled", "Connected", "\ud800", f"/service/v1/api-jobs/{HOST}", "{{ 1 }}"]),
)
VALUES = st.recursive(
    PLAIN,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS) | st.text(), inner, max_size=5),
    max_leaves=12,
)
RECORD = st.dictionaries(st.sampled_from(WORDS), VALUES, max_size=8).map(lambda record: {"uuid": HOST, **record})
REPLY = st.one_of(
    st.dictionaries(st.sampled_from(WORDS), VALUES, max_size=4),
    st.fixed_dictionaries({"inventories": st.lists(RECORD, max_size=3)}, optional={"total": VALUES}),
    st.fixed_dictionaries({"items": st.lists(RECORD, max_size=3), "hasMore": VALUES, "nextCursor": VALUES}),
    st.fixed_dictionaries({"inventory": RECORD}),
    st.fixed_dictionaries({"error": VALUES}),
    st.fixed_dictionaries({"serviceTypeStatistics": st.lists(RECORD, max_size=2)}),
    VALUES,
)
STATUS = st.sampled_from([200, 200, 200, 200, 202, 202, 204, 301, 400, 401, 404, 429, 500, 502, 503])


def json_response(status: int, reply: Any) -> StubResponse:
    """Return a response with a body that is JSON, or nearly."""
    return StubResponse(status, json.dumps(reply).encode())


# Responses of systems other than the service to calls, reads and polls.
JSON_TYPE = ("Content-Type", "application/json")
HTML = StubResponse(200, b"<html><title>Log in</title></html>", (("Content-Type", "text/html"),))
STRAY = (
    *(StubResponse(status) for status in (200, 204)),
    *(StubResponse(200, {"status": words}) for words in ("login required", "ok")),
    *(
        replace(HTML, status=status)
        for status in (200, 301, 302, 304, 401, 403, 405, 407, 409, 421, 425, 499, 500, 501)
    ),
    *(
        StubResponse(status, {"error": {"code": status, "message": "upstream"}}, (JSON_TYPE,))
        for status in (400, 404, 429, 502, 503, 504)
    ),
    *(StubResponse(status, b"refused") for status in (400, 403, 404, 405, 429, 500)),
    StubResponse(200, {}, interim=(103,)),
    StubResponse(202, {}, interim=(100, 103)),
    StubResponse(200, {"inventory": {"uuid": HOST, "name": "x" * 10**6}}),
    StubResponse(200, b'{"inventory": ' + b"[" * 10_000 + b"]" * 10_000 + b"}"),
    StubResponse(200, b'{"inventories": [{"uuid": "%s", "sshPort": 1e999}], "total": 1e999}' % HOST.encode()),
    StubResponse(200, gzip.compress(b'{"inventories": []}'), (("Content-Encoding", "gzip"), JSON_TYPE)),
)
ANSWER = st.builds(json_response, STATUS, REPLY) | st.sampled_from(STRAY)


@given(st.sampled_from(TASKS), st.lists(ANSWER, min_size=1, max_size=8))
@settings(max_examples=count_examples(25), suppress_health_check=[HealthCheck.too_slow])
def test_any_reply_to_any_module(task: tuple[str, Mapping[str, Any]], answers: list[StubResponse]) -> None:
    module, options = task

    def answer(request: StubRequest) -> StubResponse:
        return answers[len(server.requests) % len(answers)]

    with StubServer(answer) as server:
        ends_well(server, module, options)


# ------------------------------------------------------------------------------- replies with a single mistake


@dataclass(frozen=True)
class RecordedRun:
    """A task and the responses of the simulator to it."""

    module: str
    options: Mapping[str, Any] = field(repr=False)
    answers: tuple[StubResponse, ...] = field(repr=False)

    @property
    def replies(self) -> dict[int, Any]:
        """The responses that are JSON, by their number."""
        return {
            number: json.loads(answer.body) for number, answer in enumerate(self.answers) if answer.body[:1] == b"{"
        }


def record_run(sim: Simulator, number: int) -> RecordedRun:
    """Run a task, given by its number, and record the responses of the simulator."""
    module, options = TASKS[number]
    sim.reset(latency=0.0, reconnect=0.0, cbt_tasks=4)
    for kind, uuid, members in SCENARIOS[number - len(READERS)].prepare if number >= len(READERS) else ():
        sim.change(kind, uuid, **members)
    return RecordedRun(module, options, tuple(listen(sim, module, options)))


@pytest.fixture(scope="module")
def record(running_simulator: Simulator) -> Callable[[int], RecordedRun]:
    """Record the run of a task, once."""
    return cache(partial(record_run, running_simulator))


def listen(sim: Simulator, module: str, options: Mapping[str, Any]) -> Iterator[StubResponse]:
    """Run a task and yield its responses."""
    responses: list[StubResponse] = []

    def pass_on(request: StubRequest) -> StubResponse:
        responses.append(forward(sim.port, request))
        return responses[-1]

    with StubServer(pass_on) as server:
        run_module(module, {"base_url": server.url, "session_id": sim.session, "api_token": sim.token, **options})
    yield from (each for each in responses if (each.status, each.body) != (202, b"{}"))


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path to every node of a JSON value."""
    yield path
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from places(child, (*path, key))


def replace_value(value: Any, path: tuple[Any, ...], other: Any) -> Any:
    """Return a JSON value with another value at a path."""
    if not path:
        return other
    if isinstance(value, dict):
        return {key: replace_value(each, path[1:], other) if key == path[0] else each for key, each in value.items()}
    return [replace_value(each, path[1:], other) if key == path[0] else each for key, each in enumerate(value)]


@given(st.data())
@settings(
    max_examples=count_examples(40), suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
def test_one_wrong_value(record: Callable[[int], RecordedRun], data: st.DataObject) -> None:
    task = record(data.draw(st.integers(0, len(TASKS) - 1)))
    assume(task.replies)
    number = data.draw(st.sampled_from(list(task.replies)))
    reply = task.replies[number]
    place = data.draw(st.sampled_from(list(places(reply))))
    wrong = json_response(task.answers[number].status, replace_value(reply, place, data.draw(VALUES)))
    wrong = data.draw(st.just(wrong) | st.sampled_from(STRAY))
    answers = [*task.answers[:number], wrong, *task.answers[number + 1 :]]

    def answer(request: StubRequest) -> StubResponse:
        return answers[min(len(server.requests), len(answers)) - 1]

    with StubServer(answer) as server:
        ends_well(server, task.module, task.options)


# --------------------------------------------------------------------------------------------- answers that are no HTTP


HEADERS = st.lists(
    st.sampled_from(
        [
            b"Content-Length: 5",
            b"Content-Length: 0",
            b"Content-Length: -1",
            b"Content-Length: 99999999999999999999",
            b"Content-Length: five",
            b"Transfer-Encoding: chunked",
            b"Transfer-Encoding: gzip",
            b"Content-Encoding: gzip",
            b"Content-Encoding: deflate, br",
            b"Content-Type: text/html; charset=nonsense",
            b"Connection: close",
            b"Retry-After: yesterday",
            b"Location: http://[::1",
            b"Location: https://elsewhere.example/",
            b": nameless",
            b"No colon",
            b"X: \xff\xfe",
            b"Set-Cookie: a=b",
        ]
    ),
    max_size=4,
)
LINE = st.sampled_from(
    [
        b"HTTP/1.1 200 OK",
        b"HTTP/1.1 202 ",
        b"HTTP/1.1 302 Found",
        b"HTTP/1.0 503 No",
        b"HTTP/1.1 100 Continue",
        b"HTTP/9.9 200 OK",
        b"HTTP/1.1 999 Odd",
        b"HTTP/1.1 20 Short",
        b"HTTP/1.1 -200 Minus",
        b"<html>",
        b"",
    ]
)
BODY = st.one_of(
    st.binary(max_size=30),
    st.sampled_from([b"5\r\n{}   \r\n0\r\n\r\n", b"zz\r\n", b"{}", b'{"a":', b"\x1f\x8b\x08", b"ffffffffffff\r\n"]),
)


INTERIM = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"


@given(LINE, HEADERS, BODY, st.integers(0, 2))
@example(b"HTTP/1.1 200 OK", [b"Transfer-Encoding: chunked"], b"-5\r\nhello", 0)
@settings(max_examples=count_examples(60))
def test_any_bytes(line: bytes, headers: list[bytes], body: bytes, interim: int) -> None:
    with ByteServer(lambda: iter([INTERIM * interim, b"\r\n".join([line, *headers, b"", body])])) as server:
        connection = ConnectionOptions(server.url, session_id="s", api_token="t", request_retries=1, request_timeout=2)
        client = make_client(connection, wait_timeout=1)
        calls: tuple[Callable[[], dict[str, Any]], ...] = (
            lambda: client.get("QueryHost", {}),
            lambda: client.get("CursorQuery", {"resourceType": "vm"}),
            lambda: reply_to(client, "DeleteCbtTask", {"uuid": HOST}),
        )
        with client:
            for call in calls:
                with suppress(VirtinfraError):
                    assert isinstance(call(), dict)
