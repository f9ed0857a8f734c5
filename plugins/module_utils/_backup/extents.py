"""Pure functions over extents: parts of a volume, as offsets and lengths in bytes."""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from .failures import BackupFailure

# The cluster size of our images. Whole clusters are copied, so QEMU never has to complete one from its base.
CLUSTER = 64 << 10
CHUNK = 512 << 10

# What a share of a volume consists of. So each part of a volume stays in its share when the volume grows or fills.
STRIPE = 4 << 20

_ZEROS = bytes(CLUSTER)


class Extent(NamedTuple):
    """A part of a volume."""

    offset: int
    length: int

    @property
    def end(self) -> int:
        """The offset after the last byte."""
        return self.offset + self.length


class Piece(NamedTuple):
    """A part of a volume with its content. ``is_zero`` says that all its bytes are zero."""

    offset: int
    data: memoryview
    is_zero: bool


class Share(NamedTuple):
    """A share of all stripes of a volume, or of all files of a chain: the one of this number, of ``total``."""

    number: int
    total: int

    def has(self, number: int) -> bool:
        """Return whether the stripe or file of this number is in the share."""
        return number % self.total == self.number

    def cut(self, extents: Iterable[Extent]) -> Iterator[Extent]:
        """Yield the parts of extents that are in the stripes of the share."""
        for extent in extents:
            for stripe in range(extent.offset // STRIPE, -(-extent.end // STRIPE)):
                if self.has(stripe):
                    start, end = max(extent.offset, stripe * STRIPE), min(extent.end, (stripe + 1) * STRIPE)
                    yield Extent(start, end - start)


def align(extents: Iterable[Extent], size: int) -> list[Extent]:
    """Return sorted extents of whole clusters that cover these within a volume of ``size`` bytes, without overlaps."""
    aligned: list[Extent] = []
    for extent in sorted(extents):
        start = extent.offset // CLUSTER * CLUSTER
        end = min(-(-extent.end // CLUSTER) * CLUSTER, size)
        if end <= start:
            continue
        if aligned and start <= aligned[-1].end:
            start = aligned[-1].offset
            end = max(end, aligned.pop().end)
        aligned.append(Extent(start, end - start))
    return aligned


def cut_before(extents: Iterable[Extent], start: int) -> list[Extent]:
    """Return the parts of extents that begin at ``start`` or behind it."""
    return [
        Extent(max(extent.offset, start), extent.end - max(extent.offset, start))
        for extent in extents
        if extent.end > start
    ]


def count_bytes(extents: Iterable[Extent]) -> int:
    """Return the sum of the lengths."""
    return sum(extent.length for extent in extents)


def split(extents: Iterable[Extent]) -> Iterator[Extent]:
    """Yield the extents in chunks of at most CHUNK bytes."""
    for extent in extents:
        for offset in range(extent.offset, extent.end, CHUNK):
            yield Extent(offset, min(CHUNK, extent.end - offset))


def find_content(data: bytearray, offset: int) -> Iterator[Piece]:
    """Yield the content of a chunk that begins at ``offset``, in runs of clusters with and without zeros only."""
    return _join(range(0, len(data), CLUSTER), data, offset)


def find_differences(new: bytearray, old: bytearray, offset: int) -> Iterator[Piece]:
    """Yield the new content of the clusters in which two chunks of one length differ, in runs as `find_content`."""
    if new == old:
        return iter(())
    starts = (
        start for start in range(0, len(new), CLUSTER) if new[start : start + CLUSTER] != old[start : start + CLUSTER]
    )
    return _join(starts, new, offset)


def _join(starts: Iterable[int], data: bytearray, offset: int) -> Iterator[Piece]:
    """Yield the clusters of a chunk that begin at ``starts``. Neighbours of one kind become one piece."""
    view = memoryview(data)
    first, end, is_zero = 0, 0, False
    for start in starts:
        of_zeros = _is_zero(data, start)
        if start != end or of_zeros != is_zero or end == 0:
            if end > first:
                yield Piece(offset + first, view[first:end], is_zero)
            first, is_zero = start, of_zeros
        end = min(start + CLUSTER, len(data))
    if end > first:
        yield Piece(offset + first, view[first:end], is_zero)


def decode_bitmap(text: str) -> list[Extent]:
    """Return the extents of a ``bitmapBase64``: base64 of zlib of JSON, lengths by offsets, which are strings.

    Raise BackupFailure for anything else.
    """
    try:
        lengths = json.loads(zlib.decompress(base64.b64decode(text, validate=True)))
        return sorted(Extent(int(offset), int(length)) for offset, length in lengths.items())
    except (AttributeError, TypeError, ValueError, binascii.Error, zlib.error) as error:
        raise BackupFailure(f"the bitmap in the reply of the service cannot be decoded: {error}") from error


def _is_zero(data: bytearray, start: int) -> bool:
    """Return whether a cluster of a chunk is zero. This compares memory and copies nothing."""
    length = min(CLUSTER, len(data) - start)
    return data.startswith(_ZEROS if length == CLUSTER else _ZEROS[:length], start)
