"""A change that users may notice needs a fragment, and a new option the version that adds it."""

from __future__ import annotations

import pytest
from tools.changes import Change, find_problems, list_options

from support.collection import MODULES, ROOT, module

PLUGIN = '''
DOCUMENTATION = r"""
options:
  known:
    description: Known.
    suboptions:
      inner:
        description: Known, too.
{}"""
'''
OLD = PLUGIN.format("")
NEW = PLUGIN.format("  added:\n    description: New.\n")
INNER = PLUGIN.format("      added:\n        description: New.\n")
VERSIONED = PLUGIN.format("  added:\n    description: New.\n    version_added: 1.1.0\n")
ROLE = "argument_specs: {main: {options: {known: {type: str}%s}}}"
FRAGMENT: dict[str, Change] = {"changelogs/fragments/change.yml": (None, "minor_changes: [x]")}


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        (
            {"plugins/modules/vm.py": (OLD, f"{OLD}# A reason.")},
            "has no new fragment, and plugins/modules/vm.py changes",
        ),
        ({"roles/vm_power/tasks/main.yml": ("[]", None)}, "has no new fragment"),
        ({**FRAGMENT, "plugins/modules/vm.py": (OLD, NEW)}, "the new option added needs version_added"),
        ({**FRAGMENT, "plugins/modules/vm.py": (OLD, INNER)}, "the new option known.added needs version_added"),
        (
            {**FRAGMENT, "roles/vm_power/meta/argument_specs.yml": (ROLE % "", ROLE % ", added: {type: str}")},
            "roles/vm_power/meta/argument_specs.yml: the new option added needs version_added",
        ),
    ],
)
def test_what_is_missing_is_named(changes: dict[str, Change], problem: str) -> None:
    (found,) = find_problems(changes)
    assert problem in found


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"tests/unit/test_changes.py": ("", "x"), "docs/docsite/rst/guide_jobs.rst": ("", "x")},
        {**FRAGMENT, "plugins/modules/vm.py": (OLD, VERSIONED)},
        {**FRAGMENT, "plugins/modules/new.py": (None, NEW)},
        {**FRAGMENT, "plugins/modules/old.py": (NEW, None)},
    ],
)
def test_complete_changes_are_accepted(changes: dict[str, Change]) -> None:
    assert find_problems(changes) == []


def test_options_of_every_module_are_found() -> None:
    for name in MODULES:
        path = f"plugins/modules/{name}.py"
        own = {option for option, dummy in list_options(path, (ROOT / path).read_text(encoding="utf-8"))}
        assert {option for option in own if "." not in option} <= module(name).options.keys(), name
    assert list(list_options("plugins/doc_fragments/_wait.py", (ROOT / "plugins/doc_fragments/_wait.py").read_text()))
