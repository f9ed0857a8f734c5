"""Measure the role host_onboarding with jobs of 20 seconds: what the role adds shows more than with long jobs."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.figures import Figure
from benchmarks.onboarding import measure_role

JOB = 20.0


def measure() -> Iterator[Figure]:
    """Yield the figures with jobs of 20 seconds."""
    yield from measure_role(JOB)
