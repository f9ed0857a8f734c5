"""The tables of the guides that are written from the code and from docs/openapi.yaml, by the session ``format``."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import yaml
from ansible_collections.virtinfra.manager.plugins.doc_fragments import _connection, _wait
from ansible_collections.virtinfra.manager.plugins.module_utils._api.operations import OPERATIONS
from ansible_collections.virtinfra.manager.plugins.module_utils._api.records import to_snake_case
from ansible_collections.virtinfra.manager.plugins.module_utils._api.resource_types import LISTED_TYPES, ResourceType
from ansible_collections.virtinfra.manager.plugins.module_utils._modules.options import CONNECTION, WAIT
from ansible_collections.virtinfra.manager.plugins.plugin_utils._inventory.hostvars import (
    OF_SERVICE,
    USER_TAGS,
    AddedValues,
)
from tools.catalogue import Fact, list_variables, read_facts
from tools.catalogue import Parameter as FactParameter

from simulator.description import Operation, Parameter, description, operations
from simulator.switches import options as switches
from simulator.switches.command_line import ARGUMENTS
from simulator.switches.faults import FAULTS
from simulator.switches.parsing import Option, list_options
from support.collection import ROOT
from support.kind_docs import list_attachment_cells, list_kind_cells, list_property_cells, list_setting_cells
from support.query_fields import describe_fields
from support.return_docs import contains, describe_job, describe_mover_record

GUIDES = ROOT / "docs" / "docsite" / "rst"
BEGIN = ".. The session format writes this table: {}.\n\n"
END = "\n.. End of the table.\n"
WIDTH = 120
QUERY_PARAMETERS = {"q", "limit", "start", "sort", "replyWithCount", "count", "fields"}
# Parameters of many operations, which section "Calls" of the document describes.
COMMON = {*QUERY_PARAMETERS, "deleteMode", "resourceUuid", "tagUuids", "systemTags", "userTags"}


def write_tables(text: str) -> str:
    """Return the text of a guide with the present content of its tables."""
    for name, build in TABLES.items():
        before, begin, rest = text.partition(BEGIN.format(name))
        if begin:
            text = f"{before}{begin}{build()}{END}{rest.partition(END)[2]}"
    return text


def find_guides() -> list[Path]:
    """Return the guides that contain such tables."""
    marker = BEGIN.partition("{")[0]
    return [path for path in sorted(GUIDES.glob("*.rst")) if marker in path.read_text(encoding="utf-8")]


def _format_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in reStructuredText, without the blank line after it."""
    lines = [".. list-table::", "   :header-rows: 1", "   :widths: auto", ""]
    return "\n".join([*lines, *map(_format_row, [header, *rows]), ""])


def _format_row(cells: Sequence[str]) -> str:
    wrapped = [textwrap.wrap(cell, WIDTH - 7, break_long_words=False, break_on_hyphens=False) or [""] for cell in cells]
    first, *others = wrapped
    lines = [f"   * - {first[0]}", *(f"       {line}" for line in first[1:])]
    return "\n".join([*lines, *(f"     {mark}{line}".rstrip() for cell in others for mark, line in _mark_lines(cell))])


def _mark_lines(lines: list[str]) -> list[tuple[str, str]]:
    """Return the lines of a cell, the first one with the mark that begins it."""
    return [("  " if number else "- ", line) for number, line in enumerate(lines)]


def build_companions() -> str:
    """Return the table of the operations of docs/openapi.yaml that the API document lacks."""
    nodes = {node["operationId"]: node for item in description()["paths"].values() for node in _list_operations(item)}
    rows = [_describe_companion(row, nodes[name]) for name, row in sorted(operations().items()) if row.is_companion]
    return _format_table(("Operation", "Request", "Meaning"), rows)


