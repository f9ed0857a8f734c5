"""Take a snapshot group of each VM, and remove older ones that this workflow took, except the last ones."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import count, zip_longest
from typing import Any

from ...module_utils._api.errors import InvalidOptions, VirtinfraError
from ...module_utils._api.records import Record, parse_timestamp
from ...module_utils._api.references import build_uuid
from .._site.report import Entry, Outcome, Report, name_some
from .._site.settings import VmSnapshotsSettings
from .._site.site import Selection, Site, describe_missing
from .._site.wish import Wish

# The description by which the workflow recognizes the snapshot groups that it took.
MARK = "Taken by the role virtinfra.manager.vm_snapshots."

# The form of the date and time in names, which sort in the order of time, and the pattern that recognizes it.
FORMS = {
    "day": ("%Y-%m-%d", r"\d{4}-\d\d-\d\d"),
    "hour": ("%Y-%m-%dT%HZ", r"\d{4}-\d\d-\d\dT\d\dZ"),
    "minute": ("%Y-%m-%dT%H-%MZ", r"\d{4}-\d\d-\d\dT\d\d-\d\dZ"),
}

# The states of a VM that has a memory.
LIVE = ("Running", "Paused")

# The service has the local time of its zone, which goes back by an hour in autumn.
CLOCK_CHANGE = timedelta(hours=1)

SIMULTANEOUS = (
    "Another run took the snapshot group {name} while this one was at work. This run has removed nothing. Run the role"
    " once at a time."
)
CHAINED = (
    "The service also removed later snapshot groups of the VM, as servers before version 4.10.6 do: {names}. Nothing"
    " more was removed. Set vm_snapshots_keep to 0, so that the role removes none."
)


class Settings(VmSnapshotsSettings):
    """The variables of the role, and what follows from them."""

    def check(self) -> None:
        """Raise InvalidOptions for values that the argument specification cannot exclude."""
        if not (self.query or self.vms):
            raise InvalidOptions("give vm_snapshots_query or vm_snapshots_vms")
        if not re.fullmatch(r"[\w.-]+", self.name_prefix, re.ASCII):
            raise InvalidOptions(
                "vm_snapshots_name_prefix must consist of letters, digits, dots, underscores and hyphens, not"
                f" {self.name_prefix!r}"
            )


@dataclass(frozen=True)
class Names:
    """The name of the snapshot groups of this run, and the pattern of those of all runs with the same variables."""

    current: str
    pattern: re.Pattern[str]

    @classmethod
    def build(cls, settings: Settings, now: datetime) -> Names:
        """Return the names for a time of UTC."""
        form, pattern = FORMS[settings.interval]
        full_pattern = re.compile(re.escape(settings.name_prefix) + pattern, re.ASCII)
        return cls(settings.name_prefix + now.strftime(form), full_pattern)

    def are_of(self, group: Record) -> bool:
        """Return whether the workflow took a snapshot group: it has the mark, and such a name."""
        return group["description"] == MARK and self.pattern.fullmatch(group["name"]) is not None


@dataclass
class VmSnapshots:
    """A VM, its snapshot groups, and what becomes of them."""

    vm: str
    vm_uuid: str | None
    groups: list[Record] = field(default_factory=list)
    is_live: bool = False
    taken: Record | None = None
    due: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    outcome: Outcome = field(default_factory=Outcome)

    @property
    def has_failed(self) -> bool:
        """Whether nothing more is done for the VM."""
        return self.outcome.error is not None

    def find_taken(self, names: Names) -> Record | None:
        """Return the snapshot group of this run's name that the workflow took, a complete one if there are several."""
        found = [group for group in self.groups if group["name"] == names.current and names.are_of(group)]
        return max(found, key=is_complete, default=None)

    def build_entry(self, names: Names) -> Entry:
        """Return the entry of the report."""
        members = {
            "vm": self.vm,
            "vm_uuid": self.vm_uuid,
            "snapshot_group": names.current if self.taken else None,
            "snapshot_group_uuid": self.taken["uuid"] if self.taken else None,
            "removed": self.removed,
            "outcome": self.outcome.name,
            "error": self.outcome.error,
        }
        return Entry(self.outcome, f"{self.vm} ({self.vm_uuid})" if self.vm_uuid else self.vm, members, self.key)

    @property
    def key(self) -> str:
        """What the VM has in the wish."""
        return self.vm_uuid or self.vm


