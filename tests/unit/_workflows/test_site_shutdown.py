"""What the workflow site_shutdown stops, remembers and starts."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.plugin_utils._workflows.power import Group, choose_group
from ansible_collections.virtinfra.manager.plugins.plugin_utils._workflows.site import Site as _Site
from ansible_collections.virtinfra.manager.plugins.plugin_utils._workflows.site_shutdown import (
    Plan,
    Settings,
    build_memory,
    list_forgotten,
    merge_memory,
    plan_shutdown,
)

from simulator.launch import Simulator
from support.workflow_runner import WorkflowRun, WorkflowRunner

SETTINGS = Settings(
    "stopped", "/site.json", [], True, [], [], True, [], False, 1200, 300, 300, True, 60, 1200, 100, False
)
LATE = "site_shutdown_time_limit was over before it could be stopped"


def running(number: int, host: int = 1, state: str = "Running") -> dict[str, Any]:
    """Return a VM on a host."""
    return {"uuid": f"v{number}", "name": f"vm-{number}", "state": state, "host_uuid": f"h{host}"}


def switched_on(number: int, **members: Any) -> dict[str, Any]:
    """Return a host that is on."""
    power = {"ipmi_address": "172.31.0.1", "ipmi_power_status": "POWER_ON", "status": "Connected"}
    return {"uuid": f"h{number}", "name": f"host-{number}", "state": "Enabled", **power, **members}


def names_of(plan: Plan) -> list[tuple[str, list[str]]]:
    """Return the names of the groups and of their VMs."""
    return [(name, [vm.name for vm in members]) for name, members in plan.groups]


def group(name: str, found: Sequence[dict[str, Any]], *vms: str) -> Group:
    """Return a group of VMs that are named, or of all that were found."""
    return choose_group({"name": name, "vms": list(vms) or None}, found)


def test_site_is_planned_in_order() -> None:
    """Stopped VMs are no part of the plan, and the other VMs stop last."""
    vms = [running(1), running(2), running(3, state="Stopped"), running(5)]
    groups = [group("web", vms, "vm-2", "v3"), group("db", vms[:1]), group("none", [])]
    off = switched_on(2, ipmi_power_status="POWER_OFF", status="Disconnected")
    plan = plan_shutdown(groups, vms, [switched_on(1), off], SETTINGS)
    assert names_of(plan) == [("web", ["vm-2"]), ("db", ["vm-1"]), ("all others", ["vm-5"])]
    assert [(host.uuid, host.name, host.state) for host in plan.hosts] == [("h1", "host-1", "Enabled")]
    assert (plan.problems, plan.kept, plan.empty) == ([], [], ["none"])
    assert names_of(plan_shutdown(groups, vms, [], replace(SETTINGS, remaining=False)))[-1] == ("db", ["vm-1"])


def test_excluded_vms_keep_their_hosts() -> None:
    vms = [running(1), running(2, host=2), running(3, host=3)]
    settings = replace(SETTINGS, exclude_vms=["vm-1"], exclude_hosts=["h3"])
    plan = plan_shutdown([], vms, [switched_on(number) for number in (1, 2, 3)], settings)
    assert names_of(plan) == [("all others", ["vm-2", "vm-3"])]
    assert [host.name for host in plan.hosts] == ["host-2"]
    assert [(host.name, host.outcome.reason) for host in plan.kept] == [
        ("host-1", "the excluded VM vm-1 runs on it"),
        ("host-3", "it is excluded"),
    ]


def test_plan_with_problems() -> None:
    vms = [running(1), {**running(2), "name": "vm-1"}, running(3)]
    groups = [group("a", vms, "vm-1", "vm-9"), group("b", vms, "vm-3"), group("c", vms[2:])]
    hosts = [switched_on(1, ipmi_address=None), switched_on(2, ipmi_power_status="UN_CONFIGURED"), switched_on(3)]
    assert plan_shutdown(groups, vms, hosts, replace(SETTINGS, exclude_hosts=["host-7"])).problems == [
        "no host, or several, has the name host-7 (site_shutdown_exclude_hosts)",
        "no VM, or several, has the name vm-1 (the group a)",
        "no VM, or several, has the name vm-9 (the group a)",
        "these VMs are in several groups: vm-3",
        "the service does not know the IPMI controllers of these hosts: host-1, host-2",
    ]


# -------------------------------------------------------------------------------------------------------------- memory

FIRST = build_memory(plan_shutdown([group("web", [running(1)])], [running(1), running(2)], [switched_on(1)], SETTINGS))
SECOND = build_memory(
    plan_shutdown([group("db", [running(2)])], [running(2)], [switched_on(1, state="Maintenance")], SETTINGS)
)
EXISTING = {"v1", "v2", "h1"}


def test_a_shutdown_that_has_not_finished_is_remembered() -> None:
    """What ran before it stays in the memory, in its group and with its state."""
    assert merge_memory(SECOND, FIRST, EXISTING) == {
        "groups": [
            {"name": "web", "vms": [{"uuid": "v1", "name": "vm-1"}]},
            {"name": "all others", "vms": [{"uuid": "v2", "name": "vm-2"}]},
            {"name": "db", "vms": []},
        ],
        "hosts": [{"uuid": "h1", "name": "host-1", "state": "Enabled"}],
    }
    assert merge_memory(SECOND, FIRST, {"v2"})["groups"][0] == {"name": "web", "vms": []}


@pytest.mark.parametrize("ended", ["is_finished", "is_started"])
def test_the_newest_shutdown_wins(ended: str) -> None:
    """An older one was merged for ever, so a start started what the operator had stopped."""
    assert merge_memory(SECOND, {**FIRST, ended: True}, EXISTING) == SECOND
    assert merge_memory(SECOND, None, EXISTING) == SECOND


def test_what_no_start_starts_any_more() -> None:
    assert list_forgotten(SECOND, {**FIRST, "is_finished": True}, EXISTING) == ["vm-1"]
    assert list_forgotten(SECOND, {**FIRST, "is_started": True}, EXISTING) == []
    assert list_forgotten(SECOND, {**FIRST, "is_finished": True}, {"v2"}) == list_forgotten(SECOND, None, set()) == []


# ------------------------------------------------------------------------------------------------------------ workflow


class Site:
    """A simulated site with five VMs, of which vm-2 and vm-4 are stopped, and the file of the role."""

    def __init__(self, sim: Simulator, work: WorkflowRunner, folder: Path) -> None:
        self.sim, self.work, self.file = sim, work, folder / "site.json"

    def run(self, check: bool = False, **variables: Any) -> WorkflowRun:
        """Run the workflow for the VMs, and for hosts if ``hosts`` is true: the service has no IPMI of host-2."""
        given = {"file": str(self.file), "hosts": False, **variables}
        if given["hosts"]:
            given.setdefault("exclude_hosts", ["host-2"])
        return self.work("site_shutdown", {f"site_shutdown_{name}": value for name, value in given.items()}, check)

    def list_running(self) -> list[str]:
        """Return the names of the VMs that run."""
        return [vm["name"] for vm in self.sim.records("vm") if vm["state"] == "Running"]

    @property
    def memory(self) -> dict[str, Any]:
        """What the file remembers."""
        return dict(json.loads(self.file.read_text(encoding="utf-8")))


@pytest.fixture
def site(sim: Simulator, work: WorkflowRunner, tmp_path: Path) -> Site:
    sim.reset(vms=5)
    return Site(sim, work, tmp_path)


GROUPS = [{"name": "web", "vms": "vm-1"}, {"name": "db", "vms": ["vm-3", "vm-2"]}]


def test_a_site_is_shut_down_and_started(site: Site) -> None:
    predicted = site.run(check=True, groups=GROUPS, hosts=True)
    assert (predicted.calls, site.file.exists()) == ([], False)
    ran = site.run(groups=GROUPS, hosts=True, maintenance=True)
    assert predicted.outcomes == ran.outcomes
    vms = [entry for entry in ran.report if entry["kind"] == "VM"]
    assert [(entry["group"], entry["name"], entry["outcome"]) for entry in vms] == [
        ("web", "vm-1", "changed"),
        ("db", "vm-3", "changed"),
        ("all others", "vm-5", "changed"),
    ]
    assert [entry["outcome"] for entry in ran.report if entry["kind"] == "host"] == ["changed", "changed", "skipped"]
    assert (site.list_running(), site.file.stat().st_mode & 0o777) == ([], 0o600)
    before = site.memory
    assert (site.run(groups=GROUPS, hosts=True).calls, site.memory) == ([], before)
    predicted, started = site.run(check=True, state="running", hosts=True), site.run(state="running", hosts=True)
    assert predicted.report == started.report
    assert [entry["name"] for entry in started.report if entry["kind"] == "VM"] == ["vm-5", "vm-3", "vm-1"]
    assert site.list_running() == ["vm-1", "vm-3", "vm-5"]
    again = site.run(state="running", hosts=True)
    assert ({entry["outcome"] for entry in again.report}, again.calls) == ({"unchanged"}, [])


def test_a_start_after_a_later_shutdown(site: Site) -> None:
    """The operator has stopped vm-3 for good, and expunged vm-5."""
    site.run()
    for vm in site.sim.records("vm"):
        if vm["name"] == "vm-1":
            site.sim.change("vm", vm["uuid"], state="Running")
    second = site.run()
    assert "A start will not start them any more: vm-3, vm-5" in second.warnings[0]
    assert [entry["name"] for entry in site.run(state="running").report] == ["vm-1"]


def test_a_vm_that_is_gone_is_a_warning(site: Site) -> None:
    """It stopped the start of the following groups."""
    site.run(groups=GROUPS)
    for vm in site.sim.records("vm"):
        if vm["name"] == "vm-5":
            site.sim.change("vm", vm["uuid"], state="Destroyed")
    ran = site.run(state="running")
    assert (ran.outcomes, [entry["name"] for entry in ran.report]) == (["changed"] * 2, ["vm-3", "vm-1"])
    assert ran.warnings == ["These VMs were running before the shutdown, and no longer exist: vm-5"]


def test_a_shutdown_with_a_failure_is_continued(site: Site) -> None:
    """The start starts what both runs have stopped."""
    site.sim.fault("fail", operation="StopVmInstance", error={"code": "ID.1002", "details": "no"})
    first = site.run(groups=GROUPS, concurrency=1)
    assert (first.outcomes, first.result["changed"]) == (["failed", "changed", "changed"], True)
    assert site.run(groups=GROUPS).outcomes == ["changed"]
    site.run(state="running")
    assert site.list_running() == ["vm-1", "vm-3", "vm-5"]


def test_a_refusal_does_not_cut_the_power(site: Site) -> None:
    site.sim.fault("fail", operation="StopVmInstance", count=3, error={"code": "SYS.1006", "details": "no"})
    ran = site.run(groups=GROUPS)
    assert (ran.outcomes, {entry["powered_off"] for entry in ran.report}) == (["changed"] * 3, {False})


def test_the_clock_of_the_controller_does_not_matter(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A change of clocks in autumn added an hour to the limit."""
    monkeypatch.setattr(time, "time", lambda: 0.0)
    assert site.run(groups=GROUPS).outcomes == ["changed"] * 3


