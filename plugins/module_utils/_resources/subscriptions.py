"""The subscriptions of endpoints to topics, and what is removed with a topic, an endpoint or a platform."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

from .._api.errors import ApiError, InvalidOptions, Unsupported
from .._api.operation import ABSENT
from .._api.operations import get_operation
from .._api.records import Record, drop_null_references, is_same_value
from .._api.references import format_option_name
from .._client.client import Client
from .._client.lists import query, require_members
from .._engine.current import Current, Predicted, Unreadable, replace_record
from .._engine.guards import ALSO_REMOVED, LOST, REMOVED, Dependent, Dependents, Guard
from .._engine.plan import build_default_plan
from .._engine.spec import Plan, PlannedCall, ResourceSpec
from .chains import chain_plans
from .finders import Finder
from .readings import explain_unreadable

_SUBSCRIBERS = "QuerySNSTopicSubscriber"

# The operations that subscribe an endpoint to a topic, and that end the subscription.
_SUBSCRIBE, _UNSUBSCRIBE = "SubscribeSNSTopic", "UnsubscribeSNSTopic"

# The option for all topics of an endpoint, by its API name, and the name of their uuids in the record.
TOPICS = "topicUuids"


# The effect of the removal of a platform on an endpoint that the service could not remove.
LEFT = "left without a platform"

# The fields of an endpoint of a chat room that the operation for endpoints of all types does not change.
ROOM_FIELDS = ("url", "atAll")

# The operations that change these fields, by the type of the endpoint in small letters without hyphens. The spelling of
# the types is not documented.
_ROOM_UPDATES = {
    "wecom": "UpdateSNSWeComEndpoint",
    "workchat": "UpdateSNSWeComEndpoint",
    "feishu": "UpdateSNSFeiShuEndpoint",
    "teamchat": "UpdateSNSFeiShuEndpoint",
    "dingtalk": "UpdateSNSDingTalkEndpoint",
    "http": "UpdateSNSHttpEndpoint",
    "microsoftteams": "UpdateSNSMicrosoftTeamsEndpoint",
}

# The queries for the persons that endpoints of a type mention, by the type of the endpoint. A service that lacks a
# query has no such persons.
_PERSONS = {
    "wecom": "QuerySNSWeComAtPerson",
    "workchat": "QuerySNSWeComAtPerson",
    "dingtalk": "QuerySNSDingTalkAtPerson",
}

# The query for the persons of other endpoints. A service that lacks it may have persons.
_DOCUMENTED_PERSONS = "QuerySNSTeamchatAtPerson"


def add_topics(find: Finder) -> Finder:
    """Return a finder of endpoints that adds the uuids of their topics if the options contain topics."""

    def read(client: Client, desired: Record) -> Record | None:
        endpoint = find(client, desired)
        if endpoint is None or TOPICS not in desired:
            return endpoint
        return {**endpoint, TOPICS: list_subscriptions(client, "endpointUuid", endpoint["uuid"], "topicUuid")}

    return read


def plan_subscriptions(plan_endpoint: Plan = build_default_plan) -> Plan:
    """Return a plan function that also makes the topics of an endpoint those of the options, if they have topics."""

    def plan(resource: ResourceSpec, state: str, desired: Record, current: Current) -> list[PlannedCall]:
        if state == ABSENT or TOPICS not in desired:
            return plan_endpoint(resource, state, desired, current)
        if isinstance(current, Unreadable):
            raise Unsupported(f"cannot compare topics: {current.reason.reason}", "Omit topics.")
        others = {name: value for name, value in desired.items() if name != TOPICS}
        return chain_plans(
            current, partial(plan_endpoint, resource, state, others), partial(_plan_topics, desired[TOPICS])
        )

    return plan


def _plan_topics(desired: Sequence[str], current: Current) -> list[PlannedCall]:
    """Plan to subscribe an endpoint to the desired topics, and then to end its other subscriptions."""
    record = current.record or {}
    owner = {"endpointUuid": record["uuid"]} if drop_null_references(record).get("uuid") else {}
    topics = list(record.get(TOPICS) or ())
    calls: list[PlannedCall] = []
    for topic in dict.fromkeys(desired):
        if topic not in topics:
            topics = sorted([*topics, topic])
            calls.append(PlannedCall(_SUBSCRIBE, {"topicUuid": topic, **owner}, {**record, TOPICS: topics}))
    for topic in [topic for topic in topics if topic not in desired]:
        topics = [other for other in topics if other != topic]
        calls.append(PlannedCall(_UNSUBSCRIBE, {"topicUuid": topic, **owner}, {**record, TOPICS: topics}))
    return calls


def plan_room_endpoint(update: str, plan_endpoint: Plan) -> Plan:
    """Return a plan function that changes an endpoint with ``update`` if the URL or the mention of all differs."""

    def plan(resource: ResourceSpec, state: str, desired: Record, current: Current) -> list[PlannedCall]:
        record = {} if current.record is None or isinstance(current, Unreadable) else current.record
        differing = any(name in desired and not is_same_value(desired[name], record.get(name)) for name in ROOM_FIELDS)
        kind = replace(resource, update=update) if record and differing else resource
        return plan_endpoint(kind, state, desired, current)

    return plan


def plan_endpoint_of_any_type(
    resource: ResourceSpec, state: str, desired: Record, current: Current
) -> list[PlannedCall]:
    """Plan the change of an endpoint whose type only its record shows.

    Raise InvalidOptions for a URL or a mention of all that endpoints of this type do not have, and Unsupported if the
    service does not show the type, or values that have to be compared before the removal.
    """
    given = [name for name in ROOM_FIELDS if name in desired]
    if not given or current.record is None:
        return build_default_plan(resource, state, desired, current)
    if isinstance(current, Unreadable):
        options = _join_options(given)
        raise Unsupported(
            f"cannot read the type of the endpoint, on which {options} depends: {current.reason.reason}",
            f"Omit {options}.",
        )
    if isinstance(current, Predicted):
        # Of the types that an earlier task can create, only workchat has these fields.
        update = _ROOM_UPDATES["workchat"]
        if state != ABSENT:
            current = replace_record(current, {**dict.fromkeys(given), **current.record})
    else:
        update = _find_room_update(current.record, given)
        if state == ABSENT and (hidden := _join_options(name for name in given if name not in current.record)):
            raise Unsupported(f"cannot compare {hidden}, because the service does not show it", f"Omit {hidden}.")
    return plan_room_endpoint(update, build_default_plan)(resource, state, desired, current)


def _find_room_update(endpoint: Record, fields: Sequence[str]) -> str:
    """Return the operation that changes these fields of an endpoint. Raise InvalidOptions if it does not have them."""
    kind = str(endpoint.get("type") or "unknown")
    update = _ROOM_UPDATES.get(_normalize_type(kind))
    known = get_operation(update).parameters if update else {}
    foreign = _join_options(name for name in fields if name not in known)
    if update is None or foreign:
        raise InvalidOptions(f"{foreign} cannot be used with an endpoint of the type {kind}. Omit {foreign}.")
    return update


def _normalize_type(kind: str) -> str:
    return kind.replace("-", "").lower()


def _join_options(fields: Iterable[str]) -> str:
    return ", ".join(map(format_option_name, fields))


def find_parts_of_endpoint(client: Client, endpoint: Record, dummy: object) -> Dependents:
    """Return the persons and the subscriptions that are removed with an endpoint.

    A subscription has the uuid and the name of its topic.
    """
    operation = _PERSONS.get(_normalize_type(str(endpoint.get("type"))), _DOCUMENTED_PERSONS)
    persons: list[Record] = []
    warnings: list[str] = []
    try:
        persons = query(client, operation, [f"endpointUuid={endpoint['uuid']}"])
    except (Unsupported, ApiError) as failure:
        if isinstance(failure, ApiError) or operation == _DOCUMENTED_PERSONS:
            warnings.append(f"cannot check which persons are removed with the endpoint: {explain_unreadable(failure)}")
    topics = list_subscriptions(client, "endpointUuid", endpoint["uuid"], "topicUuid")
    names = _read_names(client, "QuerySNSTopic", topics)
    return Dependents(
        [
            *(
                Dependent(str(person["uuid"]), _name_person(person), REMOVED, type="person")
                for person in persons
                if person.get("endpointUuid") == endpoint["uuid"]
            ),
            *(Dependent(uuid, names.get(uuid, uuid), REMOVED, type="subscriber") for uuid in topics),
        ],
        warnings,
    )


def _name_person(person: Record) -> str:
    """Return the user ID of a person, or the phone number that ding-talk has in its place."""
    return str(person.get("userId") or person.get("phoneNumber"))


def find_endpoints_of_platform(client: Client, platform: Record, dummy: bool | None) -> Dependents:
    """Return the endpoints that are lost with a platform.

    Some services and accounts cannot list them.
    """
    try:
        endpoints = query(client, "QuerySNSApplicationEndpoint", [f"platformUuid={platform['uuid']}"])
    except (Unsupported, ApiError) as failure:
        return _report_unreadable("endpoints", "platform", failure)
    return Dependents(
        [
            Dependent(str(endpoint["uuid"]), str(endpoint.get("name")), LOST, type="endpoint")
            for endpoint in endpoints
            if endpoint.get("platformUuid") == platform["uuid"]
        ]
    )


def _report_unreadable(nouns: str, owner: str, failure: Unsupported | ApiError) -> Dependents:
    """Return why the dependents of an object cannot be listed."""
    return Dependents(unknown=f"cannot check which {nouns} are removed with the {owner}: {explain_unreadable(failure)}")


def review_endpoints(client: Client, dummy: Record, before: Dependents) -> list[Dependent]:
    """Return the endpoints of a removed platform, each lost or left: services hide that they could not remove one."""
    remaining = {endpoint.get("uuid") for endpoint in query(client, "QuerySNSApplicationEndpoint")}
    return [item._replace(effect=LEFT if item.uuid in remaining else LOST) for item in before.objects]


def find_subscribers(client: Client, topic: Record, dummy: bool | None) -> Dependents:
    """Return the endpoints that subscribe to a topic. Their subscriptions are lost with it.

    Some services and accounts cannot list them.
    """
    try:
        uuids = list_subscriptions(client, "topicUuid", topic["uuid"], "endpointUuid")
    except (Unsupported, ApiError) as failure:
        return _report_unreadable("subscribers", "topic", failure)
    names = _read_names(client, "QuerySNSApplicationEndpoint", uuids)
    return Dependents([Dependent(uuid, names.get(uuid, uuid), LOST, type="subscriber") for uuid in uuids])


def list_subscriptions(client: Client, key: str, uuid: str, other: str) -> list[str]:
    """Return the uuids of the topics of an endpoint, or of the endpoints of a topic, sorted.

    Raise TransportError for a record that does not say who subscribes to what: a subscription would seem to be lacking.
    """
    records = query(client, _SUBSCRIBERS, [f"{key}={uuid}"])
    require_members(records, _SUBSCRIBERS, key, other)
    return sorted({str(record[other]) for record in records if record[key] == uuid})


def _read_names(client: Client, operation: str, uuids: list[str]) -> dict[str, str]:
    """Return the names of objects by their uuids; those that the service cannot list are missing."""
    names: dict[str, str] = {}
    with suppress(Unsupported):
        for record in query(client, operation) if uuids else ():
            names[str(record["uuid"])] = str(record.get("name") or record["uuid"])
    return names


TOPIC_GUARD = Guard(find_subscribers)
PLATFORM_GUARD = Guard(
    find_endpoints_of_platform,
    harmful=(LOST, LEFT),
    members={LOST: ALSO_REMOVED, LEFT: "remaining_endpoints"},
    review=review_endpoints,
)
ENDPOINT_GUARD = Guard(find_parts_of_endpoint, option="")
