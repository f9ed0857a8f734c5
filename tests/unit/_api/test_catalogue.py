"""The catalogue of the servers' operations: its file, what it says beside the book, and what `api` does with it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._api.catalogue import find_catalogued
from ansible_collections.virtinfra.manager.plugins.module_utils._masking.masker import collect_secrets
from tools.catalogue import TARGET, Fact, format_catalogue, list_variables

from simulator.description import Parameter, operations
from support.catalogue_calls import CALLABLE, OF_SESSIONS, OTHER, UUID, call, list_required, run
from support.catalogue_server import FACTS, CatalogueServer
from support.collection import load_spec
from support.module_runner import run_module

# Parameters that all operations of a kind have.
COMMON = {"deleteMode", "resourceUuid", "systemTags", "tagUuids", "userTags"}

# What the facts lack, or what servers have in addition to the book: parameters, and where servers differ from the API
# document, which the table of operations follows.
DIFFERENCES = {
    "CreateCbtTask": {"taskType", "resourceUuids", "vmInstanceUuid"},
    "CreateSNSWeComEndpoint": {"platformUuid", "atPersonList", "atPersonUserIds"},
    "CloneVmInstance": {"vmCustomSpecification"},
    "CreateVmInstance": {"devices"},
    "CreateVmInstanceFromTemplatedVmInstance": {"vmCustomSpecification"},
    "CreateVmInstanceFromVolumeSnapshotGroup": {"vmEncryption", "volumeSnapshotEncryptions"},
    "DetachL3NetworkFromVm": {"uuid", "vmNicUuid"},
    "GetCandidateNetworkInterfaces": {"limit", "start", "interfaceType"},
    "GetNicQos": {"nicUuid", "uuid", "forceSync"},
    "LogInByAccount": {"captchaUuid", "verifyCode", "clientInfo", "accountType"},
    "LogOut": {"clientInfo"},
    "MigrateVm": {"uuid", "vmInstanceUuid", "migrateFromDestination", "allowUnknown", "downTime", "strategy"},
    "PowerOnHost": {"returnEarly"},
    "PowerResetHost": {"returnEarly"},
    "ResizeRootVolume": {"uuid"},
    "ShutdownHost": {"returnEarly"},
    "UpdateAtPersonOfAtFeiShuEndpoint": {"remark"},
    "UpdateVmInstance": {"state", "platform"},
}

# Operations whose paths may be those of others for servers, which take any of them in an order of their own.
AMBIGUOUS = {"GetResourceBindableConfig", "UpdateResourceConfigs"}


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, CatalogueServer]]:
    with CatalogueServer("z") as one, CatalogueServer("s") as other:
        yield {"z": one, "s": other}


@pytest.fixture(autouse=True)
def _fresh_servers(servers: dict[str, CatalogueServer]) -> None:
    for server in servers.values():
        server.reset()


# ------------------------------------------------------------------------------------------------------------ the file


def test_file_is_current() -> None:
    """The session ``format`` writes it."""
    assert TARGET.read_text(encoding="utf-8") == format_catalogue()


EXPLANATION = (
    "docs/openapi.yaml describes {} in another way than tests/facts/catalogue.tsv, which has the facts of servers."
    " Correct the description, or list the difference in DIFFERENCES of tests/unit/_api/test_catalogue.py"
)


def test_facts_are_those_of_the_book(subtests: pytest.Subtests) -> None:
    """The facts and the book have the same method, path, kind, body and parameters; differences are listed."""
    known = [name for name in operations() if name in FACTS]
    assert len(FACTS) == 1427
    assert len(known) > 100
    for name in known:
        with subtests.test(name):
            stated, fact = operations()[name], FACTS[name]
            assert stated.method == fact.method
            assert re.sub(r"{\w+}", "{}", stated.path) in [re.sub(r"{\w+}", "{}", path) for path in fact.paths]
            # The simulator answers logins in place, too.
            assert stated.is_async == (fact.kind == "a") or name in OF_SESSIONS
            if stated.body_key:
                assert stated.body_key == (name[0].lower() + name[1:] if fact.method == "PUT" else fact.body_key)
            if fact.kind != "q":
                different = set(find_differences(stated.parameters, fact)) ^ DIFFERENCES.get(name, set())
                assert not different, EXPLANATION.format(", ".join(sorted(different)))


def find_differences(stated: Any, fact: Fact) -> Iterator[str]:
    """Yield the parameters that only one of both has, or that differ in both."""
    parameters = {parameter.name: parameter for parameter in fact.parameters}
    known = {name: parameter for name, parameter in stated.items() if not parameter.alias_of}
    variables = set(list_variables(fact))
    for name in (known.keys() | parameters.keys() | variables) - COMMON:
        if name not in known or name not in parameters:
            if not (name in known and name in variables):
                yield name
        elif not _is_same(known[name], parameters[name]):
            yield name


def _is_same(stated: Parameter, found: Any) -> bool:
    kind = "list" if found.type.startswith("list") else found.type
    return (stated.type, stated.required, set(stated.choices)) == (kind, found.is_required, set(found.choices))


# -------------------------------------------------------------------------------------------------------- calls by name


def test_every_name_is_accepted_in_check_mode(servers: dict[str, CatalogueServer], subtests: pytest.Subtests) -> None:
    """Each operation gets its required parameters. A read is sent, and a change is predicted."""
    for fact in CALLABLE:
        server = servers[fact.servers[0]]
        with subtests.test(fact.name):
            server.performed.clear()
            server.ambiguous.clear()
            ran = call(fact.name, server, check=True, params=list_required(fact), trust_path=True)
            assert not ran.failed, ran.message
            assert ran.changed == (fact.kind in "aw")
            assert set(server.performed) == ({fact.name} if fact.kind in "qr" else set())
            assert fact.name in AMBIGUOUS or server.ambiguous == []


def test_operations_of_sessions_are_refused(servers: dict[str, CatalogueServer], subtests: pytest.Subtests) -> None:
    for name in OF_SESSIONS:
        with subtests.test(name):
            assert "Use virtinfra.manager.session" in call(name, servers["z"], params={}).message
    assert {name: server.requests for name, server in servers.items()} == {"z": [], "s": []}


def choose_of_families() -> Iterator[tuple[str, Fact]]:
    """Yield an operation of each kind and method of each family of each server."""
    seen = set()
    for fact in CALLABLE:
        for server in fact.servers:
            key = (server, fact.paths[0].split("/")[0], fact.kind, fact.method)
            if key not in seen:
                seen.add(key)
                yield server, fact


def as_query(parameters: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return parameters as a query has them: lists of texts."""
    lists = {name: value if isinstance(value, list) else [value] for name, value in parameters.items()}
    return {name: [str(item) for item in value] for name, value in lists.items()}


