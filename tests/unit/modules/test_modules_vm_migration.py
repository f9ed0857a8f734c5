"""The option host of the module vm: VMs migrate to it, or are started on it."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.launch import Simulator
from simulator.state.store import seeded_uuid
from support.module_runner import ModuleRunner

VM = seeded_uuid("vm", 1)
HOSTS = {f"host-{number}": seeded_uuid("host", number) for number in range(1, 6)}


@pytest.fixture
def run(sim: Simulator) -> ModuleRunner:
    """Five hosts in two clusters. On host-1 runs vm-1, in the cluster of host-3 and host-5, and on host-3 vm-3."""
    sim.reset(hosts=5, vms=5)
    return ModuleRunner(sim)


def place_of(sim: Simulator, uuid: str = VM) -> tuple[str, str | None]:
    """Return the state and the host of a VM."""
    return next((vm["state"], vm["hostUuid"]) for vm in sim.records("vm") if vm["uuid"] == uuid)


@pytest.mark.parametrize("state", ["present", "running"])
def test_running_vm_migrates(run: ModuleRunner, sim: Simulator, state: str) -> None:
    ran = run.twice("vm", {"name": "vm-1", "state": state, "host": "host-3"})
    assert ran.calls == ["MigrateVm"]
    assert ran.sent("MigrateVm") == {"hostUuid": HOSTS["host-3"]}
    assert place_of(sim) == ("Running", HOSTS["host-3"])
    assert (ran["vm"]["host_name"], ran["vm"]["last_host_uuid"]) == ("host-3", HOSTS["host-1"])


def test_prediction_is_the_outcome(run: ModuleRunner) -> None:
    options = {"name": "vm-1", "host": "host-3"}
    predicted, ran = run("vm", options, check=True), run("vm", options)
    before, after = ran["diff"]["before"], ran["diff"]["after"]
    assert predicted["diff"] == {"before": before, "after": {**after, "last_op_date": before["last_op_date"]}}
    assert (before["host_name"], after["host_name"]) == ("host-1", "host-3")


def test_diff_without_names_has_none(run: ModuleRunner, sim: Simulator) -> None:
    ran = run("vm", {"uuid": VM, "host": HOSTS["host-3"]})
    assert "host_name" not in ran["diff"]["after"]
    assert "QueryHost" not in [entry["operation"] for entry in ran.log]


@pytest.mark.parametrize(
    ("state", "calls"),
    [
        ("paused", ["PauseVmInstance", "MigrateVm", "PauseVmInstance"]),
        ("restarted", ["RebootVmInstance", "MigrateVm", "RebootVmInstance"]),
    ],
)
def test_migration_before_another_call(run: ModuleRunner, sim: Simulator, state: str, calls: list[str]) -> None:
    """The first call is for a VM that does not exist."""
    ran = run("vm", {"uuid": VM, "state": state, "host": HOSTS["host-3"]})
    assert (ran.message, ran.calls) == ("", calls)
    assert place_of(sim)[1] == HOSTS["host-3"]


def test_changes_and_a_migration(run: ModuleRunner, sim: Simulator) -> None:
    ran = run.twice("vm", {"uuid": VM, "name": "web", "host": "host-5"})
    assert ran.calls == ["MigrateVm", "UpdateVmInstance", "MigrateVm"]
    assert place_of(sim) == ("Running", HOSTS["host-5"])


def test_stopped_vm_is_started_on_the_host(run: ModuleRunner, sim: Simulator) -> None:
    run.twice("vm", {"uuid": VM, "state": "stopped"})
    for state in ("present", "stopped"):
        run.idle("vm", {"uuid": VM, "state": state, "host": "host-3"})
    ran = run.twice("vm", {"uuid": VM, "state": "running", "host": "host-3"})
    assert ran.calls == ["StartVmInstance"]
    assert place_of(sim) == ("Running", HOSTS["host-3"])


def test_host_that_is_no_target(run: ModuleRunner, sim: Simulator) -> None:
    message = run.refused("vm", {"name": "vm-1", "host": "host-2"})
    possible = ", ".join(f"{name} ({HOSTS[name]})" for name in ("host-3", "host-5"))
    refusal = f"the VM cannot migrate to the host 'host-2' ({HOSTS['host-2']})"
    assert message == f"vm vm-1: {refusal}. It can migrate to {possible}."
    for name in ("host-3", "host-5"):
        sim.change("host", HOSTS[name], state="Disabled")
    assert run.refused("vm", {"name": "vm-1", "host": "host-2"}) == f"vm vm-1: {refusal}. No other host can take it."
    assert run("vm", {"name": "vm-1", "host": "host-2"})["error"]["code"] == "UNCHANGEABLE"


def test_nothing_is_changed_before_a_migration_that_is_impossible(run: ModuleRunner) -> None:
    run.refused("vm", {"uuid": VM, "name": "web", "host": "host-2"})
    run.refused("vm", {"uuid": VM, "state": "restarted", "host": "host-2"})


def test_vm_without_a_host_is_not_restarted_on_one(run: ModuleRunner, sim: Simulator) -> None:
    sim.change("vm", VM, state="Crashed", hostUuid=None)
    message = run.refused("vm", {"name": "vm-1", "state": "restarted", "host": "host-3"})
    assert message == "vm vm-1: the VM is Crashed, and the service chooses the host on which it restarts. Omit host."
    ran = run("vm", {"uuid": VM, "state": "restarted"})
    assert (ran.calls, place_of(sim)) == (["RebootVmInstance"], ("Running", HOSTS["host-1"]))


def test_vm_on_local_storage(run: ModuleRunner, sim: Simulator) -> None:
    sim.change("primarystorage", seeded_uuid("primarystorage", 1), type="LocalStorage")
    message = run.refused("vm", {"name": "vm-3", "host": "host-1"})
    assert message == (
        f"vm vm-3: the VM cannot migrate to the host 'host-1' ({HOSTS['host-1']}), because its root volume is on local"
        " storage. Omit host."
    )
    run.idle("vm", {"name": "vm-3", "host": "host-3"})


def test_paused_vm_migrates_and_stays_paused(run: ModuleRunner, sim: Simulator) -> None:
    sim.change("vm", VM, state="Paused")
    ran = run.twice("vm", {"uuid": VM, "host": "host-3"})
    assert (ran.calls, place_of(sim)) == (["MigrateVm"], ("Paused", HOSTS["host-3"]))
    message = run.refused("vm", {"uuid": VM, "host": "host-2"})
    assert "the VM cannot migrate to the host 'host-2'" in message


@pytest.mark.parametrize("vm_state", ["Unknown", "NoState"])
def test_other_vms_do_not_migrate(run: ModuleRunner, sim: Simulator, vm_state: str) -> None:
    sim.change("vm", VM, state=vm_state)
    message = run.refused("vm", {"uuid": VM, "host": "host-3"})
    assert message == (
        f"vm {VM}: the VM is {vm_state} on the host 'host-1' ({HOSTS['host-1']}), and only a running or paused VM can"
        " migrate. Omit host."
    )
    run.idle("vm", {"uuid": VM, "host": "host-1"})


def test_vm_that_migrates_already_is_waited_for(run: ModuleRunner, sim: Simulator) -> None:
    sim.configure(migration=30.0)
    options: dict[str, Any] = {"uuid": VM, "host": HOSTS["host-3"]}
    assert run("vm", options, wait=False)["job"]["operation"] == "MigrateVm"
    assert place_of(sim) == ("Migrating", HOSTS["host-1"])
    predicted = run("vm", options, check=True)
    assert "cannot check to which hosts it can migrate, because it is Migrating" in predicted.warnings[0]
    late = run("vm", options, wait_timeout=0.05)
    assert (late.failed, late.calls, late["error"]["code"]) == (True, [], "TIMEOUT")


def test_migration_that_ends_on_another_host(run: ModuleRunner, sim: Simulator) -> None:
    sim.configure(straying_migrations=[VM])
    ran = run("vm", {"uuid": VM, "host": "host-3"})
    assert (ran.failed, ran.changed, ran["done"]) == (True, True, ["MigrateVm"])
    assert ran.message == (
        f"vm {VM}: MigrateVm succeeded, but host_uuid is 'host-5' ({HOSTS['host-5']}) (expected 'host-3'"
        f" ({HOSTS['host-3']}))"
    )
    assert run("vm", {"uuid": VM, "state": "paused", "host": "host-1"}).failed
    assert place_of(sim) == ("Running", HOSTS["host-3"])


def test_failed_migration_says_where_the_vm_is(run: ModuleRunner, sim: Simulator) -> None:
    sim.configure(failing_migrations=[VM])
    ran = run("vm", {"uuid": VM, "host": "host-3"})
    assert (ran.failed, ran.changed) == (True, False)
    assert "the migration broke off" in ran.message
    assert ran.message.endswith(f" Now host_uuid is 'host-1' ({HOSTS['host-1']}) and state is 'Running'.")


@pytest.mark.parametrize("fault", ["duplicate", "other_job"])
def test_refusal_of_a_second_delivery_is_no_failure(run: ModuleRunner, sim: Simulator, fault: str) -> None:
    """The VM still migrates when the refusal arrives, so the task waits until it has a host."""
    sim.configure(job_uuid="ignore", migration=0.05)
    sim.fault(fault, "MigrateVm")
    ran = run("vm", {"uuid": VM, "host": "host-3"})
    assert (ran.message, ran.changed) == ("", True)
    assert len(ran.warnings) == 1
    assert place_of(sim) == ("Running", HOSTS["host-3"])


def test_service_that_lacks_an_operation(run: ModuleRunner, sim: Simulator) -> None:
    sim.configure(missing_operations=["GetVmMigrationCandidateHosts"])
    sim.fault("fail", "QueryPrimaryStorage", error={"code": "ID.1002", "details": "no right"}, count=None)
    ran = run.twice("vm", {"uuid": VM, "host": "host-3"})
    assert len([text for text in ran.warnings if "cannot check" in text]) == 2
    assert "no host can take it" in run("vm", {"uuid": VM, "host": "host-2"}).message
    sim.configure(missing_operations=["MigrateVm"])
    ran = run("vm", {"uuid": VM, "name": "web", "host": "host-5"})
    assert (ran["error"]["code"], ran.changed) == ("UNSUPPORTED", False)


def test_vm_that_cannot_be_read(run: ModuleRunner, sim: Simulator) -> None:
    sim.configure(missing_operations=["QueryVmInstance"])
    for state in ("present", "running"):
        ran = run("vm", {"uuid": VM, "state": state, "host": HOSTS["host-3"]}, api_token=None)
        assert (ran["error"]["code"], ran.calls) == ("UNSUPPORTED", [])
        assert ran.message.endswith("Omit host.")


def test_record_that_does_not_show_the_host(run: ModuleRunner, sim: Simulator) -> None:
    sim.change("vm", VM, hostUuid=None)
    assert "the record of the VM does not show its host" in run.refused("vm", {"uuid": VM, "host": "host-3"})


@pytest.mark.parametrize("state", ["present", "running", "paused"])
@pytest.mark.parametrize("null", ["uuid", "host"])
def test_objects_of_earlier_tasks_in_check_mode(run: ModuleRunner, null: str, state: str) -> None:
    ran = run(
        "vm", {"uuid": VM, "host": HOSTS["host-3"], "state": state, null: ""}, check=True, predicted=("vm", "host")
    )
    assert (ran.message, ran.changed, ran.warnings) == ("", True, [])
