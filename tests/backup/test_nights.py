"""Nights of backups of a whole site, of which each is compared with a model."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.plugin_utils._site.site import Site
from backup.nights import (
    AHEAD,
    CLOCK_AHEAD,
    CLUSTER,
    DAMAGED,
    ENCRYPTED,
    EXCLUDED,
    FIRST_NIGHT,
    GROWN,
    LEFT_OUT,
    MIB,
    REMOVED,
    RENAMED,
    RESTARTED,
    STARTED,
    STOPPED,
    UNMOUNTED,
    Event,
    Made,
    Plan,
    Point,
    Schedule,
    Vm,
    Volume,
    digest,
    has_data,
    is_future,
    schedule_few,
    schedule_many,
)
from backup.process_mover import ProcessMover, at
from backup.role_site import RoleSite

from simulator.launch import Simulator
from support.backups import BackupRunner
from support.kvm_host import run
from support.module_runner import ModuleRunner
from support.workflow_runner import WorkflowRunner

FEW = Plan(vms=4, nights=6, full_every=5, compare_every=3, daily=3, samples=2)
MANY = Plan(vms=50, nights=35, full_every=14, compare_every=7, daily=14, samples=10)

Record = dict[str, Any]

# The pattern of the volumes that are left out, and the query of the VMs that are copied.
PATTERN, QUERY = "scratch-*", ["name~=vm-%"]

# How many days old a newest point may be.
DAYS = 2

TIME = "%Y-%m-%dT%H:%M:%SZ"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder, for workflows that look more often than a person would whether copies have ended."""
    pause = Site.pause
    monkeypatch.setattr(Site, "pause", lambda self, seconds: pause(self, min(seconds, 0.05)))
    return tmp_path