def test_each_call_runs_its_operation(servers: dict[str, CatalogueServer], subtests: pytest.Subtests) -> None:
    """On the routing of the servers, for each family of paths, with each parameter where the server reads it."""
    chosen = list(choose_of_families())
    assert len({fact.paths[0].split("/")[0] for dummy, fact in chosen}) >= 60
    for letter, fact in chosen:
        server = servers[letter]
        with subtests.test(f"{fact.name} {letter}"):
            server.performed.clear()
            server.given.clear()
            server.ambiguous.clear()
            params = list_required(fact)
            ran = call(fact.name, server, params=params, trust_path=True, wait_interval=0.05)
            assert not ran.failed, ran.message
            assert set(server.performed) == {fact.name}
            assert fact.name in AMBIGUOUS or server.ambiguous == []
            assert as_query(server.given[0]) == as_query(params)


def test_members_of_a_mapping_are_parameters_of_a_query(servers: dict[str, CatalogueServer]) -> None:
    """The server splits their names at the dot."""
    params = {"l3NetworkUuid": UUID, "networkServices": {OTHER: ["DHCP", "Userdata"]}}
    ran = call("DetachNetworkServiceFromL3Network", servers["z"], params=params, wait_interval=0.05)
    assert ran.changed, ran.message
    assert servers["z"].given == [{"l3NetworkUuid": UUID, f"networkServices.{OTHER}": ["DHCP", "Userdata"]}]


