"""The module batch: many objects at the same time, each exactly as a task of its own."""

from __future__ import annotations

import json
import re
import resource
import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, ClassVar

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._client import joined_waits as _joined_waits
from ansible_collections.virtinfra.manager.plugins.module_utils._client import known_names as _known_names
from ansible_collections.virtinfra.manager.plugins.module_utils._client import lists as _lists
from ansible_collections.virtinfra.manager.plugins.module_utils._client import waiting as _waiting
from ansible_collections.virtinfra.manager.plugins.module_utils._client.stores import MemoryStore
from ansible_collections.virtinfra.manager.plugins.module_utils._engine import refusals as _refusals
from ansible_collections.virtinfra.manager.plugins.module_utils._engine.context import TaskInterrupted
from ansible_collections.virtinfra.manager.plugins.module_utils._http.connection import ConnectionOptions
from ansible_collections.virtinfra.manager.plugins.module_utils._http.hooks import do_nothing
from ansible_collections.virtinfra.manager.plugins.module_utils._modules.run import ModuleResult
from ansible_collections.virtinfra.manager.plugins.plugin_utils._action.locks import RunLock
from ansible_collections.virtinfra.manager.plugins.plugin_utils._batch import batch as _batch
from ansible_collections.virtinfra.manager.plugins.plugin_utils._batch.batch import run_objects
from ansible_collections.virtinfra.manager.plugins.plugin_utils._run.sessions import FileStore

from simulator.launch import Simulator
from simulator.state.store import seeded_uuid
from support.module_runner import run_module

PASSWORD = "Tr0ub4dor&3/batch"
# The clock skips what modules wait, on a busy machine many minutes.
ENDLESS = float("inf")
COMMON = {"cluster": "cluster-1", "username": "root", "password": PASSWORD}


def new_hosts(count: int) -> list[dict[str, Any]]:
    """Return the options of hosts that do not exist."""
    return [
        {"name": f"new-{number}", "management_ip": f"10.9.{number // 250}.{number % 250}"} for number in range(count)
    ]


def run_batch(
    sim: Simulator, objects: list[dict[str, Any]], check: bool = False, module: str = "kvm_host", **options: Any
) -> ModuleResult:
    """Run batch as a task inside the controller. All objects share the facts and names of the task."""
    defaults = options.pop("defaults", {})
    shows_diff = options.pop("shows_diff", True)
    meanwhile = options.pop("meanwhile", do_nothing)
    hooks = {name: options.pop(name) for name in ("before_send", "on_progress", "new_lock") if name in options}
    common = options.pop("common", COMMON if module == "kvm_host" else {})
    connection = {"base_url": sim.url, "session_id": sim.session, "api_token": sim.token}
    store = options.pop("store", None) or MemoryStore(None)  # type: ignore[arg-type]
    return run_module(
        "batch",
        {**connection, "module": module, "common": common, "objects": objects, **options},
        check,
        run=partial(run_objects, lambda name: defaults, shows_diff=shows_diff, meanwhile=meanwhile),
        new_store=lambda dummy: store,
        **hooks,
    )


def count_operations(sim: Simulator) -> Counter[str]:
    """Return how many requests of each operation the simulator has received."""
    return Counter(str(entry["operation"]) for entry in sim.log())


def test_each_object_is_what_a_task_would_be(sim: Simulator) -> None:
    objects = [*new_hosts(3), {"name": "host-1", "state": "disabled"}, {"name": "host-2", "cluster": "cluster-2"}]
    checked, ran, again = (run_batch(sim, objects, check).result for check in (True, False, False))
    assert checked["counts"] == ran["counts"] == {"changed": 4, "unchanged": 1, "failed": 0, "not_started": 0}
    assert (checked["changed"], ran["changed"], again["changed"]) == (True, True, False)
    assert ran["msg"] == "4 changed, 1 unchanged"
    assert checked["check_mode"] is True
    assert [result["item"] for result in ran["results"]] == objects
    assert [result["host"]["name"] for result in ran["results"]] == ["new-0", "new-1", "new-2", "host-1", "host-2"]
    assert [result["failed"] for result in ran["results"]] == [False] * 5
    hosts = [result["host"] for result in ran["results"][:4]]
    headers = [f"objects[{number}] {host['name']} ({host['uuid']})" for number, host in enumerate(hosts)]
    assert [diff["after_header"] for diff in ran["diff"]] == headers
    assert checked["diff"][3]["after"] == checked["results"][3]["diff"]["after"]
    assert checked["diff"][3]["after"]["state"] == "Disabled"
    without = run_batch(sim, objects, check=True, shows_diff=False).result
    assert not any("diff" in result for result in (without, *without["results"]))
    assert PASSWORD not in json.dumps([checked, ran, again])


def test_names_for_many_failures_are_read_once(sim: Simulator) -> None:
    numbers = range(1, 7)
    ran = run_batch(sim, [{"name": f"vm{number}", "state": "running"} for number in numbers], module="vm").result
    said = [result["msg"].partition("Did you mean ")[2] for result in ran["results"]]
    assert said == [f"vm-{number}?" for number in numbers]
    assert [each["query"]["fields"] for each in sim.log() if "fields" in each["query"]] == [["uuid,name,state"]]