class Nights:
    """A simulated site with real disks, its repository, and the model."""

    def __init__(self, sim: Simulator, folder: Path, plan: Plan, chance: Random) -> None:
        self.sim, self.plan, self._chance = sim, plan, chance
        self.site = RoleSite(sim, folder)
        self.mover = ProcessMover(self.site.repository)
        self._work = WorkflowRunner(sim)
        self._folder, self._seed = folder, 0
        self.restored = self.made = 0
        self.vms = [self._take_vm(number, vm) for number, vm in enumerate(sim.records("vm"))]
        for vm in self.vms:
            for volume in vm.volumes:
                self._write(vm, volume, 0, 4 * CLUSTER)

    def _take_vm(self, number: int, record: Record) -> Vm:
        """Return the model of a VM, which runs."""
        volumes = record["allVolumes"]
        if not has_data(number):
            for each in volumes[1:]:
                self.sim.change("volume", each["uuid"], vmInstanceUuid=None)
            volumes = volumes[:1]
        self.sim.change("vm", record["uuid"], state="Running", hostUuid=record["lastHostUuid"])
        taken = [Volume(each["uuid"], each["name"], bytearray(each["size"])) for each in volumes]
        return Vm(number, record["uuid"], record["name"], taken)

    # ----------------------------------------------------------------------------------------------------- the day

    def pass_day(self, events: list[Event]) -> None:
        """Let guests write, and let happen what happens to VMs."""
        for vm in self.vms:
            if vm.state == "Running" and not vm.is_removed:
                for dummy in range(self._chance.choice((0, 1, 1, 2))):
                    volume = self._chance.choice(vm.volumes)
                    offset = self._chance.randrange(0, len(volume.content) - 3 * CLUSTER) // 512 * 512
                    self._write(vm, volume, offset, self._chance.randrange(512, 3 * CLUSTER, 512))
        for event in events:
            if event.vm is not None and not self.vms[event.vm].is_removed:
                self._happen(event.kind, self.vms[event.vm])

    def _write(self, vm: Vm, volume: Volume, offset: int, length: int) -> None:
        self._seed += 1
        self.sim.guest_write(volume.uuid, offset, length, self._seed)
        volume.content[offset : offset + length] = Random(self._seed).randbytes(length)

    def _happen(self, kind: str, vm: Vm) -> None:
        """Let something happen to a VM, and to its model."""
        if kind in (STOPPED, RESTARTED):
            self.sim.change("vm", vm.uuid, state="Stopped", hostUuid=None)
            vm.state = "Stopped"
            vm.lose_checkpoints()
        if kind in (STARTED, RESTARTED):
            host = next(each["lastHostUuid"] for each in self.sim.records("vm") if each["uuid"] == vm.uuid)
            self.sim.change("vm", vm.uuid, state="Running", hostUuid=host)
            vm.state = "Running"
        elif kind == REMOVED:
            wanted = {"uuid": vm.uuid, "state": "absent", "expunge": True, "data_volumes": "delete"}
            removed = ModuleRunner(self.sim)("vm", wanted)
            assert removed.changed, removed.message
            vm.is_removed = True
        elif kind == RENAMED:
            self._rename(vm, f"vm-{vm.number}-renamed")
        elif kind == EXCLUDED:
            self._rename(vm, f"other-{vm.number}")
            vm.is_excluded = True
        elif kind == DAMAGED:
            self._damage(vm)
        elif kind in (GROWN, ENCRYPTED, LEFT_OUT):
            self._change_volume(kind, vm.volumes[-1])

    def _rename(self, vm: Vm, name: str) -> None:
        self.sim.change("vm", vm.uuid, name=name)
        vm.name = name

    def _change_volume(self, kind: str, volume: Volume) -> None:
        if kind == GROWN:
            volume.content += bytes(MIB)
            self.sim.change("volume", volume.uuid, size=len(volume.content))
        elif kind == ENCRYPTED:
            volume.is_encrypted = True
            self.sim.change("volume", volume.uuid, encrypted=True)
        else:
            volume.name, volume.is_left_out = f"scratch-{volume.name}", True
            self.sim.change("volume", volume.uuid, name=volume.name)

    def _damage(self, vm: Vm) -> None:
        """Write into the first file of the newest chain of a VM, as a disk does that returns what nobody wrote."""
        uuid = vm.volumes[0].uuid
        stamp = vm.points[-1].stamp
        while base := vm.find(stamp).copies[uuid].base:
            stamp = base
        image = self.site.repository / vm.uuid / stamp / f"{uuid}.qcow2"
        length = image.stat().st_size
        mapped = json.loads(run("qemu-img", "map", "--output=json", "-f", "qcow2", image))
        offset = next(each["start"] for each in mapped if each["data"] and not each["zero"])
        run("qemu-io", "-f", "qcow2", "-c", f"write -P 0xaa {offset} {CLUSTER}", image)
        assert image.stat().st_size == length
        vm.find(stamp).copies[uuid].is_damaged = True

    # --------------------------------------------------------------------------------------------------- the night

    def back_up(self, now: datetime) -> None:
        """Back up all VMs, and compare the report and the repository with the model."""
        options: Record = {"exclude_volumes": [PATTERN], "min_free_percent": 0, "concurrency": 4, "per_host": 4}
        rules = {name: getattr(self.plan, name) for name in ("full_every", "compare_every")}
        with at(now):
            ran = BackupRunner(self._work, self.mover)(query=QUERY, keep={"daily": self.plan.daily}, **options, **rules)
        entries = ran.entries
        copied = [vm for vm in self.vms if vm.is_copied]
        if not self.site.repository.joinpath("repository.txt").exists():
            assert {*entries} == {vm.name for vm in copied}
            for entry in entries.values():
                assert (entry["outcome"], "is not a repository" in entry["error"]) == ("failed", True), entry
            return
        expected = {vm.name: vm.back_up(self.plan, now) for vm in copied}
        self.made += len(expected)
        assert {*entries} == {*expected}
        for name, made in expected.items():
            compare_entry(entries[name], made)
        for vm in self.vms:
            found = sorted(path.parent.name for path in (self.site.repository / vm.uuid).glob("*/manifest.json"))
            assert (vm.name, found) == (vm.name, [point.stamp for point in vm.points])
        self._check_that_nothing_is_open()

    def _check_that_nothing_is_open(self) -> None:
        assert {task["status"] for task in self.sim.records("cbttask")} <= {"Stopped", "Created"}
        assert [each for each in self.sim.records("volume") if each["name"].startswith("Cbt-volume-of-")] == []
        assert list(self.site.repository.glob("*/*.partial")) == []

    def report(self, now: datetime) -> Record:
        """Make the page, and compare what it shows with the model. Return the overview."""
        listed = {**self.mover.run("backup_point_info", {"repository": str(self.site.repository)}), "item": "localhost"}
        given: Record = {
            "path": str(self._folder / "backups.html"),
            "repository": str(self.site.repository),
            "query": QUERY,
        }
        given |= {"days": DAYS, "keep": {"daily": self.plan.daily}}
        variables = {f"vm_backup_report_{name}": value for name, value in given.items()}
        with at(now):
            if "points" in listed:
                listed |= self.mover.run("backup_point_info", {"repository": str(self.site.repository)})
            ran = self._work("vm_backup_report", variables, step="calculate", given={"points": [listed]})
        files = {path.suffix: path.read_text(encoding="utf-8") for path in self._folder.glob("backups.*")}
        overview: Record = ran.result["next"]["overview"]
        assert json.loads(files[".json"]) == {**overview, "as_of": now.strftime(TIME)}
        assert f"As of <time>{now:%Y-%m-%d %H:%M} UTC</time>" in files[".html"]
        is_read = not listed.get("failed")
        assert bool(overview["unread"]) is not is_read
        rows = {row["vm"]: row for row in overview["vms"]}
        assert {*rows} == {vm.name for vm in self.vms if vm.is_copied}
        for vm in self.vms:
            if vm.is_copied:
                self._compare_row(rows[vm.name], vm, now, is_read)
                assert vm.name in files[".html"]
        if is_read:
            self._compare_others(overview, now)
        return overview

    def _compare_row(self, row: Record, vm: Vm, now: datetime, is_read: bool) -> None:
        if not is_read:
            assert (row["outcome"], row["points"]) == ("unknown", 0)
            return
        present = vm.list_present(now)
        newest = [point for point in present if vm.seems_whole(point)][-1]
        is_recent = newest.time >= now - timedelta(days=DAYS)
        expected = {
            "vm_uuid": vm.uuid,
            "state": vm.state,
            "outcome": "protected" if is_recent else "overdue",
            "point": newest.stamp,
            "created": newest.time.strftime(TIME),
            "mode": newest.mode,
            "points": len(present),
            "file_bytes": self._sum_sizes(vm, newest),
            "total_bytes": sum(self._sum_sizes(vm, point) for point in present),
            "kept_until": (newest.time + timedelta(days=self.plan.daily)).strftime(TIME),
        }
        assert {name: row[name] for name in expected} == expected

    def _sum_sizes(self, vm: Vm, point: Point) -> int:
        return sum(path.stat().st_size for path in (self.site.repository / vm.uuid / point.stamp).glob("*.qcow2"))

    def _compare_others(self, overview: Record, now: datetime) -> None:
        """Compare what is left out, and the VMs that exist no more."""
        left_out = {(vm.uuid, each) for vm in self.vms if vm.is_copied for each in vm.list_present(now)[-1].left_out}
        names = {volume.uuid: volume.name for vm in self.vms for volume in vm.volumes}
        shown = {(each["vm_uuid"], each["volume"]) for each in overview["volumes"]}
        assert shown == {(vm, names[volume]) for vm, volume in left_out}
        removed = {vm.uuid: len(vm.list_present(now)) for vm in self.vms if vm.is_removed}
        assert {each["vm_uuid"]: each["points"] for each in overview["removed"]} == removed
        assert (overview["leftovers"], overview["outside"]["count"]) == ([], 0)

    # ------------------------------------------------------------------------------------------------- restores

    def restore(self, vm: Vm, point: Point) -> None:
        """Restore a point into files, and compare them with what its volumes had. A damaged one is refused."""
        target = self._folder / "restored"
        target.mkdir()
        options = {"repository": str(self.site.repository), "vm_uuid": vm.uuid, "point": point.stamp}
        result = self.mover.run("backup_restore", {**options, "directory": str(target)})
        if vm.is_sound(point):
            assert not result.get("failed"), result
            found = {path.stem: digest(path.read_bytes()) for path in target.glob("*.raw")}
            assert found == {uuid: copy.digest for uuid, copy in point.copies.items()}, (vm.name, point.stamp)
        else:
            assert (result.get("failed"), "is damaged" in str(result.get("msg"))) == (True, True), result
        self.restored += 1
        shutil.rmtree(target)

    def restore_some(self) -> None:
        """Restore points at random."""
        every = [(vm, point) for vm in self.vms for point in vm.points]
        for vm, point in self._chance.sample(every, min(self.plan.samples, len(every))):
            self.restore(vm, point)

    @contextmanager
    def unmounted(self) -> Iterator[None]:
        """Let the folder of the repository be an empty one, as a mount point that is not mounted."""
        away = self.site.repository.with_name("away")
        self.site.repository.rename(away)
        self.site.repository.mkdir()
        yield
        self.site.repository.rmdir()
        away.rename(self.site.repository)


