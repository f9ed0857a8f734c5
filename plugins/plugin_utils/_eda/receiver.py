"""The webhook receiver: accept, confirm and queue job results, and reject everything else."""

from __future__ import annotations

import asyncio
import hmac
import logging
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from typing import Any

from ...module_utils._api.errors import InvalidOptions, TransportError
from ...module_utils._client.client import Client
from ...module_utils._client.jobs import RUNNING, UNKNOWN, Job, format_job_path
from ...module_utils._http.webhooks import is_signed
from .collected import MOST_MEMBERS, Collected, collect
from .job_events import InvalidPost, JobPost, build_list_event, read_post, shorten_result
from .listener import Refusals, open_listener
from .source import deliver_event
from .store import Spool

try:
    from aiohttp import web
except ImportError:
    HAS_AIOHTTP = False
else:
    HAS_AIOHTTP = True

# The timeouts, in seconds, for a post to arrive, and for the response to the poll that confirms it.
BODY_TIMEOUT = 30.0
CONFIRM_TIMEOUT = 10.0


class Receiver:
    """Receives posts, stores them in a spool and delivers them to the rules, each job once.

    ``options`` are those of the source. ``client`` confirms results, None if they need not be confirmed.
    """

    def __init__(self, options: Mapping[str, Any], spool: Spool, client: Client | None, log: logging.Logger) -> None:
        self._options, self._spool, self._client = options, spool, client
        self._arrived, self._full = asyncio.Event(), asyncio.Event()
        self._confirming: set[str] = set()
        self._log, self.refusals = log, Refusals(log)

    async def handle(self, request: web.Request) -> web.Response:
        """Respond to a post, whatever it contains. The service posts again, for half a minute, unless it is accepted.

        The reason of a refusal is only logged, not sent.
        """
        try:
            await self._receive(request)
            return web.Response(status=web.HTTPNoContent.status_code)
        except web.HTTPRequestEntityTooLarge as refusal:
            return self._refuse(request, refusal.status, "the body is larger than body_limit")
        except web.HTTPException as refusal:
            return self._refuse(request, refusal.status, str(refusal.text), refusal.__cause__)
        except asyncio.TimeoutError:
            return self._refuse(request, web.HTTPRequestTimeout.status_code, "the body did not arrive in time")
        except Exception as error:
            reason = f"the post could not be handled: {type(error).__name__}"
            return self._refuse(request, web.HTTPInternalServerError.status_code, reason, error)

    async def _receive(self, request: web.Request) -> None:
        """Add the result of a post to the spool, unless it was added before."""
        self._check_sender(request)
        self._check_room()
        body = await asyncio.wait_for(request.read(), BODY_TIMEOUT)
        try:
            post = read_post(request.headers, body, request.raw_path)
        except InvalidPost as mistake:
            raise web.HTTPBadRequest(text=str(mistake)) from None
        post = self._check_context(post, request.raw_path)
        if self._client and not self._spool.knows(post.job.uuid):
            post = await self._confirm(post, self._client)
        # No await from here on, so that no second delivery can interfere.
        self._check_room()
        if self._spool.add(post.job.uuid, post.build_event()):
            self._arrived.set()
            self._check_whether_full()

    def _check_sender(self, request: web.Request) -> None:
        if not _are_equal(request.path, self._options["path"]):
            raise web.HTTPNotFound(text="wrong path")
        token = self._options["token"]
        if token and not _are_equal(request.headers.get("Authorization", ""), f"Bearer {token}"):
            raise web.HTTPUnauthorized(text="wrong or missing token")
        if request.method != "POST":
            raise web.HTTPMethodNotAllowed(request.method, ["POST"], text="not a POST")

    def _check_context(self, post: JobPost, target: str) -> JobPost:
        """Return the post without the members that would remain unconfirmed although results are confirmed."""
        key = self._options["webhook_key"]
        if key and not is_signed(target, post.job.uuid, key):
            raise web.HTTPForbidden(text="the signature in the URL is missing or wrong")
        if not self._client:
            return post
        return replace(post, batch=None) if key else post.drop_context()

    def _check_room(self) -> None:
        if self._spool.pending >= self._options["buffer_size"]:
            raise web.HTTPServiceUnavailable(text="the buffer is full; the service posts the result again")

    async def _confirm(self, post: JobPost, client: Client) -> JobPost:
        """Return the post with the result of a poll instead of the posted result."""
        uuid = post.job.uuid
        if uuid in self._confirming:
            raise web.HTTPServiceUnavailable(text="the same result is being confirmed")
        self._confirming.add(uuid)
        job = Job(uuid, format_job_path(uuid, client.connection.path_prefix), sent_uuid=uuid, is_guessed=True)
        try:
            deadline = client.hooks.clock.monotonic() + CONFIRM_TIMEOUT
            await asyncio.to_thread(client.with_deadline(deadline).poll, job)
        except TransportError as error:
            raise web.HTTPServiceUnavailable(text="the result could not be confirmed") from error
        finally:
            self._confirming.discard(uuid)
        if job.state == RUNNING:
            raise web.HTTPForbidden(text="not confirmed: the job is still running")
        if job.state == UNKNOWN:
            raise web.HTTPForbidden(text="not confirmed: the service does not know the job")
        job.operation = post.job.operation
        return replace(post, job=job)

    def _refuse(
        self, request: web.Request, status: int, reason: str, error: BaseException | None = None
    ) -> web.Response:
        """Log why a post is refused, with the error that was the cause, and return a response without the reason."""
        self.refusals.add(reason, request.remote, detail=str(error or ""))
        return web.Response(status=status)

    async def forward(self, queue: asyncio.Queue[Any]) -> None:
        """Deliver the results in the spool to the rules, forever."""
        while True:
            self._arrived.clear()
            self._full.clear()
            if not self._spool.pending:
                await self._arrived.wait()
            if self._options["collect_seconds"] is None:
                await self._forward_each(queue)
            else:
                await self._forward_collected(queue, self._options["collect_seconds"])

    async def _forward_each(self, queue: asyncio.Queue[Any]) -> None:
        """Deliver an event for each result in the spool."""
        for number, event in self._spool.read():
            await deliver_event(queue, event)
            self._spool.remove([number])

    async def _forward_collected(self, queue: asyncio.Queue[Any], seconds: float) -> None:
        """Wait for further results, and deliver all of them in as few events as their size permits."""
        self._check_whether_full()
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._full.wait(), seconds)
        for collected in collect(self._spool.read(), shorten_result):
            self._report_shortened(collected)
            await deliver_event(queue, build_list_event(collected.members, collected.shortened))
            self._spool.remove(collected.keys)

    def _check_whether_full(self) -> None:
        """End the wait for further results when an event has no room for more, or the buffer."""
        if self._spool.pending >= min(MOST_MEMBERS, self._options["buffer_size"]):
            self._full.set()

    def _report_shortened(self, collected: Collected[int]) -> None:
        if collected.shortened:
            self._log.warning(
                "%d of %d results are shortened: they are too large for one event",
                collected.shortened,
                len(collected.members),
            )


@asynccontextmanager
async def listen(receiver: Receiver, options: Mapping[str, Any], context: ssl.SSLContext | None) -> AsyncIterator[None]:
    """Listen for posts. Raise InvalidOptions when the address cannot be used."""
    address, limits = (options["host"], options["port"]), (options["body_limit"], options["max_connections_per_peer"])
    async with AsyncExitStack() as stack:
        try:
            await stack.enter_async_context(
                open_listener(receiver.handle, address, context, *limits, receiver.refusals)
            )
        except OSError as error:
            raise InvalidOptions(f"cannot listen on {address[0]} port {address[1]}: {error}") from None
        yield


def _are_equal(text: str, secret: str) -> bool:
    """Compare strings in constant time."""
    return hmac.compare_digest(text.encode("utf-8", "replace"), secret.encode("utf-8", "replace"))