def test_tags_of_each_object(sim: Simulator) -> None:
    """The user tags that all objects have are those of the objects that have no others."""
    objects: list[dict[str, Any]] = [
        {"name": "host-1"},
        {"name": "host-2", "tags": ["b"]},
        {"name": "host-3", "tags": ["c"]},
    ]
    checked, ran, again = (
        run_batch(sim, objects, check, common={"tags": ["a"], "tags_mode": "add"}).result
        for check in (True, False, False)
    )
    assert checked["counts"] == ran["counts"] == {"changed": 3, "unchanged": 0, "failed": 0, "not_started": 0}
    tags = [result["host"]["tags"] for result in ran["results"]]
    assert tags == [result["host"]["tags"] for result in checked["results"]] == [["a"], ["b"], ["c"]]
    assert not again["changed"]
    assert sorted(tag["tag"] for tag in sim.records("usertag")) == ["a", "b", "c", "tag-1"]


def test_user_tags_of_the_task_do_not_replace_those_of_objects(sim: Simulator) -> None:
    before = sim.records("usertag")
    ran = run_batch(sim, [{"name": "host-1"}], user_tags=["a"])
    assert "Set tags and tags_mode in common" in ran.result["msg"]
    assert sim.records("usertag") == before
    # The play has them for all modules, so they are not meant for the objects.
    assert not run_batch(sim, [{"name": "host-1"}], user_tags=["a"], defaults={"user_tags": ["a"]}).result["changed"]
    assert sim.records("usertag") == before


def test_names_and_polls_are_shared(sim: Simulator) -> None:
    sim.reset(latency=0.5, latency_spread=0.2)
    ran = run_batch(sim, new_hosts(60), concurrency=60)
    assert ran.result["counts"]["changed"] == 60, ran.result["msg"]
    counts = count_operations(sim)
    assert counts["QueryCluster"] == 1
    assert counts["AddKVMHost"] == 60
    # One poll would be enough if the durations were known, and were all the same. A busy machine needs more polls.
    assert counts["poll"] <= 60 * 4


