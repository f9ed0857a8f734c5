"""The operations table agrees with the description of the service, and builds its requests."""

from __future__ import annotations

import itertools
import re
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._api import record_fields
from ansible_collections.virtinfra.manager.plugins.module_utils._api.errors import InvalidOptions
from ansible_collections.virtinfra.manager.plugins.module_utils._api.operation import (
    TAG_PARAMS,
    Request,
    parse_version,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._api.operations import (
    COMPANIONS,
    OPERATIONS,
    get_operation,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._api.records import RECORD_FIELDS
from ansible_collections.virtinfra.manager.plugins.module_utils._modules.kind_values import check_property

from simulator.description import Parameter, documented_operations, operations
from support.scenarios import WIRE
from support.service_table import (
    build_row,
    list_computed_fields,
    list_nested,
    list_number_fields,
    list_record_fields,
)
from support.written import OUTDATED

UUID = "a0000003000040008000000000000001"
NIC = "a0000006000040008000000000000001"
VM = "a0000004000040008000000000000001"


def test_the_table_is_that_of_the_description(subtests: pytest.Subtests) -> None:
    described = {name: row for name, row in operations().items() if not row.node.get("x-simulated-only")}
    assert OPERATIONS.keys() == described.keys()
    assert described.keys() - documented_operations().keys() == COMPANIONS
    for name, row in described.items():
        with subtests.test(name):
            assert OPERATIONS[name] == build_row(row), OUTDATED.format(path="plugins/module_utils/_api/service.py")


class TestRow:
    def test_path_params(self, subtests: pytest.Subtests) -> None:
        for name in OPERATIONS:
            with subtests.test(name):
                row = OPERATIONS[name]
                assert [parameter.name for parameter in row.path_params] == re.findall(r"{(\w+)}", row.path)
                assert all(parameter.required for parameter in row.path_params)

    def test_every_reference_has_its_type(self, subtests: pytest.Subtests) -> None:
        """Exceptions: a session, the uuid that selects the object of a read, that of a new object, tagged objects."""
        for name in OPERATIONS:
            with subtests.test(name):
                own = {"sessionUuid", "resourceUuid"} | ({"uuid"} if not OPERATIONS[name].is_write else set())
                own |= {"resourceUuids"} if "tagUuid" in OPERATIONS[name].parameters else set()
                for key, parameter in OPERATIONS[name].parameters.items():
                    holds_uuids = bool(re.search(r"(^u|U)uids?($|[A-Z])", key)) and key not in own
                    assert bool(parameter.refers_to) == holds_uuids, key


QUERIES = [name for name in OPERATIONS if name.startswith("Query")]


def test_a_query_reads_by_uuid_only_if_that_is_a_read(subtests: pytest.Subtests) -> None:
    for name in QUERIES:
        with subtests.test(name):
            row = OPERATIONS[name]
            condition = Request("GET", f"/service/v1/{row.path}", (("q", f"uuid={UUID}"),))
            direct = Request("GET", f"/service/v1/{row.path}/{UUID}")
            is_read = name in operations() and operations()[name].uuid_path
            assert row.request({"uuid": UUID}) == (direct if is_read else condition)
            assert row.request({"uuid": UUID.upper()}).path.lower() == row.request({"uuid": UUID}).path.lower()


def test_a_query_by_uuid_keeps_its_other_parameters(subtests: pytest.Subtests) -> None:
    for name in QUERIES:
        with subtests.test(name):
            request = OPERATIONS[name].request({"uuid": UUID, "q": ["name=n"], "fields": "name"})
            assert request.path == f"/service/v1/{OPERATIONS[name].path}"
            assert sorted(request.query) == [("fields", "name"), ("q", "name=n"), ("q", f"uuid={UUID}")]


def test_invalid_uuid_never_becomes_part_of_a_path(subtests: pytest.Subtests) -> None:
    for odd, name in itertools.product(["kvm", "../hosts", "a/b", "exportvolume"], QUERIES):
        with subtests.test(f"{odd} {name}"):
            request = OPERATIONS[name].request({"uuid": odd})
            assert request == Request("GET", f"/service/v1/{OPERATIONS[name].path}", (("q", f"uuid={odd}"),))


def test_reads_with_a_parameter_in_their_path() -> None:
    """The document shows that each of these GETs is a read; for GetApiJob, observed servers show it."""
    reads = {row.name for row in OPERATIONS.values() if row.method == "GET" and row.path_params}
    assert reads == {
        "GetHostNetworkFacts",
        "GetApiJob",
        "GetNicQos",
        "GetResourceConfig",
        "GetVmConsoleAddress",
        "GetVmMigrationCandidateHosts",
        "ValidateSession",
    }


def test_the_fields_of_records_are_those_of_the_description() -> None:
    outdated = OUTDATED.format(path="plugins/module_utils/_api/record_fields.py")
    assert list_record_fields() == record_fields.SERVICE_FIELDS, outdated
    assert list_computed_fields() == record_fields.COMPUTED_FIELDS
    assert sorted(record_fields.NUMBER_FIELDS) == list_number_fields()
    assert list_nested() == record_fields.NESTED


def test_every_record_of_an_operation_has_its_fields() -> None:
    kinds = {row.record for row in OPERATIONS.values() if row.record}
    assert kinds - RECORD_FIELDS.keys() == {"HostNicServiceTypeStatistic"}


GOLDEN: dict[str, tuple[dict[str, Any], Request]] = {
    "CreateCbtTask": (
        {"name": "n", "taskType": "t", "resourceUuids": [VM], "tagUuids": ["x"], "systemTags": ["s::1"]},
        Request(
            "POST",
            "/service/v1/cbt-task/create",
            (),
            {
                "params": {"name": "n", "taskType": "t", "resourceUuids": [VM], "tagUuids": ["x"]},
                "systemTags": ["s::1"],
            },
        ),
    ),
    "DeleteCbtTask": (
        {"uuid": UUID, "force": True, "deleteMode": "Enforcing"},
        Request(
            "DELETE",
            f"/service/v1/cbt-task/{UUID}",
            (("force", "true"), ("deleteMode", "Enforcing")),
            {"force": True, "deleteMode": "Enforcing"},
        ),
    ),
    "DisableCbtTask": (
        {"uuid": UUID, "force": False},
        Request("POST", f"/service/v1/cbt-task/disable/{UUID}", (), {"params": {"force": False}}),
    ),
    "EnableCbtTask": (
        {"uuid": UUID, "bitmapName": "b"},
        Request("POST", f"/service/v1/cbt-task/enable/{UUID}", (), {"params": {"bitmapName": "b"}}),
    ),
    "QueryCbtTask": (
        {"q": ["name=n", "status=Running"], "limit": 10, "replyWithCount": True},
        Request(
            "GET",
            "/service/v1/cbt-task",
            (("q", "name=n"), ("q", "status=Running"), ("limit", "10"), ("replyWithCount", "true")),
        ),
    ),
    "ExportNbdVolumes": (
        {"volumeUuids": ["v"], "vmInstanceUuid": VM, "force": True},
        Request(
            "POST",
            "/service/v1/cbt-task/exportvolume",
            (),
            {"params": {"volumeUuids": ["v"], "vmInstanceUuid": VM, "force": True}},
        ),
    ),
    "CreateSNSWorkchatEndpoint": (
        {"url": "https://chat.example.com/?key=k", "atAll": True, "atPersonList": {"u": "Uma"}, "name": "n"},
        Request(
            "POST",
            "/service/v1/sns/application-endpoints/workchat",
            (),
            {
                "params": {
                    "url": "https://chat.example.com/?key=k",
                    "atAll": True,
                    "atALL": True,
                    "atPersonList": {"u": "Uma"},
                    "name": "n",
                }
            },
        ),
    ),
    "QuerySNSWorkchatEndpoint": (
        {"q": ["url=https://chat.example.com/"]},
        Request("GET", "/service/v1/sns/application-endpoints/workchat", (("q", "url=https://chat.example.com/"),)),
    ),
    "CreateSNSSnmpEndpoint": (
        {"name": "n", "platformUuid": UUID},
        Request(
            "POST", "/service/v1/sns/application-endpoints/snmp", (), {"params": {"name": "n", "platformUuid": UUID}}
        ),
    ),
    "UpdateSNSApplicationEndpoint": (
        {"uuid": UUID, "name": "n", "userTags": ["u"]},
        Request(
            "PUT",
            f"/service/v1/sns/application-endpoints/{UUID}/actions",
            (),
            {"updateSNSApplicationEndpoint": {"name": "n"}, "userTags": ["u"]},
        ),
    ),
    "UpdateAtPersonOfAtTeamchatEndpoint": (
        {"uuid": UUID, "endpointUuid": "e", "remark": "r"},
        Request(
            "PUT",
            f"/service/v1/sns/application-endpoints/teamchat/at-persons/{UUID}/actions",
            (),
            {"updateAtPersonOfAtTeamchatEndpoint": {"endpointUuid": "e", "remark": "r"}},
        ),
    ),
    "UpdateSNSSnmpPlatform": (
        {"uuid": UUID, "snmpAddress": "192.0.2.1", "snmpPort": 162},
        Request(
            "PUT",
            f"/service/v1/sns/application-platforms/snmp/{UUID}",
            (),
            {"updateSNSSnmpPlatform": {"snmpAddress": "192.0.2.1", "snmpPort": 162}},
        ),
    ),
    "SNSSnmpTestConnection": (
        {"platformUuid": UUID},
        Request(
            "POST",
            "/service/v1/sns/application-endpoints/snmp/test-connection",
            (),
            {"params": {"platformUuid": UUID}},
        ),
    ),
    "QuerySNSTopicSubscriber": (
        {"q": [f"topicUuid={UUID}"]},
        Request("GET", "/service/v1/sns/topics/subscribers", (("q", f"topicUuid={UUID}"),)),
    ),
    "CreateVmInstanceFromVolumeSnapshotGroup": (
        {
            "volumeSnapshotGroupUuid": UUID,
            "name": "n",
            "memorySize": 2**40,
            "l3NetworkUuids": ["a", "b"],
            "dataVolumeSystemTags": {"s": ["t"]},
        },
        Request(
            "POST",
            f"/service/v1/vm-instances/from/volume-snapshots/group/{UUID}",
            (),
            {
                "params": {
                    "name": "n",
                    "memorySize": 2**40,
                    "l3NetworkUuids": ["a", "b"],
                    "dataVolumeSystemTags": {"s": ["t"]},
                }
            },
        ),
    ),
    "AttachL3NetworkToVm": (
        {"vmInstanceUuid": VM, "l3NetworkUuid": "l", "staticIp": "192.0.2.9"},
        Request("POST", f"/service/v1/vm-instances/{VM}/l3-networks/l", (), {"params": {"staticIp": "192.0.2.9"}}),
    ),
    "ChangeVmNicState": (
        {"vmNicUuid": NIC, "state": "disable"},
        Request("PUT", f"/service/v1/vm-instances/nics/{NIC}/actions", (), {"changeVmNicState": {"state": "disable"}}),
    ),
    "ChangeVmNicNetwork": (
        {"vmNicUuid": NIC, "destL3NetworkUuid": "l"},
        Request("POST", f"/service/v1/vm-instances/nics/{NIC}/l3-networks/l", (), {"params": {}}),
    ),
    "DeleteNicQos": (
        {"uuid": NIC, "direction": "in"},
        Request("DELETE", f"/service/v1/vm-instances/{NIC}/nic-qos", (("direction", "in"),), {"direction": "in"}),
    ),
    "AddKVMHost": (
        {
            "username": "root",
            "password": "p",
            "sshPort": 22,
            "name": "h",
            "managementIp": "192.0.2.7",
            "clusterUuid": "c",
            "systemTags": ["pageTableExtensionDisabled"],
        },
        Request(
            "POST",
            "/service/v1/hosts/kvm",
            (),
            {
                "params": {
                    "username": "root",
                    "password": "p",
                    "sshPort": 22,
                    "name": "h",
                    "managementIp": "192.0.2.7",
                    "clusterUuid": "c",
                },
                "systemTags": ["pageTableExtensionDisabled"],
            },
        ),
    ),
    "ChangeHostState": (
        {"uuid": UUID, "stateEvent": "maintain"},
        Request("PUT", f"/service/v1/hosts/{UUID}/actions", (), {"changeHostState": {"stateEvent": "maintain"}}),
    ),
    "GetHostNetworkFacts": (
        {"hostUuid": UUID, "systemTags": ["a", "b"]},
        Request("GET", f"/service/v1/hosts/network-facts/{UUID}", (("systemTags", "a"), ("systemTags", "b"))),
    ),
    "GetCandidateNetworkInterfaces": (
        {"hostUuids": ["a", "b"], "intersecting": False, "interfaceType": "all"},
        Request(
            "GET",
            "/service/v1/cluster/hosts-network-interfaces",
            (("hostUuids", "a"), ("hostUuids", "b"), ("intersecting", "false"), ("interfaceType", "all")),
        ),
    ),
    "SetServiceTypeOnHostNetworkInterface": (
        {"interfaceUuids": ["i"], "vlanIds": [0, 7], "serviceTypes": []},
        Request(
            "POST",
            "/service/v1/hosts/nics/service-types",
            (),
            {"params": {"interfaceUuids": ["i"], "vlanIds": [0, 7], "serviceTypes": []}},
        ),
    ),
    "QueryPrimaryStorage": (
        {"q": [f"uuid={UUID}"]},
        Request("GET", "/service/v1/primary-storage", (("q", f"uuid={UUID}"),)),
    ),
    "CursorQuery": (
        {"resourceType": "host", "sort": "name", "order": "asc", "pageSize": 50, "filter": ["a=b", "c=d"]},
        Request(
            "GET",
            "/api/v1/resources/cursor-query",
            (
                ("resourceType", "host"),
                ("sort", "name"),
                ("order", "asc"),
                ("pageSize", "50"),
                ("filter", "a=b"),
                ("filter", "c=d"),
            ),
        ),
    ),
    "CursorNext": (
        {"cursor": "c/+=", "pageSize": 50},
        Request("GET", "/api/v1/resources/cursor-next", (("cursor", "c/+="), ("pageSize", "50"))),
    ),
}


def test_every_write_that_is_not_documented_has_its_request() -> None:
    lacking = {name for name in COMPANIONS if OPERATIONS[name].is_write} - WIRE.keys()
    assert not lacking, f"WIRE of tests/support/scenarios.py has no request of {', '.join(sorted(lacking))}"
    assert WIRE.keys() <= COMPANIONS


def test_request_of_a_write(subtests: pytest.Subtests) -> None:
    for name, (params, line, body) in WIRE.items():
        with subtests.test(name):
            request = get_operation(name).request(params)
            query = "&".join(f"{key}={value}" for key, value in request.query)
            path = request.path.removeprefix("/service/v1/") + (f"?{query}" if query else "")
            assert (f"{request.method} {path}", request.body) == (line, body)


def test_every_documented_operation_has_a_golden_request() -> None:
    assert GOLDEN.keys() == documented_operations().keys()


def test_operations_on_one_path_differ_by_the_key_of_the_body() -> None:
    keys: dict[tuple[str, str], list[str]] = {}
    for row in OPERATIONS.values():
        keys.setdefault((row.method, re.sub(r"{\w+}", "{}", row.path)), []).append(row.body_key)
    shared = {call: body_keys for call, body_keys in keys.items() if len(body_keys) > 1}
    assert shared["PUT", "hosts/{}/actions"] == ["changeHostState", "reconnectHost", "updateHost"]
    assert {"startVmInstance", "stopVmInstance", "migrateVm"} <= {*shared["PUT", "vm-instances/{}/actions"]}
    assert all(
        method == "PUT" and len(set(body_keys)) == len(body_keys) for (method, path), body_keys in shared.items()
    )
    start, stop = (OPERATIONS[name].request({"uuid": VM}) for name in ("StartVmInstance", "StopVmInstance"))
    assert (start.method, start.path, start.query) == (stop.method, stop.path, stop.query)
    assert (start.body, stop.body) == ({"startVmInstance": {}}, {"stopVmInstance": {"stopHA": "true"}})


def test_golden_request(subtests: pytest.Subtests) -> None:
    for name in GOLDEN:
        with subtests.test(name):
            params, expected = GOLDEN[name]
            assert get_operation(name).request(params) == expected


def test_golden_request_is_as_described(subtests: pytest.Subtests) -> None:
    """The golden requests are written by hand, so compare them with the description too."""
    for name in GOLDEN:
        with subtests.test(name):
            stated, request = operations()[name], GOLDEN[name][1]
            pattern = re.sub(r"\\{\w+\\}", "[^/]+", re.escape(stated.path))
            prefix = "" if stated.security == "token" else "/service/v1/"
            assert request.method == stated.method
            assert re.fullmatch(f"{prefix}{pattern}", request.path)
            if stated.body_key:
                assert (request.body or {}).keys() - set(TAG_PARAMS) == {stated.body_key}


def test_prefix_stands_before_the_path() -> None:
    row, params = get_operation("ChangeHostState"), {"uuid": UUID, "stateEvent": "enable"}
    assert row.request(params, "front/api").path == f"/front/api/v1/hosts/{UUID}/actions"
    assert row.request(params, "/front/").path == f"/front/v1/hosts/{UUID}/actions"
    assert get_operation("CursorNext").request({"cursor": "c"}, "front").path == "/api/v1/resources/cursor-next"


def test_no_prefix() -> None:
    assert get_operation("QueryCbtTask").request({}, "").path == "/v1/cbt-task"


@pytest.mark.parametrize("hostile", ["../../x", "a/b", "a?b=c", "a#b", "a%2fb", "a b", "\u00e9", "{uuid}"])
def test_path_parameters_stay_one_segment(hostile: str) -> None:
    path = get_operation("ChangeHostState").request({"uuid": hostile, "stateEvent": "enable"}).path
    assert re.fullmatch(r"/service/v1/hosts/[\w.%~-]+/actions", path)


@pytest.mark.parametrize("empty", ["", "  ", ".", ".."])
def test_path_parameters_are_not_empty(empty: str) -> None:
    with pytest.raises(InvalidOptions, match="uuid of DeleteCbtTask must not be"):
        get_operation("DeleteCbtTask").request({"uuid": empty})


def test_missing_parameters_are_named(subtests: pytest.Subtests) -> None:
    for name in [name for name in OPERATIONS if OPERATIONS[name].find_missing({})]:
        with subtests.test(name):
            row = OPERATIONS[name]
            with pytest.raises(InvalidOptions) as caught:
                row.request({})
            named = re.findall(r"\w+", str(caught.value).partition(" needs ")[2])
            lenient = {key for key, parameter in row.parameters.items() if parameter.omit_if_unset}
            assert (
                set(named)
                == {key for key, parameter in operations()[name].parameters.items() if parameter.required} - lenient
            )


def test_the_form_of_the_example_is_enough_for_a_cbt_task() -> None:
    request = get_operation("CreateCbtTask").request({"name": "n", "vmInstanceUuid": VM})
    assert request.body == {"params": {"name": "n", "vmInstanceUuid": VM}}


def test_null_is_omitted_and_empty_is_sent() -> None:
    request = get_operation("UpdateSNSApplicationEndpoint").request({"uuid": UUID, "name": None, "description": ""})
    assert request.body == {"updateSNSApplicationEndpoint": {"description": ""}}


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("ChangeHostState", {"uuid": UUID, "stateEvent": "enabled"}, "must be one of enable, disable, maintain"),
        ("DeleteCbtTask", {"uuid": UUID, "deleteMode": "lenient"}, "must be one of Permissive, Enforcing"),
        ("DeleteCbtTask", {"uuid": UUID, "force": "perhaps"}, "force of DeleteCbtTask must be of type bool"),
        ("UpdateSNSSnmpPlatform", {"uuid": UUID, "snmpAddress": "a", "snmpPort": "x"}, "must be of type int"),
        (
            "QueryVmInstance",
            {"q": {"name": "vm-1", "cpuNum": 4}},
            r"q of QueryVmInstance must be of type list, not {.*}\. Give q: \['name=vm-1', 'cpuNum=4'\]$",
        ),
        ("UpdateSNSSnmpPlatform", {"uuid": UUID, "snmpAddress": "a", "snmpPort": True}, "must be of type int"),
        ("UpdateSNSApplicationEndpoint", {"uuid": UUID, "name": {"a": 1}}, "name of .* must be of type str"),
        (
            "ChangeVmNicNetwork",
            {"vmNicUuid": UUID, "destL3NetworkUuid": UUID, "vmNicParams": "{up: true}"},
            "vmNicParams of ChangeVmNicNetwork must be JSON",
        ),
        (
            "ChangeVmNicNetwork",
            {"vmNicUuid": UUID, "destL3NetworkUuid": UUID, "vmNicParams": [{"ip": "a"}, {"ip": "b"}]},
            "vmNicParams of ChangeVmNicNetwork must be one mapping",
        ),
        (
            "CreateVmInstanceFromVolumeSnapshotGroup",
            {"volumeSnapshotGroupUuid": UUID, "name": "a", "vmNicParams": "1"},
            "vmNicParams of .* must be a list of mappings",
        ),
        (
            "ChangeHostState",
            {"uuid": UUID, "stateEvent": "enable", "mode": "x"},
            "ChangeHostState has no parameter mode",
        ),
        (
            "SetServiceTypeOnHostNetworkInterface",
            {"interfaceUuids": ["i"], "serviceTypes": ["StorageNetwork", "Storage"]},
            "serviceTypes of SetServiceTypeOnHostNetworkInterface must be one of",
        ),
    ],
)
def test_wrong_values_are_refused(name: str, params: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidOptions, match=message):
        get_operation(name).request(params)


