"""The control API, by which tests inspect and change the simulator. It needs no credentials."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse as CompactResponse
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from ..errors import OperationError
from ..http.request_log import CONTROL_PATH
from ..operations import OPERATIONS
from ..params import get_kind, is_required
from ..service import Service
from ..state.backup_sessions import OFF, lose_checkpoints, write_as_guest
from ..state.deletion import expunge_deleted
from ..state.schema import FIELDS
from . import faults
from .parsing import InvalidOption

LONGEST_STEP = 10**9
"""The seconds that the clock can be moved at once."""
ROUNDS = 3
"""How often what is pending is finished until nothing follows it: a job, a reconnection, what a VM does then."""


class JSONResponse(CompactResponse):
    """JSON with a newline at its end, for terminals."""

    def render(self, content: Any) -> bytes:
        """Return the body."""
        return super().render(content) + b"\n"


class InvalidControlRequest(ValueError):
    """The body is not valid for the control API."""


class Control:
    """The handlers. `update_routes` updates the routes of the operations after a change of the switches."""

    def __init__(self, service: Service, stop: Callable[[], None], update_routes: Callable[[], None]) -> None:
        self._service = service
        self._stop = stop
        self._update_routes = update_routes

    async def health(self, request: Request) -> Response:
        """Return the seed options and the switches."""
        service = self._service
        seed, switches = dataclasses.asdict(service.seed), dataclasses.asdict(service.switches)
        return JSONResponse({"status": "up", "seed": seed, "switches": switches})

    async def operations(self, request: Request) -> Response:
        """List the operations."""
        return JSONResponse(
            [
                {
                    "name": operation.name,
                    "method": operation.method,
                    "paths": operation.paths,
                    "since": operation.since or None,
                    "companion": operation.description.is_companion,
                    "params": [
                        {
                            "name": param.name,
                            "kind": get_kind(param),
                            "required": is_required(param),
                            "since": param.since,
                        }
                        for param in operation.params
                    ],
                }
                for operation in OPERATIONS.values()
            ]
        )

    async def log(self, request: Request) -> Response:
        """Return or clear the request log."""
        if request.method == "DELETE":
            self._service.log.entries.clear()
            return JSONResponse({})
        return JSONResponse(list(self._service.log.entries))

    async def state(self, request: Request) -> Response:
        """Return the whole state, or with `kind` the records of one type."""
        kind = request.query_params.get("kind")
        if kind and kind not in FIELDS:
            raise InvalidControlRequest(f"unknown kind {kind}")
        return JSONResponse(self._service.store.dump(kind))

    async def change(self, request: Request) -> Response:
        """Replace members of a record, bypassing the rules of the service: `kind`, `uuid`, `members`.

        The kind `exported` replaces the `volumeUuids` that are exported of the virtual machine with this uuid. A record
        of the kinds `wecomperson` and `dingtalkperson` that does not exist is added.
        """
        body = await _object(request)
        if set(body) != {"kind", "uuid", "members"} or not isinstance(body["members"], dict):
            raise InvalidControlRequest("a change needs kind, uuid and members, an object")
        if body["kind"] == "exported":
            self._service.store.exported[body["uuid"]] = set(body["members"]["volumeUuids"])
            return JSONResponse(body)
        if body["kind"] not in self._service.store.tables:
            raise InvalidControlRequest(f"unknown kind {body['kind']}")
        try:
            record = self._service.store.replace_members(body["kind"], body["uuid"], body["members"])
        except OperationError as failure:
            raise InvalidControlRequest(failure.details) from None
        if body["kind"] == "vm" and record["state"] in OFF:
            lose_checkpoints(self._service.store, record)
        return JSONResponse(record)

    async def guest_write(self, request: Request) -> Response:
        """Write `length` bytes, which depend on `seed`, to a `volume` at an `offset`, as the guest of its VM does."""
        body = await _object(request)
        numbers: list[Any] = [body.get(name) for name in ("offset", "length", "seed")]
        if set(body) != {"volume", "offset", "length", "seed"} or any(
            isinstance(each, bool) or not isinstance(each, int) for each in numbers
        ):
            raise InvalidControlRequest("a guest's write needs volume, and offset, length and seed, which are integers")
        try:
            write_as_guest(self._service.store, str(body["volume"]), *numbers)
        except OperationError as failure:
            raise InvalidControlRequest(failure.details) from None
        return JSONResponse({})

    async def advance(self, request: Request) -> Response:
        """Finish pending jobs and reconnections; with `seconds`, then move the clock and expunge what is due."""
        seconds = (await _object(request)).get("seconds", 0)
        if not isinstance(seconds, (int, float)) or not 0 <= seconds < LONGEST_STEP:
            raise InvalidControlRequest(f"seconds must be a number from 0 to {LONGEST_STEP}")
        self._service.jobs.advance()
        if seconds:
            self._service.store.clock_offset += dt.timedelta(seconds=seconds)
            expunge_deleted(self._service.store, self._service.switches)
        return JSONResponse({})

    async def settle(self, request: Request) -> Response:
        """Finish pending jobs and reconnections, and what follows them, and return the whole state."""
        for dummy in range(ROUNDS):
            self._service.jobs.advance()
        return JSONResponse(self._service.store.dump(None))

    async def reset(self, request: Request) -> Response:
        """Restore the seeded state and clear log, faults and jobs; the body may contain options."""
        self._service.reset(await _object(request))
        self._update_routes()
        return JSONResponse({})

    async def config(self, request: Request) -> Response:
        """Change switches."""
        self._service.configure(await _object(request))
        self._update_routes()
        return JSONResponse(dataclasses.asdict(self._service.switches))

    async def sessions(self, request: Request) -> Response:
        """Return the numbers of sessions, logins and logouts; DELETE ends all sessions created by logging in."""
        if request.method == "DELETE":
            self._service.sessions.end_all()
        return JSONResponse(self._service.sessions.counts())

    async def faults(self, request: Request) -> Response:
        """Return, add (one or a list) or clear faults."""
        all_faults = self._service.faults.all
        if request.method == "DELETE":
            all_faults.clear()
        elif request.method == "POST":
            body = await _json(request)
            all_faults += [faults.parse(item, OPERATIONS) for item in (body if isinstance(body, list) else [body])]
        return JSONResponse([fault.to_json() for fault in all_faults])

    async def deliveries(self, request: Request) -> Response:
        """Send one delivery to `url` now: of the real result of `job`, or a forged one with `success` and `body`."""
        body = await _object(request)
        if not {"url", "job"} <= set(body) <= {"url", "job", "success", "body"}:
            raise InvalidControlRequest("a delivery needs url and job, and may have success and body")
        job = self._service.jobs.find(body["job"], self._service.switches.job_lifetime)
        if "body" not in body and job is None:
            raise InvalidControlRequest(f"unknown job {body['job']}")
        succeeded, text = (job.succeeded, job.result[1]) if job else (True, "{}")
        if "body" in body:
            succeeded, text = bool(body.get("success", True)), json.dumps(body["body"])
        status = await self._service.webhooks.send(body["url"], body["job"], succeeded, text)
        return JSONResponse({"status": status})

    async def stop(self, request: Request) -> Response:
        """Stop the simulator."""
        self._stop()
        return JSONResponse({})


async def _json(request: Request) -> Any:
    try:
        return json.loads(await request.body() or b"{}")
    except ValueError:
        raise InvalidControlRequest("the body is not JSON") from None


async def _object(request: Request) -> dict[str, Any]:
    body = await _json(request)
    if not isinstance(body, dict):
        raise InvalidControlRequest("the body is not an object")
    return body


def routes(service: Service, stop: Callable[[], None], update_routes: Callable[[], None]) -> list[BaseRoute]:
    """Return the routes of the control API."""
    control = Control(service, stop, update_routes)
    table = (
        ("health", control.health, ["GET"]),
        ("operations", control.operations, ["GET"]),
        ("log", control.log, ["GET", "DELETE"]),
        ("state", control.state, ["GET"]),
        ("change", control.change, ["POST"]),
        ("guest-write", control.guest_write, ["POST"]),
        ("advance", control.advance, ["POST"]),
        ("settle", control.settle, ["POST"]),
        ("reset", control.reset, ["POST"]),
        ("config", control.config, ["POST"]),
        ("sessions", control.sessions, ["GET", "DELETE"]),
        ("faults", control.faults, ["GET", "POST", "DELETE"]),
        ("deliveries", control.deliveries, ["POST"]),
        ("stop", control.stop, ["POST"]),
    )
    return [
        Route(f"{CONTROL_PATH}/{name}", _with_error_reply(handler), methods=methods) for name, handler, methods in table
    ]


Handler = Callable[[Request], Awaitable[Response]]


def _with_error_reply(handler: Handler) -> Handler:
    async def handle(request: Request) -> Response:
        try:
            return await handler(request)
        except (InvalidOption, InvalidControlRequest, faults.InvalidFault) as error:
            return JSONResponse({"error": str(error)}, 400)

    return handle
