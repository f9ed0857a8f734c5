"""Events that contain several results or changes, within limits that each consumer can take. Pure: no I/O."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from .texts import disarm_templates

# The limits of an event: its members, and their size as JSON in bytes. Job templates get events as extra variables, for
# which platforms and proxies have limits of one to a few megabytes.
MOST_MEMBERS = 500
MOST_BYTES = 256 * 1024

Key = TypeVar("Key")
Member = dict[str, Any]


@dataclass
class Collected(Generic[Key]):
    """The members of one event, their keys, and how many of the members are shortened."""

    keys: list[Key] = field(default_factory=list)
    members: list[Member] = field(default_factory=list)
    shortened: int = 0
    size: int = 0

    def has_room(self, size: int) -> bool:
        """Return whether a member of this size fits."""
        return not self.members or (len(self.members) < MOST_MEMBERS and self.size + size <= MOST_BYTES)


def collect(entries: Iterable[tuple[Key, Member]], shorten: Callable[[Member], Member]) -> Iterator[Collected[Key]]:
    """Divide members and their keys, in their order, among as few events as possible.

    A member that is larger than an event may be is replaced by what ``shorten`` returns for it.
    """
    event = Collected[Key]()
    for key, entry in entries:
        member = disarm_templates(entry)
        size = len(json.dumps(member))
        is_too_large = size > MOST_BYTES
        if is_too_large:
            member = shorten(member)
            size = len(json.dumps(member))
        if not event.has_room(size):
            yield event
            event = Collected[Key]()
        event.keys.append(key)
        event.members.append(member)
        event.shortened += is_too_large
        event.size += size
    if event.members:
        yield event
