"""Which sessions the workflow vm_backup opens and ends, and which tasks it never touches."""

from __future__ import annotations

import json
import re
import subprocess
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.filter.report_table import format_table
from ansible_collections.virtinfra.manager.plugins.plugin_utils._run.owner import describe_owner
from ansible_collections.virtinfra.manager.plugins.plugin_utils._site.site import Site
from ansible_collections.virtinfra.manager.plugins.plugin_utils._vm_backups.hooks import describe_vm
from ansible_collections.virtinfra.manager.plugins.plugin_utils._vm_backups.mover_work import PATIENCE
from ansible_collections.virtinfra.manager.plugins.plugin_utils._vm_backups.plan import (
    AUTO,
    COMPARED,
    FULL,
    Choice,
    Mover,
    Space,
    VmCopy,
    assign_movers,
    choose_due,
    choose_mode,
    choose_share,
    get_volume_uuid,
    has_session,
    list_copied,
    list_ended,
    read_infos,
    replace_address,
    sum_sizes,
)
from ansible_collections.virtinfra.manager.plugins.plugin_utils._vm_backups.progress import (
    choose_pause,
    describe_progress,
    format_bytes,
    format_seconds,
)
from ansible_collections.virtinfra.manager.plugins.plugin_utils._vm_backups.report import judge_copy
from ansible_collections.virtinfra.manager.plugins.plugin_utils._vm_backups.repository_run import SILENCE
from ansible_collections.virtinfra.manager.plugins.plugin_utils._vm_backups.sessions import describe_remains
from ansible_collections.virtinfra.manager.plugins.plugin_utils._vm_backups.settings import MARK

from simulator.launch import Simulator
from support.backups import BackupRun, BackupRunner, FakeMover, make_point, make_result, make_volume
from support.module_runner import ModuleRunner
from support.workflow_runner import Killed, WorkflowRunner, is_killed

LOST = {"failed": True, "unreachable": True, "msg": "no route."}


@pytest.fixture
def service(sim: Simulator) -> Simulator:
    """A simulator with four running VMs on two hosts, without CBT tasks."""
    sim.reset(vms=4, cbt_tasks=0)
    hosts = sim.records("host")
    for number, vm in enumerate(sim.records("vm")):
        sim.change("vm", vm["uuid"], state="Running", hostUuid=hosts[number % 2]["uuid"])
    return sim


@pytest.fixture
def mover(tmp_path: Path) -> FakeMover:
    return FakeMover(tmp_path / "repository")


