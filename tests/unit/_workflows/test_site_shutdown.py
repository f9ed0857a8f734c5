"""What the workflow site_shutdown stops, marks and starts."""

from __future__ import annotations

import socket
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.plugin_utils._site.power import Group, choose_group
from ansible_collections.virtinfra.manager.plugins.plugin_utils._site.site import Site as _Site
from ansible_collections.virtinfra.manager.plugins.plugin_utils._workflows.site_shutdown import (
    Plan,
    Settings,
    plan_shutdown,
)

from simulator.launch import Simulator
from support.module_runner import ModuleRunner
from support.workflow_runner import WorkflowRun, WorkflowRunner

SETTINGS = Settings()
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
    return [(name, [vm.name for vm in members]) for name, members in plan.groups if members]


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
        "no host has the name or uuid host-7 (site_shutdown_exclude_hosts)",
        "no VM has the name or uuid vm-9 (the group a of site_shutdown_groups)",
        "several VMs have the name vm-1 (the group a of site_shutdown_groups): give uuids",
        "these VMs are in several groups of site_shutdown_groups: vm-3",
        (
            "the service does not know the IPMI controllers of these hosts: host-1, host-2. Set them, or add the hosts"
            " to site_shutdown_exclude_hosts"
        ),
    ]


# ------------------------------------------------------------------------------------------------------------ workflow


# How services of the two kinds differ: one adds user tags, the other attaches tag patterns.
SERVICES = {"adds tags": [], "attaches patterns": ["CreateUserTag"]}


class Site:
    """A simulated site with five VMs, of which vm-2 and vm-4 are stopped."""

    def __init__(self, sim: Simulator, missing: list[str]) -> None:
        self.sim, self.missing = sim, missing

    def begin(self, **switches: Any) -> None:
        """Begin with all VMs as they were."""
        self.sim.reset(vms=5, user_tags=0, missing_operations=self.missing, **switches)

    def run(self, check: bool = False, **variables: Any) -> WorkflowRun:
        """Run the workflow for the VMs, and for hosts if ``hosts`` is true: the service has no IPMI of host-2."""
        return WorkflowRunner(self.sim)("site_shutdown", build_variables(variables), check)

    def kill(self, after: int, **variables: Any) -> bool:
        """Run the workflow until its controller is killed; return whether it was."""
        return WorkflowRunner(self.sim).kill(after, "site_shutdown", build_variables(variables))

    def list_running(self) -> list[str]:
        """Return the names of the VMs that run."""
        return [vm["name"] for vm in self.sim.records("vm") if vm["state"] == "Running"]

    def change(self, name: str, **members: Any) -> None:
        """Change a VM or host, as a person does."""
        for kind in ("vm", "host"):
            for record in self.sim.records(kind):
                if record["name"] == name:
                    self.sim.change(kind, record["uuid"], **members)

    @property
    def tags(self) -> dict[str, str]:
        """The last words of the user tags, by the names of the VMs and hosts. The test fails if one has several."""
        names = {record["uuid"]: record["name"] for kind in ("vm", "host") for record in self.sim.records(kind)}
        tags = [
            (names[tag["resourceUuid"]], tag["tag"].partition(" default ")[2]) for tag in self.sim.records("usertag")
        ]
        assert len(dict(tags)) == len(tags), tags
        return dict(tags)


def build_variables(variables: dict[str, Any]) -> dict[str, Any]:
    """Return the variables of the role."""
    given = {"hosts": False, **variables}
    if given["hosts"]:
        given.setdefault("exclude_hosts", ["host-2"])
    return {f"site_shutdown_{name}": value for name, value in given.items()}


@pytest.fixture(params=[*SERVICES.values()], ids=[*SERVICES])
def site(request: pytest.FixtureRequest, sim: Simulator) -> Site:
    site = Site(sim, request.param)
    site.begin()
    return site


GROUPS = [{"name": "web", "vms": "vm-1"}, {"name": "db", "vms": ["vm-3", "vm-2"]}]


