# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Messages of failures say what failed, on which object, why, and what to do."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._api.operations import OPERATIONS

from simulator.launch import Simulator
from support.module_runner import ModuleRunner

NOWHERE = "f" * 32


@pytest.fixture
def run(sim: Simulator) -> ModuleRunner:
    return ModuleRunner(sim)


def first(sim: Simulator, kind: str, **members: Any) -> str:
    """Return the uuid of the first record of a kind that has these members."""
    found = sim.records(kind)
    return next(str(each["uuid"]) for each in found if all(each[name] == value for name, value in members.items()))


def action(sim: Simulator, operation: str, kind: str = "vm", **params: Any) -> dict[str, Any]:
    """Return the options of the module api for an operation on the first object of a kind, a running VM."""
    return {"operation": operation, "params": {"uuid": first(sim, kind), **params}}


def action_on_vm_in(state: str, sim: Simulator, operation: str) -> dict[str, Any]:
    """Return the options of the module api for an operation on a VM that has this state."""
    sim.change("vm", first(sim, "vm"), state=state)
    return action(sim, operation)


def put_into_room(sim: Simulator, endpoint: str) -> str:
    """Make an endpoint one of a chat room, and return its uuid."""
    sim.change("endpoint", endpoint, type="WorkChat")
    return endpoint


def subscription(sim: Simulator, operation: str) -> dict[str, Any]:
    """Return the options of the module api for an operation on an endpoint that does not subscribe to a topic."""
    params = {"topicUuid": first(sim, "topic", name="topic-2"), "endpointUuid": first(sim, "endpoint")}
    return {"operation": operation, "params": params}


def person(sim: Simulator, operation: str) -> dict[str, Any]:
    """Return the options of the module api for an operation on a person whom an endpoint does not mention yet."""
    return {"operation": operation, "params": {"userId": "carol", "endpointUuid": first(sim, "endpoint")}}


def action_on_volume(status: str, sim: Simulator, operation: str) -> dict[str, Any]:
    """Return the options of the module api for an operation on a detached data volume that has this status."""
    uuid = first(sim, "volume", type="Data")
    sim.change("volume", uuid, status=status, vmInstanceUuid=None)
    return {"operation": operation, "params": {"uuid": uuid}}


def action_on_stopped_vm(sim: Simulator, operation: str) -> dict[str, Any]:
    """Return the options of the module api for an operation on the snapshot group of a VM, which is stopped."""
    sim.change("vm", first(sim, "vm"), state="Stopped")
    return action(sim, operation, "snapshotgroup")


Options = Callable[[Simulator], dict[str, Any]]


def act_on(kind: str, operation: str, **params: Any) -> tuple[str, Options]:
    """Return the module api and its options for an operation on the first object of a kind."""
    return "api", lambda sim: action(sim, operation, kind, **params)


