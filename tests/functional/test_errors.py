"""Failures have one clear message, from the controller and from a module process."""

from __future__ import annotations

import re
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from textwrap import dedent
from typing import Any

import pytest
import trustme
import yaml

from simulator.launch import Simulator
from support.collection import ROOT
from support.playbook_runner import PlaybookRunner, Played, Run
from support.socket_servers import taken_port
from support.stub_server import StubResponse, StubServer

HOST = "a0000003000040008000000000000001"
OTHER_HOST = "a0000003000040008000000000000002"
CLUSTER = "a0000002000040008000000000000001"
NOWHERE = "ffffffffffff4fff8fffffffffffffff"
NEW_HOST = {
    "name": "host-9",
    "management_ip": "10.0.0.99",
    "cluster": CLUSTER,
    "username": "root",
    "password": "Tr0ub4dor&3",
}
PAGE = b"<html><head><title>502</title></head><body><center><h1>Bad gateway</h1></center><hr>nginx</body></html>"


@dataclass(frozen=True)
class Places:
    """Faulty services."""

    dead: str
    page: str
    gateway: str
    secure: str
    plain: str


@pytest.fixture
def places(sim: Simulator) -> Iterator[Places]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(context)
    with (
        taken_port() as nobody,
        StubServer(lambda request: StubResponse(200, PAGE)) as page,
        StubServer(lambda request: StubResponse(502, PAGE)) as gateway,
        StubServer(lambda request: StubResponse(200, {}), context) as secure,
    ):
        dead = f"http://127.0.0.1:{nobody.getsockname()[1]}"
        yield Places(dead, page.url, gateway.url, secure.url, sim.url.replace("http:", "https:"))


def kvm_host(**options: Any) -> dict[str, Any]:
    """Return a task."""
    return {"virtinfra.manager.kvm_host": options}


