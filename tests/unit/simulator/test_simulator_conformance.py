"""The simulator serves what the description of the service describes, and answers in its form."""

from __future__ import annotations

import copy
import hashlib
import itertools
import json
import urllib.parse
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
import requests
from openapi_schema_validator import OAS31Validator, oas31_format_checker

from simulator import catalogue
from simulator.description import Operation, Parameter, description, operations, records, reply_schema, resolve
from simulator.launch import Simulator
from simulator.params import is_required
from support.scenarios import SCENARIOS
from support.webhook_receiver import WebhookReceiver

MODES: dict[str, dict[str, Any]] = {
    "compatible": {},
    "literal": {"literal": True, "companions": "present", "all_companions": True},
}
OPEN_CHATS = {
    "CreateSNSWeComEndpoint",
    "QuerySNSWeComEndpoint",
    "UpdateAtPersonOfAtFeiShuEndpoint",
    "QuerySNSFeiShuAtPerson",
}
"""Operations of the servers with open chats, which lack the documented ones."""
POLLS = 500


def seeded(kind: int, number: int = 1) -> str:
    """Return the uuid of an object that the simulator starts with."""
    return f"a{kind:07x}000040008000{number:012x}"


ZONE, CLUSTER, HOST, VM, NETWORK, NIC, VOLUME, STORAGE, HOST_NIC = (seeded(kind) for kind in range(1, 10))
GROUP, PLATFORM, ENDPOINT, PERSON, OFFERING = (seeded(kind) for kind in (11, 12, 13, 15, 19))
ROOT_VOLUME, DATA_VOLUME = seeded(7, 1), seeded(7, 2)
STOPPED_VM, OTHER_NETWORK, TOPIC, PATTERN = seeded(4, 2), seeded(5, 2), seeded(14), seeded(29)


# --------------------------------------------------------------------------------------------------- form of replies


def strict_components() -> dict[str, Any]:
    """Return the components of the description, their records refusing members that are not described.

    A record that another one extends cannot refuse any.
    """
    components: dict[str, Any] = copy.deepcopy(description()["components"])
    extended = {node["$ref"].rpartition("/")[2] for node in components["schemas"].values() if "$ref" in node}
    for name in records().keys() - extended:
        components["schemas"][name]["unevaluatedProperties"] = False
    return components


COMPONENTS = strict_components()


def assert_described(reply: Any, schema: Mapping[str, Any]) -> None:
    """Validate a reply; its members must be described, unless the description has none."""
    outermost = {"unevaluatedProperties": False} if resolve(schema).get("properties") else {}
    whole = {"components": COMPONENTS, **schema, **outermost}
    validator = OAS31Validator(whole, format_checker=oas31_format_checker)
    assert [f"{error.json_path}: {error.message}" for error in validator.iter_errors(reply)] == []


class Caller:
    """Calls operations according to their description only."""

    def __init__(self, sim: Simulator) -> None:
        self.sim, self.origin = sim, sim.url
        self._credentials = {"session": f"OAuth {sim.session}", "token": f"Bearer {sim.token}"}

    def call(self, name: str, /, **params: Any) -> Any:
        """Return the reply of a success, which must have the form described."""
        status, reply = self.result(name, **params)
        assert status == 200, reply
        assert_described(reply, reply_schema(name))
        return reply

    def result(self, name: str, /, **params: Any) -> tuple[int, Any]:
        """Return status and body of the reply, or of the job's result if the operation is asynchronous."""
        operation = operations()[name]
        response = self.send(operation, params)
        if not operation.is_async:
            return response.status_code, response.json()
        assert response.status_code == 202, response.text
        assert_described(response.json(), reply_schema(name, 202))
        return self._outcome(response.json()["location"])

    def read(self, name: str, uuid: str) -> Any:
        """Return the reply of a query's read by uuid, which must have the form described."""
        operation = operations()[name]
        response = self._request("GET", (operation.uuid_path or "").format(uuid=uuid), operation)
        assert response.status_code == 200, response.text
        assert_described(response.json(), reply_schema(f"{name}ByUuid"))
        return response.json()

    def send(self, operation: Operation, params: Mapping[str, Any], **headers: str) -> requests.Response:
        """Return the response to the request that the description asks for."""
        query: dict[str, Any] = {}
        body: dict[str, Any] = {}
        inner = body.setdefault(operation.body_key, {}) if operation.body_key else body
        for key, value in params.items():
            parameter = operation.parameters[key]
            if parameter.where == "query" or parameter.also_in_query:
                query[key] = json.dumps(value) if isinstance(value, bool) else value
            if parameter.where == "body":
                (body if parameter.beside else inner)[key] = value
        path = operation.path.format(**params)
        return self._request(operation.method, path, operation, headers=headers, params=query, json=body or None)

    def _request(
        self,
        method: str,
        path: str,
        operation: Operation,
        headers: Mapping[str, str] | None = None,
        **parts: Any,
    ) -> requests.Response:
        url = self.origin + ("" if path.startswith("/") else "/service/v1/") + path
        credential = {"Authorization": self._credentials[operation.security]} if operation.security else {}
        return requests.request(method, url, headers={**credential, **(headers or {})}, timeout=10, **parts)

    def _outcome(self, location: str) -> tuple[int, Any]:
        """Poll a job to its end, with only the path of its address."""
        for dummy in range(POLLS):
            response = requests.get(self.origin + urllib.parse.urlsplit(location).path, timeout=10)
            if response.status_code != 202:
                return response.status_code, response.json()
            assert_described(response.json(), reply_schema("GetApiJob", 202))
        raise AssertionError(f"the job of {location} does not end")