@pytest.mark.parametrize(
    ("operation", "params", "message"),
    [
        ("CreateDataVolum", {}, "no operation CreateDataVolum. Did you mean CreateDataVolume?"),
        ("CreateDataVolume", {"diskSize": 1 << 30}, "CreateDataVolume needs name"),
        ("CreateDataVolume", {"name": "a", "diskSize": 10}, "10 bytes are too few. Write the unit, such as 16G"),
        ("CreateVmInstance", {"name": "a", "dataDiskSizes": [1 << 30, 20]}, "20 bytes are too few. Write the unit"),
        ("GetVms", {}, "no operation GetVms. Did you mean QueryVmInstance?"),
        ("ListHosts", {}, "no operation ListHosts. Did you mean QueryHost?"),
        ("CreateDataVolume", {"name": "a", "disksize": 1}, "has no parameter disksize"),
        ("CreateDataVolume", {"name": "a", "disksize": 1}, "Did you mean diskSize?"),
        ("CreateDataVolume", {"name": "a", "diskSize": "much"}, "diskSize of CreateDataVolume must be of type long"),
        (
            "CreateDataVolume",
            {"name": "a", "diskSize": "1G"},
            "must be of type long, not '1G'. It is in bytes: give 1073741824",
        ),
        ("AddImage", {"name": "a", "url": "u", "backupStorageUuids": [UUID], "mediaType": "Isso"}, "Did you mean ISO?"),
        (
            "CreateVmInstance",
            {"name": "a", "diskAOs": ["x"]},
            "diskAOs of CreateVmInstance must be of type list of dict",
        ),
        ("CreateVmInstance", {"name": "a", "dataDiskSizes": ["x"]}, "must be of type list of int"),
        ("DeleteImage", {"uuid": ".."}, "uuid of DeleteImage must not be '..'"),
        ("GetFreeIp", {"ipVersion": 5}, "ipVersion of GetFreeIp must be one of 4, 6"),
    ],
)
@pytest.mark.parametrize("check", [True, False])
def test_refused_before_anything_is_sent(
    servers: dict[str, CatalogueServer], operation: str, params: dict[str, Any], message: str, check: bool
) -> None:
    ran = call(operation, servers["z"], check, params=params)
    assert ran.failed
    assert message in ran.message
    assert servers["z"].requests == []


def test_names_of_objects_are_looked_up(servers: dict[str, CatalogueServer]) -> None:
    """Where a parameter ends in Uuid, or is the uuid in the path, and its type is known."""
    server = servers["z"]
    server.records["QueryImage"] = [
        {"uuid": OTHER, "name": "debian", "status": "Deleted"},
        {"uuid": UUID, "name": "debian", "status": "Ready"},
    ]
    server.records["QueryL3Network"] = [{"uuid": OTHER, "name": "lab"}, {"uuid": "c" * 32, "name": "web"}]
    params = {"name": "web-1", "imageUuid": "debian", "l3NetworkUuids": ["lab", "c" * 32], "cpuNum": 2}
    ran = call("CreateVmInstance", server, params=params, wait_interval=0.05)
    assert not ran.failed, ran.message
    assert ran.changed
    sent = next(request for request in server.requests if request.method == "POST").body.decode()
    assert f'"imageUuid": "{UUID}"' in sent
    assert f'"l3NetworkUuids": ["{OTHER}", "{"c" * 32}"]' in sent
    assert call("GetImageQga", server, params={"uuid": "debian"})["reply"] == {"value": "GetImageQga"}
    missing = call("GetImageQga", server, params={"uuid": "ubuntu"})
    assert missing.message == "uuid: no image has the name 'ubuntu'. Check the name. The names are debian."


def test_name_that_no_object_has_changes_nothing(
    servers: dict[str, CatalogueServer], subtests: pytest.Subtests
) -> None:
    """In each path with a uuid: it is looked up, or refused because its type is not known."""
    for fact in CALLABLE:
        server, variables = servers[fact.servers[0]], [name for name in list_variables(fact) if name.endswith("uid")]
        for variable in variables if fact.kind in "aw" else ():
            with subtests.test(fact.name, variable=variable):
                params = {**list_required(fact), variable: "no-such"}
                for check in (True, False):
                    ran = call(fact.name, server, check, params=params)
                    assert ran["error"]["code"] in ("NOT_FOUND", "INVALID"), ran.message
                    assert "'no-such'" in ran.message
    assert [request.method for request in servers["z"].requests if request.method != "GET"] == []


@pytest.mark.parametrize("method", ["by name", "by path"])
def test_read_that_is_no_get_is_sent_in_check_mode(servers: dict[str, CatalogueServer], method: str) -> None:
    by_path = {"method": "PUT", "path": "v1/management-nodes/actions", "body_key": "getVersion"}
    options = {"operation": "GetVersion"} if method == "by name" else by_path
    for check in (True, False):
        ran = run("api", servers["s"], check, **options)
        assert (ran.changed, ran["reply"]) == (False, {"value": "GetVersion"})


