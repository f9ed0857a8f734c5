# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The simulator's hosts: adding, states, network interfaces, services."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.launch import Simulator
from simulator.store import seeded_uuid
from simulator.talk import Talk

HOST = seeded_uuid("host", 1)
CLUSTER = seeded_uuid("cluster", 1)


@pytest.fixture
def talk(sim: Simulator) -> Talk:
    return Talk(sim)


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


def test_add_host(talk: Talk) -> None:
    host = talk.inventory("POST", "hosts/kvm", new_host(description="", sshPort=2222))
    assert host["status"] == "Connected"
    assert host["state"] == "Enabled"
    assert host["description"] == ""
    assert host["zoneUuid"] == seeded_uuid("zone", 1)
    assert "password" not in host
    assert talk.found(f"hosts/{host['uuid']}") == [host]
    facts = talk.call("GET", f"hosts/network-facts/{host['uuid']}")
    assert [nic["interfaceName"] for nic in facts["nics"]] == ["eth0", "eth1", "eth2", "eth3"]


def test_a_host_is_visible_while_it_is_added(talk: Talk) -> None:
    talk.sim.configure(latency=600.0)
    answer = talk.send("POST", "hosts/kvm", new_host())
    assert [host["status"] for host in talk.found("hosts?q=name=new")] == ["Connecting"]
    talk.sim.advance()
    assert talk.finished(answer).status_code == 200
    assert [host["status"] for host in talk.found("hosts?q=name=new")] == ["Connected"]


def test_a_wrong_password_is_echoed_and_the_row_is_removed(talk: Talk) -> None:
    error = talk.failure("POST", "hosts/kvm", new_host(password="wrong-password"))
    assert (error["code"], error["details"]) == ("HOST.1003", "connection error for KVM host")
    (reason,) = error["causes"]
    assert "ssh root:wrong-password@10.9.9.9" in reason["details"]
    assert "cause" not in error
    assert talk.found("hosts?q=name=new") == []


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
        ({"sshPort": 0}, "SYS.1007"),
        ({"sshPort": 65536}, "SYS.1007"),
        ({"sshPort": "0"}, "SYS.1007"),
        ({"name": "x" * 256}, "SYS.1007"),
        ({"name": None}, "SYS.1007"),
        ({"description": "x" * 2049}, "SYS.1007"),
        ({"password": None}, "SYS.1007"),
    ],
)
def test_a_host_that_cannot_be_added(talk: Talk, params: dict[str, Any], code: str) -> None:
    assert talk.code("POST", "hosts/kvm", new_host(**params)) == code
    assert len(talk.sim.records("host")) == 3


def test_a_host_name_can_be_the_management_ip_and_a_number_may_be_a_text(talk: Talk) -> None:
    host = talk.inventory("POST", "hosts/kvm", new_host(managementIp="kvm-9.example.com", sshPort=" 22 "))
    assert host["managementIp"] == "kvm-9.example.com"
    assert talk.code("POST", "hosts/kvm", new_host(managementIp="kvm-9.example.com")) == "SYS.1007"
    for port in ("x", "", True, 1.5, [22]):
        assert talk.refused("POST", "hosts/kvm", new_host(managementIp="kvm-10", sshPort=port))


def test_lengths_count_after_trimming_and_tags_are_kept(talk: Talk) -> None:
    body = new_host(name=" " + "x" * 255 + " ", systemTags=["inside"], unknown={"a": 1})
    body["systemTags"] = ["pageTableExtensionDisabled"]
    host = talk.inventory("POST", "hosts/kvm", body)
    assert host["name"] == "x" * 255
    tags = talk.sim.state()["tags"][host["uuid"]]
    assert tags["systemTags"] == ["inside", "pageTableExtensionDisabled"]


def test_two_hosts_of_one_address_cannot_be_added_at_once(talk: Talk) -> None:
    talk.sim.configure(latency=600.0)
    first = talk.send("POST", "hosts/kvm", new_host())
    assert talk.code("POST", "hosts/kvm", new_host()) == "SYS.1007"
    talk.sim.advance()
    assert talk.finished(first).status_code == 200


def test_enable_and_disable(talk: Talk) -> None:
    for event, state in (
        ("disable", "Disabled"),
        ("disable", "Disabled"),
        ("enable", "Enabled"),
        ("enable", "Enabled"),
    ):
        host = talk.inventory("PUT", f"hosts/{HOST}/actions", state_event(event))
        assert (host["state"], host["status"]) == (state, "Connected")


