"""What the restore points say about the backups of VMs: how old they are, until when they are kept, what they lack."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Protocol

from ...module_utils._api.records import Record

# The outcomes of VMs, with their levels on the page. A VM is unknown if a repository that may have its points could
# not be read.
OUTCOMES = {"protected": 0, "unknown": 1, "overdue": 1, "not protected": 2}

# How many days the points of a rule are kept for each of its periods.
PERIODS = {"daily": 1, "weekly": 7, "monthly": 30}

# From the points of how many days it is calculated how fast a repository becomes full.
RATE_DAYS = 14

# The levels of proofs for which a VM has run.
RAN = ("ran", "answered")

_TIME = "%Y-%m-%dT%H:%M:%SZ"


class Wanted(Protocol):
    """What is wanted of backups: how old a newest point may be, and which points are kept."""

    @property
    def days(self) -> int:
        """How many days old the newest point may be."""

    @property
    def keep(self) -> Record:
        """How many points are kept by which rule."""


def group_points(results: Iterable[Record]) -> dict[str, list[Record]]:
    """Return the points of each VM, oldest first. Movers that share a repository return the same ones."""
    found = {
        (point["vm_uuid"], point["point"]): point
        for result in results
        for point in result.get("points") or ()
        if not point.get("future")
    }
    points: dict[str, list[Record]] = {}
    for (uuid, dummy), point in sorted(found.items(), key=lambda item: item[0]):
        points.setdefault(uuid, []).append(point)
    return points


def describe_vm(vm: Record, points: Sequence[Record], wanted: Wanted, is_partly_unread: bool, now: datetime) -> Record:
    """Return the row of a VM that needs a restore point. Only a point that can be restored counts."""
    newest = next((point for point in reversed(points) if point["whole"]), None)
    outcome, error = _judge(points, newest, wanted.days, is_partly_unread, now)
    return {
        "vm": str(vm["name"]),
        "vm_uuid": str(vm["uuid"]),
        "state": str(vm["state"]),
        "outcome": outcome,
        "error": error,
        **_describe_newest(newest, wanted.keep),
        "points": len(points),
        "total_bytes": sum_bytes(points),
        **_describe_proofs(points),
    }


def _describe_newest(newest: Record | None, keep: Mapping[str, int | None]) -> Record:
    """Return what the newest point is that can be restored, and until when it is kept."""
    if newest is None:
        return {"point": None, "created": None, "mode": None, "file_bytes": 0, "kept_until": None}
    members = {name: newest[name] for name in ("point", "created", "mode", "file_bytes")}
    return {**members, "kept_until": find_end(str(newest["created"]), keep)}


def _describe_proofs(points: Iterable[Record]) -> Record:
    """Return when a point of a VM was checked last, and when one has run, and how long its restore took."""
    proofs = sorted((proof for point in points if (proof := point.get("proved"))), key=lambda proof: str(proof["time"]))
    ran: Record = next((proof for proof in reversed(proofs) if proof.get("level") in RAN), {})
    return {
        "checked": proofs[-1]["time"] if proofs else None,
        "proved": ran.get("time"),
        "restore_seconds": ran.get("restore_seconds"),
    }


def _judge(
    points: Sequence[Record], newest: Record | None, days: int, is_partly_unread: bool, now: datetime
) -> tuple[str, str | None]:
    """Return whether a VM is protected, and why not."""
    if newest and str(newest["created"]) >= (now - timedelta(days=days)).strftime(_TIME):
        return "protected", None
    if is_partly_unread:
        return "unknown", "A repository could not be read, which may have a newer point."
    if newest:
        problems = [problem for point in points if point["point"] > newest["point"] for problem in point["problems"]]
        newer = f" A newer one cannot be restored: {problems[0]}." if problems else ""
        return "overdue", f"The newest restore point is older than {days} days.{newer}"
    if points:
        return "not protected", f"No point can be restored: {'; '.join(points[-1]['problems'])}."
    return "not protected", "It has no restore point."


def find_end(created: str, keep: Mapping[str, int | None]) -> str | None:
    """Return until when a point is kept at least that is the newest of its period. None if no rule says so.

    A rule counts periods that have a point, so a point is kept longer where backups were left out.
    """
    days = [(keep.get(rule) or 0) * length for rule, length in PERIODS.items()]
    if not any(days):
        return None
    return (datetime.strptime(created, _TIME) + timedelta(days=max(days))).strftime(_TIME)


def list_left_out(vm: Record, points: Sequence[Record]) -> list[Record]:
    """Return the volumes of a VM that its newest point does not have, and why."""
    return [
        {
            "vm": vm["name"],
            "vm_uuid": vm["uuid"],
            "volume": each["name"] or each["volume_uuid"],
            "reason": each["reason"],
        }
        for each in (points[-1]["left_out"] if points else ())
    ]


def find_movers(results: Iterable[Record]) -> dict[str, str]:
    """Return by which data mover the points of each VM can be deleted."""
    return {point["vm_uuid"]: str(each.get("item")) for each in results for point in each.get("points") or ()}


def list_leftovers(results: Iterable[Record], names: Mapping[str, str]) -> list[Record]:
    """Return what tasks that were killed have left, with the names of the VMs. Movers can share a repository."""
    found = [item for result in results for item in result.get("leftovers") or ()]
    return list({item["folder"]: {**item, "vm": names.get(item["vm_uuid"])} for item in found}.values())


def list_removed(
    points: Mapping[str, Sequence[Record]], names: Mapping[str, str], movers: Mapping[str, str], limit: datetime
) -> list[Record]:
    """Return the VMs that have points and no longer exist, the largest first, each with its points from before a limit.

    ``movers`` are the data movers that have them.
    """
    removed = [
        {
            "vm": next((point["vm_name"] for point in reversed(each) if point["vm_name"]), None) or uuid,
            "vm_uuid": uuid,
            "points": len(each),
            "created": each[-1]["created"],
            "total_bytes": sum_bytes(each),
            "mover": movers[uuid],
            "expired": list_expired(each, limit),
        }
        for uuid, each in points.items()
        if uuid not in names
    ]
    return sorted(removed, key=lambda row: -row["total_bytes"])


def list_expired(points: Sequence[Record], limit: datetime) -> list[str]:
    """Return the points of a VM from before a limit, without the newest ones and those on which they are based.

    The newest ones are that of all, and that which can be restored. There are none while a manifest cannot be read,
    which does not say what its point needs.
    """
    if any(point["created"] is None for point in points):
        return []
    kept, by_name = set[str](), {str(point["point"]): point for point in points}
    whole = [point["point"] for point in points if point["whole"]]
    pending = [points[-1]["point"], *whole[-1:]]
    while pending:
        name = pending.pop()
        if name in by_name and name not in kept:
            kept.add(name)
            pending += [volume["base"] for volume in by_name[name]["volumes"] if volume["base"]]
    oldest = limit.strftime(_TIME)
    return [name for name, point in by_name.items() if name not in kept and str(point["created"]) < oldest]


def describe_repository(result: Record, folder: str, now: datetime) -> Record:
    """Return the free space of a repository, and for how many days it is sufficient at the rate of the last days.

    What retention will delete is not subtracted. ``days_left`` is None without a new point.
    """
    since = (now - timedelta(days=RATE_DAYS)).strftime(_TIME)
    recent = [point for point in result["points"] if since <= str(point["created"] or "")]
    free, written = result["space"]["free_bytes"], sum_bytes(recent)
    days_left = int(free * RATE_DAYS / written) if written else None
    return {"mover": str(result.get("item")), "repository": folder, **result["space"], "days_left": days_left}


def sum_bytes(points: Iterable[Record]) -> int:
    """Return the size of the files of points."""
    return sum(point["file_bytes"] or 0 for point in points)


def count_outcomes(vms: Iterable[Record]) -> dict[str, int]:
    """Return how many VMs have which outcome."""
    counts = Counter(vm["outcome"] for vm in vms)
    return {outcome: counts[outcome] for outcome in OUTCOMES}