def test_values_are_sent_in_their_type() -> None:
    """Templates in playbooks return strings."""
    params = {"uuid": UUID, "snmpAddress": "a", "snmpPort": "162", "name": 5}
    assert get_operation("UpdateSNSSnmpPlatform").request(params).body == {
        "updateSNSSnmpPlatform": {"snmpAddress": "a", "snmpPort": 162, "name": "5"}
    }


def test_unknown_operation() -> None:
    with pytest.raises(InvalidOptions, match=r"no operation changeHostState\. Did you mean ChangeHostState\?"):
        get_operation("changeHostState")
    with pytest.raises(InvalidOptions, match=r"no operation xyz\. Known operations: .*\bAddKVMHost, .*"):
        get_operation("xyz")


@pytest.mark.parametrize(
    ("name", "params", "version", "reason"),
    [
        ("CreateCbtTask", {}, "4.10.9", "CreateCbtTask needs version 4.10.10"),
        ("CreateCbtTask", {}, "4.10.10", None),
        ("CreateCbtTask", {}, "4.9.99", "CreateCbtTask needs version 4.10.10"),
        ("CreateCbtTask", {}, "5.0.0", None),
        ("CreateCbtTask", {}, "5", None),
        ("CreateSNSSnmpEndpoint", {}, "4.10", None),
        ("CreateSNSSnmpEndpoint", {}, " 4.10.0.0 ", None),
        ("CreateSNSSnmpEndpoint", {}, "4.9", "CreateSNSSnmpEndpoint needs version 4.10.0"),
        ("QueryHost", {}, "0.1", None),
        ("AttachL3NetworkToVm", {"customMac": "m"}, "3.9.0", "the parameter customMac of AttachL3NetworkToVm needs"),
        ("AttachL3NetworkToVm", {"customMac": None}, "3.9.0", None),
        ("AttachL3NetworkToVm", {"customMac": "m"}, "3.10.0", None),
    ],
)
def test_versions(name: str, params: dict[str, Any], version: str, reason: str | None) -> None:
    found = get_operation(name).explain_unsupported(params, version)
    assert (found or "").startswith(reason or "") if reason else found is None


