"""The operations of the catalogue, `tests/facts/catalogue.tsv`, in the form of the description of the service.

The simulator takes operations from it that docs/openapi.yaml does not describe.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

from . import description
from .description import Operation, Parameter

FACTS = Path(__file__).resolve().parents[1] / "facts" / "catalogue.tsv"

_PARAMETER = re.compile(r"(?P<name>\w+)(?P<required>\*?):(?P<type>[a-z ]+)(?:\[(?P<choices>[^]]*)\])?")
_NEW_UUID = re.compile(r"[0-9a-f]{12}4[0-9a-f]{3}[89ab][0-9a-f]{15}").pattern


@cache
def find(name: str) -> Operation:
    """Return an operation by its name; raise KeyError if the catalogue has none of this name."""
    name, dummy, kind, method, paths, body_key, parameters = _rows()[name].split("\t")
    path, *others = (each.removeprefix("/") for each in paths.split())
    in_path = re.findall(r"{(\w+)}", path)
    return Operation(
        name=name,
        method=method,
        path=path,
        uuid_path=next((each for each in others if each == f"{path}/{{uuid}}"), None) if kind == "query" else None,
        parameters=_query_parameters() if kind == "query" else _parameters(name, method, in_path, parameters),
        body_key={"action": name[0].lower() + name[1:], "params": "params"}.get(body_key),
        results={},
        other_members={},
        since=None,
        is_async=kind == "async",
        is_companion=True,
        security="session",
        alternatives={},
        node={},
    )


def has(name: str) -> bool:
    """Return whether the catalogue has an operation of this name."""
    return name in _rows()


@cache
def _rows() -> dict[str, str]:
    return {line.partition("\t")[0]: line for line in FACTS.read_text(encoding="utf-8").splitlines()}


def _query_parameters() -> dict[str, Parameter]:
    return dict(description.operations()["QueryZone"].parameters)


def _parameters(name: str, method: str, in_path: list[str], text: str) -> dict[str, Parameter]:
    """Return the parameters of an operation, with those that the facts omit because all operations of a kind have them.

    The name in the path is that of the parameter in the path.
    """
    where = "query" if method in ("GET", "DELETE") else "body"
    found = {parameter.name: replace(parameter, where=where) for parameter in _parse_parameters(text)}
    for variable in in_path:
        found[variable] = Parameter(variable, "str", where="path", required=True)
    if "tagUuids" in found:
        found["resourceUuid"] = Parameter("resourceUuid", "str", where="body", schema="NewUuid", pattern=_NEW_UUID)
    if method == "DELETE":
        mode = description.operations()["DeleteDataVolume"].parameters["deleteMode"]
        found["deleteMode"] = mode
    return found


def _parse_parameters(text: str) -> Iterator[Parameter]:
    for match in _PARAMETER.finditer(text):
        kind, dummy, element = match["type"].strip().partition(" of ")
        yield Parameter(
            match["name"],
            kind,
            element if element in ("str", "int") else "",
            choices=tuple((match["choices"] or "").split("|")) if match["choices"] else (),
            required=bool(match["required"]),
        )
