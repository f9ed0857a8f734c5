"""Send a request, and retry it if a retry cannot perform it twice."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode

from ansible.module_utils.basic import missing_required_lib

from .._api.errors import (
    InvalidOptions,
    ResponseLost,
    TransportError,
)
from .._api.operation import Request
from .._masking.masker import list_url_secrets
from .._masking.patterns import MASK, is_secret_name
from .._masking.terminal import make_printable
from .adapter import (
    HAS_REQUESTS,
    Adapter,
    AdapterPool,
    ConnectFailed,
    ExchangeFailed,
    has_socks,
)
from .connection import Authorization, ConnectionOptions, require_files
from .hooks import HttpHooks
from .response import Response

if TYPE_CHECKING:
    from .failures import Peer

HEADERS = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "virtinfra.manager"}

# The first and the longest wait before a retry, in seconds; the waits in between double. With the default of 8 retries
# an unreachable service is retried for 36 to 45 seconds, which covers a restart; the waits for an overloaded service
# are longer.
CONNECT_BACKOFF = (0.2, 20.0)
OVERLOAD_BACKOFF = (0.5, 30.0)

# For how many seconds a request without a response is retried, including the time of the attempts. If the waits before
# all retries take longer, their sum is the limit.
MAX_OUTAGE = 45.0

# The time for a connection, in seconds: a firewall that drops packets must not use up the time for a slow response. The
# last retry has at least a second.
MAX_CONNECT_TIME = 10.0
MIN_CONNECT_TIME = 1.0

# For how many seconds a request is retried if the service asks for long waits. A response that asks for more is final.
MAX_RETRY_AFTER = 300.0

# The shortest wait, in seconds, that is reported as progress.
REPORTED_WAIT = 3.0


class Limits(NamedTuple):
    """The limits of a request: the number of its retries, and the time in which they are useful.

    Nothing is retried after ``deadline``, a time of the clock. A response may arrive ``slack`` seconds later.
    ``before_retry`` is called after the wait before each retry of a write; an exception that it raises prevents it.
    """

    retries: int
    deadline: float = inf
    slack: float = 0.0
    before_retry: Callable[[], object] | None = None


class Retries:
    """The retries of one request: whether there is another one, and after which wait."""

    def __init__(self, limits: Limits, clock: Any) -> None:
        self._limits, self._clock = limits, clock
        self.attempts = 0
        self._begin = clock.monotonic()
        self._max_outage = max(MAX_OUTAGE, sum(_compute_backoffs(CONNECT_BACKOFF, limits.retries)))
        self._overload_end = self._begin + max(
            MAX_RETRY_AFTER, sum(_compute_backoffs(OVERLOAD_BACKOFF, limits.retries))
        )
        self._outage_end = inf

    @property
    def remaining_outage(self) -> float:
        """The seconds, from the begin of the attempt, for which a request without a response is retried."""
        return self._outage_end - self._sent

    def begin_attempt(self) -> None:
        """Count an attempt."""
        self.attempts += 1
        self._sent: float = self._clock.monotonic()

    def choose_wait_after_response(self, response: Response, is_read: bool, is_poll: bool = False) -> float | None:
        """Return the seconds before the next attempt, None if the response is final."""
        if self._is_last or not response.is_retryable(is_read, self.attempts - 1, is_poll):
            return None
        if response.is_of_starting_server:
            wait = self._connect_backoff()
        else:
            wait = self._compute_overload_backoff(response.read_retry_after())
        if self._clock.monotonic() + wait > min(self._overload_end, self._limits.deadline):
            return None
        self._outage_end = inf
        return wait

    def choose_wait_after_error(self, error: TransportError) -> float | None:
        """Return the seconds before the next attempt, None if the error is final."""
        self._outage_end = min(self._outage_end, self._sent + self._max_outage)
        now = self._clock.monotonic()
        wait: float = min(self._connect_backoff(), self._outage_end - now)
        is_in_time = wait > 0 and now + wait <= self._limits.deadline
        is_retryable = error.transient and not isinstance(error, ResponseLost)
        return wait if is_in_time and is_retryable and not self._is_last else None

    def describe_attempts(self, error: TransportError) -> None:
        """Add the number of attempts to the message of the last error."""
        if self.attempts > 1:
            seconds = self._clock.monotonic() - self._begin
            error.add_sentence(f" {self.attempts} attempts in {seconds:.0f} s.")

    @property
    def _is_last(self) -> bool:
        """Whether no retry is left."""
        return self.attempts > self._limits.retries

    def _connect_backoff(self) -> float:
        """Return the seconds before a retry without a response: exponential, up to 20 % less at random."""
        return _compute_backoffs(CONNECT_BACKOFF, self.attempts)[-1] * (0.8 + 0.2 * float(self._clock.random()))

    def _compute_overload_backoff(self, retry_after: float) -> float:
        """Return the seconds before a retry: those that the service asks for, or exponential.

        Exponential waits are reduced by up to half at random. With shorter waits, one task among a hundred uses up its
        retries before the others have finished.
        """
        if retry_after:
            return retry_after + float(self._clock.random())
        return _compute_backoffs(OVERLOAD_BACKOFF, self.attempts)[-1] * (0.5 + 0.5 * float(self._clock.random()))


class Transport:
    """Sends requests to one service, over the connections of ``pool``. Several threads may use it."""

    def __init__(self, options: ConnectionOptions, hooks: HttpHooks, pool: AdapterPool) -> None:
        if not HAS_REQUESTS:
            raise InvalidOptions(missing_required_lib("requests", url="https://pypi.org/project/requests/"))
        self._options, self._hooks, self._clock = options, hooks, hooks.clock
        self._pool = pool
        self._proxy = proxy = options.proxy
        if proxy and proxy.needs_socks and not has_socks():
            reason = f"for the {proxy.url.partition(':')[0]} proxy {proxy.address}"
            raise InvalidOptions(missing_required_lib("PySocks", reason, "https://pypi.org/project/PySocks/"))
        require_files(ca_path=options.ca_path, client_cert=options.client_cert, client_key=options.client_key)
        self._context = options.build_tls_context()
        self._is_plain = not (self._context or proxy)
        self._masker = hooks.masker
        if proxy:
            secrets = list_url_secrets(proxy.url)
            # Only requests know the proxy of the environment, so only what they report can contain its password.
            self._masker = hooks.masker.with_secrets(*secrets)
            if options.proxy_url:
                hooks.masker.add(*secrets)

    def send(
        self,
        request: Request,
        label: str,
        auth: Authorization,
        headers: Mapping[str, str],
        limits: Limits,
        is_poll: bool = False,
    ) -> Response:
        """Send a request, retry it if this is safe, and return the response with any status.

        ``label`` names the operation in messages. With an access key, each attempt is signed. ``is_poll`` says that an
        error of the service may be that of a job. Raise TransportError when there is no usable response, and its
        subclass ResponseLost for a write that the service may have processed.
        """
        retries = Retries(limits, self._clock)
        while True:
            retries.begin_attempt()
            self._hooks.before_send()
            timeouts = self._compute_timeout(limits), retries.remaining_outage
            is_repeatable = request.method == "GET" and limits.retries > 0
            try:
                response = self._send_once(request, label, auth, headers, *timeouts, is_repeatable)
            except TransportError as error:
                wait, reason = retries.choose_wait_after_error(error), str(error).rstrip(".")
                if wait is None:
                    retries.describe_attempts(error)
                    raise
            else:
                wait = retries.choose_wait_after_response(response, request.method == "GET", is_poll)
                reason = f"{label}: HTTP status {response.status}"
                if wait is None:
                    return response
            if wait >= REPORTED_WAIT:
                self._hooks.show_progress(f"{reason}; retry {retries.attempts} of {limits.retries} in {wait:.0f} s")
            self._clock.sleep(wait)
            if limits.before_retry and request.method != "GET":
                limits.before_retry()

    def _compute_timeout(self, limits: Limits) -> float:
        """Return the timeout of a request, in seconds."""
        remaining: float = max(limits.deadline - self._clock.monotonic(), 0)
        return min(self._options.request_timeout, remaining + limits.slack)

    def _send_once(
        self,
        request: Request,
        label: str,
        auth: Authorization,
        headers: Mapping[str, str],
        seconds: float,
        connect_seconds: float,
        is_repeatable: bool,
    ) -> Response:
        sent, body = _encode_request(request, auth, headers)
        target = f"{request.path}?{urlencode(request.query)}" if request.query else request.path
        connect_seconds = min(MAX_CONNECT_TIME, max(MIN_CONNECT_TIME, connect_seconds))
        started, status = time.monotonic(), "no response"
        try:
            with self._pool.borrow((self._options, self._proxy), self._create_adapter) as adapter:
                response = adapter.exchange(
                    request.method,
                    self._options.origin,
                    target,
                    sent,
                    body,
                    seconds,
                    connect_seconds,
                    is_repeatable,
                )
            response = replace(response, masker=self._masker)
            status = str(response.status)
        except ExchangeFailed as failure:
            raise self._build_error(failure, label, request.method, seconds, adapter.has_answered) from None
        finally:
            if self._hooks.on_request:
                milliseconds = (time.monotonic() - started) * 1000
                job = f", job {sent['X-Job-UUID']}" if "X-Job-UUID" in sent else ""
                target = self._mask_target(request)
                self._hooks.log_request(f"{request.method} {target}: {status}, {milliseconds:.0f} ms{job}")
        if self._proxy and response.status == 407 and not self._context:
            from .failures import build_proxy_login_error

            raise build_proxy_login_error(self._peer, label, f"HTTP status 407: {response.format_text()}")
        is_of_gateway = response.is_complaint_about_tls or response.demands_certificate or response.gateway_login
        if 300 <= response.status < 400 or is_of_gateway:
            from .failures import build_rejection_error

            raise build_rejection_error(self._peer, label, response, request.method)
        return response

    def _build_error(
        self, failure: ExchangeFailed, label: str, method: str, seconds: float, has_answered: bool
    ) -> TransportError:
        """Return the error of a request without a usable response.

        ``has_answered`` says whether the service has answered an earlier request over this connection.
        """
        # A module process without an error does not load the code that explains errors.
        from .failures import build_connect_error, is_for_other_name, may_be_of_tls, read_error

        cause, reason = failure.cause, self._describe_cause(failure.cause)
        if isinstance(failure, ConnectFailed):
            looks_at_names = is_for_other_name(cause) and not self._proxy
            names = self._options.list_certificate_names() if looks_at_names else ()
            return build_connect_error(self._peer, label, cause, reason, names)
        may_be_tls_port = self._is_plain and not has_answered and may_be_of_tls(cause)
        is_tls_port = may_be_tls_port and self._options.is_tls_port()
        return read_error(self._peer, label, cause, reason, method, seconds, is_tls_port)

    @property
    def _peer(self) -> Peer:
        """The service, and the proxy before it, for messages."""
        from .failures import Peer

        proxy = self._proxy
        if not proxy:
            return Peer(self._options.origin)
        return Peer(self._options.origin, proxy.address, proxy.source, proxy.url.startswith("socks5:"))

    def _create_adapter(self) -> Adapter:
        if not self._proxy:
            return Adapter(self._context)
        return Adapter(self._context, self._proxy.url, self._options.build_proxy_tls_context(self._proxy))

    def _describe_cause(self, error: BaseException) -> str:
        """Return the printable text of an exception of Python."""
        if system_message := getattr(error, "strerror", None):
            return str(system_message)
        # The text of an exception may quote the response of the service.
        return make_printable(self._masker.mask_text(str(error)))[:300] or type(error).__name__

    def _mask_target(self, request: Request) -> str:
        """Return the path and the query of a request for the log, without secret values."""
        pairs = []
        for name, value in request.query:
            masked = MASK if is_secret_name(name) else re.sub(r"(?s)^(url\W+).*", rf"\1{MASK}", value)
            pairs.append(f"{name}={masked}")
        return make_printable(self._masker.mask_text("?".join(filter(None, (request.path, "&".join(pairs))))))


def _encode_request(
    request: Request, auth: Authorization, headers: Mapping[str, str]
) -> tuple[dict[str, str], bytes | None]:
    """Return all headers and the body of a request."""
    sent = {**HEADERS, **headers}
    if isinstance(auth, str):
        sent["Authorization"] = auth
    elif auth:
        sent.update(auth.sign(request.method, request.path))
    if request.body is None:
        return sent, None
    return {**sent, "Content-Type": "application/json;charset=UTF-8"}, json.dumps(request.body).encode()


@lru_cache(maxsize=256)
def _compute_backoffs(limits: tuple[float, float], retries: int) -> tuple[float, ...]:
    """Return the waits before this number of retries, in seconds, without the part that is random."""
    first, longest = limits
    return tuple(min(longest, first * 2 ** min(attempt, 20)) for attempt in range(retries))
