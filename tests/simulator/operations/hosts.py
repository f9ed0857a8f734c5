"""Hosts: adding, changes, state changes, and reconnections."""

from __future__ import annotations

import ipaddress
import re

from ..errors import OperationError, invalid_argument, operation_refused
from ..registry import Call, Reply, Steps, operation
from ..state import records as record_builders
from ..state.store import Record, Store
from . import creation
from .host_power import is_reachable, stop_lost_vms
from .vm_power import Evacuation

WRONG_PASSWORD = "wrong-password"
DOTTED_NUMBERS = re.compile(r"[\d.]+")
HOST_NAME = re.compile(r"(?!-)[a-z\d-]{1,63}(?<!-)(\.(?!-)[a-z\d-]{1,63}(?<!-))*", re.IGNORECASE)


@operation("AddKVMHost", timeout_minutes=180)
def add_kvm_host(call: Call) -> Steps:
    """Add a host. It is visible as Connecting until the job ends, and is removed if the operation fails."""
    store = call.store
    cluster = store["cluster"].get(call["clusterUuid"])
    management_ip = _validate_management_ip(store, call["managementIp"])
    identity = {
        "uuid": creation.generate_uuid(call, "host"),
        "name": call["name"],
        "description": call.get("description"),
        "zoneUuid": cluster["zoneUuid"],
        "clusterUuid": cluster["uuid"],
        "managementIp": management_ip,
        "status": "Connecting",
        "username": call["username"],
        "sshPort": call.get("sshPort", 22),
        "_nics": [],
        "_bondings": [],
    }
    host = store["host"].put(record_builders.build_host(identity, store.dates()))
    try:
        yield 0.0
        if call["password"] == WRONG_PASSWORD:
            raise _ssh_error(call)
    except OperationError:
        store["host"].remove(host["uuid"])
        raise
    creation.tag(call, host)
    nics, bondings = _add_interfaces(store, host["uuid"])
    return {
        "inventory": store.change("host", host["uuid"], status="Connected", _nics=nics, _bondings=bondings),
    }


def _validate_management_ip(store: Store, text: str) -> str:
    """Return the management address; raise OperationError if it is malformed or in use."""
    if DOTTED_NUMBERS.fullmatch(text):
        try:
            ipaddress.IPv4Address(text)
        except ValueError:
            raise invalid_argument(f"managementIp[{text}] is not an IPv4 address") from None
    elif not HOST_NAME.fullmatch(text):
        raise invalid_argument(f"managementIp[{text}] is neither an IPv4 address nor a host name")
    if any(host["managementIp"] == text for host in store["host"].all()):
        raise invalid_argument(f"there has been a host having managementIp[{text}]")
    return text


def _ssh_error(call: Call) -> OperationError:
    """Return the error of a failed login. Only its cause has the reason, and repeats the password as servers do."""
    login = f"{call['username']}:{call['password']}@{call['managementIp']}"
    denied = OperationError("SYS.1006", f"failed to log in by ssh {login}: permission denied")
    return OperationError("HOST.1003", "connection error for KVM host", denied)


def _add_interfaces(store: Store, host_uuid: str) -> tuple[list[str], list[str]]:
    """Create the interfaces of a new host; return the uuids of its NICs and of its bond."""
    dates, bonding = store.dates(), store.generate_uuid()
    nics = [
        store["hostnic"].put(record_builders.build_host_nic(host_uuid, store.generate_uuid(), slot, bonding, dates))
        for slot in range(record_builders.NICS_PER_HOST)
    ]
    slaves = [nics[slot] for slot in record_builders.BONDED]
    store["bonding"].put(record_builders.build_bonding(host_uuid, bonding, slaves, dates))
    return [nic["uuid"] for nic in nics], [bonding]


@operation("ChangeHostState")
def change_host_state(call: Call) -> Steps:
    """Enable or disable a host, or put it into maintenance."""
    host = call.store["host"].get(call["uuid"])
    if call["stateEvent"] == "maintain":
        return (yield from _maintain(call, host))
    yield 0.0
    return _enable_or_disable(call, "Enabled" if call["stateEvent"] == "enable" else "Disabled")


