"""Stop groups of VMs in order, start them in reverse order, or put back what was stopped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...module_utils._api.errors import InvalidOptions
from ...module_utils._api.records import Record
from .._site.marked_vms import (
    ask_for_state,
    await_others,
    find_marked,
    mark_vms,
    name_left,
    refuse_half_written,
    release,
    renew,
    restore,
    take_off,
)
from .._site.marks import Mark, Marks
from .._site.power import (
    BY_NAMES,
    SKIPPED,
    Group,
    Patience,
    PoweredVm,
    advise_on_empty,
    check_groups,
    find_groups,
    find_idle,
    find_repeated,
    start,
    stop,
)
from .._site.report import Entry, Outcome, Report, name_some
from .._site.settings import VmPowerSettings
from .._site.site import Site, explain_missing
from .._site.window import Window


class Settings(VmPowerSettings):
    """The variables of the role, and what follows from them."""

    def check(self) -> None:
        """Raise InvalidOptions for values that the argument specification cannot exclude."""
        if problem := check_groups(self.groups, "vm_power_groups"):
            raise InvalidOptions(problem)


def run(site: Site, options: Mapping[str, Any]) -> Report:
    """Change VMs, and return what became of each."""
    settings = Settings(**options)
    settings.check()
    marks = Marks(site, "vm_power", settings.label, "VmInstanceVO", settings.concurrency)
    window = Window(site.get_time, "vm_power", settings.not_after)
    if settings.state in ("restored", "unmarked"):
        return _put_back(site, marks, settings, window)
    wanted = "Stopped" if settings.state == "stopped" else "Running"
    if idle := find_idle(settings.groups, wanted):
        site.warn(
            f"These groups of vm_power_groups select only VMs that are {wanted} already, for which nothing is to be"
            f" done: {name_some(idle)}. {BY_NAMES}"
        )
    groups = find_groups(site, settings.groups)
    refuse(groups, settings)
    chosen = [[PoweredVm.from_record(vm, group.name) for vm in group.vms] for group in groups]
    vms = [vm for members in chosen for vm in members]
    site.ask(ask_for_state(site, vms, _name(vms), settings.state == "stopped"))
    found = marks.find() if settings.state == "stopped" else marks.find_if_possible()
    if settings.state == "stopped":
        _stop(site, marks, found, chosen, settings, window)
        put_back = {vm.uuid for vm in vms if vm.mark}
    else:
        chosen.reverse()
        _start(site, marks, found, chosen, settings, window)
        put_back = {vm.uuid for vm in vms if vm.outcome.reason is None}
    left = name_left(site, found, put_back)
    return Report("VMs", [_build_entry(vm) for members in chosen for vm in members], next={"left": left})


def _put_back(site: Site, marks: Marks, settings: Settings, window: Window) -> Report:
    """Put back the VMs with marks of the label, or take their marks off, whatever the groups are."""
    found = marks.find()
    marks.warn_of_others(found)
    vms = find_marked(site, marks, found, settings.timeout if settings.state == "restored" else 0)
    left = name_left(site, found, {vm.uuid for vm in vms})
    if others := find_others(settings.groups, vms):
        _refuse_others(site, marks, settings, others)
    if settings.state == "unmarked":
        return _unmark(marks, vms, left)
    return _restore(site, marks, found, vms, left, settings, window)


def _refuse_others(site: Site, marks: Marks, settings: Settings, others: Sequence[str]) -> None:
    """Raise InvalidOptions for VMs that are in no group, warn of them if they may be VMs of a group with new names."""
    problem = (
        f"vm_power_state={settings.state} concerns all VMs with marks of the label {marks.label}, also these, which are"
        f" in no group of vm_power_groups: {name_some(others)}"
    )
    if any(group.find_problems("") for group in find_groups(site, settings.groups)):
        site.warn(f"{problem}. Use a label for each group")
        return
    remedy = (
        "To start them too, omit vm_power_groups. To start only the VMs of its groups, set vm_power_state=running"
        if settings.state == "restored"
        else "To take off their marks too, omit vm_power_groups"
    )
    raise InvalidOptions(f"No VM was changed. {problem}. {remedy}.")


def _stop(
    site: Site,
    marks: Marks,
    found: Sequence[Mark],
    groups: Sequence[Sequence[PoweredVm]],
    settings: Settings,
    window: Window,
) -> None:
    """Mark the VMs that run, and stop the groups in order. After a failure, the other groups are skipped."""
    problems = mark_vms(site, marks, found, groups, settings.timeout)
    for vm in (vm for members in groups for vm in members if vm.uuid in problems):
        vm.outcome.fail(f"it was not stopped, because it cannot be marked: {problems[vm.uuid]}")
    has_failed = False
    for members in groups:
        if has_failed:
            _skip(members)
        else:
            rounds = -(-len(members) // settings.concurrency)
            patience = Patience(settings.grace_timeout, settings.grace_timeout * rounds, "vm_power_grace_timeout")
            markable = [vm for vm in members if vm.outcome.error is None]
            cold_timeout = settings.timeout if settings.cold else None
            stop(site, markable, patience, settings.concurrency, cold_timeout, marks, window)
        has_failed |= any(vm.outcome.error is not None for vm in members)
    vms = [vm for members in groups for vm in members]
    release(site, marks, vms)
    renew(site, marks, vms)


def _start(
    site: Site,
    marks: Marks,
    found: Sequence[Mark],
    groups: Sequence[Sequence[PoweredVm]],
    settings: Settings,
    window: Window,
) -> None:
    """Start the groups in order, and take the marks off the VMs that run. After a failure, the others are skipped."""
    vms = [vm for members in groups for vm in members]
    await_others(site, marks, found, vms, settings.timeout)
    refuse_half_written(site, [vm for vm in vms if not vm.is_running])
    has_failed = False
    for members in groups:
        if has_failed:
            _skip(members)
        else:
            startable = [vm for vm in members if vm.outcome.error is None]
            start(site, startable, settings.concurrency, settings.timeout, window)
        has_failed |= any(vm.outcome.error is not None for vm in members)
        take_off(marks, found, [vm for vm in members if vm.outcome.reason is None])


def _skip(vms: Sequence[PoweredVm]) -> None:
    for vm in vms:
        vm.outcome.skipped = SKIPPED


def _restore(
    site: Site,
    marks: Marks,
    found: Sequence[Mark],
    vms: Sequence[PoweredVm],
    left: Sequence[str],
    settings: Settings,
    window: Window,
) -> Report:
    """Put back the VMs with marks of the label."""
    site.ask(ask_for_state(site, vms, _name(vms), is_stop=False))
    restore(site, marks, found, vms, settings.concurrency, settings.timeout, window)
    return _report_marked(marks, vms, left)


def _unmark(marks: Marks, vms: Sequence[PoweredVm], left: Sequence[str]) -> Report:
    """Take the marks of the label off, whatever the VMs are."""
    problems = marks.take_off([vm.mark for vm in vms if vm.mark])
    for vm in vms:
        # What the VM is, and whether it changes, does not matter here.
        vm.outcome = Outcome(is_changed=vm.uuid not in problems, error=problems.get(vm.uuid))
    return _report_marked(marks, vms, left)


def _report_marked(marks: Marks, vms: Sequence[PoweredVm], left: Sequence[str]) -> Report:
    summary = "" if vms else f"No VM has a mark with the label {marks.label}"
    return Report("VMs", [_build_entry(vm) for vm in vms], summary=summary, next={"left": left})


def refuse(groups: Sequence[Group], settings: Settings) -> None:
    """Raise InvalidOptions if the groups are not clear, or have no VM."""
    if problems := [problem for group in groups for problem in group.find_problems("vm_power_groups")]:
        missing = [name for group in groups for name in group.selection.missing]
        hint = explain_missing(missing, "query of the group")
        raise InvalidOptions(f"No VM was changed: {'; '.join(problems)}.{hint}")
    if repeated := find_repeated(groups):
        raise InvalidOptions(
            f"No VM was changed. These VMs are in vm_power_groups more than once: {', '.join(repeated)}. Remove each"
            " from all groups but one."
        )
    empty = [group.name for group in groups if not group.vms]
    if settings.allow_empty or (groups and not empty):
        return
    problem = f"No VM meets the query of these groups: {', '.join(empty)}" if empty else "vm_power_groups is empty"
    advice = advise_on_empty(settings.groups, empty, "vm_power")
    if advice == BY_NAMES and settings.state == "running":
        advice += ". To start what an earlier run stopped, set vm_power_state=restored, and leave vm_power_groups out"
    raise InvalidOptions(f"No VM was changed. {problem}. {advice}.")


def find_others(groups: Sequence[Record], vms: Iterable[PoweredVm]) -> list[str]:
    """Return the names of VMs that are in no group, none if there are no groups, or if conditions select VMs."""
    named = {name for group in groups for name in group.get("vms") or ()}
    is_known = groups and all(group.get("vms") for group in groups)
    return [vm.name for vm in vms if is_known and vm.name not in named and vm.uuid not in named]


def _name(vms: Iterable[PoweredVm]) -> dict[str, Record]:
    """Return the members that name each VM in the report, by the uuids."""
    return {vm.uuid: {"vm": vm.name, "vm_uuid": vm.uuid} for vm in vms}


def _build_entry(vm: PoweredVm) -> Entry:
    members = {
        "group": vm.group,
        "vm": vm.name,
        "vm_uuid": vm.uuid,
        "outcome": vm.outcome.name,
        "powered_off": vm.powered_off,
        "error": vm.outcome.reason,
    }
    return Entry(vm.outcome, f"{vm.name} ({vm.uuid}) in group {vm.group}", members, vm.uuid)