@pytest.fixture
def back_up(work: WorkflowRunner, mover: FakeMover) -> BackupRunner:
    return BackupRunner(work, mover)


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses of the workflow, which take no time."""
    found: list[float] = []
    now = 1000.0

    def pause(dummy: Site, seconds: float) -> None:
        found.append(seconds)

    monkeypatch.setattr(Site, "pause", pause)
    monkeypatch.setattr(Site, "get_time", lambda self: now + sum(found))
    return found


def statuses(service: Simulator) -> list[str]:
    """Return the statuses of all CBT tasks."""
    return [task["status"] for task in service.records("cbttask")]


def open_sessions(service: Simulator, *names: str, description: str = "") -> dict[str, str]:
    """Open sessions of VMs, as a run that was killed has left them, and return the uuids of the VMs by their names."""
    vms = {vm["name"]: vm["uuid"] for vm in service.records("vm")}
    for name in names:
        given = {"name": f"backup-{vms[name]}", "description": description or MARK, "vm": vms[name]}
        assert ModuleRunner(service)("cbt_task", {**given, "state": "enabled"}).changed
    return vms


def list_scratch_volumes(service: Simulator) -> list[str]:
    """Return the names of the scratch volumes that are not removed."""
    return [
        volume["name"]
        for volume in service.records("volume")
        if volume["name"].startswith("Cbt-volume-of-") and volume["status"] != "Deleted"
    ]


def test_a_session_from_its_plan_to_its_end(service: Simulator, back_up: BackupRunner, mover: FakeMover) -> None:
    ran = back_up()
    assert (ran.outcomes, ran.errors) == ([FULL] * 4, [None] * 4)
    calls = ["CreateCbtTask", "EnableCbtTask", "DisableCbtTask"]
    assert sorted(ran.calls) == sorted(calls * 4)
    assert (statuses(service), list_scratch_volumes(service)) == (["Stopped"] * 4, [])
    description = service.records("cbttask")[0]["description"]
    assert description == f"{MARK} It copies to {mover.repository} on localhost."
    assert {(entry["session_ended"], entry["verified"]) for entry in ran.entries.values()} == {(True, True)}
    # Each copy is one module, and what is known about all copies is one more in each turn.
    assert (mover.modules.count("backup_point"), "async_status" in mover.modules) == (4, False)
    assert list(mover.repository.rglob("*.json")) == []


def test_how_many_modules_run_on_a_mover(service: Simulator, back_up: BackupRunner, mover: FakeMover) -> None:
    """Each is a connection and a process. What many VMs need is in one."""
    service.reset(vms=6, cbt_tasks=0)
    hosts = service.records("host")
    for number, vm in enumerate(service.records("vm")):
        service.change("vm", vm["uuid"], state="Running", hostUuid=hosts[number % 3]["uuid"])
    # Two turns, in each of which the copies of VMs on three hosts are started.
    turn = [*["backup_point"] * 3, "backup_run"]
    taken, given_back = ["backup_run"] * 2, ["backup_run"]
    for outcome in (FULL, "incremental"):
        mover.modules.clear()
        mover.started.clear()
        ran = back_up()
        assert (ran.outcomes, mover.modules) == ([outcome] * 6, [*taken, *turn, *turn, *given_back])
        for vm in service.records("vm"):
            checkpoint = {"checkpoint": "bitmap-1", "point": "20261126T021500Z"}
            mover.points.append(make_point(vm["uuid"]))
            mover.checkpoints.append({"vm_uuid": vm["uuid"], **checkpoint})
    mover.modules.clear()
    back_up(check=True)
    assert mover.modules == taken


def test_the_checkpoint_of_the_repository_is_sent(service: Simulator, back_up: BackupRunner, mover: FakeMover) -> None:
    back_up(vms=["vm-1"])
    (copy,) = mover.started
    uuid, checkpoint = copy["vm"]["uuid"], copy["volumes"][0]["bitmap_name"]
    mover.points = [make_point(uuid)]
    mover.checkpoints = [{"vm_uuid": uuid, "checkpoint": checkpoint, "point": mover.points[0]["point"]}]
    predicted = back_up(check=True, vms=["vm-1"]).entries["vm-1"]
    assert (predicted["outcome"], predicted["why"]) == ("incremental", "the newest point is 20261126T021500Z")
    mover.started.clear()
    assert back_up(vms=["vm-1"]).outcomes == ["incremental"]
    (copy,) = mover.started
    assert (copy["mode"], copy["base_checkpoint"]) == (AUTO, checkpoint)
    assert {info["mode"] for info in copy["volumes"]} == {"incremental"}
    assert len(service.records("cbttask")) == 1


def test_what_a_copy_gets(service: Simulator, back_up: BackupRunner, mover: FakeMover) -> None:
    """The rate limit is that of all copies together, and a host may have another address."""
    variables: dict[str, Any] = {"compression": "zstd", "verify": "all", "min_free_percent": 5, "rate_limit": 90}
    hosts = {vm["hostUuid"]: "192.0.2.9" for vm in service.records("vm")}
    back_up(keep={"last": 3}, concurrency=3, host_address=hosts, **variables)
    for copy in mover.started:
        assert {**variables, "rate_limit": 30, "repository": str(mover.repository)}.items() <= copy.items()
        assert (copy["keep"]["last"], len(copy["run"])) == (3, 36)
        assert {info["nbd_server"] for info in copy["volumes"]} == {"192.0.2.9"}
    mover.started.clear()
    back_up(vms=["vm-1"], concurrency=3, rate_limit=90)
    assert [copy["rate_limit"] for copy in mover.started] == [90]


def test_leftovers_are_ended_first(service: Simulator, back_up: BackupRunner) -> None:
    open_sessions(service, "vm-1", "vm-2")
    predicted = back_up(check=True, state="ended")
    ended = back_up(state="ended")
    assert (predicted.calls, ended.calls) == ([], ["DisableCbtTask"] * 2)
    assert (predicted.last.report, predicted.is_changed) == (ended.last.report, True)
    assert {name: entry["outcome"] for name, entry in ended.entries.items()} == {
        **dict.fromkeys(("vm-1", "vm-2"), "ended"),
        **dict.fromkeys(("vm-3", "vm-4"), "unchanged"),
    }
    assert (statuses(service), list_scratch_volumes(service)) == (["Stopped"] * 2, [])
    again = back_up(state="ended", repository=None)
    assert (again.calls, again.is_changed, again.outcomes) == ([], False, ["unchanged"] * 4)


def describe_tasks(service: Simulator) -> set[tuple[str, str]]:
    """Return the status and the repository of all CBT tasks."""
    found = ((task["status"], task["description"].rpartition(" copies to ")[2]) for task in service.records("cbttask"))
    return {*found}


def test_two_repositories_at_once(service: Simulator, work: WorkflowRunner, tmp_path: Path) -> None:
    """The second run is refused and names the first, also if that began after its plan, and ends nothing of it."""
    first = f"{MARK} It copies to /srv/a on m1, m2."
    name = "A run that copies to /srv/a on m1, m2 has a backup session of the VM"
    mover = FakeMover(tmp_path / "b", "m1")
    back_up = BackupRunner(work, mover)
    later: list[dict[str, str]] = []

    def begin(module: str) -> None:
        if mover.modules.count("backup_run") == 3 and not later:
            later.append(open_sessions(service, "vm-1", description=first))

    # The larger VM waits for the other one.
    service.change("volume", service.records("vm")[2]["rootVolumeUuid"], size=1 << 20)
    mover.on_run = begin
    errors = [str(back_up(vms=["vm-1", "vm-3"], concurrency=1).entries["vm-1"]["error"])]
    mover.started.clear()
    before = service.state()
    errors += [str(back_up(check, vms=["vm-1"]).errors[0]) for check in (True, False)]
    assert ([name in error for error in errors], later != []) == ([True] * 3, True)
    assert (service.state(), mover.started) == (before, [])
    # The same folder on another data mover is another repository; a mover in common means that the runs see each other.
    for folder, movers, is_other in (("a", ["m3"], True), ("a", ["m2", "m3"], False), ("a/", ["m1"], False)):
        description = first.replace("/srv/a", str(tmp_path / "a"))
        is_open = next(task for task in service.records("cbttask") if task["status"] == "Running")
        service.change("cbttask", is_open["uuid"], description=description)
        run = BackupRunner(work, *(FakeMover(tmp_path / f"of-{each}", each) for each in movers))
        (tmp_path / "a").mkdir(exist_ok=True)
        predicted = run(check=True, vms=["vm-1"], repository=f"{tmp_path}/{folder}", state="ended")
        error = str(predicted.errors[0])
        assert ("A run that copies to" in error) == is_other, error
    # A person ends the session of a run that was killed.
    assert back_up(vms=["vm-1"], state="ended", repository=None).calls == ["DisableCbtTask"]


def test_two_repositories_in_turn(service: Simulator, work: WorkflowRunner, tmp_path: Path) -> None:
    """The CBT task names the one that uses it, so it is made again."""
    for name in ("a", "b", "b"):
        mover = FakeMover(tmp_path / name)
        assert BackupRunner(work, mover)(vms=["vm-1"]).outcomes == [FULL]
        assert describe_tasks(service) == {("Stopped", f"{mover.repository} on localhost.")}
        assert list_scratch_volumes(service) == []


def test_a_volume_that_is_attached_after_the_plan(service: Simulator, back_up: BackupRunner, mover: FakeMover) -> None:
    """The manifest gets the VM as it is when its session opens."""
    volume = service.records("vm")[0]["allVolumes"][-1]

    def change(dummy: str) -> None:
        if mover.modules.count("backup_run") == 2:
            service.change("volume", volume["uuid"], isShareable=True)

    mover.on_run = change
    back_up(vms=["vm-1"])
    volumes = {volume["uuid"]: volume for volume in mover.started[0]["vm"]["all_volumes"]}
    assert volumes[volume["uuid"]]["is_shareable"] is True


def test_volumes_that_are_no_records(service: Simulator, back_up: BackupRunner) -> None:
    service.fault("garbage", operation="QueryVolume", garbage="types", count=None)
    ended = back_up(state="ended")
    assert ended.last.result["failed_count"] == 0
    assert any("QueryVolume" in warning for warning in ended.warnings)


def test_tasks_of_other_products_stay(service: Simulator, back_up: BackupRunner) -> None:
    """Neither the prefix nor the description alone shows that the role has made a CBT task."""
    open_sessions(service, "vm-1", "vm-2", "vm-3")
    tasks = service.records("cbttask")
    service.change("cbttask", tasks[0]["uuid"], description="nightly")
    service.change("cbttask", tasks[1]["uuid"], name="other-product")
    before = service.state()
    predicted = back_up(check=True, vms=["vm-1", "vm-2", "vm-3"]).entries
    assert {name: entry["outcome"] for name, entry in predicted.items()} == {
        "vm-1": "failed",
        "vm-2": "failed",
        "vm-3": FULL,
    }
    assert service.state() == before
    ran = back_up(vms=["vm-1", "vm-2", "vm-3"])
    assert ran.calls == ["DisableCbtTask", "EnableCbtTask", "DisableCbtTask"]
    assert statuses(service) == ["Running", "Running", "Stopped"]
    assert "which the role has not created" in ran.entries["vm-1"]["error"]


def test_a_vm_that_stopped_meanwhile_gets_a_sentence(
    service: Simulator, back_up: BackupRunner, mover: FakeMover
) -> None:
    vm = service.records("vm")[0]["uuid"]
    mover.on_start = lambda dummy: service.change("vm", vm, state="Stopped")
    entry = back_up(vms=["vm-1"]).entries["vm-1"]
    assert (entry["outcome"], entry["session_ended"]) == ("failed", False)
    for part in ("could not be ended", "the scratch volumes", "remain", "When the VM runs, run the role again"):
        assert part in entry["error"]
    assert back_up(vms=["vm-1"]).outcomes == ["failed"]
    service.change("vm", vm, state="Running")
    assert back_up(vms=["vm-1"], state="ended").calls == ["DisableCbtTask"]
    assert list_scratch_volumes(service) == []


def test_a_session_that_cannot_be_opened_is_cleaned_up_at_once(
    service: Simulator, back_up: BackupRunner, mover: FakeMover
) -> None:
    """Before the copies of other VMs have ended."""
    service.fault("fail", operation="EnableCbtTask", error={"code": "SYS.1006", "details": "a migration is going on"})
    ran = back_up(concurrency=2, per_host=2)
    (error,) = filter(None, ran.errors)
    assert ("a migration is going on" in error, sorted(ran.outcomes)) == (True, ["failed", FULL, FULL, FULL])
    assert (len(mover.started), statuses(service)) == (3, ["Stopped"] * 4)


def test_a_task_that_was_created_is_a_change_though_its_session_failed(
    service: Simulator, back_up: BackupRunner
) -> None:
    service.fault("session_expiry", operation="EnableCbtTask")
    ran = back_up(vms=["vm-1"])
    assert (ran.calls[0], ran.is_changed, ran.outcomes) == ("CreateCbtTask", True, ["failed"])


def test_a_session_that_somebody_else_has_ended(service: Simulator, back_up: BackupRunner, mover: FakeMover) -> None:
    """The copy is judged as usual."""

    def end(dummy: Any) -> None:
        task = service.records("cbttask")[0]["uuid"]
        ModuleRunner(service)("cbt_task", {"uuid": task, "state": "disabled"})

    mover.on_start = end
    ran = back_up(vms=["vm-1"])
    assert (ran.outcomes, ran.errors, statuses(service)) == ([FULL], [None], ["Stopped"])


def shrink_storages(service: Simulator) -> None:
    """Let the storages have as little free space as the role keeps free."""
    for storage in service.records("primarystorage"):
        service.change("primarystorage", storage["uuid"], availableCapacity=storage["totalCapacity"] // 10)


def test_no_session_opens_without_room_for_its_scratch_volumes(service: Simulator, back_up: BackupRunner) -> None:
    shrink_storages(service)
    predicted, ran = back_up(check=True), back_up(per_host=4)
    assert (statuses(service), ran.calls) == ([], [])
    for error in (*predicted.errors, *ran.errors):
        assert "too little space for the scratch volumes" in str(error)
    assert len(predicted.errors) == len(ran.errors) == 4


def test_a_vm_waits_for_the_space_that_others_give_back(
    service: Simulator, back_up: BackupRunner, mover: FakeMover, pauses: list[float]
) -> None:
    """If there is room for the scratch volumes of one VM, the VMs are copied one after the other."""
    for volume in service.records("volume"):
        service.change("volume", volume["uuid"], size=1 << 30)
    for storage in service.records("primarystorage"):
        free = storage["totalCapacity"] // 10 + (2 << 30)
        service.change("primarystorage", storage["uuid"], availableCapacity=free)
    mover.results = {"vm-1": None}
    mover.on_run = lambda dummy: mover.results.clear() if pauses else None
    open_at_start: list[int] = []
    mover.on_start = lambda dummy: open_at_start.append(statuses(service).count("Running"))
    ran = back_up(vms=["vm-1", "vm-3"], concurrency=2, per_host=2)
    assert (ran.outcomes, open_at_start, pauses) == ([FULL] * 2, [1] * 2, [1])


def test_the_copy_that_ends_first_has_its_session_ended_first(
    service: Simulator, back_up: BackupRunner, mover: FakeMover, pauses: list[float]
) -> None:
    """The next session opens in its place, and those whose copies run stay open. A pause is half of what is left."""
    slow = service.records("vm")[0]
    mover.results = {"vm-1": None}
    progress = {"step": "copy", "volume_uuid": "v", "bytes_done": 1, "bytes_total": 2, "bytes_per_second": 1}
    mover.running = [{**progress, "vm_uuid": slow["uuid"], "seconds_left": 10}]
    open_at_start: list[int] = []
    mover.on_start = lambda dummy: open_at_start.append(statuses(service).count("Running"))

    def end(dummy: str) -> None:
        if pauses:
            mover.results.clear()

    mover.on_run = end
    ran = back_up(concurrency=2, per_host=2)
    assert ([entry["vm"] for entry in ran.last.report][-1], ran.outcomes) == ("vm-1", [FULL] * 4)
    assert (pauses, max(open_at_start)) == ([5], 2)


def test_a_mover_that_is_lost_while_it_copies(
    service: Simulator, back_up: BackupRunner, mover: FakeMover, pauses: list[float]
) -> None:
    """Its sessions are ended after a while, in which its connection may come back, and no others are opened."""
    mover.on_start = lambda dummy: setattr(mover, "failure", LOST)
    ran = back_up(concurrency=1)
    lost, *others = map(str, ran.errors)
    assert lost == f"The data mover localhost could not be reached for {sum(pauses):.0f} s."
    assert others == ["The data mover localhost cannot be reached any more. No session was opened."] * 3
    assert (statuses(service), len(mover.started), sum(pauses) > 120) == (["Stopped"], 1, True)
    # The pauses grow with the silence.
    assert (len(pauses) < 50, max(pauses) > 10) == (True, True)


def test_a_connection_that_comes_back(
    service: Simulator, back_up: BackupRunner, mover: FakeMover, pauses: list[float]
) -> None:
    """The result of a copy that has ended meanwhile is there. While it is gone, no session opens."""
    mover.on_start = lambda dummy: setattr(mover, "failure", None if pauses else LOST)

    def come_back(dummy: str) -> None:
        if mover.failure and len(pauses) == 3:
            assert len(mover.started) == 1
            mover.failure = None

    mover.on_run = come_back
    ran = back_up(concurrency=1)
    assert (ran.outcomes, ran.errors) == ([FULL] * 4, [None] * 4)


def test_a_copy_that_ended_during_a_long_loss_is_found(
    service: Simulator, back_up: BackupRunner, mover: FakeMover, pauses: list[float]
) -> None:
    """Its point is in the repository, and has the checkpoints of the session."""

    def lose(copy: dict[str, Any]) -> None:
        mover.failure = LOST
        volumes = [make_volume(info["volume"]["volume_uuid"], info["bitmap_name"]) for info in copy["volumes"]]
        old = [make_volume(info["volume"]["volume_uuid"], "earlier") for info in copy["volumes"]]
        uuid = copy["vm"]["uuid"]
        mover.points = [make_point(uuid, "20261101T000000Z", volumes=old), make_point(uuid, volumes=volumes)]

    late: list[str] = []

    def come_back(module: str) -> None:
        if sum(pauses) > PATIENCE:
            late.append(module)
            mover.failure = LOST if len(late) == 1 else None

    mover.on_start, mover.on_run = lose, come_back
    ran = back_up(vms=["vm-1"])
    entry = ran.entries["vm-1"]
    assert (entry["outcome"], entry["point"], entry["error"]) == (FULL, "20261126T021500Z", None)


@pytest.mark.parametrize("looked", [{}, {"failed": True, "msg": "Killed"}])
def test_a_copy_without_a_result(
    service: Simulator,
    back_up: BackupRunner,
    mover: FakeMover,
    pauses: list[float],
    monkeypatch: pytest.MonkeyPatch,
    looked: dict[str, Any],
) -> None:
    """Its job is asked for. If the data mover does not end a copy, its session is ended after vm_backup_timeout."""
    mover.results = {"vm-1": None}
    monkeypatch.setattr(FakeMover, "look", lambda *dummy: looked)
    entry = back_up(vms=["vm-1"], timeout=30).entries["vm-1"]
    late = "The copy did not end within vm_backup_timeout. The session was ended, so that it does no harm."
    assert (entry["error"], entry["session_ended"], statuses(service)) == (looked.get("msg", late), True, ["Stopped"])
    assert (sum(pauses) > 90) == (not looked)


def test_a_copy_that_does_not_start(
    service: Simulator, back_up: BackupRunner, mover: FakeMover, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakeMover, "start", lambda *dummy: {"failed": True, "msg": "no room for a job."})
    assert back_up(vms=["vm-1"]).errors == ["The copy could not be started on localhost: no room for a job."]
    assert statuses(service) == ["Stopped"]


def test_a_run_shows_that_it_works_while_the_service_does(
    service: Simulator, back_up: BackupRunner, mover: FakeMover, pauses: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Copies end that do not hear of their run, and other runs take its VMs."""
    batch, beats = Site.batch, list[int]()

    def work_for_long(self: Site, *arguments: Any, **common: Any) -> Any:
        self.pause(60)
        self.meanwhile()
        beats.append(mover.modules.count("backup_run"))
        return batch(self, *arguments, **common)

    monkeypatch.setattr(Site, "batch", work_for_long)
    assert back_up(vms=["vm-1"]).outcomes == [FULL]
    # The first batch ends what earlier runs left, after the VMs were taken twice: for all movers, and for this one.
    assert (len(beats) > 3, beats[0], beats) == (True, 3, sorted({*beats}))


