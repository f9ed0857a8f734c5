"""Restores: what is refused before anything is written, what is written, and what an interruption leaves."""

from __future__ import annotations

import fcntl
import os
import subprocess
import threading
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._backup.connection import Connection, Done
from ansible_collections.virtinfra.manager.plugins.module_utils._backup.failures import BackupFailure
from ansible_collections.virtinfra.manager.plugins.module_utils._backup.plan import Wish
from ansible_collections.virtinfra.manager.plugins.module_utils._backup.repository import Repository
from ansible_collections.virtinfra.manager.plugins.module_utils._backup.restore import (
    RestoreOutcome,
    RestoreTask,
    build_targets,
    restore,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._backup.runs import LONGEST_SILENCE, Runs
from backup.conftest import SiteFactory
from backup.site import QEMU, Site, modes, stamp_of

from support.kvm_host import MIB, run, wait_until
from support.repositories import make_repository


def make_points(site: Site, number: int = 2) -> list[str]:
    """Make points of a VM that changes, and stop it."""
    for count in range(number):
        for volume in site.vm.volumes:
            site.vm.write(volume.number, count * MIB, MIB + 70_000)
            site.vm.scatter(volume.number, 5)
        site.back_up()
    site.vm.stop()
    return site.stamps


def content(path: Path) -> bytes:
    """Return what is on the disk of an image."""
    raw = path.with_suffix(".content")
    run("qemu-img", "convert", "-f", "qcow2", "-O", "raw", path, raw)
    return raw.read_bytes()


@pytest.mark.parametrize("only_different", [True, False])
def test_a_point_is_restored(new_site: SiteFactory, only_different: bool) -> None:
    site = new_site(8 * MIB, 4 * MIB)
    stamps = make_points(site)
    for stamp in stamps:
        outcome = site.restore(site.vm.export(), point=stamp, only_different=only_different)
        # Each export has ended by itself, with its only connection.
        wait_until(lambda: all(process.poll() == 0 for process in site.vm._exports))
        assert site.vm.end_exports() == [0, 0]
        assert [site.holds(stamp, number) for number in range(2)] == [True, True]
        assert {volume.verified for volume in outcome.volumes} == {True}


def test_a_second_restore_changes_nothing(site: Site) -> None:
    make_points(site)
    site.restore(site.vm.export(), point=site.stamps[0])
    site.vm.end_exports()
    outcome = site.restore(site.vm.export(), point=site.stamps[0])
    site.vm.end_exports()
    assert not outcome.is_changed
    assert [volume.state for volume in outcome.volumes] == ["unchanged"]
    assert site.holds(site.stamps[0])


def test_only_what_differs_is_written(site: Site) -> None:
    make_points(site)
    outcome = site.restore(site.vm.export())
    assert outcome.volumes[0].bytes_written == 0
    site.vm.end_exports()
    run("qemu-io", "-f", "qcow2", "-c", "write -P 7 3M 100k", site.vm.volumes[0].path)
    outcome = site.restore(site.vm.export())
    site.vm.end_exports()
    volume = outcome.volumes[0]
    assert 100 << 10 <= volume.bytes_written + volume.bytes_zeroed <= 1.3 * (100 << 10)
    assert (volume.bytes_verified, volume.verified) == (volume.bytes_written + volume.bytes_zeroed, True)
    assert site.holds(site.stamps[-1])


def test_the_next_backup_believes_no_bitmap(site: Site) -> None:
    stamps = make_points(site)
    site.restore(site.vm.export(), point=stamps[0])
    site.vm.end_exports()
    site.vm.start()
    run("cp", site.moments / stamps[0] / "0", site.vm.volumes[0].truth)
    for expected in ("compared", "incremental"):
        outcome = site.back_up()
        assert modes(outcome) == [expected]
        assert site.is_right(stamp_of(outcome))


def test_another_size_is_refused(new_site: SiteFactory) -> None:
    site = new_site(4 * MIB, 4 * MIB)
    stamp = make_points(site)[0]
    site.vm.volumes[1].grow(6 * MIB)
    for volume in site.vm.volumes:
        run("qemu-io", "-f", "qcow2", "-c", "write -P 7 0 1M", volume.path)
    before = [content(volume.path) for volume in site.vm.volumes]
    with pytest.raises(BackupFailure, match=r"has 6291456 bytes and the copy .* 4194304; allow_larger.*Nothing was"):
        site.restore(site.vm.export(), point=stamp)
    site.vm.end_exports()
    assert [content(volume.path) for volume in site.vm.volumes] == before
    run("qemu-io", "-f", "qcow2", "-c", "write -P 7 5M 100k", site.vm.volumes[1].path)
    site.restore(site.vm.export(), point=stamp, allow_larger=True)
    site.vm.end_exports()
    with (site.moments / stamp / "1").open("r+b") as file:
        file.truncate(6 * MIB)
    assert site.holds(stamp, 1)


def test_a_volume_that_shrank_is_refused(site: Site, new_site: SiteFactory) -> None:
    make_points(site)
    smaller = new_site(8 * MIB)
    smaller.vm.stop()
    infos = smaller.vm.export()
    infos[0]["source"] = site.vm.volumes[0].uuid
    with pytest.raises(BackupFailure, match="Nothing was written"):
        site.restore(infos, allow_larger=True)


def test_the_guards_before_a_connection(new_site: SiteFactory) -> None:
    site, other = new_site(4 * MIB), new_site(4 * MIB)
    make_points(site)
    other.vm.stop()
    infos, foreign = site.vm.export(), other.vm.export()
    cases = [
        (foreign, {}, "has no copy of the volume"),
        (infos * 2, {}, "several entries with the volume"),
        ([], {}, "volumes is empty"),
        (infos, {"point": "20200101T000000Z"}, "has no point 20200101T000000Z. Points there: "),
        (infos, {"point": "latest"}, "Omit point for the newest one"),
        (infos, {"point": "../.."}, "has no point"),
    ]
    for targets, options, message in cases:
        with pytest.raises(BackupFailure, match=message):
            site.restore(targets, **options)
    image = site.image(site.stamps[0])
    run("qemu-io", "-f", "qcow2", "-c", "write -P 0xaa 1M 4k", image)
    with pytest.raises(BackupFailure, match="is damaged"):
        site.restore(infos)
    image.unlink()
    with pytest.raises(BackupFailure, match="is not whole"):
        site.restore(infos, check=False)
    # No connection was made, or the exports would have ended.
    assert site.vm.end_exports() == other.vm.end_exports() == [None]


def test_a_check_before_the_vm_is_stopped(new_site: SiteFactory) -> None:
    """The check reads the files of the chosen volumes, and neither connects nor writes."""
    site = new_site(4 * MIB, 4 * MIB)
    make_points(site)
    first, second = (volume.uuid for volume in site.vm.volumes)

    def check(*volumes: str) -> RestoreOutcome:
        return restore(site.repository, RestoreTask(site.vm.uuid, only_checked=volumes), QEMU)

    outcome = check(first, second)
    assert [(volume.volume_uuid, volume.state) for volume in outcome.volumes] == [
        (first, "untouched"),
        (second, "untouched"),
    ]
    assert not outcome.is_changed
    assert not site.repository.was_restored(first)
    # The base of the newest point is damaged.
    run("qemu-io", "-f", "qcow2", "-c", "write -P 0xaa 1M 4k", site.image(site.stamps[0], 1))
    assert len(check(first).volumes) == 1
    with pytest.raises(BackupFailure, match="is damaged"):
        check(first, second)
    with pytest.raises(BackupFailure, match=f"has no copy of the volume {'0' * 32}"):
        check("0" * 32)


def test_a_volume_of_a_vm_that_was_made_again(new_site: SiteFactory) -> None:
    site, again = new_site(4 * MIB), new_site(4 * MIB)
    stamp = make_points(site)[-1]
    again.vm.stop()
    infos = again.vm.export()
    infos[0]["source"] = site.vm.volumes[0].uuid
    site.restore(infos)
    again.vm.end_exports()
    restored = again.vm.volumes[0].path
    command = ["qemu-img", "compare", "-q", "-f", "raw", "-F", "qcow2", site.moments / stamp / "0", restored]
    assert subprocess.run([str(word) for word in command], check=False).returncode == 0
    # The mark is that of the volume that was overwritten.
    assert site.repository.was_restored(again.vm.volumes[0].uuid)
    assert not site.repository.was_restored(site.vm.volumes[0].uuid)


def test_a_prediction_does_not_connect(site: Site) -> None:
    make_points(site)
    infos = site.vm.export()
    outcome = restore(site.repository, RestoreTask(site.vm.uuid, targets=build_targets(infos)), QEMU, predict=True)
    assert outcome.is_changed
    assert site.vm.end_exports() == [None]


def test_a_cut_export_and_a_second_run(new_site: SiteFactory) -> None:
    site = new_site(16 * MIB, 4 * MIB)
    stamp = make_points(site, 1)[0]
    for volume in site.vm.volumes:
        run("qemu-io", "-f", "qcow2", "-c", f"write -P 7 0 {volume.size}", volume.path)
    infos = site.vm.export()
    cutting = threading.Timer(1.0, lambda: site.vm.end_exports(kill=True))
    cutting.start()
    with pytest.raises(BackupFailure, match=r"These volumes are incomplete: .*These were not touched: ") as caught:
        site.restore(infos, point=stamp, rate_limit=4)
    cutting.join()
    assert [volume["state"] for volume in caught.value.result["volumes"]] == ["incomplete", "untouched"]
    assert caught.value.result["changed"] is True
    assert site.repository.was_restored(site.vm.volumes[0].uuid)
    site.restore(site.vm.export(), point=stamp)
    site.vm.end_exports()
    assert [site.holds(stamp, number) for number in range(2)] == [True, True]


def test_what_was_written_is_read_back(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A storage that loses writes is noticed."""
    make_points(site)
    run("qemu-io", "-f", "qcow2", "-c", "write -P 7 3M 100k", site.vm.volumes[0].path)

    def lose(connection: Connection, data: memoryview, offset: int, done: Done) -> None:
        connection.read(bytearray(len(data)), offset, done)

    monkeypatch.setattr(Connection, "write", lose)
    monkeypatch.setattr(Connection, "zero", lambda self, length, *rest: lose(self, memoryview(bytes(length)), *rest))
    with pytest.raises(BackupFailure, match=r"differs from .* at 3145728. These volumes are incomplete"):
        site.restore(site.vm.export())


def test_an_export_that_has_a_client_already(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    import nbd
    from ansible_collections.virtinfra.manager.plugins.module_utils._backup import connection

    monkeypatch.setattr(connection, "CONNECT_TIMEOUT", 2.0)
    make_points(site)
    infos = site.vm.export()
    first = nbd.NBD()
    first.connect_uri(f"nbd://127.0.0.1:{infos[0]['nbd_port']}/{infos[0]['scratch_node_name']}")
    with pytest.raises(BackupFailure, match="does not answer within 2 seconds"):
        site.restore(infos)
    first.shutdown()


@pytest.mark.parametrize("image_format", ["raw", "qcow2"])
def test_files(new_site: SiteFactory, tmp_path: Path, image_format: str) -> None:
    site = new_site(8 * MIB, 4 * MIB)
    stamp = make_points(site)[0]
    task = RestoreTask(site.vm.uuid, stamp, directory=str(tmp_path / "files"), image_format=image_format)
    with pytest.raises(BackupFailure, match=r"must be an existing folder .* vm_backup_restore_to_directory$"):
        restore(site.repository, task, QEMU)
    (tmp_path / "files").mkdir()
    assert restore(site.repository, task, QEMU, predict=True).is_changed
    assert list((tmp_path / "files").iterdir()) == []
    outcome = restore(site.repository, task, QEMU)
    assert [volume.state for volume in outcome.volumes] == ["restored"] * 2
    for volume in site.vm.volumes:
        path = tmp_path / "files" / f"{volume.uuid}.{image_format}"
        moment = site.moments / stamp / str(volume.number)
        run("qemu-img", "compare", "-q", "-f", image_format, "-F", "raw", path, moment)
        assert path.stat().st_mode & 0o077 == 0
    assert not restore(site.repository, task, QEMU).is_changed
    path.write_bytes(b"other")
    with pytest.raises(BackupFailure, match="exists and "):
        restore(site.repository, task, QEMU)
    assert path.read_bytes() == b"other"


@pytest.mark.parametrize(
    "planted", ["link", "dangling link", "hard link", "another user's file", "another task's file"]
)
def test_a_file_that_others_have_planted_is_not_written(site: Site, tmp_path: Path, planted: str) -> None:
    """The folder of a restore may be one in which everybody can create files."""
    make_points(site, 1)
    folder, victim = tmp_path / "files", tmp_path / "victim"
    folder.mkdir()
    partial = folder / f"{site.vm.volumes[0].uuid}.raw.partial"
    with ExitStack() as stack:
        if planted == "dangling link":
            partial.symlink_to(victim)
        else:
            victim.write_text("precious", encoding="utf-8")
            if planted == "link":
                partial.symlink_to(victim)
            elif planted == "hard link":
                partial.hardlink_to(victim)
            else:
                victim.rename(partial)
                victim = partial
        if planted == "another user's file":
            os.chown(partial, 12345, 12345)
        if planted == "another task's file":
            fcntl.flock(stack.enter_context(partial.open()), fcntl.LOCK_EX)
        with pytest.raises(BackupFailure, match=rf"{partial} .*(Remove it|Wait until)"):
            restore(site.repository, RestoreTask(site.vm.uuid, directory=str(folder)), QEMU)
    assert os.path.lexists(partial)
    assert victim == partial or victim.exists() == (planted != "dangling link")
    if victim.exists():
        assert victim.read_text(encoding="utf-8") == "precious"


def test_what_a_killed_restore_has_left_is_replaced(site: Site, tmp_path: Path) -> None:
    make_points(site, 1)
    volume = site.vm.volumes[0].uuid
    (tmp_path / f"{volume}.raw.partial").write_bytes(b"half" * 1000)
    restore(site.repository, RestoreTask(site.vm.uuid, directory=str(tmp_path)), QEMU)
    assert (tmp_path / f"{volume}.raw").read_bytes() == (site.moments / site.stamps[0] / "0").read_bytes()
    assert [path.name for path in tmp_path.glob("*.partial")] == []


@pytest.mark.parametrize("target", ["same", "missing"])
def test_a_link_is_no_restored_file(site: Site, tmp_path: Path, target: str) -> None:
    """Its owner could change what it leads to."""
    make_points(site, 1)
    folder, elsewhere = tmp_path / "files", tmp_path / "elsewhere"
    folder.mkdir()
    if target == "same":
        run("cp", site.moments / site.stamps[0] / "0", elsewhere)
    (folder / f"{site.vm.volumes[0].uuid}.raw").symlink_to(elsewhere)
    with pytest.raises(BackupFailure, match=r"is not a regular file. Remove it, or use another directory"):
        restore(site.repository, RestoreTask(site.vm.uuid, directory=str(folder)), QEMU)


def test_a_planted_file_of_a_repository_is_not_written(site: Site, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious", encoding="utf-8")
    for name in (".lock", ".progress.new"):
        site.folder.path.mkdir(exist_ok=True)
        (site.folder.path / name).symlink_to(victim)
        with suppress(OSError):
            site.back_up()
        (site.folder.path / name).unlink(missing_ok=True)
    assert victim.read_text(encoding="utf-8") == "precious"


def test_a_repository_that_cannot_be_written(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    make_points(site)

    def refuse(*dummy: object) -> bool:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(type(site.repository), "mark_restored", refuse)
    outcome = site.restore(site.vm.export(), point=site.stamps[0])
    site.vm.end_exports()
    assert site.holds(site.stamps[0])
    assert "make its next backup with mode compared or full" in outcome.warnings[0]


def test_a_restore_and_a_backup_at_once(site: Site) -> None:
    make_points(site, 1)
    site.vm.start()
    with site.folder.locked(shared=True), pytest.raises(BackupFailure, match="another task works on"):
        site.back_up(wish=Wish("full"))


def test_a_task_ends_with_its_run(tmp_path: Path) -> None:
    """A change of the file is a sign of life, whatever the clocks say."""
    runs, now = Runs(Repository(str(make_repository(tmp_path)))), 0.0
    check, never = runs.watch("1" * 32, lambda: now), runs.watch(None)
    runs.take("1" * 32, {}, ["2" * 32], (), False)
    file = tmp_path / ".runs" / f"{'1' * 32}.json"
    for now in (1.0, 100.0):
        check()
        os.utime(file, (now, now))
    now = 101.0
    check()
    now = 101.0 + LONGEST_SILENCE
    check()
    now += 1
    with pytest.raises(BackupFailure, match="the controller was silent for 120 s"):
        check()
    assert runs.touch("1" * 32, False) == ["2" * 32]
    check()
    runs.forget("1" * 32, False)
    with pytest.raises(BackupFailure, match="has ended, and this task with it"):
        check()
    never()
    with pytest.raises(BackupFailure, match=r"has no VMs in .* any more"):
        runs.touch("1" * 32, False)
