"""Sessions: logging in when a call needs it, a new login when the session has expired, and logging out."""

from __future__ import annotations

import json
import os
import re
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import ansible.constants
import pytest
from ansible.errors import AnsibleError
from ansible.plugins.loader import lookup_loader
from ansible_collections.virtinfra.manager.plugins.module_utils._api.errors import LoginFailed, VirtinfraError
from ansible_collections.virtinfra.manager.plugins.module_utils._client.client import Hooks
from ansible_collections.virtinfra.manager.plugins.module_utils._client.sessions import (
    AccountSession,
    end_session,
    hash_password,
    log_in,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._client.waiting import wait_for_job
from ansible_collections.virtinfra.manager.plugins.module_utils._engine.calls import Call, perform
from ansible_collections.virtinfra.manager.plugins.module_utils._engine.spec import PlannedCall
from ansible_collections.virtinfra.manager.plugins.module_utils._http.connection import ConnectionOptions
from ansible_collections.virtinfra.manager.plugins.module_utils._masking.masker import Masker
from ansible_collections.virtinfra.manager.plugins.plugin_utils._run import files
from ansible_collections.virtinfra.manager.plugins.plugin_utils._run.sessions import FileStore, log_out_all
from conftest import FakeClock

from simulator.launch import Simulator
from support.clients import make_client
from support.fast_clock import with_fast_clock
from support.inventory_sources import Source
from support.module_runner import ModuleRunner, run_module
from support.scenarios import CREATED_TASK, HOST, NEW_HOST, STOPPED_VM, VOLUME
from support.stub_server import StubRequest, StubResponse, StubServer, forward

NO_ACCOUNT: dict[str, Any] = {"account": None, "account_password": None}
ACCOUNT: dict[str, Any] = {"account": "admin", "account_password": "simulator-password", "session_id": None}
ACTION = {"vm_instance_uuid": STOPPED_VM, "volume_uuids": [VOLUME]}


def operations(log: list[dict[str, Any]]) -> list[str]:
    """Return the operations of a log."""
    return [entry["operation"] for entry in log]


def test_a_module_logs_in_and_out(sim: Simulator, run: ModuleRunner) -> None:
    ran = run("host_info", {}, check=True, **ACCOUNT)
    assert operations(ran.log) == ["LogInByAccount", "QueryHost", "LogOut"]
    assert ran["total"] == 3
    assert sim.sessions() == {"live": 0, "logins": 1, "failed_logins": 0, "logouts": 1}


def test_a_session_takes_precedence_over_an_account(sim: Simulator, run: ModuleRunner) -> None:
    assert operations(run("host_info", {}, **{**ACCOUNT, "session_id": sim.session}).log) == ["QueryHost"]


def test_an_operation_by_token_needs_no_login(run: ModuleRunner) -> None:
    assert operations(run("host_info", {"filters": ["state=Enabled"]}, **ACCOUNT).log) == ["CursorQuery"]


@pytest.mark.parametrize(
    ("module", "options", "operation"),
    [
        ("host_info", {}, "QueryHost"),
        ("kvm_host", NEW_HOST, "AddKVMHost"),
        (
            "api",
            {"operation": "DeleteCbtTask", "params": {"uuid": CREATED_TASK}, "job_uuid": "c" * 32},
            "DeleteCbtTask",
        ),
    ],
)
@pytest.mark.parametrize("sync", [False, True])
def test_a_call_with_an_expired_session_is_repeated_once(
    sim: Simulator, run: ModuleRunner, module: str, options: dict[str, Any], operation: str, sync: bool
) -> None:
    sim.reset(cbt_tasks=1, latency=0.0, sync=sync)
    sim.fault("session_expiry", operation)
    ran = run(module, options, **ACCOUNT)
    assert not ran.failed, ran.message
    assert operations(ran.log).count(operation) == 2
    assert sim.sessions() == {"live": 0, "logins": 2, "failed_logins": 0, "logouts": 1}


@pytest.mark.parametrize(("module", "options"), [("host_info", {}), ("kvm_host", {"uuid": HOST, "state": "disabled"})])
def test_a_service_that_refuses_every_session_ends_the_task(
    sim: Simulator, run: ModuleRunner, module: str, options: dict[str, Any]
) -> None:
    sim.configure(session_lifetime=0.0)
    ran = run(module, options, **ACCOUNT)
    assert ran.failed
    assert "(ID.1001): " in ran.message
    assert "The session is invalid or has expired: the service also refused the session of a new login." in ran.message
    assert sim.sessions()["logins"] == 2


def test_a_session_that_expires_before_a_call_is_sent_again(sim: Simulator, run: ModuleRunner) -> None:
    """The response to the call was lost, and the second attempt needs a new session and a new job."""
    sim.reset(cbt_tasks=1)
    sim.fault("drop_before", "EnableCbtTask")
    sim.fault("session_expiry", "EnableCbtTask", skip=1)
    ran = run("cbt_task", {"uuid": CREATED_TASK, "state": "enabled"}, **ACCOUNT)
    assert not ran.failed, ran.message
    assert (ran.changed, ran["cbt_task"]["status"]) == (True, "Running")
    jobs = [entry["headers"]["x-job-uuid"] for entry in ran.log if entry["operation"] == "EnableCbtTask"]
    assert jobs[0] == jobs[1] != jobs[2]
    assert operations(ran.log).count("LogInByAccount") == 2


def test_a_given_session_that_has_expired_is_not_repeated(sim: Simulator, run: ModuleRunner) -> None:
    sim.configure(session_expired=True)
    ran = run("host_info", {})
    assert "log in again and pass the new one as session_id, or pass account and account_password" in ran.message
    assert operations(ran.log) == ["QueryHost"]
    both = run("host_info", {}, account="admin", account_password="simulator-password")
    assert "it takes precedence over account. Remove session_id, also from the environment, to log in" in both.message


def test_the_session_of_an_account_is_checked_before_a_call_that_is_not_waited_for(
    sim: Simulator, connection: ConnectionOptions, folder: Path
) -> None:
    open_shared_session(connection).get_session()
    sim.end_sessions()
    planned = PlannedCall("ExportNbdVolumes", {"vmInstanceUuid": STOPPED_VM, "volumeUuids": [VOLUME]}, None)
    with open_shared_session(connection) as sessions, make_client(connection, sessions=sessions) as client:
        call = Call(client, planned, "", wait=False, deadline=client.wait.compute_deadline())
        job = perform(call, lambda: None).job
        sim.advance()
        assert wait_for_job(client, job)
    assert operations(sim.log()) == [
        *("LogInByAccount", "ValidateSession", "LogOut", "LogInByAccount", "ExportNbdVolumes", "poll")
    ]


def test_a_job_that_was_started_with_an_expired_session(sim: Simulator, run: ModuleRunner) -> None:
    params = {"vmInstanceUuid": STOPPED_VM, "volumeUuids": [VOLUME]}
    ran = run("api", {"operation": "ExportNbdVolumes", "params": params}, session_id="long-gone", wait=False)
    assert ran.changed
    waited = run("job_wait", {"jobs": [ran["job"]]})
    assert waited.message.endswith(
        "The session of the task that started it is invalid or has expired: the service did not perform the call. Run"
        " that task again, with a new session_id or with account and account_password."
    )


def test_a_refused_login_changes_nothing(run: ModuleRunner) -> None:
    ran = run("session", {**ACCOUNT, "account_password": "wrong", "session_id": None})
    assert ran.failed
    assert not ran.changed


def test_a_wrong_password(sim: Simulator, run: ModuleRunner) -> None:
    ran = run("host_info", {}, **{**ACCOUNT, "account_password": "wrong"})
    assert ran.message == (
        "account admin: LogInByAccount failed (ID.1000): The account name or the password is ********: ******** account"
        " name or password. Check account and account_password."
    )
    assert ran["error"]["code"] == "ID.1000"
    assert sim.sessions()["failed_logins"] == 1


@pytest.mark.parametrize("status", [404, 405])
@pytest.mark.parametrize("is_prefix_right", [True, False])
def test_a_missing_login_has_one_remedy(
    sim: Simulator, run: ModuleRunner, folder: Path, status: int, is_prefix_right: bool
) -> None:
    doubt = "" if is_prefix_right else ", or path_prefix is wrong"
    remedy = "Get a session in another way and pass it as session_id." if is_prefix_right else "Check path_prefix."
    sentence = (
        f"the service does not offer LogInByAccount{doubt} (HTTP status {status} for PUT /service/v1/accounts/login)."
        f" {remedy}"
    )

    def answer(request: StubRequest) -> StubResponse:
        is_offered = is_prefix_right and not request.path.endswith("/login")
        return forward(sim.port, request) if is_offered else StubResponse(status)

    with StubServer(answer) as service:
        account: dict[str, Any] = {
            "base_url": service.url,
            "account": "admin",
            "account_password": "simulator-password",
        }
        for module, options in (("kvm_host", {"uuid": HOST, "state": "disabled"}), ("session", {})):
            assert run(module, options, **{**account, "session_id": None, "api_token": None}).message.endswith(sentence)
        with pytest.raises(AnsibleError, match=re.escape(sentence)):
            lookup_loader.get("virtinfra.manager.session").run([], {}, **account)
        with pytest.raises(AnsibleError, match=re.escape(sentence)):
            Source(folder, "hosts", **account).fill()
        assert {request.path.partition("?")[0].rpartition("/")[2] for request in service.requests} == {
            "login",
            "primary-storage",
        }


def test_the_lookup_returns_the_session_of_the_run(sim: Simulator, connection: ConnectionOptions, folder: Path) -> None:
    account = {"base_url": sim.url, "account": "admin", "account_password": "simulator-password"}
    lookup = lookup_loader.get("virtinfra.manager.session")
    assert lookup.run([], {}, **account) == [open_shared_session(connection).get_session()]
    with pytest.raises(AnsibleError, match="account and account_password are needed"):
        lookup.run([], {}, base_url=sim.url)
    with pytest.raises(AnsibleError, match=r"there is no option user\. Did you mean account\?"):
        lookup.run([], {}, user="admin", **account)


def test_a_lost_login_is_retried(sim: Simulator, run: ModuleRunner) -> None:
    with with_fast_clock():
        sim.fault("drop_after", "LogInByAccount", count=2)
        assert run("host_info", {}, **ACCOUNT)["total"] == 3
        assert sim.sessions()["logins"] == 3
        sim.fault("drop_after", "LogInByAccount", count=None)
        assert run("host_info", {}, request_retries=1, **ACCOUNT).failed
        assert sim.sessions()["logins"] == 5


@pytest.mark.parametrize(("seconds", "logins"), [(0, 4), (30, 2), (60, 1)])
def test_lost_logins_are_retried_for_a_limited_time(sim: Simulator, seconds: float, logins: int) -> None:
    """Each attempt takes some time, and other tasks wait for the session meanwhile."""
    clock = FakeClock()

    def attempt() -> None:
        # The hook runs before a call, and before each request of it.
        clock.now += seconds / 2

    sim.fault("drop_after", "LogInByAccount", count=None)
    with (
        make_client(ConnectionOptions(sim.url), clock=clock, before_send=attempt) as client,
        pytest.raises(LoginFailed),
    ):
        log_in(client, "admin", "simulator-password")
    assert sim.sessions()["logins"] == logins


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        ({"fault": "fail", "error": {"code": "ID.1000", "details": "no"}}, "ID.1000"),
        ({"fault": "drop_after"}, "UNREACHABLE"),
        ({"fault": "status", "status": 429}, "HTTP_429"),
        ({"fault": "status", "status": 503}, "HTTP_503"),
    ],
)
@pytest.mark.parametrize(("module", "options"), [("host_info", {}), ("cbt_volume_export", ACTION)])
@pytest.mark.parametrize("expired", [False, True])
def test_a_failed_login_is_not_a_failure_of_the_call(
    sim: Simulator, run: ModuleRunner, fault: dict[str, Any], code: str, module: str, options: Any, expired: bool
) -> None:
    if expired:
        sim.fault("session_expiry", "QueryHost" if module == "host_info" else "ExportNbdVolumes", count=None)
    sim.fault(operation="LogInByAccount", skip=int(expired), count=None, **fault)
    ran = run(module, options, request_retries=0, **ACCOUNT)
    assert ran["error"]["code"] == code
    assert re.search("account admin: .*LogInByAccount", ran.message)
    assert not ran.changed
    assert "job" not in ran.result


