"""The simulator in the process of the tests, without sockets, for tests that are not about HTTP.

``InProcessAdapter`` replaces the collection's adapter for requests and calls the simulator's ASGI application. Requests
to any other URL use sockets.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import errno
import http.client
import itertools
import json
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from unittest import mock
from urllib.parse import unquote_to_bytes, urlsplit

from ansible_collections.virtinfra.manager.plugins.module_utils._http.adapter import Adapter
from requests.structures import CaseInsensitiveDict

from simulator.app import create_app
from simulator.launch import CONTROL_TIMEOUT, Simulator, SimulatorError
from simulator.service import Service
from simulator.switches import parsing as option_parsing
from simulator.switches.fault_injection import TRANSPORTS
from simulator.switches.options import Seed, Switches

HOST = "simulator.test"


class Exchange:
    """A request, and its response as far as the application has sent it.

    For faults it is also the transport of the connection, which the application resets or closes.
    """

    def __init__(self, body: bytes) -> None:
        self.status = 0
        self.headers: CaseInsensitiveDict[str] = CaseInsensitiveDict()
        self._body, self._chunks = body, list[bytes]()
        self._error: Exception | None = None
        self._is_received = False
        self._is_disconnected = asyncio.Event()

    async def receive(self) -> dict[str, Any]:
        """Return the body of the request, and afterwards the end of the connection."""
        if not self._is_received:
            self._is_received = True
            return {"type": "http.request", "body": self._body, "more_body": False}
        await self._is_disconnected.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Mapping[str, Any]) -> None:
        """Store a part of the response."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers.update((name.decode("latin-1"), value.decode("latin-1")) for name, value in message["headers"])
        else:
            self._chunks.append(message["body"])

    def disconnect(self) -> None:
        """Tell the application that the client has closed the connection."""
        self._is_disconnected.set()

    def get_extra_info(self, dummy: str) -> Any:
        """Return a socket whose options have no effect."""
        return mock.Mock()

    def write(self, interim_response: bytes) -> None:
        """Ignore an interim response, as clients do."""

    def abort(self) -> None:
        """Reset the connection."""
        self._error = ConnectionResetError(errno.ECONNRESET, "Connection reset by peer")
        self.disconnect()

    def close(self) -> None:
        """Close the connection."""
        if self.status:
            missing = int(self.headers.get("Content-Length", 0)) - len(b"".join(self._chunks))
            self._error = http.client.IncompleteRead(b"", missing)
        else:
            self._error = http.client.RemoteDisconnected("Remote end closed connection without response")
        self.disconnect()

    def raise_error(self) -> None:
        """Raise an error if the connection has ended before the first byte of the response."""
        if self._error and not self.status:
            raise self._error

    def read_chunks(self) -> Iterator[bytes]:
        """Yield the body of the response; raise an error if its end is missing."""
        yield from self._chunks
        if self._error:
            raise self._error


class InProcessSimulator(Simulator):
    """A simulator in a thread of this process, for clients with InProcessAdapter."""

    def __init__(self, **switches: Any) -> None:
        super().__init__()
        # A test that needs a port fails, instead of connecting to port 0.
        del self.port
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        service = Service(*option_parsing.apply_options(Seed(), Switches(), switches))
        self._log = service.log
        self._app: Any = create_app(service, lambda: None)
        self._ports = itertools.count(1)

    @property
    def url(self) -> str:
        """The URL of the service, without a path."""
        return f"http://{HOST}"

    def __enter__(self) -> InProcessSimulator:
        """Start the thread."""
        self._thread.start()
        InProcessAdapter.simulator = self
        return self

    def stop(self) -> None:
        """Stop the thread."""
        InProcessAdapter.simulator = None
        asyncio.run_coroutine_threadsafe(self._cancel_requests(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _cancel_requests(self) -> None:
        """Cancel the requests that still run, because their client did not wait for the response."""
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def exchange(
        self, method: str, url: str, headers: Mapping[str, str | bytes], body: bytes | None, seconds: float
    ) -> Exchange:
        """Send a request; return the response, or raise the error of a client when there is none."""
        parts = urlsplit(url)
        path, query = parts.path.encode(), parts.query.encode()
        sent = {"Host": parts.netloc, **headers}
        client = ("127.0.0.1", next(self._ports))
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": method,
            "scheme": parts.scheme,
            "path": unquote_to_bytes(path).decode("utf-8", "replace"),
            "raw_path": path,
            "query_string": query,
            "root_path": "",
            "headers": [(name.lower().encode(), encode_header(value)) for name, value in sent.items()],
            "client": client,
            "server": (parts.netloc, 80),
        }
        exchange = Exchange(body or b"")
        TRANSPORTS[client] = exchange  # type: ignore[assignment]
        future = asyncio.run_coroutine_threadsafe(self._app(scope, exchange.receive, exchange.send), self._loop)
        try:
            future.result(seconds)
        except concurrent.futures.TimeoutError:
            self._loop.call_soon_threadsafe(exchange.disconnect)
            raise TimeoutError("timed out") from None
        finally:
            del TRANSPORTS[client]
        exchange.raise_error()
        return exchange

    def control(self, method: str, name: str, body: Any = None) -> Any:
        """Send a control request and return its reply; raise SimulatorError with the message of a rejection."""
        data = None if body is None else json.dumps(body).encode()
        exchange = self.exchange(method, f"{self.url}/_simulator/{name}", {}, data, CONTROL_TIMEOUT)
        reply = json.loads(b"".join(exchange.read_chunks()))
        if exchange.status >= 400:
            raise SimulatorError(reply["error"])
        return reply

    # Every run of a module uses these two, so they are no requests.
    def log(self) -> list[dict[str, Any]]:
        """Return the requests since the last reset or clear_log, oldest first."""
        entries: list[dict[str, Any]] = json.loads(json.dumps(list(self._log.entries)))
        return entries

    def clear_log(self) -> None:
        """Clear the request log."""
        self._log.entries.clear()


def encode_header(value: str | bytes) -> bytes:
    """Return the value of a header as it is sent."""
    return value if isinstance(value, bytes) else value.encode("latin-1")


@dataclass(frozen=True)
class RawResponse:
    """The part of a response of urllib3 that the collection's adapter uses."""

    status: int
    headers: Mapping[str, str]
    _original_response: Exchange

    def isclosed(self) -> bool:
        """Return True: the whole response has arrived."""
        return True

    def release_conn(self) -> None:
        """Do nothing: there is no connection."""

    def close(self) -> None:
        """Do nothing: there is no connection."""


class InProcessAdapter(Adapter):
    """The collection's adapter, which sends requests to ``simulator`` without sockets."""

    simulator: InProcessSimulator | None = None

    def send(self, request: Any, *arguments: Any, **options: Any) -> Any:
        """Send a request once and return its response."""
        if not self.simulator or urlsplit(request.url).hostname != HOST:
            return super().send(request, *arguments, **options)
        seconds = options["timeout"].total
        exchange = self.simulator.exchange(request.method, request.url, request.headers, request.body, seconds)
        return RawResponse(exchange.status, exchange.headers, exchange)
