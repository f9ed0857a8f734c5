"""Which VMs the workflow vm_restore creates and destroys, and which never."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.plugin_utils._site.site import Site
from ansible_collections.virtinfra.manager.plugins.plugin_utils._workflows.vm_restore import (
    MARK,
    Restoration,
    choose_groups,
    is_source,
)

from simulator.launch import Simulator
from support.module_runner import ModuleRunner
from support.workflow_runner import WorkflowRun, WorkflowRunner

GROUP = "a000000b000040008000000000000001"
CREATE = "CreateVmInstanceFromVolumeSnapshotGroup"


@pytest.fixture
def service(sim: Simulator) -> Simulator:
    """A simulator with three VMs and a snapshot group of the first one."""
    sim.reset(vms=3, snapshot_groups=1)
    for vm in sim.records("vm"):
        sim.change("vm", vm["uuid"], state="Running")
    return sim


def run(work: WorkflowRunner, *vms: dict[str, Any], check: bool = False, **variables: Any) -> WorkflowRun:
    """Run the workflow for VMs, which are restored from the snapshot group unless they say otherwise."""
    given = {"vms": [{"snapshot_group": GROUP, **vm} for vm in vms], **variables}
    return work("vm_restore", {f"vm_restore_{name}": value for name, value in given.items()}, check)


def states_of(service: Simulator) -> dict[str, str]:
    """Return the states of all VMs by their names."""
    return {vm["name"]: vm["state"] for vm in service.records("vm")}


def test_a_drill_from_its_start_to_its_end(service: Simulator, work: WorkflowRunner) -> None:
    vms: list[dict[str, Any]] = [
        {"name": "vm-1", "l3_networks": ["l3-1"], "clear_qos": True},
        {"name": "vm-2", "strategy": "CreateStopped"},
    ]
    predicted = run(work, *vms, check=True, name_suffix="-drill")
    assert predicted.calls == []
    ran = run(work, *vms, name_suffix="-drill")
    assert [entry["vm"] for entry in ran.report] == ["vm-1-drill", "vm-2-drill"]
    assert predicted.report == [{**entry, "vm_uuid": None} for entry in ran.report]
    assert ran.warnings == [
        "These VMs remain until the role runs with vm_restore_state=absent: vm-1-drill, vm-2-drill",
    ]
    assert {vm["description"] for vm in service.records("vm") if vm["name"].endswith("-drill")} == {MARK}
    again = run(work, *vms, name_suffix="-drill")
    assert (again.outcomes, again.calls) == (["unchanged"] * 2, [])
    ended = run(work, *vms, name_suffix="-drill", state="absent", expunge=True)
    assert (ended.outcomes, [entry["vm_uuid"] for entry in ended.report]) == (["changed"] * 2, [None, None])
    assert states_of(service) == {"vm-1": "Running", "vm-2": "Running", "vm-3": "Running"}
    assert run(work, *vms, name_suffix="-drill", state="absent").outcomes == ["unchanged"] * 2


def test_the_end_of_a_drill_reads_a_vm_once_after_each_call(service: Simulator, work: WorkflowRunner) -> None:
    """What it destroys is read again after the operations were tried, which took time."""
    run(work, {"name": "vm-1"}, name_suffix="-drill")
    ended = run(work, {"name": "vm-1"}, name_suffix="-drill", state="absent", expunge=True)
    # Which VMs are templates is read once a second, however fast the machine is.
    left_out = ("poll", "QueryTemplatedVmInstance")
    requests = [entry["operation"] for entry in ended.log if entry["operation"] not in left_out]
    guarded = ["QueryCbtTask", "QueryVolumeSnapshotGroup"]
    checked = ["QueryVmInstance", "QueryVolume"]
    tried = ["DeleteDataVolume", "ExpungeDataVolume", "ExpungeVmInstance"]
    begin = ["QueryVmInstance", *checked, *guarded, *tried, *guarded, *checked]
    destroyed = [name for call in ("DestroyVmInstance", *tried) for name in (call, *checked)]
    assert requests == [*begin, *destroyed, "QueryVmInstance"]


def test_the_end_of_a_drill_reads_the_volumes_of_many_vms_together(service: Simulator, work: WorkflowRunner) -> None:
    vms = [{"name": f"vm-{number}"} for number in range(10)]
    run(work, *vms, name_suffix="-drill")
    service.fault("slow", "QueryVolume", seconds=0.1, count=None)
    ended = run(work, *vms, name_suffix="-drill", state="absent", expunge=True)
    assert ended.outcomes == ["changed"] * 10
    assert ended.reads.count("QueryVolume") < 6 * 10 / 2


def test_destroyed_vms_of_a_drill_are_expunged(service: Simulator, work: WorkflowRunner) -> None:
    """After an expunge that failed, later runs found nothing to do. VMs that others have destroyed stay."""
    vms = [{"name": "vm-1"}, {"name": "vm-2"}, {"name": "vm-3"}]
    for state in ("present", "absent", "present"):
        run(work, *vms[:2], name_suffix="-drill", state=state)
    theirs = service.records("vm")[2]
    service.change("vm", theirs["uuid"], name="vm-3-drill", state="Destroyed")
    # The first call of the operation asks whether the service has it.
    service.fault("fail", operation="ExpungeVmInstance", skip=1, error={"code": "SYS.1000", "details": "no"})
    first = run(work, *vms, name_suffix="-drill", state="absent", expunge=True, concurrency=1)
    assert sorted(first.outcomes) == ["changed", "changed", "changed", "failed", "unchanged"]
    assert run(work, *vms, name_suffix="-drill", state="absent", expunge=True).outcomes.count("changed") == 1
    again = run(work, *vms, name_suffix="-drill", state="absent", expunge=True)
    assert (again.outcomes, again.calls) == (["unchanged"] * 3, [])
    assert states_of(service) == {"vm-1": "Running", "vm-2": "Running", "vm-3-drill": "Destroyed"}


def test_a_vm_that_is_renamed_while_the_role_runs_stays(
    service: Simulator, work: WorkflowRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(work, {"name": "vm-1"}, name_suffix="-drill")
    (copy,) = (vm for vm in service.records("vm") if vm["name"] == "vm-1-drill")
    batch = Site.batch

    def rename(self: Site, *arguments: Any, **options: Any) -> list[dict[str, Any]]:
        service.change("vm", copy["uuid"], name="kept", description="ours now")
        return batch(self, *arguments, **options)

    monkeypatch.setattr(Site, "batch", rename)
    ran = run(work, {"name": "vm-1"}, name_suffix="-drill", state="absent")
    assert (ran.outcomes, ran.calls) == (["failed"], [])


def test_a_vm_that_is_not_destroyed_in_time(service: Simulator, work: WorkflowRunner) -> None:
    """The VM remains in the report, with its uuid."""
    (entry,) = run(work, {"name": "vm-1"}, name_suffix="-drill").report
    service.configure(latencies={"DestroyVmInstance": 3600})
    ran = run(work, {"name": "vm-1"}, name_suffix="-drill", state="absent", timeout=7)
    assert (ran.outcomes, ran.report[0]["vm_uuid"]) == (["failed"], entry["vm_uuid"])
    assert "after 7 s" in ran.report[0]["error"]
    assert ran.result["failures"][0].startswith(f"vm-1-drill ({entry['vm_uuid']}): ")


@pytest.mark.parametrize("suffix", ["", " ", "\t\n"])
def test_a_blank_is_no_suffix(service: Simulator, work: WorkflowRunner, suffix: str) -> None:
    """Services ignore it at the end of a name, so the originals were destroyed."""
    ran = run(work, {"name": "vm-1"}, state="absent", name_suffix=suffix, expunge=True)
    assert "needs the vm_restore_name_suffix" in ran.message
    assert states_of(service)["vm-1"] == "Running"


def test_vms_that_the_role_has_not_created_stay(service: Simulator, work: WorkflowRunner) -> None:
    """A user's VM of the name was adopted by the drill, and destroyed at its end."""
    theirs = service.records("vm")[1]
    service.change("vm", theirs["uuid"], name="vm-1-test")
    started = run(work, {"name": "vm-1", "nics": [{"l3_network": "l3-3"}]}, name_suffix="-test")
    ended = run(work, {"name": "vm-1"}, name_suffix="-test", state="absent", expunge=True)
    assert (started.calls, ended.calls) == ([], [])
    for ran, consequence in ((started, "not used"), (ended, "not destroyed")):
        assert ran.outcomes == ["failed"]
        assert "The role has not created this VM" in ran.report[0]["error"]
        assert consequence in ran.report[0]["error"]


