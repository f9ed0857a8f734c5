# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is PRIVATE to the collection. It can have breaking changes at any time.

"""The VMs on a host, and what a maintenance or the removal of the host does to them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from .._api.errors import FORBIDDEN, NO_SUCH_OBJECT, UNAUTHORIZED, ApiError, Unchangeable, Unsupported
from .._api.operation import ABSENT
from .._api.records import NullReference, Record
from .._api.resource_types import PRIMARY_STORAGE, VM, VOLUME
from .._client.client import Client
from .._client.lists import (
    combine_finders,
    extract_records,
    find_by_attribute,
    get_by_uuid,
    query,
)
from .._engine.guards import ALSO_REMOVED, LOST, MAX_LISTED, Dependent, Dependents, Guard
from .finders import explain_unreadable, list_by_cursor
from .hosts import RECONNECTED, needs_maintenance

MIGRATED, STOPPED = "migrated", "stopped"

# The states of a VM that does not run, or is about to stop.
STOPPED_STATES = ("Stopped", "Stopping")

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
            warnings=[f"cannot check which VMs the maintenance would stop: {explain_unreadable(failure)}"]
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
        return [], [f"cannot check which VMs have local storage and would be stopped: {explain_unreadable(failure)}"]
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
    operations=("ChangeHostState",),
)


def find_vms_without_power(client: Client, host: Record, force: bool | None) -> Dependents:
    """Return the VMs that run on a host, and stop when the host is switched off or reset.

    Raise Unsupported if they cannot be read, except with ``force``.
    """
    try:
        records = _read_running_vms(client, {"hostUuid": host["uuid"]})
    except (Unsupported, ApiError) as failure:
        reason = f"cannot check which VMs run on the host: {explain_unreadable(failure)}"
        if force:
            return Dependents(warnings=[reason])
        raise Unsupported(reason, "Set force: true to switch it nevertheless.") from None
    return Dependents([replace(_to_dependent(vm, STOPPED), reason="it runs on the host") for vm in records])


# Servers switch a host off, or reset it, whatever runs on it. In maintenance, no VM does.
VMS_WITHOUT_POWER = Guard(
    find_vms_without_power,
    harmful=(STOPPED,),
    members={STOPPED: "stopped_vms"},
    operations=("ShutdownHost", "PowerResetHost"),
    needed_option="power",
)


def find_vms_on_host(client: Client, host: Record, force: bool | None) -> Dependents:
    """Return what the removal of a host destroys or stops: VMs on it, and volumes on its local storage.

    A VM is on the host if it runs there, or if it ran there last and has a volume on local storage. With ``force``, VMs
    that a maintenance moves first are left out. Raise Unsupported if the VMs cannot be read, except with ``force``.
    """
    vms: list[Record] | None = None
    try:
        vms = _read_vms_on_host(client, {"hostUuid": host["uuid"]})
        storages = _read_local_storages(client, {})
    except (Unsupported, ApiError) as failure:
        noun = "volumes" if vms == [] else "VMs"
        reason = f"cannot check which {noun} are on the host: {explain_unreadable(failure)}"
        if force or vms == []:
            return Dependents(warnings=[reason])
        raise Unsupported(reason, "Set force: true to remove the host nevertheless.") from None
    is_evacuated = force and needs_maintenance(host)
    objects: list[Dependent] = []
    for vm in vms:
        storage = _find_root_storage(vm)
        if storage in storages or (storage is None and storages):
            reason = "its root volume is on local storage" if storage else "its record does not show its root volume"
            objects.append(replace(_to_dependent(vm, LOST), reason=reason))
        elif vm.get("hostUuid") == host["uuid"] and vm.get("state") not in STOPPED_STATES and not is_evacuated:
            objects.append(replace(_to_dependent(vm, STOPPED), reason="it runs on the host"))
        objects += _list_local_volumes(vm, storages)
    return Dependents(objects, _warn_of_unplaced_objects(client, storages) if storages else [])


def _list_local_volumes(vm: Record, storages: set[str]) -> list[Dependent]:
    """Return the data volumes of a VM on local storage, which must be that of the same host."""
    return [
        Dependent(str(volume["uuid"]), str(volume.get("name")), LOST, "it is on local storage", "volume")
        for volume in vm.get("allVolumes") or []
        if volume.get("primaryStorageUuid") in storages and volume.get("uuid") != vm.get("rootVolumeUuid")
    ]


def _warn_of_unplaced_objects(client: Client, storages: set[str]) -> list[str]:
    """Return warnings about volumes on local storage whose host no record shows, as they may lie on the host.

    They are data volumes of no VM, and root volumes of VMs that never ran.
    """
    warnings: list[str] = []
    try:
        volumes = query(client, VOLUME.query, ["vmInstanceUuid is null", "type=Data"])
        count = sum(volume.get("primaryStorageUuid") in storages for volume in filter(VOLUME.is_usable, volumes))
        if count:
            warnings.append(f"{count} data volumes of no VM lie on local storage; those on the host are lost")
    except (Unsupported, ApiError) as failure:
        warnings.append(f"cannot check which data volumes of no VM are on the host: {explain_unreadable(failure)}")
    with suppress(Unsupported, ApiError):
        vms = query(client, VM.query, ["hostUuid is null", "lastHostUuid is null"])
        unplaced = [vm for vm in _select_vms_on_host(vms, None) if _find_root_storage(vm) in storages]
        names = sorted(str(vm.get("name")) for vm in unplaced)
        if names:
            more = f" and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else ""
            warnings.append(
                f"no record shows the hosts of the VMs {', '.join(names[:MAX_LISTED])}{more}, whose root volumes lie on"
                " local storage; those on the host are lost"
            )
    return warnings


def review_vms_on_host(client: Client, host: Record, before: Sequence[Dependent]) -> list[Dependent]:
    """Return what the removal of a host affected, each with the actual effect."""
    uuids = [item.uuid for item in before if item.type == VM.name]
    vms = {str(vm.get("uuid")): vm for vm in _read_vms_with_uuids(client, {"uuids": uuids})} if uuids else {}
    volumes = [volume for item in before if item.type == VOLUME.name for volume in _read_volume(client, item.uuid)]
    remaining = {volume.get("uuid") for volume in volumes if VOLUME.is_usable(volume)}
    remaining |= {uuid for uuid, vm in vms.items() if VM.is_usable(vm)}

    def determine_effect(item: Dependent) -> str:
        if item.uuid not in remaining:
            return LOST
        return STOPPED if vms.get(item.uuid, {}).get("state") in STOPPED_STATES and item.effect == STOPPED else ""

    return [replace(item, effect=determine_effect(item), reason="") for item in before]


def _read_volume(client: Client, uuid: str) -> list[Record]:
    return get_by_uuid(client, "QueryVolume", uuid)


# With a local storage, servers destroy the VMs and drop the volumes there: section "Hosts" of the notes on removal.
VMS_ON_HOST = Guard(
    find_vms_on_host,
    harmful=(LOST, STOPPED),
    members={LOST: ALSO_REMOVED, STOPPED: "stopped_vms"},
    review=review_vms_on_host,
    operations=("DeleteHost",),
)


# The guards of the values of the option ``state``. A host in maintenance is switched off without VMs.
HOST_GUARDS = {
    **dict.fromkeys(("present", "enabled", "disabled", RECONNECTED), (VMS_WITHOUT_POWER,)),
    "maintenance": (RUNNING_VMS,),
    ABSENT: (RUNNING_VMS, VMS_ON_HOST),
}


def _determine_effect(vm: Record, host: str) -> str:
    if vm.get("state") in STOPPED_STATES:
        return STOPPED
    return MIGRATED if vm.get("hostUuid") not in (None, host) else ""


def _predict_migrations(client: Client, vms: Sequence[Dependent], host: str) -> tuple[list[Dependent], str]:
    """Return the VMs that still exist, as stopped if no host can take them, and why some cannot be predicted."""
    unknowable: list[str] = []

    def examine(vm: Dependent) -> Dependent | None:
        try:
            return _predict_migration(client, vm, host)
        except (Unsupported, ApiError) as failure:
            unknowable.append(explain_unreadable(failure))
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


def require_migration_target(client: Client, vm: Record, host: str | NullReference) -> Dependents:
    """Raise Unchangeable if a VM cannot migrate to a host. Return warnings about what cannot be checked.

    Check mode does not know the host if an earlier task would have added it, nor the targets of a VM whose state is
    about to change.
    """
    if isinstance(host, NullReference):
        return Dependents()
    if vm.get("state") != "Running":
        return Dependents(warnings=[f"cannot check to which hosts it can migrate, because it is {vm.get('state')}"])
    refusal = f"the VM cannot migrate to the host {host!r}"
    warnings: list[str] = []
    try:
        if _find_root_storage(vm) in _read_local_storages(client, {}):
            raise Unchangeable(
                f"{refusal}, because its root volume is on local storage. Omit host.", {host: "hostUuid"}
            )
    except (Unsupported, ApiError) as failure:
        warnings.append(f"cannot check whether its root volume is on local storage: {explain_unreadable(failure)}")
    name = "GetVmMigrationCandidateHosts"
    try:
        targets = extract_records(client.get(name, {"vmInstanceUuid": vm["uuid"]}), name)
    except (Unsupported, ApiError) as failure:
        reason = explain_unreadable(failure)
        return Dependents(warnings=[*warnings, f"cannot check to which hosts it can migrate: {reason}"])
    if host not in [target.get("uuid") for target in targets]:
        raise Unchangeable(f"{refusal}. {_describe_targets(targets)}", {host: "hostUuid"})
    return Dependents(warnings=warnings)


def _describe_targets(targets: list[Record]) -> str:
    """Return the sentence that names the hosts to which a VM can migrate."""
    names = sorted(f"{target.get('name')} ({target.get('uuid')})" for target in targets)
    more = f" and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else ""
    return f"It can migrate to {', '.join(names[:MAX_LISTED])}{more}." if names else "No other host can take it."


# Servers list the targets without regard to where the root volume lies, and refuse the migration only in its job.
MIGRATION_TARGETS = Guard(require_migration_target, option="", depends_on="host", members={}, operations=("MigrateVm",))


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


def _query_vms_on_host(client: Client, desired: Record) -> list[Record]:
    uuid = desired["hostUuid"]
    records = [vm for field in ("hostUuid", "lastHostUuid") for vm in query(client, VM.query, [f"{field}={uuid}"])]
    return _select_vms_on_host(records, uuid)


def _list_vms_on_host_by_cursor(client: Client, desired: Record) -> list[Record]:
    return _select_vms_on_host(list_by_cursor(client, VM.cursor_type), desired["hostUuid"])


def _select_vms_on_host(vms: list[Record], host: str | None) -> list[Record]:
    """Return the VMs that are on a host, each once; one that does not run is where it ran last, if it ever ran."""
    found = {str(vm.get("uuid")): vm for vm in vms if (vm.get("hostUuid") or vm.get("lastHostUuid")) == host}
    return list(filter(VM.is_usable, found.values()))


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
    return _select_local(find_by_attribute(client, "QueryPrimaryStorage", "type", "LocalStorage"))


def _list_local_storages_by_cursor(client: Client, dummy: Record) -> set[str]:
    return _select_local(list_by_cursor(client, PRIMARY_STORAGE.cursor_type))


def _select_local(storages: list[Record]) -> set[str]:
    return {str(storage.get("uuid")) for storage in storages if storage.get("type") == "LocalStorage"}


_read_running_vms = combine_finders(_query_vms_of_host, _list_vms_of_host_by_cursor)
_read_vms_on_host = combine_finders(_query_vms_on_host, _list_vms_on_host_by_cursor)
_read_vms_with_uuids = combine_finders(_query_vms, _list_vms_by_cursor)
_read_local_storages = combine_finders(_query_local_storages, _list_local_storages_by_cursor)
