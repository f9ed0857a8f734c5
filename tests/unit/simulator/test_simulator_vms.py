"""The simulator's virtual machines and their NICs."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.http_client import HttpClient
from simulator.launch import Simulator
from simulator.state.store import seeded_uuid

GROUP = f"vm-instances/from/volume-snapshots/group/{seeded_uuid('snapshotgroup', 1)}"
VM = seeded_uuid("vm", 1)
NIC = seeded_uuid("vmnic", 1)


@pytest.fixture
def api(sim: Simulator) -> HttpClient:
    return HttpClient(sim)


def network(number: int) -> str:
    return seeded_uuid("l3network", number)


def create(**params: Any) -> dict[str, Any]:
    return {"params": {"name": "restored", **params}}


def test_create_vm_from_snapshot_group(api: HttpClient) -> None:
    vm = api.inventory("POST", GROUP, create(description="copy", l3NetworkUuids=[network(2)]))
    assert (vm["name"], vm["state"], vm["type"]) == ("restored", "Running", "UserVm")
    assert vm["hostUuid"] == seeded_uuid("host", 1)
    assert [volume["type"] for volume in vm["allVolumes"]] == ["Root", "Data"]
    assert vm["rootVolumeUuid"] == vm["allVolumes"][0]["uuid"] != seeded_uuid("volume", 1)
    (nic,) = vm["vmNics"]
    assert (nic["l3NetworkUuid"], nic["vmInstanceUuid"]) == (network(2), vm["uuid"])
    assert nic["usedIps"][0]["ip"] == nic["ip"]
    assert vm["defaultL3NetworkUuid"] == network(2)
    assert api.query(f"vm-instances?q=vmNics.uuid={nic['uuid']}") == [vm]


def test_create_vm_stopped_with_a_size_and_a_used_name(api: HttpClient) -> None:
    first = api.inventory("POST", GROUP, create(strategy="CreateStopped", cpuNum=8, memorySize=2**33))
    assert (first["state"], first["cpuNum"], first["memorySize"]) == ("Stopped", 8, 2**33)
    assert "hostUuid" not in first
    second = api.inventory("POST", GROUP, create(instanceOfferingUuid=seeded_uuid("instanceoffering", 1)))
    assert (second["cpuNum"], second["memorySize"]) == (4, 2**33)
    assert len(api.query("vm-instances?q=name=restored")) == 2


def test_create_vm_on_the_given_host_and_storage(api: HttpClient) -> None:
    host, storage = seeded_uuid("host", 2), seeded_uuid("primarystorage", 2)
    vm = api.inventory("POST", GROUP, create(hostUuid=host, primaryStorageUuidForRootVolume=storage, vmEncryption=True))
    assert (vm["hostUuid"], vm["clusterUuid"]) == (host, seeded_uuid("cluster", 2))
    assert vm["allVolumes"][0]["primaryStorageUuid"] == storage
    assert vm["allVolumes"][0]["encrypted"] is True


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"l3NetworkUuids": [network(1), network(2)]}, "SYS.1007"),
        ({"l3NetworkUuids": [network(1)], "defaultL3NetworkUuid": network(2)}, "SYS.1007"),
        ({"l3NetworkUuids": [network(99)]}, "SYS.1003"),
        ({"clusterUuid": seeded_uuid("cluster", 99)}, "SYS.1003"),
        ({"instanceOfferingUuid": seeded_uuid("instanceoffering", 99)}, "SYS.1003"),
    ],
)
def test_create_vm_rejects_invalid_params(api: HttpClient, params: dict[str, Any], code: str) -> None:
    assert api.error_code("POST", GROUP, create(**params)) == code
    assert len(api.sim.records("vm")) == 6


def test_create_vm_takes_numeric_strings(api: HttpClient) -> None:
    vm = api.inventory("POST", GROUP, create(cpuNum="3", memorySize=" 1073741824 "))
    assert (vm["cpuNum"], vm["memorySize"]) == (3, 2**30)


def test_create_vm_on_several_networks(api: HttpClient) -> None:
    vm = api.inventory("POST", GROUP, create(l3NetworkUuids=[network(1), network(2)], defaultL3NetworkUuid=network(2)))
    assert [nic["deviceId"] for nic in vm["vmNics"]] == [0, 1]
    assert vm["defaultL3NetworkUuid"] == network(2)


def test_create_vm_fails_without_group_or_host(api: HttpClient) -> None:
    assert api.error_code("POST", GROUP[:-1] + "9", create()) == "SYS.1003"
    api.sim.change("host", seeded_uuid("host", 1), state="Maintenance")
    api.sim.change("host", seeded_uuid("host", 3), status="Connecting")
    error = api.error("POST", GROUP, create())
    assert error["code"] == "SYS.1090"
    assert [cause["details"].partition("] ")[2] for cause in error["causes"]] == [
        "is Maintenance and Connected",
        "is Enabled and Connecting",
    ]


def test_destroyed_vm_keeps_its_record_and_name(api: HttpClient) -> None:
    for dummy in range(2):
        assert api.call("DELETE", f"vm-instances/{VM}") == {}
    (vm,) = api.query(f"vm-instances/{VM}")
    assert (vm["name"], vm["state"], vm.get("hostUuid")) == ("vm-1", "Destroyed", None)
    assert api.call("DELETE", f"vm-instances/{seeded_uuid('vm', 99)}?deleteMode=Permissive") == {}


def attach(number: int, vm: str = VM) -> str:
    return f"vm-instances/{vm}/l3-networks/{network(number)}"


def test_attach_adds_a_second_nic(api: HttpClient) -> None:
    assert len(api.inventory("POST", attach(2), {"params": {}})["vmNics"]) == 2
    vm = api.inventory("POST", attach(2), {"params": {}})
    assert [nic["l3NetworkUuid"] for nic in vm["vmNics"]] == [network(1), network(2), network(2)]
    assert len({nic["ip"] for nic in vm["vmNics"]}) == 3
    assert len({nic["mac"] for nic in vm["vmNics"]}) == 3
    assert {nic["state"] for nic in vm["vmNics"]} == {"enable"}


def test_attach_can_refuse_a_second_nic(api: HttpClient) -> None:
    api.sim.configure(attach_duplicates="refuse")
    assert api.error_code("POST", attach(1), {"params": {}}) == "SYS.1006"
    assert len(api.inventory("POST", attach(2), {"params": {}})["vmNics"]) == 2


def test_attach_takes_an_address(api: HttpClient) -> None:
    params = {"staticIp": "10.102.0.77", "customMac": "FA:00:00:AA:BB:CC", "driverType": "e1000"}
    nic = api.inventory("POST", attach(2), {"params": params})["vmNics"][1]
    assert (nic["ip"], nic["mac"], nic["driverType"]) == ("10.102.0.77", "fa:00:00:aa:bb:cc", "e1000")
    assert api.query("vm-instances/nics?q=ip=10.102.0.77") == [nic]
    assert api.error_code("POST", attach(2), {"params": {"staticIp": "10.102.0.77"}}) == "SYS.1007"
    assert api.error_code("POST", attach(2), {"params": {"customMac": params["customMac"]}}) == "SYS.1007"


@pytest.mark.parametrize("params", [{"staticIp": "10.103.0.77"}, {"staticIp": "x"}, {"customMac": "x"}])
def test_attach_rejects_invalid_addresses(api: HttpClient, params: dict[str, Any]) -> None:
    assert api.error_code("POST", attach(2), {"params": params}) == "SYS.1007"


def test_attach_needs_a_running_or_stopped_vm(api: HttpClient) -> None:
    api.sim.change("vm", VM, state="Paused")
    assert api.error_code("POST", attach(2), {"params": {}}) == "SYS.1006"
    stopped = seeded_uuid("vm", 2)
    assert len(api.inventory("POST", attach(2, stopped), {"params": {}})["vmNics"]) == 2
    assert api.error_code("POST", attach(99), {"params": {}}) == "SYS.1003"
    assert api.error_code("POST", attach(2, seeded_uuid("vm", 99)), {"params": {}}) == "SYS.1003"


def nic_state(state: Any) -> dict[str, Any]:
    return {"changeVmNicState": {"state": state}}


def test_nic_is_enabled_and_disabled(api: HttpClient) -> None:
    path = f"vm-instances/nics/{NIC}/actions"
    for state in ("disable", "disable", "enable"):
        vm = api.inventory("PUT", path, nic_state(state))
        assert (vm["uuid"], vm["vmNics"][0]["state"]) == (VM, state)
    error = api.error("PUT", path, nic_state("enable"))
    assert (error["code"], "duplicate mac" in error["details"]) == ("SYS.1007", True)
    api.sim.configure(enable_enabled_nic="permit")
    assert api.inventory("PUT", path, nic_state("enable"))["vmNics"][0]["state"] == "enable"
    for wrong in ("Enable", "enabled", "", None):
        assert api.error_code("PUT", path, nic_state(wrong)) == "SYS.1007"
    assert (
        api.error_code("PUT", f"vm-instances/nics/{seeded_uuid('vmnic', 99)}/actions", nic_state("enable"))
        == "SYS.1003"
    )


def move(number: int, nic: str = NIC) -> str:
    return f"vm-instances/nics/{nic}/l3-networks/{network(number)}"


def test_change_nic_network(api: HttpClient) -> None:
    before = api.query(f"vm-instances/nics/{NIC}")[0]
    nic = api.inventory("POST", move(3), {"params": {"staticIp": "10.103.0.50"}})
    assert (nic["uuid"], nic["l3NetworkUuid"], nic["ip"], nic["mac"]) == (NIC, network(3), "10.103.0.50", before["mac"])
    assert nic["usedIps"][0]["ipRangeUuid"] == seeded_uuid("iprange", 3)
    (vm,) = api.query(f"vm-instances/{VM}")
    assert (vm["vmNics"], vm["defaultL3NetworkUuid"]) == ([nic], network(3))
    assert api.inventory("POST", move(2))["ip"].startswith("10.102.")


def test_change_nic_network_rejects_invalid_params(api: HttpClient) -> None:
    assert api.error_code("POST", move(99), {"params": {}}) == "SYS.1003"
    assert api.error_code("POST", move(2, seeded_uuid("vmnic", 99)), {"params": {}}) == "SYS.1003"
    assert api.error_code("POST", move(2), {"params": {"staticIp": "10.101.0.50"}}) == "SYS.1007"
    api.sim.configure(nic_services=[NIC])
    assert api.error_code("POST", move(2), {"params": {}}) == "SYS.1006"


def test_nic_qos_is_deleted_by_direction(api: HttpClient) -> None:
    path = f"vm-instances/{NIC}/nic-qos"
    assert api.sim.state()["qos"] == {NIC: {"in": 10485760, "out": 10485760}}
    for dummy in range(2):
        assert api.call("DELETE", f"{path}?direction=in") == {}
        assert api.sim.state()["qos"] == {NIC: {"out": 10485760}}
    assert api.error_code("DELETE", path) == "SYS.1007"
    assert api.error_code("DELETE", f"{path}?direction=both") == "SYS.1007"
    assert api.error_code("DELETE", f"vm-instances/{VM}/nic-qos?direction=in") == "SYS.1003"


def test_nic_qos_is_read_and_nic_is_detached(api: HttpClient) -> None:
    (nic, *dummy) = api.query(f"vm-instances/{VM}")[0]["vmNics"]
    path = f"vm-instances/{nic['uuid']}/nic-qos"
    assert api.call("GET", path) == {"outboundBandwidth": 10485760, "inboundBandwidth": 10485760}
    api.call("DELETE", f"{path}?direction=in")
    assert api.call("GET", path) == {"outboundBandwidth": 10485760, "inboundBandwidth": -1}
    api.inventory("POST", attach(2), {"params": {}})
    vm = api.inventory("DELETE", f"vm-instances/nics/{nic['uuid']}")
    assert [remaining["l3NetworkUuid"] for remaining in vm["vmNics"]] == [network(2)] == [vm["defaultL3NetworkUuid"]]
    assert api.error_code("DELETE", f"vm-instances/nics/{nic['uuid']}") == "SYS.1003"


def test_nic_qos_is_set_by_direction(api: HttpClient) -> None:
    path, actions = f"vm-instances/{NIC}/nic-qos", f"vm-instances/{NIC}/actions"
    api.call("PUT", actions, {"setNicQos": {"inboundBandwidth": 8192}})
    assert api.call("GET", path) == {"outboundBandwidth": 10485760, "inboundBandwidth": 8192}
    for params in ({}, {"inboundBandwidth": 8191}, {"outboundBandwidth": 32212254721}):
        assert api.error_code("PUT", actions, {"setNicQos": params}) == "SYS.1007"
    assert api.error_code("PUT", f"vm-instances/{VM}/actions", {"setNicQos": {"inboundBandwidth": 8192}}) == "SYS.1003"
    assert api.error_code("GET", f"vm-instances/{VM}/nic-qos") == "SYS.1007"
    api.sim.configure(offering_limits=[NIC])
    assert api.call("DELETE", f"{path}?direction=in") == {}
    assert api.call("GET", path)["inboundBandwidth"] == 8192


def test_nic_is_detached_only_from_a_running_or_stopped_vm(api: HttpClient) -> None:
    api.sim.change("vm", VM, state="Paused")
    error = api.error("DELETE", f"vm-instances/nics/{NIC}")
    assert (error["code"], error["causes"][0]["code"]) == ("SYS.1006", "VM.1010")
    assert api.error_code("DELETE", f"nics/{NIC}") == "SYS.1006"
    assert len(api.query(f"vm-instances/nics/{NIC}")) == 1
    api.sim.change("vm", VM, state="Stopped")
    api.call("DELETE", f"vm-instances/nics/{NIC}")
    assert api.call("DELETE", f"nics/{NIC}") == {}


def test_nic_qos_is_deleted_by_get_without_its_read(api: HttpClient) -> None:
    """Without GetNicQos, the path has only the operation DeleteNicQos, which takes any verb."""
    api.sim.configure(all_companions=False)
    (nic, *dummy) = api.query(f"vm-instances/{VM}")[0]["vmNics"]
    assert api.send("GET", f"vm-instances/{nic['uuid']}/nic-qos?direction=in").status_code == 202
    api.sim.advance()
    assert api.sim.state()["qos"] == {nic["uuid"]: {"out": 10485760}}


def act(api: HttpClient, action: str, **params: Any) -> Any:
    return api.inventory("PUT", f"vm-instances/{VM}/actions", {action: params})


def act_code(api: HttpClient, action: str, **params: Any) -> str:
    return str(api.error_code("PUT", f"vm-instances/{VM}/actions", {action: params}))


def test_vm_is_stopped_and_started(api: HttpClient) -> None:
    for dummy in range(2):
        vm = act(api, "stopVmInstance", type="cold")
        assert (vm["state"], vm.get("hostUuid"), vm["lastHostUuid"]) == ("Stopped", None, seeded_uuid("host", 1))
    for dummy in range(2):
        vm = act(api, "startVmInstance")
        assert (vm["state"], vm["hostUuid"]) == ("Running", seeded_uuid("host", 1))
    api.call("DELETE", f"vm-instances/{VM}")
    assert act_code(api, "startVmInstance") == act_code(api, "stopVmInstance") == "VM.1010"


def test_vm_starts_on_a_usable_host(api: HttpClient) -> None:
    """The requested host takes precedence. A VM on local storage needs the host that has its disks."""
    act(api, "stopVmInstance")
    other = seeded_uuid("host", 3)
    assert act(api, "startVmInstance", hostUuid=other, clusterUuid=seeded_uuid("cluster", 2))["hostUuid"] == other
    act(api, "stopVmInstance")
    api.sim.change("host", other, state="Maintenance")
    assert act_code(api, "startVmInstance", hostUuid=other) == "SYS.1006"
    api.sim.change("primarystorage", seeded_uuid("primarystorage", 1), type="LocalStorage")
    assert act_code(api, "startVmInstance") == "SYS.1006"
    api.sim.change("host", other, state="Enabled")
    assert act(api, "startVmInstance")["hostUuid"] == other


def test_vm_migrates_to_the_candidate_hosts(api: HttpClient) -> None:
    other, targets = seeded_uuid("host", 3), f"vm-instances/{VM}/migration-target-hosts"
    assert [host["uuid"] for host in api.query(targets)] == [other]
    assert act_code(api, "migrateVm", hostUuid=seeded_uuid("host", 2)) == "SYS.1006"
    assert act(api, "migrateVm")["hostUuid"] == other
    api.sim.change("host", seeded_uuid("host", 1), state="Disabled")
    assert api.query(targets) == []
    assert act_code(api, "migrateVm") == "SYS.1006"
    act(api, "stopVmInstance")
    assert api.error_code("GET", targets) == "VM.1010"
    error = api.error("PUT", f"vm-instances/{VM}/actions", {"migrateVm": {}})
    assert (error["code"], error["causes"][0]["code"]) == ("VM.1008", "VM.1010")


def test_vm_migrates_in_three_states(api: HttpClient) -> None:
    """A maintenance, too, leaves a paused VM paused."""
    hosts = [seeded_uuid("host", number) for number in (1, 3)]
    for state, after in (("Paused", "Paused"), ("Unknown", "Running"), ("Running", "Running")):
        api.sim.change("vm", VM, state=state, hostUuid=hosts[0])
        assert act_code(api, "migrateVm", hostUuid=hosts[0]) == "SYS.1007"
        vm = act(api, "migrateVm", hostUuid=hosts[1])
        assert (vm["state"], vm["hostUuid"]) == (after, hosts[1])
    api.sim.change("vm", VM, state="Paused", hostUuid=hosts[0])
    assert [host["uuid"] for host in api.query(f"vm-instances/{VM}/migration-target-hosts")] == hosts[1:]
    api.inventory("PUT", f"hosts/{hosts[0]}/actions", {"changeHostState": {"stateEvent": "maintain"}})
    (vm,) = api.query(f"vm-instances/{VM}")
    assert (vm["state"], vm["hostUuid"]) == ("Paused", hosts[1])


def test_vm_on_local_storage_does_not_migrate(api: HttpClient) -> None:
    api.sim.change("primarystorage", seeded_uuid("primarystorage", 1), type="LocalStorage")
    assert act_code(api, "migrateVm") == "SYS.1006"


def test_action_of_a_vm_must_be_known(api: HttpClient) -> None:
    response = api.send("PUT", f"vm-instances/{VM}/actions", {"params": {}})
    assert (response.status_code, response.text) == (400, "the body doesn't contain action mapping")
    api.sim.configure(all_companions=False)
    assert api.send("PUT", f"vm-instances/{VM}/actions", {"startVmInstance": {}}).status_code == 404