def test_without_a_suffix_existing_vms_are_used(service: Simulator, work: WorkflowRunner) -> None:
    ran = run(work, {"name": "vm-1", "nics": [{"l3_network": "l3-3", "state": "disabled"}]})
    assert (ran.outcomes, ran.calls) == (["changed"], ["AttachL3NetworkToVm", "ChangeVmNicState"])
    assert ran.warnings == []
    again = run(work, {"name": "vm-1", "nics": [{"l3_network": "l3-3", "state": "disabled"}]}, {"name": "vm-2"})
    assert (again.outcomes, again.calls) == (["unchanged"] * 2, [])


def test_vms_that_need_nothing_cost_no_requests(service: Simulator, work: WorkflowRunner) -> None:
    for vm in service.records("vm"):
        service.change("vm", vm["uuid"], description=MARK)
    ran = run(work, *({"name": f"vm-{number}"} for number in (1, 2, 3)))
    assert (ran.outcomes, ran.reads) == (["unchanged"] * 3, ["QueryVmInstance"] * 2)


def test_the_default_network_of_existing_vms_is_compared(service: Simulator, work: WorkflowRunner) -> None:
    ran = run(work, {"name": "vm-1", "default_l3_network": "l3-2"})
    assert ran.outcomes == ["failed"]
    assert "default_l3_network" in ran.report[0]["error"]
    assert run(work, {"name": "vm-1", "default_l3_network": "l3-1"}).outcomes == ["unchanged"]