@pytest.mark.parametrize(
    ("left", "expected"),
    [(None, 1), (0, 1), (20, 10), (7200, 30)],
)
def test_when_a_copy_is_looked_at_again(left: int | None, expected: float) -> None:
    assert choose_pause({"seconds_left": left}) == expected
    assert choose_pause(None) == 1


def test_the_line_about_a_copy() -> None:
    progress = {"step": "verify", "volume_uuid": "v1", "bytes_done": 3 << 29, "bytes_total": 6 << 30}
    known = {**progress, "bytes_per_second": 120 << 20, "seconds_left": 3725}
    line = "vm-1: verify of volume v1: 25% of 6.0 GiB, 120.0 MiB/s, 1 h 2 min 5 s left"
    assert describe_progress({"name": "vm-1"}, known) == line
    assert describe_progress({"name": "vm-1"}, None) == "vm-1: no volume at the moment"
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


def test_no_session_opens_without_room_in_the_repository(service: Simulator, back_up: BackupRunner) -> None:
    ran = back_up(min_free_percent=51)
    assert (ran.calls, len(ran.errors)) == ([], 4)
    for error in ran.errors:
        assert "The repository on the data mover localhost has too little space" in str(error)


def test_check_mode_predicts_and_writes_nothing(service: Simulator, back_up: BackupRunner, mover: FakeMover) -> None:
    predicted = back_up(check=True)
    assert (predicted.calls, predicted.is_changed, predicted.outcomes) == ([], True, [FULL] * 4)
    assert (mover.started, list(mover.repository.rglob("*.json"))) == ([], [])
    reads = predicted.ran[2].reads
    assert len(reads) == len({*reads})


def test_a_first_run_makes_the_repository(service: Simulator, back_up: BackupRunner, mover: FakeMover) -> None:
    """A first run makes it, even after a run that has ended without giving its VMs back."""
    (mover.repository / "repository.txt").unlink()
    assert all("is not a repository" in str(error) for error in back_up().errors)
    assert back_up(check=True, initialize=True).outcomes == [FULL] * 4
    assert back_up(initialize=True).outcomes == [FULL] * 4
    assert any("is a repository already" in warning for warning in back_up(initialize=True).warnings)


def test_a_vm_that_cannot_be_copied_in_its_state(service: Simulator, back_up: BackupRunner) -> None:
    """A VM that a query selects is skipped, a VM that is named fails the run. Nothing has changed."""
    uuid = service.records("vm")[0]["uuid"]
    for state, stopped, reason in (
        ("Stopped", False, "The VM is Stopped. A copy needs a running VM: vm_backup_stopped is false."),
        ("Paused", True, "The VM is Paused. A copy needs a VM that runs or is stopped."),
    ):
        service.change("vm", uuid, state=state)
        ran = back_up(stopped=stopped)
        entry = ran.entries["vm-1"]
        assert (entry["outcome"], ran.outcomes.count(FULL)) == ("skipped", 3)
        assert entry["error"] == entry["why"] == reason
        for check in (True, False):
            for variables, outcome in (({"query": ["name=vm-1"]}, "skipped"), ({"query": [], "vms": [uuid]}, "failed")):
                alone = back_up(check, stopped=stopped, **variables)
                assert (alone.outcomes, alone.errors, alone.is_changed) == ([outcome], [reason], False)


def stop_vm(service: Simulator, name: str = "vm-1") -> str:
    """Stop a VM, and return its uuid."""
    uuid = next(str(vm["uuid"]) for vm in service.records("vm") if vm["name"] == name)
    service.change("vm", uuid, state="Stopped")
    return uuid


def list_marks(service: Simulator) -> list[str]:
    """Return the marks of objects."""
    return [tag["tag"] for tag in service.records("usertag") if tag["tag"].startswith("virtinfra.manager ")]


def ask(mover: FakeMover, uuid: str) -> None:
    """Let the copy of a VM ask whether it becomes a point, and be one if that is decided."""
    mover.results = {"vm-1": None}
    mover.on_start = lambda dummy: mover.running.append({**PROGRESS, "step": "decision", "vm_uuid": uuid})

    def decide(dummy: str) -> None:
        if (decided := read_decision(mover)) is not None:
            mover.running.clear()
            mover.results = {} if decided else {"vm-1": {"failed": True, "msg": "the VM has changed"}}

    mover.on_run = decide


PROGRESS = {"volume_uuid": None, "bytes_done": 0, "bytes_total": 0, "bytes_per_second": 0, "seconds_left": None}


def read_decision(mover: FakeMover) -> bool | None:
    """Return what a run has decided about a copy, None if nothing."""
    found = list(mover.repository.glob(".runs/*.jobs/*.decision"))
    return bool(json.loads(found[0].read_text(encoding="utf-8"))) if found else None


def test_a_stopped_vm_is_copied_through_exports(service: Simulator, back_up: BackupRunner, mover: FakeMover) -> None:
    """The VM is marked during the copy, which becomes a point if the VM was not started."""
    uuid = stop_vm(service)
    predicted = back_up(check=True, vms=["vm-1"])
    assert (predicted.outcomes, predicted.calls) == ([FULL], [])
    ask(mover, uuid)
    marks: list[list[str]] = []
    started = mover.on_start

    def start(copy: dict[str, Any]) -> None:
        started(copy)
        marks.append(list_marks(service))

    mover.on_start = start
    ran = back_up(vms=["vm-1"])
    assert (ran.outcomes, ran.errors, marks) == ([FULL], [None], [["virtinfra.manager vm_backup copy exported"]])
    (copy,) = mover.started
    assert (copy["ask"], copy["mode"], copy["base_checkpoint"]) == (True, FULL, None)
    assert [call for call in ran.calls if "Tag" not in call] == ["ExportNbdVolumes", "UnexportNbdVolumes"]
    assert (list_marks(service), any(service.state()["exported"].values())) == ([], False)
    mover.points = [make_point(uuid)]
    assert back_up(check=True, vms=["vm-1"]).outcomes == [COMPARED]


