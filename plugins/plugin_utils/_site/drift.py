"""What a description of a service lacks, and what differs from it."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ...module_utils._masking.patterns import MASK

Object = Mapping[str, Any]
Entry = Mapping[str, Any]
# The key of an object in the comparison, with its name and the options of its module.
Described = dict[Any, tuple[str, dict[str, Any]]]

NOT_DESCRIBED = "it is not described"
NO_ADDRESS = "it has no host_onboarding_management_ip, which identifies a host, so it was not compared"


def plan_drift(site: Mapping[str, Any], described: Mapping[str, Any], no_host: str = NOT_DESCRIBED) -> list[Entry]:
    """Return an entry for each object that the service has or that is described.

    Kinds that were not read have none, except for hosts that are described without their address. ``no_host`` says why
    a host is not described.
    """
    given = described.get("hosts") or ()
    hosts = [host for host in given if host.get("management_ip")]
    expected: dict[str, Described] = {
        "host": {host["management_ip"]: (str(host["name"]), _pick_host(host)) for host in hosts},
        "service": _list_services(hosts, site.get("host") or ()),
        **{
            kind: _list_entries(described.get(f"{kind}s") or (), site.get(kind) or ())
            for kind in ("platform", "topic", "endpoint", "person")
        },
    }
    known = {
        kind: {value for item in site.get(kind) or () for value in (to_key(item), item["uuid"])}
        for kind in ("platform", "topic")
    }
    compared = [
        entry
        for kind, entries in expected.items()
        if site.get(kind) is not None
        for entry in _compare(kind, entries, site[kind], known, expected["host"].keys(), no_host)
    ]
    unclear = [str(host["name"]) for host in given if not host.get("management_ip")]
    return [*(_build("host", None, name, "skipped", NO_ADDRESS, {}) for name in unclear), *compared]


def _compare(
    kind: str,
    expected: Described,
    objects: Iterable[Object],
    known: Mapping[str, set[Any]],
    hosts: Container[Any],
    no_host: str,
) -> list[Entry]:
    """Return an entry for each object of a kind."""
    actual = {to_key(item): item for item in objects}
    entries = []
    for key, (name, options) in expected.items():
        if key not in actual and kind != "service":
            entries.append(_build(kind, key, name, "missing", "it is described, but the service does not have it", {}))
        else:
            reason = _find_missing_references(options, known)
            entries.append(_build(kind, key, name, "differs" if reason else None, reason, options))
    for key, item in actual.items():
        # The service types of a host that is not described are not listed one by one.
        if key not in expected and (kind != "service" or key[0] in hosts):
            outcome = "skipped" if item["problem"] else "not described"
            reason = item["problem"] or f"the service has it, but {no_host if kind == 'host' else NOT_DESCRIBED}"
            entries.append(_build(kind, key, item["name"], outcome, reason, {}))
    return entries


def _build(kind: str, key: Any, name: str, outcome: str | None, error: str | None, options: Mapping[str, Any]) -> Entry:
    return {"kind": kind, "key": key, "name": name, "outcome": outcome, "error": error, "options": dict(options)}


def _find_missing_references(options: Mapping[str, Any], known: Mapping[str, set[Any]]) -> str | None:
    """Return a sentence about the described platform and topics that the service lacks; None if it has all."""
    references = [("platform", options.get("platform")), *(("topic", topic) for topic in options.get("topics") or ())]
    missing = [f"{kind} {name}" for kind, name in references if name and name not in known[kind]]
    return f"it is described with {' and '.join(missing)}, which the service does not have" if missing else None


def to_key(item: Object) -> Any:
    """Return the key of an object as a value that can be compared and hashed."""
    return tuple(item["key"]) if isinstance(item["key"], list) else item["key"]


def _pick_host(host: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of kvm_host for a described host."""
    fields = ("name", "management_ip", "cluster", "state")
    return {field: host[field] for field in fields if host.get(field) is not None}


def _list_services(hosts: Iterable[Mapping[str, Any]], existing: Iterable[Object]) -> Described:
    """Return the described service types of each interface and VLAN of the hosts that exist."""
    uuids = {item["key"]: item["uuid"] for item in existing}
    entries: Described = {}
    for host in hosts:
        if host["management_ip"] not in uuids:
            continue
        for service in host.get("services") or ():
            for vlan in service.get("vlans") or [0]:
                options = {
                    "host": uuids[host["management_ip"]],
                    "interfaces": [service["interface"]],
                    "vlan_ids": [vlan],
                    "service_types": service["service_types"],
                }
                name = f"{host['name']} {service['interface']} VLAN {vlan}"
                entries[host["management_ip"], service["interface"], int(vlan)] = (name, options)
    return entries


def _list_entries(described: Iterable[Mapping[str, Any]], existing: Iterable[Object]) -> Described:
    """Return the described entries of the role notifications."""
    names = {item["uuid"]: to_key(item) for item in existing}
    entries: Described = {}
    for entry in described:
        if "user_id" in entry:
            key: Any = (entry.get("endpoint"), entry["user_id"])
            name = f"{entry['user_id']} of {entry.get('endpoint')}"
        else:
            uuid = entry.get("uuid")
            key, name = names.get(uuid, uuid) if uuid else entry.get("name"), str(entry.get("name") or uuid)
        entries[key] = (name, dict(entry))
    return entries


def build_rows(plan: Sequence[Entry], results: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the report: an entry for each object of the plan, in its order.

    ``can_change`` is whether a role can change the object of the service.
    """
    queues = {kind: iter(batch.get("results") or ()) for kind, batch in results.items()}
    return [_build_row(entry, queues, results.get(entry["kind"]) or {}) for entry in plan]


def _build_row(entry: Entry, queues: Mapping[str, Iterator[Entry]], batch: Mapping[str, Any]) -> dict[str, Any]:
    outcome, error, can_change = entry["outcome"], entry["error"], True
    if outcome is None:
        result = next(queues.get(entry["kind"], iter(())), None)
        if result is None:
            outcome, error = "failed", str(batch.get("msg") or "the object was not checked")
        elif result.get("failed"):
            # The API cannot change what differs, so no task of a role can repair it.
            can_change = (result.get("error") or {}).get("code") != "UNCHANGEABLE"
            outcome, error = "failed" if can_change else "differs", str(result.get("msg"))
        elif result.get("changed"):
            outcome, error = "differs", _describe(result.get("diff"))
        else:
            outcome = "same"
    return {"kind": entry["kind"], "name": entry["name"], "outcome": outcome, "error": error, "can_change": can_change}


def _describe(diff: Any) -> str:
    """Return the members that differ, with the value of the service and the described one."""
    diffs = diff if isinstance(diff, list) else [diff or {}]
    parts = []
    for each in diffs:
        before, after = each.get("before") or {}, each.get("after") or {}
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
            parts += [f"{name} is {before.get(name)!r}, described as {after.get(name)!r}" for name in names]
            # Secrets that differ look the same when they are masked.
            masked = [name for name in after if name not in names and MASK in str(after[name])]
            parts += [f"{name} differs" for name in masked if not names]
    return ", ".join(parts) or "a task would change it"
