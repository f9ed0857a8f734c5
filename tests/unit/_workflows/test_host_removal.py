"""Which hosts the workflow host_removal removes, what it loses, and what it proves."""

from __future__ import annotations

import re
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.plugin_utils._site.site import Site
from ansible_collections.virtinfra.manager.plugins.plugin_utils._workflows.host_removal import (
    describe_loss,
    describe_problems,
    list_idle,
)

from simulator.launch import Simulator
from support.workflow_runner import WorkflowRun, WorkflowRunner, run_for_host


@pytest.fixture
def service(sim: Simulator) -> Simulator:
    """A simulator with three hosts in one cluster with shared storage."""
    sim.reset(clusters=1, hosts=3, vms=7, local_storages=0, latency=0.0)
    return sim


def run(work: WorkflowRunner, host: str = "host-1", check: bool = False, **variables: Any) -> WorkflowRun:
    """Run the workflow for a host."""
    return run_for_host(work, "host_removal", host, variables, check)


def error_of(ran: WorkflowRun) -> str:
    """Return why a run has failed, which it says once."""
    (entry,) = ran.report
    assert (entry["outcome"], ran.result["failed_count"]) == ("failed", 1)
    return str(entry["error"])


def test_a_host_is_drained_and_removed(service: Simulator, work: WorkflowRunner) -> None:
    """Check mode predicts it, and a second run finds nothing to do."""
    predicted, ran = run(work, check=True), run(work)
    assert (predicted.calls, predicted.report) == ([], ran.report)
    assert ran.calls == ["ChangeHostState", "DeleteHost"]
    (entry,) = ran.report
    migrated = entry.pop("migrated_vms")
    assert sorted(vm["name"] for vm in migrated) == ["vm-1", "vm-7"]
    assert entry == {
        "name": "host-1",
        "uuid": "a0000003000040008000000000000001",
        "previous_state": "Enabled",
        "outcome": "changed",
        "stopped_vms": [],
        "also_removed": [],
        "error": None,
    }
    again = run(work, uuid=entry["uuid"])
    assert (again.outcomes, again.calls, again.result["changed"]) == (["unchanged"], [], False)
    assert again.report[0]["previous_state"] is None


def test_a_removal_that_fails_after_the_drain(service: Simulator, work: WorkflowRunner) -> None:
    """The report has the VMs that were migrated, and a second run removes the host."""
    service.fault("fail", "DeleteHost", error={"code": "SYS.1004", "details": "{{ 40 + 2 }} references"})
    ran = run(work)
    assert "{{ 40 + 2 }} references" in error_of(ran)
    assert (len(ran.report[0]["migrated_vms"]), ran.result["changed"]) == (2, True)
    again = run(work)
    assert (again.calls, again.outcomes, again.report[0]["previous_state"]) == (
        ["DeleteHost"],
        ["changed"],
        "Maintenance",
    )


def test_a_drain_that_fails_removes_nothing(service: Simulator, work: WorkflowRunner) -> None:
    service.fault("fail", "ChangeHostState", error={"code": "SYS.1006", "details": "a migration is going on"})
    ran = run(work)
    assert "a migration is going on" in error_of(ran)
    assert ran.calls == ["ChangeHostState"]


def test_hosts_that_the_cluster_cannot_spare(service: Simulator, work: WorkflowRunner) -> None:
    """Hosts of the batch do not count, whether the inventory plugin or a variable names them."""
    ran = run(work, least_available=3)
    assert error_of(ran).startswith(
        "host host-1 was not removed: 2 other hosts of its cluster are enabled, connected and not in this batch"
        " (host-2, host-3), and host_removal_least_available is 3. Enable other hosts"
    )
    uuids = {host["name"]: host["uuid"] for host in service.records("host")}
    batch: dict[str, dict[str, Any]] = {
        "host-2": {},
        "c": {"virtinfra_uuid": uuids["host-3"]},
        "d": {"virtinfra_uuid": "x"},
    }
    ran = run_for_host(work, "host_removal", "host-1", {}, batch=batch)
    assert "0 other hosts of its cluster are enabled, connected and not in this batch (none)" in error_of(ran)
    batch["c"] = {"host_removal_uuid": uuids["host-3"].upper()}
    ran = run_for_host(work, "host_removal", "host-1", {}, batch=batch)
    assert "0 other hosts of its cluster" in error_of(ran)
    service.change("host", uuids["host-2"], status="Disconnected")
    assert "1 other hosts of its cluster" in error_of(run(work, least_available=2))
    assert ran.calls == []


