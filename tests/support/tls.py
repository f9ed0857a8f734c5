"""TLS for the servers of tests."""

from __future__ import annotations

import ssl
from functools import cache

import trustme


@cache
def untrusted_context() -> ssl.SSLContext:
    """Return the TLS context of a server at 127.0.0.1 with a certificate of an unknown authority."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(context)
    return context
