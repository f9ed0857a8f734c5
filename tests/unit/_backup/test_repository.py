"""The folders of a repository: names, locks, manifests, and whole chains."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from threading import Timer
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._backup.backup import delete_points
from ansible_collections.virtinfra.manager.plugins.module_utils._backup.failures import BackupFailure
from ansible_collections.virtinfra.manager.plugins.module_utils._backup.images import QemuImg
from ansible_collections.virtinfra.manager.plugins.module_utils._backup.listing import list_points
from ansible_collections.virtinfra.manager.plugins.module_utils._backup.manifest import (
    Point,
    VolumeCopy,
    is_stamp,
    make_stamp,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._backup.meter import FILE, Meter, read_progress
from ansible_collections.virtinfra.manager.plugins.module_utils._backup.process import execute
from ansible_collections.virtinfra.manager.plugins.module_utils._backup.repository import (
    MARKER,
    Repository,
    VmFolder,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._backup.runs import Runs
from ansible_collections.virtinfra.manager.plugins.modules import backup_point_info, backup_run

from support.kvm_host import run_command
from support.repositories import make_repository

VM, VOLUME = "1" * 32, "a" * 32
FIRST, SECOND, THIRD = "20260101T000000Z", "20260102T000000Z", "20260103T000000Z"


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(str(make_repository(tmp_path)))


def add_point(folder: VmFolder, stamp: str, base: str | None = None) -> Path:
    """Add a point whose image has seven bytes, and return its folder."""
    folder.path.mkdir(exist_ok=True)
    partial = folder.start_point(stamp)
    (partial / f"{VOLUME}.qcow2").write_bytes(b"content")
    sha256 = "ed7002b439e9ac845f22357d822bac1444730fbdb6016d3ec9432297b9ec9f73"
    mode = "incremental" if base else "full"
    copy = VolumeCopy(VOLUME, 0, 7, mode, "", base, f"of-{stamp}", "none", 7, 7, 0, 7, sha256, True)
    folder.publish_point(Point(folder.vm_uuid, stamp, {"uuid": folder.vm_uuid, "name": "vm-1"}, (copy,)))
    return folder.path / stamp


@pytest.mark.parametrize("uuid", ["", "..", "../1", "1" * 31, "1" * 32 + "/..", "g" * 32, None, 1])
def test_names_of_the_service_make_no_paths(repository: Repository, uuid: Any) -> None:
    with pytest.raises(BackupFailure, match=r"^the VM \(vm_uuid or vm_uuids, as vm_info returns it\) must have a uuid"):
        repository.vm(uuid)


@pytest.mark.parametrize(("path", "message"), [("relative", "absolute path"), ("/does/not/exist", "does not exist")])
def test_a_repository_must_exist(path: str, message: str) -> None:
    with pytest.raises(BackupFailure, match=message):
        Repository(path)


def run_module(folder: Path, predict: bool = False, initialize: bool = False, run: str = "2" * 32) -> dict[str, Any]:
    """Take a VM for a run in a folder, list its points, and return the result."""
    options = {"repository": str(folder), "initialize": initialize, "state": "present", "run": run}
    given = {**options, "owner": None, "vm_uuids": [VM], "ended": None, "decisions": None, "list_points": True}
    return execute(backup_run.MODULE, given, predict, run_command)


def test_a_file_is_no_repository(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(BackupFailure, match=f"^the repository {file} is a file on this machine, and must be a folder$"):
        Repository(str(file))


@pytest.mark.parametrize("initialize", [None, False, True])
def test_a_folder_in_a_repository_is_none(tmp_path: Path, initialize: bool | None) -> None:
    """Its points would be those of a VM that the outer one does not list."""
    Repository(str(tmp_path), True).mark()
    inner = tmp_path / "a0000004000040008000000000000001"
    inner.mkdir()
    message = f"{inner} is a folder in the repository {tmp_path}. Give the repository itself: {tmp_path}"
    with pytest.raises(BackupFailure, match=f"^{re.escape(message)}$"):
        Repository(str(inner), initialize)


def test_a_mount_point_that_is_not_mounted(tmp_path: Path) -> None:
    """The folder has no marker, so nothing is written there, and a list of its points fails instead of being empty."""
    message = f"{tmp_path} is not a repository, because it has no {MARKER}"
    taken = run_module(tmp_path)["msg"]
    assert (message in taken, "vm_backup_initialize" in taken) == (True, True)
    listed = execute(
        backup_point_info.MODULE,
        {"repository": str(tmp_path), "initialize": False, "vm_uuids": None, "check": False},
        False,
        run_command,
    )
    # Only a task that can make a repository says how.
    assert (message in listed["msg"], "initialize" in listed["msg"]) == (True, False)
    assert list(tmp_path.iterdir()) == []


def test_the_first_use_of_a_repository(tmp_path: Path) -> None:
    """A task makes it once. To leave the option set would make it useless, so a task warns of it."""
    for predict in (True, False):
        assert not (tmp_path / MARKER).exists()
        first = run_module(tmp_path, predict, initialize=True)
        assert (first["taken"], first["warnings"]) == ([VM], [])
    assert (tmp_path / MARKER).stat().st_mode & 0o077 == 0
    assert run_module(tmp_path)["taken"] == [VM]
    assert "is a repository already" in run_module(tmp_path, initialize=True)["warnings"][0]


def test_points_that_cannot_be_listed(tmp_path: Path) -> None:
    """The failure says nevertheless which other runs have the VM."""
    assert run_module(tmp_path, initialize=True)["listed"]["points"] == []
    (tmp_path / VM).write_text("This is no folder.")
    listed = run_module(tmp_path, run="3" * 32)
    assert (listed["failed"], "Not a directory" in listed["msg"]) == (True, True)
    assert [other["run"] for other in listed["others"]] == ["2" * 32]


def test_a_marker_that_cannot_be_read(tmp_path: Path) -> None:
    """A repository with one of these is not taken for a folder that needs a marker."""
    (tmp_path / MARKER).symlink_to(MARKER)
    assert f"{MARKER} cannot be read" in run_module(tmp_path, initialize=True)["msg"]


def test_a_file_system_that_is_mounted_while_a_point_is_written(tmp_path: Path) -> None:
    """The point would be on a file system that nobody sees any more. A link stands for the mount point."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as other:
        if tmp_path.stat().st_dev == Path(other).stat().st_dev:
            pytest.skip("one file system on this machine")
        places = [make_repository(tmp_path / "one"), make_repository(Path(other) / "two")]
        root = tmp_path / "root"
        root.symlink_to(places[0])
        folder = Repository(str(root)).vm(VM)
        for place in places:
            (place / VM / f"{FIRST}.partial").mkdir(parents=True)
        root.unlink()
        root.symlink_to(places[1])
        with pytest.raises(BackupFailure, match="it was mounted or unmounted meanwhile"):
            folder.publish_point(Point(VM, FIRST, {}, ()))
        assert folder.list_stamps() == []


