"""Parse requests: body, parameters, tags, and the headers about the job."""

from __future__ import annotations

import json
import re
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request

from .. import params
from ..description import Parameter
from ..errors import RequestRejected, not_found
from ..registry import TAG_NAMES, Call, Operation
from ..service import Service

JOB_UUID = re.compile(r"[0-9a-fA-F]{32}")
TAGS = tuple(Parameter(name, "list", element_type="str") for name in TAG_NAMES)


def parse_body(operation: Operation, body: bytes, location: str) -> dict[str, Any]:
    """Return the body as an object, {} where it is ignored; raise RequestRejected if it cannot be parsed."""
    if operation.method == "GET" or (operation.method == "DELETE" and location == "query") or not body:
        return _with_key(operation, {})
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError):
        raise RequestRejected(400, "the request body is not JSON") from None
    if not isinstance(parsed, dict):
        raise RequestRejected(400, "the request body is not a JSON object")
    return _with_key(operation, parsed)


def _with_key(operation: Operation, parsed: dict[str, Any]) -> dict[str, Any]:
    if operation.method == "PUT" and operation.body_key not in parsed:
        raise RequestRejected(400, f"the body doesn't contain action mapping to the URL[{operation.paths[0]}]")
    inner = parsed.get(operation.body_key)
    if inner is not None and not isinstance(inner, dict):
        raise RequestRejected(400, f"{operation.body_key} in the request body is not a JSON object")
    return parsed


@dataclass(frozen=True)
class ParsedRequest:
    """The parts of a request, converted to the types of the parameters but not validated."""

    params: dict[str, Any]
    path: dict[str, str]
    tags: dict[str, list[str]]
    query: dict[str, list[str]]


def parse_request(service: Service, operation: Operation, request: Request, body: bytes) -> ParsedRequest:
    """Return the parts of a request; raise RequestRejected if one cannot be parsed."""
    version, location = service.switches.version, service.switches.delete_params
    parsed = parse_body(operation, body, location)
    query = urllib.parse.parse_qs(request.url.query, keep_blank_values=True)
    inner = parsed.get(operation.body_key) or {}
    if operation.method == "GET":
        values = params.parse_query_params(operation.params, query, version)
        inner = params.parse_query_params(TAGS, query, version)
    elif operation.method == "DELETE":
        values = _delete_params(operation, query, inner or parsed, location, version)
    else:
        values = params.parse_body_params(operation.params, inner, version)
    tags = {tag.name: _tags(tag, inner) + _tags(tag, parsed) for tag in TAGS}
    return ParsedRequest(values, _name_variables(operation, request.path_params), tags, query)


def _name_variables(operation: Operation, found: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of a path with the operation's names: several operations share a path, with other names."""
    names = re.findall(r"{(\w+)}", operation.description.path)
    return dict(zip([*names, *list(found)[len(names) :]], found.values(), strict=True))


def create_call(service: Service, operation: Operation, parsed: ParsedRequest) -> Call:
    """Return the call of a request; raise OperationError for an invalid parameter."""
    validated = params.validate(operation.params, parsed.params, service.switches.version)
    _require_objects(service, operation, validated)
    return Call({**validated, **parsed.path}, parsed.path, parsed.tags, parsed.query, service)


def _require_objects(service: Service, operation: Operation, values: Mapping[str, Any]) -> None:
    """Raise OperationError if a parameter of a change names an object that does not exist.

    Not an object in the path, because deletions succeed without it, nor in a query, which finds nothing for it.
    """
    if not operation.is_write:
        return
    for name, kind in operation.description.node.get("x-refers-to", {}).items():
        table, value = kind.replace("_", ""), values.get(name, [])
        for uuid in value if isinstance(value, list) else [value]:
            if service.store.find(table, uuid) is None:
                raise not_found(table, uuid)


def _tags(tag: Parameter, members: dict[str, Any]) -> list[str]:
    return list(params.parse_body_params([tag], members, "").get(tag.name, ()))


def _delete_params(
    operation: Operation, query: dict[str, list[str]], body: dict[str, Any], location: str, version: str
) -> dict[str, Any]:
    """Return the parameters of a DELETE. Parameters that are known as parts of the URL are always read."""
    values = params.parse_body_params(operation.params, body, version) if location != "query" else {}
    in_query = params.parse_query_params(operation.params, query, version)
    return values | {
        name: in_query[name] for name in in_query if location != "body" or name in ("direction", "resourceUuids")
    }


def requested_job_uuid(request: Request) -> str | None:
    """Return the job id of the X-Job-UUID header; raise RequestRejected if it is malformed."""
    job_id = request.headers.get("x-job-uuid")
    if job_id is not None and not JOB_UUID.fullmatch(job_id):
        raise RequestRejected(400, f"Invalid header X-Job-UUID[{job_id}]: it must be 32 hex digits without dashes")
    return job_id


def requested_timeout(request: Request) -> float | None:
    """Return the seconds of the X-API-Timeout header; raise RequestRejected if it is malformed."""
    text = request.headers.get("x-api-timeout")
    if text is None:
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise RequestRejected(400, f"Invalid header X-API-Timeout[{text}]: it must be a number of seconds")
    return seconds
