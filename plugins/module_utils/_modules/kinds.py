"""The module that changes objects of all kinds of the catalogue."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from .._api.address_ranges import check_range
from .._api.errors import InvalidOptions, NotFound, VirtinfraError, describe_unknown_names, suggest_name
from .._api.limits import refuse_private_key
from .._api.operation import ABSENT
from .._api.records import PredictedReference, Record, to_camel_case, to_snake_case
from .._api.references import format_name_field, is_name, is_null, unify_uuid
from .._api.resource_types import ResourceType
from .._api.value_words import list_meant_values, suggest_choice
from .._client.names import add_given_names, explain_unknown_name, is_predicted, name_objects
from .._engine.context import ModuleContext
from .._engine.reconciler import Reconciler
from .._resources.catalogued_names import look_up
from .._resources.kind_attachments import warn_of_remaining
from .._resources.kind_mistakes import check_ports, check_reserved_memory, check_times, check_versions, refuse_unfit
from .._resources.kind_parts import refuse_equal_parts
from .._resources.kind_properties import Property, find_operation, find_type, list_properties, name_property
from .._resources.kind_references import list_references
from .._resources.kind_rows import Attachment, Kind, Parts, Row, Setting
from .._resources.kinds import build_spec, get_row, list_kinds, list_states, map_ends
from .forms import check_form, quote_value
from .kind_values import check_property
from .options import OBJECT_TAGS, WAIT, Options, reference
from .resource import warn_of_idle_options
from .sizes import read_size
from .spec import ModuleSpec
from .words import REMARKS, find_meaning

PARENT = "parentUuid"

# Options of objects, by the API's names, that attachments do not have.
_OF_OBJECTS = ("uuid", "name", PARENT, "properties", "tags", "resourceUuid", "tagUuids", "deleteMode")


def kind_module(options: Options, **rules: Any) -> ModuleSpec:
    """Return the module that changes an object, an attachment of two, or a setting: an option names the kind."""
    ends = {end: reference(parameter) for end, parameter in map_ends().items()}
    own: Options = {
        "kind": {"type": "str", "required": True, "choices": list_kinds()},
        "parent": reference(PARENT),
        "properties": {"type": "dict", "default": {}},
        **ends,
        **options,
    }

    def run(context: ModuleContext) -> dict[str, Any]:
        row, given = _prepare(context.desired, context.check_mode)
        context.warnings += warn_of_idle_options(own, {}, context.params)
        desired = _resolve_names(context, row, given)
        context.is_object_predicted |= _selects_predicted_object(row, desired)
        attached: list[str] = []
        try:
            result = Reconciler(build_spec(row, desired, attached), context, dict(desired)).run()
        except VirtinfraError as failure:
            for part in ("label", "message"):
                setattr(failure, part, _name_options(row, name_objects(getattr(failure, part), given, desired)))
            raise
        if desired["state"] != ABSENT:
            result["diff"]["after"].update(_name_predicted(given, desired))
        elif isinstance(row, Attachment):
            context.warnings += warn_of_remaining(row, attached, context.client, desired)
        context.warnings += [] if result.get("changed", context.changed) else _warn_of_unsent(row, desired)
        result = {"resource": result.pop(row.name), **result}
        return add_given_names(context.client, result, given, desired, {name: name for name in given})

    def check(desired: Record, check_mode: bool) -> None:
        _prepare(desired, check_mode)

    return ModuleSpec(
        run,
        own,
        (WAIT, OBJECT_TAGS),
        rules,
        selecting_options=("kind", "parent", *ends),
        only_absent=("expunge",),
        never_absent=("recover",),
        named_options=("parent", *ends),
        keys=("uuid", "name"),
        check=check,
        has_target=True,
    )


def _warn_of_unsent(row: Row, desired: Record) -> list[str]:
    """Return a warning of properties that only a change has, such as an old password, for a task without a change."""
    if not isinstance(row, Kind):
        return []
    created = {name for operation in row.create.values() for name in find_operation(operation).parameters}
    return [
        f"properties.{name}: the {row.noun} is not changed by it. No record shows {name}, so it is sent only with a"
        f" change of another property. virtinfra.manager.api always sends it, with the operation {row.update}."
        for name, each in list_properties(row).items()
        if each.parameter.name in desired and not each.is_shown and each.parameter.name not in created
    ]


def _prepare(given: Record, check_mode: bool) -> tuple[Row, Record]:
    """Return the row of the kind, and the desired values by the API's names for them, in which names remain.

    Raise InvalidOptions for what does not fit to the kind.
    """
    desired = dict(given)
    row = get_row(desired.pop("kind"))
    states = list_states(row)
    if desired["state"] not in states:
        raise InvalidOptions(f"state must be one of {', '.join(states)} for kind {row.name}, not {desired['state']!r}")
    properties = desired.pop("properties")
    _check_lives(row, desired)
    if isinstance(row, Attachment):
        _check_ends(row, {**desired, **({"properties": properties} if properties else {})})
        return row, desired
    if isinstance(row, Setting):
        _check_ends(row, desired)
        return row, {**desired, **_read_setting(row, desired["state"], properties, check_mode)}
    _check_options(row, desired)
    if row.parent and PARENT in desired:
        desired[row.parent] = desired.pop(PARENT)
    return row, {**desired, **_read_properties(row, properties, check_mode)}


def _check_lives(row: Row, desired: Record) -> None:
    """Raise InvalidOptions for an option that is about deleted objects, if the kind removes its objects at once."""
    for name in ("recover", "expunge"):
        if desired.pop(name, False):
            _refuse_foreign(row, [] if getattr(row, name, "") else [name])
            desired[name] = True


def _read_setting(row: Setting, state: str, properties: Mapping[str, Any], check_mode: bool) -> Record:
    """Return the value of a setting by the API's name. Raise InvalidOptions if there is none to set."""
    values = _read_properties(row, properties, check_mode)
    if not (values.get(row.value) or state == ABSENT):
        raise InvalidOptions(f"kind {row.name} needs properties.{name_property(row.value)}, or state absent")
    return values


