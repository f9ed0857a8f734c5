"""The types of objects that the simulator serves from the catalogue."""

from __future__ import annotations

from typing import Any

import pytest

from simulator import catalogue
from simulator.http_client import HttpClient
from simulator.kinds import ADMIN, KINDS
from simulator.launch import Simulator
from simulator.operations import OPERATIONS
from simulator.state.store import seeded_uuid

ZONE, CLUSTER, VM, NETWORK, NIC, L2 = (
    seeded_uuid(k, 1) for k in ("zone", "cluster", "vm", "l3network", "vmnic", "l2network")
)
STORAGE = seeded_uuid("backupstorage", 1)


class Api(HttpClient):
    """Calls operations by their names, as the catalogue describes them."""

    def do(self, name: str, /, **params: Any) -> Any:
        """Call an operation that succeeds, and return its reply."""
        return self.call(*self._build(name, params))

    def start(self, name: str, /, **params: Any) -> None:
        """Call an operation, and do not wait for its job."""
        assert self.send(*self._build(name, params)).status_code == 202

    def refusal(self, name: str, /, **params: Any) -> Any:
        """Return the code of the error of an operation that fails."""
        return self.error_code(*self._build(name, params))

    def read(self, query: str, *conditions: str) -> Any:
        """Return the records of a query."""
        path = catalogue.find(query).path
        return self.query("?".join([path, "&".join(f"q={each}" for each in conditions)]))

    def get(self, name: str, /, **params: Any) -> Any:
        """Return the reply of an operation that answers in place."""
        method, path, dummy = self._build(name, params)
        return self.call(method, path)

    def _build(self, name: str, params: dict[str, Any]) -> tuple[str, str, Any]:
        row = catalogue.find(name)
        path = row.path.format(**params)
        own = {key: value for key, value in params.items() if f"{{{key}}}" not in row.path}
        if row.method == "DELETE":
            pairs = [
                (key, each) for key, value in own.items() for each in (value if isinstance(value, list) else [value])
            ]
            return "DELETE", f"{path}?{'&'.join(f'{key}={each}' for key, each in pairs)}", None
        return row.method, path, {row.body_key or "params": own}


@pytest.fixture
def api(sim: Simulator) -> Api:
    sim.configure(latency=0)
    return Api(sim)


def vip(api: Api) -> str:
    """Return the uuid of a new VIP on another network than the NIC."""
    return str(api.do("CreateVip", name="web", l3NetworkUuid=seeded_uuid("l3network", 2))["inventory"]["uuid"])


def load_balancer(api: Api) -> str:
    return str(api.do("CreateLoadBalancer", name="web", vipUuid=vip(api))["inventory"]["uuid"])


PARAMS: dict[str, Any] = {
    "CreateCluster": {"zoneUuid": ZONE, "hypervisorType": "KVM"},
    "CreateDiskOffering": {"diskSize": 2**30},
    "CreateInstanceOffering": {"cpuNum": 2, "memorySize": 2**30},
    "AddImage": {"url": "https://images.example.com/a.qcow2", "backupStorageUuids": [STORAGE]},
    "CreateL2NoVlanNetwork": {"zoneUuid": ZONE, "physicalInterface": "bond0"},
    "CreateL2VlanNetwork": {"zoneUuid": ZONE, "physicalInterface": "bond0", "vlan": 7},
    "CreateL3Network": {"l2NetworkUuid": L2},
    "CreateAccount": {"password": "secret"},
    "CreateTag": {"value": "red"},
    "CreateSshKeyPair": {"publicKey": "ssh-ed25519 AAAA"},
    "CreateSchedulerJob": {"targetResourceUuid": VM, "type": "startVm"},
    "CreateSchedulerTrigger": {"schedulerType": "cron", "cron": "0 0 1 * * ?"},
    "CreateVip": {"l3NetworkUuid": NETWORK},
    "CreateEip": lambda api: {"vipUuid": vip(api), "vmNicUuid": NIC},
    "CreatePortForwardingRule": lambda api: {"vipUuid": vip(api), "vipPortStart": 80, "protocolType": "TCP"},
    "CreateLoadBalancer": lambda api: {"vipUuid": vip(api)},
    "CreateLoadBalancerListener": lambda api: {"loadBalancerUuid": load_balancer(api), "loadBalancerPort": 80},
}
CREATIONS = [(kind, name) for kind in KINDS for name in kind.creations if name in OPERATIONS]