@pytest.mark.parametrize(("event", "state"), [("enable", "Enabled"), ("disable", "Disabled")])
def test_maintenance_and_back(talk: Talk, event: str, state: str) -> None:
    talk.sim.configure(latency=600.0, reconnect=600.0)
    answer = talk.send("PUT", f"hosts/{HOST}/actions", state_event("maintain"))
    assert talk.found(f"hosts/{HOST}")[0]["state"] == "PreMaintenance"
    talk.sim.advance()
    assert talk.finished(answer).json()["inventory"]["state"] == "Maintenance"

    answer = talk.send("PUT", f"hosts/{HOST}/actions", state_event(event))
    assert talk.found(f"hosts/{HOST}")[0]["state"] == "Maintenance"
    talk.sim.advance()
    left = talk.finished(answer).json()["inventory"]
    assert (left["state"], left["status"]) == (state, "Connecting")
    assert talk.found(f"hosts/{HOST}") == [left]
    talk.sim.advance()
    assert talk.found(f"hosts/{HOST}")[0]["status"] == "Connected"


def test_no_maintenance_of_a_host_in_maintenance_or_out_of_reach(talk: Talk) -> None:
    talk.inventory("PUT", f"hosts/{HOST}/actions", state_event("maintain"))
    assert talk.code("PUT", f"hosts/{HOST}/actions", state_event("maintain")) == "SYS.1000"
    other = seeded_uuid("host", 2)
    talk.sim.change("host", other, status="Disconnected")
    assert talk.code("PUT", f"hosts/{other}/actions", state_event("maintain")) == "SYS.1006"
    assert talk.found(f"hosts/{other}")[0]["state"] == "Enabled"


def test_a_failed_maintenance_rolls_back(talk: Talk) -> None:
    talk.inventory("PUT", f"hosts/{HOST}/actions", state_event("disable"))
    talk.sim.fault("fail", "ChangeHostState", error={"code": "SYS.1006", "details": "a guest cannot move"})
    error = talk.failure("PUT", f"hosts/{HOST}/actions", state_event("maintain"))
    assert (error["code"], error["causes"][0]["details"]) == ("HOST.1001", "a guest cannot move")
    assert talk.found(f"hosts/{HOST}")[0]["state"] == "Disabled"


def test_an_event_during_maintenance_wins(talk: Talk) -> None:
    talk.sim.configure(latencies={"ChangeHostState": 600.0})
    maintain = talk.send("PUT", f"hosts/{HOST}/actions", state_event("maintain"))
    talk.sim.configure(latencies={"ChangeHostState": 0.0})
    assert talk.inventory("PUT", f"hosts/{HOST}/actions", state_event("disable"))["state"] == "Disabled"
    talk.sim.advance()
    assert talk.finished(maintain).json()["error"]["code"] == "HOST.1001"
    assert talk.found(f"hosts/{HOST}")[0]["state"] == "Disabled"


@pytest.mark.parametrize("event", ["Enable", "reconnect", "", None])
def test_events_are_exact(talk: Talk, event: Any) -> None:
    assert talk.code("PUT", f"hosts/{HOST}/actions", state_event(event)) == "SYS.1007"


def test_an_unknown_host(talk: Talk) -> None:
    unknown = seeded_uuid("host", 99)
    assert talk.code("PUT", f"hosts/{unknown}/actions", state_event("enable")) == "SYS.1003"
    assert talk.code("GET", f"hosts/network-facts/{unknown}") == "SYS.1003"
    assert talk.code("GET", f"cluster/hosts-network-interfaces?hostUuids={unknown}") == "SYS.1003"


def test_network_facts(talk: Talk) -> None:
    facts = talk.call("GET", f"hosts/network-facts/{HOST}")
    assert [nic["uuid"] for nic in facts["nics"]] == [seeded_uuid("hostnic", number) for number in (1, 2, 3, 4)]
    (bond,) = facts["bondings"]
    assert (bond["uuid"], bond["bondingName"]) == (seeded_uuid("bonding", 1), "bond0")
    assert [slave["interfaceName"] for slave in bond["slaves"]] == ["eth2", "eth3"]
    assert {slave["interfaceType"] for slave in bond["slaves"]} == {"bondingSlave"}
    assert {slave["bondingUuid"] for slave in bond["slaves"]} == {bond["uuid"]}
    assert "offloadStatus" not in facts["nics"][0]


def test_interface_types_as_described(talk: Talk) -> None:
    talk.sim.configure(interface_types="described")
    facts = talk.call("GET", f"hosts/network-facts/{HOST}")
    types = [nic["interfaceType"] for nic in facts["nics"]]
    assert types == ["bridgeSlave", "noMaster", "bondSlave", "bondSlave"]


