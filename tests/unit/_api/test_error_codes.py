"""The member ``error`` of failed results: stable codes and nested causes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._api import errors as exceptions
from ansible_collections.virtinfra.manager.plugins.module_utils._api.error_code import (
    MAX_CAUSES,
    MAX_DEPTH,
    is_error_code,
    list_error_codes,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._api.errors import (
    ApiError,
    LoginFailed,
    ResponseLost,
    VirtinfraError,
)
from hypothesis import given
from hypothesis import strategies as st

from simulator.launch import Simulator
from support.module_runner import ModuleRun, ModuleRunner
from support.stub_server import StubResponse, StubServer

NOWHERE = "f" * 32

# The only host of its cluster, so that its VM cannot migrate.
HOST_WITHOUT_NEIGHBOUR = "a0000003000040008000000000000002"
SSH = {"code": "SYS.1006", "description": "an operation failed", "details": "ssh: permission denied for root"}
DNS = {"code": "SYS.1007", "description": "an argument is wrong", "details": "web-1 cannot be resolved"}


def read_failure(run: ModuleRunner, error: dict[str, Any]) -> ModuleRun:
    """Return the failed result of a read whose response is this ErrorCode."""
    with StubServer(lambda request: StubResponse(503, {"error": error})) as service:
        ran = run("host_info", {}, base_url=service.url)
    assert ran.failed
    return ran


CONNECTION = {"code": "HOST.1003", "description": "connection error for KVM host", "details": "it failed"}


@pytest.mark.parametrize(
    ("below", "causes"),
    [
        ({}, []),
        ({"cause": None, "causes": None}, []),
        ({"cause": SSH}, [SSH]),
        ({"causes": [SSH]}, [SSH]),
        ({"cause": None, "causes": [SSH, DNS]}, [SSH, DNS]),
        ({"cause": SSH, "causes": [SSH]}, [SSH]),
        ({"cause": DNS, "causes": [SSH]}, [SSH, DNS]),
        ({"causes": ["text", 5, None, SSH]}, [{"code": "", "description": "", "details": "text"}, SSH]),
        ({"causes": SSH}, [SSH]),
    ],
)
def test_error_has_causes_in_both_forms_of_nesting(
    run: ModuleRunner, below: dict[str, Any], causes: list[dict[str, Any]]
) -> None:
    ran = read_failure(run, {**CONNECTION, **below})
    assert ran["error"] == {**CONNECTION, "causes": [{**cause, "causes": []} for cause in causes]}
    for cause in causes:
        assert cause["details"] in ran.message


def test_message_quotes_the_deepest_error_of_each_branch(run: ModuleRunner) -> None:
    middle = {"code": "HOST.1001", "details": "not in the message", "causes": [SSH, {"code": "SYS.1000", "cause": DNS}]}
    ran = read_failure(
        run, {"code": "SYS.1090", "description": "several reasons", "causes": [middle], "i18nDetails": "text"}
    )
    assert ran.message == (
        "QueryHost failed (SYS.1090, caused by SYS.1006, SYS.1007): several reasons:"
        " ssh: permission denied for root; web-1 cannot be resolved"
    )
    assert ran["error"]["i18nDetails"] == "text"
    assert ran["error"]["causes"][0]["causes"][1]["causes"][0]["details"] == DNS["details"]


def test_repeated_text_of_a_cause_is_quoted_once(run: ModuleRunner) -> None:
    outer = {"code": "HOST.1001", "description": "host error", "details": f"cannot connect, because {SSH['details']}"}
    ran = read_failure(run, {**outer, "causes": [SSH]})
    assert ran.message.count(SSH["details"]) == 1


@pytest.mark.parametrize("shape", ["wide", "deep", "both"])
def test_causes_are_bounded(run: ModuleRunner, shape: str) -> None:
    copies, depth = {"wide": (500, 1), "deep": (1, 40), "both": (3, 5)}[shape]
    error: dict[str, Any] = {"code": "SYS.1000", "details": "word " * 300}
    for dummy in range(depth):
        error = {"code": "SYS.1001", "details": "word " * 300, "causes": [error] * copies}
    ran = read_failure(run, error)
    assert len(ran.message) < 2500
    assert 20 < json.dumps(ran["error"]).count('"causes"') <= MAX_CAUSES + 1


texts = st.text("abcdefgh", min_size=1, max_size=8)
codes = st.integers(1000, 1009).map("SYS.{}".format)
leaves: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {"code": codes, "details": texts}, optional={"cause": st.none(), "causes": st.just([])}
)
errors: st.SearchStrategy[dict[str, Any]] = st.recursive(
    leaves,
    lambda below: st.fixed_dictionaries(
        {"code": codes, "details": texts}, optional={"cause": below, "causes": st.lists(below, max_size=3)}
    ),
    max_leaves=8,
)


def levels(error: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """Return a service's ErrorCode and its nested causes, one list per level."""
    found = [[error]]
    while below := [
        cause
        for each in found[-1]
        for cause in [
            *(each.get("causes") or []),
            *([each["cause"]] if each.get("cause") and each["cause"] not in (each.get("causes") or []) else []),
        ]
    ]:
        found.append(below)
    return found


