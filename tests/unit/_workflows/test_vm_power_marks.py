"""What the role vm_power puts back: all that it has stopped, whatever ended its runs, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.plugin_utils._site import marked_vms
from ansible_collections.virtinfra.manager.plugins.plugin_utils._workflows import vm_power

from simulator.launch import Simulator
from simulator.state.store import seeded_uuid
from support.module_runner import ModuleRunner
from support.workflow_runner import WorkflowRun, WorkflowRunner

GROUPS: list[dict[str, Any]] = [
    {"name": "web", "query": ["name~=web-%"]},
    {"name": "db", "vms": ["db-1", "db-2"]},
]
NAMES = ("web-1", "web-2", "web-3", "db-1", "db-2")
UUIDS = {name: seeded_uuid("vm", number) for number, name in enumerate(NAMES, 1)}

ALL_RUN = dict.fromkeys(NAMES, "Running") | {"db-2": "Stopped"}

# How services of the two kinds differ: one adds user tags, the other attaches tag patterns.
SERVICES = {"adds tags": [], "attaches patterns": ["CreateUserTag"]}


@dataclass
class Site:
    """A service with the VMs of NAMES, all but db-2 running, and runs of the role, each by another controller."""

    sim: Simulator
    missing: list[str]

    def begin(self, seconds: float = 0.0) -> None:
        """Begin with all VMs as they were, on a service that takes so many seconds to stop or start one."""
        latencies = dict.fromkeys(("StopVmInstance", "StartVmInstance"), seconds)
        self.sim.reset(vms=5, user_tags=0, local_storages=0, missing_operations=self.missing, latencies=latencies)
        for name, uuid in UUIDS.items():
            self.sim.change("vm", uuid, name=name, state=ALL_RUN[name])

    def run(self, state: str, *, check: bool = False, **variables: Any) -> WorkflowRun:
        """Run the role."""
        return WorkflowRunner(self.sim)("vm_power", build_variables(state, variables), check)

    def kill(self, after: int, state: str, **variables: Any) -> bool:
        """Run the role until its controller is killed; return whether it was."""
        return WorkflowRunner(self.sim).kill(after, "vm_power", build_variables(state, variables))

    @property
    def states(self) -> dict[str, str]:
        """The states of the VMs, by their names at the beginning."""
        states = {vm["uuid"]: vm["state"] for vm in self.sim.records("vm")}
        return {name: states[uuid] for name, uuid in UUIDS.items()}

    @property
    def tags(self) -> dict[str, str]:
        """The user tags, by the names of the VMs. The test fails if a VM has several."""
        names = {uuid: name for name, uuid in UUIDS.items()}
        tags = [(names[tag["resourceUuid"]], tag["tag"]) for tag in self.sim.records("usertag")]
        assert len(dict(tags)) == len(tags), tags
        return dict(tags)


def build_variables(state: str, variables: Mapping[str, Any]) -> dict[str, Any]:
    """Return the variables of the role. What puts back needs no groups."""
    groups = {"groups": GROUPS} if state in ("stopped", "running") else {}
    return {f"vm_power_{name}": value for name, value in {"state": state, **groups, **variables}.items()}


@pytest.fixture(params=[*SERVICES.values()], ids=[*SERVICES])
def site(request: pytest.FixtureRequest, sim: Simulator) -> Site:
    site = Site(sim, request.param)
    site.begin()
    return site


def test_a_renamed_vm_is_restored(site: Site) -> None:
    """A renamed VM stayed off: it did not meet the condition of its group any more."""
    ran = site.run("stopped")
    assert site.tags == {
        name: f"virtinfra.manager vm_power default 0{1 if name.startswith('web') else 2} Running"
        for name, state in ALL_RUN.items()
        if state == "Running"
    }
    site.sim.change("vm", UUIDS["web-2"], name="intranet")
    predicted, restored = site.run("restored", check=True), site.run("restored")
    assert predicted.calls == []
    assert predicted.report == restored.report
    assert [(entry["group"], entry["vm"]) for entry in restored.report] == [
        ("2", "db-1"),
        ("1", "intranet"),
        ("1", "web-1"),
        ("1", "web-3"),
    ]
    assert (site.states, site.tags) == (ALL_RUN, {})
    assert len(ran.report) == len(restored.report) + 1
    again = site.run("restored")
    assert (again.report, again.calls, again.message) == ([], [], "No VM has a mark with the label default")
    assert again.warnings == []


@pytest.mark.parametrize("state", ["restored", "unmarked"])
def test_marks_of_another_label(site: Site, state: str) -> None:
    site.run("stopped", groups=GROUPS[:1], label="rack-7")
    other = site.run(state)
    assert (other.report, other.calls) == ([], [])
    assert other.warnings == ["No VM has a mark with the label default. There are marks with these: rack-7"]
    assert site.run(state, label="rack-7").warnings == []


def test_what_several_runs_have_stopped_is_restored(site: Site) -> None:
    """The VMs of the first run, which had failed, stayed off."""
    site.sim.fault("fail", operation="StopVmInstance", skip=1, error={"code": "ID.1002", "details": "no"})
    first = site.run("stopped", concurrency=1)
    assert sorted(first.outcomes) == ["changed", "changed", "failed", "skipped", "skipped"]
    # What was not stopped has no mark.
    assert len(site.tags) == 2
    assert site.run("stopped").outcomes.count("changed") == 2
    site.run("restored")
    assert (site.states, site.tags) == (ALL_RUN, {})


def test_guests_that_stop_late_are_restored(site: Site) -> None:
    """Guests that stop late have failed, but are marked, so that an undo starts them."""
    site.sim.configure(latencies={"StopVmInstance": 1000.0})
    ran = site.run("stopped", cold=False, grace_timeout=2, groups=GROUPS[:1])
    assert ran.outcomes == ["failed"] * 3
    site.sim.advance()
    assert site.states["web-1"] == "Stopped"
    assert site.run("restored").outcomes == ["changed"] * 3
    assert (site.states, site.tags) == (ALL_RUN, {})


@pytest.mark.parametrize("state", ["restored", "running"])
def test_a_stop_in_flight_is_no_end(site: Site, state: str) -> None:
    """The VM looks as it was, and goes off later, without a mark: the role has to wait, or to fail by name."""
    site.sim.configure(latencies={"StopVmInstance": 1000.0})
    site.run("stopped", cold=False, grace_timeout=2, groups=GROUPS[:1])
    for name in NAMES[:3]:
        # A service shows a VM as running whose stop waits for its turn.
        site.sim.change("vm", UUIDS[name], state="Running")
    groups: Any = {"groups": GROUPS[:1]} if state == "running" else {}
    ran = site.run(state, timeout=1, **groups)
    late = [entry for entry in ran.report if entry["outcome"] == "failed"]
    assert sorted(entry["vm"] for entry in late) == ["web-1", "web-2", "web-3"]
    assert "an action of an earlier run is still in flight (job " in late[0]["error"]
    assert len(site.tags) == 3
    site.sim.advance()
    site.run("restored")
    assert (site.states, site.tags) == (ALL_RUN, {})


def test_a_stop_in_flight_is_awaited(site: Site) -> None:
    site.sim.configure(latencies={"StopVmInstance": 0.2})
    site.run("stopped", cold=False, grace_timeout=2, groups=GROUPS[:1])
    ran = site.run("restored", timeout=100000)
    assert ran.outcomes == ["changed"] * 3
    assert (site.states, site.tags) == (ALL_RUN, {})


@pytest.mark.parametrize("step", range(3))
def test_a_killed_controller_leaves_nothing_off(site: Site, step: int) -> None:
    """Killed after some number of requests, most in the middle of slow stops; another one goes on.

    The next one stops the rest, or restores at once, or is killed, too, while it restores.
    """
    for after in range(8 + step, 60, 12):
        site.begin(seconds=0.01)
        was_killed = site.kill(after, "stopped", grace_timeout=100000)
        if step == 1 and was_killed:
            assert site.run("stopped", grace_timeout=100000).result["failed_count"] == 0
            assert set(site.states.values()) == {"Stopped"}
        if step == 2:
            site.kill(after, "restored", timeout=100000)
        restored = site.run("restored", timeout=100000)
        assert restored.result["failed_count"] == 0, restored.report
        site.sim.settle()
        assert (site.states, site.tags) == (ALL_RUN, {}), after


def test_done_is_what_a_read_after_the_last_action_shows(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A person starts a VM at the end of the run."""
    release_vms = marked_vms.release

    def release_and_start(*arguments: Any) -> None:
        release_vms(*arguments)
        site.sim.change("vm", UUIDS["web-1"], state="Running")

    monkeypatch.setattr(vm_power, "release", release_and_start)
    ran = site.run("stopped", groups=GROUPS[:1])
    assert [(entry["vm"], entry["error"]) for entry in ran.report if entry["outcome"] == "failed"] == [
        ("web-1", "It is Running after the last action. Run the role again.")
    ]