def test_a_failed_login_leaves_the_outcome_of_a_lost_call_unknown(sim: Simulator, run: ModuleRunner) -> None:
    sim.fault("drop_before", "ChangeHostState")
    sim.fault("session_expiry", "ChangeHostState", skip=1, count=None)
    sim.fault("fail", "LogInByAccount", skip=1, count=None)
    with with_fast_clock():
        ran = run("kvm_host", {"uuid": HOST, "state": "disabled"}, **ACCOUNT)
    assert (ran["error"]["code"], ran.changed) == ("OUTCOME_UNKNOWN", True)


def test_an_account_needs_a_password(run: ModuleRunner) -> None:
    refused = run("host_info", {}, **{**ACCOUNT, "account_password": None})
    assert refused.message == ("account needs account_password (or VIRTINFRA_ACCOUNT_PASSWORD in the environment)")
    assert refused.log == []


class TestModule:
    """The module session."""

    def test_present_and_absent(self, sim: Simulator, run: ModuleRunner) -> None:
        predicted = run("session", {}, check=True, **ACCOUNT)
        assert (predicted.changed, predicted["session_id"], predicted.log) == (True, None, [])
        login = run("session", {}, **ACCOUNT)
        assert login.changed
        session = {"session_id": login["session_id"]}
        for check in (True, False):
            kept = run("session", session, check, **NO_ACCOUNT)
            assert (kept.changed, kept["session_id"]) == (False, login["session_id"])
        assert run("host_info", session, **NO_ACCOUNT)["total"] == 3
        absent = {**session, "state": "absent"}
        assert run("session", absent, check=True, **NO_ACCOUNT).changed
        assert sim.sessions()["live"] == 1
        assert run("session", absent, **NO_ACCOUNT).changed
        assert sim.sessions()["live"] == 0
        assert not run("session", absent, **NO_ACCOUNT).changed

    def test_an_invalid_session_is_replaced(self, sim: Simulator, run: ModuleRunner) -> None:
        ran = run("session", {"session_id": "long-gone"}, account="admin", account_password="simulator-password")
        assert ran.changed
        assert len(ran["session_id"]) == 32
        refused = run("session", {"session_id": "long-gone"}, **NO_ACCOUNT)
        assert "account and account_password are needed to log in: session_id is invalid" in refused.message

    def test_a_service_without_logins(self, sim: Simulator, run: ModuleRunner) -> None:
        sim.configure(all_companions=False)
        refused = run("session", {}, **ACCOUNT)
        assert refused["error"]["code"] == "UNSUPPORTED"
        assert not run("session", {"session_id": sim.session}, **NO_ACCOUNT).changed


