"""Merging of byte ranges: what was asked for is inside, and nothing needless is."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lance_sql.store import ByteRange
from lance_sql.store.ranges import merge

ranges = st.lists(
    st.tuples(st.integers(0, 500), st.integers(0, 60)).map(lambda pair: ByteRange(pair[0], pair[0] + pair[1])),
    max_size=20,
)


@given(ranges, st.integers(0, 50), st.integers(1, 200))
def test_every_range_lies_where_the_placement_says(wanted: list[ByteRange], gap: int, max_size: int) -> None:
    merged, placements = merge(wanted, gap, max_size)
    for (start, end), (part, offset) in zip(wanted, placements, strict=True):
        assert merged[part].start + offset == start
        assert end <= merged[part].end


@given(ranges, st.integers(0, 50), st.integers(1, 200))
def test_merged_ranges_ascend_and_stay_small(wanted: list[ByteRange], gap: int, max_size: int) -> None:
    merged, _ = merge(wanted, gap, max_size)
    longest = max((end - start for start, end in wanted), default=0)
    assert merged == sorted(merged)
    assert all(end - start <= max(max_size, longest) for start, end in merged)


def test_near_ranges_become_one_and_far_ones_stay() -> None:
    merged, _ = merge([ByteRange(0, 10), ByteRange(12, 20), ByteRange(100, 110)], gap=4, max_size=1000)
    assert merged == [ByteRange(0, 20), ByteRange(100, 110)]
