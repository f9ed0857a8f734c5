# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the document of the service states, as far as a program can read it: tables, and sentences of a known form."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

DOCUMENT = Path(__file__).resolve().parents[3] / "shared" / "spec" / "api.md"

TYPES = {
    "String": ("str", None),
    "Timestamp": ("str", None),
    "Integer": ("int", "int32"),
    "integer": ("int", "int32"),
    "int": ("int", "int32"),
    "Long": ("int", "int64"),
    "long": ("int", "int64"),
    "Boolean": ("bool", None),
    "boolean": ("bool", None),
    "List": ("list", None),
    "Map": ("dict", None),
    "LinkedHashMap": ("dict", None),
}
"""The words of the document and what they are in Python and, for numbers, in OpenAPI."""

RECORDS = {
    "SNS topic subscriber": "SNSTopicSubscriber",
    "Used-IP record": "UsedIp",
    "used-IP records": "UsedIp",
    "Volume record": "Volume",
    "volume records": "Volume",
    "CD-ROM record": "CdRom",
    "CD-ROM records": "CdRom",
    "Bonding record": "Bonding",
    "NIC record": "HostNetworkInterface",
    "NIC records": "HostNetworkInterface",
    "Host network interface service record": "HostNicServiceType",
    "`candidateNics` elements": "CandidateNetworkInterface",
    "VM": "VmInstanceInventory",
    "volume": "Volume",
    "host": "HostInventory",
}
"""The records that the document names by a phrase."""

VERSION = r"\d+(?:\.\d+)+"
NAMES = r"`\w+`(?:(?:, | and )`\w+`)*"
SENTENCE = re.compile(
    rf"(?P<names>{NAMES}) \(?(?:are listed as |both )?(?P<before>(?:required|optional)\b ?)?"
    rf"(?P<type>{'|'.join(TYPES)})?s?\b(?P<after> required| optional)?(?P<rest>[^`;]*)"
)
"""`a`, `b` (both optional String) | `a` and `b` String required (X, Y) | `a` String (url): in or out | ..."""


@dataclass(frozen=True)
class Stated:
    """A parameter or a field."""

    type: str = "String"
    required: bool = False
    where: str | None = None
    choices: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    default: str | None = None


@dataclass(frozen=True)
class StatedOperation:
    method: str
    path: str
    body_key: str | None
    parameters: dict[str, Stated]
    results: list[str]
    result_types: dict[str, Stated]
    """Of the results that a sentence gives a type."""
    record: str | None


class ServiceDocument:
    """The document, read."""

    def __init__(self) -> None:
        self._text = DOCUMENT.read_text(encoding="utf-8")
        self.records = _records(self._section("Resources and their fields"))
        self.operations = _operations(self._section("Endpoints"))
        self.versions = _versions(self._section("Versioning"), self.records["HostInventory"])
        """By (operation,), by (operation, parameter or member of the reply), and by (record, field)."""

    @staticmethod
    def is_at_hand() -> bool:
        return DOCUMENT.is_file()

    def _section(self, title: str) -> str:
        return self._text.split(f"\n## {title}\n")[1].split("\n## ")[0]


def _operations(text: str) -> dict[str, StatedOperation]:
    parts = re.split(r"^\*\*(\w+)\*\*", text, flags=re.MULTILINE)
    abouts = {name: about.split("\n#")[0] for name, about in zip(parts[1::2], parts[2::2], strict=True)}
    operations = {name: _operation(about) for name, about in abouts.items()}
    for name, about in abouts.items():
        for other in re.findall(r"same members as (\w+)", about):
            same = operations[other]
            operations[name] = replace(operations[name], results=same.results, result_types=same.result_types)
    return operations


def _operation(about: str) -> StatedOperation:
    request, reply = about.split("Response", 1)
    method, path = re.findall(r"`([A-Z]+) ([^`?]+)", request)[0]
    in_path = {name: Stated(required=True, where="path") for name in re.findall(r"{(\w+)}", path)}
    results = [name for name in re.findall(r"`(\w+)`", reply) if name not in ("success", "error")]
    return StatedOperation(
        method=method,
        path=path,
        body_key=next(iter(re.findall(r"Body key `(\w+)`", request)), None),
        parameters={**dict(_from_sentences(request)), **dict(_from_table(request)), **in_path},
        results=results,
        result_types={name: stated for name, stated in _from_sentences(reply) if name in results},
        record=next(iter(re.findall(r"\((?:list of )?(\w+Inventory)\)", reply)), None),
    )


