# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How a request becomes a call: its body, its parameters, its tags, the headers about its job."""

from __future__ import annotations

import dataclasses
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


@dataclasses.dataclass(frozen=True)
class Given:
    """What a request gives, in the kinds of the parameters, unchecked otherwise."""

    params: dict[str, t.Any]
    path: dict[str, str]
    tags: dict[str, list[str]]
    query: dict[str, list[str]]


def given(service: Service, operation: Operation, request: Request, body: bytes) -> Given:
    """Return what a request gives; refuse at once what cannot be parsed."""
    version, where = service.switches.version, service.switches.delete_params
    parsed = document(operation, body, where)
    query = urllib.parse.parse_qs(request.url.query, keep_blank_values=True)
    inner = parsed.get(operation.key) or {}
    if operation.method == "GET":
        found = params.from_query(operation.params, query, version)
        inner = params.from_query(TAGS, query, version)
    elif operation.method == "DELETE":
        found = _delete_params(operation, query, inner or parsed, where, version)
    else:
        found = params.parsed(operation.params, inner, version)
    tags = {tag.name: _tags(tag, inner) + _tags(tag, parsed) for tag in TAGS}
    return Given(found, dict(request.path_params), tags, query)


def call(service: Service, operation: Operation, given: Given) -> Call:
    """Return the call that a request means; raise the failure of a wrong parameter."""
    checked = params.checked(operation.params, given.params, service.switches.version)
    return Call({**checked, **given.path}, given.path, given.tags, given.query, service)


def _tags(tag: params.Param, members: dict[str, t.Any]) -> list[str]:
    return list(params.parsed([tag], members, "").get(tag.name, ()))


def _delete_params(
    operation: Operation, query: dict[str, list[str]], body: dict[str, t.Any], where: str, version: str
) -> dict[str, t.Any]:
    """Return the parameters of a DELETE. `direction` stands in the URL by the document too, so it is always read."""
    found = params.parsed(operation.params, body, version) if where != "query" else {}
    in_query = params.from_query(operation.params, query, version)
    return found | {name: in_query[name] for name in in_query if where != "body" or name == "direction"}


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
