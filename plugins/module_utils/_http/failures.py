"""Errors of requests without a usable response, and what each proves.

``label`` names the operation, ``reason`` is the printable text of ``cause``.
"""

from __future__ import annotations

import http.client
import re
import ssl
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

from .._api.errors import ResponseLost, TransportError
from .._masking.terminal import make_printable
from .response import Response

# The reasons that OpenSSL gives when the peer does not use TLS.
_NO_TLS = re.compile("WRONG_VERSION_NUMBER|RECORD_LAYER_FAILURE|UNKNOWN_PROTOCOL|HTTP_REQUEST")

# The reasons that OpenSSL gives when the peer does not accept the certificate of the client.
_CERTIFICATE_REFUSED = re.compile("ALERT_.*(CERTIFICATE|UNKNOWN_CA|ACCESS_DENIED)")

# The reasons that a proxy gives when it does not accept the user name and the password, with HTTP and with SOCKS.
_PROXY_LOGIN = re.compile("connection failed: 407|SOCKS5 authentication failed|authentication methods were rejected")

# The reasons that systems give for a name that they cannot look up.
_UNKNOWN_NAME = re.compile("(?i)name or service not known|name resolution|nodename nor servname|no address associated")

# Codes with which OpenSSL refuses a certificate; the first two are for another name and for another address.
_OTHER_NAME = (62, 64)
_NOT_YET_VALID, _EXPIRED = 9, 10


@dataclass(frozen=True)
class Peer:
    """The service at ``origin``, behind a ``proxy`` (host and port).

    ``source`` is the option or the environment variable that names the proxy; empty if the operating system does.
    With ``resolves_here``, the name of the service is looked up here and not by the SOCKS proxy.
    """

    origin: str
    proxy: str = ""
    source: str = ""
    resolves_here: bool = False

    def __str__(self) -> str:
        return f"{self.origin} (proxy {self.proxy})" if self.proxy else self.origin

    @property
    def remedy(self) -> str:
        """The remedy if there is no connection."""
        if not self.proxy:
            return "Check base_url and whether the service runs."
        if self.is_of_option:
            return f"Check {self.source} and whether the proxy runs."
        source = f"comes from the variable {self.source}" if self.source else "is that of the operating system"
        host = urlsplit(self.origin).hostname
        return f"The proxy {source}. If it is not needed, set use_proxy to false, or add {host} to NO_PROXY."

    @property
    def is_of_option(self) -> bool:
        """Whether the proxy is that of ``proxy_url`` or of its environment variable."""
        return self.source in ("proxy_url", "VIRTINFRA_PROXY_URL")


def is_for_other_name(cause: BaseException) -> bool:
    """Return whether a certificate was refused because it is for another name."""
    # urllib3 1.26 reports a certificate for another name as a ValueError.
    return (
        isinstance(cause, ValueError) if not isinstance(cause, ssl.SSLError) else _get_verify_code(cause) in _OTHER_NAME
    )


def build_connect_error(
    peer: Peer, label: str, cause: BaseException, reason: str, certificate_names: Sequence[str]
) -> TransportError:
    """Return the error of a request that was not sent. It is transient, unless TLS was refused.

    ``certificate_names`` are those for which the certificate is valid, if it is for another name.
    """
    if isinstance(cause, (ssl.SSLEOFError, ssl.SSLZeroReturnError)):
        return _build_unreachable(peer, label, "closed during the TLS handshake")
    if _PROXY_LOGIN.search(reason):
        return build_proxy_login_error(peer, label, reason)
    if not isinstance(cause, (ssl.SSLError, ValueError)):
        return _build_unreachable(peer, label, reason)
    detail = str(getattr(cause, "verify_message", "") or getattr(cause, "reason", "") or reason)
    remedy = _find_tls_remedy(cause, detail, certificate_names)
    detail = detail.replace("_", " ").rstrip(".").lower()
    message = f"{label} could not be sent: TLS with {peer} failed: {detail}"
    return TransportError(f"{message}. {remedy}" if remedy else message, transient=False)


def build_proxy_login_error(peer: Peer, label: str, reason: str) -> TransportError:
    """Return the error of a request that the proxy did not forward, because it does not accept the login.

    It is not transient, because several attempts could lock the account.
    """
    source = peer.source if peer.is_of_option or not peer.source else f"the variable {peer.source}"
    remedy = f"Check the user name and the password in {source or 'the proxy settings of the operating system'}."
    message = f"{label}: the proxy {peer.proxy} for {peer.origin} requires another login: {reason.rstrip('.')}"
    return TransportError(f"{message}. {remedy}", transient=False)


