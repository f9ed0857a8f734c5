"""Write the addresses of galaxy.yml into the other files that name them. galaxy.yml is the only place to set them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import yaml

GALAXY = "galaxy.yml"

# The key of galaxy.yml whose value a place has, and the files with the place.
PLACES = (
    (
        "repository",
        r"(?<=git clone )[^\s`]+",
        (
            "README.md",
            "CONTRIBUTING.md",
            "docs/docsite/rst/guide_getting_started.rst",
            "docs/docsite/rst/guide_installing.rst",
        ),
    ),
    ("repository", r"(?<=<)\S+(?=/blob/main/CHANGELOG\.rst>)", ("docs/docsite/rst/guide_installing.rst",)),
    ("issues", r"(?<=    url: )\S+", ("docs/docsite/links.yml",)),
    ("documentation", r"(?<=    url: )\S+", (".github/ISSUE_TEMPLATE/config.yml",)),
)


def build_files(root: Path) -> Iterator[tuple[Path, str]]:
    """Yield the files that name an address, with the text that they should have."""
    galaxy = yaml.safe_load((root / GALAXY).read_text(encoding="utf-8"))
    texts: dict[Path, str] = {}
    for key, pattern, names in PLACES:
        for path in (root / name for name in names):
            text = texts.get(path) or path.read_text(encoding="utf-8")
            texts[path], number = re.subn(pattern, galaxy[key], text)
            if not number:
                raise SystemExit(f"{path} no longer names the {key}: correct PLACES in {Path(__file__).name}")
    yield from texts.items()


def write_addresses(root: Path) -> None:
    """Write the addresses of the repository in a folder."""
    for path, text in build_files(root):
        if path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write_addresses(Path())
