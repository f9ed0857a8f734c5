"""Extents and the content of chunks."""

from __future__ import annotations

import base64
import zlib
from itertools import pairwise

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._backup.extents import (
    CHUNK,
    CLUSTER,
    STRIPE,
    Extent,
    Share,
    align,
    count_bytes,
    cut_before,
    decode_bitmap,
    find_content,
    find_differences,
    split,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._backup.failures import BackupFailure
from hypothesis import given
from hypothesis import strategies as st

from support.kvm_host import encode_bitmap

SIZE = 5 * CLUSTER + 1000
EXTENTS = st.lists(st.builds(Extent, st.integers(0, SIZE - 1), st.integers(1, 2 * CLUSTER)), max_size=5)
# Clusters of zeros, of ones, and mixed ones.
CONTENT = st.lists(st.sampled_from([bytes(CLUSTER), b"1" * CLUSTER, bytes(9) + b"1" * (CLUSTER - 9)]), max_size=6)


def covered(extents: list[Extent]) -> set[int]:
    """Return the clusters that extents touch."""
    return {
        number
        for extent in extents
        for number in range(extent.offset // CLUSTER, (min(extent.end, SIZE) - 1) // CLUSTER + 1)
    }


@given(EXTENTS)
def test_aligned_extents_are_whole_clusters(extents: list[Extent]) -> None:
    aligned = align(extents, SIZE)
    assert covered(aligned) == covered(extents)
    assert all(extent.offset % CLUSTER == 0 and (extent.end % CLUSTER == 0 or extent.end == SIZE) for extent in aligned)
    assert all(first.end < second.offset for first, second in pairwise(aligned))


@given(EXTENTS, st.integers(0, SIZE))
def test_what_lies_behind_an_offset(extents: list[Extent], start: int) -> None:
    cut = cut_before(extents, start)
    assert all(extent.offset >= start and extent.length > 0 for extent in cut)
    assert count_bytes(cut) == sum(max(0, extent.end - max(start, extent.offset)) for extent in extents)


@given(
    st.lists(st.builds(Extent, st.integers(0, 9 * STRIPE), st.integers(1, 5 * STRIPE)), max_size=3),
    st.integers(1, 5),
)
def test_the_shares_of_a_volume_are_the_whole_of_it(extents: list[Extent], count: int) -> None:
    """Each part is in one share, which does not depend on what else the volume has."""
    size = 15 * STRIPE
    whole = align(extents, size)
    shares = [list(Share(number, count).cut(whole)) for number in range(count)]
    assert align([extent for share in shares for extent in share], size) == whole
    assert sum(map(count_bytes, shares)) == count_bytes(whole)
    for number, share in enumerate(shares):
        assert all(extent.offset // STRIPE % count == number for extent in share)


def test_chunks() -> None:
    chunks = list(split([Extent(CLUSTER, 2 * CHUNK + 5), Extent(9 * CHUNK, 7)]))
    assert [chunk.length for chunk in chunks] == [CHUNK, CHUNK, 5, 7]
    assert [chunk.offset for chunk in chunks] == [CLUSTER, CLUSTER + CHUNK, CLUSTER + 2 * CHUNK, 9 * CHUNK]


@given(CONTENT, st.integers(0, 700))
def test_content_is_found(clusters: list[bytes], cut: int) -> None:
    data = bytearray(b"".join(clusters))
    data = data[: len(data) - cut]
    pieces = list(find_content(data, CHUNK))
    assert b"".join(piece.data for piece in pieces) == data
    assert all(piece.is_zero == (not any(piece.data)) for piece in pieces)
    assert all(one.is_zero != other.is_zero for one, other in pairwise(pieces))


@given(CONTENT, st.data())
def test_differences_make_one_of_the_other(clusters: list[bytes], data: st.DataObject) -> None:
    new = bytearray(b"".join(clusters))
    others = [data.draw(st.sampled_from([cluster, bytes(CLUSTER), b"2" * CLUSTER])) for cluster in clusters]
    old = bytearray(b"".join(others))
    written = 0
    for piece in find_differences(new, old, 3 * CHUNK):
        start = piece.offset - 3 * CHUNK
        old[start : start + len(piece.data)] = bytes(len(piece.data)) if piece.is_zero else piece.data
        written += len(piece.data)
    assert old == new
    differing = sum(one != other for one, other in zip(clusters, others, strict=True))
    assert written == differing * CLUSTER


def test_the_bitmap_of_a_reply() -> None:
    assert decode_bitmap(encode_bitmap([(CHUNK, 5), (0, CLUSTER)])) == [Extent(0, CLUSTER), Extent(CHUNK, 5)]
    for wrong in ("", "???", base64.b64encode(b"x").decode(), base64.b64encode(zlib.compress(b"[1]")).decode()):
        with pytest.raises(BackupFailure, match="cannot be decoded"):
            decode_bitmap(wrong)
