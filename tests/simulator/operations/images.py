"""Images: deleting, recovering, expunging. An image is deleted when it is deleted in all of its backup storages."""

from __future__ import annotations

from typing import Any

from ..errors import not_found, operation_refused
from ..registry import Call, Reply, catalogued
from ..state.deletion import find_to_delete
from ..state.store import Record
from .kinds import eject_iso


@catalogued("DeleteImage", has_envelope=False)
def delete_image(call: Call) -> Reply:
    """Delete an image, and take it out of all CD-ROMs; succeed if it does not exist. Its record remains for some time.

    Without a finished download, or with the policy Direct, it is removed at once.
    """
    image = find_to_delete(call.store, "image", call["uuid"])
    if image is None:
        return {}
    eject_iso(call.store, image["uuid"])
    if call.switches.deletion_policy == "Direct" or image["status"] == "Downloading":
        _keep(call, image, [ref for ref in image["backupStorageRefs"] if not _is_meant(call, ref)])
    else:
        _change(call, image, "Deleted")
    return {}


@catalogued("RecoverImage")
def recover_image(call: Call) -> Reply:
    """Make a deleted image usable again."""
    return {"inventory": _change(call, _find_deleted(call), "Ready")}


@catalogued("ExpungeImage", has_envelope=False)
def expunge_image(call: Call) -> Reply:
    """Remove a deleted image for good."""
    image = _find_deleted(call)
    refs = image["backupStorageRefs"]
    _keep(call, image, [ref for ref in refs if not (ref["status"] == "Deleted" and _is_meant(call, ref))])
    return {}


def _find_deleted(call: Call) -> Record:
    """Return the image of a call. Raise OperationError if it is not deleted on any backup storage."""
    image = call.store["image"].find(call["imageUuid"])
    if image is None:
        raise not_found("image", call["imageUuid"])
    if not any(ref["status"] == "Deleted" for ref in image["backupStorageRefs"]):
        raise operation_refused(f"the image[uuid:{image['uuid']}] is not deleted on any backup storage")
    return image


def _is_meant(call: Call, ref: dict[str, Any]) -> bool:
    """Return whether a call is about the copy of an image on a backup storage; without any given, about all of them."""
    return ref["backupStorageUuid"] in call.get("backupStorageUuids", [ref["backupStorageUuid"]])


def _change(call: Call, image: Record, status: str) -> Record:
    """Give copies of an image a status. An image is usable as long as one of them is."""
    refs = [{**ref, "status": status} if _is_meant(call, ref) else ref for ref in image["backupStorageRefs"]]
    is_deleted = all(ref["status"] == "Deleted" for ref in refs)
    return call.store.change(
        "image", image["uuid"], backupStorageRefs=refs, status="Deleted" if is_deleted else "Ready"
    )


def _keep(call: Call, image: Record, refs: list[dict[str, Any]]) -> None:
    """Keep these copies of an image, which ends with the last of them."""
    if refs:
        call.store.change("image", image["uuid"], backupStorageRefs=refs)
    else:
        call.store["image"].remove(image["uuid"])
