"""The connections of the receiver: how many there may be, and how long they may be idle.

aiohttp has no limit for connections, and no deadline for TLS handshakes; its versions before 3.11 have none for the
first request either. It handles the connections that are accepted here.
"""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import logging
import os
import resource
import socket
import ssl
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass

from ...module_utils._masking.terminal import escape_controls

with suppress(ImportError):
    from aiohttp import web
    from aiohttp.http_exceptions import HttpProcessingError

# The time, in seconds, for the TLS handshake and the head of a request to arrive.
HEAD_TIMEOUT = 10.0

# The highest number of connections, if the process may open enough files.
MAX_CONNECTIONS = 1024

# The pause, in seconds, after the process had no resources for another connection.
PAUSE = 1.0
EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)

Handler = Callable[["web.Request"], Awaitable["web.Response"]]


class Refusals:
    """Counts what was refused, by reason. The log shows the first of each reason, and each time the number doubled."""

    def __init__(self, log: logging.Logger) -> None:
        self._log = log
        self._counts: Counter[str] = Counter()

    def add(self, reason: str, peer: object, kind: str = "posts", detail: str = "") -> None:
        """Count a refusal of posts, requests or connections. ``detail`` may vary, so it is not part of the reason."""
        self._counts[reason] += 1
        count = self._counts[reason]
        if count & (count - 1) == 0:
            text = escape_controls(f"{reason}: {detail}" if detail else reason)
            self._log.warning("refused %s %s so far, the last from %s: %s", count, kind, peer, text)


class HttpLog(logging.Handler):
    """Counts the errors that aiohttp logs; it would write a traceback for each malformed request."""

    def __init__(self, refusals: Refusals) -> None:
        super().__init__()
        self._refusals = refusals

    def emit(self, record: logging.LogRecord) -> None:
        """Count an error. Its text quotes the sender, so it is not logged."""
        error = record.exc_info[1] if record.exc_info else None
        peer = record.args[0] if isinstance(record.args, tuple) and record.args else "unknown"
        if isinstance(error, HttpProcessingError):
            self._refusals.add("malformed HTTP", peer, "requests")
        elif error is not None:
            self._refusals.add(f"the request could not be handled: {type(error).__name__}", peer, "requests")


@dataclass
class Connection:
    """A connection of a peer; it is idle before the head of a request is complete, and after the response."""

    socket: socket.socket
    peer: str
    is_idle: bool = True

    @property
    def is_open(self) -> bool:
        """Return whether the connection occupies a file of the process."""
        return self.socket.fileno() != -1

    def close(self) -> None:
        """Let asyncio read the end of the connection, in each of its states, also during the TLS handshake."""
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)