@pytest.fixture
def caller(sim: Simulator) -> Caller:
    return Caller(sim)


# ------------------------------------------------------------------------------------- every operation and every route


def test_simulator_serves_the_described_operations(sim: Simulator) -> None:
    served = {row["name"] for row in sim.operations()}
    assert served >= operations().keys() - {"GetApiJob"}
    assert [name for name in served - operations().keys() if not catalogue.has(name)] == []


def cbt_task(caller: Caller) -> str:
    reply = caller.call("CreateCbtTask", **PARAMS["CreateCbtTask"](caller))
    return str(reply["inventory"]["uuid"])


def workchat_endpoint(caller: Caller) -> str:
    reply = caller.call("CreateSNSWorkchatEndpoint", **PARAMS["CreateSNSWorkchatEndpoint"](caller))
    return str(reply["inventory"]["uuid"])


def endpoint_of_type(caller: Caller, kind: str) -> str:
    caller.sim.change("endpoint", ENDPOINT, type=kind)
    return ENDPOINT


def stopped_volume(caller: Caller) -> str:
    found = caller.call("QueryVmInstance", q=[f"uuid={STOPPED_VM}"])
    return str(found["inventories"][0]["rootVolumeUuid"])


def second_page(caller: Caller) -> str:
    return str(caller.call("CursorQuery", resourceType="host", pageSize=1)["nextCursor"])


def template(caller: Caller) -> str:
    caller.sim.change("templatedvminstance", STOPPED_VM, name="template")
    return STOPPED_VM


def free_volume(caller: Caller) -> str:
    return str(caller.call("CreateDataVolume", name="data", diskSize=2**30)["inventory"]["uuid"])


def topic(caller: Caller) -> str:
    return str(caller.call("CreateSNSTopic", name="alarms")["inventory"]["uuid"])


def changed_person(caller: Caller, query: str) -> dict[str, Any]:
    (person,) = caller.call(query, q=[f"uuid={PERSON}"])["inventories"]
    return {"uuid": PERSON, "endpointUuid": person["endpointUuid"], "userId": "berta", "remark": "on duty"}


CHAT = {
    "url": "https://chat.example.com/hook",
    "atAll": False,
    "atPersonUserIds": ["anna"],
    "atPersonList": {"anna": "Anna"},
    "name": "chat",
    "description": "the room of the night shift",
}
NEW_WEBHOOK = {
    "name": "renamed",
    "description": "new",
    "platformUuid": seeded(12, 3),
    "url": "https://chat.example.com/other",
}

