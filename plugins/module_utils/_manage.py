# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is PRIVATE to the collection. It can have breaking changes at any time.

"""The task that brings one object to a state: the only loop of reading, planning and doing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from ansible_collections.virtinfra.manager.plugins.module_utils._calls import (
    Call,
    besides,
    called,
    execute_once,
    unfinished,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._engine import (
    Resource,
    Step,
    broken,
    needed_fields,
    passing,
    plan,
    predicted,
    settling_fields,
    unread,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._errors import (
    ApiError,
    BadInput,
    Failure,
    JobUuidUsed,
    NotFound,
    NotUnique,
    TransportError,
    Unreadable,
    WaitTimeout,
    error_codes,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._jobs import RUNNING, Job
from ansible_collections.virtinfra.manager.plugins.module_utils._operations import TAGS as TAG_NAMES
from ansible_collections.virtinfra.manager.plugins.module_utils._operations import by_name
from ansible_collections.virtinfra.manager.plugins.module_utils._options import TAGS, WAIT, Options
from ansible_collections.virtinfra.manager.plugins.module_utils._records import (
    FIELDS,
    Record,
    Unknown,
    same,
    shaped,
    snake,
    to_ansible,
    without_unknown,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._task import Context, Task

# How many calls more than were planned at first may turn out to be needed.
REPLANS = 10

# What an object is known by: a result in which one of these is another one is that of another call.
_KEYS = {"uuid", "name", "managementIp"}


def managed(resource: Resource | Mapping[str, Resource], options: Options, by: str | None = None, **rules: Any) -> Task:
    """Return the task that brings one object to the state that its options describe.

    Where there are several kinds of it, ``by`` names the option that says which one is meant.
    """
    kinds = [resource] if isinstance(resource, Resource) else list(resource.values())

    def run(context: Context) -> dict[str, Any]:
        desired = dict(context.wanted)
        if isinstance(resource, Resource):
            return Managing(resource, context, desired).run()
        word = desired.pop(str(by))
        _refuse_others(resource[word], desired, f"{by} {word}")
        return Managing(resource[word], context, desired).run()

    operations = tuple(dict.fromkeys(operation for kind in kinds for operation in kind.operations))
    return Task(run, options, operations, (WAIT, TAGS), rules)


class Managing:
    """One run of a managed task: read, plan, do the first step, read again, plan again, until nothing is left to do."""

    def __init__(self, resource: Resource, context: Context, desired: Record) -> None:
        self.resource, self.context, self.client = resource, context, context.client
        self.desired = desired
        self.state = self.desired.pop("state", "present")
        self.about = called(without_unknown(self.desired), resource.noun)
        self.unreadable: Unreadable | None = None
        self.extras: Record = {}

    @property
    def blind(self) -> bool:
        """Whether the service cannot tell the state of the object."""
        return self.unreadable is not None

    def run(self) -> dict[str, Any]:
        """Return the result. A failure tells what was done before it."""
        try:
            before = self._read()
            after, job = self._predict(before) if self.context.check_mode else self._bring(before)
        except Failure as failure:
            raise failure.about(self.about) from None
        told = self._told(after)
        shown = [members[self.resource.returns] for members in (self._told(before), told)]
        diff = {
            name: value if isinstance(value, dict) else {self.resource.returns: value} if value else {}
            for name, value in zip(("before", "after"), shown, strict=True)
        }
        return {**told, **to_ansible(self.extras, self.resource.kind), "diff": diff, **job}

    def _predict(self, here: Record | None) -> tuple[Record | None, Record]:
        for step in self._steps(here):
            self._note(step)
            here = step.after
            self.context.changed = True
        return here, {}

    def _bring(self, here: Record | None) -> tuple[Record | None, Record]:
        done: list[Step] = []
        steps = self._steps(here)
        for dummy in range(len(steps) + REPLANS):
            step = next((step for step in steps if not any(_alike(step, other) for other in done)), None)
            if self._is_unstable(here, fields := self._fields_before(step)):
                here = self._settled(here, fields)
                steps = self._steps(here)
                continue
            if step is None:
                self._verify(here, steps)
                return here, {}
            done.append(step)
            self._note(step)
            call = Call(self.client, step, self.about, self.context.params["wait"], partial(self._still_needed, step))
            try:
                job, warnings = execute_once(call)
            except (ApiError, JobUuidUsed) as error:
                here = self._made_by_another(step, here, error)
                steps = self._steps(here)
                continue
            self.context.changed = True
            self.context.done.append(step.operation)
            self.context.warnings.extend(warnings)
            if job.state == RUNNING:
                return step.after, unfinished(job)
            self._keep_extras(step, job)
            before, here = here, self._settled(self._read_after(step, job), self._fields_after(step))
            if (here is None) != (step.after is None):
                raise Failure(
                    f"{step.operation} succeeded, but it {'does not exist' if here is None else 'still exists'}"
                )
            if trouble := broken(self.resource, self.state, step.operation, before, here):
                raise Failure(f"{step.operation} succeeded, but {trouble}")
            steps = self._steps(here)
        raise Failure(f"did not reach the requested state after {len(done)} calls")

    def _keep_extras(self, step: Step, job: Job) -> None:
        """Keep for the result what a reply holds beside the record: its own members, and a list of other records."""
        self.extras.update({name: job.result.get(name, []) for name in besides(step.operation)})
        kind = by_name(step.operation).record
        listed = job.result.get("inventory", job.result.get("inventories"))
        if kind != self.resource.kind and isinstance(listed, list):
            records = [shaped(kind, record) for record in listed if isinstance(record, dict)]
            self.extras["records"] = [*self.extras.get("records", []), *records]

    def _steps(self, here: Record | None) -> list[Step]:
        """Plan, and make sure that every call can be made before the first one is."""
        try:
            steps = plan(self.resource, self.state, self.desired, here)
        except NotFound:
            if self.unreadable:
                raise Unreadable(f"cannot check whether it exists: {self.unreadable}. Pass uuid.") from None
            raise
        for step in steps:
            null = [value for value in step.params.values() if isinstance(value, Unknown)]
            if null and not self.context.check_mode:
                raise BadInput(f"{null[0]} must not be null: {step.operation} needs it")
            unknown = dict.fromkeys(by_name(step.operation).in_path, "unknown")
            self.client.prepare(step.operation, {**unknown, **step.params})
        return steps

    def _still_needed(self, step: Step) -> bool | None:
        here = self._settled(self._read(), self._fields_after(step))
        return None if self.blind else any(_alike(step, other) for other in self._steps(here))

    def _made_by_another(self, step: Step, before: Record | None, error: Failure) -> Record:
        """Return the record that another run created meanwhile, for which the service refused to create a second one.

        Raise the failure of any other call, after reporting what it has changed all the same.
        """
        with suppress(Failure):
            now = self._read()
            is_duplicate = self.resource.duplicate_code in error_codes(error.error)
            if now and step.operation == self.resource.create and is_duplicate:
                return now
            if before is None or now is None or step.after is None:
                touched = (before is None) != (now is None)
            else:
                meant = (name for name, value in step.after.items() if value != before.get(name))
                touched = any(now.get(name) != before.get(name) for name in meant)
            self.context.changed |= touched and not self.blind
        raise error

    def _note(self, step: Step) -> None:
        if step.note:
            self.context.warnings.append(f"{self.about}: {step.note}.")
        name = self.desired.get("name")
        if name and step.operation == self.resource.create and self.resource.found_by(self.desired) != "name":
            self._warn_of_namesakes(name)

    def _warn_of_namesakes(self, name: str) -> None:
        """Warn when another object has the name of the one that is to be created."""
        uuids: list[str] = []
        try:
            record = self.resource.read(self.client, {"name": name})
            uuids = [str(record["uuid"])] if record else []
        except NotUnique as several:
            uuids = several.facts["uuids"]
        except Failure:
            pass
        if uuids:
            noun, key = self.resource.noun, snake(str(self.resource.found_by(self.desired)))
            self.context.warnings.append(
                f"{self.about}: the name is in use by another {noun} ({', '.join(sorted(uuids))}). A second {noun} of"
                f" this name is created, because none has this {key}."
            )

    def _read(self) -> Record | None:
        if self.context.unresolved:
            return predicted(self.resource, self.desired)
        try:
            return self.resource.read(self.client, without_unknown(self.desired))
        except Unreadable as reason:
            assumed = unread(self.resource, self.desired)
            if assumed is None and self.state == "absent":
                raise Unreadable(f"cannot check whether it exists: {reason}. Pass uuid.") from None
            if assumed is None and self.resource.create and not by_name(self.resource.create).repeatable:
                raise Unreadable(
                    f"cannot check whether it exists: {reason}. Pass uuid, or create it once with the api module."
                ) from None
            if not self.blind:
                self.context.warnings.append(
                    f"The state of the {self.about} is not known, so nothing is compared: {reason}."
                )
            self.unreadable = reason
            return assumed

    def _read_after(self, step: Step, job: Job) -> Record | None:
        """Return the record after a step: replies are often of another kind, so it is read again."""
        told = job.result.get("inventory")
        if by_name(step.operation).record != self.resource.kind or not isinstance(told, dict):
            told = {}
        if any(name in told and not same(self.desired[name], told[name]) for name in _KEYS & self.desired.keys()):
            # It is the result of another call, and nothing of it is this object's.
            told = {}
        keys, uuid = self.desired, told.get("uuid")
        if isinstance(uuid, str) and uuid:
            self.desired = {**self.desired, "uuid": uuid}
        if self.blind:
            return step.after and {**step.after, **told}
        return self._read_created(keys) if step.operation == self.resource.create else self._read()

    def _read_created(self, keys: Record) -> Record | None:
        """Return the record that was created; warn when another run has created one with the same keys meanwhile."""
        own = self.desired.get("uuid")
        found = None
        try:
            found = self.resource.read(
                self.client, {name: value for name, value in keys.items() if name not in ("uuid", "resourceUuid")}
            )
            uuids = [str(found["uuid"])] if found else []
        except NotUnique as several:
            uuids = sorted(several.facts["uuids"])
        if found and own in (None, uuids[0]):
            return found
        own = own or next(iter(uuids), None)
        self.desired = {**self.desired, **({"uuid": own} if own else {})}
        record = self._read() or found
        if record and (others := [uuid for uuid in uuids if uuid != record.get("uuid")]):
            self.context.warnings.append(
                f"{self.about}: {record.get('uuid')} and {', '.join(others)} exist now, because another run"
                " created one at the same time. This task uses the first. Delete what is not needed, and let one run at"
                " a time create it."
            )
        return record

    def _fields_before(self, step: Step | None) -> tuple[str, ...]:
        """Return the fields that must be stable before a call, or before the end when no call is left."""
        if step is None:
            return settling_fields(self.resource, self.state)
        return needed_fields(self.resource, self.state, step.operation)

    def _fields_after(self, step: Step) -> tuple[str, ...]:
        return settling_fields(self.resource, self.state, step.operation)

    def _is_unstable(self, here: Record | None, fields: Sequence[str]) -> bool:
        """Whether to wait for one of the fields."""
        return bool(self.context.params["wait"] and not self.blind and passing(self.resource, fields, here))

    def _settled(self, here: Record | None, fields: Sequence[str]) -> Record | None:
        """Wait until none of the fields is about to change."""
        if not self._is_unstable(here, fields):
            return here
        with self.client.bounded():
            for dummy in self.client.wait.pauses(f"the {self.about}"):
                try:
                    here = self.resource.read(self.client, self.desired)
                except (ApiError, TransportError) as error:
                    if not error.transient:
                        raise
                if not passing(self.resource, fields, here):
                    return here
        raise WaitTimeout(f"still {passing(self.resource, fields, here)} after {self.client.wait.timeout:g} s")

    def _verify(self, here: Record | None, left: list[Step]) -> None:
        """Say where the record is not what the operations that were done should have made of it."""
        words = {word: name for name, move in self.resource.moves.items() for word in move.reached}
        shown = {*FIELDS[self.resource.kind], *(here or {})}
        for step in left:
            after = {name: value for name, value in (step.after or {}).items() if name in shown}
            names = [name for name, value in after.items() if not same(value, (here or {}).get(name))]
            if not names:
                continue
            present, expected = to_ansible(here or {}), to_ansible(after)
            options = map(snake, names)
            told = ", ".join(f"{name} is {present.get(name)!r} (expected {expected[name]!r})" for name in options)
            message = f"{step.operation} succeeded, but {told}"
            if any(words.get(str((here or {}).get(name)), self.state) != self.state for name in names):
                raise Failure(message)
            self.context.warnings.append(f"{self.about}: {message}.")

    def _told(self, record: Record | None) -> Record:
        """Return the members of the result that tell of a record."""
        members = self.resource.tell(record) if self.resource.tell else {self.resource.returns: record}
        own = members[self.resource.returns]
        shape = shaped(self.resource.kind, own) if isinstance(own, dict) else own
        return {**to_ansible({**members, self.resource.returns: shape}, self.resource.kind)}


def _refuse_others(resource: Resource, desired: Record, kind: str) -> None:
    """Raise BadInput for options that belong to another kind of object."""
    known = {name for operation in resource.operations for name in by_name(operation).parameters}
    if others := [snake(name) for name in desired if name not in (*known, *TAG_NAMES, "state")]:
        raise BadInput(f"{', '.join(others)} cannot be used with {kind}")


def _alike(step: Step, other: Step) -> bool:
    return step.operation == other.operation and step.params == other.params
