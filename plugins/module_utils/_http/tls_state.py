"""What TLS and the certificate of a service say, for a diagnosis."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime, timezone
from typing import Any

from .connection import ConnectionOptions, build_tls_context


def read_tls_state(connection: ConnectionOptions) -> dict[str, Any] | None:
    """Return the TLS version, and the names and the end (ISO 8601) of the certificate of the service.

    This opens another connection, directly. Names and end are null if no authority confirms the certificate. Return
    None without TLS, if there is no direct connection, and with ``proxy_url``, which forbids one.
    """
    for validates in (True, False) if connection.uses_tls and not connection.proxy_url else ():
        context = build_tls_context.__wrapped__(
            validates, connection.ca_path, connection.client_cert, connection.client_key
        )
        context.check_hostname = False
        with suppress(OSError, ValueError), connection.connect_by_tls(context) as tls:
            certificate: Mapping[str, Any] = tls.getpeercert() or {}
            end = certificate.get("notAfter")
            names = [str(name) for dummy, name in certificate.get("subjectAltName", ())]
            return {
                "version": tls.version(),
                "certificate_names": names if end else None,
                "certificate_end": end and format_time(ssl.cert_time_to_seconds(end)),
            }
    return None


def format_time(seconds: float) -> str:
    """Return a time in seconds since 1970 in the form of ISO 8601, in UTC."""
    return datetime.fromtimestamp(seconds, tz=timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
