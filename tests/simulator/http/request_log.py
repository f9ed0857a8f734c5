"""The request log and the rate limit."""

from __future__ import annotations

import collections
import json
import time
import urllib.parse
from collections.abc import Callable
from email.utils import formatdate
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..switches.options import Switches

MAX_ENTRIES = 200_000
CONTROL_PATH = "/_simulator"
PAGE_PATH = "/"
Entry = dict[str, Any]


class RequestLog:
    """The requests and the statuses of their responses, without credentials."""

    def __init__(self) -> None:
        self.entries: collections.deque[Entry] = collections.deque(maxlen=MAX_ENTRIES)
        # The times of the last requests of each client, for the limit of their rate.
        self.recent: dict[str, collections.deque[float]] = collections.defaultdict(collections.deque)

    def add(self, scope: Scope) -> Entry:
        """Add the entry of a request; its status stays null until a response is sent."""
        query = scope["query_string"].decode("latin-1")
        entry: Entry = {
            "time": time.time(),
            "client": scope["client"][0] if scope["client"] else None,
            # Distinguishes the connections of a client.
            "port": scope["client"][1] if scope["client"] else None,
            "method": scope["method"],
            "path": scope["path"],
            "query": urllib.parse.parse_qs(query, keep_blank_values=True),
            "headers": {name.decode("latin-1"): _mask_header(name, value) for name, value in scope["headers"]},
            "body": None,
            "operation": None,
            "job": None,
            "faults": [],
            "status": None,
        }
        self.entries.append(entry)
        return entry


def _mask_header(name: bytes, value: bytes) -> str:
    text = value.decode("latin-1")
    return text.partition(" ")[0] if name.lower() in (b"authorization", b"proxy-authorization") else text


def mask_passwords(value: Any) -> Any:
    """Return a body with masked passwords."""
    if isinstance(value, list):
        return [mask_passwords(element) for element in value]
    if isinstance(value, dict):
        return {
            name: "***" if "password" in name.lower() and element is not None else mask_passwords(element)
            for name, element in value.items()
        }
    return value


def loggable_body(body: bytes) -> Any:
    """Return the body for the log: JSON with masked passwords, anything else only as its length."""
    if not body:
        return None
    try:
        return mask_passwords(json.loads(body))
    except ValueError:
        return f"<{len(body)} bytes that are not JSON>"


class RequestLogMiddleware:
    """ASGI middleware: logs all requests but those to the control API and for the page, and limits their rate."""

    def __init__(self, app: ASGIApp, log: RequestLog, switches: Callable[[], Switches]) -> None:
        self._app = app
        self._log = log
        self._switches = switches

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http" or scope["path"] == PAGE_PATH or scope["path"].startswith(CONTROL_PATH):
            await self._app(scope, receive, send)
            return
        entry = self._log.add(scope)
        scope["simulator.entry"] = entry

        async def recording_send(message: Message) -> None:
            if message["type"] == "http.response.start":
                entry["status"] = message["status"]
                date = formatdate(time.time() + self._switches().clock_ahead, usegmt=True)
                message["headers"] = [*message["headers"], (b"date", date.encode())]
            await send(message)

        if self._exceeds_rate_limit(entry["client"]):
            await recording_send({"type": "http.response.start", "status": 429, "headers": []})
            await recording_send({"type": "http.response.body", "body": b"Too many requests"})
        else:
            await self._app(scope, receive, recording_send)

    def _exceeds_rate_limit(self, client: str) -> bool:
        limit = self._switches().rate_limit
        if not limit:
            return False
        now, recent = time.monotonic(), self._log.recent[client]
        while recent and recent[0] <= now - 1:
            recent.popleft()
        if len(recent) >= limit:
            return True
        recent.append(now)
        return False
