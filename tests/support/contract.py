# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documented service, `contract.yaml`, in a form for comparisons."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

CONTRACT: Mapping[str, Any] = yaml.safe_load(Path(__file__).with_name("contract.yaml").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class ContractField:
    """A field of a record, a member of a reply, or a parameter; ``type`` may be ``List of <record>``."""

    type: str
    required: bool = False
    choices: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    default: str | None = None
    since: str | None = None


@dataclass(frozen=True)
class ContractOperation:
    """A documented operation. ``parameters`` has for each name its place (path, query, body) and its type."""

    method: str
    path: str
    parameters: Mapping[str, tuple[str, ContractField]]
    results: Mapping[str, ContractField]
    body_key: str | None = None
    since: str | None = None
    envelope_since: Mapping[str, str] = field(default_factory=dict)


def contract_operations() -> dict[str, ContractOperation]:
    """Return the documented operations by name."""
    return {name: _operation(**node) for name, node in CONTRACT["operations"].items()}


def contract_records() -> dict[str, dict[str, ContractField]]:
    """Return the documented fields of each record."""
    return {name: _fields(fields) for name, fields in CONTRACT["records"].items()}


def _operation(
    request: str,
    query: Mapping[str, Any] | None = None,
    body: Mapping[str, Any] | None = None,
    results: Mapping[str, Any] | None = None,
    **others: Any,
) -> ContractOperation:
    method, path = request.split()
    in_path = {name: {"type": "String", "required": True} for name in re.findall(r"{(\w+)}", path)}
    places = {"path": in_path, "query": query or {}, "body": body or {}}
    parameters = {
        name: (place, parameter) for place, nodes in places.items() for name, parameter in _fields(nodes).items()
    }
    return ContractOperation(method, path, parameters, _fields(results or {}), **others)


def _fields(nodes: Mapping[str, Any]) -> dict[str, ContractField]:
    return {name: _field(**node) if isinstance(node, dict) else ContractField(node) for name, node in nodes.items()}


def _field(**node: Any) -> ContractField:
    details: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in node.items()}
    return ContractField(**details)
