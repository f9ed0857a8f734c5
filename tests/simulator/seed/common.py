"""Dates and references that all seeded records share."""

from __future__ import annotations

import datetime as dt
import functools

from ..state.store import seeded_uuid, timestamp
from ..switches.options import Seed

EPOCH = dt.datetime(2024, 1, 6, 3, 51, 16)


@functools.lru_cache(maxsize=1024)
def dates(number: int) -> dict[str, str]:
    """Return createDate and lastOpDate of the object with this number."""
    created = EPOCH + dt.timedelta(minutes=61 * number)
    return {
        "createDate": timestamp(created),
        "lastOpDate": timestamp(created + dt.timedelta(hours=5)),
    }


def cluster_of(seed: Seed, number: int) -> str:
    """Return the uuid of the cluster of the host or primary storage with this number."""
    return seeded_uuid("cluster", 1 + (number - 1) % seed.clusters)