@pytest.mark.parametrize(("kind", "creation"), CREATIONS, ids=[name for kind, name in CREATIONS])
def test_object_is_created_found_changed_and_removed(api: Api, kind: Any, creation: str) -> None:
    params = PARAMS.get(creation, {})
    made = api.do(creation, name="one", **(params(api) if callable(params) else params))["inventory"]
    assert api.read(f"Query{kind.name}", "name=one") == [made]
    assert "password" not in made
    if kind.name != "Account":
        renamed = api.do(f"Update{kind.name}", uuid=made["uuid"], name="two")["inventory"]
        assert (renamed["uuid"], renamed["name"]) == (made["uuid"], "two")
    change = f"Change{kind.name}State"
    if change in OPERATIONS:
        assert api.do(change, uuid=made["uuid"], stateEvent="disable")["inventory"]["state"] == "Disabled"
    api.do(f"Delete{kind.name}", uuid=made["uuid"])
    left = api.read(f"Query{kind.name}", f"uuid={made['uuid']}")
    assert [record["status"] for record in left] == (["Deleted"] if kind.name == "Image" else [])


def test_removed_cluster_stops_the_vms_of_its_hosts(api: Api) -> None:
    hosts = [host["uuid"] for host in api.sim.records("host") if host["clusterUuid"] == CLUSTER]
    on_them = [vm["uuid"] for vm in api.sim.records("vm") if vm["hostUuid"] in hosts]
    assert on_them
    api.sim.configure(failing_stops=on_them[:1])
    assert api.refusal("DeleteCluster", uuid=CLUSTER) == "SYS.1004"
    api.sim.configure(failing_stops=[])
    api.do("DeleteCluster", uuid=CLUSTER)
    vms = [vm for vm in api.sim.records("vm") if vm["uuid"] in on_them]
    assert [(vm["state"], vm.get("hostUuid")) for vm in vms] == [("Stopped", None)] * len(on_them)
    assert not {nic["hostUuid"] for nic in api.sim.records("hostnic")} & set(hosts)


def test_removed_zone_removes_its_vms_and_keeps_their_volumes(api: Api) -> None:
    """Those on local storages go with their hosts."""
    shared = {each["uuid"] for each in api.sim.records("primarystorage") if each["type"] != "LocalStorage"}
    volumes = {volume["uuid"] for volume in api.read("QueryVolume") if volume["primaryStorageUuid"] in shared}
    task = api.do("CreateCbtTask", name="nightly", taskType="Volume", resourceUuids=[VM])["inventory"]["uuid"]
    api.do("DeleteZone", uuid=ZONE)
    assert api.read("QueryVmInstance") == api.read("QueryHost") == api.read("QueryCluster") == []
    kept = api.read("QueryVolume")
    assert {volume["uuid"] for volume in kept} == volumes
    assert [volume for volume in kept if volume.get("vmInstanceUuid")] == []
    assert task not in {each["uuid"] for each in api.read("QueryCbtTask")}


def test_address_outside_of_the_network_is_refused(api: Api) -> None:
    (network,) = api.read("QueryL3Network", f"uuid={NETWORK}")
    start = network["ipRanges"][0]["startIp"]
    assert api.refusal("CreateVip", name="web", l3NetworkUuid=NETWORK, requiredIp="8.8.8.8") == "SYS.1006"
    assert api.do("CreateVip", name="web", l3NetworkUuid=NETWORK, requiredIp=start)["inventory"]["ip"] == start


