"""The objects of a service, described with the variables of the roles host_onboarding and notifications."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ...module_utils._api.errors import VirtinfraError
from ...module_utils._api.records import parse_timestamp
from ...module_utils._masking.patterns import MASK
from .site import Site

Record = Mapping[str, Any]
Object = dict[str, Any]

# Half of a surrogate pair, which no file in UTF-8 can contain.
_UNWRITABLE = re.compile(r"[\ud800-\udfff]")

# The state of a role for each state of the service.
HOST_STATES = {
    "Enabled": "enabled",
    "Disabled": "disabled",
    "PreMaintenance": "maintenance",
    "Maintenance": "maintenance",
}
STATES = {"Enabled": "enabled", "Disabled": "disabled"}

# The modules and operations that read the records.
READS: dict[str, Callable[[Site], list[Any]]] = {
    "hosts": lambda site: _list(site, "host"),
    "clusters": lambda site: _list(site, "cluster"),
    "platforms": lambda site: _list(site, "platform"),
    "topics": lambda site: _list(site, "topic"),
    "subscribers": lambda site: _list(site, "subscriber"),
    "endpoints": lambda site: site.read("sns_endpoint_info")["endpoints"],
    "services": Site.read_service_types,
}

# Records without which objects can be described.
OPTIONAL = ("clusters", "services", "subscribers")

# The type in the role notifications for each type of endpoints in the service, in lower case.
ENDPOINT_TYPES = {"snmp": "snmp", "workchat": "workchat", "wecom": "workchat"}


def read_objects(site: Site) -> dict[str, list[Object] | None]:
    """Return the objects of a service, as ``build_site`` does."""
    return build_site({name: _read(site, read) for name, read in READS.items()})


def _list(site: Site, kind: str) -> list[Any]:
    resources: list[Any] = site.read("resource_info", resource_type=kind)["resources"]
    return resources


def _read(site: Site, read: Callable[[Site], list[Any]]) -> Record:
    """Return the records, or the failure in the form of a module's result."""
    try:
        return {"records": read(site)}
    except VirtinfraError as failure:
        return {"failed": True, "msg": str(failure), "error": failure.error}


def build_site(results: Mapping[str, Any]) -> dict[str, list[Object] | None]:
    """Return the objects of each kind, sorted by name; None for a kind of which the records could not be read.

    The kinds are host, service, platform, topic, endpoint and person; ``failure`` has the reads that failed. Each
    object has a key that identifies it, a name for messages, its uuid, the time of its last change in the local time of
    the service, the options of its entry, and the problem for which the roles cannot describe it, or None.
    ``results`` are those of READS, by name.
    """
    records = {name: (results.get(name) or {}).get("records") for name in READS}
    builders: dict[str, tuple[tuple[str, ...], Callable[..., list[Object]]]] = {
        "host": (("hosts", "clusters"), _build_hosts),
        "service": (("services", "hosts"), _build_services),
        "platform": (("platforms",), _build_platforms),
        "topic": (("topics",), _build_topics),
        "endpoint": (("endpoints", "platforms", "topics", "subscribers"), _build_endpoints),
        "person": (("endpoints",), _build_persons),
    }
    site: dict[str, list[Object] | None] = {}
    for kind, (sources, build) in builders.items():
        is_complete = all(records[name] is not None or _is_left_out(name, results) for name in sources)
        objects = build(*(records[name] for name in sources)) if is_complete else None
        site[kind] = objects and sorted(objects, key=lambda item: (item["name"], str(item["uuid"])))
    failed = {name: result for name, result in results.items() if result.get("failed")}
    site["failure"] = [
        _build("records", name, name, {}, {}, str(result.get("msg")))
        for name, result in failed.items()
        if not _is_left_out(name, results)
    ]
    return site


def _is_left_out(name: str, results: Mapping[str, Any]) -> bool:
    """Return whether the service does not offer records that are not necessary."""
    return name in OPTIONAL and ((results.get(name) or {}).get("error") or {}).get("code") == "UNSUPPORTED"


def _build(kind: str, key: Any, name: str, record: Record, options: Mapping[str, Any], problem: str | None) -> Object:
    """Return one object. Options without a value, or whose value is partly masked, are left out."""
    kept = {option: value for option, value in options.items() if value is not None and MASK not in str(value)}
    unwritable = next(
        (option for option, value in kept.items() if _UNWRITABLE.search(json.dumps(value, ensure_ascii=False))), None
    )
    if unwritable:
        problem = problem or f"{unwritable} contains a character that no file can contain"
    return {
        "kind": kind,
        "key": key,
        "name": name,
        "uuid": record.get("uuid"),
        "changed": parse_timestamp(record.get("last_op_date")),
        "options": kept,
        "problem": problem,
    }


def _choose_references(records: Iterable[Record]) -> dict[str, str]:
    """Return for each uuid the name that selects the object, or the uuid if several objects have the name."""
    names = {str(record["uuid"]): str(record.get("name") or "").strip() for record in records}
    counts = Counter(names.values())
    references = {}
    for uuid, name in names.items():
        # A name in the form of a uuid would be read as a uuid.
        is_name = name and counts[name] == 1 and len(name.replace("-", "")) != 32 and MASK not in name
        references[uuid] = name if is_name else uuid
    return references


def _build_hosts(hosts: Iterable[Record], clusters: Iterable[Record] | None) -> list[Object]:
    references = _choose_references(clusters or ())
    return [_build_host(host, references) for host in hosts]


