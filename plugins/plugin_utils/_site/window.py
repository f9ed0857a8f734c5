"""The time after which a role begins nothing new, from a variable such as ``vm_power_not_after``."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta

from ...module_utils._api.errors import InvalidOptions
from .._run.files import edit_values, locate_file

TIME_OF_DAY = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)")
DURATION = re.compile(r"(\d+)(s|m|h)")
SECONDS = {"s": 1, "m": 60, "h": 3600}

DAY = timedelta(days=1)


class Window:
    """The time in which a role may begin something. What has begun ends, and what was not reached has failed.

    ``get_time`` is that of the site, and ``value`` the one of the variable, None without a limit.
    """

    def __init__(self, get_time: Callable[[], float], role: str, value: str | None) -> None:
        self._get_time, self._variable, self._value = get_time, f"{role}_not_after", value
        self._end = None if value is None else find_end(get_time, self._variable, value)

    def is_open(self) -> bool:
        """Return whether something new may begin."""
        return self._end is None or self._get_time() < self._end

    @property
    def reason(self) -> str:
        """Why something was not begun."""
        over = f"{self._variable} ({self._value}) was over"
        return f"It was not begun, because {over}. Run the role again, earlier or with a later time."


def check_window(role: str, value: str | None) -> None:
    """Raise InvalidOptions, before a role does anything, for a value from which no end follows."""
    if value is not None:
        _parse(f"{role}_not_after", value)


def find_end(get_time: Callable[[], float], variable: str, value: str) -> float:
    """Return when the time is over, by a clock. Raise InvalidOptions for a value of another form.

    All hosts and steps of a run have the same end, which the first of them finds: it counts a duration from then.
    """
    seconds = read_seconds(variable, value, datetime.now())
    with edit_values(locate_file("window", variable, value)) as values:
        return float(values.setdefault("end", get_time() + seconds))


def read_seconds(variable: str, value: str, now: datetime) -> float:
    """Return how many seconds are left; a time of day is the one that is nearest to ``now``. Raise InvalidOptions.

    So a run that begins late does not have the time until the next day.
    """
    found = _parse(variable, value)
    if found.re is DURATION:
        return int(found[1]) * SECONDS[found[2]]
    end = now.replace(hour=int(found[1]), minute=int(found[2]), second=0, microsecond=0)
    nearest = min((end - DAY, end, end + DAY), key=lambda each: abs(each - now))
    return (nearest - now).total_seconds()


def _parse(variable: str, value: str) -> re.Match[str]:
    """Return the parts of a duration, or of a time of day. Raise InvalidOptions for a value of another form."""
    found = DURATION.fullmatch(value.strip()) or TIME_OF_DAY.fullmatch(value.strip())
    if not found:
        raise InvalidOptions(
            f"{variable} must be a time of day such as 05:30, in quotes, or a duration such as 90m or 2h, not {value!r}"
        )
    return found
