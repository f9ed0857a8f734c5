"""What is done with the content of two exports: copy, copy what differs, compare."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from .connection import Connection, list_data
from .extents import Extent, Piece, align, find_content, find_differences, split
from .failures import NotEqual
from .meter import Meter
from .pipeline import Pipeline


@dataclass
class Counts:
    """Bytes that were read from the source, written to the target, and zeroed there; and the extents of both."""

    read: int = 0
    written: int = 0
    zeroed: int = 0
    extents: list[Extent] = field(default_factory=list)

    def note(self, piece: Piece) -> None:
        """Note where a piece is written. Pieces mostly come in the order of the volume, so that few extents remain."""
        last = self.extents[-1] if self.extents else None
        if last and last.end == piece.offset:
            self.extents[-1] = Extent(last.offset, last.length + len(piece.data))
        else:
            self.extents.append(Extent(piece.offset, len(piece.data)))


def list_non_zero(first: Connection, second: Connection, size: int) -> list[Extent]:
    """Return the clusters in the first ``size`` bytes of two exports that are not known to be zero in both."""
    return align([*list_data(first), *list_data(second)], size)


class _Writer:
    """Writes pieces to a target and counts them."""

    def __init__(self, pipeline: Pipeline, target: Connection, counts: Counts) -> None:
        self._pipeline, self._target, self._counts = pipeline, target, counts

    def write(self, piece: Piece) -> None:
        """Start to write a piece, as zeros if it is zero."""
        self._counts.note(piece)
        if piece.is_zero:
            self._counts.zeroed += len(piece.data)
            self._pipeline.zero(self._target, len(piece.data), piece.offset)
        else:
            self._counts.written += len(piece.data)
            self._pipeline.write(self._target, piece.data, piece.offset)


def copy(source: Connection, target: Connection, extents: Iterable[Extent], skip_zeros: bool, meter: Meter) -> Counts:
    """Copy extents. ``skip_zeros`` is for a target that is zero already; above a base, zeros must hide its content."""
    counts = Counts()
    pipeline = Pipeline(meter, source, target)
    writer = _Writer(pipeline, target, counts)

    def start(chunk: Extent) -> None:
        pipeline.read(source, chunk, lambda data: use(chunk, data))

    def use(chunk: Extent, data: bytearray) -> None:
        counts.read += chunk.length
        for piece in find_content(data, chunk.offset):
            if not (piece.is_zero and skip_zeros):
                writer.write(piece)

    pipeline.run(split(extents), start)
    pipeline.flush(target)
    return counts


def copy_differences(source: Connection, target: Connection, extents: Iterable[Extent], meter: Meter) -> Counts:
    """Read extents of both, and write to the target what differs."""
    counts = Counts()
    pipeline = Pipeline(meter, source, target)
    writer = _Writer(pipeline, target, counts)

    def use(chunk: Extent, new: bytearray, old: bytearray) -> None:
        counts.read += chunk.length
        for piece in find_differences(new, old, chunk.offset):
            writer.write(piece)

    _read_both(pipeline, source, target, extents, use)
    pipeline.flush(target)
    return counts


def zero(target: Connection, extents: Iterable[Extent], meter: Meter) -> Counts:
    """Make everything in these extents zero that is not."""
    counts = Counts()
    pipeline = Pipeline(meter, target)

    def use(chunk: Extent, data: bytearray) -> None:
        counts.read += chunk.length
        for piece in find_content(data, chunk.offset):
            if not piece.is_zero:
                counts.zeroed += len(piece.data)
                pipeline.zero(target, len(piece.data), piece.offset)

    pipeline.run(split(extents), lambda chunk: pipeline.read(target, chunk, lambda data: use(chunk, data)))
    pipeline.flush(target)
    return counts


def compare(first: Connection, second: Connection, extents: Iterable[Extent], meter: Meter) -> None:
    """Raise NotEqual if two exports differ in these extents."""

    def use(chunk: Extent, one: bytearray, other: bytearray) -> None:
        if one != other:
            offset = next(find_differences(one, other, chunk.offset)).offset
            raise NotEqual(f"{second.name} differs from {first.name} at {offset}", offset)

    _read_both(Pipeline(meter, first, second), first, second, extents, use)


def _read_both(
    pipeline: Pipeline,
    first: Connection,
    second: Connection,
    extents: Iterable[Extent],
    use: Callable[[Extent, bytearray, bytearray], None],
) -> None:
    """Read extents of two exports. ``use`` gets the chunks of both."""

    def start(chunk: Extent) -> None:
        arrived: dict[bool, bytearray] = {}

        def take(data: bytearray, is_first: bool) -> None:
            arrived[is_first] = data
            if len(arrived) == 2:
                use(chunk, arrived[True], arrived[False])

        pipeline.read(first, chunk, lambda data: take(data, True))
        pipeline.read(second, chunk, lambda data: take(data, False))

    pipeline.run(split(extents), start)
