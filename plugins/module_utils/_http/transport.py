# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is PRIVATE to the collection. It can have breaking changes at any time.

"""Send a request, and retry it if this cannot perform anything twice."""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from math import inf
from typing import Any
from urllib.parse import unquote, urlencode

from ansible.module_utils.basic import missing_required_lib

from .._api.errors import (
    InvalidOptions,
    ResponseLost,
    TransportError,
)
from .._api.operation import Request
from .._masking.masker import Masker
from .._masking.patterns import MASK, is_secret_name
from .._masking.terminal import make_printable
from .adapter import (
    HAS_REQUESTS,
    Adapter,
    ConnectFailed,
    ExchangeFailed,
)
from .connection import ConnectionOptions
from .failures import connect_error, read_error, rejected
from .response import Response

HEADERS = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "virtinfra.manager"}

# The first and the longest wait before a retry, in seconds; the waits in between double. With the default of 8 retries
# an unreachable service is retried for 36 to 45 seconds, which covers a restart; the waits for an overloaded service
# are longer.
CONNECT_BACKOFF = (0.2, 20.0)
OVERLOAD_BACKOFF = (0.5, 30.0)

# For how many seconds a request without a response is retried, including the time of the attempts. If the waits before
# all retries are longer than this in total, they are the limit.
MAX_OUTAGE = 45.0

# The time for a connection, in seconds: a firewall that drops packets must not use up the time for a slow response. The
# last retry has at least a second.
MAX_CONNECT_TIME = 10.0
MIN_CONNECT_TIME = 1.0

# For how many seconds a request is retried if the service asks for long waits. A response that asks for more is final.
MAX_RETRY_AFTER = 300.0

# A wait of at least so many seconds is reported as progress.
REPORTED_WAIT = 3.0


class Clock:
    """Time, in seconds of the monotonic clock, and random numbers, so that tests can replace them."""

    monotonic = staticmethod(time.monotonic)
    sleep = staticmethod(time.sleep)
    random = staticmethod(random.random)


