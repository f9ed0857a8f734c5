"""The persons that endpoints of chats mention. Each kind of chat has persons of its own."""

from __future__ import annotations

from typing import Any

from ..errors import invalid_argument, not_found
from ..registry import Call, Reply, operation
from ..state.store import Record, Store
from . import creation

ENDPOINT_TYPES = {"person": "TeamChat", "wecomperson": "WorkChat", "dingtalkperson": "DingTalk"}
"""The type of the endpoints that mention persons of a kind."""


def put_person(store: Store, kind: str, endpoint_uuid: str, members: dict[str, Any]) -> Record:
    """Store a person of an endpoint, with a new uuid unless the members have one."""
    shared = {"uuid": store.generate_uuid(), "endpointUuid": endpoint_uuid, **store.dates()}
    return store[kind].put(Record(kind, {**shared, **members}))


def show_persons(store: Store, endpoint_uuid: str) -> Record:
    """Bring the persons in the record of a workchat endpoint up to date, unordered, and return the record."""
    persons = [
        {name: person[name] for name in ("userId", "remark", "createDate", "lastOpDate")}
        for person in store["wecomperson"].all()
        if person["endpointUuid"] == endpoint_uuid
    ]
    persons.sort(key=lambda person: str(person["userId"])[::-1], reverse=True)
    user_ids = [person["userId"] for person in persons]
    return store["endpoint"].change(endpoint_uuid, atPersonUserIds=user_ids or None, atPersonList=persons or None)


@operation("AddSNSFeiShuAtPerson", chats="documented open")
def add_feishu_person(call: Call) -> Reply:
    """Add a person to a feishu endpoint."""
    return {"inventory": _add(call, "person", "userId")}


@operation("AddSNSWeComAtPerson")
def add_we_com_person(call: Call) -> Reply:
    """Add a person to a we-com endpoint, whose record shows its persons."""
    person = _add(call, "wecomperson", "userId")
    show_persons(call.store, person["endpointUuid"])
    return {"inventory": person}


@operation("AddSNSDingTalkAtPerson")
def add_ding_talk_person(call: Call) -> Reply:
    """Add a person to a ding-talk endpoint, by the phone number."""
    return {"inventory": _add(call, "dingtalkperson", "phoneNumber")}


def _add(call: Call, kind: str, key: str) -> Record:
    """Add a person. A person that the endpoint already has is invalid."""
    store = call.store
    endpoint = store["endpoint"].get(call["endpointUuid"])
    if endpoint["type"] != ENDPOINT_TYPES[kind]:
        raise not_found(f"{ENDPOINT_TYPES[kind]} endpoint", endpoint["uuid"])
    if any(_is_person(person, endpoint["uuid"], key, call[key]) for person in store[kind].all()):
        raise invalid_argument(f"{key}[{call[key]}] exists on endpoint[uuid: {endpoint['uuid']}]")
    members = {"uuid": creation.generate_uuid(call, kind), key: call[key], "remark": call.get("remark")}
    person = put_person(store, kind, endpoint["uuid"], members)
    creation.tag(call, person)
    return person


@operation("RemoveSNSFeiShuAtPerson", chats="documented open", has_envelope=False)
def remove_feishu_person(call: Call) -> Reply:
    """Remove a person from a feishu endpoint."""
    return _remove(call, "person", "userId")


@operation("RemoveSNSWeComAtPerson", has_envelope=False)
def remove_we_com_person(call: Call) -> Reply:
    """Remove a person from a we-com endpoint, whose record shows its persons."""
    reply = _remove(call, "wecomperson", "userId")
    if call.store["endpoint"].find(call["endpointUuid"]):
        show_persons(call.store, call["endpointUuid"])
    return reply


@operation("RemoveSNSDingTalkAtPerson", has_envelope=False)
def remove_ding_talk_person(call: Call) -> Reply:
    """Remove a person from a ding-talk endpoint."""
    return _remove(call, "dingtalkperson", "phoneNumber")


def _remove(call: Call, kind: str, key: str) -> Reply:
    """Remove a person; succeed if the endpoint does not have it."""
    call.store[kind].remove_where(lambda person: _is_person(person, call["endpointUuid"], key, call[key]))
    return {}


def _is_person(person: Record, endpoint_uuid: str, key: str, value: str) -> bool:
    return (person["endpointUuid"], person[key]) == (endpoint_uuid, value)


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
