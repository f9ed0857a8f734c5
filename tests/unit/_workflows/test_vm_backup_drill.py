"""What the workflow vm_backup_drill proves, and that nothing of a drill remains."""

from __future__ import annotations

import re
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.plugin_utils._site.site import Site
from ansible_collections.virtinfra.manager.plugins.plugin_utils._vm_backups.vm_from_point import DRILL
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
from support.workflow_runner import WorkflowRun, WorkflowRunner, create_play

STAMP = "20261127T021500Z"
DESCRIPTION = f"{DRILL} It is made of a restore point in /srv/backups on localhost."
FAILURE = {"code": "SYS.1000", "details": "no agent"}


@pytest.fixture
def service(sim: Simulator) -> Simulator:
    """A simulator with two VMs without CBT tasks."""
    sim.reset(vms=2, cbt_tasks=0)
    return sim


def step(work: WorkflowRunner, word: str, given: Any = None, check: bool = False, **variables: Any) -> WorkflowRun:
    """Run a step of the workflow."""
    values = {"repository": "/srv/backups", "count": 0, "watch": 0, **variables}
    prefixed = {f"vm_backup_drill_{key}": each for key, each in values.items()}
    return work("vm_backup_drill", prefixed, check, step=word, given=given)


def list_points(service: Simulator) -> dict[str, Any]:
    """Return what backup_point_info returns: a point of each VM that is not one of a drill."""
    points = []
    for record in ModuleRunner(service)("vm_info", {}).result["vms"]:
        if str(record["description"]).startswith(DRILL):
            continue
        copies = [
            {"volume_uuid": each["uuid"], "size": each["size"], "device_id": each["device_id"]}
            for each in record["all_volumes"]
        ]
        point = {"vm_uuid": record["uuid"], "vm_name": record["name"], "point": STAMP, "vm": record, "volumes": copies}
        points.append({**point, "whole": True, "future": False, "proved": None, "problems": []})
    return {"points": points, "runs": [], "running": []}


def plan(service: Simulator, work: WorkflowRunner, **variables: Any) -> dict[str, Any]:
    """Plan the drill of all VMs, and return what later steps get."""
    planned = step(work, "plan", {"listed": list_points(service)}, **variables).result["next"]
    taken = [{"taken": run["vm_uuids"], "others": []} for run in planned["runs"]]
    checked = [{"volumes": [{"volume_uuid": uuid} for uuid in each["sources"]]} for each in planned["checks"]]
    return {"plan": planned, "taken": taken, "checked": checked}


def write(begun: WorkflowRun) -> list[dict[str, Any]]:
    """Return what backup_restore returns when it has written all volumes."""
    works = begun.result["next"]["work"]
    return [{"seconds": 7, "volumes": [{"verified": True} for dummy in each["volumes"]]} for each in works]


def drill(service: Simulator, work: WorkflowRunner, **variables: Any) -> WorkflowRun:
    """Run all steps, and return the report."""
    known = plan(service, work, **variables)
    begun = step(work, "begin", known, **variables)
    ended = step(work, "end", {**known, "begun": begun.result, "written": write(begun)}, **variables)
    done = ended.result["next"]
    given = {"plan": known["plan"], **done, "noted": [{"changed": True} for dummy in done["proofs"]]}
    return step(work, "report", given, **variables)


def list_marked(service: Simulator) -> list[str]:
    """Return the VMs with the mark of a drill."""
    return [vm["name"] for vm in service.records("vm") if str(vm["description"]).startswith(DRILL)]


def test_a_drill_from_its_plan_to_its_end(service: Simulator, work: WorkflowRunner) -> None:
    before = service.state()
    known = plan(service, work)
    assert known["plan"]["runs"][0]["vm_uuids"][0] == LOCK
    begun = step(work, "begin", known)
    assert begun.calls == ["CreateVmInstance", "ExportNbdVolumes"] * 2
    assert list_marked(service) == ["drill-vm-1", "drill-vm-2"]
    ended = step(work, "end", {**known, "begun": begun.result, "written": write(begun)})
    assert ended.calls[:4] == ["UnexportNbdVolumes"] * 2 + ["StartVmInstance"] * 2
    proofs = ended.result["next"]["proofs"]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", proof["proof"].pop("time")) for proof in proofs)
    assert [proof["proof"] for proof in proofs] == [{"level": "ran", "restore_seconds": 7, "watched_seconds": 0}] * 2
    noted: list[dict[str, Any]] = [{"changed": True}, {"failed": True, "msg": "no space."}]
    reported = step(work, "report", {"plan": known["plan"], **ended.result["next"], "noted": noted})
    assert reported.outcomes == ["ran", "failed"]
    assert reported.report[1]["error"] == "It is ran, but that could not be noted: no space."
    after = service.state()
    assert all(after[kind] == before[kind] for kind in ("vm", "volume", "exported"))


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
        chosen, entries = choose(points, build(**given))
        assert [f"{each['vm_uuid']}{each['point']}" for each in chosen] == expected
        errors = [] if given["vms"] else ["It has no whole point: a file is missing."]
        assert [entry["error"] for entry in entries] == errors