def test_a_host_with_vms_stays_on(site: Site) -> None:
    site.sim.fault("fail", operation="StopVmInstance", count=3, error={"code": "ID.1002", "details": "no"})
    ran = site.run(hosts=True)
    assert {entry["error"] for entry in ran.report if entry["kind"] == "host" and entry["outcome"] == "failed"} == {
        "VMs still run on it"
    }


def spy(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, list[dict[str, Any]], dict[str, Any]]]:
    """Return the module, the objects and the options of each batch that follows."""
    batches: list[tuple[str, list[dict[str, Any]], dict[str, Any]]] = []
    batch = _Site.batch

    def note(self: _Site, module: str, objects: list[dict[str, Any]], *rest: Any, **common: Any) -> Any:
        batches.append((module, objects, common))
        return batch(self, module, objects, *rest, **common)

    monkeypatch.setattr(_Site, "batch", note)
    return batches


@pytest.mark.parametrize(
    ("used", "cold", "expected"),
    [
        # The hosts have the rest of the limit, 1200 s, but no more than the time of hosts.
        (0, True, {"wait_timeout": 300}),
        (1050, True, {"wait_timeout": 150}),
        # After the limit, they do not wait for their systems, if the power may be cut.
        (2000, True, {"wait_timeout": 60, "stop_type": "cold"}),
        (2000, False, {"wait_timeout": 60}),
    ],
)
def test_hosts_have_the_rest_of_the_time(
    site: Site, monkeypatch: pytest.MonkeyPatch, used: float, cold: bool, expected: dict[str, Any]
) -> None:
    times = iter([0.0])
    monkeypatch.setattr(_Site, "get_time", lambda self: next(times, used))
    monkeypatch.setattr(_Site, "pause", lambda self, seconds: None)
    batches = spy(monkeypatch)
    site.run(hosts=True, cold=cold, remaining=False)
    ((objects, common),) = ((objects, common) for module, objects, common in batches if module == "kvm_host")
    assert {name: round(value) if name == "wait_timeout" else value for name, value in common.items()} == {
        "state": "present",
        "power": "off",
        "running_vms": "migrate",
        "force": False,
        **expected,
    }
    # The VMs run on the others.
    assert len(objects) == len([host for host in site.sim.records("host") if host["status"] == "Disconnected"])


