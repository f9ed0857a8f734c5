# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The control plane: what tests ask of the simulator itself. It takes no credentials."""

from __future__ import annotations

import collections.abc as c
import dataclasses
import json
import typing as t

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from . import faults
from .errors import Failure
from .operations import OPERATIONS
from .options import BadOption
from .requestlog import CONTROL
from .schema import FIELDS
from .service import Service


class BadRequest(ValueError):
    """The body is not what the control plane takes."""


class Control:
    """The handlers. `lay` lays the routes of the service anew, after its switches changed."""

    def __init__(self, service: Service, stop: c.Callable[[], None], lay: c.Callable[[], None]) -> None:
        self._service = service
        self._stop = stop
        self._lay = lay

    async def health(self, request: Request) -> Response:
        """Tell that the simulator is up, with its seed and its switches."""
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
                    "companion": operation.undocumented,
                    "further": operation.further,
                    "params": [
                        {
                            "name": param.name,
                            "kind": param.kind,
                            "required": param.required,
                            "since": param.since or None,
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
        """Return the whole store, or with `kind` the records of one kind."""
        kind = request.query_params.get("kind")
        if kind and kind not in FIELDS:
            raise BadRequest(f"unknown kind {kind}")
        return JSONResponse(self._service.store.dump(kind))

    async def change(self, request: Request) -> Response:
        """Replace members of a record, whatever the rules of the service: `kind`, `uuid`, `members`."""
        given = await _object(request)
        if set(given) != {"kind", "uuid", "members"} or not isinstance(given["members"], dict):
            raise BadRequest("a change has kind, uuid and members")
        if given["kind"] not in self._service.store.tables:
            raise BadRequest(f"unknown kind {given['kind']}")
        try:
            record = self._service.store[given["kind"]].change(given["uuid"], **given["members"])
        except Failure as failure:
            raise BadRequest(failure.details) from None
        return JSONResponse(record)

    async def advance(self, request: Request) -> Response:
        """End at once the jobs and the reconnections that are under way."""
        self._service.jobs.advance()
        return JSONResponse({})

    async def reset(self, request: Request) -> Response:
        """Seed again, forgetting everything; the body may hold options."""
        self._service.reset(await _object(request))
        self._lay()
        return JSONResponse({})

    async def config(self, request: Request) -> Response:
        """Change switches."""
        self._service.configure(await _object(request))
        self._lay()
        return JSONResponse(dataclasses.asdict(self._service.switches))

    async def sessions(self, request: Request) -> Response:
        """Return the numbers of sessions, logins and logouts; DELETE ends all sessions created by logging in."""
        if request.method == "DELETE":
            self._service.sessions.end_all()
        return JSONResponse(self._service.sessions.counts())

    async def faults(self, request: Request) -> Response:
        """Return, add (one or a list) or clear faults."""
        kept = self._service.faults.all
        if request.method == "DELETE":
            kept.clear()
        elif request.method == "POST":
            given = await _json(request)
            kept += [faults.parse(one, OPERATIONS) for one in (given if isinstance(given, list) else [given])]
        return JSONResponse([fault.document() for fault in kept])

    async def stop(self, request: Request) -> Response:
        """End the simulator."""
        self._stop()
        return JSONResponse({})


async def _json(request: Request) -> t.Any:
    try:
        return json.loads(await request.body() or b"{}")
    except ValueError:
        raise BadRequest("the body is not JSON") from None


async def _object(request: Request) -> dict[str, t.Any]:
    given = await _json(request)
    if not isinstance(given, dict):
        raise BadRequest("the body is not an object")
    return given


def routes(service: Service, stop: c.Callable[[], None], lay: c.Callable[[], None]) -> list[BaseRoute]:
    """Return the routes of the control plane."""
    control = Control(service, stop, lay)
    table = (
        ("health", control.health, ["GET"]),
        ("operations", control.operations, ["GET"]),
        ("log", control.log, ["GET", "DELETE"]),
        ("state", control.state, ["GET"]),
        ("change", control.change, ["POST"]),
        ("advance", control.advance, ["POST"]),
        ("reset", control.reset, ["POST"]),
        ("config", control.config, ["POST"]),
        ("sessions", control.sessions, ["GET", "DELETE"]),
        ("faults", control.faults, ["GET", "POST", "DELETE"]),
        ("stop", control.stop, ["POST"]),
    )
    return [Route(f"{CONTROL}/{name}", _guarded(handler), methods=methods) for name, handler, methods in table]


Handler = c.Callable[[Request], c.Awaitable[Response]]


def _guarded(handler: Handler) -> Handler:
    async def guarded(request: Request) -> Response:
        try:
            return await handler(request)
        except (BadOption, BadRequest, faults.BadFault) as error:
            return JSONResponse({"error": str(error)}, 400)

    return guarded
