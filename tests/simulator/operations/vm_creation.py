"""New VMs: of an image, with an empty disk to install from an ISO, with an empty disk alone, and clones."""

from __future__ import annotations

import json
from typing import Any

from ..errors import OperationError, invalid_argument, operation_refused
from ..registry import Call, Reply, operation
from ..state import records as record_builders
from ..state.store import Record
from . import creation
from .kinds import require_quota
from .nics import new_nic, require_usable
from .vms import check_name, choose_default_network, place_vm

ROOT_TEMPLATE, ISO = "RootVolumeTemplate", "ISO"
NEEDED_WITHOUT_IMAGE = ("platform", "guestOsType", "architecture")


@operation("CreateVmInstance")
def create_vm(call: Call) -> Reply:
    """Create a VM, running unless the strategy says otherwise."""
    store = call.store
    require_quota(store, "vm.totalNum", "vm")
    image = _choose_image(call)
    size, root_size = _choose_size(call), _choose_root_size(call, image)
    networks = [store["l3network"].get(uuid) for uuid in call.get("l3NetworkUuids", [])]
    for network in networks:
        require_usable(network)
    default, details = choose_default_network(call, networks), _parse_nic_params(call)
    check_name(call)
    uuid = creation.generate_uuid(call, "vm")
    volumes = [] if call.get("strategy") == "JustCreate" else _build_volumes(call, uuid, image, root_size)
    guest = {name: image[name] for name in ("platform", "guestOsType", "architecture") if image and image.get(name)}
    members = {
        **guest,
        **size,
        **place_vm(call, _choose_cluster(call)),
        **call.select("name", "description", "type", *NEEDED_WITHOUT_IMAGE, "allocatorStrategy"),
        "zoneUuid": call.get("zoneUuid", store["zone"].all()[0]["uuid"]),
        "imageUuid": image and image["uuid"],
        "defaultL3NetworkUuid": default,
        "rootVolumeUuid": volumes[0]["uuid"] if volumes else None,
        "allVolumes": volumes,
        "vmCdRoms": _build_cd_roms(call, uuid, image),
        "vmNics": [],
        "uuid": uuid,
    }
    vm = store["vm"].put(record_builders.build_vm(members, store.dates()))
    for device, network in enumerate(networks):
        nic = new_nic(store, uuid, network, device, details.get(network["uuid"], {}))
        vm = store["vm"].change(uuid, vmNics=[*vm["vmNics"], nic])
    creation.tag(call, vm)
    return {"inventory": vm}


def _choose_image(call: Call) -> Record | None:
    """Return the image of the VM, None without one; raise OperationError if no VM can be made of it."""
    if "imageUuid" not in call.params:
        if missing := [name for name in NEEDED_WITHOUT_IMAGE if not call.get(name)]:
            raise invalid_argument(f"without imageUuid, {', '.join(missing)} must be set")
        return None
    image = call.store["image"].get(call["imageUuid"])
    label = f"image[uuid: {image['uuid']}]"
    if image["state"] != "Enabled" or image["status"] != "Ready":
        raise operation_refused(f"{label} is {image['state']} and {image['status']}")
    if image["mediaType"] not in (ROOT_TEMPLATE, ISO):
        raise invalid_argument(f"{label} is of mediaType {image['mediaType']}, which is no root volume")
    return image


def _choose_size(call: Call) -> dict[str, Any]:
    """Return CPUs and memory: as given, or of the offering."""
    offering = call.get("instanceOfferingUuid")
    if offering:
        record = call.store["instanceoffering"].get(offering)
        return {name: record[name] for name in ("cpuNum", "memorySize", "cpuSpeed")} | {
            "instanceOfferingUuid": offering
        }
    if not {"cpuNum", "memorySize"} <= call.params.keys():
        raise invalid_argument("cpuNum and memorySize, or instanceOfferingUuid, must be set")
    return call.select("cpuNum", "memorySize")


def _choose_root_size(call: Call, image: Record | None) -> int:
    """Return the size of the root volume: that of the image, or as given, which an empty volume needs."""
    if image and image["mediaType"] == ROOT_TEMPLATE:
        return int(max(image["size"], call.get("rootDiskSize", 0)))
    if not call.get("rootDiskSize"):
        raise invalid_argument("an empty root volume needs rootDiskSize or rootDiskOfferingUuid")
    return int(call["rootDiskSize"])


def _choose_cluster(call: Call) -> str | None:
    """Return the cluster of the VM: as given, that of its host, or the first one of its zone."""
    host = call.get("hostUuid")
    if cluster := call.get("clusterUuid") or (host and call.store["host"].get(host)["clusterUuid"]):
        return str(cluster)
    zone = call.get("zoneUuid")
    clusters = [each for each in call.store["cluster"].all() if zone in (None, each["zoneUuid"])]
    return clusters[0]["uuid"] if clusters else None


