"""Which sessions the workflow vm_backup opens and ends, and which tasks it never touches."""

from __future__ import annotations

import re
import subprocess
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.filter.report_table import format_table
from ansible_collections.virtinfra.manager.plugins.plugin_utils._run.owner import describe_owner
from ansible_collections.virtinfra.manager.plugins.plugin_utils._workflows.backup_plan import (
    AUTO,
    COMPARED,
    FULL,
    Choice,
    Mover,
    Space,
    assign_movers,
    build_uri,
    choose_due,
    choose_mode,
    get_volume_uuid,
    has_session,
    list_copied,
    list_lacking,
    read_infos,
    replace_address,
    sum_sizes,
)
from ansible_collections.virtinfra.manager.plugins.plugin_utils._workflows.backup_progress import (
    choose_pause,
    count_turn,
    describe_progress,
    format_bytes,
    format_seconds,
)
from ansible_collections.virtinfra.manager.plugins.plugin_utils._workflows.backup_report import judge_copy
from ansible_collections.virtinfra.manager.plugins.plugin_utils._workflows.site import Site
from ansible_collections.virtinfra.manager.plugins.plugin_utils._workflows.vm_backup import MARK, describe_remains

from simulator.launch import Simulator
from support.module_runner import ModuleRunner
from support.workflow_runner import WorkflowRun, WorkflowRunner

EMPTY = {
    "item": "localhost",
    "points": [],
    "checkpoints": [],
    "space": {"free_bytes": 50, "total_bytes": 100},
}


@pytest.fixture
def service(sim: Simulator) -> Simulator:
    """A simulator with four running VMs on two hosts, without CBT tasks."""
    sim.reset(vms=4, cbt_tasks=0)
    hosts = sim.records("host")
    for number, vm in enumerate(sim.records("vm")):
        sim.change("vm", vm["uuid"], state="Running", hostUuid=hosts[number % 2]["uuid"])
    return sim


def step(work: WorkflowRunner, name: str, given: Any = None, check: bool = False, **variables: Any) -> WorkflowRun:
    """Run a step of the workflow for all VMs."""
    values = {"query": ["name~=vm-%"], "repository": "/srv/backups", **variables}
    return work(
        "vm_backup", {f"vm_backup_{key}": value for key, value in values.items()}, check, step=name, given=given
    )


def plan(work: WorkflowRunner, *movers: Any, check: bool = False, **variables: Any) -> WorkflowRun:
    """Plan copies with the results of movers, by default of one without points, which have given all VMs."""
    movers = movers or (EMPTY,)
    taken = [{"item": mover["item"], "others": mover.get("others", [])} for mover in movers]
    return step(work, "plan", {"movers": movers, "taken": taken}, check, **variables)


def statuses(service: Simulator) -> list[str]:
    """Return the statuses of all CBT tasks."""
    return [task["status"] for task in service.records("cbttask")]


def count_scratch_volumes(service: Simulator) -> int:
    """Return how many scratch volumes exist."""
    return sum(volume["name"].startswith("Cbt-volume-of-") for volume in service.records("volume"))


def enable(work: WorkflowRunner, service: Simulator, count: int = 1, **variables: Any) -> list[dict[str, Any]]:
    """Open the sessions of the first VMs, and return their items."""
    items = plan(work, **variables).result["next"]["items"]
    opened = turn(work, items, concurrency=count, per_host=count, **variables)
    sessions: list[dict[str, Any]] = opened["sessions"]
    assert statuses(service) == ["Running"] * count
    return sessions


def turn(
    work: WorkflowRunner,
    items: list[dict[str, Any]],
    *looked: dict[str, Any],
    entries: tuple[dict[str, Any], ...] = (),
    running: tuple[dict[str, Any], ...] = (),
    **variables: Any,
) -> dict[str, Any]:
    """Take a turn, and return what the role does next."""
    movers = [{"item": "localhost", "running": list(running)}]
    given = {"turn": "1", "items": items, "entries": entries, "looked": looked, "movers": movers, "asked": []}
    after: dict[str, Any] = step(work, "turn", given, **variables).result["next"]
    return after


def look_at(session: dict[str, Any], **result: Any) -> dict[str, Any]:
    """Return what a task that looked at the copy of a session returned."""
    return {**result, "__vm_backup_copy": {"ansible_job_id": "j1", "__vm_backup_session": session}}


def test_a_session_from_its_plan_to_its_end(service: Simulator, work: WorkflowRunner) -> None:
    planned = plan(work)
    items = planned.result["next"]["items"]
    assert (planned.calls, len(items)) == ([], 4)
    (session,) = enable(work, service)
    assert session["task_uuid"] is None
    assert session["mode"] == FULL
    assert count_scratch_volumes(service) == len(session["volumes"]) > 0
    assert [export["uri"] for export in session["exports"]] == list(map(build_uri, session["volumes"]))
    ended = step(work, "end", {"items": [session], "copied": {"failed": False}})
    (entry,) = ended.result["next"]["entries"]
    assert (entry["outcome"], entry["session_ended"], entry["error"]) == (FULL, True, None)
    assert (ended.calls, statuses(service), count_scratch_volumes(service)) == (["DisableCbtTask"], ["Stopped"], 0)
    description = service.records("cbttask")[0]["description"]
    assert description == f"{MARK} It copies to /srv/backups on localhost."
    again = step(work, "end", {"items": [session], "done": [entry]})
    assert (again.calls, again.result["next"]["entries"]) == ([], [])


def test_the_checkpoint_of_the_repository_is_sent(service: Simulator, work: WorkflowRunner) -> None:
    (session,) = enable(work, service)
    step(work, "end", {"items": [session], "copied": {"failed": False}})
    uuid, checkpoint = session["vm"]["uuid"], session["volumes"][0]["bitmap_name"]
    point = {"vm_uuid": uuid, "point": "20261126T021500Z", "whole": True, "mode": FULL}
    known = {"vm_uuid": uuid, "volume_uuid": "v", "checkpoint": checkpoint, "point": point["point"]}
    mover = {**EMPTY, "points": [point], "checkpoints": [known]}
    (item,) = plan(work, mover, vms=[uuid]).result["next"]["items"]
    assert (item["mode"], item["bitmap_name"], bool(item["task_uuid"])) == (AUTO, checkpoint, True)
    (session,) = turn(work, [item])["sessions"]
    assert {info["mode"] for info in session["volumes"]} == {"incremental"}
    assert len(service.records("cbttask")) == 1


def test_leftovers_are_ended_first(service: Simulator, work: WorkflowRunner) -> None:
    enable(work, service, 2)
    predicted = plan(work, check=True, state="ended")
    ended = plan(work, state="ended")
    assert (predicted.calls, ended.calls) == ([], ["DisableCbtTask"] * 2)
    assert predicted.result["next"] == ended.result["next"]
    outcomes = sorted(entry["outcome"] for entry in ended.result["next"]["entries"])
    assert outcomes == ["ended", "ended", "unchanged", "unchanged"]
    assert (statuses(service), count_scratch_volumes(service)) == (["Stopped"] * 2, 0)


