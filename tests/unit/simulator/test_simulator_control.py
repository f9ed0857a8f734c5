"""Seeding, controlling and observing the simulator."""

from __future__ import annotations

import re
import uuid as uuids
from typing import Any

import pytest
import requests

from simulator.app import SUGGESTED
from simulator.description import operations
from simulator.http_client import HttpClient
from simulator.launch import FOLDER, Simulator, SimulatorError
from simulator.state.query import parse_timestamp
from simulator.state.store import KINDS, seeded_uuid

GUIDE = FOLDER.parent / "docs" / "docsite" / "rst" / "guide_simulator_reference.rst"


@pytest.fixture
def api(sim: Simulator) -> HttpClient:
    return HttpClient(sim)


def test_seeded_uuids_are_of_version_4() -> None:
    for kind in KINDS:
        uuid = seeded_uuid(kind, 12345)
        assert (len(uuid), uuids.UUID(uuid).version) == (32, 4)
    assert seeded_uuid("cluster", 1) == "a0000002000040008000000000000001"


def test_default_seed(api: HttpClient) -> None:
    state = api.sim.state()
    counts = {kind: len(state[kind]) for kind in ("zone", "cluster", "host", "vm", "l3network", "primarystorage")}
    assert counts == {"zone": 1, "cluster": 2, "host": 3, "vm": 6, "l3network": 3, "primarystorage": 2}
    counts = {kind: len(state[kind]) for kind in ("vmnic", "volume", "hostnic", "bonding", "snapshotgroup", "cbttask")}
    assert counts == {"vmnic": 6, "volume": 12, "hostnic": 12, "bonding": 3, "snapshotgroup": 1, "cbttask": 0}
    assert [host["managementIp"] for host in state["host"]] == ["10.0.0.11", "10.0.0.12", "10.0.0.13"]
    assert [host["clusterUuid"][-1] for host in state["host"]] == ["1", "2", "1"]
    assert [vm["state"] for vm in state["vm"]] == ["Running", "Stopped"] * 3
    assert {vm["vmNics"][0]["l3NetworkUuid"] for vm in state["vm"]} == {seeded_uuid("l3network", 1)}
    assert [storage["name"] for storage in state["primarystorage"]] == ["ps-1", "ps-2"]
    assert [person["userId"] for person in state["person"]] == ["user-1", "user-2"]
    assert [endpoint["name"] for endpoint in state["endpoint"]] == ["snmp-endpoint-1", "teamchat-endpoint-1"]


def test_timestamps_have_the_form_of_the_switch(api: HttpClient) -> None:
    def dates() -> list[str]:
        return [vm["createDate"] for vm in api.query("vm-instances?sort=name")]

    assert dates()[0] == "Jan 6, 2024, 4:52:16 AM"
    api.sim.configure(timestamps="narrow")
    assert dates()[0] == "Jan 6, 2024, 4:52:16\u202fAM"
    api.sim.configure(timestamps="mixed")
    mixed = dates()
    assert {"\u202f" in date for date in mixed} == {True, False}
    assert {date.count(",") for date in mixed} == {1, 2}
    api.sim.configure(timestamps="plain")
    plain = dates()
    assert plain[0] == "Jan 6, 2024 4:52:16 AM"
    assert {date.count(",") for date in plain} == {1}
    assert [parse_timestamp(date) for date in plain] == [parse_timestamp(date) for date in mixed]
    created = api.inventory("POST", "sns/application-endpoints/snmp", {"params": {"name": "x"}})["createDate"]
    assert parse_timestamp(created).year >= 2024


def test_seed_options_set_the_number_of_objects(api: HttpClient) -> None:
    api.sim.reset(hosts=7, vms=0, clusters=1, primary_storages=3, l3_networks=1, cbt_tasks=5, persons=0)
    state = api.sim.state()
    assert [len(state[kind]) for kind in ("host", "vm", "cluster", "primarystorage", "cbttask")] == [7, 0, 1, 3, 0]
    assert [len(state[kind]) for kind in ("vmnic", "snapshotgroup", "person")] == [0, 0, 0]
    api.sim.reset(hosts=0, vms=4, cbt_tasks=4)
    tasks = api.sim.records("cbttask")
    assert [task["status"] for task in tasks] == ["Created", "Stopped", "Running", "Failed"]
    assert all("hostUuid" not in vm for vm in api.query("vm-instances"))


