"""Write a page about the capacity of storages and hosts. The role reads restore points between the two steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from ...module_utils._api.errors import InvalidOptions, VirtinfraError
from ...module_utils._api.records import Record
from .._pages.capacity_page import CapacityPage
from .._pages.page import check_page, complete_path, plan_file
from .._site.capacity import OPEN, build_capacity_rows, count_tasks, find_overdue, split_numbers, sum_rows
from .._site.report import Entry, Outcome, Report
from .._site.settings import CapacityReportSettings
from .._site.site import Site, read_query
from .._site.variables import Play
from .._vm_backups.plan import find_reason, require_vms

ROLE = "capacity_report"

# How many VMs without a recent point a message names. The page names all.
MAX_VMS = 10

# The variables that are about restore points.
OF_BACKUPS = ("backup_days", "backup_mover", "backup_query", "backup_fail")

# The numbers of the summary: the label, the part and its member.
NUMBERS = (
    ("storages", "storages", "count"),
    ("storages nearly full", "storages", "bad"),
    ("hosts", "hosts", "count"),
    ("hosts nearly full or with hardware errors", "hosts", "bad"),
    ("CBT tasks", "cbt_tasks", "count"),
    ("open backup sessions", "cbt_tasks", "open"),
    ("VMs", "backups", "count"),
    ("VMs without a recent restore point", "backups", "overdue"),
)


class Settings(CapacityReportSettings):
    """The variables of the role, and what follows from them."""

    def check(self) -> None:
        """Raise InvalidOptions for values that the argument specification cannot exclude."""
        if not 0 < self.warn_percent <= self.bad_percent:
            raise InvalidOptions(
                f"capacity_report_warn_percent is {self.warn_percent} and capacity_report_bad_percent is"
                f" {self.bad_percent}. The first must be above 0 and not above the second."
            )
        if self.backup_days < 1:
            raise InvalidOptions(f"capacity_report_backup_days is {self.backup_days}. It must be above 0.")
        # The role itself sets variables that are not given to their defaults.
        unset = CapacityReportSettings(path=self.path)
        given = [name for name in OF_BACKUPS if getattr(self, name) != getattr(unset, name)]
        if given and not self.backup_repository:
            raise InvalidOptions(
                f"capacity_report_{given[0]} needs capacity_report_backup_repository, the folder on the data mover with"
                " the restore points. Without it, the page says nothing about backups"
            )


@dataclass(frozen=True)
class Part:
    """The records of a part of the page, with their number, or why they could not be read."""

    records: list[Record]
    total: int = 0
    error: str | None = None


def select(site: Site, options: Mapping[str, Any], dummy: Record) -> Report:
    """Check the variables, and return the movers to ask for restore points."""
    settings = Settings(**options)
    settings.check()
    check_page(ROLE, settings.path, settings.file_mode)
    repository = settings.backup_repository
    if repository:
        site.play.require_hosts("capacity_report_backup_mover", settings.backup_mover)
    return Report("parts", next={"repository": repository, "movers": settings.backup_mover if repository else []})


def calculate(site: Site, options: Mapping[str, Any], given: Record) -> Report:
    """Read the service, write the page unless nothing could be read, and return the totals.

    ``points`` are the results of the movers.
    """
    settings = Settings(**options)
    parts = {
        "storages": _read(site, "primary_storage_info", "primary_storages"),
        "hosts": _read(site, "host_info", "hosts"),
        "cbt_tasks": _read(site, "cbt_task_info", "cbt_tasks"),
    }
    if settings.backup_repository:
        vms = _read(site, "vm_info", "vms", settings.backup_query)
        if settings.backup_query and not vms.error:
            require_vms(site, vms.records, settings.backup_query, f"{ROLE}_backup", settings.backup_fail)
        parts["backups"] = Part(vms.records, vms.total, vms.error or find_problem(site.play, given["points"]))
    now = site.get_date()
    rows = build_rows(parts, given["points"], settings, now)
    totals = build_totals(parts, rows)
    overdue = totals["backups"]["vms"] if settings.backup_fail and totals["backups"] else []
    path, page = complete_path(ROLE, settings.path), build_page(parts, rows, totals, settings, now)
    is_written = page is not None and site.write(plan_file(ROLE, page, path, settings.file_mode))
    return Report(
        "parts",
        [build_entry(name, part, overdue if name == "backups" else ()) for name, part in parts.items()],
        next={
            "totals": {**totals, "path": path, "failed": list_unread(parts)},
            "numbers": {label: totals[part][key] for label, part, key in NUMBERS if totals[part]},
            "path": "" if page is None else path,
        },
        has_changed=is_written,
        summary=summarize(parts, overdue, settings.backup_days),
        is_explained=not list_unread(parts),
    )


def _read(site: Site, module: str, member: str, query: Sequence[str] = ()) -> Part:
    try:
        result = read_query(site, module, query, f"{ROLE}_backup_query")
    except VirtinfraError as failure:
        return Part([], error=str(failure))
    return Part(result[member], result["total"])


def find_problem(play: Play, points: Sequence[Record]) -> str | None:
    """Return why the restore points of a mover could not be read, None if all could."""
    for result in points:
        if reason := find_reason(result):
            variables = "capacity_report_backup_repository and capacity_report_backup_mover"
            unknown = play.describe_unknown_host(mover := str(result.get("item")))
            return f"The restore points of {mover} could not be read: {reason}. Check {variables}.{unknown}"
    return None


def build_rows(
    parts: Mapping[str, Part], points: Sequence[Record], settings: Settings, now: datetime
) -> dict[str, list[Record]]:
    """Return the rows of the page: those of storages and hosts, and of the VMs without a recent restore point."""
    rows: dict[str, list[Record]] = {
        kind: list(build_capacity_rows(parts[kind].records, settings.warn_percent, settings.bad_percent))
        for kind in ("storages", "hosts")
    }
    backups = parts.get("backups")
    found = [point for result in points for point in result.get("points") or ()]
    limit = now - timedelta(days=settings.backup_days)
    return {**rows, "backups": list(find_overdue(backups.records, found, limit)) if backups else []}


def build_totals(parts: Mapping[str, Part], rows: Mapping[str, list[Record]]) -> dict[str, Any]:
    """Return the totals of each part, None for one that is not on the page or could not be read."""
    with_errors = sum(row["has_errors"] for row in rows["hosts"])
    tasks, backups, overdue = parts["cbt_tasks"], parts.get("backups"), rows["backups"]
    totals = {
        "storages": sum_rows(rows["storages"], ("", "physical_")),
        "hosts": {**sum_rows(rows["hosts"], ("cpu_", "memory_")), "hardware_errors": with_errors},
        "cbt_tasks": count_tasks(tasks.records, tasks.total),
        "backups": {"count": backups.total if backups else 0, "overdue": len(overdue), "vms": overdue},
    }
    return {name: None if name not in parts or parts[name].error else total for name, total in totals.items()}


def build_page(
    parts: Mapping[str, Part],
    rows: Mapping[str, list[Record]],
    totals: Mapping[str, Any],
    settings: Settings,
    now: datetime,
) -> str | None:
    """Return the page, None if nothing could be read."""
    if all(part.error for part in parts.values()):
        return None
    tasks = sorted(parts["cbt_tasks"].records, key=lambda task: split_numbers(str(task["name"])))
    data = {
        "warn": settings.warn_percent,
        "bad": settings.bad_percent,
        "days": settings.backup_days,
        "has_backups": "backups" in parts,
        "storages": rows["storages"],
        "hosts": rows["hosts"],
        "open": [task for task in tasks if task["status"] == OPEN],
        "failed": [task["name"] for task in tasks if task["status"] == "Failed"],
    }
    return CapacityPage(data, totals).build(now)


def list_unread(parts: Mapping[str, Part]) -> list[Record]:
    """Return the parts that could not be read."""
    return [{"part": name, "error": part.error} for name, part in parts.items() if part.error]


def build_entry(name: str, part: Part, overdue: Sequence[Record]) -> Entry:
    """Return the entry of a part, which fails the role if it could not be read, or if VMs are overdue."""
    members = {"name": name, "outcome": "failed" if part.error else "read completely", "error": part.error}
    return Entry(Outcome(error=part.error or (f"{len(overdue)} VMs are overdue" if overdue else None)), name, members)


def summarize(parts: Mapping[str, Part], overdue: Sequence[Record], days: int) -> str:
    """Return what is missing on the page, and which VMs fail the role; an empty text if there is neither."""
    unread, sentences = len(list_unread(parts)), []
    if unread:
        sentences.append(f"The capacity report is not complete: {unread} of its {len(parts)} parts could not be read")
    if overdue:
        more = ", ..." if len(overdue) > MAX_VMS else ""
        names = ", ".join(vm["name"] for vm in overdue[:MAX_VMS]) + more
        count = parts["backups"].total
        sentences.append(f"{len(overdue)} of {count} VMs have no restore point of the last {days} days: {names}")
    return ". ".join(sentences)


STEPS = {"select": select, "calculate": calculate}
