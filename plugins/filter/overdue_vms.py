# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: overdue_vms
short_description: Build the entries of a message about VMs without a recent restore point
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Returns the VMs of a report of the role P(virtinfra.manager.vm_backup_report#role) that are not protected, each with
    a line of text for a mail or a chat. The playbook C(report_overdue_backups) uses it.
positional: _input
options:
  _input:
    description: The report, the fact C(vm_backup_report_report).
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Write the page about backups
  ansible.builtin.import_role:
    name: virtinfra.manager.vm_backup_report

- name: Show the VMs that are not protected
  ansible.builtin.debug:
    msg: "{{ vm_backup_report_report | virtinfra.manager.overdue_vms | map(attribute='text') }}"
"""

RETURN = r"""
_value:
  description: The entries of the VMs in the report, with C(name), and C(text), which says why it is not protected.
  type: list
  elements: dict
"""

from collections.abc import Callable, Mapping
from typing import Any

from ..plugin_utils._jinja.filters import name_arguments
from ..plugin_utils._jinja.marks import make_unsafe

TAKES = "the report of the role vm_backup_report, a mapping with the member vms: the fact vm_backup_report_report"


def list_overdue_vms(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the VMs of a report that are not protected, each with its name and a text."""
    overdue = [
        {**vm, "name": vm["vm"], "text": f"{vm['vm']} is {vm['outcome']}: {vm['error']}"}
        for vm in report["vms"]
        if vm["outcome"] != "protected"
    ]
    entries: list[dict[str, Any]] = make_unsafe(overdue)
    return entries


class FilterModule:
    """The filter overdue_vms."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filter by its name."""
        return {"overdue_vms": name_arguments("overdue_vms", list_overdue_vms, TAKES)}