@pytest.mark.parametrize("version", ["latest", "", "4.", ".4", "4..1", "v4.1", "4.10-rc1", "\u0664.1"])
def test_invalid_version_is_refused(version: str) -> None:
    with pytest.raises(InvalidOptions, match=r"service_version must be a version like 4\.10\.10, not"):
        parse_version(version)


@pytest.mark.parametrize("number", [4.10, 5, True])
def test_a_number_as_version_is_refused(number: Any) -> None:
    with pytest.raises(InvalidOptions, match=r"service_version must be quoted, .* YAML reads a number"):
        parse_version(number)


LONGEST = [
    ("UpdateSNSApplicationEndpoint", {"uuid": UUID}, "name", 255),
    ("UpdateSNSApplicationEndpoint", {"uuid": UUID}, "description", 2048),
    ("CreateSNSWorkchatEndpoint", {"name": "n"}, "url", 2048),
    ("UpdateAtPersonOfAtTeamchatEndpoint", {"uuid": UUID, "endpointUuid": UUID, "remark": ""}, "userId", 256),
    ("UpdateAtPersonOfAtTeamchatEndpoint", {"uuid": UUID, "endpointUuid": UUID}, "remark", 128),
]


@pytest.mark.parametrize(("name", "params", "parameter", "longest"), LONGEST)
def test_texts_that_are_too_long_are_refused(name: str, params: dict[str, Any], parameter: str, longest: int) -> None:
    text = ("https://" if parameter == "url" else "").ljust(longest, "x")
    get_operation(name).request({**params, parameter: f"  {text}  "})
    with pytest.raises(InvalidOptions) as caught:
        get_operation(name).request({**params, parameter: f"{text}x"})
    assert str(caught.value) == f"{parameter} of {name} must have at most {longest} characters, not {longest + 1}"


