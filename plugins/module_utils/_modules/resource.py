"""The modules that change one object to a state."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Any

from .._api.errors import InvalidOptions, NotFound, VirtinfraError
from .._api.operation import ABSENT, TAG_PARAMS
from .._api.operations import get_operation
from .._api.records import Record, to_camel_case
from .._api.references import format_option_name
from .._engine.context import ModuleContext
from .._engine.guards import Guard, format_yaml_value
from .._engine.reconciler import Reconciler
from .._engine.spec import ResourceSpec
from .options import OBJECT_TAGS, TAGS, WAIT, Options
from .spec import ModuleSpec

# For an option, other options with the values with which it acts: one of them is enough.
ActsWith = Mapping[str, Mapping[str, tuple[Any, ...]]]

# How the options of a removal act in modules that do not say more.
_REMOVAL_ACTS_WITH: ActsWith = {name: {"state": (ABSENT,)} for name in ("force", "delete_mode")}

# The parameters that all new objects have.
_OF_NEW_OBJECTS = ("resourceUuid", "tagUuids")


def resource_module(
    resource: ResourceSpec | Mapping[str, ResourceSpec],
    options: Options,
    by: str | None = None,
    planned: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
    choose: Callable[[ResourceSpec, ModuleContext], ResourceSpec] | None = None,
    selecting_options: tuple[str, ...] = (),
    only_absent: tuple[str, ...] = (),
    never_absent: tuple[str, ...] = (),
    acts_with: ActsWith = MappingProxyType({}),
    find_mistakes: Callable[[Mapping[str, Any], Record], Iterable[str]] | None = None,
    list_parts: Callable[[Mapping[str, Any]], Iterable[str]] = lambda dummy: ("",),
    instead: Mapping[str, str] = MappingProxyType({}),
    **rules: Any,
) -> ModuleSpec:
    """Return the module that changes one object to the state that its options describe.

    If there are several types of it, ``by`` names the option that selects the type, and ``planned`` are the options
    (API names) of a type that only its plan uses. ``choose`` returns the resource spec for a task, if it depends on
    what exists. The task warns of an option of ``acts_with`` that does nothing. ``find_mistakes`` returns warnings of
    options that were probably given in place of others; it gets the options of the task, and those of the module by
    their API names. It may also raise InvalidOptions. ``instead`` says what to do about options, by their API names,
    that are given with another type than theirs.

    ``selecting_options``, ``only_absent``, ``never_absent`` and ``list_parts`` are those of `ModuleSpec`.
    """
    kinds = [resource] if isinstance(resource, ResourceSpec) else list(resource.values())
    permissions = {to_camel_case(guard.option) for guard in _list_guards(kinds)}

    def run(context: ModuleContext) -> dict[str, Any]:
        desired = dict(context.desired)
        context.warnings += find_mistakes(context.params, desired) if find_mistakes else ()
        context.warnings += warn_of_idle_options(options, acts_with, context.params)
        if isinstance(resource, ResourceSpec):
            return Reconciler(choose(resource, context) if choose else resource, context, desired).run()
        kind = desired["state"] if by == "state" else desired.pop(str(by))
        try:
            return Reconciler(resource[kind], context, desired).run()
        except NotFound as failure:
            if by != "state" and failure.reason.startswith(f"no {resource[kind].noun} with"):
                _name_other_type(failure, resource, context, desired, str(by))
            raise

    def refuse_foreign(desired: Record) -> None:
        if isinstance(resource, ResourceSpec):
            return
        kind = desired[str(by)]
        others = {name: value for name, value in desired.items() if name not in (*permissions, by)}
        _reject_foreign_options(resource[kind], others, planned.get(kind, ()), f"{by} {kind}", instead)

    tags = OBJECT_TAGS if all(kind.tagged_type for kind in kinds) else TAGS
    keys = {format_option_name(key): None for kind in kinds for key in kind.keys} if by != "state" else {}
    return ModuleSpec(
        run,
        options,
        (WAIT, tags),
        rules,
        selecting_options,
        only_absent=only_absent,
        never_absent=never_absent,
        keys=tuple(keys),
        own_types=frozenset().union(*(kind.types for kind in kinds)),
        refuse_foreign=refuse_foreign,
        has_target=True,
        list_parts=list_parts,
    )


def warn_of_idle_options(options: Options, acts_with: ActsWith, params: Mapping[str, Any]) -> Iterator[str]:
    """Yield a warning for each given option of a module that does nothing with the other options.

    ``acts_with`` has what the module says of its options. A removal often has all options of the task that it undoes.
    """
    if params.get("state") == ABSENT:
        return
    for name, others in {**_REMOVAL_ACTS_WITH, **acts_with}.items():
        is_given = name in options and params.get(name) not in (None, options[name].get("default"), False)
        if is_given and not any(params.get(other) in values for other, values in others.items()):
            conditions = [f"{other}: {' or '.join(map(format_yaml_value, values))}" for other, values in others.items()]
            yield f"{name} acts only with {', or with '.join(conditions)}, so it is ignored"


def _name_other_type(
    failure: NotFound, specs: Mapping[str, ResourceSpec], context: ModuleContext, desired: Record, by: str
) -> None:
    """Say in a failure which other type an object has that the options would select with it: no second one is meant."""
    for name, spec in specs.items():
        with suppress(VirtinfraError):
            if spec.find(context.client, desired):
                failure.replace_remedy(f"It exists with another type. Give {by}: {name}.")
                return


def _list_guards(kinds: Iterable[ResourceSpec]) -> list[Guard]:
    """Return all guards of several types of objects."""
    return [guard for kind in kinds for guards in kind.guards.values() for guard in guards]


def _reject_foreign_options(
    resource: ResourceSpec, desired: Record, planned: Iterable[str], kind: str, instead: Mapping[str, str]
) -> None:
    """Raise InvalidOptions for options that belong to another type of object.

    ``planned`` are options of this type that none of its operations has. ``instead`` is that of `resource_module`.
    """
    known = {name for operation in resource.operations for name in get_operation(operation).parameters}
    known.update((*resource.keys, *planned))
    known.update((*TAG_PARAMS, "tags", "tagsMode", "state"))
    if foreign := [name for name in desired if name not in known]:
        others = ", ".join(map(format_option_name, foreign))
        given = [*get_operation(resource.create).parameters, *planned] if resource.create else []
        own = ", ".join(format_option_name(name) for name in dict.fromkeys(given) if name not in _OF_NEW_OBJECTS)
        remedies = "".join(f". {instead[name]}" for name in foreign if name in instead)
        raise InvalidOptions(f"{others} cannot be used with {kind}{f', which has {own}' if own else ''}{remedies}")
