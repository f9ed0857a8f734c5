"""A model of a site that is backed up each night: what happens by day, and what each night must leave.

It knows what the guides promise, and nothing of the code that keeps it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from random import Random

MIB = 1 << 20
CLUSTER = 64 << 10

FULL, INCREMENTAL, COMPARED, MIXED = "full", "incremental", "compared", "mixed"

FIRST_NIGHT = datetime(2026, 1, 5, 2, tzinfo=timezone.utc)

# By how much the clock is ahead for one night. By a day alone, its point would have the name of the next night's.
AHEAD = timedelta(days=1, hours=3)

# From when on a point is one of the future.
TOLERANCE = timedelta(hours=1)

STAMP = "%Y%m%dT%H%M%SZ"

# What happens to VMs by day, and before nights to all.
STOPPED, STARTED, RESTARTED, REMOVED, RENAMED = "stopped", "started", "restarted", "removed", "renamed"
GROWN, LEFT_OUT, EXCLUDED, ENCRYPTED, DAMAGED = "grown", "left out", "excluded", "encrypted", "damaged"
UNMOUNTED, CLOCK_AHEAD = "unmounted", "clock ahead"


@dataclass(frozen=True)
class Plan:
    """How many VMs are copied in how many nights, by which rules."""

    vms: int
    nights: int
    full_every: int
    compare_every: int
    daily: int
    samples: int
    """How many points are restored after each night."""


@dataclass(frozen=True)
class Event:
    """What happens on the day before a night, to the VM of this number, None for what is about the whole night."""

    kind: str
    vm: int | None = None


Schedule = dict[int, list[Event]]


def has_data(number: int) -> bool:
    """Return whether the VM of this number has a data volume. One of three VMs has one."""
    return number % 3 == 1


def schedule_few(plan: Plan) -> Schedule:
    """Return each event once, for four VMs in six nights."""
    return {
        1: [Event(STOPPED, 0), Event(GROWN, 1), Event(ENCRYPTED, 1), Event(DAMAGED, 2), Event(RESTARTED, 3)],
        2: [Event(LEFT_OUT, 1), Event(CLOCK_AHEAD)],
        3: [Event(STARTED, 0), Event(RENAMED, 1)],
        4: [Event(UNMOUNTED), Event(EXCLUDED, 3)],
        5: [Event(REMOVED, 0)],
    }


def schedule_many(plan: Plan, chance: Random) -> Schedule:
    """Return events at random nights of random VMs, which are enough for all of them."""
    schedule: Schedule = {night: [] for night in range(plan.nights)}
    last = plan.nights - 1
    numbers = list(range(plan.vms))
    chance.shuffle(numbers)
    # A VM that has gone has no further events, and damage is found before the end: at the latest, a chain ends.
    gone = [numbers.pop() for dummy in range(4)]
    for number, kind in zip(gone, (REMOVED, REMOVED, EXCLUDED, EXCLUDED), strict=True):
        schedule[chance.randrange(5, last)].append(Event(kind, number))
    two = [number for number in numbers if has_data(number)]
    wanted = ((RESTARTED, 12, numbers), (RENAMED, 5, numbers), (GROWN, 8, numbers), (LEFT_OUT, 4, two))
    for kind, count, among in (*wanted, (ENCRYPTED, 4, numbers)):
        for number in chance.sample(among, count):
            schedule[chance.randrange(1, plan.nights)].append(Event(kind, number))
    for number in chance.sample(numbers, 5):
        schedule[chance.randrange(2, plan.nights - plan.full_every - 2)].append(Event(DAMAGED, number))
    for number in chance.sample(numbers, 8):
        stopped = chance.randrange(1, last - 4)
        schedule[stopped].append(Event(STOPPED, number))
        schedule[stopped + chance.randrange(1, 5)].append(Event(STARTED, number))
    unmounted, ahead = chance.sample(range(plan.daily + 2, last - 3, 3), 2)
    schedule[unmounted].append(Event(UNMOUNTED))
    schedule[ahead].append(Event(CLOCK_AHEAD))
    return schedule


@dataclass
class Volume:
    """A volume as its guest has written it. ``checkpoint`` is the bitmap that its host has, by the night's point."""

    uuid: str
    name: str
    content: bytearray
    is_left_out: bool = False
    is_encrypted: bool = False
    checkpoint: str | None = None


