"""Restore points as their manifests describe them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from datetime import datetime, timedelta, timezone
from typing import Any

from .failures import BackupFailure

FORMAT = 1

FULL = "full"
INCREMENTAL = "incremental"
COMPARED = "compared"
MIXED = "mixed"

_STAMP_FORMAT = "%Y%m%dT%H%M%SZ"

# By how much the clocks of data movers may differ. A second point of the same second is some seconds ahead, too.
_LARGEST_DIFFERENCE = timedelta(hours=1)
_STAMP = re.compile(r"\d{8}T\d{6}Z")
_UUID = re.compile(r"[0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True)
class VolumeCopy:
    """What a point has of one volume.

    ``base`` is the point that has the content that this copy lacks, None for a full copy. ``checkpoint`` is the bitmap
    from which the next increment can count. ``sha256`` and ``file_bytes`` are those of the file. ``encrypted`` says
    whether the service encrypts the volume, None if its record does not say it: the copy is in plain text.
    """

    volume_uuid: str
    device_id: int | None
    size: int
    mode: str
    reason: str
    base: str | None
    checkpoint: str | None
    compression: str
    bytes_read: int
    bytes_written: int
    bytes_zeroed: int
    file_bytes: int | None
    sha256: str | None
    verified: bool
    bytes_verified: int = 0
    bytes_compared: int = 0
    encrypted: bool | None = None


# The members that older manifests lack.
_ADDED = ("bytes_verified", "bytes_compared", "encrypted")


@dataclass(frozen=True)
class LeftOut:
    """A volume of the VM that a point does not have on purpose, and why."""

    volume_uuid: str
    name: str | None
    reason: str


@dataclass(frozen=True)
class Point:
    """A restore point: the volumes of a VM at one moment. ``vm`` is the record of the VM."""

    vm_uuid: str
    stamp: str
    vm: Mapping[str, Any]
    volumes: tuple[VolumeCopy, ...]
    left_out: tuple[LeftOut, ...] = ()

    @property
    def mode(self) -> str:
        """The mode of all volumes, or ``mixed``."""
        modes = {volume.mode for volume in self.volumes}
        return modes.pop() if len(modes) == 1 else MIXED

    def find(self, volume_uuid: str) -> VolumeCopy | None:
        """Return the copy of a volume."""
        return next((volume for volume in self.volumes if volume.volume_uuid == volume_uuid), None)

    def describe(self) -> dict[str, Any]:
        """Return the point as results have it."""
        return {
            "vm_uuid": self.vm_uuid,
            "vm_name": self.vm.get("name"),
            "point": self.stamp,
            "created": read_stamp(self.stamp).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "mode": self.mode,
            "file_bytes": sum(volume.file_bytes or 0 for volume in self.volumes),
            "volumes": [asdict(volume) for volume in self.volumes],
            "left_out": [asdict(volume) for volume in self.left_out],
        }


def format_manifest(point: Point) -> str:
    """Return the content of a manifest."""
    members = {
        "format": FORMAT,
        "vm_uuid": point.vm_uuid,
        "point": point.stamp,
        "vm": point.vm,
        "volumes": [asdict(volume) for volume in point.volumes],
        "left_out": [asdict(volume) for volume in point.left_out],
    }
    return json.dumps(members, indent=1, sort_keys=True) + "\n"


def read_manifest(text: str, vm_uuid: str, stamp: str) -> Point:
    """Return the point of a manifest in the folder of this VM and stamp. Raise BackupFailure if it is not of it."""
    try:
        members = json.loads(text)
        if members["format"] != FORMAT:
            raise BackupFailure(f"its format is {members['format']!r}; this version of the collection reads {FORMAT}")
        volumes = tuple(map(_read_volume, members["volumes"]))
        left_out = tuple(LeftOut(**volume) for volume in members.get("left_out", ()))
        point = Point(members["vm_uuid"], members["point"], members["vm"], volumes, left_out)
    except (KeyError, TypeError, ValueError) as error:
        raise BackupFailure(f"it is not a manifest: {type(error).__name__}: {error}") from error
    if (point.vm_uuid, point.stamp) != (vm_uuid, stamp):
        raise BackupFailure(f"it describes the point {point.stamp} of the VM {point.vm_uuid}")
    for volume in volumes:
        check_uuid(volume.volume_uuid, "a volume")
        if volume.base is not None and not is_stamp(volume.base):
            raise BackupFailure(f"its base {volume.base!r} is not a point")
    return point


def _read_volume(members: Mapping[str, Any]) -> VolumeCopy:
    names = [field.name for field in fields(VolumeCopy) if field.name not in _ADDED or field.name in members]
    return VolumeCopy(**{name: members[name] for name in names})


def check_uuid(text: object, what: str) -> str:
    """Return a uuid, which is safe as the name of a file. Raise BackupFailure for any other value."""
    if not isinstance(text, str) or not _UUID.fullmatch(text):
        raise BackupFailure(f"{what} must have a uuid of 32 hexadecimal digits, not a name; it has {text!r}")
    return text


def is_uuid(text: str) -> bool:
    """Return whether a string is a uuid."""
    return bool(_UUID.fullmatch(text))


def is_stamp(text: str) -> bool:
    """Return whether a string is the stamp of a point, such as 20261127T021500Z."""
    if not _STAMP.fullmatch(text):
        return False
    try:
        read_stamp(text)
    except ValueError:
        return False
    return True


def read_stamp(stamp: str) -> datetime:
    """Return the time of a stamp, in UTC."""
    return datetime.strptime(stamp, _STAMP_FORMAT).replace(tzinfo=timezone.utc)


def is_future(stamp: str, now: datetime) -> bool:
    """Return whether a point is of a clock that was wrong, and not only a little ahead of this one."""
    return read_stamp(stamp) > now + _LARGEST_DIFFERENCE


def make_stamp(now: datetime, newest: str | None) -> str:
    """Return the stamp of a new point: the time, or a second after the newest point if the clock is behind it."""
    stamp = now.strftime(_STAMP_FORMAT)
    if newest is None or stamp > newest:
        return stamp
    return (read_stamp(newest) + timedelta(seconds=1)).strftime(_STAMP_FORMAT)
