"""The primary storages that are local ones of hosts."""

from __future__ import annotations

from .._api.records import Record
from .._api.resource_types import PRIMARY_STORAGE
from .._client.client import Client
from .readings import read_by_key


def find_root_storage(vm: Record) -> str | None:
    """Return the uuid of the primary storage of a VM's root volume; None if it is not known."""
    root = vm.get("rootVolumeUuid")
    volumes = [volume for volume in vm.get("allVolumes") or [] if root and volume.get("uuid") == root]
    return next((volume.get("primaryStorageUuid") for volume in volumes), None)


def read_local_storages(client: Client) -> set[str]:
    """Return the uuids of the primary storages that are local ones of hosts."""
    storages = read_by_key(client, PRIMARY_STORAGE, "type", "LocalStorage")
    return {str(storage.get("uuid")) for storage in storages}