@dataclass
class Copy:
    """The copy of a volume in a point. A damaged one is ``known`` when the mover has noticed."""

    size: int
    digest: str
    mode: str
    base: str | None
    checkpoint: str | None
    is_damaged: bool = False
    is_known: bool = False


@dataclass
class Point:
    """A point, with its copies and the volumes that it lacks on purpose, by their uuids."""

    stamp: str
    copies: dict[str, Copy]
    left_out: list[str]

    @property
    def mode(self) -> str:
        """The mode of the point."""
        modes = {copy.mode for copy in self.copies.values()}
        return modes.pop() if len(modes) == 1 else MIXED

    @property
    def time(self) -> datetime:
        """When it was made, by the clock of its night."""
        return read_stamp(self.stamp)


@dataclass
class Made:
    """What a night must say about a VM. ``notes`` are pairs of a point, or a volume, and a word about it."""

    outcome: str
    point: str | None = None
    deleted: list[str] = field(default_factory=list)
    notes: set[tuple[str, str]] = field(default_factory=set)
    found_damage: bool = False


@dataclass
class Vm:
    """A VM with what its points must be."""

    number: int
    uuid: str
    name: str
    volumes: list[Volume]
    state: str = "Running"
    is_removed: bool = False
    is_excluded: bool = False
    points: list[Point] = field(default_factory=list)

    @property
    def is_copied(self) -> bool:
        """Whether the nights copy the VM."""
        return not (self.is_removed or self.is_excluded)

    def find(self, stamp: str) -> Point:
        """Return a point."""
        return next(point for point in self.points if point.stamp == stamp)

    def list_chain(self, stamp: str, uuid: str) -> Iterator[Copy]:
        """Yield the copy of a volume in a point, and those that it needs."""
        needed: str | None = stamp
        while needed:
            copy = self.find(needed).copies[uuid]
            yield copy
            needed = copy.base

    def is_sound(self, point: Point) -> bool:
        """Return whether a point can be restored."""
        return not any(copy.is_damaged for uuid in point.copies for copy in self.list_chain(point.stamp, uuid))

    def seems_whole(self, point: Point) -> bool:
        """Return whether nobody knows anything against a point."""
        return not any(copy.is_known for uuid in point.copies for copy in self.list_chain(point.stamp, uuid))

    def lose_checkpoints(self) -> None:
        """Forget what the host knows of writes."""
        for volume in self.volumes:
            volume.checkpoint = None

    # --------------------------------------------------------------------------------------------------- the night

    def back_up(self, plan: Plan, now: datetime) -> Made:
        """Add the point of a night, and delete those that are not kept any more."""
        present = self.list_present(now)
        wanted = self._choose(plan, present)
        sent = None if self.state == "Stopped" or wanted != INCREMENTAL else self._choose_checkpoint(present)
        stamp = now.strftime(STAMP)
        if present and present[-1].stamp >= stamp:
            stamp = (present[-1].time + timedelta(seconds=1)).strftime(STAMP)
        known = sum(copy.is_known for point in self.points for copy in point.copies.values())
        copies = {
            volume.uuid: self._copy(volume, wanted, sent, stamp, present)
            for volume in self.volumes
            if not volume.is_left_out
        }
        found_damage = sum(copy.is_known for point in self.points for copy in point.copies.values()) > known
        if self.state == "Running":
            for volume in self.volumes:
                volume.checkpoint = stamp
        left_out = [volume.uuid for volume in self.volumes if volume.is_left_out]
        point = Point(stamp, copies, left_out)
        self.points = sorted([*self.points, point], key=lambda each: each.stamp)
        notes = {(each.stamp, "of the future") for each in self.points if is_future(each, now)}
        notes |= {(each.stamp, "not whole") for each in self.points if not self.seems_whole(each)}
        notes |= {(volume.uuid, "encrypts") for volume in self.volumes if volume.is_encrypted and volume.uuid in copies}
        return Made(point.mode, stamp, self._delete(plan, now), notes, found_damage)

    def list_present(self, now: datetime) -> list[Point]:
        """Return the points that are not of the future."""
        return [point for point in self.points if not is_future(point, now)]

    def _choose(self, plan: Plan, present: Sequence[Point]) -> str:
        """Return how the next point is made, as far as the rules and what the repository has say it."""
        modes = [point.mode for point in present if self.seems_whole(point)]
        if not modes or _is_due(modes, (FULL,), plan.full_every):
            return FULL
        if _is_due(modes, (FULL, COMPARED), plan.compare_every) or self.state == "Stopped":
            return COMPARED
        return INCREMENTAL if self._choose_checkpoint(present) else COMPARED

    def _choose_checkpoint(self, present: Sequence[Point]) -> str | None:
        """Return the newest checkpoint of the copies on which increments can be based."""
        uuids = present[-1].copies if present else ()
        bases = [self._list_bases(uuid, present)[:1] for uuid in uuids]
        found = [(stamp, copy.checkpoint) for each in bases for stamp, copy in each if copy.checkpoint]
        return max(found)[1] if found else None

    def _list_bases(self, uuid: str, present: Iterable[Point]) -> list[tuple[str, Copy]]:
        """Return the copies of a volume that nobody knows to be damaged, newest first."""
        having = [point for point in present if uuid in point.copies]
        return [
            (point.stamp, point.copies[uuid])
            for point in reversed(having)
            if not any(copy.is_known for copy in self.list_chain(point.stamp, uuid))
        ]

    def _copy(self, volume: Volume, wanted: str, sent: str | None, stamp: str, present: Sequence[Point]) -> Copy:
        """Return the copy of a volume. A comparison finds out that its base is damaged."""
        bases = self._list_bases(volume.uuid, present)
        checkpoint = stamp if self.state == "Running" else None
        made = Copy(len(volume.content), digest(volume.content), wanted, None, checkpoint)
        if not bases or wanted == FULL:
            made.mode = FULL
            return made
        having = [base for base, copy in bases if sent and copy.checkpoint == sent == volume.checkpoint]
        if wanted == INCREMENTAL and having:
            made.base = having[0]
            return made
        made.mode, made.base = COMPARED, bases[0][0]
        damaged = [copy for copy in self.list_chain(made.base, volume.uuid) if copy.is_damaged]
        for copy in damaged:
            copy.is_known = True
        if damaged:
            made.mode, made.base = FULL, None
        return made

    def _delete(self, plan: Plan, now: datetime) -> list[str]:
        """Delete the points that are not kept: neither for a day, nor as the newest of something, nor for others."""
        present = self.list_present(now)
        kept = {self.points[-1].stamp} | {point.stamp for point in self.points if is_future(point, now)}
        for points in (present, [point for point in present if self.seems_whole(point)]):
            newest = {point.time.date(): point.stamp for point in points}
            kept |= {newest[day] for day in sorted(newest)[-plan.daily :]}
        for uuid in {uuid for point in self.points for uuid in point.copies}:
            kept |= {stamp for stamp, dummy in self._list_bases(uuid, present)[:1]}
        needed: set[str | None] = set()
        for point in reversed(self.points):
            if point.stamp in kept | needed:
                needed |= {point.stamp, *(copy.base for copy in point.copies.values())}
        deleted = [point.stamp for point in self.points if point.stamp not in needed]
        self.points = [point for point in self.points if point.stamp in needed]
        return deleted


def _is_due(modes: Sequence[str], wanted: Sequence[str], every: int) -> bool:
    """Return whether it is the turn of a point of these modes, of which each ``every``-th is one."""
    last = modes[len(modes) - every + 1 :]
    return len(modes) >= every - 1 and not set(last) & set(wanted)


def is_future(point: Point, now: datetime) -> bool:
    """Return whether the clock was ahead when a point was made."""
    return point.time > now + TOLERANCE


def read_stamp(stamp: str) -> datetime:
    """Return the time of a point."""
    return datetime.strptime(stamp, STAMP).replace(tzinfo=timezone.utc)


def digest(content: bytes | bytearray) -> str:
    """Return the checksum of what a volume has."""
    return hashlib.sha256(content).hexdigest()
