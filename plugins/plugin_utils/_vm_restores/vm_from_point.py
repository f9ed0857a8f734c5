"""VMs that are made from restore points: without an image, stopped, and empty until their volumes are written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count

from ...module_utils._api.errors import InvalidOptions, VirtinfraError
from ...module_utils._api.records import Record
from ...module_utils._api.references import build_uuid
from .._site.marked_vms import read_vms
from .._site.site import GONE, Site

# The members of the record of a VM that a new one gets, by the parameters of the call.
_KEPT = {
    "cpuNum": "cpu_num",
    "memorySize": "memory_size",
    "platform": "platform",
    "guestOsType": "guest_os_type",
    "architecture": "architecture",
    "clusterUuid": "cluster_uuid",
}

# How the descriptions of VMs begin that roles make for a time: that of a drill, and that in which a disk is written.
DRILL = "Drill of the role virtinfra.manager.vm_backup_drill, which removes this VM."
CARRIER = "Carrier of the role virtinfra.manager.vm_backup_restore. Do not start it: the role removes it."

# Whose addresses the NICs of a new VM get: those of the VM of the point, new ones, or it has no NICs.
SAME, NEW, NONE = "same", "new", "none"


def is_temporary(vm: Record) -> bool:
    """Return whether a role has made a VM for a time, and will remove it."""
    return str(vm.get("description")).startswith((DRILL, CARRIER))


def choose_uuid(purpose: str, vms: Mapping[str, Record]) -> str:
    """Return the uuid of a new VM, which each run and each controller derives from the purpose.

    ``vms`` are all VMs by their uuids. A destroyed VM keeps its uuid, so the new VM gets another uuid.
    """
    uuids = (build_uuid(f"{purpose} {number}") for number in count())
    return next(uuid for uuid in uuids if uuid not in vms or vms[uuid]["state"] not in GONE)


def list_copies(point: Record) -> list[Record]:
    """Return the copies of a point in the order of the volumes of a new VM. Raise InvalidOptions without a root volume.

    ``point`` has the record of its VM.
    """
    volumes = {volume["uuid"]: volume for volume in point["vm"].get("all_volumes") or ()}
    roots = {uuid for uuid, volume in volumes.items() if volume.get("type") == "Root"}
    copies = sorted(point["volumes"], key=lambda copy: (copy["volume_uuid"] not in roots, copy["device_id"] or 0))
    if not copies or copies[0]["volume_uuid"] not in roots:
        raise InvalidOptions(
            f"the point {point['point']} of {point['vm_name']} has no copy of a root volume, so no VM can be made of"
            " it. Nothing was changed. Choose another point, or write its volumes into files"
        )
    return copies


def name_volume(point: Record, copy: Record) -> str:
    """Return the name that the volume of a copy had."""
    volumes = {volume["uuid"]: volume for volume in point["vm"].get("all_volumes") or ()}
    return str(volumes.get(copy["volume_uuid"], {}).get("name") or copy["volume_uuid"])


def describe_call(point: Record, **chosen: str | None) -> Record:
    """Return the parameters that make a VM as large as that of a point, with empty volumes, and without NICs.

    ``chosen`` are further parameters, which replace those of the record.
    """
    sizes = [int(copy["size"]) for copy in list_copies(point)]
    params = {name: point["vm"].get(member) for name, member in _KEPT.items()}
    params |= {"strategy": "CreateStopped", "rootDiskSize": sizes[0], "dataDiskSizes": sizes[1:] or None, **chosen}
    return {name: value for name, value in params.items() if value is not None}


def choose_cluster(site: Site, point: Record, reference: str | None, variable: str) -> str:
    """Return the uuid of the cluster of a new VM, by default that of the record. Raise InvalidOptions without one."""
    return find_cluster(site, reference or point["vm"].get("cluster_uuid"), variable)


def find_cluster(site: Site, wanted: str | None, variable: str) -> str:
    """Return the uuid of the cluster with a name or uuid. Raise InvalidOptions, which names the variable to set."""
    clusters = site.read("resource_info", resource_type="cluster")["resources"]
    found = [str(each["uuid"]) for each in clusters if wanted in (each["uuid"], each["name"])]
    if len(found) != 1:
        known = ", ".join(sorted(str(each["name"]) for each in clusters))
        raise InvalidOptions(
            f"{'several clusters have' if found else 'no cluster has'} the name or uuid {wanted}. Nothing was changed."
            f" Set {variable} to one of {known}"
        )
    return found[0]


def make(site: Site, params: Record, timeout: int) -> Record:
    """Make a VM unless it exists, and return its record. Raise VirtinfraError."""
    uuid = str(params["resourceUuid"])
    if found := find(site, uuid):
        return found
    call = {"operation": "CreateVmInstance", "params": params}
    result = site.change("api", call, wait_timeout=timeout)
    # A call whose response was lost may have made the VM.
    if found := find(site, uuid):
        return found
    reason = str(result["msg"]).rstrip(".") if result["failed"] else "the service does not show it"
    raise VirtinfraError(f"The VM {params['name']} could not be made: {reason}.")


def find(site: Site, uuid: str) -> Record | None:
    """Return a VM that is not destroyed. Raise VirtinfraError if it cannot be read."""
    return next((vm for vm in read_vms(site, [uuid]) if vm["uuid"] == uuid and vm["state"] not in GONE), None)


def match_volumes(point: Record, vm: Record) -> dict[str, str]:
    """Return the volumes of a new VM by those of its point. Raise VirtinfraError if one is missing."""
    made = sorted(vm["all_volumes"] or (), key=lambda each: (each.get("type") != "Root", each.get("device_id") or 0))
    matched = {}
    for copy in list_copies(point):
        # The service may give the devices another order. All volumes are empty, so the size decides.
        found = next((each for each in made if each["size"] == copy["size"]), None)
        if found is None:
            raise VirtinfraError(
                f"The VM {vm['name']} ({vm['uuid']}) has no volume of {copy['size']} bytes for"
                f" {name_volume(point, copy)}."
            )
        made.remove(found)
        matched[str(copy["volume_uuid"])] = str(found["uuid"])
    return matched


def list_nics(point: Record, addresses: str) -> list[Record]:
    """Return the NICs of a new VM, that of the default network first: the service makes the first one the default."""
    record = point["vm"]
    default = record.get("default_l3_network_uuid")
    nics = sorted(
        (nic for nic in record.get("vm_nics") or () if nic.get("l3_network_uuid")),
        key=lambda nic: (nic["l3_network_uuid"] != default, nic.get("device_id") or 0),
    )
    if addresses == SAME:
        return [
            {"l3_network": nic["l3_network_uuid"], "static_ip": nic.get("ip"), "custom_mac": nic.get("mac")}
            for nic in nics
        ]
    networks = dict.fromkeys(nic["l3_network_uuid"] for nic in nics) if addresses == NEW else ()
    return [{"l3_network": network} for network in networks]


def find_conflicts(nics: Sequence[Record], uuid: str, vms: Sequence[Record]) -> list[str]:
    """Return which other VMs have addresses of the NICs of a new VM."""
    wanted = {(nic["l3_network"], nic.get("static_ip")) for nic in nics if nic.get("static_ip")}
    return [
        f"{vm['name']} has the address {nic['ip']}"
        for vm in vms
        if vm["uuid"] != uuid and vm["state"] not in GONE
        for nic in vm.get("vm_nics") or ()
        if (nic.get("l3_network_uuid"), nic.get("ip")) in wanted
    ]


def attach_nics(site: Site, vm_uuid: str, nics: Sequence[Record], timeout: int) -> list[str]:
    """Attach the NICs that a VM does not have yet, one after the other, and return why some are missing."""
    problems = []
    for nic in nics:
        given = {name: value for name, value in nic.items() if value is not None}
        result = site.change("vm_nic", {"vm": vm_uuid, **given}, wait_timeout=timeout)
        if result["failed"]:
            address = f" with the address {nic['static_ip']}" if nic.get("static_ip") else ""
            problems.append(
                f"The NIC in the network {nic['l3_network']}{address} is missing: {str(result['msg']).rstrip('.')}"
            )
    return problems
