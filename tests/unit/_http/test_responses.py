"""Responses: how much of them is read, which ones are retried, and their texts in messages."""

from __future__ import annotations

import time
from collections.abc import Iterator
from email.utils import formatdate
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._http import response as _response
from ansible_collections.virtinfra.manager.plugins.module_utils._http.response import (
    MEBIBYTE,
    Response,
    decode_object,
    read_response,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._masking.masker import Masker

# ------------------------------------------------------------------------------------------------------------- reading


@pytest.mark.parametrize("headers", [{}, {"Content-Encoding": "identity"}, {"Content-Encoding": "Identity"}])
def test_a_response_is_read(headers: dict[str, str]) -> None:
    response = read_response(201, headers, [b"a", b"", b"bc"])
    assert response == Response(201, headers, b"abc", response.masker)


@pytest.mark.parametrize("encoding", ["gzip", "br", ""])
def test_a_compressed_response_is_refused(encoding: str) -> None:
    with pytest.raises(ValueError, match=r"^it is compressed, although no compression was requested$"):
        read_response(200, {"Content-Encoding": encoding}, [b"abc"])


@pytest.mark.parametrize("status", [300, 400, 503])
def test_no_more_than_the_first_mebibyte_of_an_error_is_read(status: int) -> None:
    asked: list[int] = []

    def send() -> Iterator[bytes]:
        for size in (MEBIBYTE - 1, 1, 5, 7):
            asked.append(size)
            yield b"x" * size

    assert read_response(status, {}, send()).body == b"x" * MEBIBYTE
    assert asked == [MEBIBYTE - 1, 1, 5]


def test_a_response_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_response, "MAX_BODY_SIZE", MEBIBYTE)
    full = b"x" * MEBIBYTE
    assert read_response(200, {}, [full]).body == full
    with pytest.raises(ValueError, match=r"^it is larger than 1 MiB$"):
        read_response(299, {}, [full, b"x"])


@pytest.mark.parametrize("symbol", [b"{", b"[", b",", b":"])
def test_a_response_with_too_many_values_is_refused(monkeypatch: pytest.MonkeyPatch, symbol: bytes) -> None:
    monkeypatch.setattr(_response, "MAX_JSON_VALUES", 10)
    for body in (symbol * 10, symbol * 10 + b"x", b"x" * 20):
        assert read_response(200, {}, [body]).body == body
    with pytest.raises(ValueError, match=r"^it contains more than 10 values$"):
        read_response(200, {}, [symbol * 11])


@pytest.mark.parametrize("escape", [rb"\ud83d", rb"\uD83D"])
def test_half_of_a_character_can_be_encoded(escape: bytes) -> None:
    assert decode_object(b'{"name": "a%s", "other": "\xc3\xa9"}' % escape) == {"name": "a?", "other": "\u00e9"}


# ------------------------------------------------------------------------------------------------------ sending again

OBJECT, GARBAGE, CODE = b"{}", b"<html>", b'{"error": {"code": "SYS.1000"}}'
UNAVAILABLE = [b'{"error": {"code": "%s"}}' % code for code in (b"SYS.1010", b"SYS.1012", b"SYS.2111")]
OF_CONTAINER = b"<!doctype html><html><head><title>HTTP Status 404 - Not Found</title>"


# Each response, and whether a read and a write are sent again.
RETRIED: list[tuple[int, dict[str, str], bytes, bool, bool]] = [
    (200, {}, OBJECT, False, False),
    (200, {}, GARBAGE, True, False),
    (201, {}, GARBAGE, False, False),
    (400, {}, GARBAGE, False, False),
    (429, {}, b"", True, True),
    (429, {"Content-Type": "text/plain; charset=utf-8"}, b"too many", True, True),
    (429, {"Content-Type": "text/plain"}, b" <html>", True, False),
    (429, {"Content-Type": "text/html"}, b"", True, False),
    (430, {}, b"", False, False),
    (500, {}, GARBAGE, False, False),
    (501, {}, GARBAGE, False, False),
    (502, {}, CODE, True, False),
    (503, {}, GARBAGE, True, False),
    (503, {}, CODE, False, False),
    *((503, {}, code, True, False) for code in UNAVAILABLE),
    (404, {}, GARBAGE, False, False),
    (404, {}, OF_CONTAINER, True, False),
    (503, {}, OF_CONTAINER, True, False),
    (504, {}, CODE, True, False),
    (505, {}, GARBAGE, False, False),
]


