"""Notification endpoints."""

from __future__ import annotations

from typing import Any

from ..errors import OperationError, invalid_argument, not_found
from ..registry import Call, Reply, operation
from ..state.store import Record, Store
from . import creation
from .sns_persons import put_person, show_persons
from .sns_platforms import delete_endpoints, get_snmp_platform
from .sns_topics import STATES

LONGEST = {"userId": 256, "remark": 128}


def with_platform(call: Call, endpoint: Record) -> Record:
    """Return the endpoint with its platform, as the query of workchat endpoints does."""
    return Record("endpoint", {**endpoint, "platform": call.store["platform"].find(endpoint["platformUuid"])})


def _new_endpoint(call: Call, kind: str, platform_uuid: str, members: dict[str, Any]) -> Record:
    store = call.store
    endpoint = Record(
        "endpoint",
        {
            "uuid": creation.generate_uuid(call, "endpoint"),
            "name": call["name"],
            "description": call.get("description"),
            "type": kind,
            "state": "Enabled",
            "platformUuid": platform_uuid,
            "connectionStatus": "UP",
            "url": None,
            "atAll": None,
            "atPersonUserIds": None,
            "atPersonList": None,
            **members,
            **store.dates(),
        },
    )
    creation.tag(call, endpoint)
    return store["endpoint"].put(endpoint)


def _platform_of(store: Store, kind: str) -> Record:
    return next(platform for platform in store["platform"].all() if platform["type"] == kind)


@operation("CreateSNSWeComEndpoint", chats="open")
@operation("CreateSNSWorkchatEndpoint", chats="documented")
def create_workchat_endpoint(call: Call) -> Reply:
    """Create a workchat endpoint."""
    user_ids = _user_ids(call)
    spellings = ("atAll", "atALL") if call.switches.at_all_spelling == "both" else (call.switches.at_all_spelling,)
    at_all = any(call.get(name, False) for name in spellings)
    remarks = call.get("atPersonList", {})
    platform = _platform_of(call.store, "WorkChat")
    endpoint = _new_endpoint(call, "WorkChat", platform["uuid"], {"url": call["url"], "atAll": at_all})
    for user_id in user_ids:
        put_person(call.store, "wecomperson", endpoint["uuid"], {"userId": user_id, "remark": remarks.get(user_id)})
    return {"inventory": with_platform(call, show_persons(call.store, endpoint["uuid"]))}


def _user_ids(call: Call) -> list[str]:
    """Return the user ids from both parameters."""
    if call.switches.persons_required:
        for name in ("atPersonUserIds", "atPersonList"):
            if name not in call.params:
                raise invalid_argument(f"field[{name}] is mandatory, can not be null")
    user_ids = {*call.get("atPersonUserIds", []), *call.get("atPersonList", {})}
    remarks = map(str, call.get("atPersonList", {}).values())
    for name, texts in (("userId", user_ids), ("remark", remarks)):
        if any(len(text) > LONGEST[name] for text in texts):
            raise invalid_argument(f"a {name} exceeds max length {LONGEST[name]}")
    return sorted(user_ids)


@operation("CreateSNSSnmpEndpoint")
def create_snmp_endpoint(call: Call) -> Reply:
    """Create an SNMP endpoint."""
    platform_uuid = call.get("platformUuid")
    if platform_uuid is None and call.switches.snmp_platform_required:
        raise OperationError("SYS.1000", "platformUuid must not be null")
    if platform_uuid is None:
        platform_uuid = _platform_of(call.store, "Snmp")["uuid"]
    platform = get_snmp_platform(call.store, platform_uuid)
    return {"inventory": _new_endpoint(call, "Snmp", platform["uuid"], {})}


@operation("UpdateSNSApplicationEndpoint")
def update_endpoint(call: Call) -> Reply:
    """Change the given members of an endpoint of any type."""
    endpoint = call.store["endpoint"].get(call["uuid"])
    if "platformUuid" in call.params:
        platform = call.store["platform"].get(call["platformUuid"])
        if platform["type"] != endpoint["type"]:
            raise invalid_argument(f"platform[uuid: {platform['uuid']}] is of type {platform['type']}")
    members = call.select("name", "description", "platformUuid")
    return {"inventory": call.store.change("endpoint", endpoint["uuid"], **members)}


def _update_webhook(call: Call, kind: str) -> Record:
    """Change the given members of an endpoint of a type, also those that UpdateSNSApplicationEndpoint does not change.

    Secrets are stored, but never shown.
    """
    endpoint = call.store["endpoint"].get(call["uuid"])
    if endpoint["type"] != kind:
        raise not_found(f"{kind} endpoint", endpoint["uuid"])
    members = call.select("name", "description", "platformUuid", "url", "atAll")
    hidden = {f"_{name}": value for name, value in call.select("secret", "username", "password").items()}
    return call.store.change("endpoint", endpoint["uuid"], **members, **hidden)


@operation("UpdateSNSWeComEndpoint", chats="documented open")
def update_we_com_endpoint(call: Call) -> Reply:
    """Change a we-com endpoint."""
    return {"inventory": with_platform(call, _update_webhook(call, "WorkChat"))}


@operation("UpdateSNSFeiShuEndpoint", chats="documented open")
def update_feishu_endpoint(call: Call) -> Reply:
    """Change a feishu endpoint."""
    return {"inventory": _update_webhook(call, "TeamChat")}


@operation("UpdateSNSDingTalkEndpoint")
def update_ding_talk_endpoint(call: Call) -> Reply:
    """Change a ding-talk endpoint."""
    return {"inventory": _update_webhook(call, "DingTalk")}


@operation("UpdateSNSHttpEndpoint")
def update_http_endpoint(call: Call) -> Reply:
    """Change an HTTP endpoint."""
    return {"inventory": _update_webhook(call, "HTTP")}


@operation("UpdateSNSMicrosoftTeamsEndpoint")
def update_microsoft_teams_endpoint(call: Call) -> Reply:
    """Change a microsoft-teams endpoint."""
    return {"inventory": _update_webhook(call, "MicrosoftTeams")}


@operation("ChangeSNSApplicationEndpointState")
def change_endpoint_state(call: Call) -> Reply:
    """Enable or disable an endpoint of any type, whatever its state."""
    return {"inventory": call.store.change("endpoint", call["uuid"], state=STATES[call["stateEvent"]])}


@operation("DeleteSNSApplicationEndpoint", has_envelope=False)
def delete_endpoint(call: Call) -> Reply:
    """Delete an endpoint with its subscriptions and persons; succeed if it does not exist."""
    delete_endpoints(call.store, lambda endpoint: bool(endpoint["uuid"] == call["uuid"]))
    return {}
