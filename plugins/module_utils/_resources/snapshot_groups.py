"""Snapshot groups: plan their changes, and find what a revert or a removal does to other objects."""

from __future__ import annotations

import datetime

from .._api.errors import InvalidOptions, NotFound, Unsupported, VirtinfraError, join_first
from .._api.records import NullReference, PredictedReference, Record, parse_timestamp
from .._api.references import is_name
from .._api.resource_types import VM
from .._client.client import Client
from .._client.lists import find_by_attribute, get_by_uuid, require_unique
from .._engine.current import Current
from .._engine.guards import LOST, MAX_LISTED, Dependent, Dependents, Guard
from .._engine.plan import build_call, build_default_plan
from .._engine.refusals import build_unknown
from .._engine.spec import PlannedCall, ResourceSpec
from .finders import describe_state, find_by_type

_GROUPS = "QueryVolumeSnapshotGroup"

# Why neither a revert nor the removal of a chain is possible, if the service cannot list snapshot groups.
_HIDDEN_VM = f"{_GROUPS} does not show the VM of the snapshot group"

# The scope of a deletion that removes no other snapshot group.
SINGLE = "single"

# The state of a VM whose volumes are set back to a snapshot group, and the operation that does it.
REVERTED, _REVERT = "reverted", "RevertVmFromSnapshotGroup"

# What a revert does to the VM, and to its later snapshot groups.
_OVERWRITTEN, _SUPERSEDED = "overwritten", "superseded"

# The states of a VM that has a memory.
_WITH_MEMORY = ("Running", "Paused")


def find_snapshot_group(client: Client, desired: Record) -> Record | None:
    """Read a snapshot group: by its uuid, else by its VM and its name, which several groups may have."""
    uuids = filter(None, [desired.get("uuid") or desired.get("resourceUuid")])
    for uuid in uuids:
        if groups := get_by_uuid(client, _GROUPS, uuid):
            return groups[0]
    vm, name = desired.get("vmInstanceUuid"), desired.get("name")
    if desired.get("uuid") or not (vm and name) or is_name(vm):
        # The name of a VM that does not exist, so it has no snapshot groups.
        return None
    groups = [group for group in find_by_attribute(client, _GROUPS, "vmInstanceUuid", vm) if group.get("name") == name]
    return require_unique(groups, f"the name {name!r} among the snapshot groups of this VM")


def read_root_volume(client: Client, desired: Record) -> Record:
    """Return the root volume of the VM, by which the service finds all volumes to take snapshots of.

    Raise NotFound if the VM does not exist, and InvalidOptions if it has no memory of which a snapshot can be taken.
    """
    vm_uuid = desired.get("vmInstanceUuid")
    if isinstance(vm_uuid, PredictedReference):
        return {"rootVolumeUuid": PredictedReference("vm")}
    if vm_uuid is None or isinstance(vm_uuid, NullReference):
        return {"rootVolumeUuid": NullReference("vm")}
    vm = _read_vm(client, vm_uuid)
    if desired.get("withMemory") and vm.get("state") not in _WITH_MEMORY:
        raise InvalidOptions(
            f"a snapshot of the memory needs a running or paused VM, and {vm.get('name')} is {vm.get('state')}. Start"
            " the VM, or omit with_memory"
        )
    return {"rootVolumeUuid": vm["rootVolumeUuid"]}


def _read_vm(client: Client, uuid: str) -> Record:
    """Return a VM; raise NotFound if it does not exist."""
    vm = find_by_type("vm", "uuid")(client, {"uuid": uuid})
    if vm is None:
        raise build_unknown(client, VM, uuid, "vm")
    if not vm.get("rootVolumeUuid"):
        raise NotFound(f"no VM with uuid {uuid!r} and a root volume", "Check vm.")
    return vm


def find_failed_snapshots(reply: Record) -> str | None:
    """Return which snapshots of a group an operation has left as they were, and why; None if there are none."""
    results = [result for result in reply.get("results") or () if isinstance(result, dict)]
    failed = [result for result in results if result.get("error")]
    if not failed:
        return None
    texts = [
        f"snapshot {result.get('snapshotUuid')} of volume {result.get('volumeUuid')}: {_describe(result['error'])}"
        for result in failed
    ]
    return (
        f"{len(failed)} of {len(results)} snapshots failed: {join_first(texts, MAX_LISTED, '; ')}. Correct the cause,"
        " and run the task again."
    )


def _describe(error: object) -> str:
    """Return the code and the details of an ErrorCode."""
    if not isinstance(error, dict):
        return str(error)
    return " ".join(str(error[name]) for name in ("code", "details") if error.get(name)) or str(error)


