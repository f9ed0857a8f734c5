"""Answer requests for operations and polls of jobs."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import time
import traceback
import uuid as uuids
from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from ..errors import OperationError, RequestRejected
from ..registry import Call, Operation
from ..service import Service
from ..state.jobs import Execution, Job
from ..switches import fault_injection
from ..switches.faults import Fault
from . import requests as request_parsing
from .request_log import loggable_body

BASES = {
    "wrong": "http://192.0.2.1:8080",
    "foreign": "https://203.0.113.9:8443",
    "malformed": "http://[192.0.2.1:port",
    "relative": "",
    "missing": "http://192.0.2.1:8080",
}
JSON_TYPE = "application/json;charset=UTF-8"


class Dispatcher:
    """Handles the requests for operations and the polls of jobs."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def poll(self, request: Request) -> Response:
        """Answer the poll of a job."""
        job_id = request.path_params["uuid"]
        request.scope["simulator.entry"].update(operation="poll", job=job_id)
        faults = self._service.faults.select("poll", request.method)
        return await fault_injection.apply_faults(faults, request, lambda: self._poll(job_id, faults))

    async def _poll(self, job_id: str, faults: list[Fault]) -> Response:
        job = self._service.jobs.find(job_id, self._service.switches.job_lifetime)
        names = {fault.fault for fault in faults}
        if job is None or job.expired or "expire" in names:
            return plain_response(404, f"unable to find job[uuid:{job_id}]")
        if "hang" in names:
            return self._json(202, "{}")
        if failure := _injected_error(faults):
            return self._json(503, self._service.reply_text(job.operation, failure))
        return self._json(*job.result)

    async def operation(self, operation: Operation, request: Request) -> Response:
        """Answer a request for an operation."""
        body = await request.body()
        request.scope["simulator.entry"].update(operation=operation.name, body=loggable_body(body))
        faults = self._service.faults.select(operation.name, request.method)
        return await fault_injection.apply_faults(
            faults, request, lambda: self._operation(operation, request, body, faults)
        )

    async def action(self, operations: dict[str, Operation], request: Request) -> Response:
        """Answer a request to a path of several operations, by member of the body: the member names the operation."""
        try:
            parsed = json.loads(await request.body())
        except (ValueError, RecursionError):
            parsed = None
        for member, operation in operations.items():
            if isinstance(parsed, dict) and member in parsed:
                return await self.operation(operation, request)
        return plain_response(400, "the body doesn't contain action mapping")

    async def _operation(self, operation: Operation, request: Request, body: bytes, faults: list[Fault]) -> Response:
        service = self._service
        if any(fault.fault == "session_expiry" for fault in faults):
            service.configure({"session_expired": True, "token_expired": True})
            service.sessions.end_all()
        try:
            header = service.required_header(request, operation)
            parsed = request_parsing.parse_request(service, operation, request, body)

            def prepare() -> Call:
                service.check_credential(header, operation)
                return request_parsing.create_call(service, operation, parsed)

            if operation.is_write and not service.switches.sync:
                return self._start_job(operation, request, prepare, faults)
            return await self._answer_in_place(operation, request, prepare, faults)
        except RequestRejected as refusal:
            return plain_response(refusal.status, refusal.text)
        except OperationError as failure:
            return self._json(503, service.reply_text(operation, failure))
        except Exception:
            traceback.print_exc()
            return plain_response(500, "Internal Server Error")

    async def _answer_in_place(
        self, operation: Operation, request: Request, prepare: Callable[[], Call], faults: list[Fault]
    ) -> Response:
        switches = self._service.switches
        execution = Execution(operation)
        reply = execution.begin(prepare())
        if any(fault.fault == "hang" for fault in faults):
            await _wait_for_disconnect(request)
        if reply is None:
            latency = switches.latencies.get(operation.name, switches.latency * operation.is_write)
            if seconds := latency + execution.duration:
                await asyncio.sleep(seconds)
            reply = execution.end(_injected_error(faults), _fails_when_executed(faults))
        return self._json(200, self._service.reply_text(operation, reply))

    def _start_job(
        self, operation: Operation, request: Request, prepare: Callable[[], Call], faults: list[Fault]
    ) -> Response:
        service, switches = self._service, self._service.switches
        names = {fault.fault for fault in faults}
        job = Job(
            id=self._job_id(request),
            operation=operation,
            started=time.monotonic(),
            timeout=request_parsing.requested_timeout(request) or operation.timeout_minutes * 60,
            webhook=request.headers.get("x-web-hook", ""),
            hangs="hang" in names,
            expired="expire" in names,
            failure=_injected_error(faults),
            fails_when_executed=_fails_when_executed(faults),
        )
        request.scope["simulator.entry"]["job"] = job.id
        spread = max(0.0, 1 + switches.latency_spread * service.random.uniform(-1, 1))
        latency = switches.latencies.get(operation.name, switches.latency) * spread
        service.jobs.start(job, prepare, latency, lambda outcome: service.reply_text(operation, outcome))
        if "other_job" in names:
            error = next(fault.error for fault in faults if fault.fault == "other_job")
            result = (503, service.reply_text(operation, _build_error(error)))
            job = dataclasses.replace(job, id=uuids.uuid4().hex, result=result)
            service.jobs.add(job)
        return self._accepted(request, job)

    def _job_id(self, request: Request) -> str:
        if self._service.switches.job_uuid == "ignore":
            return uuids.uuid4().hex
        job_id = request_parsing.requested_job_uuid(request)
        if job_id and self._service.jobs.find(job_id, self._service.switches.job_lifetime):
            raise RequestRejected(400, f"Duplicate job uuid[{job_id}]")
        return job_id or uuids.uuid4().hex

    def _accepted(self, request: Request, job: Job) -> Response:
        switches = self._service.switches
        base = BASES.get(switches.location, f"{request.url.scheme}://{request.url.netloc}")
        location = f"{base}{switches.root}/v1/api-jobs/{job.id}"
        reply: dict[str, Any] = {} if switches.location == "missing" else {"location": location}
        if switches.api_timeout:
            reply["apiTimeout"] = round(job.timeout * 1000)
        return self._json(202, json.dumps(reply), {"Location": location} if switches.location_header else {})

    def _json(self, status: int, text: str, headers: dict[str, str] | None = None) -> Response:
        typed = {"Content-Type": JSON_TYPE} if self._service.switches.content_type else {}
        return Response(text.encode(), status, {**typed, **(headers or {})})


def plain_response(status: int, text: str) -> Response:
    """Return a plain-text response, like servers without a Content-Type."""
    return Response(text.encode(), status)


def _injected_error(faults: list[Fault]) -> OperationError | None:
    """Return the error that an injected fault demands, with its causes, if any."""
    error = next((fault.error for fault in faults if fault.fault == "fail"), None)
    return _build_error(error) if error else None


def _fails_when_executed(faults: list[Fault]) -> bool:
    """Return whether an injected error is that of an operation that was executed nevertheless."""
    return any(fault.fault == "fail" and fault.taken for fault in faults)


def _build_error(error: dict[str, Any]) -> OperationError:
    causes = error.get("causes") or [error.get("cause")]
    return OperationError(
        str(error["code"]), str(error["details"]), *(_build_error(cause) for cause in causes if cause)
    )


async def _wait_for_disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
