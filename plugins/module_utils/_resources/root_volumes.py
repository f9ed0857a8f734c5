"""Root volumes, which belong to their VMs: operations for data volumes do not concern them."""

from __future__ import annotations

from collections.abc import Sequence

from .._api.errors import Unchangeable
from .._api.records import Record
from .._api.resource_types import VOLUME
from .._client.client import Client
from .._client.lists import get_by_uuid
from .._engine.current import Current
from .._engine.spec import PlannedCall


def is_root(volume: Record) -> bool:
    """Return whether a volume is the root volume of a VM."""
    return volume.get("type") == "Root"


def build_root_refusal(volume: Record) -> Unchangeable:
    """Return the failure that a volume is a root volume."""
    vm = str(volume.get("vmInstanceUuid"))
    return Unchangeable(
        f"{volume.get('name')} ({volume.get('uuid')}) is the root volume of the VM {vm!r}, so it cannot be detached or"
        " deleted without it. It grows with the module vm: root_disk_size.",
        {vm: "vmInstanceUuid"},
    )


def require_data_volume(calls: Sequence[PlannedCall], current: Current) -> None:
    """Raise Unchangeable if operations for data volumes are planned for a root volume."""
    volume = current.record or {}
    if is_root(volume) and any(_needs_data_volume(call.operation) for call in calls):
        raise build_root_refusal(volume)


def find_root_refusal(client: Client, call: PlannedCall) -> Unchangeable | None:
    """Return the failure with which the service would refuse to attach or detach a root volume, None for others."""
    if not _needs_data_volume(call.operation):
        return None
    names = (call.params.get(name) for name in ("volumeUuid", "uuid"))
    uuid = next(filter(None, names), None)
    roots = filter(is_root, get_by_uuid(client, VOLUME.query, uuid) if uuid else ())
    return next(map(build_root_refusal, roots), None)


def _needs_data_volume(operation: str) -> bool:
    return "DataVolume" in operation
