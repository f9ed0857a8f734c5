"""Write a restore point back: into the exports of a stopped VM, or into files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from .connection import Connection, connect_export, list_data
from .copying import Counts, compare, copy, copy_differences, list_non_zero, zero
from .extents import Extent, align, count_bytes, cut_before
from .failures import BackupFailure
from .files import hash_file, partial_file, sync_file, sync_folder
from .images import QemuImg, open_image
from .manifest import Point, VolumeCopy, is_stamp
from .meter import MIB, Meter, ending
from .plan import Export
from .repository import Repository, VmFolder
from .runs import Runs
from .space import check_space

# What became of a volume: the words in results.
UNTOUCHED = "untouched"
INCOMPLETE = "incomplete"
UNCHANGED = "unchanged"
RESTORED = "restored"


@dataclass(frozen=True)
class RestoreTask:
    """What a task asks for. ``targets`` are pairs of an export and the uuid of the volume whose copy it gets.

    With ``only_checked``, it only checks the copies of these volumes. Without ``remember``, the repository does not
    learn which volumes were written. It ends with ``run``, of which it is a part.
    """

    vm_uuid: str
    point: str | None = None
    targets: Sequence[tuple[Export, str]] = ()
    directory: str | None = None
    only_checked: Sequence[str] = ()
    image_format: str = "raw"
    only_different: bool = True
    allow_larger: bool = False
    check: bool = True
    verify: bool = True
    remember: bool = True
    rate_limit: int = 0
    run: str | None = None


@dataclass
class RestoredVolume:
    """What became of a volume. ``target`` is the volume that was overwritten, or the file."""

    volume_uuid: str
    target: str
    size: int
    state: str = UNTOUCHED
    bytes_read: int = 0
    bytes_written: int = 0
    bytes_zeroed: int = 0
    bytes_verified: int = 0
    verified: bool = False

    def add(self, counts: Counts) -> None:
        """Add what was done."""
        self.bytes_read += counts.read
        self.bytes_written += counts.written
        self.bytes_zeroed += counts.zeroed

    @property
    def is_changed(self) -> bool:
        """Whether anything was written."""
        return bool(self.bytes_written or self.bytes_zeroed)


@dataclass
class RestoreOutcome:
    """What a task did, or would do."""

    point: dict[str, Any]
    volumes: list[RestoredVolume]
    warnings: list[str] = field(default_factory=list)

    @property
    def is_changed(self) -> bool:
        """Whether a volume or a file was changed, or would be."""
        return any(volume.state in (RESTORED, INCOMPLETE) for volume in self.volumes)

    def describe(self) -> list[dict[str, Any]]:
        """Return the volumes as results have them."""
        return [asdict(volume) for volume in self.volumes]


def restore(repository: Repository, task: RestoreTask, qemu: QemuImg, predict: bool = False) -> RestoreOutcome:
    """Write a point back. ``predict`` neither writes nor connects: an export ends with its first connection.

    Raise BackupFailure; its ``result`` says what became of each volume.
    """
    folder = repository.vm(task.vm_uuid)
    # A prediction is no part of a run, which takes no VM then.
    watch = Runs(repository).watch(None if predict else task.run)
    meter = Meter(None if predict else folder.progress, task.rate_limit * MIB, watch)
    with folder.locked(shared=True), ending(meter):
        points = folder.read_points()
        point = _choose_point(folder, points, task.point)
        copies = _choose_copies(point, task)
        for copy_of_volume in copies:
            if problem := folder.find_problem(points, point.stamp, copy_of_volume.volume_uuid):
                raise BackupFailure(f"the point {point.stamp} is not whole: {problem}")
        if task.check:
            _check_files(folder, points, point, copies, meter)
        if task.only_checked:
            _check_structure(folder, points, point, copies, qemu)
        outcome = RestoreOutcome(point.describe(), _list_volumes(task, copies))
        try:
            if task.only_checked:
                pass
            elif task.directory is not None:
                _Files(folder, point, task, qemu, outcome).restore(copies, predict)
            elif predict:
                _mark(outcome.volumes, RESTORED)
            else:
                _Volumes(repository, folder, point, task, outcome, meter).restore()
        except BackupFailure as failure:
            failure.result.update(volumes=outcome.describe(), changed=outcome.is_changed)
            raise
    return outcome


def _choose_point(folder: VmFolder, points: Sequence[Point], stamp: str | None) -> Point:
    """Return the point of this stamp, without one the newest. Raise BackupFailure."""
    if stamp is not None and is_stamp(stamp) and stamp in folder.list_stamps():
        return folder.read_point(stamp)
    if stamp is None and points:
        return points[-1]
    known = ", ".join(point.stamp for point in points) or "none"
    what = "no point" if stamp is None else f"no point {stamp}"
    hint = ". Omit point for the newest one" if points else ""
    raise BackupFailure(f"{folder.path} has {what}. Points there: {known}{hint}")


def _choose_copies(point: Point, task: RestoreTask) -> list[VolumeCopy]:
    """Return the copy for each target, for a directory all. Raise BackupFailure."""
    if task.directory is not None:
        return list(point.volumes)
    if task.only_checked:
        return [_find_copy(point, uuid, "") for uuid in dict.fromkeys(task.only_checked)]
    if not task.targets:
        raise BackupFailure("volumes is empty: there is nothing to restore into")
    for name, uuids in (
        ("volume", [export.volume_uuid for export, dummy in task.targets]),
        ("source", [source for dummy, source in task.targets]),
    ):
        if twice := sorted({uuid for uuid in uuids if uuids.count(uuid) > 1}):
            raise BackupFailure(f"volumes has several entries with the {name} {', '.join(twice)}")
    hint = ". Name one of them as the source of "
    return [_find_copy(point, source, f"{hint}{export.volume_uuid}") for export, source in task.targets]


def _find_copy(point: Point, volume_uuid: str, hint: str) -> VolumeCopy:
    """Return the copy of a volume. Raise BackupFailure, with a hint, if the point has none."""
    if (found := point.find(volume_uuid)) is None:
        known = ", ".join(volume.volume_uuid for volume in point.volumes)
        raise BackupFailure(
            f"the point {point.stamp} has no copy of the volume {volume_uuid}. It has copies of {known}{hint}"
        )
    return found


def _check_files(
    folder: VmFolder, points: Sequence[Point], point: Point, copies: Iterable[VolumeCopy], meter: Meter
) -> None:
    """Raise BackupFailure if a file that a copy needs is damaged."""
    for volume in copies:
        chain = folder.list_chain(points, point.stamp, volume.volume_uuid)
        files = [(folder.image(stamp, volume.volume_uuid), copied.sha256) for stamp, copied in chain]
        labels = {"vm_uuid": folder.vm_uuid, "point": point.stamp, "volume_uuid": volume.volume_uuid}
        meter.begin(sum(path.stat().st_size for path, dummy in files), step="check", **labels)
        for path, expected in files:
            if hash_file(path, count=meter.count) != expected:
                raise BackupFailure(f"{path} is damaged: its checksum is not that of the manifest")


def _check_structure(
    folder: VmFolder, points: Sequence[Point], point: Point, copies: Iterable[VolumeCopy], qemu: QemuImg
) -> None:
    """Raise BackupFailure if QEMU finds a fault in a file that a copy needs."""
    for volume in copies:
        for stamp, dummy in folder.list_chain(points, point.stamp, volume.volume_uuid):
            if fault := qemu.find_fault(folder.image(stamp, volume.volume_uuid)):
                raise BackupFailure(f"{folder.image(stamp, volume.volume_uuid)} is damaged: {fault}")


def _list_volumes(task: RestoreTask, copies: Sequence[VolumeCopy]) -> list[RestoredVolume]:
    if task.directory is not None:
        folder = Path(task.directory)
        names = [str(folder / f"{each.volume_uuid}.{task.image_format}") for each in copies]
    elif task.only_checked:
        names = [each.volume_uuid for each in copies]
    else:
        names = [export.volume_uuid for export, dummy in task.targets]
    return [RestoredVolume(each.volume_uuid, name, each.size) for each, name in zip(copies, names)]


def _mark(volumes: Iterable[RestoredVolume], state: str) -> None:
    for volume in volumes:
        volume.state = state


class _Volumes:
    """A restore into the exports of a stopped VM, with one connection for each, because it ends the export."""

    def __init__(
        self,
        repository: Repository,
        folder: VmFolder,
        point: Point,
        task: RestoreTask,
        outcome: RestoreOutcome,
        meter: Meter,
    ) -> None:
        self._repository, self._folder, self._point, self._task = repository, folder, point, task
        self._outcome, self._meter = outcome, meter

    def restore(self) -> None:
        """Compare all sizes, then write volume after volume."""
        with ExitStack() as stack:
            targets = [stack.enter_context(connect_export(export)) for export, dummy in self._task.targets]
            self._compare_sizes(targets)
            try:
                for target, volume in zip(targets, self._outcome.volumes):
                    self._restore_volume(target, volume)
            except BackupFailure as failure:
                raise BackupFailure(self._describe_failure(failure)) from failure

    def _compare_sizes(self, targets: Sequence[Connection]) -> None:
        """Raise BackupFailure if a volume has another size than its copy."""
        for target, volume in zip(targets, self._outcome.volumes):
            if target.size < volume.size or (target.size > volume.size and not self._task.allow_larger):
                larger = "; allow_larger permits a larger one" if target.size > volume.size else ""
                raise BackupFailure(
                    f"the volume {volume.target} has {target.size} bytes and the copy of {volume.volume_uuid}"
                    f" {volume.size}{larger}. Nothing was written"
                )

    def _restore_volume(self, target: Connection, volume: RestoredVolume) -> None:
        is_new = self._remember(volume)
        volume.state = INCOMPLETE
        path = self._folder.image(self._point.stamp, volume.volume_uuid)
        with open_image(path) as source:
            counts = self._write(source, target, volume)
            volume.add(counts)
            if target.size > volume.size:
                volume.add(zero(target, cut_before(list_data(target), volume.size), self._meter))
            if self._task.verify:
                # What was not written was compared just before, and the VM is off meanwhile.
                extents = align(counts.extents, volume.size)
                volume.bytes_verified = count_bytes(extents)
                self._begin(volume, "verify", extents)
                compare(source, target, extents, self._meter)
                volume.verified = True
        volume.state = RESTORED if volume.is_changed else UNCHANGED
        if is_new and not volume.is_changed:
            self._repository.forget_restored([volume.target])

    def _write(self, source: Connection, target: Connection, volume: RestoredVolume) -> Counts:
        extents = list_non_zero(source, target, volume.size)
        self._begin(volume, "restore", extents)
        if self._task.only_different:
            return copy_differences(source, target, extents, self._meter)
        return copy(source, target, extents, False, self._meter)

    def _remember(self, volume: RestoredVolume) -> bool:
        """Mark the volume, so that its next backup believes no bitmap. Return whether it was not marked yet."""
        if not self._task.remember:
            return False
        try:
            return self._repository.mark_restored(volume.target)
        except OSError as error:
            self._outcome.warnings.append(
                f"the repository cannot be written ({error.strerror}), so it does not know that the volume"
                f" {volume.target} was restored: make its next backup with mode compared or full"
            )
            return False

    def _begin(self, volume: RestoredVolume, step: str, extents: Sequence[Extent]) -> None:
        labels = {"vm_uuid": self._task.vm_uuid, "point": self._point.stamp, "volume_uuid": volume.target}
        self._meter.begin(count_bytes(extents), step=step, **labels)

    def _describe_failure(self, failure: BackupFailure) -> str:
        """Return the message about a restore that did not end, which says what became of each volume."""
        incomplete = [volume.target for volume in self._outcome.volumes if volume.state == INCOMPLETE]
        untouched = [volume.target for volume in self._outcome.volumes if volume.state == UNTOUCHED]
        parts = [f"{failure}. These volumes are incomplete: {', '.join(incomplete)}"]
        if untouched:
            parts.append(f"These were not touched: {', '.join(untouched)}")
        parts.append("Do not start the VM. Export the volumes again and repeat the restore")
        return ". ".join(parts)


class _Files:
    """A restore into files of a folder, one for each volume. Files that exist are never overwritten."""

    def __init__(
        self, folder: VmFolder, point: Point, task: RestoreTask, qemu: QemuImg, outcome: RestoreOutcome
    ) -> None:
        self._folder, self._point, self._task, self._outcome = folder, point, task, outcome
        self._qemu = qemu

    def restore(self, copies: Sequence[VolumeCopy], predict: bool) -> None:
        """Write the files that are not there."""
        directory = Path(self._task.directory or "")
        if not directory.is_absolute() or not directory.is_dir():
            raise BackupFailure(
                f"directory must be an existing folder with an absolute path, not {directory}. In the role"
                " vm_backup_restore it is vm_backup_restore_to_directory"
            )
        missing = [volume for volume in self._outcome.volumes if not self._is_there(volume)]
        # A file of one's own can be sparse, so this is the least that is needed.
        needed = {each.volume_uuid: each.file_bytes or 0 for each in copies}
        check_space(directory, sum(needed[volume.volume_uuid] for volume in missing), 0)
        for volume in missing:
            if not predict:
                self._convert(volume)
            volume.state = RESTORED
        sync_folder(directory)

    def _is_there(self, volume: RestoredVolume) -> bool:
        """Return whether the file exists with the right content. Raise BackupFailure for another content."""
        path = Path(volume.target)
        if not os.path.lexists(path):
            return False
        # The owner of a link could change what it leads to.
        if path.is_symlink() or not path.is_file():
            raise BackupFailure(f"{path} is not a regular file. Remove it, or use another directory")
        try:
            is_equal = self._qemu.are_equal(self._image(volume), path, self._task.image_format)
        except BackupFailure as failure:
            raise BackupFailure(f"{path} exists and cannot be compared: {failure}") from failure
        if not is_equal:
            raise BackupFailure(f"{path} exists and has another content. Remove it, or use another directory")
        volume.state, volume.verified = UNCHANGED, True
        return True

    def _convert(self, volume: RestoredVolume) -> None:
        path = Path(volume.target)
        with partial_file(path.with_name(f"{path.name}.partial")) as partial:
            self._qemu.convert(self._image(volume), partial, self._task.image_format)
            if self._task.verify:
                if not self._qemu.are_equal(self._image(volume), partial, self._task.image_format):
                    raise BackupFailure(f"{partial} differs from the point after it was written")
                volume.verified = True
            sync_file(partial)
            partial.rename(path)

    def _image(self, volume: RestoredVolume) -> Path:
        return self._folder.image(self._point.stamp, volume.volume_uuid)


def build_targets(infos: Iterable[Mapping[str, Any]]) -> list[tuple[Export, str]]:
    """Return the targets of the entries of ExportNbdVolumes, each with its ``source`` or its own uuid."""
    targets = []
    for info in infos:
        export = Export.from_info(info)
        targets.append((export, str(info.get("source") or export.volume_uuid)))
    return targets
