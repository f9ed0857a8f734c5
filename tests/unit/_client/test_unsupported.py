"""Operations that a service does not have: one decision and one error, for reads and writes."""

from __future__ import annotations

import re
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._api.errors import ApiError, ResponseLost, Unsupported
from ansible_collections.virtinfra.manager.plugins.module_utils._api.operations import OPERATIONS
from ansible_collections.virtinfra.manager.plugins.module_utils._client.client import Hooks
from ansible_collections.virtinfra.manager.plugins.module_utils._client.sessions import end_session
from ansible_collections.virtinfra.manager.plugins.module_utils._client.stores import MemoryStore
from ansible_collections.virtinfra.manager.plugins.module_utils._http.connection import ConnectionOptions
from ansible_collections.virtinfra.manager.plugins.module_utils._masking.masker import Masker
from conftest import ClientFactory, client_of, reply_to

from simulator.launch import Simulator
from support.fast_clock import with_fast_clock
from support.module_runner import ModuleRunner
from support.stub_server import StubRequest, StubResponse, StubServer, forward

HOST = "a0000003000040008000000000000001"
NIC = "a0000006000040008000000000000001"
SESSION = "5e55104a1b2c4d5e8f90a1b2c3d4e5f6"
ACCOUNT: dict[str, Any] = {"account": "admin", "account_password": "simulator-password", "session_id": None}
PLAIN = (("Content-Type", "text/plain;charset=UTF-8"),)

LACKING = [
    StubResponse(404),
    StubResponse(404, b"Not Found"),
    StubResponse(405, b"Method Not Allowed", PLAIN),
    StubResponse(500, b"No creational API found for the path[/service/v1/hosts]"),
    StubResponse(500, b"No query API found for the path[/service/v1/hosts]", PLAIN),
    StubResponse(400, b"the body doesn't contain action mapping to the URL[/service/v1/hosts]"),
]
OTHERS = [
    (StubResponse(404, {"error": {"code": "SYS.1003", "details": "no such host"}}), "SYS.1003"),
    (StubResponse(503, {"error": {"code": "SYS.1000", "details": "No query API found for the path[/]"}}), "SYS.1000"),
    (StubResponse(400, b"invalid field[No query API found for the path]"), "HTTP_400"),
    (StubResponse(500, b"Internal Server Error"), "HTTP_500"),
    (StubResponse(403), "HTTP_403"),
]
# Responses of a proxy or gateway, which prove nothing about the service.
FOREIGN = [
    StubResponse(404, b"<html>no such page</html>"),
    StubResponse(404, b"no such page", (("Content-Type", "text/html"),)),
    StubResponse(404, {"message": "no Route matched with those values"}),
    StubResponse(500, b"<html>No query API found for the path</html>"),
]
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("QueryHost", {}),
    ("QueryCbtTask", {}),
    ("CursorQuery", {"resourceType": "host"}),
    ("GetNicQos", {"nicUuid": NIC}),
    ("ValidateSession", {"sessionUuid": SESSION}),
    ("ChangeHostState", {"uuid": HOST, "stateEvent": "disable"}),
    ("CreateSNSSnmpEndpoint", {"name": "snmp-1"}),
    ("DeleteCbtTask", {"uuid": HOST}),
    ("LogInByAccount", {"accountName": "admin", "password": "x" * 128}),
    ("LogOut", {"sessionUuid": SESSION}),
]


@pytest.mark.parametrize("response", LACKING)
@pytest.mark.parametrize(("name", "params"), CALLS)
def test_unsupported_operation_has_one_error(name: str, params: dict[str, Any], response: StubResponse) -> None:
    with StubServer(lambda request: response) as service, pytest.raises(Unsupported) as caught:
        reply_to(client_of(service), name, params)
    assert len(service.requests) == 1
    row = OPERATIONS[name]
    path = row.path if row.credential == "token" else f"/service/v1/{row.path}"
    version = f", which needs version {row.since} or newer" if row.since > "1" else ""
    doubt, remedy = "", "the version and edition of the service"
    if response.status in (404, 405) and row.credential != "token":
        doubt, remedy = ", or path_prefix is wrong", "path_prefix"
    assert caught.value.message == (
        f"the service does not offer {name}{version}{doubt} (HTTP status {response.status} for {row.method} {path})."
        f" Check {remedy}."
    )
    assert caught.value.error["code"] == "UNSUPPORTED"
    assert caught.value.result == {"operation": name, "status": response.status}
    assert SESSION not in caught.value.message


@pytest.mark.parametrize(("response", "code"), OTHERS)
@pytest.mark.parametrize(("name", "params"), CALLS)
def test_other_refusals_are_not_unsupported(
    name: str, params: dict[str, Any], response: StubResponse, code: str
) -> None:
    with StubServer(lambda request: response) as service, pytest.raises(ApiError) as caught:
        reply_to(client_of(service), name, params)
    assert caught.value.error["code"] == code


