"""Full-zip pages: control words, repetition indexes, entries."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lance_sql.errors import CorruptFile
from lance_sql.format.encodings.tree import Constant, FixedSizeList, Flat, Variable
from lance_sql.format.layouts.nest import Chain
from lance_sql.format.layouts.tree import FullZip, Layer
from lance_sql.values import row_ranges
from tests.kernels import oracles

from .by_hand import HandPage, full_zip, some_rows, take
from .shredding import chain_of, random_rows, shred

ITEM, NULLABLE = Layer.ALL_VALID_ITEM, Layer.NULLABLE_ITEM
LISTS = (NULLABLE, Layer.NULL_AND_EMPTY_LIST)


@pytest.mark.parametrize("bits", [(1, 2), (4, 4), (5, 6), (8, 8), (9, 9), (16, 16)])
@pytest.mark.parametrize("variable", [False, True])
def test_control_words_have_one_two_or_four_bytes(bits: tuple[int, int], variable: bool) -> None:
    rng = np.random.default_rng(sum(bits))
    rows = random_rows(rng, LISTS, 60)
    chain = chain_of(LISTS, pa.string() if variable else pa.int32())
    expected = pa.array(rows, pa.list_(pa.int32())).cast(chain.type)
    page = full_zip(shred(rows, LISTS), LISTS, 60, variable=variable, bits=bits)
    assert page.read(chain).equals(expected)
    wanted = some_rows(rng, 60)
    assert page.read(chain, wanted).equals(take(expected, wanted))


@pytest.mark.parametrize("bits", [1, 8, 9, 16])
@pytest.mark.parametrize("variable", [False, True])
def test_control_words_without_lists(bits: int, variable: bool) -> None:
    rows = [None if i % 3 == 1 else i for i in range(40)]
    page = full_zip(shred(rows, (NULLABLE,)), (NULLABLE,), 40, variable=variable, bits=(0, bits))
    chain = Chain(pa.string() if variable else pa.int32())
    expected = pa.array(rows, pa.int32()).cast(chain.type)
    assert page.read(chain).equals(expected)
    assert page.read(chain, np.array([[0, 2], [7, 9], [39, 40]])).equals(expected.take([0, 1, 7, 8, 39]))


def test_fewer_bits_than_the_layers_could_need_are_enough_for_the_levels_that_occur() -> None:
    layers = (NULLABLE, NULLABLE)
    rows = [{"f": 1}, {"f": None}, {"f": 3}]
    page = full_zip(shred(rows, layers), layers, 3, variable=False, bits=(0, 1))
    assert page.read(chain_of(layers, pa.int32())).to_pylist() == rows
    page = full_zip(shred([{"f": 1}], layers), layers, 1, variable=False, bits=(0, 0))
    assert page.read(chain_of(layers, pa.int32())).to_pylist() == [{"f": 1}]


@pytest.mark.parametrize("index_bytes", [1, 2, 4, 8])
def test_repetition_indexes_of_every_width(index_bytes: int) -> None:
    rows: list[Any] = [[1, 2], [], None, [3]]
    page = full_zip(shred(rows, LISTS), LISTS, 4, variable=True, index_bytes=index_bytes)
    chain = chain_of(LISTS, pa.large_string())
    assert page.read(chain).to_pylist() == [["1", "2"], [], None, ["3"]]
    assert page.read(chain, np.array([[1, 2], [3, 4]])).to_pylist() == [[], ["3"]]


def test_a_plain_array_is_not_copied() -> None:
    values = np.arange(64 * 8, dtype="<f4")
    layout = FullZip((ITEM,), FixedSizeList(64, Flat(32), False), 0, 0, 64 * 32, None, 8, 8)
    page = HandPage(layout, [values.tobytes()], 8)
    type = pa.list_(pa.float32(), 64)
    assert page.read(Chain(type)).flatten().to_pylist() == values.tolist()
    # what tests before this one have left
    gc.collect()
    before = pa.total_allocated_bytes()
    array = page.read(Chain(type), row_ranges.single(3, 5))
    assert pa.total_allocated_bytes() == before
    assert array.flatten().to_pylist() == values[192:320].tolist()


def test_a_plain_array_at_an_odd_address_is_read() -> None:
    values = np.arange(30, dtype="<i8")
    layout = FullZip((ITEM,), Flat(64), 0, 0, 64, None, 30, 30)
    page = HandPage(layout, [values.tobytes()], 30, in_front=b"odd")
    assert page.read(Chain(pa.int64()), np.array([[1, 3], [29, 30]])).to_pylist() == [1, 2, 29]


def test_values_without_bytes_have_only_control_words() -> None:
    layout = FullZip((NULLABLE,), Constant(None), 0, 1, 0, None, 3, 3)
    page = HandPage(layout, [b"\1\1\1"], 3)
    assert page.read(Chain(pa.list_(pa.int32(), 2))).to_pylist() == [None] * 3


def test_only_the_entries_of_the_rows_are_asked_for() -> None:
    rows = [None if i % 3 == 1 else i for i in range(40)]
    page = full_zip(shred(rows, (NULLABLE,)), (NULLABLE,), 40, variable=False)
    assert [end - start for start, end in page.planned(np.array([[2, 4], [10, 11]]), Chain(pa.int32()))] == [10, 5]
    page = full_zip(shred(rows, (NULLABLE,)), (NULLABLE,), 40, variable=True)
    assert [end - start for start, end in page.planned(np.array([[1, 2], [10, 12]]), Chain(pa.string()))] == [1, 8]


def zipped(entries: list[bytes], index: list[int], **others: Any) -> HandPage:
    """Nullable strings with this repetition index."""
    fields: dict[str, Any] = {
        "layers": (NULLABLE,),
        "values": Variable(32),
        "bits_rep": 0,
        "bits_def": 1,
        "bits_per_value": None,
        "bits_per_offset": 32,
        "num_items": len(entries),
        "num_visible_items": len(entries),
    }
    return HandPage(
        FullZip(**{**fields, **others}), [b"".join(entries), np.array(index, "<u4").tobytes()], len(entries)
    )


ENTRIES = [oracles.zip_entry(0, 0, (0, 1), 4, b"abc"), b"\1", oracles.zip_entry(0, 0, (0, 1), 4, b"")]


def test_entries_match_the_repetition_index() -> None:
    assert zipped(ENTRIES, [0, 8, 9, 14]).read(Chain(pa.string())).to_pylist() == ["abc", None, ""]


@pytest.mark.parametrize("index", [[0, 9, 8, 14], [0, 8, 9, 15], [1, 2, 3, 2**32 - 1]])
def test_a_repetition_index_ascends_inside_of_the_page(index: list[int]) -> None:
    with pytest.raises(CorruptFile, match="descends or leaves the page"):
        zipped(ENTRIES, index).read(Chain(pa.string()))


@pytest.mark.parametrize("index", [[0, 8, 9, 9], [0, 7, 9, 14], [0, 0, 0, 14], [8, 8, 9, 14], [0, 8, 8, 14]])
def test_entries_end_where_the_next_one_begins(index: list[int]) -> None:
    with pytest.raises((CorruptFile, ValueError)):
        zipped(ENTRIES, index).read(Chain(pa.string()))


@pytest.mark.parametrize("size", [0, 1, 5, 12, 20])
def test_a_repetition_index_has_an_entry_for_each_row(size: int) -> None:
    layout = FullZip((NULLABLE,), Variable(32), 0, 1, None, 32, 3, 3)
    with pytest.raises(CorruptFile, match=f"a repetition index of {size} bytes for 3 rows"):
        HandPage(layout, [b"".join(ENTRIES), bytes(size)], 3).read(Chain(pa.string()))


def test_levels_and_layers_agree_on_lists() -> None:
    with pytest.raises(CorruptFile, match="repetition levels of 1 bits"):
        zipped(ENTRIES, [0, 8, 9, 14], bits_rep=1).read(Chain(pa.string()))
    with pytest.raises(CorruptFile, match="a full-zip page with 2 buffers, expected 1"):
        zipped(ENTRIES, [0, 8, 9, 14], bits_per_value=32, bits_per_offset=None)


def test_more_rows_than_the_page_has_bytes_for_are_refused() -> None:
    layout = FullZip((ITEM,), Flat(64), 0, 0, 64, None, 3, 3)
    with pytest.raises(CorruptFile, match="a page of 23 bytes, expected 24"):
        HandPage(layout, [bytes(23)], 3).read(Chain(pa.int64()))


def test_values_have_the_width_of_their_encoding() -> None:
    layout = FullZip((ITEM,), Flat(32), 0, 0, 64, None, 3, 3)
    with pytest.raises(CorruptFile, match="values of 4 bytes in entries of 8: the column has int32"):
        HandPage(layout, [bytes(24)], 3).read(Chain(pa.int32()))


def test_rows_of_lists_that_the_index_cuts_elsewhere_are_refused() -> None:
    rows: list[Any] = [[1, 2], [3], [4, 5]]
    layers = (ITEM, Layer.ALL_VALID_LIST)
    shredded = shred(rows, layers)
    data = b"".join(oracles.zip_entry(r, 0, (1, 0), 0, bytes(4)) for r in [1, 0, 1, 1, 0])
    layout = FullZip(layers, Flat(32), 1, 0, 32, None, shredded.num_entries, 5)
    chain = chain_of(layers, pa.int32())
    for index in ([0, 10, 20, 25], [0, 5, 15, 25], [0, 11, 15, 25]):
        page = HandPage(layout, [data, np.array(index, "<u4").tobytes()], 3)
        with pytest.raises((CorruptFile, ValueError)):
            read_row_by_row(page, chain)


def read_row_by_row(page: HandPage, chain: Chain) -> None:
    for row in range(page.num_rows):
        page.read(chain, row_ranges.single(row, row + 1))