PARAMS: dict[str, Callable[[Caller], dict[str, Any]]] = {
    "CreateCbtTask": lambda caller: {
        "name": "nightly",
        "description": "every night",
        "taskType": "Volume",
        "resourceUuids": [VM],
        "resourceUuid": seeded(16, 99),
        "tagUuids": [],
        "systemTags": ["one"],
        "userTags": ["two"],
    },
    "EnableCbtTask": lambda caller: {"uuid": cbt_task(caller), "bitmapName": "changes"},
    "DisableCbtTask": lambda caller: {"uuid": cbt_task(caller), "force": True},
    "DeleteCbtTask": lambda caller: {"uuid": cbt_task(caller), "force": True, "deleteMode": "Enforcing"},
    "QueryCbtTask": lambda caller: {"q": [f"uuid={cbt_task(caller)}"]},
    "ExportNbdVolumes": lambda caller: {
        "volumeUuids": [stopped_volume(caller)],
        "vmInstanceUuid": STOPPED_VM,
        "force": False,
    },
    "CreateSNSWorkchatEndpoint": lambda caller: CHAT,
    "CreateSNSWeComEndpoint": lambda caller: CHAT,
    "QuerySNSWorkchatEndpoint": lambda caller: {"q": [f"uuid={workchat_endpoint(caller)}"]},
    "CreateSNSSnmpEndpoint": lambda caller: {"name": "traps", "description": "to all", "platformUuid": PLATFORM},
    "SNSSnmpTestConnection": lambda caller: {"platformUuid": PLATFORM, "endpointUuid": ENDPOINT},
    "UpdateSNSApplicationEndpoint": lambda caller: {"uuid": ENDPOINT, "name": "renamed", "description": "new"},
    "UpdateAtPersonOfAtTeamchatEndpoint": lambda caller: changed_person(caller, "QuerySNSTeamchatAtPerson"),
    "UpdateAtPersonOfAtFeiShuEndpoint": lambda caller: changed_person(caller, "QuerySNSFeiShuAtPerson"),
    "UpdateSNSSnmpPlatform": lambda caller: {
        "uuid": PLATFORM,
        "snmpAddress": "192.0.2.7",
        "snmpPort": 162,
        "name": "traps",
        "description": "to the centre",
    },
    "QuerySNSTopicSubscriber": lambda caller: {"q": [f"endpointUuid={ENDPOINT}"]},
    "CreateVmInstanceFromVolumeSnapshotGroup": lambda caller: {
        "volumeSnapshotGroupUuid": GROUP,
        "name": "restored",
        "description": "as of yesterday",
        "instanceOfferingUuid": OFFERING,
        "cpuNum": 2,
        "memorySize": 2**31,
        "l3NetworkUuids": [NETWORK, OTHER_NETWORK],
        "type": "UserVm",
        "zoneUuid": ZONE,
        "clusterUuid": CLUSTER,
        "hostUuid": HOST,
        "primaryStorageUuidForRootVolume": STORAGE,
        "defaultL3NetworkUuid": NETWORK,
        "strategy": "InstantStart",
        "rootVolumeSystemTags": ["root"],
        "dataVolumeSystemTags": {seeded(20): ["data"]},
        "reservedMemorySize": 2**30,
        "vmNicParams": "[]",
        "resetTpm": True,
        "volumeSnapshotEncryptions": [{"volumeSnapshotUuid": seeded(20), "encrypted": True}],
        "vmEncryption": False,
    },
    "CreateVmInstance": lambda caller: {
        "name": "web",
        "description": "the shop",
        "instanceOfferingUuid": OFFERING,
        "cpuNum": 2,
        "memorySize": 2**31,
        "reservedMemorySize": 2**30,
        "imageUuid": seeded(18),
        "l3NetworkUuids": [NETWORK, OTHER_NETWORK],
        "defaultL3NetworkUuid": NETWORK,
        "vmNicParams": json.dumps([{"l3NetworkUuid": OTHER_NETWORK, "ip": free_address(caller)}]),
        "type": "UserVm",
        "rootDiskSize": 2**36,
        "dataDiskSizes": [2**30, 2**31],
        "zoneUuid": ZONE,
        "clusterUuid": CLUSTER,
        "hostUuid": HOST,
        "primaryStorageUuidForRootVolume": STORAGE,
        "strategy": "CreateStopped",
        "sshKeyPairUuids": [seeded(31)],
        "platform": "Linux",
        "guestOsType": "Linux",
        "architecture": "x86_64",
        "virtio": True,
        "allocatorStrategy": "DefaultHostAllocatorStrategy",
        "systemTags": ["userdata::I2Nsb3VkLWNvbmZpZw=="],
    },
    "CloneVmInstance": lambda caller: {
        "vmInstanceUuid": VM,
        "names": ["web-1", "web-2"],
        "description": "the shop",
        "strategy": "CreateStopped",
        "clusterUuid": CLUSTER,
        "hostUuid": HOST,
        "primaryStorageUuidForRootVolume": STORAGE,
        "primaryStorageUuidForDataVolume": STORAGE,
    },
    "CreateVmInstanceFromTemplatedVmInstance": lambda caller: {
        "templatedVmInstanceUuid": template(caller),
        "names": ["web-1"],
        "description": "the shop",
        "strategy": "InstantStart",
        "cpuNum": 2,
        "memorySize": 2**31,
        "l3NetworkUuids": [OTHER_NETWORK],
        "zoneUuid": ZONE,
        "clusterUuid": CLUSTER,
    },
    "GetVmConsoleAddress": lambda caller: {"uuid": VM},
    "CreateDataVolume": lambda caller: {
        "name": "data",
        "description": "the shop",
        "diskSize": 2**30,
        "primaryStorageUuid": STORAGE,
        "resourceUuid": seeded(7, 99),
    },
    "ResizeDataVolume": lambda caller: {"uuid": DATA_VOLUME, "size": 2**40},
    "ResizeRootVolume": lambda caller: {"uuid": ROOT_VOLUME, "size": 2**40},
    "GetResourceConfig": lambda caller: {"resourceUuid": VM, "category": "vm", "name": "numa"},
    "AttachDataVolumeToVm": lambda caller: {"volumeUuid": free_volume(caller), "vmInstanceUuid": VM},
    "DetachDataVolumeFromVm": lambda caller: {"uuid": DATA_VOLUME, "vmUuid": VM},
    "UpdateVolume": lambda caller: {"uuid": DATA_VOLUME, "name": "renamed", "description": "new"},
    "AttachL3NetworkToVm": lambda caller: {
        "vmInstanceUuid": VM,
        "l3NetworkUuid": OTHER_NETWORK,
        "staticIp": free_address(caller),
        "driverType": "virtio",
        "customMac": "fa:16:3e:00:00:01",
        "vmNicParams": "{}",
    },
    "ChangeVmNicState": lambda caller: {"vmNicUuid": NIC, "state": "disable"},
    "ChangeVmNicNetwork": lambda caller: {
        "vmNicUuid": NIC,
        "destL3NetworkUuid": OTHER_NETWORK,
        "staticIp": free_address(caller),
        "vmNicParams": "{}",
    },
    "DeleteNicQos": lambda caller: {"uuid": NIC, "direction": "in"},
    "AddKVMHost": lambda caller: {
        "username": "root",
        "password": "secret",
        "sshPort": 22,
        "name": "host-new",
        "description": "rack 7",
        "managementIp": "10.0.9.9",
        "clusterUuid": CLUSTER,
        "systemTags": ["pageTableExtensionDisabled"],
    },
    "ChangeHostState": lambda caller: {"uuid": HOST, "stateEvent": "maintain"},
    "GetHostNetworkFacts": lambda caller: {"hostUuid": HOST},
    "GetCandidateNetworkInterfaces": lambda caller: {
        "hostUuids": [HOST, seeded(3, 2)],
        "interfaceType": "all",
        "intersecting": True,
        "limit": 10,
        "start": 0,
    },
    "SetServiceTypeOnHostNetworkInterface": lambda caller: {
        "interfaceUuids": [seeded(9, 2)],
        "vlanIds": [0, 7],
        "serviceTypes": ["TenantNetwork", "BackupNetwork"],
    },
    "GetHostNicServiceTypeStatistic": lambda caller: {"hostUuid": HOST, "vlanId": 0, "limit": 10, "start": 0},
    "GetNicQos": lambda caller: {"nicUuid": NIC},
    "GetVmMigrationCandidateHosts": lambda caller: {"vmInstanceUuid": VM},
    "StartVmInstance": lambda caller: {"uuid": STOPPED_VM, "clusterUuid": seeded(2, 2), "hostUuid": seeded(3, 2)},
    "StopVmInstance": lambda caller: {"uuid": VM, "type": "cold", "stopHA": "true"},
    "MigrateVm": lambda caller: {"uuid": VM, "hostUuid": seeded(3, 3)},
    "LogInByAccount": lambda caller: {
        "accountName": "admin",
        "password": hashlib.sha512(b"simulator-password").hexdigest(),
    },
    "ValidateSession": lambda caller: {"sessionUuid": Simulator.session},
    "LogOut": lambda caller: {"sessionUuid": Simulator.session},
    "CreateTag": lambda caller: {
        "name": "production",
        "value": "env::{stage}",
        "description": "for customers",
        "color": "#3399ff",
        "type": "withToken",
    },
    "AttachTagToResources": lambda caller: {
        "tagUuid": PATTERN,
        "resourceUuids": [VM, HOST, seeded(4, 99)],
        "tokens": {"stage": "prod"},
    },
    "DetachTagFromResources": lambda caller: {"tagUuid": PATTERN, "resourceUuids": [VM]},
    "UnexportNbdVolumes": lambda caller: {"volumeUuids": [stopped_volume(caller)], "vmInstanceUuid": STOPPED_VM},
    "CreateSNSSnmpPlatform": lambda caller: {"name": "traps", "snmpAddress": "192.0.2.7", "snmpPort": 1162},
    "DeleteSNSApplicationEndpoint": lambda caller: {"uuid": ENDPOINT, "deleteMode": "Permissive"},
    "DeleteSNSApplicationPlatform": lambda caller: {"uuid": PLATFORM, "deleteMode": "Permissive"},
    "SubscribeSNSTopic": lambda caller: {"topicUuid": topic(caller), "endpointUuid": ENDPOINT},
    "UnsubscribeSNSTopic": lambda caller: {"topicUuid": TOPIC, "endpointUuid": ENDPOINT},
    "ChangeSNSApplicationEndpointState": lambda caller: {"uuid": ENDPOINT, "stateEvent": "disable"},
    "UpdateSNSWeComEndpoint": lambda caller: {"uuid": workchat_endpoint(caller), **NEW_WEBHOOK, "atAll": True},
    "UpdateSNSFeiShuEndpoint": lambda caller: {
        "uuid": endpoint_of_type(caller, "TeamChat"),
        **NEW_WEBHOOK,
        "atAll": True,
        "secret": "signature",
    },
    "UpdateSNSDingTalkEndpoint": lambda caller: {
        "uuid": endpoint_of_type(caller, "DingTalk"),
        **NEW_WEBHOOK,
        "atAll": True,
    },
    "UpdateSNSHttpEndpoint": lambda caller: {"uuid": endpoint_of_type(caller, "HTTP"), **NEW_WEBHOOK},
    "UpdateSNSMicrosoftTeamsEndpoint": lambda caller: {
        "uuid": endpoint_of_type(caller, "MicrosoftTeams"),
        **NEW_WEBHOOK,
    },
    "ChangeSNSApplicationPlatformState": lambda caller: {"uuid": PLATFORM, "stateEvent": "disable"},
    "UpdateSNSApplicationPlatform": lambda caller: {"uuid": PLATFORM, "name": "traps", "description": "to the centre"},
    "CreateSNSTopic": lambda caller: {"name": "alarms", "description": "at night", "locale": "en_US"},
    "UpdateSNSTopic": lambda caller: {"uuid": TOPIC, "name": "alarms", "description": "at night"},
    "ChangeSNSTopicState": lambda caller: {"uuid": TOPIC, "stateEvent": "disable"},
    "DeleteSNSTopic": lambda caller: {"uuid": TOPIC, "deleteMode": "Permissive"},
    "AddSNSFeiShuAtPerson": lambda caller: {"userId": "carol", "endpointUuid": seeded(13, 2), "remark": "at night"},
    "RemoveSNSFeiShuAtPerson": lambda caller: {"userId": "user-1", "endpointUuid": seeded(13, 2)},
    "AddSNSWeComAtPerson": lambda caller: {
        "userId": "carol",
        "endpointUuid": endpoint_of_type(caller, "WorkChat"),
        "remark": "at night",
    },
    "RemoveSNSWeComAtPerson": lambda caller: {"userId": "carol", "endpointUuid": endpoint_of_type(caller, "WorkChat")},
    "AddSNSDingTalkAtPerson": lambda caller: {
        "phoneNumber": "+8613800000000",
        "endpointUuid": endpoint_of_type(caller, "DingTalk"),
        "remark": "at night",
    },
    "RemoveSNSDingTalkAtPerson": lambda caller: {
        "phoneNumber": "+8613800000000",
        "endpointUuid": endpoint_of_type(caller, "DingTalk"),
    },
    "DestroyVmInstance": lambda caller: {"uuid": VM, "deleteMode": "Permissive"},
    "UpdateVmInstance": lambda caller: {
        "uuid": STOPPED_VM,
        "name": "renamed",
        "description": "new",
        "defaultL3NetworkUuid": NETWORK,
        "platform": "Windows",
        "cpuNum": 8,
        "memorySize": 2**33,
        "reservedMemorySize": 2**30,
        "guestOsType": "Windows",
        "allocatorStrategy": "DefaultHostAllocatorStrategy",
    },
    "DeleteDataVolume": lambda caller: {"uuid": DATA_VOLUME, "deleteMode": "Permissive"},
    "CreateVolumeSnapshotGroup": lambda caller: {
        "rootVolumeUuid": VOLUME,
        "name": "before",
        "description": "the upgrade",
        "withMemory": True,
    },
    "DeleteVolumeSnapshotGroup": lambda caller: {
        "uuid": GROUP,
        "direction": "auto",
        "scope": "single",
        "deleteMode": "Permissive",
    },
    "UpdateVolumeSnapshotGroup": lambda caller: {"uuid": GROUP, "name": "renamed", "description": "new"},
    "UngroupVolumeSnapshotGroup": lambda caller: {"uuid": GROUP, "deleteMode": "Permissive"},
    "CheckVolumeSnapshotGroupAvailability": lambda caller: {"uuids": [GROUP, GROUP]},
    "SetNicQos": lambda caller: {"uuid": NIC, "outboundBandwidth": 2**20, "inboundBandwidth": 2**21},
    "DeleteVmNic": lambda caller: {"uuid": seeded(6, 99), "deleteMode": "Permissive"},
    "UpdateHost": lambda caller: {
        "uuid": HOST,
        "name": "renamed",
        "description": "new",
        "managementIp": "10.0.9.8",
    },
    "UpdateKVMHost": lambda caller: {
        "uuid": HOST,
        "name": "renamed",
        "description": "new",
        "managementIp": "10.0.9.8",
        "username": "admin",
        "password": "secret",
        "sshPort": 2222,
    },
    "UpdateHostIpmi": lambda caller: {
        "uuid": HOST,
        "ipmiAddress": "172.31.9.9",
        "ipmiUsername": "operator",
        "ipmiPassword": "secret",
        "ipmiPort": 6623,
    },
    "PowerOnHost": lambda caller: {"uuid": HOST},
    "ShutdownHost": lambda caller: {"uuid": HOST, "force": True, "method": "IPMI"},
    "PowerResetHost": lambda caller: {"uuid": HOST, "method": "AGENT"},
    "DeleteHost": lambda caller: {"uuid": HOST, "deleteMode": "Enforcing"},
    "DeletePrimaryStorage": lambda caller: {"uuid": seeded(8, 99)},
    "CursorQuery": lambda caller: {
        "resourceType": "host",
        "sort": "name",
        "order": "desc",
        "pageSize": 2,
        "filter": ["name!=host-9"],
    },
    "CursorNext": lambda caller: {"cursor": second_page(caller), "pageSize": 1},
}
"""Parameters of a call that succeeds, every documented one if it makes sense. The others are those of scenarios."""


