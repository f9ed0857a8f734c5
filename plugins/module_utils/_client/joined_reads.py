"""Read the objects of many threads by their uuids or other attributes, with one request for many of them."""

from __future__ import annotations

import re
import threading
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeGuard

from .._api.errors import ApiError, ReadExecutedAsChange, Unsupported, VirtinfraError
from .._api.operations import get_operation
from .._api.records import RECORD_FIELDS, Record, is_same_value
from .._api.references import is_name
from .client import Client
from .lists import (
    PAGE_SIZE,
    extract_records,
    query,
    read_all,
    read_total,
    request_by_attribute,
    request_by_uuid,
    require_members,
)

# The most values in a request. Its path has about 3,600 characters then; servers and proxies accept 8,000 or more.
MAX_VALUES = 100

# The values of which a condition can have several: they have no commas, spaces, or characters of operators.
_PLAIN_VALUE = re.compile(r"[A-Za-z0-9._:-]{1,32}")

# How many records are read to find two with different values.
SAMPLE_SIZE = 10

# How many records a request for the records of all objects may return for each read that it answers. They take about as
# many bytes as a request of its own.
ROWS_PER_READ = 100

# For how many seconds a read waits for the responses to requests that were sent before it.
MAX_WAIT_FOR_TURN = 1.0

# For how many seconds a request waits for reads of threads that compute. Threads that send a change count, too.
MAX_WAIT_FOR_OTHERS = 0.02


