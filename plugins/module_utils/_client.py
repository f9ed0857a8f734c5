# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is PRIVATE to the collection. It can have breaking changes at any time.

"""Calling operations: what an answer means, complete lists, and jobs to their end."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, TypeVar

from ansible_collections.virtinfra.manager.plugins.module_utils._conditions import equality
from ansible_collections.virtinfra.manager.plugins.module_utils._connection import ConnectionOptions
from ansible_collections.virtinfra.manager.plugins.module_utils._credentials import may_hold_credentials
from ansible_collections.virtinfra.manager.plugins.module_utils._errors import (
    ApiError,
    InvalidOptions,
    JobNotFound,
    JobUuidUsed,
    ReadNotSupported,
    ReadTakenForChange,
    ResponseLost,
    TransportError,
    VirtinfraError,
    WaitTimeout,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._jobs import (
    FAILED,
    RUNNING,
    SUCCEEDED,
    UNKNOWN,
    Job,
    WaitPolicy,
    extract_job_uuid,
    new_uuid,
    polling_path,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._operation import (
    Operation,
    Request,
    is_bare,
    is_success,
    parse_version,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._operations import OPERATIONS, get_operation
from ansible_collections.virtinfra.manager.plugins.module_utils._records import (
    RECORD_FIELDS,
    Record,
    find_invalid_member,
    values_equal,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._response import Response
from ansible_collections.virtinfra.manager.plugins.module_utils._secrets import Masker
from ansible_collections.virtinfra.manager.plugins.module_utils._transport import Clock, Transport

PAGE_SIZE = 1000

# How often a list is read anew because it changed while it was read.
MAX_LIST_ATTEMPTS = 5

# The most requests for one list: 20 million records in pages of 1000. A service that announces more is not believed.
MAX_PAGES = 20_000
JOB_LOOKUP_GRACE = 2.0

# A gateway says with these that no answer came about, which proves nothing of the operation, whatever else it says.
INCONCLUSIVE_STATUSES = (408, 429, 502, 504)

# With these, in plain text, the service itself refuses a call at once: it was not taken.
REFUSALS = (400, 403, 404, 405, 429, 500)
MAX_CONNECTIONS = 16

Item = TypeVar("Item")
Result = TypeVar("Result")


class Client:
    """The service, as one task or inventory sees it.

    ``read_only`` refuses everything but GET (check mode). ``wait`` says how long jobs are waited for. ``mask_replies``
    is for those who show replies and compare nothing: credentials are masked in them already.
    ``before_send`` is called before each request.
    """

    def __init__(
        self,
        connection: ConnectionOptions,
        read_only: bool = False,
        wait: WaitPolicy | None = None,
        clock: Any = Clock,
        masker: Masker | None = None,
        mask_replies: bool = False,
        job_uuid: str | None = None,
        webhook_url: str | None = None,
        api_timeout: int | None = None,
        on_request: Callable[[str], None] | None = None,
        before_send: Callable[[], None] = lambda: None,
    ) -> None:
        self.connection, self.read_only, self.clock = connection, read_only, clock
        self._on_request, self._mask_replies = on_request, mask_replies
        self._masker = masker or Masker(filter(None, (connection.session_id, connection.api_token)))
        self.wait = wait or WaitPolicy(clock)
        if connection.service_version:
            parse_version(connection.service_version)
        self._job_uuid = job_uuid
        self._headers = {}
        if webhook_url:
            if not re.fullmatch(r"https?://[\x21-\x7e]+", webhook_url):
                raise InvalidOptions("webhook_url must be like https://receiver.example.com/path, without blanks")
            self._headers["X-Web-Hook"] = webhook_url
        if api_timeout:
            self._headers["X-API-Timeout"] = str(api_timeout)
        self._local = threading.local()
        self._transports: list[Transport] = []
        self._poll_auth: str | None = None
        self._before_send = before_send
        self._latest: Job | None = None
        self._bounded = False

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *dummy: object) -> None:
        for transport in self._transports:
            transport.close()

    @property
    def pending_job(self) -> Job | None:
        """The call that was made last, unless its end is known."""
        return self._latest if self._latest and self._latest.state in (RUNNING, UNKNOWN) else None

    # Calls

    def build_request(self, name: str, params: Mapping[str, Any]) -> tuple[Operation, Request, str]:
        """Return operation, request and Authorization header of a call; fails as the call would before sending."""
        operation = get_operation(name)
        return operation, self._request(operation, params), self._auth(operation)

    def get(self, name: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Call a reading operation and return its reply. Raises ReadNotSupported when the service does not have it."""
        return self._get(get_operation(name), params)

    def start_job(self, name: str, params: Mapping[str, Any], label: str = "", job_uuid: str | None = None) -> Job:
        """Send a writing call and return its job, finished if the service answered at once.

        ``job_uuid`` makes it the same call as an earlier one of this task. Raises ResponseLost, with the member
        ``job``, when the service may have taken it, and JobUuidUsed when the option ``job_uuid`` names another call's
        job.
        """
        operation, request, auth = self.build_request(name, params)
        if self.read_only and operation.is_write:
            raise InvalidOptions(f"{name} changes something and is not sent in check mode")
        chosen, self._job_uuid = None if job_uuid else self._job_uuid, None
        own = job_uuid or chosen or new_uuid()
        self._latest = job = Job(own, self.polling_path(own), name, label)
        try:
            answer = self._transport().send(request, name, auth, {**self._headers, "X-Job-UUID": own})
            if is_duplicate(answer) and chosen:
                raise self._used_before(job)
            return self._taken(job, answer)
        except ResponseLost as lost:
            job.state = UNKNOWN
            lost.job = job
            raise
        except VirtinfraError:
            job.state = FAILED
            raise

    def _used_before(self, job: Job) -> JobUuidUsed:
        """Return the failure that a job id stands for an earlier call, with what became of that."""
        earlier = Job(job.uuid, job.location)
        with suppress(TransportError):
            self.poll(earlier)
        state = f"{earlier.state}: {earlier.failure}" if earlier.failure else earlier.state
        return JobUuidUsed(
            f"{job.operation} was not performed: job_uuid {job.uuid} was used for an earlier call (state of that job:"
            f" {state}). Use a new job_uuid for each call, or leave it out.",
            job=earlier.handle(),
        )

    def poll(self, job: Job) -> bool:
        """Ask for a job once and return whether it has ended; its state, result and failure are updated.

        A job ends with its result, with an ErrorCode, or with a 404 in the service's own form. Raises TransportError
        when the answer is none of these, and does not say either that the job is running.
        """
        what = " ".join(filter(None, (job.operation, f"job {job.uuid}")))
        request = Request("GET", job.location)
        ask = partial(self._transport().send, request, what, deadline=self.wait.deadline, slack=self.wait.interval)
        answer = ask(self._poll_auth)
        if answer.status in (401, 403) and self._poll_auth is None and self.connection.session_id:
            # The family's servers want no credentials here; one that does gets them from now on.
            self._poll_auth = f"OAuth {self.connection.session_id}"
            answer = ask(self._poll_auth)
        if answer.status == 202:
            return False
        if answer.status == 404 and answer.is_plain_text:
            job.state = UNKNOWN
            job.failure = JobNotFound(job)
        elif answer.error_code is not None and answer.status not in INCONCLUSIVE_STATUSES:
            job.state = FAILED
            job.failure = ApiError(job.operation or "the operation", answer.status, answer.error)
        elif answer.status == 200 and answer.object is not None and _may_be_result(job.operation, answer.object):
            job.state, job.result = SUCCEEDED, answer.object
        else:
            raise TransportError(f"polling job {job.uuid} returned HTTP status {answer.status}: {answer.text()}")
        return True

    def wait_for_job(self, job: Job) -> dict[str, Any]:
        """Wait until a job has ended and return its result; raises its failure or WaitTimeout."""
        self.wait_for_jobs([job])
        if job.failure:
            raise job.failure
        return job.result

    def wait_for_jobs(self, jobs: Iterable[Job]) -> None:
        """Wait until all jobs have ended. Only the oldest is polled; the others when it has ended or the time is up.

        An inconclusive response never ends the waiting. Raises WaitTimeout when a job has not ended by then.
        """
        running = [job for job in jobs if job.state == RUNNING]
        if not running:
            return
        last_error: TransportError | None = None
        first = running[0]
        what = " ".join(filter(None, (first.operation or "job", first.label, f"(job {first.uuid})")))
        for dummy in self.wait.poll_intervals(what if len(running) == 1 else f"{len(running)} jobs, the first {what}"):
            try:
                if self.poll(running[0]):
                    self.map_concurrently(self.poll, running[1:])
                last_error = None
            except TransportError as error:
                last_error = error
            running = [job for job in running if job.state == RUNNING]
            if not running:
                return
        if last_error is None:
            with suppress(TransportError):
                self.map_concurrently(self.poll, running[1:])
        first, others = running[0], sum(job.state == RUNNING for job in running[1:])
        state = "has no result" if last_error else "is still running"
        more = f" (and {others} more jobs)" if others else ""
        reason = f" The last poll failed: {last_error}." if last_error else ""
        raise WaitTimeout(
            f"{first.operation or 'The operation'} {state} after {self.wait.timeout:g} s of waiting{more}."
            f" Continue with job_wait, job {first.uuid}.{reason}",
            job=first.handle(),
        )

    def job_exists(self, job: Job, seconds: float = JOB_LOOKUP_GRACE) -> bool:
        """Whether the service took a call whose answer was lost; asked for a time, for it may still be on its way."""
        for elapsed in self.wait.poll_intervals(f"the job of {job.operation}"):
            job.state, job.failure = RUNNING, None
            try:
                self.poll(job)
            except TransportError:
                job.state = UNKNOWN
            if job.state != UNKNOWN:
                return True
            if elapsed > seconds:
                break
        job.failure = None
        return False

    @contextmanager
    def limit_reads_to_deadline(self) -> Iterator[None]:
        """Let reading requests end with the waiting, as polls do."""
        self._bounded = True
        try:
            yield
        finally:
            self._bounded = False

    def map_concurrently(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """Apply a function that calls the service to many items at once, over up to 16 connections, in order."""
        items = list(items)
        if len(items) < 2:
            return [function(item) for item in items]
        pool = ThreadPoolExecutor(min(MAX_CONNECTIONS, len(items)))
        try:
            return list(pool.map(function, items))
        finally:
            # A task that is stopped does not wait for the answers that are still to come.
            pool.shutdown(wait=False, cancel_futures=True)

    # Lists

    def get_by_uuid(self, name: str, uuid: str) -> list[Record]:
        """Return the record with this uuid as a list of none or one; the table knows how it may be asked for."""
        reply = self.get(name, {"uuid": uuid})
        told = bool(reply.keys() & {"inventories", "inventory"})
        found = _records(reply, name) if told else []
        asked = [record for record in found if record.get("uuid") == uuid]
        if asked or (told and not found):
            return asked
        # A null is left out, so nothing may stand for none, or for a query that never tells anything; and a service
        # that does not heed the uuid may have brought a part of all records.
        return self.find_by_attribute(name, "uuid", uuid)

    def find_by_attribute(
        self,
        name: str,
        attribute: str,
        value: str,
        conditions: Iterable[str] = (),
        view: Callable[[Record], Record] = dict,
    ) -> list[Record]:
        """Return the records, as ``view`` shows them, that meet the conditions and whose attribute is the value."""
        is_known = attribute in RECORD_FIELDS.get(get_operation(name).record, ())
        exact = equality(attribute, value) if is_known else None
        seen = map(view, self.query(name, [*conditions, *([exact] if exact else [])]))
        return [record for record in seen if values_equal(value, record.get(attribute))]

    def query(self, name: str, conditions: Iterable[str] = ()) -> list[Record]:
        """Return all records that meet the conditions, each ``<field><op><value>``."""
        return [record for page, dummy in self.pages(name, conditions) for record in page]

    def pages(
        self,
        name: str,
        conditions: Iterable[str] = (),
        page_size: int = PAGE_SIZE,
        limit: int | None = None,
        also: Mapping[str, Any] | None = None,
        connections: int = 1,
    ) -> Iterator[tuple[list[Record], int | None]]:
        """Yield the records of a query page by page, each with the total number, None if the service tells none.

        The list is complete or a VirtinfraError is raised: servers cut at 1000 without saying so, and may know no
        paging. When their number changes meanwhile, which may move some from a page to one that was read before, it is
        read again. Complete is what has as many records as the service counts; equal ones without a uuid count each.
        ``also`` are parameters besides the conditions; over several ``connections`` pages are read at once.
        """
        operation = get_operation(name)
        fields = RECORD_FIELDS.get(operation.record, ())
        sort = next((each for each in ("uuid", "topicUuid") if each in fields), None)
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
            for records, total in self._pass(operation, params, connections, limit):
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
            f"{name}: the number of records changed during each of {MAX_LIST_ATTEMPTS} attempts. List them again."
        )

    def _pass(
        self, operation: Operation, params: Record, connections: int, limit: int | None
    ) -> Iterator[tuple[list[Record], int | None]]:
        """Yield the pages of a query with their totals, from the first to the last, as the service has them."""

        def page(start: int) -> tuple[list[Record], int | None]:
            reply = self._get(operation, {**params, "start": start})
            return _records(reply, operation.name, operation.result[0]), _total(reply)

        records, total = page(0)
        yield records, total
        start, size, number = len(records), params["limit"], 1
        _check_page_count(operation.name, number, len(records), total, limit)
        if connections > 1 and total is not None and size == start < total:
            with ThreadPoolExecutor(connections) as pool:
                for answer in pool.map(page, range(size, total, size)):
                    records, total = answer
                    yield answer
                    start += len(records)
        while records and (start < total if total is not None else len(records) >= min(size, PAGE_SIZE)):
            records, total = page(start)
            yield records, total
            start, number = start + len(records), number + 1
            _check_page_count(operation.name, number, len(records), total, limit)

    def cursor(
        self,
        resource_type: str,
        filters: Iterable[str] = (),
        sort: str | None = None,
        order: str | None = None,
        page_size: int = PAGE_SIZE,
        limit: int | None = None,
    ) -> Iterator[tuple[list[Record], int | None]]:
        """Yield the records of a cursor query page by page, each with the total number.

        The list is complete or a VirtinfraError is raised; a cursor that repeats, expires or does not end is one.
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
            reply = self.get(name, params)
            records, total, following = _records(reply, name, "items"), _total(reply), reply.get("nextCursor")
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
                    f"the cursor for {resource_type} repeats itself after {len(seen)} records. List them again."
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
                f"the cursor for {resource_type} ended after {len(seen)} of {total} records. List them again."
            )

    # Details

    def _get(self, operation: Operation, params: Mapping[str, Any]) -> dict[str, Any]:
        request, auth = self._request(operation, params), self._auth(operation)
        until = self.wait.deadline if self._bounded else None
        answer = self._transport().send(request, operation.name, auth, deadline=until, slack=self.wait.interval)
        if answer.status == 202 and operation.name != "GetApiJob":
            raise ReadTakenForChange(operation.name, request.path, self._job_of(answer, operation.name))
        if answer.status in (404, 405) and answer.error is None:
            raise ReadNotSupported(f"the service does not offer {operation.name} (HTTP status {answer.status})")
        if answer.error is not None or not 200 <= answer.status < 300:
            credential = "api_token" if operation.uses_token else "session_id"
            raise ApiError(operation.name, answer.status, answer.error, answer.text(), credential)
        if answer.object is None:
            raise TransportError(
                f"the response to {operation.name} is not a JSON object: {answer.text() or 'it is empty'}."
                " Check base_url.",
                transient=False,
            )
        if self._mask_replies and may_hold_credentials(answer.body.decode("utf-8", "replace")):
            masked: dict[str, Any] = self._masker.value(answer.object)
            return masked
        return answer.object

    def _job_of(self, answer: Response, operation: str) -> Job | None:
        """Return the job that a 202 names, None if it names none."""
        location = (answer.object or {}).get("location") or answer.headers.get("Location")
        path, uuid = polling_path(location), extract_job_uuid(location)
        return Job(uuid, path or self.polling_path(uuid), operation) if uuid else None

    def _taken(self, job: Job, answer: Response) -> Job:
        """Return the job that the answer to a writing call tells of."""
        if answer.error_code is not None and answer.status not in INCONCLUSIVE_STATUSES:
            raise ApiError(job.operation, answer.status, answer.error)
        if answer.status == 202:
            told = (answer.object or {}).get("location") or answer.headers.get("Location")
            job.location = polling_path(told) or self.polling_path(extract_job_uuid(told) or job.uuid)
            job.uuid = job.location.rpartition("/")[2].partition("?")[0]
            return job
        if is_duplicate(answer):
            return job
        if answer.status in REFUSALS and answer.is_plain_text:
            raise ApiError(job.operation, answer.status, None, answer.text())
        reply = answer.object
        if 200 <= answer.status < 300 and reply is not None and get_operation(job.operation).is_reply(reply):
            job.state, job.result = SUCCEEDED, reply
            return job
        raise ResponseLost(
            f"{job.operation} returned HTTP status {answer.status} without a usable result:"
            f" {answer.text() or 'no body'}"
        )

    def _request(self, operation: Operation, params: Mapping[str, Any]) -> Request:
        version = self.connection.service_version
        if version and (reason := operation.unsupported_reason(params, version)):
            raise InvalidOptions(
                f"{reason}, but service_version is {version}. If the service is newer, correct service_version; to"
                " switch this check off, remove it (and VIRTINFRA_SERVICE_VERSION from the environment)"
            )
        return operation.request(params, self.connection.path_prefix)

    def _auth(self, operation: Operation) -> str:
        scheme, option = ("Bearer", "api_token") if operation.uses_token else ("OAuth", "session_id")
        value = getattr(self.connection, option)
        if not value:
            raise ReadNotSupported(
                f"{operation.name} needs {option} (or VIRTINFRA_{option.upper()} in the environment)"
            )
        return f"{scheme} {value}"

    def polling_path(self, uuid: str) -> str:
        """Return the path by which the job with this uuid is asked for."""
        return OPERATIONS["GetApiJob"].request({"uuid": uuid}, self.connection.path_prefix).path

    def _transport(self) -> Transport:
        """Return this thread's connection."""
        if not hasattr(self._local, "transport"):
            self._local.transport = Transport(
                self.connection, self._masker, self.clock, self.wait.on_progress, self._on_request, self._before_send
            )
            self._transports.append(self._local.transport)
        transport: Transport = self._local.transport
        return transport


