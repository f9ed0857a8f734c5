"""The types and names of the objects that the tasks of a run in check mode would have created.

Such an object has no uuid, so a later task refers to it with null, or by its name. A null reference to an object of
another type refers to nothing, in check mode as in any other.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from ...module_utils._api.errors import VirtinfraError
from .files import edit_values, locate_file


def note_prediction(types: Iterable[str]) -> None:
    """Note that a task would have created objects of these types, or with these names."""
    if noted := dict.fromkeys(types, True):
        with suppress(VirtinfraError), edit_values(_locate_predictions()) as values:
            values.update(noted)


def list_predicted() -> list[str]:
    """Return the types of the objects that the tasks of this run would have created, and their names."""
    if not _locate_predictions().exists():
        return []
    with suppress(VirtinfraError), edit_values(_locate_predictions()) as values:
        return list(values)
    return []


def _locate_predictions() -> Path:
    return locate_file("predictions")