def test_a_common_name_is_checked_once_for_all_objects(sim: Simulator, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that an earlier task has looked up is checked, too, however long ago; all refer to one cluster."""
    monkeypatch.setattr(_known_names, "FRESH_SECONDS", 0.0)
    store = FileStore(ConnectionOptions(sim.url, session_id=sim.session))
    for first in (0, 60):
        ran = run_batch(sim, new_hosts(120)[first : first + 60], concurrency=20, store=store)
        assert ran.result["counts"]["changed"] == 60, ran.result["msg"]
        assert count_operations(sim)["QueryCluster"] == 1
        sim.clear_log()


def test_a_name_of_an_object_is_checked_before_each_call(sim: Simulator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another user gives the name host-9 to another host after the batch has read the list of all."""
    monkeypatch.setattr(_known_names, "FRESH_SECONDS", 0.0)
    sim.reset(hosts=10)
    objects = [{"host": f"host-{number}", "interfaces": ["eth1"]} for number in range(1, 10)]
    renamed: list[str] = []

    def rename_after_calls() -> None:
        # The third name is looked up in the list of all hosts.
        if not renamed and sum(entry["method"] == "POST" for entry in sim.log()) == 4:
            renamed.append("host-9")
            sim.change("host", seeded_uuid("host", 9), name="host-old")
            sim.change("host", seeded_uuid("host", 10), name="host-9")

    ran = run_batch(
        sim,
        objects,
        module="host_nic_service",
        common={"service_types": ["BackupNetwork"]},
        concurrency=1,
        before_send=rename_after_calls,
    )
    assert ran.result["counts"]["changed"] == 9, ran.result["msg"]
    sent = str([entry["body"] for entry in sim.log() if entry["method"] == "POST"])
    of_host_9, of_host_10 = (seeded_uuid("hostnic", 4 * (number - 1) + 2) for number in (9, 10))
    assert (of_host_9 in sent, of_host_10 in sent) == (False, True)


def test_names_of_many_objects_cost_a_constant(sim: Simulator, monkeypatch: pytest.MonkeyPatch) -> None:
    """The list of the hosts is read again when it is a second old, for all names in it."""
    # On a busy machine, a batch takes several seconds.
    monkeypatch.setattr(_known_names, "FRESH_SECONDS", 60.0)
    sim.reset(hosts=60)
    store = FileStore(ConnectionOptions(sim.url, session_id=sim.session))
    objects = [{"host": f"host-{number}", "interfaces": ["eth1"]} for number in range(1, 61)]
    common = {"service_types": ["BackupNetwork"]}
    ran = run_batch(sim, objects, module="host_nic_service", common=common, concurrency=20, store=store)
    assert ran.result["counts"]["changed"] == 60, ran.result["msg"]
    counts = count_operations(sim)
    # Two names are looked up alone, and then a list.
    assert counts["QueryHost"] == 3
    assert counts["QueryHostNetworkInterface"] <= 2 + 1


@pytest.mark.parametrize("lacks_templates", [False, True])
def test_templates_are_read_once_for_all_vms(
    sim: Simulator, monkeypatch: pytest.MonkeyPatch, lacks_templates: bool
) -> None:
    """Templates are few and seldom change, and nothing else shows that a VM is a template."""
    monkeypatch.setattr(_lists, "SHORT_LIST_SECONDS", ENDLESS)
    sim.reset(vms=60, templates=1)
    if lacks_templates:
        sim.fault("status", "QueryTemplatedVmInstance", status=404, count=None)
    objects = [{"uuid": seeded_uuid("vm", number)} for number in range(1, 61)]
    ran = run_batch(sim, objects, module="vm", common={"state": "running"}, concurrency=10)
    failed = [result["item"] for result in ran.result["results"] if result["failed"]]
    assert failed == ([] if lacks_templates else objects[-1:]), ran.result["msg"]
    # Each of the threads may have begun its read before the response to the first.
    assert count_operations(sim)["QueryTemplatedVmInstance"] <= 10


def test_a_common_object_is_looked_for_once(sim: Simulator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before a creation, each object that it refers to has to exist."""
    monkeypatch.setattr(_refusals, "FRESH_SECONDS", ENDLESS)
    common = {**COMMON, "cluster": seeded_uuid("cluster", 1)}
    ran = run_batch(sim, new_hosts(60), common=common, concurrency=10)
    assert ran.result["counts"]["changed"] == 60, ran.result["msg"]
    assert count_operations(sim)["QueryCluster"] <= 10


def test_reads_are_shared(sim: Simulator) -> None:
    """Each host is read before the call and after its job; a task of its own would send two requests for that."""
    sim.reset(latency=0.2, latency_spread=0.2, hosts=200)
    objects = [{"uuid": host["uuid"]} for host in sim.records("host")]
    sim.clear_log()
    ran = run_batch(sim, objects, common={"state": "disabled"}, concurrency=200)
    assert ran.result["counts"]["changed"] == 200, ran.result["msg"]
    assert [result["host"]["uuid"] for result in ran.result["results"]] == [given["uuid"] for given in objects]
    assert all(result["host"]["state"] == "Disabled" for result in ran.result["results"])
    counts = count_operations(sim)
    assert counts["ChangeHostState"] == 200
    assert counts["QueryHost"] <= 200, counts


def test_jobs_are_polled_when_they_usually_have_ended(sim: Simulator) -> None:
    sim.reset(latency=0.4, latency_spread=0.2)
    ran = run_batch(sim, new_hosts(120), concurrency=20)
    assert ran.result["counts"]["changed"] == 120, ran.result["msg"]
    assert count_operations(sim)["poll"] <= 120 * 3


def test_long_jobs_are_not_all_polled_until_one_has_ended(sim: Simulator) -> None:
    sim.reset(latency=3.0, latency_spread=0.1)
    ran = run_batch(sim, new_hosts(200), concurrency=200)
    assert ran.result["counts"]["changed"] == 200, ran.result["msg"]
    assert count_operations(sim)["poll"] <= 200 * 3


def test_objects_that_fail_do_so_alone(sim: Simulator) -> None:
    objects = [*new_hosts(30), {"name": "nowhere", "username": None}]
    objects[3]["password"] = objects[7]["password"] = "wrong-password"
    ran = run_batch(sim, objects).result
    assert ran["failed"]
    assert ran["changed"]
    assert ran["counts"] == {"changed": 28, "unchanged": 0, "failed": 3, "not_started": 0}
    assert [number for number, result in enumerate(ran["results"]) if result["failed"]] == [3, 7, 30]
    assert ran["msg"].startswith("3 of 31 objects failed: objects[3]: host new-3: ")
    assert "; objects[30]: host nowhere: " in ran["msg"]
    assert ran["error"] == ran["results"][3]["error"]
    del objects[3]["password"], objects[7]["password"]
    again = run_batch(sim, objects[:-1]).result
    assert [number for number, result in enumerate(again["results"]) if result["changed"]] == [3, 7]


@pytest.mark.parametrize(
    ("read", "member", "module", "taken"),
    [
        (
            "vm_info",
            "vms",
            "vm",
            "a VM, and nothing was sent. Take from the records what the module needs, such as objects:",
        ),
        (
            "vm_info",
            "vms",
            "vm",
            """ "{{ {'uuid': listed.vms | map(attribute='uuid')} | virtinfra.manager.columns_to_rows }}\"""",
        ),
        ("host_info", "hosts", "kvm_host", "{'uuid': listed.hosts |"),
        ("vm_info", "vms", "vm_nic", "{'vm': listed.vms |"),
        ("host_info", "hosts", "host_nic_service", "{'host': listed.hosts |"),
        ("primary_storage_info", "primary_storages", "kvm_host", "Take from the records what the module needs"),
    ],
)
def test_whole_records_are_refused_with_what_to_take(
    sim: Simulator, read: str, member: str, module: str, taken: str
) -> None:
    connection = {"base_url": sim.url, "session_id": sim.session}
    records = run_module(read, connection).result[member]
    ran = run_batch(sim, records, module=module, common={}, on_invalid="continue").result
    assert ran["msg"].startswith("objects[0] is a whole record of a ")
    assert taken in ran["msg"]


@pytest.mark.parametrize("objects", [[], [{"name": "vm-1"}]])
@pytest.mark.parametrize(
    ("module", "rows"),
    [
        ("vm", "vm_info and its query, and give them as objects. For example, with the registered result listed,"),
        ("vm", """{{ {'uuid': listed.vms | map(attribute='uuid')} | virtinfra.manager.columns_to_rows }}\""""),
        ("kvm_host", "host_info and its query"),
        ("vm_nic", "{'uuid': listed.nics | "),
        ("volume", "resource_info and its query"),
        ("volume", "{'uuid': listed.resources | "),
        ("cbt_volume_export", "give them as objects."),
    ],
)
def test_a_query_is_refused_with_the_list_to_give(
    sim: Simulator, module: str, objects: list[dict[str, Any]], rows: str
) -> None:
    sim.clear_log()
    query = {"query": ["state=Running"]}
    for common, items in ((query, objects), ({}, [*objects, query])):
        ran = run_batch(sim, items, module=module, common=common).result
        assert ran["msg"].startswith(f"{module} has no option query, and nothing was sent. List the objects with ")
        assert rows in ran["msg"]
    assert not sim.log()


