"""What became of the VMs of a backup. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...module_utils._api.records import Record
from .._site.report import Entry, Outcome, Report
from .plan import VmCopy

# What an entry says about the copy, in the order of the report, with the values of a VM without one.
NOTHING: Mapping[str, Any] = {
    "why": None,
    "point": None,
    "bytes_read": 0,
    "bytes_written": 0,
    "bytes_verified": 0,
    "bytes_compared": 0,
    "seconds": 0,
    "session_seconds": 0,
    "session_ended": True,
    "verified": False,
    "left_out": [],
    "notes": [],
    "kept": [],
    "deleted": [],
}


# What a copy returns beside its point if it has deleted nothing.
NOTHING_DELETED: Mapping[str, Any] = {"problems": [], "kept": [], "kept_as_bases": [], "deleted": []}


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


def judge_copy(copy: VmCopy, remains: str | None, now: float) -> Record:
    """Return the entry of a VM whose session is over. ``remains`` is what is left of the session."""
    times: dict[str, Any] = {
        "session_ended": remains is None,
        "seconds": round(now - copy.started) if copy.started else 0,
        # A session that could not be opened serves no volumes.
        "session_seconds": round(now - copy.opened) if copy.volumes else 0,
    }
    error = " ".join(filter(None, (find_copy_failure(copy), copy.after_problem, remains)))
    point = (copy.result or {}).get("point")
    made = _describe_point(copy.result or {}) if point else {"why": copy.choice.why, "verified": False}
    outcome = point["mode"] if point else copy.outcome
    return build_members(copy.vm, outcome="failed" if error else outcome, error=error or None, **made, **times)


def find_copy_failure(copy: VmCopy) -> str | None:
    """Return why a VM was not copied, None if it was."""
    if copy.problem:
        return copy.problem
    if copy.result is None:
        return "Nothing was copied, because the run was interrupted."
    if copy.result.get("failed") or not copy.result.get("point"):
        return str(copy.result.get("msg") or "The copy has failed.")
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
        "bytes_compared": sum(volume["bytes_compared"] for volume in volumes),
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


def build_report(entries: Iterable[Record], vms: Iterable[Record]) -> Report:
    """Return the report. The VMs without an entry have failed."""
    entries = list(entries)
    done = {entry["vm_uuid"] for entry in entries}
    unreached = "Nothing was copied, because the run has ended before. Run the role again."
    left = [build_members(vm, error=unreached) for vm in vms if vm["uuid"] not in done]
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
