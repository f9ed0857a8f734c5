"""The modules for VMs: snapshot groups, NICs, bandwidth limits and exported volumes."""

from __future__ import annotations

import re
from typing import Any

import pytest

from simulator.launch import Simulator
from support.module_runner import ModuleRunner
from support.stub_server import StubRequest, StubResponse, StubServer

NOWHERE = "f" * 32


class Seeded:
    """The uuids of the initial records of the simulator, by number from 1."""

    def __init__(self, sim: Simulator) -> None:
        self._sim = sim

    def __call__(self, kind: str, number: int) -> str:
        return str(self._sim.records(kind)[number - 1]["uuid"])


@pytest.fixture
def seeded(sim: Simulator) -> Seeded:
    return Seeded(sim)


# -------------------------------------------------------------------------------------- VMs from a snapshot group


@pytest.fixture
def restored(seeded: Seeded) -> dict[str, Any]:
    """Options of a VM to create."""
    return {
        "name": "restored",
        "snapshot_group": seeded("snapshotgroup", 1),
        "l3_networks": [seeded("l3network", 1)],
        "description": "from last night",
        "cpu_num": 3,
        "memory_size": 3 * 2**30,
        "type": "UserVm",
        "strategy": "CreateStopped",
    }


def machines(sim: Simulator, name: str) -> list[dict[str, Any]]:
    return [vm for vm in sim.records("vm") if vm["name"] == name]


@pytest.mark.parametrize(
    ("option", "value"),
    [("cpu_num", 4), ("memory_size", 2**30), ("description", "other"), ("description", ""), ("type", "ApplianceVm")],
)
def test_vm_that_differs(run: ModuleRunner, restored: dict[str, Any], option: str, value: Any) -> None:
    run("vm_from_snapshot_group", restored)
    message = run.refused("vm_from_snapshot_group", {**restored, option: value})
    assert re.fullmatch(
        rf"vm restored: the API cannot change {option} \((is .+|is not set), should be {value!r}\)\."
        r" The vm was found by name 'restored'\.",
        message,
    )


def test_vms_with_the_same_name_are_ambiguous(run: ModuleRunner, sim: Simulator, seeded: Seeded) -> None:
    first, second = seeded("vm", 1), seeded("vm", 2)
    sim.change("vm", second, name=sim.records("vm")[0]["name"])
    name = sim.records("vm")[0]["name"]
    message = run.refused("vm_from_snapshot_group", {"name": name})
    assert message == f"vm {name}: 2 objects have the name '{name}'. Select one by uuid. Their uuids: {first}, {second}"
    run.idle("vm_from_snapshot_group", {"name": name, "uuid": second})


def test_vm_cannot_be_renamed(run: ModuleRunner, seeded: Seeded) -> None:
    message = run.refused("vm_from_snapshot_group", {"uuid": seeded("vm", 1), "name": "renamed"})
    assert "the API cannot change name" in message


def test_required_options_of_a_new_vm(run: ModuleRunner, restored: dict[str, Any]) -> None:
    del restored["snapshot_group"]
    message = run.refused("vm_from_snapshot_group", restored)
    assert message == ("vm restored: no vm with name 'restored'. Check the name, or give snapshot_group to create it.")
    assert "no vm with uuid" in run.refused("vm_from_snapshot_group", {**restored, "uuid": NOWHERE})


def test_several_networks_need_a_default(run: ModuleRunner, seeded: Seeded, restored: dict[str, Any]) -> None:
    networks = [seeded("l3network", 1), seeded("l3network", 2)]
    for check in (True, False):
        ran = run("vm_from_snapshot_group", {**restored, "l3_networks": networks}, check)
        assert "a VM with several l3_networks needs default_l3_network. Give one of them" in ran.message
        assert (ran["error"]["code"], ran.calls, ran.changed) == ("INVALID", [], False)
    chosen = {"l3_networks": networks, "default_l3_network": networks[1]}
    ran = run.twice("vm_from_snapshot_group", {**restored, **chosen})
    assert {nic["l3_network_uuid"] for nic in ran["vm"]["vm_nics"]} == set(networks)


def test_new_vm_without_networks_warns(run: ModuleRunner) -> None:
    options = {"image": "image-1", "cpu_num": 1, "memory_size": 2**30}
    for check in (True, False):
        (warning,) = run("vm", {"name": "first", **options}, check).warnings
        assert "the VM has no NIC, because networks is not given" in warning
    for name in ("first", "second"):
        assert run("vm", {"name": name, **options, "networks": []}).warnings == []


def test_vms_are_found_with_a_cursor_without_the_query(
    run: ModuleRunner, sim: Simulator, restored: dict[str, Any]
) -> None:
    sim.configure(companions="404")
    assert run.twice("vm_from_snapshot_group", restored).warnings == []
    assert len(machines(sim, "restored")) == 1