@pytest.mark.parametrize("response", FOREIGN)
def test_answer_of_a_proxy_is_not_unsupported(response: StubResponse) -> None:
    with StubServer(lambda request: response) as service:
        with pytest.raises(ApiError) as caught:
            client_of(service).get("QueryHost", {})
        assert caught.value.error["code"] == f"HTTP_{response.status}"
        with pytest.raises(ResponseLost):
            client_of(service).start_job("DeleteCbtTask", {"uuid": HOST})


@pytest.mark.parametrize("response", LACKING)
@pytest.mark.parametrize(
    ("module", "options", "operation"),
    [
        ("kvm_host", {"name": "host-1", "state": "disabled"}, "ChangeHostState"),
        ("vm_nic_qos", {"uuid": NIC, "direction": "in"}, "DeleteNicQos"),
        ("api", {"operation": "ChangeHostState", "params": {"uuid": HOST, "stateEvent": "disable"}}, "ChangeHostState"),
        ("sns_snmp_test", {"platform": HOST}, "SNSSnmpTestConnection"),
    ],
)
@pytest.mark.parametrize("wait", [True, False])
def test_unsupported_write_changes_nothing(
    sim: Simulator,
    run: ModuleRunner,
    module: str,
    options: dict[str, Any],
    operation: str,
    response: StubResponse,
    wait: bool,
) -> None:
    sent: list[StubRequest] = []

    def answer(request: StubRequest) -> StubResponse:
        sent.append(request)
        return forward(sim.port, request) if request.method == "GET" else response

    with StubServer(answer) as service:
        ran = run(module, options, base_url=service.url, wait=wait)
    assert (ran.failed, ran.changed, ran["error"]["code"]) == (True, False, "UNSUPPORTED")
    assert (ran["operation"], ran["status"]) == (operation, response.status)
    assert f"the service does not offer {operation}" in ran.message
    assert f" (HTTP status {response.status} for " in ran.message
    # The task does not read the object afterwards, because the service has not performed the call. It only polls its
    # own job, because a proxy may have confused responses, and one read shows whether the path prefix is right.
    (number,) = (number for number, request in enumerate(sent) if request.method != "GET")
    later = [request.path for request in sent[number + 1 :] if "/v1/primary-storage" not in request.path]
    assert {path.rpartition("/")[0] for path in later} <= {"/service/v1/api-jobs"}


def test_unsupported_second_call_keeps_the_first(sim: Simulator, run: ModuleRunner) -> None:
    def answer(request: StubRequest) -> StubResponse:
        return StubResponse(404) if "/enable/" in request.path else forward(sim.port, request)

    with StubServer(answer) as service:
        options = {"name": "new", "vm": "vm-3", "state": "enabled"}
        ran = run("cbt_task", options, base_url=service.url)
    assert (ran["error"]["code"], ran.changed, ran["done"]) == ("UNSUPPORTED", True, ["CreateCbtTask"])


def test_unsupported_after_a_lost_response_leaves_the_outcome_unknown(sim: Simulator, run: ModuleRunner) -> None:
    answers = iter((StubResponse(502, b"<html>bad gateway</html>"), StubResponse(404)))

    def answer(request: StubRequest) -> StubResponse:
        return forward(sim.port, request) if request.method == "GET" else next(answers)

    params = {"uuid": HOST, "stateEvent": "disable"}
    with StubServer(answer) as service, with_fast_clock():
        ran = run("api", {"operation": "ChangeHostState", "params": params}, base_url=service.url, request_retries=0)
    assert (ran["error"]["code"], ran.changed) == ("OUTCOME_UNKNOWN", True)


def test_wrong_path_prefix_changes_nothing(sim: Simulator, run: ModuleRunner) -> None:
    ran = run("kvm_host", {"uuid": HOST, "state": "disabled"}, path_prefix="elsewhere", api_token=None)
    assert (ran["error"]["code"], ran.changed, sim.log()) == ("UNSUPPORTED", False, ran.log)
    assert ran.message.startswith("path_prefix 'elsewhere' is wrong, because the service has nothing below it (")


@pytest.mark.parametrize("api_token", ["simulator-token", None])
@pytest.mark.parametrize(
    ("module", "options"),
    [
        ("kvm_host", {"name": "host-1", "state": "disabled"}),
        ("vm_nic", {"vm": "vm-1", "l3_network": "l3-1", "state": "absent"}),
        ("api", {"operation": "ChangeHostState", "params": {"uuid": HOST, "stateEvent": "disable"}}),
    ],
)
def test_a_wrong_path_prefix_is_the_only_reason(
    run: ModuleRunner, module: str, options: dict[str, Any], api_token: str | None
) -> None:
    """Another remedy, such as a uuid in place of a name, would not help."""
    ran = run(module, options, path_prefix="elsewhere", api_token=api_token)
    assert re.fullmatch(
        r"path_prefix 'elsewhere' is wrong, because the service has nothing below it \(HTTP status 404 for \w+"
        r" /elsewhere/v1/[^ ]+\)\. Check path_prefix\.",
        ran.message,
    )


