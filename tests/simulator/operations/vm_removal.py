"""VMs that are destroyed: for some time they can be recovered, until they are expunged."""

from __future__ import annotations

from ..errors import OperationError, operation_refused, wrong_vm_state
from ..registry import Call, Reply, operation
from ..state.backup_sessions import forget_session, list_vms, lose_checkpoints
from ..state.deletion import find_to_delete, remove_vm
from ..state.store import Record, Store
from .nics import release_addresses
from .volumes import delete_volume, free_volume


@operation("DestroyVmInstance", has_envelope=False)
def destroy_vm(call: Call) -> Reply:
    """Destroy a VM; succeed if it does not exist, is destroyed, or cannot be destroyed."""
    vm = find_to_delete(call.store, "vm", call["uuid"])
    if vm and vm["state"] != "Destroyed" and vm["uuid"] not in call.switches.failing_destructions:
        destroy(call, vm)
    return {}


def destroy(call: Call, vm: Record) -> None:
    """Destroy a VM with its CBT task, whose scratch volumes stay.

    Its data volumes are detached, and other NICs can get its addresses.
    """
    store, uuid = call.store, vm["uuid"]
    for volume in vm["allVolumes"]:
        if volume["uuid"] != vm["rootVolumeUuid"]:
            freed = free_volume(store, volume)
            if call.switches.delete_data_volumes:
                delete_volume(call, freed)
    _forget_backups(store, vm)
    if call.switches.deletion_policy == "Direct":
        remove_vm(store, uuid)
        return
    host = vm["hostUuid"] or vm["lastHostUuid"]
    store.change("vm", uuid, state="Destroyed", hostUuid=None, lastHostUuid=host, vmNics=release_addresses(vm))


def remove_vms_of_zone(store: Store, zone: str) -> None:
    """Remove the VMs of a zone that is deleted, whatever their state. Their volumes stay, attached to no VM."""
    for vm in store["vm"].all():
        if vm["zoneUuid"] == zone:
            for volume in vm["allVolumes"]:
                free_volume(store, volume)
            _forget_backups(store, vm)
            remove_vm(store, vm["uuid"])


def _forget_backups(store: Store, vm: Record) -> None:
    """Remove the checkpoints and the CBT task of a VM, whose scratch volumes stay."""
    lose_checkpoints(store, vm)
    for task in store["cbttask"].remove_where(lambda task: vm["uuid"] in list_vms(task)):
        forget_session(store, task)


def _get_destroyed(call: Call, action: str) -> Record:
    """Return a destroyed VM; raise OperationError for a VM in another state."""
    vm = call.store["vm"].get(call["uuid"])
    if vm["state"] != "Destroyed":
        cause: OperationError = wrong_vm_state(vm["uuid"], vm["state"], action)
        raise operation_refused(f"cannot {action} vm[uuid: {vm['uuid']}]", cause)
    return vm


@operation("ExpungeVmInstance", timeout_minutes=180, has_envelope=False)
def expunge_vm(call: Call) -> Reply:
    """Remove a destroyed VM for good."""
    remove_vm(call.store, _get_destroyed(call, "expunge")["uuid"])
    return {}


@operation("RecoverVmInstance", has_envelope=False)
def recover_vm(call: Call) -> Reply:
    """Make a destroyed VM a stopped one, without data volumes. Its NICs get addresses when it starts."""
    return {"inventory": call.store.change("vm", _get_destroyed(call, "recover")["uuid"], state="Stopped")}