def test_vms_that_cannot_be_looked_up_are_not_created(
    run: ModuleRunner, sim: Simulator, restored: dict[str, Any]
) -> None:
    sim.configure(companions="404")
    message = run.refused("vm_from_snapshot_group", restored, api_token=None)
    assert "(HTTP status 404 for GET /service/v1/vm-instances); CursorQuery needs api_token" in message
    assert "cannot check whether the object exists" in message


# ----------------------------------------------------------------------------------------------------------------- NICs


@pytest.fixture
def desired(seeded: Seeded) -> dict[str, Any]:
    """Options of a NIC to attach."""
    return {"vm": seeded("vm", 1), "l3_network": seeded("l3network", 2)}


def free_address(sim: Simulator, network: str, number: int = 99) -> str:
    """Return an address of a network that no NIC has."""
    ip_range = next(each for each in sim.records("l3network") if each["uuid"] == network)["ipRanges"][0]
    return f"{ip_range['startIp'].rpartition('.')[0]}.{number}"


def nics(sim: Simulator, vm: str) -> list[dict[str, Any]]:
    return [nic for nic in sim.records("vmnic") if nic["vmInstanceUuid"] == vm]


def test_uuid_of_the_nic_is_not_that_of_the_vm(run: ModuleRunner, desired: dict[str, Any]) -> None:
    """The replies contain the VM."""
    for state in ("disabled", "enabled"):
        ran = run("vm_nic", {**desired, "state": state})
        assert ran["nic"]["uuid"] != desired["vm"]
        assert ran["nic"]["vm_instance_uuid"] == desired["vm"]


def test_network_that_is_attached_already(run: ModuleRunner, sim: Simulator, seeded: Seeded) -> None:
    nic = sim.records("vmnic")[0]
    options = {"vm": seeded("vm", 1), "l3_network": seeded("l3network", 1)}
    ran = run.idle("vm_nic", {**options, "static_ip": nic["ip"], "custom_mac": nic["mac"].upper(), "state": "enabled"})
    assert ran["nic"]["uuid"] == nic["uuid"]


def test_everything_about_a_new_nic_is_sent(run: ModuleRunner, sim: Simulator, desired: dict[str, Any]) -> None:
    """The details of the NIC as one object, since services refuse a list."""
    address = free_address(sim, desired["l3_network"])
    options = {"static_ip": address, "custom_mac": "FA:16:3E:00:00:01", "driver_type": "e1000"}
    ran = run.twice("vm_nic", {**desired, **options, "vm_nic_params": '[{"a": 1}]'})
    expected = {"staticIp": address, "customMac": "fa:16:3e:00:00:01", "driverType": "e1000"}
    assert ran.sent("AttachL3NetworkToVm") == {**expected, "vmNicParams": '{"a": 1}'}
    assert (ran["nic"]["ip"], ran["nic"]["driver_type"]) == (address, "e1000")


@pytest.mark.parametrize(
    ("version", "options", "reason"),
    [
        ("3.16.0", {"vm_nic_params": "[]"}, "the option vm_nic_params needs version 3.17.0"),
        (
            "3.9",
            {"custom_mac": "fa:16:3e:00:00:01"},
            "the option custom_mac needs version 3.10.0",
        ),
        ("3.14", {"state": "disabled"}, "the option state needs version 3.15"),
    ],
)
def test_operations_that_an_old_service_lacks(
    run: ModuleRunner, desired: dict[str, Any], version: str, options: dict[str, Any], reason: str
) -> None:
    assert reason in run.refused("vm_nic", {**desired, **options}, service_version=version)


def test_state_is_changed_only_when_it_differs(run: ModuleRunner, desired: dict[str, Any]) -> None:
    """Enabling an enabled NIC is refused."""
    assert run.twice("vm_nic", {**desired, "state": "enabled"}).calls == ["AttachL3NetworkToVm"]
    disabled = run.twice("vm_nic", {**desired, "state": "disabled"})
    assert disabled.sent("ChangeVmNicState") == {"state": "disable"}
    run.idle("vm_nic", desired)
    enabled = run.twice("vm_nic", {"uuid": disabled["nic"]["uuid"], "state": "enabled"})
    assert enabled.sent("ChangeVmNicState") == {"state": "enable"}


def test_nic_is_moved_to_another_network(run: ModuleRunner, sim: Simulator, seeded: Seeded) -> None:
    options = {"uuid": seeded("vmnic", 2), "l3_network": seeded("l3network", 3), "vm_nic_params": "[]"}
    ran = run.twice("vm_nic", options)
    assert ran.calls == ["ChangeVmNicNetwork"]
    assert ran.log[1]["path"].endswith(f"/{options['uuid']}/l3-networks/{options['l3_network']}")
    assert ran.sent("ChangeVmNicNetwork") == {"vmNicParams": "{}"}
    assert ran["nic"]["ip"] == sim.records("vmnic")[1]["ip"]