@pytest.mark.parametrize(
    ("persons", "longest"),
    [
        ({"atPersonUserIds": ["x", "x" * 257]}, 256),
        ({"atPersonList": {"x" * 257: "remark"}}, 256),
        ({"atPersonList": {"x": "r" * 129}}, 128),
    ],
)
def test_texts_in_lists_and_maps_that_are_too_long_are_refused(persons: dict[str, Any], longest: int) -> None:
    with pytest.raises(InvalidOptions, match=f"must have at most {longest} characters, not {longest + 1}"):
        get_operation("CreateSNSWorkchatEndpoint").request({"name": "n", "url": "https://u", **persons})


@pytest.mark.parametrize("bandwidth", [8191, 32212254721])
def test_bandwidths_out_of_range_are_refused(bandwidth: int) -> None:
    with pytest.raises(InvalidOptions, match=f"must be from 8192 to 32212254720, not {bandwidth}"):
        get_operation("SetNicQos").request({"uuid": UUID, "inboundBandwidth": bandwidth})


@pytest.mark.parametrize("port", [0, -1, 65536])
def test_ports_out_of_range_are_refused(port: int) -> None:
    with pytest.raises(InvalidOptions, match=f"snmpPort of UpdateSNSSnmpPlatform must be from 1 to 65535, not {port}"):
        get_operation("UpdateSNSSnmpPlatform").request({"uuid": UUID, "snmpAddress": "a", "snmpPort": port})


