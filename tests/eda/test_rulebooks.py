# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Rulebooks in a real ansible-rulebook, with the collection as users install it."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from conftest import ClientFactory

from simulator.launch import Simulator
from support.playbook_runner import PlaybookRunner
from support.rulebook_runner import PATIENCE, running_rulebook, wait_until
from support.socket_servers import free_port
from support.stub_server import StubRequest, StubResponse, StubServer

RULEBOOKS = Path(__file__).parent / "rulebooks"
HOSTS = [f"a000000300004000800000000000000{number}" for number in (1, 2, 3)]


def recorded(sim: Simulator) -> list[str]:
    """Return the records of the rule's playbook in the store: about, and whether the job succeeded."""
    names = [record["name"].split() for record in sim.records("endpoint")]
    return sorted(f"{parts[0]} {parts[1]}" for parts in names if len(parts) == 3)


def deliver(sim: Simulator, url: str, job: str, **forged: Any) -> int:
    """Post a result until there is a response: ansible-rulebook may still be starting."""
    deadline = time.monotonic() + PATIENCE
    while (status := sim.deliver(url, job, **forged)) is None:
        assert time.monotonic() < deadline
    return status


def test_results_reach_the_store(
    sim: Simulator,
    installed_collection: Path,
    tmp_path: Path,
    playbook_runner: PlaybookRunner,
    new_client: ClientFactory,
) -> None:
    """A success of a playbook, a failure, a duplicate and a late delivery count once; forged and wrong posts do not."""
    port = free_port()
    url = f"http://127.0.0.1:{port}/secret"
    variables = {
        "port": port,
        "base_url": sim.url,
        "playbook": str(RULEBOOKS.parent / "playbooks" / "record_result.yml"),
    }
    token = {"VIRTINFRA_SESSION_ID": sim.session}
    with running_rulebook(
        str(RULEBOOKS / "results.yml"), tmp_path, installed_collection, variables, port, **token
    ) as rulebook:
        options = {"name": "host-1", "state": "disabled", "wait": False, "webhook_url": f"{url}?about=played"}
        run = playbook_runner.play({"virtinfra.manager.kvm_host": options})
        assert run.tasks[0].status == "ok", run.output

        def disable(host: str, about: str) -> str:
            client = new_client(webhook_url=f"{url}?about={about}")
            return client.start_job("ChangeHostState", {"uuid": host, "stateEvent": "disable"}).uuid

        sim.fault("fail", "ChangeHostState")
        disable(HOSTS[1], "failed")
        sim.fault("duplicate_webhook", "ChangeHostState")
        disable(HOSTS[1], "twice")
        sim.fault("drop_webhook", "ChangeHostState")
        late = disable(HOSTS[2], "late")
        wait_until(lambda: len(recorded(sim)) == 3)
        refused = [
            deliver(sim, f"{url}-wrong", late),
            deliver(sim, url, late, body=["malformed"]),
            deliver(sim, url, "f" * 32, body={"inventory": {}}),
        ]
        assert refused == [404, 400, 403]
        assert [deliver(sim, f"{url}?about=late", late) for dummy in range(2)] == [204, 204]
        wait_until(lambda: "late True" in recorded(sim))
        assert recorded(sim) == ["failed False", "late True", "played True", "twice True"], rulebook.output


def test_failed_jobs_from_the_installed_collection(sim: Simulator, installed_collection: Path, tmp_path: Path) -> None:
    """The rulebook of the collection, with its own playbook, sends one message for failures of one kind."""
    port = free_port()
    url = f"http://127.0.0.1:{port}/secret"
    failure = {"error": {"code": "HOST.1001", "description": "operation failed", "details": "the disk is full"}}

    def answer(dummy: StubRequest) -> StubResponse:
        return StubResponse(200)

    variables = {"job_results_host": "127.0.0.1", "job_results_port": port, "job_results_path": "/secret"}
    variables["job_results_confirm"] = False
    with StubServer(answer) as chat:
        hook = {"FAILED_JOB_CHAT_URL": f"{chat.url}/a-key"}
        with running_rulebook(
            "virtinfra.manager.failed_jobs", tmp_path, installed_collection, variables, port, **hook
        ) as rules:
            assert deliver(sim, f"{url}?about=host-1", "1" * 32, success=True, body={}) == 204
            for number in (2, 3):
                target = f"{url}?about=host-{number}&operation=ChangeHostState"
                assert deliver(sim, target, f"{number}" * 32, success=False, body=failure) == 204
            wait_until(lambda: bool(chat.requests))
            (message,) = chat.requests
            text = json.loads(message.body)["text"]
            assert text == "host-2: ChangeHostState failed (HOST.1001): operation failed: the disk is full"
            assert "a-key" not in rules.output


def test_hardware_errors_from_the_installed_collection(
    sim: Simulator, installed_collection: Path, tmp_path: Path
) -> None:
    """A component that gets an error puts its host into maintenance, where the tasks of the user run."""
    tasks, note = tmp_path / "repair.yml", tmp_path / "note"
    repair = {"ansible.builtin.copy": {"dest": str(note), "content": "{{ virtinfra_uuid }}", "mode": "0600"}}
    tasks.write_text(json.dumps([{"name": "Repair", **repair, "delegate_to": "localhost"}]), encoding="utf-8")
    sim.change("host", HOSTS[0], diskStatus="Normal")
    variables = {"hardware_errors_interval": 0.2, "host_maintenance_tasks": str(tasks)}
    name = "virtinfra.manager.hardware_errors"
    with running_rulebook(name, tmp_path, installed_collection, variables, None, **connection(sim)) as rules:
        wait_until(lambda: polls(sim, "QueryHost") > 1)
        sim.change("host", HOSTS[0], diskStatus="Error")
        wait_until(lambda: changes(sim) == ["maintain", "enable"] or "failed=1" in rules.output)
        assert note.read_text(encoding="utf-8") == HOSTS[0], rules.output


def test_storage_low_from_the_installed_collection(sim: Simulator, installed_collection: Path, tmp_path: Path) -> None:
    """A primary storage that fills up causes a report."""
    report, (storage, *dummy) = tmp_path / "report.html", sim.records("primarystorage")
    variables = {"storage_low_interval": 0.2, "capacity_report_path": str(report)}
    name = "virtinfra.manager.storage_low"
    with running_rulebook(name, tmp_path, installed_collection, variables, None, **connection(sim)) as rules:
        wait_until(lambda: polls(sim, "QueryPrimaryStorage") > 1)
        sim.change("primarystorage", storage["uuid"], availableCapacity=storage["totalCapacity"] // 20)
        wait_until(lambda: report.exists() or "failed=1" in rules.output)
        assert storage["name"] in report.read_text(encoding="utf-8"), rules.output


def connection(sim: Simulator) -> dict[str, str]:
    """Return the environment variables of the connection."""
    return {"VIRTINFRA_BASE_URL": sim.url, "VIRTINFRA_SESSION_ID": sim.session}


def polls(sim: Simulator, operation: str) -> int:
    """Return how often an operation was called."""
    return sum(entry["operation"] == operation for entry in sim.log())


def changes(sim: Simulator) -> list[str]:
    """Return the events of state that were requested of hosts."""
    return [
        entry["body"]["changeHostState"]["stateEvent"] for entry in sim.log() if entry["operation"] == "ChangeHostState"
    ]