def _maintain(call: Call, host: Record) -> Steps:
    """Put a host into maintenance, through PreMaintenance, without its VMs; restore its state if that fails."""
    hosts, uuid = call.store["host"], host["uuid"]
    if host["state"] in ("Maintenance", "PreMaintenance"):
        raise OperationError("SYS.1000", f"host[uuid: {uuid}] in state {host['state']} knows no event maintain")
    if host["status"] != "Connected":
        raise operation_refused(
            f"host[uuid: {uuid}] is {host['status']}; only a connected host can go into maintenance"
        )
    call.store.change("host", uuid, state="PreMaintenance")
    evacuation = Evacuation(call, uuid)
    try:
        try:
            yield evacuation.begin()
            if hosts.get(uuid)["state"] != "PreMaintenance":
                raise operation_refused("another state event came in between")
        except OperationError:
            evacuation.cancel()
            raise
        evacuation.end()
    except OperationError as cause:
        if hosts.get(uuid)["state"] == "PreMaintenance":
            call.store.change("host", uuid, state=host["state"])
        raise OperationError("HOST.1001", f"host[uuid: {uuid}] could not go into maintenance", cause) from None
    return {"inventory": call.store.change("host", uuid, state="Maintenance")}


def _enable_or_disable(call: Call, state: str) -> Reply:
    """Enable or disable a host; a host in maintenance reconnects."""
    store, uuid = call.store, call["uuid"]
    if store["host"].get(uuid)["state"] != "Maintenance":
        return {"inventory": store.change("host", uuid, state=state)}

    def reconnect() -> None:
        if store["host"].get(uuid)["status"] == "Connecting":
            is_reached = is_reachable(store["host"].get(uuid))
            store.change("host", uuid, status="Connected" if is_reached else "Disconnected")
            if is_reached:
                stop_lost_vms(store, uuid)

    call.service.jobs.schedule(call.switches.reconnect, reconnect)
    return {"inventory": store.change("host", uuid, state=state, status="Connecting")}


@operation("ReconnectHost", has_envelope=False)
def reconnect_host(call: Call) -> Steps:
    """Connect to a host; it is Disconnected if that fails."""
    store, uuid = call.store, call["uuid"]
    host = store["host"].get(uuid)
    if host["state"] in ("Maintenance", "PreMaintenance"):
        raise operation_refused(f"host[uuid: {uuid}] is in state {host['state']}")
    store.change("host", uuid, status="Connecting")
    try:
        yield call.switches.reconnect
        if host.get("_hasWrongPassword"):
            denied = operation_refused("failed to log in by ssh: permission denied")
            raise OperationError("HOST.1003", "connection error for KVM host", denied)
        if not is_reachable(store["host"].get(uuid)):
            silent = operation_refused(f"failed to reach {host['managementIp']}: no route to host")
            raise OperationError("HOST.1003", "connection error for KVM host", silent)
    except OperationError:
        if store["host"].find(uuid):
            store.change("host", uuid, status="Disconnected")
        raise
    stop_lost_vms(store, uuid)
    return {"inventory": store.change("host", uuid, status="Connected")}


@operation("UpdateHost", has_envelope=False)
def update_host(call: Call) -> Reply:
    """Change members of a host."""
    host = call.store["host"].get(call["uuid"])
    return {"inventory": call.store.change("host", host["uuid"], **_common_changes(call))}


@operation("UpdateKVMHost", has_envelope=False)
def update_kvm_host(call: Call) -> Reply:
    """Change members and login of a host. The login is not tested before the next reconnection."""
    host = call.store["host"].get(call["uuid"])
    login = call.select("username", "sshPort")
    if "password" in call.params:
        login |= {"_hasWrongPassword": call["password"] == WRONG_PASSWORD}
    return {"inventory": call.store.change("host", host["uuid"], **_common_changes(call), **login)}


def _common_changes(call: Call) -> dict[str, str]:
    """Return the changed members. The address of any host, also of this one, is refused."""
    if "managementIp" in call.params:
        _validate_management_ip(call.store, call["managementIp"])
    return call.select("name", "description", "managementIp")
