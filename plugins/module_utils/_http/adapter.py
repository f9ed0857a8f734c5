"""An adapter for requests, with urllib3 1.26 or 2.x.

It adds what these libraries lack: errors that prove that a request was never sent, our own TLS context, handling of
interim responses, and a deadline for the whole response.
"""

from __future__ import annotations

import http.client
import io
import socket
import ssl
import threading
import time
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

from .._api.errors import InvalidOptions
from .response import Response, read_response

try:
    import urllib3
    from requests import PreparedRequest, RequestException
    from requests.adapters import HTTPAdapter
    from requests.utils import requote_uri
    from urllib3.connection import HTTPConnection, HTTPSConnection
except ImportError:
    HAS_REQUESTS = False
    HTTPAdapter = HTTPConnection = HTTPSConnection = object  # type: ignore[assignment, misc]
else:
    HAS_REQUESTS = True

CHUNK_SIZE = 64 * 1024

# How many seconds after its deadline a response may still arrive.
MAX_DELAY = 0.01

# The most connections of a pool at the same time.
MAX_CONNECTIONS = 16

# For how many seconds an idle connection is used for a request that is not repeated after an error. Servers close idle
# connections after 2 seconds or later, and a request that is sent at that moment is lost.
MAX_IDLE = 1.0

# The highest number of interim responses; a response after more of them counts as invalid.
MAX_INTERIM_RESPONSES = 20


class ExchangeFailed(Exception):
    """The request may have been sent, and no usable response arrived. ``cause`` is the exception of Python."""

    def __init__(self, error: BaseException) -> None:
        while isinstance(error, (RequestException, urllib3.exceptions.HTTPError)):
            # urllib3 creates its SSLError without a cause, so Python's exception is only in the arguments.
            inner = [it for it in (error.__cause__, error.__context__, *error.args) if isinstance(it, BaseException)]
            if not inner:
                break
            error = inner[0]
        if isinstance(error, urllib3.exceptions.ReadTimeoutError):
            # urllib3 raises it without a cause if connecting has taken all of the time.
            error = TimeoutError("timed out")
        # PySocks describes the proxy in its exceptions, and keeps that of the socket.
        error = getattr(error, "socket_err", None) or error
        super().__init__(str(error))
        self.cause = error


class ConnectFailed(ExchangeFailed):
    """No connection was established, so nothing was sent.

    Only this exception proves it: ``ProxyError``, ``SSLError`` and ``ConnectionError`` of the libraries may also be
    raised after the service has received the request.
    """


class DeadlineReader(io.RawIOBase):
    """Reads from a socket until a deadline; the timeout of a socket would begin again with each byte that arrives."""

    def __init__(self, sock: socket.socket, stream: io.RawIOBase, seconds: float) -> None:
        self._socket, self._stream = sock, stream
        self._deadline = time.monotonic() + seconds

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int | None:
        """Read what has arrived. Raise TimeoutError at the deadline."""
        if (seconds := self._deadline - time.monotonic()) <= 0:
            raise TimeoutError("timed out")
        # The first read, usually the only one, finds the timeout set. With many threads, setting it takes time.
        if (self._socket.gettimeout() or 0.0) - seconds > MAX_DELAY:
            self._socket.settimeout(seconds)
        return self._stream.readinto(buffer)

    def close(self) -> None:
        """Close the stream, which releases the socket."""
        super().close()
        self._stream.close()


class FinalResponse(http.client.HTTPResponse):
    """The response after interim responses (1xx), of which http.client skips only ``100 Continue``.

    All of it, from the status line to the end of the body, must arrive before the timeout that the socket has now.
    """

    def __init__(self, sock: socket.socket, *args: Any, **kwargs: Any) -> None:
        super().__init__(sock, *args, **kwargs)
        self.fp = io.BufferedReader(DeadlineReader(sock, self.fp.detach(), sock.gettimeout() or 0))
        self._interim = 0

    def _read_status(self) -> tuple[str, int, str]:
        version, status, reason = super()._read_status()  # type: ignore[misc]
        if 100 <= status < 200:
            self._interim += 1
            if self._interim > MAX_INTERIM_RESPONSES:
                raise http.client.HTTPException("too many interim responses")
            status = 100
        return version, status, reason

    def read_chunks(self) -> Iterator[bytes]:
        """Yield the body as it arrives; raise TimeoutError if it takes longer, IncompleteRead if its end is missing."""
        missing = self.length
        while missing != 0:
            chunk = self.read1(CHUNK_SIZE if missing is None else min(CHUNK_SIZE, missing))
            if not chunk:
                break
            missing = None if missing is None else missing - len(chunk)
            yield chunk
        if missing:
            raise http.client.IncompleteRead(b"", missing)
        self.close()