BAD_VALUES: dict[str, Any] = {
    "bounds": lambda parameter: (parameter.bounds.start - 1, parameter.bounds.stop),
    "max_length": lambda parameter: ("x" * (parameter.max_length + 1),),
    "refuses_empty": lambda dummy: ([], {}),
}


def list_refused_values(parameter: Parameter) -> list[Any]:
    """Return values that the simulator refuses, whatever its objects are."""
    values = [value for name, build in BAD_VALUES.items() if getattr(parameter, name) for value in build(parameter)]
    if parameter.schema == "NewUuid" and parameter.type == "str":
        values.append("a0000003000010008000000000000001")
    return values


def test_values_that_servers_refuse_are_not_sent(subtests: pytest.Subtests) -> None:
    for name, described in operations().items():
        own = OPERATIONS[name].parameters if name in OPERATIONS and OPERATIONS[name].is_write else {}
        for parameter in (described.parameters[shared] for shared in own if shared in described.parameters):
            for value in list_refused_values(parameter):
                refusal = f"^{parameter.name} of {name} (must|is in bytes)"
                label = f"{parameter.name} of {name}: {str(value)[:40]}"
                with subtests.test(label), pytest.raises(InvalidOptions, match=refusal):
                    own[parameter.name].check_bounds(name, value)


