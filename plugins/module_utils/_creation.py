# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is PRIVATE to the collection. It can have breaking changes at any time.

"""Let the tasks of a run create the same object one after the other, so that only the first one creates it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from ansible_collections.virtinfra.manager.plugins.module_utils._client import Client
from ansible_collections.virtinfra.manager.plugins.module_utils._errors import WaitTimeout
from ansible_collections.virtinfra.manager.plugins.module_utils._jobs import RUNNING, Job
from ansible_collections.virtinfra.manager.plugins.module_utils._modules import Lock
from ansible_collections.virtinfra.manager.plugins.module_utils._operations import get_operation
from ansible_collections.virtinfra.manager.plugins.module_utils._planner import PlannedCall, Resource
from ansible_collections.virtinfra.manager.plugins.module_utils._records import Record, canonical_address
from ansible_collections.virtinfra.manager.plugins.module_utils._waiting import wait_for_jobs


class CreationTurn:
    """The turn of a task to create an object.

    Without ``new_lock``, which returns the lock of a key, other tasks are not waited for: a module process does not
    share the locks of a run.
    """

    def __init__(self, client: Client, resource: Resource, new_lock: Callable[[str], Lock] | None) -> None:
        self._client, self._resource, self._new_lock = client, resource, new_lock
        self._lock: Lock | None = None
        self._is_over = False

    def is_due(self, call: PlannedCall) -> bool:
        """Return whether the task must take its turn before it makes a call."""
        is_creation = call.operation == self._resource.create
        return is_creation and self._new_lock is not None and self._lock is None and not self._is_over

    def take(self, call: PlannedCall, desired: Record, label: str, deadline: float) -> bool:
        """Wait until no other task of the run is creating the object; return whether one may have created it.

        Raise WaitTimeout when another task is still creating it at the deadline.
        """
        lock = self._acquired(creation_key(self._resource, call.params, desired), label, deadline)
        if lock is None:
            return False
        self._lock = lock
        jobs = [Job(handle["uuid"], handle["location"], call.operation, label) for handle in lock.running]
        wait_for_jobs(self._client, jobs, deadline)
        lock.running = []
        return not lock.is_first

    def _acquired(self, key: str, label: str, deadline: float) -> Lock | None:
        lock = self._new_lock(key) if self._new_lock else None
        if lock is None or lock.acquire():
            return lock
        for dummy in self._client.wait.poll_intervals(f"another task to create the {label}", deadline):
            if lock.acquire():
                return lock
        raise WaitTimeout(
            f"another task of this run is still creating it after {self._client.wait.timeout:g} s of waiting. Run the"
            " task again, or raise wait_timeout."
        )

    def end(self) -> None:
        """Let the next task take its turn, because the object exists or the task has ended."""
        self._is_over = True
        if self._lock:
            jobs = [job for job in self._client.jobs if job.operation == self._resource.create]
            running = [job.handle() for job in jobs if job.state == RUNNING and job.location]
            self._lock.release([*self._lock.running, *running])
        self._lock = None


def creation_key(resource: Resource, params: Mapping[str, Any], desired: Record) -> str:
    """Return what all tasks that create the same object have in common.

    This is the option by which it is found, or else the required parameters of the call. Tasks that create different
    objects may have it in common too, for example NICs of one VM.
    """
    found_by = resource.found_by(desired)
    required = [each.name for each in get_operation(str(resource.create)).parameters.values() if each.required]
    values = {found_by: desired[found_by]} if found_by else {name: params.get(name) for name in required}
    return json.dumps([resource.create, *((name, canonical_address(str(value))) for name, value in values.items())])
