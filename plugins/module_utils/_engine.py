# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is PRIVATE to the collection. It can have breaking changes at any time.

"""What has to be done to bring an object from what it is to what it should be. Pure: no I/O, no Ansible."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.virtinfra.manager.plugins.module_utils._errors import BadInput, Failure
from ansible_collections.virtinfra.manager.plugins.module_utils._operations import TAGS, by_name
from ansible_collections.virtinfra.manager.plugins.module_utils._records import FIELDS, Record, same, shaped, snake


@dataclass(frozen=True)
class Move:
    """How a word of ``state`` is reached: the operation, where the record tells, and the values that count as there.

    The first of ``reached`` is what the operation leads to. ``fixed`` are parameters of the operation.
    """

    operation: str
    attribute: str
    reached: tuple[str, ...]
    fixed: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Step:
    """A call to make, and the record that is expected after it (None: it is gone)."""

    operation: str
    params: Record
    after: Record | None


Plan = Callable[["Resource", str, Record, "Record | None"], "list[Step]"]


@dataclass(frozen=True)
class Resource:
    """The description of one kind of object.

    ``kind`` names its record, ``returns`` the member of the result. ``read`` finds the record that is meant by the
    options (API names), None when there is none. ``passing`` are values of a record that change by themselves: they
    are waited out. ``broken`` are values in which an operation has failed although it did not say so. ``rename`` maps
    a parameter to the record's name for it. ``plan`` replaces the plan below.
    """

    kind: str
    returns: str
    read: Callable[[Any, Record], Record | None]
    create: str | None = None
    update: str | None = None
    delete: str | None = None
    moves: Mapping[str, Move] = field(default_factory=dict)
    passing: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    broken: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    rename: Mapping[str, str] = field(default_factory=dict)
    plan: Plan | None = None


def plan(resource: Resource, state: str, desired: Record, current: Record | None) -> list[Step]:
    """Return the steps that bring the object to ``state`` and to the desired values; none when it is there.

    ``desired`` holds API names and only what was asked for. Raises BadInput when a required option is missing and
    Failure when something differs that the API cannot change.
    """
    if resource.plan is not None:
        return resource.plan(resource, state, desired, current)
    if state == "absent":
        return [step(resource, resource.delete, desired, current, None)] if current else []
    steps = []
    here = current
    if here is None:
        if "uuid" in desired:
            raise Failure(f"there is no such object with uuid {desired['uuid']}")
        here = created(resource, desired)
        steps.append(step(resource, resource.create, desired, None, here))
    elif changes := drift(resource, desired, here):
        here = {**here, **changes}
        steps.append(update(resource, changes, desired, here))
    move = resource.moves.get(state)
    if move and here.get(move.attribute) not in move.reached:
        here = {**here, move.attribute: move.reached[0]}
        steps.append(step(resource, move.operation, {**desired, **move.fixed}, here, here))
    return steps


def created(resource: Resource, desired: Record) -> Record:
    """Return the record that is expected after a create: what was asked for, everything else unknown."""
    fields = FIELDS[resource.kind]
    return shaped(resource.kind, {name: value for name, value in desired.items() if name in fields})


def drift(resource: Resource, desired: Record, current: Record) -> Record:
    """Return the desired values that the record has otherwise; what it does not report is not compared."""
    known = {*FIELDS[resource.kind], *current} - {"uuid"}
    return {name: value for name, value in desired.items() if name in known and not same(value, current.get(name))}


def update(resource: Resource, changes: Record, desired: Record, after: Record) -> Step:
    """Return the one call that makes all changes; Failure names those that the API cannot make."""
    able = by_name(resource.update).parameters if resource.update else {}
    if fixed := [name for name in changes if name not in able]:
        told = ", ".join(f"{snake(name)} (should be {changes[name]!r})" for name in fixed)
        raise Failure(f"the API cannot change {told}")
    needed = {name: desired[name] for name in able if name in desired and able[name].required}
    return step(resource, resource.update, {**needed, **changes}, after, after)


def step(
    resource: Resource, operation: str | None, desired: Record, current: Record | None, after: Record | None
) -> Step:
    """Return the call of an operation with all of its parameters that are asked for or that the record tells.

    Raises BadInput when a required one is neither.
    """
    if operation is None:
        raise Failure(f"there is no such {resource.returns} and the API cannot make one from these options")
    row = by_name(operation)
    params = {name: desired[name] for name in (*row.parameters, *TAGS) if desired.get(name) is not None}
    for name, parameter in row.parameters.items():
        told = (current or {}).get(resource.rename.get(name, name))
        if parameter.required and name not in params and told is not None:
            params[name] = told
    if missing := row.missing(params):
        names = ", ".join(snake(resource.rename.get(name, name)) for name in missing)
        raise BadInput(f"{names} {'is' if len(missing) == 1 else 'are'} required for {operation}")
    return Step(operation, params, after)


def unread(resource: Resource, desired: Record) -> Record | None:
    """Return what is assumed of an object that cannot be read: it is there if its uuid is given.

    What the API could not change anyway is taken to be as desired; everything else is then set, needed or not.
    """
    if "uuid" not in desired:
        return None
    able = by_name(resource.update).parameters if resource.update else {}
    return {name: value for name, value in desired.items() if name in FIELDS[resource.kind] and name not in able}


def passing(resource: Resource, record: Record | None) -> str | None:
    """Return what of the record is about to change by itself, as ``name value``; None when nothing is."""
    return _found(resource.passing, record)


def broken(resource: Resource, record: Record | None) -> str | None:
    """Return what of the record says that an operation failed, as ``name value``; None when nothing does."""
    return _found(resource.broken, record)


def _found(values: Mapping[str, tuple[str, ...]], record: Record | None) -> str | None:
    for name, words in values.items():
        if record and record.get(name) in words:
            return f"{snake(name)} {record[name]}"
    return None
