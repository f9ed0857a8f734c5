"""The description of the service is valid and agrees with its documentation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from simulator.description import description, documented_operations, operations, records, reply_schema, resolve

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
    "DeleteVolumeSnapshotGroup": {"results"},
    "SNSSnmpTestConnection": {"webhookResp"},
    "CursorQuery": {"nextCursor"},
    "CursorNext": {"nextCursor"},
    "GetVmMigrationCandidateHosts": {"inventories"},
    "SetServiceTypeOnHostNetworkInterface": {"inventory", "inventories"},
}
"""Results that the reply of a success need not hold."""


PUBLIC = {"GetApiJob", "LogInByAccount", "LogOut", "ValidateSession"}
"""Operations that need no credentials."""
ANSWERED_AT_ONCE = {"LogInByAccount", "LogOut"}
"""Writes whose result is in the response."""


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
    explained = set(re.findall(r"^- `(x-[a-z-]+)`", description()["info"]["description"], re.MULTILINE))
    assert extensions == explained


def test_versions_are_strings() -> None:
    versions = [node["x-since"] for node in walk(description()) if "x-since" in node]
    assert versions
    assert [version for version in versions if not re.fullmatch(r"\d+(\.\d+)+", str(version))] == []
    assert {type(version) for version in versions} == {str}


def test_operation_follows_the_conventions(subtests: pytest.Subtests) -> None:
    for name in operations():
        with subtests.test(name):
            operation = operations()[name]
            placeholders = set(re.findall(r"{(\w+)}", operation.path))
            assert operation.is_async == (operation.method != "GET" and name not in ANSWERED_AT_ONCE)
            assert {
                parameter.name for parameter in operation.parameters.values() if parameter.where == "path"
            } == placeholders
            assert operation.body_key == {"POST": "params", "PUT": name[0].lower() + name[1:]}.get(operation.method)
            assert operation.security == (
                "token" if name.startswith("Cursor") else None if name in PUBLIC else "session"
            )
            assert operation.uuid_path == (f"{operation.path}/{{uuid}}" if name in READ_BY_UUID else None)
            assert (operation.since is None) == (operation.is_companion or name == "QuerySNSWorkchatEndpoint")


def test_asynchronous_operation_takes_the_job_headers(subtests: pytest.Subtests) -> None:
    for name in [name for name, operation in operations().items() if operation.is_async]:
        with subtests.test(name):
            operation = operations()[name]
            (node,) = [node for node in walk(description()["paths"]) if node.get("operationId") == name]
            headers = {
                parameter["name"] for parameter in map(resolve, node["parameters"]) if parameter["in"] == "header"
            }
            assert headers == {"X-Job-UUID", "X-Web-Hook", "X-API-Timeout"}
            assert reply_schema(name, 202) == {"$ref": "#/components/schemas/JobAccepted"}
            assert (
                operation.is_companion
                or operation.body_key is None
                or {"systemTags", "userTags"} <= operation.parameters.keys()
            )


def test_success_holds_the_results(subtests: pytest.Subtests) -> None:
    for name in [name for name in operations() if not name.startswith("Query")]:
        with subtests.test(name):
            assert set(reply_schema(name).get("required", ())) == operations()[name].results.keys() - MAY_LACK.get(
                name, set()
            )


def test_read_by_uuid_returns_the_same_as_its_query(subtests: pytest.Subtests) -> None:
    for name in [name for name, operation in operations().items() if operation.uuid_path]:
        with subtests.test(name):
            nodes = {node["operationId"]: node for node in walk(description()["paths"]) if "operationId" in node}
            own = {"operationId", "summary", "parameters", "x-substitute", "x-record"}
            query, by_uuid = (
                {key: value for key, value in nodes[read].items() if key not in own} for read in (name, f"{name}ByUuid")
            )
            assert query == by_uuid
            assert nodes[name]["parameters"] == nodes["QueryCbtTask"]["parameters"]


def test_record_has_its_identity(subtests: pytest.Subtests) -> None:
    for record in records():
        with subtests.test(record):
            identity = [name for name in ("uuid", "code") if name in records()[record]]
            assert resolve({"$ref": f"#/components/schemas/{record}"}).get("required", []) == identity


# ---------------------------------------------------------------------------------- what the service documents

# The version, and the numbers of parameters, required parameters and results that the document of the service has for
# each operation. Parameters are those in the path, in the query string and in the body.
OPERATIONS = {
    "CreateCbtTask": ("4.10.10", 6, 3, 1),
    "DeleteCbtTask": ("4.10.10", 3, 1, 0),
    "DisableCbtTask": ("4.10.10", 2, 1, 1),
    "EnableCbtTask": ("4.10.10", 2, 1, 2),
    "QueryCbtTask": ("4.10.10", 1, 0, 1),
    "ExportNbdVolumes": ("4.10.10", 3, 2, 0),
    "CreateSNSWorkchatEndpoint": ("4.2.0", 6, 4, 1),
    "QuerySNSWorkchatEndpoint": (None, 1, 0, 1),
    "CreateSNSSnmpEndpoint": ("4.10.0", 3, 1, 1),
    "UpdateSNSApplicationEndpoint": ("2.3", 3, 1, 1),
    "UpdateAtPersonOfAtTeamchatEndpoint": ("4.2.0", 4, 3, 1),
    "UpdateSNSSnmpPlatform": ("4.10.0", 5, 3, 1),
    "SNSSnmpTestConnection": ("4.10.0", 2, 0, 2),
    "QuerySNSTopicSubscriber": ("2.3.1", 1, 0, 1),
    "CreateVmInstanceFromVolumeSnapshotGroup": ("3.11.0", 21, 2, 1),
    "AttachL3NetworkToVm": ("0.6", 6, 2, 1),
    "ChangeVmNicState": ("0.6", 2, 2, 1),
    "ChangeVmNicNetwork": ("4.1.0", 4, 2, 1),
    "DeleteNicQos": ("0.6", 2, 2, 0),
    "AddKVMHost": ("0.6", 7, 5, 1),
    "ChangeHostState": ("0.6", 2, 2, 1),
    "GetHostNetworkFacts": ("3.5.0", 3, 1, 2),
    "GetCandidateNetworkInterfaces": ("4.7.0", 7, 1, 2),
    "SetServiceTypeOnHostNetworkInterface": ("4.7.11", 3, 1, 1),
    "QueryPrimaryStorage": ("0.6", 1, 0, 1),
    "CursorQuery": ("1.0", 5, 0, 4),
    "CursorNext": ("1.0", 2, 0, 4),
}
# The number of fields that the document has for each record.
RECORDS = {
    "CbtTaskInventory": 6,
    "SNSWorkchatEndpointInventory": 12,
    "SNSApplicationPlatformInventory": 7,
    "SNSApplicationEndpointInventory": 8,
    "SNSTeamchatAtPersonInventory": 6,
    "SNSTopicSubscriber": 4,
    "VmInstanceInventory": 26,
    "VmNicInventory": 18,
    "UsedIp": 12,
    "Volume": 22,
    "CdRom": 9,
    "HostInventory": 33,
    "Bonding": 13,
    "HostNetworkInterface": 13,
    "CandidateNetworkInterface": 17,
    "HostNicServiceType": 6,
    "PrimaryStorageInventory": 17,
    "ErrorCode": 6,
}


def test_operations_are_those_of_the_document() -> None:
    counted = {}
    for name, operation in documented_operations().items():
        parameters = [
            parameter
            for parameter in operation.parameters.values()
            if not (parameter.is_companion or parameter.alias_of or parameter.beside)
        ]
        counted[name] = (
            operation.since,
            len(parameters),
            sum(parameter.required for parameter in parameters),
            sum(not result.is_companion for result in operation.results.values()),
        )
    assert counted == OPERATIONS


def test_records_are_those_of_the_document() -> None:
    schemas = description()["components"]["schemas"]
    assert {
        name: sum(not field.is_companion for field in fields.values())
        for name, fields in records().items()
        if not schemas[name].get("x-companion")
    } == RECORDS


def test_only_documented_operations_have_a_version() -> None:
    """The document states versions, so a companion parameter has one only if servers show which."""
    companions = {
        (name, key)
        for name, operation in operations().items()
        for key, parameter in operation.parameters.items()
        if parameter.since and (parameter.is_companion or operation.is_companion)
    }
    assert companions == {
        ("UpdateSNSApplicationEndpoint", "platformUuid"),
        ("DeleteVolumeSnapshotGroup", "direction"),
        ("DeleteVolumeSnapshotGroup", "scope"),
    }
