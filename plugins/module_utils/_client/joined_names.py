"""Remember the names that the objects of a batch use, in memory, so that its threads wait for no file of the run."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Container, Iterable
from concurrent.futures import Future
from typing import NamedTuple

from .._api.errors import VirtinfraError
from .._http.connection import ConnectionOptions
from .stores import NameStore, SessionStore, Uuids


class _Lookup(NamedTuple):
    """A lookup of a thread: the uuids, as soon as they are known, and when it began."""

    uuids: Future[Uuids]
    began: float


class JoinedNames:
    """Remembers names for all objects of a batch, beside ``run``, the names that all tasks of the run share."""

    def __init__(self, run: NameStore, lasting: Container[tuple[str, ...]]) -> None:
        self._run, self.lasting = run, lasting
        self.seen: dict[tuple[str, ...], float] = {}
        self._lock = threading.Lock()
        self._lookups: dict[tuple[str, ...], _Lookup] = {}
        self._counts: Counter[str] = Counter()
        # The types of which a call that still runs may change names at any time.
        self._suspended: set[str] = set()

    def find(self, resource_type: str, key: tuple[str, ...], look_up: Callable[[], Uuids]) -> tuple[Uuids, bool]:
        """Return the uuids for a key, and whether another object or an earlier task has looked them up."""

        def find_in_run() -> tuple[Uuids, bool]:
            # What an earlier task has looked up would be checked before the first call. A file for each name that the
            # list has would cost more than it saves.
            if (resource_type, *key) in self.lasting or self._has_list(resource_type):
                return look_up(), False
            return self._run.find(resource_type, key, look_up)

        return self._find((resource_type, *key), 0.0, find_in_run)

    def renew_list(self, resource_type: str, since: float, look_up: Callable[[], Uuids]) -> Uuids | None:
        """Return the uuids of all objects of a type, None if their list is not known.

        A list that was read before ``since``, in seconds of `time.monotonic`, is read again.
        """
        if not self._has_list(resource_type):
            return None
        return self._find((resource_type,), since, lambda: (look_up(), False))[0]

    def _has_list(self, resource_type: str) -> bool:
        """Return whether the list of all objects of a type is known, or is being read."""
        return (resource_type,) in self._lookups

    def _find(
        self, key: tuple[str, ...], since: float, look_up: Callable[[], tuple[Uuids, bool]]
    ) -> tuple[Uuids, bool]:
        """Return the uuids that another thread has looked up ``since``, or else those of ``look_up``.

        Of several threads that need them at the same time, one looks them up. If it fails, each gets its own failure.
        """
        with self._lock:
            lookup = self._lookups.get(key)
            is_known = lookup is not None and lookup.began >= since
            if lookup is None or not is_known:
                lookup = _Lookup(Future(), time.monotonic())
                if key[0] not in self._suspended:
                    self._lookups[key] = lookup
        if is_known:
            try:
                return lookup.uuids.result(), True
            except VirtinfraError:
                return look_up()
        try:
            uuids, is_remembered = look_up()
        except BaseException as failure:
            with self._lock:
                if self._lookups.get(key) is lookup:
                    del self._lookups[key]
            lookup.uuids.set_exception(failure)
            raise
        lookup.uuids.set_result(uuids)
        return uuids, is_remembered

    def count_lookup(self, resource_type: str) -> int:
        """Count a lookup of names of a type, and return how many the batch has counted before."""
        with self._lock:
            self._counts[resource_type] += 1
            return self._counts[resource_type] - 1

    def forget(self, resource_types: Iterable[str]) -> None:
        """Forget all names of these types, also in the run."""
        types = set(resource_types)
        with self._lock:
            self._lookups = {key: lookup for key, lookup in self._lookups.items() if key[0] not in types}
        self._run.forget(types)

    def suspend(self, resource_types: Iterable[str]) -> None:
        """Forget all names of these types, and remember none from now on, also in the run."""
        types = set(resource_types)
        with self._lock:
            self._suspended |= types
        self.forget(types)
        self._run.suspend(types)


class JoinedStore:
    """The store that ``new_store`` returns for the connection of a run, with names of the batch."""

    def __init__(
        self,
        new_store: Callable[[ConnectionOptions], SessionStore],
        lasting: Container[tuple[str, ...]],
        connection: ConnectionOptions,
    ) -> None:
        run = new_store(connection)
        self.is_private, self.facts, self.open = run.is_private, run.facts, run.open
        self.names = JoinedNames(run.names, lasting)
