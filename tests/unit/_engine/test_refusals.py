"""What the refusal of a call means: a failure, or that another run, task or user made the same call before."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._api.errors import (
    ApiError,
    TransportError,
    Unsupported,
    VirtinfraError,
    is_account_refused,
    is_forbidden,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._engine.calls import (
    can_answer_second_delivery,
    is_refused_as_duplicate,
    is_refused_tag,
    is_removed_by_another,
    warn_of_second_delivery,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._engine.current import (
    Current,
    Found,
    Missing,
    Unreadable,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._engine.spec import PlannedCall
from ansible_collections.virtinfra.manager.plugins.module_utils._modules.run import ModuleResult

from simulator.launch import Simulator
from support.module_runner import run_module
from support.scenarios import HOST, NEW_HOST, VM

UUID = "a" * 32
TAG = PlannedCall("CreateUserTag", {"tag": "a"}, {"uuid": UUID})
PAUSE = PlannedCall("PauseVmInstance", {"uuid": UUID}, {"uuid": UUID, "state": "Paused"})
DELETION = PlannedCall("DeleteCbtTask", {"uuid": UUID}, None)


def refuse(code: str, status: int = 200, is_of_own_job: bool = False, **cause: Any) -> ApiError:
    """Return a refusal by the service."""
    error = ApiError("Operation", status, {"code": code, "description": "refused", **cause})
    error.is_of_own_job = is_of_own_job
    return error


@pytest.mark.parametrize(
    ("error", "refuses_account", "forbids"),
    [
        *((refuse(code), True, True) for code in ("ID.1002", "SYS.1018", "SYS.1019")),
        *((refuse(code), True, False) for code in ("ID.1001", "ID.1003", "LOGIN_CONTROL.1002")),
        (refuse("SYS.1006"), False, False),
        (refuse("SYS.1006", 401), True, False),
        (refuse("SYS.1006", 403), True, True),
        (refuse("SYS.1006", 404), False, False),
        (refuse("VALID.1"), False, False),
        (TransportError("no answer"), False, False),
    ],
)
def test_refusal_because_of_the_account(error: VirtinfraError, refuses_account: bool, forbids: bool) -> None:
    assert (is_account_refused(error), is_forbidden(error)) == (refuses_account, forbids)


def test_error_of_the_own_job_is_no_response_to_a_second_delivery() -> None:
    assert can_answer_second_delivery(refuse("SYS.1006"))
    assert not can_answer_second_delivery(refuse("SYS.1006", is_of_own_job=True))
    assert not can_answer_second_delivery(TransportError("no answer"))


def test_codes_of_a_second_call_are_those_of_the_operation() -> None:
    """The code may be that of a cause. A call with force does not fail because of an earlier call."""
    assert is_refused_as_duplicate(PAUSE, refuse("VM.1010"))
    assert is_refused_as_duplicate(PAUSE, refuse("SYS.1000", cause={"code": "VM.1010", "description": "paused"}))
    assert not is_refused_as_duplicate(PAUSE, refuse("SYS.1006"))
    assert not is_refused_as_duplicate(PAUSE._replace(params={"force": True}), refuse("VM.1010"))
    assert is_refused_as_duplicate(PAUSE._replace(params={"force": False}), refuse("VM.1010"))


def test_only_the_call_that_adds_a_tag_is_refused_because_of_it() -> None:
    recovery = PAUSE._replace(operation="RecoverVmInstance")
    assert is_refused_as_duplicate(recovery, refuse("SYS.1006"))
    assert not is_refused_tag(recovery, refuse("SYS.1006"))
    assert is_refused_tag(TAG, refuse("SYS.1006"))
    assert not is_refused_tag(TAG, refuse("ID.1002"))


@pytest.mark.parametrize(
    ("call", "current", "code", "is_removed"),
    [
        (DELETION, Missing(), "SYS.1003", True),
        (DELETION, Missing(), "SYS.1006", False),
        (DELETION, Found({"uuid": UUID}), "SYS.1003", False),
        (DELETION, Unreadable(Unsupported("no query"), None), "SYS.1003", False),
        (PAUSE, Missing(), "SYS.1003", False),
    ],
)
def test_refused_removal(call: PlannedCall, current: Current, code: str, is_removed: bool) -> None:
    assert is_removed_by_another(call, current, refuse(code)) is is_removed


def test_second_delivery_is_only_a_possibility_for_a_code_of_a_second_call() -> None:
    assert warn_of_second_delivery(PAUSE, "vm web", refuse("VM.1010")).startswith(
        "vm web: PauseVmInstance may have been performed. If a proxy delivered the call twice,"
    )
    assert warn_of_second_delivery(PAUSE, "vm web", refuse("ID.1002")) == ""
    assert warn_of_second_delivery(PAUSE, "vm web", refuse("VM.1010", is_of_own_job=True)) == ""


# ----------------------------------------------------------------------- what the service shows after a refused call


def play(
    sim: Simulator, module: str, options: Mapping[str, Any], after: str, meanwhile: Callable[[], Any]
) -> ModuleResult:
    """Run a module; ``meanwhile`` happens once in the service, as soon as the operation ``after`` was called."""
    pending = [meanwhile]

    def happen() -> None:
        if pending and any(entry["operation"] == after for entry in sim.log()):
            pending.pop()()

    sim.clear_log()
    connection = {"base_url": sim.url, "session_id": sim.session, "api_token": sim.token}
    ran = run_module(module, {**connection, **options}, before_send=happen)
    assert not pending
    return ran


@pytest.mark.parametrize(
    ("values", "changed", "state"),
    [
        ({"state": "Stopped", "hostUuid": None}, True, "Stopped"),
        ({"description": "new"}, False, "Running"),
        ({}, False, "Running"),
    ],
)
def test_failed_removal_that_stopped_the_object_is_a_change(
    sim: Simulator, values: Mapping[str, Any], changed: bool, state: str
) -> None:
    sim.fault("fail", "DestroyVmInstance")
    options = {"uuid": VM, "state": "absent"}
    ran = play(sim, "vm", options, "DestroyVmInstance", lambda: sim.change("vm", VM, **values))
    assert ran.result["msg"] == (
        f"vm {VM}: DestroyVmInstance failed (SYS.1006): The operation failed: the operation failed on demand. The vm"
        f" still exists: state {state}."
    )
    assert ran.result["changed"] is changed


@pytest.mark.parametrize(
    ("values", "changed"), [({"name": "new"}, True), ({"name": "another"}, True), ({"cpuSockets": 7}, False)]
)
def test_failed_change_that_made_a_part_of_it_is_a_change(
    sim: Simulator, values: Mapping[str, Any], changed: bool
) -> None:
    sim.fault("fail", "UpdateHost")
    options = {"uuid": HOST, "name": "new", "description": "new"}
    ran = play(sim, "kvm_host", options, "UpdateHost", lambda: sim.change("host", HOST, **values))
    assert ran.result["msg"] == (
        "host new: UpdateHost failed (SYS.1006): The operation failed: the operation failed on demand"
    )
    assert ran.result["changed"] is changed


def test_failed_read_after_a_refusal_is_part_of_the_message(sim: Simulator) -> None:
    """The error of the call remains the failure of the task."""
    sim.fault("fail", "DestroyVmInstance")
    options = {"uuid": VM, "state": "absent"}
    ran = play(
        sim,
        "vm",
        options,
        "DestroyVmInstance",
        lambda: sim.fault("status", "QueryVmInstance", status=403, form="plain"),
    )
    assert ran.result["msg"].startswith(
        f"vm {VM}: DestroyVmInstance failed (SYS.1006): The operation failed: the operation failed on demand. The vm"
        " could not be checked after the call: QueryVmInstance"
    )
    assert ran.result["changed"] is False


def test_failed_creation_that_left_the_object_is_a_change(sim: Simulator) -> None:
    sim.fault("fail", "AddKVMHost")
    other = {"base_url": sim.url, "session_id": sim.session, **NEW_HOST}
    ran = play(sim, "kvm_host", NEW_HOST, "AddKVMHost", lambda: run_module("kvm_host", other))
    assert ran.result["msg"].startswith("host host-91: AddKVMHost failed (SYS.1006)")
    assert ran.result["changed"] is True


@pytest.mark.parametrize("name", ["host-91", "another"])
@pytest.mark.parametrize("job_uuid", ["honour", "ignore"])
def test_object_that_another_run_has_created_is_used(sim: Simulator, job_uuid: str, name: str) -> None:
    """Without job ids, a host with the same values may also be that of a second delivery of the call."""
    sim.reset(job_uuid=job_uuid)
    other = {"base_url": sim.url, "session_id": sim.session, **NEW_HOST, "name": name}
    ran = play(sim, "kvm_host", NEW_HOST, "QueryHost", lambda: run_module("kvm_host", other))
    assert not ran.result.get("failed"), ran.result
    assert ran.result["host"]["name"] == "host-91"
    may_be_own = job_uuid == "ignore" and name == "host-91"
    assert ran.result["changed"] is (may_be_own or name == "another")
    assert any("is in the requested state" in warning for warning in ran.warnings) is may_be_own
    assert len([host for host in sim.records("host") if host["managementIp"] == NEW_HOST["management_ip"]]) == 1