class Transport:
    """One connection to one service, kept alive for a task. It must not be used by several threads at once.

    ``on_progress`` is called with a line before a long wait, ``on_request`` with a line for each request.
    ``before_send`` is called before each request and retry; an exception that it raises prevents the request.
    """

    def __init__(
        self,
        options: ConnectionOptions,
        masker: Masker,
        clock: Any = Clock,
        on_progress: Callable[[str], None] | None = None,
        on_request: Callable[[str], None] | None = None,
        before_send: Callable[[], None] = lambda: None,
    ) -> None:
        if not HAS_REQUESTS:
            raise InvalidOptions(missing_required_lib("requests", url="https://pypi.org/project/requests/"))
        self.options, self.clock = options, clock
        self._on_progress, self._on_request, self._before_send = on_progress, on_request, before_send
        proxy = options.proxy()
        self._adapter = Adapter(options.tls_context(), proxy.geturl() if proxy else None)
        self._peer = options.origin + (f" (proxy {proxy.hostname}:{proxy.port or 80})" if proxy else "")
        password = (proxy and proxy.password) or ""
        self._masker = masker.with_secrets(password, unquote(password))

    def close(self) -> None:
        """Close the connection."""
        self._adapter.close()

    def send(
        self,
        request: Request,
        label: str,
        auth: str | None = None,
        headers: Mapping[str, str] | None = None,
        deadline: float | None = None,
        slack: float = 0.0,
    ) -> Response:
        """Send a request, retry it if this is safe, and return the response with any status.

        ``label`` names the operation in messages, ``auth`` is the Authorization header, ``deadline`` the time of the
        clock after which nothing is retried, and ``slack`` how many seconds later a response may still arrive. Raise
        TransportError when there is no usable response, and its subclass ResponseLost for a write that the service may
        have processed.
        """
        attempt, begin, retries = 0, self.clock.monotonic(), self.options.request_retries
        outage_end, max_outage = inf, max(MAX_OUTAGE, sum(_backoffs(CONNECT_BACKOFF, retries)))
        overload_end = begin + max(MAX_RETRY_AFTER, sum(_backoffs(OVERLOAD_BACKOFF, retries)))
        end = inf if deadline is None else deadline
        while True:
            last = attempt >= retries
            sent = self.clock.monotonic()
            self._before_send()
            try:
                limits = self._time_limit(deadline, slack), outage_end - sent
                response = self._send_once(request, label, auth, headers, *limits)
                if last or not response.is_retryable(request.method == "GET", attempt):
                    return response
                reason = f"{label}: HTTP status {response.status}"
                wait = self._overload_backoff(attempt, response.retry_after())
                if self.clock.monotonic() + wait > min(overload_end, end):
                    return response
                outage_end = inf
            except TransportError as error:
                outage_end = min(outage_end, sent + max_outage)
                now = self.clock.monotonic()
                wait, reason = min(self._connect_backoff(attempt), outage_end - now), str(error).rstrip(".")
                if last or wait <= 0 or now + wait > end or not error.transient or isinstance(error, ResponseLost):
                    if attempt:
                        error.message = f"{error.message.rstrip('.')}. {attempt + 1} attempts in {now - begin:.0f} s."
                    raise
            attempt += 1
            if self._on_progress and wait >= REPORTED_WAIT:
                self._on_progress(f"{reason}; retry {attempt} of {retries} in {wait:.0f} s")
            self.clock.sleep(wait)

    def _time_limit(self, deadline: float | None, slack: float) -> float:
        """Return the timeout of a request, in seconds."""
        longest = self.options.request_timeout
        return longest if deadline is None else min(longest, max(deadline - self.clock.monotonic(), 0) + slack)

    def _connect_backoff(self, attempt: int) -> float:
        """Return the seconds before a retry without a response: exponential, up to 20 % less at random."""
        return _backoffs(CONNECT_BACKOFF, attempt + 1)[-1] * (0.8 + 0.2 * float(self.clock.random()))

    def _overload_backoff(self, attempt: int, retry_after: float) -> float:
        """Return the seconds before a retry: those that the service asks for, or exponential.

        Exponential waits are reduced by up to half at random. With shorter waits, one task among a hundred uses up its
        retries before the others have finished.
        """
        if retry_after:
            return retry_after + float(self.clock.random())
        return _backoffs(OVERLOAD_BACKOFF, attempt + 1)[-1] * (0.5 + 0.5 * float(self.clock.random()))

    def _send_once(
        self,
        request: Request,
        label: str,
        auth: str | None,
        headers: Mapping[str, str] | None,
        seconds: float,
        connect_seconds: float,
    ) -> Response:
        target = f"{request.path}?{urlencode(request.query)}" if request.query else request.path
        sent = {**HEADERS, **(headers or {})}
        body = None
        if request.body is not None:
            sent["Content-Type"] = "application/json;charset=UTF-8"
            body = json.dumps(request.body).encode()
        if auth:
            sent["Authorization"] = auth
        started, outcome = time.monotonic(), "no response"
        connect_seconds = min(MAX_CONNECT_TIME, max(MIN_CONNECT_TIME, connect_seconds))
        try:
            answer = self._adapter.exchange(
                request.method, self.options.origin + target, sent, body, seconds, connect_seconds
            )
            response = replace(answer, masker=self._masker)
            outcome = str(response.status)
        except ConnectFailed as failure:
            raise connect_error(self._peer, label, failure.cause, self._reason(failure.cause)) from None
        except ExchangeFailed as failure:
            reason = self._reason(failure.cause)
            raise read_error(self._peer, label, failure.cause, reason, request.method, seconds) from None
        finally:
            if self._on_request:
                took = f"{(time.monotonic() - started) * 1000:.0f} ms"
                job = f", job {sent['X-Job-UUID']}" if "X-Job-UUID" in sent else ""
                self._on_request(f"{request.method} {self._shown_target(request)}: {outcome}, {took}{job}")
        if 300 <= response.status < 400 or response.is_complaint_about_tls:
            raise rejected(self._peer, label, response, request.method)
        return response

    def _reason(self, error: BaseException) -> str:
        if of_system := getattr(error, "strerror", None):
            return str(of_system)
        # It may quote the response of the service.
        return make_printable(self._masker.mask_text(str(error)))[:300] or type(error).__name__

    def _shown_target(self, request: Request) -> str:
        """Return the path and the query of a request for the log, without secret values."""
        shown = []
        for name, value in request.query:
            value = MASK if is_secret_name(name) else re.sub(r"(?s)^(url\W+).*", rf"\1{MASK}", value)
            shown.append(f"{name}={value}")
        return make_printable(self._masker.mask_text("?".join(filter(None, (request.path, "&".join(shown))))))


def _backoffs(limits: tuple[float, float], retries: int) -> list[float]:
    """Return the waits before this number of retries, in seconds, without the part that is random."""
    first, longest = limits
    return [min(longest, first * 2 ** min(attempt, 20)) for attempt in range(retries)]
