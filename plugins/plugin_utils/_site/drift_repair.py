"""Which side of a difference is newer, and which command removes the difference."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from ...module_utils._api.records import Record
from .drift import to_key
from .site_files import KINDS, NOTIFICATIONS
from .variables import Play

# The members of an entry about its repair, for one that needs none.
UNEXPLAINED: Record = {"service_changed": None, "description_changed": None, "newer": None, "command": None}

# The time zones of the world: the service sends its local time without the zone.
EAST, WEST = timedelta(hours=14), timedelta(hours=12)

ONBOARD, NOTIFY, DESCRIBE = (f"virtinfra.manager.{name}" for name in ("onboard_hosts", "notifications", "describe"))


class Repair:
    """Explains the differences of a service from the files that describe it."""

    def __init__(self, play: Play, group: str, objects: Mapping[str, Any]) -> None:
        hosts = play.list_hosts(group)
        self._files = {host: file for host in hosts if (file := play.get_fact(host, "inventory_file"))}
        # The names in the inventory of hosts, by what identifies a host in the comparison.
        self._names = {play.get_fact(host, "host_onboarding_management_ip"): host for host in hosts}
        self._changed = {
            (kind, to_key(item)): item["changed"]
            for kind, listed in objects.items()
            for item in listed or ()
            if kind != "failure"
        }
        # Without hosts, the inventory of localhost has the description.
        self._inventory = next(iter(self._files.values()), None) or play.inventory

    @property
    def describe(self) -> str:
        """The command that describes the service again, as it is."""
        folder = str(Path(self._inventory).parent) if self._inventory else "site"
        given = f"site_description_folder={folder}"
        # Ansible splits a text without braces at spaces.
        given = given if shlex.quote(folder) == folder else json.dumps({"site_description_folder": folder})
        return shlex.join(["ansible-playbook", DESCRIBE, "-e", given])

    def explain(self, entry: Mapping[str, Any], row: Record) -> Record:
        """Return the entry of an object in the report, from that of the plan and the row of the comparison.

        It has the times at which each side has changed, which is newer, and the command that removes the difference.
        All are None for an object that is as described, and the time of a side that is not known.
        """
        members = {name: row[name] for name in ("kind", "name", "outcome", "error")}
        if row["outcome"] not in ("differs", "missing", "not described"):
            return {**members, **UNEXPLAINED}
        host = self._names.get(entry["key"][0] if entry["kind"] == "service" else entry["key"])
        service, description = self._changed.get((entry["kind"], entry["key"])), self._read_time(entry["kind"], host)
        return {
            **members,
            "service_changed": service and service.isoformat(),
            "description_changed": description and description.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "newer": find_newer(service, description),
            "command": self._build_command(entry["kind"], host, row["outcome"]) if row["can_change"] else None,
        }

    def _read_time(self, kind: str, host: str | None) -> datetime | None:
        """Return when the file that describes objects of a kind was written, None if it is not known."""
        file = self._files.get(host or "") or self._inventory
        if file and kind in KINDS[NOTIFICATIONS]:
            file = str(Path(file).parent / NOTIFICATIONS)
        try:
            return datetime.fromtimestamp(Path(file or "").stat().st_mtime, timezone.utc) if file else None
        except OSError:
            return None

    def _build_command(self, kind: str, host: str | None, outcome: str) -> str:
        """Return the command that changes the service, or describes what it has and no file describes."""
        if outcome == "not described":
            return self.describe
        words = ["ansible-playbook", NOTIFY if kind in KINDS[NOTIFICATIONS] else ONBOARD]
        file = self._files.get(host or "") or self._inventory
        words += ["-i", file] if file else []
        words += ["--limit", host] if host else []
        return shlex.join(words)


def find_newer(service: datetime | None, description: datetime | None) -> str | None:
    """Return the side that has changed last, None where this depends on the time zone of the service.

    ``service`` is in the local time of the service, ``description`` in UTC.
    """
    if service is None or description is None:
        return None
    lead = service - description.replace(tzinfo=None)
    return "service" if lead > EAST else "description" if lead < -WEST else None
