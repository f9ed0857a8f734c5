"""The deletion of a primary storage, the only operation that servers have on that path."""

from __future__ import annotations

from ..errors import operation_refused
from ..registry import Call, Reply, operation


@operation("DeletePrimaryStorage", has_envelope=False)
def delete_primary_storage(call: Call) -> Reply:
    """Delete a primary storage that is not attached to a cluster; succeed if it does not exist."""
    storage = call.store["primarystorage"].find(call["uuid"])
    if storage and storage["attachedClusterUuids"]:
        raise operation_refused(f"primary storage[uuid: {call['uuid']}] is attached to clusters")
    if storage:
        call.store["primarystorage"].remove(call["uuid"])
    return {}
