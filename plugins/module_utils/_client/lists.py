# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is PRIVATE to the collection. It can have breaking changes at any time.

"""Read complete lists of records, page by page. Section "Cursor queries" of the API document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from .._api.conditions import equality
from .._api.errors import (
    AmbiguousMatch,
    TransportError,
    Unsupported,
    VirtinfraError,
)
from .._api.operation import Operation
from .._api.operations import get_operation
from .._api.records import (
    RECORD_FIELDS,
    Record,
    find_invalid_member,
    values_equal,
)
from .client import Client

PAGE_SIZE = 1000

# How often a list is read in total when it changes while it is read.
MAX_LIST_ATTEMPTS = 5

# The maximum number of requests for one list: 20 million records in pages of 1000. A larger total counts as an error.
MAX_PAGES = 20_000


def paginate(
    client: Client,
    name: str,
    conditions: Iterable[str] = (),
    page_size: int = PAGE_SIZE,
    limit: int | None = None,
    also: Mapping[str, Any] | None = None,
    connections: int = 1,
) -> Iterator[tuple[list[Record], int | None]]:
    """Yield the records of a query page by page, each page with the total number, which may be None.

    The list is complete, or a VirtinfraError is raised: servers truncate at 1000 without notice, and may not support
    paging. When the number of records changes in the meantime, which may move some to a page that was already read, the
    list is read again. It is complete when it has as many records as the service counts; equal records without a uuid
    count separately. ``also`` are parameters in addition to the conditions. Several ``connections`` read pages
    concurrently.
    """
    operation = get_operation(name)
    fields = RECORD_FIELDS.get(operation.record, ())
    sort = next((name for name in ("uuid", "topicUuid") if name in fields), None)
    size = page_size if limit is None else min(page_size, limit)
    params = {
        **(also or {}),
        "q": list(conditions) or None,
        "sort": f"+{sort}" if sort else None,
        "replyWithCount": True,
        "limit": size,
    }
    seen: set[str] = set()
    for dummy in range(MAX_LIST_ATTEMPTS):
        totals, repeated = [], []
        for records, total in _read_pages(client, operation, params, connections, limit):
            totals.append(total)
            fresh, again = _split_by_novelty(records, seen)
            repeated += again
            if fresh:
                yield fresh[: limit - len(seen) + len(fresh) if limit is not None else None], total
            elif len(set(totals)) == 1:
                break
            if limit is not None and len(seen) >= limit:
                return
        steady, total = len(set(totals)) == 1, totals[-1]
        if steady and (len(seen) >= total if total is not None else fresh or len(records) != size):
            return
        if steady and fresh and total == len(seen) + len(repeated):
            yield repeated[: limit - len(seen) if limit is not None else None], total
            return
        if steady:
            raise VirtinfraError(
                f"{name} returned only {len(seen)} of {total or 'more'} records: the service repeats or cuts pages"
            )
    raise VirtinfraError(
        f"{name}: the number of records changed during each of {MAX_LIST_ATTEMPTS} attempts. Run the task again."
    )


def _read_pages(
    client: Client, operation: Operation, params: Record, connections: int, limit: int | None
) -> Iterator[tuple[list[Record], int | None]]:
    """Yield the pages of a query with their totals, from the first to the last, without checks."""

    def page(start: int) -> tuple[list[Record], int | None]:
        reply = client.get(operation.name, {**params, "start": start})
        return records_of(reply, operation.name, operation.result[0]), _total(reply)

    records, total = page(0)
    yield records, total
    start, size, number = len(records), params["limit"], 1
    _check_page_count(operation.name, number, len(records), total, limit)
    if connections > 1 and total is not None and size == start < total:
        with ThreadPoolExecutor(connections) as pool:
            for result in pool.map(page, range(size, total, size)):
                records, total = result
                yield result
                start += len(records)
    while records and (start < total if total is not None else len(records) >= min(size, PAGE_SIZE)):
        records, total = page(start)
        yield records, total
        start, number = start + len(records), number + 1
        _check_page_count(operation.name, number, len(records), total, limit)


def paginate_cursor(
    client: Client,
    resource_type: str,
    filters: Iterable[str] = (),
    sort: str | None = None,
    order: str | None = None,
    page_size: int = PAGE_SIZE,
    limit: int | None = None,
) -> Iterator[tuple[list[Record], int | None]]:
    """Yield the records of a cursor query page by page, each page with the total number.

    The list is complete, or a VirtinfraError is raised, also for a cursor that repeats, expires or does not end.
    """
    name, params = (
        "CursorQuery",
        {
            "resourceType": resource_type,
            "sort": sort,
            "order": order,
            "pageSize": page_size,
            "filter": list(filters),
        },
    )
    seen: set[str] = set()
    cursors: set[str] = set()
    repeated: list[Record] = []
    while True:
        reply = client.get(name, params)
        records, total, following = records_of(reply, name, "items"), _total(reply), reply.get("nextCursor")
        fresh, again = _split_by_novelty(records, seen)
        repeated += again
        more = bool(reply.get("hasMore", following))
        if fresh:
            yield fresh[: limit - len(seen) + len(fresh) if limit is not None else None], total
        if limit is not None and len(seen) >= limit:
            return
        if not more:
            break
        if not fresh or not isinstance(following, str) or not following or following in cursors:
            raise VirtinfraError(
                f"the cursor for {resource_type} repeats itself after {len(seen)} records. Run the task again."
            )
        if total is not None and len(seen) > 2 * total + page_size:
            raise VirtinfraError(f"the cursor for {resource_type} does not end: {len(seen)} records of {total}")
        cursors.add(following)
        _check_page_count(f"the cursor for {resource_type}", len(cursors), len(records), total, limit)
        name, params = "CursorNext", {"cursor": following, "pageSize": page_size}
    if total is not None and len(seen) < total:
        if fresh and len(seen) + len(repeated) == total:
            yield repeated[: limit - len(seen) if limit is not None else None], total
            return
        raise VirtinfraError(
            f"the cursor for {resource_type} ended after {len(seen)} of {total} records. Run the task again."
        )


def records_of(reply: Mapping[str, Any], name: str, member: str = "inventories") -> list[Record]:
    """Return the records in a query's reply: a list or a single ``inventory``.

    Raise Unsupported when it has neither: section "Notification" documents ``{}`` as the reply of one query.
    """
    if member not in reply and "inventory" not in reply:
        raise Unsupported(f"the response to {name} has no {member}")
    records = reply.get(member, reply.get("inventory")) or []
    records = [records] if isinstance(records, dict) else records
    if not isinstance(records, list) or not all(isinstance(record, dict) for record in records):
        raise TransportError(f"the response to {name} has no list of records in {member}", transient=False)
    return records if member == "items" else validate_records(records, name)


def validate_records(records: list[Record], name: str) -> list[Record]:
    """Return the records in the response to ``name``; raise TransportError when one has a member of a wrong type."""
    if wrong := next(filter(None, map(find_invalid_member, records)), None):
        raise TransportError(f"the response to {name} has a record whose {wrong} has a wrong type", transient=False)
    return records


def _total(reply: Mapping[str, Any]) -> int | None:
    total = reply.get("total")
    return total if isinstance(total, int) and not isinstance(total, bool) and total >= 0 else None


def _split_by_novelty(records: list[Record], seen: set[str]) -> tuple[list[Record], list[Record]]:
    """Return the new records of a page, which are remembered, and repeated records without a uuid.

    A record is identified by its uuid, or by its whole content without one. Equal records on one page are different
    records; on another page they may be different, or the same records that have moved.
    """
    new, repeated = [], []
    counts: Counter[str] = Counter()
    for record in records:
        key = str(record.get("uuid") or "")
        if not key:
            content = str(sorted(record.items(), key=str))
            counts[content] += 1
            key = f"{counts[content]} {content}"
        if key not in seen:
            seen.add(key)
            new.append(record)
        elif not record.get("uuid"):
            repeated.append(record)
    return new, repeated


def _check_page_count(label: str, pages: int, size: int, total: int | None, limit: int | None) -> None:
    """Raise VirtinfraError when a list takes too many requests; the last of ``pages`` had ``size`` records."""
    expected = total or 0 if limit is None else min(total or 0, limit)
    if pages > MAX_PAGES or expected > MAX_PAGES * max(size, 1):
        announced = f"the service announces {total} records and sends {size} at a time" if total else "it does not end"
        raise VirtinfraError(
            f"{label}: the list takes more than {MAX_PAGES} requests: {announced}. Set limit, or add conditions."
        )


Found = TypeVar("Found")


def get_by_uuid(client: Client, name: str, uuid: str) -> list[Record]:
    """Return a list with the record of this uuid, or an empty list, with the request that the table allows."""
    reply = client.get(name, {"uuid": uuid})
    has_records = bool(reply.keys() & {"inventories", "inventory"})
    records = records_of(reply, name) if has_records else []
    matches = [record for record in records if record.get("uuid") == uuid]
    if matches or (has_records and not records):
        return matches
    # Some servers omit null members, so a reply without records may mean that there are none, or that this query never
    # returns any. A service that ignores the uuid may have returned a part of all records.
    return find_by_attribute(client, name, "uuid", uuid)


def find_by_attribute(
    client: Client,
    name: str,
    attribute: str,
    value: str,
    conditions: Iterable[str] = (),
    view: Callable[[Record], Record] = dict,
) -> list[Record]:
    """Return the records, converted by ``view``, that meet the conditions and whose attribute has the value."""
    is_known = attribute in RECORD_FIELDS.get(get_operation(name).record, ())
    condition = equality(attribute, value) if is_known else None
    records = map(view, query(client, name, [*conditions, *([condition] if condition else [])]))
    return [record for record in records if values_equal(value, record.get(attribute))]


def query(client: Client, name: str, conditions: Iterable[str] = ()) -> list[Record]:
    """Return all records that meet the conditions, each ``<field><op><value>``."""
    return [record for page, dummy in paginate(client, name, conditions) for record in page]


def first_readable(*readers: Callable[[Client, Record], Found]) -> Callable[[Client, Record], Found]:
    """Return a finder that uses the first of several finders that the service and the credentials support."""

    def read(client: Client, desired: Record) -> Found:
        reasons = []
        for reader in readers:
            try:
                return reader(client, desired)
            except Unsupported as reason:
                reasons.append(reason.reason)
        raise Unsupported("; ".join(reasons))

    return read


def require_unique(records: list[Record], what: str) -> Record | None:
    """Return the only record, or None; raise AmbiguousMatch when there are several."""
    if len(records) > 1:
        raise AmbiguousMatch(what, [str(record.get("uuid")) for record in records])
    return records[0] if records else None
