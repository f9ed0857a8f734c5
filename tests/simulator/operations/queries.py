# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Queries: GET on a collection or on a record of it."""

from __future__ import annotations

import collections.abc as c
import typing as t

from ..errors import invalid_argument
from ..params import optional
from ..registry import Call, Reply, operation
from ..state.query import check_field
from ..state.store import Record
from .sns_endpoints import with_platform

DEFAULT_LIMIT = 1000
PARAMS = (
    optional("q", "strings"),
    optional("limit", "integer"),
    optional("start", "integer"),
    optional("sort"),
    optional("count", "boolean"),
    optional("replyWithCount", "boolean"),
    optional("fields"),
)


def _query(
    name: str,
    collection: str,
    kind: str,
    only: c.Callable[[Record], bool] | None = None,
    view: c.Callable[[Call, Record], Record] | None = None,
    by_uuid: bool = True,
    **rules: t.Any,
) -> None:
    """Register a query of the records of a type that match the predicate `only`, each converted by `view`.

    With `by_uuid`, GET on `<collection>/{uuid}` is a read, too.
    """
    paths = [collection, f"{collection}/{{uuid}}"] if by_uuid else [collection]

    def handler(call: Call) -> Reply:
        if name == "QuerySNSWorkchatEndpoint" and call.switches.workchat_query_empty:
            return {}
        reply = _select(call, kind, only)
        if view and "inventories" in reply:
            reply["inventories"] = [view(call, record) for record in reply["inventories"]]
        return _with_requested_fields(call, kind, reply)

    operation(name, "GET", *paths, params=PARAMS, **rules)(handler)


def _select(call: Call, kind: str, only: c.Callable[[Record], bool] | None) -> Reply:
    if "uuid" in call.path:
        record = call.store.find(kind, call.path["uuid"])
        return {"inventories": [record] if record and (only is None or only(record)) else []}
    selector = call.service.selector
    paging = call.switches.query_paging
    sort = call.get("sort", "") if paging else ""
    matches = selector.select(kind, call.get("q", ()), sort.strip("+- "), sort.startswith("-"), only)
    start, limit = call.get("start", 0), call.get("limit", DEFAULT_LIMIT)
    if not paging:
        start, limit = 0, len(matches)
    elif call.get("count"):
        return {"total": len(matches)}
    elif start < 0 or limit < 0:
        raise invalid_argument("limit and start cannot be negative")
    page = matches[start : start + limit] if sort else selector.unordered(matches, start, limit)
    return {"inventories": page, **({"total": len(matches)} if paging and call.get("replyWithCount") else {})}


def _with_requested_fields(call: Call, kind: str, reply: Reply) -> Reply:
    """Return the reply with the requested fields only, and with a single inventory if the switch says so.

    A read by uuid ignores all parameters.
    """
    if call.get("fields") and call.switches.query_paging and "inventories" in reply and "uuid" not in call.path:
        names = [name.strip() for name in call["fields"].split(",")]
        for name in names:
            check_field(kind, name)
        reply["inventories"] = [
            Record(kind, {name: record[name] for name in names if name in record}) for record in reply["inventories"]
        ]
    if call.switches.single_inventory and "uuid" in call.path and "inventories" in reply:
        return {"inventory": next(iter(reply["inventories"]), None)}
    return reply


def _is_workchat(record: Record) -> bool:
    return bool(record["type"] == "WorkChat")


def _is_snmp(record: Record) -> bool:
    return bool(record["type"] == "Snmp")


_query("QueryCbtTask", "cbt-task", "cbttask", since="4.10.10")
_query(
    "QuerySNSWorkchatEndpoint",
    "sns/application-endpoints/workchat",
    "endpoint",
    _is_workchat,
    with_platform,
    has_envelope=False,
    chats="documented",
)
_query(
    "QuerySNSWeComEndpoint",
    "sns/application-endpoints/we-com",
    "endpoint",
    _is_workchat,
    with_platform,
    further=True,
    chats="open",
)
_query("QuerySNSTopicSubscriber", "sns/topics/subscribers", "subscriber", since="2.3.1")
_query("QueryPrimaryStorage", "primary-storage", "primarystorage", by_uuid=False, since="0.6")
_query("QueryHost", "hosts", "host", companion=True)
_query("QueryVmInstance", "vm-instances", "vm", companion=True)
_query("QueryVmNic", "vm-instances/nics", "vmnic", companion=True)
_query("QuerySNSApplicationEndpoint", "sns/application-endpoints", "endpoint", companion=True)
_query("QuerySNSApplicationPlatform", "sns/application-platforms", "platform", companion=True)
_query("QuerySNSSnmpPlatform", "sns/application-platforms/snmp", "platform", _is_snmp, by_uuid=False, companion=True)
_query(
    "QuerySNSTeamchatAtPerson",
    "sns/application-endpoints/teamchat/at-persons",
    "person",
    by_uuid=False,
    companion=True,
    chats="documented",
)
_query(
    "QuerySNSFeiShuAtPerson",
    "sns/application-endpoints/feishu/at-persons",
    "person",
    by_uuid=False,
    further=True,
    chats="open",
)
_query("QueryHostNetworkInterface", "hosts/nics", "hostnic", by_uuid=False, companion=True)
_query("QueryZone", "zones", "zone", further=True)
_query("QueryCluster", "clusters", "cluster", further=True)
_query("QueryL3Network", "l3-networks", "l3network", further=True)
_query("QueryVolume", "volumes", "volume", further=True)
_query("QueryVolumeSnapshotGroup", "volume-snapshots/group", "snapshotgroup", further=True)
_query("QuerySNSTopic", "sns/topics", "topic", further=True)
