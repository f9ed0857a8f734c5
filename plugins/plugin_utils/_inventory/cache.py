"""The cached records of the services of a source, in the cache plugin of the user."""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, MutableMapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ansible.errors import AnsibleError

from ...module_utils._api.records import Record

# The parts of an age, in seconds; an age is shown with the first two that are not zero.
_UNITS = (("d", 86400), ("h", 3600), ("min", 60), ("s", 1))


@dataclass(frozen=True)
class CachedRecords:
    """The records of a service, and the related records if they were read, as JSON; ``time`` is a Unix time."""

    time: float
    contents: str

    def is_younger_than(self, timeout: float) -> bool:
        """Return whether the records are not older than a timeout in seconds, which is 0 if they never expire.

        Records of the future are not: the age of records is unknown if the clock was ahead when they were stored.
        """
        age = time.time() - self.time
        return 0 <= age <= (timeout or age)

    def load(self) -> tuple[list[Record], list[Record] | None]:
        """Return the records and the related records."""
        records, related = json.loads(self.contents)
        return records, related

    @property
    def age(self) -> str:
        """How old the records are, for users, for example ``2 h 5 min old``."""
        remaining, parts = int(time.time() - self.time), []
        if remaining < 0:
            return "of unknown age, because their time is in the future"
        for unit, seconds in _UNITS:
            number, remaining = divmod(remaining, seconds)
            if number:
                parts.append(f"{number} {unit}")
        return f"{' '.join(parts[:2]) or '0 s'} old"


class ServiceCache:
    """The cache entry of a service for ``requested``, which says what data was read.

    Each service of a source has its own entry, so that the entries of the others are used while it cannot be read. An
    entry contains its time, because core writes all entries of a source when one has changed, and because the entries
    that replace a service during an outage never expire for core.
    """

    def __init__(
        self,
        entries: MutableMapping[str, Any],
        key: str,
        service: str,
        requested: list[Any],
        warn: Callable[[str], None],
    ) -> None:
        self._entries, self._key, self._requested, self._warn = entries, key, json.dumps(requested), warn
        self.service = service
        # The number of bytes that were written.
        self.size = 0

    @cached_property
    def records(self) -> CachedRecords | None:
        """The records in the entry, None if there is no entry, or if it is for other data."""
        try:
            entry: Any = self._entries.get(self._key)
        except AnsibleError as error:
            self._warn(f"{self.service}: the cache cannot be read, so the service is read: {error}")
            return None
        # Core would write an entry that was only read, and might replace a newer one of another process.
        self._entries.pop(self._key, None)
        try:
            if entry["requested"] == self._requested:
                return CachedRecords(float(entry["time"]), str(entry["json"]))
        except (KeyError, TypeError, ValueError):
            pass
        return None

    def write(self, records: list[Record], related: list[Record] | None) -> None:
        """Replace the entry. Core stores it when it has parsed the source.

        It consists of opaque strings: core would deserialize values in the records that look like its own tagged or
        encrypted ones.
        """
        contents = json.dumps([records, related])
        self.size = len(contents)
        self._entries[self._key] = {"time": time.time(), "requested": self._requested, "json": contents}

    def has_lost_records(self, plugin: Any) -> bool:
        """Return whether a cache plugin has dropped what core has just stored, which memcached does without a word."""
        try:
            return bool(self.size) and not plugin.get(self._key)
        except (AnsibleError, KeyError):
            return True


def create_caches(
    entries: MutableMapping[str, Any],
    source_key: str,
    requests: Iterable[tuple[str, list[Any]]],
    warn: Callable[[str], None],
) -> list[ServiceCache]:
    """Return the caches of the services of a source, for their names and for what is requested of each.

    Several services can have the same name.
    """
    caches, numbers = [], Counter[str]()
    for name, requested in requests:
        digest = hashlib.sha256(f"{numbers[name]} {name}".encode()).hexdigest()
        caches.append(ServiceCache(entries, f"{source_key}_{digest[:16]}", name, requested, warn))
        numbers[name] += 1
    return caches
