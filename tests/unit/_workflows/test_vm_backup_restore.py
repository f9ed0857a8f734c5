"""What the workflow vm_backup_restore refuses, and that it ends what it has exported."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.plugin_utils._site.marks import Marks
from ansible_collections.virtinfra.manager.plugins.plugin_utils._site.site import Site
from ansible_collections.virtinfra.manager.plugins.plugin_utils._workflows.vm_backup_restore import (
    MARK,
    count_written,
    describe_half,
    match_exports,
)

from simulator.launch import Simulator
from support.module_runner import ModuleRunner
from support.workflow_runner import WorkflowRun, WorkflowRunner, create_play

STAMP = "20261127T021500Z"


@pytest.fixture
def service(sim: Simulator) -> Simulator:
    """A simulator with two stopped VMs without CBT tasks."""
    sim.reset(vms=2, cbt_tasks=0)
    for vm in sim.records("vm"):
        sim.change("vm", vm["uuid"], state="Stopped")
    return sim


def step(work: WorkflowRunner, word: str, given: Any = None, check: bool = False, **variables: Any) -> WorkflowRun:
    """Run a step of the workflow for the VM vm-1. The files of the point are whole, unless ``given`` says otherwise."""
    if word in ("begin", "end"):
        given = {"checked": checked(given["plan"]), **given}
    values = {"vm": "vm-1", "repository": "/srv/backups", "confirm": "vm-1", **variables}
    prefixed = {f"vm_backup_restore_{key}": value for key, value in values.items()}
    return work("vm_backup_restore", prefixed, check, step=word, given=given)


def list_acts(ran: WorkflowRun) -> list[str]:
    """Return the operations that were called with another method than GET, without those of marks."""
    return [call for call in ran.calls if call not in ("CreateUserTag", "DeleteTag")]


def list_marks(service: Simulator) -> list[str]:
    """Return the marks of vm-1: their words after the role and the point."""
    vm, prefix = service.records("vm")[0]["uuid"], f"virtinfra.manager vm_backup_restore {STAMP.lower()} "
    tags = [tag["tag"] for tag in service.records("usertag") if tag["resourceUuid"] == vm]
    return [tag.removeprefix(prefix) for tag in tags if tag.startswith(prefix)]


def list_points(service: Simulator, number: int = 0, **members: Any) -> dict[str, Any]:
    """Return what backup_point_info returns: a point of a VM."""
    vm = service.records("vm")[number]
    volumes = [{"volume_uuid": each["uuid"], "size": each["size"]} for each in vm["allVolumes"]]
    point = {"vm_uuid": vm["uuid"], "vm_name": vm["name"], "point": STAMP, "whole": True, "problems": []}
    return {"points": [{**point, "volumes": volumes, **members}], "running": [], "runs": []}


def taken(planned: dict[str, Any], *others: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what backup_run returned for the runs of a plan."""
    return [{"taken": run["vm_uuids"], "others": list(others)} for run in planned["runs"]]


