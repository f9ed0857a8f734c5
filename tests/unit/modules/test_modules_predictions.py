# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

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
            {"name": "new", "snapshot_group": GROUP, "l3_networks": [NETWORK, UNKNOWN]},
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
