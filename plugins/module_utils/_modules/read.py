# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is PRIVATE to the collection. It can have breaking changes at any time.

"""The modules that only read: lists of records, and the replies of reading operations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .._api.conditions import (
    Condition,
    parse_conditions,
    parse_local_conditions,
)
from .._api.errors import (
    InvalidOptions,
    ReadExecutedAsChange,
    SeveralFailed,
    Unsupported,
    VirtinfraError,
)
from .._api.operation import TAG_PARAMS
from .._api.operations import get_operation
from .._api.records import (
    NullReference,
    Record,
    record_to_result,
    shaped_members,
    to_camel_case,
    to_snake_case,
    values_equal,
    with_all_fields,
)
from .._api.references import option_name, parameter_name
from .._client.client import Client
from .._client.lists import PAGE_SIZE, find_by_attribute, first_readable, get_by_uuid, paginate, paginate_cursor, query
from .._engine.context import ModuleContext
from .options import (
    IDENTITY_OPTIONS,
    LIST_OPTIONS,
    TAGS,
    Options,
)
from .spec import ModuleSpec


def info_module(operation: str, options: Options) -> ModuleSpec:
    """Return the module that calls a reading operation. Its options are the parameters, its result the reply."""

    def run(context: ModuleContext) -> dict[str, Any]:
        if any(isinstance(item, NullReference) for value in context.desired.values() for item in _as_list(value)):
            return _members(operation, {})
        return _members(operation, context.client.get(operation, context.desired))

    return ModuleSpec(run, options, (operation,), (TAGS,))


def info_module_per_item(operation: str, returns: str, over: str, parameter: str, options: Options) -> ModuleSpec:
    """Return the module that calls an operation concurrently for each value of the option ``over``, by its API name.

    ``parameter`` of the operation gets the value. Calls that fail are reported in the list. The module fails when all
    calls fail, or when one fails and the option ``fail_on_error`` is set.
    """

    def run(context: ModuleContext) -> dict[str, Any]:
        tags = {name: context.desired[name] for name in TAG_PARAMS if name in context.desired}

        def ask(value: str) -> Record:
            if isinstance(value, NullReference):
                return {to_snake_case(parameter): None, **_members(operation, {}), "msg": None, "error": None}
            try:
                reply, failure = context.client.get(operation, {parameter: value, **tags}), None
            except ReadExecutedAsChange:
                raise
            except VirtinfraError as error:
                reply, failure = {}, error
                failures[value] = error
            outcome = {"msg": failure and str(failure), "error": failure and failure.error}
            return {to_snake_case(parameter): value, **_members(operation, reply), **outcome}

        failures: dict[str, VirtinfraError] = {}
        items = context.client.map_concurrently(ask, context.desired[over])
        failed = [item for item in items if item["error"]]
        if failed and (context.params["fail_on_error"] or len(failed) == len(items)):
            first = failures[failed[0][to_snake_case(parameter)]]
            raise SeveralFailed(f"{len(failed)} of {len(items)} failed, the first: {first}", first, **{returns: items})
        context.warnings.extend(f"{item[to_snake_case(parameter)]}: {item['msg']}" for item in failed)
        return {returns: items}

    return ModuleSpec(run, options, (operation,), (TAGS,))


def list_module(
    operation: str | None,
    returns: str,
    cursor: str | None = None,
    equality_options: Options | None = None,
    options: Options | None = None,
    view: Callable[[Record], Record] = dict,
    predicates: Mapping[str, Callable[[Record, Any], bool]] | None = None,
) -> ModuleSpec:
    """Return the module that lists records with a query or a cursor query.

    ``operation`` is the query, None if only a cursor query can list the records. ``cursor`` is the resource type for a
    cursor query, which is used when the option ``filters``, ``sort`` or ``order`` is given or when the query cannot be
    used. ``equality_options`` select records by equality, by default uuid and name. ``view`` adds members to a record.
    ``predicates`` maps the API name of an option to a function that says whether a record matches the option's value.
    """
    equality_options = IDENTITY_OPTIONS if equality_options is None else equality_options
    fields = [parameter_name(name, spec) for name, spec in equality_options.items()]
    kind = get_operation(operation).record if operation else str(cursor)

    def run(context: ModuleContext) -> dict[str, Any]:
        desired = context.desired
        limit, texts, filters = (desired.get(name) for name in ("limit", "query", "filters"))
        if limit is not None and limit < 1:
            raise InvalidOptions("limit must be at least 1")
        if texts and filters:
            raise InvalidOptions(
                "query and filters cannot be used together: query is for the query, which needs session_id,"
                " filters are for the cursor query, which needs api_token. Give one of them."
            )
        if context.unresolved:
            return {returns: [], "total": 0}
        equal = {field: desired[field] for field in fields if field in desired}
        active = [(name, select) for name, select in (predicates or {}).items() if name in desired]

        def by_query(client: Client, equal: Record) -> tuple[list[Record], int]:
            if operation is None:
                raise Unsupported(f"no query is known for the resource type {cursor}")
            return _list_by_query(client, operation, equal, texts or [], None if active else limit)

        def by_cursor(client: Client, equal: Record) -> tuple[list[Record], int]:
            conditions = parse_local_conditions(texts or [], kind)
            selects = bool(equal or conditions)
            pages = paginate_cursor(
                client,
                str(cursor),
                filters or [],
                desired.get("sort"),
                desired.get("order"),
                desired.get("pageSize", PAGE_SIZE),
                None if selects else limit,
            )
            records, total = _collect_pages(pages)
            return _filter(_meeting(records, conditions), equal, limit) if selects else (records, total)

        only_cursor = any(desired.get(name) for name in ("filters", "sort", "order"))
        readers = [*([] if only_cursor else [by_query]), *([by_cursor] if cursor else [])]
        records, total = first_readable(*readers)(context.client, equal)
        records = [view(record) for record in records]
        if active:
            records = [record for record in records if all(select(record, desired[name]) for name, select in active)]
            records, total = records[:limit], len(records)
        return {returns: [record_to_result(with_all_fields(kind, record), kind) for record in records], "total": total}

    filter_option: Options = {"filters": {"type": "list", "elements": "str"}} if cursor else {}
    called = (*([operation] if operation else ()), *(("CursorQuery", "CursorNext") if cursor else ()))
    return ModuleSpec(
        run,
        {**equality_options, **LIST_OPTIONS, **filter_option, **(options or {})},
        called,
        selecting_options=(*equality_options, *map(option_name, predicates or ())),
    )


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _members(operation: str, reply: Mapping[str, Any]) -> dict[str, Any]:
    """Return the documented members of a reply, as empty lists if the service omits them."""
    members = {name: reply.get(name) or [] for name in get_operation(operation).result}
    return {**record_to_result(shaped_members(members), get_operation(operation).record)}


def _list_by_query(
    client: Client, operation: str, equal: Record, texts: Iterable[str], limit: int | None
) -> tuple[list[Record], int]:
    """Return the records of a query that meet the conditions and the equality options, and their total number."""
    conditions, ambiguous = parse_conditions(texts, get_operation(operation).record)
    if not equal and not ambiguous:
        return _collect_pages(paginate(client, operation, conditions, limit=limit))
    if "uuid" in equal and not conditions:
        records = get_by_uuid(client, operation, equal["uuid"])
    elif equal:
        field = next(iter(equal))
        records = find_by_attribute(client, operation, field, equal[field], conditions)
    else:
        records = query(client, operation, conditions)
    return _filter(_meeting(records, ambiguous), equal, limit)


def _collect_pages(pages: Iterable[tuple[list[Record], int | None]]) -> tuple[list[Record], int]:
    """Return the records of all pages, and the total of the service or the number of records, whichever is greater."""
    records: list[Record] = []
    total = 0
    for page, stated in pages:
        records += page
        total = stated or 0
    return records, max(total, len(records))


def _meeting(records: list[Record], conditions: list[Condition]) -> list[Record]:
    return [record for record in records if not any(condition.rejects(record) for condition in conditions)]


def _filter(records: list[Record], equal: Record, limit: int | None) -> tuple[list[Record], int]:
    matches = [
        record for record in records if all(values_equal(value, record.get(name)) for name, value in equal.items())
    ]
    return matches[:limit], len(matches)


def query_by(client: Client, operation: str, field: str, uuids: list[str]) -> dict[str, list[Record]] | None:
    """Return the records of a query as results, grouped by the uuid in their field (in snake_case).

    None if the service cannot list them.
    """
    conditions = [f"{to_camel_case(field)}={uuid}" for uuid in uuids]
    records_by: dict[str, list[Record]] = {}
    try:
        records = query(client, operation, conditions if len(conditions) == 1 else []) if conditions else []
    except Unsupported:
        return None
    for record in records:
        result = record_to_result(with_all_fields(get_operation(operation).record, record))
        records_by.setdefault(result[field], []).append(result)
    return records_by