def _check_ends(row: Attachment | Setting, desired: Record) -> None:
    """Raise InvalidOptions unless the options of an attachment or a setting are its objects."""
    if missing := [end for end, parameter in row.ends.items() if parameter not in desired]:
        raise InvalidOptions(f"kind {row.name} needs {' and '.join(missing)}{_explain_end(missing, desired)}")
    foreign = {**dict(zip(map_ends().values(), map_ends(), strict=True)), **{name: name for name in _OF_OBJECTS}}
    _refuse_foreign(row, [foreign[name] for name in desired if name in foreign and name not in row.ends.values()])


def _explain_end(missing: list[str], desired: Record) -> str:
    """Return a sentence, after a period, on an object that is given in another way than as the missing option."""
    if given := [name for name in ("name", "uuid") if name in desired]:
        return f". Give it as {' and '.join(missing)}, not as {given[0]}"
    if missing == ["nic"] and "vmInstanceUuid" in desired:
        return ". virtinfra.manager.vm_nic_info lists the NICs of a VM"
    return ""


def _check_options(kind: Kind, desired: Record) -> None:
    """Raise InvalidOptions for options that an object of a kind does not have."""
    foreign = [end for end, parameter in map_ends().items() if parameter in desired]
    foreign += ["parent"] if PARENT in desired and not kind.parent else []
    foreign += ["tags"] if "tags" in desired and not kind.tagged_type else []
    _refuse_foreign(kind, foreign)
    if not {"uuid", "name"} & desired.keys():
        raise InvalidOptions(f"kind {kind.name} needs name or uuid")


def _refuse_foreign(row: Row, names: list[str]) -> None:
    if names:
        shown = ", ".join("parent" if name == PARENT else name for name in names)
        raise InvalidOptions(f"{shown} cannot be used with kind {row.name}{_suggest_place(row, names[0])}")


