"""What the workflow vm_backup_drill proves, and that nothing of a drill remains."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.filter.report_table import format_table
from ansible_collections.virtinfra.manager.plugins.plugin_utils._site.site import Site
from ansible_collections.virtinfra.manager.plugins.plugin_utils._vm_restores.vm_from_point import DRILL
from ansible_collections.virtinfra.manager.plugins.plugin_utils._workflows.vm_backup_drill import (
    LOCK,
    Settings,
    choose,
    has_answered,
    measure_spare,
    take_room,
)

from simulator.launch import Simulator
from support.module_runner import ModuleRunner
from support.restores import STAMP, DrillRunner, RestoreMover, check_all, write_all
from support.workflow_runner import Killed, WorkflowRunner, create_play, is_killed

FAILURE = {"code": "SYS.1000", "details": "no agent"}


@pytest.fixture
def service(sim: Simulator) -> Simulator:
    """A simulator with two VMs without CBT tasks."""
    sim.reset(vms=2, cbt_tasks=0)
    return sim


@pytest.fixture
def mover(service: Simulator, tmp_path: Path) -> RestoreMover:
    """A data mover with a point of each VM."""
    mover = RestoreMover(tmp_path / "repository")
    mover.listed = list_points(service)
    return mover


@pytest.fixture
def drill(work: WorkflowRunner, mover: RestoreMover) -> DrillRunner:
    return DrillRunner(work, mover)


def list_points(service: Simulator) -> dict[str, Any]:
    """Return what backup_point_info returns: a point of each VM."""
    points = []
    for record in ModuleRunner(service)("vm_info", {}).result["vms"]:
        copies = [
            {"volume_uuid": each["uuid"], "size": each["size"], "device_id": each["device_id"]}
            for each in record["all_volumes"]
        ]
        point = {"vm_uuid": record["uuid"], "vm_name": record["name"], "point": STAMP, "vm": record, "volumes": copies}
        points.append({**point, "whole": True, "future": False, "proved": None, "problems": []})
    return {"points": points, "runs": [], "running": []}


def list_marked(service: Simulator) -> list[str]:
    """Return the VMs with the mark of a drill."""
    return [vm["name"] for vm in service.records("vm") if str(vm["description"]).startswith(DRILL)]


def kill(drill: DrillRunner) -> None:
    """Kill a drill when it has made its first VM, and would write it."""
    runner = WorkflowRunner(drill.work.sim, 10_000)

    def end(dummy: Any) -> Any:
        # Nothing is sent any more.
        runner.sent = 10_000
        raise Killed

    drill.mover.write, write = end, drill.mover.write
    assert is_killed(DrillRunner(runner, drill.mover))
    drill.mover.write = write
    drill.work.sim.settle()
    for path in (drill.mover.repository / ".runs").glob("*.json"):
        path.unlink()


def test_a_drill_from_its_plan_to_its_end(service: Simulator, drill: DrillRunner, mover: RestoreMover) -> None:
    before = service.state()
    notes: list[dict[str, Any]] = [{"changed": True}, {"failed": True, "msg": "no space."}]
    mover.note = lambda dummy: notes.pop(0)
    done = drill()
    made = ["CreateVmInstance", "ExportNbdVolumes", "UnexportNbdVolumes"]
    assert done.calls[:8] == [*made, *made, "StartVmInstance", "StartVmInstance"]
    (taken, *dummy) = (given for module, given in mover.given if module == "backup_run")
    assert (taken["vm_uuids"][0], len(taken["vm_uuids"])) == (LOCK, 5)
    assert [(given["only_different"], given["remember"]) for given in mover.written] == [(False, False)] * 2
    proofs = [given["proof"] for module, given in mover.given if module == "backup_point"]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", proof.pop("time")) for proof in proofs)
    assert [{**proof, "restore_seconds": 0} for proof in proofs] == [
        {"level": "ran", "restore_seconds": 0, "watched_seconds": 0}
    ] * 2
    assert done.outcomes == ["ran", "failed"]
    assert done.report[1]["error"] == "It is ran, but that could not be noted: no space."
    after = service.state()
    assert all(after[kind] == before[kind] for kind in ("vm", "volume", "exported"))
    assert list((mover.repository / ".runs").glob("*.json")) == []


def test_check_mode_makes_nothing(service: Simulator, drill: DrillRunner, mover: RestoreMover) -> None:
    mover.listed["points"][0]["vm"]["cluster_uuid"] = "f" * 32
    done = drill(check=True)
    assert (done.calls, done.outcomes, done.result["changed"]) == ([], ["checked", "ran"], True)
    assert (mover.written, [module for module, dummy in mover.given if module == "backup_point"]) == ([], [])


def test_which_points_are_chosen() -> None:
    def point(vm: str, stamp: str, proved: str | None = None, level: str = "ran", **members: Any) -> dict[str, Any]:
        proof = proved and {"time": proved, "level": level}
        known = {"vm_uuid": vm, "vm_name": f"name-{vm}", "point": stamp, "whole": True, "problems": []}
        return {**known, "proved": proof, **members}

    points = [
        point("a", "1", "2026-11-20"),
        point("a", "2"),
        point("b", "1", "2026-11-10"),
        point("b", "2"),
        point("c", "1"),
        point("c", "9", future=True),
        point("d", "1", "2026-11-01"),
        point("e", "1", "2026-10-01", "checked"),
        point("f", "1"),
        point("f", "2", whole=False, problems=["a file is missing"]),
        point("g", "1", whole=False, problems=["a file is missing"]),
    ]
    cases: list[tuple[dict[str, Any], list[str]]] = [
        ({}, ["c1", "f1", "e1", "b2", "a2"]),
        ({"count": 2}, ["c1", "f1"]),
        ({"vms": ["a", "name-d"]}, ["a2"]),
    ]
    for variables, expected in cases:
        given = {"vms": [], "count": 0, **variables}
        chosen, failed = choose(points, build(**given))
        assert [f"{each['vm_uuid']}{each['point']}" for each in chosen] == expected
        errors = [] if given["vms"] else ["It has no whole point: a file is missing."]
        assert [each.build_entry().members["error"] for each in failed] == errors


def build(**variables: Any) -> Settings:
    """Return the settings of the role."""
    common = {"repository": "/srv", "watch": 0, "mover": "m", "cluster": None, "min_free_percent": 10}
    return Settings(**{**common, "host_address": {}, "rate_limit": 0, "timeout": 60, **variables})


def test_what_is_refused(drill: DrillRunner) -> None:
    for variables, message in (
        ({"watch": -1}, "vm_backup_drill_watch must be at least 0, not -1"),
        ({"min_free_percent": 100}, "vm_backup_drill_min_free_percent must be from 0 to 99, not 100"),
        ({"repository": "backups"}, "vm_backup_drill_repository must be an absolute path on the data mover"),
    ):
        assert message in drill(**variables).message
    assert "has no points of the VMs vm-9. Nothing was changed." in drill(vms=["vm-9"]).message
    assert "Check vm_backup_drill_vms. Names are no patterns." in drill(vms=["vm-*"]).message


def test_a_cluster_that_does_not_exist_is_refused(drill: DrillRunner, mover: RestoreMover) -> None:
    """The drill would only check files, as if that was asked for."""
    for check in (True, False):
        done = drill(cluster="cluster-9", check=check)
        assert done.message.startswith("no cluster has the name or uuid cluster-9. Nothing was changed. Set vm_backup_")
        assert (done.calls, mover.given) == ([], [])


def test_one_drill_of_a_repository_at_a_time(service: Simulator, drill: DrillRunner, mover: RestoreMover) -> None:
    """Its VMs are not left-overs."""
    kill(drill)
    assert list_marked(service) == ["drill-vm-1"]
    mover.take([LOCK])
    done = drill()
    expected = "Another drill of this repository runs. Wait until it has ended. Nothing was changed."
    assert (done.message, done.calls, list_marked(service)) == (expected, [], ["drill-vm-1"])


def test_vms_that_cannot_be_taken(drill: DrillRunner, mover: RestoreMover, monkeypatch: pytest.MonkeyPatch) -> None:
    run = mover.run

    def refuse(module: str, given: dict[str, Any]) -> dict[str, Any]:
        return {"failed": True, "msg": "no space."} if module == "backup_run" else run(module, given)

    monkeypatch.setattr(mover, "run", refuse)
    done = drill()
    assert done.message == "The VMs could not be taken for this run: no space. Nothing was changed."
    assert done.calls == []


@pytest.mark.parametrize("state", ["Stopped", "Running", "Destroyed"])
def test_what_a_killed_run_has_left_is_removed(
    service: Simulator, drill: DrillRunner, mover: RestoreMover, state: str
) -> None:
    """It is removed even if no VM is due. A VM without the mark, or with that of another repository, stays."""
    kill(drill)
    (marked,) = (vm for vm in service.records("vm") if str(vm["description"]).startswith(DRILL))
    service.change("vm", marked["uuid"], state=state)
    other = marked["description"].replace(str(mover.repository), "/srv/others")
    for vm, description in zip(service.records("vm"), ("Drill of somebody", other), strict=False):
        service.change("vm", vm["uuid"], name=f"drill-{vm['name']}", description=description)
    mover.listed = {**mover.listed, "points": []}
    done = drill()
    assert (done.outcomes, done.result["changed"]) == ([], True)
    assert sorted(vm["description"] for vm in service.records("vm")) == sorted(["Drill of somebody", other])
    if state != "Destroyed":
        assert not any(service.state()["exported"].values())


@pytest.mark.parametrize(
    ("operation", "error", "remains"),
    [
        ("CreateVmInstance", "could not be made: ", 0),
        ("ExportNbdVolumes", "The volumes could not be exported: ", 0),
        ("UnexportNbdVolumes", "The exports could not be ended: ", 0),
        ("StartVmInstance", "The VM could not be started: ", 0),
        ("DestroyVmInstance", "of the drill remains: ", 1),
    ],
)
def test_a_failure_stays_with_its_vm(
    service: Simulator, drill: DrillRunner, operation: str, error: str, remains: int
) -> None:
    service.fault("fail", operation, error=FAILURE)
    done = drill()
    (failed,) = (entry for entry in done.report if entry["outcome"] == "failed")
    assert error in failed["error"]
    assert "no agent" in failed["error"]
    assert failed["proved"] == ("ran" if operation == "DestroyVmInstance" else None)
    assert len(list_marked(service)) == remains


def test_a_vm_that_remains_is_removed_by_the_next_run(service: Simulator, drill: DrillRunner) -> None:
    """If the next run cannot remove the VM, it reports again that the VM remains."""
    service.fault("fail", "DestroyVmInstance", error=FAILURE, count=None)
    drill()
    assert list_marked(service) == ["drill-vm-1", "drill-vm-2"]
    done = drill()
    assert [entry["outcome"] for entry in done.report if entry["vm"] == "drill"] == ["failed"] * 2
    service.clear_faults()
    drill()
    assert list_marked(service) == []


def test_a_vm_that_does_not_go_on_running(
    service: Simulator, drill: DrillRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The VM ran after its start, but not any more at the next read."""
    uuids: list[str] = []

    def crash(dummy: Site, seconds: float) -> None:
        if seconds == 0:
            return
        assert seconds <= 1
        uuids.extend(vm["uuid"] for vm in service.records("vm") if vm["name"] == "drill-vm-1")
        service.change("vm", uuids[0], state="Crashed")

    monkeypatch.setattr(Site, "pause", crash)
    done = drill(watch=1)
    assert (done.outcomes, done.report[0]["proved"]) == (["failed", "ran"], None)
    assert re.fullmatch(r"The VM was Crashed \d s after it was started\.", done.report[0]["error"])
    assert list_marked(service) == []