def test_nic_is_moved_to_another_network_and_address(run: ModuleRunner, sim: Simulator, seeded: Seeded) -> None:
    network = seeded("l3network", 3)
    address = free_address(sim, network)
    ran = run.twice("vm_nic", {"uuid": seeded("vmnic", 2), "l3_network": network, "static_ip": address})
    assert ran.sent("ChangeVmNicNetwork") == {"staticIp": address}
    assert ran["nic"]["ip"] == address


def test_the_old_address_is_not_predicted_in_another_network(run: ModuleRunner, seeded: Seeded) -> None:
    options = {"uuid": seeded("vmnic", 2), "l3_network": seeded("l3network", 3)}
    predicted = run("vm_nic", options, check=True)["nic"]
    assert (predicted["l3_network_uuid"], predicted["ip"]) == (options["l3_network"], None)


def test_other_address_on_the_same_network(run: ModuleRunner, sim: Simulator, seeded: Seeded) -> None:
    network = seeded("l3network", 1)
    address = free_address(sim, network, 77)
    ran = run.twice("vm_nic", {"uuid": seeded("vmnic", 1), "l3_network": network, "static_ip": address})
    assert ran.calls == ["ChangeVmNicNetwork"]
    assert ran.sent("ChangeVmNicNetwork") == {"staticIp": address}
    assert len(nics(sim, seeded("vm", 1))) == 1


def test_two_addresses_in_one_network_need_two_nics(run: ModuleRunner, sim: Simulator, desired: dict[str, Any]) -> None:
    """Two tasks with one address each must not change the address of the same NIC in turn."""
    addresses = [free_address(sim, desired["l3_network"], number) for number in (81, 82)]
    made = [run.twice("vm_nic", {**desired, "static_ip": address}) for address in addresses]
    assert [ran.calls for ran in made] == [["AttachL3NetworkToVm"]] * 2
    for ran, address in zip(made, addresses, strict=True):
        again = run.idle("vm_nic", {**desired, "static_ip": address})
        assert (again["nic"]["uuid"], again["nic"]["ip"]) == (ran["nic"]["uuid"], address)
    assert len(nics(sim, desired["vm"])) == 3


def test_two_mac_addresses_in_one_network_need_two_nics(run: ModuleRunner, desired: dict[str, Any]) -> None:
    macs = ["FA-16-3E-00-00-11", "fa:16:3e:00:00:12"]
    made = [run.twice("vm_nic", {**desired, "custom_mac": mac}) for mac in macs]
    assert [ran["nic"]["mac"] for ran in made] == ["fa:16:3e:00:00:11", "fa:16:3e:00:00:12"]
    for mac in ("FA-16-3E-00-00-11", "fa163e000011", "fa16.3e00.0011"):
        run.idle("vm_nic", {**desired, "custom_mac": mac})
        assert run("vm_nic_info", {"mac": mac})["total"] == 1


def test_nic_with_one_of_both_addresses_is_not_attached_again(
    run: ModuleRunner, sim: Simulator, desired: dict[str, Any]
) -> None:
    address, other = (free_address(sim, desired["l3_network"], number) for number in (83, 84))
    both = {"static_ip": address, "custom_mac": "fa:16:3e:00:00:13"}
    uuid = run.twice("vm_nic", {**desired, **both})["nic"]["uuid"]
    message = run.refused("vm_nic", {**desired, **both, "static_ip": other})
    assert f"NIC {uuid} has the address {address}. Give uuid to change it." in message
    message = run.refused("vm_nic", {**desired, **both, "custom_mac": "fa:16:3e:00:00:14"})
    assert "the API cannot change custom_mac" in message
    run.twice("vm_nic", {"uuid": uuid, **both, "static_ip": other})


def test_second_address_of_a_nic_is_one_of_its_addresses(
    run: ModuleRunner, sim: Simulator, desired: dict[str, Any]
) -> None:
    """A NIC with IPv4 and IPv6 shows only one of them as ip; IPv6 addresses have several notations."""
    vm = next(vm for vm in sim.records("vm") if vm["uuid"] == desired["vm"])
    nic = vm["vmNics"][0]
    used = [*nic["usedIps"], {"uuid": "f" * 32, "ip": "2001:db8::1", "ipVersion": 6}]
    sim.change("vm", vm["uuid"], vmNics=[{**nic, "usedIps": used}])
    options = {"vm": vm["uuid"], "l3_network": nic["l3NetworkUuid"], "static_ip": "2001:DB8:0::1"}
    assert run.idle("vm_nic", options)["nic"]["uuid"] == nic["uuid"]
    run.idle("vm_nic", {"uuid": nic["uuid"], "static_ip": "2001:DB8:0::1"})