@pytest.mark.parametrize(
    ("module", "common", "message"),
    [
        ("vm", {"nonsense": 1}, "common: there is no option nonsense. The options are "),
        ("kvm_host", {"status": "maintenance"}, "common: there is no option status. Did you mean state?"),
        ("kvm_host", {"state": "gone"}, "common: value of state must be one of: "),
        ("vm", {"cpu_num": "many"}, "common: cpu_num must be a whole number"),
        ("vm", {"state": "stopped"}, ""),
        ("kvm_host", {"cluster": None, "password": "a-secret"}, ""),
    ],
)
def test_shared_options_of_no_objects_are_checked(
    sim: Simulator, module: str, common: dict[str, Any], message: str
) -> None:
    """A list is empty by chance, and the mistake would be found at the first object only."""
    sim.clear_log()
    ran = run_batch(sim, [], module=module, common=common).result
    assert ran["msg"].startswith(message or "no objects"), ran["msg"]
    assert bool(ran.get("failed")) == bool(message)
    assert not sim.log()


def test_invalid_objects_fail_alone(sim: Simulator) -> None:
    """Nothing is sent for them, and on_failure decides about the others."""
    objects: list[dict[str, Any]] = [{"name": "host-1", "state": "gone"}, {"name": "host-2", "state": "disabled"}]
    ran = run_batch(sim, objects, common={}, on_invalid="continue").result
    assert ran["counts"] == {"changed": 1, "unchanged": 0, "failed": 1, "not_started": 0}
    assert [result["outcome"] for result in ran["results"]] == ["failed", "changed"]
    assert ran["results"][0]["error"]["code"] == "INVALID"
    assert "state" in ran["results"][0]["msg"]
    assert count_operations(sim)["ChangeHostState"] == 1
    stopped = run_batch(sim, objects, common={}, on_invalid="continue", on_failure="stop").result
    assert stopped["counts"] == {"changed": 0, "unchanged": 0, "failed": 1, "not_started": 1}
    assert count_operations(sim)["ChangeHostState"] == 1


@pytest.mark.parametrize(
    ("module", "objects", "selected"),
    [
        ("kvm_host", [{"name": "host-1", "state": "disabled"}, {"name": " host-1"}], "name 'host-1'"),
        (
            "kvm_host",
            [{"management_ip": "10.0.0.11"}, {"management_ip": "10.0.0.11", "name": "n"}],
            "management_ip '10",
        ),
        ("cbt_task", [{"vm": "vm-1"}, {"vm": "vm-1", "state": "absent"}], "vm 'vm-1'"),
        (
            "sns_teamchat_person",
            [{"user_id": "x", "endpoint": "teamchat-endpoint-1"}] * 2,
            "user_id 'x'",
        ),
    ],
)
def test_objects_with_the_same_target_are_refused(
    sim: Simulator, module: str, objects: list[dict[str, Any]], selected: str
) -> None:
    for check in (True, False):
        sim.clear_log()
        ran = run_batch(sim, objects, check, module, common={}).result
        assert f"objects[1]: {selected}" in ran["msg"]
        assert "selects the target of objects[0], too. Remove one of them." in ran["msg"]
        assert f"objects[0]: {selected}" in ran["msg"]
        assert sim.log() == []
    ran = run_batch(sim, objects, module=module, common={}, on_invalid="continue").result
    assert ran["counts"] == {"changed": 0, "unchanged": 0, "failed": 2, "not_started": 0}
    assert sim.log() == []


# Two objects with one target that they name in different ways: the module, the objects, and others that may run.
TWICE: dict[str, tuple[str, list[dict[str, Any]], dict[str, Any]]] = {
    "vm": (
        "vm",
        [{"name": "vm-2", "state": "running"}, {"uuid": seeded_uuid("vm", 2), "state": "stopped"}],
        {"name": "vm-1", "description": "other"},
    ),
    "host by address": (
        "kvm_host",
        [{"name": "host-1", "state": "disabled"}, {"management_ip": "10.0.0.11", "state": "enabled"}],
        {"name": "host-2", "state": "disabled"},
    ),
    "host by uuid": (
        "kvm_host",
        [{"uuid": seeded_uuid("host", 1), "state": "enabled"}, {"name": "host-1", "state": "disabled"}],
        {"name": "host-2", "state": "disabled"},
    ),
    "volume": (
        "volume",
        [{"name": "data-of-vm-1", "description": "a"}, {"uuid": seeded_uuid("volume", 2), "description": "b"}],
        {"name": "data-of-vm-2", "description": "other"},
    ),
    "nic": (
        "vm_nic",
        [
            {"vm": "vm-1", "l3_network": "l3-1", "state": "disabled"},
            {"uuid": seeded_uuid("vmnic", 1), "state": "enabled"},
        ],
        {"vm": "vm-2", "l3_network": "l3-1", "state": "disabled"},
    ),
    "nic of a VM by name and by uuid": (
        "vm_nic",
        [
            {"vm": "vm-1", "l3_network": "l3-1", "state": "disabled"},
            {"vm": seeded_uuid("vm", 1), "l3_network": "l3-1", "state": "enabled"},
        ],
        {"vm": "vm-2", "l3_network": "l3-1", "state": "disabled"},
    ),
    "nic by the same options": (
        "vm_nic",
        [{"vm": "vm-1", "l3_network": "l3-1", "state": state} for state in ("disabled", "enabled")],
        {"vm": "vm-2", "l3_network": "l3-1", "state": "disabled"},
    ),
    "limit": (
        "vm_nic_qos",
        [
            {"uuid": seeded_uuid("vmnic", 1), "state": "present", "outbound_bandwidth": 8192},
            {"vm": "vm-1", "l3_network": "l3-1", "state": "present", "outbound_bandwidth": 9000},
        ],
        {"vm": "vm-1", "l3_network": "l3-1", "state": "present", "inbound_bandwidth": 9000},
    ),
    "setting": (
        "resource",
        [
            {"kind": "vm_ha", "vm": "vm-1", "properties": {"level": "NeverStop"}},
            {"kind": "vm_ha", "vm": seeded_uuid("vm", 1), "properties": {"level": "OnHostFailure"}},
        ],
        {"kind": "vm_ha", "vm": "vm-2", "properties": {"level": "NeverStop"}},
    ),
}


