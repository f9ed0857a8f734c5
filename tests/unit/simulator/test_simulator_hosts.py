"""The simulator's hosts: adding, states, network interfaces, services."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.http_client import HttpClient
from simulator.launch import Simulator
from simulator.state.store import seeded_uuid

HOST = seeded_uuid("host", 1)
CLUSTER = seeded_uuid("cluster", 1)


@pytest.fixture
def api(sim: Simulator) -> HttpClient:
    return HttpClient(sim)


def new_host(**params: Any) -> dict[str, Any]:
    given = {
        "username": "root",
        "password": "secret",
        "name": "new",
        "managementIp": "10.9.9.9",
        "clusterUuid": CLUSTER,
    }
    return {"params": {**given, **params}}


def state_event(event: str) -> dict[str, Any]:
    return {"changeHostState": {"stateEvent": event}}


def test_add_host_returns_a_connected_host(api: HttpClient) -> None:
    host = api.inventory("POST", "hosts/kvm", new_host(description="", sshPort=2222))
    assert host["status"] == "Connected"
    assert host["state"] == "Enabled"
    assert host["description"] == ""
    assert host["zoneUuid"] == seeded_uuid("zone", 1)
    assert "password" not in host
    assert api.query(f"hosts/{host['uuid']}") == [host]
    facts = api.call("GET", f"hosts/network-facts/{host['uuid']}")
    assert [nic["interfaceName"] for nic in facts["nics"]] == ["eth0", "eth1", "eth2", "eth3"]


def test_add_host_shows_the_host_as_connecting(api: HttpClient) -> None:
    api.sim.configure(latency=600.0)
    response = api.send("POST", "hosts/kvm", new_host())
    assert [host["status"] for host in api.query("hosts?q=name=new")] == ["Connecting"]
    api.sim.advance()
    assert api.wait_for_job(response).status_code == 200
    assert [host["status"] for host in api.query("hosts?q=name=new")] == ["Connected"]


def test_add_host_echoes_a_wrong_password_and_removes_the_host(api: HttpClient) -> None:
    error = api.error("POST", "hosts/kvm", new_host(password="wrong-password"))
    assert (error["code"], error["details"]) == ("HOST.1003", "connection error for KVM host")
    (reason,) = error["causes"]
    assert "ssh root:wrong-password@10.9.9.9" in reason["details"]
    assert "cause" not in error
    assert api.query("hosts?q=name=new") == []


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"managementIp": "10.0.0.11"}, "SYS.1007"),
        ({"managementIp": "10.0.0.256"}, "SYS.1007"),
        ({"managementIp": "10.9.9"}, "SYS.1007"),
        ({"managementIp": "fe80::1"}, "SYS.1007"),
        ({"managementIp": "-kvm"}, "SYS.1007"),
        ({"managementIp": "two words"}, "SYS.1007"),
        ({"managementIp": ""}, "SYS.1007"),
        ({"clusterUuid": seeded_uuid("cluster", 99)}, "SYS.1003"),
    ],
)
def test_add_host_rejects_invalid_params(api: HttpClient, params: dict[str, Any], code: str) -> None:
    assert api.error_code("POST", "hosts/kvm", new_host(**params)) == code
    assert len(api.sim.records("host")) == 3


def test_add_host_takes_host_names_and_numeric_strings(api: HttpClient) -> None:
    host = api.inventory("POST", "hosts/kvm", new_host(managementIp="kvm-9.example.com", sshPort=" 22 "))
    assert host["managementIp"] == "kvm-9.example.com"
    assert api.error_code("POST", "hosts/kvm", new_host(managementIp="kvm-9.example.com")) == "SYS.1007"


def test_add_host_trims_strings_and_stores_tags(api: HttpClient) -> None:
    body = new_host(name=" " + "x" * 255 + " ", systemTags=["inside"], unknown={"a": 1})
    body["systemTags"] = ["pageTableExtensionDisabled"]
    host = api.inventory("POST", "hosts/kvm", body)
    assert host["name"] == "x" * 255
    tags = api.sim.state()["tags"][host["uuid"]]
    assert tags["systemTags"] == ["inside", "pageTableExtensionDisabled"]


def test_add_host_rejects_an_address_that_is_being_added(api: HttpClient) -> None:
    api.sim.configure(latency=600.0)
    first = api.send("POST", "hosts/kvm", new_host())
    assert api.error_code("POST", "hosts/kvm", new_host()) == "SYS.1007"
    api.sim.advance()
    assert api.wait_for_job(first).status_code == 200


def test_host_is_enabled_and_disabled(api: HttpClient) -> None:
    for event, state in (
        ("disable", "Disabled"),
        ("disable", "Disabled"),
        ("enable", "Enabled"),
        ("enable", "Enabled"),
    ):
        host = api.inventory("PUT", f"hosts/{HOST}/actions", state_event(event))
        assert (host["state"], host["status"]) == (state, "Connected")


@pytest.mark.parametrize(("event", "state"), [("enable", "Enabled"), ("disable", "Disabled")])
def test_host_enters_and_leaves_maintenance(api: HttpClient, event: str, state: str) -> None:
    api.sim.configure(latency=600.0, reconnect=600.0)
    response = api.send("PUT", f"hosts/{HOST}/actions", state_event("maintain"))
    assert api.query(f"hosts/{HOST}")[0]["state"] == "PreMaintenance"
    api.sim.advance()
    assert api.wait_for_job(response).json()["inventory"]["state"] == "Maintenance"

    response = api.send("PUT", f"hosts/{HOST}/actions", state_event(event))
    assert api.query(f"hosts/{HOST}")[0]["state"] == "Maintenance"
    api.sim.advance()
    host = api.wait_for_job(response).json()["inventory"]
    assert (host["state"], host["status"]) == (state, "Connecting")
    assert api.query(f"hosts/{HOST}") == [host]
    api.sim.advance()
    assert api.query(f"hosts/{HOST}")[0]["status"] == "Connected"


def test_settling_finishes_what_follows_a_job(api: HttpClient) -> None:
    api.sim.configure(latency=600.0, reconnect=600.0)
    for event, state in (("maintain", "Maintenance"), ("enable", "Enabled")):
        api.send("PUT", f"hosts/{HOST}/actions", state_event(event))
        settled = api.sim.settle()
        assert settled == api.sim.state()
        host = next(record for record in settled["host"] if record["uuid"] == HOST)
        assert host["state"] == state
    assert host["status"] == "Connected"


def test_maintain_needs_a_connected_host_outside_maintenance(api: HttpClient) -> None:
    api.inventory("PUT", f"hosts/{HOST}/actions", state_event("maintain"))
    assert api.error_code("PUT", f"hosts/{HOST}/actions", state_event("maintain")) == "SYS.1000"
    other = seeded_uuid("host", 2)
    api.sim.change("host", other, status="Disconnected")
    assert api.error_code("PUT", f"hosts/{other}/actions", state_event("maintain")) == "SYS.1006"
    assert api.query(f"hosts/{other}")[0]["state"] == "Enabled"


def test_maintain_rolls_back_on_error(api: HttpClient) -> None:
    api.inventory("PUT", f"hosts/{HOST}/actions", state_event("disable"))
    api.sim.fault("fail", "ChangeHostState", error={"code": "SYS.1006", "details": "a guest cannot move"})
    error = api.error("PUT", f"hosts/{HOST}/actions", state_event("maintain"))
    assert (error["code"], error["causes"][0]["details"]) == ("HOST.1001", "a guest cannot move")
    assert api.query(f"hosts/{HOST}")[0]["state"] == "Disabled"


def test_maintain_fails_if_another_event_comes(api: HttpClient) -> None:
    api.sim.configure(latencies={"ChangeHostState": 600.0})
    maintain = api.send("PUT", f"hosts/{HOST}/actions", state_event("maintain"))
    api.sim.configure(latencies={"ChangeHostState": 0.0})
    assert api.inventory("PUT", f"hosts/{HOST}/actions", state_event("disable"))["state"] == "Disabled"
    api.sim.advance()
    assert api.wait_for_job(maintain).json()["error"]["code"] == "HOST.1001"
    assert api.query(f"hosts/{HOST}")[0]["state"] == "Disabled"


def places(api: HttpClient) -> dict[str, tuple[str, str | None]]:
    """Return the state and the host of each running or stopped VM that was running."""
    hosts = {host["uuid"]: host["name"] for host in api.sim.records("host")}
    vms = api.sim.records("vm")[::2]
    return {vm["name"]: (vm["state"], hosts.get(vm["hostUuid"])) for vm in vms}


def maintain(api: HttpClient) -> Any:
    return api.send("PUT", f"hosts/{HOST}/actions", state_event("maintain"))


def test_maintain_migrates_vms_and_stops_those_on_local_storage(api: HttpClient) -> None:
    """The service does not start the stopped VMs again."""
    api.sim.reset(clusters=1, hosts=2, vms=6, primary_storages=3)
    api.sim.configure(latency=600.0)
    before = {"vm-1": ("Running", "host-1"), "vm-3": ("Running", "host-1"), "vm-5": ("Running", "host-1")}
    assert places(api) == before
    response = maintain(api)
    going = {"vm-1": ("Migrating", "host-1"), "vm-3": ("Stopping", "host-1"), "vm-5": ("Migrating", "host-1")}
    assert places(api) == going
    api.sim.advance()
    assert api.wait_for_job(response).status_code == 200
    after = {"vm-1": ("Running", "host-2"), "vm-3": ("Stopped", None), "vm-5": ("Running", "host-2")}
    assert places(api) == after
    api.sim.configure(latency=0.0)
    api.inventory("PUT", f"hosts/{HOST}/actions", state_event("enable"))
    api.sim.advance()
    assert places(api) == after


def test_migrations_of_a_maintenance_take_time(api: HttpClient) -> None:
    api.sim.reset(clusters=1, hosts=2, vms=4)
    api.sim.configure(migration=600.0)
    response = maintain(api)
    job = response.json()["location"].rpartition("/")[2]
    assert api.poll(job).status_code == 202
    assert places(api)["vm-1"] == ("Migrating", "host-1")
    api.sim.advance()
    assert api.wait_for_job(response).status_code == 200
    assert places(api)["vm-1"] == ("Running", "host-2")


@pytest.mark.parametrize("cause", ["no host", "failing migration"])
def test_vms_that_cannot_migrate_are_treated_as_the_policy_says(api: HttpClient, cause: str) -> None:
    for policy in ("StopVmOnMigrationFailure", "JustMigrate"):
        api.sim.reset(clusters=1, hosts=1 if cause == "no host" else 2, vms=1)
        failing = [seeded_uuid("vm", 1)] if cause == "failing migration" else []
        api.sim.configure(maintenance_policy=policy, failing_migrations=failing)
        response = api.wait_for_job(maintain(api))
        if policy == "JustMigrate":
            assert response.json()["error"]["code"] == "HOST.1001"
            assert places(api) == {"vm-1": ("Running", "host-1")}
            assert api.query(f"hosts/{HOST}")[0]["state"] == "Enabled"
        else:
            assert response.status_code == 200
            assert places(api) == {"vm-1": ("Stopped", None)}


def test_maintain_that_fails_leaves_the_vms(api: HttpClient) -> None:
    api.sim.reset(clusters=1, hosts=2, vms=2, local_storages=2)
    api.sim.fault("fail", "ChangeHostState", error={"code": "SYS.1006", "details": "no"})
    assert api.wait_for_job(maintain(api)).json()["error"]["code"] == "HOST.1001"
    assert places(api) == {"vm-1": ("Running", "host-1")}


def test_unknown_host_is_not_found(api: HttpClient) -> None:
    unknown = seeded_uuid("host", 99)
    assert api.error_code("PUT", f"hosts/{unknown}/actions", state_event("enable")) == "SYS.1003"
    assert api.error_code("GET", f"hosts/network-facts/{unknown}") == "SYS.1003"
    assert api.error_code("GET", f"cluster/hosts-network-interfaces?hostUuids={unknown}") == "SYS.1003"


def test_network_facts_list_nics_and_bonds(api: HttpClient) -> None:
    facts = api.call("GET", f"hosts/network-facts/{HOST}")
    assert [nic["uuid"] for nic in facts["nics"]] == [seeded_uuid("hostnic", number) for number in (1, 2, 3, 4)]
    (bond,) = facts["bondings"]
    assert (bond["uuid"], bond["bondingName"]) == (seeded_uuid("bonding", 1), "bond0")
    assert [slave["interfaceName"] for slave in bond["slaves"]] == ["eth2", "eth3"]
    assert {slave["interfaceType"] for slave in bond["slaves"]} == {"bondingSlave"}
    assert {slave["bondingUuid"] for slave in bond["slaves"]} == {bond["uuid"]}
    assert "offloadStatus" not in facts["nics"][0]


def test_interface_types_as_described(api: HttpClient) -> None:
    api.sim.configure(interface_types="described")
    facts = api.call("GET", f"hosts/network-facts/{HOST}")
    types = [nic["interfaceType"] for nic in facts["nics"]]
    assert types == ["bridgeSlave", "noMaster", "bondSlave", "bondSlave"]


def test_network_facts_need_a_connected_host(api: HttpClient) -> None:
    api.sim.change("host", HOST, status="Disconnected")
    error = api.error("GET", f"hosts/network-facts/{HOST}")
    assert error["code"] == "HOST.1001"
    assert "Disconnected" in error["causes"][0]["details"]


def candidates(api: HttpClient, *query: str) -> Any:
    both = [f"hostUuids={seeded_uuid('host', number)}" for number in (1, 2)]
    return api.call("GET", "cluster/hosts-network-interfaces?" + "&".join([*both, *query]))


def test_candidates_intersect_by_default(api: HttpClient) -> None:
    api.sim.reset(ragged_nics=True)
    reply = candidates(api, "interfaceType=all")
    assert reply["slaveNames"] == ["eth0", "eth1", "eth2", "eth3"]
    assert len(reply["candidateNics"]) == 8
    assert reply["candidateNics"][0]["offloadStatus"] == "Off"
    reply = candidates(api, "interfaceType=all", "intersecting=false")
    assert reply["slaveNames"] == ["eth0", "eth1", "eth2", "eth3", "eth4"]
    assert len(reply["candidateNics"]) == 9


def test_candidates_are_selected_by_type_and_page(api: HttpClient) -> None:
    everything = ["eth0", "eth1", "eth2", "eth3"]
    assert candidates(api)["slaveNames"] == candidates(api, "interfaceType=all")["slaveNames"] == everything
    assert candidates(api, "interfaceType=interface")["slaveNames"] == ["eth0", "eth1"]
    assert candidates(api, "interfaceType=bonding")["slaveNames"] == ["eth2", "eth3"]
    api.sim.configure(candidate_types="document")
    assert candidates(api)["slaveNames"] == candidates(api, "interfaceType=all")["slaveNames"] == everything
    for name, found in (("noMaster", "eth1"), ("nomaster", "eth1"), ("bridgeSlave", "eth0")):
        assert candidates(api, f"interfaceType={name}")["slaveNames"] == [found]
    for name in ("bondSlave", "bondingSlave"):
        assert candidates(api, f"interfaceType={name}")["slaveNames"] == ["eth2", "eth3"]
    page = candidates(api, "interfaceType=all", "limit=3", "start=6")["candidateNics"]
    assert [nic["interfaceName"] for nic in page] == ["eth2", "eth3"]
    api.sim.configure(candidate_paging=False)
    assert len(candidates(api, "interfaceType=all", "limit=3", "start=6")["candidateNics"]) == 8


def test_candidates_need_valid_params(api: HttpClient) -> None:
    assert api.error_code("GET", f"cluster/hosts-network-interfaces?hostUuids={HOST},{HOST}") == "SYS.1003"
    for name in ("odd", "noMaster", "Interface"):
        assert (
            api.error_code("GET", f"cluster/hosts-network-interfaces?hostUuids={HOST}&interfaceType={name}")
            == "SYS.1007"
        )
    api.sim.configure(candidate_types="document")
    assert (
        api.error_code("GET", f"cluster/hosts-network-interfaces?hostUuids={HOST}&interfaceType=interface")
        == "SYS.1007"
    )


def nic(number: int) -> str:
    return seeded_uuid("hostnic", number)


def set_services(**params: Any) -> dict[str, Any]:
    return {"params": params}


def services(api: HttpClient, uuid: str) -> dict[int, set[str]]:
    rows = api.call("GET", f"hosts/hosts-network-interfaces/service-type-statistic?interfaceUuid={uuid}")
    return {row["vlanId"]: set(row["serviceTypes"]) for row in rows["serviceTypeStatistics"]}


PATH = "hosts/nics/service-types"


def test_services_are_set_on_the_cross_product(api: HttpClient) -> None:
    params = set_services(
        interfaceUuids=[nic(2), nic(6)], vlanIds=[100, 200], serviceTypes=["StorageNetwork", "BackupNetwork"]
    )
    rows = api.inventory("POST", PATH, params)
    assert len(rows) == 8
    assert set(rows[0]) == {"id", "interfaceUuid", "vlanId", "serviceType", "createDate", "lastOpDate"}
    for uuid in (nic(2), nic(6)):
        assert services(api, uuid) == {
            100: {"StorageNetwork", "BackupNetwork"},
            200: {"StorageNetwork", "BackupNetwork"},
        }
    again = api.inventory("POST", PATH, params)
    assert not {row["id"] for row in rows} & {row["id"] for row in again}


def test_services_replace_and_an_empty_list_clears(api: HttpClient) -> None:
    api.inventory("POST", PATH, set_services(interfaceUuids=[nic(2)], serviceTypes=["StorageNetwork"]))
    api.inventory("POST", PATH, set_services(interfaceUuids=[nic(2)], serviceTypes=["TenantNetwork"]))
    assert services(api, nic(2)) == {0: {"TenantNetwork"}}
    assert api.inventory("POST", PATH, set_services(interfaceUuids=[nic(2)], serviceTypes=[])) == []
    assert services(api, nic(2)) == {}


def test_services_cannot_move_the_management_network(api: HttpClient) -> None:
    assert services(api, nic(1)) == {0: {"ManagementNetwork"}}
    assert api.error_code("POST", PATH, set_services(interfaceUuids=[nic(1)], serviceTypes=[])) == "SYS.1007"
    added = set_services(interfaceUuids=[nic(2)], serviceTypes=["ManagementNetwork"])
    assert api.error_code("POST", PATH, added) == "SYS.1007"
    both = set_services(interfaceUuids=[nic(1)], serviceTypes=["ManagementNetwork", "BackupNetwork"])
    assert len(api.inventory("POST", PATH, both)) == 2


def test_services_stop_at_the_first_error(api: HttpClient) -> None:
    params = set_services(interfaceUuids=[nic(2), nic(1), nic(6)], serviceTypes=["TenantNetwork"])
    assert api.error_code("POST", PATH, params) == "SYS.1007"
    assert services(api, nic(2)) == {0: {"TenantNetwork"}}
    assert services(api, nic(6)) == {}


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"interfaceUuids": [nic(99)]}, "SYS.1003"),
        ({"interfaceUuids": [nic(2)], "vlanIds": [4095]}, "SYS.1007"),
        ({"interfaceUuids": [nic(2)], "vlanIds": ["-1"]}, "SYS.1007"),
    ],
)
def test_services_reject_invalid_params(api: HttpClient, params: dict[str, Any], code: str) -> None:
    assert api.error_code("POST", PATH, {"params": params}) == code


def test_delete_host(api: HttpClient) -> None:
    for dummy in range(2):
        assert api.call("DELETE", f"hosts/{HOST}?deleteMode=Enforcing") == {}
    assert api.query(f"hosts/{HOST}") == []
    assert api.query(f"hosts/nics?q=hostUuid={HOST}") == []
    (vm,) = api.query(f"vm-instances/{seeded_uuid('vm', 1)}")
    assert (vm["state"], vm.get("hostUuid")) == ("Stopped", None)
    assert api.error_code("DELETE", f"hosts/{HOST}?deleteMode=enforcing") == "SYS.1000"


def test_services_are_returned_in_the_member_of_the_switch(api: HttpClient) -> None:
    api.sim.configure(service_types_member="inventories")
    reply = api.call("POST", PATH, set_services(interfaceUuids=[nic(2)], serviceTypes=["TenantNetwork"]))
    assert [row["serviceType"] for row in reply["inventories"]] == ["TenantNetwork"]


def test_service_statistic_is_filtered_and_paged(api: HttpClient) -> None:
    path = "hosts/hosts-network-interfaces/service-type-statistic"
    api.sim.reset(hosts=25)
    reply = api.call("GET", f"{path}?replyWithCount=true")
    assert (reply["total"], len(reply["serviceTypeStatistics"])) == (25, 20)
    rest = api.call("GET", f"{path}?start=20")["serviceTypeStatistics"]
    assert len(rest) == 5
    assert not {row["hostUuid"] for row in rest} & {row["hostUuid"] for row in reply["serviceTypeStatistics"]}
    (row,) = api.call("GET", f"{path}?hostUuid={seeded_uuid('host', 7)}&vlanId=0")["serviceTypeStatistics"]
    assert row["serviceTypes"] == ["ManagementNetwork"]
    assert api.call("GET", f"{path}?vlanId=7")["serviceTypeStatistics"] == []
    api.sim.configure(service_type_statistic=False)
    assert api.send("GET", path).status_code == 404
