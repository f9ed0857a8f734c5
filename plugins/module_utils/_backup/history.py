"""The points of a VM, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property

from .coverage import list_missing
from .extents import Share
from .failures import BackupFailure
from .files import hash_file
from .manifest import INCREMENTAL, Point, is_future
from .meter import Meter
from .plan import Base
from .repository import VmFolder

_WRONG_CHECKSUM = "its checksum is not that of the manifest"


@dataclass(frozen=True)
class History:
    """The points of a VM that can be read, oldest first, and by their names why others cannot be.

    An image that cannot be looked at makes its point unreadable, one that is not there does not. A point that is only
    ``predicted`` has no files.
    """

    folder: VmFolder
    now: datetime
    points: Sequence[Point]
    unreadable: dict[str, str]
    predicted: Point | None = None

    @classmethod
    def read(cls, folder: VmFolder, now: datetime) -> History:
        """Return the points of a folder."""
        points, unreadable = [], {}
        for stamp in folder.list_stamps():
            try:
                point = folder.read_point(stamp)
            except BackupFailure as failure:
                unreadable[stamp] = str(failure)
                continue
            points.append(point)
            for volume in point.volumes:
                path = folder.image(stamp, volume.volume_uuid)
                try:
                    path.stat()
                except FileNotFoundError:
                    pass
                except OSError as error:
                    unreadable[stamp] = f"{path} cannot be read: {error.strerror}"
        return cls(folder, now, points, unreadable)

    def add(self, point: Point) -> History:
        """Return the history with a point that is only predicted."""
        return replace(self, points=[*self.points, point], predicted=point)

    @property
    def future(self) -> list[str]:
        """The points whose clock was ahead of this one."""
        return [point.stamp for point in self.points if is_future(point.stamp, self.now)]

    @property
    def present(self) -> list[Point]:
        """The points that are not of the future."""
        return [point for point in self.points if not is_future(point.stamp, self.now)]

    @cached_property
    def problems(self) -> dict[str, list[str]]:
        """What is wrong with the points that cannot be restored completely, by their names."""
        found = {point.stamp: self.list_problems(point) for point in self.points if point is not self.predicted}
        return {stamp: problems for stamp, problems in found.items() if problems}

    def list_problems(self, point: Point) -> list[str]:
        """Return what is wrong with a point, without a look into its files."""
        uuids = [volume.volume_uuid for volume in point.volumes]
        problems = [self.folder.find_problem(self.points, point.stamp, uuid) for uuid in uuids]
        missing = [f"the point has no copy of the volume {volume} of the VM" for volume in list_missing(point)]
        return [problem for problem in problems if problem] + missing

    def list_bases(self, volume_uuid: str) -> list[Base]:
        """Return the whole copies of a volume, newest first. A point of the future is the base of none."""
        return self.folder.list_bases(self.present, volume_uuid)

    def list_counted(self) -> list[str]:
        """Return the points that count when points are kept: those that can be restored completely."""
        return [point.stamp for point in self.present if point.stamp not in self.problems]

    def find_newest_copies(self) -> dict[str, str]:
        """Return for each volume that a point has the newest point with a whole copy of it, if there is one."""
        newest = {}
        for uuid in {volume.volume_uuid for point in self.points for volume in point.volumes}:
            if self.predicted and self.predicted.find(uuid):
                newest[uuid] = self.predicted.stamp
            elif bases := self.list_bases(uuid):
                newest[uuid] = bases[0].stamp
        return newest

    def choose_share(self, stamp: str, volume_uuid: str, count: int) -> tuple[Share, str]:
        """Return which share of a volume to compare with an increment of this copy, and its last point that is right.

        The increments since the last full or compared copy compare one share after the other.
        """
        chain = list(self.folder.list_chain(self.points, stamp, volume_uuid))
        since = next(number for number, (dummy, copied) in enumerate(chain) if copied.mode != INCREMENTAL)
        return Share(since % count, count), chain[min(count - 1, since)][0]

    def find_damage(self, stamp: str, volume_uuid: str, meter: Meter, share: Share | None = None) -> str | None:
        """Read the files of a copy and of those that it is based on. Return what is wrong, None if they are sound.

        With a share, only its files are read, counted from the oldest one. A file whose checksum differs is marked, so
        that nothing is based on it any more. The points that need it are named.
        """
        chain = list(self.folder.list_chain(self.points, stamp, volume_uuid))
        if share:
            chain = [each for number, each in enumerate(reversed(chain)) if share.has(number)]
        labels = {"vm_uuid": self.folder.vm_uuid, "point": stamp, "volume_uuid": volume_uuid}
        meter.begin(sum(copied.file_bytes or 0 for dummy, copied in chain), step="check", **labels)
        found = []
        for each, copied in chain:
            path = self.folder.image(each, volume_uuid)
            try:
                if hash_file(path, count=meter.count) != copied.sha256:
                    found.append(f"{path} is damaged: {_WRONG_CHECKSUM}")
                    self.folder.mark_damaged(each, volume_uuid, _WRONG_CHECKSUM)
            except OSError as error:
                found.append(f"{path} cannot be read: {error.strerror}")
        if not found:
            return None
        having = [point.stamp for point in self.points if point.find(volume_uuid)]
        lost = [each for each in having if self.folder.find_problem(self.points, each, volume_uuid)]
        return f"{'; '.join(found)}. These points cannot be restored any more: {', '.join(lost) or 'none'}"

    def describe_problems(self) -> list[str]:
        """Return sentences for a person about points that cannot be read, are not whole, or are of the future."""
        sentences = []
        for stamp, problem in self.unreadable.items():
            sentences.append(f"The point {stamp} cannot be read, so no point of the VM is deleted: {problem}")
        for stamp, problems in self.problems.items():
            if stamp not in self.unreadable:
                sentences.append(f"The point {stamp} is not whole, and does not count as kept: {'; '.join(problems)}")
        for stamp in self.future:
            sentences.append(
                f"The point {stamp} is of the future, and does not count as kept: the clock of a data mover was wrong"
            )
        return sentences

    def describe_removed(self) -> list[str]:
        """Return sentences about points with the newest copy of a volume that the newest point does not know."""
        newest = self.present[-1:]
        copied = {volume.volume_uuid for point in newest for volume in point.volumes}
        current = copied.union(volume.volume_uuid for point in newest for volume in point.left_out)
        return [
            f"The point {stamp} is kept for the volume {uuid}, which the VM has no more. Delete it by its name when"
            " nobody needs it"
            for uuid, stamp in sorted(self.find_newest_copies().items())
            if uuid not in current
        ]