def _suggest_place(row: Row, name: str) -> str:
    """Return what to give in place of an option that a kind does not have, after a period; empty if nothing is sure."""
    if not isinstance(row, Kind):
        return ""
    if remark := REMARKS.get(f"{row.name}.{name}"):
        return f". {remark}"
    if row.parent and name == name_property(row.parent):
        return ". Give it as the option parent"
    return f". Give it as properties: {{{name}: ...}}" if name in list_properties(row) else ""


# Properties


def _read_properties(kind: Kind | Setting, given: Mapping[str, Any], check_mode: bool) -> Record:
    """Return the values of properties by the API's names. Raise InvalidOptions for any that the kind cannot have."""
    known = list_properties(kind)
    aliases = {_format_alias(each): each for each in known.values() if each.is_reference}
    values: Record = {}
    if unknown := [str(name) for name in given if name not in known and name not in aliases]:
        raise InvalidOptions(_describe_unknown(kind, unknown, known))
    for name, value in given.items():
        found = known.get(name) or aliases[name]
        is_list = found.parameter.type == "list"
        if found.is_reference and not is_list and is_null(value):
            # Outside check mode, an object that does not exist is not given.
            if check_mode:
                values[found.parameter.name] = PredictedReference(f"properties.{found.name}")
        elif value is not None:
            values[found.parameter.name] = _convert(kind, found, value, check_mode)
    refuse_unfit(getattr(kind, "fits", ()), "properties.", values)
    check_range("properties.", values)
    check_ports("properties.", values)
    check_times("properties.", values)
    check_reserved_memory("properties.", values)
    return values


def _format_alias(each: Property) -> str:
    """Return the name of a reference with its ending: ``backup_storage_uuids`` for ``backup_storages``."""
    plural = each.parameter.name.endswith("s")
    return f"{each.name.removesuffix('s') if plural else each.name}_uuid{'s' if plural else ''}"


def _describe_unknown(kind: Kind | Setting, names: Sequence[str], known: Mapping[str, Property]) -> str:
    """Return a sentence on each name that no property has, with what to give instead."""

    def suggest(name: str) -> str:
        return _suggest_property(kind, name, known)

    return f"properties: {describe_unknown_names(f'kind {kind.name} has no property', names, suggest)}"


def _suggest_property(kind: Kind | Setting, name: str, known: Mapping[str, Property]) -> str:
    """Return a sentence, and a space before it, with what a name means that no property has, or with all properties."""
    parent = name_property(kind.parent) if isinstance(kind, Kind) and kind.parent else ""
    if name in ("name", "uuid", "state", "tags", parent):
        return f" Give it as the option {'parent' if name == parent else name}."
    if remark := REMARKS.get(f"{kind.name}.{name}"):
        return f" {remark}"
    meant = find_meaning(name, known, kind.name)
    hint = f" Did you mean {meant}?" if meant else suggest_name(name, known, is_misspelling=True)
    return hint or f" The properties are {', '.join(known) or 'none'}."


def _convert(kind: Kind | Setting, found: Property, value: Any, check_mode: bool) -> Any:
    """Return the value of a property in the type of its parameter."""
    label = f"properties.{found.name}"
    if found.parts:
        items = [_read_part(found.parts, f"{label}[{number}]", item) for number, item in enumerate(_list(label, value))]
        refuse_equal_parts(found.parts, label, items)
        return items
    if found.is_reference and found.parameter.type == "list":
        references = [_read_reference(label, found.refers_to, item, check_mode) for item in _list(label, value)]
        if found.is_required and not references:
            raise InvalidOptions(f"{label} must not be empty")
        return references
    if found.is_reference:
        return _read_reference(label, found.refers_to, value, check_mode)
    if found.is_size:
        value = read_size(label, value)
    _check_word(kind, found, label, value)
    _check_type(label, found.parameter.type, value, found.parameter.elements)
    value = found.parameter._replace(name=label).coerce(f"kind {kind.name}", value)
    # The url of an image has other schemes than that of a webhook.
    check_property(f"{kind.name}.url" if found.name == "url" else found.parameter.name, label, value)
    return value