@given(error=errors)
def test_no_nested_error_is_lost(error: dict[str, Any]) -> None:
    raised = ApiError("AddKVMHost", 503, error)
    nested = [each for level in levels(error)[: MAX_DEPTH + 1] for each in level]
    assert len(nested) <= MAX_CAUSES
    assert sorted(list_error_codes(raised.error)) == sorted(each["code"] for each in nested)
    assert "'cause'" not in str(raised.error)
    first = error
    while below := [*(first.get("causes") or []), *filter(None, [first.get("cause")])]:
        first = below[0]
    assert first["details"] in str(raised)


def test_truncated_text_ends_between_words(run: ModuleRunner) -> None:
    ran = read_failure(run, {"code": "SYS.1000", "details": "x " * 990 + "root:" + "p" * 300})
    assert "root:" not in ran.message
    assert ran.message.endswith(" ...")


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ({"code": "SYS.1000"}, True),
        ({"code": "VM.NIC.1000"}, True),
        ({"code": 503, "message": "no backend"}, False),
        ({"code": "503"}, False),
        ({"code": "SYS."}, False),
        ({"code": "not found"}, False),
        ({"code": None}, False),
        ({"details": "text"}, False),
        ({}, False),
        ("SYS.1000", False),
        (None, False),
    ],
)
def test_is_error_code(error: Any, expected: bool) -> None:
    assert is_error_code(error) is expected


@pytest.mark.parametrize(
    ("status", "body", "code"),
    [
        (502, b"<html>Bad gateway</html>", "UNREACHABLE"),
        (503, b"", "HTTP_503"),
        (429, b"Slow down", "HTTP_429"),
        (404, b"", "UNSUPPORTED"),
        (403, b"forbidden", "HTTP_403"),
        (200, b"<html>a page</html>", "UNREACHABLE"),
        (200, {"success": False}, "FAILED"),
        (200, {}, "UNSUPPORTED"),
        (200, {"error": {"code": "SYS.1000"}}, "SYS.1000"),
    ],
)
def test_code_of_a_read(run: ModuleRunner, status: int, body: Any, code: str) -> None:
    with StubServer(lambda request: StubResponse(status, body)) as service:
        ran = run("host_info", {}, base_url=service.url, request_retries=0, api_token=None)
    assert ran["error"]["code"] == code
    assert ran["error"].keys() == {"code", "description", "details", "causes"}


