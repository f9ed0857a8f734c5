"""Find endpoints and the persons that they mention, and plan their changes. Section "Notification"."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from .._api.errors import InvalidOptions, Unchangeable, Unsupported
from .._api.operation import ABSENT, TAG_PARAMS
from .._api.records import NullReference, Record, drop_null_references, is_same_value
from .._api.resource_types import RESOURCE_TYPES
from .._client.client import Client
from .._client.known_names import FRESH_SECONDS
from .._client.lists import combine_finders, find_by_attribute, get_by_uuid, query, require_unique
from .._engine.current import Current, Unreadable
from .._engine.differences import build_unchangeable
from .._engine.plan import build_default_plan
from .._engine.spec import PlannedCall, ResourceSpec, StateTransition
from .chains import chain_plans
from .finders import Finder, assume_fields, find_by_query

PLATFORM = RESOURCE_TYPES["platform"]

_PERSONS = "QuerySNSTeamchatAtPerson"

_PLATFORM_ADDRESS = ("snmpAddress", "snmpPort")

# Parts of the types of endpoints that mention no persons, or persons of another kind. The types are not documented.
_OTHER_TYPES = ("snmp", "http", "mail", "microsoft", "dingtalk", "wecom", "workchat")

# The types of workchat endpoints and of their platforms, in small letters.
_WORKCHAT = ("workchat", "wecom")

# The options that the change of a person needs if the service does not show the person.
_NEEDED_UNREAD = {"endpointUuid": "endpoint", "remark": "remark"}


def normalize_persons(desired: Record) -> Record:
    """Return the desired persons in both forms, or an empty record if none are desired.

    User IDs and remarks become strings, as services require. Raise InvalidOptions for a remark that is a list or a
    mapping.
    """
    remarks = {str(user): _normalize_remark(user, remark) for user, remark in desired.get("atPersonList", {}).items()}
    ids = list(dict.fromkeys([*desired.get("atPersonUserIds", ()), *remarks]))
    both = {"atPersonUserIds": ids, "atPersonList": {**dict.fromkeys(ids, ""), **remarks}}
    return both if desired.keys() & both.keys() else {}


def select_compared_persons(desired: Record, current: Record) -> Record:
    """Return the desired persons for the comparison: the user IDs, and the remarks if one differs."""
    persons, current_remarks = normalize_persons(desired), current.get("atPersonList") or {}
    compared = {"atPersonUserIds": persons["atPersonUserIds"]} if persons else {}
    differing = {}
    for user in map(str, desired.get("atPersonList", ())):
        if user in current_remarks and not is_same_value(persons["atPersonList"][user], current_remarks[user]):
            differing[user] = persons["atPersonList"][user]
    if differing:
        compared["atPersonList"] = {**current_remarks, **differing}
    return compared


def assume_missing_fields(desired: Record) -> Record:
    """Return the desired values of the workchat fields that a list of all endpoints may omit."""
    values = {**desired, **normalize_persons(desired)}
    return {name: values[name] for name in ("url", "atAll", "atPersonUserIds") if name in values}


def map_persons_by_user_id(endpoint: Record) -> Record:
    """Return an endpoint whose ``atPersonList``, which services show as a list of records, maps user IDs to remarks."""
    persons = endpoint.get("atPersonList")
    if not isinstance(persons, list):
        return endpoint
    records = [person for person in persons if isinstance(person, dict) and person.get("userId")]
    remarks = {str(person["userId"]): str(person.get("remark") or "") for person in records}
    ids = endpoint.get("atPersonUserIds")
    return {**endpoint, "atPersonList": remarks, "atPersonUserIds": list(remarks) if ids is None else ids}


def plan_workchat_endpoint(resource: ResourceSpec, state: str, desired: Record, current: Current) -> list[PlannedCall]:
    """Plan the change of a workchat endpoint.

    Omit empty lists of persons on create, and ignore the persons of an endpoint that cannot be read. A new endpoint
    gets its platform with a second call.
    """
    if current.record is None:
        persons = {name: value for name, value in normalize_persons(desired).items() if value}
    else:
        persons = {} if isinstance(current, Unreadable) else select_compared_persons(desired, current.record)
    others = {name: value for name, value in desired.items() if not name.startswith("atPerson")}
    if current.record is not None or isinstance(others.get("platformUuid"), (NullReference, type(None))):
        return build_default_plan(resource, state, {**others, **persons}, current)
    later = {name: others[name] for name in ("platformUuid", *TAG_PARAMS) if name in others}
    first = {name: value for name, value in others.items() if name != "platformUuid"}
    return chain_plans(
        current,
        partial(build_default_plan, resource, "present", {**first, **persons}),
        partial(build_default_plan, resource, state, later),
    )


def find_endpoint_of_type(type_name: str) -> Finder:
    """Return a finder of endpoints whose type contains ``type_name``; "" matches all. The types are not documented."""

    def is_one(endpoint: Record) -> bool:
        return type_name in (endpoint.get("type") or type_name).lower()

    return find_by_query("QuerySNSApplicationEndpoint", "uuid", "name", view=map_persons_by_user_id, among=is_one)


# An endpoint of a chat room. The list of all endpoints may omit some of its fields.
find_workchat_endpoint = combine_finders(
    find_by_query("QuerySNSWorkchatEndpoint", "uuid", "name", view=map_persons_by_user_id),
    assume_fields(find_endpoint_of_type("workchat"), assume_missing_fields),
)


def build_transitions(operation: str) -> dict[str, StateTransition]:
    """Return the transitions to the states enabled and disabled of an endpoint, a platform or a topic."""
    return {
        "enabled": StateTransition(operation, "state", ("Enabled",), {"stateEvent": "enable"}),
        "disabled": StateTransition(operation, "state", ("Disabled",), {"stateEvent": "disable"}),
    }


def describe_endpoints(operation: str) -> dict[str, Any]:
    """Return the members of the ResourceSpec that endpoints of all types share: tags, states, and what is refused.

    ``operation`` enables and disables an endpoint.
    """
    return {
        "tagged_type": "SNSApplicationEndpointVO",
        "transitions": build_transitions(operation),
        "find_refusal": find_endpoint_refusal,
        "creation": "give type workchat or snmp, and its options, to create it",
    }


def find_other_url(params: Mapping[str, Any], desired: Record) -> Iterator[str]:
    """Yield that ``webhook_url`` is not the URL of an endpoint, for a task that gives nothing else of one.

    The environment may give it to all tasks.
    """
    is_bare = desired.keys() <= {"state", "type", "uuid", "name"} and desired["state"] == "present"
    if is_bare and desired["type"] != "snmp" and params["webhook_url"] and "VIRTINFRA_WEBHOOK_URL" not in os.environ:
        yield (
            "webhook_url is the address that the service calls when the job of this task ends. The address to which an"
            " endpoint posts is the option url."
        )


def find_at_signs(dummy: Mapping[str, Any], desired: Record) -> Iterator[str]:
    """Yield that a user ID begins with the sign that a message has before a name."""
    user = str(desired.get("userId") or "")
    if user.startswith("@") and desired["state"] != ABSENT:
        yield f"user_id {user!r} is sent with its @. If it is no part of the user ID, write {user.lstrip('@')}."


def is_snmp(record: Record) -> bool:
    """Return whether a platform or an endpoint is of the type SNMP. Its spelling is not documented."""
    return "snmp" in (record.get("type") or "snmp").lower()


def find_endpoint_refusal(client: Client, call: PlannedCall, record: Record | None) -> Unchangeable | None:
    """Return the failure that an endpoint would get a platform of another type."""
    platform = call.params.get("platformUuid")
    kind = "snmp" if call.operation == "CreateSNSSnmpEndpoint" else str((record or {}).get("type") or "")
    if record and not drop_null_references(record).get("uuid"):
        # The second call for a new endpoint.
        kind = "workchat"
    types = _WORKCHAT if kind.casefold() in _WORKCHAT else (kind.casefold(),)
    for found in get_by_uuid(client, PLATFORM.query, platform) if platform and kind else ():
        if found.get("type") and found["type"].casefold() not in types:
            return Unchangeable(
                f"the platform {found.get('name')!r} ({platform}) is of the type {found['type']}, and the endpoint"
                f" of the type {kind}. Give a platform of this type."
            )
    return None


def find_receiver_refusal(client: Client, call: PlannedCall, dummy: Record | None) -> InvalidOptions | None:
    """Return the failure that a platform or an endpoint to test is not of the type SNMP."""
    for name in ("platform", "endpoint"):
        uuid = call.params.get(f"{name}Uuid")
        for found in get_by_uuid(client, RESOURCE_TYPES[name].query, uuid, FRESH_SECONDS) if uuid else ():
            if not is_snmp(found):
                return InvalidOptions(
                    f"the {name} {found.get('name')!r} is of the type {found['type']}, and only SNMP ones can be"
                    f" tested. Give another {name}."
                )
    return None


def find_platform_refusal(client: Client, call: PlannedCall, dummy: Record | None) -> Unchangeable | None:
    """Return the failure that another SNMP platform has the address and port of one to create."""
    if call.operation != "CreateSNSSnmpPlatform":
        return None
    address = {name: call.params.get(name) for name in _PLATFORM_ADDRESS}
    for platform in query(client, "QuerySNSSnmpPlatform"):
        if address.items() <= platform.items():
            return Unchangeable(
                f"the platform {platform.get('name')!r} ({platform.get('uuid')}) has the address"
                f" {address['snmpAddress']}:{address['snmpPort']}. Give another one, or the name of that platform."
            )
    return None


def plan_platform(resource: ResourceSpec, state: str, desired: Record, current: Current) -> list[PlannedCall]:
    """Plan the change of an SNMP platform. Servers show the address and port of a new one."""
    steps = build_default_plan(resource, state, desired, current)
    if current.record is not None:
        return steps
    address = {name: desired[name] for name in _PLATFORM_ADDRESS if name in desired}
    return [step.expect(address) for step in steps]


def plan_person(resource: ResourceSpec, state: str, desired: Record, current: Current) -> list[PlannedCall]:
    """Plan the change of a person. Never send the current user ID or another endpoint: services refuse both."""
    endpoint, person = drop_null_references(desired).get("endpointUuid"), current.record
    if state == ABSENT:
        return build_default_plan(resource, state, desired, current)
    if person and isinstance(current, Unreadable):
        if "userId" in desired:
            raise Unsupported(
                "the service cannot list persons, so it is not known whether user_id changes, and it refuses the"
                " current one. Omit user_id."
            )
        missing = [option for name, option in _NEEDED_UNREAD.items() if name not in desired]
        if missing:
            raise Unsupported(f"cannot read the person: {current.reason.reason}", f"Give {' and '.join(missing)}.")
    if endpoint and person and (person.get("endpointUuid") or endpoint) != endpoint:
        raise build_unchangeable(resource, {"endpointUuid": endpoint}, desired, person)
    return build_default_plan(resource, state, desired, current)


def find_person_refusal(client: Client, call: PlannedCall, record: Record | None) -> Unchangeable | None:
    """Return the failure that an endpoint mentions no such persons, or has another one with the user ID."""
    user, endpoint = (str(call.params.get(name) or "") for name in ("userId", "endpointUuid"))
    for found in get_by_uuid(client, "QuerySNSApplicationEndpoint", endpoint) if endpoint and not record else ():
        kind = str(found.get("type") or "")
        if any(other in kind.casefold() for other in _OTHER_TYPES):
            return Unchangeable(
                f"the endpoint {found.get('name')!r} ({endpoint}) is of the type {kind}, and only teamchat endpoints"
                " mention these persons. Give another endpoint."
            )
    for person in find_by_attribute(client, _PERSONS, "userId", user) if user and endpoint else ():
        if person.get("endpointUuid") == endpoint and person.get("uuid") != (record or {}).get("uuid"):
            return Unchangeable(
                f"the endpoint {endpoint!r} already has a person with the user_id {user!r}:"
                f" {person.get('uuid')}. Select the existing person by user_id.",
                {endpoint: "endpointUuid"},
            )
    return None


def find_person(client: Client, desired: Record) -> Record | None:
    """Find a person by its uuid, or by its user ID and, if one is desired, its endpoint."""
    if "uuid" in desired:
        return find_by_query(_PERSONS, "uuid")(client, desired)
    persons = find_by_attribute(client, _PERSONS, "userId", desired["userId"])
    endpoint = desired.get("endpointUuid")
    return require_unique(
        [person for person in persons if endpoint in (None, person.get("endpointUuid"))],
        f"the user_id {desired['userId']!r}",
    )


def _normalize_remark(user: Any, remark: Any) -> str:
    if isinstance(remark, (list, dict)):
        raise InvalidOptions(f"at_person_list: the remark of {user} must be a string, not a {type(remark).__name__}")
    return "" if remark is None else str(remark)
