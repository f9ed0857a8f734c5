"""Compare a service with the variables of the roles host_onboarding and notifications."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from ...module_utils._api.errors import InvalidOptions
from ...module_utils._api.records import Record
from .._pages.drift_page import build_drift_page
from .._pages.page import check_page, complete_path, plan_file
from .._site.drift import NOT_DESCRIBED, build_rows, plan_drift
from .._site.drift_repair import UNEXPLAINED, Repair
from .._site.report import Entry, Outcome, Report
from .._site.settings import SiteDriftSettings
from .._site.site import Site
from .._site.site_objects import read_objects
from .._site.written_file import WrittenFile
from .site_description import build_problem

ROLE = "site_drift"

# The module that checks the objects of each kind.
MODULES = {
    "host": "kvm_host",
    "service": "host_nic_service",
    "platform": "sns_snmp_platform",
    "topic": "sns_topic",
    "endpoint": "sns_endpoint",
    "person": "sns_teamchat_person",
}

NO_HOSTS = "the group {} (site_drift_group) has no hosts"

# How many objects of a kind are checked at the same time.
CONCURRENCY = 500

# The variables of a host that describe it.
OF_HOSTS = ("name", "management_ip", "cluster", "state", "services")


def run(site: Site, options: Mapping[str, Any]) -> Report:
    """Check all described objects, and return what became of each, and of those that are not described."""
    settings = SiteDriftSettings(**options)
    if settings.path:
        check_page(ROLE, settings.path, settings.file_mode)
    described = read_description(site, settings.group)
    objects = read_objects(site)
    plan = plan_drift(objects, described, NOT_DESCRIBED if described["hosts"] else NO_HOSTS.format(settings.group))
    results = {}
    for kind, module in MODULES.items():
        checked = [entry["options"] for entry in plan if entry["kind"] == kind and entry["outcome"] is None]
        results[kind] = {"results": site.check(module, checked, CONCURRENCY)}
    repair = Repair(site.play, settings.group, objects)
    rows = [
        *map(repair.explain, plan, build_rows(plan, results)),
        *({**build_problem(failure), **UNEXPLAINED} for failure in objects["failure"] or ()),
    ]
    entries = [Entry(judge(row, settings.fail), f"{row['kind']} {row['name']}", row) for row in rows]
    page = plan_page(rows, repair, settings, site.get_date())
    return Report(
        "objects",
        entries,
        next={"path": "" if page is None else str(page.path)},
        has_changed=page is not None and site.write(page),
        summary=summarize(rows, settings.fail),
    )


def plan_page(rows: Sequence[Record], repair: Repair, settings: SiteDriftSettings, now: datetime) -> WrittenFile | None:
    """Return the file of the page, None if it has no path, or nothing could be read."""
    if not settings.path or all(row["outcome"] == "failed" for row in rows):
        return None
    page = build_drift_page(rows, repair.describe, now)
    return plan_file(ROLE, page, complete_path(ROLE, settings.path), settings.file_mode)


def read_description(site: Site, group: str) -> Record:
    """Return the variables of the roles that describe objects. Raise InvalidOptions if they describe nothing."""
    lists = site.play.read("notifications")
    described = {
        "hosts": [read_host(site, host) for host in site.play.list_hosts(group)],
        **{kind: drop_nulls(lists[kind]) for kind in ("platforms", "topics", "endpoints", "persons")},
    }
    if not any(described.values()):
        raise InvalidOptions(
            f"Nothing is described: {NO_HOSTS.format(group)}, and the lists of the role notifications are empty. Give"
            " the files of the description, for example with -i site/hosts.yml."
        )
    return described


def read_host(site: Site, host: str) -> Record:
    """Return the variables that describe a host of the inventory; its name in the inventory if it has no other."""
    given = site.play.read_host("host_onboarding", host, OF_HOSTS)
    return {**given, "name": given.get("name") or host, "services": drop_nulls(given.get("services") or ())}


def drop_nulls(entries: Sequence[Record]) -> list[Record]:
    """Return entries without the options that are not set, which are not compared."""
    return [{name: value for name, value in entry.items() if value is not None} for entry in entries]


def judge(row: Record, fails: bool) -> Outcome:
    """Return whether an object fails the role: if it could not be checked, or differs and ``fails`` is true."""
    failing = ("differs", "missing", "not described", "failed") if fails else ("failed",)
    return Outcome(error=str(row["error"])) if row["outcome"] in failing else Outcome()


def summarize(rows: Sequence[Record], fails: bool) -> str:
    """Return how many objects differ, and how many could not be checked; an empty text if none fails the role."""
    failing = [row for row in rows if judge(row, fails).error is not None]
    unchecked = sum(row["outcome"] == "failed" for row in failing)
    if not failing:
        return ""
    if len(failing) == unchecked:
        return f"{unchecked} of {len(rows)} objects could not be checked"
    differing = f"{len(failing) - unchecked} of {len(rows)} objects differ from their description"
    return differing + (f", and {unchecked} could not be checked" if unchecked else "")
