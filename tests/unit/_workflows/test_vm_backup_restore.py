"""What the workflow vm_backup_restore refuses, and that it ends what it has exported."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.plugin_utils._run.owner import describe_owner
from ansible_collections.virtinfra.manager.plugins.plugin_utils._site.marks import Marks
from ansible_collections.virtinfra.manager.plugins.plugin_utils._site.site import Site
from ansible_collections.virtinfra.manager.plugins.plugin_utils._vm_restores.exports import TargetExports
from ansible_collections.virtinfra.manager.plugins.plugin_utils._vm_restores.overwriting import MARK
from ansible_collections.virtinfra.manager.plugins.plugin_utils._vm_restores.plan import count_written
from ansible_collections.virtinfra.manager.plugins.plugin_utils._vm_restores.report import describe_half

from simulator.launch import Simulator
from support.module_runner import ModuleRunner
from support.restores import STAMP, RestoreMover, RestoreRun, RestoreRunner, write_all
from support.workflow_runner import Killed, WorkflowRunner, create_play, is_killed

NO_AGENT = {"code": "SYS.1000", "details": "no agent"}


@pytest.fixture
def service(sim: Simulator) -> Simulator:
    """A simulator with two stopped VMs without CBT tasks."""
    sim.reset(vms=2, cbt_tasks=0)
    for vm in sim.records("vm"):
        sim.change("vm", vm["uuid"], state="Stopped")
    return sim


@pytest.fixture
def mover(service: Simulator, tmp_path: Path) -> RestoreMover:
    """A data mover with a point of vm-1."""
    mover = RestoreMover(tmp_path / "repository")
    mover.listed = list_points(service)
    return mover


@pytest.fixture
def restore(work: WorkflowRunner, mover: RestoreMover) -> RestoreRunner:
    return RestoreRunner(work, mover)


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


def state_of(service: Simulator, name: str = "vm-1") -> str:
    """Return the state of a VM."""
    return next(str(vm["state"]) for vm in service.records("vm") if vm["name"] == name)


def prepare(service: Simulator, state: str) -> str:
    """Let vm-1 have a state, and return its uuid."""
    uuid = str(service.records("vm")[0]["uuid"])
    service.change("vm", uuid, state=state)
    return uuid


def then(act: Callable[[], Any], write: Callable[[Any], Any] = write_all) -> Callable[[Any], Any]:
    """Return what the data mover does: it writes, and then something happens."""

    def write_and_act(arguments: Any) -> Any:
        result = write(arguments)
        act()
        return result

    return write_and_act


def fail(result: dict[str, Any]) -> Callable[[Any], Any]:
    """Return what a data mover does that returns this."""
    return lambda dummy: result


def test_a_restore_from_its_plan_to_its_end(service: Simulator, restore: RestoreRunner, mover: RestoreMover) -> None:
    ran = restore(start=True)
    assert f"The point {STAMP} of vm-1 overwrites these volumes of vm-1:" in ran.lines
    groups = ["CreateVolumeSnapshotGroup", "ExportNbdVolumes", "UnexportNbdVolumes", "StartVmInstance"]
    assert ran.acts == groups
    (given,) = mover.written
    assert [info["source"] for info in given["volumes"]] == [target["source"] for target in ran.plan["targets"]]
    assert set(ran.outcomes) == {"changed"}
    assert ran.last.result["changed"]
    names = {group["name"]: group["description"] for group in service.records("snapshotgroup")}
    assert names[ran.report[0]["snapshot_group"]] == MARK
    # The VM is started before it is given back.
    assert (mover.modules[-1], list((mover.repository / ".runs").glob("*.json"))) == ("backup_run", [])


def test_check_mode_writes_nothing(restore: RestoreRunner, mover: RestoreMover) -> None:
    ran = restore(check=True, confirm=None)
    assert (ran.acts, mover.written, set(ran.outcomes)) == ([], [], {"changed"})
    assert ran.last.result["changed"]
    assert mover.modules.count("backup_restore") == 1


def test_what_is_refused(service: Simulator, restore: RestoreRunner, mover: RestoreMover) -> None:
    first, second = service.records("vm")
    root, other = first["rootVolumeUuid"], second["rootVolumeUuid"]
    grown = list_points(service)
    grown["points"][0]["volumes"][0]["size"] += 512
    shrunk = list_points(service)
    shrunk["points"][0]["volumes"][0]["size"] -= 512
    broken = list_points(service, whole=False, problems=["a file is missing"])
    running = {**list_points(service), "running": [{"vm_uuid": first["uuid"], "point": STAMP}]}
    owner = {"host": "controller-2", "machine": "elsewhere", "process": 4711, "began": "1"}
    other_run = {"run": "r", "owner": owner, "vm_uuids": [first["uuid"]], "silent_seconds": 5}
    refused: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
        ("Check vm_backup_restore_vm and vm_backup_restore_repository", {"points": [], "running": [], "runs": []}, {}),
        ("process 4711 on controller-2", {**list_points(service), "runs": [other_run]}, {}),
        (
            f"Omit vm_backup_restore_point for the newest point, or choose one of its newest: {STAMP}",
            list_points(service),
            {"point": "yesterday"},
        ),
        ("does not have the point 20200101T000000Z", list_points(service), {"point": "20200101T000000Z"}),
        ("Nothing was changed. Choose another point with vm_backup_restore_point", broken, {}),
        ("another task copies or restores vm-1", running, {}),
        ("and its copy", grown, {"allow_larger": True}),
        ("and its copy", shrunk, {}),
        (f"the volume {other} is not attached to vm-1", list_points(service), {"map": {root: other}}),
        (
            (
                f"vm_backup_restore_map: no point in {mover.repository} has volumes root-of-vm-1. Nothing was changed."
                " Its keys must be uuids of volumes of the point, and its values uuids of volumes of the VM vm-1. The"
                f" point {STAMP} has {root} ("
            ),
            list_points(service),
            {"map": {"root-of-vm-1": root}},
        ),
        (f"uuids of its volumes, which are {root} (", list_points(service), {"volumes": ["nothing"]}),
        (", in vm_backup_restore_volumes or vm_backup_restore_map", list_points(service), {"volumes": ["nothing"]}),
        ("no VM has the name or uuid vm-9", list_points(service), {"vm": "vm-9"}),
    ]
    for message, mover.listed, variables in refused:
        ran = restore.plan(**variables)
        assert (message in ran.message, "Nothing was changed." in ran.message, ran.calls) == (True, True, []), (
            ran.message
        )
    mover.listed = shrunk
    assert "next" in restore.plan(allow_larger=True).result
    mover.listed = {**list_points(service), "runs": [{**other_run, "silent_seconds": 5000}]}
    assert "next" in restore.plan().result
    wrong = restore(confirm="vm-2")
    assert "must be the name of the VM, vm-1" in wrong.last.message
    assert wrong.acts == []


def test_points_that_cannot_be_read(restore: RestoreRunner, mover: RestoreMover) -> None:
    mover.failure = {"failed": True, "msg": "the folder is no repository."}
    ran = restore.plan(mover="m1")
    assert ran.message == (
        f"The points in {mover.repository} on the data mover m1 could not be read: the folder is no repository."
        " Check vm_backup_restore_repository and vm_backup_restore_mover."
    )
    mover.failure = {"failed": True, "unreachable": True}
    assert "on the data mover m1 could not be read: it is unreachable." in restore.plan(mover="m1").message


@pytest.mark.parametrize("state", ["Running", "Paused", "Unknown"])
def test_never_into_a_vm_that_does_not_stand_still(service: Simulator, restore: RestoreRunner, state: str) -> None:
    """Servers refuse to export the volumes of a running VM only."""
    planned = restore.plan()
    prepare(service, state)
    refused = restore.plan()
    assert (f"a restore needs a stopped VM, and vm-1 is {state}" in refused.message, refused.calls) == (True, [])
    ran = restore.restore(planned)
    assert (f"it is {state}" in ran.error, ran.acts) == (True, [])


def test_a_failure_names_the_half_written_volume_and_the_snapshot_group(
    service: Simulator, restore: RestoreRunner, mover: RestoreMover
) -> None:
    root = service.records("vm")[0]["rootVolumeUuid"]
    half = {"volume_uuid": root, "target": root, "size": 1, "state": "incomplete"}
    mover.write = fail({"failed": True, "msg": "the export was cut.", "volumes": [half]})
    ran = restore(start=True)
    assert ran.acts[-1] == "UnexportNbdVolumes"
    entry, other = ran.report
    assert (entry["outcome"], other["outcome"], other["state"]) == ("failed", "failed", "untouched")
    for part in (
        "the export was cut.",
        "The VM was not started.",
        "half written",
        "Run the role again",
        entry["snapshot_group"],
    ):
        assert part in entry["error"]


def test_a_mover_that_does_not_say_what_it_has_written(restore: RestoreRunner, mover: RestoreMover) -> None:
    """Its process was killed, or its machine cannot be reached: the volume is not called untouched."""
    mover.write = fail({"unreachable": True, "msg": "no route to host"})
    entry = restore(start=True).report[0]
    assert (entry["outcome"], entry["state"]) == ("failed", "unknown")
    assert entry["error"].startswith("no route to host. The VM was not started. It has the tag ")
    assert "succeeded. This volume may be half written." in entry["error"]


def test_a_mover_that_refuses_to_write(restore: RestoreRunner, mover: RestoreMover) -> None:
    mover.write = fail({"failed": True, "changed": False, "msg": "no qemu-img.", "volumes": []})
    entry = restore().report[0]
    assert (entry["state"], "was not overwritten" in entry["error"]) == ("untouched", True)


def test_a_vm_that_another_run_has(service: Simulator, restore: RestoreRunner, mover: RestoreMover) -> None:
    """Its exports stay, since they are those of the other run."""
    planned = restore.plan()
    mover.take([service.records("vm")[0]["uuid"]])
    for check in (True, False):
        ran = restore.restore(planned, check)
        assert ("process 4711 on controller-2" in ran.error, ran.acts) == (True, [])
        assert "Nothing was changed. This volume was not overwritten." in ran.error
        assert {entry["state"] for entry in ran.report} == {"untouched"}


def test_a_vm_that_was_made_again(service: Simulator, restore: RestoreRunner, mover: RestoreMover) -> None:
    """The map says which volumes get the copies of the other VM."""
    first, second = service.records("vm")
    service.change("volume", second["rootVolumeUuid"], size=first["allVolumes"][0]["size"])
    mapped = {first["rootVolumeUuid"]: second["rootVolumeUuid"]}
    volumes = [{"volume_uuid": first["rootVolumeUuid"], "size": first["allVolumes"][0]["size"]}]
    mover.listed = list_points(service, volumes=volumes)
    ran = restore(vm="vm-2", map=mapped, confirm="vm-2")
    assert [(entry["volume"], entry["target"]) for entry in ran.report] == [*mapped.items()]
    taken = next(given["vm_uuids"] for module, given in mover.given if module == "backup_run")
    assert taken == [first["uuid"], second["uuid"]]


def test_copies_of_several_vms(service: Simulator, restore: RestoreRunner, mover: RestoreMover) -> None:
    """Points of two VMs have the name of the VM, or the volumes of the map: a uuid says which one is meant."""
    mover.listed["points"] += list_points(service, vm_uuid="f" * 32)["points"]
    files: dict[str, Any] = {"to_directory": "/srv/files", "confirm": None}
    refused = restore.plan(**files)
    assert "several VMs have such points: " in refused.message
    assert "f" * 32 in refused.message
    chosen = restore.plan(**files, vm="f" * 32)
    assert chosen.result["next"]["point"]["vm_uuid"] == "f" * 32


def test_files_need_no_vm(service: Simulator, restore: RestoreRunner, mover: RestoreMover) -> None:
    mover.listed = list_points(service, vm_name="gone")
    options: dict[str, Any] = {"vm": "gone", "to_directory": "/srv/files", "confirm": None, "rate_limit": 7}
    mover.write_files = lambda given: {
        "failed": False,
        "changed": True,
        "volumes": [
            {**row, "target": f"{given['directory']}/{row['volume_uuid']}.raw", "state": "restored"}
            for row in mover.listed["points"][0]["volumes"]
        ],
    }
    ran = restore(**options)
    assert (ran.acts, set(ran.outcomes), ran.last.result["changed"]) == ([], {"changed"}, True)
    known = {"repository": str(mover.repository), "vm_uuid": service.records("vm")[0]["uuid"], "point": STAMP}
    assert mover.written == [{**known, "directory": "/srv/files", "rate_limit": 7}]
    assert ran.lines == [f"All volumes of the point {STAMP} are written into files in /srv/files."]
    assert "does not touch the VM" in restore.plan(**options, stop=True).message


def test_a_vm_that_runs_is_stopped_on_request(service: Simulator, restore: RestoreRunner) -> None:
    """It is stopped without a snapshot group if none is wanted."""
    prepare(service, "Running")
    assert "Stop it, or set vm_backup_restore_stop" in restore.plan().message
    ran = restore(stop=True, snapshot_first=False)
    assert ran.acts == ["StopVmInstance", "ExportNbdVolumes", "UnexportNbdVolumes"]
    assert ran.report[0]["snapshot_group"] is None
    prepare(service, "Unknown")
    message = restore.plan(stop=True).message
    assert ("is Unknown" in message, "set vm_backup_restore_stop" in message) == (True, False)


def test_what_the_data_mover_gets(service: Simulator, restore: RestoreRunner, mover: RestoreMover) -> None:
    """The point and the exports, with the other address of the host, and what the variables say about the copy."""
    vm = service.records("vm")[0]
    options: dict[str, Any] = {"only_different": False, "allow_larger": True, "rate_limit": 7}
    restore(host_address={vm["lastHostUuid"]: "192.0.2.9"}, **options)
    (given,) = mover.written
    assert {info["nbd_server"] for info in given.pop("volumes")} == {"192.0.2.9"}
    run = given.pop("run")
    known = {"repository": str(mover.repository), "vm_uuid": vm["uuid"], "point": STAMP}
    assert given == {**options, **known, "check": False}
    # Other runs know this worker, and the run is the one that has taken the VM.
    taken = next(given for module, given in mover.given if module == "backup_run")
    assert (taken["run"], taken["vm_uuids"], taken["owner"]["run"]) == (run, [vm["uuid"]], run)


def test_which_points_are_asked_for(service: Simulator, restore: RestoreRunner, mover: RestoreMover) -> None:
    """The role asks for the points of the VM, or of all VMs if the point may be that of another VM."""
    uuid = service.records("vm")[0]["uuid"]
    cases: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({}, {"vm_uuids": [uuid]}),
        ({"map": {"v1": "v2"}}, {}),
        ({"to_directory": "/srv/files", "vm": "gone"}, {}),
        ({"state": "created", "vm": "gone"}, {"records": True}),
    ]
    for variables, expected in cases:
        mover.given.clear()
        restore.plan(**variables)
        assert mover.given == [("backup_point_info", {"repository": str(mover.repository), **expected})]
    for service_vm in service.records("vm"):
        service.change("vm", service_vm["uuid"], name="twin")
    assert "several VMs have the name or uuid twin. Nothing was changed." in restore.plan(vm="twin").message


def test_what_a_failure_has_left_of_each_volume() -> None:
    texts = {
        "restored": "This volume is restored.",
        "unchanged": "This volume has the content already.",
        "untouched": "This volume was not overwritten.",
        "incomplete": "This volume is half written. Run the role again, which completes it.",
    }
    for state, text in texts.items():
        assert describe_half({"state": state}, None) == text


def test_a_run_that_is_interrupted_while_it_writes(
    service: Simulator, restore: RestoreRunner, mover: RestoreMover
) -> None:
    """Its exports are ended, the VM stays off with its mark, and is given back."""
    prepare(service, "Running")

    def interrupt(dummy: Any) -> Any:
        raise KeyboardInterrupt

    mover.write = interrupt
    planned = restore.plan(stop=True)
    with pytest.raises(KeyboardInterrupt):
        restore.restore(planned, stop=True)
    assert (any(service.state()["exported"].values()), state_of(service)) == (False, "Stopped")
    assert list_marks(service) == ["writing Running"]
    assert list((mover.repository / ".runs").glob("*.json")) == []
    mover.write = write_all
    ran = restore(stop=True, start=True)
    assert (set(ran.outcomes), state_of(service), list_marks(service)) == ({"changed"}, "Running", [])


def test_a_run_that_is_interrupted_before_it_writes(
    service: Simulator, restore: RestoreRunner, mover: RestoreMover, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The VM that it has stopped runs again."""
    prepare(service, "Running")
    planned = restore.plan(stop=True)

    def interrupt(*dummy: Any, **options: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(TargetExports, "open", interrupt)
        with pytest.raises(KeyboardInterrupt):
            restore.restore(planned, stop=True)
    assert (state_of(service), list_marks(service)) == ("Running", [])
    assert (mover.written, list((mover.repository / ".runs").glob("*.json"))) == ([], [])


def test_exports_by_the_member_that_has_their_volume(
    service: Simulator, restore: RestoreRunner, mover: RestoreMover, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The document has one, servers have another one."""
    batch = Site.batch

    def rename(self: Site, module: str, *arguments: Any, **options: Any) -> Any:
        results = batch(self, module, *arguments, **options)
        if module == "cbt_volume_export" and results[0].get("volume_infos"):
            volume = results[0]["volume_infos"][0]["volume"]
            volume["resource_uuid"] = volume.pop("volume_uuid")
        return results

    def write(given: Any) -> Any:
        for info in given["volumes"]:
            info["volume"].setdefault("volume_uuid", info["volume"].get("resource_uuid"))
        return write_all(given)

    monkeypatch.setattr(Site, "batch", rename)
    mover.write = write
    assert {(entry["volume"], entry["outcome"]) for entry in restore().report} == {
        (volume["uuid"], "changed") for volume in service.records("vm")[0]["allVolumes"]
    }


@pytest.mark.parametrize("variable", ["volumes", "map", "start", "stop"])
def test_files_and_what_concerns_the_vm_exclude_each_other(restore: RestoreRunner, variable: str) -> None:
    values: dict[str, Any] = {"volumes": ["v1"], "map": {"v1": "v2"}, "start": True, "stop": True}
    ran = restore.plan(to_directory="/srv/files", **{variable: values[variable]})
    assert ran.message.endswith(
        "vm_backup_restore_to_directory writes all volumes of the point into files, and does not touch the VM. Omit"
        f" vm_backup_restore_{variable}"
    )
    assert "rate_limit must be at least 0, not -1" in restore.plan(rate_limit=-1).message


def test_the_newest_point_is_the_default(restore: RestoreRunner, mover: RestoreMover) -> None:
    """The newest point is chosen even if it is not whole: the user has to choose another one."""
    listed = mover.listed
    listed["points"] += [{**listed["points"][0], "point": f"2026112{day}T021500Z"} for day in (9, 8)]
    assert restore.plan().result["next"]["point"]["point"] == "20261129T021500Z"
    chosen = restore.plan(point="20261128T021500Z")
    assert chosen.result["next"]["point"]["point"] == "20261128T021500Z"
    listed["points"][1] = {**listed["points"][1], "whole": False, "problems": ["a is missing", "b is missing"]}
    message = restore.plan().message
    assert "the point 20261129T021500Z is not whole: a is missing; b is missing. Nothing was changed." in message


def test_what_is_overwritten_and_what_is_not(service: Simulator, restore: RestoreRunner, mover: RestoreMover) -> None:
    """Each volume of the VM has its line."""
    root, data = service.records("vm")[0]["allVolumes"]
    assert restore.plan(volumes=[root["uuid"]]).result["next"]["lines"] == [
        f"The point {STAMP} of vm-1 overwrites these volumes of vm-1:",
        f"- {root['name']} ({root['uuid']}), {root['size']} bytes",
        f"- not {data['name']} ({data['uuid']}), which stays as it is",
    ]
    copies = [{"volume_uuid": uuid, "size": root["size"]} for uuid in ("c1", "c2")]
    twice = dict.fromkeys(("c1", "c2"), root["uuid"])
    mover.listed = list_points(service, volumes=copies)
    refused = restore.plan(map=twice)
    assert "vm_backup_restore_map has several copies for one volume. Nothing was changed." in refused.message
    named = restore.plan(map={"c1": "data-of-vm-1"}, volumes=["c1"])
    assert "vm_backup_restore_map: 'data-of-vm-1' is no uuid. Nothing was changed." in named.message
    assert f"Give those of volumes of vm-1: {root['uuid']} ({root['name']}), " in named.message


def test_a_backup_session_is_not_disturbed(service: Simulator, restore: RestoreRunner) -> None:
    """A backup session reads the volumes that a restore would write."""
    prepare(service, "Running")
    task = {"name": "nightly", "vm": "vm-1", "state": "enabled"}
    assert ModuleRunner(service)("cbt_task", task)["changed"]
    message = restore.plan(stop=True).message
    assert "a backup session of vm-1 is open: the CBT task nightly. Nothing was changed. End this session" in message


def test_exports_of_other_volumes_are_refused(
    restore: RestoreRunner, mover: RestoreMover, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The role would write into a volume that nobody has confirmed."""
    batch = Site.batch

    def exchange(self: Site, module: str, *arguments: Any, **options: Any) -> Any:
        results = batch(self, module, *arguments, **options)
        if module == "cbt_volume_export" and results[0].get("volume_infos"):
            results[0]["volume_infos"][0]["volume"]["volume_uuid"] = "other"
        return results

    monkeypatch.setattr(Site, "batch", exchange)
    ran = restore()
    refusal = "The service has not exported the volumes that it was asked for. No volume was overwritten."
    assert (ran.error.startswith(refusal), mover.written) == (True, [])
    assert ran.acts[-1] == "UnexportNbdVolumes"


def test_a_vm_that_changes_while_the_user_confirms(service: Simulator, restore: RestoreRunner) -> None:
    """If the VM has lost its volume, nothing is exported."""
    planned = restore.plan()
    service.change("volume", planned.result["next"]["targets"][0]["uuid"], vmInstanceUuid=None)
    ran = restore.restore(planned)
    refusal = "vm-1 has changed meanwhile: it is Stopped. No volume was overwritten."
    assert (ran.error.startswith(refusal), ran.acts) == (True, [])


def test_a_vm_that_cannot_be_taken(restore: RestoreRunner, mover: RestoreMover) -> None:
    planned = restore.plan()
    mover.failure = {"failed": True, "msg": "no space."}
    ran = restore.restore(planned, mover="m1")
    expected = "The VM could not be taken for this run on the data mover m1: no space. Nothing was changed."
    assert (ran.error.startswith(expected), ran.acts) == (True, [])


def test_exports_that_remain_after_the_volumes_are_restored(service: Simulator, restore: RestoreRunner) -> None:
    service.fault("fail", operation="UnexportNbdVolumes", error={"code": "SYS.1006", "details": "busy."})
    ran = restore(start=True)
    assert (ran.acts[-1], set(ran.outcomes)) == ("UnexportNbdVolumes", {"failed"})
    assert ran.error.startswith("The exports could not be ended: ")
    for part in (
        "busy. To be safe, end them with the module cbt_volume_export and state: absent.",
        "The VM was not started. It has the tag ",
    ):
        assert part in ran.error
    assert ran.error.endswith("This volume is restored.")


def test_a_vm_that_does_not_start_after_it_was_restored(service: Simulator, restore: RestoreRunner) -> None:
    service.fault("fail", operation="StartVmInstance", error={"code": "SYS.1006", "details": "no memory"})
    ran = restore(start=True)
    assert ran.acts[-2:] == ["UnexportNbdVolumes", "StartVmInstance"]
    assert ran.error.startswith("The VM is restored, but could not be started: ")


def test_volumes_that_have_the_content_already(restore: RestoreRunner, mover: RestoreMover) -> None:
    mover.write = lambda given: write_all(given, "unchanged")
    ran = restore()
    assert (set(ran.outcomes), ran.error) == ({"unchanged"}, "")


def test_a_mover_that_is_lost_without_a_word(restore: RestoreRunner, mover: RestoreMover) -> None:
    mover.write = fail({"unreachable": True})
    ran = restore(start=True, mover="m1")
    assert ran.error.startswith("the data mover m1 is unreachable. The VM was not started. It has the tag ")


def test_a_mover_that_says_nothing_about_the_volumes(restore: RestoreRunner, mover: RestoreMover) -> None:
    mover.write = fail({"failed": False, "volumes": []})
    assert "The data mover has not said that it has written all volumes" in restore().error


def test_the_variables_of_a_restore_are_not_those_of_a_backup(service: Simulator, work: WorkflowRunner) -> None:
    """The name of one role is the beginning of the other's, and a play can have the variables of both."""
    given = {"vm_backup_vms": ["vm-1"], "vm_backup_repository": "/srv/backups", "vm_backup_restore_vm": "vm-1"}
    given.update(create_play({"localhost": {}}))
    assert "next" in work("vm_backup", given, step="select").result
    assert "no variable vm_backup_repositry" in work("vm_backup", {"vm_backup_repositry": "x"}, step="select").message


def test_a_failed_export_names_what_was_done_before(service: Simulator, restore: RestoreRunner) -> None:
    """The snapshot group was taken and the VM stopped, and nobody else says so."""
    prepare(service, "Running")
    service.fault("fail", "ExportNbdVolumes", error={"code": "SYS.1000", "details": "no port is free"})
    ran = restore(stop=True, start=True)
    assert (ran.last.result["changed"], ran.acts[-2:]) == (True, ["UnexportNbdVolumes", "StartVmInstance"])
    group = ran.report[0]["snapshot_group"]
    assert group in [each["name"] for each in service.records("snapshotgroup")]
    assert {entry["state"] for entry in ran.report} == {"untouched"}
    for part in ("no port is free", "The VM runs, as before. This volume was not overwritten."):
        assert part in ran.error
    assert state_of(service) == "Running"


@pytest.mark.parametrize("operation", ["StopVmInstance", "CreateVolumeSnapshotGroup"])
def test_exports_of_others_stay_when_a_step_before_has_failed(
    service: Simulator, restore: RestoreRunner, operation: str
) -> None:
    exported = export(service)
    if operation == "StopVmInstance":
        prepare(service, "Running")
    service.fault("fail", operation, error={"code": "SYS.1000", "details": "no host"})
    ran = restore(stop=True, start=True)
    assert ("no host" in ran.error, {*ran.acts} - {operation, "StartVmInstance"}) == (True, set())
    # The VM that could not be stopped runs. The other VM was off before.
    said = "The VM runs, as before" if operation == "StopVmInstance" else "The VM was not started"
    assert said in ran.error
    assert service.state()["exported"] == exported


def export(service: Simulator) -> dict[str, list[str]]:
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
def test_volumes_that_another_product_writes(
    service: Simulator, restore: RestoreRunner, server: dict[str, Any]
) -> None:
    """Their exports stay, and the report says how to end those that nobody uses."""
    service.configure(**server)
    exported = export(service)
    ran = restore()
    assert ("UnexportNbdVolumes" in ran.acts, service.state()["exported"]) == (False, exported)
    assert "and nobody uses the exports, end them with the module cbt_volume_export" in ran.error


def test_the_exports_of_a_run_that_was_killed_are_ended_before(
    service: Simulator, restore: RestoreRunner, mover: RestoreMover
) -> None:
    """The killed run was one of this machine, so that it is known to have ended."""
    export(service)
    planned = restore.plan()
    mover.take([service.records("vm")[0]["uuid"]], process=2**22 + 1, machine=describe_owner(1)["machine"])
    ran = restore.restore(planned)
    expected = ["CreateVolumeSnapshotGroup", "UnexportNbdVolumes", "ExportNbdVolumes", "UnexportNbdVolumes"]
    assert (ran.acts, set(ran.outcomes)) == (expected, {"changed"})


def test_a_vm_that_was_deleted_meanwhile(service: Simulator, restore: RestoreRunner) -> None:
    planned = restore.plan()
    service.change("vm", planned.result["next"]["vm"]["uuid"], state="Destroyed")
    ran = restore.restore(planned)
    assert ran.acts == []
    assert "vm-1 has changed meanwhile: it is gone. No volume was overwritten." in ran.error


def test_a_reply_that_says_nothing_usable_about_the_exports(service: Simulator, restore: RestoreRunner) -> None:
    service.configure(sync=True)
    service.fault("garbage", "ExportNbdVolumes", garbage="types", taken=True)
    ran = restore()
    assert (ran.acts[-1], ran.report[0]["snapshot_group"] is None) == ("UnexportNbdVolumes", False)
    assert "has not exported the volumes that it was asked for" in ran.error


@pytest.mark.parametrize("problem", ["damaged", "unreachable", "another volume"])
def test_a_point_that_is_damaged_is_found_before_the_vm_is_stopped(
    service: Simulator, restore: RestoreRunner, mover: RestoreMover, problem: str
) -> None:
    """In check mode, too."""
    prepare(service, "Running")
    results: dict[str, tuple[dict[str, Any], str]] = {
        "damaged": ({"failed": True, "msg": "a file is damaged", "volumes": []}, "damaged: a file is damaged. Nothing"),
        "unreachable": ({"unreachable": True, "msg": "no route"}, "damaged: no route. Nothing was changed."),
        "another volume": ({"volumes": []}, "has not checked all volumes of the point"),
    }
    result, message = results[problem]
    mover.check_files = fail(result)
    for check in (True, False):
        ran = restore(check, stop=True)
        assert (message in ran.error, ran.acts, set(ran.outcomes)) == (True, [], {"failed"})
        assert ran.last.result["failed_count"] == 2
    sources = [given["check_volumes"] for module, given in mover.given if module == "backup_restore"]
    assert sources == [[volume["uuid"] for volume in service.records("vm")[0]["allVolumes"]]] * 2


@pytest.mark.parametrize("state", ["Running", "Starting", "Paused", "Destroyed"])
def test_a_vm_that_is_started_while_it_is_written(
    service: Simulator, restore: RestoreRunner, mover: RestoreMover, state: str
) -> None:
    """By a person, or by the high availability of the service: what its guest reads and writes is damaged."""
    uuid = service.records("vm")[0]["uuid"]
    mover.write = then(lambda: service.change("vm", uuid, state=state))
    ran = restore(start=True)
    # The module finds no VM that is destroyed.
    calls = [] if state == "Destroyed" else ["UnexportNbdVolumes"]
    assert (ran.acts[2:], set(ran.outcomes)) == (calls, {"failed"})
    shown = "gone" if state == "Destroyed" else state
    assert f"The VM is {shown}: it was started, or removed, while its volumes were written" in ran.error
    assert "was not started" not in ran.error


def test_a_vm_whose_state_cannot_be_read_after_it_was_written(
    service: Simulator, restore: RestoreRunner, mover: RestoreMover
) -> None:
    mover.write = then(lambda: service.fault("fail", "QueryVmInstance", error=NO_AGENT))
    ran = restore(start=True)
    assert (ran.acts[2:], set(ran.outcomes)) == (["UnexportNbdVolumes"], {"failed"})
    assert "It is not known whether the VM was started while its volumes were written" in ran.error


@pytest.mark.parametrize("unwritten", ["untouched", "unchanged"])
@pytest.mark.parametrize("is_ended", [True, False])
def test_what_was_stopped_runs_again_if_nothing_was_written(
    service: Simulator, restore: RestoreRunner, mover: RestoreMover, unwritten: str, is_ended: bool
) -> None:
    """The VM is not started while anybody can write its volumes."""
    prepare(service, "Running")
    broken = {"failed": True, "msg": "the export does not answer."}
    mover.write = lambda given: {**write_all(given, unwritten), **broken}
    if not is_ended:
        service.fault("fail", operation="UnexportNbdVolumes", error={"code": "SYS.1006", "details": "busy."})
    ran = restore(stop=True)
    assert ran.acts[3:] == ["UnexportNbdVolumes", *(["StartVmInstance"] if is_ended else [])]
    assert ("The VM runs, as before." if is_ended else "The VM was not started.") in ran.error


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
    restore: RestoreRunner, mover: RestoreMover, result: dict[str, Any]
) -> None:
    """They are failures even if the data mover has named no volume."""
    mover.write_files = fail(result)
    ran = restore(to_directory="/srv/files", confirm=None)
    assert ran.last.result["failed_count"] == 2
    paths = {f"/srv/files/{copy['volume_uuid']}.raw" for copy in mover.listed["points"][0]["volumes"]}
    assert {entry["target"] for entry in ran.report} == paths
    assert set(ran.outcomes) == {"failed"}


def test_a_point_without_volumes_is_refused(service: Simulator, restore: RestoreRunner, mover: RestoreMover) -> None:
    mover.listed = list_points(service, volumes=[])
    assert (
        f"the point {STAMP} has no volumes. Nothing was changed. Choose another point with vm_backup_restore_point"
        in restore.plan().message
    )


def test_a_storage_without_room_beside_the_snapshots(service: Simulator, restore: RestoreRunner) -> None:
    """Before the VM is stopped. Without snapshots, the volumes are overwritten in place."""
    vm = service.records("vm")[0]
    (storage,) = {volume["primaryStorageUuid"] for volume in vm["allVolumes"]}
    needed = sum(volume["size"] for volume in vm["allVolumes"])
    service.change("primarystorage", storage, availablePhysicalCapacity=needed)
    assert "next" in restore.plan().result
    service.change("primarystorage", storage, availablePhysicalCapacity=needed - 1)
    refused = restore.plan()
    message = (
        f"has {needed - 1} bytes free, and up to {needed} are written beside the snapshot group. Nothing was changed"
    )
    assert (message in refused.message, refused.calls) == (True, [])
    assert "next" in restore.plan(snapshot_first=False).result
    service.fault("fail", "QueryPrimaryStorage", error={"code": "ID.1002", "details": "not permitted"}, count=None)
    ran = restore.plan()
    assert "next" in ran.result
    assert "It is not known whether the primary storages have room" in ran.warnings[0]


def test_how_much_a_restore_writes_at_most() -> None:
    """No more than the files of the copy have, which are sparse.

    Compressed files say nothing about the size of the data.
    """

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


@pytest.mark.parametrize("state", ["Running", "Stopped"])
def test_the_mark_of_a_vm(service: Simulator, restore: RestoreRunner, mover: RestoreMover, state: str) -> None:
    """The mark is set before the VM is stopped, says that it is being written, and is taken off at the end."""
    prepare(service, state)
    seen: list[list[str]] = []
    mover.write = then(lambda: seen.append(list_marks(service)))
    ran = restore(stop=True, start=True)
    assert ran.done
    tags, stops = [
        [n for n, call in enumerate(ran.done.calls) if call == name] for name in ("CreateUserTag", "StopVmInstance")
    ]
    assert (len(tags), len(stops)) == (3, int(state == "Running"))
    assert all(tags[0] < number < tags[1] for number in stops)
    assert tags[1] < ran.done.calls.index("ExportNbdVolumes")
    assert (seen, list_marks(service)) == ([[f"writing {state}"]], [])
    assert (ran.acts[-2:], set(ran.outcomes)) == (["UnexportNbdVolumes", "StartVmInstance"], {"changed"})


@pytest.mark.parametrize("code", ["SYS.1000", "SYS.1006"])
def test_a_vm_that_cannot_be_marked_is_not_stopped(service: Simulator, restore: RestoreRunner, code: str) -> None:
    prepare(service, "Running")
    service.fault("fail", "CreateUserTag", error={"code": code, "details": "too many tags"})
    ran = restore(stop=True, start=True)
    assert ran.acts == []
    assert "Nothing was changed, because no object could be marked." in ran.error
    assert "too many tags" in ran.error


def kill(restore: RestoreRunner, mover: RestoreMover, **variables: Any) -> None:
    """Run the role, which is killed when the data mover would write."""
    planned, runner = restore.plan(**variables), WorkflowRunner(restore.work.sim, 10_000)

    def end(dummy: Any) -> Any:
        # Nothing is sent any more.
        runner.sent = 10_000
        raise Killed

    mover.write, write = end, mover.write
    assert is_killed(lambda: RestoreRunner(runner, mover).restore(planned, **variables))
    mover.write = write
    restore.work.sim.settle()


def test_a_restore_that_was_killed_while_it_stopped_the_vm(service: Simulator, restore: RestoreRunner) -> None:
    """Another controller knows from the mark that the VM ran, and starts it if nothing is written after all."""
    prepare(service, "Running")
    service.fault("fail", "CreateVolumeSnapshotGroup", error={"code": "SYS.1000", "details": "no space"}, count=2)
    service.fault("fail", "StartVmInstance", error=NO_AGENT)
    assert "could not be started again" in restore(stop=True).error
    assert (list_marks(service), state_of(service)) == (["Running"], "Stopped")
    ran = restore(stop=True)
    assert (ran.acts, list_marks(service)) == (["CreateVolumeSnapshotGroup", "StartVmInstance"], [])
    assert "no space. The VM runs, as before." in ran.error


@pytest.mark.parametrize("is_shown", [True, False])
def test_a_stop_that_is_in_flight(service: Simulator, restore: RestoreRunner, is_shown: bool) -> None:
    """The VM is Stopping, or still shows Running, and will be off."""
    prepare(service, "Running")
    service.configure(early_states=is_shown)
    service.fault("hang", "StopVmInstance")
    service.fault("fail", "StartVmInstance", error=NO_AGENT)
    restore(stop=True, timeout=1)
    again = restore(stop=True, timeout=1)
    if is_shown:
        assert "an action of an earlier run is still in flight" in again.planned.message
        assert "Wait until it has ended, and run the role again." in again.planned.message
    else:
        assert "an action of an earlier run is still in flight" in again.error
    assert (again.acts, list_marks(service)) == ([], ["Running"])


def test_a_stop_of_an_earlier_run_is_awaited(
    service: Simulator, restore: RestoreRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The earlier run was killed. A VM that a person is stopping is refused, like one that runs."""
    uuid = prepare(service, "Running")
    service.configure(latencies={"StopVmInstance": 1000.0})
    service.fault("fail", "StartVmInstance", error=NO_AGENT)
    restore(stop=True, timeout=1)
    assert state_of(service) == "Stopping"
    settle = Marks.settle

    def end_and_settle(self: Marks, *arguments: Any) -> dict[str, str]:
        service.settle()
        return settle(self, *arguments)

    monkeypatch.setattr(Marks, "settle", end_and_settle)
    assert restore.plan(stop=True).result["next"]["vm"]["state"] == "Stopped"
    service.change("vm", uuid, state="Stopping")
    for tag in service.records("usertag"):
        ModuleRunner(service)("api", {"operation": "DeleteTag", "params": {"uuid": tag["uuid"]}})
    assert "a restore needs a stopped VM, and vm-1 is Stopping. Nothing was changed." in restore.plan(stop=True).message


def test_an_export_of_an_earlier_run_is_awaited(service: Simulator, restore: RestoreRunner) -> None:
    """The earlier run was killed. The next run must end its export, which may only begin after the kill."""
    service.fault("hang", "ExportNbdVolumes")
    service.fault("fail", "UnexportNbdVolumes", error=NO_AGENT)
    restore(timeout=1)
    ran = restore(timeout=1)
    assert "an action of an earlier run is still in flight" in ran.error
    assert ran.acts == []


def test_the_exports_of_a_restore_that_was_killed_before_a_backup(
    service: Simulator, restore: RestoreRunner, mover: RestoreMover
) -> None:
    """The backup has removed the run that was killed from the repository, but the mark says whose the exports are."""
    kill(restore, mover)
    for path in (mover.repository / ".runs").glob("*.json"):
        path.unlink()
    ran = restore()
    assert ran.acts[-3:] == ["UnexportNbdVolumes", "ExportNbdVolumes", "UnexportNbdVolumes"]
    assert (set(ran.outcomes), list_marks(service)) == ({"changed"}, [])


def test_a_vm_that_an_earlier_run_left_half_written_is_not_started(
    service: Simulator, restore: RestoreRunner, mover: RestoreMover
) -> None:
    """The VM starts although this run has written nothing, and an earlier run has stopped the VM."""
    prepare(service, "Running")
    mover.write = fail({"unreachable": True})
    restore(stop=True)
    assert list_marks(service) == ["writing Running"]
    service.fault("fail", "ExportNbdVolumes", error={"code": "SYS.1000", "details": "no port is free"})
    ran = restore(stop=True, start=True)
    assert "StartVmInstance" not in ran.acts
    assert "The VM was not started. It has the tag 'virtinfra.manager vm_backup_restore" in ran.error
    assert list_marks(service) == ["writing Running"]


@pytest.mark.parametrize(
    ("operation", "is_started", "message"),
    [
        ("CreateUserTag", True, "Its mark could not be changed, so the VM was not started"),
        ("DeleteTag", False, "The tag 'virtinfra.manager vm_backup_restore"),
    ],
)
def test_a_mark_that_cannot_be_changed_starts_no_vm(
    service: Simulator, restore: RestoreRunner, mover: RestoreMover, operation: str, is_started: bool, message: str
) -> None:
    mover.write = then(lambda: service.fault("fail", operation, error={"code": "SYS.1000", "details": "no database"}))
    ran = restore(start=is_started)
    assert (ran.acts[2:], set(ran.outcomes)) == (["UnexportNbdVolumes"], {"failed"})
    assert message in ran.error


# ------------------------------------------------------------------------------------------------------------- created


def list_removed(service: Simulator, number: int = 0, **members: Any) -> dict[str, Any]:
    """Return a point with the record of a VM, which is destroyed and expunged then."""
    vm = service.records("vm")[number]
    listed = list_with_record(service, number, **members)
    removal = {"uuid": vm["uuid"], "state": "absent", "data_volumes": "delete", "expunge": True}
    assert not ModuleRunner(service)("vm", removal).failed
    return listed


def list_with_record(service: Simulator, number: int = 0, **members: Any) -> dict[str, Any]:
    """Return a point with the record of a VM."""
    uuid = service.records("vm")[number]["uuid"]
    record = ModuleRunner(service)("vm_info", {"uuid": uuid}).result["vms"][0]
    listed = list_points(service, number, vm=record, left_out=[])
    for device, copy in enumerate(listed["points"][0]["volumes"]):
        copy["device_id"] = device
    listed["points"][0].update(members)
    return listed


@pytest.fixture
def create(service: Simulator, restore: RestoreRunner, mover: RestoreMover) -> Callable[..., RestoreRun]:
    """Make vm-1 again of its point, which has its record. The VM is removed."""
    mover.listed = list_removed(service)

    def run(check: bool = False, **variables: Any) -> RestoreRun:
        return restore(check, **{"state": "created", "confirm": None, **variables})

    return run


Create = Callable[..., RestoreRun]


def find_named(service: Simulator, name: str) -> dict[str, Any]:
    """Return the VM with a name that is not destroyed."""
    (vm,) = [vm for vm in service.records("vm") if vm["name"] == name and vm["state"] != "Destroyed"]
    return vm


def test_a_removed_vm_is_made_again(service: Simulator, restore: RestoreRunner, mover: RestoreMover) -> None:
    """As large as it was, with its volumes in their order and its addresses; check mode predicts it without a call."""
    before = service.records("vm")[0]
    mover.listed = list_removed(service)
    given: dict[str, Any] = {"state": "created", "confirm": None, "start": True}
    predicted = restore(check=True, **given)
    assert (predicted.outcomes, predicted.last.result["changed"], predicted.acts) == (["changed"] * 2, True, [])
    assert predicted.lines[0] == f"The VM vm-1 is made of the point {STAMP} of vm-1, with these volumes:"
    ran = restore(**given)
    attached = ["AttachL3NetworkToVm"] * len(before["vmNics"])
    calls = ["CreateVmInstance", "ExportNbdVolumes", "UnexportNbdVolumes", *attached, "UpdateVmInstance"]
    assert ran.acts == [*calls, "StartVmInstance"]
    assert ran.outcomes == ["changed"] * 2, ran.last.message
    after = find_named(service, "vm-1")
    same = ("name", "description", "cpuNum", "memorySize", "platform", "architecture", "guestOsType", "clusterUuid")
    assert {name: after[name] for name in same} == {name: before[name] for name in same}
    assert (after["state"], after["defaultL3NetworkUuid"]) == ("Running", before["defaultL3NetworkUuid"])
    assert [each["size"] for each in after["allVolumes"]] == [each["size"] for each in before["allVolumes"]]
    nic_members = ("l3NetworkUuid", "ip", "mac")
    nics = [[[nic[name] for name in nic_members] for nic in vm["vmNics"]] for vm in (before, after)]
    assert nics[0] == nics[1]
    (item,) = mover.written
    new = {volume["uuid"] for volume in after["allVolumes"]}
    assert [info["source"] for info in item["volumes"]] == [each["uuid"] for each in before["allVolumes"]]
    assert {info["volume"]["volume_uuid"] for info in item["volumes"]} == new == {e["target"] for e in ran.report}
    # A second run, of this or of another controller, finds the same VM, and leaves it as it is.
    again = restore(**given)
    assert (again.acts, again.outcomes, again.last.result["changed"]) == ([], ["unchanged"] * 2, False)
    assert "made of the point" in again.lines[0]


def test_a_creation_that_was_interrupted_is_continued(service: Simulator, create: Create) -> None:
    """Its description says that it is not whole, and there is one VM in the end."""
    service.fault("fail", "ExportNbdVolumes", error={"code": "SYS.1000", "details": "no port is free"})
    failed = create(start=True)
    assert set(failed.outcomes) == {"failed"}
    assert "no port is free" in failed.error
    half = find_named(service, "vm-1")
    assert half["description"].startswith("Being made by the role virtinfra.manager.vm_backup_restore.")
    assert half["state"] == "Stopped"
    ran = create(start=True)
    assert "CreateVmInstance" not in ran.acts
    assert ran.outcomes == ["changed"] * 2
    assert find_named(service, "vm-1")["uuid"] == half["uuid"]


def test_a_creation_that_is_killed_at_any_moment(
    service: Simulator, create: Create, restore: RestoreRunner, mover: RestoreMover
) -> None:
    """The next run completes one VM."""
    given: dict[str, Any] = {"state": "created", "confirm": None, "nics": "none"}
    for after in range(1, 80, 6):
        name = f"made-{after}"
        planned = restore.plan(**given, name=name)
        runner = RestoreRunner(WorkflowRunner(service, after), mover)
        was_killed = is_killed(lambda: runner.restore(planned, **given, name=name))  # noqa: B023
        service.settle()
        ran = create(**given, name=name)
        assert set(ran.outcomes) <= {"changed", "unchanged"}, ran.last.message
        assert find_named(service, name)["description"] == mover.listed["points"][0]["vm"]["description"]
        if not was_killed:
            break
    assert after > 30


def test_a_response_of_the_creation_that_was_lost(service: Simulator, create: Create) -> None:
    service.fault("drop_after", "CreateVmInstance")
    assert create().outcomes == ["changed"] * 2
    assert find_named(service, "vm-1")["state"] == "Stopped"


def test_a_vm_that_cannot_be_made(service: Simulator, create: Create) -> None:
    service.fault("fail", "CreateVmInstance", error={"code": "SYS.1090", "details": "no host has room"})
    ran = create()
    assert (ran.acts, set(ran.outcomes)) == (["CreateVmInstance"], {"failed"})
    assert "The VM vm-1 could not be made" in ran.error
    assert "no host has room" in ran.error


def test_a_vm_that_is_made_beside_the_old_one(service: Simulator, restore: RestoreRunner, mover: RestoreMover) -> None:
    """The new VM does not get the addresses of the old VM."""
    vm = service.records("vm")[0]
    mover.listed = list_with_record(service)
    given: dict[str, Any] = {"state": "created", "confirm": None}
    assert "a VM has the name vm-1 already" in restore.plan(**given).message
    refused = restore.plan(**given, name="vm-1-copy")
    assert f"vm-1 has the address {vm['vmNics'][0]['ip']}. Nothing was changed." in refused.message
    for nics, expected in (("none", 0), ("new", len({nic["l3NetworkUuid"] for nic in vm["vmNics"]}))):
        name = f"vm-1-{nics}"
        assert restore(**given, name=name, nics=nics).outcomes == ["changed"] * 2
        assert len(find_named(service, name)["vmNics"]) == expected
    assert find_named(service, "vm-1") == vm


def test_what_of_a_creation_is_refused(
    service: Simulator, create: Create, restore: RestoreRunner, mover: RestoreMover
) -> None:
    listed = mover.listed
    (point,) = listed["points"]
    data = {**listed, "points": [{**point, "volumes": point["volumes"][1:]}]}
    elsewhere = {**listed, "points": [{**point, "vm": {**point["vm"], "cluster_uuid": "f" * 32}}]}
    nic = {**point["vm"]["vm_nics"][0], "l3_network_uuid": "f" * 32}
    offline = {**listed, "points": [{**point, "vm": {**point["vm"], "vm_nics": [nic]}}]}
    cases: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
        ("has no copy of a root volume", data, {}),
        (f"no cluster has the name or uuid {'f' * 32}", elsewhere, {}),
        ("no cluster has the name or uuid nowhere", listed, {"cluster": "nowhere"}),
        (f"has no L3 networks {'f' * 32}", offline, {}),
        ("does not have a point of the VM vm-9", listed, {"vm": "vm-9"}),
    ]
    for message, mover.listed, variables in cases:
        ran = restore.plan(state="created", confirm=None, **variables)
        assert (message in ran.message, "Nothing was changed." in ran.message, ran.calls) == (True, True, []), (
            ran.message
        )
    mover.listed = {**listed, "running": [{"vm_uuid": point["vm_uuid"], "point": STAMP}]}
    assert "next" in restore.plan(state="created", confirm=None).result
    for variables in ({"stop": True}, {"volumes": ["v"]}, {"map": {"a": "b"}}, {"to_directory": "/srv"}):
        message = restore.plan(state="created", **variables).message
        assert "vm_backup_restore_state created makes a VM" in message
    for name, value in (("name", "x"), ("cluster", "x"), ("nics", "none"), ("nics", "new")):
        given: dict[str, Any] = {name: value}
        assert "Set vm_backup_restore_state to created" in restore.plan(**given).message
    assert "Set vm_backup_restore_state to created" not in restore.plan(vm="vm-2", nics="same").message


@pytest.mark.parametrize(
    ("name", "way"),
    [
        (None, "To write the point into it, omit vm_backup_restore_state. To make another VM beside it, set"),
        ("vm-2", "Nothing was changed. Choose another vm_backup_restore_name"),
    ],
)
def test_a_creation_with_the_name_of_a_vm(restore: RestoreRunner, name: str | None, way: str) -> None:
    message = restore.plan(state="created", confirm=None, name=name).message
    assert "a VM has the name " in message
    assert way in message


def test_a_removed_vm_that_is_not_asked_to_be_made(
    service: Simulator, restore: RestoreRunner, mover: RestoreMover
) -> None:
    """The message names the point, and the ways to use it."""
    vm = service.records("vm")[0]["uuid"]
    assert not ModuleRunner(service)("vm", {"uuid": vm, "state": "absent"}).failed
    message = restore.plan().message
    assert f"The VM {vm} with this name is only destroyed: the module vm recovers it with recover: true" in message
    assert f"The repository has its point {STAMP}. Set vm_backup_restore_state to created" in message
    mover.listed = {**mover.listed, "points": []}
    assert "The repository has no point of it" in restore.plan().message


def test_an_address_that_was_taken_meanwhile(service: Simulator, create: Create, mover: RestoreMover) -> None:
    """The VM is not started, and a later run completes it."""
    service.fault("fail", "AttachL3NetworkToVm", error={"code": "SYS.1007", "details": "the address is in use"})
    ran = create(start=True)
    assert set(ran.outcomes) == {"failed"}
    assert "is missing" in ran.error
    assert "The VM was not started" in ran.error
    assert find_named(service, "vm-1")["state"] == "Stopped"
    mover.write = lambda given: write_all(given, "unchanged")
    ran = create(start=True)
    assert (set(ran.outcomes), find_named(service, "vm-1")["state"]) == ({"unchanged"}, "Running")


# ------------------------------------------------------------------------------------------------------------ attached


@pytest.fixture
def attach(service: Simulator, restore: RestoreRunner) -> Callable[..., RestoreRun]:
    """Attach the root volume of the point of vm-1 to vm-1."""
    root = service.records("vm")[0]["rootVolumeUuid"]

    def run(check: bool = False, **variables: Any) -> RestoreRun:
        return restore(check, **{"state": "attached", "volumes": [root], "confirm": None, **variables})

    return run


def list_new_disks(service: Simulator) -> list[dict[str, Any]]:
    """Return the disks with the mark."""
    mark = "Disk of the role virtinfra.manager.vm_backup_restore: "
    return [each for each in service.records("volume") if str(each["description"]).startswith(mark)]


def test_one_volume_of_a_point_becomes_a_disk(
    service: Simulator, restore: RestoreRunner, attach: Create, mover: RestoreMover
) -> None:
    """Of a VM that goes on running; and is removed by its mark."""
    vm = service.records("vm")[0]
    service.change("vm", vm["uuid"], state="Running", hostUuid=vm["lastHostUuid"])
    predicted = attach(check=True)
    assert (predicted.acts, predicted.last.result["changed"], predicted.outcomes) == ([], True, ["changed"])
    ran = attach()
    moves = ["UnexportNbdVolumes", "UpdateVolume", "DetachDataVolumeFromVm", "AttachDataVolumeToVm"]
    assert ran.acts[:7] == ["CreateVmInstance", "UnexportNbdVolumes", "ExportNbdVolumes", *moves]
    assert (ran.outcomes, ran.error) == (["changed"], "")
    (given,) = mover.written
    assert (given["only_different"], given["remember"]) == (False, False)
    (disk,) = list_new_disks(service)
    size = vm["allVolumes"][0]["size"]
    assert (disk["vmInstanceUuid"], disk["size"], ran.report[0]["target"]) == (vm["uuid"], size, disk["uuid"])
    assert [each["name"] for each in service.records("vm")] == ["vm-1", "vm-2"]
    assert not any(service.state()["exported"].values())
    again = attach()
    assert (again.acts, again.outcomes, again.last.result["changed"]) == ([], ["unchanged"], False)
    # Another volume with such a name stays.
    foreign = next(
        each for each in service.records("volume") if each["vmInstanceUuid"] == vm["uuid"] and each["type"] == "Data"
    )
    service.change("volume", foreign["uuid"], name=disk["name"])
    for check, outcomes in ((True, ["changed"]), (False, ["changed"]), (False, [])):
        removed = restore(check, state="detached", confirm=None)
        assert (removed.outcomes, removed.last.result["changed"]) == (outcomes, bool(outcomes))
    assert list_new_disks(service) == []
    assert foreign["uuid"] in {each["uuid"] for each in service.records("volume")}


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
def test_a_disk_that_cannot_be_attached(service: Simulator, attach: Create, operation: str, remains: int) -> None:
    """What is half done is removed or, once the disk is whole, completed by the next run."""
    service.fault("fail", operation, error=NO_AGENT)
    ran = attach()
    assert (ran.outcomes, "no agent" in ran.error) == (["failed"], True)
    assert len(list_new_disks(service)) == remains
    ran = attach()
    assert (ran.outcomes, ran.error) == (["changed"], "")
    assert [disk["vmInstanceUuid"] for disk in list_new_disks(service)] == [service.records("vm")[0]["uuid"]]
    assert len(service.records("vm")) == 2


def test_a_disk_that_somebody_has_given_to_another_vm(service: Simulator, attach: Create) -> None:
    """The disk stays at the other VM."""
    service.fault("fail", "AttachDataVolumeToVm", error=NO_AGENT)
    attach()
    ((disk,), other) = list_new_disks(service), service.records("vm")[1]["uuid"]
    assert not ModuleRunner(service)("volume", {"uuid": disk["uuid"], "vm": other}).failed
    ran = attach()
    assert (ran.outcomes, "is attached to the VM" in ran.error) == (["failed"], True)
    assert list_new_disks(service)[0]["vmInstanceUuid"] == other


def test_a_disk_that_a_person_keeps(service: Simulator, restore: RestoreRunner, attach: Create) -> None:
    """A disk with another description than that of the role is not removed."""
    attach()
    planned = restore.plan(state="detached", confirm=None)
    (disk,) = list_new_disks(service)
    service.change("volume", disk["uuid"], description="kept")
    ran = restore.restore(planned, state="detached", confirm=None)
    assert ran.outcomes == ["failed"]
    assert disk["uuid"] in {each["uuid"] for each in service.records("volume")}


@pytest.mark.parametrize("is_attached", [True, False])
def test_a_run_that_was_killed_while_it_made_a_disk(
    service: Simulator, restore: RestoreRunner, attach: Create, mover: RestoreMover, is_attached: bool
) -> None:
    """The next one goes on with the same VM; and a removal leaves nothing of it."""
    root = service.records("vm")[0]["rootVolumeUuid"]
    kill(restore, mover, state="attached", volumes=[root], confirm=None)
    assert len(service.records("vm")) == 3
    if is_attached:
        assert attach().outcomes == ["changed"]
    else:
        assert restore(state="detached", confirm=None).outcomes == []
    assert len(service.records("vm")) == 2
    assert len(list_new_disks(service)) == is_attached


def test_what_of_a_disk_is_refused(service: Simulator, restore: RestoreRunner) -> None:
    root = service.records("vm")[0]["rootVolumeUuid"]
    variables: dict[str, Any]
    service.change("vm", service.records("vm")[1]["uuid"], state="Paused")
    for variables, message in (
        ({"state": "attached", "volumes": []}, "needs one volume in vm_backup_restore_volumes"),
        ({"state": "attached", "start": True}, "is about disks of a VM that goes on running"),
        ({"state": "detached", "volumes": [root]}, "removes all disks that the role has given to a VM"),
        ({"state": "detached", "volumes": [root]}, "goes on running. Omit vm_backup_restore_volumes"),
        (
            {"state": "detached", "point": STAMP, "stop": True, "start": True},
            "Omit vm_backup_restore_point and vm_backup_restore_stop and vm_backup_restore_start",
        ),
        ({"state": "detached", "nics": "none"}, "Set vm_backup_restore_state to created"),
        ({"state": "restored", "attach_to": "vm-2"}, "needs vm_backup_restore_state attached or detached"),
        (
            {"volumes": ["f" * 32]},
            f"has no volume {'f' * 32}. Nothing was changed. Check vm_backup_restore_volumes: its volumes are {root}",
        ),
        ({"volumes": [root], "attach_to": "vm-9"}, "no VM has the name or uuid vm-9, so it gets no disk."),
        ({"volumes": [root], "attach_to": "vm-2"}, "vm-2 is Paused, so no disk can be attached."),
    ):
        given: dict[str, Any] = {"state": "attached", "confirm": None, **variables}
        ran = restore.plan(**given)
        assert (message in ran.message, ran.calls) == (True, []), ran.message


def test_a_disk_of_a_vm_that_was_removed(
    service: Simulator, restore: RestoreRunner, attach: Create, mover: RestoreMover
) -> None:
    """For another VM."""
    mover.listed = list_removed(service)
    assert attach(attach_to="vm-2").outcomes == ["changed"]
    (vm,) = service.records("vm")
    assert [disk["vmInstanceUuid"] for disk in list_new_disks(service)] == [vm["uuid"]]
