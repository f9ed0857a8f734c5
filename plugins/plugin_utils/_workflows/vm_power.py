"""Stop groups of VMs in order, or start them in reverse order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...module_utils._api.errors import InvalidOptions
from ...module_utils._api.records import Record
from .power import SKIPPED, Group, Patience, PoweredVm, check_groups, find_groups, find_repeated, start, stop
from .report import Entry, Report
from .site import Site


@dataclass(frozen=True)
class Settings:
    """The variables of the role."""

    state: str
    groups: list[Record]
    grace_timeout: int
    cold: bool
    timeout: int
    allow_empty: bool
    concurrency: int
    undo: list[Record] | None = None

    def check(self) -> None:
        """Raise InvalidOptions for values that the argument specification cannot exclude."""
        if problem := check_groups(self.groups, "vm_power_groups"):
            raise InvalidOptions(problem)
        if self.concurrency < 1:
            raise InvalidOptions(f"vm_power_concurrency must be at least 1, not {self.concurrency}")
        if any("vm_uuid" not in entry or "outcome" not in entry for entry in self.undo or ()):
            raise InvalidOptions("vm_power_undo must be the vm_power_report of an earlier run")


def run(site: Site, options: Mapping[str, Any]) -> Report:
    """Change the groups in order, and return what became of each VM. After a failure, the other groups are skipped."""
    settings = Settings(**options)
    settings.check()
    groups = find_groups(site, settings.groups if settings.state == "stopped" else settings.groups[::-1])
    refuse(groups, settings)
    report: list[PoweredVm] = []
    for vms in choose(groups, settings.undo):
        if any(vm.outcome.error is not None for vm in report):
            for vm in vms:
                vm.outcome.skipped = SKIPPED
        elif settings.state == "stopped":
            rounds = -(-len(vms) // settings.concurrency)
            grace = settings.grace_timeout
            patience = Patience(grace, grace * rounds, "vm_power_grace_timeout")
            stop(site, vms, patience, settings.concurrency, settings.timeout if settings.cold else None)
        else:
            start(site, vms, settings.concurrency, settings.timeout)
        report += vms
    return Report("VMs", [_build_entry(vm) for vm in report])


def refuse(groups: Sequence[Group], settings: Settings) -> None:
    """Raise InvalidOptions if the groups are not clear, or have no VM."""
    if unclear := [name for group in groups for name in group.unclear]:
        names = ", ".join(unclear)
        raise InvalidOptions(
            f"No VM was changed. No VM, or several VMs, have these names: {names}. Check them, or give uuids."
        )
    if repeated := find_repeated(groups):
        raise InvalidOptions(
            f"No VM was changed. These VMs are in vm_power_groups more than once: {', '.join(repeated)}. Remove each"
            " from all groups but one."
        )
    empty = [group.name for group in groups if not group.vms]
    if settings.allow_empty or settings.undo is not None or (groups and not empty):
        return
    problem = f"No VM meets the query of these groups: {', '.join(empty)}" if empty else "vm_power_groups is empty"
    raise InvalidOptions(f"No VM was changed. {problem}. Check vm_power_groups, or set vm_power_allow_empty.")


def choose(groups: Sequence[Group], undo: Sequence[Record] | None) -> list[list[PoweredVm]]:
    """Return the VMs of each group: all of them, or those that an earlier run has changed."""
    changed = {entry["vm_uuid"] for entry in undo or () if entry["outcome"] == "changed"}
    return [
        [PoweredVm.from_record(vm, group.name) for vm in group.vms if undo is None or vm["uuid"] in changed]
        for group in groups
    ]


def _build_entry(vm: PoweredVm) -> Entry:
    members = {
        "group": vm.group,
        "vm": vm.name,
        "vm_uuid": vm.uuid,
        "outcome": vm.outcome.name,
        "powered_off": vm.powered_off,
        "error": vm.outcome.reason,
    }
    return Entry(vm.outcome, f"{vm.name} ({vm.uuid}) in group {vm.group}", members)