@pytest.mark.parametrize("companions", ["present", "404"])
def test_nic_without_an_address_may_be_the_selected_one(run: ModuleRunner, sim: Simulator, companions: str) -> None:
    """Some services show an address later; no second NIC must be attached until then."""
    sim.configure(companions=companions)
    vm = sim.records("vm")[0]
    nic = {**vm["vmNics"][0], "ip": None, "usedIps": []}
    sim.change("vm", vm["uuid"], vmNics=[nic])
    options = {"vm": vm["uuid"], "l3_network": nic["l3NetworkUuid"]}
    message = run.refused("vm_nic", {**options, "static_ip": "10.101.0.42"})
    assert f"the NIC {nic['uuid']} shows no IP address (yet), so it may be the NIC with 10.101.0.42" in message
    assert "Give uuid" in message
    run.idle("vm_nic", options)
    assert run("vm_nic", {**options, "custom_mac": "fa:16:3e:00:00:01", "static_ip": "10.101.0.42"}).changed


def test_driver_that_the_service_does_not_show_is_not_compared(
    run: ModuleRunner, sim: Simulator, seeded: Seeded
) -> None:
    vm = sim.records("vm")[0]
    nic = {name: value for name, value in vm["vmNics"][0].items() if name != "driverType"}
    sim.change("vm", vm["uuid"], vmNics=[nic])
    run.idle("vm_nic", {"uuid": nic["uuid"], "driver_type": "e1000"})


@pytest.mark.parametrize("state", ["Destroyed", "Expunging"])
@pytest.mark.parametrize("companions", ["present", "404"])
def test_deleted_vm_does_not_exist(
    run: ModuleRunner, sim: Simulator, restored: dict[str, Any], desired: dict[str, Any], state: str, companions: str
) -> None:
    """A deleted VM keeps its record and its name until the service expunges it."""
    sim.configure(companions=companions)
    first = run("vm_from_snapshot_group", restored)["vm"]
    sim.change("vm", first["uuid"], state=state)
    second = run.twice("vm_from_snapshot_group", restored)["vm"]
    assert second["uuid"] != first["uuid"]
    gone = {"vm": first["uuid"], "l3_network": desired["l3_network"]}
    message = run.refused("vm_nic", gone)
    assert f"no VM with uuid '{first['uuid']}': it is {state}" in message
    assert "no nic with uuid" in run.refused("vm_nic", {"uuid": first["vm_nics"][0]["uuid"]})
    vms = run("vm_info", {"name": "restored"})["vms"]
    assert sorted(vm["state"] for vm in vms) == sorted([state, "Stopped"])


def test_other_address_by_the_uuid_only(run: ModuleRunner, sim: Simulator, seeded: Seeded) -> None:
    address = free_address(sim, seeded("l3network", 1), 78)
    run.twice("vm_nic", {"uuid": seeded("vmnic", 1), "static_ip": address})


@pytest.mark.parametrize(("option", "value"), [("custom_mac", "fa:16:3e:00:00:02"), ("driver_type", "e1000")])
def test_unchangeable_values_of_a_nic(run: ModuleRunner, seeded: Seeded, option: str, value: str) -> None:
    uuid = seeded("vmnic", 1)
    message = run.refused("vm_nic", {"uuid": uuid, option: value})
    assert message.startswith(f"nic {uuid}: the API cannot change {option} (is ")
    assert message.endswith(f", should be '{value}'). The nic was found by uuid '{uuid}'.")


def test_unchangeable_value_of_a_nic_that_no_single_option_selects(
    run: ModuleRunner, sim: Simulator, seeded: Seeded
) -> None:
    """Several options together select the NIC, so the message names none of them."""
    [nic] = [record for record in sim.records("vmnic") if record["uuid"] == seeded("vmnic", 1)]
    options = {"vm": nic["vmInstanceUuid"], "l3_network": nic["l3NetworkUuid"], "driver_type": "e1000"}
    message = run.refused("vm_nic", options)
    assert message.endswith(": the API cannot change driver_type (is 'virtio', should be 'e1000')"), message


def test_nic_cannot_change_its_vm(run: ModuleRunner, seeded: Seeded) -> None:
    options = {
        "uuid": seeded("vmnic", 1),
        "vm": seeded("vm", 2),
        "l3_network": seeded("l3network", 1),
    }
    assert "the API cannot change vm" in run.refused("vm_nic", options)