def _check_type(label: str, kind: str, value: Any, elements: str = "") -> None:
    """Raise InvalidOptions for a value that is not meant in the type of a parameter, as for an option."""
    check_form(label, {"type": {"long": "int"}.get(kind, kind), **({"elements": elements} if elements else {})}, value)


def _check_word(kind: Kind | Setting, found: Property, label: str, value: Any) -> None:
    """Raise InvalidOptions for a number with a unit or in words, and for a word that means one of the choices."""
    unit = getattr(kind, "units", {}).get(found.parameter.name)
    if unit and not re.fullmatch(r"\s*-?\d+\s*", str(value)):
        raise InvalidOptions(
            f"{label} must be a whole number of {unit}, not {quote_value(value)}{_count_bytes(unit, value)}"
        )
    choices, word = found.parameter.choices, str(value).casefold()
    if choices and (meant := next(list_meant_values(word, choices, [kind.name]), "")):
        raise InvalidOptions(f"{label} must be one of {', '.join(choices)}, not {value!r}. Did you mean {meant}?")


def _count_bytes(unit: str, value: Any) -> str:
    """Return a sentence, after a period, with the number of bytes in a size, if the unit is bytes; empty for others."""
    with suppress(InvalidOptions):
        has_unit = re.search("[a-z]", str(value), re.IGNORECASE)
        return f". {value} is {read_size('', value)}" if has_unit and "bytes" in unit else ""
    return ""