@pytest.fixture
def connection(sim: Simulator) -> ConnectionOptions:
    return ConnectionOptions(base_url=sim.url, account="admin", account_password="simulator-password")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(ansible.constants, "DEFAULT_LOCAL_TMP", str(tmp_path))
    # The test may run in a fork of the process that imported the module, as with mutmut.
    monkeypatch.setattr(files, "OWNER", os.getpid())
    return tmp_path


def open_shared_session(connection: ConnectionOptions) -> AccountSession:
    """Return the session of an account as another worker of the same run sees it."""
    return AccountSession(connection, Hooks(Masker()), FileStore(connection))


def session_files(folder: Path) -> list[Path]:
    """Return the files of the sessions that this process owns."""
    return list(folder.glob(f"virtinfra-{os.getpid()}-*"))


def test_workers_share_a_session(sim: Simulator, connection: ConnectionOptions, folder: Path) -> None:
    with open_shared_session(connection) as one, open_shared_session(connection) as other:
        first = one.get_session()
        assert other.get_session() == first
        second = other.renew(first)
        assert one.renew(first) == second != first
    assert sim.sessions() == {"live": 1, "logins": 2, "failed_logins": 0, "logouts": 1}
    assert {file.stat().st_mode & 0o777 for file in folder.iterdir()} == {0o600}
    (file,) = session_files(folder)
    kept = json.loads(file.read_text(encoding="utf-8"))
    assert kept["session_id"] == second
    credentials = ("account", "account_password", "session_id", "api_token")
    assert [kept["connection"].pop(name) for name in credentials] == [None] * 4
    assert "password" not in str(kept)
    log_out_all()
    assert sim.sessions()["live"] == 0
    assert session_files(folder) == []


