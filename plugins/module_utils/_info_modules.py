# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is PRIVATE to the collection. It can have breaking changes at any time.

"""The modules that only read: lists of records, and the replies of reading operations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ansible_collections.virtinfra.manager.plugins.module_utils._client import Client
from ansible_collections.virtinfra.manager.plugins.module_utils._conditions import parse_conditions
from ansible_collections.virtinfra.manager.plugins.module_utils._errors import (
    BadInput,
    Failure,
    ReadTakenForChange,
    SeveralFailed,
    Unreadable,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._operations import TAGS as TAG_NAMES
from ansible_collections.virtinfra.manager.plugins.module_utils._operations import by_name
from ansible_collections.virtinfra.manager.plugins.module_utils._options import LISTING, NAMES, TAGS, Options
from ansible_collections.virtinfra.manager.plugins.module_utils._records import (
    Record,
    Unknown,
    camel,
    same,
    shaped,
    shaped_members,
    snake,
    to_ansible,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._task import Context, Task


def info_module(operation: str, options: Options) -> Task:
    """Return the module whose result is the members of an operation's reply; the options are its parameters."""

    def run(context: Context) -> dict[str, Any]:
        if any(isinstance(item, Unknown) for value in context.wanted.values() for item in _as_list(value)):
            return _members(operation, {})
        return _members(operation, context.client.get(operation, context.wanted))

    return Task(run, options, (operation,), (TAGS,))


def info_module_per_item(operation: str, returns: str, over: str, parameter: str, options: Options) -> Task:
    """Return the module that calls an operation for each value of the option ``over``, many at the same time.

    ``parameter`` of the operation takes the value. A call that fails is reported beside the others; the module fails
    when all of them do, or when one does and the option ``fail_on_error`` is set.
    """

    def run(context: Context) -> dict[str, Any]:
        tags = {name: context.wanted[name] for name in TAG_NAMES if name in context.wanted}

        def ask(value: str) -> Record:
            if isinstance(value, Unknown):
                return {snake(parameter): None, **_members(operation, {}), "msg": None, "error": None}
            try:
                reply, failure = context.client.get(operation, {parameter: value, **tags}), None
            except ReadTakenForChange:
                raise
            except Failure as error:
                reply, failure = {}, error
                failures[value] = error
            outcome = {"msg": failure and str(failure), "error": failure and failure.error}
            return {snake(parameter): value, **_members(operation, reply), **outcome}

        failures: dict[str, Failure] = {}
        items = context.client.each(ask, context.wanted[camel(over)])
        failed = [item for item in items if item["error"]]
        if failed and (context.params["fail_on_error"] or len(failed) == len(items)):
            first = failures[failed[0][snake(parameter)]]
            raise SeveralFailed(f"{len(failed)} of {len(items)} failed, the first: {first}", first, **{returns: items})
        context.warnings.extend(f"{item[snake(parameter)]}: {item['msg']}" for item in failed)
        return {returns: items}

    return Task(run, options, (operation,), (TAGS,))


