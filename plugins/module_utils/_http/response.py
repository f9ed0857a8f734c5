"""Responses of the service: limits for reading, the JSON object, the ErrorCode or the text, and whether to retry."""

from __future__ import annotations

import json
import math
import re
import time
from codecs import BOM_UTF8
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from functools import cached_property
from io import BytesIO
from typing import Any

from .._api.error_code import STARTING, UNAVAILABLE, is_error_code
from .._api.records import RESERVED_KEY_PREFIX, rename_reserved_keys
from .._masking.masker import Masker
from .._masking.terminal import make_printable

MEBIBYTE = 1024 * 1024
MAX_BODY_SIZE = 64 * MEBIBYTE
MAX_ERROR_SIZE = MEBIBYTE

# Limits the memory for a reply, at up to 100 bytes per value. 64 MiB of real records contain about 4 million values.
MAX_JSON_VALUES = 5_000_000

# How deeply a reply may be nested. Ansible itself fails at slightly more levels.
MAX_JSON_DEPTH = 100

# How often a read is retried when its response is not JSON: it may have been truncated, or base_url is wrong.
MAX_GARBLED_RETRIES = 2

# The title of the page of a servlet container for a path at which no application runs.
_NO_APPLICATION = re.compile(rb"(?i)<title>\s*HTTP Status 404\b")

_EXPECTS_TLS = re.compile(rb"(?i)HTTP request (was sent )?to (an )?HTTPS|HTTP to an SSL-enabled|requires TLS")
_WANTS_CERTIFICATE = re.compile(rb"(?i)No required SSL certificate|SSL certificate (error|required)|client certificate")

# The schemes of logins of gateways. The service itself has none of them.
_GATEWAY_LOGINS = ("basic", "digest", "negotiate", "ntlm")


@dataclass(frozen=True)
class Response:
    """An HTTP response: ``status``, ``headers`` (any case) and the ``body`` (of an error at most 1 MiB).

    Texts about an error are masked by ``masker`` before they are truncated or changed.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    masker: Masker = field(default_factory=Masker, repr=False)

    @cached_property
    def object(self) -> dict[str, Any] | None:
        """The body as a JSON object, regardless of the Content-Type; None when it is not a JSON object."""
        return decode_object(self.body)

    @property
    def error(self) -> dict[str, Any] | None:
        """The ErrorCode in the body (section ErrorCode), masked; None when there is none."""
        reply = self.object or {}
        error = reply.get("error")
        if isinstance(error, dict) and error:
            # The code determines the meaning, so it is not masked, even if it looks like a secret.
            code = {"code": error["code"]} if "code" in error else {}
            return {**self.masker.mask_value(error), **code}
        if self.status < 300 and (error or reply.get("success") is False):
            return {"details": self.masker.mask_text(str(error or "the service reports a failure without an error"))}
        return None

    @property
    def error_code(self) -> dict[str, Any] | None:
        """The ErrorCode in the body if its ``code`` is one of the service's, not of a gateway; None for any other."""
        return self.error if is_error_code(self.error) else None

    @property
    def is_plain_text(self) -> bool:
        """Return whether the body is plain text or empty, as when the service itself refuses a request."""
        content_type = self.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        return content_type in ("", "text/plain") and not re.match(rb"\s*[<{\[]", self.body)

    def format_text(self) -> str:
        """Return the text of a body that is not JSON, masked, without markup, at most 300 characters."""
        text = self.masker.mask_text(self.body[:MAX_ERROR_SIZE].decode("utf-8", "replace"))
        return make_printable(re.sub(r"(?is)<(script|style|title)\b.*?</\1>|<[^>]*>", " ", text[:20000]))[:300]

    @property
    def is_of_starting_server(self) -> bool:
        """Return whether the server has not started the service: it has a page of its own for every path until then."""
        return self.status == 404 and _NO_APPLICATION.search(self.body) is not None

    @property
    def is_complaint_about_tls(self) -> bool:
        """Return whether the text says that the port expects TLS, as several servers report it."""
        return self.status in (400, 497) and self.object is None and bool(_EXPECTS_TLS.search(self.body))

    @property
    def demands_certificate(self) -> bool:
        """Return whether a gateway did not forward the request because it requires a certificate of the client."""
        return (
            self.status in (400, 403, 495, 496) and self.object is None and bool(_WANTS_CERTIFICATE.search(self.body))
        )

    @property
    def gateway_login(self) -> str:
        """The scheme of the login without which a gateway does not forward the request, such as Basic; or empty."""
        scheme = self.headers.get("WWW-Authenticate", "").partition(" ")[0]
        is_demanded = self.status == 401 and scheme.lower() in _GATEWAY_LOGINS and self.error_code is None
        return scheme if is_demanded else ""

    def is_retryable(self, is_read: bool, attempt: int, is_poll: bool = False) -> bool:
        """Return whether the request can be sent again without performing it twice; attempts count from 0.

        With ``is_poll`` an ErrorCode may be that of the job: then only a service that is starting has none.
        """
        if self.status == 429:
            return is_read or self.is_plain_text
        if self.status == 200:
            return is_read and self.object is None and attempt < MAX_GARBLED_RETRIES
        temporary = (STARTING,) if is_poll else UNAVAILABLE
        is_final = self.error_code is not None and self.error_code["code"] not in temporary
        is_unavailable = self.status in (502, 504) or (self.status == 503 and not is_final)
        return is_read and (is_unavailable or self.is_of_starting_server)

    def read_retry_after(self) -> float:
        """Return the seconds that the service asks to wait, as a number or a date; 0 if it does not ask."""
        text = self.headers.get("Retry-After", "").strip()
        if re.fullmatch(r"[0-9]{1,9}", text):
            return float(text)
        with suppress(ValueError, TypeError, OverflowError):
            return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
        return 0.0


