"""The module vm_snapshot_group: snapshot groups that are taken, changed and removed."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._api.records import parse_timestamp

from simulator.launch import Simulator
from simulator.operations import snapshot_groups
from simulator.state.store import Record, Store, seeded_uuid
from support.module_runner import ModuleRunner
from support.scenarios import SNAPSHOT_GROUP

MODULE = "vm_snapshot_group"
FIRST = {"vm": "vm-1", "name": "snapshot-group-1"}
LATER = {"vm": "vm-1", "name": "later", "description": "after the upgrade"}
SNAPSHOT = seeded_uuid("snapshot", 1)


def group_names(sim: Simulator) -> list[str]:
    return [group["name"] for group in sim.records("snapshotgroup")]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({**LATER, "vm": "vm-2", "with_memory": True}, "needs a running or paused VM, and vm-2 is Stopped"),
        ({**LATER, "vm": "f" * 32}, "no VM with uuid"),
        ({"uuid": "f" * 32, "name": "other"}, "no snapshot group with uuid"),
        ({"uuid": SNAPSHOT_GROUP, "vm": "vm-2"}, "the API cannot change vm"),
    ],
)
def test_group_that_cannot_be_taken(run: ModuleRunner, options: dict[str, Any], words: str) -> None:
    assert words in run.refused(MODULE, options)


def test_group_is_changed(run: ModuleRunner, sim: Simulator) -> None:
    ran = run.twice(MODULE, {"uuid": SNAPSHOT_GROUP, "name": "renamed", "description": "new"})
    assert ran.calls == ["UpdateVolumeSnapshotGroup"]
    assert group_names(sim) == ["renamed"]


@pytest.mark.parametrize(
    ("options", "remaining", "also_removed"),
    [
        ({}, ["later"], []),
        ({"direction": "commit"}, ["later"], []),
        ({"scope": "chain", "force": True, "delete_mode": "enforcing"}, [], ["later"]),
        ({"scope": "auto", "force": True}, ["later"], []),
    ],
)
def test_group_is_removed_once(
    run: ModuleRunner, sim: Simulator, options: dict[str, Any], remaining: list[str], also_removed: list[str]
) -> None:
    run(MODULE, LATER)
    removal = {**FIRST, **options, "state": "absent"}
    predicted = run(MODULE, removal, check=True)
    ran = run.twice(MODULE, removal) if options.get("scope") != "auto" else run(MODULE, removal)
    assert group_names(sim) == remaining
    assert [item["name"] for item in ran["also_removed"]] == also_removed
    assert [item["name"] for item in predicted["also_removed"]] == (["later"] if "scope" in options else [])
    (sent,) = [entry for entry in ran.log if entry["method"] == "DELETE"]
    assert sent["query"]["scope"] == [options.get("scope", "single")]
    assert sent["query"].get("direction") == ([options["direction"]] if "direction" in options else None)


def test_later_groups_that_the_service_removed_unasked(
    run: ModuleRunner, sim: Simulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server without the parameter removes the whole chain."""

    def find_and_remove_later(store: Store, kind: str, uuid: str) -> Record | None:
        store[kind].remove_where(lambda group: bool(group["name"] == "later"))
        return store.find(kind, uuid)

    run(MODULE, LATER)
    monkeypatch.setattr(snapshot_groups, "find_to_delete", find_and_remove_later)
    ran = run(MODULE, {**FIRST, "state": "absent"})
    assert [item["name"] for item in ran["also_removed"]] == ["later"]
    assert "1 snapshot group was lost: later (" in ran.warnings[0]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"scope": "chain"}, "DeleteVolumeSnapshotGroup was not called, because 1 snapshot group would be lost: later"),
        ({"scope": "auto"}, "1 snapshot group would be lost: later"),
        ({"description": "other"}, "description (is not set, should be 'other')"),
        ({"uuid": SNAPSHOT_GROUP, "vm": "vm-2"}, "vm (is "),
    ],
)
def test_removal_that_is_refused(run: ModuleRunner, options: dict[str, Any], words: str) -> None:
    run(MODULE, LATER)
    assert words in run.refused(MODULE, {**FIRST, **options, "state": "absent"})


def test_snapshot_that_is_not_deleted(run: ModuleRunner, sim: Simulator) -> None:
    sim.configure(failing_snapshots=[SNAPSHOT])
    ran = run(MODULE, {**FIRST, "state": "absent"})
    assert ran.failed
    assert ran.changed
    assert f"DeleteVolumeSnapshotGroup succeeded, but 1 of 2 snapshots failed: snapshot {SNAPSHOT} of" in ran.message
    assert "SYS.1006" in ran.message
    assert [result["snapshot_uuid"] for result in ran["results"] if result.get("error")] == [SNAPSHOT]
    sim.configure(failing_snapshots=[])
    assert run.twice(MODULE, {**FIRST, "state": "absent"}).calls == ["DeleteVolumeSnapshotGroup"]


@pytest.mark.parametrize("options", [{"vm": "nowhere"}, {"vm": "f" * 32}, {"uuid": "f" * 32}])
def test_group_that_does_not_exist_is_absent(run: ModuleRunner, options: dict[str, Any]) -> None:
    run.idle(MODULE, {"name": "later", **options, "state": "absent"})


