"""The date and time of this machine."""

from __future__ import annotations

from datetime import datetime, timezone


class Clock:
    """The clock by which points get their names and age, so that tests can replace it."""

    @staticmethod
    def now() -> datetime:
        """Return the date and time, in UTC."""
        return datetime.now(timezone.utc)
