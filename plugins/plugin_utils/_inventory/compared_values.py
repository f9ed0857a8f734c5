"""Find members and values in the expressions of an inventory source that the records of its hosts never have."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from typing import Any

from ...module_utils._api.conditions import describe_unknown_value, find_size, is_size_field
from ...module_utils._api.errors import InvalidOptions
from ...module_utils._api.field_values import FIELD_VALUES
from ...module_utils._api.record_fields import NUMBER_FIELDS
from .._jinja.comparisons import MATCHING, ORDERS, Compared, list_compared
from .._jinja.members import Reference, list_members
from .hostvars import HostEntry, HostVars
from .record_members import Member, describe_unknown_member, find_member, start
from .unknown_names import list_places

# Variables with which Ansible connects to a host, each of which is a text.
_CONNECTION_TEXTS = frozenset(("ansible_host", "ansible_user", "ansible_connection", "ansible_ssh_private_key_file"))

# Nobody has a VM or a storage with less, so a smaller number is meant in MB or GB.
_LEAST_SIZE = 1 << 20


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
        for reference in list_members(place.source):
            if reference.name in own and (problem := describe_unknown_member(reference, read_variable(reference))):
                plugin.warn(f"{place.label}: {problem}")
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
    if unknown := [text for text in texts if text not in present]:
        problem = _name_list(reference, describe_unknown_value(member.field, unknown, member.record_type))
        if problem or reference.steps:
            return problem
        return _describe_container(reference.name, unknown[0], present, known) or (
            _describe_date(compared) if member.field.endswith("Date") and present else None
        )
    return _describe_size(compared, present) if is_size_field(member.field) else None


def _name(reference: Reference) -> str:
    """Return what a message calls a variable, or a member of one."""
    return f"{reference.steps[-1]} of {reference.name}" if reference.steps else reference.name


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
    numbers = [value for value in compared.values if type(value) in (int, float) and 0 < value < _LEAST_SIZE]
    if not (numbers and present and all(isinstance(value, int) and value >= _LEAST_SIZE for value in present)):
        return None
    name = _name(compared.reference)
    return f"{name} is in bytes, such as {present[0]}. Write {numbers[0]} * 1024 * 1024 for {numbers[0]} MiB"


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