def test_stamps() -> None:
    assert is_stamp(FIRST)
    for wrong in ("20261332T000000Z", "20260101", f"{FIRST}.partial", "..", ""):
        assert not is_stamp(wrong)
    now = datetime(2026, 1, 2)
    assert make_stamp(now, None) == make_stamp(now, FIRST) == SECOND
    # A clock that was set back: the new point is the newest one nevertheless.
    assert make_stamp(now, THIRD) == "20260103T000001Z"
    assert make_stamp(now, SECOND) == "20260102T000001Z"


def test_a_point_comes_back_as_it_was_written(repository: Repository) -> None:
    folder = repository.vm(VM)
    add_point(folder, FIRST)
    add_point(folder, SECOND, FIRST)
    first, second = folder.read_points()
    assert (first.stamp, second.volumes[0].base, first.vm["name"]) == (FIRST, FIRST, "vm-1")
    assert [base.stamp for base in folder.list_bases([first, second], VOLUME)] == [SECOND, FIRST]


def test_a_point_is_described_as_results_have_it(repository: Repository) -> None:
    folder = repository.vm(VM)
    add_point(folder, FIRST)
    (point,) = folder.read_points()
    mixed = replace(point, volumes=(*point.volumes, replace(point.volumes[0], mode="compared", file_bytes=None)))
    described = mixed.describe()
    assert [volume["mode"] for volume in described.pop("volumes")] == ["full", "compared"]
    assert described == {
        "vm_uuid": VM,
        "vm_name": "vm-1",
        "point": FIRST,
        "created": "2026-01-01T00:00:00Z",
        "mode": "mixed",
        "file_bytes": 7,
        "left_out": [],
    }
    assert point.describe()["mode"] == "full"