def test_seeded_destroyed_vms_have_the_names_of_others(api: HttpClient) -> None:
    api.sim.reset(destroyed_vms=1)
    states = {(vm["uuid"], vm["state"]) for vm in api.query("vm-instances?q=name=vm-1")}
    assert states == {(seeded_uuid("vm", 1), "Running"), (seeded_uuid("vm", 7), "Destroyed")}


def test_random_seed_determines_the_new_uuids(api: HttpClient) -> None:
    def created() -> Any:
        return api.inventory("POST", "sns/application-endpoints/snmp", {"params": {"name": "x"}})["uuid"]

    first = created()
    api.sim.reset()
    assert created() == first
    api.sim.reset(random_seed=2)
    assert created() != first
    assert uuids.UUID(first).version == 4


def test_reset_clears_everything(api: HttpClient) -> None:
    api.sim.configure(latency=600.0)
    job = api.send("POST", "sns/application-endpoints/snmp", {"params": {"name": "x"}}).json()["location"][-32:]
    api.sim.fault("slow")
    api.sim.reset()
    assert (api.sim.log(), api.sim.faults()) == ([], [])
    assert api.poll(job).status_code == 404
    assert api.sim.health()["switches"]["latency"] == 0
    api.sim.advance()
    assert len(api.sim.records("endpoint")) == 2


@pytest.mark.parametrize(
    "options",
    [
        {"nonsense": 1},
        {"hosts": "3"},
        {"hosts": -1},
        {"clusters": 0},
        {"location": "nowhere"},
        {"sync": 1},
        {"latency": "slow"},
        {"latencies": {"AddKVMHost": "slow"}},
        {"latencies": {"Nonsense": 1}},
        {"version": "new"},
        {"prefix": "/service/"},
        {"literal": 1},
    ],
)
def test_invalid_options_are_rejected(api: HttpClient, options: dict[str, Any]) -> None:
    before = api.sim.health()
    for refuse in (api.sim.reset, api.sim.configure):
        with pytest.raises(SimulatorError):
            refuse(**options)
    with pytest.raises(SimulatorError):
        api.sim.configure(hosts=4)
    assert api.sim.health() == before


def test_literal_sets_and_restores_its_switches(api: HttpClient) -> None:
    default = api.sim.health()["switches"]
    api.sim.configure(literal=True, null_members=False)
    literal = api.sim.health()["switches"]
    assert (literal["companions"], literal["cbt_create"], literal["null_members"]) == ("404", "literal", False)
    api.sim.configure(literal=False)
    assert api.sim.health()["switches"] == default


def test_literal_replies_have_the_documented_members(api: HttpClient) -> None:
    api.sim.reset(literal=True)
    reply = api.call("GET", "primary-storage")
    assert (reply["success"], reply["error"], "schema" in reply) == (True, None, False)
    assert reply["inventories"][0].keys() == reply["inventories"][1].keys()
    failed = api.wait_for_job(api.send("POST", "cbt-task/create", {"params": {"name": "x"}}))
    assert (failed.status_code, failed.json()["success"]) == (503, False)
    assert set(failed.json()["error"]) == {"code", "description", "details", "elaboration", "opaque", "cause"}
    assert failed.json()["error"]["cause"] is None
    path = f"vm-instances/{seeded_uuid('vmnic', 1)}/nic-qos?direction=in"
    assert api.call("DELETE", path) == {}
    page = api.call("GET", "/api/v1/resources/cursor-query?resourceType=host")
    assert set(page) == {"items", "total", "nextCursor", "hasMore"}


def test_content_type_can_be_missing(api: HttpClient) -> None:
    assert api.send("GET", "hosts").headers["Content-Type"] == "application/json;charset=UTF-8"
    api.sim.configure(content_type=False)
    assert "Content-Type" not in api.send("GET", "hosts").headers


def test_prefix_changes_all_paths_but_those_of_cursors(api: HttpClient) -> None:
    api.sim.configure(prefix="deep/er")
    assert api.send("GET", "hosts").status_code == 404
    authorization = {"Authorization": "OAuth simulator-session"}
    assert requests.get(f"{api.sim.url}/deep/er/v1/hosts", headers=authorization, timeout=30).status_code == 200
    path = f"{api.sim.url}/deep/er/v1/vm-instances/{seeded_uuid('vmnic', 1)}/nic-qos?direction=in"
    location = requests.delete(path, headers=authorization, timeout=30).json()["location"]
    assert "/deep/er/v1/api-jobs/" in location
    api.call("GET", "/api/v1/resources/cursor-query?resourceType=host")
    api.sim.configure(prefix="")
    assert requests.get(f"{api.sim.url}/v1/hosts", headers=authorization, timeout=30).status_code == 200