def run(site: Site, options: Mapping[str, Any]) -> Report:
    """Take the snapshot groups, remove the old ones, and return what became of each VM."""
    settings = Settings(**options)
    settings.check()
    names = Names.build(settings, site.get_date())
    selection = site.select_vms(settings.query, settings.vms, "vm_snapshots_query")
    if not (selection.objects or selection.missing or settings.allow_empty):
        query = ", ".join(settings.query)
        raise InvalidOptions(f"No VM meets vm_snapshots_query ({query}). Check it, or set vm_snapshots_allow_empty.")
    vms = _combine(selection, _read_groups(site))
    site.ask(build_wish(site, vms, selection.missing))
    missing = _refuse(selection, vms, names, settings)
    if settings.state == "present":
        _take(site, vms, names, settings)
    if not any(vm.outcome.error == SIMULTANEOUS.format(name=names.current) for vm in vms):
        _remove_old(site, vms, names, settings)
    return Report("VMs", [vm.build_entry(names) for vm in (*vms, *missing)])


def build_wish(site: Site, vms: Sequence[VmSnapshots], missing: Iterable[str]) -> Wish:
    """Return that no VM has a snapshot group that was to be removed. ``_verify`` proves that each has its new one."""
    asked: dict[str, Record] = {vm.key: {"vm": vm.vm, "vm_uuid": vm.vm_uuid} for vm in vms}
    asked.update({name: {"vm": name, "vm_uuid": None} for name in missing})

    def read() -> dict[str, Record]:
        due = {uuid: vm.key for vm in vms for uuid in vm.due}
        return {due[group["uuid"]]: group for group in _read_groups(site) if group["uuid"] in due} if due else {}

    def find_lack(dummy_key: str, left: Record | None) -> str | None:
        return f"Its snapshot group {left['name']} is still there. Run the role again." if left else None

    return Wish(asked, read, find_lack)


def _read_groups(site: Site) -> list[Record]:
    groups: list[Record] = site.read("vm_snapshot_group_info")["snapshot_groups"]
    return groups


def _combine(selection: Selection, groups: Iterable[Record]) -> list[VmSnapshots]:
    """Return the selected VMs with their snapshot groups."""
    vms = [VmSnapshots(vm["name"], vm["uuid"], is_live=vm["state"] in LIVE) for vm in selection.objects]
    _assign(vms, groups)
    return vms


def _assign(vms: Iterable[VmSnapshots], groups: Iterable[Record]) -> None:
    """Replace the snapshot groups of the VMs."""
    by_vm: dict[str, list[Record]] = {}
    for group in groups:
        by_vm.setdefault(group["vm_instance_uuid"], []).append(group)
    for vm in vms:
        vm.groups = by_vm.get(str(vm.vm_uuid), [])


def _refuse(selection: Selection, vms: Iterable[VmSnapshots], names: Names, settings: Settings) -> list[VmSnapshots]:
    """Fail the VMs that are not selected clearly, or whose snapshot group of this name is foreign.

    Return the VMs that do not exist.
    """
    for vm in vms:
        if vm.vm_uuid in selection.ambiguous:
            vm.outcome.fail("Several VMs have this name. Give the uuid of the VM.")
        is_foreign = any(group["name"] == names.current and group["description"] != MARK for group in vm.groups)
        if settings.state == "present" and is_foreign:
            vm.outcome.fail(
                f"A snapshot group with the name {names.current} exists that the role did not take. Rename it, or"
                " choose another vm_snapshots_name_prefix."
            )
    missing = [VmSnapshots(reference, None) for reference in selection.missing]
    for vm in missing:
        vm.outcome.fail(describe_missing(vm.vm, "vm_snapshots_query", settings.query, selection.unmet))
    return missing


