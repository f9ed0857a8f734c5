"""Why the service would refuse calls for VMs, as far as records show it."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from contextlib import suppress

from .._api.errors import Unchangeable, Unsupported
from .._api.records import Record, normalize_address
from .._api.resource_types import HOST, L3_NETWORK
from .._client.client import Client
from .._client.lists import find_by_attribute, get_by_uuid
from .._engine.spec import PlannedCall
from .local_storages import find_root_storage, read_local_storages
from .vm_states import CHANGING_STATES, join_states

# The states of a VM that each operation accepts: section "VMs" of the notes on the life cycle. A VM that has the state
# to which the operation leads is accepted, too.
_ACCEPTED: Mapping[str, Sequence[str]] = {
    "StartVmInstance": ("Running", "Created", "Stopped", "Crashed"),
    "StopVmInstance": ("Stopped", "Running", "Paused", "Unknown", "NoState", "Crashed"),
    "RebootVmInstance": ("Running", "NoState", "Crashed"),
    "PauseVmInstance": ("Running",),
    "ResumeVmInstance": ("Paused",),
    "MigrateVm": ("Running", "Paused", "Unknown"),
    "AttachL3NetworkToVm": ("Running", "Stopped"),
    "DetachL3NetworkFromVm": ("Running", "Stopped"),
}

_CREATE_VM = ("CreateVmInstanceFromVolumeSnapshotGroup", "CreateVmInstance")


def find_vm_refusal(client: Client, call: PlannedCall, record: Record | None) -> Unchangeable | None:
    """Return the failure with which the service would refuse a call for a VM."""
    vm = record or {}
    if refusal := refuse_state(call.operation, vm):
        return refusal
    if call.operation == "StartVmInstance" and vm.get("state") != "Running":
        return _find_missing_host(client, {"clusterUuid": vm.get("clusterUuid"), **call.params}, vm)
    return None


def find_new_vm_refusal(client: Client, call: PlannedCall, dummy: Record | None) -> Unchangeable | None:
    """Return the failure with which the service would refuse to create a VM."""
    if call.operation not in _CREATE_VM:
        return None
    for network in dict.fromkeys(call.params.get("l3NetworkUuids") or []):
        if refusal := _refuse_networks(get_by_uuid(client, L3_NETWORK.query, network)):
            return refusal
    if call.params.get("strategy") == "CreateStopped":
        return None
    return _find_missing_host(client, call.params, {})


def refuse_state(operation: str, vm: Record) -> Unchangeable | None:
    """Return the failure that an operation does not accept the state of a VM. The task waits while it changes."""
    state, accepted = vm.get("state"), _ACCEPTED.get(operation)
    if accepted is None or state is None or state in (*accepted, *CHANGING_STATES):
        return None
    return Unchangeable(
        f"the VM {vm.get('name')} is {state}, and {operation} needs a VM that is {join_states(accepted)}. Change its"
        " state first."
    )


def _find_missing_host(client: Client, place: Record, vm: Record) -> Unchangeable | None:
    """Return the failure that none of the hosts on which a VM shall start is enabled and connected.

    ``place`` has the host, or else the cluster. A VM on local storage starts only where its volumes are. Which of
    several hosts has enough capacity is known to the service only.
    """
    if host := place.get("hostUuid"):
        hosts = get_by_uuid(client, HOST.query, host)
    elif cluster := place.get("clusterUuid"):
        hosts = find_by_attribute(client, HOST.query, "clusterUuid", cluster)
    else:
        return None
    if not hosts or any(host.get("state") is None or host.get("status") is None for host in hosts):
        return None
    usable = [host for host in hosts if (host["state"], host["status"]) == ("Enabled", "Connected")]
    if not usable:
        states = "; ".join(f"{host.get('name')} is {host['state']} and {host['status']}" for host in hosts[:5])
        return Unchangeable(f"a VM starts only on a host that is Enabled and Connected: {states}. Enable a host first.")
    last = vm.get("lastHostUuid")
    with suppress(Unsupported):
        if last and last not in [host["uuid"] for host in usable] and _is_on_local_storage(client, vm):
            return Unchangeable(
                f"the root volume is on local storage, so the VM starts only on the host {last!r}, which is not"
                " available or not the requested one. Omit host and cluster, and enable the host.",
                {last: "hostUuid"},
            )
    return None


def _is_on_local_storage(client: Client, vm: Record) -> bool:
    """Return whether the root volume of a VM is on the disks of a host. Raise Unsupported if it cannot be read."""
    return find_root_storage(vm) in read_local_storages(client)


def find_addresses_refusal(
    client: Client, uuid: str | None, address: str | None, mac: str | None
) -> Unchangeable | None:
    """Return the failure that a network, by its uuid, gets no NIC with these addresses; None for what is not given."""
    networks = get_by_uuid(client, L3_NETWORK.query, uuid) if uuid else []
    if refusal := _refuse_networks(networks):
        return refusal
    if uuid and address and (refusal := _refuse_address(client, networks, uuid, address)):
        return refusal
    return _refuse_mac(client, mac)


def _refuse_networks(networks: Sequence[Record]) -> Unchangeable | None:
    """Return the failure that a network gets no NICs of VMs.

    A network whose addresses others assign needs no ranges.
    """
    for network in networks:
        label = f"the L3 network {network.get('name')}"
        if network.get("state") == "Disabled":
            return Unchangeable(f"{label} is Disabled, so no NICs can be attached to it. Enable it first.")
        if network.get("category") == "System" or network.get("system") is True:
            return Unchangeable(f"{label} is a system network, which only the service uses. Give another network.")
        if network.get("ipRanges") == [] and network.get("enableIPAM") is not False:
            return Unchangeable(f"{label} has no IP range, so a NIC would get no address. Add a range first.")
    return None


def _refuse_address(client: Client, networks: Sequence[Record], network: str, text: str) -> Unchangeable | None:
    """Return the failure that an address is in no range of a network, or is that of another NIC in it."""
    for record in networks:
        ranges = [each for each in record.get("ipRanges") or () if each.get("startIp") and each.get("endIp")]
        if ranges and not any(_contains(each, text) for each in ranges):
            names = ", ".join(f"{each['startIp']} to {each['endIp']}" for each in ranges)
            return Unchangeable(
                f"static_ip {text} is in no IP range of the network {record.get('name')}: {names}. Give an address in"
                " one of them, or omit static_ip."
            )
    for nic in find_by_attribute(client, "QueryVmNic", "ip", text):
        if nic.get("l3NetworkUuid") == network:
            return Unchangeable(
                f"static_ip {text} is that of the NIC {nic.get('uuid')} of the VM {nic.get('vmInstanceUuid')!r}. Give"
                " another address, or omit static_ip.",
                {str(nic.get("vmInstanceUuid")): "vmInstanceUuid"},
            )
    return None


def _contains(ip_range: Record, text: str) -> bool:
    """Return whether an address is in a range of addresses of the same version."""
    first, last, address = (
        ipaddress.ip_address(value.strip()) for value in (ip_range["startIp"], ip_range["endIp"], text)
    )
    return first.version == address.version and int(first) <= int(address) <= int(last)


def _refuse_mac(client: Client, mac: str | None) -> Unchangeable | None:
    """Return the failure that another NIC has a MAC address."""
    for nic in find_by_attribute(client, "QueryVmNic", "mac", normalize_address(mac)) if mac else ():
        return Unchangeable(
            f"custom_mac {mac} is that of the NIC {nic.get('uuid')} of the VM {nic.get('vmInstanceUuid')!r}. Give"
            " another address, or omit custom_mac.",
            {str(nic.get("vmInstanceUuid")): "vmInstanceUuid"},
        )
    return None