def free_address(caller: Caller) -> str:
    """Return a free address of OTHER_NETWORK: the one after that of a new NIC."""
    vm = caller.call("AttachL3NetworkToVm", vmInstanceUuid=STOPPED_VM, l3NetworkUuid=OTHER_NETWORK)["inventory"]
    used = next(nic["ip"] for nic in vm["vmNics"] if nic["l3NetworkUuid"] == OTHER_NETWORK)
    prefix, dummy, number = used.rpartition(".")
    return f"{prefix}.{int(number) + 1}"


CALLABLE = [name for name in operations() if name != "GetApiJob"]
QUERIES = [name for name, operation in operations().items() if operation.uuid_path]


def switches_of(name: str) -> dict[str, Any]:
    return {"chats": "open"} if name in OPEN_CHATS else {}


def params_of(name: str, caller: Caller) -> dict[str, Any]:
    """Return the parameters in PARAMS, or those of the operation's scenario after preparing its objects."""
    if name in PARAMS:
        return PARAMS[name](caller)
    scenario = next(
        (scenario for scenario in SCENARIOS if (scenario.module, scenario.operation) == ("api", name)), None
    )
    if scenario is None:
        needed = sorted(key for key, parameter in operations()[name].parameters.items() if parameter.required)
        if needed:
            pytest.fail(f"PARAMS needs a line for {name}, with {', '.join(needed)}", pytrace=False)
        return {}
    for kind, uuid, members in scenario.prepare:
        caller.sim.change(kind, uuid, **members)
    return {**scenario.options["params"]}


