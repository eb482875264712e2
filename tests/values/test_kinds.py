"""The table of kinds against `pa.types`, and that code asks it."""

from __future__ import annotations

import ast
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lance_sql.format.casts.common_type import joinable
from lance_sql.values import kinds, value_text

ROOT = Path(__file__).parents[2]
ITEM = pa.field("item", pa.int32(), nullable=False, metadata={"a": "b"})
LEAVES = (
    *(pa.null(), pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32()),
    *(pa.uint64(), pa.float16(), pa.float32(), pa.float64(), pa.decimal32(5, 1), pa.decimal64(9, 2)),
    *(pa.decimal128(20, 3), pa.decimal256(50, 4), pa.date32(), pa.date64(), pa.time32("ms"), pa.time64("ns")),
    *(pa.timestamp("s"), pa.timestamp("ns", "UTC"), pa.duration("ms"), pa.month_day_nano_interval()),
    *(pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(7)),
    *(pa.dictionary(pa.int8(), pa.string()), pa.run_end_encoded(pa.int32(), pa.string()), pa.uuid()),
)
NESTED = (
    *(pa.list_(ITEM), pa.large_list(ITEM), pa.list_view(ITEM), pa.large_list_view(ITEM), pa.list_(ITEM, 3)),
    *(pa.struct([ITEM, pa.field("b", pa.string())]), pa.struct([])),
    pa.map_(pa.string(), pa.field("value", pa.int8(), nullable=False), keys_sorted=True),
)
TYPES = (*LEAVES, *NESTED)
IS = pa.types
ORACLES: dict[Callable[[pa.DataType], bool], tuple[Callable[[pa.DataType], bool], ...]] = {
    kinds.is_text: (IS.is_string, IS.is_large_string, IS.is_string_view),
    kinds.is_bytes: (IS.is_binary, IS.is_large_binary, IS.is_binary_view, IS.is_fixed_size_binary),
    kinds.has_offsets: (IS.is_string, IS.is_large_string, IS.is_binary, IS.is_large_binary),
    kinds.is_list: (IS.is_list, IS.is_large_list),
    kinds.has_items: (IS.is_list, IS.is_large_list, IS.is_list_view, IS.is_large_list_view, IS.is_fixed_size_list),
    kinds.is_number: (IS.is_integer, IS.is_floating, IS.is_decimal),
    kinds.is_clock: (IS.is_date, IS.is_time, IS.is_timestamp, IS.is_duration),
    kinds.has_date: (IS.is_date, IS.is_timestamp),
}


@pytest.mark.parametrize("type", TYPES, ids=str)
def test_families(type: pa.DataType) -> None:
    for asked, tests in ORACLES.items():
        assert asked(type) is any(test(type) for test in tests), asked.__name__
    assert (kinds.kind(type).make is not None) == (pa.types.is_nested(type) and not pa.types.is_run_end_encoded(type))


@pytest.mark.parametrize("type", TYPES, ids=str)
def test_offsets(type: pa.DataType) -> None:
    if not (kinds.has_offsets(type) or kinds.is_list(type) or pa.types.is_map(type)):
        assert kinds.offset_bits(type) == 0
        return
    value: Any = "" if kinds.has_offsets(type) else []
    values = pa.array([value, value], type)
    assert values.buffers()[1].size == 3 * kinds.offset_bits(type) // 8
    assert kinds.offset_type(type).bit_width == kinds.offset_bits(type)
    if kinds.is_list(type):
        assert isinstance(values, kinds.list_array(type))
        assert values.offsets.type == kinds.offset_type(type)


@pytest.mark.parametrize(("type", "outer"), list(product(TYPES, ("", "list", "struct", "map"))), ids=str)
def test_members(type: pa.DataType, outer: str) -> None:
    around = {
        "": type,
        # Arrow makes no fields of NULL that cannot be NULL
        "list": pa.list_(pa.field("x", type, metadata={"c": "d"})),
        "struct": pa.struct([pa.field("x", type, nullable=pa.types.is_null(type))]),
        "map": pa.map_(pa.int8(), type),
    }[outer]
    same = kinds.with_members(around, kinds.members(around))
    assert same.equals(around, check_metadata=True)
    assert not pa.types.is_map(around) or same.keys_sorted == around.keys_sorted
    assert kinds.with_leaves(around, lambda leaf: leaf).equals(around, check_metadata=True)
    if pa.types.is_list_view(type) or pa.types.is_large_list_view(type):
        assert outer or kinds.with_leaves(around, lambda leaf: pa.int8()) == around
        return
    wide = kinds.with_leaves(around, lambda leaf: pa.int64() if leaf == pa.int32() else leaf)
    assert kinds.any_leaf(wide, lambda leaf: leaf == pa.int64()) == kinds.any_leaf(
        around, lambda leaf: leaf in (pa.int32(), pa.int64())
    )
    assert not kinds.any_leaf(wide, lambda leaf: leaf == pa.int32())


