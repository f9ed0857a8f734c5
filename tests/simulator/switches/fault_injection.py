"""Apply injected faults to responses: delays, broken connections, wrong content."""

from __future__ import annotations

import asyncio
import functools
import json
import socket
import struct
import zlib
from collections.abc import Awaitable, Callable, Iterable

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from .faults import Fault

TRANSPORTS: dict[tuple[str, int], asyncio.Transport] = {}
"""The transport of each open connection by the address of its client."""
MIB = 1024**2
BOMB_SIZE = 256 * MIB
DEPTH = 100_000
PAGE = "<html><head><title>{title}</title></head><body><h1>{title}</h1><hr>proxy</body></html>"
REASONS = {429: "Too Many Requests", 502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Time-out"}
INTERIM = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
DAMAGING = ("status", "html", "garbage", "redirect", "empty", "close", "other_response")
WRONG_TYPES = {
    "location": 5,
    "apiTimeout": "soon",
    "inventory": 7,
    "inventories": "none",
    "items": 3,
    "total": "many",
    "hasMore": "perhaps",
    "nextCursor": [],
    "bondings": 1,
    "nics": {"a": 1},
    "slaveNames": 2,
    "candidateNics": False,
    "serviceTypeStatistics": "none",
    "volumeInfos": "none",
    "volumeCbtBackupInfos": [1],
    "results": "none",
    "outboundBandwidth": "fast",
    "inboundBandwidth": [],
    "connected": "perhaps",
    "webhookResp": 1,
    "valid": "perhaps",
    "result": [1],
    "value": [1],
    "protocol": 1,
    "hostIp": 2,
    "port": "open",
}


async def apply_faults(faults: list[Fault], request: Request, respond: Callable[[], Awaitable[Response]]) -> Response:
    """Return the response to a request, as changed by the faults."""
    request.scope["simulator.entry"]["faults"] = [fault.fault for fault in faults]
    await _delay(fault for fault in faults if fault.taken is False)
    for fault in faults:
        if fault.fault == "drop_before" or (fault.fault in DAMAGING and not fault.is_executed):
            return _damaged_response(fault, Response(status_code=200))
    response = await respond()
    if any(fault.fault == "duplicate" for fault in faults):
        # A proxy delivers the request twice, and the client receives the second response.
        response = await respond()
    if any(fault.fault == "interim" for fault in faults):
        TRANSPORTS[tuple(request.scope["client"])].write(INTERIM)
    await _delay(fault for fault in faults if fault.taken is not False)
    for fault in faults:
        if fault.fault in ("drop_after", "truncate", *DAMAGING):
            return _damaged_response(fault, response)
    return response


async def _delay(faults: Iterable[Fault]) -> None:
    if seconds := sum(fault.seconds for fault in faults if fault.fault == "slow"):
        await asyncio.sleep(seconds)


def _damaged_response(fault: Fault, response: Response) -> Response:
    if fault.fault == "truncate":
        return TruncatedResponse(bytes(response.body), response.status_code, dict(response.headers))
    if fault.fault == "garbage":
        return _garbage_response(fault.garbage, response.status_code)
    if fault.fault == "other_response":
        body = fault.reply or {"error": fault.error}
        return Response(json.dumps(body), 200 if fault.reply else 503)
    if fault.fault == "html":
        return Response(PAGE.format(title="Log in"), 200, {"Content-Type": "text/html"})
    if fault.fault == "redirect":
        return Response(status_code=fault.status if 300 <= fault.status < 400 else 302, headers={"Location": fault.url})
    if fault.fault == "status":
        return _status_response(fault)
    if fault.fault == "empty":
        return Response(status_code=fault.status if 200 <= fault.status < 300 else 200)
    if fault.fault == "close":
        return CloseConnection()
    return ResetConnection()


def _status_response(fault: Fault) -> Response:
    headers = {} if fault.retry_after is None else {"Retry-After": str(fault.retry_after)}
    title = f"{fault.status} {REASONS.get(fault.status, 'Error')}"
    form = fault.form or ("plain" if fault.status < 500 else "html")
    if form == "plain":
        return Response(title, fault.status, headers)
    if form == "container":
        page = PAGE.format(title=f"HTTP Status {fault.status}")
        return Response(page, fault.status, {"Content-Type": "text/html;charset=utf-8", **headers})
    if form == "error":
        return Response(json.dumps({"error": fault.error}), fault.status, headers)
    if form == "json":
        error = {"error": {"code": fault.status, "message": title}}
        return Response(json.dumps(error), fault.status, {"Content-Type": "application/json", **headers})
    return Response(PAGE.format(title=title), fault.status, {"Content-Type": "text/html", **headers})


def _garbage_response(kind: str, status: int) -> Response:
    headers = {"Content-Type": "application/json;charset=UTF-8"}
    if kind == "login":
        return Response('{"status": "login required"}', 200, headers)
    if kind == "bomb":
        return Response(_compression_bomb(), status, {**headers, "Content-Encoding": "gzip"})
    bodies: dict[str, Callable[[], bytes]] = {
        "json": lambda: b'{"inventory": {"uuid": ',
        "utf8": lambda: b'{"inventory": {"name": "\xff\xfe\xfa"}}',
        "types": lambda: json.dumps(WRONG_TYPES).encode(),
        "missing": lambda: b"{}",
        "deep": lambda: b'{"inventory": ' + b"[" * DEPTH + b"]" * DEPTH + b"}",
        "huge": lambda: b'{"inventory": {"name": "' + b"x" * (10 * MIB) + b'"}}',
    }
    return Response(bodies[kind](), status, headers)


@functools.cache
def _compression_bomb() -> bytes:
    """Return 256 MiB of JSON, compressed."""
    compressor = zlib.compressobj(1, wbits=31)
    parts = [compressor.compress(b'{"inventory": {"name": "')]
    parts += [compressor.compress(b" " * MIB) for dummy in range(BOMB_SIZE // MIB)]
    parts += [compressor.compress(b'"}}'), compressor.flush()]
    return b"".join(parts)


class ResetConnection(Response):
    """Reset the connection instead of sending a response."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Reset the connection."""
        transport = TRANSPORTS[tuple(scope["client"])]
        connection = transport.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        transport.abort()
        while (await receive())["type"] != "http.disconnect":
            pass


class CloseConnection(Response):
    """Close the connection instead of sending a response."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Close the connection."""
        TRANSPORTS[tuple(scope["client"])].close()
        while (await receive())["type"] != "http.disconnect":
            pass


class TruncatedResponse(Response):
    """Send half of the response with the Content-Length of all of it, then close the connection."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the first half and close the connection."""
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        half = bytes(self.body)[: len(self.body) // 2]
        await send({"type": "http.response.body", "body": half, "more_body": True})
        TRANSPORTS[tuple(scope["client"])].close()
        while (await receive())["type"] != "http.disconnect":
            pass
