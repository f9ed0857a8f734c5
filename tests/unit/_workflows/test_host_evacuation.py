"""To which hosts the workflow host_evacuation migrates VMs, and what it proves."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._api.errors import VirtinfraError
from ansible_collections.virtinfra.manager.plugins.plugin_utils._site.site import Site
from ansible_collections.virtinfra.manager.plugins.plugin_utils._workflows.host_evacuation import (
    Limits,
    Migration,
    plan_migrations,
)

from simulator.launch import Simulator
from simulator.state.store import seeded_uuid
from support.workflow_runner import WorkflowRun, WorkflowRunner

HOST = seeded_uuid("host", 1)


def running_vm(name: str, memory: int = 1, **members: Any) -> dict[str, Any]:
    """Return a VM on the host h0, whose root volume is on the shared storage s1."""
    volumes = [{"uuid": f"root-{name}", "primary_storage_uuid": "s1"}]
    vm = {"name": name, "uuid": name, "host_uuid": "h0", "state": "Running", "memory_size": memory}
    return {**vm, "root_volume_uuid": f"root-{name}", "all_volumes": volumes, **members}


def can_migrate(vm: str, *hosts: str) -> dict[str, Any]:
    """Return the answer of the service which hosts can take a VM."""
    return {"vm": vm, "failed": False, "reply": {"inventories": [{"uuid": host} for host in hosts]}}


def some_hosts(**memory: int | None) -> list[dict[str, Any]]:
    """Return the records of hosts with this available memory."""
    sizes = {"h0": 0, **memory}
    return [{"uuid": uuid, "name": uuid.upper(), "available_memory_capacity": size} for uuid, size in sizes.items()]


def plan(
    vms: list[dict[str, Any]], hosts: list[dict[str, Any]], answers: list[dict[str, Any]], **options: Any
) -> list[Migration]:
    """Return the plan; options are those of Limits, and ``local_storages``."""
    local_storages = options.pop("local_storages", ())
    by_vm = {answer["vm"]: answer for answer in answers}
    return plan_migrations(vms, hosts, by_vm, Limits(**options), local_storages)


def targets_of(migrations: list[Migration]) -> dict[str, str | None]:
    """Return the chosen host of each VM."""
    return {each.vm: each.to_uuid for each in migrations}


def test_vms_are_spread_by_available_memory() -> None:
    """The VM with a single target comes first, then the largest ones, each to the host with the most memory left."""
    vms = [running_vm("small", 1), running_vm("large", 6), running_vm("medium", 3), running_vm("bound", 2)]
    targets = [can_migrate(vm["name"], "h1", "h2") for vm in vms[:3]] + [can_migrate("bound", "h2")]
    entries = plan(vms, some_hosts(h1=10, h2=10), targets)
    assert targets_of(entries) == {"small": "h2", "large": "h1", "medium": "h2", "bound": "h2"}
    assert entries[0].build_entry().members == {
        "vm": "small",
        "vm_uuid": "small",
        "from": "H0",
        "from_uuid": "h0",
        "to": "H2",
        "to_uuid": "h2",
        "outcome": "unchanged",
        "error": None,
    }
    shuffled = plan(vms[::-1], some_hosts(h2=10, h1=10), targets[::-1])
    assert targets_of(shuffled) == targets_of(entries)


def test_the_host_with_the_most_memory_left_is_chosen() -> None:
    """The first host is not preferred, and a host of which nothing is known is not chosen."""
    targets = [can_migrate("vm", "h1", "h2", "h3", "gone")]
    (entry,) = plan([running_vm("vm")], some_hosts(h1=5, h2=9, h3=None), targets)
    assert entry.to_uuid == "h2"
    vms = [running_vm("a", 5), running_vm("b", 1)]
    entries = plan(vms, some_hosts(h1=7, h2=9), [can_migrate(vm["name"], "h1", "h2") for vm in vms])
    assert targets_of(entries) == {"a": "h2", "b": "h1"}
    (entry,) = plan([running_vm("vm")], some_hosts(), [can_migrate("vm", "gone")])
    assert (entry.to_name, entry.to_uuid) == ("gone", "gone")


@pytest.mark.parametrize("memory", [None, 8])
def test_hosts_with_equal_memory_take_turns(memory: int | None) -> None:
    vms = [running_vm(f"vm-{number}", 2) for number in range(4)]
    targets = [can_migrate(vm["name"], "h1", "h2") for vm in vms]
    entries = plan(vms, some_hosts(h1=memory, h2=memory), targets)
    assert targets_of(entries) == {"vm-0": "h1", "vm-1": "h2", "vm-2": "h1", "vm-3": "h2"}


def test_memory_is_reserved_for_each_vm() -> None:
    vms = [running_vm("a", 3), running_vm("b", 3), running_vm("c", 1), running_vm("d", 1)]
    entries = plan(vms, some_hosts(h1=4), [can_migrate(vm["name"], "h1") for vm in vms])
    assert targets_of(entries) == {"a": "h1", "b": None, "c": "h1", "d": None}
    assert entries[1].obstacle == "no host that can take it has enough memory left after the other VMs"


@pytest.mark.parametrize(
    ("vm", "targets", "options", "error"),
    [
        ({"state": "Unknown"}, [], {}, "it is Unknown, and only a running or paused VM can migrate"),
        ({}, [can_migrate("vm", "h1")], {"local_storages": ["s1"]}, "its root volume is on local storage"),
        ({}, [can_migrate("vm")], {}, "no other host can take it"),
        ({}, [can_migrate("vm", "h0")], {}, "no other host can take it"),
        ({}, [{**can_migrate("vm"), "failed": True, "msg": "no right"}], {}, "no right"),
        ({}, [], {}, "the service was not asked which hosts can take it"),
        ({}, [can_migrate("vm", "h2", "h1")], {"allowed": ["h3"]}, "are not in host_evacuation_targets: H1, H2"),
        (
            {},
            [can_migrate("vm", "h1", "h2")],
            {"allowed": ["h1"], "excluded": ["h1"]},
            "are not in host_evacuation_targets: H2",
        ),
        (
            {},
            [can_migrate("vm", "h1", "h2")],
            {"allowed": ["h3"], "excluded": ["h1"]},
            "are not in host_evacuation_targets: H2",
        ),
        ({}, [can_migrate("vm", "h1")], {"allowed": ["h1"], "excluded": ["h1"]}, "that are evacuated, too: H1"),
        ({}, [can_migrate("vm", "h1")], {"excluded": ["h1"]}, "only migrate to hosts that are evacuated, too: H1"),
        ({}, [can_migrate("vm", "h1")], {"wanted": {"vm": "h2"}}, "other hosts than that on which it ran: H1"),
    ],
)
def test_reason_why_a_vm_cannot_migrate(
    vm: dict[str, Any], targets: list[dict[str, Any]], options: dict[str, Any], error: str
) -> None:
    (entry,) = plan([running_vm("vm", **vm)], some_hosts(h1=9, h2=9), targets, **options)
    assert (entry.to_name, entry.to_uuid) == (None, None)
    assert (entry.obstacle or "").endswith(error)


@pytest.mark.parametrize("options", [{"allowed": ["h2"]}, {"excluded": ["h1"]}, {"wanted": {"vm": "h2"}}])
def test_choice_of_the_host_is_limited(options: dict[str, Any]) -> None:
    (entry,) = plan([running_vm("vm")], some_hosts(h1=9, h2=5), [can_migrate("vm", "h1", "h2")], **options)
    assert entry.to_uuid == "h2"


# ------------------------------------------------------------------------------------------------------------ workflow


@pytest.fixture
def service(sim: Simulator) -> Simulator:
    """A simulator with three hosts in one cluster with shared storage."""
    sim.reset(clusters=1, hosts=3, vms=13, local_storages=0, user_tags=0)
    return sim


def hosts_of(service: Simulator) -> dict[str, str]:
    """Return the hosts of all VMs."""
    return {vm["uuid"]: vm["hostUuid"] for vm in service.records("vm")}


def tags_of(service: Simulator) -> dict[str, str]:
    """Return the user tags of all objects. The test fails if an object has several."""
    tags = [(tag["resourceUuid"], tag["tag"]) for tag in service.records("usertag")]
    assert len(dict(tags)) == len(tags)
    return dict(tags)


def run(work: WorkflowRunner, check: bool = False, **variables: Any) -> WorkflowRun:
    """Run the workflow."""
    return work("host_evacuation", {f"host_evacuation_{name}": value for name, value in variables.items()}, check)


def test_hosts_are_evacuated_and_the_vms_return(service: Simulator, work: WorkflowRunner) -> None:
    before = {vm["uuid"]: vm["hostUuid"] for vm in service.records("vm")}
    predicted, ran = run(work, check=True, hosts="host-1"), run(work, hosts="host-1")
    assert (predicted.calls, predicted.report) == ([], ran.report)
    assert [entry["vm"] for entry in ran.report] == ["vm-1", "vm-7", "vm-13"]
    assert {entry["from"] for entry in ran.report} == {"host-1"}
    assert ran.outcomes == ["changed"] * 3
    again = run(work, hosts="host-1")
    assert (again.report, again.calls) == ([], [])
    assert set(tags_of(service).values()) == {f"virtinfra.manager host_evacuation default {HOST}"}
    service.change("vm", ran.report[0]["vm_uuid"], name="renamed")
    predicted, back = run(work, check=True, state="restored"), run(work, state="restored", targets=["host-2"])
    assert (predicted.calls, predicted.report) == ([], back.report)
    assert back.outcomes == ["changed"] * 3
    assert {vm["uuid"]: vm["hostUuid"] for vm in service.records("vm")} == before
    assert tags_of(service) == {}
    assert run(work, state="restored").report == []


@pytest.fixture(params=[[], ["CreateUserTag"]], ids=["adds tags", "attaches patterns"])
def tagging(request: pytest.FixtureRequest, service: Simulator) -> Simulator:
    """The service in both kinds, which add user tags or attach tag patterns."""
    service.reset(
        clusters=1, hosts=3, vms=13, local_storages=0, user_tags=0, missing_operations=request.param, latency=0.0
    )
    return service


@pytest.mark.parametrize("state", ["evacuated", "restored"])
def test_what_was_killed_is_put_back_by_another_controller(
    tagging: Simulator, work: WorkflowRunner, state: str
) -> None:
    """After whichever request. It knew only what the report of the first run called changed."""
    before = hosts_of(tagging)
    was_killed = True
    for after in itertools.count(1, 7):
        if state == "restored":
            assert run(work, hosts=["host-1"]).result["failed_count"] == 0
        given = {"host_evacuation_state": state, "host_evacuation_hosts": ["host-1"]}
        was_killed = work.kill(after, "host_evacuation", given)
        tagging.settle()
        again = run(work, state="restored")
        assert again.result["failed_count"] == 0, (after, again.message)
        assert (hosts_of(tagging), tags_of(tagging)) == (before, {}), after
        if not was_killed:
            break


def test_a_service_that_permits_no_marks(service: Simulator, work: WorkflowRunner) -> None:
    before = hosts_of(service)
    refusal = {"code": "SYS.1019", "details": "no permission"}
    for operation in ("CreateUserTag", "AttachTagToResources"):
        service.fault("fail", operation=operation, error=refusal, count=None)
    ran = run(work, hosts=["host-1"])
    assert "Nothing was changed, because no object could be marked" in ran.message
    assert (hosts_of(service), "MigrateVm" in ran.calls) == (before, False)


def test_a_vm_that_cannot_be_marked_is_not_migrated(service: Simulator, work: WorkflowRunner) -> None:
    """The other VMs are migrated."""
    service.fault("fail", operation="CreateUserTag", skip=1, error={"code": "SYS.1006", "details": "20 tags"})
    ran = run(work, hosts=["host-1"])
    assert sorted(ran.outcomes) == ["changed", "changed", "failed"]
    assert "it was not migrated, because it cannot be marked" in ran.message
    assert run(work, state="restored").outcomes == ["changed"] * 2


def test_what_persons_change_meanwhile_wins(service: Simulator, work: WorkflowRunner) -> None:
    """VMs that are gone are named, too. No mark is left."""
    ran = run(work, hosts=["host-1"])
    back, stopped, destroyed = (entry["vm_uuid"] for entry in ran.report)
    service.change("vm", back, hostUuid=HOST)
    service.change("vm", stopped, hostUuid=None, state="Stopped")
    service.change("vm", destroyed, hostUuid=None, state="Destroyed")
    restored = run(work, state="restored")
    outcomes = {entry["vm_uuid"]: (entry["outcome"], entry["error"]) for entry in restored.report}
    assert outcomes == {
        back: ("unchanged", None),
        stopped: ("skipped", "it is Stopped, so it is on no host. Its mark was taken off"),
        destroyed: ("failed", "it was destroyed meanwhile. Its mark was taken off"),
    }
    assert ("MigrateVm" in restored.calls, tags_of(service)) == (False, {})


def test_a_vm_returns_to_its_first_host(service: Simulator, work: WorkflowRunner) -> None:
    """After the evacuation of several hosts, one after the other, with other labels, too."""
    before = hosts_of(service)
    for label, host in (("a", "host-1"), ("b", "host-2"), ("a", "host-3")):
        assert run(work, hosts=[host], label=label, unmovable="keep").result["failed_count"] == 0
    for label in ("a", "b"):
        assert run(work, state="restored", label=label).result["failed_count"] == 0
    assert (hosts_of(service), tags_of(service)) == (before, {})


@pytest.mark.parametrize("state", ["restored", "unmarked"])
def test_vms_of_some_hosts_are_put_back(service: Simulator, work: WorkflowRunner, state: str) -> None:
    uuids = {host["name"]: host["uuid"] for host in service.records("host")}
    run(work, hosts=["host-1", "host-2"])
    marked = tags_of(service)
    of_host_1 = {vm for vm, tag in marked.items() if uuids["host-1"] in tag}
    ran = run(work, state=state, hosts=["host-1"])
    assert {entry["vm_uuid"] for entry in ran.report} == of_host_1 != set(marked)
    left = len(marked) - len(of_host_1)
    assert ran.warnings == [
        f"{left} VMs with marks of the label default are left: they ran on no host_evacuation_hosts"
    ]
    assert tags_of(service).keys() == marked.keys() - of_host_1
    assert (
        "no host has the name or uuid host-9 (host_evacuation_hosts)"
        in run(work, state=state, hosts=["host-9"]).message
    )


def test_marks_of_another_label(service: Simulator, work: WorkflowRunner) -> None:
    run(work, hosts=["host-1"], label="rack-7")
    other = run(work, state="restored")
    assert (other.report, other.calls) == ([], [])
    assert other.warnings == ["No VM has a mark with the label default. There are marks with these: rack-7"]
    moved = hosts_of(service)
    assert run(work, state="unmarked", label="rack-7").outcomes == ["changed"] * 3
    assert (hosts_of(service), tags_of(service)) == (moved, {})


def test_vms_with_local_storage_stay(sim: Simulator, work: WorkflowRunner) -> None:
    sim.reset(clusters=1, hosts=3, local_storages=2)
    ran = run(work, hosts=["host-1"], unmovable="keep")
    assert {(entry["outcome"], entry["error"]) for entry in ran.report} == {
        ("skipped", "its root volume is on local storage")
    }


def test_paused_vms_migrate_and_stay_paused(service: Simulator, work: WorkflowRunner) -> None:
    paused = next(vm for vm in service.records("vm") if vm["name"] == "vm-7")
    service.change("vm", paused["uuid"], state="Paused")
    ran = run(work, hosts="host-1")
    assert ran.outcomes == ["changed"] * 3
    after = next(vm for vm in service.records("vm") if vm["uuid"] == paused["uuid"])
    assert after["state"] == "Paused"
    assert after["hostUuid"] != paused["hostUuid"]


def test_a_migration_that_fails_does_not_stop_the_others(service: Simulator, work: WorkflowRunner) -> None:
    service.fault("fail", operation="MigrateVm", error={"code": "SYS.1006", "details": "dirty pages"})
    ran = run(work, hosts=["host-1"], concurrency=1)
    assert (ran.outcomes, ran.result["changed"]) == (["failed", "changed", "changed"], True)
    assert "dirty pages" in ran.report[0]["error"]
    assert run(work, hosts=["host-1"]).outcomes == ["changed"]


@pytest.mark.parametrize("garbage", ["types", "missing"])
def test_an_answer_that_is_no_list_of_hosts(service: Simulator, work: WorkflowRunner, garbage: str) -> None:
    service.fault("garbage", operation="GetVmMigrationCandidateHosts", garbage=garbage)
    ran = run(work, hosts=["host-1"], unmovable="keep")
    assert sorted(ran.outcomes) == ["changed", "changed", "skipped"]
    (reason,) = filter(None, (entry["error"] for entry in ran.report))
    assert "GetVmMigrationCandidateHosts" in reason
    assert run(work, hosts=["host-1"]).outcomes == ["changed"]


def test_moves_are_listed_without_control_characters(service: Simulator, work: WorkflowRunner) -> None:
    service.change("vm", service.records("vm")[0]["uuid"], name="vm\x1b[2J")
    ran = run(work, hosts=["host-1"])
    targets = {entry["vm_uuid"]: entry["to"] for entry in ran.report}
    first = ran.report[[entry["vm"] for entry in ran.report].index("vm\x1b[2J")]
    assert len(ran.result["next"]["moves"]) == len(targets) == 3
    assert f"vm\\x1b[2J: host-1 -> {first['to']}" in ran.result["next"]["moves"]


@pytest.mark.parametrize("unmovable", ["fail", "keep"])
def test_a_vm_that_cannot_migrate(service: Simulator, work: WorkflowRunner, unmovable: str) -> None:
    service.change("vm", service.records("vm")[0]["uuid"], state="Unknown")
    ran = run(work, hosts=["host-1"], unmovable=unmovable)
    reason = "it is Unknown, and only a running or paused VM can migrate"
    if unmovable == "fail":
        assert "No VM was migrated, because 1 of 3 VMs cannot migrate: vm-1" in ran.message
        assert (reason in ran.message, ran.calls) == (True, [])
    else:
        assert ran.outcomes == ["skipped", "changed", "changed"]
        assert ran.report[0]["error"] == reason


def test_a_vm_that_comes_while_the_role_runs(
    service: Simulator, work: WorkflowRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The VM is in the report, and has failed."""
    batch = Site.batch
    new = next(vm for vm in service.records("vm") if vm["name"] == "vm-3")
    host = next(host for host in service.records("host") if host["name"] == "host-1")

    def come(self: Site, *arguments: Any, **options: Any) -> list[dict[str, Any]]:
        service.change("vm", new["uuid"], hostUuid=host["uuid"])
        return batch(self, *arguments, **options)

    monkeypatch.setattr(Site, "batch", come)
    ran = run(work, hosts=["host-1"])
    assert [(entry["vm"], entry["outcome"]) for entry in ran.report][3:] == [("vm-3", "failed")]
    assert "It came to the host while the role ran" in ran.report[3]["error"]