def test_responses_after_which_a_request_is_sent_again() -> None:
    failures = []
    for status, headers, body, read, write in RETRIED:
        response = Response(status, headers, body)
        if (response.is_retryable(True, 0), response.is_retryable(False, 0)) != (read, write):
            failures.append(response)
    assert failures == []


def test_polls_that_are_sent_again() -> None:
    """The error may be that of the job, unless the service is starting."""
    retried = [Response(503, {}, code).is_retryable(True, 0, is_poll=True) for code in (CODE, *UNAVAILABLE)]
    assert retried == [False, True, False, False]


def test_a_read_without_json_is_sent_three_times() -> None:
    assert [Response(200, {}, GARBAGE).is_retryable(True, attempt) for attempt in range(4)] == [
        True,
        True,
        False,
        False,
    ]
    assert Response(502, {}, GARBAGE).is_retryable(True, 50)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, 0.0),
        *(({"Retry-After": text}, seconds) for text, seconds in (("0", 0.0), (" 7 ", 7.0), ("999999999", 999999999.0))),
        *(({"Retry-After": text}, 0.0) for text in ("9999999999", "soon", "-5", "", "Wed", "7 seconds")),
        ({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"Retry-After": "Wed, 21 Oct 99999 07:28:00 GMT"}, 0.0),
        ({"Retry-After": f"Wed, 21 Oct 2015 07:28:00 +{'9' * 18}"}, 0.0),
    ],
)
def test_how_long_the_service_asks_to_wait(headers: dict[str, str], seconds: float) -> None:
    assert Response(429, headers, b"").read_retry_after() == seconds


def test_until_when_the_service_asks_to_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now)
    headers = {"Retry-After": formatdate(now // 1 + 90, usegmt=True)}
    assert Response(429, headers, b"").read_retry_after() == pytest.approx(90 - now % 1)


# --------------------------------------------------------------------------------------------------------------- texts


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"<title>Sign in</title><p>Please</p><p>sign in</p>", "Please sign in"),
        (b"<SCRIPT>\nlet a = 1\n</SCRIPT>one<style>b{}</style>two", "one two"),
        (b"one\n\ttwo\x1b[31m", "one two [31m"),
        (b"one \xff two", "one \ufffd two"),
        (b"a the-session <b>", "a ********"),
        (b"0123456789" * 40, "0123456789" * 30),
    ],
)
def test_text_of_a_body_that_is_not_json(body: bytes, text: str) -> None:
    assert Response(400, {}, body, Masker(["the-session"])).format_text().strip() == text


COMPLAINT, CERTIFICATE = b"Client sent an HTTP request to an HTTPS server.", b"No required SSL certificate was sent"
BASIC = {"WWW-Authenticate": 'Basic realm="x"'}


@pytest.mark.parametrize(
    ("response", "expects_tls", "demands_certificate", "login"),
    [
        *((Response(status, {}, COMPLAINT), True, False, "") for status in (400, 497)),
        *((Response(status, {}, CERTIFICATE), False, True, "") for status in (400, 403, 495, 496)),
        (Response(500, {}, COMPLAINT + CERTIFICATE), False, False, ""),
        (Response(400, {}, b'{"a": "%s %s"}' % (COMPLAINT, CERTIFICATE)), False, False, ""),
        (Response(401, BASIC, b""), False, False, "Basic"),
        (Response(401, {"WWW-Authenticate": "NTLM"}, b""), False, False, "NTLM"),
        (Response(401, {"WWW-Authenticate": "OAuth"}, b""), False, False, ""),
        (Response(403, BASIC, b""), False, False, ""),
        (Response(401, BASIC, CODE), False, False, ""),
    ],
)
def test_what_gateways_say(response: Response, expects_tls: bool, demands_certificate: bool, login: str) -> None:
    said: tuple[Any, ...] = (response.is_complaint_about_tls, response.demands_certificate, response.gateway_login)
    assert said == (expects_tls, demands_certificate, login)
