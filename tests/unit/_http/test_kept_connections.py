"""Connections that the tasks of a worker share: the items of a loop and the attempts of until."""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import replace

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._client.client import Client
from ansible_collections.virtinfra.manager.plugins.module_utils._client.lists import query
from ansible_collections.virtinfra.manager.plugins.module_utils._http import adapter as _adapter
from ansible_collections.virtinfra.manager.plugins.module_utils._http.adapter import AdapterPool
from ansible_collections.virtinfra.manager.plugins.module_utils._http.connection import ConnectionOptions
from conftest import FakeClock, reply_to

from support.clients import make_client
from support.socket_servers import SocketServer, read_request
from support.stub_server import StubRequest, StubResponse, StubServer

DISABLE = {"uuid": "a0000003000040008000000000000001", "stateEvent": "disable"}


def new_task_of(url: str) -> Callable[..., Client]:
    """Return a function that returns the client of another task of one worker."""
    pool, clock = AdapterPool(), FakeClock()

    def make(**options: object) -> Client:
        connection = ConnectionOptions(url, **{"session_id": "the-session", **options})  # type: ignore[arg-type]
        return make_client(connection, connections=pool, clock=clock)

    return make


def test_connection_is_kept_for_tasks_with_the_same_options() -> None:
    def answer(request: StubRequest) -> StubResponse:
        return StubResponse(200, {"inventories": []})

    with StubServer(answer) as service:
        new_task = new_task_of(service.url)
        for options in ({}, {}, {"session_id": "another"}, {}):
            with new_task(**options) as client:
                query(client, "QueryHost")
        ports = [request.client_port for request in service.requests]
    assert ports == [ports[0], ports[0], ports[2], ports[0]]
    assert ports[2] != ports[0]


class ClosingServer(SocketServer):
    """Answers the first request of each connection, and closes the connection after it has received the second one."""

    reply = b'{"inventories": []}'

    def handle(self, client: socket.socket) -> None:
        """Serve a connection."""
        read_request(client)
        head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(self.reply)
        client.sendall(head + self.reply)
        read_request(client)


@pytest.mark.parametrize(("method", "retries"), [("GET", 8), ("GET", 0), ("PUT", 8), ("PUT", 0)])
def test_a_connection_that_the_service_closes_meanwhile(
    monkeypatch: pytest.MonkeyPatch, method: str, retries: int
) -> None:
    """A write, and a read without retries, are not sent over a connection that was idle."""
    monkeypatch.setattr(_adapter, "MAX_IDLE", 0)
    name = {"GET": "QueryHost", "PUT": "ChangeHostState"}[method]
    with ClosingServer() as service:
        new_task = new_task_of(service.url)
        for operation in ("QueryHost", name):
            with new_task(request_retries=retries) as client:
                if operation == "ChangeHostState":
                    service.reply = b'{"inventory": {"state": "Disabled"}}'
                reply_to(client, operation, DISABLE if operation == "ChangeHostState" else {})
        assert service.accepted == 2


def test_a_client_with_own_connections_shares_the_session_but_no_connection() -> None:
    with (
        StubServer(lambda request: StubResponse(200, {"inventories": []})) as service,
        new_task_of(service.url)(session_id="the-only-session") as client,
    ):
        # Only the connections of the worker are kept beyond a client.
        client.hooks = replace(client.hooks, connections=None)
        query(client, "QueryHost")
        with client.with_own_connections() as reader:
            query(reader, "QueryHost")
            query(reader, "QueryHost")
        query(client, "QueryHost")
    ports = [request.client_port for request in service.requests]
    assert ports == [ports[0], ports[1], ports[1], ports[0]]
    assert ports[0] != ports[1]
    assert reader.sessions is client.sessions
    assert {request.headers["Authorization"] for request in service.requests} == {"OAuth the-only-session"}
