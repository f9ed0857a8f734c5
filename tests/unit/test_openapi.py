# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The description of the service is valid and agrees with its documentation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from support.contract import ContractField, contract_operations, contract_records
from support.openapi_reference import ReferenceField, description, operations, records, reply_schema, resolve

DOCUMENTED = [name for name, operation in operations().items() if not operation.companion]
DOCUMENTED_RECORDS = [
    name for name in records() if not description()["components"]["schemas"][name].get("x-compatibility")
]
COMPANIONS = {
    "QueryHost",
    "QueryVmInstance",
    "QueryVmNic",
    "QuerySNSApplicationEndpoint",
    "QuerySNSApplicationPlatform",
    "QuerySNSSnmpPlatform",
    "QuerySNSTeamchatAtPerson",
    "QueryHostNetworkInterface",
    "GetHostNicServiceTypeStatistic",
    "GetApiJob",
}
READ_BY_UUID = {
    "QueryCbtTask",
    "QuerySNSWorkchatEndpoint",
    "QuerySNSTopicSubscriber",
    "QueryHost",
    "QueryVmInstance",
    "QueryVmNic",
    "QuerySNSApplicationEndpoint",
    "QuerySNSApplicationPlatform",
}
"""Queries whose `GET <collection>/{uuid}` is documented or known to be a read. Others may have only a DELETE there."""
MAY_LACK = {
    "EnableCbtTask": {"inventory", "volumeCbtBackupInfos"},
    "DisableCbtTask": {"inventory"},
    "SNSSnmpTestConnection": {"webhookResp"},
    "CursorQuery": {"nextCursor"},
    "CursorNext": {"nextCursor"},
    "SetServiceTypeOnHostNetworkInterface": {"inventory", "inventories"},
}
"""Results that the reply of a success need not hold."""
FURTHER_RESULTS = {"SetServiceTypeOnHostNetworkInterface": ["inventories"]}
"""Results that the contract does not name, under which servers give what it names otherwise."""


def walk(node: Any) -> Iterator[Any]:
    """Yield every mapping within a YAML document."""
    if isinstance(node, dict):
        yield node
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from walk(child)


# ---------------------------------------------------------------------------------------------- the description itself


def test_description_is_valid_openapi() -> None:
    OpenAPIV31SpecValidator(dict(description())).validate()


def test_every_reference_resolves_and_every_component_is_used() -> None:
    references = {node["$ref"] for node in walk(description()) if "$ref" in node}
    for reference in references:
        resolve({"$ref": reference})
    components = {
        f"#/components/{kind}/{name}"
        for kind, members in description()["components"].items()
        for name in members
        if kind != "securitySchemes"
    }
    assert components == references


def test_extensions_are_known() -> None:
    extensions = {key for node in walk(description()) for key in node if str(key).startswith("x-")}
    explained = set(re.findall(r"^- `(x-[a-z]+)`", description()["info"]["description"], re.MULTILINE))
    assert extensions == explained


def test_versions_are_strings() -> None:
    versions = [node["x-since"] for node in walk(description()) if "x-since" in node]
    assert versions
    assert [version for version in versions if not re.fullmatch(r"\d+(\.\d+)+", str(version))] == []
    assert {type(version) for version in versions} == {str}


def test_documented_operations_and_companions_are_all_there() -> None:
    companions = {name for name, operation in operations().items() if operation.companion}
    assert companions == COMPANIONS
    assert len(operations()) - len(companions) == 27


@pytest.mark.parametrize("name", operations())
def test_operation_follows_the_conventions(name: str) -> None:
    operation = operations()[name]
    is_write = operation.method != "GET"
    placeholders = set(re.findall(r"{(\w+)}", operation.path))
    assert operation.is_async == is_write
    assert {parameter.name for parameter in operation.parameters.values() if parameter.where == "path"} == placeholders
    assert operation.body_key == {"POST": "params", "PUT": name[0].lower() + name[1:]}.get(operation.method)
    assert operation.security == ("token" if name.startswith("Cursor") else None if name == "GetApiJob" else "session")
    assert operation.uuid_path == (f"{operation.path}/{{uuid}}" if name in READ_BY_UUID else None)
    assert (operation.since is None) == (operation.companion or name == "QuerySNSWorkchatEndpoint")


@pytest.mark.parametrize("name", [name for name, operation in operations().items() if operation.is_async])
def test_asynchronous_operation_takes_the_job_headers(name: str) -> None:
    operation = operations()[name]
    (node,) = [node for node in walk(description()["paths"]) if node.get("operationId") == name]
    headers = {parameter["name"] for parameter in map(resolve, node["parameters"]) if parameter["in"] == "header"}
    assert headers == {"X-Job-UUID", "X-Web-Hook", "X-API-Timeout"}
    assert reply_schema(name, 202) == {"$ref": "#/components/schemas/JobAccepted"}
    assert operation.body_key is None or {"systemTags", "userTags"} <= operation.parameters.keys()


@pytest.mark.parametrize("name", [name for name in operations() if not name.startswith("Query")])
def test_success_holds_the_results(name: str) -> None:
    assert set(reply_schema(name).get("required", ())) == operations()[name].results.keys() - MAY_LACK.get(name, set())


