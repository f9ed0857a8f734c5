"""The VMs on a host, and what a maintenance, the removal or the loss of power of the host does to them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress

from .._api.errors import ApiError, Unsupported, join_first
from .._api.operation import ABSENT
from .._api.records import Record
from .._api.resource_types import CBT_TASK, VM, VOLUME
from .._client.client import Client
from .._client.lists import get_by_uuid, list_all, query
from .._engine.guards import ALSO_REMOVED, LOST, MAX_LISTED, REMOVED, Dependent, Dependents, Guard
from .cbt_references import list_vms_of_task
from .hosts import EVACUATE, RECONNECTED, needs_maintenance
from .local_storages import find_root_storage, read_local_storages
from .readings import explain_unreadable
from .vms_on_hosts import (
    MIGRATED,
    STOPPED,
    STOPPED_STATES,
    is_on,
    predict_migrations,
    read_vms_near_host,
    read_vms_with_uuids,
    runs_on,
)

# The effect of a maintenance on a VM that it neither migrates nor stops.
LEFT = "left on the host"

# The states of a VM of which the service does not know whether it runs. A maintenance leaves such a VM on its host:
# section "Maintenance and power, more" of the notes on removal.
UNKNOWN_STATES = ("Unknown", None)


def find_running_vms(client: Client, host: Record, choice: str) -> Dependents:
    """Return the VMs that run on a host, each with the effect that a maintenance of the host will have on it.

    A VM cannot migrate if its root volume lies on a primary storage of type LocalStorage, or if the service names no
    host that could take it. With the ``choice`` any, the effects are not determined.
    """
    try:
        near = read_vms_near_host(client, host["uuid"])
    except (Unsupported, ApiError) as failure:
        return Dependents(
            warnings=[f"cannot check which VMs the maintenance would stop: {explain_unreadable(failure)}"]
        )
    running = [vm for vm in near if runs_on(vm, host["uuid"])]
    left = [_to_dependent(vm, LEFT) for vm in running if vm.get("state") in UNKNOWN_STATES]
    records = [vm for vm in running if vm.get("state") not in UNKNOWN_STATES]
    if choice == "any" or not records:
        vms = [*(_to_dependent(vm, effect="") for vm in records), *left]
        return Dependents(vms, seen=_remember(near, vms))
    local, warnings = _find_local_vms(client, records)
    stopped = [_to_dependent(vm, STOPPED)._replace(reason="its root volume is on local storage") for vm in local]
    others = [_to_dependent(vm, MIGRATED) for vm in records if vm not in local]
    examined, unknowable = predict_migrations(client, others, host["uuid"])
    if unknowable:
        warnings.append(f"cannot check whether other hosts can take the VMs: {unknowable}")
    vms = [*stopped, *examined, *left]
    return Dependents(vms, warnings, seen=_remember(near, vms))


def _to_dependent(vm: Record, effect: str) -> Dependent:
    """Return the dependent object for the record of a VM."""
    return Dependent(str(vm.get("uuid")), str(vm.get("name")), effect)


def _remember(vms: Iterable[Record], dependents: Iterable[Dependent]) -> dict[str, object]:
    """Return when VMs that do not depend on a host were changed last, by their uuids."""
    uuids = {item.uuid for item in dependents}
    return {str(vm.get("uuid")): vm.get("lastOpDate") for vm in vms if vm.get("uuid") not in uuids}


def _find_local_vms(client: Client, vms: list[Record]) -> tuple[list[Record], list[str]]:
    """Return the VMs whose root volume is on local storage, and a warning if this is not known for some."""
    try:
        storages = read_local_storages(client)
    except (Unsupported, ApiError) as failure:
        return [], [f"cannot check which VMs have local storage and would be stopped: {explain_unreadable(failure)}"]
    local = [vm for vm in vms if find_root_storage(vm) in storages]
    hidden = [vm for vm in vms if find_root_storage(vm) is None]
    if not storages or not hidden:
        return local, []
    warning = (
        f"cannot check whether {_to_dependent(hidden[0], MIGRATED)} has local storage and would be stopped, because its"
        f" record does not show its root volume ({len(hidden)} VMs in all)"
    )
    return local, [warning]


def review_vms(client: Client, host: Record, before: Dependents) -> list[Dependent]:
    """Return the VMs that ran on a host before a maintenance, and those that have started there since.

    Each has the effect that the maintenance had on it.
    """
    uuid = host["uuid"]
    records = {str(vm.get("uuid")): vm for vm in _read_vms(client, before.objects)}
    reviewed = [
        vm._replace(effect=_determine_effect(records.get(vm.uuid, {}), uuid), reason="") for vm in before.objects
    ]
    return [*reviewed, *_find_stopped_since(client, host, before)]


def _read_vms(client: Client, vms: Iterable[Dependent]) -> list[Record]:
    return read_vms_with_uuids(client, [vm.uuid for vm in vms])


def _determine_effect(vm: Record, host: str) -> str:
    if vm.get("state") in STOPPED_STATES:
        return STOPPED
    return MIGRATED if vm.get("hostUuid") not in (None, host) else LEFT if vm.get("hostUuid") == host else ""


def _find_stopped_since(
    client: Client, host: Record, before: Dependents, states: tuple[str | None, ...] = ()
) -> list[Dependent]:
    """Return the VMs that did not run on a host before a call, and that were stopped on it since.

    A VM counts that no other host shows for its own and that was changed since. ``states`` are further states in which
    the call leaves a VM that it stops.
    """
    known = {vm.uuid for vm in before.objects}
    return [
        _to_dependent(vm, STOPPED)
        for vm in read_vms_near_host(client, host["uuid"])
        if vm.get("state") in (*STOPPED_STATES, *states)
        and vm.get("uuid") not in known
        and before.seen.get(str(vm.get("uuid"))) != vm.get("lastOpDate")
    ]


# Servers stop VMs that cannot migrate, the job succeeds, and nothing starts them again: section "Operations" of the
# compatibility notes, maintain.
RUNNING_VMS = Guard(
    option="running_vms",
    members={MIGRATED: "migrated_vms", STOPPED: "stopped_vms", LEFT: "remaining_vms"},
    harmful=(STOPPED,),
    unwanted=(LEFT,),
    permitted_by=("stop", "any"),
    find=find_running_vms,
    review=review_vms,
    operations=("ChangeHostState",),
)


def find_vms_without_power(client: Client, host: Record, dummy: object) -> Dependents:
    """Return the VMs that run on a host, or may run there, and stop when the host is switched off or reset."""
    return _find_stopped(client, host, lambda vm: True)


def find_vms_left_in_maintenance(client: Client, host: Record, dummy: object) -> Dependents:
    """Return the VMs that are on a host when it is switched off or reset in maintenance."""
    return _find_stopped(client, host, lambda vm: _stays(vm, host))


def _find_stopped(client: Client, host: Record, select: Callable[[Record], bool]) -> Dependents:
    """Return the VMs that run on a host, or may run there, and that a function selects, as stopped with it."""
    try:
        near = read_vms_near_host(client, host["uuid"])
    except (Unsupported, ApiError) as failure:
        return Dependents(unknown=f"cannot check which VMs run on the host: {explain_unreadable(failure)}")
    vms = [_stop(vm) for vm in near if runs_on(vm, host["uuid"]) and select(vm)]
    return Dependents(vms, seen=_remember(near, vms))


def _stays(vm: Record, host: Record) -> bool:
    """Return whether a VM is on a host after a maintenance, which may have ended already."""
    return not needs_maintenance(host) or vm.get("state") in UNKNOWN_STATES


def _stop(vm: Record) -> Dependent:
    """Return a VM that stops because its host is switched off or removed."""
    state = vm.get("state")
    reason = f"its state is {state}, so it may run on the host" if state in UNKNOWN_STATES else "it runs on the host"
    return _to_dependent(vm, STOPPED)._replace(reason=reason)


def review_vms_without_power(client: Client, host: Record, before: Dependents) -> list[Dependent]:
    """Return the VMs that ran on a host before it lost its power, and those that have started there since."""
    return [*before.objects, *_find_stopped_since(client, host, before, UNKNOWN_STATES)]


# Servers switch a host off, or reset it, whatever runs on it.
VMS_WITHOUT_POWER = Guard(
    find_vms_without_power,
    harmful=(STOPPED,),
    members={STOPPED: "stopped_vms"},
    review=review_vms_without_power,
    operations=("ShutdownHost", "PowerResetHost"),
)

# A maintenance may leave VMs on the host.
VMS_LEFT_IN_MAINTENANCE = VMS_WITHOUT_POWER._replace(
    find=find_vms_left_in_maintenance,
    option=RUNNING_VMS.option,
    permitted_by=RUNNING_VMS.permitted_by,
)


def find_vms_on_host(client: Client, host: Record, evacuate: bool | None) -> Dependents:
    """Return the VMs that the removal of a host stops.

    With ``evacuate``, these are the VMs that the maintenance before the removal leaves on the host. VMs that are lost
    with the local storage are not among them.
    """
    storages: set[str] = set()
    with suppress(Unsupported, ApiError):
        storages = read_local_storages(client)
    return _find_stopped(
        client, host, lambda vm: find_root_storage(vm) not in storages and (not evacuate or _stays(vm, host))
    )


def review_vms_on_host(client: Client, host: Record, before: Dependents) -> list[Dependent]:
    """Return the VMs that the removal of a host has stopped, also those that have started there since it was read."""
    states = {str(vm.get("uuid")): vm.get("state") for vm in _read_vms(client, before.objects)}
    stopped = [
        vm._replace(effect=STOPPED if states.get(vm.uuid) in STOPPED_STATES else "", reason="") for vm in before.objects
    ]
    return [*stopped, *_find_stopped_since(client, host, before)]


# Servers stop the VMs: section "Hosts" of the notes on removal.
VMS_ON_HOST = Guard(
    find_vms_on_host,
    harmful=(STOPPED,),
    members={STOPPED: "stopped_vms"},
    review=review_vms_on_host,
    operations=("DeleteHost",),
    depends_on=EVACUATE,
    remedy=f" Set {EVACUATE}: true to move the VMs of a connected host to other hosts first.",
)


def find_local_objects(client: Client, host: Record, dummy: object) -> Dependents:
    """Return what is lost with a host: the VMs whose root volume is on its local storage, and the data volumes there.

    A VM is on the host if it runs there, or if it ran there last.
    """
    try:
        near = read_vms_near_host(client, host["uuid"])
    except (Unsupported, ApiError) as failure:
        return Dependents(unknown=f"cannot check which VMs are on the host: {explain_unreadable(failure)}")
    vms = [vm for vm in near if is_on(vm, host["uuid"])]
    try:
        storages = read_local_storages(client)
    except (Unsupported, ApiError) as failure:
        reason = f"cannot check which volumes are on the host: {explain_unreadable(failure)}"
        return Dependents(unknown=reason) if vms else Dependents(warnings=[reason])
    if not storages:
        return Dependents()
    objects: list[Dependent] = []
    for vm in vms:
        storage = find_root_storage(vm)
        if storage is None or storage in storages:
            reason = "its root volume is on local storage" if storage else "its record does not show its root volume"
            objects.append(_to_dependent(vm, LOST)._replace(reason=reason))
        objects += _list_local_volumes(vm, storages)
    tasks, task_warnings = _find_cbt_tasks(client, {item.uuid for item in objects if item.type == VM.name})
    return Dependents([*objects, *tasks], [*_warn_of_unplaced_objects(client, near, storages), *task_warnings])


def _find_cbt_tasks(client: Client, vms: set[str]) -> tuple[list[Dependent], list[str]]:
    """Return the CBT tasks of VMs that are destroyed, which are removed with them; and why they are not known."""
    try:
        tasks = list_all(client, CBT_TASK.query) if vms else []
    except (Unsupported, ApiError) as failure:
        return [], [f"cannot check which CBT tasks are removed with the VMs: {explain_unreadable(failure)}"]
    return [
        Dependent(str(task["uuid"]), str(task.get("name")), REMOVED, "it is that of a VM on the host", CBT_TASK.name)
        for task in tasks
        if not vms.isdisjoint(list_vms_of_task(task))
    ], []


def _list_local_volumes(vm: Record, storages: set[str]) -> list[Dependent]:
    """Return the data volumes of a VM on local storage, which must be that of the same host."""
    return [
        Dependent(str(volume["uuid"]), str(volume.get("name")), LOST, "it is on local storage", "volume")
        for volume in vm.get("allVolumes") or []
        if volume.get("primaryStorageUuid") in storages and volume.get("uuid") != vm.get("rootVolumeUuid")
    ]


def _warn_of_unplaced_objects(client: Client, vms: list[Record], storages: set[str]) -> list[str]:
    """Return warnings about volumes on local storage whose host no record shows, as they may lie on the host.

    They are unattached data volumes, and root volumes of VMs that never ran.
    """
    warnings: list[str] = []
    try:
        volumes = query(client, VOLUME.query, ["vmInstanceUuid is null", "type=Data"])
        count = sum(volume.get("primaryStorageUuid") in storages for volume in filter(VOLUME.is_usable, volumes))
        if count:
            warnings.append(f"{count} unattached data volumes lie on local storage; those on the host are lost")
    except (Unsupported, ApiError) as failure:
        warnings.append(f"cannot check which unattached data volumes are on the host: {explain_unreadable(failure)}")
    names = sorted(str(vm.get("name")) for vm in vms if is_on(vm, None) and find_root_storage(vm) in storages)
    if names:
        warnings.append(
            f"no record shows the hosts of the VMs {join_first(names, MAX_LISTED)}, whose root volumes lie on"
            " local storage; those on the host are lost"
        )
    return warnings


def review_local_objects(client: Client, dummy: Record, before: Dependents) -> list[Dependent]:
    """Return the VMs and volumes on local storage, those that were removed with the host as lost, and CBT tasks."""
    vms = _read_vms(client, [item for item in before.objects if item.type == VM.name])
    volumes = [
        volume for item in before.objects if item.type == VOLUME.name for volume in _read_volume(client, item.uuid)
    ]
    remaining = {volume.get("uuid") for volume in volumes if VOLUME.is_usable(volume)}
    remaining |= {vm.get("uuid") for vm in vms if VM.is_usable(vm)}
    tasks = [item for item in before.objects if item.type == CBT_TASK.name]
    remaining |= {task.get("uuid") for item in tasks for task in get_by_uuid(client, CBT_TASK.query, item.uuid)}
    return [item._replace(effect="" if item.uuid in remaining else item.effect, reason="") for item in before.objects]


def _read_volume(client: Client, uuid: str) -> list[Record]:
    return get_by_uuid(client, "QueryVolume", uuid)


# With a local storage, servers destroy the VMs and drop the volumes there: section "Hosts" of the notes on removal.
LOCAL_OBJECTS = Guard(
    find_local_objects,
    option="destroy_local_storage",
    harmful=(LOST,),
    members={LOST: ALSO_REMOVED, REMOVED: ALSO_REMOVED},
    review=review_local_objects,
    operations=("DeleteHost",),
)


# The guards of the values of the option ``state``.
HOST_GUARDS = {
    **dict.fromkeys(("present", "enabled", "disabled", RECONNECTED), (VMS_WITHOUT_POWER,)),
    "maintenance": (RUNNING_VMS, VMS_LEFT_IN_MAINTENANCE),
    ABSENT: (RUNNING_VMS, VMS_ON_HOST, LOCAL_OBJECTS),
}