@pytest.mark.parametrize("check", [True, False])
@pytest.mark.parametrize("case", TWICE)
def test_one_target_of_two_objects_is_found_before_anything_changes(sim: Simulator, case: str, check: bool) -> None:
    """The targets are read before the first change, because the options do not show that they are the same."""
    module, twice, other = TWICE[case]
    sim.clear_log()
    for concurrency in (1, 5):
        ran = run_batch(sim, [*twice, other], check, module, common={}, concurrency=concurrency).result
        assert ran["msg"].startswith("2 of 3 objects are invalid, and nothing was changed. objects[0]: "), ran
        assert "selects the target of objects[1], too. Remove one of them; objects[1]: " in ran["msg"]
        assert (ran["changed"], ran["error"]["code"]) == (False, "INVALID")
        assert ran["error"]["description"] == "The options are invalid. Nothing was changed."
        assert {entry["method"] for entry in sim.log()} == {"GET"}
    ran = run_batch(sim, [*twice, other], check, module, common={}, on_invalid="continue").result
    assert [result["outcome"] for result in ran["results"]] == ["failed", "failed", "changed"]
    assert ran["error"]["description"] == "The options of an object are invalid. Nothing was changed for it."
    stopped = run_batch(sim, [*twice, other], check, module, common={}, on_invalid="continue", on_failure="stop").result
    assert stopped["counts"]["not_started"] == 1


@pytest.mark.parametrize(
    "objects",
    [
        [{"name": "vm-1"}, {"name": "vm-2"}],
        [{"uuid": seeded_uuid("vm", 1)}, {"uuid": seeded_uuid("vm", 2)}],
    ],
)
def test_targets_that_the_options_show_are_not_read(
    sim: Simulator, monkeypatch: pytest.MonkeyPatch, objects: list[dict[str, Any]]
) -> None:
    monkeypatch.delattr(_batch, "TargetReads")
    assert run_batch(sim, objects, module="vm").result["counts"]["unchanged"] == 2


@pytest.mark.parametrize("vms", [("vm-1", "vm-1"), ("vm-1", seeded_uuid("vm", 1))])
def test_the_second_creation_of_one_object_changes_nothing(sim: Simulator, vms: tuple[str, str]) -> None:
    """Before the first one, nothing shows that both have one target."""
    objects = [{"vm": vm, "name": "group", "description": vm + str(number)} for number, vm in enumerate(vms)]
    ran = run_batch(sim, objects, module="vm_snapshot_group", new_lock=RunLock).result
    assert sorted(result["outcome"] for result in ran["results"]) == ["changed", "failed"]
    assert "selects the target of objects[" in ran["msg"]
    assert sum(count_operations(sim)[name] for name in ("CreateVolumeSnapshotGroup", "UpdateVolumeSnapshotGroup")) == 1


def test_objects_with_other_targets_are_none_of_the_same_target(sim: Simulator) -> None:
    sim.change("endpoint", "a000000d000040008000000000000001", type="TeamChat")
    persons = [{"user_id": "x", "endpoint": endpoint} for endpoint in ("teamchat-endpoint-1", "snmp-endpoint-1")]
    assert run_batch(sim, persons, True, "sns_teamchat_person").result["counts"]["changed"] == 2
    nic = "a0000006000040008000000000000001"
    limits = [{"uuid": nic, "direction": direction, "state": "absent"} for direction in ("in", "out")]
    assert run_batch(sim, limits, True, "vm_nic_qos").result["counts"]["changed"] == 2


def test_message_names_five_objects(sim: Simulator) -> None:
    ran = run_batch(sim, [{"name": f"nowhere-{number}", "state": "enabled"} for number in range(7)], common={}).result
    assert ran["msg"].count("objects[") == 5
    assert ran["msg"].endswith("; and 2 more.")


def test_stop_starts_no_further_object(sim: Simulator) -> None:
    objects = [{"name": "nowhere", "state": "enabled"}, {"name": "host-1", "state": "disabled"}]
    ran = run_batch(sim, objects, common={}, concurrency=1, on_failure="stop").result
    assert ran["counts"] == {"changed": 0, "unchanged": 0, "failed": 1, "not_started": 1}
    assert ran["results"][1] == {
        "failed": False,
        "changed": False,
        "skipped": True,
        "msg": "not started",
        "item": objects[1],
        "outcome": "not_started",
    }
    assert count_operations(sim)["ChangeHostState"] == 0


