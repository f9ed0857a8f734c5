# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The application: which path leads where."""

from __future__ import annotations

import collections
import collections.abc as c
import functools
import re
import typing as t

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp

from . import control
from .gateway import Gateway, plain
from .operations import OPERATIONS
from .params import known
from .registry import Operation
from .requestlog import Recorder
from .service import Service

VERBS = ["GET", "POST", "PUT", "DELETE"]
Endpoint = c.Callable[[Request], t.Any]


def application(service: Service, stop: c.Callable[[], None]) -> ASGIApp:
    """Return the application that serves the service and its control plane."""
    app = Starlette(exception_handlers={HTTPException: _refused})
    app.router.redirect_slashes = False
    gateway = Gateway(service)

    def lay() -> None:
        app.router.routes = [*control.routes(service, stop, lay), *_routes(service, gateway)]

    lay()
    return Recorder(app, service.log, lambda: service.switches)


async def _refused(request: Request, error: Exception) -> Response:
    refusal = t.cast(HTTPException, error)
    return plain(refusal.status_code, refusal.detail)


def _routes(service: Service, gateway: Gateway) -> list[BaseRoute]:
    """Return the routes of the operations that this version has, fixed paths before those with parameters."""
    switches = service.switches
    found: dict[str, list[tuple[str, str, Endpoint]]] = collections.defaultdict(list)
    for operation in OPERATIONS.values():
        if not known(operation.since, "" if operation.uses_token else switches.version):
            continue
        endpoint: Endpoint = functools.partial(gateway.operation, operation)
        if _absent(operation, service):
            if switches.companions != "405":
                continue
            endpoint = _not_allowed
        for path in operation.paths:
            full = path if operation.uses_token else f"{switches.root}/v1/{path}"
            found[re.sub(r"{\w+}", "{}", full)].append((full, operation.method, endpoint))
    routes = [Route(f"{switches.root}/v1/api-jobs/{{uuid}}", gateway.poll, methods=["GET"])]
    for rows in found.values():
        any_verb = len(rows) == 1 and not switches.verbs_matter
        routes += [Route(path, endpoint, methods=VERBS if any_verb else [method]) for path, method, endpoint in rows]
    return [*sorted(routes, key=lambda route: route.path.count("{"))]


def _absent(operation: Operation, service: Service) -> bool:
    if operation.name == "GetHostNicServiceTypeStatistic" and not service.switches.service_type_statistic:
        return True
    if operation.further and not service.switches.further_operations:
        return True
    return (operation.undocumented or operation.further) and service.switches.companions != "present"


async def _not_allowed(request: Request) -> Response:
    return plain(405, "Method Not Allowed")