def list_module(
    operation: str,
    returns: str,
    cursor: str | None = None,
    equality_options: Options | None = None,
    options: Options | None = None,
    view: Callable[[Record], Record] = dict,
    selectors: Mapping[str, Callable[[Record, Any], bool]] | None = None,
) -> Task:
    """Return the module that lists records by a query, or by a cursor.

    ``cursor`` is the resource type for a cursor query, which reads the records when the option ``filters`` is given and
    where the query cannot be used. ``equality_options`` select records by equality; without them uuid and name do.
    ``view`` adds members to a record. ``selectors`` maps an option, by its API name, to the function of such a record
    and the option's value that says whether the record is selected.
    """
    equality_options = NAMES if equality_options is None else equality_options

    def run(context: Context) -> dict[str, Any]:
        desired, client = context.wanted, context.client
        limit, query, filters = (desired.get(name) for name in ("limit", "query", "filters"))
        if limit is not None and limit < 1:
            raise BadInput("limit must be at least 1")
        if query and filters:
            raise BadInput(
                "query and filters cannot be used together: query is for the list that session_id gives access to,"
                " filters are for the cursor query that api_token gives access to. Give one of them."
            )
        if context.unresolved:
            return {returns: [], "total": 0}
        equal = {field: desired[field] for field in map(camel, equality_options) if field in desired}
        active = [(name, select) for name, select in (selectors or {}).items() if name in desired]
        try:
            if cursor and filters:
                records, total = _list_by_cursor(client, cursor, equal, filters, limit)
            else:
                records, total = _list_by_query(client, operation, equal, query or [], None if active else limit)
        except Unreadable:
            if cursor is None or filters or query or client.connection.api_token is None:
                raise
            records, total = _list_by_cursor(client, cursor, equal, [], limit)
        records = [view(record) for record in records]
        if active:
            records = [record for record in records if all(select(record, desired[name]) for name, select in active)]
            records, total = records[:limit], len(records)
        kind = by_name(operation).record
        return {returns: [to_ansible(shaped(kind, record), kind) for record in records], "total": total}

    filter_option: Options = {"filters": {"type": "list", "elements": "str"}} if cursor else {}
    called = (operation, *(("CursorQuery", "CursorNext") if cursor else ()))
    return Task(
        run,
        {**equality_options, **LISTING, **filter_option, **(options or {})},
        called,
        selectors=(*equality_options, *map(snake, selectors or ())),
    )


def cursor_list_module(options: Options) -> Task:
    """Return the module that lists resources of any type by a cursor."""

    def run(context: Context) -> dict[str, Any]:
        desired = context.wanted
        if desired["pageSize"] < 1 or desired.get("limit", 1) < 1:
            raise BadInput("page_size and limit must be at least 1")
        pages = context.client.cursor(
            desired["resourceType"],
            desired.get("filters", []),
            desired.get("sort"),
            desired.get("order"),
            desired["pageSize"],
            desired.get("limit"),
        )
        records, total = _collect_pages(pages)
        return {"resources": to_ansible(records, desired["resourceType"]), "total": total}

    return Task(run, options, ("CursorQuery", "CursorNext"))


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _members(operation: str, reply: Mapping[str, Any]) -> dict[str, Any]:
    """Return the documented members of a reply, lists that are empty where the service left them out."""
    members = {name: reply.get(name) or [] for name in by_name(operation).result}
    return {**to_ansible(shaped_members(members), by_name(operation).record)}


def _list_by_query(
    client: Client, operation: str, equal: Record, texts: Iterable[str], limit: int | None
) -> tuple[list[Record], int]:
    """Return the records of a query that meet the conditions and the equalities, and how many there are."""
    conditions, ambiguous = parse_conditions(texts, by_name(operation).record)
    if not equal and not ambiguous:
        return _collect_pages(client.pages(operation, conditions, limit=limit))
    if "uuid" in equal and not conditions:
        records = client.by_uuid(operation, equal["uuid"])
    elif equal:
        field = next(iter(equal))
        records = client.matching(operation, field, equal[field], conditions)
    else:
        records = client.query(operation, conditions)
    meeting = [record for record in records if not any(condition.rejects(record) for condition in ambiguous)]
    return _filter(meeting, equal, limit)


def _list_by_cursor(
    client: Client, resource_type: str, equal: Record, filters: Iterable[str], limit: int | None
) -> tuple[list[Record], int]:
    """Return the records that a cursor gives and that meet the equalities, and how many there are."""
    records, total = _collect_pages(client.cursor(resource_type, filters, limit=None if equal else limit))
    return _filter(records, equal, limit) if equal else (records, total)


def _collect_pages(pages: Iterable[tuple[list[Record], int | None]]) -> tuple[list[Record], int]:
    """Return the records of all pages and the total that the service states, but not less than their number."""
    records: list[Record] = []
    total = 0
    for page, stated in pages:
        records += page
        total = stated or 0
    return records, max(total, len(records))


def _filter(records: list[Record], equal: Record, limit: int | None) -> tuple[list[Record], int]:
    matches = [record for record in records if all(same(value, record.get(name)) for name, value in equal.items())]
    return matches[:limit], len(matches)
