"""What the workflow vm_backup_restore refuses, and that it ends what it has exported."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.launch import Simulator
from support.module_runner import ModuleRunner
from support.workflow_runner import WorkflowRun, WorkflowRunner

STAMP = "20261127T021500Z"


@pytest.fixture
def service(sim: Simulator) -> Simulator:
    """A simulator with two stopped VMs without CBT tasks."""
    sim.reset(vms=2, cbt_tasks=0)
    for vm in sim.records("vm"):
        sim.change("vm", vm["uuid"], state="Stopped")
    return sim


def step(work: WorkflowRunner, name: str, given: Any = None, check: bool = False, **variables: Any) -> WorkflowRun:
    """Run a step of the workflow for the VM vm-1."""
    values = {"vm": "vm-1", "repository": "/srv/backups", "confirm": "vm-1", **variables}
    prefixed = {f"vm_backup_restore_{key}": value for key, value in values.items()}
    return work("vm_backup_restore", prefixed, check, step=name, given=given)


def list_points(service: Simulator, number: int = 0, **members: Any) -> dict[str, Any]:
    """Return what backup_point_info returns: a point of a VM."""
    vm = service.records("vm")[number]
    volumes = [{"volume_uuid": each["uuid"], "size": each["size"]} for each in vm["allVolumes"]]
    point = {"vm_uuid": vm["uuid"], "vm_name": vm["name"], "point": STAMP, "whole": True, "problems": []}
    return {"points": [{**point, "volumes": volumes, **members}], "running": [], "runs": []}


def taken(planned: dict[str, Any], *others: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what backup_run returned for the runs of a plan."""
    return [{"taken": run["vm_uuids"], "others": list(others)} for run in planned["runs"]]


def other_run(service: Simulator, **members: Any) -> dict[str, Any]:
    """Return a run on another machine that has taken vm-1."""
    owner = {"host": "controller-2", "machine": "elsewhere", "process": 4711, "began": "1"}
    uuids = [service.records("vm")[0]["uuid"]]
    return {
        "run": "5f0c3a52-7d3e-4c1b-9a58-0e5a3f1b2c4d",
        "owner": owner,
        "vm_uuids": uuids,
        "silent_seconds": 5,
        **members,
    }


def plan(service: Simulator, work: WorkflowRunner, **variables: Any) -> WorkflowRun:
    """Plan the restore of a point of vm-1."""
    return step(work, "plan", {"listed": list_points(service)}, **variables)


def test_a_restore_from_its_plan_to_its_end(service: Simulator, work: WorkflowRunner) -> None:
    planned = plan(service, work).result["next"]
    assert f"The point {STAMP} of vm-1 overwrites these volumes of vm-1:" in planned["lines"]
    assert step(work, "confirm", {"plan": planned}).result["failed_count"] == 0
    begun = step(work, "begin", {"plan": planned, "taken": taken(planned)})
    assert begun.calls == ["CreateVolumeSnapshotGroup", "ExportNbdVolumes"]
    (work_item,) = begun.result["next"]["work"]
    assert [info["source"] for info in work_item["volumes"]] == [target["source"] for target in planned["targets"]]
    written = {"target": "t", "size": 1, "bytes_written": 5, "verified": True}
    volumes = [{**written, "volume_uuid": target["source"], "state": "restored"} for target in planned["targets"]]
    given = {
        "plan": planned,
        "taken": taken(planned),
        "begun": begun.result,
        "restored": [{"failed": False, "volumes": volumes}],
    }
    ended = step(work, "end", given, start=True)
    assert ended.calls == ["UnexportNbdVolumes", "StartVmInstance"]
    assert {entry["outcome"] for entry in ended.report} == {"changed"}
    assert ended.report[0]["snapshot_group"] == begun.result["next"]["snapshot_group"]


def test_check_mode_writes_nothing(service: Simulator, work: WorkflowRunner) -> None:
    planned = plan(service, work, check=True).result["next"]
    step(work, "confirm", {"plan": planned}, check=True, confirm=None)
    begun = step(work, "begin", {"plan": planned, "taken": taken(planned)}, check=True)
    ended = step(
        work, "end", {"plan": planned, "taken": taken(planned), "begun": begun.result, "restored": []}, check=True
    )
    assert (begun.calls, begun.result["next"]["work"], ended.calls) == ([], [], [])
    assert {entry["outcome"] for entry in ended.report} == {"changed"}


