"""The paths of files that a user gives, in which the values of variables of the environment are in place already."""

from __future__ import annotations

import re
from pathlib import Path

_VARIABLE = re.compile(r"\$(?:\w+|\{\w+\})")


def find_unset_variable(folder: Path) -> str:
    """Return the first variable in the path of a folder that the environment lacks, an empty string without one."""
    existing = next((each for each in (folder, *folder.parents) if each.exists()), Path())
    found = _VARIABLE.search(str(folder).removeprefix(str(existing)))
    return found[0] if found else ""


def describe_missing_folder(folder: Path) -> str:
    """Return a sentence on a folder that does not exist, and what to do about it."""
    if unset := find_unset_variable(folder):
        return f"the environment of Ansible has no variable {unset}. Write the path without it, such as with ~/."
    return f"the folder {folder} does not exist. Create it."
