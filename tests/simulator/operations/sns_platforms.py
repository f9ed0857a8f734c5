"""Notification platforms, and the SNMP connection test."""

from __future__ import annotations

from collections.abc import Callable

from ..errors import invalid_argument, not_found, operation_refused
from ..registry import Call, Reply, operation
from ..state.store import Record, Store
from . import creation
from .sns_persons import ENDPOINT_TYPES
from .sns_topics import STATES


def get_snmp_platform(store: Store, uuid: str) -> Record:
    """Return the SNMP platform; raise OperationError if it does not exist or is of another type."""
    platform = store["platform"].get(uuid)
    if platform["type"] != "Snmp":
        raise not_found("snmp platform", uuid)
    return platform


def delete_endpoints(store: Store, matches: Callable[[Record], bool]) -> None:
    """Delete the endpoints that match, with their subscriptions and persons."""
    uuids = {endpoint["uuid"] for endpoint in store["endpoint"].remove_where(matches)}
    for kind in ("subscriber", *ENDPOINT_TYPES):
        store[kind].remove_where(lambda record: record["endpointUuid"] in uuids)


@operation("UpdateSNSSnmpPlatform")
def update_snmp_platform(call: Call) -> Reply:
    """Change the address of an SNMP platform, and the name and description if they are given."""
    platform = get_snmp_platform(call.store, call["uuid"])
    members = call.select("snmpAddress", "snmpPort", "name", "description")
    return {"inventory": call.store.change("platform", platform["uuid"], **members)}


@operation("UpdateSNSApplicationPlatform")
def update_platform(call: Call) -> Reply:
    """Change the given members of a platform of any type."""
    return {"inventory": call.store.change("platform", call["uuid"], **call.select("name", "description"))}


@operation("ChangeSNSApplicationPlatformState")
def change_platform_state(call: Call) -> Reply:
    """Enable or disable a platform, whatever its state."""
    return {"inventory": call.store.change("platform", call["uuid"], state=STATES[call["stateEvent"]])}


@operation("SNSSnmpTestConnection")
def test_snmp_connection(call: Call) -> Reply:
    """Send one trap and return whether that succeeded."""
    store = call.store
    if not call.select("platformUuid", "endpointUuid"):
        raise invalid_argument("platformUuid or endpointUuid is needed")
    if "endpointUuid" in call.params:
        platform = get_snmp_platform(store, store["endpoint"].get(call["endpointUuid"])["platformUuid"])
    if "platformUuid" in call.params:
        platform = get_snmp_platform(store, call["platformUuid"])
    connected = call.switches.snmp_connected
    store.traps.append({"address": platform["snmpAddress"], "port": platform["snmpPort"], "connected": connected})
    answer = {"statusCode": 200} if connected else {"statusCode": 504, "message": "no answer"}
    return {"connected": connected, "webhookResp": answer}


@operation("CreateSNSSnmpPlatform")
def create_snmp_platform(call: Call) -> Reply:
    """Create an SNMP platform; no other one may have its address and port."""
    address = call.select("snmpAddress", "snmpPort")
    if any(address.items() <= platform.items() for platform in call.store["platform"].all()):
        raise invalid_argument(f"a platform with the address {call['snmpAddress']}:{call['snmpPort']} exists")
    platform = Record(
        "platform",
        {
            "uuid": creation.generate_uuid(call, "platform"),
            "description": None,
            "type": "Snmp",
            "state": "Enabled",
            **call.select("name", "description", "snmpAddress", "snmpPort"),
            **call.store.dates(),
        },
    )
    creation.tag(call, platform)
    return {"inventory": call.store["platform"].put(platform)}


@operation("DeleteSNSApplicationPlatform", has_envelope=False)
def delete_platform(call: Call) -> Reply:
    """Delete a platform with its endpoints; succeed if it does not exist. A built-in one is refused.

    Errors of single endpoints are not reported.
    """
    if call["uuid"] in call.switches.builtin_platforms:
        raise operation_refused(f"platform[uuid: {call['uuid']}] is built in and cannot be deleted")
    failing = call.switches.failing_endpoints
    delete_endpoints(
        call.store, lambda endpoint: endpoint["platformUuid"] == call["uuid"] and endpoint["uuid"] not in failing
    )
    call.store["platform"].remove_where(lambda platform: bool(platform["uuid"] == call["uuid"]))
    return {}
