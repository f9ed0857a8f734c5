# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is PRIVATE to the collection. It can have breaking changes at any time.

"""The task that lists records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ansible_collections.virtinfra.manager.plugins.module_utils._client import Client
from ansible_collections.virtinfra.manager.plugins.module_utils._errors import BadInput, Unreadable
from ansible_collections.virtinfra.manager.plugins.module_utils._operations import by_name
from ansible_collections.virtinfra.manager.plugins.module_utils._options import LISTING, NAMES, Options
from ansible_collections.virtinfra.manager.plugins.module_utils._records import Record, camel, same, shaped, to_ansible
from ansible_collections.virtinfra.manager.plugins.module_utils._task import Context, Task


def listing(
    operation: str | Mapping[str, str],
    returns: str,
    cursor: str | None = None,
    exact: Options | None = None,
    options: Options | None = None,
    by: str | None = None,
) -> Task:
    """Return the task that lists records by a query, or by a cursor where only that is at hand.

    ``exact`` are the options that choose records by equality, uuid and name if not given. Where there are several
    queries, ``by`` names the option that says which one is meant.
    """
    exact = NAMES if exact is None else exact
    operations = {"": operation} if isinstance(operation, str) else operation

    def run(context: Context) -> dict[str, Any]:
        wanted, client = context.wanted, context.client
        if (limit := wanted.get("limit")) is not None and limit < 1:
            raise BadInput("limit must be at least 1")
        query = operations[wanted[by] if by else ""]
        same_as = {name: wanted[name] for name in map(camel, exact) if name in wanted}
        try:
            records, total = _queried(client, query, same_as, wanted.get("query", []), limit)
        except Unreadable:
            if cursor is None or client.connection.api_token is None or wanted.get("query"):
                raise
            records, total = _walked(client, cursor, same_as, wanted.get("filters", []), limit)
        return {returns: [to_ansible(shaped(by_name(query).record, each)) for each in records], "total": total}

    filters: Options = {"filters": {"type": "list", "elements": "str"}} if cursor else {}
    called = (*operations.values(), *(("CursorQuery", "CursorNext") if cursor else ()))
    return Task(run, {**exact, **LISTING, **filters, **(options or {})}, called)


def cursor_listing(options: Options) -> Task:
    """Return the task that lists resources of any type by a cursor."""

    def run(context: Context) -> dict[str, Any]:
        wanted = context.wanted
        if wanted["pageSize"] < 1 or wanted.get("limit", 1) < 1:
            raise BadInput("page_size and limit must be at least 1")
        pages = context.client.cursor(
            wanted["resourceType"],
            wanted.get("filters", []),
            wanted.get("sort"),
            wanted.get("order"),
            wanted["pageSize"],
            wanted.get("limit"),
        )
        records, total = _all(pages)
        return {"resources": to_ansible(records), "total": total}

    return Task(run, options, ("CursorQuery", "CursorNext"))


def _queried(
    client: Client, operation: str, exact: Record, conditions: Iterable[str], limit: int | None
) -> tuple[list[Record], int]:
    """Return the records of a query that meet the conditions and are exactly as wanted, and how many there are."""
    if not exact:
        return _all(client.pages(operation, conditions, limit=limit))
    if "uuid" in exact and not conditions:
        return _chosen(client.by_uuid(operation, exact["uuid"]), exact, limit)
    key = next(iter(exact))
    return _chosen(client.matching(operation, key, exact[key], conditions), exact, limit)


def _walked(
    client: Client, resource_type: str, exact: Record, filters: Iterable[str], limit: int | None
) -> tuple[list[Record], int]:
    """Return the same by a cursor."""
    found, total = _all(client.cursor(resource_type, filters, limit=None if exact else limit))
    return _chosen(found, exact, limit) if exact else (found, total)


def _all(pages: Iterable[tuple[list[Record], int | None]]) -> tuple[list[Record], int]:
    """Return the records of all pages, and how many there are: as the service says, but not fewer than came."""
    found: list[Record] = []
    total = 0
    for page, known in pages:
        found += page
        total = known or 0
    return found, max(total, len(found))


def _chosen(records: list[Record], exact: Record, limit: int | None) -> tuple[list[Record], int]:
    chosen = [record for record in records if all(same(value, record.get(name)) for name, value in exact.items())]
    return chosen[:limit], len(chosen)