def test_only_the_user_of_the_task_can_read_a_repository(repository: Repository, tmp_path: Path) -> None:
    """The copies contain what is on the disks of the VMs. A umask that permits everything changes nothing."""
    umask = os.umask(0)
    try:
        folder = repository.vm(VM)
        with folder.locked():
            add_point(folder, FIRST)
        repository.mark_restored(VOLUME)
    finally:
        os.umask(umask)
    made = [folder.path, folder.path / FIRST, folder.path / ".lock", folder.path / FIRST / "manifest.json"]
    marks = [tmp_path / ".restored", tmp_path / ".restored" / VOLUME]
    assert [path.name for path in (*made, *marks) if path.stat().st_mode & 0o077] == []


def test_only_final_names_are_points(repository: Repository) -> None:
    folder = repository.vm(VM)
    add_point(folder, FIRST)
    (folder.path / f"{SECOND}.partial").mkdir()
    (folder.path / f"{THIRD}.removing").mkdir()
    (folder.path / "notes").mkdir()
    assert folder.list_stamps() == [FIRST]
    folder.clean()
    assert sorted(path.name for path in folder.path.iterdir()) == [FIRST, "notes"]


def break_manifest(path: Path, **members: Any) -> None:
    """Change members of a manifest."""
    manifest = path / "manifest.json"
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), **members}))


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"format": 2}, "its format is 2"),
        ({"point": SECOND}, f"it describes the point {SECOND}"),
        ({"vm_uuid": "2" * 32}, "it describes the point"),
        ({"volumes": [{}]}, "it is not a manifest: KeyError"),
    ],
)
def test_a_manifest_that_cannot_be_read(repository: Repository, members: dict[str, Any], message: str) -> None:
    folder = repository.vm(VM)
    break_manifest(add_point(folder, FIRST), **members)
    with pytest.raises(BackupFailure, match=message):
        folder.read_point(FIRST)
    assert folder.read_points() == []
    listed = list_points(repository, None)["points"]
    assert [(point["point"], point["whole"]) for point in listed] == [(FIRST, False)]
    assert message in listed[0]["problems"][0]


def test_a_chain_with_a_gap_is_no_base(repository: Repository) -> None:
    folder = repository.vm(VM)
    for stamp, base in ((FIRST, None), (SECOND, FIRST), (THIRD, None)):
        add_point(folder, stamp, base)
    folder.image(FIRST, VOLUME).write_bytes(b"longer content")
    points = folder.read_points()
    assert [base.stamp for base in folder.list_bases(points, VOLUME)] == [THIRD]
    problem = folder.find_problem(points, SECOND, VOLUME)
    assert problem is not None
    assert problem.endswith("has 14 bytes instead of 7")
    folder.image(FIRST, VOLUME).unlink()
    assert "cannot be read" in str(folder.find_problem(points, SECOND, VOLUME))
    assert f"the point {FIRST} has no copy" in str(folder.find_problem(points[1:], SECOND, VOLUME))


def test_a_point_based_on_itself_is_not_followed_for_ever(repository: Repository) -> None:
    folder = repository.vm(VM)
    add_point(folder, FIRST, FIRST)
    assert "which is not older" in str(folder.find_problem(folder.read_points(), FIRST, VOLUME))


def test_a_checksum_that_differs(repository: Repository) -> None:
    folder = repository.vm(VM)
    add_point(folder, FIRST)
    folder.image(FIRST, VOLUME).write_bytes(b"CONTENT")
    assert list_points(repository, None)["points"][0]["whole"]
    listed = list_points(repository, [VM], QemuImg(run_command))["points"][0]
    assert not listed["whole"]
    assert "its checksum is not that of the manifest" in listed["problems"][0]


def test_the_checkpoint_of_each_volume(repository: Repository) -> None:
    folder = repository.vm(VM)
    assert list_points(repository, [VM])["checkpoints"] == []
    add_point(folder, FIRST)
    add_point(folder, SECOND, FIRST)
    expected = {"vm_uuid": VM, "volume_uuid": VOLUME, "checkpoint": f"of-{SECOND}", "point": SECOND}
    assert list_points(repository, None)["checkpoints"] == [expected]
    # An increment from a volume that was restored since would be wrong.
    assert repository.mark_restored(VOLUME)
    assert not repository.mark_restored(VOLUME)
    assert list_points(repository, None)["checkpoints"][0]["checkpoint"] is None
    repository.forget_restored([VOLUME, "b" * 32])
    assert list_points(repository, None)["checkpoints"] == [expected]