def test_a_failure_stays_with_its_vm(service: Simulator, work: WorkflowRunner) -> None:
    service.fault("fail", operation=CREATE, error={"code": "SYS.1006", "details": "no space"})
    ran = run(work, {"name": "a", "nics": [{"l3_network": "l3-1"}]}, {"name": "b"}, concurrency=1)
    assert (ran.outcomes, ran.result["changed"]) == (["failed", "changed"], True)
    assert "no space" in ran.report[0]["error"]


def test_a_vm_that_was_created_counts_although_its_nic_failed(service: Simulator, work: WorkflowRunner) -> None:
    """The role reported changed=0."""
    service.fault("fail", operation="AttachL3NetworkToVm", error={"code": "SYS.1006", "details": "no port"})
    ran = run(work, {"name": "a", "nics": [{"l3_network": "l3-1"}]})
    assert (ran.outcomes, ran.result["changed"]) == (["failed"], True)
    assert "no port" in ran.report[0]["error"]
    assert ran.report[0]["error"].endswith(". The VM was created, and remains.")


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize(
    ("nic", "problem"),
    [
        ({"l3_network": "l3-99"}, "no L3 network has the name 'l3-99'"),
        ({"l3_network": "l3-1", "static_ip": "10.101.0.42/24"}, "static_ip must be an IP address such as 10.0.0.5"),
        ({"l3_network": "l3-1", "static_ip": "192.0.2.1"}, "static_ip 192.0.2.1 is in no IP range of the network l3-1"),
        ({"l3_network": "l3-1", "static_ip": "10.101.0.11"}, "static_ip 10.101.0.11 is that of the NIC"),
    ],
)
def test_nics_are_checked_before_the_vm_is_created(
    service: Simulator, work: WorkflowRunner, check: bool, nic: dict[str, str], problem: str
) -> None:
    ran = run(work, {"name": "a", "nics": [{"l3_network": "l3-1"}, nic]}, {"name": "b"}, check=check)
    assert ran.outcomes == ["failed", "changed"]
    assert f"The VM was not created. Its NIC in the network {nic['l3_network']}: " in ran.report[0]["error"]
    assert problem in ran.report[0]["error"]
    assert ran.calls == ([] if check else [CREATE])


