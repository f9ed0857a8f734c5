"""Measure roles over 2,000 and 10,000 VMs that need nothing: the figures stay as they are with 500."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.figures import Figure
from benchmarks.workflows import measure_roles

COUNTS = (2000, 10000)


def measure() -> Iterator[Figure]:
    """Yield the figures with each number of VMs."""
    for count in COUNTS:
        yield from measure_roles(count)
