"""The sessions that the role vm_backup opens and ends, with tasks of a user as the copier."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from simulator.launch import Simulator
from support.examples import FACTOR
from support.module_runner import ModuleRunner
from support.playbook_runner import PlaybookRunner, Run

MARK = "Backup session of the role virtinfra.manager.vm_backup."

# With 30 VMs the test takes a minute, and more on a machine that does other work.
MANY = 6 if FACTOR == 1 else 30

Report = dict[str, dict[str, Any]]


@pytest.fixture
def service(sim: Simulator) -> Simulator:
    """A simulator with four running VMs without CBT tasks."""
    sim.reset(vms=4, cbt_tasks=0, latency=0.01)
    for vm in sim.records("vm"):
        sim.change("vm", vm["uuid"], state="Running")
    return sim


@pytest.fixture
def copier(tmp_path: Path) -> Path:
    """Tasks that write what they get into a file for each VM, and fail for the VM vm-2."""
    path = tmp_path / "copy.yml"
    content = "{{ vm_backup_session | to_json }}"
    tasks = [
        {"ansible.builtin.copy": {"content": content, "dest": f"{tmp_path}/{{{{ vm_backup_session.vm.name }}}}.json"}},
        {"ansible.builtin.fail": {"msg": "no tape"}, "when": "vm_backup_session.vm.name == 'vm-2'"},
    ]
    path.write_text(json.dumps(tasks), encoding="utf-8")
    return path


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


def test_sessions_are_ended_whatever_the_copy_does(
    service: Simulator, playbook_runner: PlaybookRunner, copier: Path
) -> None:
    stopped = service.records("vm")[3]
    service.change("vm", stopped["uuid"], state="Stopped")
    before = service.state()
    run, predicted = run_role(playbook_runner, "--check", copy_tasks=str(copier))
    assert run.code == 0, run.output
    assert service.state() == before
    assert [entry["outcome"] for entry in predicted.values()] == ["skipped", "full", "full", "full"]

    run, report = run_role(playbook_runner, copy_tasks=str(copier))
    assert run.code == 2, run.output
    outcomes = {name: (entry["outcome"], entry["session_ended"], entry["error"]) for name, entry in report.items()}
    reason = "The VM is Stopped. A backup session needs a running VM."
    assert outcomes == {
        "vm-1": ("full", True, None),
        "vm-2": ("failed", True, "no tape"),
        "vm-3": ("full", True, None),
        "vm-4": ("skipped", True, reason),
    }
    assert "1 of 4 VMs failed" in run.output
    assert statuses(service) == dict.fromkeys(("vm-1", "vm-2", "vm-3"), "Stopped")
    assert scratch_volumes(service) == []
    session = json.loads(copier.with_name("vm-1.json").read_text(encoding="utf-8"))
    assert session["vm"]["name"] == "vm-1"
    assert [export["uri"].partition("://")[0] for export in session["exports"]] == ["nbd"] * len(session["exports"])
    assert {task["description"] for task in service.records("cbttask")} == {MARK}


def test_a_task_of_the_user_that_hangs(service: Simulator, playbook_runner: PlaybookRunner, copier: Path) -> None:
    tasks = [{"ansible.builtin.command": {"argv": ["sleep", "60"]}, "when": "vm_backup_session.vm.name == 'vm-1'"}]
    copier.write_text(json.dumps(tasks), encoding="utf-8")
    run, report = run_role(playbook_runner, vms="vm-1,vm-2", query=[], copy_tasks=str(copier), timeout=3)
    assert run.code == 2, run.output
    assert {name: entry["outcome"] for name, entry in report.items()} == {"vm-1": "failed", "vm-2": "full"}
    assert (statuses(service), scratch_volumes(service)) == ({"vm-1": "Stopped", "vm-2": "Stopped"}, [])


def test_many_vms_of_which_one_fails_in_each_step(
    service: Simulator, playbook_runner: PlaybookRunner, copier: Path
) -> None:
    """The others are copied, all sessions are ended, and that of another product stays open."""
    service.reset(vms=MANY, cbt_tasks=0, latency=0)
    vms = {vm["name"]: vm["uuid"] for vm in service.records("vm")}
    for name, uuid in vms.items():
        service.change("vm", uuid, state="Stopped" if name == "vm-4" else "Running")
    foreign = {"name": "nightly", "vm": vms["vm-5"], "state": "enabled"}
    assert ModuleRunner(service)("cbt_task", foreign).changed
    others = scratch_volumes(service)
    tasks = service.records("cbttask")
    error = {"code": "SYS.1006", "details": "a migration is going on"}
    service.fault("fail", operation="EnableCbtTask", error=error)
    stop = {"virtinfra.manager.vm": {"uuid": vms["vm-6"], "state": "stopped"}}
    steps = json.loads(copier.read_text(encoding="utf-8"))
    steps.append({**stop, "when": "vm_backup_session.vm.name == 'vm-6'"})
    copier.write_text(json.dumps(steps), encoding="utf-8")
    run, report = run_role(playbook_runner, copy_tasks=str(copier))
    assert run.code == 2, run.output
    failed = {name: entry["error"] for name, entry in report.items() if entry["outcome"] == "failed"}
    assert (len(report), len(failed), report["vm-4"]["outcome"]) == (MANY, 4, "skipped")
    assert failed.pop("vm-2") == "no tape"
    assert "which the role has not created" in failed.pop("vm-5")
    assert "When the VM runs, run the role again" in failed.pop("vm-6")
    assert all("a migration is going on" in message for message in failed.values())
    assert [name for name, entry in report.items() if not entry["session_ended"]] == ["vm-6"]
    assert {name for name, status in statuses(service).items() if status == "Running"} == {"vm-5", "vm-6"}

    service.change("vm", vms["vm-6"], state="Running")
    run, report = run_role(playbook_runner, vms="vm-6", query=[], state="ended", copy_tasks=str(copier))
    assert (run.code, report["vm-6"]["outcome"]) == (0, "ended"), run.output
    assert scratch_volumes(service) == others
    assert [task for task in service.records("cbttask") if task["name"] == "nightly"] == tasks


def test_no_session_stays_open_if_the_mover_cannot_copy(
    service: Simulator, playbook_runner: PlaybookRunner, tmp_path: Path
) -> None:
    """The simulator has no disks, so no copy can succeed; a mover that is unreachable does not end the play."""
    run, report = run_role(playbook_runner, vms="vm-1,vm-2", query=[], repository=str(tmp_path))
    assert run.code == 2, run.output
    assert [entry["outcome"] for entry in report.values()] == ["failed"] * 2
    assert [entry["session_ended"] for entry in report.values()] == [True] * 2
    assert (statuses(service), scratch_volumes(service)) == ({"vm-1": "Stopped", "vm-2": "Stopped"}, [])
    assert list(tmp_path.rglob("manifest.json")) == []

    task = service.records("cbttask")[0]
    assert ModuleRunner(service)("cbt_task", {"uuid": task["uuid"], "state": "enabled"}).changed
    assert "Running" in statuses(service).values()
    gone = {"name": "gone", "groups": "movers", "ansible_connection": "ssh", "ansible_host": "127.0.0.1"}
    inventory = tmp_path / "hosts.yml"
    inventory.write_text(json.dumps({"all": {"hosts": {"gone": {**gone, "ansible_port": 1}}}}), encoding="utf-8")
    run, report = run_role(
        playbook_runner, "-i", str(inventory), vms="vm-1,vm-2", query=[], repository=str(tmp_path), mover="gone"
    )
    assert run.code == 2, run.output
    assert all("The data mover gone cannot be used" in entry["error"] for entry in report.values())
    assert (statuses(service), scratch_volumes(service)) == ({"vm-1": "Stopped", "vm-2": "Stopped"}, [])


def test_two_controllers_with_tasks_of_the_user(
    service: Simulator, playbook_runner: PlaybookRunner, copier: Path, tmp_path: Path
) -> None:
    """The second one fails the VM that the first one has, and neither opens nor ends its session."""
    (vm, other, *dummy) = service.records("vm")
    run = "5f0c3a52-7d3e-4c1b-9a58-0e5a3f1b2c4d"
    owner = {"host": "controller-2", "machine": "elsewhere", "process": 4711, "began": "1", "patience": 900}
    taking = {"repository": str(tmp_path), "run": run, "owner": owner, "vm_uuids": [vm["uuid"]]}
    assert playbook_runner.run_module("backup_run", taking).result["taken"] == [vm["uuid"]]
    played, report = run_role(
        playbook_runner, vms=f"{vm['name']},{other['name']}", query=[], copy_tasks=str(copier), repository=str(tmp_path)
    )
    assert played.code == 2
    assert "process 4711 on controller-2" in report[vm["name"]]["error"]
    assert run in report[vm["name"]]["error"]
    assert (statuses(service).get(vm["name"]), statuses(service)[other["name"]]) == (None, "Stopped")
    ending = {"repository": str(tmp_path), "run": "1" * 32, "vm_uuids": [vm["uuid"]], "ended": [run]}
    playbook_runner.run_module("backup_run", ending)
    playbook_runner.run_module("backup_run", {"repository": str(tmp_path), "run": "1" * 32, "state": "absent"})
    played, report = run_role(
        playbook_runner, vms=vm["name"], query=[], copy_tasks=str(copier), repository=str(tmp_path)
    )
    assert (played.code, report[vm["name"]]["outcome"]) == (0, "full"), played.output
