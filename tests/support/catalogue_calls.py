"""Calls of every operation of the catalogue, with values for the parameters that it requires."""

from __future__ import annotations

import re
from typing import Any

from tools.catalogue import Fact, list_variables

from .catalogue_server import FACTS, CatalogueServer
from .module_runner import ModuleRun, run_module

UUID = "a0000003000040008000000000000001"
OTHER = "b" * 32
VALUES: dict[str, Any] = {
    "str": "text",
    "int": 1,
    "bool": True,
    "float": 1.5,
    "dict": {"a": "b"},
    "list of str": ["text"],
    "list of int": [1],
    "list of dict": [{"a": "b"}],
}
# Values with limits that the table knows.
LIMITED = {
    "memorySize": 1 << 30,
    "outboundBandwidth": 8192,
    "inboundBandwidth": 8192,
    "url": "https://chat.example.com/a",
}
OF_SESSIONS = [name for name in FACTS if re.match("LogIn|LogOut|RenewSession|ValidateSession", name)]
CALLABLE = [fact for name, fact in FACTS.items() if name not in OF_SESSIONS]


def run(module: str, server: CatalogueServer, check: bool = False, **options: Any) -> ModuleRun:
    outcome = run_module(module, {"base_url": server.url, "session_id": UUID, **options}, check)
    return ModuleRun(outcome.result, outcome.warnings, [])


def call(name: str, server: CatalogueServer, check: bool = False, **options: Any) -> ModuleRun:
    return run("api", server, check, operation=name, **options)


def list_required(fact: Fact) -> dict[str, Any]:
    """Return values for the parameters that an operation requires."""
    variables = dict.fromkeys(re.findall(r"{(\w+)}", fact.paths[0]) if fact.kind == "q" else list_variables(fact), UUID)
    given = {
        parameter.name: _choose_value(parameter.name, parameter.type, parameter.choices)
        for parameter in fact.parameters
        if parameter.is_required
    }
    return {**given, **variables}


def _choose_value(name: str, kind: str, choices: tuple[str, ...]) -> Any:
    if choices:
        return [choices[0]] if kind.startswith("list") else choices[0]
    if re.search("[uU]uids?$", name):
        return [UUID] if kind.startswith("list") else UUID
    return LIMITED.get(name, VALUES[kind])
