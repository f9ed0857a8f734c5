"""The module kvm_host: changed properties and logins, reconnections, and the removal of hosts."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.launch import Simulator
from support.module_runner import ModuleRunner, run_module

LOGIN = {"username": "root", "password": "Tr0ub4dor & 3", "ssh_port": 2222}
WRONG_PASSWORD = "wrong-password"


def uuid_of(kind: int, number: int) -> str:
    return f"a{kind:07x}000040008000{number:012x}"


HOST = uuid_of(3, 1)


@pytest.fixture
def run(sim: Simulator) -> ModuleRunner:
    """Two hosts in one cluster. On the first run vm-1 and vm-5, which can migrate, and vm-3 on local storage."""
    sim.reset(clusters=1, hosts=2, vms=6, primary_storages=3)
    return ModuleRunner(sim)


def clear_host(sim: Simulator, *but: str) -> None:
    """Move all VMs but those with these names to the second host."""
    for vm in sim.records("vm"):
        if vm["name"] not in but:
            last = uuid_of(3, 2)
            sim.change("vm", vm["uuid"], hostUuid=last if vm["state"] == "Running" else None, lastHostUuid=last)


# ------------------------------------------------------------------------------------------------------- properties


@pytest.mark.parametrize(
    ("options", "sent"),
    [
        ({"management_ip": "10.0.0.11", "name": "web"}, {"name": "web"}),
        ({"name": "host-1", "description": "new"}, {"description": "new"}),
        ({"uuid": HOST, "name": "web", "management_ip": "10.0.0.11"}, {"name": "web"}),
    ],
)
def test_name_and_description_are_changed(run: ModuleRunner, options: dict[str, Any], sent: dict[str, Any]) -> None:
    """The service refuses the address that a host has, so only what differs is sent."""
    ran = run.twice("kvm_host", options)
    assert (ran.calls, ran.sent("UpdateHost")) == (["UpdateHost"], sent)
    assert ran["host"]["uuid"] == HOST


def test_host_that_only_its_address_selects_is_renamed_with_a_warning(run: ModuleRunner) -> None:
    options = {**LOGIN, "ssh_port": 22, "cluster": "cluster-1", "name": "host-10", "management_ip": "10.0.0.12"}
    for check in (True, False):
        (warning,) = run("kvm_host", options, check).warnings
        assert "10.0.0.12 is the address of the host host-2, which the task renames to host-10" in warning
    assert run("kvm_host", options).warnings == []
    assert run("kvm_host", {"uuid": uuid_of(3, 2), "name": "host-2", "management_ip": "10.0.0.12"}).warnings == []


def test_login_of_a_host_that_its_record_contradicts_is_warned_of(run: ModuleRunner, sim: Simulator) -> None:
    same = {"name": "host-1", "username": "root", "ssh_port": 22}
    assert run("kvm_host", same).warnings == []
    for check in (True, False):
        ran = run("kvm_host", {**same, "ssh_port": 2222}, check=check)
        assert (ran.changed, ran.calls) == (False, [])
        (warning,) = ran.warnings
        assert "ssh_port acts only when the host is added, or with update_password: always, and the host has" in warning
    assert run("kvm_host", {**same, "ssh_port": 2222, "update_password": "always"}).warnings == []


@pytest.mark.parametrize(
    ("options", "idle"),
    [
        ({"stop_type": "cold"}, "stop_type acts only with power: off"),
        (
            {"state": "enabled", "running_vms": "stop"},
            "running_vms acts only with state: maintenance, or with evacuate",
        ),
        ({"state": "disabled", "force": True}, "force acts only with power: off or reset, or with state: absent"),
        ({"delete_mode": "enforcing"}, "delete_mode acts only with state: absent"),
        ({"running_vms": "migrate", "force": False}, None),
        ({"state": "absent", "force": True, "evacuate": True, "running_vms": "stop"}, None),
    ],
)
def test_option_that_does_nothing_is_warned_of(run: ModuleRunner, options: dict[str, Any], idle: str | None) -> None:
    warnings = [each for each in run("kvm_host", {"uuid": HOST, **options}, check=True).warnings if "ignored" in each]
    assert [warning.startswith(idle or "") for warning in warnings] == ([True] if idle else [])


@pytest.mark.parametrize(
    "options", [{"uuid": HOST}, {"name": "host-1"}, {"name": "host-1", **LOGIN, "update_password": "on_create"}]
)
def test_new_address_is_set_and_the_host_is_connected_again(run: ModuleRunner, options: dict[str, Any]) -> None:
    ran = run.twice("kvm_host", {**options, "management_ip": "10.0.0.91"})
    assert ran.calls == ["ReconnectHost", "UpdateHost", "ReconnectHost"], "the first call is for no host"
    assert (ran["host"]["management_ip"], ran["host"]["status"]) == ("10.0.0.91", "Connected")


def test_host_is_added_if_the_options_can_add_it(run: ModuleRunner) -> None:
    options = {**LOGIN, "cluster": "cluster-1", "name": "host-91", "management_ip": "10.0.0.91"}
    ran = run("kvm_host", {**options, "update_password": "always"})
    assert ran.calls == ["AddKVMHost"]


def test_host_is_not_added_with_the_name_of_another_one(run: ModuleRunner) -> None:
    """Mostly its address has changed, and later tasks could select neither of the two by the name."""
    options = {**LOGIN, "cluster": "cluster-1", "name": "host-1", "management_ip": "10.0.0.91"}
    assert run.refused("kvm_host", options) == (
        f"host host-1: no host has this management_ip, but another host has the name ({HOST}). To change its"
        " management_ip, give its uuid, or only name and management_ip. To create another host, give another name."
    )


def test_host_in_maintenance_is_not_connected_again(run: ModuleRunner, sim: Simulator) -> None:
    sim.change("host", HOST, state="Maintenance")
    ran = run.twice("kvm_host", {"uuid": HOST, "management_ip": "10.0.0.91"})
    assert ran.calls == ["UpdateHost"]
    assert ran.warnings == ["host 10.0.0.91: the service connects with the change when maintenance ends."]


def test_nothing_is_changed_if_the_service_cannot_connect_again(run: ModuleRunner, sim: Simulator) -> None:
    sim.configure(missing_operations=["ReconnectHost"])
    ran = run("kvm_host", {"uuid": HOST, "management_ip": "10.0.0.91"})
    assert (ran["error"]["code"], ran.changed) == ("UNSUPPORTED", False)
    assert sim.records("host")[0]["managementIp"] == "10.0.0.11"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"uuid": HOST, "management_ip": "10.0.0.12"},
            f"uuid selects the host host-1 ({HOST}), but management_ip selects host-2",
        ),
        ({"management_ip": "10.0.0.11", "name": "host-2"}, "management_ip selects the host host-1"),
        ({"uuid": HOST, "name": "host-2", "state": "absent"}, "but name selects host-2"),
    ],
)
def test_options_that_select_different_hosts_are_refused(
    run: ModuleRunner, options: dict[str, Any], message: str
) -> None:
    assert message in run.refused("kvm_host", options)
    assert run("kvm_host", options)["error"]["code"] == "INVALID"


def test_cluster_cannot_be_changed(run: ModuleRunner, sim: Simulator) -> None:
    sim.reset(clusters=2, hosts=2)
    assert "the API cannot change cluster" in run.refused("kvm_host", {"uuid": HOST, "cluster": "cluster-2"})


# ----------------------------------------------------------------------------------------- logins and reconnections


def test_login_is_set_each_time_on_request(run: ModuleRunner) -> None:
    run.idle("kvm_host", {"uuid": HOST, **LOGIN})
    for dummy in range(2):
        ran = run("kvm_host", {"uuid": HOST, **LOGIN, "update_password": "always"})
        assert (ran.failed, ran.changed) == (False, True)
        assert ran.calls == ["ReconnectHost", "UpdateKVMHost", "ReconnectHost"]
        assert ran.sent("UpdateKVMHost") == {"username": "root", "password": "***", "sshPort": 2222}
        assert "Tr0ub4dor" not in str(ran.result)


def test_login_that_the_service_shows(run: ModuleRunner, sim: Simulator) -> None:
    """The login is that of the addition of the host. It is only changed on request, with or without the password."""
    sim.change("host", HOST, username="admin")
    run.idle("kvm_host", {"uuid": HOST, **LOGIN})
    clear_host(sim)
    assert run("kvm_host", {"uuid": HOST, **LOGIN, "state": "absent"}, check=True)["host"] is None
    options = {"uuid": HOST, "username": "root", "ssh_port": 2222, "update_password": "always"}
    ran = run.twice("kvm_host", options)
    assert ran.calls == ["ReconnectHost", "UpdateKVMHost", "ReconnectHost"], "the first call is for no host"
    assert ran.sent("UpdateKVMHost") == {"username": "root", "sshPort": 2222}
    with_password = run("kvm_host", {**options, "password": "another"})
    assert (with_password.failed, with_password.changed) == (False, True)


def test_login_that_the_service_hides_is_set_each_time(run: ModuleRunner, sim: Simulator) -> None:
    sim.configure(extra_members=False)
    options = {"uuid": HOST, "username": "root", "ssh_port": 22, "update_password": "always"}
    for dummy in range(2):
        ran = run("kvm_host", options)
        assert (ran.failed, ran.changed) == (False, True), ran.message


def test_wrong_login_fails_and_does_not_show_the_password(run: ModuleRunner) -> None:
    options = {"uuid": HOST, **LOGIN, "password": WRONG_PASSWORD, "update_password": "always"}
    ran = run("kvm_host", options)
    assert (ran.failed, ran.changed, ran["done"]) == (True, True, ["UpdateKVMHost"])
    assert "ReconnectHost failed" in ran.message
    assert WRONG_PASSWORD not in str(ran.result)


@pytest.mark.parametrize("before", ["Connected", "Disconnected"])
def test_host_is_connected_again_each_time(run: ModuleRunner, sim: Simulator, before: str) -> None:
    sim.change("host", HOST, status=before)
    checked = run("kvm_host", {"uuid": HOST, "state": "reconnected"}, check=True)
    ran = run("kvm_host", {"uuid": HOST, "state": "reconnected"})
    assert (checked.changed, ran.changed, ran.calls) == (True, True, ["ReconnectHost"])
    assert checked["host"]["status"] == ran["host"]["status"] == "Connected"


@pytest.mark.parametrize("fault", ["drop_after", "duplicate"])
def test_lost_responses_to_a_reconnection(run: ModuleRunner, sim: Simulator, fault: str) -> None:
    sim.fault(fault, "ReconnectHost")
    ran = run("kvm_host", {"uuid": HOST, "state": "reconnected"})
    assert (ran.failed, ran["host"]["status"]) == (False, "Connected"), ran.message


def test_reconnection_in_maintenance_is_refused(run: ModuleRunner, sim: Simulator) -> None:
    sim.change("host", HOST, state="Maintenance")
    ran = run("kvm_host", {"uuid": HOST, "state": "reconnected"})
    assert (ran.failed, ran.changed) == (True, False)


# ---------------------------------------------------------------------------------------------------------- removal


def test_host_without_vms_is_removed(run: ModuleRunner, sim: Simulator) -> None:
    clear_host(sim)
    options = {"name": "host-1", "management_ip": "10.0.0.11", "cluster": "cluster-1", **LOGIN, "state": "absent"}
    ran = run.twice("kvm_host", {**options, "delete_mode": "permissive"})
    assert (ran.calls, ran.queries("DeleteHost")) == (["DeleteHost"], [{"deleteMode": ["Permissive"]}])
    assert (ran["host"], ran["also_removed"], ran["stopped_vms"]) == (None, [], [])
    assert ran["diff"]["after"] == {}


def test_failed_removal_says_that_the_host_may_be_disabled(run: ModuleRunner, sim: Simulator) -> None:
    clear_host(sim)
    removal = {"operation": "DeleteHost", "params": {"uuid": HOST}}
    sim.fault("fail", "DeleteHost")
    with_api = run("api", removal)
    assert (with_api.failed, with_api.changed) == (True, True)
    assert with_api.message.endswith("so the host may be disabled now.")
    assert sim.records("host")[0]["state"] == "Disabled"
    # The service has no such host, so the call changes nothing.
    missing = run("api", {"operation": "DeleteHost", "params": {"uuid": "f" * 32}})
    assert not missing.changed
    sim.change("host", HOST, state="Enabled")
    sim.fault("fail", "DeleteHost")
    with_module = run("kvm_host", {"uuid": HOST, "state": "absent"})
    assert (with_module.failed, with_module.changed) == (True, True)
    assert sim.records("host")[0]["state"] == "Disabled"


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("other", [{"description": "other"}, {"management_ip": "10.0.0.99"}, {"cluster": "nowhere"}])
def test_host_that_differs_is_not_removed(
    run: ModuleRunner, sim: Simulator, other: dict[str, Any], force: bool
) -> None:
    clear_host(sim)
    message = run.refused("kvm_host", {"name": "host-1", "state": "absent", "force": force, **other})
    assert f"{next(iter(other))} (is " in message
    assert "The host was found by name 'host-1'." in message


def test_vms_on_a_host_prevent_its_removal(run: ModuleRunner) -> None:
    options = {"name": "host-1", "state": "absent"}
    message = run.refused("kvm_host", options)
    assert "DeleteHost was not called, because 1 VM" in message
    assert f"vm-3 ({uuid_of(4, 3)}): its root volume is on local storage" in message
    assert message.endswith("If this is acceptable, set destroy_local_storage: true.")
    message = run.refused("kvm_host", {**options, "destroy_local_storage": True})
    assert message.endswith(
        f"because 2 VMs would be stopped: vm-1 ({uuid_of(4, 1)}): it runs on the host; vm-5 ({uuid_of(4, 5)}): it runs"
        " on the host. Set evacuate: true to move the VMs of a connected host to other hosts first. If this is"
        " acceptable, set force: true."
    )
    assert "1 VM" in run.refused("kvm_host", {**options, "force": True, "evacuate": True})


def test_stopped_vm_on_local_storage_prevents_the_removal(run: ModuleRunner, sim: Simulator) -> None:
    """A stopped VM on shared storage does not: any host can start it."""
    clear_host(sim, "vm-3", "vm-5")
    for number in (3, 5):
        sim.change("vm", uuid_of(4, number), state="Stopped", hostUuid=None, lastHostUuid=HOST)
    run.refused("kvm_host", {"name": "host-1", "state": "absent"})
    in_use = run("kvm_host", {"name": "host-1", "state": "absent"})["in_use_by"]
    assert [item["name"] for item in in_use if item["type"] == "vm"] == ["vm-3"]


def test_vms_are_moved_before_a_removal_with_an_evacuation(run: ModuleRunner, sim: Simulator) -> None:
    clear_host(sim, "vm-1", "vm-5")
    ran = run.twice("kvm_host", {"name": "host-1", "state": "absent", "evacuate": True})
    assert ran.calls == ["DeleteHost", "ChangeHostState", "DeleteHost"], "the first call is for no host"
    assert [vm["name"] for vm in ran["migrated_vms"]] == ["vm-1", "vm-5"]
    assert (ran["stopped_vms"], ran["also_removed"], ran.warnings) == ([], [], [])
    assert {vm["state"] for vm in sim.records("vm") if vm["name"] in ("vm-1", "vm-5")} == {"Running"}


def test_evacuation_stops_no_vm_without_permission(run: ModuleRunner, sim: Simulator) -> None:
    options = {"name": "host-1", "state": "absent", "evacuate": True, "force": True}
    message = run.refused("kvm_host", options)
    assert message.endswith("If this is acceptable, set destroy_local_storage: true."), "first what is lost"
    message = run.refused("kvm_host", {**options, "destroy_local_storage": True})
    assert "ChangeHostState was not called, because 1 VM would be stopped: vm-3" in message
    assert sim.records("host")[0]["state"] == "Enabled"


def test_what_lies_on_local_storage_is_lost_with_the_host(run: ModuleRunner, sim: Simulator) -> None:
    options = {
        "name": "host-1",
        "state": "absent",
        "evacuate": True,
        "destroy_local_storage": True,
        "running_vms": "stop",
    }
    sim.reset(clusters=1, hosts=2, vms=6, primary_storages=3, cbt_tasks=4)
    checked = run("kvm_host", options, check=True)
    ran = run.twice("kvm_host", options)
    assert {item["name"] for item in ran["also_removed"] if item["type"] == "vm"} == {"vm-3"}
    assert [item["name"] for item in ran["also_removed"] if item["type"] == "cbt_task"] == ["cbt-task-3"]
    assert "cbt-task-3" not in [task["name"] for task in sim.records("cbttask")]
    assert checked["also_removed"] == ran["also_removed"]
    assert checked["stopped_vms"] == ran["stopped_vms"] == []
    assert checked["diff"] == ran["diff"]
    assert any("was lost" in warning or "were lost" in warning for warning in ran.warnings)
    assert [vm["state"] for vm in sim.records("vm") if vm["name"] == "vm-3"] == ["Destroyed"]


def test_disconnected_host_is_removed_without_maintenance(run: ModuleRunner, sim: Simulator) -> None:
    clear_host(sim, "vm-1")
    sim.change("host", HOST, status="Disconnected")
    assert "1 VM would be stopped" in run.refused("kvm_host", {"name": "host-1", "state": "absent"})
    ran = run.twice("kvm_host", {"name": "host-1", "state": "absent", "force": True})
    assert (ran.calls, [vm["name"] for vm in ran["stopped_vms"]]) == (["DeleteHost"], ["vm-1"])


def test_failed_removal_says_in_which_state_the_host_is(run: ModuleRunner, sim: Simulator) -> None:
    clear_host(sim, "vm-1")
    sim.change("host", HOST, status="Disconnected")
    sim.configure(failing_stops=[uuid_of(4, 1)])
    ran = run("kvm_host", {"name": "host-1", "state": "absent", "force": True})
    assert (ran.failed, ran.changed) == (True, True)
    assert ran.message.endswith("The host still exists: state Disabled, status Disconnected.")
    enforced = run("kvm_host", {"name": "host-1", "state": "absent", "force": True, "delete_mode": "enforcing"})
    assert (enforced.failed, enforced["host"]) == (False, None), enforced.message


def test_removal_that_the_service_lacks_changes_nothing(run: ModuleRunner, sim: Simulator) -> None:
    clear_host(sim, "vm-1")
    sim.configure(missing_operations=["DeleteHost"])
    ran = run("kvm_host", {"name": "host-1", "state": "absent", "force": True})
    assert (ran["error"]["code"], ran.changed, sim.records("host")[0]["state"]) == ("UNSUPPORTED", False, "Enabled")


@pytest.mark.parametrize("lacking", [["QueryVmInstance"]])
def test_vms_that_cannot_be_read_prevent_the_removal(run: ModuleRunner, sim: Simulator, lacking: list[str]) -> None:
    clear_host(sim)
    sim.configure(missing_operations=lacking)
    options = {"name": "host-1", "state": "absent"}
    message = run.refused("kvm_host", options, api_token=None)
    assert message.startswith("host host-1: DeleteHost was not called: cannot check which VMs are on the host: ")
    permitted = {"force": True, "destroy_local_storage": True}
    ran = run("kvm_host", {**options, **permitted}, api_token=None)
    assert not ran.failed, ran.message
    assert any("cannot check which VMs are on the host" in warning for warning in ran.warnings)


def test_vms_of_no_known_host_that_cannot_be_read_prevent_the_removal(run: ModuleRunner, sim: Simulator) -> None:
    """Their query is the last of three: nobody knows which VMs the removal would destroy with the local storage."""
    clear_host(sim)
    refusal = {"code": "ID.1002", "details": "permission denied"}
    sim.fault("fail", "QueryVmInstance", error=refusal, skip=2, count=None)
    message = run.refused("kvm_host", {"name": "host-1", "state": "absent"})
    assert "DeleteHost was not called: cannot check which VMs are on the host: QueryVmInstance failed" in message


def test_first_call_without_a_wait(run: ModuleRunner, sim: Simulator) -> None:
    clear_host(sim, "vm-1")
    ran = run("kvm_host", {"name": "host-1", "state": "absent", "evacuate": True}, wait=False)
    assert ran["job"]["operation"] == "ChangeHostState"
    assert any("the task did not call DeleteHost, because wait is false" in warning for warning in ran.warnings)


def test_vm_that_starts_during_the_removal_is_listed(sim: Simulator, run: ModuleRunner) -> None:
    """The removal hides on which host it ran."""
    clear_host(sim, "vm-1")
    sim.change("host", HOST, status="Disconnected")
    sim.change("vm", uuid_of(4, 1), state="Stopped", hostUuid=None)

    def start_before(dummy: Any) -> None:
        sim.change("vm", uuid_of(4, 1), state="Running", hostUuid=HOST)

    options = {"base_url": sim.url, "session_id": sim.session, "name": "host-1", "state": "absent"}
    ran = run_module("kvm_host", options, on_job=start_before)
    assert [vm["name"] for vm in ran.result["stopped_vms"]] == ["vm-1"], ran.result
    assert any("1 VM was stopped: vm-1" in warning for warning in ran.warnings)


def test_vm_that_stays_stopped_is_not_listed(run: ModuleRunner, sim: Simulator) -> None:
    clear_host(sim, "vm-1")
    sim.change("host", HOST, status="Disconnected")
    sim.change("vm", uuid_of(4, 1), state="Stopped", hostUuid=None)
    ran = run("kvm_host", {"name": "host-1", "state": "absent"})
    assert (ran.failed, ran["stopped_vms"], ran.warnings) == (False, [], [])


def test_vm_whose_state_is_unknown_prevents_a_removal(run: ModuleRunner, sim: Simulator) -> None:
    """A maintenance leaves it on the host, whose removal stops it."""
    clear_host(sim, "vm-1", "vm-5")
    sim.change("vm", uuid_of(4, 1), state="Unknown")
    options = {"name": "host-1", "state": "absent", "evacuate": True}
    message = run.refused("kvm_host", options)
    assert "1 VM would be stopped: vm-1 (" in message
    assert "its state is Unknown, so it may run on the host" in message
    ran = run("kvm_host", {**options, "force": True})
    assert [vm["name"] for vm in ran["migrated_vms"]] == ["vm-5"], ran.message
    assert [vm["name"] for vm in ran["stopped_vms"]] == ["vm-1"]


@pytest.mark.parametrize("state", ["present", "enabled", "disabled", "maintenance"])
@pytest.mark.parametrize(
    "changes",
    [
        {"management_ip": "10.9.9.9"},
        {"update_password": "always", "password": "new-password"},
        {"update_password": "always", "password": "new-password", "username": "admin", "name": "renamed"},
    ],
)
def test_check_mode_predicts_what_follows_a_reconnection(
    run: ModuleRunner, sim: Simulator, state: str, changes: dict[str, Any]
) -> None:
    """A call that no record shows is not compared with the state before later calls."""
    uuid = sim.records("host")[0]["uuid"]
    options = {"uuid": uuid, "state": state, "running_vms": "any", **changes}
    checked, ran = run("kvm_host", options, check=True), run("kvm_host", options)
    assert not ran.failed, ran.message
    assert (checked.changed, checked.failed) == (ran.changed, False), checked.message
    compared = ("name", "management_ip", "state", "status", "username")
    assert [checked["host"].get(name) for name in compared] == [ran["host"].get(name) for name in compared]