def _find_tls_remedy(cause: BaseException, detail: str, certificate_names: Sequence[str]) -> str:
    """Return the remedy for a TLS handshake that failed; empty if the cause is not clear."""
    if _NO_TLS.search(detail):
        return "The port may not use TLS: try http in base_url."
    if _CERTIFICATE_REFUSED.search(detail):
        return "Check client_cert."
    if is_for_other_name(cause):
        names = make_printable(", ".join(certificate_names))[:300]
        return f"Use a name in base_url that the certificate lists{f': {names}' if names else ''}."
    code = _get_verify_code(cause)
    if code == _NOT_YET_VALID:
        return "Check the clock of this machine."
    if code == _EXPIRED:
        return "Renew the certificate of the service."
    return "Set ca_path (or VIRTINFRA_CA_PATH) to the certificate of the authority that issued it." if code else ""


def _get_verify_code(cause: BaseException) -> int:
    """Return the code with which OpenSSL refused a certificate, 0 for other errors."""
    return int(getattr(cause, "verify_code", 0))


def read_error(
    peer: Peer, label: str, cause: BaseException, reason: str, method: str, seconds: float, is_tls_port: bool
) -> TransportError:
    """Return the error of a request that may have been sent, and whose response is missing or unusable.

    ``is_tls_port`` says that the port uses TLS, although ``base_url`` does not.
    """
    if isinstance(cause, TimeoutError):
        return _build_lost(f"{peer} did not answer {label} within {seconds:g} s", method)
    if isinstance(cause, ssl.SSLError) and _CERTIFICATE_REFUSED.search(str(cause.reason)):
        alert = str(cause.reason).replace("_", " ").lower()
        return _build_lost(
            f"{peer} ended TLS after {label} was sent: {alert} (see client_cert)", method, transient=False
        )
    if is_tls_port:
        return _build_lost(f"{label}: {peer} expects TLS: use https in base_url", method, transient=False)
    if isinstance(cause, ValueError):
        return _build_lost(f"the response to {label} cannot be used: {reason}", method, transient=False)
    hint = ""
    if peer.origin.startswith("http:") and is_end_without_response(cause):
        hint = " (the port may expect TLS: try https in base_url)"
    return _build_lost(f"{label}: the connection to {peer} broke: {reason}{hint}", method)


def is_end_without_response(cause: BaseException) -> bool:
    """Return whether the peer closed the connection without a response, or with an alert of TLS."""
    return isinstance(cause, http.client.RemoteDisconnected) or "\x15\x03" in str(cause)


def may_be_of_tls(cause: BaseException) -> bool:
    """Return whether a port with TLS may have caused this; some servers answer plain HTTP with a reset."""
    return isinstance(cause, ConnectionResetError) or is_end_without_response(cause)


def build_rejection_error(peer: Peer, label: str, response: Response, method: str) -> TransportError:
    """Return the error of a redirect, which is not followed, of a server that requires TLS, or of a gateway's demand.

    A gateway with a demand of its own has not forwarded the request.
    """
    if response.demands_certificate:
        message = f"{label}: {peer} requires a certificate of the client: {response.format_text().strip()}"
        return TransportError(f"{message}. Set client_cert, and client_key if the key is in another file.", False)
    if scheme := response.gateway_login:
        return TransportError(
            f"{label}: a gateway in front of {peer.origin} requires a login of its own ({scheme}), which the collection"
            " does not have. The credentials of the service were not checked. Reach the service without the gateway, or"
            " let it pass these requests.",
            transient=False,
        )
    if response.is_complaint_about_tls:
        return _build_lost(
            f"{peer} expects TLS: use https in base_url ({response.format_text()})", method, transient=False
        )
    url = "another path"
    with suppress(ValueError):
        # The message shows only scheme and host of the location, because the rest may contain credentials.
        location = urlsplit(response.headers.get("Location", ""))
        url = response.masker.mask_text(f"{location.scheme}://{location.hostname}") if location.hostname else url
    message = f"{label} was redirected to {url}, which is not followed. Check base_url."
    return _build_lost(message, method, transient=False)


def _build_unreachable(peer: Peer, label: str, reason: str) -> TransportError:
    remedy = peer.remedy
    if peer.resolves_here and _UNKNOWN_NAME.search(reason):
        remedy = "If only the proxy knows the name, write socks5h:// in place of socks5://."
    return TransportError(f"{label}: cannot connect to {peer}: {reason}. {remedy}")


def _build_lost(message: str, method: str, transient: bool = True) -> TransportError:
    if method == "GET":
        return TransportError(message, transient)
    return ResponseLost(message, transient)