@pytest.mark.parametrize(
    ("name", "parameter", "good", "bad"),
    [
        ("AddKVMHost", "managementIp", ["10.0.0.1", "host-1", " h.example.com "], ["10.0.0.256", "1.2.3", "a b", "-a"]),
        ("UpdateKVMHost", "managementIp", ["fd00::1", "10a.example"], ["10.0.0.1/24", "host_1", "fd00::g"]),
        ("AttachL3NetworkToVm", "staticIp", ["10.0.0.1", "fd00::1"], ["10.0.0.1/24", "10.0.0", "dhcp"]),
        ("ChangeVmNicNetwork", "staticIp", [" 10.0.0.1 "], ["10.0.0.256"]),
        ("AttachL3NetworkToVm", "customMac", ["52:54:00:12:34:56"], ["52-54-00-12-34-56", "52:54:00:12:34"]),
        ("AttachL3NetworkToVm", "customMac", ["fa:16:3e:00:00:00"], ["00:00:00:00:00:00", "01:00:5e:00:00:01"]),
        ("SetServiceTypeOnHostNetworkInterface", "vlanIds", [[0, 4094], ["5"]], [[4095], [-1], ["x"], [None]]),
    ],
)
def test_forms_of_values(name: str, parameter: str, good: list[Any], bad: list[Any]) -> None:
    own = get_operation(name).parameters[parameter]
    for value in good:
        own.check_bounds(name, value)
    for value in bad:
        with pytest.raises(InvalidOptions, match=f"{parameter} of {name} must be"):
            own.check_bounds(name, value)


