# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which snapshot groups the role vm_snapshots removes, and which never."""

from __future__ import annotations

import json
from typing import Any

import pytest

from simulator.launch import Simulator
from support.playbook_runner import PlaybookRunner, Run

MARK = "Taken by the role virtinfra.manager.vm_snapshots."
OLD = [f"scheduled-2026-01-0{day}" for day in range(1, 6)]

Report = dict[str, dict[str, Any]]


@pytest.fixture
def service(sim: Simulator) -> Simulator:
    """A simulator with three VMs without snapshot groups."""
    sim.reset(vms=3, snapshot_groups=0, latency=0.01)
    return sim


def take(playbook_runner: PlaybookRunner, vm: str, *names: str, description: str = MARK) -> None:
    """Take snapshot groups of a VM with the module, one after the other."""
    options = {"vm": vm, "name": "{{ item }}", "description": description}
    run = playbook_runner.play({"virtinfra.manager.vm_snapshot_group": options, "loop": list(names)})
    assert run.tasks[0].status == "ok", run.output


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
    take(playbook_runner, "vm-1", *OLD, *others)
    take(playbook_runner, "vm-1", "scheduled-2026-01-06", description="before the upgrade")
    take(playbook_runner, "vm-2", OLD[0])
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


def test_snapshots_of_a_vm_stay_unless_its_new_one_exists(service: Simulator, playbook_runner: PlaybookRunner) -> None:
    """One VM's job fails, another one's group is foreign; only the third loses an old group."""
    for vm in ("vm-1", "vm-2", "vm-3"):
        take(playbook_runner, vm, *OLD[:3])
    first = service.records("vm")[0]
    service.change("vm", first["uuid"], allVolumes=[{**volume, "status": "Creating"} for volume in first["allVolumes"]])
    dummy, predicted = run_role(playbook_runner, "--check")
    take(playbook_runner, "vm-2", predicted["vm-2"]["snapshot_group"], description="by hand")

    run, report = run_role(playbook_runner)
    assert run.code == 2
    new = report["vm-3"]["snapshot_group"]
    assert {name: entry["outcome"] for name, entry in report.items()} == {
        "vm-1": "failed",
        "vm-2": "failed",
        "vm-3": "changed",
    }
    assert "is not ready" in report["vm-1"]["error"]
    assert "that the role did not take" in report["vm-2"]["error"]
    assert groups(service) == {"vm-1": OLD[:3], "vm-2": [*OLD[:3], new], "vm-3": [OLD[2], new]}
    assert [group["description"] for group in service.records("snapshotgroup") if group["name"] == new] == [
        "by hand",
        MARK,
    ]


def test_snapshots_that_cannot_be_removed_fail_for_their_vm(
    service: Simulator, playbook_runner: PlaybookRunner
) -> None:
    """The old group of vm-1 remains in part, and does not count as kept."""
    for vm in ("vm-1", "vm-2"):
        take(playbook_runner, vm, *OLD[:2])
    broken = next(group for group in service.records("snapshotgroup") if group["name"] == OLD[0])
    service.configure(failing_snapshots=[broken["volumeSnapshotRefs"][0]["volumeSnapshotUuid"]])
    run, report = run_role(playbook_runner)
    assert run.code == 2
    assert [entry["outcome"] for entry in report.values()] == ["failed", "changed", "changed"]
    assert "1 of 2 snapshots failed" in report["vm-1"]["error"]
    service.configure(failing_snapshots=[])
    run, report = run_role(playbook_runner)
    assert run.code == 0, run.output
    assert report["vm-1"]["removed"] == [OLD[0]]


def test_snapshots_stop_at_a_server_that_removes_chains(service: Simulator, playbook_runner: PlaybookRunner) -> None:
    """The first removal is of a VM without groups of others, and the only one."""
    take(playbook_runner, "vm-1", *OLD[:2], "by-hand")
    take(playbook_runner, "vm-2", *OLD[:2])
    take(playbook_runner, "vm-3", *OLD[:2])
    service.configure(version="4.10.0")
    run, report = run_role(playbook_runner)
    new = report["vm-1"]["snapshot_group"]
    assert run.code == 2
    assert groups(service) == {"vm-1": [*OLD[:2], "by-hand", new], "vm-2": [], "vm-3": [*OLD[:2], new]}
    assert [entry["outcome"] for entry in report.values()] == ["changed", "failed", "changed"]
    assert f"{OLD[1]}, {new}" in report["vm-2"]["error"]
    assert "vm_snapshots_keep" in report["vm-2"]["error"]


def test_snapshots_of_named_vms(service: Simulator, playbook_runner: PlaybookRunner) -> None:
    """Two VMs have one name, one is given by its uuid, one is missing, one is stopped and has no memory."""
    first, second, third = service.records("vm")
    service.change("vm", second["uuid"], name="vm-1")
    service.change("vm", third["uuid"], state="Stopped")
    chosen = {"vm_snapshots_query": [], "vm_snapshots_memory": True, "vm_snapshots_interval": "minute"}
    run, report = run_role(playbook_runner, vm_snapshots_vms=["vm-1", first["uuid"], "vm-3", "vm-9"], **chosen)
    assert run.code == 2
    memories = {group["vmInstanceUuid"]: group["_withMemory"] for group in service.records("snapshotgroup")}
    assert memories == {first["uuid"]: True, third["uuid"]: False}
    assert report["vm-9"]["vm_uuid"] is None
    assert "No such VM" in report["vm-9"]["error"]
    assert "Several VMs have this name" in json.dumps([entry["error"] for entry in report.values()])