def test_image_lives_in_each_of_its_backup_storages(api: Api) -> None:
    other = seeded_uuid("backupstorage", 2)
    params = {**PARAMS["AddImage"], "backupStorageUuids": [STORAGE]}
    image = api.do("AddImage", name="web", **params)["inventory"]["uuid"]
    refs = [{"imageUuid": image, "backupStorageUuid": each, "status": "Ready"} for each in (STORAGE, other)]
    api.sim.change("image", image, backupStorageRefs=refs)

    def show() -> tuple[str, list[str]]:
        (record,) = api.read("QueryImage", f"uuid={image}")
        return record["status"], [ref["status"] for ref in record["backupStorageRefs"]]

    for operation in ("RecoverImage", "ExpungeImage"):
        assert api.refusal(operation, imageUuid=image) == "SYS.1006"
        assert api.refusal(operation, imageUuid=seeded_uuid("image", 99)) == "SYS.1003"
    api.do("DeleteImage", uuid=image, backupStorageUuids=[other])
    assert show() == ("Ready", ["Ready", "Deleted"])
    api.do("DeleteImage", uuid=image)
    assert show() == ("Deleted", ["Deleted", "Deleted"])
    api.do("RecoverImage", imageUuid=image)
    assert show() == ("Ready", ["Ready", "Ready"])
    api.do("DeleteImage", uuid=image)
    api.do("ExpungeImage", imageUuid=image, backupStorageUuids=[other])
    assert show() == ("Deleted", ["Deleted"])
    api.do("ExpungeImage", imageUuid=image)
    assert api.read("QueryImage", f"uuid={image}") == []


def test_deleted_iso_leaves_the_cd_rom(api: Api) -> None:
    iso, vm = seeded_uuid("image", 2), seeded_uuid("vm", 2)
    api.do("AttachIsoToVmInstance", vmInstanceUuid=vm, isoUuid=iso)
    api.do("DeleteImage", uuid=iso)
    (record,) = api.read("QueryVmInstance", f"uuid={vm}")
    assert [cd_rom.get("isoUuid") for cd_rom in record["vmCdRoms"]] == [None] * len(record["vmCdRoms"])


def test_settings_of_a_vm(api: Api) -> None:
    assert api.get("GetVmInstanceHaLevel", uuid=VM) == {}
    api.do("SetVmInstanceHaLevel", uuid=VM, level="NeverStop")
    assert api.get("GetVmInstanceHaLevel", uuid=VM)["level"] == "NeverStop"
    api.do("DeleteVmInstanceHaLevel", uuid=VM)
    api.do("DeleteVmInstanceHaLevel", uuid=VM)
    assert api.get("GetVmBootOrder", uuid=VM)["orders"] == ["HardDisk"]
    api.do("SetVmBootOrder", uuid=VM, bootOrder=["CdRom", "HardDisk"])
    assert api.get("GetVmBootOrder", uuid=VM)["orders"] == ["CdRom", "HardDisk"]
    assert api.refusal("SetVmBootOrder", uuid=VM, bootOrder=["Floppy"]) == "SYS.1007"
    api.do("SetVmBootOrder", uuid=VM)
    assert api.get("GetVmBootOrder", uuid=VM)["orders"] == ["HardDisk"]


def test_image_is_ready_when_its_job_ends_and_gone_if_it_fails(api: Api) -> None:
    image = api.do("AddImage", name="web", **PARAMS["AddImage"])["inventory"]
    assert image["status"] == "Ready"
    api.sim.fault("fail", "AddImage", error={"code": "SYS.1006", "details": "no such file"})
    api.refusal("AddImage", name="broken", **PARAMS["AddImage"])
    assert api.read("QueryImage", "name=broken") == []