class Listener:
    """Accepts connections and passes them to a server of aiohttp.

    When there are too many, in total or of one peer, the oldest idle one is closed in favour of the new one: a post
    that is idle has just begun. The new one is closed if none is idle.
    """

    def __init__(
        self, server: web.Server, context: ssl.SSLContext | None, max_per_peer: int, refusals: Refusals
    ) -> None:
        self._server, self._context, self._refusals = server, context, refusals
        self._max = limit_connections()
        self._max_per_peer = min(max_per_peer, self._max)
        self._connections: dict[object, Connection] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def accept(self, listening: socket.socket) -> None:
        """Accept connections forever."""
        loop = asyncio.get_running_loop()
        while True:
            try:
                accepted, address = await loop.sock_accept(listening)
            except OSError as error:
                if error.errno in EXHAUSTED:
                    self._refusals.add("no resources", "unknown", "connections", os.strerror(error.errno))
                    await asyncio.sleep(PAUSE)
                continue
            peer = _find_peer(address[0])
            if self._make_room(peer):
                task = asyncio.create_task(self._connect(Connection(accepted, peer)))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
            else:
                accepted.close()
                self._refusals.add("too many connections", peer, "connections")
            # sleep(0) lets the event loop serve open connections while others wait to be accepted.
            await asyncio.sleep(0)

    @contextmanager
    def mark_busy(self, protocol: object) -> Iterator[None]:
        """Mark a connection as not idle while its request is handled."""
        connection = self._connections.get(protocol)
        if connection:
            connection.is_idle = False
        try:
            yield
        finally:
            if connection:
                connection.is_idle = True
                self._limit_idle_time(connection)

    def close(self) -> None:
        """Close the connections whose TLS handshake is not complete; aiohttp closes the others."""
        for task in self._tasks:
            task.cancel()

    async def _connect(self, connection: Connection) -> None:
        protocol = self._server()
        self._connections[protocol] = connection
        self._limit_idle_time(connection)
        try:
            loop = asyncio.get_running_loop()
            await loop.connect_accepted_socket(lambda: protocol, connection.socket, ssl=self._context)
        except OSError:
            self._refusals.add("the TLS handshake failed", connection.peer, "connections")

    def _make_room(self, peer: str) -> bool:
        """Return whether there is room for another connection of a peer, and close one for it if necessary."""
        self._connections = {key: connection for key, connection in self._connections.items() if connection.is_open}
        counts = Counter(connection.peer for connection in self._connections.values())
        if counts[peer] >= self._max_per_peer:
            candidates = [key for key, connection in self._connections.items() if connection.peer == peer]
        elif len(self._connections) >= self._max:
            candidates = sorted(self._connections, key=lambda key: -counts[self._connections[key].peer])
        else:
            return True
        for key in candidates:
            if self._connections[key].is_idle:
                self._connections.pop(key).close()
                return True
        return False

    def _limit_idle_time(self, connection: Connection) -> None:
        asyncio.get_running_loop().call_later(HEAD_TIMEOUT, self._close_idle, connection)

    def _close_idle(self, connection: Connection) -> None:
        if connection.is_idle:
            connection.close()


@asynccontextmanager
async def open_listener(
    handler: Handler,
    address: tuple[str, int],
    context: ssl.SSLContext | None,
    body_limit: int,
    max_per_peer: int,
    refusals: Refusals,
) -> AsyncIterator[None]:
    """Listen on all addresses of a host name. Raise OSError when one cannot be used."""

    async def handle(request: web.Request) -> web.Response:
        with listener.mark_busy(request.protocol):
            response = await handler(request)
            # A connection serves one request, so that the service never sends one on a connection that is being closed.
            response.force_close()
            return response

    app = web.Application(client_max_size=body_limit)
    app.router.add_route("*", "/{path:.*}", handle)
    log = logging.Logger("http")
    log.addHandler(HttpLog(refusals))
    runner = web.AppRunner(app, access_log=None, logger=log)
    await runner.setup()
    if runner.server is None:
        raise RuntimeError("aiohttp has not created a server")
    listener = Listener(runner.server, context, max_per_peer, refusals)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(runner.cleanup)
        stack.callback(listener.close)
        for opened in await _open_sockets(*address):
            stack.enter_context(opened)
            task = asyncio.create_task(listener.accept(opened))
            stack.callback(task.cancel)
        yield


async def _open_sockets(host: str, port: int) -> list[socket.socket]:
    addresses = await asyncio.get_running_loop().getaddrinfo(
        host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    sockets: list[socket.socket] = []
    try:
        for family, address in dict.fromkeys((info[0], info[4]) for info in addresses):
            sockets.append(socket.create_server(address, family=family, backlog=128))
            sockets[-1].setblocking(False)
    except OSError:
        for opened in sockets:
            opened.close()
        raise
    return sockets


def limit_connections() -> int:
    """Return how many connections there may be: half of the files that this process may open are for other uses."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return MAX_CONNECTIONS if limit == resource.RLIM_INFINITY else max(1, min(MAX_CONNECTIONS, limit // 2))


def _find_peer(address: str) -> str:
    """Return the peer with an address: all addresses of an IPv6 network with 64 bits belong to one peer."""
    parsed = ipaddress.ip_address(address.partition("%")[0])
    if parsed.version == 4 or parsed.ipv4_mapped:
        return address
    return str(ipaddress.ip_network((parsed, 64), strict=False))
