"""Events of several members: every member is in one of them, in order, and no event is larger than the limits."""

from __future__ import annotations

import json

import pytest
from ansible_collections.virtinfra.manager.plugins.plugin_utils._eda.collected import (
    MOST_BYTES,
    MOST_MEMBERS,
    collect,
)
from ansible_collections.virtinfra.manager.plugins.plugin_utils._eda.job_events import shorten_result


def result_of(size: int, number: int = 0) -> dict[str, object]:
    return {"job": {"uuid": str(number), "succeeded": False}, "error": {}, "msg": "x" * size}


@pytest.mark.parametrize(
    ("sizes", "members"),
    [
        ([], []),
        ([0], [1]),
        ([0] * (2 * MOST_MEMBERS + 1), [MOST_MEMBERS, MOST_MEMBERS, 1]),
        ([MOST_BYTES // 2 - 500] * 3, [2, 1]),
        ([0, 2 * MOST_BYTES, MOST_BYTES - 500, 0], [2, 2]),
    ],
)
def test_events_are_within_their_limits(sizes: list[int], members: list[int]) -> None:
    entries = [(number, result_of(size, number)) for number, size in enumerate(sizes)]
    events = list(collect(entries, shorten_result))
    assert [len(event.members) for event in events] == members
    assert [key for event in events for key in event.keys] == [number for number, dummy in entries]
    assert sum(event.shortened for event in events) == sum(size > MOST_BYTES for size in sizes)
    for event in events:
        assert len(json.dumps(event.members)) <= MOST_BYTES + 2 * len(event.members) + 2


def test_a_member_that_is_too_large_is_shortened() -> None:
    (event,) = collect([(0, {**result_of(MOST_BYTES), "about": "host-1"})], shorten_result)
    assert event.members == [
        {"job": {"uuid": "0", "succeeded": False}, "about": "host-1", "msg": "x" * 1000 + "...", "shortened": True}
    ]
    assert event.shortened == 1


def test_spaces_that_disarm_templates_count() -> None:
    (first, second) = collect(
        [(number, result_of(0) | {"msg": "{{" * (MOST_BYTES // 5)}) for number in (1, 2)], shorten_result
    )
    assert (first.shortened, second.shortened) == (0, 0)
