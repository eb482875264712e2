from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_sql import _kernels as kernels

from . import oracles
from .pages import Output, random_values, ranges_of, seeds
from .test_variable import offsets_of


@dataclass(frozen=True, slots=True)
class Entries:
    """Entries of a full-zip page, apart and as stored."""

    bits: tuple[int, int]
    max_visible: int
    value_bytes: int
    length_bytes: int
    rep: list[int]
    levels: list[int]
    values: list[bytes]  # of the visible entries
    starts: list[int]
    data: bytes

    @property
    def shape(self) -> tuple[int, int, int, int, int]:
        return (*self.bits, self.max_visible, self.value_bytes, self.length_bytes)


@st.composite
def entries(draw: st.DrawFn, most_bits_rep: int = 12) -> Entries:
    bits_rep = draw(st.integers(0, most_bits_rep))
    bits_def = draw(st.integers(0, 9))
    max_visible = draw(st.integers(0, 3))
    length_bytes = draw(st.sampled_from([0, 4, 8]))
    value_bytes = draw(st.integers(1, 9)) if length_bytes == 0 else 0
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    count = draw(st.integers(0, 40))
    rep = rng.integers(0, 1 << bits_rep, count).tolist()
    levels = rng.integers(0, min(5, 1 << bits_def), count).tolist()
    values, parts, starts = [], [], []
    position = 0
    for r, d in zip(rep, levels, strict=True):
        value = None
        if d <= max_visible:
            stored = rng.bytes(value_bytes if length_bytes == 0 else int(rng.integers(0, 20)))
            value = stored if length_bytes == 0 or d == 0 else None
            values.append(value or b"")
        parts.append(oracles.zip_entry(r, d, (bits_rep, bits_def), length_bytes, value))
        starts.append(position)
        position += len(parts[-1])
    return Entries(
        (bits_rep, bits_def),
        max_visible,
        value_bytes,
        length_bytes,
        rep,
        levels,
        values,
        starts,
        b"".join(parts),
    )


@given(entries(), st.binary(max_size=9), st.sampled_from([32, 64]))
def test_entries_are_taken_apart(page: Entries, before: bytes, offset_bits: int) -> None:
    data = before + page.data + b"\xff" * 3
    bounds = (len(before), len(before) + len(page.data))
    total = sum(map(len, page.values))
    sizes = (len(page.rep), len(page.values), total)
    assert kernels.unzip_scan(data, *bounds, *page.shape) == sizes
    rep, levels = Output(2 * len(page.rep)), Output(2 * len(page.rep))
    offsets, values = Output((len(page.values) + 1) * offset_bits // 8), Output(total)
    found = kernels.unzip(
        data, *bounds, *page.shape, rep.buffer, levels.buffer, offsets.buffer, offset_bits, values.buffer
    )
    assert found == sizes
    assert rep.array("<u2").tolist() == page.rep
    assert levels.array("<u2").tolist() == page.levels
    assert offsets.array(f"<i{offset_bits // 8}").tolist() == offsets_of(page.values).tolist()
    assert values.array().tobytes() == b"".join(page.values)
    assert kernels.unzip(data, *bounds, *page.shape, None, None, None, 32, values.buffer) == sizes


@given(entries(), st.integers(1, 9))
def test_entries_that_end_early_are_refused(page: Entries, missing: int) -> None:
    end = len(page.data) - missing
    if end < 0 or end in page.starts:
        return
    with pytest.raises(ValueError, match="an entry needs"):
        kernels.unzip_scan(page.data, 0, end, *page.shape)


@given(st.data(), st.integers(0, 30), st.integers(0, 12), st.integers(0, 9), st.integers(0, 5), seeds)
def test_fixed_width_rows_are_taken_apart(
    data: st.DataObject, count: int, bits_def: int, value_bytes: int, skipped: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    levels = rng.integers(0, 1 << bits_def, count)
    values = random_values(seed, count * value_bytes, np.uint8).reshape(count, value_bytes)
    parts = [oracles.zip_entry(0, int(d), (0, bits_def), 0, v.tobytes()) for d, v in zip(levels, values, strict=True)]
    skipped = min(skipped, count)
    first = sum(map(len, parts[:skipped]))
    ranges = data.draw(ranges_of(count - skipped)) + skipped
    expected, expected_levels = oracles.take(values, ranges), oracles.take(levels, ranges)
    out, out_def = Output(expected.nbytes), Output(2 * len(expected))
    stored = b"".join(parts)[first:]
    kernels.unzip_fixed(stored, first, ranges, count, bits_def, value_bytes, out.buffer, out_def.buffer)
    assert out.array().tobytes() == expected.tobytes()
    assert out_def.array("<u2").tolist() == expected_levels.tolist()
    kernels.unzip_fixed(stored, first, ranges, count, bits_def, value_bytes, out.buffer, None)
    if len(stored) and skipped:
        with pytest.raises(ValueError, match="are not in bytes"):
            kernels.unzip_fixed(
                stored, first, np.array([0, count]), count, bits_def, value_bytes, bytearray(1000), None
            )


@given(entries(most_bits_rep=0), st.data(), st.sampled_from([32, 64]))
def test_rows_of_variable_width_are_found_by_their_starts(page: Entries, data: st.DataObject, offset_bits: int) -> None:
    if page.length_bytes == 0:
        return
    rows = data.draw(st.lists(st.sampled_from(range(len(page.starts))), max_size=9)) if page.starts else []
    decoded = iter(page.values)
    by_entry = [next(decoded) if d <= page.max_visible else b"" for d in page.levels]
    expected = [by_entry[row] for row in rows]
    starts = np.array([page.starts[row] for row in rows], np.int64)
    args = (page.data, starts, len(rows), page.bits[1], page.length_bytes)
    out_def, out_offsets = Output(2 * len(rows)), Output((len(rows) + 1) * offset_bits // 8)
    total = kernels.unzip_row_offsets(*args, out_def.buffer, out_offsets.buffer, offset_bits)
    assert out_offsets.array(f"<i{offset_bits // 8}").tolist() == offsets_of(expected).tolist()
    assert out_def.array("<u2").tolist() == [page.levels[row] for row in rows]
    out = Output(total)
    assert kernels.unzip_row_bytes(*args, out.buffer) == total
    assert out.array().tobytes() == b"".join(expected)


@pytest.mark.parametrize("length", [5, 2**31, 2**32 - 1, 2**63, 2**64 - 1])
def test_lengths_beyond_the_data_are_refused(length: int) -> None:
    data = length.to_bytes(8, "little") + b"abcd"
    with pytest.raises(ValueError, match="bytes"):
        kernels.unzip_scan(data, 0, 12, 0, 0, 0, 0, 8)
    with pytest.raises(ValueError, match="bytes"):
        kernels.unzip_row_bytes(data, np.array([0]), 1, 0, 8, bytearray(12))


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((0, 0, 0, 0, 0), "entries of no bytes"),
        ((17, 0, 0, 4, 0), "up to 16"),
        ((0, 0, 0, 0, 2), "lengths of 2 bytes"),
    ],
)
def test_impossible_shapes_are_refused(shape: tuple[int, int, int, int, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        kernels.unzip_scan(bytes(8), 0, 8, *shape)


@pytest.mark.parametrize("start", [-1, 13, 2**62])
def test_row_starts_outside_of_the_data_are_refused(start: int) -> None:
    with pytest.raises(ValueError, match="row start"):
        kernels.unzip_row_bytes(bytes(12), np.array([start]), 1, 0, 4, bytearray(12))
