"""The description of the service, `docs/openapi.yaml`: its operations, parameters and records.

The simulator takes its operations from it, and tests compare the collection with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
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
ENVELOPE = {"success", "error", "schema"}
"""The members of each reply that are not its result."""


@dataclass(frozen=True)
class Field:
    """A field of a record, a member of a reply or, as Parameter, a parameter of an operation."""

    name: str
    type: str
    """str, int, bool, list, dict, NoneType, or any."""
    element_type: str = ""
    """The type of the elements of a list."""
    format: str | None = None
    """int32 (the service says Integer), int64 (Long) or another format of OpenAPI."""
    schema: str | None = None
    """Name of the component schema of the value, of its elements for a list: a record, Timestamp, Uuid, ..."""
    choices: tuple[str, ...] = ()
    """The values of an enumeration, of its elements for a list."""
    default: Any = None
    since: str | None = None
    """Version that added it; None if it is as old as its operation or record."""
    is_companion: bool = False
    """Servers support it, but the service does not document it."""


@dataclass(frozen=True)
class Parameter(Field):
    """A parameter of an operation in its path, its query string or its body; not a header."""

    where: str = "query"
    """path, query, or body (inside the member Operation.body_key, if there is one)."""
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
    max_length: int | None = None
    """The longest text that servers accept."""
    bounds: range | None = None
    """The numbers that servers accept."""
    pattern: str | None = None
    """The pattern that a text, or each text of a list, must match."""
    refuses_empty: bool = False
    """Whether servers refuse an empty list or map."""


@dataclass(frozen=True)
class Operation:
    """One operation of the service; a query includes its read by uuid."""

    name: str
    method: str
    """In capitals."""
    path: str
    """With {placeholders}; relative to `<prefix>/v1/`, or absolute for the cursor operations."""
    uuid_path: str | None
    """The path at which a query may read one record; None if that GET may be another operation."""
    parameters: Mapping[str, Parameter]
    body_key: str | None
    """The member of the body that holds the body parameters; None if they are its members, or if there are none."""
    results: Mapping[str, Field]
    """The members of a successful reply that contain the result, the main one first."""
    other_members: Mapping[str, Field]
    """The companion members that servers add to a reply: total, volumeInfos, ..."""
    since: str | None
    is_async: bool
    is_companion: bool
    """Not documented; a server may lack it."""
    security: str | None
    """session, token, or None if no credentials are needed."""
    alternatives: Mapping[str, tuple[str, ...]]
    """The required parameters that servers accept a companion parameter for."""
    node: Node
    """The whole description of the operation, with the extensions that only the plugins read."""

    @property
    def record(self) -> str | None:
        """Name of the component schema of the main result, to be looked up in records()."""
        return next((result.schema for result in self.results.values()), None)


@cache
def description() -> Node:
    """Return the whole description as parsed YAML."""
    # Without libyaml, PyYAML needs half a second.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    document: Node = yaml.load(DESCRIPTION.read_text(encoding="utf-8"), loader)
    return document


@cache
def operations() -> Mapping[str, Operation]:
    """Return the operations by name: the documented ones and the companions."""
    nodes = list(_operation_nodes())
    by_uuid = {name: path for name, path, *rest in nodes if name.endswith("ByUuid")}
    return {
        name: _build_operation(name, method, path, by_uuid.get(f"{name}ByUuid"), item, node)
        for name, path, method, item, node in nodes
        if name not in by_uuid
    }


@cache
def documented_operations() -> Mapping[str, Operation]:
    """Return the operations by name that the service documents."""
    return {name: operation for name, operation in operations().items() if not operation.is_companion}


@cache
def records() -> Mapping[str, Mapping[str, Field]]:
    """Return the fields of the records in replies, by the name of the record; not those with undescribed fields."""
    schemas = description()["components"]["schemas"]
    properties = {
        name: _properties(node)
        for name, node in schemas.items()
        if not (node.get("x-envelope") or node.get("additionalProperties"))
    }
    return {name: _build_fields(members) for name, members in properties.items() if members}


@cache
def computed_fields() -> Mapping[str, frozenset[str]]:
    """Return the fields that a query for single fields may not name, by the name of the record."""
    schemas = description()["components"]["schemas"]
    return {name: frozenset(node["x-computed"]) for name, node in schemas.items() if "x-computed" in node}


def reply_schema(name: str, status: int = 200) -> Node:
    """Return the schema of the JSON reply of an operation (of its read by uuid for `<name>ByUuid`).

    Its references are relative to description(). Raise KeyError if no JSON reply with that status is described.
    """
    node = next(node for other, path, method, item, node in _operation_nodes() if other == name)
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


def _build_operation(name: str, method: str, path: str, uuid_path: str | None, item: Node, node: Node) -> Operation:
    body_key, in_body = _body_parameters(node)
    outside = _parameters_outside_body([*item.get("parameters", ()), *node.get("parameters", ())])
    repeated = {name: replace(in_body[name], also_in_query=True) for name in outside.keys() & in_body.keys()}
    results, other_members = _reply_members(node)
    return Operation(
        name=name,
        method=method.upper(),
        path=_request_path(path, item),
        uuid_path=uuid_path and _request_path(uuid_path, item),
        parameters={**outside, **in_body, **repeated},
        body_key=body_key,
        results=results,
        other_members=other_members,
        since=node.get("x-since"),
        is_async=node.get("x-async", False),
        is_companion=node.get("x-companion", False),
        security=next((next(iter(scheme)) for scheme in node.get("security", description()["security"])), None),
        alternatives=_find_alternatives(node),
        node=node,
    )


def _request_path(path: str, item: Node) -> str:
    path = path.partition("#")[0]
    return path if "servers" in item else path.removeprefix("/")


def _parameters_outside_body(nodes: Iterable[Node]) -> dict[str, Parameter]:
    resolved = [node for node in map(resolve, nodes) if node["in"] != "header"]
    return {
        node["name"]: replace(
            _build_parameter(node["name"], node["schema"]),
            where=node["in"],
            required=node.get("required", False),
            since=node.get("x-since"),
            is_companion=node.get("x-companion", False),
        )
        for node in resolved
    }


def _body_schema(node: Node) -> Node:
    """Return the schema of the body, an empty one without a body."""
    schema: Node = node.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    return schema


def _body_parameters(node: Node) -> tuple[str | None, dict[str, Parameter]]:
    """Return the member that holds the parameters and all the parameters of the body."""
    schema = _body_schema(node)
    if "required" not in schema:
        return None, _members_as_parameters(schema)
    (key,) = schema["required"]
    beside = {
        name: replace(_build_parameter(name, member), where="body", beside=True)
        for name, member in _properties(schema).items()
        if name != key
    }
    return key, {**_members_as_parameters(schema["properties"][key]), **beside}


def _find_alternatives(node: Node) -> dict[str, tuple[str, ...]]:
    """Return the documented parameters that each parameter of a companion alternative replaces."""
    schema = _body_schema(node)
    for key in schema.get("required", ()):
        alternatives = schema["properties"][key].get("anyOf", ())
        documented = [name for each in alternatives if not each.get("x-companion") for name in each["required"]]
        others = [each["required"] for each in alternatives if each.get("x-companion")]
        return {
            name: tuple(spared for spared in documented if spared not in names)
            for names in others
            for name in names
            if name not in documented
        }
    return {}


def _members_as_parameters(schema: Node) -> dict[str, Parameter]:
    alternatives = schema.get("anyOf", [schema])
    documented = {name for node in alternatives if not node.get("x-companion") for name in node.get("required", ())}
    always = set.intersection(*(set(node.get("required", ())) for node in alternatives))
    return {
        name: replace(
            _build_parameter(name, member),
            where="body",
            required=name in documented,
            optional_in_practice=name in documented - always,
            alias_of=member.get("x-alias"),
        )
        for name, member in _properties(schema).items()
    }


def _reply_members(node: Node) -> tuple[dict[str, Field], dict[str, Field]]:
    """Return the members of the reply that contain the result, and the others, without success and error."""
    content = resolve(node["responses"]["200"])["content"]["application/json"]["schema"]
    members = _build_fields(_properties(content))
    others = {name: field for name, field in members.items() if name not in {*node["x-result"], *ENVELOPE}}
    return {name: members[name] for name in node["x-result"]}, others


def _properties(schema: Node) -> dict[str, Node]:
    """Return the members of an object, those of the schema that it refers to first."""
    inherited = _properties(resolve({"$ref": schema["$ref"]})) if "$ref" in schema else {}
    return {**inherited, **schema.get("properties", {})}


def _build_fields(properties: Mapping[str, Node]) -> dict[str, Field]:
    return {name: Field(**_details(name, node)) for name, node in properties.items()}


def _build_parameter(name: str, node: Node) -> Parameter:
    full = resolve(node)
    return Parameter(
        **_details(name, node),
        max_length=full.get("maxLength"),
        bounds=range(full["minimum"], full["maximum"] + 1) if "minimum" in full else None,
        pattern=_element(node).get("pattern"),
        refuses_empty=bool(full.get("minItems") or full.get("minProperties")),
    )


def _details(name: str, node: Node) -> dict[str, Any]:
    """Return the members of Field for one value."""
    full, element, reference = resolve(node), _element(node), _element_node(node)
    return {
        "name": name,
        "type": _python_type(full),
        "element_type": _python_type(element) if "items" in full else "",
        "format": element.get("format"),
        "schema": reference["$ref"].rpartition("/")[2] if "$ref" in reference else None,
        "choices": tuple(choice for choice in element.get("enum", ()) if choice is not None),
        "default": full.get("default"),
        "since": full.get("x-since"),
        "is_companion": full.get("x-companion", False),
    }


def _element(node: Node) -> Node:
    """Return the schema of the elements of a list, of the first alternative, or else of the value."""
    return resolve(_element_node(node))


def _element_node(node: Node) -> Node:
    full = resolve(node)
    inner: Node = full["items"] if "items" in full else full["oneOf"][0] if "oneOf" in full else node
    return inner


def _python_type(node: Node) -> str:
    types = node.get("type", [])
    names = [name for name in ([types] if isinstance(types, str) else types) if name != "null" or types == "null"]
    if not names and "oneOf" in node:
        return _python_type(resolve(node["oneOf"][0]))
    return PYTHON_TYPES[names[0]] if names else "any"
