"""The names that a task has replaced by uuids, and whether these are still those of the objects with the names."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from .._api.operation import Operation
from .._api.resource_types import RESOURCE_TYPES, ResourceType, find_changed_types
from .._http.hooks import Clock
from .stores import NameStore, Uuids

# For how many seconds a task trusts what it has looked up or checked itself about another object than that which it
# changes: its name, that it exists, that it is no template. Each check costs a request.
FRESH_SECONDS = 1.0


class _Check(NamedTuple):
    key: tuple[str, ...]
    is_current: Callable[[], bool]


class KnownNames:
    """The names that a task knows. It remembers them in a store, which the other tasks of a run share.

    ``resolve_names`` in names.py replaces names by uuids. A client calls ``verify`` before it sends a call, and
    ``note_change``. ``owned`` are the uuids of objects that were found by their names within an object of the task.
    """

    def __init__(self, store: NameStore, clock: Clock) -> None:
        self._store, self._clock = store, clock
        self._checks: list[_Check] = []
        self.owned: set[str] = set()

    def share(self) -> KnownNames:
        """Return the names for another client of the task, which checks what it uses itself."""
        return KnownNames(self._store, self._clock)

    def find(
        self, resource_type: ResourceType, key: tuple[str, ...], look_up: Callable[[], Uuids]
    ) -> tuple[Uuids, bool]:
        """Return the uuids that are remembered for a key, or else those of ``look_up``, and whether they were."""
        return self._store.find(resource_type.name, key, look_up)

    def count_lookup(self, resource_type: ResourceType) -> int:
        """Count a lookup of names of a type, and return how many there were before; 0 if none are remembered."""
        return self._store.count_lookup(resource_type.name)

    def renew_list(self, resource_type: ResourceType, look_up: Callable[[], Uuids]) -> Uuids | None:
        """Return the uuids of all objects of a type by their names, as they were just now; None without their list."""
        return self._store.renew_list(resource_type.name, self._clock.monotonic() - FRESH_SECONDS, look_up)

    def note_seen(self, *keys: tuple[str, ...]) -> None:
        """Note that the service has just shown whose names these are. A key has the type, the name and the uuid.

        All objects of a task share what was seen.
        """
        self._store.seen.update(dict.fromkeys(keys, self._clock.monotonic()))

    def rely_on(self, key: tuple[str, ...], is_current: Callable[[], bool]) -> None:
        """Note that the task uses a uuid, which is ``seen`` by the same key, and what checks it."""
        self._checks.append(_Check(key, is_current))

    def note_change(self, operation: Operation, is_over: bool = True) -> None:
        """Forget the names that a call changes. Until it ``is_over``, it may change them at any time."""
        change = self._store.forget if is_over else self._store.suspend
        change(find_changed_types(operation))

    def verify(self) -> bool:
        """Return whether the uuids that the task uses are still those of the objects with the names."""
        return all(map(self._is_current, self._checks))

    def _is_current(self, check: _Check) -> bool:
        """Return whether a name is still that of its object, as the task has seen just now or sees when it asks."""
        began = self._clock.monotonic()
        if self._was_seen(check.key, began):
            return True
        is_current = check.is_current()
        if is_current and not self._was_seen(check.key, began):
            self._store.seen[check.key] = began
        return is_current

    def _was_seen(self, key: tuple[str, ...], now: float) -> bool:
        """Return whether it was seen just now, or ever for a lasting name, that a name is that of its object."""
        seen = self._store.seen.get(key)
        return seen is not None and (now - seen < FRESH_SECONDS or key[:2] in self._store.lasting)

    def forget(self) -> None:
        """Forget all names, so that the task can begin again."""
        self._store.forget(RESOURCE_TYPES)
        self._store.seen.clear()
        self._checks.clear()
        self.owned.clear()