def is_duplicate(answer: Response) -> bool:
    """Whether the service knows the job id of a call already."""
    return answer.status == 400 and answer.is_plain_text and answer.body.lstrip().startswith(b"Duplicate job uuid")


def _may_be_result(operation: str, reply: Mapping[str, Any]) -> bool:
    """Whether a JSON object can be the result of a job; of an operation that is not in the table, any can.

    Some servers leave out a result that is null, so ``{}`` can be that of each.
    """
    known = OPERATIONS.get(operation)
    return is_bare(reply) or (known.is_reply(reply) if known else is_success(reply))


def _records(reply: Mapping[str, Any], name: str, member: str = "inventories") -> list[Record]:
    """Return the records of a query's reply: a list or a single ``inventory``.

    Raises ReadNotSupported when it has neither: section "Notification" describes the success of one query as ``{}``.
    """
    if member not in reply and "inventory" not in reply:
        raise ReadNotSupported(f"the response to {name} has no {member}")
    found = reply.get(member, reply.get("inventory")) or []
    found = [found] if isinstance(found, dict) else found
    if not isinstance(found, list) or not all(isinstance(record, dict) for record in found):
        raise TransportError(f"the response to {name} has no list of records in {member}", transient=False)
    return found if member == "items" else validate_records(found, name)