# Each operation that changes something, with a module and options that call it.
CALLS: dict[str, tuple[str, Options]] = {
    "CreateCbtTask": ("cbt_task", lambda sim: {"name": "n", "vm": first(sim, "vm", name="vm-3")}),
    "EnableCbtTask": ("cbt_task", lambda sim: {"name": "cbt-task-1", "state": "enabled"}),
    "DisableCbtTask": ("cbt_task", lambda sim: {"name": "cbt-task-1", "state": "disabled"}),
    "DeleteCbtTask": ("cbt_task", lambda sim: {"name": "cbt-task-1", "state": "absent"}),
    "ExportNbdVolumes": (
        "cbt_volume_export",
        lambda sim: {"vm": first(sim, "vm"), "volumes": [first(sim, "volume")]},
    ),
    "CreateSNSWorkchatEndpoint": (
        "sns_endpoint",
        lambda sim: {"type": "workchat", "name": "n", "url": "https://chat.example.com/"},
    ),
    "CreateSNSSnmpEndpoint": ("sns_endpoint", lambda sim: {"type": "snmp", "name": "n"}),
    "UpdateSNSApplicationEndpoint": (
        "sns_endpoint",
        lambda sim: {"type": "snmp", "name": "snmp-endpoint-1", "description": "other"},
    ),
    "UpdateSNSSnmpPlatform": (
        "sns_snmp_platform",
        lambda sim: {"uuid": first(sim, "platform", type="Snmp"), "snmp_port": 1},
    ),
    "UpdateAtPersonOfAtTeamchatEndpoint": (
        "sns_teamchat_person",
        lambda sim: {"uuid": first(sim, "person"), "remark": "other"},
    ),
    "SNSSnmpTestConnection": ("sns_snmp_test", lambda sim: {"platform": first(sim, "platform", type="Snmp")}),
    "CreateVmInstanceFromVolumeSnapshotGroup": (
        "vm_from_snapshot_group",
        lambda sim: {"name": "n", "snapshot_group": first(sim, "snapshotgroup")},
    ),
    "AttachL3NetworkToVm": (
        "vm_nic",
        lambda sim: {
            "vm": first(sim, "vm"),
            "l3_network": first(sim, "l3network", name="l3-2"),
        },
    ),
    "ChangeVmNicNetwork": (
        "vm_nic",
        lambda sim: {"uuid": first(sim, "vmnic"), "l3_network": first(sim, "l3network", name="l3-2")},
    ),
    "ChangeVmNicState": ("vm_nic", lambda sim: {"uuid": first(sim, "vmnic"), "state": "disabled"}),
    "DeleteNicQos": ("vm_nic_qos", lambda sim: {"uuid": first(sim, "vmnic"), "direction": "in"}),
    "AddKVMHost": (
        "kvm_host",
        lambda sim: {
            "name": "n",
            "management_ip": "10.0.0.99",
            "cluster": first(sim, "cluster"),
            "username": "root",
            "password": "Tr0ub4dor&3",
        },
    ),
    "ChangeHostState": ("kvm_host", lambda sim: {"uuid": first(sim, "host"), "state": "disabled"}),
    "SetServiceTypeOnHostNetworkInterface": (
        "host_nic_service",
        lambda sim: {
            "interfaces": [first(sim, "hostnic", interfaceName="eth1")],
            "service_types": ["StorageNetwork"],
        },
    ),
    "StartVmInstance": ("api", lambda sim: action(sim, "StartVmInstance")),
    "StopVmInstance": ("api", lambda sim: action(sim, "StopVmInstance")),
    "MigrateVm": ("api", lambda sim: action(sim, "MigrateVm")),
    "RebootVmInstance": ("api", lambda sim: action(sim, "RebootVmInstance")),
    "PauseVmInstance": ("api", lambda sim: action(sim, "PauseVmInstance")),
    "ResumeVmInstance": ("api", lambda sim: action_on_vm_in("Paused", sim, "ResumeVmInstance")),
    "UpdateVmInstance": ("api", lambda sim: action(sim, "UpdateVmInstance", name="n")),
    "DestroyVmInstance": ("api", lambda sim: action(sim, "DestroyVmInstance")),
    "ExpungeVmInstance": ("api", lambda sim: action_on_vm_in("Destroyed", sim, "ExpungeVmInstance")),
    "RecoverVmInstance": ("api", lambda sim: action_on_vm_in("Destroyed", sim, "RecoverVmInstance")),
    "DeleteDataVolume": ("api", lambda sim: action_on_volume("Ready", sim, "DeleteDataVolume")),
    "RecoverDataVolume": ("api", lambda sim: action_on_volume("Deleted", sim, "RecoverDataVolume")),
    "ExpungeDataVolume": ("api", lambda sim: action_on_volume("Deleted", sim, "ExpungeDataVolume")),
    "CreateVolumeSnapshotGroup": (
        "api",
        lambda sim: {
            "operation": "CreateVolumeSnapshotGroup",
            "params": {"rootVolumeUuid": first(sim, "volume", type="Root"), "name": "n"},
        },
    ),
    "DeleteVolumeSnapshotGroup": ("api", lambda sim: action(sim, "DeleteVolumeSnapshotGroup", "snapshotgroup")),
    "RevertVmFromSnapshotGroup": ("api", lambda sim: action_on_stopped_vm(sim, "RevertVmFromSnapshotGroup")),
    "UpdateVolumeSnapshotGroup": (
        "api",
        lambda sim: action(sim, "UpdateVolumeSnapshotGroup", "snapshotgroup", name="n"),
    ),
    "UngroupVolumeSnapshotGroup": ("api", lambda sim: action(sim, "UngroupVolumeSnapshotGroup", "snapshotgroup")),
    "SetNicQos": ("api", lambda sim: action(sim, "SetNicQos", "vmnic", inboundBandwidth=10000)),
    "DetachL3NetworkFromVm": ("api", lambda sim: action(sim, "DetachL3NetworkFromVm", "vmnic")),
    "DeleteHost": ("api", lambda sim: action(sim, "DeleteHost", "host")),
    "ReconnectHost": ("api", lambda sim: action(sim, "ReconnectHost", "host")),
    "UpdateHost": ("api", lambda sim: action(sim, "UpdateHost", "host", name="n")),
    "ChangeSNSApplicationEndpointState": act_on("endpoint", "ChangeSNSApplicationEndpointState", stateEvent="disable"),
    "DeleteSNSApplicationEndpoint": act_on("endpoint", "DeleteSNSApplicationEndpoint"),
    "ChangeSNSApplicationPlatformState": act_on("platform", "ChangeSNSApplicationPlatformState", stateEvent="disable"),
    "UpdateSNSApplicationPlatform": act_on("platform", "UpdateSNSApplicationPlatform", name="n"),
    "DeleteSNSApplicationPlatform": act_on("platform", "DeleteSNSApplicationPlatform"),
    "UpdateSNSTopic": act_on("topic", "UpdateSNSTopic", name="n"),
    "ChangeSNSTopicState": act_on("topic", "ChangeSNSTopicState", stateEvent="disable"),
    "DeleteSNSTopic": act_on("topic", "DeleteSNSTopic"),
    "UpdateSNSWeComEndpoint": (
        "api",
        lambda sim: {
            "operation": "UpdateSNSWeComEndpoint",
            "params": {"uuid": put_into_room(sim, first(sim, "endpoint")), "atAll": True},
        },
    ),
    "CreateSNSSnmpPlatform": (
        "api",
        lambda sim: {
            "operation": "CreateSNSSnmpPlatform",
            "params": {"name": "n", "snmpAddress": "10.9.9.9", "snmpPort": 1},
        },
    ),
    "CreateSNSTopic": ("api", lambda sim: {"operation": "CreateSNSTopic", "params": {"name": "n"}}),
    "SubscribeSNSTopic": ("api", lambda sim: subscription(sim, "SubscribeSNSTopic")),
    "UnsubscribeSNSTopic": ("api", lambda sim: subscription(sim, "UnsubscribeSNSTopic")),
    "AddSNSFeiShuAtPerson": ("api", lambda sim: person(sim, "AddSNSFeiShuAtPerson")),
    "RemoveSNSFeiShuAtPerson": ("api", lambda sim: person(sim, "RemoveSNSFeiShuAtPerson")),
    "UnexportNbdVolumes": (
        "api",
        lambda sim: {
            "operation": "UnexportNbdVolumes",
            "params": {"vmInstanceUuid": first(sim, "vm"), "volumeUuids": [first(sim, "volume")]},
        },
    ),
    "UpdateKVMHost": ("api", lambda sim: action(sim, "UpdateKVMHost", "host", username="root")),
}

