"""Copy the volumes of an open backup session into a new restore point."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event
from typing import Any

from .clock import Clock
from .connection import Connection, connect_export, list_data, list_dirty
from .copying import Counts, compare, copy, copy_differences, list_non_zero
from .coverage import split_volumes
from .extents import CLUSTER, Extent, Share, align, count_bytes, cut_before, decode_bitmap
from .failures import BackupFailure, ImageFailure, NotEqual
from .files import LaterSync, hash_file
from .history import History
from .images import NONE, QemuImg, open_image
from .manifest import (
    COMPARED,
    FULL,
    INCREMENTAL,
    LeftOut,
    Point,
    VolumeCopy,
    check_uuid,
    is_future,
    make_stamp,
)
from .meter import MIB, Meter
from .plan import Export, VolumePlan, Wish, choose_dirty_context, plan_volume
from .repository import PARTIAL, Repository, VmFolder
from .retention import Retention, check_numbers, choose_kept, choose_named, order_for_deletion
from .runs import Runs
from .space import check_space

# After how many seconds to look again whether a copy becomes a point.
DECISION_INTERVAL = 0.2

# What of a copy is compared with its volume while the session is open.
WRITTEN = "written"
ALL = "all"


@dataclass(frozen=True)
class BackupTask:
    """What a task asks for. ``keep`` is for what is deleted afterwards. It ends with ``run``, of which it is a part.

    The volumes that ``exclude`` matches are not copied. With ``compare_spread``, each increment also compares one of so
    many shares of its volume.

    With ``ask``, its copy becomes a point only when the run decides so, see `Runs.decide`: an export of a stopped VM
    says nothing about a start of the VM.

    It waits ``patience`` seconds for another task that works on the VM: a copy whose controller was killed notices only
    when its session ends that nobody waits for it.
    """

    vm: Mapping[str, Any]
    exports: Sequence[Export]
    wish: Wish = field(default_factory=Wish)
    verify: str = WRITTEN
    compare_spread: int = 0
    compression: str = NONE
    rate_limit: int = 0
    min_free_percent: int = 10
    run: str | None = None
    ask: bool = False
    keep: Mapping[str, int | None] = field(default_factory=dict)
    exclude: Sequence[str] = ()
    patience: float = 20.0

    @property
    def vm_uuid(self) -> str:
        """The uuid of the VM. Raise BackupFailure if its record has none."""
        return check_uuid(self.vm.get("uuid"), "the record of the VM")

    def check(self) -> None:
        """Raise BackupFailure for numbers that make no sense, and volumes that cannot be copied as one point."""
        check_numbers(self.keep)
        if self.compare_spread < 0:
            raise BackupFailure(f"compare_spread must be at least 0, not {self.compare_spread}")
        if self.ask and not self.run:
            raise BackupFailure("ask needs run, which decides")
        uuids = [export.volume_uuid for export in self.exports]
        if not uuids:
            raise BackupFailure("volumes is empty: the backup session has no volume to copy")
        if twice := sorted({uuid for uuid in uuids if uuids.count(uuid) > 1}):
            raise BackupFailure(f"volumes has several entries for {', '.join(twice)}")

    def split(self) -> tuple[list[Export], list[LeftOut]]:
        """Return what is copied, and what is left out on purpose. Raise BackupFailure for a volume that is missing."""
        left_out, missing = split_volumes(self.vm, {export.volume_uuid for export in self.exports}, self.exclude)
        if missing:
            raise BackupFailure(
                f"the backup session lacks the volumes {', '.join(missing)} of the VM, so there is no point of it. If"
                " they were detached meanwhile, try again. A volume can be left out by its name or uuid"
            )
        skipped = {volume.volume_uuid for volume in left_out}
        exports = [export for export in self.exports if export.volume_uuid not in skipped]
        if not exports:
            raise BackupFailure("all volumes of the VM are left out, so there is nothing to copy")
        return exports, left_out


@dataclass
class BackupOutcome:
    """What a task did, or would do: the points before and after, the new or unchanged point, warnings.

    ``problems`` are sentences about points that a person should look at.
    """

    before: list[str]
    after: list[str]
    point: dict[str, Any] | None = None
    retention: Retention = field(default_factory=lambda: Retention([], [], []))
    warnings: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


@dataclass
class _Volume:
    """A volume on its way into the point."""

    export: Export
    source: Connection
    plan: VolumePlan
    extents: list[Extent]
    compression: str
    is_encrypted: bool | None
    counts: Counts = field(default_factory=Counts)
    verified: bool = False
    bytes_verified: int = 0
    bytes_compared: int = 0

    def describe(self, file_bytes: int | None, sha256: str | None) -> VolumeCopy:
        """Return the volume as the manifest has it."""
        return VolumeCopy(
            volume_uuid=self.export.volume_uuid,
            device_id=self.export.device_id,
            size=self.source.size,
            mode=self.plan.mode,
            reason=self.plan.reason,
            base=self.plan.base,
            checkpoint=self.export.checkpoint,
            compression=self.compression,
            bytes_read=self.counts.read,
            bytes_written=self.counts.written,
            bytes_zeroed=self.counts.zeroed,
            file_bytes=file_bytes,
            sha256=sha256,
            verified=self.verified,
            bytes_verified=self.bytes_verified,
            bytes_compared=self.bytes_compared,
            encrypted=self.is_encrypted,
        )


def back_up(repository: Repository, task: BackupTask, qemu: QemuImg, predict: bool = False) -> BackupOutcome:
    """Copy the volumes of a session, then delete the points that ``keep`` does not keep.

    A session whose volumes all are in the newest point is not copied again. ``predict`` only reads. Raise
    BackupFailure; then the repository has the points that it had.
    """
    task.check()
    folder = repository.vm(task.vm_uuid)
    with nullcontext() if predict else folder.locked(patience=task.patience):
        if not predict:
            folder.clean()
        history = History.read(folder, Clock.now())
        outcome = BackupOutcome(folder.list_stamps(), [])
        exports, left_out = task.split()
        if (point := _find_copied(history.points, exports)) is None:
            # An unreadable point counts here: the new one must not get its name.
            stamps = [stamp for stamp in folder.list_stamps() if not is_future(stamp, history.now)]
            stamp = make_stamp(history.now, max(stamps, default=None))
            backup = _Backup(repository, folder, task, qemu, history, left_out, outcome.warnings)
            point = backup.make(stamp, exports, predict)
            if predict:
                history = history.add(point)
        outcome.point = point.describe()
        _keep(history if predict else History.read(folder, history.now), task.keep, outcome, predict)
    return outcome


def delete_points(
    repository: Repository,
    vm_uuid: str,
    keep: Mapping[str, int | None],
    names: Collection[str],
    predict: bool = False,
) -> BackupOutcome:
    """Delete the points of these names, or else those that ``keep`` does not keep. Raise BackupFailure."""
    folder = repository.vm(vm_uuid)
    # A VM that has no folder has no points, and gets no folder.
    with nullcontext() if predict or not folder.path.is_dir() else folder.locked():
        if not predict:
            folder.clean()
        history = History.read(folder, Clock.now())
        outcome = BackupOutcome(folder.list_stamps(), [])
        if not names:
            _keep(history, keep, outcome, predict)
        elif history.unreadable:
            raise BackupFailure(
                "no point of the VM can be deleted, because others may need it that cannot be read:"
                f" {'; '.join(history.unreadable.values())}. Make them readable, or remove their folders"
            )
        else:
            _delete(history, choose_named(history.points, names), outcome, predict)
    return outcome


def _keep(history: History, keep: Mapping[str, int | None], outcome: BackupOutcome, predict: bool) -> None:
    """Delete the points that ``keep`` does not keep, none while one cannot be read, and complete the outcome."""
    copies = history.find_newest_copies().values()
    wanted = {} if history.unreadable else keep
    retention = choose_kept(history.points, wanted, history.list_counted(), history.future, copies)
    outcome.problems += history.describe_problems()
    if any(wanted.values()):
        outcome.problems += history.describe_removed()
    _delete(history, retention, outcome, predict)


def _delete(history: History, retention: Retention, outcome: BackupOutcome, predict: bool) -> None:
    """Delete what the retention says, and complete the outcome."""
    if not predict:
        history.folder.remove_points(order_for_deletion(history.points, retention.deleted))
    outcome.retention = retention
    present = {*outcome.before, *(point.stamp for point in history.points)}
    outcome.after = sorted(present - {*retention.deleted})


def _find_copied(points: Sequence[Point], exports: Sequence[Export]) -> Point | None:
    """Return the point that was made of the same session, if there is one: it has the same new checkpoints."""
    session = {(export.volume_uuid, export.checkpoint) for export in exports}
    for point in reversed(points):
        copied = {(volume.volume_uuid, volume.checkpoint) for volume in point.volumes if volume.checkpoint}
        if copied == session:
            return point
    return None


class _Backup:
    """The making of one point."""

    def __init__(
        self,
        repository: Repository,
        folder: VmFolder,
        task: BackupTask,
        qemu: QemuImg,
        history: History,
        left_out: Sequence[LeftOut],
        warnings: list[str],
    ) -> None:
        self._repository, self._folder, self._task, self._qemu = repository, folder, task, qemu
        self._history, self._warnings = history, warnings
        self._left_out = left_out
        self._stop = Event()

    def make(self, stamp: str, exports: Sequence[Export], predict: bool) -> Point:
        """Return the new point of these volumes, which is in the repository unless it is only predicted."""
        with ExitStack() as stack:
            volumes = [stack.enter_context(self._open_volume(export)) for export in exports]
            check_space(
                self._repository.root, _count_needed(volumes, self._task.compression), self._task.min_free_percent
            )
            if predict:
                for volume in volumes:
                    volume.counts.read = count_bytes(volume.extents)
                copies = [volume.describe(None, None) for volume in volumes]
                return self._build_point(stamp, copies)
            try:
                return self._write_point(stamp, volumes)
            except BaseException:
                # The space of the half-written point is needed, too, for the next attempt.
                self._folder.discard_partial(stamp)
                raise

    def _write_point(self, stamp: str, volumes: Sequence[_Volume]) -> Point:
        """Write the point.

        A file is brought to the disk, and its checksum computed, while this volume is verified or the next one copied.
        """
        self._folder.start_point(stamp)
        meter = self._create_meter()
        with ThreadPoolExecutor(2) as threads:
            try:
                written = [self._write_volume(stamp, volume, meter, threads) for volume in volumes]
                sums = [sha256.result() for sha256, dummy in written]
                for dummy, synced in written:
                    synced.result()
                if self._task.ask:
                    self._wait_for_decision(stamp, meter)
            finally:
                # After a failure, nobody waits for a checksum: the session is still open.
                self._stop.set()
                meter.end()
        copies = []
        for volume, sha256 in zip(volumes, sums):
            length = self._image(stamp, volume).stat().st_size
            copies.append(volume.describe(length, sha256))
        point = self._build_point(stamp, copies)
        self._folder.publish_point(point)
        self._repository.forget_restored(volume.export.volume_uuid for volume in volumes)
        return point

    def _wait_for_decision(self, stamp: str, meter: Meter) -> None:
        """Wait until the run decides that the copy becomes a point. Raise BackupFailure if it does not.

        The exports stay open, so that their ends say nothing before.
        """
        runs, run, uuid = Runs(self._repository), str(self._task.run), self._task.vm_uuid
        check = runs.watch(run)
        meter.begin(0, step="decision", vm_uuid=uuid, point=stamp, volume_uuid=None)
        while (is_right := runs.read_decision(run, uuid)) is None:
            check()
            self._stop.wait(DECISION_INTERVAL)
        if not is_right:
            raise BackupFailure("the VM has changed while it was copied, so there is no point of it")

    def _write_volume(
        self, stamp: str, volume: _Volume, meter: Meter, threads: ThreadPoolExecutor
    ) -> tuple[Future[str], Future[None]]:
        """Copy a volume and verify it. A copy that differs, or whose base cannot be read, is made in another way.

        A comparison also reads the files of its base: it would be right above a damaged one, but nothing could be
        restored. Where the host never has a bitmap, no other copy would find the damage. Return the checksum of the
        image, and a result that is there when the image is on the disk.
        """
        plan, uuid = volume.plan, volume.export.volume_uuid
        share, dummy = _choose_share(self._history, volume, self._task.compare_spread)
        has_to_read = plan.mode == COMPARED or share is not None
        if has_to_read and (damage := self._history.find_damage(str(plan.base), uuid, meter, share)):
            self._plan_full(volume, damage)
        while True:
            try:
                synced = self._copy(stamp, volume, meter, threads)
                return self._hash_and_verify(stamp, volume, meter, threads), synced
            except (NotEqual, ImageFailure) as failure:
                if volume.plan.base is None:
                    raise BackupFailure(f"{failure}. There is no point, because it would be wrong") from failure
                self._plan_again(volume, failure, meter)

    def _plan_again(self, volume: _Volume, failure: NotEqual | ImageFailure, meter: Meter) -> None:
        """Plan a comparison instead of an increment that was wrong, and a full copy if its base is not sound."""
        plan, uuid = volume.plan, volume.export.volume_uuid
        base, (dummy, right) = str(plan.base), _choose_share(self._history, volume, self._task.compare_spread)
        where = f" at {failure.offset}" if isinstance(failure, NotEqual) else ""
        differed = f"the copy differed from the volume{where}" if where else f"its base could not be read: {failure}"
        if damage := self._history.find_damage(base, uuid, meter):
            self._plan_full(volume, f"{differed}, because {damage}")
        elif plan.mode == INCREMENTAL and isinstance(failure, NotEqual):
            reason = f"the increment differed from the volume{where}: the bitmap or the base is wrong"
            self._warnings.append(
                f"volume {uuid}: {reason}. It was copied by comparison, so the new point is right; points since {right}"
                " that were not verified may be wrong"
            )
            volume.plan = replace(plan, mode=COMPARED, reason=reason)
        else:
            self._plan_full(volume, differed)

    def _plan_full(self, volume: _Volume, reason: str) -> None:
        """Plan a full copy instead of one whose base is not sound. Raise BackupFailure if it has no room."""
        self._warnings.append(
            f"volume {volume.export.volume_uuid}: {reason}. It was copied in full, so the new point is right"
        )
        volume.plan = VolumePlan(FULL, reason)
        volume.extents = align(list_data(volume.source), volume.source.size)
        check_space(self._repository.root, count_bytes(volume.extents), self._task.min_free_percent)

    def _copy(self, stamp: str, volume: _Volume, meter: Meter, threads: ThreadPoolExecutor) -> Future[None]:
        """Write the image of a volume, and begin to bring it to the disk."""
        path, plan = self._image(stamp, volume), volume.plan
        path.unlink(missing_ok=True)
        backing = f"../{plan.base}/{path.name}" if plan.base else None
        self._qemu.create(path, volume.source.size, backing, volume.compression)
        with LaterSync(path) as sync, open_image(path, True, volume.compression) as target:
            if plan.mode == COMPARED:
                volume.extents = list_non_zero(volume.source, target, volume.source.size)
            self._begin(meter, stamp, volume, plan.mode, count_bytes(volume.extents))
            if plan.mode == COMPARED:
                volume.counts = copy_differences(volume.source, target, volume.extents, meter)
            else:
                volume.counts = copy(volume.source, target, volume.extents, plan.mode == FULL, meter)
        return threads.submit(sync.run)

    def _hash_and_verify(self, stamp: str, volume: _Volume, meter: Meter, threads: ThreadPoolExecutor) -> Future[str]:
        """Compare the image with the volume, as the task asks for. Raise NotEqual."""
        path, size = self._image(stamp, volume), volume.source.size
        sha256 = threads.submit(hash_file, path, self._stop)
        share, dummy = _choose_share(self._history, volume, self._task.compare_spread)
        volume.bytes_compared = 0
        if share or self._task.verify != NONE:
            with open_image(path) as image:
                verified = _list_to_verify(volume, image, self._task.verify)
                compared = share.cut(list_non_zero(image, volume.source, size)) if share else ()
                extents = align([*verified, *compared], size)
                volume.bytes_verified = count_bytes(verified)
                volume.bytes_compared = count_bytes(extents) - volume.bytes_verified
                self._begin(meter, stamp, volume, "verify", count_bytes(extents))
                compare(image, volume.source, extents, meter)
            volume.verified = self._task.verify != NONE
        return sha256

    @contextmanager
    def _open_volume(self, export: Export) -> Iterator[_Volume]:
        """Connect to a volume and plan its copy."""
        bases = self._history.list_bases(export.volume_uuid)
        wanted = choose_dirty_context(export, bases, self._task.wish)
        wanted_contexts = [wanted] if wanted else []
        was_restored = self._repository.was_restored(export.volume_uuid)
        with connect_export(export, wanted_contexts) as source:
            contexts = source.filter_contexts(wanted_contexts)
            plan = plan_volume(export, source.size, bases, self._task.wish, contexts, was_restored)
            # QEMU compresses whole clusters only.
            compression = NONE if source.size % CLUSTER else self._task.compression
            extents = align(_list_extents(export, source, plan), source.size)
            yield _Volume(export, source, plan, extents, compression, _is_encrypted(self._task.vm, export))

    def _image(self, stamp: str, volume: _Volume) -> Path:
        return self._folder.image(f"{stamp}{PARTIAL}", volume.export.volume_uuid)

    def _build_point(self, stamp: str, copies: Sequence[VolumeCopy]) -> Point:
        return Point(self._task.vm_uuid, stamp, self._task.vm, tuple(copies), tuple(self._left_out))

    def _create_meter(self) -> Meter:
        is_wanted = Runs(self._repository).watch(self._task.run)

        def check() -> None:
            is_wanted()
            check_space(self._repository.root, 0, self._task.min_free_percent)

        return Meter(self._folder.progress, self._task.rate_limit * MIB, check)

    def _begin(self, meter: Meter, stamp: str, volume: _Volume, step: str, total: int) -> None:
        labels = {"vm_uuid": self._task.vm_uuid, "point": stamp, "volume_uuid": volume.export.volume_uuid}
        meter.begin(total, step=step, **labels)


def _list_extents(export: Export, source: Connection, plan: VolumePlan) -> list[Extent]:
    """Return what must be read of a volume."""
    if plan.mode == FULL:
        return list_data(source)
    if plan.mode == COMPARED:
        # At most: what is zero in its base too is found out when the image exists.
        return [Extent(0, source.size)]
    dirty = list_dirty(source, plan.dirty_context) if plan.dirty_context else decode_bitmap(export.bitmap or "")
    return [*dirty, *cut_before(list_data(source), plan.base_size)]


def _count_needed(volumes: Sequence[_Volume], compression: str) -> int:
    """Return how many bytes the point needs at most, as far as it can be known before."""
    if compression != NONE:
        return 0
    return sum(count_bytes(volume.extents) for volume in volumes if volume.plan.mode != COMPARED)


def _choose_share(history: History, volume: _Volume, count: int) -> tuple[Share | None, str]:
    """Return which of ``count`` shares of a volume is compared, too, or None, and the last point that is right."""
    base = str(volume.plan.base)
    if not count or volume.plan.mode != INCREMENTAL:
        return None, base
    return history.choose_share(base, volume.export.volume_uuid, count)


def _list_to_verify(volume: _Volume, image: Connection, verify: str) -> list[Extent]:
    """Return what of a copy to verify. Parts that are zero in both are not read."""
    size = volume.source.size
    if verify == NONE:
        return []
    if verify == ALL:
        return list_non_zero(image, volume.source, size)
    if volume.plan.mode == FULL:
        return align(list_data(image), size)
    return align(volume.counts.extents if volume.plan.mode == COMPARED else volume.extents, size)


def _is_encrypted(vm: Mapping[str, Any], export: Export) -> bool | None:
    """Return whether the service encrypts a volume, None if the record of the VM does not say it."""
    records = vm.get("all_volumes") or ()
    return next((volume.get("encrypted") for volume in records if volume.get("uuid") == export.volume_uuid), None)
