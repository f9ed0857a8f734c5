# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Network interfaces of hosts, and the services set on them."""

from __future__ import annotations

import typing as t

from ..errors import Failure, bad_argument
from ..params import optional, required
from ..registry import Call, Reply, operation
from ..store import Record, Store, seeded_number

SERVICE_TYPES = ("ManagementNetwork", "TenantNetwork", "StorageNetwork", "BackupNetwork", "MigrationNetwork")
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
"""The types of NICs that each value of interfaceType stands for, by the switch candidate_types."""
VLANS = range(4095)
STATISTIC_LIMIT = 20


@operation("GetHostNetworkFacts", "GET", "hosts/network-facts/{hostUuid}", since="3.5.0")
def get_host_network_facts(call: Call) -> Reply:
    """Ask a connected host for its bonds and NICs."""
    host = call.store["host"].get(call["hostUuid"])
    if host["status"] != "Connected":
        silent = Failure("SYS.1006", f"host[uuid: {host['uuid']}] does not answer, its status is {host['status']}")
        raise Failure("HOST.1001", f"failed to get the network facts of host[uuid: {host['uuid']}]", silent)
    return {
        "bondings": [call.store["bonding"].get(uuid) for uuid in host["_bondings"]],
        "nics": _nics(call.store, host),
    }


def _nics(store: Store, host: Record) -> list[Record]:
    return [store["hostnic"].get(uuid) for uuid in host["_nics"]]


@operation(
    "GetCandidateNetworkInterfaces",
    "GET",
    "cluster/hosts-network-interfaces",
    params=(
        required("hostUuids", "strings"),
        optional("interfaceType", since="4.1.0"),
        optional("intersecting", "boolean", since="4.1.0"),
        optional("limit", "integer"),
        optional("start", "integer"),
    ),
    since="4.7.0",
)
def get_candidate_network_interfaces(call: Call) -> Reply:
    """List the NICs of a type; by default those of every type whose names all given hosts have."""
    hosts = [call.store["host"].get(uuid) for uuid in dict.fromkeys(call["hostUuids"])]
    types = _interface_types(call)
    by_host = [[nic for nic in _nics(call.store, host) if nic["interfaceType"] in types] for host in hosts]
    names = [{nic["interfaceName"] for nic in nics} for nics in by_host]
    kept = set.intersection(*names) if call.get("intersecting", True) else set.union(*names)
    found = [_candidate(nic) for nics in by_host for nic in nics if nic["interfaceName"] in kept]
    if call.switches.candidate_paging:
        start = call.get("start", 0)
        found = found[start : start + call.get("limit", len(found))]
    return {"slaveNames": sorted(kept), "candidateNics": found}


def _interface_types(call: Call) -> tuple[str, ...]:
    """Return the types of the NICs that are asked for, all of them when nothing is said."""
    given = call.get("interfaceType", "all")
    known = CANDIDATE_TYPES[call.switches.candidate_types]
    if given not in known:
        raise bad_argument(f"interfaceType[{given}] is not one of {list(known)}")
    return known[given]


def _candidate(nic: Record) -> Record:
    extra = {"gateway": None, "callBackIp": None, "offloadStatus": "Off", "description": f"port {nic['interfaceName']}"}
    return Record("hostnic", {**nic, **extra})


@operation(
    "SetServiceTypeOnHostNetworkInterface",
    "POST",
    "hosts/nics/service-types",
    params=(
        required("interfaceUuids", "strings", filled=True),
        optional("vlanIds", "integers"),
        optional("serviceTypes", "strings", choices=SERVICE_TYPES),
    ),
    since="4.7.11",
)
def set_service_types(call: Call) -> Reply:
    """Replace the services of each interface on each VLAN; what was done before the first error stays."""
    services = list(dict.fromkeys(call.get("serviceTypes", [])))
    rows: list[dict[str, t.Any]] = []
    for uuid in call["interfaceUuids"]:
        nic = call.store["hostnic"].get(uuid)
        for vlan in call.get("vlanIds") or [0]:
            rows += _replace(call.store, nic, vlan, services)
    return {call.switches.service_types_member: rows}


def _replace(store: Store, nic: Record, vlan: int, services: list[str]) -> list[dict[str, t.Any]]:
    if vlan not in VLANS:
        raise bad_argument(f"vlanId[{vlan}] must be in 0..{VLANS.stop - 1}")
    before = [record["serviceType"] for record in _services(store, nic, vlan)]
    if (MANAGEMENT in before) != (MANAGEMENT in services):
        change = "taken from" if MANAGEMENT in before else "added to"
        raise bad_argument(f"{MANAGEMENT} cannot be {change} interface[uuid: {nic['uuid']}] on vlan {vlan}")
    rows = [
        {
            "id": store.serial(),
            "interfaceUuid": nic["uuid"],
            "vlanId": vlan,
            "serviceType": service,
            **store.dates(),
        }
        for service in services
    ]
    store.services[nic["uuid"], vlan] = rows
    return rows


def _services(store: Store, nic: Record, vlan: int) -> list[dict[str, t.Any]]:
    """Return the service records of an interface on a VLAN; eth0 starts with the management network on VLAN 0."""
    if (nic["uuid"], vlan) in store.services:
        return store.services[nic["uuid"], vlan]
    if vlan or nic["interfaceName"] != "eth0":
        return []
    dates = {"createDate": nic["createDate"], "lastOpDate": nic["lastOpDate"]}
    number = seeded_number("host", nic["hostUuid"])
    return [{"id": number, "interfaceUuid": nic["uuid"], "vlanId": 0, "serviceType": MANAGEMENT, **dates}]


@operation(
    "GetHostNicServiceTypeStatistic",
    "GET",
    "hosts/hosts-network-interfaces/service-type-statistic",
    params=(
        optional("interfaceUuid"),
        optional("vlanId", "integer"),
        optional("hostUuid"),
        optional("limit", "integer"),
        optional("start", "integer"),
        optional("replyWithCount", "boolean"),
    ),
    undocumented=True,
)
def get_service_type_statistic(call: Call) -> Reply:
    """List what services are set on interfaces, by interface and VLAN."""
    wanted = call.given("interfaceUuid", "vlanId", "hostUuid")
    rows = [row for row in _statistics(call) if all(row[name] == value for name, value in wanted.items())]
    start, limit = call.get("start", 0), call.get("limit", STATISTIC_LIMIT)
    counted = {"total": len(rows)} if call.get("replyWithCount") else {}
    return {"serviceTypeStatistics": rows[start : start + limit], **counted}


def _statistics(call: Call) -> list[dict[str, t.Any]]:
    """Return the services by interface and VLAN, only of one interface or host where that is asked for."""
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
