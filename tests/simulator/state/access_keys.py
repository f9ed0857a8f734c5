"""Access keys: the signatures of requests, and the local time in their dates."""

from __future__ import annotations

import base64
import hashlib
import hmac
import time
from datetime import datetime, timedelta, timezone
from email.utils import parsedate_to_datetime
from urllib.parse import unquote

from starlette.requests import Request

from ..errors import RequestRejected
from ..switches.options import Switches

MAX_SKEW = timedelta(minutes=15)


def check_signature(switches: Switches, request: Request) -> None:
    """Raise RequestRejected unless the headers Authorization and Date are those of the access key, and current."""
    date = request.headers.get("date", "")
    given, now = _parse_date(date, switches.accepts_iso_dates), _read_clock(switches)
    if not switches.check_time_zone:
        given, now = given.replace(tzinfo=None), now.replace(tzinfo=None)
    if abs(given - now) > MAX_SKEW:
        raise RequestRejected(403, "requestTimeTooSkewed")
    key_id, dummy, signature = request.headers["authorization"].partition(" ")[2].strip().partition(":")
    if key_id != switches.access_key_id or switches.access_key_disabled:
        raise RequestRejected(403, f"access key id: {key_id} does not existed or disabled")
    path = unquote(request.scope["raw_path"].decode("ascii").partition("?")[0].removeprefix(switches.root))
    text = f"{request.method}\n{date}\n{path}"
    expected = hmac.new(switches.access_key_secret.encode(), text.encode(), hashlib.sha1).digest()
    if not hmac.compare_digest(base64.b64encode(expected), signature.encode()):
        raise RequestRejected(403, "wrong accessKey signature")


def _read_clock(switches: Switches) -> datetime:
    """Return the local time of the service."""
    zone = _parse_offset(switches.time_zone) if switches.time_zone else None
    return datetime.fromtimestamp(time.time() + switches.clock_ahead, timezone.utc).astimezone(zone)


def _parse_date(text: str, accepts_iso: bool) -> datetime:
    """Return a date with its offset.

    Its form is that of RFC 1123 with the abbreviation of a zone, or with GMT and an offset. Newer services also take
    another offset, and ISO 8601.
    """
    words, dummy, zone = text.rpartition(" ")
    try:
        if zone.startswith("GMT"):
            return parsedate_to_datetime(f"{words} +0000").replace(tzinfo=_parse_offset(zone[3:] or "+0000"))
        if zone.isalpha():
            date = parsedate_to_datetime(text)
            return date if date.tzinfo else date.replace(tzinfo=timezone.utc)
        if accepts_iso:
            try:
                return datetime.fromisoformat(text)
            except ValueError:
                return parsedate_to_datetime(text)
    except ValueError:
        pass
    raise RequestRejected(400, "'Date' format error")


def _parse_offset(text: str) -> timezone:
    """Return the time zone of an offset such as +08:00 or +0800."""
    minutes = int(text[1:3]) * 60 + int(text[-2:])
    return timezone(timedelta(minutes=-minutes if text[0] == "-" else minutes))