def test_several_nics_on_one_network(run: ModuleRunner, sim: Simulator, desired: dict[str, Any]) -> None:
    """The IP or MAC address selects one of several NICs."""
    call = {"vmInstanceUuid": desired["vm"], "l3NetworkUuid": desired["l3_network"]}
    for dummy in range(2):
        run("api", {"operation": "AttachL3NetworkToVm", "params": call})
    first, second = [nic for nic in sim.records("vmnic") if nic["l3NetworkUuid"] == desired["l3_network"]]
    message = run.refused("vm_nic", desired)
    assert first["uuid"] in message
    assert second["uuid"] in message
    assert run.idle("vm_nic", {**desired, "static_ip": second["ip"]})["nic"]["uuid"] == second["uuid"]
    assert run.idle("vm_nic", {**desired, "custom_mac": first["mac"].upper()})["nic"]["uuid"] == first["uuid"]
    run.twice("vm_nic", {**desired, "custom_mac": "fa:16:3e:00:00:03"})


def test_nic_with_network_services(run: ModuleRunner, sim: Simulator, seeded: Seeded) -> None:
    uuid = seeded("vmnic", 1)
    sim.configure(nic_services=[uuid])
    ran = run("vm_nic", {"uuid": uuid, "l3_network": seeded("l3network", 3)})
    assert ran.message.startswith(f"nic {uuid}: ChangeVmNicNetwork failed (SYS.1006)")
    assert "has network services attached" in ran.message
    assert not ran.changed


def test_missing_vm(run: ModuleRunner, sim: Simulator, seeded: Seeded) -> None:
    options = {"vm": NOWHERE, "l3_network": seeded("l3network", 1)}
    assert f"no VM with uuid '{NOWHERE}'" in run.refused("vm_nic", options)
    sim.configure(companions="404")
    assert f"no VM with uuid '{NOWHERE}'" in run.refused("vm_nic", options)


def test_missing_nic(run: ModuleRunner) -> None:
    assert f"no nic with uuid '{NOWHERE}'" in run.refused("vm_nic", {"uuid": NOWHERE, "state": "disabled"})


def test_nics_are_read_without_vms_if_these_are_not_listed(
    run: ModuleRunner, sim: Simulator, desired: dict[str, Any]
) -> None:
    sim.fault("status", "QueryVmInstance", status=404, count=None)
    ran = run.twice("vm_nic", desired)
    assert ran["vm"] is None
    assert ran.warnings == []
    run.twice("vm_nic", {"uuid": ran["nic"]["uuid"], "state": "disabled"})


def test_nics_are_read_with_a_cursor_without_queries(
    run: ModuleRunner, sim: Simulator, seeded: Seeded, desired: dict[str, Any]
) -> None:
    sim.configure(companions="405")
    ran = run.twice("vm_nic", desired)
    assert ran.warnings == []
    assert ran["vm"]["uuid"] == desired["vm"]
    run.twice("vm_nic", {"uuid": ran["nic"]["uuid"], "l3_network": seeded("l3network", 3), "state": "disabled"})


def test_nics_that_cannot_be_read_are_not_attached_twice(
    run: ModuleRunner, sim: Simulator, desired: dict[str, Any]
) -> None:
    sim.configure(companions="404")
    message = run.refused("vm_nic", desired, api_token=None)
    assert "cannot check whether the object exists" in message
    assert len(nics(sim, desired["vm"])) == 1


def test_nic_that_cannot_be_read_is_set_by_its_uuid(run: ModuleRunner, sim: Simulator, seeded: Seeded) -> None:
    sim.configure(companions="404")
    uuid, mac = seeded("vmnic", 1), sim.records("vmnic")[0]["mac"].upper()
    options = {"uuid": uuid, "l3_network": seeded("l3network", 3), "custom_mac": mac, "state": "disabled"}
    for calls in (["ChangeVmNicNetwork", "ChangeVmNicState"], ["ChangeVmNicNetwork"]):
        ran = run("vm_nic", options, api_token=None)
        assert ran.calls == calls, "the reply to the first call has the state"
        assert ran.changed
        (warning,) = ran.warnings
        assert "does not offer QueryVmInstance" in warning
        assert (ran["nic"]["uuid"], ran["nic"]["state"]) == (uuid, "disable")
    message = run.refused("vm_nic", {"uuid": uuid, "static_ip": "192.0.2.9"}, api_token=None)
    assert "l3_network is required for ChangeVmNicNetwork" in message


# ----------------------------------------------------------------------------------------------------- bandwidth limits


@pytest.mark.parametrize("where", ["query", "body", "both"])
def test_limit_is_removed_in_one_direction(run: ModuleRunner, sim: Simulator, seeded: Seeded, where: str) -> None:
    sim.configure(delete_params=where)
    options = {"uuid": seeded("vmnic", 1), "direction": "in"}
    ran = run.twice("vm_nic_qos", options)
    assert ran["diff"]["before"].keys() == {"uuid", "direction", "bandwidth"}
    assert ran["diff"]["after"] == {}
    assert ran["limit"] is None
    assert sim.state()["qos"][options["uuid"]].keys() == {"out"}