def test_check_mode_of_a_stopped_vm_predicts_each_point(
    service: Simulator, back_up: BackupRunner, mover: FakeMover
) -> None:
    """Each run makes one, also of a VM that has not changed, but none of a VM that a restore has marked."""
    uuid = stop_vm(service)
    ask(mover, uuid)
    for outcome in (FULL, COMPARED, COMPARED):
        predicted, ran = back_up(check=True, vms=["vm-1"]), back_up(vms=["vm-1"])
        assert [(run.outcomes, run.is_changed) for run in (predicted, ran)] == [([outcome], True)] * 2
        (point,) = [entry["point"] for entry in ran.last.report]
        mover.points.append(make_point(uuid, point))
    given = {"resourceType": "VmInstanceVO", "resourceUuid": uuid}
    tag = {**given, "tag": "virtinfra.manager vm_backup_restore 20261127t021500z stopped writing"}
    assert ModuleRunner(service)("api", {"operation": "CreateUserTag", "params": tag}).changed
    predicted, ran = back_up(check=True, vms=["vm-1"]), back_up(vms=["vm-1"])
    assert "A restore writes into the VM, or was interrupted" in str(ran.errors[0])
    assert (predicted.errors, predicted.outcomes, predicted.is_changed) == (ran.errors, ["failed"], False)


@pytest.mark.parametrize("is_short", [True, False])
def test_a_stopped_vm_that_is_started_meanwhile(
    service: Simulator, back_up: BackupRunner, mover: FakeMover, is_short: bool
) -> None:
    """No point is made of the VM, even if it has been stopped again."""
    uuid = stop_vm(service)
    ask(mover, uuid)
    started = mover.on_start

    def start(copy: dict[str, Any]) -> None:
        started(copy)
        service.change("vm", uuid, state="Running")
        if is_short:
            service.change("vm", uuid, state="Stopped", lastOpDate="Nov 27, 2030 8:00:00 AM")

    mover.on_start = start
    ran = back_up(vms=["vm-1"])
    assert "The VM was started, or changed, while it was copied" in str(ran.errors[0])
    assert (ran.outcomes, list_marks(service)) == (["failed"], [])
    assert not any(service.state()["exported"].values())


def test_exports_that_a_killed_run_left(service: Simulator, work: WorkflowRunner, mover: FakeMover) -> None:
    """The mark says which they are. Exports of a restore, and of others, stay."""
    uuid = stop_vm(service)
    killed = WorkflowRunner(service, 1000)

    def kill(dummy: Any) -> None:
        killed.sent = 1000
        raise Killed

    mover.on_start = kill
    assert is_killed(lambda: BackupRunner(killed, mover)(vms=["vm-1"]))
    assert any(service.state()["exported"].values())
    assert list_marks(service) == ["virtinfra.manager vm_backup copy exported"]
    ended = BackupRunner(work, FakeMover(mover.repository))(vms=["vm-1"], state="ended", repository=None)
    assert (ended.outcomes, list_marks(service)) == (["ended"], [])
    assert not any(service.state()["exported"].values())
    volumes = [volume["uuid"] for volume in service.records("vm")[0]["allVolumes"]]
    ModuleRunner(service)("cbt_volume_export", {"vm": uuid, "volumes": volumes})
    other = BackupRunner(work, FakeMover(mover.repository))(vms=["vm-1"])
    assert "The volumes could not be exported" in str(other.errors[0])
    assert (list_marks(service), any(service.state()["exported"].values())) == ([], True)


# What freezes a guest here, and thaws it: the description of its VM shows it. The second is called by its path.
HOOKS: dict[str, Any] = {
    "before": {"operation": "UpdateVmInstance", "params": {"uuid": "{vm_uuid}", "description": "frozen"}},
    "after": {
        "method": "PUT",
        "path": "v1/vm-instances/{vm_uuid}/actions",
        "body_key": "updateVmInstance",
        "params": {"description": "thawed"},
    },
}


def read_guests(service: Simulator) -> list[str]:
    """Return the descriptions of the first two VMs."""
    return [str(vm["description"]) for vm in service.records("vm")[:2]]


def list_hooked(ran: BackupRun) -> list[str]:
    """Return the calls of a run without those of marks."""
    return [call for call in ran.calls if "Tag" not in call]


def test_a_guest_is_frozen_while_its_session_opens(service: Simulator, back_up: BackupRunner, mover: FakeMover) -> None:
    """Each for its own session only, and it is thawed before the copy begins."""
    given = {**HOOKS, "vms": ["vm-1", "vm-2"], "per_host": 2}
    before = service.state()
    assert (back_up(check=True, **given).outcomes, service.state()) == ([FULL] * 2, before)
    guests: list[list[str]] = []
    mover.on_start = lambda dummy: guests.append(read_guests(service))
    ran = back_up(**given)
    assert (ran.outcomes, ran.errors, list_marks(service)) == ([FULL] * 2, [None] * 2, [])
    session = ["UpdateVmInstance", "CreateCbtTask", "EnableCbtTask", "UpdateVmInstance"]
    assert list_hooked(ran) == [*session * 2, *["DisableCbtTask"] * 2]
    assert guests == [["thawed"] * 2] * 2
    stop_vm(service)
    assert "UpdateVmInstance" not in back_up(**{**given, "vms": ["vm-1"]}).calls


@pytest.mark.parametrize(
    ("operation", "error", "calls"),
    [
        ("UpdateVmInstance", "vm_backup_before has failed, so no session was opened: ", ["UpdateVmInstance"] * 2),
        ("EnableCbtTask", "", ["UpdateVmInstance", "CreateCbtTask", "EnableCbtTask", "UpdateVmInstance"]),
    ],
)
def test_a_guest_is_thawed_whatever_fails(
    service: Simulator, back_up: BackupRunner, mover: FakeMover, operation: str, error: str, calls: list[str]
) -> None:
    service.fault("fail", operation=operation, error={"code": "SYS.1006", "details": "the guest is busy"})
    ran = back_up(vms=["vm-1"], **HOOKS)
    assert (ran.outcomes, list_hooked(ran)[: len(calls)], mover.started) == (["failed"], calls, [])
    assert str(ran.errors[0]).startswith(error)
    assert "the guest is busy" in str(ran.errors[0])
    assert (read_guests(service)[0], list_marks(service)) == ("thawed", [])


@pytest.mark.parametrize("is_for_good", [False, True])
def test_a_guest_that_is_not_thawed_is_a_failure(
    service: Simulator, back_up: BackupRunner, mover: FakeMover, is_for_good: bool
) -> None:
    """The point is made, and the next run tries again, also one that only ends what was left."""

    def end(dummy: Any) -> None:
        if not is_for_good:
            service.clear_faults()

    mover.on_start = end
    service.fault("fail", operation="UpdateVmInstance", count=None, error={"code": "SYS.1006", "details": "busy"})
    service.change("vm", service.records("vm")[0]["uuid"], description="frozen")
    hooks = {**HOOKS, "before": {"operation": "QueryVmInstance"}}
    entry = back_up(vms=["vm-1"], **hooks).entries["vm-1"]
    wanted = (
        "vm_backup_after has failed, so" if is_for_good else "vm_backup_after has failed when the session had opened"
    )
    assert (entry["outcome"], entry["point"]) == ("failed", "20261127T021500Z")
    assert wanted in entry["error"]
    marks = ["virtinfra.manager vm_backup hook before"] if is_for_good else []
    assert (list_marks(service), read_guests(service)[0]) == (marks, "frozen" if is_for_good else "thawed")
    if is_for_good:
        ended = back_up(vms=["vm-1"], state="ended", **hooks)
        assert "which an earlier run has not called, has failed" in str(ended.errors[0])
        # A guest that has gone on by itself still gets points.
        again = back_up(vms=["vm-1"], **hooks)
        assert any("which an earlier run has not called, has failed" in warning for warning in again.warnings)
        service.clear_faults()
        ended = back_up(vms=["vm-1"], state="ended", **hooks)
        assert (ended.outcomes, list_marks(service), read_guests(service)[0]) == (["ended"], [], "thawed")


class Interrupted(WorkflowRunner):
    """A runner that gets Ctrl-C at one request."""

    def __init__(self, sim: Simulator, number: int) -> None:
        super().__init__(sim)
        self.number = number

    def _check_life(self) -> None:
        self.sent += 1
        if self.sent == self.number:
            raise KeyboardInterrupt


@pytest.mark.usefixtures("pauses")
def test_no_guest_stays_frozen_after_ctrl_c(service: Simulator, tmp_path: Path) -> None:
    """Whenever it comes."""
    number, is_over = 9, False
    while not is_over:
        number += 3
        service.change("vm", service.records("vm")[0]["uuid"], description="")
        run = Interrupted(service, number)
        with suppress(KeyboardInterrupt):
            BackupRunner(run, FakeMover(tmp_path / str(number)))(vms=["vm-1"], **HOOKS)
        assert (read_guests(service)[0] in ("", "thawed"), number) == (True, number)
        is_over = run.sent < number
    assert read_guests(service)[0] == "thawed"


@pytest.mark.usefixtures("pauses")
def test_no_guest_stays_frozen_after_a_kill(service: Simulator, work: WorkflowRunner, tmp_path: Path) -> None:
    """The next run thaws it, wherever the controller was killed."""
    seen, was_killed, number = set[str](), True, 10
    while was_killed:
        mover = FakeMover(tmp_path / str(number))
        was_killed = is_killed(partial(BackupRunner(WorkflowRunner(service, number), mover), vms=["vm-1"], **HOOKS))
        seen.add(read_guests(service)[0])
        ended = BackupRunner(work, mover)(vms=["vm-1"], state="ended", repository=None, **HOOKS)
        assert (ended.errors, list_marks(service)) == ([None], [])
        assert (read_guests(service)[0] != "frozen", number) == (True, number)
        number += 3
    assert seen == {"guest 1", "frozen", "thawed"}


