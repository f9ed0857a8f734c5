"""No output of a task shows a secret: progress, request log, redirects, diffs, system log."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._engine.context import TaskInterrupted
from ansible_collections.virtinfra.manager.plugins.module_utils._http.hooks import Clock
from conftest import FakeClock

from simulator.launch import Simulator
from support.module_runner import run_module
from support.playbook_runner import PlaybookRunner
from support.scenarios import NEW_HOST
from support.socket_servers import ByteServer
from support.stub_server import StubRequest, StubResponse, StubServer

CORE_MASKS_SECRETS = find_spec("ansible.module_utils.secrets") is not None

SESSION = "secret-session-4711"
PROXY_PASSWORD = "pr0xy/s3cret"
KEY = "hook-key-0815"
CHAT = f"https://chat.example.com/hook/{KEY}"


def run(
    module_name: str, show: Callable[[str], None] | None = None, check: bool = False, /, **options: Any
) -> dict[str, Any]:
    """Run a module in this process and return its result. ``show`` receives its progress and request log."""
    return run_module(module_name, options, check, on_progress=show, on_request=show).result


@pytest.fixture
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip the intervals between retries."""
    clock = FakeClock()
    for name in ("monotonic", "sleep", "random"):
        monkeypatch.setattr(Clock, name, getattr(clock, name))


PASSWORD = "pA$$ <w0rd> & 'more' words"


@pytest.mark.parametrize(
    ("body", "masked"),
    [
        (f"no: <i>{PASSWORD}</i> <b>{html.escape(PASSWORD)}</b>".encode(), "400: no: ******** ********"),
        (f"{'x' * 287} {PASSWORD}".encode(), f"{'x' * 287} ********"),
        ({"error": {"code": "SYS.1006", "details": f"{PASSWORD} " * 500}}, "******** ********"),
    ],
    ids=["markup", "cut text", "cut details"],
)
def test_secrets_are_masked_before_a_text_loses_its_markup_or_its_end(body: Any, masked: str) -> None:
    def refuse(request: StubRequest) -> StubResponse:
        if "/api-jobs/" in request.path:
            return StubResponse(404, b"")
        clusters = [{"uuid": NEW_HOST["cluster"]}] if "/clusters" in request.path else []
        return StubResponse(200, {"inventories": clusters}) if request.method == "GET" else StubResponse(400, body)

    with StubServer(refuse) as service:
        result = run("kvm_host", base_url=service.url, session_id=SESSION, **{**NEW_HOST, "password": PASSWORD})
    assert result["failed"]
    assert masked in result["msg"]
    assert "pA$$" not in json.dumps(result)


def test_an_interrupted_task_shows_neither_secrets_nor_controls(sim: Simulator) -> None:
    def interrupt() -> None:
        if any(entry["operation"] == "AddKVMHost" for entry in sim.log()):
            raise KeyboardInterrupt

    sim.configure(latencies={"AddKVMHost": 60.0})
    options = {**NEW_HOST, "base_url": sim.url, "session_id": sim.session, "password": KEY, "name": f"a\x1b {KEY}"}
    with pytest.raises(TaskInterrupted) as stopped:
        run_module("kvm_host", options, before_send=interrupt)
    assert str(stopped.value).startswith("host a\\x1b ********: AddKVMHost may still be running in the service.")
    assert KEY not in json.dumps(stopped.value.result)


@pytest.mark.usefixtures("fast")
def test_progress_and_the_password_of_a_proxy_are_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> Iterator[bytes]:
        yield f"HTTP/1.1 403 no user:{PROXY_PASSWORD} for {SESSION}\r\nContent-Length: 0\r\n\r\n".encode()

    lines: list[str] = []
    with ByteServer(refuse) as proxy:
        address = proxy.url.replace("http://", f"http://user:{PROXY_PASSWORD.replace('/', '%2F')}@")
        monkeypatch.setenv("HTTPS_PROXY", address)
        result = run(
            "host_info",
            lines.append,
            base_url="https://manager.example.com",
            session_id=SESSION,
            request_retries=6,
        )
    progress = [line for line in lines if "retry" in line]
    assert progress, lines
    for text in (result["msg"], *progress):
        assert "403 no user:******** for ********" in text
    for text in (*lines, json.dumps(result)):
        assert SESSION not in text
        assert "s3cret" not in text


def test_secrets_in_the_log_of_requests_are_masked() -> None:
    lines: list[str] = []
    with StubServer(lambda request: StubResponse(200, {"inventories": [], "total": 0})) as service:
        query = [f"name={SESSION}", f"url={CHAT}"]
        result = run("sns_endpoint_info", lines.append, base_url=service.url, session_id=SESSION, query=query)
        request = service.requests[0]
    assert not result.get("failed"), result
    assert SESSION in request.target
    assert any("name%3D********" in line or "name=********" in line for line in lines), lines
    assert [line for line in lines if SESSION in line or KEY in line] == []


def test_the_host_of_a_redirect_is_masked() -> None:
    def redirect(request: StubRequest) -> StubResponse:
        return StubResponse(302, b"", (("Location", f"https://{SESSION}.example.com/login?key={KEY}"),))

    with StubServer(redirect) as service:
        result = run("host_info", base_url=service.url, session_id=SESSION, request_retries=0)
    assert "redirected to https://********.example.com," in result["msg"]
    assert SESSION not in json.dumps(result)
    assert KEY not in json.dumps(result)