def compare_entry(entry: Record, made: Made) -> None:
    """Compare what the report says about a VM with what it must say."""
    known = (entry["outcome"], entry["error"], entry["point"], entry["deleted"])
    assert known == (made.outcome, None, made.point, made.deleted), entry
    notes = "\n".join(entry["notes"])
    found = set(re.findall(r"The point (\S+) is (of the future|not whole)", notes))
    found |= {(uuid, "encrypts") for uuid in re.findall(r"The service encrypts the volume (\S+),", notes)}
    assert found == made.notes, entry
    assert ("cannot be restored any more" in entry["why"]) is made.found_damage, entry
    assert (entry["verified"], entry["session_ended"]) == (True, True)


def pass_nights(folder: Path, plan: Plan, schedule: Schedule, chance: Random) -> None:
    """Let all nights pass, then restore each point that is kept, and prove the newest of each VM."""
    with Simulator("--disks", str(folder / "disks"), "--disk-size", "1M", "--latency", "0") as sim:
        sim.reset(vms=plan.vms, cbt_tasks=0)
        nights = Nights(sim, folder, plan, chance)
        for night in range(plan.nights):
            events = schedule.get(night, [])
            kinds = {event.kind for event in events}
            nights.pass_day(events)
            now = FIRST_NIGHT + timedelta(days=night) + (AHEAD if CLOCK_AHEAD in kinds else timedelta())
            if UNMOUNTED in kinds:
                with nights.unmounted():
                    nights.back_up(now)
                    nights.report(now)
            else:
                nights.back_up(now)
                nights.report(now)
            nights.restore_some()
            print(f"night {night}: {nights.made} points made, {nights.restored} restored", flush=True)
        assert_days_are_kept(nights, now)
        for vm in nights.vms:
            for point in vm.points:
                nights.restore(vm, point)
        proved = prove_all(nights, now)
        print(f"{nights.restored} restored, {proved} proved", flush=True)
        nights.mover.close()


