"""Build the pages of roles: one HTML file without scripts, images or links to other files.

A text of the service becomes markup only by `show`, which escapes it. Pages of the same data differ only in their time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from html import escape
from pathlib import Path

from ...module_utils._api.errors import InvalidOptions
from ...module_utils._api.records import Record
from ...module_utils._masking.terminal import escape_controls
from .._site.written_file import WrittenFile
from .page_style import STYLE

UNREAD = '<p class="unread">This part could not be read. The last task of the role says why.</p>'

# The level of a row is its class: 0 is good, 1 a warning, 2 is bad.
LEVELS = ("ok", "warn", "bad")

DATA_TIME = "%Y-%m-%dT%H:%M:%SZ"

_TIME = re.compile(r"<time>([-0-9: UTC]+)</time>")

_PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
<header>
<h1>{title}</h1>
<p>As of <time>{time}</time>. {introduction}</p>
</header>
<main>
{cards}
{sections}
</main>
</body>
</html>
"""


def show(value: object) -> str:
    """Return a text of the service as markup. Its direction of writing does not affect what follows."""
    return f"<bdi>{escape(escape_controls(str(value)))}</bdi>"


def show_command(command: str) -> str:
    """Return a command as markup. A line of it ends between two words, and not after the hyphens of an option."""
    words = " ".join(f"<span>{escape(word)}</span>" for word in escape_controls(command).split(" "))
    return f"<code><bdi>{words}</bdi></code>"


def show_level(text: str, level: int | None) -> str:
    """Return a number or another text of ours with its level, None if it has none."""
    return f'<b class="{"none" if level is None else LEVELS[level]}">{text}</b>'


def build_title(name: object, level: int, detail: str = "") -> str:
    """Return the first cell of a row, with the name of an object, its level and the markup of a detail."""
    small = f"<small>{detail}</small>" if detail else ""
    return f'<th scope="row" class="level{level}">{show(name)}{small}</th>'


def build_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table. A row is the markup of its cells; the cells that are no elements yet become some."""
    head = "".join(f'<th scope="col">{each}</th>' for each in heads)
    body = "".join(f"<tr>{''.join(map(_build_cell, row))}</tr>\n" for row in rows)
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>"


def _build_cell(cell: str) -> str:
    return cell if cell.startswith(("<th", "<td")) else f"<td>{cell}</td>"


def build_card(label: str, section: str, figure: str, detail: str) -> str:
    """Return a card with a figure, which leads to a section if it has one."""
    title = f'<a href="#{section}">{label}</a>' if section else f"<strong>{label}</strong>"
    return f"<li>{title}{figure}{detail}</li>"


def build_section(name: str, title: str, contents: Iterable[str]) -> str:
    """Return a section with a title."""
    return "\n".join([f'<section id="{name}">', f"<h2>{title}</h2>", *contents, "</section>"])


def build_page(title: str, introduction: str, cards: Sequence[str], sections: Iterable[str], now: datetime) -> str:
    """Return a page of this moment. The title is ours, everything else markup."""
    listed = "\n".join(['<ul class="cards">', *cards, "</ul>"])
    time = now.strftime("%Y-%m-%d %H:%M UTC")
    return _PAGE.format(
        title=title, style=STYLE, time=time, introduction=introduction, cards=listed, sections="\n".join(sections)
    )


def complete_path(role: str, path: str) -> str:
    """Return the full path of the page of a role. Raise InvalidOptions if it has none."""
    if not path:
        raise InvalidOptions(f"{role}_path must not be empty. Give the path of the page, such as report.html")
    return str(Path.cwd() / path)


def check_page(role: str, path: str, mode: str) -> None:
    """Raise InvalidOptions, before anything is read, if the page of a role cannot be written."""
    plan_file(role, "", complete_path(role, path), mode).find_change()


def plan_file(role: str, page: str, path: str, mode: str) -> WrittenFile:
    """Return the file with the page of a role. A run in which only the time differs changes nothing."""
    kept = _read_time(Path(path))
    compared = _TIME.sub(f"<time>{kept}</time>", page, count=1) if kept else page
    return WrittenFile(Path(path), page, mode, f"{role}_path", f"{role}_file_mode", compared)


def plan_data(role: str, data: Record, page: str, mode: str, now: datetime) -> WrittenFile:
    """Return the file with the data of a page, beside it with a name that ends with .json, as `plan_file` does."""
    path, time = Path(page).with_suffix(".json"), now.strftime(DATA_TIME)
    compared = _format_data(_read_data_time(path) or time, data)
    return WrittenFile(path, _format_data(time, data), mode, f"{role}_path", f"{role}_file_mode", compared)


def _format_data(time: str, data: Record) -> str:
    return json.dumps({"as_of": time, **data}, indent=1) + "\n"


def _read_data_time(path: Path) -> str | None:
    """Return the time of an earlier file, None if there is none."""
    try:
        time = json.loads(path.read_text(encoding="utf-8"))["as_of"]
        datetime.strptime(time, DATA_TIME)
    except (OSError, ValueError, LookupError, TypeError):
        return None
    return str(time)


def _read_time(path: Path) -> str | None:
    """Return the time of an earlier page, None if there is none. Writing it says what is wrong."""
    try:
        found = _TIME.search(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found[1] if found else None