def test_only_the_own_host_is_removed(service: Simulator, work: WorkflowRunner) -> None:
    """A uuid for all hosts of a play, such as one of -e, would remove another host than the inventory names."""
    uuids = {host["name"]: host["uuid"] for host in service.records("host")}
    own = {"virtinfra_uuid": uuids["host-1"]}
    ran = run_for_host(work, "host_removal", "host-1", {"uuid": uuids["host-2"]}, hostvars=own)
    assert error_of(ran) == (
        f"host-1 was not removed. host_removal_uuid is {uuids['host-2']}, and virtinfra_uuid of host-1 is"
        f" {uuids['host-1']}. Remove host_removal_uuid, whose default is virtinfra_uuid, or run the play for the host"
        " with the other uuid."
    )
    assert ran.log == []
    for all_hosts in ({}, own):
        given = {"host_removal_uuid": uuids["host-1"].upper()}
        ran = run_for_host(work, "host_removal", "host-1", {}, batch={"b": given}, hostvars={**all_hosts, **given})
        assert f"host_removal_uuid is {uuids['host-1']} for host-1 and for b. Set it for each host" in error_of(ran)
        assert ran.log == []
    assert run_for_host(work, "host_removal", "host-1", {}, hostvars=own).outcomes == ["changed"]


def test_nothing_is_lost_without_permission(sim: Simulator, work: WorkflowRunner) -> None:
    sim.reset(clusters=1, hosts=3, latency=0.0)
    for storage in sim.records("primarystorage"):
        sim.change("primarystorage", storage["uuid"], type="LocalStorage")
    ran = run(work, running_vms="stop")
    assert re.match(r"host host-1 was not removed: \d+ objects on its local storage would be lost \(", error_of(ran))
    assert "or set host_removal_destroy_local_storage." in error_of(ran)
    assert (ran.calls, ran.report[0]["also_removed"]) == ([], [])
    refused = run(work)
    assert "If this is acceptable, set host_removal_running_vms: stop" in error_of(refused)
    assert refused.calls == []
    predicted = run(work, check=True, running_vms="stop", destroy_local_storage=True)
    ran = run(work, running_vms="stop", destroy_local_storage=True)
    assert ran.outcomes == ["changed"]
    assert "vm" in {item["type"] for item in ran.report[0]["also_removed"]}
    assert predicted.report[0]["also_removed"] == ran.report[0]["also_removed"]


