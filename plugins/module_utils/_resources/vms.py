"""Find VMs, and plan calls for their life. Section "Virtual machines"."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from .._api.errors import (
    ApiError,
    NotFound,
    Unchangeable,
    Unsupported,
    VirtinfraError,
)
from .._api.operation import ABSENT, TAG_PARAMS
from .._api.records import (
    Record,
    parse_timestamp,
)
from .._api.references import format_option_name
from .._api.resource_types import RESOURCE_TYPES, VM, VOLUME
from .._client.client import Client
from .._client.lists import find_by_attribute, find_in_short_list, list_all, list_by_uuids, require_unique
from .._engine.current import Current, Found, Unreadable, replace_record
from .._engine.differences import build_not_found, build_unchangeable
from .._engine.drift import find_drift
from .._engine.guards import REMOVED, Dependent, Dependents, Guard
from .._engine.plan import build_call, build_default_plan
from .._engine.spec import PlannedCall, ResourceSpec, Settling
from .cbt_references import list_scratch_volumes, list_vms_of_task
from .chains import chain_plans
from .readings import explain_unreadable, read_by_key
from .vm_states import CHANGING_STATES, PLACEMENT

_RUNNING, _STOPPED, _PAUSED, _DESTROYED = "Running", "Stopped", "Paused", "Destroyed"

# The state of a VM without a record whose volumes still exist. The service has no such state.
_EXPUNGED = "Expunged"

# The changing states after which a VM runs.
_BOUND_TO_RUN = ("Starting", "Rebooting", "Migrating", "VolumeMigrating")

# The states in which a VM does not run, and can be restarted.
_STARTED_BY_RESTART = ("Crashed", "NoState")

# The values that can only be changed while a VM is stopped, or grow while it runs.
_SIZES = ("cpuNum", "memorySize")

# The desired size of the root volume, which is not a member of the record of a VM.
ROOT_SIZE = "rootDiskSize"

# The member of the record of a running VM that is to grow: whether it can, or as a text why this cannot be read.
HOT_PLUG = "hotPlug"


def find_vm(client: Client, desired: Record) -> Record | None:
    """Read a VM by its uuid or its name; a destroyed one only with ``recover``, ``expunge`` or ``dataVolumes`` delete.

    With ``dataVolumes`` delete, ``volumesToRemove`` are its data volumes, and as long as one of them exists, a removed
    VM has a record. Raise NotFound for another destroyed VM, and Unchangeable for a template.
    """
    key = "uuid" if "uuid" in desired else "name"
    vm = _select_vm(read_by_key(client, VM, key, desired[key]), desired)
    # The task has compared a VM that it has destroyed before, and nothing makes a template of such a VM.
    if vm is not None and not ("dataVolumeUuids" in desired and vm.get("state") == _DESTROYED):
        _refuse_template(client, vm)
    if desired.get("dataVolumes") != "delete":
        return vm
    return _add_volumes_to_remove(client, desired, vm)


def _add_volumes_to_remove(client: Client, desired: Record, vm: Record | None) -> Record | None:
    """Return a VM with ``volumesToRemove``; None for one without a record that has no volumes left."""
    uuid = vm["uuid"] if vm else desired.get("uuid")
    is_destroyed = vm is not None and vm.get("state") == _DESTROYED
    if "dataVolumeUuids" in desired:
        volumes = _read_remaining_volumes(client, desired["dataVolumeUuids"], uuid)
    elif vm is None or is_destroyed:
        volumes = _list_freed_volumes(client, uuid, vm) if uuid else []
    else:
        volumes = _list_data_volumes(client, vm)
    volumes = [volume for volume in volumes if desired.get("expunge") or VOLUME.is_usable(volume)]
    if vm is None:
        return {"uuid": uuid, "state": _EXPUNGED, "volumesToRemove": volumes} if volumes else None
    if is_destroyed and not (volumes or desired.get("recover") or desired.get("expunge")):
        raise _build_destroyed(vm)
    return {**vm, "volumesToRemove": volumes}


def _select_vm(vms: list[Record], desired: Record) -> Record | None:
    """Return the VM with the desired key: one that is not destroyed, or else a destroyed one that the options concern.

    With ``expunge``, a name must select one VM among both. If only ``dataVolumes`` concerns destroyed VMs, a name
    selects the one that was destroyed last.
    """
    key = "uuid" if "uuid" in desired else "name"
    label = f"the {key} {desired[key]!r}"
    destroyed = [vm for vm in vms if vm.get("state") == _DESTROYED]
    if vm := require_unique(list(filter(VM.is_usable, vms)), label):
        # A second run must not expunge a VM of the same name that was destroyed earlier.
        return require_unique([vm, *destroyed], label) if desired.get("expunge") else vm
    if desired.get("recover") or desired.get("expunge"):
        return require_unique(destroyed, label)
    if desired.get("dataVolumes") == "delete":
        dates = [parse_timestamp(vm.get("lastOpDate")) or datetime.datetime.min for vm in destroyed]
        return require_unique([vm for vm, date in zip(destroyed, dates, strict=True) if date == max(dates)], label)
    if destroyed:
        raise _build_destroyed(destroyed[0])
    return None


def _build_destroyed(vm: Record) -> NotFound:
    remedy = "Set recover: true to recover it."
    return NotFound(f"the VM {vm.get('uuid')} is destroyed", remedy, check_mode_remedy=remedy)


def _refuse_template(client: Client, vm: Record) -> None:
    """Raise Unchangeable if a VM is a template, which its own record does not show."""
    with suppress(Unsupported):
        if find_in_short_list(client, "QueryTemplatedVmInstance", vm["uuid"]):
            raise Unchangeable(f"the VM {vm['uuid']} is a template, which this module does not manage")


def _list_data_volumes(client: Client, vm: Record) -> list[Record]:
    """Return the data volumes of a VM that is not destroyed; not those that VMs share.

    A VM may show its volumes, too, but a service that cannot list them could not prove that they are deleted.
    """
    attached = find_by_attribute(client, VOLUME.query, "vmInstanceUuid", vm["uuid"])
    return [volume for volume in attached if _is_own_data_volume(volume) and volume["uuid"] != vm.get("rootVolumeUuid")]


def _list_freed_volumes(client: Client, uuid: str, vm: Record | None) -> list[Record]:
    """Return the data volumes that a VM had when it was destroyed, unless others use them now.

    ``vm`` is its record, None if it has none. Servers set the date of the detachment only if a volume is detached from
    a VM that exists. A volume with such a date may have been detached to keep it, so it is left out. So is a volume
    that may have been deleted before the VM was destroyed, because that was no part of the removal of the VM.
    """
    volumes = find_by_attribute(client, VOLUME.query, "lastVmInstanceUuid", uuid)
    freed = [volume for volume in volumes if not volume.get("vmInstanceUuid")]
    own = [volume for volume in freed if _is_own_data_volume(volume) and not _was_detached(volume)]
    return [volume for volume in own if VOLUME.is_usable(volume) or _was_deleted_after(volume, vm)]


def _was_deleted_after(volume: Record, vm: Record | None) -> bool:
    """Return whether a volume was deleted after its VM was destroyed. Without the record of the VM, it is not known."""
    destroyed, deleted = (parse_timestamp((record or {}).get("lastOpDate")) for record in (vm, volume))
    return destroyed is not None and deleted is not None and deleted >= destroyed


def _is_own_data_volume(volume: Record) -> bool:
    return not volume.get("isShareable") and volume.get("type") in (None, "Data")


def _was_detached(volume: Record) -> bool:
    """Return whether a volume has ever been detached from a VM that exists."""
    return bool(volume.get("lastDetachDate"))


def _read_remaining_volumes(client: Client, uuids: Sequence[str], vm: str | None) -> list[Record]:
    """Return those volumes that still exist. Raise VirtinfraError if one has been attached to another VM since."""
    records = list_by_uuids(client, VOLUME.query, uuids)
    volumes = [volume for volume in records if volume.get("uuid") in uuids]
    for volume in volumes:
        if (user := volume.get("vmInstanceUuid")) not in (None, vm):
            raise VirtinfraError(
                f"the data volume {volume.get('name')} ({volume.get('uuid')}) is not deleted, because it was attached"
                f" to the VM {user} while the task ran. Run the task again to delete the others."
            )
    return volumes


def remember_vm(vm: Record) -> Record:
    """Return the uuids of a VM and its data volumes, because its record shows them only until it is destroyed."""
    volumes = (
        {"dataVolumeUuids": [volume["uuid"] for volume in vm["volumesToRemove"]]} if "volumesToRemove" in vm else {}
    )
    return {"uuid": vm["uuid"], **volumes}


def hide_volumes_to_remove(vm: Record | None) -> Record:
    """Return the VM as it is shown in the result."""
    return {"vm": vm and {name: value for name, value in vm.items() if name != "volumesToRemove"}}


def plan_vm(resource: ResourceSpec, state: str, desired: Record, current: Current) -> list[PlannedCall]:
    """Plan the recovery, the changes and the state of a VM, or its removal."""
    _require_proof(desired, current)
    if state == ABSENT:
        return _plan_vm_removal(resource, desired, current.record) if current.record else []
    if current.record is None:
        raise build_not_found(resource, desired)
    recover, update = partial(_plan_recovery, resource, desired), partial(_plan_update, resource, desired)
    grow = partial(_plan_root_growth, resource, desired)
    migrate = partial(_plan_migration, resource, state, desired)
    if _must_run(resource, state):
        calls = chain_plans(current, recover, update, grow, migrate, partial(_plan_running, resource, state, desired))
    else:
        calls = chain_plans(current, recover, partial(_plan_stop, resource, state, desired), update, grow, migrate)
    tags = {name: desired[name] for name in TAG_PARAMS if name in desired}
    return [call._replace(params={**call.params, **tags}) for call in calls]


def _must_run(resource: ResourceSpec, state: str) -> bool:
    """Return whether a VM runs in a state, or must run before it can reach it."""
    transition = resource.transitions.get(state)
    return transition is not None and _RUNNING in (transition.through, *transition.target_values)


def _plan_recovery(resource: ResourceSpec, desired: Record, current: Current) -> list[PlannedCall]:
    vm = current.record or {}
    if vm.get("state") != _DESTROYED:
        return []
    if not desired.get("recover"):
        raise _build_destroyed(vm)
    return [build_call(resource, "RecoverVmInstance", {}, vm, {**vm, "state": _STOPPED})]


def _plan_stop(resource: ResourceSpec, state: str, desired: Record, current: Current) -> list[PlannedCall]:
    """Plan the call that leads to a state in which a VM does not run; none for the state ``present``."""
    vm = current.record or {}
    options = {name: desired[name] for name in ("stopType",) if name in desired}
    place = {"hostUuid": None, "lastHostUuid": vm.get("hostUuid") or vm.get("lastHostUuid")}
    return [call.expect(place) for call in build_default_plan(resource, state, options, current)]


def _plan_update(resource: ResourceSpec, desired: Record, current: Current) -> list[PlannedCall]:
    vm = current.record or {}
    compared = {name: value for name, value in desired.items() if name not in (*PLACEMENT, "uuid", ROOT_SIZE)}
    changes = find_drift(resource, compared, vm)
    if fixed := {name: value for name, value in changes.items() if name not in resource.changeable}:
        raise build_unchangeable(resource, fixed, desired, vm)
    warning = _require_resizable(vm, {name: changes[name] for name in _SIZES if name in changes})
    return [build_call(resource, resource.update, changes, vm, {**vm, **changes}, warning)] if changes else []


def list_growing(desired: Record, vm: Record) -> list[str]:
    """Return which of CPUs and memory shall be larger than those of a VM, by their API names."""
    return [name for name in _SIZES if desired.get(name, 0) > (size if _is_size(size := vm.get(name)) else 0)]


def _is_size(value: object) -> bool:
    """Return whether a service has sent a number, and not a text or nothing."""
    return isinstance(value, int) and not isinstance(value, bool)


def _require_resizable(vm: Record, sizes: Record) -> str:
    """Raise Unchangeable if a VM must be stopped to get other sizes. Return a warning if this is not known."""
    state, can_grow = vm.get("state"), vm.get(HOT_PLUG)
    if not sizes or state in (None, _STOPPED):
        return ""
    names = " and ".join(map(format_option_name, sizes))
    remedy = "Add state: stopped to the task."
    if state != _RUNNING:
        raise Unchangeable(f"{names} can only be changed while the VM is stopped, or grow while it runs. {remedy}")
    growing = list_growing(sizes, vm)
    if smaller := [format_option_name(name) for name in sizes if name not in growing]:
        raise Unchangeable(f"{' and '.join(smaller)} can only shrink while the VM is stopped. {remedy}")
    if can_grow is False:
        reason = "because the setting numa of the VM (hot-plug) is off"
        raise Unchangeable(f"{names} can only be changed while the VM is stopped, {reason}. {remedy}")
    return "" if can_grow is True else f"cannot check whether {names} can grow while the VM runs: {can_grow}"


def is_gone(vm: Record) -> bool:
    """Return whether a VM is destroyed, so that it has no NICs and no data volumes any more."""
    return vm.get("state") in (_DESTROYED, _EXPUNGED)


def find_root_volume(vm: Record) -> Record | None:
    """Return the root volume in the record of a VM, None if it does not show one."""
    volumes: list[Record] = vm.get("allVolumes") or []
    return next((volume for volume in volumes if volume.get("uuid") == vm.get("rootVolumeUuid")), None)


def _plan_root_growth(resource: ResourceSpec, desired: Record, current: Current) -> list[PlannedCall]:
    """Plan the growth of the root volume. A larger one stays as it is."""
    wanted = desired.get(ROOT_SIZE)
    if wanted is None:
        return []
    if isinstance(current, Unreadable):
        raise Unsupported(f"cannot read the root volume of the VM: {current.reason.reason}", "Omit root_disk_size.")
    vm = current.record or {}
    root = find_root_volume(vm)
    if root is None or not _is_size(root.get("size")):
        raise Unsupported("the record of the VM does not show the size of its root volume", "Omit root_disk_size.")
    if root["size"] >= wanted:
        return []
    volumes = [{**volume, "size": wanted} if volume is root else volume for volume in vm["allVolumes"]]
    grown = {**vm, "allVolumes": volumes}
    return [build_call(resource, "ResizeRootVolume", {"uuid": root["uuid"], "size": wanted}, vm, grown)]


def _plan_migration(resource: ResourceSpec, state: str, desired: Record, current: Current) -> list[PlannedCall]:
    """Plan the migration of a VM that runs, or is paused, on another host than the desired one.

    A VM that does not run stays as it is, unless it is started, which then happens on the host. Raise Unchangeable for
    a VM that is on a host in another state, such as a crashed one, and Unsupported if its host is not known.
    """
    if "hostUuid" not in desired or (state in resource.transitions and not _must_run(resource, state)):
        return []
    if isinstance(current, Unreadable):
        raise Unsupported(f"cannot read on which host the VM runs: {current.reason.reason}", "Omit host.")
    vm, host, is_started = current.record or {}, desired["hostUuid"], _needs_start(resource, state, current)
    if state == "restarted" and vm.get("state") in _STARTED_BY_RESTART and not vm.get("hostUuid"):
        reason = f"the VM is {vm['state']}, and the service chooses the host on which it restarts"
        raise Unchangeable(f"{reason}. Omit host.")
    if not (_runs_elsewhere(vm, host, is_started) if isinstance(current, Found) else not is_started):
        return []
    migrated_state = vm["state"] if vm.get("state") == _PAUSED else _RUNNING
    moved = {**vm, "hostUuid": host, "lastHostUuid": vm.get("hostUuid"), "state": migrated_state}
    call = build_call(resource, "MigrateVm", {"hostUuid": host}, vm, moved)
    return [call._replace(settling=Settling({"state": CHANGING_STATES}, must_reach=("hostUuid", "state")))]


def _runs_elsewhere(vm: Record, host: str, is_started: bool) -> bool:
    """Return whether a VM runs or is paused on another host, or is about to. Raise as `_plan_migration` does."""
    current, is_running = vm.get("hostUuid"), vm.get("state") in (_RUNNING, _PAUSED, *_BOUND_TO_RUN)
    if current == host:
        return False
    if current and not is_running and vm.get("state") != _STOPPED and not is_started:
        reason = f"the VM is {vm.get('state')} on the host {current!r}, and only a running or paused VM can migrate"
        raise Unchangeable(f"{reason}. Omit host.", {str(current): "hostUuid"})
    if current is None and vm.get("state") == _RUNNING:
        raise Unsupported("the record of the VM does not show its host", "Omit host.")
    return is_running


def _plan_running(resource: ResourceSpec, state: str, desired: Record, current: Current) -> list[PlannedCall]:
    """Plan the calls that make a VM run, and then the one that leads to its state, unless its start does."""
    vm, transition = current.record or {}, resource.transitions[state]
    running = {**vm, "state": _RUNNING}
    if transition.is_visible and vm.get("state") in transition.target_values:
        return []
    calls: list[PlannedCall] = []
    if vm.get("state") == _PAUSED:
        calls.append(build_call(resource, "ResumeVmInstance", {}, vm, running))
    elif _needs_start(resource, state, current):
        place = {name: desired[name] for name in PLACEMENT if name in desired}
        # Without a host among the options, the service chooses one. With it, the cluster is that of the host.
        cluster = {"clusterUuid": None} if "hostUuid" in place else {}
        running = {**running, **place, **cluster, "hostUuid": desired.get("hostUuid"), "lastHostUuid": None}
        calls.append(build_call(resource, "StartVmInstance", place, vm, running))
        if not transition.is_visible:
            return calls
    return [*calls, *build_default_plan(resource, state, {}, replace_record(current, running))]


def _needs_start(resource: ResourceSpec, state: str, current: Current) -> bool:
    """Return whether a VM has to be started to reach a state. The restart of a crashed VM, or in NoState, starts it."""
    vm_state = (current.record or {}).get("state")
    if not _must_run(resource, state) or vm_state in (_RUNNING, _PAUSED):
        return False
    return resource.transitions[state].is_visible or vm_state not in _STARTED_BY_RESTART


def _require_proof(desired: Record, current: Current) -> None:
    """Raise Unsupported if an unreadable VM would be recovered or expunged, or its unknown data volumes deleted."""
    doubtful = {
        "recover: false": desired.get("recover"),
        "expunge: false": desired.get("expunge"),
        "data_volumes: keep": desired.get("dataVolumes") == "delete",
    }
    safe = [setting for setting, is_doubtful in doubtful.items() if is_doubtful]
    if isinstance(current, Unreadable) and safe:
        raise Unsupported(f"cannot read the state of the VM: {current.reason.reason}", f"Set {' and '.join(safe)}.")


def _plan_vm_removal(resource: ResourceSpec, desired: Record, vm: Record) -> list[PlannedCall]:
    """Plan the destruction of a VM, the deletion of its data volumes, and with ``expunge`` the end of both.

    The record of the VM goes last, because a later run finds the volumes by it.
    """
    steps = _list_removals(resource, desired, vm)
    if not steps:
        return []
    remaining = vm if is_gone(vm) else {**vm, "state": _DESTROYED}
    expected = [*(remaining for dummy in steps[1:]), None]
    calls = [
        build_call(resource, operation, params, vm, record)
        for (operation, params), record in zip(steps, expected, strict=True)
    ]
    lost = _find_lost_volumes(desired, vm) if is_gone(vm) else set()
    return [call._replace(is_found_again=call.params["uuid"] not in lost) for call in calls]


def _list_removals(resource: ResourceSpec, desired: Record, vm: Record) -> list[tuple[str | None, Record]]:
    """Return the operations that remove a VM and its data volumes, with their options, in their order."""
    has_record = vm.get("state") != _EXPUNGED
    # Without a record, there is nothing to compare the options with, and a VM that does not run has no place.
    hidden = [name for name in PLACEMENT if vm.get(name) is None]
    compared = {name: value for name, value in desired.items() if name not in hidden} if has_record else {}
    mode = {name: desired[name] for name in ("deleteMode",) if name in desired}
    volumes = vm.get("volumesToRemove", [])
    of_vm = {**compared, "uuid": vm["uuid"]}
    steps: list[tuple[str | None, Record]] = []
    if has_record and vm.get("state") != _DESTROYED:
        steps.append((resource.delete, of_vm))
    deleted = filter(VOLUME.is_usable, volumes)
    steps += [("DeleteDataVolume", {**compared, **mode, "uuid": volume["uuid"]}) for volume in deleted]
    if desired.get("expunge"):
        steps += [("ExpungeDataVolume", {**compared, "uuid": volume["uuid"]}) for volume in volumes]
        steps += [("ExpungeVmInstance", of_vm)] if has_record else []
    return steps


def _find_lost_volumes(desired: Record, vm: Record) -> set[str]:
    """Return the uuids of the data volumes of a destroyed VM that a later task does not find by the same options."""
    has_record = vm.get("state") != _EXPUNGED
    is_vm_found_again = has_record or "uuid" in desired
    return {
        volume["uuid"]
        for volume in vm.get("volumesToRemove", [])
        if _was_detached(volume) or not is_vm_found_again or not (has_record or VOLUME.is_usable(volume))
    }


def _find_vm_dependents(client: Client, vm: Record, dummy: Any) -> Dependents:
    """Return what is removed with a VM: its CBT tasks, its snapshot groups, and the data volumes to delete."""
    objects = [_to_dependent("volume", volume) for volume in vm.get("volumesToRemove", [])]
    warnings: list[str] = []
    readers: dict[str, Callable[[str], list[Record]]] = {
        "cbt_task": partial(list_all, client),
        "snapshot_group": partial(find_by_attribute, client, attribute="vmInstanceUuid", value=vm["uuid"]),
    }
    for name, read in readers.items():
        resource_type = RESOURCE_TYPES[name]
        try:
            records = read(resource_type.query)
        except (Unsupported, ApiError) as failure:
            reason = explain_unreadable(failure)
            warnings.append(f"cannot check which {resource_type.noun}s are removed with the VM: {reason}")
        else:
            own = [record for record in records if _belongs_to(record, vm["uuid"])]
            objects += [_to_dependent(name, record) for record in own]
            warnings += [warning for record in own for warning in _warn_of_task(record, vm["uuid"])]
    return Dependents(objects, warnings)


def _warn_of_task(task: Record, vm: str) -> Iterator[str]:
    """Yield warnings of what the removal of a CBT task does beside that of its VM; none for other records."""
    if others := [uuid for uuid in list_vms_of_task(task) if uuid != vm]:
        yield f"the CBT task {task.get('name')} is also that of {', '.join(others)}"
    if scratch := list_scratch_volumes(task):
        yield (
            f"the scratch volumes {', '.join(scratch)} of the CBT task {task.get('name')} are left behind, because its"
            " backup session is open. To avoid this, disable the task before the VM is removed"
        )


def _to_dependent(type_name: str, record: Record) -> Dependent:
    return Dependent(str(record["uuid"]), str(record.get("name")), REMOVED, type=type_name)


def _belongs_to(record: Record, vm: str) -> bool:
    """Return whether a snapshot group or a CBT task is one of a VM."""
    return vm in (record.get("vmInstanceUuid"), *list_vms_of_task(record))


VM_DEPENDENTS = Guard(
    _find_vm_dependents,
    option="",
    operations=("DestroyVmInstance", "DeleteDataVolume", "ExpungeDataVolume", "ExpungeVmInstance"),
)
