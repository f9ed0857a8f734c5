"""The names that a task has replaced by uuids, and whether these are still those of the objects with the names."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from .._api.operation import Operation
from .._api.resource_types import RESOURCE_TYPES, find_changed_types
from .._http.hooks import Clock, NameStore

# For how many seconds a task trusts a name that it has looked up itself. Each check costs a request.
FRESH_SECONDS = 1.0


class _Check(NamedTuple):
    looked_up: float
    is_current: Callable[[], bool]


class KnownNames:
    """The names that a task knows. It remembers them in ``store``, which the other tasks of a run share.

    ``resolve_names`` in names.py replaces names by uuids. Whoever sends a call calls ``verify`` before, and
    ``note_change``.
    """

    def __init__(self, store: NameStore, clock: Clock) -> None:
        self.store, self._clock = store, clock
        self._checks: list[_Check] = []

    def rely_on(self, is_remembered: bool, is_current: Callable[[], bool]) -> None:
        """Note that the task uses a uuid, which it has looked up just now or remembered, and what checks it."""
        self._checks.append(_Check(-math.inf if is_remembered else self._clock.monotonic(), is_current))

    def note_change(self, operation: Operation, is_over: bool = True) -> None:
        """Forget the names that a call changes. Until it ``is_over``, it may change them at any time."""
        change = self.store.forget if is_over else self.store.suspend
        change(find_changed_types(operation))

    def verify(self) -> bool:
        """Return whether the uuids that the task uses are still those of the objects with the names."""
        now = self._clock.monotonic()
        return all(check.is_current() for check in self._checks if now - check.looked_up >= FRESH_SECONDS)

    def forget(self) -> None:
        """Forget all names, so that the task can begin again."""
        self.store.forget(RESOURCE_TYPES)
        self._checks.clear()
