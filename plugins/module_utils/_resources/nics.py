"""Find the NICs of VMs and their bandwidth limits, and plan calls for them. Section "Virtual machines"."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from .._api.errors import (
    ApiError,
    InvalidOptions,
    NotFound,
    ReadExecutedAsChange,
    TransportError,
    Unsupported,
)
from .._api.operation import ABSENT
from .._api.operations import get_operation
from .._api.records import (
    Record,
    complete_record,
    normalize_address,
)
from .._api.references import format_option_name, is_name
from .._api.resource_types import VM
from .._client.client import Client
from .._client.jobs import Job
from .._client.lists import (
    combine_finders,
    find_by_attribute,
    get_by_uuid,
    query,
    require_unique,
)
from .._client.replies import build_unsupported_error
from .._client.waiting import wait_for_jobs
from .._engine.current import Current, replace_record
from .._engine.drift import find_drift
from .._engine.guards import Dependent, Dependents, Guard
from .._engine.plan import build_default_plan
from .._engine.refusals import build_unknown
from .._engine.spec import PlannedCall, ResourceSpec
from .readings import list_by_cursor

# The fields with the address of a NIC.
_ADDRESS_FIELDS = ("ip", "netmask", "gateway", "usedIps")

# What the removal of a NIC does to another network of the VM.
_NEW_DEFAULT = "made the default network"


def _normalize_addresses(nic: Record) -> Record:
    """Return a NIC with its addresses in canonical form."""
    return {name: normalize_address(value) if value and name in ("ip", "mac") else value for name, value in nic.items()}


def find_vm_nic(client: Client, desired: Record) -> Record | None:
    """Read a NIC and, as its member ``vm``, its VM: by the NIC's uuid, or by its natural key.

    The natural key consists of the VM, the network and, if given, the IP and MAC address, because a VM may have several
    NICs in one network. With both addresses, a NIC with only one of them is returned if no NIC has both.
    """
    key = "uuid" if "uuid" in desired else "l3NetworkUuid"
    if key != "uuid" and is_name(desired["vmInstanceUuid"]):
        # The name of a VM that does not exist, so it has no NIC.
        return None
    read = combine_finders(_query_vm_of_nics, _query_nics, _list_vms_of_nics)
    nics = [nic for nic in read(client, desired) if nic.get(key) == desired[key]]
    if key != "uuid":
        nics = _select_by_addresses(nics, desired)
    return require_unique(nics, f"the {format_option_name(key)} {desired[key]!r} on this VM")


def _select_by_addresses(nics: list[Record], desired: Record) -> list[Record]:
    """Return the NICs with the most of the desired addresses, all if no address is desired.

    Raise Unsupported if a NIC without a known IP address may be the desired one.
    """
    addresses = {option: desired[option] for option in _ADDRESSES if desired.get(option)}
    if not addresses:
        return nics
    counts = [sum(_ADDRESSES[option](nic, address) for option, address in addresses.items()) for nic in nics]
    if any(counts):
        return [nic for nic, count in zip(nics, counts, strict=True) if count == max(counts)]
    if addresses.keys() == {"staticIp"}:
        _require_ip_addresses(nics, addresses["staticIp"])
    return []


def shows_ip_address(nic: Record, address: str | None) -> bool:
    """Return whether a NIC has an address; a NIC with IPv4 and IPv6 has further addresses in ``usedIps``."""
    return bool(address) and normalize_address(str(address)) in map(normalize_address, _list_ip_addresses(nic))


def _list_ip_addresses(nic: Record) -> list[str]:
    return list(filter(None, [nic.get("ip"), *(used.get("ip") for used in nic.get("usedIps") or [])]))


def _require_ip_addresses(nics: list[Record], address: str) -> None:
    """Raise Unsupported when a NIC shows no IP address, because it may be the NIC with ``address``."""
    if hidden := next((nic for nic in nics if not _list_ip_addresses(nic)), None):
        raise Unsupported(
            f"the NIC {hidden.get('uuid')} shows no IP address (yet), so it may be the NIC with {address}"
        )


def _shows_mac_address(nic: Record, address: str) -> bool:
    return normalize_address(address) == normalize_address(str(nic.get("mac")))


_ADDRESSES = {"staticIp": shows_ip_address, "customMac": _shows_mac_address}


def _query_vm_of_nics(client: Client, desired: Record) -> list[Record]:
    if "uuid" in desired:
        return _select_nics(client, query(client, "QueryVmInstance", [f"vmNics.uuid={desired['uuid']}"]), desired)
    return _select_nics(client, get_by_uuid(client, "QueryVmInstance", desired["vmInstanceUuid"]), desired)


def _query_nics(client: Client, desired: Record) -> list[Record]:
    if "uuid" in desired:
        nics = get_by_uuid(client, "QueryVmNic", desired["uuid"])
    else:
        nics = find_by_attribute(client, "QueryVmNic", "vmInstanceUuid", desired["vmInstanceUuid"])
    return [{**nic, "vm": None} for nic in nics]


def _list_vms_of_nics(client: Client, desired: Record) -> list[Record]:
    return _select_nics(client, list_by_cursor(client, VM.cursor_type), desired)


def _select_nics(client: Client, vms: list[Record], desired: Record) -> list[Record]:
    if "uuid" not in desired:
        vms = [vm for vm in vms if vm.get("uuid") == desired["vmInstanceUuid"]]
    usable_vms = list(filter(VM.is_usable, vms))
    if not usable_vms and "uuid" not in desired:
        states = "".join(f": it is {vm.get('state')}" for vm in vms)
        raise build_unknown(client, VM, desired["vmInstanceUuid"], "vm", states)
    return [{**nic, "vm": vm} for vm in usable_vms for nic in vm.get("vmNics") or []]


def plan_vm_nic(resource: ResourceSpec, state: str, desired: Record, current: Current) -> list[PlannedCall]:
    """Plan the change of a NIC. The service chooses the address of a moved NIC, and the VM is not predicted."""
    desired = _normalize_addresses(desired)
    if state == ABSENT and not current.record:
        return []
    if current.record:
        nic = _normalize_addresses(current.record)
        # A NIC that moves to another network gets an address there.
        is_moved = desired.get("l3NetworkUuid", nic.get("l3NetworkUuid")) != nic.get("l3NetworkUuid")
        keeps_ip = shows_ip_address(nic, desired.get("ip")) and not is_moved
        equal = {"ip": keeps_ip, "driverType": nic.get("driverType") is None}
        desired = {name: value for name, value in desired.items() if not equal.get(name)}
        if state != ABSENT and (changes := find_drift(resource, desired, nic)):
            if "ip" in changes and "uuid" not in desired:
                raise InvalidOptions(f"NIC {nic['uuid']} has the address {nic['ip']}. Give uuid to change it.")
            # Only another network has another netmask and gateway.
            chosen = _ADDRESS_FIELDS if "l3NetworkUuid" in changes else ("usedIps",)
            nic = {**nic, **dict.fromkeys(chosen)}
        current = replace_record(current, nic)
    steps = build_default_plan(resource, state, desired, current)
    return [step.expect({"vm": None}) for step in steps]


def _find_default_networks(client: Client, nic: Record, dummy: Any) -> Dependents:
    """Return the networks of which one becomes the default network of a VM that loses a NIC.

    Only the service knows which one if there are several. There are none if the VM keeps its default network.
    """
    vm = nic.get("vm") or {}
    others = [other["l3NetworkUuid"] for other in vm.get("vmNics") or [] if other.get("uuid") != nic["uuid"]]
    network = nic.get("l3NetworkUuid")
    warnings = [] if others or not vm else [f"it is the last NIC of the VM {vm.get('name')}"]
    if vm.get("defaultL3NetworkUuid") != network or network in others:
        return Dependents(warnings=warnings)
    uuids = sorted(set(others))
    effect = _NEW_DEFAULT if len(uuids) == 1 else ""
    names = _read_network_names(client, uuids)
    return Dependents([Dependent(uuid, names.get(uuid, uuid), effect, type="l3_network") for uuid in uuids], warnings)


def _read_network_names(client: Client, uuids: list[str]) -> dict[str, str]:
    """Return the names of L3 networks by their uuids; none if the service does not list them."""
    with suppress(Unsupported, ApiError):
        networks = query(client, "QueryL3Network", [f"uuid?={','.join(uuids)}"] if uuids else [])
        return {str(network.get("uuid")): str(network.get("name")) for network in networks}
    return {}


def _review_default_networks(client: Client, nic: Record, before: Dependents) -> list[Dependent]:
    """Return the networks, that with the effect which is the default network of the VM now."""
    vms = get_by_uuid(client, "QueryVmInstance", nic["vm"]["uuid"])
    defaults = [vm.get("defaultL3NetworkUuid") for vm in vms]
    return [network._replace(effect=_NEW_DEFAULT if network.uuid in defaults else "") for network in before.objects]


NEW_DEFAULT_NETWORK = Guard(
    _find_default_networks,
    option="",
    harmful=(_NEW_DEFAULT,),
    members={_NEW_DEFAULT: "new_default_networks"},
    review=_review_default_networks,
)


def separate_vm(nic: Record | None) -> Record:
    """Return the NIC and its VM as two members of the result."""
    if nic is None:
        return {"nic": None, "vm": None}
    fields = {name: value for name, value in nic.items() if name != "vm"}
    vm = nic.get("vm")
    return {"nic": fields, "vm": vm and complete_record("VmInstanceInventory", vm)}


def refuse_second_key(dummy: object, desired: Record) -> tuple[str, ...]:
    """Raise InvalidOptions for a NIC that is selected twice: the VM and the network would not be compared."""
    if desired.get("uuid") and (desired.get("vmInstanceUuid") or desired.get("l3NetworkUuid")):
        raise InvalidOptions("uuid selects the NIC. Remove vm and l3_network, or give them without uuid")
    return ()


def find_bandwidth_limit(client: Client, desired: Record) -> Record | None:
    """Read the bandwidth limit of a NIC in one direction; None without a limit."""
    limits = find_bandwidth_limits(client, desired)
    bandwidth = limits[f"{desired['direction']}boundBandwidth"]
    if bandwidth is None:
        return None
    return {"uuid": limits["uuid"], "direction": desired["direction"], "bandwidth": bandwidth}


def _find_uuid_of_nic(client: Client, desired: Record) -> str:
    """Return the uuid of the NIC, which the options contain, or select by its VM and network.

    Raise NotFound if the VM has no NIC on the network, and AmbiguousMatch if it has several.
    """
    if "uuid" in desired:
        return str(desired["uuid"])
    nic = find_vm_nic(client, {name: desired[name] for name in ("vmInstanceUuid", "l3NetworkUuid")})
    if nic is None:
        vm, network = desired["vmInstanceUuid"], desired["l3NetworkUuid"]
        raise NotFound(f"the VM {vm} has no NIC on the network {network}", "Check vm and l3_network.")
    return str(nic["uuid"])


def find_bandwidth_limits(client: Client, desired: Record) -> Record:
    """Read the bandwidth limits of a NIC in both directions, which are None without a limit.

    Raise Unsupported if the service lacks GetNicQos. If such a service ignores the verb, it treats the GET as
    DeleteNicQos without a direction, which changes nothing, because its job fails.
    """
    uuid = _find_uuid_of_nic(client, desired)
    try:
        reply = client.get("GetNicQos", {"nicUuid": uuid})
    except ReadExecutedAsChange as failure:
        job = failure.result.get("job")
        if job is None:
            raise
        started = Job(job["uuid"], job["location"])
        wait_for_jobs(client, [started])
        if not isinstance(started.failure, ApiError):
            raise
        prefix, status = client.connection.path_prefix, 202
        raise build_unsupported_error(get_operation("GetNicQos"), prefix, status, is_prefix_known=True) from None
    if reply.keys().isdisjoint(get_operation("GetNicQos").result):
        raise Unsupported("the response to GetNicQos has no bandwidth")
    limits = {name: reply.get(name) for name in ("outboundBandwidth", "inboundBandwidth")}
    for name, value in limits.items():
        if type(value) not in (int, type(None)):
            raise TransportError(f"the response to GetNicQos has {name} of a wrong type", transient=False)
    return {"uuid": uuid, **{name: None if value is None or value < 0 else value for name, value in limits.items()}}