def _take(site: Site, vms: Sequence[VmSnapshots], names: Names, settings: Settings) -> None:
    """Take the snapshot groups that are missing. Fail the VMs whose new one is not there afterwards."""
    for vm in vms:
        vm.taken = None if vm.has_failed else vm.find_taken(names)
    due = [vm for vm in vms if not vm.has_failed and vm.taken is None]
    objects = [
        {
            "vm": vm.vm_uuid,
            "resource_uuid": choose_uuid(str(vm.vm_uuid), names.current, {group["uuid"] for group in vm.groups}),
            "with_memory": True if settings.memory and vm.is_live else None,
        }
        for vm in due
    ]
    common = {"name": names.current, "description": MARK, "wait_timeout": settings.timeout}
    results = site.batch("vm_snapshot_group", objects, settings.concurrency, **common)
    for vm, result in zip(due, results, strict=True):
        vm.outcome.note(result)
        vm.taken = None if result["failed"] else result["snapshot_group"]
        if not result["failed"] and not result["changed"]:
            vm.outcome.fail(SIMULTANEOUS.format(name=names.current))
    if site.check_mode:
        for vm in due:
            _predict(vm)
    elif due:
        _verify(site, vms, names)


def _predict(vm: VmSnapshots) -> None:
    """Add the snapshot group that check mode would have taken. Its uuid is not known."""
    if vm.taken:
        vm.taken = {**vm.taken, "uuid": None}
        vm.groups = [*vm.groups, vm.taken]


def _verify(site: Site, vms: Iterable[VmSnapshots], names: Names) -> None:
    """Read the snapshot groups again, and fail the VMs whose new one is not there with all of its snapshots."""
    vms = [vm for vm in vms if not vm.has_failed]
    reason = f"The service does not list the snapshot group {names.current} with all of its snapshots. Check it in the"
    reason += " service."
    try:
        _assign(vms, _read_groups(site))
    except VirtinfraError as failure:
        _assign(vms, [])
        reason = f"The new snapshot group could not be read again: {failure}"
    for vm in vms:
        found = vm.find_taken(names)
        if found is None or not is_complete(found):
            vm.outcome.fail(f"{reason} No older snapshot group of the VM was removed.")


def choose_uuid(vm_uuid: str, name: str, used: Collection[str]) -> str:
    """Return the uuid with which a snapshot group of a VM is taken: the same in all runs, so that two make one.

    If a snapshot group with this uuid exists, somebody has renamed it, so another uuid is chosen.
    """
    uuids = (build_uuid(f"{vm_uuid} {name} {number}") for number in count())
    return next(uuid for uuid in uuids if uuid not in used)


def is_complete(group: Record) -> bool:
    """Return whether no snapshot of a group was deleted."""
    return not any(ref["snapshot_deleted"] for ref in group["volume_snapshot_refs"] or ())


@dataclass(frozen=True)
class Retention:
    """The snapshot groups of a VM to remove, the newest first, and those of the future, which are left alone."""

    old: list[Record]
    future: list[Record]


def choose_old(groups: Iterable[Record], names: Names, keep: int) -> Retention:
    """Return which snapshot groups of a VM to remove, so that the last ``keep`` points in time remain.

    The time of a snapshot group is its creation, by the clock of the service; several with one name are one point, and
    only complete ones count. The snapshot group of this run is the last one. Groups with a later name or creation are
    of a clock that was wrong: they do not count, and remain until their time has come.
    """
    own = [group for group in groups if names.are_of(group)]
    latest = max((_get_time(group) for group in own if group["name"] == names.current), default=datetime.min)
    # Check mode predicts the snapshot group of this run, and no date.
    latest = datetime.max if latest == datetime.min else latest + CLOCK_CHANGE
    future = [group for group in own if group["name"] > names.current or _get_time(group) > latest]
    past = sort_by_time(group for group in own if group not in future)
    points = [group["name"] for group in past if is_complete(group) and group["name"] != names.current]
    kept = {names.current, *list(dict.fromkeys(points))[: max(0, keep - 1)]}
    old = [
        group for group in past if group["name"] != names.current and not (group["name"] in kept and is_complete(group))
    ]
    return Retention(old if keep else [], future)