@pytest.mark.parametrize(
    ("creation", "query", "status"),
    [("AddImage", "QueryImage", "Downloading"), ("CreateDataVolume", "QueryVolume", "Creating")],
)
def test_object_is_not_ready_until_its_job_ends(api: Api, creation: str, query: str, status: str) -> None:
    params = PARAMS.get(creation, {"diskSize": 2**30, "primaryStorageUuid": seeded_uuid("primarystorage", 1)})
    api.sim.configure(latency=600)
    api.start(creation, name="new", **params)
    assert [each["status"] for each in api.read(query, "name=new")] == [status]
    api.sim.advance()
    assert [each["status"] for each in api.read(query, "name=new")] == ["Ready"]


def test_created_objects_show_what_was_given(api: Api) -> None:
    offering = api.do("CreateDiskOffering", name="data", diskSize=2**30, allocationStrategy="Other")["inventory"]
    assert offering["allocatorStrategy"] == "Other"
    network = api.do("CreateL3Network", name="web", l2NetworkUuid=L2, ipVersion=6, dnsDomain="a.example.com")
    assert (network["inventory"]["ipVersion"], network["inventory"]["dnsDomain"]) == (6, "a.example.com")
    assert api.refusal("CreateL3Network", name="web", l2NetworkUuid=L2, ipVersion=5) == "SYS.1007"
    assert api.refusal("AddImage", name="web", **{**PARAMS["AddImage"], "backupStorageUuids": []}) == "SYS.1007"
    first, second = (seeded_uuid("iprange", number) for number in (1, 2))
    address = api.do("CreateVip", name="web", l3NetworkUuid=NETWORK, ipRangeUuid=first)["inventory"]
    assert address["ipRangeUuid"] == first
    assert api.refusal("CreateEip", name="web", vipUuid=address["uuid"], vmNicUuid=NIC) == "SYS.1007"
    ports = {"vipUuid": address["uuid"], "protocolType": "TCP", "vipPortStart": 80, "vipPortEnd": 89}
    assert api.refusal("CreatePortForwardingRule", name="web", privatePortStart=80, **ports) == "SYS.1007"
    rule = api.do("CreatePortForwardingRule", name="web", **ports)["inventory"]
    assert (rule["privatePortStart"], rule["privatePortEnd"]) == (80, 89)
    assert api.refusal("CreateVip", name="web", l3NetworkUuid=NETWORK, ipRangeUuid=second) == "SYS.1006"


def test_reference_to_no_object_is_refused(api: Api) -> None:
    assert api.refusal("CreateL3Network", name="one", l2NetworkUuid=seeded_uuid("l2network", 99)) == "SYS.1003"


def test_quota_that_is_reached_refuses_the_next_object(api: Api) -> None:
    api.do("UpdateQuota", identityUuid=ADMIN, name="image.num", value=1)
    assert api.refusal("AddImage", name="web", **PARAMS["AddImage"]) == "ID.1003"


def test_address_range_has_its_network_and_overlaps_with_none(api: Api) -> None:
    network = api.do("CreateL3Network", name="web", l2NetworkUuid=L2)["inventory"]["uuid"]
    params = {"l3NetworkUuid": network, "name": "low", "startIp": "10.9.0.10", "endIp": "10.9.0.20"}
    made = api.do("AddIpRange", **params, netmask="255.255.255.0", gateway="10.9.0.1")["inventory"]
    assert api.read("QueryIpRange", f"l3NetworkUuid={network}") == [made]
    assert (
        api.refusal("AddIpRangeByNetworkCidr", l3NetworkUuid=network, name="all", networkCidr="10.9.0.0/24")
        == "SYS.1006"
    )
    api.do("DeleteIpRange", uuid=made["uuid"])
    assert api.read("QueryIpRange", f"l3NetworkUuid={network}") == []


