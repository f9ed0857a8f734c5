"""How many generated inputs the tests with Hypothesis try."""

from __future__ import annotations

import os

# CI sets a higher one, because each run tries other inputs.
FACTOR = int(os.environ.get("EXAMPLES_FACTOR", "1"))


def count_examples(number: int) -> int:
    """Return how many inputs a test tries: the usual number of the test, times the factor of the run."""
    return number * FACTOR