def test_files_and_volumes_that_are_not_as_they_must_be(
    service: Simulator, drill: DrillRunner, mover: RestoreMover
) -> None:
    damaged = mover.listed["points"][0]["vm_uuid"]
    broken = {"failed": True, "msg": "a file is damaged."}
    mover.check_files = lambda given: broken if given["vm_uuid"] == damaged else check_all(given)
    mover.write = lambda dummy: {"unreachable": True, "msg": "no route."}
    done = drill()
    assert done.calls[:3] == ["CreateVmInstance", "ExportNbdVolumes", "UnexportNbdVolumes"]
    assert [entry["error"] for entry in done.report] == [
        f"The point {STAMP} could not be checked, or is damaged: a file is damaged.",
        "The volumes could not be written: no route.",
    ]
    assert ("backup_point" in mover.modules, list_marked(service)) == (False, [])
    mover.check_files = check_all
    mover.write = lambda given: {**write_all(given), "volumes": []}
    assert {entry["error"] for entry in drill().report} == {
        "The data mover has not said that it has written all volumes."
    }


def test_a_run_that_was_interrupted(service: Simulator, drill: DrillRunner, mover: RestoreMover) -> None:
    """Nothing is proved, and what it has made is removed."""

    def interrupt(dummy: Any) -> Any:
        raise KeyboardInterrupt

    mover.write = interrupt
    with pytest.raises(KeyboardInterrupt):
        drill()
    assert ("backup_point" in mover.modules, list_marked(service)) == (False, [])
    assert list((mover.repository / ".runs").glob("*.json")) == []
    assert not any(service.state()["exported"].values())


