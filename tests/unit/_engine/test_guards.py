"""Guards of any call: here the deletion of a CBT task, which would delete the backups of its VMs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._api.errors import InUse, TransportError
from ansible_collections.virtinfra.manager.plugins.module_utils._api.records import Record
from ansible_collections.virtinfra.manager.plugins.module_utils._client.client import Client
from ansible_collections.virtinfra.manager.plugins.module_utils._client.lists import query
from ansible_collections.virtinfra.manager.plugins.module_utils._engine.guards import Dependent, Dependents, Guard
from ansible_collections.virtinfra.manager.plugins.module_utils._modules.resource import resource_module
from ansible_collections.virtinfra.manager.plugins.modules.cbt_task import CBT_TASK, MODULE

from simulator.launch import Simulator
from support.module_runner import ModuleRun, run_spec

BACKUPS = [
    Dependent(f"b{number}", f"backup-{number}", "deleted", "it belongs to the task", "volume") for number in (2, 1)
]
RESULT = [{"uuid": "b1", "name": "backup-1"}, {"uuid": "b2", "name": "backup-2"}]

Find = Callable[[Client, Record, str], Dependents]
Run = Callable[..., ModuleRun]


def find_backups(client: Client, task: Record, choice: str) -> Dependents:
    assert task["name"] == "cbt-task-1"
    assert query(client, "QueryCbtTask"), "the task is read before it is deleted"
    return Dependents(BACKUPS if choice != "ignore" else ())


def review_backups(client: Client, task: Record, backups: Dependents) -> list[Dependent]:
    """Return the backups; the second one still exists."""
    assert query(client, "QueryCbtTask") == []
    return [each if each.uuid == "b1" else each._replace(effect="") for each in backups.objects]


@pytest.fixture
def run(sim: Simulator) -> Run:
    """Run cbt_task with the option ``backups``, which guards its deletion."""
    sim.reset(cbt_tasks=1)

    def play(options: Mapping[str, Any], check: bool = False, find: Find = find_backups) -> ModuleRun:
        guard = Guard(
            find,
            option="backups",
            permitted_by=("delete",),
            harmful=("deleted",),
            members={"deleted": "deleted_backups"},
            review=review_backups,
        )
        choices = {"type": "str", "default": "keep", "choices": ["keep", "delete", "ignore"]}
        resource = replace(CBT_TASK, guards={"absent": (guard,)})
        task = resource_module(resource, {**MODULE.options, "backups": choices})
        connection = {"base_url": sim.url, "session_id": sim.session}
        sim.clear_log()
        outcome = run_spec(task, {**connection, **options}, check)
        return ModuleRun(outcome.result, outcome.warnings, sim.log())

    return play


DELETE = {"name": "cbt-task-1", "state": "absent"}


@pytest.mark.parametrize("check", [True, False])
def test_call_is_refused_without_permission(run: Run, check: bool) -> None:
    ran = run(DELETE, check)
    assert (ran.failed, ran.changed, ran.calls) == (True, False, [])
    assert ran["error"]["code"] == "IN_USE"
    assert ran.message == (
        "cbt task cbt-task-1: DeleteCbtTask was not called, because 2 volumes would be deleted: backup-2 (b2): it"
        " belongs to the task; backup-1 (b1): it belongs to the task. If this is acceptable, set backups: delete."
    )
    assert [each["uuid"] for each in ran["in_use_by"]] == ["b2", "b1"]


def test_effects_of_a_permitted_call_are_predicted(run: Run) -> None:
    ran = run({**DELETE, "backups": "delete"}, check=True)
    assert (ran.changed, ran.calls, ran["deleted_backups"]) == (True, [], RESULT)
    assert ran["diff"]["before"]["backups"] == ["backup-1 (b1)", "backup-2 (b2)"]
    assert ran["diff"]["after"] == {"deleted_backups": ["backup-1 (b1)", "backup-2 (b2)"]}
    assert ran.warnings[-1] == "cbt task cbt-task-1: 2 volumes would be deleted: backup-2 (b2), backup-1 (b1)."


def test_effects_of_a_permitted_call_are_read_afterwards(run: Run) -> None:
    ran = run({**DELETE, "backups": "delete"})
    assert (ran.changed, ran.calls, ran["deleted_backups"]) == (True, ["DeleteCbtTask"], RESULT[:1])
    assert ran["diff"]["after"] == {"deleted_backups": ["backup-1 (b1)"]}
    assert ran.warnings[-1] == "cbt task cbt-task-1: 1 volume was deleted: backup-1 (b1)."
    again = run({**DELETE, "backups": "delete"})
    assert (again.changed, again["deleted_backups"], again.warnings) == (False, [], [])


def test_effects_that_cannot_be_read_afterwards_are_predicted(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*dummy: Any) -> list[Dependent]:
        raise TransportError("no answer.")

    monkeypatch.setitem(globals(), "review_backups", fail)
    ran = run({**DELETE, "backups": "delete"})
    assert (ran.changed, ran["deleted_backups"]) == (True, RESULT)
    assert ran.warnings[-2:] == [
        "cbt task cbt-task-1: cannot check what became of 2 volumes: no answer.",
        "cbt task cbt-task-1: 2 volumes would be deleted: backup-2 (b2), backup-1 (b1).",
    ]


def test_guard_that_finds_nothing_refuses_nothing(run: Run) -> None:
    ran = run({**DELETE, "backups": "ignore"})
    assert (ran.changed, ran["deleted_backups"], "backups" in ran["diff"]["before"]) == (True, [], False)


def test_call_is_not_made_if_the_dependents_cannot_be_read(run: Run) -> None:
    def fail(client: Client, task: Record, choice: str) -> Dependents:
        raise TransportError("no answer")

    ran = run(DELETE, find=fail)
    assert (ran.message, ran.changed, ran.calls) == ("cbt task cbt-task-1: no answer", False, [])


def test_other_states_have_no_guard(run: Run) -> None:
    ran = run({"name": "cbt-task-1", "state": "disabled"})
    assert (ran.failed, "deleted_backups" in ran.result) == (False, False)


# --------------------------------------------------------------------------- what a deletion removes with its object


def test_effects_of_several_kinds_are_named() -> None:
    guard = Guard(
        lambda *dummy: Dependents(), option="", harmful=("stopped", "lost"), members={"lost": "a", "stopped": "b"}
    )
    affected = [
        Dependent("v1", "vm-1", "stopped"),
        Dependent("v2", "vm-2", "lost"),
        Dependent("d1", "disk", "lost", type="volume"),
        Dependent("v3", "vm-3", "migrated"),
    ]
    names = "vm-1 (v1), vm-2 (v2), disk (d1)"
    assert guard.describe_harm(affected, True) == f"2 VMs and 1 volume would be lost or stopped: {names}"
    assert guard.describe_harm(affected, False) == f"2 VMs and 1 volume were lost or stopped: {names}"
    many = [Dependent(f"v{number}", "vm", "lost") for number in range(21)]
    assert guard.describe_harm(many[:20], False).endswith("vm (v19)")
    assert guard.describe_harm(many, False).endswith("vm (v19) and 1 more")


LOST = [Dependent(f"v{number:02}", f"volume-{number:02}", "lost", "it is attached", "volume") for number in range(23)]
MERELY_REMOVED = [Dependent("g1", "group-1", "removed", type="snapshot_group")]


@pytest.fixture
def delete(sim: Simulator) -> Run:
    """Delete a CBT task that other objects depend on."""
    sim.reset(cbt_tasks=1)

    def play(dependents: Sequence[Dependent], check: bool = False, **options: Any) -> ModuleRun:
        resource = replace(CBT_TASK, guards={"absent": (Guard(lambda *dummy: Dependents(dependents)),)})
        connection = {"base_url": sim.url, "session_id": sim.session, **DELETE}
        sim.clear_log()
        outcome = run_spec(resource_module(resource, MODULE.options), {**connection, **options}, check)
        return ModuleRun(outcome.result, outcome.warnings, sim.log())

    return play


@pytest.mark.parametrize("check", [True, False])
def test_deletion_that_loses_something_needs_force(delete: Run, check: bool) -> None:
    ran = delete([*LOST, *MERELY_REMOVED], check)
    assert (ran["error"]["code"], ran.calls) == ("IN_USE", [])
    assert "DeleteCbtTask was not called, because 23 volumes would be lost: volume-00 (v00): it is" in ran.message
    assert ran.message.count("it is attached") == 20
    assert ran.message.endswith("it is attached; and 3 more. If this is acceptable, set force: true.")
    assert len(ran["in_use_by"]) == 23
    assert ran["in_use_by"][0] == {"type": "volume", "uuid": "v00", "name": "volume-00", "reason": "it is attached"}


@pytest.mark.parametrize("check", [True, False])
def test_forced_deletion_lists_what_is_removed(delete: Run, check: bool) -> None:
    ran = delete([*LOST[:1], *MERELY_REMOVED], check, force=True)
    assert ran.changed
    assert ran["also_removed"] == [
        {"type": "snapshot_group", "uuid": "g1", "name": "group-1"},
        {"type": "volume", "uuid": "v00", "name": "volume-00"},
    ]
    assert ran["diff"]["before"]["also_removed"] == ["group-1 (g1)", "volume-00 (v00)"]
    assert "also_removed" not in ran["diff"]["after"]
    verb = "would be" if check else "was"
    assert ran.warnings == [f"cbt task cbt-task-1: 1 volume {verb} lost: volume-00 (v00)."]


def test_what_needs_no_permission_is_only_listed(delete: Run) -> None:
    ran = delete(MERELY_REMOVED)
    assert (ran.changed, ran.warnings) == (True, [])
    assert [item["name"] for item in ran["also_removed"]] == ["group-1"]


def test_failed_deletion_claims_nothing(delete: Run, sim: Simulator) -> None:
    sim.fault("fail", "DeleteCbtTask")
    ran = delete(MERELY_REMOVED)
    assert (ran.failed, ran.changed, "also_removed" in ran.result) == (True, False, False)
    assert ran.message.endswith("The cbt task still exists: status Created.")


# ------------------------------------------------------------------------------------------------ the diff of a guard

STOPPED = Guard(lambda *dummy: Dependents(), option="vms", harmful=("stopped",), members={"stopped": "stopped_vms"})


def test_diff_of_a_deletion_lists_what_disappears_with_its_object() -> None:
    guard = Guard(lambda *dummy: Dependents())
    removed = [Dependent("g2", "group", "removed"), Dependent("v1", "b", "lost"), Dependent("g1", "group", "removed")]
    listed = ["b (v1)", "group (g1)", "group (g2)"]
    assert guard.format_diff(removed) == ({"also_removed": listed}, {})
    assert guard.format_diff([Dependent("v1", "kept")]) == ({}, {})
    assert guard.format_diff([]) == ({}, {})


def test_diff_of_another_call_lists_what_it_affects_on_both_sides() -> None:
    affected = [Dependent("v2", "web", "stopped"), Dependent("v1", "db")]
    assert STOPPED.format_diff(affected) == ({"vms": ["db (v1)", "web (v2)"]}, {"stopped_vms": ["web (v2)"]})
    assert STOPPED.format_diff(affected[1:]) == ({"vms": ["db (v1)"]}, {})
    assert STOPPED.format_diff([]) == ({}, {})
    assert STOPPED._replace(option="").format_diff(affected) == ({}, {"stopped_vms": ["web (v2)"]})


def test_members_of_the_result_are_there_without_dependents() -> None:
    assert STOPPED.format_result([Dependent("v1", "db")]) == {"stopped_vms": []}
    assert STOPPED.describe_harm([Dependent("v1", "db")], is_prediction=True) == ""


@pytest.mark.parametrize(("choice", "is_refused"), [("stop", False), ("keep", True), (None, True)])
def test_only_the_permitting_values_of_the_option_permit_a_call(choice: Any, is_refused: bool) -> None:
    guard = STOPPED._replace(permitted_by=("stop", "migrate"))
    affected = [Dependent("v2", "web", "stopped"), Dependent("v1", "db")]
    guard.require_permission("ChangeHostState", Dependents(affected[1:]), choice)
    guard._replace(option="").require_permission("ChangeHostState", Dependents(affected), choice)
    if not is_refused:
        guard.require_permission("ChangeHostState", Dependents(affected), choice)
        return
    for count, end in ((20, "vm (v19)."), (21, "vm (v19); and 1 more.")):
        many = [Dependent(f"v{number}", "vm", "stopped") for number in range(count)]
        with pytest.raises(InUse, match=re.escape(f"{end} If this is acceptable")):
            guard.require_permission("ChangeHostState", Dependents(many), choice)
    with pytest.raises(InUse) as refused:
        guard.require_permission("ChangeHostState", Dependents(affected), choice)
    assert refused.value.message == (
        "ChangeHostState was not called, because 1 VM would be stopped: web (v2). If this is acceptable, set vms: stop."
    )
    assert refused.value.result == {"in_use_by": [{"type": "vm", "uuid": "v2", "name": "web", "reason": ""}]}
