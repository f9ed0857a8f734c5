"""Writes the table of operations of the plugins, which is that of docs/openapi.yaml, for the session ``format``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ansible_collections.virtinfra.manager.plugins.module_utils._api.limits import MAX_LENGTHS
from ansible_collections.virtinfra.manager.plugins.module_utils._api.operation import TAG_PARAMS, Operation
from ansible_collections.virtinfra.manager.plugins.module_utils._api.operation import Parameter as Row

from simulator.description import Operation as Described
from simulator.description import Parameter, operations
from support.collection import ROOT

TABLE = ROOT / "plugins" / "module_utils" / "_api" / "service.py"

HEADER = '''\
"""The operations of the service, with their paths, bodies and parameters, and no other file has these.

The session ``format`` writes this file from docs/openapi.yaml.
"""

from __future__ import annotations

from .operation import Operation, optional, required
'''

# The parameters of every creation follow those of the object.
OF_CREATIONS = ("resourceUuid", "tagUuids")

# A query takes the uuid of its object, which becomes part of the path or a condition.
UUID = Row("uuid")

# Extensions that stand for a field of the row with the same name.
COPIED = {
    "x-idempotent": "is_idempotent",
    "x-may-be-empty": "may_be_empty",
    "x-substitute": "substitute",
    "x-replaces-values": "replaces_values",
    "x-keeps-names": "keeps_names",
    "x-failure-effect": "failure_effect",
    "x-target": "target",
}


def build_row(described: Described) -> Operation:
    """Return the row of an operation."""
    node = described.node
    return Operation(
        described.name,
        described.method,
        described.path,
        since=described.since or "",
        is_write=described.method != "GET",
        uses_token=described.security == "token",
        is_public=described.security is None and not node.get("x-sends-credentials"),
        path_params=tuple(_build_parameters(described, in_path=True)),
        params=tuple(_build_parameters(described, in_path=False)),
        result=(*described.results, *node.get("x-more-results", ())),
        record=node.get("x-record", described.record or ""),
        alternatives=described.alternatives or None,
        get_by_uuid=described.uuid_path is not None,
        duplicate_codes=tuple(node.get("x-duplicate-codes", ())),
        **{field: node[extension] for extension, field in COPIED.items() if extension in node},
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
    for name in sorted(chosen, key=lambda name: name in OF_CREATIONS):
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
        longest=0 if parameter.max_length == MAX_LENGTHS.get(name) else parameter.max_length or 0,
    )


def type_of(parameter: Parameter) -> str:
    """Return the table's type for a parameter of the description."""
    return {("int", "int64"): "long", ("str", "json"): "json"}.get(
        (parameter.type, str(parameter.format)), parameter.type
    )


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
        text = shared.get(value) or _format_parameters(value) if field in ("params", "path_params") else repr(value)
        parts.append(f"{field}={text}")
    return f"Operation({', '.join(parts)})"


def _format_parameters(parameters: Iterable[Row]) -> str:
    """Return a tuple without a last comma, which would make ruff write one parameter a line."""
    texts = [*map(_format_parameter, parameters)]
    return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"


def _format_parameter(parameter: Row) -> str:
    default = Row(parameter.name, parameter.type, required=parameter.required)
    kind = [] if parameter.type == "str" else [repr(parameter.type)]
    details = [f"{field}={value!r}" for field, value in parameter._asdict().items() if value != getattr(default, field)]
    function = "required" if parameter.required else "optional"
    return f"{function}({', '.join([repr(parameter.name), *kind, *details])})"


def main() -> None:
    """Write the table, which is formatted afterwards."""
    TABLE.write_text(format_table(), encoding="utf-8")


if __name__ == "__main__":
    main()