def test_what_a_hook_needs(service: Simulator, back_up: BackupRunner) -> None:
    """A guest that could not be thawed is not frozen."""
    alone = back_up(vms=["vm-1"], after=HOOKS["after"])
    assert "vm_backup_after is called after vm_backup_before" in alone.last.message
    after = {"operation": "MigrateVm", "params": {"uuid": "{vm_uuid}", "hostUuid": "gone"}}
    given = {**HOOKS, "vms": ["vm-1"], "after": after}
    predicted, ran = back_up(check=True, **given), back_up(**given)
    assert (predicted.outcomes, ran.outcomes, ran.calls) == (["failed"], ["failed"], [])
    assert "vm_backup_after is refused" in str(ran.errors[0])


@pytest.mark.parametrize("name", ["before", "after"])
@pytest.mark.parametrize(
    ("hook", "message"),
    [
        ({"operation": "FreezeVm"}, "is refused: no operation FreezeVm."),
        (
            {"operation": "PauseVmInstance"},
            'is refused: PauseVmInstance needs uuid. Add params: {uuid: "{vm_uuid}"}, for the uuid of each VM',
        ),
        ({"operation": "UpdateVmInstance", "params": {"vmm": "{vm_uuid}"}}, "is refused: UpdateVmInstance has no"),
    ],
)
def test_operations_that_do_not_exist_are_refused_at_once(
    service: Simulator, back_up: BackupRunner, name: str, hook: dict[str, Any], message: str
) -> None:
    """They were refused at the turn of a running VM, so a night with stopped VMs was green."""
    service.change("vm", service.records("vm")[0]["uuid"], state="Stopped")
    ran = back_up(vms=["vm-1"], **{**HOOKS, name: hook})
    assert ran.last.message.startswith(f"vm_backup_{name} {message}")
    assert (len(ran.ran), ran.calls) == (1, [])


@pytest.mark.usefixtures("service")
def test_no_summary_counts_a_session_that_was_never_opened(back_up: BackupRunner) -> None:
    """It said that one was ended."""
    ran = back_up(vms=["vm-9"], query=[])
    lines = [line.split() for line in format_table(ran.last.report)]
    assert ["no", "session", "open", "1"] in lines
    assert not any("ended" in line for line in lines)


def test_a_freeze_without_a_thaw(service: Simulator, back_up: BackupRunner) -> None:
    for hooks in (HOOKS, COMMANDS):
        alone = back_up(vms=["vm-1"], before=hooks["before"])
        (warning,) = [each for each in alone.ran[0].warnings if "vm_backup_after" in each]
        assert warning.startswith("vm_backup_before is given without vm_backup_after, so what it begins, such as a")
        both = back_up(vms=["vm-1"], **hooks)
        assert not any("vm_backup_after" in each for each in both.ran[0].warnings)


# The same with commands on the data mover.
HOOK_STEPS = [("before", "freeze"), ("after", "thaw")]
COMMANDS: dict[str, Any] = {hook: {"command": ["guest", step]} for hook, step in HOOK_STEPS}


def list_steps(mover: FakeMover) -> list[str]:
    """Return what the commands that ran do."""
    return [command[-1] for command, dummy in mover.commands]


def test_commands_around_the_moment_of_a_point(service: Simulator, back_up: BackupRunner, mover: FakeMover) -> None:
    """They run on the mover before the session opens and while it is open, with the VM in their environment."""
    vm = service.records("vm")[0]
    service.change("vm", vm["uuid"], name="vm-\x00 {{ x }}")
    predicted = back_up(check=True, query=[f"uuid={vm['uuid']}"], **COMMANDS)
    notes = [f"vm_backup_{hook} would run on localhost: guest {step}." for hook, step in HOOK_STEPS]
    assert ([entry["notes"] for entry in predicted.last.report], mover.commands) == ([notes], [])
    sessions: list[list[str]] = []

    def see(dummy: Any) -> dict[str, Any]:
        sessions.append(statuses(service))
        return {"rc": 0}

    mover.on_command = see
    ran = back_up(query=[f"uuid={vm['uuid']}"], **COMMANDS)
    assert (ran.outcomes, ran.errors, [entry["notes"] for entry in ran.last.report]) == ([FULL], [None], [[]])
    assert (list_steps(mover), sessions, list_marks(service)) == (["freeze", "thaw"], [[], ["Running"]], [])
    assert {command[:4] == ["timeout", "-k", "10", "60"] for command, dummy in mover.commands} == {True}
    known = {"UUID": vm["uuid"], "NAME": "vm- {{ x }}", "ADDRESSES": vm["vmNics"][0]["ip"]}
    assert [environment for dummy, environment in mover.commands] == [
        {f"VIRTINFRA_VM_{name}": value for name, value in known.items()}
    ] * 2


def test_the_environment_of_a_command() -> None:
    """It can contain neither NUL nor half of a surrogate pair."""
    vm = {"uuid": "u", "name": "a\x00\ud800\n", "vm_nics": [{"ip": "10.0.0.1"}, {"ip": None}, {"ip": "fe80::1"}]}
    known = {"UUID": "u", "NAME": "a?\n", "ADDRESSES": "10.0.0.1 fe80::1"}
    assert describe_vm(vm) == {f"VIRTINFRA_VM_{name}": value for name, value in known.items()}
    assert describe_vm({**vm, "vm_nics": None})["VIRTINFRA_VM_ADDRESSES"] == ""


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        ({"rc": 1, "failed": True, "stderr": "first\nno agent\n"}, "The command has ended with the status 1: no agent"),
        ({"rc": 2, "failed": True, "stderr": "", "stdout": ""}, "The command has ended with the status 2."),
        ({"rc": 124, "failed": True}, "The command did not end within 60 s."),
        (LOST, "no route"),
    ],
)
def test_commands_that_fail(
    service: Simulator,
    back_up: BackupRunner,
    mover: FakeMover,
    pauses: list[float],
    result: dict[str, Any],
    reason: str,
) -> None:
    """As operations do. Where the end of one is not known, the next one waits until its time is over."""
    mover.on_command = lambda command: result if command[-1] == "freeze" else {"rc": 0}
    ran = back_up(vms=["vm-1"], **COMMANDS)
    assert ran.errors == [f"vm_backup_before has failed, so no session was opened: {reason}"]
    assert (list_steps(mover), list_marks(service), statuses(service)) == (["freeze", "thaw"], [], [])
    assert (70 in pauses) == (result is LOST)
    mover.commands.clear()
    mover.on_command = lambda command: result if command[-1] == "thaw" else {"rc": 0}
    ran = back_up(vms=["vm-1"], **COMMANDS)
    assert "vm_backup_after has failed, so the guest may still be as" in str(ran.errors[0])
    assert list_steps(mover) == ["freeze", "thaw", "thaw"]
    assert list_marks(service) == ["virtinfra.manager vm_backup hook before"]
    mover.on_command = lambda dummy: {"rc": 0}
    predicted = back_up(check=True, state="ended", **COMMANDS)
    ended = back_up(state="ended", **COMMANDS)
    assert predicted.last.report == ended.last.report
    assert (ended.entries["vm-1"]["outcome"], list_marks(service)) == ("ended", [])
    assert list_steps(mover) == ["freeze", "thaw", "thaw", "thaw"]


@pytest.mark.parametrize("after", [COMMANDS["after"], HOOKS["after"]], ids=["command", "operation"])
def test_a_command_outlives_a_killed_controller(
    service: Simulator,
    work: WorkflowRunner,
    mover: FakeMover,
    pauses: list[float],
    tmp_path: Path,
    after: dict[str, Any],
) -> None:
    """Nothing says that it has ended, so the next run waits for as long as it can take, also on another data mover."""
    hooks = {**COMMANDS, "after": after}
    killed = WorkflowRunner(service, 1000)

    def kill(dummy: Any) -> dict[str, Any]:
        killed.sent = 1000
        raise Killed

    mover.on_command = kill
    assert is_killed(lambda: BackupRunner(killed, mover)(vms=["vm-1"], **hooks))
    assert list_marks(service) == ["virtinfra.manager vm_backup hook before"]
    other = FakeMover(tmp_path / "other", "other")
    back_up, wanted = BackupRunner(work, other), {"vms": ["vm-1"], "repository": None, "state": "ended", **hooks}
    pauses.clear()
    assert (back_up(check=True, **wanted).outcomes, pauses) == (["ended"], [])
    other.on_command = lambda dummy: {"rc": 0 if pauses == [90] else 1}
    assert (back_up(**wanted).errors, pauses, list_marks(service)) == ([None], [90], [])
    assert (list_steps(other) == ["thaw"], read_guests(service)[0] == "thawed") in ((True, False), (False, True))


@pytest.mark.usefixtures("service")
def test_what_a_failed_command_prints_is_masked(back_up: BackupRunner, mover: FakeMover) -> None:
    token = back_up.work.sim.token
    mover.on_command = lambda dummy: {"rc": 1, "failed": True, "stderr": f"refused: {token}"}
    (error,) = back_up(vms=["vm-1"], **COMMANDS).errors
    assert ("status 1: refused: " in str(error), token in str(error)) == (True, False)


@pytest.mark.parametrize("step", ["freeze", "thaw"])
def test_after_runs_when_a_command_is_interrupted(
    service: Simulator, back_up: BackupRunner, mover: FakeMover, pauses: list[float], step: str
) -> None:
    """It may still work on the mover, so the guest is thawed when its time is over."""

    def interrupt(command: Any) -> dict[str, Any]:
        mover.on_command = lambda dummy: {"rc": 0}
        raise KeyboardInterrupt

    mover.on_command = lambda command: interrupt(command) if command[-1] == step else {"rc": 0}
    with suppress(KeyboardInterrupt):
        back_up(vms=["vm-1"], **COMMANDS)
    assert (list_steps(mover)[-2:], 70 in pauses) == ([step, "thaw"], True)
    assert (list_marks(service), "Running" in statuses(service)) == ([], False)


