# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: plan_drift
short_description: Find what a description lacks, and the tasks that check the rest
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Compares which objects the variables of the roles describe with those of the service. For an object that both have,
    it returns the options with which a module checks it in check mode.
  - The role P(virtinfra.manager.site_drift#role) runs these modules.
positional: _input, described
options:
  _input:
    description: The objects of the service that P(virtinfra.manager.site_objects#filter) returns.
    type: dict
    required: true
  described:
    description:
      - The variables of the roles. C(hosts) is a list with C(name), C(management_ip), C(cluster), C(state) and
        C(services) of each host; C(platforms), C(topics), C(endpoints) and C(persons) are the lists of the role
        notifications.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Read the topics
  virtinfra.manager.resource_info:
    resource_type: topic
  register: topics

- name: Show the topics that are not described
  ansible.builtin.debug:
    msg: >-
      {{ {'topics': topics} | virtinfra.manager.site_objects | virtinfra.manager.plan_drift(described)
         | selectattr('outcome', 'eq', 'not described') }}
  vars:
    described: {topics: [{name: topic-1}]}
"""

RETURN = r"""
_value:
  description: One entry for each object.
  type: list
  elements: dict
  contains:
    kind: {description: The kind of the object., type: str}
    name: {description: The object., type: str}
    outcome:
      description: V(missing), V(differs), V(not described) or V(skipped); null if a module checks the object.
      type: str
    error: {description: "What differs, else null.", type: str}
    options: {description: The options of the module that checks the object., type: dict}
"""

from collections.abc import Callable, Container, Iterable, Mapping
from typing import Any

Object = Mapping[str, Any]
Entry = dict[str, Any]
# The key of an object in the comparison, with its name and the options of its module.
Described = dict[Any, tuple[str, dict[str, Any]]]


def plan_drift(site: Mapping[str, Any], described: Mapping[str, Any]) -> list[Entry]:
    """Return an entry for each object that the service has or that is described. Kinds that were not read have none."""
    hosts = [host for host in described.get("hosts") or () if host.get("management_ip")]
    expected: dict[str, Described] = {
        "host": {host["management_ip"]: (str(host["name"]), _pick_host(host)) for host in hosts},
        "service": _list_services(hosts, site.get("host") or ()),
        **{
            kind: _list_entries(described.get(f"{kind}s") or (), site.get(kind) or ())
            for kind in ("platform", "topic", "endpoint", "person")
        },
    }
    known = {
        kind: {value for item in site.get(kind) or () for value in (_to_key(item), item["uuid"])}
        for kind in ("platform", "topic")
    }
    return [
        entry
        for kind, entries in expected.items()
        if site.get(kind) is not None
        for entry in _compare(kind, entries, site[kind], known, expected["host"].keys())
    ]


def _compare(
    kind: str, expected: Described, objects: Iterable[Object], known: Mapping[str, set[Any]], hosts: Container[Any]
) -> list[Entry]:
    """Return an entry for each object of a kind."""
    actual = {_to_key(item): item for item in objects}
    entries = []
    for key, (name, options) in expected.items():
        if key not in actual and kind != "service":
            entries.append(_build(kind, name, "missing", "it is described, but the service does not have it", {}))
        else:
            reason = _find_missing_references(options, known)
            entries.append(_build(kind, name, "differs" if reason else None, reason, options))
    for key, item in actual.items():
        # The service types of a host that is not described are not listed one by one.
        if key not in expected and (kind != "service" or key[0] in hosts):
            outcome = "skipped" if item["problem"] else "not described"
            reason = item["problem"] or "the service has it, but it is not described"
            entries.append(_build(kind, item["name"], outcome, reason, {}))
    return entries


def _build(kind: str, name: str, outcome: str | None, error: str | None, options: Mapping[str, Any]) -> Entry:
    return {"kind": kind, "name": name, "outcome": outcome, "error": error, "options": dict(options)}


def _find_missing_references(options: Mapping[str, Any], known: Mapping[str, set[Any]]) -> str | None:
    """Return a sentence about the described platform and topics that the service lacks; None if it has all."""
    references = [("platform", options.get("platform")), *(("topic", topic) for topic in options.get("topics") or ())]
    missing = [f"{kind} {name}" for kind, name in references if name and name not in known[kind]]
    return f"it is described with {' and '.join(missing)}, which the service does not have" if missing else None


def _to_key(item: Object) -> Any:
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
    names = {item["uuid"]: _to_key(item) for item in existing}
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


class FilterModule:
    """The filter plan_drift."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filter by its name."""
        return {"plan_drift": plan_drift}
