"""Arrays taken apart by the writer, compared with rows taken apart one at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lance_sql.errors import InvalidArgument
from lance_sql.format.file import shredding
from lance_sql.format.file.paging import LeafPages
from lance_sql.format.file.shredding import Shredded
from lance_sql.format.layouts.shredded import ShreddedPage
from lance_sql.format.layouts.tree import Layer
from lance_sql.format.schema import Field
from lance_sql.format.schema.from_arrow import from_arrow
from tests.format.layouts.shredding import chain_of, random_rows
from tests.format.layouts.shredding import shred as shred_by_hand

ITEMS = st.sampled_from([Layer.ALL_VALID_ITEM, Layer.NULLABLE_ITEM])
LAYERS = st.tuples(ITEMS, st.lists(st.sampled_from(list(Layer)), max_size=4)).map(lambda pair: (pair[0], *pair[1]))


def field_of(type: pa.DataType) -> Field:
    return from_arrow(pa.schema([("c", type)])).fields[0]


def page_of(array: pa.Array) -> ShreddedPage:
    """The one leaf of an array as a page."""
    field = field_of(array.type)
    (leaf,) = shredding.shred(field, array, 0)
    (shape,) = shredding.shapes(field)
    return shredding.page_of(leaf, shape)


def assert_page(page: ShreddedPage, rows: list[Any]) -> None:
    expected = shred_by_hand(rows, page.layers)
    assert page.num_rows == len(rows)
    assert page.num_entries == expected.num_entries
    for found, wanted in ((page.repetition, expected.rep), (page.definition, expected.def_)):
        assert (found is None) == (wanted is None)
        assert found is None or wanted is None or found.tolist() == wanted.tolist()
    assert page.values.to_pylist() == expected.items


@settings(max_examples=40)
@given(layers=LAYERS, seed=st.integers(0, 10**6), num_rows=st.integers(1, 60), cut=st.integers(0, 60))
def test_levels_are_those_of_rows_taken_apart_by_hand(
    layers: tuple[Layer, ...], seed: int, num_rows: int, cut: int
) -> None:
    rows = random_rows(np.random.default_rng(seed), layers, num_rows)
    array = pa.array(rows, chain_of(layers, pa.int64()).type)
    assert_page(page_of(array), rows)
    if cut < num_rows:
        assert_page(page_of(array.slice(cut)), rows[cut:])


@settings(max_examples=40)
@given(layers=LAYERS, seed=st.integers(0, 10**6), sizes=st.lists(st.integers(1, 40), min_size=1, max_size=6))
def test_pages_are_cut_where_rows_begin(layers: tuple[Layer, ...], seed: int, sizes: list[int]) -> None:
    random = np.random.default_rng(seed)
    type = chain_of(layers, pa.int64()).type
    field = field_of(type)
    (shape,) = shredding.shapes(field)
    collected = LeafPages(shape, page_bytes=int(random.integers(20, 400)))
    rows: list[Any] = []
    pages: list[Shredded] = []
    for size in sizes:
        more = random_rows(random, layers, size)
        (leaf,) = shredding.shred(field, pa.array(more, type), len(rows))
        rows += more
        pages += collected.add(leaf)
    pages += collected.flush()
    for page in pages:
        made = shredding.page_of(page, shape)
        assert_page(made, rows[: made.num_rows])
        rows = rows[made.num_rows :]
    assert rows == []


def test_layers_declare_what_there_is() -> None:
    lists = pa.list_(pa.int8())
    assert page_of(pa.array([[1]], lists)).layers == (Layer.ALL_VALID_ITEM, Layer.ALL_VALID_LIST)
    assert page_of(pa.array([[], [1]], lists)).layers == (Layer.ALL_VALID_ITEM, Layer.EMPTYABLE_LIST)
    assert page_of(pa.array([None, [1]], lists)).layers == (Layer.ALL_VALID_ITEM, Layer.NULLABLE_LIST)
    assert page_of(pa.array([None, [], [None]], lists)).layers == (Layer.NULLABLE_ITEM, Layer.NULL_AND_EMPTY_LIST)


def test_levels_of_the_format_s_example() -> None:
    type = pa.list_(pa.struct([("x", pa.int32())]))
    page = page_of(pa.array([[{"x": 1}, {"x": None}], None, [], [None, {"x": 5}]], type))
    assert page.layers == (Layer.NULLABLE_ITEM, Layer.NULLABLE_ITEM, Layer.NULL_AND_EMPTY_LIST)
    assert page.repetition is not None
    assert page.definition is not None
    assert page.repetition.tolist() == [1, 0, 1, 1, 1, 0]
    assert page.definition.tolist() == [0, 1, 3, 4, 2, 0]
    assert page.values.to_pylist() == [1, None, None, 5]


def test_siblings_share_what_is_around_them() -> None:
    type = pa.struct([("a", pa.int8()), ("l", pa.list_(pa.struct([("x", pa.int8()), ("y", pa.string())])))])
    array = pa.array([{"a": 1, "l": [{"x": 1, "y": "a"}, None]}, None, {"a": None, "l": []}], type)
    a, x, y = shredding.shred(field_of(type), array, 0)
    assert (a.num_entries, x.num_entries, y.num_entries) == (3, 4, 4)
    assert x.starts is y.starts
    assert x.marks is y.marks


def test_fixed_size_lists_of_structs_count_their_items() -> None:
    type = pa.list_(pa.struct([pa.field("x", pa.int8())]), 2)
    page = page_of(pa.array([[{"x": 1}, None], None, [{"x": None}, {"x": 4}]], type))
    assert page.layers == (Layer.NULLABLE_ITEM,) * 3
    assert page.num_rows == 6
    assert page.definition is not None
    assert page.definition.tolist() == [0, 2, 3, 3, 1, 0]
    required = pa.list_(pa.struct([pa.field("x", pa.int8(), nullable=False)]), 2)
    structs = pa.StructArray.from_arrays([pa.array([1, 2, None, 4], pa.int8())], fields=list(required.value_type))
    lists = pa.FixedSizeListArray.from_arrays(structs, type=required)
    with pytest.raises(InvalidArgument, match="row 8"):
        shredding.shred(field_of(required), lists, 7)