def test_workers_log_in_again_after_another_was_killed(connection: ConnectionOptions, folder: Path) -> None:
    session_id = open_shared_session(connection).get_session()
    (file,) = session_files(folder)
    file.write_text('{"session_id": "', encoding="utf-8")
    assert open_shared_session(connection).get_session() != session_id


def test_all_tasks_that_wait_for_a_login_share_its_failure(sim: Simulator, folder: Path) -> None:
    def fail(retries: int) -> str:
        connection = ConnectionOptions(sim.url, account="admin", account_password="a", request_retries=retries)
        with pytest.raises(LoginFailed, match=r"account admin: LogInByAccount failed \(ID\.1003\)") as failed:
            open_shared_session(connection).get_session()
        return str(failed.value.error["details"])

    sim.fault("fail", "LogInByAccount", count=None, error={"code": "ID.1003", "details": "too many"})
    sim.configure(latencies={"LogInByAccount": 0.5})
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(fail, [0, 0, 0, 0])) == ["too many"] * 4
    assert operations(sim.log()) == ["LogInByAccount"]
    sim.configure(latencies={})
    # A later task does not share the failed login, but tries again.
    fail(0)
    assert operations(sim.log()) == ["LogInByAccount"] * 2


def test_a_folder_that_cannot_be_written_is_named(connection: ConnectionOptions, folder: Path) -> None:
    store = FileStore(connection)
    folder.rmdir()
    with pytest.raises(VirtinfraError, match=f"cannot write to {folder}: No such file or directory"):
        AccountSession(connection, Hooks(Masker()), store).get_session()