def test_two_controllers_at_the_same_time(site: Site) -> None:
    """Each VM is stopped and started, and has one mark in between."""
    for latency in (0.0, 0.01):
        site.begin(seconds=latency)
        for state in ("stopped", "restored"):
            run = partial(site.run, state, timeout=100000, grace_timeout=100000)
            with ThreadPoolExecutor(2) as pool:
                ran = [future.result() for future in (pool.submit(run), pool.submit(run))]
            assert [each.result["failed_count"] for each in ran] == [0, 0], [each.message for each in ran]
            if state == "stopped":
                assert (set(site.states.values()), len(site.tags)) == ({"Stopped"}, 4)
        assert (site.states, site.tags) == (ALL_RUN, {})


def test_runs_with_other_labels_restore_only_what_they_have_stopped(site: Site) -> None:
    site.run("stopped", label="night", groups=GROUPS[:1])
    site.run("stopped", label="disks")
    assert [site.tags["web-1"].split()[2], site.tags["db-1"].split()[2]] == ["night", "disks"]
    none = site.run("restored", label="patch")
    of_night = [f"web-{number} (vm_power, night)" for number in (1, 2, 3)]
    assert (none.report, none.result["next"]["left"]) == ([], [*of_night, "db-1 (vm_power, disks)"])
    # Each run names the VMs that another run has left off.
    for state in ("stopped", "running"):
        assert site.run(state, label="disks", groups=GROUPS[1:]).result["next"]["left"] == of_night
    assert site.run("stopped", label="disks").result["next"]["left"] == of_night
    site.sim.change("vm", UUIDS["db-2"], state="Stopped")
    site.run("unmarked", label="disks")
    site.sim.change("vm", UUIDS["db-1"], state="Running")
    site.run("stopped", label="disks")
    assert [entry["vm"] for entry in site.run("restored", label="disks").report] == ["db-1"]
    assert site.states["web-1"] == "Stopped"
    site.run("restored", label="night")
    assert (site.states, site.tags) == (ALL_RUN, {})


