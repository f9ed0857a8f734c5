# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is PRIVATE to the collection. It can have breaking changes at any time.

"""The subscriptions of endpoints to topics, and what is removed with a topic, an endpoint or a platform."""

from __future__ import annotations

from contextlib import suppress

from .._api.errors import Unsupported
from .._api.records import Record
from .._client.client import Client
from .._client.lists import query
from .._engine.guards import LOST, Dependent, Dependents, Guard

_SUBSCRIBERS = "QuerySNSTopicSubscriber"


def find_subscribers(client: Client, topic: Record, dummy: object) -> Dependents:
    """Return the endpoints that subscribe to a topic. Their subscriptions are lost with it."""
    uuids = list_subscriptions(client, "topicUuid", topic["uuid"], "endpointUuid")
    names = _read_names(client, "QuerySNSApplicationEndpoint", uuids)
    return Dependents([Dependent(uuid, names.get(uuid, uuid), LOST, type="subscriber") for uuid in uuids])


def list_subscriptions(client: Client, key: str, uuid: str, other: str) -> list[str]:
    """Return the uuids of the topics of an endpoint, or of the endpoints of a topic, sorted."""
    records = [record for record in query(client, _SUBSCRIBERS, [f"{key}={uuid}"]) if record.get(key) == uuid]
    return sorted({str(record[other]) for record in records})


def _read_names(client: Client, operation: str, uuids: list[str]) -> dict[str, str]:
    """Return the names of objects by their uuids; those that the service cannot list are missing."""
    names: dict[str, str] = {}
    with suppress(Unsupported):
        for record in query(client, operation) if uuids else ():
            names[str(record["uuid"])] = str(record.get("name") or record["uuid"])
    return names


TOPIC_GUARD = Guard(find_subscribers)