# How the messages of each operation begin: with the object's name, its uuid, or the uuids of its owners.
ABOUT = {
    "CreateCbtTask": "cbt task n: ",
    "ChangeHostState": r"host a\w{31}: ",
    "AttachL3NetworkToVm": r"nic of vm a\w{31}, l3_network a\w{31}: ",
    "SetServiceTypeOnHostNetworkInterface": r"services of interfaces a\w{31}: ",
    "DeleteNicQos": r"limit a\w{31}: ",
    "SNSSnmpTestConnection": r"platform a\w{31}: ",
    "ExportNbdVolumes": r"volumes a\w{31}, vm a\w{31}: ",
}

ADVISED = {
    "ID.1001": "log in again and pass the new one as session_id",
    "ID.1002": "use another account or grant the permission",
    "ID.1003": "A quota is exhausted",
    "SYS.1001": "A timeout occurred in the service",
    "SYS.1003": "check the uuids",
}


# A task that could not be enabled has another status than before.
CHANGES_WHEN_IT_FAILS = "EnableCbtTask"


@pytest.mark.parametrize(("operation", "code"), list(zip(CALLS, itertools.cycle(ADVISED), strict=False)))
def test_failure_of_a_call(run: ModuleRunner, sim: Simulator, operation: str, code: str) -> None:
    """The failure has the operation, the code, the cause, a hint and the whole ErrorCode, and `changed` is accurate."""
    sim.reset(cbt_tasks=1)
    name, options = CALLS[operation]
    desired = options(sim)
    cause = {"code": "HOST.1001", "details": "the root of it"}
    sim.fault("fail", operation, error={"code": code, "details": "the outside of it", "cause": cause})
    ran = run(name, desired)
    assert ran.calls == [operation]
    assert ran.failed
    assert ran.changed == (operation == CHANGES_WHEN_IT_FAILS)
    assert f"{operation} failed ({code}, caused by HOST.1001): " in ran.message
    assert "the root of it" in ran.message
    assert ADVISED[code] in ran.message
    assert ran["error"]["code"] == code
    assert ran["error"]["causes"][0]["details"] == "the root of it"
    assert ran["operation"] == operation
    assert "\n" not in ran.message
    assert re.match(ABOUT.get(operation, ""), ran.message)


