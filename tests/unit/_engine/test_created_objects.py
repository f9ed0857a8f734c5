"""Which object a task has created, if the reply does not show it, or another one has the same name."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._modules.run import ModuleResult

from support.module_runner import run_module
from support.stub_server import StubRequest, StubResponse, StubServer

FIRST, SECOND = "a" * 32, "b" * 32
VM = "a0000004000040008000000000000001"


def create_endpoint(service: StubServer) -> ModuleResult:
    """Run the module that creates an endpoint, and return its outcome, which is a success."""
    options = {"base_url": service.url, "session_id": "the-session", "type": "snmp", "name": "traps"}
    outcome = run_module("sns_endpoint", options)
    assert not outcome.result.get("failed"), outcome.result
    return outcome


def test_reply_without_the_record_of_one_of_two_objects() -> None:
    """Another run has created the second object at the same time."""

    def answer(request: StubRequest) -> StubResponse:
        is_created = any(each.method == "POST" for each in service.requests)
        if request.method == "POST" or "api-jobs" in request.path:
            return StubResponse(200, {})
        wanted = {FIRST, SECOND} & {request.path[-32:], *(text[-32:] for text in request.query.get("q", ()))}
        found = sorted(wanted or {FIRST, SECOND}, reverse=True) if is_created else []
        tasks = [{"uuid": uuid, "name": "nightly", "vmInstanceUuid": VM, "status": "Created"} for uuid in found]
        return StubResponse(200, {"inventories": tasks, "total": len(tasks)})

    with StubServer(answer) as service:
        options = {"base_url": service.url, "session_id": "the-session", "name": "nightly", "vm": VM}
        outcome = run_module("cbt_task", options)
    assert not outcome.result.get("failed"), outcome.result
    assert (outcome.result["changed"], outcome.result["cbt_task"]["uuid"]) == (True, FIRST)
    assert outcome.warnings == [
        (
            f"cbt task nightly: {FIRST} and {SECOND} exist, because another one was created at the same time, by"
            " another task, another run or a user. This task uses the first. Delete the one that is not needed, and"
            " run the tasks that create it one at a time."
        )
    ]


def test_record_in_the_reply_that_cannot_be_read() -> None:
    """The service shows another object with the name, so the reply may be the result of an earlier call."""

    def answer(request: StubRequest) -> StubResponse:
        if request.method == "POST":
            return StubResponse(200, {"inventory": {"uuid": FIRST, "name": "traps", "type": "SNMP"}})
        is_created = any(each.method == "POST" for each in service.requests)
        endpoints: list[dict[str, Any]] = [{"uuid": SECOND, "name": "traps", "type": "SNMP", "state": "Enabled"}]
        shown = endpoints if is_created and FIRST not in request.target else []
        return StubResponse(200, {"inventories": shown, "total": len(shown)})

    with StubServer(answer) as service:
        outcome = create_endpoint(service)
    assert (outcome.result["changed"], outcome.result["endpoint"]["uuid"]) == (True, SECOND)
    assert outcome.warnings == []


@pytest.mark.parametrize(("own", "other"), [(FIRST, SECOND), (SECOND, FIRST)])
def test_reply_names_one_of_two_objects(own: str, other: str) -> None:
    """The task uses the one that it has created, whatever the order of the uuids is."""

    def answer(request: StubRequest) -> StubResponse:
        if request.method == "POST":
            return StubResponse(200, {"inventory": {"uuid": own, "name": "traps", "type": "SNMP"}})
        is_created = any(each.method == "POST" for each in service.requests)
        wanted = {uuid for uuid in (FIRST, SECOND) if uuid in request.target} or {FIRST, SECOND}
        found = sorted(wanted) if is_created else []
        endpoints = [{"uuid": uuid, "name": "traps", "type": "SNMP", "state": "Enabled"} for uuid in found]
        return StubResponse(200, {"inventories": endpoints, "total": len(endpoints)})

    with StubServer(answer) as service:
        outcome = create_endpoint(service)
    assert (outcome.result["changed"], outcome.result["endpoint"]["uuid"]) == (True, own)
    (warning,) = outcome.warnings
    assert warning.startswith(f"endpoint traps: {own} and {other} exist, because another one was created")
