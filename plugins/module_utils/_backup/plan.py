"""How each volume of an open backup session is copied, and why. Pure functions."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .failures import BackupFailure
from .manifest import COMPARED, FULL, INCREMENTAL, check_uuid

AUTO = "auto"
DIRTY = "qemu:dirty-bitmap:"


@dataclass(frozen=True)
class Export:
    """A volume that can be reached over NBD, as the reply of EnableCbtTask or ExportNbdVolumes has it.

    ``checkpoint``, ``bitmap`` and ``is_incremental`` are those of a backup session.
    """

    volume_uuid: str
    device_id: int | None
    address: str
    port: int
    name: str
    checkpoint: str | None = None
    bitmap: str | None = None
    is_incremental: bool = False

    @classmethod
    def from_info(cls, info: Mapping[str, Any]) -> Export:
        """Return the export of an entry of the reply, with names in snake case. Raise BackupFailure if it lacks one."""
        volume = info.get("volume") or {}
        uuid = check_uuid(volume.get("volume_uuid") or volume.get("resource_uuid"), "each entry of volumes")
        missing = [name for name in ("nbd_server", "nbd_port", "scratch_node_name") if info.get(name) in (None, "")]
        if missing:
            raise BackupFailure(f"the entry of volumes for {uuid} lacks {', '.join(missing)}")
        return cls(
            volume_uuid=uuid,
            device_id=volume.get("device_id"),
            address=str(info["nbd_server"]),
            port=int(info["nbd_port"]),
            name=str(info["scratch_node_name"]),
            checkpoint=info.get("bitmap_name") or None,
            bitmap=info.get("bitmap_base64") or None,
            is_incremental=info.get("mode") == INCREMENTAL,
        )

    def __str__(self) -> str:
        return f"the export {self.name} of the volume {self.volume_uuid} at {self.address}:{self.port}"


@dataclass(frozen=True)
class Base:
    """A point whose copy of a volume is whole, with all that it is based on."""

    stamp: str
    checkpoint: str | None
    size: int


@dataclass(frozen=True)
class VolumePlan:
    """How a volume is copied.

    ``dirty_context`` names the bitmap to read over NBD; without it, an increment uses that of the reply. What lies
    behind ``base_size`` is new, and in no bitmap.
    """

    mode: str
    reason: str
    base: str | None = None
    base_size: int = 0
    dirty_context: str | None = None


@dataclass(frozen=True)
class Wish:
    """What a task asks for. ``sent_checkpoint`` is the bitmap name with which the session was opened, if known."""

    mode: str = AUTO
    sent_checkpoint: str | None = None


def choose_dirty_context(export: Export, bases: Sequence[Base], wish: Wish) -> str | None:
    """Return the meta context to ask the export for, None if no increment is possible. ``bases`` are newest first."""
    checkpoint = wish.sent_checkpoint or (bases[0].checkpoint if bases else None)
    return DIRTY + checkpoint if checkpoint and export.is_incremental and bases else None


def plan_volume(
    export: Export, size: int, bases: Sequence[Base], wish: Wish, contexts: Collection[str], was_restored: bool
) -> VolumePlan:
    """Return how a volume of ``size`` bytes is copied.

    ``bases`` are its copies in whole points, newest first; ``contexts`` are the meta contexts that the export has.
    """
    if not bases:
        return VolumePlan(FULL, "the repository has no whole point with the volume")
    newest = bases[0]
    if wish.mode == FULL:
        return VolumePlan(FULL, "the task asks for it")
    if size < newest.size:
        return VolumePlan(FULL, f"the volume shrank from {newest.size} to {size} bytes")
    if wish.mode == COMPARED:
        return VolumePlan(COMPARED, "the task asks for it", newest.stamp, newest.size)
    if was_restored:
        return VolumePlan(COMPARED, "the volume was restored after its newest point", newest.stamp, newest.size)
    if not export.is_incremental:
        return VolumePlan(COMPARED, "the service offers no increment", newest.stamp, newest.size)
    return _plan_increment(export, size, bases, wish, contexts)


def _plan_increment(
    export: Export, size: int, bases: Sequence[Base], wish: Wish, contexts: Collection[str]
) -> VolumePlan:
    """Return the plan for an increment that the service offers: it counts from the checkpoint of a whole point."""
    checkpoint = wish.sent_checkpoint or bases[0].checkpoint
    base = next((base for base in bases if checkpoint and base.checkpoint == checkpoint), None)
    if base is None:
        reason = f"no whole point has the checkpoint {checkpoint} from which the increment counts"
        return VolumePlan(COMPARED, reason, bases[0].stamp, bases[0].size)
    if size < base.size:
        return VolumePlan(FULL, f"the volume shrank from {base.size} to {size} bytes")
    context = f"{DIRTY}{checkpoint}"
    if context in contexts:
        return VolumePlan(INCREMENTAL, "the bitmap of the export", base.stamp, base.size, context)
    if wish.sent_checkpoint and export.bitmap:
        return VolumePlan(INCREMENTAL, "the bitmap of the reply", base.stamp, base.size)
    return VolumePlan(COMPARED, "the session offers no bitmap", bases[0].stamp, bases[0].size)
