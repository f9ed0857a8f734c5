"""Removals that could lose more than the task names, or leave what the result says is removed."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._api.operations import COMPANIONS

from chaos.store import drop_dates
from simulator.launch import Simulator
from support.module_runner import ModuleRunner
from support.scenarios import (
    CREATED_TASK,
    DATA_VOLUME,
    ENDPOINT,
    HOST,
    NIC,
    PERSON,
    PLATFORM,
    SNAPSHOT_GROUP,
    STOPPED_VM,
    TOPIC,
    VM,
)

REMOVED_HOST = {"name": "host-1", "state": "absent"}
NOWHERE = "0123456789ab4def8123456789abcdef"


@pytest.fixture
def run_empty_host(sim: Simulator) -> ModuleRunner:
    """Two hosts, the first without VMs, and two shared storages and a local one."""
    sim.reset(clusters=1, hosts=2, vms=6, primary_storages=3)
    other = sim.records("host")[1]["uuid"]
    for vm in sim.records("vm"):
        sim.change("vm", vm["uuid"], hostUuid=vm["hostUuid"] and other, lastHostUuid=other)
    return ModuleRunner(sim)


def get_local_storage(sim: Simulator) -> Any:
    """Return the uuid of the local storage."""
    return next(each["uuid"] for each in sim.records("primarystorage") if each["type"] == "LocalStorage")


@pytest.mark.parametrize("options", [{"evacuate": True}, {"force": True, "destroy_local_storage": True}])
def test_guards_of_a_removal_share_their_reads(sim: Simulator, options: dict[str, Any]) -> None:
    """Each guard needs the VMs near the host and the storages."""
    sim.reset(clusters=1, hosts=3, vms=7)
    ran = ModuleRunner(sim)("kvm_host", {**REMOVED_HOST, **options}, check=True)
    assert ran.calls == []
    reads = Counter(f"{entry['operation']} {entry['query']}" for entry in ran.log if entry["method"] == "GET")
    assert {read: times for read, times in reads.items() if times > 1} == {}


def test_volume_of_no_vm_may_be_lost_with_a_host(run_empty_host: ModuleRunner, sim: Simulator) -> None:
    sim.change("volume", DATA_VOLUME, vmInstanceUuid=None, primaryStorageUuid=get_local_storage(sim))
    ran = run_empty_host("kvm_host", REMOVED_HOST)
    assert ran.warnings == ["host host-1: 1 unattached data volumes lie on local storage; those on the host are lost."]


def test_vm_that_never_ran_may_be_lost_with_a_host(run_empty_host: ModuleRunner, sim: Simulator) -> None:
    vm = next(each for each in sim.records("vm") if each["name"] == "vm-3")
    sim.change("vm", vm["uuid"], state="Stopped", hostUuid=None, lastHostUuid=None)
    ran = run_empty_host("kvm_host", REMOVED_HOST)
    assert ran.warnings[0].startswith("host host-1: no record shows the hosts of the VMs vm-3, whose root volumes lie")


def test_local_volume_of_a_vm_on_shared_storage_prevents_the_removal(
    run_empty_host: ModuleRunner, sim: Simulator
) -> None:
    vm = next(each for each in sim.records("vm") if each["uuid"] == STOPPED_VM)
    root, data = vm["allVolumes"]
    sim.change("volume", data["uuid"], primaryStorageUuid=get_local_storage(sim), _hostUuid=HOST)
    volumes = [root, {**data, "primaryStorageUuid": get_local_storage(sim)}]
    sim.change("vm", STOPPED_VM, lastHostUuid=HOST, allVolumes=volumes)
    message = run_empty_host.refused("kvm_host", REMOVED_HOST)
    assert f"1 volume would be lost: data-of-vm-2 ({data['uuid']}): it is on local storage" in message
    ran = run_empty_host("kvm_host", {**REMOVED_HOST, "destroy_local_storage": True})
    assert ran["also_removed"] == [{"type": "volume", "uuid": data["uuid"], "name": "data-of-vm-2"}]


def test_unreadable_storages_do_not_prevent_the_removal_of_an_empty_host(
    run_empty_host: ModuleRunner, sim: Simulator
) -> None:
    sim.fault("fail", "QueryPrimaryStorage", error={"code": "ID.1002", "details": "no right"})
    ran = run_empty_host("kvm_host", REMOVED_HOST)
    assert not ran.failed, ran.message
    assert "cannot check which volumes are on the host" in ran.warnings[0]


def test_endpoint_that_is_not_removed_with_its_platform(run: ModuleRunner, sim: Simulator) -> None:
    sim.configure(failing_endpoints=[ENDPOINT])
    ran = run("sns_snmp_platform", {"uuid": PLATFORM, "state": "absent", "force": True})
    assert ran["platform"] is None
    assert (ran["also_removed"], [each["uuid"] for each in ran["remaining_endpoints"]]) == ([], [ENDPOINT])
    assert "1 endpoint was left without a platform: snmp-endpoint-1" in ran.warnings[0]


@pytest.mark.parametrize("unknown", ["nowhere", NOWHERE])
def test_exports_are_not_left_because_another_volume_does_not_exist(
    run: ModuleRunner, sim: Simulator, unknown: str
) -> None:
    vm = next(each for each in sim.records("vm") if each["uuid"] == STOPPED_VM)
    volumes = [volume["uuid"] for volume in vm["allVolumes"]]
    options = {"vm": STOPPED_VM, "volumes": volumes}
    run("cbt_volume_export", options)
    if unknown == NOWHERE:
        sim.fault("fail", "UnexportNbdVolumes", error={"code": "SYS.1003", "details": "no such volume"})
    ran = run("cbt_volume_export", {**options, "volumes": [*volumes, unknown], "state": "absent"})
    assert ran.failed or not sim.state()["exported"]
    gone = run("cbt_volume_export", {"vm": STOPPED_VM, "volumes": [unknown], "state": "absent"})
    assert not gone.failed, gone.message


@pytest.mark.parametrize(
    ("module", "key", "options", "message"),
    [
        ("vm", VM, {"host": "host-2"}, "the options differ from the existing vm: host (is 'host-1' ("),
        ("vm", VM, {"cluster": "cluster-2"}, "the options differ from the existing vm: cluster (is 'cluster-1' ("),
        (
            "vm",
            VM,
            {"primary_storage": "ps-2"},
            "the options differ from the existing vm: primary_storage (is 'ps-1' (",
        ),
        ("vm", VM, {"root_disk_size": "9T"}, "should be 9895604649984 at least). Nothing was removed."),
        ("vm", VM, {"networks": [{"l3_network": "l3-3"}]}, "networks: the VM has no NIC on l3-3. Nothing was removed"),
        (
            "vm",
            VM,
            {"disks": [{"size": "1G"}] * 9},
            "disks: the VM has 1 data volumes, and 9 are requested. Nothing was",
        ),
        ("vm", VM, {"resource_uuid": NOWHERE}, f"the vm has the uuid {VM}, and resource_uuid is {NOWHERE}"),
        ("kvm_host", HOST, {"resource_uuid": NOWHERE, "force": True}, "the host has the uuid"),
        ("volume", DATA_VOLUME, {"size": "9T", "force": True}, "disk_size (is 107374182400, should be 9895604649984)"),
    ],
)
def test_an_object_that_differs_from_the_options_is_not_removed(
    run: ModuleRunner, module: str, key: str, options: dict[str, Any], message: str
) -> None:
    assert message in run.refused(module, {"uuid": key, "state": "absent", **options})


def test_a_vm_that_has_what_the_options_describe_is_removed(run: ModuleRunner) -> None:
    """A VM that was destroyed has no NICs and no data volumes any more."""
    options = {"name": "vm-1", "host": "host-1", "networks": [{"l3_network": "l3-1"}], "disks": [{"size": "1G"}]}
    removal = {**options, "root_disk_size": "1G", "primary_storage": "ps-1", "state": "absent"}
    assert run("vm", removal).calls == ["DestroyVmInstance"]
    assert run("vm", {**removal, "expunge": True}).calls == ["ExpungeVmInstance"]


def remove_vm(**options: Any) -> dict[str, Any]:
    """Return the options of a task that removes a VM with its data volumes."""
    return {"uuid": VM, "state": "absent", "data_volumes": "delete", **options}


def get_volume(sim: Simulator) -> Any:
    """Return the data volume of that VM."""
    return next(each for each in sim.records("volume") if each["uuid"] == DATA_VOLUME)


@pytest.mark.parametrize("expunge", [False, True])
def test_volumes_of_a_vm_that_was_not_destroyed_stay(run: ModuleRunner, sim: Simulator, expunge: bool) -> None:
    sim.configure(failing_destructions=[VM])
    ran = run("vm", remove_vm(expunge=expunge))
    assert ran.message == (
        f"vm {VM}: DestroyVmInstance succeeded, but state is still Running. Nothing further was removed after"
        " DestroyVmInstance."
    )
    assert (get_volume(sim)["status"], get_volume(sim)["vmInstanceUuid"]) == ("Ready", VM)


@pytest.mark.parametrize("missing", ["QueryVmInstance", "QueryVolume"])
def test_vm_is_not_destroyed_if_its_volumes_cannot_be_read(run: ModuleRunner, sim: Simulator, missing: str) -> None:
    sim.configure(missing_operations=[missing])
    assert "Set data_volumes: keep." in run.refused("vm", remove_vm(), api_token=None)
    if missing == "QueryVmInstance":
        options = remove_vm(expunge=True, data_volumes="keep")
        assert "Set expunge: false." in run.refused("vm", options, api_token=None)


def test_namesake_that_was_destroyed_earlier_is_not_expunged(run: ModuleRunner, sim: Simulator) -> None:
    """After the first run the name would select the VM that was destroyed earlier."""
    sim.change("vm", STOPPED_VM, name="vm-1", state="Destroyed")
    options = {"name": "vm-1", "state": "absent", "expunge": True}
    message = run.refused("vm", options)
    assert f"2 objects have the name 'vm-1'. Select one by uuid. Their uuids: {VM}, {STOPPED_VM}" in message
    run.twice("vm", {"uuid": VM, "state": "absent", "expunge": True})
    assert [vm["state"] for vm in sim.records("vm") if vm["name"] == "vm-1"] == ["Destroyed"]


def test_vm_that_cannot_be_read_is_not_reported_as_recovered(run: ModuleRunner, sim: Simulator) -> None:
    sim.configure(missing_operations=["QueryVmInstance"])
    options = {"uuid": VM, "state": "present", "recover": True}
    assert run.refused("vm", options, api_token=None).endswith(" Set recover: false.")


def test_volume_that_another_vm_has_now_is_not_deleted(run: ModuleRunner, sim: Simulator) -> None:
    """The record of the VM still shows it."""
    sim.change("volume", DATA_VOLUME, vmInstanceUuid=STOPPED_VM)
    ran = run("vm", remove_vm(expunge=True))
    assert not ran.failed, ran.message
    assert get_volume(sim)["status"] == "Ready"
    assert "volume" not in [item["type"] for item in ran["also_removed"]]


def attach_second_volume(sim: Simulator, **members: Any) -> str:
    """Attach the data volume of another VM to the VM, and return its uuid."""
    owner = next(each for each in sim.records("vm") if each["name"] == "vm-3")
    root, data = owner["allVolumes"]
    sim.change("vm", owner["uuid"], allVolumes=[root])
    members = {"vmInstanceUuid": VM, "lastDetachDate": None, **members}
    vm = next(each for each in sim.records("vm") if each["uuid"] == VM)
    sim.change("vm", VM, allVolumes=[*vm["allVolumes"], {**data, **members}])
    sim.change("volume", data["uuid"], **members)
    sim.change("volume", DATA_VOLUME, lastDetachDate=None)
    return str(data["uuid"])


def test_volumes_that_the_vm_does_not_show_are_deleted(run: ModuleRunner, sim: Simulator) -> None:
    """The records of volumes show the VM."""
    second = attach_second_volume(sim)
    vm = next(each for each in sim.records("vm") if each["uuid"] == VM)
    hidden = {name: value for name, value in vm.items() if name != "allVolumes" and not name.startswith("_")}
    sim.fault("other_response", "QueryVmInstance", reply={"inventories": [hidden]})
    ran = run("vm", remove_vm())
    assert {item["uuid"] for item in ran["also_removed"] if item["type"] == "volume"} == {DATA_VOLUME, second}
    assert get_volume(sim)["status"] == "Deleted"


@pytest.mark.parametrize("policy", ["Delay", "Direct"])
@pytest.mark.parametrize("expunge", [False, True])
def test_vm_is_removed_with_several_volumes(run: ModuleRunner, sim: Simulator, policy: str, expunge: bool) -> None:
    attach_second_volume(sim)
    sim.configure(deletion_policy=policy)
    ran = run.twice("vm", remove_vm(expunge=expunge))
    assert len([item for item in ran["also_removed"] if item["type"] == "volume"]) == 2


def test_destroyed_vm_is_not_recovered_unasked(run: ModuleRunner, sim: Simulator) -> None:
    sim.change("vm", VM, state="Destroyed")
    assert "Set recover: true" in run.refused("vm", {"uuid": VM, "state": "running"})


def test_volume_that_another_vm_gets_meanwhile_is_not_deleted(run: ModuleRunner, sim: Simulator) -> None:
    second = attach_second_volume(sim)
    volume = {**get_volume(sim), "vmInstanceUuid": STOPPED_VM}
    sim.fault("other_response", "QueryVolume", reply={"inventories": [volume], "total": 1}, skip=2, count=None)
    ran = run("vm", remove_vm())
    assert (ran.failed, ran.changed, ran.result.get("done")) == (True, True, ["DestroyVmInstance"]), ran.result
    assert f"was attached to the VM {STOPPED_VM} while the task ran" in ran.message
    statuses = {each["uuid"]: each["status"] for each in sim.records("volume")}
    assert (statuses[DATA_VOLUME], statuses[second]) == ("Ready", "Ready")


def test_other_vms_of_a_cbt_task_are_named(run: ModuleRunner, sim: Simulator) -> None:
    """The service deletes the whole task."""
    run("cbt_task", {"name": "both", "vms": [VM, STOPPED_VM], "task_type": "full"})
    for check in (True, False):
        ran = run("vm", {"uuid": VM, "state": "absent"}, check)
        assert ran.warnings == [f"vm {VM}: the CBT task both is also that of {STOPPED_VM}."]
    assert sim.records("cbttask") == []


DETACHED_BEFORE = {"lastDetachDate": "Jan 6, 2024, 4:52:16 AM"}


def test_volumes_that_another_run_does_not_find_are_named_without_a_wait(run: ModuleRunner, sim: Simulator) -> None:
    second = attach_second_volume(sim, **DETACHED_BEFORE)
    (warning,) = run("vm", remove_vm(), wait=False).warnings
    assert "the task did not call DeleteDataVolume, because wait is false. Run it again" in warning
    assert warning.endswith(f"Then remove {second} with the module api, because the task does not find them again.")
    sim.advance()
    ran = run.twice("vm", remove_vm())
    assert (ran.calls, get_volume(sim)["status"]) == (["DeleteDataVolume"], "Deleted")


@pytest.mark.parametrize("policy", ["Delay", "Direct"])
@pytest.mark.parametrize("expunge", [False, True])
@pytest.mark.parametrize("failing", ["DeleteDataVolume", "ExpungeDataVolume", "ExpungeVmInstance"])
@pytest.mark.parametrize("key", [{"name": "vm-1"}, {"uuid": VM}])
def test_second_run_finishes_a_removal(
    run: ModuleRunner, sim: Simulator, policy: str, expunge: bool, failing: str, key: dict[str, str]
) -> None:
    attach_second_volume(sim)
    sim.configure(deletion_policy=policy)
    # The first call tries whether the service has the operation.
    sim.fault("fail", failing, skip=1)
    options = {"state": "absent", "data_volumes": "delete", "expunge": expunge, **key}
    first = run("vm", options)
    is_met = failing == "DeleteDataVolume" or (expunge and policy == "Delay")
    assert (first.failed, first.changed) == (is_met, True), first.message
    if policy == "Direct" and "name" in key and is_met:
        assert "with the module api, because the task does not find them again." in first.message
        return
    assert "with the module api" not in first.message
    second = run("vm", options)
    assert (second.failed, second.changed) == (False, is_met), second.message
    run.idle("vm", options)
    remaining = [each["status"] for each in sim.records("volume") if each["lastVmInstanceUuid"] == VM]
    assert remaining == ([] if expunge or policy == "Direct" else ["Deleted", "Deleted"])
    if failing == "DeleteDataVolume":
        assert "volume" in [item["type"] for item in second["also_removed"]]


def test_volume_that_was_detached_before_stays(run: ModuleRunner, sim: Simulator) -> None:
    """A user may have detached it to keep it."""
    sim.change("volume", DATA_VOLUME, vmInstanceUuid=None, **DETACHED_BEFORE)
    sim.change("vm", VM, state="Destroyed")
    for expunge in (False, True):
        assert not run("vm", remove_vm(expunge=expunge)).failed
        assert get_volume(sim)["status"] == "Ready"


def remove_volume_and_recover_vm(run: ModuleRunner, sim: Simulator) -> None:
    """Remove the VM with its data volume, and recover the VM alone."""
    sim.change("volume", DATA_VOLUME, lastDetachDate=None)
    run("vm", remove_vm())
    sim.advance(5)
    assert not run("vm", {"uuid": VM, "state": "stopped", "recover": True}).failed
    assert get_volume(sim)["status"] == "Deleted"


@pytest.mark.parametrize("failing", [None, "ExpungeVmInstance"])
def test_volume_that_was_deleted_before_the_vm_can_still_be_recovered(
    run: ModuleRunner, sim: Simulator, failing: str | None
) -> None:
    """The VM did not have the volume when it was removed, whether the service keeps a record of the VM or not."""
    remove_volume_and_recover_vm(run, sim)
    if failing:
        # The first call tries whether the service has the operation.
        sim.fault("fail", failing, skip=1)
    first = run("vm", remove_vm(expunge=True))
    assert first.failed == bool(failing)
    for dummy in range(2):
        again = run("vm", remove_vm(expunge=True))
        assert not again.failed, again.message
        assert "ExpungeDataVolume" not in again.calls
    assert get_volume(sim)["status"] == "Deleted"


def test_volume_that_is_only_expunged_is_named(run: ModuleRunner, sim: Simulator) -> None:
    sim.change("volume", DATA_VOLUME, lastDetachDate=None)
    run("vm", remove_vm())
    for check in (True, False):
        ran = run("vm", remove_vm(expunge=True), check)
        assert DATA_VOLUME in [item["uuid"] for item in ran["also_removed"]]
    assert "ExpungeDataVolume" in ran.calls


def test_options_are_compared_with_a_destroyed_vm(run: ModuleRunner, sim: Simulator) -> None:
    sim.change("volume", DATA_VOLUME, vmInstanceUuid=None, lastDetachDate=None)
    sim.change("vm", VM, state="Destroyed")
    assert "name (is 'vm-1', should be 'vm-2')" in run.refused("vm", remove_vm(name="vm-2"))


def test_namesake_that_was_destroyed_earlier_keeps_its_volumes(run: ModuleRunner, sim: Simulator) -> None:
    """A name selects the VM that was destroyed last."""
    old = next(
        each["uuid"]
        for each in sim.records("volume")
        if each["vmInstanceUuid"] == STOPPED_VM and each["type"] == "Data"
    )
    sim.change("volume", old, vmInstanceUuid=None)
    sim.change("vm", STOPPED_VM, name="vm-1", state="Destroyed", lastOpDate="Jan 6, 2024, 4:52:16 AM")
    run.twice("vm", {"name": "vm-1", "state": "absent", "data_volumes": "delete"})
    statuses = {each["uuid"]: each["status"] for each in sim.records("volume")}
    assert (statuses[old], statuses[DATA_VOLUME]) == ("Ready", "Deleted")


def test_platform_whose_endpoints_cannot_be_listed_needs_force(run: ModuleRunner, sim: Simulator) -> None:
    sim.configure(missing_operations=["QuerySNSApplicationEndpoint"])
    options = {"uuid": PLATFORM, "state": "absent"}
    message = run.refused("sns_snmp_platform", options)
    assert "the service does not offer QuerySNSApplicationEndpoint" in message
    assert message.endswith("Set force: true to call it nevertheless.")
    ran = run.twice("sns_snmp_platform", {**options, "force": True})
    assert ran["also_removed"] == []
    assert "cannot check which endpoints are removed with the platform" in ran.warnings[0]


@pytest.mark.parametrize("paging", [True, False])
@pytest.mark.parametrize("chats", ["documented", "open", "none"])
def test_endpoint_is_removed_whatever_chats_the_service_has(
    run: ModuleRunner, sim: Simulator, chats: str, paging: bool
) -> None:
    """An empty list proves nothing: services without the query of a type answer with one."""
    sim.change("endpoint", ENDPOINT, type="WorkChat", name="chat")
    sim.configure(chats=chats, query_paging=paging)
    run.twice("sns_endpoint", {"type": "workchat", "name": "chat", "state": "absent"})
    assert ENDPOINT not in [each["uuid"] for each in sim.records("endpoint")]


@pytest.mark.parametrize(
    ("module", "options", "operation", "noun"),
    [
        ("vm", {"uuid": VM}, "QueryCbtTask", "CBT tasks"),
        ("vm", {"uuid": VM}, "QueryVolumeSnapshotGroup", "snapshot groups"),
        ("sns_endpoint", {"type": "any", "uuid": ENDPOINT}, "QuerySNSTeamchatAtPerson", "persons"),
        ("sns_snmp_platform", {"uuid": PLATFORM, "force": True}, "QuerySNSApplicationEndpoint", "endpoints"),
        ("sns_topic", {"uuid": TOPIC, "force": True}, "QuerySNSTopicSubscriber", "subscribers"),
    ],
)
@pytest.mark.parametrize("denial", ["ID.1002", "SYS.1018", "SYS.1019"])
def test_list_that_cannot_be_read_is_not_empty(
    run: ModuleRunner, sim: Simulator, module: str, options: dict[str, Any], operation: str, noun: str, denial: str
) -> None:
    sim.configure(denied_operations=[operation], denial=denial)
    checked, ran = (run(module, {**options, "state": "absent"}, check=check) for check in (True, False))
    assert (checked.message, ran.message) == ("", "")
    warnings = [checked.warnings, ran.warnings]
    if operation in COMPANIONS:
        sim.reset(missing_operations=[operation], verbs_matter=True)
        warnings.append(run(module, {**options, "state": "absent"}).warnings)
    expected = f"cannot check which {noun} are removed with the"
    assert [[expected in warning for warning in each] for each in warnings] == [[True]] * len(warnings)


def test_removal_waits_until_what_goes_with_it_can_be_read(run: ModuleRunner, sim: Simulator) -> None:
    sim.fault("fail", "QueryCbtTask", error={"code": "SYS.1000", "details": "the database is locked"}, count=None)
    assert "the database is locked" in run.refused("vm", {"uuid": VM, "state": "absent"})


def test_volumes_of_no_vm_that_cannot_be_read_may_be_lost_with_a_host(
    run_empty_host: ModuleRunner, sim: Simulator
) -> None:
    sim.configure(missing_operations=["QueryVolume"])
    ran = run_empty_host("kvm_host", REMOVED_HOST)
    assert "cannot check which unattached data volumes are on the host" in ran.warnings[0]


# For each module, options that select an object, and others that differ from it.
DIFFERING: tuple[tuple[str, dict[str, Any], tuple[dict[str, Any], ...]], ...] = (
    (
        "kvm_host",
        {"uuid": HOST, "force": True},
        ({"name": "x"}, {"name": "host-2"}, {"management_ip": "10.9.9.9"}, {"cluster": "cluster-2"}),
    ),
    (
        "vm",
        {"uuid": VM, "data_volumes": "delete", "expunge": True},
        ({"name": "x"}, {"name": "vm-2"}, {"description": "x"}, {"cpu_num": 77}, {"memory_size": 2**31}),
    ),
    (
        "vm_nic",
        {"uuid": NIC},
        (
            {"vm": "vm-2", "l3_network": "l3-1"},
            {"vm": "nobody", "l3_network": "l3-1"},
            {"vm": "vm-1", "l3_network": "l3-2"},
            {"static_ip": "10.9.9.9"},
            {"custom_mac": "fa:00:00:00:00:99"},
            {"driver_type": "e1000"},
        ),
    ),
    (
        "vm_snapshot_group",
        {"uuid": SNAPSHOT_GROUP},
        ({"name": "x"}, {"description": "x"}, {"vm": "vm-2"}, {"vm": "nobody"}),
    ),
    (
        "sns_endpoint",
        {"uuid": ENDPOINT, "type": "snmp"},
        ({"name": "x"}, {"description": "x"}, {"platform": "workchat-1"}, {"topics": ["topic-2"]}, {"topics": []}),
    ),
    ("sns_topic", {"uuid": TOPIC, "force": True}, ({"name": "x"}, {"description": "x"}, {"locale": "zh_CN"})),
    (
        "sns_snmp_platform",
        {"uuid": PLATFORM, "force": True},
        ({"name": "x"}, {"description": "x"}, {"snmp_address": "192.0.2.9"}, {"snmp_port": 9}),
    ),
    ("sns_teamchat_person", {"uuid": PERSON}, ({"user_id": "x"}, {"remark": "x"}, {"endpoint": ENDPOINT})),
    (
        "cbt_task",
        {"uuid": CREATED_TASK},
        ({"name": "x"}, {"description": "x"}, {"vm": "vm-6"}, {"vms": ["vm-6"], "task_type": "full"}),
    ),
)


def test_object_that_differs_in_any_option_is_not_removed(run: ModuleRunner, sim: Simulator) -> None:
    sim.reset(cbt_tasks=1)
    before, problems = drop_dates(sim.state()), []
    for module, key, others in DIFFERING:
        for differing in others:
            options = {**key, **differing, "state": "absent"}
            for check in (True, False):
                ran = run(module, options, check)
                if not ran.failed or ran.calls or (" selects " not in ran.message and "differ from" not in ran.message):
                    problems.append(f"{module} {options}: {ran.message or ran.result}")
    assert not problems, "\n".join(problems)
    assert drop_dates(sim.state()) == before


# Options that want the opposite of the state, by modules.
CONTRADICTIONS = [
    ("vm", {"name": "vm-5", "state": "absent", "recover": True}),
    ("vm", {"name": "vm-5", "state": "present", "expunge": True}),
    ("vm", {"name": "vm-5", "state": "stopped", "data_volumes": "delete"}),
    ("kvm_host", {"name": "host-1", "state": "absent", "power": "on"}),
    ("kvm_host", {"name": "host-1", "state": "absent", "update_password": "always", "password": "secret-1"}),
]


@pytest.mark.parametrize(("module", "options"), CONTRADICTIONS)
def test_contradictions_are_refused_before_anything_is_sent(
    run: ModuleRunner, module: str, options: dict[str, Any]
) -> None:
    for check in (True, False):
        ran = run(module, options, check)
        assert " used with state absent. Remove " in ran.message
        assert ran.log == []


@pytest.mark.parametrize("module", ["vm", "kvm_host"])
def test_defaults_contradict_no_state(run: ModuleRunner, module: str) -> None:
    """Templated tasks give every option, also with its default."""
    defaults: dict[str, dict[str, Any]] = {
        "vm": {"recover": False, "expunge": False, "data_volumes": "keep"},
        "kvm_host": {"update_password": "on_create"},
    }
    run.idle(module, {"name": "no-such-object", "state": "absent", **defaults[module]})


@pytest.mark.parametrize(
    ("name", "options", "warning"),
    [
        ("vm_snapshot_group", {"vm": "vm-99", "name": "n"}, "vm: no VM has the name 'vm-99'"),
        ("vm_nic", {"vm": "vm-99", "l3_network": "l3-2"}, "vm: no VM has the name 'vm-99'"),
        ("cbt_task", {"vm": "vm-99"}, "vm: no VM has the name 'vm-99'"),
    ],
)
def test_nothing_of_a_missing_object_is_removed(
    run: ModuleRunner, name: str, options: dict[str, Any], warning: str
) -> None:
    for check in (True, False):
        ran = run(name, {**options, "state": "absent"}, check)
        assert (ran.changed, ran.failed) == (False, False)
        assert ran.warnings == [f"{warning}, so nothing of it is removed."]