def _list(label: str, value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise InvalidOptions(f"{label} must be a list, not {value!r}")
    return value


def _read_reference(label: str, refers_to: ResourceType | None, value: Any, check_mode: bool) -> str:
    """Return a uuid, or a name if objects of the type have names; null in check mode is that of a predicted object."""
    if is_null(value):
        if check_mode:
            return PredictedReference(label)
        raise InvalidOptions(f"{label} must not contain a null or an empty string")
    _check_type(label, "str", value)
    refuse_private_key(label, str(value))
    text = unify_uuid(str(value))
    if not refers_to and is_name(text):
        raise InvalidOptions(
            f"{label} must be a uuid (32 hexadecimal digits), not {value!r}. virtinfra.manager.resource_info returns"
            f" it, such as with resource_type: vm and query: ['name={text}']"
        )
    return text


def _read_part(parts: Parts, label: str, item: Any) -> Record:
    """Return an item of a list of parts, by the API's names of its members."""
    if not isinstance(item, Mapping):
        example = ", ".join(f"{name_property(member)}: ..." for member in (parts.grouped or tuple(parts.members)[:2]))
        raise InvalidOptions(f"{label} must be a mapping, such as {{{example}}}, not {item!r}")
    names = {name_property(member): member for member in parts.members}
    values: Record = {}
    given = {str(name): names.get(name) or to_camel_case(str(name)) for name in item}
    if unknown := [name for name, member in given.items() if member not in parts.members]:
        explained = describe_unknown_names(
            "there is no member", unknown, lambda name: _suggest_member(parts, name, item)
        )
        raise InvalidOptions(f"{label}: {explained}")
    for name, value in item.items():
        member = given[str(name)]
        if not (is_null(value) if member.endswith("Uuid") else value is None):
            values[member] = _check_member(parts, f"{label}.{name}", member, value)
    if missing := [name for name, member in names.items() if member in parts.grouped and member not in values]:
        raise InvalidOptions(f"{label} needs {' and '.join(missing)}")
    refuse_unfit(parts.fits, f"{label}.", values)
    check_versions(f"{label}.", values, parts.defaults.get("ipVersion", 4))
    return values


def _suggest_member(parts: Parts, name: str, item: Mapping[str, Any]) -> str:
    """Return a sentence with the member that was probably meant by this word, its value, or its spelling, or with all.

    A space stands before it.
    """
    value = item.get(name)
    having = [
        member for member, choices in parts.members.items() if str(value).casefold() in map(str.casefold, choices)
    ]
    given = {to_camel_case(str(other)): of for other, of in item.items()}
    unfit = {fit.name for fit in parts.fits if fit.refuses(given)}
    called = [member for member in parts.words.get(name, ()) if member not in unfit]
    meant = called[0] if called else having[0] if len(having) == 1 else None
    names = list(map(name_property, parts.members))
    hint = f" Did you mean {name_property(meant)}?" if meant else suggest_name(name, names, is_misspelling=True)
    return hint or f" The members are {', '.join(names)}."


def _check_member(parts: Parts, label: str, member: str, value: Any) -> Any:
    choices = parts.members[member]
    if choices and value not in choices:
        hint = suggest_choice(str(value), choices)
        raise InvalidOptions(f"{label} must be one of {', '.join(choices)}, not {value!r}.{hint}".rstrip("."))
    if member.endswith("Uuid"):
        return _read_reference(label, find_type(member), value, check_mode=False)
    is_number = isinstance(parts.defaults.get(member), int)
    _check_type(label, "int" if is_number else "str", value)
    value = int(value) if is_number else str(value)
    check_property(member, label, value)
    return value


# Names


def _selects_predicted_object(row: Row, desired: Record) -> bool:
    """Return whether an object is within, or attached to, one that an earlier task would have created."""
    selecting = ([] if "uuid" in desired else [row.parent]) if isinstance(row, Kind) else row.ends.values()
    return any(isinstance(desired.get(name), PredictedReference) for name in selecting)


def _name_predicted(given: Record, desired: Record) -> dict[str, str]:
    """Return the names of the objects that a new object refers to and earlier tasks would have created."""
    predicted = [name for name, value in desired.items() if isinstance(value, PredictedReference)]
    return {format_name_field(to_snake_case(name)): given[name] for name in predicted if is_name(given[name])}


def _name_options(row: Row, message: str) -> str:
    """Return a message with the options of the kind in place of the parameters that refer to objects."""
    for parameter, (option, dummy) in list_references(row).items():
        shown = option.removeprefix("properties.")
        message = re.sub(rf"(?<![\w.]){to_snake_case(parameter)}(?!\w)", shown, message)
    return message


def _resolve_names(context: ModuleContext, row: Row, desired: Record) -> Record:
    """Return the desired values with the uuids of the objects that they name.

    The name of an object that does not exist remains if something of it shall be absent. Raise NotFound or
    AmbiguousMatch.
    """
    is_absent = desired["state"] == ABSENT
    references = list_references(row)

    def resolve(option: str, resource_type: ResourceType | None, value: Any, is_item: bool = False) -> Any:
        if isinstance(value, list):
            return [resolve(option, resource_type, item, is_item=True) for item in value]
        if isinstance(value, Mapping):
            return {
                name: resolve(f"{option}.{name_property(name)}", find_type(name), item) for name, item in value.items()
            }
        if resource_type is None or not is_name(value):
            return value
        try:
            return look_up(context.client, resource_type, value)
        except NotFound as failure:
            if is_predicted(context.client, resource_type.name, value):
                return PredictedReference(option)
            if not is_absent:
                failure.add_sentence(explain_unknown_name(context.client, resource_type, value, is_item=is_item))
                raise failure.with_label(option) from None
            noun = resource_type.noun
            context.warnings.append(f"{option}: no {noun} has the name {value!r}, so nothing of it is removed.")
            return value
        except VirtinfraError as failure:
            raise failure.with_label(option) from None

    return {name: resolve(*references[name], value) if name in references else value for name, value in desired.items()}
