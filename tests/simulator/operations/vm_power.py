"""VMs on hosts: start, stop, pause, migrate, and the evacuation of a host that goes into maintenance."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ..errors import OperationError, invalid_argument, operation_refused, wrong_vm_state
from ..registry import Call, Reply, Steps, operation
from ..state.backup_sessions import lose_checkpoints
from ..state.store import Record, Store
from .nics import restore_addresses
from .vm_settings import find_ha_level

STARTABLE = ("Created", "Stopped", "Crashed")
STOPPABLE = ("Running", "Paused", "Unknown", "NoState", "Crashed")
MIGRATABLE = ("Running", "Paused", "Unknown")
REBOOTABLE = ("Running", "NoState", "Crashed")

# What a maintenance neither moves nor stops: what is not known, and what another call is changing.
UNEVACUATED = ("Destroyed", "Unknown", "Starting", "Stopping", "Rebooting", "Pausing", "Resuming", "Migrating")


def _require_state(vm: Record, states: tuple[str, ...], action: str) -> None:
    if vm["state"] not in states:
        raise wrong_vm_state(vm["uuid"], vm["state"], action)


@contextmanager
def _show(call: Call, state: str, origins: tuple[str, ...]) -> Iterator[Callable[[], Record]]:
    """Show a VM in a state from the start of a call to its end, and as before if the call fails.

    It yields what returns the VM as it was before the call. A service executes the calls for a VM one after the other,
    so the VM before a call may be the VM after another call that has not ended at the start.
    """
    store, vm = call.store, call.store["vm"].get(call["uuid"])
    is_shown = call.switches.early_states and vm["state"] in origins
    if is_shown:
        store.change("vm", vm["uuid"], state=state)
    try:
        yield lambda: Record("vm", {**store["vm"].get(vm["uuid"]), **({"state": vm["state"]} if is_shown else {})})
    except OperationError:
        if is_shown and store["vm"].get(vm["uuid"])["state"] == state:
            store.change("vm", vm["uuid"], state=vm["state"])
        raise


def lies_on_local_storage(store: Store, vm: Record) -> bool:
    """Return whether the root volume of a VM lies on the disks of its host."""
    root = next((volume for volume in vm["allVolumes"] if volume["uuid"] == vm["rootVolumeUuid"]), None)
    storage = store["primarystorage"].find(root["primaryStorageUuid"]) if root else None
    return bool(storage and storage["type"] == "LocalStorage")


def _usable_hosts(store: Store, cluster: str) -> list[Record]:
    return [
        host
        for host in store["host"].all()
        if host["clusterUuid"] == cluster and host["state"] == "Enabled" and host["status"] == "Connected"
    ]


def _target_hosts(store: Store, vm: Record) -> list[Record]:
    """Return the other usable hosts of the cluster of a VM."""
    return [host for host in _usable_hosts(store, vm["clusterUuid"]) if host["uuid"] != vm["hostUuid"]]


@operation("GetVmMigrationCandidateHosts")
def get_migration_target_hosts(call: Call) -> Reply:
    """List the hosts to which a running or paused VM can migrate. Where its volumes lie is not considered."""
    vm = call.store["vm"].get(call["vmInstanceUuid"])
    _require_state(vm, ("Running", "Paused"), "migrate")
    return {"inventories": _target_hosts(call.store, vm)}


@operation("StartVmInstance", has_envelope=False)
def start_vm(call: Call) -> Steps:
    """Start a VM; a running one is a success. A VM on local storage can start only on the host with its disks."""
    with _show(call, "Starting", STARTABLE) as read:
        yield 0.0
        vm = read()
        if vm["state"] == "Running":
            return {"inventory": vm}
        _require_state(vm, STARTABLE, "start")
        return {"inventory": _start(call, vm)}


def _start(call: Call, vm: Record) -> Record:
    store = call.store
    hosts = _usable_hosts(store, call.get("clusterUuid", vm["clusterUuid"]))
    if "hostUuid" in call.params:
        requested = store["host"].get(call["hostUuid"])
        hosts = [host for host in _usable_hosts(store, requested["clusterUuid"]) if host["uuid"] == requested["uuid"]]
    # A VM that has never run has its disks on a host that no record shows.
    if vm["lastHostUuid"] and lies_on_local_storage(store, vm):
        hosts = [host for host in hosts if host["uuid"] == vm["lastHostUuid"]]
    if not hosts:
        raise OperationError("SYS.1006", f"cannot start vm[uuid: {vm['uuid']}]", operation_refused("no available host"))
    host = next((host for host in hosts if host["uuid"] == vm["lastHostUuid"]), hosts[0])
    place = {"hostUuid": host["uuid"], "lastHostUuid": host["uuid"], "clusterUuid": host["clusterUuid"]}
    restore_addresses(store, vm)
    return store.change("vm", vm["uuid"], state="Running", **place)


@operation("StopVmInstance", has_envelope=False)
def stop_vm(call: Call) -> Steps:
    """Stop a VM; a stopped one is a success."""
    with _show(call, "Stopping", STOPPABLE) as read:
        yield 0.0
        vm = read()
        if vm["state"] == "Stopped":
            return {"inventory": vm}
        _require_state(vm, STOPPABLE, "stop")
        stopped = stop(call, vm)
    if find_ha_level(call.switches, vm) == "NeverStop" and call.get("stopHA") != "true":
        call.service.jobs.schedule(call.switches.boot, lambda: _start_again(call.store, vm))
    return {"inventory": stopped}


def _start_again(store: Store, vm: Record) -> None:
    """Start a VM of the HA level NeverStop, unless somebody has started or removed it."""
    stopped = store["vm"].find(vm["uuid"])
    if stopped and stopped["state"] == "Stopped":
        store.change("vm", vm["uuid"], state="Running", hostUuid=vm["hostUuid"])


def stop(call: Call, vm: Record) -> Record:
    """Stop a VM; raise OperationError if it is one of those that cannot be stopped."""
    if vm["uuid"] in call.switches.failing_stops:
        raise operation_refused(f"vm[uuid: {vm['uuid']}] cannot be stopped: its host does not answer")
    return _stop(call.store, vm)


@operation("RebootVmInstance", has_envelope=False)
def reboot_vm(call: Call) -> Steps:
    """Restart the guest of a VM; one that has crashed, and has no host, starts on one."""
    with _show(call, "Rebooting", REBOOTABLE) as read:
        yield 0.0
        vm = read()
        _require_state(vm, REBOOTABLE, "reboot")
        if not vm["hostUuid"]:
            _start(call, vm)
        lose_checkpoints(call.store, vm)
        return {"inventory": call.store.change("vm", vm["uuid"], state="Running", _reboots=vm.get("_reboots", 0) + 1)}


@operation("PauseVmInstance", has_envelope=False)
def pause_vm(call: Call) -> Steps:
    """Pause a running VM."""
    with _show(call, "Pausing", ("Running",)) as read:
        yield 0.0
        vm = read()
        _require_state(vm, ("Running",), "pause")
        return {"inventory": call.store.change("vm", vm["uuid"], state="Paused")}


@operation("ResumeVmInstance", has_envelope=False)
def resume_vm(call: Call) -> Steps:
    """Resume a paused VM."""
    with _show(call, "Resuming", ("Paused",)) as read:
        yield 0.0
        vm = read()
        _require_state(vm, ("Paused",), "resume")
        return {"inventory": call.store.change("vm", vm["uuid"], state="Running")}


@operation("MigrateVm", timeout_minutes=60, has_envelope=False)
def migrate_vm(call: Call) -> Steps:
    """Migrate a VM to a host, or to any other one. A paused VM stays paused, and one of unknown state then runs."""
    store, vm = call.store, call.store["vm"].get(call["uuid"])
    if vm["state"] not in MIGRATABLE:
        cause = wrong_vm_state(vm["uuid"], vm["state"], "migrate")
        raise OperationError("VM.1008", f"cannot migrate vm[uuid: {vm['uuid']}]", cause)
    if vm["hostUuid"] == call.get("hostUuid"):
        raise invalid_argument(f"vm[uuid: {vm['uuid']}] is already on host[uuid: {vm['hostUuid']}]")
    if lies_on_local_storage(store, vm):
        raise operation_refused(f"vm[uuid: {vm['uuid']}] has its root volume on local storage")
    target = _target(call, vm, call.get("hostUuid"))
    store.change("vm", vm["uuid"], state="Migrating")
    try:
        yield call.switches.migration
    except OperationError:
        store.change("vm", vm["uuid"], state=vm["state"])
        raise
    return {"inventory": _move(store, vm, target)}


def _target(call: Call, vm: Record, requested: str | None = None) -> Record:
    """Return the host to which a VM migrates; raise OperationError when there is none."""
    targets = [host for host in _target_hosts(call.store, vm) if requested in (None, host["uuid"])]
    if not targets or vm["uuid"] in call.switches.failing_migrations:
        reason = "the migration broke off" if targets else "no host can take it"
        raise operation_refused(f"vm[uuid: {vm['uuid']}] cannot migrate: {reason}")
    others = [host for host in _target_hosts(call.store, vm) if host["uuid"] != requested]
    return others[0] if others and vm["uuid"] in call.switches.straying_migrations else targets[0]


def _move(store: Store, vm: Record, host: Record) -> Record:
    state = "Paused" if vm["state"] == "Paused" else "Running"
    return store.change("vm", vm["uuid"], state=state, hostUuid=host["uuid"], lastHostUuid=vm["hostUuid"])


def _stop(store: Store, vm: Record) -> Record:
    lose_checkpoints(store, vm)
    return store.change("vm", vm["uuid"], state="Stopped", hostUuid=None, lastHostUuid=vm["hostUuid"])


@dataclass
class Evacuation:
    """The VMs that run on a host that goes into maintenance. Nothing starts them again afterwards.

    VMs on local storage are stopped. The others migrate, or if they cannot, are treated as the policy says.
    """

    call: Call
    host_uuid: str

    def begin(self) -> float:
        """Start the evacuation and return how many seconds it takes."""
        store = self.call.store
        moved = [vm for vm in store["vm"].all() if vm["state"] not in UNEVACUATED]
        self.vms = [vm for vm in moved if vm["hostUuid"] == self.host_uuid]
        self.local = {vm["uuid"] for vm in self.vms if lies_on_local_storage(store, vm)}
        for vm in self.vms:
            store.change("vm", vm["uuid"], state="Stopping" if vm["uuid"] in self.local else "Migrating")
        return self.call.switches.migration * (len(self.vms) - len(self.local))

    def cancel(self) -> None:
        """Leave all VMs as they were."""
        for vm in self._list_untouched():
            self.call.store.change("vm", vm["uuid"], state=vm["state"])

    def _list_untouched(self) -> list[Record]:
        """Return the VMs that nothing else has changed since the start."""
        states = {vm["uuid"]: vm["state"] for vm in self.call.store["vm"].all()}
        return [vm for vm in self.vms if states.get(vm["uuid"]) in ("Stopping", "Migrating")]

    def end(self) -> None:
        """Stop and migrate the VMs. Raise OperationError when one cannot migrate and the policy does not stop it."""
        store = self.call.store
        failures = []
        for vm in self._list_untouched():
            try:
                if vm["uuid"] in self.local:
                    _stop(store, vm)
                else:
                    _move(store, vm, _target(self.call, vm))
            except OperationError as failure:
                if self.call.switches.maintenance_policy == "StopVmOnMigrationFailure":
                    _stop(store, vm)
                else:
                    store.change("vm", vm["uuid"], state=vm["state"])
                    failures.append(failure)
        if failures:
            raise OperationError("SYS.1090", "some vms cannot migrate", *failures)
