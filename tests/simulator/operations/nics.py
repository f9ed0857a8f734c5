"""NICs of VMs: attaching, states, networks, bandwidth limits."""

from __future__ import annotations

import ipaddress
import re
from typing import Any

from ..errors import invalid_argument, operation_refused, wrong_vm_state
from ..registry import Call, Reply, operation
from ..state import records as record_builders
from ..state.deletion import find_to_delete, forget_nic
from ..state.store import Record, Store

MAC = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}", re.IGNORECASE)
ATTACHABLE = ("Running", "Stopped")


def new_nic(store: Store, vm_uuid: str, network: Record, device: int, options: dict[str, Any] | None = None) -> Record:
    """Return a new NIC of a VM; `options` may have staticIp, customMac and driverType."""
    options = options or {}
    identity: dict[str, Any] = {"uuid": store.generate_uuid(), "vmInstanceUuid": vm_uuid, "deviceId": device}
    identity["mac"] = _allocate_mac(store, options.get("customMac"))
    if options.get("driverType"):
        identity["driverType"] = options["driverType"]
    address = allocate_address(store, network, options.get("staticIp"))
    return record_builders.build_nic(identity, network, address, store.generate_uuid(), store.dates())


def require_usable(network: Record) -> None:
    """Raise OperationError if a network gets no NICs of VMs."""
    label = f"l3Network[uuid: {network['uuid']}]"
    if network["state"] == "Disabled":
        raise operation_refused(f"{label} is Disabled")
    if network["category"] == "System":
        raise operation_refused(f"{label} is a system network")
    if not network["ipRanges"]:
        raise operation_refused(f"{label} has no ip range")


def allocate_address(store: Store, network: Record, requested: str | None) -> str:
    """Return the requested address, or the first free one of the network."""
    used = {nic["ip"] for nic in store.records("vmnic")[1] if nic["l3NetworkUuid"] == network["uuid"]}
    ip_range = network["ipRanges"][0]
    first, last = (ipaddress.IPv4Address(ip_range[name]) for name in ("startIp", "endIp"))
    if requested is None:
        numbers = range(int(first), int(last) + 1)
        return next(free for number in numbers if (free := str(ipaddress.IPv4Address(number))) not in used)
    try:
        address = ipaddress.IPv4Address(requested)
    except ValueError:
        raise invalid_argument(f"staticIp[{requested}] is not an IPv4 address") from None
    if not first <= address <= last:
        raise invalid_argument(f"staticIp[{requested}] is not in {first}..{last} of l3Network[uuid: {network['uuid']}]")
    if str(address) in used:
        raise invalid_argument(f"staticIp[{requested}] is in use on l3Network[uuid: {network['uuid']}]")
    return str(address)


def release_addresses(vm: Record) -> list[Record]:
    """Return the NICs of a VM without their addresses, which other NICs can get now."""
    freed: dict[str, Any] = {"ip": None, "netmask": None, "gateway": None, "usedIps": []}
    return [Record("vmnic", {**nic, **freed, "_ip": nic["ip"] or nic.get("_ip")}) for nic in vm["vmNics"]]


def restore_addresses(store: Store, vm: Record) -> Record:
    """Give the NICs of a VM that have no address their former one or, if that was taken, another one."""
    for nic in vm["vmNics"]:
        if nic["ip"] is None:
            network = store["l3network"].get(nic["l3NetworkUuid"])
            is_free = all(other["ip"] != nic["_ip"] for other in store.records("vmnic")[1])
            ip = nic["_ip"] if is_free else allocate_address(store, network, None)
            members = record_builders.address_members(nic["uuid"], network, ip, store.generate_uuid(), store.dates())
            vm = _with_nic(store, vm, nic, members)
    return vm


def _allocate_mac(store: Store, requested: str | None) -> str:
    if requested is None:
        return record_builders.mac_address(1, store.new_id())
    if not MAC.fullmatch(requested):
        raise invalid_argument(f"customMac[{requested}] is not a MAC address")
    if any(nic["mac"] == requested.lower() for nic in store.records("vmnic")[1]):
        raise invalid_argument(f"duplicate mac address[{requested}]")
    return requested.lower()


@operation("AttachL3NetworkToVm")
def attach_l3_network(call: Call) -> Reply:
    """Add a NIC to a VM."""
    store = call.store
    vm, network = store["vm"].get(call["vmInstanceUuid"]), store["l3network"].get(call["l3NetworkUuid"])
    if vm["state"] not in ATTACHABLE:
        raise operation_refused(f"vm[uuid: {vm['uuid']}] is {vm['state']}, not Running or Stopped")
    require_usable(network)
    attached = any(nic["l3NetworkUuid"] == network["uuid"] for nic in vm["vmNics"])
    if attached and call.switches.attach_duplicates == "refuse":
        raise operation_refused(f"l3Network[uuid: {network['uuid']}] is already attached to vm[uuid: {vm['uuid']}]")
    device = max((nic["deviceId"] for nic in vm["vmNics"]), default=-1) + 1
    nic = new_nic(store, vm["uuid"], network, device, call.select("staticIp", "driverType", "customMac"))
    default = vm["defaultL3NetworkUuid"] or network["uuid"]
    return {"inventory": store.change("vm", vm["uuid"], vmNics=[*vm["vmNics"], nic], defaultL3NetworkUuid=default)}


