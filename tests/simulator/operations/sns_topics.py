"""Notification topics and the endpoints that subscribe to them."""

from __future__ import annotations

from ..errors import OperationError
from ..registry import Call, Reply, operation
from ..state.store import Record
from . import creation

STATES = {"enable": "Enabled", "disable": "Disabled"}


@operation("CreateSNSTopic")
def create_topic(call: Call) -> Reply:
    """Create a topic. Names are not unique."""
    topic = Record(
        "topic",
        {
            "uuid": creation.generate_uuid(call, "topic"),
            "name": call["name"],
            "description": call.get("description"),
            "state": "Enabled",
            "locale": call.get("locale"),
            **call.store.dates(),
        },
    )
    creation.tag(call, topic)
    return {"inventory": call.store["topic"].put(topic)}


@operation("UpdateSNSTopic")
def update_topic(call: Call) -> Reply:
    """Change the given members of a topic."""
    return {"inventory": call.store.change("topic", call["uuid"], **call.select("name", "description", "locale"))}


@operation("ChangeSNSTopicState")
def change_topic_state(call: Call) -> Reply:
    """Enable or disable a topic, whatever its state."""
    return {"inventory": call.store.change("topic", call["uuid"], state=STATES[call["stateEvent"]])}


@operation("DeleteSNSTopic", has_envelope=False)
def delete_topic(call: Call) -> Reply:
    """Delete a topic with its subscriptions; succeed if it does not exist."""
    call.store["subscriber"].remove_where(lambda subscriber: bool(subscriber["topicUuid"] == call["uuid"]))
    call.store["topic"].remove_where(lambda topic: bool(topic["uuid"] == call["uuid"]))
    return {}


@operation("SubscribeSNSTopic", has_envelope=False)
def subscribe(call: Call) -> Reply:
    """Subscribe an endpoint to a topic. A second subscription violates a key of the database."""
    store = call.store
    topic, endpoint = store["topic"].get(call["topicUuid"]), store["endpoint"].get(call["endpointUuid"])
    if any(_connects(subscriber, call) for subscriber in store["subscriber"].all()):
        raise OperationError("SYS.1000", "ConstraintViolationException: could not execute statement")
    members = {"topicUuid": topic["uuid"], "endpointUuid": endpoint["uuid"], **store.dates()}
    store["subscriber"].put_without_uuid(Record("subscriber", members))
    return {}


@operation("UnsubscribeSNSTopic", has_envelope=False)
def unsubscribe(call: Call) -> Reply:
    """Unsubscribe an endpoint from a topic; succeed if it is not subscribed."""
    call.store["topic"].get(call["topicUuid"])
    call.store["endpoint"].get(call["endpointUuid"])
    call.store["subscriber"].remove_where(lambda subscriber: _connects(subscriber, call))
    return {}


def _connects(subscriber: Record, call: Call) -> bool:
    return (subscriber["topicUuid"], subscriber["endpointUuid"]) == (call["topicUuid"], call["endpointUuid"])
