"""Backup sessions of CBT tasks: scratch volumes, checkpoints, and where the volumes are served.

A session ends only when its task is disabled. Nothing else ends it, and nothing removes what it leaves.
"""

from __future__ import annotations

from typing import Any

from ..disks.machine import SessionPlan
from ..errors import invalid_argument, not_found, operation_refused
from ..switches.options import Switches
from .deletion import remove_volume
from .extents import encode_extents
from .records import build_volume
from .store import Record, Store

NBD_PORTS = range(10501, 11000)
"""The ports of the setting host/nbd.port.range."""
BLOCK = 65536
OFF = ("Created", "Stopping", "Stopped", "Crashed", "Destroyed")
"""States of VMs that have no process on a host."""


def list_vms(task: Record) -> list[str]:
    """Return the uuids of the VMs of a task. Its other references are the scratch volumes of an open session."""
    return _list_references(task, "VmInstanceVO")


def list_scratch_volumes(task: Record) -> list[str]:
    """Return the uuids of the scratch volumes of a task."""
    return _list_references(task, "VolumeVO")


def _list_references(task: Record, resource_type: str) -> list[str]:
    refs = task["resourceRefs"] or ()
    return [ref["resourceUuid"] for ref in refs if ref["resourceType"] == resource_type]


def add_scratch_volumes(store: Store, task: Record) -> Record:
    """Create a scratch volume for each volume of the VMs, and return the task, which refers to them.

    Raise OperationError if a primary storage has no room for them. Shareable volumes have none.
    """
    volumes = _list_volumes(store, task)
    needed: dict[str, int] = {}
    for volume in volumes:
        storage = volume["primaryStorageUuid"]
        needed[storage] = needed.get(storage, 0) + volume["size"]
    for storage, size in needed.items():
        if size > store["primarystorage"].get(storage)["availableCapacity"]:
            raise operation_refused(f"primary storage[uuid: {storage}] has not enough capacity: {size} bytes needed")
    scratch = [_add_scratch_volume(store, volume, store.generate_uuid()) for volume in volumes]
    return set_references(store, task, [volume["uuid"] for volume in scratch])


def set_references(store: Store, task: Record, scratch: list[str]) -> Record:
    """Let a task refer to its VMs and to these scratch volumes; servers promise no order."""
    refs = [
        {"taskUuid": task["uuid"], "resourceUuid": uuid, "resourceType": resource_type}
        for resource_type, uuids in (("VolumeVO", scratch), ("VmInstanceVO", list_vms(task)))
        for uuid in uuids
    ]
    return store["cbttask"].change(task["uuid"], resourceRefs=refs)


def _list_volumes(store: Store, task: Record) -> list[Record]:
    return [volume for vm_uuid in list_vms(task) for volume in _list_volumes_of(store, vm_uuid)]


def _list_volumes_of(store: Store, vm_uuid: str) -> list[Record]:
    volumes = store["vm"].get(vm_uuid)["allVolumes"]
    return [volume for volume in volumes if volume["status"] == "Ready" and not volume["isShareable"]]


def _add_scratch_volume(store: Store, volume: Record, uuid: str) -> Record:
    """Create the scratch volume of a volume. It takes as much of the capacity as the volume has bytes."""
    storage = store["primarystorage"].get(volume["primaryStorageUuid"])
    taken = min(volume["size"], storage["availableCapacity"])
    store["primarystorage"].change(storage["uuid"], availableCapacity=storage["availableCapacity"] - taken)
    identity = {
        "uuid": uuid,
        "name": f"Cbt-volume-of-{volume['name']}",
        "description": f"cbt-volume-for-{volume['uuid']}",
        "type": "Data",
        "deviceId": None,
        "vmInstanceUuid": None,
        "primaryStorageUuid": storage["uuid"],
        "size": volume["size"],
        "actualSize": 0,
        "_taken": taken,
    }
    return store["volume"].put(build_volume(identity, store.dates()))


def open_session(store: Store, task: Record, base: str | None, switches: Switches) -> list[dict[str, Any]]:
    """Return how each volume can be read. It is incremental if the host still has its checkpoint `base`.

    The new checkpoint of each volume starts now; those before the base are gone.
    """
    base = None if switches.cbt_bitmap == "lost" else base
    checkpoint = f"checkpoint-{store.new_id()}"
    scratch = {store["volume"].get(uuid)["description"]: uuid for uuid in list_scratch_volumes(task)}
    infos = []
    for vm_uuid in list_vms(task):
        volumes = [each for each in _list_volumes_of(store, vm_uuid) if f"cbt-volume-for-{each['uuid']}" in scratch]
        targets = {volume["uuid"]: scratch[f"cbt-volume-for-{volume['uuid']}"] for volume in volumes}
        plan = SessionPlan(
            targets,
            checkpoint,
            base,
            is_lying=switches.cbt_bitmap == "lying",
            has_hidden_bitmap=switches.cbt_context == "hidden",
            is_full=switches.cbt_scratch == "full",
        )
        served = _serve(store, vm_uuid, plan)
        for volume in volumes:
            is_incremental = bool(base) and base in store.checkpoints.get(volume["uuid"], ())
            store.checkpoints[volume["uuid"]] = [*([str(base)] if is_incremental else []), checkpoint]
            info = _describe_session(store, task, volume, targets[volume["uuid"]], is_incremental)
            infos.append({**info, **served.get(volume["uuid"], {})})
    return infos