class TaggedInt(int):
    """A number as tasks of ansible-core 2.19 and later contain it: a range compares it with each of its numbers."""

    def __eq__(self, other: object) -> bool:
        raise AssertionError("a number is searched in a range")

    __hash__ = int.__hash__


def test_bounds_of_a_large_range_are_compared_at_once() -> None:
    get_operation("SetNicQos").request({"uuid": NIC, "outboundBandwidth": TaggedInt(10 * 2**30)})
    with pytest.raises(InvalidOptions, match="from 8192 to 32212254720"):
        get_operation("SetNicQos").request({"uuid": NIC, "outboundBandwidth": TaggedInt(8191)})


def test_operations_that_are_not_idempotent() -> None:
    """A second call creates a second object, export or trap, or migrates or reboots again, or is refused."""
    assert {row.name for row in OPERATIONS.values() if not row.effect.is_idempotent} == {
        "CreateSNSWeComEndpoint",
        "CreateSNSWorkchatEndpoint",
        "CreateSNSSnmpEndpoint",
        "ExportNbdVolumes",
        "SNSSnmpTestConnection",
        "AttachL3NetworkToVm",
        "CreateSNSTopic",
        "CreateTag",
        "CreateSNSSnmpPlatform",
        "AddSNSFeiShuAtPerson",
        "AddSNSWeComAtPerson",
        "AddSNSDingTalkAtPerson",
        "MigrateVm",
        "DetachL3NetworkFromVm",
        "RebootVmInstance",
        "PauseVmInstance",
        "ResumeVmInstance",
        "ExpungeVmInstance",
        "RecoverVmInstance",
        "DeleteDataVolume",
        "RecoverDataVolume",
        "CreateVolumeSnapshotGroup",
        "RevertVmFromSnapshotGroup",
        "UpdateHost",
        "UpdateKVMHost",
        "PowerResetHost",
        "CreateVmInstance",
        "CreateVmInstanceFromTemplatedVmInstance",
        "CloneVmInstance",
        "CreateDataVolume",
        "ResizeDataVolume",
        "ResizeRootVolume",
        "AttachDataVolumeToVm",
        "DetachDataVolumeFromVm",
        "CreateVmInstanceFromVolumeSnapshotGroup",
    }


def test_results_of_queries_are_lists_of_records(subtests: pytest.Subtests) -> None:
    for name in QUERIES:
        with subtests.test(name):
            assert OPERATIONS[name].result == ("inventories",)
            assert OPERATIONS[name].record in RECORD_FIELDS