@pytest.mark.parametrize(
    ("module", "options", "code"),
    [
        ("kvm_host", {"name": ""}, "INVALID"),
        ("kvm_host", {"uuid": NOWHERE}, "NOT_FOUND"),
        ("kvm_host", {"name": "twin"}, "AMBIGUOUS"),
        ("kvm_host", {"name": "host-3", "cluster": "cluster-2"}, "UNCHANGEABLE"),
        ("kvm_host", {"uuid": HOST_WITHOUT_NEIGHBOUR, "state": "maintenance"}, "IN_USE"),
        ("cbt_task_info", {"session_id": None}, "UNSUPPORTED"),
        ("vm_nic", {"vm": NOWHERE, "l3_network": NOWHERE}, "NOT_FOUND"),
    ],
)
def test_code_of_a_call_that_is_not_sent(
    run: ModuleRunner, sim: Simulator, module: str, options: dict[str, Any], code: str
) -> None:
    for host in sim.records("host")[:2]:
        sim.change("host", host["uuid"], name="twin")
    for check in (True, False):
        ran = run(module, options, check)
        assert ran.calls == []
        assert ran["error"] == {**ran["error"], "code": code, "causes": []}
        assert ran["error"]["details"] in ran.message


def test_code_after_a_timeout(run: ModuleRunner, sim: Simulator) -> None:
    sim.configure(latency=60.0)
    ran = run("kvm_host", {"name": "host-1", "state": "disabled"}, wait_timeout=0.05)
    assert ran["error"]["code"] == "TIMEOUT"


@pytest.mark.parametrize("timeout", [0.0, 0.3])
def test_every_job_has_its_state_when_the_time_is_up(run: ModuleRunner, sim: Simulator, timeout: float) -> None:
    sim.fault("hang", "ChangeHostState")
    hanging, ended, other = (
        run("kvm_host", {"name": f"host-{number}", "state": "disabled"}, wait=False)["job"] for number in (1, 2, 3)
    )
    sim.advance()
    ran = run("job_wait", {"jobs": [hanging, ended, other]}, wait_timeout=timeout)
    assert [job["state"] for job in ran["jobs"]] == ["running", "succeeded", "succeeded"]
    assert ran.message == (
        f"ChangeHostState is still running after {timeout:g} s. Continue with job_wait, job {hanging['uuid']}."
    )


def test_single_job_is_not_counted(run: ModuleRunner) -> None:
    ran = run("job_wait", {"jobs": [{"uuid": NOWHERE}]})
    assert ran.message.startswith(f"the service does not know job {NOWHERE}, or no longer knows it. Check the id;")


@pytest.mark.parametrize("module", ["job_wait", "job_info"])
def test_jobs_have_the_error_of_a_failed_task(run: ModuleRunner, sim: Simulator, module: str) -> None:
    sim.fault("fail", "ChangeHostState", error={**CONNECTION, "cause": SSH})
    started = run("kvm_host", {"name": "host-1", "state": "disabled"}, wait=False)
    sim.advance()
    ran = run(module, {"jobs": [started["job"], {"uuid": NOWHERE}]})
    known, unknown = ran["jobs"]
    assert known["error"]["code"] == CONNECTION["code"]
    assert [cause["details"] for cause in known["error"]["causes"]] == [SSH["details"]]
    assert known["msg"].startswith("host host-1: ChangeHostState failed (HOST.1003")
    assert SSH["details"] in known["msg"]
    assert known["msg"].endswith("check its address, SSH port, login and firewall.")
    assert (unknown["error"]["code"], unknown["error"]["details"]) == ("JOB_NOT_FOUND", unknown["msg"])
    assert unknown["error"]["description"] == "The service does not know the job, or no longer knows it."
    if module == "job_wait":
        assert ran["error"] == known["error"]
        assert ran.message == f"2 of 2 jobs did not succeed: {known['msg']} {unknown['msg']}."


@pytest.mark.parametrize(
    ("module", "options", "hint"),
    [
        (
            "host_info",
            {},
            "log in again and pass the new one as session_id, or pass account and account_password.",
        ),
        (
            "resource_info",
            {"resource_type": "host", "sort": "name"},
            "The API token is invalid or has expired: create a new one and pass it as api_token.",
        ),
    ],
)
def test_hint_names_the_credential_that_was_used(
    run: ModuleRunner, module: str, options: dict[str, Any], hint: str
) -> None:
    ran = run(module, options, session_id="wrong", api_token="wrong")
    assert ran["error"]["code"] == "ID.1001"
    assert ran.message.endswith(hint)