def test_old_versions_lack_operations_params_and_members(api: HttpClient) -> None:
    api.sim.configure(version="3.10.0")
    assert api.send("GET", "cbt-task").status_code == 404
    assert api.send("POST", "cbt-task/create", {}).status_code == 404
    assert api.send("GET", f"hosts/network-facts/{seeded_uuid('host', 1)}").status_code == 200
    api.call("GET", "/api/v1/resources/cursor-query?resourceType=host")
    host = api.query("hosts?sort=name")[0]
    assert {"nqn", "hostname", "cpuStatus"} & set(host) == set()
    assert "guestOsType" not in api.query("vm-instances")[0]
    assert "encrypted" not in api.query("vm-instances")[0]["allVolumes"][0]
    nic = f"vm-instances/nics/{seeded_uuid('vmnic', 1)}/actions"
    assert api.inventory("PUT", nic, {"changeVmNicState": {"state": "disable"}})["vmNics"][0]["state"] == "enable"
    attach = f"vm-instances/{seeded_uuid('vm', 1)}/l3-networks/{seeded_uuid('l3network', 2)}"
    api.inventory("POST", attach, {"params": {"customMac": "fa:00:00:aa:bb:cc", "vmNicParams": 1}})
    api.sim.configure(version="3.15")
    assert api.inventory("PUT", nic, {"changeVmNicState": {"state": "disable"}})["vmNics"][0]["state"] == "disable"
    api.sim.configure(version="")
    assert "nqn" in api.query("hosts?sort=name")[0]


def test_request_log_has_requests_without_credentials(api: HttpClient) -> None:
    params = {"username": "root", "password": "hidden", "name": "x", "managementIp": "x", "clusterUuid": "x"}
    api.send("POST", "hosts/kvm?a=1&a=2", {"params": params})
    entry, *polls = api.sim.log()
    assert polls == []
    assert (entry["method"], entry["path"], entry["query"]) == ("POST", "/service/v1/hosts/kvm", {"a": ["1", "2"]})
    assert (entry["operation"], entry["status"], len(entry["job"])) == ("AddKVMHost", 202, 32)
    assert entry["headers"]["authorization"] == "OAuth"
    assert entry["body"]["params"] == {**params, "password": "***"}
    assert "simulator-session" not in str(api.sim.log())
    api.poll(entry["job"])
    api.send("GET", "nothing")
    assert [(record["operation"], record["status"]) for record in api.sim.log()[1:]] == [("poll", 503), (None, 404)]
    api.sim.clear_log()
    assert api.sim.log() == []


def test_records_can_be_changed_by_control_requests(api: HttpClient) -> None:
    api.sim.change("host", seeded_uuid("host", 1), status="Disconnected")
    assert api.query("hosts?q=name=host-1")[0]["status"] == "Disconnected"
    for kind, uuid in (("host", "unknown"), ("unknown", "x")):
        with pytest.raises(SimulatorError):
            api.sim.change(kind, uuid)
    with pytest.raises(SimulatorError):
        api.sim.records("unknown")


def test_operations_are_listed(api: HttpClient) -> None:
    operations = {operation["name"]: operation for operation in api.sim.operations()}
    assert len([row for row in operations.values() if not row["companion"]]) == 27
    assert operations["CursorNext"]["paths"] == ["/api/v1/resources/cursor-next"]


def test_companions_are_documented() -> None:
    section = GUIDE.read_text(encoding="utf-8").partition("Companions\n---")[2].partition("Control API\n---")[0]
    companions = {name for name, operation in operations().items() if operation.is_companion}
    assert companions - SUGGESTED - set(re.findall(r"\w+", section)) == set()


def test_every_option_and_fault_is_documented() -> None:
    from simulator.switches import faults
    from simulator.switches.options import Seed, Switches

    text = GUIDE.read_text(encoding="utf-8")
    names = [*Seed.__dataclass_fields__, *Switches.__dataclass_fields__, *faults.FAULTS, *faults.GARBAGE, "literal"]
    assert [name for name in names if f"``{name}``" not in text] == []
