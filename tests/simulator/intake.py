# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How a request becomes a call: its body, its parameters, its tags, the headers about its job."""

from __future__ import annotations

import json
import re
import typing as t
import urllib.parse

from starlette.requests import Request

from . import params
from .errors import Refusal
from .registry import Call, Operation
from .service import Service

JOB_UUID = re.compile(r"[0-9a-fA-F]{32}")
TAGS = (params.optional("systemTags", "strings"), params.optional("userTags", "strings"))


def document(operation: Operation, body: bytes, where: str) -> dict[str, t.Any]:
    """Return the body as an object, {} where it is not read; refuse at once what cannot be parsed."""
    if operation.method == "GET" or (operation.method == "DELETE" and where == "query") or not body:
        return _with_key(operation, {})
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError):
        raise Refusal(400, "the request body is not JSON") from None
    if not isinstance(parsed, dict):
        raise Refusal(400, "the request body is not a JSON object")
    return _with_key(operation, parsed)


def _with_key(operation: Operation, parsed: dict[str, t.Any]) -> dict[str, t.Any]:
    if operation.method == "PUT" and operation.key not in parsed:
        raise Refusal(400, f"the request body holds no action; {operation.key} is expected")
    inner = parsed.get(operation.key)
    if inner is not None and not isinstance(inner, dict):
        raise Refusal(400, f"{operation.key} in the request body is not a JSON object")
    return parsed


def call(service: Service, operation: Operation, request: Request, body: dict[str, t.Any]) -> Call:
    """Return the call that a request means; raise the failure of a wrong parameter."""
    version = service.switches.version
    query = urllib.parse.parse_qs(request.url.query, keep_blank_values=True)
    inner = body.get(operation.key) or {}
    if operation.method == "GET":
        given = inner = params.from_query((*operation.params, *TAGS), query)
    elif operation.method == "DELETE":
        given = _delete_params(operation, query, inner or body, service.switches.delete_params)
    else:
        given = inner
    return Call(
        params={**params.checked(operation.params, given, version), **request.path_params},
        path=dict(request.path_params),
        tags={name: _tags(name, inner) + _tags(name, body) for name in ("systemTags", "userTags")},
        query=query,
        service=service,
    )


def _tags(name: str, given: dict[str, t.Any]) -> list[str]:
    return list(params.checked((tag for tag in TAGS if tag.name == name), given, "").get(name, ()))


def _delete_params(
    operation: Operation, query: dict[str, list[str]], body: dict[str, t.Any], where: str
) -> dict[str, t.Any]:
    """Return the parameters of a DELETE. `direction` stands in the URL by the document too, so it is always read."""
    given = dict(body) if where != "query" else {}
    in_query = params.from_query(operation.params, query)
    return given | {name: in_query[name] for name in in_query if where != "body" or name == "direction"}


def job_uuid(request: Request) -> str | None:
    """Return the job id that the caller chose; refuse one of a wrong form."""
    wanted = request.headers.get("x-job-uuid")
    if wanted is not None and not JOB_UUID.fullmatch(wanted):
        raise Refusal(400, f"Invalid header X-Job-UUID[{wanted}]: it must be 32 hex digits without dashes")
    return wanted


def timeout(request: Request) -> float | None:
    """Return the seconds that the caller gives the job; refuse what is no number of seconds."""
    text = request.headers.get("x-api-timeout")
    if text is None:
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise Refusal(400, f"Invalid header X-API-Timeout[{text}]: it must be a number of seconds")
    return seconds