def cases(places: Places) -> dict[str, tuple[dict[str, Any], str]]:
    """Return failing tasks, each with a pattern of its whole message."""
    return {
        "wrong cluster": (
            kvm_host(**{**NEW_HOST, "cluster": NOWHERE}),
            rf"host host-9: no cluster with uuid '{NOWHERE}'\. Check cluster\.",
        ),
        "empty name": (kvm_host(name=""), "name must not be empty"),
        "blank name": (kvm_host(name="  "), "name must not be empty"),
        "bad address": (
            kvm_host(**{**NEW_HOST, "management_ip": "10.0.0.999"}),
            r"host host-9: management_ip must be an IP address or a host name, .*, not '10\.0\.0\.999'",
        ),
        "bad state": (
            kvm_host(name="host-1", state="gone"),
            "value of state must be one of: present, enabled, disabled, maintenance, reconnected, absent, got: gone",
        ),
        "bad number": (
            kvm_host(**NEW_HOST, ssh_port="many"),
            "ssh_port must be a whole number, not 'many'",
        ),
        "unknown option": (
            kvm_host(name="host-1", nmae="host-1"),
            r"there is no option nmae\. Did you mean name\?",
        ),
        "unknown option instead of the name": (
            kvm_host(nmae="host-1", state="enabled"),
            r"there is no option nmae\. Did you mean name\?",
        ),
        "nothing to find it by": (
            kvm_host(state="enabled"),
            "one of the following is required: uuid, management_ip, name",
        ),
        "two of one name": (
            kvm_host(name="twin", state="disabled"),
            rf"host twin: 2 objects have the name 'twin'\. Select one by uuid\. Their uuids: {HOST}, {OTHER_HOST}",
        ),
        "not there, and not enough to make one": (
            kvm_host(name="host-7", state="disabled"),
            "host host-7: no host with name 'host-7'. Check the name, or give .* and cluster to add it.",
        ),
        "not there by its uuid": (
            kvm_host(uuid=NOWHERE, state="disabled"),
            f"host {NOWHERE}: no host with uuid '{NOWHERE}'. Check the uuid, or omit it to add one.",
        ),
        "what cannot be changed": (
            kvm_host(management_ip="10.0.0.13", cluster="cluster-2"),
            r"host (10\.0\.0\.13): the API .* \(is 'cluster-1' \(\w+\), should be 'cluster-2' \(\w+\)\)\. .* '\1'\.",
        ),
        "wrong SSH password": (
            kvm_host(**{**NEW_HOST, "password": "wrong-password"}),
            r"host host-9: AddKVMHost failed \(HOST\.1003, caused by SYS\.1006\): .*\*{8}.*permission denied.*",
        ),
        "session that has expired": (
            kvm_host(name="host-3", session_id="long-gone"),
            r"host host-3: QueryHost failed \(ID\.1001\): .* has expired: log in again and pass .* account_password\.",
        ),
        "session that cannot be": (
            kvm_host(name="host-3", session_id="a session"),
            "session_id must be printable ASCII without spaces",
        ),
        "no address": (kvm_host(name="host-3", base_url=""), "base_url is required: .*"),
        "half an address": (kvm_host(name="host-3", base_url="manager"), "base_url must look like https://.*"),
        "dead port": (
            kvm_host(name="host-3", base_url=places.dead, request_retries=1),
            f"host host-3: QueryHost: cannot connect to {places.dead}: Connection refused. Check base_url .*",
        ),
        "a page that is no service": (
            kvm_host(name="host-3", base_url=places.page),
            "host host-3: the response to QueryHost is not a JSON object: Bad gateway nginx. Check base_url.",
        ),
        "a page of a gateway": (
            kvm_host(name="host-3", base_url=places.gateway, request_retries=1),
            "host host-3: QueryHost failed with HTTP status 502: Bad gateway nginx",
        ),
        "unknown certificate": (
            kvm_host(name="host-3", base_url=places.secure),
            f"host host-3: QueryHost could not be sent: TLS with {places.secure} failed: .* Set ca_path .*",
        ),
        "TLS to a plain port": (
            kvm_host(name="host-3", base_url=places.plain, request_retries=1),
            f"host host-3: QueryHost could not be sent: TLS with {places.plain} failed: .*",
        ),
        "not enough to ask for": (
            {"virtinfra.manager.api": {"operation": "ChangeHostState", "params": {"uuid": HOST}}},
            "ChangeHostState needs stateEvent",
        ),
        "unknown operation": (
            {"virtinfra.manager.api": {"operation": "QueryHosts"}},
            r"no operation QueryHosts\. Did you mean QueryHost.*",
        ),
        "a VM that has its task": (
            {"virtinfra.manager.cbt_task": {"name": "second", "vm": "a0000004000040008000000000000001"}},
            r"cbt task second: the VM .* has the CBT task 'cbt-task-1' .* one task\. .* omit name and give vm\.",
        ),
        "a job of nobody": (
            {"virtinfra.manager.job_wait": {"jobs": [{"uuid": "5d1f3f9a0e7b4f0d9b9a0c6f3a7f1b2c"}]}},
            r"the service does not know job 5d1f.*, or no longer knows it\. Check the id; .*",
        ),
    }


# Module processes are slow, so they run one task of each kind.
IN_A_PROCESS = {
    "wrong cluster",
    "empty name",
    "bad state",
    "unknown option",
    "unknown option instead of the name",
    "nothing to find it by",
    "two of one name",
    "wrong SSH password",
    "dead port",
    "unknown certificate",
    "unknown operation",
    "a job of nobody",
}


def played(
    sim: Simulator, playbook_runner: PlaybookRunner, places: Places, as_module: bool, check: bool = False
) -> dict[str, Played]:
    """Run the cases on the same state and return their results."""
    found = {name: task for name, (task, dummy) in cases(places).items() if name in IN_A_PROCESS or not as_module}
    sim.reset(cbt_tasks=1)
    sim.change("host", HOST, name="twin")
    sim.change("host", OTHER_HOST, name="twin")
    tasks = [{"name": name, "check_mode": check, **task} for name, task in found.items()]
    run = playbook_runner.play(*tasks, as_module=as_module)
    assert [each.task for each in run] == list(found), run.output
    assert_readable(run)
    return {each.task: each for each in run}


def assert_readable(run: Run) -> None:
    """Check that a message contains no internals and no secrets."""
    assert "Traceback" not in run.output
    assert "MODULE FAILURE" not in run.output
    for secret in ("wrong-password", NEW_HOST["password"], "simulator-session", "simulator-token", "long-gone"):
        assert secret not in run.output


