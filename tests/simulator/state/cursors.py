"""Cursors: snapshots of query results, read page by page."""

from __future__ import annotations

import dataclasses
import secrets
import time
from typing import Any

from ..errors import OperationError, RequestRejected
from ..switches.options import Switches
from .store import Record


@dataclasses.dataclass
class Cursor:
    """A position in a snapshot. Reading it again returns the same page."""

    records: list[Record]
    start: int
    page: int
    page_size: int
    created: float


class Cursors:
    """All valid cursors by token."""

    def __init__(self, switches: Switches) -> None:
        self.switches = switches
        self._cursors: dict[str, Cursor] = {}

    def first(self, records: list[Record], page_size: int) -> dict[str, Any]:
        """Return the first page of the snapshot."""
        return self._page(Cursor(records, 0, 0, page_size, time.monotonic()), "")

    def next(self, token: str, page_size: int | None) -> dict[str, Any]:
        """Return the page of a token; raise OperationError or RequestRejected for an unknown token."""
        self._drop_expired()
        cursor = self._cursors.get(token)
        if cursor is None:
            text = f"cursor[{token}] is unknown or expired"
            raise (
                OperationError("SYS.1007", text)
                if self.switches.cursor_expired == "error"
                else RequestRejected(400, text)
            )
        return self._page(dataclasses.replace(cursor, page_size=page_size or cursor.page_size), token)

    def _page(self, cursor: Cursor, token: str) -> dict[str, Any]:
        end = cursor.start + cursor.page_size
        has_more = end < len(cursor.records)
        next_token = None
        if has_more and self.switches.cursor_repeat and token:
            next_token = token
        elif has_more:
            next_token = secrets.token_urlsafe(24)
            self._cursors[next_token] = dataclasses.replace(cursor, start=end, page=cursor.page + 1)
        missing = cursor.page if self.switches.cursor_shrink else 0
        return {
            "items": cursor.records[cursor.start : end],
            "total": len(cursor.records) - missing,
            "nextCursor": next_token,
            "hasMore": has_more,
        }

    def _drop_expired(self) -> None:
        oldest = time.monotonic() - self.switches.cursor_lifetime
        self._cursors = {token: cursor for token, cursor in self._cursors.items() if cursor.created > oldest}
