# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Cursors: snapshots of query results that are read page by page."""

from __future__ import annotations

import dataclasses
import secrets
import time
import typing as t

from .errors import Failure, Refusal
from .options import Switches
from .store import Record


@dataclasses.dataclass
class Cursor:
    """A place in a snapshot. It can be asked again and then gives the same page."""

    records: list[Record]
    start: int
    page: int
    page_size: int
    opened: float


class Cursors:
    """All open cursors, by their tokens."""

    def __init__(self, switches: Switches) -> None:
        self.switches = switches
        self._open: dict[str, Cursor] = {}

    def first(self, records: list[Record], page_size: int) -> dict[str, t.Any]:
        """Return the first page of the snapshot."""
        return self._page(Cursor(records, 0, 0, page_size, time.monotonic()), "")

    def next(self, token: str, page_size: int | None) -> dict[str, t.Any]:
        """Return the page that a token stands for."""
        self._close_old()
        cursor = self._open.get(token)
        if cursor is None:
            text = f"cursor[{token}] is unknown or expired"
            raise Failure("SYS.1007", text) if self.switches.cursor_expired == "error" else Refusal(400, text)
        return self._page(dataclasses.replace(cursor, page_size=page_size or cursor.page_size), token)

    def _page(self, cursor: Cursor, token: str) -> dict[str, t.Any]:
        end = cursor.start + cursor.page_size
        more = end < len(cursor.records)
        following = None
        if more and self.switches.cursor_repeat and token:
            following = token
        elif more:
            following = secrets.token_urlsafe(24)
            self._open[following] = dataclasses.replace(cursor, start=end, page=cursor.page + 1)
        shrunk = cursor.page if self.switches.cursor_shrink else 0
        return {
            "items": cursor.records[cursor.start : end],
            "total": len(cursor.records) - shrunk,
            "nextCursor": following,
            "hasMore": more,
        }

    def _close_old(self) -> None:
        oldest = time.monotonic() - self.switches.cursor_lifetime
        self._open = {token: cursor for token, cursor in self._open.items() if cursor.opened > oldest}