def test_only_some_hosts_are_switched_off(site: Site) -> None:
    """And those that are excluded count only if they are among them."""
    ran = site.run(hosts=True, host_query=["name=host-1"], exclude_hosts=[])
    assert [entry["name"] for entry in ran.report if entry["kind"] == "host"] == ["host-1"]


def test_the_file_is_replaced_on_its_own_file_system(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file elsewhere could not replace it at once."""
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")
    assert site.run().outcomes == ["changed"] * 3
    assert [path.name for path in site.file.parent.iterdir()] == [site.file.name]


def test_without_time_a_vm_fails_or_loses_its_power(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """The failure names the variable to raise."""
    times = iter([0.0])
    monkeypatch.setattr(_Site, "get_time", lambda self: next(times, 5000.0))
    late = site.run(cold=False)
    assert {(entry["outcome"], entry["error"], entry["powered_off"]) for entry in late.report} == {
        ("failed", LATE, False)
    }
    times = iter([0.0])
    cut = site.run()
    assert {(entry["outcome"], entry["error"], entry["powered_off"]) for entry in cut.report} == {
        ("changed", None, True)
    }


def test_a_host_that_was_in_maintenance_stays_in_it(site: Site) -> None:
    """It is switched on again, for whoever works on it."""
    uuid = next(host["uuid"] for host in site.sim.records("host") if host["name"] == "host-1")
    for vm in site.sim.records("vm"):
        if vm["hostUuid"] == uuid:
            site.sim.change("vm", vm["uuid"], state="Stopped")
    site.sim.change("host", uuid, state="Maintenance")
    site.run(hosts=True)
    assert site.run(state="running", hosts=True).result["failed_count"] == 0
    (host,) = (host for host in site.sim.records("host") if host["uuid"] == uuid)
    assert (host["state"], host["ipmiPowerStatus"]) == ("Maintenance", "POWER_ON")


def test_hosts_return_to_their_states(site: Site) -> None:
    """One that was disabled stays disabled; one that is gone is named, and the others start."""
    hosts = {host["name"]: host["uuid"] for host in site.sim.records("host")}
    site.sim.change("host", hosts["host-1"], state="Disabled")
    site.run(hosts=True, maintenance=True)
    memory = site.memory
    memory["hosts"].append({"uuid": "f" * 32, "name": "scrapped", "state": "Enabled"})
    site.file.write_text(json.dumps(memory), encoding="utf-8")
    ran = site.run(state="running", hosts=True)
    assert ran.warnings == ["These hosts were running before the shutdown, and no longer exist: scrapped"]
    states = {host["name"]: host["state"] for host in site.sim.records("host")}
    assert (states["host-1"], set(ran.outcomes)) == ("Disabled", {"changed"})
    assert {state for name, state in states.items() if name != "host-1"} == {"Enabled"}
    assert site.memory == {**memory, "is_started": True}


def test_vms_that_cannot_be_read_again_keep_their_hosts_on(site: Site) -> None:
    """What runs on a host is not guessed."""
    site.sim.fault("fail", operation="QueryVmInstance", skip=1, count=None, error={"code": "SYS.1006", "details": "no"})
    ran = site.run(hosts=True, groups=[], remaining=False)
    hosts = [entry for entry in ran.report if entry["outcome"] == "failed"]
    assert hosts
    for entry in hosts:
        assert entry["error"].startswith("It is not known which VMs still run on it: ")
    assert "ShutdownHost" not in ran.calls


def test_a_group_that_does_not_start_holds_up_the_others(site: Site) -> None:
    """They may need its VMs. The next start begins with it again."""
    site.run(groups=GROUPS)
    site.sim.fault("fail", operation="StartVmInstance", error={"code": "SYS.1006", "details": "no memory"})
    ran = site.run(state="running")
    assert [(entry["name"], entry["outcome"]) for entry in ran.report] == [
        ("vm-5", "failed"),
        ("vm-3", "skipped"),
        ("vm-1", "skipped"),
    ]
    assert ran.report[1]["error"] == "a VM of an earlier group failed"
    assert ran.message.startswith("1 of 3 VMs and hosts failed: vm-5: StartVmInstance failed")
    assert "is_started" not in site.memory
    assert ran.result["failures"][0].startswith(f"VM vm-5 ({ran.report[0]['uuid']}): ")
    assert site.run(state="running").outcomes == ["changed"] * 3


def test_check_mode_predicts_the_end_of_a_shutdown_without_maintenance(site: Site) -> None:
    """It stops no VM, so the hosts of those that it would stop count as empty, and the others do not."""
    assert {entry["outcome"] for entry in site.run(check=True, hosts=True).report} == {"changed", "skipped"}
    predicted = site.run(check=True, hosts=True, remaining=False)
    ran = site.run(hosts=True, remaining=False)
    assert predicted.report == ran.report
    busy = [entry for entry in ran.report if entry["error"] == "VMs still run on it"]
    assert {entry["outcome"] for entry in busy} == {"failed"}


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"file": "site.json"}, "site_shutdown_file must be an absolute path, not site.json"),
        ({"time_limit": 100, "hosts": True}, "site_shutdown_time_limit must be above site_shutdown_host_time"),
        ({"concurrency": 0}, "site_shutdown_concurrency must be at least 1"),
        ({"groups": [{"name": "a"}]}, "the group a of site_shutdown_groups needs vms or query"),
        ({"groups": [GROUPS[0], GROUPS[0]]}, "several groups of site_shutdown_groups have the name web"),
        ({"groups": [{"name": "a", "vms": "vm-l"}]}, "no VM, or several, has the name vm-l (the group a)"),
        (
            {"groups": [{"name": "a", "query": ["name=x"]}]},
            "These groups have no VM: a. Check them, or set site_shutdown_allow_empty.",
        ),
        ({"state": "running"}, "does not exist, so it is not known what was running"),
        ({"time_limitt": 1}, "Did you mean site_shutdown_time_limit?"),
        ({"file": "/nowhere/site.json"}, "/nowhere/site.json cannot be written"),
    ],
)
def test_each_check_has_its_message(site: Site, variables: dict[str, Any], message: str) -> None:
    ran = site.run(**variables)
    assert message in ran.message
    assert (ran.calls, site.list_running()) == ([], ["vm-1", "vm-3", "vm-5"])


@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"groups": [{}], "hosts": []}'])
def test_another_file_is_refused(site: Site, content: str) -> None:
    site.file.write_text(content, encoding="utf-8")
    for state in ("stopped", "running"):
        assert "is not a file of this role" in site.run(state=state).message
    assert site.file.read_text(encoding="utf-8") == content