def test_change_in_place_has_no_job(servers: dict[str, CatalogueServer]) -> None:
    params = {"name": "key-1"}
    checked = call("GenerateSshKeyPair", servers["z"], check=True, params=params, wait=False)
    assert (checked.changed, "job" in checked.result) == (True, False)
    assert (
        call("DeleteImage", servers["z"], check=True, params={"uuid": UUID}, wait=False)["job"]["operation"]
        == "DeleteImage"
    )
    ran = call("GenerateSshKeyPair", servers["z"], params=params, wait=False)
    assert (ran.changed, "job" in ran.result, ran["reply"]) == (True, False, {"value": "GenerateSshKeyPair"})


@pytest.mark.parametrize(
    ("name", "reply", "is_reply"),
    [
        ("AddImage", {"inventory": {}}, True),
        ("AddImage", {}, False),
        ("AddImage", {"success": True}, True),
        ("AddImage", {"success": False, "inventory": {}}, False),
        ("AddImage", {"success": "true"}, False),
        ("AddImage", {"message": "Welcome"}, False),
        ("DeleteImage", {}, True),
        ("DeleteImage", {"message": "Welcome"}, False),
    ],
)
def test_reply_of_a_change_that_returns_a_record(name: str, reply: dict[str, Any], is_reply: bool) -> None:
    operation = find_catalogued(name)
    assert operation is not None
    assert replace(operation, result=("inventory",)).is_reply(reply) is is_reply


def test_the_only_server_is_named(servers: dict[str, CatalogueServer]) -> None:
    ran = call("SetVmConsoleMode", servers["s"], params={"uuid": UUID, "mode": "vnc"})
    assert ran["error"]["code"] == "UNSUPPORTED"
    assert "Of the known servers, only ZSvirt has it." in ran.message


# -------------------------------------------------------------------------------------------------------- reads by path


def list_paths() -> list[str]:
    """Return all paths of both servers with the uuid of an object in place of their variables."""
    return sorted({re.sub(r"{\w+}", UUID, path).strip("/") for fact in FACTS.values() for path in fact.paths})


def test_no_path_begins_with_a_variable() -> None:
    """Operations are found by the first segment of a path."""
    assert [path for fact in FACTS.values() for path in fact.paths if path.strip("/").startswith("{")] == []


@pytest.mark.parametrize("check", [True, False])
def test_get_of_no_path_changes_anything(servers: dict[str, CatalogueServer], check: bool) -> None:
    """A GET changes nothing on any server. In check mode no option permits a path that the catalogue lacks."""
    for number, path in enumerate(list_paths()):
        options: dict[str, Any] = {"path": path, "trust_path": check}
        # Both modules choose the operation of a path in the same way, and they do not know which server they have.
        if number % 2:
            run("resource_info", servers["z"], check, **options)
        else:
            run("api", servers["z"], check, method="GET", **options)
    for request in servers["z"].requests:
        servers["s"].answer(request)
    performed = [name for server in servers.values() for name in server.performed]
    assert len(performed) > 400
    assert [name for name in performed if FACTS[name].kind not in "qr"] == []


@pytest.mark.parametrize(
    ("method", "path", "message"),
    [
        (
            "GET",
            f"volumes/{UUID}/vm-instances",
            "ZSvirt has DetachDataVolumeFromVm and ZStack has DetachDataVolumeFromVm",
        ),
        ("GET", "routerArea/networks", "ZSvirt has RemoveVRouterNetworksFromOspfArea"),
        ("GET", f"tags/{UUID}", "only ZSvirt has a read at this path, but ZStack has DeleteTag"),
        ("GET", "login/control/unlock", "no server has a read at this path, but ZSvirt has UnlockIdentity"),
        ("GET", "licenses/mine", "the collection knows no read at this path"),
        ("POST", f"volumes/{UUID}/vm-instances", "no server has a POST at this path, but ZSvirt has Detach"),
        ("DELETE", "images", "no server has a DELETE at this path, but ZSvirt has"),
    ],
)
def test_request_that_may_be_another_operation(
    servers: dict[str, CatalogueServer], method: str, path: str, message: str
) -> None:
    options: dict[str, Any] = {"method": method, "path": f"v1/{path}"}
    for check in (True, False):
        assert message in run("api", servers["z"], check, **options).message
        if method == "GET":
            assert message in run("resource_info", servers["z"], check, path=f"v1/{path}").message
    assert servers["z"].requests == []