@pytest.mark.parametrize("name", [name for name, operation in operations().items() if operation.uuid_path])
def test_read_by_uuid_returns_the_same_as_its_query(name: str) -> None:
    nodes = {node["operationId"]: node for node in walk(description()["paths"]) if "operationId" in node}
    own = {"operationId", "summary", "parameters"}
    query, by_uuid = (
        {key: value for key, value in nodes[found].items() if key not in own} for found in (name, f"{name}ByUuid")
    )
    assert query == by_uuid
    assert nodes[name]["parameters"] == nodes["QueryCbtTask"]["parameters"]


@pytest.mark.parametrize("record", records())
def test_record_has_its_identity(record: str) -> None:
    identity = [name for name in ("uuid", "code") if name in records()[record]]
    assert resolve({"$ref": f"#/components/schemas/{record}"}).get("required", []) == identity


# ------------------------------------------------------------------------------------- the description and the contract


CONTRACT, CONTRACT_RECORDS = contract_operations(), contract_records()
TYPES = {
    "String": ("str", None),
    "Timestamp": ("str", None),
    "Integer": ("int", "int32"),
    "Long": ("int", "int64"),
    "Boolean": ("bool", None),
    "List": ("list", None),
    "Map": ("dict", None),
    "LinkedHashMap": ("dict", None),
}
"""The types of the contract and what they are in Python and, for numbers, in OpenAPI."""


def test_same_operations() -> None:
    assert CONTRACT.keys() == set(DOCUMENTED)


@pytest.mark.parametrize("name", DOCUMENTED)
class TestOperation:
    def test_same_method_path_and_body(self, name: str) -> None:
        ours, stated = operations()[name], CONTRACT[name]
        assert (ours.method, ours.path) == (stated.method, stated.path.removeprefix("service/v1/"))
        assert ours.body_key == (stated.body_key or {"POST": "params"}.get(ours.method))

    def test_same_parameters(self, name: str) -> None:
        ours, stated = operations()[name].parameters, CONTRACT[name].parameters
        aliases = {key: parameter.alias_of for key, parameter in ours.items() if parameter.alias_of}
        unstated = {key for key, parameter in ours.items() if parameter.compatibility or parameter.beside}
        conditions = {"q"} if name.startswith("Query") else set()
        assert ours.keys() - unstated - aliases.keys() == stated.keys() | conditions
        assert aliases == {alias: key for key, (dummy, parameter) in stated.items() for alias in parameter.aliases}

    def test_same_details_of_parameters(self, name: str) -> None:
        for key, (where, stated) in CONTRACT[name].parameters.items():
            ours = operations()[name].parameters[key]
            assert_same_type(ours, stated)
            assert (ours.required, ours.where) == (stated.required, where)
            assert stated.default in (None, ours.default)

    def test_same_results(self, name: str) -> None:
        ours, stated = operations()[name], CONTRACT[name]
        conventional = ["inventories"] if name.startswith("Query") else []
        assert list(ours.results) == (list(stated.results) or conventional) + FURTHER_RESULTS.get(name, [])
        for key, result in stated.results.items():
            assert_same_type(ours.results[key], result)

    def test_same_versions(self, name: str) -> None:
        ours, stated = operations()[name], CONTRACT[name]
        assert ours.since == stated.since
        assert versions_of(ours.parameters) == {
            key: parameter.since for key, (dummy, parameter) in stated.parameters.items() if parameter.since
        }
        assert versions_of(ours.results) == {
            key: result.since for key, result in stated.results.items() if result.since
        }
        envelope = resolve(reply_schema(name)).get("properties", {})
        described = {key: envelope.get(key, {}).get("x-since") for key in ("success", "error")}
        assert {key: since for key, since in described.items() if since} == stated.envelope_since


def test_same_records() -> None:
    assert CONTRACT_RECORDS.keys() == set(DOCUMENTED_RECORDS)


@pytest.mark.parametrize("record", DOCUMENTED_RECORDS)
def test_same_fields(record: str) -> None:
    ours = {name: field for name, field in records()[record].items() if not field.compatibility}
    assert ours.keys() == CONTRACT_RECORDS[record].keys()
    for name, field in ours.items():
        assert_same_type(field, CONTRACT_RECORDS[record][name])
        assert field.since == CONTRACT_RECORDS[record][name].since


def versions_of(members: Mapping[str, ReferenceField]) -> dict[str, str]:
    """Return the versions of the documented members that have their own."""
    return {name: member.since for name, member in members.items() if member.since and not member.compatibility}


def assert_same_type(ours: ReferenceField, stated: ContractField) -> None:
    """Compare type, width, record of the value or of its elements, and values."""
    word, *elements = stated.type.split(" of ")
    if word in TYPES:
        assert (ours.type, ours.format if ours.type == "int" else None) == TYPES[word]
    else:
        assert (ours.type, ours.schema) == ("str" if stated.choices else "dict", word)
    assert (ours.schema == "Timestamp") == (word == "Timestamp")
    for element in elements:
        assert ours.schema == element
    assert ours.choices == stated.choices
