"""Queries: GET on a collection or on a record of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..description import operations
from ..errors import OperationError, invalid_argument
from ..registry import Call, Reply, catalogued, operation
from ..state.query import check_field
from ..state.schema import COMPUTED
from ..state.store import Record
from .sns_endpoints import with_platform

DEFAULT_LIMIT = 1000


def _query(
    name: str,
    kind: str,
    only: Callable[[Record], bool] | None = None,
    view: Callable[[Call, Record], Record] | None = None,
    **details: Any,
) -> None:
    """Register a query of the records of a type that match the predicate `only`, each converted by `view`.

    The catalogue describes it if docs/openapi.yaml does not.
    """
    register = operation if name in operations() else catalogued

    def handler(call: Call) -> Reply:
        if name == "QuerySNSWorkchatEndpoint" and call.switches.workchat_query_empty:
            return {}
        reply = _select(call, kind, only)
        if view and "inventories" in reply:
            reply["inventories"] = [view(call, record) for record in reply["inventories"]]
        return _with_requested_fields(call, kind, reply)

    register(name, **details)(handler)


def _select(call: Call, kind: str, only: Callable[[Record], bool] | None) -> Reply:
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
            if name in COMPUTED.get(kind, ()):
                raise OperationError("SYS.1000", f"field[{name}] of {kind} is not a column")
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


def _is_vlan(record: Record) -> bool:
    return bool(record["type"] == "L2VlanNetwork")


_query("QueryCbtTask", "cbttask")
_query("QuerySNSWorkchatEndpoint", "endpoint", _is_workchat, with_platform, has_envelope=False, chats="documented")
_query("QuerySNSWeComEndpoint", "endpoint", _is_workchat, with_platform, is_read_by_uuid=True, chats="open")
_query("QuerySNSTopicSubscriber", "subscriber")
_query("QueryPrimaryStorage", "primarystorage")
_query("QueryHost", "host")
_query("QueryVmInstance", "vm")
_query("QueryVmNic", "vmnic")
_query("QueryTemplatedVmInstance", "templatedvminstance")
_query("QuerySNSApplicationEndpoint", "endpoint")
_query("QuerySNSApplicationPlatform", "platform")
_query("QuerySNSSnmpPlatform", "platform", _is_snmp)
_query("QuerySNSTeamchatAtPerson", "person", chats="documented")
_query("QuerySNSFeiShuAtPerson", "person", chats="open")
_query("QuerySNSWeComAtPerson", "wecomperson")
_query("QuerySNSDingTalkAtPerson", "dingtalkperson")
_query("QueryHostNetworkInterface", "hostnic")
_query("QueryZone", "zone", is_read_by_uuid=True)
_query("QueryCluster", "cluster", is_read_by_uuid=True)
_query("QueryL3Network", "l3network", is_read_by_uuid=True)
_query("QueryVolume", "volume", is_read_by_uuid=True)
_query("QueryVolumeSnapshotGroup", "snapshotgroup", is_read_by_uuid=True)
_query("QuerySNSTopic", "topic", is_read_by_uuid=True)
_query("QueryUserTag", "usertag", is_read_by_uuid=True)
_query("QueryTag", "tagpattern")
_query("QueryImage", "image", is_read_by_uuid=True)
_query("QueryDiskOffering", "diskoffering")
_query("QueryInstanceOffering", "instanceoffering")
_query("QueryBackupStorage", "backupstorage")
_query("QueryNetworkServiceProvider", "networkserviceprovider")
_query("QueryL2Network", "l2network")
_query("QueryL2VlanNetwork", "l2network", _is_vlan)
_query("QueryIpRange", "iprange")
_query("QuerySecurityGroup", "securitygroup")
_query("QueryVmNicInSecurityGroup", "nicinsecuritygroup")
_query("QueryAffinityGroup", "affinitygroup")
_query("QueryAccount", "account")
_query("QueryQuota", "quota")
_query("QueryAccountResourceRef", "accountresourceref")
_query("QuerySshKeyPair", "sshkeypair", is_read_by_uuid=True)
_query("QuerySchedulerJob", "schedulerjob")
_query("QuerySchedulerTrigger", "schedulertrigger")
_query("QueryVip", "vip")
_query("QueryEip", "eip")
_query("QueryPortForwardingRule", "portforwarding")
_query("QueryLoadBalancer", "loadbalancer")
_query("QueryLoadBalancerListener", "listener")
