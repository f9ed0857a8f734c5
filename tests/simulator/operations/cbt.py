"""CBT backup tasks and NBD exports of volumes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..errors import OperationError, invalid_argument, operation_refused
from ..params import is_known
from ..registry import Call, Reply, Steps, operation
from ..state import backup_sessions
from ..state.backup_sessions import OFF, list_vms
from ..state.store import Record, Store
from . import creation

INVENTORY_SINCE = "5.3.20"
"""Version that added the members of the reply of CreateCbtTask."""


@operation("CreateCbtTask")
def create_cbt_task(call: Call) -> Reply:
    """Create a task for VMs that have none."""
    store = call.store
    uuid = creation.generate_uuid(call, "cbttask")
    vms = [store["vm"].get(vm_uuid)["uuid"] for vm_uuid in _vm_uuids(call)]
    for task in store["cbttask"].all():
        for vm_uuid in set(vms) & set(list_vms(task)):
            raise operation_refused(f"vm[uuid: {vm_uuid}] has the cbt task[uuid: {task['uuid']}] already")
    task = Record(
        "cbttask",
        {
            "uuid": uuid,
            "name": call["name"],
            "description": call.get("description"),
            "status": "Created",
            "resourceRefs": [
                {"taskUuid": uuid, "resourceUuid": vm_uuid, "resourceType": "VmInstanceVO"} for vm_uuid in vms
            ],
            **store.dates(),
        },
    )
    creation.tag(call, task)
    store["cbttask"].put(task)
    return {"inventory": task} if is_known(INVENTORY_SINCE, call.switches.version) else {}


def _vm_uuids(call: Call) -> list[str]:
    """Return the uuids of the VMs, from the parameters that this service reads."""
    form = call.switches.cbt_create
    if form != "literal" and "vmInstanceUuid" in call.params:
        return [call["vmInstanceUuid"]]
    if form == "vm_only":
        raise invalid_argument("field[vmInstanceUuid] is mandatory, can not be null")
    for name in ("taskType", "resourceUuids"):
        if name not in call.params:
            raise invalid_argument(f"field[{name}] is mandatory, can not be null")
    if not call["resourceUuids"]:
        raise invalid_argument("field[resourceUuids] cannot be empty")
    return list(dict.fromkeys(call["resourceUuids"]))


@operation("EnableCbtTask", timeout_minutes=180)
def enable_cbt_task(call: Call) -> Steps:
    """Open the backup session of a task whose VMs are running. It is Starting, and at the end Running or Failed.

    The scratch volumes exist from the start; those of a session that cannot be opened are removed.
    """
    store, uuid = call.store, call["uuid"]
    task = store["cbttask"].get(uuid)
    if task["status"] in ("Running", "Starting"):
        raise operation_refused(f"cbt task[uuid: {uuid}] is {task['status']} already")
    _require_running(store, task)
    backup_sessions.add_scratch_volumes(store, task)
    store.change("cbttask", uuid, status="Starting")
    try:
        yield 0.0
        if store["cbttask"].get(uuid)["status"] != "Starting":
            raise operation_refused(f"cbt task[uuid: {uuid}] was disabled meanwhile")
        _require_running(store, task)
        task = store["cbttask"].get(uuid)
        infos = backup_sessions.open_session(store, task, call.get("bitmapName"), call.switches)
    except OperationError:
        task_now = store["cbttask"].find(uuid)
        if task_now and task_now["status"] == "Starting":
            backup_sessions.close_session(store, task_now)
            store.change("cbttask", uuid, status="Failed")
        raise
    task = store.change("cbttask", uuid, status="Running")
    full = {"inventory": task, "volumeCbtBackupInfos": infos}
    reply_form = call.switches.enable_reply
    return {name: value for name, value in full.items() if reply_form in ("both", name)}


def _require_running(store: Store, task: Record) -> None:
    for vm_uuid in list_vms(task):
        vm = store["vm"].get(vm_uuid)
        if vm["state"] != "Running":
            raise operation_refused(f"vm[uuid: {vm['uuid']}] is {vm['state']}, not Running")


@operation("DisableCbtTask")
def disable_cbt_task(call: Call) -> Reply:
    """End the backup session of a task in any status. Fail, and change nothing, while a VM does not run."""
    task = _end_session(call, call.store["cbttask"].get(call["uuid"]))
    return {} if call.switches.disable_reply == "empty" else {"inventory": task}


def _end_session(call: Call, task: Record) -> Record:
    for vm_uuid in list_vms(task):
        if call.store["vm"].get(vm_uuid)["state"] in OFF:
            raise operation_refused(f"cannot disable cbt task[uuid: {task['uuid']}]: vm[uuid: {vm_uuid}] not found")
    if call.switches.cbt_disable == "refused":
        raise operation_refused(f"cannot disable cbt task[uuid: {task['uuid']}]: the agent of the host failed")
    backup_sessions.close_session(call.store, task)
    return call.store.change("cbttask", task["uuid"], status="Stopped")


@operation("DeleteCbtTask", has_envelope=False)
def delete_cbt_task(call: Call) -> Reply:
    """Delete a task, after the end of its session. If a VM does not run, the scratch volumes stay as data volumes."""
    store = call.store
    task = store["cbttask"].find(call["uuid"])
    if not task:
        raise operation_refused(f"cbt task[uuid: {call['uuid']}] does not exist")
    is_on = not any(store["vm"].get(vm_uuid)["state"] in OFF for vm_uuid in list_vms(task))
    if task["status"] == "Running" and is_on:
        _end_session(call, task)
    backup_sessions.forget_session(store, task)
    store["cbttask"].remove(task["uuid"])
    return {}


@operation("ExportNbdVolumes", timeout_minutes=180, has_envelope=False)
def export_nbd_volumes(call: Call) -> Reply:
    """Export volumes, writable. The VM must not be running; servers do not check that the volumes are its own."""
    store = call.store
    vm = store["vm"].get(call["vmInstanceUuid"])
    volumes = {uuid: volume for uuid in call["volumeUuids"] if (volume := store.find("volume", uuid))}
    if vm["state"] == "Running":
        raise operation_refused(f"vm[uuid: {vm['uuid']}] is running")
    already_exported = set().union(*store.exported.values()) & volumes.keys()
    if already_exported and not call.get("force"):
        raise operation_refused(f"volumes {sorted(already_exported)} are exported already")
    _end_exports(store, volumes.keys())
    store.exported.setdefault(vm["uuid"], set()).update(volumes)
    infos = [_export_info(call, vm, volume) for volume in volumes.values()]
    return {"volumeInfos": infos} if call.switches.extra_members else {}


def _export_info(call: Call, vm: Record, volume: Record) -> dict[str, Any]:
    """Return where an exported volume is served: each by a process with its own port."""
    store = call.store
    info = {
        "volume": backup_sessions.describe_volume(store, volume),
        "nbdServer": backup_sessions.host_address(store, vm),
        "nbdPort": backup_sessions.take_port(store, volume["uuid"]),
        "scratchNodeName": volume["uuid"],
    }
    if store.disks:
        store.disks.provide(volume["uuid"], volume["size"])
        info.update(store.disks.export(volume["uuid"], call.switches.cbt_export == "cut"))
    return info


def _end_exports(store: Store, uuids: Iterable[str]) -> None:
    for exported in store.exported.values():
        exported.difference_update(uuids)
    for uuid in uuids:
        store.nbd_ports.pop(uuid, None)
        if store.disks:
            store.disks.end_export(uuid)


@operation("UnexportNbdVolumes", timeout_minutes=180, has_envelope=False)
def unexport_nbd_volumes(call: Call) -> Reply:
    """Remove the exports of volumes."""
    call.store["vm"].get(call["vmInstanceUuid"])
    _end_exports(call.store, call["volumeUuids"])
    return {}
