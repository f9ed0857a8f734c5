"""The rules of releases: which version can follow, and which versions the files name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from tools.addresses import build_files
from tools.release import CHANGELOG, GALAXY, find_placeholders, find_problems, parse_version

ROOT = Path(__file__).parents[2]


def test_a_release_is_refused_for_what_is_wrong_with_it() -> None:
    cases = [
        # version, released, tags, sections of the fragments, the problem
        ("1.0.0", ["1.0.0"], [], [], None),
        ("1.0.1", ["1.0.0"], ["v1.0.0"], ["bugfixes"], None),
        ("1.10.0", ["1.9.0"], ["v1.9.0", "v1.8.0"], ["minor_changes"], None),
        ("2.0.0", ["1.2.0"], ["v1.2.0"], ["breaking_changes"], None),
        ("1.2.0", ["1.2.0"], ["v1.2.0"], ["bugfixes"], "1.2.0 is released already"),
        ("1.9.1", ["1.10.0"], ["v1.10.0"], ["bugfixes"], "1.9.1 is not newer than 1.10.0"),
        ("1.0.1", ["1.0.0"], ["v1.0.0"], [], "changelogs/fragments has no fragment, so there is nothing to release"),
        (
            "1.3.0",
            ["1.2.0"],
            ["v1.2.0"],
            ["bugfixes", "removed_features"],
            "the fragments announce breaking changes: release 2.0.0",
        ),
    ]
    for version, released, tags, sections, problem in cases:
        assert find_problems(version, released, tags, sections) == ([problem] if problem else []), version


@pytest.mark.parametrize(
    ("address", "is_placeholder"),
    [
        ("https://git.example.com/virtinfra/manager", True),
        ("https://example.org", True),
        ("", True),
        ("https://git.virtinfra.io/example.com", False),
        ("https://myexample.com/virtinfra", False),
    ],
)
def test_placeholders_are_refused(address: str, is_placeholder: bool) -> None:
    galaxy = dict.fromkeys(("repository", "documentation", "homepage"), "https://git.virtinfra.io/a")
    assert find_placeholders({**galaxy, "issues": address}) == (["issues"] if is_placeholder else [])


def test_addresses_are_those_of_galaxy_yml() -> None:
    assert [str(path) for path, text in build_files(ROOT) if path.read_text(encoding="utf-8") != text] == []


@pytest.mark.parametrize("text", ["1.0", "v1.0.0", "1.0.0-rc1", "01.0.0", "latest"])
def test_a_version_has_three_numbers(text: str) -> None:
    with pytest.raises(SystemExit, match="give three numbers"):
        parse_version(text)


def test_version_added_names_a_release() -> None:
    """``version_added`` is a released version or the next one, which ``galaxy.yml`` has until its release."""
    known = {yaml.safe_load((ROOT / GALAXY).read_text(encoding="utf-8"))["version"]}
    known |= set(yaml.safe_load((ROOT / CHANGELOG).read_text(encoding="utf-8"))["releases"])
    folders = [ROOT / name for name in ("plugins", "roles", "extensions")]
    files = [path for folder in folders for path in folder.rglob("*") if path.suffix in (".py", ".yml")]
    named = [
        (path, version)
        for path in files
        for version in re.findall(r"""version_added: *["']?([\w.]+)""", path.read_text(encoding="utf-8"))
    ]
    assert len(named) > 50
    assert [(str(path), version) for path, version in named if version not in known] == []