@pytest.mark.parametrize("switches", [{"all_companions": False}, {"literal": True}])
def test_limit_that_cannot_be_read(
    run: ModuleRunner, sim: Simulator, seeded: Seeded, switches: dict[str, bool]
) -> None:
    """A service that executes the read as DeleteNicQos refuses it, because the direction is missing."""
    sim.configure(**switches)
    options = {"uuid": seeded("vmnic", 1), "direction": "in"}
    checked = run("vm_nic_qos", options, check=True)
    assert (checked.changed, checked.calls) == (True, [])
    assert sim.state()["qos"][options["uuid"]].keys() == {"in", "out"}
    for dummy in range(2):
        ran = run("vm_nic_qos", options)
        assert ran.changed, ran.result
        assert ran.calls == ["DeleteNicQos"]
        assert not any(entry["query"] for entry in ran.log if entry["method"] == "GET")
        assert "the service does not offer GetNicQos" in ran.warnings[0]
        assert sim.state()["qos"][options["uuid"]].keys() == {"out"}


def test_uuid_of_a_nic_beside_its_vm(run: ModuleRunner, seeded: Seeded) -> None:
    """No option that would move the NIC is required, and that of another VM is not changed."""
    uuid = seeded("vmnic", 1)
    assert run("vm_nic", {"uuid": uuid, "vm": "vm-1", "state": "disabled"}).changed
    message = run.refused("vm_nic", {"uuid": uuid, "vm": "vm-3", "state": "enabled"})
    assert "the API cannot change vm (is 'vm-1'" in message
    for other in ({"vm": "vm-1"}, {"vm": "vm-3", "l3_network": "l3-1"}):
        message = run.refused("vm_nic_qos", {"uuid": uuid, "direction": "in", **other})
        assert "uuid selects the NIC. Remove vm and l3_network, or give them without uuid" in message


def test_limits_are_set_once(run: ModuleRunner, sim: Simulator, seeded: Seeded) -> None:
    uuid = seeded("vmnic", 1)
    before = sim.state()["qos"][uuid]
    ran = run.twice("vm_nic_qos", {"uuid": uuid, "state": "present", "outbound_bandwidth": 8192})
    assert ran.calls == ["SetNicQos"]
    assert ran.sent("SetNicQos") == {"outboundBandwidth": 8192}
    assert ran["limit"] == {"uuid": uuid, "outbound_bandwidth": 8192, "inbound_bandwidth": before["in"]}
    run.twice("vm_nic_qos", {"uuid": uuid, "state": "present", "outbound_bandwidth": 8192, "inbound_bandwidth": 9000})
    assert sim.state()["qos"][uuid] == {"out": 8192, "in": 9000}
    message = run.refused("vm_nic_qos", {"uuid": uuid, "state": "present", "outbound_bandwidth": 8191})
    assert "must be from 8192 to 32212254720" in message
    message = run.refused("vm_nic_qos", {"uuid": uuid, "direction": "in", "outbound_bandwidth": 8192})
    assert (
        "outbound_bandwidth cannot be used with state absent, which is the default. Remove outbound_bandwidth, or"
        in message
    )
    assert message.endswith(", or set state: present")


@pytest.mark.parametrize("name", [True, False])
def test_limits_of_the_nic_of_a_vm_on_a_network(run: ModuleRunner, sim: Simulator, seeded: Seeded, name: bool) -> None:
    nic, vm = seeded("vmnic", 1), seeded("vm", 1)
    network = next(each["l3NetworkUuid"] for each in sim.records("vmnic") if each["uuid"] == nic)
    of_nic = {"vm": "vm-1", "l3_network": "l3-1"} if name else {"vm": vm, "l3_network": network}
    ran = run.twice("vm_nic_qos", {**of_nic, "state": "present", "outbound_bandwidth": 8192})
    assert (ran.calls, ran["limit"]["uuid"]) == (["SetNicQos"], nic)
    ran = run.twice("vm_nic_qos", {**of_nic, "direction": "out"})
    assert ran.calls == ["DeleteNicQos"]
    assert sim.state()["qos"][nic].keys() == {"in"}


def test_limits_of_a_nic_that_is_not_there(run: ModuleRunner) -> None:
    options = {"vm": "vm-1", "l3_network": "l3-3"}
    message = run.refused("vm_nic_qos", {**options, "state": "present", "inbound_bandwidth": 8192})
    assert message.endswith("has no NIC on the network a0000005000040008000000000000003. Check vm and l3_network.")
    ran = run("vm_nic_qos", {**options, "direction": "out"})
    assert (ran.failed, ran.changed, ran.calls) == (False, False, [])


