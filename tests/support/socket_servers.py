"""Servers at the level of bytes: one sends the bytes of a test, and two forward connections."""

from __future__ import annotations

import re
import selectors
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from http.client import parse_headers
from typing import TypeVar

Server = TypeVar("Server", bound="SocketServer")

# The first byte of a TLS connection.
TLS_HANDSHAKE = b"\x16"


def free_port() -> int:
    """Return a free port."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def is_listening(port: int) -> bool:
    """Return whether a port of this machine accepts connections."""
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def full_port() -> Iterator[int]:
    """Return a port that drops the packets of new connections, because its queue of connections is full."""
    with ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for dummy in range(3):
            filler = stack.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(listener.getsockname())
        yield int(listener.getsockname()[1])


@contextmanager
def taken_port() -> Iterator[socket.socket]:
    """Return a socket with a reserved port, which refuses connections until it listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken


def read_request(client: socket.socket) -> bytes:
    """Read a whole request and return its first line.

    Closing a socket with unread bytes resets the connection, and the client may lose the response.
    """
    with client.makefile("rb") as stream:
        request_line = stream.readline()
        stream.read(int(parse_headers(stream).get("Content-Length") or 0))
    return request_line


class SocketServer:
    """Passes each connection to ``handle``, in a thread, and closes it afterwards; ``accepted`` counts them."""

    def __init__(self) -> None:
        self.accepted = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self.url = f"http://{self.address}"
        self._thread = threading.Thread(target=self._serve)

    def handle(self, client: socket.socket) -> None:
        """Serve a connection."""
        raise NotImplementedError

    def _serve(self) -> None:
        while True:
            try:
                client = self._listener.accept()[0]
            except OSError:
                return
            self.accepted += 1
            threading.Thread(target=self._handle, args=(client,), daemon=True).start()

    def _handle(self, client: socket.socket) -> None:
        with client, suppress(OSError):
            self.handle(client)

    def __enter__(self: Server) -> Server:
        self._thread.start()
        return self

    def __exit__(self, *dummy: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()


class ByteServer(SocketServer):
    """Answers each request with the bytes that ``speak`` yields, and closes the connection; uses TLS with a context.

    Without a context it closes connections that begin with TLS, as other servers do.
    """

    def __init__(self, speak: Callable[[], Iterator[bytes]], context: ssl.SSLContext | None = None) -> None:
        super().__init__()
        self._speak, self._context = speak, context
        if context:
            self.url = f"https://{self.address}"

    def handle(self, client: socket.socket) -> None:
        """Read the request and send the bytes."""
        if self._context:
            with self._context.wrap_socket(client, server_side=True) as secured:
                self._respond(secured)
        elif client.recv(1, socket.MSG_PEEK) != TLS_HANDSHAKE:
            self._respond(client)

    def _respond(self, client: socket.socket) -> None:
        read_request(client)
        for part in self._speak():
            client.sendall(part)


class Relay(SocketServer):
    """Forwards each connection to a port of this machine."""

    def __init__(self, port: int) -> None:
        super().__init__()
        self._port = port

    def handle(self, client: socket.socket) -> None:
        """Connect to the port and forward the bytes of both sides."""
        with socket.create_connection(("127.0.0.1", self._port)) as service:
            forward_bytes(client, service)


class Proxy(SocketServer):
    """An HTTP proxy that connects to one port, regardless of the requested host, or sends ``refusal`` instead.

    ``heads`` are the heads of the requests to the proxy. With a context, clients must use TLS.
    """

    def __init__(self, port: int, refusal: bytes = b"", context: ssl.SSLContext | None = None) -> None:
        super().__init__()
        self.heads: list[bytes] = []
        self._port, self._refusal, self._context = port, refusal, context
        if context:
            self.url = f"https://{self.address}"

    def handle(self, client: socket.socket) -> None:
        """Serve a connection, with TLS if there is a context."""
        if self._context:
            with self._context.wrap_socket(client, server_side=True) as secured:
                self._forward(secured)
        else:
            self._forward(client)

    def _forward(self, client: socket.socket) -> None:
        """Open a tunnel for CONNECT, and forward any other request, one for each connection, without its host."""
        head = b""
        while b"\r\n\r\n" not in head and (more := client.recv(4096)):
            head += more
        self.heads.append(head)
        if self._refusal:
            client.sendall(self._refusal)
            return
        with socket.create_connection(("127.0.0.1", self._port)) as service:
            if head.startswith(b"CONNECT"):
                client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                # Each request needs another target, so each connection serves one request.
                service.sendall(re.sub(rb"http://[^/]*(.*\r\n)", rb"\1Connection: close\r\n", head, count=1))
            forward_bytes(client, service)


class SocksProxy(SocketServer):
    """A SOCKS5 proxy that connects to one port, regardless of the requested host.

    ``targets`` are the requested hosts, as a name or an address, and ports. With a ``login``, a user name and a
    password, it accepts no other client.
    """

    def __init__(self, port: int, login: tuple[str, str] | None = None) -> None:
        super().__init__()
        self.targets: list[tuple[str, int]] = []
        self._port, self._login = port, login
        self.url = f"socks5h://{self.address}"

    def handle(self, client: socket.socket) -> None:
        """Read the greeting, the login and the request, and forward the bytes of both sides. RFC 1928 and 1929."""
        stream = client.makefile("rb")
        methods = stream.read(stream.read(2)[1])
        method = 2 if self._login else 0
        client.sendall(bytes([5, method if method in methods else 0xFF]))
        if self._login:
            if method not in methods:
                return
            stream.read(1)
            given = tuple(stream.read(stream.read(1)[0]).decode() for dummy in self._login)
            client.sendall(bytes([1, given != self._login]))
            if given != self._login:
                return
        kind = stream.read(4)[3]
        host = stream.read(stream.read(1)[0]).decode() if kind == 3 else socket.inet_ntoa(stream.read(4))
        self.targets.append((host, int.from_bytes(stream.read(2), "big")))
        with socket.create_connection(("127.0.0.1", self._port)) as service:
            client.sendall(bytes([5, 0, 0, 1, 127, 0, 0, 1, 0, 0]))
            forward_bytes(client, service)


def forward_bytes(one: socket.socket, other: socket.socket) -> None:
    """Forward the bytes of both sides until one of them ends."""
    with selectors.DefaultSelector() as selector:
        selector.register(one, selectors.EVENT_READ, other)
        selector.register(other, selectors.EVENT_READ, one)
        while True:
            for key, dummy in selector.select():
                source: socket.socket = key.fileobj  # type: ignore[assignment]
                data = source.recv(65536)
                # A TLS connection may have decrypted more than it returned, which no selector notices.
                while isinstance(source, ssl.SSLSocket) and source.pending():
                    data += source.recv(65536)
                if not data:
                    return
                key.data.sendall(data)
