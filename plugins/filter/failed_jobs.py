# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: failed_jobs
short_description: Build the entries of a message about failed jobs
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Returns the failed jobs of an event of the event source C(job_results), each with a line of text for a
    mail or a chat. The playbook C(report_failed_job) uses it.
positional: _input
options:
  _input:
    description:
      - The variable C(ansible_eda), which a rulebook sets for its playbook. An event has one result of a job, or
        several in C(jobs). A rule with several conditions has several events.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Show the failed jobs
  ansible.builtin.debug:
    msg: "{{ ansible_eda | virtinfra.manager.failed_jobs | map(attribute='text') }}"
"""

RETURN = r"""
_value:
  description:
    - The results of the jobs, with their members, C(name), which is what the job is about or else its uuid, and
      C(text), the name with the beginning of the message.
  type: list
  elements: dict
"""

from collections.abc import Callable, Mapping
from typing import Any

from ..plugin_utils._jinja.filters import name_arguments
from ..plugin_utils._jinja.marks import make_unsafe

# The longest message in a text, in characters.
LONGEST = 1000

TAKES = (
    "the variable ansible_eda, which a rulebook sets for its playbook. For the result of job_wait, write"
    " result.jobs | selectattr('state', 'equalto', 'failed')"
)

Event = Mapping[str, Any]


def list_failed_jobs(variables: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the results of jobs in the variable of a rulebook, each with its name and a text."""
    events: list[Event] = [*variables["events"].values()] if "events" in variables else [variables["event"]]
    results = [result for event in events for result in event.get("jobs", [event])]
    entries: list[dict[str, Any]] = make_unsafe([_describe(result) for result in results])
    return entries


def _describe(result: Event) -> dict[str, Any]:
    name, message = result.get("about") or result["job"]["uuid"], str(result.get("msg", ""))
    shown = message if len(message) <= LONGEST else f"{message[:LONGEST]} ..."
    return {**result, "name": name, "text": f"{name}: {shown}"}


class FilterModule:
    """The filter failed_jobs."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filter by its name."""
        return {"failed_jobs": name_arguments("failed_jobs", list_failed_jobs, TAKES)}
