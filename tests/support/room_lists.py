"""Writes the files of each room into the tables of docs/development.md, for the session ``format``.

A file stays in the row that names it. A new one goes to the last row of its room, and the workflow of a new role to the
row with the other workflows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from support.collection import ROOT

DOCUMENT = ROOT / "docs" / "development.md"
ROW = re.compile(r"^\| `(_\w+)` \|(.*)\|(.*)\|$", re.MULTILINE)


def list_files(room: str) -> list[str]:
    """Return the names of the files of a room, of which a part may be in a sub-folder."""
    (folder,) = (ROOT / "plugins").glob(f"*_utils/{room}")
    return sorted(path.stem for path in folder.rglob("[!_]*.py"))


def write_lists(text: str) -> str:
    """Return the text of the document with the present files of each room."""
    rows = [*_find_rows(text)]
    named = {(room, name) for room, names, _row in rows for name in names}
    for number, (room, names, row) in enumerate(rows):
        files = list_files(room)
        new = [name for name in files if (room, name) not in named and _takes(rows, number, name)]
        listed = " ".join(f"`{name}`" for name in sorted({*names, *new} & {*files}))
        text = text.replace(row[0], f"| `{room}` |{row[2]}| {listed} |")
    return text


def _find_rows(text: str) -> Iterator[tuple[str, list[str], re.Match[str]]]:
    for row in ROW.finditer(text):
        yield row[1], re.findall(r"\w+", row[3]), row


def _takes(rows: list[tuple[str, list[str], re.Match[str]]], number: int, name: str) -> bool:
    """Whether a row gets a file that no row names."""
    roles = {path.name for path in (ROOT / "roles").iterdir()}
    room = rows[number][0]
    of_room = [index for index, row in enumerate(rows) if row[0] == room]
    of_roles = [index for index in of_room if roles & {*rows[index][1]}]
    return number == (of_roles[0] if name in roles and of_roles else of_room[-1])


def main() -> None:
    """Write the document."""
    DOCUMENT.write_text(write_lists(DOCUMENT.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
