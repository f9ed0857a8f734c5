# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The server: its socket, its port file, and its end with its parent."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import pathlib
import socket
import ssl

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from .spoil import TRANSPORTS

PARENT_INTERVAL = 0.5
"""Seconds between two looks at the parent."""


@dataclasses.dataclass(frozen=True)
class Place:
    """Where the server listens and on whom it depends."""

    host: str
    port: int
    port_file: pathlib.Path | None
    parent: int | None
    """The process that it ends with; None: the one that started it; 0: none."""
    tls_cert: str | None
    tls_key: str | None
    tls_client_ca: str | None


class Protocol(H11Protocol):
    """Keeps the transport of every connection at hand, so that a fault can break it."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Note a new connection."""
        super().connection_made(transport)
        # asyncio does so by itself only for sockets that were made with a protocol number.
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._address = tuple(transport.get_extra_info("peername")[:2])
        TRANSPORTS[self._address] = transport

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        TRANSPORTS.pop(self._address, None)
        super().connection_lost(exc)


class Server(uvicorn.Server):
    """Tells its port once it listens, and stops when its parent is gone."""

    def __init__(self, app: ASGIApp, place: Place) -> None:
        self._place = place
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
                timeout_keep_alive=75,
                timeout_graceful_shutdown=0,
                ssl_certfile=place.tls_cert,
                ssl_keyfile=place.tls_key,
                ssl_ca_certs=place.tls_client_ca,
                ssl_cert_reqs=ssl.CERT_REQUIRED if place.tls_client_ca else ssl.CERT_NONE,
            )
        )

    def listen(self) -> None:
        """Serve until told to stop."""
        family = socket.AF_INET6 if ":" in self._place.host else socket.AF_INET
        listener = socket.create_server((self._place.host, self._place.port), family=family, backlog=1024)
        self.run(sockets=[listener])

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, then write the port file."""
        await super().startup(sockets)
        self._watch = asyncio.create_task(self._watch_parent())
        if self._place.port_file and sockets:
            draft = self._place.port_file.with_name(f"{self._place.port_file.name}.{os.getpid()}")
            draft.write_text(f"{sockets[0].getsockname()[1]}\n")
            draft.replace(self._place.port_file)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop without waiting for requests that hang, leaving no file behind."""
        if self._place.port_file:
            self._place.port_file.unlink(missing_ok=True)
        self.force_exit = True
        await super().shutdown(sockets)

    async def _watch_parent(self) -> None:
        while not self._orphaned():
            await asyncio.sleep(PARENT_INTERVAL)
        self.should_exit = True

    def _orphaned(self) -> bool:
        parent = self._place.parent
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