@pytest.mark.parametrize("operation", CALLS)
def test_expired_session(run: ModuleRunner, sim: Simulator, operation: str) -> None:
    sim.reset(cbt_tasks=1)
    name, options = CALLS[operation]
    desired = options(sim)
    sim.configure(session_expired=True)
    ran = run(name, desired)
    assert "The session is invalid or has expired: log in again" in ran.message
    assert not ran.changed


@pytest.mark.parametrize("operation", CALLS)
def test_session_that_expires_with_the_call(run: ModuleRunner, sim: Simulator, operation: str) -> None:
    sim.reset(cbt_tasks=1)
    name, options = CALLS[operation]
    desired = options(sim)
    sim.fault("session_expiry", operation)
    ran = run(name, desired)
    assert "The session is invalid or has expired: log in again" in ran.message
    assert not ran.changed


@pytest.mark.parametrize("operation", CALLS)
def test_call_that_is_not_waited_for(run: ModuleRunner, sim: Simulator, operation: str) -> None:
    """The result has the predicted record and the handle of the job, which job_wait accepts, also in check mode."""
    sim.reset(cbt_tasks=1)
    sim.configure(latency=60.0)
    name, options = CALLS[operation]
    desired = {**options(sim), **({"force": True} if operation == "ExportNbdVolumes" else {})}
    checked = run(name, desired, check=True, wait=False)
    assert checked["job"] == {"uuid": None, "location": None, "operation": operation, "state": "unknown"}
    for module in ("job_wait", "job_info"):
        assert run(module, {"jobs": [checked["job"]]}, check=True)["jobs"] == [checked["job"]]
    ran = run(name, desired, wait=False)
    assert ran.calls == [operation]
    assert ran["job"].keys() == {"uuid", "location", "operation", "state"}
    assert (ran["job"]["operation"], ran["job"]["state"]) == (operation, "running")
    assert ran.changed == checked.changed
    assert {*ran.result, "check_mode"} == {*checked.result}
    sim.advance()
    waited = run("job_wait", {"jobs": [ran["job"]]})
    assert not waited.changed
    assert waited.failed == (operation == "ExportNbdVolumes"), "the machine runs, which is found when the job ends"


@pytest.mark.parametrize("module", ["job_info", "job_wait"])
def test_jobs_are_given_in_any_form(run: ModuleRunner, sim: Simulator, module: str) -> None:
    started = [run("kvm_host", {"name": f"host-{number}", "state": "disabled"}, wait=False) for number in (1, 2, 3)]
    sim.advance()
    unchanged = run("kvm_host", {"name": "host-1", "state": "disabled"}, wait=False)
    handle = started[2]["job"]
    items = [started[0].result, unchanged.result, started[1]["job"]["uuid"], handle, {"location": handle["location"]}]
    ended = run(module, {"jobs": items})
    assert ended["summary"] == {"succeeded": 4, "failed": 0, "running": 0, "unknown": 0}
    assert [job["uuid"] for job in ended["jobs"]] == [*(ran["job"]["uuid"] for ran in started), handle["uuid"]]
    assert run(module, {"jobs": handle["uuid"]})["jobs"][0]["uuid"] == handle["uuid"]
    assert run(module, {"jobs": [unchanged.result]})["jobs"] == []
    refused = [run(module, {"jobs": [item]}).message for item in (5, None, [handle], {"location": 5})]
    assert {message.partition(". ")[0] for message in refused} == {
        "each item of jobs must be the uuid of a job, the job of an earlier task, or the result of a task"
    }


