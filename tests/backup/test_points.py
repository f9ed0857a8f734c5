"""Points of a running VM: each is the volume of its moment, however the copy was made."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import socket
import struct
import subprocess
import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._backup.backup import BackupOutcome, back_up
from ansible_collections.virtinfra.manager.plugins.module_utils._backup.failures import BackupFailure
from ansible_collections.virtinfra.manager.plugins.module_utils._backup.listing import list_points
from ansible_collections.virtinfra.manager.plugins.module_utils._backup.plan import Wish
from ansible_collections.virtinfra.manager.plugins.module_utils._backup.repository import Repository
from backup.conftest import SiteFactory
from backup.site import QEMU, Site, modes, stamp_of

from support.collection import ROOT
from support.kvm_host import MIB, encode_bitmap, run
from support.repositories import make_repository


@pytest.mark.parametrize("compression", ["none", "zstd"])
def test_a_chain_of_points_while_the_guest_writes(site: Site, tmp_path: Path, compression: str) -> None:
    site.vm.write(0, 0, 3 * MIB)
    site.vm.write(0, 8 * MIB, 2 * MIB)
    for number in range(5):

        def write(number: int = number) -> None:
            site.vm.scatter(0, 20, 5000)
            site.vm.write(0, 9 * MIB + number * 100_000, 200_000, zeros=True)
            site.vm.write(0, 8 * MIB, 100_000)

        outcome = site.back_up(during=write, compression=compression)
        assert modes(outcome) == ["full" if number == 0 else "incremental"]
        assert outcome.warnings == []
        assert outcome.point is not None
        assert outcome.point["volumes"][0]["verified"]
    assert len(site.stamps) == 5
    assert all(site.is_right(stamp) for stamp in site.stamps)
    checked = list_points(site.repository, None, QEMU)
    assert [point["problems"] for point in checked["points"]] == [[]] * 5

    # The bases have relative paths.
    moved = tmp_path / "elsewhere"
    site.root.rename(moved)
    site.root = moved
    assert all(site.is_right(stamp) for stamp in site.stamps)
    assert modes(site.back_up(compression=compression)) == ["incremental"]
    assert site.is_right(site.stamps[-1])


def test_an_increment_reads_only_what_changed(site: Site) -> None:
    site.vm.write(0, 0, 8 * MIB)
    site.back_up(verify="none")
    site.vm.write(0, 5 * MIB, 300_000)
    outcome = site.back_up(verify="none")
    assert outcome.point is not None
    assert 300_000 <= outcome.point["volumes"][0]["bytes_read"] <= 6 * 65536
    assert site.image(site.stamps[-1]).stat().st_size < MIB


def test_volumes_at_one_point_in_time(new_site: SiteFactory) -> None:
    """A guest numbers its writes to three volumes in turn: no volume of a point may be ahead of one before it."""
    import nbd

    site = new_site(*[8 * MIB] * 3)
    stop = threading.Event()

    def write() -> None:
        handles = []
        for number in range(3):
            handles.append(nbd.NBD())
            handles[-1].connect_uri(f"nbd://127.0.0.1:{site.vm.port}/guest-{number}")
        count = 0
        while not stop.is_set():
            count += 1
            for handle in handles:
                handle.pwrite(struct.pack(">Q", count), 4 * MIB)
                handle.flush()

    guest = threading.Thread(target=write)
    guest.start()
    try:
        for dummy in range(4):
            site.back_up()
    finally:
        stop.set()
        guest.join()
    seen = []
    for stamp in site.stamps:
        numbers = []
        for number in range(3):
            raw = site.root.with_name("one.raw")
            run("qemu-img", "convert", "-O", "raw", site.image(stamp, number), raw)
            with raw.open("rb") as file:
                file.seek(4 * MIB)
                numbers.append(struct.unpack(">Q", file.read(8))[0])
        seen.append(numbers)
        assert numbers[0] >= numbers[1] >= numbers[2] >= numbers[0] - 1
    assert seen[0] < seen[-1]


def test_a_lost_bitmap_means_a_comparison(site: Site) -> None:
    """A comparison reads the whole volume, and writes only what differs from the newest point."""
    site.vm.write(0, 0, 8 * MIB)
    site.back_up()
    site.vm.stop(crash=True)
    site.vm.start()
    site.vm.write(0, MIB, 65536)
    outcome = site.back_up()
    assert modes(outcome) == ["compared"]
    assert outcome.point is not None
    (volume,) = outcome.point["volumes"]
    assert volume["reason"] == "the service offers no increment"
    assert (volume["bytes_written"], volume["verified"], volume["bytes_verified"]) == (65536, True, 65536)
    assert volume["file_bytes"] < MIB
    assert site.is_right(stamp_of(outcome))


def test_two_repositories_in_turn(site: Site, tmp_path: Path) -> None:
    """The host keeps the checkpoint of the last session only, so each copy is compared with the points there."""
    roots = [site.root, make_repository(tmp_path / "second")]
    site.vm.write(0, 0, 4 * MIB)
    for number in range(6):
        site.root = roots[number % 2]
        site.vm.write(0, number * 65536, 65536)
        outcome = site.back_up()
        assert modes(outcome) == ["full" if number < 2 else "compared"]
        assert outcome.point is not None
        assert number < 2 or outcome.point["volumes"][0]["bytes_written"] <= 2 * 65536
        assert site.is_right(stamp_of(outcome))


def test_a_copy_of_closed_points_can_be_checked(site: Site, tmp_path: Path) -> None:
    """The copy for another site lacks what the guide leaves out of it, and the base of a point may not have arrived."""
    guide = (ROOT / "docs" / "docsite" / "rst" / "guide_backup.rst").read_text(encoding="utf-8")
    (command,) = re.findall(r"\$ rsync -a (.*)", guide)
    left_out = shutil.ignore_patterns(*re.findall(r"--exclude='([^']*)'", command))
    site.vm.write(0, 0, MIB)
    stamps = [stamp_of(site.back_up()) for dummy in range(2)]
    (site.folder.path / "20260101T000000Z.partial").mkdir()
    copy = tmp_path / "copy"
    shutil.copytree(site.root, copy, ignore=left_out)
    assert [path.name for path in (copy / site.vm.uuid).iterdir() if path.name not in stamps] == []
    listed = list_points(Repository(str(copy)), None, QEMU)
    assert [(point["point"], point["whole"]) for point in listed["points"]] == [(stamp, True) for stamp in stamps]
    assert listed["leftovers"] == []
    assert [each["folder"] for each in list_points(site.repository, None)["leftovers"]] == [
        str(site.folder.path / "20260101T000000Z.partial")
    ]
    shutil.rmtree(copy / site.vm.uuid / stamps[0])
    (late,) = list_points(Repository(str(copy)), None, QEMU)["points"]
    assert (late["point"], late["whole"]) == (stamps[1], False)


@pytest.mark.parametrize(("verify", "times"), [("none", 0), ("written", 1), ("all", 8)])
def test_what_is_read_for_a_verification(site: Site, verify: str, times: int) -> None:
    site.vm.write(0, 0, 8 * MIB)
    site.back_up(verify=verify)
    site.vm.write(0, 3 * MIB, MIB)
    outcome = site.back_up(verify=verify)
    assert outcome.point is not None
    (volume,) = outcome.point["volumes"]
    assert (volume["bytes_read"], volume["bytes_verified"]) == (MIB, times * MIB)
    assert (modes(outcome), volume["verified"]) == (["incremental"], verify != "none")


def test_an_orderly_restart_keeps_the_bitmap(site: Site) -> None:
    site.vm.write(0, 0, 2 * MIB)
    site.back_up()
    site.vm.stop()
    site.vm.start()
    site.vm.scatter(0, 5)
    outcome = site.back_up()
    assert modes(outcome) == ["incremental"]
    assert site.is_right(stamp_of(outcome))


@pytest.mark.parametrize("compression", ["none", "zstd"])
def test_a_lying_bitmap_is_found_and_healed(site: Site, compression: str) -> None:
    site.vm.write(0, 0, 4 * MIB)
    site.back_up(compression=compression)
    site.vm.write(0, MIB, 100_000)
    outcome = site.back_up(how={"lying": True}, compression=compression, verify="all")
    assert modes(outcome) == ["compared"]
    assert "differed from the volume at" in outcome.warnings[0]
    assert site.is_right(stamp_of(outcome))
    site.vm.scatter(0, 5)
    assert modes(site.back_up(compression=compression)) == ["incremental"]
    assert site.is_right(site.stamps[-1])


def test_without_verifying_a_comparison_heals_a_lying_bitmap(site: Site) -> None:
    site.vm.write(0, 0, 4 * MIB)
    site.back_up(verify="none")
    site.vm.write(0, MIB, 100_000)
    assert modes(site.back_up(how={"lying": True}, verify="none")) == ["incremental"]
    assert not site.is_right(site.stamps[-1])
    outcome = site.back_up(wish=Wish("compared"), verify="none")
    assert modes(outcome) == ["compared"]
    assert site.is_right(stamp_of(outcome))


def test_a_comparison_is_spread_over_increments(site: Site) -> None:
    """Each part of the data is read once in so many, beside what has changed. A whole comparison begins anew."""
    site.vm.write(0, 0, 15 * MIB)
    site.back_up()
    # Stripes of 4 MiB in turn: the first and the last one, the second, the third.
    shares = [7 * MIB, 4 * MIB, 4 * MIB]
    assert [read_for_comparison(site.back_up(compare_spread=3)) for dummy in range(4)] == [*shares, shares[0]]
    site.back_up(wish=Wish("compared"), compare_spread=3)
    assert [read_for_comparison(site.back_up(compare_spread=3)) for dummy in range(3)] == shares


def read_for_comparison(outcome: BackupOutcome) -> int:
    """Return how many bytes of the volume were read for its share."""
    (volume,) = (outcome.point or {})["volumes"]
    assert (volume["mode"], volume["bytes_read"], volume["bytes_verified"]) == ("incremental", 0, 0)
    return int(volume["bytes_compared"])


# Each share, and each way to verify; all pairs in the session nights.
@pytest.mark.parametrize(
    ("offset", "verify"),
    [
        *((0, "written"), (5 * MIB, "none"), (9 * MIB, "written"), (15 * MIB, "none")),
        *(
            pytest.param(offset, verify, marks=pytest.mark.nightly)
            for offset, verify in ((0, "none"), (5 * MIB, "written"), (9 * MIB, "none"), (15 * MIB, "written"))
        ),
    ],
)
def test_a_share_finds_what_a_bitmap_has_missed(site: Site, offset: int, verify: str) -> None:
    """Within as many increments as there are shares. The whole volume is right then, and it is said what may not be."""
    site.vm.write(0, 0, 16 * MIB)
    first = stamp_of(site.back_up())
    site.vm.write(0, offset, 65536)
    site.vm.write(0, 12 * MIB, 65536)
    site.back_up(how={"lying": True})
    outcomes = [site.back_up(compare_spread=3, verify=verify) for dummy in range(3)]
    found = [modes(outcome) == ["compared"] for outcome in outcomes]
    assert sum(found) == 1
    outcome = outcomes[found.index(True)]
    assert "the increment differed from the volume at" in outcome.warnings[0]
    (since,) = re.findall(r"points since (\S+) that were not verified", outcome.warnings[0])
    assert since in (first, site.stamps[1])
    assert not site.is_right(site.stamps[1])
    assert all(site.is_right(stamp_of(each)) for each in outcomes[found.index(True) :])


def test_a_share_finds_a_damaged_file(site: Site) -> None:
    """The files of a chain are read one after the other, also what no volume has any more."""
    site.vm.write(0, 0, 4 * MIB)
    site.back_up()
    site.vm.write(0, MIB, 65536)
    second = stamp_of(site.back_up())
    site.vm.write(0, MIB, 65536)
    site.back_up()
    damage_content(site.image(second))
    outcomes = [site.back_up(compare_spread=4) for dummy in range(4)]
    assert [modes(outcome) for outcome in outcomes].count(["full"]) == 1
    (damaged,) = [outcome for outcome in outcomes if outcome.warnings]
    assert f"{site.image(second)} is damaged" in damaged.warnings[0]
    assert site.is_right(stamp_of(outcomes[-1]))


def damage_content(image: Path) -> None:
    """Change a cluster of an image."""
    run("qemu-io", "-f", "qcow2", "-c", "write -P 0xaa 1M 64k", image)


def damage_tables(image: Path) -> None:
    """Let the first entry of the first table of an image lead nowhere, which QEMU does not survive."""
    with image.open("r+b") as file:
        file.seek(40)
        (level_1,) = struct.unpack(">Q", file.read(8))
        file.seek(level_1)
        (level_2,) = struct.unpack(">Q", file.read(8))
        file.seek(level_2 & 0x00FFFFFFFFFFFE00)
        file.write(struct.pack(">Q", (1 << 63) | 0x12345) * 64)


@pytest.mark.parametrize("damage", [damage_content, damage_tables])
@pytest.mark.parametrize("wish", ["auto", "compared"])
def test_a_damaged_base_means_a_full_copy(site: Site, damage: Callable[[Path], None], wish: str) -> None:
    """A point above it could not be restored. It is said which points are lost, and nothing is based on them."""
    site.vm.write(0, 0, 4 * MIB)
    first, second = stamp_of(site.back_up()), stamp_of(site.back_up())
    damage(site.image(first))
    site.vm.scatter(0, 3)
    outcome = site.back_up(verify="all", wish=Wish(wish, site.checkpoint))
    assert modes(outcome) == ["full"], outcome.warnings
    assert site.is_right(stamp_of(outcome))
    assert f"{site.image(first)} is damaged" in outcome.warnings[0]
    assert outcome.warnings[0].count(f"cannot be restored any more: {first}, {second}") == 1
    assert [point["whole"] for point in list_points(site.repository, None)["points"]] == [False, False, True]
    checked = list_points(site.repository, [site.vm.uuid], QEMU)["points"]
    assert [point["whole"] for point in checked] == [False, False, True]
    following = site.back_up(keep={"last": 1})
    assert modes(following) == ["incremental"]
    assert following.after == site.stamps == [stamp_of(outcome), stamp_of(following)]


def test_a_clock_that_was_a_day_ahead(site: Site) -> None:
    """The point of that night is kept and takes no place, and is the base of none."""
    site.vm.write(0, 0, 4 * MIB)
    first, wrong = stamp_of(site.back_up()), stamp_of(site.back_up())
    future = (datetime.now(timezone.utc) + timedelta(days=1)).strftime("%Y%m%dT%H%M%SZ")
    manifest = site.folder.path / wrong / "manifest.json"
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "point": future}))
    manifest.parent.rename(site.folder.path / future)
    (site.moments / wrong).rename(site.moments / future)
    for mode in ("compared", "incremental"):
        site.vm.scatter(0, 3)
        checkpoint = next(each["checkpoint"] for each in list_points(site.repository, None)["checkpoints"])
        outcome = site.back_up(checkpoint, keep={"last": 1})
        assert (modes(outcome), stamp_of(outcome) < future) == ([mode], True)
        assert f"The point {future} is of the future" in outcome.problems[0]
    assert outcome.retention.kept == [stamp_of(outcome), future]
    assert outcome.retention.bases[0] == first
    assert all(site.is_right(stamp) for stamp in site.stamps)


def test_a_session_that_lacks_a_volume(new_site: SiteFactory) -> None:
    """The session gives no point, unless the volume is left out on purpose, as the point then says."""
    site = new_site(4 * MIB, 4 * MIB)
    record = site.vm.record
    record["all_volumes"][1].update(name="data-1", type="Data", status="Ready", encrypted=False)
    record["all_volumes"][0]["encrypted"] = True

    def copy(infos: list[dict[str, Any]], **options: Any) -> dict[str, Any]:
        task = replace(site.make_task(infos, **options), vm=record)
        return dict(back_up(site.repository, task, QEMU).point or {})

    with site.vm.opened() as infos:
        with pytest.raises(BackupFailure, match=rf"lacks the volumes data-1 \({site.vm.volumes[1].uuid}\)"):
            copy(infos[:1])
        assert site.stamps == []
        excluded = copy(infos, exclude=["data-*"])
    with site.vm.opened() as infos:
        whole = copy(infos)
    assert [volume["encrypted"] for volume in whole["volumes"]] == [True, False]
    assert [len(point["volumes"]) for point in (excluded, whole)] == [1, 2]
    left_out = {"volume_uuid": site.vm.volumes[1].uuid, "name": "data-1", "reason": "it is excluded"}
    manifests = [json.loads((site.folder.path / stamp / "manifest.json").read_text()) for stamp in site.stamps]
    assert [manifest["left_out"] for manifest in manifests] == [[left_out], []]


@pytest.mark.parametrize("is_known", [True, False])
def test_a_checkpoint_that_nobody_copied(site: Site, is_known: bool) -> None:
    """The service offers an increment, but no point has what came before."""
    site.vm.write(0, 0, 2 * MIB)
    site.back_up()
    site.vm.write(0, 4 * MIB, 100_000)
    with site.vm.opened(site.checkpoint) as infos:
        stray = infos[0]["bitmap_name"]
    site.vm.write(0, 6 * MIB, 100_000)
    outcome = site.back_up(stray, wish=Wish(sent_checkpoint=stray if is_known else None))
    assert modes(outcome) == ["compared"]
    assert site.is_right(stamp_of(outcome))


def test_a_hidden_bitmap_is_read_from_the_reply(site: Site) -> None:
    site.vm.write(0, 0, 2 * MIB)
    site.back_up()
    site.vm.write(0, MIB, 100_000)

    def edit(infos: list[dict[str, Any]]) -> None:
        infos[0]["bitmap_base64"] = encode_bitmap([(MIB, 100_000)])

    outcome = site.back_up(how={"hidden": True}, edit=edit)
    assert outcome.point is not None
    assert outcome.point["volumes"][0]["reason"] == "the bitmap of the reply"
    assert site.is_right(stamp_of(outcome))


@pytest.mark.parametrize("how", [{"hidden": True}, {}])
def test_without_any_bitmap_everything_is_compared(site: Site, how: dict[str, bool]) -> None:
    site.vm.write(0, 0, 2 * MIB)
    site.back_up()
    site.vm.write(0, MIB, 100_000)
    site.vm.write(0, 0, 500_000, zeros=True)
    outcome = site.back_up(how=how, wish=Wish("auto" if how else "compared"))
    assert modes(outcome) == ["compared"]
    assert site.is_right(stamp_of(outcome))


def test_the_bitmap_is_found_without_the_name_that_was_sent(site: Site) -> None:
    site.vm.write(0, 0, 2 * MIB)
    site.back_up()
    site.vm.write(0, MIB, 100_000)
    outcome = site.back_up(wish=Wish())
    assert modes(outcome) == ["incremental"]
    assert site.is_right(stamp_of(outcome))


def test_a_volume_that_grew(new_site: SiteFactory) -> None:
    site = new_site(8 * MIB, 4 * MIB)
    site.vm.write(0, 0, 2 * MIB)
    site.back_up()
    site.vm.stop()
    site.vm.volumes[0].grow(12 * MIB)
    site.vm.start()
    site.vm.write(0, 11 * MIB, 100_000)
    site.vm.write(0, MIB, 100_000)
    outcome = site.back_up()
    assert outcome.point is not None
    assert [volume["size"] for volume in outcome.point["volumes"]] == [12 * MIB, 4 * MIB]
    assert site.is_right(stamp_of(outcome))


def test_what_a_volume_grew_by_is_in_no_bitmap(site: Site) -> None:
    """A storage may add space that is not zero, which no guest has written."""
    site.vm.write(0, 0, MIB)
    site.back_up()
    site.vm.stop()
    site.vm.volumes[0].grow(20 * MIB)
    site.vm.start()
    site.vm.write(0, 18 * MIB, 100_000)
    outcome = site.back_up(how={"lying": True}, verify="none")
    assert modes(outcome) == ["incremental"]
    assert site.is_right(stamp_of(outcome))


def test_a_size_that_is_no_multiple_of_a_cluster(new_site: SiteFactory) -> None:
    site = new_site(5 * MIB + 1536)
    site.vm.write(0, 5 * MIB, 1536)
    site.back_up()
    site.vm.write(0, 5 * MIB + 512, 1024)
    site.back_up(compression="zstd")
    site.vm.write(0, 5 * MIB, 1536, zeros=True)
    site.back_up(wish=Wish("compared"))
    assert all(site.is_right(stamp) for stamp in site.stamps)


def test_a_session_is_copied_once(site: Site) -> None:
    site.vm.write(0, 0, MIB)
    with site.vm.opened() as infos:
        first = back_up(site.repository, site.make_task(infos), QEMU)
        again = back_up(site.repository, site.make_task(infos), QEMU)
    assert again.point == first.point
    assert again.before == again.after == site.stamps


def test_a_prediction_writes_nothing(site: Site) -> None:
    site.vm.write(0, 0, MIB)
    with site.vm.opened() as infos:
        predicted = back_up(site.repository, site.make_task(infos), QEMU, predict=True)
        assert not site.folder.path.exists()
        outcome = back_up(site.repository, site.make_task(infos), QEMU)
    assert predicted.point is not None
    assert outcome.point is not None
    assert predicted.point["mode"] == outcome.point["mode"]
    assert predicted.point["volumes"][0].keys() == outcome.point["volumes"][0].keys()
    assert predicted.point["volumes"][0]["bytes_read"] == outcome.point["volumes"][0]["bytes_read"]


def test_retention_is_predicted(site: Site) -> None:
    """The predicted point takes its place as if it were there."""
    for dummy in range(3):
        site.vm.scatter(0, 3)
        site.back_up(wish=Wish("full"))
    with site.vm.opened() as infos:
        task = site.make_task(infos, wish=Wish("full"), keep={"last": 2})
        predicted = back_up(site.repository, task, QEMU, predict=True)
        outcome = back_up(site.repository, task, QEMU)
    assert predicted.retention.deleted == outcome.retention.deleted == predicted.before[:2]
    assert predicted.problems == outcome.problems == []


def test_retention_after_a_point(site: Site) -> None:
    site.vm.write(0, 0, MIB)
    for number in range(6):
        site.vm.scatter(0, 3)
        site.back_up(wish=Wish("full") if number == 3 else None)
    stamps = site.stamps
    outcome = site.back_up(keep={"last": 2})
    # The newest two are based on the fourth and fifth.
    assert outcome.retention.deleted == stamps[:3]
    assert outcome.retention.bases == stamps[3:5]
    assert site.stamps == outcome.after
    assert all(site.is_right(stamp) for stamp in site.stamps)


def test_too_little_space(site: Site) -> None:
    site.vm.write(0, 0, MIB)
    with pytest.raises(BackupFailure, match="the repository has too little space"):
        site.back_up(min_free_percent=100)
    assert site.stamps == []


def test_an_export_that_does_not_exist(site: Site) -> None:
    def edit(infos: list[dict[str, Any]]) -> None:
        infos[0]["scratch_node_name"] = "other"

    with pytest.raises(BackupFailure, match="the export other of the volume"):
        site.back_up(edit=edit)
    assert list(site.folder.path.glob("*.partial")) == []


def test_files_are_private(site: Site) -> None:
    site.back_up()
    modes_of_files = {path.name: path.stat().st_mode & 0o077 for path in site.folder.path.rglob("*")}
    assert set(modes_of_files.values()) == {0}
    assert subprocess.run(["pgrep", "-f", f"qemu-nbd.*{site.root}"], check=False, capture_output=True).stdout == b""


def test_a_copy_gets_no_memory_for_each_request(new_site: SiteFactory) -> None:
    """The server of the image keeps its buffers: with new ones, each page that is copied is a page fault."""
    import resource

    site = new_site(128 * MIB)
    for offset in range(0, 128 * MIB, 32 * MIB):
        site.vm.write(0, offset, 32 * MIB)
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt
    site.back_up(verify="none")
    faults = resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt - before
    assert faults < 128 * MIB // resource.getpagesize() // 2
    assert site.is_right(site.stamps[-1])


def test_an_image_that_does_not_reach_the_disk(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such an image gives no point. The system reports the error once, and not to those who open it later."""
    errors = [OSError(errno.EIO, os.strerror(errno.EIO))]
    sync = os.fsync

    def fail_once(descriptor: int) -> None:
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        if path.suffix == ".qcow2" and errors:
            raise errors.pop()
        sync(descriptor)

    site.vm.write(0, 0, MIB)
    monkeypatch.setattr(os, "fsync", fail_once)
    with pytest.raises(BackupFailure, match=r"\.qcow2 could not be written to the disk: Input/output error"):
        site.back_up()
    assert (site.stamps, errors) == ([], [])
    assert list(site.folder.path.glob("*.partial")) == []
    site.back_up()
    assert site.is_right(site.stamps[-1])


def test_the_handshake_waits_for_no_acknowledgement(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """The option lasts for a few packets, so it is set again before each part of the handshake is awaited."""
    options: list[tuple[Any, ...]] = []

    class Spy(socket.socket):
        def setsockopt(self, *arguments: Any) -> None:
            options.append(arguments)
            super().setsockopt(*arguments)

    monkeypatch.setattr(socket, "socket", Spy)
    site.back_up()
    assert options.count((socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)) >= 2
    assert (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1) in options
