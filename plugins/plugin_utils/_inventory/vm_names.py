"""The names of the images and instance offerings of VMs, and of the security and affinity groups in which they are.

They are in lists of the service that are read as a whole, once for all VMs, and only for a source that uses them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

from ...module_utils._api.errors import Unsupported
from ...module_utils._api.operations import choose_operation
from ...module_utils._api.records import Record
from ...module_utils._api.resource_types import RESOURCE_TYPES
from ...module_utils._client.client import SESSION_OPTIONS, Client
from ...module_utils._client.lists import require_members
from .hostvars import Added, get_elements, get_text
from .services import Service

# Returns a value for the record of a VM.
Resolver: TypeAlias = Callable[[Record], Any]


class VmName(NamedTuple):
    """A value with names: what it is, the option for its lists, and how they are read."""

    added: Added
    option: str
    read: Callable[[Service, Client], Resolver]


def _read_images(service: Service, client: Client) -> Resolver:
    # VMs keep the uuid of a deleted image, and so does the service its record.
    images = service.read_related(client, RESOURCE_TYPES["image"]._replace(deleted_states=()))
    return _resolve_reference("imageUuid", images)


def _read_instance_offerings(service: Service, client: Client) -> Resolver:
    offerings = service.read_related(client, RESOURCE_TYPES["instance_offering"])
    return _resolve_reference("instanceOfferingUuid", offerings)


def _read_security_groups(service: Service, client: Client) -> Resolver:
    if not service.connection.can_query:
        raise Unsupported("no cursor query lists the NICs in security groups", f"Give {SESSION_OPTIONS}.")
    names = _index_names(_read_catalogued(service, client, "QuerySecurityGroup"))
    nics = _read_catalogued(service, client, "QueryVmNicInSecurityGroup")
    require_members(nics, "QueryVmNicInSecurityGroup", "vmInstanceUuid", "securityGroupUuid")
    # The account may see the NICs of a group that it does not see.
    return _resolve_groups(
        (get_text(nic, "vmInstanceUuid"), names.get(uuid := get_text(nic, "securityGroupUuid")) or uuid) for nic in nics
    )


def _read_affinity_groups(service: Service, client: Client) -> Resolver:
    groups = _read_catalogued(service, client, "QueryAffinityGroup")
    return _resolve_groups(
        (get_text(usage, "resourceUuid"), get_text(group, "name"))
        for group in groups
        for usage in get_elements(group, "usages", dict)
    )


def _read_catalogued(service: Service, client: Client, query: str) -> list[Record]:
    """Return all records of a query that only the catalogue has. In a fixed order, no page repeats another one."""
    # Few sources have groups of VMs, and each command with an inventory would compile the catalogue.
    from ...module_utils._api.catalogue import find_catalogued, find_query_type

    if row := find_catalogued(query):
        choose_operation(replace(row, order="+uuid"))
    return service.read_related(client, find_query_type(query))


def _resolve_reference(field: str, records: Iterable[Record]) -> Resolver:
    """Return a function from a VM to the name of the object to which a field refers, None if it refers to none."""
    names = _index_names(records)
    return lambda vm: names.get(get_text(vm, field))


def _index_names(records: Iterable[Record]) -> dict[str, Any]:
    return {get_text(record, "uuid"): record.get("name") for record in records}


def _resolve_groups(members: Iterable[tuple[str, str]]) -> Resolver:
    """Return a function from a VM to the sorted names of its groups, from the uuids of VMs with the names of groups."""
    groups: dict[str, set[str]] = {}
    for vm, group in members:
        groups.setdefault(vm, set()).add(group)
    return lambda vm: sorted(groups.get(get_text(vm, "uuid"), ()))


VM_NAMES: Mapping[str, VmName] = {
    "imageName": VmName(
        Added("the name of its image, with ``images``", ("imageUuid",)),
        "images",
        _read_images,
    ),
    "instanceOfferingName": VmName(
        Added("the name of its instance offering, with ``instance_offerings``", ("instanceOfferingUuid",)),
        "instance_offerings",
        _read_instance_offerings,
    ),
    "securityGroupNames": VmName(
        Added("the sorted names of the security groups of its NICs, with ``security_groups``"),
        "security_groups",
        _read_security_groups,
    ),
    "affinityGroupNames": VmName(
        Added("the sorted names of its affinity groups, with ``affinity_groups``"),
        "affinity_groups",
        _read_affinity_groups,
    ),
}
