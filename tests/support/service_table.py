"""Writes the operations and the fields of records of docs/openapi.yaml as tables of the plugins, for ``format``."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ansible_collections.virtinfra.manager.plugins.module_utils._api.limits import MAX_LENGTHS
from ansible_collections.virtinfra.manager.plugins.module_utils._api.operation import TAG_PARAMS, Effect, Operation
from ansible_collections.virtinfra.manager.plugins.module_utils._api.operation import Parameter as Row

from simulator.description import Operation as Described
from simulator.description import Parameter, computed_fields, description, operations, records
from support.collection import ROOT

TABLE = ROOT / "plugins" / "module_utils" / "_api" / "service.py"
FIELDS = ROOT / "plugins" / "module_utils" / "_api" / "record_fields.py"

HEADER = '''\
"""The operations of the service, with their paths, bodies and parameters, and no other file has these.

The session ``format`` writes this file from docs/openapi.yaml.
"""

from __future__ import annotations

from .operation import Effect, Operation, optional, required
'''

FIELDS_HEADER = '''\
"""The fields of the records of the service. The session ``format`` writes this file from docs/openapi.yaml."""

from __future__ import annotations

from collections.abc import Mapping
'''

# The parameters of every creation follow those of the object.
OF_CREATIONS = ("resourceUuid", "tagUuids")

# The members of a reply with the records of an operation.
LISTS = ("inventory", "inventories")

# A query takes the uuid of its object, which becomes part of the path or a condition.
UUID = Row("uuid")

# Extensions that stand for a field of the row, and those for a field of its effect.
COPIED = {"x-may-be-empty": "may_be_empty", "x-substitute": "substitute"}
EFFECTS = {
    "x-idempotent": "is_idempotent",
    "x-replaces-values": "replaces_values",
    "x-keeps-names": "keeps_names",
    "x-failure-effect": "of_failure",
}


def build_row(described: Described) -> Operation:
    """Return the row of an operation."""
    node = described.node
    is_public = described.security is None and not node.get("x-sends-credentials")
    return Operation(
        described.name,
        described.method,
        described.path,
        since=described.since or "",
        credential="token" if described.security == "token" else "none" if is_public else "session",
        params=(*_build_parameters(described, in_path=True), *_build_parameters(described, in_path=False)),
        result=(*described.results, *node.get("x-more-results", ())),
        record=node.get("x-record", described.record or ""),
        get_by_uuid=described.uuid_path is not None,
        **{field: node[extension] for extension, field in COPIED.items() if extension in node},
        effect=Effect(
            duplicate_codes=tuple(node.get("x-duplicate-codes", ())),
            **{field: node[extension] for extension, field in EFFECTS.items() if extension in node},
        ),
    )


def _build_parameters(described: Described, in_path: bool) -> Iterable[Row]:
    """Yield the parameters of an operation that are in its path, or all others."""
    if not in_path and described.name.startswith("Query"):
        yield UUID
    aliases = {parameter.alias_of: name for name, parameter in described.parameters.items() if parameter.alias_of}
    chosen = {
        name: parameter
        for name, parameter in described.parameters.items()
        if (parameter.where == "path") == in_path and not parameter.alias_of and name not in TAG_PARAMS
    }
    for name in sorted(chosen, key=lambda name: not in_path and name in OF_CREATIONS):
        yield _build_parameter(described, chosen[name], aliases.get(name, ""))


def _build_parameter(described: Described, parameter: Parameter, alias: str) -> Row:
    node, name = described.node, parameter.name
    replaced = {other for names in described.alternatives.values() for other in names}
    return Row(
        name,
        type_of(parameter),
        required=parameter.required,
        omit_if_unset=parameter.optional_in_practice and name not in replaced,
        since=parameter.since or "",
        choices=parameter.choices,
        alias=alias,
        refers_to=node.get("x-refers-to", {}).get(name, ""),
        field=node.get("x-record-fields", {}).get(name, ""),
        is_compared=name not in node.get("x-not-compared", ()),
        elements="" if parameter.element_type == "str" else parameter.element_type,
        longest=0 if parameter.max_length == MAX_LENGTHS.get(name) else parameter.max_length or 0,
        default=node.get("x-always-sent", {}).get(name),
        replaces=described.alternatives.get(name, ()),
        is_target=name == node.get("x-target"),
    )


def type_of(parameter: Parameter) -> str:
    """Return the table's type for a parameter of the description."""
    names = {("int", "int64"): "long", ("str", "json"): "json", ("str", "json-object"): "json_object"}
    return names.get((parameter.type, str(parameter.format)), parameter.type)


