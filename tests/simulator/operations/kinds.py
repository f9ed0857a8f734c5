"""The operations of the types of objects in `kinds.py`, made from that table and from the catalogue."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Mapping
from typing import Any

from .. import catalogue
from ..errors import OperationError, invalid_argument, not_found, operation_refused, wrong_vm_state
from ..kinds import ADMIN, KINDS, REFERENCES, Kind
from ..registry import OPERATIONS, Call, Handler, Reply, Steps, catalogued, operation
from ..state.deletion import find_to_delete, forget_nic
from ..state.schema import FIELDS, TAGGED_TYPES
from ..state.store import Record, Store
from . import creation
from .host_removal import remove_host
from .vm_removal import remove_vms_of_zone
from .volumes import detach_volume

Complete = Callable[[Call, dict[str, Any]], Mapping[str, Any]]

JOB_CLASSES = {"startVm": "StartVmInstanceJob", "stopVm": "StopVmInstanceJob", "rebootVm": "RebootVmInstanceJob"}
BY_TABLE = {kind.table: kind for kind in KINDS}


def require_references(call: Call) -> None:
    """Raise OperationError if an object to which a parameter refers does not exist."""
    for name, table in REFERENCES.items():
        value = call.get(name)
        for uuid in value if isinstance(value, list) else [value] if value else ():
            if call.store.find(table, uuid) is None:
                raise not_found(table, uuid)


def require_quota(store: Store, name: str, table: str) -> None:
    """Raise OperationError if the administrator has a quota of this name, and no object of the type is left in it.

    Servers do not restrict the administrator, but no other account logs in to the simulator.
    """
    limits = [row["value"] for row in store["quota"].all() if (row["identityUuid"], row["name"]) == (ADMIN, name)]
    if name and limits and len(store.records(table)[1]) >= limits[0]:
        raise OperationError("ID.1003", f"quota exceeding. The account has a quota of {limits[0]} for {name}")


# ---------------------------------------------------------------------------------------------- what records add


def _complete_disk_offering(call: Call, members: dict[str, Any]) -> Mapping[str, Any]:
    return {"allocatorStrategy": call.get("allocationStrategy", members["allocatorStrategy"])}


def _complete_image(call: Call, members: dict[str, Any]) -> Mapping[str, Any]:
    if not call["backupStorageUuids"]:
        raise invalid_argument("field[backupStorageUuids] cannot be an empty list")
    refs = [{"imageUuid": members["uuid"], "backupStorageUuid": uuid} for uuid in call["backupStorageUuids"]]
    return {"backupStorageRefs": [{**ref, "status": "Ready"} for ref in refs]}


def _complete_l2_network(call: Call, members: dict[str, Any]) -> Mapping[str, Any]:
    return {"virtualNetworkId": call.get("vlan", 0)}


def _complete_l3_network(call: Call, members: dict[str, Any]) -> Mapping[str, Any]:
    return {"zoneUuid": call.store["l2network"].get(call["l2NetworkUuid"])["zoneUuid"]}


def _complete_vip(call: Call, members: dict[str, Any]) -> Mapping[str, Any]:
    network = call.store["l3network"].get(call["l3NetworkUuid"])
    if not network["ipRanges"]:
        raise operation_refused(f"cannot allocate ip from l3network[uuid: {network['uuid']}], it has no ip range")
    wanted = call.get("ipRangeUuid", network["ipRanges"][0]["uuid"])
    ip_range = next((each for each in network["ipRanges"] if each["uuid"] == wanted), None)
    if ip_range is None:
        raise operation_refused(f"ip range[uuid: {wanted}] is not on l3network[uuid: {network['uuid']}]")
    used = {vip["ip"] for vip in call.store["vip"].all()}
    used |= {used_ip["ip"] for nic in call.store.records("vmnic")[1] for used_ip in nic["usedIps"]}
    requested = call.get("requiredIp")
    if requested in used:
        raise operation_refused(f"required ip[{requested}] is not available")
    if requested and int(ipaddress.IPv4Address(requested)) not in range(*_bounds(ip_range)):
        raise operation_refused(f"required ip[{requested}] is not in any range of l3network[uuid: {network['uuid']}]")
    addresses = map(str, map(ipaddress.IPv4Address, range(*_bounds(ip_range))))
    ip = requested or next((address for address in addresses if address not in used), None)
    if ip is None:
        raise operation_refused(f"no ip is left in l3network[uuid: {network['uuid']}]")
    return {"ip": ip, "ipRangeUuid": ip_range["uuid"], **{name: ip_range[name] for name in ("netmask", "gateway")}}


def _bounds(ip_range: Mapping[str, Any]) -> tuple[int, int]:
    return int(ipaddress.IPv4Address(ip_range["startIp"])), int(ipaddress.IPv4Address(ip_range["endIp"])) + 1


def _complete_eip(call: Call, members: dict[str, Any]) -> Mapping[str, Any]:
    if any(eip["vipUuid"] == call["vipUuid"] for eip in call.store["eip"].all()):
        raise operation_refused(f"vip[uuid: {call['vipUuid']}] has been occupied by another eip")
    return _use_vip(call, "Eip")


def _complete_port_forwarding(call: Call, members: dict[str, Any]) -> Mapping[str, Any]:
    start, end = sorted((call["vipPortStart"], call.get("vipPortEnd", call["vipPortStart"])))
    private = call.get("privatePortStart"), call.get("privatePortEnd")
    # One of them is both, and without any, they are those of the VIP.
    first, last = sorted(filter(None, private)) * (2 if None in private else 1) if any(private) else (start, end)
    if end - start != last - first:
        raise invalid_argument(
            f"vip port range[{start}, {end}] is incompatible with private port range[{first}, {last}]"
        )
    for rule in call.store["portforwarding"].all():
        is_same = (rule["vipUuid"], rule["protocolType"]) == (call["vipUuid"], call["protocolType"])
        if is_same and rule["vipPortStart"] <= end and start <= rule["vipPortEnd"]:
            raise invalid_argument(f"vip port range[{start}, {end}] overlaps with rule[uuid: {rule['uuid']}]")
    ports = {"vipPortStart": start, "vipPortEnd": end, "privatePortStart": first, "privatePortEnd": last}
    return {**_use_vip(call, "PortForwarding"), **ports}


def _complete_load_balancer(call: Call, members: dict[str, Any]) -> Mapping[str, Any]:
    _use_vip(call, "LoadBalancer")
    return {}


def _use_vip(call: Call, use: str) -> Mapping[str, Any]:
    """Note what a VIP is used for, and return its address and that of the NIC, if one is given."""
    guest_ip = _guest_ip(call, call["vipUuid"])
    vip = call.store.change("vip", call["vipUuid"], useFor=use)
    return {"vipIp": vip["ip"], "guestIp": guest_ip}


def _guest_ip(call: Call, vip: str) -> str | None:
    """Return the address of the NIC of a call, if one is given. It is on another network than the VIP."""
    uuid = call.get("vmNicUuid")
    if not uuid:
        return None
    nic, address = call.store.find_nic(uuid)[0], call.store["vip"].get(vip)
    if nic["l3NetworkUuid"] == address["l3NetworkUuid"]:
        raise invalid_argument(f"guest l3Network of vm nic[uuid:{uuid}] and l3Network of vip[uuid:{vip}] are the same")
    return str(nic["ip"])


def _complete_scheduler_job(call: Call, members: dict[str, Any]) -> Mapping[str, Any]:
    return {"jobClassName": JOB_CLASSES.get(call["type"], call["type"]), "jobData": str(call.get("parameters", {}))}


def _complete_listener(call: Call, members: dict[str, Any]) -> Mapping[str, Any]:
    others = [each for each in call.store["listener"].all() if each["loadBalancerUuid"] == call["loadBalancerUuid"]]
    if any(each["loadBalancerPort"] == call["loadBalancerPort"] for each in others):
        raise invalid_argument(f"conflict loadBalancerPort[{call['loadBalancerPort']}], a listener has already used it")
    return {"instancePort": call.get("instancePort", call["loadBalancerPort"])}


COMPLETE: dict[str, Complete] = {
    "diskoffering": _complete_disk_offering,
    "image": _complete_image,
    "l2network": _complete_l2_network,
    "l3network": _complete_l3_network,
    "vip": _complete_vip,
    "eip": _complete_eip,
    "portforwarding": _complete_port_forwarding,
    "loadbalancer": _complete_load_balancer,
    "listener": _complete_listener,
    "schedulerjob": _complete_scheduler_job,
}


# ----------------------------------------------------------------------------- create, change and remove any of them


def build(call: Call, kind: Kind, given: Mapping[str, Any]) -> Record:
    """Return the record of a new object; raise OperationError if it cannot be created."""
    require_references(call)
    require_quota(call.store, kind.quota, kind.table)
    for name in kind.unique:
        if any(record[name] == call[name] for record in call.store[kind.table].all()):
            raise operation_refused(f"{kind.table}[{name}: {call[name]}] exists already")
    state = {"state": "Enabled"} if kind.has_state else {}
    blank = dict.fromkeys(kind.record_fields)
    params = {name: value for name, value in call.params.items() if name in kind.record_fields}
    members = {
        **blank,
        **kind.defaults,
        **state,
        **given,
        **params,
        "uuid": creation.generate_uuid(call, kind.table),
        **call.store.dates(),
    }
    if complete := COMPLETE.get(kind.table):
        members.update(complete(call, members))
    return Record(kind.table, {name: value for name, value in members.items() if name in FIELDS[kind.table]})


def _creator(kind: Kind, given: Mapping[str, Any]) -> Handler:
    def create(call: Call) -> Reply:
        record = call.store[kind.table].put(build(call, kind, given))
        creation.tag(call, record)
        return {"inventory": record}

    def settle(call: Call) -> Steps:
        record = call.store[kind.table].put(build(call, kind, given))
        creation.tag(call, record)
        try:
            yield 0
        except OperationError:
            call.store[kind.table].remove(record["uuid"])
            raise
        return {"inventory": call.store.change(kind.table, record["uuid"], status="Ready")}

    return settle if "status" in given else create


def _updater(kind: Kind) -> Handler:
    def update(call: Call) -> Reply:
        record = call.store[kind.table].get(call["uuid"])
        require_references(call)
        changes = {name: value for name, value in call.params.items() if name in FIELDS[kind.table] and name != "uuid"}
        return {"inventory": call.store.change(kind.table, record["uuid"], **changes)}

    return update


def _state_changer(kind: Kind) -> Handler:
    def change_state(call: Call) -> Reply:
        call.store[kind.table].get(call["uuid"])
        state = {"enable": "Enabled", "disable": "Disabled"}[call["stateEvent"]]
        return {"inventory": call.store.change(kind.table, call["uuid"], state=state)}

    return change_state


def _deleter(kind: Kind) -> Handler:
    def delete(call: Call) -> Reply:
        if find_to_delete(call.store, kind.table, call["uuid"]):
            remove(call, kind, call["uuid"])
        return {}

    return delete


def remove(call: Call, kind: Kind, uuid: str) -> None:
    """Remove an object, and all that exists only with it."""
    store = call.store
    if kind.table == "zone":
        remove_vms_of_zone(store, uuid)
    for table, member in kind.cascade:
        for record in store[table].all():
            if record[member] == uuid and table == "host":
                remove_host(call, record["uuid"])
            elif record[member] == uuid:
                remove(call, BY_TABLE.get(table, Kind(table, table)), record["uuid"])
    if kind.table == "l3network":
        _detach_nics(store, uuid)
    for table in ("nicinsecuritygroup", "quota", "accountresourceref"):
        store[table].remove_where(lambda row: uuid in row.values())
    store[kind.table].remove(uuid)


def _detach_nics(store: Store, network: str) -> None:
    """Remove the NICs on an L3 network from their VMs."""
    for vm in store["vm"].all():
        removed = [nic for nic in vm["vmNics"] if nic["l3NetworkUuid"] == network]
        if removed:
            store["vm"].change(vm["uuid"], vmNics=[nic for nic in vm["vmNics"] if nic not in removed])
        for nic in removed:
            forget_nic(store, nic["uuid"])


def _register(kind: Kind) -> None:
    for name, given in kind.creations.items():
        if name not in OPERATIONS and catalogue.has(name):
            catalogued(name)(_creator(kind, given))
    handlers = {
        f"Update{kind.name}": _updater(kind) if kind.has_update else None,
        f"Change{kind.name}State": _state_changer(kind) if kind.has_state else None,
        f"Delete{kind.name}": _deleter(kind),
    }
    for name, handler in handlers.items():
        if handler and name not in OPERATIONS and catalogue.has(name):
            catalogued(name, **({"has_envelope": False} if name.startswith("Delete") else {}))(handler)


for _kind in KINDS:
    _register(_kind)


# ------------------------------------------------------------------------------------------------------ parts


QUOTAS = {"vm.num": 20, "vm.totalNum": 20, "vm.cpuNum": 80, "image.num": 20, "volume.data.num": 40, "l3.num": 20}
"""The quotas of a new account."""


def put_quota(store: Store, account: str, name: str, value: int) -> Record:
    """Add a quota of an account."""
    members = {"identityUuid": account, "identityType": "AccountVO", "name": name, "value": value}
    return store["quota"].put(Record("quota", {"uuid": store.generate_uuid(), **members, **store.dates()}))


@catalogued("CreateAccount")
def create_account(call: Call) -> Reply:
    """Create an account with the usual quotas; its password is not stored."""
    record = call.store["account"].put(build(call, BY_TABLE["account"], {}))
    for name, value in QUOTAS.items():
        put_quota(call.store, record["uuid"], name, value)
    return {"inventory": record}


@catalogued("UpdateAccount")
def update_account(call: Call) -> Reply:
    """Change an account; its password is not stored."""
    call.store["account"].get(call["uuid"])
    return {"inventory": call.store.change("account", call["uuid"], **call.select("name", "description", "state"))}


@catalogued("DeleteAccount", has_envelope=False)
def delete_account(call: Call) -> Reply:
    """Delete an account, whose objects go to the administrator."""
    if call["uuid"] == ADMIN:
        raise operation_refused("the account of the administrator cannot be deleted")
    if find_to_delete(call.store, "account", call["uuid"]):
        remove(call, BY_TABLE["account"], call["uuid"])
    return {}


@catalogued("ChangeResourceOwner")
def change_owner(call: Call) -> Reply:
    """Give an object to an account."""
    require_references(call)
    store, uuid = call.store, call["resourceUuid"]
    resource_type = next((name for name, table in TAGGED_TYPES.items() if store.find(table, uuid)), None)
    if resource_type is None:
        raise not_found("ResourceVO", uuid)
    store["accountresourceref"].remove_where(lambda row: bool(row["resourceUuid"] == uuid))
    members = {"accountUuid": call["accountUuid"], "resourceUuid": uuid, "resourceType": resource_type}
    record = Record("accountresourceref", {**members, **store.dates()})
    store["accountresourceref"].put_without_uuid(record)
    return {"inventory": record}


@catalogued("UpdateQuota")
def update_quota(call: Call) -> Reply:
    """Change a quota of an account. The account of the administrator has no quotas until the first is set."""
    require_references(call)
    store = call.store
    same = [row for row in store["quota"].all() if _is_quota(row, call["identityUuid"], call["name"])]
    if call["value"] < -1:
        raise invalid_argument("field[value] must be -1, which means no limit, or greater")
    if same:
        return {"inventory": store.change("quota", same[0]["uuid"], value=call["value"])}
    return {"inventory": put_quota(store, call["identityUuid"], call["name"], call["value"])}


def _is_quota(row: Record, account: str, name: str) -> bool:
    return bool((row["identityUuid"], row["name"]) == (account, name))


@catalogued("AddIpRange")
def add_ip_range(call: Call) -> Reply:
    """Add an address range to an L3 network."""
    start, end = ipaddress.IPv4Address(call["startIp"]), ipaddress.IPv4Address(call["endIp"])
    network = ipaddress.IPv4Network(f"{start}/{call['netmask']}", strict=False)
    return _add_range(call, network, str(start), str(end), call.get("gateway") or str(network[1]))


@catalogued("AddIpRangeByNetworkCidr")
def add_ip_range_by_cidr(call: Call) -> Reply:
    """Add the addresses of a network to an L3 network."""
    network = ipaddress.IPv4Network(call["networkCidr"], strict=False)
    return _add_range(call, network, str(network[2]), str(network[-2]), call.get("gateway") or str(network[1]))


def _add_range(call: Call, network: ipaddress.IPv4Network, start: str, end: str, gateway: str) -> Reply:
    require_references(call)
    store = call.store
    l3_network = store["l3network"].get(call["l3NetworkUuid"])
    new = range(int(ipaddress.IPv4Address(start)), int(ipaddress.IPv4Address(end)) + 1)
    if not new:
        raise invalid_argument(f"start ip[{start}] is behind end ip[{end}]")
    for other in l3_network["ipRanges"]:
        first, last = _bounds(other)
        if first < new.stop and new.start < last:
            raise operation_refused(f"overlap with ip range[uuid: {other['uuid']}, {other['startIp']}]")
    members = {
        "uuid": creation.generate_uuid(call, "iprange"),
        "name": call["name"],
        "description": call.get("description"),
        "l3NetworkUuid": l3_network["uuid"],
        "startIp": start,
        "endIp": end,
        "netmask": str(network.netmask),
        "gateway": gateway,
        "networkCidr": str(network),
        "ipVersion": 4,
        "prefixLen": network.prefixlen,
        "ipRangeType": call.get("ipRangeType", "Normal"),
        **store.dates(),
    }
    record = Record("iprange", members)
    store.change("l3network", l3_network["uuid"], ipRanges=[*l3_network["ipRanges"], record])
    return {"inventory": record}


@catalogued("UpdateIpRange")
def update_ip_range(call: Call) -> Reply:
    """Rename an address range."""
    found = call.store.find("iprange", call["uuid"])
    if found is None:
        raise not_found("iprange", call["uuid"])
    changed = Record("iprange", {**found, **call.select("name", "description"), "lastOpDate": call.store.now()})
    _replace_range(call.store, found, [changed])
    return {"inventory": changed}


@catalogued("DeleteIpRange", has_envelope=False)
def delete_ip_range(call: Call) -> Reply:
    """Remove an address range from its network."""
    found = find_to_delete(call.store, "iprange", call["uuid"])
    if found:
        _replace_range(call.store, found, [])
    return {}


def _replace_range(store: Store, found: Record, others: list[Record]) -> None:
    network = store["l3network"].get(found["l3NetworkUuid"])
    ranges = [each for each in network["ipRanges"] if each["uuid"] != found["uuid"]]
    store.change("l3network", network["uuid"], ipRanges=[*ranges, *others])


@catalogued("AddSecurityGroupRule")
def add_rules(call: Call) -> Reply:
    """Add rules to a security group."""
    group = call.store["securitygroup"].get(call["securityGroupUuid"])
    rules = list(group["rules"])
    for rule in call["rules"]:
        if rule.get("type") not in ("Ingress", "Egress"):
            raise invalid_argument(f"invalid rule type[{rule.get('type')}]")
        if rule.get("remoteSecurityGroupUuid") and (rule.get("srcIpRange") or rule.get("dstIpRange")):
            raise invalid_argument("the ip range and remoteSecurityGroupUuid are in conflict")
        wanted = _build_rule(call.store, group["uuid"], rule, len(rules) + 1)
        if any(_same_rule(wanted, other) for other in rules):
            raise invalid_argument("rule should not be duplicated")
        rules.append(wanted)
    return {"inventory": call.store.change("securitygroup", group["uuid"], rules=rules)}


RULE = {
    "type": "Ingress",
    "protocol": "ALL",
    "ipVersion": 4,
    "action": "ACCEPT",
    "state": "Enabled",
    "srcIpRange": None,
    "dstIpRange": None,
    "dstPortRange": None,
    "remoteSecurityGroupUuid": None,
    "description": None,
}


@catalogued("ChangeSecurityGroupRule")
def change_rule(call: Call) -> Reply:
    """Change a rule, unless its group would have two of it. One of the service itself keeps what it is about."""
    for group in call.store["securitygroup"].all():
        for rule in group["rules"]:
            if rule["uuid"] == call["uuid"]:
                return {"inventory": _change_rule(call, group, rule)}
    raise not_found("SecurityGroupRuleVO", call["uuid"])


def _change_rule(call: Call, group: Record, rule: dict[str, Any]) -> dict[str, Any]:
    changes = {name: value for name, value in call.params.items() if name in RULE}
    if rule["priority"] == 0 and changes.keys() - {"description", "state"}:
        raise invalid_argument(f"security group rule[{rule['uuid']}] is a default rule")
    changed = {**rule, **changes, "lastOpDate": call.store.now()}
    if any(_same_rule(changed, other) for other in group["rules"] if other["uuid"] != rule["uuid"]):
        raise invalid_argument("rule should not be duplicated")
    rules = [changed if each["uuid"] == rule["uuid"] else each for each in group["rules"]]
    call.store.change("securitygroup", group["uuid"], rules=rules)
    return changed


def _build_rule(store: Store, group: str, rule: Mapping[str, Any], priority: int) -> dict[str, Any]:
    members = {**RULE, **{name: value for name, value in rule.items() if name in RULE}}
    return {"uuid": store.generate_uuid(), "securityGroupUuid": group, "priority": priority, **members, **store.dates()}


def _same_rule(rule: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return all(rule[name] == other[name] for name in RULE if name not in ("description", "state"))


@catalogued("DeleteSecurityGroupRule")
def delete_rules(call: Call) -> Reply:
    """Remove rules, all of one security group."""
    uuids = call["ruleUuids"]
    for group in call.store["securitygroup"].all():
        if any(rule["uuid"] in uuids for rule in group["rules"]):
            rules = [rule for rule in group["rules"] if rule["uuid"] not in uuids]
            return {"inventory": call.store.change("securitygroup", group["uuid"], rules=rules)}
    raise not_found("SecurityGroupRuleVO", ", ".join(uuids))


# ------------------------------------------------------------------------------------------------ attachments


def _change_list(call: Call, table: str, uuid: str, member: str, other: str, is_added: bool) -> Reply:
    """Add an object to a list of uuids in the record of another one, or remove it."""
    require_references(call)
    record = call.store[table].get(uuid)
    if is_added and other in record[member]:
        raise operation_refused(f"{table}[uuid: {uuid}] has {other} already")
    others = [each for each in record[member] if each != other]
    return {"inventory": call.store.change(table, uuid, **{member: [*others, other] if is_added else others})}


def _pair(attach: str, detach: str, table: str, key: str, member: str, other: str) -> None:
    """Register the operations that put the uuid of `other` into a list of the record that `key` names, or remove it."""
    for name, is_added in ((attach, True), (detach, False)):

        def handler(call: Call, is_added: bool = is_added) -> Reply:
            return _change_list(call, table, call[key], member, call[other], is_added)

        catalogued(name)(handler)


_pair(
    "AttachL2NetworkToCluster",
    "DetachL2NetworkFromCluster",
    *("l2network", "l2NetworkUuid", "attachedClusterUuids", "clusterUuid"),
)
_pair(
    "AttachPrimaryStorageToCluster",
    "DetachPrimaryStorageFromCluster",
    *("primarystorage", "primaryStorageUuid", "attachedClusterUuids", "clusterUuid"),
)
_pair(
    "AttachSecurityGroupToL3Network",
    "DetachSecurityGroupFromL3Network",
    *("securitygroup", "securityGroupUuid", "attachedL3NetworkUuids", "l3NetworkUuid"),
)
_pair(
    "AddSchedulerJobToSchedulerTrigger",
    "RemoveSchedulerJobFromSchedulerTrigger",
    *("schedulerjob", "schedulerJobUuid", "triggersUuid", "schedulerTriggerUuid"),
)


@catalogued("AddVmToAffinityGroup")
def add_to_affinity_group(call: Call) -> Reply:
    """Add a VM to an affinity group."""
    require_references(call)
    group = call.store["affinitygroup"].get(call["affinityGroupUuid"])
    call.store["vm"].get(call["uuid"])
    if any(usage["resourceUuid"] == call["uuid"] for usage in group["usages"]):
        raise operation_refused(f"vm[uuid: {call['uuid']}] is in affinity group[uuid: {group['uuid']}] already")
    members = {"affinityGroupUuid": group["uuid"], "resourceUuid": call["uuid"], "resourceType": "VmInstanceVO"}
    usage = {"uuid": call.store.generate_uuid(), **members, **call.store.dates()}
    return {"inventory": call.store.change("affinitygroup", group["uuid"], usages=[*group["usages"], usage])}


@catalogued("RemoveVmFromAffinityGroup")
def remove_from_affinity_group(call: Call) -> Reply:
    """Remove a VM from an affinity group."""
    group = call.store["affinitygroup"].get(call["affinityGroupUuid"])
    usages = [usage for usage in group["usages"] if usage["resourceUuid"] != call["uuid"]]
    return {"inventory": call.store.change("affinitygroup", group["uuid"], usages=usages)}


@catalogued("AddVmNicToSecurityGroup")
def add_nics(call: Call) -> Reply:
    """Add NICs to a security group."""
    require_references(call)
    store, group = call.store, call["securityGroupUuid"]
    for uuid in call["vmNicUuids"]:
        if _find_nics(store, group, [uuid]):
            raise operation_refused(f"vm nic[uuid: {uuid}] is in security group[uuid: {group}] already")
        members = {"securityGroupUuid": group, "vmNicUuid": uuid, "vmInstanceUuid": store.find_nic(uuid)[1]["uuid"]}
        row = {"uuid": store.generate_uuid(), "priority": 1, **members, **store.dates()}
        store["nicinsecuritygroup"].put(Record("nicinsecuritygroup", row))
    return {}


@catalogued("DeleteVmNicFromSecurityGroup")
def remove_nics(call: Call) -> Reply:
    """Remove NICs from a security group."""
    for row in _find_nics(call.store, call["securityGroupUuid"], call["vmNicUuids"]):
        call.store["nicinsecuritygroup"].remove(row["uuid"])
    return {}


def _find_nics(store: Store, group: str, uuids: list[str]) -> list[Record]:
    rows = store["nicinsecuritygroup"].all()
    return [row for row in rows if row["securityGroupUuid"] == group and row["vmNicUuid"] in uuids]


def require_attaching(vm: Record, action: str) -> None:
    """Raise OperationError if the state of a VM does not permit to attach and to detach volumes and ISOs."""
    if vm["state"] not in ("Running", "Stopped", "Paused"):
        raise wrong_vm_state(vm["uuid"], vm["state"], action)


@catalogued("AttachIsoToVmInstance")
def attach_iso(call: Call) -> Reply:
    """Insert an ISO image into the first empty CD-ROM of a VM."""
    require_references(call)
    vm, image = call.store["vm"].get(call["vmInstanceUuid"]), call.store["image"].get(call["isoUuid"])
    require_attaching(vm, "attach an iso to")
    if image["mediaType"] != "ISO":
        raise invalid_argument(f"image[uuid: {image['uuid']}] is not an ISO image")
    if (image["state"], image["status"]) != ("Enabled", "Ready"):
        raise operation_refused(f"image[uuid: {image['uuid']}] is {image['state']} and {image['status']}")
    if any(cd_rom["isoUuid"] == image["uuid"] for cd_rom in vm["vmCdRoms"]):
        raise operation_refused(f"iso[uuid: {image['uuid']}] is attached to vm[uuid: {vm['uuid']}] already")
    empty = next((cd_rom for cd_rom in vm["vmCdRoms"] if cd_rom["isoUuid"] is None), None)
    if empty is None:
        raise operation_refused(f"vm[uuid: {vm['uuid']}] has no empty CD-ROM")
    return {"inventory": _fill(call.store, vm, empty, image["uuid"])}


@catalogued("DetachIsoFromVmInstance")
def detach_iso(call: Call) -> Reply:
    """Remove an ISO image from a VM."""
    vm = call.store["vm"].get(call["vmInstanceUuid"])
    require_attaching(vm, "detach an iso from")
    for cd_rom in vm["vmCdRoms"]:
        if cd_rom["isoUuid"] and cd_rom["isoUuid"] == call.get("isoUuid", cd_rom["isoUuid"]):
            vm = _fill(call.store, vm, cd_rom, None)
    return {"inventory": vm}


def eject_iso(store: Store, image: str) -> None:
    """Take an ISO image out of all CD-ROMs."""
    for vm in store["vm"].all():
        for cd_rom in vm["vmCdRoms"]:
            if cd_rom["isoUuid"] == image:
                vm = _fill(store, vm, cd_rom, None)


def _fill(store: Store, vm: Record, cd_rom: Record, image: str | None) -> Record:
    path = f"/storage/images/{image}.iso" if image else None
    changed = Record("cdrom", {**cd_rom, "isoUuid": image, "isoInstallPath": path, "lastOpDate": store.now()})
    return store["vm"].change(vm["uuid"], vmCdRoms=[changed if each is cd_rom else each for each in vm["vmCdRoms"]])


def _use_nic(attach: str, detach: str, table: str, key: str) -> None:
    """Register the operations that give an EIP or a forwarded port to a NIC, and take it back."""

    @catalogued(attach)
    def give(call: Call) -> Reply:
        require_references(call)
        record = call.store[table].get(call[key])
        if record["vmNicUuid"]:
            raise operation_refused(f"{table}[uuid: {record['uuid']}] is attached to a vm nic already")
        members = {"vmNicUuid": call["vmNicUuid"], "guestIp": _guest_ip(call, record["vipUuid"])}
        return {"inventory": call.store.change(table, record["uuid"], **members)}

    @catalogued(detach)
    def take(call: Call) -> Reply:
        call.store[table].get(call["uuid"])
        return {"inventory": call.store.change(table, call["uuid"], vmNicUuid=None, guestIp=None)}


_use_nic("AttachEip", "DetachEip", "eip", "eipUuid")
_use_nic("AttachPortForwardingRule", "DetachPortForwardingRule", "portforwarding", "ruleUuid")


@catalogued("AddVmNicToLoadBalancer")
def add_backends(call: Call) -> Reply:
    """Add NICs to the backends of a listener."""
    require_references(call)
    listener = call.store["listener"].get(call["listenerUuid"])
    present = [ref["vmNicUuid"] for ref in listener["vmNicRefs"]]
    refs = [{"listenerUuid": listener["uuid"], "vmNicUuid": uuid, "status": "Active"} for uuid in call["vmNicUuids"]]
    if any(ref["vmNicUuid"] in present for ref in refs):
        raise operation_refused(f"a vm nic is a backend of listener[uuid: {listener['uuid']}] already")
    changed = call.store.change("listener", listener["uuid"], vmNicRefs=[*listener["vmNicRefs"], *refs])
    return {"inventory": changed}


@catalogued("RemoveVmNicFromLoadBalancer")
def remove_backends(call: Call) -> Reply:
    """Remove NICs from the backends of a listener."""
    listener = call.store["listener"].get(call["listenerUuid"])
    refs = [ref for ref in listener["vmNicRefs"] if ref["vmNicUuid"] not in call["vmNicUuids"]]
    return {"inventory": call.store.change("listener", listener["uuid"], vmNicRefs=refs)}


# ---------------------------------------------------------------------------------------------- data volumes


@operation("CreateDataVolume")
def create_data_volume(call: Call) -> Steps:
    """Create a data volume. It is NotInstantiated until it is attached, or Ready when it is on the given storage."""
    require_references(call)
    require_quota(call.store, "volume.data.num", "volume")
    offering = call.get("diskOfferingUuid")
    size = call.store["diskoffering"].get(offering)["diskSize"] if offering else call.get("diskSize")
    if size is None:
        raise invalid_argument("field[diskSize] is mandatory without field[diskOfferingUuid]")
    volume = call.store["volume"].put(_build_volume(call, size))
    try:
        yield 0
    except OperationError:
        call.store["volume"].remove(volume["uuid"])
        raise
    is_ready = volume["status"] == "Creating"
    return {"inventory": call.store.change("volume", volume["uuid"], status="Ready") if is_ready else volume}


def _build_volume(call: Call, size: int) -> Record:
    storage, store = call.get("primaryStorageUuid"), call.store
    uuid = creation.generate_uuid(call, "volume")
    record = Record("volume", dict.fromkeys(FIELDS["volume"]))
    record.update(
        {
            **call.select("name", "description", "diskOfferingUuid", "primaryStorageUuid"),
            "uuid": uuid,
            "type": "Data",
            "format": "qcow2" if storage else None,
            "installPath": f"/storage/volumes/{uuid}.qcow2" if storage else None,
            "state": "Enabled",
            "status": "Creating" if storage else "NotInstantiated",
            "size": size,
            "actualSize": 0,
            "isShareable": False,
            "encrypted": False,
            **store.dates(),
        }
    )
    creation.tag(call, record)
    return record


@operation("UpdateVolume", has_envelope=False)
def update_volume(call: Call) -> Reply:
    """Rename a volume."""
    changed = _change_volume(call, **call.select("name", "description"))
    return {"inventory": changed}


@catalogued("ChangeVolumeState")
def change_volume_state(call: Call) -> Reply:
    """Enable or disable a volume."""
    return {"inventory": _change_volume(call, state=f"{call['stateEvent'].capitalize()}d")}


def _change_volume(call: Call, **members: Any) -> Record:
    _find_volume(call, call["uuid"])
    return call.store.replace_members("volume", call["uuid"], {**members, "lastOpDate": call.store.now()})


@operation("ResizeDataVolume", has_envelope=False)
def resize_data_volume(call: Call) -> Reply:
    """Make a data volume larger; a running VM has a larger disk at once."""
    return _resize_volume(call, "Data")


@operation("ResizeRootVolume", has_envelope=False)
def resize_root_volume(call: Call) -> Reply:
    """Make a root volume larger, as `resize_data_volume` does."""
    return _resize_volume(call, "Root")


def _resize_volume(call: Call, expected_type: str) -> Reply:
    volume = _find_volume(call, call["uuid"])
    if volume["type"] != expected_type:
        raise invalid_argument(f"volume[uuid: {volume['uuid']}] is not a {expected_type.lower()} volume")
    if call["size"] <= volume["size"]:
        raise invalid_argument(f"the new size[{call['size']}] is not greater than the present one[{volume['size']}]")
    return {"inventory": _change_volume(call, size=call["size"])}


@operation("AttachDataVolumeToVm", has_envelope=False)
def attach_data_volume(call: Call) -> Reply:
    """Attach a data volume to a running, stopped or paused VM. Without a storage, it gets that of the root volume."""
    store, vm = call.store, call.store["vm"].get(call["vmInstanceUuid"])
    volume = _find_volume(call, call["volumeUuid"])
    if volume["type"] != "Data" or volume["state"] != "Enabled" or volume["status"] not in ("Ready", "NotInstantiated"):
        raise operation_refused(
            f"volume[uuid: {volume['uuid']}] is {volume['type']}, {volume['state']}, {volume['status']}"
        )
    if volume["vmInstanceUuid"]:
        raise operation_refused(
            f"volume[uuid: {volume['uuid']}] has been attached to vm[uuid: {volume['vmInstanceUuid']}]"
        )
    require_attaching(vm, "attach a volume to")
    used = {each["deviceId"] for each in vm["allVolumes"]}
    root = next((each for each in vm["allVolumes"] if each["type"] == "Root"), volume)
    members = {
        **volume,
        "vmInstanceUuid": vm["uuid"],
        "lastVmInstanceUuid": vm["uuid"],
        "deviceId": next(number for number in range(1, 26) if number not in used),
        "status": "Ready",
        "format": volume["format"] or "qcow2",
        "primaryStorageUuid": volume["primaryStorageUuid"] or root["primaryStorageUuid"],
        "installPath": volume["installPath"] or f"/storage/volumes/{volume['uuid']}.qcow2",
        "lastOpDate": store.now(),
    }
    attached = Record("volume", members)
    store["volume"].remove(volume["uuid"])
    store["vm"].change(vm["uuid"], allVolumes=[*vm["allVolumes"], attached])
    return {"inventory": attached}


@operation("DetachDataVolumeFromVm", has_envelope=False)
def detach_data_volume(call: Call) -> Reply:
    """Detach a data volume from its VM."""
    volume = _find_volume(call, call["uuid"])
    if volume["type"] != "Data" or not volume["vmInstanceUuid"]:
        raise operation_refused(f"volume[uuid: {volume['uuid']}] is not attached to a vm")
    require_attaching(call.store["vm"].get(volume["vmInstanceUuid"]), "detach a volume from")
    return {"inventory": detach_volume(call.store, volume)}


def _find_volume(call: Call, uuid: str) -> Record:
    volume = call.store.find("volume", uuid)
    if volume is None:
        raise not_found("volume", uuid)
    return volume


# The operation lacks the name of its objects.
catalogued("ChangeSchedulerState")(_state_changer(BY_TABLE["schedulerjob"]))