def _from_table(text: str) -> Iterator[tuple[str, Stated]]:
    """Yield the parameters of a table."""
    for row in _rows(text):
        remark = row.get("Values", row.get("Meaning", ""))
        has_choices = re.match(r"[A-Z]\w+, [A-Z]|\w+ or \w+$", remark)
        stated = Stated(
            type=row["Type"],
            required=row.get("Required", "no").startswith("yes"),
            where=row.get("Where"),
            choices=_listed(remark) if has_choices else (),
            aliases=tuple(re.findall(r"spells it (\w+)", remark)),
            default=next(iter(re.findall(r"names (\w+) as the default", remark)), None),
        )
        yield from ((name, stated) for name in row["Name"].split(", "))


def _from_sentences(text: str) -> Iterator[tuple[str, Stated]]:
    """Yield the parameters or fields of sentences."""
    for match in SENTENCE.finditer(text):
        if match["type"] or match["before"]:
            in_url = match["rest"].startswith(" (url)")
            has_choices = re.match(r"(?: \(url\))?: | \(\w+, ", match["rest"])
            stated = Stated(
                type=match["type"] or "String",
                required=in_url or "required" in (match["before"] or match["after"] or ""),
                where="query" if in_url else None,
                choices=_listed(match["rest"]) if has_choices else (),
            )
            yield from ((name, stated) for name in re.findall(r"`(\w+)`", match["names"]))


def _records(text: str) -> dict[str, dict[str, Stated]]:
    found: dict[str, dict[str, Stated]] = {}
    headed = re.sub(r"^(\w+ record.*):$", r"### \1", text, flags=re.MULTILINE)
    for section in headed.split("### ")[1:]:
        title = re.split(r" \(|\n", section)[0]
        name = RECORDS.get(title, title)
        for field, stated in _fields(section):
            found.setdefault(name, {})[field] = stated
        for sentence in re.findall(r"^.*\balso\b.*$", section, re.MULTILINE):
            owner = next((record for start, record in RECORDS.items() if sentence.startswith(start)), name)
            typed = re.sub(r"an integer (`\w+`)", r"\1 (integer)", sentence)
            found.setdefault(owner, {}).update(_from_sentences(typed))
    found["CandidateNetworkInterface"].update(found["HostNetworkInterface"])
    return {name: fields for name, fields in found.items() if fields}


def _fields(text: str) -> Iterator[tuple[str, Stated]]:
    """Yield the fields of a table of fields."""
    for row in _rows(text):
        values = f"{row['Type']}, {row.get('Meaning', '')}".partition("one of ")[2]
        kind = re.sub(r" \(.*", "", row["Type"])
        stated = Stated(type="String" if kind.startswith("one of") else kind, choices=_listed(values))
        yield from ((field.rpartition(": ")[2], stated) for field in row["Field"].split(", "))


def _versions(text: str, host: dict[str, Stated]) -> dict[tuple[str, ...], str]:
    found: dict[tuple[str, ...], str] = {}
    for row in _rows(text):
        version, remark = re.findall(rf"({VERSION})(.*)", row["Starting version"])[0]
        members = re.findall(r"\b[a-z]\w+", re.sub(r"response fields|parameter", "", remark))
        for name in row["Operation"].split(", "):
            found[name,] = version
            found.update({(name, member): re.findall(VERSION, remark)[0] for member in members})
    statuses = ", ".join(f"`{name}`" for name, stated in host.items() if stated.type == "HwMonitorStatus")
    later = text.replace("hardware status fields", statuses)
    for owner, stated_members in re.findall(r"(?:Later-added \w+:|;) (\w+) (`[^;\n]*)", later):
        for names, version in re.findall(rf"({NAMES}) ({VERSION})", stated_members):
            members = re.findall(r"`(\w+)`", names)
            found.update({(RECORDS.get(owner, owner), member): version for member in members})
    return found


def _rows(text: str) -> Iterator[dict[str, str]]:
    """Yield the rows of the table in a text by the headings of its columns."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    yield from (dict(zip(rows[0], row, strict=True)) for row in rows[2:])


def _listed(text: str) -> tuple[str, ...]:
    """Return the values of `A, B`, `a or b`, `a, b or c`."""
    found = re.search(r"\w+(?:, \w+)*(?:, | or )\w+", text)
    return tuple(re.split(r", | or ", found[0])) if found else ()