@pytest.mark.parametrize("path", [f"tags/{UUID}", "licenses/mine"])
def test_trusted_read(servers: dict[str, CatalogueServer], path: str) -> None:
    """The user says that it reads, which check mode does not believe."""
    options: dict[str, Any] = {"method": "GET", "path": f"v1/{path}", "trust_path": True}
    assert "is not sent" in run("api", servers["z"], check=True, **options).message
    assert servers["z"].requests == []
    run("api", servers["z"], **options)
    assert servers["z"].requests[0].path == f"/service/v1/{path}"


def test_name_whose_path_another_server_uses_for_a_change(servers: dict[str, CatalogueServer]) -> None:
    ran = call("QueryBlockPrimaryStorage", servers["s"])
    assert "only ZSvirt has a read at this path, but ZStack has DeletePrimaryStorage" in ran.message
    listed = run("resource_info", servers["s"], resource_type="block_primary_storage")
    assert listed.message.startswith("QueryBlockPrimaryStorage is not sent: only ZSvirt has a read at this path")
    named = call("UpdateBlockPrimaryStorage", servers["s"], params={"uuid": "block-1"})
    assert named.message.startswith("uuid: QueryBlockPrimaryStorage for the name 'block-1' is not sent: only ZSvirt")
    assert servers["s"].requests == []


READS_THAT_END_IN_A_VARIABLE = [
    re.sub(r"{\w+}", "some-id", re.sub(r"{(\w+U|u)uid}", UUID, path))
    for fact in FACTS.values()
    for path in fact.paths
    if fact.kind == "r" and fact.method == "GET" and path.endswith("}")
]


@pytest.mark.parametrize("path", READS_THAT_END_IN_A_VARIABLE)
def test_read_that_ends_in_a_variable(servers: dict[str, CatalogueServer], path: str) -> None:
    ran = run("api", servers["z"], check=True, method="GET", path=f"v1/{path}")
    assert not ran.failed, ran.message
    assert FACTS[servers["z"].performed[0]].kind == "r"


def test_all_reads_that_end_in_a_variable_are_tested() -> None:
    assert len(READS_THAT_END_IN_A_VARIABLE) == 12


# -------------------------------------------------------------------------------------------------------- lists by type


def test_every_query_is_listed_by_its_type(servers: dict[str, CatalogueServer], subtests: pytest.Subtests) -> None:
    queries = [fact for fact in FACTS.values() if fact.kind == "q"]
    assert len(queries) == 238
    for fact in queries:
        with subtests.test(fact.name):
            server = servers[fact.servers[0]]
            server.performed.clear()
            kind = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", fact.name.removeprefix("Query")).lower()
            ran = run("resource_info", server, resource_type=kind, trust_path=True)
            if "{" in fact.paths[0]:
                assert f"is listed for one object. Give the path v1/{fact.paths[0]}" in ran.message
            else:
                assert not ran.failed, ran.message
                assert set(server.performed) == {fact.name}


def test_pages_fields_and_tags(servers: dict[str, CatalogueServer]) -> None:
    server = servers["z"]
    server.records["QueryImage"] = [
        {"uuid": f"{number:032x}", "name": f"image-{number}", "status": "Ready", "__userTag__": "env::prod"}
        for number in range(1500)
    ]
    listed = run("resource_info", server, resource_type="image", fields=["name"], query=["__userTag__=env::prod"])
    assert listed["total"] == 1500
    assert listed["resources"][1499] == {"name": "image-1499"}
    assert [request.query["start"] for request in server.requests] == [["0"], ["1000"]]
    assert server.requests[0].query["fields"] == ["uuid,name"]
    assert server.requests[0].query["sort"] == ["+uuid"]
    assert server.requests[0].query["q"] == ["__userTag__=env::prod"]
    found = run("resource_info", server, resource_type="image", name="image-7", fields=["uuid", "status"])
    assert found["resources"] == [{"uuid": f"{7:032x}", "status": "Ready"}]


def test_unknown_field_of_a_known_type_is_refused(servers: dict[str, CatalogueServer]) -> None:
    ran = run("resource_info", servers["z"], resource_type="host", fields=["nam"])
    assert ran.message == "fields: the records have no field nam. Did you mean name?"
    assert servers["z"].requests == []