@pytest.mark.parametrize(
    ("hook", "message"),
    [
        ({}, " must have one of operation, path and command"),
        ({"operation": "QueryVmInstance", "command": ["x"]}, " must have one of operation, path and command"),
        ({"operation": "QueryVmInstance", "timeout": 5}, ".timeout is the limit of a command, and there is none"),
        ({"command": ["x"], "method": "PUT", "params": {}}, " has a command, and method, params, which belong to"),
        ({"command": []}, ".command must begin with the program to run"),
        ({"command": [" "]}, ".command must begin with the program to run"),
        (
            {"command": ["/usr/bin/freeze web-1"]},
            ".command is one string with blanks. Write a list, [/usr/bin/freeze, web-1], because no shell splits it",
        ),
        (
            {"operation": "FreezeVm", "params": {"uuid": "{uuid}"}},
            " contains {uuid}. Write {vm_uuid} for the uuid of each VM",
        ),
        ({"path": "v1/vms/{vmUuid}/freeze"}, " contains {vmUuid}. Write {vm_uuid} for the uuid of each VM"),
        ({"command": ["x", "--vm={vm_uuid}"]}, ".command contains {vm_uuid}. A command has the VM in its environment"),
        ({"command": ["x"], "timeout": 0}, ".timeout must be from 1 to 80, not 0"),
        ({"command": ["x"], "timeout": 81}, ".timeout must be from 1 to 80, not 81"),
    ],
)
def test_forms_of_hooks_that_are_refused(
    service: Simulator, back_up: BackupRunner, mover: FakeMover, hook: dict[str, Any], message: str
) -> None:
    """Before anything is sent."""
    for name, given in (("before", {"before": hook}), ("after", {**COMMANDS, "after": hook})):
        ran = back_up(vms=["vm-1"], **given)
        assert f"vm_backup_{name}{message}" in ran.last.message
        assert (len(ran.ran), ran.last.log, mover.modules, mover.commands) == (1, [], [], [])
    assert list_marks(service) == []


def test_the_smallest_vm_is_copied_first(service: Simulator, back_up: BackupRunner, mover: FakeMover) -> None:
    for number, vm in enumerate(service.records("vm")):
        service.change("volume", vm["rootVolumeUuid"], size=(10 - number) << 30)
    back_up(concurrency=1)
    sizes = [sum_sizes(copy["vm"]) for copy in mover.started]
    assert (len(sizes), sizes) == (4, sorted(sizes))


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        (LOST, "no route."),
        ({"failed": True, "msg": "no permission"}, "no permission."),
        ({"failed": True, "unreachable": True}, "it is unreachable."),
        (
            {
                "failed": True,
                "msg": "Module failed: No start of json char found\nSee stdout/stderr for the returned output.",
                "module_stderr": "Traceback (most recent call last):\nImportError: libpython3.9.so: not found\n",
            },
            "its Python has failed: ImportError: libpython3.9.so: not found.",
        ),
    ],
)
def test_a_mover_that_cannot_be_used(
    service: Simulator, work: WorkflowRunner, tmp_path: Path, result: dict[str, Any], reason: str
) -> None:
    """Its VMs are those of the others, if there are any; if not, what earlier runs left is ended all the same."""
    lost, sound = (FakeMover(tmp_path / name, name) for name in ("m1", "m2"))
    lost.failure = result
    open_sessions(service, "vm-1")
    ran = BackupRunner(work, lost)()
    assert set(ran.errors) == {f"The data mover m1 cannot be used: {reason}"}
    assert (ran.calls, ran.is_changed, len(ran.errors)) == (["DisableCbtTask"], True, 4)
    again = BackupRunner(work, lost)()
    assert (again.calls, again.is_changed) == ([], False)
    both = BackupRunner(work, lost, sound)(repository=str(sound.repository))
    assert (both.outcomes, len(lost.started), len(sound.started)) == ([FULL] * 4, 0, 4)


def test_all_reasons_are_named_if_no_mover_can_be_used(
    service: Simulator, work: WorkflowRunner, tmp_path: Path
) -> None:
    movers = [FakeMover(tmp_path / "repository", name) for name in ("m1", "m2")]
    for mover in movers:
        mover.failure = {"failed": True, "unreachable": True, "msg": f"no route to {mover.name}"}
    assert BackupRunner(work, *movers)(vms=["vm-1"]).errors == [
        "The data mover m1 cannot be used: no route to m1. The data mover m2 cannot be used: no route to m2."
    ]


@pytest.mark.parametrize("is_shared", [True, False])
def test_two_movers_share_the_vms(service: Simulator, work: WorkflowRunner, tmp_path: Path, is_shared: bool) -> None:
    """Each data mover has a repository, or both use one; the limit for a host holds in any case."""
    movers = [FakeMover(tmp_path / ("one" if is_shared else name), name) for name in ("m1", "m2")]
    ran = BackupRunner(work, *movers)(repository=str(movers[0].repository))
    assert (ran.outcomes, ran.errors) == ([FULL] * 4, [None] * 4)
    hosts = [{copy["vm"]["host_uuid"] for copy in mover.started} for mover in movers]
    assert ([len(mover.started) for mover in movers], len(hosts[0] & hosts[1])) == ([2, 2], 0)
    assert list(tmp_path.rglob("*.json")) == []


def test_a_service_that_fails_before_the_copies(service: Simulator, back_up: BackupRunner, mover: FakeMover) -> None:
    """Each VM has an entry, and is given back."""
    service.fault("fail", operation="QueryCbtTask", count=None, error={"code": "SYS.1006", "details": "no database"})
    ran = back_up()
    assert ["no database" in str(error) for error in ran.errors] == [True] * 4
    assert (list(mover.repository.rglob("*.json")), ran.calls) == ([], [])


def test_tasks_whose_vms_the_service_hides(service: Simulator, back_up: BackupRunner) -> None:
    """Tasks of the role have the uuid of the VM in their names. No other task belongs to a VM because of its name."""
    back_up(vms=["vm-1"])
    (task,) = service.records("cbttask")
    service.change("cbttask", task["uuid"], resourceRefs=None)
    assert back_up(vms=["vm-1"]).calls == ["EnableCbtTask", "DisableCbtTask"]
    service.change("cbttask", task["uuid"], description="theirs", resourceRefs=None)
    assert back_up(check=True, vms=["vm-1"]).outcomes == [FULL]


def test_a_session_without_volumes(service: Simulator, back_up: BackupRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    """A backup session without volumes is ended at once."""
    batch = Site.batch

    def lose_volumes(self: Site, *arguments: Any, **common: Any) -> Any:
        return [{**result, "volume_cbt_backup_infos": None} for result in batch(self, *arguments, **common)]

    monkeypatch.setattr(Site, "batch", lose_volumes)
    assert back_up(vms=["vm-1"]).errors == ["The service has returned no volumes to copy."]
    assert statuses(service) == ["Stopped"]


def test_storages_that_cannot_be_read(service: Simulator, back_up: BackupRunner) -> None:
    """No session opens without knowing whether its scratch volumes have room."""
    error = {"code": "SYS.1006", "details": "no database"}
    service.fault("fail", operation="QueryPrimaryStorage", error=error, count=None)
    ran = back_up(per_host=2)
    assert ["no database" in str(error) for error in ran.errors] == [True] * 4
    assert statuses(service) == []


def test_a_session_that_stays_open_although_it_was_ended(
    service: Simulator, back_up: BackupRunner, mover: FakeMover
) -> None:
    """A successful call does not prove anything."""
    batch = Site.batch

    def end_none(self: Site, module: str, objects: Any, *rest: Any, **common: Any) -> Any:
        if common.get("state") == "disabled":
            return [{"failed": False, "changed": True} for dummy in objects]
        return batch(self, module, objects, *rest, **common)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Site, "batch", end_none)
        entry = back_up(vms=["vm-1"]).entries["vm-1"]
    assert (entry["outcome"], entry["session_ended"]) == ("failed", False)
    assert "could not be ended, and the scratch volumes" in entry["error"]
    assert "remain: the service shows the status Running. When the VM runs, run the role again" in entry["error"]


def test_remains_of_unknown_volumes() -> None:
    task = {"name": "backup-1", "uuid": "u"}
    assert describe_remains(task, "no.") == (
        "The backup session of the CBT task backup-1 (u) could not be ended, and its scratch volumes may remain: no."
        " When the VM runs, run the role again, or disable the task."
    )


def test_it_is_not_known_whether_sessions_have_ended(
    service: Simulator, back_up: BackupRunner, mover: FakeMover
) -> None:
    error = {"code": "SYS.1006", "details": "no database"}
    mover.on_start = lambda dummy: service.fault("fail", operation="QueryCbtTask", count=None, error=error)
    entry = back_up(vms=["vm-1"]).entries["vm-1"]
    assert (entry["outcome"], entry["session_ended"]) == ("failed", False)
    assert entry["error"].startswith("It is not known whether the backup session was ended: ")
    assert entry["error"].endswith("Run the role again.")


def test_scratch_volumes_of_a_vm_that_was_destroyed(
    service: Simulator, back_up: BackupRunner, mover: FakeMover
) -> None:
    """Its CBT task goes with it, and leaves them. Volumes that are not known to be those of the session stay."""
    vm = service.records("vm")[0]
    mover.results = {"vm-1": {"failed": True, "msg": "the export was cut."}}
    found: list[str] = []

    def destroy(dummy: Any) -> None:
        found.extend(list_scratch_volumes(service))
        ModuleRunner(service)("vm", {"uuid": vm["uuid"], "state": "absent"})
        kept = next(each for each in service.records("volume") if each["name"] == found[0])
        service.change("volume", kept["uuid"], description="mine")

    mover.on_start = destroy
    ran = back_up(vms=["vm-1"])
    entry = ran.entries["vm-1"]
    assert ran.calls.count("DeleteDataVolume") == len(found) - 1 > 0
    assert (list_scratch_volumes(service), entry["outcome"]) == (found[:1], "failed")
    assert (entry["session_ended"], "remain. Delete them in the service." in entry["error"]) == (False, True)


