"""The module service_info: each problem of a connection with its remedy, found with reads only."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._http.connection import (
    ConnectionOptions,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._http.tls_state import read_tls_state

from simulator.launch import Simulator
from support.module_runner import ModuleRunner
from support.stub_server import StubResponse, StubServer
from support.tls import untrusted_context

NONE = {"session_id": None, "api_token": None}
ACCOUNT: dict[str, Any] = {"session_id": None, "account": "admin", "account_password": "simulator-password"}


@pytest.mark.parametrize("credentials", [{}, ACCOUNT, {"api_token": None}])
@pytest.mark.parametrize("check", [False, True])
def test_a_connection_that_works_has_no_problems(run: ModuleRunner, credentials: dict[str, Any], check: bool) -> None:
    ran = run("service_info", {}, check, **credentials)
    assert not ran.failed, ran.message
    assert not ran.changed
    assert set(ran.calls) <= {"LogInByAccount", "LogOut"}
    assert (ran["reached"], ran["credential_valid"], ran["problems"], ran["tls"]) == (True, True, [], None)
    assert ran["api_token_valid"] is (None if credentials.get("api_token", "") is None else True)
    assert ran["credential"] == ("account" if "account" in credentials else "session_id")
    assert (ran["least_version"], ran["missing_operations"]) == ("4.10.10", [])
    assert {"QueryHost", "QueryZone"} <= {*ran["offered_operations"]}


@pytest.mark.parametrize(
    ("connection", "subjects", "reached", "words"),
    [
        ({"session_id": "gone"}, ["credential"], True, "pass account and account_password"),
        ({"api_token": "gone"}, ["api_token"], True, "create a new one and pass it as api_token"),
        ({"session_id": "gone", "api_token": "gone"}, ["api_token", "credential"], True, "ID.1001"),
        ({**ACCOUNT, "account_password": "wrong"}, ["credential"], True, "Check account and account_password."),
        ({"path_prefix": "servic"}, ["path_prefix"], True, "Check path_prefix"),
        ({**ACCOUNT, "path_prefix": "servic"}, ["path_prefix"], True, "Check path_prefix"),
        (NONE, ["credential"], True, "VIRTINFRA_ACCOUNT_PASSWORD"),
        ({**NONE, "base_url": "http://127.0.0.1:1"}, ["connection", "credential"], False, "Check base_url"),
        ({"base_url": "http://127.0.0.1:1"}, ["connection"], False, "Check base_url"),
        ({**ACCOUNT, "base_url": "http://127.0.0.1:1", "api_token": None}, ["connection"], False, "Check base_url"),
    ],
)
def test_each_problem_has_its_remedy(
    run: ModuleRunner, connection: dict[str, Any], subjects: list[str], reached: bool, words: str
) -> None:
    failed = run("service_info", {}, **connection)
    diagnosed = run("service_info", {"fail_on_problems": False}, **connection)
    assert (failed.failed, diagnosed.failed, diagnosed.warnings) == (True, False, [])
    assert [problem["subject"] for problem in diagnosed["problems"]] == subjects
    assert words in failed.message
    assert words in " ".join(problem["msg"] for problem in diagnosed["problems"])
    assert (diagnosed["reached"], diagnosed["offered_operations"] is None) == (reached, subjects != ["api_token"])


def test_a_service_without_accounts_needs_another_credential(sim: Simulator, run: ModuleRunner) -> None:
    sim.reset(literal=True)
    ran = run("service_info", {"fail_on_problems": False}, **ACCOUNT)
    (problem,) = ran["problems"]
    assert problem["subject"] == "credential"
    assert problem["msg"].endswith(" Get a session in another way and pass it as session_id.")
    assert ran["reached"]


def test_missing_queries_are_listed(sim: Simulator, run: ModuleRunner) -> None:
    sim.configure(companions="404")
    ran = run("service_info", {})
    assert ran["problems"] == []
    assert "QueryHost" in ran["missing_operations"]
    assert "QueryCbtTask" in ran["offered_operations"]


def test_a_certificate_that_no_authority_confirms_has_no_names() -> None:
    with StubServer(lambda request: StubResponse(200), untrusted_context()) as service:
        state = read_tls_state(ConnectionOptions(service.url))
    assert state == {"version": "TLSv1.3", "certificate_names": None, "certificate_end": None}
