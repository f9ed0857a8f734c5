# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is PRIVATE to the collection. It can have breaking changes at any time.

"""The VMs that run on a host, and what a maintenance of the host does to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .._api.conditions import format_equality
from .._api.errors import FORBIDDEN, NO_SUCH_OBJECT, UNAUTHORIZED, ApiError, Unsupported
from .._api.records import Record
from .._api.resource_types import PRIMARY_STORAGE, VM
from .._client.client import Client
from .._client.lists import (
    combine_finders,
    extract_records,
    query,
)
from .._engine.guards import Dependent, Dependents, Guard
from .finders import list_by_cursor

MIGRATED, STOPPED = "migrated", "stopped"

# The states of a VM that does not run, or is about to stop.
STOPPED_STATES = ("Stopped", "Stopping")

NO_PERMISSION = "ID.1002"

# How many uuids a condition contains, so that a URL has at most 2000 characters.
UUIDS_PER_QUERY = 40


def find_running_vms(client: Client, host: Record, choice: str) -> Dependents:
    """Return the VMs that run on a host, each with the effect that a maintenance of the host will have on it.

    A VM cannot migrate if its root volume lies on a primary storage of type LocalStorage, or if the service names no
    host that could take it. With the ``choice`` any, the effects are not determined.
    """
    try:
        records = _read_running_vms(client, {"hostUuid": host["uuid"]})
    except (Unsupported, ApiError) as failure:
        return Dependents(
            warnings=[f"cannot check which VMs the maintenance would stop: {_explain_unreadable(failure)}"]
        )
    if choice == "any" or not records:
        return Dependents([_to_dependent(vm, effect="") for vm in records])
    local, warnings = _find_local_vms(client, records)
    stopped = [replace(_to_dependent(vm, STOPPED), reason="its root volume is on local storage") for vm in local]
    others = [_to_dependent(vm, MIGRATED) for vm in records if vm not in local]
    examined, unknowable = _predict_migrations(client, others, host["uuid"])
    if unknowable:
        warnings.append(f"cannot check whether other hosts can take the VMs: {unknowable}")
    return Dependents([*stopped, *examined], warnings)


def _to_dependent(vm: Record, effect: str) -> Dependent:
    """Return the dependent object for the record of a VM."""
    return Dependent(str(vm.get("uuid")), str(vm.get("name")), effect)


def _find_local_vms(client: Client, vms: list[Record]) -> tuple[list[Record], list[str]]:
    """Return the VMs whose root volume is on local storage, and a warning if this is not known for some."""
    try:
        storages = _read_local_storages(client, {})
    except (Unsupported, ApiError) as failure:
        return [], [f"cannot check which VMs have local storage and would be stopped: {_explain_unreadable(failure)}"]
    local = [vm for vm in vms if _find_root_storage(vm) in storages]
    hidden = [vm for vm in vms if _find_root_storage(vm) is None]
    if not storages or not hidden:
        return local, []
    warning = (
        f"cannot check whether {_to_dependent(hidden[0], MIGRATED)} has local storage and would be stopped, because its"
        f" record does not show its root volume ({len(hidden)} VMs in all)"
    )
    return local, [warning]


def review_vms(client: Client, host: Record, before: Sequence[Dependent]) -> list[Dependent]:
    """Return VMs that ran on a host before a maintenance, each with the effect on it."""
    records = {str(vm.get("uuid")): vm for vm in _read_vms_with_uuids(client, {"uuids": [vm.uuid for vm in before]})}
    return [replace(vm, effect=_determine_effect(records.get(vm.uuid, {}), host["uuid"]), reason="") for vm in before]


# Servers stop VMs that cannot migrate, the job succeeds, and nothing starts them again: section "Operations" of the
# compatibility notes, maintain.
RUNNING_VMS = Guard(
    option="running_vms",
    members={MIGRATED: "migrated_vms", STOPPED: "stopped_vms"},
    harmful=(STOPPED,),
    permitted_by=("stop", "any"),
    find=find_running_vms,
    review=review_vms,
    operation="ChangeHostState",
)


def _determine_effect(vm: Record, host: str) -> str:
    if vm.get("state") in STOPPED_STATES:
        return STOPPED
    return MIGRATED if vm.get("hostUuid") not in (None, host) else ""


def _explain_unreadable(failure: Unsupported | ApiError) -> str:
    """Return why the service or the credentials do not allow a read; raise any other failure."""
    if isinstance(failure, ApiError) and failure.code != NO_PERMISSION and failure.status != FORBIDDEN:
        raise failure
    return failure.reason if isinstance(failure, Unsupported) else failure.message.rstrip(".")


def _predict_migrations(client: Client, vms: Sequence[Dependent], host: str) -> tuple[list[Dependent], str]:
    """Return the VMs that still exist, as stopped if no host can take them, and why some cannot be predicted."""
    unknowable: list[str] = []

    def examine(vm: Dependent) -> Dependent | None:
        try:
            return _predict_migration(client, vm, host)
        except (Unsupported, ApiError) as failure:
            unknowable.append(_explain_unreadable(failure))
            return vm

    examined = [examine(vm) for vm in vms[:1]]
    # If the candidates of one VM cannot be read, those of the others cannot be read either.
    examined += vms[1:] if unknowable else client.map_concurrently(examine, vms[1:])
    return [vm for vm in examined if vm], next(iter(unknowable), "")


def _predict_migration(client: Client, vm: Dependent, host: str) -> Dependent | None:
    """Return a VM as stopped if no host can take it; None if it does not exist any more."""
    name = "GetVmMigrationCandidateHosts"
    try:
        reply = client.get(name, {"vmInstanceUuid": vm.uuid})
    except ApiError as failure:
        if failure.transient or failure.code.startswith("ID.") or failure.status in (UNAUTHORIZED, FORBIDDEN):
            raise
        if failure.code == NO_SUCH_OBJECT:
            return None
        return replace(vm, effect=STOPPED, reason=f"the service does not say which hosts can take it: {failure}")
    if any(target.get("uuid") != host for target in extract_records(reply, name)):
        return vm
    return replace(vm, effect=STOPPED, reason="no other host can take it")


def _find_root_storage(vm: Record) -> str | None:
    root = vm.get("rootVolumeUuid")
    volumes = [volume for volume in vm.get("allVolumes") or [] if root and volume.get("uuid") == root]
    return next((volume.get("primaryStorageUuid") for volume in volumes), None)


def _query_vms_of_host(client: Client, desired: Record) -> list[Record]:
    return _select_running_vms(
        query(client, "QueryVmInstance", [f"hostUuid={desired['hostUuid']}"]), desired["hostUuid"]
    )


def _list_vms_of_host_by_cursor(client: Client, desired: Record) -> list[Record]:
    return _select_running_vms(list_by_cursor(client, VM.cursor_type), desired["hostUuid"])


def _select_running_vms(vms: list[Record], host: str) -> list[Record]:
    return [
        vm for vm in vms if vm.get("hostUuid") == host and VM.is_usable(vm) and vm.get("state") not in STOPPED_STATES
    ]


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
    return _select_local(query(client, "QueryPrimaryStorage", filter(None, [format_equality("type", "LocalStorage")])))


def _list_local_storages_by_cursor(client: Client, dummy: Record) -> set[str]:
    return _select_local(list_by_cursor(client, PRIMARY_STORAGE.cursor_type))


def _select_local(storages: list[Record]) -> set[str]:
    return {str(storage.get("uuid")) for storage in storages if storage.get("type") == "LocalStorage"}


_read_running_vms = combine_finders(_query_vms_of_host, _list_vms_of_host_by_cursor)
_read_vms_with_uuids = combine_finders(_query_vms, _list_vms_by_cursor)
_read_local_storages = combine_finders(_query_local_storages, _list_local_storages_by_cursor)