class _ConnectMixin:
    """Makes ``connect()`` raise ConnectFailed for every error."""

    response_class: Any = FinalResponse
    _tunnel_host: str | None

    def connect(self) -> None:
        """Connect, through a proxy and with TLS if the options require them."""
        try:
            super().connect()  # type: ignore[misc]
        except Exception as error:
            self.close()  # type: ignore[attr-defined]
            raise ConnectFailed(error) from None

    def _tunnel(self) -> None:
        """Request a tunnel from the proxy; older versions of Python send an IPv6 address without brackets."""
        host = self._tunnel_host
        self._tunnel_host = f"[{host}]" if host and ":" in host and host[0] != "[" else host
        try:
            super()._tunnel()  # type: ignore[misc]
        finally:
            self._tunnel_host = host


class PlainConnection(_ConnectMixin, HTTPConnection):
    """A connection without TLS."""


class TlsConnection(_ConnectMixin, HTTPSConnection):
    """A connection whose certificate is verified by the TLS context."""

    def connect(self) -> None:
        """Connect, and suppress urllib3's warning about a connection that is unverified at the user's request."""
        super().connect()
        self.is_verified = True

    def _connect_tls_proxy(self, hostname: str, sock: socket.socket) -> ssl.SSLSocket:
        """Return a TLS connection to the proxy, whose name urllib3 1.26 would not compare with its certificate."""
        context: ssl.SSLContext = self.proxy_config.ssl_context  # type: ignore[union-attr, assignment]
        return context.wrap_socket(sock, server_hostname=hostname.strip("[]"))


def has_socks() -> bool:
    """Return whether the optional library PySocks is installed."""
    return find_spec("socks") is not None


@lru_cache(maxsize=1)
def _create_socks_classes() -> tuple[Any, Any]:
    """Return the classes of connections through a SOCKS proxy, without and with TLS."""
    from urllib3.contrib.socks import SOCKSConnection, SOCKSHTTPSConnection

    class PlainSocksConnection(_ConnectMixin, SOCKSConnection):
        """A connection through a SOCKS proxy, without TLS."""

    class TlsSocksConnection(TlsConnection, SOCKSHTTPSConnection):
        """A connection through a SOCKS proxy, with TLS."""

    return PlainSocksConnection, TlsSocksConnection