def _list_operations(item: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [node for node in item.values() if isinstance(node, Mapping) and "operationId" in node]


def _describe_companion(row: Operation, node: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return a row of the table: the operation, its request, and what it does."""
    request = " ".join([f"``{row.method} {row.path}``", _format_parameters(row)]).strip()
    meaning = " ".join(filter(None, [node["summary"], node.get("description", "")]))
    return row.name, request, re.sub(r"`([^`]+)`", r"``\1``", " ".join(meaning.split()))


def _format_parameters(row: Operation) -> str:
    """Return the parameters of an operation, but for those in its path."""
    shown = (_format_parameter(parameter) for parameter in row.parameters.values() if parameter.where != "path")
    return ", ".join(filter(None, shown))


def _format_parameter(parameter: Parameter) -> str:
    """Return a parameter as the table shows it, empty for one that many operations have."""
    if (parameter.name in COMMON and not parameter.required) or parameter.alias_of:
        return ""
    values = f" ({', '.join(f'``{choice}``' for choice in parameter.choices)})" if parameter.choices else ""
    return f"{parameter.name}{'!' if parameter.required else ''}{values}"


def build_all_operations() -> str:
    """Return the table of all operations, with their requests and parameters."""
    rows = [
        (name, f"``{row.method} {row.path}``", _format_parameters(row)) for name, row in sorted(operations().items())
    ]
    return _format_table(("Operation", "Request", "Parameters"), rows)


def build_catalogue() -> str:
    """Return the table of the operations of servers that docs/openapi.yaml lacks."""
    rows = [_describe_fact(fact) for fact in read_facts() if fact.name not in operations()]
    return _format_table(("Operation", "Request", "Parameters"), rows)


def _describe_fact(fact: Fact) -> tuple[str, str, str]:
    """Return a row of the table: the operation with its only server, its request, and its parameters."""
    server = {"z": " (ZSvirt)", "s": " (ZStack)"}.get(fact.servers, "")
    requests = " or ".join(f"``{fact.method} {path}``" for path in (fact.paths[:1] if fact.kind == "q" else fact.paths))
    variables = list_variables(fact)
    shown = (_format_fact_parameter(item) for item in fact.parameters if item.name not in variables)
    return f"{fact.name}{server}", f"{requests}{', in place' if fact.kind == 'w' else ''}", ", ".join(shown)


def _format_fact_parameter(parameter: FactParameter) -> str:
    values = f" ({', '.join(f'``{choice}``' for choice in parameter.choices)})" if parameter.choices else ""
    kind = "" if parameter.type == "str" else f" ({parameter.type})"
    return f"{parameter.name}{'!' if parameter.is_required else ''}{values or kind}"


def build_environment() -> str:
    """Return the table of the environment variables, with the options for which they stand."""
    documented = {
        name: option
        for fragment in (_connection, _wait)
        for name, option in yaml.safe_load(fragment.ModuleDocFragment.DOCUMENTATION)["options"].items()
    }
    rows = [
        (f"``{variable}``", f"``{name}``", _convert_markup(documented[name]["description"]))
        for name, option in {**CONNECTION, **WAIT}.items()
        for variable in option.get("fallback", (None, []))[1]
    ]
    return _format_table(("Variable", "Option", "Meaning"), rows)


def _convert_markup(text: str) -> str:
    """Return a sentence of Ansible's documentation in reStructuredText."""
    return re.sub(r"\b[CEOV]\(([^)]*)\)", r"``\1``", text)


def build_operations() -> str:
    """Return the table of the operations of the API document, with the versions of the service that they need."""
    companions = {name for name, row in operations().items() if row.is_companion}
    rows = [
        (name, row.since, ", ".join(f"``{item.name}`` {item.since}" for item in row.parameters.values() if item.since))
        for name, row in sorted(OPERATIONS.items())
        if name not in companions
    ]
    return _format_table(("Operation", "Since", "Parameters that need a newer version"), rows)


def build_fields(record: str) -> str:
    """Return the table of the fields of a record."""
    rows = (_describe_field(name, field) for name, field in RECORDS[record]().items())
    return _format_table(("Field", "Type", "Meaning", "Example"), rows)


def _describe_field(name: str, field: Mapping[str, Any]) -> tuple[str, str, str, str]:
    kind = f"list of {field['elements']}" if field["type"] == "list" else field["type"]
    returned = f" Returned {field['returned']}." if "returned" in field else ""
    sample = f"``{json.dumps(field['sample']).strip(chr(34))}``" if "sample" in field else ""
    return f"``{name}``", kind, _convert_markup(field["description"] + returned), sample


def build_query_fields() -> str:
    """Return the table of the fields that conditions can compare, and of their known values."""
    return _format_table(("Type", "Fields, values and related objects"), map(_describe_queries, LISTED_TYPES.values()))


def _describe_queries(resource_type: ResourceType) -> tuple[str, str]:
    return f"``{resource_type.name}``", _convert_markup(" ".join(describe_fields(resource_type)))


def _build_kinds(header: Sequence[str], list_cells: Callable[[], Iterable[Sequence[str]]]) -> str:
    """Return a table of the kinds of the module ``resource``."""
    return _format_table(header, list_cells())


RECORDS: dict[str, Callable[[], Mapping[str, Any]]] = {
    **{
        schema: partial(contains, schema)
        for schema in (
            *("HostInventory", "Bonding", "HostNetworkInterface", "CandidateNetworkInterface", "HostNicServiceType"),
            *("VmInstanceInventory", "VmNicInventory", "UsedIp", "Volume", "CdRom"),
            *("VolumeSnapshotGroupInventory", "VolumeSnapshotRef", "PrimaryStorageInventory"),
            *("CbtTaskInventory", "CbtTaskResourceRef", "VolumeCbtBackupInfo"),
            *("SNSWorkchatEndpointInventory", "SNSApplicationPlatformInventory", "SNSTeamchatAtPersonInventory"),
            "SNSTopicSubscriber",
        )
    },
    "job": describe_job,
    **{
        record: partial(describe_mover_record, record)
        for record in (
            *("Point", "PointState", "VolumeCopy", "LeftOutVolume", "Proof", "Checkpoint", "Leftover"),
            *("RunningTask", "BackupRun", "RepositorySpace", "RestoredVolume"),
        )
    },
}
"""The records whose fields the guide "Fields of results" describes."""


def build_added_variables() -> str:
    """Return the table of the variables that inventories add to those of the fields of records."""
    rows: dict[tuple[str, str], list[str]] = {}
    for plugin, added in {"all": {**OF_SERVICE, **USER_TAGS}, **dict(_list_added())}.items():
        for name, value in added.items():
            rows.setdefault((f"``virtinfra_{to_snake_case(name)}``", value.meaning), []).append(plugin)
    cells = [(variable, ", ".join(plugins), meaning) for (variable, meaning), plugins in rows.items()]
    return _format_table(("Variable", "Plugins", "Meaning"), cells)


def _list_added() -> Iterator[tuple[str, AddedValues]]:
    """Yield the name of each inventory plugin with what it adds to the records."""
    for path in sorted((ROOT / "plugins" / "inventory").glob("*.py")):
        module = import_module(f"ansible_collections.virtinfra.manager.plugins.inventory.{path.stem}")
        yield path.stem, module.InventoryModule.ADDED


def build_arguments() -> str:
    """Return the table of the arguments of the simulator that are neither seed options nor switches."""
    rows = [
        (
            f"``{' '.join(filter(None, (name, settings.get('metavar'))))}``",
            str(settings.get("default", "")),
            _format_help(settings["help"]),
        )
        for name, settings in ARGUMENTS.items()
    ]
    return _format_table(("Argument", "Default", "Meaning"), rows)


def build_options(title: str, group: Callable[[], Any]) -> str:
    """Return the table of a group of options of the simulator. Some differ in the mode that follows the document."""
    found = list_options(group)
    has_literal = any(option.info.literal is not None for option in found)
    header = (title, "Default", *(["Literal"] if has_literal else []), "Meaning")
    return _format_table(header, [_list_option_cells(option, has_literal) for option in found])


def build_faults() -> str:
    """Return the table of the faults of the simulator."""
    return _format_table(
        ("Fault", "What happens"), [(f"``{name}``", _format_help(text)) for name, text in FAULTS.items()]
    )


def _list_option_cells(option: Option, has_literal: bool) -> list[str]:
    name, default, info = option
    literal = [] if not has_literal else [""] if info.literal is None else [_format_value(info.literal)]
    return [f"``{name}``", _format_value(default), *literal, _format_help(info.help)]


def _format_value(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}" if value < 1 else f"{value:.0f}"
    return value or "empty" if isinstance(value, str) else json.dumps(value)


def _format_help(text: str) -> str:
    """Return a help text as a sentence of the guide; a name in lower case, such as uuids, remains so."""
    begin = text if text.startswith(("`", "uuids")) else text[0].upper() + text[1:]
    return begin.replace("`", "``")


SWITCHES = {
    "access": switches.AccessSwitches,
    "jobs": switches.JobSwitches,
    "replies": switches.ReplySwitches,
    "operations": switches.OperationSwitches,
    "cursors": switches.CursorSwitches,
}

TABLES: dict[str, Callable[[], str]] = {
    "simulator arguments": build_arguments,
    "faults": build_faults,
    "seed options": partial(build_options, "Seed option", switches.Seed),
    **{f"switches of {name}": partial(build_options, "Switch", group) for name, group in SWITCHES.items()},
    "added variables": build_added_variables,
    **{f"fields of {name}": partial(build_fields, name) for name in RECORDS},
    "fields of queries": build_query_fields,
    "all operations": build_all_operations,
    "the catalogue": build_catalogue,
    "companions": build_companions,
    "environment variables": build_environment,
    "kinds": partial(_build_kinds, ("Kind", "Belongs to", "States", "A removal affects"), list_kind_cells),
    "properties of kinds": partial(_build_kinds, ("Kind", "Property", "Type", "Remarks"), list_property_cells),
    "attachments": partial(_build_kinds, ("Kind", "Objects", "Operations", "Remarks"), list_attachment_cells),
    "settings": partial(_build_kinds, ("Kind", "Object", "Property", "Without it"), list_setting_cells),
    "operations and versions": build_operations,
}


def main() -> None:
    """Write the tables into the guides."""
    for path in find_guides():
        path.write_text(write_tables(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
