# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is PRIVATE to the collection. It can have breaking changes at any time.

"""The service types on the network interfaces of hosts: read them, and plan their change."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

from .._api.errors import Unchangeable
from .._api.records import Record
from .._client.client import Client
from .._client.lists import read_all
from .._engine.plan import Current, PlannedCall, ResourceSpec, build_call

# The name of an interface and the number of a VLAN.
Pair = tuple[str, int]

MANAGEMENT = "ManagementNetwork"


def read_nic_services(client: Client, desired: Record) -> Record:
    """Read the service types of host interfaces: ``services`` has an entry for each desired interface and VLAN.

    ``hostUuid`` is the desired host, unless the service shows that an interface is one of another host.
    """

    def read_rows(interface: str) -> list[Record]:
        return read_all(client, "GetHostNicServiceTypeStatistic", {"interfaceUuid": interface})

    interfaces = list(dict.fromkeys(desired["interfaceUuids"]))
    rows = [row for rows in client.map_concurrently(read_rows, interfaces) for row in rows]
    current = {(row.get("interfaceUuid"), row.get("vlanId") or 0): row.get("serviceTypes") or [] for row in rows}
    types = {pair: sorted(current.get(pair, [])) for pair in _list_pairs(desired)}
    others = {row["hostUuid"] for row in rows if row.get("hostUuid")} - {desired.get("hostUuid")}
    return {"services": _to_services(types), "hostUuid": min(others, default=desired.get("hostUuid"))}


def plan_service_types(resource: ResourceSpec, state: str, desired: Record, current: Current) -> list[PlannedCall]:
    """Plan one call for all interfaces that need the same types on the same VLANs."""
    services = (current.record or {}).get("services", ())
    types = {(service["interfaceUuid"], service["vlanId"]): service["serviceTypes"] for service in services}
    calls = []
    for (new_types, vlans), interfaces in _group_interfaces(desired, types).items():
        types = {**types, **{pair: list(new_types) for pair in product(interfaces, vlans)}}
        params = {**desired, "interfaceUuids": interfaces, "serviceTypes": list(new_types)}
        if "vlanIds" in desired:
            params["vlanIds"] = list(vlans)
        keeps_management = MANAGEMENT in new_types and MANAGEMENT not in desired["serviceTypes"]
        note = f"{MANAGEMENT} stays on {', '.join(interfaces)}" if keeps_management else ""
        expected = {"services": _to_services(types)}
        calls.append(build_call(resource, resource.update, params, current.record, expected, note))
    return calls


def _list_pairs(desired: Record) -> list[Pair]:
    """Return the desired pairs of an interface and a VLAN. Without ``vlanIds``, the VLAN is 0."""
    return list(dict.fromkeys(product(desired["interfaceUuids"], desired.get("vlanIds") or [0])))


def _to_services(types: Mapping[Pair, list[str]]) -> list[Record]:
    """Return the service types of pairs as records, sorted by interface and VLAN."""
    return [{"interfaceUuid": pair[0], "vlanId": pair[1], "serviceTypes": types[pair]} for pair in sorted(types)]


def _group_interfaces(
    desired: Record, current: Mapping[Pair, list[str]]
) -> dict[tuple[tuple[str, ...], tuple[int, ...]], list[str]]:
    """Return the interfaces whose types differ from the desired ones, by their new types and the VLANs that differ."""
    vlans: dict[tuple[str, tuple[str, ...]], list[int]] = {}
    for interface, vlan in _list_pairs(desired):
        types = add_management(desired["serviceTypes"], current.get((interface, vlan)), (interface, vlan))
        if types != current.get((interface, vlan)):
            vlans.setdefault((interface, tuple(types)), []).append(vlan)
    interfaces: dict[tuple[tuple[str, ...], tuple[int, ...]], list[str]] = {}
    for (interface, new_types), differing_vlans in vlans.items():
        interfaces.setdefault((new_types, tuple(differing_vlans)), []).append(interface)
    return interfaces


def add_management(types: list[str], current: list[str] | None, pair: Pair) -> list[str]:
    """Return the types to set, sorted. The API can neither add nor remove the management network."""
    if current is not None and MANAGEMENT in set(types) - set(current):
        raise Unchangeable(f"the API cannot add {MANAGEMENT} to the interface {pair[0]} on VLAN {pair[1]}")
    return sorted({*types, *({MANAGEMENT} & set(current or ()))})
