"""What `api` and `resource_info` check, look up and send, for every operation of the catalogue and every parameter."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._api.by_path import choose_by_path
from ansible_collections.virtinfra.manager.plugins.module_utils._api.catalogue import (
    CataloguedOperation,
    find_catalogued,
    find_reference,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._api.errors import InvalidOptions, count_slips
from ansible_collections.virtinfra.manager.plugins.module_utils._api.operation import Operation
from ansible_collections.virtinfra.manager.plugins.module_utils._api.operations import OPERATIONS
from ansible_collections.virtinfra.manager.plugins.module_utils._api.unlisted import UnlistedOperation
from ansible_collections.virtinfra.manager.plugins.module_utils._modules.generic import suggest_operation
from tools.catalogue import Fact

from support.catalogue_calls import CALLABLE, OTHER, UUID, call, list_required, run
from support.catalogue_server import FACTS, CatalogueServer
from support.collection import load_spec

REFERENCES = Path(__file__).resolve().parents[2] / "facts" / "references.tsv"


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, CatalogueServer]]:
    with CatalogueServer("z") as one, CatalogueServer("s") as other:
        yield {"z": one, "s": other}


@pytest.fixture(autouse=True)
def _fresh_servers(servers: dict[str, CatalogueServer]) -> None:
    for server in servers.values():
        server.reset()


def find_row(name: str) -> Operation:
    row = OPERATIONS.get(name) or find_catalogued(name)
    assert row is not None
    return row


# ------------------------------------------------------------------------------------- refused before anything is sent


def refuse(name: str, params: dict[str, Any], is_trusted: bool = True) -> str:
    """Return why the module `api` refuses a call before it sends anything; empty if it does not."""
    spec = load_spec("api")
    assert spec.check is not None
    try:
        spec.check({"operation": name, "params": params, "trustPath": is_trusted}, False)
    except InvalidOptions as refusal:
        return refusal.message
    return ""


WRONG = {"int": "much", "long": "much", "bool": "maybe", "float": "much", "dict": "text", "str": ["a", {"b": 1}]}
ELEMENTS = {"int": "much", "str": {"a": 1}, "dict": "text"}


def test_every_parameter_is_checked(subtests: pytest.Subtests) -> None:
    """Required, misspelt, of another type or none of its choices, on its own and in a list."""
    count = 0
    for fact in CALLABLE:
        row, given = find_row(fact.name), list_required(fact)
        with subtests.test(fact.name):
            for name, parameter in row.parameters.items():
                others = {other: value for other, value in given.items() if other != name}
                if len(name) > 3 and (misspelt := f"{name[:-2]}{name[-1]}") not in row.parameters:
                    assert f"has no parameter {misspelt}. Did you mean " in refuse(fact.name, {**given, misspelt: "a"})
                if parameter.required and not (parameter.alias or parameter.replaces or name not in given):
                    assert re.search(rf" needs .*\b{name}\b", refuse(fact.name, others)), name
                wrong = [WRONG[parameter.type]] if parameter.type in WRONG else []
                wrong += [[ELEMENTS[parameter.elements]]] if parameter.elements in ELEMENTS else []
                wrong += ["qqq" if parameter.type == "str" else ["qqq"]] if parameter.choices else []
                for value in wrong:
                    count += 1
                    assert name in refuse(fact.name, {**others, name: value}), value
    assert count > 6000


def test_misspelt_names_are_recognized(subtests: pytest.Subtests) -> None:
    """A letter is missing, or two are exchanged. The hint is the name, or another one that differs by one slip."""
    known = [*OPERATIONS, *FACTS]
    others = 0
    for number, name in enumerate([*FACTS][::16]):
        place = len(name) // 2
        swapped = f"{name[:place]}{name[place + 1]}{name[place]}{name[place + 2 :]}"
        misspelt = f"{name[:place]}{name[place + 1 :]}" if number % 2 else swapped
        with subtests.test(misspelt):
            hint = suggest_operation(misspelt, known).removeprefix(" Did you mean ").removesuffix("?")
            assert hint == name or count_slips(misspelt.casefold(), hint.casefold()) == 1
            others += hint != name
    assert others < 3


def test_few_names_need_trust() -> None:
    """Those of reads whose path the other server uses for a change."""
    refused = {fact.name for fact in CALLABLE if refuse(fact.name, list_required(fact), is_trusted=False)}
    assert refused == {name for name in UNTRUSTED if FACTS[name].kind in "qr"}
    assert len(refused) == 5


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("QueryVp", "QueryVip"),
        ("UpdateVp", "UpdateVip"),
        ("DeleetEip", "DeleteEip"),
        ("CreaetEip", "CreateEip"),
        ("QuerEyip", "QueryEip"),
        ("ListVpc", "QueryVpcRouter"),
        ("APIQueryHostMsg", "QueryHost"),
    ],
)
def test_one_slip_is_closer_than_the_beginning_of_another_name(word: str, name: str) -> None:
    assert suggest_operation(word, [*OPERATIONS, *FACTS]) == f" Did you mean {name}?"


@pytest.mark.parametrize(
    ("operation", "params", "message"),
    [
        (
            "AddImage",
            {"backupStorageUuids": {"uuid": UUID}},
            "backupStorageUuids must be a uuid or a name, not a mapping.",
        ),
        ("AddImage", {"backupStorageUuids": [[UUID]]}, "backupStorageUuids must be a uuid or a name, not a list"),
        ("CreateVmInstance", {"imageUuid": {"uuid": UUID}}, "not a mapping. Take its uuid"),
        ("CreateVmInstance", {"imageUuid": ["debian"]}, "imageUuid of CreateVmInstance must be of type str"),
        ("CreateVpcVRouter", {"primaryStorageUuidForRootVolue": UUID}, "Did you mean primaryStorageUuidForRootVolume?"),
    ],
)
def test_wrong_references_are_refused(operation: str, params: dict[str, Any], message: str) -> None:
    assert message in refuse(operation, params)


# ------------------------------------------------------------------------------------------------- names of objects

# Types whose objects have no names of their own, or no query.
NAMELESS = {
    "AccessControlListEntry",
    "Captcha",
    "CephBackupStorageMon",
    "CephPrimaryStorageMon",
    "ConsoleProxyAgent",
    "HardwareL2VxlanNetworkPool",
    "HostNetworkInterface",
    "ManagementNode",
    "ReservedIpRange",
    "RolePolicyStatement",
    "SecurityGroupRule",
    "Session",
    "UsedIp",
}
# The queries for types that servers call otherwise, or that list a type among others of its kind.
QUERIES = {
    "CephPrimaryStorage": {"QueryPrimaryStorage"},
    "GarbageCollector": {"QueryGCJob"},
    "BackupStorage": {"QuerySftpBackupStorage"},
    "InstanceOffering": {"QueryVirtualRouterOffering"},
    "PrimaryStorage": {"QueryCephPrimaryStorage"},
    "VirtualRouterVm": {"QueryVmInstance"},
    "VxlanNetworkPool": {"QueryL2VxlanNetworkPool"},
    "XmlHook": {"QueryVmUserDefinedXmlHookScript"},
}


def test_types_of_references_are_those_of_servers(subtests: pytest.Subtests) -> None:
    """The facts have the type that a server declares for a parameter. Those of any type must be uuids."""
    facts = [line.split("\t") for line in REFERENCES.read_text(encoding="utf-8").splitlines()]
    found = 0
    for name, parameter, kind in facts:
        with subtests.test(name, parameter=parameter):
            resource_type = find_reference(find_row(name), parameter)
            if kind == "Resource":
                assert resource_type is None
            elif kind not in NAMELESS:
                assert resource_type is not None
                assert resource_type.query in {f"Query{kind}"} | QUERIES.get(kind, set())
                found += 1
    assert found > 490


def list_reference_kinds() -> list[tuple[Fact, str, str]]:
    """Return an operation for each parameter that refers to objects of a type: the operation, parameter and query."""
    kinds: dict[tuple[str, str], Fact] = {}
    for fact in CALLABLE:
        for name in find_row(fact.name).parameters:
            found = find_reference(find_row(fact.name), name)
            # NICs have names of another field, and persons have none.
            if found and found.name not in ("vm_nic", "person") and (found.name != "tag" or "z" in fact.servers):
                kinds.setdefault((name, found.query), fact)
    return [(fact, name, query) for (name, query), fact in kinds.items()]


def test_names_are_looked_up_for_each_kind_of_references(
    servers: dict[str, CatalogueServer], subtests: pytest.Subtests
) -> None:
    """Each parameter with each type: the call contains the uuid of the object that has the name, also in a list."""
    kinds = list_reference_kinds()
    assert len(kinds) > 270
    for fact, name, query in kinds:
        server = servers[fact.servers[0]]
        with subtests.test(fact.name, parameter=name, query=query):
            server.records = {query: [{"uuid": OTHER, "name": "web"}, {"uuid": UUID, "name": "other"}]}
            is_list = find_row(fact.name).parameters[name].type == "list"
            params = {**list_required(fact), name: ["web"] if is_list else "web"}
            ran = call(fact.name, server, params=params, trust_path=True, wait_interval=0.05)
            assert not ran.failed, ran.message
            assert server.performed[-1] == fact.name
            assert server.given[-1][name] in (OTHER, [OTHER])


def test_object_of_any_type_is_not_looked_up(servers: dict[str, CatalogueServer]) -> None:
    """A VM may have the name of the volume that is meant."""
    server = servers["z"]
    server.records["QueryVmInstance"] = [{"uuid": OTHER, "name": "data-1"}]
    ran = call("AttachTagToResources", server, params={"tagUuid": UUID, "resourceUuids": ["data-1"]})
    assert ran.message == "resourceUuids must be a uuid (32 hexadecimal digits), not 'data-1'"
    assert server.requests == []


# ------------------------------------------------------------------------------------------------------------- by path


@dataclass
class ByPath:
    """What a user writes to call an operation by its path, and its other parameters."""

    method: str
    path: str
    body_key: str | None
    params: dict[str, Any]


def describe_by_path(fact: Fact) -> ByPath:
    """Return how a user calls an operation with its required parameters by its path."""
    given = list_required(fact)
    path = fact.paths[0] if fact.kind == "q" else max(fact.paths, key=len)
    key = f"{fact.name[0].lower()}{fact.name[1:]}" if fact.body_key == "action" else fact.body_key
    for name, value in given.items():
        path = path.replace(f"{{{name}}}", str(value))
    return ByPath(
        fact.method,
        f"v1/{path}",
        key if fact.method == "PUT" else None,
        {name: value for name, value in given.items() if f"{{{name}}}" not in " ".join(fact.paths)},
    )


# Servers differ in what they do at these paths, or a GET of them changes something.
UNTRUSTED = {
    "DiscoverStrangePrimaryStorage",
    "QueryBlockPrimaryStorage",
    "QueryLdapBinding",
    "QueryNasFileSystem",
    "QuerySharedBlockGroupPrimaryStorage",
    "RefreshCaptcha",
    "RefreshSearchIndexes",
    "UnlockIdentity",
}


def test_paths_give_what_names_give(subtests: pytest.Subtests) -> None:
    """Each operation: the same request, and whether it changes something, and has a job."""
    for fact in CALLABLE:
        with subtests.test(fact.name):
            described = describe_by_path(fact)
            options = (described.method, described.path, described.body_key)
            if fact.name in UNTRUSTED:
                with pytest.raises(InvalidOptions, match="is not sent"):
                    choose_by_path(*options)
                continue
            by_path = choose_by_path(*options)
            assert isinstance(by_path, UnlistedOperation)
            assert (by_path.is_write, by_path.has_job) == (fact.kind in "aw", fact.kind == "a")
            by_name = find_catalogued(fact.name)
            assert isinstance(by_name, CataloguedOperation)
            in_path = {name for name in by_name.parameters if f"{{{name}}}" in " ".join(fact.paths)}
            expected = by_name.request(list_required(fact))
            sent = by_path.request(described.params)
            # Those of other paths of the operation are in the query, beside what the path says.
            query = [pair for pair in expected.query if pair[0] not in in_path]
            assert (sent.method, sent.path, sent.body) == (expected.method, expected.path, expected.body)
            assert [*sent.query] == query


def test_operations_in_place_have_no_job_by_path(servers: dict[str, CatalogueServer]) -> None:
    options: dict[str, Any] = {"method": "POST", "path": "v1/ssh-key-pair/generate", "params": {"name": "key-1"}}
    checked = run("api", servers["z"], True, wait=False, **options)
    assert (checked.changed, "job" in checked.result) == (True, False)
    ran = run("api", servers["z"], wait=False, **options)
    assert (ran.changed, ran["reply"]) == (True, {"value": "GenerateSshKeyPair"})


def test_body_without_member_by_path(servers: dict[str, CatalogueServer]) -> None:
    ran = run("api", servers["z"], method="POST", path="v1/volumes/batch-sync-volumes", params={"clusterUuid": UUID})
    assert ran["reply"] == {"value": "BatchSyncVolumeSize"}
    assert servers["z"].given == [{"clusterUuid": UUID}]


@pytest.mark.parametrize("ending", ["", "/"])
def test_slash_at_the_end_of_a_path(servers: dict[str, CatalogueServer], ending: str) -> None:
    """A server knows some paths with it only, and others without it only."""
    for path, name in (
        ("vpc/hagroups/networkserviceref", "QueryVpcHaGroupNetworkServiceRef"),
        ("images", "QueryImage"),
    ):
        assert not run("api", servers["z"], method="GET", path=f"v1/{path}{ending}").failed
        assert servers["z"].performed[-1] == name


# ------------------------------------------------------------------------------------------------------ lists by type


def test_every_query_has_pages_fields_and_tags(servers: dict[str, CatalogueServer], subtests: pytest.Subtests) -> None:
    """On each server that has it: two pages up to the limit, with one field, of the objects with a tag."""
    uuids = [f"{number:032x}" for number in range(1100)]
    records = [
        {"uuid": uuid, "topicUuid": uuid, "__userTag__": "gold" if number else "tin"}
        for number, uuid in enumerate(uuids)
    ]
    for fact in (fact for fact in FACTS.values() if fact.kind == "q"):
        kind = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", fact.name.removeprefix("Query")).lower()
        path = re.sub(r"{\w+}", UUID, fact.paths[0])
        options: dict[str, Any] = {"path": f"v1/{path}"} if path != fact.paths[0] else {"resource_type": kind}
        for server in (servers[letter] for letter in fact.servers):
            with subtests.test(fact.name, server=server.url):
                server.records = {fact.name: records}
                server.requests.clear()
                # The records of subscribers have no uuid.
                field = "topicUuid" if fact.name == "QuerySNSTopicSubscriber" else "uuid"
                selection: dict[str, Any] = {"query": ["__userTag__=gold"], "fields": [field], "limit": 1050}
                ran = run("resource_info", server, **options, **selection, trust_path=True)
                assert not ran.failed, ran.message
                assert [[*record.values()] for record in ran["resources"]] == [[uuid] for uuid in uuids[1:1051]]
                assert ran["total"] == 1099
                assert {request.path for request in server.requests} == {f"/service/v1/{path}"}
                assert [request.query["start"] for request in server.requests] == [["0"], ["1000"]]
                assert {request.query["q"][0] for request in server.requests} == {"__userTag__=gold"}
                assert {request.query["fields"][0] for request in server.requests} == {field}


def test_query_that_only_another_server_has(servers: dict[str, CatalogueServer], subtests: pytest.Subtests) -> None:
    """The only server that has it is named, also where this one reads another object at the path."""
    lacks = [
        (fact, letter) for fact in FACTS.values() for letter in "zs" if fact.kind == "q" and letter not in fact.servers
    ]
    count = 0
    for fact, letter in lacks:
        if "{" in fact.paths[0] or fact.name in UNTRUSTED:
            continue
        count += 1
        kind = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", fact.name.removeprefix("Query")).lower()
        for ran in (run("resource_info", servers[letter], resource_type=kind), call(fact.name, servers[letter])):
            with subtests.test(fact.name):
                assert ran["error"]["code"] == "UNSUPPORTED"
                only = "ZSvirt" if letter == "s" else "ZStack"
                assert f"Of the known servers, only {only} has it." in ran.message
    assert count > 150


def test_own_empty_list_is_none_of_another_object(servers: dict[str, CatalogueServer]) -> None:
    listed = run("resource_info", servers["z"], resource_type="host_network_bonding")
    assert (listed["resources"], listed["total"]) == ([], 0)
    assert call("QueryHostNetworkBonding", servers["z"])["reply"] == {"inventories": []}
    refused = run("resource_info", servers["s"], resource_type="host_network_bonding")
    assert refused.message == (
        "the service does not offer QueryHostNetworkBonding: it reads another object at this path, as ZStack does with"
        " QueryHost. Of the known servers, only ZSvirt has it."
    )