def find_later_groups(client: Client, group: Record, scope: object) -> Dependents:
    """Return the later snapshot groups of the VM. Unless ``scope`` is single, later groups may be lost with this one.

    A group whose date is the same or unknown counts as later. Raise Unsupported if the service cannot list the groups.
    """
    effect = "" if scope == SINGLE else LOST
    if group.get("vmInstanceUuid") is None:
        if effect:
            raise Unsupported(f"{_HIDDEN_VM}, so its later snapshot groups are not known", "Use scope: single.")
        return Dependents()
    taken = parse_timestamp(group.get("createDate"))
    later = [
        other
        for other in find_by_attribute(client, _GROUPS, "vmInstanceUuid", group["vmInstanceUuid"])
        if other.get("uuid") != group["uuid"] and not _is_before(parse_timestamp(other.get("createDate")), taken)
    ]
    return Dependents(
        [Dependent(str(other["uuid"]), str(other.get("name")), effect, type="snapshot_group") for other in later]
    )


def _review_later_groups(client: Client, group: Record, before: Dependents) -> list[Dependent]:
    """Return the later snapshot groups. Servers without the parameter scope have removed them too: these are lost."""
    groups = find_by_attribute(client, _GROUPS, "vmInstanceUuid", group["vmInstanceUuid"])
    existing = {str(other.get("uuid")) for other in groups}
    return [other._replace(effect="" if other.uuid in existing else LOST) for other in before.objects]


LATER_GROUPS = Guard(find_later_groups, review=_review_later_groups, depends_on="scope")


def plan_snapshot_group(resource: ResourceSpec, state: str, desired: Record, current: Current) -> list[PlannedCall]:
    """Plan the change of a snapshot group, or the revert of its VM, which no record shows."""
    if state != REVERTED:
        return build_default_plan(resource, state, desired, current)
    if current.record is None:
        if "uuid" in desired:
            raise NotFound(f"no snapshot group with uuid {desired['uuid']!r}", "Check the uuid.")
        vm, name = desired.get("vmInstanceUuid"), desired.get("name")
        raise NotFound(f"the VM {vm} has no snapshot group with name {name!r}", "Check the name and the VM.")
    return [build_call(resource, _REVERT, desired, current.record, current.record)._replace(is_visible=False)]


def find_overwritten(client: Client, group: Record, with_memory: object) -> Dependents:
    """Return the VM that a revert to a snapshot group overwrites, and its later snapshot groups.

    Raise InvalidOptions if the VM is in a state that prevents the revert, and VirtinfraError if the service says that
    the revert is impossible.
    """
    if group.get("vmInstanceUuid") is None:
        raise Unsupported(f"{_HIDDEN_VM}, so what would be lost is not known")
    vm = _read_vm(client, group["vmInstanceUuid"])
    if with_memory and vm.get("state") not in _WITH_MEMORY:
        raise InvalidOptions(
            f"a revert of the memory needs a running or paused VM, and {describe_state(vm)}. Start it, or"
            " omit with_memory"
        )
    if not with_memory and vm.get("state") != "Stopped":
        raise InvalidOptions(
            f"a revert needs a stopped VM, and {describe_state(vm)}. Stop it first, for example with the module vm; if"
            " the snapshot group includes the memory, set with_memory: true"
        )
    _require_available(client, group)
    taken = f"what was written since {group.get('createDate')} is lost"
    later = find_later_groups(client, group, SINGLE).objects
    return Dependents(
        [
            Dependent(str(vm["uuid"]), str(vm.get("name")), _OVERWRITTEN, taken),
            *(other._replace(effect=_SUPERSEDED, reason="taken later") for other in later),
        ]
    )


def _require_available(client: Client, group: Record) -> None:
    """Raise VirtinfraError if the service says that a VM cannot be set back to a snapshot group."""
    try:
        reply = client.get("CheckVolumeSnapshotGroupAvailability", {"uuids": [group["uuid"]]})
    except Unsupported:
        # The service refuses the revert itself.
        return
    for result in reply.get("results") or ():
        if isinstance(result, dict) and result.get("uuid") == group["uuid"] and result.get("available") is False:
            raise VirtinfraError(
                f"the service cannot revert the VM: {result.get('reason')}. Choose another snapshot group."
            )


REVERTED_VM = Guard(
    find_overwritten,
    harmful=(_OVERWRITTEN, _SUPERSEDED),
    members={_OVERWRITTEN: "overwritten_vms", _SUPERSEDED: "later_groups"},
    operations=(_REVERT,),
    depends_on="with_memory",
)


def _is_before(date: datetime.datetime | None, other: datetime.datetime | None) -> bool:
    """Return whether a date is known to be before another one."""
    return date is not None and other is not None and date < other
