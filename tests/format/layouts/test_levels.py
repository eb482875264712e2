"""Levels, layer by layer: the worked examples of the format, and random rows in pages of every form."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from lance_sql.errors import CorruptFile, UnsupportedFeature
from lance_sql.format.encodings.tree import Encoding, Flat, Variable
from lance_sql.format.layouts.tree import ConstantLayout, Layer, max_definition, max_repetition, max_visible

from .by_hand import LEVEL_ENCODINGS, HandPage, encode_levels, full_zip, mini_block, some_rows, take
from .shredding import chain_of, random_rows, shred

ITEM, NULLABLE_ITEM = Layer.ALL_VALID_ITEM, Layer.NULLABLE_ITEM
LIST, NULLABLE, EMPTYABLE, NULL_AND_EMPTY = (
    Layer.ALL_VALID_LIST,
    Layer.NULLABLE_LIST,
    Layer.EMPTYABLE_LIST,
    Layer.NULL_AND_EMPTY_LIST,
)

# list<struct<f: int32>>
EXAMPLE_LAYERS = (NULLABLE_ITEM, NULLABLE_ITEM, NULL_AND_EMPTY)
EXAMPLE_ROWS = [[{"f": 1}, {"f": None}], None, [], [None, {"f": 5}]]

# list<list<list<int32>>>
DEEP_LAYERS = (ITEM, EMPTYABLE, EMPTYABLE, EMPTYABLE)
DEEP_ROWS = [[[[0, 1], [], [2]], [[3]], []], [], [[[4]]]]


def test_the_example_shreds_and_comes_back() -> None:
    shredded = shred(EXAMPLE_ROWS, EXAMPLE_LAYERS)
    assert shredded.rep is not None
    assert shredded.def_ is not None
    assert shredded.rep.tolist() == [1, 0, 1, 1, 1, 0]
    assert shredded.def_.tolist() == [0, 1, 3, 4, 2, 0]
    chain = chain_of(EXAMPLE_LAYERS, pa.int32())
    expected = pa.array(EXAMPLE_ROWS, chain.type)
    assert mini_block(shredded, EXAMPLE_LAYERS, 4, 64).read(chain).equals(expected)
    assert full_zip(shredded, EXAMPLE_LAYERS, 4, variable=False).read(chain).equals(expected)


def test_the_example_of_three_lists() -> None:
    shredded = shred(DEEP_ROWS, DEEP_LAYERS)
    assert shredded.rep is not None
    assert shredded.def_ is not None
    assert shredded.rep.tolist() == [3, 0, 1, 1, 2, 2, 3, 3]
    assert shredded.def_.tolist() == [0, 0, 1, 0, 0, 2, 3, 0]
    chain = chain_of(DEEP_LAYERS, pa.int32())
    assert mini_block(shredded, DEEP_LAYERS, 3, 2).read(chain).to_pylist() == DEEP_ROWS


def test_levels_that_layers_take() -> None:
    assert (max_repetition(EXAMPLE_LAYERS), max_definition(EXAMPLE_LAYERS), max_visible(EXAMPLE_LAYERS)) == (1, 4, 2)
    assert (max_repetition(DEEP_LAYERS), max_definition(DEEP_LAYERS), max_visible(DEEP_LAYERS)) == (3, 3, 0)
    assert max_visible((NULLABLE_ITEM, NULLABLE_ITEM)) == 2


NESTINGS = {
    "items": (NULLABLE_ITEM,),
    "plain items": (ITEM,),
    "structs": (NULLABLE_ITEM, NULLABLE_ITEM, ITEM, NULLABLE_ITEM),
    "lists": (ITEM, LIST),
    "nullable lists": (NULLABLE_ITEM, NULLABLE),
    "lists of anything": (NULLABLE_ITEM, NULL_AND_EMPTY),
    "emptyable lists": (ITEM, EMPTYABLE),
    "structs of lists of structs": (NULLABLE_ITEM, NULLABLE_ITEM, NULL_AND_EMPTY, NULLABLE_ITEM),
    "lists of lists": (NULLABLE_ITEM, NULL_AND_EMPTY, NULL_AND_EMPTY),
    "lists of structs of lists": (NULLABLE_ITEM, EMPTYABLE, NULLABLE_ITEM, NULLABLE, NULLABLE_ITEM),
    "three lists": (ITEM, NULLABLE, LIST, EMPTYABLE),
}


@pytest.mark.parametrize("name", NESTINGS)
@pytest.mark.parametrize("encoding", LEVEL_ENCODINGS)
def test_rows_of_mini_block_pages_are_slices_of_all_rows(name: str, encoding: str) -> None:
    layers = NESTINGS[name]
    rng = np.random.default_rng(len(name))
    rows = random_rows(rng, layers, 150)
    shredded, chain = shred(rows, layers), chain_of(layers, pa.int32())
    expected = pa.array(rows, chain.type)
    for chunk_items, large in [(2, True), (16, False), (256, True)]:
        page = mini_block(shredded, layers, 150, chunk_items, LEVEL_ENCODINGS[encoding], large=large)
        assert page.read(chain).equals(expected)
        for _ in range(2):
            wanted = some_rows(rng, 150)
            assert page.read(chain, wanted).equals(take(expected, wanted))


@pytest.mark.parametrize("name", NESTINGS)
@pytest.mark.parametrize("variable", [False, True])
def test_rows_of_full_zip_pages_are_slices_of_all_rows(name: str, variable: bool) -> None:
    layers = NESTINGS[name]
    rng = np.random.default_rng(len(name))
    rows = random_rows(rng, layers, 150)
    numbers = chain_of(layers, pa.int32())
    expected = pa.array(rows, numbers.type)
    chain = numbers
    if variable:
        chain = chain_of(layers, pa.string())
        expected = expected.cast(chain.type)
    page = full_zip(shred(rows, layers), layers, 150, variable=variable)
    assert page.read(chain).equals(expected)
    for _ in range(3):
        wanted = some_rows(rng, 150)
        assert page.read(chain, wanted).equals(take(expected, wanted))


STRUCTS = (NULLABLE_ITEM, NULLABLE_ITEM)


def levels_page(encoding: Encoding | None, data: bytes, num_rows: int) -> HandPage:
    """Structs of a member that is 7, with these definition levels in a buffer of their own."""
    layout = ConstantLayout(
        STRUCTS,
        inline_value=(7).to_bytes(4, "little"),
        repetition=None,
        definition=encoding,
        num_rep_values=0,
        num_def_values=0 if encoding is None else num_rows,
    )
    return HandPage(layout, [b"", data], num_rows)


@pytest.mark.parametrize("encoding", [*LEVEL_ENCODINGS.values(), None])
def test_levels_in_a_buffer_of_their_own(encoding: Encoding | None) -> None:
    levels = np.array([1, 0, 0, 2, 1] * 30, np.uint16)
    data = encode_levels(levels, encoding or Flat(16))
    assert data is not None
    found = levels_page(encoding, data, len(levels)).read(chain_of(STRUCTS, pa.int32()))
    assert found.to_pylist() == [({"f": 7}, {"f": None}, None)[level] for level in levels.tolist()]


def test_levels_have_16_bits() -> None:
    chain = chain_of(STRUCTS, pa.int32())
    with pytest.raises(CorruptFile, match="levels of 3 bytes"):
        levels_page(None, b"\1\0\2", 2).read(chain)
    with pytest.raises(CorruptFile, match="levels encoded as"):
        levels_page(Flat(32), bytes(8), 2).read(chain)
    for encoding in (Flat(8), Variable(32)):
        page = mini_block(shred([1, None], (NULLABLE_ITEM,)), (NULLABLE_ITEM,), 2, 64, definition=encoding)
        with pytest.raises(UnsupportedFeature, match="levels encoded as"):
            page.read(chain_of((NULLABLE_ITEM,), pa.int32()))
