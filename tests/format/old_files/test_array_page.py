"""Pages without levels, built by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

from lance_sql.errors import CorruptFile, UnsupportedFeature
from lance_sql.format.encodings.tree import (
    Compression,
    Constant,
    Encoding,
    FixedSizeList,
    Flat,
    Fsst,
    General,
    OutOfLineBitpacking,
    PackedStruct,
    Rle,
)
from lance_sql.format.layouts.nest import Chain
from lance_sql.format.layouts.reading import run
from lance_sql.format.old_files.array_page import ArrayPage, head_ranges
from lance_sql.format.old_files.tree import (
    Binary,
    Bitpacked,
    Dictionary,
    FixedSizeBinary,
    List,
    Nullable,
    OffsetBinary,
    OffsetList,
    Stored,
    StructHeader,
)
from lance_sql.store import ByteRange
from lance_sql.values import row_ranges
from lance_sql.values.row_ranges import RowRanges
from tests.format.layouts.by_hand import some_rows, take
from tests.kernels import oracles

RNG = np.random.default_rng(6)


class Page:
    """A page in its own file; records fetched ranges."""

    def __init__(
        self, encoding: Encoding, buffers: Sequence[bytes], num_rows: int, *, has_null_key: bool = False
    ) -> None:
        self._file = b"".join(buffers)
        ends = np.cumsum([len(buffer) for buffer in buffers]).tolist()
        ranges = [ByteRange(end - len(buffer), end) for end, buffer in zip(ends, buffers, strict=True)]
        self.fetched: list[list[ByteRange]] = []
        self._rows = row_ranges.single(0, num_rows)
        head = self.fetch(head_ranges(encoding, ranges))
        self.page = ArrayPage(encoding, ranges, num_rows, head, has_null_key=has_null_key)

    def fetch(self, ranges: Sequence[ByteRange]) -> list[pa.Buffer]:
        assert all(0 <= start <= end <= len(self._file) for start, end in ranges)
        self.fetched.append(list(ranges))
        return [pa.py_buffer(self._file[start:end]) for start, end in ranges]

    def read(self, type: pa.DataType, rows: RowRanges | None = None, gap: int = 0) -> pa.Array:
        self.fetched.clear()
        wanted = self._rows if rows is None else rows
        array = run(self.page.decode(wanted, Chain(type), gap), self.fetch)
        array.validate(full=True)
        return array


def check(page: Page, expected: pa.Array) -> None:
    """All rows, and some of them over small and large gaps."""
    assert page.read(expected.type).equals(expected)
    for _ in range(20):
        rows = some_rows(RNG, len(expected))
        for gap in (0, 40, 10**6):
            assert page.read(expected.type, rows, gap).equals(take(expected, rows))


COUNT = 300
VALUES = RNG.integers(0, 100, COUNT).astype(np.int32)
VALID = RNG.random(COUNT) < 0.7
BITMAP = oracles.bitmap(VALID)
TEXTS = [f"text {n}" * (n % 3) for n in VALUES]


def ends_of(texts: Sequence[str], valid: Sequence[bool] | np.ndarray) -> tuple[bytes, bytes, int]:
    """Ends, bytes and the adjustment of a NULL."""
    ends = np.cumsum([len(text) for text in texts]).astype(np.uint64)
    adjustment = int(ends[-1]) + 1
    return np.where(valid, ends, ends + np.uint64(adjustment)).tobytes(), "".join(texts).encode(), adjustment


def masked(values: object, type: pa.DataType) -> pa.Array:
    return pa.array(values, type, mask=~VALID)


def test_flat_values_beside_a_bitmap() -> None:
    encoding = Nullable(Stored(0, Flat(1)), Stored(1, Flat(32)))
    check(Page(encoding, [BITMAP, VALUES.tobytes()], COUNT), masked(VALUES, pa.int32()))


def test_booleans() -> None:
    flags = oracles.bitmap(VALUES % 2 == 0)
    check(
        Page(Nullable(Stored(1, Flat(1)), Stored(0, Flat(1))), [flags, BITMAP], COUNT),
        masked(VALUES % 2 == 0, pa.bool_()),
    )


def test_compressed_values_belong_to_the_head() -> None:
    data = VALUES.tobytes()
    compressed = pa.Codec("zstd").compress(data).to_pybytes()
    page = Page(Stored(0, General(Compression.ZSTD, Flat(32))), [compressed], COUNT)
    check(page, pa.array(VALUES))
    assert page.fetched == []
    assert page.page.num_bytes >= len(data)


def test_words_side_by_side_and_in_groups() -> None:
    bits = (VALUES[:, None] >> np.arange(7)) & 1
    check(Page(Stored(0, Bitpacked(32, 7, False)), [oracles.bitmap(bits.ravel())], COUNT), pa.array(VALUES))
    groups = oracles.pack_groups(VALUES.view(np.uint32), 7, raw_tail=False)
    check(Page(Stored(0, OutOfLineBitpacking(32, 7)), [groups], COUNT), pa.array(VALUES))


def test_fixed_size_lists_with_nulls_at_both_levels() -> None:
    count = COUNT // 3
    items = pa.array(VALUES, mask=~VALID)
    lists_valid = VALID[:count]
    expected = pa.FixedSizeListArray.from_arrays(items, 3, mask=pa.array(~lists_valid))
    encoding = Nullable(Stored(0, Flat(1)), FixedSizeList(3, Nullable(Stored(1, Flat(1)), Stored(2, Flat(32))), False))
    check(Page(encoding, [oracles.bitmap(lists_valid), BITMAP, VALUES.tobytes()], count), expected)


@pytest.mark.parametrize("type", [pa.string(), pa.large_string(), pa.binary(), pa.large_binary()])
def test_strings_by_their_ends(type: pa.DataType) -> None:
    ends, data, adjustment = ends_of(TEXTS, VALID)
    encoding = Binary(Stored(0, Flat(64)), Stored(1, Flat(8)), adjustment)
    check(Page(encoding, [ends, data], COUNT), masked(TEXTS, pa.string()).cast(type))


def test_few_strings_fetch_their_own_bytes() -> None:
    ends, data, adjustment = ends_of(TEXTS, VALID)
    page = Page(Binary(Stored(0, Flat(64)), Stored(1, Flat(8)), adjustment), [ends, data], COUNT)
    first = next(row for row in range(1, COUNT) if TEXTS[row])
    page.read(pa.string(), row_ranges.single(first, first + 2))
    (end_range,), (byte_range,) = page.fetched
    assert end_range == ByteRange((first - 1) * 8, (first + 2) * 8)
    assert byte_range.end - byte_range.start == len(TEXTS[first]) + len(TEXTS[first + 1])


@pytest.mark.parametrize("empty_is_null", [False, True])
def test_strings_by_their_offsets(empty_is_null: bool) -> None:
    data = "".join(TEXTS).encode()
    offsets = np.cumsum([0, *map(len, TEXTS)]).astype(np.int64)
    encoding = OffsetBinary(Stored(1, Flat(64)), Stored(0, Flat(8)), empty_is_null)
    expected = [None if empty_is_null and not text else text for text in TEXTS]
    check(Page(encoding, [data, offsets.tobytes()], COUNT), pa.array(expected, pa.string()))


def test_strings_of_one_length_and_strings_of_symbols() -> None:
    texts = [f"{n:04}" for n in VALUES]
    data = "".join(texts).encode()
    check(Page(FixedSizeBinary(4, Stored(0, Flat(32))), [data], COUNT), pa.array(texts))
    symbols = [b"text ", b"1"]
    coded = [oracles.fsst_encode(text.encode(), symbols) for text in TEXTS]
    ends = np.cumsum([len(code) for code in coded]).astype(np.uint64)
    inner = Binary(Stored(0, Flat(64)), Stored(1, Flat(8)), int(ends[-1]) + 1)
    check(Page(Fsst(oracles.symbol_table(symbols), inner), [ends.tobytes(), b"".join(coded)], COUNT), pa.array(TEXTS))


ITEMS = ["red", "green", "blue"]


def test_dictionaries_of_a_dictionary_field() -> None:
    ends, data, adjustment = ends_of([*ITEMS, ""], [True, True, True, False])
    keys = (VALUES % 4).astype(np.int16)
    items = Binary(Stored(1, Flat(64)), Stored(2, Flat(8)), adjustment)
    page = Page(Dictionary(Stored(0, Flat(16)), items, 4), [keys.tobytes(), ends, data], COUNT)
    expected = pa.array([None if key == 3 else ITEMS[key] for key in keys])
    assert page.read(pa.dictionary(pa.int16(), pa.string())).cast(pa.string()).equals(expected)
    assert page.read(pa.dictionary(pa.int16(), pa.string())).indices.null_count == np.count_nonzero(keys == 3)


def test_dictionaries_of_strings_have_a_key_for_null() -> None:
    ends, data, adjustment = ends_of(ITEMS, [True] * 3)
    keys = (VALUES % 4).astype(np.uint8)
    items = Binary(Stored(1, Flat(64)), Stored(2, Flat(8)), adjustment)
    page = Page(Dictionary(Stored(0, Flat(8)), items, 3), [keys.tobytes(), ends, data], COUNT, has_null_key=True)
    expected = pa.array([None if key == 0 else ITEMS[key - 1] for key in keys])
    check(page, expected)
    assert len(page.fetched[0]) <= COUNT
    assert page.read(pa.dictionary(pa.int32(), pa.string())).cast(pa.string()).equals(expected)


def test_keys_may_be_null_themselves() -> None:
    ends, data, adjustment = ends_of(ITEMS, [True] * 3)
    keys = np.where(VALID, VALUES % 3, 77).astype(np.uint8)
    indices = Nullable(Stored(3, Flat(1)), Stored(0, Flat(8)))
    items = Binary(Stored(1, Flat(64)), Stored(2, Flat(8)), adjustment)
    page = Page(Dictionary(indices, items, 3), [keys.tobytes(), ends, data, BITMAP], COUNT)
    expected = masked([ITEMS[n % 3] for n in VALUES], pa.string())
    assert page.read(pa.dictionary(pa.int8(), pa.string())).cast(pa.string()).equals(expected)
    with pytest.raises(CorruptFile, match="index 2 of a dictionary of 2 items"):
        Page(Dictionary(indices, items, 2), [keys.tobytes(), ends, data, BITMAP], COUNT).read(
            pa.dictionary(pa.int8(), pa.string())
        )


def test_packed_structs() -> None:
    packed = np.zeros(COUNT, [("a", "<i4"), ("b", "<f8")])
    packed["a"], packed["b"] = VALUES, VALUES / 3
    encoding = PackedStruct((32, 64), Stored(0, Flat(96)))
    expected = pa.StructArray.from_arrays([pa.array(VALUES), pa.array(VALUES / 3)], ["a", "b"])
    check(Page(encoding, [packed.tobytes()], COUNT), expected)


def test_pages_of_nothing_but_null_and_of_structs() -> None:
    check(Page(Constant(None), [], COUNT), pa.nulls(COUNT, pa.int64()))
    check(Page(StructHeader(), [], COUNT), pa.array([{}] * COUNT, pa.struct([])))


def lists(page: Page, rows: RowRanges) -> tuple[list[int], list[list[int]], list[bool] | None]:
    found = run(page.page.lists(rows, 0), page.fetch)
    valid = None if found.valid is None else found.valid.tolist()
    return found.bounds.lengths.tolist(), found.bounds.items.tolist(), valid


def test_lists_say_where_their_items_are() -> None:
    ends = np.array([2, 2 + 8, 2, 5, 7], np.uint64)
    page = Page(List(Stored(0, Flat(64)), 8, 7), [ends.tobytes()], 5)
    assert lists(page, row_ranges.single(0, 5)) == ([2, 0, 0, 3, 2], [[0, 7]], [True, False, True, True, True])
    assert lists(page, np.array([[0, 1], [3, 4]])) == ([2, 3], [[0, 2], [2, 5]], None)
    offsets = np.array([0, 2, 2, 5], np.int32)
    page = Page(OffsetList(Stored(0, Flat(32)), 5), [offsets.tobytes()], 3)
    assert lists(page, row_ranges.single(1, 3)) == ([0, 3], [[2, 5]], None)


@pytest.mark.parametrize(
    ("encoding", "buffers"),
    [
        (Stored(0, Flat(32)), [bytes(4 * COUNT - 1)]),
        (Stored(1, Flat(32)), [bytes(4 * COUNT)]),
        (Nullable(Stored(0, Flat(1)), Stored(1, Flat(32))), [bytes(5), bytes(4 * COUNT)]),
        (FixedSizeList(2**31, Stored(0, Flat(32)), False), [bytes(4 * COUNT)]),
        (Binary(Stored(0, Flat(64)), Stored(1, Flat(8)), 5), [bytes(8), bytes(4)]),
        (Dictionary(Stored(0, Flat(8)), Stored(1, Flat(32)), 2**32 - 1), [bytes(COUNT), bytes(4)]),
        (Stored(0, General(Compression.ZSTD, Flat(32))), [bytes(100)]),
        (Stored(0, OutOfLineBitpacking(32, 5)), [bytes(100)]),
    ],
)
def test_pages_too_small_for_their_rows_are_refused(encoding: Encoding, buffers: list[bytes]) -> None:
    with pytest.raises(CorruptFile):
        Page(encoding, buffers, COUNT)


@pytest.mark.parametrize(
    ("encoding", "buffers", "type"),
    [
        (Stored(0, Flat(32)), [bytes(4 * COUNT)], pa.int64()),
        (Stored(0, Flat(32)), [bytes(4 * COUNT)], pa.string()),
        (Nullable(Stored(0, Flat(8)), Stored(0, Flat(32))), [bytes(4 * COUNT)], pa.int32()),
        (Binary(Constant(None), Stored(0, Flat(8)), 5), [bytes(8)], pa.string()),
        (FixedSizeBinary(3, Stored(0, Flat(32))), [bytes(4 * COUNT)], pa.string()),
        (Fsst(bytes(2312), Stored(0, Flat(32))), [bytes(4 * COUNT)], pa.string()),
        (PackedStruct((32,), Constant(None)), [], pa.struct([("a", pa.int32())])),
        (Dictionary(Stored(0, Flat(8)), Constant(None), 0), [b"\1" * COUNT], pa.dictionary(pa.int8(), pa.string())),
        (Constant(None), [], pa.list_(pa.float64(), 2**28)),
        (FixedSizeList(2**28, Constant(None), False), [], pa.list_(pa.float64(), 2**28)),
        (List(Stored(0, Flat(32)), 5, 4), [bytes(4 * COUNT)], pa.int32()),
        (Rle(Flat(8), Flat(8)), [], pa.int8()),
    ],
)
def test_trees_that_cannot_be_the_type_are_refused(encoding: Encoding, buffers: list[bytes], type: pa.DataType) -> None:
    page = Page(encoding, buffers, COUNT)
    with pytest.raises((CorruptFile, UnsupportedFeature)):
        page.read(type)


def test_only_lists_can_be_read_as_lists() -> None:
    page = Page(Stored(0, Flat(64)), [bytes(8 * COUNT)], COUNT)
    with pytest.raises(CorruptFile, match="cannot hold lists"):
        lists(page, row_ranges.single(0, 1))