class Adapter(HTTPAdapter):
    """One kept-alive connection to the service, with TLS if there is a ``context``.

    It leads through the proxy with the URL ``proxy``, if given, to which ``proxy_context`` is the TLS context, if any.
    """

    def __init__(
        self,
        context: ssl.SSLContext | None,
        proxy: str | None = None,
        proxy_context: ssl.SSLContext | None = None,
    ) -> None:
        super().__init__()
        self._context, self._proxies = context, {"all": proxy} if proxy else {}
        self._proxy_context = proxy_context
        self._uses_socks = bool(proxy and proxy.startswith("socks"))
        used = context or proxy_context
        if used and getattr(urllib3, "__version__", "").startswith("1."):
            # urllib3 1.26 does not pass the name or address to OpenSSL, and compares it itself.
            used.check_hostname = False
        self._last_exchange = time.monotonic()
        # What requests would find out again for each request: the origin as it is sent, and the connection pool.
        self._origin = ""
        self._pool: Any = None
        # Whether the service has answered a request of this adapter.
        self.has_answered = False

    def exchange(
        self,
        method: str,
        origin: str,
        target: str,
        headers: Mapping[str, str],
        body: bytes | None,
        seconds: float,
        connect_seconds: float,
        is_repeatable: bool,
    ) -> Response:
        """Send a request once and return the response, which must be complete after ``seconds``.

        ``origin`` is the same for all requests, ``target`` the path with the query.

        Each step to a new connection may take ``connect_seconds``: each address of the host, the tunnel of a proxy, the
        TLS handshake. A request that is not ``is_repeatable`` is not sent over a connection that was idle.
        """
        if not is_repeatable and time.monotonic() - self._last_exchange > MAX_IDLE:
            self.close()
        try:
            request = self._prepare(method, origin, target, headers, body)
        except ValueError as error:
            raise InvalidOptions(f"base_url cannot be used: {error}") from None
        raw: Any = None
        try:
            timeout: Any = urllib3.Timeout(total=seconds, connect=connect_seconds)
            raw = self.send(request, stream=True, timeout=timeout, proxies=self._proxies)
            response = read_response(raw.status, raw.headers, raw._original_response.read_chunks())
            if raw.isclosed():
                raw.release_conn()
            self.has_answered = True
            return response
        except (
            RequestException,
            urllib3.exceptions.HTTPError,
            http.client.HTTPException,
            OSError,
            ValueError,
        ) as error:
            raise ExchangeFailed(error) from None
        finally:
            self._last_exchange = time.monotonic()
            if raw is not None:
                # close() leaves a connection open that was released to the pool.
                raw.close()

    def _prepare(
        self, method: str, origin: str, target: str, headers: Mapping[str, str], body: bytes | None
    ) -> PreparedRequest:
        """Return a request as requests prepares it, except for cookies. Raise ValueError if it is invalid."""
        request = PreparedRequest()
        if not self._origin:
            request.prepare_url(origin, None)
            self._origin = str(request.url).rstrip("/")
        request.url = requote_uri(self._origin + target)
        request.prepare_method(method)
        request.prepare_headers(headers)
        request.body = body
        request.prepare_content_length(body)
        return request

    def get_connection_with_tls_context(self, *arguments: Any, **options: Any) -> Any:
        """Return the connection pool for the origin, of which an adapter needs only one."""
        if self._pool is None:
            self._pool = super().get_connection_with_tls_context(*arguments, **options)
        return self._pool

    def request_url(self, request: PreparedRequest, proxies: Any) -> str:
        """Return the target as it is sent: only a proxy can need the whole URL."""
        return super().request_url(request, proxies) if self._proxies else request.path_url

    def build_response(self, req: Any, resp: Any) -> Any:
        """Return the response of urllib3 as it is: that of requests adds cookies and hooks, which nothing uses."""
        return resp

    def close(self) -> None:
        """Close the connection."""
        self._pool = None
        super().close()

    def cert_verify(self, conn: Any, url: Any, verify: Any, cert: Any) -> None:
        """Prepare a pool with our connection classes, and with our TLS context instead of that of requests."""
        # Without TLS to the service, the connection ends at a proxy, which may use TLS.
        context = self._context or self._proxy_context
        classes = _create_socks_classes() if self._uses_socks else (PlainConnection, TlsConnection)
        conn.ConnectionCls = classes[bool(context)]
        if context:
            conn.conn_kw["ssl_context"] = context
            conn.cert_reqs = context.verify_mode
            conn.ca_certs = conn.ca_cert_dir = None

    def proxy_manager_for(self, proxy: Any, **options: Any) -> Any:
        """Return the manager of the connections through a proxy, with our TLS context for an https proxy."""
        details = {"proxy_ssl_context": self._proxy_context} if self._proxy_context else {}
        return super().proxy_manager_for(proxy, **options, **details)


class AdapterPool:
    """Connections to services, kept alive for all threads of a task, or for all tasks of a worker.

    At most ``MAX_CONNECTIONS`` are in use at the same time; further threads wait for one.
    """

    def __init__(self) -> None:
        self._slots = threading.BoundedSemaphore(MAX_CONNECTIONS)
        self._idle: dict[Hashable, list[Adapter]] = {}
        self._is_closed = False

    @contextmanager
    def borrow(self, key: Hashable, create: Callable[[], Adapter]) -> Iterator[Adapter]:
        """Return a context manager for an idle connection with this key, or for a new one."""
        with self._slots:
            idle = self._idle.setdefault(key, [])
            try:
                # The connection that was used last is the least likely to be closed by the service.
                adapter = idle.pop()
            except IndexError:
                adapter = create()
            try:
                yield adapter
            finally:
                idle.append(adapter)
                if self._is_closed:
                    self.close()

    def close(self) -> None:
        """Close all connections: those in use after their response."""
        self._is_closed = True
        for idle in self._idle.values():
            while idle:
                idle.pop().close()
