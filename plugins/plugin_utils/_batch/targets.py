"""The targets of the objects of a batch, which would change one at the same time if two had the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...module_utils._api.errors import InvalidOptions
from ...module_utils._api.references import unify_uuid
from ...module_utils._client.client import ignore_target
from ...module_utils._modules.run import Task


class Targets:
    """The numbers of objects by what selects their targets: an option with its value, and the uuid once it is read."""

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}

    def add(self, task: Task, number: int) -> None:
        """Add the target of an object by its options. Raise InvalidOptions if an earlier object has the same."""
        if target := task.spec.identify(task.params):
            option, value = target[:2]
            self._require(task, target[:2] if option == "uuid" else target, number, f"{option} {value!r}")

    def build_claim(self, task: Task, number: int) -> Callable[[str], None]:
        """Return the hook ``claim_target`` of an object, which raises InvalidOptions if another object has its target.

        It gets the uuid of the object, which another one may have in place of its name.
        """
        if not task.spec.identify(task.params):
            return ignore_target
        return lambda uuid: self._require(task, ("uuid", unify_uuid(uuid)), number, f"uuid {uuid}")

    def _require(self, task: Task, target: Any, number: int, label: str) -> None:
        other = self._numbers.setdefault((task.connection, target), number)
        if other != number:
            raise InvalidOptions(f"{label} selects the target of objects[{other}], too. Remove one of them.")
