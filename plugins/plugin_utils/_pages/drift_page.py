"""The page of the role site_drift."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from ...module_utils._api.records import Record
from .page import build_card, build_page, build_section, build_table, build_title, show, show_command, show_level

# The sections, in their order: the outcome, its level, the title, and what the page says of its objects.
SECTIONS = (
    ("failed", 2, "Not checked", "They could not be read, so they may differ."),
    ("differs", 1, "Different", "The service and the description have other values."),
    ("missing", 1, "Missing", "They are described, but the service does not have them."),
    ("not described", 1, "Not described", "The service has them, but no file describes them."),
    ("skipped", 0, "Left out", "No role can describe them, or their description lacks what identifies them."),
)

INTRODUCTION = (
    "The commands change the service as it is described. If the service is right, describe it again: {describe}"
)


def build_drift_page(rows: Sequence[Record], describe: str, now: datetime) -> str:
    """Return the page of the entries of the report. ``describe`` is the command that describes the service again."""
    listed = {outcome: [row for row in rows if row["outcome"] == outcome] for outcome, *dummy in SECTIONS}
    same = sum(row["outcome"] == "same" for row in rows)
    cards = [build_card("As described", "", show_level(str(same), None), f"of {len(rows)} objects")]
    sections = []
    for outcome, level, title, sentence in SECTIONS:
        if found := listed[outcome]:
            name = outcome.replace(" ", "_")
            cards.append(build_card(title, name, show_level(str(len(found)), level), "objects"))
            cells = [(_build_title(row, level), _explain(row)) for row in found]
            table = build_table(("Object", "What differs, and what removes the difference"), cells)
            sections.append(build_section(name, title, [f"<p>{sentence}</p>", table]))
    if not sections:
        sections = ["<p>The service is as it is described.</p>"]
    return build_page("Drift", INTRODUCTION.format(describe=show_command(describe)), cards, sections, now)


def _build_title(row: Record, level: int) -> str:
    return build_title(row["name"], level, show(row["kind"]))


def _explain(row: Record) -> str:
    """Return what differs, which side is newer, and the command."""
    times = _compare_times(row)
    details = f"<small>{times}</small>" if times else ""
    command = show_command(row["command"]) if row["command"] else ""
    return f"{show(row['error'])}{details}{command}"


def _compare_times(row: Record) -> str:
    """Return when both sides have changed, as far as it is known, and which is newer."""
    times = []
    if row["service_changed"]:
        times.append(f"Changed in the service at {show(row['service_changed'].replace('T', ' '))}, in its time zone.")
    if row["description_changed"]:
        times.append(
            f"The file was written at {show(row['description_changed'].replace('T', ' ').replace('Z', ' UTC'))}."
        )
    if row["newer"]:
        times.append(f"<strong>The {row['newer']} is newer.</strong>")
    elif len(times) == 2:
        times.append("Which is newer depends on the time zone of the service.")
    return " ".join(times)