def format_table() -> str:
    """Return the text of the table, which ruff formats afterwards."""
    rows = [described for described in operations().values() if not described.node.get("x-simulated-only")]
    query = tuple(_build_parameters(operations()["QueryHost"], in_path=False))
    shared = {query: "_QUERY"}
    groups = {
        "DOCUMENTED_ROWS": [build_row(row) for row in rows if not row.is_companion],
        "COMPANION_ROWS": [build_row(row) for row in rows if row.is_companion],
    }
    tables = [
        f"{name} = (\n{''.join(f'{_format_row(row, shared)},' for row in group)})\n" for name, group in groups.items()
    ]
    return "\n".join([HEADER, "# The parameters of every query.", f"_QUERY = {_format_parameters(query)}\n", *tables])


def _format_row(row: Operation, shared: Mapping[tuple[Row, ...], str]) -> str:
    """Return the call that builds a row, with the fields that differ from their defaults."""
    default = Operation(row.name, row.method, row.path)
    details = {field: value for field, value in vars(row).items() if value != getattr(default, field)}
    parts = [repr(row.name), repr(row.method), repr(row.path)]
    for field, value in details.items():
        parts.append(f"{field}={_format_value(field, value, shared)}")
    return f"Operation({', '.join(parts)})"


def _format_value(field: str, value: Any, shared: Mapping[tuple[Row, ...], str]) -> str:
    """Return the text of a field of a row."""
    if field == "params":
        return shared.get(value) or _format_parameters(value)
    return f"Effect({', '.join(_format_details(value, Effect()))})" if field == "effect" else repr(value)


def _format_details(value: NamedTuple, default: NamedTuple) -> list[str]:
    """Return the fields that differ from those of another value, as keyword arguments."""
    return [f"{field}={item!r}" for field, item in value._asdict().items() if item != getattr(default, field)]


def _format_parameters(parameters: Iterable[Row]) -> str:
    """Return a tuple without a last comma, which would make ruff write one parameter a line."""
    texts = [*map(_format_parameter, parameters)]
    return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"


def _format_parameter(parameter: Row) -> str:
    default = Row(parameter.name, parameter.type, required=parameter.required)
    kind = [] if parameter.type == "str" else [repr(parameter.type)]
    details = _format_details(parameter, default)
    function = "required" if parameter.required else "optional"
    return f"{function}({', '.join([repr(parameter.name), *kind, *details])})"


def list_record_fields() -> dict[str, tuple[str, ...]]:
    """Return the documented fields of each type of record that tasks complete."""
    schemas = description()["components"]["schemas"]
    return {
        record: tuple(name for name, field in fields.items() if not field.is_companion)
        for record, fields in records().items()
        if not schemas[record].get("x-shown-as-sent")
    }


def list_number_fields() -> list[str]:
    """Return the names of the fields that are numbers, in any record."""
    return sorted({name for fields in records().values() for name, field in fields.items() if field.type == "int"})


def list_nested() -> dict[str, str]:
    """Return the type of the records in each member that contains some: a field of a record, or a part of a result."""
    completed = list_record_fields()
    fields = [records()[record][name] for record, names in completed.items() for name in names]
    results = [field for row in operations().values() for name, field in row.results.items() if name not in LISTS]
    return {field.name: str(field.schema) for field in (*fields, *results) if field.schema in completed}


def list_computed_fields() -> dict[str, tuple[str, ...]]:
    """Return the computed fields of each type of record that has some, in the order of its fields."""
    return {
        record: tuple(name for name in records()[record] if name in computed)
        for record, computed in computed_fields().items()
    }


def format_fields() -> str:
    """Return the text of the file with the fields of records, which ruff formats afterwards."""
    return f"""{FIELDS_HEADER}
# The documented fields of each type of record.
SERVICE_FIELDS: Mapping[str, tuple[str, ...]] = {_format_names(list_record_fields())}

# The fields that services compute or take from other tables. A query for single fields that names one of them fails.
COMPUTED_FIELDS: Mapping[str, tuple[str, ...]] = {_format_names(list_computed_fields())}

# The fields of records that are numbers. Databases read a string that is not a number as 0.
NUMBER_FIELDS = frozenset({_format_text(list_number_fields())}.split())

# Members that contain a record, or a list of records.
NESTED: Mapping[str, str] = {list_nested()!r}
"""


def _format_names(names: Mapping[str, Sequence[str]]) -> str:
    """Return tuples of names in a form that is short to load."""
    texts = "".join(f"{key!r}: {_format_text(value)}, " for key, value in names.items())
    return f"{{kind: tuple(names.split()) for kind, names in {{{texts}}}.items()}}"


def _format_text(names: Sequence[str]) -> str:
    """Return a string with the names, in several lines if it is long."""
    first, *others = textwrap.wrap(" ".join(names), 100)
    lines = " ".join(map(repr, [first, *(f" {line}" for line in others)]))
    return f"({lines})" if len(lines) > 75 else lines


def main() -> None:
    """Write the tables, which are formatted afterwards."""
    TABLE.write_text(format_table(), encoding="utf-8")
    FIELDS.write_text(format_fields(), encoding="utf-8")


if __name__ == "__main__":
    main()
