"""The objects that a DELETE names, and the sweep that expunges what was deleted some time ago."""

from __future__ import annotations

import datetime as dt
import re

from ..errors import not_found
from ..switches.options import Switches
from .query import parse_timestamp
from .store import Record, Store

UUID = re.compile(r"[0-9a-f]{12}[1-5][0-9a-f]{3}[89ab][0-9a-f]{15}", re.IGNORECASE)


def find_to_delete(store: Store, kind: str, uuid: str) -> Record | None:
    """Return the object that a DELETE names, None if it does not exist; raise OperationError for a malformed uuid."""
    if not UUID.fullmatch(uuid):
        raise not_found(kind, uuid)
    return store.find(kind, uuid)


def remove_vm(store: Store, uuid: str) -> None:
    """Remove the record of a VM with its NICs, its root volume and the snapshot groups of it."""
    for nic in store["vm"].get(uuid)["vmNics"]:
        forget_nic(store, nic["uuid"])
    for group in store["affinitygroup"].all():
        others = [usage for usage in group["usages"] if usage["resourceUuid"] != uuid]
        if len(others) < len(group["usages"]):
            store["affinitygroup"].change(group["uuid"], usages=others)
    if store.disks:
        for volume in store["vm"].get(uuid)["allVolumes"]:
            store.disks.remove(volume["uuid"])
    store["vm"].remove(uuid)
    store["snapshotgroup"].remove_where(lambda group: bool(group["vmInstanceUuid"] == uuid))
    store["templatedvminstance"].remove_where(lambda template: bool(template["uuid"] == uuid))


def forget_nic(store: Store, uuid: str) -> None:
    """Take a NIC that is removed out of what uses it: limits, security groups, EIPs, forwarded ports and listeners."""
    store.qos.pop(uuid, None)
    store["nicinsecuritygroup"].remove_where(lambda row: bool(row["vmNicUuid"] == uuid))
    for table in ("eip", "portforwarding"):
        for record in store[table].all():
            if record["vmNicUuid"] == uuid:
                store[table].change(record["uuid"], vmNicUuid=None, guestIp=None)
    for listener in store["listener"].all():
        refs = [ref for ref in listener["vmNicRefs"] if ref["vmNicUuid"] != uuid]
        if len(refs) < len(listener["vmNicRefs"]):
            store["listener"].change(listener["uuid"], vmNicRefs=refs)


def remove_volume(store: Store, uuid: str) -> None:
    """Remove the record of a detached volume; the capacity that a scratch volume took is free again."""
    volume = store["volume"].get(uuid)
    store["volume"].remove(uuid)
    if store.disks:
        store.disks.remove(uuid)
    storage = store["primarystorage"].find(volume["primaryStorageUuid"])
    if storage and (taken := volume.get("_taken")):
        store["primarystorage"].change(storage["uuid"], availableCapacity=storage["availableCapacity"] + taken)


def expunge_deleted(store: Store, switches: Switches) -> None:
    """Remove the VMs, volumes and images that were deleted longer ago than their period, unless the policy is Never."""
    if switches.deletion_policy == "Never":
        return
    for vm in store["vm"].all():
        if vm["state"] == "Destroyed" and _is_due(store, vm, switches.vm_expunge_period):
            remove_vm(store, vm["uuid"])
    for volume in store["volume"].all():
        if volume["status"] == "Deleted" and _is_due(store, volume, switches.volume_expunge_period):
            remove_volume(store, volume["uuid"])
    for image in store["image"].all():
        if image["status"] == "Deleted" and _is_due(store, image, switches.volume_expunge_period):
            store["image"].remove(image["uuid"])


def _is_due(store: Store, record: Record, period: float) -> bool:
    return store.time() - parse_timestamp(record["lastOpDate"]) >= dt.timedelta(seconds=period)