def test_an_object_that_succeeds_after_a_failure_starts_no_further_one(
    sim: Simulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_batch, "FAILURE_INTERVAL", 0.1)
    monkeypatch.setattr(_batch, "PROGRESS_INTERVAL", 0.1)
    # The job ends when the failure has been shown; a later line ends a job that began after that.
    sim.reset(latency=600)
    lines: list[str] = []

    def end_jobs(line: str) -> None:
        lines.append(line)
        if any(each.startswith("failed: nowhere") for each in lines):
            sim.advance()

    # The first object has begun before the second one can fail.
    objects = [{"name": name, "state": "disabled"} for name in ("host-1", "nowhere", "host-2")]
    ran = run_batch(sim, objects, common={}, concurrency=2, on_failure="stop", on_progress=end_jobs).result
    assert [result["outcome"] for result in ran["results"]] == ["changed", "failed", "not_started"]
    assert count_operations(sim)["ChangeHostState"] == 1


def test_what_the_task_does_meanwhile(sim: Simulator) -> None:
    """The call runs until it has done that."""
    sim.reset(latency=600)
    ran = run_batch(sim, [{"name": "host-1", "state": "disabled"}], common={}, meanwhile=sim.advance)
    assert ran.result["counts"]["changed"] == 1


def test_no_objects(sim: Simulator) -> None:
    ran = run_batch(sim, [], common={}).result
    assert (ran["msg"], ran["changed"], ran["results"]) == ("no objects", False, [])
    assert sim.log() == []


@pytest.mark.parametrize(
    ("limits", "count", "raised"),
    [
        ((1024, 4096), 100, None),
        ((150, 4096), 100, (200, 4096)),
        ((150, 180), 80, (180, 180)),
        ((150, resource.RLIM_INFINITY), 100, (200, resource.RLIM_INFINITY)),
        ((50, 60), 1, (60, 60)),
        ((resource.RLIM_INFINITY, resource.RLIM_INFINITY), 100, None),
    ],
)
def test_as_many_objects_run_as_the_process_may_have_open_files(
    monkeypatch: pytest.MonkeyPatch, limits: tuple[int, int], count: int, raised: tuple[int, int] | None
) -> None:
    """Each object may hold a lock, which is an open file. Connections and the run have open files too."""
    changes: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda kind: limits)
    monkeypatch.setattr(resource, "setrlimit", lambda kind, new: changes.append(new))
    assert _batch._limit_threads(100) == count
    assert changes == ([raised] if raised else [])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"stat": "enabled"}, "objects[1]: there is no option stat. Did you mean state?"),
        ({"state": "on"}, "objects[1]: value of state must be one of"),
        ({"name": ""}, "objects[1]: name must not be empty"),
        ({"wait_interval": 0}, "objects[1]: wait_interval must be at least 0.05 seconds"),
        ({"base_url": "nowhere"}, "objects[1]: base_url must"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, Mapping) else "",
)
def test_invalid_options_are_found_before_anything_is_sent(sim: Simulator, wrong: dict[str, Any], message: str) -> None:
    sim.clear_log()
    objects = new_hosts(3)
    objects[1].update(wrong)
    ran = run_batch(sim, objects).result
    assert ran["msg"].startswith(f"1 of 3 objects are invalid, and nothing was sent. {message}"), ran["msg"]
    assert not ran["msg"].endswith(("..", "?."))
    assert ran["error"]["code"] == "INVALID"
    assert not sim.log()


@pytest.mark.parametrize("name", ["host_info", "job_wait", "session", "batch", "ping", "../api", "kvm_host\n\n", ""])
def test_modules_that_cannot_be_run(sim: Simulator, name: str) -> None:
    ran = run_batch(sim, [{"name": "host-1"}], module=name, common={}).result
    if name.strip() == "kvm_host":
        assert not ran.get("failed")
        return
    assert ran["msg"].startswith("module must be a module of this collection that changes or calls something"), name


def test_a_misspelled_module_is_named(sim: Simulator) -> None:
    assert run_batch(sim, [{"name": "vm-1"}], module="vms", common={}).result["msg"].endswith("Did you mean vm?")
    for unfit in ("sesion", "workflows", "batches", "host_infos", "job_waits", "backup_points"):
        hint = run_batch(sim, [{"name": "vm-1"}], module=unfit, common={}).result["msg"].partition(repr(unfit))[2]
        assert not re.search(r"session|workflow|batch|_info|job|backup", hint), hint


