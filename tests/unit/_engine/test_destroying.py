"""Before a call that destroys something, all options are compared with the object that was found."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._api.errors import Unchangeable
from ansible_collections.virtinfra.manager.plugins.module_utils._api.records import RECORD_FIELDS, Record
from ansible_collections.virtinfra.manager.plugins.module_utils._client.client import Client
from ansible_collections.virtinfra.manager.plugins.module_utils._engine.current import Found
from ansible_collections.virtinfra.manager.plugins.module_utils._engine.plan import build_call, plan
from ansible_collections.virtinfra.manager.plugins.module_utils._engine.spec import ResourceSpec
from ansible_collections.virtinfra.manager.plugins.module_utils._modules.resource import resource_module
from ansible_collections.virtinfra.manager.plugins.module_utils._resources.cbt_tasks import find_cbt_task
from ansible_collections.virtinfra.manager.plugins.modules.cbt_task import CBT_TASK, MODULE

from simulator.launch import Simulator
from support.module_runner import ModuleRunner, run_spec

UUID = "a0000010000040008000000000000001"


@pytest.fixture
def vms(sim: Simulator) -> list[str]:
    """The uuids of two running VMs without a task."""
    taken = {ref["resourceUuid"] for task in sim.records("cbttask") for ref in task["resourceRefs"]}
    running = [vm["uuid"] for vm in sim.records("vm") if vm["state"] == "Running" and vm["uuid"] not in taken]
    return running[:2]


@pytest.fixture
def task(run: ModuleRunner, sim: Simulator, vms: list[str]) -> str:
    """The uuid of the task nightly of the first VM."""
    made = run("cbt_task", {"name": "nightly", "description": "each night", "vm": vms[0], "state": "enabled"})
    return str(made["cbt_task"]["uuid"])


OTHER_VM = "vm (is 'vm-1' ({0}), should be 'vm-3' ({1}))"
OTHER_VMS = "vms (is ['vm-1' ({0})], should be ['vm-1' ({0}), 'vm-3' ({1})])"


@pytest.mark.parametrize(
    ("by", "others", "differences"),
    [
        ("name", {"vm": 1}, [OTHER_VM]),
        ("name", {"vm": 1, "force": True, "delete_mode": "Enforcing"}, [OTHER_VM]),
        ("name", {"vms": [0, 1], "task_type": "full"}, [OTHER_VMS]),
        ("name", {"description": "each day"}, ["description (is 'each night', should be 'each day')"]),
        ("uuid", {"name": "weekly"}, ["name (is 'nightly', should be 'weekly')"]),
        ("uuid", {"vm": 1, "name": "weekly"}, ["vm (is", "name (is 'nightly', should be 'weekly')"]),
        ("vm", {"description": "each day"}, ["description (is 'each night', should be 'each day')"]),
    ],
)
def test_task_that_differs_is_not_deleted(
    run: ModuleRunner,
    sim: Simulator,
    vms: list[str],
    task: str,
    by: str,
    others: dict[str, Any],
    differences: list[str],
) -> None:
    options: dict[str, Any] = {by: {"name": "nightly", "uuid": task, "vm": vms[0]}[by], **others}
    if "vm" in others:
        options["vm"] = vms[others["vm"]]
    if "vms" in others:
        options["vms"] = [vms[number] for number in others["vms"]]
    message = run.refused("cbt_task", {**options, "state": "absent"})
    assert run("cbt_task", {**options, "state": "absent"})["error"]["code"] == "UNCHANGEABLE"
    assert "the options differ from the existing cbt task: " in message
    for difference in differences:
        assert difference.format(*vms) in message
    assert f"The cbt task was found by {by} {options[by]!r}." in message
    assert task in [record["uuid"] for record in sim.records("cbttask")]


@pytest.mark.parametrize(
    "options",
    [
        {"name": "nightly"},
        {"name": "nightly", "vm": 0, "description": "each night", "force": True, "delete_mode": "Permissive"},
        {"name": "nightly", "vms": [0], "task_type": "incremental", "bitmap_name": "b"},
        {"uuid": "task", "name": " nightly "},
        {"vm": 0},
    ],
)
def test_task_that_is_equal_is_deleted(
    run: ModuleRunner, sim: Simulator, vms: list[str], task: str, options: dict[str, Any]
) -> None:
    options = dict(options)
    if "vm" in options:
        options["vm"] = vms[options["vm"]]
    if "vms" in options:
        options["vms"] = [vms[number] for number in options["vms"]]
    if "uuid" in options:
        options["uuid"] = task
    ran = run.twice("cbt_task", {**options, "state": "absent"})
    assert ran.calls == ["DeleteCbtTask"]
    assert not ran.warnings


def test_option_that_the_service_does_not_show_is_named(
    run: ModuleRunner, sim: Simulator, vms: list[str], task: str
) -> None:
    sim.configure(extra_members=False)
    for check in (True, False):
        ran = run("cbt_task", {"name": "nightly", "vm": vms[1], "state": "absent"}, check)
        assert ran.changed
        assert ran.warnings == ["cbt task nightly: the service does not show vm, so it is not compared."]


def test_interface_of_another_host_is_not_cleared(run: ModuleRunner, sim: Simulator) -> None:
    first, second = (host["uuid"] for host in sim.records("host")[:2])
    nic = next(nic for nic in sim.records("hostnic") if nic["hostUuid"] == first and nic["interfaceName"] == "eth1")
    chosen = {"interfaces": [nic["uuid"]]}
    run("host_nic_service", {**chosen, "service_types": ["StorageNetwork"]})
    for types in ([], ["BackupNetwork"]):
        message = run.refused("host_nic_service", {**chosen, "host": second, "service_types": types})
        assert f": host (is 'host-1' ({first}), should be 'host-2' ({second}))" in message
    assert run.twice("host_nic_service", {**chosen, "host": first, "service_types": []}).calls


@pytest.mark.parametrize("has_types", [False, True])
def test_interface_of_another_host_is_not_set(run: ModuleRunner, sim: Simulator, has_types: bool) -> None:
    first, second = (host["uuid"] for host in sim.records("host")[:2])
    nic = next(nic for nic in sim.records("hostnic") if nic["hostUuid"] == first and nic["interfaceName"] == "eth1")
    options = {"interfaces": [nic["uuid"]], "service_types": ["StorageNetwork"]}
    if has_types:
        run("host_nic_service", {**options, "vlan_ids": [7]})
    message = run.refused("host_nic_service", {**options, "host": second})
    assert f": host (is 'host-1' ({first}), should be 'host-2' ({second}))" in message
    assert run.twice("host_nic_service", {**options, "host": first}).calls
    by_name = run("host_nic_service", {**options, "host": "host-1", "interfaces": ["eth2"]})
    assert [entry["operation"] for entry in by_name.log].count("QueryHostNetworkInterface") == 1


@pytest.mark.parametrize("resource", [CBT_TASK], ids=lambda resource: str(resource.result_key))
def test_delete_is_not_planned_for_another_object(resource: ResourceSpec) -> None:
    current = {**dict.fromkeys(RECORD_FIELDS[resource.record_type], "old"), "uuid": UUID}
    for name in current.keys() - {"uuid"}:
        desired = {"uuid": UUID, name: "new"}
        with pytest.raises(Unchangeable, match="should be 'new'"):
            plan(resource, "absent", desired, Found(current))
        with pytest.raises(Unchangeable, match="should be 'new'"):
            build_call(resource, resource.delete, desired, current, None)


def test_delete_mode_is_sent_as_the_api_spells_it(run: ModuleRunner, task: str) -> None:
    for mode in ("enforcing", "Enforcing"):
        run("cbt_task", {"name": "nightly", "vm": "vm-1", "state": "present"})
        ran = run("cbt_task", {"name": "nightly", "state": "absent", "delete_mode": mode})
        assert ran.queries("DeleteCbtTask") == [{"deleteMode": ["Enforcing"]}]


def test_object_is_absent_if_its_owner_does_not_exist(run: ModuleRunner, vms: list[str], task: str) -> None:
    run.idle("cbt_task", {"vm": "no such vm", "state": "absent"})
    nightly = {"name": "nightly", "vm": "no such vm", "state": "absent"}
    assert f"vm (is 'vm-1' ({vms[0]}), should be 'no such vm')" in run.refused("cbt_task", nightly)


def test_object_that_gets_the_name_of_a_removed_one_stays(sim: Simulator) -> None:
    """From the second read on, the object is found by its uuid."""
    found: list[Record] = []

    def find(client: Client, desired: Record) -> Record | None:
        found.append(desired)
        return find_cbt_task(client, desired)

    sim.reset(cbt_tasks=1)
    spec = resource_module(replace(CBT_TASK, find=find), MODULE.options)
    connection = {"base_url": sim.url, "session_id": sim.session}
    assert not run_spec(spec, {**connection, "name": "cbt-task-1", "state": "absent"}).result.get("failed")
    assert [desired.get("uuid") for desired in found[:2]] == [None, UUID]


def test_object_that_another_run_has_removed_is_absent(run: ModuleRunner, sim: Simulator, task: str) -> None:
    """The job fails with SYS.1003, as for services that refuse a second removal."""
    gone = {"code": "SYS.1003", "details": "no such task"}
    sim.fault("fail", "DeleteCbtTask", error=gone)
    ran = run("cbt_task", {"uuid": task, "state": "absent"})
    assert ran.failed, "the task still exists"
    sim.fault("other_response", "QueryCbtTask", reply={"inventories": []}, skip=1, count=None)
    sim.fault("fail", "DeleteCbtTask", error=gone)
    ran = run("cbt_task", {"uuid": task, "state": "absent"})
    assert (ran.failed, ran.changed) == (False, False), ran.message
