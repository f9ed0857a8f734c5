"""Signatures with an access key, and the time zone of the service, whose local time they contain."""

from __future__ import annotations

import base64
import hmac
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone, tzinfo
from email.utils import format_datetime
from urllib.parse import unquote

from .._api.errors import FORBIDDEN, InvalidOptions
from .._api.operation import remove_prefix
from .response import Response

_OFFSET = re.compile(r"([+-])(\d\d):([0-5]\d)", re.ASCII)

# The offsets from UTC that are used somewhere, in minutes. The most likely ones come first.
_OFFSETS = (
    *(0, 480, *range(60, 480, 60), *range(540, 900, 60), *range(-60, -780, -60)),
    *(330, 210, 270, 345, 390, 570, -210, -150, -570, 525, 630, 765, 825),
)
_CLOCK_SKEW = b"requestTimeTooSkewed"


def parse_zone(text: str | None) -> tzinfo | None:
    """Return the time zone in an option, as an offset such as ``+08:00`` or a name; None for the local one.

    Raise InvalidOptions for any other text.
    """
    if not text:
        return None
    if offset := _OFFSET.fullmatch(text):
        minutes = int(offset[2]) * 60 + int(offset[3])
        if minutes < 24 * 60:
            return timezone(timedelta(minutes=minutes if offset[1] == "+" else -minutes))
    # Most tasks use no access key, so they do not load the code for names of zones.
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(text)
    # A name that the machine does not know is a KeyError, and one that is not a path within the data a ValueError.
    except (KeyError, OSError, ValueError):
        raise InvalidOptions(
            "access_key_time_zone must be an offset such as '+08:00', or the name of a time zone that this machine"
            f" knows, such as Asia/Shanghai, not {text!r}"
        ) from None


@dataclass(frozen=True)
class AccessKey:
    """An access key, with which each request is signed, and the path prefix, which the signature does not cover.

    ``zone`` is the time zone of the dates in the signatures, None for the local one.
    """

    key_id: str
    secret: str = field(repr=False)
    path_prefix: str
    zone: tzinfo | None = None

    def sign(self, method: str, path: str) -> dict[str, str]:
        """Return the headers Authorization and Date of a request that is sent now.

        The service accepts them for 15 minutes. ``path`` may have a query, which is not signed; the path is signed as
        it is without percent-encoding. Source: lifecycle.md, access key.
        """
        date = format_date(time.time(), self.zone)
        text = f"{method}\n{date}\n{unquote(remove_prefix(path, self.path_prefix))}"
        signature = base64.b64encode(hmac.new(self.secret.encode(), text.encode(), "sha1").digest()).decode()
        return {"Authorization": f"ZStack {self.key_id}:{signature}", "Date": date}

    def list_others(self) -> Iterator[AccessKey]:
        """Yield this key with each other offset from UTC."""
        own = datetime.now().astimezone(self.zone).utcoffset()
        for offset in (timedelta(minutes=minutes) for minutes in _OFFSETS):
            if offset != own:
                yield replace(self, zone=timezone(offset))

    def describe_zone(self) -> str:
        """Return the present offset of the zone in the form of the option."""
        return datetime.now().astimezone(self.zone).isoformat()[-6:]


def format_date(seconds: float, zone: tzinfo | None) -> str:
    """Return a time, in seconds since 1970, as the header Date: the local time of a zone with its offset.

    By default services compare the local time with their own, whatever the offset is, so GMT alone would be refused
    outside UTC.
    """
    text = format_datetime(datetime.fromtimestamp(seconds, timezone.utc).astimezone(zone))
    offset = text[-5:]
    return f"{text[:-5]}GMT" + (f"{offset[:3]}:{offset[3:]}" if offset.strip("+-0") else "")


def is_skewed(response: Response) -> bool:
    """Return whether the service refused a request because of its date, so that it has done nothing."""
    return response.status == FORBIDDEN and _CLOCK_SKEW in response.body