def test_what_is_refused(service: Simulator, work: WorkflowRunner) -> None:
    first, second = service.records("vm")
    root, other = first["rootVolumeUuid"], second["rootVolumeUuid"]
    grown = list_points(service)
    grown["points"][0]["volumes"][0]["size"] += 512
    shrunk = list_points(service)
    shrunk["points"][0]["volumes"][0]["size"] -= 512
    broken = list_points(service, whole=False, problems=["a file is missing"])
    running = {**list_points(service), "running": [{"vm_uuid": first["uuid"], "point": STAMP}]}
    refused: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
        ("does not have a point", {"points": [], "running": [], "runs": []}, {}),
        ("process 4711 on controller-2", {**list_points(service), "runs": [other_run(service)]}, {}),
        ("does not have the point 20200101T000000Z", list_points(service), {"point": "20200101T000000Z"}),
        ("is not whole: a file is missing", broken, {}),
        ("another task copies or restores vm-1", running, {}),
        ("and its copy", grown, {"allow_larger": True}),
        ("and its copy", shrunk, {}),
        (f"the volume {other} is not attached to vm-1", list_points(service), {"map": {root: other}}),
        ("has no volumes nothing", list_points(service), {"volumes": ["nothing"]}),
        ("no VM has the name or uuid vm-9", list_points(service), {"vm": "vm-9"}),
    ]
    for message, listed, variables in refused:
        ran = step(work, "plan", {"listed": listed}, **variables)
        assert (message in ran.message, "Nothing was changed." in ran.message, ran.calls) == (True, True, []), (
            ran.message
        )
    assert "next" in step(work, "plan", {"listed": shrunk}, allow_larger=True).result
    wrong = step(work, "confirm", {"plan": plan(service, work).result["next"]}, confirm="vm-2")
    assert "must be the name of the VM, vm-1" in wrong.message


@pytest.mark.parametrize("state", ["Running", "Paused", "Unknown"])
def test_never_into_a_vm_that_does_not_stand_still(service: Simulator, work: WorkflowRunner, state: str) -> None:
    """Servers refuse to export the volumes of a running VM only."""
    planned = plan(service, work).result["next"]
    service.change("vm", planned["vm"]["uuid"], state=state)
    assert f"vm-1 is {state}" in plan(service, work).message
    begun = step(work, "begin", {"plan": planned, "taken": taken(planned)})
    assert (f"it is {state}" in begun.result["next"]["problem"], begun.calls) == (True, [])


def test_a_failure_names_the_half_written_volume_and_the_snapshot_group(
    service: Simulator, work: WorkflowRunner
) -> None:
    planned = plan(service, work).result["next"]
    begun = step(work, "begin", {"plan": planned, "taken": taken(planned)})
    written = {"volume_uuid": planned["targets"][0]["source"], "target": "t", "size": 1, "state": "incomplete"}
    failed = {"failed": True, "msg": "the export was cut.", "volumes": [written]}
    ended = step(
        work, "end", {"plan": planned, "taken": taken(planned), "begun": begun.result, "restored": [failed]}, start=True
    )
    assert ended.calls == ["UnexportNbdVolumes"]
    (entry,) = ended.report
    assert entry["outcome"] == "failed"
    for part in (
        "the export was cut.",
        "The VM was not started.",
        "half written",
        "Run the role again",
        begun.result["next"]["snapshot_group"],
    ):
        assert part in entry["error"]


def test_a_mover_that_does_not_say_what_it_has_written(service: Simulator, work: WorkflowRunner) -> None:
    """Its process was killed, or its machine cannot be reached: the volume is not called untouched."""
    planned = plan(service, work).result["next"]
    begun = step(work, "begin", {"plan": planned, "taken": taken(planned)})
    lost = {"unreachable": True, "msg": "no route to host"}
    given = {"plan": planned, "taken": taken(planned), "begun": begun.result, "restored": [lost]}
    (entry, *dummy) = step(work, "end", given, start=True).report
    assert (entry["outcome"], entry["state"]) == ("failed", "unknown")
    assert "no route to host. The VM was not started. This volume may be half written." in entry["error"]
    refused = {**given, "restored": [{"failed": True, "changed": False, "msg": "no qemu-img.", "volumes": []}]}
    (entry, *dummy) = step(work, "end", refused).report
    assert (entry["state"], "was not overwritten" in entry["error"]) == ("untouched", True)


