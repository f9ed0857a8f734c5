"""The README, the development reference and the guides name what the code has."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import yaml
from ansible_collections.virtinfra.manager.plugins.module_utils._api.equality import OPERATORS

from support.collection import ALL_MODULES

ROOT = Path(__file__).parents[2]
GUIDES = ROOT / "docs" / "docsite" / "rst"
LONGEST_README = 8192


def read(*names: str) -> str:
    return ROOT.joinpath(*names).read_text(encoding="utf-8")


def read_table(text: str, heading: str) -> list[list[str]]:
    """Return the cells of the Markdown table whose header contains ``heading``, without the header."""
    lines = iter(text.splitlines())
    next(line for line in lines if line.startswith("|") and heading in line)
    next(lines)
    rows = []
    for line in lines:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


def read_constant(name: str) -> object:
    """Return a constant of noxfile.py, which cannot be imported without nox."""
    for node in ast.parse(read("noxfile.py")).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == name:
            return ast.literal_eval(node.value)
    raise AssertionError(name)


def list_sessions() -> dict[str, set[str]]:
    """Return the sessions of noxfile.py that run without being named, each with its parts that noxfile.py names."""
    sessions = {}
    for node in ast.parse(read("noxfile.py")).body:
        if isinstance(node, ast.FunctionDef):
            for decorator in map(ast.unparse, node.decorator_list):
                if decorator.startswith("nox.session") and "default=False" not in decorator:
                    found = re.search(r"name='([^']+)'", decorator)
                    calls = [call for call in ast.walk(node) if isinstance(call, ast.Call)]
                    parts = [call for call in calls if ast.unparse(call.func) == "run_parts"]
                    sessions[found[1] if found else node.name] = set().union(*map(list_keys, parts))
        elif isinstance(node, ast.Expr) and ast.unparse(node).startswith("core_session("):
            assert isinstance(node.value, ast.Call)
            core = ast.unparse(node.value.args[0]).strip("'").replace("NEWEST", str(read_constant("NEWEST")))
            sessions[f"core-{core}"] = list_keys(node.value.args[1])
    return sessions


def list_keys(node: ast.AST) -> set[str]:
    """Return the keys of the dictionaries in a statement."""
    keys = [key for found in ast.walk(node) if isinstance(found, ast.Dict) for key in found.keys]
    return {key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str)}


def test_versions_of_ansible_core_are_those_that_are_tested() -> None:
    pythons, only_in_ci = read_constant("PYTHONS"), read_constant("ONLY_IN_CI")
    assert isinstance(pythons, dict)
    assert isinstance(only_in_ci, tuple)
    section = read("docs", "docsite", "rst", "guide_installing.rst").partition("\nWhat it needs\n")[2]
    table = section.partition(".. list-table::")[2].partition("\n\nVersions of the service")[0]
    texts = [row.replace("\n       ", " ") for row in re.split(r"^   \* - ", table, flags=re.MULTILINE)[2:]]
    rows = [[cell.strip() for cell in text.split("\n     - ")] for text in texts]
    assert [row[0] for row in rows] == [core for core in pythons if core != "devel"]
    for core, python, _until, tested in rows:
        first, after = re.findall(r"3\.(\d+)", pythons[core])
        assert python == f"3.{first} to 3.{int(after) - 1}", core
        assert ("only in CI" in tested) == (core in only_in_ci), core


def test_operators_are_documented() -> None:
    section = read("docs", "docsite", "rst", "guide_reference.rst").partition("\nOperators of conditions\n")[2]
    table = section.partition("\nError codes\n")[0]
    cells = [cell for row in re.findall(r"^   \* - (.+)$", table, re.MULTILINE)[1:] for cell in row.split(", ")]
    assert sorted(cells) == sorted(f"``{operator}``" for operator in OPERATORS)


def test_each_guide_is_in_the_site_and_five_are_in_the_readme() -> None:
    """The README has those that a reader needs first."""
    guides = {path.stem for path in GUIDES.glob("guide_*.rst")}
    sections = yaml.safe_load(read("docs", "docsite", "extra-docs.yml"))["sections"]
    listed = [guide for section in sections for guide in section["toctree"]]
    assert sorted(listed) == sorted(guides)
    text = read("README.md").partition("\n## Guides\n")[2].partition("\n## ")[0]
    linked = re.findall(r"^\d\. \[.+\]\(docs/docsite/rst/(guide_\w+)\.rst\)$", text, re.MULTILINE)
    assert len(linked) == 5
    assert {*linked} <= {*listed}
    assert sections[0]["toctree"] == linked


def test_the_five_guides_of_the_first_week_are_short() -> None:
    """At 200 words a minute, code and all, with the minutes of their commands, they take twenty minutes."""
    sections = yaml.safe_load(read("docs", "docsite", "extra-docs.yml"))["sections"]
    words = 0
    for guide in sections[0]["toctree"]:
        text = re.sub(r":\w+:`([^`<]*?)\s*(?:<[^>]*>)?`", r"\1", read("docs", "docsite", "rst", f"{guide}.rst"))
        shown = [line for line in text.splitlines() if not re.match(r"\s*(?:\.\. |:[\w-]+:)", line)]
        words += len(re.findall(r"\S*\w\S*", " ".join(shown)))
    assert words <= 17 * 200


def test_ci_runs_what_the_readme_says() -> None:
    """The same commands, with the packages that the README names."""
    script, readme = read(".ci", "run"), read("README.md")
    commands = re.findall(r"^make \w+$", script, re.MULTILINE)
    packages = re.findall(r"^ +(qemu[\w -]+)$", script, re.MULTILINE)[0].split()
    assert commands == ["make test", "make gate"]
    assert all(name in readme for name in (*commands, *packages, "chromium"))


def test_the_readme_is_short_and_names_each_module() -> None:
    text = read("README.md")
    assert len(text.encode()) <= LONGEST_README
    section = text.partition("\n## Modules\n")[2].partition("\n## ")[0]
    lists = section.partition("Inventory plugins")[0]
    assert sorted(re.findall(r"`(\w+)`", lists)) == ALL_MODULES


def test_each_session_is_described_with_its_parts() -> None:
    rows = read_table(read("docs", "development.md"), "what it checks")
    described = {name: text for cell, text in rows for name in re.findall(r"`([^`]+)`", cell)}
    sessions = list_sessions()
    assert len(sessions) > 10
    assert sessions.keys() - described.keys() == set()
    missing = {name: {part for part in parts if f"`{part}`" not in described[name]} for name, parts in sessions.items()}
    assert {name: parts for name, parts in missing.items() if parts} == {}