def describe_tasks(service: Simulator) -> set[tuple[str, str]]:
    """Return the status and the repository of all CBT tasks."""
    found = ((task["status"], task["description"].rpartition(" copies to ")[2]) for task in service.records("cbttask"))
    return {*found}


def test_two_repositories_at_once(service: Simulator, work: WorkflowRunner) -> None:
    """The second run is refused and names the first, also if both have planned before, and ends nothing of it."""
    here: dict[str, Any] = {"repository": "/srv/a", "mover": ["m1", "m2"]}
    there: dict[str, Any] = {"repository": "/srv/b", "mover": ["m1"]}
    early = plan(work, vms=["vm-1"], **there).result["next"]["items"]
    enable(work, service, vms=["vm-1"], **here)
    before, name = service.state(), "A run that copies to /srv/a on m1, m2 has a backup session of the VM"
    entries = [
        *plan(work, vms=["vm-1"], **there).result["next"]["entries"],
        *plan(work, check=True, vms=["vm-1"], **there).result["next"]["entries"],
        *turn(work, early, **there)["entries"],
        *step(work, "end", {"items": early, "copied": {"failed": False}}, **there).result["next"]["entries"],
    ]
    assert [name in str(entry["error"]) for entry in entries] == [True, True, True, False]
    assert service.state() == before
    # The same folder on another data mover is another repository; a mover in common means that the runs see each other.
    for folder, movers, is_other in (
        ("/srv/a", ["m3"], True),
        ("/srv/a", ["m2", "m3"], False),
        ("/srv//a/", ["m1"], False),
    ):
        predicted = plan(work, check=True, vms=["vm-1"], repository=folder, mover=movers).result["next"]["entries"]
        assert bool(predicted[0]["error"]) == is_other
    # A person ends the session of a run that was killed.
    assert plan(work, vms=["vm-1"], state="ended", repository=None).calls == ["DisableCbtTask"]


def test_two_repositories_in_turn(service: Simulator, work: WorkflowRunner) -> None:
    """The CBT task names the one that uses it, so it is made again."""
    for folder in ("/srv/a", "/srv/b", "/srv/b"):
        (session,) = enable(work, service, vms=["vm-1"], repository=folder)
        assert describe_tasks(service) == {("Running", f"{folder} on localhost.")}
        step(work, "end", {"items": [session], "copied": {"failed": False}}, repository=folder)
        assert (statuses(service), count_scratch_volumes(service)) == (["Stopped"], 0)


def test_a_volume_that_is_attached_after_the_plan(service: Simulator, work: WorkflowRunner) -> None:
    """The manifest gets the VM as it is when its session opens."""
    items = plan(work, vms=["vm-1"]).result["next"]["items"]
    volume = items[0]["vm"]["all_volumes"][-1]
    service.change("volume", volume["uuid"], isShareable=True)
    (session,) = turn(work, items)["sessions"]
    assert session["vm"]["all_volumes"][-1]["is_shareable"] is True


def test_a_session_that_lacks_a_volume() -> None:
    volumes = [{"uuid": uuid, "name": f"of-{uuid}", "type": "Data", "status": "Ready"} for uuid in ("v1", "v2")]
    vm = {"all_volumes": [*volumes, {**volumes[0], "uuid": "v3", "is_shareable": True}]}
    infos = [{"volume": {"volume_uuid": "v1"}}]
    assert list_lacking(vm, infos, []) == ["of-v2 (v2)"]
    assert list_lacking(vm, infos, ["of-*2"]) == list_lacking(vm, infos, ["v2"]) == []


def test_volumes_that_are_no_records(service: Simulator, work: WorkflowRunner) -> None:
    service.fault("garbage", operation="QueryVolume", garbage="types", count=None)
    ended = plan(work, state="ended")
    assert ended.result["failed_count"] == 0
    assert any("QueryVolume" in warning for warning in ended.warnings)


def test_tasks_of_other_products_stay(service: Simulator, work: WorkflowRunner) -> None:
    """Neither the prefix nor the description alone makes a task ours."""
    sessions = enable(work, service, 3)
    tasks = service.records("cbttask")
    service.change("cbttask", tasks[0]["uuid"], description="nightly")
    service.change("cbttask", tasks[1]["uuid"], name="other-product")
    before = service.state()
    predicted = plan(work, check=True, vms=[session["vm"]["uuid"] for session in sessions]).result["next"]["entries"]
    assert [entry["outcome"] for entry in predicted] == ["failed", "failed", FULL]
    assert service.state() == before
    planned = plan(work, vms=[session["vm"]["uuid"] for session in sessions])
    assert planned.calls == ["DisableCbtTask"]
    assert statuses(service) == ["Running", "Running", "Stopped"]
    entries = planned.result["next"]["entries"]
    assert [entry["outcome"] for entry in entries] == ["failed"] * 2
    assert "which the role has not created" in entries[0]["error"]
    ended = step(work, "end", {"items": sessions})
    assert (ended.calls, statuses(service)) == ([], ["Running", "Running", "Stopped"])


def test_a_vm_that_stopped_meanwhile_gets_a_sentence(service: Simulator, work: WorkflowRunner) -> None:
    (session,) = enable(work, service)
    service.change("vm", session["vm"]["uuid"], state="Stopped")
    ended = step(work, "end", {"items": [session], "copied": {"failed": False}})
    (entry,) = ended.result["next"]["entries"]
    assert (entry["outcome"], entry["session_ended"]) == ("failed", False)
    for part in ("could not be ended", "the scratch volumes", "remain", "When the VM runs, run the role again"):
        assert part in entry["error"]
    planned = plan(work, vms=[session["vm"]["uuid"]])
    assert [each["outcome"] for each in planned.result["next"]["entries"]] == ["failed"]
    service.change("vm", session["vm"]["uuid"], state="Running")
    assert plan(work, vms=[session["vm"]["uuid"]]).calls == ["DisableCbtTask"]
    assert count_scratch_volumes(service) == 0


def test_a_session_that_cannot_be_opened_is_cleaned_up_at_once(service: Simulator, work: WorkflowRunner) -> None:
    service.fault("fail", operation="EnableCbtTask", error={"code": "SYS.1006", "details": "a migration is going on"})
    items = plan(work).result["next"]["items"]
    opened = turn(work, items, concurrency=2, per_host=2)
    (entry,) = opened["entries"]
    assert (entry["outcome"], "a migration is going on" in entry["error"]) == ("failed", True)
    assert (len(opened["sessions"]), opened["has_more"]) == (1, True)


def test_a_task_that_was_created_is_a_change_though_its_session_failed(
    service: Simulator, work: WorkflowRunner
) -> None:
    items = plan(work).result["next"]["items"]
    service.fault("session_expiry", operation="EnableCbtTask")
    given = {"turn": 1, "items": items, "entries": [], "looked": [], "movers": [], "asked": []}
    ran = step(work, "turn", given)
    assert (ran.calls[0], ran.result["changed"], ran.result["next"]["sessions"]) == ("CreateCbtTask", True, [])