class Turnout:
    """Counts the threads of a batch that compute. The others wait: for a read, for a job, or for their first object.

    A request for the reads that wait is sent when no thread computes, because each that does may add one. Only one
    thread computes at a time, so this delays hardly any.
    """

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._computing = 0

    def resume(self) -> None:
        """Note that a thread computes from now on."""
        with self._condition:
            self._computing += 1

    def pause(self) -> None:
        """Note that a thread waits from now on, or has ended."""
        with self._condition:
            self._computing -= 1
            if self._computing <= 0:
                self._condition.notify_all()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Return a context manager in which the thread waits."""
        self.pause()
        try:
            yield
        finally:
            self.resume()

    def wait_for_others(self) -> None:
        """Wait until no thread computes, for MAX_WAIT_FOR_OTHERS at most."""
        with self._condition:
            self._condition.wait_for(lambda: self._computing <= 0, MAX_WAIT_FOR_OTHERS)


@dataclass(eq=False)
class Read:
    """The read of a thread: a value, and the records with it that a request for several has returned.

    ``records`` is None as long as no response has answered the read. ``group`` are the reads for which its thread sends
    a request, itself among them. ``is_over`` is set when another thread has done so, or when this one ``leads``: it
    sends the next request.
    """

    client: Client
    value: str
    records: list[Record] | None = None
    group: Sequence[Read] = ()
    leads: bool = False
    is_over: threading.Event = field(default_factory=threading.Event)


class ReadQueue:
    """The reads with one operation of one service, by one attribute.

    The first thread sends a request as soon as the other threads wait, too. The reads that begin before its response
    wait, and the next request is for all of them: no response is older than the read that it answers. A thread does not
    wait if there are enough reads for a request, or if the responses take long.

    Servers that do not know the condition for several values return other records or none. So uuids that are missing in
    a response are looked up in the list of all records if that is short, or else each is requested alone. For other
    attributes, each condition begins and ends with the values of two records that exist: a service that returns both
    has checked all values, so a missing one belongs to no object if the service has also returned as many records as
    it counts. Other responses are not used.
    """

    def __init__(self, name: str, attribute: str, turnout: Turnout) -> None:
        self.name, self.attribute, self._turnout = name, attribute, turnout
        self._lock = threading.Lock()
        self._waiting: list[Read] = []
        self._requests = 0
        # Whether the service has refused a request for several objects, or no response to it can be used.
        self._is_refused = False
        # The values of two records that exist, as soon as they are known.
        self._known: tuple[str, ...] = ()
        # Whether the list of all records may be short enough to be read.
        self._may_be_short = True

    def read(self, client: Client, value: str) -> list[Record]:
        """Return the records with this value of the attribute. Raise what a request of its own raises.

        If no request for several objects answers the read, the thread sends a request of its own.
        """
        if self._is_refused:
            return self.request(client, value)
        read = Read(client, value)
        with self._lock:
            self._waiting.append(read)
            if not self._requests:
                self._let_lead(read)
            elif len(self._waiting) >= MAX_VALUES and not any(each.leads for each in self._waiting):
                self._let_lead(self._waiting[0])
        self._turnout.pause()
        self._wait_for_turn(read)
        if not read.group:
            return self._use(read)
        try:
            if len(read.group) > 1:
                self._send(read.group)
            return self._use(read)
        finally:
            self._end_request(read)

    def _let_lead(self, read: Read) -> None:
        """Let the thread of a waiting read send the next request."""
        self._requests += 1
        read.leads = True
        read.is_over.set()

    def _wait_for_turn(self, read: Read) -> None:
        """Wait until a read is answered, or until its thread has to send a request, and choose the reads for it."""
        if not read.is_over.wait(MAX_WAIT_FOR_TURN):
            with self._lock:
                if read in self._waiting and not read.leads:
                    self._let_lead(read)
            read.is_over.wait()
        if read.leads:
            self._turnout.wait_for_others()
            with self._lock:
                self._choose_group(read)

    def _choose_group(self, leader: Read) -> None:
        """Take the reads of a request from those that wait. If others remain, the first of them leads, too."""
        group = [leader, *(read for read in self._waiting if not read.leads)][:MAX_VALUES]
        self._waiting = [read for read in self._waiting if read not in group]
        leader.group = group
        if self._waiting and not any(read.leads for read in self._waiting):
            self._let_lead(self._waiting[0])

    def _send(self, group: Sequence[Read]) -> None:
        """Read several objects with one request, once, for the client with the earliest deadline.

        Raise ReadExecutedAsChange. After any other failure each thread reads its object itself, with all retries, and
        so gets the failure of its object.
        """
        client = min((read.client for read in group), key=lambda client: client.limits.deadline).with_retries(0)
        values = list(dict.fromkeys(read.value for read in group))
        try:
            is_same = len(values) == 1 and self.attribute != "uuid"
            records = self.request(client, *values) if is_same else self._request_several(client, values)
        except ReadExecutedAsChange:
            raise
        except VirtinfraError as failure:
            self._is_refused |= isinstance(failure, Unsupported) or (
                isinstance(failure, ApiError) and not failure.transient
            )
            return
        if records is None:
            return
        self._answer(group, records, is_shared=len(values) < len(group))
        self._answer_missing([read for read in group if read.records is None], client)

    def _answer(self, group: Sequence[Read], records: list[Record], is_shared: bool) -> None:
        """Answer reads with those of the records that they select. Threads get records of their own."""
        for read in group:
            if self.attribute != "uuid":
                matches = [record for record in records if is_same_value(read.value, record.get(self.attribute))]
                read.records = deepcopy(matches)
            elif matches := [record for record in records if record.get("uuid") == read.value]:
                read.records = deepcopy(matches) if is_shared else matches

    def _answer_missing(self, missing: Sequence[Read], client: Client) -> None:
        """Answer the reads of uuids of which the list of all records proves that no object has them."""
        if len(missing) < 2 or not self._may_be_short:
            return
        try:
            reply = client.get(self.name, {"limit": MAX_VALUES, "replyWithCount": True})
            uuids = {record["uuid"] for record in extract_records(reply, self.name)}
        except ReadExecutedAsChange:
            raise
        except VirtinfraError:
            return
        self._may_be_short = reply.get("total") == len(uuids)
        for read in missing:
            if self._may_be_short and read.value not in uuids:
                read.records = []

    def _request_several(self, client: Client, values: Sequence[str]) -> list[Record] | None:
        """Return the records with any of the values, None if the response cannot be used."""
        if self.attribute == "uuid":
            reply = client.get(self.name, {"q": [f"uuid?={','.join(values)}"], "limit": len(values)})
            return extract_records(reply, self.name)
        if not self._known:
            reply = client.get(self.name, {"limit": SAMPLE_SIZE, "replyWithCount": True})
            records = extract_records(reply, self.name)
            self._known = self._choose_known_values(records)
            if not self._known:
                # A service that has so few objects will have others when a batch creates them.
                is_whole = reply.get("total") == len(records) and all(each.get(self.attribute) for each in records)
                self._is_refused |= not is_whole
                return records if is_whole else None
        first, last = self._known
        condition = f"{self.attribute}?={','.join([first, *values, last])}"
        reply = client.get(self.name, {"q": [condition], "limit": PAGE_SIZE, "replyWithCount": True})
        records = extract_records(reply, self.name)
        found = {record.get(self.attribute) for record in records}
        is_proven = {first, last} <= found and reply.get("total") == len(records)
        self._is_refused |= not is_proven
        return records if is_proven else None

    def _choose_known_values(self, records: Sequence[Record]) -> tuple[str, ...]:
        """Return two different values of records, none if there are not two."""
        values = (record.get(self.attribute) for record in records)
        plain = list(dict.fromkeys(filter(_is_plain, values)))
        return (plain[0], plain[-1]) if len(plain) > 1 else ()

    def request(self, client: Client, value: str) -> list[Record]:
        """Return the records with a value, with a request for it alone."""
        if self.attribute == "uuid":
            return request_by_uuid(client, self.name, value)
        return request_by_attribute(client, self.name, self.attribute, value)

    def _use(self, read: Read) -> list[Record]:
        """Return the records of a read that is over. If it was not answered, send a request for its object alone."""
        if read.records is None:
            return self.request(read.client, read.value)
        read.client.prefix.note(get_operation(self.name))
        return read.records

    def _end_request(self, ended: Read) -> None:
        """End the reads of a request, and let the first waiting read lead, unless another one does already."""
        for read in ended.group:
            self._turnout.resume()
            read.is_over.set()
        with self._lock:
            self._requests -= 1
            if self._waiting and not any(read.leads for read in self._waiting):
                self._let_lead(self._waiting[0])


class ListQueue(ReadQueue):
    """The reads of a list of one service by one parameter, which selects the records with its value in a field.

    No request can have several values, so one is for the records of all objects, if these are few for each read. Its
    response is used if it has as many records as the service counts: between several pages, records may move.
    """

    # How many records the list had at the last request.
    _total = 0

    def _send(self, group: Sequence[Read]) -> None:
        if self._total <= ROWS_PER_READ * len(group):
            super()._send(group)

    def _request_several(self, client: Client, values: Sequence[str]) -> list[Record] | None:
        limit = ROWS_PER_READ * len(values)
        reply = client.get(self.name, {"limit": limit, "replyWithCount": True})
        records = extract_records(reply, self.name, *get_operation(self.name).result)
        require_members(records, self.name, self.attribute)
        total = read_total(reply)
        self._is_refused |= total is None or len(records) < min(limit, total)
        self._total = total or 0
        return records if len(records) == total else None

    def request(self, client: Client, value: str) -> list[Record]:
        """Return the records with a value, with a request for it alone."""
        return read_all(client, self.name, {self.attribute: value})


class WholeListQueue(ReadQueue):
    """The reads of a whole list of one service. They are answered with the same records, which may be many."""

    def _answer(self, group: Sequence[Read], records: list[Record], is_shared: bool) -> None:
        for read in group:
            read.records = records

    def request(self, client: Client, value: str) -> list[Record]:
        """Return the records of the list."""
        return query(client, self.name)


class Kept(NamedTuple):
    """What a read has returned, or why it cannot be done, and until when it answers others."""

    until: float
    records: list[Record]
    failure: Unsupported | None = None


class JoinedReads:
    """Joins the reads of the threads of a batch, whose ``turnout`` says which of them compute.

    It has a queue for each operation and attribute, and for each service and account.
    """

    def __init__(self, turnout: Turnout | None = None) -> None:
        self._turnout = turnout or Turnout()
        self._queues: dict[Hashable, ReadQueue] = {}
        self._kept: dict[Hashable, Kept] = {}

    def get_by_uuid(self, client: Client, name: str, uuid: str, max_age: float) -> list[Record]:
        """Return a list with the record of this uuid, or an empty list."""
        return self._find(client, ReadQueue(name, "uuid", self._turnout), uuid, max_age)

    def list_by_uuids(self, client: Client, name: str, uuids: Sequence[str]) -> list[Record]:
        """Return the records with these uuids."""
        return [record for uuid in uuids for record in self.get_by_uuid(client, name, uuid, 0.0)]

    def find_by_attribute(self, client: Client, name: str, attribute: str, value: str) -> list[Record]:
        """Return records, among them all whose attribute has the value."""
        return self._find(client, ReadQueue(name, attribute, self._turnout), value)

    def list_selected(self, client: Client, name: str, parameter: str, value: str) -> list[Record]:
        """Return records of a list, among them all that a parameter selects by a field of the same name."""
        return self._find(client, ListQueue(name, parameter, self._turnout), value)

    def list_all(self, client: Client, name: str) -> list[Record]:
        """Return all records of a query, which the caller must not change."""
        return self._find(client, WholeListQueue(name, "", self._turnout), "")

    def find_in_short_list(self, client: Client, name: str, dummy_uuid: str, max_age: float) -> list[Record]:
        """Return all records of a short list."""
        return self._find(client, WholeListQueue(name, "", self._turnout), "", max_age)

    def _find(self, client: Client, queue: ReadQueue, value: str, max_age: float = 0.0) -> list[Record]:
        """Return the records of a read; one that began up to ``max_age`` seconds before may answer it.

        ``queue`` is used if there is none for the operation, the attribute, the service and the account yet.
        """
        key = queue.name, queue.attribute, client.connection, client.options.mask_replies
        if max_age:
            return self._find_kept(queue, key, client, value, max_age)
        return self._read(queue, key, client, value)

    def _find_kept(self, queue: ReadQueue, key: Hashable, client: Client, value: str, max_age: float) -> list[Record]:
        """Return the records of a read that is not older than so many seconds, or read them."""
        now, kept = client.hooks.clock.monotonic(), self._kept.get((key, value))
        if kept is None or now >= kept.until:
            try:
                kept = Kept(now + max_age, self._read(queue, key, client, value))
            except Unsupported as failure:
                kept = Kept(now + max_age, [], failure)
            # Other threads add to the memory at the same time.
            for old in [other for other, each in list(self._kept.items()) if now >= each.until]:
                self._kept.pop(old, None)
            self._kept[key, value] = kept
        if kept.failure:
            raise kept.failure
        return kept.records

    def _read(self, queue: ReadQueue, key: Hashable, client: Client, value: str) -> list[Record]:
        """Return the records of a read, together with other threads if a condition can have several values."""
        if not _can_be_joined(queue.name, queue.attribute, value):
            return queue.request(client, value)
        return self._queues.setdefault(key, queue).read(client, value)


def _can_be_joined(name: str, attribute: str, value: str) -> bool:
    """Return whether a condition can contain the value together with others."""
    operation = get_operation(name)
    if operation.substitute:
        # One response does not show which of two operations a service has.
        return False
    if not attribute:
        return True
    if attribute in ("uuid", "interfaceUuid"):
        return not is_name(value)
    return attribute in RECORD_FIELDS.get(operation.record, ()) and _is_plain(value)


def _is_plain(value: Any) -> TypeGuard[str]:
    """Return whether a value can be one of several in a condition."""
    return isinstance(value, str) and _PLAIN_VALUE.fullmatch(value) is not None
