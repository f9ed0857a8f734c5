"""What the clients of a run share: sessions, names, what is known about a server, and locks."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from .._http.connection import ConnectionOptions

if TYPE_CHECKING:
    from concurrent.futures import Future


class ServerFacts(Protocol):
    """Stores what is known about a server, by record type, for all clients that share it."""

    def get(self, name: str, /) -> str | None:
        """Return what is known about a record type, None if nothing is known."""

    def __setitem__(self, name: str, fact: str, /) -> None:
        """Store a fact."""


# The uuids of objects by their names.
Uuids: TypeAlias = "dict[str, str]"


class NameStore(Protocol):
    """Remembers the uuids of objects by their names, for all clients that share it."""

    # When this process has last seen that a name is that of its object, by type, name and uuid.
    seen: dict[tuple[str, ...], float]
    # The types and names that are not looked up again after they were seen.
    lasting: Container[tuple[str, ...]]

    def find(self, resource_type: str, key: tuple[str, ...], look_up: Callable[[], Uuids]) -> tuple[Uuids, bool]:
        """Return the uuids that are stored for a key, or else those of ``look_up``, and whether they were stored.

        Of several clients that need them at the same time, one looks them up. Raise the error of ``look_up``.
        """

    def renew_list(self, resource_type: str, since: float, look_up: Callable[[], Uuids]) -> Uuids | None:
        """Return the uuids of all objects of a type by their names, None if the store has no list of them.

        A list that was read before ``since``, in seconds of `time.monotonic`, is read again.
        """

    def count_lookup(self, resource_type: str) -> int:
        """Count a lookup of names of a type, and return how many there were since the type was last forgotten.

        Return 0 if names are not remembered.
        """

    def forget(self, resource_types: Iterable[str]) -> None:
        """Forget all names of these types, also those that are being looked up."""

    def suspend(self, resource_types: Iterable[str]) -> None:
        """Forget all names of these types, and remember none from now on."""


class TaskNames:
    """Remembers the names that one task has looked up, for all threads of the task."""

    lasting: Container[tuple[str, ...]] = ()

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._futures: dict[tuple[str, ...], Future[Uuids]] = {}
        self._lookups: Counter[str] = Counter()
        self.seen: dict[tuple[str, ...], float] = {}

    def find(self, resource_type: str, key: tuple[str, ...], look_up: Callable[[], Uuids]) -> tuple[Uuids, bool]:
        """Return the uuids for a key, and False: no earlier task has stored them."""
        # A module process whose options contain no name does not load the code for futures.
        from concurrent.futures import Future

        with self._lock:
            future = self._futures.get((resource_type, *key))
            is_first = future is None
            future = self._futures.setdefault((resource_type, *key), future or Future())
        if is_first:
            try:
                future.set_result(look_up())
            except BaseException as error:
                future.set_exception(error)
        return future.result(), False

    def renew_list(self, dummy_type: str, dummy_since: float, dummy_look_up: Callable[[], Uuids]) -> None:
        """Return None: a task for one object uses few names, and looks up each of them again."""

    def count_lookup(self, resource_type: str) -> int:
        """Count a lookup of names of a type, and return how many the task has counted before."""
        with self._lock:
            self._lookups[resource_type] += 1
            return self._lookups[resource_type] - 1

    def forget(self, resource_types: Iterable[str]) -> None:
        """Forget all names of these types."""
        types = set(resource_types)
        with self._lock:
            self._futures = {key: future for key, future in self._futures.items() if key[0] not in types}

    def suspend(self, resource_types: Iterable[str]) -> None:
        """Suspend nothing."""


class SessionStore(Protocol):
    """Stores the session of an account for all clients that share it, and what they know about the server."""

    # Whether no other client uses the session after its owner has closed it.
    is_private: bool

    @property
    def facts(self) -> ServerFacts:
        """What is known about the server."""

    @property
    def names(self) -> NameStore:
        """The names that are known."""

    def open(self) -> AbstractContextManager[dict[str, Any]]:
        """Return a context manager for the stored values, which locks them; changes are stored.

        ``session_id`` is the session, ``failure`` describes the last login of the run if it failed.
        """


class MemoryStore:
    """Stores the session of an account for all threads of one process."""

    is_private = True

    def __init__(self, dummy: ConnectionOptions) -> None:
        self._lock = threading.Lock()
        self._values: dict[str, Any] = {}
        self.facts: dict[str, str] = {}
        self.names = TaskNames()

    @contextmanager
    def open(self) -> Iterator[dict[str, Any]]:
        """Return a context manager for the stored values, which locks them."""
        with self._lock:
            yield self._values


class Lock(Protocol):
    """A lock that the tasks of a run share. It ends with the process that holds it."""

    # Whether no task has held the lock before.
    is_first: bool
    # The handles of jobs that still ran when the lock was released.
    running: list[dict[str, Any]]

    def acquire(self) -> bool:
        """Take the lock if nobody holds it, and return whether it was taken."""

    def release(self, running: Iterable[dict[str, Any]]) -> None:
        """Give the lock to the next task, with the handles of jobs that still run."""