def test_a_vm_that_another_run_has(service: Simulator, work: WorkflowRunner) -> None:
    """Its exports stay, since they are those of the other run. A run that has ended does not count."""
    planned = plan(service, work).result["next"]
    others = taken(planned, other_run(service))
    begun = step(work, "begin", {"plan": planned, "taken": others})
    assert ("process 4711 on controller-2" in begun.message, begun.calls) == (True, [])
    ended = step(work, "end", {"plan": planned, "taken": others, "begun": begun.result, "restored": []})
    assert (ended.calls, {entry["state"] for entry in ended.report}) == ([], {"untouched"})
    silent = {**list_points(service), "runs": [other_run(service, silent_seconds=5000)]}
    assert step(work, "plan", {"listed": silent}).result["next"]["runs"][0]["ended"] == [other_run(service)["run"]]


def test_a_vm_that_was_made_again(service: Simulator, work: WorkflowRunner) -> None:
    """The map says which volumes get the copies of the other VM."""
    first, second = service.records("vm")
    service.change("volume", second["rootVolumeUuid"], size=first["allVolumes"][0]["size"])
    mapped = {first["rootVolumeUuid"]: second["rootVolumeUuid"]}
    volumes = [{"volume_uuid": first["rootVolumeUuid"], "size": first["allVolumes"][0]["size"]}]
    listed = list_points(service, volumes=volumes)
    planned = step(work, "plan", {"listed": listed}, vm="vm-2", map=mapped)
    (target,) = planned.result["next"]["targets"]
    assert (target["source"], target["uuid"]) == (first["rootVolumeUuid"], second["rootVolumeUuid"])


def test_copies_of_several_vms(service: Simulator, work: WorkflowRunner) -> None:
    """Points of two VMs have the name of the VM, or the volumes of the map: a uuid says which one is meant."""
    two = list_points(service)
    two["points"] += list_points(service, vm_uuid="f" * 32)["points"]
    files: dict[str, Any] = {"to_directory": "/srv/files", "confirm": None}
    refused = step(work, "plan", {"listed": two}, **files)
    assert "several VMs have such points: " in refused.message
    assert "f" * 32 in refused.message
    chosen = step(work, "plan", {"listed": two}, **files, vm="f" * 32)
    assert chosen.result["next"]["point"]["vm_uuid"] == "f" * 32


def test_files_need_no_vm(service: Simulator, work: WorkflowRunner) -> None:
    listed = list_points(service, vm_name="gone")
    variables: dict[str, Any] = {"vm": "gone", "to_directory": "/srv/files", "confirm": None}
    planned = step(work, "plan", {"listed": listed}, **variables)
    begun = step(work, "begin", {"plan": planned.result["next"], "taken": []}, **variables)
    assert begun.result["next"]["work"][0]["directory"] == "/srv/files"
    assert (planned.calls, begun.calls) == ([], [])
    assert "does not touch the VM" in step(work, "select", **variables, stop=True).message


def test_the_variables_of_a_restore_are_not_those_of_a_backup(service: Simulator, work: WorkflowRunner) -> None:
    """The name of one role is the beginning of the other's, and a play can have the variables of both."""
    given = {"vm_backup_vms": ["vm-1"], "vm_backup_repository": "/srv/backups", "vm_backup_restore_vm": "vm-1"}
    assert "next" in work("vm_backup", given, step="select").result
    assert "no variable vm_backup_repositry" in work("vm_backup", {"vm_backup_repositry": "x"}, step="select").message


def begin_and_end(work: WorkflowRunner, planned: dict[str, Any], **variables: Any) -> tuple[WorkflowRun, WorkflowRun]:
    """Run the steps that begin and end a restore whose data mover has nothing to write."""
    known = {"plan": planned, "taken": taken(planned)}
    begun = step(work, "begin", known, **variables)
    return begun, step(work, "end", {**known, "begun": begun.result, "restored": []}, **variables)


