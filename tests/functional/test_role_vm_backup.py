"""The sessions that the role vm_backup opens and ends, with tasks of a user as the copier."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from simulator.launch import Simulator
from support.examples import FACTOR
from support.module_runner import ModuleRunner
from support.playbook_runner import PlaybookRunner, Run
from support.repositories import make_repository

MARK = "Backup session of the role virtinfra.manager.vm_backup."

# More VMs take a minute, and more on a machine that does other work.
MANY = 8 if FACTOR == 1 else 30

# A run of another controller.
OTHER_RUN = "5f0c3a52-7d3e-4c1b-9a58-0e5a3f1b2c4d"
OTHER_OWNER = {"host": "controller-2", "machine": "elsewhere", "process": 4711, "began": "1", "patience": 900}

# What fails in the tasks of the user: for a VM each the copy, the VM, and the time.
SHOW = "Show the session"
COPIER = [
    {"name": SHOW, "ansible.builtin.debug": {"msg": "{{ vm_backup_session }}"}},
    {"ansible.builtin.fail": {"msg": "no tape"}, "when": "vm_backup_session.vm.name == 'vm-2'"},
    {
        "virtinfra.manager.vm": {"uuid": "{{ vm_backup_session.vm.uuid }}", "state": "stopped"},
        "when": "vm_backup_session.vm.name == 'vm-6'",
    },
    {"ansible.builtin.command": {"argv": ["sleep", "60"]}, "when": "vm_backup_session.vm.name == 'vm-7'"},
]

Report = dict[str, dict[str, Any]]


@pytest.fixture
def service(sim: Simulator) -> Simulator:
    """A simulator with running VMs without CBT tasks. The VM vm-4 is stopped."""
    sim.reset(vms=MANY, cbt_tasks=0, latency=0)
    for vm in sim.records("vm"):
        sim.change("vm", vm["uuid"], state="Stopped" if vm["name"] == "vm-4" else "Running")
    return sim


@pytest.fixture
def copier(tmp_path: Path) -> str:
    """A file with the tasks of the user."""
    path = tmp_path / "copy.yml"
    path.write_text(json.dumps(COPIER), encoding="utf-8")
    return str(path)


def run_role(playbook_runner: PlaybookRunner, *arguments: str, **variables: Any) -> tuple[Run, Report]:
    """Run the role for all VMs, and return its report by the names of the VMs."""
    options = {"query": ["name~=vm-%"], "repository": str(playbook_runner.folder), **variables}
    given = {f"vm_backup_{name}": value for name, value in options.items()}
    role = {"ansible.builtin.include_role": {"name": "virtinfra.manager.vm_backup"}}
    run = playbook_runner.play(role, vars=given, ignore_errors=False, arguments=arguments)
    return run, {entry["vm"]: entry for entry in run.get_fact("vm_backup_report")}


def statuses(service: Simulator) -> dict[str, str]:
    """Return the statuses of all CBT tasks by the names of their VMs."""
    names = {vm["uuid"]: vm["name"] for vm in service.records("vm")}
    return {
        names[ref["resourceUuid"]]: task["status"]
        for task in service.records("cbttask")
        for ref in task["resourceRefs"]
        if ref["resourceType"] == "VmInstanceVO"
    }


def scratch_volumes(service: Simulator) -> list[str]:
    """Return the names of all scratch volumes."""
    return [volume["name"] for volume in service.records("volume") if volume["name"].startswith("Cbt-volume-of-")]


def test_sessions_of_many_vms_of_which_one_fails_in_each_step(
    service: Simulator, playbook_runner: PlaybookRunner, copier: str
) -> None:
    """The others are copied, and all sessions are ended but those of another product and of another controller."""
    vms = {vm["name"]: vm["uuid"] for vm in service.records("vm")}
    foreign = {"name": "nightly", "vm": vms["vm-5"], "state": "enabled"}
    assert ModuleRunner(service)("cbt_task", foreign).changed
    others, tasks = scratch_volumes(service), service.records("cbttask")
    taking = {"repository": str(make_repository(playbook_runner.folder)), "run": OTHER_RUN, "owner": OTHER_OWNER}
    taken = playbook_runner.run_module("backup_run", {**taking, "vm_uuids": [vms["vm-8"]]})
    assert taken.result["taken"] == [vms["vm-8"]]

    before = service.state()
    run, predicted = run_role(playbook_runner, "--check", copy_tasks=copier)
    assert run.code == 2, run.output
    assert service.state() == before
    assert {name: entry["outcome"] for name, entry in predicted.items() if entry["outcome"] != "full"} == {
        "vm-4": "skipped",
        "vm-5": "failed",
        "vm-8": "failed",
    }

    error = {"code": "SYS.1006", "details": "a migration is going on"}
    service.fault("fail", operation="EnableCbtTask", error=error)
    run, report = run_role(playbook_runner, copy_tasks=copier, timeout=5)
    assert run.code == 2, run.output
    assert len(report) == MANY
    assert f"6 of {MANY} VMs failed" in run.output
    skipped = report.pop("vm-4")
    reason = "The VM is Stopped. A backup session needs a running VM."
    assert (skipped["outcome"], skipped["error"]) == ("skipped", reason)
    failed = {name: entry["error"] for name, entry in report.items() if entry["outcome"] == "failed"}
    assert failed.pop("vm-2") == "no tape"
    assert "which the role has not created" in failed.pop("vm-5")
    assert "When the VM runs, run the role again" in failed.pop("vm-6")
    # Before 2.19 core says it in other words.
    assert re.search("Timed out|in the expected time frame", str(failed.pop("vm-7")))
    assert all(part in failed["vm-8"] for part in ("process 4711 on controller-2", OTHER_RUN))
    del failed["vm-8"]
    assert ["a migration is going on" in message for message in failed.values()] == [True]
    assert {entry["error"] for entry in report.values() if entry["outcome"] == "full"} == {None}
    assert [name for name, entry in report.items() if not entry["session_ended"]] == ["vm-6"]
    assert {name for name, status in statuses(service).items() if status == "Running"} == {"vm-5", "vm-6"}
    assert statuses(service).keys() == vms.keys() - {"vm-4", "vm-8"}
    (description,) = {task["description"] for task in service.records("cbttask") if task not in tasks}
    assert description == f"{MARK} It copies to {playbook_runner.folder} on localhost."
    shown = {session["vm"]["name"]: session["exports"] for session in results_of(run, SHOW)}
    assert shown.keys() == report.keys() - {"vm-5", "vm-8", *failed}
    assert {export["uri"].partition("://")[0] for exports in shown.values() for export in exports} == {"nbd"}

    service.change("vm", vms["vm-6"], state="Running")
    run, report = run_role(playbook_runner, vms="vm-6", query=[], state="ended", copy_tasks=copier)
    assert (run.code, report["vm-6"]["outcome"]) == (0, "ended"), run.output
    assert scratch_volumes(service) == others
    assert [task for task in service.records("cbttask") if task["name"] == "nightly"] == tasks


def results_of(run: Run, task: str) -> list[dict[str, Any]]:
    """Return the messages of a task of a run."""
    return [played.result["msg"] for played in run if played.task == task]


def test_no_session_stays_open_if_the_mover_cannot_copy(
    service: Simulator, playbook_runner: PlaybookRunner, tmp_path: Path
) -> None:
    """The simulator has no disks, so no copy can succeed; a mover that is unreachable does not end the play."""
    make_repository(tmp_path)
    run, report = run_role(playbook_runner, vms="vm-1", query=[])
    assert run.code == 2, run.output
    assert (report["vm-1"]["outcome"], report["vm-1"]["session_ended"]) == ("failed", True)
    assert (statuses(service), scratch_volumes(service)) == ({"vm-1": "Stopped"}, [])
    assert list(tmp_path.rglob("manifest.json")) == []

    task = service.records("cbttask")[0]
    # A run with the mover that is gone now has left it open.
    service.change("cbttask", task["uuid"], description=f"{MARK} It copies to {tmp_path} on gone.")
    assert ModuleRunner(service)("cbt_task", {"uuid": task["uuid"], "state": "enabled"}).changed
    assert "Running" in statuses(service).values()
    gone = {"name": "gone", "groups": "movers", "ansible_connection": "ssh", "ansible_host": "127.0.0.1"}
    inventory = tmp_path / "hosts.yml"
    inventory.write_text(json.dumps({"all": {"hosts": {"gone": {**gone, "ansible_port": 1}}}}), encoding="utf-8")
    run, report = run_role(playbook_runner, "-i", str(inventory), vms="vm-1,vm-2", query=[], mover="gone")
    assert run.code == 2, run.output
    assert [*report] == ["vm-1", "vm-2"]
    assert all("The data mover gone cannot be used" in entry["error"] for entry in report.values())
    assert (statuses(service), scratch_volumes(service)) == ({"vm-1": "Stopped"}, [])


def test_a_repository_that_is_not_mounted(
    service: Simulator, playbook_runner: PlaybookRunner, tmp_path: Path, copier: str
) -> None:
    """No session opens. The first run is allowed to make it, which check mode predicts."""
    repository = tmp_path / "repository"
    repository.mkdir()
    options = {"vms": "vm-1", "query": [], "repository": str(repository), "copy_tasks": copier}
    run, report = run_role(playbook_runner, **options)
    assert run.code == 2, run.output
    assert "is not a repository, because it has no repository.txt" in report["vm-1"]["error"]
    assert (statuses(service), list(repository.iterdir())) == ({}, [])
    run, report = run_role(playbook_runner, "--check", **options, initialize=True)
    assert (run.code, report["vm-1"]["outcome"], list(repository.iterdir())) == (0, "full", []), run.output
    for first in (True, False):
        run, report = run_role(playbook_runner, **options, initialize=first)
        assert (run.code, report["vm-1"]["outcome"]) == (0, "full"), run.output