def test_a_vm_that_was_renamed_keeps_its_uuid(service: Simulator, work: WorkflowRunner) -> None:
    (first,) = run(work, {"name": "a"}).report
    service.change("vm", first["vm_uuid"], name="kept")
    (second,) = run(work, {"name": "a"}).report
    assert (second["outcome"], second["vm_uuid"] != first["vm_uuid"]) == ("changed", True)
    assert states_of(service).keys() >= {"kept", "a"}


def test_a_service_that_ignores_the_uuid_makes_two_and_says_so(service: Simulator, work: WorkflowRunner) -> None:
    """The end of the drill refused both. VMs that others have created stay."""
    first, second, theirs = service.records("vm")
    for vm, description in ((first, MARK), (second, MARK), (theirs, "ours")):
        service.change("vm", vm["uuid"], name="a-drill", description=description)
    started = run(work, {"name": "a"}, name_suffix="-drill")
    assert started.outcomes == ["failed"]
    assert "Several VMs have this name" in started.message
    ended = run(work, {"name": "a"}, name_suffix="-drill", state="absent")
    assert ended.outcomes == ["changed", "changed", "failed"]
    assert [vm["state"] for vm in service.records("vm")] == ["Destroyed", "Destroyed", "Running"]


def test_ambiguous_names_fail(service: Simulator, work: WorkflowRunner) -> None:
    second, third = service.records("vm")[1:]
    service.change("vm", third["uuid"], name="vm-2")
    ran = run(work, {"name": "vm-1"}, {"name": "vm-2"}, {"name": "vm-4"}, {"name": "vm-4"})
    assert (ran.outcomes, ran.calls) == (["unchanged", "failed", "failed", "failed"], [])
    assert f"Several VMs have this name: {second['uuid']}, {third['uuid']}" in ran.report[1]["error"]
    assert "Several entries" in ran.report[2]["error"]


def test_a_vm_that_is_to_be_set_back_is_named(service: Simulator, work: WorkflowRunner) -> None:
    """Nothing would say that the role only creates VMs."""
    ran = run(work, {"name": "vm-1"}, {"name": "vm-2"}, {"name": "new"})
    assert ran.outcomes == ["unchanged", "unchanged", "changed"]
    other, warning = ran.warnings
    assert other.startswith("These VMs exist, and their snapshot groups were taken of other VMs: vm-2. Nothing is")
    assert warning.startswith("These VMs exist, and their snapshot groups were taken of them: vm-1. The role creates")
    again = run(work, {"name": "new"})
    assert (again.outcomes, again.warnings) == (["unchanged"], [])
    assert "QueryVolumeSnapshotGroup" not in again.reads


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({"snapshot_group": "g1"}, True),
        ({"snapshot_group": "daily"}, True),
        ({"snapshot_group": "g3"}, False),
        ({"snapshot_group": "nightly"}, False),
        ({"snapshot_group": "nightly", "vm": "web"}, True),
        ({"snapshot_group": "nightly", "vm": "v3"}, False),
        ({"snapshot_group": "g1", "clear_qos": True}, False),
    ],
)
def test_of_which_vm_a_group_was_taken(wanted: dict[str, Any], expected: bool) -> None:
    groups = [group(1, "v1"), group(2, "v1", "daily"), group(3, "v3")]
    each = Restoration({"name": "web", **wanted}, "web", vm={**record(1, "web"), "description": None})
    assert is_source(each, groups) == expected


