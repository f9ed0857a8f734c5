"""The application: which handler serves which path."""

from __future__ import annotations

import collections
import functools
import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, cast

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match, Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from .http import page
from .http.dispatcher import Dispatcher, plain_response
from .http.request_log import RequestLogMiddleware
from .operations import OPERATIONS
from .params import is_known
from .registry import Operation
from .service import Service
from .switches import control

VERBS = ["GET", "POST", "PUT", "DELETE"]
SUGGESTED = {
    "QueryHost",
    "QueryVmInstance",
    "QueryVmNic",
    "QuerySNSApplicationEndpoint",
    "QuerySNSApplicationPlatform",
    "QuerySNSSnmpPlatform",
    "QuerySNSTeamchatAtPerson",
    "QueryHostNetworkInterface",
    "GetHostNicServiceTypeStatistic",
}
"""The companions that the conventions of the service suggest. A server without ``all_companions`` has only these."""
Endpoint = Callable[[Request], Any]


class RoutingSwitches(NamedTuple):
    """The switches that decide which paths are served."""

    root: str
    version: str
    companions: str
    service_type_statistic: bool
    chats: str
    all_companions: bool
    missing_operations: tuple[str, ...]
    verbs_matter: bool


class RoutesByDepth(BaseRoute):
    """Routes of which a path is compared only with those of as many slashes: no parameter contains one."""

    def __init__(self, routes: Iterable[Route]) -> None:
        by_depth: dict[int, list[Route]] = collections.defaultdict(list)
        for route in routes:
            by_depth[route.path.count("/")].append(route)
        self._routers = {depth: Router(same, redirect_slashes=False) for depth, same in by_depth.items()}

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Return whether there are routes of the depth of the path."""
        return Match.FULL if scope["path"].count("/") in self._routers else Match.NONE, {}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request to the first of these routes that matches."""
        await self._routers[scope["path"].count("/")](scope, receive, send)


def create_app(service: Service, stop: Callable[[], None]) -> ASGIApp:
    """Return the application that serves the operations, the control API and the page."""
    app = Starlette(exception_handlers={HTTPException: _rejection})
    app.router.redirect_slashes = False
    dispatcher = Dispatcher(service)

    def update_routes() -> None:
        switches = service.switches
        relevant = RoutingSwitches(*(_as_key(getattr(switches, name)) for name in RoutingSwitches._fields))
        app.router.routes = [*control_routes, *page_routes, _routes(dispatcher, relevant)]

    control_routes = control.routes(service, stop, update_routes)
    page_routes = page.routes(service)
    update_routes()
    return RequestLogMiddleware(app, service.log, lambda: service.switches)


async def _rejection(request: Request, error: Exception) -> Response:
    rejection = cast(HTTPException, error)
    return plain_response(rejection.status_code, rejection.detail)


@functools.cache
def _routes(dispatcher: Dispatcher, switches: RoutingSwitches) -> BaseRoute:
    """Return the routes of the operations that this version offers, fixed paths before those with parameters."""
    operations_by_path: dict[str, list[tuple[str, Operation]]] = collections.defaultdict(list)
    for operation in OPERATIONS.values():
        if not is_known(operation.since, "" if operation.uses_token else switches.version):
            continue
        if operation.chats and switches.chats not in operation.chats.split():
            continue
        if _is_absent(operation, switches) and not _is_refused(operation, switches):
            continue
        for path in operation.paths:
            full_path = path if operation.uses_token else f"{switches.root}/v1/{path}"
            operations_by_path[re.sub(r"{\w+}", "{}", full_path)].append((full_path, operation))
    routes = [Route(f"{switches.root}/v1/api-jobs/{{uuid}}", dispatcher.poll, methods=["GET"])]
    for entries in operations_by_path.values():
        entries = _drop_hidden(entries, switches)
        any_verb = len(entries) == 1 and not switches.verbs_matter
        by_method: dict[str, list[tuple[str, Operation]]] = collections.defaultdict(list)
        for path, operation in entries:
            by_method[operation.method].append((path, operation))
        for method, served in by_method.items():
            endpoint = _endpoint(dispatcher, [operation for dummy, operation in served], switches)
            routes.append(Route(served[0][0], endpoint, methods=VERBS if any_verb else [method]))
        if not any_verb and not switches.verbs_matter:
            others = set(VERBS) - by_method.keys()
            routes.append(Route(entries[0][0], _no_api, methods=list(others)))
    return RoutesByDepth(sorted(routes, key=lambda route: route.path.count("{")))


def _drop_hidden(entries: list[tuple[str, Operation]], switches: RoutingSwitches) -> list[tuple[str, Operation]]:
    """Return the operations of a path without the missing writes that its only query hides.

    Servers do not look at the verb if the query is the only operation of the path, so it answers these writes.
    """
    present = [entry for entry in entries if not _is_absent(entry[1], switches)]
    is_query_alone = len(present) == 1 and present[0][1].method == "GET"
    return present if is_query_alone and not switches.verbs_matter else entries


def _as_key(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _is_refused(operation: Operation, switches: RoutingSwitches) -> bool:
    """Return whether the server knows the path of an absent operation, and refuses the call."""
    return switches.companions in _REFUSALS or operation.name in switches.missing_operations


def _endpoint(dispatcher: Dispatcher, operations: list[Operation], switches: RoutingSwitches) -> Endpoint:
    """Return the endpoint of the operations that share a path and a method."""
    present = [operation for operation in operations if not _is_absent(operation, switches)]
    if len(present) > 1:
        return functools.partial(dispatcher.action, {operation.body_key: operation for operation in present})
    if present:
        return functools.partial(dispatcher.operation, present[0])
    return _REFUSALS.get(switches.companions, _no_api)


def _is_absent(operation: Operation, switches: RoutingSwitches) -> bool:
    if operation.name == "GetHostNicServiceTypeStatistic" and not switches.service_type_statistic:
        return True
    if not operation.description.is_companion:
        return False
    if operation.name in switches.missing_operations:
        return True
    return switches.companions != "present" or not (operation.name in SUGGESTED or switches.all_companions)


async def _not_allowed(request: Request) -> Response:
    return plain_response(405, "Method Not Allowed")


async def _no_api(request: Request) -> Response:
    kind = {"GET": "query", "POST": "creational", "DELETE": "delete"}.get(request.method, "action")
    return plain_response(500, f"No {kind} API found for the path[{request.url.path}]")


# The endpoints that refuse a path without an operation, by their status. 404 needs none: without a route, every path is
# refused with it.
_REFUSALS: dict[str, Endpoint] = {"405": _not_allowed, "500": _no_api}
