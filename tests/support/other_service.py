"""A service with collections that the simulator does not have, such as images, data volumes and networks.

It answers as servers do: writes with a job, which the id in the header X-Job-UUID names and performs once.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from .stub_server import StubRequest, StubResponse, StubServer

ROOT = "/service/v1/"
POLLS = f"{ROOT}api-jobs/"


class OtherService(StubServer):
    """The service. ``records`` are the objects by their collection and uuid, ``lost`` how many answers to lose.

    It has nothing at the paths in ``missing``.
    """

    def __init__(self) -> None:
        super().__init__(self._answer)
        self.records: dict[str, dict[str, dict[str, Any]]] = {}
        self.performed: list[str] = []
        self.lost = 0
        self.missing: tuple[str, ...] = ()
        self._jobs: dict[str, StubResponse] = {}
        self._polled: set[str] = set()

    def add(self, collection: str, **record: Any) -> str:
        """Add an object and return its uuid."""
        uuid = str(record.setdefault("uuid", uuid4().hex))
        self.records.setdefault(collection, {})[uuid] = record
        return uuid

    def _answer(self, request: StubRequest) -> StubResponse:
        path = request.path.removeprefix(ROOT)
        if request.path.startswith(POLLS):
            return self._poll(path.rpartition("/")[2])
        if path in self.missing:
            return StubResponse(404, b"Not Found")
        if request.method == "GET":
            return self._list(path, request.query)
        job = request.headers.get("X-Job-UUID", uuid4().hex)
        if job in self._jobs:
            return StubResponse(400, b"Duplicate job uuid")
        self.performed.append(f"{request.method} {path}")
        self._jobs[job] = self._perform(request.method, path, json.loads(request.body))
        if self.lost:
            self.lost -= 1
            return StubResponse(502, b"Bad Gateway")
        return _accept(job)

    def _poll(self, job: str) -> StubResponse:
        """Answer that a job is running the first time, and then with its result."""
        if job not in self._jobs:
            return StubResponse(404, b"no such job")
        if job not in self._polled:
            self._polled.add(job)
            return _accept(job)
        return self._jobs[job]

    def _list(self, collection: str, query: Mapping[str, list[str]]) -> StubResponse:
        if collection not in self.records:
            return StubResponse(404, b"Not Found")
        records = list(self.records[collection].values())
        for condition in query.get("q", []):
            field, dummy, value = condition.partition("=")
            records = [record for record in records if str(record.get(field)) == value]
        start, limit = int(query.get("start", ["0"])[0]), int(query.get("limit", ["1000"])[0])
        return StubResponse(200, {"inventories": records[start : start + limit], "total": len(records)})

    def _perform(self, method: str, path: str, body: dict[str, Any]) -> StubResponse:
        collection, dummy, uuid = path.removesuffix("/actions").partition("/")
        records = self.records.setdefault(collection, {})
        if method == "POST":
            params = {**body["params"], "uuid": body["params"].pop("resourceUuid", None) or uuid4().hex}
            if params["uuid"] in records:
                return _fail("SYS.1007", f"{params['uuid']} is the uuid of another object")
            records[params["uuid"]] = params
            return StubResponse(200, {"inventory": params})
        if uuid not in records:
            return _fail("SYS.1005", f"there is no object {uuid}")
        if method == "DELETE":
            del records[uuid]
            return StubResponse(200, {})
        (action,) = body.values()
        records[uuid].update(action)
        return StubResponse(200, {"inventory": records[uuid]})


def _accept(job: str) -> StubResponse:
    """Return the answer for a job that is running."""
    return StubResponse(202, {"location": f"http://10.0.0.1:8080{POLLS}{job}"})


def _fail(code: str, details: str) -> StubResponse:
    error = {"code": code, "description": "The operation failed", "details": details}
    return StubResponse(503, {"error": error})