def test_a_site_is_shut_down_and_started(site: Site) -> None:
    predicted = site.run(check=True, groups=GROUPS, hosts=True)
    assert predicted.calls == []
    ran = site.run(groups=GROUPS, hosts=True, maintenance=True)
    assert predicted.outcomes == ran.outcomes
    vms = [entry for entry in ran.report if entry["kind"] == "VM"]
    assert [(entry["group"], entry["name"], entry["outcome"]) for entry in vms] == [
        ("web", "vm-1", "changed"),
        ("db", "vm-3", "changed"),
        ("all others", "vm-5", "changed"),
    ]
    assert [entry["outcome"] for entry in ran.report if entry["kind"] == "host"] == ["changed", "changed", "skipped"]
    assert site.list_running() == []
    before = site.tags
    assert before == {
        "vm-1": "01 Running",
        "vm-3": "02 Running",
        "vm-5": "03 Running",
        "host-1": "Enabled",
        "host-3": "Enabled",
    }
    assert (site.run(groups=GROUPS, hosts=True).calls, site.tags) == ([], before)
    predicted, started = site.run(check=True, state="running", hosts=True), site.run(state="running", hosts=True)
    assert predicted.report == started.report
    assert [entry["name"] for entry in started.report if entry["kind"] == "VM"] == ["vm-5", "vm-3", "vm-1"]
    assert site.list_running() == ["vm-1", "vm-3", "vm-5"]
    again = site.run(state="running", hosts=True)
    assert (again.report, again.calls, again.message) == ([], [], "Nothing has a mark with the label default")
    assert (site.tags, again.warnings) == ({}, [])


@pytest.mark.parametrize("state", ["running", "unmarked"])
def test_marks_of_another_label(site: Site, state: str) -> None:
    site.run(groups=GROUPS, hosts=True, label="west")
    other = site.run(state=state, hosts=True)
    assert (other.report, other.calls) == ([], [])
    assert other.warnings == ["No VM or host has a mark with the label default. There are marks with these: west"]


def test_a_start_after_two_shutdowns(site: Site) -> None:
    """VMs that the first one has stopped were started no more, and a warning in the second one said so."""
    site.run(groups=GROUPS)
    site.change("vm-1", state="Running")
    second = site.run(groups=GROUPS)
    assert ([entry["name"] for entry in second.report], second.warnings) == (["vm-1"], [])
    assert [entry["name"] for entry in site.run(state="running").report] == ["vm-5", "vm-3", "vm-1"]
    assert (site.list_running(), site.tags) == (["vm-1", "vm-3", "vm-5"], {})


def test_a_second_power_cut_in_the_middle_of_a_start(site: Site) -> None:
    """The start was killed after one group. Two VMs were never started."""
    for after in range(6, 40, 4):
        site.begin()
        assert site.run(groups=GROUPS, hosts=True).result["failed_count"] == 0
        site.kill(after, state="running", hosts=True)
        assert site.run(groups=GROUPS, hosts=True).result["failed_count"] == 0
        assert site.list_running() == []
        assert site.run(state="running", hosts=True).result["failed_count"] == 0
        assert (site.list_running(), site.tags) == (["vm-1", "vm-3", "vm-5"], {}), after


def test_a_killed_controller_leaves_nothing_off(site: Site) -> None:
    """Killed after some number of requests, most in the middle of slow stops; another one starts the site."""
    power = {host["name"]: host["ipmiPowerStatus"] for host in site.sim.records("host")}
    for after in range(8, 80, 12):
        site.begin(latencies={"StopVmInstance": 0.01, "ShutdownHost": 0.01})
        site.kill(after, groups=GROUPS, hosts=True, maintenance=True, grace_timeout=100000, time_limit=900000)
        started = site.run(state="running", hosts=True, start_timeout=100000)
        assert started.result["failed_count"] == 0, started.message
        site.sim.settle()
        assert (site.list_running(), site.tags) == (["vm-1", "vm-3", "vm-5"], {}), after
        hosts = {host["name"]: (host["state"], host["ipmiPowerStatus"]) for host in site.sim.records("host")}
        assert hosts == {name: ("Enabled", status) for name, status in power.items()}, after


