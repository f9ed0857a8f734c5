# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The request log, and the limit of requests a second."""

from __future__ import annotations

import collections
import json
import time
import typing as t
import urllib.parse

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .options import Switches

KEPT = 200_000
CONTROL = "/_simulator"
Entry = dict[str, t.Any]


class RequestLog:
    """What was asked and how it was answered. Credentials are never kept."""

    def __init__(self) -> None:
        self.entries: collections.deque[Entry] = collections.deque(maxlen=KEPT)

    def open(self, scope: Scope) -> Entry:
        """Add the entry of a request; its status stays null until an answer was sent."""
        query = scope["query_string"].decode("latin-1")
        entry: Entry = {
            "time": time.time(),
            "client": scope["client"][0] if scope["client"] else None,
            "method": scope["method"],
            "path": scope["path"],
            "query": urllib.parse.parse_qs(query, keep_blank_values=True),
            "headers": {name.decode("latin-1"): _shown(name, value) for name, value in scope["headers"]},
            "body": None,
            "operation": None,
            "job": None,
            "faults": [],
            "status": None,
        }
        self.entries.append(entry)
        return entry


def _shown(name: bytes, value: bytes) -> str:
    text = value.decode("latin-1")
    return text.partition(" ")[0] if name.lower() in (b"authorization", b"proxy-authorization") else text


def masked(value: t.Any) -> t.Any:
    """Return a body with the values of its passwords replaced."""
    if isinstance(value, list):
        return [masked(element) for element in value]
    if isinstance(value, dict):
        return {
            name: "***" if "password" in name.lower() and element is not None else masked(element)
            for name, element in value.items()
        }
    return value


def readable(body: bytes) -> t.Any:
    """Return the body as the log keeps it: JSON masked, anything else only by its length."""
    if not body:
        return None
    try:
        return masked(json.loads(body))
    except ValueError:
        return f"<{len(body)} bytes that are not JSON>"


class Recorder:
    """ASGI middleware: logs every request that is not one of the control plane, and limits their rate."""

    def __init__(self, app: ASGIApp, log: RequestLog, switches: t.Callable[[], Switches]) -> None:
        self._app = app
        self._log = log
        self._switches = switches
        self._recent: dict[str, collections.deque[float]] = collections.defaultdict(collections.deque)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http" or scope["path"].startswith(CONTROL):
            await self._app(scope, receive, send)
            return
        entry = self._log.open(scope)
        scope["simulator.entry"] = entry

        async def recording_send(message: Message) -> None:
            if message["type"] == "http.response.start":
                entry["status"] = message["status"]
            await send(message)

        if self._too_many(entry["client"]):
            await recording_send({"type": "http.response.start", "status": 429, "headers": []})
            await recording_send({"type": "http.response.body", "body": b"Too many requests"})
        else:
            await self._app(scope, receive, recording_send)

    def _too_many(self, client: str) -> bool:
        limit = self._switches().rate_limit
        if not limit:
            return False
        now, recent = time.monotonic(), self._recent[client]
        while recent and recent[0] <= now - 1:
            recent.popleft()
        if len(recent) >= limit:
            return True
        recent.append(now)
        return False
