# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The description of the service, `docs/openapi.yaml`, in a form for comparisons."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

DESCRIPTION = Path(__file__).resolve().parents[2] / "docs" / "openapi.yaml"

Node = Mapping[str, Any]

PYTHON_TYPES = {
    "string": "str",
    "integer": "int",
    "boolean": "bool",
    "array": "list",
    "object": "dict",
    "null": "NoneType",
}
METHODS = ("get", "post", "put", "delete")
BESIDE_RESULT = {"success", "error", "schema"}


@dataclass(frozen=True)
class ReferenceField:
    """A field of a record, a member of a reply or, as ReferenceParameter, a parameter of an operation."""

    name: str
    type: str
    """str, int, bool, list, dict, NoneType, or any."""
    format: str | None = None
    """int32 (the service says Integer), int64 (Long) or another format of OpenAPI."""
    schema: str | None = None
    """Name of the component schema of the value, of its elements for a list: a record, Timestamp, Uuid, ..."""
    choices: tuple[str, ...] = ()
    """The values of an enumeration, of its elements for a list."""
    default: Any = None
    since: str | None = None
    """Version that added it; None if it is as old as its operation or record."""
    compatibility: bool = False
    """Servers support it, but the document lacks it."""


@dataclass(frozen=True)
class ReferenceParameter(ReferenceField):
    """A parameter of an operation in its path, its query string or its body; not a header."""

    where: str = "query"
    """path, query, or body (inside the member ReferenceOperation.body_key, if there is one)."""
    also_in_query: bool = False
    """A body parameter that is also sent in the query string, because servers often ignore the body of a DELETE."""
    required: bool = False
    """Documented as required."""
    optional_in_practice: bool = False
    """Documented as required, but servers accept a call without it."""
    alias_of: str | None = None
    """The parameter of which this is another spelling."""
    beside: bool = False
    """A member of the body next to body_key, not inside it: systemTags and userTags."""


@dataclass(frozen=True)
class ReferenceOperation:
    """One operation of the service; a query includes its read by uuid."""

    name: str
    method: str
    """In capitals."""
    path: str
    """With {placeholders}; relative to `<prefix>/v1/`, or absolute for the cursor operations."""
    uuid_path: str | None
    """The path at which a query may read one record; None if that GET may be another operation."""
    parameters: Mapping[str, ReferenceParameter]
    body_key: str | None
    """The member of the body that holds the body parameters; None if they are its members, or if there are none."""
    results: Mapping[str, ReferenceField]
    """The documented members of a successful reply that contain the result, the main one first."""
    undocumented_results: Mapping[str, ReferenceField]
    """The undocumented members that servers add: total, volumeInfos, ..."""
    since: str | None
    is_async: bool
    companion: bool
    """Not in the document; a server may lack it."""
    security: str | None
    """session, token, or None if no credentials are needed."""

    @property
    def record(self) -> str | None:
        """Name of the component schema of the main result, to be looked up in records()."""
        return next((result.schema for result in self.results.values()), None)

    @property
    def version_of(self) -> dict[str, str]:
        """The versions of the parameters that were added later."""
        return {name: parameter.since for name, parameter in self.parameters.items() if parameter.since}


@cache
def description() -> Node:
    """Return the whole description as parsed YAML."""
    document: Node = yaml.safe_load(DESCRIPTION.read_text(encoding="utf-8"))
    return document


@cache
def operations() -> Mapping[str, ReferenceOperation]:
    """Return the operations by name: the documented ones and, marked, the companion reads."""
    return _operations(is_further=False)


@cache
def further_operations() -> Mapping[str, ReferenceOperation]:
    """Return the operations by name that follow neither from the document nor from its conventions."""
    return _operations(is_further=True)


def _operations(is_further: bool) -> Mapping[str, ReferenceOperation]:
    by_uuid = {name: path for name, path, *dummy in _operation_nodes() if name.endswith("ByUuid")}
    return {
        name: _operation(name, method, path, by_uuid.get(f"{name}ByUuid"), item, node)
        for name, path, method, item, node in _operation_nodes()
        if name not in by_uuid and node.get("x-further", False) == is_further
    }


@cache
def records() -> Mapping[str, Mapping[str, ReferenceField]]:
    """Return the fields of the records in replies, by the name of the record."""
    schemas = description()["components"]["schemas"]
    found = {
        name: _properties(node)
        for name, node in schemas.items()
        if not (node.get("x-envelope") or node.get("x-further"))
    }
    return {name: _fields(properties) for name, properties in found.items() if properties}


def routes() -> set[tuple[str, str]]:
    """Return the method and the path of every request that the service answers, including reads by uuid."""
    return {(method.upper(), _path(path, item)) for dummy, path, method, item, node in _operation_nodes()}


def reply_schema(name: str, status: int = 200) -> Node:
    """Return the schema of the JSON reply of an operation (of its read by uuid for `<name>ByUuid`).

    Its references are relative to description(). Raise KeyError if no JSON reply with that status is described.
    """
    node = next(node for found, dummy, method, item, node in _operation_nodes() if found == name)
    schema: Node = resolve(node["responses"][str(status)])["content"]["application/json"]["schema"]
    return schema


def resolve(node: Node) -> Node:
    """Return the target of a reference, merged with its siblings; anything else unchanged."""
    if "$ref" not in node:
        return node
    target: Any = description()
    for step in node["$ref"].removeprefix("#/").split("/"):
        target = target[step]
    return {**resolve(target), **{key: value for key, value in node.items() if key != "$ref"}}