def read_response(status: int, headers: Mapping[str, str], chunks: Iterable[bytes]) -> Response:
    """Return a response with the body in the chunks, for an error the first MiB.

    Raise ValueError when it is compressed, too large, or would need too much memory.
    """
    if headers.get("Content-Encoding", "identity").lower() != "identity":
        raise ValueError("it is compressed, although no compression was requested")
    limit = MAX_BODY_SIZE if status < 300 else MAX_ERROR_SIZE
    # Unlike a bytearray, it gives its bytes away without a copy.
    content = BytesIO()
    for chunk in chunks:
        content.write(chunk)
        if content.tell() > limit:
            break
    body = content.getvalue()
    if len(body) > limit and status < 300:
        raise ValueError(f"it is larger than {limit // MEBIBYTE} MiB")
    if len(body) > MAX_JSON_VALUES and sum(map(body.count, (b"{", b"[", b",", b":"))) > MAX_JSON_VALUES:
        raise ValueError(f"it contains more than {MAX_JSON_VALUES} values")
    return Response(status, headers, body[:limit])


def decode_object(body: bytes) -> dict[str, Any] | None:
    """Return the JSON object in a body; None if it is another value, is nested too deeply, or is not finite."""
    try:
        value = json.loads(
            body.removeprefix(BOM_UTF8).decode(), parse_constant=_reject_constant, parse_float=_parse_finite_float
        )
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or _is_too_deep(value):
        return None
    has_escapes = b"\\u" in body
    if has_escapes and re.search(rb"\\u[dD]", body):
        # Half of a surrogate pair is not a character, and cannot be encoded.
        value = json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    if RESERVED_KEY_PREFIX.encode() in body or (has_escapes and re.search(rb"\\u00[567]", body)):
        # Letters of a reserved key may be escaped, so a body with escaped letters is searched too.
        value = rename_reserved_keys(value)
    return dict(value)


_CONTAINERS = frozenset((dict, list))


def _reject_constant(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _parse_finite_float(text: str) -> float:
    if math.isinf(value := float(text)):
        raise ValueError(f"the number {text} is too large")
    return value


def _is_too_deep(value: dict[str, Any]) -> bool:
    level: list[Any] = [value]
    for dummy in range(MAX_JSON_DEPTH):
        members = (item.values() if isinstance(item, dict) else item for item in level)
        level = [member for inner in members for member in inner if type(member) in _CONTAINERS]
        if not level:
            return False
    return True