def test_a_session_that_somebody_else_has_ended_is_no_change(service: Simulator, work: WorkflowRunner) -> None:
    """The copy is judged as usual. Only a call of a step is a change of it."""
    opened, other = enable(work, service, 2)
    plan(work, state="ended", vms=[opened["vm"]["uuid"]])
    given = {"turn": 1, "items": [opened], "entries": [], "movers": [], "asked": []}
    turned = step(work, "turn", {**given, "looked": [look_at(opened, finished=1)]})
    ended = step(work, "end", {"items": [opened], "copied": {"failed": False}})
    for ran in (turned, ended, plan(work, state="ended", vms=[opened["vm"]["uuid"]])):
        assert (ran.calls, ran.result["changed"]) == ([], False)
        assert [entry["error"] for entry in ran.result["next"]["entries"]] == [None]
    last = step(work, "turn", {**given, "items": [other], "looked": [look_at(other, finished=1)]})
    assert (last.calls, last.result["changed"]) == (["DisableCbtTask"], True)


def test_no_session_opens_without_room_for_its_scratch_volumes(service: Simulator, work: WorkflowRunner) -> None:
    for storage in service.records("primarystorage"):
        service.change("primarystorage", storage["uuid"], availableCapacity=storage["totalCapacity"] // 10)
    predicted = plan(work, check=True)
    opened = turn(work, plan(work).result["next"]["items"], per_host=4)
    assert (statuses(service), opened["sessions"], opened["has_more"]) == ([], [], False)
    assert len(opened["entries"]) == 4
    for entry in (*predicted.result["next"]["entries"], *opened["entries"]):
        assert "too little space for the scratch volumes" in entry["error"]


def test_a_vm_waits_for_the_space_that_others_give_back(service: Simulator, work: WorkflowRunner) -> None:
    items = plan(work).result["next"]["items"]
    (first,) = turn(work, items, concurrency=1)["sessions"]
    for storage in service.records("primarystorage"):
        service.change("primarystorage", storage["uuid"], availableCapacity=storage["totalCapacity"] // 10)
    waiting = turn(work, items, look_at(first, finished=0), concurrency=2, per_host=2)
    assert (waiting["sessions"], waiting["entries"], waiting["has_more"]) == ([], [], True)


def test_the_copy_that_ends_first_has_its_session_ended_first(service: Simulator, work: WorkflowRunner) -> None:
    """The next session opens in its place, and those whose copies run stay open."""
    items = plan(work).result["next"]["items"]
    slow, fast = turn(work, items, concurrency=2, per_host=2)["sessions"]
    nothing = turn(work, items, look_at(slow, finished=0), look_at(fast, finished=0), concurrency=2, per_host=2)
    assert (nothing["entries"], nothing["sessions"], statuses(service)) == ([], [], ["Running"] * 2)
    assert [copy["ansible_job_id"] for copy in nothing["copies"]] == ["j1", "j1"]
    assert not any("volumes" in copy["__vm_backup_session"] for copy in nothing["copies"])
    slow, fast = (copy["__vm_backup_session"] for copy in nothing["copies"])
    after = turn(work, items, look_at(slow, finished=0), look_at(fast, finished=1), concurrency=2, per_host=2)
    assert [(entry["vm_uuid"], entry["outcome"]) for entry in after["entries"]] == [(fast["vm"]["uuid"], FULL)]
    assert [copy["__vm_backup_session"]["vm"] for copy in after["copies"]] == [slow["vm"]]
    assert [session["vm"]["uuid"] for session in after["sessions"]] == [items[2]["vm"]["uuid"]]
    assert (statuses(service).count("Running"), after["has_more"]) == (2, True)
    left = [item for item in items if item["vm"]["uuid"] == slow["vm"]["uuid"]]
    last = turn(work, left, look_at(slow, unreachable=True))
    assert (last["entries"][0]["outcome"], last["has_more"], statuses(service).count("Running")) == ("failed", False, 1)


def test_no_session_opens_for_a_mover_that_is_lost(service: Simulator, work: WorkflowRunner) -> None:
    """It is not asked again; the VMs of other movers are copied."""
    first, *others = plan(work, concurrency=1).result["next"]["items"]
    items = [{**first, "mover": "gone"}, *others]
    results = [{"item": "gone", "unreachable": True, "msg": "no route"}, {"item": "localhost", "running": []}]
    given = {"turn": 1, "items": items, "entries": [], "looked": [], "movers": results, "asked": ["gone", "localhost"]}
    after = step(work, "turn", given, concurrency=4, per_host=4).result["next"]
    assert [entry["error"] for entry in after["entries"]] == [
        "The data mover gone cannot be reached any more. No session was opened."
    ]
    assert (len(after["sessions"]), after["movers"], statuses(service)) == (3, ["localhost"], ["Running"] * 3)


def test_a_copy_that_its_mover_does_not_end(service: Simulator, work: WorkflowRunner) -> None:
    (session,) = enable(work, service)
    late = {**session, "opened": session["opened"] - 100}
    (entry,) = turn(work, [session], look_at(late, finished=0), timeout=30)["entries"]
    assert (entry["error"], entry["session_ended"], statuses(service)) == (
        "The copy did not end within vm_backup_timeout. The session was ended, so that it does no harm.",
        True,
        ["Stopped"],
    )


def test_the_rate_limit_is_that_of_all_copies_together(service: Simulator, work: WorkflowRunner) -> None:
    items = plan(work).result["next"]["items"]
    assert turn(work, items, rate_limit=90, concurrency=3)["rate_limit"] == 30
    assert turn(work, items[:1], rate_limit=90, concurrency=3)["rate_limit"] == 90


@pytest.mark.parametrize(
    ("left", "age", "expected"),
    [(None, 0, 1), (None, 12, 3), (None, 9000, 5), (0, 9000, 1), (20, 1, 10), (7200, 1, 30)],
)
def test_when_a_copy_is_looked_at_again(left: int | None, age: float, expected: float) -> None:
    assert choose_pause({"seconds_left": left}, age) == expected
    assert choose_pause(None, 0) == 1


def test_many_turns_are_not_nested_deeply() -> None:
    """As the files of the role include each other."""
    after, deepest = count_turn(0, has_more=True), 0

    def take_turn(levels: int) -> None:
        nonlocal after, deepest
        deepest = max(deepest, levels)
        after = count_turn(after["turn"], has_more=after["turn"] < 60_000)

    levels = {"all": 0, "row": 0, "turn": 0}
    while after["has_more"]:
        take_turn(sum(levels.values()) + 3)
        if after["same_row"]:
            levels["turn"] += 1
        elif after["next_row"]:
            levels.update(turn=0, row=levels["row"] + 1)
        else:
            levels.update(turn=0, row=0, all=levels["all"] + 1)
    assert after["turn"] == 60_001
    assert deepest < 125


def test_the_line_about_a_copy() -> None:
    progress = {"step": "verify", "volume_uuid": "v1", "bytes_done": 3 << 29, "bytes_total": 6 << 30}
    known = {**progress, "bytes_per_second": 120 << 20, "seconds_left": 3725}
    line = "vm-1: verify of volume v1: 25% of 6.0 GiB, 120.0 MiB/s, 1 h 2 min 5 s left"
    assert describe_progress({"name": "vm-1"}, known) == line
    assert describe_progress({"name": "vm-1"}, None) == "vm-1: the copy starts or ends"
    unknown = {**progress, "bytes_total": 0, "bytes_per_second": 0, "seconds_left": None}
    assert describe_progress({"name": "vm-1"}, unknown).endswith("v1: nothing to read, 0 bytes/s")


def test_sizes_and_times() -> None:
    assert [format_bytes(size) for size in (1023, 1024, 5 << 30, 3 << 50)] == [
        "1023 bytes",
        "1.0 KiB",
        "5.0 GiB",
        "3072.0 TiB",
    ]
    assert [format_seconds(seconds) for seconds in (0.2, 60, 3600)] == ["0 s", "1 min", "1 h"]


def test_no_session_opens_without_room_in_the_repository(service: Simulator, work: WorkflowRunner) -> None:
    planned = plan(work, min_free_percent=51)
    assert (planned.calls, planned.result["next"]["items"]) == ([], [])
    for entry in planned.result["next"]["entries"]:
        assert "The repository on the data mover localhost has too little space" in entry["error"]


def test_check_mode_predicts_and_writes_nothing(service: Simulator, work: WorkflowRunner) -> None:
    predicted = plan(work, check=True)
    assert (predicted.calls, predicted.result["changed"]) == ([], True)
    assert len(predicted.reads) == len({*predicted.reads})
    assert predicted.result["next"]["items"] == []
    assert [entry["outcome"] for entry in predicted.result["next"]["entries"]] == [FULL] * 4


def test_what_the_first_step_selects(service: Simulator, work: WorkflowRunner) -> None:
    """The role asks the movers about the repository, if there is one, and the run has time."""
    selected = step(work, "select", mover=["m1", "m2"], vms=["vm-1"], timeout=100).result["next"]
    uuid = service.records("vm")[0]["uuid"]
    assert (selected["vm_uuids"], selected["movers"], selected["repository"]) == ([uuid], ["m1", "m2"], "/srv/backups")
    assert (selected["owner"]["patience"], len(selected["run"])) == (1000, 36)
    ended = step(work, "select", state="ended", repository=None, mover=["m1"]).result["next"]
    assert (ended["movers"], len(ended["vm_uuids"])) == ([], 4)
    assert step(work, "select", query=["name=nobody"], allow_empty=True).result["next"]["vm_uuids"] == []


def test_a_vm_that_does_not_run_is_skipped(service: Simulator, work: WorkflowRunner) -> None:
    """The others are copied. Without one to copy, no turn is taken, and nothing has changed."""
    first = service.records("vm")[0]
    service.change("vm", first["uuid"], state="Stopped")
    planned = plan(work).result["next"]
    (entry,) = planned["entries"]
    assert (entry["vm"], entry["outcome"]) == ("vm-1", "skipped")
    assert entry["error"] == entry["why"] == "The VM is Stopped. A backup session needs a running VM."
    assert (len(planned["items"]), planned["has_more"], planned["movers"]) == (3, True, ["localhost"])
    assert planned["turn"] == 1
    for check in (True, False):
        alone = plan(work, vms=["vm-1"], check=check).result
        assert (alone["changed"], alone["next"]["has_more"]) == (False, False)


def test_the_smallest_vm_is_copied_first(service: Simulator, work: WorkflowRunner) -> None:
    for number, vm in enumerate(service.records("vm")):
        service.change("volume", vm["rootVolumeUuid"], size=(10 - number) << 30)
    sizes = [sum_sizes(item["vm"]) for item in plan(work).result["next"]["items"]]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1]


def test_what_is_planned_for_each_vm(service: Simulator, work: WorkflowRunner) -> None:
    """Check mode predicts the same. The tasks of a user copy all that a session shows."""
    uuid = service.records("vm")[0]["uuid"]
    point = {"vm_uuid": uuid, "point": "20261126T021500Z", "whole": True, "mode": FULL}
    known = {"vm_uuid": uuid, "volume_uuid": "v", "checkpoint": "bitmap-1", "point": point["point"]}
    mover = {**EMPTY, "item": "m1", "points": [point], "checkpoints": [known]}
    (item,) = plan(work, mover, vms=[uuid]).result["next"]["items"]
    assert (item["mover"], item["outcome"], item["bitmap_name"]) == ("m1", "incremental", "bitmap-1")
    (entry,) = plan(work, mover, vms=[uuid], check=True).result["next"]["entries"]
    assert (entry["outcome"], entry["why"]) == ("incremental", "the newest point is 20261126T021500Z")
    assert (item["why"], entry["error"]) == (entry["why"], None)
    (item,) = plan(work, mover, vms=[uuid], copy_tasks="copy.yml").result["next"]["items"]
    assert (item["mode"], item["why"]) == (FULL, "the tasks of vm_backup_copy_tasks have copied it")
    assert item["bitmap_name"] is None
    full = {**mover, "space": {"free_bytes": 0, "total_bytes": 100}}
    assert len(plan(work, full, vms=[uuid], copy_tasks="copy.yml").result["next"]["items"]) == 1


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        ({"unreachable": True, "msg": "no route."}, "no route."),
        ({"failed": True, "msg": "no permission"}, "no permission."),
        ({"unreachable": True}, "it is unreachable."),
    ],
)
@pytest.mark.parametrize("place", ["movers", "taken"])
def test_a_mover_that_cannot_be_used(
    service: Simulator, work: WorkflowRunner, place: str, result: dict[str, Any], reason: str
) -> None:
    """Its VMs are those of the others, if there are any."""
    lost = {**result, "item": "m1"}
    given: dict[str, list[dict[str, Any]]] = {
        "movers": [{**EMPTY, "item": "m1"}],
        "taken": [{"item": "m1", "others": []}],
    }
    given[place] = [lost]
    planned = step(work, "plan", given).result["next"]
    assert {entry["error"] for entry in planned["entries"]} == {f"The data mover m1 cannot be used: {reason}"}
    assert (planned["items"], planned["movers"], len(planned["entries"])) == ([], [], 4)
    both = {
        "movers": [*given["movers"], {**EMPTY, "item": "m2"}],
        "taken": [*given["taken"], {"item": "m2", "others": []}],
    }
    planned = step(work, "plan", both).result["next"]
    assert ({item["mover"] for item in planned["items"]}, planned["movers"], planned["entries"]) == ({"m2"}, ["m2"], [])