@pytest.mark.parametrize("missing", ["DeleteVolumeSnapshotGroup", "QueryVolumeSnapshotGroup"])
def test_removal_without_an_operation(run: ModuleRunner, sim: Simulator, missing: str) -> None:
    sim.configure(missing_operations=[missing])
    ran = run(MODULE, {**FIRST, "state": "absent"})
    assert (ran["error"]["code"], ran.changed) == ("UNSUPPORTED", False)
    assert f"the service does not offer {missing}" in ran.message


def test_vm_that_is_not_set_back_to_its_snapshots_is_warned_of(run: ModuleRunner) -> None:
    for name, is_source in (("vm-1", True), ("vm-3", False)):
        ran = run("vm_from_snapshot_group", {"name": name, "snapshot_group": SNAPSHOT_GROUP})
        assert (ran.changed, "is_source_of_snapshot_group" in ran["vm"]) == (False, False)
        assert [text.partition(": ")[2].partition(",")[0] for text in ran.warnings] == (
            ["the snapshot group was taken of this VM"] if is_source else []
        )


@pytest.fixture
def stopped(run: ModuleRunner) -> ModuleRunner:
    """The VM is stopped, and has a later snapshot group."""
    run(MODULE, LATER)
    run("vm", {"name": "vm-1", "state": "stopped"})
    return run


REVERTED = {**FIRST, "state": "reverted"}


@pytest.mark.parametrize("missing", [[], ["CheckVolumeSnapshotGroupAvailability"]])
def test_vm_is_reverted_each_time(stopped: ModuleRunner, sim: Simulator, missing: list[str]) -> None:
    sim.configure(missing_operations=missing)
    idle = stopped(MODULE, {**REVERTED, "force": True, "scope": "chain"}, check=True)
    assert "scope acts only with state: absent, so it is ignored" in idle.warnings
    predicted = stopped(MODULE, {**REVERTED, "force": True}, check=True)
    for ran in (stopped(MODULE, {**REVERTED, "force": True}) for dummy in range(2)):
        assert ran.calls == ["RevertVmFromSnapshotGroup"]
        assert (ran.changed, predicted.changed) == (True, True)
        assert [vm["name"] for vm in ran["overwritten_vms"]] == ["vm-1"]
        assert [group["name"] for group in ran["later_groups"]] == ["later"]
        assert ran["later_groups"] == predicted["later_groups"]
    assert group_names(sim) == ["snapshot-group-1", "later"]


def test_revert_needs_force(stopped: ModuleRunner) -> None:
    message = stopped.refused(MODULE, REVERTED)
    assert "because 1 VM and 1 snapshot group would be overwritten or superseded: vm-1 (" in message
    assert "what was written since Jan " in message
    assert message.endswith("set force: true.")


@pytest.mark.parametrize(
    ("state", "options", "words"),
    [
        ("running", {}, "a revert needs a stopped VM, and vm-1 is Running"),
        ("stopped", {"with_memory": True}, "needs a running or paused VM, and vm-1 is Stopped"),
        (
            "stopped",
            {"name": "other"},
            "the VM vm-1 (a0000004000040008000000000000001) has no snapshot group with name 'other'",
        ),
        ("stopped", {"uuid": "f" * 32}, "no snapshot group with uuid"),
        ("stopped", {"description": "other"}, "description (is not set, should be 'other')"),
    ],
)
def test_revert_that_is_refused(stopped: ModuleRunner, state: str, options: dict[str, Any], words: str) -> None:
    stopped("vm", {"name": "vm-1", "state": state})
    assert words in stopped.refused(MODULE, {**REVERTED, "force": True, **options})


def test_revert_that_the_service_says_is_impossible(stopped: ModuleRunner, sim: Simulator) -> None:
    (first, *others) = sim.records("snapshotgroup")[0]["volumeSnapshotRefs"]
    refs = [{**first, "snapshotDeleted": True}, *others]
    sim.change("snapshotgroup", SNAPSHOT_GROUP, volumeSnapshotRefs=refs)
    message = stopped.refused(MODULE, {**REVERTED, "force": True})
    assert "the service cannot revert the VM: snapshots of the group were deleted" in message


def test_volume_that_is_not_reverted(stopped: ModuleRunner, sim: Simulator) -> None:
    sim.configure(failing_snapshots=[SNAPSHOT])
    ran = stopped(MODULE, {**REVERTED, "force": True})
    assert (ran.failed, ran.changed) == (True, True)
    assert f"RevertVmFromSnapshotGroup succeeded, but 1 of 2 snapshots failed: snapshot {SNAPSHOT}" in ran.message


def test_dates_are_compared() -> None:
    times = ["Jan 6, 2024 12:00:00 AM", "Jan 6, 2024, 11:59:59\u202fAM", "Jan 6, 2024 12:00:00 PM"]
    dates = [*times, "Feb 1, 2024 1:00:00 AM"]
    parsed = [date for text in dates if (date := parse_timestamp(text))]
    assert len(parsed) == len(dates)
    assert parsed == sorted(parsed)
    assert parse_timestamp("2024-01-06") is None
