"""No text of an event is evaluated. ansible-rulebook writes events into extra vars, which are templates.

The rulebooks of the collection do their work with such texts, and each way to stop them ends the session of the source.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import yaml
from conftest import ClientFactory

from simulator.launch import Simulator
from support.hostile_texts import evaluated, hostile_texts
from support.rulebook_runner import Rulebook, run_rulebook
from support.socket_servers import free_port
from support.stub_server import StubResponse, StubServer
from support.waiting import wait_until

HERE = Path(__file__).parent
HOST = "a0000003000040008000000000000001"


def hostile_records(folder: Path) -> dict[str, str]:
    """Return a hostile text for each member of a record, some of which the documentation does not have."""
    names = ("name", "description", "architecture", "extraMember", "cpuModel", "memoryStatus", "{{extra}}")
    return dict(zip(names, hostile_texts(folder), strict=False))


def wait_for_the_playbook(rules: Rulebook) -> None:
    """Wait until the playbook of a rule has ended."""
    wait_until(lambda: "PLAY RECAP" in rules.output)


@pytest.mark.parametrize("confirm", [True, False])
def test_failed_jobs(
    sim: Simulator, installed_collection: Path, tmp_path: Path, new_client: ClientFactory, confirm: bool
) -> None:
    """The errors of jobs and the queries of their URLs are hostile. Each error has its own code."""
    port = free_port()
    failures = {f"HOST.{number}": text for number, text in enumerate(hostile_texts(tmp_path), 1001)}
    variables = {"job_results_host": "127.0.0.1", "job_results_port": port, "job_results_path": "/secret"}
    variables["job_results_confirm"] = confirm
    token = {"VIRTINFRA_BASE_URL": sim.url, "VIRTINFRA_SESSION_ID": sim.session}
    with StubServer(lambda dummy: StubResponse(200)) as chat:
        known = {"FAILED_JOB_CHAT_URL": f"{chat.url}/a-key", **token}
        with run_rulebook(
            "virtinfra.manager.failed_jobs", tmp_path, installed_collection, variables, port, **known
        ) as rules:
            for code, text in failures.items():
                sim.fault("fail", "ChangeHostState", error={"code": code, "details": text})
                url = f"http://127.0.0.1:{port}/secret?about={quote(text)}&operation={quote(text)}"
                new_client(webhook_url=url).start_job("ChangeHostState", {"uuid": HOST, "stateEvent": "disable"})

            def messages() -> str:
                return " ".join(json.loads(request.body)["text"] for request in chat.requests)

            wait_until(lambda: all(code in messages() for code in failures) or "failed=1" in rules.output)
            assert "failed=1" not in rules.output, rules.output
    assert evaluated(tmp_path) == []
    assert "{ { lookup(" in messages()


def test_hardware_errors(sim: Simulator, installed_collection: Path, tmp_path: Path) -> None:
    """A component that gets an error puts its host into maintenance. The members of the host's record are hostile."""
    tasks, note = tmp_path / "repair.yml", tmp_path / "note"
    repair = {"ansible.builtin.copy": {"dest": str(note), "content": "{{ virtinfra_uuid }}", "mode": "0600"}}
    tasks.write_text(json.dumps([{"name": "Repair", **repair, "delegate_to": "localhost"}]), encoding="utf-8")
    sim.change("host", HOST, **hostile_records(tmp_path), diskStatus="Normal")
    variables = {"hardware_errors_interval": 0.2, "host_maintenance_tasks": str(tasks)}
    change = ("host", HOST, {"diskStatus": "Error"})
    run_on_change(sim, installed_collection, tmp_path, "hardware_errors", variables, change, signal.SIGHUP)
    assert evaluated(tmp_path) == []
    assert note.read_text(encoding="utf-8") == HOST
    calls = [entry["body"] for entry in sim.log() if entry["operation"] == "ChangeHostState"]
    assert [call["changeHostState"]["stateEvent"] for call in calls] == ["maintain", "enable"]