def test_a_deletion(repository: Repository) -> None:
    folder = repository.vm(VM)
    for stamp, base in ((FIRST, None), (SECOND, FIRST), (THIRD, None)):
        add_point(folder, stamp, base)
    predicted = delete_points(repository, VM, {"last": 1}, [], predict=True)
    assert predicted.after == [THIRD]
    assert folder.list_stamps() == [FIRST, SECOND, THIRD]
    outcome = delete_points(repository, VM, {"last": 1}, [])
    assert (outcome.before, outcome.after) == (predicted.before, predicted.after)
    assert folder.list_stamps() == [THIRD]
    assert delete_points(repository, VM, {}, [FIRST]).retention.deleted == []


def replace_by_circle(path: Path) -> None:
    """Replace a file by a link that nobody can follow: the error of a disk, without a disk that is broken."""
    path.unlink()
    path.symlink_to(path.name)


BROKEN: dict[str, Callable[[Path], None]] = {
    "newer format": lambda point: break_manifest(point, format=2),
    "no manifest": lambda point: (point / "manifest.json").unlink(),
    "manifest": lambda point: replace_by_circle(point / "manifest.json"),
    "image": lambda point: replace_by_circle(point / f"{VOLUME}.qcow2"),
}


@pytest.mark.parametrize("how", [*BROKEN])
def test_nothing_is_deleted_while_a_point_cannot_be_read(repository: Repository, how: str) -> None:
    """Other points may need the unreadable one, or it may need them."""
    folder = repository.vm(VM)
    for stamp, base in ((FIRST, None), (SECOND, FIRST), (THIRD, None)):
        add_point(folder, stamp, base)
    BROKEN[how](folder.path / SECOND)
    outcome = delete_points(repository, VM, {"last": 1}, [])
    assert (outcome.retention.deleted, folder.list_stamps()) == ([], [FIRST, SECOND, THIRD])
    assert f"The point {SECOND} cannot be read, so no point of the VM is deleted" in outcome.problems[0]
    with pytest.raises(BackupFailure, match="others may need it that cannot be read"):
        delete_points(repository, VM, {}, [FIRST])
    assert folder.list_stamps() == [FIRST, SECOND, THIRD]


def test_damaged_points_do_not_count_as_kept(repository: Repository) -> None:
    folder = repository.vm(VM)
    stamps = [FIRST, SECOND, THIRD, "20260104T000000Z"]
    for stamp in stamps:
        add_point(folder, stamp)
    folder.image(stamps[3], VOLUME).unlink()
    folder.image(SECOND, VOLUME).write_bytes(b"longer content")
    folder.mark_damaged(FIRST, VOLUME, "the test says so")
    outcome = delete_points(repository, VM, {"last": 1}, [])
    # The newest point, and the newest one that can be restored.
    assert (outcome.after, folder.list_stamps()) == (stamps[2:], stamps[2:])
    assert [SECOND in sentence for sentence in outcome.problems] == [False, True, False]
    assert "is damaged: the test says so" in outcome.problems[0]
    assert list((folder.path / ".damaged").iterdir()) == []


def add_volumes(path: Path, *volumes: dict[str, Any], **members: Any) -> None:
    """Let the VM of a point have further volumes."""
    vm = {"uuid": VM, "all_volumes": [{"uuid": VOLUME, "type": "Root", "status": "Ready"}, *volumes]}
    break_manifest(path, vm=vm, **members)


def test_a_point_that_lacks_a_volume_does_not_count(repository: Repository) -> None:
    """A point of which a volume was left out on purpose counts."""
    folder = repository.vm(VM)
    other = {"uuid": "b" * 32, "name": "data", "type": "Data", "status": "Ready", "is_shareable": False}
    left_out = [{"volume_uuid": other["uuid"], "name": "data", "reason": "it is excluded"}]
    add_volumes(add_point(folder, FIRST), other, left_out=left_out)
    add_volumes(add_point(folder, SECOND), {**other, "is_shareable": True})
    add_volumes(add_point(folder, THIRD), other)
    listed = list_points(repository, None)["points"]
    assert [point["whole"] for point in listed] == [True, True, False]
    assert listed[2]["problems"] == [f"the point has no copy of the volume data ({'b' * 32}) of the VM"]
    assert listed[0]["left_out"] == left_out
    assert delete_points(repository, VM, {"last": 1}, []).after == [SECOND, THIRD]


