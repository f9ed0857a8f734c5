"""An HTTP server with responses that a test defines, for services that differ from the simulator."""

from __future__ import annotations

import json
import os
import ssl
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True)
class StubRequest:
    """A received request: ``target`` is that of the request line, ``query`` maps names to lists."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes
    client_port: int

    @property
    def path(self) -> str:
        """The path without its query."""
        return urlsplit(self.target).path

    @property
    def query(self) -> dict[str, list[str]]:
        """The query string."""
        return parse_qs(urlsplit(self.target).query)


@dataclass(frozen=True)
class StubResponse:
    """A response; ``body`` is sent unchanged if it is bytes, else as JSON. ``interim`` are statuses to send before."""

    status: int = 200
    body: Any = b""
    headers: tuple[tuple[str, str], ...] = ()
    interim: tuple[int, ...] = ()


# Instead of a response: a TLS alert, after which the connection ends.
TLS_ALERT = StubResponse(0)
_ALERT_RECORD = b"\x15\x03\x03\x00\x02\x02\x74"


def forward(port: int, request: StubRequest) -> StubResponse:
    """Send a request to the simulator at a port of this machine and return its response."""
    connection = HTTPConnection("127.0.0.1", port)
    headers = {name: request.headers[name] for name in ("Authorization", "X-Job-UUID") if name in request.headers}
    try:
        connection.request(request.method, request.target, request.body, headers)
        response = connection.getresponse()
        return StubResponse(response.status, response.read())
    finally:
        connection.close()


class StubServer:
    """A server whose responses ``answer`` returns; ``requests`` are those received so far."""

    def __init__(self, answer: Callable[[StubRequest], StubResponse], context: ssl.SSLContext | None = None) -> None:
        self.requests: list[StubRequest] = []
        self._scheme = "https" if context else "http"
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler(answer))
        self._server.daemon_threads = True
        if context:
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    def _handler(self, answer: Callable[[StubRequest], StubResponse]) -> type[BaseHTTPRequestHandler]:
        asked_so_far = self.requests

        class Handler(BaseHTTPRequestHandler):
            """Handles every method in the same way."""

            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def answer(self) -> None:
                """Respond to a request."""
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                request = StubRequest(self.command, self.path, dict(self.headers), body, self.client_address[1])
                asked_so_far.append(request)
                response = answer(request)
                if response is TLS_ALERT:
                    os.write(self.connection.fileno(), _ALERT_RECORD)
                    self.close_connection = True
                    return
                for status in response.interim:
                    self.send_response_only(status)
                    self.end_headers()
                content = response.body if isinstance(response.body, bytes) else json.dumps(response.body).encode()
                self.send_response(response.status)
                for name, value in response.headers:
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = do_PUT = do_DELETE = do_CONNECT = answer  # noqa: N815 -- http.server wants these names

            def log_message(self, *dummy: object) -> None:
                """Log nothing."""

        return Handler

    @property
    def port(self) -> int:
        """The port."""
        return self._server.server_port

    @property
    def url(self) -> str:
        """The base URL."""
        return f"{self._scheme}://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        """Serve."""
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