def test_a_stale_mark_is_replaced(site: Site) -> None:
    """A person has started the VM, so it belongs to the next run that stops it."""
    site.run("stopped", label="night", groups=GROUPS[:1])
    ModuleRunner(site.sim)("vm", {"name": "web-1", "state": "running"})
    assert site.run("stopped", label="disks", groups=GROUPS[:1]).outcomes.count("changed") == 1
    assert [site.tags[name].split()[2] for name in NAMES[:3]] == ["disks", "night", "night"]


def test_what_a_person_has_done_meanwhile_wins(site: Site) -> None:
    """A VM that was started or paused has no mark any more, and one that was destroyed is named."""
    site.run("stopped")
    site.sim.change("vm", UUIDS["web-1"], state="Running")
    site.sim.change("vm", UUIDS["web-2"], state="Paused")
    site.sim.change("vm", UUIDS["web-3"], state="Destroyed")
    ran = site.run("restored")
    outcomes = {entry["vm"]: (entry["outcome"], entry["error"]) for entry in ran.report}
    assert outcomes == {
        "web-1": ("unchanged", None),
        "web-2": ("unchanged", None),
        "web-3": ("failed", "it had run, and was destroyed meanwhile. Its mark was taken off"),
        "db-1": ("changed", None),
    }
    assert site.tags == {}
    assert site.run("restored").report == []


def test_vms_that_are_started_have_no_marks_any_more(site: Site) -> None:
    site.run("stopped")
    assert site.run("running").outcomes == ["changed"] * 5
    assert site.tags == {}


