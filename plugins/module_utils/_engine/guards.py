"""Guards: what a call does to other objects, and the option that permits it. Pure: no I/O."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from .._api.errors import InUse, Unsupported, join_first
from .._api.records import Record
from .._api.resource_types import RESOURCE_TYPES

# How many dependents a message lists. The result contains all of them.
MAX_LISTED = 20

# The effects on dependents that a deletion removes together with the object: the loss of the first ones needs the
# permission of the user, that of the others does not.
LOST, REMOVED = "lost", "removed"

# The member of the result and of the diff that lists the objects that a deletion removes together with its object.
ALSO_REMOVED = "also_removed"

# The option that permits a deletion whose dependents would be lost.
FORCE = "force"


class Dependent(NamedTuple):
    """Another object that a call affects.

    ``effect`` is what the call does to it, as a participle such as ``stopped``; empty if it is unknown or nothing.
    ``reason`` says why. ``type`` is its type in RESOURCE_TYPES, or else ``noun`` the term for it in messages.
    """

    uuid: str
    name: str
    effect: str = ""
    reason: str = ""
    type: str = "vm"
    noun: str = ""

    def __str__(self) -> str:
        return f"{self.name} ({self.uuid})"

    @property
    def identity(self) -> Record:
        """The members of the result that identify the object among those of its type."""
        return {"uuid": self.uuid, "name": self.name}

    @property
    def result(self) -> Record:
        """The members of the result in a list that may contain objects of several types."""
        return {"type": self.type, **self.identity}


class Dependents(NamedTuple):
    """The dependents of an object, and warnings about what cannot be determined.

    ``unknown`` says why the dependents cannot be read at all, which needs the same permission as harmful effects.
    ``seen`` are other objects near the object, by uuid, with what a review compares to find those that depend on it
    since.
    """

    objects: Sequence[Dependent] = ()
    warnings: Sequence[str] = ()
    unknown: str = ""
    seen: Mapping[str, Any] = MappingProxyType({})


class Guard(NamedTuple):
    """What a call does to other objects, and the option of the module that permits it.

    ``find`` returns the dependents of a record before the call, each with the predicted effect; it gets the value of
    ``option``, or of ``depends_on`` if the effects depend on another option. ``review`` returns the dependents after
    the call, each with its actual effect; without it, the effects are as predicted.

    ``members`` are the members of the result that list the dependents, by effect. The call is refused if it has one of
    the ``harmful`` effects, unless the option has one of the values ``permitted_by``. Without an ``option``, the
    dependents are only listed. Of ``unwanted`` effects the task only warns. ``operations`` are the guarded operations,
    by default the one that leads to the state. ``remedy`` is a sentence with a way that does no harm.

    By default, the guard is that of a deletion: dependents with the effect LOST or REMOVED are removed together with
    the object.
    """

    find: Callable[[Any, Record, Any], Dependents]
    option: str = FORCE
    permitted_by: tuple[Any, ...] = (True,)
    harmful: tuple[str, ...] = (LOST,)
    members: Mapping[str, str] = MappingProxyType({LOST: ALSO_REMOVED, REMOVED: ALSO_REMOVED})
    review: Callable[[Any, Record, Dependents], list[Dependent]] | None = None
    operations: tuple[str, ...] = ()
    depends_on: str = ""
    unwanted: tuple[str, ...] = ()
    remedy: str = ""

    def require_permission(self, operation: str, found: Dependents, choice: Any) -> None:
        """Raise an error if the ``choice`` of the option does not permit what the operation does.

        Raise InUse if it has a harmful effect, and Unsupported if it is unknown which effects it has.
        """
        if not self.option or choice in self.permitted_by:
            return
        setting = f"{self.option}: {format_yaml_value(self.permitted_by[0])}"
        if found.unknown:
            raise Unsupported(f"{operation} was not called: {found.unknown}", f"Set {setting} to call it nevertheless.")
        harmed = self._select(found.objects, self.harmful)
        if not harmed:
            return
        lines = [f"{item}: {item.reason}" if item.reason else str(item) for item in harmed]
        raise InUse(
            f"{operation} was not called, because {format_count(harmed)} would be {self._format_effects(harmed)}:"
            f" {join_first(lines, MAX_LISTED, '; ')}.{self.remedy} If this is acceptable, set {setting}.",
            in_use_by=[{**item.result, "reason": item.reason} for item in harmed],
        )

    def describe_harm(self, dependents: Sequence[Dependent], is_prediction: bool) -> str:
        """Return the warning about harmful and unwanted effects, empty if there are none."""
        harmed = self._select(dependents, (*self.harmful, *self.unwanted))
        if not harmed:
            return ""
        names = join_first([str(item) for item in harmed], MAX_LISTED)
        verb = "would be" if is_prediction else "was" if len(harmed) == 1 else "were"
        return f"{format_count(harmed)} {verb} {self._format_effects(harmed)}: {names}"

    def format_result(self, dependents: Sequence[Dependent]) -> Record:
        """Return the members of the result: the dependents by their effects, each list sorted by name."""
        result: Record = {member: [] for member in self.members.values()}
        for item in _sort_by_name(dependents):
            if member := self.members.get(item.effect):
                result[member].append(item.result if member == ALSO_REMOVED else item.identity)
        return result

    def format_diff(self, dependents: Sequence[Dependent]) -> tuple[Record, Record]:
        """Return the members of the diff before and after the call; none if nothing depends on the object.

        Objects that a deletion also removes are listed before the call, all others before and after it.
        """
        if not dependents:
            return {}, {}
        after = {
            name: [f"{item['name']} ({item['uuid']})" for item in items]
            for name, items in self.format_result(dependents).items()
            if items
        }
        removed = after.pop(ALSO_REMOVED, [])
        before = {ALSO_REMOVED: removed} if removed else {}
        if self.option not in ("", FORCE):
            before[self.option] = [str(item) for item in _sort_by_name(dependents)]
        return before, after

    @staticmethod
    def _select(dependents: Sequence[Dependent], effects: tuple[str, ...]) -> list[Dependent]:
        """Return the dependents with one of the effects."""
        return [item for item in dependents if item.effect in effects]

    def _format_effects(self, dependents: Sequence[Dependent]) -> str:
        """Return the effects on the dependents, joined by "or"."""
        present = {item.effect for item in dependents}
        return " or ".join(effect for effect in self.members if effect in present)


def format_count(dependents: Sequence[Dependent]) -> str:
    """Return the number of dependents of each type, such as ``1 VM and 2 volumes``."""
    nouns = {item.type: item.noun or RESOURCE_TYPES[item.type].noun for item in dependents}
    counts = {name: sum(item.type == name for item in dependents) for name in nouns}
    return " and ".join(f"{count} {nouns[name]}{'' if count == 1 else 's'}" for name, count in counts.items())


def format_yaml_value(value: Any) -> str:
    """Return the value of an option as YAML spells it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _sort_by_name(dependents: Sequence[Dependent]) -> list[Dependent]:
    return sorted(dependents, key=lambda item: (item.name, item.uuid))
