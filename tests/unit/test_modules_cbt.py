# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module for CBT tasks: both forms of the document, and every form of its replies."""

from __future__ import annotations

from typing import Any

import pytest
from direct import Runner

from simulator.launch import Simulator


@pytest.fixture
def run(sim: Simulator) -> Runner:
    return Runner(sim)


@pytest.fixture
def vm(sim: Simulator) -> str:
    """The uuid of a machine that runs."""
    return next(str(vm["uuid"]) for vm in sim.records("vm") if vm["state"] == "Running")


def by_machine(vm: str) -> dict[str, Any]:
    return {"name": "nightly", "vm_instance_uuid": vm}


def by_resources(vm: str) -> dict[str, Any]:
    return {"name": "nightly", "task_type": "full", "resource_uuids": [vm]}


def by_both(vm: str) -> dict[str, Any]:
    return {**by_machine(vm), **by_resources(vm)}


FORMS = {
    "any": (by_machine, by_resources, by_both),
    "literal": (by_resources, by_both),
    "vm_only": (by_machine, by_both),
}


@pytest.mark.parametrize(("server", "form"), [(server, form) for server, forms in FORMS.items() for form in forms])
def test_machine_is_protected(run: Runner, sim: Simulator, vm: str, server: str, form: Any) -> None:
    sim.configure(cbt_create=server)
    ran = run.twice("cbt_task", form(vm))
    assert ran.calls == ["CreateCbtTask"]
    assert ran["cbt_task"]["status"] == "Created"
    assert [ref["resourceUuid"] for ref in sim.records("cbttask")[0]["resourceRefs"]] == [vm]


@pytest.mark.parametrize(("server", "form"), [("literal", by_machine), ("vm_only", by_resources)])
def test_form_that_a_server_does_not_read(run: Runner, sim: Simulator, vm: str, server: str, form: Any) -> None:
    sim.configure(cbt_create=server)
    ran = run("cbt_task", form(vm))
    assert "CreateCbtTask failed (SYS.1007)" in ran.message
    assert "is mandatory" in ran.message
    assert not ran.changed


def test_neither_form(run: Runner) -> None:
    assert "no cbt task with name 'nightly'. Check the name, or give " in run.refused("cbt_task", {"name": "nightly"})
    assert "or give resource_uuids to create it" in run.refused("cbt_task", {"name": "nightly", "task_type": "full"})


@pytest.mark.parametrize("reply", ["volumeCbtBackupInfos", "inventory", "both", "empty"])
def test_every_reply_to_enabling(run: Runner, sim: Simulator, vm: str, reply: str) -> None:
    sim.configure(enable_reply=reply)
    ran = run.twice("cbt_task", {**by_machine(vm), "state": "enabled"})
    assert ran.calls == ["CreateCbtTask", "EnableCbtTask"]
    assert ran["cbt_task"]["status"] == "Running"
    assert bool(ran["volume_cbt_backup_infos"]) == (reply in ("volumeCbtBackupInfos", "both"))


@pytest.mark.parametrize("reply", ["inventory", "empty"])
def test_every_reply_to_disabling(run: Runner, sim: Simulator, vm: str, reply: str) -> None:
    sim.configure(disable_reply=reply)
    run("cbt_task", {**by_machine(vm), "state": "enabled"})
    ran = run.twice("cbt_task", {"name": "nightly", "state": "disabled"})
    assert ran["cbt_task"]["status"] == "Stopped"


@pytest.mark.parametrize("where", ["query", "body", "both"])
def test_parameters_of_a_deletion_are_in_query_and_body(run: Runner, sim: Simulator, vm: str, where: str) -> None:
    sim.configure(delete_params=where)
    run("cbt_task", by_machine(vm))
    options = {"name": "nightly", "state": "absent", "force": True, "delete_mode": "Enforcing"}
    ran = run.twice("cbt_task", options)
    entry = next(entry for entry in ran.log if entry["operation"] == "DeleteCbtTask")
    assert entry["query"] == {"force": ["true"], "deleteMode": ["Enforcing"]}
    assert entry["body"] == {"force": True, "deleteMode": "Enforcing"}
    assert ran["cbt_task"] is None


def test_create_that_tells_nothing(run: Runner, sim: Simulator, vm: str) -> None:
    """Before version 5.3.20 the reply has no members."""
    sim.configure(version="5.3.0")
    ran = run.twice("cbt_task", by_machine(vm))
    assert ran["cbt_task"]["name"] == "nightly"


def test_uuid_of_ones_choice(run: Runner, sim: Simulator, vm: str) -> None:
    chosen = "0123456789ab4def8123456789abcdef"
    ran = run.twice("cbt_task", {**by_machine(vm), "resource_uuid": chosen, "tag_uuids": [chosen]})
    assert ran["cbt_task"]["uuid"] == chosen
    assert sim.state()["tags"][chosen]["tagUuids"] == [chosen]
    run.idle("cbt_task", {"uuid": chosen})


def test_reply_that_is_lost_although_it_was_done(run: Runner, sim: Simulator) -> None:
    """The service forgot the job: that the task runs can be read, what else enabling it told cannot."""
    sim.reset(cbt_tasks=1)
    sim.fault("expire", "EnableCbtTask")
    ran = run("cbt_task", {"name": "cbt-task-1", "state": "enabled"})
    assert ran.calls == ["EnableCbtTask"]
    assert ran.changed
    assert ran["cbt_task"]["status"] == "Running"
    assert ran["volume_cbt_backup_infos"] == []
    assert ran.warnings == ["cbt task cbt-task-1: EnableCbtTask was done, but volume_cbt_backup_infos was lost."]
