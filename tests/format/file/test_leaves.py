"""Fields taken apart into leaf columns, and put together again."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from lance_sql.errors import CorruptFile
from lance_sql.format.file.leaves import join, leaves
from lance_sql.format.schema import Field


def field(name: str, id: int, type: str, *children: Field, **metadata: str) -> Field:
    encoded = {f"lance-encoding:{key}": value.encode() for key, value in metadata.items()}
    return Field(name, id, -1, type, True, tuple(children), encoded)


POINT = field("p", 0, "struct", field("x", 1, "int32"), field("y", 2, "string"))
LIST = field("l", 0, "list.struct", field("item", 1, "struct", field("a", 2, "int32"), field("b", 3, "int32")))
MAP = field("m", 0, "map", field("entries", 1, "struct", field("key", 2, "string"), field("value", 3, "int32")))


def names(top: Field) -> list[str]:
    return [leaf.field.name for leaf in leaves(top)]


def test_only_leaves_have_columns() -> None:
    assert names(POINT) == ["x", "y"]
    assert names(LIST) == ["a", "b"]
    assert names(MAP) == ["key", "value"]
    assert names(field("i", 0, "int32")) == ["i"]
    assert names(field("e", 0, "struct")) == ["e"]
    assert names(field("v", 0, "fixed_size_list:float:4")) == ["v"]
    assert names(field("s", 0, "struct", field("x", 1, "int32"), packed="true")) == ["s"]


def test_a_leaf_has_its_parent_types() -> None:
    a, b = leaves(LIST)
    assert a.outer == (pa.struct([("a", pa.int32())]), pa.list_(pa.field("item", pa.struct([("a", pa.int32())]))))
    assert b.outer[-1] == pa.list_(pa.field("item", pa.struct([("b", pa.int32())])))
    key, _ = leaves(MAP)
    assert pa.types.is_list(key.outer[-1]), "maps are lists of entries"


def joined(top: Field, num_rows: int, **columns: list[Any]) -> pa.Array:
    """The field from columns by the name of their leaf, each in the form of its types."""
    arrays = {
        leaf.field.id: pa.array(columns[leaf.field.name], leaf.outer[-1])
        for leaf in leaves(top)
        if leaf.field.name in columns
    }
    array = join(top, arrays, num_rows)
    array.validate(full=True)
    return array


def test_members_are_laid_together() -> None:
    x, y = [{"x": 1}, None, {"x": None}], [{"y": "a"}, None, {"y": "b"}]
    assert joined(POINT, 3, x=x, y=y).to_pylist() == [{"x": 1, "y": "a"}, None, {"x": None, "y": "b"}]


def test_a_member_that_no_file_has_is_null() -> None:
    assert joined(POINT, 2, x=[{"x": 1}, None]).to_pylist() == [{"x": 1, "y": None}, None]
    assert joined(POINT, 2).to_pylist() == [None, None]


def test_a_struct_is_valid_if_any_of_its_files_has_it() -> None:
    # as pages give them: below a NULL struct the member is NULL too
    xs, ys = pa.array([1, None, None], pa.int32()), pa.array([None, "b", None])
    x = pa.StructArray.from_arrays([xs], ["x"], mask=pa.array([False, True, True]))
    y = pa.StructArray.from_arrays([ys], ["y"], mask=pa.array([True, False, True]))
    all_valid = pa.StructArray.from_arrays([ys], ["y"])
    assert join(POINT, {1: x, 2: y}, 3).to_pylist() == [{"x": 1, "y": None}, {"x": None, "y": "b"}, None]
    assert join(POINT, {1: x, 2: all_valid}, 3).null_count == 0


def test_lists_share_their_offsets() -> None:
    a = [[{"a": 1}, {"a": 2}], None, [], [None]]
    b = [[{"b": 5}, {"b": None}], None, [], [None]]
    expected = [[{"a": 1, "b": 5}, {"a": 2, "b": None}], None, [], [None]]
    assert joined(LIST, 4, a=a, b=b).to_pylist() == expected
    assert joined(LIST, 4, b=b).to_pylist()[0] == [{"a": None, "b": 5}, {"a": None, "b": None}]


@pytest.mark.parametrize(
    "b", [[[{"b": 5}], None, [], [None]], [[{"b": 5}], [{"b": 6}], [], [None]], [[], [], [{"b": 1}] * 3, []]]
)
def test_lists_of_other_lengths_are_refused(b: list[Any]) -> None:
    a = [[{"a": 1}, {"a": 2}], None, [], [None]]
    with pytest.raises(CorruptFile, match="disagree on the lengths of its lists"):
        joined(LIST, 4, a=a, b=b)


def test_columns_of_other_lengths_are_refused() -> None:
    with pytest.raises(CorruptFile, match="different numbers of values"):
        joined(POINT, 2, x=[{"x": 1}, None], y=[{"y": "a"}])


def test_maps_are_made_of_keys_and_values() -> None:
    keys = [[{"key": "a"}, {"key": "b"}], None, []]
    values = [[{"value": 1}, {"value": None}], None, []]
    array = joined(MAP, 3, key=keys, value=values)
    assert pa.types.is_map(array.type)
    assert array.to_pylist() == [[("a", 1), ("b", None)], None, []]


def test_entries_that_are_all_valid_may_have_a_bitmap() -> None:
    leaf, _ = leaves(MAP)
    keys = pa.array([[{"key": "a"}, None], [{"key": "b"}]], leaf.outer[-1])
    # the second entry is cut off, its bitmap stays
    valid = pa.ListArray.from_arrays(pa.array([0, 1], pa.int32()), keys.values.slice(0, 1), type=leaf.outer[-1])
    array = join(MAP, {2: valid}, 1)
    array.validate(full=True)
    assert array.to_pylist() == [[("a", None)]]


@pytest.mark.parametrize("keys", [[[{"key": None}]], [[None]], [[{"key": "a"}, None]]])
def test_maps_without_a_key_are_refused(keys: list[Any]) -> None:
    with pytest.raises(CorruptFile, match="a map with NULL entries or keys"):
        joined(MAP, 1, key=keys)


def test_a_map_whose_keys_no_file_has_is_refused() -> None:
    with pytest.raises(CorruptFile, match="a map with NULL entries or keys"):
        joined(MAP, 1, value=[[{"value": 1}]])
