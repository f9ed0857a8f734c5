"""Snapshot groups: a snapshot of each volume of a VM, taken at the same time."""

from __future__ import annotations

from typing import Any

from ..errors import invalid_argument, operation_refused
from ..registry import Call, Reply, operation
from ..state.deletion import find_to_delete
from ..state.store import Record, Store
from . import creation

LIVE = ("Running", "Paused")


@operation("CreateVolumeSnapshotGroup", timeout_minutes=180, has_envelope=False)
def create_snapshot_group(call: Call) -> Reply:
    """Take a snapshot of each volume of the VM that has the root volume."""
    store, root = call.store, call["rootVolumeUuid"]
    vm = next((vm for vm in store["vm"].all() if vm["rootVolumeUuid"] == root), None)
    if vm is None:
        raise invalid_argument(f"volume[uuid: {root}] is no root volume")
    if call.get("withMemory") and vm["state"] not in LIVE:
        raise invalid_argument(f"vm[uuid: {vm['uuid']}] is {vm['state']}, so its memory has no snapshot")
    _check_volumes(store, vm)
    uuid = creation.generate_uuid(call, "snapshotgroup")
    group = Record(
        "snapshotgroup",
        {
            "uuid": uuid,
            "name": call["name"],
            "description": call.get("description"),
            "vmInstanceUuid": vm["uuid"],
            "snapshotCount": len(vm["allVolumes"]),
            "volumeSnapshotRefs": [
                {
                    "volumeSnapshotUuid": store.generate_uuid(),
                    "volumeUuid": volume["uuid"],
                    "deviceId": volume["deviceId"],
                    "snapshotDeleted": False,
                }
                for volume in vm["allVolumes"]
            ],
            **store.dates(),
            "_withMemory": call.get("withMemory", False),
        },
    )
    creation.tag(call, group)
    return {"inventory": store["snapshotgroup"].put(group)}


def _check_volumes(store: Store, vm: Record) -> None:
    """Raise OperationError unless all volumes of a VM are ready, on enabled storages."""
    for volume in vm["allVolumes"]:
        if volume["status"] != "Ready" or vm["state"] == "Destroyed":
            raise operation_refused(f"volume[uuid: {volume['uuid']}] is not ready")
        storage = store["primarystorage"].get(volume["primaryStorageUuid"])
        if storage["state"] != "Enabled":
            raise operation_refused(f"primaryStorage[uuid: {storage['uuid']}] is {storage['state']}")


@operation("DeleteVolumeSnapshotGroup", timeout_minutes=180, has_envelope=False)
def delete_snapshot_group(call: Call) -> Reply:
    """Delete the snapshots of a group, with scope chain also the later ones of its volumes.

    A snapshot that cannot be deleted has an error in the results, and remains in its group. The others do not. A group
    without snapshots is deleted.
    """
    store = call.store
    group = find_to_delete(store, "snapshotgroup", call["uuid"])
    if group is None:
        return {}
    groups = [group]
    if call.get("scope", "chain") == "chain":
        groups += _later_groups(store, group)
    return {"results": [result for each in groups for result in _delete_snapshots(call, each)]}


def _later_groups(store: Store, group: Record) -> list[Record]:
    """Return the groups of the same VM that were created later."""
    groups = [each for each in store["snapshotgroup"].all() if each["vmInstanceUuid"] == group["vmInstanceUuid"]]
    return groups[[each["uuid"] for each in groups].index(group["uuid"]) + 1 :]


def _delete_snapshots(call: Call, group: Record) -> list[dict[str, Any]]:
    failing = call.switches.failing_snapshots
    remaining = [ref for ref in group["volumeSnapshotRefs"] if not ref["snapshotDeleted"]]
    refs = [
        {**ref, "snapshotDeleted": ref["snapshotDeleted"] or ref["volumeSnapshotUuid"] not in failing}
        for ref in group["volumeSnapshotRefs"]
    ]
    if all(ref["snapshotDeleted"] for ref in refs):
        call.store["snapshotgroup"].remove(group["uuid"])
    else:
        call.store.change("snapshotgroup", group["uuid"], volumeSnapshotRefs=refs)
    return [_build_result(call, ref, "deleted") for ref in remaining]


