"""One volume of a restore point as a new disk of a VM, which may run.

Only volumes of a stopped VM can be written, so the disk is made and written as the data volume of a VM that is never
started, the carrier. It gets its mark when it is whole, and is then detached from the carrier and attached to its VM.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...module_utils._api.errors import InvalidOptions, VirtinfraError
from ...module_utils._api.records import Record
from .._site.report import name_some
from .._site.site import GONE, Site
from .._site.wish import index
from .plan import read_infos, replace_address
from .scratch import REMOVED
from .vm_from_point import CARRIER, choose_uuid, make

# How the descriptions of disks that are whole begin. No others are removed.
DISK = "Disk of the role virtinfra.manager.vm_backup_restore"

# The size of a carrier, which never runs, and the states of a VM to which a volume can be attached.
_ROOT, _MEMORY = 1 << 30, 1 << 30
_ATTACHABLE = ("Running", "Stopped")

# What a carrier has from the VM, by the parameter of its creation.
_GUEST = {"platform": "platform", "guestOsType": "guest_os_type", "architecture": "architecture"}


def describe_disk(source: str, point: Record, vm_uuid: str) -> str:
    """Return the description of a disk: its mark, with the VM for which it is."""
    return f"{DISK}: volume {source} of the restore point {point['point']}. For the VM {vm_uuid}."


def describe_carrier(vm_uuid: str) -> str:
    """Return the description of a carrier: its mark, with the VM for which the disk is."""
    return f"{CARRIER} For the VM {vm_uuid}."


def list_disks(site: Site, vm_uuid: str) -> list[Record]:
    """Return the disks of the workflow for a VM. Raise VirtinfraError if they cannot be read."""
    found = site.read("resource_info", resource_type="volume", query=[f"description~={DISK}%"])["resources"]
    return [
        volume
        for volume in found
        if str(volume.get("description")).startswith(f"{DISK}: ")
        and str(volume["description"]).endswith(f"For the VM {vm_uuid}.")
        and volume.get("status") not in REMOVED
    ]


def plan_disk(site: Site, vm: Record, point: Record, source: str) -> Record:
    """Return what is made for a VM of a volume of a point, and whether it is there. Raise InvalidOptions."""
    copy = next((each for each in point["volumes"] if each["volume_uuid"] == source), None)
    if copy is None:
        known = ", ".join(str(each["volume_uuid"]) for each in point["volumes"])
        raise InvalidOptions(
            f"the point {point['point']} has no volume {source}. Nothing was changed. Its volumes are {known}"
        )
    if vm["state"] not in _ATTACHABLE:
        raise InvalidOptions(f"{vm['name']} is {vm['state']}, so no disk can be attached. Nothing was changed")
    description = describe_disk(source, point, vm["uuid"])
    made = next((each for each in list_disks(site, vm["uuid"]) if each["description"] == description), None)
    vms = site.read("vm_info")["vms"]
    carrier = choose_uuid(
        f"vm_backup_restore disk {point['vm_uuid']} {point['point']} {source} {vm['uuid']}", index(vms)
    )
    params = {
        "name": f"restore-{point['point'].lower()}-{source[:8]}",
        "description": describe_carrier(vm["uuid"]),
        "resourceUuid": carrier,
        "strategy": "CreateStopped",
        "cpuNum": 1,
        "memorySize": _MEMORY,
        "rootDiskSize": _ROOT,
        "dataDiskSizes": [int(copy["size"])],
        "clusterUuid": vm.get("cluster_uuid"),
        # A storage of its host alone would keep the disk from the VM.
        "hostUuid": vm.get("host_uuid") or vm.get("last_host_uuid"),
        **{name: vm.get(member) for name, member in _GUEST.items()},
    }
    call = {name: value for name, value in params.items() if value is not None}
    return {"source": source, "size": copy["size"], "made": made, "call": call, "description": description}


def export_disk(site: Site, disk: Record, addresses: Record, timeout: int) -> tuple[str, list[Record]]:
    """Make the carrier, export its data volume, and return its uuid, and how it is served. Raise VirtinfraError."""
    carrier = make(site, disk["call"], timeout)
    if not str(carrier.get("description")).startswith(CARRIER):
        raise VirtinfraError(f"The VM {carrier['name']} ({carrier['uuid']}) is not one that this role has made.")
    volume = find_data_volume(carrier)
    if volume["size"] != disk["size"]:
        raise VirtinfraError(f"The new volume has {volume['size']} bytes, and its copy {disk['size']}.")
    exports = {"vm": carrier["uuid"], "volumes": [volume["uuid"]]}
    # Those of a run that was killed.
    site.change("cbt_volume_export", exports, state="absent", wait_timeout=timeout)
    exported = site.change("cbt_volume_export", exports, wait_timeout=timeout)
    if exported["failed"]:
        raise VirtinfraError(f"The new volume could not be exported: {str(exported['msg']).rstrip('.')}.")
    infos = read_infos(exported.get("volume_infos"))
    if len(infos) != 1:
        raise VirtinfraError("The service has not exported the new volume.")
    host = carrier.get("host_uuid") or carrier.get("last_host_uuid")
    return str(volume["uuid"]), [{**replace_address(infos[0], host, addresses), "source": disk["source"]}]


def find_data_volume(carrier: Record) -> Record:
    """Return the data volume of a carrier. Raise VirtinfraError if it does not have exactly one."""
    volumes: list[Record] = [each for each in carrier["all_volumes"] or () if each.get("type") != "Root"]
    if len(volumes) != 1:
        raise VirtinfraError(f"The VM {carrier['name']} ({carrier['uuid']}) has {len(volumes)} data volumes, not one.")
    return volumes[0]


def finish_disk(site: Site, vm: Record, disk: Record, written: str | None, timeout: int) -> list[str]:
    """Attach a disk that is whole to its VM, and remove the carrier. Return what has failed.

    ``written`` is the uuid of the volume if this run has written all of it, else None.
    """
    problems = []
    try:
        if written:
            _end_export(site, disk, written, timeout)
            change = {"uuid": written, "name": disk["call"]["name"], "description": disk["description"]}
            _call(site, "UpdateVolume", change, "The disk could not be marked", timeout)
        if uuid := written or (disk["made"] or {}).get("uuid"):
            _attach(site, vm, uuid, timeout)
    except VirtinfraError as failure:
        problems.append(str(failure))
    return problems + remove_carriers(site, vm["uuid"], timeout)


def _end_export(site: Site, disk: Record, volume_uuid: str, timeout: int) -> None:
    """End the export of a disk that is written. Raise VirtinfraError if it may remain: anybody could write the disk."""
    exports = {"vm": disk["call"]["resourceUuid"], "volumes": [volume_uuid]}
    result = site.change("cbt_volume_export", exports, state="absent", wait_timeout=timeout)
    if result["failed"]:
        raise VirtinfraError(f"The export of the disk could not be ended: {str(result['msg']).rstrip('.')}.")


def _attach(site: Site, vm: Record, volume_uuid: str, timeout: int) -> None:
    """Attach a disk to its VM, detached from the carrier. Raise VirtinfraError unless the VM has it then."""
    owner = _read_owner(site, volume_uuid)
    if owner not in (None, vm["uuid"]):
        _call(site, "DetachDataVolumeFromVm", {"uuid": volume_uuid}, "The disk could not be detached", timeout)
    if owner != vm["uuid"]:
        params = {"volumeUuid": volume_uuid, "vmInstanceUuid": vm["uuid"]}
        _call(site, "AttachDataVolumeToVm", params, f"The disk could not be attached to {vm['name']}", timeout)
    if _read_owner(site, volume_uuid) != vm["uuid"]:
        raise VirtinfraError(f"The service does not show that the disk {volume_uuid} is attached to {vm['name']}.")


def _read_owner(site: Site, volume_uuid: str) -> str | None:
    """Return the VM to which a volume is attached. Raise VirtinfraError if it does not exist."""
    found = _find_disk(site, volume_uuid)
    if not found:
        raise VirtinfraError(f"The service does not show the disk {volume_uuid}.")
    return found.get("vm_instance_uuid") or None


def _find_disk(site: Site, volume_uuid: str) -> Record | None:
    """Return the record of a volume, None if the service does not show it. Raise VirtinfraError."""
    found = site.read("resource_info", resource_type="volume", query=[f"uuid={volume_uuid}"])["resources"]
    return found[0] if found else None


def _call(site: Site, operation: str, params: Record, failure: str, timeout: int) -> None:
    result = site.change("api", {"operation": operation, "params": params}, wait_timeout=timeout)
    if result["failed"]:
        raise VirtinfraError(f"{failure}: {str(result['msg']).rstrip('.')}.")


def remove_carriers(site: Site, vm_uuid: str, timeout: int) -> list[str]:
    """Remove the carriers of disks for a VM, and what is attached to them. Return which remain, and why.

    Their exports are ended before. A disk that is whole is no volume of them any more.
    """
    mark = describe_carrier(vm_uuid)
    try:
        vms = [vm for vm in site.read("vm_info")["vms"] if vm.get("description") == mark and vm["state"] != "Expunging"]
        kept = {disk["uuid"] for disk in list_disks(site, vm_uuid)}
    except VirtinfraError as failure:
        return [f"It is not known whether a VM remains in which the disk was written: {failure}."]
    problems = []
    for carrier in vms:
        volumes = [volume["uuid"] for volume in carrier["all_volumes"] or ()]
        if kept.intersection(volumes):
            problems.append(f"The VM {carrier['name']} ({carrier['uuid']}) remains, because it has the disk.")
            continue
        if volumes and carrier["state"] not in GONE:
            exports = {"vm": carrier["uuid"], "volumes": volumes}
            site.change("cbt_volume_export", exports, state="absent", wait_timeout=timeout)
        common = {"state": "absent", "data_volumes": "delete", "expunge": True, "wait_timeout": timeout}
        result = site.change("vm", {"uuid": carrier["uuid"], "description": mark}, **common)
        if result["failed"]:
            reason = str(result["msg"]).rstrip(".")
            problems.append(f"The VM {carrier['name']} ({carrier['uuid']}) could not be removed: {reason}.")
    return problems


def remove_disk(site: Site, disk: Record, timeout: int) -> str | None:
    """Detach a disk of the workflow, and delete it for good. Return why it remains, None if it does not."""
    uuid = disk["uuid"]
    try:
        if _read_owner(site, uuid):
            _call(site, "DetachDataVolumeFromVm", {"uuid": uuid}, "The disk could not be detached", timeout)
        _call(site, "DeleteDataVolume", {"uuid": uuid}, "The disk could not be deleted", timeout)
        if _find_disk(site, uuid):
            _call(site, "ExpungeDataVolume", {"uuid": uuid}, "The disk is deleted, but not expunged", timeout)
    except VirtinfraError as failure:
        return str(failure)
    return None


def find_left(dummy_uuid: str, disk: Record | None) -> str | None:
    """Return that a disk remains that was to be removed, None if the service does not show it any more."""
    return "The service still shows the disk." if disk else None


def list_lines(vm: Record, point: Record, disk: Record) -> list[str]:
    """Return lines that say what is attached."""
    if disk["made"] and disk["made"].get("vm_instance_uuid") == vm["uuid"]:
        return [f"The VM {vm['name']} has this disk already: {disk['made']['name']} ({disk['made']['uuid']})."]
    source = f"The volume {disk['source']} of the point {point['point']} of {point['vm_name']}"
    return [f"{source}, {disk['size']} bytes, becomes a new disk of the VM {vm['name']}."]


def name_disks(disks: Sequence[Record]) -> str:
    """Return the names and uuids of disks."""
    return name_some([f"{disk['name']} ({disk['uuid']})" for disk in disks]) or "none"