def test_reply_is_described(sim: Simulator, caller: Caller, subtests: pytest.Subtests) -> None:
    for name, mode in itertools.product(CALLABLE, MODES):
        with subtests.test(f"{name} {mode}"):
            sim.reset(**MODES[mode], **switches_of(name))
            caller.call(name, **params_of(name, caller))


@pytest.mark.parametrize("name", QUERIES)
def test_read_by_uuid_is_described(caller: Caller, name: str) -> None:
    found = caller.call(name, **params_of(name, caller))["inventories"]
    assert found
    uuid = found[0].get("uuid", seeded(14))
    assert caller.read(name, uuid).get("inventories") == [record for record in found if record.get("uuid") == uuid]


@pytest.mark.parametrize("name", [name for name in QUERIES if name != "QuerySNSTopicSubscriber"])
def test_read_by_uuid_may_answer_a_single_inventory(sim: Simulator, caller: Caller, name: str) -> None:
    sim.configure(single_inventory=True)
    (found, *dummy) = caller.call(name, **params_of(name, caller))["inventories"]
    assert caller.read(name, found["uuid"])["inventory"] == found


@pytest.mark.parametrize("name", CALLABLE)
def test_reply_at_once_is_described(sim: Simulator, caller: Caller, name: str) -> None:
    sim.configure(**switches_of(name))
    params = params_of(name, caller)
    sim.configure(sync=True)
    response = caller.send(operations()[name], params)
    assert response.status_code == 200
    assert_described(response.json(), reply_schema(name))


