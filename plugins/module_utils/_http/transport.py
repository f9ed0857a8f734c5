# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is PRIVATE to the collection. It can have breaking changes at any time.

"""Send a request, and retry it if this cannot perform anything twice."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf
from urllib.parse import unquote, urlencode

from ansible.module_utils.basic import missing_required_lib

from .._api.errors import (
    InvalidOptions,
    ResponseLost,
    TransportError,
)
from .._api.operation import Request
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
from .hooks import Hooks
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


@dataclass(frozen=True)
class Limits:
    """The limits of a request: the number of its retries, and the time in which they are useful.

    Nothing is retried after ``deadline``, a time of the clock. A response may arrive ``slack`` seconds later.
    """

    retries: int
    deadline: float = inf
    slack: float = 0.0


class Transport:
    """One connection to one service, kept alive for a task. It must not be used by several threads at once."""

    def __init__(self, options: ConnectionOptions, hooks: Hooks) -> None:
        if not HAS_REQUESTS:
            raise InvalidOptions(missing_required_lib("requests", url="https://pypi.org/project/requests/"))
        self._options, self._hooks, self._clock = options, hooks, hooks.clock
        proxy = options.proxy()
        self._adapter = Adapter(options.tls_context(), proxy.geturl() if proxy else None)
        self._peer = options.origin + (f" (proxy {proxy.hostname}:{proxy.port or 80})" if proxy else "")
        password = (proxy and proxy.password) or ""
        self._masker = hooks.masker.with_secrets(password, unquote(password))

    def close(self) -> None:
        """Close the connection."""
        self._adapter.close()

    def send(
        self,
        request: Request,
        label: str,
        auth: str | None,
        headers: Mapping[str, str],
        limits: Limits,
    ) -> Response:
        """Send a request, retry it if this is safe, and return the response with any status.

        ``label`` names the operation in messages, ``auth`` is the Authorization header. Raise TransportError when there
        is no usable response, and its subclass ResponseLost for a write that the service may have processed.
        """
        attempt, begin, retries = 0, self._clock.monotonic(), limits.retries
        outage_end, max_outage = inf, max(MAX_OUTAGE, sum(_backoffs(CONNECT_BACKOFF, retries)))
        overload_end = begin + max(MAX_RETRY_AFTER, sum(_backoffs(OVERLOAD_BACKOFF, retries)))
        while True:
            last = attempt >= retries
            sent = self._clock.monotonic()
            self._hooks.before_send()
            try:
                seconds = self._timeout(limits), outage_end - sent
                response = self._send_once(request, label, auth, headers, *seconds)
                if last or not response.is_retryable(request.method == "GET", attempt):
                    return response
                reason = f"{label}: HTTP status {response.status}"
                wait = self._overload_backoff(attempt, response.retry_after())
                if self._clock.monotonic() + wait > min(overload_end, limits.deadline):
                    return response
                outage_end = inf
            except TransportError as error:
                outage_end = min(outage_end, sent + max_outage)
                now = self._clock.monotonic()
                wait, reason = min(self._connect_backoff(attempt), outage_end - now), str(error).rstrip(".")
                is_retryable = error.transient and not isinstance(error, ResponseLost)
                if last or wait <= 0 or now + wait > limits.deadline or not is_retryable:
                    if attempt:
                        error.message = f"{error.message.rstrip('.')}. {attempt + 1} attempts in {now - begin:.0f} s."
                    raise
            attempt += 1
            if wait >= REPORTED_WAIT:
                self._hooks.show_progress(f"{reason}; retry {attempt} of {retries} in {wait:.0f} s")
            self._clock.sleep(wait)

    def _timeout(self, limits: Limits) -> float:
        """Return the timeout of a request, in seconds."""
        remaining: float = max(limits.deadline - self._clock.monotonic(), 0)
        return min(self._options.request_timeout, remaining + limits.slack)

    def _connect_backoff(self, attempt: int) -> float:
        """Return the seconds before a retry without a response: exponential, up to 20 % less at random."""
        return _backoffs(CONNECT_BACKOFF, attempt + 1)[-1] * (0.8 + 0.2 * float(self._clock.random()))

    def _overload_backoff(self, attempt: int, retry_after: float) -> float:
        """Return the seconds before a retry: those that the service asks for, or exponential.

        Exponential waits are reduced by up to half at random. With shorter waits, one task among a hundred uses up its
        retries before the others have finished.
        """
        if retry_after:
            return retry_after + float(self._clock.random())
        return _backoffs(OVERLOAD_BACKOFF, attempt + 1)[-1] * (0.5 + 0.5 * float(self._clock.random()))

    def _send_once(
        self,
        request: Request,
        label: str,
        auth: str | None,
        headers: Mapping[str, str],
        seconds: float,
        connect_seconds: float,
    ) -> Response:
        target = f"{request.path}?{urlencode(request.query)}" if request.query else request.path
        sent = {**HEADERS, **headers}
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
                request.method, self._options.origin + target, sent, body, seconds, connect_seconds
            )
            response = replace(answer, masker=self._masker)
            outcome = str(response.status)
        except ConnectFailed as failure:
            raise connect_error(self._peer, label, failure.cause, self._reason(failure.cause)) from None
        except ExchangeFailed as failure:
            reason = self._reason(failure.cause)
            raise read_error(self._peer, label, failure.cause, reason, request.method, seconds) from None
        finally:
            if self._hooks.on_request:
                took = f"{(time.monotonic() - started) * 1000:.0f} ms"
                job = f", job {sent['X-Job-UUID']}" if "X-Job-UUID" in sent else ""
                self._hooks.log_request(f"{request.method} {self._shown_target(request)}: {outcome}, {took}{job}")
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
