# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The page that shows the state of the simulator, and the overview that it polls."""

from __future__ import annotations

import base64
import collections
import functools
import hashlib
import html
import itertools
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Route

from ..operations import OPERATIONS
from ..service import Service
from ..state.jobs import PENDING, Job
from ..state.store import Record
from ..switches.faults import FAULTS, GARBAGE
from .request_log import CONTROL_PATH, PAGE_PATH, Entry

MAX_ROWS = 25
"""Rows of each table. The page is an overview, and the service can have thousands of hosts."""
POLICY = (
    "default-src 'none'; connect-src 'self'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{digest}';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
Row = dict[str, Any]


@functools.cache
def _page() -> tuple[str, str]:
    """Return the page and its Content-Security-Policy, which permits its own script and no other."""
    text = Path(__file__).with_name("page.html").read_text(encoding="utf-8")
    options = {
        "<!-- faults -->": (f'<option data-text="{html.escape(meaning)}">{name}' for name, meaning in FAULTS.items()),
        "<!-- garbage -->": (f"<option>{name}" for name in GARBAGE),
        "<!-- operations -->": (f"<option>{name}" for name in sorted(OPERATIONS)),
    }
    for mark, lines in options.items():
        text = text.replace(mark, "\n".join(lines))
    script = text.partition("<script>")[2].partition("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return text, POLICY.format(digest=digest)


class Overview:
    """The data that the page shows of a service."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def to_json(self) -> Row:
        """Return for each table the total, how many rows are in which state, and the last rows; and the faults."""
        service, records = self._service, self._service.store.records
        return {
            "hosts": _table(records("host")[1], self._host, lambda host: host["status"]),
            "vms": _table(records("vm")[1], self._vm, lambda vm: vm["state"]),
            "cbt_tasks": _table(records("cbttask")[1], self._cbt_task, lambda task: task["status"]),
            "jobs": _table(service.jobs.all(), _job, _job_state, newest_first=True),
            "calls": {
                "total": len(service.log.entries),
                "rows": [_call(entry) for entry in itertools.islice(self._calls(), MAX_ROWS)],
            },
            "faults": [fault.to_json() for fault in service.faults.all],
        }

    def _name(self, kind: str, uuid: str | None) -> str:
        record = self._service.store.find(kind, uuid or "")
        return record["name"] if record else uuid or ""

    def _host(self, host: Record) -> Row:
        cluster = self._name("cluster", host.get("clusterUuid"))
        members = {name: host[name] for name in ("name", "state", "status")}
        return {**members, "address": host["managementIp"], "cluster": cluster}

    def _vm(self, vm: Record) -> Row:
        addresses = [nic["ip"] for nic in vm["vmNics"] if nic.get("ip")]
        host = self._name("host", vm.get("hostUuid"))
        return {"name": vm["name"], "state": vm["state"], "host": host, "addresses": addresses}

    def _cbt_task(self, task: Record) -> Row:
        vms = [self._name("vm", ref["resourceUuid"]) for ref in task["resourceRefs"]]
        return {"name": task["name"], "status": task["status"], "vms": vms}

    def _calls(self) -> Iterator[Entry]:
        """Return the API calls, newest first, without the polls that no fault met: a job can have hundreds."""
        return (
            entry for entry in reversed(self._service.log.entries) if entry["operation"] != "poll" or entry["faults"]
        )


def _table(items: list[Any], row: Callable[[Any], Row], state: Callable[[Any], str], newest_first: bool = False) -> Row:
    rows = [row(item) for item in items[-MAX_ROWS:]]
    states = collections.Counter(map(state, items))
    return {"total": len(items), "states": states, "rows": rows[::-1] if newest_first else rows}


def _job_state(job: Job) -> str:
    return "Pending" if job.result == PENDING else "Succeeded" if job.succeeded else "Failed"


def _job(job: Job) -> Row:
    state = _job_state(job)
    error = _root_cause(json.loads(job.result[1])["error"]) if state == "Failed" else None
    return {
        "operation": job.operation.name,
        "state": state,
        "time": round(time.time() - time.monotonic() + job.started),
        "error": f"{error['code']}: {error['details']}" if error else "",
    }


def _root_cause(error: Row) -> Row:
    causes = error.get("causes") or [error.get("cause")]
    return _root_cause(causes[0]) if causes[0] else error


def _call(entry: Entry) -> Row:
    return {name: entry[name] for name in ("time", "operation", "method", "path", "status", "faults")}


def routes(service: Service) -> list[BaseRoute]:
    """Return the routes of the page."""
    overview = Overview(service)

    async def show(request: Request) -> Response:
        text, policy = _page()
        return HTMLResponse(text, headers={"Content-Security-Policy": policy})

    async def poll(request: Request) -> Response:
        # Names can contain characters that UTF-8 lacks; json.dumps() escapes them.
        return Response(json.dumps(overview.to_json()), media_type="application/json")

    return [Route(PAGE_PATH, show), Route(f"{CONTROL_PATH}/overview", poll)]