def test_marks_can_be_taken_off(site: Site) -> None:
    site.run("stopped")
    predicted = site.run("unmarked", check=True)
    assert (predicted.calls, len(site.tags)) == ([], 4)
    ran = site.run("unmarked")
    assert ran.report == predicted.report
    assert ran.outcomes == ["changed"] * 4
    assert (site.tags, set(site.states.values())) == ({}, {"Stopped"})
    assert site.run("restored").report == []


OUTSIDE = "concerns all VMs with marks of the label default, also these, which are in no group of vm_power_groups: db-1"


@pytest.mark.parametrize(
    ("state", "remedy"),
    [
        (
            "restored",
            "To start them too, omit vm_power_groups. To start only the VMs of its groups, set vm_power_state=run",
        ),
        ("unmarked", "To take off their marks too, omit vm_power_groups"),
    ],
)
def test_vms_outside_the_groups_are_not_put_back_by_mistake(site: Site, state: str, remedy: str) -> None:
    site.run("stopped")
    groups = [{"name": "web", "vms": ["web-1", UUIDS["web-2"], "web-3"]}]
    ran = site.run(state, groups=groups)
    assert ran.message.startswith(f"No VM was changed. vm_power_state={state} {OUTSIDE}. {remedy}")
    assert (ran.calls, len(site.tags)) == ([], 4)
    assert site.run("running", groups=groups).outcomes == ["changed"] * 3
    assert [name for name, tag in site.tags.items() if tag] == ["db-1"]


@pytest.mark.parametrize("state", ["restored", "unmarked"])
def test_vms_outside_the_groups_are_named(site: Site, state: str) -> None:
    """A VM of a group may have another name since it was stopped, so what has a mark is put back."""
    site.run("stopped")
    ran = site.run(state, check=True, groups=[{"name": "web", "vms": ["web-1", UUIDS["web-2"], "web-3", "old-name"]}])
    assert ran.warnings[0] == f"vm_power_state={state} {OUTSIDE}. Use a label for each group"
    assert site.run(state, check=True, groups=GROUPS).warnings == site.run(state, check=True).warnings


@pytest.mark.parametrize("state", ["running", "stopped"])
def test_groups_that_select_vms_by_the_state_to_reach(site: Site, state: str) -> None:
    groups = [{"name": "all", "query": [f"state = {state.title()}"]}]
    ran = site.run(state, groups=groups, allow_empty=True)
    assert ran.warnings[0].startswith(
        f"These groups of vm_power_groups select only VMs that are {state.title()} already"
    )


def test_what_is_stopped_is_marked(site: Site) -> None:
    """A stopped VM is marked with its state. A paused VM is paused again, and one that never ran is left alone."""
    states = {"web-1": "Paused", "web-2": "Unknown", "web-3": "Created"}
    for name, state in states.items():
        site.sim.change("vm", UUIDS[name], state=state)
    ran = site.run("stopped", groups=GROUPS[:1])
    assert {entry["vm"]: entry["outcome"] for entry in ran.report} == {
        "web-1": "changed",
        "web-2": "changed",
        "web-3": "unchanged",
    }
    assert {name: tag.split()[-1] for name, tag in site.tags.items()} == {"web-1": "Paused", "web-2": "Running"}
    site.run("restored")
    assert site.states | {"db-1": ""} == {**ALL_RUN, **states, "web-2": "Running", "db-1": ""}
    assert site.tags == {}


def test_a_group_that_cannot_be_restored_holds_up_the_others(site: Site) -> None:
    site.run("stopped")
    site.sim.fault("fail", operation="StartVmInstance", error={"code": "SYS.1006", "details": "no memory"})
    ran = site.run("restored")
    assert [(entry["vm"], entry["outcome"]) for entry in ran.report] == [
        ("db-1", "failed"),
        ("web-1", "skipped"),
        ("web-2", "skipped"),
        ("web-3", "skipped"),
    ]
    assert len(site.tags) == 4
    assert site.run("restored").outcomes == ["changed"] * 4


@pytest.mark.parametrize("state", ["restored", "running"])
def test_a_mark_that_remains_is_a_failure(site: Site, state: str) -> None:
    """A later run would start what a person has stopped."""
    site.run("stopped")
    for operation in ("DeleteTag", "DetachTagFromResources"):
        site.sim.fault("fail", operation=operation, count=None)
    ran = site.run(state)
    assert "its mark remains: " in ran.report[0]["error"]
    site.sim.clear_faults()
    assert site.run("restored").result["failed_count"] == 0
    assert (site.states["web-1"], site.tags) == ("Running", {})


