"""Wait for what another thread or process does."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE = 120.0


def wait_until(condition: Callable[[], bool]) -> None:
    """Return as soon as a condition holds."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)
