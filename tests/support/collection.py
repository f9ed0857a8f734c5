"""The modules of the collection and their documentation."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import yaml
from ansible.plugins.loader import fragment_loader
from ansible.utils.plugin_docs import get_docstring
from ansible_collections.virtinfra.manager.plugins.module_utils._api.operations import OPERATIONS
from ansible_collections.virtinfra.manager.plugins.module_utils._api.resource_types import LISTED_TYPES
from ansible_collections.virtinfra.manager.plugins.module_utils._modules.spec import ModuleSpec

ROOT = Path(__file__).resolve().parents[2]
ALL_MODULES = sorted(path.stem for path in (ROOT / "plugins" / "modules").glob("*.py"))


def runs_on_mover(name: str) -> bool:
    """Return whether a module runs on a data mover, without access to the API. Its code is in a room of its own."""
    return "module_utils._backup" in (ROOT / "plugins" / "modules" / f"{name}.py").read_text(encoding="utf-8")


MOVER_MODULES = [name for name in ALL_MODULES if runs_on_mover(name)]

# The modules for the API, which the simulator can run. tests/backup runs the others, with real disks.
MODULES = [name for name in ALL_MODULES if name not in MOVER_MODULES]

# Members of the results of all modules: those that Ansible knows, and the one that the attribute check_mode documents.
COMMON_MEMBERS = {"changed", "check_mode", "diff", "failed", "failed_when_result", "invocation", "msg", "warnings"}


@dataclass(frozen=True)
class Module:
    """A module: its documentation with all fragments, its examples (tasks) and its documented results."""

    name: str
    documentation: dict[str, Any]
    examples: list[dict[str, Any]]
    returns: dict[str, dict[str, Any]]

    @property
    def fqcn(self) -> str:
        """The name that playbooks use."""
        return f"virtinfra.manager.{self.name}"

    @property
    def options(self) -> dict[str, dict[str, Any]]:
        """The documented options."""
        return dict(self.documentation["options"])

    @property
    def idempotent(self) -> str:
        """The documented support: full, partial or none."""
        return str(self.documentation["attributes"]["idempotent"]["support"])

    @property
    def kind(self) -> str:
        """The kind in the protocol: ``state``, ``reader`` or ``action``.

        Raise LookupError for a module without a state that documents neither that it changes nothing nor that it acts
        each time.
        """
        details = " ".join(self.documentation["attributes"]["check_mode"].get("details", ()))
        if "state" in self.options:
            return "state"
        if "does not change anything" in details:
            return "reader"
        if "diff_mode" in self.documentation["attributes"] and self._diff_mode in ("none", "N/A"):
            return "action"
        raise LookupError(f"{self.name} has no place in the protocol")

    @property
    def _diff_mode(self) -> str:
        return str(self.documentation["attributes"]["diff_mode"]["support"])


@cache
def load_spec(name: str) -> ModuleSpec:
    """Return the MODULE of the file of a module for the API."""
    spec: ModuleSpec = import_module(f"ansible_collections.virtinfra.manager.plugins.modules.{name}").MODULE
    return spec


@cache
def module(name: str) -> Module:
    """Return the module of this name. Raise an error when a part of its documentation is missing."""
    path = ROOT / "plugins" / "modules" / f"{name}.py"
    docs = get_docstring(str(path), fragment_loader, collection_name="virtinfra.manager", plugin_type="module")
    documentation, examples, returns, dummy = docs
    return Module(name, documentation, yaml.safe_load(examples), returns)


def shape_differences(value: Any, spec: Mapping[str, Any], path: str) -> Iterator[str]:
    """Yield the differences between a result and its documentation, the RETURN entry ``spec``."""
    types: dict[str, Any] = {"dict": dict, "list": list, "str": str, "int": int, "float": float, "bool": bool}
    if value is None:
        return
    if not isinstance(value, types[spec["type"]]) or (spec["type"] == "int" and isinstance(value, bool)):
        yield f"{path} is no {spec['type']}: {value!r}"
    elif spec["type"] == "list":
        for number, element in enumerate(value):
            yield from shape_differences(element, {**spec, "type": spec["elements"]}, f"{path}[{number}]")
    elif "contains" in spec:
        yield from (f"{path}.{name} is not documented" for name in value.keys() - spec["contains"].keys())
        always = {name for name, field in spec["contains"].items() if "returned" not in field}
        yield from (f"{path} lacks {name}" for name in always - value.keys())
        for name in value.keys() & spec["contains"].keys():
            yield from shape_differences(value[name], spec["contains"][name], f"{path}.{name}")


@cache
def called_operations(name: str) -> tuple[str, ...]:
    """Return the operations that a module calls: those that its source names, and those of its resource types."""
    source = ast.parse((ROOT / "plugins" / "modules" / f"{name}.py").read_text())
    texts = [node.value for node in ast.walk(source) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    options = load_spec(name).options
    if "resource_type" in options:
        texts += [resource_type.query for resource_type in LISTED_TYPES.values()]
    if "filters" in options:
        texts += ["CursorQuery", "CursorNext"]
    return tuple(text for text in dict.fromkeys(texts) if text in OPERATIONS)
