"""What became of the VMs of a backup. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...module_utils._api.records import Record
from .report import Entry, Outcome, Report

# What an entry says about the copy, in the order of the report, with the values of a VM without one.
NOTHING: Mapping[str, Any] = {
    "why": None,
    "point": None,
    "bytes_read": 0,
    "bytes_written": 0,
    "bytes_verified": 0,
    "seconds": 0,
    "session_seconds": 0,
    "session_ended": True,
    "verified": False,
    "left_out": [],
    "notes": [],
    "kept": [],
    "deleted": [],
}


@dataclass(frozen=True)
class Copy:
    """The copy of a session: the id of its job, None if it could not be started, and what a look at it returned."""

    session: Record
    job: str | None
    result: Record

    @classmethod
    def from_result(cls, looked: Record) -> Copy:
        """Return the copy of a result of the task that looks at copies in a loop."""
        started = looked["__vm_backup_copy"]
        job = started.get("ansible_job_id")
        return cls(started["__vm_backup_session"], job, looked if job else started)

    @property
    def vm_uuid(self) -> str:
        """The uuid of the VM."""
        return str(self.session["vm"]["uuid"])

    @property
    def has_ended(self) -> bool:
        """Whether the copy is over, or nothing is known about it any more."""
        return any(self.result.get(member) for member in ("finished", "failed", "unreachable"))

    def describe(self) -> Record:
        """Return the copy as the role looks at it, without what was needed to start it: bitmaps have megabytes."""
        session = {name: value for name, value in self.session.items() if name not in ("volumes", "exports")}
        return {"ansible_job_id": self.job, "__vm_backup_session": session}


@dataclass(kw_only=True)
class Made(Outcome):
    """The outcome of a VM, named as in the report."""

    word: str = ""

    @property
    def name(self) -> str:
        """The outcome in one word."""
        return self.word


def build_members(
    vm: Record, *, outcome: str = "failed", error: str | None = None, skipped: str | None = None, **known: Any
) -> Record:
    """Return the entry of a VM in the report, which has failed unless it says otherwise."""
    return {
        "vm": vm["name"],
        "vm_uuid": vm.get("uuid"),
        "outcome": "skipped" if skipped else outcome,
        **NOTHING,
        "why": skipped,
        **known,
        "error": error or skipped,
    }


def judge_copy(item: Record, copy: Record | None, remains: str | None, now: float) -> Record:
    """Return the entry of a VM whose session is over.

    ``copy`` is the result of its copy, None if there was none; ``remains`` is what is left of the session.
    """
    times: dict[str, Any] = {"session_ended": remains is None}
    if "opened" in item:
        times["seconds"] = round(now - item["started"])
        times["session_seconds"] = 0 if item.get("problem") else round(now - item["opened"])
    error = " ".join(filter(None, (find_copy_failure(item, copy), remains)))
    point = (copy or {}).get("point")
    made = _describe_point(copy or {}) if point else {"why": item["why"], "verified": False}
    outcome = "failed" if error else (point["mode"] if point else item["outcome"])
    return build_members(item["vm"], outcome=outcome, error=error or None, **made, **times)


def find_copy_failure(item: Record, copy: Record | None) -> str | None:
    """Return why a VM was not copied, None if it was."""
    if item.get("problem"):
        return str(item["problem"])
    if copy is None:
        return "Nothing was copied, because the run was interrupted."
    if copy.get("unreachable"):
        reason = str(copy.get("msg") or "it is unreachable").rstrip(".")
        return f"The data mover {item['mover']} could not be reached: {reason}."
    if copy.get("failed"):
        return str(copy.get("msg") or "The copy has failed.")
    if "finished" in copy and not copy["finished"]:
        return "The copy did not end within vm_backup_timeout. The session was ended, so that it does no harm."
    return None


def _describe_point(copy: Record) -> Record:
    """Return what an entry says about a new point."""
    point = copy["point"]
    volumes: Sequence[Record] = point["volumes"]
    return {
        "why": "; ".join(dict.fromkeys(str(volume["reason"]) for volume in volumes)),
        "point": point["point"],
        "bytes_read": sum(volume["bytes_read"] for volume in volumes),
        "bytes_written": sum(volume["bytes_written"] for volume in volumes),
        "bytes_verified": sum(volume["bytes_verified"] for volume in volumes),
        "left_out": [volume["name"] or volume["volume_uuid"] for volume in point["left_out"]],
        "notes": [*_list_notes(point), *copy["problems"]],
        "verified": all(volume["verified"] for volume in volumes),
        "kept": sorted([*copy["kept"], *copy["kept_as_bases"]]),
        "deleted": copy["deleted"],
    }


def _list_notes(point: Record) -> list[str]:
    """Return sentences about what a point has not, or has in another way than the VM."""
    left_out = [
        f"The volume {volume['name'] or volume['volume_uuid']} is not in the point: {volume['reason']}."
        for volume in point["left_out"]
    ]
    encrypted = [
        f"The service encrypts the volume {volume['volume_uuid']}, and its copy is in plain text."
        for volume in point["volumes"]
        if volume["encrypted"]
    ]
    return left_out + encrypted


def build_report(entries: Iterable[Record], items: Iterable[Record]) -> Report:
    """Return the report. The VMs of ``items`` without an entry have failed."""
    entries = list(entries)
    done = {entry["vm_uuid"] for entry in entries}
    unreached = "Nothing was copied, because the run has ended before. Run the role again."
    left = [build_members(item["vm"], error=unreached) for item in items if item["vm"]["uuid"] not in done]
    return Report("VMs", [_build_entry(members) for members in (*entries, *left)])


def _build_entry(members: Record) -> Entry:
    error = members["error"] if members["outcome"] == "failed" else None
    uuid = members["vm_uuid"]
    return Entry(
        Made(word=members["outcome"], error=error),
        f"{members['vm']} ({uuid})" if uuid else members["vm"],
        members,
        uuid or members["vm"],
    )
