# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Hosts: adding them, and the states that they go through."""

from __future__ import annotations

import ipaddress
import re

from .. import records
from ..errors import Failure, bad_argument, refused
from ..params import PORTS, optional, required
from ..registry import Call, Reply, Steps, operation
from ..store import Record, Store
from . import creation

WRONG_PASSWORD = "wrong-password"
DOTTED_NUMBERS = re.compile(r"[\d.]+")
HOST_NAME = re.compile(r"(?!-)[a-z\d-]{1,63}(?<!-)(\.(?!-)[a-z\d-]{1,63}(?<!-))*", re.IGNORECASE)


@operation(
    "AddKVMHost",
    "POST",
    "hosts/kvm",
    params=(
        required("username"),
        required("password"),
        optional("sshPort", "integer", bounds=PORTS),
        required("name"),
        optional("description"),
        required("managementIp"),
        required("clusterUuid"),
        *creation.PARAMS,
    ),
    since="0.6",
    minutes=180,
)
def add_kvm_host(call: Call) -> Steps:
    """Add a host. It is there as Connecting meanwhile, and gone again when the operation fails."""
    store = call.store
    cluster = store["cluster"].get(call["clusterUuid"])
    management_ip = _free_address(store, call["managementIp"])
    identity = {
        "uuid": creation.new_uuid(call, "host"),
        "name": call["name"],
        "description": call.get("description"),
        "zoneUuid": cluster["zoneUuid"],
        "clusterUuid": cluster["uuid"],
        "managementIp": management_ip,
        "status": "Connecting",
        "_nics": [],
        "_bondings": [],
    }
    host = store["host"].put(records.host_record(identity, store.dates()))
    try:
        yield
        if call["password"] == WRONG_PASSWORD:
            raise _ssh_failure(call)
    except Failure:
        store["host"].remove(host["uuid"])
        raise
    creation.tag(call, host["uuid"])
    nics, bondings = _add_interfaces(store, host["uuid"])
    return {
        "inventory": store.change("host", host["uuid"], status="Connected", _nics=nics, _bondings=bondings),
    }


def _free_address(store: Store, text: str) -> str:
    """Return an IPv4 address or a host name that no host is managed by yet."""
    if DOTTED_NUMBERS.fullmatch(text):
        try:
            ipaddress.IPv4Address(text)
        except ValueError:
            raise bad_argument(f"managementIp[{text}] is not an IPv4 address") from None
    elif not HOST_NAME.fullmatch(text):
        raise bad_argument(f"managementIp[{text}] is neither an IPv4 address nor a host name")
    if any(host["managementIp"] == text for host in store["host"].all()):
        raise bad_argument(f"there has been a host having managementIp[{text}]")
    return text


def _ssh_failure(call: Call) -> Failure:
    """Return the failure of a login; its reason stands below it alone, and repeats the password as servers do."""
    login = f"{call['username']}:{call['password']}@{call['managementIp']}"
    denied = Failure("SYS.1006", f"failed to log in by ssh {login}: permission denied")
    return Failure("HOST.1003", "connection error for KVM host", denied)


def _add_interfaces(store: Store, host_uuid: str) -> tuple[list[str], list[str]]:
    """Give a new host the interfaces that every host has; return the uuids of its NICs and of its bond."""
    dates, bonding = store.dates(), store.new_uuid()
    nics = [
        store["hostnic"].put(records.host_nic_record(host_uuid, store.new_uuid(), slot, bonding, dates))
        for slot in range(records.NICS_PER_HOST)
    ]
    slaves = [nics[slot] for slot in records.BONDED]
    store["bonding"].put(records.bonding_record(host_uuid, bonding, slaves, dates))
    return [nic["uuid"] for nic in nics], [bonding]


@operation(
    "ChangeHostState",
    "PUT",
    "hosts/{uuid}/actions",
    params=(required("stateEvent", choices=("enable", "disable", "maintain")),),
    since="0.6",
)
def change_host_state(call: Call) -> Steps:
    """Enable or disable a host, or bring it into maintenance."""
    host = call.store["host"].get(call["uuid"])
    if call["stateEvent"] == "maintain":
        return (yield from _maintain(call, host))
    yield
    return _leave(call, "Enabled" if call["stateEvent"] == "enable" else "Disabled")


def _maintain(call: Call, host: Record) -> Steps:
    """Bring a host into maintenance by way of PreMaintenance; back to what it was when that fails."""
    hosts, uuid = call.store["host"], host["uuid"]
    if host["state"] in ("Maintenance", "PreMaintenance"):
        raise Failure("SYS.1000", f"host[uuid: {uuid}] in state {host['state']} knows no event maintain")
    if host["status"] != "Connected":
        raise refused(f"host[uuid: {uuid}] is {host['status']}; only a connected host can go into maintenance")
    call.store.change("host", uuid, state="PreMaintenance")
    try:
        yield
        if hosts.get(uuid)["state"] != "PreMaintenance":
            raise refused("another state event came in between")
    except Failure as cause:
        if hosts.get(uuid)["state"] == "PreMaintenance":
            call.store.change("host", uuid, state=host["state"])
        raise Failure("HOST.1001", f"host[uuid: {uuid}] could not go into maintenance", cause) from None
    return {"inventory": call.store.change("host", uuid, state="Maintenance")}


def _leave(call: Call, state: str) -> Reply:
    """Enable or disable a host; one that was in maintenance has to connect again."""
    store, uuid = call.store, call["uuid"]
    if store["host"].get(uuid)["state"] != "Maintenance":
        return {"inventory": store.change("host", uuid, state=state)}

    def connected() -> None:
        if store["host"].get(uuid)["status"] == "Connecting":
            store.change("host", uuid, status="Connected")

    call.service.jobs.later(call.switches.reconnect, connected)
    return {"inventory": store.change("host", uuid, state=state, status="Connecting")}


@operation("DeleteHost", "DELETE", "hosts/{uuid}", params=(creation.DELETE_MODE,), further=True, enveloped=False)
def delete_host(call: Call) -> Reply:
    """Delete a host, whose virtual machines stop; what is absent is a success."""
    store, uuid = call.store, call["uuid"]
    for vm in [vm for vm in store["vm"].all() if vm["hostUuid"] == uuid]:
        store.change("vm", vm["uuid"], state="Stopped", hostUuid=None)
    store["host"].remove_where(lambda host: bool(host["uuid"] == uuid))
    for kind in ("hostnic", "bonding"):
        store[kind].remove_where(lambda record: bool(record["hostUuid"] == uuid))
    return {}