def test_one_clear_sentence(sim: Simulator, playbook_runner: PlaybookRunner, places: Places) -> None:
    found = played(sim, playbook_runner, places, as_module=False)
    for name, (dummy, pattern) in cases(places).items():
        result, message = found[name].result, found[name].result.get("msg", "")
        assert found[name].status == "failed", (name, result)
        assert result["changed"] is False, name
        assert re.fullmatch(pattern, message), (name, message)
        assert "\n" not in message, name
        assert len(message) < 900, name
    elsewhere = played(sim, playbook_runner, places, as_module=True)
    assert elsewhere.keys() == IN_A_PROCESS
    for name in elsewhere:
        assert make_comparable(found[name]) == make_comparable(elsewhere[name])


def make_comparable(played: Played) -> dict[str, Any]:
    """Return a result without the options and without ansible-core's note on tracebacks."""
    return {member: value for member, value in played.result.items() if member not in ("invocation", "exception")}


def test_check_mode_fails_like_a_real_run(sim: Simulator, playbook_runner: PlaybookRunner, places: Places) -> None:
    """Check mode fails like the real run, except for errors that only the service can find."""
    done, checked = played(sim, playbook_runner, places, False), played(sim, playbook_runner, places, False, check=True)
    known_to_the_service_only = {"wrong SSH password"}
    assert {name for name, each in checked.items() if each.status == "ok"} == known_to_the_service_only
    for name in checked.keys() - known_to_the_service_only:
        msg, error = (checked[name].result[member] for member in ("msg", "error"))
        expected = done[name].result["msg"]
        if error["code"] == "NOT_FOUND":
            assert "add when: not ansible_check_mode" in msg
            msg, expected = (text.rstrip(".").rpartition(". ")[0] for text in (msg, expected))
        assert msg == expected
        assert checked[name].written == []


def test_one_management_address_is_one_host(sim: Simulator, playbook_runner: PlaybookRunner) -> None:
    first, second = playbook_runner.play(kvm_host(**NEW_HOST), kvm_host(**NEW_HOST))
    assert (first.result["changed"], second.result["changed"]) == (True, False)
    assert first.result["host"] == second.result["host"]
    assert [host["name"] for host in sim.records("host")].count("host-9") == 1


def test_failed_host_is_removed(sim: Simulator, playbook_runner: PlaybookRunner) -> None:
    played = playbook_runner.run_module("kvm_host", {**NEW_HOST, "password": "wrong-password"})
    assert played.status == "failed"
    assert "error" in played.result
    assert "HOST.1003" in str(played.result["error"])
    assert "wrong-password" not in str(played.result)
    assert len(sim.records("host")) == 3


@pytest.mark.parametrize("as_module", [False, True])
def test_code_of_options_that_ansible_rejects(playbook_runner: PlaybookRunner, as_module: bool) -> None:
    run = playbook_runner.play(
        {"virtinfra.manager.host_network_info": {}},
        {"virtinfra.manager.job_wait": {"jobs": [], "wait_timeout": "soon"}},
        {"virtinfra.manager.kvm_host": {"hostname": "host-1"}},
        as_module=as_module,
    )
    for played in run.tasks:
        assert played.result["error"]["code"] == "INVALID"
        assert played.result["error"]["details"] == played.result["msg"]


ERRORS_GUIDE = ROOT / "docs" / "docsite" / "rst" / "guide_errors.rst"


@pytest.mark.parametrize("number", [0, 1])
def test_recipes(playbook_runner: PlaybookRunner, number: int) -> None:
    """The recipes accept a missing object and fail on any other error."""
    recipe = re.findall(r"yaml\+jinja\n\n(.*?)\n\n(?=\S)", ERRORS_GUIDE.read_text(encoding="utf-8"), re.S)[number]
    for name, code in (("host-1", 0), ("nobody", 0), ("''", 2)):
        run = playbook_runner.play(*yaml.safe_load(dedent(recipe).replace("host-1", name)), ignore_errors=False)
        assert run.code == code, run.output