def test_without_permission_nothing_is_stopped(site: Site) -> None:
    for operation in ("CreateUserTag", "CreateTag", "AttachTagToResources"):
        site.sim.fault("fail", operation=operation, count=None, error={"code": "ID.1002", "details": "not permitted"})
    ran = site.run("stopped")
    assert "Nothing was changed, because no object could be marked" in ran.message
    assert (site.states, "StopVmInstance" in ran.calls) == (ALL_RUN, False)
    assert site.run("running").result["failed_count"] == 0


def test_a_vm_that_cannot_be_marked_is_not_stopped(site: Site) -> None:
    if site.missing:
        site.sim.configure(tags_per_object=1)
        ModuleRunner(site.sim)("vm", {"name": "web-1", "tags": ["mine"]})
    else:
        site.sim.fault("fail", operation="CreateUserTag", error={"code": "SYS.1006", "details": "the limit of tags"})
    ran = site.run("stopped", groups=GROUPS[:1])
    failed = [entry for entry in ran.report if entry["outcome"] == "failed"]
    assert [entry["error"].partition(":")[0] for entry in failed] == ["it was not stopped, because it cannot be marked"]
    assert [site.states[entry["vm"]] for entry in failed] == ["Running"]
    assert ran.outcomes.count("changed") == 2


def test_a_person_who_stops_a_vm_at_the_same_time(site: Site) -> None:
    """The VM will not have run, so it has no mark."""
    site.sim.configure(latencies={"StopVmInstance": 0.1}, early_states=True)
    ModuleRunner(site.sim)("vm", {"name": "web-1", "state": "stopped", "wait": False})
    assert site.run("stopped", groups=GROUPS[:1], grace_timeout=100000).result["failed_count"] == 0
    assert sorted(site.tags) == ["web-2", "web-3"]


@pytest.mark.parametrize("fault", ["duplicate", "drop_after"])
def test_lost_and_repeated_calls(site: Site, fault: str) -> None:
    """The ids of the calls are derived, and the service knows a repeated one by them."""
    for operation in ("StopVmInstance", "CreateUserTag", "AttachTagToResources"):
        site.sim.fault(fault, operation=operation, count=2)
    assert site.run("stopped").result["failed_count"] == 0
    site.run("restored")
    assert (site.states, site.tags) == (ALL_RUN, {})


def test_requests_of_a_large_run(sim: Simulator) -> None:
    """On a service with tag patterns, marks cost few requests, however many VMs there are."""
    sim.reset(vms=120, user_tags=0, local_storages=0, missing_operations=["CreateUserTag"])
    groups = [{"name": "all", "query": []}]
    stopped = WorkflowRunner(sim)("vm_power", build_variables("stopped", {"groups": groups}))
    count = stopped.outcomes.count("changed")
    # How often a job is polled depends on the machine.
    others = [entry for entry in stopped.log if entry["operation"] not in ("StopVmInstance", "poll")]
    assert len(others) <= 2 * count + 40
    restored = WorkflowRunner(sim)("vm_power", build_variables("restored", {}))
    assert restored.outcomes == ["changed"] * count
    assert "DetachTagFromResources" in restored.calls


def test_requests_of_marks_that_are_added_one_by_one(sim: Simulator) -> None:
    """The marks of a VM cost one call in each direction, with its polls, and nothing else that grows with the VMs."""
    sim.reset(vms=120, user_tags=0, local_storages=0, latency=0.0)
    stopped = WorkflowRunner(sim)("vm_power", build_variables("stopped", {"groups": [{"name": "all", "query": []}]}))
    restored = WorkflowRunner(sim)("vm_power", build_variables("restored", {}))
    count = stopped.outcomes.count("changed")
    assert restored.outcomes == ["changed"] * count
    for ran, call, other in ((stopped, "StopVmInstance", "CreateUserTag"), (restored, "StartVmInstance", "DeleteTag")):
        assert ran.calls.count(call) == ran.calls.count(other) == len(ran.calls) / 2 == count
        # What the VMs are is read as without marks, many of them with one request.
        assert sum(read.endswith(("UserTag", "Job")) for read in ran.reads) <= 3
