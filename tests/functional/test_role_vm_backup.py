"""The sessions that the role vm_backup opens and ends, of a simulator without disks, so that no copy can succeed."""

from __future__ import annotations

import json
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

Report = dict[str, dict[str, Any]]


@pytest.fixture
def service(sim: Simulator) -> Simulator:
    """A simulator with running VMs without CBT tasks. The VM vm-4 is stopped."""
    sim.reset(vms=MANY, cbt_tasks=0, latency=0)
    for vm in sim.records("vm"):
        sim.change("vm", vm["uuid"], state="Stopped" if vm["name"] == "vm-4" else "Running")
    return sim


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


def test_sessions_of_many_vms(service: Simulator, playbook_runner: PlaybookRunner) -> None:
    """All are ended but those of another product and of another controller."""
    vms = {vm["name"]: vm["uuid"] for vm in service.records("vm")}
    foreign = {"name": "nightly", "vm": vms["vm-5"], "state": "enabled"}
    assert ModuleRunner(service)("cbt_task", foreign).changed
    others, tasks = scratch_volumes(service), service.records("cbttask")
    taking = {"repository": str(make_repository(playbook_runner.folder)), "run": OTHER_RUN, "owner": OTHER_OWNER}
    taken = playbook_runner.run_module("backup_run", {**taking, "vm_uuids": [vms["vm-8"]]})
    assert taken.result["taken"] == [vms["vm-8"]]

    before = service.state()
    run, predicted = run_role(playbook_runner, "--check", stopped=False)
    assert run.code == 2, run.output
    assert service.state() == before
    assert {name: entry["outcome"] for name, entry in predicted.items() if entry["outcome"] != "full"} == {
        "vm-4": "skipped",
        "vm-5": "failed",
        "vm-8": "failed",
    }

    error = {"code": "SYS.1006", "details": "a migration is going on"}
    service.fault("fail", operation="EnableCbtTask", error=error)
    run, report = run_role(playbook_runner, stopped=False)
    assert run.code == 2, run.output
    assert len(report) == MANY
    assert f"{MANY - 1} of {MANY} VMs failed" in run.output
    skipped = report.pop("vm-4")
    reason = "The VM is Stopped. A copy needs a running VM: vm_backup_stopped is false."
    assert (skipped["outcome"], skipped["error"]) == ("skipped", reason)
    errors = {name: str(entry["error"]) for name, entry in report.items()}
    assert "which the role has not created" in errors.pop("vm-5")
    assert all(part in errors["vm-8"] for part in ("process 4711 on controller-2", OTHER_RUN))
    del errors["vm-8"]
    assert ["a migration is going on" in message for message in errors.values()].count(True) == 1
    assert {entry["session_ended"] for entry in report.values()} == {True}
    assert {name for name, status in statuses(service).items() if status == "Running"} == {"vm-5"}
    assert statuses(service).keys() == vms.keys() - {"vm-4", "vm-8"}
    (description,) = {task["description"] for task in service.records("cbttask") if task not in tasks}
    assert description == f"{MARK} It copies to {playbook_runner.folder} on localhost."
    assert scratch_volumes(service) == others
    assert [task for task in service.records("cbttask") if task["name"] == "nightly"] == tasks


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
    # A run with a data mover that is gone now has left the session open.
    service.change("cbttask", task["uuid"], description=f"{MARK} It copies to {tmp_path} on gone.")
    assert ModuleRunner(service)("cbt_task", {"uuid": task["uuid"], "state": "enabled"}).changed
    assert "Running" in statuses(service).values()
    gone = {"ansible_connection": "ssh", "ansible_host": "127.0.0.1", "ansible_port": 1}
    inventory, book = tmp_path / "hosts.yml", "virtinfra.manager.back_up_vms"
    inventory.write_text(json.dumps({"all": {"hosts": {"gone": gone}}}), encoding="utf-8")
    given = {"back_up_vms_pattern": "gone", "vm_backup_vms": "vm-1,vm-2", "vm_backup_repository": str(tmp_path)}
    environment = {"VIRTINFRA_BASE_URL": service.url, "VIRTINFRA_SESSION_ID": service.session}
    run = playbook_runner.playbook(book, ["-i", str(inventory), "-e", json.dumps(given)], environment)
    report = {entry["vm"]: entry for entry in run.get_fact("vm_backup_report")}
    assert run.code == 2, run.output
    assert [*report] == ["vm-1", "vm-2"]
    assert all("The data mover gone cannot be used" in entry["error"] for entry in report.values())
    assert (statuses(service), scratch_volumes(service)) == ({"vm-1": "Stopped"}, [])


def test_movers_that_the_inventory_lacks(playbook_runner: PlaybookRunner) -> None:
    """The playbook does not succeed without having done anything."""
    arguments = ["-e", json.dumps({"back_up_vms_pattern": "nobody", "vm_backup_vms": "vm-1"})]
    run = playbook_runner.playbook("virtinfra.manager.back_up_vms", arguments, {})
    assert (run.code, "No VM was backed up" in run.output) == (2, True), run.output
