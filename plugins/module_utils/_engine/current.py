"""What a task knows of an object: it exists, it does not, it cannot be read, or an earlier task predicts it."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from .._api.errors import Unsupported
from .._api.records import Record


class Found(NamedTuple):
    """The object exists: the service shows this record.

    If the options contain tags, ``user_tags`` are the records of its user tags, and ``tags`` in the record their texts.
    """

    record: Record
    user_tags: tuple[Record, ...] = ()


class Missing(NamedTuple):
    """The object does not exist."""

    record: None = None


class Unreadable(NamedTuple):
    """The service cannot show the object, for this reason.

    ``record`` has the fields with which it is assumed to exist; it is None if the object is assumed not to exist.
    """

    reason: Unsupported
    record: Record | None


class Predicted(NamedTuple):
    """In check mode, the object will exist with this record, because an earlier task would have created it."""

    record: Record


# The current state of an object, as far as the task knows it.
Current: TypeAlias = "Found | Missing | Unreadable | Predicted"


def replace_record(current: Current, record: Record) -> Current:
    """Return what is known of an object that exists, with another record."""
    return Found(record) if isinstance(current, Missing) else current._replace(record=record)