def build(**variables: Any) -> Settings:
    """Return the settings of the role."""
    common = {"repository": "/srv", "watch": 0, "mover": "m", "cluster": None, "min_free_percent": 10}
    return Settings(**{**common, "host_address": {}, "rate_limit": 0, "timeout": 60, **variables})


def test_what_is_refused(service: Simulator, work: WorkflowRunner) -> None:
    for variables, message in (
        ({"watch": -1}, "vm_backup_drill_watch must be at least 0, not -1"),
        ({"min_free_percent": 100}, "vm_backup_drill_min_free_percent must be from 0 to 99, not 100"),
        ({"repository": "backups"}, "vm_backup_drill_repository must be an absolute path on the data mover"),
    ):
        assert message in step(work, "select", **variables).message
    ran = step(work, "plan", {"listed": list_points(service)}, vms=["vm-9"])
    assert "has no points of the VMs vm-9. Nothing was changed." in ran.message


def test_one_drill_of_a_repository_at_a_time(service: Simulator, work: WorkflowRunner) -> None:
    """Its VMs are not left-overs."""
    begun = step(work, "begin", plan(service, work))
    assert len(begun.result["next"]["work"]) == 2
    known = plan(service, work)
    owner = {"host": "controller-2", "process": 4711}
    other = {"run": "r", "owner": owner, "vm_uuids": [LOCK], "silent_seconds": 5}
    known["taken"] = [{"taken": [], "others": [other]}]
    begun = step(work, "begin", known)
    assert ("Another drill of this repository runs." in begun.message, begun.calls) == (True, [])
    ended = step(work, "end", {**known, "begun": begun.result, "written": []})
    assert (ended.calls, set(ended.outcomes), len(list_marked(service))) == ([], {"failed"}, 2)


@pytest.mark.parametrize("state", ["Stopped", "Running", "Destroyed"])
def test_what_a_killed_run_has_left_is_removed(service: Simulator, work: WorkflowRunner, state: str) -> None:
    """Also if nothing is to be proved. A VM without the mark, or with that of another repository, stays."""
    step(work, "begin", plan(service, work))
    for vm in service.records("vm"):
        if vm["description"] == DESCRIPTION:
            service.change("vm", vm["uuid"], state=state)
    others = {"vm-1": "Drill of somebody", "vm-2": DESCRIPTION.replace("/srv/backups", "/srv/others")}
    for vm in service.records("vm"):
        if vm["name"] in others:
            service.change("vm", vm["uuid"], name=f"drill-{vm['name']}", description=others[vm["name"]])
    known = {**plan(service, work), "checked": []}
    known["plan"] = {**known["plan"], "items": [], "checks": []}
    begun = step(work, "begin", known)
    assert begun.result["next"]["work"] == []
    assert sorted(vm["description"] for vm in service.records("vm")) == sorted(others.values())
    if state != "Destroyed":
        assert not any(service.state()["exported"].values())


@pytest.mark.parametrize(
    ("operation", "error", "remains"),
    [
        ("CreateVmInstance", "could not be made: ", 0),
        ("ExportNbdVolumes", "The volumes could not be exported: ", 0),
        ("StartVmInstance", "The VM could not be started: ", 0),
        ("DestroyVmInstance", "of the drill remains: ", 1),
    ],
)
def test_a_failure_stays_with_its_vm(
    service: Simulator, work: WorkflowRunner, operation: str, error: str, remains: int
) -> None:
    service.fault("fail", operation, error=FAILURE)
    done = drill(service, work)
    (failed,) = (entry for entry in done.report if entry["outcome"] == "failed")
    assert error in failed["error"]
    assert "no agent" in failed["error"]
    assert failed["proved"] == ("ran" if operation == "DestroyVmInstance" else None)
    assert len(list_marked(service)) == remains