def _get_time(group: Record) -> datetime:
    """Return when a snapshot group was taken, by the clock of the service."""
    return parse_timestamp(group["create_date"]) or datetime.min


def sort_by_time(groups: Iterable[Record]) -> list[Record]:
    """Return snapshot groups, the newest first."""
    return sorted(groups, key=lambda group: (_get_time(group), group["name"]), reverse=True)


def _remove_old(site: Site, vms: Sequence[VmSnapshots], names: Names, settings: Settings) -> None:
    """Remove the snapshot groups that are not needed any more. Stop if the service removes others with them."""
    left = [vm for vm in vms if not vm.has_failed]
    if settings.state == "absent":
        old = {vm.vm_uuid: sort_by_time(filter(names.are_of, vm.groups)) for vm in left}
        _warn_of_others(site, left, old, settings)
    else:
        retentions = [choose_old(vm.groups, names, settings.keep) for vm in left]
        old = {vm.vm_uuid: retention.old for vm, retention in zip(left, retentions, strict=True)}
        _warn_of_future(site, zip(left, (retention.future for retention in retentions), strict=True))
    for removals in order_removals([(vm, old[vm.vm_uuid]) for vm in left], names):
        if _remove(site, removals, settings):
            break


def _warn_of_others(
    site: Site, vms: Iterable[VmSnapshots], old: Mapping[Any, Sequence[Record]], settings: Settings
) -> None:
    """Warn if there is no snapshot group to remove, and there are some with other names."""
    others = sorted({group["name"] for vm in vms for group in vm.groups if group["description"] == MARK})
    if others and not any(old.values()):
        site.warn(
            f"No snapshot group of these VMs has a name of vm_snapshots_name_prefix {settings.name_prefix} and"
            f" vm_snapshots_interval {settings.interval}. The role has taken these: {name_some(others)}"
        )


def _warn_of_future(site: Site, found: Iterable[tuple[VmSnapshots, list[Record]]]) -> None:
    """Warn of snapshot groups of the future."""
    labels = [f"{group['name']} of {vm.vm}" for vm, groups in found for group in groups]
    if labels:
        site.warn(
            f"These snapshot groups have dates in the future, so a clock was wrong: {name_some(labels)}. They do not"
            " count for vm_snapshots_keep, and are not removed before their time has come."
        )


Removal = tuple[VmSnapshots, Record]


def order_removals(old: Iterable[tuple[VmSnapshots, list[Record]]], names: Names) -> Iterator[list[Removal]]:
    """Yield rounds of removals, which have one snapshot group of each VM, the newest first.

    Servers before version 4.10.6 remove the later snapshot groups of the VM, too. So the first round is a single
    removal, which shows whether the service does, if possible of a VM that has no snapshot groups of others. Only one
    of a VM is removed at a time, because its result names the later ones that vanish at the same time.
    """
    ordered = sorted(old, key=lambda each: not all(map(names.are_of, each[0].groups)))
    columns = [[(vm, group) for group in groups] for vm, groups in ordered]
    for number, column in enumerate(zip_longest(*columns)):
        removals = [removal for removal in column if removal]
        yield from ([removals[:1], removals[1:]] if number == 0 else [removals])


def _remove(site: Site, removals: Sequence[Removal], settings: Settings) -> bool:
    """Remove snapshot groups of different VMs, and return whether others vanished with one of them."""
    objects = [{"uuid": group["uuid"], "name": group["name"], "vm": vm.vm_uuid} for vm, group in removals]
    common = {"state": "absent", "scope": "single", "description": MARK, "wait_timeout": settings.timeout}
    results = site.batch("vm_snapshot_group", objects, settings.concurrency, **common)
    has_lost = False
    for (vm, group), result in zip(removals, results, strict=True):
        vm.due.append(group["uuid"])
        vm.outcome.note(result)
        if result["changed"] and not result["failed"]:
            vm.removed.append(group["name"])
        if lost := result.get("also_removed"):
            vm.outcome.fail(CHAINED.format(names=", ".join(other["name"] for other in lost)))
            has_lost = True
    return has_lost
