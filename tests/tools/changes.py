"""Demand what users need to learn of a change: a changelog fragment, and ``version_added`` of each new option.

Compares the checkout with the branch point from ``main``, or from the branch that ``CHANGES_BASE`` names.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

FRAGMENTS = "changelogs/fragments/"
# The folders whose changes users may notice.
PUBLIC = ("extensions/", "playbooks/", "plugins/", "roles/")
BASES = ("origin/main", "main")

Change = tuple[str | None, str | None]
"""The text of a file before and after a change; None if the file does not exist."""


def find_problems(changes: Mapping[str, Change]) -> list[str]:
    """Return what is missing in the changes of a branch, by the paths of the files."""
    public = [path for path in changes if path.startswith(PUBLIC)]
    has_fragment = any(path.startswith(FRAGMENTS) and after for path, (dummy, after) in changes.items())
    problems = []
    if public and not has_fragment:
        problems.append(
            f"{FRAGMENTS} has no new fragment, and {public[0]} changes: add one, in the section trivial if no user will"
            " notice the change"
        )
    for path in public:
        before, after = changes[path]
        if before and after:
            old = dict(list_options(path, before))
            new = [name for name, option in list_options(path, after) if name not in old and not is_versioned(option)]
            problems += [f"{path}: the new option {name} needs version_added" for name in new]
    return problems


def is_versioned(option: Mapping[str, Any]) -> bool:
    """Return whether the documentation of an option says since when it exists."""
    return "version_added" in option


def list_options(path: str, text: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the options that a plugin, a doc fragment or the argument spec of a role documents, with their paths."""
    if path.endswith("meta/argument_specs.yml"):
        for spec in yaml.safe_load(text)["argument_specs"].values():
            yield from _list_nested(spec.get("options") or {}, "")
    elif path.endswith(".py"):
        for block in re.findall(r'^ *[A-Z_]+ = r"""\n(.*?)"""', text, re.DOTALL | re.MULTILINE):
            if re.search("^options:", block, re.MULTILINE):
                yield from _list_nested(yaml.safe_load(block).get("options") or {}, "")


def _list_nested(options: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for name, option in options.items():
        yield f"{prefix}{name}", option
        # Options of a new option are as new as it is.
        if not is_versioned(option):
            yield from _list_nested(option.get("suboptions") or option.get("options") or {}, f"{prefix}{name}.")


def run_git(*arguments: str) -> str:
    """Return the output of git, an empty string if it fails."""
    return subprocess.run(("git", *arguments), check=False, capture_output=True, text=True).stdout


def find_branch_point() -> str:
    """Return the commit at which the branch has left the main one; an empty string if that is not known."""
    bases = (os.environ["CHANGES_BASE"],) if "CHANGES_BASE" in os.environ else BASES
    return next(filter(None, (run_git("merge-base", "HEAD", base).strip() for base in bases)), "")


def read_changes(base: str) -> dict[str, Change]:
    """Return the files that differ between a commit and the checkout, also those that git does not know yet."""
    changed = (
        run_git("diff", "--name-only", base).split() + run_git("ls-files", "--others", "--exclude-standard").split()
    )
    return {path: (run_git("show", f"{base}:{path}") or None, _read(Path(path))) for path in changed}


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else None


def main() -> None:
    """Check the changes of the branch."""
    if base := find_branch_point():
        if problems := find_problems(read_changes(base)):
            raise SystemExit("\n".join(problems))
    else:
        print("The branch point is not known, so the changes are not checked.")


if __name__ == "__main__":
    main()
