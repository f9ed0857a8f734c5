"""Write the badges of the README: the version, the supported versions of ansible-core, and the license.

They are files of the repository, so a clone shows them without a request to another host.
"""

from __future__ import annotations

import re
from html import escape
from pathlib import Path

import yaml

FOLDER = Path("docs", "badges")
# The width of a character, and the space beside a text, in pixels.
CHARACTER, SPACE = 7, 6
HEIGHT = 20
BADGE = """\
<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" role="img" aria-label="{label}: {value}">
<title>{label}: {value}</title>
<rect width="{width}" height="{height}" rx="3" fill="#555"/>
<rect x="{left}" width="{right}" height="{height}" rx="3" fill="#2a6f97"/>
<g fill="#fff" font-family="Verdana, DejaVu Sans, sans-serif" font-size="11">
<text x="{space}" y="14">{label}</text>
<text x="{start}" y="14">{value}</text>
</g>
</svg>
"""


def format_badge(label: str, value: str) -> str:
    """Return a badge with a label and a value, as SVG."""
    left, right = (len(text) * CHARACTER + 2 * SPACE for text in (label, value))
    return BADGE.format(
        label=escape(label),
        value=escape(value),
        width=left + right,
        height=HEIGHT,
        left=left,
        right=right,
        space=SPACE,
        start=left + SPACE,
    )


def build_badges(root: Path) -> dict[str, str]:
    """Return the text of each badge by the name of its file, with the values of the repository in the folder."""
    galaxy = yaml.safe_load((root / "galaxy.yml").read_text(encoding="utf-8"))
    versions = re.findall(r'^    "(\d\.\d+)": ', (root / "noxfile.py").read_text(encoding="utf-8"), re.MULTILINE)
    values = {
        "version": galaxy["version"],
        "ansible-core": f"{versions[0]} to {versions[-1]}",
        "license": galaxy["license"][0],
    }
    return {f"{name}.svg": format_badge(name, value) for name, value in values.items()}


def write_badges(root: Path) -> None:
    """Write the badges of the repository in a folder."""
    for name, text in build_badges(root).items():
        (root / FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write_badges(Path())
