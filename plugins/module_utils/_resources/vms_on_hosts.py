"""Reading the VMs on hosts, and the local storages: by queries, else by the cursor query."""

from __future__ import annotations

from contextlib import suppress

from .._api.errors import ApiError, Unsupported
from .._api.records import Record
from .._api.resource_types import PRIMARY_STORAGE, VM
from .._client.client import Client
from .._client.lists import combine_finders, find_by_attribute, query
from .finders import list_by_cursor

# The states of a VM that does not run, or is about to stop.
STOPPED_STATES = ("Stopped", "Stopping")

# How many uuids a condition contains, so that a URL has at most 2000 characters.
UUIDS_PER_QUERY = 40


def find_root_storage(vm: Record) -> str | None:
    root = vm.get("rootVolumeUuid")
    volumes = [volume for volume in vm.get("allVolumes") or [] if root and volume.get("uuid") == root]
    return next((volume.get("primaryStorageUuid") for volume in volumes), None)


def _query_vms_near_host(client: Client, desired: Record) -> list[Record]:
    uuid = desired["hostUuid"]
    vms = [vm for field in ("hostUuid", "lastHostUuid") for vm in query(client, VM.query, [f"{field}={uuid}"])]
    with suppress(Unsupported, ApiError):
        vms += query(client, VM.query, ["hostUuid is null", "lastHostUuid is null"])
    return _select_vms_near_host(vms, uuid)


def _list_vms_near_host_by_cursor(client: Client, desired: Record) -> list[Record]:
    return _select_vms_near_host(list_by_cursor(client, VM.cursor_type), desired["hostUuid"])


def _select_vms_near_host(vms: list[Record], host: str) -> list[Record]:
    """Return the VMs that are on a host, that were there last, or of which no host is known, each once."""
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


def _query_vms(client: Client, desired: Record) -> list[Record]:
    uuids = desired["uuids"]
    chunks = [uuids[start : start + UUIDS_PER_QUERY] for start in range(0, len(uuids), UUIDS_PER_QUERY)]
    lists = client.map_concurrently(
        lambda chunk: query(client, "QueryVmInstance", [f"uuid?={','.join(chunk)}"]), chunks
    )
    return [vm for vms in lists for vm in vms]


def _list_vms_by_cursor(client: Client, desired: Record) -> list[Record]:
    return [vm for vm in list_by_cursor(client, VM.cursor_type) if vm.get("uuid") in desired["uuids"]]


def _query_local_storages(client: Client, dummy: Record) -> set[str]:
    return _select_local(find_by_attribute(client, "QueryPrimaryStorage", "type", "LocalStorage"))


def _list_local_storages_by_cursor(client: Client, dummy: Record) -> set[str]:
    return _select_local(list_by_cursor(client, PRIMARY_STORAGE.cursor_type))


def _select_local(storages: list[Record]) -> set[str]:
    return {str(storage.get("uuid")) for storage in storages if storage.get("type") == "LocalStorage"}


# A VM that started on a host since is near it afterwards, even if the host was removed.
read_vms_near_host = combine_finders(_query_vms_near_host, _list_vms_near_host_by_cursor)
read_vms_with_uuids = combine_finders(_query_vms, _list_vms_by_cursor)
read_local_storages = combine_finders(_query_local_storages, _list_local_storages_by_cursor)