def test_hint_without_an_error_code(run: ModuleRunner) -> None:
    with StubServer(lambda request: StubResponse(401, b"unauthorized")) as service:
        ran = run("resource_info", {"resource_type": "host", "sort": "name"}, base_url=service.url)
    assert ran["error"]["code"] == "HTTP_401"
    assert ran.message.endswith(
        "unauthorized. The API token is invalid or has expired: create a new one and pass it as api_token."
    )


def test_unreadable_object_is_not_reported_as_absent(run: ModuleRunner) -> None:
    ran = run("kvm_host", {"name": "host-3", "state": "disabled"}, session_id=None, api_token=None)
    assert ran["error"]["code"] == "UNSUPPORTED"
    assert "cannot check whether the object exists: QueryHost needs session_id" in ran.message
    assert "api_token for" not in ran.message
    assert ran.warnings == []
    ran = run("vm", {"name": "vm-1", "state": "stopped"}, session_id=None)
    assert "environment). The service accepts api_token for cursor queries only, which change nothing" in ran.message


ERRORS_GUIDE = Path(__file__).resolve().parents[3] / "docs" / "docsite" / "rst" / "guide_errors.rst"


def test_every_code_is_documented() -> None:
    def subclasses(kind: type[VirtinfraError]) -> set[type[VirtinfraError]]:
        return {kind}.union(*map(subclasses, kind.__subclasses__()))

    documented = set(re.findall(r"^   \* - ``([A-Z_]+)``$", ERRORS_GUIDE.read_text(encoding="utf-8"), re.M))
    assert documented == {kind.code for kind in subclasses(VirtinfraError) if isinstance(kind.code, str)}


def test_docstring_shows_the_tree_of_exceptions() -> None:
    """Each exception is below its base class, and has its code."""
    lines = re.findall(r"^( *)[*+-] (\w+) +(.+)$", str(exceptions.__doc__), re.MULTILINE)
    shown = {name: (len(indent) // 2, codes.split(", ")) for indent, name, codes in lines}
    defined: dict[str, type[VirtinfraError]] = {
        name: value
        for name, value in vars(exceptions).items()
        if isinstance(value, type) and issubclass(value, VirtinfraError)
    }
    assert shown.keys() == defined.keys()
    assert shown
    path: list[type] = [Exception]
    for name, (depth, codes) in shown.items():
        path = [*path[: depth + 1], defined[name]]
        assert defined[name].__bases__ == (path[-2],)
        is_code_of_another = name in ("SeveralFailed", "Overloaded", "ApiError", "LoginFailed")
        assert is_code_of_another or defined[name].code in codes, name


def test_a_failed_login_has_the_error_of_its_reason() -> None:
    refused = LoginFailed.from_error(ApiError("LogInByAccount", 400, {**SSH, "code": "ID.1000"}))
    assert (refused.code, refused.result["operation"], refused.result["status"]) == ("ID.1000", "LogInByAccount", 400)
    assert refused.error["details"] == SSH["details"]
    assert (refused.is_refusal, refused.is_final) == (True, True)


@pytest.mark.parametrize(("status", "code"), [(0, "UNREACHABLE"), (500, "UNREACHABLE"), (429, "HTTP_429")])
def test_a_login_whose_response_is_lost_is_not_an_unknown_outcome(status: int, code: str) -> None:
    lost = ResponseLost("no response")
    lost.status, lost.retry_after = status, 7.0
    failed = LoginFailed.from_error(lost)
    assert (failed.code, failed.error["code"]) == (code, code)
    assert failed.message.startswith("no response")
    assert ("overloaded" in failed.error["details"]) == (status == 429)
    assert "7" in failed.error["details"] or status != 429
    assert not failed.is_refusal
    assert not failed.is_final
