"""Reading the VMs on hosts, and the local storages."""

from __future__ import annotations

from collections.abc import Sequence

from .._api.records import Record
from .._api.resource_types import PRIMARY_STORAGE, VM
from .._client.client import Client
from .._client.lists import query
from .finders import read_by_key, read_records

# The states of a VM that does not run, or is about to stop.
STOPPED_STATES = ("Stopped", "Stopping")

# How many uuids a condition contains, so that a URL has at most 2000 characters.
UUIDS_PER_QUERY = 40


def find_root_storage(vm: Record) -> str | None:
    root = vm.get("rootVolumeUuid")
    volumes = [volume for volume in vm.get("allVolumes") or [] if root and volume.get("uuid") == root]
    return next((volume.get("primaryStorageUuid") for volume in volumes), None)


def read_vms_near_host(client: Client, host: str) -> list[Record]:
    """Return the VMs that are on a host, that were there last, or of which no host is known, each once.

    A VM that started on a host since is near it afterwards, even if the host was removed.
    """
    places = ([f"hostUuid={host}"], [f"lastHostUuid={host}"], ["hostUuid is null", "lastHostUuid is null"])

    def query_vms() -> list[Record]:
        return [vm for conditions in places for vm in query(client, VM.query, conditions)]

    vms = read_records(client, VM, query_vms)
    found = {
        str(vm.get("uuid")): vm for vm in vms if host in (vm.get("hostUuid"), vm.get("lastHostUuid")) or is_on(vm, None)
    }
    return list(filter(VM.is_usable, found.values()))


def is_on(vm: Record, host: str | None) -> bool:
    """Return whether a VM is on a host: it runs there, or it ran there last. Without ``host``, whether it never ran."""
    return (vm.get("hostUuid") or vm.get("lastHostUuid")) == host


def runs_on(vm: Record, host: str) -> bool:
    """Return whether a VM runs on a host, or may run there because its state is not known."""
    return vm.get("hostUuid") == host and vm.get("state") not in STOPPED_STATES


def read_vms_with_uuids(client: Client, uuids: Sequence[str]) -> list[Record]:
    """Return the VMs with these uuids."""
    chunks = [uuids[start : start + UUIDS_PER_QUERY] for start in range(0, len(uuids), UUIDS_PER_QUERY)]

    def query_vms() -> list[Record]:
        lists = client.map_concurrently(lambda chunk: query(client, VM.query, [f"uuid?={','.join(chunk)}"]), chunks)
        return [vm for vms in lists for vm in vms]

    return [vm for vm in read_records(client, VM, query_vms) if vm.get("uuid") in uuids] if uuids else []


def read_local_storages(client: Client) -> set[str]:
    """Return the uuids of the primary storages that are local ones of hosts."""
    storages = read_by_key(client, PRIMARY_STORAGE, "type", "LocalStorage")
    return {str(storage.get("uuid")) for storage in storages}
