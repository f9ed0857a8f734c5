"""The deletion of a host, and what it does to VMs and volumes."""

from __future__ import annotations

from ..errors import OperationError
from ..registry import Call, Steps, operation
from ..state.deletion import find_to_delete
from ..state.store import Record
from .vm_power import lies_on_local_storage, stop
from .vm_removal import destroy


@operation("DeleteHost", has_envelope=False)
def delete_host(call: Call) -> Steps:
    """Delete a host; succeed if it does not exist. It is disabled first, and stays so if the deletion fails."""
    store, uuid = call.store, call["uuid"]
    host = find_to_delete(store, "host", uuid)
    if host and host["state"] == "Enabled":
        store.change("host", uuid, state="Disabled")
    yield 0.0
    if store["host"].find(uuid):
        remove_host(call, uuid)
    return {}


def remove_host(call: Call, uuid: str) -> None:
    """Remove a host with its interfaces. Its VMs are stopped; those whose root volume lies on it are destroyed."""
    store = call.store
    _stop_vms(call, uuid)
    _drop_local_volumes(call, uuid)
    store["host"].remove(uuid)
    nics = {nic["uuid"] for nic in store["hostnic"].all() if nic["hostUuid"] == uuid}
    for interface, vlan in [pair for pair in store.services if pair[0] in nics]:
        store.services.pop((interface, vlan))
    for kind in ("hostnic", "bonding"):
        store[kind].remove_where(lambda record: bool(record["hostUuid"] == uuid))


def _stop_vms(call: Call, host: str) -> None:
    """Stop the VMs on a host. If one cannot be stopped, fail or, with Enforcing, go on."""
    for vm in call.store["vm"].all():
        if vm["hostUuid"] == host:
            try:
                stop(call, vm)
            except OperationError as cause:
                if call.get("deleteMode") != "Enforcing":
                    raise OperationError("SYS.1004", f"cannot delete host[uuid: {host}]", cause) from None
                call.store.change("vm", vm["uuid"], state="Unknown", hostUuid=None, lastHostUuid=host)


def _drop_local_volumes(call: Call, host: str) -> None:
    """Destroy the VMs whose root volume lies on the host, and remove the data volumes that do."""
    store = call.store
    for vm in store["vm"].all():
        if (vm["hostUuid"] or vm["lastHostUuid"]) == host:
            volumes = [v for v in vm["allVolumes"] if v["uuid"] == vm["rootVolumeUuid"] or not _is_local(call, v)]
            vm = store["vm"].change(vm["uuid"], allVolumes=volumes)
            if lies_on_local_storage(store, vm) and vm["state"] != "Destroyed":
                destroy(call, vm)
    for vm in store["vm"].all():
        if vm["lastHostUuid"] == host:
            store["vm"].change(vm["uuid"], lastHostUuid=None)
    store["volume"].remove_where(lambda volume: volume.get("_hostUuid") == host and _is_local(call, volume))


def _is_local(call: Call, volume: Record) -> bool:
    storage = call.store["primarystorage"].find(volume["primaryStorageUuid"])
    return bool(storage and storage["type"] == "LocalStorage")
