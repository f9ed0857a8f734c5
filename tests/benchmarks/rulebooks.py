"""Measure a storm of failed jobs: from their posts through a real ansible-rulebook until each is reported once."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.playbooks import measure_children
from support.rulebook_runner import install_collection
from support.rulebook_storm import run_storm

FAILURES = 1000


def measure() -> Iterator[Figure]:
    """Yield the figures of 1,000 failures at once."""
    used = measure_children()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        collection = install_collection(folder / "installed")
        with run_storm(folder, collection) as storm:
            begin = time.monotonic()
            storm.fail(1, FAILURES)
            seconds = time.monotonic() - begin
    wrong = FAILURES - sum(count == 1 for count in storm.reported.values())
    label = f"{FAILURES:,} jobs that fail at once, through the rulebook `failed_jobs`"
    text = f"{label}: failures that are not reported exactly once"
    yield Figure("storm_wrong", text, wrong, 0.0, "G7", text)
    text = f"{label}, until all are reported, s"
    yield Figure("storm_seconds", text, seconds, guide=text, unit=" s")
    text = f"{label}, processor time with the start of the rulebook, s"
    yield Figure("storm_processor", text, measure_children() - used, guide=text, unit=" s")
