# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: plan_site_shutdown
short_description: Find what stops when a site is shut down, and in which order
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Finds the running VMs of each group, those that are in no group, and the hosts that can be switched off after them.
    The role P(virtinfra.manager.site_shutdown#role) uses it.
positional: _input, vms, hosts
options:
  _input:
    description:
      - The groups in the order in which they stop. Each has V(name), V(found), the VMs that were read for it, and
        optionally V(vms), the names or uuids that select some of these.
    type: list
    elements: dict
    required: true
  vms:
    description: All VMs, for example RV(virtinfra.manager.vm_info#module:vms).
    type: list
    elements: dict
    required: true
  hosts:
    description: The hosts to switch off, for example RV(virtinfra.manager.host_info#module:hosts).
    type: list
    elements: dict
    required: true
  remaining:
    description: Whether a last group contains the running VMs that are in no group.
    type: bool
    default: true
  exclude_vms:
    description: The names or uuids of VMs that keep running. The hosts on which they run stay on.
    type: list
    elements: str
    default: []
  exclude_hosts:
    description: The names or uuids of hosts that stay on.
    type: list
    elements: str
    default: []
  remembered:
    description:
      - RV(_value.memory) of an earlier plan that was not undone, for example because the shutdown was interrupted. Its
        VMs and hosts are remembered too.
    type: dict
"""

EXAMPLES = r"""
- name: Read the VMs
  virtinfra.manager.vm_info:
  register: listed

- name: Read the hosts
  virtinfra.manager.host_info:
  register: found

- name: Show which VMs would stop, except one
  ansible.builtin.debug:
    msg: "{{ ([] | virtinfra.manager.plan_site_shutdown(listed.vms, found.hosts, exclude_vms=['vm-1'])).groups }}"
"""

RETURN = r"""
_value:
  description: The plan.
  type: dict
  contains:
    groups:
      description: The groups, each with V(name), V(members), the number of its VMs, and V(vms), those that run.
      type: list
      elements: dict
    hosts:
      description: The hosts that are not known to be off, each with V(uuid), V(name) and V(state).
      type: list
      elements: dict
    kept:
      description: The excluded hosts, and those on which excluded VMs run, with the reason in V(error).
      type: list
      elements: dict
    problems:
      description: Why the plan cannot be executed. Empty if it can.
      type: list
      elements: str
    memory:
      description: The VMs and hosts that were running, to be started again.
      type: dict
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

Record = Mapping[str, Any]
Entry = dict[str, Any]

# The states of VMs that do not run, and of those that nobody has.
STOPPED = ("Stopped", "Created", "Destroyed", "Expunging")
GONE = ("Destroyed", "Expunging")

REMAINING = "all others"


def plan_site_shutdown(
    groups: Sequence[Record],
    vms: Sequence[Record],
    hosts: Sequence[Record],
    remaining: bool = True,
    exclude_vms: Sequence[str] = (),
    exclude_hosts: Sequence[str] = (),
    remembered: Record | None = None,
) -> Entry:
    """Return the groups of VMs, the hosts, why the plan cannot be executed, and what to remember."""
    vms = [vm for vm in vms if vm["state"] not in GONE]
    problems = _find_unknown(exclude_vms, vms, "VM", "site_shutdown_exclude_vms")
    problems += _find_unknown(exclude_hosts, hosts, "host", "site_shutdown_exclude_hosts")
    chosen: list[tuple[str, list[Record]]] = []
    for group in groups:
        found = [vm for vm in group["found"] if vm["state"] not in GONE]
        members = found if group.get("vms") in (None, "") else [vm for vm in found if _is_named(vm, group["vms"])]
        problems += _find_unknown(group.get("vms") or (), found, "VM", f"the group {group['name']}")
        chosen.append((group["name"], [vm for vm in members if not _is_named(vm, exclude_vms)]))
    counts = Counter(vm["uuid"] for _name, members in chosen for vm in members)
    twice = sorted({str(vm["name"]) for _name, members in chosen for vm in members if counts[vm["uuid"]] > 1})
    problems += [f"these VMs are in several groups: {', '.join(twice)}"] if twice else []
    if remaining:
        others = [vm for vm in vms if vm["uuid"] not in counts and not _is_named(vm, exclude_vms)]
        chosen.append((REMAINING, [vm for vm in others if _is_running(vm)]))
    planned = [
        {"name": name, "members": len(members), "vms": [_identify(vm) for vm in members if _is_running(vm)]}
        for name, members in chosen
    ]
    protecting = {vm["host_uuid"]: vm["name"] for vm in vms if _is_running(vm) and _is_named(vm, exclude_vms)}
    off: list[Entry] = []
    kept: list[Entry] = []
    for host in hosts:
        if _is_named(host, exclude_hosts):
            kept.append({**_identify(host), "error": "it is excluded"})
        elif host["uuid"] in protecting:
            kept.append({**_identify(host), "error": f"the excluded VM {protecting[host['uuid']]} runs on it"})
        elif host["ipmi_power_status"] != "POWER_OFF" or host["status"] == "Connected":
            off.append({**_identify(host), "state": host["state"]})
    by_uuid = {host["uuid"]: host for host in hosts}
    helpless = [host["name"] for host in off if _lacks_ipmi(by_uuid[host["uuid"]])]
    if helpless:
        problems.append(f"the service does not know the IPMI controllers of these hosts: {', '.join(helpless)}")
    memory = _merge({"groups": planned, "hosts": off}, remembered or {})
    return {"groups": planned, "hosts": off, "kept": kept, "problems": problems, "memory": memory}


def _identify(record: Record) -> Entry:
    return {"uuid": record["uuid"], "name": record["name"]}


def _is_named(record: Record, names: Iterable[str]) -> bool:
    return record["uuid"] in names or record["name"] in names


def _is_running(vm: Record) -> bool:
    return vm["state"] not in STOPPED


def _lacks_ipmi(host: Record) -> bool:
    return not host["ipmi_address"] or host["ipmi_power_status"] == "UN_CONFIGURED"


def _find_unknown(names: Iterable[str], records: Sequence[Record], noun: str, place: str) -> list[str]:
    """Return the problems of names that select no record, or several ones."""
    counts = Counter(str(record["name"]) for record in records)
    uuids = {record["uuid"] for record in records}
    unknown = [name for name in names if name not in uuids and counts[name] != 1]
    return [f"no {noun}, or several, has the name {name} ({place})" for name in unknown]


def _merge(new: Entry, old: Record) -> Entry:
    """Return what to remember: what ran before an earlier shutdown, and what runs now."""
    hosts = {host["uuid"]: host for host in (*new["hosts"], *old.get("hosts", ()))}
    names = dict.fromkeys(group["name"] for group in (*old.get("groups", ()), *new["groups"]))
    placed: set[str] = set()
    groups = []
    for name in names:
        vms = {
            vm["uuid"]: _identify(vm)
            for plan in (old, new)
            for group in plan.get("groups", ())
            if group["name"] == name
            for vm in group["vms"]
            if vm["uuid"] not in placed
        }
        placed.update(vms)
        groups.append({"name": name, "vms": list(vms.values())})
    return {"groups": groups, "hosts": list(hosts.values())}


class FilterModule:
    """The filter plan_site_shutdown."""

    def filters(self) -> dict[str, Callable[..., Entry]]:
        """Return the filter by its name."""
        return {"plan_site_shutdown": plan_site_shutdown}
