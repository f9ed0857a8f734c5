"""Measure a loop that starts 2,000 jobs, and the task that waits for all of them."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.batches import measure_batch
from benchmarks.figures import Figure

JOBS = 2000


def measure() -> Iterator[Figure]:
    """Yield the figures of a batch of 2,000 jobs."""
    yield from measure_batch(JOBS)
