"""Mini-block pages: their head, their chunks, and how little of them is read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lance_sql.errors import CorruptFile
from lance_sql.format.encodings.tree import Flat, Variable
from lance_sql.format.layouts.nest import Chain
from lance_sql.format.layouts.tree import Layer, MiniBlock
from lance_sql.values import row_ranges
from tests.kernels.pages import Chunk, build

from .by_hand import FLAT16, HandPage, mini_block
from .shredding import chain_of, random_rows, shred

ITEM, NULLABLE = Layer.ALL_VALID_ITEM, Layer.NULLABLE_ITEM
INTS = Chain(pa.int32())


def plain(
    num_rows: int = 200, chunk_items: int = 16, layers: tuple[Layer, ...] = (NULLABLE,), **others: Any
) -> HandPage:
    rows = [None if i % 7 == 3 and layers[0] is NULLABLE else i for i in range(num_rows)]
    return mini_block(shred(rows, layers), layers, num_rows, chunk_items, **others)


def test_only_the_chunks_that_hold_the_rows_are_asked_for() -> None:
    page = plain()
    ranges = page.planned(np.array([[3, 5], [17, 18], [100, 101]]), INTS)
    whole = page.planned(np.array([[0, 200]]), INTS)
    assert len(whole) == 1
    chunk = 8 + 32 + 64  # header, levels, items
    assert whole[0].end - whole[0].start == 13 * chunk - 16 - 32  # the last one has 8 items
    assert [end - start for start, end in ranges] == [chunk] * 3
    assert page.read(INTS, np.array([[3, 5], [17, 18], [100, 101]])).to_pylist() == [None, 4, None, 100]


def test_rows_of_lists_are_read_from_the_chunks_that_they_cross() -> None:
    layers = (ITEM, Layer.EMPTYABLE_LIST)
    rows: list[Any] = [[1], list(range(40)), [], [], [2], list(range(9))]
    page = mini_block(shred(rows, layers), layers, 6, 4)
    chain = chain_of(layers, pa.int32())
    for start in range(6):
        for end in range(start + 1, 7):
            assert page.read(chain, row_ranges.single(start, end)).to_pylist() == rows[start:end]
    chunk = 16 + 8 + 8 + 16  # header, both kinds of levels, items
    (first,) = page.planned(row_ranges.single(0, 1), chain)
    (long,) = page.planned(row_ranges.single(1, 2), chain)
    assert first.end - first.start == chunk
    assert long.end - long.start >= 11 * chunk


def test_one_chunk_of_lists_needs_no_repetition_index() -> None:
    layers = (NULLABLE, Layer.NULL_AND_EMPTY_LIST)
    rows = random_rows(np.random.default_rng(2), layers, 30)
    page = mini_block(shred(rows, layers), layers, 30, 1024, depth=0)
    chain = chain_of(layers, pa.int32())
    assert page.read(chain).to_pylist() == rows
    assert page.read(chain, np.array([[7, 9], [20, 30]])).to_pylist() == rows[7:9] + rows[20:]
    with pytest.raises(CorruptFile, match="in several chunks without a repetition index"):
        mini_block(shred(rows, layers), layers, 30, 2, depth=0).read(chain)


def test_a_type_of_other_nesting_is_refused() -> None:
    page = plain()
    for chain in (Chain(pa.int32(), (pa.list_(pa.int32()),)), chain_of((ITEM, ITEM), pa.int32())):
        with pytest.raises(CorruptFile, match="cannot hold"):
            page.read(chain)


def test_items_and_rows_agree() -> None:
    with pytest.raises(CorruptFile, match="199 items for 200 rows"):
        plain(num_rows=200, num_items=199).read(INTS)


def test_a_head_has_the_buffers_that_the_layout_names() -> None:
    with pytest.raises(CorruptFile, match="a mini-block page with 2 buffers, expected 3"):
        plain(dictionary=Flat(32), num_dictionary_items=1)
    with pytest.raises(CorruptFile, match="hold 16 items, the page has 10"):
        plain(num_items=10).read(INTS)


def with_dictionary(indices: list[int], encoding: Any, dictionary: bytes, count: int, **others: Any) -> HandPage:
    page = build([Chunk(len(indices), [np.array(indices, "<u1").tobytes()])], large=True)
    fields: dict[str, Any] = {
        "layers": (ITEM,),
        "values": Flat(8),
        "repetition": None,
        "definition": None,
        "dictionary": encoding,
        "num_dictionary_items": count,
        "num_buffers": 1,
        "repetition_index_depth": 0,
        "num_items": len(indices),
        "has_large_chunk": True,
    }
    return HandPage(MiniBlock(**{**fields, **others}), [page.metadata, page.data, dictionary], len(indices))


def test_a_dictionary_page_is_not_bound_to_dictionary_types() -> None:
    items = np.array([10, 20, 30], "<i8").tobytes()
    page = with_dictionary([2, 0, 1, 1], Flat(64), items, 3)
    assert page.read(Chain(pa.int64())).to_pylist() == [30, 10, 20, 20]
    assert page.read(Chain(pa.dictionary(pa.int8(), pa.int64())), np.array([[1, 3]])).to_pylist() == [10, 20]


@pytest.mark.parametrize("indices", [[3], [0, 255]])
def test_indices_lie_in_the_dictionary(indices: list[int]) -> None:
    items = np.array([10, 20, 30], "<i8").tobytes()
    page = with_dictionary(indices, Flat(64), items, 3)
    for type in (pa.int64(), pa.dictionary(pa.int32(), pa.int64())):
        with pytest.raises(CorruptFile, match="index"):
            page.read(Chain(type))


def test_dictionaries_that_cannot_be_are_refused() -> None:
    with pytest.raises(CorruptFile, match="not possible"):
        with_dictionary([0], Flat(64), bytes(8), 2**40).read(Chain(pa.int64()))
    with pytest.raises(CorruptFile, match="2 values of 64 bits need 16 bytes"):
        with_dictionary([0], Flat(64), bytes(8), 2).read(Chain(pa.int64()))
    with pytest.raises(CorruptFile, match="dictionary indices encoded as Flat"):
        with_dictionary([0, 0, 0, 0], Flat(64), bytes(8), 1, values=Flat(4)).read(Chain(pa.int64()))
    with pytest.raises(CorruptFile, match="a block of 3 bytes"):
        with_dictionary([0], Variable(32), bytes(3), 1).read(Chain(pa.string()))


def test_more_items_than_an_index_type_counts_are_damage() -> None:
    page = with_dictionary([0, 1], Flat(64), np.arange(300, dtype="<i8").tobytes(), 300)
    with pytest.raises(CorruptFile, match="300 dictionary items are more than"):
        page.read(Chain(pa.dictionary(pa.uint8(), pa.int64())))
    assert page.read(Chain(pa.dictionary(pa.int16(), pa.int64()))).to_pylist() == [0, 1]


def index_of(pairs: list[tuple[int, int]], num_rows: int = 6) -> HandPage:
    """A page of lists in three chunks with this repetition index."""
    levels = np.array([1, 0], "<u2")
    chunks = [Chunk(2, [bytes(8)], levels.tobytes(), None, 2) for _ in range(3)]
    page = build(chunks, large=True)
    layout = MiniBlock(
        layers=(ITEM, Layer.ALL_VALID_LIST),
        values=Flat(32),
        repetition=FLAT16,
        definition=None,
        dictionary=None,
        num_dictionary_items=0,
        num_buffers=1,
        repetition_index_depth=1,
        num_items=6,
        has_large_chunk=True,
    )
    return HandPage(layout, [page.metadata, page.data, np.array(pairs, "<u8").tobytes()], num_rows)


@pytest.mark.parametrize(
    "pairs",
    [
        [(1, 0), (1, 0)],
        [(1, 0), (1, 0), (2, 0)],
        [(1, 0), (1, 0), (1, 1)],
        [(0, 0), (0, 0), (0, 0)],
        [(2**63, 0), (2**63, 0), (3, 0)],
        [(1, 1), (0, 0), (2, 0)],
    ],
)
def test_a_repetition_index_adds_up_to_the_rows(pairs: list[tuple[int, int]]) -> None:
    with pytest.raises(CorruptFile, match="repetition index"):
        index_of(pairs, 3).read(chain_of((ITEM, Layer.ALL_VALID_LIST), pa.int32()))


@pytest.mark.parametrize("pairs", [[(3, 0), (0, 0), (0, 0)], [(0, 2), (1, 0), (2, 0)]])
def test_a_repetition_index_that_contradicts_the_levels_is_refused(pairs: list[tuple[int, int]]) -> None:
    page = index_of(pairs, 3)
    chain = chain_of((ITEM, Layer.ALL_VALID_LIST), pa.int32())
    with pytest.raises(CorruptFile, match="rows begin in chunks"):
        page.read(chain, row_ranges.single(1, 2))
