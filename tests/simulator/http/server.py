"""The server: its socket, its port file, and its shutdown with its parent process."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from ..switches.fault_injection import TRANSPORTS

PARENT_INTERVAL = 0.5
"""Seconds between two checks of the parent process."""


class StartFailed(RuntimeError):
    """The server cannot start; the message says why, and what to do."""


@dataclass(frozen=True)
class ServerOptions:
    """Options of the server."""

    host: str
    port: int
    port_file: Path | None
    parent: int | None
    """PID of the process whose end stops the server; None: the one that started it; 0: none."""
    tls_cert: str | None
    tls_key: str | None
    tls_client_ca: str | None


class Protocol(H11Protocol):
    """Registers the transport of every connection, so that a fault can break it."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Register a new connection."""
        super().connection_made(transport)
        # asyncio sets TCP_NODELAY only for sockets that were created with a protocol number.
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._address = tuple(transport.get_extra_info("peername")[:2])
        TRANSPORTS[self._address] = transport

    def connection_lost(self, exc: Exception | None) -> None:
        """Unregister the connection."""
        TRANSPORTS.pop(self._address, None)
        super().connection_lost(exc)


class Server(uvicorn.Server):
    """Writes its port to a file when it listens, and stops when its parent process ends."""

    def __init__(self, app: ASGIApp, options: ServerOptions) -> None:
        self._options = options
        self._first_parent = os.getppid()
        super().__init__(
            uvicorn.Config(
                app,
                http=Protocol,
                loop="asyncio",
                ws="none",
                lifespan="off",
                log_level="critical",
                access_log=False,
                proxy_headers=False,
                server_header=False,
                date_header=False,
                timeout_keep_alive=75,
                timeout_graceful_shutdown=0,
                ssl_certfile=options.tls_cert,
                ssl_keyfile=options.tls_key,
                ssl_ca_certs=options.tls_client_ca,
                ssl_cert_reqs=ssl.CERT_REQUIRED if options.tls_client_ca else ssl.CERT_NONE,
            )
        )

    def listen(self) -> socket.socket:
        """Return the listening socket; connections wait until the server runs. Raise StartFailed if that fails."""
        options = self._options
        try:
            self.config.load()
        except OSError as error:
            files = ", ".join(filter(None, (options.tls_cert, options.tls_key, options.tls_client_ca)))
            raise StartFailed(f"cannot use the TLS files {files}: {error}. They must be PEM files.") from None
        family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
        try:
            return socket.create_server((options.host, options.port), family=family, backlog=1024)
        except OSError as error:
            reason = error.strerror if isinstance(error, socket.gaierror) else os.strerror(error.errno or 0)
            hint = 'Choose another with --host and --port, for example: make simulator ARGS="--port 8081"'
            raise StartFailed(f"cannot listen on {options.host} port {options.port}: {reason}. {hint}") from None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, then write the port file."""
        await super().startup(sockets)
        self._watch = asyncio.create_task(self._watch_parent())
        if self._options.port_file and sockets:
            temporary = self._options.port_file.with_name(f"{self._options.port_file.name}.{os.getpid()}")
            temporary.write_text(f"{sockets[0].getsockname()[1]}\n")
            temporary.replace(self._options.port_file)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop without waiting for hanging requests, and remove the port file."""
        if self._options.port_file:
            self._options.port_file.unlink(missing_ok=True)
        self.force_exit = True
        await super().shutdown(sockets)

    async def _watch_parent(self) -> None:
        while not self._is_parent_gone():
            await asyncio.sleep(PARENT_INTERVAL)
        self.should_exit = True

    def _is_parent_gone(self) -> bool:
        parent = self._options.parent
        if parent == 0:
            return False
        if parent in (None, self._first_parent):
            return os.getppid() != self._first_parent
        try:
            os.kill(parent or 0, 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            return False
        return False