def test_limits_that_cannot_be_set(run: ModuleRunner, sim: Simulator, seeded: Seeded) -> None:
    sim.configure(missing_operations=["SetNicQos"])
    ran = run("vm_nic_qos", {"uuid": seeded("vmnic", 1), "state": "present", "outbound_bandwidth": 8192})
    assert ran["error"]["code"] == "UNSUPPORTED"
    assert not ran.changed


def test_limit_of_an_unknown_nic(run: ModuleRunner, sim: Simulator) -> None:
    ran = run("vm_nic_qos", {"uuid": NOWHERE, "direction": "out"})
    assert "GetNicQos failed (SYS.1007)" in ran.message
    assert not ran.changed


@pytest.mark.parametrize("limit", ["10", [], True, {}])
def test_limits_of_a_wrong_type(run: ModuleRunner, sim: Simulator, seeded: Seeded, limit: Any) -> None:
    """The task fails: a limit of a wrong type does not mean that there is no limit to remove."""
    reply = {"outboundBandwidth": limit, "inboundBandwidth": -1}
    sim.fault("other_response", operation="GetNicQos", reply=reply)
    ran = run("vm_nic_qos", {"uuid": seeded("vmnic", 1), "direction": "out"})
    assert ran.message.endswith(": the response to GetNicQos has outboundBandwidth of a wrong type")
    assert not ran.changed


def test_read_of_a_limit_that_is_executed_as_a_change(run: ModuleRunner) -> None:
    """The failure is reported if the job that the read started does not fail."""

    def answer(request: StubRequest) -> StubResponse:
        if request.path.endswith("nic-qos"):
            return StubResponse(202, {"location": f"http://x/service/v1/api-jobs/{'1' * 32}"})
        return StubResponse(200, {})

    with StubServer(answer) as service:
        ran = run("vm_nic_qos", {"uuid": NOWHERE, "direction": "out"}, base_url=service.url)
        assert "executed the read as a change" in ran.message
        assert [request.method for request in service.requests] == ["GET", "GET"]


# ----------------------------------------------------------------------------------------------------- exported volumes


@pytest.fixture
def volumes(sim: Simulator) -> dict[str, Any]:
    """Options for the volumes of a stopped VM."""
    vm = next(vm for vm in sim.records("vm") if vm["state"] == "Stopped")
    return {"vm": vm["uuid"], "volumes": [volume["uuid"] for volume in vm["allVolumes"]]}


def test_volumes_are_exported_each_time(run: ModuleRunner, volumes: dict[str, Any]) -> None:
    checked = run("cbt_volume_export", volumes, check=True)
    assert (checked.changed, checked.calls, checked["volume_infos"]) == (True, [], None)
    ran = run("cbt_volume_export", volumes)
    assert ran.sent("ExportNbdVolumes") == {
        "volumeUuids": volumes["volumes"],
        "vmInstanceUuid": volumes["vm"],
    }
    assert [info["volume"]["volume_uuid"] for info in ran["volume_infos"]] == volumes["volumes"]
    again = run("cbt_volume_export", volumes)
    assert "are exported already" in again.message
    assert not again.changed
    assert run("cbt_volume_export", {**volumes, "force": True}).changed


def test_exports_are_ended(run: ModuleRunner, sim: Simulator, seeded: Seeded) -> None:
    vm = next(each for each in sim.records("vm") if each["state"] == "Stopped")
    volumes = {"vm": vm["uuid"], "volumes": [each["uuid"] for each in vm["allVolumes"]]}
    run("cbt_volume_export", volumes)
    assert sim.state()["exported"]
    ended = {**volumes, "state": "absent"}
    assert run("cbt_volume_export", ended, check=True).changed
    ran = run("cbt_volume_export", ended)
    assert (ran.calls, ran.changed, ran["volume_infos"]) == (["UnexportNbdVolumes"], True, None)
    assert not sim.state()["exported"]
    for unknown in ({"vm": "vm-99"}, {"vm": NOWHERE}):
        ran = run("cbt_volume_export", {**ended, **unknown})
        assert not ran.failed, ran.message
        assert not ran.changed
    assert "force cannot be used with state absent" in run.refused("cbt_volume_export", {**ended, "force": True})


def test_server_that_returns_no_export_details(run: ModuleRunner, sim: Simulator, volumes: dict[str, Any]) -> None:
    sim.configure(extra_members=False)
    assert run("cbt_volume_export", volumes)["volume_infos"] is None


def test_volumes_of_a_running_vm(run: ModuleRunner, seeded: Seeded) -> None:
    vm = seeded("vm", 1)
    message = run.refused("cbt_volume_export", {"vm": vm, "volumes": [seeded("volume", 1)]})
    assert "an export needs a VM that does not run, and vm-1 is Running" in message


