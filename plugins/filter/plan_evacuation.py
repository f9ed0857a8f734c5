# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: plan_evacuation
short_description: Choose the host to which each VM migrates
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Chooses for each VM of a list one of the hosts to which it can migrate, so that the load is spread over the hosts.
  - VMs with the fewest possible hosts come first, then those with the most memory. Each gets the host that has the most
    available memory left after the VMs before it. The same input always gives the same plan.
  - A VM that cannot migrate has the reason instead of a host.
positional: _input, hosts, targets
options:
  _input:
    description: The VMs, for example RV(virtinfra.manager.vm_info#module:vms).
    type: list
    elements: dict
    required: true
  hosts:
    description: All hosts, RV(virtinfra.manager.host_info#module:hosts).
    type: list
    elements: dict
    required: true
  targets:
    description:
      - What the service says about each VM, as RV(virtinfra.manager.batch#module:results) of the module
        M(virtinfra.manager.api) with the operation C(GetVmMigrationCandidateHosts).
    type: list
    elements: dict
    required: true
  allowed:
    description: The names or uuids of the hosts that may be chosen. All if it is empty.
    type: list
    elements: str
    default: []
  excluded:
    description: The uuids of hosts that must not be chosen.
    type: list
    elements: str
    default: []
  wanted:
    description: For VMs that must migrate to a certain host, the uuid of the host by the uuid of the VM.
    type: dict
    default: {}
  local_storages:
    description:
      - The uuids of primary storages of type C(LocalStorage). A VM whose root volume lies there cannot migrate.
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- name: Read the VMs of a host
  virtinfra.manager.vm_info:
    query:
      - hostUuid=a0000003000040008000000000000001
      - state=Running
  register: listed

- name: Read the hosts
  virtinfra.manager.host_info:
  register: hosts

- name: Read to which hosts each VM can migrate
  virtinfra.manager.batch:
    module: api
    common:
      operation: GetVmMigrationCandidateHosts
    objects: >-
      {{ {'params': {'vmInstanceUuid': listed.vms | map(attribute='uuid')} | virtinfra.manager.columns_to_rows}
         | virtinfra.manager.columns_to_rows }}
  register: targets

- name: Show which VM would go where
  ansible.builtin.debug:
    msg: >-
      {{ listed.vms | virtinfra.manager.plan_evacuation(hosts.hosts, targets.results)
         | items2dict(key_name='vm', value_name='to') }}
"""

RETURN = r"""
_value:
  description: One entry for each VM, in the order of the VMs.
  type: list
  elements: dict
  contains:
    vm:
      description: The name of the VM.
      type: str
    vm_uuid:
      description: The uuid of the VM.
      type: str
    from:
      description: The name of the host on which it runs. Null if no host has the uuid.
      type: str
    from_uuid:
      description: The uuid of that host.
      type: str
    to:
      description: The name of the host to which it migrates, null if it cannot migrate.
      type: str
    to_uuid:
      description: The uuid of that host.
      type: str
    error:
      description: Why the VM cannot migrate, else null.
      type: str
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Record = Mapping[str, Any]


class Hosts:
    """The hosts, with the memory that they have left and the number of VMs that they get."""

    def __init__(self, records: Sequence[Record]) -> None:
        self.names = {host["uuid"]: host["name"] for host in records}
        self._available = {host["uuid"]: host.get("available_memory_capacity") for host in records}
        self._needed: Counter[str] = Counter()
        self._vms: Counter[str] = Counter()

    def has_room(self, uuid: str, memory: int) -> bool:
        """Return whether a host has memory left for a VM; True if its memory is unknown."""
        available = self._available.get(uuid)
        return available is None or available - self._needed[uuid] >= memory

    def choose(self, uuids: Sequence[str], memory: int) -> str:
        """Return the host with the most memory left, and among these the one that gets the fewest VMs; reserve it."""
        chosen = min(uuids, key=self._rank)
        self._needed[chosen] += memory
        self._vms[chosen] += 1
        return chosen

    def _rank(self, uuid: str) -> tuple[int, int, str, str]:
        left = (self._available.get(uuid) or 0) - self._needed[uuid]
        return -left, self._vms[uuid], self.name(uuid), uuid

    def name(self, uuid: str) -> str:
        """Return the name of a host, or its uuid if it has no record."""
        return str(self.names.get(uuid, uuid))


def plan_evacuation(
    vms: Sequence[Record],
    hosts: Sequence[Record],
    targets: Sequence[Record],
    allowed: Sequence[str] = (),
    excluded: Sequence[str] = (),
    wanted: Mapping[str, str] | None = None,
    local_storages: Sequence[str] = (),
) -> list[dict[str, Any]]:
    """Return an entry for each VM: from which host it migrates to which one, or why it cannot."""
    known, answers = Hosts(hosts), {answer["item"]["params"]["vmInstanceUuid"]: answer for answer in targets}
    possible: dict[str, list[str]] = {}
    errors: dict[str, str] = {}
    for vm in vms:
        uuid = vm["uuid"]
        errors[uuid], offered = _read_targets(vm, answers.get(uuid), local_storages)
        possible[uuid] = [
            host
            for host in offered
            if host not in excluded
            and (not allowed or host in allowed or known.names.get(host) in allowed)
            and host == (wanted or {}).get(uuid, host)
        ]
        if not (errors[uuid] or possible[uuid]):
            names = ", ".join(sorted(map(known.name, offered)))
            forbidden = "other hosts than that on which it ran" if wanted else "hosts that must not take it"
            errors[uuid] = f"it can only migrate to {forbidden}: {names}"
    chosen: dict[str, str] = {}
    for vm in sorted(vms, key=lambda vm: (len(possible[vm["uuid"]]), -_read_memory(vm), vm["name"], vm["uuid"])):
        uuid, memory = vm["uuid"], _read_memory(vm)
        if errors[uuid]:
            continue
        with_room = [host for host in possible[uuid] if known.has_room(host, memory)]
        if with_room:
            chosen[uuid] = known.choose(with_room, memory)
        else:
            errors[uuid] = "no host that can take it has enough memory left after the other VMs"
    return [
        {
            "vm": vm["name"],
            "vm_uuid": vm["uuid"],
            "from": known.names.get(vm["host_uuid"]),
            "from_uuid": vm["host_uuid"],
            "to": known.name(chosen[vm["uuid"]]) if vm["uuid"] in chosen else None,
            "to_uuid": chosen.get(vm["uuid"]),
            "error": errors[vm["uuid"]] or None,
        }
        for vm in vms
    ]


def _read_targets(vm: Record, answer: Record | None, local_storages: Sequence[str]) -> tuple[str, list[str]]:
    """Return why a VM cannot migrate, empty if it can, and the uuids of the hosts that the service offers."""
    if vm["state"] != "Running":
        return f"it is {vm['state']}, and only a running VM can migrate", []
    volumes = {volume["uuid"]: volume["primary_storage_uuid"] for volume in vm.get("all_volumes") or ()}
    if volumes.get(vm.get("root_volume_uuid")) in local_storages:
        return "its root volume is on local storage", []
    if answer is None or answer.get("failed"):
        return str((answer or {}).get("msg", "the service was not asked which hosts can take it")), []
    offered = [host["uuid"] for host in answer["reply"].get("inventories") or () if host["uuid"] != vm["host_uuid"]]
    return "" if offered else "no other host can take it", offered


def _read_memory(vm: Record) -> int:
    return int(vm.get("memory_size") or 0)


class FilterModule:
    """The filter plan_evacuation."""

    def filters(self) -> dict[str, Callable[..., list[dict[str, Any]]]]:
        """Return the filter by its name."""
        return {"plan_evacuation": plan_evacuation}