# -------------------------------------------------------------------------------------------- what a reply says, or has

REFUSED = {"success": False, "error": {"code": "SYS.1006", "details": "the tag is that of another account"}}
BATCHES = [
    ([REFUSED], "1 of 1 items failed", False),
    ([{"success": True}, REFUSED], "1 of 2 items failed", True),
]


@pytest.mark.parametrize(("results", "message", "changed"), BATCHES)
def test_job_that_failed_for_its_items_is_a_failure(
    servers: dict[str, CatalogueServer], results: list[dict[str, Any]], message: str, changed: bool
) -> None:
    """The modules job_wait and job_info, which read the job later, report the same failure."""
    server = servers["z"]
    server.results["AttachTagToResources"] = {"results": results}
    params = {"tagUuid": UUID, "resourceUuids": [UUID]}
    ran = call("AttachTagToResources", server, params=params, wait_interval=0.05)
    assert (ran.failed, ran.changed, ran["reply"]) == (True, changed, {"results": results})
    assert message in ran.message
    assert "AttachTagToResources failed (SYS.1006): the tag is that of another account" in ran.message
    assert ran["error"]["code"] == "SYS.1006"
    started = call("AttachTagToResources", server, params=params, wait=False)
    waited = run("job_wait", server, jobs=[started["job"]], wait_interval=0.05)
    assert waited.failed
    assert message in waited.message
    info = run("job_info", server, jobs=[started["job"]])
    assert (info["jobs"][0]["state"], info["summary"]["failed"]) == ("failed", 1)


def test_items_that_succeeded_are_no_failure(servers: dict[str, CatalogueServer]) -> None:
    servers["z"].results["AttachTagToResources"] = {"results": [{"success": True, "error": None}]}
    params = {"tagUuid": UUID, "resourceUuids": [UUID]}
    assert call("AttachTagToResources", servers["z"], params=params, wait_interval=0.05).changed


SECRET = "correct horse battery"


@pytest.mark.parametrize("is_hidden", [True, False])
def test_secrets_of_a_reply_are_for_tasks_that_show_nothing(
    servers: dict[str, CatalogueServer], is_hidden: bool
) -> None:
    server = servers["z"]
    server.results["CreateAccessKey"] = {"inventory": {"AccessKeyID": "id-1", "AccessKeySecret": SECRET}}
    options = {"base_url": server.url, "session_id": UUID, "wait_interval": 0.05}
    params = {"operation": "CreateAccessKey", "params": {"accountUuid": UUID}}
    outcome = run_module("api", {**options, **params}, is_hidden=is_hidden)
    assert (outcome.result["reply"]["inventory"]["AccessKeySecret"] == SECRET) == is_hidden
    server.results["CreateAccessKey"] = {"results": [REFUSED], "AccessKeySecret": SECRET}
    failed = run_module("api", {**options, **params}, is_hidden=is_hidden)
    assert SECRET not in str(failed.result)


SECRETS = [
    "community",
    "readCommunity",
    "privKey",
    "bindPw",
    "authKey",
    "encryptionKey",
    "credential",
    "kmsClientKeyPem",
]


@pytest.mark.parametrize("name", SECRETS)
def test_secret_parameters_are_masked_in_parameters_and_replies(servers: dict[str, CatalogueServer], name: str) -> None:
    """A service may repeat them in texts, and results of a batch contain the options of each object."""
    spec = load_spec("api").argument_spec
    assert SECRET in collect_secrets(spec, {"params": {name: SECRET}})
    batch = load_spec("batch").argument_spec
    assert SECRET in collect_secrets(batch, {"objects": [{"operation": "a", "params": {"list": [{name: SECRET}]}}]})
    servers["z"].results["GetVersion"] = {"inventory": {name: SECRET, "name": "a"}}
    reply = call("GetVersion", servers["z"])["reply"]["inventory"]
    assert reply == {name: "********", "name": "a"}


def test_limits_are_those_of_operations_in_the_table(servers: dict[str, CatalogueServer]) -> None:
    """The URL of a storage is no web address, as that of a chat is."""
    params = {"name": "nfs-1", "url": "192.0.2.1:/export", "zoneUuid": UUID}
    ran = call("AddNfsPrimaryStorage", servers["z"], check=True, params=params)
    assert ran.changed, ran.message
