"""Plans of several steps."""

from __future__ import annotations

from collections.abc import Callable

from .._engine.current import Current, replace_record
from .._engine.spec import PlannedCall


def chain_plans(current: Current, *steps: Callable[[Current], list[PlannedCall]]) -> list[PlannedCall]:
    """Return the calls of several steps, each planned with what will be known of the object after those before it.

    A call after which the object does not exist is the last one.
    """
    calls: list[PlannedCall] = []
    for step in steps:
        planned = step(current)
        calls += planned
        if planned:
            if planned[-1].expected is None:
                break
            current = replace_record(current, planned[-1].expected)
    return calls
