"""Every documented parameter has a module option of its type; test_properties proves that each option is sent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._api.operation import TAG_PARAMS
from ansible_collections.virtinfra.manager.plugins.module_utils._modules.options import (
    CONNECTION,
    OBJECT_TAGS,
    TAGS,
    WAIT,
)

from simulator.description import METHODS, Parameter, description, operations, resolve
from support.collection import MODULES, called_operations, load_spec

# The options of the modules api, batch, resource and workflow are parameters of any operation. session calls only
# companions.
OWN = [name for name in MODULES if name not in ("api", "batch", "resource", "session", "workflow")]

DOCUMENTED = [
    (operation, parameter)
    for operation, stated in operations().items()
    for parameter, details in stated.parameters.items()
    if not stated.is_companion and not details.is_companion and not details.alias_of
]

# Parameters that an option with another name sets.
OPTION_OF = {
    ("ChangeHostState", "stateEvent"): "state",
    ("ChangeVmNicState", "vmNicUuid"): "uuid",
    ("ChangeVmNicNetwork", "vmNicUuid"): "uuid",
    ("ChangeVmNicNetwork", "destL3NetworkUuid"): "l3_network",
    ("GetHostNetworkFacts", "hostUuid"): "hosts",
    ("CursorQuery", "filter"): "filters",
    **{(name, "q"): "query" for name in operations() if name.startswith("Query")},
}

# The cursor of the next page comes from the previous page.
BY_ITSELF = {("CursorNext", "cursor")}

# An operation is called for each element of these options, so they are lists of the parameter's type.
FOR_EACH = {("GetHostNetworkFacts", "hostUuid")}

# Options whose values are specific to the module; the tests of the modules check their calls.
OWN_WORDS = {("ChangeHostState", "stateEvent"), ("ChangeVmNicState", "state")}


def described(name: str) -> list[str]:
    """Return the operations of a module that are described."""
    return [operation for operation in called_operations(name) if operation in operations()]


def options_for(operation: str, parameter: str) -> dict[str, dict[str, Any]]:
    """Return the options for a parameter, by the modules that call the operation."""
    found = {}
    for name in OWN:
        task = load_spec(name)
        options = task.argument_spec
        # Modules that compare the user tags of their objects send them with the creation only.
        sent_as = "tags" if parameter == "userTags" and "tags" in options else parameter
        desired = OPTION_OF.get((operation, parameter)) or next(
            (each for each in options if task.parameters[each] == sent_as), ""
        )
        if operation in called_operations(name) and desired in options:
            found[name] = options[desired]
    return found


def test_every_parameter_has_an_option_of_its_type(subtests: pytest.Subtests) -> None:
    for operation, parameter in DOCUMENTED:
        if (operation, parameter) in BY_ITSELF:
            continue
        with subtests.test(f"{parameter} of {operation}"):
            stated = operations()[operation].parameters[parameter]
            options = options_for(operation, parameter)
            assert options
            for name, option in options.items():
                assert type_of(option) == expected_type(operation, stated), name
                if stated.choices and (operation, parameter) not in OWN_WORDS:
                    # An option may accept lower case too.
                    assert {*stated.choices} <= {*option["choices"]}, name
                    assert {*option["choices"]} <= {*stated.choices, *map(str.lower, stated.choices)}, name


def test_every_documented_operation_has_a_module() -> None:
    documented = {name for name, stated in operations().items() if not stated.is_companion}
    assert documented - {operation for name in OWN for operation in called_operations(name)} == set()


def test_shared_options(subtests: pytest.Subtests) -> None:
    """Every module has the connection options; modules that call operations have those for waiting and tags."""
    for name in OWN:
        with subtests.test(name):
            task = load_spec(name)
            shared = task.argument_spec.keys() - task.options.keys() - CONNECTION.keys()
            stated = [operations()[operation] for operation in described(name)]
            tagged = any(tag in operation.parameters for operation in stated for tag in TAG_PARAMS)
            waiting = any(operation.is_async for operation in stated)
            tags = OBJECT_TAGS if "tags" in shared else TAGS
            expected = {*(WAIT if waiting else ()), *(tags if tagged or waiting else ())}
            assert shared == expected or name == "job_wait"


def type_of(option: Mapping[str, Any]) -> str:
    """Return the type of an option, with that of its elements: ``list of str``."""
    return f"list of {option['elements']}" if option["type"] == "list" else str(option["type"])


def expected_type(operation: str, stated: Parameter) -> str:
    """Return the type that the option for a parameter must have."""
    if (operation, stated.name) in FOR_EACH:
        return f"list of {stated.type}"
    if stated.name.lower().endswith("memorysize"):
        return "bytes"
    if stated.type != "list":
        return "json" if str(stated.format).startswith("json") else stated.type
    words = {"string": "str", "integer": "int", "object": "dict"}
    return f"list of {words.get(element_type(operation, stated.name), 'raw')}"


def element_type(operation: str, parameter: str) -> str:
    """Return the type of the elements of a list in the description; empty if it has none."""
    schema = next(schema for name, schema in schemas(operation) if name == parameter)
    kind = resolve(resolve(schema)["items"]).get("type", "")
    return str(kind)


def schemas(operation: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the name and the schema of every parameter of an operation."""
    nodes = (item[method] for item in description()["paths"].values() for method in METHODS if method in item)
    (node,) = (node for node in nodes if node["operationId"] == operation)
    for parameter in node.get("parameters", ()):
        full = resolve(parameter)
        yield full["name"], full["schema"]
    yield from properties(node.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {}))


def properties(schema: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the name and the schema of the members of an object and of its nested objects."""
    if "$ref" in schema:
        yield from properties(resolve({"$ref": schema["$ref"]}))
    for name, member in schema.get("properties", {}).items():
        yield name, member
        yield from properties(member)
    for alternative in schema.get("anyOf", ()):
        yield from properties(alternative)