def test_storage_low(sim: Simulator, installed_collection: Path, tmp_path: Path) -> None:
    """A primary storage that fills up causes a report. The members of its record are hostile."""
    report, (storage, *dummy) = tmp_path / "report.html", sim.records("primarystorage")
    sim.change("primarystorage", storage["uuid"], **hostile_records(tmp_path))
    variables = {"storage_low_interval": 0.2, "capacity_report_path": str(report)}
    change = ("primarystorage", storage["uuid"], {"availableCapacity": storage["totalCapacity"] // 20})
    run_on_change(sim, installed_collection, tmp_path, "storage_low", variables, change, signal.SIGINT)
    assert evaluated(tmp_path) == []
    assert "{{ lookup(" in report.read_text(encoding="utf-8")


def test_host_down(sim: Simulator, installed_collection: Path, tmp_path: Path) -> None:
    """A host that is lost is reported with its VMs. The members of their records are hostile."""
    sim.change("host", HOST, **hostile_records(tmp_path))
    for vm in sim.records("vm"):
        if vm["hostUuid"] == HOST:
            sim.change("vm", vm["uuid"], name=hostile_texts(tmp_path)[0])
    with StubServer(lambda dummy: StubResponse(200)) as chat:
        known = {"HOST_DOWN_CHAT_URL": f"{chat.url}/a-key", **account(sim)}
        name = "virtinfra.manager.host_down"
        with run_rulebook(name, tmp_path, installed_collection, {"host_down_interval": 0.2}, None, **known) as rules:
            wait_for_polls(sim)
            sim.change("host", HOST, status="Disconnected")
            wait_until(lambda: bool(chat.requests) or "failed=1" in rules.output)
            assert "failed=1" not in rules.output, rules.output
    assert evaluated(tmp_path) == []
    assert "{{ lookup(" in json.loads(chat.requests[0].body)["text"]


def test_texts_that_a_rule_passes_on(sim: Simulator, installed_collection: Path, tmp_path: Path) -> None:
    """A rulebook of the user passes texts of the reply as variables of their own."""
    port = free_port()
    texts = hostile_texts(tmp_path)
    variables = {"port": port, "playbook": str(HERE / "playbooks" / "show_texts.yml")}
    rulebook = HERE / "rulebooks" / "texts.yml"
    ((rule,),) = (each["rules"] for each in yaml.safe_load(rulebook.read_text(encoding="utf-8")))
    assert len(rule["action"]["run_playbook"]["extra_vars"]["texts"]) == len(texts)
    with run_rulebook(str(rulebook), tmp_path, installed_collection, variables, port) as rules:
        reply = {"texts": texts, "inventory": {**{text: text for text in texts}, "list": texts}}
        assert sim.deliver(f"http://127.0.0.1:{port}/secret", "1" * 32, success=True, body=reply) == 204
        wait_until(lambda: "failed=" in rules.output)
        assert "failed=0" in rules.output, rules.output
    assert evaluated(tmp_path) == []


def test_the_end_of_a_rulebook_ends_the_session(sim: Simulator, installed_collection: Path, tmp_path: Path) -> None:
    """As a hangup and Ctrl-C do in other tests."""
    variables = {"storage_low_interval": 0.2, "capacity_report_path": "unused"}
    name = "virtinfra.manager.storage_low"
    with run_rulebook(name, tmp_path, installed_collection, variables, None, **account(sim)) as rules:
        wait_for_polls(sim)
        stop(sim, rules, signal.SIGTERM)


def run_on_change(
    sim: Simulator,
    collections: Path,
    folder: Path,
    name: str,
    variables: Mapping[str, Any],
    change: tuple[str, str, Mapping[str, Any]],
    end: signal.Signals,
) -> None:
    """Run a rulebook that polls, change an object, wait until the playbook has ended, and stop the rulebook."""
    kind, uuid, members = change
    with run_rulebook(f"virtinfra.manager.{name}", folder, collections, variables, None, **account(sim)) as rules:
        wait_for_polls(sim)
        sim.change(kind, uuid, **members)
        wait_for_the_playbook(rules)
        stop(sim, rules, end)


def wait_for_polls(sim: Simulator) -> None:
    """Wait until a source has polled twice."""
    wait_until(lambda: sum(entry["operation"].startswith("Query") for entry in sim.log()) > 1)


def stop(sim: Simulator, rules: Rulebook, end: signal.Signals) -> None:
    """Stop a rulebook when only its source has a session, which ends with it."""
    wait_until(lambda: sim.sessions()["live"] == 1)
    rules.process.send_signal(end)
    rules.process.wait()
    sessions = sim.sessions()
    assert sessions["logins"] == sessions["logouts"] > 0, rules.output
    assert (sessions["live"], sessions["failed_logins"]) == (0, 0), rules.output


def account(sim: Simulator) -> dict[str, str]:
    """Return the environment variables of the connection."""
    password = {"VIRTINFRA_ACCOUNT": "admin", "VIRTINFRA_ACCOUNT_PASSWORD": "simulator-password"}
    return {"VIRTINFRA_BASE_URL": sim.url, **password}
