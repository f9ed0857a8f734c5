# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: remote_address
short_description: Test whether a value can be used as ansible_host of another machine
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Tests whether a value is an IP address or a host name, contains nothing that ssh could take for an option, and does
    not refer to this machine, in any spelling that a resolver accepts.
  - Use it before an address of the service becomes C(ansible_host), for example with M(ansible.builtin.add_host). The
    inventories of the collection apply the same checks.
positional: _input
options:
  _input:
    description: An address, for example C(management_ip) of a host.
    type: raw
    required: true
"""

EXAMPLES = r"""
- name: Add a host to the inventory
  ansible.builtin.add_host:
    name: "{{ listed.hosts[0].uuid }}"
    ansible_host: "{{ listed.hosts[0].management_ip }}"
  when: listed.hosts[0].management_ip is virtinfra.manager.remote_address
"""

RETURN = r"""
_value:
  description: Whether the value is the address of another machine.
  type: bool
"""

from collections.abc import Callable
from typing import Any

from ..module_utils._api.records import is_address
from ..plugin_utils._jinja.filters import name_arguments


def is_remote_address(value: Any) -> bool:
    """Return whether a value is the address of another machine."""
    return isinstance(value, str) and is_address(value)


class TestModule:
    """The test remote_address."""

    def tests(self) -> dict[str, Callable[[Any], bool]]:
        """Return the test by its name."""
        return {"remote_address": name_arguments("remote_address", is_remote_address)}