@pytest.mark.parametrize(
    "credentials",
    [
        {"session_id": "simulator-session"},
        {"account": "admin", "account_password": "simulator-password"},
        {"access_key_id": "simulator-key-id", "access_key_secret": "simulator-key-secret"},
        {},
    ],
)
@pytest.mark.parametrize("module", ["host_info", "service_info", "kvm_host"])
def test_no_service_sees_a_session_that_it_did_not_create(
    sim: Simulator, run: ModuleRunner, credentials: dict[str, str], module: str
) -> None:
    """A service would count such a session as a failed login."""
    sent: list[StubRequest] = []

    def answer(request: StubRequest) -> StubResponse:
        sent.append(request)
        return forward(sim.port, request)

    options = {"name": "host-1", "state": "disabled"} if module == "kvm_host" else {}
    with StubServer(answer) as service:
        connection: dict[str, Any] = {"session_id": None, "api_token": None, **credentials, "base_url": service.url}
        run(module, options, path_prefix="elsewhere", **connection)
    created = credentials.get("session_id", "")
    seen = {request.headers.get("Authorization", "") for request in sent}
    assert {text for text in seen if text.startswith("OAuth")} <= {f"OAuth {created}"}
    assert not any("sessions" in request.path for request in sent)


def test_a_right_path_prefix_is_not_blamed_alone(sim: Simulator, run: ModuleRunner) -> None:
    sim.configure(missing_operations=["QueryHost"])
    ran = run("kvm_host", {"name": "host-1", "state": "disabled"}, api_token=None)
    assert "the service does not offer QueryHost" in ran.message
    assert "Give uuid" in ran.message


def test_a_cursor_query_with_a_wrong_path_prefix_is_announced_once(sim: Simulator) -> None:
    store = MemoryStore(ConnectionOptions(sim.url))
    run = ModuleRunner(sim, new_store=lambda connection: store)
    assert run("host_info", {"query": ["state=Enabled"]}).warnings == []
    first, second = (run("host_info", {}, path_prefix="servic") for dummy in range(2))
    assert (len(first["hosts"]), len(second["hosts"])) == (3, 3)
    (warning,) = first.warnings
    assert warning == (
        "the service does not offer QueryHost, or path_prefix is wrong (HTTP status 404 for GET /servic/v1/hosts), so a"
        " cursor query was used instead. Check path_prefix."
    )
    assert second.warnings == []


def test_path_prefix_is_right_if_an_operation_was_found(sim: Simulator, run: ModuleRunner) -> None:
    def answer(request: StubRequest) -> StubResponse:
        return StubResponse(404) if "/enable/" in request.path else forward(sim.port, request)

    with StubServer(answer) as service:
        ran = run("cbt_task", {"name": "new", "vm": "vm-3", "state": "enabled"}, base_url=service.url)
    assert "does not offer EnableCbtTask, which needs version 4.10.10 or newer (HTTP status 404" in ran.message
    assert ran.message.endswith("). Check the version and edition of the service.")
    assert "path_prefix" not in ran.message


@pytest.mark.parametrize("status", ["404", "405", "500"])
def test_fallbacks_of_unsupported_reads_remain(sim: Simulator, run: ModuleRunner, status: str) -> None:
    sim.configure(companions=status)
    assert run("host_info", {})["total"] == 3
    assert run("resource_info", {"resource_type": "vm"})["total"] > 0
    assert run("kvm_host", {"name": "host-1", "state": "disabled"}).changed
    assert run("sns_endpoint_info", {}).warnings


def test_unsupported_login_asks_for_a_session(run: ModuleRunner) -> None:
    with StubServer(lambda request: StubResponse(500, b"No creational API found for the path[/]")) as service:
        ran = run("session", {}, base_url=service.url, **ACCOUNT)
    assert ran["error"]["code"] == "UNSUPPORTED"
    assert "(HTTP status 500 for PUT /service/v1/accounts/login). Get a session in another way" in ran.message


def test_login_refused_with_an_error_is_not_unsupported(run: ModuleRunner) -> None:
    error = {"error": {"code": "SYS.1003", "details": "no such account"}}
    with StubServer(lambda request: StubResponse(404, error)) as service:
        ran = run("session", {}, base_url=service.url, **ACCOUNT)
    assert ran["error"]["code"] == "SYS.1003"


def test_unknown_job_is_not_unsupported(sim: Simulator, run: ModuleRunner) -> None:
    ran = run("api", {"operation": "GetApiJob", "params": {"uuid": HOST}})
    assert (ran["error"]["code"], ran.changed) == ("JOB_NOT_FOUND", False)


def test_unsupported_logout_is_silent(new_client: ClientFactory) -> None:
    with StubServer(lambda request: StubResponse(404)) as service:
        end_session(ConnectionOptions(base_url=service.url), SESSION, Hooks(Masker()))
    assert [request.method for request in service.requests] == ["DELETE"]


def test_removal_of_a_nic_that_is_answered_as_its_read_is_unsupported(sim: Simulator, run: ModuleRunner) -> None:
    sim.reset(missing_operations=["DetachL3NetworkFromVm"], single_inventory=True)
    ran = run("vm_nic", {"uuid": "a0000006000040008000000000000001", "state": "absent"})
    assert (ran["error"]["code"], ran.changed) == ("UNSUPPORTED", False), ran.message
    assert "the service does not offer DetachL3NetworkFromVm" in ran.message
