"""Find members and values in the expressions of an inventory source that the records of its hosts never have."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from typing import Any

from ...module_utils._api.conditions import describe_unknown_value
from ...module_utils._api.errors import InvalidOptions
from ...module_utils._api.field_values import FIELD_VALUES
from ...module_utils._api.limits import find_size, find_unit, is_size_field
from ...module_utils._api.record_fields import NUMBER_FIELDS
from .._jinja.comparisons import CONTAINS, MATCHING, ORDERS, Compared, list_compared
from .._jinja.members import ELEMENT, Reference, list_members
from .hostvars import HostEntry, HostVars
from .record_members import Member, describe_unknown_member, find_member, start
from .unknown_names import list_places

# Variables with which Ansible connects to a host, each of which is a text.
_CONNECTION_TEXTS = frozenset(("ansible_host", "ansible_user", "ansible_connection", "ansible_ssh_private_key_file"))

# Wildcards of other languages, and what regular expressions are not compared with as it is.
_WILDCARDS = re.compile(r"[*%]+")
_SPECIAL = re.compile(r"[^\w\s:/@-]")


def check_values(plugin: Any, entries: Sequence[HostEntry], hostvars: HostVars) -> None:
    """Warn of a value that is none of the documented ones of its field, or of another type, and that no host has.

    Warn of a member that no record has, too. Raise InvalidOptions for a number that is compared with a string.
    """
    fields = {hostvars.name_variable(field): field for field in hostvars.fields.values()}
    composed = frozenset(plugin.get_option("compose") or {})

    def read_variable(reference: Reference) -> Member:
        values = (entry.variables.get(reference.name) for entry in entries)
        return start(fields[reference.name], plugin.RESOURCE_TYPE.record, plugin.ADDED, values)

    for place in list_places(plugin):
        own = fields.keys() - composed if place.sees_composed else fields.keys()
        problems = [
            describe_unknown_member(reference, read_variable(reference), is_optional)
            for reference, is_optional in list_members(place.source).items()
            if reference.name in own
        ]
        for each in filter(None, dict.fromkeys(problems)):
            plugin.warn(f"{place.label}: {each}")
        for compared in list_compared(place.source):
            if compared.reference.name in own:
                member = find_member(compared.reference, read_variable(compared.reference))
                if problem := _examine(place.label, compared, member, fields):
                    plugin.warn(f"{place.label}: {problem}")


def _examine(label: str, compared: Compared, member: Member, known: Container[str]) -> str | None:
    """Return what is wrong with the constants of a comparison; raise InvalidOptions for a string in place of a number.

    ``known`` are all variables.
    """
    reference, present = compared.reference, member.values
    texts = [value for value in compared.values if isinstance(value, str) and value]
    if compared.operator in MATCHING:
        problem = _describe_pattern(compared.operator, texts, member)
        return _name_list(reference, problem)
    if member.field in NUMBER_FIELDS and texts and not any(isinstance(value, str) for value in present):
        raise InvalidOptions(
            f"{label}: {_name(reference)} is a number, and {texts[0]!r} is a string. {_explain_number(texts[0])}."
        )
    if compared.operator == CONTAINS:
        return _describe_contained(reference, texts, member)
    if unknown := [text for text in texts if text not in present]:
        return _describe_unknown(compared, unknown, member, known)
    return _describe_size(compared, present) if is_size_field(member.field) else None


def _describe_unknown(compared: Compared, unknown: Sequence[str], member: Member, known: Container[str]) -> str | None:
    """Return what is wrong with texts that no host has as the value of a variable or a member."""
    reference, present = compared.reference, member.values
    problem = _name_list(reference, describe_unknown_value(member.field, unknown, member.record_type))
    problem = problem or _describe_wildcards(compared, unknown, present)
    if problem or reference.steps:
        return problem
    return _describe_container(reference.name, unknown[0], present, known) or (
        _describe_date(compared) if member.field.endswith("Date") and present else None
    )


def _name(reference: Reference) -> str:
    """Return what a message calls a variable, or a member of one."""
    if not reference.steps:
        return reference.name
    return f"{'an element' if reference.steps[-1] == ELEMENT else reference.steps[-1]} of {reference.name}"


def _name_list(reference: Reference, problem: str | None) -> str | None:
    """Return a problem with the name of the variable, for a member of one."""
    return f"{reference.name}: {problem}" if problem and reference.steps else problem


def _describe_pattern(test: str, patterns: Sequence[str], member: Member) -> str | None:
    """Return that a regular expression matches none of the documented values of a field, nor those of the hosts."""
    documented = FIELD_VALUES.get(member.record_type, {}).get(member.field, ())
    match = re.match if test == "match" else re.search
    try:
        unmatched = [
            pattern
            for pattern in patterns
            if not any(match(pattern, value) for value in (*documented, *map(str, member.values)))
        ]
    except re.error:
        return None
    if not documented or not unmatched:
        return None
    return (
        f"no documented value of {member.field} matches {unmatched[0]!r}. The documented values are"
        f" {', '.join(documented)}."
    )


def _describe_contained(reference: Reference, texts: Sequence[str], member: Member) -> str | None:
    """Return that no host has a text as an element of a list, but some have it as a part of one."""
    lists = [member.values] if reference.is_each else [value for value in member.values if isinstance(value, list)]
    elements = [element for each in lists for element in each]
    unknown = [text for text in texts if text not in elements]
    if not elements or not unknown:
        return None
    if problem := describe_unknown_value(member.field, unknown, member.record_type):
        return _name_list(reference, problem)
    for text in unknown:
        part = _WILDCARDS.sub("", text)
        example = next((each for each in elements if isinstance(each, str) and part in each), None)
        if part and example:
            joined = "... | join(' ')" if reference.steps else f"{reference.name} | join(' ')"
            return (
                f"{reference.name}: {text!r} is compared with whole elements of the list, such as {str(example)!r}, and"
                f" no host has it. Look for a part of them in {joined}, such as {part!r} in {joined}"
            )
    return None


def _describe_wildcards(compared: Compared, texts: Sequence[str], present: Sequence[Any]) -> str | None:
    """Return how to compare with a pattern if a text has wildcards, and a variable has texts."""
    found = next((found for text in texts if (found := _WILDCARDS.search(text))), None)
    if not found or compared.operator in ORDERS or not any(isinstance(value, str) for value in present):
        return None
    parts = [_SPECIAL.sub(r"[\g<0>]", part) for part in _WILDCARDS.split(found.string)]
    expression = f"{'.*'.join(parts)}{'$' if parts[-1] else ''}"
    test = "is not match" if compared.operator in ("ne", "!=", "notin") else "is match"
    name = "..." if compared.reference.steps else compared.reference.name
    return (
        f"{_name(compared.reference)} is compared with the whole text {found.string!r}, in which {found[0]}"
        f" matches only itself. Write {name} {test}({expression!r})"
    )


def _describe_container(name: str, text: str, present: Sequence[Any], known: Container[str]) -> str | None:
    """Return how to compare a variable with a text if it is a list or a mapping; ``known`` are all variables."""
    value = next((value for value in present if isinstance(value, (list, Mapping)) and value), None)
    if isinstance(value, Mapping):
        other = f"{name}_name" if f"{name}_name" in known else f"{name}.name"
        return f"{name} is a mapping. Write {other} to compare its name"
    if not value:
        return None
    if isinstance(value[0], Mapping):
        return f"{name} is a list of mappings. Write {text!r} in {name} | map(attribute='name')"
    return f"{name} is a list. Write {text!r} in {name}"


def _describe_date(compared: Compared) -> str | None:
    """Return how to compare a date by its order."""
    if compared.operator not in ORDERS:
        return None
    name = compared.reference.name
    return (
        f"{name} is a text such as 'Jan 6, 2024 8:00:00 AM', which is not in the order of time. Write"
        f" {name} | virtinfra.manager.to_datetime"
    )


def _describe_size(compared: Compared, present: Sequence[Any]) -> str | None:
    """Return how to compare with a size if all hosts have far more than the number of an expression."""
    units = {value: unit for value in compared.values if type(value) in (int, float) and (unit := find_unit(value))}
    if not (units and present and all(isinstance(value, int) and not find_unit(value) for value in present)):
        return None
    name, number, unit = _name(compared.reference), *next(iter(units.items()))
    size = "1024 * 1024" if unit[0] == "MiB" else "1024 * 1024 * 1024"
    return f"{name} is in bytes, such as {present[0]}. Write {number} * {size} for {number} {unit[0]}"


def check_composed(plugin: Any, entries: Sequence[HostEntry]) -> None:
    """Raise InvalidOptions for a composed variable of the connection that is a list or a mapping for a host."""
    for name, source in (plugin.get_option("compose") or {}).items():
        if name in _CONNECTION_TEXTS:
            for entry in entries:
                if isinstance(entry.variables.get(name), (list, Mapping)):
                    raise InvalidOptions(
                        f"compose: {name} must be a text, and {source} is a list or a mapping for {entry.name}. Give"
                        f" one of its members, such as {source}[0]."
                    )


def _explain_number(text: str) -> str:
    """Return which number to write in place of a string."""
    if size := find_size(text):
        return f"Write {size[1]}, which is {size[0]} in bytes"
    return f"Write {text} without quotes" if re.fullmatch(r"\d+", text) else "Compare it with a number"