def test_a_wrong_password_is_tried_once(sim: Simulator, folder: Path) -> None:
    connection = ConnectionOptions(base_url=sim.url, account="admin", account_password="wrong")
    for dummy in range(3):
        with pytest.raises(Exception, match=r"ID\.1000"):
            open_shared_session(connection).get_session()
    assert sim.sessions()["failed_logins"] == 1


@pytest.mark.parametrize("module", ["host_info", "sns_topic"])
def test_a_run_waits_until_a_session_ends(sim: Simulator, module: str) -> None:
    """The account has as many sessions as the service permits, and later there is room for another."""
    sim.configure(session_limit=1)
    requests: list[str] = []
    lines: list[str] = []

    def end_other(line: str) -> None:
        requests.append(line)
        if len(requests) == 18:
            sim.configure(session_limit=2)

    options = {"base_url": sim.url, **ACCOUNT, **({"name": "new"} if module == "sns_topic" else {})}
    with with_fast_clock():
        ran = run_module(module, options, on_request=end_other, on_progress=lines.append)
    assert not ran.result.get("failed"), ran.result
    assert len(requests) > 18, requests
    assert "still waiting for the end of a session of the account admin, which has as many as the service" in lines[0]


def test_a_run_waits_for_a_session_until_its_timeout(sim: Simulator, run: ModuleRunner) -> None:
    sim.configure(login_refusal="ID.1006")
    with with_fast_clock():
        ran = run("sns_topic", {"name": "new", "wait_timeout": 20}, **ACCOUNT)
    assert ran["error"]["code"] == "ID.1006"
    assert ran.message.startswith("account admin: LogInByAccount failed (ID.1006): ")
    assert ran.message.endswith("End sessions of the account that are no longer used. None of them ended within 20 s.")


