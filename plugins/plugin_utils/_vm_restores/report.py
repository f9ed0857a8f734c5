"""What became of the volumes of a restore. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence

from ...module_utils._api.records import Record
from .._site.report import Entry
from .._vm_backups.report import Made

# What became of a volume: the words of backup_restore, and one for what the data mover has not said.
WRITTEN, UNTOUCHED, UNKNOWN = ("restored", "unchanged"), "untouched", "unknown"

# The outcomes of volumes that have not failed, where the word is another one.
_OUTCOMES = {"restored": "changed", "removed": "changed"}


def list_volumes(targets: Sequence[Record], result: Record | None, predicts: bool) -> list[Record]:
    """Return what became of each target: what backup_restore returned, or what is known without its result."""
    known = {row["volume_uuid"]: row for row in (result or {}).get("volumes") or ()}
    state = "restored" if predicts else UNTOUCHED
    if result is not None and "volumes" not in result:
        # The module did not return: its process was killed, or its machine is unreachable.
        state = UNKNOWN
    return [
        known.get(each["source"])
        or {"volume_uuid": each["source"], "target": each["uuid"], "size": each["size"], "state": state}
        for each in targets
    ]


def find_unwritten(rows: Sequence[Record]) -> str | None:
    """Return that volumes are not written, None if all are."""
    if all(row["state"] in WRITTEN for row in rows):
        return None
    return "The data mover has not said that it has written all volumes"


def build_entries(
    named: Record, rows: Sequence[Record], problems: Sequence[str], group: str | None = None
) -> list[Entry]:
    """Return an entry for each volume. ``named`` has the VM and the point, ``group`` is the snapshot group."""
    entries = []
    for row in rows:
        sentences = [f"{problem.rstrip('.')}." for problem in problems]
        error = " ".join(filter(None, [*sentences, describe_half(row, group)])) if problems else None
        outcome = "failed" if problems else str(_OUTCOMES.get(row["state"], row["state"]))
        members = {
            **named,
            "volume": row["volume_uuid"],
            "target": row["target"],
            "size": row["size"],
            "state": row["state"],
            "bytes_written": row.get("bytes_written", 0),
            "verified": row.get("verified", False),
            "snapshot_group": group,
            "outcome": outcome,
            "error": error,
        }
        label, key = str(row["target"] or row["volume_uuid"]), row["volume_uuid"]
        entries.append(Entry(Made(word=outcome, error=error), label, members, key))
    return entries


def name_restore(vm: Record | None, point: Record) -> Record:
    """Return the members that name the VM and the point in each entry."""
    found = vm or {"name": point["vm_name"], "uuid": point["vm_uuid"]}
    return {"vm": found["name"], "vm_uuid": found["uuid"], "point": point["point"]}


def describe_half(row: Record, group: str | None) -> str:
    """Return what a failure has left of a volume."""
    if row["state"] in ("incomplete", UNKNOWN):
        extent = "may be half written" if row["state"] == UNKNOWN else "is half written"
        revert = f", or set the VM back to the snapshot group {group}" if group else ""
        earlier = ", or to that of the first run if earlier ones have failed, too" if group else ""
        return f"This volume {extent}. Run the role again, which completes it{revert}{earlier}."
    known = {"restored": "This volume is restored.", "unchanged": "This volume has the content already.", "removed": ""}
    return known.get(row["state"], "This volume was not overwritten.")
