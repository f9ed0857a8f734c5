"""Which snapshot groups the workflow vm_snapshots takes and removes, and which never."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timezone
from typing import Any, Literal

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._api.errors import VirtinfraError
from ansible_collections.virtinfra.manager.plugins.plugin_utils._site.site import Site
from ansible_collections.virtinfra.manager.plugins.plugin_utils._workflows import vm_snapshots as _vm_snapshots
from ansible_collections.virtinfra.manager.plugins.plugin_utils._workflows.vm_snapshots import (
    MARK,
    Names,
    Settings,
    VmSnapshots,
    choose_old,
    choose_uuid,
    order_removals,
)

from simulator.launch import Simulator
from support.module_runner import ModuleRunner
from support.workflow_runner import WorkflowRun, WorkflowRunner

SETTINGS = Settings(query=["name~=vm-%"], keep=2, timeout=60)
NAMES = Names.build(SETTINGS, datetime(2026, 1, 31, tzinfo=timezone.utc))
OLD = [f"scheduled-2026-01-0{day}" for day in range(1, 6)]


def group(name: str, taken: int, **members: Any) -> dict[str, Any]:
    """Return a snapshot group of the workflow that was taken on this day of January 2026."""
    given = {"description": MARK, "create_date": f"Jan {taken}, 2026 2:00:00 AM", "volume_snapshot_refs": []}
    return {"uuid": f"{name}/{taken}", "name": f"scheduled-{name}", **given, **members}


def names_of(groups: list[dict[str, Any]]) -> list[str]:
    """Return the names of snapshot groups without their prefix."""
    return [each["name"].removeprefix("scheduled-") for each in groups]


# --------------------------------------------------------------------------------------------------------------- names


@pytest.mark.parametrize(
    ("interval", "name"),
    [("day", "s-2026-01-31"), ("hour", "s-2026-01-31T05Z"), ("minute", "s-2026-01-31T05-07Z")],
)
def test_names_have_the_time_of_the_interval(interval: Literal["day", "hour", "minute"], name: str) -> None:
    settings = replace(SETTINGS, interval=interval, name_prefix="s-")
    names = Names.build(settings, datetime(2026, 1, 31, 5, 7, 30, tzinfo=timezone.utc))
    assert names.current == name
    assert names.are_of({"name": name, "description": MARK})
    assert not names.are_of({"name": name, "description": "by hand"})
    assert not names.are_of({"name": f"{name}-copy", "description": MARK})


def test_two_runs_choose_one_uuid() -> None:
    """If somebody has renamed the snapshot group, its uuid is used, and remains that of theirs."""
    first = choose_uuid("v1", "scheduled-2026-01-31", set())
    assert first == choose_uuid("v1", "scheduled-2026-01-31", {"other"})
    others = {choose_uuid("v2", "scheduled-2026-01-31", set()), choose_uuid("v1", "scheduled-2026-01-30", set())}
    assert len({first, *others, choose_uuid("v1", "scheduled-2026-01-31", {first})}) == 4
    assert first[12] == "4"


# ----------------------------------------------------------------------------------------------------------- retention


def test_the_last_points_in_time_remain() -> None:
    groups = [group("2026-01-29", 29), group("2026-01-31", 31), group("2026-01-28", 28), group("2026-01-30", 30)]
    assert names_of(choose_old(groups, NAMES, 2).old) == ["2026-01-29", "2026-01-28"]
    assert choose_old(groups, NAMES, 4).old == choose_old(groups, NAMES, 0).old == []
    assert names_of(choose_old(groups, NAMES, 1).old) == ["2026-01-30", "2026-01-29", "2026-01-28"]


def test_twins_do_not_count_double() -> None:
    """Two runs at once could take two with one name: the last two points were these two."""
    twins = [group("2026-01-31", 31, uuid=uuid) for uuid in ("first", "second")]
    yesterday = [group("2026-01-30", 30, uuid=uuid) for uuid in ("third", "fourth")]
    old = [group("2026-01-29", 29), group("2026-01-28", 28)]
    assert choose_old([*old, *yesterday, *twins], NAMES, 3).old == old[1:]
    assert choose_old([*old, *yesterday, *twins], NAMES, 2).old == old


def test_the_clock_of_the_service_decides_about_age() -> None:
    """A name says what the clock of a controller was."""
    groups = [group("2026-01-31", 31), group("2026-01-05", 30), group("2026-01-29", 10)]
    assert names_of(choose_old(groups, NAMES, 2).old) == ["2026-01-29"]


def test_those_of_the_future_do_not_count_and_remain() -> None:
    """One group has a date of the future in its name, another one was taken in the future."""
    wrong = [group("2031-01-01", 12), group("2026-01-11", 31, create_date="Jan 1, 2031 2:00:00 AM")]
    groups = [group("2026-01-31", 31), group("2026-01-30", 30), group("2026-01-29", 29), *wrong]
    retention = choose_old(groups, NAMES, 2)
    assert names_of(retention.old) == ["2026-01-29"]
    assert retention.future == wrong


def test_a_change_of_clocks_is_no_future() -> None:
    """In autumn the local time of the service goes back by an hour."""
    groups = [
        group("2026-01-31", 31, create_date="Jan 31, 2026 2:10:00 AM"),
        group("2026-01-30", 31, create_date="Jan 31, 2026 2:50:00 AM"),
    ]
    assert choose_old(groups, NAMES, 7) == _vm_snapshots.Retention([], [])


def test_incomplete_ones_do_not_count() -> None:
    broken = {"volume_snapshot_refs": [{"snapshot_deleted": False}, {"snapshot_deleted": True}]}
    groups = [group("2026-01-31", 31), group("2026-01-30", 30, **broken), group("2026-01-29", 29)]
    assert names_of(choose_old(groups, NAMES, 2).old) == ["2026-01-30"]


def test_others_are_never_old() -> None:
    others = [
        group("2026-01-01", 1, description="before the upgrade"),
        group("2026-01-01T05Z", 1),
        group("2026-01-01-copy", 1),
        {**group("2026-01-01", 1), "name": "nightly-2026-01-01"},
    ]
    assert choose_old([*others, group("2026-01-31", 31)], NAMES, 1).old == []


def test_prediction_of_check_mode_is_the_last_one() -> None:
    """A predicted snapshot group has no date."""
    groups = [group("2026-01-30", 30), group("2026-01-29", 29), group("2026-01-31", 1, create_date=None)]
    assert names_of(choose_old(groups, NAMES, 2).old) == ["2026-01-29"]


def test_the_first_removal_is_a_single_one() -> None:
    """The first removal is of a VM without groups of others, in case the service also removes later groups."""
    mixed = VmSnapshots("vm-1", "v1", groups=[group("2026-01-01", 1, description="by hand")])
    own = [VmSnapshots(f"vm-{number}", f"v{number}", groups=[group("2026-01-01", 1)]) for number in (2, 3)]
    old = [(mixed, [group("a", 1), group("b", 2)]), (own[0], [group("c", 3)]), (own[1], [])]
    rounds = [[(vm.vm, each["name"]) for vm, each in removals] for removals in order_removals(old, NAMES)]
    assert rounds == [
        [("vm-2", "scheduled-c")],
        [("vm-1", "scheduled-a")],
        [("vm-1", "scheduled-b")],
    ]


# ------------------------------------------------------------------------------------------------------------ workflow


@pytest.fixture
def service(sim: Simulator) -> Simulator:
    """A simulator with three VMs without snapshot groups."""
    sim.reset(vms=3, snapshot_groups=0)
    return sim


def take(service: Simulator, vm: str, *names: str, description: str = MARK) -> None:
    """Take snapshot groups of a VM, one after the other."""
    for name in names:
        ran = ModuleRunner(service)("vm_snapshot_group", {"vm": vm, "name": name, "description": description})
        assert ran.changed, ran.message


def groups_of(service: Simulator) -> dict[str, list[str]]:
    """Return the names of all snapshot groups by the names of their VMs."""
    vms = {vm["uuid"]: vm["name"] for vm in service.records("vm")}
    found: dict[str, list[str]] = {name: [] for name in vms.values()}
    for record in service.records("snapshotgroup"):
        found[vms[record["vmInstanceUuid"]]].append(record["name"])
    return found


def run(work: WorkflowRunner, check: bool = False, **variables: Any) -> WorkflowRun:
    """Run the workflow for all VMs."""
    given = {"query": ["name~=vm-%"], "keep": 2, **variables}
    return work("vm_snapshots", {f"vm_snapshots_{name}": value for name, value in given.items()}, check)


def test_a_text_in_place_of_a_list_selects_one_vm(service: Simulator, work: WorkflowRunner) -> None:
    """A search for a substring would select three VMs."""
    for number, vm in enumerate(service.records("vm")):
        service.change("vm", vm["uuid"], name=("db", "db-1", "db-10")[number])
    for name in ("db", "db-1", "db-10"):
        take(service, name, OLD[0])
    ran = run(work, query=[], vms="db-10", state="absent")
    assert [entry["vm"] for entry in ran.report] == ["db-10"]
    assert groups_of(service) == {"db": OLD[:1], "db-1": OLD[:1], "db-10": []}


def test_the_removal_of_groups_with_other_names(service: Simulator, work: WorkflowRunner) -> None:
    run(work)
    ran = run(work, state="absent", name_prefix="daily-")
    (warning,) = ran.warnings
    assert ran.outcomes == ["unchanged"] * 3
    assert "has a name of vm_snapshots_name_prefix daily- and vm_snapshots_interval day. The role has taken" in warning
    assert groups_of(service)["vm-1"][0] in warning
    for outcome in ("changed", "unchanged"):
        ran = run(work, state="absent")
        assert (ran.outcomes, ran.warnings) == ([outcome] * 3, [])


def test_requests_are_made_for_vms_that_need_something(service: Simulator, work: WorkflowRunner) -> None:
    """A second run reads the VMs and the snapshot groups once, however many there are."""
    assert run(work).message == "3 VMs, 3 changed"
    again = run(work)
    assert (again.message, again.calls) == ("3 VMs, 3 unchanged", [])
    assert [entry["vm_uuid"] for entry in again.report] == [vm["uuid"] for vm in service.records("vm")]
    assert again.reads.count("QueryVolumeSnapshotGroup") == again.reads.count("QueryVmInstance") == 1
    assert len(again.reads) == 2


def test_vms_that_fail_lose_nothing(service: Simulator, work: WorkflowRunner) -> None:
    """One VM's job fails, another one's group is foreign; the third one loses an old group, and the run has changed."""
    for vm in ("vm-1", "vm-2", "vm-3"):
        take(service, vm, *OLD[:3])
    first = service.records("vm")[0]
    service.change("vm", first["uuid"], allVolumes=[{**volume, "status": "Creating"} for volume in first["allVolumes"]])
    new = run(work, check=True).report[1]["snapshot_group"]
    take(service, "vm-2", new, description="by hand")
    ran = run(work)
    assert ran.outcomes == ["failed", "failed", "changed"]
    assert (ran.result["changed"], ran.result["failed_count"]) == (True, 2)
    assert ran.message.startswith("2 of 3 VMs failed: vm-1: ")
    assert "is not ready" in ran.report[0]["error"]
    assert ran.report[1]["error"] == (
        f"A snapshot group with the name {new} exists that the role did not take. Rename it, or choose another"
        " vm_snapshots_name_prefix."
    )
    assert [line.split(" ", 1)[0] for line in ran.result["failures"]] == ["vm-1", "vm-2"]
    assert groups_of(service) == {"vm-1": OLD[:3], "vm-2": [*OLD[:3], new], "vm-3": [OLD[2], new]}


def test_groups_that_cannot_be_removed(service: Simulator, work: WorkflowRunner) -> None:
    """The old group of vm-1 remains in part, does not count as kept, and vm-1 has changed nevertheless."""
    for vm in ("vm-1", "vm-2"):
        take(service, vm, *OLD[:2])
    broken = next(record for record in service.records("snapshotgroup") if record["name"] == OLD[0])
    service.configure(failing_snapshots=[broken["volumeSnapshotRefs"][0]["volumeSnapshotUuid"]])
    ran = run(work)
    assert ran.outcomes == ["failed", "changed", "changed"]
    assert "1 of 2 snapshots failed" in ran.report[0]["error"]
    service.configure(failing_snapshots=[])
    assert run(work).report[0]["removed"] == [OLD[0]]


def test_a_server_that_removes_chains_stops_the_run(service: Simulator, work: WorkflowRunner) -> None:
    take(service, "vm-1", *OLD[:2], "by-hand")
    for vm in ("vm-2", "vm-3"):
        take(service, vm, *OLD[:2])
    service.configure(version="4.10.0")
    ran = run(work)
    new = ran.report[0]["snapshot_group"]
    assert groups_of(service) == {"vm-1": [*OLD[:2], "by-hand", new], "vm-2": [], "vm-3": [*OLD[:2], new]}
    assert ran.outcomes == ["changed", "failed", "changed"]
    assert f"{OLD[1]}, {new}" in ran.report[1]["error"]
    assert "vm_snapshots_keep" in ran.report[1]["error"]


def test_named_vms(service: Simulator, work: WorkflowRunner) -> None:
    """Two VMs have one name, one is given by its uuid, one is missing, one is stopped and has no memory."""
    first, second, third = service.records("vm")
    service.change("vm", second["uuid"], name="vm-1")
    service.change("vm", third["uuid"], state="Stopped")
    ran = run(work, query=[], memory=True, interval="minute", vms=["vm-1", first["uuid"], "vm-3", "vm-9"])
    assert ran.outcomes == ["changed", "failed", "changed", "failed"]
    memories = {record["vmInstanceUuid"]: record["_withMemory"] for record in service.records("snapshotgroup")}
    assert memories == {first["uuid"]: True, third["uuid"]: False}
    assert "Several VMs have this name" in ran.report[1]["error"]
    assert ran.result["failures"][1] == "vm-9: No such VM. Check the name or uuid."


@pytest.mark.parametrize(
    ("variables", "hint"),
    [
        (
            {"vms": ["vm-2 vm-3"], "query": []},
            "Check the name or uuid. If these are several names, write separate items: [vm-2, vm-3].",
        ),
        ({"vms": ["vm-9"], "query": ["name~=vm%"]}, "Check the name or uuid."),
        (
            {"vms": ["all"], "query": []},
            "Check the name or uuid. Names are no patterns: use vm_snapshots_query, such as name~=%.",
        ),
        (
            {"vms": ["vm-*"], "query": ["name~=vm%"]},
            "Check the name or uuid. Names are no patterns: use vm_snapshots_query, such as name~=vm-%.",
        ),
    ],
)
def test_vm_that_does_not_exist(service: Simulator, work: WorkflowRunner, variables: dict[str, Any], hint: str) -> None:
    (entry,) = run(work, **variables).report
    assert entry["error"] == f"No such VM. {hint}"


def test_vm_that_does_not_meet_the_query(service: Simulator, work: WorkflowRunner) -> None:
    """No such VM, said the role, and the VM was stopped."""
    vm = service.records("vm")[1]
    service.change("vm", vm["uuid"], state="Stopped")
    for given in ("vm-2", vm["uuid"]):
        (entry, other) = run(work, vms=[given, "vm-99"], query=["state=Running"]).report
        assert entry["error"] == (
            "The VM does not meet vm_snapshots_query (state=Running). Change it, or omit it to select VMs by their"
            " names."
        )
        assert other["error"].startswith("No such VM.")


def test_a_renamed_group_stays_and_a_new_one_is_taken(service: Simulator, work: WorkflowRunner) -> None:
    """Renaming is how a group is kept."""
    run(work, query=["name=vm-1"])
    (kept,) = service.records("snapshotgroup")
    service.change("snapshotgroup", kept["uuid"], name="before the upgrade")
    ran = run(work, query=["name=vm-1"])
    assert ran.outcomes == ["changed"]
    assert groups_of(service)["vm-1"] == ["before the upgrade", ran.report[0]["snapshot_group"]]


def test_a_run_at_the_same_time_is_recognized(
    service: Simulator, work: WorkflowRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another run takes the groups after this one has read them. No twin is made, and nothing is removed."""
    for vm in ("vm-1", "vm-2", "vm-3"):
        take(service, vm, *OLD)
    batch = Site.batch

    def run_other(self: Site, *arguments: Any, **options: Any) -> list[dict[str, Any]]:
        monkeypatch.setattr(Site, "batch", batch)
        assert run(work, query=["name?=vm-1,vm-2"], keep=0).outcomes == ["changed", "changed"]
        return batch(self, *arguments, **options)

    monkeypatch.setattr(Site, "batch", run_other)
    ran = run(work)
    assert ran.outcomes == ["failed", "failed", "changed"]
    assert "Another run took the snapshot group" in ran.report[0]["error"]
    new = ran.report[2]["snapshot_group"]
    assert list(groups_of(service).values()) == [[*OLD, new]] * 3