@pytest.mark.parametrize("operation", ["DeleteDataVolume", "QueryVolume"])
def test_scratch_volumes_that_cannot_be_removed(
    service: Simulator, back_up: BackupRunner, mover: FakeMover, operation: str
) -> None:
    mover.results = {"vm-1": {"failed": True, "msg": "the export was cut."}}
    vm, scratch = service.records("vm")[0]["uuid"], list[str]()

    def destroy(dummy: Any) -> None:
        scratch.extend(list_scratch_volumes(service))
        ModuleRunner(service)("vm", {"uuid": vm, "state": "absent"})
        service.fault("fail", operation, error={"code": "SYS.1000", "details": "no agent"}, count=None)

    mover.on_start = destroy
    entry = back_up(vms=["vm-1"]).entries["vm-1"]
    assert (list_scratch_volumes(service), entry["session_ended"]) == (scratch, False)
    for part in ("the export was cut", "remain", "no agent"):
        assert part in entry["error"]


def test_scratch_volumes_that_nothing_removes_are_named(service: Simulator, back_up: BackupRunner) -> None:
    """The scratch volumes of VMs that belong to no CBT task are named, and no others."""
    vms = open_sessions(service, "vm-1", "vm-2")
    (task,) = (each for each in service.records("cbttask") if vms["vm-1"] in each["name"])
    left = [ref["resourceUuid"] for ref in task["resourceRefs"] if ref["resourceType"] == "VolumeVO"]
    names = {volume["uuid"]: volume["name"] for volume in service.records("volume")}
    references = [ref for ref in task["resourceRefs"] if ref["resourceType"] != "VolumeVO"]
    service.change("cbttask", task["uuid"], status="Stopped", resourceRefs=references)
    # The session of the other one cannot be ended, so its scratch volumes are still in use.
    service.change("vm", vms["vm-2"], state="Stopped")
    (warning,) = back_up(state="ended").warnings
    before, named, after = re.split(r": |\. ", warning)
    assert before == "These scratch volumes belong to no CBT task, and nothing removes them"
    assert sorted(named.split(", ")) == sorted(f"{names[uuid]} ({uuid})" for uuid in left)
    assert after == "Delete them in the service, if no other backup product uses them."
    assert back_up(state="ended", vms=["vm-2"]).warnings == []


RUN = "5f0c3a52-7d3e-4c1b-9a58-0e5a3f1b2c4d"


def take(mover: FakeMover, *vm_uuids: str, **owner: Any) -> None:
    """Take VMs for another run, whose processes are those of this test unless ``owner`` says otherwise."""
    known = {**describe_owner(900), **owner}
    taken = mover.run(
        "backup_run", {"repository": str(mover.repository), "run": RUN, "owner": known, "vm_uuids": list(vm_uuids)}
    )
    assert taken["taken"] == list(vm_uuids)
    mover.modules.clear()


def test_two_runs_at_the_same_time(service: Simulator, back_up: BackupRunner, mover: FakeMover) -> None:
    """The second one neither ends nor opens a session of a VM that the first one has."""
    uuid = open_sessions(service, "vm-1")["vm-1"]
    take(mover, uuid)
    for state in ("present", "ended"):
        ran = back_up(vms=["vm-1"], state=state)
        assert "Another run copies or restores the VM: process" in str(ran.errors[0])
        assert (ran.calls, ran.outcomes, statuses(service)) == ([], ["failed"], ["Running"])


def test_a_run_whose_vm_another_one_has_taken(
    service: Simulator, back_up: BackupRunner, mover: FakeMover, pauses: list[float]
) -> None:
    """The run was silent for long, for example in sleep. It leaves the backup session to the other run."""
    mover.results = {"vm-1": None}

    def lose(copy: dict[str, Any]) -> None:
        (mover.repository / ".runs" / f"{copy['run']}.json").unlink()
        take(mover, copy["vm"]["uuid"])

    mover.on_start = lose
    ran = back_up(vms=["vm-1"])
    assert "Another run copies or restores the VM" in str(ran.errors[0])
    assert (ran.calls, statuses(service)) == (["CreateCbtTask", "EnableCbtTask"], ["Running"])