def assert_days_are_kept(nights: Nights, now: datetime) -> None:
    """Check that each VM has points of as many days as were asked for: the clock that was wrong has cost none.

    Of a VM whose chain was damaged, there may be fewer that can be restored.
    """
    for vm in nights.vms:
        days = {point.time.date() for point in vm.points if not is_future(point, now)}
        if vm.is_copied and all(map(vm.seems_whole, vm.points)):
            assert len(days) >= nights.plan.daily, (vm.name, days)


def prove_all(nights: Nights, now: datetime) -> int:
    """Let the newest point of each VM run, also of those that are removed, and see it on the page. Return how many."""
    nights.sim.configure(guest_tools=True)
    code, output, report = nights.site.run_role("vm_backup_drill", count=0, watch=0)
    assert (code, {entry["outcome"] for entry in report}) == (0, {"answered"}), output
    assert {entry["vm_uuid"]: entry["point"] for entry in report} == {
        vm.uuid: [point for point in vm.points if vm.seems_whole(point)][-1].stamp for vm in nights.vms if vm.points
    }
    assert all(row["proved"] for row in nights.report(now)["vms"])
    return len(report)


def test_a_few_nights(folder: Path) -> None:
    """Each thing happens once."""
    pass_nights(folder, FEW, schedule_few(FEW), Random(61))


@pytest.mark.nightly
@pytest.mark.parametrize("seed", [62])
def test_many_nights_of_many_vms(folder: Path, seed: int) -> None:
    chance = Random(seed)
    pass_nights(folder, MANY, schedule_many(MANY, chance), chance)
