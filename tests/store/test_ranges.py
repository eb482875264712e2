"""Requests for byte ranges: they cover the requested bytes, and few others."""

from __future__ import annotations

from itertools import pairwise

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from lance_sql.store import ByteRange
from lance_sql.store import ranges as store_ranges
from lance_sql.store.ranges import GAP_BYTES, cut_out, merge

FILE = bytes(i * 31 % 251 for i in range(600))

ranges = st.lists(
    st.tuples(st.integers(0, 500), st.integers(0, 60)).map(lambda pair: ByteRange(pair[0], pair[0] + pair[1])),
    max_size=20,
)


@given(ranges, st.integers(0, 50), st.integers(1, 200))
def test_every_range_is_cut_out_of_the_parts(wanted: list[ByteRange], gap: int, part_bytes: int) -> None:
    parts, placements = merge(wanted, gap, part_bytes)
    contents = [pa.py_buffer(FILE[start:end]) for start, end in parts]
    found = cut_out(wanted, placements, contents)
    assert [buffer.to_pybytes() for buffer in found] == [FILE[start:end] for start, end in wanted]


@given(ranges, st.integers(0, 50), st.integers(1, 200))
def test_parts_ascend_without_overlap_and_stay_small(wanted: list[ByteRange], gap: int, part_bytes: int) -> None:
    parts, _ = merge(wanted, gap, part_bytes)
    assert all(end - start <= part_bytes for start, end in parts)
    assert all(before.end <= after.start for before, after in pairwise(parts))


def test_near_ranges_become_one_and_far_ones_stay() -> None:
    parts, _ = merge([ByteRange(0, 10), ByteRange(12, 20), ByteRange(100, 110)], gap=4, part_bytes=1000)
    assert parts == [ByteRange(0, 20), ByteRange(100, 110)]


def test_a_long_range_is_divided_evenly() -> None:
    parts, placements = merge([ByteRange(0, 900)], gap=4, part_bytes=400)
    assert parts == [ByteRange(0, 300), ByteRange(300, 600), ByteRange(600, 900)]
    assert placements == [(0, 0)]


def test_more_is_never_read_over_than_is_wanted_but_for_a_little() -> None:
    """Bytes that lie a megabyte apart through a large file do not become the file."""
    step = store_ranges.ROUND_TRIP_BYTES
    few = [ByteRange(i * step, i * step + 10) for i in range(4)]
    assert len(merge(few)[0]) == 1
    many = [ByteRange(i * step, i * step + 10) for i in range(100)]
    assert len(merge(many)[0]) == 100
    near = [ByteRange(i * GAP_BYTES, i * GAP_BYTES + 10) for i in range(1000)]
    assert sum(end - start for start, end in merge(near)[0]) == near[-1].end