def _build_host(host: Record, clusters: Mapping[str, str]) -> Object:
    state = HOST_STATES.get(str(host.get("state")))
    cluster = str(host.get("cluster_uuid"))
    options = {
        "name": host.get("name"),
        "management_ip": host.get("management_ip"),
        "cluster": clusters.get(cluster, cluster),
        "state": state,
    }
    problem = None if state else f"the state {host.get('state')} has no equivalent in the role"
    return _build("host", host.get("management_ip"), str(host.get("name")), host, options, problem)


def _build_services(services: Iterable[Record] | None, hosts: Iterable[Record]) -> list[Object]:
    """Return an object for each interface and VLAN with service types."""
    owners = {host["uuid"]: host for host in hosts}
    objects = []
    for row in services or ():
        host = owners.get(row.get("hostUuid"))
        if host is None or not row.get("serviceTypes"):
            continue
        interface, vlan = str(row.get("interfaceName") or row["interfaceUuid"]), int(row.get("vlanId") or 0)
        options = {"interface": interface, "vlans": [vlan], "service_types": sorted(row["serviceTypes"])}
        key = [host.get("management_ip"), interface, vlan]
        name = f"{host.get('name')} {interface} VLAN {vlan}"
        objects.append(_build("service", key, name, {"uuid": row["interfaceUuid"]}, options, None))
    return objects


def _build_platforms(platforms: Iterable[Record]) -> list[Object]:
    """Return the SNMP platforms: the API cannot create others."""
    rows = [platform for platform in platforms if str(platform.get("type")).lower() == "snmp"]
    fields = ("name", "snmp_address", "snmp_port", "description")
    return [_build_named("platform", row, {field: row.get(field) for field in fields}, rows) for row in rows]


def _build_topics(topics: Iterable[Record]) -> list[Object]:
    rows, fields = list(topics), ("name", "description", "locale")
    return [_build_named("topic", row, {field: row.get(field) for field in fields}, rows) for row in rows]


def _build_named(kind: str, record: Record, options: Mapping[str, Any], others: Iterable[Record]) -> Object:
    """Return an object with a state, which has its uuid among the options if other objects have its name."""
    uuid = str(record["uuid"])
    is_unique = _choose_references(others)[uuid] != uuid
    selected = {**({} if is_unique else {"uuid": uuid}), **options, "state": STATES.get(str(record.get("state")))}
    return _build(kind, record.get("name") if is_unique else uuid, str(record.get("name")), record, selected, None)


def _build_endpoints(
    endpoints: Iterable[Record],
    platforms: Iterable[Record],
    topics: Iterable[Record],
    subscribers: Iterable[Record] | None,
) -> list[Object]:
    """Return the endpoints. Their subscriptions are left out if they could not be read."""
    rows = list(endpoints)
    counts = Counter(str(row.get("name")) for row in rows)
    platform_names, topic_names = _choose_references(platforms), _choose_references(topics)
    topics_of: dict[str, list[str]] = {}
    for subscriber in subscribers or ():
        topic = str(subscriber.get("topic_uuid"))
        topics_of.setdefault(str(subscriber.get("endpoint_uuid")), []).append(topic_names.get(topic, topic))
    objects = []
    for row in rows:
        kind = ENDPOINT_TYPES.get(str(row.get("type")).lower().replace("-", ""), "any")
        platform = str(row.get("platform_uuid"))
        options = {
            "type": kind,
            "name": row.get("name"),
            "description": row.get("description"),
            **(_describe_chat(row) if kind == "workchat" else {}),
            "platform": platform_names.get(platform, platform) if kind == "snmp" and row.get("platform_uuid") else None,
            "topics": None if subscribers is None else sorted(topics_of.get(str(row["uuid"]), ())),
            "state": STATES.get(str(row.get("state"))),
        }
        is_unique = counts[str(row.get("name"))] == 1
        problem = None if is_unique else "several endpoints have the name, by which the role selects endpoints"
        objects.append(_build("endpoint", row.get("name"), str(row.get("name")), row, options, problem))
    return objects


def _describe_chat(endpoint: Record) -> dict[str, Any]:
    """Return the options of a workchat endpoint, except for its URL, of which the service shows only a part."""
    persons = endpoint.get("at_person_list")
    if persons:
        remarks = {str(person.get("user_id")): str(person.get("remark") or "") for person in persons}
        mentioned: dict[str, Any] = {"at_person_list": dict(sorted(remarks.items()))}
    else:
        mentioned = {"at_person_user_ids": sorted(map(str, endpoint.get("at_person_user_ids") or ())) or None}
    return {"at_all": endpoint.get("at_all"), **mentioned}


def _build_persons(endpoints: Iterable[Record]) -> list[Object]:
    """Return the persons of teamchat endpoints, as far as the service lists them."""
    rows = list(endpoints)
    references = _choose_references(rows)
    objects = []
    for row in rows:
        is_chat = str(row.get("type")).lower() == "teamchat"
        for person in (row.get("persons") or ()) if is_chat else ():
            endpoint, user = references[str(row["uuid"])], str(person.get("user_id"))
            options = {"endpoint": endpoint, "user_id": user, "remark": person.get("remark")}
            objects.append(_build("person", [endpoint, user], f"{user} of {row.get('name')}", person, options, None))
    return objects