def checked(planned: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what backup_restore returned when it has only checked the files."""
    return [
        {"failed": False, "volumes": [{"volume_uuid": source, "state": "untouched"} for source in check["sources"]]}
        for check in planned["checks"]
    ]


def written(planned: dict[str, Any], state: str = "restored") -> list[dict[str, Any]]:
    """Return what backup_restore returned when it has written all volumes."""
    rows = [
        {"volume_uuid": target["source"], "target": target["uuid"], "size": 1, "state": state}
        for target in planned["targets"]
    ]
    return [{"failed": False, "volumes": rows}]


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
    assert list_acts(begun) == ["CreateVolumeSnapshotGroup", "ExportNbdVolumes"]
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
    assert list_acts(ended) == ["UnexportNbdVolumes", "StartVmInstance"]
    assert {entry["outcome"] for entry in ended.report} == {"changed"}
    assert ended.report[0]["snapshot_group"] == begun.result["next"]["snapshot_group"]


def test_check_mode_writes_nothing(service: Simulator, work: WorkflowRunner) -> None:
    planned = plan(service, work, check=True).result["next"]
    step(work, "confirm", {"plan": planned}, check=True, confirm=None)
    begun = step(work, "begin", {"plan": planned, "taken": taken(planned)}, check=True)
    ended = step(
        work, "end", {"plan": planned, "taken": taken(planned), "begun": begun.result, "restored": []}, check=True
    )
    assert (list_acts(begun), begun.result["next"]["work"], list_acts(ended)) == ([], [], [])
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
    refused = plan(service, work)
    assert (f"a restore needs a stopped VM, and vm-1 is {state}" in refused.message, refused.calls) == (True, [])
    begun = step(work, "begin", {"plan": planned, "taken": taken(planned)})
    assert (f"it is {state}" in begun.result["next"]["problem"], list_acts(begun)) == (True, [])


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
    assert list_acts(ended) == ["UnexportNbdVolumes"]
    entry, other = ended.report
    assert (entry["outcome"], other["outcome"], other["state"]) == ("failed", "failed", "untouched")
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
    assert entry["error"].startswith("no route to host. The VM was not started. It has the tag ")
    assert "succeeded. This volume may be half written." in entry["error"]
    refused = {**given, "restored": [{"failed": True, "changed": False, "msg": "no qemu-img.", "volumes": []}]}
    (entry, *dummy) = step(work, "end", refused).report
    assert (entry["state"], "was not overwritten" in entry["error"]) == ("untouched", True)


def test_a_vm_that_another_run_has(service: Simulator, work: WorkflowRunner) -> None:
    """Its exports stay, since they are those of the other run. A run that has ended does not count."""
    planned = plan(service, work).result["next"]
    others = taken(planned, other_run(service))
    begun = step(work, "begin", {"plan": planned, "taken": others})
    assert ("process 4711 on controller-2" in begun.message, list_acts(begun)) == (True, [])
    ended = step(work, "end", {"plan": planned, "taken": others, "begun": begun.result, "restored": []})
    assert (list_acts(ended), {entry["state"] for entry in ended.report}) == ([], {"untouched"})
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
    assert (planned.calls, list_acts(begun)) == ([], [])
    assert "does not touch the VM" in step(work, "select", **variables, stop=True).message


def test_a_vm_that_runs_is_stopped_on_request(service: Simulator, work: WorkflowRunner) -> None:
    """And without a snapshot group, if none is wanted."""
    uuid = service.records("vm")[0]["uuid"]
    service.change("vm", uuid, state="Running")
    assert "Stop it, or set vm_backup_restore_stop" in plan(service, work).message
    planned = plan(service, work, stop=True).result["next"]
    given = {"plan": planned, "taken": taken(planned)}
    begun = step(work, "begin", given, stop=True, snapshot_first=False)
    assert list_acts(begun) == ["StopVmInstance", "ExportNbdVolumes"]
    assert (begun.result["next"]["snapshot_group"], begun.result["changed"]) == (None, True)
    service.change("vm", uuid, state="Unknown")
    message = plan(service, work, stop=True).message
    assert ("is Unknown" in message, "set vm_backup_restore_stop" in message) == (True, False)


def test_what_the_data_mover_gets(service: Simulator, work: WorkflowRunner) -> None:
    """The point and the exports, with the other address of the host, and what the variables say about the copy."""
    vm = service.records("vm")[0]
    options: dict[str, Any] = {"only_different": False, "allow_larger": True, "rate_limit": 7}
    planned = plan(service, work).result["next"]
    given = {"plan": planned, "taken": taken(planned)}
    begun = step(work, "begin", given, host_address={vm["lastHostUuid"]: "192.0.2.9"}, **options)
    (work_item,) = begun.result["next"]["work"]
    volumes = work_item.pop("volumes")
    assert {info["nbd_server"] for info in volumes} == {"192.0.2.9"}
    assert work_item == {
        **options,
        "repository": "/srv/backups",
        "vm_uuid": vm["uuid"],
        "point": STAMP,
        "directory": None,
        "run": planned["runs"][0]["run"],
        "check": False,
        "remember": True,
    }
    groups = {each["name"]: each["description"] for each in service.records("snapshotgroup")}
    assert groups[begun.result["next"]["snapshot_group"]] == MARK
    files: dict[str, Any] = {"to_directory": "/srv/files", "confirm": None}
    planned = step(work, "plan", {"listed": list_points(service)}, **files).result["next"]
    begun = step(work, "begin", {"plan": planned, "taken": []}, **files, **options)
    (work_item,) = begun.result["next"]["work"]
    assert {**options, "volumes": None, "run": None, "point": STAMP, "check": True}.items() <= work_item.items()
    assert planned["lines"] == [f"All volumes of the point {STAMP} are written into files in /srv/files."]


def test_which_points_are_asked_for(service: Simulator, work: WorkflowRunner) -> None:
    """Those of the VM, or those of all VMs if the point may be that of another one."""
    uuid = service.records("vm")[0]["uuid"]
    cases: list[tuple[dict[str, Any], list[str] | None]] = [
        ({}, [uuid]),
        ({"map": {"v1": "v2"}}, None),
        ({"to_directory": "/srv/files", "vm": "gone"}, None),
    ]
    for variables, uuids in cases:
        selected = step(work, "select", mover="m1", **variables).result["next"]
        assert selected == {"vm_uuids": uuids, "mover": "m1", "repository": "/srv/backups", "records": False}
    for service_vm in service.records("vm"):
        service.change("vm", service_vm["uuid"], name="twin")
    assert "several VMs have the name or uuid twin. Nothing was changed." in step(work, "select", vm="twin").message


def test_what_a_failure_has_left_of_each_volume() -> None:
    texts = {
        "restored": "This volume is restored.",
        "unchanged": "This volume has the content already.",
        "untouched": "This volume was not overwritten.",
        "incomplete": "This volume is half written. Run the role again, which completes it.",
    }
    for state, text in texts.items():
        assert describe_half({"state": state}, None) == text


def test_exports_of_a_step_that_was_interrupted_are_ended(service: Simulator, work: WorkflowRunner) -> None:
    """Nobody knows whether it has exported the volumes. If it has not begun, there are none."""
    planned = plan(service, work).result["next"]
    given = {"plan": planned, "taken": taken(planned), "restored": []}
    interrupted = step(work, "end", {**given, "begun": {"failed": True, "msg": "the keyword timeout"}})
    assert list_acts(interrupted) == ["UnexportNbdVolumes"]
    assert interrupted.report[0]["error"] == "the keyword timeout. This volume was not overwritten."
    assert step(work, "end", {**given, "begun": {"skipped": True}}).calls == []


def test_exports_by_the_member_that_has_their_volume() -> None:
    """The document has one, servers have another one."""
    infos = [{"volume": {"resource_uuid": "b"}}, {"volume": {"volume_uuid": "a"}}]
    targets = [{"source": "s1", "uuid": "a"}, {"source": "s2", "uuid": "b"}]
    matched = match_exports(infos, targets)
    assert [(each["source"], each["volume"]) for each in matched] == [
        ("s1", {"volume_uuid": "a"}),
        ("s2", {"resource_uuid": "b"}),
    ]


@pytest.mark.parametrize("variable", ["volumes", "map", "start", "stop"])
def test_files_and_what_concerns_the_vm_exclude_each_other(work: WorkflowRunner, variable: str) -> None:
    values: dict[str, Any] = {"volumes": ["v1"], "map": {"v1": "v2"}, "start": True, "stop": True}
    ran = step(work, "select", to_directory="/srv/files", **{variable: values[variable]})
    assert "next" in step(work, "select", **{variable: values[variable]}).result
    assert (
        "vm_backup_restore_to_directory writes all volumes of the point into files, and does not touch" in ran.message
    )
    assert "rate_limit must be at least 0, not -1" in step(work, "select", rate_limit=-1).message


def test_the_newest_point_is_the_default(service: Simulator, work: WorkflowRunner) -> None:
    """Also if it is not whole: the user chooses another one."""
    listed = list_points(service)
    listed["points"] += [{**listed["points"][0], "point": f"2026112{day}T021500Z"} for day in (9, 8)]
    assert step(work, "plan", {"listed": listed}).result["next"]["point"]["point"] == "20261129T021500Z"
    chosen = step(work, "plan", {"listed": listed}, point="20261128T021500Z")
    assert chosen.result["next"]["point"]["point"] == "20261128T021500Z"
    listed["points"][1] = {**listed["points"][1], "whole": False, "problems": ["a is missing", "b is missing"]}
    message = step(work, "plan", {"listed": listed}).message
    assert "the point 20261129T021500Z is not whole: a is missing; b is missing. Nothing was changed." in message


def test_what_is_overwritten_and_what_is_not(service: Simulator, work: WorkflowRunner) -> None:
    """Each volume of the VM has its line."""
    vm = service.records("vm")[0]
    root, data = vm["allVolumes"]
    planned = plan(service, work, volumes=[root["uuid"]]).result["next"]
    assert planned["lines"] == [
        f"The point {STAMP} of vm-1 overwrites these volumes of vm-1:",
        f"- {root['name']} ({root['uuid']}), {root['size']} bytes",
        f"- not {data['name']} ({data['uuid']}), which stays as it is",
    ]
    copies = [{"volume_uuid": uuid, "size": root["size"]} for uuid in ("c1", "c2")]
    twice = dict.fromkeys(("c1", "c2"), root["uuid"])
    refused = step(work, "plan", {"listed": list_points(service, volumes=copies)}, map=twice)
    assert "vm_backup_restore_map has several copies for one volume. Nothing was changed." in refused.message


def test_a_backup_session_is_not_disturbed(service: Simulator, work: WorkflowRunner) -> None:
    """It reads the volumes that would be written."""
    service.change("vm", service.records("vm")[0]["uuid"], state="Running")
    task = {"name": "nightly", "vm": "vm-1", "state": "enabled"}
    assert ModuleRunner(service)("cbt_task", task)["changed"]
    message = plan(service, work, stop=True).message
    assert "a backup session of vm-1 is open: the CBT task nightly. Nothing was changed. End this session" in message


def test_exports_of_other_volumes_are_refused(
    service: Simulator, work: WorkflowRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The role would write into a volume that nobody has confirmed."""
    batch = Site.batch

    def exchange(self: Site, module: str, *arguments: Any, **options: Any) -> Any:
        results = batch(self, module, *arguments, **options)
        if module == "cbt_volume_export":
            results[0]["volume_infos"][0]["volume"]["volume_uuid"] = "other"
        return results

    planned = plan(service, work).result["next"]
    monkeypatch.setattr(Site, "batch", exchange)
    begun = step(work, "begin", {"plan": planned, "taken": taken(planned)})
    refusal = "The service has not exported the volumes that it was asked for. No volume was overwritten."
    assert (begun.result["next"]["problem"], begun.result["next"]["work"]) == (refusal, [])


def test_a_vm_that_changes_while_the_user_confirms(service: Simulator, work: WorkflowRunner) -> None:
    """Without its volume, nothing is exported, and the failure of a step says what it was."""
    planned = plan(service, work).result["next"]
    service.change("volume", planned["targets"][0]["uuid"], vmInstanceUuid=None)
    begun = step(work, "begin", {"plan": planned, "taken": taken(planned)})
    refusal = "vm-1 has changed meanwhile: it is Stopped. No volume was overwritten."
    assert (begun.result["next"]["problem"], list_acts(begun)) == (refusal, [])
    lost = {"failed": True, "msg": "no space."}
    given = {"plan": step(work, "plan", {"listed": list_points(service, 1)}, vm="vm-2").result["next"]}
    begun = step(work, "begin", {**given, "taken": [lost]}, vm="vm-2")
    assert begun.message == "The VM could not be taken for this run: no space. Nothing was changed."
    assert list_acts(begun) == []


def test_what_fails_after_the_volumes_are_restored(service: Simulator, work: WorkflowRunner) -> None:
    """The exports that remain, and a VM that does not start."""
    planned = plan(service, work).result["next"]
    begun = step(work, "begin", {"plan": planned, "taken": taken(planned)})
    volumes = [{"volume_uuid": target["source"], "target": "t", "size": 1} for target in planned["targets"]]
    restored = [{"failed": False, "volumes": [{**volume, "state": "restored"} for volume in volumes]}]
    given = {"plan": planned, "taken": taken(planned), "begun": begun.result, "restored": restored}
    service.fault("fail", operation="UnexportNbdVolumes", error={"code": "SYS.1006", "details": "busy."})
    ended = step(work, "end", given, start=True)
    assert (list_acts(ended), ended.outcomes) == (["UnexportNbdVolumes"], ["failed"] * len(volumes))
    assert ended.report[0]["error"].startswith("The exports could not be ended: ")
    assert "The VM was not started. It has the tag " in ended.report[0]["error"]
    assert ended.report[0]["error"].endswith("This volume is restored.")
    service.fault("fail", operation="StartVmInstance", error={"code": "SYS.1006", "details": "no memory"})
    ended = step(work, "end", given, start=True)
    assert list_acts(ended) == ["UnexportNbdVolumes", "StartVmInstance"]
    assert ended.report[0]["error"].startswith("The VM is restored, but could not be started: ")
    same = [{"failed": False, "volumes": [{**volume, "state": "unchanged"} for volume in volumes]}]
    ended = step(work, "end", {**given, "restored": same})
    assert (set(ended.outcomes), ended.report[0]["error"]) == ({"unchanged"}, None)
    lost = step(work, "end", {**given, "restored": [{"unreachable": True}]})
    assert lost.report[0]["error"].startswith("The data mover is unreachable. The VM was not started. It has the tag ")


def test_the_variables_of_a_restore_are_not_those_of_a_backup(service: Simulator, work: WorkflowRunner) -> None:
    """The name of one role is the beginning of the other's, and a play can have the variables of both."""
    given = {"vm_backup_vms": ["vm-1"], "vm_backup_repository": "/srv/backups", "vm_backup_restore_vm": "vm-1"}
    given.update(create_play({"localhost": {}}))
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
    assert (begun.result["changed"], list_acts(ended)) == (True, ["UnexportNbdVolumes", "StartVmInstance"])
    assert group in [each["name"] for each in service.records("snapshotgroup")]
    assert {(entry["state"], entry["snapshot_group"]) for entry in ended.report} == {("untouched", group)}
    for part in ("no port is free", "The VM runs, as before. This volume was not overwritten."):
        assert part in ended.report[0]["error"]
    assert {vm["name"]: vm["state"] for vm in service.records("vm")}["vm-1"] == "Running"


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
    assert ("no host" in ended.report[0]["error"], list_acts(ended)) == (True, [])
    # The VM that could not be stopped runs. The other one was off before.
    said = "The VM runs, as before" if operation == "StopVmInstance" else "The VM was not started"
    assert said in ended.report[0]["error"]
    assert service.state()["exported"] == exported


def export(service: Simulator, work: WorkflowRunner) -> dict[str, list[str]]:
    """Export the volumes of vm-1, as another product does, and return all exports."""
    vm = service.records("vm")[0]
    volumes = [volume["uuid"] for volume in vm["allVolumes"]]
    ModuleRunner(service)("cbt_volume_export", {"vm": vm["uuid"], "volumes": volumes})
    exported: dict[str, list[str]] = service.state()["exported"]
    assert len(exported[vm["uuid"]]) == len(volumes)
    return exported


@pytest.mark.parametrize(
    "server", [{}, {"job_uuid": "ignore", "location": "malformed"}], ids=["honours ids", "ignores ids"]
)
def test_volumes_that_another_product_writes(service: Simulator, work: WorkflowRunner, server: dict[str, Any]) -> None:
    """Their exports stay, and the report says how to end those that nobody uses."""
    service.configure(**server)
    exported = export(service, work)
    dummy, ended = begin_and_end(work, plan(service, work).result["next"])
    assert (list_acts(ended), service.state()["exported"]) == ([], exported)
    assert "and nobody uses the exports, end them with the module cbt_volume_export" in ended.report[0]["error"]


def test_the_exports_of_a_run_that_was_killed_are_ended_before(service: Simulator, work: WorkflowRunner) -> None:
    export(service, work)
    killed = {**list_points(service), "runs": [other_run(service, silent_seconds=5000)]}
    begun, ended = begin_and_end(work, step(work, "plan", {"listed": killed}).result["next"])
    assert list_acts(begun) == ["CreateVolumeSnapshotGroup", "UnexportNbdVolumes", "ExportNbdVolumes"]
    assert ("problem" in begun.result["next"], ended.outcomes) == (False, ["failed", "failed"])
    assert "The data mover has not said that it has written all volumes" in ended.report[0]["error"]


def test_exports_that_cannot_be_ended_are_named(service: Simulator, work: WorkflowRunner) -> None:
    planned = plan(service, work).result["next"]
    service.fault("fail", "UnexportNbdVolumes", error={"code": "SYS.1000", "details": "no agent"})
    dummy, ended = begin_and_end(work, planned, start=True)
    assert list_acts(ended) == ["UnexportNbdVolumes"]
    for part in ("no agent", "To be safe, end them with the module cbt_volume_export", "The VM was not started."):
        assert part in ended.report[0]["error"]


def test_a_vm_that_was_deleted_meanwhile(service: Simulator, work: WorkflowRunner) -> None:
    planned = plan(service, work).result["next"]
    service.change("vm", planned["vm"]["uuid"], state="Destroyed")
    begun, ended = begin_and_end(work, planned)
    assert (list_acts(begun), list_acts(ended)) == ([], [])
    assert "vm-1 has changed meanwhile: it is gone. No volume was overwritten." in ended.report[0]["error"]


def test_a_reply_that_says_nothing_usable_about_the_exports(service: Simulator, work: WorkflowRunner) -> None:
    planned = plan(service, work).result["next"]
    service.configure(sync=True)
    service.fault("garbage", "ExportNbdVolumes", garbage="types", taken=True)
    begun, ended = begin_and_end(work, planned)
    assert list_acts(ended) == ["UnexportNbdVolumes"]
    assert begun.result["next"]["snapshot_group"] == ended.report[0]["snapshot_group"] is not None
    assert "has not exported the volumes that it was asked for" in ended.report[0]["error"]


@pytest.mark.parametrize("problem", ["damaged", "unreachable", "another volume"])
def test_a_point_that_is_damaged_is_found_before_the_vm_is_stopped(
    service: Simulator, work: WorkflowRunner, problem: str
) -> None:
    """In check mode, too."""
    vm = service.records("vm")[0]["uuid"]
    service.change("vm", vm, state="Running")
    planned = plan(service, work, stop=True).result["next"]
    (check,) = planned["checks"]
    assert check["sources"] == [target["source"] for target in planned["targets"]]
    results: dict[str, tuple[dict[str, Any], str]] = {
        "damaged": ({"failed": True, "msg": "a file is damaged", "volumes": []}, "damaged: a file is damaged. Nothing"),
        "unreachable": ({"unreachable": True, "msg": "no route"}, "damaged: no route. Nothing was changed."),
        "another volume": ({"volumes": []}, "has not checked all volumes of the point"),
    }
    result, message = results[problem]
    for is_check in (True, False):
        given = {"plan": planned, "taken": taken(planned), "checked": [result]}
        begun = step(work, "begin", given, is_check, stop=True)
        ended = step(work, "end", {**given, "begun": begun.result, "restored": []}, is_check, stop=True)
        assert (message in begun.message, list_acts(begun), list_acts(ended)) == (True, [], [])
        assert (ended.result["failed_count"], {entry["outcome"] for entry in ended.report}) == (2, {"failed"})
        assert message in ended.report[0]["error"]


@pytest.mark.parametrize("state", ["Running", "Starting", "Paused", "Destroyed"])
def test_a_vm_that_is_started_while_it_is_written(service: Simulator, work: WorkflowRunner, state: str) -> None:
    """By a person, or by the high availability of the service: what its guest reads and writes is damaged."""
    planned = plan(service, work).result["next"]
    begun = step(work, "begin", {"plan": planned, "taken": taken(planned)})
    service.change("vm", planned["vm"]["uuid"], state=state)
    given = {"plan": planned, "taken": taken(planned), "begun": begun.result, "restored": written(planned)}
    ended = step(work, "end", given, start=True)
    # The module finds no VM that is destroyed.
    calls = [] if state == "Destroyed" else ["UnexportNbdVolumes"]
    assert (list_acts(ended), set(ended.outcomes)) == (calls, {"failed"})
    shown = "gone" if state == "Destroyed" else state
    assert f"The VM is {shown}: it was started, or removed, while its volumes were written" in ended.report[0]["error"]
    assert "was not started" not in ended.report[0]["error"]


def test_a_vm_whose_state_cannot_be_read_after_it_was_written(service: Simulator, work: WorkflowRunner) -> None:
    planned = plan(service, work).result["next"]
    begun = step(work, "begin", {"plan": planned, "taken": taken(planned)})
    given = {"plan": planned, "taken": taken(planned), "begun": begun.result, "restored": written(planned)}
    service.fault("fail", "QueryVmInstance", error={"code": "SYS.1000", "details": "no database"})
    ended = step(work, "end", given, start=True)
    assert (list_acts(ended), set(ended.outcomes)) == (["UnexportNbdVolumes"], {"failed"})
    assert "It is not known whether the VM was started while its volumes were written" in ended.report[0]["error"]


@pytest.mark.parametrize("unwritten", ["untouched", "unchanged"])
def test_what_was_stopped_runs_again_if_nothing_was_written(
    service: Simulator, work: WorkflowRunner, unwritten: str
) -> None:
    service.change("vm", service.records("vm")[0]["uuid"], state="Running")
    planned = plan(service, work, stop=True).result["next"]
    begun = step(work, "begin", {"plan": planned, "taken": taken(planned)}, stop=True)
    (result,) = written(planned, unwritten)
    failed = {**result, "failed": True, "msg": "the export does not answer."}
    given = {"plan": planned, "taken": taken(planned), "begun": begun.result, "restored": [failed]}
    ended = step(work, "end", given, stop=True)
    assert list_acts(ended) == ["UnexportNbdVolumes", "StartVmInstance"]
    assert "The VM runs, as before." in ended.report[0]["error"]
    # But not while anybody can write its volumes.
    service.change("vm", planned["vm"]["uuid"], state="Stopped")
    service.fault("fail", operation="UnexportNbdVolumes", error={"code": "SYS.1006", "details": "busy."})
    ended = step(work, "end", given, stop=True)
    assert list_acts(ended) == ["UnexportNbdVolumes"]
    assert "The VM was not started." in ended.report[0]["error"]


@pytest.mark.parametrize(
    "result",
    [
        {"failed": True, "msg": "a file is damaged", "volumes": []},
        {"failed": True, "msg": "the process was killed"},
        {"unreachable": True, "msg": "no route"},
        {"failed": False, "volumes": []},
    ],
)
def test_files_that_are_not_written_are_failures(
    service: Simulator, work: WorkflowRunner, result: dict[str, Any]
) -> None:
    """Also where the data mover has named no volume."""
    files: dict[str, Any] = {"to_directory": "/srv/files", "confirm": None}
    planned = step(work, "plan", {"listed": list_points(service)}, **files).result["next"]
    begun = step(work, "begin", {"plan": planned, "taken": []}, **files)
    given = {"plan": planned, "taken": [], "begun": begun.result, "restored": [result]}
    ended = step(work, "end", given, **files)
    assert ended.result["failed_count"] == 2
    paths = {f"/srv/files/{target['source']}.raw" for target in planned["targets"]}
    assert {entry["target"] for entry in ended.report} == paths
    assert {entry["outcome"] for entry in ended.report} == {"failed"}


def test_a_point_without_volumes_is_refused(service: Simulator, work: WorkflowRunner) -> None:
    message = step(work, "plan", {"listed": list_points(service, volumes=[])}).message
    assert f"the point {STAMP} has no volumes. Nothing was changed." in message


def test_a_storage_without_room_beside_the_snapshots(service: Simulator, work: WorkflowRunner) -> None:
    """Before the VM is stopped. Without snapshots, the volumes are overwritten in place."""
    vm = service.records("vm")[0]
    (storage,) = {volume["primaryStorageUuid"] for volume in vm["allVolumes"]}
    needed = sum(volume["size"] for volume in vm["allVolumes"])
    service.change("primarystorage", storage, availablePhysicalCapacity=needed)
    assert "next" in plan(service, work).result
    service.change("primarystorage", storage, availablePhysicalCapacity=needed - 1)
    refused = plan(service, work)
    message = (
        f"has {needed - 1} bytes free, and up to {needed} are written beside the snapshot group. Nothing was changed"
    )
    assert (message in refused.message, refused.calls) == (True, [])
    assert "next" in plan(service, work, snapshot_first=False).result
    service.fault("fail", "QueryPrimaryStorage", error={"code": "ID.1002", "details": "not permitted"}, count=None)
    ran = plan(service, work)
    assert "next" in ran.result
    assert "It is not known whether the primary storages have room" in ran.warnings[0]


def test_how_much_a_restore_writes_at_most() -> None:
    """No more than the files of the copy have, which are sparse. Those that are compressed say nothing about it."""

    def point(stamp: str, base: str | None, file_bytes: int | None, compression: str = "none") -> dict[str, Any]:
        copy = {"volume_uuid": "v", "base": base, "file_bytes": file_bytes, "compression": compression}
        return {"point": stamp, "volumes": [copy]}

    target = {"source": "v", "point": "2", "size": 100}
    for base, expected in (
        (point("1", None, 30), 40),
        (point("1", None, 300), 100),
        (point("1", None, 30, "zstd"), 100),
        (point("1", None, None), 100),
        (point("0", None, 30), 100),
    ):
        assert count_written(target, [base, point("2", "1", 10)]) == expected


# ---------------------------------------------------------------------------------------------------------------- mark


def prepare(service: Simulator, state: str) -> None:
    """Let vm-1 have a state."""
    service.change("vm", service.records("vm")[0]["uuid"], state=state)


@pytest.mark.parametrize("state", ["Running", "Stopped"])
def test_the_mark_of_a_vm(service: Simulator, work: WorkflowRunner, state: str) -> None:
    """It is there before the VM is stopped, says that it may be half written, and is taken off at the end."""
    prepare(service, state)
    planned = plan(service, work, stop=True).result["next"]
    begun = step(work, "begin", {"plan": planned, "taken": taken(planned)}, stop=True)
    tags, stops = [
        [n for n, call in enumerate(begun.calls) if call == name] for name in ("CreateUserTag", "StopVmInstance")
    ]
    assert (len(tags), len(stops)) == (2, int(state == "Running"))
    assert all(tags[0] < number < tags[1] for number in stops)
    assert tags[1] < begun.calls.index("ExportNbdVolumes")
    assert list_marks(service) == [f"writing {state}"]
    given = {"plan": planned, "taken": taken(planned), "begun": begun.result, "restored": written(planned)}
    ended = step(work, "end", given, stop=True, start=True)
    assert (list_acts(ended), set(ended.outcomes)) == (["UnexportNbdVolumes", "StartVmInstance"], {"changed"})
    assert list_marks(service) == []


@pytest.mark.parametrize("code", ["SYS.1000", "SYS.1006"])
def test_a_vm_that_cannot_be_marked_is_not_stopped(service: Simulator, work: WorkflowRunner, code: str) -> None:
    prepare(service, "Running")
    planned = plan(service, work, stop=True).result["next"]
    service.fault("fail", "CreateUserTag", error={"code": code, "details": "too many tags"})
    begun, ended = begin_and_end(work, planned, stop=True, start=True)
    assert (list_acts(begun), list_acts(ended)) == ([], [])
    assert "Nothing was changed, because no object could be marked." in ended.report[0]["error"]
    assert "too many tags" in ended.report[0]["error"]


def test_a_restore_that_was_killed_while_it_stopped_the_vm(service: Simulator, work: WorkflowRunner) -> None:
    """Another controller knows from the mark that the VM ran, and starts it if nothing is written after all."""
    prepare(service, "Running")
    planned = plan(service, work, stop=True).result["next"]
    service.fault("fail", "CreateVolumeSnapshotGroup", error={"code": "SYS.1000", "details": "no space"}, count=2)
    step(work, "begin", {"plan": planned, "taken": taken(planned)}, stop=True)
    assert list_marks(service) == ["Running"]
    planned = plan(service, work, stop=True).result["next"]
    assert planned["vm"]["state"] == "Stopped"
    dummy, ended = begin_and_end(work, planned, stop=True)
    assert (list_acts(ended), list_marks(service)) == (["StartVmInstance"], [])
    assert "no space. The VM runs, as before." in ended.report[0]["error"]


@pytest.mark.parametrize("is_shown", [True, False])
def test_a_stop_that_is_in_flight(service: Simulator, work: WorkflowRunner, is_shown: bool) -> None:
    """The VM is Stopping, or still shows Running, and will be off."""
    prepare(service, "Running")
    service.configure(early_states=is_shown)
    planned = plan(service, work, stop=True).result["next"]
    service.fault("hang", "StopVmInstance")
    step(work, "begin", {"plan": planned, "taken": taken(planned)}, stop=True, timeout=1)
    again = plan(service, work, stop=True)
    if is_shown:
        assert "an action of an earlier run is still in flight" in again.message
        assert "Nothing was changed. Wait until it has ended" in again.message
    else:
        dummy, ended = begin_and_end(work, again.result["next"], stop=True, timeout=1)
        assert "an action of an earlier run is still in flight" in ended.report[0]["error"]
        assert list_acts(ended) == []
    assert list_marks(service) == ["Running"]


def test_a_stop_of_an_earlier_run_is_awaited(
    service: Simulator, work: WorkflowRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That run was killed. A VM that a person is stopping is refused, as one that runs."""
    prepare(service, "Running")
    planned = plan(service, work, stop=True).result["next"]
    service.configure(latencies={"StopVmInstance": 1000.0})
    step(work, "begin", {"plan": planned, "taken": taken(planned)}, stop=True, timeout=1)
    assert service.records("vm")[0]["state"] == "Stopping"
    settle = Marks.settle

    def end_and_settle(self: Marks, *arguments: Any) -> dict[str, str]:
        service.settle()
        return settle(self, *arguments)

    monkeypatch.setattr(Marks, "settle", end_and_settle)
    assert plan(service, work, stop=True).result["next"]["vm"]["state"] == "Stopped"
    service.change("vm", planned["vm"]["uuid"], state="Stopping")
    for tag in service.records("usertag"):
        ModuleRunner(service)("api", {"operation": "DeleteTag", "params": {"uuid": tag["uuid"]}})
    assert "a restore needs a stopped VM, and vm-1 is Stopping. Nothing was changed." in plan(service, work).message


def test_an_export_of_an_earlier_run_is_awaited(service: Simulator, work: WorkflowRunner) -> None:
    """That run was killed. The next one ended no exports, since there were none yet, and then could not export."""
    planned = plan(service, work).result["next"]
    service.fault("hang", "ExportNbdVolumes")
    step(work, "begin", {"plan": planned, "taken": taken(planned)}, timeout=1)
    again = plan(service, work).result["next"]
    dummy, ended = begin_and_end(work, again, timeout=1)
    assert "an action of an earlier run is still in flight" in ended.report[0]["error"]
    assert list_acts(ended) == []


def test_the_exports_of_a_restore_that_was_killed_before_a_backup(service: Simulator, work: WorkflowRunner) -> None:
    """The backup has removed the run that was killed from the repository, but the mark says whose the exports are."""
    first = plan(service, work).result["next"]
    step(work, "begin", {"plan": first, "taken": taken(first)})
    planned = plan(service, work).result["next"]
    assert not planned["has_leftover"]
    begun = step(work, "begin", {"plan": planned, "taken": taken(planned)})
    assert list_acts(begun)[-2:] == ["UnexportNbdVolumes", "ExportNbdVolumes"]
    given = {"plan": planned, "taken": taken(planned), "begun": begun.result, "restored": written(planned)}
    ended = step(work, "end", given)
    assert (set(ended.outcomes), list_marks(service)) == ({"changed"}, [])


def test_a_vm_that_an_earlier_run_left_half_written_is_not_started(service: Simulator, work: WorkflowRunner) -> None:
    """Although this run has written nothing, and the earlier one has stopped the VM."""
    prepare(service, "Running")
    first = plan(service, work, stop=True).result["next"]
    step(work, "begin", {"plan": first, "taken": taken(first)}, stop=True)
    assert list_marks(service) == ["writing Running"]
    planned = plan(service, work, stop=True).result["next"]
    service.fault("fail", "ExportNbdVolumes", error={"code": "SYS.1000", "details": "no port is free"})
    dummy, ended = begin_and_end(work, planned, stop=True, start=True)
    assert "StartVmInstance" not in ended.calls
    assert "The VM was not started. It has the tag 'virtinfra.manager vm_backup_restore" in ended.report[0]["error"]
    assert list_marks(service) == ["writing Running"]


def test_a_mark_that_cannot_be_changed_starts_no_vm(service: Simulator, work: WorkflowRunner) -> None:
    planned = plan(service, work).result["next"]
    begun = step(work, "begin", {"plan": planned, "taken": taken(planned)})
    given = {"plan": planned, "taken": taken(planned), "begun": begun.result, "restored": written(planned)}
    service.fault("fail", "CreateUserTag", error={"code": "SYS.1000", "details": "no database"})
    ended = step(work, "end", given, start=True)
    assert (list_acts(ended), set(ended.outcomes)) == (["UnexportNbdVolumes"], {"failed"})
    assert "The mark of the VM could not be changed, so it was not started" in ended.report[0]["error"]
    service.fault("fail", "DeleteTag", error={"code": "SYS.1000", "details": "no database"})
    ended = step(work, "end", given)
    assert set(ended.outcomes) == {"failed"}
    assert "The tag 'virtinfra.manager vm_backup_restore" in ended.report[0]["error"]


# ------------------------------------------------------------------------------------------------------------- created


def list_removed(service: Simulator, number: int = 0, **members: Any) -> dict[str, Any]:
    """Return a point with the record of a VM, which is destroyed and expunged then."""
    vm = service.records("vm")[number]
    record = ModuleRunner(service)("vm_info", {"uuid": vm["uuid"]}).result["vms"][0]
    listed = list_points(service, number, vm=record, left_out=[])
    for device, copy in enumerate(listed["points"][0]["volumes"]):
        copy["device_id"] = device
    listed["points"][0].update(members)
    removal = {"uuid": vm["uuid"], "state": "absent", "data_volumes": "delete", "expunge": True}
    assert not ModuleRunner(service)("vm", removal).failed
    return listed


def create(
    work: WorkflowRunner, listed: dict[str, Any], check: bool = False, write: str = "restored", **variables: Any
) -> list[WorkflowRun]:
    """Run the steps that make a VM of a point: plan, begin, end."""
    given = {"state": "created", "confirm": None, **variables}
    planned = step(work, "plan", {"listed": listed}, check, **given)
    plan = planned.result["next"]
    assert step(work, "confirm", {"plan": plan}, check, **given).result["failed_count"] == 0
    known = {"plan": plan, "taken": taken(plan)}
    begun = step(work, "begin", known, check, **given)
    written_rows = (
        written({**plan, "targets": begun.result["next"]["plan"]["targets"]}, write) if work_of(begun) else []
    )
    return [
        planned,
        begun,
        step(work, "end", {**known, "begun": begun.result, "restored": written_rows}, check, **given),
    ]


def work_of(begun: WorkflowRun) -> Any:
    """Return what the data mover gets."""
    return begun.result["next"]["work"]


def find_named(service: Simulator, name: str) -> dict[str, Any]:
    """Return the VM with a name that is not destroyed."""
    (vm,) = [vm for vm in service.records("vm") if vm["name"] == name and vm["state"] != "Destroyed"]
    return vm


def test_a_removed_vm_is_made_again(service: Simulator, work: WorkflowRunner) -> None:
    """As large as it was, with its volumes in their order and its addresses; check mode predicts it without a call."""
    before = service.records("vm")[0]
    listed = list_removed(service)
    predicted, would_begin, would_end = create(work, listed, check=True)
    assert (would_end.outcomes, would_begin.result["changed"]) == (["changed"] * 2, True)
    assert list_acts(would_begin) == list_acts(would_end) == []
    assert (
        predicted.result["next"]["lines"][0] == f"The VM vm-1 is made of the point {STAMP} of vm-1, with these volumes:"
    )
    planned, begun, ended = create(work, listed, start=True)
    assert list_acts(begun) == ["CreateVmInstance", "ExportNbdVolumes"]
    attached = ["AttachL3NetworkToVm"] * len(before["vmNics"])
    assert list_acts(ended) == ["UnexportNbdVolumes", *attached, "UpdateVmInstance", "StartVmInstance"]
    assert ended.outcomes == ["changed"] * 2, ended.message
    after = find_named(service, "vm-1")
    same = ("name", "description", "cpuNum", "memorySize", "platform", "architecture", "guestOsType", "clusterUuid")
    assert {name: after[name] for name in same} == {name: before[name] for name in same}
    assert (after["state"], after["defaultL3NetworkUuid"]) == ("Running", before["defaultL3NetworkUuid"])
    assert [each["size"] for each in after["allVolumes"]] == [each["size"] for each in before["allVolumes"]]
    nic_members = ("l3NetworkUuid", "ip", "mac")
    nics = [[[nic[name] for name in nic_members] for nic in vm["vmNics"]] for vm in (before, after)]
    assert nics[0] == nics[1]
    (item,) = work_of(begun)
    new = {volume["uuid"] for volume in after["allVolumes"]}
    assert [info["source"] for info in item["volumes"]] == [each["uuid"] for each in before["allVolumes"]]
    assert {info["volume"]["volume_uuid"] for info in item["volumes"]} == new == {e["target"] for e in ended.report}
    # A second run, of this or of another controller, finds the same VM, and leaves it as it is.
    planned, begun, ended = create(work, listed, start=True)
    assert (list_acts(begun), list_acts(ended), ended.outcomes) == ([], [], ["unchanged"] * 2)
    assert "made of the point" in planned.result["next"]["lines"][0]
    assert (begun.result["changed"], ended.result["changed"]) == (False, False)


def test_a_creation_that_was_interrupted_is_continued(service: Simulator, work: WorkflowRunner) -> None:
    """Its description says that it is not whole, and there is one VM in the end."""
    listed = list_removed(service)
    service.fault("fail", "ExportNbdVolumes", error={"code": "SYS.1000", "details": "no port is free"})
    ended = create(work, listed, start=True)[2]
    assert set(ended.outcomes) == {"failed"}
    assert "no port is free" in ended.report[0]["error"]
    half = find_named(service, "vm-1")
    assert half["description"].startswith("Being made by the role virtinfra.manager.vm_backup_restore.")
    assert half["state"] == "Stopped"
    dummy, begun, ended = create(work, listed, start=True)
    assert "CreateVmInstance" not in begun.calls
    assert ended.outcomes == ["changed"] * 2
    assert find_named(service, "vm-1")["uuid"] == half["uuid"]


def test_a_creation_that_is_killed_at_any_moment(service: Simulator, work: WorkflowRunner) -> None:
    """While it makes and exports the VM. The next run completes one VM."""
    listed = list_removed(service)
    values = {"vm": "vm-1", "repository": "/srv/backups", "state": "created"}
    prefixed = {f"vm_backup_restore_{name}": value for name, value in values.items()}
    for after in range(1, 40, 4):
        name = f"made-{after}"
        given: dict[str, Any] = {"state": "created", "confirm": None, "name": name, "nics": "none"}
        planned = step(work, "plan", {"listed": listed}, **given).result["next"]
        known = {"plan": planned, "taken": taken(planned), "checked": checked(planned)}
        chosen = {**prefixed, "vm_backup_restore_name": name, "vm_backup_restore_nics": "none"}
        was_killed = work.kill(after, "vm_backup_restore", chosen, step="begin", given=known)
        service.settle()
        ended = create(work, listed, name=name, nics="none")[2]
        assert ended.outcomes == ["changed"] * 2, ended.message
        assert find_named(service, name)["description"] == listed["points"][0]["vm"]["description"]
        if not was_killed:
            break
    assert after > 8


def test_a_response_of_the_creation_that_was_lost(service: Simulator, work: WorkflowRunner) -> None:
    listed = list_removed(service)
    service.fault("drop_after", "CreateVmInstance")
    assert create(work, listed)[2].outcomes == ["changed"] * 2
    assert find_named(service, "vm-1")["state"] == "Stopped"


def test_a_vm_that_cannot_be_made(service: Simulator, work: WorkflowRunner) -> None:
    listed = list_removed(service)
    service.fault("fail", "CreateVmInstance", error={"code": "SYS.1090", "details": "no host has room"})
    dummy, begun, ended = create(work, listed)
    assert (list_acts(begun), list_acts(ended), set(ended.outcomes)) == (["CreateVmInstance"], [], {"failed"})
    assert "The VM vm-1 could not be made" in ended.report[0]["error"]
    assert "no host has room" in ended.report[0]["error"]


def test_a_vm_that_is_made_beside_the_old_one(service: Simulator, work: WorkflowRunner) -> None:
    """Not with its addresses."""
    vm = service.records("vm")[0]
    record = ModuleRunner(service)("vm_info", {"uuid": vm["uuid"]}).result["vms"][0]
    listed = list_points(service, vm=record, left_out=[])
    for device, copy in enumerate(listed["points"][0]["volumes"]):
        copy["device_id"] = device
    given: dict[str, Any] = {"state": "created", "confirm": None}
    refused = step(work, "plan", {"listed": listed}, **given)
    assert "a VM has the name vm-1 already" in refused.message
    refused = step(work, "plan", {"listed": listed}, **given, name="vm-1-copy")
    assert f"vm-1 has the address {vm['vmNics'][0]['ip']}. Nothing was changed." in refused.message
    for nics, expected in (("none", 0), ("new", len({nic["l3NetworkUuid"] for nic in vm["vmNics"]}))):
        name = f"vm-1-{nics}"
        ended = create(work, listed, name=name, nics=nics)[2]
        assert ended.outcomes == ["changed"] * 2
        assert len(find_named(service, name)["vmNics"]) == expected
    assert find_named(service, "vm-1") == vm


def test_what_of_a_creation_is_refused(service: Simulator, work: WorkflowRunner) -> None:
    listed = list_removed(service)
    (point,) = listed["points"]
    data = {**listed, "points": [{**point, "volumes": point["volumes"][1:]}]}
    elsewhere = {**listed, "points": [{**point, "vm": {**point["vm"], "cluster_uuid": "f" * 32}}]}
    nic = {**point["vm"]["vm_nics"][0], "l3_network_uuid": "f" * 32}
    offline = {**listed, "points": [{**point, "vm": {**point["vm"], "vm_nics": [nic]}}]}
    running = {**listed, "running": [{"vm_uuid": point["vm_uuid"], "point": STAMP}]}
    cases: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
        ("has no copy of a root volume", data, {}),
        (f"no cluster has the name or uuid {'f' * 32}", elsewhere, {}),
        ("no cluster has the name or uuid nowhere", listed, {"cluster": "nowhere"}),
        (f"has no L3 networks {'f' * 32}", offline, {}),
        ("does not have a point of the VM vm-9", listed, {"vm": "vm-9"}),
    ]
    for message, points, variables in cases:
        ran = step(work, "plan", {"listed": points}, state="created", confirm=None, **variables)
        assert (message in ran.message, "Nothing was changed." in ran.message, ran.calls) == (True, True, []), (
            ran.message
        )
    assert "next" in step(work, "plan", {"listed": running}, state="created", confirm=None).result
    for variables in ({"stop": True}, {"volumes": ["v"]}, {"map": {"a": "b"}}, {"to_directory": "/srv"}):
        message = step(work, "select", state="created", **variables).message
        assert "vm_backup_restore_state created makes a VM" in message
    assert "Set vm_backup_restore_state to created" in step(work, "select", name="x").message


def test_a_removed_vm_that_is_not_asked_to_be_made(service: Simulator, work: WorkflowRunner) -> None:
    """The message names the point, and the ways to use it."""
    vm = service.records("vm")[0]["uuid"]
    listed = list_points(service)
    assert not ModuleRunner(service)("vm", {"uuid": vm, "state": "absent"}).failed
    assert step(work, "select").result["next"]["vm_uuids"] is None
    message = step(work, "plan", {"listed": listed}).message
    assert f"The VM {vm} with this name is only destroyed: the module vm recovers it with recover: true" in message
    assert f"The repository has its point {STAMP}. Set vm_backup_restore_state to created" in message
    assert "The repository has no point of it" in step(work, "plan", {"listed": {**listed, "points": []}}).message


def test_an_address_that_was_taken_meanwhile(service: Simulator, work: WorkflowRunner) -> None:
    """The VM is not started, and a later run completes it."""
    listed = list_removed(service)
    service.fault("fail", "AttachL3NetworkToVm", error={"code": "SYS.1007", "details": "the address is in use"})
    ended = create(work, listed, start=True)[2]
    assert set(ended.outcomes) == {"failed"}
    assert "is missing" in ended.report[0]["error"]
    assert "The VM was not started" in ended.report[0]["error"]
    assert find_named(service, "vm-1")["state"] == "Stopped"
    ended = create(work, listed, start=True, write="unchanged")[2]
    assert (set(ended.outcomes), find_named(service, "vm-1")["state"]) == ({"unchanged"}, "Running")


def test_a_creation_whose_step_was_interrupted(service: Simulator, work: WorkflowRunner) -> None:
    """The next step looks what it has made, and ends its exports."""
    listed = list_removed(service)
    given: dict[str, Any] = {"state": "created", "confirm": None}
    planned = step(work, "plan", {"listed": listed}, **given).result["next"]
    known = {"plan": planned, "taken": taken(planned)}
    interrupted = {"failed": True, "msg": "the keyword timeout"}
    ended = step(work, "end", {**known, "begun": interrupted, "restored": []}, **given)
    assert (list_acts(ended), set(ended.outcomes)) == ([], {"failed"})
    step(work, "begin", known, **given)
    ended = step(work, "end", {**known, "begun": interrupted, "restored": []}, **given)
    assert (list_acts(ended), set(ended.outcomes)) == (["UnexportNbdVolumes"], {"failed"})


# ------------------------------------------------------------------------------------------------------------ attached


def attach(
    service: Simulator, work: WorkflowRunner, check: bool = False, write: str = "restored", **variables: Any
) -> list[WorkflowRun]:
    """Run the steps that attach the root volume of a point of vm-1 to vm-1, which runs: plan, begin, end."""
    root = service.records("vm")[0]["rootVolumeUuid"]
    given = {"state": "attached", "volumes": [root], "confirm": None, **variables}
    planned = step(work, "plan", {"listed": list_points(service)}, check, **given)
    known = {"plan": planned.result["next"], "taken": taken(planned.result["next"])}
    assert step(work, "confirm", known, check, **given).result["failed_count"] == 0
    begun = step(work, "begin", known, check, **given)
    results = written(known["plan"], write) if work_of(begun) else []
    return [planned, begun, step(work, "end", {**known, "begun": begun.result, "restored": results}, check, **given)]


def list_new_disks(service: Simulator) -> list[dict[str, Any]]:
    """Return the disks with the mark."""
    mark = "Disk of the role virtinfra.manager.vm_backup_restore: "
    return [each for each in service.records("volume") if str(each["description"]).startswith(mark)]


def test_one_volume_of_a_point_becomes_a_disk(service: Simulator, work: WorkflowRunner) -> None:
    """Of a VM that goes on running; and is removed by its mark."""
    vm = service.records("vm")[0]
    service.change("vm", vm["uuid"], state="Running", hostUuid=vm["lastHostUuid"])
    predicted = attach(service, work, check=True)
    assert (list_acts(predicted[1]), list_acts(predicted[2])) == ([], [])
    assert (predicted[1].result["changed"], predicted[2].outcomes) == (True, ["changed"])
    dummy, begun, ended = attach(service, work)
    assert list_acts(begun) == ["CreateVmInstance", "UnexportNbdVolumes", "ExportNbdVolumes"]
    moves = ["UnexportNbdVolumes", "UpdateVolume", "DetachDataVolumeFromVm", "AttachDataVolumeToVm"]
    assert list_acts(ended)[:4] == moves
    assert (ended.outcomes, ended.report[0]["error"]) == (["changed"], None)
    (disk,) = list_new_disks(service)
    assert (disk["vmInstanceUuid"], disk["size"], ended.report[0]["target"]) == (
        vm["uuid"],
        vm["allVolumes"][0]["size"],
        disk["uuid"],
    )
    assert [each["name"] for each in service.records("vm")] == ["vm-1", "vm-2"]
    assert not any(service.state()["exported"].values())
    dummy, begun, ended = attach(service, work)
    assert (list_acts(begun), list_acts(ended), ended.outcomes) == ([], [], ["unchanged"])
    # Another volume with such a name stays.
    foreign = next(
        each for each in service.records("volume") if each["vmInstanceUuid"] == vm["uuid"] and each["type"] == "Data"
    )
    service.change("volume", foreign["uuid"], name=disk["name"])
    for check, outcomes in ((True, ["changed"]), (False, ["changed"]), (False, [])):
        runs = detach(service, work, check)
        assert runs[-1].outcomes == outcomes
    assert list_new_disks(service) == []
    assert foreign["uuid"] in {each["uuid"] for each in service.records("volume")}


def detach(service: Simulator, work: WorkflowRunner, check: bool = False, **variables: Any) -> list[WorkflowRun]:
    """Run the steps that remove the disks of vm-1."""
    given = {"state": "detached", "confirm": None, **variables}
    planned = step(work, "plan", {"listed": list_points(service)}, check, **given)
    known = {"plan": planned.result["next"], "taken": []}
    begun = step(work, "begin", known, check, **given)
    return [planned, begun, step(work, "end", {**known, "begun": begun.result, "restored": []}, check, **given)]


@pytest.mark.parametrize(
    ("operation", "remains"),
    [
        ("CreateVmInstance", 0),
        ("ExportNbdVolumes", 0),
        ("UpdateVolume", 0),
        ("DetachDataVolumeFromVm", 1),
        ("AttachDataVolumeToVm", 1),
    ],
)
def test_a_disk_that_cannot_be_attached(service: Simulator, work: WorkflowRunner, operation: str, remains: int) -> None:
    """What is half done is removed or, once the disk is whole, completed by the next run."""
    service.fault("fail", operation, error={"code": "SYS.1000", "details": "no agent"})
    ended = attach(service, work)[2]
    assert (ended.outcomes, "no agent" in ended.report[0]["error"]) == (["failed"], True)
    assert len(list_new_disks(service)) == remains
    ended = attach(service, work)[2]
    assert (ended.outcomes, ended.report[0]["error"]) == (["changed"], None)
    assert [disk["vmInstanceUuid"] for disk in list_new_disks(service)] == [service.records("vm")[0]["uuid"]]
    assert len(service.records("vm")) == 2


@pytest.mark.parametrize("steps", [1, 2])
def test_a_run_that_was_killed_while_it_made_a_disk(service: Simulator, work: WorkflowRunner, steps: int) -> None:
    """The next one goes on with the same VM; and a removal leaves nothing of it."""
    root = service.records("vm")[0]["rootVolumeUuid"]
    given: dict[str, Any] = {"state": "attached", "volumes": [root], "confirm": None}
    planned = step(work, "plan", {"listed": list_points(service)}, **given).result["next"]
    step(work, "begin", {"plan": planned, "taken": taken(planned)}, **given)
    assert len(service.records("vm")) == 3
    if steps == 1:
        assert attach(service, work)[2].outcomes == ["changed"]
    else:
        assert detach(service, work)[-1].outcomes == []
    assert len(service.records("vm")) == 2
    assert len(list_new_disks(service)) == 2 - steps


def test_what_of_a_disk_is_refused(service: Simulator, work: WorkflowRunner) -> None:
    root = service.records("vm")[0]["rootVolumeUuid"]
    variables: dict[str, Any]
    for variables, message in (
        ({"state": "attached", "volumes": []}, "needs one volume in vm_backup_restore_volumes"),
        ({"state": "detached", "start": True}, "is about disks of a VM that goes on running"),
        ({"attach_to": "vm-2"}, "needs vm_backup_restore_state attached or detached"),
    ):
        assert message in step(work, "select", **variables).message
    service.change("vm", service.records("vm")[1]["uuid"], state="Paused")
    for variables, message in (
        ({"volumes": ["f" * 32]}, f"has no volume {'f' * 32}. Nothing was changed. Its volumes are {root}"),
        ({"volumes": [root], "attach_to": "vm-9"}, "no VM has the name or uuid vm-9, so it gets no disk."),
        ({"volumes": [root], "attach_to": "vm-2"}, "vm-2 is Paused, so no disk can be attached."),
    ):
        ran = step(work, "plan", {"listed": list_points(service)}, state="attached", **variables)
        assert (message in ran.message, ran.calls) == (True, []), ran.message


def test_a_disk_of_a_vm_that_was_removed(service: Simulator, work: WorkflowRunner) -> None:
    """For another VM."""
    root = service.records("vm")[0]["rootVolumeUuid"]
    listed = list_removed(service)
    given: dict[str, Any] = {"state": "attached", "volumes": [root], "confirm": None, "attach_to": "vm-2"}
    planned = step(work, "plan", {"listed": listed}, **given).result["next"]
    known = {"plan": planned, "taken": taken(planned)}
    begun = step(work, "begin", known, **given)
    ended = step(work, "end", {**known, "begun": begun.result, "restored": written(planned)}, **given)
    assert ended.outcomes == ["changed"]
    (vm,) = service.records("vm")
    assert [disk["vmInstanceUuid"] for disk in list_new_disks(service)] == [vm["uuid"]]