def _build_result(call: Call, ref: dict[str, Any], done: str) -> dict[str, Any]:
    """Return the result for one snapshot, with an error if it is one of those that fail."""
    result = {"snapshotUuid": ref["volumeSnapshotUuid"], "volumeUuid": ref["volumeUuid"]}
    if ref["volumeSnapshotUuid"] in call.switches.failing_snapshots:
        failure = operation_refused(f"snapshot[uuid: {ref['volumeSnapshotUuid']}] cannot be {done}")
        result["error"] = failure.to_error_code(call.switches.error_nesting, call.switches.extra_members)
    return result


@operation("RevertVmFromSnapshotGroup", timeout_minutes=1440, has_envelope=False)
def revert_vm(call: Call) -> Reply:
    """Set the volumes of a VM back to their snapshots. A volume that fails has an error in the results."""
    store = call.store
    group = store["snapshotgroup"].get(call["uuid"])
    vm = store["vm"].get(group["vmInstanceUuid"])
    with_memory = group.get("_withMemory")
    if with_memory and vm["state"] not in LIVE:
        raise invalid_argument(f"vm[uuid: {vm['uuid']}] is {vm['state']}, so its memory cannot be set back")
    if not with_memory and vm["state"] != "Stopped":
        raise operation_refused(f"vm[uuid: {vm['uuid']}] is {vm['state']}, not Stopped")
    if reason := _unavailable_reason(store, group):
        raise operation_refused(f"cannot revert to snapshot group[uuid: {group['uuid']}]: {reason}")
    snapshots = {ref["volumeUuid"]: ref["volumeSnapshotUuid"] for ref in group["volumeSnapshotRefs"]}
    volumes = [
        volume
        if snapshots[volume["uuid"]] in call.switches.failing_snapshots
        else Record("volume", {**volume, "_snapshotUuid": snapshots[volume["uuid"]]})
        for volume in vm["allVolumes"]
    ]
    store.change("vm", vm["uuid"], allVolumes=volumes)
    return {"results": [_build_result(call, ref, "reverted") for ref in group["volumeSnapshotRefs"]]}


def _unavailable_reason(store: Store, group: Record) -> str:
    """Return why a VM cannot be set back to a group, empty if it can."""
    volumes = {volume["uuid"] for volume in store["vm"].get(group["vmInstanceUuid"])["allVolumes"]}
    refs = group["volumeSnapshotRefs"]
    if any(ref["snapshotDeleted"] for ref in refs):
        return "snapshots of the group were deleted"
    if volumes != {ref["volumeUuid"] for ref in refs}:
        return "volumes were attached or detached after the snapshot"
    return ""


@operation("CheckVolumeSnapshotGroupAvailability", has_envelope=False)
def check_availability(call: Call) -> Reply:
    """Say of each group whether its VM can be set back to it, and why not."""
    results = []
    for uuid in call["uuids"]:
        reason = _unavailable_reason(call.store, call.store["snapshotgroup"].get(uuid))
        results.append({"uuid": uuid, "available": not reason, "reason": reason or None})
    return {"results": results}


@operation("UpdateVolumeSnapshotGroup", has_envelope=False)
def update_snapshot_group(call: Call) -> Reply:
    """Change name and description of a group."""
    members = call.select("name", "description")
    return {"inventory": call.store.change("snapshotgroup", call["uuid"], **members)}


@operation("UngroupVolumeSnapshotGroup", has_envelope=False)
def ungroup_snapshots(call: Call) -> Reply:
    """Delete a group but not its snapshots; succeed if it does not exist."""
    if find_to_delete(call.store, "snapshotgroup", call["uuid"]):
        call.store["snapshotgroup"].remove(call["uuid"])
    return {}