def test_a_vm_for_which_there_is_no_place(service: Simulator, drill: DrillRunner, mover: RestoreMover) -> None:
    """If its cluster is gone, or has no room, the files of the VM are checked."""
    mover.listed["points"][0]["vm"]["cluster_uuid"] = "f" * 32
    done = drill()
    assert done.outcomes == ["checked", "ran"]
    assert done.report[0]["why"].startswith("No VM can be made of it: no cluster has the name or uuid")
    service.fault("fail", "QueryPrimaryStorage", error=FAILURE, count=None)
    done = drill()
    assert done.outcomes == ["checked", "checked"]
    assert "It is not known whether the primary storages have room" in done.report[1]["why"]


def test_a_drill_that_only_checks_files_says_so(service: Simulator, drill: DrillRunner) -> None:
    done = drill(min_free_percent=99)
    assert done.outcomes == ["checked", "checked"]
    beginning = "Of these VMs, only the files of the points are checked, and no VM is started: "
    assert [each.partition(": ")[0] for each in done.warnings] == [beginning.removesuffix(": ")] * len(done.warnings)
    for entry in done.report:
        assert any(entry["vm"] in each and each.endswith(entry["why"]) for each in done.warnings)
        assert f"checked: {entry['vm']}: {entry['why']}" in format_table(done.report) or len(done.warnings) == 1
    assert drill().warnings == []