def test_workers_that_wait_for_a_session_share_the_failure(
    sim: Simulator, connection: ConnectionOptions, folder: Path
) -> None:
    """The next task of the run tries again, because sessions end."""
    sim.configure(login_refusal="ID.1006")
    store, since = FileStore(connection), time.monotonic()
    with pytest.raises(LoginFailed, match=r"ID\.1006"):
        AccountSession(connection, Hooks(Masker()), store, wait_timeout=0).get_session()
    sim.clear_log()
    with pytest.raises(LoginFailed, match=r"ID\.1006"), store.open() as values:
        open_shared_session(connection)._raise_known_failure(values, since)
    assert operations(sim.log()) == []
    sim.configure(login_refusal="")
    assert open_shared_session(connection).get_session()


REFUSALS = {
    "ID.1007": "Enable the account",
    "ID.2001": "Use an account that needs no second factor",
    "LOGIN_CONTROL.1000": "Change the password in the service's user interface",
    "LOGIN_CONTROL.1002": "Wait until the lock has ended",
    "LOGIN_CONTROL.1003": "Get a session in another way and pass it as session_id",
    "LOGIN_CONTROL.1004": "Permit logins from the address of this machine",
    "LOGIN_CONTROL.1005": "Get a session in another way and pass it as session_id",
}


@pytest.mark.parametrize(("code", "remedy"), REFUSALS.items())
def test_a_refused_login_has_one_remedy_and_is_not_repeated_in_a_run(
    sim: Simulator, run: ModuleRunner, connection: ConnectionOptions, folder: Path, code: str, remedy: str
) -> None:
    sim.configure(login_refusal=code)
    ran = run("host_info", {}, **{**ACCOUNT, "account_password": "s3cret"})
    assert ran["error"]["code"] == code
    assert ran.message.startswith(f"account admin: LogInByAccount failed ({code}): ")
    assert ran.message.count(remedy) == 1
    assert ran.message.endswith(".")
    sim.clear_log()
    for dummy in range(3):
        with pytest.raises(LoginFailed, match=re.escape(remedy)):
            open_shared_session(connection).get_session()
    assert operations(sim.log()) == ["LogInByAccount"]


def test_a_locked_account_shows_how_long_it_is_locked(sim: Simulator, run: ModuleRunner) -> None:
    sim.configure(login_refusal="LOGIN_CONTROL.1002")
    assert "292 seconds" in run("host_info", {}, **ACCOUNT).message


def test_a_refusal_that_is_nested_in_another_error_is_not_repeated(
    sim: Simulator, connection: ConnectionOptions, folder: Path
) -> None:
    error = {"code": "SYS.1006", "details": "no", "causes": [{"code": "ID.1007", "details": "disabled"}]}
    sim.fault("fail", "LogInByAccount", count=None, error=error)
    for dummy in range(2):
        with pytest.raises(LoginFailed, match="Enable the account"):
            open_shared_session(connection).get_session()
    assert operations(sim.log()) == ["LogInByAccount"]


