# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is PRIVATE to the collection. It can have breaking changes at any time.

"""From the record of an object to the variables of its host."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from ansible.utils.unsafe_proxy import AnsibleUnsafeText
from ansible_collections.virtinfra.manager.plugins.module_utils._errors import InvalidOptions
from ansible_collections.virtinfra.manager.plugins.module_utils._records import (
    PRESERVED_KEY_MEMBERS,
    RECORD_FIELDS,
    Record,
    record_to_result,
    shaped_members,
    to_snake_case,
)
from ansible_collections.virtinfra.manager.plugins.plugin_utils._entries import HostEntry
from ansible_collections.virtinfra.manager.plugins.plugin_utils._expressions import make_unsafe
from ansible_collections.virtinfra.manager.plugins.plugin_utils._harmless import HAS_DATA_TAGGING
from ansible_collections.virtinfra.manager.plugins.plugin_utils._names import is_address, is_variable_name

Element = TypeVar("Element")
_SCALARS = frozenset((str, int, float, bool, type(None)))


class _Names(dict[str, str]):
    """API names to variable names, made when first asked for; ``""`` for those that cannot be a variable."""

    def __init__(self, prefix: str, suffix: str) -> None:
        super().__init__()
        self.prefix, self.suffix = prefix, suffix

    def __missing__(self, field: str) -> str:
        name = f"{self.prefix}{to_snake_case(field)}{self.suffix}"
        self[field] = name if is_variable_name(name) else ""
        return self[field]


class HostVars:
    """Makes the variables of hosts: every documented field of their kind, None where the service left it out.

    ``derived`` are the API names of what is added to the records. ``refused`` are the addresses that were none.
    """

    def __init__(
        self, kind: str, derived: Iterable[str], prefix: str, suffix: str, allow_localhost: bool = False
    ) -> None:
        if not f"{prefix}name{suffix}".isidentifier():
            raise InvalidOptions(
                f"hostvars_prefix and hostvars_suffix make no names of variables: {prefix}name{suffix}"
            )
        self._names = _Names(prefix, suffix)
        self.fields = {to_snake_case(field): field for field in (*RECORD_FIELDS[kind], *derived)}
        self.refused: list[str] = []
        self._allow_localhost = allow_localhost
        self._layouts: dict[tuple[str, ...], list[str]] = {}
        self._blank = dict.fromkeys(name for field in RECORD_FIELDS[kind] if (name := self._names[field]))

    def name(self, field: str) -> str:
        """Return the variable for a field, by its API name; ``""`` when there is none."""
        return self._names[field]

    @property
    def skipped_fields(self) -> list[str]:
        """The fields, of those that were seen so far, whose names cannot be those of variables."""
        return sorted(field for field, name in self._names.items() if not name)

    def is_generated_variable(self, name: str) -> bool:
        """Whether a name is that of a variable made here, for some hosts at least."""
        return name in self._blank or name in self._names.values()

    def entry(self, record: Record, service: str, added: Mapping[str, Any], address: str) -> HostEntry:
        """Return what becomes of a record, a host by a name that is still to be found.

        The values in ``added``, by API names too, are taken as they are.
        """
        variables = self._of(record)
        variables[self._names["service"]] = service
        for field, value in added.items():
            variables[self._names[field]] = value
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
        # In few steps, since this is done for every host: most records hold nothing but scalars.
        if not _SCALARS.issuperset(map(type, values)):
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
    """Return a field that is a text, ``""`` when it is none."""
    value = record.get(field)
    return value if isinstance(value, str) else ""


def elements(record: Mapping[str, Any], field: str, kind: type[Element]) -> list[Element]:
    """Return those of the elements of a field that are of a kind."""
    value = record.get(field)
    return [each for each in value if isinstance(each, kind)] if isinstance(value, list) else []


def common(related: Iterable[Mapping[str, Any]], fields: Iterable[str]) -> list[dict[str, Any]]:
    """Return these fields of records, as they stand in variables; one list for all hosts that have it in common."""
    return [make_unsafe(record_to_result({field: record.get(field) for field in fields})) for record in related]