@pytest.mark.parametrize("operation", CALLS)
def test_call_that_exceeds_its_timeout(run: ModuleRunner, sim: Simulator, operation: str) -> None:
    sim.reset(cbt_tasks=1)
    sim.configure(latency=60.0)
    name, options = CALLS[operation]
    ran = run(name, options(sim), wait_timeout=0.05)
    assert f"{operation} is still running after 0.05 s" in ran.message
    assert ran["job"]["operation"] == operation
    assert ran.changed == (operation != "SNSSnmpTestConnection")


def test_every_call_is_tried() -> None:
    """CALLS has each operation that changes something."""
    substitutes = {row.substitute for row in OPERATIONS.values()}
    writing = {row.name for row in OPERATIONS.values() if row.is_write and not row.is_public}
    assert CALLS.keys() == writing - substitutes


def test_vm_that_is_already_protected(run: ModuleRunner, sim: Simulator) -> None:
    sim.reset(cbt_tasks=1)
    vm = first(sim, "vm")
    ran = run("cbt_task", {"name": "second", "vm": vm})
    assert "cbt task second: CreateCbtTask failed (SYS.1006)" in ran.message
    assert f"vm[uuid: {vm}] has the cbt task[uuid: {first(sim, 'cbttask')}] already" in ran.message
    assert not ran.changed


def test_host_that_is_not_connected(run: ModuleRunner, sim: Simulator) -> None:
    host = first(sim, "host")
    sim.change("host", host, status="Disconnected")
    ran = run("kvm_host", {"uuid": host, "state": "maintenance"})
    assert f"kvm host {host}" not in ran.message
    assert f"host {host}: ChangeHostState failed" in ran.message
    assert "Disconnected" in ran.message
    facts = run("host_network_info", {"hosts": [host]})
    assert "does not answer, its status is Disconnected" in facts.message


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("kvm_host", {"uuid": NOWHERE}),
        ("cbt_task", {"uuid": NOWHERE}),
        ("sns_endpoint", {"uuid": NOWHERE, "type": "workchat"}),
        ("sns_endpoint", {"uuid": NOWHERE, "type": "snmp"}),
        ("sns_snmp_platform", {"uuid": NOWHERE}),
        ("sns_teamchat_person", {"uuid": NOWHERE}),
        ("vm_from_snapshot_group", {"uuid": NOWHERE}),
        ("vm_nic", {"uuid": NOWHERE}),
    ],
)
@pytest.mark.parametrize("single", [False, True])
def test_missing_objects(run: ModuleRunner, sim: Simulator, name: str, options: dict[str, Any], single: bool) -> None:
    """A server that returns single records omits a missing one."""
    sim.configure(single_inventory=single)
    assert f" with uuid '{NOWHERE}'" in run.refused(name, options)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("kvm_host", {"name": ""}),
        ("kvm_host", {"management_ip": " "}),
        ("sns_snmp_platform", {"uuid": NOWHERE, "snmp_address": ""}),
        ("sns_teamchat_person", {"uuid": NOWHERE, "user_id": ""}),
        ("sns_endpoint", {"type": "workchat", "name": "n", "url": " "}),
        ("vm_nic", {"uuid": NOWHERE, "static_ip": ""}),
        ("vm_nic", {"uuid": NOWHERE, "custom_mac": ""}),
    ],
)
def test_empty_string_for_a_reference(run: ModuleRunner, name: str, options: dict[str, Any]) -> None:
    empty = next(option for option, value in options.items() if isinstance(value, str) and not value.strip())
    assert run.refused(name, options) == f"{empty} must not be empty"


@pytest.mark.parametrize("name", [name for name, row in OPERATIONS.items() if row.is_public])
def test_api_refuses_what_would_show_a_session(run: ModuleRunner, name: str) -> None:
    message = run.refused("api", {"operation": name, "params": {"accountName": "admin", "password": "password"}})
    assert message == f"operation must not be {name}, which handles a session. Use virtinfra.manager.session"
