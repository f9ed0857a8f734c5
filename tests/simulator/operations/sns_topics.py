# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Subscriptions of endpoints to notification topics."""

from __future__ import annotations

from ..registry import Call, Reply, operation
from ..state.store import Record


@operation("SubscribeSNSTopic", has_envelope=False)
def subscribe(call: Call) -> Reply:
    """Subscribe an endpoint to a topic; do nothing if it is subscribed."""
    store = call.store
    topic, endpoint = store["topic"].get(call["topicUuid"]), store["endpoint"].get(call["endpointUuid"])
    if not any(_connects(subscriber, call) for subscriber in store["subscriber"].all()):
        members = {"topicUuid": topic["uuid"], "endpointUuid": endpoint["uuid"], **store.dates()}
        store["subscriber"].put_without_uuid(Record("subscriber", members))
    return {}


@operation("UnsubscribeSNSTopic", has_envelope=False)
def unsubscribe(call: Call) -> Reply:
    """Unsubscribe an endpoint from a topic; succeed if it is not subscribed."""
    call.store["subscriber"].remove_where(lambda subscriber: _connects(subscriber, call))
    return {}


def _connects(subscriber: Record, call: Call) -> bool:
    return (subscriber["topicUuid"], subscriber["endpointUuid"]) == (call["topicUuid"], call["endpointUuid"])
