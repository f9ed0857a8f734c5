# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is PRIVATE to the collection. It can have breaking changes at any time.

"""Read the objects of many threads by their uuids, with one request for many of them."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field

from ...module_utils._api.errors import ApiError, ReadExecutedAsChange, Unsupported, VirtinfraError
from ...module_utils._api.operations import get_operation
from ...module_utils._api.records import Record
from ...module_utils._api.references import is_name
from ...module_utils._client.client import Client
from ...module_utils._client.lists import extract_records, request_by_uuid

# The most uuids in a request. Its path has about 3,600 characters then; servers and proxies accept 8,000 or more.
MAX_UUIDS = 100

# For how many seconds a read waits for the responses to requests that were sent before it.
MAX_WAIT_FOR_TURN = 1.0


@dataclass(eq=False)
class Read:
    """The read of a thread: its uuid, and the records of the object that a request for several has returned.

    ``group`` are the reads for which its thread sends a request, itself among them. ``is_over`` is set when another
    thread has done so, or has chosen this one for the next request.
    """

    client: Client
    uuid: str
    records: list[Record] = field(default_factory=list)
    group: Sequence[Read] = ()
    is_over: threading.Event = field(default_factory=threading.Event)


class ReadQueue:
    """The reads with one operation of one service.

    The first thread sends its request at once. The reads that begin before its response wait, and the next request is
    for all of them: no response is older than the read that it answers. A thread does not wait if there are enough
    reads for a request, or if the responses take long.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._waiting: list[Read] = []
        self._requests = 0
        # Whether the service has refused a request for several objects.
        self._is_refused = False

    def read(self, client: Client, uuid: str) -> list[Record]:
        """Return a list with the record of this uuid, or an empty list. Raise what a request of its own raises.

        Only a record is taken from a request for several objects. If it is missing, or if the request fails, the thread
        sends a request of its own, because servers that do not know the condition return other records or none.
        """
        if self._is_refused:
            return request_by_uuid(client, self._name, uuid)
        read = Read(client, uuid)
        with self._lock:
            self._waiting.append(read)
            if not self._requests or len(self._waiting) == MAX_UUIDS:
                read.group = self._take_waiting()
        self._wait_for_turn(read)
        if not read.group:
            return self._use(read)
        try:
            if len(read.group) > 1:
                self._send(read.group)
            return self._use(read)
        finally:
            self._end_request(read)

    def _take_waiting(self) -> list[Read]:
        """Return the waiting reads, for which a request begins."""
        group, self._waiting = self._waiting, []
        self._requests += 1
        return group

    def _wait_for_turn(self, read: Read) -> None:
        """Wait until a read is answered, or its thread has to send a request."""
        if read.group or read.is_over.wait(MAX_WAIT_FOR_TURN):
            return
        with self._lock:
            if read in self._waiting:
                read.group = self._take_waiting()
        if not read.group:
            read.is_over.wait()

    def _send(self, group: Sequence[Read]) -> None:
        """Read several objects with one request, once, for the client with the earliest deadline.

        Raise ReadExecutedAsChange. After any other failure each thread reads its object itself, with all retries, and
        so gets the failure of its object.
        """
        client = min((read.client for read in group), key=lambda client: client.limits.deadline).with_retries(0)
        uuids = list(dict.fromkeys(read.uuid for read in group))
        try:
            reply = client.get(self._name, {"q": [f"uuid?={','.join(uuids)}"], "limit": len(uuids)})
            records = extract_records(reply, self._name)
        except ReadExecutedAsChange:
            raise
        except VirtinfraError as failure:
            self._is_refused |= isinstance(failure, Unsupported) or (
                isinstance(failure, ApiError) and not failure.transient
            )
            return
        for read in group:
            matches = [record for record in records if record.get("uuid") == read.uuid]
            # Threads that read the same object get records of their own.
            read.records = matches if len(uuids) == len(group) else deepcopy(matches)

    def _use(self, read: Read) -> list[Record]:
        """Return the records of a read that is over. Without any, send a request for its object alone."""
        if not read.records:
            return request_by_uuid(read.client, self._name, read.uuid)
        read.client.prefix.note(get_operation(self._name))
        return read.records

    def _end_request(self, ended: Read) -> None:
        """End the reads of a request, and let the thread of the first waiting read send the next request."""
        for read in ended.group:
            read.is_over.set()
        with self._lock:
            self._requests -= 1
            if self._waiting:
                following = self._waiting[0]
                following.group = self._take_waiting()
                following.is_over.set()


class JoinedReads:
    """Joins the reads of the threads of a batch. It has a queue for each operation of each service and account."""

    def __init__(self) -> None:
        self._queues: dict[Hashable, ReadQueue] = {}

    def read(self, client: Client, name: str, uuid: str) -> list[Record]:
        """Return the records of an object as `get_by_uuid` does, together with the reads of other threads."""
        if get_operation(name).substitute or is_name(uuid):
            # It takes more than a response to find out which of two operations a service has.
            return request_by_uuid(client, name, uuid)
        key = name, client.connection, client.options.mask_replies
        return self._queues.setdefault(key, ReadQueue(name)).read(client, uuid)