def test_a_run_whose_vm_another_one_has_taken_before_its_session(
    service: Simulator, back_up: BackupRunner, mover: FakeMover, pauses: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run was silent for long while it ended what an earlier one had left. It opens no session."""
    uuid = open_sessions(service, "vm-1")["vm-1"]
    batch = Site.batch

    def lose(self: Site, *arguments: Any, **common: Any) -> Any:
        if not pauses:
            self.pause(400)
            next((mover.repository / ".runs").glob("*.json")).unlink()
            take(mover, uuid)
        return batch(self, *arguments, **common)

    monkeypatch.setattr(Site, "batch", lose)
    ran = back_up(vms=["vm-1"])
    assert "Another run copies or restores the VM" in str(ran.errors[0])
    assert (ran.calls, mover.started) == (["DisableCbtTask"], [])


def test_runs_that_have_ended_lose_their_vms(
    service: Simulator, back_up: BackupRunner, mover: FakeMover, pauses: list[float]
) -> None:
    """A run of this machine has ended if its processes are gone, another one if it was silent for minutes."""
    ended = subprocess.Popen(["true"])
    ended.wait()
    living = {"worker": describe_owner(0)["process"], "worker_began": describe_owner(0)["began"]}
    cases: list[tuple[int, dict[str, Any], bool]] = [
        (0, {}, False),
        (10_000, {}, False),
        (0, {"process": ended.pid}, True),
        (0, {"began": "1"}, True),
        # The worker of the run still ends what the run has begun.
        (0, {"process": ended.pid, **living}, False),
        (0, {"process": ended.pid, "worker": ended.pid}, True),
        (895, {"machine": "another"}, False),
        (905, {"machine": "another"}, True),
        (905, {"machine": "another", "patience": 15_300}, False),
        (301, {"machine": "another", "patience": SILENCE}, True),
    ]
    for silent, owner, expected in cases:
        others = [{"run": RUN, "owner": {**describe_owner(900), **owner}, "silent_seconds": silent}]
        assert list_ended({"others": others}) == ([RUN] if expected else []), owner
    assert list_ended({"msg": "gone"}) == []
    vm = service.records("vm")[0]["uuid"]
    take(mover, vm, process=ended.pid, **living)
    ran = back_up(vms=["vm-1"])
    assert ("Another run copies" in str(ran.errors[0]), 60 < sum(pauses) < 70) == (True, True)
    take(mover, vm, process=ended.pid)
    assert back_up(vms=["vm-1"]).outcomes == [FULL]


def test_the_report_names_vms_that_no_mover_has_reached(
    service: Simulator, work: WorkflowRunner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It also names VMs that do not exist, and names that several VMs have."""
    service.change("vm", service.records("vm")[1]["uuid"], name="vm-1")
    ran = BackupRunner(work, FakeMover(tmp_path / "repository"))(query=[], vms=["vm-1", "vm-3", "vm-9"])
    assert [(entry["vm"], entry["outcome"]) for entry in ran.last.report] == [
        ("vm-9", "failed"),
        ("vm-1", "failed"),
        ("vm-1", "failed"),
        ("vm-3", FULL),
    ]
    assert ran.errors[:2] == [
        "No such VM. Check the name or uuid.",
        "Several VMs have this name. Give the uuid of the VM.",
    ]
    ran = BackupRunner(work, FakeMover(tmp_path / "repository"))(query=["name!=vm-3"], vms=["vm-3", "vm-9"])
    assert [error.partition(". ")[0] for error in map(str, ran.errors)] == [
        "The VM does not meet vm_backup_query (name!=vm-3)",
        "No such VM",
    ]
    mover = FakeMover(tmp_path / "repository")
    monkeypatch.setattr(mover, "run", lambda *dummy: 1 / 0)
    (error,) = BackupRunner(work, mover)(vms=["vm-3"]).errors
    assert error == "Nothing was copied, because the run has ended before. Run the role again."


def test_a_play_that_runs_for_some_movers_after_the_others(service: Simulator, work: WorkflowRunner) -> None:
    play = {"ansible_play_hosts_all": ["m1", "m2"], "ansible_play_hosts": ["m1", "m2"], "ansible_play_batch": ["m1"]}
    given = {"vm_backup_vms": ["vm-1"], "vm_backup_repository": "/srv/backups"}
    assert "with serial, each batch" in work("vm_backup", {**play, **given}, step="select").message


def test_invalid_variables(service: Simulator, work: WorkflowRunner, back_up: BackupRunner) -> None:
    wrong: list[tuple[str, dict[str, Any]]] = [
        ("give vm_backup_repository", {"repository": None}),
        ("vm_backup_concurrency must be at least 1", {"concurrency": 0}),
        ("vm_backup_full_every must be at least 0", {"full_every": -1}),
        ("vm_backup_compare_spread must be at least 0", {"compare_spread": -1}),
        ("vm_backup_keep.daily must be at least 0, not -1", {"keep": {"last": 3, "daily": -1}}),
        ("vm_backup_min_free_percent must be from 0 to 99", {"min_free_percent": 100}),
        ("vm_backup_not_after must be a time of day such as 05:30", {"not_after": "25:00"}),
        ("vm_backup_keep.last must be a whole number, not True", {"keep": {"last": True}}),
        ("must not be empty", {"task_prefix": ""}),
        ("No VM meets vm_backup_query", {"query": ["name=nobody"]}),
        ("the role vm_backup has no variable vm_backup_mover", {"mover": "mover-1"}),
    ]
    for message, variables in wrong:
        assert message in back_up(**variables).last.message
    assert back_up(query=["name=nobody"], allow_empty=True).outcomes == []
    unknown = work("vm_backup", {"vm_backup_vms": ["vm-1"]}, step="close").message
    assert "step must be one of select, read, copy, report" in unknown
    whole = work("vm_backup", {"vm_backup_vms": ["vm-1"]}).message
    assert whole.endswith("use ansible.builtin.include_role: {name: virtinfra.manager.vm_backup}")
    other = work("vm_snapshots", {"vm_snapshots_vms": ["vm-1"]}, step="plan")
    assert "the role vm_snapshots has no step 'plan'" in other.message


@pytest.mark.parametrize(
    ("role", "step", "name"),
    [
        ("vm_snapshots", None, "vm_snapshots_vms"),
        ("vm_snapshots", None, "vms"),
        ("vm_backup", "select", "vm_backup_vms"),
    ],
)
def test_variables_among_what_a_step_gets(
    service: Simulator, work: WorkflowRunner, role: str, step: str | None, name: str
) -> None:
    ran = work(role, {}, step=step, given={name: ["vm-1"]})
    assert ran.message == f"given has no {name}: write the variables of the role under vars of the task"


def test_names_that_fit_nothing(service: Simulator, back_up: BackupRunner) -> None:
    """What they were meant for would be copied, or copied from another address, without a word."""
    host, vm = service.records("host")[0], service.records("vm")[0]
    known = [vm["rootVolumeUuid"], "*"]
    addresses = {host["managementIp"]: "192.0.2.1", host["uuid"]: "192.0.2.1"}
    unknown = {**addresses, "host-1": "192.0.2.1"}
    given: dict[str, Any] = {"exclude_volumes": [*known, "root-*-9"], "host_address": unknown}
    volumes, hosts = back_up(check=True, **given).warnings
    assert volumes.startswith("vm_backup_exclude_volumes: no volume of the selected VMs has the name or uuid, or ")
    assert volumes.endswith("matches the pattern root-*-9")
    possible = ", ".join(f"{each['managementIp']} ({each['name']})" for each in service.records("host"))
    message = "vm_backup_host_address: no host has the management address or uuid host-1. The hosts are"
    assert hosts == f"{message} {possible}"
    assert back_up(check=True, exclude_volumes=known, host_address=addresses).warnings == []
    service.fault("fail", operation="QueryHost", error={"code": "SYS.1001", "details": "denied"})
    assert back_up(check=True, **{**given, "exclude_volumes": []}).warnings == []


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
    """A data mover without a checkpoint does not count, nor does a checkpoint of another VM."""
    checkpoints: list[dict[str, Any]] = [
        {"vm_uuid": "a", "checkpoint": "old", "point": "20261101T000000Z"},
        {"vm_uuid": "a", "checkpoint": "new", "point": "20261103T000000Z"},
        {"vm_uuid": "a", "checkpoint": None, "point": "20261104T000000Z"},
        {"vm_uuid": "b", "checkpoint": "other", "point": "20261105T000000Z"},
    ]
    mover = Mover("m", checkpoints=checkpoints)
    assert (mover.choose_checkpoint("a"), mover.choose_checkpoint("c")) == ("new", None)


def test_the_space_that_sessions_take() -> None:
    """Each storage keeps a part free. A storage that the service does not describe counts as large enough."""
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
    return {"uuid": uuid, "name": uuid, "state": "Running", "host_uuid": host, "all_volumes": [volume]}


def test_vms_stay_with_the_mover_of_their_newest_point() -> None:
    """New ones go to the mover of the VMs on their host, so that its limit holds, else to the one with least to do."""
    point = {"vm_uuid": "a", "point": "20261126T000000Z", "mode": FULL}
    movers = [Mover("m1", [point]), Mover("m2", [{**point, "point": "20261127T000000Z"}])]
    vms = [
        *(make_vm("a", 10, "h1"), make_vm("b", 5, "h2"), make_vm("c", 3, "h2"), make_vm("d", 1, "h1")),
        make_vm("e", 2, "h3"),
    ]
    names = {uuid: mover.name for uuid, mover in assign_movers(vms, movers).items()}
    assert names == {"a": "m2", "b": "m1", "c": "m1", "d": "m2", "e": "m1"}
    stopped = [{**make_vm(str(number), 1), "host_uuid": None} for number in range(4)]
    assert [mover.name for mover in assign_movers(stopped, movers).values()] == ["m1", "m2", "m1", "m2"]
    assert [vm["uuid"] for vm in choose_share(vms, movers, "m1")] == ["e", "c", "b"]
    assert choose_share(vms, [], "m1") == []


def plan_copies(*vms: dict[str, Any]) -> list[VmCopy]:
    """Return copies of these VMs."""
    return [VmCopy(vm, Choice(FULL, "")) for vm in vms]


def test_sessions_respect_both_limits() -> None:
    copies = plan_copies(*(make_vm(str(number), 1, f"h{number % 3}") for number in range(10)))
    assert choose_due(copies, [], 4, 1) == copies[:3]
    assert choose_due(copies, [], 2, 9) == copies[:2]
    assert choose_due(copies[3:], copies[:2], 4, 1) == [copies[5]]
    assert choose_due(copies[3:], copies[:3], 3, 9) == []


def test_another_address_of_a_host() -> None:
    info = {"nbd_server": "10.0.0.1", "nbd_port": 10501, "scratch_node_name": "scratch-1"}
    for key, address in (("10.0.0.1", "192.0.2.1"), ("h", "2001:db8::1")):
        assert replace_address(info, "h", {key: address}) == {**info, "nbd_server": address}
    assert replace_address(info, "h", {"other": "192.0.2.1"}) is info


@pytest.mark.parametrize(
    "unusable", ["none", [1], [{}], [{"volume": 1}], [{"volume": {}}], [{"volume": {"volume_uuid": "a"}}]]
)
def test_entries_of_a_session_that_do_not_say_where_volumes_are(unusable: Any) -> None:
    """The session is ended like one that could not be opened, and one unusable entry counts for all."""
    served = {"nbd_server": "10.0.0.1", "nbd_port": 10501, "scratch_node_name": "scratch-1"}
    known = [{"volume": {name: "a"}, **served} for name in ("volume_uuid", "resource_uuid")]
    assert read_infos(known) == known
    assert read_infos([*known, *unusable] if isinstance(unusable, list) else unusable) == []
    assert [get_volume_uuid(info) for info in known] == ["a", "a"]


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ({}, "Nothing was copied, because the run was interrupted."),
        ({"result": {"failed": True, "msg": "no space"}}, "no space"),
        ({"result": {"failed": True}}, "The copy has failed."),
        ({"problem": "no route", "result": {"failed": True}}, "no route"),
        ({"problem": "a migration is going on", "volumes": []}, "a migration is going on"),
    ],
)
def test_a_copy_that_failed(known: dict[str, Any], message: str) -> None:
    opened = {"started": 1.0, "opened": 3.0, "volumes": [{}]}
    copy = VmCopy(make_vm("a", 1), Choice(FULL, ""), **{**opened, **known})
    entry = judge_copy(copy, None, 10.0)
    assert (entry["outcome"], entry["error"]) == ("failed", message)
    assert judge_copy(copy, "The session remains.", 10.0)["error"] == f"{message} The session remains."
    assert (entry["seconds"], entry["session_seconds"]) == (9, 7 if copy.volumes else 0)


def test_a_copy_that_succeeded() -> None:
    volume = {"reason": "the bitmap of the export", "bytes_read": 5, "bytes_written": 3, "verified": True}
    volume = {**volume, "bytes_verified": 4, "bytes_compared": 2, "volume_uuid": "v1", "encrypted": False}
    left_out = {"volume_uuid": "v3", "name": "data-3", "reason": "it is shareable"}
    volumes = [volume, {**volume, "volume_uuid": "v2", "encrypted": True}]
    point = {"point": "20261127T021500Z", "mode": "incremental", "volumes": volumes, "left_out": [left_out]}
    kept = {"kept": ["b"], "kept_as_bases": ["a"], "deleted": ["c"], "problems": ["The point a cannot be read."]}
    copy = VmCopy(make_vm("a", 1), Choice(FULL, ""), result={**make_result(point), **kept})
    entry = judge_copy(copy, None, 10.0)
    assert (entry["outcome"], entry["why"], entry["verified"]) == ("incremental", "the bitmap of the export", True)
    assert (entry["bytes_read"], entry["bytes_written"], entry["point"]) == (10, 6, "20261127T021500Z")
    assert (entry["bytes_verified"], entry["bytes_compared"], entry["left_out"]) == (8, 4, ["data-3"])
    assert entry["notes"] == [
        "The volume data-3 is not in the point: it is shareable.",
        "The service encrypts the volume v2, and its copy is in plain text.",
        "The point a cannot be read.",
    ]
    assert f"note: a: {entry['notes'][1]}" in format_table([entry])
    assert (entry["kept"], entry["deleted"], entry["error"]) == (["a", "b"], ["c"], None)
    assert judge_copy(copy, "The session remains.", 10.0)["outcome"] == "failed"


@pytest.mark.parametrize(
    ("task", "is_running", "expected"),
    [
        ({"status": "Running"}, False, True),
        ({"status": "Starting"}, False, True),
        ({"status": "Stopped"}, True, False),
        ({"status": "Stopped", "scratch_volumes": ["s1"]}, False, True),
        ({"status": "Failed"}, True, True),
        # Without a running VM, no host has anything of the session, and the session could not be ended.
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
def test_a_repository_that_depends_on_the_folder_of_the_task(
    work: WorkflowRunner, back_up: BackupRunner, path: str
) -> None:
    """The role fails once, before it asks the data movers."""
    message = back_up(repository=path).last.message
    assert message == f"vm_backup_repository must be an absolute path on the data mover, not {path}"
    restore = {"vm_backup_restore_vm": "vm-1", "vm_backup_restore_repository": path}
    message = work("vm_backup_restore", restore, step="plan").message
    assert message == f"vm_backup_restore_repository must be an absolute path on the data mover, not {path}"