@pytest.mark.parametrize(
    ("module", "objects", "hint"),
    [
        ("backup_point", [{}], "It runs on a data mover: use a loop, or the role vm_backup."),
        ("backup_run", [{}], "It runs on a data mover: use a loop, or the role vm_backup."),
        ("backup_restore", [{}], "It runs on a data mover: use a loop, or the role vm_backup_restore."),
        (
            "virtinfra.manager.backup_point_info",
            [{}],
            "one task lists the points of many VMs: use its option vm_uuids.",
        ),
        ("job_wait", [{"jobs": []}], "One task waits for many jobs: use its option jobs."),
        ("job_info", [{"jobs": []}], "One task reads many jobs: use its option jobs."),
        ("host_network_info", [{"hosts": ["host-1"]}], "One task reads many hosts: use its option hosts."),
        ("host_info", [{"name": "host-1"}, {"name": "host-2"}], "Write query: ['name?=host-1,host-2']."),
        ("vm_nic_info", [{"vm": "vm-1"}, {"vm": "vm-3"}], "Write query: ['vmInstance.name?=vm-1,vm-3']."),
        ("vm_nic_info", [{"vm": "vm-1"}, {"ip": "10.101.0.11"}], "reads many objects: use its option query."),
        ("cbt_task_info", [{"vm": "vm-1"}, {"vm": "vm-3"}], "Run the task for each of them, in a loop."),
        ("vm_info", [{"name": "vm-1"}], "give the options of the object to a task of vm_info without batch."),
        ("service_info", [{}], "not 'service_info'."),
        ("workflow", [{}], "not 'workflow'."),
    ],
)
def test_what_to_do_in_place_of_a_batch(sim: Simulator, module: str, objects: list[dict[str, Any]], hint: str) -> None:
    assert run_batch(sim, objects, module=module, common={}).result["msg"].endswith(hint)
    if query := re.search(r"query: \[(.+)\]", hint):
        each = [len(list_records(sim, module, each)) for each in objects]
        assert len(list_records(sim, module, {"query": [query[1].strip("'")]})) == sum(each) > 1


def list_records(sim: Simulator, module: str, options: dict[str, Any]) -> list[Any]:
    """Return the records that a module lists."""
    connection = {"base_url": sim.url, "session_id": sim.session, "api_token": sim.token}
    result = run_module(module, {**connection, **options}).result
    return next(value for value in result.values() if isinstance(value, list))


def test_options_of_the_batch_and_defaults_apply_to_each_object(sim: Simulator) -> None:
    sim.reset(latency=60)
    defaults = {"wait": False, "running_vms": "any", "resource_uuid": "f" * 32}
    objects = [{"name": "host-1"}, {"name": "host-2", "state": "enabled"}]
    common = {"state": "disabled"}
    ran = run_batch(sim, objects, common=common, defaults=defaults, webhook_url="https://hook.example.com/S3CRET")
    assert [result["changed"] for result in ran.result["results"]] == [True, False]
    assert ran.result["results"][0]["job"]["state"] == "running"
    (call,) = [entry for entry in sim.log() if entry["operation"] == "ChangeHostState"]
    assert call["job"] == ran.result["results"][0]["job"]["uuid"]
    assert "S3CRET" not in json.dumps(ran.result)
    assert "job_uuid cannot be shared" in run_batch(sim, objects, job_uuid="f" * 32).result["msg"]


def test_a_job_that_takes_long_does_not_delay_the_others(sim: Simulator) -> None:
    sim.reset(latency=0.1)
    sim.fault("hang", "ChangeHostState", count=1)
    objects = [{"name": "host-1", "state": "disabled", "wait_timeout": 1}, *new_hosts(5)]
    ran = run_batch(sim, objects, concurrency=2).result
    failed = [result["failed"] for result in ran["results"]]
    assert failed == [True] + [False] * 5, ran["msg"]
    assert ran["results"][0]["error"]["code"] == "TIMEOUT"
    assert ran["results"][0]["job"]["state"] == "running"


def test_job_is_not_polled_again_if_the_service_asks_to_wait_until_after_the_deadline(sim: Simulator) -> None:
    sim.reset(latency=60)
    sim.fault("status", "poll", status=503, retry_after=3600, count=100)
    ran = run_batch(sim, [{"name": "host-1", "state": "disabled"}], common={}, wait_timeout=10).result
    assert (ran["results"][0]["failed"], ran["results"][0]["job"]["state"]) == (True, "running"), ran
    assert count_operations(sim)["poll"] == 1


def test_responses_that_are_lost(sim: Simulator) -> None:
    """Each host is created exactly once, as by a task of its own."""
    sim.fault("drop_after", "AddKVMHost", count=4)
    sim.fault("drop_before", "AddKVMHost", count=4)
    ran = run_batch(sim, new_hosts(20)).result
    assert ran["counts"]["changed"] == 20, ran["msg"]
    names = Counter(record["name"] for record in sim.records("host"))
    assert all(names[host["name"]] == 1 for host in new_hosts(20))


def test_interrupted_task_reports_all_jobs(sim: Simulator, monkeypatch: pytest.MonkeyPatch) -> None:
    """All calls have been accepted when the parent process ends; a later task waits for their jobs.

    The message names a few: that of hundreds had 7 kB.
    """
    monkeypatch.setattr(_batch, "MAX_NAMED", 2)
    sim.reset(latency=60)
    objects = [{"name": f"host-{number}", "state": "disabled"} for number in (1, 2, 3)]
    real = _waiting.poll_job

    def end_of_parent() -> None:
        if len(started) == 3:
            raise KeyboardInterrupt("the parent process 1 has ended")

    started: set[str] = set()

    def poll(client: Any, job: Any) -> bool:
        started.add(job.uuid)
        return real(client, job)

    monkeypatch.setattr(_joined_waits, "poll_job", poll)
    with pytest.raises(TaskInterrupted) as stopped:
        run_batch(sim, objects, common={}, before_send=end_of_parent)
    assert isinstance(stopped.value.__cause__, KeyboardInterrupt)
    assert str(stopped.value).startswith("3 calls may still be running in the service. Continue with job_wait: host ")
    jobs = stopped.value.result["jobs"]
    assert {job["uuid"] for job in jobs} == started
    assert [job["uuid"] in str(stopped.value) for job in jobs].count(True) == 2
    assert str(stopped.value).endswith("; and 1 more.")
    assert stopped.value.result["changed"]
    assert stopped.value.result["counts"] == {"changed": 0, "unchanged": 0, "failed": 0, "not_started": 3}
    sim.advance()
    waited = run_module("job_wait", {"base_url": sim.url, "session_id": sim.session, "jobs": jobs}).result
    assert waited["summary"]["succeeded"] == 3


