"""What became of the objects of a workflow, and how it is reported."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...module_utils._api.errors import join_first
from ...module_utils._api.records import Record
from ...module_utils._masking.terminal import escape_controls

# How many objects a message names that is not about failures.
MAX_NAMED = 5

# How many reasons the message of a failed role has. Notifications and logs of other programs show nothing else.
MAX_REASONS = 3


def name_some(names: Sequence[str]) -> str:
    """Return the first names, and how many others there are."""
    return join_first(names, MAX_NAMED)


@dataclass(kw_only=True)
class Outcome:
    """What became of one object: whether this run has changed it, and why it has failed. It can be both.

    ``skipped`` is why the run did not try to change it.
    """

    is_changed: bool = False
    error: str | None = None
    skipped: str | None = None

    @property
    def name(self) -> str:
        """The outcome in one word."""
        if self.error is not None:
            return "failed"
        if self.is_changed:
            return "changed"
        return "unchanged" if self.skipped is None else "skipped"

    @property
    def is_settled(self) -> bool:
        """Whether the run says that the object is as asked: it has neither failed nor was it skipped."""
        return self.error is None and self.skipped is None

    @property
    def reason(self) -> str | None:
        """Why the object has failed or was skipped."""
        return self.skipped if self.error is None else self.error

    def fail(self, reason: str) -> None:
        """Note why the object has failed. The first reason counts."""
        self.error = reason if self.error is None else self.error

    def note(self, result: Mapping[str, Any]) -> None:
        """Note what a module returned for the object."""
        self.is_changed |= bool(result["changed"])
        if result["failed"]:
            self.fail(str(result["msg"]))


@dataclass(frozen=True)
class Entry:
    """The entry of an object in the report: its outcome, its members, and its name in messages.

    ``key`` is what the object has in the wish of the run, mostly its uuid.
    """

    outcome: Outcome
    label: str
    members: Record
    key: str = ""

    @property
    def name(self) -> str:
        """The name of the object alone, which names it well enough in a short message."""
        return str(self.members.get("vm") or self.members.get("name") or self.label)

    def fail(self, reason: str) -> None:
        """Note, also in the members, why the object has failed."""
        self.outcome.fail(reason)
        self.members.update(outcome="failed", error=self.outcome.error)


@dataclass(frozen=True)
class Report:
    """What a workflow has done: its entries, and what they are, such as VMs.

    ``next`` is what later tasks of the role need beside the report, and ``has_changed`` whether this step has changed
    anything, or predicts it, apart from what the entries say, and from what the site has changed. ``summary`` is the
    message in place of the numbers of outcomes; ``is_explained`` if it names the reasons of failures, too.
    """

    objects: str
    entries: list[Entry] = field(default_factory=list)
    next: Record = field(default_factory=dict)
    has_changed: bool = False
    summary: str = ""
    is_explained: bool = False

    @property
    def failed_count(self) -> int:
        """How many objects have failed."""
        return sum(entry.outcome.error is not None for entry in self.entries)

    @property
    def is_changed(self) -> bool:
        """Whether any object was changed, also one that has failed."""
        return self.has_changed or any(entry.outcome.is_changed for entry in self.entries)

    def describe(self) -> str:
        """Return how many objects have failed and why or, if none has, how many have which outcome."""
        if self.failed_count:
            count = self.summary or f"{self.failed_count} of {len(self.entries)} {self.objects} failed"
            return count if self.is_explained else f"{count}: {self._name_reasons()}"
        if self.summary:
            return self.summary
        counts = Counter(entry.outcome.name for entry in self.entries)
        return f"{len(self.entries)} {self.objects}" + "".join(f", {count} {name}" for name, count in counts.items())

    def _name_reasons(self) -> str:
        """Return the first reasons, each with the first objects that have failed for it, as the end of a sentence."""
        failed = [(reason, [entry.name for entry in entries]) for reason, entries in self._group_failures().items()]
        named = [
            reason if len(names) == 1 and names[0] in reason else f"{name_some(names)}: {reason}"
            for reason, names in failed[:MAX_REASONS]
        ]
        others = [f"and {len(failed) - MAX_REASONS} more reasons"] if len(failed) > MAX_REASONS else []
        return escape_controls("; ".join([*(each.rstrip(".") for each in named), *others]))

    def list_failures(self) -> list[str]:
        """Return a line for each reason, with the names of all objects that have failed for it."""
        return [
            escape_controls(f"{', '.join(entry.label for entry in entries)}: {reason}")
            for reason, entries in self._group_failures().items()
        ]

    def _group_failures(self) -> dict[str, list[Entry]]:
        """Return the entries that have failed by their reasons."""
        groups: dict[str, list[Entry]] = {}
        for entry in self.entries:
            if entry.outcome.error is not None:
                groups.setdefault(entry.outcome.error, []).append(entry)
        return groups

    def build_result(self) -> Record:
        """Return the result of the module."""
        return {
            "report": [entry.members for entry in self.entries],
            "changed": self.is_changed,
            "failed_count": self.failed_count,
            "failures": self.list_failures(),
            "msg": self.describe(),
            **({"next": self.next} if self.next else {}),
        }
