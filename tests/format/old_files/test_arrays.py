"""Arrow arrays of decoded values of pages without levels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

from lance_sql.errors import CorruptFile, UnsupportedFeature
from lance_sql.format.encodings.blocks import Block, DictionaryValues, FixedWidth, Lists, Nulls, Struct, VariableWidth
from lance_sql.format.old_files.arrays import to_array


def strings(values: Sequence[bytes], bits: int = 32) -> VariableWidth:
    """Byte strings as a block."""
    offsets = np.cumsum([0, *map(len, values)]).astype(f"<i{bits // 8}")
    return VariableWidth(len(values), bits, pa.py_buffer(offsets), pa.py_buffer(b"".join(values)))


def sound(decoded: Block, type: pa.DataType) -> pa.Array:
    array = to_array(decoded, type)
    array.validate(full=True)
    return array


def test_a_dictionary_is_looked_up_or_kept() -> None:
    items = strings([b"a", b"bc", b""])
    indices = FixedWidth(5, 8, pa.py_buffer(bytes([1, 1, 0, 2, 1])))
    expected = ["bc", "bc", "a", "", "bc"]
    assert sound(DictionaryValues(5, indices, items), pa.string()).to_pylist() == expected
    for index_type in (pa.int8(), pa.uint16(), pa.int32(), pa.int64(), pa.uint64()):
        kept = sound(DictionaryValues(5, indices, items), pa.dictionary(index_type, pa.string()))
        assert kept.type == pa.dictionary(index_type, pa.string())
        assert kept.to_pylist() == expected
    numbers = FixedWidth(3, 64, pa.py_buffer(np.array([7, 8, 9], "<i8")))
    assert sound(DictionaryValues(5, indices, numbers), pa.int64()).to_pylist() == [8, 8, 7, 9, 8]


def test_a_dictionary_type_keeps_its_order() -> None:
    type = pa.dictionary(pa.int32(), pa.string(), ordered=True)
    indices = FixedWidth(2, 32, pa.py_buffer(np.array([1, 0], "<i4")))
    assert sound(DictionaryValues(2, indices, strings([b"a", b"b"])), type).type == type


def test_a_dictionary_with_more_items_than_its_index_type_can_count_is_refused() -> None:
    items = strings([b"x"] * 129)
    indices = FixedWidth(1, 32, pa.py_buffer(np.array([128], "<i4")))
    with pytest.raises(CorruptFile, match="129 dictionary items"):
        sound(DictionaryValues(1, indices, items), pa.dictionary(pa.int8(), pa.string()))


def test_dictionaries_of_other_things_than_values_are_not_supported() -> None:
    indices = FixedWidth(1, 32, pa.py_buffer(bytes(4)))
    with pytest.raises(UnsupportedFeature, match="a dictionary of Nulls values"):
        sound(DictionaryValues(1, indices, Nulls(3)), pa.string())


def test_a_struct_has_as_many_fields_as_its_type() -> None:
    field = FixedWidth(1, 32, pa.py_buffer(bytes(4)))
    with pytest.raises(CorruptFile, match="a packed struct of 1 fields cannot be"):
        sound(Struct(1, (field,)), pa.struct([("a", pa.int32()), ("b", pa.float64())]))


def test_lists_of_another_type_are_refused() -> None:
    with pytest.raises(CorruptFile, match="lists of 2 items cannot be"):
        sound(Lists(1, 2, FixedWidth(2, 16, pa.py_buffer(bytes(4))), None), pa.list_(pa.int16()))
