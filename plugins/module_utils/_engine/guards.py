# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is PRIVATE to the collection. It can have breaking changes at any time.

"""Guards: what a call does to other objects, and the option that permits it. Pure: no I/O."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .._api.errors import InUse
from .._api.records import Record

# How many dependents a message lists. The result contains all of them.
MAX_LISTED = 20


@dataclass(frozen=True)
class Dependent:
    """Another object that a call affects.

    ``effect`` is what the call does to it, as a participle such as ``stopped``; empty if it is unknown or nothing.
    ``reason`` says why.
    """

    uuid: str
    name: str
    effect: str = ""
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.name} ({self.uuid})"

    @property
    def result(self) -> Record:
        """The members of the result."""
        return {"uuid": self.uuid, "name": self.name}


@dataclass(frozen=True)
class Dependents:
    """The dependents of an object, and warnings about what cannot be determined."""

    objects: Sequence[Dependent] = ()
    warnings: Sequence[str] = field(default_factory=tuple)


@dataclass(frozen=True)
class Guard:
    """What the call that leads to a state does to other objects, and the option of the module that permits it.

    ``find`` returns the dependents of a record before the call, each with the predicted effect; it gets the value of
    ``option``, which is the plural of the dependents, such as ``running_vms``. ``review`` returns the dependents after
    the call, each with its actual effect. ``noun`` is the term for one of them.

    ``effects`` are all effects, each of which becomes a member of the result, such as ``stopped_vms``. The call is
    refused if it has one of the ``harmful`` effects, unless the option has one of the values ``permitted_by``.
    """

    option: str
    noun: str
    effects: tuple[str, ...]
    harmful: tuple[str, ...]
    permitted_by: tuple[str, ...]
    find: Callable[[Any, Record, str], Dependents]
    review: Callable[[Any, Record, Sequence[Dependent]], list[Dependent]]

    def require_permission(self, operation: str, dependents: Sequence[Dependent], choice: str) -> None:
        """Raise InUse if the operation has a harmful effect that the ``choice`` of the option does not permit."""
        harmed = self._select_harmed(dependents)
        if not harmed or choice in self.permitted_by:
            return
        lines = (f"{item}: {item.reason}" if item.reason else str(item) for item in harmed[:MAX_LISTED])
        more = f"; and {len(harmed) - MAX_LISTED} more" if len(harmed) > MAX_LISTED else ""
        raise InUse(
            f"{operation} was not called, because {self._format_count(harmed)} would be {self._format_effects(harmed)}:"
            f" {'; '.join(lines)}{more}. If this is acceptable, set {self.option}: {self.permitted_by[0]}.",
            in_use_by=[{**item.result, "reason": item.reason} for item in harmed],
        )

    def describe_harm(self, dependents: Sequence[Dependent], is_prediction: bool) -> str:
        """Return the warning about harmful effects, empty if there are none."""
        harmed = self._select_harmed(dependents)
        if not harmed:
            return ""
        names = ", ".join(map(str, harmed[:MAX_LISTED]))
        more = f" and {len(harmed) - MAX_LISTED} more" if len(harmed) > MAX_LISTED else ""
        verb = "would be" if is_prediction else "was" if len(harmed) == 1 else "were"
        return f"{self._format_count(harmed)} {verb} {self._format_effects(harmed)}: {names}{more}"

    def format_result(self, dependents: Sequence[Dependent]) -> Record:
        """Return the members of the result: for each effect the dependents that have it, by name."""
        dependents = _sort_by_name(dependents)
        return {
            f"{effect}_{self.noun.lower()}s": [item.result for item in dependents if item.effect == effect]
            for effect in self.effects
        }

    def format_diff(self, dependents: Sequence[Dependent]) -> tuple[Record, Record]:
        """Return the members of the diff before and after the call; none if nothing depends on the object."""
        if not dependents:
            return {}, {}
        before = {self.option: [str(item) for item in _sort_by_name(dependents)]}
        after = {
            name: [f"{item['name']} ({item['uuid']})" for item in items]
            for name, items in self.format_result(dependents).items()
            if items
        }
        return before, after

    def _select_harmed(self, dependents: Sequence[Dependent]) -> list[Dependent]:
        """Return the dependents with a harmful effect."""
        return [item for item in dependents if item.effect in self.harmful]

    def _format_count(self, dependents: Sequence[Dependent]) -> str:
        """Return the number of dependents with their noun."""
        return f"{len(dependents)} {self.noun}{'' if len(dependents) == 1 else 's'}"

    def _format_effects(self, dependents: Sequence[Dependent]) -> str:
        """Return the effects on the dependents, joined by "or"."""
        present = {item.effect for item in dependents}
        return " or ".join(effect for effect in self.effects if effect in present)


def _sort_by_name(dependents: Sequence[Dependent]) -> list[Dependent]:
    return sorted(dependents, key=lambda item: (item.name, item.uuid))
