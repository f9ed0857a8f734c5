"""Rulebooks in a real ansible-rulebook, with the collection as users install it."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

from ansible_collections.virtinfra.manager.plugins.module_utils._http.webhooks import sign_url
from conftest import ClientFactory

from simulator.launch import Simulator
from support.playbook_runner import PlaybookRunner
from support.repositories import make_repository
from support.rulebook_runner import run_rulebook
from support.socket_servers import free_port
from support.stub_server import StubRequest, StubResponse, StubServer
from support.waiting import PATIENCE, wait_until

RULEBOOKS = Path(__file__).parent / "rulebooks"
KEY = "a-key-of-webhooks"
HOSTS = [f"a000000300004000800000000000000{number}" for number in (1, 2, 3)]


def list_stored_records(sim: Simulator) -> list[str]:
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
    token = {"VIRTINFRA_SESSION_ID": sim.session, "VIRTINFRA_WEBHOOK_KEY": KEY}
    with run_rulebook(
        str(RULEBOOKS / "results.yml"), tmp_path, installed_collection, variables, port, **token
    ) as rulebook:
        options = {"name": "host-1", "state": "disabled", "wait": False, "webhook_url": f"{url}?about=played"}
        options["webhook_key"] = KEY
        run = playbook_runner.play({"virtinfra.manager.kvm_host": options})
        assert run.tasks[0].status == "ok", run.output

        def disable(host: str, about: str) -> str:
            client = new_client(webhook_url=f"{url}?about={about}", webhook_key=KEY)
            return client.start_job("ChangeHostState", {"uuid": host, "stateEvent": "disable"}).uuid

        sim.fault("fail", "ChangeHostState")
        disable(HOSTS[1], "failed")
        sim.fault("duplicate_webhook", "ChangeHostState")
        disable(HOSTS[1], "twice")
        sim.fault("drop_webhook", "ChangeHostState")
        late = disable(HOSTS[2], "late")
        wait_until(lambda: len(list_stored_records(sim)) == 3)
        refused = [
            deliver(sim, f"{url}-wrong", late),
            deliver(sim, url, late, body=["malformed"]),
            deliver(sim, url, late),
            deliver(sim, sign_url(url, "f" * 32, KEY), "f" * 32, body={"inventory": {}}),
        ]
        assert refused == [404, 400, 403, 403]
        assert [deliver(sim, sign_url(f"{url}?about=late", late, KEY), late) for dummy in range(2)] == [204, 204]
        wait_until(lambda: "late True" in list_stored_records(sim))
        assert list_stored_records(sim) == ["failed False", "late True", "played True", "twice True"], rulebook.output


FAILED_JOBS = 20
FAILURE = {"error": {"code": "SYS.1006", "description": "operation failed", "details": "the disk is full"}}
RESULTS = {"job_results_host": "127.0.0.1", "job_results_path": "/secret", "job_results_confirm": False}


def deliver_failures(sim: Simulator, port: int) -> list[str]:
    """Post a success and failures of one kind; return the messages about the failures."""
    url = f"http://127.0.0.1:{port}/secret"
    assert deliver(sim, f"{url}?about=host-0", "0" * 32, success=True, body={}) == 204
    for number in range(1, FAILED_JOBS + 1):
        target = f"{url}?about=host-{number}&operation=ChangeHostState"
        assert deliver(sim, target, f"{number:032x}", success=False, body=FAILURE) == 204
    text = "ChangeHostState failed (SYS.1006): operation failed: the disk is full"
    return [f"host-{number}: {text}" for number in range(1, FAILED_JOBS + 1)]


def test_failed_jobs_from_the_installed_collection(sim: Simulator, installed_collection: Path, tmp_path: Path) -> None:
    """The rulebook of the collection, with its own playbook, reports each of many failures of one kind.

    The chat limits the rate of messages. When it refuses one, the output shows the reason, but never its address.
    """
    port = free_port()
    refusals, accepted = [StubResponse(429)], set[str]()

    def answer(request: StubRequest) -> StubResponse:
        if refusals:
            return refusals.pop()
        accepted.update(json.loads(request.body)["text"].splitlines())
        return StubResponse(200)

    variables = {**RESULTS, "job_results_port": port}
    with StubServer(answer) as chat:
        hook = {"FAILED_JOB_CHAT_URL": f"{chat.url}/services/a-secret%2Fkey?token=other-secret"}
        with run_rulebook(
            "virtinfra.manager.failed_jobs", tmp_path, installed_collection, variables, port, **hook
        ) as rules:
            failures = deliver_failures(sim, port)
            wait_until(lambda: len(accepted) >= FAILED_JOBS)
            assert accepted == set(failures), rules.output
            refusals.append(StubResponse(403, b"no team has a-secret/key, a-secret%2Fkey or other-secret"))
            url = f"http://127.0.0.1:{port}/secret?about=host-21"
            assert deliver(sim, url, "f" * 32, success=False, body=FAILURE) == 204
            wait_until(lambda: "failed=1" in rules.output)
            assert "These failed jobs were not reported: host-21. Status code was 403 and not [" in rules.output
            assert "HTTP Error 403: Forbidden. no team has ********, ******** or ********" in rules.output
            assert not re.search("a-secret|other-secret", rules.output)


def test_failed_jobs_with_a_job_template(sim: Simulator, installed_collection: Path, tmp_path: Path) -> None:
    """The rulebook for the platform launches the job template for each of many failures of one kind."""
    port = free_port()
    template = {
        "id": 1,
        "type": "job_template",
        "name": "Report a failed job",
        "related": {"launch": "/api/v2/job_templates/1/launch/"},
        "summary_fields": {"organization": {"name": "Default"}},
        **{f"ask_{what}_on_launch": True for what in ("limit", "labels", "inventory", "variables")},
    }
    job = {"id": 2, "url": "/api/v2/jobs/2/", "status": "successful", "created": "", "artifacts": {}, "version": "4.6"}

    def answer(request: StubRequest) -> StubResponse:
        if request.path in ("/api/v2/unified_job_templates/", "/api/v2/organizations/", "/api/v2/labels/"):
            return StubResponse(200, {"count": 1, "results": [template], "next": None})
        return StubResponse(201 if request.method == "POST" else 200, job)

    def launches() -> list[str]:
        launched = [json.loads(request.body) for request in platform.requests if request.method == "POST"]
        jobs = [job for launch in launched for job in launch["extra_vars"]["ansible_eda"]["event"]["jobs"]]
        return sorted(f"{job['about']}: {job['msg']}" for job in jobs)

    variables = {**RESULTS, "job_results_port": port}
    with StubServer(answer) as platform:
        controller = {
            "EDA_CONTROLLER_URL": platform.url,
            "EDA_CONTROLLER_TOKEN": "a-token",
            "EDA_JOB_TEMPLATE_REFRESH_DELAY": "0.1",
        }
        with run_rulebook(
            "virtinfra.manager.failed_jobs_template", tmp_path, installed_collection, variables, port, **controller
        ) as rules:
            messages = deliver_failures(sim, port)
            wait_until(lambda: len(launches()) >= FAILED_JOBS or rules.process.poll() is not None)
            assert launches() == sorted(messages), rules.output


def test_hosts_that_go_down(sim: Simulator, installed_collection: Path, tmp_path: Path) -> None:
    """All hosts that a poll finds down are one message, with their VMs, without those in maintenance."""
    messages: list[str] = []

    def answer(request: StubRequest) -> StubResponse:
        messages.append(json.loads(request.body)["text"])
        return StubResponse(200)

    with StubServer(answer) as chat:
        known = {"VIRTINFRA_BASE_URL": sim.url, "VIRTINFRA_SESSION_ID": sim.session}
        known["HOST_DOWN_CHAT_URL"] = f"{chat.url}/a-key"
        # One poll finds the hosts of the first change.
        variables = {"host_down_interval": 0.5}
        name = "virtinfra.manager.host_down"
        with run_rulebook(name, tmp_path, installed_collection, variables, None, **known) as rules:
            wait_until(lambda: sum(entry["operation"] == "QueryHost" for entry in sim.log()) > 1)
            sim.change("host", HOSTS[2], state="Maintenance", status="Disconnected")
            sim.change("host", HOSTS[0], status="Disconnected")
            wait_until(lambda: "host-1 (" in "".join(messages) or "failed=1" in rules.output)
            running = [vm["name"] for vm in sim.records("vm") if vm["hostUuid"] == HOSTS[0]]
            assert running
            assert messages == [f"host-1 (10.0.0.11) is down. Its VMs: {', '.join(running)}\n"], rules.output
            sim.change("host", HOSTS[0], status="Connected")
            sim.change("host", HOSTS[1], status="Disconnected")
            wait_until(lambda: len(messages) == 2)
            assert messages[1].startswith("host-2 (10.0.0.12) is down. It")
            assert "host-1" not in messages[1]


def test_backups_that_are_overdue(sim: Simulator, installed_collection: Path, tmp_path: Path) -> None:
    """The rulebook writes the page and names the VMs without a recent point, each time that it looks."""
    messages: list[str] = []

    def answer(request: StubRequest) -> StubResponse:
        messages.append(json.loads(request.body)["text"])
        return StubResponse(200)

    page, repository = tmp_path / "backups.html", make_repository(tmp_path / "repository")
    with StubServer(answer) as chat:
        known = {"VIRTINFRA_BASE_URL": sim.url, "VIRTINFRA_SESSION_ID": sim.session}
        known["BACKUP_OVERDUE_CHAT_URL"] = f"{chat.url}/a-key"
        variables = {
            "backup_overdue_interval": 1,
            "vm_backup_report_path": str(page),
            "vm_backup_report_repository": str(repository),
            "vm_backup_report_query": ["name=vm-1"],
        }
        name = "virtinfra.manager.backup_overdue"
        with run_rulebook(name, tmp_path, installed_collection, variables, None, **known) as rules:
            wait_until(lambda: len(messages) == 2 or "failed=1" in rules.output)
            assert messages == ["vm-1 is not protected: It has no restore point.\n"] * 2, rules.output
    assert "vm-1" in page.read_text(encoding="utf-8")


def test_primary_storages_that_run_full(sim: Simulator, installed_collection: Path, tmp_path: Path) -> None:
    """The rulebook writes the capacity report when a primary storage has less than 10 % left."""
    report, (storage, *dummy) = tmp_path / "report.html", sim.records("primarystorage")
    known = {"VIRTINFRA_BASE_URL": sim.url, "VIRTINFRA_SESSION_ID": sim.session}
    variables = {"storage_low_interval": 0.2, "capacity_report_path": str(report)}
    name = "virtinfra.manager.storage_low"
    with run_rulebook(name, tmp_path, installed_collection, variables, None, **known) as rules:
        wait_until(lambda: sum(entry["operation"].startswith("Query") for entry in sim.log()) > 1)
        sim.change("primarystorage", storage["uuid"], availableCapacity=storage["totalCapacity"] // 20)
        wait_until(lambda: "PLAY RECAP" in rules.output)
        assert "failed=0" in rules.output, rules.output
    assert storage["name"] in report.read_text(encoding="utf-8")
