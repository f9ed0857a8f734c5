# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: resource_changes
short_description: Poll hosts, VMs, CBT tasks or primary storages, and report what has changed
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Lists all objects of a type at an interval, and emits one event for each change of a field. Incomplete lists are not
    used.
  - An event has C(change) with C(resource_type), C(uuid), C(name), C(inventory_hostname), C(field), C(before) and
    C(after), and the C(record) of the object as the info modules return it. A change of a threshold also has
    C(percent), C(below) and C(rearm).
  - C(inventory_hostname) is the name that the inventory plugins of the collection give to the object, with their
    default O(virtinfra.manager.hosts#inventory:hostnames) and the same O(query). Use it as the C(limit) of a job. The
    name of an object can be a pattern that selects other hosts, such as C(all), or that of several objects.
  - No text of an event can be evaluated as a template. A space separates the characters with which templates begin, as
    in C({ { name }}).
  - New objects, and objects that no longer exist, do not cause events.
  - While the service does not answer, the interval grows up to five minutes. A warning says when this begins, and
    another when it ends. If the service refuses a login, the source ends, because services lock an account after
    several attempts.
extends_documentation_fragment:
  - virtinfra.manager._connection
options:
  resource_type:
    description:
      - What to list. The names are those of M(virtinfra.manager.resource_info).
    type: str
    choices:
      - host
      - vm
      - cbttask
      - primarystorage
    required: true
  fields:
    description:
      - The fields to watch, with the names that the info modules return. An empty list watches the O(thresholds) only.
      - By default these are V(state), V(status) and the hardware status fields such as V(disk_status) of hosts,
        V(state) of VMs, V(status) of CBT tasks, V(state) and V(status) of primary storages.
    type: list
    elements: str
  thresholds:
    description:
      - Capacities to watch. A capacity changes from V(normal) to V(low) when it falls below a percentage of the total,
        and back when it reaches a higher percentage, so that a capacity near the limit does not change all the time.
    type: list
    elements: dict
    default: []
    suboptions:
      field:
        description:
          - The available capacity, for example V(available_capacity) or V(available_physical_capacity) of primary
            storages, V(available_memory_capacity) of hosts.
        type: str
        required: true
      below:
        description: The percentage of the total below which the capacity is low.
        type: float
        required: true
      rearm:
        description:
          - The percentage of the total at which the capacity is normal again. The default is O(thresholds[].below).
        type: float
  interval:
    description:
      - The pause between two polls, in seconds.
    type: float
    default: 30
  source:
    description:
      - How to read the records. V(query) uses a query, which needs O(access_key_id), O(session_id) or O(account).
        V(cursor) uses a cursor query, which needs O(api_token). By default it depends on the credentials, O(query) and
        O(filters).
    type: str
    choices:
      - query
      - cursor
  query:
    description:
      - Conditions that the records must meet, as in the inventory plugins, for example V(cluster.name=cluster-1). No
        event is emitted when an object no longer meets them.
    type: list
    elements: str
  filters:
    description:
      - Filters for O(source=cursor), in the service's own syntax.
    type: list
    elements: str
  page_size:
    description:
      - How many records to request per page.
    type: int
    default: 1000
  collect_changes:
    description:
      - Whether all changes of a poll become one event, with C(changes), the list of what would be their own events.
      - An event has at most 500 changes in 256 KiB, and the next event the rest. C(shortened) counts the changes that
        alone are larger and therefore have no C(record).
    type: bool
    default: false
  state_file:
    description:
      - A SQLite file with the last known values, so that the first poll after a restart reports only what has changed
        in the meantime. Without it, the first poll reports no changes.
      - It is updated when an event is delivered to the rules. After a kill at most one event is delivered twice.
      - The file is readable by its owner only, and can be used by one source at a time.
    type: path
requirements:
  - ansible-core in the Python environment of ansible-rulebook
"""

EXAMPLES = r"""
- name: React to primary storages that run full
  hosts: localhost
  sources:
    - name: Primary storages
      virtinfra.manager.resource_changes:
        base_url: https://manager.example.com:8443
        account: "{{ account }}"
        account_password: "{{ account_password }}"
        resource_type: primarystorage
        fields: []
        thresholds:
          - field: available_capacity
            below: 10
            rearm: 12
        state_file: /var/lib/rulebook/primary_storages.sqlite
  rules:
    - name: Report a primary storage that is low
      condition: event.change.after == "low"
      action:
        debug:
          msg: "{{ event.change.name }}: {{ event.change.percent }} % free"

- name: Restart the services of VMs that were restarted
  hosts: localhost
  sources:
    - name: VMs
      virtinfra.manager.resource_changes:
        base_url: https://manager.example.com:8443
        account: "{{ account }}"
        account_password: "{{ account_password }}"
        resource_type: vm
  rules:
    - name: Launch the job template for a VM that runs again
      condition: event.change.after == "Running"
      action:
        run_job_template:
          name: Restart services
          organization: Default
          job_args:
            limit: "{{ event.change.inventory_hostname }}"
"""

import asyncio
import logging
import sys
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

# ansible-rulebook loads only this file, so the path of the collection is derived from it.
sys.path.insert(0, str(Path(__file__).absolute().parents[7]))

from ansible_collections.virtinfra.manager.plugins.module_utils._api.errors import (
    InvalidOptions,
    LoginFailed,
    VirtinfraError,
    describe_unknown_names,
    suggest_name,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._api.records import (
    RECORD_FIELDS,
    to_camel_case,
    to_snake_case,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._api.resource_types import (
    CBT_TASK,
    HOST,
    PRIMARY_STORAGE,
    VM,
    ResourceType,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._client.client import Client
from ansible_collections.virtinfra.manager.plugins.module_utils._masking.terminal import escape_controls
from ansible_collections.virtinfra.manager.plugins.module_utils._modules.options import CONNECTION, Options
from ansible_collections.virtinfra.manager.plugins.plugin_utils._eda.changes import (
    Known,
    Poll,
    Threshold,
    Watch,
    build_events,
    name_total_field,
)
from ansible_collections.virtinfra.manager.plugins.plugin_utils._eda.source import (
    deliver_event,
    open_service,
    read_options,
)
from ansible_collections.virtinfra.manager.plugins.plugin_utils._eda.store import StateFile
from ansible_collections.virtinfra.manager.plugins.plugin_utils._inventory.names import name_objects
from ansible_collections.virtinfra.manager.plugins.plugin_utils._inventory.services import OPTIONS as SERVICE_OPTIONS
from ansible_collections.virtinfra.manager.plugins.plugin_utils._inventory.services import (
    Service,
    create_services,
)
from ansible_collections.virtinfra.manager.plugins.plugin_utils._run.profiles import Profiles

LOG = logging.getLogger("virtinfra.manager.resource_changes")

# The longest pause between two polls of a service that does not answer, in seconds, unless the interval is longer.
LONGEST_BACKOFF = 300.0

HOST_FIELDS = ("state", "status", *(name for name in RECORD_FIELDS["HostInventory"] if name.endswith("Status")))
RESOURCE_TYPES: Mapping[str, tuple[ResourceType, tuple[str, ...]]] = {
    "host": (HOST, tuple(to_snake_case(name) for name in HOST_FIELDS if name != "ipmiPowerStatus")),
    "vm": (VM, ("state",)),
    "cbttask": (CBT_TASK, ("status",)),
    "primarystorage": (PRIMARY_STORAGE, ("state", "status")),
}

THRESHOLD: Options = {
    "field": {"type": "str", "required": True},
    "below": {"type": "float", "required": True},
    "rearm": {"type": "float"},
}
# Polling continues while a service cannot be read, so this source has no option on_failure.
SELECTION: Options = {name: rules for name, rules in SERVICE_OPTIONS.items() if name != "on_failure"}
OPTIONS: Options = {
    **SELECTION,
    **CONNECTION,
    "page_size": {"type": "int", "default": 1000},
    "resource_type": {"type": "str", "required": True, "choices": list(RESOURCE_TYPES)},
    "fields": {"type": "list", "elements": "str"},
    "thresholds": {"type": "list", "elements": "dict", "default": [], "options": THRESHOLD},
    "interval": {"type": "float", "default": 30},
    "collect_changes": {"type": "bool", "default": False},
    "state_file": {"type": "path"},
}


async def main(queue: asyncio.Queue[Any], args: dict[str, Any]) -> None:
    """Poll and put an event for each change into the queue, until the rulebook ends."""
    options = read_options(OPTIONS, args)
    if not options["interval"] > 0:
        raise InvalidOptions("interval must be more than 0 seconds")
    watch = build_watch(options)
    selected = {name: options[name] for name in SELECTION}
    (service,) = create_services(selected, None, options["page_size"], Profiles())
    with closing(StateFile(options["state_file"])) as state, open_service(service.connection) as client:
        known, failures = state.load(), 0
        while True:
            try:
                poll = await asyncio.to_thread(compare, client, service, watch, known)
            except InvalidOptions:
                raise
            except VirtinfraError as error:
                if isinstance(error, LoginFailed) and error.is_final:
                    raise
                failures += 1
                if failures == 1:
                    reason = escape_controls(str(error))
                    LOG.warning("%s cannot be read, polling continues: %s", service.name, reason)
                await asyncio.sleep(compute_backoff(options["interval"], failures))
                continue
            if failures:
                LOG.warning("%s can be read again after %d failed polls", service.name, failures)
                failures = 0
            await report(queue, poll, known, state, options["collect_changes"])
            await asyncio.sleep(options["interval"])


def compare(client: Client, service: Service, watch: Watch, known: Known) -> Poll:
    """List all objects and compare them with the known values."""
    kind = RESOURCE_TYPES[watch.resource_type][0]
    with client.with_own_connections() as reader:
        records = (record for page in service.read_pages(reader, kind) for record in page)
        return watch.compare(records, known, name_objects)


async def report(
    queue: asyncio.Queue[Any], poll: Poll, known: dict[str, dict[str, Any]], state: StateFile, collects: bool
) -> None:
    """Deliver an event to the rules for each change, or for all, and store the changes when they have taken it."""
    for uuid in poll.gone:
        del known[uuid]
    known.update(poll.new)
    if poll.new or poll.gone:
        state.save(poll.new, poll.gone)
    for event, changes in build_events(poll.changes, collects):
        await deliver_event(queue, event)
        for change in changes:
            known[change.uuid][change.key] = change.after
        state.save({change.uuid: known[change.uuid] for change in changes})


def build_watch(options: Mapping[str, Any]) -> Watch:
    """Return the values to watch. Raise InvalidOptions with the name of an unknown field."""
    kind, usual = RESOURCE_TYPES[options["resource_type"]]
    fields = usual if options["fields"] is None else tuple(options["fields"])
    names = RECORD_FIELDS[kind.record]
    if unknown := [name for name in fields if to_camel_case(name) not in names]:
        beginning, known = f"{options['resource_type']} records have no field", list(map(to_snake_case, names))
        raise InvalidOptions(
            f"fields: {describe_unknown_names(beginning, unknown, lambda name: suggest_name(name, known))}"
        )
    if not (fields or options["thresholds"]):
        raise InvalidOptions(
            "fields is empty and there are no thresholds, so nothing is watched. Add thresholds, or leave out fields"
            f" to watch {', '.join(usual)}."
        )
    thresholds = []
    for threshold in options["thresholds"]:
        name, below = to_camel_case(threshold["field"]), threshold["below"]
        rearm = below if threshold["rearm"] is None else threshold["rearm"]
        if name not in names or not name.startswith("available") or name_total_field(name) not in names:
            raise InvalidOptions(
                f"thresholds: {threshold['field']} is not a capacity of {options['resource_type']} records."
                f"{_list_capacities(names)}"
            )
        if not 0 < below <= rearm <= 100:
            raise InvalidOptions("thresholds: below must be more than 0, and rearm from below to 100 percent")
        thresholds.append(Threshold(threshold["field"], below, rearm))
    return Watch(options["resource_type"], kind.record, fields, tuple(thresholds))


def _list_capacities(names: Iterable[str]) -> str:
    """Return a sentence with the capacities among API names of fields."""
    fields = {*names}
    capacities = [
        to_snake_case(name) for name in names if name.startswith("available") and name_total_field(name) in fields
    ]
    return f" Use one of: {', '.join(capacities)}." if capacities else " They have no capacities."


def compute_backoff(interval: float, failures: int) -> float:
    """Return the seconds until the next poll after this number of failed polls."""
    return min(interval * 2.0 ** min(failures, 20), max(interval, LONGEST_BACKOFF))
