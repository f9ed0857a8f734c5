"""Documents the fields that the option ``query`` takes: those of the tables, with the values of docs/openapi.yaml.

The session ``format`` writes them into a doc fragment, with a section for each type of record, and the values into the
table with which conditions are checked.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterable, Mapping
from typing import Any

from ansible_collections.virtinfra.manager.plugins.module_utils._api.record_fields import NESTED
from ansible_collections.virtinfra.manager.plugins.module_utils._api.records import (
    RECORD_FIELDS,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._api.resource_types import LISTED_TYPES, ResourceType

from simulator.description import description, resolve
from simulator.state.schema import RELATIONS
from support.collection import ROOT

FRAGMENT = ROOT / "plugins" / "doc_fragments" / "_query_fields.py"
VALUES = ROOT / "plugins" / "module_utils" / "_api" / "field_values.py"
WIDTH = 120

HEADER = '''\
# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Document the fields that the option ``query`` takes. The session ``format`` writes this file."""

from __future__ import annotations


class ModuleDocFragment:
    """The fields of each type of record."""
'''


VALUES_HEADER = '''\
"""The documented values of fields with a fixed set of values. The session ``format`` writes this file."""

from __future__ import annotations

from collections.abc import Mapping

# By the type of the record, and the field.
FIELD_VALUES: Mapping[str, Mapping[str, tuple[str, ...]]] = '''

# The names of objects in examples, if they differ from the names of the relations.
NAMES = {"vmInstance": "vm-1"}


def list_fields(record_type: str) -> list[str]:
    """Return the fields of the records of a type that conditions can compare: those with a single value."""
    return [field for field in RECORD_FIELDS[record_type] if _has_single_value(record_type, field)]


def list_related(resource_type: ResourceType) -> list[str]:
    """Return the names with which conditions refer to related objects, for example ``cluster``."""
    relations = [name for kind, name in RELATIONS if kind == resource_type.cursor_type]
    return [*relations, *(field for field in RECORD_FIELDS[resource_type.record] if field in ("vmNics", "allVolumes"))]


def list_values(record_type: str, field: str) -> list[str]:
    """Return the known values of a field, none if it can have any value."""
    entry = _find_entry(record_type, field)
    return [value for value in resolve(entry).get("enum", entry.get("x-values", ())) if value is not None]


def list_field_values() -> dict[str, dict[str, tuple[str, ...]]]:
    """Return the known values of all fields that have some, by the type of the record."""
    values = {
        record: {name: tuple(known) for name in fields if (known := list_values(record, name))}
        for record, fields in RECORD_FIELDS.items()
    }
    return {record: fields for record, fields in values.items() if fields}


def _has_single_value(record_type: str, field: str) -> bool:
    types = resolve(_find_entry(record_type, field)).get("type", "array" if field in NESTED else "string")
    return {"array", "object"}.isdisjoint(types if isinstance(types, list) else [types])


def _find_entry(record_type: str, field: str) -> Mapping[str, Any]:
    """Return the description of a field; it is empty for a field of a companion that is not described."""
    schema = description()["components"]["schemas"].get(record_type, {})
    entry: Mapping[str, Any] = schema.get("properties", {}).get(field, {})
    return entry


def describe_fields(resource_type: ResourceType) -> list[str]:
    """Return the notes about the fields of a type."""
    fields = list_fields(resource_type.record)
    notes = [f"The fields for O(query) are {_join(f'C({field})' for field in fields)}."]
    fields_by_values: dict[tuple[str, ...], list[str]] = {}
    for field in fields:
        fields_by_values.setdefault(tuple(list_values(resource_type.record, field)), []).append(field)
    notes += [
        f"The known values of {_join(f'C({field})' for field in names)} are {_join(f'V({value})' for value in values)}."
        for values, names in fields_by_values.items()
        if values
    ]
    if related := list_related(resource_type):
        example = "cluster" if "cluster" in related else related[0]
        notes.append(
            f"Fields of related objects follow a dot: {_join(f'C({name}.FIELD)' for name in related)}, for example"
            f" V({example}.name={NAMES.get(example, f'{example}-1')})."
        )
    return notes


def _join(items: Iterable[str]) -> str:
    *others, last = items
    return f"{', '.join(others)} and {last}" if others else last


def list_pages() -> list[str]:
    """Return the types whose fields a module documents; the guide "Fields of results" documents those of all types."""
    modules = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "plugins" / "modules").glob("*.py"))
    return sorted(set(re.findall(r"_query_fields\.(\w+)", modules)))


def format_fragment() -> str:
    """Return the text of the doc fragment."""
    by_name = {resource_type.name: resource_type for resource_type in LISTED_TYPES.values()}
    sections = {name: describe_fields(by_name[name]) for name in list_pages()}
    return HEADER + "".join(_format_section(name, notes) for name, notes in sections.items())


def _format_section(name: str, notes: list[str]) -> str:
    lines = [line for note in notes for line in _format_note(note)]
    return "\n".join([f'\n    {name.upper()} = r"""', "options: {}", "notes:", *lines, '"""\n'])


def _format_note(note: str) -> list[str]:
    """Return a note as lines of YAML."""
    return textwrap.wrap(
        json.dumps(note), WIDTH, initial_indent="  - ", subsequent_indent="    ", break_on_hyphens=False
    )


def main() -> None:
    """Write the doc fragment and the table of values, which is formatted afterwards."""
    FRAGMENT.write_text(format_fragment(), encoding="utf-8")
    VALUES.write_text(f"{VALUES_HEADER}{list_field_values()!r}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
