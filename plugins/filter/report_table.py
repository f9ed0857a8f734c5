# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: report_table
short_description: Summarize the report of a role as a table
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Counts the entries of a report by their outcome, names the first 20 that were changed, and lists those that failed,
    were skipped or differ from a description, with the reasons. Entries with the same reason are in one line, which
    names all that failed, and a few of the others. The roles end with this table; with the filter, a play can send the
    same table by mail or to a chat.
  - A member V(notes) of an entry is a list of sentences, each of which gets a line with the name of the entry.
  - Characters that control a terminal are escaped, as by P(virtinfra.manager.escape_controls#filter).
positional: _input
options:
  _input:
    description:
      - The report, a list of entries with V(outcome), V(error), and V(vm) or V(name), and optionally V(kind).
      - C(remains) of an entry says in words what is left otherwise than it may seem, and has a line of its own.
      - Members that are lists or booleans, such as V(stopped_vms) or V(powered_off), are counted over all entries.
    type: list
    elements: dict
    required: true
  title:
    description: What the entries are, for the header of the table.
    type: str
    default: objects
  rows:
    description:
      - Further rows, each a label with a value. Of a list, the row has the number, and a line has the first 20 names.
    type: dict
    default: {}
  report:
    description: Where the report is, for the last line, for example V(the fact vm_power_report) or the path of a page.
    type: str
"""

EXAMPLES = r"""
- name: Take snapshots of the running VMs
  ansible.builtin.import_role:
    name: virtinfra.manager.vm_snapshots

- name: Show what was done
  ansible.builtin.debug:
    msg: "{{ vm_snapshots_report | virtinfra.manager.report_table('VMs') }}"
"""

RETURN = r"""
_value:
  description: The lines of the table.
  type: list
  elements: str
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ansible.errors import AnsibleFilterError

from ..module_utils._masking.terminal import escape_controls
from ..plugin_utils._jinja.filters import name_arguments

Entry = Mapping[str, Any]

# Members whose names would mislead as labels: a session that was never opened is not open, either.
LABELS: Mapping[str, str] = {"session_ended": "no session open"}

# How many entries without a failure a line names.
MAX_NAMED = 5

# How many entries a line names that were changed, or not reached.
MAX_LISTED = 20

# The outcomes of entries that were changed; those of backups say how.
CHANGED = ("changed", "done", "full", "incremental", "compared", "mixed", "ended")

# The outcomes whose entries are listed with the reason.
EXPLAINED = ("failed", "skipped", "differs", "missing", "not described", "checked")


def format_table(
    entries: Sequence[Entry], title: str = "objects", rows: Mapping[str, Any] | None = None, report: str = ""
) -> list[str]:
    """Return the lines of the table: the number of entries by outcome, further rows, and the reasons of failures.

    Raise AnsibleFilterError for what is no report.
    """
    _check(entries, rows)
    rows = rows or {}
    lists = {label: value for label, value in rows.items() if isinstance(value, (list, tuple))}
    lines = _format_numbers(entries, title, {**rows, **{label: len(value) for label, value in lists.items()}})
    lines += _name_first("changed", map(_label, (entry for entry in entries if entry["outcome"] in CHANGED)))
    lines += [line for label, names in lists.items() for line in _name_first(label, map(str, names))]
    lines += [f"remains: {_label(entry)}: {entry['remains']}" for entry in entries if entry.get("remains")]
    lines += _explain([entry for entry in entries if entry["outcome"] in EXPLAINED and _get_reason(entry)])
    lines += [f"note: {_get_name(entry)}: {note}" for entry in entries for note in entry.get("notes", ())]
    if report:
        lines.append(f"Details are in {report}.")
    return [escape_controls(line) for line in lines]


def _check(entries: Any, rows: Any) -> None:
    """Raise AnsibleFilterError for entries that are no report, and rows that are no mapping."""
    if not isinstance(entries, (list, tuple)):
        hint = ""
        if isinstance(entries, Mapping) and isinstance(entries.get("report"), (list, tuple)):
            hint = " It is a mapping, whose member report is one."
        raise AnsibleFilterError(
            f"report_table: the input must be the report of a role, a list such as the fact vm_power_report.{hint}"
        )
    for number, entry in enumerate(entries):
        if not isinstance(entry, Mapping) or "outcome" not in entry:
            raise AnsibleFilterError(
                f"report_table: [{number}] of the input is no entry of a report of a role, because it has no outcome."
            )
    if rows is not None and not isinstance(rows, Mapping):
        raise AnsibleFilterError(
            f"report_table: rows must be a mapping of labels to values, such as {{'later': 4}}, not {rows!r}."
        )


def _format_numbers(entries: Sequence[Entry], title: str, rows: Mapping[str, Any]) -> list[str]:
    """Return a line for each number: of all entries, of those with an outcome, of their members, and of rows."""
    outcomes = Counter(str(entry["outcome"]) for entry in entries)
    table = {title: len(entries), **outcomes, **_count_members(entries), **rows}
    width = max(map(len, table))
    return [f"{label:<{width}}  {value:>6}" for label, value in table.items()]


def _count_members(entries: Sequence[Entry]) -> dict[str, int]:
    """Return how many elements the lists of all entries have, and in how many entries a boolean is true."""
    counts: Counter[str] = Counter()
    for entry in entries:
        for name, value in entry.items():
            if isinstance(value, (bool, list, tuple)):
                label = LABELS.get(name) or name.replace("_", " ").replace("vms", "VMs")
                counts[label] += int(value) if isinstance(value, bool) else len(value)
    return dict(counts)


def _name_first(title: str, labels: Iterable[str]) -> list[str]:
    """Return a line with the first labels, none if there are none."""
    names = list(dict.fromkeys(labels))
    others = [f"{len(names) - MAX_LISTED} others"] if len(names) > MAX_LISTED else []
    return [f"{title}: {', '.join([*names[:MAX_LISTED], *others])}"] if names else []


def _get_name(entry: Entry) -> str:
    return str(entry.get("vm") or entry.get("name"))


def _label(entry: Entry) -> str:
    """Return the name of an entry, with its kind if the report has several."""
    return " ".join(filter(None, (entry.get("kind"), _get_name(entry))))


def _get_reason(entry: Entry) -> str:
    """Return why an entry has its outcome; a drill that has not failed says why it has only checked files."""
    return str(entry.get("error") or (entry.get("why") if entry["outcome"] == "checked" else "") or "")


def _explain(entries: Sequence[Entry]) -> list[str]:
    """Return a line for each outcome and reason, with the entries that have both: all that failed, else some."""
    labels: dict[tuple[str, str], list[str]] = {}
    for entry in entries:
        outcome, error, name = str(entry["outcome"]), _get_reason(entry), _get_name(entry)
        label = "" if name in error else _label(entry)
        labels.setdefault((outcome, error), []).append(label)
    lines = []
    for (outcome, error), found in labels.items():
        others = 0 if outcome == "failed" else max(0, len(found) - MAX_NAMED)
        named = [*filter(None, found[: len(found) - others]), *([f"{others} others"] if others else [])]
        lines.append(": ".join(filter(None, (outcome, ", ".join(named), error))))
    return lines


class FilterModule:
    """The filter report_table."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filter by its name."""
        return {"report_table": name_arguments("report_table", format_table)}
