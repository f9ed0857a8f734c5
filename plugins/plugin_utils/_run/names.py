"""The names of objects that all tasks of a run have looked up.

For each type of objects the run counts the changes: when a task creates, renames or removes an object of the type, all
names that were looked up before are outdated. Other users change names, too, so a name is looked up again after a
while, and before an object is removed.
"""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Callable, Container, Iterable
from contextlib import ExitStack, suppress
from dataclasses import asdict
from pathlib import Path

from ...module_utils._api.errors import VirtinfraError
from ...module_utils._client.stores import Uuids
from ...module_utils._http.connection import ConnectionOptions
from .files import edit_values, locate_file

# For how many seconds a name is remembered: other users may give it to another object.
MAX_AGE = 30.0


def suspend_names() -> None:
    """Remember no names for the rest of the run: a module process changes objects, and does not say when."""
    with suppress(VirtinfraError), edit_values(_locate_suspension()) as values:
        values["suspended"] = True


def _locate_suspension() -> Path:
    return locate_file("names")


class FileNames:
    """Remembers uuids by the names of objects in files, for all processes of this run."""

    lasting: Container[tuple[str, ...]] = ()

    def __init__(self, connection: ConnectionOptions) -> None:
        self._service = connection.origin, connection.path_prefix
        # Accounts see different objects.
        self._options = json.dumps(asdict(connection), default=str)
        self._changes_path = locate_file("changes", *self._service)
        # The types that the next change of the file forgets; a set is empty once its types are forgotten.
        self._next_types: set[str] = set()
        self.seen: dict[tuple[str, ...], float] = {}
        self._types_lock, self._file_lock = threading.Lock(), threading.Lock()

    def find(self, resource_type: str, key: tuple[str, ...], look_up: Callable[[], Uuids]) -> tuple[Uuids, bool]:
        """Return the uuids that are stored for a key, or else those of ``look_up``, and whether they were stored.

        Other processes and threads wait for the one that looks them up. If it fails, they all look them up at the same
        time, because their failures would take as long, one after the other.
        """
        began, changes = time.monotonic(), self._count_changes(resource_type)
        if changes is None:
            return look_up(), False
        with ExitStack() as stack:
            try:
                path = locate_file("name", self._options, resource_type, *key)
                stored = stack.enter_context(edit_values(path))
            except VirtinfraError:
                return look_up(), False
            if stored.get("changes") == changes and began - stored["looked_up"] < MAX_AGE:
                return stored["uuids"], True
            if stored.get("failed", -math.inf) < began:
                stored.clear()
                try:
                    stored.update(uuids=look_up(), changes=changes, looked_up=began)
                except VirtinfraError:
                    stored["failed"] = time.monotonic()
                    raise
                return stored["uuids"], False
        return look_up(), False

    def renew_list(self, dummy_type: str, dummy_since: float, dummy_look_up: Callable[[], Uuids]) -> None:
        """Return None: a task for one object uses few names, and looks up each of them again."""

    def count_lookup(self, resource_type: str) -> int:
        """Count a lookup of names of a type, and return how many the run has counted since the last change.

        Return 0 if no names are remembered.
        """
        changes = self._count_changes(resource_type)
        if changes is None:
            return 0
        path = locate_file("lookups", self._options, resource_type)
        with suppress(VirtinfraError), edit_values(path) as lookups:
            before = lookups["count"] if lookups.get("changes") == changes else 0
            lookups.update(changes=changes, count=before + 1)
            return int(before)
        return 0

    def _count_changes(self, resource_type: str) -> int | None:
        """Return the number of changes of a type so far, None if no names are remembered."""
        if _locate_suspension().exists():
            return None
        try:
            with edit_values(self._changes_path) as changes:
                count = changes.get(resource_type, 0)
        except VirtinfraError:
            return None
        return count if isinstance(count, int) else None

    def forget(self, resource_types: Iterable[str]) -> None:
        """Forget all names of these types, also those that are being looked up.

        Threads that wait for each other share a change of the file, which begins after all of them have called this.
        """
        with self._types_lock:
            types = self._next_types
            types.update(resource_types)
        with self._file_lock:
            if not types:
                return
            with self._types_lock:
                self._next_types = set()
            self._change(types, lambda count: count if count is None else count + 1)
            types.clear()

    def suspend(self, resource_types: Iterable[str]) -> None:
        """Forget all names of these types, and remember none from now on."""
        self._change(resource_types, lambda count: None)

    def _change(self, resource_types: Iterable[str], change: Callable[[int | None], int | None]) -> None:
        types = list(resource_types)
        if types:
            with suppress(VirtinfraError), edit_values(self._changes_path) as changes:
                changes.update({name: change(changes.get(name, 0)) for name in types})