def test_the_end_of_a_drill_with_another_suffix(service: Simulator, work: WorkflowRunner) -> None:
    run(work, {"name": "web"}, name_suffix="-drill")
    ran = run(work, {"name": "web"}, name_suffix="-dril", state="absent")
    message = "No VM has a name of vm_restore_vms with the suffix -dril. The role has created these: web-drill"
    assert (ran.outcomes, ran.warnings) == (["unchanged"], [message])
    assert run(work, {"name": "other"}, name_suffix="-dril", state="absent").warnings == []
    for outcome in ("changed", "unchanged"):
        ran = run(work, {"name": "web"}, name_suffix="-drill", state="absent")
        assert (ran.outcomes, ran.warnings) == ([outcome], [])


def test_a_group_is_chosen_by_its_vm(service: Simulator, work: WorkflowRunner) -> None:
    """The groups that vm_snapshots takes of all VMs have one name."""
    for vm in ("vm-1", "vm-2"):
        ModuleRunner(service)("vm_snapshot_group", {"vm": vm, "name": "nightly"})
    sources = {each["vmInstanceUuid"]: each["uuid"] for each in service.records("snapshotgroup")}
    first, second, *dummy = service.records("vm")
    service.change("vm", first["uuid"], state="Destroyed")
    vms = ({"name": f"new-{vm}", "vm": vm, "snapshot_group": "nightly"} for vm in ("vm-1", "vm-2", "vm-3"))
    ran = run(work, *vms)
    assert ran.outcomes == ["changed", "changed", "failed"]
    assert "The VM vm-3 has no snapshot group nightly" in ran.report[2]["error"]
    used = {entry["path"].rpartition("/")[2] for entry in ran.log if entry["operation"] == CREATE}
    assert used == {sources[first["uuid"]], sources[second["uuid"]]}


def record(number: int, name: str, state: str = "Running") -> dict[str, str]:
    """Return a VM."""
    return {"uuid": f"v{number}", "name": name, "state": state}


def group(number: int, vm: str, name: str = "nightly") -> dict[str, str]:
    """Return a snapshot group of a VM."""
    return {"uuid": f"g{number}", "name": name, "vm_instance_uuid": vm}


@pytest.mark.parametrize(
    ("vm", "name", "chosen", "error"),
    [
        ("web", "nightly", "g1", None),
        ("v1", "g2", "g2", None),
        ("old", "nightly", "g3", None),
        ("v4", "nightly", "g4", None),
        ("two", "nightly", None, "Several VMs have the name or uuid two"),
        ("nobody", "nightly", None, "No VM has the name or uuid nobody"),
        ("web", "weekly", None, "The VM web has no snapshot group weekly"),
        ("twins", "nightly", None, "Several snapshot groups of twins have the name nightly: g6, g7"),
    ],
)
def test_choice_of_groups(vm: str, name: str, chosen: str | None, error: str | None) -> None:
    """A destroyed VM counts only if no other has its name."""
    vms = [
        *(record(1, "web"), record(2, "web", "Destroyed"), record(3, "old", "Destroyed"), record(4, "two")),
        *(record(5, "two"), record(6, "twins")),
    ]
    groups = [
        *(group(1, "v1"), group(2, "v1", "daily"), group(3, "v3"), group(4, "v4"), group(5, "v2")),
        *(group(6, "v6"), group(7, "v6")),
    ]
    each = Restoration({"name": "new", "vm": vm, "snapshot_group": name}, "new")
    choose_groups([each], vms, groups)
    assert each.wanted["snapshot_group"] == chosen
    assert (error or "") in (each.outcome.error or "")
    assert (each.outcome.error is None) == (error is None)


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"vms": []}, "vm_restore_vms is empty."),
        ({"concurrency": 0}, "vm_restore_concurrency must be at least 1, not 0"),
        ({"vms": [{"name": "a", "snapshot_group": "b", "nicz": []}]}, "vm_restore_vms[0]: there is no option nicz."),
    ],
)
def test_wrong_variables(work: WorkflowRunner, variables: dict[str, Any], message: str) -> None:
    ran = run(work, {"name": "vm-1"}, **variables)
    assert message in ran.message
    assert ran.calls == []