def test_a_refused_login_is_not_repeated_by_processes_with_sessions_of_their_own(
    sim: Simulator, connection: ConnectionOptions, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that loads the lookup first has its own session, and knows the refusals of the whole run."""
    sim.configure(login_refusal="ID.1007")
    for owner in (1, 2, 3):
        monkeypatch.setattr(files, "OWNER", owner)
        with pytest.raises(LoginFailed, match="Enable the account"):
            open_shared_session(connection).get_session()
    assert operations(sim.log()) == ["LogInByAccount"]


def test_a_session_that_expired_is_not_replaced_after_a_refusal(
    sim: Simulator, connection: ConnectionOptions, folder: Path
) -> None:
    session_id = open_shared_session(connection).get_session()
    sim.configure(login_refusal="LOGIN_CONTROL.1002")
    for dummy in range(2):
        with pytest.raises(LoginFailed):
            open_shared_session(connection).renew(session_id)
    assert operations(sim.log()).count("LogInByAccount") == 2


REFUSED = {"code": "ID.1007", "details": "disabled"}


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (
            {
                "msg": "account admin: LogInByAccount failed (ID.1007): disabled",
                "error": REFUSED,
                "operation": "LogInByAccount",
                "status": 503,
                "changed": False,
            },
            "account admin: LogInByAccount failed (ID.1007): disabled",
        ),
        ({"msg": ["no text"], "error": {"code": "SYS.1006", "cause": REFUSED}}, "account admin: ['no text']"),
        ({"msg": "later", "error": {"code": "ID.1003"}}, None),
        ({"msg": "no error", "error": "ID.1007"}, None),
        ({}, None),
    ],
)
def test_a_login_that_a_module_process_saw_refused_is_not_repeated(
    sim: Simulator, connection: ConnectionOptions, folder: Path, result: dict[str, Any], message: str | None
) -> None:
    """The result of a process may have any form."""
    open_shared_session(connection).remember_failure(result)
    later = open_shared_session(connection)
    if message is None:
        later.raise_refusal()
        assert later.get_session()
        return
    for log_in_again in (later.raise_refusal, later.get_session):
        with pytest.raises(LoginFailed) as failed:
            log_in_again()
        assert str(failed.value) == message
        assert failed.value.result == {name: result[name] for name in ("operation", "status") if name in result}
    assert operations(sim.log()) == []


def test_a_task_that_is_stopped_logs_out(sim: Simulator, connection: ConnectionOptions) -> None:
    def stop() -> None:
        raise KeyboardInterrupt

    end_session(connection, sim.session, Hooks(Masker(), before_send=stop))
    assert operations(sim.log()) == ["LogOut"]


def test_the_module_session_does_not_repeat_a_refused_login(sim: Simulator, folder: Path) -> None:
    sim.configure(login_refusal="ID.1007")
    run, logins = ModuleRunner(sim, FileStore), 0
    for options in ({"session_id": None}, {"session_id": "long-gone"}):
        ran = run("session", options, account="admin", account_password="simulator-password")
        assert "Enable the account" in ran.message
        logins += operations(ran.log).count("LogInByAccount")
    assert logins == 1


def test_validity_is_checked_where_a_session_is_handed_over(
    sim: Simulator, connection: ConnectionOptions, folder: Path
) -> None:
    first = open_shared_session(connection).get_valid_session()
    assert open_shared_session(connection).get_valid_session() == first
    sim.end_sessions()
    assert open_shared_session(connection).get_valid_session() != first


@pytest.mark.parametrize("reply", [{}, {"inventory": {}}, {"inventory": {"uuid": "two words"}}, {"inventory": []}])
def test_a_login_without_a_session(folder: Path, reply: dict[str, Any]) -> None:
    with StubServer(lambda request: StubResponse(200, reply)) as service:
        connection = ConnectionOptions(base_url=service.url, account="a", account_password="b", request_retries=0)
        with pytest.raises(LoginFailed) as failed:
            open_shared_session(connection).get_session()
    assert str(failed.value) in (
        "account a: the response to LogInByAccount has no session in inventory.uuid",
        f"account a: LogInByAccount returned HTTP status 200 without a usable result: {json.dumps(reply)}",
    )
    assert failed.value.error["code"] == "UNREACHABLE"


def test_the_password_is_sent_as_its_hash(folder: Path) -> None:
    def answer(request: StubRequest) -> StubResponse:
        return StubResponse(200, {"inventory": {"uuid": "the-session"}})

    with StubServer(answer) as service:
        connection = ConnectionOptions(base_url=service.url, account="a", account_password="pÄss")
        masker = Masker()
        assert AccountSession(connection, Hooks(masker), FileStore(connection)).get_session() == "the-session"
    (login,) = service.requests
    assert hash_password("pÄss") in str(login.body)
    assert "Authorization" not in login.headers
    assert masker.mask_text(f"pÄss {hash_password('pÄss')} the-session") == "******** ******** ********"
