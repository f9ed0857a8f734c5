# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: job_result
short_description: Convert the posts of the service to one form of event, regardless of the source that received them
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Converts the events of webhook sources, such as C(ansible.eda.webhook), C(eda.builtin.webhook) and the event streams
    of Ansible Automation Platform, to the form of the source C(virtinfra.manager.job_results).
  - Drops events that are not the result of a job. Events of C(virtinfra.manager.job_results) remain unchanged, so a
    rulebook can use this filter with its own source and with an event stream that replaces it.
  - No text of an event can be evaluated as a template. A space separates the characters with which templates begin, as
    in C({ { name }}), also in C(meta).
  - It needs the headers C(X-Job-UUID) and C(X-Job-Success) in C(meta.headers). C(about) and C(operation) are read from
    the query in C(meta.endpoint), which C(ansible.eda.webhook) does not provide.
  - With O(as_list), a rulebook can use one condition for events of a stream and for those of
    C(virtinfra.manager.job_results) with C(collect_seconds).
  - The filter neither confirms results nor removes duplicates.
options:
  as_list:
    description:
      - Whether to convert the event of one result to the form of C(collect_seconds), with C(jobs), a list of this
        result. The filter itself collects nothing.
    type: bool
    default: false
  only_failed:
    description:
      - Whether to drop the results of jobs that succeeded, also from the list C(jobs).
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: React to jobs that fail
  hosts: localhost
  sources:
    - name: Results of jobs
      eda.builtin.webhook:
        port: 5443
        token: "{{ webhook_token }}"
      filters:
        - virtinfra.manager.job_result:
  rules:
    - name: Report a failed job
      condition: not event.job.succeeded
      action:
        debug:
          msg: "{{ event.job.uuid }}: {{ event.msg }}"
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

# ansible-rulebook loads only this file, so the path of the collection is derived from it.
sys.path.insert(0, str(Path(__file__).absolute().parents[7]))

from ansible.module_utils.common.validation import check_type_bool
from ansible_collections.virtinfra.manager.plugins.module_utils._api.errors import InvalidOptions
from ansible_collections.virtinfra.manager.plugins.module_utils._modules.forms import check_forms
from ansible_collections.virtinfra.manager.plugins.module_utils._modules.options import Options
from ansible_collections.virtinfra.manager.plugins.plugin_utils._eda.job_events import (
    InvalidPost,
    build_list_event,
    read_post,
)
from ansible_collections.virtinfra.manager.plugins.plugin_utils._eda.texts import disarm_templates

OPTIONS: Options = {
    "as_list": {"type": "bool", "default": False},
    "only_failed": {"type": "bool", "default": False},
}


def main(event: Mapping[str, Any], **args: Any) -> Mapping[str, Any] | list[Any]:
    """Return the event in the form of job_results, without templates, or an empty list to drop it.

    Raise InvalidOptions for options that the filter does not have, or that are no booleans.
    """
    as_list, only_failed = read_flags(args)
    try:
        shaped = shape(event)
        if "jobs" in shaped or as_list:
            shaped = select_results(shaped, only_failed)
        elif only_failed and shaped["job"]["succeeded"]:
            shaped = {}
        disarmed: Mapping[str, Any] = disarm_templates(shaped)
        return disarmed or []
    except (InvalidPost, RecursionError, TypeError, ValueError):
        return []


def read_flags(args: Mapping[str, Any]) -> list[bool]:
    """Return the values of OPTIONS. ansible-rulebook passes what is written there: in quotes, false is a string."""
    given = {name: value for name, value in args.items() if value is not None}
    try:
        check_forms(OPTIONS, given)
    except InvalidOptions as mistake:
        raise InvalidOptions(f"the filter job_result: {mistake}") from None
    return [check_type_bool(given.get(name, rules["default"])) for name, rules in OPTIONS.items()]


def shape(event: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the event in the form of job_results. Raise InvalidPost, TypeError or ValueError for other events."""
    jobs = event.get("jobs", [event])
    if isinstance(jobs, list) and jobs and all(map(is_result, jobs)):
        return event
    meta = event.get("meta")
    meta = meta if isinstance(meta, Mapping) else {}
    headers = meta.get("headers")
    body = json.dumps(event.get("payload")).encode()
    post = read_post(headers if isinstance(headers, Mapping) else {}, body, str(meta.get("endpoint", "")))
    return {**post.build_event(), "meta": meta}


def is_result(event: Any) -> bool:
    """Return whether an event has the form that job_results gives to one result."""
    job = event.get("job") if isinstance(event, Mapping) else None
    return isinstance(job, Mapping) and "uuid" in job and "succeeded" in job


def select_results(event: Mapping[str, Any], only_failed: bool) -> Mapping[str, Any]:
    """Return the event of a list of results, without those that succeeded; an empty one if none is left."""
    results = event["jobs"] if "jobs" in event else [{name: event[name] for name in event if name != "meta"}]
    kept = [result for result in results if not (only_failed and result["job"]["succeeded"])]
    if not kept:
        return {}
    meta = {"meta": event["meta"]} if "meta" in event else {}
    return {**build_list_event(kept, sum("shortened" in result for result in kept)), **meta}