def test_an_address_that_differs_is_masked(sim: Simulator) -> None:
    where = {"base_url": sim.url, "session_id": sim.session, "type": "workchat", "name": "chat"}
    users = {"at_person_user_ids": ["ann"]}
    before = run("sns_endpoint", None, True, **where, **users, url=CHAT)
    created = run("sns_endpoint", **where, **users, url=CHAT)
    refused = run("sns_endpoint", **where, url="https://chat.example.com/hook/another-key-1", state="absent")
    assert [before.get("changed"), created.get("changed")] == [True, True], created
    assert refused["failed"]
    assert "url" in refused["msg"]
    results = json.dumps([before, created, refused])
    assert before["diff"]["after"]["url"] == created["endpoint"]["url"]
    assert "hook" not in results.replace("webhook", "")
    assert KEY not in results
    assert "another-key-1" not in results


def test_an_invalid_option_of_a_module_process_shows_no_secret(playbook_runner: PlaybookRunner) -> None:
    options = {**NEW_HOST, "password": KEY, "ssh_port": f"22 {KEY}"}
    run = playbook_runner.play(
        {"virtinfra.manager.kvm_host": options},
        {"virtinfra.manager.kvm_host": {**NEW_HOST, "password": KEY, "unknown": KEY}},
        as_module=True,
        arguments=["-vvv"],
    )
    assert [played.status for played in run] == ["failed", "failed"]
    assert "ssh_port" in run.results[0]["msg"]
    assert "unknown" in run.results[1]["msg"].lower()
    assert KEY not in run.output
    assert KEY not in json.dumps(run.results)


JOURNAL = """
import json, os

def sendv(*values):
    pass

def send(**values):
    with open(os.environ["JOURNAL"], "a", encoding="utf-8") as file:
        file.write(json.dumps({name: str(value) for name, value in values.items()}) + chr(10))
"""


def test_the_system_log_of_a_module_process_shows_no_secret(playbook_runner: PlaybookRunner, tmp_path: Path) -> None:
    package, journal = tmp_path / "python" / "systemd", tmp_path / "journal"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("", encoding="utf-8")
    (package / "daemon.py").write_text("def booted():\n    return True\n", encoding="utf-8")
    (package / "journal.py").write_text(JOURNAL, encoding="utf-8")
    paths = os.pathsep.join([str(package.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    task = {"virtinfra.manager.sns_endpoint_info": {"session_id": SESSION, "query": [f"url={CHAT}", f"name={SESSION}"]}}
    playbook_runner.play(task, as_module=True, environment={"PYTHONPATH": paths, "JOURNAL": str(journal)})
    logged = journal.read_text(encoding="utf-8")
    assert "Invoked with" in logged
    assert "url=********" in logged
    assert SESSION not in logged
    assert KEY not in logged


def test_values_beside_secrets_are_shown(playbook_runner: PlaybookRunner) -> None:
    """Core 2.22 masks each value of an option with no_log in all of its output, so mappings have none."""
    login = {"username": "root", "password": KEY, "webhook_url": f"http://127.0.0.1:9/{KEY}"}
    objects = [{"name": f"host-{number}", "cluster": "cluster-1", "management_ip": "192.0.2.1"} for number in (1, 2)]
    params = {"name": "another", "clusterUuid": "cluster-1", "managementIp": "192.0.2.1", "sshPort": 1, **login}
    run = playbook_runner.play(
        {"virtinfra.manager.batch": {"module": "kvm_host", "common": login, "objects": objects, "concurrency": 1}},
        {"virtinfra.manager.batch": {"module": "kvm_host", "objects": [{**login, **objects[0]}], "concurrency": 0}},
        {"virtinfra.manager.api": {"operation": "AddKVMHost", "params": params}},
        {"ansible.builtin.debug": {"msg": [host["name"] for host in objects]}},
        arguments=["-vvv", "--diff"],
    )
    assert [played.status for played in run] == ["failed", "failed", "failed", "ok"], run.output
    assert "concurrency must be at least 1" in run.results[1]["msg"]
    for shown in ("host-1", "host-2", "cluster-1", "192.0.2.1", "root", "another"):
        assert shown in run.output, shown
    assert "$REDACTED$" not in run.output
    assert KEY not in run.output
    assert KEY not in json.dumps(run.results)


@pytest.mark.skipif(not CORE_MASKS_SECRETS, reason="older versions of core show variables")
def test_core_masks_secrets_of_objects(playbook_runner: PlaybookRunner) -> None:
    objects = [{**NEW_HOST, "password": PASSWORD, "session_id": SESSION}]
    params = {"operation": "CreateSNSWorkchatEndpoint", "params": {"name": "chat", "url": CHAT}}
    run = playbook_runner.play(
        {"virtinfra.manager.batch": {"module": "kvm_host", "objects": objects}},
        {"virtinfra.manager.api": params},
        {"ansible.builtin.debug": {"msg": [objects, params]}},
    )
    shown = run.output.rpartition("TASK [")[2]
    assert shown.count("$REDACTED$") == 3
    assert NEW_HOST["name"] in shown


@pytest.mark.skipif(CORE_MASKS_SECRETS, reason="core masks the letters of options with no_log in all words")
@pytest.mark.parametrize("as_module", [False, True])
def test_a_secret_of_one_letter_leaves_words_readable(
    sim: Simulator, playbook_runner: PlaybookRunner, as_module: bool
) -> None:
    """A secret of one letter is masked only as a separate word, and does not change how responses are parsed."""
    error = {"code": "SYS.1006", "details": "password a is too short: a1, [a]"}
    sim.reset(session="u")
    sim.fault("drop_after", "AddKVMHost")
    sim.fault("fail", "AddKVMHost", error=error)
    options = {**NEW_HOST, "password": "a", "session_id": "u", "api_token": "1"}
    failed = playbook_runner.run_module("kvm_host", options, as_module=as_module).result
    assert failed["error"]["code"] == "SYS.1006"
    assert failed["error"]["description"] == "The operation failed"
    assert failed["error"]["details"] == "password ******** is too short: a1, [********]"
    assert "operation failed" in failed["msg"]
