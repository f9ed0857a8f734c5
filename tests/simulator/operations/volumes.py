"""Data volumes: detaching, deleting, recovering, expunging."""

from __future__ import annotations

from ..errors import invalid_argument, not_found, operation_refused
from ..registry import Call, Reply, operation
from ..state.deletion import find_to_delete, remove_volume
from ..state.store import Record, Store


def detach_volume(store: Store, volume: Record) -> Record:
    """Detach a data volume from its VM and return its new record."""
    freed = free_volume(store, volume)
    return store.change("volume", freed["uuid"], deviceId=None, lastDetachDate=freed["lastOpDate"])


def free_volume(store: Store, volume: Record) -> Record:
    """Detach a data volume from a VM that is destroyed, which leaves no date of the detachment; return its record."""
    vm = store["vm"].get(volume["vmInstanceUuid"])
    attached = [other for other in vm["allVolumes"] if other["uuid"] != volume["uuid"]]
    store["vm"].change(vm["uuid"], allVolumes=attached)
    members = {
        "vmInstanceUuid": None,
        "lastVmInstanceUuid": vm["uuid"],
        "lastOpDate": store.now(),
        "_hostUuid": vm["hostUuid"] or vm["lastHostUuid"],
    }
    return store["volume"].put(Record("volume", {**volume, **members}))


def delete_volume(call: Call, volume: Record) -> None:
    """Delete a volume that is attached to no VM; its record remains for some time, unless the policy is Direct."""
    if call.switches.deletion_policy == "Direct":
        remove_volume(call.store, volume["uuid"])
    else:
        call.store.change("volume", volume["uuid"], status="Deleted")


@operation("DeleteDataVolume", has_envelope=False)
def delete_data_volume(call: Call) -> Reply:
    """Delete a data volume, and detach it first; succeed if it does not exist, but not if it is deleted already."""
    volume = find_to_delete(call.store, "volume", call["uuid"])
    if volume is None:
        return {}
    if volume["type"] == "Root":
        raise invalid_argument(f"volume[uuid: {volume['uuid']}] is a root volume")
    if volume["status"] == "Deleted":
        raise operation_refused(f"volume[uuid: {volume['uuid']}] is already in status Deleted")
    delete_volume(call, detach_volume(call.store, volume) if volume["vmInstanceUuid"] else volume)
    return {}


def _require_deleted(volume: Record, action: str) -> None:
    if volume["status"] != "Deleted":
        raise operation_refused(f"cannot {action} volume[uuid: {volume['uuid']}], which is {volume['status']}")


@operation("RecoverDataVolume", has_envelope=False)
def recover_data_volume(call: Call) -> Reply:
    """Make a deleted volume usable again; it is attached to no VM."""
    volume = call.store.find("volume", call["uuid"])
    if volume is None:
        raise not_found("volume", call["uuid"])
    _require_deleted(volume, "recover")
    return {"inventory": call.store.change("volume", volume["uuid"], status="Ready")}


@operation("ExpungeDataVolume", has_envelope=False)
def expunge_data_volume(call: Call) -> Reply:
    """Remove a deleted volume for good; succeed if it does not exist."""
    volume = find_to_delete(call.store, "volume", call["uuid"])
    if volume:
        _require_deleted(volume, "expunge")
        remove_volume(call.store, volume["uuid"])
    return {}
