"""The folders of a repository.

``ROOT/VM UUID/STAMP`` is a restore point with a manifest and a qcow2 file for each volume. The backing file of a copy
has a relative path, so that a repository can be moved. A folder has its final name only when everything in it is on the
disk; before, and while it is deleted, it has another one.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from .connection import wait_for_events
from .failures import BackupFailure
from .files import open_lock, sync_file, sync_folder, write_private_file
from .manifest import Point, VolumeCopy, check_uuid, format_manifest, is_stamp, is_uuid, read_manifest
from .meter import FILE as PROGRESS
from .plan import Base

MANIFEST = "manifest.json"
PARTIAL = ".partial"
REMOVING = ".removing"

# In the folder of a VM, a file for each copy whose file was found to be damaged, which says why.
DAMAGED = ".damaged"

# In the repository, an empty file for each volume that was restored after its newest point.
RESTORED = ".restored"

# What says that a folder is a repository, and its content. A mount point that is not mounted does not have it.
MARKER = "repository.txt"
_MARKER_TEXT = """\
This folder is a repository of restore points of virtinfra.manager. Nothing is written into a folder without this file,
because it may be a mount point that is not mounted. Copy it with the points.
"""


class Repository:
    """A folder with the points of many VMs."""

    def __init__(self, root: str, initialize: bool | None = None) -> None:
        """Raise BackupFailure for a folder without the marker of a repository, unless it gets one, see ``mark``.

        ``initialize`` is None if the task makes no repository.
        """
        self.root = Path(root)
        if not self.root.is_absolute():
            raise BackupFailure(f"repository must be an absolute path, not {root}")
        # A folder made here would fill the file system below a mount point that is not mounted.
        if self.root.exists() and not self.root.is_dir():
            raise BackupFailure(f"the repository {root} is a file on this machine, and must be a folder")
        if not self.root.is_dir():
            raise BackupFailure(f"the repository {root} does not exist on this machine. Create or mount it")
        self._device = self.root.stat().st_dev
        self.is_marked = self._has_marker()
        outer = next((each for each in self.root.parents if os.path.lexists(each / MARKER)), None)
        if outer and not self.is_marked:
            raise BackupFailure(f"{root} is a folder in the repository {outer}. Give the repository itself: {outer}")
        if not (self.is_marked or initialize):
            reason = f"{root} is not a repository, because it has no {MARKER}. If a file system belongs there, mount it"
            if initialize is not None:
                reason += (
                    ". If this is the first use of the folder, set initialize once, in the role vm_backup"
                    " vm_backup_initialize"
                )
            raise BackupFailure(reason)

    def _has_marker(self) -> bool:
        """Return whether the folder has the marker of a repository. Raise BackupFailure if this cannot be found out."""
        try:
            (self.root / MARKER).stat()
        except FileNotFoundError:
            return False
        except OSError as error:
            raise BackupFailure(f"{self.root / MARKER} cannot be read: {error.strerror}") from error
        return True

    def mark(self) -> None:
        """Make the folder a repository."""
        write_private_file(self.root / MARKER, _MARKER_TEXT)
        sync_folder(self.root)

    def vm(self, vm_uuid: str) -> VmFolder:
        """Return the folder of a VM, which need not exist. Raise BackupFailure for a uuid that is none."""
        name = check_uuid(vm_uuid, "the VM (vm_uuid or vm_uuids, as vm_info returns it)")
        return VmFolder(self.root / name, vm_uuid, self._device)

    def list_vms(self) -> list[str]:
        """Return the uuids of the VMs that have a folder."""
        return sorted(path.name for path in self.root.iterdir() if is_uuid(path.name) and path.is_dir())

    def mark_restored(self, volume_uuid: str) -> bool:
        """Remember that a volume is overwritten, so that its next backup believes no bitmap.

        Return False if the mark is there already. Raise OSError where the repository cannot be written.
        """
        marks = self.root / RESTORED
        marks.mkdir(mode=0o700, exist_ok=True)
        try:
            os.close(os.open(marks / volume_uuid, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            return False
        sync_folder(marks)
        return True

    def was_restored(self, volume_uuid: str) -> bool:
        """Return whether a volume was restored after its newest point. Raise OSError if this cannot be found out."""
        try:
            (self.root / RESTORED / volume_uuid).lstat()
        except FileNotFoundError:
            return False
        return True

    def forget_restored(self, volume_uuids: Iterable[str]) -> None:
        """Remove the marks of volumes."""
        for uuid in volume_uuids:
            with suppress(FileNotFoundError):
                (self.root / RESTORED / uuid).unlink()


class VmFolder:
    """The points of one VM. ``device`` is that of the file system on which the repository was opened."""

    def __init__(self, path: Path, vm_uuid: str, device: int) -> None:
        self.path, self.vm_uuid, self._device = path, vm_uuid, device

    @contextmanager
    def locked(self, shared: bool = False, patience: float = 0.0) -> Iterator[None]:
        """Lock the VM against other tasks that write to its folder, if ``shared`` not against those that also read it.

        The lock ends with its process. Raise BackupFailure if another task keeps it for ``patience`` seconds.
        """
        file = self._open_lock(shared)
        if file is None:
            yield
            return
        try:
            if not _lock(file, fcntl.LOCK_SH if shared else fcntl.LOCK_EX, patience):
                holder = os.pread(file, 200, 0).decode(errors="replace").strip()
                by = f" by {holder}" if holder else ""
                raise BackupFailure(f"another task works on {self.path}: it is locked{by}. Try again later")
            if not shared:
                os.ftruncate(file, 0)
                os.pwrite(file, f"{socket.gethostname()}, process {os.getpid()}\n".encode(), 0)
            yield
        finally:
            os.close(file)

    def _open_lock(self, shared: bool) -> int | None:
        """Return the open lock file. A reader gets None if there is no lock file and none can be made."""
        if not shared:
            self.path.mkdir(mode=0o700, exist_ok=True)
        try:
            return open_lock(self.path / ".lock", os.O_RDONLY) if shared else open_lock(self.path / ".lock")
        except FileNotFoundError:
            if shared:
                return None
            raise

    def clean(self) -> None:
        """Remove what interrupted tasks left. The VM must be locked."""
        for path in self.list_leftovers():
            shutil.rmtree(path)
        with suppress(FileNotFoundError):
            (self.path / PROGRESS).unlink()

    @property
    def progress(self) -> Path:
        """The file with the progress of the task that works on the VM."""
        return self.path / PROGRESS

    def list_stamps(self) -> list[str]:
        """Return the names of the points, oldest first."""
        return sorted(path.name for path in self._list() if is_stamp(path.name))

    def read_point(self, stamp: str) -> Point:
        """Return a point. Raise BackupFailure if its manifest cannot be read."""
        path = self.path / stamp / MANIFEST
        try:
            return read_manifest(path.read_text(encoding="utf-8"), self.vm_uuid, stamp)
        except (OSError, UnicodeDecodeError) as error:
            raise BackupFailure(f"{path} cannot be read: {error}") from error
        except BackupFailure as failure:
            raise BackupFailure(f"{path}: {failure}") from failure

    def read_points(self) -> list[Point]:
        """Return the points whose manifest can be read, oldest first."""
        points = []
        for stamp in self.list_stamps():
            with suppress(BackupFailure):
                points.append(self.read_point(stamp))
        return points

    def image(self, stamp: str, volume_uuid: str) -> Path:
        """Return the path of the copy of a volume."""
        return self.path / stamp / f"{volume_uuid}.qcow2"

    def find_problem(self, points: Iterable[Point], stamp: str, volume_uuid: str) -> str | None:
        """Return why a copy of a volume cannot be restored, None if its file and all that it is based on are there."""
        by_stamp = {point.stamp: point for point in points}
        needed: str | None = stamp
        while needed is not None:
            copy = by_stamp[needed].find(volume_uuid) if needed in by_stamp else None
            if copy is None:
                return f"the point {needed} has no copy of the volume {volume_uuid}"
            path = self.image(needed, volume_uuid)
            try:
                length = path.stat().st_size
            except OSError as error:
                return f"{path} cannot be read: {error.strerror}"
            if length != copy.file_bytes:
                return f"{path} has {length} bytes instead of {copy.file_bytes}"
            if damage := self._read_damage(needed, volume_uuid):
                return f"{path} is damaged: {damage}"
            if copy.base is not None and copy.base >= needed:
                return f"the point {needed} is based on {copy.base}, which is not older"
            needed = copy.base
        return None

    def list_chain(self, points: Iterable[Point], stamp: str, volume_uuid: str) -> Iterator[tuple[str, VolumeCopy]]:
        """Yield the copy of a volume in a point, and those that it is based on, with the names of their points."""
        by_stamp = {point.stamp: point for point in points}
        needed: str | None = stamp
        while needed is not None and needed in by_stamp:
            copy = by_stamp[needed].find(volume_uuid)
            if copy is None:
                return
            yield needed, copy
            # A damaged manifest must not make a circle.
            needed = copy.base if copy.base is not None and copy.base < needed else None

    def mark_damaged(self, stamp: str, volume_uuid: str, reason: str) -> None:
        """Remember that the file of a copy is damaged, so that nothing is based on it and it does not count as kept."""
        marks = self.path / DAMAGED
        marks.mkdir(mode=0o700, exist_ok=True)
        write_private_file(marks / f"{stamp}.{volume_uuid}", reason)

    def _read_damage(self, stamp: str, volume_uuid: str) -> str | None:
        """Return why the file of a copy is damaged, None if this is not known."""
        try:
            return (self.path / DAMAGED / f"{stamp}.{volume_uuid}").read_text(encoding="utf-8") or "it was marked"
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, UnicodeDecodeError):
            return "it was marked"

    def list_bases(self, points: Sequence[Point], volume_uuid: str) -> list[Base]:
        """Return the whole copies of a volume, newest first."""
        return [
            Base(point.stamp, copy.checkpoint, copy.size)
            for point in reversed(points)
            if (copy := point.find(volume_uuid)) and not self.find_problem(points, point.stamp, volume_uuid)
        ]

    def start_point(self, stamp: str) -> Path:
        """Create and return the folder in which a point is written."""
        path = self.path / f"{stamp}{PARTIAL}"
        path.mkdir(mode=0o700)
        return path

    def publish_point(self, point: Point) -> None:
        """Give the folder of a point its manifest and its final name, after everything in it is on the disk."""
        partial = self.path / f"{point.stamp}{PARTIAL}"
        write_private_file(partial / MANIFEST, format_manifest(point))
        for path in partial.iterdir():
            sync_file(path)
        sync_folder(partial)
        self._check_device()
        partial.rename(self.path / point.stamp)
        sync_folder(self.path)

    def _check_device(self) -> None:
        """Raise BackupFailure if another file system than before is mounted at the repository."""
        root = self.path.parent
        if root.stat().st_dev != self._device:
            raise BackupFailure(
                f"{root} is on another file system than when the task began: it was mounted or unmounted meanwhile."
                " There is no point of this session. Mount it, and try again"
            )

    def list_leftovers(self) -> list[Path]:
        """Return the folders of points that tasks are writing or removing, or were when they were killed."""
        return sorted(path for path in self._list() if path.name.endswith((PARTIAL, REMOVING)))

    def discard_partial(self, stamp: str) -> None:
        """Remove the folder of a point that failed."""
        shutil.rmtree(self.path / f"{stamp}{PARTIAL}", ignore_errors=True)

    def remove_points(self, stamps: Iterable[str]) -> None:
        """Remove points in this order. Each loses its name at once, so that no part of a point is ever seen."""
        for stamp in stamps:
            removing = self.path / f"{stamp}{REMOVING}"
            (self.path / stamp).rename(removing)
            sync_folder(self.path)
            shutil.rmtree(removing)
            for mark in (self.path / DAMAGED).glob(f"{stamp}.*"):
                mark.unlink()

    def _list(self) -> list[Path]:
        # A folder that cannot be read is not one without points.
        try:
            return list(self.path.iterdir())
        except FileNotFoundError:
            return []


def _lock(file: int, operation: int, patience: float) -> bool:
    """Lock an open file. Return False if another process keeps the lock for so many seconds."""
    deadline = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(file, operation | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            wait_for_events((), 0.1)
        else:
            return True
