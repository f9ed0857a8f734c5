# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is PRIVATE to the collection. It can have breaking changes at any time.

"""Queries: all records that meet conditions, or the records with a uuid or another value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from ansible_collections.virtinfra.manager.plugins.module_utils._client import Client
from ansible_collections.virtinfra.manager.plugins.module_utils._conditions import equality
from ansible_collections.virtinfra.manager.plugins.module_utils._errors import AmbiguousMatch, Unsupported
from ansible_collections.virtinfra.manager.plugins.module_utils._operations import get_operation
from ansible_collections.virtinfra.manager.plugins.module_utils._pagination import paginate, records_of
from ansible_collections.virtinfra.manager.plugins.module_utils._records import (
    DELETED,
    RECORD_FIELDS,
    Record,
    values_equal,
)

Found = TypeVar("Found")

# The query for each resource type, by its name in cursor queries.
RESOURCE_QUERIES: Mapping[str, str] = {
    "cbttask": "QueryCbtTask",
    "cluster": "QueryCluster",
    "endpoint": "QuerySNSApplicationEndpoint",
    "host": "QueryHost",
    "hostnic": "QueryHostNetworkInterface",
    "l3network": "QueryL3Network",
    "person": "QuerySNSTeamchatAtPerson",
    "platform": "QuerySNSApplicationPlatform",
    "primarystorage": "QueryPrimaryStorage",
    "snapshotgroup": "QueryVolumeSnapshotGroup",
    "subscriber": "QuerySNSTopicSubscriber",
    "topic": "QuerySNSTopic",
    "vm": "QueryVmInstance",
    "vmnic": "QueryVmNic",
    "volume": "QueryVolume",
    "zone": "QueryZone",
}


def get_by_uuid(client: Client, name: str, uuid: str) -> list[Record]:
    """Return a list with the record of this uuid, or an empty list, with the request that the table allows."""
    reply = client.get(name, {"uuid": uuid})
    has_records = bool(reply.keys() & {"inventories", "inventory"})
    records = records_of(reply, name) if has_records else []
    matches = [record for record in records if record.get("uuid") == uuid]
    if matches or (has_records and not records):
        return matches
    # Some servers omit null members, so a reply without records may mean that there are none, or that this query never
    # returns any. A service that ignores the uuid may have returned a part of all records.
    return find_by_attribute(client, name, "uuid", uuid)


def find_by_attribute(
    client: Client,
    name: str,
    attribute: str,
    value: str,
    conditions: Iterable[str] = (),
    view: Callable[[Record], Record] = dict,
) -> list[Record]:
    """Return the records, converted by ``view``, that meet the conditions and whose attribute has the value."""
    is_known = attribute in RECORD_FIELDS.get(get_operation(name).record, ())
    condition = equality(attribute, value) if is_known else None
    records = map(view, query(client, name, [*conditions, *([condition] if condition else [])]))
    return [record for record in records if values_equal(value, record.get(attribute))]


def query(client: Client, name: str, conditions: Iterable[str] = ()) -> list[Record]:
    """Return all records that meet the conditions, each ``<field><op><value>``."""
    return [record for page, dummy in paginate(client, name, conditions) for record in page]


def first_readable(*readers: Callable[[Client, Record], Found]) -> Callable[[Client, Record], Found]:
    """Return a finder that uses the first of several finders that the service and the credentials support."""

    def read(client: Client, desired: Record) -> Found:
        reasons = []
        for reader in readers:
            try:
                return reader(client, desired)
            except Unsupported as reason:
                reasons.append(reason.reason)
        raise Unsupported("; ".join(reasons))

    return read


def exists(record: Record) -> bool:
    """Return whether an object exists: a deleted VM or volume keeps its record and its name for some time."""
    return not any(record.get(field) in values for field, values in DELETED.items())


def require_unique(records: list[Record], what: str) -> Record | None:
    """Return the only record, or None; raise AmbiguousMatch when there are several."""
    if len(records) > 1:
        raise AmbiguousMatch(what, [str(record.get("uuid")) for record in records])
    return records[0] if records else None