def test_all_reasons_are_named_if_no_mover_can_be_used(service: Simulator, work: WorkflowRunner) -> None:
    lost = [{"item": f"m{number}", "unreachable": True, "msg": f"no route {number}"} for number in (1, 2)]
    planned = step(work, "plan", {"movers": lost, "taken": lost}, vms=["vm-1"]).result["next"]
    assert planned["entries"][0]["error"] == (
        "The data mover m1 cannot be used: no route 1. The data mover m2 cannot be used: no route 2."
    )


def test_tasks_whose_vms_the_service_hides(service: Simulator, work: WorkflowRunner) -> None:
    """Those of the role have the uuid of the VM in their names. Others do not belong to the VM because of a name."""
    (session,) = enable(work, service)
    uuid, (task,) = session["vm"]["uuid"], service.records("cbttask")
    step(work, "end", {"items": [session]})
    service.change("cbttask", task["uuid"], resourceRefs=None)
    (item,) = plan(work, vms=[uuid]).result["next"]["items"]
    assert item["task_uuid"] == task["uuid"]
    service.change("cbttask", task["uuid"], description="theirs")
    (item,) = plan(work, vms=[uuid]).result["next"]["items"]
    assert item["task_uuid"] is None


def test_a_session_without_volumes(service: Simulator, work: WorkflowRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is ended at once. A turn that only opens sessions is a change, too."""
    items = plan(work).result["next"]["items"][:1]
    given = {"turn": 1, "items": items, "entries": [], "looked": [], "movers": [], "asked": []}
    assert step(work, "turn", given).result["changed"]
    step(work, "end", {"items": items})
    batch = Site.batch

    def lose_volumes(self: Site, *arguments: Any, **common: Any) -> Any:
        return [{**result, "volume_cbt_backup_infos": None} for result in batch(self, *arguments, **common)]

    monkeypatch.setattr(Site, "batch", lose_volumes)
    after = turn(work, items)
    assert [entry["error"] for entry in after["entries"]] == ["The service has returned no volumes to copy."]
    assert (after["sessions"], statuses(service)) == ([], ["Stopped"])


def test_ended_sessions_are_a_change(service: Simulator, work: WorkflowRunner) -> None:
    """Also if the VM is not copied then."""
    (session,) = enable(work, service)
    broken = {"item": "localhost", "failed": True, "msg": "no"}
    ran = step(work, "plan", {"movers": [broken], "taken": [broken]}, vms=[session["vm"]["uuid"]])
    assert (ran.calls, ran.result["changed"], ran.result["next"]["items"]) == (["DisableCbtTask"], True, [])
    again = step(work, "plan", {"movers": [broken], "taken": [broken]}, vms=[session["vm"]["uuid"]])
    assert (again.calls, again.result["changed"]) == ([], False)


def test_what_the_tasks_of_the_role_get(service: Simulator, work: WorkflowRunner) -> None:
    """Either the role or the tasks of the user copy the sessions, of which the latter have one at a time."""
    items = plan(work).result["next"]["items"]
    variables: dict[str, Any] = {"compression": "zstd", "verify": "all", "timeout": 70, "min_free_percent": 5}
    after = turn(work, items, per_host=2, keep={"last": 3}, **variables)
    assert {**variables, "repository": "/srv/backups", "copy_tasks": None}.items() <= after.items()
    assert after["keep"]["last"] == 3
    assert (len(after["sessions"]), after["sessions_for_tasks"], after["rate_limit"]) == (4, [], 0)
    step(work, "end", {"items": items})
    after = turn(work, items, per_host=2, copy_tasks="copy.yml", rate_limit=2)
    assert (after["sessions"], len(after["sessions_for_tasks"]), after["copy_tasks"]) == ([], 1, "copy.yml")
    assert after["rate_limit"] == 1


def test_another_address_of_the_host_of_a_vm(service: Simulator, work: WorkflowRunner) -> None:
    """In the volumes for the role, and in the exports for tasks."""
    items = plan(work).result["next"]["items"]
    host = items[0]["vm"]["host_uuid"]
    (session,) = turn(work, items[:1], host_address={host: "192.0.2.9"})["sessions"]
    assert {info["nbd_server"] for info in session["volumes"]} == {"192.0.2.9"}
    volumes = {volume["uuid"]: volume for volume in items[0]["vm"]["all_volumes"]}
    for export in session["exports"]:
        assert export["uri"].startswith("nbd://192.0.2.9:")
        assert export["device_id"] == volumes[export["volume_uuid"]]["device_id"]


def test_storages_that_cannot_be_read(service: Simulator, work: WorkflowRunner) -> None:
    """No session opens without knowing whether its scratch volumes have room."""
    items = plan(work).result["next"]["items"]
    service.fault("fail", operation="QueryPrimaryStorage", error={"code": "SYS.1006", "details": "no database"})
    after = turn(work, items, per_host=2)
    assert [(entry["vm_uuid"], entry["outcome"]) for entry in after["entries"]] == [
        (item["vm"]["uuid"], "failed") for item in items
    ]
    assert ("no database" in after["entries"][0]["error"], after["has_more"], statuses(service)) == (True, False, [])


def test_a_session_that_stays_open_although_it_was_ended(service: Simulator, work: WorkflowRunner) -> None:
    """A successful call does not prove anything."""
    sessions = enable(work, service, 2)
    batch = Site.batch

    def end_the_first(self: Site, module: str, objects: Any, *rest: Any, **common: Any) -> Any:
        results = batch(self, module, objects[:1], *rest, **common)
        return results * 2

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Site, "batch", end_the_first)
        ended = step(work, "end", {"items": sessions, "copied": {"failed": False}}).result["next"]
    outcomes = {entry["vm"]: (entry["outcome"], entry["session_ended"]) for entry in ended["entries"]}
    assert sorted(outcomes.values()) == [("failed", False), (FULL, True)]
    (error,) = (entry["error"] for entry in ended["entries"] if entry["error"])
    assert "could not be ended, and the scratch volumes" in error
    assert "remain: the service shows the status Running. When the VM runs, run the role again" in error


def test_remains_of_unknown_volumes() -> None:
    task = {"name": "backup-1", "uuid": "u"}
    assert describe_remains(task, "no.") == (
        "The backup session of the CBT task backup-1 (u) could not be ended, and its scratch volumes may remain: no."
        " When the VM runs, run the role again, or disable the task."
    )


def test_it_is_not_known_whether_sessions_have_ended(service: Simulator, work: WorkflowRunner) -> None:
    (session,) = enable(work, service)
    service.fault("fail", operation="QueryCbtTask", count=None, error={"code": "SYS.1006", "details": "no database"})
    ended = step(work, "end", {"items": [session], "copied": {"failed": False}}).result
    (entry,) = ended["next"]["entries"]
    assert (entry["outcome"], entry["session_ended"], ended["changed"]) == ("failed", False, False)
    assert entry["error"].startswith("It is not known whether the backup session was ended: ")
    assert entry["error"].endswith("Run the role again.")


def list_scratch_volumes(service: Simulator) -> list[str]:
    """Return the names of the scratch volumes that are not removed."""
    return [
        volume["name"]
        for volume in service.records("volume")
        if volume["name"].startswith("Cbt-volume-of-") and volume["status"] != "Deleted"
    ]


def test_scratch_volumes_of_a_vm_that_was_destroyed(service: Simulator, work: WorkflowRunner) -> None:
    """Its CBT task goes with it, and leaves them. Volumes that are not known to be those of the session stay."""
    (session,) = enable(work, service)
    scratch = list_scratch_volumes(service)
    others = [volume["uuid"] for volume in service.records("volume") if volume["type"] == "Data"]
    ModuleRunner(service)("vm", {"uuid": session["vm"]["uuid"], "state": "absent"})
    assert (statuses(service), list_scratch_volumes(service)) == ([], scratch)
    foreign = next(uuid for uuid in others if uuid not in session["scratch_volumes"])
    listed = {**session, "scratch_volumes": [*session["scratch_volumes"], foreign]}
    service.change("volume", foreign, description="mine", vmInstanceUuid=None)
    ended = step(work, "end", {"items": [listed], "copied": {"failed": True, "msg": "the export was cut."}})
    (entry,) = ended.result["next"]["entries"]
    assert (ended.calls, list_scratch_volumes(service)) == (["DeleteDataVolume"] * len(scratch), [])
    assert (entry["outcome"], entry["session_ended"]) == ("failed", False)
    assert f"({foreign}) remain. Delete them in the service." in entry["error"]
    again = step(work, "end", {"items": [session], "copied": {"failed": True, "msg": "the export was cut."}})
    assert again.result["next"]["entries"][0]["session_ended"]


@pytest.mark.parametrize("operation", ["DeleteDataVolume", "QueryVolume"])
def test_scratch_volumes_that_cannot_be_removed(service: Simulator, work: WorkflowRunner, operation: str) -> None:
    (session,) = enable(work, service)
    scratch = list_scratch_volumes(service)
    ModuleRunner(service)("vm", {"uuid": session["vm"]["uuid"], "state": "absent"})
    service.fault("fail", operation, error={"code": "SYS.1000", "details": "no agent"}, count=None)
    ended = step(work, "end", {"items": [session], "copied": {"failed": True, "msg": "the export was cut."}})
    (entry,) = ended.result["next"]["entries"]
    assert (list_scratch_volumes(service), entry["session_ended"]) == (scratch, False)
    for part in ("the export was cut", "remain", "no agent"):
        assert part in entry["error"]
    assert session["scratch_volumes"][0] in entry["error"]


def test_scratch_volumes_that_nothing_removes_are_named(service: Simulator, work: WorkflowRunner) -> None:
    """Those of the VMs that belong to no CBT task, and no others."""
    session, second = enable(work, service, 2)
    (task,) = (each for each in service.records("cbttask") if session["vm"]["uuid"] in each["name"])
    left = [ref["resourceUuid"] for ref in task["resourceRefs"] if ref["resourceType"] == "VolumeVO"]
    names = {volume["uuid"]: volume["name"] for volume in service.records("volume")}
    references = [ref for ref in task["resourceRefs"] if ref["resourceType"] != "VolumeVO"]
    service.change("cbttask", task["uuid"], status="Stopped", resourceRefs=references)
    # The session of the other one cannot be ended, so its scratch volumes are still in use.
    service.change("vm", second["vm"]["uuid"], state="Stopped")
    (warning,) = plan(work, state="ended").warnings
    before, named, after = re.split(r": |\. ", warning)
    assert before == "These scratch volumes belong to no CBT task, and nothing removes them"
    assert sorted(named.split(", ")) == sorted(f"{names[uuid]} ({uuid})" for uuid in left)
    assert after == "Delete them in the service, if no other backup product uses them."
    assert plan(work, state="ended", vms=[second["vm"]["uuid"]]).warnings == []


def test_a_turn_without_anything_to_do_waits(
    service: Simulator, work: WorkflowRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For the copy that is expected to end first, whose progress is shown. Otherwise it does not wait."""
    pauses: list[float] = []
    monkeypatch.setattr(Site, "pause", lambda self, seconds: pauses.append(seconds))
    items = plan(work).result["next"]["items"]
    first, second = turn(work, items[:2], concurrency=2, per_host=2)["sessions"]
    progress = {"step": "copy", "volume_uuid": "v", "bytes_done": 1, "bytes_total": 2, "bytes_per_second": 1}
    running = tuple(
        {**progress, "vm_uuid": session["vm"]["uuid"], "seconds_left": left}
        for session, left in ((first, 40), (second, 10))
    )
    looked = look_at(first, finished=0), look_at(second, finished=0)
    turn(work, items[:2], *looked, running=running, per_host=2)
    assert pauses == [5]
    turn(work, items[:2], look_at(first, finished=1), looked[1], running=running, per_host=2)
    turn(work, items[:3], looked[1], running=running, entries=(), concurrency=1)
    assert pauses == [5, 5]


def make_run(vm_uuid: str, silent: int = 5, **owner: Any) -> dict[str, Any]:
    """Return another run that has a VM, as backup_run returns it."""
    known = {**describe_owner(900), **owner}
    return {"run": "0" * 32, "owner": known, "vm_uuids": [vm_uuid], "silent_seconds": silent}


def test_two_runs_at_the_same_time(service: Simulator, work: WorkflowRunner) -> None:
    """The second one neither ends nor opens a session of a VM that the first one has."""
    (session,) = enable(work, service)
    uuid = session["vm"]["uuid"]
    planned = plan(work, {**EMPTY, "others": [make_run(uuid)]}, vms=[uuid])
    (entry,) = planned.result["next"]["entries"]
    assert "Another run copies or restores the VM: process" in entry["error"]
    assert (planned.calls, statuses(service)) == ([], ["Running"])
    ending = plan(work, {**EMPTY, "others": [make_run(uuid)]}, vms=[uuid], state="ended")
    assert [each["outcome"] for each in ending.result["next"]["entries"]] == ["failed"]
    assert (ending.calls, statuses(service)) == ([], ["Running"])
    step(work, "end", {"items": [session]})
    given = {"turn": 1, "items": [session], "entries": [], "looked": [], "asked": ["localhost"]}
    given["movers"] = [{"item": "localhost", "others": [make_run(uuid)]}]
    refused = step(work, "turn", given)
    assert (refused.calls, refused.result["next"]["has_more"]) == ([], False)
    assert "Another run copies" in refused.result["next"]["entries"][0]["error"]


def test_runs_that_have_ended_lose_their_vms(service: Simulator, work: WorkflowRunner) -> None:
    """One of this machine if its process is gone, one of another machine if it was silent for long."""
    ended = subprocess.Popen(["true"])
    ended.wait()
    cases: list[tuple[dict[str, Any], bool]] = [
        ({}, False),
        ({"silent": 10_000}, False),
        ({"process": ended.pid}, True),
        ({"began": "1"}, True),
        ({"machine": "another", "silent": 899}, False),
        ({"machine": "another", "silent": 901}, True),
        ({"machine": "another", "silent": 901, "patience": 15_300}, False),
    ]
    for options, expected in cases:
        result = {"item": "mover-1", "others": [make_run("a", **options)]}
        after = step(work, "find_ended", {"taken": [result, {"item": "mover-2", "msg": "gone"}]}).result["next"]
        assert after == ({"ended": ["0" * 32], "movers": ["mover-1"]} if expected else {"ended": [], "movers": []})


def test_the_report_names_vms_that_no_step_has_reached(service: Simulator, work: WorkflowRunner) -> None:
    planned = plan(work, vms=["vm-1", "vm-9"]).result["next"]
    done = step(work, "report", {**planned, "asked": []})
    assert [(entry["vm"], entry["outcome"]) for entry in done.report] == [("vm-9", "failed"), ("vm-1", "failed")]
    assert (done.result["failed_count"], done.result["changed"]) == (2, False)
    assert done.report[1]["error"] == "Nothing was copied, because the run has ended before. Run the role again."
    assert [failure.split(":")[0] for failure in done.result["failures"]] == [
        "vm-9",
        f"vm-1 ({service.records('vm')[0]['uuid']})",
    ]
    entries = [{**entry, "outcome": FULL, "error": None} for entry in done.report]
    assert step(work, "report", {"entries": entries, "items": [], "asked": []}).message == "2 VMs, 2 full"


def test_invalid_variables(service: Simulator, work: WorkflowRunner) -> None:
    wrong: list[tuple[str, dict[str, Any]]] = [
        ("give vm_backup_repository", {"repository": None}),
        ("vm_backup_concurrency must be at least 1", {"concurrency": 0}),
        ("vm_backup_full_every must be at least 0", {"full_every": -1}),
        ("vm_backup_keep.daily must be at least 0, not -1", {"keep": {"last": 3, "daily": -1}}),
        ("vm_backup_min_free_percent must be from 0 to 99", {"min_free_percent": 100}),
        ("must not be empty", {"task_prefix": ""}),
        ("No VM meets vm_backup_query", {"query": ["name=nobody"]}),
    ]
    for message, variables in wrong:
        assert message in step(work, "select", **variables).message
    assert "step must be one of select, find_ended, plan" in step(work, "close").message
    other = work("vm_snapshots", {"vm_snapshots_vms": ["vm-1"]}, step="plan")
    assert "the role vm_snapshots has no step 'plan'" in other.message


def make_points(*modes: str) -> list[dict[str, Any]]:
    """Return points of these modes, oldest first."""
    return [{"mode": mode, "point": f"2026110{number}T000000Z"} for number, mode in enumerate(modes)]


@pytest.mark.parametrize(
    ("modes", "full_every", "compare_every", "expected"),
    [
        ((), 14, 7, FULL),
        ((FULL,), 14, 7, AUTO),
        ((FULL, "incremental"), 3, 3, AUTO),
        ((FULL, "incremental", "incremental"), 3, 3, FULL),
        ((FULL, "incremental", "incremental"), 0, 3, COMPARED),
        ((FULL, COMPARED, "incremental"), 0, 3, AUTO),
        ((FULL,), 1, 7, FULL),
        ((FULL,), 0, 1, COMPARED),
        ((FULL, *["incremental"] * 50), 0, 0, AUTO),
        (("mixed", "mixed"), 3, 0, FULL),
    ],
)
def test_the_mode_of_the_next_point(modes: tuple[str, ...], full_every: int, compare_every: int, expected: str) -> None:
    assert choose_mode(make_points(*modes), "bitmap-1", full_every, compare_every).mode == expected


def test_why_a_point_is_made_so() -> None:
    cases: list[tuple[list[str], str | None, int, int, str, str]] = [
        ([], "b", 14, 7, FULL, "the repository has no whole point of the VM"),
        ([FULL], "b", 1, 0, FULL, "all points are full"),
        ([FULL, "incremental"], "b", 2, 0, FULL, "each 2th point begins a new chain"),
        ([FULL], "b", 0, 1, COMPARED, "all points are made by comparison"),
        ([FULL, "incremental"], "b", 0, 2, COMPARED, "each 2th point is made by comparison"),
        ([FULL], None, 14, 7, COMPARED, "the newest point has no checkpoint from which an increment can count"),
        ([FULL], "b", 14, 7, AUTO, "the newest point is 20261100T000000Z"),
    ]
    for modes, checkpoint, full_every, compare_every, mode, why in cases:
        assert choose_mode(make_points(*modes), checkpoint, full_every, compare_every) == Choice(mode, why)


def test_the_newest_checkpoint_counts() -> None:
    """That of a mover without one, and of another VM, do not."""
    checkpoints: list[dict[str, Any]] = [
        {"vm_uuid": "a", "checkpoint": "old", "point": "20261101T000000Z"},
        {"vm_uuid": "a", "checkpoint": "new", "point": "20261103T000000Z"},
        {"vm_uuid": "a", "checkpoint": None, "point": "20261104T000000Z"},
        {"vm_uuid": "b", "checkpoint": "other", "point": "20261105T000000Z"},
    ]
    mover = Mover("m", checkpoints=checkpoints)
    assert (mover.choose_checkpoint("a"), mover.choose_checkpoint("c")) == ("new", None)


def test_the_space_that_sessions_take() -> None:
    """Each storage keeps a part free. One that the service does not describe counts as large enough."""
    storage = {"name": "ps", "total_capacity": 100, "available_capacity": 50}
    space = Space({"p": storage}, 10)
    assert (space.take(make_vm("a", 30)), space.take(make_vm("b", 10))) == (None, None)
    refusal = space.take(make_vm("c", 1))
    assert refusal == (
        "The primary storage ps has too little space for the scratch volumes: 10 bytes are free, 1 are needed, and"
        " vm_backup_min_free_percent keeps 10 free. No session was opened, because writes of the guest fail when the"
        " storage is full. Free space on it."
    )
    assert Space({}, 10).take(make_vm("a", 1 << 60)) is None
    assert Space({"p": {**storage, "available_capacity": None}}, 10).take(make_vm("a", 1 << 60)) is None
    unknown = {**storage, "total_capacity": None, "available_capacity": 1}
    assert Space({"p": unknown}, 99).take(make_vm("a", 1)) is None


def make_vm(uuid: str, size: int, host: str = "h") -> dict[str, Any]:
    """Return a VM with one volume."""
    volume = {"type": "Root", "status": "Ready", "is_shareable": False, "size": size, "primary_storage_uuid": "p"}
    return {"uuid": uuid, "name": uuid, "host_uuid": host, "all_volumes": [volume]}


def test_vms_stay_with_the_mover_of_their_newest_point() -> None:
    point = {"vm_uuid": "a", "point": "20261126T000000Z", "whole": True, "mode": FULL}
    newer = {**point, "point": "20261127T000000Z"}
    movers = [Mover("m1", [point]), Mover("m2", [newer, {**point, "point": "20261128T000000Z", "whole": False}])]
    vms = [make_vm("a", 10), make_vm("b", 5), make_vm("c", 3)]
    names = {uuid: mover.name for uuid, mover in assign_movers(vms, movers).items()}
    assert names == {"a": "m2", "b": "m1", "c": "m1"}


def test_sessions_respect_both_limits() -> None:
    items = [{"vm": make_vm(str(number), 1, f"h{number % 3}")} for number in range(10)]
    assert choose_due(items, [], 4, 1) == items[:3]
    assert choose_due(items, [], 2, 9) == items[:2]
    assert choose_due(items[3:], items[:2], 4, 1) == [items[5]]
    assert choose_due(items[3:], items[:3], 3, 9) == []


def test_another_address_of_a_host() -> None:
    info = {"nbd_server": "10.0.0.1", "nbd_port": 10501, "scratch_node_name": "scratch-1"}
    assert build_uri(replace_address(info, "h", {"10.0.0.1": "192.0.2.1"})) == "nbd://192.0.2.1:10501/scratch-1"
    assert build_uri(replace_address(info, "h", {"h": "2001:db8::1"})) == "nbd://[2001:db8::1]:10501/scratch-1"
    assert replace_address(info, "h", {"other": "192.0.2.1"}) is info


@pytest.mark.parametrize(
    "unusable", ["none", [1], [{}], [{"volume": 1}], [{"volume": {}}], [{"volume": {"volume_uuid": "a"}}]]
)
def test_entries_of_a_session_that_do_not_say_where_volumes_are(unusable: Any) -> None:
    """Such a session is ended like one that could not be opened, and one unusable entry counts for all."""
    served = {"nbd_server": "10.0.0.1", "nbd_port": 10501, "scratch_node_name": "scratch-1"}
    known = [{"volume": {name: "a"}, **served} for name in ("volume_uuid", "resource_uuid")]
    assert read_infos(known) == known
    assert read_infos([*known, *unusable] if isinstance(unusable, list) else unusable) == []
    assert [get_volume_uuid(info) for info in known] == ["a", "a"]


@pytest.mark.parametrize(
    ("copy", "message"),
    [
        (None, "Nothing was copied, because the run was interrupted."),
        ({"failed": True, "msg": "no space"}, "no space"),
        ({"failed": True}, "The copy has failed."),
        ({"unreachable": True}, "The data mover mover-1 could not be reached: it is unreachable."),
        ({"unreachable": True, "msg": "no route"}, "The data mover mover-1 could not be reached: no route."),
        (
            {"finished": 0},
            "The copy did not end within vm_backup_timeout. The session was ended, so that it does no harm.",
        ),
    ],
)
def test_a_copy_that_failed(copy: dict[str, Any] | None, message: str) -> None:
    times = {"started": 1.0, "opened": 3.0}
    item = {"vm": make_vm("a", 1), "mover": "mover-1", "why": "", "outcome": FULL, "volumes": [{}], **times}
    entry = judge_copy(item, copy, None, 10.0)
    assert (entry["outcome"], entry["error"]) == ("failed", message)
    assert judge_copy(item, copy, "The session remains.", 10.0)["error"] == f"{message} The session remains."
    assert (entry["seconds"], entry["session_seconds"]) == (9, 7)


def test_a_copy_that_succeeded() -> None:
    volume = {"reason": "the bitmap of the export", "bytes_read": 5, "bytes_written": 3, "verified": True}
    volume = {**volume, "bytes_verified": 4, "volume_uuid": "v1", "encrypted": False}
    left_out = {"volume_uuid": "v3", "name": "data-3", "reason": "it is shareable"}
    volumes = [volume, {**volume, "volume_uuid": "v2", "encrypted": True}]
    point = {"point": "20261127T021500Z", "mode": "incremental", "volumes": volumes, "left_out": [left_out]}
    kept = {"kept": ["b"], "kept_as_bases": ["a"], "deleted": ["c"], "problems": ["The point a cannot be read."]}
    copy = {"failed": False, "finished": 1, "point": point, **kept}
    item = {"vm": make_vm("a", 1), "mover": "mover-1", "why": "", "outcome": FULL, "volumes": [{}]}
    entry = judge_copy(item, copy, None, 10.0)
    assert (entry["outcome"], entry["why"], entry["verified"]) == ("incremental", "the bitmap of the export", True)
    assert (entry["bytes_read"], entry["bytes_written"], entry["point"]) == (10, 6, "20261127T021500Z")
    assert (entry["bytes_verified"], entry["left_out"]) == (8, ["data-3"])
    assert entry["notes"] == [
        "The volume data-3 is not in the point: it is shareable.",
        "The service encrypts the volume v2, and its copy is in plain text.",
        "The point a cannot be read.",
    ]
    assert f"note: a: {entry['notes'][1]}" in format_table([entry])
    assert (entry["kept"], entry["deleted"], entry["error"]) == (["a", "b"], ["c"], None)
    assert judge_copy(item, copy, "The session remains.", 10.0)["outcome"] == "failed"


@pytest.mark.parametrize(
    ("task", "is_running", "expected"),
    [
        ({"status": "Running"}, False, True),
        ({"status": "Starting"}, False, True),
        ({"status": "Stopped"}, True, False),
        ({"status": "Stopped", "scratch_volumes": ["s1"]}, False, True),
        ({"status": "Failed"}, True, True),
        # Nothing of it is left on a host when the VM does not run, and it could not be ended.
        ({"status": "Failed"}, False, False),
    ],
)
def test_whether_a_session_is_open(task: dict[str, Any], is_running: bool, expected: bool) -> None:
    assert has_session(task, is_running) is expected


def test_which_volumes_a_session_contains() -> None:
    copied = [{"type": kind, "status": "Ready", "size": 5} for kind in ("Root", "Data")]
    others = [
        {"type": "Data", "status": "Ready", "size": 7, "is_shareable": True},
        {"type": "Data", "status": "Creating", "size": 7},
        {"type": "Memory", "status": "Ready", "size": 7},
    ]
    vm = {"all_volumes": [*copied, *others]}
    assert list_copied(vm) == copied
    assert (sum_sizes(vm), sum_sizes({"all_volumes": None})) == (10, 0)


@pytest.mark.parametrize("path", ["backups", "./backups", "srv/backups"])
def test_a_repository_that_depends_on_the_folder_of_the_task(work: WorkflowRunner, path: str) -> None:
    """One answer, before the data movers are asked."""
    message = step(work, "select", repository=path).message
    assert message == f"vm_backup_repository must be an absolute path on the data mover, not {path}"
    restore = {"vm_backup_restore_vm": "vm-1", "vm_backup_restore_repository": path}
    message = work("vm_backup_restore", restore, step="select").message
    assert message == f"vm_backup_restore_repository must be an absolute path on the data mover, not {path}"


def test_a_mover_whose_python_fails(service: Simulator, work: WorkflowRunner) -> None:
    """Core says only that a module has returned no JSON."""
    broken = {
        "item": "m1",
        "failed": True,
        "msg": "Module failed: No start of json char found\nSee stdout/stderr for the returned output.",
        "module_stderr": "Traceback (most recent call last):\nImportError: libpython3.9.so: not found\n",
    }
    ran = step(work, "plan", {"movers": [broken], "taken": [broken]}, vms=["vm-1"])
    (entry,) = ran.result["next"]["entries"]
    reason = "its Python has failed: ImportError: libpython3.9.so: not found."
    assert entry["error"] == f"The data mover m1 cannot be used: {reason}"
