"""The targets of the objects of a batch, which would change one at the same time if two had the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ...module_utils._api.errors import InvalidOptions, VirtinfraError
from ...module_utils._api.records import NullReference
from ...module_utils._api.references import is_name
from ...module_utils._api.resource_types import REFERS_TO
from ...module_utils._http.connection import ConnectionOptions
from ...module_utils._modules.run import Task


class SharedTarget(InvalidOptions):
    """Several objects of a batch have one target. It may have been read, but nothing was changed."""

    description = "The options are invalid. Nothing was changed."


class Targets:
    """The numbers of objects by what selects their targets: an option with its value, and the uuid once it is read."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[ConnectionOptions, str, tuple[str, ...]], list[int]] = {}
        # What selects the targets whose uuids are not known, by the numbers of their objects.
        self._selections: dict[int, frozenset[tuple[str, str]]] = {}
        self._has_uuids = False

    def add(self, task: Task, number: int) -> None:
        """Add the target of an object by its options."""
        spec, params = task.spec, task.params
        uuid = params.get("uuid")
        if not spec.has_target or isinstance(uuid, NullReference):
            return
        if uuid:
            self._has_uuids = True
            self._claim(task, number, f"uuid {uuid}")
            return
        if target := spec.identify(params):
            self._hold(number, task.connection, f"{target[0]} {target[1]!r}", target[2:])
            options = [target[0], *spec.selecting_options]
        else:
            # Those of the objects that the target belongs to.
            options = [
                each for each in spec.options if each in spec.named_options or spec.parameters[each] in REFERS_TO
            ]
        values = {option: params.get(option) for option in options}
        self._selections[number] = frozenset((name, value) for name, value in values.items() if isinstance(value, str))

    def list_unread(self) -> list[int]:
        """Return the numbers of the objects whose targets have to be read to compare them: none if options do.

        Options of the same names do, unless one contains names and another one uuids.
        """
        forms = {
            frozenset((option, is_name(value)) for option, value in selection)
            for selection in self._selections.values()
        }
        has_equal = len(set(self._selections.values())) < len(self._selections)
        return list(self._selections) if self._has_uuids or has_equal or len(forms) > 1 else []

    def list_shared(self) -> Iterator[tuple[int, str]]:
        """Yield the number of each object whose target is that of another one, and why it is refused."""
        for (_connection, label, _parts), numbers in self._numbers.items():
            distinct = dict.fromkeys(numbers)
            for number in distinct if len(distinct) > 1 else ():
                yield number, _describe(label, next(other for other in distinct if other != number))

    def build_note(self, task: Task, number: int) -> Callable[[str], None]:
        """Return the hook ``claim_target`` of an object that is only read: it notes the target, and ends the task."""

        def note(target: str) -> None:
            self._claim(task, number, target)
            raise VirtinfraError("the target is known")

        return note

    def build_claim(self, task: Task, number: int) -> Callable[[str], None]:
        """Return the hook ``claim_target`` of an object, which raises SharedTarget if another object has its target."""

        def claim(target: str) -> None:
            others = [each[0] for each in self._claim(task, number, target) if each[0] != number]
            if others:
                raise SharedTarget(_describe(target, others[0]))

        return claim

    def _claim(self, task: Task, number: int, target: str) -> list[list[int]]:
        """Note what identifies the target of an object, and return the numbers of those that have each part of it."""
        parts = task.spec.list_parts(task.params) if target else ()
        return [self._hold(number, task.connection, target, (part,)) for part in parts]

    def _hold(self, number: int, connection: ConnectionOptions, label: str, parts: tuple[str, ...]) -> list[int]:
        """Note what selects the target of an object, and return the numbers of all objects with it, in their order."""
        numbers = self._numbers.setdefault((connection, label, parts), [])
        numbers.append(number)
        return numbers


def _describe(label: str, other: int) -> str:
    return f"{label} selects the target of objects[{other}], too. Remove one of them."