def test_rules_of_a_security_group(api: Api) -> None:
    group = api.do("CreateSecurityGroup", name="web")["inventory"]["uuid"]
    rule = {"type": "Ingress", "protocol": "TCP", "dstPortRange": "80"}
    (made,) = api.do("AddSecurityGroupRule", securityGroupUuid=group, rules=[rule])["inventory"]["rules"]
    assert api.refusal("AddSecurityGroupRule", securityGroupUuid=group, rules=[rule]) == "SYS.1007"
    both = {**rule, "srcIpRange": "10.0.0.0/8", "remoteSecurityGroupUuid": group}
    assert api.refusal("AddSecurityGroupRule", securityGroupUuid=group, rules=[both]) == "SYS.1007"
    changed = api.do("ChangeSecurityGroupRule", uuid=made["uuid"], description="web")["inventory"]
    assert (changed["uuid"], changed["description"], changed["dstPortRange"]) == (made["uuid"], "web", "80")
    api.do("AddSecurityGroupRule", securityGroupUuid=group, rules=[{**rule, "dstPortRange": "81"}])
    assert api.refusal("ChangeSecurityGroupRule", uuid=made["uuid"], dstPortRange="81") == "SYS.1007"
    (rules,) = [each["rules"] for each in api.read("QuerySecurityGroup", f"uuid={group}")]
    (other,) = [each for each in rules if each["uuid"] != made["uuid"]]
    api.do("DeleteSecurityGroupRule", ruleUuids=[other["uuid"]])
    assert api.do("DeleteSecurityGroupRule", ruleUuids=[made["uuid"]])["inventory"]["rules"] == []


def test_removal_removes_what_exists_only_with_the_object(api: Api) -> None:
    address = vip(api)
    api.do("CreateEip", name="web", vipUuid=address, vmNicUuid=NIC)
    api.do("DeleteVip", uuid=address)
    assert api.read("QueryEip") == []


def test_networks_of_a_cluster(api: Api) -> None:
    api.do("DetachL2NetworkFromCluster", l2NetworkUuid=L2, clusterUuid=CLUSTER)
    (network,) = api.read("QueryL2Network", f"uuid={L2}")
    assert CLUSTER not in network["attachedClusterUuids"]
    api.do("AttachL2NetworkToCluster", l2NetworkUuid=L2, clusterUuid=CLUSTER)
    assert api.refusal("AttachL2NetworkToCluster", l2NetworkUuid=L2, clusterUuid=CLUSTER) == "SYS.1006"


def test_members_of_groups(api: Api) -> None:
    security, affinity = (
        api.do(f"Create{name}", name="web")["inventory"]["uuid"] for name in ("SecurityGroup", "AffinityGroup")
    )
    api.do("AddVmNicToSecurityGroup", securityGroupUuid=security, vmNicUuids=[NIC])
    assert [row["vmNicUuid"] for row in api.read("QueryVmNicInSecurityGroup", f"securityGroupUuid={security}")] == [NIC]
    api.do("DeleteVmNicFromSecurityGroup", securityGroupUuid=security, vmNicUuids=[NIC])
    assert api.read("QueryVmNicInSecurityGroup") == []
    usages = api.do("AddVmToAffinityGroup", affinityGroupUuid=affinity, uuid=VM)["inventory"]["usages"]
    assert [usage["resourceUuid"] for usage in usages] == [VM]
    assert api.do("RemoveVmFromAffinityGroup", affinityGroupUuid=affinity, uuid=VM)["inventory"]["usages"] == []