def _operation_nodes() -> Iterator[tuple[str, str, str, Node, Node]]:
    """Yield operationId, path, method, path item and operation."""
    for path, item in description()["paths"].items():
        for method in METHODS:
            if method in item:
                yield item[method]["operationId"], path, method, item, item[method]


def _operation(name: str, method: str, path: str, uuid_path: str | None, item: Node, node: Node) -> ReferenceOperation:
    body_key, in_body = _body(node)
    results, undocumented = _results(node)
    return ReferenceOperation(
        name=name,
        method=method.upper(),
        path=_path(path, item),
        uuid_path=uuid_path and _path(uuid_path, item),
        parameters=_merged(_outside_body([*item.get("parameters", ()), *node.get("parameters", ())]), in_body),
        body_key=body_key,
        results=results,
        undocumented_results=undocumented,
        since=node.get("x-since"),
        is_async=node.get("x-async", False),
        companion=node.get("x-companion", False),
        security=next((next(iter(scheme)) for scheme in node.get("security", description()["security"])), None),
    )


def _path(path: str, item: Node) -> str:
    path = path.partition("#")[0]
    return path if "servers" in item else path.removeprefix("/")


def _merged(
    outside: dict[str, ReferenceParameter], in_body: dict[str, ReferenceParameter]
) -> dict[str, ReferenceParameter]:
    """Merge both places: a parameter of the body can be repeated in the query string."""
    twice = outside.keys() & in_body.keys()
    repeated = {name: _replaced(in_body[name], also_in_query=True) for name in twice}
    return {**outside, **in_body, **repeated}


def _outside_body(nodes: list[Node]) -> dict[str, ReferenceParameter]:
    found = [resolve(node) for node in nodes]
    return {
        node["name"]: _replaced(
            _parameter(node["name"], node["schema"]),
            where=node["in"],
            required=node.get("required", False),
            since=node.get("x-since"),
            compatibility=node.get("x-compatibility", False),
        )
        for node in found
        if node["in"] != "header"
    }


def _body(node: Node) -> tuple[str | None, dict[str, ReferenceParameter]]:
    """Return the member that holds the parameters and all the parameters of the body."""
    schema = node.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    if "required" not in schema:
        return None, _body_parameters(schema)
    (key,) = schema["required"]
    beside = {
        name: _replaced(_parameter(name, member), where="body", beside=True)
        for name, member in _properties(schema).items()
        if name != key
    }
    return key, {**_body_parameters(schema["properties"][key]), **beside}


def _body_parameters(schema: Node) -> dict[str, ReferenceParameter]:
    alternatives = schema.get("anyOf", [schema])
    documented = _required(node for node in alternatives if not node.get("x-compatibility"))
    always = set.intersection(*(set(node.get("required", ())) for node in alternatives))
    return {
        name: _replaced(
            _parameter(name, member),
            where="body",
            required=name in documented,
            optional_in_practice=name in documented - always,
            alias_of=member.get("x-alias"),
        )
        for name, member in _properties(schema).items()
    }


def _required(nodes: Iterator[Node]) -> set[str]:
    return {name for node in nodes for name in node.get("required", ())}


def _results(node: Node) -> tuple[dict[str, ReferenceField], dict[str, ReferenceField]]:
    """Return the documented and the other members of the reply, without success and error."""
    content = resolve(node["responses"]["200"])["content"]["application/json"]["schema"]
    members = _fields(_properties(content))
    others = {name: field for name, field in members.items() if name not in {*node["x-result"], *BESIDE_RESULT}}
    return {name: members[name] for name in node["x-result"]}, others


def _properties(schema: Node) -> dict[str, Node]:
    """Return the members of an object, those of the schema that it refers to first."""
    inherited = _properties(resolve({"$ref": schema["$ref"]})) if "$ref" in schema else {}
    return {**inherited, **schema.get("properties", {})}


def _fields(properties: Mapping[str, Node]) -> dict[str, ReferenceField]:
    return {name: ReferenceField(**_value(name, node)) for name, node in properties.items()}


def _parameter(name: str, node: Node) -> ReferenceParameter:
    return ReferenceParameter(**_value(name, node))


def _replaced(parameter: ReferenceParameter, **changes: Any) -> ReferenceParameter:
    return ReferenceParameter(**{**vars(parameter), **changes})


def _value(name: str, node: Node) -> dict[str, Any]:
    """Return the ReferenceField of one value."""
    full = resolve(node)
    inner_node = full["items"] if "items" in full else full["oneOf"][0] if "oneOf" in full else node
    inner = resolve(inner_node)
    return {
        "name": name,
        "type": _python_type(full),
        "format": inner.get("format"),
        "schema": inner_node["$ref"].rpartition("/")[2] if "$ref" in inner_node else None,
        "choices": tuple(choice for choice in inner.get("enum", ()) if choice is not None),
        "default": full.get("default"),
        "since": full.get("x-since"),
        "compatibility": full.get("x-compatibility", False),
    }


def _python_type(node: Node) -> str:
    types = node.get("type", [])
    names = [name for name in ([types] if isinstance(types, str) else types) if name != "null" or types == "null"]
    if not names and "oneOf" in node:
        return _python_type(resolve(node["oneOf"][0]))
    return PYTHON_TYPES[names[0]] if names else "any"