def test_a_vm_that_does_not_go_on_running(
    service: Simulator, work: WorkflowRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ran when it was started, and not any more at the next look."""
    uuids: list[str] = []

    def crash(dummy: Site, seconds: float) -> None:
        assert 0 < seconds <= 1
        uuids.extend(vm["uuid"] for vm in service.records("vm") if vm["name"] == "drill-vm-1")
        service.change("vm", uuids[0], state="Crashed")

    monkeypatch.setattr(Site, "pause", crash)
    done = drill(service, work, watch=1)
    assert (done.outcomes, done.report[0]["proved"]) == (["failed", "ran"], None)
    assert re.fullmatch(r"The VM was Crashed \d s after it was started\.", done.report[0]["error"])
    assert list_marked(service) == []


def test_files_and_volumes_that_are_not_as_they_must_be(service: Simulator, work: WorkflowRunner) -> None:
    known = plan(service, work)
    known["checked"][0] = {"failed": True, "msg": "a file is damaged."}
    begun = step(work, "begin", known)
    assert begun.calls == ["CreateVmInstance", "ExportNbdVolumes"]
    lost = [{"unreachable": True, "msg": "no route."}]
    ended = step(work, "end", {**known, "begun": begun.result, "written": lost})
    errors = [entry["error"] for entry in ended.report]
    assert errors == [
        "The files of the point could not be checked, or are damaged: a file is damaged.",
        "The volumes could not be written: no route.",
    ]
    assert (ended.result["next"]["proofs"], list_marked(service)) == ([], [])


def test_a_step_that_was_interrupted(service: Simulator, work: WorkflowRunner) -> None:
    """Nothing is proved, and what it has made is removed."""
    known = plan(service, work)
    step(work, "begin", known)
    ended = step(work, "end", {**known, "begun": {"failed": True, "msg": "the keyword timeout"}, "written": []})
    assert {entry["error"] for entry in ended.report} == {"the keyword timeout."}
    assert list_marked(service) == []


def test_a_vm_for_which_there_is_no_place(service: Simulator, work: WorkflowRunner) -> None:
    """Without its cluster, or without room, its files are checked."""
    listed = list_points(service)
    listed["points"][0]["vm"]["cluster_uuid"] = "f" * 32
    planned = step(work, "plan", {"listed": listed}).result["next"]
    assert planned["items"][0]["why"].startswith("No VM can be made of it: no cluster has the name or uuid")
    service.fault("fail", "QueryPrimaryStorage", error=FAILURE, count=None)
    done = drill(service, work)
    assert done.outcomes == ["checked", "checked"]
    assert "It is not known whether the primary storages have room" in done.report[0]["why"]


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


def test_backups_leave_out_what_a_drill_has_made(service: Simulator, work: WorkflowRunner) -> None:
    """Unless a person names it."""
    step(work, "begin", plan(service, work))
    given = {
        "vm_backup_repository": "/srv/backups",
        **create_play({"localhost": {}}),
        "inventory_hostname": "localhost",
    }
    selected = work("vm_backup", {**given, "vm_backup_query": ["name~=%"]}, step="select")
    assert [vm["name"] for vm in selected.result["next"]["vms"]] == ["vm-1", "vm-2"]
    assert selected.warnings == [
        "These VMs are not copied, because other roles have made them for a time: drill-vm-1, drill-vm-2"
    ]
    selected = work("vm_backup", {**given, "vm_backup_vms": ["drill-vm-1"]}, step="select")
    assert [vm["name"] for vm in selected.result["next"]["vms"]] == ["drill-vm-1"]


@pytest.mark.parametrize("word", ["begin", "end"])
def test_a_drill_that_is_killed_at_any_moment(service: Simulator, work: WorkflowRunner, word: str) -> None:
    """The next run leaves nothing, and proves the point."""
    service.reset(vms=1, cbt_tasks=0)
    before = {vm["uuid"] for vm in service.records("vm")}
    volumes = {volume["uuid"] for volume in service.records("volume")}
    values = {"vm_backup_drill_repository": "/srv/backups", "vm_backup_drill_count": 0, "vm_backup_drill_watch": 0}
    for after in range(1, 60, 5):
        known = plan(service, work)
        if word == "end":
            begun = step(work, "begin", known)
            known |= {"begun": begun.result, "written": write(begun)}
        was_killed = work.kill(after, "vm_backup_drill", values, step=word, given=known)
        service.settle()
        assert drill(service, work).outcomes == ["ran"]
        assert {vm["uuid"] for vm in service.records("vm")} == before
        assert {volume["uuid"] for volume in service.records("volume")} == volumes
        assert not any(service.state()["exported"].values())
        if not was_killed:
            break
    assert after > 10