def _parse_nic_params(call: Call) -> dict[str, dict[str, Any]]:
    """Return the options of a new NIC by the uuid of its network; raise OperationError for a network without NIC."""
    names = {"ip": "staticIp", "mac": "customMac", "driverType": "driverType"}
    details = {}
    for item in json.loads(call.get("vmNicParams", "[]")):
        if item.get("l3NetworkUuid") not in call.get("l3NetworkUuids", []):
            raise invalid_argument(
                f"l3NetworkUuid[{item.get('l3NetworkUuid')}] of vmNicParams is not in l3NetworkUuids"
            )
        if item["l3NetworkUuid"] in details:
            raise invalid_argument("duplicate nic params")
        details[item["l3NetworkUuid"]] = {option: item[name] for name, option in names.items() if item.get(name)}
    return details


def _build_volumes(call: Call, vm_uuid: str, image: Record | None, root_size: int) -> list[Record]:
    """Return the root volume and the data volumes of a new VM."""
    root = call.get("primaryStorageUuidForRootVolume") or call.store["primarystorage"].all()[0]["uuid"]
    volumes = []
    for device, size in enumerate([root_size, *call.get("dataDiskSizes", [])]):
        identity = {
            "uuid": call.store.generate_uuid(),
            "name": f"DATA-for-{call['name']}" if device else f"ROOT-for-{call['name']}",
            "type": "Data" if device else "Root",
            "deviceId": device,
            "vmInstanceUuid": vm_uuid,
            "primaryStorageUuid": root,
            "rootImageUuid": None if device or image is None else image["uuid"],
            "size": size,
            "actualSize": 0,
        }
        volumes.append(record_builders.build_volume(identity, call.store.dates()))
    return volumes


def _build_cd_roms(call: Call, vm_uuid: str, image: Record | None) -> list[Record]:
    """Return the CD-ROM from which the guest is installed, if the image is an ISO."""
    if image is None or image["mediaType"] != ISO:
        return []
    uuid = call.store.generate_uuid()
    identity = {"uuid": uuid, "vmInstanceUuid": vm_uuid, "deviceId": 0, "isoUuid": image["uuid"], "name": "cdrom-0"}
    return [Record("cdrom", {**identity, **call.store.dates()})]


@operation("CloneVmInstance")
def clone_vm(call: Call) -> Reply:
    """Create VMs like another one, with copies of its root volume."""
    return _create_like(call, call.store["vm"].get(call["vmInstanceUuid"]))


@operation("CreateVmInstanceFromTemplatedVmInstance")
def create_vm_from_template(call: Call) -> Reply:
    """Create VMs of a template."""
    uuid = call.store["templatedvminstance"].get(call["templatedVmInstanceUuid"])["uuid"]
    return _create_like(call, call.store["vm"].get(uuid))


def _create_like(call: Call, source: Record) -> Reply:
    """Create a VM for each name; one that cannot be created has an error in place of its record."""
    require_quota(call.store, "vm.totalNum", "vm")
    results: list[dict[str, Any]] = []
    for name in call["names"]:
        try:
            results.append({"inventory": _copy(call, source, name)})
        except OperationError as error:
            results.append({"error": error.to_error_code("cause", extras=False)})
    created = sum("inventory" in result for result in results)
    return {"result": {"numberOfClonedVm": created, "inventories": results}}


def _copy(call: Call, source: Record, name: str) -> Record:
    store, uuid = call.store, call.store.generate_uuid()
    root = next(volume for volume in source["allVolumes"] if volume["uuid"] == source["rootVolumeUuid"])
    identity = {
        **{name: root[name] for name in ("type", "deviceId", "rootImageUuid", "size", "primaryStorageUuid")},
        "uuid": store.generate_uuid(),
        "name": f"ROOT-for-{name}",
        "vmInstanceUuid": uuid,
    }
    kept = ("imageUuid", "platform", "architecture", "guestOsType", "zoneUuid", "cpuNum", "memorySize", "cpuSpeed")
    networks = call.get("l3NetworkUuids") or [nic["l3NetworkUuid"] for nic in source["vmNics"]]
    members = {
        **{name: source[name] for name in (*kept, "instanceOfferingUuid", "defaultL3NetworkUuid")},
        **(_choose_size(call) if call.get("cpuNum") or call.get("instanceOfferingUuid") else {}),
        **({"defaultL3NetworkUuid": call.get("defaultL3NetworkUuid", networks[0])} if networks else {}),
        **place_vm(call, source["clusterUuid"]),
        **call.select("description"),
        "rootVolumeUuid": identity["uuid"],
        "allVolumes": [record_builders.build_volume(identity, store.dates())],
        "vmNics": [],
        "name": name,
        "uuid": uuid,
    }
    vm = store["vm"].put(record_builders.build_vm(members, store.dates()))
    for device, network in enumerate(networks):
        nic = new_nic(store, uuid, store["l3network"].get(network), device)
        vm = store["vm"].change(uuid, vmNics=[*vm["vmNics"], nic])
    creation.tag(call, vm)
    return vm


@operation("GetVmConsoleAddress")
def get_console_address(call: Call) -> Reply:
    """Return where the console of a running VM is."""
    vm = call.store["vm"].get(call["uuid"])
    if vm["state"] != "Running":
        raise operation_refused(f"vm[uuid: {vm['uuid']}] is {vm['state']}, so it has no console")
    host = call.store["host"].get(vm["hostUuid"])
    return {"protocol": "vnc", "hostIp": host["managementIp"], "port": 5900}
