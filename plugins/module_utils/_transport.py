# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is PRIVATE to the collection. It can have breaking changes at any time.

"""How a request travels: connection, authentication, TLS, proxies, timeouts, retries, size limit."""

from __future__ import annotations

import json
import random
import re
import ssl
import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ansible_collections.virtinfra.manager.plugins.module_utils._errors import (
    AnswerLost,
    BadInput,
    TransportError,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._operations import Request

try:
    import requests
    import urllib3
    from requests.adapters import HTTPAdapter
except ImportError:
    REQUESTS_ERROR: str | None = traceback.format_exc()
    HTTPAdapter = object  # type: ignore[assignment, misc]
else:
    REQUESTS_ERROR = None

MEBIBYTE = 1024 * 1024
SIZE_LIMIT = 64 * MEBIBYTE
ERROR_SIZE_LIMIT = MEBIBYTE
CHUNK = 64 * 1024
HEADERS = {"Accept": "application/json", "Accept-Encoding": "gzip", "User-Agent": "virtinfra.manager"}

# The longest pause before a request is sent again, in seconds: a service that is overloaded is spared for longer.
PAUSE_UNREACHABLE = 2.0
PAUSE_OVERLOADED = 30.0

# How often a reading request is sent again when its answer is no JSON: it may have been cut, or base_url is wrong.
GARBLED_TRIES = 2


class Clock:
    """Time and chance, in one place so that tests can replace them; seconds of the monotonic clock."""

    monotonic = staticmethod(time.monotonic)
    sleep = staticmethod(time.sleep)
    random = staticmethod(random.random)


@dataclass(frozen=True)
class Connection:
    """Where the service is and how to talk to it: the options of the connection, already validated."""

    base_url: str
    path_prefix: str = "service"
    session_id: str | None = field(default=None, repr=False)
    api_token: str | None = field(default=None, repr=False)
    validate_certs: bool = True
    ca_path: str | None = None
    client_cert: str | None = None
    client_key: str | None = None
    use_proxy: bool = True
    request_timeout: float = 30
    request_retries: int = 8
    service_version: str | None = None

    def __post_init__(self) -> None:
        if not self.base_url:
            raise BadInput("base_url is required: the address of the service, for example https://manager.example.com")
        parts = urlsplit(self.base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise BadInput("base_url must look like https://manager.example.com:8080")
        if parts.path.strip("/") or parts.query or parts.username:
            raise BadInput("base_url is scheme, host and port only; what stands before /v1/ is the option path_prefix")
        if not 0 < self.request_timeout <= 3600:
            raise BadInput("request_timeout must be more than 0 and at most 3600 seconds")
        if not 0 <= self.request_retries <= 100:
            raise BadInput("request_retries must be from 0 to 100")
        for name in ("session_id", "api_token"):
            if not re.fullmatch(r"[\x21-\x7e]*", getattr(self, name) or ""):
                raise BadInput(f"{name} must be printable ASCII without blanks")

    @property
    def origin(self) -> str:
        """Scheme, host and port, without a slash at the end."""
        return self.base_url.rstrip("/")


@dataclass(frozen=True)
class Answer:
    """An HTTP answer: ``status``, ``headers`` and the undecoded ``body`` (cut at the size limit for errors)."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @cached_property
    def object(self) -> dict[str, Any] | None:
        """The body as a JSON object, whatever its Content-Type says; None when it is no such thing."""
        try:
            value = json.loads(self.body)
        except (ValueError, RecursionError):
            return None
        return value if isinstance(value, dict) else None

    @property
    def error(self) -> dict[str, Any] | None:
        """The ErrorCode in the body; None when there is none."""
        error = (self.object or {}).get("error")
        return error if isinstance(error, dict) and error else None

    def text(self) -> str:
        """Return the words of a body that is no JSON, markup taken out, at most 300 characters."""
        words = re.sub(
            r"(?is)<(script|style|title)\b.*?</\1>|<[^>]*>", " ", self.body[:20000].decode("utf-8", "replace")
        )
        return " ".join("".join(each if each.isprintable() else " " for each in words).split())[:300]


@lru_cache(maxsize=8)
def tls_context(validate: bool, ca_path: str | None, cert: str | None, key: str | None) -> ssl.SSLContext:
    """Return the TLS context for these options, made once per process: the default one takes 15 ms to build."""
    try:
        if ca_path is None:
            context = ssl.create_default_context()
        elif Path(ca_path).is_dir():
            context = ssl.create_default_context(capath=ca_path)
        else:
            context = ssl.create_default_context(cafile=ca_path)
    except (OSError, ssl.SSLError) as error:
        raise BadInput(f"ca_path {ca_path} cannot be used: {error}") from error
    if not validate:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if cert:
        try:
            # Without a password callback OpenSSL would ask for one at the terminal.
            context.load_cert_chain(cert, key, password=lambda: "")
        except (OSError, ssl.SSLError) as error:
            raise BadInput(f"client_cert {cert} with client_key {key or cert} cannot be used: {error}") from error
    return context


class _Adapter(HTTPAdapter):
    """An adapter whose TLS is decided by our context alone: neither requests nor the environment adds to it."""

    def __init__(self, context: ssl.SSLContext | None) -> None:
        self.context = context
        super().__init__(max_retries=0)

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, ssl_context=self.context, **kwargs)

    def proxy_manager_for(self, *args: Any, **kwargs: Any) -> Any:
        return super().proxy_manager_for(*args, ssl_context=self.context, **kwargs)

    def build_connection_pool_key_attributes(self, request: Any, verify: Any, cert: Any = None) -> Any:
        host, dummy = super().build_connection_pool_key_attributes(request, verify, cert)
        return host, {}

    def cert_verify(self, conn: Any, url: str, verify: Any, cert: Any) -> None:
        conn.cert_reqs = "CERT_REQUIRED" if verify else "CERT_NONE"


class Transport:
    """One connection to one service, kept alive for a task. Not for several threads at once."""

    def __init__(self, connection: Connection, clock: Any = Clock) -> None:
        self.connection = connection
        self.clock = clock
        self._session: Any = None

    def close(self) -> None:
        """Close the connection."""
        if self._session is not None:
            self._session.close()
            self._session = None

    def send(
        self,
        request: Request,
        what: str,
        auth: str | None = None,
        headers: Mapping[str, str] | None = None,
        deadline: float | None = None,
    ) -> Answer:
        """Send a request and return the answer, whatever its status, after sending again what surely may be.

        ``what`` names the operation for messages, ``auth`` is the Authorization header, ``deadline`` the moment of
        the clock after which nothing is sent again. Raises TransportError when no answer came, and AnswerLost when it
        was a writing request that the service may have taken.
        """
        safe = request.method == "GET"
        attempt = 0
        while True:
            last = attempt >= self.connection.request_retries
            try:
                answer = self._once(request, what, auth, headers)
                if last or not _ask_again(answer, safe):
                    return answer
                if answer.status == 200 and attempt >= GARBLED_TRIES:
                    return answer
                pause = self._pause(attempt, PAUSE_OVERLOADED, answer.headers.get("Retry-After", ""))
            except TransportError as error:
                if last or not error.transient or isinstance(error, AnswerLost):
                    raise
                pause = self._pause(attempt, PAUSE_UNREACHABLE)
                if deadline is not None and self.clock.monotonic() + pause > deadline:
                    raise
            else:
                if deadline is not None and self.clock.monotonic() + pause > deadline:
                    return answer
            self.clock.sleep(pause)
            attempt += 1

    def _pause(self, attempt: int, longest: float, retry_after: str = "") -> float:
        """Return the seconds before the next attempt: what the service asks for, or exponential with full jitter."""
        if re.fullmatch(r"\d{1,4}", retry_after):
            return int(retry_after) + float(self.clock.random())
        shortest = 0.1 if longest == PAUSE_UNREACHABLE else 0.5
        return float(min(longest, shortest * 2 ** min(attempt, 20)) * self.clock.random())

    def _once(self, request: Request, what: str, auth: str | None, headers: Mapping[str, str] | None) -> Answer:
        url = self.connection.origin + request.path
        sent = {**HEADERS, **(headers or {})}
        body = None
        if request.body is not None:
            sent["Content-Type"] = "application/json;charset=UTF-8"
            body = json.dumps(request.body).encode()
        if auth:
            sent["Authorization"] = auth
        safe = request.method == "GET"
        try:
            session = self._open()
            with session.request(
                request.method,
                url,
                params=request.query,
                data=body,
                headers=sent,
                timeout=self.connection.request_timeout,
                allow_redirects=False,
                stream=True,
                verify=self.connection.validate_certs,
                proxies=requests.utils.get_environ_proxies(url) if self.connection.use_proxy else {},
            ) as response:
                answer = self._read(response, what, safe)
        except requests.exceptions.RequestException as error:
            raise self._failure(what, error, safe) from None
        except (OSError, ValueError) as error:
            raise TransportError(f"{what} could not be sent: {error}", transient=False) from None
        if 300 <= answer.status < 400:
            target = urlsplit(answer.headers.get("Location", ""))
            place = f"{target.scheme}://{target.hostname}" if target.hostname else "another path"
            raise TransportError(
                f"{what} was redirected to {place}, which is not followed. Is base_url right?", transient=False
            )
        return answer

    def _open(self) -> Any:
        if self._session is None:
            options = self.connection
            session = requests.Session()
            # REQUESTS_CA_BUNDLE and .netrc would otherwise override ca_path, validate_certs and our credentials.
            session.trust_env = False
            secure = options.base_url.startswith("https:")
            key = (options.validate_certs, options.ca_path, options.client_cert, options.client_key)
            adapter = _Adapter(tls_context(*key) if secure else None)
            session.mount("https://", adapter)
            session.mount("http://", adapter)
            self._session = session
        return self._session

    def _read(self, response: Any, what: str, safe: bool) -> Answer:
        limit = SIZE_LIMIT if response.status_code < 300 else ERROR_SIZE_LIMIT
        until = self.clock.monotonic() + self.connection.request_timeout
        body = bytearray()
        for chunk in response.iter_content(CHUNK):
            body += chunk
            if len(body) > limit:
                if response.status_code >= 300:
                    break
                kind = TransportError if safe else AnswerLost
                raise kind(f"the answer to {what} is larger than {limit // MEBIBYTE} MiB", transient=False)
            if self.clock.monotonic() > until and len(body) < limit and not response.raw.closed:
                kind = TransportError if safe else AnswerLost
                raise kind(f"the answer to {what} took more than {self.connection.request_timeout:g} s")
        return Answer(response.status_code, response.headers, bytes(body[:limit]))

    def _failure(self, what: str, error: Exception, safe: bool) -> TransportError:
        """Turn an exception of requests into ours: a sentence without urls, headers or bodies."""
        where = self.connection.origin
        reasons = _reasons(error)
        reason, refused = reasons[-1], _before_sending(reasons)
        if isinstance(reason, ssl.SSLError) and refused:
            why = getattr(reason, "verify_message", "") or reason.reason or "the handshake failed"
            return TransportError(
                f"{what} could not be sent: TLS with {where} failed: {str(why).replace('_', ' ').lower()}"
                " (see validate_certs, ca_path and client_cert)",
                transient=False,
            )
        if isinstance(error, requests.exceptions.Timeout):
            sentence = f"{where} did not answer {what} within {self.connection.request_timeout:g} s"
        else:
            text = (
                getattr(reason, "strerror", None) or re.sub(r"<[^>]*>[:,]? ?", "", str(reason)) or type(reason).__name__
            )
            kind = "could not be reached" if refused else "broke the connection"
            sentence = f"{where} {kind} for {what}: {text}"
        if refused or safe:
            return TransportError(sentence)
        return AnswerLost(f"{sentence}; whether it was taken is not known")


def _ask_again(answer: Answer, safe: bool) -> bool:
    """Whether a request with this answer may be sent once more without a risk of doing anything twice."""
    if answer.status == 429:
        return True
    if answer.status == 503:
        return safe and answer.error is None
    return safe and (answer.status in (502, 504) or (answer.status == 200 and answer.object is None))


def _reasons(error: BaseException) -> list[BaseException]:
    """Return an exception and those that requests and urllib3 wrapped in it, the deepest last."""
    found = [error]
    while len(found) < 20:
        inside = [getattr(found[-1], "reason", None), *reversed(found[-1].args), found[-1].__cause__]
        inner = next((each for each in inside if isinstance(each, BaseException) and each not in found), None)
        if inner is None:
            break
        found.append(inner)
    return found


def _before_sending(reasons: list[BaseException]) -> bool:
    """Whether the request surely never reached the service."""
    if isinstance(reasons[-1], ssl.SSLError):
        return "EOF" not in (reasons[-1].reason or "EOF")
    kinds = (
        requests.exceptions.ConnectTimeout,
        urllib3.exceptions.ConnectTimeoutError,
        urllib3.exceptions.NewConnectionError,
        urllib3.exceptions.ProxyError,
    )
    return any(isinstance(each, kinds) for each in reasons)
