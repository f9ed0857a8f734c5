"""Data volumes: find them, and plan calls for their life. Section "Data volumes" of the notes on the life cycle."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from .._api.errors import ApiError, InvalidOptions, NotFound, Unchangeable, Unsupported
from .._api.operation import ABSENT
from .._api.records import Record, holds_unknown_reference
from .._api.resource_types import VM, VOLUME
from .._client.client import Client
from .._client.lists import get_by_uuid, require_unique
from .._engine.current import Current
from .._engine.differences import build_not_found, build_unchangeable
from .._engine.drift import find_drift
from .._engine.guards import FORCE, Dependent, Dependents, Guard
from .._engine.plan import build_call, predict_created
from .._engine.spec import PlannedCall, ResourceSpec, Settling
from .chains import chain_plans
from .readings import explain_unreadable, read_by_key
from .root_volumes import build_root_refusal, is_root
from .vm_states import ATTACHING_STATES, CHANGING_STATES, join_states

DETACHED, _DELETED = "detached", "Deleted"

# The values of the status of a volume that change without a call. No such volume is attached, or grows.
CHANGING_STATUSES = ("Creating", "Migrating")
_SETTLED = Settling({"status": CHANGING_STATUSES})

# What the deletion of a volume does to the VM that uses it.
_WITHOUT = "without it"


def find_volume(client: Client, desired: Record) -> Record | None:
    """Read a data volume by its uuid or its name; a deleted one only with ``recover`` or ``expunge``.

    A deleted volume of the name does not prevent that another one is created. Raise Unchangeable for a root volume if
    no data volume is selected, and NotFound for a deleted one that the options can only concern.
    """
    key = "uuid" if "uuid" in desired else "name"
    label = f"the {key} {desired[key]!r}"
    volumes = read_by_key(client, VOLUME, key, desired[key])
    data = [volume for volume in volumes if volume.get("type") in (None, "Data")]
    deleted = [volume for volume in data if not VOLUME.is_usable(volume)]
    if volume := require_unique(list(filter(VOLUME.is_usable, data)), label):
        # A second run must not expunge a volume of the same name that was deleted earlier.
        return require_unique([volume, *deleted], label) if desired.get("expunge") else volume
    if root := next(filter(is_root, volumes), None):
        raise build_root_refusal(root)
    if desired.get("recover") or desired.get("expunge"):
        return require_unique(deleted, label)
    if deleted and (key == "uuid" or not _has_size(desired)):
        remedy = "Set recover: true to recover it."
        raise NotFound(f"the volume {deleted[0].get('uuid')} is deleted", remedy, check_mode_remedy=remedy)
    return None


def _has_size(desired: Record) -> bool:
    offering = desired.get("diskOfferingUuid")
    return desired.get("size") is not None or (offering is not None and not holds_unknown_reference(offering))


def plan_volume(resource: ResourceSpec, state: str, desired: Record, current: Current) -> list[PlannedCall]:
    """Plan the creation of a data volume, its recovery and its changes, or its removal."""
    if state == ABSENT:
        return _plan_removal(resource, desired, current.record) if current.record else []
    if state == DETACHED and "vmInstanceUuid" in desired:
        raise InvalidOptions("vm cannot be used with state detached. Remove vm, or set state: present")
    own = {name: value for name, value in desired.items() if name != "vmInstanceUuid"}
    create, update = partial(_plan_creation, resource, own), partial(_plan_update, resource, own)
    move = partial(_plan_attachment, resource, state, desired)
    return chain_plans(current, create, update, move, partial(_plan_growth, resource, own))


def _plan_creation(resource: ResourceSpec, desired: Record, current: Current) -> list[PlannedCall]:
    """Plan the creation of a volume that does not exist, or the recovery of one that is deleted."""
    volume = current.record
    if volume is None:
        if "uuid" in desired:
            raise build_not_found(resource, desired)
        if not _has_size(desired):
            raise build_not_found(resource, desired, ["size or disk_offering"])
        return [build_call(resource, resource.create, desired, None, predict_created(resource, desired))]
    if volume.get("status") != _DELETED:
        return []
    # The finder returns a deleted volume only with `recover`.
    recovered = {**volume, "status": "Ready", "vmInstanceUuid": None}
    return [build_call(resource, "RecoverDataVolume", {}, volume, recovered)]


def _plan_update(resource: ResourceSpec, desired: Record, current: Current) -> list[PlannedCall]:
    volume = current.record or {}
    changes = find_drift(resource, {name: value for name, value in desired.items() if name != "size"}, volume)
    if fixed := {name: value for name, value in changes.items() if name not in resource.changeable}:
        raise build_unchangeable(resource, fixed, desired, volume)
    return [build_call(resource, resource.update, changes, volume, {**volume, **changes})] if changes else []


def _plan_attachment(resource: ResourceSpec, state: str, desired: Record, current: Current) -> list[PlannedCall]:
    """Plan the call that attaches a volume to the VM of the options, or detaches it from its VM."""
    volume = current.record or {}
    user, vm = volume.get("vmInstanceUuid"), desired.get("vmInstanceUuid")
    if state == DETACHED:
        free = {**volume, "vmInstanceUuid": None, "deviceId": None}
        return [build_call(resource, "DetachDataVolumeFromVm", {}, volume, free)] if user else []
    if vm is None or user == vm:
        return []
    if user:
        raise Unchangeable(
            f"the volume is attached to the VM {user!r}. Set state: detached first: no VM loses a volume in use.",
            {str(user): "vmInstanceUuid"},
        )
    attached = {**volume, "vmInstanceUuid": vm, "status": "Ready"}
    params = {"volumeUuid": volume.get("uuid"), "vmInstanceUuid": vm}
    return [PlannedCall("AttachDataVolumeToVm", params, attached, settling=_SETTLED)]


def _plan_growth(resource: ResourceSpec, desired: Record, current: Current) -> list[PlannedCall]:
    volume = current.record or {}
    size, present = desired.get("size"), volume.get("size")
    if size is None or size == present:
        return []
    if present is not None and size < present:
        raise Unchangeable(
            f"size is {present}, should be {size}, and a volume cannot shrink. Omit size, or give {present}."
        )
    call = build_call(resource, "ResizeDataVolume", {"size": size}, volume, {**volume, "size": size})
    return [call._replace(settling=_SETTLED)]


def _plan_removal(resource: ResourceSpec, desired: Record, volume: Record) -> list[PlannedCall]:
    """Plan the deletion of a volume, and with ``expunge`` its end."""
    steps = [] if volume.get("status") == _DELETED else [resource.delete]
    if desired.get("expunge"):
        steps.append("ExpungeDataVolume")
    deleted = {**volume, "status": _DELETED, "vmInstanceUuid": None}
    expected = [*(deleted for dummy in steps[1:]), None]
    return [
        build_call(resource, operation, {**desired, "uuid": volume["uuid"]}, volume, record)
        for operation, record in zip(steps, expected, strict=False)
    ]


def find_volume_refusal(client: Client, call: PlannedCall, record: Record | None) -> Unchangeable | None:
    """Return the failure with which the service would refuse to attach or detach a volume: its state, or the VM's."""
    vm_uuid = call.params.get("vmInstanceUuid") or (record or {}).get("vmInstanceUuid")
    if call.operation not in ("AttachDataVolumeToVm", "DetachDataVolumeFromVm") or not vm_uuid:
        return None
    state = (record or {}).get("state")
    if call.operation == "AttachDataVolumeToVm" and state not in (None, "Enabled"):
        return Unchangeable(
            f"the volume {(record or {}).get('name')} is {state}, and {call.operation} needs one that is Enabled."
        )
    for vm in get_by_uuid(client, VM.query, vm_uuid):
        if vm.get("state") not in (None, *ATTACHING_STATES, *CHANGING_STATES):
            return Unchangeable(
                f"the VM {vm.get('name')} is {vm['state']}, and {call.operation} needs a VM that is"
                f" {join_states(ATTACHING_STATES)}. Change its state first."
            )
    return None


def _find_user(client: Client, volume: Record, dummy: Any) -> Dependents:
    """Return the VM that would lose a volume, or why it cannot be read."""
    try:
        return Dependents(list(_list_users(client, volume)))
    except (Unsupported, ApiError) as failure:
        reason = explain_unreadable(failure)
        return Dependents(unknown=f"cannot read the VM {volume['vmInstanceUuid']}, which has the volume: {reason}.")


def _list_users(client: Client, volume: Record) -> Iterator[Dependent]:
    uuid = volume.get("vmInstanceUuid")
    for vm in get_by_uuid(client, VM.query, uuid) if uuid else ():
        yield Dependent(str(vm["uuid"]), str(vm.get("name")), _WITHOUT, f"it is {vm.get('state')} and has the volume")


VOLUME_USER = Guard(
    _find_user,
    option=FORCE,
    harmful=(_WITHOUT,),
    members={_WITHOUT: "detached_from"},
    operations=("DeleteDataVolume",),
    remedy=" Set state: detached first.",
)