def test_every_field_is_sent(sim: Simulator, caller: Caller) -> None:
    sent: dict[str, set[str]] = {name: set() for name in records()}

    def collect(record: str | None, value: Any) -> None:
        for item in value if isinstance(value, list) else [value]:
            if record in sent and isinstance(item, dict):
                sent[record].update(item)
                for key, field in records()[record].items():
                    collect(field.schema, item.get(key))

    for name in CALLABLE:
        sim.reset(
            null_members=True,
            enable_reply="both",
            disable_reply="inventory",
            error_nesting="both",
            at_person_list="list",
            templates=1,
            **switches_of(name),
        )
        reply = caller.call(name, **params_of(name, caller))
        for member, result in operations()[name].results.items():
            collect(result.schema, reply.get(member))
    collect("ErrorCode", failed(caller)["error"])
    assert {name: fields.keys() - sent[name] for name, fields in records().items() if fields.keys() - sent[name]} == {}


CREATIONS = [name for name in PARAMS if "resourceUuid" in operations()[name].parameters and operations()[name].is_async]
"""Operations that take the uuid of a new record, which is that of an existing one in a read."""


@pytest.mark.parametrize("name", CREATIONS)
def test_creation_takes_the_uuid_of_the_new_record_once(sim: Simulator, caller: Caller, name: str) -> None:
    sim.configure(**switches_of(name))
    params = {**PARAMS[name](caller), "resourceUuid": seeded(99)}
    assert caller.call(name, **params)["inventory"]["uuid"] == seeded(99)
    status, reply = caller.result(name, **params)
    assert (status, reply["error"]["code"]) == (503, "SYS.1007")


