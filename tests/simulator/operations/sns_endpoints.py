# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Notification endpoints and the persons that they mention."""

from __future__ import annotations

from typing import Any

from ..errors import OperationError, invalid_argument, not_found
from ..registry import Call, Reply, operation
from ..state.store import Record, Store
from . import creation
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
    persons = [{"userId": user_id, "remark": remarks.get(user_id), **call.store.dates()} for user_id in user_ids]
    members = {
        "url": call["url"],
        "atAll": at_all,
        "atPersonUserIds": user_ids or None,
        "atPersonList": persons or None,
    }
    platform = _platform_of(call.store, "WorkChat")
    return {"inventory": with_platform(call, _new_endpoint(call, "WorkChat", platform["uuid"], members))}


def _user_ids(call: Call) -> list[str]:
    """Return the user ids from both parameters, unordered."""
    if call.switches.persons_required:
        for name in ("atPersonUserIds", "atPersonList"):
            if name not in call.params:
                raise invalid_argument(f"field[{name}] is mandatory, can not be null")
    user_ids = {*call.get("atPersonUserIds", []), *call.get("atPersonList", {})}
    remarks = map(str, call.get("atPersonList", {}).values())
    for name, texts in (("userId", user_ids), ("remark", remarks)):
        if any(len(text) > LONGEST[name] for text in texts):
            raise invalid_argument(f"a {name} exceeds max length {LONGEST[name]}")
    return sorted(user_ids, key=lambda user_id: user_id[::-1], reverse=True)


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


@operation("AddSNSFeiShuAtPerson", chats="documented open")
def add_person(call: Call) -> Reply:
    """Add a person to an endpoint. A user id that the endpoint already has is invalid."""
    store = call.store
    endpoint = store["endpoint"].get(call["endpointUuid"])
    if any(_is_person(person, endpoint["uuid"], call["userId"]) for person in store["person"].all()):
        raise invalid_argument(f"userId[{call['userId']}] exists on endpoint[uuid: {endpoint['uuid']}]")
    members = {
        "uuid": creation.generate_uuid(call, "person"),
        "userId": call["userId"],
        "endpointUuid": endpoint["uuid"],
        "remark": call.get("remark"),
        **store.dates(),
    }
    person = store["person"].put(Record("person", members))
    creation.tag(call, person)
    return {"inventory": person}


@operation("RemoveSNSFeiShuAtPerson", chats="documented open", has_envelope=False)
def remove_person(call: Call) -> Reply:
    """Remove a person from an endpoint; succeed if the endpoint does not have it."""
    call.store["person"].remove_where(lambda person: _is_person(person, call["endpointUuid"], call["userId"]))
    return {}


def _is_person(person: Record, endpoint_uuid: str, user_id: str) -> bool:
    return (person["endpointUuid"], person["userId"]) == (endpoint_uuid, user_id)


@operation("UpdateAtPersonOfAtFeiShuEndpoint", chats="open")
@operation("UpdateAtPersonOfAtTeamchatEndpoint", chats="documented")
def update_person(call: Call) -> Reply:
    """Change a person. A user id that the endpoint already has is invalid, also the person's own."""
    store = call.store
    if call.switches.remark_required and "remark" not in call.params:
        raise invalid_argument("field[remark] is mandatory, can not be null")
    person = store["person"].get(call["uuid"])
    endpoint = store["endpoint"].get(call["endpointUuid"])
    if person["endpointUuid"] != endpoint["uuid"]:
        raise invalid_argument(f"person[uuid: {person['uuid']}] is not one of endpoint[uuid: {endpoint['uuid']}]")
    others = [other for other in store["person"].all() if other["endpointUuid"] == endpoint["uuid"]]
    if any(other["userId"] == call.get("userId") for other in others):
        raise invalid_argument(f"userId[{call['userId']}] exists on endpoint[uuid: {endpoint['uuid']}]")
    return {"inventory": store.change("person", person["uuid"], **call.select("userId", "remark"))}


@operation("DeleteSNSApplicationEndpoint", has_envelope=False)
def delete_endpoint(call: Call) -> Reply:
    """Delete an endpoint with its subscriptions and persons; succeed if it does not exist."""
    delete_endpoints(call.store, lambda endpoint: bool(endpoint["uuid"] == call["uuid"]))
    return {}