def test_the_room_of_storages() -> None:
    def measure(**members: Any) -> int:
        known = {"state": "Enabled", "status": "Connected", "total_capacity": 1000, "available_capacity": 500}
        return measure_spare({**known, **members}, 10)

    assert measure() == 400
    assert measure(available_physical_capacity=300, total_physical_capacity=1000) == 200
    assert measure(state="Disabled") == measure(status="Disconnected") == measure(available_capacity=None) == 0
    free = [100, 300]
    assert [take_room(free, size) for size in (200, 101, 100, 0)] == [True, False, True, True]
    assert not take_room([], 1)


@pytest.mark.parametrize(
    ("reply", "expected"),
    [({"status": "Connected", "version": "1.2"}, True), ({"status": "Disconnected"}, False), ({}, False), ([], False)],
)
def test_whether_the_guest_has_answered(reply: Any, expected: bool) -> None:
    assert has_answered(reply) == expected


def test_backups_leave_out_what_a_drill_has_made(service: Simulator, work: WorkflowRunner, drill: DrillRunner) -> None:
    """A VM of a drill is only backed up if a person names it."""
    kill(drill)
    given = {
        "vm_backup_repository": "/srv/backups",
        **create_play({"localhost": {}}),
        "inventory_hostname": "localhost",
    }
    selected = work("vm_backup", {**given, "vm_backup_query": ["name~=%"]}, step="select")
    assert [vm["name"] for vm in selected.result["next"]["vms"]] == ["vm-1", "vm-2"]
    assert selected.warnings == ["These VMs are not copied, because other roles have made them for a time: drill-vm-1"]
    selected = work("vm_backup", {**given, "vm_backup_vms": ["drill-vm-1"]}, step="select")
    assert [vm["name"] for vm in selected.result["next"]["vms"]] == ["drill-vm-1"]


def test_a_drill_that_is_killed_at_any_moment(service: Simulator, drill: DrillRunner, mover: RestoreMover) -> None:
    """The next run leaves nothing, and proves the point."""
    service.reset(vms=1, cbt_tasks=0)
    mover.listed = list_points(service)
    before = {vm["uuid"] for vm in service.records("vm")}
    volumes = {volume["uuid"] for volume in service.records("volume")}
    for after in range(1, 100, 8):
        runner = DrillRunner(WorkflowRunner(service, after), mover)
        was_killed = is_killed(runner)
        service.settle()
        for path in (mover.repository / ".runs").glob("*.json"):
            path.unlink()
        assert drill().outcomes == ["ran"]
        assert {vm["uuid"] for vm in service.records("vm")} == before
        assert {volume["uuid"] for volume in service.records("volume")} == volumes
        assert not any(service.state()["exported"].values())
        if not was_killed:
            break
    assert after > 30
