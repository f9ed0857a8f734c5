# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""CBT backup tasks and NBD exports of volumes."""

from __future__ import annotations

import base64
from typing import Any

from ..errors import OperationError, invalid_argument, operation_refused
from ..params import is_known
from ..registry import Call, Reply, Steps, operation
from ..state.store import Record
from . import creation

INVENTORY_SINCE = "5.3.20"
"""Version that added the members of the reply of CreateCbtTask."""
NBD_SERVER = "192.0.2.10"
FIRST_NBD_PORT = 10809


@operation("CreateCbtTask")
def create_cbt_task(call: Call) -> Reply:
    """Create a task for VMs that have none."""
    store = call.store
    uuid = creation.generate_uuid(call, "cbttask")
    vms = [store["vm"].get(vm_uuid)["uuid"] for vm_uuid in _vm_uuids(call)]
    for task in store["cbttask"].all():
        for vm_uuid in set(vms) & {ref["resourceUuid"] for ref in task["resourceRefs"]}:
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
    """Start a task whose VMs are running. It is Starting until the job ends, then Running or Failed."""
    store, uuid = call.store, call["uuid"]
    task = store["cbttask"].get(uuid)
    if task["status"] in ("Running", "Starting"):
        raise operation_refused(f"cbt task[uuid: {uuid}] is {task['status']} already")
    vms = [store["vm"].get(ref["resourceUuid"]) for ref in task["resourceRefs"]]
    for vm in vms:
        if vm["state"] != "Running":
            raise operation_refused(f"vm[uuid: {vm['uuid']}] is {vm['state']}, not Running")
    store.change("cbttask", uuid, status="Starting")
    try:
        yield 0.0
        if store["cbttask"].get(uuid)["status"] != "Starting":
            raise operation_refused(f"cbt task[uuid: {uuid}] was disabled meanwhile")
    except OperationError:
        task_now = store["cbttask"].find(uuid)
        if task_now and task_now["status"] == "Starting":
            store.change("cbttask", uuid, status="Failed")
        raise
    task = store.change("cbttask", uuid, status="Running")
    infos = [_backup_info(volume, call.get("bitmapName")) for vm in vms for volume in vm["allVolumes"]]
    full = {"inventory": task, "volumeCbtBackupInfos": infos}
    reply_form = call.switches.enable_reply
    return {name: value for name, value in full.items() if reply_form in ("both", name)}


def _backup_info(volume: Record, bitmap: str | None) -> dict[str, Any]:
    """Return the NBD export of a volume and the bitmap of its changed blocks."""
    name = bitmap or f"bitmap-{volume['uuid'][-8:]}"
    return {
        "volume": {
            "volumeUuid": volume["uuid"],
            "installPath": volume["installPath"],
            "deviceId": volume["deviceId"],
            "deviceType": "file",
        },
        "bitmapName": name,
        "bitmapBase64": base64.b64encode(name.encode()).decode(),
        "target": f"drive-virtio-disk{volume['deviceId']}",
        "scratchNodeName": f"scratch-{volume['uuid'][-8:]}",
        "metadata": None,
        "nbdServer": NBD_SERVER,
        "nbdPort": FIRST_NBD_PORT + volume["deviceId"],
        "mode": "full",
    }


@operation("DisableCbtTask")
def disable_cbt_task(call: Call) -> Reply:
    """Stop a task, whatever its status."""
    task = call.store.change("cbttask", call["uuid"], status="Stopped")
    return {} if call.switches.disable_reply == "empty" else {"inventory": task}


@operation("DeleteCbtTask", has_envelope=False)
def delete_cbt_task(call: Call) -> Reply:
    """Delete a task."""
    if not call.store["cbttask"].find(call["uuid"]):
        raise operation_refused(f"cbt task[uuid: {call['uuid']}] does not exist")
    call.store["cbttask"].remove(call["uuid"])
    return {}


@operation("ExportNbdVolumes", timeout_minutes=180, has_envelope=False)
def export_nbd_volumes(call: Call) -> Reply:
    """Export volumes of a VM that is not running."""
    store = call.store
    vm = store["vm"].get(call["vmInstanceUuid"])
    volumes = {volume["uuid"]: volume for volume in vm["allVolumes"]}
    all_volumes = {volume["uuid"] for volume in store.records("volume")[1]}
    for uuid in call["volumeUuids"]:
        if uuid not in volumes and uuid in all_volumes:
            raise invalid_argument(f"volume[uuid: {uuid}] is not one of vm[uuid: {vm['uuid']}]")
        if uuid not in volumes:
            raise OperationError("SYS.1003", f"resource[type: volume, uuid: {uuid}] not found")
    if vm["state"] == "Running":
        raise operation_refused(f"vm[uuid: {vm['uuid']}] is running")
    exported = store.exported.setdefault(vm["uuid"], set())
    already_exported = exported & set(call["volumeUuids"])
    if already_exported and not call.get("force"):
        raise operation_refused(f"volumes {sorted(already_exported)} are exported already")
    exported |= set(call["volumeUuids"])
    if not call.switches.extra_members:
        return {}
    return {"volumeInfos": [_backup_info(volumes[uuid], None) for uuid in dict.fromkeys(call["volumeUuids"])]}


@operation("UnexportNbdVolumes", has_envelope=False)
def unexport_nbd_volumes(call: Call) -> Reply:
    """Remove the exports of volumes of a VM."""
    vm = call.store["vm"].get(call["vmInstanceUuid"])
    call.store.exported.get(vm["uuid"], set()).difference_update(call["volumeUuids"])
    return {}
