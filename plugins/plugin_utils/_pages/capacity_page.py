"""The page of the role capacity_report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from ...module_utils._api.records import Record
from .page import LEVELS, UNREAD, build_card, build_page, build_section, build_table, build_title, show, show_level

GIB, TIB = 1024**3, 1024**4

FAILED = ' class="error"'

OPEN_SESSIONS = (
    "<p>While a session is open, its scratch volumes fill the storage. When it is full, writes of the guests fail. End"
    " what no running backup needs.</p>"
)


class CapacityPage:
    """The contents of the page: ``data`` are those that the workflow has read, ``totals`` those of the report."""

    def __init__(self, data: Mapping[str, Any], totals: Mapping[str, Any]) -> None:
        self._data, self._totals = data, totals

    def build(self, now: datetime) -> str:
        """Return the page. Problems come first in each table."""
        warn, bad = (f"{self._data[name]} %" for name in ("warn", "bad"))
        introduction = (
            f"{show_level(warn, 1)} or more in use, or not connected."
            f" {show_level(bad, 2)} or more in use, or a hardware error."
        )
        builders = {
            "storages": self._build_storages,
            "hosts": self._build_hosts,
            "cbt_tasks": self._build_tasks,
            **({"backups": self._build_backups} if self._data["has_backups"] else {}),
        }
        titles = {"storages": "Storages", "hosts": "Hosts", "cbt_tasks": "CBT tasks", "backups": "Backups"}
        sections = [
            build_section(name, titles[name], build() if self._totals[name] else [UNREAD])
            for name, build in builders.items()
        ]
        return build_page("Capacity report", introduction, self._build_cards(), sections, now)

    def _build_cards(self) -> list[str]:
        storages, hosts, tasks, backups = (self._totals[name] for name in ("storages", "hosts", "cbt_tasks", "backups"))
        cards = []
        if storages:
            detail = f"{show_amount(storages, '', TIB)} TiB in {storages['count']} storages"
            figure = self._show_percent(storages["percent"], find_worst(storages))
            cards.append(build_card("Storage", "storages", figure, detail))
        if hosts:
            cpus = f"{int(hosts['cpu_used'])} of {int(hosts['cpu_total'])} virtual CPUs"
            states = f"{hosts['connected']} connected, {hosts['hardware_errors']} with hardware errors"
            memory = f"{show_amount(hosts, 'memory_', TIB)} TiB"
            cards += [
                build_card("CPU", "hosts", self._show_percent(hosts["cpu_percent"]), cpus),
                build_card("Memory", "hosts", self._show_percent(hosts["memory_percent"]), memory),
                build_card("Hosts", "hosts", show_level(str(hosts["count"]), find_worst(hosts)), states),
            ]
        if tasks:
            failed = tasks["statuses"].get("Failed", 0)
            states = f"{tasks['open']} with an open session, {failed} failed"
            figure = show_level(str(tasks["count"]), 1 if failed else None)
            cards.append(build_card("CBT tasks", "cbt_tasks", figure, states))
        if backups:
            figure = show_level(str(backups["overdue"]), 1 if backups["overdue"] else None)
            cards.append(
                build_card("Backups", "backups", figure, f"of {backups['count']} VMs without a recent restore point")
            )
        return cards

    def _build_storages(self) -> list[str]:
        rows = [
            (
                build_title(row["name"], row["level"], show(row["detail"])),
                self._show_usage(row["percent"], f"{show_amount(row, '', TIB)} TiB", "Capacity"),
                self._show_usage(row["physical_percent"], f"{show_amount(row, 'physical_', TIB)} TiB"),
            )
            for row in self._data["storages"]
        ]
        return [build_table(("Storage", "Capacity", "Physical"), rows)]

    def _build_hosts(self) -> list[str]:
        rows = [
            (
                build_title(row["name"], row["level"], show(row["detail"])),
                self._show_usage(row["cpu_percent"], f"{int(row['cpu_used'])} of {int(row['cpu_total'])} vCPUs", "CPU"),
                self._show_usage(row["memory_percent"], f"{show_amount(row, 'memory_', GIB, 0)} GiB", "Memory"),
                f'<td class="error">{row["hardware"]}</td>' if row["has_errors"] else row["hardware"],
            )
            for row in self._data["hosts"]
        ]
        return [build_table(("Host", "CPU", "Memory", "Hardware"), rows)]

    def _build_tasks(self) -> list[str]:
        tasks, opened, failed = self._totals["cbt_tasks"], self._data["open"], self._data["failed"]
        rows = [
            (f'<th scope="row"{FAILED if status == "Failed" else ""}>{show(status)}</th>', str(count))
            for status, count in sorted(tasks["statuses"].items(), key=lambda item: str(item[0]).casefold())
        ]
        contents = [build_table(("Status", "Tasks"), rows)]
        if opened:
            sessions = [f'<li class="level1">{show(task["name"])}{_describe_session(task)}</li>' for task in opened]
            contents += [
                "<h3>Open backup sessions</h3>",
                OPEN_SESSIONS,
                '<ul class="sessions">',
                *sessions,
                "</ul>",
            ]
        if failed:
            contents += ["<h3>Failed tasks</h3>", "<ul>", *(f"<li>{show(name)}</li>" for name in failed), "</ul>"]
        return contents

    def _build_backups(self) -> list[str]:
        vms, days = self._totals["backups"]["vms"], self._data["days"]
        if not vms:
            return [f"<p>All VMs have a restore point of the last {days} days.</p>"]
        rows = [(build_title(vm["name"], 1, show(vm["state"])), show(vm["newest"] or "none")) for vm in vms]
        sentence = f"<p>These VMs have no restore point of the last {days} days that can be restored.</p>"
        return [sentence, build_table(("VM", "Newest restore point"), rows)]

    def _rate(self, percent: float) -> int:
        return 2 if percent >= self._data["bad"] else 1 if percent >= self._data["warn"] else 0

    def _show_percent(self, percent: float | None, level: int | None = None) -> str:
        """Return a figure with its own level, or a worse one."""
        if percent is None:
            return show_level("unknown", level)
        return show_level(f"{int(percent)} %", max(self._rate(percent), level or 0))

    def _show_usage(self, percent: float | None, amount: str, label: str = "") -> str:
        """Return a figure with its amount, and with a bar if it has a label."""
        drawn = self._draw_bar(percent, amount, label) if label else ""
        return f"{drawn}{self._show_percent(percent)}" + ("" if percent is None else f"<small>{amount}</small>")

    def _draw_bar(self, percent: float | None, amount: str, label: str) -> str:
        title = f"{label}: {'unknown' if percent is None else f'{amount} in use'}"
        width = min(100, int(percent or 0))
        used = f'<rect class="{LEVELS[self._rate(width)]}" width="{width}" height="8"/>' if percent else ""
        return f'<svg viewBox="0 0 100 8" preserveAspectRatio="none" role="img"><title>{title}</title>{used}</svg>'


def find_worst(totals: Mapping[str, Any]) -> int | None:
    """Return the worst level of storages or hosts, None if all are well."""
    return 2 if totals["bad"] else 1 if totals["warn"] else None


def show_amount(row: Record, prefix: str, unit: int, digits: int = 1) -> str:
    """Return how much of a capacity is in use, in a unit."""
    return f"{row[f'{prefix}used'] / unit:.{digits}f} of {row[f'{prefix}total'] / unit:.{digits}f}"


def _describe_session(task: Record) -> str:
    scratch: Sequence[Any] | None = task["scratch_volumes"]
    volumes = "" if scratch is None else f", scratch volumes: {len(scratch)}"
    return f"<small>open since {show(task['last_op_date'] or 'unknown')}{volumes}</small>"
