# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The table of companions in the guide to the simulator: the operations of docs/openapi.yaml with the mark for them.

The session ``format`` writes it into the guide.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping
from typing import Any

from simulator.description import Operation, Parameter, description, operations
from support.collection import ROOT

GUIDE = ROOT / "docs" / "docsite" / "rst" / "guide_simulator.rst"
BEGIN = ".. The session format writes this table from docs/openapi.yaml.\n\n"
END = "\n.. End of the table of companions.\n"
HEADER = """\
.. list-table::
   :header-rows: 1
   :widths: auto

   * - Operation
     - Request
     - Meaning
"""
WIDTH = 120
QUERY_PARAMETERS = {"q", "limit", "start", "sort", "replyWithCount", "count", "fields"}
# Parameters of many operations, which section "Calls" of the document describes.
COMMON = {*QUERY_PARAMETERS, "deleteMode", "resourceUuid", "tagUuids", "systemTags", "userTags"}


def with_companions(text: str) -> str:
    """Return the text of the guide with the present table of companions."""
    before, begin, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    nodes = {node["operationId"]: node for item in description()["paths"].values() for node in _list_operations(item)}
    rows = [_format_row(row, nodes[name]) for name, row in sorted(operations().items()) if row.is_companion]
    return f"{before}{begin}{HEADER}{''.join(rows)}{END}{after}"


def _list_operations(item: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [node for node in item.values() if isinstance(node, Mapping) and "operationId" in node]


def _format_row(row: Operation, node: Mapping[str, Any]) -> str:
    """Return a row of the table: the operation, its request, and what it does."""
    parameters = [_format_parameter(parameter) for parameter in row.parameters.values() if parameter.where != "path"]
    request = " ".join([f"``{row.method} {row.path}``", ", ".join(filter(None, parameters))]).strip()
    meaning = " ".join(filter(None, [node["summary"], node.get("description", "")]))
    cells = [row.name, request, re.sub(r"`([^`]+)`", r"``\1``", " ".join(meaning.split()))]
    first, *others = [textwrap.wrap(cell, WIDTH - 7, break_long_words=False, break_on_hyphens=False) for cell in cells]
    lines = [f"   * - {first[0]}", *(f"     {mark}{line}" for cell in others for mark, line in _mark_lines(cell))]
    return "\n".join([*lines, ""])


def _mark_lines(lines: list[str]) -> list[tuple[str, str]]:
    """Return the lines of a cell, the first one with the mark that begins it."""
    return [("  " if number else "- ", line) for number, line in enumerate(lines)]


def _format_parameter(parameter: Parameter) -> str:
    """Return a parameter as the table shows it, empty for one that many operations have."""
    if parameter.name in COMMON or parameter.alias_of:
        return ""
    values = f" ({', '.join(f'``{choice}``' for choice in parameter.choices)})" if parameter.choices else ""
    return f"{parameter.name}{'!' if parameter.required else ''}{values}"


def main() -> None:
    """Write the table into the guide."""
    GUIDE.write_text(with_companions(GUIDE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