def test_what_comes_while_the_host_is_drained_is_not_lost(
    service: Simulator, work: WorkflowRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The drain takes time, so the removal itself reads again what would be lost."""
    change = Site.change

    def become_local(self: Site, module: str, given: dict[str, Any], **common: Any) -> dict[str, Any]:
        if common["state"] == "absent":
            for storage in service.records("primarystorage"):
                service.change("primarystorage", storage["uuid"], type="LocalStorage")
            vm = service.records("vm")[0]
            service.change("vm", vm["uuid"], state="Stopped", hostUuid=None, lastHostUuid=given["uuid"])
        return change(self, module, given, **common)

    monkeypatch.setattr(Site, "change", become_local)
    ran = run(work)
    assert "set host_removal_destroy_local_storage: true" in error_of(ran)
    assert ran.calls == ["ChangeHostState"]


def test_a_disconnected_host(service: Simulator, work: WorkflowRunner) -> None:
    """A disconnected host cannot be drained, so the VMs that may run on it stop if the variables permit it."""
    service.change("host", "a0000003000040008000000000000001", status="Disconnected")
    refused = run(work)
    assert "set host_removal_force: true" in error_of(refused)
    assert refused.calls == []
    ran = run(work, force=True)
    assert (ran.calls, ran.outcomes) == (["DeleteHost"], ["changed"])
    assert [vm["name"] for vm in ran.report[0]["stopped_vms"]] == ["vm-1", "vm-7"]


@pytest.mark.parametrize(
    ("uuid", "reason"),
    [
        ("", "is empty"),
        (None, "is empty"),
        ("host-1", "must be a uuid (32 hexadecimal digits), not 'host-1'"),
    ],
)
def test_a_host_without_a_uuid(work: WorkflowRunner, uuid: str | None, reason: str) -> None:
    """The default is that of the role. Without it, the template is no uuid."""
    ran = run(work, uuid=uuid)
    assert error_of(ran).startswith(f"host-1 was not removed. host_removal_uuid {reason}. Set it to the uuid")
    assert (ran.calls, ran.reads) == ([], [])


def test_vms_that_do_not_run_after_their_migration(
    service: Simulator, work: WorkflowRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = Site.read

    def stop_first(self: Site, module: str, **options: Any) -> dict[str, Any]:
        if module == "vm_info":
            service.change("vm", "a0000004000040008000000000000001", state="Stopped")
        return read(self, module, **options)

    monkeypatch.setattr(Site, "read", stop_first)
    ran = run(work)
    expected = "host host-1 was removed. VMs that were migrated do not run. Start them: vm-1."
    assert (error_of(ran), ran.result["changed"]) == (expected, True)


def test_paused_vms_migrate_and_stay_paused(service: Simulator, work: WorkflowRunner) -> None:
    service.change("vm", "a0000004000040008000000000000007", state="Paused")
    ran = run(work)
    assert ran.outcomes == ["changed"], ran.report
    assert [vm["name"] for vm in ran.report[0]["migrated_vms"]] == ["vm-1", "vm-7"]
    assert {vm["state"] for vm in service.records("vm") if vm["name"] == "vm-7"} == {"Paused"}


def test_problems_after_a_removal() -> None:
    vms = [{"name": name, "uuid": name, "state": state} for name, state in (("b", "Stopped"), ("a\n", "Unknown"))]
    assert list_idle([*vms, {"name": "c", "uuid": "c", "state": "Stopped"}], {"a\n", "b"}) == ["a\\n", "b"]
    assert describe_problems("h", False, []) == ""
    remains = "host h was not removed. It still exists, although the service reported its removal."
    assert describe_problems("h", True, ["b"]) == (
        f"{remains} Check it in the service. VMs that were migrated do not run. Start them: b."
    )


def test_names_of_what_is_lost_contain_no_controls() -> None:
    assert "2 objects on its local storage would be lost (a, b\\n)" in describe_loss(
        "h", [{"name": "b\n"}, {"name": "a"}]
    )


def test_vms_that_do_not_run_after_the_drain(
    service: Simulator, work: WorkflowRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The host is gone, and the role fails with the names of the VMs to start."""
    change = Site.change

    def stop_a_vm(self: Site, module: str, given: dict[str, Any], **common: Any) -> dict[str, Any]:
        result = change(self, module, given, **common)
        if common["state"] == "absent":
            service.change("vm", service.records("vm")[0]["uuid"], state="Stopped")
        return result

    monkeypatch.setattr(Site, "change", stop_a_vm)
    assert error_of(run(work)) == ("host host-1 was removed. VMs that were migrated do not run. Start them: vm-1.")


def test_a_host_that_remains_after_its_removal(
    service: Simulator, work: WorkflowRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    change = Site.change

    def remove_nothing(self: Site, module: str, given: dict[str, Any], **common: Any) -> dict[str, Any]:
        if common["state"] == "absent":
            return {"changed": True, "failed": False}
        return change(self, module, given, **common)

    monkeypatch.setattr(Site, "change", remove_nothing)
    assert error_of(run(work)) == (
        "host host-1 was not removed. It still exists, although the service reported its removal. Check it in the"
        " service."
    )


@pytest.mark.parametrize(("url", "outcome"), [("https://south.example.com/service", "failed"), (None, "unchanged")])
def test_a_host_of_another_service_is_not_called_removed(
    service: Simulator, work: WorkflowRunner, url: str | None, outcome: str
) -> None:
    """The variable of the inventory names its service. Under another URL of the service, the host would be found."""
    uuid = "0123456789abcdef0123456789abcdef"
    ran = run_for_host(work, "host_removal", "host-1", {"uuid": uuid}, hostvars={"virtinfra_service_url": url})
    assert ran.outcomes == [outcome]
    own = run_for_host(
        work, "host_removal", "host-1", {"uuid": uuid}, hostvars={"virtinfra_service_url": f"{service.url}/service"}
    )
    assert own.outcomes == ["unchanged"]
    if url:
        assert error_of(ran) == (
            f"host-1 is a host of the service {url}, and the connection of the task is {service.url}/service, which has"
            " no such host. Give the task the connection of the inventory."
        )


@pytest.mark.parametrize(
    ("kind", "owner"),
    [
        ("vm", "the uuid of a VM, vm-1."),
        ("primarystorage", "the uuid of a primary storage, ps-1."),
        ("cluster", "the uuid of a cluster, cluster-1."),
    ],
)
def test_an_object_of_another_inventory_is_not_called_removed(
    service: Simulator, work: WorkflowRunner, kind: str, owner: str
) -> None:
    """The plugins vms and primary_storages set virtinfra_uuid, too."""
    uuid = service.records(kind)[0]["uuid"]
    for check in (False, True):
        ran = run(work, "vm-1", check, uuid=uuid)
        assert error_of(ran) == (
            f"vm-1 is not a host of the service. {uuid} is {owner} Use the inventory plugin virtinfra.manager.hosts, or"
            " set host_removal_uuid to the uuid of a host."
        )
        assert ran.calls == []
