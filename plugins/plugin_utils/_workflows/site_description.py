"""Describe the objects of a service in files. The role writes them between the two steps."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...module_utils._api.records import Record
from .._site.report import Entry, Outcome, Report
from .._site.settings import SiteDescriptionSettings
from .._site.site import Site
from .._site.site_files import format_files
from .._site.site_objects import read_objects


def describe(site: Site, options: Mapping[str, Any], dummy: Record) -> Report:
    """Return the contents of the files, and the entries of what they do not describe."""
    folder = Path.cwd() / SiteDescriptionSettings(**options).folder
    objects = read_objects(site)
    files = [
        {"name": each["path"], "path": str(folder / each["path"]), "content": encode(each["content"])}
        for each in format_files(objects)
    ]
    problems = [problem for listed in objects.values() for problem in listed or () if problem["problem"]]
    return Report(
        "files and problems",
        next={
            "folder": str(folder),
            "folders": [str(folder / name) for name in ("", "group_vars", "group_vars/all")],
            "files": files,
            "problems": [build_problem(problem) for problem in problems],
            "numbers": {kind: len(listed or ()) for kind, listed in objects.items() if kind != "failure"},
        },
    )


def encode(content: str) -> str:
    """Return a content in Base64: in a result, the templates in place of passwords would be masked like passwords."""
    return b64encode(content.encode("utf-8")).decode("ascii")


def build_problem(problem: Record) -> Record:
    """Return the members of an object that the roles cannot describe, or of a read that has failed."""
    outcome = "failed" if problem["kind"] == "records" else "skipped"
    return {"kind": problem["kind"], "name": problem["name"], "outcome": outcome, "error": problem["problem"]}


def report(site: Site, dummy: Mapping[str, Any], given: Record) -> Report:
    """Return what became of each file, and the problems.

    ``files`` are the names of the files, and ``written`` says of each whether it was changed.
    """
    files = [
        Entry(Outcome(is_changed=changed), name, build_file(name, changed))
        for name, changed in zip(given["files"], given["written"], strict=True)
    ]
    return Report("files and problems", files + build_entries(given["problems"]), summary=summarize(given["problems"]))


def build_file(name: str, changed: bool) -> Record:
    """Return the members of a file."""
    return {"kind": "file", "name": name, "outcome": "changed" if changed else "unchanged", "error": None}


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


STEPS = {"describe": describe, "report": report}
