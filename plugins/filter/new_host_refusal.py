# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: new_host_refusal
short_description: Say why a host of the service cannot become a new host of the inventory
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Returns an empty string for a host that M(ansible.builtin.add_host) can add with its C(uuid) as name and its
    C(management_ip) as C(ansible_host). Otherwise the service, or whoever writes its records, would choose on which
    host of the inventory tasks run. The playbook C(repair_host) uses it.
positional: _input
options:
  _input:
    description: The host, as M(virtinfra.manager.host_info) returns it.
    type: dict
    required: true
  groups:
    description: The variable C(groups).
    type: dict
    required: true
  group:
    description: The group to which the host will be added, which must have no hosts.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Check that the hosts can be added
  ansible.builtin.assert:
    that: item | virtinfra.manager.new_host_refusal(groups, 'repaired') == ''
  loop: "{{ listed.hosts }}"
"""

RETURN = r"""
_value:
  description: The reason, or an empty string. Characters that control a terminal are escaped.
  type: str
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..module_utils._api.records import is_address
from ..module_utils._masking.terminal import escape_controls
from ..plugin_utils._jinja.filters import name_arguments

TAKES = "one host, as host_info returns it, the variable groups, and the name of a group"


def refuse_new_host(host: Mapping[str, Any], groups: Mapping[str, Sequence[str]], group: str) -> str:
    """Return why a host cannot be added to the inventory, ``""`` if it can."""
    uuid, address = str(host["uuid"]), host["management_ip"]
    if not re.fullmatch("[0-9a-fA-F]{32}", uuid):
        return "its uuid is invalid"
    if uuid in groups["all"] or uuid in groups:
        return "the inventory already has a host or group with this name"
    if groups.get(group):
        return f"the group {group} of the inventory already has hosts"
    if not isinstance(address, str) or not is_address(address):
        return f"its management_ip {escape_controls(str(address))} is not the address of another machine"
    return ""


class FilterModule:
    """The filter new_host_refusal."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filter by its name."""
        return {"new_host_refusal": name_arguments("new_host_refusal", refuse_new_host, TAKES)}
