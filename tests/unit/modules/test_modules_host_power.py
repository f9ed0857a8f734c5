"""The module kvm_host: the power of hosts, and their IPMI controllers."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from simulator.launch import Simulator
from support.module_runner import ModuleRunner, run_module


def uuid_of(kind: int, number: int) -> str:
    return f"a{kind:07x}000040008000{number:012x}"


HOST = uuid_of(3, 1)
LOGIN = {"ipmi_username": "operator", "ipmi_password": "Tr0ub4dor & 3"}
OFF = {"ipmiPowerStatus": "POWER_OFF", "status": "Disconnected"}


@pytest.fixture
def run(sim: Simulator) -> ModuleRunner:
    """Three hosts in one cluster. On host-1 runs vm-1; host-2 has no IPMI controller; on host-3 runs vm-3, local."""
    sim.reset(clusters=1, hosts=3, vms=3, primary_storages=3)
    return ModuleRunner(sim)


def host_of(sim: Simulator) -> dict[str, Any]:
    return next(host for host in sim.records("host") if host["uuid"] == HOST)


def power_of(ran: Any) -> tuple[str, str]:
    return ran["host"]["ipmi_power_status"], ran["host"]["status"]


@pytest.fixture
def empty(sim: Simulator, run: ModuleRunner) -> ModuleRunner:
    """No VM runs on any host."""
    for vm in sim.records("vm"):
        sim.change("vm", vm["uuid"], state="Stopped", hostUuid=None)
    return run


# ------------------------------------------------------------------------------------------------------- on and off


def test_host_is_switched_off_and_on(empty: ModuleRunner) -> None:
    """The second run finds the host off, or on. After it was switched on, the host is connected again."""
    off = empty.twice("kvm_host", {"name": "host-1", "power": "off"})
    assert (off.calls, off.sent("ShutdownHost")) == (["ShutdownHost"], {})
    assert power_of(off) == ("POWER_OFF", "Disconnected")
    assert (off["diff"]["before"]["ipmi_power_status"], off["diff"]["after"]["ipmi_power_status"]) == (
        "POWER_ON",
        "POWER_OFF",
    )
    on = empty.twice("kvm_host", {"name": "host-1", "power": "on"})
    assert (on.calls, power_of(on)) == (["PowerOnHost"], ("POWER_ON", "Connected"))
    assert on["stopped_vms"] == []


@pytest.mark.parametrize(("written", "power"), [("on", "POWER_ON"), ("off", "POWER_OFF"), ('"off"', "POWER_OFF")])
def test_booleans_of_yaml(empty: ModuleRunner, written: str, power: str) -> None:
    """YAML reads ``power: on`` as a boolean, which Ansible converts to the only choice that means the same."""
    options = {"name": "host-1", **yaml.safe_load(f"power: {written}")}
    assert isinstance(options["power"], str if written == '"off"' else bool)
    ran = empty("kvm_host", options)
    assert not ran.failed, ran.message
    assert ran["host"]["ipmi_power_status"] == power


def test_power_can_be_cut(empty: ModuleRunner) -> None:
    cold = empty("kvm_host", {"name": "host-1", "power": "off", "stop_type": "cold", "force": True})
    assert cold.sent("ShutdownHost") == {"force": True}
    empty("kvm_host", {"name": "host-1", "power": "on"})
    grace = empty("kvm_host", {"name": "host-1", "power": "off", "stop_type": "grace", "force": True})
    assert grace.sent("ShutdownHost") == {}, "the option force only permits stopping VMs"


def test_host_is_reset_each_time(empty: ModuleRunner, sim: Simulator) -> None:
    for number in (1, 2):
        assert empty("kvm_host", {"name": "host-1", "power": "reset"}, check=True).changed
        ran = empty("kvm_host", {"name": "host-1", "power": "reset"})
        assert (ran.calls, ran.changed, power_of(ran)) == (["PowerResetHost"], True, ("POWER_ON", "Connected"))
        assert host_of(sim)["_resets"] == number
    sim.change("host", HOST, **OFF)
    message = empty.refused("kvm_host", {"name": "host-1", "power": "reset"})
    assert message == "host host-1: the host is switched off, so it cannot be reset. Set power: on."


# ------------------------------------------------------------------------------------------- what is known of the power


@pytest.mark.parametrize("unknown", [None, "POWER_UNKNOWN"])
def test_unknown_power(empty: ModuleRunner, sim: Simulator, unknown: str | None) -> None:
    """A connected host is on. Otherwise the service is asked to switch it, and does nothing if that is not needed."""
    sim.change("host", HOST, ipmiPowerStatus=unknown)
    empty.idle("kvm_host", {"name": "host-1", "power": "on"})
    assert empty("kvm_host", {"name": "host-1", "power": "off"}).calls == ["ShutdownHost"]
    sim.change("host", HOST, ipmiPowerStatus=unknown, status="Disconnected")
    assert empty("kvm_host", {"name": "host-1", "power": "off"}).calls == ["ShutdownHost"]


def test_outdated_power(empty: ModuleRunner, sim: Simulator) -> None:
    """A host that is connected is not off, whatever its controller reported some minutes ago."""
    sim.change("host", HOST, ipmiPowerStatus="POWER_OFF")
    assert empty("kvm_host", {"name": "host-1", "power": "off"}, check=True).changed


@pytest.mark.parametrize(("power", "switching"), [("on", "POWER_BOOTING"), ("off", "POWER_SHUTDOWN")])
def test_host_that_is_being_switched(empty: ModuleRunner, sim: Simulator, power: str, switching: str) -> None:
    """The module waits for the end of a switch that somebody else has begun, before it calls anything."""
    sim.change("host", HOST, status="Disconnected", ipmiPowerStatus=switching)
    ran = empty("kvm_host", {"name": "host-1", "power": power, "wait_timeout": 0.3})
    assert (ran.failed, ran.calls) == (True, [])
    assert f"ipmi_power_status is still {switching} after 0.3 s" in ran.message


def test_host_that_does_not_switch_off(empty: ModuleRunner, sim: Simulator) -> None:
    """The success of the job proves nothing: the host has to be off when it is read again."""
    sim.change("host", HOST, ipmiUsername=None, ipmiPowerStatus="POWER_ON")
    ran = empty("kvm_host", {"name": "host-1", "power": "off"})
    assert ran.failed
    assert ran.message == (
        "host host-1: ShutdownHost succeeded, but ipmi_power_status is 'POWER_ON' (expected 'POWER_OFF')"
    )


def test_host_that_does_not_come_back(empty: ModuleRunner, sim: Simulator) -> None:
    sim.change("host", HOST, **OFF)
    sim.configure(boot=10000)
    ran = empty("kvm_host", {"name": "host-1", "power": "on", "wait_timeout": 0.5})
    assert "status is still Disconnected after 0.5 s. Check the host, or increase wait_timeout." in ran.message
    assert ran.changed


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        (
            {"ipmiAddress": None, "ipmiUsername": None, "ipmiPowerStatus": None},
            (
                "an IPMI controller of it (ipmi_address is not set). The service reads the address from the host when"
                " it connects: configure one in the IPMI controller (BMC) itself, and set state: reconnected. A host"
                " without such a controller cannot be switched by the service."
            ),
        ),
        (
            {"ipmiPowerStatus": "UN_CONFIGURED"},
            "the login of its IPMI controller 172.31.0.2. Set ipmi_username and ipmi_password.",
        ),
        (
            {"ipmiUsername": None, "ipmiPowerStatus": None},
            "the login of its IPMI controller 172.31.0.2. Set ipmi_username and ipmi_password.",
        ),
    ],
)
def test_host_without_ipmi(empty: ModuleRunner, sim: Simulator, members: dict[str, Any], reason: str) -> None:
    """A host that is connected is on even without a controller."""
    sim.change("host", HOST, **members)
    empty.idle("kvm_host", {"name": "host-1", "power": "on"})
    for power in ("off", "reset"):
        assert empty.refused("kvm_host", {"name": "host-1", "power": power}) == (
            f"host host-1: the service cannot switch the host on or off, because it does not know {reason}"
        )


# ----------------------------------------------------------------------------------------------------- VMs on the host


@pytest.mark.parametrize(("power", "operation"), [("off", "ShutdownHost"), ("reset", "PowerResetHost")])
def test_running_vms_are_protected(run: ModuleRunner, sim: Simulator, power: str, operation: str) -> None:
    options = {"name": "host-1", "power": power}
    message = run.refused("kvm_host", options)
    assert message.startswith(f"host host-1: {operation} was not called, because 1 VM would be stopped: vm-1 (")
    assert message.endswith("): it runs on the host. If this is acceptable, set force: true.")
    refused = run("kvm_host", options)
    assert refused["error"]["code"] == "IN_USE"
    assert [vm["name"] for vm in refused["in_use_by"]] == ["vm-1"]
    predicted = run("kvm_host", {**options, "force": True}, check=True)
    ran = run("kvm_host", {**options, "force": True})
    for each in (predicted, ran):
        assert [vm["name"] for vm in each["stopped_vms"]] == ["vm-1"]
        assert [text.partition(" (")[0] for text in each["diff"]["after"]["stopped_vms"]] == ["vm-1"]
    assert "1 VM was stopped: vm-1" in ran.warnings[0]


def test_unreadable_vms_are_protected(run: ModuleRunner, sim: Simulator) -> None:
    sim.configure(missing_operations=["QueryVmInstance"])
    message = run.refused("kvm_host", {"name": "host-1", "power": "off"}, api_token=None)
    assert "cannot check which VMs run on the host" in message
    assert message.endswith("Set force: true to call it nevertheless.")
    ran = run("kvm_host", {"name": "host-1", "power": "off", "force": True}, api_token=None)
    assert ran.calls == ["ShutdownHost"]
    assert "cannot check which VMs run on the host" in ran.warnings[0]


def test_host_is_switched_off_in_maintenance(run: ModuleRunner, sim: Simulator) -> None:
    """The maintenance moves the VMs, so nothing is lost; the host is connected when it has left the maintenance."""
    options = {"name": "host-1", "state": "maintenance", "power": "off"}
    off = run.twice("kvm_host", options)
    assert off.calls == ["ShutdownHost", "ChangeHostState", "ShutdownHost"], "the first call is for no host"
    assert [vm["name"] for vm in off["migrated_vms"]] == ["vm-1"]
    assert off["stopped_vms"] == []
    assert (off["host"]["state"], power_of(off)) == ("Maintenance", ("POWER_OFF", "Disconnected"))
    on = run.twice("kvm_host", {"name": "host-1", "state": "maintenance", "power": "on"})
    assert (on.calls, power_of(on)) == (["PowerOnHost"], ("POWER_ON", "Disconnected"))


def test_maintenance_does_not_stop_vms_without_permission(run: ModuleRunner) -> None:
    options = {"name": "host-3", "state": "maintenance", "power": "off", "force": True}
    assert "set running_vms: stop" in run.refused("kvm_host", options)


@pytest.mark.parametrize("power", ["off", "reset"])
def test_vms_of_unknown_state_are_protected_in_maintenance(run: ModuleRunner, sim: Simulator, power: str) -> None:
    """A maintenance leaves them on the host, where they may still run."""
    (vm,) = [vm for vm in sim.records("vm") if vm["hostUuid"] == HOST]
    sim.change("vm", vm["uuid"], state="Unknown")
    options = {"name": "host-1", "state": "maintenance", "power": power}
    message = run.refused("kvm_host", {**options, "force": True})
    assert f"Host was not called, because 1 VM would be stopped: vm-1 ({vm['uuid']}): its state is Unknown" in message
    assert message.endswith("If this is acceptable, set running_vms: stop.")
    assert sim.records("host")[0]["state"] == "Enabled"
    ran = run("kvm_host", {**options, "running_vms": "stop"})
    assert [each["name"] for each in ran["stopped_vms"]] == ["vm-1"], ran.message


def test_vm_that_the_maintenance_left_is_protected(run: ModuleRunner, sim: Simulator) -> None:
    """Its state becomes unknown while the maintenance moves the others."""
    sim.change("host", HOST, state="Maintenance")
    message = run.refused("kvm_host", {"name": "host-1", "state": "maintenance", "power": "off"})
    assert "ShutdownHost was not called, because 1 VM would be stopped: vm-1 (" in message


@pytest.mark.parametrize("check", [True, False])
def test_vms_that_a_maintenance_leaves_are_named(run: ModuleRunner, sim: Simulator, check: bool) -> None:
    (vm,) = [vm for vm in sim.records("vm") if vm["hostUuid"] == HOST]
    sim.change("vm", vm["uuid"], state="Unknown")
    ran = run("kvm_host", {"name": "host-1", "state": "maintenance"}, check)
    assert [each["name"] for each in ran["remaining_vms"]] == ["vm-1"]
    assert (ran["migrated_vms"], ran["stopped_vms"]) == ([], [])
    assert any(f"1 VM {'would be' if check else 'was'} left on the host: vm-1" in text for text in ran.warnings)


def test_vm_that_starts_before_the_power_is_cut_is_listed(empty: ModuleRunner, sim: Simulator) -> None:
    (vm,) = [vm for vm in sim.records("vm") if vm["name"] == "vm-1"]
    sim.change("vm", vm["uuid"], state="Stopped", hostUuid=None, lastHostUuid=HOST)

    def start_before(dummy: Any) -> None:
        sim.change("vm", vm["uuid"], state="Running", hostUuid=HOST)

    options = {"base_url": sim.url, "session_id": sim.session, "name": "host-1", "power": "off"}
    ran = run_module("kvm_host", options, on_job=start_before)
    assert [each["name"] for each in ran.result["stopped_vms"]] == ["vm-1"], ran.result


def test_host_leaves_maintenance_after_it_was_switched_on(run: ModuleRunner, sim: Simulator) -> None:
    """The service cannot connect to a host that is still booting, and connects later."""
    sim.change("host", HOST, **OFF, state="Maintenance")
    sim.configure(boot=0.05, reconnect=0.05)
    on = run.twice("kvm_host", {"name": "host-1", "state": "enabled", "power": "on"})
    assert on.calls == ["PowerOnHost", "ChangeHostState"]
    assert (on["host"]["state"], power_of(on)) == ("Enabled", ("POWER_ON", "Connected"))


def test_host_is_reset_in_maintenance(run: ModuleRunner) -> None:
    ran = run("kvm_host", {"name": "host-1", "state": "maintenance", "power": "reset"})
    assert ran.calls == ["PowerResetHost", "ChangeHostState", "PowerResetHost"]
    assert (ran["stopped_vms"], ran["host"]["state"]) == ([], "Maintenance")


# ------------------------------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"state": "reconnected", "power": "off"}, "host host-1: power off cannot be used with state reconnected"),
    ],
)
def test_contradictions(run: ModuleRunner, options: dict[str, Any], message: str) -> None:
    assert run.refused("kvm_host", {"name": "host-1", **options}) == message


def test_host_that_does_not_exist(run: ModuleRunner) -> None:
    new = {"name": "host-9", "management_ip": "10.0.0.91", "cluster": "cluster-1", "username": "root", "password": "x"}
    message = run.refused("kvm_host", {**new, "power": "off"})
    assert message == "host host-9: power off cannot be used for a host that does not exist"
    assert run("kvm_host", {**new, "power": "on"}).calls == ["AddKVMHost"]


@pytest.mark.parametrize("operation", ["PowerOnHost", "ShutdownHost", "PowerResetHost", "UpdateHostIpmi"])
def test_service_without_the_operation(empty: ModuleRunner, sim: Simulator, operation: str) -> None:
    powers: dict[str, dict[str, Any]] = {
        "PowerOnHost": {"power": "on"},
        "ShutdownHost": {"power": "off", "state": "maintenance"},
        "PowerResetHost": {"power": "reset"},
        "UpdateHostIpmi": LOGIN,
    }
    if operation == "PowerOnHost":
        sim.change("host", HOST, **OFF)
    before = host_of(sim)
    sim.configure(missing_operations=[operation])
    ran = empty("kvm_host", {"name": "host-1", **powers[operation]})
    assert ran["error"]["code"] == "UNSUPPORTED"
    assert f"the service does not offer {operation}" in ran.message
    assert host_of(sim) == before


# ------------------------------------------------------------------------------------------------- the IPMI controller


def test_login_of_the_controller(run: ModuleRunner, sim: Simulator) -> None:
    """The port is sent with every change, because the service would set a missing one to its default."""
    sim.change("host", HOST, ipmiPort=6623)
    ran = run.twice("kvm_host", {"name": "host-1", **LOGIN})
    assert ran.sent("UpdateHostIpmi") == {
        "ipmiUsername": "operator",
        "ipmiPassword": "***",
        "ipmiPort": 6623,
    }
    assert LOGIN["ipmi_password"] not in str(ran.result)
    moved = run.twice("kvm_host", {"name": "host-1", **LOGIN, "ipmi_address": "172.31.7.7", "ipmi_port": 623})
    assert (moved["host"]["ipmi_address"], moved["host"]["ipmi_port"]) == ("172.31.7.7", 623)


def test_controller_of_a_new_host_is_predicted(run: ModuleRunner) -> None:
    """Its state is reached last, so the record that is expected then has the controller, too."""
    new = {"name": "host-9", "management_ip": "10.0.0.91", "cluster": "cluster-1", "username": "root", "password": "x"}
    options = {**new, **LOGIN, "ipmi_address": "172.31.7.7", "state": "disabled"}
    ran = run("kvm_host", options, check=True)
    assert (ran["host"]["ipmi_address"], ran["host"]["ipmi_username"]) == ("172.31.7.7", "operator")


def test_password_of_the_controller(run: ModuleRunner) -> None:
    run("kvm_host", {"name": "host-1", **LOGIN})
    run.idle("kvm_host", {"name": "host-1", **LOGIN, "ipmi_password": "another"})
    for check in (True, False):
        ran = run("kvm_host", {"name": "host-1", **LOGIN, "update_password": "always"}, check=check)
        assert ran.changed
    assert ran.calls == ["UpdateHostIpmi"], "the login of the host is not changed without its password"


def test_login_and_power_in_one_task(empty: ModuleRunner, sim: Simulator) -> None:
    sim.change("host", HOST, ipmiUsername=None, ipmiPowerStatus="UN_CONFIGURED")
    ran = empty.twice("kvm_host", {"name": "host-1", **LOGIN, "power": "off"})
    assert ran.calls == ["ShutdownHost", "UpdateHostIpmi", "ShutdownHost"]
    assert power_of(ran) == ("POWER_OFF", "Disconnected")


def test_controller_that_refuses_the_login(run: ModuleRunner) -> None:
    ran = run("kvm_host", {"name": "host-1", **LOGIN, "ipmi_password": "wrong-password"})
    assert (ran.failed, ran.changed) == (True, False)
    assert "can not connect ipmi" in ran.message
