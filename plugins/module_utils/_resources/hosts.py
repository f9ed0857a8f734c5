# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is PRIVATE to the collection. It can have breaking changes at any time.

"""The service types on the network interfaces of hosts: read them, and plan their change."""

from __future__ import annotations

from itertools import product

from .._api.errors import Unchangeable
from .._api.records import Record
from .._client.client import Client
from .._client.lists import paginate
from .._engine.plan import Current, PlannedCall, ResourceSpec, build_call


def read_nic_services(client: Client, desired: Record) -> Record:
    """Read the service types of host interfaces: ``services`` has an entry for each desired interface and VLAN.

    ``hostUuid`` is the desired host, unless the service shows that an interface is one of another host.
    """

    def read_rows(interface: str) -> list[Record]:
        pages = paginate(client, "GetHostNicServiceTypeStatistic", extra_params={"interfaceUuid": interface})
        return [row for page, dummy in pages for row in page]

    interfaces = list(dict.fromkeys(desired["interfaceUuids"]))
    rows = [row for rows in client.map_concurrently(read_rows, interfaces) for row in rows]
    current = {(row.get("interfaceUuid"), row.get("vlanId") or 0): row.get("serviceTypes") or [] for row in rows}
    pairs = [(interface, vlan) for interface in interfaces for vlan in dict.fromkeys(desired.get("vlanIds") or [0])]
    services = [
        {"interfaceUuid": interface, "vlanId": vlan, "serviceTypes": sorted(current.get((interface, vlan), []))}
        for interface, vlan in sorted(pairs)
    ]
    others = {row["hostUuid"] for row in rows if row.get("hostUuid")} - {desired.get("hostUuid")}
    return {"services": services, "hostUuid": min(others, default=desired.get("hostUuid"))}


MANAGEMENT = "ManagementNetwork"


def plan_service_types(resource: ResourceSpec, state: str, desired: Record, current: Current) -> list[PlannedCall]:
    """Plan one call for all interfaces that need the same types on the same VLANs."""
    rows = (current.record or {}).get("services", ())
    pairs = {(row["interfaceUuid"], row["vlanId"]): row["serviceTypes"] for row in rows}
    differing: dict[tuple[str, tuple[str, ...]], list[int]] = {}
    for pair in dict.fromkeys(product(desired["interfaceUuids"], desired.get("vlanIds") or [0])):
        types = with_management(desired["serviceTypes"], pairs.get(pair), pair)
        if types != pairs.get(pair):
            differing.setdefault((pair[0], tuple(types)), []).append(pair[1])
    calls: dict[tuple[tuple[str, ...], tuple[int, ...]], list[str]] = {}
    for (interface, kept), vlans in differing.items():
        calls.setdefault((kept, tuple(vlans)), []).append(interface)
    steps, requested = [], set(desired["serviceTypes"])
    for (kept, on), interfaces in calls.items():
        pairs = {**pairs, **{pair: list(kept) for pair in product(interfaces, on)}}
        rows = [{"interfaceUuid": pair[0], "vlanId": pair[1], "serviceTypes": pairs[pair]} for pair in sorted(pairs)]
        vlan_ids = {"vlanIds": list(on)} if "vlanIds" in desired else {}
        params = {**desired, **vlan_ids, "interfaceUuids": interfaces, "serviceTypes": list(kept)}
        note = f"{MANAGEMENT} stays on {', '.join(interfaces)}" if MANAGEMENT in set(kept) - requested else ""
        steps.append(build_call(resource, resource.update, params, current.record, {"services": rows}, note))
    return steps


def with_management(types: list[str], before: list[str] | None, pair: tuple[str, int]) -> list[str]:
    """Return the types to set, sorted. The API can neither add nor remove the management network."""
    if before is not None and MANAGEMENT in set(types) - set(before):
        raise Unchangeable(f"the API cannot add {MANAGEMENT} to the interface {pair[0]} on VLAN {pair[1]}")
    return sorted({*types, *({MANAGEMENT} & set(before or ()))})
