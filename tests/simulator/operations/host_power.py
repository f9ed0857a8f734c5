"""The power of hosts: their IPMI controllers, switching on and off, and what becomes of the VMs on them."""

from __future__ import annotations

from ..errors import OperationError, operation_refused
from ..registry import Call, Reply, Steps, operation
from ..state.backup_sessions import lose_checkpoints
from ..state.store import Record, Store

DEFAULT_PORT = 623
WRONG_PASSWORD = "wrong-password"
MAINTENANCE = ("Maintenance", "PreMaintenance")


@operation("UpdateHostIpmi", has_envelope=False)
def update_host_ipmi(call: Call) -> Reply:
    """Change how the service reaches the controller of a host; fail if it cannot. A port that is missing is 623."""
    store, host = call.store, call.store["host"].get(call["uuid"])
    if host["ipmiAddress"] is None:
        raise operation_refused(f"host[{host['uuid']}] does not have ipmi device or ipmi does not have address")
    changes = {"ipmiPort": DEFAULT_PORT, **call.select("ipmiAddress", "ipmiUsername", "ipmiPort")}
    if call.get("ipmiPassword") == WRONG_PASSWORD:
        raise operation_refused(f"host[{host['uuid']}] can not connect ipmi[{host['ipmiAddress']}]")
    is_off = host["ipmiPowerStatus"] in ("POWER_OFF", "POWER_SHUTDOWN")
    changed = store.change("host", host["uuid"], **changes, ipmiPowerStatus="POWER_OFF" if is_off else "POWER_ON")
    members = ("uuid", "ipmiAddress", "ipmiUsername", "ipmiPort", "ipmiPowerStatus")
    return {"hostIpmiInventory": {name: changed[name] for name in members}}


def has_ipmi(host: Record) -> bool:
    """Return whether the service can log in to the controller of a host."""
    is_complete = host["ipmiAddress"] is not None and host["ipmiUsername"] is not None
    return is_complete and host["ipmiPowerStatus"] != "UN_CONFIGURED"


def is_reachable(host: Record) -> bool:
    """Return whether the operating system of a host runs."""
    return host["ipmiPowerStatus"] not in ("POWER_OFF", "POWER_SHUTDOWN") and not host.get("_isBooting")


@operation("PowerOnHost", has_envelope=False)
def power_on_host(call: Call) -> Steps:
    """Switch a host on; one that is on is a success. The operating system boots after the end of the job."""
    store, uuid = call.store, call["uuid"]
    host = store["host"].get(uuid)
    if not has_ipmi(host):
        raise operation_refused(f"power on host[{uuid}] by ipmi failed.")
    was_off = host["ipmiPowerStatus"] == "POWER_OFF"
    if was_off:
        store.change("host", uuid, ipmiPowerStatus="POWER_BOOTING")
    try:
        yield 0.0
    except OperationError:
        store.change("host", uuid, ipmiPowerStatus=host["ipmiPowerStatus"])
        raise
    inventory = store.change("host", uuid, ipmiPowerStatus="POWER_ON")
    if was_off:
        inventory = _boot(call, uuid)
    return {"inventory": inventory}


@operation("ShutdownHost", has_envelope=False)
def shut_down_host(call: Call) -> Steps:
    """Switch a host off, through its controller or by the agent on it, whatever runs on it."""
    store, uuid = call.store, call["uuid"]
    host = store["host"].get(uuid)
    uses_ipmi = _choose_ipmi(call, host)
    if uses_ipmi and host["ipmiPowerStatus"] == "POWER_OFF":
        return {"inventory": host}
    _require_agent(host, uses_ipmi)
    shown = {"ipmiPowerStatus": "POWER_SHUTDOWN"} if uses_ipmi else {}
    store.change("host", uuid, status="Disconnected", **shown)
    try:
        yield 0.0
    except OperationError:
        store.change("host", uuid, status=host["status"], ipmiPowerStatus=host["ipmiPowerStatus"])
        raise
    _lose_vms(store, uuid)
    return {"inventory": store.change("host", uuid, **({"ipmiPowerStatus": "POWER_OFF"} if uses_ipmi else {}))}


@operation("PowerResetHost", has_envelope=False)
def power_reset_host(call: Call) -> Reply:
    """Restart a host at once, whatever runs on it. A host that is off is refused."""
    store, uuid = call.store, call["uuid"]
    host = store["host"].get(uuid)
    uses_ipmi = _choose_ipmi(call, host)
    if uses_ipmi and host["ipmiPowerStatus"] == "POWER_OFF":
        raise operation_refused(
            f"reboot host[{host['ipmiAddress']}:{host['ipmiPort']}] failed. because host is already powered off"
        )
    _require_agent(host, uses_ipmi)
    _lose_vms(store, uuid)
    store.change("host", uuid, status="Disconnected", _resets=host.get("_resets", 0) + 1)
    return {"inventory": _boot(call, uuid)}


def _choose_ipmi(call: Call, host: Record) -> bool:
    """Return whether the controller is used: with AUTO, if the service can log in to it."""
    method = call.get("method", "AUTO")
    if method == "IPMI" and not has_ipmi(host):
        raise operation_refused(f"power off host[{host['uuid']}] by ipmi failed.")
    return method != "AGENT" and has_ipmi(host)


def _require_agent(host: Record, uses_ipmi: bool) -> None:
    if not uses_ipmi and host["status"] != "Connected":
        raise operation_refused(f"the agent of host[{host['uuid']}] does not answer")


def _boot(call: Call, uuid: str) -> Record:
    """Boot a host. When it has booted, the service finds it and connects to it, except in maintenance."""
    store = call.store

    def finish() -> None:
        host = store["host"].find(uuid)
        if host is None or host["ipmiPowerStatus"] in ("POWER_OFF", "POWER_SHUTDOWN"):
            return
        store.change("host", uuid, _isBooting=False)
        if host["state"] not in MAINTENANCE and host["status"] == "Disconnected":
            store.change("host", uuid, status="Connected")
            stop_lost_vms(store, uuid)

    call.service.jobs.schedule(call.switches.boot, finish)
    return store.change("host", uuid, _isBooting=True)


def _lose_vms(store: Store, host: str) -> None:
    """Lose sight of the VMs on a host without power."""
    for vm in store["vm"].all():
        if vm["hostUuid"] == host and vm["state"] not in ("Stopped", "Destroyed"):
            lose_checkpoints(store, vm)
            store.change("vm", vm["uuid"], state="Unknown")


def stop_lost_vms(store: Store, host: str) -> None:
    """Set the VMs that no longer run on a host to Stopped, as a service does when it is connected again."""
    for vm in store["vm"].all():
        if vm["hostUuid"] == host and vm["state"] == "Unknown":
            store.change("vm", vm["uuid"], state="Stopped", hostUuid=None, lastHostUuid=host)
