# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How a request of the service's own interface is answered."""

from __future__ import annotations

import asyncio
import json
import time
import traceback
import typing as t
import uuid as uuids

from starlette.requests import Request
from starlette.responses import Response

from . import intake, spoil
from .errors import Failure, Refusal
from .faults import Fault
from .jobs import Job, Work
from .registry import Call, Operation
from .requestlog import readable
from .service import Service

BASES = {
    "wrong": "http://192.0.2.1:8080",
    "foreign": "https://203.0.113.9:8443",
    "malformed": "http://[192.0.2.1:port",
    "relative": "",
    "missing": "http://192.0.2.1:8080",
}
JSON_TYPE = "application/json;charset=UTF-8"


class Gateway:
    """Answers the operations and the polls of jobs."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def poll(self, request: Request) -> Response:
        """Answer the poll of a job."""
        job_id = request.path_params["uuid"]
        request.scope["simulator.entry"].update(operation="poll", job=job_id)
        faults = self._service.faults.take("poll", request.method)
        return await spoil.answered(faults, request, lambda: self._poll(job_id, faults))

    async def _poll(self, job_id: str, faults: list[Fault]) -> Response:
        job = self._service.jobs.find(job_id, self._service.switches.job_lifetime)
        names = {fault.fault for fault in faults}
        if job is None or job.expired or "expire" in names:
            return plain(404, f"unable to find job[uuid:{job_id}]")
        if "hang" in names:
            return self._json(202, "{}")
        if failure := _demanded(faults):
            return self._json(503, self._service.text(job.operation, failure))
        return self._json(*job.answer)

    async def operation(self, operation: Operation, request: Request) -> Response:
        """Answer a call of an operation."""
        body = await request.body()
        request.scope["simulator.entry"].update(operation=operation.name, body=readable(body))
        faults = self._service.faults.take(operation.name, request.method)
        return await spoil.answered(faults, request, lambda: self._operation(operation, request, body, faults))

    async def _operation(self, operation: Operation, request: Request, body: bytes, faults: list[Fault]) -> Response:
        service = self._service
        if any(fault.fault == "session_expiry" for fault in faults):
            service.configure({"session_expired": True, "token_expired": True})
            service.sessions.end_all()
        try:
            header = service.required_header(request.headers.get("authorization"), operation)
            given = intake.given(service, operation, request, body)

            def prepare() -> Call:
                service.check_credential(header, operation)
                return intake.call(service, operation, given)

            if operation.is_write and not service.switches.sync:
                return self._start(operation, request, prepare, faults)
            return await self._at_once(operation, request, prepare, faults)
        except Refusal as refusal:
            return plain(refusal.status, refusal.text)
        except Failure as failure:
            return self._json(503, service.text(operation, failure))
        except Exception:
            traceback.print_exc()
            return plain(500, "Internal Server Error")

    async def _at_once(
        self, operation: Operation, request: Request, prepare: t.Callable[[], Call], faults: list[Fault]
    ) -> Response:
        switches = self._service.switches
        work = Work(operation)
        reply = work.begin(prepare())
        if any(fault.fault == "hang" for fault in faults):
            await _disconnected(request)
        if reply is None:
            await asyncio.sleep(switches.latencies.get(operation.name, switches.latency * operation.is_write))
            reply = work.end(_demanded(faults))
        return self._json(200, self._service.text(operation, reply))

    def _start(
        self, operation: Operation, request: Request, prepare: t.Callable[[], Call], faults: list[Fault]
    ) -> Response:
        service, switches = self._service, self._service.switches
        names = {fault.fault for fault in faults}
        job = Job(
            id=self._job_id(request),
            operation=operation,
            started=time.monotonic(),
            timeout=intake.timeout(request) or operation.minutes * 60,
            webhook=request.headers.get("x-web-hook", ""),
            hangs="hang" in names,
            expired="expire" in names,
            failure=_demanded(faults),
        )
        request.scope["simulator.entry"]["job"] = job.id
        latency = switches.latencies.get(operation.name, switches.latency)
        service.jobs.start(job, prepare, latency, lambda outcome: service.text(operation, outcome))
        return self._accepted(request, job)

    def _job_id(self, request: Request) -> str:
        if self._service.switches.job_uuid == "ignore":
            return uuids.uuid4().hex
        wanted = intake.job_uuid(request)
        if wanted and self._service.jobs.find(wanted, self._service.switches.job_lifetime):
            raise Refusal(400, f"Duplicate job uuid[{wanted}]")
        return wanted or uuids.uuid4().hex

    def _accepted(self, request: Request, job: Job) -> Response:
        switches = self._service.switches
        base = BASES.get(switches.location, f"{request.url.scheme}://{request.url.netloc}")
        location = f"{base}{switches.root}/v1/api-jobs/{job.id}"
        reply: dict[str, t.Any] = {} if switches.location == "missing" else {"location": location}
        if switches.api_timeout:
            reply["apiTimeout"] = round(job.timeout * 1000)
        return self._json(202, json.dumps(reply), {"Location": location} if switches.location_header else {})

    def _json(self, status: int, text: str, headers: dict[str, str] | None = None) -> Response:
        typed = {"Content-Type": JSON_TYPE} if self._service.switches.content_type else {}
        return Response(text.encode(), status, {**typed, **(headers or {})})


def plain(status: int, text: str) -> Response:
    """Return an answer in plain text, without a Content-Type as servers send it."""
    return Response(text.encode(), status)


def _demanded(faults: list[Fault]) -> Failure | None:
    """Return the failure that a fault demands, its chain of causes as given."""
    error = next((fault.error for fault in faults if fault.fault == "fail"), None)
    return _failure(error) if error else None


def _failure(error: dict[str, t.Any]) -> Failure:
    causes = error.get("causes") or [error.get("cause")]
    return Failure(str(error["code"]), str(error["details"]), *(_failure(each) for each in causes if each))


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
