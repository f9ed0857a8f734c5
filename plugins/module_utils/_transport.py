# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is PRIVATE to the collection. It can have breaking changes at any time.

"""How a request travels: connection, authentication, TLS, proxies, timeouts, retries, size limit."""

from __future__ import annotations

import base64
import http.client
import io
import json
import os
import random
import re
import selectors
import socket
import ssl
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, unquote, urlencode, urlsplit

from ansible_collections.virtinfra.manager.plugins.module_utils._errors import (
    AnswerLost,
    BadInput,
    TransportError,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._operations import Request
from ansible_collections.virtinfra.manager.plugins.module_utils._records import (
    RESERVED_KEY_PREFIX,
    rename_reserved_keys,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._secrets import forms

MEBIBYTE = 1024 * 1024
SIZE_LIMIT = 64 * MEBIBYTE
ERROR_SIZE_LIMIT = MEBIBYTE
CHUNK = 64 * 1024
HEADERS = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "virtinfra.manager"}

# The longest pause before a request is sent again, in seconds: a service that is overloaded is spared for longer.
PAUSE_UNREACHABLE = 2.0
PAUSE_OVERLOADED = 30.0

# The longest pause that the service may ask for, in seconds; where it asks for a longer one, the answer is a failure.
PAUSE_ASKED_FOR = 300.0

# How deep an answer may be nested. Ansible itself gives up soon after that.
DEEPEST = 100

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
    service_version: Any = None

    def __post_init__(self) -> None:
        if not self.base_url:
            raise BadInput("base_url is required: the address of the service, for example https://manager.example.com")
        try:
            parts = urlsplit(self.base_url)
            dummy = parts.port, str(parts.hostname).encode("idna")
        except ValueError as error:
            raise BadInput(f"base_url cannot be used: {error}") from None
        if parts.scheme not in ("http", "https") or not parts.hostname or re.search(r"\s", self.base_url):
            raise BadInput("base_url must look like https://manager.example.com:8080")
        if parts.path.strip("/") or parts.query or parts.username:
            raise BadInput("base_url is scheme, host and port only; what stands before /v1/ is the option path_prefix")
        if not 0 < self.request_timeout <= 3600:
            raise BadInput("request_timeout must be more than 0 and at most 3600 seconds")
        if not 0 <= self.request_retries <= 100:
            raise BadInput("request_retries must be from 0 to 100")
        if not re.fullmatch(r"[\w./~%-]*", self.path_prefix, re.ASCII):
            raise BadInput("path_prefix must be made of letters, digits and . / _ ~ % -")
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
    headers: http.client.HTTPMessage
    body: bytes

    @cached_property
    def object(self) -> dict[str, Any] | None:
        """The body as a JSON object, whatever its Content-Type says; None when it is no such thing."""
        try:
            value = json.loads(self.body.decode("utf-8-sig"), parse_constant=_refused)
        except (ValueError, RecursionError):
            return None
        if not isinstance(value, dict) or _too_deep(value):
            return None
        if re.search(rb"\\u[dD]", self.body):
            # Half of a surrogate pair is no character: it could not be written anywhere.
            value = json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
        if RESERVED_KEY_PREFIX.encode() in self.body or re.search(rb"\\u00[567]", self.body):
            # The letters of a key may be written as escapes.
            value = rename_reserved_keys(value)
        return dict(value)

    @property
    def error(self) -> dict[str, Any] | None:
        """The ErrorCode in the body; None when there is none."""
        reply = self.object or {}
        error = reply.get("error")
        if isinstance(error, dict) and error:
            return error
        if self.status < 300 and (error or reply.get("success") is False):
            return {"details": str(error or "the service says only that it did not succeed")}
        return None

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
            # OpenSSL finds those alone that bear the name of their hash; people put files of any name there.
            for file in sorted(Path(ca_path).glob("*.[cp][er][rtm]")):
                context.load_verify_locations(file)
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


def _refused(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def _too_deep(value: dict[str, Any]) -> bool:
    level: list[Any] = [value]
    for dummy in range(DEEPEST):
        children = (each.values() if isinstance(each, dict) else each for each in level)
        level = [child for each in children for child in each if isinstance(child, (dict, list))]
        if not level:
            return False
    return True


class _Timed(io.RawIOBase):
    """What a connection brings while ``left`` tells the seconds that are left: each single byte may come in time."""

    def __init__(self, connection: socket.socket, raw: io.RawIOBase, left: Callable[[], float]) -> None:
        self._connection, self._raw, self._left = connection, raw, left

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int | None:
        """Read what is there into a buffer, or wait for it; TimeoutError when the time is up."""
        self._connection.settimeout(self._left())
        return self._raw.readinto(buffer)

    def close(self) -> None:
        """Close the connection's file."""
        self._raw.close()
        super().close()


def _timed_response(left: Callable[[], float], connection: socket.socket, **more: Any) -> http.client.HTTPResponse:
    """Return a response of http.client that has to be read within a time."""
    response = http.client.HTTPResponse(connection, **more)
    response.fp = io.BufferedReader(_Timed(connection, response.fp.detach(), left))
    return response


class Transport:
    """One connection to one service, kept alive for a task. Not for several threads at once."""

    def __init__(self, connection: Connection, clock: Any = Clock) -> None:
        self.connection = connection
        self.clock = clock
        self._http: http.client.HTTPConnection | None = None
        self._until = 0.0

    def close(self) -> None:
        """Close the connection."""
        if self._http is not None:
            self._http.close()
            self._http = None

    def send(
        self,
        request: Request,
        what: str,
        auth: str | None = None,
        headers: Mapping[str, str] | None = None,
        deadline: float | None = None,
        slack: float = 0.0,
    ) -> Answer:
        """Send a request and return the answer, whatever its status, after sending again what surely may be.

        ``what`` names the operation for messages, ``auth`` is the Authorization header, ``deadline`` the moment of
        the clock after which nothing is sent again, and ``slack`` how many seconds an answer may come after that.
        Raises TransportError when no answer came, and AnswerLost when it was a writing request that the service may
        have taken.
        """
        safe = request.method == "GET"
        attempt = 0
        while True:
            last = attempt >= self.connection.request_retries
            try:
                self._until = time.monotonic() + self._allowed(deadline, slack)
                answer = self._once(request, what, auth, headers)
                if last or not _ask_again(answer, safe):
                    return answer
                if answer.status == 200 and attempt >= GARBLED_TRIES:
                    return answer
                asked = _asked_to_wait(answer)
                if asked > PAUSE_ASKED_FOR:
                    return answer
                pause = self._pause(attempt, PAUSE_OVERLOADED, asked)
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

    def _allowed(self, deadline: float | None, slack: float) -> float:
        """Return how many seconds a request may take from now on."""
        longest = self.connection.request_timeout
        return longest if deadline is None else min(longest, max(deadline - self.clock.monotonic(), 0) + slack)

    def _left(self) -> float:
        """Return how many seconds are left of the request's time; TimeoutError when it is up."""
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        return left

    def _pause(self, attempt: int, longest: float, asked: float = 0.0) -> float:
        """Return the seconds before the next attempt: what the service asks for, or exponential with full jitter."""
        if asked:
            return asked + float(self.clock.random())
        shortest = 0.1 if longest == PAUSE_UNREACHABLE else 0.5
        return float(min(longest, shortest * 2 ** min(attempt, 20)) * self.clock.random())

    def _once(self, request: Request, what: str, auth: str | None, headers: Mapping[str, str] | None) -> Answer:
        target = f"{request.path}?{urlencode(request.query)}" if request.query else request.path
        sent = {**HEADERS, **(headers or {})}
        body = None
        if request.body is not None:
            sent["Content-Type"] = "application/json;charset=UTF-8"
            body = json.dumps(request.body).encode()
        if auth:
            sent["Authorization"] = auth
        try:
            connection = self._connected()
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise self._not_sent(what, error) from None
        try:
            connection.request(request.method, self._seen_by_proxy(target, sent), body, sent)
            answer = self._read(connection.getresponse())
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.close()
            raise self._not_answered(what, error, request.method == "GET") from None
        if 300 <= answer.status < 400:
            place = "another path"
            with suppress(ValueError):
                parts = urlsplit(answer.headers.get("Location", ""))
                place = f"{parts.scheme}://{parts.hostname}" if parts.hostname else place
            raise TransportError(
                f"{what} was redirected to {place}, which is not followed. Is base_url right?", transient=False
            )
        return answer

    def _connected(self) -> http.client.HTTPConnection:
        """Return the open connection, a new one when the service has closed the last."""
        if self._http is not None and (self._http.sock is None or _readable(self._http.sock)):
            self.close()
        if self._http is None:
            self._http = self._new()
            self._http.response_class = partial(_timed_response, self._left)  # type: ignore[assignment]
            self._http.connect()
        self._http.sock.settimeout(self._left())
        return self._http

    def _new(self) -> http.client.HTTPConnection:
        options, place, proxy = self.connection, urlsplit(self.connection.base_url), self._proxy()
        host, port = str((proxy or place).hostname), (proxy or place).port or (80 if proxy else None)
        if place.scheme == "http":
            return http.client.HTTPConnection(host, port, timeout=self._left())
        context = tls_context(options.validate_certs, options.ca_path, options.client_cert, options.client_key)
        connection = http.client.HTTPSConnection(host, port, timeout=self._left(), context=context)
        if proxy:
            connection.set_tunnel(str(place.hostname), place.port or 443, _proxy_login(proxy))
        return connection

    def _proxy(self) -> SplitResult | None:
        """Return the proxy that the environment names for the service."""
        if not self.connection.use_proxy or not any(name.lower().endswith("_proxy") for name in os.environ):
            return None
        # It imports much, which a module process would do each time.
        from urllib.request import getproxies, proxy_bypass

        place = urlsplit(self.connection.base_url)
        proxies = getproxies()
        named = proxies.get(place.scheme) or proxies.get("all")
        if not named or proxy_bypass(place.netloc):
            return None
        proxy = urlsplit(named if "://" in named else f"http://{named}")
        if proxy.scheme != "http" or not proxy.hostname:
            raise BadInput("the proxy that the environment names must be like http://proxy.example.com:3128")
        return proxy

    def _seen_by_proxy(self, target: str, headers: dict[str, str]) -> str:
        """Return the request target; a proxy that is asked in plain http wants the origin too, and its login."""
        proxy = self._proxy() if self.connection.base_url.startswith("http:") else None
        if proxy is None:
            return target
        headers.update(_proxy_login(proxy))
        return self.connection.origin + target

    def _read(self, response: http.client.HTTPResponse) -> Answer:
        """Read an answer to its end, within the size limit."""
        limit = SIZE_LIMIT if response.status < 300 else ERROR_SIZE_LIMIT
        body = bytearray()
        left = response.length
        while left != 0 and (chunk := response.read1(CHUNK if left is None else min(CHUNK, left))):
            body += chunk
            left = None if left is None else left - len(chunk)
            if len(body) > limit:
                # What is left of this answer is nobody's: the connection cannot be used again.
                self.close()
                if response.status >= 300:
                    break
                raise ValueError(f"it is larger than {limit // MEBIBYTE} MiB")
        if left and response.status < 300:
            raise http.client.IncompleteRead(b"", left)
        if response.headers.get("Content-Encoding", "identity").lower() != "identity":
            raise ValueError("it is compressed, which was not asked for")
        response.close()
        text = bytes(body[:limit])
        if response.status >= 300 or b'"error"' in text:
            text = self._without_credentials(text)
        return Answer(response.status, response.headers, text)

    def _without_credentials(self, text: bytes) -> bytes:
        """Take out the credentials that a service repeats in an error, however it quotes them in its JSON."""
        given = filter(None, (self.connection.session_id, self.connection.api_token))
        quoted = {form for each in given for inner in forms(each) for form in forms(inner)}
        for form in sorted(quoted, key=len, reverse=True):
            text = text.replace(form.encode(), b"********")
        return text

    def _not_sent(self, what: str, error: Exception) -> TransportError:
        """Say that no connection came about; the service has not seen the request."""
        if isinstance(error, ssl.SSLError):
            return self._tls_failed(what, error)
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        return TransportError(f"{self.connection.origin} could not be reached for {what}: {reason}")

    def _not_answered(self, what: str, error: Exception, safe: bool) -> TransportError:
        """Say that no whole answer came; a writing call may have been taken."""
        if isinstance(error, ssl.SSLError) and "ALERT" in (error.reason or ""):
            return self._tls_failed(what, error)
        lost = TransportError if safe else AnswerLost
        unknown = "" if safe else "; whether it was taken is not known"
        if isinstance(error, TimeoutError):
            seconds = f"{self.connection.request_timeout:g} s"
            return lost(f"{self.connection.origin} did not answer {what} within {seconds}{unknown}")
        if isinstance(error, ValueError):
            return lost(f"the answer to {what} cannot be used: {error}{unknown}", transient=False)
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        return lost(f"{self.connection.origin} broke the connection for {what}: {reason}{unknown}")

    def _tls_failed(self, what: str, error: ssl.SSLError) -> TransportError:
        why = getattr(error, "verify_message", "") or str(error.reason or "the handshake failed")
        return TransportError(
            f"{what} could not be sent: TLS with {self.connection.origin} failed: {why.replace('_', ' ').lower()}"
            " (see validate_certs, ca_path and client_cert)",
            transient=False,
        )


def _ask_again(answer: Answer, safe: bool) -> bool:
    """Whether a request with this answer may be sent once more without a risk of doing anything twice."""
    if answer.status == 429:
        return True
    if answer.status == 503:
        return safe and answer.error is None
    return safe and (answer.status in (502, 504) or (answer.status == 200 and answer.object is None))


def _asked_to_wait(answer: Answer) -> float:
    """Return the seconds that the service asks to wait, by a number or a date; 0 when it does not ask."""
    text = answer.headers.get("Retry-After", "").strip()
    if re.fullmatch(r"[0-9]{1,9}", text):
        return float(text)
    with suppress(ValueError, TypeError, OverflowError):
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    return 0.0


def _readable(connection: Any) -> bool:
    """Whether an idle connection has something to read: it was closed at the other end."""
    with selectors.DefaultSelector() as selector:
        selector.register(connection, selectors.EVENT_READ)
        return bool(selector.select(0))


def _proxy_login(proxy: SplitResult) -> dict[str, str]:
    if not proxy.username:
        return {}
    login = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return {"Proxy-Authorization": "Basic " + base64.b64encode(login.encode()).decode()}
