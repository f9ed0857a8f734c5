"""Describe the objects of a service in files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...module_utils._api.errors import InvalidOptions
from ...module_utils._api.records import Record
from .._site.report import Entry, Outcome, Report
from .._site.settings import SiteDescriptionSettings
from .._site.site import Site
from .._site.site_files import format_files
from .._site.site_objects import read_objects
from .._site.written_file import WrittenFile

MODE = "0600"

VARIABLE = "site_description_folder"


def run(site: Site, options: Mapping[str, Any]) -> Report:
    """Write the files, and return what became of each, with the entries of what they do not describe."""
    settings = SiteDescriptionSettings(**options)
    if not settings.folder:
        raise InvalidOptions(f"{VARIABLE} must not be empty. Give a folder for the files, such as site")
    folder = Path.cwd() / settings.folder
    objects = read_objects(site)
    problems = [build_problem(problem) for listed in objects.values() for problem in listed or () if problem["problem"]]
    files = [write_file(site, folder, **file) for file in format_files(objects)]
    return Report(
        "files and problems",
        files + build_entries(problems),
        next={
            "folder": str(folder),
            "numbers": {kind: len(listed or ()) for kind, listed in objects.items() if kind != "failure"},
        },
        summary=summarize(problems),
    )


def write_file(site: Site, folder: Path, path: str, content: str) -> Entry:
    """Write a file that only the user can read, and return its entry."""
    is_changed = site.write(WrittenFile(folder / path, content, MODE, VARIABLE, has_own_folder=True))
    outcome = "changed" if is_changed else "unchanged"
    members = {"kind": "file", "name": path, "outcome": outcome, "error": None}
    return Entry(Outcome(is_changed=is_changed), path, members)


def build_problem(problem: Record) -> Record:
    """Return the members of an object that the roles cannot describe, or of a read that has failed."""
    outcome = "failed" if problem["kind"] == "records" else "skipped"
    return {"kind": problem["kind"], "name": problem["name"], "outcome": outcome, "error": problem["problem"]}


def build_entries(problems: Sequence[Record]) -> list[Entry]:
    """Return the entries of problems."""
    return [
        Entry(
            Outcome(**{"error" if problem["outcome"] == "failed" else "skipped": problem["error"]}),
            f"{problem['kind']} {problem['name']}",
            problem,
        )
        for problem in problems
    ]


def summarize(problems: Sequence[Record]) -> str:
    """Return a sentence about what the description lacks, an empty string if it is complete."""
    is_complete = all(problem["outcome"] != "failed" for problem in problems)
    incomplete = "The description is not complete. Files whose records could not be read were not changed"
    return "" if is_complete else incomplete
