# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: plan_onboarding
short_description: Find the next step of hosts that are added
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Builds the O(virtinfra.manager.batch#module:objects) of each step in which hosts are added, and the report of each
    host, from the results of the steps before. A host that has failed is in no later step. The role
    P(virtinfra.manager.host_onboarding#role) uses it.
positional: _input, added, disabled, served, finished
options:
  _input:
    description:
      - The hosts. Each has the inventory name in V(host), and the values of the variables of the role in V(name),
        V(management_ip), V(cluster), V(username), V(password), V(ssh_port), V(state), V(services) and V(timeout).
    type: list
    elements: dict
    required: true
  added:
    description: The registered result of the task that added the hosts.
    type: dict
    default: {}
  disabled:
    description: The registered result of the task that disabled the new hosts.
    type: dict
    default: {}
  served:
    description: The registered result of the task that set the service types.
    type: dict
    default: {}
  finished:
    description: The registered result of the task that changed the hosts to their final states.
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: Add hosts
  virtinfra.manager.batch:
    module: kvm_host
    objects: "{{ (hosts | virtinfra.manager.plan_onboarding).add }}"
  vars:
    hosts:
      - host: node-1
        name: host-21
        management_ip: 10.0.0.21
        cluster: cluster-1
        username: root
        password: "{{ ssh_password }}"
        state: enabled
        services: []
        timeout: 10800
"""

RETURN = r"""
_value:
  description: The objects of each step, as far as the results of the steps before are given, and the reports.
  type: dict
  contains:
    add:
      description: The options of M(virtinfra.manager.kvm_host) that add the hosts that do not exist.
      type: list
      elements: dict
    disable:
      description: Those that disable the new hosts that have service types to set.
      type: list
      elements: dict
    serve:
      description: The options of M(virtinfra.manager.host_nic_service).
      type: list
      elements: dict
    unserved:
      description: The number of hosts whose interfaces are unknown, because check mode has only predicted to add them.
      type: int
    finish:
      description: The options of M(virtinfra.manager.kvm_host) that change hosts to their final states.
      type: list
      elements: dict
    reports:
      description:
        - For each inventory name, C(host_onboarding_report) of the role P(virtinfra.manager.host_onboarding#role).
      type: dict
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

Record = Mapping[str, Any]
Entry = dict[str, Any]

# The argument specification of the role, with which Ansible validates its variables, too.
SPEC = Path(__file__).parents[2] / "roles" / "host_onboarding" / "meta" / "argument_specs.yml"

# The prefix of the variables of the role.
PREFIX = "host_onboarding_"

# The variables of the role that are options of kvm_host with the same names.
OPTIONS = ("name", "management_ip", "cluster", "username", "password", "ssh_port")

# Older versions of core keep this text for a value in a dictionary that is omitted.
OMITTED = "__omit_place_holder__"

# The options of kvm_host in a message about those that are missing, each of which a variable of the role sets.
MISSING = re.compile(r" (?=(?:management_ip|cluster|username|password)(?:, | and | to add it))")


@dataclass
class Onboarding:
    """One host: its variables, the results of its steps so far, and why it has failed."""

    wanted: Record
    uuid: str | None = None
    is_new: bool = False
    results: list[Record] = field(default_factory=list)
    served: list[Record] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    @property
    def services(self) -> list[Record]:
        """The service types to set."""
        return list(self.wanted["services"] or ())

    @property
    def can_be_served(self) -> bool:
        """Whether its interfaces are known, unlike those of a host that check mode only predicts."""
        return self.uuid is not None

    def validate(self) -> None:
        """Note what is wrong with the variables: plays may call the role without the validation of Ansible."""
        given = {
            f"{PREFIX}{name}": _copy(value)
            for name, value in self.wanted.items()
            if name != "host" and _is_given(value)
        }
        messages = _load_validator().validate(given).error_messages
        services = self.wanted["services"] or ()
        if not isinstance(services, (list, tuple)) or not all(isinstance(each, Mapping) for each in services):
            messages = ["host_onboarding_services must be a list of dictionaries"]
        if messages:
            self.errors.append("; ".join(messages))

    def build_addition(self) -> Entry:
        """Return the options that add the host, with its final state unless service types must be set before."""
        options = {name: self.wanted[name] for name in OPTIONS if _is_given(self.wanted.get(name))}
        return {**options, **self._format_state("present" if self.services else self.wanted["state"])}

    def build_change(self, state: str) -> Entry:
        """Return the options that change the state of the host."""
        return {"uuid": self.uuid, **self._format_state(state)}

    def build_services(self) -> Iterator[Entry]:
        """Yield the options that set the service types of each interface."""
        for service in self.services:
            vlans = {"vlan_ids": service["vlans"]} if _is_given(service.get("vlans")) else {}
            types = {"service_types": service["service_types"]} if "service_types" in service else {}
            interfaces = {"interfaces": [service["interface"]]} if _is_given(service.get("interface")) else {}
            yield {"host": self.uuid, **interfaces, **vlans, **types, "wait_timeout": self.wanted["timeout"]}

    def _format_state(self, state: str) -> Entry:
        return {"state": state, "wait_timeout": self.wanted["timeout"]}

    def record(self, result: Record) -> None:
        """Record the result of a step, and why it failed."""
        self.results.append(result)
        if result.get("failed") or result.get("skipped"):
            self.errors.append(str(result.get("msg")))

    def build_report(self) -> Entry:
        """Return the report of the host."""
        name = self.wanted["name"]
        is_changed = any(result.get("changed") for result in self.results)
        return {
            "name": name,
            "management_ip": self.wanted["management_ip"],
            "uuid": self.uuid,
            "outcome": "failed" if self.errors else "changed" if is_changed else "unchanged",
            "services": None
            if self.errors or not self.services or not self.can_be_served
            else [service for result in self.served for service in result["services"]],
            "error": _format_error(name, self.errors) if self.errors else None,
        }


def plan_onboarding(
    hosts: Sequence[Record],
    added: Record | None = None,
    disabled: Record | None = None,
    served: Record | None = None,
    finished: Record | None = None,
) -> Entry:
    """Return the options of each step, as far as the results before are known, and the report of each host."""
    onboardings = [Onboarding(wanted) for wanted in hosts]
    for host in onboardings:
        host.validate()
    plan: Entry = {}
    valid = _list_active(onboardings)
    plan["add"] = [host.build_addition() for host in valid]
    for host, result in zip(valid, _list_results(added, len(valid)), strict=True):
        host.record(result)
        host.uuid = (result.get("host") or {}).get("uuid")
        # If there are service types to set, the step only adds the host and changes nothing else.
        host.is_new = bool(result.get("changed"))
    new = [host for host in _list_active(onboardings) if host.services and host.is_new]
    plan["disable"] = [host.build_change("disabled") for host in new]
    for host, result in zip(new, _list_results(disabled, len(new)), strict=True):
        host.record(result)
    steps = [
        (host, options) for host in _list_active(onboardings) if host.can_be_served for options in host.build_services()
    ]
    plan["unserved"] = sum(bool(host.services) and not host.can_be_served for host in _list_active(onboardings))
    plan["serve"] = [options for _host, options in steps]
    for (host, _options), result in zip(steps, _list_results(served, len(steps)), strict=True):
        host.record(result)
        host.served.append(result)
    last = [host for host in _list_active(onboardings) if host.services]
    plan["finish"] = [host.build_change(host.wanted["state"]) for host in last]
    for host, result in zip(last, _list_results(finished, len(last)), strict=True):
        host.record(result)
    plan["reports"] = {host.wanted["host"]: host.build_report() for host in onboardings} if finished else {}
    return plan


@cache
def _load_validator() -> ArgumentSpecValidator:
    """Return the validator of the variables of the role."""
    spec = yaml.safe_load(SPEC.read_text(encoding="utf-8"))
    return ArgumentSpecValidator(spec["argument_specs"]["main"]["options"])


def _list_active(onboardings: Sequence[Onboarding]) -> list[Onboarding]:
    """Return the hosts that have not failed."""
    return [host for host in onboardings if not host.errors]


def _list_results(result: Record | None, count: int) -> Sequence[Record]:
    """Return the result of each object of a step: none of them before the step, the failure of a task without them."""
    if result is None:
        return [{"services": []}] * count
    results: Sequence[Record] = result.get("results") or []
    return results if len(results) == count else [{"failed": True, "msg": result.get("msg")}] * count


def _copy(value: Any) -> Any:
    """Return a copy in plain containers: a deep copy of those of Ansible copies all variables, which takes seconds."""
    if isinstance(value, Mapping):
        return {name: _copy(member) for name, member in value.items()}
    return [_copy(member) for member in value] if isinstance(value, (list, tuple)) else value


def _is_given(value: Any) -> bool:
    """Return whether a variable has a value, which may be empty."""
    return value is not None and not str(value).startswith(OMITTED)


def _format_error(name: Any, messages: Sequence[str]) -> str:
    """Return the message about a host, in which options have the names of the variables of the role."""
    prefix = f"host {name}: "
    texts = (MISSING.sub(f" {PREFIX}", message.removeprefix(prefix)) for message in messages)
    return prefix + " ".join(texts)


class FilterModule:
    """The filter plan_onboarding."""

    def filters(self) -> dict[str, Callable[..., Entry]]:
        """Return the filter by its name."""
        return {"plan_onboarding": plan_onboarding}
