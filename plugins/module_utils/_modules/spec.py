"""The description of a module."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .._api.records import NullReference, Record
from .._api.references import mark_nulls, unify_uuid
from .._api.resource_types import RESOURCE_TYPES
from .._engine.context import ModuleContext
from .._http.connection import ConnectionOptions
from .options import WAIT, Options, TaskOptions, drop_empty


@dataclass(frozen=True)
class ModuleSpec(TaskOptions):
    """A module: its function, its own options, and the constraints on its options.

    ``shared_options`` are further option groups, in addition to the connection's. ``selecting_options`` are not
    required, but select the object of the module when they have a value. ``secret_results`` are members of the result
    for later tasks: they are not masked, but the result of a success is not shown. The state absent is the only one
    with which options in ``only_absent`` can be used, and contradicts those in ``never_absent``. A module that is
    ``only_in_controller`` cannot run in a module process. ``keys`` are the options of which the first with a value
    selects the object, none if several options do together. ``own_types`` are the types of the objects that the module
    changes or lists. ``record_type`` is the type of the records that the module lists, if it always lists the same
    type. ``check`` raises InvalidOptions for options that the module would refuse before it sends anything; it gets
    them by the API's names, and whether the task is in check mode. ``hidden_results`` are members that are not masked
    if the task has C(no_log), with which Ansible shows nothing. ``named_options`` are references that may be names, and
    that the module itself resolves, because their types are not in the table. ``refuse_foreign`` raises InvalidOptions
    for options, by the API's names, that other types of objects have, before their values are checked. The module
    refuses ``unsupported`` options of the action group, except those of the defaults for all modules, which it ignores.
    ``has_target`` says that it changes one object. ``list_parts`` returns the parts of this object that the options
    change, if several objects of a batch may change different ones.
    """

    run: Callable[[ModuleContext], dict[str, Any]]
    options: Options
    shared_options: tuple[Options, ...] = ()
    constraints: Mapping[str, Any] = field(default_factory=dict)
    selecting_options: tuple[str, ...] = ()
    secret_results: tuple[str, ...] = ()
    only_absent: tuple[str, ...] = ()
    never_absent: tuple[str, ...] = ()
    only_in_controller: bool = False
    keys: tuple[str, ...] = ()
    own_types: frozenset[str] = frozenset()
    record_type: str = ""
    check: Callable[[Record, bool], None] | None = None
    hidden_results: tuple[str, ...] = ()
    named_options: tuple[str, ...] = ()
    refuse_foreign: Callable[[Record], None] | None = None
    unsupported: tuple[str, ...] = ()
    has_target: bool = False
    list_parts: Callable[[Mapping[str, Any]], Iterable[str]] = lambda dummy: ("",)

    def identify(self, params: Mapping[str, Any]) -> tuple[Any, ...] | None:
        """Return the option that selects the object with its validated value, None if no single option does."""
        for option in self.keys:
            if (value := params.get(option)) and not isinstance(value, NullReference):
                return (option, unify_uuid(str(value)), *(str(params.get(name)) for name in self.selecting_options))
        return None

    def mark_nulls(self, arguments: Mapping[str, Any], predicted: Collection[str] = ()) -> dict[str, Any]:
        """Return the arguments of a task as the function `mark_nulls` does, without secrets and mappings that are null.

        ``predicted`` are the types of the objects that earlier tasks would have created outside check mode. An empty
        string in place of a list is null, too: core before 2.19 makes it of null. Raise InvalidOptions for an empty
        secret.
        """
        secrets = (name for name, rules in self.options.items() if rules.get("no_log"))
        arguments = drop_empty(secrets, arguments)
        # Ansible would refuse it, because there is a default.
        mappings = [name for name, spec in self.options.items() if spec["type"] == "dict" and "default" in spec]
        arguments = {name: value for name, value in arguments.items() if not (value is None and name in mappings)}
        marked = mark_nulls(arguments, self.parameters, self.own_types, predicted)
        for option, spec in self.all_options.items():
            if spec["type"] == "list" and not spec.get("required"):
                given = [name for name in (option, *spec.get("aliases", ())) if name in marked]
                marked.update({name: None for name in given if str(marked[name]).strip() == ""})
        return marked

    def predict_nulls(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the references of a task that are null, as those to objects that an earlier task has predicted."""
        null = {
            name: value for name, value in arguments.items() if None in (value if isinstance(value, list) else [value])
        }
        return self.mark_nulls(null, tuple(RESOURCE_TYPES))

    @property
    def can_change_objects(self) -> bool:
        """Whether the module makes calls that change something, and not only reads and waits."""
        return WAIT in self.shared_options

    def connection(self, params: Mapping[str, Any]) -> ConnectionOptions:
        """Return the connection among validated options."""
        return ConnectionOptions.from_params(params)