def test_a_failed_export_names_what_was_done_before(service: Simulator, work: WorkflowRunner) -> None:
    """The snapshot group was taken and the VM stopped, and nobody else says so."""
    vm = service.records("vm")[0]["uuid"]
    service.change("vm", vm, state="Running")
    planned = plan(service, work, stop=True).result["next"]
    service.fault("fail", "ExportNbdVolumes", error={"code": "SYS.1000", "details": "no port is free"})
    begun, ended = begin_and_end(work, planned, stop=True, start=True)
    group = begun.result["next"]["snapshot_group"]
    assert (begun.result["changed"], ended.calls) == (True, ["UnexportNbdVolumes"])
    assert group in [each["name"] for each in service.records("snapshotgroup")]
    assert {(entry["state"], entry["snapshot_group"]) for entry in ended.report} == {("untouched", group)}
    for part in ("no port is free", "The VM was not started. This volume was not overwritten."):
        assert part in ended.report[0]["error"]


@pytest.mark.parametrize("operation", ["StopVmInstance", "CreateVolumeSnapshotGroup"])
def test_exports_of_others_stay_when_a_step_before_has_failed(
    service: Simulator, work: WorkflowRunner, operation: str
) -> None:
    planned = plan(service, work).result["next"]
    vm = planned["vm"]["uuid"]
    exported = export(service, work)
    if operation == "StopVmInstance":
        service.change("vm", vm, state="Running")
        planned = plan(service, work, stop=True).result["next"]
    service.fault("fail", operation, error={"code": "SYS.1000", "details": "no host"})
    dummy, ended = begin_and_end(work, planned, stop=True, start=True)
    assert ("no host" in ended.report[0]["error"], ended.calls) == (True, [])
    # The VM that could not be stopped runs.
    assert ("The VM was not started" in ended.report[0]["error"]) == (operation != "StopVmInstance")
    assert service.state()["exported"] == exported


def export(service: Simulator, work: WorkflowRunner) -> dict[str, list[str]]:
    """Export the volumes of vm-1, as another product does, and return all exports."""
    vm = service.records("vm")[0]
    volumes = [volume["uuid"] for volume in vm["allVolumes"]]
    ModuleRunner(service)("cbt_volume_export", {"vm": vm["uuid"], "volumes": volumes})
    exported: dict[str, list[str]] = service.state()["exported"]
    assert len(exported[vm["uuid"]]) == len(volumes)
    return exported


def test_volumes_that_another_product_writes(service: Simulator, work: WorkflowRunner) -> None:
    """Their exports stay, and the report says how to end those that nobody uses."""
    exported = export(service, work)
    dummy, ended = begin_and_end(work, plan(service, work).result["next"])
    assert (ended.calls, service.state()["exported"]) == ([], exported)
    assert "and nobody uses the exports, end them with the module cbt_volume_export" in ended.report[0]["error"]


def test_the_exports_of_a_run_that_was_killed_are_ended_before(service: Simulator, work: WorkflowRunner) -> None:
    export(service, work)
    killed = {**list_points(service), "runs": [other_run(service, silent_seconds=5000)]}
    begun, ended = begin_and_end(work, step(work, "plan", {"listed": killed}).result["next"])
    assert begun.calls == ["CreateVolumeSnapshotGroup", "UnexportNbdVolumes", "ExportNbdVolumes"]
    assert ("problem" in begun.result["next"], ended.outcomes) == (False, ["untouched", "untouched"])


def test_exports_that_cannot_be_ended_are_named(service: Simulator, work: WorkflowRunner) -> None:
    planned = plan(service, work).result["next"]
    service.fault("fail", "UnexportNbdVolumes", error={"code": "SYS.1000", "details": "no agent"})
    dummy, ended = begin_and_end(work, planned, start=True)
    assert ended.calls == ["UnexportNbdVolumes"]
    for part in ("no agent", "To be safe, end them with the module cbt_volume_export", "The VM was not started."):
        assert part in ended.report[0]["error"]


def test_a_vm_that_was_deleted_meanwhile(service: Simulator, work: WorkflowRunner) -> None:
    planned = plan(service, work).result["next"]
    service.change("vm", planned["vm"]["uuid"], state="Destroyed")
    begun, ended = begin_and_end(work, planned)
    assert (begun.calls, ended.calls) == ([], [])
    assert "vm-1 has changed meanwhile: it is gone. No volume was overwritten." in ended.report[0]["error"]
