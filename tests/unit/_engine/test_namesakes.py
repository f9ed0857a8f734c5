"""Names that other objects have, or that are patterns."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.launch import Simulator
from simulator.state.store import seeded_uuid
from support.module_runner import ModuleRunner, run_module
from support.scenarios import NEW_HOST

VM, OTHER_VM = seeded_uuid("vm", 1), seeded_uuid("vm", 2)
OF_GROUP = {"state": "reverted", "force": True, "name": "snapshot-group-1"}


@pytest.mark.parametrize(
    ("module", "options", "of_other"),
    [
        ("vm", {"uuid": VM}, "vm-2"),
        ("volume", {"uuid": seeded_uuid("volume", 2)}, "data-of-vm-4"),
        ("sns_topic", {"uuid": seeded_uuid("topic", 1)}, "topic-2"),
        ("sns_endpoint", {"type": "any", "uuid": seeded_uuid("endpoint", 1)}, "teamchat-endpoint-1"),
        ("resource", {"kind": "image", "uuid": seeded_uuid("image", 1)}, "iso-2"),
    ],
)
def test_name_of_another_object_is_refused(
    run: ModuleRunner, module: str, options: dict[str, Any], of_other: str
) -> None:
    key = "resource" if module == "resource" else module.removeprefix("sns_")
    message = run.refused(module, {**options, "name": of_other})
    assert f"but name selects {of_other} (" in message
    assert message.endswith("Correct one of them.")
    renamed = run.twice(module, {**options, "name": "free"})
    assert renamed[key]["name"] == "free"


@pytest.mark.parametrize("is_removed", [False, True])
@pytest.mark.parametrize(
    ("module", "options", "other"),
    [
        ("vm", {"uuid": VM, "name": "vm-2"}, OTHER_VM),
        ("kvm_host", {**NEW_HOST, "name": "host-2"}, seeded_uuid("host", 2)),
    ],
    ids=["rename", "addition"],
)
def test_name_of_an_object_that_check_mode_removes_is_free(
    sim: Simulator, module: str, options: dict[str, Any], other: str, is_removed: bool
) -> None:
    connection = {"base_url": sim.url, "session_id": sim.session, "api_token": sim.token}
    predicted = {other: None} if is_removed else {}
    outcome = run_module(module, {**connection, **options}, check=True, list_predicted=lambda: predicted)
    assert outcome.result["changed"] is is_removed


def test_other_task_reads_no_names(run: ModuleRunner) -> None:
    ran = run("vm", {"uuid": VM, "name": "vm-1", "description": "a"})
    assert not [entry for entry in ran.log if "name" in (entry["query"] or "")]


@pytest.mark.parametrize(
    ("module", "options", "noun"),
    [
        ("vm", {"name": "vm-*"}, "VM"),
        ("vm_snapshot_group", {"vm": "vm-1", "name": "*"}, "snapshot group"),
        ("resource", {"kind": "image", "name": "image-1*"}, "image"),
        ("kvm_host", {"name": "host-%"}, "host"),
    ],
)
def test_pattern_removes_nothing_with_a_warning(
    run: ModuleRunner, module: str, options: dict[str, Any], noun: str
) -> None:
    for check in (True, False):
        ran = run(module, {**options, "state": "absent"}, check=check)
        assert not ran.changed
        (warning,) = ran.warnings
        assert f"name {options['name']!r} is no pattern, and no " in warning
        assert f"{noun.casefold()} has it, so nothing is removed. virtinfra.manager.batch runs" in warning.casefold()


def test_list_of_names_removes_nothing_with_a_warning(run: ModuleRunner) -> None:
    (warning,) = run("vm", {"name": "vm-5,vm-6", "state": "absent"}).warnings
    assert "name 'vm-5,vm-6' is one name, and no vm has it, so nothing is removed." in warning
    assert not run("vm", {"name": "gone", "state": "absent"}).warnings


def test_missing_snapshot_group_is_that_of_a_vm(run: ModuleRunner) -> None:
    for vm in ("vm-2", OTHER_VM):
        assert f"the VM {vm} " in run("vm_snapshot_group", {"vm": vm, **OF_GROUP}).message
