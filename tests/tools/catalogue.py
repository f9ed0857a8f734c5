"""Write the catalogue of the servers' operations, which ``api`` and ``resource_info`` import, from its facts.

The facts in tests/facts/catalogue.tsv were read in the source of two servers. Each line has an operation: its name, the
servers that have it (z: ZSvirt, s: ZStack), its kind (query, sync, async), method, paths, the member of the body with
the parameters, and these, with ``*`` where required.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
FACTS = ROOT / "tests" / "facts" / "catalogue.tsv"
TARGET = ROOT / "plugins" / "module_utils" / "_api" / "catalogue_rows.py"
WIDTH = 120

HEADER = '''\
"""The operations of the servers of this API family, for catalogue.py. The session ``format`` writes this file.

An operation has a line, which those that begin with a space, ``|`` or ``,`` continue: its name, its servers (z: ZSvirt,
s: ZStack), its kind (q: query, r: read in place, w: change in place, a: change with a job), method, paths, ``@`` with
the member of the body if it is not the usual one, and the parameters that are not in the path: ``!`` if required,
``:TYPE`` if it is no string, and ``=`` with the choices.
"""

from __future__ import annotations

ROWS = """\\
'''

# Operations that answer in place and only read, whatever their method is, by the first word of their names.
_READING = re.compile(
    r"(BatchQuery|Calculate|Check|Decode|Discover|Get|Is|List|LocalStorageGet|Parse|Preview|PrometheusQuery|Scan|Validate"
    r"|ZQLQuery)(?![a-z])"
)

_TYPES = {
    "str": "",
    "list of str": ":[]",
    "list of int": ":[int]",
    "list of dict": ":[dict]",
    "int": ":int",
    "bool": ":bool",
    "float": ":float",
    "dict": ":dict",
}


class Parameter(NamedTuple):
    """A parameter, as the facts have it."""

    name: str
    is_required: bool
    type: str
    choices: tuple[str, ...]


class Fact(NamedTuple):
    """An operation, as the facts have it; ``kind`` is one of the letters of the catalogue."""

    name: str
    servers: str
    kind: str
    method: str
    paths: tuple[str, ...]
    body_key: str
    parameters: tuple[Parameter, ...]


def read_facts() -> list[Fact]:
    """Return the operations in the facts."""
    return [_parse_fact(line) for line in FACTS.read_text(encoding="utf-8").splitlines()]


def _parse_fact(line: str) -> Fact:
    name, servers, kind, method, paths, body_key, parameters = line.split("\t")
    fact = Fact(
        name,
        servers,
        _find_kind(name, kind, method),
        method,
        tuple(path.removeprefix("/") for path in paths.split(" ") if path != "null"),
        body_key,
        tuple(_parse_parameter(text) for text in parameters.split(", ") if text != "-"),
    )
    return fact._replace(parameters=tuple(_correct_parameters(fact, kind)))


def _find_kind(name: str, kind: str, method: str) -> str:
    """Return the letter for the kind of an operation. All GETs answer in place, but some change something."""
    if kind == "query":
        return "q"
    if kind == "async" and method != "GET":
        return "a"
    return "r" if _READING.match(name) else "w"


def _parse_parameter(text: str) -> Parameter:
    match = re.fullmatch(r"(\w+)(\*?):([a-z ]+)(?:\[(.*)\])?", text)
    if match is None:
        raise ValueError(f"unknown form of a parameter: {text}")
    name, star, kind, choices = match.groups()
    # The facts show enumerations with a class of their own as mappings.
    kind = "str" if choices and kind == "dict" else kind
    return Parameter(name, bool(star), kind, tuple(choices.split("|")) if choices else ())


def _correct_parameters(fact: Fact, kind: str) -> Iterator[Parameter]:
    """Yield the parameters but for the uuid that the facts have from the class of jobs, and that no server needs."""
    variables = set(list_variables(fact))
    is_inherited = kind == "async" and fact.method == "GET" and "uuid" not in variables
    for parameter in fact.parameters if fact.kind != "q" else ():
        if not (is_inherited and parameter.name == "uuid"):
            yield parameter


def list_variables(fact: Fact) -> list[str]:
    """Return the variables in the paths of an operation."""
    return list(dict.fromkeys(re.findall(r"{(\w+)}", " ".join(fact.paths))))


def format_row(fact: Fact) -> str:
    """Return the line of an operation."""
    usual = {"GET": "-", "DELETE": "-", "POST": "params", "PUT": "action"}[fact.method]
    key = "" if fact.body_key == usual else f"@{fact.body_key.removeprefix('-')}"
    in_path = set(list_variables(fact)) if len(fact.paths) == 1 else set()
    parameters = [_format_parameter(parameter) for parameter in fact.parameters if parameter.name not in in_path]
    head = [fact.name, fact.servers, fact.kind, fact.method, ",".join(fact.paths)]
    return " ".join([*head, *filter(None, [key]), *parameters])


def _format_parameter(parameter: Parameter) -> str:
    mark = "!" if parameter.is_required else ""
    choices = f"={'|'.join(parameter.choices)}" if parameter.choices else ""
    return f"{parameter.name}{mark}{_TYPES[parameter.type]}{choices}"


def format_catalogue() -> str:
    """Return the text of the file."""
    rows = (format_row(fact) for fact in read_facts())
    lines = [line for row in rows for line in _wrap(row)]
    return HEADER + "\n".join([*lines, '"""', ""])


def _wrap(row: str) -> list[str]:
    """Return the row in lines; each but the first begins with a separator."""
    lines = [""]
    for part in re.findall(r"[ |,]?[^ |,]+", row):
        if len(lines[-1] + part) > WIDTH:
            lines.append("")
        lines[-1] += part
    return lines


def main() -> None:
    """Write the file."""
    TARGET.write_text(format_catalogue(), encoding="utf-8")


if __name__ == "__main__":
    main()