def test_a_point_of_the_future(repository: Repository) -> None:
    """A point of the future is reported and kept. It is no base, and does not count for the retention."""
    folder = repository.vm(VM)
    future = (datetime.now(timezone.utc) + timedelta(days=1)).strftime("%Y%m%dT%H%M%SZ")
    for stamp in (FIRST, SECOND, future):
        add_point(folder, stamp)
    listed = list_points(repository, None)
    assert [(point["future"], point["whole"]) for point in listed["points"]] == [(False, True)] * 2 + [(True, True)]
    assert [each["point"] for each in listed["checkpoints"]] == [SECOND]
    outcome = delete_points(repository, VM, {"last": 1}, [])
    assert outcome.after == [SECOND, future]
    assert f"The point {future} is of the future" in outcome.problems[0]


def test_the_last_copy_of_a_removed_volume_stays(repository: Repository) -> None:
    """The copy is reported, so that somebody can delete it by the name of its point."""
    folder = repository.vm(VM)
    for stamp in (FIRST, SECOND, THIRD):
        add_point(folder, stamp)
    point = folder.path / FIRST
    (point / f"{VOLUME}.qcow2").rename(point / f"{'b' * 32}.qcow2")
    (volume,) = json.loads((point / "manifest.json").read_text())["volumes"]
    break_manifest(point, volumes=[{**volume, "volume_uuid": "b" * 32}])
    outcome = delete_points(repository, VM, {"last": 1}, [])
    assert outcome.after == [FIRST, THIRD]
    assert f"The point {FIRST} is kept for the volume {'b' * 32}, which the VM has no more" in outcome.problems[0]
    assert delete_points(repository, VM, {}, [FIRST]).after == [THIRD]


def test_a_check_goes_along_the_chain(repository: Repository) -> None:
    folder = repository.vm(VM)
    for stamp, base in ((FIRST, None), (SECOND, FIRST), (THIRD, None)):
        add_point(folder, stamp, base)
    folder.image(FIRST, VOLUME).write_bytes(b"CONTENT")
    qemu = QemuImg(lambda command: (0, "", ""))
    listed = list_points(repository, [VM], qemu)["points"]
    assert [point["whole"] for point in listed] == [False, False, True]
    assert all(str(folder.image(FIRST, VOLUME)) in point["problems"][0] for point in listed[:2])


def test_a_manifest_from_before(repository: Repository) -> None:
    """Manifests that lack later members can be read."""
    folder = repository.vm(VM)
    manifest = add_point(folder, FIRST) / "manifest.json"
    members = json.loads(manifest.read_text())
    del members["left_out"]
    for name in ("encrypted", "bytes_verified", "bytes_compared"):
        del members["volumes"][0][name]
    manifest.write_text(json.dumps(members))
    (volume,) = folder.read_point(FIRST).volumes
    assert (volume.encrypted, volume.bytes_verified, volume.bytes_compared) == (None, 0, 0)


def test_a_vm_without_points_gets_no_folder(repository: Repository) -> None:
    assert delete_points(repository, VM, {"last": 1}, []).after == []
    assert [path.name for path in repository.root.iterdir()] == [MARKER]


HOLD = """
import sys
from ansible_collections.virtinfra.manager.plugins.module_utils._backup.repository import Repository
with Repository(sys.argv[1]).vm(sys.argv[2]).locked():
    print("locked", flush=True)
    sys.stdin.read()
"""


def test_a_lock_ends_with_its_process(repository: Repository) -> None:
    folder = repository.vm(VM)
    command = [sys.executable, "-c", HOLD, str(repository.root), VM]
    holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert holder.stdout
    assert holder.stdin
    assert holder.stdout.readline() == "locked\n"
    for shared in (False, True):
        with pytest.raises(BackupFailure, match=f"locked by .*, process {holder.pid}"), folder.locked(shared):
            pass
    holder.kill()
    holder.communicate()
    with folder.locked():
        pass
    with folder.locked(shared=True), folder.locked(shared=True):
        pass


def test_reading_needs_no_lock_file(repository: Repository) -> None:
    folder = repository.vm(VM)
    add_point(folder, FIRST)
    with folder.locked(shared=True):
        assert not (folder.path / ".lock").exists()