def test_a_vm_that_was_destroyed_is_named(site: Site) -> None:
    """A destroyed VM does not stop the start of the following groups."""
    site.run(groups=GROUPS)
    site.change("vm-5", state="Destroyed")
    ran = site.run(state="running")
    assert [(entry["name"], entry["outcome"]) for entry in ran.report] == [
        ("vm-5", "failed"),
        ("vm-3", "changed"),
        ("vm-1", "changed"),
    ]
    assert ran.report[0]["error"] == "it had run, and was destroyed meanwhile. Its mark was taken off"
    assert (site.run(state="running").report, site.tags) == ([], {})


def test_the_vm_of_the_service_keeps_running(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once stopped, the VM of the service could not start itself."""
    own = next(vm for vm in site.sim.records("vm") if vm["name"] == "vm-3")
    address = (socket.AF_INET, socket.SOCK_STREAM, 6, "", (own["vmNics"][0]["ip"], 0))
    monkeypatch.setattr(socket, "getaddrinfo", lambda *dummy: [address])
    ran = site.run(hosts=True, exclude_hosts=["host-2"])
    assert ran.warnings == ["The VM vm-3 has the address of the service, so it keeps running, and its host stays on"]
    assert site.list_running() == ["vm-3"]
    (host,) = (host for host in site.sim.records("host") if host["uuid"] == own["hostUuid"])
    assert host["ipmiPowerStatus"] == "POWER_ON"


def test_without_permission_nothing_is_stopped(site: Site) -> None:
    for operation in ("CreateUserTag", "CreateTag", "AttachTagToResources"):
        site.sim.fault("fail", operation=operation, count=None, error={"code": "ID.1002", "details": "not permitted"})
    ran = site.run(hosts=True)
    assert "Nothing was changed, because no object could be marked" in ran.message
    assert (site.list_running(), "StopVmInstance" in ran.calls) == (["vm-1", "vm-3", "vm-5"], False)


def test_a_vm_that_cannot_be_marked_is_stopped_and_named(site: Site) -> None:
    """The VM would also stop without power."""
    if site.missing:
        site.sim.configure(tags_per_object=1)
        ModuleRunner(site.sim)("vm", {"name": "vm-3", "tags": ["mine"]})
    else:
        site.sim.fault("fail", operation="CreateUserTag", error={"code": "SYS.1006", "details": "the limit of tags"})
    ran = site.run(groups=GROUPS)
    assert site.list_running() == []
    (failed,) = (entry for entry in ran.report if entry["outcome"] == "failed")
    assert failed["error"].startswith("A start will not start it, because it cannot be marked: ")


def test_marks_can_be_taken_off(site: Site) -> None:
    site.run(hosts=True)
    predicted, ran = site.run(check=True, state="unmarked"), site.run(state="unmarked")
    assert predicted.calls == []
    assert ran.report == predicted.report
    assert (set(ran.outcomes), site.tags, site.list_running()) == ({"changed"}, {}, [])


def test_other_labels_are_left_alone(site: Site) -> None:
    site.run(label="west")
    ran = site.run(state="running")
    assert (ran.report, site.list_running()) == ([], [])
    assert len(ran.result["next"]["left"]) == len(site.tags)
    assert {name.partition(" ")[2] for name in ran.result["next"]["left"]} == {"(site_shutdown, west)"}


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
    # The VMs run on the other hosts.
    assert len(objects) == len([host for host in site.sim.records("host") if host["status"] == "Disconnected"])


def test_only_some_hosts_are_switched_off(site: Site) -> None:
    """Excluded hosts count only if they are among these hosts."""
    ran = site.run(hosts=True, host_query=["name=host-1"], exclude_hosts=[])
    assert [entry["name"] for entry in ran.report if entry["kind"] == "host"] == ["host-1"]


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
    """The host is switched on again, for the person who works on it."""
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
    """A host that was disabled stays disabled, and a host may be renamed meanwhile."""
    hosts = {host["name"]: host["uuid"] for host in site.sim.records("host")}
    site.sim.change("host", hosts["host-1"], state="Disabled")
    site.run(hosts=True, maintenance=True)
    gone = next(host for host in site.sim.records("host") if host["name"] == "host-3")
    site.sim.change("host", gone["uuid"], name="scrapped")
    ran = site.run(state="running", hosts=True)
    states = {host["name"]: host["state"] for host in site.sim.records("host")}
    assert (states["host-1"], set(ran.outcomes)) == ("Disabled", {"changed"})
    assert {state for name, state in states.items() if name != "host-1"} == {"Enabled"}


def test_a_host_that_a_person_has_disabled_stays_disabled(site: Site) -> None:
    site.run(hosts=True)
    site.change("host-1", state="Disabled")
    ran = site.run(state="running", hosts=True)
    assert ran.warnings == ["These hosts stay disabled, because somebody has disabled them since the shutdown: host-1"]
    states = {host["name"]: (host["state"], host["ipmiPowerStatus"]) for host in site.sim.records("host")}
    assert (states["host-1"], site.tags) == (("Disabled", "POWER_ON"), {})


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
    """The other groups may need its VMs. The next start begins with this group again."""
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
    assert sorted(site.tags) == ["vm-1", "vm-3", "vm-5"]
    assert ran.result["failures"][0].startswith(f"VM vm-5 ({ran.report[0]['uuid']}): ")
    assert site.run(state="running").outcomes == ["changed"] * 3


def test_check_mode_predicts_the_end_of_a_shutdown_without_maintenance(site: Site) -> None:
    """Check mode stops no VM. A host counts as empty if all of its VMs would be stopped."""
    assert {entry["outcome"] for entry in site.run(check=True, hosts=True).report} == {"changed", "skipped"}
    predicted = site.run(check=True, hosts=True, remaining=False)
    ran = site.run(hosts=True, remaining=False)
    assert predicted.report == ran.report
    busy = [entry for entry in ran.report if entry["error"] == "VMs still run on it"]
    assert {entry["outcome"] for entry in busy} == {"failed"}


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"label": "West"}, "site_shutdown_label must have at most 40 of the characters"),
        ({"time_limit": 100, "hosts": True}, "site_shutdown_time_limit must be above site_shutdown_host_time"),
        ({"concurrency": 0}, "site_shutdown_concurrency must be at least 1"),
        ({"groups": [{"name": "a"}]}, "the group a of site_shutdown_groups needs vms or query"),
        ({"host_query": ["name!=host-1*"]}, "!= compares with the whole value. Write name!~=host-1%."),
        ({"groups": [GROUPS[0], GROUPS[0]]}, "several groups of site_shutdown_groups have the name web"),
        (
            {"groups": [{"name": "a", "vms": "vm-l"}]},
            "no VM has the name or uuid vm-l (the group a of site_shutdown_groups)",
        ),
        (
            {"groups": [{"name": "a", "query": ["name=x"]}]},
            "These groups have no VM: a. Check site_shutdown_groups, or set site_shutdown_allow_empty.",
        ),
        ({"hosts": True, "host_query": ["name=x"]}, "no host meets site_shutdown_host_query (name=x). Correct"),
        (
            {"groups": [GROUPS[0]], "exclude_vms": ["vm-1"]},
            "These groups have no VM: web (all of its VMs are excluded, see site_shutdown_exclude_vms). Check",
        ),
        (
            {"groups": [{"name": "a", "vms": "vm-1", "query": ["name=vm-3"]}]},
            "the name or uuid vm-1 (the group a of site_shutdown_groups, whose VMs must also meet its query)",
        ),
        *(
            ({"hosts": True, f"exclude_{name}": pattern}, ". Names are no patterns. Correct the variables.")
            for name, pattern in (("vms", "mgmt-*"), ("hosts", "host-1%"))
        ),
        (
            {"groups": [{"name": "a", "vms": "vm-*"}]},
            "Names are no patterns: use query of the group, such as name~=vm-%. Correct the variables.",
        ),
        ({"time_limitt": 1}, "Did you mean site_shutdown_time_limit?"),
    ],
)
def test_each_check_has_its_message(site: Site, variables: dict[str, Any], message: str) -> None:
    ran = site.run(**variables)
    assert message in ran.message
    assert (ran.calls, site.list_running()) == ([], ["vm-1", "vm-3", "vm-5"])
