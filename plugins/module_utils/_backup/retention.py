"""Which points are kept. Pure functions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from .failures import BackupFailure
from .manifest import Point, read_stamp

# For each rule the period of which it keeps the newest point. ``last`` counts the points themselves.
PERIODS: Mapping[str, Callable[[datetime], tuple[int, ...]]] = {
    "last": lambda time: (*time.timetuple()[:6],),
    "daily": lambda time: (time.year, time.month, time.day),
    "weekly": lambda time: (*time.isocalendar(),)[:2],
    "monthly": lambda time: (time.year, time.month),
}


class Retention(NamedTuple):
    """What becomes of points, each in the order of time. ``bases`` are kept only because others need them."""

    kept: list[str]
    bases: list[str]
    deleted: list[str]


def check_numbers(keep: Mapping[str, int | None]) -> None:
    """Raise BackupFailure for numbers of points that make no sense."""
    for rule, number in keep.items():
        if number is not None and number < 0:
            raise BackupFailure(f"keep.{rule} must be at least 0, not {number}")


def choose_kept(
    points: Sequence[Point],
    keep: Mapping[str, int | None],
    counted: Collection[str] | None = None,
    future: Collection[str] = (),
    copies: Collection[str] = (),
) -> Retention:
    """Return what becomes of the points of a VM, oldest first, by the numbers to keep for each of PERIODS.

    The newest point is always kept, those of the future, those with the newest ``copies`` of volumes, and all points if
    no number is given. Only the points in ``counted`` take a place, without it all. Another point, unless it is of the
    future, is kept as long as it would be if it counted.
    """
    if not any(keep.get(rule) for rule in PERIODS):
        return Retention([point.stamp for point in points], [], [])
    wanted = {point.stamp for point in points[-1:]}.union(future, copies)
    times = {point.stamp: read_stamp(point.stamp) for point in points if point.stamp not in future}
    whole = {point.stamp: read_stamp(point.stamp) for point in points if counted is None or point.stamp in counted}
    for rule, period_of in PERIODS.items():
        for candidates in (times, whole):
            wanted |= _choose_newest(candidates, period_of, keep.get(rule) or 0)
    return _split(points, wanted)


def choose_named(points: Sequence[Point], names: Collection[str]) -> Retention:
    """Return what becomes of the points if those named are deleted. Names that no point has are ignored.

    Raise BackupFailure if the newest point is among them, or one that another point needs.
    """
    if points and points[-1].stamp in names:
        raise BackupFailure(f"{points[-1].stamp} is the newest point of the VM, which is never deleted")
    wanted = {point.stamp for point in points if point.stamp not in names}
    retention = _split(points, wanted)
    if retention.bases:
        needing = {base: _list_dependents(points, base, wanted) for base in retention.bases}
        needed = "; ".join(f"{base} is needed by {', '.join(stamps)}" for base, stamps in needing.items())
        raise BackupFailure(f"cannot delete points that others need: {needed}. Delete the others too")
    return retention


def close_over_bases(points: Iterable[Point], wanted: Collection[str]) -> set[str]:
    """Return the stamps with those of all points on which their volumes are based."""
    by_stamp = {point.stamp: point for point in points}
    closed: set[str] = set()
    pending = [stamp for stamp in wanted if stamp in by_stamp]
    while pending:
        stamp = pending.pop()
        if stamp not in closed:
            closed.add(stamp)
            bases = {volume.base for volume in by_stamp[stamp].volumes}
            pending.extend(base for base in bases if base is not None and base in by_stamp)
    return closed


def order_for_deletion(points: Sequence[Point], deleted: Collection[str]) -> list[str]:
    """Return stamps so that each point comes before those that it needs: an interruption leaves whole chains."""
    return [point.stamp for point in reversed(points) if point.stamp in deleted]


def _choose_newest(
    times: Mapping[str, datetime], period_of: Callable[[datetime], tuple[int, ...]], number: int
) -> set[str]:
    """Return the newest stamp of each of the last ``number`` periods that have one. ``times`` are those of stamps."""
    newest = {period_of(time): stamp for stamp, time in times.items()}
    return set(list(newest.values())[-number:] if number else [])


def _split(points: Sequence[Point], wanted: Collection[str]) -> Retention:
    closed = close_over_bases(points, wanted)
    stamps = [point.stamp for point in points]
    return Retention(
        [stamp for stamp in stamps if stamp in wanted],
        [stamp for stamp in stamps if stamp in closed and stamp not in wanted],
        [stamp for stamp in stamps if stamp not in closed],
    )


def _list_dependents(points: Sequence[Point], base: str, among: Collection[str]) -> list[str]:
    return [point.stamp for point in points if point.stamp in among and base in close_over_bases(points, [point.stamp])]
