"""What one run of a task, an inventory source or an event source provides to the code that it runs."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from .._api.errors import TransportError
from .._masking.masker import Masker
from .._masking.terminal import escape_controls
from .adapter import AdapterPool
from .connection import ConnectionOptions

if TYPE_CHECKING:
    from concurrent.futures import Future


class Clock:
    """Time, in seconds of the monotonic clock, and random numbers, so that tests can replace them."""

    monotonic = staticmethod(time.monotonic)
    sleep = staticmethod(time.sleep)
    random = staticmethod(random.random)

    @staticmethod
    def wait(condition: threading.Condition | threading.Event, seconds: float | None) -> bool:
        """Wait for another thread, for so many seconds at most, and return whether it has notified this one."""
        return condition.wait(seconds)


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

    def find(self, resource_type: str, key: tuple[str, ...], look_up: Callable[[], Uuids]) -> tuple[Uuids, bool]:
        """Return the uuids that are stored for a key, or else those of ``look_up``, and whether they were stored.

        Of several clients that need them at the same time, one looks them up. Raise the error of ``look_up``.
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


def do_nothing() -> None:
    """Do nothing before a request."""


def ignore_job(dummy: Any) -> None:
    """Do nothing with a job."""


def ignore_types(dummy: Iterable[str]) -> None:
    """Do nothing with the types of objects that check mode predicts."""


class Hooks(NamedTuple):
    """What a run provides: the masker of its secrets, its clock, its logs, and what it shares with other tasks.

    ``on_progress`` is called with a line during a long wait, ``on_request`` with a line for each request.
    ``before_send`` is called before each request and retry; an exception that it raises prevents the request, until
    ``outlive_parent`` is called by a task that was interrupted and must end what it has begun.
    ``new_store`` returns the store of an account's session, by default one that is not shared. ``new_lock`` returns the
    lock of a key, which the tasks of the run share; it is None in a module process, which shares no locks.
    ``connections`` are those that the tasks of a worker share; without them, each client has its own. ``on_job`` is
    called with the job of each call. ``new_job_uuid`` returns the id of the next call, by default a random one.
    ``wait_for_jobs``, see `JobPoller`, waits for jobs together with other threads, as ``find_records``, see
    `JoinedReads`, reads objects. ``run_objects`` runs the module batch, ``run_workflow`` the module workflow; they are
    None in a module process. ``note_prediction`` is called in check mode with the types of the objects that a task
    would create, and with their names: a later task refers to one of them with null, or by its name.
    ``list_predicted`` returns what earlier tasks have noted, nothing outside check mode. ``is_hidden`` says that
    Ansible shows nothing of the task (no_log), so that secrets may be in its result.
    """

    masker: Masker
    clock: Any = Clock
    on_progress: Callable[[str], None] | None = None
    on_request: Callable[[str], None] | None = None
    before_send: Callable[[], None] = do_nothing
    outlive_parent: Callable[[], None] = do_nothing
    new_store: Callable[[ConnectionOptions], SessionStore] = MemoryStore
    new_lock: Callable[[ConnectionOptions, str], Lock] | None = None
    connections: AdapterPool | None = None
    on_job: Callable[[Any], None] = ignore_job
    new_job_uuid: Callable[[], str] | None = None
    wait_for_jobs: Callable[[Any, Sequence[Any], float], TransportError | None] | None = None
    find_records: Callable[[Any, str, str, str, float], list[dict[str, Any]]] | None = None
    run_objects: Callable[..., dict[str, Any]] | None = None
    run_workflow: Callable[[Any], dict[str, Any]] | None = None
    is_hidden: bool = False
    note_prediction: Callable[[Iterable[str]], None] = ignore_types
    list_predicted: Callable[[], Collection[str]] = tuple

    def show_progress(self, line: str) -> None:
        """Show a line during a long wait."""
        if self.on_progress:
            self.on_progress(self._make_showable(line))

    def log_request(self, line: str) -> None:
        """Show a line about a request."""
        if self.on_request:
            self.on_request(self._make_showable(line))

    def _make_showable(self, line: str) -> str:
        """Mask secrets in a line and escape control characters."""
        return escape_controls(self.masker.mask_text(line))
