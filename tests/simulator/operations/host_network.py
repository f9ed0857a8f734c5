"""Network interfaces of hosts and their service types."""

from __future__ import annotations

from typing import Any

from ..errors import OperationError, invalid_argument
from ..registry import Call, Reply, operation
from ..state.store import Record, Store, seeded_number

MANAGEMENT = "ManagementNetwork"
NIC_TYPES = ("noMaster", "bridgeSlave", "bondingSlave")
CANDIDATE_TYPES: dict[str, dict[str, tuple[str, ...]]] = {
    "servers": {"all": NIC_TYPES, "interface": ("noMaster", "bridgeSlave"), "bonding": ("bondingSlave",)},
    "document": {
        "all": NIC_TYPES,
        **{name: (name,) for name in NIC_TYPES},
        "nomaster": ("noMaster",),
        "bondSlave": ("bondingSlave",),
    },
}
"""The types of NICs that each value of interfaceType selects, by the switch candidate_types."""
VLANS = range(4095)
STATISTIC_LIMIT = 20


@operation("GetHostNetworkFacts")
def get_host_network_facts(call: Call) -> Reply:
    """Return the bonds and NICs of a connected host."""
    host = call.store["host"].get(call["hostUuid"])
    if host["status"] != "Connected":
        cause = OperationError(
            "SYS.1006", f"host[uuid: {host['uuid']}] does not answer, its status is {host['status']}"
        )
        raise OperationError("HOST.1001", f"failed to get the network facts of host[uuid: {host['uuid']}]", cause)
    return {
        "bondings": [call.store["bonding"].get(uuid) for uuid in host["_bondings"]],
        "nics": _nics(call.store, host),
    }


def _nics(store: Store, host: Record) -> list[Record]:
    return [store["hostnic"].get(uuid) for uuid in host["_nics"]]


@operation("GetCandidateNetworkInterfaces")
def get_candidate_network_interfaces(call: Call) -> Reply:
    """List NICs; by default those of all types whose names exist on all given hosts."""
    hosts = [call.store["host"].get(uuid) for uuid in dict.fromkeys(call["hostUuids"])]
    types = _interface_types(call)
    by_host = [[nic for nic in _nics(call.store, host) if nic["interfaceType"] in types] for host in hosts]
    names = [{nic["interfaceName"] for nic in nics} for nics in by_host]
    names_in_common = set.intersection(*names) if call.get("intersecting", True) else set.union(*names)
    candidates = [_candidate(nic) for nics in by_host for nic in nics if nic["interfaceName"] in names_in_common]
    if call.switches.candidate_paging:
        start = call.get("start", 0)
        candidates = candidates[start : start + call.get("limit", len(candidates))]
    return {"slaveNames": sorted(names_in_common), "candidateNics": candidates}


def _interface_types(call: Call) -> tuple[str, ...]:
    """Return the requested types of NICs, by default all."""
    requested = call.get("interfaceType", "all")
    types = CANDIDATE_TYPES[call.switches.candidate_types]
    if requested not in types:
        raise invalid_argument(f"interfaceType[{requested}] is not one of {list(types)}")
    return types[requested]


def _candidate(nic: Record) -> Record:
    extra = {"gateway": None, "callBackIp": None, "offloadStatus": "Off", "description": f"port {nic['interfaceName']}"}
    return Record("hostnic", {**nic, **extra})


@operation("SetServiceTypeOnHostNetworkInterface")
def set_service_types(call: Call) -> Reply:
    """Replace the services of each interface on each VLAN; keep the changes before the first error."""
    services = list(dict.fromkeys(call.get("serviceTypes", [])))
    new_records: list[dict[str, Any]] = []
    for uuid in call["interfaceUuids"]:
        nic = call.store["hostnic"].get(uuid)
        for vlan in call.get("vlanIds") or [0]:
            new_records += _replace(call.store, nic, vlan, services)
    return {call.switches.service_types_member: new_records}


def _replace(store: Store, nic: Record, vlan: int, services: list[str]) -> list[dict[str, Any]]:
    if vlan not in VLANS:
        raise invalid_argument(f"vlanId[{vlan}] must be in 0..{VLANS.stop - 1}")
    before = [record["serviceType"] for record in _services(store, nic, vlan)]
    if (MANAGEMENT in before) != (MANAGEMENT in services):
        change = "taken from" if MANAGEMENT in before else "added to"
        raise invalid_argument(f"{MANAGEMENT} cannot be {change} interface[uuid: {nic['uuid']}] on vlan {vlan}")
    new_records = [
        {
            "id": store.new_id(),
            "interfaceUuid": nic["uuid"],
            "vlanId": vlan,
            "serviceType": service,
            **store.dates(),
        }
        for service in services
    ]
    store.services[nic["uuid"], vlan] = new_records
    return new_records


def _services(store: Store, nic: Record, vlan: int) -> list[dict[str, Any]]:
    """Return the service records of an interface on a VLAN. Initially eth0 has the management network on VLAN 0."""
    if (nic["uuid"], vlan) in store.services:
        return store.services[nic["uuid"], vlan]
    if vlan or nic["interfaceName"] != "eth0":
        return []
    dates = {"createDate": nic["createDate"], "lastOpDate": nic["lastOpDate"]}
    number = seeded_number("host", nic["hostUuid"])
    return [{"id": number, "interfaceUuid": nic["uuid"], "vlanId": 0, "serviceType": MANAGEMENT, **dates}]


@operation("GetHostNicServiceTypeStatistic")
def get_service_type_statistic(call: Call) -> Reply:
    """List the service types by interface and VLAN."""
    filters = call.select("interfaceUuid", "vlanId", "hostUuid")
    statistics = [
        statistic for statistic in _statistics(call) if all(statistic[name] == value for name, value in filters.items())
    ]
    start, limit = call.get("start", 0), call.get("limit", STATISTIC_LIMIT)
    total = {"total": len(statistics)} if call.get("replyWithCount") else {}
    return {"serviceTypeStatistics": statistics[start : start + limit], **total}


def _statistics(call: Call) -> list[dict[str, Any]]:
    """Return the service types by interface and VLAN, restricted to the requested interface or host."""
    store, nics = call.store, call.store["hostnic"]
    if "interfaceUuid" in call.params:
        candidates = [nics.find(call["interfaceUuid"])]
    else:
        hosts = [store["host"].find(call["hostUuid"])] if "hostUuid" in call.params else store["host"].all()
        candidates = [nics.find(host["_nics"][0]) for host in hosts if host and host["_nics"]]
    pairs = {(nic["uuid"], 0): nic for nic in candidates if nic}
    pairs |= {(uuid, vlan): nics.get(uuid) for uuid, vlan in store.services}
    return [
        {
            "interfaceUuid": uuid,
            "interfaceName": nic["interfaceName"],
            "vlanId": vlan,
            "serviceTypes": [record["serviceType"] for record in records],
            "hostUuid": nic["hostUuid"],
        }
        for (uuid, vlan), nic in pairs.items()
        if (records := _services(store, nic, vlan))
    ]
