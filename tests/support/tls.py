# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

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
