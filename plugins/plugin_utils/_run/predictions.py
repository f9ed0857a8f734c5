"""What the tasks of a run in check mode would have done, for the tasks after them.

An object that would have been created has no uuid, so a later task refers to it with null, or by its name. A null
reference to an object of another type refers to nothing, in check mode as in any other. Of an object that would have
been changed, a later task needs the new state and the new references: a volume that would have been detached can be
attached to another VM. An object that would have been removed uses no other one any more. Changes are only noted if the
whole run is in check mode: otherwise other tasks may change the same object in the meantime.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ...module_utils._api.errors import VirtinfraError
from .files import locate_file, open_locked, parse_values

# What this process has read of a file, and up to which position: the file only grows.
_known: dict[Path, tuple[int, dict[str, Any]]] = {}
_lock = threading.Lock()


def note_prediction(types: Iterable[str]) -> None:
    """Note that a task would have created objects of these types, or with these names."""
    _append(dict.fromkeys(types, True))


def note_changes(changes: Mapping[str, Mapping[str, Any] | None]) -> None:
    """Note that a task would have changed fields of the objects with these uuids; None if it would have removed one."""
    _append(changes)


def _append(values: Mapping[str, Any]) -> None:
    if values:
        with suppress(VirtinfraError, OSError), open_locked(_locate_predictions()) as file:
            file.seek(0, os.SEEK_END)
            file.write(f"{json.dumps(values)}\n")


def list_predicted() -> Mapping[str, Any]:
    """Return what the tasks of this run would have done.

    The keys are the types of the objects that they would have created, each type with each of their names, and the
    uuids of the objects that they would have changed, each with the changed fields, or removed, each with None.
    """
    path = _locate_predictions()
    if not path.exists():
        return {}
    with suppress(VirtinfraError), _lock, open_locked(path) as file:
        position, values = _known.get(path, (0, {}))
        file.seek(position)
        for line in file.readlines():
            for key, value in parse_values(line).items():
                values[key] = {**(values.get(key) or {}), **value} if isinstance(value, dict) else value
        _known[path] = file.tell(), values
        return values
    return {}


def list_created() -> list[str]:
    """Return the types of the objects that the tasks of this run would have created, and their names."""
    return [key for key, value in list_predicted().items() if value is True]


def _locate_predictions() -> Path:
    return locate_file("predictions")
