"""Retention: which points stay."""

from __future__ import annotations

import random
from datetime import datetime, timedelta, timezone

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._backup.failures import BackupFailure
from ansible_collections.virtinfra.manager.plugins.module_utils._backup.manifest import Point, VolumeCopy
from ansible_collections.virtinfra.manager.plugins.module_utils._backup.retention import (
    check_numbers,
    choose_kept,
    choose_named,
    order_for_deletion,
)

VM = "1" * 32
VOLUMES = ["a" * 32, "b" * 32, "c" * 32]


def make_copy(volume_uuid: str, base: str | None) -> VolumeCopy:
    """Return a copy of a volume."""
    mode = "incremental" if base else "full"
    return VolumeCopy(volume_uuid, 0, 1, mode, "", base, "checkpoint", "none", 1, 1, 0, 1, "sum", True)


def make_point(stamp: str, *bases: str | None) -> Point:
    """Return a point with a volume for each base."""
    return Point(VM, stamp, {}, tuple(make_copy(uuid, base) for uuid, base in zip(VOLUMES, bases, strict=False)))


def stamps_from(start: datetime, *hours: float) -> list[str]:
    """Return the stamps so many hours after a time."""
    return [(start + timedelta(hours=each)).strftime("%Y%m%dT%H%M%SZ") for each in hours]


def make_history(chance: random.Random) -> list[Point]:
    """Return the points of a VM whose volumes come, go, and get new chains at any time."""
    points: list[Point] = []
    time = datetime(2026, 1, 1, tzinfo=timezone.utc)
    bases: dict[str, str] = {}
    for dummy in range(chance.randrange(1, 40)):
        time += timedelta(hours=chance.choice([1, 6, 24, 24, 24, 100]))
        stamp = time.strftime("%Y%m%dT%H%M%SZ")
        present = [uuid for uuid in VOLUMES if chance.random() < 0.9] or VOLUMES[:1]
        copies = []
        for uuid in present:
            base = bases.get(uuid) if chance.random() < 0.8 else None
            # An older base is possible too: the increment counts from its checkpoint.
            if base and chance.random() < 0.1:
                base = chance.choice([point.stamp for point in points if point.find(uuid)])
            copies.append(make_copy(uuid, base))
            bases[uuid] = stamp
        points.append(Point(VM, stamp, {}, tuple(copies)))
    return points


def lists_all_bases(points: list[Point], stamps: set[str]) -> bool:
    """Return whether the stamps contain those of all points on which the volumes of their points are based."""
    copies = [copy for point in points if point.stamp in stamps for copy in point.volumes]
    return all(copy.base is None or copy.base in stamps for copy in copies)


def test_no_random_history_loses_a_base() -> None:
    chance = random.Random(51)
    deleted = 0
    for dummy in range(2000):
        points = make_history(chance)
        keep = {rule: chance.choice([None, 0, 1, 2, 7]) for rule in ("last", "daily", "weekly", "monthly")}
        retention = choose_kept(points, keep)
        remaining = {*retention.kept, *retention.bases}
        assert points[-1].stamp in retention.kept
        assert lists_all_bases(points, remaining)
        assert sorted([*retention.kept, *retention.bases, *retention.deleted]) == [point.stamp for point in points]
        # Keeping again deletes nothing more.
        left = [point for point in points if point.stamp in remaining]
        assert choose_kept(left, keep).deleted == []
        deleted += len(retention.deleted)
        # An interrupted deletion leaves whole chains too.
        order = order_for_deletion(points, retention.deleted)
        cut = {point.stamp for point in points} - {*order[: chance.randrange(len(order) + 1)]}
        assert lists_all_bases(points, cut)
    assert deleted > 2000


def test_nothing_is_deleted_unless_asked() -> None:
    points = [make_point(stamp, None) for stamp in stamps_from(datetime(2026, 1, 1), 0, 1, 2)]
    for keep in ({}, {"last": 0, "daily": None}):
        assert choose_kept(points, keep).deleted == []


def test_periods() -> None:
    start = datetime(2026, 1, 1)
    stamps = stamps_from(start, *range(0, 24 * 70, 12))
    points = [make_point(stamp, None) for stamp in stamps]
    assert choose_kept(points, {"last": 3}).kept == stamps[-3:]
    # Of each day the last point, which is that of noon.
    assert choose_kept(points, {"daily": 3}).kept == [stamps[-5], stamps[-3], stamps[-1]]
    weekly = choose_kept(points, {"weekly": 3}).kept
    assert [stamp[:8] for stamp in weekly] == ["20260301", "20260308", "20260311"]
    assert [stamp[:8] for stamp in choose_kept(points, {"monthly": 9}).kept] == ["20260131", "20260228", "20260311"]
    both = choose_kept(points, {"daily": 1, "monthly": 2})
    assert [stamp[:8] for stamp in both.kept] == ["20260228", "20260311"]


def test_bases_are_kept_for_each_volume() -> None:
    first, second, third = stamps_from(datetime(2026, 1, 1), 0, 1, 2)
    points = [make_point(first, None, None), make_point(second, first, None), make_point(third, None, second)]
    retention = choose_kept(points, {"last": 1})
    assert retention.kept == [third]
    # The second volume needs the second point, whose other volume needs the first.
    assert retention.bases == [first, second]


def test_only_points_that_can_be_restored_take_a_place() -> None:
    """A point that cannot be restored stays as long as if it counted, so that a person can look at it."""
    stamps = stamps_from(datetime(2026, 1, 1), *range(0, 24 * 8, 24))
    points = [make_point(stamp, None) for stamp in stamps]
    damaged = {*stamps[3:7]}
    counted = [stamp for stamp in stamps if stamp not in damaged]
    for rule in ("last", "daily"):
        retention = choose_kept(points, {rule: 3}, counted)
        assert retention.kept == [*stamps[1:3], *stamps[5:]]
        assert retention.deleted == [stamps[0], *stamps[3:5]]
    assert choose_kept(points, {"last": 1}, stamps[:1]).kept == [stamps[0], stamps[-1]]


def test_points_of_the_future_take_no_place_and_stay() -> None:
    stamps = stamps_from(datetime(2026, 1, 1), *range(0, 24 * 5, 24))
    points = [make_point(stamp, None) for stamp in stamps]
    assert choose_kept(points, {"daily": 2}, stamps[:4], future=stamps[4:]).kept == stamps[2:]


def test_the_newest_copy_of_a_volume_stays() -> None:
    stamps = stamps_from(datetime(2026, 1, 1), 0, 24, 48)
    points = [make_point(stamp, None) for stamp in stamps]
    assert choose_kept(points, {"last": 1}, stamps, copies=stamps[:1]).kept == [stamps[0], stamps[2]]


@pytest.mark.parametrize("rule", ["last", "daily", "weekly", "monthly"])
def test_a_negative_number_is_refused(rule: str) -> None:
    check_numbers({"last": None, "daily": 0, rule: 0})
    with pytest.raises(BackupFailure, match=f"keep.{rule} must be at least 0, not -1"):
        check_numbers({rule: -1})


def test_named_points() -> None:
    first, second, third = stamps_from(datetime(2026, 1, 1), 0, 1, 2)
    points = [make_point(first, None), make_point(second, first), make_point(third, None)]
    assert choose_named(points, [first, second]).deleted == [first, second]
    assert choose_named(points, ["20000101T000000Z"]).deleted == []
    with pytest.raises(BackupFailure, match=f"{first} is needed by {second}"):
        choose_named(points, [first])
    with pytest.raises(BackupFailure, match="never deleted"):
        choose_named(points, [third])
