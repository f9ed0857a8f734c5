# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is PRIVATE to the collection. It can have breaking changes at any time.

"""Errors of requests without a usable response, and what each proves.

``peer`` names the service (and the proxy), ``label`` the operation, ``reason`` is the printable text of ``cause``.
"""

from __future__ import annotations

import http.client
import re
import ssl
from contextlib import suppress
from urllib.parse import urlsplit

from .._api.errors import ResponseLost, TransportError
from .response import Response

# The reasons that OpenSSL gives when the peer does not use TLS.
_NO_TLS = re.compile("WRONG_VERSION_NUMBER|RECORD_LAYER_FAILURE|UNKNOWN_PROTOCOL|HTTP_REQUEST")

# The reasons that OpenSSL gives when the peer does not accept the certificate of the client.
_CERTIFICATE_REFUSED = re.compile("ALERT_.*(CERTIFICATE|UNKNOWN_CA|ACCESS_DENIED)")


def build_connect_error(peer: str, label: str, cause: BaseException, reason: str) -> TransportError:
    """Return the error of a request that was not sent. It is transient, unless TLS was refused."""
    if isinstance(cause, (ssl.SSLEOFError, ssl.SSLZeroReturnError)):
        return _build_unreachable(peer, label, "closed during the TLS handshake")
    # urllib3 1.26 reports a name mismatch as a ValueError.
    if not isinstance(cause, (ssl.SSLError, ValueError)):
        return _build_unreachable(peer, label, reason)
    detail = str(getattr(cause, "verify_message", "") or getattr(cause, "reason", "") or reason)
    hint = "see validate_certs, ca_path and client_cert"
    if _NO_TLS.search(detail):
        hint = "the port may not use TLS: try http in base_url"
    detail = detail.replace("_", " ").lower()
    return TransportError(f"{label} could not be sent: TLS with {peer} failed: {detail} ({hint})", transient=False)


def read_error(peer: str, label: str, cause: BaseException, reason: str, method: str, seconds: float) -> TransportError:
    """Return the error of a request that may have been sent, and whose response is missing or unusable."""
    if isinstance(cause, TimeoutError):
        return _build_lost(f"{peer} did not answer {label} within {seconds:g} s", method)
    if isinstance(cause, ssl.SSLError) and _CERTIFICATE_REFUSED.search(str(cause.reason)):
        alert = str(cause.reason).replace("_", " ").lower()
        return _build_lost(
            f"{peer} ended TLS after {label} was sent: {alert} (see client_cert)", method, transient=False
        )
    if isinstance(cause, ValueError):
        return _build_lost(f"the response to {label} cannot be used: {reason}", method, transient=False)
    hint = ""
    if peer.startswith("http:") and (isinstance(cause, http.client.RemoteDisconnected) or "\x15\x03" in str(cause)):
        hint = " (the port may expect TLS: try https in base_url)"
    return _build_lost(f"{label}: the connection to {peer} broke: {reason}{hint}", method)


def build_rejection_error(peer: str, label: str, response: Response, method: str) -> TransportError:
    """Return the error of a redirect, which is not followed, or of a server that requires TLS."""
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


def _build_unreachable(peer: str, label: str, reason: str) -> TransportError:
    return TransportError(f"{label}: cannot connect to {peer}: {reason}. Check base_url and whether the service runs.")


def _build_lost(message: str, method: str, transient: bool = True) -> TransportError:
    if method == "GET":
        return TransportError(message, transient)
    return ResponseLost(message, transient)