# ------------------------------------------------------------------------------------------ failures, refusals, webhook


def failed(caller: Caller) -> Any:
    """Return the reply of a host whose password is wrong."""
    params = {**PARAMS["AddKVMHost"](caller), "password": "wrong-password"}
    status, reply = caller.result("AddKVMHost", **params)
    assert status == 503
    return reply


@pytest.mark.parametrize("mode", MODES)
def test_failure_of_a_job_is_described(sim: Simulator, caller: Caller, mode: str) -> None:
    sim.reset(**MODES[mode])
    reply = failed(caller)
    assert_described(reply, reply_schema("GetApiJob", 503))
    assert reply["error"]["cause" if mode == "literal" else "causes"]


@pytest.mark.parametrize("mode", MODES)
def test_failure_of_a_read_is_described(sim: Simulator, caller: Caller, mode: str) -> None:
    sim.reset(**MODES[mode], session_expired=True)
    status, reply = caller.result("QueryCbtTask")
    assert status == 503
    assert_described(reply, {"$ref": "#/components/schemas/Failure"})


def list_forbidden(operation: Operation, params: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield parameters of a call, one of which the description forbids, each with a label."""
    for name, parameter in operation.parameters.items():
        if name not in params or parameter.where == "path" or parameter.alias_of:
            continue
        if is_required(parameter):
            yield f"without {name}", {key: value for key, value in params.items() if key != name}
        for value in list_forbidden_values(parameter):
            yield f"{name} {str(value)[:20]!r}", {**params, name: value}


def list_forbidden_values(parameter: Parameter) -> Iterator[Any]:
    """Yield values that the description of a parameter forbids."""
    if parameter.choices:
        yield ["unheard-of"] if parameter.type == "list" else "unheard-of"
    if parameter.max_length:
        yield "x" * (parameter.max_length + 1)
    if parameter.bounds:
        yield from (parameter.bounds.start - 1, parameter.bounds.stop, str(parameter.bounds.stop))
    if parameter.refuses_empty:
        yield {"list": [], "dict": {}}[parameter.type]
    if parameter.schema == "NewUuid" and parameter.type == "str":
        yield from ("0123", "0123456789ab1def8123456789abcdef")
    if parameter.where == "body" and not parameter.also_in_query:
        yield from {
            "str": ([], 10),
            "int": ("many", True, 1.5),
            "bool": ("true", 1),
            "list": ("text", *([[10]] if parameter.element_type == "str" else [])),
            "dict": ("text", []),
        }[parameter.type]
    else:
        yield from {"int": ("few",), "bool": ("perhaps",)}.get(parameter.type, ())


def test_what_is_forbidden_is_refused(sim: Simulator, caller: Caller, subtests: pytest.Subtests) -> None:
    for name in CALLABLE:
        sim.reset(**switches_of(name))
        operation, params = operations()[name], params_of(name, caller)
        sim.configure(sync=True)
        before = sim.state()
        for label, forbidden in list_forbidden(operation, params):
            with subtests.test(f"{name} {label}"):
                response = caller.send(operation, forbidden)
                assert response.status_code in (400, 503), response.text
                if response.status_code == 503:
                    assert response.json()["error"]["code"] in ("SYS.1000", "SYS.1007")
        with subtests.test(f"{name} has changed nothing"):
            assert sim.state() == before


OWN_CODES = {"DeleteCbtTask": "SYS.1006", "GetNicQos": "SYS.1007"}
"""Operations with another error for an object that does not exist."""
SUCCEEDS_WITHOUT = {"ExpungeDataVolume"}
"""Operations other than deletions that succeed if their object does not exist."""
NEEDS_OBJECT = {"UnsubscribeSNSTopic", "DeleteNicQos", "DetachL3NetworkFromVm", "DetachDataVolumeFromVm"}
"""Deletions that do not."""


def list_references() -> Iterator[tuple[str, str, str | None]]:
    """Yield each operation and parameter that refers to an object, and the error if that does not exist.

    Most deletions succeed without the object in their path, and filters of lists match nothing.
    """
    for name, operation in operations().items():
        for key in operation.node.get("x-refers-to", {}):
            in_path = operation.parameters[key].where == "path"
            is_deletion = operation.method == "DELETE" and name not in NEEDS_OBJECT
            may_lack = in_path and (is_deletion or name in SUCCEEDS_WITHOUT)
            is_filter = operation.method == "GET" and not operation.parameters[key].required
            succeeds = name not in OWN_CODES and (may_lack or is_filter)
            yield name, key, None if succeeds else OWN_CODES.get(name, "SYS.1003")


@pytest.mark.parametrize(("name", "key", "code"), [*list_references()])
def test_object_that_does_not_exist(sim: Simulator, caller: Caller, name: str, key: str, code: str | None) -> None:
    sim.configure(**switches_of(name))
    absent = seeded(98)
    value = [absent] if operations()[name].parameters[key].type == "list" else absent
    status, reply = caller.result(name, **{**params_of(name, caller), key: value})
    assert (status, reply.get("error", {}).get("code")) == ((503, code) if code else (200, None)), reply


ANSWERED_BY_OTHERS = {
    "GetNicQos",
    "UnexportNbdVolumes",
    "ReconnectHost",
    "UpdateHost",
    "ChangeSNSApplicationEndpointState",
}
"""Companions on whose path a server that lacks them has another operation, such as DeleteNicQos or ChangeHostState."""


@pytest.mark.parametrize("status", [404, 405])
@pytest.mark.parametrize(
    "name", [name for name in CALLABLE if operations()[name].is_companion and name not in ANSWERED_BY_OTHERS]
)
def test_companion_may_be_missing(sim: Simulator, caller: Caller, name: str, status: int) -> None:
    sim.configure(**switches_of(name))
    params = params_of(name, caller)
    sim.configure(companions=str(status))
    assert caller.send(operations()[name], params).status_code == status


@pytest.mark.parametrize("password", ["secret", "wrong-password"])
def test_webhook_is_described(caller: Caller, password: str) -> None:
    (webhook,) = description()["webhooks"].values()
    headers = {parameter["name"]: parameter["schema"] for parameter in webhook["post"]["parameters"]}
    job = "0" * 12 + "4" + "0" * 3 + "8" + "0" * 15
    with WebhookReceiver(200) as receiver:
        params = {**PARAMS["AddKVMHost"](caller), "password": password}
        caller.send(operations()["AddKVMHost"], params, **{"X-Job-UUID": job, "X-Web-Hook": receiver.url})
        received, body = receiver.next()
    for name, schema in headers.items():
        assert_described(received[name], schema)
    assert (received["X-Job-UUID"], received["X-Job-Success"]) == (job, json.dumps(password == "secret"))
    assert_described(body, reply_schema("AddKVMHost") if password == "secret" else reply_schema("GetApiJob", 503))