def test_network_facts_need_a_connected_host(talk: Talk) -> None:
    talk.sim.change("host", HOST, status="Disconnected")
    error = talk.failure("GET", f"hosts/network-facts/{HOST}")
    assert error["code"] == "HOST.1001"
    assert "Disconnected" in error["causes"][0]["details"]


def candidates(talk: Talk, *query: str) -> Any:
    both = [f"hostUuids={seeded_uuid('host', number)}" for number in (1, 2)]
    return talk.call("GET", "cluster/hosts-network-interfaces?" + "&".join([*both, *query]))


def test_candidates_intersect_unless_told_otherwise(talk: Talk) -> None:
    talk.sim.reset(ragged_nics=True)
    reply = candidates(talk, "interfaceType=all")
    assert reply["slaveNames"] == ["eth0", "eth1", "eth2", "eth3"]
    assert len(reply["candidateNics"]) == 8
    assert reply["candidateNics"][0]["offloadStatus"] == "Off"
    reply = candidates(talk, "interfaceType=all", "intersecting=false")
    assert reply["slaveNames"] == ["eth0", "eth1", "eth2", "eth3", "eth4"]
    assert len(reply["candidateNics"]) == 9


def test_candidates_by_type_and_page(talk: Talk) -> None:
    everything = ["eth0", "eth1", "eth2", "eth3"]
    assert candidates(talk)["slaveNames"] == candidates(talk, "interfaceType=all")["slaveNames"] == everything
    assert candidates(talk, "interfaceType=interface")["slaveNames"] == ["eth0", "eth1"]
    assert candidates(talk, "interfaceType=bonding")["slaveNames"] == ["eth2", "eth3"]
    talk.sim.configure(candidate_types="document")
    assert candidates(talk)["slaveNames"] == candidates(talk, "interfaceType=all")["slaveNames"] == everything
    for name, found in (("noMaster", "eth1"), ("nomaster", "eth1"), ("bridgeSlave", "eth0")):
        assert candidates(talk, f"interfaceType={name}")["slaveNames"] == [found]
    for name in ("bondSlave", "bondingSlave"):
        assert candidates(talk, f"interfaceType={name}")["slaveNames"] == ["eth2", "eth3"]
    page = candidates(talk, "interfaceType=all", "limit=3", "start=6")["candidateNics"]
    assert [nic["interfaceName"] for nic in page] == ["eth2", "eth3"]
    talk.sim.configure(candidate_paging=False)
    assert len(candidates(talk, "interfaceType=all", "limit=3", "start=6")["candidateNics"]) == 8


def test_candidates_need_hosts_that_are_never_split_at_commas(talk: Talk) -> None:
    assert talk.code("GET", "cluster/hosts-network-interfaces") == "SYS.1007"
    assert talk.code("GET", f"cluster/hosts-network-interfaces?hostUuids={HOST},{HOST}") == "SYS.1003"
    assert talk.refused("GET", f"cluster/hosts-network-interfaces?hostUuids={HOST}&intersecting=perhaps")
    assert talk.refused("GET", f"cluster/hosts-network-interfaces?hostUuids={HOST}&limit=few")
    for name in ("odd", "noMaster", "Interface"):
        assert talk.code("GET", f"cluster/hosts-network-interfaces?hostUuids={HOST}&interfaceType={name}") == "SYS.1007"
    talk.sim.configure(candidate_types="document")
    assert talk.code("GET", f"cluster/hosts-network-interfaces?hostUuids={HOST}&interfaceType=interface") == "SYS.1007"


def nic(number: int) -> str:
    return seeded_uuid("hostnic", number)


def set_services(**params: Any) -> dict[str, Any]:
    return {"params": params}


def services(talk: Talk, uuid: str) -> dict[int, set[str]]:
    rows = talk.call("GET", f"hosts/hosts-network-interfaces/service-type-statistic?interfaceUuid={uuid}")
    return {row["vlanId"]: set(row["serviceTypes"]) for row in rows["serviceTypeStatistics"]}


PATH = "hosts/nics/service-types"


def test_services_are_set_on_the_cross_product(talk: Talk) -> None:
    wanted = set_services(
        interfaceUuids=[nic(2), nic(6)], vlanIds=[100, 200], serviceTypes=["StorageNetwork", "BackupNetwork"]
    )
    rows = talk.inventory("POST", PATH, wanted)
    assert len(rows) == 8
    assert set(rows[0]) == {"id", "interfaceUuid", "vlanId", "serviceType", "createDate", "lastOpDate"}
    for uuid in (nic(2), nic(6)):
        assert services(talk, uuid) == {
            100: {"StorageNetwork", "BackupNetwork"},
            200: {"StorageNetwork", "BackupNetwork"},
        }
    again = talk.inventory("POST", PATH, wanted)
    assert not {row["id"] for row in rows} & {row["id"] for row in again}


