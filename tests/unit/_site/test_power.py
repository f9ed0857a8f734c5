"""When the power of a VM is cut, and which VMs the workflow vm_power stops and starts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

import pytest
from ansible_collections.virtinfra.manager.plugins.plugin_utils._site.power import (
    Patience,
    PoweredVm,
    check_groups,
    choose_group,
    find_repeated,
    stop,
)
from ansible_collections.virtinfra.manager.plugins.plugin_utils._site.site import Site

from simulator.launch import Simulator
from support.workflow_runner import WorkflowRun, WorkflowRunner

DONE = {"changed": True, "failed": False}
UNCHANGED = {"changed": False, "failed": False}
LATE = {"changed": True, "failed": True, "msg": "the guest still runs", "error": {"code": "TIMEOUT"}}
REFUSED = {"changed": False, "failed": True, "msg": "the VM is migrating", "error": {"code": "SYS.1006"}}
UNREACHABLE = {"changed": False, "failed": True, "msg": "no answer", "error": {"code": "UNREACHABLE"}}
FORBIDDEN = {"changed": False, "failed": True, "msg": "no permission", "error": {"code": "ID.1002"}}

# What a batch is called with, and how many seconds pass.
Step = tuple[str, float, list[str]]


class FakeSite:
    """A site whose batches return prepared results and take prepared times, or as long as they may."""

    def __init__(self, *results: tuple[float | None, list[dict[str, Any]]], check_mode: bool = False) -> None:
        self.check_mode, self.now = check_mode, 1000.0
        self.steps: list[Step] = []
        self._results: Iterator[tuple[float | None, list[dict[str, Any]]]] = iter(results)

    def get_time(self) -> float:
        """Return the time."""
        return self.now

    def pause(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds

    def batch(self, module: str, objects: Sequence[dict[str, Any]], *dummy: Any, **common: Any) -> list[dict[str, Any]]:
        """Return the next results."""
        if not objects:
            return []
        self.steps.append((common["stop_type"], round(common["wait_timeout"]), [each["uuid"] for each in objects]))
        seconds, results = next(self._results)
        self.now += common["wait_timeout"] if seconds is None else seconds
        return results


def run_stop(
    site: FakeSite, count: int = 1, patience: Patience | None = None, concurrency: int = 10, cold: int | None = 60
) -> list[PoweredVm]:
    """Stop VMs that run, with 300 seconds for their guests."""
    vms = [PoweredVm(f"v{number}", f"vm-{number}", "web", "Running") for number in range(1, count + 1)]
    stop(cast(Site, site), vms, patience or Patience(300, 300, "vm_power_grace_timeout"), concurrency, cold)
    return vms


def test_the_power_is_cut_when_the_shutdown_has_not_ended_in_time() -> None:
    site = FakeSite((None, [LATE, DONE]), (5, [DONE]))
    late, done = run_stop(site, count=2)
    assert site.steps == [("grace", 300, ["v1", "v2"]), ("cold", 60, ["v1"])]
    assert (late.outcome.name, late.powered_off, late.outcome.reason) == ("changed", True, None)
    assert (done.outcome.name, done.powered_off) == ("changed", False)


@pytest.mark.parametrize("refusal", [REFUSED, UNREACHABLE])
def test_a_guest_that_was_refused_is_asked_again(refusal: dict[str, Any]) -> None:
    """A refusal is not a timeout: the guest keeps its power for the whole grace period."""
    site = FakeSite((2.8, [refusal]), (2.8, [refusal]), (10, [DONE]))
    (vm,) = run_stop(site)
    assert [kind for kind, *dummy in site.steps] == ["grace"] * 3
    assert (vm.outcome.name, vm.powered_off, site.now) == ("changed", False, 1000 + 2.8 + 5 + 2.8 + 5 + 10)


def test_the_power_is_cut_when_the_service_has_refused_all_the_time() -> None:
    site = FakeSite(*[(1, [REFUSED])] * 50, (5, [DONE]))
    (vm,) = run_stop(site)
    kinds = [kind for kind, *dummy in site.steps]
    assert kinds == ["grace"] * 50 + ["cold"]
    assert site.now - 1000 == pytest.approx(305, abs=5)
    assert vm.powered_off


def test_a_refused_guest_has_time_although_another_one_used_it_up() -> None:
    site = FakeSite((None, [LATE, REFUSED]), (20, [DONE]), (5, [DONE]))
    late, refused = run_stop(site, count=2)
    assert site.steps == [("grace", 300, ["v1", "v2"]), ("grace", 55, ["v2"]), ("cold", 60, ["v1"])]
    assert (late.powered_off, refused.powered_off) == (True, False)


def test_a_limit_decides_about_the_time() -> None:
    """A UPS has no more."""
    site = FakeSite((None, [LATE, REFUSED]), (5, [DONE, DONE]))
    vms = run_stop(site, count=2, patience=Patience(300, 300, "limit", limit=1100))
    assert site.steps == [("grace", 100, ["v1", "v2"]), ("cold", 60, ["v1", "v2"])]
    assert [vm.powered_off for vm in vms] == [True, True]


def test_without_time_the_power_is_cut_at_once_or_the_vm_fails() -> None:
    site = FakeSite((5, [DONE]))
    assert run_stop(site, patience=Patience(300, 300, "limit", limit=999))[0].powered_off
    assert [kind for kind, *dummy in site.steps] == ["cold"]
    (vm,) = run_stop(FakeSite(), patience=Patience(300, 300, "limit", limit=999), cold=None)
    assert (vm.outcome.name, vm.outcome.reason) == ("failed", "limit was over before it could be stopped")


@pytest.mark.parametrize("code", ["UNSUPPORTED", "INVALID", "NOT_FOUND", "ID.1002", "SYS.1018", "SYS.1019"])
def test_a_vm_that_cannot_be_asked_keeps_its_power(code: str) -> None:
    site = FakeSite((1, [{**FORBIDDEN, "error": {"code": code}}]))
    (vm,) = run_stop(site)
    assert (vm.outcome.name, vm.outcome.reason, len(site.steps)) == ("failed", "no permission", 1)


def test_rounds_of_a_group_share_its_time() -> None:
    site = FakeSite((100, [DONE] * 5))
    run_stop(site, count=5, concurrency=2, patience=Patience(300, 300, "limit"))
    assert site.steps == [("grace", 100, ["v1", "v2", "v3", "v4", "v5"])]


def test_check_mode_asks_once() -> None:
    site = FakeSite((0, [REFUSED]), check_mode=True)
    (vm,) = run_stop(site)
    assert (vm.outcome.name, len(site.steps)) == ("failed", 1)


def test_a_vm_whose_poll_failed_has_changed() -> None:
    """The VM was reported as unchanged, though this run stopped it."""
    site = FakeSite((5, [UNREACHABLE]), (5, [UNCHANGED]))
    (vm,) = run_stop(site)
    assert (vm.outcome.name, vm.outcome.is_changed, vm.powered_off) == ("changed", True, False)


def test_a_vm_that_stopped_before_its_power_was_cut() -> None:
    site = FakeSite((None, [LATE]), (5, [UNCHANGED]))
    (vm,) = run_stop(site)
    assert (vm.outcome.name, vm.powered_off) == ("changed", False)


def test_stopped_vms_need_nothing() -> None:
    site, vm = FakeSite(), PoweredVm("v1", "vm-1", "web", "Stopped")
    stop(cast(Site, site), [vm], Patience(300, 300, "limit"), 10, 60)
    assert vm.outcome.name == "unchanged"


# -------------------------------------------------------------------------------------------------------------- groups


def record(number: int, name: str) -> dict[str, str]:
    """Return a VM."""
    return {"uuid": f"v{number}", "name": name, "state": "Running"}


def test_members_of_groups() -> None:
    """All that meet the conditions, or those that are named, in that order."""
    found = [record(1, "web"), record(2, "web"), record(3, "db"), record(4, "v1")]
    assert choose_group({"name": "g"}, found).vms == found
    chosen = choose_group({"name": "g", "vms": ["db", "v2", "v1", "nobody", "web"]}, found)
    assert [vm["uuid"] for vm in chosen.vms] == ["v3", "v2", "v1"]
    assert chosen.selection.missing == ["nobody"]
    assert choose_group({"name": "g", "vms": ["web"]}, found).find_problems("groups") == [
        "several VMs have the name web (the group g of groups): give uuids"
    ]
    assert choose_group({"name": "g", "vms": []}, found).vms == []
    assert find_repeated([choose_group({"name": name, "vms": ["db"]}, found) for name in "ab"]) == ["db"]


def test_groups_that_cannot_be_read() -> None:
    assert check_groups([{"name": "a", "vms": []}, {"name": "b", "query": []}], "groups") is None
    spared = [{"name": "a", "query": ["name!=vm-1,vm-3"]}]
    assert check_groups(spared, "groups") == (
        "the group a of groups: the condition 'name!=vm-1,vm-3': != compares with one value. Write name!?=vm-1,vm-3."
    )
    assert check_groups([{"name": "a"}], "groups") == "the group a of groups needs vms or query"
    twice = [{"name": "a", "vms": []}] * 2
    assert check_groups(twice, "groups") == "several groups of groups have the name a"


# ------------------------------------------------------------------------------------------------------------ workflow


@pytest.fixture
def service(sim: Simulator) -> Simulator:
    """A simulator with five VMs, of which vm-2 and vm-4 are stopped."""
    sim.reset(vms=5)
    return sim


GROUPS: list[dict[str, Any]] = [{"name": "web", "vms": ["vm-1", "vm-3"]}, {"name": "db", "vms": "vm-5,vm-2"}]


def run(work: WorkflowRunner, check: bool = False, **variables: Any) -> WorkflowRun:
    """Run the workflow vm_power."""
    given = {"state": "stopped", "groups": GROUPS, **variables}
    return work("vm_power", {f"vm_power_{name}": value for name, value in given.items()}, check)


def states_of(service: Simulator) -> list[str]:
    """Return the states of the VMs of GROUPS."""
    states = {vm["name"]: vm["state"] for vm in service.records("vm")}
    return [states[name] for name in ("vm-1", "vm-3", "vm-5", "vm-2")]


def test_groups_are_stopped_and_started_again(service: Simulator, work: WorkflowRunner) -> None:
    predicted, ran = run(work, check=True), run(work)
    assert predicted.calls == []
    assert predicted.report == ran.report
    assert [(entry["group"], entry["vm"], entry["outcome"]) for entry in ran.report] == [
        ("web", "vm-1", "changed"),
        ("web", "vm-3", "changed"),
        ("db", "vm-5", "changed"),
        ("db", "vm-2", "unchanged"),
    ]
    again = run(work)
    assert (again.outcomes, again.calls) == (["unchanged"] * 4, [])
    assert again.reads == ["QueryVmInstance", "QueryUserTag"]
    back = run(work, state="restored", groups=[])
    assert [entry["vm"] for entry in back.report] == ["vm-5", "vm-1", "vm-3"]
    assert states_of(service) == ["Running"] * 3 + ["Stopped"]


def test_a_refusal_does_not_cut_the_power(service: Simulator, work: WorkflowRunner) -> None:
    service.fault("fail", operation="StopVmInstance", count=2, error={"code": "SYS.1006", "details": "is migrating"})
    ran = run(work)
    assert ran.outcomes == ["changed", "changed", "changed", "unchanged"]
    assert not any(entry["powered_off"] for entry in ran.report)
    assert [call for call in ran.calls if call != "CreateUserTag"] == ["StopVmInstance"] * 5


def test_following_groups_are_skipped_after_a_failure(service: Simulator, work: WorkflowRunner) -> None:
    """What was changed counts."""
    service.fault("fail", operation="StopVmInstance", error={"code": "ID.1002", "details": "no"})
    ran = run(work, concurrency=1)
    assert ran.outcomes == ["failed", "changed", "skipped", "skipped"]
    assert ran.result["changed"]
    assert ran.message.startswith("1 of 4 VMs failed: vm-1: StopVmInstance failed (ID.1002)")
    assert states_of(service) == ["Running", "Stopped", "Running", "Stopped"]
    assert ran.report[2]["error"] == "a VM of an earlier group failed"


def test_each_vm_of_a_large_group_has_the_whole_grace_time(
    service: Simulator, work: WorkflowRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each VM has it, although the VMs are not all asked at the same time."""
    given, batch = list[float](), Site.batch

    def note(self: Site, *arguments: Any, **common: Any) -> list[dict[str, Any]]:
        given.extend([common["wait_timeout"]] if "stop_type" in common else [])
        return batch(self, *arguments, **common)

    monkeypatch.setattr(Site, "batch", note)
    groups = [{"name": "web", "vms": ["vm-1", "vm-3", "vm-5"]}]
    assert run(work, groups=groups, concurrency=2, grace_timeout=100).outcomes == ["changed"] * 3
    assert round(given[0]) == 100


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"groups": [{"name": "a"}]}, "the group a of vm_power_groups needs vms or query"),
        ({"groups": [GROUPS[0], {**GROUPS[1], "name": "web"}]}, "several groups of vm_power_groups have the name web"),
        (
            {"groups": [{"name": "a", "vms": ["vm-1", "vm-99"]}]},
            "No VM was changed: no VM has the name or uuid vm-99 (the group a of vm_power_groups).",
        ),
        (
            {"groups": [{"name": "a", "vms": ["vm-*"]}]},
            "Names are no patterns: use query of the group, such as name~=vm-%.",
        ),
        ({"groups": [GROUPS[0], {**GROUPS[0], "name": "b"}]}, "in vm_power_groups more than once: vm-1, vm-3"),
        ({"groups": [{"name": "a", "query": ["name=x"]}]}, "No VM meets the query of these groups: a. Check"),
        (
            {"groups": [{"name": "a", "query": ["name=x", "state = Running"]}]},
            "groups: a. Select VMs by their names or tags: after a change, a condition on the state selects others.",
        ),
        (
            {"groups": [{"name": "a", "query": ["name=x", "state=Running"]}], "state": "running"},
            "selects others. To start what an earlier run stopped, set vm_power_state=restored, and leave vm_power_gro",
        ),
        ({"groups": []}, "vm_power_groups is empty"),
        ({"concurrency": 0}, "vm_power_concurrency must be at least 1"),
        ({"label": "Night"}, "vm_power_label must have at most 40 of the characters"),
        ({"state": "off"}, "vm_power_state must be one of: running, stopped, restored, unmarked, got: off"),
        ({"groups": [{"name": "a", "vm": "vm-1"}]}, "vm_power_groups[0]: there is no option vm. Did you mean vms?"),
    ],
)
def test_each_check_has_its_message(work: WorkflowRunner, variables: dict[str, Any], message: str) -> None:
    ran = run(work, **variables)
    assert message in ran.message
    assert ran.calls == []
