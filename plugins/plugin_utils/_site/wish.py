"""What a run was asked for, against which its report is held at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from ...module_utils._api.errors import VirtinfraError
from ...module_utils._api.records import Record
from .report import Entry, Outcome, Report

LOST = "It was selected, and the run says nothing about it. Run the role again."


@dataclass(frozen=True)
class Wish:
    """The objects that a run was asked about, and how a read after its last action shows that they are as asked.

    ``asked`` are the members that name each object in the report, by the keys of the entries. ``read`` returns the
    records of objects by these keys, and ``find_lack`` why an object is not as asked, None if it is; its record is None
    if the service does not list it. Without ``read``, the workflow itself has read each object again.
    """

    asked: Mapping[str, Record]
    read: Callable[[], Mapping[str, Record]] | None = None
    find_lack: Callable[[str, Record | None], str | None] = lambda dummy_key, dummy_record: None


def hold(report: Report, wishes: Iterable[Wish], is_prediction: bool) -> Report:
    """Return a report in which each object has failed that the run was asked about, and that is not as asked.

    It is the only place that knows when a run is done: each object has an entry, and one that has neither failed nor
    was skipped is as asked by a read after the last action.
    """
    for wish in wishes:
        report = replace(report, entries=[*report.entries, *_list_lost(report, wish)])
        if wish.read and not is_prediction:
            _verify(report, wish, wish.read)
    return report


def index(records: Iterable[Record]) -> dict[str, Record]:
    """Return records by their uuids."""
    return {str(record["uuid"]): record for record in records}


def _list_lost(report: Report, wish: Wish) -> list[Entry]:
    """Return an entry for each object that has none."""
    known = {entry.key for entry in report.entries}
    form = dict.fromkeys(report.entries[0].members if report.entries else ())
    return [
        Entry(Outcome(error=LOST), label_object(named), {**form, **named, "outcome": "failed", "error": LOST}, key)
        for key, named in wish.asked.items()
        if key not in known
    ]


def label_object(named: Record) -> str:
    """Return an object in messages, from the members that name it in the report."""
    name, uuid = (next((named[key] for key in keys if named.get(key)), None) for keys in (("vm", "name"), UUIDS))
    return f"{name} ({uuid})" if name and uuid else str(name or uuid)


UUIDS = ("vm_uuid", "uuid")


def _verify(report: Report, wish: Wish, read: Callable[[], Mapping[str, Record]]) -> None:
    """Fail the objects that are not as asked. Without a read, none is known to be."""
    due = [entry for entry in report.entries if entry.key in wish.asked and entry.outcome.is_settled]
    if not due:
        return
    try:
        records = read()
    except VirtinfraError as failure:
        for entry in due:
            entry.fail(f"It could not be read again, so it is not known whether it is as asked. {failure}")
        return
    for entry in due:
        if lack := wish.find_lack(entry.key, records.get(entry.key)):
            entry.fail(lack)
