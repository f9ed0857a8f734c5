"""Check mode predicts what the service refuses, as far as it can be read, and the run fails with the same message."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.launch import Simulator
from simulator.state.store import seeded_uuid
from support.module_runner import ModuleRunner
from support.predictions import run_as_predicted

UNKNOWN = "f" * 12 + "4fff8" + "f" * 15
HOST, VM, STOPPED = seeded_uuid("host", 1), seeded_uuid("vm", 1), seeded_uuid("vm", 2)
NETWORK, GROUP = seeded_uuid("l3network", 2), seeded_uuid("snapshotgroup", 1)
NEW_HOST = {"management_ip": "10.9.9.9", "name": "new", "username": "root", "password": "a-password"}


def test_cbt_task_of_a_vm_that_does_not_run_is_not_created(run: ModuleRunner, sim: Simulator) -> None:
    sim.reset(cbt_tasks=0)
    options = {"name": "new", "vm": STOPPED, "state": "enabled"}
    ran = run_as_predicted(run, "cbt_task", options)
    assert "the service can enable a CBT task only while its VM runs, and vm-2 is Stopped. Start the VM" in ran.message
    assert ran["error"]["code"] == "UNCHANGEABLE"
    assert (ran.calls, sim.records("cbttask")) == ([], [])
    sim.change("vm", STOPPED, state="Running")
    assert not run_as_predicted(run, "cbt_task", options).failed


@pytest.mark.parametrize(("state", "verb"), [("enabled", "enable"), ("disabled", "disable")])
def test_cbt_task_of_a_vm_that_was_stopped(run: ModuleRunner, sim: Simulator, state: str, verb: str) -> None:
    sim.reset(cbt_tasks=1)
    (task,) = sim.records("cbttask")
    sim.change("cbttask", task["uuid"], status="Created")
    sim.change("vm", VM, state="Crashed")
    ran = run_as_predicted(run, "cbt_task", {"uuid": task["uuid"], "state": state})
    assert f"the service can {verb} a CBT task only while its VM runs, and vm-1 is Crashed" in ran.message
    assert ran["error"]["causes"][0]["code"] == "SYS.1006"


@pytest.mark.parametrize(
    ("module", "options", "message"),
    [
        ("kvm_host", {**NEW_HOST, "cluster": UNKNOWN}, "no cluster with uuid"),
        ("cbt_task", {"name": "new", "vm": UNKNOWN}, "no VM with uuid"),
        ("cbt_task", {"name": "new", "task_type": "full", "vms": [VM, UNKNOWN]}, "no VM with uuid"),
        ("sns_endpoint", {"type": "snmp", "name": "new", "platform": UNKNOWN}, "no platform with uuid"),
        ("sns_endpoint", {"type": "snmp", "name": "new", "topics": [UNKNOWN]}, "no topic with uuid"),
        ("sns_teamchat_person", {"user_id": "new", "endpoint": UNKNOWN}, "no endpoint with uuid"),
        ("vm_nic", {"vm": VM, "l3_network": UNKNOWN}, "no L3 network with uuid"),
        ("vm_nic", {"uuid": seeded_uuid("vmnic", 1), "l3_network": UNKNOWN}, "no L3 network with uuid"),
        ("vm_from_snapshot_group", {"name": "new", "snapshot_group": UNKNOWN}, "no snapshot group with uuid"),
        (
            "vm_from_snapshot_group",
            {
                "name": "new",
                "snapshot_group": GROUP,
                "l3_networks": [NETWORK, UNKNOWN],
                "default_l3_network": NETWORK,
            },
            "no L3 network with uuid",
        ),
        ("vm", {"uuid": STOPPED, "state": "running", "host": UNKNOWN}, "no host with uuid"),
        ("host_nic_service", {"interfaces": [UNKNOWN], "service_types": ["BackupNetwork"]}, "no network interface"),
        ("sns_snmp_test", {"platform": UNKNOWN}, "no platform with uuid"),
        ("cbt_volume_export", {"vm": STOPPED, "volumes": [UNKNOWN]}, "no volume with uuid"),
        ("cbt_volume_export", {"vm": VM, "volumes": [seeded_uuid("volume", 1)]}, "an export needs a VM that does not"),
    ],
)
def test_uuids_of_no_object(
    run: ModuleRunner, sim: Simulator, module: str, options: dict[str, Any], message: str
) -> None:
    sim.reset(cbt_tasks=0)
    ran = run_as_predicted(run, module, options)
    assert message in ran.message
    assert not ran.changed


def test_options_of_new_objects_are_predicted(run: ModuleRunner, sim: Simulator) -> None:
    sim.reset(cbt_tasks=0)
    checked = run("cbt_task", {"name": "new", "vm": VM}, check=True)
    assert (checked["cbt_task"]["vm_instance_uuid"], checked["cbt_task"]["resource_uuids"]) == (VM, [VM])
    platform = {"name": "new", "snmp_address": "10.8.8.8", "snmp_port": 163}
    checked = run("sns_snmp_platform", platform, check=True)
    assert {name: checked["platform"][name] for name in platform} == platform


NIC, NIC_OF_STOPPED = seeded_uuid("vmnic", 1), seeded_uuid("vmnic", 2)
ATTACHED = {"vm": STOPPED, "l3_network": NETWORK}
UNUSABLE_NETWORKS: tuple[tuple[dict[str, Any], str], ...] = (
    ({"state": "Disabled"}, "is Disabled, so no NICs can be attached to it. Enable it first."),
    ({"category": "System"}, "is a system network, which only the service uses. Give another network."),
    ({"ipRanges": []}, "has no IP range, so a NIC would get no address. Add a range first."),
)


@pytest.mark.parametrize(
    ("module", "options", "before", "message"),
    [
        ("vm_nic", {**ATTACHED, "static_ip": "10.9.9.9"}, {}, "static_ip 10.9.9.9 is in no IP range of the network"),
        ("vm_nic", {"uuid": NIC, "static_ip": "10.101.0.12"}, {}, "static_ip 10.101.0.12 is that of the NIC"),
        ("vm_nic", {"uuid": NIC, "l3_network": NETWORK, "static_ip": "10.101.0.11"}, {}, "is in no IP range of the"),
        ("vm_nic", {**ATTACHED, "custom_mac": "FA:00:00:00:00:01"}, {}, "is that of the NIC"),
        *(
            (module, options, {("l3network", NETWORK): network}, message)
            for network, message in UNUSABLE_NETWORKS
            for module, options in (
                ("vm_nic", ATTACHED),
                ("vm_nic", {"uuid": NIC, "l3_network": NETWORK}),
                ("vm_from_snapshot_group", {"name": "new", "snapshot_group": GROUP, "l3_networks": [NETWORK]}),
            )
        ),
        (
            "vm",
            {"uuid": VM, "state": "running"},
            {("vm", VM): {"state": "NoState"}},
            "is NoState, and StartVmInstance needs a VM that is Running, Created, Stopped or Crashed",
        ),
        (
            "sns_teamchat_person",
            {"endpoint": seeded_uuid("endpoint", 1), "user_id": "user-9"},
            {},
            "is of the type Snmp, and only teamchat endpoints mention these persons",
        ),
        ("vm_nic", ATTACHED, {("vm", STOPPED): {"state": "Paused"}}, "the VM vm-2 is Paused, and AttachL3NetworkToVm"),
        (
            "vm_nic",
            {"uuid": NIC_OF_STOPPED, "state": "absent"},
            {("vm", STOPPED): {"state": "Paused"}},
            "DetachL3NetworkFromVm needs a VM that is Running or Stopped",
        ),
        ("kvm_host", {"name": "host-2", "ipmi_username": "admin"}, {}, "(ipmi_address is not set)"),
        (
            "kvm_host",
            {"uuid": HOST, "state": "maintenance"},
            {("host", HOST): {"status": "Disconnected"}},
            "only a connected host can go into maintenance",
        ),
        (
            "kvm_host",
            {"uuid": HOST, "state": "reconnected"},
            {("host", HOST): {"state": "Maintenance"}},
            "the service does not reconnect a host in state Maintenance",
        ),
        (
            "kvm_host",
            {"uuid": HOST, "state": "reconnected", "description": "new"},
            {("host", HOST): {"status": "Disconnected", "ipmiPowerStatus": "POWER_OFF"}},
            "because it is switched off. Set power: on",
        ),
        (
            "vm",
            {"uuid": STOPPED, "state": "running", "host": HOST},
            {("host", HOST): {"state": "Disabled"}},
            "a VM starts only on a host that is Enabled and Connected: host-1 is Disabled and Connected",
        ),
        (
            "vm",
            {"uuid": STOPPED, "state": "running"},
            {("host", seeded_uuid("host", 2)): {"state": "Disabled"}},
            "a VM starts only on a host that is Enabled and Connected: host-2 is Disabled and Connected",
        ),
        (
            "vm",
            {"uuid": STOPPED, "state": "stopped"},
            {("vm", STOPPED): {"state": "Created"}},
            "is Created, and StopVm",
        ),
        (
            "sns_endpoint",
            {"type": "snmp", "name": "new", "platform": seeded_uuid("platform", 2)},
            {},
            "is of the type TeamChat, and the endpoint of the type snmp",
        ),
        (
            "sns_endpoint",
            {"type": "any", "uuid": seeded_uuid("endpoint", 1), "platform": seeded_uuid("platform", 2)},
            {},
            "is of the type TeamChat, and the endpoint of the type Snmp",
        ),
        (
            "sns_teamchat_person",
            {"uuid": seeded_uuid("person", 1), "user_id": "user-2"},
            {},
            "already has a person with the user_id 'user-2'",
        ),
        (
            "vm_from_snapshot_group",
            {"name": "new", "snapshot_group": GROUP, "host": HOST},
            {("host", HOST): {"status": "Disconnected"}},
            "host-1 is Enabled and Disconnected",
        ),
    ],
)
def test_states_and_values_that_the_service_refuses(
    run: ModuleRunner,
    sim: Simulator,
    module: str,
    options: dict[str, Any],
    before: dict[tuple[str, str], dict[str, Any]],
    message: str,
) -> None:
    for (kind, uuid), members in before.items():
        sim.change(kind, uuid, **members)
    ran = run_as_predicted(run, module, options)
    assert message in ran.message
    assert ran["error"]["code"] == "UNCHANGEABLE"
    assert not ran.changed


def test_nothing_is_changed_before_a_call_that_is_refused(run: ModuleRunner, sim: Simulator) -> None:
    sim.change("host", HOST, state="Disabled")
    message = run.refused("vm", {"uuid": STOPPED, "state": "running", "host": HOST, "description": "new"})
    assert "host-1 is Disabled" in message
    options = {"type": "snmp", "name": "new", "platform": seeded_uuid("platform", 2), "state": "disabled"}
    assert "is of the type TeamChat" in run.refused("sns_endpoint", options)
    chat = {**options, "type": "workchat", "url": "https://chat.example.com/send?key=1"}
    for check in (True, False):
        ran = run("sns_endpoint", chat, check=check)
        assert "is of the type TeamChat, and the endpoint of the type" in ran.message
        assert (ran.changed, ran.calls) == (False, [])


def test_host_that_is_off_is_connected_later(run: ModuleRunner, sim: Simulator) -> None:
    sim.change("host", HOST, status="Disconnected", ipmiPowerStatus="POWER_OFF")
    options = {"uuid": HOST, "power": "off", "username": "root", "password": "new", "update_password": "always"}
    ran = run_as_predicted(run, "kvm_host", options)
    assert ran.calls == ["UpdateKVMHost"]
    assert "the service connects with the change when the host is on again" in ran.warnings[-1]


def test_netmask_stays_with_another_address(run: ModuleRunner, sim: Simulator) -> None:
    options = {"uuid": NIC, "static_ip": "10.101.0.99"}
    predicted = run("vm_nic", options, check=True)["nic"]
    kept = ("ip", "netmask", "gateway")
    assert {name: predicted[name] for name in kept} == {name: run("vm_nic", options)["nic"][name] for name in kept}


def test_unexport_of_volumes_that_do_not_exist_changes_nothing(run: ModuleRunner, sim: Simulator) -> None:
    ran = run_as_predicted(run, "cbt_volume_export", {"vm": STOPPED, "volumes": [UNKNOWN], "state": "absent"})
    assert (ran.calls, ran.changed) == ([], False)


def test_diff_has_the_names_of_new_references(run: ModuleRunner, sim: Simulator) -> None:
    options = {"type": "snmp", "name": "new", "platform": "snmp-1", "topics": ["topic-2", "topic-1"]}
    for check in (True, False):
        after = run("sns_endpoint", options, check=check)["diff"]["after"]
        assert (after["platform_name"], after["topic_names"]) == ("snmp-1", ["topic-1", "topic-2"])
    diff = run("sns_endpoint", {**options, "topics": ["topic-2"]}, check=True)["diff"]
    assert (diff["before"]["topic_names"], diff["after"]["topic_names"]) == (["topic-1", "topic-2"], ["topic-2"])
    assert "platform_name" not in diff["after"]