def test_groups_of_the_future_are_named(service: Simulator, work: WorkflowRunner) -> None:
    """Groups of the future count as the newest ones, so the role warns of them."""
    take(service, "vm-1", *OLD[:3], "scheduled-2999-01-01", "scheduled-2999-01-02")
    ran = run(work, query=["name=vm-1"])
    assert ran.report[0]["removed"] == OLD[1::-1]
    (warning,) = ran.warnings
    assert "dates in the future" in warning
    assert "scheduled-2999-01-01 of vm-1" in warning


def test_nothing_is_removed_if_the_groups_cannot_be_read_again(
    service: Simulator, work: WorkflowRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    take(service, "vm-1", *OLD[:3])
    read, lists = Site.read, list[str]()

    def fail_later(self: Site, module: str, **options: Any) -> dict[str, Any]:
        lists.append(module)
        if lists.count("vm_snapshot_group_info") > 1:
            raise VirtinfraError("no database")
        return read(self, module, **options)

    monkeypatch.setattr(Site, "read", fail_later)
    ran = run(work, query=["name=vm-1"])
    assert "could not be read again: no database" in ran.report[0]["error"]
    assert ran.outcomes == ["failed"]
    assert ran.result["changed"]
    assert len(groups_of(service)["vm-1"]) == 4


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"query": []}, "give vm_snapshots_query or vm_snapshots_vms"),
        ({"keep": -1}, "vm_snapshots_keep must be at least 0, not -1"),
        ({"concurrency": 0}, "vm_snapshots_concurrency must be at least 1, not 0"),
        ({"name_prefix": "a b"}, "vm_snapshots_name_prefix must consist of letters"),
        ({"query": ["name=nobody"]}, "No VM meets vm_snapshots_query (name=nobody)."),
    ],
)
def test_each_check_has_its_message(work: WorkflowRunner, variables: dict[str, Any], message: str) -> None:
    ran = run(work, **variables)
    assert message in ran.message
    assert (ran.result["failed"], ran.calls) == (True, [])


def test_no_vm_may_be_selected(work: WorkflowRunner) -> None:
    assert run(work, query=["name=nobody"], allow_empty=True).message == "0 VMs"
