"""Records in the reply of a write whose operation returns none: the service ignored the verb and answered a read."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._api.errors import ResponseLost
from ansible_collections.virtinfra.manager.plugins.module_utils._api.operations import OPERATIONS
from conftest import client_of

from simulator.description import operations
from simulator.launch import Simulator
from support.fast_clock import with_fast_clock
from support.module_runner import ModuleRunner
from support.stub_server import StubRequest, StubResponse, StubServer, forward

UUID = "a0000003000040008000000000000001"
# The writes that return no record. The result of SNSSnmpTestConnection is in other members.
WITHOUT_RECORDS = [
    name
    for name, row in OPERATIONS.items()
    if row.is_write and not {"inventory", "inventories"} & {*row.result} and name != "SNSSnmpTestConnection"
]
REPLIES: list[dict[str, Any]] = [
    {"inventories": []},
    {"inventories": [{"uuid": UUID, "name": "nightly"}]},
    {"inventory": {"uuid": UUID}},
    {"inventory": {}},
    {"success": True, "inventories": [{"uuid": UUID}]},
]


def required_params(name: str) -> dict[str, Any]:
    """Return a value for each parameter that the description of an operation requires."""
    required = [parameter for parameter in operations()[name].parameters.values() if parameter.required]
    return {
        parameter.name: next(iter(parameter.choices), [UUID] if parameter.type == "list" else UUID)
        for parameter in required
    }


@pytest.mark.parametrize("reply", REPLIES)
@pytest.mark.parametrize("name", WITHOUT_RECORDS)
def test_undeclared_records_are_no_result(name: str, reply: dict[str, Any]) -> None:
    assert not OPERATIONS[name].is_reply(reply)
    with StubServer(lambda request: StubResponse(200, reply)) as service, pytest.raises(ResponseLost):
        client_of(service).start_job(name, required_params(name))


@pytest.mark.parametrize(
    ("module", "options"),
    [
        ("cbt_task", {"name": "nightly", "state": "absent"}),
        ("vm_nic_qos", {"uuid": "a0000006000040008000000000000001", "direction": "in"}),
        ("api", {"operation": "DeleteCbtTask", "params": {"uuid": UUID}}),
        ("session", {"session_id": UUID, "state": "absent"}),
    ],
)
def test_delete_answered_like_a_read_is_no_deletion(sim: Simulator, module: str, options: dict[str, Any]) -> None:
    def answer(request: StubRequest) -> StubResponse:
        if request.method == "DELETE":
            return StubResponse(200, {"inventories": [{"uuid": UUID, "name": "nightly"}]})
        return StubResponse(404) if request.path.endswith("/valid") else forward(sim.port, request)

    run = ModuleRunner(sim)
    vm = sim.records("vm")[0]["uuid"]
    assert run("cbt_task", {"name": "nightly", "vm": vm}).changed
    with StubServer(answer) as service, with_fast_clock():
        ran = run(module, options, base_url=service.url, request_timeout=1)
    assert (ran.failed, ran["error"]["code"], ran.changed) == (True, "OUTCOME_UNKNOWN", True)
    assert [task["name"] for task in sim.records("cbttask")] == ["nightly"]