@operation("ChangeVmNicState")
def change_vm_nic_state(call: Call) -> Reply:
    """Enable or disable a NIC."""
    nic, vm = call.store.find_nic(call["vmNicUuid"])
    state = call.get("state")
    if state == nic["state"] == "enable" and call.switches.enable_enabled_nic == "refuse":
        raise invalid_argument(f"duplicate mac address[{nic['mac']}]")
    return {"inventory": _with_nic(call.store, vm, nic, {"state": state or nic["state"]})}


def _with_nic(store: Store, vm: Record, nic: Record, members: dict[str, Any], **of_vm: Any) -> Record:
    """Change a NIC and return the new record of its VM."""
    changed = Record("vmnic", {**nic, **members, "lastOpDate": store.now()})
    nics = [changed if other["uuid"] == nic["uuid"] else other for other in vm["vmNics"]]
    return store.change("vm", vm["uuid"], vmNics=nics, **of_vm)


@operation("ChangeVmNicNetwork")
def change_vm_nic_network(call: Call) -> Reply:
    """Move a NIC to another L3 network with a new address."""
    store = call.store
    nic, vm = store.find_nic(call["vmNicUuid"])
    network = store["l3network"].get(call["destL3NetworkUuid"])
    require_usable(network)
    if nic["uuid"] in call.switches.nic_services:
        raise operation_refused(f"vmNic[uuid: {nic['uuid']}] has network services attached")
    ip = allocate_address(store, network, call.get("staticIp"))
    members = record_builders.address_members(nic["uuid"], network, ip, store.generate_uuid(), store.dates())
    was_default = vm["defaultL3NetworkUuid"] == nic["l3NetworkUuid"]
    default = network["uuid"] if was_default else vm["defaultL3NetworkUuid"]
    _with_nic(store, vm, nic, members, defaultL3NetworkUuid=default)
    return {"inventory": store.find_nic(nic["uuid"])[0]}


@operation("SetNicQos", has_envelope=False)
def set_nic_qos(call: Call) -> Reply:
    """Limit the bandwidth of a NIC; the limit of a direction that is not given stays."""
    nic = call.store.find_nic(call["uuid"])[0]
    limits = {name: call[f"{name}boundBandwidth"] for name in ("out", "in") if f"{name}boundBandwidth" in call.params}
    if not limits:
        raise invalid_argument("outboundBandwidth or inboundBandwidth is needed")
    call.store.qos[nic["uuid"]] = {**call.store.qos.get(nic["uuid"], {}), **limits}
    return {}


@operation("DeleteNicQos", has_envelope=False)
def delete_nic_qos(call: Call) -> Reply:
    """Remove the bandwidth limit of a NIC in one direction, if there is one and no offering sets it."""
    nic = call.store.find_nic(call["uuid"])[0]
    if nic["uuid"] not in call.switches.offering_limits:
        call.store.qos.get(nic["uuid"], {}).pop(call["direction"], None)
    return {}


@operation("GetNicQos")
def get_nic_qos(call: Call) -> Reply:
    """Return the bandwidth limits of a NIC; -1: no limit."""
    if not call.store.find("vmnic", call["nicUuid"]):
        raise invalid_argument(f"vmNic[uuid: {call['nicUuid']}] does not exist")
    limits = call.store.qos.get(call["nicUuid"], {})
    return {f"{name}boundBandwidth": limits.get(name, -1) for name in ("out", "in")}


@operation("DetachL3NetworkFromVm")
def detach_l3_network(call: Call) -> Reply:
    """Remove a NIC from its VM, and delete it. If it was on the default network, another one becomes the default."""
    store = call.store
    nic, vm = store.find_nic(call["uuid"])
    if vm["state"] not in ATTACHABLE:
        cause = wrong_vm_state(vm["uuid"], vm["state"], "detach a NIC from")
        raise operation_refused(f"cannot detach vmNic[uuid: {nic['uuid']}]", cause)
    nics = [other for other in vm["vmNics"] if other["uuid"] != nic["uuid"]]
    networks = [other["l3NetworkUuid"] for other in nics]
    default = vm["defaultL3NetworkUuid"]
    if default not in networks:
        default = next(iter(networks), None)
    forget_nic(store, nic["uuid"])
    return {"inventory": store.change("vm", vm["uuid"], vmNics=nics, defaultL3NetworkUuid=default)}


@operation("DeleteVmNic", has_envelope=False)
def delete_vm_nic(call: Call) -> Reply:
    """Delete a NIC without a VM; succeed if it does not exist. All NICs of the simulator have VMs."""
    nic = find_to_delete(call.store, "vmnic", call["uuid"])
    if nic:
        raise operation_refused(f"vmNic[uuid: {nic['uuid']}] belongs to vm[uuid: {nic['vmInstanceUuid']}]")
    return {}
