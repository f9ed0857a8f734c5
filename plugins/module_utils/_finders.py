# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is PRIVATE to the collection. It can have breaking changes at any time.

"""Finders of the current record of an object: one record, None, or a failure."""

from __future__ import annotations

from collections.abc import Callable

from ansible_collections.virtinfra.manager.plugins.module_utils._cbt import protects, with_resources
from ansible_collections.virtinfra.manager.plugins.module_utils._client import Client
from ansible_collections.virtinfra.manager.plugins.module_utils._errors import (
    ApiError,
    NotFound,
    ReadExecutedAsChange,
    Unsupported,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._jobs import Job
from ansible_collections.virtinfra.manager.plugins.module_utils._operations import get_operation
from ansible_collections.virtinfra.manager.plugins.module_utils._outcomes import unsupported_operation
from ansible_collections.virtinfra.manager.plugins.module_utils._pagination import (
    paginate,
    paginate_cursor,
    validate_records,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._queries import (
    exists,
    find_by_attribute,
    first_readable,
    get_by_uuid,
    query,
    require_unique,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._records import (
    Record,
    canonical_address,
    values_equal,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._references import option_name
from ansible_collections.virtinfra.manager.plugins.module_utils._waiting import wait_for_jobs

Finder = Callable[[Client, Record], "Record | None"]
Search = Callable[[Client, str, str], "list[Record]"]


def find_by_query(
    operation: str,
    *keys: str,
    view: Callable[[Record], Record] = dict,
    among: Callable[[Record], bool] = bool,
) -> Finder:
    """Return a finder that queries by the first of ``keys`` (API names) that is given.

    ``view`` adds derived members to a record. ``among`` is a predicate that the records must meet.
    """

    def find(client: Client, key: str, value: str) -> list[Record]:
        if key == "uuid":
            found = [view(record) for record in get_by_uuid(client, operation, value)]
        else:
            found = find_by_attribute(client, operation, key, value, view=view)
        return list(filter(among, found))

    return _by(find, keys)


def find_by_cursor(resource_type: str, *keys: str, among: Callable[[Record], bool] = bool) -> Finder:
    """Return a finder that reads all records of a cursor query, because the syntax of its filters is not documented."""

    def find(client: Client, key: str, value: str) -> list[Record]:
        pages = paginate_cursor(client, resource_type)
        return [
            record for page, dummy in pages for record in page if values_equal(value, record.get(key)) and among(record)
        ]

    return _by(find, keys)


def with_assumed_fields(reader: Finder, assumed: Callable[[Record], Record]) -> Finder:
    """Return a finder that adds the ``assumed`` values of fields that the records do not show."""

    def read(client: Client, desired: Record) -> Record | None:
        record = reader(client, desired)
        return record and {**assumed(desired), **record}

    return read


def find_vm_nic(client: Client, desired: Record) -> Record | None:
    """Read a NIC and, as its member ``vm``, its VM: by the NIC's uuid, or by its natural key.

    The natural key consists of the VM, the network and, if given, the IP and MAC address, because a VM may have several
    NICs in one network. With both addresses, a NIC with only one of them is returned if no NIC has both.
    """
    key = "uuid" if "uuid" in desired else "l3NetworkUuid"
    found = first_readable(_nics_of_queried_vm, _queried_nics, _nics_of_vm_by_cursor)(client, desired)
    nics = [nic for nic in found if nic.get(key) == desired[key]]
    if key != "uuid" and (addresses := {option: desired[option] for option in _ADDRESSES if desired.get(option)}):
        matches = [sum(_ADDRESSES[option](nic, addresses[option]) for option in addresses) for nic in nics]
        if not any(matches) and addresses.keys() == {"staticIp"}:
            _require_ip_addresses(nics, addresses["staticIp"])
        nics = [nic for nic, number in zip(nics, matches, strict=True) if number == max(matches) > 0]
    return require_unique(nics, f"the {option_name(key)} {desired[key]!r} on this VM")


def shows_ip_address(nic: Record, address: str | None) -> bool:
    """Return whether a NIC has an address; a NIC with IPv4 and IPv6 has further addresses in ``usedIps``."""
    return bool(address) and canonical_address(str(address)) in map(canonical_address, _ip_addresses(nic))


def _ip_addresses(nic: Record) -> list[str]:
    return list(filter(None, [nic.get("ip"), *(used.get("ip") for used in nic.get("usedIps") or [])]))


def _require_ip_addresses(nics: list[Record], address: str) -> None:
    """Raise Unsupported when a NIC shows no IP address, because it may be the NIC with ``address``."""
    if hidden := next((nic for nic in nics if not _ip_addresses(nic)), None):
        raise Unsupported(
            f"the NIC {hidden.get('uuid')} shows no IP address (yet), so it may be the NIC with {address}"
        )


def _shows_mac_address(nic: Record, address: str) -> bool:
    return canonical_address(address) == canonical_address(str(nic.get("mac")))


_ADDRESSES = {"staticIp": shows_ip_address, "customMac": _shows_mac_address}


def _nics_of_queried_vm(client: Client, desired: Record) -> list[Record]:
    if "uuid" in desired:
        return _nics_of(query(client, "QueryVmInstance", [f"vmNics.uuid={desired['uuid']}"]), desired)
    return _nics_of(get_by_uuid(client, "QueryVmInstance", desired["vmInstanceUuid"]), desired)


def _queried_nics(client: Client, desired: Record) -> list[Record]:
    if "uuid" in desired:
        nics = get_by_uuid(client, "QueryVmNic", desired["uuid"])
    else:
        nics = find_by_attribute(client, "QueryVmNic", "vmInstanceUuid", desired["vmInstanceUuid"])
    return [{**nic, "vm": None} for nic in nics]


def _nics_of_vm_by_cursor(client: Client, desired: Record) -> list[Record]:
    vms = validate_records([vm for page, dummy in paginate_cursor(client, "vm") for vm in page], "CursorQuery")
    if "uuid" in desired:
        return _nics_of(vms, desired)
    return _nics_of([vm for vm in vms if vm.get("uuid") == desired["vmInstanceUuid"]], desired)


def _nics_of(vms: list[Record], desired: Record) -> list[Record]:
    existing = list(filter(exists, vms))
    if not existing and "uuid" not in desired:
        states = "".join(f": it is {vm.get('state')}" for vm in vms)
        raise NotFound(f"no VM with uuid {desired['vmInstanceUuid']!r}{states}. Check vm.")
    return [{**nic, "vm": vm} for vm in existing for nic in vm.get("vmNics") or []]


def find_cbt_task(client: Client, desired: Record) -> Record | None:
    """Read a CBT task by its uuid, its name, or one of the VMs that it protects.

    Raise Unsupported when no task of the VM is found, but some tasks do not show the VMs that they protect.
    """
    task = find_by_query("QueryCbtTask", "uuid", "name", view=with_resources)(client, desired)
    vm = desired.get("vmInstanceUuid")
    if vm and not (task or desired.get("uuid") or desired.get("name")):
        tasks = [with_resources(each) for each in query(client, "QueryCbtTask")]
        task = require_unique([each for each in tasks if vm in each.get("resourceUuids", ())], f"the vm {vm!r}")
        task = task or next((each for each in tasks if protects(each, vm)), None)
    return {**task, "vmInstanceUuid": vm} if task and vm in task.get("resourceUuids", ()) else task


def find_other_cbt_task(client: Client, params: Record) -> str | None:
    """Return why the service would refuse to create a CBT task: another one protects a VM; None if it would not.

    Section "Operations", CreateCbtTask: a VM has one task.
    """
    vms = {params.get("vmInstanceUuid"), *params.get("resourceUuids", ())}
    for task in map(with_resources, query(client, "QueryCbtTask")):
        if protected := vms.intersection(task.get("resourceUuids", ())):
            return (
                f"the VM {min(protected)} has the CBT task {task.get('name')!r} ({task.get('uuid')}), and a VM has"
                " one task. To use that task, omit name and give vm."
            )
    return None


def read_nic_services(client: Client, desired: Record) -> Record:
    """Read the service types of host interfaces: ``services`` has an entry for each desired interface and VLAN.

    ``hostUuid`` is the desired host, unless the service shows that an interface is one of another host.
    """

    def ask(interface: str) -> list[Record]:
        pages = paginate(client, "GetHostNicServiceTypeStatistic", also={"interfaceUuid": interface})
        return [row for page, dummy in pages for row in page]

    interfaces = list(dict.fromkeys(desired["interfaceUuids"]))
    rows = [row for rows in client.map_concurrently(ask, interfaces) for row in rows]
    current = {(row.get("interfaceUuid"), row.get("vlanId") or 0): row.get("serviceTypes") or [] for row in rows}
    pairs = [(interface, vlan) for interface in interfaces for vlan in dict.fromkeys(desired.get("vlanIds") or [0])]
    services = [
        {"interfaceUuid": interface, "vlanId": vlan, "serviceTypes": sorted(current.get((interface, vlan), []))}
        for interface, vlan in sorted(pairs)
    ]
    others = {row["hostUuid"] for row in rows if row.get("hostUuid")} - {desired.get("hostUuid")}
    return {"services": services, "hostUuid": min(others, default=desired.get("hostUuid"))}


def find_bandwidth_limit(client: Client, desired: Record) -> Record | None:
    """Read the bandwidth limit of a NIC in one direction; None when there is none.

    Raise Unsupported if the service lacks GetNicQos. If such a service ignores the verb, it treats the GET as
    DeleteNicQos without a direction, which changes nothing, because its job fails.
    """
    try:
        reply = client.get("GetNicQos", {"nicUuid": desired["uuid"]})
    except ReadExecutedAsChange as taken:
        job = taken.result.get("job")
        if job is None:
            raise
        started = Job(job["uuid"], job["location"])
        wait_for_jobs(client, [started])
        if not isinstance(started.failure, ApiError):
            raise
        prefix, status = client.connection.path_prefix, 202
        raise unsupported_operation(get_operation("GetNicQos"), prefix, status) from None
    if reply.keys().isdisjoint(get_operation("GetNicQos").result):
        raise Unsupported("the response to GetNicQos has no bandwidth")
    bandwidth = reply.get(f"{desired['direction']}boundBandwidth")
    is_limit = isinstance(bandwidth, int) and bandwidth >= 0
    return {"uuid": desired["uuid"], "direction": desired["direction"], "bandwidth": bandwidth} if is_limit else None


def _by(find: Search, keys: tuple[str, ...]) -> Finder:
    """Return a finder by ``resourceUuid``, which some servers ignore on a create, and then by the first given key."""

    def read(client: Client, desired: Record) -> Record | None:
        key = next((key for key in keys if desired.get(key)), None)
        if (
            key != "uuid"
            and (resource_uuid := desired.get("resourceUuid"))
            and (found := find(client, "uuid", resource_uuid))
        ):
            return found[0]
        return (
            require_unique(find(client, key, desired[key]), f"the {option_name(key)} {desired[key]!r}") if key else None
        )

    return read