def test_services_replace_and_an_empty_list_clears(talk: Talk) -> None:
    talk.inventory("POST", PATH, set_services(interfaceUuids=[nic(2)], serviceTypes=["StorageNetwork"]))
    talk.inventory("POST", PATH, set_services(interfaceUuids=[nic(2)], serviceTypes=["TenantNetwork"]))
    assert services(talk, nic(2)) == {0: {"TenantNetwork"}}
    assert talk.inventory("POST", PATH, set_services(interfaceUuids=[nic(2)], serviceTypes=[])) == []
    assert services(talk, nic(2)) == {}


def test_the_management_network_stays_where_it_is(talk: Talk) -> None:
    assert services(talk, nic(1)) == {0: {"ManagementNetwork"}}
    assert talk.code("POST", PATH, set_services(interfaceUuids=[nic(1)], serviceTypes=[])) == "SYS.1007"
    added = set_services(interfaceUuids=[nic(2)], serviceTypes=["ManagementNetwork"])
    assert talk.code("POST", PATH, added) == "SYS.1007"
    both = set_services(interfaceUuids=[nic(1)], serviceTypes=["ManagementNetwork", "BackupNetwork"])
    assert len(talk.inventory("POST", PATH, both)) == 2


def test_services_stop_at_the_first_error(talk: Talk) -> None:
    wanted = set_services(interfaceUuids=[nic(2), nic(1), nic(6)], serviceTypes=["TenantNetwork"])
    assert talk.code("POST", PATH, wanted) == "SYS.1007"
    assert services(talk, nic(2)) == {0: {"TenantNetwork"}}
    assert services(talk, nic(6)) == {}


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"interfaceUuids": [nic(99)]}, "SYS.1003"),
        ({"interfaceUuids": []}, "SYS.1007"),
        ({}, "SYS.1007"),
        ({"interfaceUuids": [nic(2)], "vlanIds": [4095]}, "SYS.1007"),
        ({"interfaceUuids": [nic(2)], "vlanIds": ["-1"]}, "SYS.1007"),
        ({"interfaceUuids": [nic(2)], "serviceTypes": ["storagenetwork"]}, "SYS.1007"),
    ],
)
def test_services_that_cannot_be_set(talk: Talk, params: dict[str, Any], code: str) -> None:
    assert talk.code("POST", PATH, {"params": params}) == code


def test_delete_host(talk: Talk) -> None:
    for dummy in range(2):
        assert talk.call("DELETE", f"hosts/{HOST}?deleteMode=Enforcing") == {}
    assert talk.found(f"hosts/{HOST}") == []
    assert talk.found(f"hosts/nics?q=hostUuid={HOST}") == []
    (vm,) = talk.found(f"vm-instances/{seeded_uuid('vm', 1)}")
    assert (vm["state"], vm.get("hostUuid")) == ("Stopped", None)
    assert talk.code("DELETE", f"hosts/{HOST}?deleteMode=enforcing") == "SYS.1007"


def test_the_list_of_services_under_another_name(talk: Talk) -> None:
    talk.sim.configure(service_types_member="inventories")
    reply = talk.call("POST", PATH, set_services(interfaceUuids=[nic(2)], serviceTypes=["TenantNetwork"]))
    assert [row["serviceType"] for row in reply["inventories"]] == ["TenantNetwork"]


def test_statistic(talk: Talk) -> None:
    path = "hosts/hosts-network-interfaces/service-type-statistic"
    talk.sim.reset(hosts=25)
    reply = talk.call("GET", f"{path}?replyWithCount=true")
    assert (reply["total"], len(reply["serviceTypeStatistics"])) == (25, 20)
    rest = talk.call("GET", f"{path}?start=20")["serviceTypeStatistics"]
    assert len(rest) == 5
    assert not {row["hostUuid"] for row in rest} & {row["hostUuid"] for row in reply["serviceTypeStatistics"]}
    (row,) = talk.call("GET", f"{path}?hostUuid={seeded_uuid('host', 7)}&vlanId=0")["serviceTypeStatistics"]
    assert row["serviceTypes"] == ["ManagementNetwork"]
    assert talk.call("GET", f"{path}?vlanId=7")["serviceTypeStatistics"] == []
    talk.sim.configure(service_type_statistic=False)
    assert talk.send("GET", path).status_code == 404