@pytest.mark.parametrize(
    "items", [pa.array([1, None], pa.timestamp("ns")), pa.array(["a", "b"], pa.string_view())], ids=str
)
def test_list_views_are_shown_and_joined_as_they_are(items: pa.Array) -> None:
    """Arrow has no casts of them."""
    views = pa.ListViewArray.from_arrays(pa.array([0, 1], pa.int32()), pa.array([2, 1], pa.int32()), items)
    assert len(value_text.values(views)) == 2
    assert joinable(pa.table({"v": views})).schema.types == [views.type]


@pytest.mark.parametrize("type", TYPES, ids=str)
def test_values_have_one_plain_type(type: pa.DataType) -> None:
    assert kinds.storage(type) == (type.storage_type if isinstance(type, pa.BaseExtensionType) else type)
    wrapped = pa.opaque(pa.opaque(type, "a", "b"), "c", "d")
    assert kinds.storage(wrapped) == kinds.storage(type)
    values = type if type == kinds.decoded(type) else pa.string()
    for around in (values, pa.run_end_encoded(pa.int16(), values), pa.opaque(values, "a", "b")):
        assert kinds.decoded(around) == values
    if not pa.types.is_nested(values):
        assert kinds.decoded(pa.opaque(pa.dictionary(pa.int8(), values), "a", "b")) == values
    wide = kinds.wide(values)
    assert kinds.wide(wide) == wide
    assert wide == {
        pa.string(): pa.large_string(),
        pa.string_view(): pa.large_string(),
        pa.binary(): pa.large_binary(),
        pa.binary_view(): pa.large_binary(),
        pa.decimal32(5, 1): pa.decimal128(5, 1),
        pa.decimal64(9, 2): pa.decimal128(9, 2),
    }.get(values, values)


def test_every_type_of_arrow_is_in_the_table_or_of_no_family() -> None:
    other = {type for type in TYPES if kinds.kind(type).family is kinds.Family.OTHER}
    names = {pa.types.is_null, pa.types.is_interval, pa.types.is_dictionary, pa.types.is_run_end_encoded}
    assert all(any(test(type) for test in names) or isinstance(type, pa.BaseExtensionType) for type in other)
    assert set(kinds.KINDS) == {type.id for type in TYPES} - {type.id for type in other}


def families(text: str) -> list[str]:
    """Expressions that define a family again: texts, bytes or lists with several offsets, and tuples of tests."""
    found = []
    for node in ast.walk(ast.parse(text)) if "is_large_" in text else ():
        if isinstance(node, ast.BoolOp):
            tests = (each.operand if isinstance(each, ast.UnaryOp) else each for each in node.values)
            calls = [
                (each.func, ast.dump(each.args[0]) if each.args else "") for each in tests if isinstance(each, ast.Call)
            ]
        elif isinstance(node, ast.Tuple | ast.List):
            calls = [(each, "") for each in node.elts]
        else:
            continue
        names = {(each.attr, about) for each, about in calls if isinstance(each, ast.Attribute)}
        stems = {(each.removeprefix("is_large_"), about) for each, about in names if each.startswith("is_large_")}
        if any((f"is_{stem}", about) in names for stem, about in stems):
            found.append(ast.unparse(node))
    return found


def test_a_family_is_defined_once() -> None:
    paths = [*(ROOT / "lance_sql").rglob("*.py"), *(ROOT / "providers").rglob("*.py")]
    assert {str(path): found for path in paths if (found := families(path.read_text()))} == {}
    assert families("pa.types.is_string(a) or pa.types.is_large_string(a)")
    assert families("not pa.types.is_list(a) and not pa.types.is_large_list(a)")
    assert families("X = (pa.types.is_binary, pa.types.is_large_binary)")
    assert not families("pa.types.is_large_string(a) and pa.types.is_string(b)")
    assert not families("kinds.is_text(a) or pa.types.is_list(a)")
