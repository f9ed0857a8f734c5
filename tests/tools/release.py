"""Release a version of the collection in the current folder, a repository of git without uncommitted changes.

Writes the version and the changelog, commits and tags them, and puts the archive, its bill of materials (CycloneDX) and
the checksums of both into a folder. Nothing is published.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

GALAXY = Path("galaxy.yml")
CHANGELOG = Path("changelogs", "changelog.yaml")
FRAGMENTS = Path("changelogs", "fragments")

# What a user may have to adapt to: only a new major version can contain it.
BREAKING = ("breaking_changes", "removed_features")

# The addresses in galaxy.yml.
ADDRESSES = ("repository", "documentation", "homepage", "issues")

# Hosts that nobody can own (RFC 2606).
_PLACEHOLDER = re.compile(r"(^|\.)example(\.(com|net|org))?$")


def parse_version(text: str) -> tuple[int, int, int]:
    """Return the numbers of a version as 1.2.3; raise SystemExit for another string."""
    if not re.fullmatch(r"(0|[1-9]\d*)(\.(0|[1-9]\d*)){2}", text):
        raise SystemExit(f"{text} is no version: give three numbers, such as 1.2.3")
    major, minor, patch = map(int, text.split("."))
    return major, minor, patch


def find_problems(version: str, released: Iterable[str], tags: Iterable[str], fragments: Iterable[str]) -> list[str]:
    """Return what forbids a release. ``fragments`` are the sections of the changelog fragments since the last one."""
    number, sections = parse_version(version), set(fragments)
    tagged = {tag.removeprefix("v") for tag in tags}
    last = max(map(parse_version, tagged), default=(0, 0, 0))
    problems = []
    if version in tagged:
        problems.append(f"{version} is released already")
    elif number <= last:
        problems.append(f"{version} is not newer than {'.'.join(map(str, last))}")
    elif not sections and version not in released:
        problems.append(f"{FRAGMENTS} has no fragment, so there is nothing to release")
    elif sections.intersection(BREAKING) and number[1:] != (0, 0):
        problems.append(f"the fragments announce breaking changes: release {last[0] + 1}.0.0")
    return problems


def find_placeholders(galaxy: dict[str, Any]) -> list[str]:
    """Return the keys with an address that reaches nobody."""
    hosts = {key: urlsplit(str(galaxy.get(key) or "")).hostname or "example" for key in ADDRESSES}
    return [key for key, host in hosts.items() if _PLACEHOLDER.search(host)]


def read_sections() -> list[str]:
    """Return the sections that the changelog fragments have."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(FRAGMENTS.glob("*.y*ml"))]
    return [section for text in texts for section in yaml.safe_load(text)]


def run_git(*arguments: str) -> str:
    """Run git and return its output."""
    return subprocess.run(("git", *arguments), check=True, capture_output=True, text=True).stdout


def write_version(version: str) -> None:
    """Write the version into galaxy.yml."""
    text = GALAXY.read_text(encoding="utf-8")
    GALAXY.write_text(re.sub(r"(?m)^version: .+$", f"version: {version}", text), encoding="utf-8")


def write_files(output: Path) -> list[Path]:
    """Write the archive, its bill of materials and the checksums into a new folder, and return their paths."""
    output.mkdir(parents=True)
    built = subprocess.check_output((sys.executable, "tests/tools/artifact.py", str(output)), text=True)
    archive = Path(built.strip())
    bill = output / f"{archive.name.removesuffix('.tar.gz')}.cdx.json"
    subprocess.run((sys.executable, "tests/tools/bill_of_materials.py", str(archive), str(bill)), check=True)
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in (archive, bill)]
    checksums = output / "SHA256SUMS"
    checksums.write_text("".join(sums), encoding="utf-8")
    return [archive, bill, checksums]


def main() -> None:
    """Release the version of the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("version")
    parser.add_argument("output", type=Path)
    options = parser.parse_args()
    if run_git("status", "--porcelain"):
        raise SystemExit("The repository has uncommitted changes")
    released = yaml.safe_load(CHANGELOG.read_text(encoding="utf-8"))["releases"]
    tags = run_git("tag", "--list", "v*").split()
    problems = find_problems(options.version, released, tags, read_sections())
    if placeholders := find_placeholders(yaml.safe_load(GALAXY.read_text(encoding="utf-8"))):
        problems.append(f"{GALAXY} has placeholders: set {', '.join(placeholders)}, and run nox -s format")
    if problems:
        raise SystemExit("\n".join(problems))
    write_version(options.version)
    subprocess.run((sys.executable, "tests/tools/addresses.py"), check=True)
    command = ["antsibull-changelog", "release", "--version", options.version, "--reload-plugins", "--update-existing"]
    subprocess.run(command, check=True)
    run_git("add", "--all")
    if run_git("status", "--porcelain"):
        run_git("commit", "--quiet", "--message", f"Release {options.version}")
    run_git("tag", "--annotate", "--message", f"Version {options.version}", f"v{options.version}")
    for path in write_files(options.output):
        print(path)


if __name__ == "__main__":
    main()
