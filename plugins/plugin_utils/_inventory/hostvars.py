# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is PRIVATE to the collection. It can have breaking changes at any time.

"""Convert the record of an object to the variables of its host, which no version of core evaluates as templates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ansible.constants import INTERNAL_STATIC_VARS
from ansible.template import Templar
from ansible.utils.unsafe_proxy import AnsibleUnsafeText
from ansible.utils.vars import isidentifier
from ansible.vars.reserved import get_reserved_names

from ...module_utils._api.errors import InvalidOptions
from ...module_utils._api.records import (
    PRESERVED_KEY_MEMBERS,
    RECORD_FIELDS,
    SCALARS,
    Record,
    is_address,
    record_to_result,
    shaped_members,
    to_snake_case,
)

_RESERVED = frozenset(get_reserved_names()) | INTERNAL_STATIC_VARS


def is_variable_name(name: str) -> bool:
    """Return whether a name is a valid variable name that Ansible does not reserve."""
    return isidentifier(name) and name not in _RESERVED and not name.startswith("ansible_")


# Since 2.19 only strings from files of the user are templates; before, all strings are.
HAS_DATA_TAGGING = hasattr(Templar, "evaluate_expression")

Element = TypeVar("Element")

# A group, and its parent group if there is one.
GroupMembership = tuple[str, "str | None"]


@dataclass(slots=True)
class HostEntry:
    """A future host: its record, the service of the record, its variables, name and groups."""

    record: Record
    service: str
    variables: dict[str, Any]
    name: str = ""
    memberships: list[GroupMembership] = field(default_factory=list)

    @property
    def uuid(self) -> str:
        """The uuid of the record."""
        return str(self.record.get("uuid"))


class _Names(dict[str, str]):
    """Variable names by API names, created on first access; ``""`` for fields that cannot become a variable."""

    def __init__(self, prefix: str, suffix: str) -> None:
        super().__init__()
        self.prefix, self.suffix = prefix, suffix

    def __missing__(self, field: str) -> str:
        name = f"{self.prefix}{to_snake_case(field)}{self.suffix}"
        self[field] = name if is_variable_name(name) else ""
        return self[field]


class HostVars:
    """Creates the variables of hosts: every documented field of their type, None if the service omits it.

    ``derived`` are the API names of values that are added to the records. ``refused`` are invalid addresses.
    """

    def __init__(
        self, kind: str, derived: Iterable[str], prefix: str, suffix: str, allow_localhost: bool = False
    ) -> None:
        if not f"{prefix}name{suffix}".isidentifier():
            raise InvalidOptions(
                f"hostvars_prefix and hostvars_suffix do not form valid variable names: {prefix}name{suffix}"
            )
        self._names = _Names(prefix, suffix)
        self.fields = {to_snake_case(field): field for field in (*RECORD_FIELDS[kind], *derived)}
        self.refused: list[str] = []
        self._allow_localhost = allow_localhost
        self._layouts: dict[tuple[str, ...], list[str]] = {}
        self._blank = dict.fromkeys(name for field in RECORD_FIELDS[kind] if (name := self._names[field]))

    def name(self, field: str) -> str:
        """Return the name of the variable for a field, by its API name; ``""`` if there is none."""
        return self._names[field]

    @property
    def skipped_fields(self) -> list[str]:
        """The fields seen so far that cannot become variables."""
        return sorted(field for field, name in self._names.items() if not name)

    def is_generated_variable(self, name: str) -> bool:
        """Return whether a name is a variable that this object creates, at least for some hosts."""
        return name in self._blank or name in self._names.values()

    def entry(self, record: Record, service: str, added: Mapping[str, Any], address: str) -> HostEntry:
        """Return the entry for a record; its name is assigned later.

        The values in ``added``, by API names too, are not converted.
        """
        variables = self._of(record)
        variables[self._names["service"]] = service
        for member, value in added.items():
            variables[self._names[member]] = value
        variables.pop("", None)
        if address and is_address(address, self._allow_localhost):
            variables["ansible_host"] = make_unsafe(address)
        elif address:
            self.refused.append(address)
        return HostEntry(record, service, variables)

    def _of(self, record: Record) -> dict[str, Any]:
        fields = tuple(record)
        names = self._layouts.get(fields)
        if names is None:
            names = self._layouts[fields] = [self._names[field] for field in fields]
        values: Iterable[Any] = record.values()
        # Few steps, because this runs for every host: most records contain only scalars.
        if not SCALARS.issuperset(map(type, values)):
            members = shaped_members(record).items()
            values = [
                make_unsafe(value if field in PRESERVED_KEY_MEMBERS else record_to_result(value))
                for field, value in members
            ]
        elif not HAS_DATA_TAGGING:
            values = [AnsibleUnsafeText(value) if isinstance(value, str) else value for value in values]
        variables = self._blank.copy()
        variables.update(zip(names, values, strict=True))
        return variables


def text(record: Mapping[str, Any], field: str) -> str:
    """Return a field if it is a string, else ``""``."""
    value = record.get(field)
    return value if isinstance(value, str) else ""


def elements(record: Mapping[str, Any], field: str, kind: type[Element]) -> list[Element]:
    """Return the elements of a field that have a type."""
    value = record.get(field)
    return [each for each in value if isinstance(each, kind)] if isinstance(value, list) else []


def common(related: Iterable[Mapping[str, Any]], fields: Iterable[str]) -> list[dict[str, Any]]:
    """Return these fields of records, as in variables; one list for all hosts that share it."""
    return [make_unsafe(record_to_result({field: record.get(field) for field in fields})) for record in related]


def make_unsafe(value: Any) -> Any:
    """Return a value of the service in which no supported core evaluates a string as a template or an expression.

    Before 2.19 core evaluates every unmarked string in a condition, so all strings are marked.
    """
    if HAS_DATA_TAGGING:
        return value
    if isinstance(value, str):
        return AnsibleUnsafeText(value)
    if isinstance(value, dict):
        return {make_unsafe(key): make_unsafe(item) for key, item in value.items()}
    if isinstance(value, list):
        return [make_unsafe(item) for item in value]
    return value
