"""What the simulator does with virtual machines and hosts that are removed, and with what depends on them."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.http_client import HttpClient
from simulator.launch import Simulator
from simulator.state.store import seeded_uuid

VM, STOPPED_VM = seeded_uuid("vm", 1), seeded_uuid("vm", 2)
HOST = seeded_uuid("host", 1)
STORAGE = seeded_uuid("primarystorage", 1)
WEEK = 7 * 86400
ABSENT = "0123456789ab4cde8f0123456789abcd"
MALFORMED = ("f" * 32, "0123456789ab4cde0f0123456789abcd", "x", ABSENT[:-1])


@pytest.fixture
def api(sim: Simulator) -> HttpClient:
    return HttpClient(sim)


def act(api: HttpClient, action: str, vm: str = VM, **params: Any) -> Any:
    return api.call("PUT", f"vm-instances/{vm}/actions", {action: params})


def error_of(api: HttpClient, action: str, vm: str = VM, **params: Any) -> list[str]:
    """Return the code of the error and those of its causes."""
    error = api.error("PUT", f"vm-instances/{vm}/actions", {action: params})
    return [error["code"], *(cause["code"] for cause in error.get("causes", ()))]


def destroy(api: HttpClient, vm: str = VM) -> None:
    assert api.call("DELETE", f"vm-instances/{vm}") == {}


def read_vm(api: HttpClient, vm: str = VM) -> Any:
    return next(iter(api.query(f"vm-instances/{vm}")), None)


# ------------------------------------------------------------------------------------------------- virtual machines


@pytest.mark.parametrize(("path", "kind"), [("vm-instances", "vm"), ("hosts", "host")])
def test_deletion_of_what_is_absent_succeeds_unless_the_uuid_is_malformed(
    api: HttpClient, path: str, kind: str
) -> None:
    before = api.sim.records(kind)
    assert api.call("DELETE", f"{path}/{ABSENT}") == {}
    for uuid in MALFORMED:
        assert api.error_code("DELETE", f"{path}/{uuid}") == "SYS.1003"
    assert api.error_code("DELETE", f"{path}/{before[0]['uuid']}?deleteMode=permissive") == "SYS.1000"
    assert api.sim.records(kind) == before


def test_destroyed_vm_loses_addresses_data_volumes_and_cbt_task(api: HttpClient) -> None:
    api.sim.reset(cbt_tasks=1)
    before = read_vm(api)
    destroy(api)
    vm = read_vm(api)
    assert (vm["state"], vm["name"], vm.get("hostUuid"), vm["lastHostUuid"]) == ("Destroyed", "vm-1", None, HOST)
    (nic,) = vm["vmNics"]
    assert (nic["uuid"], nic.get("ip"), nic["usedIps"]) == (before["vmNics"][0]["uuid"], None, [])
    root, data = before["allVolumes"]
    assert vm["allVolumes"] == [root]
    (detached,) = api.query(f"volumes?q=uuid={data['uuid']}")
    assert (detached["status"], detached["lastVmInstanceUuid"]) == ("Ready", VM)
    assert "vmInstanceUuid" not in detached
    assert detached.get("lastDetachDate") == data.get("lastDetachDate")
    assert api.query("cbt-task") == []
    assert len(api.query("volume-snapshots/group")) == 1
    destroy(api)
    assert read_vm(api) == vm


def test_destruction_can_fail_although_its_job_succeeds(api: HttpClient) -> None:
    api.sim.configure(failing_destructions=[VM])
    destroy(api)
    assert read_vm(api)["state"] == "Running"


def test_recovered_vm_is_stopped_and_gets_a_free_address(api: HttpClient) -> None:
    former = read_vm(api)["vmNics"][0]
    destroy(api)
    api.call(
        "POST",
        f"vm-instances/{STOPPED_VM}/l3-networks/{former['l3NetworkUuid']}",
        {"params": {"staticIp": former["ip"]}},
    )
    vm = act(api, "recoverVmInstance")["inventory"]
    assert (vm["state"], len(vm["allVolumes"]), vm["vmNics"][0].get("ip")) == ("Stopped", 1, None)
    address = act(api, "startVmInstance")["inventory"]["vmNics"][0]["ip"]
    assert address not in (None, former["ip"])
    act(api, "stopVmInstance", type="cold")
    destroy(api)
    act(api, "recoverVmInstance")
    assert act(api, "startVmInstance")["inventory"]["vmNics"][0]["ip"] == address


def test_only_a_destroyed_vm_is_expunged_or_recovered(api: HttpClient) -> None:
    for action in ("expungeVmInstance", "recoverVmInstance"):
        assert error_of(api, action) == ["SYS.1006", "VM.1010"]
        assert error_of(api, action, ABSENT) == ["SYS.1003"]
    destroy(api)
    assert act(api, "expungeVmInstance") == {}
    assert read_vm(api) is None
    assert api.query("volume-snapshots/group") == []
    assert api.query(f"volumes?q=uuid={seeded_uuid('volume', 1)}") == []
    assert error_of(api, "expungeVmInstance") == ["SYS.1003"]


@pytest.mark.parametrize(
    ("policy", "states"),
    [("Direct", (None, None, None)), ("Delay", ("Destroyed", "Destroyed", None)), ("Never", ("Destroyed",) * 3)],
)
def test_destroyed_vm_remains_as_the_policy_says(api: HttpClient, policy: str, states: tuple[str | None, ...]) -> None:
    """The VM is checked at once, shortly before the end of the period, and at its end."""
    api.sim.configure(deletion_policy=policy)
    destroy(api)
    for state, seconds in zip(states, (WEEK - 60, 60, 0), strict=True):
        vm = read_vm(api)
        assert (vm and vm["state"]) == state
        api.sim.advance(seconds)


def test_data_volumes_are_deleted_with_the_vm_if_set(api: HttpClient) -> None:
    api.sim.configure(delete_data_volumes=True)
    destroy(api)
    assert [volume["status"] for volume in api.query("volumes?q=name=data-of-vm-1")] == ["Deleted"]
    api.sim.advance(3 * 86400)
    assert api.query("volumes?q=name=data-of-vm-1") == []


@pytest.mark.parametrize(
    ("action", "states"),
    [
        ("rebootVmInstance", {"Running": "Running", "NoState": "Running", "Crashed": "Running"}),
        ("pauseVmInstance", {"Running": "Paused"}),
        ("resumeVmInstance", {"Paused": "Running"}),
    ],
)
def test_power_actions_need_a_state(api: HttpClient, action: str, states: dict[str, str]) -> None:
    for before in ("Running", "Stopped", "Paused", "NoState", "Crashed", "Destroyed"):
        api.sim.change("vm", VM, state=before)
        if before in states:
            assert act(api, action)["inventory"]["state"] == states[before]
        else:
            assert error_of(api, action) == ["VM.1010"]
            assert read_vm(api)["state"] == before


def test_vm_is_changed(api: HttpClient) -> None:
    vm = act(api, "updateVmInstance", name="renamed", description="new", state="Stopped")["inventory"]
    assert (vm["name"], vm["description"], vm["state"]) == ("renamed", "new", "Running")
    assert error_of(api, "updateVmInstance", defaultL3NetworkUuid=seeded_uuid("l3network", 2)) == ["SYS.1007"]
    assert act(api, "updateVmInstance", STOPPED_VM, cpuNum=1)["inventory"]["cpuNum"] == 1


@pytest.mark.parametrize("params", [{"cpuNum": 3}, {"memorySize": 2**34}])
def test_size_of_a_running_vm_grows_with_hot_plug_only(api: HttpClient, params: dict[str, Any]) -> None:
    assert error_of(api, "updateVmInstance", **params) == ["SYS.1007"]
    api.sim.configure(hot_plug=True)
    assert params.items() <= act(api, "updateVmInstance", **params)["inventory"].items()
    smaller = {name: value - 1 for name, value in params.items()}
    assert error_of(api, "updateVmInstance", **smaller) == ["SYS.1007"]


def test_names_can_be_unique_also_among_destroyed_vms(api: HttpClient) -> None:
    destroy(api)
    group = f"vm-instances/from/volume-snapshots/group/{seeded_uuid('snapshotgroup', 1)}"
    api.sim.configure(unique_vm_names=True)
    assert error_of(api, "updateVmInstance", STOPPED_VM, name="vm-1") == ["SYS.1006"]
    assert api.error_code("POST", group, {"params": {"name": "vm-1"}}) == "SYS.1006"
    assert act(api, "updateVmInstance", STOPPED_VM, name="vm-2")["inventory"]["name"] == "vm-2"


def test_templates_have_records_of_their_own(api: HttpClient) -> None:
    api.sim.reset(templates=2)
    found = api.query("vm-instances/templatedVmInstance?sort=name")
    assert [record["uuid"] for record in found] == [seeded_uuid("vm", 5), seeded_uuid("vm", 6)]
    api.sim.configure(missing_operations=["QueryTemplatedVmInstance"])
    assert api.send("GET", "vm-instances/templatedVmInstance").status_code == 500


def test_one_companion_can_be_missing(api: HttpClient) -> None:
    """A server that lacks an action of a shared path knows the others; the only query of a path answers each verb."""
    api.sim.configure(missing_operations=["ExpungeVmInstance", "DestroyVmInstance", "UpdateKVMHost"])
    refused = api.send("PUT", f"vm-instances/{VM}/actions", {"expungeVmInstance": {}})
    assert (refused.status_code, refused.text) == (400, "the body doesn't contain action mapping")
    answered = api.send("DELETE", f"vm-instances/{VM}")
    assert (answered.status_code, [vm["uuid"] for vm in answered.json()["inventories"]]) == (200, [VM])
    assert api.send("PUT", f"hosts/kvm/{HOST}/actions", {"updateKVMHost": {}}).status_code == 500
    assert act(api, "pauseVmInstance")["inventory"]["state"] == "Paused"


# ------------------------------------------------------------------------------------------------------------ hosts


def test_deletion_stops_the_vms_of_a_host(api: HttpClient) -> None:
    api.sim.change("host", HOST, state="Maintenance")
    for dummy in range(2):
        assert api.call("DELETE", f"hosts/{HOST}") == {}
    vm = read_vm(api)
    assert (vm["state"], len(vm["allVolumes"])) == ("Stopped", 2)
    assert vm.keys().isdisjoint({"hostUuid", "lastHostUuid"})


def test_deletion_fails_if_a_vm_cannot_be_stopped(api: HttpClient) -> None:
    """The host stays disabled. With Enforcing the deletion goes on."""
    api.sim.configure(failing_stops=[VM])
    assert error_of(api, "stopVmInstance") == ["SYS.1006"]
    error = api.error("DELETE", f"hosts/{HOST}?deleteMode=Permissive")
    assert (error["code"], error["causes"][0]["code"]) == ("SYS.1004", "SYS.1006")
    assert [host["state"] for host in api.query(f"hosts/{HOST}")] == ["Disabled"]
    assert read_vm(api)["state"] == "Running"
    assert api.call("DELETE", f"hosts/{HOST}?deleteMode=Enforcing") == {}
    assert api.query(f"hosts/{HOST}") == []
    assert read_vm(api)["state"] == "Unknown"


def test_deletion_destroys_what_lies_on_the_disks_of_the_host(api: HttpClient) -> None:
    """Stopped VMs count by their last host; data volumes there are dropped, also those that are detached."""
    api.sim.change("primarystorage", STORAGE, type="LocalStorage")
    other = seeded_uuid("vm", 4)
    act(api, "stopVmInstance")
    destroy(api, other)
    assert api.call("DELETE", f"hosts/{HOST}") == {}
    assert [vm["state"] for vm in api.query("vm-instances?sort=uuid")][:3] == ["Destroyed", "Stopped", "Running"]
    left = {volume["name"] for volume in api.query("volumes")}
    assert {"root-of-vm-1", "data-of-vm-3"} <= left
    assert left.isdisjoint({"data-of-vm-1", "data-of-vm-4"})


def test_reconnection_ends_with_the_status_of_the_connection(api: HttpClient) -> None:
    actions, login = f"hosts/{HOST}/actions", f"hosts/kvm/{HOST}/actions"
    api.sim.change("host", HOST, status="Disconnected")
    assert api.inventory("PUT", actions, {"reconnectHost": {}})["status"] == "Connected"
    host = api.inventory("PUT", login, {"updateKVMHost": {"username": "admin", "password": "wrong-password"}})
    assert (host["status"], "wrong-password" in str(api.sim.state())) == ("Connected", False)
    error = api.error("PUT", actions, {"reconnectHost": {}})
    assert (error["code"], error["causes"][0]["code"]) == ("HOST.1003", "SYS.1006")
    assert [host["status"] for host in api.query(f"hosts/{HOST}")] == ["Disconnected"]
    api.inventory("PUT", login, {"updateKVMHost": {"password": "right", "sshPort": 2222}})
    assert api.inventory("PUT", actions, {"reconnectHost": {}})["status"] == "Connected"
    assert api.error_code("PUT", login, {"updateKVMHost": {"sshPort": 65536}}) == "SYS.1007"
    for state in ("PreMaintenance", "Maintenance"):
        api.sim.change("host", HOST, state=state)
        assert api.error_code("PUT", actions, {"reconnectHost": {}}) == "SYS.1006"


@pytest.mark.parametrize(("path", "key"), [("hosts", "updateHost"), ("hosts/kvm", "updateKVMHost")])
def test_host_is_changed_but_keeps_its_own_address_only_if_it_is_not_sent(api: HttpClient, path: str, key: str) -> None:
    def update(**params: str) -> Any:
        return api.error_code("PUT", f"{path}/{HOST}/actions", {key: params})

    assert update(managementIp="10.0.0.11") == update(managementIp="10.0.0.12", name="x") == "SYS.1007"
    host = api.inventory("PUT", f"{path}/{HOST}/actions", {key: {"name": "renamed", "managementIp": "10.0.0.99"}})
    assert (host["name"], host["managementIp"], host["status"]) == ("renamed", "10.0.0.99", "Connected")


def test_service_types_of_a_removed_host_are_gone(api: HttpClient) -> None:
    """Another host can be added, and the statistic of all interfaces be read."""
    body = {
        "params": {"interfaceUuids": [seeded_uuid("hostnic", 2)], "vlanIds": [7], "serviceTypes": ["BackupNetwork"]}
    }
    api.call("POST", "hosts/nics/service-types", body)
    api.call("DELETE", f"hosts/{seeded_uuid('host', 1)}")
    path = "hosts/hosts-network-interfaces/service-type-statistic"
    statistics = api.call("GET", path)["serviceTypeStatistics"]
    assert seeded_uuid("host", 1) not in {statistic["hostUuid"] for statistic in statistics}
