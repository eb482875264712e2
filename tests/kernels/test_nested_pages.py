"""Values inside lists, maps and structs: merged leaves, and contradictory leaves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
import pytest

from lance_sql import _kernels as kernels
from lance_sql._kernels import ShapeKind
from lance_sql.format.layouts.tree import ConstantLayout, Layer

from .pages import stored, type_of

LIST, STRUCT = Layer.NULL_AND_EMPTY_LIST, Layer.NULLABLE_ITEM
VALUE = Layer.NULLABLE_ITEM
_SEVEN = bytes([7, 0, 0, 0])


class DamagedError(Exception):
    pass


def refuse(in_test: bool, column: int, page: int | None, message: str, is_unsupported: bool) -> NoReturn:
    raise DamagedError(message)


def leaf(
    layers: Sequence[Layer],
    num_rows: int,
    repetition: Sequence[int] | None,
    definition: Sequence[int],
    *,
    are_null: bool = False,
) -> kernels.ColumnReader:
    """A column of one page in which every value is 7."""
    levels = [b"" if each is None else np.array(each, "<u2").tobytes() for each in (repetition, definition)]
    layout = ConstantLayout(
        tuple(layers),
        inline_value=None if are_null else _SEVEN,
        repetition=None,
        definition=None,
        num_rep_values=0,
        num_def_values=0,
    )
    outer = [(32 if layer.is_list else 0, 1) for layer in layers[1:]]
    page = stored(layout, levels, 0, num_rows, type_of((False, 32), outer=outer, is_nested=True))
    column = kernels.ColumnReader(np.array([0, num_rows]))
    column.open(0, page, 0, 0)
    return column


def streamed(
    columns: Sequence[kernels.ColumnReader],
    shape: Any,
    type: pa.DataType,
    rows: Sequence[int],
    *,
    nullable: bool = True,
) -> list[Any]:
    ranges = np.array(rows, np.int64).reshape(-1, 2)
    ends = np.array([(ranges[:, 1] - ranges[:, 0]).sum()])
    found = kernels.FragmentRows(
        [],
        [],
        [],
        [kernels.DeliveredColumn(column, [], nullable, [], [], False) for column in columns],
        [shape],
        ranges,
        ends,
        refuse,
        0,
    )
    schema = pa.schema({"x": type})
    (batch,) = kernels.BatchStream(iter([found]), schema, most_ahead=1, eager=True)
    array = pa.RecordBatch._import_from_c(batch.address, schema)
    array.validate(full=True)
    values: list[Any] = array["x"].to_pylist()
    return values


# [7, NULL], NULL, [], [7]
REPETITION, DEFINITION = [1, 0, 1, 1, 1], [0, 1, 2, 3, 0]


def test_levels_become_lists() -> None:
    column = leaf([VALUE, LIST], 4, REPETITION, DEFINITION)
    assert streamed([column], (ShapeKind.LIST, [0]), pa.list_(pa.int32()), [0, 4]) == [[7, None], None, [], [7]]
    assert streamed([column], (ShapeKind.LIST, [0]), pa.list_(pa.int32()), [1, 2, 3, 4]) == [None, [7]]


def test_values_of_a_page_of_nulls_are_null() -> None:
    column = leaf([VALUE, LIST], 4, REPETITION, DEFINITION, are_null=True)
    assert streamed([column], (ShapeKind.LIST, [0]), pa.list_(pa.int32()), [0, 4]) == [[None, None], None, [], [None]]


def test_a_struct_is_valid_if_one_of_its_members_is() -> None:
    columns = [leaf([VALUE, STRUCT], 4, None, levels) for levels in ([0, 2, 2, 1], [0, 2, 0, 2])]
    type = pa.struct({"a": pa.int32(), "b": pa.int32()})
    assert streamed(columns, (ShapeKind.STRUCT, [0, 1]), type, [0, 4]) == [
        {"a": 7, "b": 7},
        None,
        {"a": None, "b": 7},
        {"a": None, "b": None},
    ]


def test_members_that_disagree_on_lists_are_damage() -> None:
    layers = [VALUE, STRUCT, LIST]
    columns = [leaf(layers, 2, repetition, [0, 0, 0]) for repetition in ([1, 0, 1], [1, 1, 0])]
    type = pa.list_(pa.struct({"a": pa.int32(), "b": pa.int32()}))
    with pytest.raises(DamagedError, match="disagree on the lengths of lists"):
        streamed(columns, (ShapeKind.LIST, [(ShapeKind.STRUCT, [0, 1])]), type, [0, 2])


@pytest.mark.parametrize(("definition", "fails"), [([0, 0], False), ([1, 0], True), ([2, 0], True)])
def test_maps_have_no_null_entries_or_keys(definition: list[int], fails: bool) -> None:
    layers = [VALUE, STRUCT, LIST]
    columns = [leaf(layers, 1, [1, 0], definition), leaf(layers, 1, [1, 0], [1 if d == 1 else d for d in definition])]
    shape, type = (ShapeKind.MAP, [(ShapeKind.STRUCT, [0, 1])]), pa.map_(pa.int32(), pa.int32())
    if not fails:
        assert streamed(columns, shape, type, [0, 1]) == [[(7, 7), (7, 7)]]
        return
    with pytest.raises(DamagedError, match="a map with NULL entries or keys"):
        streamed(columns, shape, type, [0, 1])


def test_null_where_the_schema_has_none_is_damage() -> None:
    column = leaf([VALUE, LIST], 4, REPETITION, DEFINITION)
    type = pa.list_(pa.int32())
    assert streamed([column], (ShapeKind.LIST, [0]), type, [0, 1], nullable=False) == [[7, None]]
    with pytest.raises(DamagedError, match="NULL in a column that has none"):
        streamed([column], (ShapeKind.LIST, [0]), type, [0, 4], nullable=False)


def test_an_entry_that_continues_no_list_is_damage() -> None:
    column = leaf([VALUE, LIST], 2, [1, 0, 1], [3, 0, 0])
    with pytest.raises(DamagedError, match="continues a list that has no elements"):
        streamed([column], (ShapeKind.LIST, [0]), pa.list_(pa.int32()), [0, 2])


def test_levels_that_no_layer_has_are_damage() -> None:
    column = leaf([VALUE, LIST], 2, [1, 1], [0, 9])
    with pytest.raises(DamagedError, match="2 rows became 1"):
        streamed([column], (ShapeKind.LIST, [0]), pa.list_(pa.int32()), [0, 2])


@pytest.mark.parametrize("shape", [(0, []), (1, []), (1, [0, 0]), (2, [0, 0]), (3, [0]), 1])
def test_shapes_that_no_column_has_are_refused(shape: Any) -> None:
    column = leaf([VALUE, LIST], 4, REPETITION, DEFINITION)
    with pytest.raises(ValueError, match=r"column|ShapeKind"):
        streamed([column], shape, pa.list_(pa.int32()), [0, 4])