# ----------------------------------------------------------------------------------------------------- removal of NICs


@pytest.fixture
def second_nic(run: ModuleRunner, desired: dict[str, Any]) -> str:
    """The uuid of a second NIC of the VM."""
    return str(run("vm_nic", desired)["nic"]["uuid"])


@pytest.mark.parametrize("by", [("uuid",), ("vm", "l3_network"), ("uuid", "vm", "l3_network")])
def test_nic_is_removed(
    run: ModuleRunner, sim: Simulator, desired: dict[str, Any], second_nic: str, by: tuple[str, ...]
) -> None:
    options = {**desired, "uuid": second_nic}
    ran = run.twice("vm_nic", {**{name: options[name] for name in by}, "state": "absent"})
    assert ran.calls == ["DetachL3NetworkFromVm"]
    assert (ran["nic"], ran["vm"], ran["new_default_networks"], ran.warnings) == (None, None, [], [])
    assert ran["diff"]["before"]["uuid"] == second_nic
    assert second_nic not in [nic["uuid"] for nic in nics(sim, desired["vm"])]


@pytest.mark.parametrize(
    "other", [{"static_ip": "10.9.9.9"}, {"l3_network": 3}, {"custom_mac": "fa:16:3e:00:00:99"}, {"vm": 2}]
)
def test_nic_that_differs_is_not_removed(
    run: ModuleRunner, seeded: Seeded, second_nic: str, other: dict[str, Any]
) -> None:
    kinds = {"l3_network": "l3network", "vm": "vm"}
    options = {name: seeded(kinds[name], value) if name in kinds else value for name, value in other.items()}
    options = {"l3_network": seeded("l3network", 2), **options} if "vm" in options else options
    message = run.refused("vm_nic", {"uuid": second_nic, "state": "absent", **options})
    assert f"{next(iter(other))} (is " in message
    assert "Nothing was removed." in message


@pytest.mark.parametrize("gone", ["no such vm", NOWHERE])
def test_vm_that_does_not_exist_has_no_nic(run: ModuleRunner, seeded: Seeded, gone: str) -> None:
    run.idle("vm_nic", {"vm": gone, "l3_network": seeded("l3network", 2), "state": "absent"})


def test_destroyed_vm_has_no_nic(run: ModuleRunner, sim: Simulator, desired: dict[str, Any]) -> None:
    sim.change("vm", desired["vm"], state="Destroyed")
    run.idle("vm_nic", {**desired, "state": "absent"})


def test_last_nic_and_default_network_are_named(
    run: ModuleRunner, sim: Simulator, seeded: Seeded, desired: dict[str, Any], second_nic: str
) -> None:
    first = {"uuid": seeded("vmnic", 1), "state": "absent"}
    ran = run.twice("vm_nic", first)
    network = {"uuid": desired["l3_network"], "name": "l3-2"}
    assert ran["new_default_networks"] == [network]
    assert "1 L3 network was made the default network: l3-2 (" in ran.warnings[0]
    last = run.twice("vm_nic", {"uuid": second_nic, "state": "absent"})
    assert last["new_default_networks"] == []
    assert last.warnings == [f"nic {second_nic}: it is the last NIC of the VM vm-1."]


def test_vm_must_be_running_or_stopped_to_lose_a_nic(
    run: ModuleRunner, sim: Simulator, desired: dict[str, Any], second_nic: str
) -> None:
    sim.change("vm", desired["vm"], state="Paused")
    ran = run("vm_nic", {"uuid": second_nic, "state": "absent"})
    assert (ran.failed, ran.changed, ran["error"]["causes"][0]["code"]) == (True, False, "SYS.1006")
    assert "DetachL3NetworkFromVm needs a VM that is Running or Stopped" in ran.message


def test_removal_of_a_nic_that_was_removed_meanwhile(run: ModuleRunner, sim: Simulator, second_nic: str) -> None:
    """The job of the second call fails with SYS.1003."""
    sim.fault("duplicate", "DetachL3NetworkFromVm")
    ran = run("vm_nic", {"uuid": second_nic, "state": "absent"})
    assert (ran.failed, ran["nic"]) == (False, None), ran.message


def test_service_that_cannot_remove_nics(run: ModuleRunner, sim: Simulator, second_nic: str) -> None:
    sim.fault("status", "DetachL3NetworkFromVm", status=405, form="plain", count=None)
    ran = run("vm_nic", {"uuid": second_nic, "state": "absent"})
    assert (ran.failed, ran.changed, ran["error"]["code"]) == (True, False, "UNSUPPORTED")
    assert "does not offer DetachL3NetworkFromVm" in ran.message
