"""The links of the Markdown files lead to files and headings of the repository, so they work in a clone."""

from __future__ import annotations

import re
from pathlib import Path

from support.collection import ROOT

FILES = [*ROOT.glob("*.md"), *ROOT.glob("roles/*/README.md"), *ROOT.glob("docs/**/*.md")]
OF_THE_PROJECT = re.compile(r"https?://(\w+\.)*example\.com\b")


def list_links(path: Path) -> list[str]:
    """Return the targets of the links of a file, outside of code."""
    text = re.sub(r"```.*?```|`[^`]*`", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    return re.findall(r"\]\(([^)\s]+)\)", text)


def list_anchors(path: Path) -> set[str]:
    """Return the anchors of the headings of a Markdown file, as forges make them."""
    headings = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


def leads_nowhere(path: Path, link: str) -> bool:
    """Return whether a link leads to a placeholder, or to a file or heading that does not exist."""
    if re.match(r"\w+:", link):
        return OF_THE_PROJECT.match(link) is not None
    target, dummy, anchor = link.partition("#")
    file = (path.parent / target).resolve() if target else path
    if not file.is_relative_to(ROOT.resolve()) or not file.exists():
        return True
    return bool(anchor) and anchor not in list_anchors(file)


def test_links_lead_to_files_and_headings_of_the_repository() -> None:
    links = [(path, link) for path in FILES for link in list_links(path)]
    assert {path.name for path, link in links} >= {"README.md", "CONTRIBUTING.md", "SECURITY.md"}
    assert [f"{path.relative_to(ROOT)}: {link}" for path, link in links if leads_nowhere(path, link)] == []
