"""Which snapshot groups the role vm_snapshots removes, and which never."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.launch import Simulator
from support.module_runner import ModuleRunner
from support.playbook_runner import PlaybookRunner, Run

MARK = "Taken by the role virtinfra.manager.vm_snapshots."
OLD = [f"scheduled-2026-01-0{day}" for day in range(1, 6)]

Report = dict[str, dict[str, Any]]


@pytest.fixture
def service(sim: Simulator) -> Simulator:
    """A simulator with three VMs without snapshot groups."""
    sim.reset(vms=3, snapshot_groups=0, latency=0.01)
    return sim


def take(service: Simulator, vm: str, *names: str, description: str = MARK) -> None:
    """Take snapshot groups of a VM with the module, one after the other."""
    for name in names:
        options = {"vm": vm, "name": name, "description": description}
        assert ModuleRunner(service)("vm_snapshot_group", options).changed


def groups(service: Simulator) -> dict[str, list[str]]:
    """Return the names of all snapshot groups by the names of their VMs."""
    names = {vm["uuid"]: vm["name"] for vm in service.records("vm")}
    found: dict[str, list[str]] = {name: [] for name in names.values()}
    for group in service.records("snapshotgroup"):
        found[names[group["vmInstanceUuid"]]].append(group["name"])
    return found


def run_role(playbook_runner: PlaybookRunner, *arguments: str, **variables: Any) -> tuple[Run, Report]:
    """Run the role for all VMs, and return its report by the names of the VMs."""
    given = {"vm_snapshots_query": ["name~=vm-%"], "vm_snapshots_keep": 2, **variables}
    role = {"ansible.builtin.include_role": {"name": "virtinfra.manager.vm_snapshots"}}
    run = playbook_runner.play(role, vars=given, ignore_errors=False, arguments=arguments)
    return run, {entry["vm"]: entry for entry in run.get_fact("vm_snapshots_report")}


def test_snapshots_keep_the_last_ones_and_those_of_others(service: Simulator, playbook_runner: PlaybookRunner) -> None:
    """Groups with another description, name, interval or prefix stay; a second run changes nothing."""
    others = ["by-hand", "scheduled-2026-01-01T05Z", "scheduled-2026-01-01-copy", "nightly-2026-01-01", "scheduled-"]
    take(service, "vm-1", *OLD, *others)
    take(service, "vm-1", "scheduled-2026-01-06", description="before the upgrade")
    take(service, "vm-2", OLD[0])
    before = service.state()

    run, predicted = run_role(playbook_runner, "--check")
    assert run.code == 0, run.output
    assert service.state() == before

    run, report = run_role(playbook_runner)
    assert run.code == 0, run.output
    new = report["vm-1"]["snapshot_group"]
    assert groups(service) == {
        "vm-1": [OLD[4], *others, "scheduled-2026-01-06", new],
        "vm-2": [OLD[0], new],
        "vm-3": [new],
    }
    assert {name: entry["removed"] for name, entry in report.items()} == {"vm-1": OLD[3::-1], "vm-2": [], "vm-3": []}
    assert [entry["outcome"] for entry in report.values()] == ["changed"] * 3
    assert predicted == {name: {**entry, "snapshot_group_uuid": None} for name, entry in report.items()}
    written = [call for played in run for call in played.written]
    assert written == ["CreateVolumeSnapshotGroup"] * 3 + ["DeleteVolumeSnapshotGroup"] * 4

    run, report = run_role(playbook_runner)
    assert [entry["outcome"] for entry in report.values()] == ["unchanged"] * 3
    assert [call for played in run for call in played.written] == []

    run, report = run_role(playbook_runner, vm_snapshots_state="absent")
    assert run.code == 0, run.output
    assert report["vm-1"]["removed"] == [new, OLD[4]]
    assert groups(service) == {"vm-1": [*others, "scheduled-2026-01-06"], "vm-2": [], "vm-3": []}
    run, report = run_role(playbook_runner, vm_snapshots_state="absent")
    assert [entry["outcome"] for entry in report.values()] == ["unchanged"] * 3


def test_a_text_of_the_command_line_selects_one_vm(service: Simulator, playbook_runner: PlaybookRunner) -> None:
    """A search for a substring would select vm-1 and vm-11."""
    service.change("vm", service.records("vm")[1]["uuid"], name="vm-11")
    run, report = run_role(playbook_runner, "-e", "vm_snapshots_vms=vm-11")
    assert (run.code, list(report)) == (0, ["vm-11"]), run.output


def test_the_output_counts_changes_and_names_each_failure(service: Simulator, playbook_runner: PlaybookRunner) -> None:
    """In the summary, and in the message of the last task, which newer cores print twice."""
    first = service.records("vm")[0]
    service.change("vm", first["uuid"], allVolumes=[{**volume, "status": "Creating"} for volume in first["allVolumes"]])
    run, report = run_role(playbook_runner, vm_snapshots_vms=["vm-1", "vm-2", "vm-9"], vm_snapshots_query=[])
    assert [entry["outcome"] for entry in report.values()] == ["failed", "changed", "failed"]
    assert "changed=1 " in run.output
    assert "2 of 3 VMs failed" in run.output
    assert 1 < run.output.count("is not ready") == run.output.count("No such VM") <= 3
    assert "changed: vm-2" in run.output
    assert len(list(filter(None, run.output.splitlines()))) <= 35
