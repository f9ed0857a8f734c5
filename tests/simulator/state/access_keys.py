# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Access keys: the signatures of requests."""

from __future__ import annotations

import base64
import hashlib
import hmac
import time
from datetime import datetime
from email.utils import parsedate_to_datetime

from starlette.requests import Request

from ..errors import RequestRejected
from ..switches.options import Switches

MAX_SKEW = 15 * 60


def check_signature(switches: Switches, request: Request) -> None:
    """Raise RequestRejected unless the headers Authorization and Date are those of the access key, and current."""
    date = request.headers.get("date", "")
    if abs(_parse_date(date) - time.time() - switches.clock_ahead) > MAX_SKEW:
        raise RequestRejected(403, "requestTimeTooSkewed")
    key_id, dummy, signature = request.headers["authorization"].partition(" ")[2].strip().partition(":")
    if key_id != switches.access_key_id or switches.access_key_disabled:
        raise RequestRejected(403, f"the access key[{key_id}] does not exist or is disabled")
    path = request.scope["raw_path"].decode("ascii").partition("?")[0].removeprefix(switches.root)
    text = f"{request.method}\n{date}\n{path}"
    expected = hmac.new(switches.access_key_secret.encode(), text.encode(), hashlib.sha1).digest()
    if not hmac.compare_digest(base64.b64encode(expected), signature.encode()):
        raise RequestRejected(403, "the signature does not match")


def _parse_date(text: str) -> float:
    """Return a date in seconds since 1970; its form is that of RFC 1123 or ISO 8601."""
    for parse in (parsedate_to_datetime, datetime.fromisoformat):
        try:
            return parse(text).timestamp()
        except ValueError:
            continue
    raise RequestRejected(403, f"the header Date[{text}] is not a date")
