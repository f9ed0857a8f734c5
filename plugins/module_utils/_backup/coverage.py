"""Which volumes of a VM a point has, and which it lacks. Pure functions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from .manifest import LeftOut, Point

# The types of the volumes that a backup session contains. A volume whose type is not shown may be one of them.
_COPIED_TYPES = (None, "Root", "Data")


def split_volumes(
    vm: Mapping[str, Any], copied: Collection[str], exclude: Sequence[str] = ()
) -> tuple[list[LeftOut], list[str]]:
    """Return the volumes of the record of a VM that are left out on purpose, and those that are missing.

    ``copied`` are the uuids of the volumes that can be copied, and ``exclude`` names, uuids or patterns of volumes.
    """
    left_out: list[LeftOut] = []
    missing: list[str] = []
    for volume in vm.get("all_volumes") or ():
        uuid, name = str(volume.get("uuid")), volume.get("name")
        reason = "it is excluded" if is_excluded(volume, exclude) else None
        if reason is None and uuid not in copied:
            reason = _find_reason(volume)
            if reason is None:
                missing.append(f"{name} ({uuid})" if name else uuid)
        if reason:
            left_out.append(LeftOut(uuid, name, reason))
    return left_out, missing


def is_excluded(volume: Mapping[str, Any], exclude: Iterable[str]) -> bool:
    """Return whether the name or the uuid of a volume matches one of these patterns."""
    known = [str(volume[member]) for member in ("uuid", "name") if volume.get(member)]
    return any(fnmatchcase(each, pattern) for pattern in exclude for each in known)


def list_missing(point: Point) -> list[str]:
    """Return the volumes that the VM had and a point should have."""
    copied = {volume.volume_uuid for volume in point.volumes}
    return split_volumes(point.vm, copied.union(volume.volume_uuid for volume in point.left_out))[1]


def _find_reason(volume: Mapping[str, Any]) -> str | None:
    """Return why the service leaves a volume out of backup sessions, None if it does not."""
    if volume.get("type") not in _COPIED_TYPES:
        return f"its type is {volume['type']}"
    if volume.get("is_shareable"):
        return "it is shareable"
    if volume.get("status") not in (None, "Ready"):
        return f"its status is {volume['status']}"
    return None