def _serve(store: Store, vm_uuid: str, plan: SessionPlan) -> dict[str, dict[str, Any]]:
    """Open the session with real disks, if there are any; return how each volume is served, by its uuid."""
    if store.disks is None:
        return {}
    for volume in _list_volumes_of(store, vm_uuid):
        store.disks.provide(volume["uuid"], volume["size"])
        store.disks.provide(plan.scratch[volume["uuid"]], volume["size"])
    return store.disks.open_session(vm_uuid, plan)


def _describe_session(store: Store, task: Record, volume: Record, scratch: str, is_incremental: bool) -> dict[str, Any]:
    extents = {"0": BLOCK if is_incremental else volume["actualSize"]}
    return {
        "volume": describe_volume(store, volume),
        "bitmapName": store.checkpoints[volume["uuid"]][-1],
        "bitmapBase64": encode_extents(extents),
        "target": store["volume"].get(scratch)["installPath"],
        "scratchNodeName": f"scratch-{scratch[-12:]}",
        "metadata": None,
        "nbdServer": host_address(store, store["vm"].get(volume["vmInstanceUuid"])),
        "nbdPort": take_port(store, task["uuid"]),
        "mode": "incremental" if is_incremental else "full",
    }


def describe_volume(store: Store, volume: Record) -> dict[str, Any]:
    """Return a volume in the form in which the agents of hosts get it."""
    storage = store["primarystorage"].find(volume["primaryStorageUuid"])
    return {
        "volumeUuid": volume["uuid"],
        "resourceUuid": volume["uuid"],
        "installPath": volume["installPath"],
        "deviceId": volume["deviceId"],
        "deviceType": "file",
        "format": volume["format"],
        "primaryStorageType": storage["type"] if storage else None,
        "shareable": volume["isShareable"],
        "wwn": f"0x000f{volume['uuid'][-12:]}",
    }


def host_address(store: Store, vm: Record) -> str | None:
    """Return the management address of the host on which a VM runs or ran, of one that never ran one of its cluster."""
    if (uuid := vm["hostUuid"] or vm["lastHostUuid"]) is None:
        hosts = (host for host in store["host"].all() if host["clusterUuid"] == vm["clusterUuid"])
        host = next((host for host in hosts if host["status"] == "Connected"), None)
    else:
        host = store["host"].find(uuid)
    return host["managementIp"] if host else None


def take_port(store: Store, owner: str) -> int:
    """Return the NBD port of a session or of an export; raise OperationError if all are taken."""
    if owner not in store.nbd_ports:
        free = set(NBD_PORTS) - set(store.nbd_ports.values())
        if not free:
            raise operation_refused("no free port in the range of host/nbd.port.range")
        store.nbd_ports[owner] = min(free)
    return store.nbd_ports[owner]


def close_session(store: Store, task: Record) -> None:
    """End the session of a task: its scratch volumes go, and of each volume only the newest checkpoint remains."""
    if store.disks:
        for vm_uuid in list_vms(task):
            store.disks.close_session(vm_uuid)
    for uuid in list_scratch_volumes(task):
        if store["volume"].find(uuid):
            remove_volume(store, uuid)
    for volume in _list_volumes(store, task):
        store.checkpoints[volume["uuid"]] = store.checkpoints.get(volume["uuid"], [])[-1:]
    set_references(store, task, [])
    forget_session(store, task)


def forget_session(store: Store, task: Record) -> None:
    """Free the port of a session. Its scratch volumes remain."""
    store.nbd_ports.pop(task["uuid"], None)


def lose_checkpoints(store: Store, vm: Record) -> None:
    """Forget the checkpoints of a VM whose process ended; with real disks, end it."""
    if store.disks:
        store.disks.stop_vm(vm["uuid"])
    for volume in vm["allVolumes"]:
        store.checkpoints.pop(volume["uuid"], None)


def seed_session(store: Store, task: Record) -> None:
    """Open the session of a seeded task, also when the primary storage has too little room."""
    scratch = [_add_scratch_volume(store, volume, f"f{volume['uuid'][1:]}") for volume in _list_volumes(store, task)]
    task = set_references(store, task, [volume["uuid"] for volume in scratch])
    open_session(store, task, None, Switches())


def write_as_guest(store: Store, uuid: str, offset: int, length: int, seed: int) -> None:
    """Write the bytes that a seed stands for to a volume, as its guest does.

    Raise OperationError without real disks, if no guest runs, or if the write fails.
    """
    if store.disks is None:
        raise operation_refused("guests can write only with --disks")
    volume = store.find("volume", uuid)
    if volume is None:
        raise not_found("volume", uuid)
    vm = store["vm"].find(volume["vmInstanceUuid"] or "")
    if vm is None or vm["state"] != "Running":
        raise operation_refused(f"no running vm has volume[uuid: {uuid}]")
    if offset < 0 or length <= 0 or offset + length > volume["size"]:
        raise invalid_argument(f"volume[uuid: {uuid}] has {volume['size']} bytes")
    store.disks.provide(uuid, volume["size"])
    store.disks.write(vm["uuid"], uuid, offset, length, seed)
