"""VMs: creation from snapshot groups, changes."""

from __future__ import annotations

from typing import Any

from ..errors import OperationError, invalid_argument, operation_refused
from ..registry import Call, Reply, catalogued, operation
from ..state import records as record_builders
from ..state.store import Record, Store
from . import creation
from .nics import new_nic, require_usable


@operation("CreateVmInstanceFromVolumeSnapshotGroup")
def create_vm_from_snapshot_group(call: Call) -> Reply:
    """Create a VM with the volumes of a snapshot group."""
    store = call.store
    group = store["snapshotgroup"].get(call["volumeSnapshotGroupUuid"])
    source = store["vm"].get(group["vmInstanceUuid"])
    networks = [store["l3network"].get(uuid) for uuid in call.get("l3NetworkUuids", [])]
    for network in networks:
        require_usable(network)
    default = choose_default_network(call, networks)
    check_name(call)
    uuid = creation.generate_uuid(call, "vm")
    volumes = _volumes(call, source, uuid)
    vm = store["vm"].put(
        record_builders.build_vm(
            {
                **{name: source[name] for name in ("imageUuid", "platform", "architecture", "guestOsType", "zoneUuid")},
                **_size(call, source),
                **place_vm(call, source["clusterUuid"]),
                **call.select("name", "description", "type"),
                "uuid": uuid,
                "defaultL3NetworkUuid": default,
                "rootVolumeUuid": volumes[0]["uuid"],
                "allVolumes": volumes,
                "vmNics": [],
            },
            store.dates(),
        )
    )
    for device, network in enumerate(networks):
        vm = store["vm"].change(uuid, vmNics=[*vm["vmNics"], new_nic(store, uuid, network, device)])
    creation.tag(call, vm)
    return {"inventory": vm}


def choose_default_network(call: Call, networks: list[Record]) -> str | None:
    """Return the network of the default route; raise OperationError if it is not clear which one."""
    uuids = [network["uuid"] for network in networks]
    default: str | None = call.get("defaultL3NetworkUuid")
    if default is None and len(set(uuids)) > 1:
        raise invalid_argument("more than one L3 network needs defaultL3NetworkUuid")
    if default is not None and default not in uuids:
        raise invalid_argument(f"defaultL3NetworkUuid[{default}] is not one of l3NetworkUuids")
    return default or next(iter(uuids), None)


def _size(call: Call, source: Record) -> dict[str, Any]:
    """Return CPUs and memory: as given, or of the offering, or of the source."""
    offering = call.get("instanceOfferingUuid")
    origin = call.store["instanceoffering"].get(offering) if offering else source
    size = {name: call.get(name, origin[name]) for name in ("cpuNum", "memorySize", "cpuSpeed")}
    return {**size, "instanceOfferingUuid": offering}


def place_vm(call: Call, default: str | None) -> dict[str, Any]:
    """Return state, cluster and host; a VM can only start on an enabled and connected host."""
    cluster = call.get("clusterUuid", default)
    if call.get("strategy") == "JustCreate":
        return {"state": "Created", "clusterUuid": cluster}
    if call.get("strategy") == "CreateStopped":
        return {"state": "Stopped", "clusterUuid": cluster}
    host = _host(call.store, call.get("hostUuid"), cluster)
    return {
        "state": "Running",
        "clusterUuid": host["clusterUuid"],
        "hostUuid": host["uuid"],
        "lastHostUuid": host["uuid"],
    }


def _host(store: Store, requested: str | None, cluster: str | None) -> Record:
    reasons = []
    for host in store["host"].all():
        if host["uuid"] == requested if requested else host["clusterUuid"] == cluster:
            if host["state"] == "Enabled" and host["status"] == "Connected":
                return host
            reasons.append(operation_refused(f"host[uuid: {host['uuid']}] is {host['state']} and {host['status']}"))
    raise OperationError("SYS.1090", "no host can start the vm", *reasons)


def _volumes(call: Call, source: Record, vm_uuid: str) -> list[Record]:
    """Return copies of the volumes in the group, the root volume first."""
    store, root_storage = call.store, call.get("primaryStorageUuidForRootVolume")
    volumes = []
    for device, volume in enumerate(sorted(source["allVolumes"], key=lambda volume: int(volume["deviceId"]))):
        kind = "Data" if device else "Root"
        identity = {
            "uuid": store.generate_uuid(),
            "name": f"{kind.lower()}-of-{call['name']}",
            "type": kind,
            "deviceId": device,
            "vmInstanceUuid": vm_uuid,
            "primaryStorageUuid": volume["primaryStorageUuid"] if device or not root_storage else root_storage,
            "encrypted": bool(call.get("vmEncryption", False)),
            "size": volume["size"],
        }
        volumes.append(record_builders.build_volume(identity, store.dates()))
    return volumes


def check_name(call: Call, own_uuid: str = "") -> None:
    """Raise OperationError if names are unique, and another VM, perhaps a destroyed one, has the name."""
    if call.switches.unique_vm_names and any(
        vm["name"] == call.get("name") and vm["uuid"] != own_uuid for vm in call.store["vm"].all()
    ):
        raise operation_refused(f"a vm with the name[{call['name']}] exists already")


@operation("UpdateVmInstance", has_envelope=False)
def update_vm(call: Call) -> Reply:
    """Change members of a VM. Its size can change while it is stopped; with hot-plug, it can also grow."""
    vm = call.store["vm"].get(call["uuid"])
    check_name(call, vm["uuid"])
    for name, value in call.select("cpuNum", "memorySize").items():
        can_grow = call.switches.hot_plug and vm["state"] == "Running" and value >= vm[name]
        if vm["state"] != "Stopped" and not can_grow:
            raise invalid_argument(f"{name} of vm[uuid: {vm['uuid']}] cannot be changed while it is {vm['state']}")
    default = call.get("defaultL3NetworkUuid")
    if default and default not in {nic["l3NetworkUuid"] for nic in vm["vmNics"]}:
        raise invalid_argument(f"defaultL3NetworkUuid[{default}] is not a network of vm[uuid: {vm['uuid']}]")
    members = call.select(
        *("name", "description", "defaultL3NetworkUuid", "platform", "cpuNum", "memorySize", "guestOsType"),
        "allocatorStrategy",
    )
    return {"inventory": call.store.change("vm", vm["uuid"], **members)}


@catalogued("GetVmGuestToolsInfo")
def get_guest_tools_info(call: Call) -> Reply:
    """Return whether the guest tools of a VM answer."""
    vm = call.store["vm"].get(call.path["uuid"])
    does_answer = call.switches.guest_tools and vm["state"] == "Running"
    return {"version": "1.0" if does_answer else None, "status": "Running" if does_answer else "NotConnected"}


@operation("GetResourceConfig")
def get_resource_config(call: Call) -> Reply:
    """Return whether CPUs and memory of a VM can grow while it runs, the one setting of an object that is known."""
    vm = call.store["vm"].get(call["resourceUuid"])
    if (call["category"], call["name"]) != ("vm", "numa"):
        raise invalid_argument(f"vm[uuid: {vm['uuid']}] has no setting {call['name']} in {call['category']}")
    return {"value": str(call.switches.hot_plug).lower()}
