"""The page of the role vm_backup_report."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone

from ...module_utils._api.records import Record
from .._vm_backups.overview import OUTCOMES, RATE_DAYS
from .page import build_card, build_page, build_section, build_table, build_title, show, show_level

UNITS = ("B", "KiB", "MiB", "GiB", "TiB")

# With less free space, in percent, or for fewer days, a repository has a warning.
LEAST_PERCENT, LEAST_DAYS = 10, 14

LEFTOVERS = (
    "Tasks that were killed have left these. The next point of the VM removes them, a person those of other VMs."
)

VM_HEADS = ("VM", "Newest point", "Kept until", "Proved")

Section = tuple[str, str, list[str]]


class BackupPage:
    """The contents of the page: the overview, and how many days old a newest point may be.

    ``has_keep`` says whether the rules are known by which points are kept.
    """

    def __init__(self, overview: Record, days: int, has_keep: bool) -> None:
        self._overview, self._days, self._has_keep = overview, days, has_keep

    def build(self, now: datetime) -> str:
        """Return the page. Problems come first."""
        introduction = (
            f"{show_level('Warning', 1)}: the newest point is older than {self._days} days."
            f" {show_level('Bad', 2)}: there is no point that can be restored."
        )
        sections = [*self._build_unread(), ("vms", "VMs", self._build_vms(now))]
        sections += [*self._build_volumes(), *self._build_outside(now), *self._build_removed()]
        sections += self._build_leftovers()
        sections.append(("repositories", "Repositories", self._build_repositories()))
        return build_page(
            "Backups", introduction, self._build_cards(), [build_section(*each) for each in sections], now
        )

    def _build_cards(self) -> list[str]:
        overview, counts = self._overview, self._overview["counts"]
        lacking = counts["overdue"] + counts["not protected"]
        level = 2 if counts["not protected"] else 1 if lacking or counts["unknown"] else None
        of_vms = f"of {len(overview['vms'])} VMs"
        unknown = f", unknown of {counts['unknown']}" if counts["unknown"] else ""
        never = sum(vm["proved"] is None for vm in overview["vms"])
        groups = (*overview["vms"], *overview["outside"]["covered"], *overview["removed"])
        size = sum(each["total_bytes"] for each in groups)
        return [
            build_card("Without a recent point", "vms", show_level(str(lacking), level), f"{of_vms}{unknown}"),
            build_card("Never proved", "vms", show_level(str(never), 1 if never else None), of_vms),
            build_card("Points", "repositories", show_level(show_bytes(size), None), "of the VMs on this page"),
            self._build_outside_card(),
        ]

    def _build_outside_card(self) -> str:
        """Return the card of what no point covers on purpose, which may be forgotten."""
        volumes, outside = len(self._overview["volumes"]), self._overview["outside"]["count"]
        section = "volumes" if volumes else "outside" if outside else ""
        figure = show_level(str(volumes + outside), None)
        return build_card("Left out", section, figure, f"volumes: {volumes}, VMs outside the query: {outside}")

    def _build_unread(self) -> list[Section]:
        unread = self._overview["unread"]
        texts = [f'<p class="unread">{show(each["mover"])}: {show(each["error"])}</p>' for each in unread]
        return [("unread", "Not read", texts)] if unread else []

    def _build_vms(self, now: datetime) -> list[str]:
        vms = self._overview["vms"]
        rows = [self._build_row(vm, OUTCOMES[vm["outcome"]], now) for vm in vms]
        return [build_table(VM_HEADS, rows)] if rows else ["<p>No VM needs a restore point.</p>"]

    def _build_row(self, vm: Record, level: int, now: datetime) -> Sequence[str]:
        title = build_title(vm["vm"], level, show(vm["error"] or vm["state"]))
        return title, _show_point(vm, now), self._show_end(vm), _show_proofs(vm)

    def _show_end(self, vm: Record) -> str:
        """Return until when the newest point is kept, with the number and size of all points."""
        if not vm["points"]:
            return ""
        end = "newer points replace it" if self._has_keep else "no end"
        end = show_day(vm["kept_until"]) if vm["kept_until"] else end if vm["point"] else ""
        return f"{end}<small>points: {vm['points']}, {show_bytes(vm['total_bytes'])}</small>"

    def _build_volumes(self) -> list[Section]:
        rows = [
            (build_title(each["volume"], 0, show(each["vm"])), show(each["reason"]))
            for each in self._overview["volumes"]
        ]
        table = build_table(("Volume", "Why no point has it"), rows)
        return [("volumes", "Volumes that are left out", [table])] if rows else []

    def _build_outside(self, now: datetime) -> list[Section]:
        """Return the VMs that need no point, also those that have some, for example of an earlier query."""
        outside = self._overview["outside"]
        contents = []
        if outside["count"]:
            contents.append(f"<p>VMs that do not meet the query, and that no point covers: {outside['count']}</p>")
        if outside["vms"]:
            contents += ["<ul>", *(f"<li>{show(name)}</li>" for name in outside["vms"]), "</ul>"]
        if outside["covered"]:
            contents.append(build_table(VM_HEADS, [self._build_row(vm, 0, now) for vm in outside["covered"]]))
        return [("outside", "VMs outside the query", contents)] if contents else []

    def _build_removed(self) -> list[Section]:
        rows = [
            (
                build_title(each["vm"], 0, show(each["vm_uuid"]) if each["vm"] != each["vm_uuid"] else "nameless"),
                show_day(each["created"]),
                f"{show_bytes(each['total_bytes'])}<small>points: {each['points']}</small>",
            )
            for each in self._overview["removed"]
        ]
        table = build_table(("VM", "Newest point", "Size"), rows)
        return [("removed", "VMs that no longer exist", [table])] if rows else []

    def _build_leftovers(self) -> list[Section]:
        rows = [
            (build_title(each["folder"], 1, show(each["vm"] or each["vm_uuid"])), show_bytes(each["file_bytes"]))
            for each in self._overview["leftovers"]
        ]
        contents = [f"<p>{LEFTOVERS}</p>", build_table(("Folder", "Size"), rows)]
        return [("leftovers", "Left-overs", contents)] if rows else []

    def _build_repositories(self) -> list[str]:
        rows = [_build_repository(each) for each in self._overview["repositories"]]
        rate = (
            f"<p>The days are those at the rate of the last {RATE_DAYS} days, without what retention will delete.</p>"
        )
        return [build_table(("Repository", "Free", "Sufficient for"), rows), rate] if rows else []


def _build_repository(each: Record) -> Sequence[str]:
    percent = 100 * each["free_bytes"] // each["total_bytes"] if each["total_bytes"] else 0
    days = each["days_left"]
    is_low = percent < LEAST_PERCENT or (days is not None and days < LEAST_DAYS)
    free = f"{show_bytes(each['free_bytes'])}<small>{percent} % of {show_bytes(each['total_bytes'])}</small>"
    title = build_title(each["repository"], 1 if is_low else 0, show(each["mover"]))
    return title, free, "unknown" if days is None else f"{days} days"


def _show_point(vm: Record, now: datetime) -> str:
    if vm["created"] is None:
        return "none"
    created = datetime.strptime(vm["created"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc)
    days = max(0, (now - created).days)
    age = "today" if days == 0 else "1 day old" if days == 1 else f"{days} days old"
    details = f"{age}, {show(vm['mode'])}, {show_bytes(vm['file_bytes'])}"
    return f"{show_day(vm['created'])} {show(vm['created'][11:16])}<small>{details}</small>"


def _show_proofs(vm: Record) -> str:
    """Return when a VM of a point was started, and when the files of a point were checked."""
    seconds = vm["restore_seconds"]
    proved = show_day(vm["proved"]) if vm["proved"] else "never"
    took = f"restored in {show(seconds)} s, " if vm["proved"] and seconds is not None else ""
    checked = f"checked {show_day(vm['checked'])}" if vm["checked"] else "never checked"
    return f"{proved}<small>{took}{checked}</small>"


def show_day(time: object) -> str:
    """Return the day of a time, which does not break at its hyphens."""
    return f'<span class="day">{show(str(time or "unknown")[:10])}</span>'


def show_bytes(number: int) -> str:
    """Return a size in a unit in which it has few digits."""
    size, unit = float(number), UNITS[0]
    for unit in UNITS:
        if size < 1024 or unit == UNITS[-1]:
            break
        size /= 1024
    return f"{size:.0f} {unit}" if unit == UNITS[0] else f"{size:.1f} {unit}"
