"""Jobs that run elsewhere or in parts: on a worker of the mesh, in slices, and with ansible-navigator."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

from simulator.launch import Simulator
from support.inventory_sources import Source, names
from support.job_runner import COLLECTIONS, IDENT, PROGRAMS, ROOT, RUNNER, Job, build_bare_environment

ACCOUNT = {"VIRTINFRA_ACCOUNT": "admin", "VIRTINFRA_ACCOUNT_PASSWORD": "simulator-password"}
PER_HOST = {"hosts": "all", "gather_facts": False, "connection": "local"}
DISABLE = {"virtinfra.manager.kvm_host": {"uuid": "{{ virtinfra_uuid }}", "state": "disabled"}}

HOSTS = 10_000
SLICES = 5
# A request for each host would take a minute of processor time.
READ = {
    "virtinfra.manager.api": {"operation": "QueryHost", "params": {"q": ["uuid?={{ item }}"], "fields": "uuid"}},
    "loop": "{{ ansible_play_hosts_all | batch(500) | map('join', ',') }}",
    "run_once": True,
}


def calls(sim: Simulator, operation: str) -> list[dict[str, Any]]:
    """Return the entries of the simulator's log that are calls of an operation."""
    return [entry for entry in sim.log() if entry["operation"] == operation]


def test_a_worker_needs_only_what_is_transmitted(sim: Simulator, tmp_path: Path) -> None:
    """The collection is part of the project; the inventory source and the playbook run on the worker."""
    sim.reset(account_password="simulator-password")
    job = Job(tmp_path / "sent", [{**PER_HOST, "tasks": [DISABLE]}], {"VIRTINFRA_BASE_URL": sim.url, **ACCOUNT})
    job.write("inventory/a.virtinfra_hosts.yml", {"plugin": "virtinfra.manager.hosts"})
    collection = job.folder / "project" / "collections" / "ansible_collections" / "virtinfra" / "manager"
    for name in ("meta", "plugins"):
        shutil.copytree(ROOT / name, collection / name)
    elsewhere, received = tmp_path / "elsewhere", Job(tmp_path / "received", [], {})
    elsewhere.mkdir()
    here, there = build_bare_environment(tmp_path), build_bare_environment(elsewhere)
    playbook = ["--playbook", "book.yml", "--ident", IDENT]
    sent = subprocess.check_output([RUNNER, "transmit", str(job.folder), *playbook], env=here)
    shutil.rmtree(job.folder)
    worker = [RUNNER, "worker", "--private-data-dir", str(elsewhere / "work"), "--delete"]
    answered = subprocess.run(worker, input=sent, env=there, cwd=elsewhere, stdout=subprocess.PIPE, check=False).stdout
    process = [RUNNER, "process", str(received.folder), "--ident", IDENT]
    ran = subprocess.run(
        process, input=answered, env=here, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    assert ran.returncode == 0, ran.stdout
    changed = Counter(entry["path"].split("/")[-2] for entry in calls(sim, "ChangeHostState"))
    assert changed == Counter(record["uuid"] for record in sim.records("host") if record["state"] == "Disabled")
    assert len(changed) == len(sim.records("host"))
    assert sim.sessions() == {"live": 0, "logins": 1, "failed_logins": 0, "logouts": 1}
    shown = [result["host"]["state"] for event, dummy, result in received.results() if event == "runner_on_ok"]
    assert shown == ["Disabled"] * 3
    assert ACCOUNT["VIRTINFRA_ACCOUNT_PASSWORD"] in (received.artifacts / "command").read_text(encoding="utf-8")
    assert not (elsewhere / "work").exists()


def test_slices_at_the_same_time_read_each_host_once(tmp_path: Path) -> None:
    """Cut as the platform does: sorted by name, every fifth host, with an inventory script for each slice."""
    with Simulator("--hosts", str(HOSTS)) as sim:
        source = Source(tmp_path, "hosts", base_url=sim.url, session_id=sim.session, hostnames=["uuid"])
        hosts = names(source.fill())
        sim.clear_log()
        variables = {**COLLECTIONS, "VIRTINFRA_BASE_URL": sim.url, **ACCOUNT}
        jobs = [Job(tmp_path / str(number), [{**PER_HOST, "tasks": [READ]}], variables) for number in range(SLICES)]
        for number, job in enumerate(jobs):
            content = job.write("hosts.json", {"all": {"hosts": hosts[number::SLICES]}, "_meta": {"hostvars": {}}})
            script = job.folder / "inventory" / "hosts"
            script.write_text(f"#!/bin/sh\nexec cat {content}\n", encoding="utf-8")
            script.chmod(0o700)
        processes = [job.start() for job in jobs]
        outputs = [process.communicate()[0] for process in processes]
        assert [process.returncode for process in processes] == [0] * SLICES, outputs
        conditions = [entry["query"]["q"] for entry in calls(sim, "QueryHost")]
        asked = Counter(uuid for (condition,) in conditions for uuid in condition.removeprefix("uuid?=").split(","))
        assert asked == Counter(hosts)
        assert len(asked) == HOSTS
        assert sim.sessions() == {"live": 0, "logins": SLICES, "failed_logins": 0, "logouts": SLICES}
    replies = [result["reply"] for job in jobs for event, dummy, result in job.results() if "item" in event]
    read = Counter(record["uuid"] for reply in replies for record in reply["inventories"])
    assert read == Counter(hosts)


def test_navigator_runs_playbooks_without_an_execution_environment(sim: Simulator, tmp_path: Path) -> None:
    book = tmp_path / "book.yml"
    task = {"virtinfra.manager.host_info": {"name": "host-1"}}
    book.write_text(json.dumps([{"hosts": "localhost", "gather_facts": False, "tasks": [task]}]), encoding="utf-8")
    variables = {"VIRTINFRA_BASE_URL": sim.url, "VIRTINFRA_SESSION_ID": sim.session}
    options = ["--ee", "false", "--mode", "stdout", "--pae", "false", "--lf", str(tmp_path / "log")]
    ran = subprocess.run(
        [str(PROGRAMS / "ansible-navigator"), "run", str(book), *options],
        cwd=tmp_path,
        env={**build_bare_environment(tmp_path), **COLLECTIONS, **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "ok=1" in ran.stdout, ran.stderr
    assert ran.returncode == 0
    assert len(calls(sim, "QueryHost")) == 1