def test_a_vm_that_returns(service: Simulator, work: WorkflowRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    """The service itself may move it back."""
    batch = Site.batch
    before = {vm["name"]: vm for vm in service.records("vm")}["vm-7"]

    def move_back(self: Site, module: str, *arguments: Any, **options: Any) -> list[dict[str, Any]]:
        results = batch(self, module, *arguments, **options)
        service.change("vm", before["uuid"], hostUuid=before["hostUuid"])
        return results

    monkeypatch.setattr(Site, "batch", move_back)
    ran = run(work, hosts=["host-1"])
    failed = [(entry["vm"], entry["error"]) for entry in ran.report if entry["outcome"] == "failed"]
    assert failed == [("vm-7", "It is on the host again.")]


def test_vms_that_cannot_be_read_again(
    service: Simulator, work: WorkflowRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, lists = Site.read, list[str]()

    def fail_later(self: Site, module: str, **options: Any) -> dict[str, Any]:
        lists.append(module)
        if lists.count("vm_info") > 1:
            raise VirtinfraError("no database")
        return read(self, module, **options)

    monkeypatch.setattr(Site, "read", fail_later)
    ran = run(work, hosts=["host-1"])
    assert (ran.outcomes, ran.result["changed"]) == (["failed"] * 3, True)
    assert "VMs may be left on them. no database" in ran.report[0]["error"]


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({}, "Give host_evacuation_hosts"),
        ({"hosts": ["host-1"], "concurrency": 0}, "host_evacuation_concurrency must be at least 1"),
        ({"undo": []}, "the role host_evacuation has no variable host_evacuation_undo"),
        ({"hosts": "host-1", "label": "Rack 7"}, "host_evacuation_label must have at most 40 of the characters"),
        ({"hosts": "host-1,host-99"}, "no host has the name or uuid host-99 (host_evacuation_hosts)."),
        ({"hosts": "host-[1:2]"}, "(host_evacuation_hosts). Names are no patterns."),
        ({"hosts": "10.0.0.11"}, "(host_evacuation_hosts). 10.0.0.11 is the address of host-1."),
        (
            {"hosts": "host-1", "targets": "host-98"},
            "no host has the name or uuid host-98 (host_evacuation_targets).",
        ),
    ],
)
def test_each_check_has_its_message(work: WorkflowRunner, variables: dict[str, Any], message: str) -> None:
    ran = run(work, **variables)
    assert message in ran.message
    assert ran.calls == []