def test_list_of_records_is_a_reply_under_both_names() -> None:
    row = get_operation("SetServiceTypeOnHostNetworkInterface")
    assert all(row.is_reply({member: [{"id": 1}]}) for member in ("inventory", "inventories"))


@pytest.mark.parametrize(("value", "sent"), [(True, "true"), ("True", "true"), (None, "true"), (False, "false")])
def test_stop_ha_is_always_sent_as_a_string(value: Any, sent: str) -> None:
    request = OPERATIONS["StopVmInstance"].request({"uuid": UUID, "stopHA": value})
    assert request.body == {"stopVmInstance": {"stopHA": sent}}
    with pytest.raises(InvalidOptions, match="stopHA of StopVmInstance must be one of true, false"):
        OPERATIONS["StopVmInstance"].request({"uuid": UUID, "stopHA": "maybe"})


def test_choices_may_be_spelt_in_small_letters() -> None:
    params = {"interfaceUuids": [UUID], "serviceTypes": ["storagenetwork", "ManagementNetwork"]}
    request = OPERATIONS["SetServiceTypeOnHostNetworkInterface"].request(params)
    (sent,) = (request.body or {}).values()
    assert sent["serviceTypes"] == ["StorageNetwork", "ManagementNetwork"]


@pytest.mark.parametrize(
    ("name", "value", "refusal"),
    [
        ("snmpAddress", "192.0.2.5:162", "an IP address or a host name, without a port, not '192.0.2.5:162'"),
        ("snmpAddress", "not an address", "an IP address or a host name"),
        ("snmpAddress", "192.0.2", "an IP address or a host name"),
        ("snmpAddress", " fd00::5 ", None),
        ("snmpAddress", "trap.example.com", None),
        ("ipmiAddress", "10.0.0.999", "an IP address or a host name"),
        ("ipmiAddress", "https://10.0.0.9", "an IP address or a host name"),
        ("ipmiAddress", "10.0.0.9", None),
        # Hosts without a controller.
        ("ipmiAddress", "", None),
        ("url", "c.example.com/secret", "an address that begins with https:// or http://"),
        ("url", "ftp://c.example.com/secret", "an address that begins with https:// or http://"),
        ("url", "https://c.example.com/secret", None),
        ("url", "HTTP://c.example.com:8080", None),
        *(("cron", value, "six fields") for value in ("0 2 * *", "0 2 * * *", "@daily")),
        *(("cron", value, None) for value in ("0 0 2 * * ?", " 0 0 2 ? * MON 2027 ", "0/70 0 2 L-3 JAN-MAR ?")),
        *(("cron", value, None) for value in ("0 0-30/5 22-2 ? 1,12 6#3 2027-2099", "0 0 2 15W * ?", "0 0 2 ? * 7L")),
        *(
            ("cron", f"{value} ", f"a {name} from ")
            for name, value in (
                ("second", "60 0 2 * * ?"),
                ("minute", "0 61 25 * * ?"),
                ("hour", "0 0 8-24 * * ?"),
                ("day of the month", "0 0 2 0 * ?"),
                ("month", "0 0 2 * 1,13 ?"),
                ("day of the week", "0 0 2 ? * 0"),
                ("year", "0 0 2 * * ? 27"),
            )
        ),
        *(("cron", value, "? as one of its two days") for value in ("0 0 2 * * *", "0 0 2 1 * MON", "0 0 2 ? * ?")),
        *(("publicKey", value, "the text of the key") for value in ("/home/me/.ssh/id.pub", "~/.ssh/id", "id.pub")),
        *(
            ("publicKey", value, "the line of a public key")
            for value in ("secret", "ssh-ed25519 secret", "---- BEGIN SSH2 PUBLIC KEY ----\nAAAA secret")
        ),
        *(
            ("publicKey", f"{kind} AAAA me", None)
            for kind in ("ssh-ed25519", "ecdsa-sha2-nistp256", "sk-ssh-ed25519@a.b")
        ),
        ("publicKey", 'from="10.0.0.0/8" ssh-rsa AAAA', None),
        *(
            ("srcIpRange", value, "of addresses, networks and ranges")
            for value in ("10.0.0.1-", "10.0.0.0/33", "10.0.0.1, db", "10.0.0.1 10.0.0.2", "")
        ),
        *(("srcIpRange", value, None) for value in ("10.0.0.1", "10.0.0.0/24,10.1.0.5-10.1.0.9", "10.0.0.1, 10.0.0.2")),
    ],
)
def test_values_of_one_form(name: str, value: str, refusal: str | None) -> None:
    """The message about a URL does not show its key."""
    if refusal is None:
        check_property(name, name, value)
        return
    with pytest.raises(InvalidOptions, match=f"^{name} must (be|have|consist) {re.escape(refusal)}") as refused:
        check_property(name, name, value)
    assert "secret" not in str(refused.value)