@pytest.mark.parametrize("removal", ["vm", "nic", "network"])
def test_nic_that_is_removed_is_used_by_nothing(api: Api, removal: str) -> None:
    security = api.do("CreateSecurityGroup", name="web")["inventory"]["uuid"]
    affinity = api.do("CreateAffinityGroup", name="web")["inventory"]["uuid"]
    other = seeded_uuid("l3network", 2)
    addresses = [api.do("CreateVip", name=name, l3NetworkUuid=other)["inventory"]["uuid"] for name in "abc"]
    port = {"vipPortStart": 80, "protocolType": "TCP"}
    balancer = api.do("CreateLoadBalancer", name="web", vipUuid=addresses[2])["inventory"]["uuid"]
    listener = api.do("CreateLoadBalancerListener", name="web", loadBalancerUuid=balancer, loadBalancerPort=80)
    api.do("AddVmNicToSecurityGroup", securityGroupUuid=security, vmNicUuids=[NIC])
    api.do("AddVmToAffinityGroup", affinityGroupUuid=affinity, uuid=VM)
    api.do("CreateEip", name="web", vipUuid=addresses[0], vmNicUuid=NIC)
    api.do("CreatePortForwardingRule", name="web", vipUuid=addresses[1], vmNicUuid=NIC, **port)
    api.do("AddVmNicToLoadBalancer", listenerUuid=listener["inventory"]["uuid"], vmNicUuids=[NIC])
    if removal == "vm":
        api.call("DELETE", f"vm-instances/{VM}")
        api.call("PUT", f"vm-instances/{VM}/actions", {"expungeVmInstance": {}})
    elif removal == "nic":
        api.call("DELETE", f"vm-instances/nics/{NIC}")
    else:
        api.do("DeleteL3Network", uuid=NETWORK)
    assert api.read("QueryVmNicInSecurityGroup") == []
    assert ["vmNicUuid" in rule for rule in (*api.read("QueryEip"), *api.read("QueryPortForwardingRule"))] == [
        False
    ] * 2
    assert [each["vmNicRefs"] for each in api.read("QueryLoadBalancerListener")] == [[]]
    assert [len(group["usages"]) for group in api.read("QueryAffinityGroup")] == [0 if removal == "vm" else 1]


def test_account_owns_objects(api: Api) -> None:
    account = api.do("CreateAccount", name="ops", password="secret")["inventory"]["uuid"]
    api.do("ChangeResourceOwner", accountUuid=account, resourceUuid=VM)
    assert [row["resourceUuid"] for row in api.read("QueryAccountResourceRef", f"accountUuid={account}")] == [VM]
    assert api.refusal("CreateAccount", name="ops", password="secret") == "SYS.1006"


def test_data_volume_without_a_storage_is_not_instantiated(api: Api) -> None:
    assert api.do("CreateDataVolume", name="data", diskSize=2**30)["inventory"]["status"] == "NotInstantiated"
    storage = seeded_uuid("primarystorage", 1)
    volume = api.do("CreateDataVolume", name="data", diskSize=2**30, primaryStorageUuid=storage)["inventory"]
    assert (volume["status"], volume["size"], volume["primaryStorageUuid"]) == ("Ready", 2**30, storage)


def test_data_volume_is_attached_grown_and_detached(api: Api) -> None:
    volume = api.do("CreateDataVolume", name="data", diskSize=2**30)["inventory"]["uuid"]
    attached = api.do("AttachDataVolumeToVm", volumeUuid=volume, vmInstanceUuid=VM)["inventory"]
    assert (attached["status"], attached["vmInstanceUuid"], attached["deviceId"]) == ("Ready", VM, 2)
    assert api.refusal("AttachDataVolumeToVm", volumeUuid=volume, vmInstanceUuid=seeded_uuid("vm", 2)) == "SYS.1006"
    assert api.do("ResizeDataVolume", uuid=volume, size=2**31)["inventory"]["size"] == 2**31
    assert api.refusal("ResizeDataVolume", uuid=volume, size=2**30) == "SYS.1007"
    assert api.refusal("ResizeRootVolume", uuid=volume, size=2**40) == "SYS.1007"
    assert "vmInstanceUuid" not in api.do("DetachDataVolumeFromVm", uuid=volume)["inventory"]
    assert api.refusal("DetachDataVolumeFromVm", uuid=volume) == "SYS.1006"
