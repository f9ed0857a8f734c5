"""A server that routes as those of the API family do, with the operations of the catalogue's facts.

It performs nothing: it notes which operation a request would have run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from tools.catalogue import Fact, read_facts

from .stub_server import StubRequest, StubResponse, StubServer

ROOT = "/service/v1/"
POLLS = f"{ROOT}api-jobs/"
FACTS: Mapping[str, Fact] = {fact.name: fact for fact in read_facts()}


class CatalogueServer(StubServer):
    """A server, by its letter in the facts. ``performed`` are the operations that it ran, ``records`` those of queries.

    ``given`` are the parameters of these operations: a server reads them from the variables of the path, and from the
    query or the member of the body, as the operation says. ``results`` are the replies of operations that have one.
    ``ambiguous`` are the paths for which a server may take one of several operations, in an order of its own.
    """

    def __init__(self, server: str) -> None:
        super().__init__(self.answer)
        self.performed: list[str] = []
        self.given: list[dict[str, Any]] = []
        self.records: dict[str, list[dict[str, Any]]] = {}
        self.results: dict[str, dict[str, Any]] = {}
        self.ambiguous: list[str] = []
        # The operations by the number of segments of their paths, and by the segments.
        self._routes: dict[int, dict[tuple[str, ...], list[Fact]]] = {}
        self._jobs: dict[str, str] = {}
        for fact in FACTS.values():
            for path in fact.paths if server in fact.servers else ():
                segments = split_path(path)
                self._routes.setdefault(len(segments), {}).setdefault(segments, []).append(fact)

    def reset(self) -> None:
        """Forget what it has run, and what it should reply."""
        for noted in (self.performed, self.given, self.requests, self.records, self.results, self.ambiguous):
            noted.clear()

    def answer(self, request: StubRequest) -> StubResponse:
        """Run the operation of a request, and return the response."""
        if request.path.startswith(POLLS):
            name = self._jobs.get(request.path.removeprefix(POLLS))
            return StubResponse(200, self.results.get(name, {})) if name else StubResponse(404, b"no such job")
        found = self._route(request)
        if isinstance(found, StubResponse):
            return found
        self.performed.append(found.name)
        self.given.append(read_parameters(found, request))
        if found.kind == "a":
            job = request.headers.get("X-Job-UUID", uuid4().hex)
            self._jobs[job] = found.name
            return StubResponse(202, {"location": f"http://10.0.0.1:8080{POLLS}{job}"})
        if found.kind == "q":
            return self._list(found.name, request.query, self.given[-1].get("uuid"))
        return StubResponse(200, self.results.get(found.name, {"value": found.name}))

    def _route(self, request: StubRequest) -> Fact | StubResponse:
        """Return the operation that a request runs: the only one of its path, or that of its method and body."""
        segments = tuple(request.path.removeprefix(ROOT).split("/"))
        matches = [route for route in self._routes.get(len(segments), {}) if is_match(route, segments)]
        if not matches:
            return StubResponse(404, b"no such path")
        if len(matches) > 1 and segments not in matches:
            self.ambiguous.append(request.path)
        facts = self._routes[len(segments)][min(matches, key=lambda route: [part == "{}" for part in route])]
        if len(facts) == 1:
            return facts[0]
        if request.method == "PUT":
            body = json.loads(request.body) if request.body else {}
            named = [fact for fact in facts if fact.body_key == "action" and name_action(fact) in body]
            return named[0] if named else StubResponse(400, b"the body doesn't contain action mapping")
        same = [fact for fact in facts if fact.method == request.method]
        return same[0] if same else StubResponse(500, b"No query API found for the path")

    def _list(self, name: str, query: Mapping[str, list[str]], uuid: str | None) -> StubResponse:
        records = self.records.get(name, [])
        if uuid:
            # A server ignores the query of a request for one object, and sends no total.
            return StubResponse(200, {"inventories": [record for record in records if record.get("uuid") == uuid]})
        for condition in query.get("q", []):
            field, dummy, value = condition.partition("=")
            records = [record for record in records if str(record.get(field)) == value]
        start, limit = int(query.get("start", ["0"])[0]), int(query.get("limit", ["1000"])[0])
        page = records[start : start + limit]
        if "fields" in query:
            fields = query["fields"][0].split(",")
            page = [{field: record[field] for field in fields if field in record} for record in page]
        total = {"total": len(records)} if query.get("replyWithCount") == ["true"] else {}
        return StubResponse(200, {"inventories": page, **total})


def name_action(fact: Fact) -> str:
    """Return the member of a body that says which of several operations runs."""
    return fact.name[0].lower() + fact.name[1:]


def read_parameters(fact: Fact, request: StubRequest) -> dict[str, Any]:
    """Return the parameters that a server reads for an operation. Parameters of a query are lists of strings."""
    segments = request.path.removeprefix(ROOT).split("/")
    path = next(path for path in fact.paths if is_match(split_path(path), tuple(segments)))
    names = zip(path.split("/"), segments, strict=True)
    variables = {name[1:-1]: value for name, value in names if name.startswith("{")}
    if fact.method in ("GET", "DELETE"):
        return {**request.query, **variables}
    body = json.loads(request.body or b"{}")
    key = name_action(fact) if fact.method == "PUT" else fact.body_key
    return {**(body if key == "-" else body.get(key, {})), **variables}


def split_path(path: str) -> tuple[str, ...]:
    """Return the segments of a path, with ``{}`` for variables. A slash at its end makes it another path."""
    return tuple(re.sub(r"{\w+}", "{}", path).split("/"))


def is_match(route: tuple[str, ...], segments: tuple[str, ...]) -> bool:
    """Return whether a route has a path of these segments."""
    return len(route) == len(segments) and all(
        part in ("{}", segment) for part, segment in zip(route, segments, strict=True)
    )