def validate_records(records: list[Record], name: str) -> list[Record]:
    """Return the records that came with the answer to ``name``; TransportError when tasks could not rely on one."""
    if wrong := next(filter(None, map(find_invalid_member, records)), None):
        raise TransportError(f"the response to {name} has a record whose {wrong} has a wrong type", transient=False)
    return records


def _total(reply: Mapping[str, Any]) -> int | None:
    total = reply.get("total")
    return total if isinstance(total, int) and not isinstance(total, bool) and total >= 0 else None


def _split_by_novelty(records: list[Record], seen: set[str]) -> tuple[list[Record], list[Record]]:
    """Return the records of a page that were not seen before, which are remembered, and equal ones without a uuid.

    A record is known by its uuid, or else by all it holds. Equal ones on one page are several records; on another page
    they may be several, or the same that have moved.
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
    """Raise Failure when a list takes too many requests, after ``pages`` of them, the last with ``size`` records."""
    left = total or 0 if limit is None else min(total or 0, limit)
    if pages > MAX_PAGES or left > MAX_PAGES * max(size, 1):
        announced = f"the service announces {total} records and sends {size} at a time" if total else "it does not end"
        raise VirtinfraError(
            f"{label}: the list takes more than {MAX_PAGES} requests: {announced}. Set limit, or ask for less."
        )
