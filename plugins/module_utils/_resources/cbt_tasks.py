"""CBT tasks, which are found by their VMs: plan their changes, and find what follows them.

Section "CBT tasks".
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from .._api.errors import ApiError, InvalidOptions, Unchangeable, Unsupported
from .._api.operation import ABSENT
from .._api.records import NullReference, Record, holds_null_reference
from .._api.resource_types import VM, VOLUME
from .._client.client import Client
from .._client.lists import get_by_uuid, list_all, query, require_unique
from .._engine.current import Current
from .._engine.differences import build_not_found
from .._engine.guards import Dependent, Dependents, Guard
from .._engine.plan import build_default_plan
from .._engine.refusals import build_unknown
from .._engine.spec import PlannedCall, ResourceSpec
from .cbt_references import list_scratch_volumes, list_vms_of_task, select_references
from .finders import describe_state, find_by_query, find_by_type

# What the deletion of a CBT task does to its scratch volumes, if the backup session is not ended before.
_LEFT_BEHIND = "left behind"


def add_resources(task: Record) -> Record:
    """Return a task with ``resourceUuids`` and ``vmInstanceUuid``, the first of them, if ``resourceRefs`` has VMs.

    Its ``resourceRefs`` are then those to VMs: nobody can predict the scratch volumes of a session, which are apart in
    ``scratchVolumes``.
    """
    vms, references = list_vms_of_task(task), select_references(task, (None, "VmInstanceVO"))
    if not vms:
        return task
    found = {"resourceUuids": vms, "vmInstanceUuid": vms[0], "scratchVolumes": list_scratch_volumes(task)}
    return {**task, "resourceRefs": references, **found}


def separate_scratch_volumes(task: Record | None) -> Record:
    """Return a CBT task and its scratch volumes as two members of the result."""
    fields = {name: value for name, value in (task or {}).items() if name != "scratchVolumes"}
    return {"cbt_task": fields if task else None, "scratch_volumes": task.get("scratchVolumes") if task else []}


def is_of_vm(task: Record, vm_uuid: str) -> bool:
    """Return whether a task is one of a VM; raise Unsupported if the record does not show the VMs.

    ``task`` is what `add_resources` returns.
    """
    if task.get("resourceRefs") is None:
        raise Unsupported(
            f"the service does not show the VMs of the CBT task {task.get('uuid')}, so tasks cannot be selected by vm,"
            " only by name or uuid"
        )
    return vm_uuid in task.get("resourceUuids", [])


def add_all_resources(task: Record) -> Record:
    """Return a task with the uuids of its VMs and of its scratch volumes, None if the service does not show them."""
    return {"vmInstanceUuid": None, "resourceUuids": None, "scratchVolumes": None, **add_resources(task)}


def find_cbt_task(client: Client, desired: Record) -> Record | None:
    """Read a CBT task by its uuid, its name, or one of its VMs.

    Raise Unsupported when no task of the VM is found, but some tasks do not show their VMs.
    """
    task = find_by_query("QueryCbtTask", "uuid", "name", view=add_resources)(client, desired)
    vm = desired.get("vmInstanceUuid")
    if vm and not (task or desired.get("uuid") or desired.get("name")):
        task = _find_task_of_vm(client, vm)
    if task and vm in task.get("resourceUuids", ()):
        return {**task, "vmInstanceUuid": vm}
    return task


def _find_task_of_vm(client: Client, vm: str) -> Record | None:
    tasks = [add_resources(task) for task in list_all(client, "QueryCbtTask")]
    if task := require_unique([task for task in tasks if vm in task.get("resourceUuids", ())], f"the vm {vm!r}"):
        return task
    return next((task for task in tasks if is_of_vm(task, vm)), None)


def find_cbt_refusal(client: Client, call: PlannedCall, record: Record | None) -> Unchangeable | None:
    """Return the failure with which the service would refuse a call for a CBT task.

    Section "Operations": a VM has one task, whose session needs a running VM.
    """
    if call.operation == "CreateCbtTask":
        return _find_other_task(client, {call.params.get("vmInstanceUuid"), *call.params.get("resourceUuids", ())})
    vms = (record or {}).get("resourceUuids") or ()
    if call.operation == "EnableCbtTask":
        return _find_vm_in_state(client, vms, "enable", ("Running", "Starting"))
    if call.operation == "DisableCbtTask":
        # Servers find no process of the VM on its host.
        return _find_vm_in_state(client, vms, "disable", refused=("Stopped", "Crashed", "Created"))
    return None


def _find_other_task(client: Client, vms: set[str | None]) -> Unchangeable | None:
    """Return the failure that one of the VMs has a task."""
    for task in map(add_resources, list_all(client, "QueryCbtTask")):
        if taken := vms.intersection(task.get("resourceUuids", ())):
            return Unchangeable(
                f"the VM {min(filter(None, taken))} has the CBT task {task.get('name')!r} ({task.get('uuid')}), and"
                " a VM has one task. To use that task, omit name and give vm."
            )
    return None


def _find_vm_in_state(
    client: Client, vms: Sequence[str], verb: str, accepted: Sequence[str] = (), refused: Sequence[str] = ()
) -> Unchangeable | None:
    """Return the failure that a VM of a task is in a refused state, or not in one of the accepted ones."""
    for uuid in (uuid for uuid in vms if not isinstance(uuid, NullReference)):
        for vm in get_by_uuid(client, VM.query, uuid):
            state = vm.get("state")
            if state in refused or (accepted and state and state not in accepted):
                return Unchangeable(
                    f"the service can {verb} a CBT task only while its VM runs, and {describe_state(vm)}. Start the VM"
                    " first, for example with the module vm."
                )
    return None


def require_exportable_volumes(client: Client, params: Record) -> None:
    """Raise an error if the service would refuse to export volumes of a VM, or if they belong to another one.

    Servers export volumes of a VM that runs, writable, if another VM is given. Objects that the service cannot show are
    not checked.
    """
    vm_uuid, uuids = params["vmInstanceUuid"], params["volumeUuids"]
    if isinstance(vm_uuid, NullReference) or isinstance(uuids, NullReference):
        return
    with suppress(Unsupported):
        vm = find_by_type("vm", "uuid")(client, {"uuid": vm_uuid})
        if vm is None:
            raise build_unknown(client, VM, vm_uuid, "vm")
        if vm.get("state") == "Running":
            raise Unchangeable(f"an export needs a VM that does not run, and {describe_state(vm)}. Stop it first.")
        attached = {volume.get("uuid") for volume in vm.get("allVolumes") or ()}
        _require_free_volumes(client, [uuid for uuid in uuids if uuid not in attached])


def _require_free_volumes(client: Client, uuids: Sequence[str]) -> None:
    """Raise NotFound for a volume that does not exist, and Unchangeable for one of a VM."""
    for uuid in (uuid for uuid in uuids if not isinstance(uuid, NullReference)):
        volume = find_by_type("volume", "uuid")(client, {"uuid": uuid})
        if volume is None:
            raise build_unknown(client, VOLUME, uuid, "volumes")
        if owner := volume.get("vmInstanceUuid"):
            raise Unchangeable(
                f"the volume {volume.get('name')} ({uuid}) belongs to another VM, {owner}. It may run while the"
                f" export is writable. Set vm to {owner}."
            )


def plan_cbt_task(resource: ResourceSpec, state: str, desired: Record, current: Current) -> list[PlannedCall]:
    """Plan the change of a task. Warn when a task that one VM selects is stopped or deleted for other VMs too.

    Raise InvalidOptions if ``vm`` and ``vms`` contradict each other, and NotFound if a new task has neither its VM nor
    its type.
    """
    _require_same_vms(desired, current)
    is_new = current.record is None and state != ABSENT and "uuid" not in desired
    if is_new and "resourceUuids" in desired and desired.keys().isdisjoint(("taskType", "vmInstanceUuid")):
        # No document has the values of taskType.
        raise build_not_found(resource, desired, ["vm in place of vms"])
    steps = build_default_plan(resource, state, desired, current)
    if current.record is None:
        return [step.expect(_predict_vms(desired)) for step in steps]
    # A session ends without scratch volumes; which ones another begins with is not known.
    volumes: dict[str, Record] = {"EnableCbtTask": {"scratchVolumes": None}, "DisableCbtTask": {"scratchVolumes": []}}
    steps = [step.expect(volumes.get(step.operation, {})) for step in steps]
    others = [uuid for uuid in (current.record or {}).get("resourceUuids", ()) if uuid != desired.get("vmInstanceUuid")]
    if not others or state in ("present", "enabled") or not desired.keys().isdisjoint(("uuid", "name")):
        return steps
    return [step._replace(warning=f"the task is also that of {', '.join(others)}") for step in steps]


def _require_same_vms(desired: Record, current: Current) -> None:
    """Raise InvalidOptions if the VM is none of the VMs, or not the only one of a new task.

    Servers that know the VM ignore the list.
    """
    vm, vms = desired.get("vmInstanceUuid"), desired.get("resourceUuids")
    if vm is None or vms is None or holds_null_reference(vm) or holds_null_reference(vms):
        return
    if vm not in vms:
        raise InvalidOptions(f"vm {vm!r} is not one of vms. Omit one of the two options")
    if current.record is None and set(vms) != {vm}:
        raise InvalidOptions("vm is the only VM of a new task, and vms has others. Omit one of the two options")


def _predict_vms(desired: Record) -> Record:
    """Return the members with the VMs of a new task."""
    first = [desired["vmInstanceUuid"]] if "vmInstanceUuid" in desired else []
    vms = first or desired.get("resourceUuids", [])
    return {"resourceUuids": vms, "vmInstanceUuid": vms[0]} if vms else {}


def find_left_volumes(client: Client, task: Record, dummy: object) -> Dependents:
    """Return the scratch volumes that the deletion of a CBT task leaves behind as ordinary data volumes.

    The service ends the backup session first, which removes them, if the task and its VMs run.
    """
    uuids = task.get("scratchVolumes") or ()
    if not uuids or (task.get("status") == "Running" and all(map(partial(_runs, client), task["resourceUuids"]))):
        return Dependents()
    volumes: list[Record] = []
    with suppress(Unsupported, ApiError):
        volumes = query(client, VOLUME.query, [f"uuid?={','.join(uuids)}"])
    names = {str(volume.get("uuid")): str(volume.get("name")) for volume in volumes}
    return Dependents([Dependent(uuid, names.get(uuid, uuid), _LEFT_BEHIND, type="volume") for uuid in uuids])


def _runs(client: Client, vm: str) -> bool:
    """Return whether a VM is known to run."""
    with suppress(Unsupported, ApiError):
        return [each.get("state") for each in get_by_uuid(client, VM.query, vm)] == ["Running"]
    return False


# Servers delete the task alone, and nothing removes the scratch volumes later.
LEFT_VOLUMES = Guard(
    find_left_volumes,
    harmful=(_LEFT_BEHIND,),
    members={_LEFT_BEHIND: "remaining_volumes"},
    remedy=" Their backup session is open: start the VM, and set state: disabled, which removes them.",
)