def test_progress_is_one_line(sim: Simulator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_batch, "PROGRESS_INTERVAL", 0.2)
    sim.reset(latency=1)
    lines: list[str] = []
    run_batch(sim, new_hosts(2), on_progress=lines.append)
    assert re.fullmatch(r"after \d+ s: 0 of 2 done, 0 failed, 2 running", lines[0])


def test_progress_counts_changed_and_unchanged_objects_as_done(sim: Simulator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_batch, "PROGRESS_INTERVAL", 0.2)
    sim.fault("hang", "AddKVMHost", count=1)
    lines: list[str] = []
    # The third one ends without a result when its time is up.
    done = [{"name": "host-1", "state": "disabled"}, {"name": "host-2", "cluster": "cluster-2"}]
    run_batch(sim, [*done, {**new_hosts(1)[0], "wait_timeout": 3}], on_progress=lines.append)
    assert any(re.fullmatch(r"after \d s: 2 of 3 done, 0 failed, 1 running", line) for line in lines), lines


def test_progress_names_an_object_without_a_name_by_its_number(sim: Simulator) -> None:
    lines: list[str] = []
    objects: list[dict[str, Any]] = [{"ssh_port": "none"}, {"name": "host-1", "state": "disabled"}]
    sim.reset(latency=2)
    run_batch(sim, objects, on_invalid="continue", on_progress=lines.append)
    assert "failed: objects[0] (INVALID)" in lines


def test_progress_names_failed_objects_and_does_not_count_them_as_done(
    sim: Simulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_batch, "PROGRESS_INTERVAL", 0.3)
    monkeypatch.setattr(_batch, "FAILURE_INTERVAL", 0.1)
    sim.reset(latency=1)
    lines: list[str] = []
    invalid = {"name": "wrong", "management_ip": "localhost", "ssh_port": "none"}
    run_batch(sim, [*new_hosts(2), invalid], on_invalid="continue", on_progress=lines.append)
    assert lines[0] == "failed: wrong (INVALID)"
    assert lines.count(lines[0]) == 1
    assert re.fullmatch(r"after \d+ s: 0 of 3 done, 1 failed, 2 running", lines[1])


def test_module_process_says_that_it_cannot_run(sim: Simulator) -> None:
    options = {"base_url": sim.url, "session_id": sim.session, "module": "kvm_host", "objects": []}
    ran = run_module("batch", options).result
    assert ran["msg"].startswith("batch runs only inside the controller, as a task of Ansible")


def test_threads_wait_for_what_one_of_them_reads(sim: Simulator) -> None:
    """All threads wait for the uuid of the cluster, which one of them looks up after a pause."""
    sim.fault("status", "QueryCluster", status=503, count=2)
    sim.fault("status", "poll", status=503, count=5)
    ran = run_batch(sim, new_hosts(60), concurrency=60)
    assert ran.result["counts"]["changed"] == 60, ran.result["msg"]
    assert count_operations(sim)["AddKVMHost"] == 60


class SharedLock:
    """A lock of a run, one for each key, that threads share."""

    held: ClassVar[set[str]] = set()
    guard: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self, dummy: Any, key: str) -> None:
        self.is_first, self.running = True, list[dict[str, Any]]()
        self._key = key

    def acquire(self) -> bool:
        with self.guard:
            is_free = self._key not in self.held
            self.held.add(self._key)
        return is_free

    def release(self, running: Iterable[dict[str, Any]]) -> None:
        with self.guard:
            self.held.discard(self._key)


def test_objects_that_need_the_same_new_tag_pattern_make_one(sim: Simulator) -> None:
    sim.reset(hosts=30)
    sim.configure(missing_operations=["CreateUserTag"], latency=0.2)
    objects = [{"name": f"host-{number}", "tags": ["env::prod"]} for number in range(1, 31)]
    ran = run_batch(sim, objects, common={}, new_lock=SharedLock).result
    assert ran["counts"] == {"changed": 30, "unchanged": 0, "failed": 0, "not_started": 0}, ran["results"]
    assert [pattern["value"] for pattern in sim.records("tagpattern")] == ["pattern-1", "env::prod"]
    counts = count_operations(sim)
    assert (counts["CreateTag"], counts["AttachTagToResources"]) == (1, 31)
    assert len([tag for tag in sim.records("usertag") if tag["tag"] == "env::prod"]) == 30
    assert not run_batch(sim, objects, common={}, new_lock=SharedLock).result["changed"]


def test_a_get_that_acts_is_refused_for_all_objects(sim: Simulator) -> None:
    """A service runs the only operation of a path whatever the verb is: this one detaches a disk."""
    paths = ["v1/zones", f"v1/volumes/{seeded_uuid('volume', 1)}/vm-instances"]
    for check in (True, False):
        ran = run_batch(sim, [{"method": "GET", "path": path} for path in paths], check, module="api")
        assert ran.result["msg"].startswith("1 of 2 objects are invalid, and nothing was sent. objects[1]: ")
    assert sim.log() == []