class Clock:
    """A clock that is set."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_progress(tmp_path: Path) -> None:
    clock, checks = Clock(), []
    meter = Meter(tmp_path / FILE, check=lambda: checks.append(clock.now), clock=clock)
    meter.begin(1000, step="copy")
    meter.count(100)
    clock.now += 2
    meter.count(300)
    progress = read_progress(tmp_path / FILE)
    assert progress is not None
    assert (
        progress.items()
        >= {
            "step": "copy",
            "bytes_done": 400,
            "bytes_total": 1000,
            "bytes_per_second": 200,
            "seconds_left": 3,
        }.items()
    )
    assert checks == [102.0]
    (tmp_path / FILE).write_text(json.dumps({**progress, "process": 2**22 + 1}))
    assert read_progress(tmp_path / FILE) is None
    meter.end()
    assert list(tmp_path.iterdir()) == []


def test_a_rate_limit() -> None:
    clock = Clock()
    meter = Meter(rate_limit=100, clock=clock)
    meter.begin(1000)
    assert meter.pause == 0
    meter.count(150)
    assert meter.pause == 1.5
    clock.now += 2
    assert meter.pause == 0


def test_a_run_takes_vms_that_no_other_run_has(repository: Repository) -> None:
    runs, other, owner = Runs(repository), "3" * 32, {"host": "controller-1"}
    assert runs.take("2" * 32, owner, [VM], (), predict=True) == ([VM], [])
    assert not (repository.root / ".runs").exists()
    assert runs.take("2" * 32, owner, [VM], (), predict=False) == ([VM], [])
    for predict in (True, False):
        taken, others = runs.take(other, {}, [VM, "4" * 32], (), predict)
        assert (taken, [each.run for each in others]) == (["4" * 32], ["2" * 32])
    assert others[0].describe() == {"run": "2" * 32, "owner": owner, "vm_uuids": [VM], "silent_seconds": 0}
    # A run that renews its file keeps its VMs.
    path = repository.root / ".runs" / f"{'2' * 32}.json"
    os.utime(path, (1, 1))
    assert runs.take(other, {}, [VM], (), predict=True)[1][0].silent > 1000
    assert runs.take("2" * 32, owner, [VM], (), predict=False) == ([VM], [])
    assert runs.take(other, {}, [VM], (), predict=True)[1][0].silent < 1000
    # A run whose VMs another one has taken over sees at its next turn that it has none.
    assert runs.take(other, {}, [VM], ["2" * 32], predict=False) == ([VM], [])
    assert runs.take("2" * 32, owner, [VM], (), predict=False)[0] == []
    assert [runs.forget(other, predict) for predict in (True, False, False)] == [True, True, False]
    assert runs.take("2" * 32, owner, [VM], (), predict=False) == ([VM], [])


def test_files_of_runs_that_cannot_be_read(repository: Repository) -> None:
    runs = Runs(repository)
    with pytest.raises(BackupFailure, match="a run must have a uuid"):
        runs.take("../1", {}, [VM], (), predict=False)
    runs.take("2" * 32, {}, [VM], (), predict=False)
    for name in ("2" * 32, "other"):
        (repository.root / ".runs" / f"{name}.json").write_text('{"vm_uuids": ["1"]', encoding="utf-8")
    assert runs.take("3" * 32, {}, [VM], (), predict=False) == ([VM], [])
    replace_by_circle(repository.root / ".runs" / f"{'3' * 32}.json")
    with pytest.raises(BackupFailure, match="so it is not known what runs"):
        runs.take("4" * 32, {}, [VM], (), predict=False)


def test_marks_of_restores_that_cannot_be_read(repository: Repository) -> None:
    """The volume is not taken for one that was not restored: its bitmap would be believed."""
    assert not repository.was_restored(VOLUME)
    (repository.root / ".restored").symlink_to(".restored")
    with pytest.raises(OSError, match="Too many levels of symbolic links"):
        repository.was_restored(VOLUME)


def test_a_lock_that_another_process_gives_up(repository: Repository) -> None:
    folder = repository.vm(VM)
    program = f"""
import fcntl, os, sys, time
file = os.open({str(folder.path / ".lock")!r}, os.O_RDWR | os.O_CREAT)
fcntl.flock(file, fcntl.LOCK_EX)
print(flush=True)
sys.stdin.read(1)
"""
    folder.path.mkdir()
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdin
        assert holder.stdout
        holder.stdout.readline()
        with pytest.raises(BackupFailure, match="another task works on"), folder.locked(patience=0.2):
            pass
        Timer(0.3, holder.stdin.close).start()
        with folder.locked(patience=60):
            pass
