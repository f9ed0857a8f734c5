"""Whole messages of requests without a usable response, and whether a retry can help."""

from __future__ import annotations

import http.client
import ssl
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._api.errors import ResponseLost, TransportError
from ansible_collections.virtinfra.manager.plugins.module_utils._http.failures import (
    Peer,
    build_connect_error,
    build_proxy_login_error,
    build_rejection_error,
    read_error,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._http.response import Response
from ansible_collections.virtinfra.manager.plugins.module_utils._masking.masker import Masker

PLAIN, SECURE = Peer("http://manager.example.com:8080"), Peer("https://manager.example.com")
PROXIED = Peer("https://manager.example.com", "10.0.0.9:3128", "HTTPS_PROXY")
OF_THE_SYSTEM = Peer("https://manager.example.com", "10.0.0.9:3128")
OF_THE_OPTION = Peer("http://manager.example.com:8080", "10.0.0.9:1080", "proxy_url", resolves_here=True)
NO_PROXY = "If it is not needed, set use_proxy to false, or add manager.example.com to NO_PROXY."
NAMES = ("a.example.com", "b.example.com")


def refuse_tls(reason: str) -> ssl.SSLError:
    """Return the error of a TLS handshake that failed."""
    error = ssl.SSLError(1, f"[SSL: {reason}] (_ssl.c:1000)")
    error.reason = reason
    return error


def refuse_certificate(code: int, message: str) -> ssl.SSLError:
    """Return the error of a certificate that OpenSSL refuses with a code."""
    error: Any = ssl.SSLCertVerificationError(1, "[SSL: CERTIFICATE_VERIFY_FAILED]")
    error.reason, error.verify_code, error.verify_message = "CERTIFICATE_VERIFY_FAILED", code, message
    certificate_error: ssl.SSLError = error
    return certificate_error


# The peer, the exception, its text, the names in the certificate; the message, and whether a retry can help.
CONNECTING: list[tuple[Peer, Exception, str, tuple[str, ...], str, bool]] = [
    (
        SECURE,
        ConnectionRefusedError(),
        "Connection refused",
        (),
        (
            "X: cannot connect to https://manager.example.com: Connection refused. Check base_url and whether the"
            " service runs."
        ),
        True,
    ),
    (
        PROXIED,
        OSError(),
        "Connection refused",
        (),
        (
            "X: cannot connect to https://manager.example.com (proxy 10.0.0.9:3128): Connection refused. The proxy"
            f" comes from the variable HTTPS_PROXY. {NO_PROXY}"
        ),
        True,
    ),
    (
        OF_THE_SYSTEM,
        OSError(),
        "timed out",
        (),
        (
            "X: cannot connect to https://manager.example.com (proxy 10.0.0.9:3128): timed out. The proxy is that of"
            f" the operating system. {NO_PROXY}"
        ),
        True,
    ),
    *(
        (
            OF_THE_OPTION,
            OSError(),
            reason,
            (),
            f"X: cannot connect to http://manager.example.com:8080 (proxy 10.0.0.9:1080): {reason}. {remedy}",
            True,
        )
        for reason, remedy in (
            ("Connection refused", "Check proxy_url and whether the proxy runs."),
            (
                "Temporary failure in name resolution",
                "If only the proxy knows the name, write socks5h:// in place of socks5://.",
            ),
        )
    ),
    (
        PLAIN,
        OSError(),
        "Name or service not known",
        (),
        (
            "X: cannot connect to http://manager.example.com:8080: Name or service not known. Check base_url and"
            " whether the service runs."
        ),
        True,
    ),
    (
        PROXIED,
        OSError(),
        "Tunnel connection failed: 407 no login.",
        (),
        (
            "X: the proxy 10.0.0.9:3128 for https://manager.example.com requires another login: Tunnel connection"
            " failed: 407 no login. Check the user name and the password in the variable HTTPS_PROXY."
        ),
        False,
    ),
    *(
        (
            SECURE,
            error,
            "EOF",
            (),
            (
                "X: cannot connect to https://manager.example.com: closed during the TLS handshake. Check base_url and"
                " whether the service runs."
            ),
            True,
        )
        for error in (ssl.SSLEOFError(8, "EOF"), ssl.SSLZeroReturnError(6, "closed"))
    ),
    *(
        (
            SECURE,
            refuse_tls(reason),
            "text",
            (),
            (
                f"X could not be sent: TLS with https://manager.example.com failed: {reason.replace('_', ' ').lower()}."
                f" {remedy}"
            ),
            False,
        )
        for reason, remedy in (
            ("WRONG_VERSION_NUMBER", "The port may not use TLS: try http in base_url."),
            ("RECORD_LAYER_FAILURE", "The port may not use TLS: try http in base_url."),
            ("TLSV13_ALERT_CERTIFICATE_REQUIRED", "Check client_cert."),
            ("TLSV1_ALERT_UNKNOWN_CA", "Check client_cert."),
        )
    ),
    (
        SECURE,
        refuse_tls("UNSUPPORTED_PROTOCOL"),
        "text",
        (),
        "X could not be sent: TLS with https://manager.example.com failed: unsupported protocol",
        False,
    ),
    (
        SECURE,
        ssl.SSLError(1, "no reason"),
        "Text of the Exception.",
        (),
        "X could not be sent: TLS with https://manager.example.com failed: text of the exception",
        False,
    ),
    (
        SECURE,
        ValueError("hostname does not match"),
        "hostname does not match",
        NAMES,
        (
            "X could not be sent: TLS with https://manager.example.com failed: hostname does not match. Use a name in"
            " base_url that the certificate lists: a.example.com, b.example.com."
        ),
        False,
    ),
    *(
        (
            SECURE,
            refuse_certificate(code, "Refused it."),
            "text",
            names,
            f"X could not be sent: TLS with https://manager.example.com failed: refused it. {remedy}",
            False,
        )
        for code, names, remedy in (
            (62, NAMES, "Use a name in base_url that the certificate lists: a.example.com, b.example.com."),
            (64, (), "Use a name in base_url that the certificate lists."),
            (62, ("0123456789" * 40,), f"Use a name in base_url that the certificate lists: {'0123456789' * 30}."),
            (9, (), "Check the clock of this machine."),
            (10, (), "Renew the certificate of the service."),
            (
                18,
                NAMES,
                "Set ca_path (or VIRTINFRA_CA_PATH) to the certificate of the authority that issued it.",
            ),
        )
    ),
]


def test_requests_that_were_not_sent() -> None:
    failures = []
    for peer, cause, reason, names, message, transient in CONNECTING:
        error = build_connect_error(peer, "X", cause, reason, names)
        if (type(error), error.message, error.transient) != (TransportError, message, transient):
            failures.append((cause, error.message, error.transient))
    assert failures == []


def test_login_that_a_proxy_does_not_accept() -> None:
    for peer, place in (
        (OF_THE_OPTION, "proxy_url"),
        (PROXIED, "the variable HTTPS_PROXY"),
        (OF_THE_SYSTEM, "the proxy settings of the operating system"),
    ):
        error = build_proxy_login_error(peer, "X", "no.")
        assert error.__class__ is TransportError
        assert error.message == (
            f"X: the proxy {peer.proxy} for {peer.origin} requires another login: no. Check the user name and the"
            f" password in {place}."
        )
        assert error.transient is False


TLS_HINT = " (the port may expect TLS: try https in base_url)"

# The peer, the exception, whether the port uses TLS; the message, and whether a retry can help.
SENT: list[tuple[Peer, Exception, bool, str, bool]] = [
    (PLAIN, TimeoutError(), False, "http://manager.example.com:8080 did not answer X within 0.5 s", True),
    (
        SECURE,
        refuse_tls("TLSV13_ALERT_CERTIFICATE_REQUIRED"),
        False,
        "https://manager.example.com ended TLS after X was sent: tlsv13 alert certificate required (see client_cert)",
        False,
    ),
    (
        SECURE,
        refuse_tls("DECRYPTION_FAILED"),
        False,
        "X: the connection to https://manager.example.com broke: the reason",
        True,
    ),
    (PLAIN, OSError(), True, "X: http://manager.example.com:8080 expects TLS: use https in base_url", False),
    (PLAIN, ValueError(), False, "the response to X cannot be used: the reason", False),
    (
        PROXIED,
        ConnectionResetError(),
        False,
        "X: the connection to https://manager.example.com (proxy 10.0.0.9:3128) broke: the reason",
        True,
    ),
    (
        PLAIN,
        ConnectionResetError(),
        False,
        "X: the connection to http://manager.example.com:8080 broke: the reason",
        True,
    ),
    *(
        (
            peer,
            error,
            False,
            f"X: the connection to {peer.origin} broke: the reason{hint}",
            True,
        )
        for peer, hint in ((PLAIN, TLS_HINT), (SECURE, ""))
        for error in (http.client.RemoteDisconnected("closed"), http.client.BadStatusLine("\x15\x03\x03"))
    ),
]


def test_requests_that_may_have_been_sent() -> None:
    """A write whose response is lost may have been performed."""
    failures = []
    for peer, cause, is_tls_port, message, transient in SENT:
        for method, kind in (("GET", TransportError), ("POST", ResponseLost)):
            error = read_error(peer, "X", cause, "the reason", method, 0.5, is_tls_port)
            if (type(error), error.message, error.transient) != (kind, message, transient):
                failures.append((method, cause, error.message, error.transient))
    assert failures == []


REDIRECTED = "X was redirected to {}, which is not followed. Check base_url."

# The response and the message.
REJECTED: list[tuple[Response, str]] = [
    (
        Response(400, {}, b"<b>The plain HTTP request was sent to HTTPS port</b>"),
        (
            "http://manager.example.com:8080 expects TLS: use https in base_url (The plain HTTP request was sent to"
            " HTTPS port)"
        ),
    ),
    (
        Response(302, {"Location": "https://user:secret@portal.example.com:8443/login?token=secret"}, b""),
        REDIRECTED.format("https://portal.example.com"),
    ),
    (
        Response(302, {"Location": "https://a-secret.example.com/"}, b"", Masker(["a-secret"])),
        REDIRECTED.format("https://********.example.com"),
    ),
    (Response(307, {"Location": "/login"}, b""), REDIRECTED.format("another path")),
    (Response(307, {"Location": "https://[broken/"}, b""), REDIRECTED.format("another path")),
    (Response(301, {}, b""), REDIRECTED.format("another path")),
]


def test_responses_that_are_not_followed() -> None:
    failures = []
    for response, message in REJECTED:
        for method, kind in (("GET", TransportError), ("DELETE", ResponseLost)):
            error = build_rejection_error(PLAIN, "X", response, method)
            if (type(error), error.message, error.transient) != (kind, message, False):
                failures.append((method, error.message, error.transient))
    assert failures == []


DEMANDED: list[tuple[Response, str]] = [
    (
        Response(400, {}, b"<b>No required SSL certificate was sent</b>"),
        (
            "X: http://manager.example.com:8080 requires a certificate of the client: No required SSL certificate was"
            " sent. Set client_cert, and client_key if the key is in another file."
        ),
    ),
    (
        Response(401, {"WWW-Authenticate": "Negotiate"}, b""),
        (
            "X: a gateway in front of http://manager.example.com:8080 requires a login of its own (Negotiate), which"
            " the collection does not have. The credentials of the service were not checked. Reach the service without"
            " the gateway, or let it pass these requests."
        ),
    ),
]


@pytest.mark.parametrize(("response", "message"), DEMANDED)
def test_demands_of_gateways(response: Response, message: str) -> None:
    """A gateway that demands a login has not forwarded the request, so no call was performed."""
    for method in ("GET", "POST"):
        error = build_rejection_error(PLAIN, "X", response, method)
        assert (type(error), error.message, error.transient) == (TransportError, message, False)
