"""Write a page about the backups of VMs. The role reads restore points between the two steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from ...module_utils._api.errors import InvalidOptions
from ...module_utils._api.records import Record
from .._pages.backup_page import BackupPage
from .._pages.page import check_page, complete_path, plan_data, plan_file
from .._site.capacity import split_numbers
from .._site.report import Entry, Outcome, Report
from .._site.settings import VmBackupReportSettings
from .._site.site import GONE, Site, read_query
from .._site.variables import Play
from .._vm_backups.overview import (
    OUTCOMES,
    count_outcomes,
    describe_repository,
    describe_vm,
    find_movers,
    group_points,
    list_left_out,
    list_leftovers,
    list_removed,
)
from .._vm_backups.plan import check_folder, find_reason, require_vms

ROLE = "vm_backup_report"

# How many VMs without a recent point a message names. The page names all.
MAX_VMS = 10


class Settings(VmBackupReportSettings):
    """The variables of the role, and what follows from them."""

    def check(self) -> None:
        """Raise InvalidOptions for values that the argument specification cannot exclude."""
        check_folder(self.repository, f"{ROLE}_repository")
        for name, days in (("days", self.days), ("removed_days", self.removed_days)):
            if days < 1:
                raise InvalidOptions(f"{ROLE}_{name} is {days}. It must be above 0.")
        if Path(self.path).suffix == ".json":
            raise InvalidOptions(
                f"{ROLE}_path is {self.path}, the name of the file with the data beside the page. Give the page"
                f" another one, such as {Path(self.path).with_suffix('.html')}"
            )


def select(site: Site, options: Mapping[str, Any], dummy: Record) -> Report:
    """Check the variables, and return the movers to ask for restore points."""
    settings = Settings(**options)
    settings.check()
    check_page(ROLE, settings.path, settings.file_mode)
    site.play.require_hosts(f"{ROLE}_mover", settings.mover)
    return Report("VMs", next={"repository": settings.repository, "movers": settings.mover})


def calculate(site: Site, options: Mapping[str, Any], given: Record) -> Report:
    """Read the VMs, write the page and the data beside it, and return the overview.

    ``points`` are the results of the movers. Raise VirtinfraError if the VMs cannot be read: without them, nobody knows
    what is to be protected.
    """
    settings, now = Settings(**options), site.get_date()
    every = [vm for vm in site.read("vm_info")["vms"] if vm["state"] not in GONE]
    chosen = select_vms(site, settings, every)
    unread = find_unread(site.play, given["points"])
    path = complete_path(ROLE, settings.path)
    overview = {**build_overview(every, chosen, given["points"], unread, settings, now), "path": path}
    page = BackupPage(overview, settings.days, has_keep=any(settings.keep.values())).build(now)
    mode = settings.file_mode
    files = (plan_file(ROLE, page, path, mode), plan_data(ROLE, overview, path, mode, now))
    written = [site.write(file) for file in files]
    return Report(
        "VMs",
        [*(_build_entry(vm, settings.fail) for vm in overview["vms"]), *(_build_unread(each) for each in unread)],
        next={"overview": overview, "numbers": list_numbers(overview)},
        has_changed=any(written),
        summary=summarize(overview, settings),
        is_explained=True,
    )


def select_vms(site: Site, settings: Settings, every: Sequence[Record]) -> list[Record]:
    """Return the VMs that need a restore point. Raise VirtinfraError."""
    if not settings.query:
        return list(every)
    known = {vm["uuid"] for vm in read_query(site, "vm_info", settings.query, f"{ROLE}_query")["vms"]}
    chosen = [vm for vm in every if vm["uuid"] in known]
    require_vms(site, chosen, settings.query, ROLE, settings.fail)
    return chosen


def find_unread(play: Play, points: Sequence[Record]) -> list[Record]:
    """Return the movers whose restore points could not be read, and why."""
    return [
        {"mover": (mover := str(result.get("item"))), "error": f"{reason}.{play.describe_unknown_host(mover)}"}
        for result in points
        if (reason := find_reason(result))
    ]


def build_overview(
    every: Sequence[Record],
    chosen: Sequence[Record],
    results: Sequence[Record],
    unread: Sequence[Record],
    settings: Settings,
    now: datetime,
) -> Record:
    """Return what the page shows."""
    points, names = group_points(results), {vm["uuid"]: vm["name"] for vm in every}
    selected = {vm["uuid"] for vm in chosen}
    outside = [vm for vm in every if vm["uuid"] not in selected]
    uncovered = sorted((vm["name"] for vm in outside if vm["uuid"] not in points), key=split_numbers)
    vms, covered = (
        [describe_vm(vm, points.get(vm["uuid"], []), settings, bool(unread), now) for vm in group]
        for group in (chosen, [vm for vm in outside if vm["uuid"] in points])
    )
    return {
        "vms": sorted(vms, key=lambda vm: (-OUTCOMES[vm["outcome"]], vm["created"] or "", split_numbers(vm["vm"]))),
        "counts": count_outcomes(vms),
        "volumes": [each for vm in chosen for each in list_left_out(vm, points.get(vm["uuid"], []))],
        "outside": {
            "count": len(uncovered),
            "vms": uncovered if settings.names else [],
            "covered": sorted(covered, key=lambda vm: (vm["created"] or "", split_numbers(vm["vm"]))),
        },
        "removed": list_removed(points, names, find_movers(results), now - timedelta(days=settings.removed_days)),
        "leftovers": list_leftovers(results, names),
        "repositories": [describe_repository(each, settings.repository, now) for each in results if each.get("space")],
        "unread": list(unread),
    }


def list_numbers(overview: Record) -> Record:
    """Return the numbers of the summary."""
    return {
        # The entries of the report are also those of movers that could not be read.
        "VMs": len(overview["vms"]),
        "VMs without a recent restore point": overview["counts"]["overdue"] + overview["counts"]["not protected"],
        "volumes left out": len(overview["volumes"]),
        "VMs outside the query without a point": overview["outside"]["count"],
        "VMs that no longer exist": len(overview["removed"]),
        "left-overs": len(overview["leftovers"]),
    }


def summarize(overview: Record, settings: Settings) -> str:
    """Return what fails the role; an empty text if nothing does."""
    sentences = [
        f"The restore points of {each['mover']} could not be read: {each['error'].rstrip('.')}"
        for each in overview["unread"]
    ]
    if sentences:
        sentences.append(f"Check {ROLE}_repository and {ROLE}_mover")
    lacking = [vm["vm"] for vm in overview["vms"] if vm["outcome"] in ("overdue", "not protected")]
    if settings.fail and lacking:
        more = ", ..." if len(lacking) > MAX_VMS else ""
        count, days = len(overview["vms"]), settings.days
        sentences.append(
            f"{len(lacking)} of {count} VMs have no restore point of the last {days} days:"
            f" {', '.join(lacking[:MAX_VMS])}{more}"
        )
    return ". ".join(sentences)


def _build_entry(vm: Record, fails: bool) -> Entry:
    """Return the entry of a VM, which fails the role on request if it has no recent point."""
    is_lacking = vm["outcome"] in ("overdue", "not protected")
    return Entry(Outcome(error=vm["error"] if fails and is_lacking else None), vm["vm"], vm, vm["vm_uuid"])


def _build_unread(unread: Record) -> Entry:
    members = {"name": unread["mover"], "outcome": "failed", "error": unread["error"]}
    return Entry(Outcome(error=unread["error"]), unread["mover"], members)


STEPS = {"select": select, "calculate": calculate}
