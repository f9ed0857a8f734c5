"""Read complete lists of records, page by page, and find single records in them."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, TypeAlias, TypeGuard, TypeVar

from .._api.equality import format_equality
from .._api.errors import (
    METHOD_NOT_ALLOWED,
    NOT_FOUND,
    AmbiguousMatch,
    ApiError,
    IncompleteList,
    TransportError,
    Unsupported,
)
from .._api.operation import Operation
from .._api.operations import get_operation
from .._api.records import (
    RECORD_FIELDS,
    Record,
    find_invalid_member,
    is_same_value,
)
from .client import Client, Reads

PAGE_SIZE = 1000

# How often a list is read in total when it changes while it is read.
MAX_LIST_ATTEMPTS = 5

# The maximum number of requests for one list: 20 million records in pages of 1000. A larger total counts as an error.
MAX_PAGES = 20_000

# For how many seconds the threads of a batch use a list of objects that are few and seldom change, such as templates.
SHORT_LIST_SECONDS = 10.0

# After how many seconds a line of progress is shown, each time.
PROGRESS_INTERVAL = 5.0


Item = TypeVar("Item")

# A page of records, with the total number of the list, None if the service does not send it.
Page: TypeAlias = "tuple[list[Record], int | None]"


class Completeness:
    """The records of a list that were read so far, and whether they are all.

    A record is identified by its uuid, or by its whole content without one. Equal records on one page are different
    records; on another page they may be different, or the same records that have moved.
    """

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self._seen: set[str] = set()
        self.total: int | None = None
        self.restart()

    @property
    def count(self) -> int:
        """The number of different records."""
        return len(self._seen)

    @property
    def has_reached_limit(self) -> bool:
        """Whether as many records were read as the caller wants."""
        return self._limit is not None and self.count >= self._limit

    @property
    def is_steady(self) -> bool:
        """Whether the service has sent the same total with all pages since the list was read from its beginning."""
        return len(self._totals) == 1

    def restart(self) -> None:
        """Begin to read the list again from its first page."""
        self._totals: set[int | None] = set()
        self._repeated: list[Record] = []

    def add(self, records: list[Record], total: int | None) -> list[Record]:
        """Count the records of a page, and return the new ones, up to the limit."""
        self.total = total
        self._totals.add(total)
        remaining = self._remaining
        new = []
        equal_on_page: Counter[str] = Counter()
        for record in records:
            key = str(record.get("uuid") or "")
            if not key:
                content = str(sorted(record.items(), key=str))
                equal_on_page[content] += 1
                key = f"{equal_on_page[content]} {content}"
            if key not in self._seen:
                self._seen.add(key)
                new.append(record)
            elif not record.get("uuid"):
                self._repeated.append(record)
        self._is_last_page_new = bool(new)
        return new[:remaining]

    def select_equal_records(self) -> list[Record]:
        """Return the repeated records without a uuid, up to the limit, if exactly these are missing from the total.

        They count separately then: they are not records that have moved to another page.
        """
        if self._is_last_page_new and self.total == self.count + len(self._repeated):
            return self._repeated[: self._remaining]
        return []

    def is_complete(self, is_last_page_full: bool) -> bool:
        """Return whether nothing is missing after the last page. A full page may be truncated if there is no total."""
        if self.total is None:
            return self._is_last_page_new or not is_last_page_full
        return self.count >= self.total or bool(self.select_equal_records())

    @property
    def _remaining(self) -> int | None:
        """The number of records until the limit."""
        return None if self._limit is None else max(self._limit - self.count, 0)


def paginate(
    client: Client,
    name: str,
    params: Mapping[str, Any],
    *,
    page_size: int = PAGE_SIZE,
    limit: int | None,
    connections: int,
    view: Callable[[Record], Record] | None = None,
) -> Iterator[Page]:
    """Yield the records of a query page by page, each page with the total number, which may be None.

    The list is complete, or an IncompleteList is raised: servers truncate at 1000 without notice, and may not support
    paging. When the number of records changes while the list is read, which may move some to a page that was already
    read, it is read again. With several ``connections`` pages are read ahead, and concurrently if the service is slow
    and it is known where they start. ``view`` converts each record as soon as its page is read.
    """
    operation = get_operation(name)
    size = page_size if limit is None else min(page_size, limit)
    params = {**params, "sort": operation.order, "replyWithCount": True, "limit": size}
    completeness, hooks = Completeness(limit), client.hooks
    next_progress = hooks.clock.monotonic() + PROGRESS_INTERVAL
    for dummy in range(MAX_LIST_ATTEMPTS):
        completeness.restart()
        for records, total in _read_pages(client, operation, params, connections, limit, view):
            new = completeness.add(records, total)
            if new and hooks.clock.monotonic() >= next_progress:
                hooks.show_progress(f"{name}: {completeness.count} of {total or 'more'} records")
                next_progress = hooks.clock.monotonic() + PROGRESS_INTERVAL
            if new:
                yield new, total
            elif completeness.is_steady:
                break
            if completeness.has_reached_limit:
                return
        if not completeness.is_steady:
            continue
        if not completeness.is_complete(is_last_page_full=len(records) == size):
            raise IncompleteList(
                f"{name} returned only {completeness.count} of {total or 'more'} records: the service repeats or"
                " truncates pages. Set limit, or add conditions."
            )
        if equal_records := completeness.select_equal_records():
            yield equal_records, total
        return
    raise IncompleteList(
        f"{name}: the number of records changed during each of {MAX_LIST_ATTEMPTS} attempts. Run the task again."
    )


class ReadAhead:
    """How many pages of a list are read before they are needed, at most as many as there are connections.

    A page takes more memory than its hosts, so more are only read ahead if the service is slower than their user.
    """

    def __init__(self, most: int) -> None:
        self.pages, self._most = 1, most

    def note(self, used: float, waited: float) -> None:
        """Note for how many seconds a page was used, and for how many the next one was waited for."""
        if waited > used / 2:
            self.pages = min(2 * self.pages, self._most)


def _read_pages(
    client: Client,
    operation: Operation,
    params: Record,
    connections: int,
    limit: int | None,
    view: Callable[[Record], Record] | None,
) -> Iterator[Page]:
    """Yield the pages of a query with their totals, from the first to the last, without checks."""
    size = params["limit"]

    def read_page(start: int) -> Page:
        reply = client.get(operation.name, {**params, "start": start})
        records = extract_records(reply, operation.name, operation.result[0])
        return [*map(view, records)] if view else records, read_total(reply)

    def read_following(records: list[Record], total: int | None, start: int) -> Iterator[Page]:
        """Yield the pages after one that ends before ``start``. Where the next one starts is known only then."""
        number = 1
        while records and (start < total if total is not None else len(records) >= min(size, PAGE_SIZE)):
            _check_page_count(operation.name, number, len(records), total, limit)
            records, total = read_page(start)
            yield records, total
            start, number = start + len(records), number + 1

    records, total = read_page(0)
    start = len(records)
    if connections > 1 and total is not None and size == start < total:
        _check_page_count(operation.name, 1, len(records), total, limit)
        # Most module processes read one page.
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(connections) as pool:
            starts, ahead = iter(range(size, total, size)), ReadAhead(connections)
            pending = deque(pool.submit(read_page, first) for first in islice(starts, ahead.pages))
            given = time.monotonic()
            yield records, total
            while pending:
                requested, reading = time.monotonic(), pending.popleft()
                busy = time.process_time()
                pending += (pool.submit(read_page, first) for first in islice(starts, ahead.pages - len(pending)))
                records, total = reading.result()
                ahead.note(requested - given, time.monotonic() - requested - (time.process_time() - busy))
                given = time.monotonic()
                yield records, total
                start += len(records)
        yield from read_following(records, total, start)
    else:
        pages = chain([(records, total)], read_following(records, total, start))
        yield from prefetch(pages) if connections > 1 and limit is None else pages


def prefetch(items: Iterator[Item]) -> Iterator[Item]:
    """Yield the items of an iterator; a thread computes the next item while one is used."""
    from concurrent.futures import ThreadPoolExecutor

    end = object()
    with ThreadPoolExecutor(1) as pool:
        following = pool.submit(next, items, end)
        while (item := following.result()) is not end:
            following = pool.submit(next, items, end)
            yield item  # type: ignore[misc]


def paginate_cursor(
    client: Client,
    resource_type: str,
    filters: Iterable[str] = (),
    sort: str | None = None,
    order: str | None = None,
    page_size: int = PAGE_SIZE,
    limit: int | None = None,
) -> Iterator[Page]:
    """Yield the records of a cursor query page by page, each page with the total number.

    The list is complete, or an IncompleteList is raised, also for a cursor that repeats, expires or does not end.
    """
    label = f"the cursor for {resource_type}"
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
    completeness = Completeness(limit)
    cursors: set[str] = set()
    while True:
        reply = client.get(name, params)
        records, total = extract_records(reply, name, "items"), read_total(reply)
        new = completeness.add(records, total)
        if new:
            yield new, total
        if completeness.has_reached_limit:
            return
        cursor = reply.get("nextCursor")
        if not reply.get("hasMore", cursor):
            break
        if not new or not _is_usable_cursor(cursor, cursors):
            raise IncompleteList(f"{label} repeats itself after {completeness.count} records. Run the task again.")
        if total is not None and completeness.count > 2 * total + page_size:
            raise IncompleteList(f"{label} does not end: {completeness.count} of {total} records were read. Set limit.")
        cursors.add(cursor)
        _check_page_count(label, len(cursors), len(records), total, limit)
        name, params = "CursorNext", {"cursor": cursor, "pageSize": page_size}
    if not completeness.is_complete(is_last_page_full=False):
        raise IncompleteList(f"{label} ended after {completeness.count} of {total} records. Run the task again.")
    if equal_records := completeness.select_equal_records():
        yield equal_records, total


def _is_usable_cursor(cursor: Any, used: set[str]) -> TypeGuard[str]:
    """Return whether a cursor leads to a page that was not read yet."""
    return isinstance(cursor, str) and cursor != "" and cursor not in used


def extract_records(reply: Mapping[str, Any], name: str, member: str = "inventories") -> list[Record]:
    """Return the records in a query's reply: a list or a single ``inventory``.

    Raise Unsupported when it has neither: section "Notification" documents ``{}`` as the reply of one query.
    """
    if member not in reply and "inventory" not in reply:
        raise Unsupported(f"the response to {name} has no {member}")
    records = reply.get(member, reply.get("inventory")) or []
    records = [records] if isinstance(records, dict) else records
    if not isinstance(records, list) or not all(isinstance(record, dict) for record in records):
        raise TransportError(f"the response to {name} has no list of records in {member}", transient=False)
    if member == "items":
        return records
    if get_operation(name).order == "+uuid":
        require_members(records, name, "uuid")
    return validate_records(records, name)


def require_members(records: Iterable[Record], name: str, *members: str) -> None:
    """Raise TransportError if a record in the response to ``name`` lacks one of the members that select records.

    It would match nothing, so what exists would seem to be gone.
    """
    if not all(record.get(member) for record in records for member in members):
        raise TransportError(f"the response to {name} has a record without {' or '.join(members)}", transient=False)


def validate_records(records: list[Record], name: str) -> list[Record]:
    """Return the records in the response to ``name``; raise TransportError when one has a member of a wrong type."""
    if wrong := next(filter(None, map(find_invalid_member, records)), None):
        raise TransportError(f"the response to {name} has a record whose {wrong} has a wrong type", transient=False)
    return records


def read_total(reply: Mapping[str, Any]) -> int | None:
    """Return how many records the list has of which a reply is a page, None if the service does not say so."""
    total = reply.get("total")
    return total if isinstance(total, int) and not isinstance(total, bool) and total >= 0 else None


def _check_page_count(label: str, pages: int, size: int, total: int | None, limit: int | None) -> None:
    """Raise IncompleteList when a list takes too many requests; the last of ``pages`` had ``size`` records."""
    expected = total or 0 if limit is None else min(total or 0, limit)
    if pages > MAX_PAGES or expected > MAX_PAGES * max(size, 1):
        reason = f"the service announces {total} records and sends {size} at a time" if total else "it does not end"
        raise IncompleteList(
            f"{label}: the list takes more than {MAX_PAGES} requests: {reason}. Set limit, or add conditions."
        )


Result = TypeVar("Result")


class OwnReads:
    """Reads each object with a request of its own. Reads of several threads are `JoinedReads`."""

    def get_by_uuid(self, client: Client, name: str, uuid: str, dummy_max_age: float) -> list[Record]:
        """Return a list with the record of this uuid, or an empty list."""
        return request_by_uuid(client, name, uuid)

    def list_by_uuids(self, client: Client, name: str, uuids: Sequence[str]) -> list[Record]:
        """Return the records with these uuids, with one request."""
        return query(client, name, [f"uuid?={','.join(uuids)}"]) if uuids else []

    def find_by_attribute(self, client: Client, name: str, attribute: str, value: str) -> list[Record]:
        """Return records, among them all whose attribute has the value."""
        return request_by_attribute(client, name, attribute, value)

    def list_selected(self, client: Client, name: str, parameter: str, value: str) -> list[Record]:
        """Return the records of a list that a parameter selects."""
        return read_all(client, name, {parameter: value})

    def list_all(self, client: Client, name: str) -> list[Record]:
        """Return all records of a query."""
        return query(client, name)

    def find_in_short_list(self, client: Client, name: str, uuid: str, dummy_max_age: float) -> list[Record]:
        """Return a list with the record of this uuid, or an empty list."""
        return request_by_uuid(client, name, uuid)


_OWN_READS = OwnReads()


def _choose_reads(client: Client) -> Reads:
    """Return how the run of a client reads objects."""
    return client.hooks.reads or _OWN_READS


def get_by_uuid(client: Client, name: str, uuid: str, max_age: float = 0.0) -> list[Record]:
    """Return a list with the record of this uuid, or an empty list.

    The threads of a batch join their reads, and one may use what another has read at most ``max_age`` seconds before.
    """
    return [
        predict_changes(client, record) for record in _choose_reads(client).get_by_uuid(client, name, uuid, max_age)
    ]


def predict_changes(client: Client, record: Record) -> Record:
    """Return a record as earlier tasks would have changed it in check mode; outside it, the record itself."""
    changes = client.hooks.list_predicted().get(str(record.get("uuid"))) or {}
    return {**record, **{name: value for name, value in changes.items() if name in record}} if changes else record


def find_in_short_list(client: Client, name: str, uuid: str) -> list[Record]:
    """Return a list with the record of this uuid, or an empty list, of objects that are few and seldom change.

    The threads of a batch read all of them once in SHORT_LIST_SECONDS.
    """
    records = _choose_reads(client).find_in_short_list(client, name, uuid, SHORT_LIST_SECONDS)
    return [record for record in records if record.get("uuid") == uuid]


def request_by_uuid(client: Client, name: str, uuid: str) -> list[Record]:
    """Return a list with the record of this uuid, or an empty list, with the request that the table allows."""
    reply = client.get(name, {"uuid": uuid})
    has_records = bool(reply.keys() & {"inventories", "inventory"})
    records = extract_records(reply, name) if has_records else []
    matches = [record for record in records if record.get("uuid") == uuid]
    if matches or (has_records and not records):
        return matches
    # Some servers omit null members, so a reply without records may mean that there are none, or that this query never
    # returns any. A service that ignores the uuid may have returned a part of all records.
    records = request_by_attribute(client, name, "uuid", uuid)
    return [record for record in records if is_same_value(uuid, record.get("uuid"))]


def list_by_uuids(client: Client, name: str, uuids: Sequence[str]) -> list[Record]:
    """Return the records with these uuids. The threads of a batch join their reads; else it takes one request."""
    return _choose_reads(client).list_by_uuids(client, name, uuids)


def find_by_attribute(
    client: Client,
    name: str,
    attribute: str,
    value: str,
    conditions: Iterable[str] = (),
    view: Callable[[Record], Record] = dict,
) -> list[Record]:
    """Return the records, converted by ``view``, that meet the conditions and whose attribute has the value.

    The threads of a batch join their reads without further conditions.
    """
    if conditions:
        records = request_by_attribute(client, name, attribute, value, conditions)
    else:
        records = _choose_reads(client).find_by_attribute(client, name, attribute, value)
    return [record for record in map(view, records) if is_same_value(value, record.get(attribute))]


def request_by_attribute(
    client: Client, name: str, attribute: str, value: str, conditions: Iterable[str] = ()
) -> list[Record]:
    """Return the records that meet the conditions, among them all whose attribute has the value."""
    record_type = get_operation(name).record
    is_known = not record_type or attribute in RECORD_FIELDS.get(record_type, ())
    condition = format_equality(attribute, value) if is_known else None
    return query(client, name, [*conditions, *([condition] if condition else [])])


def query(client: Client, name: str, conditions: Iterable[str] = ()) -> list[Record]:
    """Return all records that meet the conditions, each ``<field><op><value>``."""
    return read_all(client, name, {"q": list(conditions)})


def read_all(client: Client, name: str, params: Mapping[str, Any]) -> list[Record]:
    """Return all records of a query with these parameters."""
    return [record for page, dummy in paginate(client, name, params, limit=None, connections=1) for record in page]


def list_all(client: Client, name: str) -> list[Record]:
    """Return all records of a query. The threads of a batch join their reads, and must not change the records."""
    return _choose_reads(client).list_all(client, name)


def list_selected(client: Client, name: str, parameter: str, value: str) -> list[Record]:
    """Return all records of a list that a parameter selects by a field of the same name.

    Without it, the list has the records of all objects. The threads of a batch join their reads.
    """
    return _choose_reads(client).list_selected(client, name, parameter, value)


def list_user_tags(
    client: Client, uuid: str | None = None, page_size: int = PAGE_SIZE, connections: int = 1
) -> list[Record]:
    """Return the records of the user tags of an object, or of all objects.

    Raise TransportError for a record that does not say which object has the tag: the object would seem to lack it.
    """
    params = {"q": [f"resourceUuid={uuid}"]} if uuid else {}
    pages = paginate(client, "QueryUserTag", params, page_size=page_size, limit=None, connections=connections)
    tags = [row for page, dummy in pages for row in page]
    require_members(tags, "QueryUserTag", "uuid", "resourceUuid")
    return [row for row in tags if uuid in (None, row["resourceUuid"])]


def combine_finders(*readers: Callable[[Client, Record], Result]) -> Callable[[Client, Record], Result]:
    """Return a finder that uses the first of several finders that the service and the credentials support.

    A gateway may report a missing operation with an ErrorCode. The error stands if no other finder can be used.
    """

    def read(client: Client, desired: Record) -> Result:
        reasons, refusal = [], None
        for reader in readers:
            try:
                return reader(client, desired)
            except Unsupported as reason:
                reasons.append(reason.reason)
            except ApiError as error:
                if refusal or error.status not in (NOT_FOUND, METHOD_NOT_ALLOWED) or not client.connection.api_token:
                    raise
                refusal = error
        raise refusal or Unsupported("; ".join(reasons))

    return read


def require_unique(records: list[Record], label: str, remedy: str = "Select one by uuid.") -> Record | None:
    """Return the only record, or None. Raise AmbiguousMatch with the ``label`` of the record when there are several."""
    if len(records) > 1:
        raise AmbiguousMatch(label, [str(record.get("uuid")) for record in records], remedy)
    return records[0] if records else None
