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
from collections.abc import Callable
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Route

from ..operations import OPERATIONS
from ..registry import Call
from ..service import Service
from ..state.backup_sessions import list_scratch_volumes, list_vms
from ..state.jobs import PENDING, Job
from ..state.store import Record
from ..switches.faults import FAULTS, GARBAGE
from .request_log import CONTROL_PATH, PAGE_PATH, Entry

KINDS = (
    *("vm", "host", "cbttask", "endpoint", "platform", "topic", "primarystorage", "snapshotgroup", "person", "hostnic"),
    *("vmnic", "volume"),
)
"""The types of the objects of jobs; those whose search takes long come last."""
MAX_ENTRIES = 500
"""Requests among which those of the same task are found."""
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
        self._targets: dict[str, str] = {}

    def to_json(self) -> Row:
        """Return for each table the total, how many rows are in which state, and the last rows; and the faults."""
        service, records = self._service, self._service.store.records
        return {
            "hosts": _table(records("host")[1], self._host, lambda host: host["status"]),
            "vms": _table(records("vm")[1], self._vm, lambda vm: vm["state"]),
            "cbt_tasks": _table(records("cbttask")[1], self._cbt_task, lambda task: task["status"]),
            "storages": _table(records("primarystorage")[1], _storage, lambda storage: storage["status"]),
            "endpoints": _table(records("endpoint")[1], self._endpoint, lambda endpoint: endpoint["state"]),
            "jobs": _table(service.jobs.all(), self._job, _job_state, newest_first=True),
            "calls": {"total": len(service.log.entries), "rows": self._calls()},
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
        vms = [self._name("vm", uuid) for uuid in list_vms(task)]
        scratch = [self._service.store.find("volume", uuid) for uuid in list_scratch_volumes(task)]
        size = sum(volume["size"] for volume in scratch if volume)
        return {"name": task["name"], "status": task["status"], "vms": vms, "scratch": size}

    def _endpoint(self, endpoint: Record) -> Row:
        platform = self._name("platform", endpoint.get("platformUuid"))
        return {"name": endpoint["name"], "type": endpoint["type"], "state": endpoint["state"], "platform": platform}

    def _job(self, job: Job) -> Row:
        state = _job_state(job)
        error = _root_cause(json.loads(job.result[1])["error"]) if state == "Failed" else None
        return {
            "operation": job.operation.name,
            "target": self._target(job),
            "state": state,
            "time": round(time.time() - time.monotonic() + job.started),
            "error": f"{error['code']}: {error['details']}" if error else "",
        }

    def _target(self, job: Job) -> str:
        """Return the name of the object of a job, as it was when the page first showed the job."""
        if job.call is None:
            return ""
        if job.id not in self._targets:
            self._targets[job.id] = self._find_target(job.call)
        return self._targets[job.id]

    def _find_target(self, call: Call) -> str:
        """Return the name of the object in the path, the given name, or the name of the first object in the body."""
        if call.path:
            return self._find_name(next(iter(call.path.values())))
        if name := call.get("name") or call.get("managementIp"):
            return str(name)
        uuids = (
            uuid
            for name, value in call.params.items()
            if name.lower().endswith(("uuid", "uuids"))
            for uuid in _as_list(value)
        )
        return next(map(self._find_name, map(str, uuids)), "")

    def _find_name(self, uuid: str) -> str:
        found = (self._service.store.find(kind, uuid) for kind in KINDS)
        record: Record | Row = next(filter(None, found), {})
        return str(record.get("name") or record.get("interfaceName") or record.get("internalName") or uuid)

    def _calls(self) -> list[Row]:
        """Return the latest calls, newest first, without the polls that no fault met: a job can have hundreds.

        Each has the number of its task, 0 for the last one. A task has its own connections, which it uses to its end.
        """
        entries = list(itertools.islice(reversed(self._service.log.entries), MAX_ENTRIES))
        tasks = number_tasks(entries)
        calls = [entry for entry in entries if entry["operation"] != "poll" or entry["faults"]]
        return [{**_call(entry), "task": tasks[entry["client"], entry["port"]]} for entry in calls[:MAX_ROWS]]


def _table(items: list[Any], row: Callable[[Any], Row], state: Callable[[Any], str], newest_first: bool = False) -> Row:
    rows = [row(item) for item in items[-MAX_ROWS:]]
    states = collections.Counter(map(state, items))
    return {"total": len(items), "states": states, "rows": rows[::-1] if newest_first else rows}


def _job_state(job: Job) -> str:
    return "Pending" if job.result == PENDING else "Succeeded" if job.succeeded else "Failed"


def _storage(storage: Record) -> Row:
    members = ("name", "type", "state", "status", "totalCapacity", "availableCapacity")
    return {name: storage.get(name) for name in members}


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _root_cause(error: Row) -> Row:
    causes = error.get("causes") or [error.get("cause")]
    return _root_cause(causes[0]) if causes[0] else error


def number_tasks(entries: list[Entry]) -> dict[tuple[str, int], int]:
    """Return the number of the task of each connection, for requests from the newest to the oldest.

    Connections that are used at the same time belong to one task, or to tasks that run at the same time.
    """
    started = {(entry["client"], entry["port"]): entry["time"] for entry in entries}
    numbers: dict[tuple[str, int], int] = {}
    start_of_task = float("inf")
    for entry in entries:
        connection = (entry["client"], entry["port"])
        if connection in numbers:
            continue
        is_earlier = entry["time"] < start_of_task
        numbers[connection] = (max(numbers.values()) + 1 if numbers else 0) if is_earlier else max(numbers.values())
        start_of_task = started[connection] if is_earlier else min(start_of_task, started[connection])
    return numbers


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
